"""What all tests share: hypothesis' profile and the folder of real data."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from sqlrl.catalog.catalog import Catalog
from sqlrl.database.session import Session
from sqlrl.engine.spark.engine import SparkEngine
from sqlrl.engine.spark.server import Server, Spark
from sqlrl.report import Console
from tests import spark as on_spark

# A shared machine makes single cases slow, so no deadline; a fixed choice of cases makes a failure repeatable.
settings.register_profile(
    "sqlrl", deadline=None, derandomize=True, max_examples=30, suppress_health_check=[HealthCheck.too_slow]
)
# For a longer search by hand: HYPOTHESIS_PROFILE=search
settings.register_profile("search", deadline=None, max_examples=2000, suppress_health_check=[HealthCheck.too_slow])
# For servers on which a query takes a tenth of a second.
settings.register_profile("few", parent=settings.get_profile("sqlrl"), max_examples=4)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "sqlrl"))


@pytest.fixture(scope="session", autouse=True)
def _heed_ctrl_c() -> Iterator[None]:
    """A shell starts background jobs with Ctrl-C ignored, and processes inherit that; some tests need it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="session", autouse=True)
def _plans_on_spark(request: pytest.FixtureRequest) -> Iterator[None]:
    """With SQLRL_PLANS=spark: run the plans of every database on Spark, to see that they give what tests expect of DuckDB."""
    if os.environ.get("SQLRL_PLANS") != "spark":
        yield
        return
    spark = Spark(
        request.getfixturevalue("spark_address"),
        storage=request.getfixturevalue("tmp_path_factory").mktemp("storage"),
    )
    opened = Session.open.__func__  # type: ignore[attr-defined]

    def on_spark(kind: type[Session], catalog: Catalog, console: Console | None = None) -> Session:
        if catalog.store.plans is catalog.engine:
            catalog.store.plans = SparkEngine(Server(spark), catalog.engine)
        found: Session = opened(kind, catalog, console)
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Session, "open", classmethod(on_spark))
        yield


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The folder of real data; tests that need it are skipped where it is absent."""
    default = Path(__file__).resolve().parent.parent.parent / "shared" / "data"
    folder = Path(os.environ.get("SQLRL_DATA") or default)
    if not folder.is_dir():
        pytest.skip(f"the real data are not at {folder}; set SQLRL_DATA to their folder")
    return folder


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what runs on a Spark server, whichever it is: `pytest -m spark`."""
    for item in items:
        if {"spark", "spark_address"} & set(getattr(item, "fixturenames", ())):
            item.add_marker("spark")


@pytest.fixture(scope="session")
def spark_address() -> Iterator[str]:
    """The address of a Spark Connect server: the one that SQLRL_SPARK_SERVER names, such as an Apache Spark, or one that needs no Java."""
    if given := os.environ.get("SQLRL_SPARK_SERVER"):
        yield given
        return
    with on_spark.server() as address:
        yield address


@pytest.fixture(scope="session")
def spark(spark_address: str) -> Spark:
    """Spark Connect, beside DuckDB what plans are tried on. Each engine has a session of its own: servers forget those that nobody uses for a while."""
    return Spark(spark_address)
