"""A run that is killed: `python -m tests.learn.batch.stopped DATABASE WHERE`, and the data that the tests share with it."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

import numpy as np

import sqlrl
from sqlrl.catalog.records import Records

MODEL = "Word(doc, word)\nLiked(doc)\nWord(d, +w) => Liked(d)\nLiked(d)"
KILLED = 2
"""The iteration after which the run is killed."""


def load(db: sqlrl.Database, count: int = 60) -> None:
    """Documents with words, some of which say whether they are liked."""
    rng = np.random.default_rng(4)
    weight = {"good": 2.0, "bad": -2.0, "long": 0.5, "odd": -0.7, "dull": 0.0}
    has = {f"d{i:02}": [w for w in weight if rng.random() < 0.5] for i in range(count)}
    words = [(d, w) for d, found in has.items() for w in [*found, "the"]]
    db.load("Word", words, types=["doc", "word"], example="doc")
    liked = [(d,) for d, found in has.items() if rng.random() < 1 / (1 + np.exp(-sum(weight[w] for w in found)))]
    db.load("Liked", liked, types=["doc"], target=True)


def model() -> sqlrl.Model:
    return sqlrl.parse_mln(MODEL)


def kill() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def run(path: Path, where: str) -> None:
    """Learn, and be killed after an iteration, or while an interrupted run is kept."""
    original = Records.append

    def append(self: Records, table: str, number: int, data: Any) -> None:
        original(self, table, number, data)
        if table == "iteration":
            kill()

    if where == "keeping":
        Records.append = append  # type: ignore[method-assign]

    def press(iteration: Any) -> None:
        if iteration.iteration == KILLED:
            if where == "learning":
                kill()
            raise KeyboardInterrupt

    sqlrl.Likelihood().fit(sqlrl.connect(path), model(), callback=press)


if __name__ == "__main__":
    run(Path(sys.argv[1]), sys.argv[2])
