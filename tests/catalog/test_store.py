"""What a transaction knows of the catalog's records, against what a query of the tables says."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlglot import exp

from sqlrl.catalog.catalog import Catalog
from sqlrl.catalog.store import ArgumentRecord, PredicateRecord, SourceRecord, Store, TypeRecord
from sqlrl.engine.connecting import connect

NAMES = st.sampled_from(["a", "B", "é", "z z", "\U0001f600", "￿"])
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


@given(STEPS, st.integers(0, 8))
def test_a_transaction_knows_what_the_tables_hold(steps: list[tuple[str, str]], nested: int) -> None:
    store = Catalog(connect(":memory:")).store
    with store.writing():
        for number, (step, name) in enumerate(steps):
            if number < nested:
                seen(store)
            if number % 2:
                with store.writing():
                    change(store, step, name, number)
            else:
                change(store, step, name, number)
            assert seen(store) == seen(Store(store.engine))
        inside = seen(store)
    assert seen(store) == inside


def change_and_fail(store: Store) -> None:
    """Write a record and a table, and end in an error."""
    with store.writing():
        store.save_type(replace(store.types()["a"], size=3))
        store.create("t_a", exp.select("1 AS x"), "make")
        raise ZeroDivisionError(seen(store))


def test_what_is_rolled_back_is_forgotten() -> None:
    store = Catalog(connect(":memory:")).store
    with store.writing():
        store.save_type(TypeRecord("a", "dictionary_a"))
    before = seen(store)
    with pytest.raises(ZeroDivisionError) as failed:
        change_and_fail(store)
    assert failed.value.args != (before,)
    assert seen(store) == before


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
