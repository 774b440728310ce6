"""All systems on some folds of a task of the Alzheimer's drugs: baselines, clauses with the weights of each learner, predictions."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from drug_choice import choose
from drug_reasons import Reasons, equal_shares, find_reasons, learn_reasons
from drug_systems import (
    COMPARED,
    SAMPLES,
    Asked,
    Found,
    Kind,
    Weighted,
    clauses_of,
    evaluated_once,
    find_clauses,
    learn_weights,
    ordered,
    pairs_of,
)
from drugs import (
    Pair,
    Protocol,
    Task,
    accuracy,
    attributes,
    connect,
    identity,
    label_pairs,
    read_modes,
    read_task,
    scores_of_baseline,
)
from evaluated_once import EvaluatedOnce
from grounded_once import GroundedOnce

import sqlrl
from sqlrl.evaluate import Fold, auc_roc

SYSTEMS: dict[str, tuple[Kind, str | None]] = {
    "ALEPH": ("theory", None),
    "ALEPH PSCG": ("theory", "PSCG"),
    "ALEPH ExactL2": ("theory", "L2"),
    "ALEPH MM": ("theory", "MM"),
    "ALEPH++ PSCG": ("all", "PSCG"),
    "ALEPH++ ExactL2": ("all", "L2"),
    "ALEPH++ ExactL1": ("all", "L1"),
    "ALEPH++ MM": ("all", "MM"),
    "ALEPH++ MM-L1": ("all", "MM-L1"),
    "sqlrl": ("all", "reasons"),
    "sqlrl, names": ("all", "reasons and names"),
    "sqlrl, chosen": ("all", "reasons, chosen"),
}
"""The clauses of each system, and what learns their weights."""

BASELINES = ("identity", "attributes")


@dataclass(frozen=True, slots=True)
class Job:
    """All systems on some folds of a task, which share what no label has a part in: where clauses hold."""

    folder: str
    task: str
    protocol: Protocol
    settings: tuple[str, ...]
    folds: tuple[Fold[Pair], ...]
    systems: tuple[str, ...]
    nodes: int | None
    areas: bool
    seed: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one system did on one fold.

    Parameters
    ----------
    fold, system : str
    accuracy, order : float
        Percent of right test pairs, each by itself and with a transitive target; NaN for what was not asked for.
    auc, order_auc : float
        In [0, 1]; NaN likewise.
    clauses : int
        With a weight other than 0; for ALEPH those of the theory.
    seconds_clauses, seconds_weights, seconds_predict : float
        Of this system alone: with what others did for it, and what folds before had evaluated.
    parameter : str
        What was chosen on the training pairs.
    gap : float
        Of the world with a transitive target, see `Ordered`.
    settings : str or None
        Of the clause learner.
    """

    fold: str
    system: str
    accuracy: float
    order: float = math.nan
    auc: float = math.nan
    order_auc: float = math.nan
    clauses: int = 0
    seconds_clauses: float = 0.0
    seconds_weights: float = 0.0
    seconds_predict: float = 0.0
    parameter: str = ""
    gap: float = 0.0
    settings: str | None = None


@dataclass(frozen=True)
class Shared:
    """What the folds of a job share.

    Parameters
    ----------
    task : Task
    bias : Bias
    asked : Asked
        What predicts, of all pairs of two drugs; it has no labels.
    once : EvaluatedOnce
        What finds clauses; likewise.
    db : Database
        What weights are learned in, with the labels of one fold's training pairs after the other's.
    """

    task: Task
    bias: sqlrl.Bias
    asked: Asked
    once: EvaluatedOnce
    db: sqlrl.Database


def run(job: Job) -> list[Outcome]:
    """Run the baselines and all systems on the folds of a job."""
    task, bias = read_task(job.folder, job.task), read_modes(job.folder, job.task)
    asked, db = Asked(job.folder, bias, pairs_of(task)), connect()
    db.load(Path(job.folder) / "background", types=bias)
    with evaluated_once(job.folder, bias, task.pairs) as once:
        shared = Shared(task, bias, asked, once, db)
        return [outcome for fold in job.folds for outcome in run_fold(job, fold, shared)]


def run_fold(job: Job, fold: Fold[Pair], shared: Shared) -> list[Outcome]:
    """Run the baselines and all systems on one fold: for each of the settings the clauses are found once for all of them."""
    task, bias, db = shared.task, shared.bias, shared.db
    outcomes = [run_baseline(job, fold, shared, name) for name in BASELINES]
    label_pairs(db, bias, fold.train, [pair for pair in fold.train if task.labels[pair]])
    db.load(COMPARED, list(fold.train), types=[place.type for place in bias.head.places])
    for settings in job.settings:
        found = find_clauses(
            shared.once.part({pair: task.labels[pair] for pair in fold.train}), bias, settings, job.nodes
        )
        reasons = find_reasons(shared.asked, found.all)
        for each in (db, shared.asked.db):
            reasons.load(each, bias)
        with GroundedOnce(db) as grounded:
            learned = [learn(job, fold, shared, grounded, found, reasons, name) for name in job.systems]
        tested = [predict(job, fold, shared, found, *each) for each in zip(job.systems, learned, strict=True)]
        outcomes += [replace(outcome, settings=settings) for outcome in tested]
    return outcomes


def run_baseline(job: Job, fold: Fold[Pair], shared: Shared, name: str) -> Outcome:
    """Learn and test a baseline."""
    start, task = time.perf_counter(), shared.task
    known: Mapping[str, Iterable[tuple[str, ...]]] = (
        attributes(job.folder, shared.bias)
        if name == "attributes"
        else identity({d for pair in task.pairs for d in pair})
    )
    score, truth = scores_of_baseline(task, known, fold, job.protocol, seed=job.seed), task.truth(fold.test)
    seconds = time.perf_counter() - start
    return Outcome(fold.name, name, accuracy(truth, score >= 0), auc=auc_roc(truth, score), seconds_weights=seconds)


def learn(
    job: Job, fold: Fold[Pair], shared: Shared, db: GroundedOnce, found: Found, reasons: Reasons, name: str
) -> tuple[Weighted | None, float]:
    """Learn the weights of one system; return what they are, None for a theory without weights, and the seconds.

    The seconds are those of this system alone: with the groundings that another one made before.
    """
    kind, learner = SYSTEMS[name]
    if learner is None:
        return None, 0.0
    bias, asked = shared.bias, shared.asked
    start, saved, known = time.perf_counter(), db.saved, asked.saved
    if learner.startswith("reasons"):
        shares, parameter = equal_shares(names=learner == "reasons and names"), ""
        if learner == "reasons, chosen":
            choice = choose(
                asked, shared.once, job.folder, bias, shared.task, fold.train, job.protocol, found.settings,
                nodes=job.nodes, seed=job.seed,
            )  # fmt: skip
            shares, parameter = choice.shares, str(choice)
        weighted = learn_reasons(db, reasons, job.folder, bias, fold.train, shares)
        seconds = time.perf_counter() - start + reasons.seconds + asked.saved - known
        return replace(weighted, parameter=parameter), seconds
    weighted = learn_weights(db, clauses_of(db, found, kind, bias), bias, learner, job.seed)
    return weighted, time.perf_counter() - start + db.saved - saved


def predict(
    job: Job, fold: Fold[Pair], shared: Shared, found: Found, name: str, learned: tuple[Weighted | None, float]
) -> Outcome:
    """Test one system, each pair by itself and all pairs with a transitive target."""
    asked, test, truth = shared.asked, fold.test, shared.task.truth(fold.test)
    weighted, seconds = learned
    start, saved = time.perf_counter(), asked.saved
    if weighted is None:
        right = accuracy(truth, asked.of(test, asked.covered(found.theory)))
        used = time.perf_counter() - start
        return Outcome(
            fold.name, name, right, clauses=len(found.theory.rules), seconds_clauses=found.seconds, seconds_predict=used
        )
    log_odds = asked.log_odds(weighted.model)
    alone = asked.of(test, log_odds)
    # For a transitive target MM learns with it; the other learners' weights are the same.
    together = asked.log_odds(weighted.transitive_model) if weighted.transitive_model is not None else log_odds
    world = ordered(asked.pairs, together, samples=SAMPLES if job.areas else 0, seed=job.seed)
    return Outcome(
        fold.name,
        name,
        accuracy(truth, alone >= 0),
        accuracy(truth, np.array([world.truth[pair] for pair in test])),
        auc_roc(truth, alone),
        auc_roc(truth, np.array([world.probability[pair] for pair in test])) if job.areas else math.nan,
        weighted.clauses,
        found.seconds,
        seconds,
        time.perf_counter() - start + asked.saved - saved,
        weighted.parameter,
        world.gap,
    )
