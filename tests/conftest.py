"""What all tests share: hypothesis' profile and the folder of real data."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from sqlrl.engine.spark import SparkEngine
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
def spark() -> Iterator[SparkEngine]:
    """A session of Spark Connect, beside DuckDB the engine on which plans are tried."""
    with on_spark.connected() as engine:
        yield engine
