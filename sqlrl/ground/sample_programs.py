"""Small programs over data in memory, for examples and tests."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from sqlrl.catalog.catalog import Catalog
from sqlrl.engine.connection import connect
from sqlrl.ground.binding import bind_program
from sqlrl.ground.program import Program
from sqlrl.logic.mln import parse_mln


def sample_program(text: str, query: Iterable[str], facts: Mapping[str, Sequence[tuple[str, ...]]]) -> Program:
    """Return a program in Alchemy's language, held against tuples in memory; facts of query predicates are labels.

    Examples
    --------
    >>> sample_program(PEOPLE, ["Smokes"], FRIENDS).clause_count
    1
    """
    model = parse_mln(text, query=tuple(query))
    catalog = Catalog(connect(":memory:", threads=1))
    catalog.declare(model)
    for name, rows in facts.items():
        catalog.load(name, list(rows), target=name in model.query)
    return bind_program(catalog.engine, catalog.bind(model, training=True), model)


PEOPLE = "Friends(person, person)\nSmokes(person)\n1 Friends(x, y) ^ Smokes(x) => Smokes(y)"
"""One rule about friends who smoke."""

FRIENDS = {"Friends": [("Anna", "Bob"), ("Bob", "Chris")], "Smokes": [("Anna",), ("Bob",)]}
"""Its facts."""
