"""Predictions of one example at a time: statements rendered anew, statements rendered once, a compiled scorer, and a chain of crfsuite's.

Citations of `sqlrl.demo`, as in the README: 450 to learn from, 150 to predict one by one, in a process and a database file that stay open. Columns are
CPU milliseconds of a prediction, the median and the 99th percentile over all of them, in rounds; *bulk* is CPU milliseconds an example of one call with
all. The scorer is given rows, and predicts the worlds of the database (*same_worlds*). `crfsuite` (`pip install python-crfsuite`, .4 MB, if it is there)
learns from the same tokens with the same kinds of features, and predicts from features that are made before its clock starts: it has no tables, joins
or proofs. *ratio* is to its median.

    python scripts/bench/one_example.py [--quick] [--seed N] [--db FILE] [--json FILE]
"""

from __future__ import annotations

import importlib.util
import logging
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from rounds import publish, read_options

import sqlrl
from sqlrl.demo import MODEL, Bibliography, generate

CITATIONS, LEARNED, ROUNDS = 600, 450, 5

Words = dict[str, list[tuple[str, str, str]]]
"""By citation the rows of `Token`."""

Predict = Callable[[str], object]


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


def one_by_one(names: list[str], predict: Predict, rounds: int) -> np.ndarray:
    """Return the CPU milliseconds of each prediction, of rounds after one that does not count."""
    taken = []
    for number in range(rounds + 1):
        for name in names:
            start = time.process_time()
            predict(name)
            if number:
                taken.append(1000 * (time.process_time() - start))
    return np.array(taken)


def at_once(work: Callable[[], object], size: int) -> float:
    """Return the CPU milliseconds an example of the second of two calls."""
    work()
    start = time.process_time()
    work()
    return 1000 * (time.process_time() - start) / size


def crfsuite_tagger(cites: Bibliography, words: Words, learned: list[str], work: Path) -> Predict | None:
    """Return what predicts an example by name with a chain learned by crfsuite; None where it is not installed."""
    if importlib.util.find_spec("pycrfsuite") is None:
        return None
    import pycrfsuite

    fields = {(row["bib"], row["position"]): row["field"] for row in cites.field.to_pylist()}
    features = {bib: [[f"token={word}"] for word, _, _ in rows] for bib, rows in words.items()}
    trainer = pycrfsuite.Trainer(verbose=False, algorithm="lbfgs", params={"c2": 0.5})
    for bib in learned:
        trainer.append(features[bib], [str(fields.get((bib, position), "none")) for _, position, _ in words[bib]])
    trainer.train(str(work / "crf"))
    tagger = pycrfsuite.Tagger()
    tagger.open(str(work / "crf"))
    return lambda bib: tagger.tag(features[bib])


def worlds(atoms: pa.Table) -> list[dict[str, object]]:
    """Return the true atoms in an order of their own."""
    rows: list[dict[str, object]] = atoms.sort_by([(name, "ascending") for name in atoms.column_names]).to_pylist()
    return rows


def main() -> None:
    """Print the table."""
    options = read_options(
        "Predictions of one example at a time: statements rendered anew and once, a compiled scorer, and crfsuite.",
        needs=None,
    )
    rounds = 1 if options.quick else ROUNDS
    cites = generate(CITATIONS, seed=options.seed)
    learned, test = cites.citations[:LEARNED], cites.citations[LEARNED:]
    words: Words = {}
    for row in cites.token.to_pylist():
        words.setdefault(row["bib"], []).append((row["token"], row["position"], row["bib"]))
    with TemporaryDirectory() as directory, sqlrl.connect(Path(directory) / "cite.duckdb") as db:
        db.load("Token", cites.token, example="bib")
        db.load("Next", cites.next, types=("position", "position"))
        db.load("InField", cites.field, target=True)
        model = sqlrl.Likelihood("l2").fit(db, sqlrl.parse_mln(MODEL), examples=learned).model_
        db.prepare(model)
        scorer = model.compile(db)
        table = cites.token.filter(pc.is_in(cites.token["bib"], value_set=pa.array(test)))
        bulk: dict[str, Callable[[], sqlrl.Prediction | sqlrl.ScoredExamples]] = {
            "prepared": lambda: db.predict(model, examples=test),
            "compiled": lambda: scorer.predict({"Token": table}),
        }
        same = worlds(bulk["compiled"]().atoms()) == worlds(bulk["prepared"]().atoms())
        systems: dict[str, Predict] = {
            "anew": lambda name: db.predict(model, examples=[name], prepared=False),
            "prepared": lambda name: db.predict(model, examples=[name]),
            "compiled": lambda name: scorer.predict({"Token": words[name]}),
            "compiled, atoms as Arrow": lambda name: scorer.predict({"Token": words[name]}).atoms(),
        }
        tagger = crfsuite_tagger(cites, words, learned, Path(directory))
        if tagger is not None:
            systems["crfsuite"] = tagger
        taken = {system: one_by_one(test, predict, rounds) for system, predict in systems.items()}
        base = float(np.median(taken["crfsuite"])) if "crfsuite" in taken else None
        rows = [
            {
                "system": system,
                "statements": statements(partial(systems[system], test[0])),
                "median_ms": round(float(np.median(times)), 4),
                "p99_ms": round(float(np.quantile(times, 0.99)), 4),
                "bulk_ms": round(at_once(bulk[system], len(test)), 4) if system in bulk else None,
                "ratio": None if base is None else round(float(np.median(times)) / base, 1),
                "same_worlds": same if system == "compiled" else None,
            }
            for system, times in taken.items()
        ]
    parameters = {"citations": CITATIONS, "learned": LEARNED, "rounds": rounds}
    publish("bench_one_example", rows, options, title="one example at a time", parameters=parameters, details=rows)


if __name__ == "__main__":
    main()
