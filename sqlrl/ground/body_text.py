"""Bodies of clauses as text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sqlglot import exp

from sqlrl.catalog.layout import Layout
from sqlrl.engine.base import Engine
from sqlrl.engine.nodes import column, integer
from sqlrl.logic.components import BodyLiteral, constant
from sqlrl.plan.sql import table


class BodyText:
    """Writes literals with the names of predicates and constants; variables are A, B, ... from the head's arguments on.

    Parameters
    ----------
    engine : Engine
    layout : Layout
    predicates : sequence of str
        By index.
    body : sequence of BodyLiteral

    Examples
    --------
    >>> from sqlrl.ground.sample import FRIENDS, PEOPLE, sample_program
    >>> program = sample_program(PEOPLE, ["Smokes"], FRIENDS)
    >>> body = (BodyLiteral(0, (0, 1)), BodyLiteral(0, (1, constant(2))))
    >>> str(BodyText(program.engine, program.layout, ["Friends"], body))
    'Friends(A, B) ^ Friends(B, Chris)'
    """

    def __init__(self, engine: Engine, layout: Layout, predicates: Sequence[str], body: Sequence[BodyLiteral]) -> None:
        self.body, self._infos = body, [layout.predicates[name] for name in predicates]
        wanted: dict[str, set[int]] = {}
        for literal in body:
            for kind, term in zip(self._infos[literal.predicate].types, literal.terms, strict=True):
                if term < 0:
                    wanted.setdefault(kind, set()).add(constant(term))
        self._constants = {kind: constant_names(engine, layout, kind, ids) for kind, ids in wanted.items()}

    def __str__(self) -> str:
        return " ^ ".join(map(self.literal, self.body))

    def literal(self, literal: BodyLiteral) -> str:
        """Return one of the literals."""
        info = self._infos[literal.predicate]
        shown = [self._term(term, kind) for term, kind in zip(literal.terms, info.types, strict=True)]
        return f"{info.name}({', '.join(shown)})" if shown else info.name

    def _term(self, term: int, kind: str) -> str:
        if term < 0:
            return self._constants[kind].get(constant(term), "?")
        return chr(ord("A") + term % 26) + (str(term // 26) if term >= 26 else "")


def constant_names(engine: Engine, layout: Layout, kind: str, ids: Iterable[int]) -> dict[int, str]:
    """Return the names of some constants of a type.

    Examples
    --------
    >>> from sqlrl.ground.sample import FRIENDS, PEOPLE, sample_program
    >>> program = sample_program(PEOPLE, ["Smokes"], FRIENDS)
    >>> constant_names(program.engine, program.layout, "person", [1])
    {1: 'Bob'}
    """
    listed = exp.In(this=column("id", "d"), expressions=[integer(i) for i in sorted(set(ids))])
    query = exp.select(column("id", "d"), column("name", "d")).from_(table(layout.types[kind].dictionary, "d"))
    data = engine.fetch(query.where(listed), step=f"read names of {kind}")
    return dict(zip(data.column("id").to_pylist(), data.column("name").to_pylist(), strict=True))
