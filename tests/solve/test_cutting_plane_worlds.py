"""Best worlds in rounds over ground clauses that are there, against enumeration and against solving all of them at once."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sqlrl.ground.network import Network
from sqlrl.solve import cutting_plane_worlds
from sqlrl.solve.conflict import ConflictingClausesError
from sqlrl.solve.cutting_plane_worlds import NetworkEstimate, solve_network
from sqlrl.solve.elimination import bounded_part
from sqlrl.solve.methods import Chooser, Options
from sqlrl.solve.mpe import mpe
from sqlrl.solve.other_worlds import differing, flipped
from sqlrl.solve.restriction import UnsatisfiableError, select
from sqlrl.solve.result import Status, UnsolvedError
from sqlrl.solve.sample_networks import network
from sqlrl.solve.weighted import weigh
from tests.effort import draws
from tests.solve.networks import EXTREME, Problem, problems, worlds


@pytest.fixture
def eager() -> Iterator[None]:
    """Rounds for every network, however small."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cutting_plane_worlds, "SMALL", 0)
        yield


def check(problem: Problem) -> bool:
    """Compare with enumeration; return whether there were rounds."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cutting_plane_worlds, "SMALL", 0)
        patch.setattr(cutting_plane_worlds, "SHARE", 1.0)
        weighted = weigh(problem.network(), problem.weights)
        best = max((problem.score(world) for world in worlds(problem)), default=None)
        if best is None:
            with pytest.raises(UnsatisfiableError):
                solve_network(weighted, Options())
            with pytest.raises(ConflictingClausesError):
                mpe(problem.network(), problem.weights)
            return False
        found = solve_network(weighted, Options())
        assert mpe(problem.network(), problem.weights).gap >= 0
    score = problem.score(tuple(found.world.tolist()))
    assert tuple(found.world.tolist()) in list(worlds(problem))
    assert float(best - score) <= found.gap + 1e-12 * (1 + float(problem.magnitude()))
    assert found.gap == found.rounding
    return any(choice.method == "cutting plane" for choice in found.choices)


@pytest.mark.property
def test_the_optimum_of_enumeration() -> None:
    in_rounds = []

    @settings(max_examples=draws(300))
    @given(st.one_of(problems(), problems(hardness=3)))
    def run(problem: Problem) -> None:
        in_rounds.append(check(problem))

    run()
    assert sum(in_rounds) > draws(300) // 30


@given(problems(EXTREME, hardness=2))
def test_extreme_weights(problem: Problem) -> None:
    check(problem)


def same(records: int, seed: int, *, soft: bool = False) -> Network:
    """Records that are the same or not, as soft evidence says, under hard (or soft) symmetry and transitivity."""
    rng = np.random.default_rng(seed)
    pairs = [(a, b) for a in range(records) for b in range(records) if a != b]
    atom = {pair: i + 1 for i, pair in enumerate(pairs)}
    of = rng.integers(0, records // 2, records)
    prior = [(2.0 if of[a] == of[b] else -2.0) + 1.5 * rng.standard_normal() for a, b in pairs]
    ground = [(0, [-i, atom[b, a]]) for (a, b), i in atom.items()]
    for (a, b), i in atom.items():
        ground += [(1, [-i, -atom[b, c], atom[a, c]]) for c in range(records) if c not in (a, b)]
    return network(len(pairs), ground, hard=[] if soft else [0, 1], prior=prior)


@pytest.mark.parametrize("soft", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_a_transitive_relation_has_the_same_optimum_in_rounds(
    seed: int, *, soft: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = same(14, seed, soft=soft)
    at_once = mpe(whole, [1.5, 0.7])
    monkeypatch.setattr(cutting_plane_worlds, "SMALL", 500)
    found = mpe(whole, [1.5, 0.7])
    assert at_once.status is found.status is Status.OPTIMAL
    assert found.objective == pytest.approx(at_once.objective, abs=1e-9)
    first, *_ = found.report.choices
    assert first.method == "cutting plane"
    # Symmetry is taken as a whole, of transitivity what the worlds did not meet.
    assert 182 < first.rows < len(whole.row_clause) / 2
    assert "ground clauses in" in first.reason
    again = mpe(whole, [1.5, 0.7], start=~found.world, deterministic_limit=5.0)
    assert again.objective == pytest.approx(at_once.objective, abs=1e-9)


@pytest.mark.usefixtures("eager")
def test_other_worlds_are_found_in_rounds_too() -> None:
    """Of each world that differs: against the scores of all worlds of eight atoms."""
    weighted = weigh(same(3, 5, soft=True), [0.4, 0.9])
    every = [np.array(bits, dtype=bool) for bits in np.ndindex(*(2,) * len(weighted.atoms))]
    scores = [weighted.score(world) for world in every]
    best = every[int(np.argmax(scores))]
    other = differing(weighted, best, Options())
    assert other.behind == pytest.approx(np.sort(scores)[-1] - np.sort(scores)[-2], abs=1e-9)
    for atom in range(len(best)):
        least = max(score for world, score in zip(every, scores, strict=True) if world[atom] != best[atom])
        assert flipped(weighted, best, atom, Options()).behind == pytest.approx(max(scores) - least, abs=1e-9)


@pytest.mark.usefixtures("eager")
def test_a_method_that_is_asked_for_gets_the_whole_network() -> None:
    weighted = weigh(same(5, 1), [0.0, 0.0])
    asked = solve_network(weighted, Options("cpsat"))
    assert [choice.method for choice in asked.choices][-1] == "cpsat"
    chooser = Chooser(weighted, Options())
    chooser.run()
    assert weighted.score(asked.world) == pytest.approx(weighted.score(chooser.world))


@pytest.mark.usefixtures("eager")
def test_rounds_name_an_atom_that_cannot_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cutting_plane_worlds, "SHARE", 1.0)
    ground = [(0, [a, b], 1) for a in (2, -2) for b in (3, -3)]
    weighted = weigh(Problem(3, ground, [0.0], hard=[0]).network(), [0.0])
    part = select(weighted, np.array([False, True, True]))
    with pytest.raises(UnsatisfiableError) as caught:
        solve_network(part, Options())
    assert caught.value.atom in (1, 2)


@pytest.mark.usefixtures("eager")
def test_what_rounds_do_not_prove_is_solved_with_all_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pairs that attract and repel at random, of which neither elimination nor the linear relaxation proves a world best."""
    monkeypatch.setattr(cutting_plane_worlds, "SHARE", 1.0)
    monkeypatch.setattr("sqlrl.solve.methods.bounded_part", partial(bounded_part, bucket_cells=4))
    draw = np.random.default_rng(2)
    pairs = [(a, b) for a in range(1, 11) for b in range(a + 1, 11)]
    ground = [(0, [int(draw.choice([-a, a])), int(draw.choice([-b, b]))], 1) for a, b in pairs]
    problem = Problem(10, ground, [1.0], prior=draw.normal(size=10).tolist())
    found = solve_network(weigh(problem.network(), problem.weights), Options())
    methods = [choice.method for choice in found.choices]
    assert (methods[0], methods[-1]) == ("cutting plane", "cpsat")
    score = float(problem.score(tuple(found.world.tolist())))
    assert score == pytest.approx(float(max(map(problem.score, worlds(problem)))), abs=1e-6)
    assert found.gap < 1e-6


@pytest.mark.usefixtures("eager")
def test_a_round_that_finds_no_world_has_as_long_as_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cutting_plane_worlds, "SHARE", 1.0)
    monkeypatch.setattr(cutting_plane_worlds, "PATIENCE", 0.0)
    monkeypatch.setattr("sqlrl.solve.methods.bounded_part", partial(bounded_part, bucket_cells=4))
    draw = np.random.default_rng(0)
    ground = [(0, ((draw.choice(20, 3, replace=False) + 1) * draw.choice([-1, 1], 3)).tolist(), 1) for _ in range(240)]
    weighted = weigh(Problem(20, ground, [0.0], hard=[0]).network(), [0.0])
    with pytest.raises(UnsatisfiableError):
        solve_network(weighted, Options())
    with pytest.raises(UnsolvedError, match="deterministic limit"):
        solve_network(weighted, Options(deterministic_limit=0.0))


def test_nothing_is_left_out_where_it_is_little() -> None:
    assert not NetworkEstimate({0: cutting_plane_worlds.SMALL}, {0: 0}).partial
    assert NetworkEstimate({0: 3 * cutting_plane_worlds.SMALL}, {0: 0}).partial
