"""Learning the weights of clauses again, by max-margin and by exact likelihood: which jobs, what is chosen, and the table.

For each group of examples that is tested on, clauses are found on all others, and their weights learned again on these. The strength of
a penalty (max-margin: C) is chosen once for each system and test group, in file order: one other group is held out, clauses are found
anew without both, their weights learned for each strength on what is left, every time from those of the strength before, and the one
with the best token F1 on the group that is held out is taken; of equals that of the strongest penalty. Where the weakest penalty is the
best one, two weaker ones are tried. What is taken is used for the seeded orders, too. Groups are paired, so that one such path serves both
of a pair: it has learned from the labels of neither, and those of each choose for the other alone, so that no label of a group has a part
in what is chosen for it.

The *leaky* choice does the same with the clauses that were found with the labels of the group that is held out: cheaper, since nothing is
found twice, and wrong, since these clauses fit the labels by which strengths are compared.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any, Protocol

from harness import Measured, Options, Row, publish, run_jobs
from job_table import JobTable
from relearning import (
    FURTHER,
    QUICK,
    RESULTS,
    WEIGHTS,
    Find,
    Found,
    Outcome,
    Refused,
    Relearn,
    Sweep,
    Swept,
    digest_of,
    find,
    relearn,
    sweep,
)
from segmentation_sets import CRF, SegmentationSet, found_by

from sqlrl.evaluate import mean_and_deviation
from sqlrl.wording import counted

ORDERS = 3

QUICK_WEIGHTS = ("L2, loss", "L2")
"""The weights that a slice has."""

CRF_WEIGHTS = ("L1", "L2")
"""The weights that CRFsuite learns."""

# ---- which jobs, and what is chosen --------------------------------------------------------------------


def partners(groups: Sequence[str]) -> dict[str, str]:
    """Return for each group the one that is held out for its choice: pairs of neighbours, and the first one for a last that is alone.

    Examples
    --------
    >>> partners(["a", "b", "c", "d"]), partners(["a", "b", "c"])["c"]
    ({'a': 'b', 'b': 'a', 'c': 'd', 'd': 'c'}, 'a')
    """
    size = len(groups)
    return {group: groups[k ^ 1] if k ^ 1 < size else groups[0] for k, group in enumerate(groups)}


def pair_of(groups: Sequence[str], test: str) -> tuple[str, ...]:
    """Return a test group and the one that is held out for its choice, in the order of the groups."""
    pair = {test, partners(groups)[test]}
    return tuple(group for group in groups if group in pair)


def best(values: Sequence[float], f1: Sequence[float]) -> float:
    """Return the value with the greatest F1, of equals the first.

    Examples
    --------
    >>> best([3.0, 1.0, 0.3], [90.0, 92.0, 92.0])
    1.0
    """
    return values[max(range(len(values)), key=lambda k: f1[k])]


@dataclass(frozen=True, slots=True)
class Line:
    """One row of the table: a system with weights, in file order or in seeded orders, and how its value is chosen."""

    system: str
    weights: str
    seeded: bool = False
    leaky: bool = False


@dataclass(frozen=True, slots=True)
class Plan:
    """What is asked for.

    Parameters
    ----------
    data : SegmentationSet
    systems, weights : tuple of str
        `weights` may have `data.own` among them.
    tests : tuple of str
        The groups that are tested on.
    modes : str
        Of OSL.
    seeds : tuple of int
        Of the seeded orders.
    each : int or None
        The most examples of a group.
    values : mapping of str to tuple of float
        To choose from.
    further : mapping of str to tuple of float
        Values that are tried, too, where the last of the others is the best.
    leaky : bool
        Whether there are rows of the leaky choice.
    """

    data: SegmentationSet
    systems: tuple[str, ...]
    weights: tuple[str, ...]
    tests: tuple[str, ...]
    modes: str
    seeds: tuple[int, ...]
    each: int | None
    values: Mapping[str, tuple[float, ...]]
    further: Mapping[str, tuple[float, ...]]
    leaky: bool = True

    def find(self, system: str, seed: int | None, without: tuple[str, ...]) -> Find:
        """Return a job that finds clauses."""
        return Find(self.data.name, system, self.modes if found_by(system) else "", seed, without, self.each)

    def finds(self, *, seeded: bool = False, inner: bool = False) -> list[Find]:
        """Return the jobs that find clauses: on all groups but the tested one, with `inner` without that which is held out, too."""
        if inner and not self.relearned:
            return []
        seeds: tuple[int | None, ...] = self.seeds if seeded else (None,)
        # Models whose clauses are given are learned, too: relearning starts from their weights.
        systems = dict.fromkeys(line.system for line in self.lines() if line.system != CRF and line.seeded == seeded)
        jobs = [
            self.find(system, seed, pair_of(self.data.groups, test) if inner else (test,))
            for system, seed, test in product(systems, seeds, self.tests)
        ]
        return list(dict.fromkeys(jobs))

    @property
    def relearned(self) -> tuple[str, ...]:
        """The weights that are learned again."""
        return tuple(name for name in self.weights if name != self.data.own)

    def lines(self) -> list[Line]:
        """Return the rows, without those of the paper."""
        found = []
        for system, weights in product(self.systems, self.weights):
            own = weights == self.data.own
            # A slice has these rows once, to stay short.
            once = self.each is None or weights == self.weights[-1]
            if system == CRF and (own or weights not in CRF_WEIGHTS or not once):
                continue
            found.append(Line(system, weights))
            if self.leaky and found_by(system) and not own and once:
                found.append(Line(system, weights, leaky=True))
            # A batch learner does not depend on the order, unless its clauses do.
            if self.seeds and system != CRF and (own or found_by(system)):
                found.append(Line(system, weights, seeded=True))
        return found

    def most_jobs(self) -> int:
        """Return how many jobs there are, fewer only where the leaky choice is the other one."""
        finds = len(self.finds()) + len(self.finds(inner=True)) + len(self.finds(seeded=True))
        pairs = len({pair_of(self.data.groups, test) for test in self.tests})
        count = finds
        for line in self.lines():
            count += len(self.tests) * (len(self.seeds) if line.seeded else 1)
            if line.weights != self.data.own and not line.seeded:
                paths = len(self.tests) if line.leaky else pairs
                count += paths * (1 + bool(self.further))
        return count


class Worker(Protocol):
    """Does jobs that are not done yet, or leaves them out, and returns those that are."""

    def __call__(
        self, function: Callable[..., Any], jobs: Sequence[tuple[Any, ...]], what: str
    ) -> dict[Any, Measured[Any]]:
        """Return the results by the first arguments of the jobs."""
        ...


def worker(options: Options, table: JobTable, models: Path, most: int) -> Worker:
    """Return what runs jobs, one phase after the other, and says how many there are in all; with `--so-far` it runs none."""
    console = options.console()

    def work(function: Callable[..., Any], jobs: Sequence[tuple[Any, ...]], what: str) -> dict[Any, Measured[Any]]:
        """Run what is not done."""
        calls = [(job, str(options.data), str(models), *rest) for job, *rest in dict.fromkeys(jobs)]
        keys = [table.key(function, call) for call in calls]
        if function is find:
            for key in keys:
                known = table.get(key)
                if known is not None and digest_of(models / known.value.file) != known.value.digest:
                    console.message(f"{models / known.value.file} is not what was found: it is found again")
                    table.forget(key)
        if calls and SO_FAR not in options.more:
            so_far = f"{counted(len(table), 'job')} done in {table.seconds:,.0f} s so far"
            console.message(f"{what}: {counted(len(calls), 'job')}; in all there are {most:,} at most, and {so_far}")
            run_jobs(function, calls, console, what, options.processes, journal=table)
        results = ((call[0], table.get(key)) for call, key in zip(calls, keys, strict=True))
        return {job: result for job, result in results if result is not None}

    return work


@dataclass(frozen=True, slots=True)
class Done:
    """One run of a row: the group that was tested, the job and what it gave, and what was found before; or why there is no job."""

    test: str
    job: Relearn | None
    result: Measured[Outcome] | None
    found: Measured[Found] | None
    refused: str | None = None


def results_of(plan: Plan, work: Worker, *, only_find: bool = False) -> dict[Line, list[Done]]:
    """Run all jobs, those of the file order first; return the runs of each row, as far as they are done."""
    lines = plan.lines()
    found = work(find, [(job,) for job in (*plan.finds(), *plan.finds(inner=True))], "finding clauses")
    swept: dict[Sweep, Measured[Swept]] = {}
    done: dict[Line, list[Done]] = {line: [] for line in lines}

    def found_of(job: Find) -> tuple[str, str] | None:
        """Return file and digest of what was found, empty for what needs none; None if it is not done."""
        if job.system == CRF:
            return "", ""
        return (found[job].value.file, found[job].value.digest) if job in found else None

    def sweep_of(line: Line, test: str) -> tuple[Sweep, str] | None:
        """Return the path by which a value is chosen, and the file of what was found for it; None if that is not done."""
        pair = pair_of(plan.data.groups, test)
        job = plan.find(line.system, None, (test,) if line.leaky else pair)
        scored = (partners(plan.data.groups)[test],) if line.leaky else pair
        if (known := found_of(job)) is None:
            return None
        file, digest = known
        return Sweep(job, digest, line.weights, pair, scored, plan.values[line.weights]), file

    def further_of(line: Line, path: Sweep) -> Sweep | None:
        """Return the path that goes on, None if there is none."""
        return replace(path, values=plan.further[line.weights]) if plan.further else None

    def chosen_for(line: Line, test: str, *, first: bool = False) -> float | str | None:
        """Return the value that is chosen, with `first` of the first path alone; why none can be, or None if that is not done."""
        path = sweep_of(line, test)
        if path is None or path[0] not in swept:
            return None
        held_out, values, tried = partners(plan.data.groups)[test], path[0].values, swept[path[0]].value
        if tried.refused is not None:
            return tried.refused
        value, further = best(values, tried.f1[held_out]), further_of(line, path[0])
        if first or further is None or value != values[-1]:
            return value
        if further not in swept:
            return None
        more = swept[further].value
        if more.refused is not None:
            return more.refused
        return best([*values, *further.values], [*tried.f1[held_out], *more.f1[held_out]])

    def phase(what: str, chosen: list[Line], seeds: Sequence[int | None]) -> None:
        """Choose values for some rows, and learn and test with them."""
        again = [line for line in chosen if line.weights != plan.data.own]
        paths = [path for line, test in product(again, plan.tests) if (path := sweep_of(line, test)) is not None]
        swept.update(work(sweep, paths, f"{what}: choosing"))
        weaker = [
            (further, path[1])
            for line, test in product(again, plan.tests)
            if (path := sweep_of(line, test)) is not None
            and (further := further_of(line, path[0])) is not None
            and chosen_for(line, test, first=True) == path[0].values[-1]
        ]
        swept.update(work(sweep, weaker, f"{what}: choosing among weaker penalties"))
        jobs: list[tuple[Line, str, Relearn, str]] = []
        for line, test in product(chosen, plan.tests):
            value = None if line.weights == plan.data.own else chosen_for(line, test)
            if isinstance(value, str):
                done[line].append(Done(test, None, None, None, value))
                continue
            if value is None and line.weights != plan.data.own:
                continue
            for seed in seeds:
                job = plan.find(line.system, seed, (test,))
                if (known := found_of(job)) is not None:
                    jobs.append((line, test, Relearn(job, known[1], line.weights, value), known[0]))
        results = work(relearn, [(job, file) for _, _, job, file in jobs], f"{what}: learning again")
        for line, test, again_job, _ in jobs:
            result = results.get(again_job)
            if result is not None and isinstance(result.value, Refused):
                done[line].append(Done(test, None, None, None, result.value.refused))
            elif result is not None:
                done[line].append(Done(test, again_job, result, found.get(again_job.found)))

    if not only_find:
        phase("file order", [line for line in lines if not line.seeded and not line.leaky], (None,))
        phase("leaky choice", [line for line in lines if line.leaky], (None,))
    if plan.seeds:
        found.update(work(find, [(job,) for job in plan.finds(seeded=True)], "finding clauses in seeded orders"))
    if plan.seeds and not only_find:
        phase("seeded orders", [line for line in lines if line.seeded], plan.seeds)
    return done


# ---- the table -----------------------------------------------------------------------------------------

SCORES = ("f1_marginal", "f1_field", "whole", "log_likelihood", "ece", "brier")


def columns(data: SegmentationSet) -> tuple[str, ...]:
    """Return the columns of the table; `log_likelihood` is that of an example's labels, in nats, scores and errors are in percent.

    `impossible` counts examples of all groups, in the mean over orders.
    """
    return (
        "system", "weights", "order", "choice", *data.groups, "mean", "sd_folds", "sd_orders", *SCORES, "impossible", "clauses",
        "chosen", "seconds", "memory_mb", "note",
    )  # fmt: skip


def summarise(plan: Plan, done: Mapping[Line, Sequence[Done]], paper: Mapping[str, Row]) -> list[Row]:
    """Return the table: for each system the paper's row, if there is one, and ours."""
    rows: list[Row] = []
    for system in plan.systems:
        if system in paper:
            rows.append({"system": system, "weights": "paper", **paper[system]})
        for line, runs in done.items():
            if line.system == system and runs:
                rows.append(_row(plan, line, runs))
    return [{column: row.get(column) for column in columns(plan.data)} for row in rows]


def _row(plan: Plan, line: Line, runs: Sequence[Done]) -> Row:
    """Return the means over groups and orders of a row; those of a group are over its orders."""
    own = line.weights == plan.data.own
    head: dict[str, object] = {
        "system": line.system,
        "weights": line.weights,
        "order": f"{len(plan.seeds)} seeded" if line.seeded else "file",
        "choice": None if own else "LEAKY" if line.leaky else "held out",
        "note": _note(runs),
    }
    tested = [(run, run.job, run.result) for run in runs if run.job is not None and run.result is not None]
    if not tested:
        return head
    groups = [group for group in plan.data.groups if any(run.test == group for run, _, _ in tested)]

    def over_groups(name: str) -> list[float]:
        """Return the mean of each group in which all runs have the number."""
        values = ([getattr(result.value, name) for run, _, result in tested if run.test == group] for group in groups)
        return [mean_and_deviation(each).mean for each in values if None not in each]

    f1 = dict(zip(groups, over_groups("f1"), strict=True))
    seeds = list(dict.fromkeys(job.found.seed for _, job, _ in tested))
    orders = [mean_and_deviation([r.value.f1 for _, j, r in tested if j.found.seed == seed]).mean for seed in seeds]
    spread = mean_and_deviation(list(f1.values()))
    means = {name: over_groups(name) for name in SCORES}
    impossible = over_groups("impossible")
    seconds = [s for run, _, result in tested if (s := _seconds(run, result.value)) is not None]
    clauses = [c for run, _, result in tested if (c := _clauses(run, result.value)) is not None]
    values = {run.test: job.value for run, job, _ in tested}
    return head | {
        **{group: round(value, 2) for group, value in f1.items()},
        "mean": round(spread.mean, 2),
        "sd_folds": round(spread.deviation, 2) if len(groups) > 1 else None,
        "sd_orders": round(mean_and_deviation(orders).deviation, 2) if len(orders) > 1 else None,
        **{name: round(mean_and_deviation(x).mean, 3) for name, x in means.items() if len(x) == len(groups)},
        "impossible": round(sum(impossible)) if len(impossible) == len(groups) else None,
        "clauses": round(mean_and_deviation(clauses).mean) if clauses else None,
        "chosen": None if own else ", ".join(f"{values[group]:g}" for group in groups),
        "seconds": round(mean_and_deviation(seconds).mean, 1) if seconds else None,
        "memory_mb": round(max(_memory(run, result) for run, _, result in tested)),
    }


def _note(runs: Sequence[Done]) -> str | None:
    """Return why numbers are missing: distinct reasons, each with the groups that it is of."""
    reasons: dict[str, list[str]] = {}
    for run in runs:
        why = run.refused or (run.result.value.refused if run.result is not None else None)
        if why is not None:
            reasons.setdefault(why, []).append(run.test)
    return "; ".join(f"{', '.join(dict.fromkeys(tests))}: {why}" for why, tests in reasons.items()) or None


def _seconds(run: Done, outcome: Outcome) -> float | None:
    """Return what the fit took, for own weights that which found them."""
    return (
        outcome.seconds if outcome.seconds is not None else run.found.value.seconds if run.found is not None else None
    )


def _memory(run: Done, result: Measured[Outcome]) -> float:
    """Return the memory of the fit and the test, for own weights of that which found them, too."""
    finding = run.found.memory_mb if run.found is not None and result.value.seconds is None else 0.0
    return max(result.memory_mb, finding)


def _clauses(run: Done, outcome: Outcome) -> int | None:
    return (
        outcome.clauses if outcome.clauses is not None else run.found.value.clauses if run.found is not None else None
    )


# ---- the whole -----------------------------------------------------------------------------------------

SO_FAR, ONLY_FIND, NO_ORDERS, NO_LEAKY = "so-far", "only-find", "no-orders", "no-leaky"


def more_options(data: SegmentationSet, *, seeded: bool) -> dict[str, str]:
    """Return the options without a value of a script that learns again."""
    found = {SO_FAR: "run nothing: the table of what is done"}
    if seeded:
        found[NO_ORDERS] = "only the order of the file, no seeded orders"
    if any(found_by(system) for system in data.systems):
        found[ONLY_FIND] = "only find clauses, and keep them"
        found[NO_LEAKY] = "no rows of the leaky choice"
    return found


def make_plan(data: SegmentationSet, options: Options, *, seeded: bool, modes: str = "") -> Plan:
    """Return what the options ask for."""
    quick, asked = options.quick, options.chosen.get("system")
    # Each job is a process, so that a slice has few: all kinds of weights only where one is asked for.
    weights = (data.own, *(WEIGHTS if "weights" in options.chosen or not quick else QUICK_WEIGHTS))
    return Plan(
        data,
        (asked,) if asked is not None else data.quick if quick else data.systems,
        tuple(name for name in weights if options.chosen.get("weights", name) == name),
        tuple(group for group in data.groups if options.fold in (None, group))[: 1 if quick else None],
        modes,
        tuple(range(options.seed, options.seed + ORDERS))
        if seeded and not quick and NO_ORDERS not in options.more
        else (),
        data.each if quick else None,
        QUICK if quick else WEIGHTS,
        {} if quick else FURTHER,
        NO_LEAKY not in options.more,
    )


def experiment(plan: Plan, options: Options, paper: Mapping[str, Row], *, script: str, title: str) -> None:
    """Run all jobs and publish the table; with `--db` each job and each model is kept, and what is done is not done again."""
    with tempfile.TemporaryDirectory() as folder:
        path = options.db or Path(folder, "jobs.duckdb")
        models = path.with_name(path.name + ".models")
        models.mkdir(exist_ok=True)
        table = JobTable(path, RESULTS)
        if table.stale():
            options.console().message(
                f"{counted(table.stale(), 'job')} in {path} were done by other code: delete their rows of experiment.job to do them again"
            )
        only_find = ONLY_FIND in options.more
        done = results_of(plan, worker(options, table, models, plan.most_jobs()), only_find=only_find)
        options.console().message(f"{counted(len(table), 'job')} done in {table.seconds:,.0f} s")
    if only_find:
        return
    details: list[Row] = [
        {"system": line.system, "weights": line.weights, "leaky": line.leaky, "seed": run.job.found.seed, "fold": run.test,
         "value": run.job.value, **asdict(run.result.value), "memory_mb": run.result.memory_mb}
        for line, runs in done.items() for run in runs if run.job is not None and run.result is not None
    ]  # fmt: skip
    shown = title + (" (quick: a slice, one fold)" if options.quick else "")
    if SO_FAR in options.more:
        shown += f"; so far: {len(details)} of {sum(len(plan.tests) * (len(plan.seeds) if x.seeded else 1) for x in plan.lines())} tests"
    parameters = {
        "values": dict(plan.values),
        "further": dict(plan.further),
        "modes": plan.modes,
        "partners": partners(plan.data.groups),
        "seeds": plan.seeds,
    }
    publish(script, summarise(plan, done, paper), options, title=shown, parameters=parameters, details=details)
