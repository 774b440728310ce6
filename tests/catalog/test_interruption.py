"""Ctrl-C in the middle of a load leaves the catalog as it was."""

from __future__ import annotations

import os
import signal
import threading

import pytest

from sqlrl.catalog.catalog import Catalog
from sqlrl.engine.connection import connect


def test_ctrl_c_during_a_load_changes_nothing() -> None:
    catalog = Catalog(connect(":memory:", threads=1))
    catalog.load("P", [("a",)], types=["t"])
    before = catalog.predicates(), catalog.types()
    endless = "select 'x' || max(a.range) as x from range(100000000000) as a, range(7) as b where a.range % 7 = b.range"
    timer = threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        catalog.load("P", endless, types=["t"])
    timer.join()
    assert (catalog.predicates(), catalog.types()) == before
    catalog.load("P", [("b",)])
    assert catalog.types()["t"].size == 2
