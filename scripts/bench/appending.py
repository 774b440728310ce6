"""One new example, appended and predicted in an open process: seconds beside a load of all rows, and as the data grow.

Generated citations, and a chain whose weights were learned from 300 of them. Each round appends the tokens of a citation that the
data lack, and predicts it; `loaded again` does so with all tokens. Also shown is how many statements of SQL a round has.

    python scripts/bench/appending.py [--quick] [--seed N] [--db FILE] [--json FILE]
"""

from __future__ import annotations

import logging
import statistics
import tempfile
import time
import warnings
from pathlib import Path
from typing import TypedDict

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from rounds import publish, read_options, spread

import sqlrl
from sqlrl.demo import MODEL, generate

TRAINING, WARM = 300, 2


class Statements(logging.Handler):
    """Counts statements of SQL, which the log of the engine has one by one."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.count = 0

    def emit(self, record: logging.LogRecord) -> None:
        """Count one."""
        self.count += 1


class Round(TypedDict):
    """Seconds of the parts of a round, and how many statements it had."""

    load: float
    predict: float
    statements: int


def of(table: pa.Table, names: list[str]) -> pa.Table:
    """Return the rows of some citations."""
    return table.filter(pc.is_in(table["bib"], pa.array(names)))


def measure(folder: Path, citations: int, rounds: int, *, append: bool) -> list[Round]:
    """Return what each round cost, after some that warm up."""
    token, field = (pq.read_table(folder / f"{name}.parquet") for name in ("token", "field"))
    names = [f"b{k:04d}" for k in range(1, citations + WARM + rounds + 1)]
    db = sqlrl.connect(progress=False)
    db.load("Token", of(token, names[:citations]), types=("token", "position", "bib"), example="bib")
    db.load("Next", str(folder / "next.parquet"), types=("position", "position"))
    db.load("InField", of(field, names[:citations]), types=("bib", "field", "position"), target=True)
    model = sqlrl.AdaGrad().fit(db, sqlrl.parse_mln(MODEL), examples=names[:TRAINING]).model_
    engine, counter, found = logging.getLogger("sqlrl.engine.duckdb"), Statements(), list[Round]()
    for k in range(citations, citations + WARM + rounds):
        rows = of(token, [names[k]] if append else names[: k + 1])
        start = time.perf_counter()
        if append:
            db.load("Token", rows, mode="append")
        else:
            db.load("Token", rows, types=("token", "position", "bib"), example="bib")
        between = time.perf_counter()
        db.predict(model, examples=[names[k]])
        found.append({"load": between - start, "predict": time.perf_counter() - between, "statements": 0})
    # Once more, with a log that costs time.
    engine.addHandler(counter)
    engine.setLevel(logging.DEBUG)
    engine.propagate = False
    db.load("Token", [("new", "p00", "one more")], mode="append")
    db.predict(model, examples=["one more"])
    engine.removeHandler(counter)
    engine.setLevel(logging.NOTSET)
    engine.propagate = True
    return [{**each, "statements": counter.count} for each in found[WARM:]]


def main() -> None:
    """Print the table."""
    options = read_options("One new example, appended and predicted.")
    sizes, rounds = ((400, 1_000), 5) if options.quick else ((1_000, 10_000), 15)
    rows: list[dict[str, object]] = []
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings(action="ignore"):
        generate(max(sizes) + WARM + rounds, seed=options.seed).write(folder)
        for size in sizes:
            median: dict[str, float] = {}
            for way, append in (("appended", True), ("loaded again", False)):
                found = measure(Path(folder), size, rounds, append=append)
                both = [each["load"] + each["predict"] for each in found]
                median[way] = statistics.median(both)
                rows.append(
                    {
                        "citations": size,
                        "way": way,
                        "seconds": spread(both),
                        "load": round(statistics.median(each["load"] for each in found), 4),
                        "predict": round(statistics.median(each["predict"] for each in found), 4),
                        "ratio": round(median[way] / median["appended"], 2),
                        "statements": found[0]["statements"],
                    }
                )
    parameters = {"sizes": list(sizes), "rounds": rounds, "training": TRAINING}
    publish("bench_appending", rows, options, title="one new citation", parameters=parameters, details=rows)


if __name__ == "__main__":
    main()
