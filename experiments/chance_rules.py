"""How many rules that ILP finds are chance: three rules are planted in the labels of 2,000 customers, or the labels are shuffled.

Customers have a region, a segment, a plan, an agent, a device, a month of signing up and one of the last visit, and orders of items that were shipped in some way. Three
conditions make a customer leave seven times in ten, all others leave once in ten. A rule that covers the same customers as a condition is that one, every other rule is
counted as one by chance. With shuffled labels all are.

    python experiments/chance_rules.py [--setting NAME] [--quick] [--seed N] [--processes N] [--db FILE] [--json FILE]

`--quick` takes two seeds.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from harness import Measured, Options, Row, publish, read_options, run_jobs

import sqlrl
from sqlrl.errors import LittleFoundWarning, NothingFoundWarning

CUSTOMERS = 2000
SEEDS, QUICK_SEEDS = 100, 2
BASE, LEAVING = 0.1, 0.7
"""How often customers leave of whom no condition holds, and others."""

FEW: Mapping[str, object] = {"clause_length": 4, "nodes": 500}
"""Parameters of commands that search around every positive atom, which takes long otherwise."""

SETTINGS: Mapping[str, Mapping[str, object]] = {
    "rank": {"command": "rank"},
    "rank, as before": {"command": "rank", "significance": 1.0},
    "induce_cover": {"command": "induce_cover", **FEW},
    "induce_cover, as before": {"command": "induce_cover", "significance": 1.0, **FEW},
    "induce": {"command": "induce", **FEW},
    "induce_max": {"command": "induce_max", **FEW},
}


@dataclass(frozen=True, slots=True)
class Customers:
    """Facts by predicate, the customers for which each planted condition holds, and those who leave."""

    facts: Mapping[str, Sequence[tuple[str, ...]]]
    planted: Sequence[frozenset[str]]
    leaving: Sequence[str]


TYPES: Mapping[str, Sequence[str]] = {
    "Region": ("customer", "region"),
    "Segment": ("customer", "segment"),
    "Plan": ("customer", "plan"),
    "Agent": ("customer", "agent"),
    "Device": ("customer", "device"),
    "SignedUp": ("customer", "month"),
    "LastVisit": ("customer", "month"),
    "Ordered": ("customer", "order"),
    "Item": ("order", "item"),
    "Shipped": ("order", "shipping"),
    "Leaves": ("customer",),
}


def customers(seed: int, *, shuffled: bool, count: int = CUSTOMERS) -> Customers:
    """Draw customers, of whom some leave for a reason, or, `shuffled`, as many for none."""
    draw = np.random.default_rng(seed)
    names = [f"c{k:05}" for k in range(count)]
    choices = {
        "Region": ["north", "south", "east", "west", "centre"],
        "Segment": ["trial", "retail", "trade", "school"],
        "Plan": ["basic", "plus", "pro"],
        "Agent": [f"a{k:02}" for k in range(15)],
        "Device": ["phone", "tablet", "laptop"],
        "SignedUp": [f"month{k:02}" for k in range(36)],
        "LastVisit": [f"month{k:02}" for k in range(24, 36)],
    }
    of = {name: draw.choice(values, size=count) for name, values in choices.items()}
    facts: dict[str, list[tuple[str, ...]]] = {
        name: list(zip(names, values.tolist(), strict=True)) for name, values in of.items()
    }
    facts |= {"Ordered": [], "Item": [], "Shipped": []}
    slow = np.zeros(count, dtype=bool)
    for k, orders in enumerate(draw.integers(0, 4, size=count).tolist()):
        for n in range(orders):
            order, how = f"o{k:05}_{n}", str(draw.choice(["slow", "fast", "express", "pickup"]))
            facts["Ordered"].append((names[k], order))
            facts["Shipped"].append((order, how))
            facts["Item"].append((order, f"item{int(draw.integers(60)):02}"))
            slow[k] |= how == "slow"
    conditions = [
        (of["Region"] == "north") & (of["Plan"] == "basic"),
        slow & (of["Segment"] == "trial"),
        of["Agent"] == "a07",
    ]
    leaves = draw.random(count) < np.where(np.logical_or.reduce(conditions), LEAVING, BASE)
    if shuffled:
        leaves = draw.permutation(leaves)
    planted = [frozenset(np.array(names)[found].tolist()) for found in conditions]
    return Customers(facts, planted, np.array(names)[leaves].tolist())


def connected(data: Customers) -> sqlrl.Database:
    """Load customers."""
    db = sqlrl.connect()
    for name, rows in data.facts.items():
        db.load(name, rows, types=TYPES[name])
    db.load("Leaves", [(name,) for name in data.leaving], types=TYPES["Leaves"], target=True)
    return db


@dataclass(frozen=True, slots=True)
class Found:
    """Which planted rules the theory has, how many others, and how many clauses were tested."""

    planted: tuple[bool, ...]
    others: int
    tested: int
    lost: float  # the least p-value of a clause that was left out; 1 if there is none


def find(setting: str, seed: int, shuffled: bool) -> Found:
    """Find rules in one drawing of customers."""
    data = customers(seed, shuffled=shuffled)
    db = connected(data)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NothingFoundWarning)
        warnings.simplefilter("ignore", LittleFoundWarning)
        sqlrl.ILP(**SETTINGS[setting]).fit(db, "Leaves")  # type: ignore[arg-type]
    rows = db.sql(
        "select c.candidate, list(n.name) from sqlrl.candidate c join sqlrl.coverage v using (run, candidate) "
        "join sqlrl.atom_Leaves a on a.atom = v.atom join sqlrl.dictionary_customer n on n.id = a.a0 where c.in_theory group by all"
    ).fetchall()
    covers = [frozenset(names) for _, names in rows]
    lost = [
        p
        for (p,) in db.sql(
            "select p_value from sqlrl.found_clauses where not in_theory and p_value is not null"
        ).fetchall()
    ]
    tested = db.sql("select count(p_value) from sqlrl.found_clauses").fetchall()[0][0]
    return Found(
        tuple(planted in covers for planted in data.planted), sum(cover not in data.planted for cover in covers), tested,
        min([1.0, *lost]),
    )  # fmt: skip


def summarise(jobs: Sequence[tuple[str, int, bool]], results: Sequence[Measured[Found]]) -> list[Row]:
    """Return a row for each setting and kind of labels."""
    rows: list[Row] = []
    for setting, shuffled in dict.fromkeys((setting, shuffled) for setting, _, shuffled in jobs):
        some = [r for job, r in zip(jobs, results, strict=True) if (job[0], job[2]) == (setting, shuffled)]
        kept = np.array([r.value.planted for r in some])
        others = np.array([r.value.others for r in some])
        rows.append(
            {
                "setting": setting,
                "labels": "shuffled" if shuffled else "planted",
                "runs": len(some),
                **{
                    f"runs_with_rule_{k + 1}": None if shuffled else int(kept[:, k].sum()) for k in range(kept.shape[1])
                },
                "runs_with_all": None if shuffled else int(kept.all(axis=1).sum()),
                "runs_with_others": int((others > 0).sum()),
                "others_in_a_run": round(float(others.mean()), 2),
                "seconds": round(float(np.mean([r.seconds for r in some])), 2),
            }
        )
    return rows


def main() -> None:
    """Run the experiment."""
    options: Options = read_options("Rules of ILP that are chance.", needs=None, choices={"setting": list(SETTINGS)})
    seeds = range(options.seed, options.seed + (QUICK_SEEDS if options.quick else SEEDS))
    settings = [options.chosen["setting"]] if "setting" in options.chosen else list(SETTINGS)
    if options.quick and "setting" not in options.chosen:
        settings = settings[:2]
    jobs = [(setting, seed, shuffled) for setting in settings for shuffled in (False, True) for seed in seeds]
    results = run_jobs(find, jobs, options.console(), "searches", options.processes, journal=options.journal)
    rows = summarise(jobs, results)
    title = "Rules by chance" + (" (quick: two seeds)" if options.quick else "")
    details: list[Row] = [
        {"setting": job[0], "seed": job[1], "shuffled": job[2], "planted": sum(r.value.planted), "others": r.value.others, "tested": r.value.tested}
        for job, r in zip(jobs, results, strict=True)
    ]  # fmt: skip
    publish("chance_rules", rows, options, title=title, parameters={"customers": CUSTOMERS}, details=details)


if __name__ == "__main__":
    main()
