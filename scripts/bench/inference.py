"""Methods of inference side by side: seconds, objectives, bounds and memory, as ratios to the fastest in one run.

Chains of 35 x 3 and 119 x 11 with all transitions, a sparse random network of 30,000 atoms, a million ground clauses of
friends-smokers, and the program `tuffy/cse`. Each method runs in a process of its own, after a small problem that loads what
is compiled, with a deterministic limit for CP-SAT.

    python scripts/bench/inference.py [--data DIR] [--quick] [--seed N] [--db FILE] [--json FILE]
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
from rounds import peak_memory_mb, publish, read_options, run_jobs
from smokers import load as load_smokers

import sqlrl
from sqlrl.cli.inputs import fill_empty
from sqlrl.ground.network import Network
from sqlrl.solve.methods import Method
from sqlrl.solve.mpe import mpe
from sqlrl.solve.presolve import presolve
from sqlrl.solve.sample_networks import chains, network
from sqlrl.solve.weighted import weigh

LIMIT = 20.0
METHODS: tuple[Method, ...] = ("auto", "elimination", "cut", "lp", "cpsat", "walksat")

Problem = tuple[Network, np.ndarray]


def chain(length: int, states: int, seed: int) -> Problem:
    """Return one chain of blocks with all transitions and random weights."""
    made = chains(1, length=length, states=states, exact=True, words=length, seed=seed)
    return made, np.random.default_rng(seed).normal(size=len(made.clauses))


def sparse(atoms: int, seed: int) -> Problem:
    """Return clauses of one to three literals, three an atom, with weights of both signs."""
    random = np.random.default_rng(seed)
    ground = []
    for clause in range(3 * atoms):
        size = int(random.integers(1, 4))
        members = random.choice(atoms, size, replace=False) + 1
        ground.append((clause % 500, sorted((members * random.choice([-1, 1], size)).tolist(), key=abs)))
    return network(atoms, ground, clauses=500), random.normal(size=500)


def smokers(people: int, seed: int) -> Problem:
    """Return the network of friends-smokers."""
    db, model = load_smokers(people, seed)
    with db, db.advanced.program(model) as program:
        return db.advanced.ground(model), program.weights()


def load_cse(folder: Path) -> tuple[sqlrl.Database, sqlrl.Model]:
    """Return a database in memory with the evidence of the program tuffy/cse, and the program."""
    model = sqlrl.read_mln(folder / "prog.mln", query=["advisedBy"], learned=True)
    db = sqlrl.connect()
    db.load(sqlrl.Evidence(folder / "evidence.db", model, given=True, duplicates="drop", empty="allow"))
    loaded = {name for name, record in db.advanced.catalog.predicates().items() if record.rows or record.open}
    fill_empty(db, model, sorted(model.predicates.keys() - loaded - model.query))
    return db, model


def cse(folder: Path) -> Problem:
    """Return the network of the program tuffy/cse."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # constants of rules that the evidence does not mention
        db, model = load_cse(folder)
        with db, db.advanced.program(model) as program:
            return db.advanced.ground(model), program.weights()


def solve(make: Callable[..., Problem], arguments: tuple[object, ...], method: Method) -> dict[str, object]:
    """Ground, presolve and solve one problem by one method."""
    cycle = [(0, [-1, 2]), (0, [-2, 3]), (0, [1, -3]), (1, [1]), (1, [-2]), (2, [3])]
    mpe(network(3, cycle), [1.0, 1.5, 0.25], method=method)
    start = time.perf_counter()
    ground, weights = make(*arguments)
    grounded = time.perf_counter()
    _, left = presolve(weigh(ground, weights))
    row: dict[str, object] = {
        "atoms": len(ground.atoms),
        "rows": len(ground.row_clause),
        "method": method,
        "atoms_after_presolve": len(left.atoms),
        "grounding_seconds": round(grounded - start, 3),
    }
    start = time.perf_counter()
    try:
        result = mpe(ground, weights, method=method, deterministic_limit=LIMIT)
    except sqlrl.errors.SqlrlError as error:
        return row | {"status": str(error).split(":")[0][:60], "memory_mb": round(peak_memory_mb())}
    report = result.report
    fixing = sum(c.seconds for c in report.choices if c.method == "presolve")
    return row | {
        "status": report.status.value,
        "presolve_seconds": round(fixing, 3),
        "seconds": round(time.perf_counter() - start, 4),
        "objective": round(report.objective - report.constant, 4),
        "bound": round(report.bound - report.constant, 4),
        "gap": report.gap,
        "chosen": ", ".join(dict.fromkeys(c.method for c in report.choices)),
        "memory_mb": round(peak_memory_mb()),
    }


def main() -> None:
    """Print the table."""
    options = read_options("Methods of inference side by side.", needs="mln/tuffy/cse")
    size = 0.05 if options.quick else 1.0
    problems: dict[str, tuple[Callable[..., Problem], tuple[object, ...]]] = {
        "chain 35 x 3": (chain, (35, 3, options.seed)),
        "chain 119 x 11": (chain, (119, 11, options.seed)),
        "sparse random": (sparse, (int(30_000 * size), options.seed)),
        "friends-smokers": (smokers, (int(200_000 * size), options.seed)),
        "tuffy/cse": (cse, (options.data / "mln" / "tuffy" / "cse",)),
    }
    rows: list[dict[str, object]] = []
    for name, (make, arguments) in problems.items():
        jobs = [(make, arguments, method) for method in METHODS]
        found = [measured.value for measured in run_jobs(solve, jobs, options.console(), name)]
        fastest = min(float(str(row["seconds"])) for row in found if row["status"] == "optimal")
        for row in found:
            ratio = round(float(str(row["seconds"])) / fastest, 2) if "seconds" in row else None
            rows.append({"problem": name} | row | {"over_fastest": ratio})
    parameters = {"deterministic_limit": LIMIT, "size": size}
    publish("bench_inference", rows, options, title="inference", parameters=parameters, details=rows)


if __name__ == "__main__":
    main()
