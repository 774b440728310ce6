"""Counting the groundings of paths without enumerating them, beside DuckDB's own plan and SQL written by hand.

Two graphs of 100,000 nodes and 2 million edges, uniform and skewed; paths of two and three edges, all together and by their first node
(`by=`), of which each group is compared. Ratios are of medians in one run: DuckDB's plan for the same count over ours (larger is better), ours over the aggregated SQL (smaller is better). All three
must give the same count. The paths of three that DuckDB enumerates run once.

    python scripts/bench/counting.py [--quick] [--seed N] [--db FILE] [--json FILE]
"""

from __future__ import annotations

import statistics
from functools import partial
from itertools import product

from graphs import graph
from rounds import in_turns, publish, read_options, spread

import sqlrl
from sqlrl.logic.shapes import Slot
from sqlrl.plan.counting import count_violated
from sqlrl.plan.sources import OBSERVED

ENUMERATED = {
    2: "select count(*) from edge a join edge b on b.a0 = a.a1",
    3: "select count(*) from edge a join edge b on b.a0 = a.a1 join edge c on c.a0 = b.a1",
}
BY_HAND = {
    2: """select sum(i.n * o.n) from (select a1 v, count(*) n from edge group by a1) i
          join (select a0 v, count(*) n from edge group by a0) o on o.v = i.v""",
    3: """select sum(i.n * o.n) from (select a1 v, count(*) n from edge group by a1) i
          join edge e on e.a0 = i.v join (select a0 v, count(*) n from edge group by a0) o on o.v = e.a1""",
}
BY_FIRST = {
    2: """select e.a0 b0, sum(o.n) n from edge e join (select a0 v, count(*) n from edge group by a0) o on o.v = e.a1
          group by e.a0""",
    3: """select e.a0 b0, sum(i.n) n from edge e join (
            select f.a0 v, sum(o.n) n from edge f join (select a0 v, count(*) n from edge group by a0) o on o.v = f.a1
            group by f.a0) i on i.v = e.a1 group by e.a0""",
}
SUMS = "select sum(n) n, count(*) groups, sum(n * (b0 + 1)::hugeint) of_groups from ({query})"
"""What is read of the groups: each of them is counted, and a wrong one shows."""


def queries(length: int, ours: str, by: str) -> dict[str, str]:
    """Return the queries of one count."""
    if not by:
        return {"ours": ours, "by hand": BY_HAND[length], "enumerated": ENUMERATED[length]}
    enumerated = ENUMERATED[length].replace("count(*)", "a.a0 b0, count(*) n") + " group by a.a0"
    found = {"ours": ours, "by hand": BY_FIRST[length], "enumerated": enumerated}
    return {name: SUMS.format(query=query) for name, query in found.items()}


def measure(nodes: int, edges: int, *, skewed: bool, seed: int, rounds: int) -> list[dict[str, object]]:
    """Return a row for each length of path, and one for it by its first node."""
    rows: list[dict[str, object]] = []
    with sqlrl.connect() as db:
        db.load("Edge", graph(nodes, edges, skewed=skewed, seed=seed), types=("node", "node"))
        db.advanced.engine.execute_sql(
            'create view edge as select a0, a1 from sqlrl."fact_Edge"', step="name the edges"
        )
        for length, by in product((2, 3), ("", "x0")):
            literals = " v ".join(f"!Edge(x{i}, x{i + 1})" for i in range(length))
            model = sqlrl.parse_mln(f"Edge(node, node)\nMarked(node)\n1 {literals}\n", query=("Marked",))
            with db.advanced.program(model) as program:
                (use,) = program.shapes.values()
                # Of a path the first node is the first variable of the shape.
                groups = (("b0", Slot(False, 0)),) if by else ()
                ours = count_violated(use.bound, OBSERVED, by=groups).sql("duckdb")
            found = queries(length, ours, by)
            counts = {name: db.sql(query).fetchall()[0] for name, query in found.items() if name != "enumerated"}
            systems = {name: partial(lambda query: db.sql(query).fetchall(), query) for name, query in found.items()}
            times = in_turns(systems, rounds=rounds, once=["enumerated"] if length == 3 else [])
            counts["enumerated"] = db.sql(found["enumerated"]).fetchall()[0] if length == 2 else counts["by hand"]
            if len({tuple(map(int, row)) for row in counts.values()}) != 1:
                raise SystemExit(f"the counts differ: {counts}")
            median = {name: statistics.median(seconds) for name, seconds in times.items()}
            rows.append(
                {
                    "graph": "skewed" if skewed else "uniform",
                    "path": length,
                    "by": by,
                    "count": int(counts["ours"][0]),
                    "groups": int(counts["ours"][1]) if by else 1,
                    **{f"{name.replace(' ', '_')}_seconds": spread(seconds) for name, seconds in times.items()},
                    "enumerated_over_ours": round(median["enumerated"] / median["ours"], 1),
                    "ours_over_by_hand": round(median["ours"] / median["by hand"], 2),
                }
            )
    return rows


def main() -> None:
    """Print the table."""
    options = read_options("Counting paths in graphs: ours, DuckDB's own plan, SQL by hand.")
    nodes, edges, rounds = (10_000, 100_000, 3) if options.quick else (100_000, 2_000_000, 7)
    rows = [
        row
        for skewed in (False, True)
        for row in measure(nodes, edges, skewed=skewed, seed=options.seed, rounds=rounds)
    ]
    parameters = {"nodes": nodes, "edges": edges, "rounds": rounds}
    publish("bench_counting", rows, options, title="counting paths", parameters=parameters, details=rows)


if __name__ == "__main__":
    main()
