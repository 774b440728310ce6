"""The estimator over a database that is a list of windows."""

from __future__ import annotations

import warnings
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from sqlrl.errors import InfeasibleTruthWarning, InputError
from sqlrl.ground.network import FloatArray
from sqlrl.ground.windows import Window
from sqlrl.learn import AdaGrad, OnlineLearner, WindowProgress
from sqlrl.learn.settings import Order
from sqlrl.logic.model import Model
from sqlrl.training.records import TrainingRecord
from tests.learn.streams import chain_window
from tests.learn.test_learner import infeasible

MODEL = Model({})


@dataclass
class Stream:
    windows: list[Window]
    written: list[pa.Table] = field(default_factory=list)
    begun: tuple[str, dict[str, object], int] | None = None
    record: TrainingRecord | None = None
    closed: bool = False

    def __len__(self) -> int:
        return len(self.windows)

    def __iter__(self) -> Generator[Window]:
        yield from self.windows

    def clause_text(self, clause: int) -> str:
        return f"text of {clause}"

    def with_fixed(self, weights: FloatArray) -> FloatArray:
        return weights

    def example_name(self, example: int) -> str:
        return f"citation {example}"

    def atom_text(self, atom: int) -> str:
        return f"text of atom {atom}"

    def check_kept(self) -> None:
        pass

    def begin(self, learner: str, parameters: Mapping[str, object], seed: int) -> int:
        self.begun = (learner, dict(parameters), seed)
        return 1

    def history(self) -> Stream:
        return self

    def write(self, changes: pa.Table) -> None:
        self.written.append(changes)

    def model(self, weights: FloatArray, record: TrainingRecord) -> Model:
        assert not self.closed
        self.record = record
        return Model({}, {"learned": tuple(map(str, weights))})

    def clauses(self, weights: FloatArray, support: pa.Table) -> pa.Table:
        return support.append_column("weight", pa.array(weights))


@dataclass
class Data:
    """A database whose examples are those of one window."""

    whole: Window
    stream: Stream | None = None

    @property
    def advanced(self) -> Data:
        return self

    @property
    def learning(self) -> Data:
        return self

    def drawn(self, examples: Any) -> Any:
        return examples

    @contextmanager
    def training_windows(
        self, model: Model, *, examples: Any, size: int | None, order: Order, seed: int, passes: int, **_: object
    ) -> Iterator[Stream]:
        chosen = self.whole.examples if examples is None else np.array(examples, dtype=np.int64)
        rng, windows = np.random.default_rng(seed), []
        for _ in range(passes):
            ordered = rng.permutation(chosen) if order == "shuffle" else chosen
            step = size or max(len(ordered), 1)
            windows += [replace(self.whole, examples=ordered[i : i + step]) for i in range(0, len(ordered), step)]
        self.stream = Stream(windows)
        try:
            yield self.stream
        finally:
            self.stream.closed = True


def test_fit_is_the_learner_over_the_windows() -> None:
    data, window = Data(chain_window(30)), chain_window(30)
    seen: list[WindowProgress] = []
    fit = AdaGrad(window=8, record_history=True).fit(data, MODEL, callback=seen.append)
    learner = OnlineLearner(AdaGrad().parameters())
    report = learner.learn_many(window)
    assert fit.weights_.tobytes() == learner.averaged_weights().tobytes()
    assert fit.last_weights_.tobytes() == learner.weights.tobytes()
    assert fit.steps_ == report.steps
    assert fit.n_steps_ == 30
    assert fit.model is fit.model_
    assert fit.model_.types["learned"] == tuple(map(str, fit.weights_))
    assert fit.clauses().column_names == ["clause", "support", "updates", "delta_n", "weight"]
    assert [(p.window, p.windows, p.steps) for p in seen] == [(1, 4, 8), (2, 4, 16), (3, 4, 24), (4, 4, 30)]
    assert sum(p.loss for p in seen) == sum(fit.steps_["loss"].to_pylist())
    assert set(fit.seconds_) == {"grounding", "learning", "statistics"}
    assert data.stream is not None
    assert sum(changes.num_rows for changes in data.stream.written) == sum(fit.support_["updates"].to_pylist())
    assert data.stream.record is not None
    assert data.stream.record.parameters == fit.get_params()
    assert data.stream.begun == (data.stream.record.learner, fit.get_params(), data.stream.record.seed)
    assert data.stream.record.steps == fit.steps_
    assert data.stream.closed


def test_progressive_loss_falls() -> None:
    loss = np.array(AdaGrad().fit(Data(chain_window(100)), MODEL).steps_["loss"])
    assert loss[-50:].sum() < 0.2 * loss[:50].sum()


def test_the_same_seed_gives_the_same_bytes() -> None:
    def run(**parameters: Any) -> bytes:
        return (
            AdaGrad(order="shuffle", passes=2, window=7, **parameters)
            .fit(Data(chain_window(20)), MODEL)
            .weights_.tobytes()
        )

    assert run(random_state=4) == run(random_state=4)
    assert run() == run(random_state=0)
    assert run(random_state=4) != run(random_state=5)


def test_options() -> None:
    fit = AdaGrad(average=False, keep_steps=False, passes=3).fit(Data(chain_window(5)), MODEL, examples=[1, 3])
    assert fit.weights_.tobytes() == fit.last_weights_.tobytes()
    assert (fit.steps_.num_rows, fit.n_steps_) == (0, 6)
    assert "score_truth" in fit.steps_.column_names
    assert repr(AdaGrad(0.01, window=8)) == "AdaGrad(strength=0.01, window=8)"


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"strength": -0.1}, r"strength=-0.1 is not a finite number of at least 0: use 0"),
        ({"strength": "0.1"}, r"strength='0.1' is not"),
        ({"learning_rate": 0.0}, r"learning_rate=0.0 is not a finite number above 0"),
        ({"learning_rate": float("nan")}, r"learning_rate=nan"),
        ({"delta": float("inf")}, r"delta=inf"),
        ({"delta": True}, r"delta=True"),
        ({"window": 0}, r"window=0: give an integer of at least 1"),
        ({"window": 2.5}, r"window=2.5"),
        ({"passes": 0}, r"passes=0"),
        ({"order": "random"}, r"order='random': choose 'file' or 'shuffle'"),
        ({"random_state": -1}, r"random_state=-1"),
        ({"random_state": 2**31}, r"at most 2147483647"),
        ({"loss": "log"}, r"loss='log'"),
        ({"average": 1}, r"average=1: give True or False"),
        ({"on_infeasible_truth": "ignore"}, r"on_infeasible_truth='ignore': choose"),
    ],
)
def test_parameters_are_checked_by_fit(parameters: dict[str, Any], message: str) -> None:
    learner = AdaGrad(**parameters)
    with pytest.raises(InputError, match=message):
        learner.fit(Data(chain_window(2)), MODEL)


def test_nothing_to_learn_from() -> None:
    with pytest.raises(InputError, match="there are no examples to learn from"):
        AdaGrad().fit(Data(chain_window(2)), MODEL, examples=[])
    with pytest.raises(InputError, match=r"no clauses yet: call fit\(db, model\) first"):
        AdaGrad().clauses()
    broken = replace(infeasible(), examples=np.array([0]))
    with pytest.raises(InputError, match="no example is left"):
        AdaGrad(on_infeasible_truth="skip").fit(Data(broken), MODEL)


def test_one_warning_counts_the_violated_clauses() -> None:
    with pytest.warns(InfeasibleTruthWarning, match=r"(?s)labels of 3 examples.*text of 0: 1 example,") as caught:
        AdaGrad(window=1, passes=2).fit(Data(infeasible()), MODEL)
    assert len(caught) == 1
    with pytest.warns(InfeasibleTruthWarning, match="were not learned from"):
        AdaGrad(on_infeasible_truth="skip").fit(Data(infeasible()), MODEL)
    with warnings.catch_warnings(), pytest.raises(InputError, match="among them citation 0"):
        AdaGrad(on_infeasible_truth="error").fit(Data(infeasible()), MODEL)


def test_ctrl_c_closes_the_stream() -> None:
    def stop(progress: WindowProgress) -> None:
        raise KeyboardInterrupt

    data, learner = Data(chain_window(4)), AdaGrad(window=2)
    with pytest.raises(KeyboardInterrupt):
        learner.fit(data, MODEL, callback=stop)
    assert data.stream is not None
    assert data.stream.closed
    assert data.stream.record is not None
    assert data.stream.record.status == "interrupted"
    assert learner.interrupted_
    assert learner.n_steps_ == 2
