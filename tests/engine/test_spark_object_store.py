"""Storage in an object store, which the server alone reads and writes."""

from __future__ import annotations

import urllib.request
from collections.abc import Iterator
from xml.etree import ElementTree as ET

import pytest

import sqlrl
from sqlrl.engine.spark.server import Spark
from sqlrl.errors import InputError
from tests.engine.test_spark_server import MODEL, PEOPLE
from tests.spark import server

# An object store and a server of its own.
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def store() -> Iterator[str]:
    """The address of an object store with one bucket, "data"."""
    from moto.server import ThreadedMotoServer

    process = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    process.start()
    address = "http://{}:{}".format(*process.get_host_and_port())
    urllib.request.urlopen(urllib.request.Request(f"{address}/data", method="PUT")).close()
    yield address
    process.stop()


@pytest.fixture(scope="module")
def keyed(store: str) -> Iterator[str]:
    """The address of a server of Spark with the keys of the store; the client has none."""
    keys = {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "AWS_REGION": "us-east-1"}
    with server(AWS_ENDPOINT=store, AWS_ALLOW_HTTP="true", **keys) as address:
        yield address


def objects(store: str) -> list[str]:
    with urllib.request.urlopen(f"{store}/data?list-type=2") as answer:
        tree = ET.parse(answer)
    return [key.text or "" for key in tree.iter() if key.tag.endswith("}Key")]


def test_copies_in_an_object_store_are_found_again(store: str, keyed: str) -> None:
    kept: list[list[str]] = []
    for _ in range(2):
        with sqlrl.connect(engine=Spark(keyed, storage="s3://data/copies", resident=0), progress=False) as db:
            db.load("Friends", PEOPLE)
            found = db.predict(MODEL).table().to_arrow().to_pydict()
        kept.append([key for key in objects(store) if "/scratch/" not in key])
    assert any("/done/" in key for key in kept[0])
    assert kept[0] == kept[1]
    with sqlrl.connect(progress=False) as db:
        db.load("Friends", PEOPLE)
        assert found == db.predict(MODEL).table().to_arrow().to_pydict()


def test_a_bucket_that_is_not_there(keyed: str) -> None:
    with sqlrl.connect(engine=Spark(keyed, storage="s3://other/copies", resident=0), progress=False) as db:
        db.load("Friends", PEOPLE)
        with pytest.raises(
            InputError, match=r"the server of Spark cannot read s3://other/copies.*(?s:.*)Give a storage="
        ):
            db.predict(MODEL)
