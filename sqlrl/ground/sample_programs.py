"""Small programs over data in memory, for examples and tests."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

from sqlrl.catalog.catalog import Catalog
from sqlrl.engine.connection import connect
from sqlrl.ground.binding import bind_program
from sqlrl.ground.program import Program
from sqlrl.ground.soft_program import SoftProgram
from sqlrl.logic.mln import parse_mln
from sqlrl.logic.model import Model
from sqlrl.logic.psl_files import parse_psl


def sample_program(
    text: str, query: Iterable[str], facts: Mapping[str, Sequence[tuple[str, ...]]], *, training: bool = True
) -> Program:
    """Return a program in Alchemy's language, held against tuples in memory; facts of query predicates are labels."""
    model = parse_mln(text, query=tuple(query))
    catalog = Catalog(connect(":memory:", threads=1))
    catalog.declare(model)
    for name, rows in facts.items():
        catalog.load(name, list(rows), target=name in model.query)
    return bind_program(catalog.engine, catalog.bind(model, training=training), model)


def sample_soft_program(
    text: str,
    targets: Mapping[str, Sequence[tuple[str, ...]]],
    facts: Mapping[str, Sequence[tuple[str, ...]]] = MappingProxyType({}),
) -> SoftProgram:
    """Return a program in PSL's language, held against the atoms to infer and facts in memory."""
    model = parse_psl(text, query=tuple(targets))
    catalog = Catalog(connect(":memory:", threads=1))
    catalog.declare(Model(dict(model.predicates), query=model.query))
    for name, rows in facts.items():
        catalog.load(name, list(rows))
    for name, rows in targets.items():
        catalog.scope(name, list(rows))
    return SoftProgram(catalog.engine, catalog.bind(model, training=False), model)


PEOPLE = "Friends(person, person)\nSmokes(person)\n1 Friends(x, y) ^ Smokes(x) => Smokes(y)"
"""One rule about friends who smoke."""

FRIENDS = {"Friends": [("Anna", "Bob"), ("Bob", "Chris")], "Smokes": [("Anna",), ("Bob",)]}
"""Its facts."""
