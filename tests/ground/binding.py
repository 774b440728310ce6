"""Models bound to a few facts, for tests of grounding."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sqlrl.catalog.catalog import Catalog
from sqlrl.engine.connection import connect
from sqlrl.ground.binding import bind_program
from sqlrl.ground.program import Program
from sqlrl.logic.model import Model

Facts = dict[str, list[tuple[str, ...]]]
_catalogs: dict[str, Catalog] = {}
_MOST = 20
"""Catalogs that are kept: those of the last parametrized tests."""


@contextmanager
def bound(
    model: Model, facts: Facts | None = None, given: Facts | None = None, example: str | None = None
) -> Iterator[Program]:
    """Bind a model to facts; `given` has rows with their truth ("true", "false") at the end.

    Models whose rules alone differ share a database, which is only read.
    """
    key = repr(
        (sorted(model.predicates.items()), sorted(model.types.items()), sorted(model.query), facts, given, example)
    )
    catalog = _catalogs.pop(key, None) or _loaded(model.with_rules(()), facts or {}, given or {}, example)
    program = bind_program(catalog.engine, catalog.bind(model, training=False), model)
    program.expand()
    yield program
    program.close()
    _catalogs[key] = catalog
    if len(_catalogs) > _MOST:
        _catalogs.pop(next(iter(_catalogs))).engine.close()


def _loaded(model: Model, facts: Facts, given: Facts, example: str | None) -> Catalog:
    catalog = Catalog(connect(":memory:", threads=1))
    catalog.declare(model)
    for name, rows in facts.items():
        used = example if model.predicates[name].types.count(str(example)) == 1 else None
        catalog.load(name, rows, example=used, target=name in model.query)
    for name, rows in given.items():
        shown = [(*row[:-1], row[-1] == "true") for row in rows]
        catalog.load(name, shown, example=example, given=True, truth=len(shown[0]) - 1)
    return catalog
