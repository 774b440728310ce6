"""What loading facts takes in CPU seconds and memory, beside hand-written SQL that does the same, and CREATE TABLE AS, which does less.

The facts are pairs of names in a DuckDB table and in a Parquet file, once of few names and once of half as many as there are
facts, read with one thread and with two. Two hand-written scripts are the measure: one builds the
dictionary and joins (`encode`), the other also makes sure that no pair occurs twice (`encode + unique`), which loading
promises. `create` copies the texts into a table as they are. Ratios are medians of rounds in which all of them take turns.
Memory is the peak of a process of its own that loads the file, or copies it, into a database file.

    python scripts/bench/loading.py [--rows N] [--rounds N] [--quick] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import duckdb

from sqlrl.catalog.catalog import Catalog
from sqlrl.engine.connection import connect

DICTIONARY = """
CREATE OR REPLACE TABLE hand.dictionary AS
SELECT CAST(row_number() OVER (ORDER BY name) - 1 AS INTEGER) AS id, name
FROM (SELECT DISTINCT name FROM (SELECT a AS name FROM {source} UNION ALL SELECT b FROM {source}))
"""
ENCODE = """
CREATE OR REPLACE TABLE hand.encoded AS
SELECT x.id AS a0, y.id AS a1
FROM {source} JOIN hand.dictionary AS x ON x.name = a JOIN hand.dictionary AS y ON y.name = b
"""
CREATE = "CREATE OR REPLACE TABLE hand.texts AS FROM {source}"
UNIQUE = "SELECT count(*) FROM (SELECT a0, a1 FROM hand.encoded GROUP BY a0, a1 HAVING count(*) > 1)"
FACTS = """
CREATE TABLE pairs AS
SELECT DISTINCT 'person' || (hash(i) % {people}) AS a, 'person' || (hash(i + {rows}) % {people}) AS b
FROM range({rows}) AS t(i)
"""


ALONE = """
import {module} as library
from pathlib import Path
{work}
print([line.split()[1] for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM")][0])
"""
LOAD = """
with library.connect({file!r}, progress=False) as db:
    db.load("Knows", {parquet!r}, types=["person", "person"])
"""
COPY = """
library.connect({file!r}).execute("CREATE TABLE pairs AS FROM read_parquet('{parquet}')").close()
"""


def hand_written(connection: duckdb.DuckDBPyConnection, source: str, *statements: str) -> None:
    """Run statements that treat the pairs by hand."""
    for statement in statements:
        connection.execute(statement.format(source=source)).fetchall()


def seconds(work: Callable[[], object]) -> float:
    """Return the CPU seconds of a call, all threads together."""
    start = time.process_time()
    work()
    return time.process_time() - start


def peak(module: str, work: str, parquet: Path) -> float:
    """Return the peak memory in MB of a process that imports a module and works."""
    with tempfile.TemporaryDirectory() as folder:
        file = str(Path(folder, "made.duckdb"))
        script = ALONE.format(module=module, work=work.format(file=file, parquet=str(parquet)))
        done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    return int(done.stdout.split()[-1]) / 1024


def measure(source: str, facts: Path, rounds: int, threads: int) -> dict[str, object]:
    """Return the line of one kind of source.

    Parameters
    ----------
    source : {"table", "Parquet"}
    facts : Path
        A DuckDB file with the table `pairs`, beside which the same rows stand in a Parquet file.
    rounds : int
        After a warm-up.
    threads : int
    """
    connection = duckdb.connect(str(facts), config={"threads": threads})
    # Ours are in memory too, on a connection of the user's.
    connection.execute("ATTACH ':memory:' AS hand")
    parquet = facts.with_suffix(".parquet")
    table, loaded = ("pairs", "pairs") if source == "table" else (f"read_parquet('{parquet}')", parquet)
    catalog = Catalog(connect(connection))
    times: dict[str, list[float]] = {"ours": [], "create": [], "encode": [], "unique": []}
    for number in range(rounds + 1):
        load = partial(catalog.load, f"{source}{number}", loaded, types=[f"person{number}"] * 2)
        taken = {
            "ours": seconds(load),
            "create": seconds(partial(hand_written, connection, table, CREATE)),
            "encode": seconds(partial(hand_written, connection, table, DICTIONARY, ENCODE)),
            "unique": seconds(partial(hand_written, connection, table, DICTIONARY, ENCODE, UNIQUE)),
        }
        if number:
            for system, value in taken.items():
                times[system].append(value)
    sizes = "SELECT (SELECT count(*) FROM hand.encoded), (SELECT count(*) FROM hand.dictionary)"
    count, constants = connection.execute(sizes).fetchall()[0]
    connection.close()
    ours, create, encode, unique = (statistics.median(times[k]) for k in ("ours", "create", "encode", "unique"))
    ratios = {
        name: round(statistics.median(a / b for a, b in zip(times["ours"], times[name], strict=True)), 2)
        for name in ("create", "encode", "unique")
    }
    return {
        "source": source,
        "facts": count,
        "constants": constants,
        "threads": threads,
        "seconds": round(ours, 3),
        "least": round(min(times["ours"]), 3),
        "worst": round(max(times["ours"]), 3),
        "create_seconds": round(create, 3),
        "encode_seconds": round(encode, 3),
        "unique_seconds": round(unique, 3),
        **{f"ratio_{name}": ratio for name, ratio in ratios.items()},
    }


def cases(rows: int, rounds: int, folder: Path) -> Iterator[dict[str, object]]:
    """Yield a line for few and for many constants, each kind of source, and one and two threads."""
    for people in (max(rows // 100, 10), rows // 2):
        facts = folder / f"pairs{people}.duckdb"
        with duckdb.connect(str(facts)) as connection:
            connection.execute(FACTS.format(rows=rows, people=people)).fetchall()
            connection.execute(f"COPY pairs TO '{facts.with_suffix('.parquet')}'").fetchall()
        parquet = facts.with_suffix(".parquet")
        memory = {"memory_mb": peak("sqlrl", LOAD, parquet), "create_memory_mb": peak("duckdb", COPY, parquet)}
        memory["ratio_memory"] = memory["memory_mb"] / memory["create_memory_mb"]
        for source in ("table", "Parquet"):
            for threads in (1, 2):
                line = measure(source, facts, rounds, threads)
                yield line | ({name: round(value, 2) for name, value in memory.items()} if source == "Parquet" else {})


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000_000, help="facts to load (default: 10 million)")
    parser.add_argument("--rounds", type=int, default=5, help="rounds after a warm-up (default: 5)")
    parser.add_argument("--quick", action="store_true", help="200,000 facts, three rounds")
    parser.add_argument("--json", metavar="FILE", help="write the table as JSON, - for standard output")
    options = parser.parse_args()
    rows, rounds = (200_000, 3) if options.quick else (options.rows, options.rounds)
    lines = []
    if options.json != "-":
        print(
            f"{'source':8} {'facts':>11} {'constants':>11} {'threads':>7} {'CPU s':>8} {'create':>8} {'encode':>8} {'+unique':>8} "
            f"{'ours/create':>12} {'ours/encode':>12} {'ours/+unique':>13} {'MB':>6} {'create':>6} {'ratio':>6}"
        )
    with tempfile.TemporaryDirectory() as folder:
        for line in cases(rows, rounds, Path(folder)):
            lines.append(line)
            if options.json != "-":
                print(
                    f"{line['source']:8} {line['facts']:>11,} {line['constants']:>11,} {line['threads']:>7} {line['seconds']:>7}s "
                    f"{line['create_seconds']:>7}s {line['encode_seconds']:>7}s {line['unique_seconds']:>7}s {line['ratio_create']:>12} "
                    f"{line['ratio_encode']:>12} {line['ratio_unique']:>13} "
                    + " ".join(
                        f"{line.get(name, ''):>6}" for name in ("memory_mb", "create_memory_mb", "ratio_memory")
                    ),
                    flush=True,
                )
    if options.json == "-":
        json.dump(lines, sys.stdout, indent=1)
    elif options.json:
        Path(options.json).write_text(json.dumps(lines, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
