"""Compiled chains of a window against chains of each example alone."""

from __future__ import annotations

import random

import numpy as np
import pytest

from sqlrl.ground.network import Network
from sqlrl.learn.arrays import window_arrays
from sqlrl.learn.kernel import sample, soft_examples, start_chain
from sqlrl.learn.slices import cut, example_network
from sqlrl.learn.worlds import sampled_world
from sqlrl.solve.randomness import streams
from tests.learn.streams import random_stream


def soft_window(seed: int) -> tuple[Network, np.ndarray, np.ndarray]:
    """Examples with blocks, negated clauses and soft evidence, their atoms mixed; none has a hard clause."""
    stream = random_stream(seed, longest=4, count=6)
    window = stream.window(0, 6, random.Random(seed))
    network = window.network
    assert isinstance(network, Network)
    return network, window.truth, window.examples


@pytest.mark.parametrize("seed", range(25))
def test_a_chain_of_a_window_draws_what_chains_of_examples_draw(seed: int) -> None:
    network, truth, examples = soft_window(seed)
    order = np.concatenate([examples[::-1], examples[:2], [999]])  # any order, some again, one without atoms
    slices = cut(network, order)
    soft = soft_examples(slices)
    now = np.where(network.hard, 0.0, np.random.default_rng(seed).normal(size=len(network.clauses)))
    window, chain = window_arrays(slices, truth), start_chain(slices, truth)
    one, other = streams(seed, 1)[0], streams(seed, 1)[0]
    found = np.zeros(len(truth), dtype=np.bool_)
    for k in np.flatnonzero(soft):
        small, atoms, clauses = example_network(slices, k)
        assert not small.hard[small.row_clause].any()
        assert len(small.hard_units) == 0
        expected = sampled_world(small, now[clauses], truth[atoms], sweeps=1 + k, random=other)
        sample(window, chain, k, now, 1 + k, one, found)
        assert found[atoms].tolist() == expected.tolist()
        assert one.tolist() == other.tolist()
        # The next example begins where it did, with the counts of true literals that it had.
        fresh = start_chain(slices, truth).state
        assert chain.state.row["count"].tolist() == fresh.row["count"].tolist()
        assert chain.state.atom["true"].tolist() == fresh.atom["true"].tolist()
        assert chain.state.block["holder"].tolist() == fresh.block["holder"].tolist()


def test_hard_clauses_are_left_to_mc_sat() -> None:
    kinds = set()
    for seed in range(25):
        network, _, examples = soft_window(seed)
        slices = cut(network, examples)
        soft = soft_examples(slices)
        for k in range(len(examples)):
            small, _, _ = example_network(slices, k)
            assert soft[k] == (not small.hard[small.row_clause].any() and not len(small.hard_units))
            kinds.add(bool(soft[k]))
    assert kinds == {True, False}
