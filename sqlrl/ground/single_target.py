"""A program in which the atoms of one predicate are to be inferred and all others are evidence, whatever they were loaded as."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from sqlrl.catalog.layout import Layout, PredicateInfo
from sqlrl.engine.base import QueryEngine
from sqlrl.errors import GroundingLimitError, Parameter
from sqlrl.ground.binding import bind_program
from sqlrl.ground.network import BoolArray, IntArray
from sqlrl.ground.partitions import AtomDomain
from sqlrl.ground.program import ConstantIds, Program
from sqlrl.logic.model import Model
from sqlrl.plan.sources import NO_EXAMPLE, OBSERVED, example_columns, true_rows
from sqlrl.wording import counted


@dataclass(frozen=True, eq=False)
class OpenedProgram:
    """A program with one open predicate, whose query atoms have the ids 1 to n."""

    program: Program
    atoms: IntArray  # shape (n, 1 + k), example and arguments of each, ascending
    truth: BoolArray  # shape (n,), what the data say of them


@contextmanager
def opened_program(
    engine: QueryEngine, layout: Layout, model: Model, predicate: str, domain: AtomDomain, *, most: int
) -> Iterator[OpenedProgram]:
    """Open one predicate with the atoms of `domain`, at most `most`, and close all others while the context is open."""
    if domain.count > most:
        raise GroundingLimitError(
            f"{predicate} has {counted(domain.count, 'atom')}, more than the limit of {most:,}: give it a scope, or take fewer {Parameter('examples')}"
        )
    atoms = every_atom(domain)
    truth = _is_true(domain, atoms)
    tables = ConstantIds(engine, layout, "opened")
    try:
        infos = {name: _closed(tables, info) for name, info in layout.predicates.items() if name != predicate}
        info = layout.predicates[predicate]
        beside = bool(example_columns(info, layout))
        example = atoms[:, 0] if beside or not layout.divided else np.full(len(atoms), NO_EXAMPLE)
        columns = {"atom": pa.array(np.arange(1, len(atoms) + 1), pa.int64()), "example": pa.array(example, pa.int32())}
        columns |= {f"a{i}": pa.array(atoms[:, i + 1], pa.int32()) for i in range(len(info.types))}
        columns |= {"truth": pa.array(truth, pa.bool_()), "prior": pa.nulls(len(atoms), pa.float64())}
        infos[predicate] = PredicateInfo(
            predicate, info.types, True, info.facts, tables.scratch("atoms", pa.table(columns)), example_column=info.example_column,
            full_scope=domain.listed is None, atom_count=len(atoms),
        )  # fmt: skip
        order = {name: infos[name] for name in layout.predicates}
        program = bind_program(engine, replace(layout, predicates=order), model)
        try:
            yield OpenedProgram(program, atoms, truth)
        finally:
            program.close()
    finally:
        tables.close()


def every_atom(domain: AtomDomain) -> IntArray:
    """Return the atoms of a domain one by one, shape (n, 1 + k), ascending."""
    if domain.listed is not None:
        return domain.listed
    parts = []
    width = 1 + len(domain.sizes)
    for example in domain.examples.tolist():
        choices = []
        for place in range(len(domain.sizes)):
            cells = domain.cells[place]
            if place in domain.example_places:
                choices.append(np.array([example]))
            else:
                choices.append(cells if cells.ndim == 1 else cells[cells[:, 0] == example, 1])
        grid = np.meshgrid(*choices, indexing="ij") if choices else []
        size = int(np.prod([len(c) for c in choices])) if choices else 1
        atoms = np.empty((size, width), dtype=np.int64)
        atoms[:, 0] = example
        for place, values in enumerate(grid):
            atoms[:, place + 1] = values.ravel()
        parts.append(atoms)
    return np.concatenate(parts) if parts else np.zeros((0, width), dtype=np.int64)


def _is_true(domain: AtomDomain, atoms: IntArray) -> BoolArray:
    true = set(map(tuple, domain.true.tolist()))
    return np.fromiter((row in true for row in map(tuple, atoms.tolist())), dtype=bool, count=len(atoms))


def _closed(tables: ConstantIds, info: PredicateInfo) -> PredicateInfo:
    """Return a predicate as evidence: of an open one what is true of it."""
    if not info.open:
        return info
    facts = tables.scratch("facts", true_rows(info, OBSERVED))
    return PredicateInfo(
        info.name, info.types, False, facts, example_column=info.example_column, rows=info.rows + info.atom_count
    )
