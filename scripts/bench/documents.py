"""Documents with words and a label, from Parquet files to weights, beside Arrow and L-BFGS: CPU seconds of loading, of learning and of both.

Has(doc, word) has about eight words of each document, of a vocabulary in which few are frequent, and Topic(doc) the documents of the topic. sqlrl
loads both into a database, learns a weight for each word by `Likelihood("l2")`, and keeps model and run. Beside it pyarrow reads the same files
and encodes their texts, scipy makes a sparse matrix, and L-BFGS finds the weights of a logistic regression with the same penalty, which is
the same problem: once until its weights are as near to the best ones as sqlrl's, and once as scikit-learn's does by default, which stops long
before. `weights_apart` is the largest difference from the best weights, `ratio` sqlrl's CPU seconds over theirs. They take turns,
in a process that has loaded what is compiled; its linear algebra has one thread, with which it takes the least CPU time.

    python scripts/bench/documents.py [--quick] [--seed N] [--db FILE] [--json FILE]
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from rounds import publish, read_options, spread
from scipy import sparse
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

import sqlrl

MODEL = """
Has(doc, word)
Topic(doc)
Has(d, +w) => Topic(d)
Topic(d)
"""
ROUNDS = 5
WORDS, EACH = 30_000, 8.45
TOLERANCES = {"to the same weights": 1e-8, "by default": 1e-4}
"""Of scikit-learn's L-BFGS: the largest slope of the mean loss at its end."""
EXACT = 1e-10


@dataclass(frozen=True)
class Fitted:
    """Weights by word, the empty text for that of no word, and CPU seconds of loading and of learning, and seconds of both."""

    weights: dict[str, float]
    loading: float
    learning: float
    wall: float


def write(folder: Path, documents: int, seed: int) -> int:
    """Write words and labels that they tell, and return how many facts there are."""
    draw = np.random.default_rng(seed)
    document = np.repeat(np.arange(documents), np.maximum(draw.poisson(EACH, documents), 1))
    word = (WORDS * draw.random(len(document)) ** 3).astype(np.int64)
    document, word = np.divmod(np.unique(document * WORDS + word), WORDS)
    tells = draw.normal(0.0, 1.0, WORDS)
    logit = np.bincount(document, tells[word], minlength=documents) - 0.5
    topic = np.flatnonzero(draw.random(documents) < expit(logit))
    names = pa.array([f"document {k}" for k in range(documents)])
    words = pa.array([f"word {k}" for k in range(WORDS)])
    order = draw.permutation(len(document))
    has = pa.table({"doc": names.take(pa.array(document[order])), "word": words.take(pa.array(word[order]))})
    pq.write_table(has, folder / "has.parquet")
    pq.write_table(pa.table({"doc": names.take(pa.array(topic))}), folder / "topic.parquet")
    return len(document) + len(topic)


def by_rules(folder: Path) -> Fitted:
    """Load the facts into a database, and learn."""
    with sqlrl.connect(progress=False) as db:
        wall, begun = time.perf_counter(), time.process_time()
        db.load("Has", str(folder / "has.parquet"), types=["doc", "word"])
        db.load("Topic", str(folder / "topic.parquet"), types=["doc"], target=True)
        loaded = time.process_time()
        words, bias = sqlrl.Likelihood("l2").fit(db, sqlrl.parse_mln(MODEL)).model_.rules
        done = time.process_time()
        assert words.expansions is not None, "there is a weight for each word"
        weights = {
            word: weight for (word,), weight in zip(words.expansions.rows, words.expansions.weights, strict=True)
        }
        return Fitted(weights | {"": bias.weight or 0.0}, loaded - begun, done - loaded, time.perf_counter() - wall)


def by_arrays(folder: Path, tolerance: float) -> Fitted:
    """Read the facts as a sparse matrix, and learn."""
    wall, begun = time.perf_counter(), time.process_time()
    has, topic = pq.read_table(folder / "has.parquet"), pq.read_table(folder / "topic.parquet")
    document, word = (has.column(name).combine_chunks().dictionary_encode() for name in ("doc", "word"))
    count, words = len(document.dictionary), len(word.dictionary)
    matrix = sparse.csr_array(
        (np.ones(len(has)), (document.indices.to_numpy(), word.indices.to_numpy())), shape=(count, words)
    )
    # The weight of no word has a penalty, too.
    matrix = sparse.csr_array(sparse.hstack([matrix, np.ones((count, 1))]))
    label = pc.is_in(document.dictionary, value_set=topic.column("doc")).to_numpy(zero_copy_only=False)
    read = time.process_time()
    regression = LogisticRegression(C=1.0, fit_intercept=False, tol=tolerance, max_iter=10_000).fit(matrix, label)
    done = time.process_time()
    weights = dict(zip([*word.dictionary.to_pylist(), ""], regression.coef_[0].tolist(), strict=True))
    return Fitted(weights, read - begun, done - read, time.perf_counter() - wall)


def main() -> None:
    """Print the table."""
    options = read_options("Documents from Parquet files to weights, beside Arrow and L-BFGS.", needs=None)
    documents, rounds = (6_000, 1) if options.quick else (120_000, ROUNDS)
    systems: dict[str, Callable[[Path], Fitted]] = {"sqlrl": by_rules}
    systems |= {f"Arrow and L-BFGS, {name}": partial(by_arrays, tolerance=x) for name, x in TOLERANCES.items()}
    found: dict[str, list[Fitted]] = {system: [] for system in systems}
    with tempfile.TemporaryDirectory() as name, threadpool_limits(1):
        folder = Path(name)
        facts = write(folder, documents, options.seed)
        for _ in range(rounds + 1):
            for system, work in systems.items():
                found[system].append(work(folder))
        exact = by_arrays(folder, EXACT).weights
    mine = statistics.median(one.loading + one.learning for one in found["sqlrl"][1:])
    rows: list[dict[str, object]] = []
    for system, (_, *counted) in found.items():
        seconds = [one.loading + one.learning for one in counted]
        weights = counted[-1].weights
        assert weights.keys() == exact.keys(), "each has a weight for each word"
        rows.append({
            "system": system, "documents": documents, "facts": facts, "cpu_s": spread(seconds),
            "loading_cpu_s": round(statistics.median(one.loading for one in counted), 2),
            "learning_cpu_s": round(statistics.median(one.learning for one in counted), 2),
            "wall_s": round(statistics.median(one.wall for one in counted), 2),
            "weights_apart": float(f"{max(abs(weights[word] - exact[word]) for word in exact):.2g}"),
            "ratio": round(mine / statistics.median(seconds), 2),
        })  # fmt: skip
    parameters = {"documents": documents, "words": WORDS, "rounds": rounds, "tolerances": TOLERANCES}
    publish("bench_documents", rows, options, title="documents", parameters=parameters)


if __name__ == "__main__":
    main()
