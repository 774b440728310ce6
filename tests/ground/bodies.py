"""Random data and bodies of clauses, and their bindings counted one by one."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from sqlrl.catalog.catalog import Catalog
from sqlrl.catalog.layout import Layout
from sqlrl.engine.connection import connect
from sqlrl.logic.components import BodyLiteral, constant
from sqlrl.logic.mln import parse_mln

TEXT = "Target(t, t)\nP(t, t)\nQ(t, u)\nR(u)\nS(u, t, u)\n"
TYPES = {"P": ("t", "t"), "Q": ("t", "u"), "R": ("u",), "S": ("u", "t", "u")}
PREDICATES = tuple(sorted(TYPES))
SIZE = 5
IDS = {kind: {f"{kind}{i}": i for i in range(SIZE)} for kind in ("t", "u")}
"""Ids of constants in the order of their numbers."""

Facts = dict[str, set[tuple[str, ...]]]


def random_facts(rng: random.Random, examples: Sequence[str] = ()) -> Facts:
    """Facts of all predicates; with examples, these stand before the arguments."""
    found: Facts = {}
    for name, kinds in TYPES.items():
        rows = [tuple(f"{kind}{rng.randrange(SIZE)}" for kind in kinds) for _ in range(rng.choice([0, 4, 9, 14]))]
        if examples:
            rows = [(rng.choice(examples), *row) for row in rows]
        found[name] = set(rows) or {(*examples[:1], *(f"{kind}0" for kind in kinds))}
    return found


def load(facts: Facts, targets: Sequence[tuple[str, ...]], *, examples: bool = False) -> tuple[Catalog, Layout]:
    """Load facts, and labels of `Target`, whose atoms are all pairs unless there are examples."""
    catalog = Catalog(connect(":memory:", threads=1))
    model = parse_mln(TEXT + "1 Target(x, y)", query=("Target",))
    catalog.declare(model)
    width = {**{name: len(kinds) for name, kinds in TYPES.items()}, "Target": 2}
    for name, rows in {**facts, "Target": set(targets)}.items():
        if examples:
            names = ["example", *(f"x{i}" for i in range(width[name]))]
            data = pa.table([pa.array(values) for values in zip(*sorted(rows), strict=True)], names=names)
            catalog.load(name, data, target=name == "Target", columns=names[1:], example="example")
        else:
            catalog.load(name, sorted(rows), target=name == "Target")
    if examples:
        for kind in ("t", "u"):
            catalog.set_local(kind, False)
    return catalog, catalog.bind(model, training=True)


def constants(catalog: Catalog, layout: Layout, kind: str) -> dict[str, int]:
    """Ids by name."""
    name = layout.types[kind].dictionary
    rows = catalog.engine.connection.sql(
        f'SELECT name, id FROM "{name.catalog}"."{name.schema}"."{name.name}"'
    ).fetchall()
    return dict(rows)


def target_atoms(catalog: Catalog, layout: Layout) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Ids, arguments and examples of the atoms of `Target`."""
    name = layout.predicates["Target"].atoms
    assert name is not None
    rows = catalog.engine.connection.sql(
        f'SELECT atom, example, a0, a1 FROM "{name.catalog}"."{name.schema}"."{name.name}" ORDER BY atom'
    ).fetchall()
    found = np.array(rows, dtype=np.int64).reshape(-1, 4)
    return found[:, 0], found[:, 2:], found[:, 1]


def encoded(facts: Facts, ids: dict[str, dict[str, int]], example: str = "") -> dict[int, set[tuple[int, ...]]]:
    """Facts by the index of their predicate, as ids; those of one example if facts name theirs."""
    found = {}
    for i, name in enumerate(PREDICATES):
        rows = {row[1:] for row in facts[name] if row[0] == example} if example else facts[name]
        found[i] = {tuple(ids[kind][x] for kind, x in zip(TYPES[name], row, strict=True)) for row in rows}
    return found


def random_body(rng: random.Random, literals: int, ids: dict[str, dict[str, int]]) -> list[BodyLiteral]:
    """A well-typed body for `Target(0, 1)`; existential variables begin with 2."""
    kinds = ["t", "t"]
    body = []
    for _ in range(literals):
        predicate = rng.randrange(len(PREDICATES))
        terms = []
        for kind in TYPES[PREDICATES[predicate]]:
            known = [i for i, k in enumerate(kinds) if k == kind]
            choice = rng.random()
            if choice < 0.1:
                terms.append(constant(rng.choice(sorted(ids[kind].values()))))
            elif choice < 0.65 and known:
                terms.append(rng.choice(known))
            else:
                terms.append(len(kinds))
                kinds.append(kind)
        body.append(BodyLiteral(predicate, tuple(terms)))
    return body


def body_text(body: list[BodyLiteral]) -> str:
    """A body in Alchemy's language; the ids of constants are the numbers in their names."""

    def term(kind: str, x: int) -> str:
        return f"{kind.upper()}{-1 - x}" if x < 0 else f"x{x}"

    return " ^ ".join(
        f"{PREDICATES[x.predicate]}({', '.join(map(term, TYPES[PREDICATES[x.predicate]], x.terms))})" for x in body
    )


def bindings(
    body: Sequence[BodyLiteral], head: Sequence[int], facts: dict[int, set[tuple[int, ...]]]
) -> Iterator[dict[int, int]]:
    """All assignments of the body's variables that make it true, by trying each fact for each literal."""

    def extend(i: int, known: dict[int, int]) -> Iterator[dict[int, int]]:
        if i == len(body):
            yield known
            return
        for row in facts[body[i].predicate]:
            new = dict(known)
            if all(
                constant(value) == term if term < 0 else new.setdefault(term, value) == value
                for term, value in zip(body[i].terms, row, strict=True)
            ):
                yield from extend(i + 1, new)

    yield from extend(0, dict(enumerate(head)))
