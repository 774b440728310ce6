"""resolwe on a stream whose rules change half-way: what ended is dropped and what began is found, and nothing is where nothing changes.

Mihalkova and Moustafa, "Structure Selection from Streaming Relational Data" (resolwe), section 6, leaves drift to future work ("interleave steps 2 and 3
... and use a decaying average of the statistics"), so there is no row of the paper. `sqlrl.Resolwe(half_life=)` is compared with itself without a
half-life, on the whole stream and on the second half alone, with the same templates, learner and number of subgraphs that choose.

The stream is that of `drift_stream`: 1,200 subgraphs; of the six planted rules, n = 1 and n = 2, two always hold, two end half-way, and two begin then.
Asked for are: what ended is dropped and what began is kept within a tenth of the stream after the half-way point; in streams without a
change no rule comes or goes after the first choice; and on held-out subgraphs of the second kind the mean AUC is within .01 of that of the model
of the second half alone.

    python experiments/drift.py [--system NAME] [--quick] [--processes N] [--seed N] [--db FILE] [--json FILE] [--data DIR]
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, TypedDict

import drift_stream
from drift_stream import DECLARED, PLANTED, Facts, Kind, Stream, grammar
from harness import Measured, Options, Row, publish, read_options, run_jobs

import sqlrl
from sqlrl.evaluate import mean_and_deviation

DRIFTING, STATIONARY, ALONE, WHOLE = "half-life", "stationary", "second half", "no half-life"
SYSTEMS = (DRIFTING, STATIONARY, ALONE, WHOLE)
"""With a half-life on the stream that changes, and on one that does not; without one on the second half alone, and on the whole stream."""

SEEDS = 10


class Sizes(TypedDict):
    """How many subgraphs a stream has, how many choose before weights are learned, and how many are held out."""

    posts: int
    select: int
    held_out: int


FULL: Sizes = {"posts": 1200, "select": 200, "held_out": 150}
QUICK: Sizes = {"posts": 320, "select": 80, "held_out": 60}
"""A tenth of a stream as short as this is less than a window, and hardly a half-life: it shows that all runs, not that all is found in time."""

WINDOW = 40
"""What is counted together; a tenth of the stream has three, so that a delay is known to a third of what is allowed. Each costs about as much as
another, however many subgraphs it has."""
HALF_LIFE = 30.0
"""About 130 groundings of each planted rule are left to judge by. When a rule that held a third of the time begins to hold with .9, the lower end of its
interval is above the threshold after two half-lives, and a tenth of the stream has four."""
THRESHOLD = 0.7
"""About half-way between the chance of planted rules, .9, and what holds most often besides: at most .55 of the time, but for one that a decoy copies, .61."""
MIN_SUPPORT = 20
"""Far below what planted rules have: the interval guards small counts."""
TENTH = 0.1
WITHIN = 0.01
"""How far AUC may be below that of the model of the second half alone."""

Event = Mapping[str, Any]
"""A row of `sqlrl.rule_log`."""


@dataclass(frozen=True, slots=True)
class Job:
    """One training and test."""

    system: str
    seed: int
    sizes: Sizes


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one training and test gave.

    `events` is the log of rules that came and went; `kept` are the formulas of the model in the end; `auc` is the mean over held-out subgraphs of the
    second kind, which say nothing of a stream that does not change; `seconds` are those of learning.
    """

    events: list[Event]
    kept: list[str]
    auc: float | None
    seconds: float


def estimator(system: str, seed: int, select: int) -> sqlrl.Resolwe:
    """Return the learner of a row; all but the half-life is the same in all, and the learner of weights is the one by default."""
    return sqlrl.Resolwe(
        sqlrl.parse_grammar(grammar()),
        threshold=THRESHOLD,
        min_support=MIN_SUPPORT,
        select=select,
        half_life=HALF_LIFE if system in (DRIFTING, STATIONARY) else None,
        random_state=seed,
    )


def stream_of(job: Job) -> Stream:
    """Return the stream of a job, of which the second half alone is a part."""
    return Stream(job.seed, job.sizes["posts"], WINDOW, changes=job.system != STATIONARY)


def run(job: Job) -> Outcome:
    """Learn from the stream, whose windows are there once, and rank the readers of held-out subgraphs."""
    stream = stream_of(job)
    windows = stream.windows(stream.half if job.system == ALONE else 0)
    start = time.perf_counter()
    fit = estimator(job.system, job.seed, job.sizes["select"]).fit(
        sqlrl.connect(), sqlrl.parse_mln(DECLARED), examples=sqlrl.SubgraphTables(windows)
    )
    seconds = time.perf_counter() - start
    rows = fit.formulations_.to_arrow().to_pylist()
    check_planted({row["formula"] for row in rows})
    kept = [row["formula"] for row in rows if row["kept"]]
    scored = None if job.system == STATIONARY else auc(fit.model_, stream.held_out(job.sizes["held_out"]))
    return Outcome(fit.rule_log_.to_arrow().to_pylist(), kept, scored, seconds)


def check_planted(formulas: set[str]) -> None:
    """Refuse a planted rule that no candidate says: its delay would be that of a rule which is never found."""
    for rule in PLANTED:
        if rule.formula not in formulas:
            raise ValueError(f"no candidate of the templates is {rule.formula}, which is planted")


def auc(model: sqlrl.Model, facts: Facts) -> float:
    """Return the mean over subgraphs of the chance that one who shares is ranked above one who does not."""
    db = sqlrl.connect()
    labels = facts["Shares"]
    for name, types in (("Is", ["reader", "trait"]), ("Sees", ["reader", "reader", "tie"])):
        db.load(name, facts[name], types=types, example="example")
    true = labels.filter(labels["truth"]).drop_columns(["truth"])
    db.load("Shares", true, types=["reader"], target=True, example="example")
    db.scope("Shares", labels.drop_columns(["truth"]))
    return db.evaluate(db.probabilities(model)).by_example().mean_auc


# ---- what a log says -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Followed:
    """What the log of a stream that changes says; delays are in subgraphs after the change, None of what is not so in the end.

    `chosen` is how many of the four planted rules of the first kind the first choice has; `dropped` the delay of the last that ended, `first_kept` and
    `all_kept` that of the first and of the last that began; `others` how often else a rule came or went after the first choice.
    """

    chosen: int
    dropped: float | None
    first_kept: float | None
    all_kept: float | None
    others: int


def followed(events: Sequence[Event], select: int, half: int) -> Followed:
    """Read the log of a stream of which so many subgraphs choose, and that changes after `half` of them."""
    ended, began = _planted("first", "second"), _planted("second", "first")
    start = [rule.formula for rule in PLANTED if "first" in rule.kinds]
    chosen = [event["formula"] for event in events if event["subgraphs"] <= select]
    went = [_settled(events, formula, "went", half) for formula in ended]
    came = [_settled(events, formula, "came", half) for formula in began]
    found = [delay for delay in came if delay is not None]
    return Followed(
        chosen=len(set(chosen).intersection(start)),
        dropped=_last(went),
        first_kept=min(found, default=None),
        all_kept=_last(came),
        others=after_first(events, select) - sum(bool(delay) for delay in (*went, *came)),
    )


def after_first(events: Sequence[Event], select: int) -> int:
    """Return how often a rule came or went after the first choice."""
    return sum(event["subgraphs"] > select for event in events)


def _planted(within: Kind, without: Kind) -> list[str]:
    return [rule.formula for rule in PLANTED if within in rule.kinds and without not in rule.kinds]


def _settled(events: Sequence[Event], formula: str, wanted: str, half: int) -> float | None:
    """Return how long after the change a rule came, or went, for good; 0 before it, None if it did not."""
    own = [event for event in events if event["formula"] == formula]
    if not own:
        return 0.0 if wanted == "went" else None
    return float(max(0, own[-1]["subgraphs"] - half)) if own[-1]["event"] == wanted else None


def _last(delays: Sequence[float | None]) -> float | None:
    known = [delay for delay in delays if delay is not None]
    return max(known) if len(known) == len(delays) else None


# ---- the table -------------------------------------------------------------------------------------------------------


def summarise(jobs: Sequence[Job], results: Sequence[Measured[Outcome]]) -> list[Row]:
    """Return a row for each measure of each system: the mean over streams, the deviation, the worst, and what is asked for of how many."""
    of = {(job.system, job.seed): result for job, result in zip(jobs, results, strict=True)}
    seeds = list(dict.fromkeys(job.seed for job in jobs))
    sizes = jobs[0].sizes
    rows: list[Row] = []
    for system in (x for x in SYSTEMS if any(job.system == x for job in jobs)):
        mine = {seed: of[system, seed].value for seed in seeds}
        if system == DRIFTING:
            rows += _delays(
                [followed(each.events, sizes["select"], sizes["posts"] // 2) for each in mine.values()], sizes["posts"]
            )
        if system == STATIONARY:
            changes = [after_first(each.events, sizes["select"]) for each in mine.values()]
            rows.append(_row(system, "rules that came or went after the first choice", changes, max, most=0))
        else:
            rows.append(_row(system, "mean AUC", [each.auc for each in mine.values()], min))
        if system in (DRIFTING, WHOLE) and (ALONE, seeds[0]) in of:
            pairs = [(mine[seed].auc, of[ALONE, seed].value.auc) for seed in seeds]
            differences = [None if x is None or y is None else x - y for x, y in pairs]
            rows.append(_row(system, "mean AUC above the second half alone", differences, min, least=-WITHIN))
        rows.append(_row(system, "rules in the end", [len(each.kept) for each in mine.values()], max))
        rows.append(_row(system, "seconds of learning", [each.seconds for each in mine.values()], max))
        rows.append(_row(system, "memory_mb", [of[system, seed].memory_mb for seed in seeds], max))
    return rows


def _delays(found: Sequence[Followed], posts: int) -> list[Row]:
    """Return the rows of how soon a change is found, and of what else the log has."""
    rows = [_row(DRIFTING, "planted rules of the first choice, of 4", [x.chosen for x in found], min, least=4)]
    for measure, delays in (
        ("subgraphs until the last old rule is dropped", [x.dropped for x in found]),
        ("subgraphs until the first new rule is kept", [x.first_kept for x in found]),
        ("subgraphs until all new rules are kept", [x.all_kept for x in found]),
    ):
        row = _row(DRIFTING, measure, delays, max, most=TENTH * posts)
        mean = row["mean"]
        rows.append({**row, "share": round(mean / posts, 4) if isinstance(mean, float) else None})
    return [*rows, _row(DRIFTING, "other times that a rule came or went", [x.others for x in found], max, most=0)]


def _row(
    system: str,
    measure: str,
    values: Sequence[float | None],
    worst: Callable[[Sequence[float]], float],
    *,
    least: float | None = None,
    most: float | None = None,
) -> dict[str, object]:
    """Return a row of values, of which None is worse than any; `met` is how many are as asked for."""
    known = [float(x) for x in values if x is not None]
    spread = mean_and_deviation(known) if known else None
    low, high = -math.inf if least is None else least, math.inf if most is None else most
    asked = least is not None or most is not None
    return {
        "system": system,
        "measure": measure,
        "streams": len(values),
        "mean": None if spread is None else round(spread.mean, 4),
        "sd": None if spread is None or len(known) < 2 else round(spread.deviation, 4),
        "worst": round(worst(known), 4) if len(known) == len(values) else None,
        "share": None,
        "asked": None if not asked else least if most is None else most,
        "met": sum(low <= x <= high for x in known) if asked else None,
    }


# ---- running ---------------------------------------------------------------------------------------------------------


def make_jobs(options: Options) -> list[Job]:
    """Return a job for each stream and system."""
    seeds = range(options.seed, options.seed + (1 if options.quick else SEEDS))
    sizes = QUICK if options.quick else FULL
    return [
        Job(system, seed, sizes)
        for seed in seeds
        for system in SYSTEMS
        if options.chosen.get("system", system) == system
    ]


def main() -> None:
    """Run the experiment."""
    options = read_options(
        "resolwe on a stream whose rules change half-way, which the paper leaves to future work.",
        choices={"system": SYSTEMS},
    )
    jobs = make_jobs(options)
    results = run_jobs(
        run, [(job,) for job in jobs], options.console(), "streams", options.processes, journal=options.journal
    )
    details: list[Row] = [
        {"system": job.system, "seed": job.seed, **asdict(result.value), "memory_mb": result.memory_mb}
        for job, result in zip(jobs, results, strict=True)
    ]
    sizes = jobs[0].sizes
    title = "resolwe on a stream whose rules change half-way (future work of the paper, so no row of it)"
    title += " (quick: one short stream)" if options.quick else ""
    parameters = {
        **sizes, "window": WINDOW, "half_life": HALF_LIFE, "threshold": THRESHOLD, "min_support": MIN_SUPPORT,
        "estimator": repr(estimator(DRIFTING, options.seed, sizes["select"])), "templates": grammar(),
        "planted": {rule.formula: rule.kinds for rule in PLANTED},
        "stream": {name: getattr(drift_stream, name) for name in ("CHANCE", "NOISE", "HAS", "READERS", "TIED", "COPIED")},
    }  # fmt: skip
    publish("drift", summarise(jobs, results), options, title=title, parameters=parameters, details=details)


if __name__ == "__main__":
    main()
