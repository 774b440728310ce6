"""A run that is killed: `python -m tests.learn.stopped DATABASE LEARNER[, constant][, penalty NUMBER] WHERE`, and what the tests share with it."""

from __future__ import annotations

import os
import random
import signal
import sys
from pathlib import Path
from typing import Any

import sqlrl
from sqlrl.catalog.records import Records
from sqlrl.learn import OnlineEstimator, OnlineLearner
from tests.offered import OFFERED

MODEL = "Word(doc, word)\nLiked(doc)\nKind(doc, kind!)\nWord(d, +w) => Liked(d)\nWord(d, +w) => Kind(d, +k)\nLiked(d) ^ Kind(d, +k)\nKind(d, K0) => !Liked(d)."
OPTIONS: dict[str, Any] = {
    "window": 14, "passes": 2, "order": "shuffle", "random_state": 3, "record_history": True,
}  # fmt: skip
KILLED = 2
"""The window after which, or in which, the run is killed; there are 3 in a pass of 40 documents."""


def estimator(name: str, **options: object) -> OnlineEstimator:
    kind, _, penalty = name.partition(", penalty ")
    kind, _, steps = kind.partition(", ")
    more: dict[str, Any] = {"strength": float(penalty)} if penalty else {}
    more |= {"step_size": steps} if steps else {}
    made: OnlineEstimator = OFFERED[kind](**{**OPTIONS, **more, **options})
    return made


def load(db: sqlrl.Database, count: int = 40) -> None:
    """Documents whose later ones bring new words, so that templates grow; some labels break the hard clause."""
    rng = random.Random(1)
    words = sorted({(f"d{i:02}", f"w{rng.randrange(4 + i // 2)}") for i in range(count) for _ in range(3)})
    db.load("Word", words, types=["doc", "word"], example="doc")
    db.load("Liked", [(f"d{i:02}",) for i in range(count) if rng.random() < 0.5], types=["doc"], target=True)
    db.load("Kind", [(f"d{i:02}", f"K{rng.randrange(3)}") for i in range(count)], types=["doc", "kind"], target=True)


def model() -> sqlrl.Model:
    return sqlrl.parse_mln(MODEL)


def kill() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def run(path: Path, name: str, where: str) -> None:
    """Learn, and be killed in a window or while it is saved."""
    calls = 0

    def at_window(original: Any) -> Any:
        def patched(*args: Any, **options: Any) -> Any:
            nonlocal calls
            calls += 1
            if calls == KILLED + 1:
                kill()
            return original(*args, **options)

        return patched

    if where == "learning":
        OnlineLearner.learn_many = at_window(OnlineLearner.learn_many)  # type: ignore[method-assign]
    original = Records.append

    def append(self: Records, table: str, number: int, data: Any) -> None:
        nonlocal calls
        original(self, table, number, data)
        calls += table == "step"
        if calls == KILLED + 1:
            kill()

    if where == "saving":
        Records.append = append  # type: ignore[method-assign]
    estimator(name).fit(sqlrl.connect(path), model(), checkpoint=True)


if __name__ == "__main__":
    run(Path(sys.argv[1]), sys.argv[2], sys.argv[3])
