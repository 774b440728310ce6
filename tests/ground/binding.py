"""Models bound to a few facts, for tests of grounding."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sqlrl.catalog.catalog import Catalog
from sqlrl.engine.connecting import connect
from sqlrl.ground.binding import bind_program
from sqlrl.ground.program import Program
from sqlrl.logic.model import Model

Facts = dict[str, list[tuple[str, ...]]]


@contextmanager
def bound(
    model: Model, facts: Facts | None = None, given: Facts | None = None, example: str | None = None
) -> Iterator[Program]:
    """Bind a model to facts; `given` has rows with their truth ("true", "false") at the end."""
    catalog = Catalog(connect(":memory:", threads=1))
    catalog.declare(model)
    for name, rows in (facts or {}).items():
        used = example if model.predicates[name].types.count(str(example)) == 1 else None
        catalog.load(name, rows, example=used, target=name in model.query)
    for name, rows in (given or {}).items():
        shown = [(*row[:-1], row[-1] == "true") for row in rows]
        catalog.load(name, shown, example=example, given=True, truth=len(shown[0]) - 1)
    program = bind_program(catalog.engine, catalog.bind(model, training=False), model)
    program.expand()
    yield program
    program.close()
    catalog.engine.close()
