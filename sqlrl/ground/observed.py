"""A layout in which nothing is open: what is observed of every predicate, labels too, is taken as its facts."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace

from sqlrl.catalog.layout import Layout
from sqlrl.engine.base import QueryEngine
from sqlrl.ground.program import rows_table
from sqlrl.logic.implications import FALSE
from sqlrl.plan.sources import OBSERVED, false_rows, true_rows


@contextmanager
def observed_layout(engine: QueryEngine, layout: Layout, partial: Collection[str] = ()) -> Iterator[Layout]:
    """Show the true atoms of open predicates as facts of closed ones while the context is open, and those that are known to be false of `partial` ones."""
    with ExitStack() as stack:
        known = dict(layout.predicates)
        for info in layout.open_predicates():
            facts = stack.enter_context(rows_table(engine, layout, true_rows(info, OBSERVED)))
            closed = replace(
                info, open=False, facts=facts, atoms=None, block=(), full_scope=True, has_given=False, atom_count=0,
                hidden=False,
            )  # fmt: skip
            known[info.name] = closed
            if info.name in partial:
                facts = stack.enter_context(rows_table(engine, layout, false_rows(info)))
                known[f"{info.name}{FALSE}"] = replace(closed, name=f"{info.name}{FALSE}", facts=facts)
        yield replace(layout, predicates=known)
