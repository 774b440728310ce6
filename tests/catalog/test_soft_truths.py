"""Values from 0 to 1: kept as they are, and refused with their rows where they are none or contradict each other."""

from __future__ import annotations

import math
import random
import warnings
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sqlrl
from sqlrl.catalog.options import LoadOptions
from sqlrl.catalog.records import _contents_fingerprint
from sqlrl.errors import CatalogError, LoadError
from sqlrl.logic.evidence import EvidenceAtom
from tests.effort import draws

Pairs = dict[tuple[str, str], float]
ROLES: dict[str, dict[str, bool]] = {"fact": {}, "given": {"given": True}, "label": {"target": True}}
NUMBERS = st.sampled_from([0.0, 1.0, 0.5, 5e-324, 0.1, 1 / 3, 0.49999999999999994, 1 - 2**-53]) | st.floats(0, 1)


def kept(db: sqlrl.Database, predicate: str = "Trusts") -> Pairs:
    """What the view shows: the arguments come first, the value last."""
    return {row[:2]: row[-1] for row in db.sql(f"from sqlrl.named_{predicate}").fetchall()}


def load(db: sqlrl.Database, rows: Any, **options: Any) -> None:
    db.load("Trusts", rows, **{"types": ["person", "person"], "value": 2} | options)


# ---- what is kept ------------------------------------------------------------------------------------


@settings(max_examples=draws(12))
@given(
    st.dictionaries(st.tuples(*[st.sampled_from("abcd")] * 2), NUMBERS, min_size=1, max_size=8),
    st.sampled_from(sorted(ROLES)),
    st.booleans(),
)
def test_values_are_kept_as_they_are(values: Pairs, role: str, staged: bool) -> None:
    """As doubles, and written out in a text, which Python writes so that it reads back to the same number."""
    texts = [(a, b, repr(v)) for (a, b), v in values.items()]
    with sqlrl.connect() as db:
        for rows in ([(*pair, v) for pair, v in values.items()], texts):
            load(db, rows, types=None if staged else ["person", "person"], **ROLES[role])
            assert kept(db) == values
            assert [math.copysign(1, v) for v in kept(db).values()] == [1.0] * len(values)
        if staged:
            db.advanced.bind(sqlrl.parse_mln("P(t)\nQ(t)\n1 P(x)", query=["P"]))
            with warnings.catch_warnings(action="ignore"):  # labels of some pairs alone
                db.advanced.catalog.bind(sqlrl.parse_psl("1: !Trusts(A, B)"), training=True)
            assert kept(db) == values


@pytest.mark.slow
def test_a_column_is_named_or_counted() -> None:
    sources: dict[str, Any] = {
        "float": pa.table({"a": ["x", "y"], "b": ["y", "x"], "v": pa.array([0.25, 1.0], pa.float32())}),
        "text": pa.table({"a": ["x", "y"], "b": ["y", "x"], "v": [".25", " 1"]}),
        "pandas": pd.DataFrame({"a": ["x", "y"], "b": ["y", "x"], "v": [0.25, 1]}),
        "decimal": "select * from (values ('x', 'y', 0.25), ('y', 'x', 1)) t(a, b, v)",
        "mappings": [{"a": "x", "b": "y", "v": 0.25}, {"a": "y", "b": "x", "v": 1.0}],
    }
    names: list[tuple[str, str | int]] = [("float", "v"), ("float", "V"), ("float", 2), ("text", "V"), ("pandas", 2)]
    db = sqlrl.connect()
    for kind, name in [*names, ("decimal", "V"), ("decimal", 2), ("mappings", "v"), ("mappings", 2)]:
        load(db, [("z", "z", 0.5)])
        load(db, sources[kind], value=name)
        assert kept(db) == {("x", "y"): 0.25, ("y", "x"): 1.0}, (kind, name)
        assert db.sql("select role, value from sqlrl.source").fetchall() == [("fact", "v")]
        table = db.tables()
        assert (table["predicate"], table["facts"], table["value"]) == (["Trusts(person, person)"], [2], ["v"])


def test_a_type_may_be_named_value() -> None:
    db = sqlrl.connect()
    db.load("P", [("x", 0.5)], types=["value"], value=1)
    db.load("Q", [("x",)], types=["value"])
    assert db.sql("from sqlrl.named_P").columns == ["value_2", "value"]
    assert db.sql("from sqlrl.named_Q").columns == ["value"]


def test_a_predicate_without_arguments_has_one_value() -> None:
    db = sqlrl.connect()
    db.load("Rainy", [(0.3,)], columns=[], value=0)
    assert db.sql("from sqlrl.named_Rainy").fetchall() == [(0.3,)]
    with pytest.raises(LoadError, match=r"\(\) has the values 0\.3 and 0\.4 \(rows 1 and 2\)"):
        db.load("Rainy", [(0.3,), (0.4,)], columns=[], value=0)


def test_nothing_changes_without_values(tmp_path: Path) -> None:
    """Nor do options that are kept: a file that holds no values has those of before."""
    assert "value" not in LoadOptions(truth=1).to_json()
    assert LoadOptions.from_json(LoadOptions(value="v").to_json()).value == "v"
    db = sqlrl.connect(tmp_path / "a.duckdb")
    db.load("P", [("a", True)], types=["t"], truth=1, target=True)
    layout = db.advanced.bind(sqlrl.parse_mln("P(t)\n1 P(x)"))
    assert db.tables().columns == ["predicate", "open", "facts", "example", "source"]
    assert db.sql("from sqlrl.named_P").columns == ["t", "truth", "given", "prior"]
    assert db.sql("from sqlrl.fact_P").columns == ["a0", "truth", "given", "prior"]
    assert db.sql("from sqlrl.atom_P").columns == ["atom", "example", "a0", "truth", "prior"]
    assert not layout.predicates["P"].valued


# ---- what is refused ---------------------------------------------------------------------------------

FAULTS: list[tuple[list[tuple[Any, ...]], dict[str, Any], str]] = [
    ([("a", "b", 1.5), ("a", "c", -0.1)], {}, r"2 rows have a value outside \[0, 1\], such as -0\.1 \(rows 1, 2\)"),
    ([("a", "b", 0.5), ("a", "c", math.inf)], {}, r"1 row has a value outside \[0, 1\], such as inf \(row 2\)"),
    ([("a", "b", "1e400"), ("a", "c", "0.1")], {}, r"1 row has a value .* \(row 1\)"),
    ([("a", "b", 1 + 1e-15)], {}, r"1 row has a value outside \[0, 1\], such as 1\.000000000000001 \(row 1\)"),
    ([("a", "b", 0.5), ("a", "c", math.nan)], {}, r"1 row has NULL or NaN for the value \(row 2\): fill .* nulls=\"drop\""),
    ([("a", "b", 0.5), ("a", "c", None)], {}, r"1 row has NULL or NaN for the value \(row 2\)"),
    ([("a", "b", "half"), ("a", "c", ""), ("b", "c", "nan")], {}, r"3 rows have a value that is no number \(rows 1, 2, 3\)"),
    ([("a", "b", "half"), ("a", "c", 2), (None, "c", 0.1)], {}, r"for argument 1 \(row 3\)[^$]*no number \(row 1\)[^$]*such as 2\.0 \(row 2\)"),
    ([("a", "b", "2"), ("a", "c", None), ("x", "y", "1")], {"nulls": "drop"}, r"outside \[0, 1\], such as 2\.0 \(row 1\)"),
    ([("a", "b", 0.2), ("b", "a", 0.2), ("a", "b", 0.3)], {}, r"contradictory facts: \(a, b\) has the values 0\.2 and 0\.3 \(rows 1 and 3\)"),
    ([("a", "b", 0.2), ("a", "b", 0.2 + 2**-54)], {}, r"\(a, b\) has the values 0\.2 and 0\.20+7 \(rows 1 and 2\)"),
    ([("a", "b", 0.2), ("b", "a", 0.2), ("b", "a", 0.2)], {}, r"duplicate facts: \(b, a\) occurs 2 times \(rows 2 and 3\)"),
    ([("a", "b", 0.2), ("a", "b", 0.7)], {"duplicates": "drop"}, r"has the values 0\.2 and 0\.7 \(rows 1 and 2\)"),
    ([("a", "b", True)], {}, r"the value column 'column2' has type BOOLEAN, expected a number"),
    ([("a", "b", 0.2)], {"truth": 2}, r"value= and truth= cannot both be given"),
    ([("a", "b", 0.2)], {"probability": 2}, r"value= and probability= cannot both be given"),
    ([("a", "b", 0.2)], {"value": 3}, r"there is no column 3, positions run from 0 to 2"),
    ([("a", "b", 0.2)], {"value": "v"}, r"there is no column 'v' among"),
    ([("a", "b", 0.2)], {"value": 0.5}, r"value=0\.5 names no column"),
    ([("a", "b", 0.2)], {"value": 1}, r"the value column 'column1'|a value that is no number|used twice"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("role", "staged"),
    [
        ("fact", False),
        ("label", True),
        *(
            pytest.param(*cell, marks=pytest.mark.slow)
            for cell in (("given", False), ("label", False), ("fact", True), ("given", True))
        ),
    ],
)
def test_what_is_no_value_is_refused_with_its_rows(role: str, staged: bool) -> None:
    db = sqlrl.connect()
    if not staged:
        load(db, [("x", "y", 0.5)], **ROLES[role])
    before = db.sql("from sqlrl.source").fetchall()
    for rows, said, message in FAULTS:
        options = said | ({"types": None} if staged else {}) | ROLES[role]
        # Tuples of several kinds of values are read as texts.
        mixed = len({type(row[2]) for row in rows if row[2] is not None}) > 1
        with pytest.raises(LoadError, match=message):
            load(db, [(a, b, str(v) if mixed and v is not None else v) for a, b, v in rows], **options)
        assert db.sql("from sqlrl.source").fetchall() == before, rows


def test_rows_without_a_value_can_be_dropped() -> None:
    db = sqlrl.connect()
    load(
        db,
        [("a", "b", None), ("a", "c", 0.2), ("a", "d", math.nan), (None, "d", 0.3), ("a", "c", 0.2)],
        nulls="drop",
        duplicates="drop",
    )
    assert kept(db) == {("a", "c"): 0.2}


@settings(max_examples=draws(25))
@given(
    st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from("ab"), st.sampled_from([0.0, 0.25, 1.0])), max_size=5),
    st.booleans(),
)
def test_repetitions_are_found_as_by_hand(rows: list[tuple[str, str, float]], drop: bool) -> None:
    values: dict[tuple[str, str], set[float]] = {}
    for a, b, v in rows:
        values.setdefault((a, b), set()).add(v)
    fine = all(len(each) == 1 for each in values.values()) and (drop or len(rows) == len(values))
    with sqlrl.connect() as db:
        options = {"duplicates": "drop" if drop else "error", "empty": "allow"}
        if not fine:
            with pytest.raises(LoadError, match=r"contradictory|duplicate"):
                load(db, rows, **options)
        elif rows:
            load(db, rows, **options)
            assert kept(db) == {pair: next(iter(each)) for pair, each in values.items()}


# ---- roles -------------------------------------------------------------------------------------------


def truths(rows: Pairs) -> list[tuple[str, str, bool]]:
    return [(*pair, v >= 0.5) for pair, v in rows.items()]


@pytest.mark.slow
@settings(max_examples=draws(25))
@given(
    st.dictionaries(st.tuples(*[st.sampled_from("ab")] * 2), st.sampled_from([0.0, 0.5, 1.0]), min_size=1),
    st.dictionaries(st.tuples(*[st.sampled_from("ab")] * 2), st.sampled_from([0.0, 0.5, 1.0]), min_size=1),
    st.sampled_from([("given", "label"), ("label", "given"), ("fact", "label"), ("fact", "given")]),
    st.sampled_from(["both", "first", "second"]),
)
def test_an_atom_has_one_value_in_all_roles(one: Pairs, other: Pairs, roles: tuple[str, str], valued: str) -> None:
    """No label is observed, and facts of a target, which are labels, and labels agree; a source without values has 0 and 1."""
    said = [
        {pair: v if valued in ("both", where) else float(v >= 0.5) for pair, v in rows.items()}
        for rows, where in ((one, "first"), (other, "second"))
    ]
    both = said[0].keys() & said[1].keys()
    wrong = {pair for pair in both if "given" in roles or said[0][pair] != said[1][pair]}
    with sqlrl.connect() as db:
        for rows, role, where, fails in ((one, roles[0], "first", False), (other, roles[1], "second", bool(wrong))):
            options: dict[str, Any] = ROLES[role]
            options = options | ({} if valued in ("both", where) else {"value": None, "truth": 2})
            data = [(*p, v) for p, v in rows.items()] if valued in ("both", where) else truths(rows)
            if fails:
                what = "both observed and a label" if "given" in roles else "of two values"
                verb = "is" if len(wrong) == 1 else "are"
                with pytest.raises(
                    LoadError, match=rf"{len(wrong)} atoms? {verb} {what}, here and in what was loaded as {roles[0]}"
                ) as e:
                    load(db, data, **options)
                first = min(wrong)
                row = list(rows).index(first) + 1
                assert (
                    f"Trusts({', '.join(first)}) is {said[1][first]} here (row {row}) and {said[0][first]} there"
                    in str(e.value)
                )
            else:
                load(db, data, **options)
        if not wrong or valued != "second":
            assert kept(db) == (said[0] if wrong else said[0] | said[1])


def test_contradictions_of_what_waits_for_its_types_are_found_when_it_is_bound() -> None:
    db = sqlrl.connect()
    load(db, [("a", "b", 0.5), ("c", "d", 0.5)], types=None, given=True)
    load(db, [("b", "b", 0.5), ("c", "d", 0.25)], types=None, target=True)
    with pytest.raises(
        CatalogError,
        match=r"1 atom is both observed and a label, .* Trusts\(c, d\) is 0\.25 here \(row 2\) and 0\.5 there",
    ):
        db.advanced.catalog.bind(sqlrl.parse_psl("1: Trusts(A, B)"), training=True)


@pytest.mark.parametrize("kind", ["numbers", "column", "folded"])
def test_rows_are_named_whatever_constants_are_called(kind: str) -> None:
    db = sqlrl.connect()
    options: dict[str, Any] = {"types": ["n"], "value": 1}
    one, other = [(1, 0.5), (2, 0.5)], [("3", 0.25), ("2.0", 0.75)]
    named = r"P\(2\)"
    if kind == "numbers":
        db.load(numeric=["n"])
    elif kind == "column":
        one, other = [("e", 1, 0.5), ("f", 1, 0.5)], [("e", 2, 0.25), ("f", 1, 0.75)]
        options |= {"columns": [1], "value": 2, "example": "column0"}
        named = r"P\(1\)"
    else:
        one, other = [("a", 0.5), ("b", 0.5)], [("A", 0.25), ("B", 0.75)][::-1]
        options |= {"fold_case": True}
        other = [("C", 0.25), ("B", 0.75)]
        named = r"P\(b\)"
    db.load("P", one, given=True, **options)
    with pytest.raises(LoadError, match=rf"{named} is 0\.75 here \(row 2\) and 0\.5 there"):
        db.load("P", other, target=True, **options)


def test_a_predicate_has_values_or_soft_evidence() -> None:
    for first, second in (("value", "probability"), ("probability", "value")):
        db = sqlrl.connect()
        db.load("P", [("a", 0.5)], types=["t"], **{first: 1}, given=first == "value")
        with pytest.raises(LoadError, match=rf"P was loaded with {first}= from the tuples, and now with {second}="):
            db.load("P", [("b", 0.5)], types=["t"], **{second: 1}, given=second == "value")
    db = sqlrl.connect()
    db.load("P", [("a", 0.5)], types=["t"], value=1)
    with pytest.raises(LoadError, match=r"value= .* and now with probability="):
        db.load(sqlrl.Evidence([EvidenceAtom("P", ("b",), None, 0.3, 1)], sqlrl.parse_mln("P(t)")))


# ---- loading again, appending, removing --------------------------------------------------------------


@pytest.mark.parametrize("role", ["label", *(pytest.param(role, marks=pytest.mark.slow) for role in ("fact", "given"))])
def test_rows_are_replaced_appended_and_removed(role: str) -> None:
    db, options = sqlrl.connect(), ROLES[role]
    load(db, [("a", "b", 0.5)], **options)
    load(db, [("a", "c", 0.25), ("b", "c", 0.75)], **options)
    assert kept(db) == {("a", "c"): 0.25, ("b", "c"): 0.75}
    load(db, [("d", "c", 0.1), ("a", "c", 0.25)], mode="append", duplicates="drop", **options)
    assert kept(db) == {("a", "c"): 0.25, ("b", "c"): 0.75, ("d", "c"): 0.1}
    for rows, extra, message in (
        ([("d", "c", 0.2)], {}, r"Trusts\(d, c\), which are there already with another value"),
        ([("d", "c", 0.1)], {}, r"duplicate facts: Trusts\(d, c\), which are there already"),
        ([("d", "e", 1.1)], {}, r"outside \[0, 1\], such as 1\.1 \(row 1\)"),
        ([("d", "e")], {"value": None}, r"those loaded before have values, these none"),
        ([("d", "e", True)], {"value": None, "truth": 2}, r"those loaded before have values, these none"),
    ):
        with pytest.raises(LoadError, match=message):
            load(db, rows, mode="append", **options, **extra)
    assert db.load("Trusts", [("a", "c")], mode="remove") == 1
    assert kept(db) == {("b", "c"): 0.75, ("d", "c"): 0.1}
    other = sqlrl.connect()
    other.load("Trusts", [("a", "b")], types=["person", "person"], **options)
    with pytest.raises(LoadError, match=r"these have values, those loaded before none"):
        load(other, [("d", "e", 0.5)], mode="append", **options)


def test_appended_rows_are_held_against_other_roles() -> None:
    db = sqlrl.connect()
    load(db, [("a", "b", 0.5)], given=True)
    load(db, [("b", "a", 0.5)], target=True)
    with pytest.raises(
        LoadError, match=r"both observed and a label, .* as given .*: Trusts\(a, b\) is 0\.5 here \(row 2\)"
    ):
        load(db, [("c", "a", 0.5), ("a", "b", 0.5)], target=True, mode="append")
    load(db, [("c", "a", 0.5)], target=True, mode="append")
    assert kept(db) == {("a", "b"): 0.5, ("b", "a"): 0.5, ("c", "a"): 0.5}


def test_what_changed_is_loaded_again(tmp_path: Path) -> None:
    path, more = tmp_path / "trust.parquet", tmp_path / "more.csv"
    pq.write_table(pa.table({"a": ["x", "y"], "b": ["y", "x"], "v": [0.25, 0.5]}), path)
    more.write_text("a,b,v\nz,x,1\n")
    db = sqlrl.connect(tmp_path / "db.duckdb")
    load(db, path, value="v")
    load(db, more, value="v", mode="append")
    db.load("Trusts", [("y", "x")], mode="remove")
    assert db.refresh() == []
    pq.write_table(pa.table({"a": ["x", "y"], "b": ["y", "x"], "v": [0.125, 0.5]}), path)
    assert db.refresh() == ["Trusts"]
    assert kept(db) == {("x", "y"): 0.125, ("z", "x"): 1.0}
    more.write_text("a,b,v\nz,x,0.75\n")
    assert db.refresh() == ["Trusts"]
    assert kept(db) == {("x", "y"): 0.125, ("z", "x"): 0.75}
    more.write_text("a,b,v\nz,x,7.5\n")
    with pytest.raises(LoadError, match=r"outside \[0, 1\], such as 7\.5 \(row 1\)"):
        db.refresh()
    assert kept(db) == {("x", "y"): 0.125, ("z", "x"): 0.75}


def test_a_table_whose_values_alone_changed_is_loaded_again() -> None:
    db = sqlrl.connect()
    db.sql("create table trust as select 'x' as a, 'y' as b, 0.25 as v")
    load(db, "trust", value="v")
    before = db.sql("select fingerprint from sqlrl.source").fetchall()
    assert db.refresh() == []
    db.sql("update trust set v = 0.26")
    assert db.refresh() == ["Trusts"]
    assert kept(db) == {("x", "y"): 0.26}
    assert db.sql("select fingerprint from sqlrl.source").fetchall() != before


def test_the_fingerprint_of_the_data_has_the_values_in_any_order() -> None:
    rows = [(f"p{i}", f"p{j}", random.Random(i * 7 + j).random()) for i in range(6) for j in range(6)]
    other = [(a, b, v + 2**-53 * (i == 3)) for i, (a, b, v) in enumerate(rows)]
    found = []
    for each in (rows, random.Random(1).sample(rows, len(rows)), other):
        db = sqlrl.connect()
        load(db, each)
        db.advanced.catalog.bind(sqlrl.parse_psl("1: !Trusts(A, B)"), training=True)
        found.append(_contents_fingerprint(db.advanced.catalog.store))
    assert found[0] == found[1] != found[2]


def test_a_source_named_as_the_only_role_keeps_it() -> None:
    """Rows that are appended without a role have the one that there is."""
    db = sqlrl.connect()
    load(db, [("a", "b", 0.5)], target=True)
    load(db, [("a", "c", 0.5)], mode="append")
    assert db.sql("select role, rows from sqlrl.source").fetchall() == [("label", 2)]
