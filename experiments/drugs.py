"""The Alzheimer's drugs: pairs with labels, background facts, four kinds of folds, and two baselines without rules.

King et al. 1995: 37 variants of tacrine, compared in pairs for four properties. Every positive pair has its reverse as a
negative one, so that random folds show the order of two drugs in training and ask for its reverse in the test: a model that knows
nothing but the names of the drugs is right in 99 of 100 pairs. So there are three more kinds of folds beside the paper's, and two
baselines, both logistic models of a difference, f(first drug) - f(second drug), with a penalty on squared weights:

- `identity`: a weight for each drug (Bradley and Terry 1952);
- `attributes`: a weight for each attribute of a drug: a fact of a predicate whose first argument is the drug, such as "a chlorine
  at position 6".
"""

from __future__ import annotations

import csv
from collections.abc import Container, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize

import sqlrl
from sqlrl.evaluate import Fold, k_fold

Pair = tuple[str, str]
Protocol = Literal["paper", "reverse", "one-new", "both-new"]
PROTOCOLS: tuple[Protocol, ...] = get_args(Protocol)
FILES = {"amine": "amine", "toxic": "toxic", "acetyl": "acetyl", "memory": "mem"}
"""The tasks and the names of their files."""

FOLDS = 10

STRENGTHS = (0.01, 0.1, 1.0, 10.0)
"""Penalties that the baselines choose from."""

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Task:
    """One property.

    Parameters
    ----------
    name : str
    predicate : str
        `predicate(a, b)`: drug a is better than drug b.
    labels : dict of (str, str) to bool
        In the order of the file.
    fold : dict of (str, str) to str
        The fold of each pair in the paper's random split.
    """

    name: str
    predicate: str
    labels: Mapping[Pair, bool]
    fold: Mapping[Pair, str]

    @property
    def pairs(self) -> list[Pair]:
        """The pairs in the order of the file."""
        return list(self.labels)

    def truth(self, pairs: Iterable[Pair]) -> BoolArray:
        """Return the labels of pairs."""
        return np.array([self.labels[pair] for pair in pairs], dtype=np.bool_)


def read_task(folder: str | Path, name: str) -> Task:
    """Read the pairs of a task; `folder` is that of the Alzheimer's data."""
    path = Path(folder) / f"{FILES[name]}.csv"
    with path.open(newline="", encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines))
    labels = {(row["drug1"], row["drug2"]): row["label"] == "1" for row in rows}
    fold = {(row["drug1"], row["drug2"]): str(int(row["fold"]) + 1) for row in rows}
    assert len(labels) == len(rows), f"{path} has a pair twice"
    return Task(name, rows[0]["predicate"], labels, fold)


def read_modes(folder: str | Path, name: str) -> sqlrl.Bias:
    """Read the modes of a task."""
    return sqlrl.read_bias(Path(folder) / f"{FILES[name]}.modes")


def background(folder: str | Path, bias: sqlrl.Bias) -> dict[str, tuple[Path, tuple[str, ...]]]:
    """Return the file and the types of the arguments of each predicate that the modes name, in their order."""
    found = Path(folder) / "background"
    return {
        mode.predicate: (found / f"{mode.predicate}.csv", tuple(place.type for place in mode.places))
        for mode in bias.body
        if mode.predicate != bias.head.predicate
    }


def connect() -> sqlrl.Database:
    """Return a database in memory for one fold: its queries are so small that one thread answers them sooner than two."""
    return sqlrl.connect(":memory:", threads=1)


def load_drugs(
    db: sqlrl.Database, folder: str | Path, bias: sqlrl.Bias, pairs: Iterable[Pair], positive: Iterable[Pair] | None
) -> None:
    """Load the background facts and a target whose query atoms are the given pairs.

    Parameters
    ----------
    db : Database
    folder : path
    bias : Bias
    pairs : iterable of (str, str)
        The scope of the target.
    positive : iterable of (str, str) or None
        Those whose label is true, all others are false; None for no labels at all.
    """
    db.load(Path(folder) / "background", types=bias)
    label_pairs(db, bias, pairs, positive)


def label_pairs(db: sqlrl.Database, bias: sqlrl.Bias, pairs: Iterable[Pair], positive: Iterable[Pair] | None) -> None:
    """Load the target alone, in place of one that was loaded before; see `load_drugs`."""
    target = bias.head.predicate
    if positive is not None:
        db.load(target, list(positive), types=[place.type for place in bias.head.places], target=True)
    db.scope(target, list(pairs))


# ---- folds -----------------------------------------------------------------------------------------------------


def task_folds(task: Task, protocol: Protocol, seed: int = 0) -> list[Fold[Pair]]:
    """Return the ten folds of a task; see `split` for three of the four protocols, the paper's are in the file."""
    if protocol == "paper":
        names = sorted(set(task.fold.values()), key=int)
        return [_fold(name, task.pairs, {pair for pair, own in task.fold.items() if own == name}) for name in names]
    return split(task.pairs, protocol, seed=seed)


def split(pairs: Sequence[Pair], protocol: Protocol, *, folds: int = FOLDS, seed: int = 0) -> list[Fold[Pair]]:
    """Split pairs at random into about `folds` folds as a protocol asks.

    - "paper": each pair by itself;
    - "reverse": a pair and its reverse are in the same part;
    - "one-new": the drugs are split into `folds` groups; fold k tests the pairs of a drug of group k with another one, and
      trains on the pairs of two others. So a pair is tested twice, once with each of its drugs new; a pair within a group never;
    - "both-new": the drugs are split into g groups, with g (g - 1) / 2 the number of folds, rounded to such a number; each two
      groups are a fold, which trains on the pairs without a drug of either. A pair is tested exactly once: between two groups in
      their fold, within a group in the fold of it and the next one.

    Parameters
    ----------
    pairs : sequence of (str, str)
    protocol : str
    folds : int
    seed : int

    Returns
    -------
    list of Fold
        Named from "1". Pairs that a fold neither tests nor trains on are left out of it.
    """
    if protocol in ("paper", "reverse"):
        units = list(dict.fromkeys(_unit(pair, protocol) for pair in pairs))
        parts = [set(part.test) for part in k_fold(units, folds, random_state=seed)]
        return [
            _fold(str(k + 1), pairs, {pair for pair in pairs if _unit(pair, protocol) in part})
            for k, part in enumerate(parts)
        ]
    drugs = sorted({drug for pair in pairs for drug in pair})
    one = protocol == "one-new"
    count = folds if one else round((1 + (1 + 8 * folds) ** 0.5) / 2)
    groups = _groups(drugs, count, seed)
    new = [{k} for k in range(count)] if one else [{k, m} for k, m in combinations(range(count), 2)]
    found = []
    for k, unknown in enumerate(new):
        train, test = [], []
        for pair in pairs:
            i, j = groups[pair[0]], groups[pair[1]]
            if not unknown & {i, j}:
                train.append(pair)
            # Of groups 0..g-1 each has one next one, and {k, k + 1 mod g} are g different folds where g > 2.
            elif ((i in unknown) != (j in unknown)) if one else {i, j if i != j else (i + 1) % count} == unknown:
                test.append(pair)
        found.append(Fold(str(k + 1), tuple(train), tuple(test)))
    return found


def untested(pairs: Iterable[Pair], folds: Iterable[Fold[Pair]]) -> int:
    """Return how many pairs no fold tests."""
    return len(set(pairs) - {pair for fold in folds for pair in fold.test})


def _unit(pair: Pair, protocol: Protocol) -> Hashable:
    """What must not be divided."""
    return pair if protocol == "paper" else frozenset(pair)


def _fold(name: str, pairs: Sequence[Pair], held_out: Container[Pair]) -> Fold[Pair]:
    return Fold(name, tuple(p for p in pairs if p not in held_out), tuple(p for p in pairs if p in held_out))


def _groups(drugs: Sequence[str], count: int, seed: int) -> dict[str, int]:
    """Return the group of each drug."""
    return {drug: k for k, part in enumerate(k_fold(drugs, count, random_state=seed)) for drug in part.test}


# ---- baselines ---------------------------------------------------------------------------------------------------


def attributes(folder: str | Path, bias: sqlrl.Bias) -> dict[str, frozenset[tuple[str, ...]]]:
    """Return the attributes of each drug: predicate and other arguments of the facts whose first argument is the drug."""
    drug = bias.head.places[0].type
    found: dict[str, set[tuple[str, ...]]] = {}
    for name, (path, types) in background(folder, bias).items():
        if types[0] == drug:
            with path.open(newline="", encoding="utf-8") as lines:
                for first, *rest in list(csv.reader(lines))[1:]:
                    found.setdefault(first, set()).add((name, *rest))
    return {name: frozenset(own) for name, own in found.items()}


def identity(drugs: Iterable[str]) -> dict[str, frozenset[tuple[str, ...]]]:
    """Return the attributes of the model that knows drugs by name alone."""
    return {drug: frozenset([("drug", drug)]) for drug in drugs}


def differences(pairs: Sequence[Pair], known: Mapping[str, Iterable[tuple[str, ...]]]) -> FloatArray:
    """Return the indicators of the first drug minus those of the second, shape (pairs, attributes)."""
    columns = {a: k for k, a in enumerate(sorted({a for own in known.values() for a in own}))}
    rows = np.zeros((len(known), len(columns)))
    place = {drug: k for k, drug in enumerate(known)}
    for drug, own in known.items():
        rows[place[drug], [columns[a] for a in own]] = 1
    first, second = (np.array([place[pair[side]] for pair in pairs], dtype=np.intp) for side in (0, 1))
    found: FloatArray = rows[first] - rows[second]
    return found


def fit_logistic(features: FloatArray, truth: BoolArray, strength: float, iterations: int = 5000) -> FloatArray:
    """Minimise the negative log-likelihood of a logistic model plus strength / 2 times the squared weights, by L-BFGS.

    Parameters
    ----------
    features : float array, shape (n, d)
    truth : bool array, shape (n,)
    strength : float
    iterations : int
        At most.

    Returns
    -------
    float array, shape (d,)
    """
    sign = np.where(truth, 1.0, -1.0)

    def objective(weights: FloatArray) -> tuple[float, FloatArray]:
        margin = sign * (features @ weights)
        wrong = np.exp(-np.logaddexp(0, margin))
        value = np.logaddexp(0, -margin).sum() + strength / 2 * weights @ weights
        return float(value), strength * weights - features.T @ (sign * wrong)

    found: Any = minimize(
        objective, np.zeros(features.shape[1]), jac=True, method="L-BFGS-B", options={"maxiter": iterations}
    )
    weights: FloatArray = found.x
    return weights


def scores_of_baseline(
    task: Task,
    known: Mapping[str, Iterable[tuple[str, ...]]],
    fold: Fold[Pair],
    protocol: Protocol,
    strengths: Sequence[float] = STRENGTHS,
    seed: int = 0,
) -> FloatArray:
    """Learn a baseline on the training pairs of a fold, with the strength of `choose_strength`; return its log-odds for the test pairs."""
    features = differences(fold.train, known)
    best = choose_strength(features, task.truth(fold.train), fold.train, protocol, strengths, seed)
    found: FloatArray = differences(fold.test, known) @ fit_logistic(features, task.truth(fold.train), best)
    return found


def turned(features: FloatArray) -> FloatArray:
    """Turn rows to the axes of their singular value decomposition; without those along which all rows are 0 to rounding.

    Squared weights stay the same, so that weights with a penalty on them give the same scores, but there are at most as many
    columns as the rank.
    """
    left, size, _ = np.linalg.svd(features, full_matrices=False)
    kept = size > size.max(initial=0.0) * max(features.shape) * np.finfo(np.float64).eps
    found: FloatArray = left[:, kept] * size[kept]
    return found


def choose_strength(
    features: FloatArray,
    truth: BoolArray,
    pairs: Sequence[Pair],
    protocol: Protocol,
    strengths: Sequence[float] = STRENGTHS,
    seed: int = 0,
) -> float:
    """Return the strength under which held-out pairs are most likely, in five or six folds of the same kind as a protocol's.

    Parameters
    ----------
    features : float array, shape (n, d)
    truth : bool array, shape (n,)
    pairs : sequence of (str, str)
        The n pairs.
    protocol : str
    strengths : sequence of float
        Of equals the first is taken.
    seed : int
    """
    place = {pair: k for k, pair in enumerate(pairs)}
    folds = split(pairs, protocol, folds=6 if protocol == "both-new" else 5, seed=seed)
    parts = [tuple([place[pair] for pair in part] for part in (fold.train, fold.test)) for fold in folds]
    features = turned(features)
    total = np.zeros(len(strengths))
    for train, test in parts:
        if train and test:
            for k, strength in enumerate(strengths):
                weights = fit_logistic(features[train], truth[train], strength, 200)
                margin = np.where(truth[test], 1, -1) * (features[test] @ weights)
                total[k] -= np.logaddexp(0, -margin).sum()
    return strengths[int(np.argmax(total))]


def accuracy(truth: BoolArray, predicted: npt.NDArray[Any]) -> float:
    """Return the share of right predictions, in percent."""
    return 100 * float(np.mean(truth == predicted))
