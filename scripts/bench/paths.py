"""Relational paths of FB15k-237: which connect the facts of a relation, and as many sampled pairs that are none, and what it takes to find that out.

All facts of the training split are the graph. Each target does without its own fact. *paths* are those that connect at least ten targets;
*walks* met to tell that. The seconds are those of the search, with the graph built from the tables of facts; loading
is not in them. *processor* is the time of all threads together, which other work on the machine does not lengthen. Memory is the peak of the
process so far, with loading.

    python scripts/bench/paths.py [--data DIR] [--quick] [--seed N] [--db FILE] [--json FILE]
"""

from __future__ import annotations

import re
import time
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from rounds import peak_memory_mb, publish, read_options

import sqlrl
from sqlrl.catalog.catalog import Catalog
from sqlrl.catalog.layout import Layout
from sqlrl.engine.connection import connect
from sqlrl.ground.paths import LabelledPairs, RelationalPaths
from sqlrl.report import track
from sqlrl.structure.soft.paths import PathParameters, path_clauses

RELATIONS = {
    "film/genre": "/film/film/genre",
    "profession": "/people/person/profession",
    "release region": "/film/film/release_date_s./film/film_regional_release_date/film_release_region",
}
MIN_TARGETS = 10
Row = dict[str, object]


def load(folder: Path) -> tuple[Catalog, dict[str, str], pa.Table]:
    """Load the training split, a predicate for each relation; return the names of their predicates, and all facts."""
    facts = duckdb.connect().read_parquet(str(folder / "train.parquet")).to_arrow_table()
    heads, tails = (np.asarray(facts.column(name).to_pylist(), dtype=object) for name in ("head", "tail"))
    relations = np.asarray(facts.column("relation").to_pylist(), dtype=object)
    distinct, place = np.unique(relations.astype(str), return_inverse=True)
    names = {relation: re.sub(r"\W+", "_", relation).strip("_").capitalize() for relation in distinct.tolist()}
    catalog = Catalog(connect(":memory:"))
    for i, relation in enumerate(distinct.tolist()):
        rows = pa.table({"x": heads[place == i].tolist(), "y": tails[place == i].tolist()})
        catalog.load(names[relation], rows, types=("entity", "entity"))
    return catalog, names, facts


def targets(heads: np.ndarray, tails: np.ndarray, seed: int) -> LabelledPairs:
    """Return the facts of a relation, and as many pairs of its heads and tails that are none."""
    random, wanted = np.random.default_rng(seed), len(heads)
    first, last, width = np.unique(heads), np.unique(tails), int(tails.max()) + 1
    known = np.unique(heads * width + tails)
    drawn = np.zeros(0, np.int64)
    while len(drawn) < wanted:
        more = random.choice(first, 2 * wanted) * width + random.choice(last, 2 * wanted)
        drawn = np.setdiff1d(np.concatenate([drawn, more]), known)
    chosen = np.sort(random.choice(drawn, wanted, replace=False))
    pairs = np.concatenate([known, chosen])
    return LabelledPairs(np.column_stack([pairs // width, pairs % width]), np.arange(2 * wanted) < wanted)


def search(catalog: Catalog, layout: Layout, target: str, pairs: LabelledPairs, parameters: PathParameters) -> Row:
    """Search the paths of a relation; return what is shown of it."""
    start, work = time.perf_counter(), time.process_time()
    with RelationalPaths(catalog.engine, layout, target, pairs) as source:
        found = path_clauses(source, parameters)
        seconds, processor = time.perf_counter() - start, time.process_time() - work
        statements = source.statements
    return {
        "length": parameters.length,
        "counted": "simple walks" if parameters.simple else "all walks",
        "targets": len(pairs),
        "statements": statements,
        "walks": found.walks,
        "paths": len(found),
        "paths_positive": sum(each.positive >= MIN_TARGETS for each in found),
        "seconds": round(seconds, 2),
        "processor_seconds": round(processor, 2),
        "memory_mb": round(peak_memory_mb()),
    }


def main() -> None:
    """Search the paths of each relation."""
    options = read_options("Paths of relations of FB15k-237", needs="kg/fb15k-237")
    relations = dict(list(RELATIONS.items())[:1] if options.quick else RELATIONS.items())
    catalog, names, facts = load(options.data / "kg" / "fb15k-237")
    declared = [f"{name}(entity, entity)\n0 {name}(x, y)" for name in names.values()]
    layout = catalog.bind(sqlrl.parse_mln("\n".join(declared)), training=True)
    listed = catalog.engine.fetch_rows("select name, id from sqlrl.dictionary_entity", step="read the entities")[1]
    ids = {str(name): int(number) for name, number in listed}
    rows = []
    cases = [(length, simple, name) for length in (2, 3) for simple in (True, False) for name in relations]
    for length, simple, name in track(options.console(), cases, "searching paths"):
        chosen = facts.filter(pc.equal(facts.column("relation"), relations[name]))
        heads, tails = (np.array([ids[x] for x in chosen.column(end).to_pylist()]) for end in ("head", "tail"))
        pairs = targets(heads, tails, options.seed)
        parameters = PathParameters(length=length, simple=simple, min_targets=MIN_TARGETS, negations=False)
        rows.append({"relation": name, **search(catalog, layout, names[relations[name]], pairs, parameters)})
    publish("bench_paths", rows, options, title=f"Paths that connect at least {MIN_TARGETS} targets")


if __name__ == "__main__":
    main()
