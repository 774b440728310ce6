"""Theories that rank atoms: against definitions, against scipy's optimiser, against all clauses of small worlds, and on generated links."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import pytest
from relations import Relations, generate_relations
from scipy import sparse
from scipy.optimize import minimize
from sparse_relations import made_by

import sqlrl
from sqlrl.errors import LittleFoundWarning
from sqlrl.logic.components import BodyLiteral, Components, constant
from sqlrl.logic.formulas import parse_formula
from sqlrl.structure.ilp import beam as beam_module
from sqlrl.structure.ilp.beam import Beam
from sqlrl.structure.ilp.bottom import BottomClauses
from sqlrl.structure.ilp.clauses import as_rules
from sqlrl.structure.ilp.commands import SeedReport
from sqlrl.structure.ilp.covers import Covers, Forms, packed
from sqlrl.structure.ilp.ranking import CONSTANT, LITERAL, RIDGE, costs, gains, rank
from sqlrl.structure.ilp.scores import Scorer
from sqlrl.structure.ilp.search import ClauseRefiner, Judge, run_together
from sqlrl.structure.ilp.settings import ILPParameters, resolved
from tests.structure.ilp.brute import all_bodies, bottom_clause, form
from tests.structure.ilp.test_search import BIASES, form_of, world
from tests.structure.ilp.worlds import covers


def log_likelihood(labels: list[bool]) -> float:
    share = sum(labels) / max(len(labels), 1)
    return sum(math.log(share if x else 1 - share) for x in labels)


@pytest.mark.parametrize(("positives", "negatives"), [(3, 0), (3, 5), (0, 4), (0, 0), (1, 19), (6, 25), (6, 0)])
def test_a_gain_is_what_two_shares_say_beyond_one(positives: int, negatives: int) -> None:
    inside = [True] * positives + [False] * negatives
    outside = [True] * (6 - positives) + [False] * (25 - negatives)
    expected = log_likelihood(inside) + log_likelihood(outside) - log_likelihood(inside + outside)
    assert gains([positives], [negatives], 6, 25)[0] == pytest.approx(expected, abs=1e-12)


def test_a_constant_costs_more_the_more_there_are() -> None:
    plain = [(BodyLiteral(0, (0, 2)), BodyLiteral(1, (2, 1)))]
    few = [[(BodyLiteral(2, (0, constant(k))),)] for k in range(2)]
    many = [[(BodyLiteral(3, (constant(k), 1)), BodyLiteral(0, (0, 1)))] for k in range(9)]
    found = costs([plain, *few, *many])
    expected = [2 * LITERAL, *[LITERAL + CONSTANT * math.log(2)] * 2, *[2 * LITERAL + CONSTANT * math.log(9)] * 9]
    assert found.tolist() == pytest.approx(expected)


def penalised(columns: np.ndarray[Any, Any], label: np.ndarray[Any, Any]) -> float:
    """The greatest log-likelihood of a logistic model less its penalty, by an optimiser that knows no Newton step of ours."""

    def loss(w: np.ndarray[Any, Any]) -> float:
        z = columns @ w
        return float(np.logaddexp(0, z).sum() - label @ z + 0.5 * RIDGE * (w[1:] ** 2).sum())

    return -float(minimize(loss, np.zeros(columns.shape[1]), method="BFGS", options={"gtol": 1e-9}).fun)


@pytest.mark.parametrize("seed", range(3))
def test_a_theory_grows_by_what_an_optimiser_says_it_gains(seed: int) -> None:
    draw = np.random.default_rng(seed)
    cover = draw.random((9, 240)) < draw.uniform(0.05, 0.5, size=(9, 1))
    chance = 0.02 + 0.4 * cover[0] + 0.2 * cover[4] * (1 - cover[0])
    truth = draw.random(240) < chance
    cost = draw.uniform(0.2, 2.0, size=9)
    found = rank(sparse.csr_matrix(cover.astype(float)), truth, cost)
    columns, before, label = np.ones((240, 1)), log_likelihood(truth.tolist()), truth.astype(float)
    # The first one gains most of all beyond its cost; nearly, as weights have a penalty.
    first = [penalised(np.column_stack([columns, cover[i]]), label) - before - cost[i] for i in range(9)]
    assert first[found.places[0]] >= max(first) - 0.1
    for place, score in zip(found.places, found.scores, strict=True):
        columns = np.column_stack([columns, cover[place]])
        after = penalised(columns, label)
        assert score == pytest.approx(after - before - cost[place], abs=1e-4)
        assert score > 0
        before = after
    # What is left may gain a little more than it costs once the weights of others are learned anew with its own.
    for i in set(range(9)) - set(found.places):
        both = np.column_stack([columns, cover[i]])
        weight = minimize(
            lambda w, x=both: float(np.logaddexp(0, x @ w).sum() - label @ (x @ w)), np.zeros(both.shape[1])
        ).x[-1]
        assert weight < 0 or penalised(both, label) - before <= cost[i] + 0.5


@pytest.mark.parametrize("name", BIASES)
@pytest.mark.parametrize("seed", range(3))
def test_a_wide_beam_finds_every_clause(name: str, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(beam_module, "WIDTH", 10**6)
    monkeypatch.setattr(beam_module, "INSTANCES", 10**6)
    source = world(name, seed)
    place = int(np.flatnonzero(source.truth)[0])
    # Literals need not pay here: the demand is on pairs of clauses.
    parameters = ILPParameters(
        command="rank", depth=2, clause_length=4, min_positive=1, noise=4, min_accuracy=0.3, min_score=-1e300, nodes=10**6
    )  # fmt: skip
    facts = source.saturate(np.array([place]), 2)
    bottom = BottomClauses(source.bias, source.predicates, 1000).of(facts, 0, source.arguments[place])
    truth, known, scorer = source.truth, Covers(source), Scorer("auto_m", 0.5)
    judge = Judge(packed(truth[None])[0], packed(~truth[None])[0], int(truth.sum()), scorer, scorer, parameters)
    head = packed(np.array([covers(source, bottom.head, [])]))[0]
    forms = Forms(Components(source.bias.head.arity), max(mode.arity for mode in source.bias.body))
    (outcome,) = run_together(known, [Beam(ClauseRefiner(bottom, known, forms), judge, head).run()])
    by_hand = bottom_clause(source, place, 2)
    expected = {}
    for body in all_bodies(by_hand, 3):
        literals = [by_hand.literals[i] for i in body]
        covered = covers(source, by_hand.head, literals)
        p, n = (sum(c and t == kind for c, t in zip(covered, source.labels, strict=True)) for kind in (True, False))
        has = by_hand.start.union(*({t for t in x.terms if t >= 0} for x in literals))
        if body and n <= 4 and p >= 0.3 * (p + n) and by_hand.wanted <= has:
            expected[form(by_hand.head, literals, source.bias.head.arity)] = (p, n)
    assert {
        form_of(met, known, bottom.head): (met.positives, met.negatives) for met in outcome.kept_clauses
    } == expected
    assert len(outcome.kept_clauses) == len(expected)


# ---- which command it is, and its thresholds -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "settings", "positives", "negatives", "command"),
    [
        ({}, {}, 97, 14_216, "rank"),
        ({"depth": 3, "clause_length": 4, "nodes": 10}, {"i": 2}, 97, 14_216, "rank"),
        ({}, {}, 300, 300, "induce_cover"),
        ({}, {}, 5, 14_216, "induce_cover"),
        ({"noise": 300}, {}, 97, 14_216, "induce_cover"),
        ({"min_score": 0.6}, {}, 97, 14_216, "induce_cover"),
        ({"keep_above": 0.3}, {}, 97, 14_216, "induce_cover"),
        ({"above_seed": False}, {}, 97, 14_216, "induce_cover"),
        ({}, {"minpos": 2}, 97, 14_216, "induce_cover"),
        ({"command": "induce_max"}, {}, 97, 14_216, "induce_max"),
        ({"command": "rank"}, {}, 300, 300, "rank"),
    ],
)
def test_sparse_targets_are_ranked_unless_something_is_said(
    given: dict[str, Any], settings: dict[str, Any], positives: int, negatives: int, command: str
) -> None:
    found = resolved(given, settings, positives, negatives)
    assert found.command == command
    if command != "rank":
        expected = {"noise": 300, "min_score": 0.6, "min_accuracy": 0.0, "min_positive": 2, **given}
        assert all(getattr(found, name) == value for name, value in expected.items())
        return
    share = positives / (positives + negatives)
    assert found.min_accuracy == pytest.approx(1.5 * share)
    # A clause that covers all positive atoms may have as many negative ones as that accuracy allows, and no more.
    assert positives / (positives + found.noise) >= found.min_accuracy
    assert positives / (positives + found.noise + 1) < found.min_accuracy


# ---- generated links -----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def linked() -> sqlrl.Database:
    """A database that tests share: runs only add to it."""
    return generate_relations(3, areas=3, staff=8, pupils=24).load()


@pytest.fixture(scope="module")
def ranked(linked: sqlrl.Database) -> tuple[sqlrl.Database, sqlrl.ILP]:
    db = linked
    return db, sqlrl.ILP(nodes=300, clause_length=4, significance=1.0).fit(db, "Guides", examples=["area0", "area1"])


@pytest.mark.slow
def test_defaults_rank_a_sparse_link(ranked: tuple[sqlrl.Database, sqlrl.ILP]) -> None:
    fit = ranked[1]
    assert fit.parameters_.command == "rank"
    strongest = fit.theory_.to_pylist()[0]["clause"]
    # What made most of the links: a pupil and one of the staff wrote together.
    assert "Wrote(t, p1) ^ Wrote(t, p2)" in strongest.replace("t1", "t").replace("t2", "t")
    # Weights are learned with that of all pairs, and no clause counts twice where two facts make its body true.
    first, *others = fit.model_.rules
    assert (str(first.formula), first.weight) == ("Guides(p1, p2)", 0.0)
    assert len(others) == len(fit.theory_)
    assert all(row["score"] > 0 for row in fit.theory_.to_pylist())


@pytest.mark.slow  # a search of all clauses of four literals; smaller ones are held against enumeration above
def test_clauses_cover_what_their_horn_rules_define(ranked: tuple[sqlrl.Database, sqlrl.ILP]) -> None:
    """What quantified bodies cover, against rules that the database evaluates in another way."""
    db, fit = ranked
    both = [
        row
        for row in fit.theory_.to_pylist()
        if "p1" in row["clause"].split("=>")[0] and "p2" in row["clause"].split("=>")[0]
    ]
    assert any("EXIST" in row["clause"] for row in both)
    for k, row in enumerate(both):
        db.define(as_rules([parse_formula(row["clause"])], f"May{k}"))
        (count,) = db.sql(f"select count(*) from sqlrl.named_May{k} where example in ('area0', 'area1')").fetchall()[0]
        assert count == row["positives"] + row["negatives"]


@pytest.mark.slow
def test_a_learned_ranking_comes_near_that_of_the_rules_that_made_the_link(
    ranked: tuple[sqlrl.Database, sqlrl.ILP],
) -> None:
    relations = generate_relations(3, areas=3, staff=8, pupils=24)
    db, fit = ranked
    found = [precision_of(relations, db, model) for model in (fit.model_, made_by(relations))]
    prior = len(relations.areas["area2"]["Guides"]) / len(relations.pairs("area2"))
    assert found[0] > 10 * prior
    assert found[0] > 0.7 * found[1]


def precision_of(relations: Relations, db: sqlrl.Database, model: sqlrl.Model) -> float:
    """Average precision on the area that is left out, by its definition."""
    fit = sqlrl.Likelihood("l2", 1.0).fit(db, model, examples=["area0", "area1"])
    rows = db.probabilities(fit.model_, examples=["area2"]).probabilities().to_pylist()
    labels = set(relations.areas["area2"]["Guides"])
    scored = [(row["probability"], (row["person"], row["person_2"]) in labels) for row in rows]
    assert sum(true for _, true in scored) == len(labels)
    found = []
    for score, true in scored:
        if true:
            above = [label for other, label in scored if other >= score]
            found.append(sum(above) / len(above))
    return sum(found) / len(found)


def test_a_search_that_is_stopped_ranks_with_what_it_has(linked: sqlrl.Database) -> None:
    seen: list[SeedReport] = []

    def stop(report: SeedReport) -> None:
        seen.append(report)
        if len(seen) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sqlrl.ILP(nodes=30, clause_length=3).fit(linked, "Guides", callback=stop)
    assert seen[-1].candidates > 0
    assert seen[-1].theory == 0
    (count, status) = linked.sql(
        "select count(*), any_value(status) from sqlrl.candidate join sqlrl.run using (run)"
        " where run = (select max(run) from sqlrl.run)"
    ).fetchall()[0]
    assert count > 0
    assert status == "interrupted"


def test_candidates_are_kept_besides_a_ranking_theory(linked: sqlrl.Database) -> None:
    fit = sqlrl.ILP(command="rank", nodes=20, clause_length=3, keep_above=0.05).fit(linked, "Guides")
    rows = fit.candidates_.to_pylist()
    kept = [row for row in rows if not row["in_theory"]]
    assert kept
    truth = sum(len(facts["Guides"]) for facts in generate_relations(3, areas=3, staff=8, pupils=24).areas.values())
    prior = truth / (3 * 32 * 32)
    for row in kept:
        n = row["positives"] + row["negatives"]
        assert (row["positives"] + math.sqrt(n) * prior) / (n + math.sqrt(n)) > 0.05
    assert len(fit.model_.rules) == 1 + len(rows)


def test_a_unit_clause_that_the_model_has_is_not_added_again(linked: sqlrl.Database) -> None:
    relations = generate_relations(3, areas=3, staff=8, pupils=24)
    declared = "\n".join(f"{name}({', '.join(types)})" for name, types in relations.types.items())
    model = sqlrl.parse_mln(f"{declared}\n0.5 Guides(x, y)", query=("Guides",))
    fit = sqlrl.ILP(nodes=20, clause_length=3).fit(linked, model)
    assert fit.model_.rules[0] == model.rules[0]
    assert len(fit.model_.rules) == 1 + len(fit.theory_)


TEN = [f"x{k}" for k in range(10)]
"""Positive atoms: four are good, which no negative one is, and the others fair, which eight of thirty negative ones are."""


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"noise": 3, "min_score": 0.1}, ["noise=3 stopped most (", "; raise noise"]),
        ({"min_score": 0.7}, ["min_score=0.7 stopped most (", "; lower min_score"]),
        ({"min_accuracy": 0.9, "min_score": 0.1}, ["min_accuracy=0.9 stopped most (", "; lower min_accuracy"]),
        ({"min_score": 0.1, "above_seed": True}, ["above_seed=True stopped most (", "; set above_seed=False"]),
    ],
)
def test_a_theory_that_covers_little_names_what_to_change(given: dict[str, Any], words: list[str]) -> None:
    db = sqlrl.connect()
    db.load("Good", [(x,) for x in TEN[:4]], types=["thing"])
    db.load("Fair", [(x,) for x in [*TEN[4:], *(f"y{k}" for k in range(8))]], types=["thing"])
    db.load("Known", [(x,) for x in [*TEN, *(f"y{k}" for k in range(30))]], types=["thing"])
    db.load("Liked", [(x,) for x in TEN], types=["thing"], target=True)
    bias = sqlrl.parse_bias("modeh(1, 'Liked'(+thing)). modeb(1, 'Good'(+thing)). modeb(1, 'Fair'(+thing)).")
    options = {"above_seed": False, "clause_length": 2, "explore": True, **given}
    with pytest.warns(LittleFoundWarning) as caught:
        fit = sqlrl.ILP(bias, **options).fit(db, "Liked")
    assert fit.theory_["clause"].to_pylist() == ["Good(t) => Liked(t)"]
    (text,) = (str(x.message) for x in caught)
    assert "covers 4 of 10 positive atoms" in text
    assert all(word in text for word in words)


def test_a_theory_that_covers_half_is_not_warned_of() -> None:
    db = sqlrl.connect()
    db.load("Good", [(x,) for x in TEN[:5]], types=["thing"])
    db.load("Known", [(x,) for x in [*TEN, *(f"y{k}" for k in range(30))]], types=["thing"])
    db.load("Liked", [(x,) for x in TEN], types=["thing"], target=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error", LittleFoundWarning)
        assert len(sqlrl.ILP(command="induce_cover", significance=1).fit(db, "Liked").theory_) == 1
