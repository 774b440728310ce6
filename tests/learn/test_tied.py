"""Online learners on tied tables against the same ground clauses listed: worlds, counts and weights after each window, by all update rules."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sqlrl.errors import InfeasibleError, InputError
from sqlrl.ground.network import Network, TiedRows
from sqlrl.ground.windows import Window
from sqlrl.learn import CDA, MIRA, AdaGrad, ContrastiveDivergence, Perceptron, Subgradient
from sqlrl.learn.learner import OnlineLearner
from sqlrl.learn.online import OnlineEstimator
from sqlrl.learn.slices import cut, example_network
from sqlrl.solve import bounded_treewidth
from sqlrl.solve.counts import delta_counts
from tests.effort import draws
from tests.solve.tied import tied_networks

MANY = settings(max_examples=draws(60), deadline=None, suppress_health_check=list(HealthCheck))

LEARNERS: list[OnlineEstimator] = [
    AdaGrad(record_history=True),
    AdaGrad(0.05, loss_augmented=True, record_history=True),
    CDA(),
    CDA(update="prediction", loss="f1"),
    Subgradient(record_history=True),
    MIRA(loss="f1"),
    Perceptron(record_history=True),
    ContrastiveDivergence("mpe", strength=0.1),
    ContrastiveDivergence("mpe", step_size="constant", strength=0.1),
]


@st.composite
def windows(draw: st.DrawFn, *, forest: bool = True, others: int = 0) -> list[Window]:
    """Some examples of one network again and again; labels may break blocks, and soft evidence has random digits, so that no worlds tie."""
    network = draw(tied_networks(forest=forest, most=7, examples=3, others=others))
    random, n = np.random.default_rng(draw(st.integers(0, 999))), len(network.atoms)
    known = draw(st.lists(st.integers(-n, n).filter(bool), max_size=2)) if draw(st.integers(0, 3)) == 0 else []
    if draw(st.integers(0, 7)) == 0:
        # No member of a block can be true.
        known += (-1 - np.flatnonzero(network.block == draw(st.sampled_from(network.block.tolist())))).tolist()
    units = np.array([[-1, x] for x in known], dtype=np.int64).reshape(-1, 2)
    network = replace(network, prior=random.normal(scale=0.5, size=n), hard_units=units)
    truth = np.zeros(n, dtype=np.bool_)
    for block in range(len(network.block_exact)):
        members = np.flatnonzero(network.block == block)
        truth[random.choice(members)] = random.random() < 0.8
    if draw(st.integers(0, 3)) == 0:
        truth = random.random(n) < 0.5
    order = draw(st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=4), min_size=1, max_size=3))
    # Example 3 has no atoms.
    return [Window(np.array(ids, dtype=np.int64), network, truth, np.ones(n, dtype=np.bool_)) for ids in order]


def taught(window: Window, learner: OnlineLearner) -> list[Any] | str:
    """What a window gives, and what the learner is afterwards; or the error."""
    try:
        report = learner.learn_many(window)
    except InfeasibleError as error:
        return str(error)
    rows = [report.steps.column(i).to_numpy() for i in range(report.steps.num_columns)]
    rows += [report.changes.column(i).to_numpy() for i in range(report.changes.num_columns)]
    support = [learner.support().column(i).to_numpy() for i in range(4)]
    return [report.predicted, learner.weights, learner.averaged_weights(), *rows, *support]


def agree(estimator: OnlineEstimator, made: list[Window]) -> None:
    """Learn from tables and from rows, and compare after each window."""
    tied, plain = (OnlineLearner(estimator.parameters()) for _ in range(2))
    for window in made:
        found = taught(window, tied)
        wanted = taught(replace(window, network=window.network.listed()), plain)
        if isinstance(found, str) or isinstance(wanted, str):
            assert found == wanted
            return
        for one, other in zip(found, wanted, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("estimator", LEARNERS, ids=str)
@MANY
@given(windows())
def test_weights_are_those_of_the_listed_rows(estimator: OnlineEstimator, made: list[Window]) -> None:
    agree(estimator, made)


@pytest.mark.parametrize("cells", [2**12, 2])
@MANY
@given(windows(forest=False, others=6), st.sampled_from(LEARNERS))
def test_other_components_learn_as_if_listed(cells: int, made: list[Window], estimator: OnlineEstimator) -> None:
    # With tables that small each example finds worlds on its own network.
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bounded_treewidth, "BUCKET_CELLS", cells)
        agree(estimator, made)


@MANY
@given(windows(forest=False, others=3))
def test_sampled_and_relaxed_worlds_are_those_of_the_listed_rows(made: list[Window]) -> None:
    agree(ContrastiveDivergence(), made)
    agree(AdaGrad(inference="relaxed"), made)


@MANY
@given(tied_networks(forest=False, most=7, examples=3, others=4), st.integers(0, 99))
def test_examples_are_cut_with_their_pairs(network: Network, seed: int) -> None:
    examples = np.array([2, 0, 7, 2])
    random = np.random.default_rng(seed)
    worlds = [random.random(len(network.atoms)) < 0.5 for _ in range(2)]
    for k in range(len(examples)):
        small, atoms, clauses = example_network(cut(network, examples), k)
        plain, same, known = example_network(cut(network, examples).listed(), k)
        assert atoms.tolist() == same.tolist()
        assert clauses.tolist() == known.tolist()
        assert small.rows.listed.literals.tolist() == plain.rows.listed.literals.tolist()
        assert small.rows.listed.clause.tolist() == plain.rows.listed.clause.tolist()
        one, other = (world[atoms] for world in worlds)
        assert delta_counts(small, one, other).tolist() == delta_counts(plain, one, other).tolist()


def test_windows_of_forests_list_no_rows() -> None:
    seen = 0
    strategy = windows()

    @settings(max_examples=20, deadline=None, database=None)
    @given(strategy)
    def check(made: list[Window]) -> None:
        nonlocal seen
        learner = OnlineLearner(AdaGrad().parameters())
        for window in made:
            rows = window.network.rows
            if isinstance(rows, TiedRows) and not len(window.network.hard_units):
                learner.learn_many(window)
                assert "listed" not in vars(rows)
                seen += 1

    check()
    assert seen


@settings(max_examples=draws(20), deadline=None, suppress_health_check=list(HealthCheck))
@given(tied_networks(), st.integers(0, 99))
def test_tables_that_join_two_examples_are_refused(network: Network, seed: int) -> None:
    if not network.rows.tied:
        return
    table = network.rows.tied[0]
    parted = replace(network, example=np.where(network.block == table.right[seed % len(table.right)], 1, 0))
    with pytest.raises(InputError, match="takes one example at a time"):
        cut(parted, np.arange(2))
