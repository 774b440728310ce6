"""The most probable world against enumeration of all worlds in exact arithmetic."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from sqlrl.errors import InfeasibleError, InputError, NumericError
from sqlrl.ground.network import Network
from sqlrl.solve import methods
from sqlrl.solve.conflict import ConflictingClausesError
from sqlrl.solve.cpsat import solve_cpsat
from sqlrl.solve.mpe import Method, MPEResult, compile_program, mpe
from sqlrl.solve.restriction import UnsatisfiableError
from sqlrl.solve.result import Status, UnsolvedError, joined
from sqlrl.solve.sample_networks import chains, network
from sqlrl.solve.weighted import WeightedNetwork, weigh
from tests.effort import draws
from tests.solve.networks import EXTREME, Problem, problems, worlds


def many(number: int) -> settings:
    return settings(
        max_examples=draws(number),
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
    )


def check(problem: Problem, result: MPEResult, linear: list[float] | None = None) -> None:
    """The world is feasible, its objective true, its bound valid, and OPTIMAL means what the documentation says."""
    world = tuple(result.world.tolist())
    feasible = list(worlds(problem))
    assert world in feasible
    best = max(problem.score(w, linear) for w in feasible)
    mine = problem.score(world, linear)
    report = result.report
    assert (result.status is Status.OPTIMAL) == (report.precision <= 1e-6 * max(1.0, report.magnitude))
    assert best - mine <= Fraction(report.gap)
    assert report.gap == report.precision
    assert report.precision <= 3e-6 * float(problem.magnitude() + sum(abs(Fraction(x)) for x in linear or [])) + 1e-300
    assert result.objective == pytest.approx(float(mine), rel=1e-12, abs=1e-14 * float(problem.magnitude() + 1))
    assert result.bound >= result.objective
    size = float(problem.magnitude() + 1)
    if linear is None:
        opened, constant = problem.cost(world), problem.constant_cost()
        assert report.open_cost == pytest.approx(float(opened), rel=1e-12, abs=1e-14 * size)
        assert report.constant_cost == pytest.approx(float(constant), rel=1e-12)
        assert result.cost == pytest.approx(float(opened + constant), rel=1e-12, abs=1e-14 * size)
    assert report.constant + report.varying == pytest.approx(result.objective, rel=1e-12, abs=1e-14 * size)


@pytest.mark.property
@pytest.mark.parametrize(("method", "examples"), [("auto", 100), ("cpsat", 50)])
def test_equals_enumeration(method: Method, examples: int) -> None:
    @many(examples)
    @given(problem=problems())
    def run(problem: Problem) -> None:
        if next(worlds(problem), None) is None:
            with pytest.raises(InfeasibleError):
                mpe(problem.network(), problem.weights, method=method)
        else:
            result = mpe(problem.network(), problem.weights, method=method)
            assert result.status is Status.OPTIMAL
            check(problem, result)

    run()


@pytest.mark.parametrize("method", ["elimination", "cpsat"])
def test_optimal_only_where_rounding_leaves_the_proof_its_meaning(method: Method) -> None:
    """Huge weights that cancel on an atom swallow a weight of 5; huge weights that do not cancel lose next to nothing."""
    against = network(1, [(0, [1]), (1, [-1]), (2, [-1])])
    result = mpe(against, [1e20, 1e20, 5.0], method=method)
    assert result.status is Status.FEASIBLE
    assert result.gap >= 5.0
    assert "rounding" in str(result.report)
    alone = mpe(network(2, [(0, [1]), (1, [1, 2])]), [1e20, 3e19], method=method)
    assert alone.status is Status.OPTIMAL
    assert alone.report.precision <= 1e-6 * alone.report.magnitude
    same = network(2, [(0, [1, 2]), (1, [1, 2]), (2, [-1, -2])])
    assert mpe(same, [1e20, -1e20, 1.0], method=method).status is Status.FEASIBLE


@many(100)
@given(problem=problems(weights=EXTREME), method=st.sampled_from(["auto", "cpsat"]))
def test_extreme_weights_are_solved_or_refused(problem: Problem, method: Method) -> None:
    assume(next(worlds(problem), None) is not None)
    sizes = [abs(w) for w in [*problem.weights, *problem.prior] if w]
    try:
        result = mpe(problem.network(), problem.weights, method=method)
    except NumericError:
        assert max(sizes) / min(sizes) > 1e10
    else:
        check(problem, result)


@many(60)
@given(problem=problems(), data=st.data())
def test_loss_is_added(problem: Problem, data: st.DataObject) -> None:
    assume(next(worlds(problem), None) is not None)
    loss = data.draw(st.lists(st.integers(-2, 2).map(float), min_size=problem.atoms, max_size=problem.atoms))
    check(problem, mpe(problem.network(), problem.weights, loss=loss), loss)


@many(80)
@given(problem=problems(hardness=4))
def test_conflict_is_found_exactly_when_there_is_no_world_and_is_minimal(problem: Problem) -> None:
    if next(worlds(problem), None) is not None:
        check(problem, mpe(problem.network(), problem.weights))
        return
    with pytest.raises(ConflictingClausesError) as caught:
        mpe(problem.network(), problem.weights)
    conflict = caught.value.conflict
    listed = [(i, sorted(literals, key=abs)) for i, literals in problem.hard_ground()]
    assert all(part in listed for part in conflict)
    assert next(worlds(problem, conflict), None) is None
    for k in range(len(conflict)):
        assert next(worlds(problem, conflict[:k] + conflict[k + 1 :]), None) is not None


def test_conflict_message_uses_the_callers_words() -> None:
    ground = [(0, [1, 2]), (1, [-1]), (1, [-2]), (1, [3])]
    impossible = network(3, ground, hard=[0, 1])
    with pytest.raises(ConflictingClausesError, match="clause 0 of 2 literals") as caught:
        mpe(impossible, [0.0, 0.0], describe=lambda i, x: f"clause {i} of {len(x)} literals")
    assert caught.value.conflict == [(0, [1, 2]), (1, [-1]), (1, [-2])]
    exact = network(2, [(0, [-1]), (0, [-2])], hard=[0], blocks=[([0, 1], True)])
    with pytest.raises(ConflictingClausesError, match="exactly one of atoms 0, 1") as caught:
        mpe(exact, [0.0])
    assert caught.value.blocks == [([0, 1], True)]


def test_a_solver_that_finds_no_world_where_there_is_one_is_no_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    """No conflict of 0 ground clauses is reported."""

    def mistaken(part: WeightedNetwork, **_: object) -> object:
        raise UnsatisfiableError(int(part.atoms[0]))

    pairs = [(0, [a, b]) for a in range(1, 4) for b in range(a + 1, 4)] + [(1, [-a]) for a in range(1, 4)]
    monkeypatch.setattr(methods, "solve_relaxation", mistaken)
    with pytest.raises(UnsolvedError, match="no world for a component of 3 atoms, but its hard clauses can all hold"):
        mpe(network(3, pairs, hard=[0]), [0.0, 1.0], method="lp")


def test_hard_rows_of_a_forest_are_never_broken() -> None:
    """Six positions of three states: state 0 pays 5, but never twice in a row."""
    edges = [(0, [-(3 * p + 1), -(3 * p + 4)]) for p in range(5)]
    units = [(1, [3 * p + 1]) for p in range(6)]
    hard = network(18, [*edges, *units], hard=[0], blocks=[([3 * p, 3 * p + 1, 3 * p + 2], False) for p in range(6)])
    result = mpe(hard, [0.0, 5.0], method="elimination")
    assert result.objective == 15.0
    assert not np.any(result.world[:-3:3] & result.world[3::3])


@pytest.mark.parametrize(
    ("row", "block", "best"),
    [
        ([1, -4, -5], ([3, 4], False), 3),
        ([-3, -4, -5], ([3, 4], False), 3),
        ([-1, 4], ([3], True), 1),
        ([-1, 4, 5], ([3, 4], True), 1),
    ],
)
def test_rows_that_blocks_satisfy_do_not_reach_into_other_components(
    row: list[int], block: tuple[list[int], bool], best: int
) -> None:
    # A triangle of atoms that exclude each other, of which one is worth more, and a block that is a forest of its own.
    ground = [(0, [-1, -2], 1), (0, [-2, -3], 1), (0, [-1, -3], 1), (1, [1], 1), (1, [2], 1), (1, [3], 1)]
    problem = Problem(5, [*ground, (2, [best], 1), (3, row, 1), (4, [5], 1)], [1.5, 1.0, 0.2, 5.0, 0.3], blocks=[block])
    check(problem, mpe(problem.network(), problem.weights))


def test_ties_take_the_lowest_state() -> None:
    blocks = [([0, 1], True), ([2, 3], False)]
    free = network(6, [(0, [5])], blocks=blocks)
    for method in ("auto", "cpsat"):
        result = mpe(free, [0.0], method=method)
        assert result.world.tolist() == [True, False, False, False, False, False]


@pytest.mark.parametrize("exact", [False, True])
def test_methods_agree_on_chains(exact: bool) -> None:
    net = chains(4, length=8, states=3, exact=exact, words=6, seed=3)
    weights = np.random.default_rng(1).normal(size=len(net.clauses))
    a, b = mpe(net, weights, method="elimination"), mpe(net, weights, method="cpsat")
    assert a.objective == pytest.approx(b.objective, abs=1e-3)
    assert a.objective >= b.objective - a.gap
    assert b.objective >= a.objective - b.gap
    assert a.report.components == {"elimination": 4}
    assert b.report.components == {"cpsat": 4}


def viterbi(net: Network, weights: np.ndarray, count: int, length: int, states: int) -> float:
    """Best score of `chains` with at most one state, by the plain recursion over dense tables."""
    unit = (net.units @ weights).reshape(count, length, states)
    unit = np.concatenate([np.zeros((count, length, 1)), unit], axis=2)
    violated = np.zeros((states + 1, states + 1))
    transition = weights[: states * states].reshape(states, states)
    for s in range(states):
        for t in range(states):
            violated[s + 1, np.arange(states + 1) != t + 1] -= transition[s, t]
    total = 0.0
    for c in range(count):
        best = unit[c, 0]
        for p in range(1, length):
            best = (best[:, None] + violated).max(axis=0) + unit[c, p]
        total += best.max()
    return total + float(weights @ net.base.astype(np.float64))


def test_two_hundred_chains() -> None:
    net = chains(200, length=30, states=4, words=40, seed=5)
    weights = np.random.default_rng(2).normal(size=len(net.clauses))
    program = compile_program(net)
    result = mpe(program, weights)
    assert result.status is Status.OPTIMAL
    assert result.report.components == {"elimination": 200}
    assert result.objective == pytest.approx(viterbi(net, weights, 200, 30, 4), rel=1e-12)
    assert np.array_equal(mpe(program, weights).world, result.world)


def test_limit_gives_a_gap_or_says_so() -> None:
    rng = np.random.default_rng(0)
    ground = [(i, (rng.choice(40, 3, replace=False) + 1) * rng.choice([-1, 1], 3)) for i in range(220)]
    net = network(40, [(i, x.tolist()) for i, x in ground])
    weights = rng.normal(size=220)
    full = mpe(net, weights)
    assert full.status is Status.OPTIMAL
    short = mpe(net, weights, deterministic_limit=0.02)
    assert short.status is Status.FEASIBLE
    assert short.gap > short.report.precision
    assert short.objective <= full.objective + full.gap
    assert full.objective <= short.bound
    assert np.array_equal(mpe(net, weights, deterministic_limit=0.02).world, short.world)
    none = mpe(net, weights, deterministic_limit=0.0)
    assert none.status is Status.FEASIBLE
    assert none.objective <= full.objective + full.gap <= none.bound + full.gap
    with pytest.raises(UnsolvedError, match="deterministic limit"):
        mpe(net, weights, deterministic_limit=0.0, method="cpsat")


def test_integer_weights_are_scaled_exactly_and_a_huge_constant_hides_nothing() -> None:
    cycle = [(0, [1, 2]), (0, [2, 3]), (0, [1, 3]), (0, [-1, -2]), (0, [-2, -3]), (0, [-1, -3]), (1, [1])]
    net = network(3, cycle, evidence=[(0, 10**30, 0)])
    result = mpe(net, [3.0, 0.25], method="cpsat")
    assert result.report.scale == 4.0
    assert result.report.constant >= 3e30
    assert result.gap < 1e-12
    assert result.objective == pytest.approx(3e30)


def test_weights_too_far_apart_for_a_cut_are_left_to_elimination() -> None:
    """A cut is the first choice for pairs that attract each other; it needs integers, and elimination none."""
    pairs = [
        (clause, [-a, b]) for clause, x, y in [(0, 1, 2), (0, 2, 3), (1, 3, 4), (1, 4, 1)] for a, b in [(x, y), (y, x)]
    ]
    net, weights = network(4, [*pairs, (2, [1]), (3, [-4])]), [1e12, 1.0, 1.5, 1e-3]
    result = mpe(net, weights)
    assert [choice.method for choice in result.report.choices] == ["elimination"]
    assert result.world.all()
    with pytest.raises(NumericError, match="integer weights cannot hold"):
        mpe(net, weights, method="cut")


@pytest.mark.parametrize("bad", [np.inf, -np.inf, np.nan])
def test_bad_weights_are_refused(bad: float) -> None:
    net = network(2, [(0, [1, 2]), (1, [1])], hard=[1])
    with pytest.raises(NumericError, match="clause 0"):
        mpe(net, [bad, 0.0])
    assert mpe(net, [1.0, bad]).world.tolist() == [True, False]
    with pytest.raises(NumericError, match="atom 0"):
        mpe(net, [1.0, 0.0], loss=[bad, 0.0])
    with pytest.raises(NumericError, match="shape"):
        mpe(net, [1.0])
    with pytest.raises(NumericError, match="shape"):
        mpe(net, [1.0, 0.0], loss=[1.0])
    with pytest.raises(NumericError, match="overflow"):
        mpe(network(1, [(0, [1]), (1, [1])]), [1.5e308, 1.5e308])


def test_a_cut_refuses_odd_cycles_and_unknown_methods_are_named() -> None:
    cycle = network(3, [(0, [1, 2]), (0, [2, 3]), (0, [1, 3]), (0, [-1, -2]), (0, [-2, -3]), (0, [-1, -3])])
    with pytest.raises(InputError, match="3 of 3 atoms"):
        mpe(cycle, [1.0], method="cut")
    with pytest.raises(InputError, match="'magic'"):
        mpe(cycle, [1.0], method="magic")  # type: ignore[arg-type]


def test_no_atoms_and_no_clauses() -> None:
    assert len(solve_cpsat(weigh(network(0, []), [])).world) == 0
    assert mpe(network(0, []), []).objective == 0.0
    empty = mpe(network(0, [], clauses=1, evidence=[(0, 2, 1)]), [1.5])
    assert (empty.objective, empty.gap, len(empty.world)) == (3.0, 0.0, 0)
    assert mpe(network(3, [], prior=[0.5, -0.5, 0.0]), []).world.tolist() == [True, False, False]


@pytest.mark.parametrize("satisfied", [0, 3, 10**30])
def test_what_evidence_decides_stands_beside_the_cost_of_the_world(satisfied: int) -> None:
    """An objective is the same however many groundings the evidence satisfies; of the cost they are a part of its own."""
    ground = [(0, [1, 2]), (0, [-1]), (0, [-2]), (1, [1])]
    result = mpe(network(2, ground, evidence=[(0, satisfied, 2), (1, satisfied, 0)]), [1.5, -0.25])
    assert result.objective == pytest.approx(1.5 * (satisfied + 2) - 0.25 * satisfied)
    constant = 1.5 * 2 + 0.25 * satisfied
    shown = f"cost        {1.5 + constant:.10g} = 1.5 + constant {constant:.10g}"
    assert str(result.report).splitlines()[1:3] == ["objective   -1.5", shown]


def test_costs_of_parts_add_up() -> None:
    parts = [mpe(network(1, [(0, [1]), (1, [-1])]), weights) for weights in ([1.0, 0.5], [0.25, 2.0])]
    assert joined(parts, np.arange(2)).cost == 0.75
    unknown = replace(parts[0], report=replace(parts[0].report, open_cost=None))
    assert joined([unknown, parts[1]], np.arange(2)).cost is None
    assert "cost" not in str(unknown.report)


def test_result_prints() -> None:
    result = mpe(network(2, [(0, [1, 2])]), [2.0])
    assert repr(result).startswith("MPEResult(1 of 2 atoms true, optimal, objective 0, gap ")
    assert str(result.report).splitlines()[1:3] == ["objective   0", "cost        0"]
    assert str(result.report).splitlines()[4].startswith("method      elimination: 1 component, 2 atoms, 1 row (")
    odd = network(3, [(0, [1, 2]), (0, [2, 3]), (0, [1, 3]), (0, [-1, -2]), (0, [-2, -3]), (0, [-1, -3])])
    assert "scale       4\n" in str(mpe(odd, [0.25], method="cpsat").report)
