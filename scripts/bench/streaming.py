"""Peak memory of streaming 100 million ground clauses, with the database's memory below the size of the groundings.

`Friends(x, y) ^ Friends(y, z) ^ Smokes(x) => Smokes(z)` has a ground clause for each path of two; the graph is sized so that there are about
100 million. Nothing is kept of a batch, and the database may use 1 GB.

    python scripts/bench/streaming.py [--quick] [--seed N] [--db FILE] [--json FILE]
"""

from __future__ import annotations

import tempfile
import time

from graphs import graph
from rounds import peak_memory_mb, publish, read_options

import sqlrl
from sqlrl.ground.pipeline import stream
from sqlrl.ground.program import Extent

MODEL = """
Friends(person, person)
Smokes(person)
Likes(person, person)
1 Friends(x, y) ^ Friends(y, z) ^ Likes(x, y) => Likes(y, z)
"""


def main() -> None:
    """Print the table."""
    options = read_options("Streaming ground clauses: rows, seconds, peak memory.")
    people, friends = (10_000, 100_000) if options.quick else (50_000, 2_236_000)
    model = sqlrl.parse_mln(MODEL, query=("Likes",))
    with tempfile.TemporaryDirectory() as folder, sqlrl.connect(memory_limit="1GB", temp_directory=folder) as db:
        db.load("Friends", graph(people, friends, skewed=False, seed=options.seed), types=("person", "person"))
        db.scope("Likes", 'select x.name, y.name from sqlrl."fact_Friends" f join sqlrl."dictionary_person" x on x.id = f.a0 '
                 'join sqlrl."dictionary_person" y on y.id = f.a1')  # fmt: skip
        with db.advanced.program(model) as program:
            before = peak_memory_mb()
            start = time.perf_counter()
            rows = sum(batch.num_rows for batch in stream(Extent(program)))
            seconds = time.perf_counter() - start
    row = {
        "ground_clauses": rows,
        "seconds": round(seconds, 1),
        "million_a_second": round(rows / seconds / 1e6, 1),
        "peak_memory_mb": round(peak_memory_mb()),
        "peak_before_mb": round(before),
    }
    parameters = {"people": people, "friends": friends, "memory_limit": "1GB"}
    publish("bench_streaming", [row], options, title="streaming ground clauses", parameters=parameters, details=[row])


if __name__ == "__main__":
    main()
