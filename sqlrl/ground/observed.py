"""A layout in which nothing is open: what is observed of every predicate, labels too, is taken as its facts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace

from sqlrl.catalog.layout import Layout
from sqlrl.engine.base import QueryEngine
from sqlrl.ground.program import rows_table
from sqlrl.plan.sources import OBSERVED, true_rows


@contextmanager
def observed_layout(engine: QueryEngine, layout: Layout) -> Iterator[Layout]:
    """Show the true atoms of open predicates as facts of closed ones while the context is open; an atom without a label counts as false."""
    with ExitStack() as stack:
        known = dict(layout.predicates)
        for info in layout.open_predicates():
            facts = stack.enter_context(rows_table(engine, layout, true_rows(info, OBSERVED)))
            known[info.name] = replace(
                info, open=False, facts=facts, atoms=None, block=(), full_scope=True, has_given=False, atom_count=0,
                hidden=False,
            )  # fmt: skip
        yield replace(layout, predicates=known)
