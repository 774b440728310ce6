"""Names of one value, or names that look alike, are said when the second one comes; what is meant as it stands is not."""

from __future__ import annotations

import datetime as dt
import re
import unicodedata
import warnings
from collections.abc import Iterator
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlglot import exp

import sqlrl
from sqlrl.catalog.similar_names import _FAMILIES, look_alike
from sqlrl.engine.connection import connect
from sqlrl.engine.nodes import column
from sqlrl.errors import CatalogError, LoadWarning, UnseenConstantWarning

DAY = dt.date(2021, 3, 4)
INSTANT = dt.datetime(2021, 3, 4, 5, 6, tzinfo=dt.UTC)
TWICE: list[tuple[Any, Any, str]] = [
    ([3], ["3.00"], "'3' and '3.00'"),
    ([3], ["003"], "'3' and '003'"),
    ([Decimal("3.10")], ["3.10"], "'3.1' and '3.10'"),
    ([0.00002], ["0.00002"], "'2e-05' and '0.00002'"),
    ("select 3e16::double", "select 30000000000000000", "'30000000000000000' and '3e+16'"),
    ("select 20000000000::float", [20_000_000_000], "'20000000000' and '20000000000.0'"),
    ([DAY], ["2021-03-04 00:00:00"], "'2021-03-04' and '2021-03-04 00:00:00'"),
    ([DAY], ["2021-03-04T00:00"], "'2021-03-04' and '2021-03-04T00:00'"),
    (["2021-03-04"], ["2021-03-04 00:00:00"], "'2021-03-04' and '2021-03-04 00:00:00'"),
    ([INSTANT], ["2021-03-04T05:06:00Z"], "'2021-03-04 05:06:00+00' and '2021-03-04T05:06:00Z'"),
    ([INSTANT], ["2021-03-04 07:06:00+02:00"], "'2021-03-04 05:06:00+00' and '2021-03-04 07:06:00+02:00'"),
    ([INSTANT], [INSTANT.replace(tzinfo=None)], "'2021-03-04 05:06:00' and '2021-03-04 05:06:00+00'"),
    (pl.DataFrame({"a": [dt.datetime(2021, 3, 4, tzinfo=dt.UTC)]}), [DAY], "'2021-03-04' and '2021-03-04 00:00:00+00'"),
    ([dt.timedelta(hours=30)], ["30:00:00"], "'1 day 06:00:00' and '30:00:00'"),
    ([dt.timedelta(hours=30)], ["1 day, 6:00:00"], "'1 day 06:00:00' and '1 day, 6:00:00'"),
    ([dt.timedelta(hours=30)], ["1 days 06:00:00"], "'1 day 06:00:00' and '1 days 06:00:00'"),
    ([True], ["True"], "'true' and 'True'"),
    (["true", "false"], ["False", "True"], "'false' and 'False' .* and so are 1 more pairs"),
    (
        "select uuid '00000000-0000-0000-0000-0000000000ab'",
        ["00000000-0000-0000-0000-0000000000AB"],
        "'00000000-0000-0000-0000-0000000000ab' and '00000000-0000-0000-0000-0000000000AB'",
    ),
]


def load(db: sqlrl.Database, source: Any, *, typed: bool) -> None:
    """Load facts of Q, whose types are said now or by a model that is bound."""
    db.load("Q", source, types=["n"] if typed else None)
    if not typed:
        db.advanced.bind(sqlrl.parse_mln("P(n)\nQ(n)\nR(m)\n1 P(x) ^ Q(y) => R(z)"))


@pytest.mark.slow
def test_a_second_name_of_a_value_is_said_once() -> None:
    """Each pair under a type of its own in one database: forty loads."""
    with sqlrl.connect(progress=False) as db, warnings.catch_warnings(action="error"):
        for place, (one, other, message) in enumerate(TWICE):
            kind = "abcdefghijklmnopqrstuvwxyz"[place] * 4  # names of types that are alike are said, too
            first, second = (one, other) if place % 2 else (other, one)
            db.load(f"P{place}", first, types=[kind])
            with pytest.warns(LoadWarning, match=message.replace("+", "[+]")):
                db.load(f"Q{place}", second, types=[kind])
            if place < 3:
                db.load(f"S{place}", second, types=[kind])


@pytest.mark.parametrize(
    ("one", "other", "message", "typed"),
    [
        (*TWICE[6], False),
        pytest.param(*TWICE[6], True, marks=pytest.mark.slow),
        *(pytest.param(*case, False, marks=pytest.mark.slow) for case in TWICE if case is not TWICE[6]),
    ],
)
def test_a_second_name_of_a_value_is_said_when_it_is_loaded(one: Any, other: Any, message: str, typed: bool) -> None:
    for first, second in ((one, other), (other, one)):
        with sqlrl.connect(progress=False) as db, warnings.catch_warnings(action="error"):
            db.load("P", first, types=["n"])
            db.load("R", ["r"], types=["m"], target=True)
            with pytest.warns(LoadWarning, match=message.replace("+", "[+]")):
                load(db, second, typed=typed)
            db.load("S", second, types=["n"])  # said once


@pytest.mark.slow
def test_names_that_are_meant_are_not_said() -> None:
    meant: list[tuple[Any, ...]] = [
        (["The", "the", "True", "true"], ["TRUE", "a"]),
        (["01", "1", "1.50"], ["1.5", "v1"]),
        ([1, 2], [1.0, 2.5], [Decimal("2.50")]),
        ([True], [1, 0]),
        ([DAY], [dt.datetime(2021, 3, 4)], pd.DataFrame({"a": [pd.Timestamp(DAY)]})),  # noqa: DTZ001
        ([1.5], ["1.5", "x"]),
        ([dt.timedelta(hours=30)], pl.Series([dt.timedelta(hours=30)]), ["12", "a:b"]),
        (["2021-03-04", "2021-03-05"], ["2021-03-04", "soon"]),
    ]
    with sqlrl.connect(progress=False) as db, warnings.catch_warnings(action="error"):
        for place, sources in enumerate(meant):
            for number, source in enumerate(sources):
                db.load(f"P{number}_{place}", source, types=["abcdefgh"[place] * 4])


def test_files_beside_tables_are_compared(tmp_path: Path) -> None:
    (tmp_path / "prices.csv").write_text("price\n10.50\n7.25\n0.50\n")
    with sqlrl.connect(progress=False) as db, warnings.catch_warnings(action="error"):
        db.sql("create table prices as select unnest([10.50, 7.25, 0.50]) as price")
        db.load("Price", "prices", types=["price"])
        with pytest.warns(LoadWarning, match=r"'0.5' and '0.50' are two .* price, .*; and so are 1 more pairs"):
            db.load("Paid", tmp_path / "prices.csv", types=["price"])


# ---- what rules name ---------------------------------------------------------------------------------

CAFE = "caf\u00e9"
LOOKS = [
    (CAFE, unicodedata.normalize("NFD", CAFE), "composed .NFC. in"),
    (unicodedata.normalize("NFD", CAFE), CAFE, "decomposed .NFD. in the first|composed .NFC. in the first"),
    ("New York", "New\u00a0York", r"do not show .*U\+00A0"),
    ("Anna", "An\u200bna", r"do not show .*U\+200B"),
    ("Anna", "\u0410nna", r"other letters .*U\+0410"),
    ("A-1", "A\u20111", r"other letters .*U\+2011"),
    ("AB", "\uff21\uff22", r"other letters .*U\+FF21"),
]
WRITTEN = [([DAY], "2021-03-04 00:00:00", "2021-03-04"), ([Decimal("3.10")], "3.10", "3.1"), ([True], "TRUE", "true")]


@pytest.fixture(scope="module")
def looks() -> Iterator[sqlrl.Database]:
    """Each name of LOOKS and each value of WRITTEN with a type of its own."""
    with sqlrl.connect(progress=False) as db:
        data = [*([name, "another"] for name, *_ in LOOKS), *(values for values, *_ in WRITTEN)]
        for place, values in enumerate(data):
            db.load(f"P{place}", values, types=["abcdefghijklm"[place] * 4])
        db.load("Q", ["q"], types=["zzzz"], target=True)
        yield db


def unseen(db: sqlrl.Database, place: int, constant: str, *, strict: bool = False) -> None:
    kind = "abcdefghijklm"[place] * 4
    db.advanced.bind(sqlrl.parse_mln(f'P{place}({kind})\nQ(zzzz)\n1 P{place}("{constant}") => Q(x)', strict=strict))


@pytest.mark.slow
def test_a_constant_that_looks_like_one_of_the_data_is_said_with_the_reason(looks: sqlrl.Database) -> None:
    for place, (_, constant, why) in enumerate(LOOKS):
        with pytest.warns(UnseenConstantWarning, match=rf"is like .* \(which looks alike.*({why})"):
            unseen(looks, place, constant)
        with pytest.raises(CatalogError, match=rf"did you mean .* \(which looks alike.*({why})"):
            unseen(looks, place, constant, strict=True)


def test_a_constant_that_writes_a_value_otherwise_is_said(looks: sqlrl.Database) -> None:
    for place, (_, constant, name) in enumerate(WRITTEN, len(LOOKS)):
        with pytest.warns(UnseenConstantWarning, match=f"'{constant}' of [a-m]+ .* is like '{name}'"):
            unseen(looks, place, constant)
        with pytest.raises(CatalogError, match=f"'{constant}' is no constant of [a-m]+ .*did you mean '{name}'"):
            unseen(looks, place, constant, strict=True)


def test_a_model_learned_from_other_spellings_says_so() -> None:
    days = [dt.date(2021, 3, n) for n in range(1, 5)]
    with sqlrl.connect(progress=False) as texts, sqlrl.connect(progress=False) as dates:
        for db, source in ((texts, [f"{day} 00:00:00" for day in days]), (dates, days)):
            db.load("Even", source[1::2], types=["day"])
            db.load("Hot", source[1:2], types=["day"], target=True)
            db.scope("Hot", source)
        learned = (
            sqlrl.Likelihood(penalty="l2")
            .fit(texts, sqlrl.parse_mln("Even(day)\nHot(day)\nEven(+d) => Hot(+d)"))
            .model_
        )
        with pytest.warns(
            UnseenConstantWarning, match=r"in other words: '2021-03-0. 00:00:00' of day may be '2021-03-0.'"
        ):
            dates.predict(learned)
        with warnings.catch_warnings(action="error"):
            texts.predict(learned)


def test_unknown_examples_and_constants_of_definitions_say_so_too() -> None:
    decomposed = unicodedata.normalize("NFD", CAFE)
    with sqlrl.connect(progress=False) as db:
        db.load("Near", [(CAFE, "x"), ("bar", "y")], types=["place", "street"], example="place")
        with pytest.raises(CatalogError, match=r"did you mean .* \(which looks alike"):
            db.define(f'Here(s) :- Near("{decomposed}", s).')
        db.load("Good", [CAFE], types=["place"], target=True)
        model = sqlrl.parse_mln("Near(place, street)\nGood(place)\n1 Near(p, s) => Good(p)")
        with pytest.raises(CatalogError, match=r"examples that the data do not have.*\(which looks alike"):
            db.predict(model, examples=[decomposed])


@given(st.text(max_size=8))
def test_forms_of_one_text_look_alike(text: str) -> None:
    forms = {unicodedata.normalize(form, text) for form in ("NFC", "NFD")}
    if len(forms) == 2:
        one, other = sorted(forms)
        assert "NFC" in look_alike(one, other)
    assert look_alike(text, text) == ""
    assert look_alike(text, text + "x") == ""


def test_python_takes_no_fewer_texts_for_values_than_the_database() -> None:
    """Which family a text is of is asked of the database only if its pattern matches in Python."""
    random = np.random.default_rng(0)
    values = [
        "1_000.50e-3",
        " .5",
        "2021-03-04 05:06:07.5+02:30",
        "2021-03-04T05:06 Z",
        "-12:30:00.5",
        "3 days, 4:05:06",
    ]
    values += [
        "1 month 2 days",
        "True",
        "FALSE",
        "{0123abcd-4567-89ab-cdef-0123456789AB}",
        "0123abcd456789abcdef0123456789ab",
    ]
    letters = list("0123456789-+:.eE,_ {}TZsa\t\n\u00a0\u0661\u017f\u212a")
    texts = {*values, "fal\u017fe", "FAL\u017fE", "1 day\n", "1 day \n2", "\u06612:00:00", "\t2\x0b"}
    for value in values:
        for _ in range(200):
            place, more = random.integers(len(value)), random.integers(2)
            texts.add(value[:place] + str(random.choice(letters)) + value[place + more :])
    with closing(connect()) as engine, engine.attached(pa.table({"name": sorted(texts)})) as source:
        keys = [family.key(column("name")).as_(family.word) for family in _FAMILIES]
        rows = engine.fetch(exp.select(column("name"), *keys).from_(source), step="look at texts").to_pylist()
    assert len(rows) == len(texts)
    for family in _FAMILIES:
        named = [row["name"] for row in rows if row[family.word] is not None]
        assert len(named) > 5
        assert all(re.fullmatch(family.pattern, name) for name in named)
