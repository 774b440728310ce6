"""Leaving examples out of a problem, and what is told of a network."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from sqlrl.errors import InputError
from sqlrl.learn.batch import problem as module
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


@pytest.mark.parametrize("hashes_agree", [False, True])
@given(
    st.lists(st.lists(st.sampled_from([0, 0, 1, 2, -1]), min_size=3, max_size=3), min_size=1, max_size=12), st.randoms()
)
def test_columns_are_equal_where_their_numbers_are(
    hashes_agree: bool, columns: list[list[int]], random: Random
) -> None:
    table = sparse.csc_array(np.array(columns, dtype=np.float64).T)
    asked = np.array(sorted(random.sample(range(len(columns)), random.randint(0, len(columns)))), dtype=np.int64)
    with pytest.MonkeyPatch.context() as patch:
        if hashes_agree:
            patch.setattr(module, "_column_hashes", lambda counts: np.zeros(counts.shape[1], dtype=np.uint64))
        found = module.equal_columns(table, asked)
    numbers: dict[tuple[int, ...], int] = {}
    for j, column in enumerate(columns):
        expected = numbers.setdefault(tuple(column), len(numbers)) if j in asked else -1
        assert found[j] == expected


def test_support_counts_each_atom_once_and_no_helper() -> None:
    net = network(4, [(0, [1]), (0, [1, 2]), (0, [-1, 2], 3), (1, [3, 4]), (2, [-4])])
    helped = replace(net, helper=np.array([False, False, False, True]))
    assert support_table(helped).to_pydict() == {"clause": [0, 1, 2], "support": [2, 1, 0]}
    assert support_table(network(0, [], clauses=2)).column("support").to_pylist() == [0, 0]
