"""Candidates of MSL's beam search per second, and the statements that counted them beside a query for each candidate.

The search runs on generated universities (`organisations.py`). Its candidates are then counted again in the order in which it met them, three
ways: a step's together, as the search does; each by a query of its own, with counts kept between candidates; and each by a query of its own that
knows nothing of those before. The last one is measured on every so many candidates. All are of the same run; `slower` is the time of a
candidate over that of the search's way.

    python scripts/bench/candidates.py [--quick] [--seed N] [--data DIR] [--db FILE] [--json FILE]
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from unittest import mock

from rounds import publish, read_options

from organisations import ACADEMIC, generate  # isort: skip - `rounds` says where it is

import sqlrl
from sqlrl.ground.clause_blankets import ClauseBlankets
from sqlrl.logic.shapes import Instance

Wanted = list[tuple[Instance, str | None]]

SAMPLE = 50
"""Of so many candidates one is counted with nothing known."""


@dataclass
class Asked:
    """What the steps of a search asked for, and how long counting took."""

    steps: list[Wanted] = field(default_factory=list)
    seconds: float = 0.0


@contextmanager
def noted(asked: Asked) -> Iterator[None]:
    """Note what is asked for in this context."""
    learn = ClauseBlankets.learn

    def noting(self: ClauseBlankets, wanted: Iterable[tuple[Instance, str | None]]) -> None:
        asked.steps.append(list(wanted))
        start = time.perf_counter()
        learn(self, asked.steps[-1])
        asked.seconds += time.perf_counter() - start

    with mock.patch.object(ClauseBlankets, "learn", noting):
        yield


def count(db: sqlrl.Database, steps: list[Wanted]) -> tuple[int, int, float]:
    """Count steps of which nothing is known; return how many clauses there were, how many statements, and seconds."""
    with db.advanced.learning.clause_search(None, examples=None, limit=None) as search:
        start = time.perf_counter()
        for step in steps:
            search.source.learn(step)
        return sum(map(len, steps)), search.source.statements, time.perf_counter() - start


def measure(db: sqlrl.Database, literals: int, most: int | None) -> list[dict[str, object]]:
    """Search, and count the candidates again in other ways; a row for each way."""
    asked = Asked()
    start = time.perf_counter()
    with noted(asked):
        fit = sqlrl.MSL(max_literals=literals, max_clauses=most).fit(db)
    whole = time.perf_counter() - start
    each = [(instance, None) for step in asked.steps for instance, _ in step]
    ways = {
        "a step together": count(db, asked.steps),
        "each alone": count(db, [[one] for one in each]),
    }
    fresh = [count(db, [[one]]) for one in each[::SAMPLE]]
    clauses, statements, seconds = (sum(x) for x in zip(*fresh, strict=True))
    ways["each alone, nothing known"] = (int(clauses), int(statements), seconds)
    rows: list[dict[str, object]] = [
        {
            "way": "the whole search",
            "candidates": fit.candidates_,
            "statements": fit.n_statements_,
            "seconds": round(whole, 2),
        }
    ]
    rows += [
        {"way": way, "candidates": clauses, "statements": statements, "seconds": round(seconds, 2)}
        for way, (clauses, statements, seconds) in ways.items()
    ]
    least = ways["a step together"][2] / ways["a step together"][0]
    for row in rows:
        per = float(str(row["seconds"])) / int(str(row["candidates"]))
        row |= {"per_second": round(1 / max(per, 1e-9)), "slower": round(per / least, 1)}
    return rows


def main() -> None:
    """Print the table."""
    options = read_options("Candidates of MSL per second, and statements beside a query for each candidate.")
    made = generate(ACADEMIC, seed=options.seed, count=1)
    db = replace(made, target=None).load()
    literals, most = (3, 1) if options.quick else (4, None)
    rows = measure(db, literals, most)
    publish(
        "bench_candidates",
        rows,
        options,
        title="Candidates of MSL",
        parameters={"max_literals": literals, "max_clauses": most},
    )


if __name__ == "__main__":
    main()
