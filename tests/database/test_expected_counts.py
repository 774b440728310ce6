"""Expected counts against sums over all worlds, with formulas as written; and what is kept of them."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, reject, settings
from hypothesis import strategies as st

import sqlrl
from sqlrl.errors import (
    GroundingLimitError,
    InfeasibleError,
    InfeasibleTruthWarning,
    InputError,
    ModelError,
    SqlrlWarning,
    UnsupportedError,
)
from sqlrl.ground.windows import divided
from sqlrl.logic.model import Rule
from tests.effort import draws
from tests.ground import cases
from tests.ground.brute import Formulas
from tests.ground.cases import Case, Names, fill, formulas_of, programs

Floats = np.ndarray[Any, np.dtype[np.float64]]

# ---- by sums over all worlds ---------------------------------------------------------------------------

MOST = 10
"""Query atoms of a case, of which all values are listed."""


class Everything:
    """All worlds of a case: the values of its query atoms, one row for each world."""

    def __init__(self, case: Case, examples: frozenset[str] | None) -> None:
        self.case, self.data, self.examples = case, case.data, examples
        of = [a for a in self.data.atoms if examples is None or self.data.example_of(a) in examples]
        self.atoms = sorted(of)
        assume(len(self.atoms) <= MOST)
        self.place = {atom: i for i, atom in enumerate(self.atoms)}
        self.bits = (np.arange(2 ** len(self.atoms))[:, None] >> np.arange(len(self.atoms))) & 1

    def n(self, formulas: Formulas) -> Floats:
        """True groundings in each world, one grounding after the other by the values of its atoms."""
        found = np.zeros(len(self.bits))
        for row in formulas.groundings(self.examples):
            touched = [a for a in formulas.touched(row) if a in self.place]
            table = [
                formulas.holds(row, frozenset(a for i, a in enumerate(touched) if number >> i & 1))
                for number in range(2 ** len(touched))
            ]
            columns = self.bits[:, [self.place[a] for a in touched]]
            found += np.array(table, dtype=float)[columns @ (1 << np.arange(len(touched)))]
        return found

    def blocks_hold(self) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Whether of the atoms of each position one is true."""
        found = np.ones(len(self.bits), dtype=bool)
        if not self.case.block:
            return found
        groups: dict[tuple[str, tuple[str, ...]], list[int]] = {}
        for (name, example, constants), place in self.place.items():
            if name == "In":
                # (bib, fld, pos) or, with examples in a column, (fld, pos).
                rest = constants[:1] + constants[2:] if self.case.kind != "column" else constants[1:]
                groups.setdefault((example, rest), []).append(place)
        for places in groups.values():
            found &= self.bits[:, places].sum(axis=1) == 1
        return found

    def prior(self) -> Floats:
        return self.bits @ np.array([self.data.priors.get(a, 0.0) for a in self.atoms])


def expectations(every: Everything, rules: list[tuple[Rule, Formulas]]) -> list[float] | None:
    """E[n] of each clause, None if no world keeps hard clauses and blocks."""
    possible, score, counts = every.blocks_hold(), every.prior(), []
    for rule, formulas in rules:
        n = every.n(formulas)
        counts.append(n)
        if rule.hard:
            possible &= n == formulas.total(every.examples)
        else:
            score = score + (rule.weight or 0.0) * n
    if not possible.any():
        return None
    share = np.where(possible, np.exp(score - score[possible].max()), 0.0)
    return [float(share @ n / share.sum()) for n in counts]


WEIGHTS = st.lists(st.floats(-2, 2).map(lambda x: round(x, 3)), min_size=4, max_size=4)


def weighted(case: Case, weights: list[float]) -> Case:
    rules = [r if r.hard else replace(r, weight=w) for r, w in zip(case.rules, weights, strict=False)]
    return replace(case, rules=tuple(rules))


def loaded(case: Case) -> sqlrl.Database:
    db = sqlrl.connect()
    fill(db.advanced.catalog, case)
    return db


def check(case: Case, chosen: frozenset[str] | None) -> None:
    # What fixed members do to blocks, and blocks without members, are for the tests of grounding.
    members = [domain for (kind, _), domain in case.data.domains.items() if kind == "fld"]
    assume(
        not case.block or "In" not in case.opened or not (case.given["In"] or "In" in case.scope or not all(members))
    )
    every, db = Everything(case, chosen), loaded(case)
    examples = None if chosen is None else sorted(chosen)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SqlrlWarning)
        try:
            with db.advanced.program(case.model) as program, db.advanced.session.examples_table(examples) as some:
                program.expand(some)
                listed = list(formulas_of(program, case.data, Names(program.engine, program.layout)))
        except (ModelError, UnsupportedError):
            reject()
        wanted = expectations(every, [(rule, formulas) for _, rule, formulas in listed])
        if wanted is None:
            with pytest.raises(InfeasibleError):
                db.count(case.model, expected=True, examples=examples)
            return
        found = {
            row["clause"]: row for row in db.count(case.model, expected=True, examples=examples).to_arrow().to_pylist()
        }
    assert found.keys() == {clause for clause, *_ in listed}
    labels = frozenset(a for a, true in case.data.atoms.items() if true)
    for (clause, rule, formulas), expected in zip(listed, wanted, strict=True):
        row = found[clause]
        if rule.hard:
            # Counted by its normal form, and it holds in every world.
            assert row["n_expected"] == row["groundings"]
            continue
        assert row["n_expected"] == pytest.approx(expected, abs=1e-9)
        assert row["n_observed"] == formulas.n(labels, chosen)
        assert row["difference"] == pytest.approx(row["n_observed"] - expected, abs=1e-9)
        assert row["groundings"] == formulas.total(chosen)


@pytest.mark.slow
@settings(max_examples=draws(15))
@given(programs(size=4), WEIGHTS)
def test_random_programs(case: Case, weights: list[float]) -> None:
    check(weighted(case, weights), None)


@pytest.mark.slow
@settings(max_examples=draws(6))
@given(programs(size=3, kind=cases.witnessed), WEIGHTS)
def test_existential_witnesses(case: Case, weights: list[float]) -> None:
    check(weighted(case, weights), None)


@pytest.mark.slow
@settings(max_examples=draws(6))
@given(programs(size=3, kind=cases.counted), WEIGHTS)
def test_counted_variables_of_some_examples(case: Case, weights: list[float]) -> None:
    check(weighted(case, weights), case.subset if case.kind != "one" else None)


@pytest.mark.slow
@settings(max_examples=draws(6))
@given(programs(size=3, kind=cases.sentences), WEIGHTS)
def test_sentences(case: Case, weights: list[float]) -> None:
    check(weighted(case, weights), None)


# ---- over which domains variables range ------------------------------------------------------------------

FIELDS = """
Tok(bib, pos, fld)
Mark(bib, pos)
Next(pos, pos)
In(bib, fld, pos)
"""


@cache
def fields() -> sqlrl.Database:
    """Positions are local: B1 has P2 alone. Tests share it, and change nothing."""
    db = sqlrl.connect()
    tokens = [("B1", "P2", "F"), ("B2", "P1", "F"), ("B2", "P3", "F")]
    db.load("Tok", tokens, types=("bib", "pos", "fld"), example="bib")
    db.load("Mark", [row[:2] for row in tokens], types=("bib", "pos"), example="bib")
    db.load("Next", [("P1", "P1"), ("P1", "P2")], types=("pos", "pos"))
    db.load("In", [("B1", "F", "P2")], types=("bib", "fld", "pos"), example="bib", target=True)
    return db


@pytest.mark.parametrize(
    ("rule", "n", "world"),
    [
        # Of B1's positions none is not next to P1, so that each rule is as if its first part were not there.
        pytest.param(
            "(EXIST u !Next(P1, u)) v (EXIST w !In(B1, w, P1) ^ In(B1, w, P2))", 1, True, marks=pytest.mark.slow
        ),
        ("(EXIST u !Next(P1, u)) v !(EXIST w In(B1, w, P2))", 0, False),
        ("(EXIST u !Next(P1, u)) v In(B1, F, P2)", 1, True),
        ("(EXIST u !Next(P1, u)) <=> !In(B1, F, P2)", 1, True),
        ("!(EXIST u !Next(P1, u)) ^ In(B1, F, P2)", 1, True),
    ],
)
def test_quantified_variables_are_those_of_the_one_example_that_a_rule_names(rule: str, n: int, world: bool) -> None:
    db, model = fields(), sqlrl.parse_mln(f"{FIELDS}0.5 {rule}")
    assert db.count(model)["n"] == [n]
    found = db.count(model, expected=True)
    assert found["n_observed"] == [n]
    # The rule says that one atom is true, or that it is false.
    assert found["n_expected"] == pytest.approx([1 / (1 + np.exp(-0.5))], abs=1e-12)
    chances = db.probabilities(sqlrl.parse_mln(f"{FIELDS}{rule}."), method="exact").probabilities("In").to_pylist()
    assert {r["probability"] for r in chances if r["bib"] == "B1" and r["pos"] == "P2"} == {float(world)}


def test_hard_quantifiers_of_an_example_that_is_a_constant() -> None:
    db = fields()
    impossible = "(EXIST u !Next(P1, u)) v (EXIST w !In(B1, w, P2) ^ In(B1, w, P1))."
    with pytest.raises(InfeasibleError):
        db.count(sqlrl.parse_mln(f"{FIELDS}{impossible}"), expected=True)
    # Not every position of the data is next to P1, but each of B1 is.
    db.count(
        sqlrl.parse_mln(f"{FIELDS}(FORALL u Next(P1, u)) v (EXIST w !In(B1, w, P2) ^ In(B1, w, P1))."), expected=True
    )


@pytest.mark.parametrize(
    ("rule", "range_"),
    [
        ("In(c, f, q) v !In(c, f, q) v Mark(d, q)", "q ranges over the constants of c and d"),
        (
            "!In(c, f, q) v (EXIST u Tok(d, u, f) ^ !Mark(d, q) ^ f != f) v Next(q, q)",
            "q ranges over the constants of c and d",
        ),
        ("(EXIST w !In(B1, w, P1) ^ In(B1, w, P2)) v Next(q, P1)", "q ranges over the constants of B1"),
    ],
)
def test_variables_whose_domain_no_clause_says_are_refused(rule: str, range_: str) -> None:
    with pytest.raises(ModelError, match=f"{range_} is said in a part .* drops out of its clauses"):
        fields().count(sqlrl.parse_mln(f"{FIELDS}0.5 {rule}"))


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        (
            "In(c, f, q) ^ Tok(c, P1, f) v Mark(d, q) ^ Tok(c, P1, f)",
            "q ranges over the constants of all examples in one clause of this formula, and in another ranges over the constants of c and d",
        ),
        (
            "(Mark(B1, P2) v In(B1, F, P2)) ^ Next(P1, P1)",
            "one clause of this formula is about no example, and another about B1",
        ),
    ],
)
def test_clauses_of_a_formula_that_are_of_different_examples_are_told(rule: str, words: str) -> None:
    with pytest.raises(ModelError, match=f"{words}, which leaves its domain unclear"):
        fields().count(sqlrl.parse_mln(f"{FIELDS}0.5 {rule}"))


# ---- labels that violate blocks --------------------------------------------------------------------------

JOINING = """
0.1 In(c, p, F) ^ In(c, p, G)
0.1 In(c, p, F) v In(c, p, G)
0.1 !In(c, p, f) v !In(c, p, g)
0.1 In(c, p, f) => In(c, p, g)
0.1 EXIST f In(c, p, f)
0.1 (In(c, p, F) ^ Cap(F)) v (In(c, p, G) ^ In(c, p, H))
"""


BLOCKS = ("In(bib, pos, fld!)", "In(bib, pos, fld)\n!In(c, p, f) v !In(c, p, g) v f = g.")
TWICE = [("B1", "P2", "F"), ("B1", "P1", "G")]


@pytest.mark.parametrize(
    ("block", "more"),
    [
        pytest.param(BLOCKS[0], TWICE, marks=pytest.mark.slow),
        (BLOCKS[1], []),
        pytest.param(BLOCKS[0], [], marks=pytest.mark.slow),
        pytest.param(BLOCKS[1], TWICE, marks=pytest.mark.slow),
    ],
)
def test_observed_counts_where_labels_violate_blocks(block: str, more: list[tuple[str, str, str]]) -> None:
    model = sqlrl.parse_mln(f"Tok(bib, pos)\nCap(fld)\n{block}\n{JOINING}")
    db = sqlrl.connect()
    db.load("Tok", [("B1", "P1"), ("B1", "P2"), ("B2", "P1")], types=("bib", "pos"), example="bib")
    db.load("Cap", [("F",), ("G",), ("H",)], types=("fld",))
    labels = {("B1", "P1", "F"), ("B2", "P1", "H"), *more}
    db.load("In", sorted(labels), types=("bib", "pos", "fld"), example="bib", target=True)
    true = {
        (c, p): {f for cc, pp, f in labels if (c, p) == (cc, pp)} for c, p in [("B1", "P1"), ("B1", "P2"), ("B2", "P1")]
    }
    wanted = [
        sum({"F", "G"} <= at for at in true.values()),
        sum(bool({"F", "G"} & at) for at in true.values()),
        sum(9 - len(at) ** 2 for at in true.values()),
        sum(9 - len(at) * (3 - len(at)) for at in true.values()),
        sum(bool(at) for at in true.values()),
        sum("F" in at or {"G", "H"} <= at for at in true.values()),
    ]  # fmt: skip
    assert db.count(model)["n"] == wanted
    assert db.count(model, expected=True)["n_observed"] == wanted
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SqlrlWarning)
        sqlrl.AdaGrad().fit(db, model)
    kept = db.sql("select n_observed from sqlrl.clause_statistics order by clause").fetchall()
    assert [int(n) for (n,) in kept] == wanted


# ---- what is read, and in which windows ----------------------------------------------------------------

RULES = """
Word(doc, word)
Class(doc, class)
Good(doc)
0.7 Word(d, A) => Class(d, X)
-0.4 Word(d, w) ^ Class(d, Y)
0.3 Good(d) <=> Class(d, X)
-0.2 Good(d)
Class(d, X) v Class(d, Y).
"""
MODEL = sqlrl.parse_mln(RULES)
DOCS = [f"d{i}" for i in range(9)]
WORDS = [(d, "ABC"[i % 3]) for i, d in enumerate(DOCS)] + [(d, "D") for d in DOCS[::2]]


def database(labels: int = 0, path: Path | None = None) -> sqlrl.Database:
    """Documents with labels by a seed."""
    db, rng = sqlrl.connect(path or ":memory:"), np.random.default_rng(labels + 1)
    db.load("Word", WORDS, types=("doc", "word"), example="doc")
    kinds = [(d, "XY"[k]) for d, k in zip(DOCS, rng.integers(0, 2, len(DOCS)), strict=True)]
    db.load("Class", kinds, types=("doc", "class"), target=True)
    db.load(
        "Good",
        [(d,) for d, k in zip(DOCS, rng.integers(0, 2, len(DOCS)), strict=True) if k],
        types=("doc",),
        target=True,
    )
    return db


@pytest.fixture(scope="module")
def docs() -> sqlrl.Database:
    """The documents, for tests that change nothing."""
    return database()


@pytest.mark.slow
def test_labels_are_read_for_the_observed_counts_alone() -> None:
    databases = [database(seed) for seed in range(2)]
    found = [db.count(MODEL, expected=True).to_arrow() for db in databases]
    expected = [each.column("n_expected").to_numpy().tobytes() for each in found]
    assert len(set(expected)) == 1
    observed = {str(each.column("n_observed").to_pylist()) for each in found}
    assert len(observed) == 2
    for db, each in zip(databases, found, strict=True):
        counted = db.count(MODEL)
        assert each.column("n_observed").to_pylist() == counted["n"]
        assert each.column("groundings").to_pylist() == counted["groundings"]
        difference = np.array(counted["n"]) - each.column("n_expected").to_numpy()
        np.testing.assert_allclose(each.column("difference").to_numpy(), difference, atol=1e-12)


def test_expected_counts_are_sums_of_exact_probabilities(docs: sqlrl.Database) -> None:
    db = docs
    model = sqlrl.parse_mln(RULES.replace("-0.2 Good(d)", "-0.2 Good(d)\n0 Class(d, X)"))
    chances = db.probabilities(model, method="exact")
    n = dict(zip(*(db.count(model, expected=True)[name] for name in ("text", "n_expected")), strict=True))
    assert n["Good(d)"] == pytest.approx(sum(chances.probabilities("Good")["probability"].to_pylist()), abs=1e-12)
    of_class = chances.probabilities("Class").to_pylist()
    assert n["Class(d, X)"] == pytest.approx(sum(r["probability"] for r in of_class if r["class"] == "X"), abs=1e-12)


@pytest.mark.parametrize("entries", [1, pytest.param(30, marks=pytest.mark.slow)])
def test_windows_add_up(entries: int, docs: sqlrl.Database, monkeypatch: pytest.MonkeyPatch) -> None:
    db = docs
    whole = db.count(MODEL, expected=True).to_arrow()
    windows: list[int] = []

    def several(*args: Any, **named: Any) -> Iterator[Any]:
        for window, network in divided(*args, entries=entries, **named):
            windows.append(len(window))
            yield window, network

    monkeypatch.setattr("sqlrl.database.counting.divided", several)
    parts = db.count(MODEL, expected=True).to_arrow()
    assert len(windows) > 1
    assert sum(windows) == len(DOCS)
    for name in ("n_expected", "difference"):
        np.testing.assert_allclose(parts.column(name).to_numpy(), whole.column(name).to_numpy(), rtol=1e-12, atol=1e-12)
    rest = [name for name in whole.column_names if name not in ("n_expected", "difference")]
    assert parts.select(rest).equals(whole.select(rest))


def test_chosen_examples_are_counted_alone(docs: sqlrl.Database) -> None:
    db = docs
    halves = [db.count(MODEL, expected=True, examples=part) for part in (DOCS[:4], DOCS[4:])]
    whole = db.count(MODEL, expected=True)
    for name in ("n_expected", "n_observed", "groundings", "difference"):
        assert np.array(halves[0][name]) + np.array(halves[1][name]) == pytest.approx(np.array(whole[name]))


@pytest.mark.slow
def test_without_labels_the_observed_counts_are_null(docs: sqlrl.Database, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = docs.count(MODEL, expected=True)["n_expected"]
    db = sqlrl.connect()
    db.load("Word", WORDS, types=("doc", "word"), example="doc")
    db.load("Class", [(d, "X") for d in DOCS], types=("doc", "class"), target=True)
    db.scope("Good", [(d,) for d in DOCS])
    for entries in (None, 1):
        if entries is not None:
            monkeypatch.setattr("sqlrl.database.counting.divided", partial(divided, entries=entries))
        found = db.count(MODEL, expected=True, keep=True)
        assert found["n_observed"] == [None] * len(found)
        assert found["difference"] == [None] * len(found)
        assert len(expected) == len(found)
    assert db.sql("from sqlrl.count_differences").fetchall() == []
    assert db.sql("select count(n_expected), count(n_observed) from sqlrl.clause_statistics").fetchall() == [(10, 0)]


# ---- what is kept ----------------------------------------------------------------------------------------


@pytest.mark.slow
def test_counts_are_kept_beside_each_other(tmp_path: Path) -> None:
    path = tmp_path / "docs.duckdb"
    with database(path=path) as db:
        table = db.count(MODEL, expected=True, keep=True)
        db.count(MODEL, expected=True, examples=DOCS[:3], keep=True)
        db.count(MODEL, expected=True)
        assert db.sql("select run, learner, status from sqlrl.run order by run").fetchall() == [
            (1, "expected_counts", "done"),
            (2, "expected_counts", "done"),
        ]
        kept = db.sql(
            "select clause, n_observed, n_expected, groundings, n_predicted, delta_n from sqlrl.clause_statistics where run = 1 order by clause"
        ).fetchall()
        columns = ("clause", "n_observed", "n_expected", "groundings")
        assert [row[:4] for row in kept] == list(zip(*(table[c] for c in columns), strict=True))
        assert {row[4:] for row in kept} == {(None, None)}
    with sqlrl.connect(path, read_only=True) as db:
        view = db.sql(
            "select run, clause, weight, n_observed, n_expected, difference, groundings from sqlrl.count_differences"
        )
        rows = view.fetchall()
        # The newest run first, in each the greatest difference first.
        assert [row[0] for row in rows] == [2] * 5 + [1] * 5
        by_run = [abs(row[5]) for row in rows[5:]]
        assert by_run == sorted(by_run, reverse=True)
        assert all(row[5] == row[3] - row[4] for row in rows)
        assert {row[1] for row in rows[5:]} == set(table["text"])
        # Without keeping it can be asked of a file that cannot be written.
        assert db.count(MODEL, expected=True)["n_expected"] == table["n_expected"]
        with pytest.raises(InputError, match="opened read-only"):
            db.count(MODEL, expected=True, keep=True)


@pytest.mark.slow
def test_the_likelihood_says_what_it_expects() -> None:
    db = database()
    sqlrl.AdaGrad().fit(db, MODEL)
    assert db.sql("select count(n_expected) from sqlrl.clause_statistics").fetchall() == [(0,)]
    fit = sqlrl.Likelihood("l2", 0.5).fit(db, MODEL)
    kept = db.sql(
        f"select clause, n_expected from sqlrl.clause_statistics where run = {fit.run_} order by clause"
    ).fetchall()
    asked = db.count(fit.model_, expected=True).to_pylist()
    assert len(kept) == len(asked) > 2
    # Of hard clauses a learner says nothing.
    soft = [(n, row) for (_, n), row in zip(kept, asked, strict=True) if row["weight"] is not None]
    assert [n for _, n in kept].count(None) == len(asked) - len(soft)
    assert [n for n, _ in soft] == pytest.approx([row["n_expected"] for _, row in soft], abs=1e-9)
    # At the optimum, what is observed more often than expected has a positive weight.
    assert [row["difference"] for _, row in soft] == pytest.approx([0.5 * row["weight"] for _, row in soft], abs=1e-4)
    assert db.sql("select distinct run from sqlrl.count_differences").fetchall() == [(fit.run_,)]


@pytest.mark.slow
def test_a_learner_says_nothing_of_what_it_does_not_know() -> None:
    """A fixed weight is odds of its atoms there, and examples that are left out are in n all the same."""
    db = database()
    fixed = sqlrl.parse_mln("Word(doc, word)\nGood(doc)\n@0.7 Good(d)\nWord(d, +w) => Good(d)")
    fit = sqlrl.Likelihood("l2", 0.5).fit(db, fixed)
    kept = db.sql(f"select n_expected from sqlrl.clause_statistics where run = {fit.run_} order by clause").fetchall()
    asked = [row["n_expected"] for row in db.count(fit.model_, expected=True)]
    assert kept[0] == (None,)
    assert [n for (n,) in kept[1:]] == pytest.approx(asked[1:], abs=1e-9)
    db.load("Barred", [(d,) for d in DOCS[:5]], types=("doc",), example="doc")
    model = sqlrl.parse_mln("Word(doc, word)\nBarred(doc)\nGood(doc)\nWord(d, +w) => Good(d)\nBarred(d) => !Good(d).")
    counts = {}
    for how in ("warn", "skip"):
        with pytest.warns(InfeasibleTruthWarning):
            fit = sqlrl.Likelihood("l2", 0.5, on_infeasible_truth=how).fit(db, model)
        counts[how] = db.sql(
            f"select count(n_observed), count(n_expected) from sqlrl.clause_statistics where run = {fit.run_}"
        ).fetchall()
    assert counts == {"warn": [(5, 4)], "skip": [(5, 0)]}


# ---- what is refused -------------------------------------------------------------------------------------

GRID = """
Across(cell, cell)
Down(cell, cell)
On(cell)
0.5 Across(x, y) => (On(x) <=> On(y))
0.5 Down(x, y) => (On(x) <=> On(y))
-0.1 On(x)
"""


def grid(side: int) -> sqlrl.Database:
    db = sqlrl.connect()
    at = range(side)
    db.load("Across", [(f"c{i}_{j}", f"c{i}_{j + 1}") for i in at for j in at if j + 1 < side], types=("cell", "cell"))
    db.load("Down", [(f"c{i}_{j}", f"c{i + 1}_{j}") for i in at for j in at if i + 1 < side], types=("cell", "cell"))
    return db


def test_a_component_that_is_too_wide_is_named() -> None:
    model = sqlrl.parse_mln(GRID, query=["On"])
    narrow = grid(8).count(model, expected=True)
    assert narrow["n_observed"] == [None] * 3
    assert all(0 < n < g for n, g in zip(narrow["n_expected"], narrow["groundings"], strict=True))
    with pytest.raises(InputError) as caught:
        grid(40).count(model, expected=True)
    text = str(caught.value)
    assert 'beyond the bound for 1 of 1 component, with 1,600 atoms: one of 1,600 atoms (On("c0_0"), ' in text
    assert "would be within it without the 3,120 ground clauses of one clause, such as " in text
    assert "(from Across(x, y) => (On(x) <=> On(y)))" in text


def test_what_is_refused(docs: sqlrl.Database) -> None:
    db = docs
    head = RULES[: RULES.index("0.7")]
    with pytest.raises(InputError, match="weight"):
        db.count(sqlrl.parse_mln(head + "Good(d)"), expected=True)
    with pytest.raises(InputError, match="keep='yes' must be True or False"):
        db.count(MODEL, expected=True, keep="yes")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="a model is needed, not the text"):
        db.count("1 Good(d)", expected=True)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="not an object of type SoftModel"):
        db.count(sqlrl.parse_psl("1: Word(D, 'A') -> Good(D)"), expected=True)  # type: ignore[arg-type]
    with pytest.raises(InfeasibleError, match="these 2 ground clauses conflict"):
        db.count(sqlrl.parse_mln(head + "Good(d).\nWord(d, A) => !Good(d)."), expected=True)
    with pytest.raises(GroundingLimitError, match="limit"):
        db.count(sqlrl.parse_mln(head + "1 Good(d) ^ Class(d, c) => Class(d, c2)"), expected=True, limit=3)
    with pytest.raises(InputError, match="no_such"):
        db.count(MODEL, expected=True, examples=["no_such"])
    assert db.sql("from sqlrl.run").fetchall() == []


def test_an_error_while_it_is_kept_leaves_no_run_that_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    db = database()

    def fail(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("sqlrl.database.counting.with_expected", fail)
    with pytest.raises(KeyboardInterrupt):
        db.count(MODEL, expected=True, keep=True)
    assert db.sql("select status from sqlrl.run").fetchall() == [("interrupted",)]


def test_the_command_line_and_scripts_say_the_same(tmp_path: Path) -> None:
    from typer.testing import CliRunner

    from sqlrl.cli.app import app

    path, rules = tmp_path / "docs.duckdb", tmp_path / "docs.mln"
    rules.write_text(RULES)
    with database(path=path) as db:
        wanted = db.count(MODEL, expected=True).to_arrow().to_pylist()
        db.models.keep("docs", MODEL)
        db.run("CREATE TABLE found AS FROM ML.COUNT(MODEL docs, (SELECT 'd1' AS example), expected => true)")
        described = db.sql("select column_name, column_type from (describe found)").fetchall()
        assert described[2:6] == [
            ("n_observed", "DECIMAL(38,0)"), ("n_expected", "DOUBLE"), ("difference", "DOUBLE"), ("groundings", "DECIMAL(38,0)"),
        ]  # fmt: skip
        one = db.count(MODEL, expected=True, examples=["d1"])
        assert db.sql("select n_expected from found order by clause").fetchall() == [(n,) for n in one["n_expected"]]

    def run(*more: str) -> Any:
        return CliRunner().invoke(app, ["count", str(path), "--model", str(rules), "--expected", *more])

    done = run("--json", "--keep")
    assert done.exit_code == 0, done.output
    shown = json.loads(done.stdout)
    assert [row["n_expected"] for row in shown] == [row["n_expected"] for row in wanted]
    with sqlrl.connect(path, read_only=True) as db:
        assert len(db.sql("from sqlrl.count_differences").fetchall()) == len(wanted)
    for more, message in {
        ("--by", "d"): "leave --by out",
        ("--world", "found"): "leave --world out",
        ("--against", "found"): "leave --against out",
        ("--formula", "Good(d)"): "leave --formula out",
        ("--keep", "--read-only"): "needs a database that can be written",
    }.items():
        refused = run(*more)
        assert refused.exit_code == 2
        assert message in " ".join(refused.output.replace("│", " ").split())
    alone = CliRunner().invoke(app, ["count", str(path), "--model", str(rules), "--keep"])
    assert alone.exit_code == 2
    assert "give --expected, too" in " ".join(alone.output.replace("│", " ").split())
