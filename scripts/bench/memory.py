"""The peak memory of whole processes over their limits: models just small enough not to be refused, and one that is refused.

Each is a fresh process, imports included, that loads its data into memory, and predicts or learns; `ratio` is its peak over the limit, which
should stay under 1.15. What is refused has the error's class as its outcome.

    python scripts/bench/memory.py [--limits 1,2,4] [--shapes chain,cut,...] [--share .95] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from string import Template

import numpy as np
import pyarrow as pa

import sqlrl
from sqlrl.engine.memory import Memory
from sqlrl.ground.memory import ENTRY_BYTES, SINGLE_BYTES

GB = 10**9


def query(text: str, n: int) -> str:
    """Return a query with n in place of $n."""
    return Template(text).substitute(n=n)


def people(db: sqlrl.Database, n: int) -> None:
    """Load every third of n people into P."""
    db.load("P", query("select 'c' || range from range(0, $n, 3)", n), types=("t",))


def chain(db: sqlrl.Database, n: int) -> str:
    """A chain of n atoms: trees, by elimination."""
    db.load("N", query("select 'c' || range, 'c' || (range + 1) from range($n)", n), types=("t", "t"))
    people(db, n)
    return "N(t, t)\nP(t)\nQ(t)\n0.5 N(x, y) ^ Q(x) => Q(y)\n1 P(x) => Q(x)\n-0.2 Q(x)"


def cut(db: sqlrl.Database, n: int) -> str:
    """Three random neighbours of each of n atoms: a minimum cut."""
    near = query("select 'c' || i, 'c' || ((i * 7919 + k * k * 104729 + k) % $n) from range($n) t(i), range(3) u(k)", n)
    db.load("N", near, types=("t", "t"))
    people(db, n)
    return "N(t, t)\nP(t)\nQ(t)\n0.5 N(x, y) ^ Q(x) => Q(y)\n1 P(x) => Q(x)\n-0.7 Q(x)"


def fan(db: sqlrl.Database, n: int) -> str:
    """About n ground clauses over few atoms."""
    m = max(int(n**0.5), 2)
    pairs = query("select 'c' || i, 'c' || j from range($n) t(i), range($n) u(j) where i <> j", m)
    db.load("N", pairs, types=("t", "t"))
    people(db, m)
    return "N(t, t)\nP(t)\nQ(t)\n0.5 N(x, y) ^ Q(x) => Q(y)\n1 P(x) => Q(x)\n-0.7 Q(x)"


def units(db: sqlrl.Database, n: int) -> str:
    """Atoms that stand alone."""
    db.load("P", query("select 'c' || range from range($n)", n), types=("t",))
    return "P(t)\nQ(t)\n0.5 P(x) => Q(x)\n-0.7 Q(x)"


def blocks(db: sqlrl.Database, n: int) -> str:
    """Blocks of four atoms."""
    db.load("W", query("select 'c' || range, 'w' || (range % 50) from range($n)", n), types=("t", "w"))
    rules = (f'{(i % 7) / 7 - 0.3:.2f} W(x, "w{i}") => Q(x, {"ABCD"[i % 4]})' for i in range(50))
    return "f = {A, B, C, D}\nW(t, w)\nQ(t, f!)\n" + "\n".join(rules)


def windows(db: sqlrl.Database, n: int) -> str:
    """Chains of ten atoms, each an example, which are predicted in windows."""
    rows = query(
        "select 'c' || range as a, 'c' || (range + 1) as b, 'e' || (range // 10) as e from range($n) where range % 10 < 9",
        n,
    )
    db.load("N", rows, types=("t", "t", "e"), example="e")
    return "N(t, t, e)\nQ(t, e)\n0.5 N(x, y, e) ^ Q(x, e) => Q(y, e)\n-0.2 Q(x, e)"


def soft(db: sqlrl.Database, n: int) -> str:
    """Atoms with soft truths that stand alone, as a program of probabilistic soft logic."""
    for name, target in (("P", False), ("Q", True)):
        values = query("select 'c' || range, (range % 7) / 7.0 from range($n)", n)
        db.load(name, values, columns=[0], value=1, types=("t",), target=target)
    return "1: P(A) -> Q(A) ^2\n1: !Q(A) ^2"


ENTITIES = 14_541
"""Of the graph of `structure`, as in a public graph of that many entities, which has 87,000 triples of 11 relations."""


def structure(db: sqlrl.Database, n: int) -> str:
    """A graph with hubs: n labelled facts of one relation, and 57,000 of ten others between 14,541 entities."""
    random = np.random.default_rng(0)
    share = 1 / np.arange(1, ENTITIES + 1) ** 0.7
    for i, size in enumerate([n, *[5_700] * 10]):
        ends = random.choice(ENTITIES, (2 * size, 2), p=share / share.sum())
        code = random.permutation(np.unique(ends[:, 0] * ENTITIES + ends[:, 1]))[:size]
        rows = {"a": [f"e{x}" for x in code // ENTITIES], "b": [f"e{x}" for x in code % ENTITIES]}
        if i:
            db.load(f"R{i}", pa.table(rows), types=("e", "e"))
            continue
        labelled = pa.table({**rows, "v": (np.arange(len(code)) % 2).astype(float)})
        db.load("T", labelled, columns=[0, 1], types=("e", "e"), value=2, target=True)
        db.scope("T", labelled.select(["a", "b"]))
    return ""


SHAPES: dict[str, tuple[Callable[[sqlrl.Database, int], str], float, int]] = {
    "chain": (chain, 13 / 3, ENTRY_BYTES),
    "cut": (cut, 25 / 3, ENTRY_BYTES),
    "fan": (fan, 2.01, ENTRY_BYTES),
    "units": (units, 3, SINGLE_BYTES),
    "blocks": (blocks, 5, ENTRY_BYTES),
    "windows": (windows, 5, ENTRY_BYTES),
    "pscg": (chain, 13 / 3, ENTRY_BYTES),
    "marginals": (chain, 13 / 3, ENTRY_BYTES),
    "refused": (cut, 25 / 6, ENTRY_BYTES),
    "likelihood": (units, 3, ENTRY_BYTES),
    "soft": (soft, 20 / 7, ENTRY_BYTES),
    "structure": (structure, 0, ENTRY_BYTES),
}
"""Each with the atoms and literals for one of its n (0 where n is 30,000), and the bytes that are expected of each."""


def one(shape: str, limit: int, n: int) -> None:
    """Do one job and print what it took, as JSON."""
    begun, outcome = time.perf_counter(), "done"
    with sqlrl.connect(memory_limit=f"{limit}GB", threads=2, progress=False) as db:
        text = SHAPES[shape][0](db, n) + "\n"
        try:
            if shape == "structure":
                sqlrl.SoftStructure(length=3, steps=3).fit(db, "T", missing="false")
            elif shape == "soft":
                sqlrl.SoftPseudoLikelihood().fit(db, sqlrl.parse_psl(text))
            else:
                work(db, shape, sqlrl.parse_mln(text, query=["Q"]), n)
        except sqlrl.SqlrlError as error:
            outcome = type(error).__name__
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    print(json.dumps({"peak": peak, "outcome": outcome, "seconds": round(time.perf_counter() - begun, 1)}))


def work(db: sqlrl.Database, shape: str, model: sqlrl.Model, n: int) -> None:
    """Predict, or learn, with a Markov logic network."""
    if shape in ("pscg", "likelihood"):
        labels = query("select 'c' || range from range(0, $n, 2)", n)
        db.load("Q", labels, types=("t",), target=True)
        learner = sqlrl.PSCG(max_iterations=3) if shape == "pscg" else sqlrl.Likelihood(max_iterations=50)
        learner.fit(db, model)
    elif shape == "marginals":
        db.probabilities(model, samples=20, burn_in=5, chains=2)
    else:
        db.predict(model, method="full")


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--limits", default="1,2,4", help="in GB")
    parser.add_argument("--shapes", default=",".join(SHAPES))
    parser.add_argument("--share", type=float, default=0.95, help="of the atoms and literals that are allowed")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--one", nargs=3, metavar=("SHAPE", "LIMIT", "N"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one is not None:
        one(options.one[0], int(options.one[1]), int(options.one[2]))
        return
    rows = []
    for limit in map(int, options.limits.split(",")):
        for shape in options.shapes.split(","):
            _, each, size = SHAPES[shape]
            n = int(options.share * Memory(limit * GB).arrays / size / each) if each else 30_000
            command = [sys.executable, __file__, "--one", shape, str(limit), str(n)]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                print(done.stderr, file=sys.stderr)
                continue
            found = json.loads(done.stdout.splitlines()[-1])
            ratio = found["peak"] / (limit * GB)
            row = {
                "limit_gb": limit,
                "shape": shape,
                "n": n,
                "peak_mb": found["peak"] // 10**6,
                "ratio": round(ratio, 2),
            }
            rows.append({**row, "outcome": found["outcome"], "seconds": found["seconds"]})
            print("  ".join(f"{name} {value}" for name, value in rows[-1].items()), flush=True)
    if options.json is not None:
        options.json.write_text(json.dumps(rows, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
