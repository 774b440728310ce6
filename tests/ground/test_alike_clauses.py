"""Counts of formulas whose normal form has several clauses of one shape, or none, against formulas evaluated in Python."""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import product

import pytest

import sqlrl

NAMES = ("A", "B", "C")
DECLARED = "D(t)\nE(t, t)\nU(t)\nQ(t)\n"

Facts = set[tuple[str, ...]]
Formula = tuple[str, int, Callable[[Facts, Facts, Facts, tuple[str, ...]], bool]]
"""Its text, how many variables it has, and its truth by the facts of E, U and Q."""

FORMULAS: list[Formula] = [
    ("Q(B) => (U(B) <=> U(A))", 0, lambda e, u, q, v: ("B",) not in q or (("B",) in u) == (("A",) in u)),
    ("Q(A) <=> Q(B)", 0, lambda e, u, q, v: (("A",) in q) == (("B",) in q)),
    ("U(A) ^ !U(B) => (Q(A) <=> Q(B))", 0,
     lambda e, u, q, v: not (("A",) in u and ("B",) not in u) or (("A",) in q) == (("B",) in q)),
    ("Q(x) => (E(y, A) <=> E(z, B))", 3, lambda e, u, q, v: (v[0],) not in q or ((v[1], "A") in e) == ((v[2], "B") in e)),
    ("E(x, A) ^ Q(y) <=> E(z, B)", 3, lambda e, u, q, v: ((v[0], "A") in e and (v[1],) in q) == ((v[2], "B") in e)),
    ("(E(x, A) ^ U(B)) v (E(x, B) ^ U(A)) v Q(y)", 2,
     lambda e, u, q, v: ((v[0], "A") in e and ("B",) in u) or ((v[0], "B") in e and ("A",) in u) or (v[1],) in q),
    # The two clauses have the same constants, too.
    ("E(x, A) <=> E(y, A)", 2, lambda e, u, q, v: ((v[0], "A") in e) == ((v[1], "A") in e)),
    ("Q(z) v (E(x, A) <=> E(y, A))", 3, lambda e, u, q, v: (v[0],) in q or ((v[1], "A") in e) == ((v[2], "A") in e)),
    ("(E(x, A) <=> E(y, A)) v (E(z, B) <=> E(w, B))", 4,
     lambda e, u, q, v: ((v[0], "A") in e) == ((v[1], "A") in e) or ((v[2], "B") in e) == ((v[3], "B") in e)),
    ("Q(x) <=> Q(y)", 2, lambda e, u, q, v: ((v[0],) in q) == ((v[1],) in q)),
    ("(U(A) <=> U(B)) ^ (Q(B) <=> Q(C))", 0,
     lambda e, u, q, v: (("A",) in u) == (("B",) in u) and (("B",) in q) == (("C",) in q)),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, *(seed for seed in (1, 2))])
def test_counts_are_those_of_the_formulas(seed: int) -> None:
    draw = random.Random(seed)
    e, u, q = ({found for found in product(NAMES, repeat=k) if draw.random() < 0.5} for k in (2, 1, 1))
    db = sqlrl.connect()
    db.load("D", [(name,) for name in NAMES], types=["t"])
    db.load("E", sorted(e) or [("A", "A")], types=["t", "t"])
    db.load("U", sorted(u) or [("A",)], types=["t"])
    db.load("Q", sorted(q) or [("A",)], types=["t"], target=True)
    e, u, q = e or {("A", "A")}, u or {("A",)}, q or {("A",)}
    model = sqlrl.parse_mln(DECLARED + "\n".join(f"{k + 1} {text}" for k, (text, _, _) in enumerate(FORMULAS)))
    expected = [
        sum(true(e, u, q, values) for values in product(NAMES, repeat=variables)) for _, variables, true in FORMULAS
    ]
    assert db.count(model)["n"] == expected


def test_groundings_of_formulas_about_one_example_each() -> None:
    """How many words a clause ranges over depends on its document; its two normal clauses have as many groundings as one."""
    db = sqlrl.connect()
    words = [("D1", "a"), ("D1", "b"), ("D2", "a"), ("D2", "c"), ("D2", "d")]
    db.load("Word", words, types=["doc", "word"], example="doc")
    db.load("Q", [("D1", "a"), ("D2", "c"), ("D2", "d")], types=["doc", "word"], target=True)
    rules = "1 Q(D1, x) <=> Q(D1, y)\n1 Q(D2, x) <=> Q(D2, y)\n1 Q(D1, x)"
    found = db.count(sqlrl.parse_mln(f"Word(doc, word)\nQ(doc, word)\n{rules}"))
    assert (found["groundings"], found["n"]) == ([4, 9, 2], [2, 5, 1])


def test_formulas_that_no_atom_decides_have_all_their_groundings() -> None:
    """They have no clause, but n is what their text says: all groundings, or none."""
    db = sqlrl.connect()
    db.load("D", [(name,) for name in NAMES], types=["t"])
    db.load("Q", [("A",)], types=["t"], target=True)
    rules = "1 Q(x) v !Q(x)\n2 Q(x) ^ !Q(x)\n3 (D(x) => D(x)) ^ (Q(y) v !Q(y))"
    found = db.count(sqlrl.parse_mln(f"D(t)\nQ(t)\n{rules}"))
    assert (found["groundings"], found["n"]) == ([3, 3, 9], [3, 0, 9])
