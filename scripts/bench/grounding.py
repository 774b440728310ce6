"""Grounding a clause into the network, beside streaming the same join to Arrow by hand.

`Friends(x, y) ^ Smokes(x) => Smokes(y)` over 100,000 people and 2 million friendships: the ratio of medians of seven rounds after a
warm-up, and with `--stream ROWS` the peak memory of streaming that many ground clauses.

    python scripts/bench/grounding.py [--quick] [--seed N] [--db FILE] [--json FILE]
"""

from __future__ import annotations

import statistics

from graphs import graph
from rounds import in_turns, publish, read_options, spread

import sqlrl
from sqlrl.ground.grounding import ground_network
from sqlrl.ground.program import Extent
from sqlrl.ground.rows import ROWS_PER_BATCH

MODEL = """
Friends(person, person)
Smokes(person)
1.5 Friends(x, y) ^ Smokes(x) => Smokes(y)
"""
JOIN = """
select a.atom, b.atom from sqlrl."fact_Friends" f
join sqlrl."atom_Smokes" a on a.a0 = f.a0 join sqlrl."atom_Smokes" b on b.a0 = f.a1
"""


def main() -> None:
    """Print the table."""
    options = read_options("Grounding friends-smokers: the network, and the bare join.")
    people, friends, rounds = (10_000, 100_000, 3) if options.quick else (100_000, 2_000_000, 7)
    model = sqlrl.parse_mln(MODEL, query=("Smokes",))
    with sqlrl.connect() as db:
        db.load("Friends", graph(people, friends, skewed=False, seed=options.seed), types=("person", "person"))
        with db.advanced.program(model) as program:

            def stream() -> int:
                cursor = db.advanced.engine.connection.cursor()
                return sum(batch.num_rows for batch in cursor.sql(JOIN).to_arrow_reader(ROWS_PER_BATCH))

            network = ground_network(Extent(program))
            systems = {"join to Arrow": stream, "network": lambda: ground_network(Extent(program))}
            times = in_turns(systems, rounds=rounds)
    ratio = statistics.median(times["network"]) / statistics.median(times["join to Arrow"])
    row = {
        "ground_clauses": len(network.row_clause),
        "join_seconds": spread(times["join to Arrow"]),
        "network_seconds": spread(times["network"]),
        "network_over_join": round(ratio, 2),
    }
    parameters = {"people": people, "friends": friends, "rounds": rounds}
    publish("bench_grounding", [row], options, title="grounding friends-smokers", parameters=parameters, details=[row])


if __name__ == "__main__":
    main()
