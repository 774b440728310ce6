"""How long loading facts takes, beside hand-written SQL that does the same.

The facts are pairs of names in a DuckDB table and in a Parquet file. Two hand-written scripts are the measure: one builds the
dictionary and joins (`encode`), the other also makes sure that no pair occurs twice (`encode + unique`), which loading
promises. Ratios are medians of rounds in which all of them take turns.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import duckdb

from sqlrl.catalog.catalog import Catalog
from sqlrl.engine.connecting import connect

DICTIONARY = """
CREATE OR REPLACE TABLE dictionary AS
SELECT CAST(row_number() OVER (ORDER BY name) - 1 AS INTEGER) AS id, name
FROM (SELECT DISTINCT name FROM (SELECT a AS name FROM {source} UNION ALL SELECT b FROM {source}))
"""
ENCODE = """
CREATE OR REPLACE TABLE encoded AS
SELECT x.id AS a0, y.id AS a1
FROM {source} JOIN dictionary AS x ON x.name = a JOIN dictionary AS y ON y.name = b
"""
UNIQUE = "SELECT count(*) FROM (SELECT a0, a1 FROM encoded GROUP BY a0, a1 HAVING count(*) > 1)"
FACTS = """
CREATE TABLE pairs AS
SELECT DISTINCT 'person' || (hash(i) % {people}) AS a, 'person' || (hash(i + {rows}) % {people}) AS b
FROM range({rows}) AS t(i)
"""


def hand_written(connection: duckdb.DuckDBPyConnection, source: str, *, unique: bool) -> None:
    """Encode the pairs by hand."""
    for statement in (DICTIONARY, ENCODE, *([UNIQUE] if unique else [])):
        connection.execute(statement.format(source=source)).fetchall()


def seconds(work: Callable[[], object]) -> float:
    """Return how long a call takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def measure(rows: int, rounds: int, folder: Path) -> list[dict[str, object]]:
    """Return one line for each kind of source."""
    connection = duckdb.connect(str(folder / "pairs.duckdb"))
    connection.execute(FACTS.format(rows=rows, people=max(rows // 100, 10))).fetchall()
    facts = connection.execute("SELECT count(*) FROM pairs").fetchall()[0][0]
    parquet = folder / "pairs.parquet"
    connection.execute(f"COPY pairs TO '{parquet}'").fetchall()
    catalog = Catalog(connect(connection))
    lines: list[dict[str, object]] = []
    for name, table, source in (("table", "pairs", "pairs"), ("Parquet", f"read_parquet('{parquet}')", parquet)):
        times: dict[str, list[float]] = {"ours": [], "encode": [], "unique": []}
        for number in range(rounds + 1):
            taken = {
                "ours": seconds(
                    partial(catalog.load, f"{name}{number}", source, types=[f"{name} person {number}"] * 2)
                ),
                "encode": seconds(partial(hand_written, connection, table, unique=False)),
                "unique": seconds(partial(hand_written, connection, table, unique=True)),
            }
            if number:
                for system, value in taken.items():
                    times[system].append(value)
        ours, encode, unique = (statistics.median(times[k]) for k in ("ours", "encode", "unique"))
        lines.append(
            {
                "source": name,
                "facts": facts,
                "seconds": round(ours, 3),
                "encode_seconds": round(encode, 3),
                "unique_seconds": round(unique, 3),
                "ratio_encode": round(ours / encode, 2),
                "ratio_unique": round(ours / unique, 2),
            }
        )
    connection.close()
    return lines


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000_000, help="facts to load (default: 10 million)")
    parser.add_argument("--rounds", type=int, default=5, help="rounds after a warm-up (default: 5)")
    parser.add_argument("--quick", action="store_true", help="200,000 facts, three rounds")
    parser.add_argument("--json", metavar="FILE", help="write the table as JSON, - for standard output")
    options = parser.parse_args()
    rows, rounds = (200_000, 3) if options.quick else (options.rows, options.rounds)
    with tempfile.TemporaryDirectory() as folder:
        lines = measure(rows, rounds, Path(folder))
    if options.json == "-":
        json.dump(lines, sys.stdout, indent=1)
        return
    print(
        f"{'source':8} {'facts':>11} {'ours':>8} {'encode':>8} {'+unique':>8} {'ours/encode':>12} {'ours/+unique':>13}"
    )
    for line in lines:
        print(
            f"{line['source']:8} {line['facts']:>11,} {line['seconds']:>7}s {line['encode_seconds']:>7}s {line['unique_seconds']:>7}s "
            f"{line['ratio_encode']:>12} {line['ratio_unique']:>13}"
        )
    if options.json:
        Path(options.json).write_text(json.dumps(lines, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
