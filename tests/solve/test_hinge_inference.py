"""The most probable state of soft models: as good as outside solvers say, with a bound that no state passes."""

from __future__ import annotations

import io
import itertools
import os
import pickle
import signal
import threading

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from sqlrl.errors import InfeasibleError, InputError, NumericError
from sqlrl.report import PlainConsole
from sqlrl.solve.hinge.bound import dual_bound
from sqlrl.solve.hinge.inference import map_state
from sqlrl.solve.hinge.interior_point import interior_points
from sqlrl.solve.hinge.iterates import residuals, start
from sqlrl.solve.hinge.problem import problem_of
from sqlrl.solve.hinge.result import HingeOptions, HingeResult, HingeState, HingeStatus, InfeasibleHingesError, Method
from sqlrl.solve.hinge.sample_networks import hinge_network
from sqlrl.solve.hinge.single_atoms import solve_single_atoms
from tests.solve.hinges import Soft, best, best_of_clarabel, feasible, larger_softs, random_soft, smooth_softs, softs

LINEAR = ["", "=", "", "."]
MIXED = ["", "2", "=", "2=", ".", "=."]
METHODS: tuple[Method, ...] = ("auto", "primal-dual", "admm")


def check(soft: Soft, result: HingeResult, expected: float) -> None:
    """Hold a result against the least objective that an outside solver found."""
    assert result.status is HingeStatus.OPTIMAL, result
    assert result.objective == pytest.approx(soft.cost(result.y), rel=1e-12, abs=1e-15)
    assert result.violation == pytest.approx(soft.excess(result.y), abs=1e-12)
    assert result.violation <= 1e-6
    assert result.violated == 0
    assert result.y.min(initial=0) >= 0
    assert result.y.max(initial=0) <= 1
    assert result.bound <= expected + 1e-9 * (1 + expected)
    assert result.objective <= expected + 2e-6 * (1 + expected + max(soft.weights))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("seed", range(12))
def test_linear_models_are_solved_as_by_highs(seed: int, method: Method) -> None:
    rules = [LINEAR, ["", ""], ["", "=", "=."]][seed % 3]
    atoms, hinges = ((4, 8), (20, 60), (60, 200))[seed % 3 if seed % 2 else 1]
    soft = random_soft(seed, atoms, hinges, rules, spread=0.5)
    check(soft, map_state(soft.network, soft.weights, HingeOptions(method=method)), best(soft))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("seed", range(12))
def test_squared_models_are_solved_as_by_sequential_quadratic_programming(seed: int, method: Method) -> None:
    soft = random_soft(100 + seed, 3 + seed, 6 + seed, [MIXED, ["2"], ["2", "2=", "."]][seed % 3], spread=0.5)
    expected = best(soft)
    assert np.isfinite(expected)
    check(soft, map_state(soft.network, soft.weights, HingeOptions(method=method)), expected)


@pytest.mark.parametrize("seed", range(12))
def test_interior_points_are_those_of_sequential_quadratic_programming(seed: int) -> None:
    soft = random_soft(
        200 + seed, 4 + seed, 8 + 2 * seed, [MIXED, ["2"], ["", "2=", "."], ["=", "2", "=."]][seed % 4], spread=0.5
    )
    problem, expected = problem_of(soft.network, soft.weights), best(soft)
    part, y = problem.joint, np.zeros(soft.atoms)
    assert part.components >= 1
    *_, (found, duals) = interior_points(part.hinges)
    y[part.atoms], y[problem.single.atoms] = found, solve_single_atoms(problem.single.hinges).y
    assert soft.excess(y) < 1e-8
    # Sequential quadratic programming can stop early, above the optimum, which the residuals prove; never below it.
    assert soft.cost(y) <= expected + max(1e-6 * abs(expected), 1e-7)
    possible = start(part.hinges, found, duals, np.zeros(part.components), 0.0).dual
    np.testing.assert_allclose(possible, duals, atol=1e-6)
    assert max(residuals(part.hinges, found, possible)) < 1e-5


@pytest.mark.parametrize("seed", range(8))
def test_models_of_many_scales_are_proved_by_interior_points(seed: int) -> None:
    soft = random_soft(
        seed,
        60 + 20 * seed,
        180 + 60 * seed,
        ["2", "", "2=", "=", "2", "."] if seed % 2 else ["2", "2=", "2", "2="],
        spread=2.0,
    )
    result = map_state(soft.network, soft.weights, HingeOptions(patience=50, method="primal-dual"))
    assert result.components["interior point"] >= 1
    assert result.status is HingeStatus.OPTIMAL, result
    assert soft.excess(result.y) <= 1e-6
    assert result.objective == pytest.approx(soft.cost(result.y), rel=1e-12)
    assert result.gap <= 1e-6 * (result.objective + 3 * max(soft.weights))


@pytest.mark.parametrize("seed", range(3))
def test_linear_models_that_converge_slowly_are_left_to_a_linear_program(seed: int) -> None:
    soft = random_soft(seed, 80, 220, ["", "=", ".", "=."], spread=2.0)
    result = map_state(soft.network, soft.weights, HingeOptions(patience=50))
    assert result.components["lp"] >= 1
    check(soft, result, best(soft))


SMOOTH = ("2", "2=")


@given(soft=softs(SMOOTH) | smooth_softs())
def test_newton_steps_end_squared_models_as_clarabel_does(soft: Soft) -> None:
    expected, _ = best_of_clarabel(soft)
    largest = max((cost for *_, cost in soft.rows(hard=False)), default=1.0)
    result = map_state(soft.network, soft.weights, HingeOptions(relative=1e-9, absolute=1e-9))
    assert result.status is HingeStatus.OPTIMAL, result
    assert result.components["primal-dual"] == 0, result
    assert result.objective == pytest.approx(soft.cost(result.y), rel=1e-12, abs=1e-15)
    assert result.objective == pytest.approx(expected, abs=1e-7 * (expected + largest))
    assert result.bound <= expected + 1e-9 * (expected + largest)


@pytest.mark.parametrize("seed", range(6))
def test_newton_steps_that_do_not_end_are_left_to_others(seed: int) -> None:
    soft = random_soft(seed, 60, 200, ["2", "2=", "2"], spread=2.0)
    few, many = (map_state(soft.network, soft.weights, HingeOptions(patience=x)) for x in (2, 2_000))
    assert (few.components["newton"], many.components["newton"]) == (0, 1)
    assert few.components["primal-dual"] + few.components["interior point"] == 1
    assert few.status is many.status is HingeStatus.OPTIMAL
    assert few.objective == pytest.approx(many.objective, abs=few.tolerance + many.tolerance)


def test_components_have_the_method_that_their_hinges_allow() -> None:
    smooth = [(0, {2 * k: 1.0, 2 * k + 1: -1.0}, 0.1 * k) for k in range(4)]
    smooth += [(0, {2 * k: -1.0}, 0.9) for k in range(4)] + [(0, {2 * k + 1: 1.0}, 0.2) for k in range(4)]
    bent = [(1, {2: -1.0, 3: -1.0}, 1.3), (2, {4: 1.0, 5: 1.0}, -0.4), (3, {6: 1.0, 7: 2.0}, -1.0)]
    result = map_state(hinge_network(8, ["2", "", ".", "="], smooth + bent), [1.0, 0.3, 1.0, 0.5])
    assert result.status is HingeStatus.OPTIMAL
    assert {name: n for name, n in result.components.items() if n} == {"newton": 1, "primal-dual": 3}


@given(softs())
def test_a_small_model_is_solved_or_refused_as_highs_says(soft: Soft) -> None:
    if not feasible(soft):
        with pytest.raises(InfeasibleError):
            map_state(soft.network, soft.weights)
        return
    result = map_state(soft.network, soft.weights, HingeOptions(patience=500))
    assert result.status is HingeStatus.OPTIMAL, result
    assert result.violation <= 1e-6
    # No corner, and no point in between, is better than the bound says.
    for y in itertools.product((0.0, 0.5, 1.0), repeat=soft.atoms):
        if soft.excess(np.array(y)) == 0:
            assert soft.cost(np.array(y)) >= result.bound - 1e-12
    expected = best(soft)
    assert result.bound <= expected + 1e-12 * (1 + expected) + 1e-12
    if np.isfinite(expected):
        assert result.objective <= expected + 3e-6 * (1 + expected + max(soft.weights) * 3)


@pytest.mark.parametrize("method", METHODS)
@given(soft=softs() | larger_softs())
def test_models_of_all_kinds_of_rules_are_solved_as_by_clarabel(method: Method, soft: Soft) -> None:
    assume(feasible(soft))
    expected, y = best_of_clarabel(soft)
    # Objectives near 0 are compared in units of the largest cost of a hinge, as the search does.
    near = 1e-6 * (expected + max((cost for *_, cost in soft.rows(hard=False)), default=1.0))
    assert soft.cost(np.clip(y, 0, 1)) == pytest.approx(expected, abs=near)
    result = map_state(
        soft.network, soft.weights, HingeOptions(relative=1e-7, absolute=1e-8, violation=1e-8, method=method)
    )
    assert result.status is HingeStatus.OPTIMAL, result
    assert result.objective == pytest.approx(expected, abs=near)
    assert result.bound <= expected + near / 10


@given(softs(("", "2", "=", "2=", ".")), st.integers(0, 2**32 - 1))
def test_the_bound_of_any_duals_is_below_every_state(soft: Soft, seed: int) -> None:
    problem = problem_of(soft.network, soft.weights)
    part, random = problem.joint, np.random.default_rng(seed)
    duals = random.normal(0, 10 ** random.uniform(-2, 2), len(part.rows))
    possible = start(part.hinges, np.zeros(len(part.atoms)), duals, np.zeros(part.components), 0.0).dual
    bound, rounding = dual_bound(part.hinges, possible)
    assert rounding >= 0
    in_part = [k for k in range(len(soft.hinges)) if k in set(part.rows.tolist())]
    rest = Soft(soft.atoms, soft.rules, [soft.hinges[k] for k in in_part], soft.weights)
    for y in [*itertools.product((0.0, 1.0), repeat=soft.atoms), *random.random((20, soft.atoms))]:
        if rest.excess(np.array(y)) <= 0:
            assert bound * problem.scale <= rest.cost(np.array(y)) + 1e-12


CONFLICTS = {
    "one equality out of reach": ({0: [({0: 1.0, 1: 1.0}, -3.0)]}, ["=."], [0], [0], 1.0),
    "one equality out of reach from below": ({0: [({0: -1.0, 1: -1.0}, -0.5)]}, ["=."], [0], [0], 0.5),
    "one atom, two rules": ({0: [({2: 1.0}, -0.2)], 1: [({2: -1.0}, 0.7)]}, [".", "."], [0, 1], [0, 1], 0.25),
    "one atom out of the box": ({1: [({0: 2.0}, 0.5)]}, ["", "."], [1], [0], 0.5),
    "a cycle": (
        {0: [({0: -1.0, 1: 1.0}, 0.1), ({1: -1.0, 2: 1.0}, 0.1), ({0: 1.0, 2: -1.0}, 0.1), ({0: -1.0, 3: 1.0}, 0.0)]},
        ["."],
        [0],
        [0, 1, 2],
        0.1,
    ),
    "among soft and satisfied ones": (
        {0: [({0: 1.0, 1: -1.0}, 0.0)], 1: [({0: 1.0, 1: 1.0}, -0.5)], 2: [({0: 1.0, 1: 1.0}, -1.5), ({2: 1.0, 0: 1.0}, -1.0)]},
        ["2", "=.", "=."],
        [1, 2],
        [1, 2],
        0.5,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CONFLICTS)
@pytest.mark.parametrize("iterations", [10, 100_000])
def test_hard_rules_in_conflict_are_named(name: str, iterations: int) -> None:
    by_rule, rules, named, rows, excess = CONFLICTS[name]
    hinges = [(rule, terms, constant, 1) for rule, found in by_rule.items() for terms, constant in found]
    soft = Soft(4, rules, hinges, [1.0] * len(rules))
    with pytest.raises(InfeasibleHingesError, match="hard rule") as caught:
        map_state(soft.network, soft.weights, HingeOptions(max_iterations=iterations))
    assert caught.value.rules.tolist() == named
    assert caught.value.rows.tolist() == rows
    assert caught.value.excess == pytest.approx(excess)
    assert not feasible(soft, rows)
    assert pickle.loads(pickle.dumps(caught.value)).rows.tolist() == rows


@pytest.mark.parametrize("seed", range(10))
def test_what_is_named_of_a_large_conflict_cannot_hold_by_itself(seed: int) -> None:
    soft = random_soft(seed, 30, 60, ["2", ".", "=."], spread=0.3)
    random = np.random.default_rng(seed)
    extra = [(2, dict.fromkeys(random.choice(30, 6, replace=False).tolist(), 1.0), -float(x), 1) for x in (0.3, 5.7)]
    hinges = sorted([*soft.hinges, *extra, (2, extra[0][1], -2.0, 1)], key=lambda hinge: hinge[0])
    wrong = Soft(30, soft.rules, hinges, soft.weights)
    assert not feasible(wrong)
    with pytest.raises(InfeasibleHingesError) as caught:
        map_state(wrong.network, wrong.weights)
    rows = caught.value.rows.tolist()
    assert not feasible(wrong, rows)
    assert len(rows) <= 31  # a vertex of the dual program has no more hinges than atoms, and one


def test_hard_rules_that_only_rounding_breaks_hold() -> None:
    sums = [
        (0, {0: 1.0, 1: 1.0}, -(0.1 + 0.2)),
        (1, {0: 10.0, 1: 10.0}, -3.0),
        (2, {2: 1.0}, -0.3),
        (3, {2: -1.0}, 0.1 + 0.2),
    ]
    result = map_state(hinge_network(3, ["=.", "=.", ".", "."], sums), np.zeros(4))
    assert result.status is HingeStatus.OPTIMAL
    assert result.violation <= 1e-6
    assert result.y[:2].sum() == pytest.approx(0.3, abs=1e-6)
    assert result.y[2] == pytest.approx(0.3, abs=1e-6)


def test_hard_rules_of_one_atom_hold_within_the_tolerance_where_they_can() -> None:
    # At most 0.3, and 0.3000005 or more by a rule a thousand times as steep: half a millionth above 0.3 is within both tolerances.
    close = [(0, {0: 1.0}, -0.3), (1, {0: -1000.0}, 300.0005)]
    result = map_state(hinge_network(1, [".", "."], close), np.zeros(2))
    assert (result.status, result.violated) == (HingeStatus.OPTIMAL, 0)
    assert result.y[0] == pytest.approx(0.3000005, abs=1e-7)
    apart = [(0, {0: 1.0}, -0.3), (1, {0: -1000.0}, 300.01)]
    with pytest.raises(InfeasibleHingesError) as caught:
        map_state(hinge_network(1, [".", "."], apart), np.zeros(2))
    assert caught.value.rows.tolist() == [0, 1]


def test_no_atoms_no_hinges_no_rules_and_rules_without_hinges() -> None:
    nothing = map_state(hinge_network(0, [], []), [])
    assert (nothing.objective, nothing.gap, nothing.status) == (0.0, 0.0, HingeStatus.OPTIMAL)
    constant = map_state(hinge_network(3, ["", "."], [], base=[2.5, 0.0]), [4.0, np.nan])
    assert (constant.objective, constant.untouched, constant.y.tolist()) == (10.0, 3, [0.0] * 3)
    assert constant.bound == pytest.approx(10.0, rel=1e-12)


def test_weights_of_zero_touch_no_atom() -> None:
    hinges = [(0, {0: -1.0, 1: -1.0}, 2.0), (1, {1: -1.0}, 1.0), (2, {2: -1.0, 3: 1.0}, 0.5)]
    network = hinge_network(4, ["", "2", "2="], hinges)
    result = map_state(network, [0.0, 1.0, 0.0])
    assert (result.objective, result.untouched) == (0.0, 3)
    assert result.y.tolist() == [0.0, 1.0, 0.0, 0.0]
    assert map_state(network, np.zeros(3)).untouched == 4


def test_multiplicity_is_so_many_hinges() -> None:
    terms = {0: 1.0, 1: -1.0}
    many = hinge_network(2, ["2", "2", "2"], [(0, terms, 0.7, 3), (1, {0: -1.0}, 0.9, 2), (2, {1: 1.0}, 0.0, 5)])
    written = [(0, terms, 0.7)] * 3 + [(1, {0: -1.0}, 0.9)] * 2 + [(2, {1: 1.0}, 0.0)] * 5
    one, other = (map_state(n, [1.0, 0.3, 2.0]) for n in (many, hinge_network(2, ["2", "2", "2"], written)))
    assert one.objective == pytest.approx(other.objective, rel=2e-6)
    np.testing.assert_allclose(one.y, other.y, atol=2e-3)


@pytest.mark.parametrize("factor", [1e-9, 1e-3, 1e9])
@pytest.mark.parametrize("method", METHODS)
def test_a_unit_of_weights_changes_no_state(factor: float, method: Method) -> None:
    soft = random_soft(5, 12, 30, ["", "2", "2=", "."], spread=0.5)
    options = HingeOptions(method=method)
    one, other = (map_state(soft.network, np.array(soft.weights) * x, options) for x in (1.0, factor))
    assert other.status is HingeStatus.OPTIMAL
    assert other.objective == pytest.approx(one.objective * factor, rel=1e-5)


@pytest.mark.parametrize("weights", [[-1.0], [np.nan], [np.inf], [1.0, 2.0], 1.0])
def test_weights_that_do_not_fit_are_refused(weights: object) -> None:
    network = hinge_network(1, [""], [(0, {0: 1.0}, 0.0)])
    with pytest.raises((NumericError, InputError), match="weight"):
        map_state(network, weights)


@pytest.mark.parametrize("start", [[0.5], [0.5, 1.5], [np.nan, 0.0], [0.5, -0.1]])
def test_starts_that_do_not_fit_are_refused(start: list[float]) -> None:
    network = hinge_network(2, [""], [(0, {0: 1.0, 1: 1.0}, 0.0)])
    with pytest.raises(InputError, match="a start has"):
        map_state(network, [1.0], warm=start)
    with pytest.raises(InputError, match="a start has"):
        map_state(network, [1.0], warm=HingeState(np.zeros(2), np.zeros(3), np.ones(2)))


@pytest.mark.parametrize("method", METHODS)
def test_a_search_goes_on_where_one_ended(method: Method) -> None:
    soft = random_soft(3, 120, 400, ["2", "", "2", "2="], spread=0.5)
    network, weights, options = soft.network, np.array(soft.weights), HingeOptions(method=method)
    cold = map_state(network, weights, options)
    assert cold.iterations > 40
    assert map_state(network, weights, options, warm=cold).iterations == 0
    changed = weights * [1.0, 1.02, 0.99, 1.0]
    fresh, warm = map_state(network, changed, options), map_state(network, changed, options, warm=cold)
    assert warm.objective == pytest.approx(fresh.objective, rel=3e-6)
    assert warm.iterations < fresh.iterations
    other = map_state(network, changed, options, warm=cold.y)
    assert other.objective == pytest.approx(fresh.objective, rel=3e-6)


@pytest.mark.parametrize("method", METHODS)
def test_a_limit_that_is_reached_is_told_and_the_bound_holds(method: Method) -> None:
    soft = random_soft(8, 40, 150, ["2", "", "2="], spread=0.5)
    short = map_state(soft.network, soft.weights, HingeOptions(max_iterations=3, method=method))
    long = map_state(soft.network, soft.weights)
    assert (short.status, short.iterations) == (HingeStatus.FEASIBLE, 3)
    assert short.unproved >= 1
    assert "not closed" in str(short)
    assert short.bound <= long.objective
    assert long.bound <= short.objective
    assert long.gap < short.gap
    assert max(long.primal_residual, long.dual_residual) < 0.01


def test_a_limit_leaves_hard_rules_satisfied() -> None:
    soft = random_soft(9, 40, 120, ["2", "2=", ".", "=."], spread=0.5)
    short = map_state(soft.network, soft.weights, HingeOptions(max_iterations=2))
    assert short.status is not HingeStatus.UNSOLVED
    assert soft.excess(short.y) <= 1e-6


@pytest.mark.parametrize(("method", "named"), [("auto", "newton"), ("primal-dual", "primal-dual")])
def test_tens_of_thousands_of_components_are_as_each_by_itself(method: Method, named: str) -> None:
    # Of c max(0, 0.9 - x)^2 + max(0, x - y)^2 + c' y^2 the best point is where the three slopes are equal.
    random = np.random.default_rng(1)
    count = 20_000
    wish = random.random(count)
    hinges = [(0, {2 * k: -1.0}, float(wish[k])) for k in range(count)]
    hinges += [(1, {2 * k: 1.0, 2 * k + 1: -1.0}, 0.0) for k in range(count)]
    hinges += [(2, {2 * k + 1: 1.0}, 0.0) for k in range(count)]
    network, options = hinge_network(2 * count, ["2", "2", "2"], hinges), HingeOptions(relative=1e-9, method=method)
    result = map_state(network, [1.0, 2.0, 0.5], options)
    # Springs in a row: 1 / (1/1 + 1/2 + 1/0.5) = 2/7.
    assert result.components[named] == count
    assert result.objective == pytest.approx(float((wish**2).sum()) * 2 / 7, rel=1e-8)
    np.testing.assert_allclose(result.y[::2], wish * (1 - 2 / 7), atol=1e-3)


def test_the_same_input_gives_the_same_bytes() -> None:
    soft = random_soft(4, 60, 200, MIXED, spread=0.5)
    one, other = (map_state(soft.network, soft.weights) for _ in range(2))
    assert one.y.tobytes() == other.y.tobytes()
    assert one.state.duals.tobytes() == other.state.duals.tobytes()
    assert (one.bound, one.objective) == (other.bound, other.objective)


@pytest.mark.parametrize(
    "wrong",
    [
        {"relative": np.nan},
        {"absolute": -1.0},
        {"violation": np.inf},
        {"max_iterations": 0},
        {"patience": 0},
        {"method": "simplex"},
    ],
)
def test_options_that_cannot_be_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(InputError, match=next(iter(wrong))):
        HingeOptions(**wrong)


def endless(atoms: int = 3_000, hinges: int = 12_000) -> Soft:
    """A model whose gap will not close to 0."""
    return random_soft(1, atoms, hinges, ["2", "", "2="], spread=2.0)


@pytest.mark.slow
@pytest.mark.parametrize("method", [METHODS[0], *(x for x in METHODS[1:])])
def test_ctrl_c_is_heeded_at_once(method: Method) -> None:
    soft, options = endless(), HingeOptions(0.0, 0.0, 1e-6, 10**9, 10**9, method)
    network = soft.network
    map_state(network, soft.weights, HingeOptions(max_iterations=1, method=method))  # compiled code is loaded now
    timer = threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            map_state(network, soft.weights, options)
    finally:
        timer.cancel()


def test_a_long_search_says_how_far_it_is() -> None:
    soft, told = endless(300, 1_000), io.StringIO()
    with PlainConsole(told, delay=0, interval=0).progress("predicting"):
        map_state(soft.network, soft.weights, HingeOptions(relative=1e-12, absolute=0.0, max_iterations=20_000))
    assert "most probable state" in told.getvalue()
    assert "gap" in told.getvalue()
