"""Structure of soft models: piecewise pseudo-likelihood against greedy local search, on links between drugs and in knowledge graphs.

After "Scalable Structure Learning for Probabilistic Soft Logic" (Embar, Sridhar, Farnadi, Getoor 2018), table 1 and figure 1, on what of its data is
public. Labelled pairs of a target are in five folds: what is true of one is observed, one is learned from and one is tested on, rotated.

- drugs: `interacts` between 78 drugs (the paper: 196 of the same source) is symmetric, and the folds of the file put (a, b) and (b, a) apart: here they
  are of unordered pairs. The degree baseline ranks a pair by the product of the rates of interactions of its two drugs in the observed fold.
- umls, nations: the relation with the most facts, all others observed.
- film-genre, profession: two relations of FB15k-237 in place of FILMRATING and BOOKAUTHOR, which it does not have: as these they link films and people
  with a value of a kind, and have thousands of facts.

For knowledge graphs as many false pairs as true ones are drawn, or all there are, of a first and a last entity that the relation has, with no
fact in any split.

    python experiments/psl_structure.py [--quick] [--task NAME] [--method NAME] [--fold N] [--processes N] [--seed N] [--db FILE] [--json FILE] [--data DIR]
    python experiments/psl_structure.py --variants ...
    python experiments/psl_structure.py --scaling [--plot FILE] ...

prints AUC with its deviation over folds, how many test pairs share the most frequent value, candidates, rules, and seconds of paths, grounding and learning. With
`--scaling` the time to learn from 25, 50, 100 and 200 candidates. Weights are learned to their maximum; in a second row by as many steps
along the gradient as in the paper, 150 of piecewise pseudo-likelihood and 15 for each model of the search. With `--variants` also linear hinges in
place of squared ones, and a penalty on the sum of weights (L1, the paper's future work) in place of the Gaussian prior.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import duckdb
import numpy as np
import pyarrow as pa
from harness import Measured, Options, Row, publish, read_options, run_jobs

import sqlrl
from sqlrl.evaluate import auc_roc, mean_and_deviation

TASKS = ("drugs", "umls", "nations", "film-genre", "profession")
Method = Literal["ppll", "gls"]
METHODS: tuple[Method, ...] = ("ppll", "gls")
FOLDS = ("1", "2", "3", "4", "5")
RELATIONS = {"film-genre": "/film/film/genre", "profession": "/people/person/profession"}

LENGTH, MIN_TARGETS, TOP = 3, 10, 50
"""As in the paper: paths that connect 10 targets, the 50 that connect most; of drugs and FB15k-237 up to three relations."""

MOST, LEAST = 20, 1e-3
"""Rules of a greedy search, and the least gain as a share of the score."""

STEPS: Mapping[Method, int] = {"ppll": 150, "gls": 15}
"""Steps along the gradient in the paper."""

Variant = Literal["maximum", "steps", "linear", "l1"]
VARIANTS: tuple[Variant, ...] = ("maximum", "steps", "linear", "l1")
"""How rules and weights are learned: squared hinges to the maximum under a Gaussian prior, or by the paper's steps; linear hinges; under L1."""

QUICK = 400
"""Labelled pairs of a quick run."""

CANDIDATES = (25, 50, 100, 200)

PAPER: Mapping[str, tuple[str, float, float]] = {
    "drugs": ("DDI-INTERACTS", 0.66, 0.76),
    "film-genre": ("Freebase-FILMRATING", 0.65, 0.65),
    "profession": ("Freebase-BOOKAUTHOR", 0.67, 0.65),
}
"""The paper's data in place of ours, and the AUC of GLS and PPLL there."""

COLUMNS = (
    "task", "system", "weights", "whose", "fold", "auc", "deviation", "tied", "pairs", "candidates", "rules", "paths_seconds", "grounding_seconds",
    "learning_seconds", "seconds", "memory_mb",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Job:
    """One task, fold and method; `top` paths become candidates."""

    folder: str
    seed: int
    task: str
    fold: str
    method: Method
    quick: bool
    top: int = TOP
    variant: Variant = "maximum"


@dataclass(frozen=True, slots=True)
class Outcome:
    """AUC, how many pairs share the most frequent value, sizes and seconds, and the rules; `baseline` is the AUC of degrees."""

    auc: float
    tied: int
    pairs: int
    candidates: int
    seconds: Mapping[str, float]
    rules: tuple[tuple[str, float], ...]
    baseline: float


@dataclass(frozen=True)
class Links:
    """Labelled pairs of a target, in five parts, and the facts of other relations by name: tables of two columns with their types."""

    target: str
    types: tuple[str, str]
    folds: list[list[tuple[str, str, float]]]
    facts: Mapping[str, tuple[pa.Table, tuple[str, str]]]
    symmetric: bool


# ---- data ----------------------------------------------------------------------------------------------------


def drugs(folder: Path, seed: int, quick: bool) -> Links:
    """Return the interactions of drugs."""
    with duckdb.connect() as con:
        read = "select {} from read_csv($path, all_varchar = true)"
        rows = con.execute(read.format("drug1, drug2, label"), {"path": str(folder / "interacts.csv")}).fetchall()
        label = {tuple(sorted((a, b))): float(value) for a, b, value in rows}
        facts = {}
        for path in sorted(folder.glob("*.csv")):
            if path.stem != "interacts":
                table = con.execute(read.format("a0, a1"), {"path": str(path)}).fetchall()
                first = "protein" if path.stem in ("enzyme", "target", "transporter") else "drug"
                types = (first, "drug" if first == "protein" else "protein")
                facts[path.stem] = (_table(table), types)
    keys = sorted(label)
    order = np.random.default_rng(seed).permutation(len(keys))[: QUICK if quick else None]
    pairs = [(keys[i][0], keys[i][1], label[keys[i]]) for i in order.tolist()]
    return Links("interacts", ("drug", "drug"), _parts(pairs), facts, True)


def graph(folder: Path, relation: str | None, seed: int, quick: bool) -> Links:
    """Return the links of a relation of a knowledge graph, by default the one with the most facts."""
    with duckdb.connect() as con:
        files = [str(path) for path in sorted(folder.glob("*.parquet"))]
        rows = con.execute("select distinct * from read_parquet($files)", {"files": files}).fetchall()
    by: dict[str, set[tuple[str, str]]] = {}
    for head, name, tail in rows:
        by.setdefault(name, set()).add((head, tail))
    target = relation or max(sorted(by), key=lambda name: len(by[name]))
    random = np.random.default_rng(seed)
    true = sorted(by[target])
    chosen = [true[i] for i in random.permutation(len(true))[: QUICK // 2 if quick else 5_000].tolist()]
    firsts, lasts = (sorted({pair[i] for pair in true}) for i in (0, 1))
    place = [{name: i for i, name in enumerate(names)} for names in (firsts, lasts)]
    known = [place[0][a] * len(lasts) + place[1][b] for a, b in true]
    free = np.setdiff1d(np.arange(len(firsts) * len(lasts)), known)
    drawn = np.sort(random.choice(free, min(len(chosen), len(free)), replace=False))
    false = [(firsts[i // len(lasts)], lasts[i % len(lasts)]) for i in drawn.tolist()]
    pairs = [(*pair, 1.0) for pair in chosen] + [(*pair, 0.0) for pair in false]
    pairs = [pairs[i] for i in random.permutation(len(pairs)).tolist()]
    names = relation_names(by)
    types = ("entity", "entity")
    facts = {names[name]: (_table(sorted(found)), types) for name, found in by.items() if name != target}
    return Links(names[target], types, _parts(pairs), facts, False)


def relation_names(relations: Iterable[str]) -> dict[str, str]:
    """Return names of predicates for relations, no two of which differ in their case alone."""
    names: dict[str, str] = {}
    for name in sorted(relations):
        short = re.sub(r"\W+", "_", name).strip("_")[-60:].lstrip("_0123456789")
        taken = {x.casefold() for x in names.values()}
        names[name] = f"{short}_{len(names)}" if short.casefold() in taken else short
    return names


def _table(rows: Sequence[Sequence[str]]) -> pa.Table:
    return pa.table({f"a{i}": pa.array([row[i] for row in rows], pa.string()) for i in (0, 1)})


def _parts(pairs: list[tuple[str, str, float]]) -> list[list[tuple[str, str, float]]]:
    return [[pairs[i] for i in part.tolist()] for part in np.array_split(np.arange(len(pairs)), len(FOLDS))]


def links(job: Job) -> Links:
    """Return the data of a task."""
    data = Path(job.folder)
    if job.task == "drugs":
        return drugs(data / "drug-interactions", job.seed, job.quick)
    kind = job.task if job.task in ("umls", "nations") else "fb15k-237"
    return graph(data / "kg" / kind, RELATIONS.get(job.task), job.seed, job.quick)


def both_ways(found: Links, pairs: Sequence[tuple[str, str, float]]) -> list[tuple[str, str, float]]:
    """Return pairs, those of a symmetric target in both orders."""
    return [
        each
        for a, b, value in pairs
        for each in ([(a, b, value), (b, a, value)] if found.symmetric else [(a, b, value)])
    ]


def label(db: sqlrl.Database, found: Links, pairs: Sequence[tuple[str, str, float]]) -> None:
    """Let pairs be the query atoms, with their labels."""
    rows = both_ways(found, pairs)
    columns = {"a0": [r[0] for r in rows], "a1": [r[1] for r in rows], "value": [r[2] for r in rows]}
    db.load(found.target, pa.table(columns), columns=["a0", "a1"], types=found.types, value="value", target=True)
    db.scope(found.target, pa.table({name: columns[name] for name in ("a0", "a1")}))


# ---- training and test -------------------------------------------------------------------------------------------


def learner(job: Job, found: Links, top: int) -> sqlrl.SoftStructure:
    """Return the learner of a job."""
    return sqlrl.SoftStructure(
        method=job.method, length=2 if job.quick else LENGTH, min_targets=MIN_TARGETS, top=top, symmetric=found.symmetric, most=MOST, least=LEAST,
        squared=job.variant != "linear", steps=STEPS[job.method] if job.variant == "steps" else None,
        penalty="l1" if job.variant == "l1" else "l2",
    )  # fmt: skip


def run(job: Job) -> Outcome:
    """Learn from one fold, and rank the pairs of another one."""
    found, place = links(job), FOLDS.index(job.fold)
    observed, train, test = (found.folds[(place + i) % len(FOLDS)] for i in range(3))
    db = sqlrl.connect(progress=False)
    for name, (table, types) in found.facts.items():
        db.load(name, table, types=types)
    seen = [pair[:2] for pair in both_ways(found, observed) if pair[2] > 0]
    db.load(found.target, seen, types=found.types, given=True)
    label(db, found, train)
    fit = learner(job, found, job.top).fit(db, found.target)
    label(db, found, test)
    # Paths connect more pairs than those of the fold, which alone are ranked; no body reads the others.
    rows = db.predict(fit.model_, observed_bodies=True, missing="false").atoms()
    names = [name for name in rows.column_names if name not in ("example", "value")]
    value = {(a, b): v for a, b, v in zip(*(rows[n].to_pylist() for n in (*names, "value")), strict=True)}
    score = np.array([value[a, b] + (value[b, a] if found.symmetric else 0.0) for a, b, _ in test])
    truth = np.array([v > 0 for *_, v in test])
    # Values are found to within tolerances: those that differ by less are one.
    tied = Counter(score.round(5).tolist()).most_common(1)[0][1]
    rules = tuple((rule.formula, float(rule.weight or 0.0)) for rule in fit.model_.rules)
    return Outcome(
        auc_roc(truth, score.round(7)), tied, len(test), len(fit.weights_), fit.seconds_, rules, degrees(found, observed, test, truth)
    )  # fmt: skip


def degrees(
    found: Links, observed: Sequence[tuple[str, str, float]], test: Sequence[tuple[str, str, float]], truth: Any
) -> float:
    """Return the AUC of the product of the rates at which the two ends of a pair have the relation in the observed fold."""
    rates: dict[tuple[int, str], list[float]] = {}
    for a, b, value in both_ways(found, observed):
        for place, end in ((0, a), (1, b)):
            rates.setdefault((place, end), [1.0, 2.0])
            rates[place, end][0] += value
            rates[place, end][1] += 1

    def rate(place: int, end: str) -> float:
        """Return the rate of an end; a half of one that was not seen."""
        true, all_ = rates.get((place, end), (1.0, 2.0))
        return true / all_

    return auc_roc(truth, np.array([rate(0, a) * rate(1, b) for a, b, _ in test]))


# ---- the table -----------------------------------------------------------------------------------------------


def summarise(jobs: Sequence[Job], results: Sequence[Measured[Outcome]]) -> list[Row]:
    """Return the table: the paper's rows, and for each task and method the mean over folds."""
    rows: list[dict[str, object]] = []
    runs = list(zip(jobs, results, strict=True))
    for task in dict.fromkeys(job.task for job in jobs):
        if task in PAPER:
            name, gls, ppll = PAPER[task]
            rows += [
                {"task": task, "system": s, "whose": f"paper, {name}", "auc": x}
                for s, x in (("gls", gls), ("ppll", ppll))
            ]
        for method, top, variant in dict.fromkeys(
            (job.method, job.top, job.variant) for job in jobs if job.task == task
        ):
            mine = [r for j, r in runs if (j.task, j.method, j.top, j.variant) == (task, method, top, variant)]
            weights = f"{STEPS[method]} steps" if variant == "steps" else variant
            rows.append(
                {"task": task, "system": method, "weights": weights, "whose": "ours", "fold": "all", **means(mine)}
            )
        first = next(job for job in jobs if job.task == task)
        base = [r.value.baseline for j, r in runs if replace(j, fold=first.fold) == first]
        if base:
            found = mean_and_deviation(base)
            rows.append(
                {
                    "task": task,
                    "system": "degrees",
                    "whose": "baseline",
                    "fold": "all",
                    "auc": round(found.mean, 3),
                    "deviation": round(found.deviation, 3),
                }
            )
    return [{column: row.get(column) for column in COLUMNS} for row in rows]


def means(results: Sequence[Measured[Outcome]]) -> dict[str, object]:
    """Return the means over folds."""
    values = [r.value for r in results]
    found = mean_and_deviation([v.auc for v in values])

    def mean(numbers: Sequence[float]) -> float:
        """Return a mean with two decimals."""
        return round(float(np.mean(numbers)), 2)

    learned = [sum(v.seconds[s] for s in ("paths", "grounding", "learning")) for v in values]
    return {
        "auc": round(found.mean, 3),
        "deviation": round(found.deviation, 3) if len(values) > 1 else None,
        "tied": mean([v.tied for v in values]),
        "pairs": mean([v.pairs for v in values]),
        "candidates": mean([v.candidates for v in values]),
        "rules": mean([len(v.rules) for v in values]),
        **{f"{s}_seconds": mean([v.seconds[s] for v in values]) for s in ("paths", "grounding", "learning")},
        "seconds": mean(learned),
        "memory_mb": round(max(r.memory_mb for r in results)),
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the experiment."""
    options = read_options(
        "Structure of soft models: piecewise pseudo-likelihood against greedy local search.",
        arguments,
        needs=("drug-interactions", "kg"),
        folds=FOLDS,
        plots=True,
        choices={"task": TASKS, "method": METHODS},
        more={
            "scaling": "time by the number of candidates, on the first fold",
            "variants": "linear hinges and L1, too",
        },
    )
    tasks = [t for t in TASKS if options.chosen.get("task", t) == t]
    methods = [m for m in METHODS if options.chosen.get("method", m) == m]
    scaling = "scaling" in options.more
    folds = [f for f in (FOLDS[:1] if scaling or options.quick else FOLDS) if options.fold in (None, f)] or [
        options.fold or FOLDS[0]
    ]
    if options.quick:
        tasks = [t for t in tasks if t not in RELATIONS] or tasks
    tops = CANDIDATES if scaling else (TOP,)
    variants = VARIANTS if "variants" in options.more else VARIANTS[:2]
    # Each path gives two candidates.
    jobs = [
        Job(str(options.data), options.seed, task, fold, method, options.quick, top // 2 if scaling else top, variant)
        for task in tasks for top in tops for method in methods for variant in variants for fold in folds
    ]  # fmt: skip
    results = run_jobs(
        run, [(job,) for job in jobs], options.console(), "trainings", options.processes, journal=options.journal
    )
    if options.plot is not None and scaling:
        plot(options, jobs, results)
    details: list[Row] = [
        {
            "task": j.task,
            "system": j.method,
            "variant": j.variant,
            "fold": j.fold,
            "candidates": r.value.candidates,
            "clause": clause,
            "weight": weight,
        }
        for j, r in zip(jobs, results, strict=True)
        for clause, weight in r.value.rules
    ]
    parameters = {
        "length": LENGTH,
        "min_targets": MIN_TARGETS,
        "top": TOP,
        "most": MOST,
        "least": LEAST,
        "steps": STEPS,
        "quick": options.quick,
        "scaling": scaling,
    }
    title = "Structure of soft models: AUC over folds" + ("; quick: paths of two relations" if options.quick else "")
    publish("psl_structure", summarise(jobs, results), options, title=title, parameters=parameters, details=details)


def plot(options: Options, jobs: Sequence[Job], results: Sequence[Measured[Outcome]]) -> None:
    """Draw seconds by candidates, as figure 1 of the paper does."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots()
    for task in dict.fromkeys(job.task for job in jobs):
        for method in METHODS:
            points = [
                (r.value.candidates, sum(r.value.seconds.values()))
                for j, r in zip(jobs, results, strict=True)
                if (j.task, j.method, j.variant) == (task, method, "maximum")
            ]
            if points:
                axes.plot(*zip(*sorted(points), strict=True), marker="o", label=f"{task}, {method}")
    axes.set(xlabel="candidates", ylabel="seconds", yscale="log", title="time to learn structure and weights")
    axes.legend()
    assert options.plot is not None
    figure.savefig(options.plot)


if __name__ == "__main__":
    main()
