"""Predictions whose statements are rendered once, held against those whose statements are not: the same world, counts and errors."""

from __future__ import annotations

import logging
import threading
import warnings
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, event, given, reject, settings

import sqlrl
from sqlrl.demo import MODEL, generate
from sqlrl.errors import CatalogError, GroundingLimitError, InfeasibleError, InputError, SqlrlError, SqlrlWarning
from sqlrl.ground.clauses import learned_model
from sqlrl.ground.prepared import FEW, why_not
from tests.effort import draws
from tests.ground import cases
from tests.ground.cases import Case, fill, programs


class Statements(logging.Handler):
    """The SQL that an engine runs while the context is open."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.steps: list[str] = []
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        assert isinstance(record.args, tuple)
        self.steps.append(str(record.args[0]))
        self.texts.append(str(record.args[1]))

    def __enter__(self) -> Statements:
        self.logger = logging.getLogger("sqlrl.engine.duckdb")
        self.level = self.logger.level
        self.logger.setLevel(logging.DEBUG)
        self.logger.addHandler(self)
        return self

    def __exit__(self, *_: object) -> None:
        self.logger.removeHandler(self)
        self.logger.setLevel(self.level)


def outcome(db: sqlrl.Database, model: sqlrl.Model, examples: list[str] | None, prepared: bool | None) -> object:
    """What a prediction says, or the error in its place."""
    try:
        found = db.predict(model, examples=examples, prepared=prepared)
        atoms = found.atoms(every=True).to_pylist()
    except SqlrlError as error:
        # Such as two predicted arguments of one name, in which tables cannot be made.
        return type(error), str(error)
    report = found.result.report
    network = found.network
    assert network is not None
    counts = [getattr(network, name).tolist() for name in ("total", "open", "evidence_violated", "base")]
    return (
        atoms, found.objective, found.bound, found.cost, found.constant_cost, found.unseen,
        report.status, found.examples.tolist(), counts, network.units.toarray().tolist(), network.literals.tolist(),
        network.row_clause.tolist(), network.multiplicity.tolist(), network.block.tolist(), network.prior.tolist(),
    )  # fmt: skip


def learned(db: sqlrl.Database, case: Case) -> sqlrl.Model:
    """The model of a case, whose templates list the clauses that one example leaves open."""
    first = None if case.kind == "one" else ["B1"]
    with db.advanced.program(case.model) as program, db.advanced.session.examples_table(first) as some:
        program.expand(some)
        weights = np.random.default_rng(0).normal(size=program.clause_count).round(2)
        return learned_model(program, weights)


def check(case: Case) -> None:
    db = sqlrl.connect()
    fill(db.advanced.catalog, case)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SqlrlWarning)
        try:
            model = learned(db, case)
        except SqlrlError:
            reject()
        chosen = None if case.kind == "one" else sorted(case.subset) or ["B1"]
        wanted = outcome(db, model, chosen, prepared=False)
        with db.advanced.program(model) as program:
            assume(why_not(program) is None)
            most = sum(use.bound.is_open for use in program.shapes.values()) + 3
        db.prepare(model)
        # Binding the program let the prepared one go.
        outcome(db, model, chosen, prepared=True)
        assert outcome(db, model, chosen, prepared=True) == wanted
        with Statements() as run, suppress(SqlrlError):
            db.predict(model, examples=chosen)
        assert outcome(db, model, chosen, prepared=None) == wanted
    # Unless something is for the usual statements to say, or a template's `+` variable is mentioned by no literal of a clause, or by a quantifier
    # over open literals alone: its combinations are looked for as usual.
    usual = ("read the query atoms of", "count unseen combinations")
    if not any(step.startswith(usual) for step in run.steps):
        event("prepared")
        assert len(run.texts) <= most, run.steps


@settings(max_examples=draws(15))
@given(programs(size=4))
def test_random_programs(case: Case) -> None:
    check(case)


@pytest.mark.slow
@settings(max_examples=draws(15))
@given(programs(size=3, kind=cases.witnessed))
def test_existential_witnesses(case: Case) -> None:
    check(case)


@pytest.mark.slow
@settings(max_examples=draws(15))
@given(programs(size=3, kind=cases.counted))
def test_counted_variables(case: Case) -> None:
    check(case)


# ---- the chain -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def chain(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[sqlrl.Database, sqlrl.Model]]:
    folder = tmp_path_factory.mktemp("bibliography")
    generate(40, seed=0).write(folder)
    with sqlrl.connect(folder / "cite.duckdb") as db:
        db.load("Token", folder / "token.parquet", example="bib")
        db.load("Next", folder / "next.parquet", types=("position", "position"))
        db.load("InField", folder / "field.parquet", target=True)
        fit = sqlrl.baselines.VotedPerceptron(max_iterations=1).fit(db, sqlrl.parse_mln(MODEL), examples=names(1, 30))
        yield db, fit.model_


def names(first: int, last: int) -> list[str]:
    return [f"b{k:04d}" for k in range(first, last + 1)]


def test_the_second_prediction_of_a_chain_runs_six_statements_that_create_nothing(
    chain: tuple[sqlrl.Database, sqlrl.Model],
) -> None:
    db, model = chain
    first = outcome(db, model, ["b0031"], prepared=False)
    for examples in (["b0031"], ["b0032"], ["b0040", "b0035"]):
        db.predict(model, examples=examples)
    with Statements() as run:
        db.predict(model, examples=["b0031"])
    assert len(run.texts) <= 6
    assert outcome(db, model, ["b0031"], prepared=None) == first
    assert not [text for text in run.texts if not text.startswith(("WITH", "SELECT"))]


def test_prepare_saves_the_first_prediction_the_rendering(chain: tuple[sqlrl.Database, sqlrl.Model]) -> None:
    db, model = chain
    again = replace(model)
    db.prepare(again)
    with Statements() as run:
        db.predict(again, examples=["b0033"])
    assert len(run.texts) <= 6


@pytest.mark.parametrize("examples", [["b0031", "b9999"], ["b0031", "b0031"], []])
def test_wrong_examples_are_the_same_error(chain: tuple[sqlrl.Database, sqlrl.Model], examples: list[str]) -> None:
    db, model = chain
    db.prepare(model)
    with pytest.raises(CatalogError) as usual:
        db.predict(model, examples=examples, prepared=False)
    db.prepare(model)
    with pytest.raises(CatalogError) as error:
        db.predict(model, examples=examples)
    assert str(error.value) == str(usual.value)


def test_examples_may_be_a_query_and_more_than_a_few(chain: tuple[sqlrl.Database, sqlrl.Model]) -> None:
    db, model = chain
    query = "select name from sqlrl.example where name > 'b0037' order by name desc"
    wanted = db.predict(model, examples=query, prepared=False)
    db.prepare(model)
    assert db.predict(model, examples=query).atoms(every=True).equals(wanted.atoms(every=True))
    assert db.predict(model, examples=query).examples.tolist() == wanted.examples.tolist()
    assert FEW < 100, "all examples of larger data are grounded window by window"


def test_examples_that_can_be_read_once_are_read_once(chain: tuple[sqlrl.Database, sqlrl.Model]) -> None:
    db, model = chain
    rows = pa.table({"name": names(31, 34)})
    db.prepare(model)
    for prepared in (None, True, False):
        # The cut by cutting planes is what statements that are rendered once leave to others.
        for method in ("auto", "cutting-plane"):
            found = db.predict(model, examples=rows.to_reader(), prepared=prepared, method=method)
            assert db.advanced.session.example_names(found.examples) == names(31, 34)


def test_a_limit_that_counts_decide_is_the_same_error(chain: tuple[sqlrl.Database, sqlrl.Model]) -> None:
    db, model = chain
    db.prepare(model)
    with pytest.raises(GroundingLimitError) as usual:
        db.predict(model, examples=["b0031"], limit=10, prepared=False)
    with pytest.raises(GroundingLimitError) as error:
        db.predict(model, examples=["b0031"], limit=10)
    assert str(error.value) == str(usual.value)


# ---- data that change ----------------------------------------------------------------------------------

WEATHER = "Rainy(day)\nCold(day)\nIndoors(day)\n1 Rainy(d) => Indoors(d)\n-2 Cold(d) ^ Indoors(d)\n"


def weather() -> sqlrl.Database:
    db = sqlrl.connect()
    db.load("Rainy", [("May 1",), ("May 3",)], types=("day",), example="day")
    db.load("Cold", [("May 1",)], types=("day",), example="day")
    db.load("Indoors", [("May 2",)], types=("day",), target=True)
    return db


def indoors(db: sqlrl.Database, model: sqlrl.Model, day: str) -> list[str]:
    return db.predict(model, examples=[day]).table()["day"]


def test_changed_data_are_noticed() -> None:
    db, model = weather(), sqlrl.parse_mln(WEATHER)
    for _ in range(3):
        assert (indoors(db, model, "May 3"), indoors(db, model, "May 1")) == (["May 3"], [])
    db.load("Cold", [("May 3",)], mode="append")
    for _ in range(3):
        assert indoors(db, model, "May 3") == []
    db.load("Cold", [("May 2",)], types=("day",), example="day")
    for _ in range(3):
        assert (indoors(db, model, "May 3"), indoors(db, model, "May 1")) == (["May 3"], ["May 1"])
    db.load("Rainy", [("May 9",)], mode="append")
    for _ in range(3):
        assert indoors(db, model, "May 9") == ["May 9"]


def test_a_source_that_is_refreshed_is_noticed(tmp_path: Path) -> None:
    source = tmp_path / "cold.csv"
    source.write_text("day\nMay 1\n")
    db, model = weather(), sqlrl.parse_mln(WEATHER)
    db.load("Cold", source, types=("day",), example="day")
    for _ in range(2):
        assert indoors(db, model, "May 3") == ["May 3"]
    source.write_text("day\nMay 3\n")
    db.refresh()
    for _ in range(2):
        assert (indoors(db, model, "May 3"), indoors(db, model, "May 1")) == ([], ["May 1"])


def test_another_model_between_two_calls_changes_nothing() -> None:
    db, model, other = weather(), sqlrl.parse_mln(WEATHER), sqlrl.parse_mln(WEATHER.replace("1 Rainy", "3 Rainy"))
    for _ in range(3):
        assert (indoors(db, model, "May 1"), indoors(db, other, "May 1")) == ([], ["May 1"])


def test_threads_with_cursors_of_their_own() -> None:
    db, model = weather(), sqlrl.parse_mln(WEATHER)
    found: dict[int, list[list[str]]] = {}

    def work(number: int, cursor: sqlrl.Database) -> None:
        found[number] = [indoors(cursor, model, "May 3") for _ in range(5)]

    threads = [threading.Thread(target=work, args=(i, db.cursor())) for i in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert found == {i: [["May 3"]] * 5 for i in range(4)}


def test_what_another_cursor_loads_is_noticed() -> None:
    db, model = weather(), sqlrl.parse_mln(WEATHER)
    other = db.cursor()
    for _ in range(2):
        assert indoors(db, model, "May 3") == ["May 3"]
    other.load("Cold", [("May 3",)], mode="append")
    for _ in range(2):
        assert indoors(db, model, "May 3") == []


# ---- what is not prepared ------------------------------------------------------------------------------


def test_a_hard_clause_that_the_evidence_violates_is_the_same_error() -> None:
    db, model = weather(), sqlrl.parse_mln(WEATHER + "Cold(d) => Rainy(d).\n")
    db.load("Cold", [("May 2",)], mode="append")
    for prepared in (False, True, None):
        with pytest.raises(InfeasibleError, match="the evidence alone violates this hard clause in 1 grounding"):
            db.predict(model, examples=["May 2"], prepared=prepared)
    assert indoors(db, model, "May 3") == ["May 3"]


def test_a_template_that_grows_with_the_examples_cannot_be_prepared() -> None:
    db = weather()
    db.load("Wind", [("May 1", "strong"), ("May 2", "weak")], types=("day", "force"), example="day")
    model = sqlrl.parse_mln("Wind(day, force)\nIndoors(day)\n1 Wind(d, +f) => Indoors(d)")
    with pytest.raises(InputError, match="cannot be prepared, since it has a template without a list of clauses"):
        db.prepare(model)
    with pytest.raises(InputError, match="cannot be prepared"):
        db.predict(model, examples=["May 1"], prepared=True)
    assert indoors(db, model, "May 1") == ["May 1"]
    with db.advanced.program(model) as program:
        assert why_not(program) is not None


def test_whole_data_that_are_one_example_are_prepared() -> None:
    db = sqlrl.connect()
    db.load("Friends", [("Anna", "Bob"), ("Bob", "Chris")])
    db.load("Smokes", [("Anna",)], given=True)
    model = sqlrl.parse_mln("Friends(person, person)\nSmokes(person)\n1 Friends(x, y) ^ Smokes(x) => Smokes(y)")
    wanted = outcome(db, model, None, prepared=False)
    db.prepare(model)
    with Statements() as run:
        db.predict(model)
    assert len(run.texts) <= 4
    assert outcome(db, model, None, prepared=None) == wanted
