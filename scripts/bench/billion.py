"""A billion ground clauses in 10 GB: friends and smokers with 1e9 of them, and soft friendship with 1e8 hinges.

Friends and smokers: communities of a thousand people, each an example, with a hundred random friendships for each person (95 distinct ones), who share a
rate of smokers between .1 and .7; half of the smokers have cancer, and a tenth of the others. `Friends` and `Cancer` are evidence, `Smokes` is open for all:

    Smokes(c, x)
    Cancer(c, x) => Smokes(c, x)
    Friends(c, x, y) ^ Smokes(c, x) => Smokes(c, y)
    Friends(c, x, y) ^ Smokes(c, y) => Smokes(c, x)

The evidence leaves two ground clauses of each friendship open, of two literals, one of each person, and one of each person with cancer: about
191,000 of a community, 1e9 of 5,250. Their weights are learned from the labels by pseudo-likelihood, where one gradient takes all ground clauses, folded into
kinds of atoms; the most probable world is that of the weights that were learned, by minimum cuts, with its bound.

Soft friendship: 31 people in a place, each place an example, with a similarity for each ordered pair of them and friendship to be predicted: the four rules
of PSL's example make 29,760 hinges of a place, 1e8 of 3,361. Truth values come with the bound of their dual; weights are learned along the hinges of the most
probable state less those of the labels, so that one gradient, a step of learning, is a whole inference.

Data are written as Parquet, by a seed, and removed at the end, unless `--folder` keeps them. Each stage is a process of its own under `memory_limit`; what is
printed of memory is the peak of the whole process. All stages are run as they stand over all ground clauses, none is extrapolated. Stages that are
done are kept beside `--db`, so that a run that was stopped goes on.

    python scripts/bench/billion.py [--quick] [--size 1e7|1e8|1e9] [--seed N] [--folder DIR] [--db FILE] [--json FILE]
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from rounds import publish, read_options, run_jobs

import sqlrl

Row = dict[str, object]

LIMIT = "9GB"
"""Of the process, whose peak is to stay below 10 GB."""

SIZES = {"1e7": 1e7, "1e8": 1e8, "1e9": 1e9}
QUICK = 1e6
PEOPLE, FRIENDS, EACH = 1_000, 100, 191_000
"""People of a community, friendships drawn for each, and about how many open ground clauses that makes."""
CHUNK = 10
"""Communities written at a time: a group of rows of Parquet."""

RULES = """
Friends(community, member, member)
Cancer(community, member)
Smokes(community, member)
Smokes(c, x)
Cancer(c, x) => Smokes(c, x)
Friends(c, x, y) ^ Smokes(c, x) => Smokes(c, y)
Friends(c, x, y) ^ Smokes(c, y) => Smokes(c, x)
"""

PUBLISHED: Row = {
    "task": "tandem inference (PSL, AAAI 2020)",
    "stage": "inference",
    "ground": 10**9,
    "seconds": 9 * 3600.0,
    "memory_gb": 10.0,
    "proof": "no bound: more ground clauses than these, in less time and memory than these",
}


# ---- friends and smokers -------------------------------------------------------------------------------


def write_people(folder: Path, communities: int, seed: int) -> int:
    """Write the communities as Parquet, some at a time, in order; return how many ground clauses are open."""
    number, pair = pa.int32(), ("community", "member")
    schemas = {name: pa.schema([(column, number) for column in pair]) for name in ("cancer", "smokes")}
    schemas["friends"] = pa.schema([(column, number) for column in (*pair, "friend")])
    writers = {name: pq.ParquetWriter(folder / f"{name}.parquet", schema) for name, schema in schemas.items()}
    ground = 0
    for begin in range(0, communities, CHUNK):
        random, size = np.random.default_rng([seed, begin]), min(CHUNK, communities - begin)
        code = random.integers(0, PEOPLE**2, (size, FRIENDS * PEOPLE), dtype=np.int32)
        code.sort(axis=1)
        first, second = np.divmod(code, np.int32(PEOPLE))
        kept = first != second
        kept[:, 1:] &= code[:, 1:] != code[:, :-1]
        smokes = random.random((size, PEOPLE)) < random.uniform(0.1, 0.7, (size, 1))
        cancer = random.random((size, PEOPLE)) < np.where(smokes, 0.5, 0.1)
        community = np.broadcast_to(np.arange(begin, begin + size, dtype=np.int32)[:, None], code.shape)
        found = {"friends": [community[kept], first[kept], second[kept]]}
        for name, chosen in (("smokes", smokes), ("cancer", cancer)):
            row, member = np.nonzero(chosen)
            found[name] = [(row + begin).astype(np.int32), member.astype(np.int32)]
        for name, columns in found.items():
            writers[name].write_table(pa.table([pa.array(x) for x in columns], schema=schemas[name]))
        ground += 2 * int(kept.sum()) + int(cancer.sum()) + smokes.size
    for writer in writers.values():
        writer.close()
    return ground


def opened(folder: Path) -> sqlrl.Database:
    """Open the database of a folder under the limit of memory."""
    return sqlrl.connect(folder / "data.duckdb", memory_limit=LIMIT, progress=False)


def load_people(folder: Path) -> Row:
    """Load the files of the communities."""
    with opened(folder) as db:
        for name, places in (("Friends", 2), ("Cancer", 1), ("Smokes", 1)):
            db.load(
                name,
                str(folder / f"{name.lower()}.parquet"),
                types=("community",) + places * ("member",),
                example="community",
                target=name == "Smokes",
            )
    return {"disk_gb": round((folder / "data.duckdb").stat().st_size / 1e9, 2)}


def learn_people(folder: Path) -> Row:
    """Learn the weights, and keep the model in the folder."""
    with opened(folder) as db:
        fit = sqlrl.PseudoLikelihood(discriminative=True).fit(db, sqlrl.parse_mln(RULES))
        fit.model_.save(folder / "learned.mln")
        [found] = fit.predicates_.to_arrow().to_pylist()
        return {
            "atoms": found["atoms"],
            "kinds": found["rows"],
            "passes": fit.iterations_.num_rows,
            "counting_seconds": round(fit.seconds_["grounding"], 1),
            "gradients_seconds": round(fit.seconds_["learning"], 1),
            "objective": fit.log_likelihood_,
            "proof": f"no bound, a gradient of at most {fit.optimality_:.1g}",
        }


def predict_people(folder: Path) -> Row:
    """Predict who smokes."""
    with opened(folder) as db:
        found = db.predict(sqlrl.read_mln(folder / "learned.mln"), method="full")
        report = found.result.report
        return {
            "atoms": len(found.network_atoms.ids),
            "true": int(found.result.world.sum()),
            "ground_seconds": round(found.seconds["grounding"], 1),
            "objective": report.objective,
            "bound": report.objective + report.gap,
            "proof": f"{found.status.value}, gap {report.gap:.1g}",
        }


# ---- soft friendship -----------------------------------------------------------------------------------

MEMBERS = 31
"""People of a place."""
HINGES = MEMBERS * (MEMBERS - 1) * MEMBERS + MEMBERS**2
"""Those of a place beside one for each similarity above 0: of triples, of pairs of two people, and the prior of all pairs."""

EACH_PLACE = 30_690
"""About how many hinges a place makes."""

SOFT_RULES = """
1.0: Similar(L, A, B) -> Friends(L, A, B) ^2
1.0: Friends(L, A, B) & Friends(L, B, C) & (A != B) & (B != C) & (A != C) -> Friends(L, A, C) ^2
1.0: Friends(L, A, B) & (A != B) -> Friends(L, B, A) ^2
1.0: !Friends(L, A, B) ^2
"""


def write_places(folder: Path, places: int, seed: int) -> int:
    """Write similarities and friendships of the ordered pairs of each place, some places at a time; return how many hinges they make."""
    schema = pa.schema([("place", pa.int32()), ("a", pa.int32()), ("b", pa.int32()), ("value", pa.float64())])
    first, second = np.divmod(np.arange(MEMBERS**2, dtype=np.int32), np.int32(MEMBERS))
    hinges = places * HINGES
    with (
        pq.ParquetWriter(folder / "similar.parquet", schema) as similar,
        pq.ParquetWriter(folder / "friendship.parquet", schema) as friends,
    ):
        for begin in range(0, places, CHUNK):
            random, size = np.random.default_rng([seed, 1, begin]), min(CHUNK, places - begin)
            # Two circles in a place: those of one are alike, and mostly friends.
            circle = random.integers(0, 2, (size, MEMBERS))
            alike = circle[:, first] == circle[:, second]
            value = np.round(np.clip(np.where(alike, 0.7, 0.3) + 0.2 * random.normal(size=alike.shape), 0.0, 1.0), 4)
            friend = random.random(alike.shape) < np.where(alike, 0.85, 0.15)
            # Nobody is their own friend, which is known.
            value[:, first == second], friend[:, first == second] = 0.0, False
            place = np.repeat(np.arange(begin, begin + size, dtype=np.int32), len(first))
            columns = [place, np.tile(first, size), np.tile(second, size)]
            for writer, values in ((similar, value), (friends, friend.astype(np.float64))):
                writer.write_table(pa.table([pa.array(x) for x in (*columns, values.ravel())], schema=schema))
            hinges += int((value > 0).sum())
    return hinges


def load_places(folder: Path) -> Row:
    """Load the files of the places."""
    with opened(folder) as db:
        for name, file in (("Similar", "similar"), ("Friends", "friendship")):
            db.load(
                name,
                str(folder / f"{file}.parquet"),
                types=("place", "member", "member"),
                value="value",
                example="place",
                target=name == "Friends",
            )
    return {"disk_gb": round((folder / "data.duckdb").stat().st_size / 1e9, 2)}


def predict_places(folder: Path) -> Row:
    """Find truth values."""
    with opened(folder) as db:
        found = db.predict(sqlrl.parse_psl(SOFT_RULES))
        return {
            "atoms": len(found.network_atoms.ids),
            "ground_seconds": round(found.seconds["grounding"], 1),
            "objective": found.objective,
            "bound": found.bound,
            "proof": f"{found.status.value}, gap {found.objective - found.bound:.1g}",
            "passes": found.result.iterations,
        }


def learn_places(folder: Path) -> Row:
    """Take one step along the gradient."""
    with opened(folder) as db:
        fit = sqlrl.SoftMapLikelihood(max_iterations=1).fit(db, sqlrl.parse_psl(SOFT_RULES))
        return {
            "passes": fit.result_.iterations,
            "counting_seconds": round(fit.seconds_["grounding"], 1),
            "gradients_seconds": round(fit.seconds_["learning"], 1),
            "proof": "no bound",
        }


# ---- all of it -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Task:
    """What is run for one kind of network."""

    name: str
    write: Callable[[Path, int, int], int]  # returns how many ground clauses there are
    stages: Mapping[str, Callable[[Path], Row]]


TASKS = (
    Task(
        "friends and smokers",
        write_people,
        {"load": load_people, "weights": learn_people, "most probable world": predict_people},
    ),
    Task(
        "soft friendship",
        write_places,
        {"load": load_places, "truth values": predict_places, "one gradient": learn_places},
    ),
)


def run_stage(task: int, stage: str, folder: Path, examples: int, seed: int) -> Row:
    """Do a stage, in a process of its own; say what processors took."""
    begun = time.process_time()
    if stage == "write":
        found: Row = {"ground": TASKS[task].write(folder, examples, seed)}
    else:
        found = TASKS[task].stages[stage](folder)
    return {**found, "processor_seconds": round(time.process_time() - begun, 1)}


def main() -> None:
    """Print the table."""
    options = read_options(
        "A billion ground clauses in 10 GB.",
        needs=None,
        choices={"size": tuple(SIZES), "task": [task.name for task in TASKS]},
        files={"folder": "where data are written, and kept"},
    )
    clauses = QUICK if options.quick else SIZES[options.chosen.get("size", "1e9")]
    rows: list[Row] = []
    for number, task in enumerate(TASKS):
        if options.chosen.get("task", task.name) != task.name:
            continue
        # The soft network has a tenth of the ground clauses.
        examples = max(round(clauses / EACH if number == 0 else clauses / 10 / EACH_PLACE), 1)
        with ExitStack() as stack:
            folder = options.files.get("folder") or Path(stack.enter_context(tempfile.TemporaryDirectory()))
            here = folder / f"{task.write.__name__}-{examples}-{options.seed}"
            here.mkdir(parents=True, exist_ok=True)
            stages = ["write", *task.stages]
            jobs = [(number, stage, here, examples, options.seed) for stage in stages]
            done = run_jobs(run_stage, jobs, options.console(), task.name, journal=options.journal)
            ground = int(str(done[0].value["ground"]))
            for stage, measured in zip(stages, done, strict=True):
                rows.append(
                    {
                        "task": task.name,
                        "stage": stage,
                        "ground": ground,
                        "seconds": round(measured.seconds, 1),
                        "memory_gb": round(measured.memory_mb * 2**20 / 1e9, 2),
                        "microseconds_each": round(float(str(measured.value["processor_seconds"])) / ground * 1e6, 3),
                        **measured.value,
                    }
                )
    publish(
        "bench_billion", [*rows, PUBLISHED], options, title="a billion ground clauses", parameters={"clauses": clauses}
    )


if __name__ == "__main__":
    main()
