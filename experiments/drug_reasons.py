"""The rows "sqlrl": found clauses as reasons that count once and both ways, attributes of either drug, and perhaps their names.

A clause `body(a, b) => better(a, b)` is no better a reason where its body has more groundings, so it counts once: the pairs at which
the body of clause r holds are the facts `Holds(a, b, r)`, and `Holds(a, b, +r) => better(a, b)` beside `Holds(b, a, +r) =>
better(a, b)` learns what a reason says for a drug and against the other. Of reasons that hold at the same pairs the first is taken.
Then there is a clause for each attribute of either drug, and one for each drug itself.

In the rows "sqlrl" and "sqlrl, names" nothing is chosen: before learning each of these kinds says equally much of a pair
(`prior_scales`). This design was made with the task toxic, in the folds in which drugs are new; the other tasks had no part in it. How
much each kind says in the row "sqlrl, chosen" is chosen on training pairs: see `drug_choice.py`.
"""

from __future__ import annotations

import time
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

import numpy as np
import pyarrow as pa
from drug_systems import Asked, Weighted
from drugs import BoolArray, Pair, attributes, background
from grounded_once import GroundedOnce

import sqlrl

Kind = Literal["reasons", "attributes", "names"]
KINDS: tuple[Kind, ...] = get_args(Kind)
Known = Mapping[str, frozenset[tuple[str, ...]]]

HOLDS = "Holds"
"""`Holds(a, b, r)`: the body of found clause r holds at a pair."""

VARIANCE = 16.0
"""Of the log-odds of a pair before learning: a deviation of 4, so that most pairs are clear."""


@dataclass(frozen=True)
class Reasons:
    """The pairs at which the bodies of found clauses hold.

    Parameters
    ----------
    pairs : tuple of (str, str)
        All pairs, n.
    holds : bool array, shape (n, k)
        Without equal columns.
    seconds : float
        That it took to find them.
    """

    pairs: tuple[Pair, ...]
    holds: BoolArray
    seconds: float

    def load(self, db: sqlrl.Database, bias: sqlrl.Bias) -> None:
        """Load the facts into a database, in place of those of other reasons."""
        row, reason = np.nonzero(self.holds)
        first, second = (pa.array([pair[side] for pair in self.pairs]).take(pa.array(row)) for side in (0, 1))
        names = pa.array([f"r{k}" for k in range(self.holds.shape[1])]).take(pa.array(reason))
        facts = pa.table({"first": first, "second": second, "reason": names})
        db.load(HOLDS, facts, types=[*(place.type for place in bias.head.places), "reason"])


def find_reasons(asked: Asked, model: sqlrl.Model) -> Reasons:
    """Look where the bodies of clauses hold; no label is looked at, the database has none."""
    start, saved = time.perf_counter(), asked.saved
    holds: BoolArray = asked.counts(model).toarray() > 0
    first: dict[bytes, int] = {}
    for k, column in enumerate(np.packbits(holds, axis=0).T):
        if column.any():
            first.setdefault(column.tobytes(), k)
    seconds = time.perf_counter() - start + asked.saved - saved
    return Reasons(tuple(asked.pairs), holds[:, list(first.values())], seconds)


def equal_shares(*, names: bool) -> dict[Kind, float]:
    """Return the variance of the log-odds of a pair that each kind gives before learning, all the same."""
    kinds = [kind for kind in KINDS if names or kind != "names"]
    return dict.fromkeys(kinds, VARIANCE / len(kinds))


def reasons_model(folder: str | Path, bias: sqlrl.Bias, wanted: Container[Kind]) -> tuple[sqlrl.Model, list[Kind]]:
    """Return the rules of some kinds, and the kind of each: reasons both ways, attributes of either drug, the drugs themselves."""
    target, drug = bias.head.predicate, bias.head.places[0].type
    rules: list[tuple[Kind, str]] = [("reasons", f"{HOLDS}({pair}, +r) => {target}(a, b)") for pair in ("a, b", "b, a")]
    declared = [f"{HOLDS}({drug}, {drug}, reason)", f"{target}({drug}, {drug})"]
    for name, (_, types) in background(folder, bias).items():
        if types[0] == drug:
            declared.append(f"{name}({', '.join(types)})")
            others = "".join(f", +v{k}" for k in range(1, len(types)))
            rules += [("attributes", f"{name}({side}{others}) => {target}(a, b)") for side in ("a", "b")]
    # A rule that is an atom needs a weight, or it reads as a declaration.
    rules += [("names", f"0 {target}(+a, b)"), ("names", f"0 {target}(a, +b)")]
    rules = [(kind, rule) for kind, rule in rules if kind in wanted]
    model = sqlrl.parse_mln("\n".join([*declared, *(rule for _, rule in rules)]), query=(target,))
    return model, [kind for kind, _ in rules]


def speaking(reasons: Reasons, known: Known, pairs: Sequence[Pair]) -> dict[Kind, float]:
    """Return how many clauses of each kind say something of a pair, on average, but at least 1.

    So many variances of a weight add up to that of the pair's log-odds.

    Parameters
    ----------
    reasons : Reasons
    known : mapping of str to frozenset
        The attributes of each drug.
    pairs : sequence of (str, str)
        The training pairs.
    """
    place = {pair: k for k, pair in enumerate(reasons.pairs)}
    both = [place[way] for pair in pairs for way in (pair, pair[::-1])]
    return {
        "reasons": max(2 * float(reasons.holds[both].sum(axis=1).mean()), 1.0),
        "attributes": max(float(np.mean([len(known[a]) + len(known[b]) for a, b in pairs])), 1.0),
        "names": 2.0,
    }


def prior_scales(kinds: Sequence[Kind], shares: Mapping[Kind, float], says: Mapping[Kind, float]) -> list[float]:
    """Return the width of the prior of each rule, such that each kind gives the log-odds of a training pair its share of variance.

    Parameters
    ----------
    kinds : sequence of str
        Of `reasons_model`.
    shares : mapping of str to float
        The variance of each kind.
    says : mapping of str to float
        See `speaking`.
    """
    return [float(np.sqrt(shares[kind] / says[kind])) for kind in kinds]


def learn_reasons(
    db: GroundedOnce,
    reasons: Reasons,
    folder: str | Path,
    bias: sqlrl.Bias,
    pairs: Sequence[Pair],
    shares: Mapping[Kind, float],
) -> Weighted:
    """Learn weights of the kinds of clauses that have a share from training pairs, with L2; `reasons` are facts of the database."""
    model, kinds = reasons_model(folder, bias, shares)
    scales = prior_scales(kinds, shares, speaking(reasons, attributes(folder, bias), pairs))
    fit = sqlrl.Likelihood("l2", 1.0, prior_scale=scales).fit(db, model)
    return Weighted(fit.model_, None, int((fit.weights_ != 0).sum()), "")
