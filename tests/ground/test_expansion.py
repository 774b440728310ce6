"""Which combinations a template expands to, against enumeration of all its groundings."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from sqlglot import exp

import sqlrl
from sqlrl.engine.nodes import column, table

POSITIONS = [f"P{i}" for i in range(5)]
BIBS, FIELDS = ["B1", "B2", "B3"], ["F1", "F2", "F3", "F4"]
DECLARED = """
Token(bib, position)
Before(position, position)
Allowed(bib, field)
InField(bib, field, position)
"""
BETWEEN = "Before(p, q) ^ Before(q, r) ^ Allowed(c, +f) ^ InField(c, +f, p) ^ InField(c, +f, r) => InField(c, +f, q)."
FAR = "Before(p, q) ^ Before(q, r) ^ Before(r, s) ^ Allowed(c, +f) ^ InField(c, +f, p) => !InField(c, +f, s)."


@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 8))])
def test_variables_that_are_eliminated_change_no_combination(seed: int) -> None:
    rng = np.random.default_rng(seed)
    # A position before itself makes a clause that holds an atom and its negation, which the evidence does not leave open.
    pairs = [(a, b) for a, b in product(POSITIONS, POSITIONS) if rng.random() < (0.5 if a == b else 0.08)]
    # A label that is inside the scope, so that InField has a row: ("B1", "F1", "P0").
    tokens = [pair for pair in product(BIBS, POSITIONS) if rng.random() < 0.7 or pair == ("B1", "P0")]
    allowed = [pair for pair in product(BIBS, FIELDS) if rng.random() < 0.4 or pair == ("B1", "F1")]
    fields = sorted({f for _, f in allowed})
    query = [(c, f, p) for (c, p), f in product(tokens, fields) if (c, f, p) != ("B1", "F1", "P0")]
    given = {row: bool(rng.random() < 0.5) for row in query if seed % 2 and rng.random() < 0.4}
    db = sqlrl.connect()
    db.load("Token", tokens, types=("bib", "position"), example="bib")
    db.load("Before", pairs or [("P0", "P1")], types=("position", "position"))
    db.load("Allowed", allowed, types=("bib", "field"), example="bib")
    db.load(local={"field": False})  # so that every field of every token has an atom, which needs no outer join
    db.load("InField", [("B1", "F1", "P0")], types=("bib", "field", "position"), target=True)
    if given:
        rows = [(*row, truth) for row, truth in given.items()]
        db.load("InField", rows, types=("bib", "field", "position"), truth=3, given=True)
    before = set(pairs or [("P0", "P1")])

    def opened(clause: list[tuple[tuple[str, str, str], bool]]) -> bool:
        """True if no literal is true by evidence, some atom is a query atom, and none stands there with both signs."""
        signs = dict[tuple[str, str, str], set[bool]]()
        for atom, positive in clause:
            signs.setdefault(atom, set()).add(positive)
        if any(len(x) == 2 for x in signs.values()) or any(given.get(atom) == positive for atom, positive in clause):
            return False
        return any(atom not in given for atom, _ in clause)

    wanted: dict[str, set[str]] = {BETWEEN: set(), FAR: set()}
    for c, f in allowed:
        inside = [p for b, p in tokens if b == c]
        for p, q, r in product(inside, repeat=3):
            if (p, q) in before and (q, r) in before:
                if opened([((c, f, p), False), ((c, f, r), False), ((c, f, q), True)]):
                    wanted[BETWEEN].add(f)
                if any((r, s) in before and opened([((c, f, p), False), ((c, f, s), False)]) for s in inside):
                    wanted[FAR].add(f)
    for rule, fields in wanted.items():
        with db.advanced.program(sqlrl.parse_mln(DECLARED + rule, query=("InField",))) as program:
            program.expand()
            (feature,) = program.expansions
            names = exp.select(column("name", "d")).from_(table(program.expansions[feature], "e"))
            dictionary = table(program.layout.types["field"].dictionary, "d")
            names = names.join(dictionary, on=exp.EQ(this=column("id", "d"), expression=column("plus0", "e")))
            found = program.engine.fetch(names, step="read combinations").column(0).to_pylist()
            assert sorted(found) == sorted(fields), rule
