"""Loading: kinds of sources, mapping of columns, and what each kind of bad input gets."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlglot import exp

import sqlrl
from sqlrl.catalog import encoding
from sqlrl.catalog.catalog import Catalog
from sqlrl.catalog.changes import changed_sources
from sqlrl.catalog.columns import Mapped, raw_query
from sqlrl.catalog.declarations import compact
from sqlrl.catalog.options import LoadOptions
from sqlrl.catalog.sources import LoadSource
from sqlrl.engine.connection import connect
from sqlrl.errors import CatalogError, EngineError, LoadError, LoadWarning, ParseError
from sqlrl.logic.evidence import EvidenceAtom
from sqlrl.logic.mln import parse_mln
from sqlrl.logic.model import Model
from sqlrl.logic.terms import Argument, Predicate
from tests.effort import draws

PAIRS = [("f", "x"), ("t", "y"), ("1", "x")]


@pytest.fixture
def catalog() -> Catalog:
    return Catalog(connect(":memory:", threads=1))


def facts(catalog: Catalog, predicate: str = "P") -> list[tuple[Any, ...]]:
    """Return the stored rows of a predicate with names in place of ids."""
    store = catalog.store
    record = store.predicates()[predicate]
    names = {
        t: {r["id"]: r["name"] for r in store.rows(exp.select("*").from_(store.table(i.dictionary)), "d")}
        for t, i in store.types().items()
    }
    rows = []
    for (name, _), source in store.sources().items():
        if name == predicate:
            for row in store.rows(exp.select("*").from_(store.table(source.storage)), "f"):
                args = [
                    row.pop(f"a{i}") if source.staged else names[str(t)][row.pop(f"a{i}")]
                    for i, t in enumerate(record.types)
                ]
                rows.append((*args, *row.values()))
    return rows


def source(kind: str, folder: Path, catalog: Catalog) -> Any:
    """Return the pairs as one kind of source."""
    table = pa.table({"a": [p[0] for p in PAIRS], "b": [p[1] for p in PAIRS]})
    connection = catalog.engine.connection
    match kind:
        case "parquet":
            pq.write_table(table, folder / "p.parquet")
            return folder / "p.parquet"
        case "csv":
            (folder / "p.csv").write_text("a,b\n" + "".join(f"{a},{b}\n" for a, b in PAIRS))
            return str(folder / "p.csv")
        case "arrow":
            return table
        case "pandas":
            return pd.DataFrame(PAIRS, columns=["a", "b"])
        case "polars":
            return pl.DataFrame(PAIRS, schema=["a", "b"], orient="row")
        case "lazy":
            return pl.DataFrame(PAIRS, schema=["a", "b"], orient="row").lazy()
        case "tuples":
            return (p for p in PAIRS)
        case "relation":
            return connection.sql(f"select * from (values {', '.join(map(str, PAIRS))}) as t(a, b)")
        case "query":
            return f"select * from (values {', '.join(map(str, PAIRS))}) as t(a, b)"
        case "table" | "view":
            connection.execute(
                f'create {kind} "my pairs" as select * from (values {", ".join(map(str, PAIRS))}) as t(a, b)'
            )
            return "my pairs"
    raise AssertionError(kind)


KINDS = ["parquet", "csv", "arrow", "pandas", "polars", "lazy", "tuples", "relation", "query", "table", "view"]


@pytest.mark.parametrize(
    ("kind", "typed"),
    [
        *((kind, kind != "csv") for kind in KINDS),
        ("csv", True),
        ("parquet", False),
        ("arrow", False),
        *(
            pytest.param(kind, False, marks=pytest.mark.slow)
            for kind in KINDS
            if kind not in ("parquet", "csv", "arrow")
        ),
    ],
)
def test_every_kind_of_source_yields_the_same_text(catalog: Catalog, tmp_path: Path, kind: str, typed: bool) -> None:
    catalog.load("P", source(kind, tmp_path, catalog), types=["s", "s"] if typed else None)
    assert sorted(facts(catalog)) == sorted(PAIRS)
    catalog.declare(Model({"P": Predicate("P", (Argument("s"), Argument("s")))}))
    assert sorted(facts(catalog)) == sorted(PAIRS)
    assert {t.type: t.size for t in catalog.types().values()} == {"s": 5}


def test_a_relation_of_another_connection_is_read_too(catalog: Catalog) -> None:
    other = duckdb.connect()
    catalog.load("P", other.sql("select 'a' as x"), types=["s"])
    assert facts(catalog) == [("a",)]
    relation = other.sql("select cast('x' as integer) as x")
    with pytest.raises(LoadError, match="the relation cannot be read"):
        catalog.load("P", relation, types=["s"])


def test_columns_by_name_position_and_mapping(catalog: Catalog) -> None:
    table = pa.table({"extra": ["z"], "b": ["x"], "a": ["f"]})
    with pytest.raises(LoadError, match=r"2 arguments \(s, u\) but 3 columns \(extra, b, a\): name the columns"):
        catalog.load("P", table, types=["s", "u"])
    for columns in (["a", "b"], [2, 1], {"s": "a", "u": "b"}, {1: 1, 0: "A"}):
        catalog.load("P", table, types=["s", "u"], columns=columns)
        assert facts(catalog) == [("f", "x")]
    with pytest.raises(LoadError, match=r"no column 'aa' among .*did you mean 'a'|no column 'aa'"):
        catalog.load("P", table, types=["s", "u"], columns=["aa", "b"])
    with pytest.raises(LoadError, match="used twice"):
        catalog.load("P", table, types=["s", "u"], columns=["a", "a"])
    assert facts(catalog) == [("f", "x")]


def test_renaming_and_case_folding(catalog: Catalog) -> None:
    catalog.load("P", [("New York",), ("BONN",)], types=["city"], fold_case=True, constants={"new york": "NY"})
    assert sorted(facts(catalog)) == [("NY",), ("bonn",)]


def test_renaming_costs_what_the_names_are_not_their_square(monkeypatch: pytest.MonkeyPatch) -> None:
    copied: list[exp.Case] = []
    copy = exp.Case.copy
    monkeypatch.setattr(exp.Case, "copy", lambda case: copied.append(case) or copy(case))
    source = LoadSource(exp.table_("t"), {"a": "VARCHAR"}, "t", "table", "")
    query = raw_query(source, Mapped(("a",)), LoadOptions(constants={f"a{i}": f"b{i}" for i in range(40)}))
    assert query.sql("duckdb").count("WHEN") == 40
    assert len(copied) < 3


NAMES = st.sampled_from(["a", "b", "c", "7", "7.0", "07", None])


@settings(max_examples=draws(30), deadline=None)
@given(
    st.lists(st.lists(st.tuples(NAMES, NAMES), unique=True, max_size=6), min_size=2, max_size=3),
    st.booleans(),
)
@pytest.mark.filterwarnings("ignore::sqlrl.errors.LoadWarning")
def test_what_is_encoded_at_once_is_what_is_encoded_after_a_look_for_new_constants(
    loads: list[list[tuple[str | None, str | None]]], numeric: bool
) -> None:
    found = []
    for few in (encoding.FEW, 0):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(encoding, "FEW", few)
            patch.setattr(encoding, "_PROBED", 2)
            made = Catalog(connect(":memory:", threads=1))
            if numeric:
                made.set_numeric("t")
            outcomes: list[Any] = []
            for i, rows in enumerate(loads):
                columns = {x: pa.array([row[k] for row in rows], pa.string()) for k, x in enumerate("xy")}
                try:
                    made.load(f"P{i}", pa.table(columns), types=["t", "t"])
                except LoadError as error:
                    outcomes.append(str(error))
                    continue
                table = made.store.sources()[f"P{i}", "fact"].storage
                outcomes.append(sorted(made.engine.connection.sql(f'select * from sqlrl."{table}"').fetchall()))
            names = made.store.types().get("t")
            if names is not None:
                outcomes.append(
                    made.engine.connection.sql(f'select * from sqlrl."{names.dictionary}" order by id').fetchall()
                )
            found.append(outcomes)
    assert found[0] == found[1]


def test_numeric_types_hold_numbers(catalog: Catalog) -> None:
    catalog.set_numeric("year")
    catalog.load("P", [("01", "1.0"), ("2.50", "-3"), ("9007199254740993", "1e3")], types=["year", "year"])
    assert sorted(facts(catalog)) == [("1", "1"), ("2.5", "-3"), ("9007199254740993", "1000")]
    with pytest.raises(
        LoadError, match=r"1 row has an argument 1 that is no number, such as 'later' \(row 1\): correct or remove it"
    ):
        catalog.load("Q", [("later",)], types=["year"])
    catalog.load("R", [("a",)], types=["name"])
    with pytest.raises(CatalogError, match="before loading"):
        catalog.set_numeric("name")


def test_truth_and_probability(catalog: Catalog) -> None:
    catalog.load("P", [("a", True), ("b", False)], types=["s"], target=True, truth=1)
    assert sorted(facts(catalog)) == [("a", True), ("b", False)]
    catalog.load("Q", [("a", 0.25), ("b", 0.0), ("c", 1.0)], types=["s"], probability=1)
    assert sorted(facts(catalog, "Q")) == [("a", None, math.log(0.25 / 0.75)), ("b", False, None), ("c", True, None)]


FAULTS: list[tuple[dict[str, Any], str]] = [
    (
        {"source": [("a", "b"), (None, "c"), ("d", None)]},
        r"1 row has NULL for argument 1 \(row 2\): fill or remove it, or pass nulls=\"drop\"\.\n  1 row has NULL for argument 2 \(row 3\)",
    ),
    (
        {"source": [("a", "b"), ("c", "d"), ("a", "b")]},
        r"\(a, b\) occurs 2 times \(rows 1 and 3\): .*duplicates=\"drop\"",
    ),
    (
        {"source": [("a", "b", True), ("a", "b", False)], "truth": 2},
        r"\(a, b\) is both true and false \(rows 1 and 2\)",
    ),
    ({"source": [("a", "b", True), ("a", "b", False)], "truth": 2, "duplicates": "drop"}, "both true and false"),
    ({"source": []}, 'there are no rows; pass empty="allow"'),
    ({"source": pa.table({"a": pa.array([], pa.string()), "b": pa.array([], pa.string())})}, "there are no rows"),
    (
        {"source": [("a", "b", 1.5), ("c", "d", 0.5)], "probability": 2},
        r"1 row has a probability outside .*\(row 1\): correct it",
    ),
    ({"source": [("a", "b", math.nan)], "probability": 2}, "probability outside"),
    ({"source": [("a", "b", "often")], "probability": 2}, "probability outside .* not a number"),
    ({"source": [("a", "b", "maybe")], "truth": 2}, "truth that is neither true nor false"),
    ({"source": pa.table({"a": ["a"], "b": ["b"], "t": [1.5]}), "truth": "t"}, "'t' has type DOUBLE, expected BOOLEAN"),
    (
        {"source": pa.table({"a": ["a"], "b": ["b"], "t": [True]}), "probability": "t"},
        "type BOOLEAN, expected a number",
    ),
    ({"source": pa.table({"a": [["x"]], "b": ["b"]})}, r"'a' has type VARCHAR\[\]"),
    ({"source": [("a", "b")], "target": True, "given": True}, "choose one"),
    ({"source": [("a", "b")], "duplicates": "keep"}, "'error' or 'drop'"),
    ({"source": [("a", "b")], "example": "bib"}, "neither a column nor the type"),
    ({"source": [("a", "b"), ("c",)]}, "row 2 of the tuples has 1 value, row 1 has 2"),
    ({"source": "nothing.parquet"}, r"nothing.parquet: there is no such file"),
    ({"source": "no_table"}, "neither a file, nor a table or view, nor a query"),
    ({"source": "select 1; drop table t"}, "must be one query"),
    ({"source": "insert into t values (1)"}, "must be one query|nor a query"),
    ({"source": {"a": 1}}, "cannot load from an object of type dict"),
    ({"source": 7}, "cannot load from an object of type int"),
    ({"source": "evidence.db"}, "neither a file|no such file"),
]


@pytest.mark.parametrize("typed", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_bad_input_names_the_place_and_the_remedy_and_loses_nothing(catalog: Catalog, typed: bool) -> None:
    catalog.load("P", [("old", "fact")], types=["s", "s"])
    if not typed:
        catalog.declare(Model({"N": Predicate("N", (Argument("s"), Argument("s")))}))
    before = tables(catalog), catalog.types()
    for load, message in FAULTS if typed else FAULTS[:11]:
        options = {k: v for k, v in load.items() if k != "source"}
        with pytest.raises(LoadError, match=message):
            catalog.load("P" if typed else "N", load["source"], **options)
        assert facts(catalog) == [("old", "fact")], load
        assert (tables(catalog), catalog.types()) == before, load


def tables(catalog: Catalog) -> list[tuple[Any, ...]]:
    """Return every table and its number of rows."""
    query = "select schema_name, table_name, estimated_size from duckdb_tables() order by all"
    return catalog.engine.connection.sql(query).fetchall()


@pytest.mark.parametrize("damage", ["no parquet at all", "PAR1 and PAR1"])
def test_a_damaged_parquet_file_is_named(catalog: Catalog, tmp_path: Path, damage: str) -> None:
    path = tmp_path / "bad.parquet"
    path.write_text(damage)
    with pytest.raises(LoadError, match=r"bad\.parquet cannot be read, it may be damaged"):
        catalog.load("P", path, types=["s"])
    good = tmp_path / "good.parquet"
    pq.write_table(pa.table({"a": [f"name{i}" for i in range(5000)]}), good)
    content = bytearray(good.read_bytes())
    content[200:2000] = b"\x07" * 1800
    good.write_bytes(bytes(content))
    for types in (["s"], None):
        with pytest.raises(
            LoadError, match=r"good\.parquet cannot be read, it may be damaged: write it again"
        ) as caught:
            catalog.load("P", good, types=types)
        assert isinstance(caught.value.__cause__, EngineError)
        assert "CREATE" not in str(caught.value)
    assert catalog.predicates() == {}


def test_empty_and_missing_fields_of_csv_differ(catalog: Catalog, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text('a,b\n"",f\nx,true\n')
    catalog.load("P", path, types=["s", "s"])
    assert sorted(facts(catalog)) == [("", "f"), ("x", "true")]
    path.write_text("a,b\n,f\n")
    with pytest.raises(LoadError, match=r"1 row has an empty field for argument 1 \(row 1\)"):
        catalog.load("P", path, types=["s", "s"])


def test_loading_again_replaces_and_forgets_unused_constants(catalog: Catalog) -> None:
    model = parse_mln("P(s, s)\nQ(s)\nP(x, y) => Q(y)")
    catalog.load("P", [("a", "b"), ("c", "d")], types=["s", "s"])
    catalog.load("Q", [("d",)], types=["s"], target=True)
    assert catalog.bind(model, training=True).types["s"].size == 4
    catalog.load("P", [("c", "e")])
    layout = catalog.bind(model, training=True)
    assert layout.types["s"].size == 3
    assert facts(catalog) == [("c", "e")]
    assert facts(catalog, "Q") == [("d",)]
    ids = [r["id"] for r in catalog.store.rows(exp.select("id").from_(catalog.store.table("dictionary_s")), "d")]
    assert ids == [0, 1, 2]
    catalog.load("P", [("c", "e"), ("c", "e")], duplicates="drop")
    assert facts(catalog) == [("c", "e")]


def test_there_is_nothing_to_remove_while_each_constant_and_example_has_a_fact(catalog: Catalog) -> None:
    facts_of = {"P": [("e1", "a"), ("e2", "b")], "Q": [("e1", "a")]}
    for name, rows in facts_of.items():
        frame = pd.DataFrame(rows, columns=["doc", "word"])
        catalog.load(name, frame, columns=["word"], types=["word"], example="doc", target=name == "Q")
    catalog.bind(parse_mln("P(word)\nQ(word)\nP(x) => Q(x)"), training=True)
    assert catalog.store.state("examples") == "column"
    assert not compact(catalog.store)


def test_changed_sources_are_noticed_and_read_again(catalog: Catalog, tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    path.write_text("a\nx\n")
    catalog.engine.connection.execute("create table t as select 'u' as a")
    catalog.load("P", path, types=["s"])
    catalog.load("Q", "t", types=["s"])
    assert changed_sources(catalog.store) == []
    assert catalog.refresh() == []
    path.write_text("a\nx\ny\n")
    catalog.engine.connection.execute("insert into t values ('w')")
    assert [s.predicate for s in changed_sources(catalog.store)] == ["P", "Q"]
    assert catalog.refresh() == ["P", "Q"]
    assert sorted(facts(catalog)) == [("x",), ("y",)]
    assert sorted(facts(catalog, "Q")) == [("u",), ("w",)]
    path.write_text("a\nx\nx\n")
    with pytest.raises(LoadError, match="duplicate"):
        catalog.refresh()
    assert sorted(facts(catalog)) == [("x",), ("y",)]
    path.unlink()
    with pytest.raises(LoadError, match="no such file"):
        catalog.refresh()


BARE = [
    [()],
    [[]],
    [{}],
    np.zeros((1, 0)),
    pa.table({"a": [1]}).select([]),
]


@pytest.mark.parametrize("types", [[], None])
def test_a_row_without_values_is_the_fact_of_a_predicate_without_arguments(
    catalog: Catalog, types: list[str] | None
) -> None:
    catalog.load("Q", [("a",)], types=["s"])
    model = parse_mln("Wet()\nQ(s)\n1 Wet ^ Q(x)")
    for rows in BARE:
        catalog.load("Wet", rows, types=types)
        assert catalog.bind(model, training=True).predicates["Wet"].rows == 1
        assert changed_sources(catalog.store) == []
        catalog.load("Wet", [], types=[], empty="allow")
        assert catalog.bind(model, training=True).predicates["Wet"].rows == 0


def test_rows_of_which_no_column_is_wanted(catalog: Catalog) -> None:
    catalog.load("Wet", "select 1 as reason", columns=[], types=[])
    assert catalog.predicates()["Wet"].rows == 1
    with pytest.raises(LoadError, match=r"duplicate facts: \(\) occurs 2 times \(rows 1 and 2\)"):
        catalog.load("Wet", [(), ()], types=[])
    catalog.load("Wet", [(), ()], types=[], duplicates="drop")
    assert catalog.predicates()["Wet"].rows == 1
    with pytest.raises(LoadError, match=r"Q from the tuples: 1 argument \(s\) but 0 columns"):
        catalog.load("Q", [()], types=["s"])
    with pytest.raises(LoadError, match="row 2 of the tuples has 1 value, row 1 has 0"):
        catalog.load("Wet", [(), ("a",)])


def test_types_guessed_from_columns(catalog: Catalog) -> None:
    catalog.load("Next", pa.table({"position1": ["a"], "position2": ["b"]}))
    assert catalog.predicates()["Next"].types == (None, None)
    catalog.resolve()
    assert catalog.predicates()["Next"].types == ("position", "position")
    catalog.load("Next", [("a", "b")], types=["place", "place"])
    assert catalog.predicates()["Next"].types == ("place", "place")


# ---- evidence files ---------------------------------------------------------------------------------------

MODEL = parse_mln("P(s)\nQ(s, s)\nP(x) => Q(x, y)")


def test_evidence_atoms_by_kind(catalog: Catalog, tmp_path: Path) -> None:
    path = tmp_path / "e.db"
    path.write_text('P(A)\n!P(B)\n0.25 Q(A, B)\n?Q(B, A)\nP("x y")\n')
    catalog.load_evidence(sqlrl.Evidence(path, MODEL))
    assert sorted(facts(catalog)) == [("A", True), ("B", False), ("x y", True)]
    assert sorted(facts(catalog, "Q")) == [("A", "B", None, math.log(0.25 / 0.75)), ("B", "A", None, 0.0)]
    layout = catalog.bind(MODEL, training=True)
    assert not layout.predicates["P"].open
    assert layout.predicates["P"].rows == 2
    assert layout.predicates["Q"].open
    assert not layout.predicates["Q"].full_scope
    assert layout.predicates["Q"].atom_count == 2


def test_faults_of_evidence_name_their_lines(catalog: Catalog, tmp_path: Path) -> None:
    path = tmp_path / "e.db"
    for text, message in (
        ("P(A)\n!P(A)\n", r"e\.db: lines 1 and 2 contradict each other about P\(A\)"),
        ("P(A)\n0.3 P(A)\n", "lines 1 and 2 contradict"),
    ):
        path.write_text(text)
        with pytest.raises(LoadError, match=message):
            catalog.load_evidence(sqlrl.Evidence(path, MODEL))
    bad = [EvidenceAtom("R", ("A",), True, None, 7), EvidenceAtom("P", ("A", "B"), True, None, 9)]
    with pytest.raises(LoadError, match=r"line 9: P has 1 argument, found 2\n  line 7: R is not declared"):
        catalog.load_evidence(sqlrl.Evidence(bad, MODEL))
    with pytest.raises(LoadError, match="no such file"):
        catalog.load_evidence(sqlrl.Evidence(tmp_path / "none.db", MODEL))
    path.write_text("P(A\n")
    with pytest.raises(ParseError):
        catalog.load_evidence(sqlrl.Evidence(path, MODEL))
    assert catalog.predicates() == {}


# ---- hostile names ----------------------------------------------------------------------------------------

HOSTILE = [
    "'; DROP TABLE x; --",
    '"',
    "'",
    "a b",
    "",
    "é漢字🦆",
    "%s{}$1?",
    "x" * 3000,
    "NULL",
    "true",
    "\\",
    "a\nb",
    "--",
    "P",
    "p",
    "select",
]
texts = st.sampled_from(HOSTILE) | st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=6
)
# Names that a model can write; constants and columns may be any text.
names = st.sampled_from(["NULL", "true", "P", "p", "select", "é漢字", "a0", "truth", "x" * 199]) | st.from_regex(
    r"[^\W\d]\w{0,5}", fullmatch=True
)


@pytest.mark.slow
@settings(max_examples=draws(12), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    names,
    st.lists(names, min_size=2, max_size=2),
    st.sets(st.tuples(texts, texts), min_size=1, max_size=4),
    st.booleans(),
)
def test_hostile_names_come_back_as_they_were(
    predicate: str, types: list[str], rows: set[tuple[str, str]], typed: bool
) -> None:
    catalog = Catalog(connect(":memory:", threads=1))
    data = pa.table({"it's \"; --": [r[0] for r in sorted(rows)], "other": [r[1] for r in sorted(rows)]})
    catalog.load(predicate, data, types=types if typed else None)
    other = predicate + "_"
    catalog.load(other, data, types=types, target=True)
    model = Model({n: Predicate(n, tuple(map(Argument, types))) for n in (predicate, other)}, query=frozenset({other}))
    layout = catalog.bind(model, training=True)
    assert set(facts(catalog, predicate)) == rows
    view = catalog.predicates()[predicate].readable
    assert view is not None
    shown = catalog.store.rows(exp.select("*").from_(catalog.store.table(view)), "view")
    assert {tuple(r.values()) for r in shown} == rows
    constants = [{r[i] for r in rows for i in (0, 1) if types[i] == t} for t in types]
    assert layout.predicates[other].atom_count == len(constants[0]) * len(constants[1])


def test_hostile_file_and_column_names(catalog: Catalog, tmp_path: Path) -> None:
    columns = ["x'; --", 'quote " é']
    pq.write_table(pa.table({columns[0]: ["no"], columns[1]: ["no"]}), tmp_path / "a1xx.parquet")
    hostile = ("a'b.parquet", "a b.parquet", "a[1]*?.parquet", 'é".parquet', "; drop.parquet", "select x.parquet")
    for number, name in enumerate(hostile):
        pq.write_table(pa.table({columns[0]: [f"a{number}"], columns[1]: ["b"]}), tmp_path / name)
        catalog.load("P", str(tmp_path / name), columns=columns[::-1], types=["s", "u"])
        assert facts(catalog) == [("b", f"a{number}")], name


def test_names_that_differ_in_case_alone_have_tables_of_their_own(catalog: Catalog) -> None:
    catalog.load("P", [("a",)], types=["t"])
    with pytest.warns(LoadWarning, match="did you mean 't'"):
        catalog.load("p", [("b",)], types=["T"])
    assert facts(catalog, "P") == [("a",)]
    assert facts(catalog, "p") == [("b",)]


def test_more_constants_than_a_row_group_load_with_two_threads() -> None:
    catalog = Catalog(connect(":memory:", threads=2))
    catalog.load("F", "select 'n' || i as a from range(130000) as t(i)", types=["p"])
    assert catalog.types()["p"].size == 130_000
    query = 'select count(*) from sqlrl."fact_F" f join sqlrl."dictionary_p" d on d.id = f.a0'
    assert catalog.engine.connection.execute(query).fetchall() == [(130_000,)]


@pytest.mark.slow
def test_a_table_of_another_database_is_named_as_the_database_reads_it(catalog: Catalog) -> None:
    engine = catalog.engine
    for name in ("oth", "aaa"):
        engine.connection.execute(f"attach ':memory:' as {name}; create schema {name}.oth")
    engine.connection.execute("create table oth.main.t as select 'main' as a")
    engine.connection.execute("create table oth.oth.t as select 'other schema' as a")
    engine.connection.execute("create view oth.\"my view\" as select 'view' as a")
    # A schema of some other database is not meant.
    engine.connection.execute("create table aaa.oth.t as select 'other database' as a")
    wanted = {
        "oth.t": "main", "Oth.T": "main", '"oth"."t"': "main", "oth.main.t": "main", "oth.oth.t": "other schema",
        'oth."my view"': "view", "oth.my view": "view", "aaa.oth.t": "other database",
    }  # fmt: skip
    for text, found in wanted.items():
        catalog.load("P", text, types=["s"])
        assert facts(catalog) == [(found,)]
        assert not changed_sources(catalog.store)
    with pytest.raises(LoadError, match="neither a file, nor a table"):
        catalog.load("P", "aaa.t", types=["s"])
    # A schema of the database in use comes first.
    engine.connection.execute("create schema oth; create table memory.oth.t as select 'here' as a")
    catalog.load("P", "oth.t", types=["s"])
    assert facts(catalog) == [("here",)]


def test_a_column_more_than_arguments_may_be_the_example(catalog: Catalog) -> None:
    rows = [("t", "a", "b")]
    with pytest.raises(
        LoadError, match=r"in order with columns=\[...\], or the one that says the example with example="
    ):
        catalog.load("Calls", rows, types=["person", "person"])
    with pytest.raises(LoadError, match=r"in order with columns=\[...\]\.$"):
        catalog.load("Calls", rows, types=["person"])
