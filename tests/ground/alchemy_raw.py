"""A reader of Alchemy's `autotestmlnfiles`: a test format of its own, with published raw groundings."""

from __future__ import annotations

import re
from collections import Counter
from itertools import product
from pathlib import Path

from sqlrl.logic.formulas import parse_formula
from sqlrl.logic.model import Model, Rule
from sqlrl.logic.terms import Argument, Predicate
from tests.ground.brute import atoms_of, free_variables

Clauses = Counter[tuple[int, ...]]


def read_program(path: Path) -> Model:
    """Read `#domains`, `#predicates` and `#formulas`; every predicate is open."""
    types: dict[str, tuple[str, ...]] = {}
    predicates: dict[str, Predicate] = {}
    rules: list[Rule] = []
    section = ""
    for line in filter(None, map(str.strip, path.read_text().splitlines())):
        if line.startswith("#"):
            section = line
        elif section == "#domains":
            name, constants = line.split("=")
            types[name.strip()] = tuple(c.strip() for c in constants.strip(" {}").split(","))
        elif section == "#predicates":
            name, arguments = re.fullmatch(r"(\w+)\((.*)\)", line).groups()  # type: ignore[union-attr]
            predicates[name] = Predicate(name, tuple(Argument(a.strip()) for a in arguments.split(",")))
        else:
            formula, weight = line.split("::")
            rules.append(Rule(parse_formula(formula.replace("|", "v")), float(weight)))
    return Model(predicates, types, tuple(rules), frozenset(predicates))


def read_groundings(path: Path, first: int) -> list[Clauses]:
    """Read the ground clauses of each formula; literals become 1-based. `first` is how the file counts its atoms."""
    lines = path.read_text().splitlines()
    clauses: list[Clauses] = []
    rest = [list(map(int, line.split())) for line in lines[3:] if line.strip()]
    while rest:
        size = 8 if first == 0 else rest.pop(0)[0]
        found = [tuple(sorted(x + 1 - first for x in row)) for row in rest[:size]]
        clauses.append(Counter(found))
        rest = rest[size:]
    return clauses


def numbered(model: Model) -> dict[tuple[str, tuple[str, ...]], int]:
    """Number atoms from 1 as the files do: predicate by predicate, in the order in which the first formula that mentions it meets them."""
    atoms: dict[tuple[str, tuple[str, ...]], int] = {}
    for predicate in model.predicates.values():
        uses = ((rule.formula, atom) for rule in model.rules for atom in atoms_of(rule.formula))
        formula, atom = next(((f, a) for f, a in uses if a.predicate == predicate.name), (None, None))
        if formula is None or atom is None:
            continue
        types = {
            t.name: kind
            for a in atoms_of(formula)
            for t, kind in zip(a.terms, model.predicates[a.predicate].types, strict=True)
        }
        names = free_variables(formula)
        for values in product(*(model.types[types[v]] for v in names)):
            row = dict(zip(names, values, strict=True))
            atoms.setdefault((predicate.name, tuple(row[t.name] for t in atom.terms)), len(atoms) + 1)
    return atoms
