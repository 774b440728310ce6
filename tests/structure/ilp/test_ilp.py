"""ILP over a database: what is learned, kept, stopped and refused."""

from __future__ import annotations

import csv
import json
import math
import os
import signal
import warnings
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import sqlrl
from sqlrl.errors import (
    BiasWarning,
    CatalogError,
    EngineError,
    GroundingLimitError,
    InputError,
    LoadError,
    ModelError,
    NothingFoundWarning,
    PassedOverWarning,
    UnsupportedError,
)
from sqlrl.ground.coverage import ComponentCounts, Coverage
from sqlrl.logic.components import BodyLiteral, Component
from sqlrl.logic.terms import And, Atom, Constant, Formula, Implies
from sqlrl.structure.ilp.commands import Induction, SeedReport
from sqlrl.structure.ilp.settings import ILPParameters
from tests.structure.ilp.test_search import BIASES, world
from tests.structure.ilp.worlds import PythonSource, covers

PARENTS = [
    ("Ann", "Bob"),
    ("Ann", "Eve"),
    ("Bob", "Cid"),
    ("Bob", "Dan"),
    ("Eve", "Fay"),
    ("Gus", "Hal"),
    ("Hal", "Ida"),
]
WOMEN = [("Ann",), ("Eve",), ("Fay",), ("Ida",)]
GRANDMOTHER = [("Ann", "Cid"), ("Ann", "Dan"), ("Ann", "Fay")]
FAMILY = """
:- set(i, 2).  :- set(noise, 0).
:- modeh(1, 'Grandmother'(+person,+person)).
:- modeb(*, 'Parent'(+person,-person)).
:- modeb(1, 'Woman'(+person)).
"""
THEORY = "Woman(p1) ^ Parent(p1, p3) ^ Parent(p3, p2) => Grandmother(p1, p2)"


def family(path: str | Path = ":memory:") -> sqlrl.Database:
    db = sqlrl.connect(path)
    db.load("Parent", PARENTS, types=["person", "person"])
    db.load("Woman", WOMEN, types=["person"])
    db.load("Grandmother", GRANDMOTHER, types=["person", "person"], target=True)
    return db


@cache
def home() -> sqlrl.Database:
    """A database that tests share: runs only add to it."""
    return family()


def literals(clause: str) -> frozenset[str]:
    body, head = clause.split(" => ")
    return frozenset([*body.split(" ^ "), head])


@pytest.fixture(scope="module")
def fitted() -> tuple[sqlrl.Database, sqlrl.ILP]:
    db = family()
    return db, sqlrl.ILP(sqlrl.parse_bias(FAMILY), noise=50, keep_above=0.1, keep_coverage=True).fit(db, "Grandmother")


def test_a_family_relation_is_found(fitted: tuple[sqlrl.Database, sqlrl.ILP]) -> None:
    fit = fitted[1]
    (row,) = fit.theory_.to_pylist()
    assert literals(row["clause"]) == literals(THEORY)
    # 3 of the 81 pairs of nine people are positive; the other grandparent, Gus, is a man.
    assert (row["positives"], row["negatives"]) == (3, 0)
    assert row["score"] == pytest.approx((3 + 3**0.5 * 3 / 81) / (3 + 3**0.5))
    assert row["seed"] in {f"Grandmother({a}, {b})" for a, b in GRANDMOTHER}
    assert len(fit.model_.rules) == len(fit.candidates_) > 1
    assert all(rule.weight is None and not rule.hard for rule in fit.model_.rules)
    assert fit.clauses().to_pylist()[0]["clause"] == row["clause"]
    assert repr(fit).startswith("ILP(bias=parse_bias(")
    assert "1 clause" in repr(fit)
    assert "Grandmother" in fit._repr_html_()


def test_what_was_found_is_in_the_database(fitted: tuple[sqlrl.Database, sqlrl.ILP]) -> None:
    db, fit = fitted
    shown = db.sql(
        "select clause, positives, negatives, score, p_value, seed, in_theory from sqlrl.found_clauses"
    ).fetchall()
    assert shown == [tuple(row.values()) for row in fit.clauses().to_pylist()]
    run, status, model, learner, parameters = db.sql(
        "select run, status, model, learner, parameters from sqlrl.run order by run desc limit 1"
    ).fetchall()[0]
    assert (run, status, learner) == (fit.run_, "done", "ILP")
    assert (json.loads(parameters)["noise"], json.loads(parameters)["depth"]) == (50, 2)
    assert sqlrl.parse_bias(json.loads(parameters)["bias"]) == fit.bias_
    assert sqlrl.models_equal(db.models[model], fit.model_)
    counted = db.sql(
        "select candidate, positives, negatives, (select count(*) from sqlrl.coverage v where v.run = c.run and v.candidate = "
        "c.candidate) from sqlrl.candidate c order by candidate"
    ).fetchall()
    assert all(positives + negatives == size for _, positives, negatives, size in counted)
    assert len(counted) == len(fit.candidates_)


@pytest.mark.slow
def test_only_the_theory_is_in_the_model_without_a_threshold() -> None:
    db = home()
    fit = sqlrl.ILP(sqlrl.parse_bias(FAMILY), command="induce_max").fit(db, "Grandmother")
    assert len(fit.model_.rules) == len(fit.theory_) == 1
    kept = db.sql(f"select count(distinct candidate), count(*) from sqlrl.coverage where run = {fit.run_}").fetchall()
    assert kept == [(1, 3)]
    # It is ready for a learner of weights.
    prediction = db.predict(sqlrl.AdaGrad(passes=30).fit(db, fit.model_).model_)
    assert {(row["person"], row["person_2"]) for row in prediction.table()} == set(GRANDMOTHER)


def test_rules_of_a_model_come_first() -> None:
    text = "Parent(person, person)\nWoman(person)\nGrandmother(person, person)\n!Grandmother(x, x)."
    model = sqlrl.parse_mln(text)
    db = sqlrl.connect()
    # Types come from the model.
    db.load("Parent", PARENTS)
    db.load("Woman", WOMEN)
    db.load("Grandmother", GRANDMOTHER, target=True)
    fit = sqlrl.ILP(sqlrl.parse_bias(FAMILY)).fit(db, model)
    assert fit.model_.rules[0] == model.rules[0]
    assert len(fit.model_.rules) == 2
    hard = db.sql("select text, hard from sqlrl.clause order by clause").fetchall()
    assert hard[0] == ("!Grandmother(x, x).", True)
    assert not hard[1][1]
    # Without a bias the target is the only open predicate.
    derived = sqlrl.ILP(noise=0).fit(db, model)
    assert derived.bias_.head.predicate == "Grandmother"


def test_a_bias_is_derived_from_types_and_keys() -> None:
    db = home()
    fit = sqlrl.ILP(noise=0).fit(db, "Grandmother")
    assert fit.bias_ == sqlrl.Bias.derive(db, "Grandmother")
    assert [(row["positives"], row["negatives"]) for row in fit.theory_.to_pylist()] == [(3, 0)]


def test_settings_of_a_file_apply_unless_given(tmp_path: Path) -> None:
    path = tmp_path / "family.modes"
    path.write_text(FAMILY + ":- set(clauselength, 3). :- set(nodes, 50). :- set(evalfn, laplace).", encoding="utf-8")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NothingFoundWarning)
        fit = sqlrl.ILP(path, nodes=60).fit(home(), "Grandmother")
    found = fit.parameters_
    assert (found.clause_length, found.nodes, found.noise, found.evaluation) == (3, 60, 0, "laplace")
    assert fit.theory_.num_rows == 0


def test_examples_choose_the_atoms() -> None:
    db = sqlrl.connect()
    words = [("d1", "good"), ("d2", "bad"), ("d3", "good"), ("d4", "bad"), ("d5", "good"), ("d6", "bad")]
    db.load("Word", words, types=["doc", "word"], example="doc")
    db.load("Liked", [("d1",), ("d3",), ("d6",)], types=["doc"], target=True)
    bias = sqlrl.parse_bias("modeh(1, 'Liked'(+doc)). modeb(*, 'Word'(+doc,#word)).")
    some = sqlrl.ILP(bias, noise=0).fit(db, "Liked", examples=["d1", "d2", "d3", "d4"])
    assert some.theory_.select(["clause", "positives", "negatives"]).to_pylist() == [
        {"clause": 'Word(d, "good") => Liked(d)', "positives": 2, "negatives": 0}
    ]


def loaded(source: PythonSource) -> sqlrl.Database:
    """The same world in a database; types are those of the bias."""
    db = sqlrl.connect()
    for mode in source.bias.body:
        types = [place.type for place in mode.places]
        if mode.predicate not in db.tables()["predicate"]:
            names = [tuple(map(str, fact)) for fact in sorted(source.facts[mode.predicate])]
            db.load(mode.predicate, names, types=types) if f"{mode.predicate}({', '.join(types)})" not in db.tables()[
                "predicate"
            ] else None
    positive = [tuple(map(str, t)) for t, label in zip(source.targets, source.labels, strict=True) if label]
    db.load("t", positive, types=[place.type for place in source.bias.head.places], target=True)
    db.scope("t", [tuple(map(str, t)) for t in source.targets])
    return db


def parts(formula: Formula) -> tuple[Atom, list[Atom]]:
    """Head and body of a clause."""
    if isinstance(formula, Atom):
        return formula, []
    assert isinstance(formula, Implies)
    assert isinstance(formula.right, Atom)
    body = formula.left.parts if isinstance(formula.left, And) else (formula.left,)
    return formula.right, [x for x in body if isinstance(x, Atom)]


def held_against(source: PythonSource, formula: Formula) -> set[tuple[str, ...]]:
    """The targets that a clause covers, by nested loops over its literals."""
    head, body = parts(formula)
    heads: dict[str, int] = {}
    terms: list[int] = []
    for i, term in enumerate(head.terms):
        terms.append(-1 - int(term.name) if isinstance(term, Constant) else heads.setdefault(term.name, i))
    names = {**heads}

    def number(term: object) -> int:
        if isinstance(term, Constant):
            return -1 - int(term.name)
        return names.setdefault(str(term), 100 + len(names))

    found = [BodyLiteral(source.predicates.index(x.predicate), tuple(map(number, x.terms))) for x in body]
    return {
        tuple(map(str, target))
        for target, covered in zip(source.targets, covers(source, terms, found), strict=True)
        if covered
    }


@pytest.mark.parametrize("name", BIASES)
def test_a_database_finds_what_nested_loops_find(name: str) -> None:
    source = world(name, 2)
    options: dict[str, object] = {
        "explore": True, "depth": 3, "nodes": 10**6, "min_positive": 1, "noise": 100, "keep_above": 0.45, "clause_length": 4,
        "command": "induce_max",
    }  # fmt: skip
    alone = Induction(source, source.bias, ILPParameters(**options))  # type: ignore[arg-type]
    alone.run()
    db = loaded(source)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NothingFoundWarning)
        warnings.simplefilter("ignore", BiasWarning)
        fit = sqlrl.ILP(source.bias, keep_coverage=True, **options).fit(db, "t")  # type: ignore[arg-type]
    assert fit.n_nodes_ == alone.nodes
    expected = sorted((x.positives, x.negatives) for x in alone.candidates)
    assert (
        sorted(zip(fit.candidates_["positives"].to_pylist(), fit.candidates_["negatives"].to_pylist(), strict=True))
        == expected
    )
    columns = ", ".join(f"d{i}.name" for i in range(source.bias.head.arity))
    joins = " ".join(
        f'join sqlrl."dictionary_{place.type}" d{i} on d{i}.id = a.a{i}'
        for i, place in enumerate(source.bias.head.places)
    )
    (table,) = db.sql("select atoms from sqlrl.predicate where predicate = 't'").fetchall()[0]
    rows = db.sql(
        f'select v.candidate, {columns} from sqlrl.coverage v join sqlrl."{table}" a using (atom) {joins}'
    ).fetchall()
    covered: dict[int, set[tuple[str, ...]]] = {}
    for candidate, *constants in rows:
        covered.setdefault(candidate, set()).add(tuple(constants))
    for number, rule in enumerate(fit.model_.rules):
        assert covered.get(number, set()) == held_against(source, rule.formula)


def stopped(at: int, seen: list[SeedReport]) -> object:
    def stop(report: SeedReport) -> None:
        seen.append(report)
        if len(seen) == at:
            raise KeyboardInterrupt

    return stop


@pytest.mark.slow
def test_ctrl_c_keeps_what_was_found(monkeypatch: pytest.MonkeyPatch) -> None:
    source = world("chain", 3, atoms=20)
    db = loaded(source)
    options = {
        "depth": 3,
        "min_positive": 1,
        "min_score": 0.5,
        "noise": 100,
        "keep_above": 0.5,
        "command": "induce_max",
        "above_seed": False,
    }
    whole = sqlrl.ILP(source.bias, **options).fit(db, "t")  # type: ignore[arg-type]
    seen: list[SeedReport] = []
    fit = sqlrl.ILP(source.bias, **options)  # type: ignore[arg-type]
    with pytest.raises(KeyboardInterrupt) as stop:
        fit.fit(db, "t", callback=stopped(2, seen))  # type: ignore[arg-type]
    assert f"run {whole.run_ + 1} is kept as interrupted, with the best clauses up to seed 2" in stop.value.__notes__[0]
    assert fit.interrupted_
    assert len(fit.theory_) == seen[-1].theory
    run, status, model = db.sql("select run, status, model from sqlrl.run order by run desc limit 1").fetchall()[0]
    assert (run, status) == (whole.run_ + 1, "interrupted")
    kept = db.sql(
        "select clause from sqlrl.candidate where run = (select max(run) from sqlrl.run) order by candidate"
    ).fetchall()
    assert 0 < len(kept) == seen[-1].candidates < len(whole.candidates_)
    assert [row[0] for row in kept] == whole.candidates_["clause"].to_pylist()[: len(kept)]
    assert len(db.models[model].rules) == len(kept)
    # The same in the middle of a seed: nothing of that seed is kept, and the database goes on.
    original = Coverage.evaluate

    def interrupted(self: Coverage, layer: Sequence[Component], *, keep: bool = True) -> ComponentCounts:
        if len(seen) == 3:
            os.kill(os.getpid(), signal.SIGINT)
        return original(self, layer, keep=keep)

    monkeypatch.setattr(Coverage, "evaluate", interrupted)
    with pytest.raises(KeyboardInterrupt):
        fit.fit(db, "t", callback=stopped(0, seen))  # type: ignore[arg-type]
    (found,) = db.sql("select count(*) from sqlrl.candidate where run = (select max(run) from sqlrl.run)").fetchall()
    assert found == (seen[-1].candidates,)
    assert db.sql("select status from sqlrl.run order by run desc limit 1").fetchall() == [("interrupted",)]
    monkeypatch.undo()
    again = sqlrl.ILP(source.bias, **options).fit(db, "t")  # type: ignore[arg-type]
    assert again.candidates_ == whole.candidates_


# ---- bad input -------------------------------------------------------------------------------------------------


def refused(
    bias: str,
    *,
    target: object = "Grandmother",
    db: sqlrl.Database | None = None,
    kind: type[Exception] = InputError,
    **options: object,
) -> str:
    with pytest.raises(kind) as caught:
        sqlrl.ILP(sqlrl.parse_bias(bias), **options).fit(db or home(), target)  # type: ignore[arg-type]
    return str(caught.value)


def test_a_target_needs_both_kinds_of_atoms() -> None:
    db = family()
    db.scope("Grandmother", GRANDMOTHER)
    assert "3 positive atoms and no negative one" in refused(FAMILY, db=db)
    assert "db.scope('Grandmother', ...)" in refused(FAMILY, db=db)
    assert "check examples=" in refused(FAMILY, db=db)
    db.scope("Grandmother", [("Bob", "Ann")])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert "1 negative atom and no positive one" in refused(FAMILY, db=db)


def test_contradictory_labels_are_refused_when_they_are_loaded() -> None:
    db = sqlrl.connect()
    with pytest.raises(LoadError):
        db.load("P", [("a", "1"), ("a", "0")], types=["x"], columns=[0], truth=1, target=True)


def test_recursive_modes_are_refused_by_name() -> None:
    words = refused(FAMILY + ":- modeb(*, 'Grandmother'(+person,-person)).", kind=UnsupportedError)
    assert "<text>:6: the mode *, Grandmother(+person,-person) would put the target Grandmother into bodies" in words
    assert "ILP learns no recursive clauses" in words
    assert (
        "use OSL; or add one, such as transitivity, to the model that ILP learns, and learn the weights with MaxMargin"
        in words
    )


@pytest.mark.parametrize(
    ("bias", "words"),
    [
        (FAMILY.replace("'Woman'(+person)", "woman(+person)"), "there is no predicate 'woman'; did you mean 'Woman'?"),
        (FAMILY.replace("(+person)).", "(+person,+person))."), "has 2 places, but the predicate has 1 argument"),
        ("modeh(1, 'Grandmother'(+person,+person)). modeb(*, 'Woman'(+man)).", "the modes reach nothing from the head"),
    ],
)
def test_modes_that_do_not_fit_are_refused(bias: str, words: str) -> None:
    with pytest.raises((ModelError, CatalogError)) as caught:
        sqlrl.ILP(sqlrl.parse_bias(bias)).fit(home(), "Grandmother")
    assert words in str(caught.value)


def test_modes_that_reach_nothing_are_warned_of() -> None:
    bias = FAMILY.replace("'Woman'(+person)", "'Woman'(+woman)")
    with pytest.warns(BiasWarning, match="do not reach 1 predicate at depth 2"):
        sqlrl.ILP(sqlrl.parse_bias(bias), noise=5, min_score=0.1, above_seed=False).fit(home(), "Grandmother")


def test_wrong_targets_are_refused() -> None:
    assert "are for Grandmother, not for Woman" in refused(FAMILY, target="Woman")
    assert "the target is 3: give the name of a predicate" in refused(FAMILY, target=3)
    with pytest.raises(CatalogError, match="there is no predicate 'Grandfather'"):
        sqlrl.ILP().fit(home(), "Grandfather")
    text = "Parent(person, person)\nWoman(person)\n"
    with pytest.raises(InputError, match="which predicate of the model is to be learned"):
        sqlrl.ILP().fit(home(), sqlrl.parse_mln(text))
    with pytest.raises(InputError, match=r"bias=3: give what sqlrl\.parse_bias returns"):
        sqlrl.ILP(3).fit(home(), "Grandmother")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="clause_length=0"):
        sqlrl.ILP(clause_length=0).fit(home(), "Grandmother")


HUB = """
:- modeh(1, 'Wins'(+x)).
:- modeb(*, 'Has'(+x,-y)).
:- modeb(1, 'Kind'(+y,#kind)).
"""


def hub() -> sqlrl.Database:
    """Twelve of the atoms have two things each, the last one has forty."""
    db, some = sqlrl.connect(), [f"a{i:02}" for i in range(12)]
    things = [(x, f"{x}_{i}") for x in some for i in range(2)] + [("z", f"z_{i}") for i in range(40)]
    db.load("Has", things, types=["x", "y"])
    db.load("Kind", [(f"{x}_1", f"k{i % 2}") for i, x in enumerate(some)], types=["y", "kind"])
    db.load("Wins", [(x,) for x in some[::2]] + [("z",)], types=["x"], target=True)
    return db


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        ({"bottom_limit": 20}, "a bottom clause has 40 literals, more than the limit of 20"),
        ({"limit": 30}, "the mode *, Has(+x,-y) explodes: at depth 1 it reaches 40 facts around 1 atom"),
    ],
)
def test_a_seed_that_is_too_large_is_passed_over(limits: dict[str, int], words: str) -> None:
    with pytest.warns(
        PassedOverWarning, match="1 positive atom of 2 that were to be seeds were passed over; of the"
    ) as caught:
        fit = sqlrl.ILP(sqlrl.parse_bias(HUB), min_score=0, noise=0, above_seed=False, **limits).fit(hub(), "Wins")
    assert words in str(caught[0].message)
    assert fit.theory_["clause"].to_pylist() == ['Has(x, y) ^ Kind(y, "k0") => Wins(x)']
    assert fit.theory_["positives"].to_pylist() == [6]
    assert fit.n_seeds_ == 1


def test_a_theory_defines_what_it_covers() -> None:
    db = family()
    fit = sqlrl.ILP(sqlrl.parse_bias(FAMILY), noise=0, min_score=0, above_seed=False).fit(db, "Grandmother")
    assert fit.theory_.num_rows
    db.define(fit.definitions("Found"))
    atoms = db.sql(f"select count(distinct atom) from sqlrl.coverage where run = {fit.run_}").fetchall()[0][0]
    assert db.sql("select count(*) from sqlrl.named_Found").fetchall() == [(atoms,)]
    loose = sqlrl.ILP(sqlrl.parse_bias(FAMILY), noise=99, clause_length=1, min_score=0, above_seed=False)
    with pytest.raises(ModelError, match="says nothing of p1, p2, so that it defines"):
        loose.fit(home(), "Grandmother").definitions("Found")


def test_seeds_that_nodes_cut_off_are_counted() -> None:
    bias = sqlrl.parse_bias(HUB)
    options: dict[str, Any] = {"min_score": 0.0, "noise": 0, "above_seed": False, "clause_length": 3}
    assert sqlrl.ILP(bias, **options).fit(hub(), "Wins").n_cut_ == 0
    with pytest.warns(NothingFoundWarning):
        fit = sqlrl.ILP(bias, nodes=2, **options).fit(hub(), "Wins")
    assert fit.n_cut_ == fit.n_seeds_ == 7


def test_a_run_that_fails_keeps_what_it_found(monkeypatch: pytest.MonkeyPatch) -> None:
    db, take = hub(), Induction._take

    def failing(induction: Induction, *args: Any) -> Any:
        if induction.seeds == 2:
            raise EngineError("count", "the disk is full", "SELECT 1")
        return take(induction, *args)

    monkeypatch.setattr(Induction, "_take", failing)
    with pytest.raises(EngineError) as caught:
        sqlrl.ILP(sqlrl.parse_bias(HUB), min_score=0, above_seed=False, command="induce_max").fit(db, "Wins")
    assert "run 1 is kept as failed, with the best clauses up to seed 2" in caught.value.__notes__[0]
    assert db.sql("select status from sqlrl.run").fetchall() == [("failed",)]
    assert db.sql("select count(*) from sqlrl.candidate").fetchall()[0][0] > 0


def test_a_bottom_clause_that_explodes_names_its_mode() -> None:
    words = refused(FAMILY, bottom_limit=3, kind=GroundingLimitError)
    assert "a bottom clause has" in words
    assert "from the mode *, Parent(+person,-person)" in words


def test_clauses_that_explode_are_passed_over_and_others_are_found() -> None:
    """Few facts around the only positive atom; elsewhere everybody knows and likes everybody, which is too many to join."""
    people = [f"P{i}" for i in range(12)]
    crowd = [(a, b) for a in people[3:] for b in people[3:]]
    db = sqlrl.connect()
    db.load("Knows", [*crowd, ("P0", "P1")], types=["person", "person"])
    db.load("Likes", [*crowd, ("P1", "P2")], types=["person", "person"])
    db.load("Tall", [("P0",)], types=["person"])
    db.load("Wins", [("P0",)], types=["person"], target=True)
    modes = "modeb(*,'Knows'(+person,-person)). modeb(*,'Likes'(+person,-person)). modeb(*,'Tall'(+person))."
    bias = sqlrl.parse_bias("modeh(1,'Wins'(+person)). " + modes)
    with pytest.warns(PassedOverWarning, match="1 part of their bodies could not be evaluated") as caught:
        fit = sqlrl.ILP(
            bias, limit=60, depth=2, clause_length=3, min_positive=1, min_score=0, above_seed=False, explore=True
        ).fit(db, "Wins")
    assert fit.theory_["clause"].to_pylist() == ["Tall(p) => Wins(p)"]
    text = str(caught[0].message)
    assert "explodes in the body" in text
    assert "it has 82 bindings at 12 target atoms, more than the limit of 60" in text
    assert text.endswith("or raise limit=")


def test_what_stopped_clauses_is_said() -> None:
    with pytest.warns(NothingFoundWarning, match=r"min_positive=4 stopped most \(\d+[^']*$"):
        fit = sqlrl.ILP(sqlrl.parse_bias(FAMILY), min_positive=4).fit(home(), "Grandmother")
    assert fit.theory_.num_rows == fit.candidates_.num_rows == 0
    assert fit.model_.rules == ()
    with pytest.warns(
        NothingFoundWarning, match="min_score=3 stopped most.*Where labels are noisy command='rank' takes"
    ):
        sqlrl.ILP(sqlrl.parse_bias(FAMILY), min_score=3, noise=100).fit(home(), "Grandmother")
    with pytest.warns(NothingFoundWarning, match="met as many clauses as nodes=3 allows: raise nodes, or change"):
        sqlrl.ILP(sqlrl.parse_bias(FAMILY), noise=0, nodes=3).fit(home(), "Grandmother")


def test_modes_that_reach_no_fact_are_named_and_not_a_threshold() -> None:
    db = home()
    db.load("Size", [("Nobody", "1")], types=["person", "number"])
    bias = sqlrl.parse_bias("modeh(1,'Grandmother'(+p,+p)). modeb(*,'Size'(+p,-number)).")
    with pytest.warns(
        NothingFoundWarning, match="the modes reach no fact at all. Check that the facts of Size name"
    ) as caught:
        fit = sqlrl.ILP(bias).fit(db, "Grandmother")
    assert "min_score" not in str(caught[0].message)
    # What was not found cannot be weighted, and the message speaks of it.
    with pytest.raises(
        InputError, match="the model has no rules with a weight to learn, so Likelihood has nothing to learn"
    ):
        sqlrl.Likelihood().fit(db, fit.model_)


def test_the_model_says_what_was_learned_also_where_facts_were_loaded_as_evidence() -> None:
    db = sqlrl.connect()
    db.load("Parent", [("Ann", "Bob"), ("Bob", "Cid"), ("Bob", "Dan")], types=["person", "person"])
    db.load("Grandparent", [("Ann", "Cid"), ("Ann", "Dan")], types=["person", "person"])
    found = sqlrl.ILP(significance=1).fit(db, "Grandparent", examples=None)
    assert sqlrl.Likelihood().fit(db, found.model_).weights_.shape == (len(found.model_.rules),)


def test_an_open_predicate_in_a_body_is_named_as_open() -> None:
    db = home()
    db.load("Liked", [("Ann",)], types=["person"], target=True)
    words = refused("modeh(1,'Grandmother'(+p,+p)). modeb(*,'Liked'(+p)).", db=db, kind=CatalogError)
    assert "Liked is open, and a body has closed predicates only" in words


def test_a_read_only_database_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "family.duckdb"
    family(path).close()
    db = sqlrl.connect(path, read_only=True)
    with pytest.raises(CatalogError, match="read-only"):
        sqlrl.ILP(sqlrl.parse_bias(FAMILY)).fit(db, "Grandmother")


# ---- real data -------------------------------------------------------------------------------------------------

DATA = Path(os.environ.get("SQLRL_DATA", Path(__file__).parents[3].parent / "shared" / "data")) / "alzheimers"


@pytest.mark.skipif(not DATA.is_dir(), reason="the Alzheimer's data are not there")
def test_a_slice_of_the_drugs() -> None:
    """Antisymmetric facts about the drugs tell their order: pairs of one drug, b1, with all others."""
    bias = sqlrl.read_bias(DATA / "toxic.modes")
    few = ("alk_groups", "ring_substitutions", "gt")
    modes = [f":- modeb({mode})." for mode in bias.body if mode.predicate in few]
    bias = sqlrl.parse_bias("\n".join([f":- modeh({bias.head}).", *modes]))
    db = sqlrl.connect()
    for mode in bias.body:
        db.load(mode.predicate, DATA / "background" / f"{mode.predicate}.csv", types=[x.type for x in mode.places])
    with (DATA / "toxic.csv").open(newline="", encoding="utf-8") as lines:
        rows = [row for row in csv.DictReader(lines) if "b1" in (row["drug1"], row["drug2"])]
    pairs: Sequence[tuple[str, str]] = [(row["drug1"], row["drug2"]) for row in rows]
    positive = [pair for pair, row in zip(pairs, rows, strict=True) if row["label"] == "1"]
    db.load("less_toxic", positive, types=["a", "a"], target=True)
    db.scope("less_toxic", pairs)
    fit = sqlrl.ILP(bias, clause_length=4, keep_above=0.6, above_seed=False).fit(db, "less_toxic")
    assert len(positive) * 2 == len(pairs)
    facts = {}
    for mode in bias.body:
        with (DATA / "background" / f"{mode.predicate}.csv").open(newline="", encoding="utf-8") as lines:
            facts[mode.predicate] = {tuple(row) for row in list(csv.reader(lines))[1:]}

    def holds(body: list[Atom], known: dict[str, str]) -> bool:
        if not body:
            return True
        first, *rest = body
        for fact in facts[first.predicate]:
            new = dict(known)
            fits = all(new.setdefault(term.name, value) == value for term, value in zip(first.terms, fact, strict=True))
            if fits and holds(rest, new):
                return True
        return False

    assert len(fit.candidates_) > 5
    for row, rule in zip(fit.candidates_.to_pylist(), fit.model_.rules, strict=True):
        head, body = parts(rule.formula)
        names = [term.name for term in head.terms]
        covered = {pair for pair in pairs if holds(body, dict(zip(names, pair, strict=True)))}
        assert (row["positives"], row["negatives"]) == (len(covered & set(positive)), len(covered - set(positive)))


def test_a_file_with_several_heads_is_read_for_the_target(tmp_path: Path) -> None:
    path = tmp_path / "two.modes"
    path.write_text(f"{FAMILY}\n:- modeh(1, 'Woman'(+person)).\n", encoding="utf-8")
    fit = sqlrl.ILP(path, noise=50).fit(home(), "Grandmother")
    assert fit.bias_.head.predicate == "Grandmother"
    with pytest.raises(sqlrl.errors.ParseError, match="no modeh of the target 'Parent'"):
        sqlrl.ILP(path).fit(home(), "Parent")


def test_facts_that_no_seed_meets_are_named() -> None:
    db = sqlrl.connect()
    db.load("Size", [(x, "big") for x in "abce"], types=["thing", "size"])
    db.load("Weight", [(x, "heavy") for x in "ABCE"], types=["thing", "weight"])
    db.load("Good", [("a",), ("b",)], types=["thing"], target=True)
    bias = sqlrl.parse_bias(
        "modeh(1, 'Good'(+thing)). modeb(*, 'Size'(+thing,#size)). modeb(*, 'Weight'(+thing,#weight))."
    )
    with pytest.warns(BiasWarning, match=r"no fact of Weight was met from any seed, so [^:]*:\n  \*, Weight") as caught:
        sqlrl.ILP(bias, min_score=0.1, above_seed=False).fit(db, "Good")
    assert len(caught) == 1
    db.load("Weight", [(x, "heavy") for x in "abce"])
    sqlrl.ILP(bias, min_score=0.1, above_seed=False).fit(db, "Good")


def test_there_may_be_no_least_score() -> None:
    bias = sqlrl.parse_bias(FAMILY + ":- set(minscore, -inf).")
    options: dict[str, object] = {"evaluation": "coverage", "noise": 100, "above_seed": False}
    fit = sqlrl.ILP(bias, **options).fit(home(), "Grandmother")  # type: ignore[arg-type]
    assert fit.parameters_.min_score == -math.inf
    assert fit.theory_.num_rows > 0
    stored = home().sql(f"select parameters ->> 'min_score' from sqlrl.run where run = {fit.run_}").fetchall()
    assert stored == [("-Infinity",)]


def test_induce_does_not_stop_at_what_covers_the_rest() -> None:
    # C covers the first ten; A and B the other eight, each with some negative atoms, and none together.
    db = sqlrl.connect()
    good, bad = [f"g{i:02}" for i in range(18)], [f"n{i:02}" for i in range(18)]
    db.load("C", [(x,) for x in good[:10]], types=["t"])
    db.load("A", [(x,) for x in good[10:] + bad[:1]], types=["t"])
    db.load("B", [(x,) for x in good[10:] + bad[1:]], types=["t"])
    db.load("T", [(x,) for x in good], types=["t"], target=True)
    bias = sqlrl.parse_bias("modeh(1, 'T'(+t)). modeb(1, 'A'(+t)). modeb(1, 'B'(+t)). modeb(1, 'C'(+t)).")
    for command in ("induce", "induce_cover"):
        fit = sqlrl.ILP(bias, command=command, significance=1).fit(db, "T")  # type: ignore[arg-type]
        assert fit.theory_["clause"].to_pylist() == ["C(t) => T(t)", "A(t) ^ B(t) => T(t)"]
