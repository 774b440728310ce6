"""What opening a database and loading a small table take in CPU seconds, beside DuckDB's own in the same run.

    python scripts/bench/start.py [--rounds 9] [--json F]

Calls are measured in this process, after one that imports what they need; a first call and the command line in processes of their own. Ours and
DuckDB's take turns, and a ratio is the median of the rounds' ratios. With PYTHONDONTWRITEBYTECODE processes may compile modules anew: unset it.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import duckdb

import sqlrl

ROWS = [(f"person{i % 20}", f"person{i}") for i in range(100)]
LIBRARIES = "import duckdb, numpy, scipy.sparse, pyarrow, numba; duckdb.connect()"


def called(work: Callable[[], object]) -> float:
    """Return the CPU seconds of a call, all threads together."""
    start = time.process_time()
    work()
    return time.process_time() - start


def ran(*arguments: str) -> float:
    """Return the CPU seconds of a process of Python."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *arguments], check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def opening() -> tuple[float, float]:
    """Return what opening a database in memory takes, ours and DuckDB's."""
    theirs = called(lambda: duckdb.connect().close())
    return called(lambda: sqlrl.connect().close()), theirs


def loading() -> tuple[float, float]:
    """Return what loading a table of 100 rows takes, ours and DuckDB's."""

    def insert() -> None:
        connection.execute("CREATE TABLE knows (a VARCHAR, b VARCHAR)")
        connection.executemany("INSERT INTO knows VALUES (?, ?)", ROWS)

    with closing(duckdb.connect()) as connection, sqlrl.connect() as db:
        theirs = called(insert)
        return called(lambda: db.load("Knows", ROWS, types=["person", "person"])), theirs


def starting() -> tuple[float, float]:
    """Return what a process takes that opens a database, and one that imports the libraries under it."""
    theirs = ran("-c", LIBRARIES)
    return ran("-c", "import sqlrl; sqlrl.connect()"), theirs


def commanding(folder: Path) -> tuple[float, float]:
    """Return what `sqlrl load` of a small CSV file takes, and a process that does it with DuckDB."""
    csv, ours, theirs = folder / "knows.csv", folder / "ours.duckdb", folder / "theirs.duckdb"
    csv.write_text("a,b\n" + "".join(f"{a},{b}\n" for a, b in ROWS), encoding="utf-8")
    for file in (ours, theirs):
        file.unlink(missing_ok=True)
    statement = f"CREATE TABLE knows AS FROM read_csv('{csv}')"
    by_hand = ran("-c", f'import duckdb; duckdb.connect("{theirs}").execute("{statement}")')
    return ran("-m", "sqlrl", "load", str(ours), "Knows", str(csv), "--types", "person,person"), by_hand


def measured(rounds: int) -> Iterator[dict[str, object]]:
    """Yield a row for each thing that is measured, in CPU seconds: medians, the spread of ours, and the median of the ratios."""
    with tempfile.TemporaryDirectory() as folder:
        works: dict[str, Callable[[], tuple[float, float]]] = {
            "connect, imported": opening,
            "load 100 rows": loading,
            "connect, fresh process": starting,
            "sqlrl load of a CSV": lambda: commanding(Path(folder)),
            "sqlrl version": lambda: (ran("-m", "sqlrl", "version"), ran("-c", "import duckdb")),
        }
        for what, work in works.items():
            work()
            pairs = [work() for _ in range(rounds)]
            ours, theirs = ([pair[place] for pair in pairs] for place in (0, 1))
            yield {
                "what": what,
                "seconds": statistics.median(ours),
                "least": min(ours),
                "worst": max(ours),
                "duckdb_seconds": statistics.median(theirs),
                "ratio": statistics.median(a / b for a, b in pairs),
                "rounds": rounds,
            }


def main() -> int:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--rounds", type=int, default=9, metavar="N", help="measured after one that is not")
    parser.add_argument("--json", type=Path, metavar="F", help="write the rows there")
    options = parser.parse_args()
    if os.environ.get("PYTHONDONTWRITEBYTECODE"):
        print("PYTHONDONTWRITEBYTECODE is set: processes may compile modules anew")
    print(f"{'CPU ms':<24}{'ours':>8}{'least':>8}{'worst':>8}{'DuckDB':>8}{'ratio':>8}")
    rows = []
    for row in measured(options.rounds):
        rows.append(row)
        numbers = [float(str(row[name])) * 1000 for name in ("seconds", "least", "worst", "duckdb_seconds")]
        print(f"{row['what']:<24}" + "".join(f"{n:>8.1f}" for n in numbers) + f"{row['ratio']:>8.2f}", flush=True)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
