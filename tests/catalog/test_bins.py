"""Types of numbers cut into pieces: quantiles against sorting, edges that are kept with data and models, and what is refused."""

from __future__ import annotations

import functools
import math
import re
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import sqlrl
from sqlrl.errors import CatalogError, LoadError, LoadWarning, ModelError, ParseError, SqlrlError
from sqlrl.logic.bins import piece_names
from tests.effort import draws

TYPES = ["item", "size"]
TEXT = "Size(item, size)\nGood(item)\nSize(i, +s) => Good(i)\nGood(i)"


def connect(**options: Any) -> sqlrl.Database:
    return sqlrl.connect(progress=False, **options)


@pytest.fixture(scope="module")
def shared() -> sqlrl.Database:
    """A database for loads that fail."""
    return connect()


def load(db: sqlrl.Database, numbers: Any, *, predicate: str = "Size", **options: Any) -> None:
    rows = [(f"i{k:04d}", x) for k, x in enumerate(numbers)]
    db.load(predicate, rows, types=TYPES, **options)


def pieces(db: sqlrl.Database, predicate: str = "Size") -> list[str]:
    return [row[1] for row in sorted(db.sql(f"from sqlrl.named_{predicate}").fetchall())]


def edges(db: sqlrl.Database, kind: str = "size") -> list[float]:
    (row,) = db.sql(f"select edges::double[] from sqlrl.type where type = '{kind}'").fetchall()
    return list(row[0] or ())


def bounds(piece: str) -> tuple[float, float]:
    """Read the name of a piece."""
    match = re.fullmatch(r"size[\[(](\S+),(\S+)\)", piece)
    assert match is not None, piece
    return float(match[1]), float(match[2])


@functools.cache
def trained(numbers: tuple[float, ...], count: int) -> sqlrl.Model:
    db = connect()
    load(db, numbers, bins={"size": count})
    db.load("Good", [(f"i{k:04d}",) for k in range(0, len(numbers), 2)], types=["item"], target=True)
    return sqlrl.Likelihood(penalty="l2").fit(db, sqlrl.parse_mln(TEXT)).model_


# ---- quantiles ---------------------------------------------------------------------------------------

FLOATS = st.floats(allow_nan=False, width=64) | st.integers(-4, 4).map(float) | st.sampled_from([0.1, 1e-300, 2.0**60])


@settings(max_examples=draws(20), deadline=None, phases=(Phase.explicit, Phase.generate))
@given(st.lists(FLOATS, min_size=1, max_size=40), st.integers(2, 7))
def test_pieces_are_those_between_sorted_numbers(numbers: list[float], count: int) -> None:
    db = connect()
    finite = np.sort([x + 0.0 for x in numbers if math.isfinite(x)])
    ranks = [k * len(finite) // count for k in range(1, count)]
    expected = sorted({float(finite[k]) for k in ranks} - {float(finite[0])}) if len(finite) else []
    if not expected:
        with pytest.raises(LoadError, match=r"one piece|no numbers"):
            load(db, numbers, bins={"size": count})
        return
    if len(expected) + 1 < count:
        with pytest.warns(LoadWarning, match=rf"size has {len(expected) + 1} pieces?, not {count}: equal numbers"):
            load(db, numbers, bins={"size": count})
    else:
        load(db, numbers, bins={"size": count})
    assert edges(db) == expected
    found = list(map(bounds, pieces(db)))
    lower, upper = [-math.inf, *expected], [*expected, math.inf]
    for number, piece in zip(numbers, found, strict=True):
        place = int(np.searchsorted(expected, number, side="right"))
        assert piece == (lower[place], upper[place])
    if len(set(finite)) == len(numbers) == len(finite):
        sizes = Counter(found).values()
        assert len(sizes) == min(count, len(numbers))
        assert max(sizes) - min(sizes) <= 1


def test_all_pieces_are_constants_the_lowest_first() -> None:
    db = connect()
    load(db, [1, 2], bins={"size": [-2.5, 0, 1e-7, 1e22]})
    names = [row[0] for row in db.sql("select name from sqlrl.dictionary_size order by id").fetchall()]
    assert names == ["size(-inf,-2.5)", "size[-2.5,0)", "size[0,1e-07)", "size[1e-07,1e+22)", "size[1e+22,inf)"]
    assert names == piece_names("size", (-2.5, 0.0, 1e-7, 1e22))
    db.load("Good", [("i0000",)], types=["item"], target=True)
    db.advanced.bind(sqlrl.parse_mln(TEXT))
    assert [row[0] for row in db.sql("select name from sqlrl.dictionary_size order by id").fetchall()] == names


@pytest.mark.parametrize(
    ("source", "key"),
    [("csv", "S"), ("parquet", "s"), ("query", "size"), ("relation", 1), ("arrow", "s"), ("table", "size")],
)
def test_a_type_is_named_by_itself_its_column_or_its_place(source: str, key: Any, tmp_path: Path) -> None:
    db = connect()
    db.sql("create table t as select 'i' || i as item, i::decimal(8, 2) / 4 as s from range(12) r(i)")
    for kind in ("csv", "parquet"):
        db.sql(f"copy t to '{tmp_path / 't'}.{kind}'")
    sources = {
        "csv": tmp_path / "t.csv",
        "parquet": tmp_path / "t.parquet",
        "query": "select item, s from t order by random()",
        "relation": db.sql("from t"),
        "arrow": db.sql("from t").to_arrow_table(),
        "table": "t",
    }
    db.load("Size", sources[source], types=TYPES, bins={key: 3})
    assert edges(db) == [1.0, 2.0]
    assert Counter(row[0] for row in db.sql("select size from sqlrl.named_Size").fetchall()) == {
        "size(-inf,1)": 4,
        "size[1,2)": 4,
        "size[2,inf)": 4,
    }


def test_only_the_examples_to_train_on_choose_edges() -> None:
    numbers = [1, 2, 3, 4, 1000, 2000, 3000, 4000]
    for chosen in (["i0000", "i0001", "i0002", "i0003"], "select printf('i%04d', i) from range(4) r(i)"):
        db = connect()
        load(db, numbers, bins={"size": 2}, bins_from=chosen, example="item")
        assert edges(db) == [3.0]
        assert Counter(pieces(db)) == {"size(-inf,3)": 2, "size[3,inf)": 6}
    beside = connect()
    rows = [{"item": f"i{k}", "size": x, "shop": "a" if x < 5 else "b"} for k, x in enumerate(numbers)]
    beside.load("Size", rows, types=TYPES, example="shop", columns=["item", "size"], bins={"size": 2}, bins_from=["a"])
    assert edges(beside) == [3.0]
    assert not [name for name in beside.advanced.catalog.store.table_names() if name.startswith("bins")]


# ---- edges stay with the type ------------------------------------------------------------------------


def test_another_predicate_shares_the_edges_and_changes_none() -> None:
    db = connect()
    load(db, range(10), bins={"size": 5})
    load(db, [100, -100, "size[2,4)"], predicate="Weight")
    assert pieces(db, "Weight") == ["size[8,inf)", "size(-inf,2)", "size[2,4)"]
    load(db, range(10), bins={"size": 5})  # the same again changes nothing
    load(db, range(10), bins={"size": [2, 4, 6, 8]}, predicate="Weight")
    before = db.sql("select * from sqlrl.type").fetchall(), pieces(db)
    with pytest.raises(
        LoadError, match=r"size would be cut at 5, but facts of Weight are cut at 2, 4, 6, 8: leave bins= out"
    ):
        load(db, range(10), bins={"size": 2})
    assert (db.sql("select * from sqlrl.type").fetchall(), pieces(db)) == before


def test_facts_that_were_loaded_uncut_are_not_left_behind() -> None:
    db = connect()
    load(db, [1, 2], predicate="Weight")
    with pytest.raises(LoadError, match=r"size would be cut at 2, but facts of Weight were loaded uncut: load those"):
        load(db, [1, 2], bins={"size": 2})
    load(db, [1, 2], predicate="Weight", bins={"size": [2]})
    load(db, [1, 2, 3], bins={"size": [2]})
    assert pieces(db) == ["size(-inf,2)", "size[2,inf)", "size[2,inf)"]


def test_a_load_of_all_facts_cuts_otherwise() -> None:
    db = connect()
    load(db, range(10), bins={"size": 5})
    load(db, range(100), bins={"size": 2})
    assert edges(db) == [50.0]
    db.load("Good", [("i0000",)], types=["item"], target=True)
    db.advanced.bind(sqlrl.parse_mln(TEXT))
    assert db.sql("select name from sqlrl.dictionary_size order by name").fetchall() == [
        ("size(-inf,50)",),
        ("size[50,inf)",),
    ]


def test_refresh_cuts_at_the_edges_that_there_are(tmp_path: Path) -> None:
    path = tmp_path / "size.csv"
    path.write_text("item,size\na,1\nb,2\nc,3\nd,4\n")
    db = connect()
    db.load("Size", path, types=TYPES, bins={"size": 2})
    path.write_text("item,size\na,100\nb,200\nc,300\nd,400\ne,1\n")
    assert db.refresh() == ["Size"]
    assert edges(db) == [3.0]
    assert Counter(row[0] for row in db.sql("select size from sqlrl.named_Size").fetchall()) == {
        "size[3,inf)": 4,
        "size(-inf,3)": 1,
    }


def test_evidence_scopes_and_named_atoms_are_cut(tmp_path: Path) -> None:
    model = sqlrl.parse_mln("Size(item, size)\nFits(item, size)\n1 Size(i, s) => Fits(i, s)", query=["Fits"])
    db = connect()
    load(db, [1, 5, 9], bins={"size": [4, 8]})
    (tmp_path / "e.db").write_text('Size(i0000, 3)\nSize(i0001, 7.5)\nSize(i0002, "size[8,inf)")\n')
    db.load(sqlrl.Evidence(tmp_path / "e.db", model, replace=True))
    db.scope("Fits", [("i0000", 2), ("i0001", 4), ("i0001", 5), ("i0002", "size[4,8)")])
    prediction = db.predict(model)
    found = {tuple(row.values()) for row in prediction.atoms("Fits").select(["item", "size", "truth"]).to_pylist()}
    assert found == {("i0000", "size(-inf,4)", True), ("i0001", "size[4,8)", True)}
    assert db.advanced.bind(model).predicates["Fits"].atom_count == 3
    assert prediction.why('Fits("i0001", 4.5)').truth
    world = [{"item": "i0000", "size": "3.999"}, {"item": "i0001", "size": "6"}]
    assert db.count(model, world={"Fits": pa.Table.from_pylist(world)})["n"] == [8]
    db.scope("Fits", [("i0000", "big")])
    with pytest.raises(
        CatalogError, match="has constants of size, a type of numbers, that are no numbers, such as 'big'"
    ):
        db.predict(model)


# ---- models ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", [".mln", ".json", "kept"])
def test_a_model_cuts_other_data_where_it_was_learned(ending: str, tmp_path: Path) -> None:
    numbers = [0.1, 0.7, 3.25, 8, 9, 12, 1e9, 2e9]
    db = connect()
    load(db, numbers, bins={"size": 4})
    db.load("Good", [("i0001",), ("i0005",), ("i0006",)], types=["item"], target=True)
    fit = sqlrl.Likelihood(penalty="l2").fit(db, sqlrl.parse_mln(TEXT))
    if ending == "kept":
        model = db.models[-1]
    else:
        fit.model_.save(tmp_path / f"m{ending}")
        model = sqlrl.read_model(tmp_path / f"m{ending}")
    assert model.bins == {"size": (3.25, 9.0, 1e9)}
    assert sqlrl.models_equal(model, fit.model_)
    ways = (model, {"size": model}, {"size": list(model.bins["size"])})
    for given_bins in ways if ending == ".mln" else ways[:1]:
        other = connect()
        load(other, [9, -1e300, 8.999, 1e300], bins=given_bins)
        assert pieces(other) == [
            "size[9,1e+09)".replace("1e+09", "1000000000"),
            "size(-inf,3.25)",
            "size[3.25,9)",
            "size[1000000000,inf)",
        ]
        other.load("Good", [("i0000",)], types=["item"], target=True)
        other.predict(model)


def test_facts_that_wait_for_a_model_are_cut_by_it() -> None:
    model = trained((1, 2, 3, 4), 2)
    db = connect()
    db.load("Size", [("x", 1), ("y", 50)])
    db.load("Good", [("x",)], types=["item"], target=True)
    db.advanced.bind(model)
    assert pieces(db) == ["size(-inf,3)", "size[3,inf)"]
    text = connect()
    text.load("Size", [("x", "large")])
    text.load("Good", [("x",)], types=["item"], target=True)
    with pytest.raises(CatalogError, match="is no number"):
        text.advanced.bind(model)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {},
            r"the model cuts size into pieces at 3, and the data of Size are not cut: load them again with bins=model",
        ),
        ({"bins": {"size": 3}}, r"the model cuts size at 3, and the data of Size are cut at 2, 3: load them again"),
        ({"bins": {"size": [3.0000001]}}, r"the model cuts size at 3, and the data of Size are cut at 3\.0000001"),
    ],
)
def test_data_that_are_cut_otherwise_are_refused_not_used(options: dict[str, Any], message: str) -> None:
    model = trained((1, 2, 3, 4), 2)
    db = connect()
    load(db, [1, 2, 3], **options)
    db.load("Good", [("i0001",)], types=["item"], target=True)
    with pytest.raises(CatalogError, match=message):
        db.predict(model)
    load(db, [1, 2, 3], bins=model)
    assert db.advanced.bind(model).predicates["Good"].atom_count == 3


def test_a_number_in_a_rule_names_its_piece() -> None:
    db = connect()
    load(db, [1, 2, 3, 4], bins={"size": 2})
    db.load("Good", [("i0001",)], types=["item"], target=True)
    for constant, remedy in {
        "7": r'write "size\[3,inf\)"',
        "Large": r"its pieces are size\(-inf,3\), size\[3,inf\)",
    }.items():
        with pytest.raises(
            CatalogError, match=rf"the model names '{constant}' of size, whose numbers are cut into pieces: {remedy}"
        ):
            db.advanced.bind(sqlrl.parse_mln(f"Size(item, size)\nGood(item)\n1 Size(i, {constant}) => Good(i)"))
    db.advanced.bind(sqlrl.parse_mln('Size(item, size)\nGood(item)\n1 Size(i, "size[3,inf)") => Good(i)', strict=True))


def test_a_learner_of_clauses_keeps_the_edges() -> None:
    db = connect()
    load(db, range(20), bins={"size": 2}, example="item")
    db.load("Good", [(f"i{k:04d}",) for k in range(10)], types=["item"], target=True)
    modes = sqlrl.parse_modes("modeP(1, Size(+, #))\nmodeP(1, Good(+))")
    nothing = sqlrl.parse_mln("Size(item, size)\nGood(item)\nGood(i)")
    for found in (sqlrl.ILP(significance=1).fit(db, "Good").model_, sqlrl.OSL(modes).fit(db, nothing).model_):
        assert found.bins == {"size": (10.0,)}
        assert "size(-inf,10)" in str(found)


def test_a_file_that_can_only_be_read_takes_the_edges_of_a_model(tmp_path: Path) -> None:
    model = trained((1, 2, 3, 4), 2)
    db = connect(target=tmp_path / "d.duckdb")
    db.load("Size", [("x", 1), ("y", 50)])
    db.load("Good", [("x",)], types=["item"], target=True)
    db.advanced.engine.close()
    reading = connect(target=tmp_path / "d.duckdb", read_only=True)
    layout = reading.advanced.bind(model)
    assert (layout.predicates["Good"].atom_count, layout.types["size"].size) == (2, 2)
    reading.advanced.engine.close()


@pytest.mark.parametrize(
    ("bins", "message"),
    [
        ('{"size": [2, 1]}', "1 does not come after 2"),
        ('{"size": []}', "there is none"),
        ('{"size": ["1"]}', "'1' is no number"),
        ('{"size": [true]}', "True is no number"),
        ('{"size": 3}', "they are no list"),
        ('{"other": [1]}', "no type of the model"),
        ("[1]", "which no model has"),
    ],
)
def test_edges_of_a_damaged_model_are_refused(bins: str, message: str, tmp_path: Path) -> None:
    with pytest.raises((ModelError, ParseError), match=message):
        sqlrl.parse_mln(f'// sqlrl {{"bins": {bins}}}\nSize(item, size)\n')
    text = f'{{"version": 2, "semantics": "exact", "query": [], "types": {{}}, "rules": [], "bins": {bins}, '
    text += '"predicates": [{"name": "P", "arguments": [{"type": "size"}]}]}'
    (tmp_path / "m.json").write_text(text)
    with pytest.raises((ModelError, ParseError)):
        sqlrl.read_model(tmp_path / "m.json")


def test_bins_are_of_the_second_version_of_json(tmp_path: Path) -> None:
    model = trained((1, 2, 3, 4), 2)
    path = tmp_path / "m.json"
    model.save(path)
    assert '"version": 2' in path.read_text()
    path.write_text(path.read_text().replace('"version": 2', '"version": 1'))
    with pytest.raises(ParseError, match="does not fit its schema"):
        sqlrl.read_model(path)
    sqlrl.parse_mln("P(t)\n1 P(x)").save(path)
    assert '"version": 1' in path.read_text()


# ---- what is refused ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"bins": 10}, r"bins=10 must be a mapping from types"),
        ({"bins": {"size": 1}}, "must be a number of pieces from 2 to 1,000"),
        ({"bins": {"size": 1001}}, "must be a number of pieces from 2 to 1,000"),
        ({"bins": {"size": True}}, "must be a whole number of pieces, a list of edges, or a model"),
        ({"bins": {"size": 2.5}}, "must be a whole number of pieces"),
        ({"bins": {"size": "10"}}, "must be a whole number of pieces"),
        ({"bins": {"size": [3, 3]}}, "3 does not come after 3"),
        ({"bins": {"size": [float("nan")]}}, "nan is not finite"),
        ({"bins": {"size": [0, float("inf")]}}, "inf is not finite"),
        ({"bins": {"size": []}}, "there is none"),
        ({"bins": {"price": 2}}, r"bins= names 'price', which is neither a type \(item, size\) nor the column"),
        ({"bins": {2: 2}}, "bins= names argument 2, positions run from 0 to 1"),
        ({"bins": {1.5: 2}}, "bins= has 1.5, which names no column"),
        ({"bins": {"size": 2, 1: 3}}, "names the type size twice"),
        ({"bins": {"item": 2}, "example": "item"}, "the constants of item are the examples"),
        ({"bins": {"item": 2}}, "item has no numbers or dates that could be cut"),
        ({"bins": {"size": 2}, "types": None}, r"those of the arguments are not known: pass types= as well"),
        ({"bins": {"size": 2}, "bins_from": ["i0000"]}, "names examples, and these rows have none"),
        ({"bins_from": ["i0000"]}, "bins=, which is not given"),
        ({"bins": {"size": [1]}, "bins_from": ["i0000"]}, "bins= gives them all"),
        ({"bins": {"size": 2}, "bins_from": ["other"], "example": "item"}, "size has no numbers that could be cut"),
        ({"bins": sqlrl.parse_mln(TEXT)}, "the model of bins= cuts no type into pieces"),
        ({"bins": {"size": sqlrl.parse_mln(TEXT)}}, "cuts no type size into pieces"),
    ],
)  # fmt: skip
def test_bins_that_cannot_be_are_refused_and_nothing_changes(
    shared: sqlrl.Database, options: dict[str, Any], message: str
) -> None:
    rows = [(f"i{k:04d}", k) for k in range(4)]
    with pytest.raises(LoadError, match=message):
        shared.load("Size", rows, **{"types": TYPES, **options})
    assert shared.sql("select count(*) from sqlrl.type").fetchall() == [(0,)]
    assert shared.tables()["predicate"] == []


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([1, None, 3], r"1 row has NULL for argument 2 \(row 2\)"),
        ([1.0, math.nan, 3.0], r"1 row has NULL for argument 2 \(row 2\)"),
        (["1", "many", "3", "nan"], r"2 rows have an argument 2 that is no number, such as 'many' \(rows 2, 4\)"),
        (["1", "size[2,3)", "3"], r"1 row has an argument 2 that is no number, such as 'size\[2,3\)' \(row 2\)"),
    ],
)
def test_rows_that_are_no_numbers_are_refused(shared: sqlrl.Database, values: list[Any], message: str) -> None:
    with pytest.raises(LoadError, match=message):
        load(shared, values, bins={"size": 2})


@pytest.mark.parametrize(
    ("kind", "remedy"),
    [("time '10:00'", r"epoch\(size\)"), ("interval '1 day'", r"epoch\(size\)"), ("true", "size::INTEGER"), ("uuid()", "size::INTEGER"), ("timestamptz '2024-01-01'", "size AT TIME ZONE 'UTC'")],
)  # fmt: skip
@pytest.mark.parametrize("bins", [2, ["2024-01-01"]])
def test_times_of_day_and_booleans_are_refused_by_name(
    shared: sqlrl.Database, kind: str, remedy: str, bins: Any
) -> None:
    with pytest.raises(LoadError, match=f"the column 'size' has type .*, which bins= does not cut: .*{remedy}"):
        shared.load("Size", f"select 'a' as item, {kind} as size", types=TYPES, bins={"size": bins})


def test_numbers_that_fall_into_one_piece_are_one_fact() -> None:
    db = connect()
    rows = [("a", 1), ("a", 1.5), ("b", 9)]
    with pytest.raises(LoadError, match=r"duplicate facts: \(a, size\(-inf,5\)\) occurs 2 times \(rows 1 and 2\)"):
        db.load("Size", rows, types=TYPES, bins={"size": [5]})
    db.load("Size", rows, types=TYPES, bins={"size": [5]}, duplicates="drop")
    assert db.tables()["facts"] == [2]


def test_pieces_and_types_of_numbers_exclude_each_other() -> None:
    db = connect()
    db.load(numeric=["size"])
    with pytest.raises(LoadError, match="size is a type of numbers"):
        load(db, [1, 2], bins={"size": 2})
    other = connect()
    load(other, [1, 2], bins={"size": 2})
    with pytest.raises(SqlrlError, match=r"constants|cut into pieces"):
        other.load(numeric=["size"])


def test_several_predicates_share_the_edges_of_the_first() -> None:
    sources = {"Size": [("a", 1), ("b", 2)], "Weight": [("a", 100)], "Other": [("a",)]}
    types = {"Size": TYPES, "Weight": TYPES, "Other": ["item"]}
    db = connect()
    db.load(sources, types=types, bins={"size": 2})
    assert (pieces(db), pieces(db, "Weight")) == (["size(-inf,2)", "size[2,inf)"], ["size[2,inf)"])
    with pytest.raises(LoadError, match="bins= names 'sise', which is no type of the predicates; did you mean 'size'"):
        connect().load(sources, types=types, bins={"sise": 2})
