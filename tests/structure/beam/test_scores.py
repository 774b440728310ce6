"""The score of models and the gain of candidates, against scipy's optimum over all atoms of small worlds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from scipy import optimize, special

import sqlrl
from sqlrl.logic.terms import EqualityLiteral, Literal
from sqlrl.structure.beam.clauses import NEW, Language, SearchClause
from sqlrl.structure.beam.scores import TIGHT, Member, Objective
from tests.structure.beam.brute import World, namer, terms

PREDICATES = {"P": ("a",), "Q": ("a",), "R": ("a", "a"), "S": ("a", "b"), "T": ("b",)}
CONSTANTS = {"a": ("a0", "a1", "a2", "a3"), "b": ("b0", "b1")}
STRENGTH = 0.01


def world(seed: int) -> World:
    generator = np.random.default_rng(seed)
    empty = World(frozenset(), CONSTANTS, PREDICATES)
    atoms = [atom for name in PREDICATES for atom in empty.atoms(name)]
    share = {"P": 0.5, "Q": 0.7, "R": 0.3, "S": 0.5, "T": 0.5}
    # Each constant is in some fact.
    facts = {atom for atom in atoms if generator.random() < share[atom[0]]}
    facts |= {("S", ("a0", "b0")), ("S", ("a1", "b1")), ("R", ("a2", "a3"))}
    return World(frozenset(facts), CONSTANTS, PREDICATES)


def load(found: World) -> sqlrl.Database:
    db = sqlrl.connect()
    for name, types in PREDICATES.items():
        db.load(name, sorted(row for p, row in found.facts if p == name), types=types, empty="allow")
    return db


def random_clause(generator: np.random.Generator, language: Language) -> SearchClause:
    """Go some random steps from a random unit clause."""
    found = language.unit(str(generator.choice(list(PREDICATES))))
    for _ in range(generator.integers(1, 4)):
        near = list(language.neighbours(found))
        found = near[generator.integers(len(near))]
    return found


def optimum(
    found: World,
    soft: Sequence[tuple[Sequence[SearchClause], int]],
    hard: Sequence[SearchClause],
    fixed: Sequence[tuple[SearchClause, float]] = (),
    odds: Mapping[tuple[str, tuple[str, ...]], float] | None = None,
) -> tuple[float, np.ndarray]:
    """The greatest weighted pseudo-log-likelihood less the prior, and the weights there, atom by atom."""
    says, truth, share, offset = [], [], [], []
    for name in PREDICATES:
        atoms = found.atoms(name)
        for atom in atoms:
            says.append([sign * sum(found.changes(c.clause, atom)[0] for c in some) for some, sign in soft])
            known = sum(weight * found.changes(c.clause, atom)[0] for c, weight in fixed)
            offset.append(known + (odds or {}).get(atom, 0.0))
            truth.append(1.0 if atom in found.facts else -1.0)
            held = any(found.changes(c.clause, atom)[1] for c in hard)
            share.append(0.0 if held else 1 / len(atoms))
    x, t, s = np.array(says, dtype=float).reshape(len(truth), -1), np.array(truth), np.array(share)

    def loss(w: np.ndarray) -> tuple[float, np.ndarray]:
        margin = t * (x @ w + np.array(offset))
        value = s @ special.log_expit(margin) - STRENGTH / 2 * w @ w
        return -value, -(x.T @ (t * s * special.expit(-margin)) - STRENGTH * w)

    result = optimize.minimize(loss, np.zeros(len(soft)), jac=True, method="BFGS", options={"gtol": 1e-10})
    return -result.fun, result.x


def pair(left: str, right: str) -> SearchClause:
    """`!P(x) v Q(x)` and its like."""
    literals = tuple(Literal(name.strip("!"), terms("x"), not name.startswith("!")) for name in (left, right))
    return SearchClause((("x", "a"),), literals, (NEW, NEW))


NEVER = SearchClause(
    (("x", "a"), ("y", "a")), (Literal("R", terms("x", "y"), positive=False), EqualityLiteral(*terms("x", "y"), False)),
    (NEW, NEW),
)  # fmt: skip
"""`!R(x, y) v x != y`: no loops."""


@pytest.mark.parametrize(
    ("seed", "candidates"), [*((seed, 3) for seed in range(4)), pytest.param(4, 12, marks=pytest.mark.slow)]
)
def test_scores_and_gains_are_the_optimum_over_all_atoms(seed: int, candidates: int) -> None:
    generator, found = np.random.default_rng(seed), world(seed)
    language = Language(PREDICATES, 4, 3)
    form = namer(language)
    # A member may be several clauses, and count where one is violated; hard ones may be violated by the data.
    soft = [([random_clause(generator, language)], 1), ([random_clause(generator, language)], -1)]
    soft.append(([random_clause(generator, language) for _ in range(2)], 1 if seed % 2 else -1))
    hard = [[], [NEVER], [pair("!P", "Q")], [random_clause(generator, language), NEVER]][seed % 4]
    members = [Member(tuple(map(form, some)), sign) for some, sign in soft]
    members[1:1] = [Member((form(each),), 1, hard=True) for each in hard]
    with load(found) as db, db.advanced.learning.clause_search(None, examples=None, limit=None) as search:
        assert dict(search.predicates) == PREDICATES
        objective = Objective(search.source, STRENGTH)
        model = objective.model(members)
        value, weights = optimum(found, soft, hard)
        assert model.value == pytest.approx(value, abs=1e-7)
        assert model.weights == pytest.approx(weights, abs=1e-3)
        for _ in range(candidates):
            candidate = random_clause(generator, language)
            instance = form(candidate)
            search.source.learn([(instance, candidate.added)])
            more, weights = optimum(found, [*soft, ([candidate], 1)], hard)
            gain = objective.gain(model, instance, tolerance=TIGHT)
            assert gain.gain == pytest.approx(more - value, abs=1e-6), str(candidate)
            assert gain.weights == pytest.approx(weights, abs=1e-2)
            assert gain.weight == gain.weights[-1]
            loose = objective.gain(model, instance)
            assert more - value - 1e-4 <= loose.gain <= more - value + 1e-6
            # Added to the model, it scores what the gain said.
            added = objective.model([*members, Member((instance,))], gain.weights)
            assert added.value == pytest.approx(more, abs=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, *(seed for seed in (1, 2))])
def test_fixed_weights_and_soft_evidence_have_their_say(seed: int) -> None:
    generator, found = np.random.default_rng(100 + seed), world(seed)
    language = Language(PREDICATES, 4, 3)
    form = namer(language)
    fixed = [(random_clause(generator, language), float(generator.normal())) for _ in range(2)]
    atoms = [atom for atom in found.atoms("R") if generator.random() < 0.5]
    odds = {atom: float(generator.choice([-1.5, 0.25, 2.0])) for atom in atoms}
    soft = [([random_clause(generator, language)], 1)]
    members = [Member((form(clause),), fixed_weight=weight) for clause, weight in fixed]
    members.insert(1, Member((form(soft[0][0][0]),)))
    with load(found) as db:
        db.load("R", sorted(row for name, row in found.facts if name == "R"), types=["a", "a"], target=True)
        chances = [(*row, float(special.expit(value))) for (_, row), value in odds.items()]
        db.load("R", chances, types=["a", "a"], probability=2)
        with db.advanced.learning.clause_search(None, examples=None, limit=None) as search:
            objective = Objective(search.source, STRENGTH)
            model = objective.model(members)
            value, weights = optimum(found, soft, [], fixed, odds)
            assert model.value == pytest.approx(value, abs=1e-7)
            assert model.weights == pytest.approx(weights, abs=1e-3)
            for _ in range(3):
                candidate = random_clause(generator, language)
                search.source.learn([(form(candidate), candidate.added)])
                more, weights = optimum(found, [*soft, ([candidate], 1)], [], fixed, odds)
                gain = objective.gain(model, form(candidate), tolerance=TIGHT)
                assert gain.gain == pytest.approx(more - value, abs=1e-6), str(candidate)
                assert gain.weights == pytest.approx(weights, abs=1e-2)


def test_the_empty_model_gives_each_predicate_one_half() -> None:
    with load(world(0)) as db, db.advanced.learning.clause_search(None, examples=None, limit=None) as search:
        model = Objective(search.source, STRENGTH).model([])
        assert model.value == pytest.approx(-len(PREDICATES) * np.log(2))


def test_a_predicate_without_a_true_atom_counts_its_false_ones() -> None:
    found = world(1)
    found = World(frozenset(x for x in found.facts if x[0] not in ("T", "P")), CONSTANTS, PREDICATES)
    language = Language(PREDICATES, 3, 3)
    form = namer(language)
    units = [language.unit(name) for name in PREDICATES]
    with load(found) as db, db.advanced.learning.clause_search(None, examples=None, limit=None) as search:
        model = Objective(search.source, STRENGTH).model([Member((form(each),)) for each in units])
        value, weights = optimum(found, [([each], 1) for each in units], [])
        assert model.value == pytest.approx(value, abs=1e-7)
        assert model.weights == pytest.approx(weights, abs=1e-3)
