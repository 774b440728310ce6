"""What a transaction knows of the catalog's records, against what a query of the tables says."""

from __future__ import annotations

from contextlib import nullcontext
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlglot import exp

from sqlrl.catalog.catalog import Catalog
from sqlrl.catalog.store import ArgumentRecord, PredicateRecord, SourceRecord, Store, TypeRecord
from sqlrl.engine.connecting import connect

NAMES = st.sampled_from(["a", "B", "\U0001f600"])
STEPS = st.lists(
    st.tuples(st.sampled_from(["type", "predicate", "source", "state", "clear", "table", "drop"]), NAMES), max_size=8
)


def seen(store: Store) -> tuple[object, ...]:
    """Return all that the store says, in its order."""
    records = list(store.types().values()), list(store.predicates().values()), list(store.sources().values())
    return *records, store.state("a"), store.state("B"), store.table_names(), store.free_name("t", "A")


def change(store: Store, step: str, name: str, number: int) -> None:
    """Write a record, or make or drop a table."""
    if step == "type":
        store.save_type(TypeRecord(name, f"dictionary_{name}", size=number))
    elif step == "predicate":
        arguments = tuple(ArgumentRecord(f"x{i}", None if i else "t") for i in range(number % 3))
        store.save_predicate(PredicateRecord(name, rows=number, arguments=arguments))
    elif step == "source":
        role = ("fact", "label")[number % 2]
        store.save_predicate(PredicateRecord(name))
        store.save_source(
            SourceRecord(name, role, f"{role}_{name}", False, False, False, "file", "x", "", "{}", number)
        )
    elif step == "state":
        store.set_state(name, str(number))
    elif step == "clear":
        store.delete("state", key=name)
    elif step == "table":
        store.create(f"t_{name}", exp.select("1 AS x"), "make")
    else:
        store.drop(f"t_{name}")


@cache
def store_of_all() -> Store:
    """One database for all examples, each of which is rolled back."""
    return Catalog(connect(":memory:")).store


def change_and_look(store: Store, steps: list[tuple[str, str]], known: int) -> None:
    """Make changes, every other one in a transaction within; hold what is known against the tables; roll all back."""
    with store.writing():
        for number, (step, name) in enumerate(steps):
            if number >= known:
                # What was not read before is read after the change.
                seen(store)
            with store.writing() if number % 2 else nullcontext():
                change(store, step, name, number)
        assert seen(store) == seen(Store(store.engine))
        for found in (store.types(), store.predicates(), store.sources()):
            assert list(found) == sorted(found)
        raise ZeroDivisionError


@given(STEPS, st.integers(0, 8))
def test_a_transaction_knows_what_the_tables_hold(steps: list[tuple[str, str]], known: int) -> None:
    store = store_of_all()
    before = seen(store)
    with pytest.raises(ZeroDivisionError):
        change_and_look(store, steps, known)
    assert seen(store) == before


def test_what_was_known_is_what_was_committed() -> None:
    store = Catalog(connect(":memory:")).store
    with store.writing():
        seen(store)
        for number, step in enumerate(("type", "predicate", "source", "state", "table")):
            change(store, step, "a", number)
        inside = seen(store)
    assert seen(store) == inside != seen(Catalog(connect(":memory:")).store)


def test_a_transaction_reads_records_once(monkeypatch: pytest.MonkeyPatch) -> None:
    store = Catalog(connect(":memory:")).store
    read: list[str] = []
    rows = Store.rows
    monkeypatch.setattr(Store, "rows", lambda self, query, step: read.append(step) or rows(self, query, step))
    with store.writing():
        for number in range(3):
            change(store, "type", f"n{number}", number)
            change(store, "predicate", f"n{number}", number)
            seen(store)
    assert len(read) == len(set(read))
