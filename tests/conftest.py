"""What all tests share: hypothesis' profile and the folder of real data."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from tests import spark as on_spark

# A shared machine makes single cases slow, so no deadline; a fixed choice of cases makes a failure repeatable.
settings.register_profile(
    "sqlrl", deadline=None, derandomize=True, max_examples=30, suppress_health_check=[HealthCheck.too_slow]
)
# For a longer search by hand: HYPOTHESIS_PROFILE=search
settings.register_profile("search", deadline=None, max_examples=2000, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "sqlrl"))


@pytest.fixture(scope="session", autouse=True)
def _heed_ctrl_c() -> Iterator[None]:
    """A shell starts background jobs with Ctrl-C ignored, and processes inherit that; some tests need it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The folder of real data; tests that need it are skipped where it is absent."""
    default = Path(__file__).resolve().parent.parent.parent / "shared" / "data"
    folder = Path(os.environ.get("SQLRL_DATA") or default)
    if not folder.is_dir():
        pytest.skip(f"the real data are not at {folder}; set SQLRL_DATA to their folder")
    return folder


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """A session of Spark Connect, beside DuckDB the engine on which plans are tried."""
    from pyspark.sql import SparkSession

    with pytest.MonkeyPatch.context() as patch:
        # The main module of a worker of pytest-xdist has no file, which pyspark takes for its own doctests.
        patch.setattr(sys.modules["__main__"], "__file__", __file__, raising=False)
        import pyspark.sql.connect.session  # noqa: F401

    with on_spark.server() as address:
        session = SparkSession.builder.remote(address).getOrCreate()
        yield session
        session.stop()
