"""Cutting planes over a network in memory, against enumeration."""

from __future__ import annotations

import signal
import threading
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sqlrl.errors import NumericError
from sqlrl.ground.network import Network, NetworkRows
from sqlrl.solve import cutting_plane_worlds
from sqlrl.solve.conflict import ConflictingClausesError
from sqlrl.solve.counts import counts, violated_rows
from sqlrl.solve.cutting_plane import add_rows, cutting_planes, flipped_by_rounds, recounted
from sqlrl.solve.mpe import mpe
from sqlrl.solve.result import Status
from sqlrl.solve.sample_networks import network
from tests.solve.networks import EXTREME, Problem, problems, worlds


class InMemory:
    """An oracle over a network that is there; it keeps what it was asked."""

    def __init__(self, whole: Network) -> None:
        self.whole, self.size = whole, len(whole.row_clause)
        self.sizes = self.known_sizes = {"all": self.size}
        self.worlds: list[np.ndarray] = []
        self.pairs: list[np.ndarray] = []

    def _rows(self, keep: np.ndarray) -> Network:
        whole = self.whole
        length = np.diff(whole.indptr)
        merged: dict[tuple[int, tuple[int, ...]], int] = {}
        for j in np.flatnonzero(keep):
            key = (
                int(whole.row_clause[j]),
                tuple(whole.literals[whole.indptr[j] : whole.indptr[j] + length[j]].tolist()),
            )
            merged[key] = merged.get(key, 0) + int(whole.multiplicity[j])
        found = sorted(merged.items())
        rows = NetworkRows(
            np.cumsum([0, *(len(x) for (_, x), _ in found)], dtype=np.int64),
            np.array([x for (_, row), _ in found for x in row], dtype=np.int64),
            np.array([clause for (clause, _), _ in found], dtype=np.int64),
            np.array([times for _, times in found], dtype=np.int64),
        )
        return replace(whole, rows=rows)

    @property
    def complete(self) -> np.ndarray:
        return np.zeros(len(self.whole.clauses), dtype=bool)

    def start(self) -> Network:
        whole = self.whole
        rows = np.bincount(whole.row_clause, weights=whole.multiplicity, minlength=len(whole.clauses))
        units = whole.open - rows.astype(np.int64).astype(object)
        return replace(self._rows(np.zeros(self.size, bool)), open=units)

    def check_counts(self, asked: np.ndarray) -> None:
        assert not self.worlds, "counts are checked before the first round"

    def unsatisfied(self, world: np.ndarray, wanted: np.ndarray, since: np.ndarray | None = None) -> Network:
        self.worlds.append(world)
        found = self._unmet(world, wanted)
        # As little as an oracle may return.
        return self._rows(found if since is None else found & ~self._unmet(since, wanted))

    def _unmet(self, world: np.ndarray, wanted: np.ndarray) -> np.ndarray:
        violated, row = violated_rows(self.whole, world), wanted[self.whole.row_clause]
        return ((row == 1) & violated) | ((row == -1) & ~violated)

    def unmet(self, world: np.ndarray, wanted: np.ndarray, most: dict[str, int]) -> dict[str, int]:
        return {"all": min(len(self.unsatisfied(world, wanted).row_clause), most["all"] + 1)}

    def among(self, chosen: np.ndarray, wanted: np.ndarray) -> Network:
        self.pairs.append(chosen)
        whole = self.whole
        inside = [
            chosen[np.abs(whole.literals[a:b]) - 1].all()
            for a, b in zip(whole.indptr[:-1], whole.indptr[1:], strict=True)
        ]
        return self._rows(np.array(inside, bool) & (np.diff(whole.indptr) == 2) & (wanted[whole.row_clause] != 0))

    def counts(self, world: np.ndarray, asked: np.ndarray) -> np.ndarray:
        return np.where(asked, counts(self.whole, world), 0)

    def open_counts(self) -> np.ndarray:
        return self.whole.open

    def describe(self, clause: int, literals: list[int]) -> str:
        return f"ground clause {list(literals)} of {clause}"


def check(problem: Problem) -> None:
    oracle = InMemory(problem.network())
    best = max((problem.score(world) for world in worlds(problem)), default=None)
    if best is None:
        with pytest.raises(ConflictingClausesError):
            cutting_planes(oracle, problem.weights)
        return
    found = cutting_planes(oracle, problem.weights)
    result, world = found.result, tuple(found.result.world.tolist())
    assert world in list(worlds(problem))
    score = problem.score(world)
    slack = 1e-9 * (1 + float(abs(best)) + float(problem.magnitude()))
    assert abs(result.objective - float(score)) <= slack
    assert abs(result.report.open_cost - float(problem.cost(world))) <= slack
    assert abs(result.report.constant_cost - float(problem.constant_cost())) <= slack
    assert (
        abs(result.report.varying - mpe(oracle.whole, problem.weights, start=result.world).report.varying)
        <= slack + 2 * result.gap
    )
    assert float(best - score) <= result.gap + 1e-12 * (1 + float(problem.magnitude()))
    assert result.status is Status.OPTIMAL or result.gap > 1e-6
    assert (counts(recounted(oracle, found), result.world) == counts(oracle.whole, result.world)).all()
    assert len(oracle.worlds) >= found.rounds + 1


@given(problems())
def test_the_best_world_with_one_atom_flipped(problem: Problem) -> None:
    oracle = InMemory(problem.network())
    scores = {world: problem.score(world) for world in worlds(problem)}
    if not scores:
        return
    found = cutting_planes(oracle, problem.weights)
    slack = 1e-9 * (1 + float(problem.magnitude()))
    if found.result.gap > slack:
        return
    world = found.result.world
    for atom in range(len(world)):
        other = flipped_by_rounds(oracle, found.network, problem.weights, world, atom)
        best = max((score for x, score in scores.items() if x[atom] != world[atom]), default=None)
        assert other.complete
        if best is None:
            assert other.behind == np.inf
            continue
        assert other.world[atom] != world[atom]
        score = scores[tuple(other.world.tolist())]
        assert abs(float(score - best)) <= slack + other.gap
        assert abs(float(scores[tuple(world.tolist())] - score) - other.behind) <= slack
        few = flipped_by_rounds(oracle, found.network, problem.weights, world, atom, max_rounds=0)
        assert few.least <= other.behind + slack


@given(problems())
def test_the_optimum_of_enumeration(problem: Problem) -> None:
    check(problem)


@given(problems(EXTREME, hardness=3))
def test_hard_clauses_and_extreme_weights(problem: Problem) -> None:
    check(problem)


@given(problems(st.sampled_from([-1.0, 0.0, 1.0])))
def test_ties_and_clauses_of_weight_zero(problem: Problem) -> None:
    check(problem)
    found = None
    try:
        found = cutting_planes(InMemory(problem.network()), problem.weights)
    except ConflictingClausesError:
        return
    zero = [i for i, w in enumerate(problem.weights) if w == 0 and i not in problem.hard]
    assert not np.isin(found.network.row_clause, zero).any()


def chain(length: int) -> Network:
    """Atom 0 is true by weight, and each makes the next true."""
    return network(length, [(0, [1])] + [(1, [-k, k + 1]) for k in range(1, length)])


def test_a_round_grounds_only_what_the_last_world_does_not_meet() -> None:
    oracle = InMemory(chain(4))
    found = cutting_planes(oracle, [1.0, 2.0])
    assert [world.tolist() for world in oracle.worlds] == [
        [True, False, False, False],
        [True, True, False, False],
        [True, True, True, False],
        [True, True, True, True],
    ]
    assert found.rounds == 3
    assert found.result.report.choices[0].reason == "3 of at most 3 ground clauses in 3 rounds"
    assert oracle.pairs == []


def test_no_round_where_the_first_world_meets_everything() -> None:
    found = cutting_planes(InMemory(chain(4)), [-1.0, 2.0])
    assert found.rounds == 0
    assert len(found.network.row_clause) == 0
    assert found.result.objective == 6.0


def odd_cycles(size: int) -> Network:
    """Exclusions around odd cycles, which no linear relaxation proves, and a weight for each atom."""
    edges = [(0, [-(a + 1), -((a + d) % size + 1)]) for a in range(size) for d in (1, 2, 5, 11)]
    return network(size, edges + [(1 + a % 7, [a + 1]) for a in range(size)])


WEIGHTS = [1.3, 1.0, 1.1, 0.9, 1.2, 0.8, 1.05, 0.95]


def test_a_limit_leaves_an_honest_gap() -> None:
    whole = odd_cycles(121)
    best = cutting_planes(InMemory(whole), WEIGHTS)
    assert best.result.status is Status.OPTIMAL
    oracle = InMemory(whole)
    found = cutting_planes(oracle, WEIGHTS, deterministic_limit=1e-4)
    assert found.result.bound >= best.result.objective - 1e-9
    assert found.result.objective <= best.result.objective + 1e-9
    assert found.result.status is Status.FEASIBLE
    # Where CP-SAT does not prove its world in its time, the pairs among the atoms in question are grounded.
    assert oracle.pairs


def test_patience_is_no_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """A world that CP-SAT cannot prove in the patience of a round is proved in the end."""
    whole = odd_cycles(121)
    best = cutting_planes(InMemory(whole), WEIGHTS)
    monkeypatch.setattr(cutting_plane_worlds, "PATIENCE", 1e-4)
    oracle = InMemory(whole)
    found = cutting_planes(oracle, WEIGHTS)
    assert found.result.status is Status.OPTIMAL
    assert abs(found.result.objective - best.result.objective) <= 1e-6
    assert oracle.pairs


def test_a_round_without_a_world_gets_all_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hard clauses may need more than the patience of a round before there is any world."""
    random = np.random.default_rng(0)
    hidden = random.random(60) < 0.5
    hard = []
    while len(hard) < 240:
        literals = [int(a + 1) if random.random() < 0.5 else -int(a + 1) for a in random.choice(60, 3, replace=False)]
        if any(hidden[abs(x) - 1] == (x > 0) for x in literals):
            hard.append((0, literals))
    whole = network(60, [*hard, *((1 + a % 7, [a + 1]) for a in range(60))], hard=[0])
    monkeypatch.setattr(cutting_plane_worlds, "PATIENCE", 1e-9)
    found = cutting_planes(InMemory(whole), [0.0, *WEIGHTS[1:]])
    assert found.result.status is Status.OPTIMAL
    assert not violated_rows(whole, found.result.world).any()
    assert found.result.objective == pytest.approx(mpe(whole, [0.0, *WEIGHTS[1:]]).objective)


def test_the_same_bytes_again() -> None:
    one, other = (cutting_planes(InMemory(odd_cycles(121)), WEIGHTS, seed=3) for _ in range(2))
    assert (one.result.world == other.result.world).all()
    assert one.network.literals.tolist() == other.network.literals.tolist()
    assert one.rounds == other.rounds


def test_conflicting_hard_clauses_are_shown() -> None:
    whole = network(2, [(0, [1, 2]), (1, [-1]), (2, [-2])], hard=[0, 1, 2])
    with pytest.raises(ConflictingClausesError, match=r"ground clause \[1, 2\] of 0"):
        cutting_planes(InMemory(whole), [0.0, 0.0, 0.0])


def test_weights_are_checked() -> None:
    with pytest.raises(NumericError, match="2 clauses need as many weights"):
        cutting_planes(InMemory(chain(3)), [1.0])
    with pytest.raises(NumericError, match="finite"):
        cutting_planes(InMemory(chain(3)), [1.0, np.nan])


def test_no_atoms() -> None:
    found = cutting_planes(InMemory(network(0, [], clauses=1)), [1.0])
    assert found.result.world.tolist() == []
    assert found.result.status is Status.OPTIMAL


@pytest.mark.slow
def test_ctrl_c_ends_it() -> None:
    whole = odd_cycles(3001)

    def again_and_again() -> None:
        while True:
            cutting_planes(InMemory(whole), WEIGHTS)

    timer = threading.Timer(1.0, lambda: signal.raise_signal(signal.SIGINT))
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            again_and_again()
    finally:
        timer.cancel()


def test_rows_of_different_lengths_are_told_apart() -> None:
    old = network(4, [(0, [1, 2]), (1, [1, 2, 3])])
    larger, changed = add_rows(old, network(4, [(0, [1, 2, 3], 5), (1, [1, 2, 3], 7), (1, [-1, 2], 2)]))
    assert changed.tolist() == [True, True, True, False]
    assert add_rows(larger, larger)[0] is larger
    grown, changed = add_rows(larger, network(4, [(0, [1, 2], 3), (1, [-1, 2], 1)], clauses=2))
    assert grown.multiplicity.tolist() == [3, 5, 7, 2]
    assert changed.tolist() == [True, True, False, False]
    assert larger.row_clause.tolist() == [0, 0, 1, 1]
    assert larger.literals.tolist() == [1, 2, 1, 2, 3, 1, 2, 3, -1, 2]
    assert larger.multiplicity.tolist() == [1, 5, 7, 2]
