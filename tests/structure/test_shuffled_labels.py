"""What learners without a test of clauses keep of labels that say nothing, as their docstrings tell."""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable

import pytest

import sqlrl
from sqlrl.errors import SqlrlWarning


def by_osl(draw: random.Random) -> int:
    """Return how many clauses OSL adds."""
    db = sqlrl.connect(progress=False)
    texts, words = [f"x{k:03}" for k in range(120)], [f"w{k:02}" for k in range(30)]
    db.load("Has", [(x, w) for x in texts for w in draw.sample(words, 4)], types=["text", "word"], example="text")
    db.load("Good", [(x,) for x in draw.sample(texts, 50)], types=["text"], target=True)
    modes = sqlrl.parse_modes("modeP(1, Has(+, #.))\nmodeP(1, Good(-))")
    return len(sqlrl.OSL(modes).fit(db, sqlrl.parse_mln("Has(text, word)\nGood(text)\n0 Good(x)")).added())


def by_soft_structure(method: str) -> Callable[[random.Random], int]:
    """Return a function that returns how many rules a soft model has beside its prior."""

    def found(draw: random.Random) -> int:
        db = sqlrl.connect(progress=False)
        cities = [f"c{k:02}" for k in range(30)]
        for name in ("Rail", "Road", "Ferry"):
            rows = sorted({(draw.choice(cities), draw.choice(cities)) for _ in range(90)})
            db.load(name, rows, types=["city", "city"])
        pairs = draw.sample([(a, b) for a in cities for b in cities if a != b], 300)
        labels = [(a, b, float(draw.random() < 0.4)) for a, b in pairs]
        db.load("Twin", labels, columns=[0, 1], types=["city", "city"], value=2, target=True)
        db.scope("Twin", pairs)
        fit = sqlrl.SoftStructure(method=method, length=2).fit(db, "Twin")  # type: ignore[arg-type]
        return sum(row["clause"] != "!Twin(A, B)" for row in fit.clauses())

    return found


def by_likelihood(*strengths: float) -> Callable[[random.Random], int]:
    """Return a function that returns how many rules have a weight under an L1 penalty."""

    def found(draw: random.Random) -> int:
        db = sqlrl.connect(progress=False)
        pumps = [f"p{k:03}" for k in range(250)]
        values = {"Site": "nsewc", "Maker": "pqrstuvwxyz"}
        for name, some in values.items():
            db.load(name, [(p, draw.choice(some)) for p in pumps], types=["pump", name.lower()])
        db.load("Fails", [(p,) for p in draw.sample(pumps, 80)], types=["pump"], target=True)
        db.scope("Fails", [(p,) for p in pumps])
        rules = [f'0 {name}(p, "{value}") => Fails(p)' for name, some in values.items() for value in some]
        declared = "Fails(pump)\nSite(pump, site)\nMaker(pump, maker)\n0 Fails(p)\n"
        fit = sqlrl.Likelihood("l1", strength=list(strengths)).fit(db, sqlrl.parse_mln(declared + "\n".join(rules)))
        return int((abs(fit.weights_[1:]) > 1e-9).sum())

    return found


@pytest.mark.parametrize(
    ("kept", "least", "most"),
    [
        pytest.param(by_osl, 6, 6, marks=pytest.mark.slow),
        pytest.param(by_soft_structure("gls"), 4, 6, marks=pytest.mark.slow),
        pytest.param(by_soft_structure("ppll"), 4, 6, marks=pytest.mark.slow),
        pytest.param(by_likelihood(1.0), 6, 6, marks=pytest.mark.slow),
        (by_likelihood(0.1, 1.0, 10.0, 100.0), 0, 3),
    ],
    ids=["osl", "gls", "ppll", "one strength", "strengths"],
)
def test_shuffled_labels_have_rules_where_nothing_is_held_out(
    kept: Callable[[random.Random], int], least: int, most: int
) -> None:
    """Takes more than a second: six models."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SqlrlWarning)
        runs = sum(kept(random.Random(seed)) > 0 for seed in range(300, 306))
    assert least <= runs <= most
