"""`sqlrl.MSL` end to end: planted clauses, hard rules, models to begin with, statements, and what is refused."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from functools import cache
from typing import Any

import numpy as np
import pytest

import sqlrl
import sqlrl.structure.beam.search as module
from sqlrl.errors import InfeasibleTruthWarning, InputError, NothingFoundWarning, UnsupportedError
from sqlrl.structure.beam.clauses import Language, SearchClause
from tests.structure.beam.brute import canonical

PEOPLE = [f"p{i}" for i in range(24)]


def planted(seed: int = 0) -> sqlrl.Database:
    """Who is advised by a professor is a student, papers are those of adviser and advised; phases are by chance."""
    draw = np.random.default_rng(seed)
    db = sqlrl.connect()
    professors, students = PEOPLE[:6], PEOPLE[6:]
    advised = [(s, professors[draw.integers(6)]) for s in students if draw.random() < 0.9]
    db.load("Professor", [(p,) for p in professors], types=["person"])
    db.load("AdvisedBy", advised, types=["person", "person"])
    papers = [(f"t{i}", x) for i, pair in enumerate(advised) for x in pair]
    db.load("Wrote", papers, types=["paper", "person"])
    db.load("Tall", [(p,) for p in PEOPLE if draw.random() < 0.5], types=["person"])
    return db


@cache
def lent() -> sqlrl.Database:
    """A database that tests share, which only read it."""
    return planted()


def clauses(fit: sqlrl.MSL) -> list[str]:
    return [row["clause"] for row in fit.added_]


def everything(fit: sqlrl.MSL) -> tuple[object, ...]:
    return (
        fit.added_.to_arrow().to_pylist(), fit.weights_.tobytes(), [str(rule) for rule in fit.model_.rules], fit.score_,
        fit.candidates_, fit.n_statements_,
    )  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("strategy", ["beam", "shortest-first"])
def test_the_same_seed_gives_the_same_bytes(strategy: Any) -> None:
    found = []
    for _ in range(2):
        with planted() as db:
            found.append(everything(sqlrl.MSL(max_literals=3, max_clauses=3, strategy=strategy).fit(db)))
    assert found[0] == found[1]


def signed(text: str) -> frozenset[tuple[str, bool, tuple[str, ...]]]:
    """The literals of a clause that is written out; what stands before an arrow is negated."""
    body, _, text = text.rpartition(" => ")
    if body:
        negated = frozenset((p, not positive, terms) for p, positive, terms in signed(body))
        return negated | signed(text)
    found = re.findall(r"(!?)(\w+)\(([^)]*)\)", text)
    return frozenset((p, not s, tuple(t.split(", "))) for s, p, t in found)


@pytest.mark.parametrize(
    ("strategy", "wanted"),
    [
        # Who is liked rides the same bus; likings are mutual, which is shorter.
        pytest.param("beam", "Rides(x, h) v !Rides(y, h) v !Likes(y, x)", marks=pytest.mark.slow),
        ("shortest-first", "Likes(x, y) v Likes(y, x)"),
    ],
)
def test_a_planted_clause_is_found(strategy: Any, wanted: str) -> None:
    couples = [(f"a{k}", f"b{k}") for k in range(9)]
    with sqlrl.connect() as db:
        db.load("Likes", [(x, y) for a, b in couples for x, y in ((a, b), (b, a))], types=["person", "person"])
        db.load("Rides", [(x, f"bus{k}") for k, pair in enumerate(couples) for x in pair], types=["person", "bus"])
        fit = sqlrl.MSL(max_literals=3, strategy=strategy).fit(db)
        first, *_ = clauses(fit)
        assert canonical(signed(first)) == canonical(signed(wanted))
        assert all(row["gain"] > 0 for row in fit.added_)
        # The model says nearly all: each atom has probability 1 given the others.
        assert fit.score_ > -0.2


@pytest.mark.slow
def test_shortest_first_adds_a_short_clause_first() -> None:
    first = []
    with nullcontext(lent()) as db:
        for most in (1, 2, 3):
            fit = sqlrl.MSL(max_literals=most, strategy="shortest-first", max_clauses=1)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", NothingFoundWarning)
                first += clauses(fit.fit(db))[:1]
    assert len(first) >= 2
    assert len(set(first)) == 1


@pytest.mark.slow
@pytest.mark.parametrize(("literals", "added", "times"), [(3, 1, 5), (4, 3, 20)])
def test_a_step_takes_few_statements(monkeypatch: pytest.MonkeyPatch, literals: int, added: int, times: int) -> None:
    """At most one for each clause of the beam and way to bind the arguments of a literal, whatever the predicates are."""
    bound: list[int] = []
    neighbours = Language.neighbours

    def counted(self: Language, clause: SearchClause) -> Iterator[SearchClause]:
        found = list(neighbours(self, clause))
        new = [x for x in found if x.added is not None]
        types = self.predicates
        bound.append(len({(types[x.added], x.literals[-1].terms) for x in new if x.added is not None}) or 1)  # type: ignore[union-attr]
        yield from found

    monkeypatch.setattr(Language, "neighbours", counted)
    taken: list[int] = []
    scored = module.ClauseSearcher._scored

    def step(self: module.ClauseSearcher, *given: Any, **named: Any) -> list[module.ScoredClause]:
        before, candidates = self.source.statements, self._candidates
        bound.clear()
        found = scored(self, *given, **named)
        assert self.source.statements - before <= sum(bound)
        # There are many more candidates than statements.
        taken.append((self._candidates - candidates) - (self.source.statements - before))
        return found

    monkeypatch.setattr(module.ClauseSearcher, "_scored", step)
    with nullcontext(lent()) as db:
        fit = sqlrl.MSL(max_literals=literals, max_clauses=added).fit(db)
    assert len(taken) >= 2 * added
    assert fit.candidates_ > times * fit.n_statements_


# ---- models to begin with --------------------------------------------------------------------------------------------

DECLARED = "Professor(person)\nAdvisedBy(person, person)\nWrote(paper, person)\nTall(person)\n"


@pytest.mark.slow
def test_hard_rules_stay_as_they_are() -> None:
    with nullcontext(lent()) as db:
        model = sqlrl.parse_mln(DECLARED + "AdvisedBy(x, y) => Professor(y).\nAdvisedBy(x, y) => !AdvisedBy(y, x).\n")
        with warnings.catch_warnings():
            warnings.simplefilter("error", InfeasibleTruthWarning)
            fit = sqlrl.MSL(max_literals=3, max_clauses=2).fit(db, model)
        assert [str(rule.formula) for rule in fit.model_.rules if rule.hard] == [
            str(rule.formula) for rule in model.rules
        ]
        # What a hard rule says is not found again.
        assert not {"Professor(v1) v !AdvisedBy(v0, v1)", "!AdvisedBy(v0, v1) v Professor(v1)"} & set(clauses(fit))


def test_hard_rules_that_the_data_violate_are_named_once() -> None:
    with nullcontext(lent()) as db:
        model = sqlrl.parse_mln(DECLARED + "AdvisedBy(x, y) => Tall(x).\n")
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            fit = sqlrl.MSL(max_literals=2, max_clauses=2).fit(db, model)
        said = [str(x.message) for x in caught if issubclass(x.category, InfeasibleTruthWarning)]
        assert len(said) == 1
        assert "AdvisedBy(x, y) => Tall(x)" in said[0]
        assert [rule.hard for rule in fit.model_.rules].count(True) == 1
        assert np.isfinite(fit.score_)


@pytest.mark.slow
def test_a_rule_is_revised() -> None:
    """A rule with a literal too many: the search adds it without, and takes it out where it says no more."""
    with nullcontext(lent()) as db:
        model = sqlrl.parse_mln(DECLARED + "1 AdvisedBy(x, y) ^ Tall(x) => Professor(y)\n")
        fit = sqlrl.MSL(max_literals=3, max_clauses=4, unit_clauses=False).fit(db, model)
        found = set(map(canonical, map(signed, clauses(fit))))
        assert canonical(frozenset({("AdvisedBy", False, ("x", "y")), ("Professor", True, ("y",))})) in found
        assert fit.score_ > -2.8
        revised = [row["clause"] for row in fit.added_ if row["revises"] == "AdvisedBy(x, y) ^ Tall(x) => Professor(y)"]
        assert revised
        assert all(each.endswith(" => Professor(y)") or "Professor(y)" not in each for each in revised)


@pytest.mark.slow
def test_predicates_of_identities_are_equality() -> None:
    with planted() as db:
        db.load("Same", [(p, p) for p in PEOPLE], types=["person", "person"])
        model = sqlrl.parse_mln(DECLARED + "Same(person, person)\n1 AdvisedBy(x, y) => !Same(x, y)\n")
        fit = sqlrl.MSL(max_literals=2, max_clauses=1).fit(db, model)
        assert fit.equalities_ == ("Same",)
        assert "Same" not in fit.model_.predicates
        assert not any("Same" in str(rule) for rule in fit.model_.rules)
        assert "Same" not in str(sqlrl.MSL(max_literals=2, max_clauses=1).fit(db).model_)
        # One that is no identity is a predicate.
        db.load("Same", [("p0", "p1"), *((p, p) for p in PEOPLE)], types=["person", "person"])
        assert sqlrl.MSL(max_literals=2, max_clauses=1).fit(db).equalities_ == ()


@pytest.mark.slow
def test_a_predicate_without_facts_is_all_false() -> None:
    with planted() as db:
        db.load("Retired", [], types=["person"], empty="allow")
        fit = sqlrl.MSL(max_literals=2, max_clauses=2).fit(db)
        weights = {row["clause"]: row["weight"] for row in fit.clauses()}
        assert weights["Retired(v0)"] < -3
        # One whose type has no constant has no atoms at all.
        db.load("Moon", [], types=["planet"], empty="allow")
        again = sqlrl.MSL(max_literals=2, max_clauses=2).fit(db)
        weights = {row["clause"]: row["weight"] for row in again.clauses()}
        assert "Moon" in again.model_.predicates
        assert "Moon(v0)" not in weights
        assert again.score_ == pytest.approx(fit.score_, abs=1e-6)


def test_nothing_found_says_what_to_change() -> None:
    with (
        nullcontext(lent()) as db,
        pytest.warns(NothingFoundWarning, match=r"lower literal_cost=5, or look whether predicates share"),
    ):
        fit = sqlrl.MSL(literal_cost=5.0, max_literals=2).fit(db)
    assert len(fit.added_) == 0
    assert {row["clause"].split("(")[0] for row in fit.clauses()} == {"Professor", "AdvisedBy", "Wrote", "Tall"}


def test_steps_are_reported_and_the_run_is_kept() -> None:
    steps = []
    with planted() as db:
        fit = sqlrl.MSL(max_literals=2, max_clauses=2).fit(db, callback=steps.append)
        assert [x.candidates for x in steps] == sorted(x.candidates for x in steps)
        assert steps[-1].candidates == fit.candidates_
        (row,) = db.sql("select learner, status from sqlrl.run order by run desc limit 1").fetchall()
        assert row == ("MSL", "done")
        assert db.sql("select count(*) from sqlrl.strongest_clauses").fetchall()[0][0] == len(fit.model_.rules)


# ---- what is refused -------------------------------------------------------------------------------------------------

REFUSED: list[tuple[dict[str, Any], str, type[Exception], str]] = [
    ({"beam": 0}, "", InputError, "beam=0: give an integer of at least 1, a step must go on from some clause"),
    ({"max_literals": 0}, "", InputError, "max_literals=0: give an integer of at least 1"),
    ({"max_variables": 0}, "", InputError, "max_variables=0: give an integer of at least 1"),
    ({"max_clauses": -1}, "", InputError, "max_clauses=-1: give an integer of at least 0"),
    ({"literal_cost": -0.1}, "", InputError, "literal_cost=-0.1 is not a finite number of at least 0: 0.01 is the default"),
    ({"least_weight": float("nan")}, "", InputError, "least_weight=nan is not a finite number"),
    ({"strength": 0.0}, "", InputError, "strength=0.0 is not a finite number above 0"),
    ({"strategy": "best"}, "", InputError, "strategy='best'"),
    ({}, "1 Tall(+x)\n", UnsupportedError, r"cannot begin with templates \(\+\): write their clauses out"),
    ({}, "1 EXIST y AdvisedBy(x, y) ^ Tall(y)\n", UnsupportedError, "neither a search for clauses nor a diagnosis counts what an atom changes under EXIST"),
    ({}, "Guided(person, person)\n1 Guided(x, y) => Tall(x)\n", InputError, "Guided has no data"),
    ({}, "Profesor(person)\n1 Profesor(x) => Tall(x)\n", InputError, "Profesor has no data; did you mean 'Professor'|Profesor has no data.*Professor"),
]  # fmt: skip


@pytest.mark.parametrize(("parameters", "rules", "kind", "message"), REFUSED)
def test_what_it_cannot_do_is_said(parameters: dict[str, Any], rules: str, kind: type[Exception], message: str) -> None:
    model = sqlrl.parse_mln(DECLARED + rules) if rules else None
    with nullcontext(lent()) as db, pytest.raises(kind, match=message) as caught:
        sqlrl.MSL(**parameters).fit(db, model)
    assert "\n" not in str(caught.value)


def test_a_block_of_which_exactly_one_is_true_is_refused() -> None:
    with sqlrl.connect() as db:
        model = sqlrl.parse_mln(
            "Field(token, field!)\nWord(token, word)\n1 Word(t, w) => Field(t, f)\n", query=["Field"]
        )
        db.load("Word", [("t0", "a"), ("t1", "b")], types=["token", "word"])
        db.load("Field", [("t0", "x"), ("t1", "y")], types=["token", "field"], target=True)
        with pytest.raises(UnsupportedError, match=r"Field is declared with exactly one true atom in a block \(!\)"):
            sqlrl.MSL().fit(db, model)


def test_nothing_loaded_and_unlabelled_atoms_are_refused() -> None:
    with sqlrl.connect() as db, pytest.raises(InputError):
        sqlrl.MSL().fit(db)
    with planted() as db:
        db.load("Famous", [("p0", True), ("p1", False)], types=["person"], given=True, truth=1)
        model = sqlrl.parse_mln(DECLARED + "Famous(person)\n1 Famous(x) => Tall(x)\n", query=["Famous"])
        with pytest.raises(InputError, match=r"unlabelled atoms \(EM\) is not supported|no data"):
            sqlrl.MSL(max_literals=2).fit(db, model)


def test_fit_wants_a_database() -> None:
    call: Callable[..., object] = sqlrl.MSL().fit
    with pytest.raises(InputError, match=r"not from None: open it with sqlrl\.connect"):
        call(None)
    with nullcontext(lent()) as db, pytest.raises(InputError, match="callback"):
        call(db, callback=3)


def test_a_model_without_clauses_is_one_to_begin_with() -> None:
    """Declarations alone say which predicates clauses are about."""
    with nullcontext(lent()) as db:
        fit = sqlrl.MSL(max_literals=2, max_clauses=1, unit_clauses=False).fit(
            db, sqlrl.parse_mln("Professor(person)\nAdvisedBy(person, person)\n")
        )
        assert set(fit.model_.predicates) == {"Professor", "AdvisedBy"}
        assert len(fit.model_.rules) == 1


@pytest.mark.parametrize("soft", [False, True])
@pytest.mark.parametrize("kinds", [("person", "person"), pytest.param(("person", "place"), marks=pytest.mark.slow)])
def test_a_predicate_that_is_to_be_predicted_counts_as_others_do(soft: bool, kinds: tuple[str, str]) -> None:
    people = [f"p{i}" for i in range(6)]
    places = people if kinds[1] == "person" else ["here", "there"]
    pairs = [(p, places[(i + 1) % len(places)]) for i, p in enumerate(people)]
    with sqlrl.connect() as db:
        db.load("Tall", [(p,) for p in people[:5]], types=["person"])
        db.load("Near", pairs, types=list(kinds), target=True)
        if soft:
            chances = [(p, q, 0.9 if i % 2 else 0.2) for i, p in enumerate(people) for q in places]
            db.load("Near", chances, types=list(kinds), probability=2)
        fit = sqlrl.MSL(max_literals=2, strength=0.01).fit(db)
        assert {x for x in fit.model_.predicates if any(x in row["clause"] for row in fit.clauses())} == {
            "Tall",
            "Near",
        }
        # What weights come to is what the learner of weights alone makes of the same clauses.
        again = sqlrl.PseudoLikelihood(strength=0.01, tolerance=1e-9).fit(db, fit.model_)
        assert fit.weights_ == pytest.approx(again.weights_, abs=1e-3)
        assert fit.score_ == pytest.approx(
            again.log_likelihood_ - 0.005 * float(again.weights_ @ again.weights_), abs=1e-6
        )


def test_what_is_asked_is_what_the_model_says() -> None:
    """Atoms that the data leave open count, and the model that is learned asks for no others than the one that was given."""
    people = [f"p{i}" for i in range(10)]
    with sqlrl.connect() as db:
        db.load("Tall", [(p,) for p in people[:6]], types=["person"])
        db.load("Same", [(p, p) for p in people[:4]], types=["person", "person"], target=True)
        db.load("Ill", [(p,) for p in people[2:9]], types=["person"], target=True)
        model = sqlrl.parse_mln("Tall(person)\nIll(person)\nSame(person, person)\n", query=["Ill"])
        fit = sqlrl.MSL(max_literals=2, max_clauses=1).fit(db, model)
        assert fit.model_.query == {"Ill"}
        # What is to be predicted is no equality, whatever its labels are.
        assert fit.equalities_ == ()
        assert "Same" in fit.model_.predicates
        assert sqlrl.MSL(max_literals=2, max_clauses=1).fit(db).model_.query == frozenset()
        db.load("Hurt", [(p,) for p in people[:3]], types=["person"])
        db.load("Hurt", [("p5", 0.5)], types=["person"], probability=1)
        with pytest.raises(InputError, match=r"Hurt has soft evidence and no labels.*target=True"):
            sqlrl.MSL(max_literals=2).fit(db)
