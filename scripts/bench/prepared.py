"""Predictions of one example at a time: statements rendered once, statements rendered anew, and a chain of crfsuite's.

Citations of `sqlrl.demo`, as in the README: 450 to learn from, 150 to predict one by one in a process and a database that stay open. CPU milliseconds of a
prediction: the median and the 99th percentile over all of them, in rounds. `crfsuite` (`pip install python-crfsuite`, .4 MB, if it is there) learns from
the same tokens with the same kinds of features, and predicts from features that are made before its clock starts: it has no tables, joins or proofs.

    python scripts/bench/prepared.py [--quick] [--seed N] [--db FILE] [--json FILE]
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow.parquet as pq
from rounds import publish, read_options

import sqlrl
from sqlrl.demo import MODEL, generate

CITATIONS, LEARNED, ROUNDS = 600, 450, 5


class Count(logging.Handler):
    """Counts the statements that run."""

    found = 0

    def emit(self, record: logging.LogRecord) -> None:
        """Count one."""
        self.found += 1


def statements(work: Callable[[], object]) -> int:
    """Return how many statements a call runs."""
    logger, count = logging.getLogger("sqlrl.engine.duckdb"), Count()
    level = logger.level
    logger.addHandler(count)
    logger.setLevel(logging.DEBUG)
    try:
        work()
    finally:
        logger.removeHandler(count)
        logger.setLevel(level)
    return count.found


def one_by_one(names: list[str], predict: Callable[[str], object], rounds: int) -> np.ndarray:
    """Return the CPU milliseconds of each prediction."""
    taken = []
    for number in range(rounds + 1):
        for name in names:
            start = time.process_time()
            predict(name)
            if number:
                taken.append(1000 * (time.process_time() - start))
    return np.array(taken)


def crfsuite_tagger(folder: Path, learned: set[str], work: Path) -> Callable[[str], object] | None:
    """Return what predicts an example by name with a chain learned by crfsuite; None where it is not installed."""
    try:
        import pycrfsuite
    except ImportError:
        return None
    fields = {
        (row["bib"], row["position"]): row["field"] for row in pq.read_table(folder / "field.parquet").to_pylist()
    }
    tokens: dict[str, dict[str, str]] = {}
    for row in pq.read_table(folder / "token.parquet").to_pylist():
        tokens.setdefault(row["bib"], {})[row["position"]] = row["token"]
    features = {bib: [[f"token={found[p]}"] for p in sorted(found)] for bib, found in tokens.items()}
    trainer = pycrfsuite.Trainer(verbose=False, algorithm="lbfgs", params={"c2": 0.5})
    for bib in sorted(learned):
        trainer.append(features[bib], [str(fields.get((bib, p), "none")) for p in sorted(tokens[bib])])
    trainer.train(str(work / "crf"))
    tagger = pycrfsuite.Tagger()
    tagger.open(str(work / "crf"))
    return lambda bib: tagger.tag(features[bib])


def main() -> None:
    """Print the table."""
    options = read_options(
        "Predictions of one example at a time, with statements rendered once and anew, beside crfsuite.", needs=None
    )
    rounds = 1 if options.quick else ROUNDS
    with TemporaryDirectory() as directory:
        folder = Path(directory)
        generate(CITATIONS, seed=options.seed).write(folder)
        db = sqlrl.connect(folder / "cite.duckdb")
        db.load("Token", folder / "token.parquet", example="bib")
        db.load("Next", folder / "next.parquet", types=("position", "position"))
        db.load("InField", folder / "field.parquet", target=True)
        names = [f"b{k:04d}" for k in range(1, CITATIONS + 1)]
        model = sqlrl.Likelihood("l2").fit(db, sqlrl.parse_mln(MODEL), examples=names[:LEARNED]).model_
        test = names[LEARNED:]
        db.prepare(model)
        systems: dict[str, Callable[[str], object]] = {
            "prepared": lambda name: db.predict(model, examples=[name]),
            "anew": lambda name: db.predict(model, examples=[name], prepared=False),
        }
        tagger = crfsuite_tagger(folder, set(names[:LEARNED]), folder)
        if tagger is not None:
            systems["crfsuite"] = tagger
        rows: list[dict[str, object]] = []
        for system, predict in systems.items():
            taken = one_by_one(test, predict, rounds)
            count = statements(partial(predict, test[0])) if system != "crfsuite" else 0
            rows.append(
                {"system": system, "statements": count, "median_ms": round(float(np.median(taken)), 4),
                 "p99_ms": round(float(np.quantile(taken, 0.99)), 4), "predictions": len(taken)}
            )  # fmt: skip
        first = float(str(rows[0]["median_ms"]))
        for row in rows:
            row["ratio"] = round(first / float(str(row["median_ms"])), 2)
        db.close()
    parameters = {"citations": CITATIONS, "learned": LEARNED, "rounds": rounds}
    publish("bench_prepared", rows, options, title="one example at a time", parameters=parameters, details=rows)


if __name__ == "__main__":
    main()
