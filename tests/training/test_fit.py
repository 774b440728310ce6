"""What every learner and finder has of a fit: its steps are told, saved and gone on with, and Ctrl-C keeps the best so far."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sqlrl
from sqlrl.errors import UnknownParameterError
from sqlrl.ground.program import Program
from sqlrl.training.fit import StepReport
from sqlrl.training.records import share_of_fall
from sqlrl.training.runs import Run as RunOfLearner
from tests.learn.batch.stopped import load as load_documents
from tests.offered import OFFERED

pytestmark = pytest.mark.filterwarnings(
    *(f"ignore::sqlrl.errors.{kind}Warning" for kind in ("Convergence", "NothingFound", "LittleFound", "PassedOver"))
)
Load = Callable[[sqlrl.Database], None]


def load_people(db: sqlrl.Database) -> None:
    """Friends of whom some smoke, for searches over all predicates."""
    rng = random.Random(5)
    people = [f"p{i}" for i in range(16)]
    smokes = people[:8]
    db.load("Smokes", [(p,) for p in smokes], types=["person"])
    db.load("Coughs", [(p,) for p in people if (p in smokes) != (rng.random() < 0.1)], types=["person"])
    db.load("Old", [(p,) for p in people if (p in smokes) == (rng.random() < 0.15)], types=["person"])


def load_old_smokers(db: sqlrl.Database) -> None:
    """Smokers of whom the old ones cough."""
    people = [(f"p{i}",) for i in range(40)]
    db.load("Smokes", people[:20], types=["person"])
    db.load("Coughs", people[:10], types=["person"])
    db.load("Old", people[:10] + people[20:], types=["person"])


def load_family(db: sqlrl.Database) -> None:
    """Parents and grandparents, some on the father's side."""
    parents = [(f"{kind}{i}", f"{kind}{2 * i + j}") for kind in "ab" for i in range(1, 8) for j in (0, 1)]
    db.load("Parent", parents, types=["person", "person"])
    db.load("Female", [(child,) for _, child in parents if int(child[1:]) % 2], types=["person"])
    grand = [(x, z) for x, y in parents for w, z in parents if y == w and int(y[1:]) % 2]
    db.load("Grandmother", grand, types=["person", "person"], target=True)


def load_chain(db: sqlrl.Database) -> None:
    """People of whom some are known to be somewhat likely to smoke."""
    pairs = [(f"p{i}", f"p{i + 1}") for i in range(8)]
    db.load("Friends", pairs, types=["person", "person"])
    db.load("Smokes", [("p0",)], types=["person"], given=True)
    truths = [(f"p{i}", round(1 - i / 10, 2)) for i in range(1, 9)]
    db.load("Smokes", truths, columns=[0], types=["person"], value=1, target=True)


def load_ancestors(db: sqlrl.Database) -> None:
    """Labelled pairs, of which some are parents of parents."""
    parents = [(f"a{i}", f"a{i + 1}") for i in range(8)] + [(f"b{i}", f"b{i + 1}") for i in range(8)]
    db.load("Parent", parents, types=["person", "person"])
    labels = [(f"{k}{i}", f"{k}{i + 2}", 1.0) for k in "ab" for i in range(6)]
    labels += [(f"{k}{i + 1}", f"{k}{i}", 0.0) for k in "ab" for i in range(6)]
    db.load("Grandparent", labels, columns=[0, 1], types=["person", "person"], value=2, target=True)
    db.scope("Grandparent", [row[:2] for row in labels])


DOCUMENTS = "Word(doc, word)\nLiked(doc)\nWord(d, +w) => Liked(d)\nLiked(d)"
CHAIN = "1: Friends(A, B) & Smokes(A) -> Smokes(B) ^2\n1: !Smokes(A) ^2"


def rules() -> sqlrl.Model:
    return sqlrl.parse_mln(DOCUMENTS)


@dataclass(frozen=True)
class Case:
    """An estimator with data to learn from."""

    made: Callable[[], Any]
    load: Load
    given: Callable[[], Any]  # the model or the target
    stop: int  # the report after which it is stopped
    exact: bool = True  # whether a run that goes on has the results of one that was never stopped, byte for byte


def documents(made: Callable[[], Any], stop: int = 2, *, exact: bool = True) -> Case:
    return Case(made, load_documents, rules, stop, exact)


def chain(made: Callable[[], Any], *, exact: bool = True) -> Case:
    return Case(made, load_chain, lambda: sqlrl.parse_psl(CHAIN), 3, exact)


def modes() -> Any:
    return sqlrl.parse_modes("modeP(1, Word(+, #.))\nmodeP(1, Liked(-))")


def resolwe() -> Any:
    words = '{Word(d, "good"), Word(d, "bad"), Word(d, "odd")}'
    grammar = sqlrl.parse_grammar(f"TOPIC(d) = {words}\nTOPIC(d) ^ Liked(d)")
    return sqlrl.Resolwe(grammar, min_support=2, window=10, weights=sqlrl.AdaGrad(window=10))


CASES = {
    "adagrad": documents(lambda: sqlrl.AdaGrad(window=14)),
    "cda": documents(lambda: sqlrl.CDA(0.01, window=14)),
    "mira": documents(lambda: sqlrl.baselines.MIRA(window=14)),
    "perceptron": documents(lambda: sqlrl.baselines.Perceptron(window=14, passes=2)),
    "subgradient": documents(lambda: sqlrl.baselines.Subgradient(0.01, window=14)),
    "cd": documents(lambda: sqlrl.baselines.ContrastiveDivergence(window=14)),
    "osl": documents(lambda: sqlrl.OSL(modes(), window=14)),
    "likelihood l1": documents(lambda: sqlrl.Likelihood("l1", 0.05), 4, exact=False),
    "likelihood l2, of several": documents(lambda: sqlrl.Likelihood("l2", [0.05, 0.5], folds=3), 3, exact=False),
    "max-margin": documents(lambda: sqlrl.MaxMargin(strength=0.2, epsilon=1e-6), 3, exact=False),
    "max-margin, cuts": documents(lambda: sqlrl.MaxMargin(strength=0.2, loss="zero-one", epsilon=1e-6), 4, exact=False),
    "pscg": documents(lambda: sqlrl.PSCG(moments="exact", tolerance=1e-12), 4, exact=False),
    "voted-perceptron": documents(lambda: sqlrl.baselines.VotedPerceptron(0.5, 6), 3),
    "pseudo-likelihood": documents(sqlrl.PseudoLikelihood, 3, exact=False),
    "soft-pseudo-likelihood": chain(lambda: sqlrl.SoftPseudoLikelihood(tolerance=1e-9), exact=False),
    "soft-pseudo-likelihood, steps": chain(lambda: sqlrl.SoftPseudoLikelihood(method="steps", steps=6)),
    "soft-piecewise-likelihood": chain(sqlrl.SoftPiecewiseLikelihood, exact=False),
    "soft-map-likelihood": chain(lambda: sqlrl.SoftMapLikelihood(max_iterations=6)),
    "soft-structure": Case(
        lambda: sqlrl.SoftStructure(length=2, min_targets=1), load_ancestors, lambda: "Grandparent", 2, exact=False
    ),
    "soft-structure, greedy": Case(
        lambda: sqlrl.SoftStructure(length=2, min_targets=1, method="gls"), load_ancestors, lambda: "Grandparent", 1
    ),
    "ilp": Case(
        lambda: sqlrl.ILP(noise=0, command="induce", min_positive=1, clause_length=4),
        load_family,
        lambda: "Grandmother",
        1,
    ),
    "ilp, rank": Case(
        lambda: sqlrl.ILP(command="rank", clause_length=4, significance=1), load_family, lambda: "Grandmother", 3
    ),
    "msl": Case(lambda: sqlrl.MSL(literal_cost=0.01, max_literals=3), load_people, lambda: None, 10),
    "transfer": Case(
        lambda: sqlrl.Transfer(mapping={"Smoker": "Smokes", "Cough": "Coughs"}),
        load_old_smokers,
        lambda: sqlrl.parse_mln("Smoker(p)\nCough(p)\n1 Smoker(x) => Cough(x)"),
        4,
    ),
    "resolwe": Case(resolwe, load_documents, lambda: sqlrl.parse_mln("Word(doc, word)\nLiked(doc)"), 3),
}
"""A fit of every learner and finder."""

every = pytest.mark.parametrize("case", CASES.values(), ids=CASES)

ALIKE = {
    *("cda", "mira", "perceptron", "subgradient", "cd"),  # the loop of adagrad
    *("likelihood l2, of several", "max-margin, cuts", "pscg", "soft-piecewise-likelihood"),  # the steps of a batch, as those of their likes
    *("soft-structure, greedy", "ilp, rank"),
}  # fmt: skip
"""Fits whose loop, and what is saved of it, another case has too: a fit from beginning to end, stopped and gone on with, takes each more than a second."""

each_kind = pytest.mark.parametrize(
    "case",
    [pytest.param(case, marks=[pytest.mark.slow] if name in ALIKE else [], id=name) for name, case in CASES.items()],
)


def press(at: int, told: list[StepReport] | None = None) -> Callable[[StepReport], None]:
    """Return what presses Ctrl-C when a step after which a run can be kept is told, from the one with this number on."""
    count = 0

    def pressed(step: StepReport) -> None:
        nonlocal count
        count += 1
        if told is not None:
            told.append(step)
        # Searches also tell of candidates, before the first clause.
        if count >= at and getattr(step, "clauses", 1):
            raise KeyboardInterrupt

    return pressed


def weights(found: Any) -> dict[str, float]:
    return {row["clause"]: row.get("weight", row.get("score")) for row in found.clauses().to_pylist()}


def status(db: sqlrl.Database, run: int) -> str:
    ((found,),) = db.sql(f"select status from sqlrl.run where run = {run}").fetchall()
    return str(found)


def test_every_learner_has_a_case() -> None:
    kinds = {type(case.made()).__name__ for case in CASES.values()}
    estimators = {name for name, made in OFFERED.items() if hasattr(made, "fit")}
    assert kinds == estimators - {"ConstrainedTraining"}


@each_kind
def test_steps_are_told_ctrl_c_keeps_what_there_is_and_a_saved_run_goes_on(case: Case, tmp_path: Path) -> None:
    told: list[StepReport] = []
    whole = sqlrl.connect(progress=False)
    case.load(whole)
    never_stopped = case.made().fit(whole, case.given(), callback=told.append)
    assert len(told) >= case.stop
    assert all(step.note() for step in told)

    path = tmp_path / "stopped.duckdb"
    with sqlrl.connect(path, progress=False) as db:
        case.load(db)
        stopped = case.made()
        with pytest.raises(KeyboardInterrupt) as stop:
            stopped.fit(db, case.given(), checkpoint=True, callback=press(case.stop))
        run = stopped.run_
        notes = "\n".join(stop.value.__notes__)
        assert f"run {run} is kept as interrupted" in notes
        assert f"resume={run} goes on" in notes
        assert stopped.interrupted_
        assert status(db, run) == "interrupted"
        assert db.models[-1] == stopped.model_
        models = len(db.models())
    with sqlrl.connect(path, progress=False) as db:
        found = case.made().fit(db, case.given(), resume=run)
        assert found.run_ == run
        assert not found.interrupted_
        assert status(db, run) == "done"
        assert db.models[-1] == found.model_
        assert len(db.models()) == models, "the model of what there was is gone"
    if case.exact:
        assert found.model_ == never_stopped.model_
        assert found.clauses().to_pylist() == never_stopped.clauses().to_pylist()
    else:
        now, then = weights(found), weights(never_stopped)
        assert now.keys() == then.keys()
        assert np.allclose([now[x] for x in then], list(then.values()), atol=2e-3)


@every
def test_ctrl_c_at_once_keeps_nothing(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    db = sqlrl.connect(progress=False)
    case.load(db)
    made = case.made()

    def at_once(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    # In the first step, before there is anything to keep.
    monkeypatch.setattr("sqlrl.training.fit.Fit.step", at_once)
    with pytest.raises(KeyboardInterrupt):
        made.fit(db, case.given())
    assert "model_" not in vars(made)
    assert db.sql("select count(*) from sqlrl.model").fetchall() == [(0,)]
    assert {row[0] for row in db.sql("select status from sqlrl.run").fetchall()} == {"interrupted"}


def test_ctrl_c_while_the_end_is_kept_loses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    case, finish, calls = CASES["adagrad"], RunOfLearner.finish, []

    def pressed(run: RunOfLearner, *given: Any, **options: Any) -> None:
        calls.append(run)
        if len(calls) == 1:
            raise KeyboardInterrupt
        finish(run, *given, **options)

    db = sqlrl.connect(progress=False)
    case.load(db)
    made = case.made()
    monkeypatch.setattr(RunOfLearner, "finish", pressed)
    with pytest.raises(KeyboardInterrupt):
        made.fit(db, case.given())
    assert status(db, made.run_) == "interrupted"
    assert db.models[-1] == made.model_
    assert made.n_steps_ == 60


@pytest.mark.parametrize("step", ["_new_clauses", "_insert_parameters"])
def test_ctrl_c_while_a_template_is_expanded_keeps_the_clauses_of_earlier_windows(
    step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, calls = getattr(Program, step), []

    def pressed(*given: Any) -> None:
        calls.append(given)
        if len(calls) == 3:
            raise KeyboardInterrupt
        whole(*given)

    db = sqlrl.connect(progress=False)
    documents = [f"d{i:02}" for i in range(20)]
    db.load("Word", [(d, f"w{i // 5}") for i, d in enumerate(documents)], types=["doc", "word"], example="doc")
    db.load("Liked", [(d,) for d in documents[::2]], types=["doc"], target=True)
    made = sqlrl.AdaGrad(window=5)
    monkeypatch.setattr(Program, step, pressed)
    with pytest.raises(KeyboardInterrupt) as stop:
        made.fit(db, sqlrl.parse_mln("Word(doc, word)\nLiked(doc)\nWord(d, +w) => Liked(d)"))
    assert f"run {made.run_} is kept as interrupted" in "\n".join(stop.value.__notes__)
    assert db.models[-1] == made.model_
    assert made.clauses()["clause"] == [f'Word(d, "w{i}") => Liked(d)' for i in range(2)]
    counts = db.sql("select clause, n_observed from sqlrl.clause_statistics order by clause").fetchall()
    assert counts == [(0, 18), (1, 17)], "a word is in five documents, of which two or three are not liked"


def test_a_run_that_goes_on_and_is_stopped_at_once_keeps_its_model(monkeypatch: pytest.MonkeyPatch) -> None:
    case, save = CASES["adagrad"], RunOfLearner.save
    db = sqlrl.connect(progress=False)
    case.load(db)
    made = case.made()
    with pytest.raises(KeyboardInterrupt):
        made.fit(db, case.given(), checkpoint=True, callback=press(2))
    before = made.model_

    def pressed(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(RunOfLearner, "save", pressed)
    with pytest.raises(KeyboardInterrupt) as stop:
        case.made().fit(db, case.given(), resume=made.run_)
    assert f"resume={made.run_} goes on" in "".join(stop.value.__notes__)
    assert (status(db, made.run_), db.models[-1]) == ("interrupted", before)

    def saved_and_pressed(run: RunOfLearner, *given: Any) -> None:
        save(run, *given)
        raise KeyboardInterrupt

    monkeypatch.setattr(RunOfLearner, "save", saved_and_pressed)
    with pytest.raises(KeyboardInterrupt):
        case.made().fit(db, case.given(), resume=made.run_)
    monkeypatch.setattr(RunOfLearner, "save", save)
    found = case.made().fit(db, case.given(), resume=made.run_)
    assert found.steps_["step"].to_pylist() == list(range(60)), "no step is there twice"
    assert db.sql("select count(*), count(distinct step) from sqlrl.step").fetchall() == [(60, 60)]
    assert db.sql("select count(*) from sqlrl.model").fetchall() == [(1,)]


@pytest.mark.parametrize(
    ("name", "old"),
    [("adagrad", "on_window"), ("voted-perceptron", "on_iteration"), ("msl", "on_step"), ("ilp", "on_seed")],
)
def test_old_names_warn_and_work(name: str, old: str) -> None:
    case, told = CASES[name], list[StepReport]()
    db = sqlrl.connect(progress=False)
    case.load(db)
    with pytest.warns(FutureWarning, match=rf"fit\({old}=\) is deprecated, .* write callback="):
        case.made().fit(db, case.given(), **{old: told.append})
    assert told
    with pytest.raises(UnknownParameterError, match=f"{old}= and callback="):
        case.made().fit(db, case.given(), **{old: told.append, "callback": told.append})


def test_examples_by_position_warn_and_work() -> None:
    db = sqlrl.connect(progress=False)
    load_documents(db)
    names = [f"d{i:02}" for i in range(20)]
    with pytest.warns(FutureWarning, match="fit.. with examples by position is deprecated, .* write examples="):
        found = sqlrl.AdaGrad().fit(db, rules(), names)
    assert found.n_steps_ == 20


def test_a_share_of_a_fall() -> None:
    assert share_of_fall(1.0, 1.0, 1e-4) == 0.0
    assert share_of_fall(1.0, 1e-2, 1e-4) == pytest.approx(0.5)
    assert share_of_fall(1.0, 1e-9, 1e-4) == 1.0
    assert share_of_fall(1.0, 2.0, 1e-4) == 0.0
    assert share_of_fall(1e-5, 1e-6, 1e-4) is None
    assert share_of_fall(1.0, 0.0, 1e-4) is None
