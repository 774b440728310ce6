"""What all tests share: bytecode, garbage collection, Hypothesis' profile, servers, the folder of real data, databases without comments."""

from __future__ import annotations

import gc
import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from sqlrl.catalog import migrations
from sqlrl.catalog.catalog import Catalog
from sqlrl.engine.spark.engine import SparkEngine
from sqlrl.engine.spark.server import Server, Spark
from sqlrl.report import Console
from sqlrl.training.session import Session
from tests import postgres as on_postgres
from tests import spark as on_spark
from tests.effort import load_profile
from tests.postgres import Postgres

# Tests start hundreds of processes. Without bytecode each of them, and the collection of tests, takes twice as long.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

load_profile()


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    """Compile all kernels before workers start, each of which would compile the same, and outside the limit of any test."""
    config = session.config
    everything = config.args_source is pytest.Config.ArgsSource.TESTPATHS
    if hasattr(config, "workerinput") or not everything or config.getoption("collectonly"):
        return
    from sqlrl.compilation import compile_ahead

    begun = time.monotonic()
    done = compile_ahead()
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if reporter is not None:
        reporter.write_line(f"kernels: {done.new} of {done.signatures} compiled in {time.monotonic() - begun:.0f} s")


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


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests by what they need and cost: `pytest -m spark`, `-m property`, and `-m slow` for all tests of experiments."""
    experiments = Path(__file__).parent / "experiments"
    for item in items:
        if item.path.is_relative_to(experiments):
            item.add_marker("slow")
        if {"spark", "spark_address"} & set(getattr(item, "fixturenames", ())):
            item.add_marker("spark")
        if getattr(getattr(item, "function", None), "is_hypothesis_test", False):
            item.add_marker("property")


def pytest_collection_finish() -> None:
    """Leave what was collected out of the garbage collector's work: it is there to the end, and walked again and again."""
    gc.collect()
    gc.freeze()
    # Plans are trees whose nodes know their parents: by default they start a collection many times in a second.
    gc.set_threshold(20_000, 20, 20)


@pytest.fixture(scope="session", autouse=True)
def _no_comments() -> Iterator[None]:
    """Leave out the hundreds of comments on columns that a new database gets: they are most of what making one takes."""
    script = migrations.COMMENT.sub("", migrations.layout_script())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(migrations, "layout_script", lambda: script)
        patch.setattr(migrations, "comment_tables", lambda *_: None)
        yield


@pytest.fixture
def comments(monkeypatch: pytest.MonkeyPatch) -> None:
    """Databases with their comments, as users have them."""
    from sqlrl.catalog.views import comment_tables
    from sqlrl.resources import resource

    monkeypatch.setattr(migrations, "layout_script", lambda: resource("schemas", "layout.sql"))
    monkeypatch.setattr(migrations, "comment_tables", comment_tables)


@pytest.fixture(scope="session")
def spark_address() -> Iterator[str]:
    """The address of a Spark Connect server: the one that SQLRL_SPARK_SERVER names, such as an Apache Spark, or one that needs no Java."""
    if given := os.environ.get("SQLRL_SPARK_SERVER"):
        yield given
        return
    with on_spark.server() as address:
        yield address


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """A PostgreSQL server, which takes a second to start; each script begins in an empty schema."""
    if not on_postgres.installed():
        pytest.skip("no PostgreSQL is installed")
    with on_postgres.server() as found:
        yield found


@pytest.fixture(scope="session")
def spark(spark_address: str) -> Spark:
    """Spark Connect, beside DuckDB what plans are tried on. Each engine has a session of its own: servers forget those that nobody uses for a while."""
    return Spark(spark_address)
