"""Transfer between real domains: UW-CSE to IMDB, IMDB to UW-CSE and WebKB to IMDB, leaving one mega-example of the target out.

After "Transfer Learning with Markov Logic Networks" (Mihalkova and Mooney 2006), which plans this and has no figures of it. The source is what MSL learns
from all mega-examples of the source domain. Systems: TransferNew with the mapping that is given, and with the one that is found rule by rule;
TransferMSL, which begins its search with the source under the given mapping; ScratchMSL, which begins with nothing. All learn from the other mega-examples of the
target with the same code for counting and search, with its defaults: nothing is chosen by how well the one that is left out is inferred.

Each predicate of that one is unknown in turn, all others are evidence. The table has the mean over mega-examples, and its standard error, of the
conditional log-likelihood per atom (CLL), with probabilities clipped at 1e-6, and of the area under the curve of precision and recall as average precision
(AUC), for each predicate and on average over predicates. A predicate without a true atom has no AUC, and one without an atom no CLL either, in that
mega-example: `folds` says how many have an AUC, and `prior` is the share of true atoms. Gains are over ScratchMSL in the same mega-example.

Probabilities are those of `marginals`, exact where single atoms or tables of elimination allow it, else from 4 chains of 1,000 samples; `sampled`
says how many atoms that were.

"ILP + Likelihood" is the discriminative reference: clauses by ILP's ranking search and weights by exact conditional likelihood with L1, both for one
predicate alone and with their defaults. Those of ILP had been chosen with IMDB among the data (`sparse_relations.py`), so that it is not blind there; UW-CSE had no part in it.

    python experiments/transfer_real.py [--pair NAME] [--system NAME] [--fold NAME] [--quick] [--processes N] [--seed N] [--db FILE] [--json FILE] [--data DIR]
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

import numpy as np
from accuracy import CLIP, Accuracy, accuracy
from harness import Measured, Options, Row, publish, read_options, run_jobs
from relations import LINKS
from transfer_domains import DOMAINS, MAPPINGS, read_domain

import sqlrl
from sqlrl.errors import GroundingWarning, InfeasibleTruthWarning, NothingFoundWarning
from sqlrl.logic.transfer import transferred

GIVEN, FOUND, MSL, SCRATCH = "TransferNew", "TransferNew, mapping found", "TransferMSL", "ScratchMSL"
DISCRIMINATIVE = "ILP + Likelihood"
TRANSFER = (GIVEN, FOUND, MSL)
"""The systems that have a source."""

SYSTEMS = (*TRANSFER, SCRATCH, DISCRIMINATIVE)
LEARNED = "source, by MSL"
"""The rows of the source models."""

PAIRS: Mapping[str, tuple[str, str]] = {f"{source} to {target}": (source, target) for source, target in MAPPINGS}
QUICK_PAIR = "webkb-relational to imdb"
FOLDS = tuple(f"fold{k}" for k in range(1, 6))
"""The mega-examples of either target."""

MAX_LITERALS, QUICK_LITERALS = 6, 3
"""Of a clause; the greater is MSL's default, that of Alchemy."""

COLUMNS = (
    "target", "source", "system", "predicate", "folds", "auc", "auc_se", "auc_gain", "auc_gain_se", "cll", "cll_se", "cll_gain", "cll_gain_se",
    "prior", "sampled", "candidates", "statements", "clauses", "mapped", "marked", "seconds", "seconds_most", "seconds_diagnosis",
    "seconds_search", "seconds_infer",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Source:
    """What MSL learned from all mega-examples of a domain."""

    model: str
    candidates: int
    statements: int
    clauses: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Job:
    """One training and test: a system, the target with the mega-example that is left out, and the source, "" without one, with its model as text."""

    data: Path
    system: str
    target: str
    fold: str
    source: str
    model: str
    max_literals: int
    seed: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one training and test gave.

    Parameters
    ----------
    accuracy : mapping of str to Accuracy
        By predicate.
    candidates : int
    statements : int or None
        Those that counted for candidates; None for ILP.
    clauses : int
        Of the model.
    mapped, marked : int or None
        Rules of the source that the target's predicates can say, and clauses that the diagnosis marked; None for systems without these.
    seconds : float
        Of learning.
    parts : mapping of str to float
        Seconds of its parts: `mapping`, `diagnosis`, `search`, `learning`, ...; those that a system has.
    model : str
    mapping : str
        The one that was found, rule by rule.
    """

    accuracy: Mapping[str, Accuracy]
    candidates: int
    statements: int | None
    clauses: int
    mapped: int | None
    marked: int | None
    seconds: float
    parts: Mapping[str, float]
    model: str
    mapping: str = ""


@dataclass(frozen=True, slots=True)
class Learned:
    """A model and what it took; see `Outcome`."""

    model: sqlrl.Model
    candidates: int
    statements: int | None = None
    mapped: int | None = None
    marked: int | None = None
    parts: Mapping[str, float] = field(default_factory=dict)
    mapping: Sequence[str] = ()


# ---- learning and testing --------------------------------------------------------------------------------------------


def quiet() -> None:
    """Pass over warnings that are about the data of one mega-example, and over those that the table has a number for."""
    for kind in (GroundingWarning, InfeasibleTruthWarning, NothingFoundWarning):
        warnings.simplefilter("ignore", kind)


def learn_source(data: Path, domain: str, max_literals: int) -> Source:
    """Learn from all mega-examples of a domain."""
    quiet()
    start = time.perf_counter()
    fit = sqlrl.MSL(max_literals=max_literals).fit(read_domain(data, domain).load())
    seconds = time.perf_counter() - start
    return Source(str(fit.model_), fit.candidates_, fit.n_statements_, len(fit.model_.rules), seconds)


def run(job: Job) -> Outcome:
    """Learn from all mega-examples of the target but one, and infer one predicate after the other of that one."""
    quiet()
    relations = read_domain(job.data, job.target)
    train = {name: facts for name, facts in relations.areas.items() if name != job.fold}
    test = replace(relations, areas={job.fold: relations.areas[job.fold]})
    link = target_of(job.target)
    own = link if job.system == DISCRIMINATIVE else None
    db = replace(relations, target=own, areas=train).load()
    start = time.perf_counter()
    found = _discriminative(db, link) if own else _generative(db, job)
    seconds = time.perf_counter() - start
    return Outcome(
        {name: accuracy(found.model, test, name, job.seed) for name in ([own] if own else relations.types)},
        found.candidates,
        found.statements,
        len(found.model.rules),
        found.mapped,
        found.marked,
        seconds,
        found.parts,
        str(found.model),
        "\n".join(found.mapping),
    )


def target_of(domain: str) -> str:
    """Return the predicate of a domain that the discriminative reference is learned for."""
    return LINKS[domain][1]


def _generative(db: sqlrl.Database, job: Job) -> Learned:
    """Learn with one of the systems that are compared."""
    if job.system == SCRATCH:
        fit = sqlrl.MSL(max_literals=job.max_literals).fit(db)
        return Learned(fit.model_, fit.candidates_, fit.n_statements_, parts=fit.seconds_)
    source = sqlrl.parse_mln(job.model)
    mapping = sqlrl.PredicateMapping(dict(MAPPINGS[job.source, job.target]))
    if job.system == MSL:
        mapped = transferred(source, mapping, db.advanced.learning.declarations()).model
        fit = sqlrl.MSL(max_literals=job.max_literals).fit(db, mapped)
        return Learned(fit.model_, fit.candidates_, fit.n_statements_, len(mapped.rules), parts=fit.seconds_)
    new = sqlrl.Transfer(
        mapping=mapping if job.system == GIVEN else "found", max_literals=job.max_literals, random_state=job.seed
    ).fit(db, source)
    known, dropped = new.diagnosis_, {row["rule"] for row in new.dropped_}
    became = (
        dict.fromkeys(f"{row['rule']}  ->  {row['becomes']}" for row in new.mapping_) if job.system == FOUND else ()
    )
    return Learned(
        new.model_,
        new.candidates_,
        new.n_statements_,
        len(source.rules) - len(dropped),
        len(known.general | known.specific),
        new.seconds_,
        list(became),
    )


def _discriminative(db: sqlrl.Database, target: str) -> Learned:
    """Find clauses for a target and learn their weights, from all examples of a database."""
    found = sqlrl.ILP(command="rank", significance=1.0).fit(db, target)
    fit = sqlrl.Likelihood("l1").fit(db, found.model_)
    parts = {"search": sum(found.seconds_.values()), "learning": sum(fit.seconds_.values())}
    return Learned(fit.model_, found.n_nodes_, parts=parts)


# ---- the table -------------------------------------------------------------------------------------------------------

Run = tuple[Job, Outcome]


def summarise(
    jobs: Sequence[Job], results: Sequence[Measured[Outcome]], sources: Mapping[str, Source] | None = None
) -> list[Row]:
    """Return the table: for each target its systems, on average over predicates and for each one, after rows for the sources."""
    rows: list[dict[str, object]] = [
        {"source": name, "system": LEARNED, "candidates": found.candidates, "statements": found.statements,
         "clauses": found.clauses, "seconds": round(found.seconds, 1), "seconds_most": round(found.seconds, 1)}
        for name, found in (sources or {}).items()
    ]  # fmt: skip
    runs = [(job, result.value) for job, result in zip(jobs, results, strict=True)]
    for target in dict.fromkeys(job.target for job in jobs):
        here = [each for each in runs if each[0].target == target]
        scratch = {job.fold: found for job, found in here if job.system == SCRATCH}
        for source, system in sorted({(job.source, job.system) for job, _ in here}, key=_place):
            mine = [each for each in here if (each[0].source, each[0].system) == (source, system)]
            head = {"target": target, "source": source or None, "system": system}
            names = list(mine[0][1].accuracy)
            base = scratch if system in TRANSFER else {}
            if len(names) > 1:
                rows.append({**head, "predicate": "mean", **_accuracies(mine, names, base), **_costs(mine)})
            for name in names:
                costs = _costs(mine) if len(names) == 1 else {}
                rows.append({**head, "predicate": name, **_accuracies(mine, [name], base), **costs})
    return [{column: row.get(column) for column in COLUMNS} for row in rows]


def _place(of: tuple[str, str]) -> tuple[int, str, int]:
    """Return where the rows of a source and system stand: those with a source first."""
    source, system = of
    return (not source, source, SYSTEMS.index(system))


def _accuracies(runs: Sequence[Run], names: Sequence[str], base: Mapping[str, Outcome]) -> dict[str, object]:
    """Return means over mega-examples of what predicates have on average, and of the gains over the outcomes of others in the same ones."""
    row: dict[str, object] = {}
    for measure in ("auc", "cll"):
        values = {job.fold: _average(found, names, measure) for job, found in runs}
        gains = [value - _average(base[fold], names, measure) for fold, value in values.items() if fold in base]
        row[measure], row[f"{measure}_se"] = mean_and_error(list(values.values()))
        row[f"{measure}_gain"], row[f"{measure}_gain_se"] = mean_and_error(gains)
        if measure == "auc":
            row["folds"] = sum(not math.isnan(x) for x in values.values())
    each = [found.accuracy[name] for _, found in runs for name in names]
    atoms = sum(x.atoms for x in each)
    row["prior"] = round(sum(x.true for x in each) / atoms, 4) if len(names) == 1 and atoms else None
    row["sampled"] = sum(x.sampled for x in each)
    row["seconds_infer"] = round(sum(x.seconds for x in each) / len(runs), 2)
    return row


def _average(found: Outcome, names: Sequence[str], measure: str) -> float:
    """Return the mean of a measure over the predicates that have it, NaN if none has."""
    values = [value for name in names if not math.isnan(value := getattr(found.accuracy[name], measure))]
    return float(np.mean(values)) if values else math.nan


def _costs(runs: Sequence[Run]) -> dict[str, object]:
    """Return what learning took on average, and at the most."""

    def mean(of: Callable[[Outcome], float | None], digits: int = 1) -> float | None:
        values = [value for _, found in runs if (value := of(found)) is not None]
        return round(float(np.mean(values)), digits) if values else None

    return {
        "candidates": mean(lambda x: x.candidates), "statements": mean(lambda x: x.statements), "clauses": mean(lambda x: x.clauses),
        "mapped": mean(lambda x: x.mapped), "marked": mean(lambda x: x.marked), "seconds": mean(lambda x: x.seconds, 2),
        "seconds_most": round(max(found.seconds for _, found in runs), 2),
        "seconds_diagnosis": mean(lambda x: x.parts.get("diagnosis"), 2), "seconds_search": mean(lambda x: x.parts.get("search"), 2),
    }  # fmt: skip


def mean_and_error(values: Sequence[float]) -> tuple[float | None, float | None]:
    """Return the mean of the values that are not NaN, and its standard error; None where there are too few."""
    kept = [x for x in values if not math.isnan(x)]
    if not kept:
        return None, None
    error = float(np.std(kept, ddof=1)) / math.sqrt(len(kept)) if len(kept) > 1 else None
    return round(float(np.mean(kept)), 4) + 0.0, None if error is None else round(error, 4)


# ---- running ---------------------------------------------------------------------------------------------------------


def sources_of(options: Options) -> list[str]:
    """Return the domains that source models are learned from."""
    return list(dict.fromkeys(source for system, source, _ in _asked_for(options) if system in TRANSFER))


def make_jobs(options: Options, sources: Mapping[str, Source]) -> list[Job]:
    """Return a job for each system, pair of domains and mega-example; systems without a source have one for each target."""
    folds = [fold for fold in FOLDS if options.fold in (None, fold)][: 1 if options.quick else None]
    return [
        Job(
            options.data, system, target, fold, source, sources[source].model if source else "", _literals(options), options.seed,
        )
        for fold in folds
        for system, source, target in _asked_for(options)
    ]  # fmt: skip


def _asked_for(options: Options) -> list[tuple[str, str, str]]:
    """Return what is run: systems, each with a source, "" without one, and a target."""
    chosen = QUICK_PAIR if options.quick else options.chosen.get("pair")
    found = [
        (system, source if system in TRANSFER else "", target)
        for name, (source, target) in PAIRS.items()
        if chosen in (None, name)
        for system in SYSTEMS
        if options.chosen.get("system", system) == system
    ]
    return list(dict.fromkeys(found))


def _literals(options: Options) -> int:
    return QUICK_LITERALS if options.quick else MAX_LITERALS


def details_of(job: Job, result: Measured[Outcome]) -> list[Row]:
    """Return a row for each predicate of one run."""
    found = asdict(result.value)
    scores = found.pop("accuracy")
    found |= {f"seconds_{name}": seconds for name, seconds in found.pop("parts").items()}
    head = {"target": job.target, "source": job.source or None, "system": job.system, "fold": job.fold}
    rows: list[Row] = []
    for name, score in scores.items():
        score["seconds_infer"] = score.pop("seconds")
        values = {key: None if isinstance(x, float) and math.isnan(x) else x for key, x in score.items()}
        rows.append({**head, "predicate": name, **values, **found, "memory_mb": result.memory_mb})
    return rows


def main() -> None:
    """Run the experiment."""
    options = read_options(
        "Transfer between UW-CSE, IMDB and WebKB, leaving one mega-example of the target out.",
        needs=DOMAINS,
        folds=FOLDS,
        choices={"pair": tuple(PAIRS), "system": SYSTEMS},
    )
    domains = sources_of(options)
    learned = run_jobs(
        learn_source, [(options.data, name, _literals(options)) for name in domains], options.console(), "source models",
        options.processes, journal=options.journal,
    )  # fmt: skip
    sources = {name: result.value for name, result in zip(domains, learned, strict=True)}
    jobs = make_jobs(options, sources)
    results = run_jobs(
        run, [(job,) for job in jobs], options.console(), "trainings", options.processes, journal=options.journal
    )
    title = "Transfer between real domains, one mega-example of the target left out"
    title += f" (quick: {QUICK_PAIR}, one mega-example, short clauses)" if options.quick else ""
    title += f"; only {options.fold}" if options.fold is not None else ""
    parameters = {
        "max_literals": _literals(options), "clip": CLIP, "sources": {name: found.model for name, found in sources.items()},
        "mappings": {name: dict(MAPPINGS[pair]) for name, pair in PAIRS.items()}, "ilp": repr(sqlrl.ILP(command="rank", significance=1.0)), "likelihood": repr(sqlrl.Likelihood("l1")),
        "msl": repr(sqlrl.MSL(max_literals=_literals(options))), "transfer": repr(sqlrl.Transfer(max_literals=_literals(options))),
        "discriminative target": {name: target_of(name) for name in dict.fromkeys(job.target for job in jobs)},
    }  # fmt: skip
    details = [row for job, result in zip(jobs, results, strict=True) for row in details_of(job, result)]
    publish(
        "transfer_real", summarise(jobs, results, sources), options, title=title, parameters=parameters, details=details
    )


if __name__ == "__main__":
    main()
