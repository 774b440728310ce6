"""Errors of averages over chains whose true errors are known."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from sqlrl.errors import InputError
from sqlrl.solve.sampling.chains import Effort
from sqlrl.solve.sampling.diagnostics import SampleEstimate, estimate, start_moments


def summed(draws: npt.NDArray[np.float64]) -> SampleEstimate:
    """The estimate from draws of shape (chains, draws, n), added up as samplers do."""
    chains, count, n = draws.shape
    moments = start_moments(n, chains, count)
    batches = len(moments.bounds) - 1
    for c in range(chains):
        for b in range(batches):
            part = draws[c, moments.bounds[b] : moments.bounds[b + 1]]
            moments.total[c, b] = part.sum(axis=0)
            moments.square[c, min(1, 2 * b // batches)] += (part**2).sum(axis=0)
    return estimate(moments)


def flips(chains: int, count: int, n: int, stay: float, seed: int) -> npt.NDArray[np.float64]:
    """Symmetric two-state chains: autocorrelation (2 stay - 1)**lag, so ess is draws * (1 - stay) / stay."""
    rng = np.random.default_rng(seed)
    moves = rng.random((chains, count, n)) > stay
    moves[:, 0] = rng.random((chains, n)) < 0.5
    return np.asarray(np.cumsum(moves, axis=1) % 2, dtype=np.float64)


@pytest.mark.parametrize("stay", [0.5, 0.7, 0.9, 0.3])
def test_errors_of_two_state_chains(stay: float) -> None:
    draws = flips(4, 2000, 400, stay, seed=1)
    found = summed(draws)
    ess = min(4 * 2000 * (1 - stay) / stay, 4 * 2000)
    true_error = 0.5 / np.sqrt(4 * 2000 * (1 - stay) / stay)
    assert np.median(found.error) == pytest.approx(true_error, rel=0.1)
    assert np.median(found.ess) == pytest.approx(ess, rel=0.1)
    assert np.abs(found.mean - 0.5).max() < 5 * true_error
    # The errors cover the truth as often as those of a normal distribution do.
    inside = np.mean(np.abs(found.mean - 0.5) < 2 * found.error)
    assert 0.92 < inside < 0.985
    assert np.all(found.rhat < 1.02)


def test_rhat_is_that_of_the_textbook() -> None:
    """Gelman et al. (2013), section 11.4, over the halves of all chains."""
    rng = np.random.default_rng(2)
    draws = np.clip(rng.normal(0.5, 0.1, (3, 400, 5)) + rng.normal(0, 0.03, (3, 1, 5)), 0, 1)
    halves = draws.reshape(6, 200, 5)
    between = 200 * halves.mean(axis=1).var(axis=0, ddof=1)
    within = halves.var(axis=1, ddof=1).mean(axis=0)
    expected = np.sqrt((199 / 200 * within + between / 200) / within)
    assert summed(draws).rhat == pytest.approx(expected, rel=1e-9)


def test_chains_that_stay_apart() -> None:
    """Half of the chains at 0.1 and half at 0.9: the mean is worth as much as four draws."""
    rng = np.random.default_rng(3)
    draws = rng.normal(0, 0.01, (4, 500, 1)) + np.array([0.1, 0.9, 0.1, 0.9])[:, None, None]
    found = summed(draws)
    assert found.rhat[0] > 10
    assert found.error[0] > 0.1
    stuck = summed(np.broadcast_to(np.array([0.0, 1.0, 0.0, 1.0])[:, None, None], (4, 500, 1)).copy())
    assert np.isinf(stuck.rhat[0])
    assert stuck.error[0] > 0.1


def test_numbers_that_never_change() -> None:
    found = summed(np.full((4, 100, 2), [0.3, 1.0]))
    assert found.mean == pytest.approx([0.3, 1.0])
    assert found.rhat.tolist() == [1.0, 1.0]
    assert found.ess.tolist() == [400.0, 400.0]
    assert found.error == pytest.approx(1 / 400, abs=1e-9)


@pytest.mark.parametrize("count", [1, 2, 3])
def test_too_few_draws_to_tell(count: int) -> None:
    found = summed(np.full((2, count, 1), 0.5))
    assert found.mean[0] == 0.5
    assert np.isinf(found.error[0])


@pytest.mark.parametrize("option", [{"samples": 0}, {"burn_in": -1}, {"chains": 0}, {"seed": 1.5}, {"threads": True}])
def test_effort_out_of_range(option: dict[str, int]) -> None:
    with pytest.raises(InputError, match=next(iter(option))):
        Effort(**option)
