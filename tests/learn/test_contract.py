"""What every online learner of weights keeps to, whatever its update rule."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sqlrl.learn.learner as module
from sqlrl import CDA, AdaGrad
from sqlrl.baselines import MIRA, ContrastiveDivergence, Perceptron, Subgradient
from sqlrl.errors import InputError, NumericError
from sqlrl.ground.windows import Window
from sqlrl.learn import OnlineLearner
from sqlrl.learn.settings import Parameters
from sqlrl.learn.steps import learn_examples
from sqlrl.solve.conflict import ConflictingClausesError
from sqlrl.solve.counts import delta_counts
from sqlrl.solve.sample_networks import network
from tests.learn.oracles import EVERY, SAME
from tests.learn.streams import chain_window, random_stream
from tests.learn.test_learner import infeasible

every = pytest.mark.parametrize("parameters", EVERY.values(), ids=EVERY)
# Those whose compiled steps are not the same ones with other numbers.
VARIED = {name: given for name, given in EVERY.items() if name not in SAME}
varied = pytest.mark.parametrize("parameters", VARIED.values(), ids=VARIED)


def everything(parameters: Parameters, windows: list[Window]) -> list[object]:
    """All that a learner says of windows, for comparison byte by byte."""
    learner, found = OnlineLearner(replace(parameters, record_history=True)), []
    for window in windows:
        report = learner.learn_many(window)
        found += [report.steps, report.changes, report.predicted.tolist()]
    return [*found, *(x.tobytes() for x in learner.state().values()), learner.averaged_weights().tobytes()]


def same(a: OnlineLearner, b: OnlineLearner) -> bool:
    one, other = a.state(), b.state()
    return one.keys() == other.keys() and all(one[name].tobytes() == other[name].tobytes() for name in one)


@varied
def test_windows_change_no_byte(parameters: Parameters) -> None:
    whole = chain_window(7)
    one, parts, single = (OnlineLearner(parameters) for _ in range(3))
    one.learn_many(whole)
    for i in range(0, 7, 3):
        parts.learn_many(replace(whole, examples=whole.examples[i : i + 3]))
    for example in whole.examples.tolist():
        report = single.learn_one(whole, example)
        assert report.steps["example"].to_pylist() == [example]
    assert same(one, parts)
    assert same(one, single)
    with pytest.raises(InputError, match="example 99 is not in the window"):
        single.learn_one(whole, 99)


@varied
def test_the_general_path_gives_the_same_bytes(monkeypatch: pytest.MonkeyPatch, parameters: Parameters) -> None:
    streams = [random_stream(seed, count=8) for seed in range(2)]
    for stream in streams:  # without soft evidence there are ties, which both must break alike
        stream.examples[:] = [replace(p, prior=[0.0] * p.atoms) for p in stream.examples]
    windows = [*(stream.windows(3) for stream in streams), [chain_window(2, length=4)]]
    fast = [everything(parameters, w) for w in windows]
    monkeypatch.setattr(module, "learn_examples", partial(learn_examples, compiled=False))
    assert [everything(parameters, w) for w in windows] == fast


@every
def test_a_learner_goes_on_where_it_was_left(tmp_path: Path, parameters: Parameters) -> None:
    windows = random_stream(3).windows(5)
    whole, first = OnlineLearner(parameters), OnlineLearner(parameters)
    for window in windows:
        whole.learn_many(window)
    first.learn_many(windows[0])
    np.savez(tmp_path / "state.npz", **first.state())
    with np.load(tmp_path / "state.npz") as saved:
        second = OnlineLearner.from_state(parameters, saved)
    assert same(first, second)
    for window in windows[1:]:
        second.learn_many(window)
    assert same(whole, second)
    assert second.infeasible.clause.tolist() == whole.infeasible.clause.tolist()
    with pytest.raises(InputError, match="a state of this learner has the arrays steps, "):
        OnlineLearner.from_state(parameters, {"steps": np.array(0)})


@varied
def test_an_interrupted_window_leaves_no_trace(monkeypatch: pytest.MonkeyPatch, parameters: Parameters) -> None:
    first, second = random_stream(3, count=8).windows(4)
    learner, undisturbed = OnlineLearner(parameters), OnlineLearner(parameters)
    learner.learn_many(first)
    saved = learner.state()
    copies = {name: x.copy() for name, x in saved.items()}

    def interrupted(*given: Any) -> None:
        learn_examples(*given)
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "learn_examples", interrupted)
    with pytest.raises(KeyboardInterrupt):
        learner.learn_many(second)
    monkeypatch.undo()
    learner.learn_many(second)
    for window in (first, second):
        undisturbed.learn_many(window)
    assert same(learner, undisturbed)
    assert all(saved[name].tobytes() == x.tobytes() for name, x in copies.items())


@varied
def test_clauses_that_are_met_late_were_there_from_the_start(parameters: Parameters) -> None:
    stream = random_stream(8, count=12)
    late = OnlineLearner(parameters)
    early = OnlineLearner(parameters)
    for window in stream.windows(4):
        late.learn_many(window)
    stream.known[:] = [stream.known[-1]] * len(stream.known)
    for window in stream.windows(4):
        early.learn_many(window)
    assert same(late, early)
    assert len(set(random_stream(8, count=12).known)) > 1


@varied
def test_history_and_tallies_tell_every_step(parameters: Parameters) -> None:
    learner = OnlineLearner(replace(parameters, record_history=True))
    window = chain_window(15, length=5)
    changes = learner.learn_many(window).changes
    total, updates = np.zeros((2, learner.clauses), dtype=np.int64)
    for row in changes.to_pylist():
        assert row["delta_n"] != 0
        total[row["clause"]] += row["delta_n"]
        updates[row["clause"]] += 1
    support = learner.support()
    assert support["delta_n"].to_pylist() == total.tolist()
    assert np.all(support["updates"].to_numpy() <= updates)
    assert np.all(support["updates"].to_numpy() <= support["support"].to_numpy())
    assert changes.num_rows > 10
    assert OnlineLearner(parameters).learn_many(window).changes.num_rows == 0


@varied
def test_weights_move_towards_the_labels(parameters: Parameters) -> None:
    learner, window = OnlineLearner(parameters), chain_window(150, length=6)
    loss = np.array([np.sum(learner.learn_many(window).steps["loss"].to_numpy()) for _ in range(2)])
    net = window.network
    assert loss[1] < 0.6 * loss[0]
    worse = delta_counts(net, window.truth, ~window.truth)
    assert float(learner.averaged_weights() @ worse) > 0


@varied
def test_hard_clauses_have_no_weight_and_labels_may_break_them(parameters: Parameters) -> None:
    learner = OnlineLearner(parameters)
    report = learner.learn_many(infeasible())
    assert (learner.steps, len(learner.infeasible.clause)) == (4, 3)
    assert report.predicted[[3, 5]].tolist() == [False, False]
    assert learner.weights[[0, 2]].tolist() == [0.0, 0.0]
    skipping = OnlineLearner(replace(parameters, on_infeasible_truth="skip"))
    assert skipping.learn_many(infeasible()).steps["example"].to_pylist() == [2]
    strict = OnlineLearner(replace(parameters, on_infeasible_truth="error"))
    with pytest.raises(InputError, match="3 examples, among them 0, violate hard clauses"):
        strict.learn_many(infeasible())
    assert strict.steps == 0
    # Labels of other examples of the window do not matter.
    strict.learn_one(infeasible(), 2)
    assert (strict.steps, len(strict.infeasible.clause)) == (1, 0)


@varied
def test_helper_atoms_are_in_no_loss(parameters: Parameters) -> None:
    window = chain_window(4, length=3)
    hidden = np.zeros(len(window.truth), dtype=bool)
    hidden[[0, 5, 10]] = True
    report = OnlineLearner(parameters).learn_many(replace(window, network=replace(window.network, helper=hidden)))
    assert report.steps["atoms"].to_pylist() == [7, 8, 9, 9]


@varied
def test_examples_without_query_atoms_are_steps(parameters: Parameters) -> None:
    window = chain_window(3, length=4)
    learner = OnlineLearner(parameters)
    report = learner.learn_many(replace(window, examples=np.array([2, 77, 0, 2])))
    assert report.steps["atoms"].to_pylist() == [12, 0, 12, 12]
    assert learner.steps == 4
    empty = OnlineLearner(parameters)
    assert empty.learn_many(replace(window, examples=np.empty(0, dtype=np.int64))).steps.num_rows == 0
    assert empty.averaged_weights().tolist() == [0.0] * len(window.network.clauses)


@varied
def test_errors_leave_the_learner_as_it_was(monkeypatch: pytest.MonkeyPatch, parameters: Parameters) -> None:
    window, learner = chain_window(5), OnlineLearner(parameters)
    learner.learn_many(window)
    before = learner.state()
    ground = [(0, [5]), (1, [1, 2]), (1, [-1]), (1, [-2])]
    impossible = network(5, ground, hard=[1], example=[8, 8, 8, 8, 7])
    one = np.ones(5, dtype=bool)
    with pytest.raises(ConflictingClausesError) as caught:
        learner.learn_many(Window(np.array([7, 8]), impossible, one, one))
    assert caught.value.__notes__ == ["while predicting example 8"]
    with pytest.raises(NumericError, match="soft evidence of atom 0 is nan"):
        learner.learn_many(Window(np.array([0]), network(1, [(0, [1])], prior=[np.nan]), one[:1], one[:1]))
    with pytest.raises(InputError, match=r"unlabelled atoms \(EM\)"):
        learner.learn_many(replace(window, labelled=~window.labelled))

    def interrupted(*args: object) -> None:
        learn_examples(*args)  # type: ignore[arg-type]
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "learn_examples", interrupted)
    with pytest.raises(KeyboardInterrupt):
        learner.learn_many(window)
    after = learner.state()
    assert all(np.array_equal(before[name], after[name]) for name in before)


@varied
def test_relaxed_inference_learns_too(parameters: Parameters) -> None:
    window = chain_window(12, length=4, words=4)
    learner = OnlineLearner(replace(parameters, inference="relaxed"))
    loss = [np.sum(learner.learn_many(window).steps["loss"].to_numpy()) for _ in range(2)]
    assert loss[1] < loss[0]


@pytest.mark.slow
def test_relaxed_steps_are_exact_where_the_relaxation_is() -> None:
    """Trees of atoms without blocks: the relaxation is integral, so both ways take the same steps."""
    rng = np.random.default_rng(3)
    for name in ("adagrad", "cda-ml", "cda-pl-f1", "mira", "subgradient-ml"):
        ground = [(2, [1, 2]), (2, [-2, 3]), *((k % 2, [k + 1]) for k in range(3))]
        windows = [
            Window(
                np.array([0]),
                network(3, ground, clauses=3, prior=rng.normal(size=3).tolist()),
                rng.random(3) < 0.5,
                np.ones(3, dtype=bool),
            )
            for _ in range(12)
        ]
        exact, relaxed = (OnlineLearner(replace(EVERY[name], inference=how)) for how in ("exact", "relaxed"))
        for window in windows:
            exact.learn_many(window)
            relaxed.learn_many(window)
        assert np.abs(exact.weights).max() > 0.1
        assert np.allclose(exact.weights, relaxed.weights, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: CDA(0.0).parameters(), r"strength=0.0 is not a finite number above 0: the longest step"),
        (lambda: CDA(update="best").parameters(), r"update='best': choose 'maximal' or 'prediction'"),  # type: ignore[arg-type]
        (lambda: CDA(loss="log").parameters(), r"loss='log': choose 'hamming' or 'f1'"),  # type: ignore[arg-type]
        (
            lambda: CDA(loss="f1").parameters(),
            r"loss='f1' cannot go with update='maximal': .* a sum over atoms",
        ),
        (lambda: Subgradient(-1).parameters(), r"strength=-1 is not"),
        (lambda: Subgradient(update=None).parameters(), r"update=None: choose"),  # type: ignore[arg-type]
        (lambda: MIRA(loss="zero-one").parameters(), r"loss='zero-one': choose"),  # type: ignore[arg-type]
        (lambda: Perceptron(ties="last").parameters(), r"ties='last': choose 'errors' or 'first'"),  # type: ignore[arg-type]
        (lambda: Perceptron(inference="fast").parameters(), r"inference='fast': choose 'exact' or 'relaxed'"),  # type: ignore[arg-type]
        (lambda: Perceptron(random_state=-1).parameters(), r"random_state=-1: give an integer of at least 0"),
        (lambda: ContrastiveDivergence("pcd").parameters(), r"counts='pcd': choose 'gibbs' or 'mpe'"),  # type: ignore[arg-type]
        (
            lambda: ContrastiveDivergence(step_size="adaptive").parameters(),
            r"step_size='adaptive': choose 'scaled' or 'constant'",
        ),  # type: ignore[arg-type]
        (lambda: ContrastiveDivergence(learning_rate=0).parameters(), r"learning_rate=0 is not"),
        (lambda: ContrastiveDivergence(sweeps=0).parameters(), r"sweeps=0: give an integer of at least 1"),
        (
            lambda: ContrastiveDivergence(strength=-0.1).parameters(),
            r"strength=-0.1 is not .* use 0 for no penalty",
        ),
        (
            lambda: ContrastiveDivergence(learning_rate=0.5, strength=2).parameters(),
            r"learning_rate=0.5 and strength=2 take 1 times .* strength= below 2, or learning_rate= below 0.5$",
        ),
        (
            lambda: ContrastiveDivergence(learning_rate=0.25, strength=10.0).parameters(),
            r"take 2.5 times its value .* strength= below 4, or learning_rate= below 0.1$",
        ),
        (lambda: AdaGrad(loss_augmented=1).parameters(), r"loss_augmented=1: give True or False"),  # type: ignore[arg-type]
    ],
)
def test_parameters_out_of_range(make: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        make()


def test_weights_out_of_range_name_the_remedy() -> None:
    one = np.ones(1, dtype=bool)
    window = Window(np.array([0]), network(1, [(0, [1])], prior=[-1.79e308]), one, one)
    steep = ContrastiveDivergence("mpe", learning_rate=1.7e308).parameters()
    for parameters, remedy in ((Subgradient(1e-308).parameters(), "raise strength"), (steep, "lower learning_rate")):
        learner = OnlineLearner(parameters)
        learner.learn_many(window)
        with pytest.raises(NumericError, match=f"beyond the range of floats: {remedy}"):
            learner.learn_many(window)
        assert learner.steps == 1
