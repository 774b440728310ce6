"""What all tests and doctests share: databases without comments on their tables, and names that examples in docstrings use."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from importlib import import_module

import pytest

from sqlrl.catalog import migrations

SHARED = {
    "sqlrl.catalog.catalog": ("Catalog",),
    "sqlrl.catalog.layout": ("PredicateInfo", "TypeInfo"),
    "sqlrl.engine.connection": ("connect",),
    "sqlrl.engine.nodes": ("column", "table"),
    "sqlrl.ground.binding": ("bind_program",),
    "sqlrl.ground.grounding": ("ground_network",),
    "sqlrl.ground.program": ("Extent",),
    "sqlrl.ground.sample_programs": ("FRIENDS", "PEOPLE", "sample_program"),
    "sqlrl.learn.labels": ("Names",),
    "sqlrl.logic.bias_parser": ("parse_bias",),
    "sqlrl.logic.formulas": ("parse_formula",),
    "sqlrl.logic.grammar_parser": ("parse_grammar",),
    "sqlrl.logic.horn_parser": ("parse_definitions",),
    "sqlrl.logic.mln": ("parse_mln",),
    "sqlrl.logic.printer": ("format_formula",),
    "sqlrl.logic.shapes": ("Shape", "ShapeLiteral", "Slot"),
    "sqlrl.logic.terms": ("Atom", "Constant", "Literal", "Variable"),
    "sqlrl.plan.sample_layout": ("friends_smoke", "people", "table_name"),
    "sqlrl.plan.slots": ("bind",),
    "sqlrl.plan.sources": ("OBSERVED",),
    "sqlrl.solve.hinge.iterates": ("start",),
    "sqlrl.solve.hinge.problem": ("problem_of",),
    "sqlrl.solve.hinge.sample_networks": ("hinge_network",),
    "sqlrl.solve.log_linear": ("log_linear",),
    "sqlrl.solve.marginal": ("marginals",),
    "sqlrl.solve.mpe": ("mpe",),
    "sqlrl.solve.sample_networks": ("chains", "network"),
    "sqlrl.solve.structure": ("compile_network",),
    "sqlrl.solve.weighted": ("weigh",),
    "sqlrl.structure.osl.sample_window": ("facts", "field_pattern", "modes"),
}
"""By module the names that examples of internal docstrings use without importing them; those of users import what they use."""


def pytest_collection_finish() -> None:
    """Leave what was collected out of the garbage collector's work: it is there to the end, and walked again and again."""
    gc.collect()
    gc.freeze()
    # Plans are trees whose nodes know their parents: by default they start a collection many times in a second.
    gc.set_threshold(20_000, 20, 20)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Give an example in a docstring the shared names; names of its own module come first."""
    if isinstance(item, pytest.DoctestItem):
        names = item.dtest.globs
        names.setdefault("np", import_module("numpy"))
        names.setdefault("pa", import_module("pyarrow"))
        for module, shared in SHARED.items():
            for name in shared:
                names.setdefault(name, getattr(import_module(module), name))


@pytest.fixture(scope="session", autouse=True)
def _no_comments() -> Iterator[None]:
    """Leave out the hundreds of comments on columns that a new database gets: they are most of what making one takes."""
    script = migrations.COMMENT.sub("", migrations.layout_script())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(migrations, "layout_script", lambda: script)
        patch.setattr(migrations, "comment_tables", lambda *_: None)
        yield


@pytest.fixture
def comments(monkeypatch: pytest.MonkeyPatch) -> None:
    """Databases with their comments, as users have them."""
    from sqlrl.catalog.views import comment_tables
    from sqlrl.resources import resource

    monkeypatch.setattr(migrations, "layout_script", lambda: resource("schemas", "layout.sql"))
    monkeypatch.setattr(migrations, "comment_tables", comment_tables)
