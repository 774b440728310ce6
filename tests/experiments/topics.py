"""A folder that looks like CiteSeer's, with nothing but topics, for tests that do not learn."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from citations import TOPICS
from harness import Options

CITATIONS = 200


def write_topics(folder: Path) -> Options:
    """Write 200 citations of four topics; return options with seed 3."""
    inner = folder / "citeseer"
    inner.mkdir()
    bibs = [f"b{k:04d}" for k in range(CITATIONS)]
    topics = [TOPICS[k % len(TOPICS)] for k in range(CITATIONS)]
    pq.write_table(pa.table({"bib": bibs, "topic": topics}), inner / "topic.parquet")
    return Options(folder, seed=3)
