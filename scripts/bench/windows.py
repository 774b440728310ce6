"""Predicting many examples, window by window against all at once: seconds, and peak memory of a process of its own.

Generated citations, and a chain whose weights were learned from 300 of them. Both ways find the same world.

    python scripts/bench/windows.py [--quick] [--seed N] [--db FILE] [--json FILE]
"""

from __future__ import annotations

import statistics
import tempfile
import time
from pathlib import Path

from rounds import peak_memory_mb, publish, read_options, run_jobs, spread

import sqlrl
from sqlrl.demo import MODEL, generate
from sqlrl.ground.grounding import ground_network
from sqlrl.ground.program import Extent
from sqlrl.solve.mpe import mpe

TRAINING = 300
Found = tuple[list[float], float, int, float]


def at_once(db: sqlrl.Database, model: sqlrl.Model) -> tuple[float, int]:
    """Ground all examples, and solve their network; return the objective and the number of query atoms."""
    with db.advanced.program(model) as program:
        program.expand()
        network = ground_network(Extent(program))
        return mpe(network, program.weights()).objective, len(network.atoms)


def in_windows(db: sqlrl.Database, model: sqlrl.Model) -> tuple[float, int]:
    """Predict all examples; return the objective and the number of query atoms."""
    prediction = db.predict(model)
    return prediction.objective, len(prediction.network_atoms.ids)


WAYS = {"windows": in_windows, "all at once": at_once}


def predict(folder: str, way: str, rounds: int) -> Found:
    """Return seconds of each prediction, the objective, the number of query atoms, and the memory that predicting added (MB)."""
    db = sqlrl.connect(progress=False)
    db.load("Token", str(Path(folder, "token.parquet")), example="bib")
    db.load("Next", str(Path(folder, "next.parquet")), types=("position", "position"))
    db.load("InField", str(Path(folder, "field.parquet")), target=True)
    training = [f"b{k:04d}" for k in range(1, TRAINING + 1)]
    model = sqlrl.AdaGrad().fit(db, sqlrl.parse_mln(MODEL), examples=training).model_
    db.predict(model, examples=training)
    before, seconds, objective, atoms = peak_memory_mb(), list[float](), 0.0, 0
    for _ in range(rounds):
        start = time.perf_counter()
        objective, atoms = WAYS[way](db, model)
        seconds.append(time.perf_counter() - start)
    return seconds, objective, atoms, peak_memory_mb() - before


def main() -> None:
    """Print the table."""
    options = read_options("Predictions window by window, and all at once.")
    citations, rounds = (2_000, 1) if options.quick else (20_000, 3)
    with tempfile.TemporaryDirectory() as folder:
        generate(citations, seed=options.seed).write(folder)
        jobs = [(folder, way, rounds) for way in WAYS]
        found = [measured.value for measured in run_jobs(predict, jobs, options.console(), "ways")]
    median = [statistics.median(seconds) for seconds, *_ in found]
    rows = [
        {
            "way": way,
            "query_atoms": atoms,
            "objective": round(objective, 6),
            "seconds": spread(seconds),
            "ratio": round(median[i] / median[0], 2),
            "added_mb": round(added),
        }
        for i, (way, (seconds, objective, atoms, added)) in enumerate(zip(WAYS, found, strict=True))
    ]
    parameters = {"citations": citations, "rounds": rounds, "training": TRAINING}
    publish("bench_windows", rows, options, title="predicting citations", parameters=parameters, details=rows)


if __name__ == "__main__":
    main()
