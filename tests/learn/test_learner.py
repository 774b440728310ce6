"""Learning from windows against Algorithm 1 in plain Python."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
import pyarrow as pa
import pytest

import sqlrl.learn.learner as module
from sqlrl.errors import InputError, NumericError
from sqlrl.ground.network import FloatArray
from sqlrl.ground.windows import Window
from sqlrl.learn import CDA, MIRA, AdaGrad, ContrastiveDivergence, OnlineLearner
from sqlrl.learn.online import OnlineEstimator
from sqlrl.learn.settings import Parameters
from sqlrl.learn.steps import learn_examples
from sqlrl.solve.conflict import ConflictingClausesError
from sqlrl.solve.counts import delta_counts
from sqlrl.solve.sample_networks import network
from sqlrl.training.labels import Names, infeasible_truth
from tests.learn.oracles import Oracle, run_oracle
from tests.learn.streams import Stream, chain_window, random_stream

RATES = [(0.001, 1.0, 1.0), (0.05, 0.7, 0.1), (0.0, 1.0, 1.0), (0.3, 2.0, 0.0)]


def learned(stream: Stream, parameters: Parameters, size: int, seed: int = 0) -> tuple[OnlineLearner, pa.Table]:
    learner = OnlineLearner(parameters)
    steps = [learner.learn_many(window).steps for window in stream.windows(size, seed)]
    return learner, pa.concat_tables(steps)


def agree(learner: OnlineLearner, steps: pa.Table, oracle: Oracle) -> None:
    assert learner.steps == len(oracle.history)
    assert learner.weights == pytest.approx(oracle.weights, rel=1e-12, abs=1e-12)
    assert learner.averaged_weights() == pytest.approx(oracle.averages(), rel=1e-12, abs=1e-12)
    assert steps["loss"].to_pylist() == oracle.losses


@pytest.mark.parametrize("augmented", [False, True])
def test_forests_equal_algorithm_1(augmented: bool) -> None:
    moved = 0
    for seed in range(12):
        stream, rates = random_stream(seed), RATES[seed % len(RATES)]
        parameters = AdaGrad(*rates, loss_augmented=augmented).parameters()
        oracle = run_oracle(stream, parameters)
        assert oracle.smallest_gap > 1e-9
        learner, steps = learned(stream, parameters, 1 + seed % 6, seed)
        agree(learner, steps, oracle)
        moved += np.count_nonzero(learner.weights)
    assert moved > 20


@pytest.mark.parametrize("augmented", [False, True])
def test_narrow_components_equal_algorithm_1(augmented: bool) -> None:
    checked = 0
    for seed in range(100, 112):
        stream, rates = random_stream(seed, longest=4, count=8), RATES[seed % len(RATES)]
        parameters = AdaGrad(*rates, loss_augmented=augmented).parameters()
        oracle = run_oracle(stream, parameters)
        if oracle.smallest_gap > 1e-9:
            agree(*learned(stream, parameters, 1 + seed % 5, seed), oracle)
            checked += 1
    assert checked > 8


@pytest.mark.parametrize(
    "rule", [AdaGrad(strength=0.01), CDA(), MIRA(), ContrastiveDivergence("mpe", strength=0.1)], ids=str
)
def test_where_clauses_change_means_begin_anew(rule: OnlineEstimator) -> None:
    for seed in range(3):
        windows = list(random_stream(seed, count=12).windows(4, seed))
        learner, plain = (OnlineLearner(rule.parameters()) for _ in range(2))
        since: list[FloatArray] = []
        for i, window in enumerate(windows):
            # What is new in a later window has weight 0 in the steps before.
            changed = replace(window, changed=i == 1)
            for example in window.examples.tolist():
                plain.learn_one(window, example)
                since += [plain.weights] if i >= 1 else []
            learner.learn_many(changed)
            if i == 1:
                learner = OnlineLearner.from_state(rule.parameters(), learner.state())
        size = learner.clauses
        wanted = np.mean([np.pad(weights, (0, size - len(weights))) for weights in since], axis=0)
        assert learner.averaged_weights() == pytest.approx(wanted, rel=1e-9, abs=1e-12)
        assert learner.weights.tobytes() == plain.weights.tobytes()


def test_the_mean_of_no_steps_is_the_last_weights() -> None:
    (window,) = random_stream(3, count=12).windows(12, 3)
    learner = OnlineLearner(AdaGrad().parameters())
    learner.learn_many(window)
    learner.learn_many(replace(window, examples=window.examples[:0], changed=True))
    assert np.count_nonzero(learner.weights)
    assert learner.averaged_weights().tolist() == learner.weights.tolist()


@pytest.mark.slow
def test_the_general_path_equals_algorithm_1(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "learn_examples", partial(learn_examples, compiled=False))
    checked = 0
    for seed in range(100, 106):
        stream, rates = random_stream(seed, longest=4, count=8), RATES[seed % len(RATES)]
        oracle = run_oracle(stream, AdaGrad(*rates).parameters())
        if oracle.smallest_gap > 1e-4:  # CP-SAT's integer weights are that exact
            agree(*learned(stream, AdaGrad(*rates).parameters(), 3, seed), oracle)
            checked += 1
    assert checked > 2


def test_order_is_that_of_the_window_and_examples_without_atoms_are_steps() -> None:
    whole = chain_window(3, length=4)
    learner = OnlineLearner(AdaGrad().parameters())
    report = learner.learn_many(replace(whole, examples=np.array([2, 77, 0, 2])))
    assert report.steps["example"].to_pylist() == [2, 77, 0, 2]
    assert report.steps["step"].to_pylist() == [0, 1, 2, 3]
    assert report.steps["atoms"].to_pylist() == [12, 0, 12, 12]
    assert learner.steps == 4
    assert learner.learn_many(replace(whole, examples=np.array([1]))).steps["step"].to_pylist() == [4]


def test_a_chain_task_is_learned() -> None:
    learner = OnlineLearner(AdaGrad().parameters())
    report = learner.learn_many(chain_window(120))
    loss = np.array(report.steps["loss"])
    assert loss[:10].mean() > 3
    assert loss[-60:].mean() < 0.5
    margin = np.array(report.steps["score_prediction"]) - np.array(report.steps["score_truth"])
    assert np.all(margin >= -1e-9)
    assert np.all(np.abs(margin[loss == 0]) < 1e-12)
    assert np.array_equal(np.array(report.steps["correct"]), np.array(report.steps["atoms"]) - loss)


def test_history_tells_every_update() -> None:
    learner = OnlineLearner(AdaGrad(strength=0.0, record_history=True).parameters())
    windows = random_stream(5).windows(4)
    changes = pa.concat_tables([learner.learn_many(w).changes for w in windows])
    assert changes.num_rows > 5
    last, total = np.zeros(len(learner.weights)), np.zeros(len(learner.weights))
    for row in changes.to_pylist():
        last[row["clause"]] = row["weight"]
        total[row["clause"]] += row["delta_n"]
    assert np.array_equal(last, learner.weights)  # without a penalty weights rest between their updates
    assert total.tolist() == learner.support()["delta_n"].to_pylist()
    keys = list(zip(changes["step"].to_pylist(), changes["clause"].to_pylist(), strict=True))
    assert keys == sorted(set(keys))
    assert not np.any(np.isin(changes["clause"], random_stream(5).hard))


def test_state_goes_on_where_it_was_left(tmp_path: object) -> None:
    stream = random_stream(3)
    whole, _ = learned(stream, AdaGrad().parameters(), 5)
    windows = stream.windows(5)
    first = OnlineLearner(AdaGrad().parameters())
    first.learn_many(windows[0])
    np.savez(f"{tmp_path}/state.npz", **first.state())
    with np.load(f"{tmp_path}/state.npz") as saved:
        second = OnlineLearner.from_state(AdaGrad().parameters(), saved)
    for window in windows[1:]:
        second.learn_many(window)
    assert all(np.array_equal(a, b) for a, b in zip(whole.state().values(), second.state().values(), strict=True))
    with pytest.raises(InputError, match="a state of this learner has the arrays steps, weight, squares"):
        OnlineLearner.from_state(AdaGrad().parameters(), {"steps": np.array(0)})
    with pytest.raises(InputError, match="one place for each clause in each array"):
        OnlineLearner.from_state(AdaGrad().parameters(), whole.state() | {"met": np.zeros(1, dtype=np.int64)})


def test_support_counts_steps() -> None:
    net = network(3, [(0, [1]), (1, [2, 3]), (0, [-3])], clauses=3, example=[0, 1, 1])
    learner = OnlineLearner(AdaGrad(ties="first").parameters())
    learner.learn_many(Window(np.array([0, 1]), net, np.array([False, True, False]), np.ones(3, dtype=bool)))
    assert learner.support().select(["support", "updates"]).to_pydict() == {"support": [2, 1, 0], "updates": [0, 1, 0]}


def test_unlabelled_atoms_are_refused_but_not_helpers() -> None:
    whole = chain_window(4, length=2)
    labelled = whole.labelled.copy()
    labelled[[6, 7, 13]] = False
    learner = OnlineLearner(AdaGrad().parameters())
    with pytest.raises(InputError, match=r"unlabelled atoms \(EM\).*: 3 atoms of 2 examples .* 2 of example 1;"):
        learner.learn_many(replace(whole, labelled=labelled))
    assert learner.steps == 0
    learner.learn_many(replace(whole, labelled=labelled, examples=np.array([0, 3])))
    helper = replace(whole.network, helper=~labelled)
    report = learner.learn_many(replace(whole, labelled=labelled, network=helper))
    assert report.steps["atoms"].to_pylist() == [6, 4, 5, 6]


def infeasible() -> Window:
    """Example 0 breaks clause 0, example 1 a block, example 2 nothing, example 3 a hard unit clause."""
    ground = [(0, [-1, -2], 2), (1, [1]), (1, [3]), (1, [5]), (2, [-6])]
    net = network(6, ground, hard=[0, 2], blocks=[([2, 3], False)], example=[0, 0, 1, 1, 2, 3])
    return Window(np.arange(4), net, np.ones(6, dtype=bool), np.ones(6, dtype=bool))


def test_labels_may_violate_hard_clauses() -> None:
    learner = OnlineLearner(AdaGrad().parameters())
    report = learner.learn_many(infeasible())
    assert learner.steps == 4
    assert report.predicted[[3, 5]].tolist() == [False, False]
    assert learner.weights[[0, 2]].tolist() == [0.0, 0.0]
    assert learner.weights[1] > 0
    found = learner.infeasible
    assert found.clause.tolist() == [-3, 0, 2]  # the block of the atom with id 2
    assert (found.example.tolist(), found.count.tolist()) == ([1, 0, 3], [2, 1, 1])
    learner.learn_many(infeasible())
    assert learner.infeasible.clause.tolist() == [-3, 0, 2]
    text = found.warning(learner.names, skipped=False)
    assert "labels of 3 examples violate hard clauses" in text
    assert "clause 0: 1 example, 1 grounding" in text
    assert "in a block: 1 example, 1 block, the first that of atom 2 in 1 with 2 true atoms" in text


def test_blocks_that_labels_break_are_named() -> None:
    blocks = [([0, 1], True), ([2, 3], True), ([4, 5], False), ([6, 7], False)]
    net = network(9, [], clauses=1, blocks=blocks, given=[-9], example=[0, 0, 1, 1, 1, 1, 2, 2, 2])
    found = infeasible_truth(net, np.array([0, 0, 0, 1, 1, 1, 0, 0, 1], dtype=bool))
    broken = {(-1 - c, e): n for c, e, n in zip(found.clause, found.example, found.count, strict=True)}
    assert broken == {(0, 0): 0, (4, 1): 2, (8, 2): 2}
    (line,) = found.describe(Names(example="b{}".format)).split("\n")
    assert line.endswith("block: 3 examples, 3 blocks, the first that of atom 0 in b0 with 0 true atoms")


def test_infeasible_labels_can_be_skipped_or_refused() -> None:
    learner = OnlineLearner(AdaGrad(on_infeasible_truth="skip").parameters())
    report = learner.learn_many(infeasible())
    assert report.steps["example"].to_pylist() == [2]
    assert learner.steps == 1
    assert len(learner.infeasible.clause) == 3
    strict = OnlineLearner(AdaGrad(on_infeasible_truth="error").parameters())
    with pytest.raises(InputError, match="3 examples, among them 0, violate hard clauses"):
        strict.learn_many(infeasible())
    assert strict.steps == 0


@pytest.mark.parametrize("extra", [[], [(2, [2, 3, 4])]], ids=["forest", "general"])
def test_a_model_without_a_world_is_an_error_and_changes_nothing(extra: list[tuple[int, list[int]]]) -> None:
    net = network(
        5, [(0, [5]), (1, [1, 2]), (1, [-1]), (1, [-2]), *extra], clauses=3, hard=[1], example=[8, 8, 8, 8, 7]
    )
    window = Window(np.array([7, 8]), net, np.ones(5, dtype=bool), np.ones(5, dtype=bool))
    learner = OnlineLearner(AdaGrad().parameters())
    with pytest.raises(ConflictingClausesError, match=r"!atom 0 \(clause 1\)") as caught:
        learner.learn_many(window)
    assert caught.value.__notes__ == ["while predicting example 8"]
    assert (learner.steps, len(learner.weights)) == (0, 0)


def test_ctrl_c_inside_a_window_leaves_the_learner_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    window, learner = chain_window(5), OnlineLearner(AdaGrad().parameters())
    learner.learn_many(window)
    before = learner.state()

    def interrupted(*args: object, run: Callable[..., object] = learn_examples) -> None:
        run(*args)
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "learn_examples", interrupted)
    with pytest.raises(KeyboardInterrupt):
        learner.learn_many(window)
    after = learner.state()
    assert all(np.array_equal(before[name], after[name]) for name in before)


def test_examples_that_are_joined_are_refused() -> None:
    joined = network(2, [(0, [1, 2])], example=[3, 4])
    everything = np.ones(2, dtype=bool)
    with pytest.raises(InputError, match="clause 0 joins atom 0 of example 3 with atom 1 of example 4"):
        OnlineLearner(AdaGrad().parameters()).learn_many(Window(np.array([3, 4]), joined, everything, everything))
    block = network(2, [(0, [1])], blocks=[([0, 1], False)], example=[3, 4])
    with pytest.raises(InputError, match="a block joins atom 0"):
        OnlineLearner(AdaGrad().parameters()).learn_many(Window(np.array([3, 4]), block, everything, everything))


def test_numbers_out_of_range_are_refused() -> None:
    net = network(1, [(0, [1])], prior=[np.nan])
    one = np.ones(1, dtype=bool)
    with pytest.raises(NumericError, match="soft evidence of atom 0 is nan"):
        OnlineLearner(AdaGrad().parameters()).learn_many(Window(np.array([0]), net, one, one))
    huge = OnlineLearner(AdaGrad(learning_rate=1.7e308, delta=0.0).parameters())
    window = Window(np.array([0]), network(1, [(0, [1])], prior=[-1.79e308]), one, one)
    huge.learn_many(window)
    with pytest.raises(NumericError, match="lower learning_rate"):
        huge.learn_many(window)
    assert huge.steps == 1


def test_ties_count_as_errors() -> None:
    # At first all worlds tie; with two states, exactly one of which holds, one world is wrong everywhere.
    whole = chain_window(1, length=5, states=2)
    net = replace(whole.network, block_exact=np.ones_like(whole.network.block_exact))
    window = replace(whole, network=net)
    learner = OnlineLearner(AdaGrad(strength=0.0).parameters())
    report = learner.learn_many(window)
    change = delta_counts(net, window.truth, ~window.truth)
    assert learner.weights.tolist() == [dn / (1 + abs(dn)) for dn in change.tolist()]
    assert report.steps["loss"].to_pylist() == [int((report.predicted != window.truth).sum())]
    first = OnlineLearner(AdaGrad(strength=0.0, ties="first").parameters())
    first.learn_many(window)
    change = delta_counts(net, window.truth, report.predicted)
    assert first.weights.tolist() == [dn / (1 + abs(dn)) for dn in change.tolist()]
