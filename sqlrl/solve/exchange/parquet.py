"""Ground networks as tables of Parquet, written as they leave the engine: for networks that no memory holds, and to be asked with SQL."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from sqlrl.ground.atoms import Atoms, read_atoms
from sqlrl.ground.counts import rule_text, violated_by_evidence
from sqlrl.ground.grounding import add_per_clause, check_evidence, check_sizes, ground_clauses
from sqlrl.ground.network import IntArray, ragged_ranges
from sqlrl.ground.program import Extent
from sqlrl.ground.rows import GroundRows
from sqlrl.solve.exchange.text import PIECE, ExportedNames, ExportedPlace, new_path, pieces, write_atoms
from sqlrl.solve.structure import grouped, pointers

SCHEMA = pa.schema(
    [
        # A ground clause that the evidence leaves open, or a block, whose atoms are the literals.
        pa.field("kind", pa.dictionary(pa.int8(), pa.string()), nullable=False),
        # The number of the model's clause from 0, and the text of its rule. Both are NULL for blocks, for soft evidence on an atom, and for
        # atoms that evidence makes false.
        pa.field("clause", pa.int32()),
        pa.field("rule", pa.dictionary(pa.int32(), pa.string())),
        # What a world that satisfies the row gains (log-odds), times `multiplicity`; NULL if every world must satisfy it.
        pa.field("weight", pa.float64()),
        pa.field("multiplicity", pa.int64(), nullable=False),
        # Variables of the map from 1, negative for negations.
        pa.field("literals", pa.list_(pa.int64()), nullable=False),
    ]
)
"""The columns of the file."""

Texts = Callable[[IntArray], Sequence[tuple[str, str]]]

KINDS = ("clause", "at most one", "exactly one")


def write_parquet(extent: Extent, path: str | Path, texts: Texts) -> tuple[int, int]:
    """Write the ground clauses of a program, not merged and in no order, and the map of the atoms; return the numbers of atoms and rows."""
    atoms = read_atoms(extent)
    written = 0
    with new_path(path) as place, pq.ParquetWriter(place, SCHEMA) as writer:
        # No batch is kept, so that there is no limit of memory beyond the atoms; the extent's own limit is not asked.
        for batch in _batches(extent, atoms):
            writer.write_table(batch)
            written += batch.num_rows
    note = "the score of a world is, up to a constant, the sum of weight * multiplicity over the rows that it satisfies"
    write_atoms(
        atoms.ids,
        path,
        ExportedPlace(np.arange(1, len(atoms.ids) + 1, dtype=np.int64)),
        ExportedNames(atoms.ids, texts),
        [note],
    )
    return len(atoms.ids), written


def _batches(extent: Extent, atoms: Atoms) -> Iterator[pa.Table]:
    """Yield the rows of the file."""
    program = extent.program
    rules = pa.array([rule_text(program, i) for i in range(len(program.features))], pa.string())
    feature = np.array(program.feature_of, np.int32)
    weight, hard = program.weights() * program.signs(), program.hard()
    evidence = violated_by_evidence(extent)
    opened = np.full(program.clause_count, 0, dtype=object)
    for rows in ground_clauses(extent, atoms.ids, evidence):
        add_per_clause(evidence, rows.take(rows.length == 0))
        found = rows.take(rows.length > 0)
        add_per_clause(opened, found)
        if len(found.length):
            number = found.clause
            yield _table(found, _labels(feature[number], rules), pa.array(weight[number], mask=hard[number]))
    check_sizes(program, opened)
    check_evidence(extent, evidence)
    yield from _of_atoms(atoms, rules)
    yield from _of_blocks(atoms, rules)


def _labels(number: npt.NDArray[np.int32], texts: pa.Array) -> pa.Array:
    """Return a text for each number, NULL for -1."""
    return pa.DictionaryArray.from_arrays(pa.array(number, mask=number < 0), texts)


def _table(rows: GroundRows, rule: pa.Array, weight: pa.Array, kind: int = 0) -> pa.Table:
    """Return ground clauses, or blocks, as rows of the file; those of no clause have -1."""
    kinds = pa.DictionaryArray.from_arrays(pa.array(np.full(len(rows.length), kind, np.int8)), pa.array(KINDS))
    number = pa.array(rows.clause.astype(np.int32), mask=np.asarray(rows.clause < 0))
    literals = pa.LargeListArray.from_arrays(rows.starts(), rows.literals).cast(SCHEMA.field("literals").type)
    columns = [kinds, number, rule, weight, pa.array(np.asarray(rows.multiplicity)), literals]
    return pa.Table.from_arrays(columns, schema=SCHEMA)


def _without_rule(length: IntArray, literals: IntArray, rules: pa.Array, weight: pa.Array, kind: int = 0) -> pa.Table:
    """Return rows that come from no clause."""
    none = np.full(len(length), -1, np.int32)
    return _table(
        GroundRows(none.astype(np.int64), literals, length, np.ones_like(length)), _labels(none, rules), weight, kind
    )


def _of_atoms(atoms: Atoms, rules: pa.Array) -> Iterator[pa.Table]:
    """Yield soft evidence, and the atoms that a given one of their block makes false."""
    for start in range(0, len(atoms.ids), PIECE):
        prior, decided = atoms.prior[start : start + PIECE], atoms.decided[start : start + PIECE]
        soft, false = np.flatnonzero(prior), np.flatnonzero(decided)
        for literals, weight in (
            (soft + start + 1, pa.array(prior[soft])),
            (-(false + start + 1), pa.nulls(len(false), pa.float64())),
        ):
            if len(literals):
                yield _without_rule(np.ones_like(literals), literals, rules, weight)


def _of_blocks(atoms: Atoms, rules: pa.Array) -> Iterator[pa.Table]:
    """Yield the blocks."""
    inside = np.flatnonzero(atoms.block >= 0)
    starts, order = grouped(atoms.block[inside], len(atoms.block_exact))
    member, length = inside[order] + 1, np.diff(starts)
    for exact in (False, True):
        chosen = np.flatnonzero(atoms.block_exact == exact)
        for low, high in pieces(pointers(length[chosen])):
            some = chosen[low:high]
            literals = member[ragged_ranges(starts[some], length[some])]
            yield _without_rule(length[some], literals, rules, pa.nulls(len(some), pa.float64()), 1 + int(exact))
