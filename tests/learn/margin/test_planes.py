import itertools
from dataclasses import replace

import numpy as np
import pytest

from sqlrl.errors import NumericError
from sqlrl.learn.batch.problem import TrainingProblem
from sqlrl.learn.margin.cuts import Cut, Cuts
from sqlrl.learn.margin.masters import AbsoluteNorm, SquaredNorm
from sqlrl.learn.margin.planes import CuttingPlanes, MarginState, Stopping, Trained
from sqlrl.learn.margin.separation import Oracle, ViolatedMargin
from sqlrl.solve.sample_networks import network
from sqlrl.solve.solvers import scale_to_integers
from sqlrl.solve.weighted import weigh
from sqlrl.training.labels import Names
from tests.learn.margin.margins import Case, case

MASTERS = {"l2": SquaredNorm, "l1": AbsoluteNorm}


def trained(
    one: Case, penalty: str, loss: str, strength: float, *, separation: str = "exact", epsilon: float = 1e-4,
    cache: int = 50, iterations: int = 400,
) -> tuple[Trained, list[MarginState]]:  # fmt: skip
    problem, states = one.learned(), []
    oracle = Oracle(problem, loss, separation)
    planes = CuttingPlanes(
        oracle, MASTERS[penalty](), one.clauses, 2, Stopping(epsilon, iterations, cache), states.append
    )
    return planes.train(2 * strength), states


@pytest.mark.parametrize("separation", ["exact", "relaxed"])
@pytest.mark.parametrize("seed", range(12))
def test_the_most_violated_margin_is_that_of_all_worlds(seed: int, separation: str) -> None:
    one = case(seed)
    for loss in ("hamming", "zero-one"):
        oracle = Oracle(one.learned(), loss, separation)
        for scale in (0.0, 0.3, 3.0):
            weights = np.random.default_rng(seed).normal(size=one.clauses) * scale
            found = oracle.most_violated(weights)
            worst = one.shortfall(loss, weights)
            # Cuts are worlds of the problem, in either way of separation.
            assert found.cut.shortfall(weights) <= worst + 1e-6
            assert found.cut.shortfall(weights) + found.gap >= worst - 1e-6
            if separation == "exact":
                assert found.cut.shortfall(weights) == pytest.approx(worst, abs=1e-6)


@pytest.mark.parametrize(
    ("seed", "setting"), list(enumerate(itertools.product(["l2", "l1"] * 6, ["hamming", "zero-one"])))
)
def test_weights_are_those_of_all_constraints_written_out(seed: int, setting: tuple[str, str]) -> None:
    (penalty, loss), one = setting, case(100 + seed)
    strength = [0.05, 1.0, 20.0][seed % 3]
    found, states = trained(one, penalty, loss, strength)
    least = one.least_objective(penalty, loss, strength)
    size = np.abs(found.weights).sum() if penalty == "l1" else 0.5 * found.weights @ found.weights
    own = size + strength * max(one.shortfall(loss, found.weights), 0.0)
    assert found.converged
    assert own == pytest.approx(found.state.objective, abs=1e-6 * (1 + own))
    slack = 1.2e-4 * max(1.0, least) + 1e-6 * (1 + least)
    assert least - slack <= own <= least + slack
    for state in states:
        assert state.lower <= least + 1e-6 * (1 + least)
        assert state.upper >= least - 1e-6 * (1 + least)
    lower, upper = [state.lower for state in states], [state.upper for state in states]
    assert lower == sorted(lower)
    assert upper == sorted(upper, reverse=True)


@pytest.mark.parametrize("penalty", ["l2", "l1"])
def test_bounds_hold_where_separation_is_relaxed(penalty: str) -> None:
    for seed in range(200, 206):
        one = case(seed)
        least = one.least_objective(penalty, "hamming", 1.0)
        _, states = trained(one, penalty, "hamming", 1.0, separation="relaxed")
        assert states[-1].lower <= least + 1e-6 * (1 + least)
        assert states[-1].upper >= least - 1e-6 * (1 + least)


@pytest.mark.parametrize("penalty", ["l2", "l1"])
def test_cuts_that_were_set_aside_come_back(penalty: str) -> None:
    aside = 0
    for seed in range(300, 308):
        one = case(seed)
        few, states = trained(one, penalty, "hamming", 5.0, cache=1)
        aside += sum(state.used < state.cuts for state in states)
        assert few.converged
        assert few.state.objective == pytest.approx(
            one.least_objective(penalty, "hamming", 5.0), rel=2.2e-4, abs=2.2e-4
        )
    assert aside


@pytest.mark.parametrize("penalty", ["l2", "l1"])
def test_cuts_of_one_strength_serve_the_next(penalty: str) -> None:
    one = case(7)
    planes = CuttingPlanes(
        Oracle(one.learned()), MASTERS[penalty](), one.clauses, 2, Stopping(1e-5, 400, 50), lambda state: None
    )
    for strength in (0.1, 1.0, 10.0):
        found = planes.train(2 * strength)
        assert found.state.objective == pytest.approx(
            one.least_objective(penalty, "hamming", strength), abs=1e-4 * (1 + strength)
        )


def test_without_room_to_converge_the_best_weights_are_kept() -> None:
    one = case(11)
    found, states = trained(one, "l2", "hamming", 20.0, epsilon=1e-9, iterations=3)
    assert not found.converged
    assert len(states) == 3
    assert 0.5 * found.weights @ found.weights + 20.0 * max(
        one.shortfall("hamming", found.weights), 0
    ) == pytest.approx(min(state.objective for state in states))


@pytest.mark.parametrize("prior", [0.0, 0.1, float(np.log(7 / 3)), -1.1])
def test_weights_that_leave_atoms_next_to_their_margin_are_rounded_to_what_integers_can_hold(prior: float) -> None:
    # The first atom is at its margin but for what is left of a rough solution; the second has a large score.
    problem = TrainingProblem(
        network(2, [(0, [1]), (1, [2], 4_000_000)], prior=[prior, 0.0]), np.array([True, False]), Names()
    )
    oracle, weights = Oracle(problem), np.array([1.0 - prior + 3.7e-10, 30.1])
    ground = oracle.problem.network
    margins = [weigh(ground, each, loss=np.array([-1.0, 1.0])).linear for each in (weights, oracle.rounded(weights))]
    with pytest.raises(NumericError, match="integer weights cannot hold both"):
        scale_to_integers(margins[0])
    assert scale_to_integers(margins[1]).lost <= 1e-9 * margins[1][1]
    assert margins[1][0] == pytest.approx(0, abs=1e-5)
    assert prior or margins[1][0] == 0
    assert oracle.rounded(weights) == pytest.approx(weights, abs=1e-5)
    # Small problems lose next to nothing.
    small = Oracle(TrainingProblem(network(2, [(0, [1]), (1, [2])]), np.array([True, False]), Names()))
    assert small.rounded(np.array([0.1, -0.3])) == pytest.approx(np.array([0.1, -0.3]), abs=1e-12)


def test_a_start_is_tried_though_it_breaks_cuts_that_were_set_aside() -> None:
    one = case(7)
    master, tried = SquaredNorm(), []
    start = np.full(one.clauses, 0.125)
    oracle = Oracle(one.learned())

    class Watched:
        least_margin = 0.0

        def most_violated(self, weights: np.ndarray, known: int = -1) -> ViolatedMargin:
            tried.append(weights)
            return oracle.most_violated(weights, known)

        def rounded(self, weights: np.ndarray) -> np.ndarray:
            return weights

    planes = CuttingPlanes(
        Watched(), master, one.clauses, 2, Stopping(1e-5, 400, 1), lambda state: None,
        lambda price: (start, Cut(np.empty(0, dtype=np.int64), np.empty(0), 0.0)),
    )  # fmt: skip
    for strength in (0.1, 1.0, 10.0):
        before = len(tried)
        assert planes.train(2 * strength).converged
        # First the start, then what was best for the C before.
        assert tried[before].tolist() == start.tolist()


@pytest.mark.slow
def test_steps_between_the_bounds_need_fewer_searches_than_the_best_weights_for_the_cuts() -> None:
    class BestForCuts(SquaredNorm):
        def _at_level(self, cuts: Cuts, places: np.ndarray, strength: float) -> np.ndarray:
            self._near = self._best
            return np.asarray(cuts.matrix.T @ self._best)

    draw = np.random.default_rng(5)
    atoms, clauses = 300, 100
    ground = [(int(i), [a + 1], 1) for a in range(atoms) for i in draw.choice(clauses, 30, replace=False)]
    problem = TrainingProblem(network(atoms, ground, clauses=clauses), draw.random(atoms) < 0.3, Names())
    needed = []
    for master in (BestForCuts(), SquaredNorm()):
        planes = CuttingPlanes(
            Oracle(problem), master, clauses, 1, Stopping(0.001, 1000, 50, violation=0.1), lambda state: None
        )
        found = planes.train(1.0)
        assert found.converged
        needed.append((found.state.iteration, found.state.objective))
    assert needed[0][1] == pytest.approx(needed[1][1], abs=0.11)
    assert needed[1][0] < 0.8 * needed[0][0], needed


@pytest.mark.parametrize("master", [SquaredNorm, AbsoluteNorm])
def test_what_the_oracle_may_have_missed_is_part_of_the_gap(master: type[SquaredNorm | AbsoluteNorm]) -> None:
    """Weights that are best for the worlds that were found are not known to be the best ones."""
    oracle = Oracle(TrainingProblem(network(2, [(0, [1]), (1, [2])]), np.array([True, False]), Names()))

    class Unsure:
        least_margin = 0.0

        def most_violated(self, weights: np.ndarray, known: int = -1) -> ViolatedMargin:
            return replace(oracle.most_violated(weights, known), gap=0.5)

        def rounded(self, weights: np.ndarray) -> np.ndarray:
            return weights

    told: list[MarginState] = []
    found = CuttingPlanes(Unsure(), master(), 2, 1, Stopping(1e-4, 100, 50), told.append).train(2.0)
    assert not found.converged
    assert len(told) < 100
    assert told[-1].upper == pytest.approx(told[-1].objective + 2.0 * 0.5, abs=1e-3)
    assert found.state.upper == pytest.approx(found.state.objective + 2.0 * 0.5, abs=1e-3)
    assert found.state.gap >= 1.0 - 1e-3
