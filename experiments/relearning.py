"""Learning the weights of clauses again, by max-margin and by exact likelihood: the jobs, each for a process of its own.

Clauses are found (`find`), their weights learned for a path of strengths and groups predicted that were left out (`sweep`), and with one
strength learned and tested (`relearn`). `relearning_plan.py` says which jobs there are.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import chain_crf
from segmentation_scores import Segmented, first_line, model_scores
from segmentation_sets import CRF, SETS, SegmentationSet

import sqlrl
from sqlrl.errors import SqlrlError

WEIGHTS: Mapping[str, tuple[float, ...]] = {
    "max-margin": (0.01, 0.03, 0.1, 0.3, 1.0),
    "L2, loss": (30.0, 10.0, 3.0, 1.0, 0.3),
    "L1": (10.0, 3.0, 1.0, 0.3, 0.1),
    "L2": (10.0, 3.0, 1.0, 0.3, 0.1, 0.03),
}
"""How weights are learned again, each with the values of C or of the strength to choose from, the strongest penalty first."""

FURTHER: Mapping[str, tuple[float, ...]] = {
    "max-margin": (3.0, 10.0),
    "L2, loss": (0.1, 0.03),
    "L1": (0.03, 0.01),
    "L2": (0.01, 0.003),
}
"""Values that are tried, too, where the last of those is the best."""

QUICK: Mapping[str, tuple[float, ...]] = {
    "max-margin": (0.1, 1.0),
    "L2, loss": (10.0, 1.0),
    "L1": (1.0, 0.3),
    "L2": (1.0, 0.3),
}
"""The same with `--quick`."""

PATH_TOLERANCE, TOLERANCE = 1e-4, 1e-5
"""Of likelihood on the path and of the weights that are tested: optimality as a share of the largest gradient at weights of 0."""


# ---- jobs ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Find:
    """Clauses of a system are found, or its own weights learned, without some groups; `seed` is None for the order of the file."""

    data: str
    system: str
    modes: str
    seed: int | None
    without: tuple[str, ...]
    each: int | None


@dataclass(frozen=True, slots=True)
class Found:
    """The file of the model that was found, the digest of its bytes, clauses with a weight other than 0, clauses added, and seconds."""

    file: str
    digest: str
    clauses: int
    added: int
    seconds: float
    lasting: bool = True


@dataclass(frozen=True, slots=True)
class Sweep:
    """Weights of found clauses are learned without some groups for each value, and those `scored` are predicted; `digest` is of the model."""

    found: Find
    digest: str
    weights: str
    without: tuple[str, ...]
    scored: tuple[str, ...]
    values: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Swept:
    """Token F1 of each scored group, by value, and seconds of each fit; or why there are none."""

    f1: Mapping[str, Sequence[float]]
    seconds: Sequence[float]
    refused: str | None = None

    @property
    def lasting(self) -> bool:
        """A refusal is tried again: the code may reach further."""
        return self.refused is None


@dataclass(frozen=True, slots=True)
class Relearn:
    """Weights of found clauses are learned with one value on what they were found on, and the group left out predicted.

    `value` is None for the weights that they were found with.
    """

    found: Find
    digest: str
    weights: str
    value: float | None


@dataclass(frozen=True, slots=True)
class Outcome(Segmented):
    """What one training and test gave: its scores; clauses with a weight other than 0, and seconds of the fit, None where none was."""

    clauses: int | None = None
    seconds: float | None = None

    @property
    def lasting(self) -> bool:
        """What has no probabilities is tried again: the code may reach further."""
        return self.refused is None


@dataclass(frozen=True, slots=True)
class Refused:
    """Why weights that could be chosen for cannot be learned from all that clauses were found on."""

    refused: str

    @property
    def lasting(self) -> bool:
        """It is tried again: the code may reach further."""
        return False


RESULTS: dict[str, type[Any]] = {"find": Found, "sweep": Swept, "relearn": Outcome}
"""What the jobs return that is kept, by the names of the functions that do them."""


def _examples(data: SegmentationSet, folder: Path, each: int | None) -> dict[str, list[str]]:
    """Return the examples of each group."""
    return {fold.name: list(fold.test) for fold in data.folds(folder, each)}


def _others(data: SegmentationSet, groups: Mapping[str, list[str]], without: Sequence[str]) -> list[str]:
    """Return the examples of all groups but some."""
    return [name for group in data.groups if group not in without for name in groups[group]]


def learner(weights: str, value: float, tolerance: float = TOLERANCE) -> Any:
    """Return what learns weights again."""
    if weights == "max-margin":
        return sqlrl.MaxMargin(strength=1 / value, loss="hamming", separation="relaxed")
    loss: Literal["none", "hamming"] = "hamming" if weights == "L2, loss" else "none"
    return sqlrl.Likelihood("l1" if weights == "L1" else "l2", strength=value, tolerance=tolerance, loss=loss)


def find(job: Find, folder: str, models: str) -> Found:
    """Find clauses, and keep the model."""
    data, root = SETS[job.data], Path(folder)
    db = sqlrl.connect(":memory:")
    data.load(db, root)
    finder = data.constrained(job.system, data.finder(root, job.system, job.modes, job.seed))
    examples = _others(data, _examples(data, root, job.each), job.without)
    start = time.perf_counter()
    finder.fit(db, data.model(root, job.system), examples=examples)
    seconds = time.perf_counter() - start
    order = "file" if job.seed is None else f"seed{job.seed}"
    parts = (
        job.data,
        job.system,
        job.modes,
        order,
        "without",
        *job.without,
        *(() if job.each is None else (f"{job.each}each",)),
    )
    file = "-".join(parts).replace(" ", "_").replace(",", "") + ".json"
    finder.model_.save(Path(models) / file)
    inner = getattr(finder, "learner_", finder)
    added = len(inner.added()) if isinstance(inner, sqlrl.OSL) else 0
    return Found(file, digest_of(Path(models) / file), int((inner.weights_ != 0).sum()), added, seconds)


def digest_of(path: Path) -> str:
    """Return what tells a model from others, "" if there is no file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16] if path.exists() else ""


def sweep(job: Sweep, folder: str, models: str, file: str) -> Swept:
    """Learn weights for each value, from those of the one before, and predict groups that were left out."""
    data, root = SETS[job.found.data], Path(folder)
    groups = _examples(data, root, job.found.each)
    examples, f1 = _others(data, groups, job.without), {group: list[float]() for group in job.scored}
    seconds: list[float] = []
    if job.found.system == CRF:
        assert data.chains is not None
        chains = data.chains(root)
        for value in job.values:
            start = time.perf_counter()
            crf = chain_crf.train([chains[name] for name in examples], job.weights, value)
            seconds.append(time.perf_counter() - start)
            for group, scores in f1.items():
                scores.append(chain_crf.chain_scores(crf, {name: chains[name] for name in groups[group]}).f1)
        return Swept(f1, seconds)
    db = sqlrl.connect(":memory:")
    data.load(db, root)
    model, before = _to_learn(data, root, job.found, Path(models) / file), None
    try:
        for value in job.values:
            start = time.perf_counter()
            fit = data.constrained(job.found.system, learner(job.weights, value, PATH_TOLERANCE))
            before = fit.fit(db, model, examples=examples, start=before).model_
            seconds.append(time.perf_counter() - start)
            for group, scores in f1.items():
                scores.append(100 * db.evaluate(db.predict(before, examples=groups[group])).f1)
    except SqlrlError as error:
        return Swept({}, seconds, first_line(error))
    return Swept(f1, seconds)


def _to_learn(data: SegmentationSet, root: Path, found: Find, path: Path) -> sqlrl.Model:
    """Return the model whose weights are learned again: that with all hard clauses where a system enforces only some of them."""
    return data.model(root, found.system) if found.system in data.constraints else sqlrl.read_model(path)


def relearn(job: Relearn, folder: str, models: str, file: str) -> Outcome | Refused:
    """Learn weights with one value, and predict the group that was left out."""
    data, root = SETS[job.found.data], Path(folder)
    groups, (test,) = _examples(data, root, job.found.each), job.found.without
    examples = _others(data, groups, (test,))
    if job.found.system == CRF:
        assert data.chains is not None
        assert job.value is not None
        chains = data.chains(root)
        start = time.perf_counter()
        crf = chain_crf.train([chains[name] for name in examples], job.weights, job.value)
        seconds = time.perf_counter() - start
        scores = chain_crf.chain_scores(crf, {name: chains[name] for name in groups[test]})
        return Outcome(**asdict(scores), clauses=chain_crf.weights_other_than_zero(crf), seconds=seconds)
    db = sqlrl.connect(":memory:")
    labels = data.load(db, root)
    model = sqlrl.read_model(Path(models) / file)
    if job.value is None:
        return Outcome(**asdict(model_scores(db, model, groups[test], labels)))
    fit = data.constrained(job.found.system, learner(job.weights, job.value))
    start = time.perf_counter()
    try:
        # What was found has weights already: relearning starts from them.
        fit.fit(db, _to_learn(data, root, job.found, Path(models) / file), examples=examples, start=model)
    except SqlrlError as error:
        return Refused(first_line(error))
    seconds = time.perf_counter() - start
    weights = getattr(fit, "learner_", fit).weights_
    scores = model_scores(db, fit.model_, groups[test], labels)
    return Outcome(**asdict(scores), clauses=int((weights != 0).sum()), seconds=seconds)
