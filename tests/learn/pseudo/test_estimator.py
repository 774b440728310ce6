"""`PseudoLikelihood` over a database: what it learns, keeps, refuses and warns of."""

from __future__ import annotations

import itertools
import json
from typing import Any

import numpy as np
import pytest
from sklearn import linear_model

import sqlrl
from sqlrl.errors import (
    ConvergenceWarning,
    CountOverflowError,
    GroundingLimitError,
    GroundingWarning,
    InfeasibleTruthWarning,
    InputError,
    UnsupportedError,
)
from sqlrl.training.records import Iteration
from tests.learn.pseudo.town import MODEL, TYPES, load, log_likelihood, people, rows, town

Town = tuple[sqlrl.Database, tuple[list[str], set[tuple[str, str]], set[str]]]


@pytest.fixture(scope="module")
def dozen() -> Town:
    """Twelve people, for runs that only read them."""
    return town(12)


@pytest.mark.parametrize(
    ("penalty", "strength", "averaged"),
    [
        ("l2", 0.002, True),
        pytest.param("l2", 0.5, False, marks=pytest.mark.slow),
        ("l1", 0.01, False),
        pytest.param("l1", 0.2, True, marks=pytest.mark.slow),
    ],
)
def test_weights_are_those_of_logistic_regression_on_all_atoms(
    dozen: Town, penalty: Any, strength: float, averaged: bool
) -> None:
    db, found = dozen
    changes, truth, share = rows(*found)
    weight = share if averaged else np.ones(len(share))
    # A Laplacian prior of that strength for sums of 156 atoms would leave all weights.
    strength = strength if averaged else 20 * strength
    fit = sqlrl.PseudoLikelihood(penalty, strength, averaged=averaged, tolerance=1e-9).fit(db, MODEL)
    solver: Any = {"solver": "lbfgs"} if penalty == "l2" else {"solver": "liblinear", "l1_ratio": 1.0}
    other = linear_model.LogisticRegression(
        C=1 / strength, fit_intercept=False, tol=1e-12, max_iter=100_000, random_state=0, **solver
    ).fit(changes, truth, sample_weight=weight)
    assert fit.weights_ == pytest.approx(other.coef_[0], abs=1e-4)
    assert (penalty == "l1") == (not fit.weights_.all())
    assert fit.log_likelihood_ == pytest.approx(log_likelihood(changes, truth, weight, fit.weights_), abs=1e-9)
    means = [log_likelihood(changes[i], truth[i], share[i], fit.weights_) for i in (slice(144), slice(144, None))]
    assert fit.predicates_["log_likelihood"] == pytest.approx(means)
    assert fit.predicates_["atoms"] == [144, 12]
    assert fit.predicates_["true"] == [len(found[1]), len(found[2])]


def test_targets_alone_are_learned_as_by_likelihood() -> None:
    """Where no rule joins query atoms, each is independent of the others."""
    db, _ = town(16, target=True)
    model = sqlrl.parse_mln(
        TYPES + "Person(person)\nFriends(x, +y) => Smokes(x)\nFriends(x, y) ^ Friends(y, z) => Smokes(z)\nSmokes(x)"
    )
    one = sqlrl.PseudoLikelihood("l2", 0.3, averaged=False, discriminative=True, tolerance=1e-10).fit(db, model)
    other = sqlrl.Likelihood("l2", 0.3).fit(db, model)
    weights = [{row["clause"]: row["weight"] for row in fit.clauses().to_pylist()} for fit in (one, other)]
    assert len(weights[0]) > 12
    assert weights[0] == pytest.approx(weights[1], abs=1e-5)
    assert one.log_likelihood_ == pytest.approx(other.log_likelihood_, abs=1e-6)
    assert one.predicates_["predicate"] == ["Smokes"]


def test_what_is_kept_of_a_run() -> None:
    db, found = town(12)
    told: list[Iteration] = []
    fit = sqlrl.PseudoLikelihood(strength=0.05).fit(db, MODEL, callback=told.append)
    kept = db.sql(f"select iteration, objective from sqlrl.iteration where run = {fit.run_} order by 1").fetchall()
    assert kept == [(each.iteration, each.objective) for each in told]
    assert told[-1].objective == pytest.approx(fit.log_likelihood_ - 0.05 / 2 * fit.weights_ @ fit.weights_)
    row = db.sql(f"select status, learner, parameters, seed from sqlrl.run where run = {fit.run_}").fetchall()[0]
    assert (row[0], row[1], row[3]) == ("done", "PseudoLikelihood", 0)
    assert json.loads(row[2])["strength"] == 0.05
    query = f"select groundings, open, n_observed from sqlrl.clause_statistics where run = {fit.run_} order by clause"
    changes, _, _ = rows(*found)
    _, friends, smokes = found
    unmet = sum((y, x) not in friends for x, y in friends)
    driven = sum(x in smokes and y not in smokes for x, y in friends)
    expected = [(144, 144 - driven), (144, 144 - unmet), (12, 11), (12, len(smokes)), (144, len(friends))]
    assert db.sql(query).fetchall() == [(total, None, n) for total, n in expected]
    # Of how many atoms a rule says something.
    assert fit.support_["support"].to_pylist() == (changes != 0).sum(axis=0).tolist()
    assert fit.n_statements_ == 1
    assert sqlrl.parse_mln(str(fit.model_)).rules == fit.model_.rules
    assert repr(fit).startswith("PseudoLikelihood(strength=0.05)\n  atoms       156 of ")
    assert "strongest clauses" in fit._repr_html_()


@pytest.mark.slow
def test_the_same_data_in_any_order_give_the_same_bytes() -> None:
    found = people(25)
    learned = []
    for threads, reverse in ((1, False), (2, True)):
        db = sqlrl.connect(threads=threads, progress=False)
        names, friends, smokes = found
        db.load("Person", [(name,) for name in names], types=["person"])
        db.load("Friends", sorted(friends, reverse=reverse), types=["person", "person"])
        db.load("Smokes", sorted(((name,) for name in smokes), reverse=reverse), types=["person"])
        fit = sqlrl.PseudoLikelihood("l1", 0.003).fit(db, MODEL)
        learned.append((fit.weights_.tobytes(), fit.predicates_.to_pylist()))
    assert learned[0] == learned[1]


@pytest.mark.parametrize("penalty", ["l2", pytest.param("l1", marks=pytest.mark.slow)])
def test_a_start_is_near_the_end(dozen: Town, penalty: Any) -> None:
    db, _ = dozen
    cold = sqlrl.PseudoLikelihood(penalty, 0.003, tolerance=1e-8).fit(db, MODEL)
    warm = sqlrl.PseudoLikelihood(penalty, 0.003, tolerance=1e-8).fit(db, MODEL, start=cold.model_)
    assert warm.weights_ == pytest.approx(cold.weights_, abs=1e-5)
    assert warm.iterations_.num_rows < cold.iterations_.num_rows
    wrong = MODEL.with_rules(tuple(type(rule)(rule.formula, 3.0) for rule in MODEL.rules))
    far = sqlrl.PseudoLikelihood(penalty, 0.003, tolerance=1e-8).fit(db, MODEL, start=wrong)
    assert far.weights_ == pytest.approx(cold.weights_, abs=1e-4)


def test_most_pairs_are_never_listed() -> None:
    """A ring of 2,000 people has 4 million pairs, of five kinds."""
    size = 2_000
    db = sqlrl.connect(progress=False)
    db.load("Friends", [(f"P{k}", f"P{(k + 1) % size}") for k in range(size)], types=["person", "person"])
    db.load("Smokes", [(f"P{k}",) for k in range(0, size, 2)], types=["person"])
    model = sqlrl.parse_mln(TYPES + "Friends(x, y) ^ Smokes(x) => Smokes(y)\nFriends(x, y)\nSmokes(x)")
    fit = sqlrl.PseudoLikelihood(strength=0.01).fit(db, model)
    rows = {row["predicate"]: row for row in fit.predicates_.to_pylist()}
    assert (rows["Friends"]["atoms"], rows["Friends"]["true"]) == (size**2, size)
    # Every friend of a smoker does not smoke: pairs that count are of one that does and one that does not.
    assert rows["Friends"]["rows"] == 4
    assert rows["Smokes"]["rows"] == 2
    assert fit.support_["support"].to_pylist() == [size**2 // 4 + size, size**2, size]


QUANTIFIED = {
    "EXIST y Friends(x, y)": lambda x, friends, smokes: any(a == x for a, _ in friends),
    "Smokes(x) => (EXIST y Friends(x, y) ^ Smokes(y))": lambda x, friends, smokes: x not in smokes or any(a == x and b in smokes for a, b in friends),
    "(EXIST y Friends(y, x) ^ Smokes(y)) => Smokes(x)": lambda x, friends, smokes: x in smokes or not any(b == x and a in smokes for a, b in friends),
    "Smokes(x) v Friends(x, x) v (EXIST y Friends(y, x) ^ y != x)": lambda x, friends, smokes: x in smokes or any(b == x for _, b in friends),
    "Smokes(x) v (EXIST y Friends(x, y) ^ Smokes(y))": lambda x, friends, smokes: x in smokes or any(a == x and b in smokes for a, b in friends),
    "!Smokes(x) v Friends(x, x) v (EXIST y Friends(x, y))": lambda x, friends, smokes: x not in smokes or any(a == x for a, _ in friends),
    "(EXIST y Friends(x, y) ^ y != x) v !Smokes(x)": lambda x, friends, smokes: x not in smokes or any(a == x and b != x for a, b in friends),
    "Smokes(x) ^ !(EXIST y Friends(x, y) ^ Smokes(y))": lambda x, friends, smokes: x in smokes and not any(a == x and b in smokes for a, b in friends),
}  # fmt: skip


@pytest.fixture(scope="module")
def lonely() -> Town:
    """Some have nobody else: of these any friend would be the first, and of those with one friend that is the last."""
    names, friends, smokes = people(9, seed=3)
    friends = {pair for pair in friends if pair[0] != names[4] and pair[1] != names[6]}
    db = sqlrl.connect(progress=False)
    load(db, names, friends, smokes)
    return db, (names, friends, smokes)


# Existence alone, in a conclusion with other atoms, and negated; the others slowly.
@pytest.mark.parametrize(
    "rule",
    [rule if k in (0, 3, 7) else pytest.param(rule, marks=pytest.mark.slow) for k, rule in enumerate(QUANTIFIED)],
)
def test_what_an_atom_changes_under_a_quantifier(lonely: Town, rule: str) -> None:
    db, (names, friends, smokes) = lonely
    fit = sqlrl.PseudoLikelihood(strength=0.01, averaged=False, tolerance=1e-9).fit(
        db, sqlrl.parse_mln(f"{TYPES}{rule}\nSmokes(x)\nFriends(x, y)")
    )
    holds, changes, truth = QUANTIFIED[rule], [], []
    for pair in itertools.product(names, repeat=2):
        n = [sum(holds(x, some, smokes) for x in names) for some in (friends | {pair}, friends - {pair})]
        changes.append([n[0] - n[1], 0, 1])
        truth.append(pair in friends)
    for name in names:
        n = [sum(holds(x, friends, some) for x in names) for some in (smokes | {name}, smokes - {name})]
        changes.append([n[0] - n[1], 1, 0])
        truth.append(name in smokes)
    found = np.array(changes, dtype=float)
    assert fit.support_["support"].to_pylist()[0] == int((found[:, 0] != 0).sum()) > 0
    other = linear_model.LogisticRegression(C=100, fit_intercept=False, tol=1e-12, max_iter=10_000).fit(found, truth)
    assert fit.weights_ == pytest.approx(other.coef_[0], abs=1e-4)


def test_pairs_under_a_quantifier_are_never_listed() -> None:
    size = 3_000
    db = sqlrl.connect(progress=False)
    db.load("Person", [(f"P{k}",) for k in range(size)], types=["person"])
    # Of three people one has no friend, one has one, and one has two.
    friends = [(f"P{k}", f"P{(k + d) % size}") for k in range(size) for d in range(1, k % 3 + 1)]
    db.load("Friends", friends, types=["person", "person"])
    fit = sqlrl.PseudoLikelihood(strength=0.01).fit(
        db, sqlrl.parse_mln("Friends(person, person)\nEXIST y Friends(x, y)\nFriends(x, y)")
    )
    (row,) = fit.predicates_.to_pylist()
    # False: of those without a friend, and others; true: a last friend, and others.
    assert (row["atoms"], row["rows"]) == (size**2, 4)
    assert fit.support_["support"].to_pylist() == [size**2 // 3 + size // 3, size**2]


def test_examples_that_are_quantified() -> None:
    """A variable outside EXIST has no domain there; inside it has that of its example, in which an atom is."""
    db = sqlrl.connect(progress=False)
    kinds = ["bib", "place"]
    db.load("Token", [("b1", "p1"), ("b1", "p2"), ("b2", "p1")], types=kinds, example="bib")
    db.load("Marked", [("b1", "p1")], types=kinds, example="bib")
    declared = "Token(bib, place)\nMarked(bib, place)\nToken(c, p)\n"
    fit = sqlrl.PseudoLikelihood().fit(db, sqlrl.parse_mln(declared + "EXIST c, p (Token(c, p) ^ Marked(c, p))"))
    # Token(b1, p1) and Marked(b1, p1), and no other: there is a witness without them. All atoms of Token are true.
    assert fit.support_["support"].to_pylist() == [3, 2]
    for rule in ("EXIST c Token(c, p)", "Marked(c, p) v (EXIST d Token(d, p))"):
        with pytest.raises(UnsupportedError, match=r":4: .* variables not range over examples that EXIST alone has"):
            sqlrl.PseudoLikelihood().fit(db, sqlrl.parse_mln(declared + rule))


# ---- hard clauses ----------------------------------------------------------------------------------------


def test_what_hard_clauses_hold_up_is_certain() -> None:
    """Friendship is symmetric, but for one pair: its two groundings say nothing, and all other atoms leave the sum."""
    names = ["A", "B", "C", "D"]
    friends = {("A", "B"), ("B", "A"), ("C", "D")}
    db = sqlrl.connect(progress=False)
    load(db, names, friends, {"A"})
    hard = sqlrl.parse_mln(TYPES + "Friends(x, y) => Friends(y, x).\nFriends(x, y)\nSmokes(x)")
    with pytest.warns(InfeasibleTruthWarning, match=r"Friends\(x, y\) => Friends\(y, x\): 1 grounding$"):
        fit = sqlrl.PseudoLikelihood(strength=1e-6).fit(db, hard)
    # With a pair alone, (x, x) as it is, its grounding holds whatever it is; (C, D) and (D, C) have violated groundings, and
    # no other; all other atoms hold one up, as they are.
    free = [(x, x) for x in names] + [("C", "D"), ("D", "C")]
    true = sum(pair in friends for pair in free)
    assert fit.weights_[1] == pytest.approx(np.log(true / (len(free) - true)), abs=1e-3)
    assert fit.weights_[2] == pytest.approx(np.log(1 / 3), abs=1e-3)
    assert fit.violated_.to_pylist() == [{"clause": 0, "groundings": 1}]
    assert fit.weights_[0] == 0
    assert fit.log_likelihood_ == pytest.approx(
        (np.log(1 / 6) + 5 * np.log(5 / 6)) / 16 + (np.log(1 / 4) + 3 * np.log(3 / 4)) / 4, abs=1e-5
    )


def test_of_a_block_with_at_most_one_true_atom_others_are_certain() -> None:
    """A thing has at most one colour: those of things without a colour are free, and the colours that others have."""
    things = {"t1": "red", "t2": "red", "t3": "blue"}
    db = sqlrl.connect(progress=False)
    db.load("Thing", [(f"t{k}",) for k in range(8)], types=["thing"])
    db.load("Colour", list(things.items()), types=["thing", "colour"])
    model = sqlrl.parse_mln("Colour(thing, colour)\nColour(t, a) ^ Colour(t, b) => a = b.\nColour(t, +c)")
    fit = sqlrl.PseudoLikelihood(strength=1e-7, tolerance=1e-10).fit(db, model)
    weights = {row["clause"]: row["weight"] for row in fit.clauses().to_pylist() if not row["hard"]}
    # Five things could have any of two colours, and three have one.
    assert weights == pytest.approx({'Colour(t, "red")': np.log(2 / 5), 'Colour(t, "blue")': np.log(1 / 5)}, abs=1e-4)


def test_a_hard_model_says_of_an_impossible_atom_that_it_is_certain() -> None:
    db, (_, friends, _) = town(10)
    model = sqlrl.parse_mln(
        TYPES
        + "!Smokes(x) v Smokes(x)\nFriends(x, x) => Smokes(x).\nSmokes(x) ^ Friends(x, x) => Friends(x, x)\nSmokes(x)"
    )
    assert ("P000", "P000") in friends
    with pytest.warns((InfeasibleTruthWarning, GroundingWarning)):
        fit = sqlrl.PseudoLikelihood(strength=0.1).fit(db, model)
    assert np.isfinite(fit.weights_).all()


# ---- data of all kinds -----------------------------------------------------------------------------------


def documents(db: sqlrl.Database, *, column: bool) -> list[tuple[str, str, str]]:
    found = [(f"d{d}", f"i{d}{k}", f"s{(d * 3 + k * 5) % 4}") for d in range(5) for k in range(d + 1)]
    red = [(d, i) for d, i, s in found if s in ("s0", "s3")]
    if column:
        db.load("Shape", found, example="column0", types=["item", "shape"])
        db.load("Red", red, example="column0", types=["item"])
    else:
        db.load("Shape", found, types=["doc", "item", "shape"], example="doc")
        db.load("Red", red, types=["doc", "item"], example="doc")
    return found


@pytest.mark.slow
@pytest.mark.parametrize("column", [True, False])
def test_examples_that_are_named_count_alone(column: bool) -> None:
    """Items and shapes are those that a document has, so that g of Shape is the sum of the products of both over the chosen documents."""
    db = sqlrl.connect(progress=False)
    found = documents(db, column=column)
    doc, d = ("", "") if column else ("doc, ", "d, ")
    model = sqlrl.parse_mln(
        f"Shape({doc}item, shape)\nRed({doc}item)\nShape({d}i, +s) => Red({d}i)\nRed({d}i)\nShape({d}i, s)"
    )
    for chosen in (None, ["d1", "d3"], ["d4"]):
        fit = sqlrl.PseudoLikelihood(strength=0.01).fit(db, model, examples=chosen)
        items = [row for row in found if chosen is None or row[0] in chosen]
        assert fit.predicates_["predicate"] == ["Red", "Shape"]
        docs = {row[0] for row in items}
        pairs = [(sum(d == doc for d, *_ in items), len({s for d, _, s in items if d == doc})) for doc in docs]
        assert fit.predicates_["atoms"] == [len(items), sum(a * b for a, b in pairs)]
        assert fit.predicates_["true"] == [sum(s in ("s0", "s3") for *_, s in items), len(items)]


@pytest.mark.filterwarnings("ignore::sqlrl.errors.ScopeWarning")
def test_given_atoms_and_scopes_say_which_atoms_there_are() -> None:
    names, friends, smokes = people(14)
    db = sqlrl.connect(progress=False)
    db.load("Person", [(name,) for name in names], types=["person"])
    db.load("Friends", sorted(friends), types=["person", "person"])
    db.load("Smokes", [(name,) for name in sorted(smokes)], types=["person"], target=True)
    db.load(
        "Smokes",
        [(names[0], names[0] in smokes), (names[5], names[5] in smokes)],
        types=["person"],
        given=True,
        truth=1,
    )
    with_friends = sorted({x for x, _ in friends} & set(names[:9]))
    db.scope("Smokes", [(name,) for name in with_friends])
    fit = sqlrl.PseudoLikelihood(strength=0.01, averaged=False).fit(db, sqlrl.parse_mln(TYPES + "Smokes(x)"))
    atoms = {*with_friends, names[0], names[5]}
    (row,) = fit.predicates_.to_pylist()
    assert (row["atoms"], row["true"]) == (len(atoms), len(atoms & smokes))


@pytest.mark.parametrize("emptied", ["Hates", "Owns"])
def test_a_predicate_without_facts_or_without_atoms_adds_nothing(emptied: str) -> None:
    db, _ = town(8)
    db.load("Hates", [], types=["person", "person"], empty="allow")
    db.load("Owns", [], types=["person", "thing"], empty="allow")
    rule = {"Hates": "Hates(x, y) ^ Smokes(x) => Smokes(y)", "Owns": "Owns(x, t) ^ Smokes(x) => Smokes(x)"}[emptied]
    text = f"{TYPES}Hates(person, person)\nOwns(person, thing)\nSmokes(x)\nFriends(x, y)\n"
    plain = sqlrl.PseudoLikelihood(strength=0.01).fit(db, sqlrl.parse_mln(text))
    if emptied == "Owns":
        rule = "Owns(x, t) => Smokes(x)"
        with pytest.warns(GroundingWarning, match="no ground clause"):
            fit = sqlrl.PseudoLikelihood(strength=0.01).fit(db, sqlrl.parse_mln(text + rule))
        (row,) = [row for row in fit.predicates_.to_pylist() if row["predicate"] == "Owns"]
        assert (row["atoms"], row["log_likelihood"], row["error"]) == (0, 0.0, 0.0)
        assert fit.weights_ == pytest.approx([*plain.weights_, 0.0], abs=1e-6)
        return
    fit = sqlrl.PseudoLikelihood(strength=0.01).fit(db, sqlrl.parse_mln(text + rule))
    (row,) = [row for row in fit.predicates_.to_pylist() if row["predicate"] == "Hates"]
    assert (row["atoms"], row["true"]) == (64, 0)
    # Nobody hates anybody: from one who smokes to one who does not would violate the rule.
    assert fit.weights_[2] > 0
    assert fit.support_["support"].to_pylist()[2] == len(_driving(db))


def _driving(db: sqlrl.Database) -> list[tuple[str, str]]:
    _, _, smokes = people(8)
    names, *_ = people(8)
    return [(x, y) for x, y in itertools.product(names, repeat=2) if x in smokes and y not in smokes]


def test_templates_grow_for_the_constants_of_the_examples(dozen: Town) -> None:
    db, (_, friends, smokes) = dozen
    fit = sqlrl.PseudoLikelihood(strength=0.01, averaged=False).fit(
        db, sqlrl.parse_mln(TYPES + "Friends(x, +y) => Smokes(x)\nSmokes(x)")
    )
    clauses = {row["clause"]: row for row in fit.clauses().to_pylist()}
    popular = {y for _, y in friends}
    assert {f"Friends(x, {name}) => Smokes(x)" for name in popular} <= set(clauses)
    name = min(popular)
    # Atoms: who smokes, of the friends of that one; and to be a friend of that one, of those who do not smoke.
    support = sum(pair[1] == name for pair in friends) + 12 - len(smokes)
    assert clauses[f"Friends(x, {name}) => Smokes(x)"]["support"] == support


ALL_SHAPES = [(f"D{d}", f"I{d}{k}", f"S{(d * 3 + k * 5) % 4}") for d in range(5) for k in range(d + 1)]
RED, SHAPE = "Red(doc, item)", "Shape(doc, item, shape)"
COMBINATIONS: dict[str, Any] = {
    # Whatever a body is about occurs in it; what a head is about is any constant.
    "Shape(d, i, +s) => Red(d, i)": lambda shapes, red: {(s,) for d, i, s in shapes},
    "Red(d, i) ^ Shape(d, i, +s) => Red(d, j)": lambda shapes, red: {(s,) for d, i, s in shapes if (d, i) in red},
    "Shape(d, i, +s) ^ Shape(d, j, +t) ^ s != t": lambda shapes, red: {(s, t) for d, _, s in shapes for e, _, t in shapes if d == e and s != t},
    "Shape(d, i, +s) ^ !Shape(d, j, +t)": lambda shapes, red: {(s, t) for *_, s in shapes for *_, t in ALL_SHAPES},
    "Red(d, i) => Shape(d, i, +s)": lambda shapes, red: {(s,) for *_, s in ALL_SHAPES} if red else set(),
    "Shape(d, I10, +s) => Red(d, j)": lambda shapes, red: {(s,) for d, i, s in shapes if i == "I10"},
}  # fmt: skip


@pytest.mark.filterwarnings("ignore::sqlrl.errors.GroundingWarning")
@pytest.mark.parametrize("chosen", [["D1", "D3"], *(pytest.param(x, marks=pytest.mark.slow) for x in (None, ["D0"]))])
def test_templates_have_the_combinations_of_bodies_that_occur(chosen: list[str] | None) -> None:
    db = sqlrl.connect(progress=False)
    red = [(d, i) for d, i, s in ALL_SHAPES if s in ("S0", "S3")]
    db.load("Shape", ALL_SHAPES, types=["doc", "item", "shape"], example="doc")
    db.load("Red", red, types=["doc", "item"], example="doc")
    fit = sqlrl.PseudoLikelihood().fit(
        db, sqlrl.parse_mln("\n".join([SHAPE, RED, *COMBINATIONS, "Red(d, i)"])), examples=chosen
    )
    inside = [row for row in ALL_SHAPES if chosen is None or row[0] in chosen]
    for text, rule in zip(COMBINATIONS, fit.model_.rules, strict=False):
        expected = COMBINATIONS[text](inside, {pair for pair in red if chosen is None or pair[0] in chosen})
        assert rule.expansions is not None, text
        assert set(rule.expansions.rows) == expected, text


# ---- bad input -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rules", "kind", "message"),
    [
        ("", InputError, "no rules with a weight to learn"),
        ("Smokes(x).", InputError, "no rules with a weight to learn"),
        ("@2 Smokes(x)", InputError, "no rules with a weight to learn"),
        (
            "Smokes(x) => (EXIST y !Friends(x, y))",
            UnsupportedError,
            r":3: Smokes\(x\) => \(EXIST.*an atom of Friends changes here: under EXIST a predicate may .* not negated",
        ),
        (
            "Smokes(x)\nEXIST y Friends(x, y) ^ Friends(y, x)",
            UnsupportedError,
            ":4: EXIST.*of Friends changes here: under EXIST a predicate may stand once",
        ),
        (
            "(EXIST y Friends(x, y)) v (EXIST z Friends(z, x) ^ Smokes(z))",
            UnsupportedError,
            ":3: .*of Friends changes here: under EXIST a predicate may stand once in a clause",
        ),
        (
            "Smokes(x)\nSmokes(x) <=> (EXIST y Friends(x, y))",
            UnsupportedError,
            ":4: Smokes.*a formula that is no clause",
        ),
        (
            " v ".join(f"Friends(x{i}, x{i + 1})" for i in range(14)),
            GroundingLimitError,
            r"literals.*write it with fewer",
        ),
    ],
)
def test_what_cannot_be_learned_is_named(dozen: Town, rules: str, kind: type[Exception], message: str) -> None:
    db, _ = dozen
    with pytest.raises(kind, match=message):
        sqlrl.PseudoLikelihood().fit(db, sqlrl.parse_mln(TYPES + rules))
    statuses = {row[0] for row in db.sql("select status from sqlrl.run").fetchall()}
    assert "running" not in statuses


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"penalty": "elastic"}, "penalty='elastic': choose 'l1' or 'l2'"),
        ({"strength": 0}, "strength=0 is not a finite number above 0"),
        ({"tolerance": float("nan")}, "tolerance=nan"),
        ({"max_iterations": 0}, "max_iterations=0: give an integer of at least 1"),
        ({"averaged": 1}, "averaged=1: give True or False"),
        ({"sample": 0}, "sample=0: give an integer of at least 1"),
        ({"random_state": -1}, "random_state=-1: give an integer of at least 0"),
    ],
)
def test_parameters_out_of_range(dozen: Town, options: dict[str, Any], message: str) -> None:
    db, _ = dozen
    with pytest.raises(InputError, match=message):
        sqlrl.PseudoLikelihood(**options).fit(db, MODEL)


def test_atoms_without_labels_are_refused() -> None:
    names, friends, _ = people(6)
    db = sqlrl.connect(progress=False)
    load(db, names, friends, {names[2]})
    db.load("Cancer", [(names[0], True)], types=["person"], given=True, truth=1)
    model = sqlrl.parse_mln(TYPES + "Cancer(person)\nSmokes(x) => Cancer(x)", query=["Cancer"])
    with pytest.raises(InputError, match=r"unlabelled atoms \(EM\).*5 atoms of Cancer without a label"):
        sqlrl.PseudoLikelihood().fit(db, model)


def test_without_a_target_nothing_is_discriminative(dozen: Town) -> None:
    db, _ = dozen
    with pytest.raises(InputError, match=r"no predicate of the rules is open.*discriminative=False"):
        sqlrl.PseudoLikelihood(discriminative=True).fit(db, MODEL)


def test_counts_beyond_64_bits_are_named() -> None:
    db = sqlrl.connect(progress=False)
    db.load("R", [tuple(f"x{i}" for _ in range(5)) for i in range(8_000)], types=["t"] * 5)
    with pytest.raises(CountOverflowError, match="R has too many arguments with too many constants"):
        sqlrl.PseudoLikelihood().fit(db, sqlrl.parse_mln("R(t, t, t, t, t)\nR(a, b, c, d, e)"))
    # Of one atom of P there are as many groundings as other pairs, times as many, and so on.
    db = sqlrl.connect(progress=False)
    db.load("P", [(f"x{i}",) for i in range(0, 6_000, 2)], types=["t"])
    db.load("Q", [(f"x{i}",) for i in range(6_000)], types=["t"])
    model = sqlrl.parse_mln("P(t)\nQ(t)\nQ(a) ^ Q(b) ^ Q(c) ^ Q(d) ^ Q(e) => P(f)")
    with pytest.raises(CountOverflowError):
        sqlrl.PseudoLikelihood().fit(db, model)


def test_a_rule_that_says_nothing_of_any_atom_is_warned_of() -> None:
    db, _ = town(6)
    db.load("Owns", [], types=["person", "thing"], empty="allow")
    model = sqlrl.parse_mln(TYPES + "Owns(person, thing)\nOwns(x, t) => Friends(x, x)\nSmokes(x)")
    with pytest.warns(GroundingWarning, match=r"1 rule has no ground clause.*Owns\(x, t\) => Friends"):
        sqlrl.PseudoLikelihood().fit(db, model)


def test_weights_that_are_not_precise_are_warned_of(dozen: Town) -> None:
    db, _ = dozen
    with pytest.warns(ConvergenceWarning, match="after 1 iteration "):
        sqlrl.PseudoLikelihood(max_iterations=1).fit(db, MODEL)


def test_exactly_one_atom_of_a_block_is_refused() -> None:
    db = sqlrl.connect(progress=False)
    db.load("Colour", [("t1", "red"), ("t2", "blue")], types=["thing", "colour"], target=True)
    with pytest.raises(UnsupportedError, match="Colour is declared with exactly one true atom in a block"):
        sqlrl.PseudoLikelihood().fit(db, sqlrl.parse_mln("Colour(thing, colour!)\nColour(t, +c)"))
