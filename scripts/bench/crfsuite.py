"""Citations by the README's chain beside CRFsuite with the same features: CPU seconds of learning and of prediction, and what they take of memory.

Citations are generated. Both learn from the same ones with half the square of the 2-norm as the penalty, CRFsuite once until its default says
that it is done and once with a tolerance near sqlrl's; both predict the same ones in memory. sqlrl reads facts from its tables each time, so
that grounding and keeping the model are in its seconds; CRFsuite is given its lists of words.

    python scripts/bench/crfsuite.py [--quick] [--seed N] [--db FILE] [--json FILE]
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pycrfsuite

import sqlrl
from sqlrl.demo import MODEL, Bibliography, generate

sys.path.insert(0, str(Path(__file__).parents[2] / "experiments"))

from chain_crf import Chain, read_chains, train
from harness import peak_memory_mb, publish, read_options

ROUNDS = 5
LEARNED = 500
TOLERANCES = (1e-5, 1e-6)
"""Of CRFsuite: its default, and one with which its log-likelihood has as many digits as sqlrl's."""


def cpu_seconds(work: Callable[[], object], rounds: int = ROUNDS) -> float:
    """Return the median of the CPU seconds of some calls, after one that does not count."""
    found = []
    for _ in range(rounds + 1):
        start = time.process_time()
        work()
        found.append(time.process_time() - start)
    return statistics.median(found[1:])


def row(what: str, beside: str, mine: float, other: float) -> dict[str, object]:
    """Return one line of the table."""
    return {
        "what": what, "beside": beside, "sqlrl_cpu_s": round(mine, 3), "beside_cpu_s": round(other, 3), "ratio": round(mine / other, 1),
    }  # fmt: skip


def tagged(model: bytes, chains: list[Chain]) -> None:
    """Predict all chains."""
    tagger = pycrfsuite.Tagger()
    tagger.open_inmemory(model)
    for chain in chains:
        tagger.tag([[word] for word in chain.words])


def loaded(made: Bibliography) -> sqlrl.Database:
    """Return a database of citations."""
    db = sqlrl.connect(progress=False)
    db.load("Token", made.token, example="bib")
    db.load("Next", made.next, types=("position", "position"))
    db.load("InField", made.field, target=True)
    return db


def main() -> None:
    """Print the table."""
    options = read_options("Citations by the README's chain beside CRFsuite, in CPU seconds.")
    count = 1_000 if options.quick else 10_000
    few, many = generate(LEARNED, seed=options.seed), generate(count, seed=options.seed)
    model, rows = sqlrl.parse_mln(MODEL), []
    db = loaded(few)
    chains = list(read_chains(few.token, few.field).values())
    learning = cpu_seconds(lambda: sqlrl.Likelihood("l2").fit(db, model))
    for tolerance in TOLERANCES:
        beside = cpu_seconds(lambda: train(chains, "L2", 1.0, tolerance=tolerance))  # noqa: B023
        rows.append(row(f"learn from {LEARNED} citations", f"CRFsuite, tolerance {tolerance:g}", learning, beside))
    fit = sqlrl.Likelihood("l2").fit(db, model)
    crf, all_chains = train(chains, "L2", 1.0), list(read_chains(many.token, many.field).values())
    db.close()
    larger = loaded(many)
    predicting = cpu_seconds(lambda: larger.predict(fit.model_))
    rows.append(row(f"predict {count} citations", "CRFsuite", predicting, cpu_seconds(lambda: tagged(crf, all_chains))))
    parameters = {"citations": count, "learned": LEARNED, "rounds": ROUNDS, "peak_memory_mb": peak_memory_mb()}
    publish("bench_crfsuite", rows, options, title="citations by a chain", parameters=parameters)
    print(f"peak memory of this process, with both systems and their data: {peak_memory_mb():,.0f} MB")


if __name__ == "__main__":
    main()
