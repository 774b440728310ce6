"""Multiplicities of ground clauses that may not fit into 64 bits."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from sqlrl.errors import CountOverflowError
from sqlrl.ground.program import Program, ShapeUse
from sqlrl.ground.running import overflow_named, rule_place
from sqlrl.plan.grounding import GroundingQuery

INT64_MAX = int(np.iinfo(np.int64).max)


def narrowed(
    batches: Iterator[pa.RecordBatch],
    plan: GroundingQuery,
    program: Program,
    use: ShapeUse,
    evidence: npt.NDArray[np.object_],
) -> Iterator[pa.RecordBatch]:
    """Pass the batches of a grounding query on with multiplicities as int64.

    Parameters
    ----------
    batches : iterator of pyarrow.RecordBatch
    plan : GroundingQuery
    program : Program
    use : ShapeUse
    evidence : object array of int, shape (m,)
        Receives, by clause, what is too large for 64 bits and stands for groundings that the evidence violates.

    Raises
    ------
    CountOverflowError
        If a ground clause with an open literal stands for more groundings than 64 bits can count; names its rule.

    Examples
    --------
    >>> from sqlrl.ground.sample import FRIENDS, PEOPLE, sample_program
    >>> from sqlrl.plan.grounding import ground
    >>> program = sample_program(PEOPLE, ["Smokes"], FRIENDS)
    >>> (use,) = program.shapes.values()
    >>> batch = pa.record_batch({"l0": [1], "l1": [0], "multiplicity": pa.array([Decimal(2)], pa.decimal128(38))})
    >>> plan = ground(use.shape, program.layout)
    >>> [
    ...     str(b.schema.field("multiplicity").type)
    ...     for b in narrowed(iter([batch]), plan, program, use, np.zeros(1, object))
    ... ]
    ['int64']
    """
    with overflow_named(program, use):
        for batch in batches:
            place = batch.schema.get_field_index("multiplicity")
            wide = place >= 0 and pa.types.is_decimal(batch.schema.field(place).type)
            yield _narrow(batch, plan, program, use, evidence) if wide else batch


def _narrow(
    batch: pa.RecordBatch,
    plan: GroundingQuery,
    program: Program,
    use: ShapeUse,
    evidence: npt.NDArray[np.object_],
) -> pa.RecordBatch:
    counts = batch.column("multiplicity")
    large = pc.greater(counts, pa.scalar(Decimal(INT64_MAX), counts.type)).to_numpy(zero_copy_only=False)
    for row in np.flatnonzero(large).tolist():
        clauses = [batch.column("clause")[row].as_py()] if plan.has_clause else use.clauses
        n = int(counts[row].as_py())
        if any(batch.column(f"l{i}")[row].as_py() for i in range(len(plan.signs))) or any(
            batch.column(f"e{i}")[row].as_py() for i in range(len(plan.list_signs))
        ):
            place = rule_place(program, program.feature_of[clauses[0]])
            raise CountOverflowError(f"{place} has {n:,} open groundings, which do not fit into 64 bits")
        for clause in clauses:
            evidence[clause] += n
    rest = batch.filter(pa.array(~large)) if large.any() else batch
    place = rest.schema.get_field_index("multiplicity")
    return rest.set_column(place, "multiplicity", rest.column("multiplicity").cast(pa.int64()))
