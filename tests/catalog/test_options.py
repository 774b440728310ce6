"""Options of a load: what may stand for a list, a position or a mapping, and what is refused by name."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import sqlrl
from sqlrl.catalog.catalog import Catalog
from sqlrl.engine.connection import connect
from sqlrl.errors import LoadError

FRAME = pd.DataFrame({"a": ["x", "y"], "b": ["u", "v"], "t": [True, False]})


@pytest.fixture
def catalog() -> Catalog:
    catalog = Catalog(connect(":memory:", threads=1))
    catalog.engine.connection.execute(
        "create table t as from (values ('x', 'u', true), ('y', 'v', false)) as t(a, b, t)"
    )
    return catalog


def facts(catalog: Catalog) -> list[tuple[Any, ...]]:
    return catalog.engine.connection.execute('from sqlrl."named_P" order by all').fetchall()


def names(*found: str) -> Iterator[str]:
    yield from found


@pytest.mark.parametrize(
    "columns",
    [
        FRAME.columns[:2],
        np.array(["a", "b"]),
        np.array([0, 1]),
        {"a": 0, "b": 0}.keys(),
        names("a", "b"),
        {np.int64(1): np.str_("b"), np.int64(0): np.int64(0)},
    ],
    ids=["index", "array", "positions", "keys", "generator", "mapping"],
)
def test_columns_are_any_ordered_names(catalog: Catalog, columns: Any) -> None:
    catalog.load("P", "t", columns=columns, types=names("k", "l"))  # type: ignore[arg-type]
    assert facts(catalog) == [("x", "u"), ("y", "v")]
    catalog.engine.connection.execute("insert into t values ('z', 'w', true)")
    assert catalog.refresh() == ["P"]
    assert len(facts(catalog)) == 3


def test_numbers_and_truths_of_numpy_are_numbers_and_truths(catalog: Catalog) -> None:
    options: dict[str, Any] = {"example": np.int64(0), "truth": np.int8(2), "target": np.True_}
    catalog.load("P", "t", columns=["a", "b"], types=np.array(["k", "l"]), constants=pd.Series({"x": "X"}), **options)
    assert [row[:3] for row in facts(catalog)] == [("X", "u", True), ("y", "v", False)]
    assert catalog.refresh() == []


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        (
            "columns",
            {"a"},
            r"P: columns=\{'a'\} must be a list with one item for each argument, and a set has no order",
        ),
        ("columns", 0, "P: columns=0 must be a list"),
        ("columns", [0.0], r"P: columns= has 0\.0, which names no column: give its name, or its position"),
        ("columns", {0: None}, "P: columns= has None, which names no column"),
        ("types", frozenset({"k"}), "P: types=frozenset.* must be a list with one item .*no order"),
        ("types", 7, "P: types=7 must be a list with one item for each argument"),
        ("types", [7], "the name of a type is a text, not 7"),
        ("truth", 1.0, r"P: truth=1\.0 names no column"),
        ("truth", True, "P: truth=True names no column"),
        ("example", ["a"], r"P: example=\['a'\] names no column"),
        ("target", "no", "P: target='no' must be True or False"),
        ("constants", ["x"], r"P: constants=\['x'\] must be a mapping from constants to their new names"),
        ("constants", {"x": None}, "P: constants= has None, which is no constant"),
    ],
)
def test_options_of_other_kinds_are_refused_by_name(catalog: Catalog, option: str, value: Any, message: str) -> None:
    with pytest.raises(LoadError, match=message):
        catalog.load("P", "t", **{option: value})


def test_a_delimiter_is_a_text(catalog: Catalog, tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    path.write_text("a\nx\n")
    with pytest.raises(LoadError, match="delimiter=5 must be one character"):
        catalog.load("P", path, delimiter=5)  # type: ignore[arg-type]


@pytest.mark.parametrize("chosen", [FRAME["a"].unique()[:1], FRAME["a"][:1], pd.Index(["x"]), pd.Categorical(["x"])])
def test_what_pandas_makes_of_a_column_chooses_examples(chosen: Any) -> None:
    db = sqlrl.connect(threads=1)
    db.load("P", FRAME[["a", "b"]], types=["k", "l"], example="a")
    db.advanced.bind(sqlrl.parse_mln("P(k, l)\nQ(k)\n1 P(x, y) => Q(x)", query=("Q",)))
    assert db.advanced.example_ids(chosen).tolist() == [0]
