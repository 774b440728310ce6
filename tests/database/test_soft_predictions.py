"""Predictions of soft models from tables to truth values, against the enumeration of groundings and an optimiser of another library."""

from __future__ import annotations

import warnings

import numpy as np
import pyarrow as pa
import pytest
from scipy.optimize import minimize

import sqlrl
from sqlrl.errors import (
    CatalogError,
    GroundingLimitError,
    GroundingWarning,
    InfeasibleError,
    InputError,
    ModelError,
)
from sqlrl.logic.psl_files import parse_psl
from tests.ground.soft_worlds import enumerated, penalty, random_world

RULES = """
2: C(A, B) & P(A, B) -> Q(B) ^2
1: V(A, B) & !D(A) & P(A, B) & A != B -> R(A, B) ^2
0.5: !P(A, B) ^2
0.7: R(A, B) ^2
1.5: R(A, B) & R(B, C) -> R(A, C) ^2
0.9: V(A, B) -> Q(A) ^2
0.3: !Q(A)
2: R(A, B) = R(B, A) ^2
1: P(A, +B) <= 1 ^2 {B: C(A, B)}
"""


def loaded(world):
    db = sqlrl.connect(progress=False)
    for name, data in world.data.items():
        columns = [f"c{i}" for i in range(data.arity)]
        rows = [(*x, v) for x, v in data.known.items()]
        table = pa.table(
            {
                **{c: pa.array([r[i] for r in rows], pa.string()) for i, c in enumerate(columns)},
                "v": pa.array([r[-1] for r in rows], pa.float64()),
            }
        )
        given = data.atoms is not None
        if rows or not given:
            how = {"value": "v"} if data.valued or given else {}
            table = table if how else table.select(columns)
            db.load(name, table, columns=columns, types=["name"] * data.arity, given=given, empty="allow", **how)
        if given:
            atoms = {c: pa.array([x[i] for x in data.atoms], pa.string()) for i, c in enumerate(columns)}
            db.scope(name, pa.table(atoms))
    return db


@pytest.mark.parametrize("seed", range(2))
def test_values_cost_the_least_of_the_enumerated_rules(seed):
    world, model = random_world(seed), parse_psl(RULES)
    with warnings.catch_warnings(action="ignore"):
        db = loaded(world)
        prediction = db.predict(model)
    found = enumerated(world, model)
    ids = list(world.numbered().values())
    weights = [rule.weight for rule in model.rules]

    def cost(y):
        return float(np.dot(weights, penalty(model, found, dict(zip(ids, y, strict=True)))))

    value = {}
    for name in prediction.open_predicates:
        rows = prediction.atoms(name)
        keys = [c for c in rows.column_names if c not in ("example", "value")]
        for row in rows.to_pylist():
            value[name, tuple(row[k] for k in keys)] = row["value"]
    mine = np.array([value[atom] for atom in world.numbered()])
    assert prediction.objective == pytest.approx(cost(mine), abs=1e-9)
    best = min(
        (
            minimize(cost, start, bounds=[(0, 1)] * len(ids), method="L-BFGS-B")
            for start in (mine, np.full(len(ids), 0.5))
        ),
        key=lambda r: r.fun,
    )
    assert prediction.objective <= best.fun + 1e-5
    assert prediction.bound <= prediction.objective
    assert prediction.status.value == "optimal"


@pytest.fixture(scope="module")
def friends():
    db = sqlrl.connect(progress=False)
    db.load("Friends", [("Anna", "Bob"), ("Bob", "Chris")], types=["person", "person"])
    db.load("Smokes", [("Anna", 1.0)], columns=[0], types=["person"], value=1, given=True)
    db.load("Smokes", [("Bob", 0.8), ("Chris", 0.2)], columns=[0], types=["person"], value=1, target=True)
    model = parse_psl("2: Friends(A, B) & Smokes(A) -> Smokes(B) ^2\n1: !Smokes(A) ^2")
    return db, model, db.predict(model)


def test_values_are_those_of_the_normal_equations(friends):
    *_, prediction = friends
    # 2 (1 - b)^2 + 2 (b - c)^2 + b^2 + c^2: 5 b - 2 c = 2, 3 c = 2 b.
    assert prediction.atoms()["value"].to_pylist() == pytest.approx([6 / 11, 4 / 11], abs=1e-4)
    assert prediction.atoms(at_least=0.5)["person"].to_pylist() == ["Bob"]


def test_labels_are_compared_and_never_read(friends):
    db, model, prediction = friends
    scores = prediction.evaluate(threshold=0.5)
    assert scores.mean_absolute_error == pytest.approx((0.8 - 6 / 11 + 4 / 11 - 0.2) / 2, abs=1e-4)
    assert (scores.atoms, scores.true, scores.auc_roc, scores.f1) == (2, 1, 1.0, 1.0)
    assert db.evaluate(prediction, threshold=0.3).precision == 0.5
    other = sqlrl.connect(progress=False)
    other.load("Friends", [("Anna", "Bob"), ("Bob", "Chris")], types=["person", "person"])
    other.load("Smokes", [("Anna", 1.0)], columns=[0], types=["person"], value=1, given=True)
    other.load("Smokes", [("Bob", 0.1), ("Chris", 0.9)], columns=[0], types=["person"], value=1, target=True)
    assert other.predict(model).result.y.tobytes() == prediction.result.y.tobytes()


def test_pushes_of_a_best_value_cancel(friends):
    *_, prediction = friends
    for name in ("Bob", "Chris"):
        table = prediction.why(f"Smokes({name})").table
        assert sum(table["push"]) == pytest.approx(0, abs=1e-3)
    bob = prediction.why("Smokes(Bob)").table.to_arrow().to_pylist()
    assert {row["hinge"] for row in bob} == {"Smokes(Bob)", "Smokes(Bob) - Smokes(Chris)", "-Smokes(Bob) + 1"}
    assert {row["side"] for row in bob} == {"up", "down"}


@pytest.mark.parametrize(("value", "said"), [(0.7, "with the truth value 0.7"), (1.0, "as true"), (0.0, "as false")])
def test_the_value_of_an_observed_atom_is_said(value, said):
    db = sqlrl.connect(progress=False)
    db.load("Smokes", [("Anna", value), ("Eve", 0.5)], columns=[0], types=["person"], value=1, given=True)
    db.scope("Smokes", [("Bob",)])
    with pytest.raises(InputError, match=rf"^Smokes\(Anna\) is given {said} by the evidence, and not predicted$"):
        db.predict(parse_psl("1: !Smokes(A)")).why("Smokes(Anna)")


def test_hard_rules_that_cannot_hold_are_named(friends):
    db, *_ = friends
    with pytest.raises(InfeasibleError, match=r"<text>:1: Smokes\('Bob'\) >= 0.9 \. says -Smokes\(Bob\) \+ 0.9 <= 0"):
        db.predict(parse_psl("Smokes('Bob') >= 0.9 .\nSmokes('Bob') <= 0.5 ."))


def test_rules_without_groundings_are_named_once(friends):
    db, *_ = friends
    model = parse_psl("1: Friends(A, 'Anna') & Smokes(A) -> Smokes('Anna')\n1: !Smokes(A)")
    with pytest.warns(GroundingWarning, match=r"1 rule has no grounding.*Friends\(A, 'Anna'\)"):
        db.predict(model)
    with warnings.catch_warnings(action="error"):
        db.predict(model)


def test_what_only_networks_take_is_refused(friends):
    db, model, _ = friends
    with pytest.raises(InputError, match=r"random_state=3.*HingeOptions"):
        db.predict(model, random_state=3)
    network = sqlrl.parse_mln("Friends(person, person)\n1 Friends(x, y)", query=["Friends"])
    with pytest.raises(InputError, match="missing= are of soft models"):
        db.predict(network, options=object())


def test_a_model_without_open_predicates_is_refused():
    db = sqlrl.connect(progress=False)
    db.load("Friends", [("Anna", "Bob")])
    with pytest.raises(CatalogError, match="no predicate is open"):
        db.predict(parse_psl("1: Friends(A, B) -> Friends(B, A)"))


def test_a_network_refuses_values_between():
    db = sqlrl.connect(progress=False)
    db.load("Smokes", [("Bob", 0.8)], columns=[0], types=["person"], value=1)
    with pytest.raises((CatalogError, ModelError), match="Smokes"):
        db.predict(sqlrl.parse_mln("Smokes(person)\nCancer(person)\n1 Smokes(x) => Cancer(x)", query=["Cancer"]))


def test_examples_are_predicted_apart():
    db = sqlrl.connect(progress=False)
    db.load("Word", [("d1", "good"), ("d2", "bad")], types=["doc", "word"], example="doc")
    db.scope("Liked", [("d1",), ("d2",)])
    model = parse_psl("1: Word(D, 'good') -> Liked(D)\n0.1: !Liked(D)", query=["Liked"]).with_types(
        {"Word": ["doc", "word"], "Liked": ["doc"]}
    )
    both, one = db.predict(model), db.predict(model, examples=["d2"])
    assert both.atoms()["value"].to_pylist() == [1.0, 0.0]
    assert one.atoms()["doc"].to_pylist() == ["d2"]
    assert one.result.y.tolist() == [0.0]


@pytest.mark.parametrize(
    "rule",
    [
        "3: Liked(+D) <= 1 ^2",
        pytest.param("3: Liked(+D) / |D| <= 0.1", marks=pytest.mark.slow),
        "2: Said(+D, W) >= 0.5 ^2",
    ],
)
def test_a_sum_over_examples_goes_through_those_asked_for(rule):
    def database(docs):
        db = sqlrl.connect(progress=False)
        words = [(f"d{i}", "good" if i % 2 else "bad", i / 10) for i in docs]
        db.load("Word", words, columns=[0, 1], types=["doc", "word"], example="doc", value=2)
        db.scope("Liked", [(f"d{i}",) for i in docs])
        db.scope("Said", [(f"d{i}", "good" if i % 2 else "bad") for i in docs])
        return db

    model = parse_psl(
        f"1: Word(D, W) -> Liked(D)\n1: Said(D, W) -> Liked(D)\n0.1: !Liked(D)\n{rule}", query=["Liked", "Said"]
    )
    some, alone = database(range(1, 7)).predict(model, examples=["d3", "d5"]), database([3, 5]).predict(model)
    for name in ("Liked", "Said"):
        assert some.atoms(name).drop_columns("value") == alone.atoms(name).drop_columns("value")
    assert some.objective == pytest.approx(alone.objective, abs=1e-5)
    assert [x.tolist() for x in (some.network.constants, some.network.coefficients, some.network.base)] == [
        x.tolist() for x in (alone.network.constants, alone.network.coefficients, alone.network.base)
    ]


# ---- the Boolean reading -----------------------------------------------------------------------------


BOOLEAN = "2: Friends(A, B) & Smokes(A) & A != B -> Smokes(B) ^2\n1: !Smokes(A)\n0.7: Smokes(A) | Cancer(A)\n!Cancer('Anna') .\n0.3: !Cancer(A) ^2"


def test_the_boolean_reading_is_the_distribution_of_the_costs():
    db = sqlrl.connect(progress=False)
    db.load("Friends", [("Anna", "Bob"), ("Bob", "Chris"), ("Chris", "Anna")], types=["person", "person"])
    people = ["Anna", "Bob", "Chris"]
    for name in ("Smokes", "Cancer"):
        db.scope(name, [(x,) for x in people])
    model = parse_psl(BOOLEAN, query=["Smokes", "Cancer"])
    model = model.with_types({"Friends": ["person", "person"], "Smokes": ["person"], "Cancer": ["person"]})
    friends = [("Anna", "Bob"), ("Bob", "Chris"), ("Chris", "Anna")]
    costs = {}
    for bits in np.ndindex(*[2] * 6):
        smokes, cancer = (dict(zip(people, part, strict=True)) for part in (bits[:3], bits[3:]))
        if cancer["Anna"]:
            continue
        costs[bits] = (
            2 * sum(smokes[a] and not smokes[b] for a, b in friends)
            + sum(smokes.values())
            + 0.7 * sum(not (smokes[a] or cancer[a]) for a in people)
            + 0.3 * sum(cancer.values())
        )
    total = sum(np.exp(-c) for c in costs.values())
    chance = [sum(np.exp(-c) for bits, c in costs.items() if bits[i]) / total for i in range(6)]
    found = db.probabilities(model, semantics="boolean", method="exact")
    mine = [
        dict(zip(t["person"].to_pylist(), t["probability"].to_pylist(), strict=True))
        for t in map(found.probabilities, ("Smokes", "Cancer"))
    ]
    assert [mine[0][x] for x in people] + [mine[1][x] for x in people] == pytest.approx(chance, abs=1e-9)
    prediction = db.predict(model, semantics="boolean")
    assert prediction.cost == pytest.approx(min(costs.values()))


def test_what_has_no_boolean_reading_is_refused_with_its_place(friends):
    db, model, _ = friends
    for text, match in (
        ("Smokes(+A) <= 1 .", "<text>:1: an arithmetic rule"),
        ("1: Smokes(A) & Smokes(B) & (A % B) -> Friends(A, B)", "'%'"),
    ):
        with pytest.raises(sqlrl.errors.UnsupportedError, match=match):
            db.predict(parse_psl(text), semantics="boolean")
    with pytest.raises(InputError, match="semantics='boolean'"):
        db.probabilities(model)
    with pytest.raises(InputError, match="must be 'soft' or 'boolean'"):
        db.predict(model, semantics="fuzzy")
    with pytest.raises(InputError, match="is of soft models"):
        db.predict(sqlrl.parse_mln("P(t)\n1 P(x)"), semantics="soft")


# ---- what a reader found ------------------------------------------------------------------------------


@pytest.mark.parametrize("terms", ["F(A, B) + N(A, B)", "N(A, B) + F(A, B)"])
def test_the_order_of_terms_makes_no_difference(terms):
    db = sqlrl.connect(progress=False)
    db.load("F", [("a", "b", 0.5)], columns=[0, 1], types=["p", "p"], value=2)
    db.load("N", [("a", "b"), ("c", "b")], types=["p", "p"])
    db.scope("S", [("b",)])
    # Of A nothing but both closed atoms says what it is: a alone. (1.5 - 0.5)^2.
    assert db.predict(parse_psl(f"1: {terms} - 0.5 * S(B) <= 0 ^2")).objective == pytest.approx(1.0, abs=1e-6)


def test_rules_of_dropped_predicates_are_left_out():
    db = sqlrl.connect(progress=False)
    db.load("H", [("a",)], types=["p"])
    db.scope("S", [("a",), ("b",)])
    prediction = db.predict(parse_psl("5: H(A) -> S(A)\n1: !S(A)"), roles=sqlrl.Roles(drop=["H"]))
    assert prediction.result.y.tolist() == [0.0, 0.0]
    assert [row["rule"] for row in prediction.why("S(a)").table] == ["!S(A)"]


def test_a_filter_by_what_is_inferred_is_refused():
    db = sqlrl.connect(progress=False)
    for name in ("S", "T"):
        db.scope(name, [("a",), ("b",)])
    with pytest.raises(ModelError, match=r"S is to be inferred, and stands in the filter \{A: S\(A\)\}"):
        db.predict(parse_psl("1: T(+A) <= 0.5 {A: S(A)}\n1: T(A)\n1: S(A)"))


@pytest.mark.parametrize("rule", ["1: S(A) + S(B) + S(C) <= 1", "1: D(A) & D(B) & D(C) -> E(A)"])
def test_the_limit_holds_for_every_kind_of_rule(rule):
    db = sqlrl.connect(progress=False)
    people = [(f"n{i}",) for i in range(30)]
    db.scope("S", people)
    db.load("D", people, types=["p"])
    db.load("E", people[:1], types=["p"])
    with pytest.raises(GroundingLimitError, match=r"limit"):
        db.predict(parse_psl(f"{rule}\n1: !S(A)"), limit=1000)


def test_learners_refuse_an_open_predicate_without_labels():
    db = sqlrl.connect(progress=False)
    db.load("D", [("a",), ("b",)], types=["p"])
    db.scope("S", [("a",), ("b",)])
    with pytest.raises(InputError, match="label"):
        sqlrl.SoftMapLikelihood().fit(db, parse_psl("1: D(A) -> S(A)"))


@pytest.mark.parametrize("options", [{"relative": "x"}, {"absolute": None}, {"violation": True}])
def test_options_that_are_no_numbers_are_refused(options):
    with pytest.raises(InputError, match=next(iter(options))):
        sqlrl.HingeOptions(**options)
