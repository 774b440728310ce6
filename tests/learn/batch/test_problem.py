"""Leaving examples out of a problem, and what is told of a network."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sqlrl.errors import InputError
from sqlrl.learn.batch.problem import TrainingProblem, support_table, without_examples
from sqlrl.learn.slices import cut, example_network
from sqlrl.solve.counts import delta_counts
from sqlrl.solve.sample_networks import network
from sqlrl.training.labels import Names, infeasible_truth
from tests.learn.streams import random_stream


@pytest.mark.parametrize("seed", range(12))
def test_what_is_left_is_the_network_of_the_other_examples(seed: int) -> None:
    (window,) = random_stream(seed, longest=3, count=5).windows(5)
    problem = TrainingProblem(window.network, window.truth, Names())
    for k, example in enumerate(window.examples.tolist()):
        left = without_examples(problem, np.setdiff1d(window.examples, [example])).network
        alone, _, clauses = example_network(cut(window.network, window.examples), k)
        assert left.atoms.tolist() == alone.atoms.tolist()
        assert left.literals.tolist() == alone.literals.tolist()
        assert left.indptr.tolist() == alone.indptr.tolist()
        assert left.row_clause.tolist() == clauses[alone.row_clause].tolist()
        assert left.multiplicity.tolist() == alone.multiplicity.tolist()
        assert left.units[:, clauses].toarray().tolist() == alone.units.toarray().tolist()
        assert left.block.tolist() == alone.block.tolist()
        assert left.block_exact.tolist() == alone.block_exact.tolist()
        assert left.prior.tolist() == alone.prior.tolist()
        assert left.hard_units[:, 1].tolist() == alone.hard_units[:, 1].tolist()
        assert len(left.clauses) == len(window.network.clauses)
    some = without_examples(problem, window.examples[:2])
    first, second = np.zeros(len(some.truth), dtype=bool), some.truth
    whole = [np.zeros(len(window.truth), dtype=bool), np.zeros(len(window.truth), dtype=bool)]
    whole[1][~np.isin(window.network.example, window.examples[:2])] = second
    assert (
        delta_counts(some.network, second, first).tolist() == delta_counts(window.network, whole[1], whole[0]).tolist()
    )


def test_examples_that_are_joined_cannot_be_left_out() -> None:
    names = Names(clause=["Friends(x, y) ^ Smokes(x) => Smokes(y)"].__getitem__)
    joined = network(4, [(0, [1, 3])], example=[7, 7, 8, 8])
    with pytest.raises(
        InputError, match=r"1 ground clause, the first of Friends\(x, y\) \^ Smokes\(x\) => Smokes\(y\), would lose"
    ):
        without_examples(TrainingProblem(joined, np.ones(4, dtype=bool), names), np.array([7]))
    block = network(4, [], blocks=[([1, 2], True)], example=[7, 7, 8, 8])
    with pytest.raises(InputError, match="1 block would lose atoms that also belong to other examples"):
        without_examples(TrainingProblem(block, np.ones(4, dtype=bool), names), np.array([7]))


def test_labels_are_checked_across_examples() -> None:
    broken = infeasible_truth(network(2, [(0, [-1, -2])], hard=[0], example=[7, 8]), np.array([True, True]))
    assert (broken.clause.tolist(), broken.example.tolist(), broken.count.tolist()) == ([0], [7], [1])


def test_support_counts_each_atom_once_and_no_helper() -> None:
    net = network(4, [(0, [1]), (0, [1, 2]), (0, [-1, 2], 3), (1, [3, 4]), (2, [-4])])
    helped = replace(net, helper=np.array([False, False, False, True]))
    assert support_table(helped).to_pydict() == {"clause": [0, 1, 2], "support": [2, 1, 0]}
    assert support_table(network(0, [], clauses=2)).column("support").to_pylist() == [0, 0]
