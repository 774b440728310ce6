"""What a transaction knows of the catalog's records, against what a query of the tables says."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlglot import exp

from sqlrl.catalog.catalog import Catalog
from sqlrl.catalog.image import ArgumentRecord, PredicateRecord, SourceRecord, TypeRecord
from sqlrl.catalog.store import Store
from sqlrl.engine.connection import connect
from sqlrl.engine.duckdb import DuckDBEngine

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
        # Records belong together: a store refuses others as damaged.
        store.save_type(TypeRecord("t", "dictionary_t"))
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
        store.forget_state(name)
    elif step == "table":
        store.create(f"t_{name}", exp.select("1 AS x"), "make")
    else:
        store.drop(f"t_{name}")


@cache
def store_of_all() -> Store:
    """One database for all examples, each of which is rolled back."""
    return Catalog(connect(":memory:")).store


def change_all(store: Store, steps: list[tuple[str, str]], known: int) -> None:
    """Make changes, every other one in a transaction within."""
    for number, (step, name) in enumerate(steps):
        if number >= known:
            # What was not read before is read after the change.
            seen(store)
        with store.writing() if number % 2 else nullcontext():
            change(store, step, name, number)
    for found in (store.types(), store.predicates(), store.sources()):
        assert list(found) == sorted(found)


def change_and_look(store: Store, steps: list[tuple[str, str]], known: int) -> None:
    """Make changes and roll all back; hold what is known before that against what the tables are then to hold."""
    with store.engine.transaction():
        with store.writing():
            change_all(store, steps, known)
            inside = seen(store)
        assert inside == seen(store) == seen(Store(store.engine))
        raise ZeroDivisionError


@given(STEPS, st.integers(0, 8))
def test_a_transaction_writes_what_it_knows(steps: list[tuple[str, str]], known: int) -> None:
    store = store_of_all()
    before = seen(store)
    with pytest.raises(ZeroDivisionError):
        change_and_look(store, steps, known)
    assert seen(store) == before == seen(Store(store.engine))


@given(STEPS, st.integers(0, 8))
def test_what_a_transaction_knew_is_forgotten_when_it_is_rolled_back(steps: list[tuple[str, str]], known: int) -> None:
    store = store_of_all()
    before = seen(store)

    def fail() -> None:
        with store.writing():
            change_all(store, steps, known)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError), store.verb():
        fail()
    assert seen(store) == before == seen(Store(store.engine))


def test_what_was_known_is_what_was_committed() -> None:
    store = Catalog(connect(":memory:")).store
    with store.writing():
        seen(store)
        for number, step in enumerate(("type", "predicate", "source", "state", "table")):
            change(store, step, "a", number)
        inside = seen(store)
    assert seen(store) == inside != seen(Catalog(connect(":memory:")).store)


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The statements that run, by their steps."""
    run: list[str] = []
    for name in ("fetch_rows", "execute_sql"):
        original = getattr(DuckDBEngine, name)

        def noted(self: DuckDBEngine, sql: object, *, step: str, original: Callable[..., object] = original) -> object:
            run.append(step)
            return original(self, sql, step=step)

        monkeypatch.setattr(DuckDBEngine, name, noted)
    return run


READ, WRITE = "read the records of the catalog", "write records of the catalog"


def test_a_transaction_reads_records_once_and_writes_once(steps: list[str]) -> None:
    store = Catalog(connect(":memory:")).store
    with store.writing():
        for number in range(3):
            change(store, "type", f"n{number}", number)
            change(store, "predicate", f"n{number}", number)
            seen(store)
    assert (steps.count(READ), steps.count(WRITE)) == (1, 1)


def test_a_transaction_without_a_change_writes_nothing(steps: list[str]) -> None:
    store = Catalog(connect(":memory:")).store
    with store.writing():
        change(store, "state", "a", 1)
    steps.clear()
    with store.writing():
        change(store, "state", "a", 2)
        change(store, "state", "a", 1)
    assert WRITE not in steps


def test_a_verb_reads_records_once_and_the_next_one_sees_what_others_did(steps: list[str]) -> None:
    store = Catalog(connect(":memory:")).store
    with store.verb():
        seen(store)
        with store.verb():
            seen(store)
        store.engine.connection.execute("insert into sqlrl.state values ('a', 'new')")
        assert store.state("a") is None
    assert steps.count(READ) == 1
    with store.verb():
        assert store.state("a") == "new"
    assert store.state("a") == "new"
