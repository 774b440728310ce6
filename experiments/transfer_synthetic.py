"""Transfer between the two synthetic domains of "Transfer Learning with Markov Logic Networks" (Mihalkova and Mooney 2006), figures 2 to 5: learning curves.

The source is a model of universities, the target companies. Three systems learn from 1 to 4 companies: TransferNew diagnoses the source and revises what it marks,
TransferMSL begins its search with the source, ScratchMSL with nothing; all with the same code for counting and search. Each is tested on a company of
its own: the atoms of one predicate are unknown, all others evidence. Figures are conditional log-likelihood per atom (CLL), with
probabilities clipped at 1e-6, and the area under the curve of precision and recall as average precision (AUC); of each the mean over five runs and its standard error.

The source model is what MSL learns from four universities, by beam search, which is its default, or with `--source shortest-first` by its other search; with
`--source written` it is the one that the generator of universities has. Companies are learned from by beam search in any case, as in the paper.

    python experiments/transfer_synthetic.py [--system NAME] [--source beam|shortest-first|written] [--quick] [--processes N] [--seed N] [--plot FILE] [--db FILE] [--json FILE]
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
from accuracy import CLIP, accuracy
from harness import Measured, Options, Row, publish, read_options, run_jobs
from organisations import ACADEMIC, ACADEMIC_TO_INDUSTRIAL, INDUSTRIAL, TESTED, generate
from relations import Relations

import sqlrl
from sqlrl.errors import GroundingWarning, InfeasibleTruthWarning, NothingFoundWarning
from sqlrl.logic.transfer import transferred
from sqlrl.structure.beam.search import Strategy
from sqlrl.structure.diagnosis.estimator import Transfer

NEW, MSL, SCRATCH = "TransferNew", "TransferMSL", "ScratchMSL"
SYSTEMS = (NEW, MSL, SCRATCH)
WRITTEN = "written"
SOURCES = ("beam", "shortest-first", WRITTEN)
"""The source models: what MSL learns by either search, or that of the generator."""

EXAMPLES, RUNS, SOURCE_EXAMPLES = (1, 2, 3, 4), 5, 4

MAX_LITERALS = 5
"""Of all systems: the longest clause of either model that was written by hand has as many."""

PAPER: Mapping[str, Mapping[int, tuple[int, int, int, int]]] = {
    NEW: {1: (2645, 721, 26, 14), 2: (2311, 1003, 92, 95), 3: (2474, 441, 133, 43), 4: (2025, 623, 218, 130)},
    MSL: {1: (21610, 5503, 690, 1165), 2: (10555, 3391, 835, 566), 3: (7253, 2090, 2320, 768), 4: (7332, 1393, 7208, 5597)},
}  # fmt: skip
"""Figures 4 and 5: candidates and seconds, of each mean and standard deviation, by the number of mega-examples; TransferAlchemy for TransferMSL."""


@dataclass(frozen=True, slots=True)
class Job:
    """One training and test: `examples` companies of one run, by one system, from a source model as text."""

    system: str
    examples: int
    run: int
    seed: int
    source: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one training and test gave; `cll` and `auc` are by predicate."""

    cll: Mapping[str, float]
    auc: Mapping[str, float]
    candidates: int
    statements: int
    seconds: float
    clauses: int
    marked: int
    rules: int


# ---- learning and testing --------------------------------------------------------------------------------------------


def companies(job: Job) -> tuple[Relations, Relations]:
    """Return the companies that a job learns from, and the one that it is tested on: the same ones for all systems, and the first ones for fewer examples."""
    found = generate(INDUSTRIAL, seed=1000 * job.seed + job.run, count=max(EXAMPLES) + 1)
    names = list(found.areas)
    train = {name: found.areas[name] for name in names[: job.examples]}
    return replace(found, target=None, areas=train), replace(
        found, target=None, areas={names[-1]: found.areas[names[-1]]}
    )


def learn_source(strategy: Strategy, seed: int, examples: int) -> tuple[str, float]:
    """Return what MSL learns from universities, as text, and its score there."""
    db = replace(generate(ACADEMIC, seed=1000 * seed + 999, count=examples), target=None).load()
    fit = sqlrl.MSL(max_literals=MAX_LITERALS, strategy=strategy).fit(db)
    return str(fit.model_), fit.score_


def run(job: Job) -> Outcome:
    """Learn from companies, and infer one predicate after the other of another company."""
    warnings.simplefilter("ignore", (GroundingWarning, InfeasibleTruthWarning, NothingFoundWarning))
    train, test = companies(job)
    db = train.load()
    source = sqlrl.parse_mln(job.source)
    mapping = sqlrl.PredicateMapping({**dict.fromkeys(source.predicates), **ACADEMIC_TO_INDUSTRIAL})
    start = time.perf_counter()
    marked = 0
    fit: sqlrl.MSL | Transfer
    if job.system == NEW:
        fit = Transfer(mapping=mapping, max_literals=MAX_LITERALS).fit(db, source)
        marked = len(fit.diagnosis_.general | fit.diagnosis_.specific)
    elif job.system == MSL:
        mapped = transferred(source, mapping, db.advanced.learning.declarations()).model
        fit = sqlrl.MSL(max_literals=MAX_LITERALS).fit(db, mapped)
    else:
        fit = sqlrl.MSL(max_literals=MAX_LITERALS).fit(db)
    seconds = time.perf_counter() - start
    scores = {name: accuracy(fit.model_, test, name) for name in TESTED}
    return Outcome(
        {name: found.cll for name, found in scores.items()},
        {name: found.auc for name, found in scores.items()},
        fit.candidates_,
        fit.n_statements_,
        seconds,
        len(fit.model_.rules),
        marked,
        len(source.rules),
    )


# ---- the table -------------------------------------------------------------------------------------------------------


def summarise(jobs: Sequence[Job], results: Sequence[Measured[Outcome]]) -> list[Row]:
    """Return a row for each system and number of examples, and the paper's beside it."""
    rows: list[Row] = []
    for system in (x for x in SYSTEMS if any(job.system == x for job in jobs)):
        for examples in sorted({job.examples for job in jobs}):
            mine = [
                r.value
                for job, r in zip(jobs, results, strict=True)
                if (job.system, job.examples) == (system, examples)
            ]
            row: dict[str, object] = {"system": system, "examples": examples, "runs": len(mine)}
            for name in TESTED:
                for measure in ("cll", "auc"):
                    values = [getattr(each, measure)[name] for each in mine]
                    mean, error = _mean_and_error([x for x in values if not math.isnan(x)])
                    row[f"{measure}_{name}"], row[f"{measure}_{name}_se"] = mean, error
            candidates = [float(each.candidates) for each in mine]
            seconds = [each.seconds for each in mine]
            row |= {
                "candidates": round(float(np.mean(candidates)), 1), "candidates_sd": _deviation(candidates),
                "statements": round(float(np.mean([each.statements for each in mine])), 1),
                "seconds": round(float(np.mean(seconds)), 2), "seconds_sd": _deviation(seconds),
                "clauses": round(float(np.mean([each.clauses for each in mine])), 1),
                "marked": round(float(np.mean([each.marked for each in mine])), 1) if system == NEW else None,
            }  # fmt: skip
            paper = PAPER.get(system, {}).get(examples)
            names = ("paper_candidates", "paper_candidates_sd", "paper_seconds", "paper_seconds_sd")
            rows.append(row | dict(zip(names, paper or (None,) * 4, strict=True)))
    return [*rows, *_ratios(rows)]


def single_runs(jobs: Sequence[Job], results: Sequence[Measured[Outcome]]) -> list[Row]:
    """Return a row for each training."""
    return [
        {
            "system": job.system,
            "examples": job.examples,
            "repetition": job.run,
            **asdict(result.value),
            "memory_mb": result.memory_mb,
        }
        for job, result in zip(jobs, results, strict=True)
    ]


def _ratios(rows: Sequence[Row]) -> list[Row]:
    """Return what share of TransferMSL's candidates and seconds TransferNew has, by the number of examples and on average."""
    new, old = ({int(str(row["examples"])): row for row in rows if row["system"] == x} for x in (NEW, MSL))
    if not new or not old:
        return []
    names = ("candidates", "seconds", "paper_candidates", "paper_seconds")
    shares = {n: {name: _share(new[n][name], old[n][name]) for name in names} for n in new}
    empty = dict.fromkeys(rows[0])
    found: list[Row] = [{**empty, "system": f"{NEW} / {MSL}", "examples": n, **shares[n]} for n in new]
    mean = {name: round(float(np.mean([shares[n][name] for n in new])), 4) for name in names}
    return [*found, {**empty, "system": f"{NEW} / {MSL}, on average", **mean}]


def _share(a: object, b: object) -> float:
    return round(float(str(a)) / float(str(b)), 4)


def _mean_and_error(values: Sequence[float]) -> tuple[float | None, float | None]:
    if not values:
        return None, None
    error = float(np.std(values, ddof=1)) / math.sqrt(len(values)) if len(values) > 1 else None
    return round(float(np.mean(values)), 4), None if error is None else round(error, 4)


def _deviation(values: Sequence[float]) -> float | None:
    return round(float(np.std(values, ddof=1)), 2) if len(values) > 1 else None


def draw(rows: Sequence[Row], path: Path) -> None:
    """Draw figures 2 and 3 of the paper: CLL and AUC by the number of mega-examples, for each predicate."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 6), layout="constrained")
    axes = figure.subplots(2, len(TESTED))
    for i, measure in enumerate(("cll", "auc")):
        for j, name in enumerate(TESTED):
            for system in SYSTEMS:
                mine = [row for row in rows if row["system"] == system]
                x = [int(str(row["examples"])) for row in mine]
                y = [float(str(row[f"{measure}_{name}"])) for row in mine]
                error = [float(str(row[f"{measure}_{name}_se"] or 0.0)) for row in mine]
                axes[i, j].errorbar(x, y, yerr=error, marker="o", capsize=3, label=system)
            axes[i, j].set(title=f"{measure.upper()} of {name}", xlabel="mega-examples", xticks=list(EXAMPLES))
    axes[0, 0].legend()
    figure.savefig(path)


# ---- running ---------------------------------------------------------------------------------------------------------


def make_jobs(options: Options, source: str) -> list[Job]:
    """Return a job for each system, number of examples and run."""
    runs, examples = (1, (1,)) if options.quick else (RUNS, EXAMPLES)
    return [
        Job(system, n, k, options.seed, source)
        for k in range(runs)
        for n in examples
        for system in SYSTEMS
        if options.chosen.get("system", system) == system
    ]


def main() -> None:
    """Run the experiment."""
    options = read_options(
        "Transfer between universities and companies: candidates, seconds and accuracy of three systems.",
        choices={"system": SYSTEMS, "source": SOURCES},
        plots=True,
    )
    kind = options.chosen.get("source", SOURCES[0])
    if kind == WRITTEN:
        source, score, seconds = str(ACADEMIC.model()), None, 0.0
    else:
        examples = 1 if options.quick else SOURCE_EXAMPLES
        (learned,) = run_jobs(learn_source, [(kind, options.seed, examples)], options.console(), "source model")
        (source, score), seconds = learned.value, learned.seconds
    jobs = make_jobs(options, source)
    results = run_jobs(
        run, [(job,) for job in jobs], options.console(), "trainings", options.processes, journal=options.journal
    )
    rows = summarise(jobs, results)
    if options.plot is not None and not options.quick:
        draw(rows, options.plot)
    title = f"Transfer from universities to companies, source {kind} (Mihalkova and Mooney 2006, figures 2 to 5)"
    title += " (quick: one company)" if options.quick else ""
    parameters = {
        "source": kind, "source_model": source, "source_score": score, "source_seconds": seconds, "max_literals": MAX_LITERALS, "clip": CLIP,
        "transfer": repr(Transfer(max_literals=MAX_LITERALS)), "msl": repr(sqlrl.MSL(max_literals=MAX_LITERALS)),
    }  # fmt: skip
    publish("transfer_synthetic", rows, options, title=title, parameters=parameters, details=single_runs(jobs, results))


if __name__ == "__main__":
    main()
