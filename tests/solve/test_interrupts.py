"""Ctrl-C in the middle of a long solve."""

from __future__ import annotations

import os
import signal
import threading
import time

import numpy as np
import pytest

from sqlrl.solve.methods import Method
from sqlrl.solve.mpe import mpe
from sqlrl.solve.sample_networks import network


@pytest.mark.parametrize(
    "method", ["cpsat", *(pytest.param(method, marks=pytest.mark.slow) for method in ("auto", "lp"))]
)
def test_ctrl_c_is_heeded_at_once(method: Method) -> None:
    rng = np.random.default_rng(0)
    atoms = 4000
    ground = [
        (i % 60, sorted(((rng.choice(atoms, 3, replace=False) + 1) * rng.choice([-1, 1], 3)).tolist(), key=abs))
        for i in range(19_000)
    ]
    hard = network(atoms, ground)
    weights = rng.normal(size=60)
    mpe(network(2, [(0, [1, 2])]), [1.0], method=method)  # compiled code is loaded now
    timer = threading.Timer(0.7, lambda: os.kill(os.getpid(), signal.SIGINT))
    start = time.process_time()
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            mpe(hard, weights, method=method)
    finally:
        timer.cancel()
    assert time.process_time() - start < 30  # CPU seconds, as a loaded machine has fewer of them
