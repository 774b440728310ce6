"""Raw groundings against those that Alchemy's authors publish (evidence and merging off)."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from sqlrl.catalog.catalog import Catalog
from sqlrl.engine.connection import connect
from sqlrl.ground.binding import bind_program
from sqlrl.plan.grounding import ground
from tests.ground.alchemy_raw import numbered, read_groundings, read_program
from tests.ground.cases import Names


@pytest.mark.parametrize("number", ["1", "2", "3", "4", "5", "6", "7", "8", "9", "9xx"])
def test_raw_groundings_are_the_published_ones(data_folder: Path, number: str) -> None:
    folder = data_folder / "mln" / "alchemy-exdata" / "autotestmlnfiles"
    if not folder.is_dir():
        pytest.skip(f"Alchemy's published groundings are not at {folder}")
    model = read_program(folder / f"testmln{number}.txt")
    expected = read_groundings(folder / f"groundtruth{number}.txt", 0 if number == "9xx" else 1)
    engine = connect(":memory:", threads=1)
    program = bind_program(engine, Catalog(engine).bind(model, training=True), model)
    atoms, place = Names(engine, program.layout).atoms(), numbered(model)
    found = [Counter[tuple[int, ...]]() for _ in model.rules]
    for use in program.shapes.values():
        plan = ground(use.bound, raw=True)
        for row in engine.fetch(plan.query, step="ground").to_pylist():
            ids = (atoms[row[f"l{i}"]] for i in range(len(plan.signs)))
            clause = tuple(sorted(s * place[a[0], a[2]] for s, a in zip(plan.signs, ids, strict=True)))
            for i in use.clauses:
                found[i][clause] += 1
    assert found == expected
    engine.close()
