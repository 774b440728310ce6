"""What every kind of result does: a predicted world, probabilities and truth values, on the same records."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import pytest

import sqlrl
from sqlrl.database.results import InferenceResult
from sqlrl.database.why import Pushes, Reasons
from sqlrl.errors import InputError, UnsupportedError
from sqlrl.evaluate import ProbabilityScores, Scores, SoftScores
from sqlrl.report.charts import Chart
from sqlrl.report.page import Report

NETWORK = sqlrl.parse_mln(
    "Alike(name, name)\nSame(name, name)\n3 Alike(x, y) => Same(x, y)\n-1 Same(x, y)", query=["Same"]
)
SOFT = sqlrl.parse_psl("3: Alike(X, Y) -> Same(X, Y) ^2\n1: !Same(X, Y) ^2", query=["Same"])
ALIKE = [("A", "B"), ("B", "C"), ("D", "E")]
LABELS = [("A", "B"), ("B", "C"), ("A", "C")]
PAIRS = [*combinations("ABCDE", 2)]


@dataclass(frozen=True)
class Kind:
    """A kind of result: how it is found, and what it should have."""

    find: Callable[..., Any]
    value: str
    beside: list[str]
    scores: type
    charts: list[str]
    reasons: type | None
    written: list[str]


KINDS = {
    "world": Kind(
        lambda db, **options: db.predict(NETWORK, margins=True, **options),
        "truth", ["margin"], Scores, ["confusion"], Reasons, ["margin"],
    ),
    "probabilities": Kind(
        lambda db, **options: db.probabilities(NETWORK, **options),
        "probability", ["error", "rhat", "ess", "method"], ProbabilityScores,
        ["calibration", "precision_recall", "roc", "confusion"], None, ["probability", "error", "rhat", "ess", "method"],
    ),
    "truth values": Kind(
        lambda db, **options: db.predict(SOFT, **options),
        "value", [], SoftScores, ["precision_recall", "roc", "confusion"], Pushes, ["value"],
    ),
}  # fmt: skip


def records() -> sqlrl.Database:
    db = sqlrl.connect(progress=False)
    db.load("Alike", ALIKE, types=("name", "name"))
    db.load("Same", LABELS, types=("name", "name"), target=True)
    db.scope("Same", PAIRS)
    return db


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> Kind:
    return KINDS[request.param]


@dataclass(frozen=True)
class Found:
    """A result, with its kind and database."""

    kind: Kind
    db: sqlrl.Database
    result: Any


@pytest.fixture(scope="module", params=KINDS)
def found(request: pytest.FixtureRequest) -> Found:
    db, kind = records(), KINDS[request.param]
    return Found(kind, db, kind.find(db))


def pairs(rows: Any) -> list[tuple[str, str]]:
    return [(row["name"], row["name_2"]) for row in rows]


def test_atoms_have_their_names_and_values(found: Found) -> None:
    result, value = found.result, found.kind.value
    assert isinstance(result, InferenceResult)
    every = result.atoms("Same", every=True)
    assert every.column_names == ["example", "name", "name_2", value, *found.kind.beside]
    rows = every.to_pylist()
    assert pairs(rows) == PAIRS
    assert [pair for pair, row in zip(PAIRS, rows, strict=True) if row[value] > 0.5] == ALIKE
    listed = result.atoms().to_pylist()
    assert pairs(listed) == (ALIKE if value == "truth" else PAIRS)
    assert pairs(result.atoms(every=True, at_least=0.5).to_pylist()) == ALIKE
    assert [row[value] for row in result.atoms(at_least=0.5).to_pylist()] == [
        row[value] for row in rows if row[value] >= 0.5
    ]


def test_tables_are_the_atoms_to_read(found: Found) -> None:
    for options in ({}, {"every": True}, {"at_least": 0.5}):
        table, atoms = found.result.table(**options), found.result.atoms(**options).to_pylist()
        assert pairs(table) == pairs(atoms)
        assert table[found.kind.value] == pytest.approx([row[found.kind.value] for row in atoms], abs=1e-6)
    assert repr(table).startswith("Same: pr")


def test_tables_of_the_database_are_the_atoms(found: Found) -> None:
    db, result = found.db, found.result
    assert result.tables("out") == {"Same": "out"}
    result.write("out", replace=True)
    written = db.sql("from out")
    assert written.columns == ["example", "name", "name_2", *found.kind.written]
    assert written.to_arrow_table() == result.atoms().select(written.columns)
    with pytest.raises(InputError, match="there is a table out already"):
        result.write("out")
    with pytest.raises(InputError, match="the name of a table is needed, not an object of type int"):
        result.write(3)
    again = found.kind.find(db, into="out", replace=True)
    assert db.sql("from out").fetchall() == [
        tuple(r.values()) for r in again.atoms().select(written.columns).to_pylist()
    ]


def test_scores_are_those_of_the_kind(found: Found) -> None:
    scores = found.result.evaluate(bins=4, threshold=0.4)
    assert isinstance(scores, found.kind.scores)
    assert str(scores) == str(found.db.evaluate(found.result, bins=4, threshold=0.4))
    total = scores.total if isinstance(scores, Scores) else scores
    assert (total.atoms, getattr(total, "true", 3)) == (10, 3)
    for ask in (found.result.evaluate, lambda **options: found.db.evaluate(found.result, **options)):
        with pytest.raises(InputError, match="outside='all' must be 'missed' or 'ignore'"):
            ask(outside="all")


def test_clusters_are_what_is_true(found: Found) -> None:
    with pytest.raises(InputError, match="Same is predicted to join A with B and B with C, but not A with C") as error:
        found.result.clusters()
    assert ("add the rule" in str(error.value)) == (found.kind.value == "truth")
    table = found.result.clusters("Same", closure=True)
    sets: dict[int, str] = {}
    for row in table:
        sets[row["cluster"]] = sets.get(row["cluster"], "") + row["name"]
    assert sets == {0: "ABC", 1: "DE"}
    assert found.result.clusters(closure=True) == table


def test_reasons_are_those_of_the_kind_or_refused(found: Found) -> None:
    if found.kind.reasons is None:
        with pytest.raises(UnsupportedError, match=r"no ground clause alone .*: db\.predict\(model\)\.why"):
            found.result.why("Same(A, B)")
        return
    why = found.result.why("Same(A, B)", neutral=True)
    assert isinstance(why, found.kind.reasons)
    assert why.head["atom"] == "Same(A, B)"
    assert why.head[found.kind.value] > 0.5
    assert repr(why) == repr(why.shown())
    with pytest.raises(InputError, match="Alike is evidence and not predicted"):
        found.result.why("Alike(A, B)")


def test_charts_are_those_of_the_kind_and_others_are_refused(found: Found) -> None:
    plot = found.result.plot
    assert repr(plot).partition(": ")[2] == ", ".join(f"{name}()" for name in found.kind.charts)
    for name in ("calibration", "precision_recall", "roc", "confusion"):
        if name in found.kind.charts:
            assert isinstance(getattr(plot, name)(), Chart)
        else:
            with pytest.raises(UnsupportedError, match="probabilities"):
                getattr(plot, name)()
    counts = {(r["label"], r["predicted"]): r["count"] for r in plot.confusion("Same").table()}
    assert counts == {("true", "true"): 2, ("true", "false"): 1, ("false", "true"): 1, ("false", "false"): 6}
    with pytest.raises(InputError, match="name one of the open predicates Same, not 'Some'"):
        plot.confusion("Some")


def test_what_was_kept_has_outcomes_and_a_page(kind: Kind) -> None:
    db = records()
    bare, result = kind.find(db), kind.find(db, keep=True)
    with pytest.raises(InputError, match="give keep=True"):
        bare.report()
    bare.evaluate()
    assert db.sql("from sqlrl.outcome").fetchall() == []
    for _ in range(2):  # Once more takes the place of what there is.
        result.evaluate()
        query = f"select predicted, count(*), count_if(label) from sqlrl.outcome where run = {result.run} group by all order by all"
        assert db.sql(query).fetchall() == [(False, 7, 1), (True, 3, 2)]
    assert isinstance(result.report(), Report)
    run = db.runs[result.run]
    for name in kind.charts:
        assert getattr(run.plot, name)().table() == getattr(result.plot, name)().table()


def test_it_prints_its_title_with_lines_below(found: Found) -> None:
    title, *lines = repr(found.result).splitlines()
    assert "of Same: " in title
    assert all(line.startswith("  ") for line in lines)
    assert f"<p>{title}</p>" in found.result._repr_html_()


def test_names_of_other_predicates_are_refused(found: Found) -> None:
    for ask in (found.result.atoms, found.result.table, found.result.clusters):
        with pytest.raises(InputError, match="name one of the open predicates Same, not 'Some'"):
            ask("Some")


def test_it_belongs_to_its_database(found: Found) -> None:
    other = records()
    with pytest.raises(InputError, match="made in another database"):
        other.evaluate(found.result)
    with pytest.raises(InputError, match=f"a {type(found.result).__name__} cannot be pickled or copied"):
        pickle.dumps(found.result)
    assert copy.copy(found.result).atoms() == found.result.atoms()


def test_atoms_that_were_numbered_anew_are_refused(kind: Kind) -> None:
    db = records()
    result = kind.find(db)
    db.scope("Same", [("A", "A"), *PAIRS])
    kind.find(db)
    stale = "changed after this prediction"
    for ask in (
        result.atoms, result.table, result.evaluate, result.clusters, result.plot.confusion,
        lambda: result.why("Same(A, B)"), lambda: result.write("out"),
    ):  # fmt: skip
        with pytest.raises(InputError, match=stale):
            ask()


def test_without_labels_there_is_nothing_to_compare(kind: Kind) -> None:
    db = sqlrl.connect(progress=False)
    db.load("Alike", ALIKE, types=("name", "name"))
    db.scope("Same", PAIRS)
    with pytest.raises(InputError, match="no predicted atom has a label to compare with"):
        kind.find(db).evaluate()
