"""Atom tables against a brute-force reading of the definitions, on random small databases."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlglot import exp

from sqlrl.catalog.catalog import Catalog
from sqlrl.catalog.layout import Layout, TableName
from sqlrl.engine.connection import connect
from sqlrl.logic.model import Model, Rule
from sqlrl.logic.terms import Argument, Atom, Predicate, Variable
from tests.effort import draws

BIBS, WORDS, FIELDS = ("b1", "b2", "b0"), ("w1", "w2", "w3"), ("f", "g")
Tuple = tuple[str, ...]


@dataclass
class Case:
    """A database: Has(bib, word) closed, Near(word, word) global, In(bib, field, word) open."""

    kind: str
    has: dict[Tuple, None]
    near: set[Tuple]
    labels: set[Tuple]
    evidence: dict[Tuple, bool]
    soft: dict[Tuple, float]
    scope: set[Tuple] | None
    local: bool | None
    declared: bool = field(default=False)


def tuples(*domains: tuple[str, ...]) -> st.SearchStrategy[Tuple]:
    return st.tuples(*(st.sampled_from(d) for d in domains))


@st.composite
def cases(draw: st.DrawFn) -> Case:
    has = dict.fromkeys(draw(st.lists(tuples(BIBS, WORDS), min_size=1, max_size=5)))
    atoms = tuples(BIBS, FIELDS, WORDS)
    labels = draw(st.sets(atoms, max_size=5))
    evidence = draw(st.dictionaries(atoms, st.booleans(), max_size=3))
    soft = draw(st.dictionaries(atoms, st.sampled_from([0.25, 0.5, 0.75]), max_size=2))
    evidence = {a: t for a, t in evidence.items() if a not in soft and (a not in labels or t)}
    return Case(
        draw(st.sampled_from(["type", "column", "one"])),
        has,
        draw(st.sets(tuples(WORDS, WORDS), max_size=3)),
        labels,
        evidence,
        soft,
        draw(st.none() | st.sets(atoms, min_size=1, max_size=4)),
        draw(st.sampled_from([None, None, True, False])),
        draw(st.booleans()),
    )


def build(case: Case) -> tuple[Catalog, Model]:
    """Load a case. With kind "column" the bib is a column beside the arguments."""
    beside = case.kind == "column"
    bib = () if beside else ("bib",)
    model = Model(
        {
            "Has": Predicate("Has", tuple(map(Argument, (*bib, "word")))),
            "Near": Predicate("Near", (Argument("word"), Argument("word"))),
            "In": Predicate("In", tuple(map(Argument, (*bib, "field", "word")))),
        },
        {"field": FIELDS} if case.declared else {},
        tuple(
            Rule(Atom(name, tuple(Variable(f"v{i}") for i in range(n))))
            for name, n in (("Has", 1 + len(bib)), ("Near", 2), ("In", 2 + len(bib)))
        ),
        frozenset({"In"}),
    )
    catalog = Catalog(connect(":memory:", threads=1))
    catalog.declare(model)
    example = None if case.kind == "one" else "bib" if not beside else "column0"

    def load(name: str, rows: object, **options: object) -> None:
        catalog.load(name, rows, example=example if name != "Near" else None, **options)  # type: ignore[arg-type]

    load("Has", list(case.has))
    load("Near", sorted(case.near), empty="allow")
    load("In", sorted(case.labels), target=True) if case.labels else None
    if case.evidence:
        load("In", [(*a, t) for a, t in sorted(case.evidence.items())], given=True, truth=3)
    if case.soft:
        load("In", [(*a, p) for a, p in sorted(case.soft.items())], probability=3)
    if case.scope is not None:
        names = "(bib, field, word)" if not beside else "(example, field, word)"
        values = ", ".join(str(a) for a in sorted(case.scope))
        catalog.scope("In", f"select * from (values {values}) as t{names}")
    if case.local is not None:
        catalog.set_local("word", case.local)
    return catalog, model


def expected_atoms(case: Case) -> dict[Tuple, tuple[bool | None, float | None]]:
    """Enumerate the definitions: atom -> (label, probability)."""
    listed = [case.labels, case.evidence, case.soft, case.scope or ()]
    words = (
        {w for _, w in case.has} | {w for pair in case.near for w in pair} | {a[2] for group in listed for a in group}
    )
    fields = {a[1] for group in listed for a in group} | (set(FIELDS) if case.declared else set())
    bibs = {b for b, _ in case.has} | {a[0] for group in listed for a in group}
    if case.scope is not None:
        scope = set(case.scope) | set(case.soft)
    else:
        local = case.kind != "one" and case.local is not False
        scope = set()
        for bib in bibs:
            evidence = {w for b, w in case.has if b == bib}
            evidence |= {a[2] for group in (case.evidence, case.soft) for a in group if a[0] == bib}
            scope |= {(bib, f, w) for f, w in itertools.product(fields, evidence if local else words)}
    # To a learner, a target of which nothing was loaded is false everywhere.
    told = case.labels or not (case.evidence or case.soft)
    return {a: ((a in case.labels) if told else None, case.soft.get(a)) for a in scope if a not in case.evidence}


def read(catalog: Catalog, layout: Layout, table: TableName, name: str) -> list[dict[str, object]]:
    """Read a table with names in place of ids."""
    store, info = catalog.store, layout.predicates[name]
    names = {
        t: {
            r["id"]: r["name"]
            for r in store.rows(exp.select("*").from_(store.table(layout.types[t].dictionary.name)), "d")
        }
        for t in info.types
    }
    examples = {r["example"]: r["name"] for r in store.rows(exp.select("*").from_(store.table("example")), "e")}
    rows = store.rows(exp.select("*").from_(store.table(table.name)), "rows")
    for row in rows:
        if "example" in row:
            row["example"] = examples[row["example"]]
        row["args"] = tuple(names[t][row[f"a{i}"]] for i, t in enumerate(info.types))
    return rows


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sqlrl.errors.ScopeWarning")
@settings(max_examples=draws(10), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(cases())
def test_atom_tables_are_what_the_definitions_say(case: Case) -> None:
    catalog, model = build(case)
    layout = catalog.bind(model, training=True)
    info = layout.predicates["In"]
    assert info.open
    assert info.atoms is not None
    rows = read(catalog, layout, info.atoms, "In")
    beside = case.kind == "column"
    found = {}
    for row in rows:
        atom = (row["example"], *row["args"]) if beside else row["args"]
        prior = row["prior"]
        found[atom] = (row["truth"], None if prior is None else round(1 / (1 + 2.718281828459045**-prior), 6))
        if case.kind == "type":
            assert row["example"] == row["args"][0]
    assert found == expected_atoms(case)
    assert len(rows) == len(found) == info.atom_count
    assert [r["atom"] for r in rows] == list(range(1, len(rows) + 1))
    check_facts(case, catalog, layout, set(found))
    again = catalog.bind(model, training=True)
    assert again == layout


def check_facts(case: Case, catalog: Catalog, layout: Layout, atoms: set[Tuple]) -> None:
    """Facts come back with `given` true exactly for evidence, never for labels."""
    info = layout.predicates["In"]
    rows = read(catalog, layout, info.facts, "In")
    found = {
        ((r["example"], *r["args"]) if case.kind == "column" else r["args"]): (r["truth"], r["given"]) for r in rows
    }
    known = (
        dict.fromkeys(case.labels, True)
        | dict(case.evidence)
        | {a: True if a in case.labels else None for a in case.soft}
    )
    assert found == {a: (t, a in case.evidence) for a, t in known.items()}
    assert info.has_given == bool(case.evidence)
    assert not atoms & case.evidence.keys()
    closed = read(catalog, layout, layout.predicates["Has"].facts, "Has")
    assert {((r["example"], *r["args"]) if case.kind == "column" else r["args"]) for r in closed} == set(case.has)
    near = read(catalog, layout, layout.predicates["Near"].facts, "Near")
    assert {r["args"] for r in near} == case.near
    assert [
        r["example"] for r in catalog.store.rows(exp.select("*").from_(catalog.store.table("example")), "e")
    ] == list(range(layout.example_count))


@pytest.mark.filterwarnings("ignore::sqlrl.errors.ScopeWarning")
def test_labels_outside_the_local_domain_leave_no_atom() -> None:
    case = Case("type", {("b1", "w1"): None}, set(), {("b1", "f", "w2")}, {}, {}, None, None)
    catalog, model = build(case)
    layout = catalog.bind(model, training=True)
    assert layout.predicates["In"].atom_count == 1
    assert not layout.predicates["In"].has_given


@pytest.mark.filterwarnings("ignore::sqlrl.errors.ScopeWarning")
@pytest.mark.parametrize("shuffled", [[("b1", "g", "w2"), ("b2", "f", "w1")], [("b2", "f", "w2"), ("b1", "g", "w1")]])
def test_domains_do_not_depend_on_labels(shuffled: list[Tuple]) -> None:
    case = Case("type", {("b1", "w1"): None, ("b2", "w2"): None}, set(), set(shuffled), {}, {}, None, None)
    catalog, model = build(case)
    layout = catalog.bind(model, training=True)
    atoms = layout.predicates["In"].atoms
    assert atoms is not None
    assert {r["args"] for r in read(catalog, layout, atoms, "In")} == set(expected_atoms(case))
