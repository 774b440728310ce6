"""Counting at scale: paths and triangles of graphs with heavy nodes, in DuckDB and on a Spark Connect server without Java.

Graphs of 10, 50 and 200 million edges are made in the engine from integers alone, so that all engines have the same: in each engine edge i goes from
one node to another, both by a multiplicative hash of i; one edge in 200 begins at one of ten heavy nodes, and one in 200 ends there. Paths of two and three edges
and triangles are counted by the plans that `db.count` runs. Each cell is a process of its own (with its server), of one core or two, with a limit of time and one of
memory; a cell that does not end is printed with the step at which it stood. On the server the graph is encoded Parquet in its storage, whose heavy keys are looked for
once (`looked`, seconds), and salted if it has the tasks for it. Seconds and rows are of one run; what was shuffled and
spilled is what EXPLAIN ANALYZE says of it, of DuckDB the most that its files held. `stream` sends the pairs of edges that meet in a node
that is not heavy to the driver.

    python scripts/bench/spark.py [--quick] [--db FILE] [--json FILE] [--system NAME] [--pattern NAME] [--size NAME] [--folder DIR]
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from rounds import Options, publish, read_options
from sqlglot import exp, parse_one

SIZES = {"10M": 10_000_000, "50M": 50_000_000, "200M": 200_000_000}
QUICK = {"200K": 200_000}
PATTERNS = {
    "path2": "!Edge(x, y) v !Edge(y, z)",
    "path3": "!Edge(x, y) v !Edge(y, z) v !Edge(z, w)",
    "triangle": "!Edge(x, y) v !Edge(y, z) v !Edge(z, x)",
    "stream": "",
}
SYSTEMS = {"DuckDB, 1 core": 1, "DuckDB, 2 cores": 2, "Sail, 1 core": 1, "Sail, 2 cores": 2}
DEGREE, HEAVY = 20, 10
"""Edges per node, and nodes at which one edge in 200 begins and one in 200 ends."""
MINUTES, GIGABYTES = 20, 16
PRIME = 4_294_967_291
"""The largest below 2^32: products of two such numbers fit into 64 bits."""
SPILL = "spill"
"""The folder to which DuckDB spills."""
LIMIT = 20_000_000
"""Rows that `stream` sends at the most."""

SERVER = """
import sys
from pysail.spark import SparkConnectServer
server = SparkConnectServer("127.0.0.1", 0)
server.start(background=True)
print("{}:{}".format(*server.listening_address), flush=True)
sys.stdin.read()
server.stop()
"""


@dataclass(frozen=True)
class Cell:
    """A system, what it counts, and in how many edges."""

    system: str
    pattern: str
    edges: int

    @property
    def cores(self) -> int:
        """How many cores it has."""
        return SYSTEMS[self.system]

    @property
    def duckdb(self) -> bool:
        """Whether it is DuckDB's."""
        return self.system.startswith("DuckDB")


# ---- graphs ------------------------------------------------------------------------------------------


def nodes(edges: int) -> int:
    """Return how many nodes a graph has."""
    return edges // DEGREE


def edges_query(edges: int, number: str) -> str:
    """Return the SQL of a graph, in which `number` is what an engine calls the column of `range`."""
    hashes = ", ".join(
        f"(({number} + {offset}) * {factor}) % {PRIME} AS h{k}"
        for k, (offset, factor) in enumerate(
            [(1, 2_654_435_761), (7, 1_640_531_527), (11, 805_459_861), (13, 3_266_489_917)]
        )
    )
    # Whether an end is at a heavy node is independent of the other end.
    ends = [f"CASE WHEN h{k + 2} % 200 = 0 THEN h{k} % {HEAVY} ELSE h{k} % {nodes(edges)} END" for k in range(2)]
    return (
        f"SELECT DISTINCT CAST({ends[0]} AS INT) AS a0, CAST({ends[1]} AS INT) AS a1 "
        f"FROM (SELECT {hashes} FROM range({edges}))"
    )


# ---- a cell, in a process of its own -------------------------------------------------------------------


def say(**what: object) -> None:
    """Tell the process that waits."""
    print(json.dumps(what), flush=True)


@contextmanager
def opened(cell: Cell, folder: Path) -> Iterator[tuple[Any, Any]]:
    """Open an engine that has the graph as the facts of a predicate; yield it with the table of edges."""
    from sqlrl.engine.base import TableName
    from sqlrl.engine.connection import connect

    with ExitStack() as stack:
        if cell.duckdb:
            say(step="make the graph")
            engine = connect(
                folder / f"edges_{cell.edges}.duckdb",
                threads=cell.cores,
                memory_limit=f"{GIGABYTES - 1}GB",
                temp_directory=folder / SPILL,
            )
            stack.callback(engine.close)
            edge = TableName(engine.home[0], "main", "edge")
            query = edges_query(cell.edges, "range").replace(
                f"FROM range({cell.edges})", f"FROM range({cell.edges}) AS r(range)"
            )
            engine.execute_sql(f"CREATE TABLE IF NOT EXISTS main.edge AS {query}", step="make the graph")
            yield engine, edge
            return
        import pyarrow as pa

        from sqlrl.engine.spark.encoded_parts import MARK, mark_rows, part_frame
        from sqlrl.engine.spark.engine import SparkEngine
        from sqlrl.engine.spark.server import Server, Spark
        from sqlrl.engine.stored import FACTS, STORED, StoredPart, view_of

        process = stack.enter_context(
            subprocess.Popen(
                [sys.executable, "-c", SERVER],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                env={**os.environ, "RUST_LOG": "error"},
            )
        )
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        source = connect(":memory:", threads=1)
        stack.callback(source.close)
        spark = SparkEngine(Server(Spark(f"sc://{address}", storage=folder / "storage")), source)
        stack.callback(spark.close)
        storage = folder / "storage"
        part = StoredPart(f"{cell.edges:032x}", FACTS)
        done = Path(StoredPart(part.attempt, "done").path(str(storage)))
        server = spark.server
        if not done.exists():
            say(step="make the graph")
            frame = server.frame(edges_query(cell.edges, "id"), step="make the graph")
            server.write(frame, f"{part.path(str(storage))}/0", step="make the graph")
            columns = pa.schema([("a0", pa.int32()), ("a1", pa.int32())])
            rows = part_frame(server, part, columns).count()
            mark = pa.Table.from_pylist([{"part": FACTS, **mark_rows(rows)}], schema=MARK)
            server.write(server.rows(mark, step="mark the graph").coalesce(1), str(done), step="mark the graph")
        # As `db.load(..., ServerFiles(path))` leaves it: a view of files in the storage.
        edge = TableName(source.home[0], "main", f"{STORED}edge")
        source.create_view(edge, view_of([part.files(str(storage))], ["a0", "a1"]), step="name the edges")
        yield spark, edge


def plan(engine: Any, edge: Any, cell: Cell) -> exp.Expr:
    """Return the query of a cell."""
    from dataclasses import replace

    from sqlrl.catalog.layout import Layout, PredicateInfo, TypeInfo
    from sqlrl.engine.base import TableName
    from sqlrl.ground.binding import bind_program
    from sqlrl.logic.mln import parse_mln
    from sqlrl.plan.counting import count_violated
    from sqlrl.plan.sources import OBSERVED

    if cell.pattern == "stream":
        e, f = (exp.table_(edge.name, db=edge.schema, catalog=edge.catalog, quoted=True) for _ in range(2))
        pairs = parse_one(
            f"SELECT e.a0 AS x, e.a1 AS y, f.a1 AS z FROM e JOIN f ON e.a1 = f.a0 WHERE f.a0 >= {HEAVY} LIMIT {LIMIT}"
        )
        for node in list(pairs.find_all(exp.Table)):
            node.replace(replace_alias(e if node.name == "e" else f, node.name))
        return pairs
    kind = TypeInfo("node", TableName("none", "none", "dictionary"), nodes(cell.edges))
    info = PredicateInfo("Edge", ("node", "node"), False, edge, rows=cell.edges)
    layout = Layout({"Edge": info}, {"node": kind}, None, TableName("none", "none", "example"), 1, ("none", "none"))
    model = parse_mln(f"Edge(node, node)\n1 {PATTERNS[cell.pattern]}\n")
    program = bind_program(engine, replace(layout), model)
    (use,) = program.shapes.values()
    return count_violated(use.bound, OBSERVED)


def replace_alias(table: exp.Table, alias: str) -> exp.Table:
    """Return a table under an alias."""
    table.set("alias", exp.TableAlias(this=exp.to_identifier(alias)))
    return table


def run_cell(cell: Cell, folder: Path) -> None:
    """Run a cell and say what it found."""
    with opened(cell, folder) as (engine, edge):
        query = plan(engine, edge, cell)
        if not cell.duckdb:
            say(step="look for heavy keys")
            start = time.perf_counter()
            engine.render(query)
            say(looked=time.perf_counter() - start)
        say(step="count" if cell.pattern != "stream" else "stream")
        start = time.perf_counter()
        if cell.pattern == "stream":
            rows = sum(batch.num_rows for batch in engine.stream(query, step="stream"))
            seconds = time.perf_counter() - start
            say(seconds=seconds, rows=rows, rows_per_second=round(rows / seconds))
            return
        found = engine.fetch(query, step="count")
        say(seconds=time.perf_counter() - start, count=str(found.column("n")[0].as_py()))
        if not cell.duckdb:
            say(step="look at what was shuffled and spilled")
            say(**analysed(engine, query))


_SIZE = {"B": 1, "KB": 2**10, "MB": 2**20, "GB": 2**30, "TB": 2**40}
_ROWS = {"": 1, "K": 10**3, "M": 10**6, "B": 10**9}


def analysed(engine: Any, query: exp.Expr) -> dict[str, int]:
    """Return rows and bytes that went from partition to partition, and bytes that were spilled, as the server counts them."""
    text = str(engine.server.fetch(f"EXPLAIN ANALYZE {engine.render(query)}", step="analyse").column(0)[0].as_py())
    shuffled = [line for line in text.splitlines() if re.match(r"\s*RepartitionExec: partitioning=Hash", line)]
    return {
        "shuffled_rows": sum(_measured(line, r"output_rows=([\d.]+) ?([KMB]?)", _ROWS) for line in shuffled),
        "shuffled_bytes": sum(_measured(line, r"output_bytes=([\d.]+) ([KMGT]?B)", _SIZE) for line in shuffled),
        "spilled_bytes": sum(
            _measured(line, r"spilled_bytes=([\d.]+) ([KMGT]?B)", _SIZE) for line in text.splitlines()
        ),
    }


def _measured(line: str, pattern: str, units: Mapping[str, int]) -> int:
    found = re.search(pattern, line)
    return round(float(found[1]) * units[found[2]]) if found else 0


# ---- all cells -----------------------------------------------------------------------------------------


def watched(cell: Cell, folder: Path) -> dict[str, object]:
    """Run a cell in a process of its own, and end it where it takes too long or too much; return what it said."""
    found: dict[str, object] = {}
    command = [sys.executable, __file__, "--cell", json.dumps([cell.system, cell.pattern, cell.edges]), str(folder)]
    pinned = ["taskset", "-c", ",".join(map(str, range(cell.cores)))] if hasattr(os, "sched_setaffinity") else []
    with tempfile.TemporaryFile("w+") as said:
        process = subprocess.Popen([*pinned, *command], stdout=said, start_new_session=True)
        begun, peak, spilled, ended = time.monotonic(), 0, 0, ""
        while process.poll() is None:
            time.sleep(0.05)
            memory = group_memory(process.pid)
            peak = max(peak, memory)
            spilled = max(spilled, sum(file.stat().st_size for file in there(folder / SPILL)))
            if time.monotonic() - begun > MINUTES * 60:
                ended = f"{MINUTES} minutes"
            elif memory > GIGABYTES * 10**9:
                ended = f"{GIGABYTES} GB"
            if ended:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        said.seek(0)
        for line in said:
            found.update(json.loads(line))
    step = found.pop("step", "start")
    if ended or process.returncode:
        found["ended"] = f"{ended or 'an error'}, at the step: {step}"
    if cell.duckdb:
        found["spilled_bytes"] = spilled
    return {**found, "memory_mb": round(peak / 10**6)}


def there(folder: Path) -> list[Path]:
    """Return the files of a folder, which may go meanwhile."""
    return [file for file in folder.glob("*") if file.exists()] if folder.exists() else []


def group_memory(group: int) -> int:
    """Return the bytes in memory of a group of processes."""
    total = 0
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if os.getpgid(int(entry.name)) == group:
                total += int((entry / "statm").read_text(encoding="utf-8").split()[1]) * os.sysconf("SC_PAGE_SIZE")
        except (OSError, IndexError):
            continue
    return total


def check(rows: Sequence[Mapping[str, object]]) -> None:
    """All systems count the same."""
    counts: dict[object, set[object]] = {}
    for row in rows:
        if row.get("count") is not None:
            counts.setdefault((row["pattern"], row["edges"]), set()).add(row["count"])
    wrong = {key: found for key, found in counts.items() if len(found) > 1}
    if wrong:
        raise SystemExit(f"the counts differ: {wrong}")


def main(options: Options) -> None:
    """Run the cells that were asked for, and print them."""
    sizes = QUICK if options.quick else SIZES
    cells = [
        Cell(system, pattern, edges)
        for (name, edges), pattern, system in product(sizes.items(), PATTERNS, SYSTEMS)
        if options.chosen.get("size", name) == name
        and options.chosen.get("pattern", pattern) == pattern
        and options.chosen.get("system", system) == system
    ]
    rows: list[dict[str, object]] = []
    with ExitStack() as stack:
        folder = options.files.get("folder") or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        folder.mkdir(exist_ok=True)
        with options.console().progress("counting", total=len(cells)) as task:
            for cell in cells:
                found = watched(cell, folder)
                rows.append({"system": cell.system, "pattern": cell.pattern, "edges": cell.edges, **found})
                task.advance(note=f"{cell.system}, {cell.pattern}, {cell.edges:,} edges")
    check(rows)
    publish(
        "spark_counting", rows, options, title=f"paths and triangles; a cell has {MINUTES} minutes and {GIGABYTES} GB"
    )


if __name__ == "__main__":
    if sys.argv[1:2] == ["--cell"]:
        run_cell(Cell(*json.loads(sys.argv[2])), Path(sys.argv[3]))
    else:
        main(
            read_options(
                __doc__ or "",
                needs=None,
                choices={"system": tuple(SYSTEMS), "pattern": tuple(PATTERNS), "size": (*SIZES, *QUICK)},
                files={"folder": "where graphs are kept for another run"},
            )
        )
