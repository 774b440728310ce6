"""Examples of the README's chain scored one by one and many at once: a compiled scorer, `db.predict`, and crfsuite where it is installed.

*median* and *p99* are milliseconds an example, one call an example, each example once in a round and after one round that does not count;
*bulk* is milliseconds an example of one call with all. *ratio* is to crfsuite's median, of tagging the same tokens with a feature for each word,
weights trained on the same citations; without python-crfsuite those cells are empty. Worlds of the scorer are compared with those of the database.

    python scripts/bench/scorer.py [--quick] [--seed N] [--db FILE] [--json FILE]
"""

from __future__ import annotations

import importlib.util
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from rounds import publish, read_options

import sqlrl
from sqlrl.demo.bibliography import MODEL, Bibliography, generate

TRAINED, ROUNDS = 50, 5

Words = dict[str, list[tuple[str, str, str]]]
"""By citation the rows of `Token`."""


def milliseconds(calls: Iterable[Callable[[], object]], rounds: int = ROUNDS) -> np.ndarray:
    """Return the times of calls, each once in a round, the first round left out."""
    listed = list(calls)
    times = np.empty((rounds + 1, len(listed)))
    for i in range(rounds + 1):
        for j, call in enumerate(listed):
            start = time.perf_counter()
            call()
            times[i, j] = time.perf_counter() - start
    return 1000 * times[1:].ravel()


def crfsuite_times(cites: Bibliography, words: Words, train: Sequence[str], test: Sequence[str]) -> np.ndarray | None:
    """Return the milliseconds in which crfsuite tags each test citation; None if it is not installed."""
    if importlib.util.find_spec("pycrfsuite") is None:
        return None
    import pycrfsuite

    labels = {(row["bib"], row["position"]): row["field"] for row in cites.field.to_pylist()}
    trainer = pycrfsuite.Trainer(verbose=False)
    for bib in train:
        trainer.append([[word] for word, _, _ in words[bib]], [labels.get((bib, p), "none") for _, p, _ in words[bib]])
    trainer.set_params({"max_iterations": 50})
    path = str(Path(tempfile.mkdtemp()) / "model")
    trainer.train(path)
    tagger = pycrfsuite.Tagger()
    tagger.open(path)
    return milliseconds([partial(tagger.tag, [[word] for word, _, _ in words[bib]]) for bib in test])


def named_atoms(scorer: sqlrl.CompiledScorer, words: list[tuple[str, str, str]]) -> pa.Table:
    """Score an example, and return the atoms with their names."""
    return scorer.predict({"Token": words}).atoms()


def main() -> None:
    """Print the table."""
    options = read_options("Citations of the README's chain, scored one by one and many at once.", needs=None)
    count = 100 if options.quick else 500
    cites = generate(TRAINED + count, seed=options.seed)
    train, test = cites.citations[:TRAINED], cites.citations[TRAINED:]
    db = sqlrl.connect()
    db.load("Token", cites.token, example="bib")
    db.load("Next", cites.next)
    db.load("InField", cites.field, example="bib", target=True)
    model = sqlrl.AdaGrad().fit(db, sqlrl.parse_mln(MODEL), examples=train).model
    words: Words = {}
    for row in cites.token.to_pylist():
        words.setdefault(row["bib"], []).append((row["token"], row["position"], row["bib"]))
    scorer = model.compile(db)
    table = cites.token.filter(pc.is_in(cites.token["bib"], value_set=pa.array(test)))
    same = scorer.predict({"Token": table}).atoms().sort_by("example") == db.predict(
        model, examples=test
    ).atoms().sort_by("example")

    few = test[: 20 if options.quick else 50]
    found = {
        "scorer": milliseconds([partial(scorer.predict, {"Token": words[bib]}) for bib in test]),
        "scorer, atoms as Arrow": milliseconds([partial(named_atoms, scorer, words[bib]) for bib in test]),
        "db.predict": milliseconds([partial(db.predict, model, examples=[bib]) for bib in few], rounds=1),
    }
    bulk = {
        "scorer": milliseconds([lambda: scorer.predict({"Token": table})], rounds=3).min() / len(test),
        "db.predict": milliseconds([lambda: db.predict(model, examples=test)], rounds=1).min() / len(test),
    }
    beside = crfsuite_times(cites, words, train, test)
    if beside is not None:
        found["crfsuite"] = beside
    base = None if beside is None else float(np.median(beside))
    rows = [
        {
            "system": name, "median_ms": round(float(np.median(times)), 4), "p99_ms": round(float(np.percentile(times, 99)), 4),
            "bulk_ms": round(float(bulk[name]), 4) if name in bulk else None,
            "ratio": None if base is None else round(float(np.median(times)) / base, 1),
            "same_worlds": same if name == "scorer" else None,
        }
        for name, times in found.items()
    ]  # fmt: skip
    publish(
        "bench_scorer", rows, options, title=f"{count} citations", parameters={"trained": TRAINED, "rounds": ROUNDS}
    )


if __name__ == "__main__":
    main()
