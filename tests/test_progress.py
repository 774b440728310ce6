"""Progress of library calls: each draws one task, whatever it calls, with stages that name what is done, and none where none is wanted."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import pytest

import sqlrl
from sqlrl.report import PlainConsole, QuietConsole
from sqlrl.solve.marginal import Method as MarginalMethod
from sqlrl.solve.methods import Method
from tests.offered import OFFERED

FRIENDS = [("Ann", "Bob"), ("Bob", "Cid"), ("Cid", "Ann"), ("Dan", "Eve"), ("Eve", "Ann")]
DECLARED = "Friends(person, person)\nSmokes(person)\n"
MODEL = sqlrl.parse_mln(
    DECLARED + "-0.3 Smokes(x)\n1 Friends(x, y) ^ Smokes(x) => Smokes(y)\n0.7 Friends(x, y) => Smokes(x) v Smokes(y)"
)
PAIRWISE = sqlrl.parse_mln(DECLARED + "0.3 Friends(Ann, x) => Smokes(x)\n1 Friends(x, y) ^ Smokes(x) => Smokes(y)")
HARD = sqlrl.parse_mln(DECLARED + "Friends(x, y) ^ Smokes(x) => Smokes(y).")
TEMPLATE = sqlrl.parse_mln(DECLARED + "Friends(x, +y) => Smokes(x)")
MODES = sqlrl.parse_modes("modeP(1, Friends(+, -))\nmodeP(1, Smokes(+))")


@dataclass(frozen=True)
class Verb:
    """A call, the task that it draws, and words of stages that it must name."""

    task: str
    call: Callable[[sqlrl.Database], object]
    stages: tuple[str, ...] = ()


def fitting(learner: Callable[[], Any], model: sqlrl.Model = MODEL) -> Callable[[sqlrl.Database], object]:
    return lambda db: learner().fit(db, model)


HELD, GROUNDED = "holding the model against the data", "grounding shapes of clauses: 0 of 3"
PROVED = {
    "auto": "most probable world",
    "elimination": "elimination",
    "cut": "minimum cut",
    "lp": "linear relaxation",
    "cpsat": "CP-SAT",
    "walksat": "local search",
    "cutting-plane": "rounds of cutting planes",
}
FOUND = {
    "auto": "exact probabilities",
    "exact": "exact probabilities by elimination",
    "gibbs": "Gibbs sampling",
    "mcsat": "MC-SAT",
}
ONLINE = ("AdaGrad", "CDA", "MIRA", "Subgradient", "Perceptron", "ContrastiveDivergence")
BATCH: dict[str, tuple[Callable[[], Any], sqlrl.Model]] = {
    "Likelihood": (sqlrl.Likelihood, TEMPLATE),
    "MaxMargin": (sqlrl.MaxMargin, MODEL),
    "PSCG": (lambda: sqlrl.PSCG(3), MODEL),
    "VotedPerceptron": (lambda: sqlrl.baselines.VotedPerceptron(3), MODEL),
}


def predicting(method: Any) -> Callable[[sqlrl.Database], object]:
    return lambda db: db.predict(PAIRWISE if method == "cut" else MODEL, method=method)


def sampling(method: Any) -> Callable[[sqlrl.Database], object]:
    return lambda db: db.probabilities(MODEL, method=method, samples=20, burn_in=5)


VERBS: dict[str, Verb] = {
    "load": Verb("loading Likes", lambda db: db.load("Likes", FRIENDS, types=["person", "person"])),
    "remove": Verb("removing from Friends", lambda db: db.load("Friends", FRIENDS[:1], mode="remove")),
    "load_evidence": Verb("loading evidence", lambda db: db.load(sqlrl.Evidence([], MODEL, empty="allow"))),
    "load_all": Verb("loading", lambda db: db.load({"A": FRIENDS, "B": FRIENDS})),
    "scope": Verb("setting the scope of Smokes", lambda db: db.scope("Smokes", [("Ann",)])),
    "examples_from": Verb("finding the examples", lambda db: db.load(example="person")),
    "define": Verb("defining", lambda db: db.define("Known(x) :- Friends(x, y).")),
    "refresh": Verb("loading what changed", lambda db: db.refresh()),
    "derive_bias": Verb("deriving a bias", lambda db: sqlrl.Bias.derive(db, "Smokes")),
    "bind": Verb("binding", lambda db: db.advanced.bind(MODEL)),
    "ground": Verb("grounding", lambda db: db.advanced.ground(MODEL), (HELD, GROUNDED)),
    "templates": Verb("grounding", lambda db: db.advanced.ground(TEMPLATE), ("expanding templates: 0 of 1",)),
    "explain": Verb("planning", MODEL.plan, (GROUNDED,)),
    "constraint_costs": Verb("counting", lambda db: db.diagnose(HARD, kind="costs"), ("binding", "looking at shapes of clauses")),
    "count": Verb("counting", lambda db: db.count(MODEL), ("counting shapes of clauses: 0 of 3",)),
    "count_difference": Verb("counting", lambda db: db.count(MODEL, world="observed", against="observed"), (HELD,)),
    "export": Verb("exporting", lambda db: db.export(MODEL, "a.wcnf"), (HELD, GROUNDED)),
    "why": Verb("predicting|explaining", lambda db: db.predict(MODEL).why("Smokes(Eve)"), (HELD, "looking through shapes of clauses")),
    "choose_learner": Verb("choosing a learner", lambda db: sqlrl.choose_learner(db, MODEL), (HELD,)),
    **{f"predict {word}": Verb("predicting", predicting(word), (HELD, said)) for word, said in PROVED.items()},
    **{f"marginals {word}": Verb("finding probabilities", sampling(word), (HELD, GROUNDED, said)) for word, said in FOUND.items()},
    **{
        f"fit {name}": Verb("learning", fitting(OFFERED[name]), (HELD, "examples: 0 of 1", "steps of this window", "keeping the model"))
        for name in ONLINE
    },
    **{
        f"fit {name}": Verb("learning", fitting(make, model), (HELD, "examples: 0 of 1", "learning weights: iteration", "keeping the model"))
        for name, (make, model) in BATCH.items()
    },
    "fit PseudoLikelihood": Verb("learning", fitting(sqlrl.PseudoLikelihood), (HELD, "counting what flips change", "learning weights: iteration", "keeping the model")),
    "fit OSL": Verb("learning", fitting(lambda: sqlrl.OSL(MODES)), (HELD, "examples: 0 of 1", "learning: window 1 of 1", "keeping")),
    "fit ILP": Verb("deriving a bias|learning clauses", lambda db: sqlrl.ILP().fit(db, "Smokes"), (HELD, "searching positive atoms: 0 of 2")),
}  # fmt: skip


def database(*, progress: bool = False) -> sqlrl.Database:
    db = sqlrl.connect(progress=progress)
    db.load("Friends", FRIENDS, types=["person", "person"])
    db.load("Smokes", [("Ann",), ("Bob",)], types=["person"], target=True)
    return db


def test_the_tables_have_every_method() -> None:
    assert set(PROVED) == {*get_args(Method), "cutting-plane"}
    assert set(FOUND) == set(get_args(MarginalMethod))


# Learners of one kind draw alike, and verbs that do the same before they come to what is their own.
SELDOM = {
    *("fit CDA", "fit MIRA", "fit Subgradient", "fit Perceptron", "fit PSCG", "fit VotedPerceptron", "fit MaxMargin"),
    *("predict elimination", "predict walksat", "marginals auto", "marginals gibbs", "templates", "explain"),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["load_all", "export", "predict auto", "fit AdaGrad"])
def test_calls_draw_nothing_if_progress_is_not_wanted(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    VERBS[name].call(database())
    assert capsys.readouterr() == ("", "")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.slow) if name in SELDOM else name for name in VERBS],
)
def test_each_call_draws_one_task_with_its_stages_on_standard_error(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    db, verb = database(), VERBS[name]
    assert capsys.readouterr() == ("", "")
    db.advanced.console = PlainConsole(delay=0, interval=0)
    verb.call(db)
    out, err = capsys.readouterr()
    assert out == ""
    lines = err.splitlines()
    assert list(dict.fromkeys(line.split(": ")[0] for line in lines)) == verb.task.split("|")
    assert sum(line.endswith("; done") for line in lines) == len(verb.task.split("|"))
    assert [words for words in verb.stages if words not in err] == []


def test_progress_is_shown_unless_it_is_not_wanted() -> None:
    with sqlrl.connect() as db:
        assert isinstance(db.advanced.console, PlainConsole)
        assert db.advanced.console.delay == 2
    with sqlrl.connect(progress=False) as db:
        assert isinstance(db.advanced.console, QuietConsole)


def test_an_evaluation_draws_one_task_through_the_prediction_or_the_database() -> None:
    db, stream = database(), io.StringIO()
    db.advanced.console = PlainConsole(stream, delay=0)
    prediction = db.predict(MODEL, keep=True)
    for evaluate in (prediction.evaluate, lambda: db.evaluate(prediction)):
        stream.seek(0)
        stream.truncate()
        evaluate()
        assert {line.split(": ")[0] for line in stream.getvalue().splitlines()} == {"evaluating"}


def test_learning_that_stops_draws_no_more_though_its_error_is_kept() -> None:
    db, stream = database(), io.StringIO()
    db.advanced.console = PlainConsole(stream, delay=0)
    kept: list[Exception] = []

    def stop(_: object) -> None:
        raise RuntimeError("stop")

    try:
        sqlrl.AdaGrad().fit(db, MODEL, callback=stop)
    except RuntimeError as error:
        kept.append(error)
    assert kept
    assert stream.getvalue().splitlines()[-1].endswith("; stopped")
    stream.seek(0)
    db.count(MODEL)
    assert "counting" in stream.getvalue()
