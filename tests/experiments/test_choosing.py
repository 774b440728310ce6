"""Choosing sigma by training examples that are held out."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from sigma_choice import choose_held_out

EXAMPLES = tuple(f"e{i}" for i in range(12))


class Learner:
    """Remembers what it learned from; its model is its sigma."""

    def __init__(self, sigma: float, seen: list[tuple[float, tuple[str, ...]]]) -> None:
        self.model_: Any = sigma
        self.steps_ = pa.table({"loss": [sigma]})
        self._seen = seen

    def fit(self, db: Any, model: Any, *, examples: Any = None) -> Learner:
        self._seen.append((self.model_, tuple(examples)))
        return self


class Data:
    """Scores of sigma on what is held out."""

    def __init__(self, scores: dict[float, float]) -> None:
        self.scores, self.predicted = scores, set[tuple[str, ...]]()

    def predict(self, model: float, examples: list[str]) -> float:
        self.predicted.add(tuple(examples))
        return model

    def evaluate(self, prediction: float) -> SimpleNamespace:
        return SimpleNamespace(f1=self.scores[prediction])


@pytest.mark.parametrize(("scores", "best"), [({0.1: 0.5, 1.0: 0.7}, 1.0), ({0.1: 0.7, 1.0: 0.7}, 0.1)])
def test_the_best_on_what_is_held_out_learns_from_all(scores: dict[float, float], best: float) -> None:
    seen: list[tuple[float, tuple[str, ...]]] = []
    db: Any = Data(scores)
    model: Any = None
    chosen = choose_held_out(db, model, lambda sigma: Learner(sigma, seen), EXAMPLES, tuple(scores))
    held = {"e0", "e5", "e10"}
    assert db.predicted == {("e0", "e5", "e10")}
    assert [examples for _, examples in seen[:2]] == [tuple(e for e in EXAMPLES if e not in held)] * 2
    assert seen[2:] == [(best, EXAMPLES)]
    assert (chosen.sigma, chosen.estimator.model_) == (best, best)


def test_a_learner_without_sigma_learns_once() -> None:
    seen: list[tuple[float, tuple[str, ...]]] = []
    db: Any = Data({})
    model: Any = None
    chosen = choose_held_out(db, model, lambda sigma: Learner(sigma, seen), EXAMPLES, (None,))
    assert seen == [(0.0, EXAMPLES)]
    assert (chosen.sigma, db.predicted) == (None, set())
