"""People, their friends and who smokes, and the rows of pseudo-likelihood by going through all atoms in Python."""

from __future__ import annotations

import itertools
import math

import numpy as np
import numpy.typing as npt

import sqlrl

Floats = npt.NDArray[np.float64]
Pairs = set[tuple[str, str]]

TYPES = "Friends(person, person)\nSmokes(person)\n"
RULES = """Friends(x, y) ^ Smokes(x) => Smokes(y)
Friends(x, y) => Friends(y, x)
!Friends(x, x)
Smokes(x)
Friends(x, y)
"""
MODEL = sqlrl.parse_mln(TYPES + RULES)


def people(size: int, seed: int = 0) -> tuple[list[str], Pairs, set[str]]:
    """Draw people, pairs of friends of whom most are of one mind, and who smokes."""
    random = np.random.default_rng(seed)
    names = [f"P{k:03d}" for k in range(size)]
    smokes = {name for name in names if random.random() < 0.4}
    friends = set()
    for a, b in itertools.combinations(names, 2):
        if random.random() < (3 if (a in smokes) == (b in smokes) else 1) / size:
            friends |= {(a, b), (b, a)} if random.random() < 0.8 else {(a, b)}
    friends.add((names[0], names[0]))
    return names, friends, smokes


def load(db: sqlrl.Database, names: list[str], friends: Pairs, smokes: set[str], **options: object) -> None:
    db.load("Person", [(name,) for name in names], types=["person"])
    db.load("Friends", sorted(friends), types=["person", "person"])
    db.load("Smokes", [(name,) for name in sorted(smokes)], types=["person"], **options)  # type: ignore[arg-type]


def town(size: int, seed: int = 0, **options: object) -> tuple[sqlrl.Database, tuple[list[str], Pairs, set[str]]]:
    db = sqlrl.connect(progress=False)
    found = people(size, seed)
    load(db, *found, **options)
    return db, found


def true_counts(names: list[str], friends: Pairs, smokes: set[str]) -> Floats:
    """Count the true groundings of the five rules."""
    pairs = list(itertools.product(names, repeat=2))
    return np.array(
        [
            sum((x, y) not in friends or x not in smokes or y in smokes for x, y in pairs),
            sum((x, y) not in friends or (y, x) in friends for x, y in pairs),
            sum((x, x) not in friends for x in names),
            len(smokes),
            len(friends),
        ],
        dtype=float,
    )


def rows(names: list[str], friends: Pairs, smokes: set[str]) -> tuple[Floats, npt.NDArray[np.bool_], Floats]:
    """Return how n of each rule changes with each atom, its truth, and its share of the atoms of its predicate."""
    changes, truth, share = [], [], []
    for pair in itertools.product(names, repeat=2):
        changes.append(true_counts(names, friends | {pair}, smokes) - true_counts(names, friends - {pair}, smokes))
        truth.append(pair in friends)
        share.append(1 / len(names) ** 2)
    for name in names:
        changes.append(true_counts(names, friends, smokes | {name}) - true_counts(names, friends, smokes - {name}))
        truth.append(name in smokes)
        share.append(1 / len(names))
    return np.array(changes), np.array(truth), np.array(share)


def log_likelihood(changes: Floats, truth: npt.NDArray[np.bool_], share: Floats, weights: Floats) -> float:
    return math.fsum(
        s * -math.log1p(math.exp(-z if t else z)) for z, t, s in zip(changes @ weights, truth, share, strict=True)
    )
