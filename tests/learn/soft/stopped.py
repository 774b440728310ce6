"""A run of a soft learner that is killed: `python -m tests.learn.soft.stopped DATABASE LEARNER`, and what the tests share with it."""

from __future__ import annotations

import random
import sys
from pathlib import Path
from typing import Any

import sqlrl
from sqlrl.learn.soft.estimator import SoftEstimator
from sqlrl.training.records import Iteration
from tests.learn.stopped import kill

LEARNERS: dict[str, tuple[type[SoftEstimator], dict[str, Any]]] = {
    "pseudo": (sqlrl.SoftPseudoLikelihood, {"strength": 0.01}),
    "many rules": (sqlrl.SoftPseudoLikelihood, {"strength": 0.01}),
    "piecewise": (sqlrl.SoftPiecewiseLikelihood, {"strength": 0.01}),
    "steps": (sqlrl.SoftPiecewiseLikelihood, {"strength": 0.01, "method": "steps", "steps": 8}),
    "map": (sqlrl.SoftMapLikelihood, {"max_iterations": 8}),
}
EXACT = ("steps", "map")
"""Those whose resumed runs are those of runs that were never stopped, byte for byte."""
KILLED = 2
"""The iteration after which a run is killed."""
WORDS = 60


def estimator(name: str, **options: object) -> SoftEstimator:
    kind, own = LEARNERS[name]
    return kind(**own, **options)


def model(name: str) -> sqlrl.SoftModel:
    rules = "1: Knows(A, B) & Glad(A) -> Glad(B) ^2\n1: Knows(A, B) & !Glad(A) -> !Glad(B)\n1: !Glad(A) ^2\n"
    # From 50 weights on a maximum is sought by L-BFGS first.
    more = [f"1: Said(A, 'w{i}') -> Glad(A) ^2\n" for i in range(WORDS)] if name == "many rules" else []
    return sqlrl.parse_psl(rules + "".join(more) + "Glad('p0') >= 0.1 .")


def load(db: sqlrl.Database) -> None:
    rng = random.Random(1)
    people = [f"p{i}" for i in range(40)]
    pairs = sorted({(rng.choice(people), rng.choice(people)) for _ in range(80)})
    db.load("Knows", [pair for pair in pairs if pair[0] != pair[1]], types=["person", "person"])
    said = {(rng.choice(people), f"w{i}") for i in range(WORDS) for _ in range(4)}
    db.load("Said", sorted(said), types=["person", "word"])
    glad = [(person, round(rng.uniform(0.2, 1), 2)) for person in people]
    db.load("Glad", glad, columns=[0], types=["person"], value=1, target=True)


def run(path: Path, name: str) -> None:
    """Learn, and be killed after an iteration."""

    def after(iteration: Iteration) -> None:
        if iteration.iteration == KILLED:
            kill()

    estimator(name).fit(sqlrl.connect(path), model(name), callback=after, checkpoint=True)


if __name__ == "__main__":
    run(Path(sys.argv[1]), sys.argv[2])
