"""Atoms as arrays: query atoms with their examples, soft evidence, blocks and labels; and what is true in a window, which path finding reads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from sqlglot import exp

from sqlrl.catalog.layout import Layout, PredicateInfo, TableName
from sqlrl.engine.base import QueryEngine
from sqlrl.engine.nodes import cast, column, conjunction, integer, named, subquery, table
from sqlrl.ground.blocks import BlockRule
from sqlrl.ground.network import FloatArray, IntArray
from sqlrl.ground.program import Extent, Program
from sqlrl.ground.rows import ROWS_PER_BATCH, compact, joined, repeated
from sqlrl.plan.sources import argument_columns, domain_rows, given_rows, true_atoms


@dataclass(frozen=True, eq=False)
class Atoms:
    """The query atoms of some examples, as arrays of shape (n,)."""

    ids: IntArray  # ascending
    example: IntArray
    prior: FloatArray  # log-odds of soft evidence, 0 for none
    block: IntArray  # from 0, -1 for none
    block_exact: npt.NDArray[np.bool_]  # shape (b,); True for exactly one true atom, False for at most one
    decided: npt.NDArray[np.bool_]  # atoms of a block in which a given atom is true: they are false
    helper: npt.NDArray[np.bool_]


def read_atoms(extent: Extent) -> Atoms:
    """Read the query atoms of all open predicates, one query a predicate."""
    return assembled_atoms(
        extent.program,
        ((info, rule, _read(extent, info, rule)) for info, rule in open_predicates(extent.program)),
    )


def open_predicates(program: Program) -> Iterator[tuple[PredicateInfo, BlockRule | None]]:
    """Yield the open predicates in order of their names, with the block of each, if it has one."""
    rule_of = {rule.predicate: rule for rule in reversed(program.blocks)}
    yield from ((info, rule_of.get(info.name)) for info in _open(program.layout))


AtomColumns = tuple[npt.NDArray[Any], ...]
"""Atoms of a predicate: ids, examples, priors, block numbers, and whether each is decided."""


def assembled_atoms(
    program: Program, read: Iterable[tuple[PredicateInfo, BlockRule | None, Iterable[AtomColumns]]]
) -> Atoms:
    """Put the atoms of open predicates, which come in pieces, in order of their ids, and number their blocks."""
    helpers = program.helper_names
    parts, exact = [(*_NONE, np.zeros(0, bool))], [np.zeros(0, bool)]
    for info, rule, found in read:
        pieces = [_NONE, *found]
        ids, example, prior, block, decided = (joined([piece[i] for piece in pieces]) for i in range(len(_NONE)))
        del pieces  # all of it twice is more than anything later takes
        if rule is not None:
            block, count = _blocks(block, decided, sum(map(len, exact)))
            exact.append(np.full(count, rule.exact))
        parts.append((ids, example, prior, block, decided, np.broadcast_to(np.bool_(info.name in helpers), len(ids))))
    arrays = [joined(columns) for columns in zip(*parts, strict=True)]
    del parts
    if not (arrays[0][1:] > arrays[0][:-1]).all():
        order = np.argsort(arrays[0])
        arrays = [values[order] for values in arrays]
    ids, example, prior, block, decided, helper = arrays
    return Atoms(ids, compact(example), compact(prior), compact(block), np.concatenate(exact), decided, compact(helper))


_NONE: AtomColumns = tuple(np.zeros(0, kind) for kind in (np.int64, np.int64, np.float64, np.int64, bool))
"""Columns without an atom."""


def _read(extent: Extent, info: PredicateInfo, rule: BlockRule | None) -> Iterator[AtomColumns]:
    """Yield the atoms of a predicate in batches."""
    engine, many = extent.program.engine, info.atom_count > ROWS_PER_BATCH
    query, step = atoms_query(info, rule, extent.examples), f"read the query atoms of {info.name}"
    # An Arrow table of millions of atoms would be the largest object that a prediction holds.
    for data in (
        engine.stream(query, step=step, rows=ROWS_PER_BATCH) if many else engine.fetch(query, step=step).to_batches()
    ):
        # Copies: a view would keep its whole batch.
        ids, example = (np.array(_numpy(data, name), np.int64) for name in ("atom", "example"))
        prior = np.array(data.column("prior").fill_null(0.0).to_numpy(zero_copy_only=False), np.float64)
        block, decided = repeated(-1, len(ids)), np.broadcast_to(np.False_, len(ids))
        if rule is not None:
            block, decided = np.array(_numpy(data, "block"), np.int64), _numpy(data, "decided").astype(bool)
        yield ids, compact(example), compact(prior), block, decided


def _open(layout: Layout) -> list[PredicateInfo]:
    return sorted((p for p in layout.predicates.values() if p.open), key=lambda p: p.name)


def _blocks(numbers: IntArray, decided: npt.NDArray[np.bool_], first: int) -> tuple[IntArray, int]:
    """Number the blocks of a predicate's atoms from `first`; an atom that a given one decides is in none."""
    block = np.full(len(numbers), -1, np.int64)
    keys, number = np.unique(numbers[~decided], return_inverse=True)
    block[~decided] = number + first
    return block, len(keys)


def _numpy(data: pa.RecordBatch, name: str) -> npt.NDArray[np.generic]:
    values: npt.NDArray[np.generic] = data.column(name).to_numpy(zero_copy_only=False)
    return values


def block_keys(info: PredicateInfo, rule: BlockRule) -> list[str]:
    """Return the columns in which all atoms of a block agree."""
    return [c for c in argument_columns(info) if c not in {f"a{i}" for i in rule.positions}]


def atoms_query(
    info: PredicateInfo, rule: BlockRule | None, examples: TableName | None, *, keys_alone: bool = False
) -> exp.Select:
    """Select atom, example, prior, and the block with whether a given atom decides it; one row for each query atom."""
    # With `keys_alone` a block is its `block_keys`, under their names: the database ranks few rows in more time than it takes to read them.
    assert info.atoms is not None
    query = exp.select(*(column(c, "a") for c in ("atom", "example", "prior"))).from_(table(info.atoms, "a"))
    if examples is not None:
        query = query.join(
            table(examples, "x"), on=exp.EQ(this=column("example", "x"), expression=column("example", "a"))
        )
    if rule is not None:
        keys = block_keys(info, rule)
        if keys_alone:
            query = query.select(*(named(column(c, "a"), f"key_{c}") for c in keys))
        else:
            number = exp.Sub(this=_dense_rank([column(c, "a") for c in keys]), expression=integer(1))
            query = query.select(named(number, "block"))
        decided: exp.Expression = exp.false()
        if info.has_given:
            given = exp.select(*(column(c) for c in keys), named(exp.true(), "hit")).from_(
                subquery(given_rows(info, truth=True), "g")
            )
            on = conjunction(exp.EQ(this=column(c, "h"), expression=column(c, "a")) for c in keys) or exp.true()
            query = query.join(subquery(given.distinct(), "h"), on=on, join_type="LEFT")
            decided = exp.Not(this=exp.Is(this=column("hit", "h"), expression=exp.null()))
        query = query.select(named(decided, "decided"))
    return query


def _dense_rank(keys: Sequence[exp.Expression]) -> exp.Expression:
    """Return DENSE_RANK() over the keys; 1 for no keys."""
    if not keys:
        return integer(1)
    order = exp.Order(expressions=[exp.Ordered(this=key, nulls_first=False) for key in keys])
    return exp.Window(this=exp.Anonymous(this="DENSE_RANK", expressions=[]), order=order)


def read_labels(
    engine: QueryEngine, layout: Layout, ids: IntArray, examples: TableName | None
) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Read the labels of query atoms: their truth, and which of them have a label. Only learners and `evaluate` call this."""
    parts = [(np.zeros(0, np.int64), np.zeros(0, bool), np.zeros(0, bool))]
    for info in _open(layout):
        assert info.atoms is not None
        query = exp.select(column("atom", "a"), column("truth", "a")).from_(table(info.atoms, "a"))
        if examples is not None:
            on = exp.EQ(this=column("example", "x"), expression=column("example", "a"))
            query = query.join(table(examples, "x"), on=on)
        data = engine.fetch(query, step=f"read the labels of {info.name}")
        truth = data.column("truth")
        known = truth.is_valid().to_numpy().astype(bool)
        parts.append((_integers(data, "atom"), truth.fill_null(False).to_numpy().astype(bool), known))
    found, truths, known = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    order = np.argsort(found, kind="stable")
    place = order[np.searchsorted(found[order], ids)]
    return truths[place], known[place]


def read_values(engine: QueryEngine, layout: Layout, ids: IntArray) -> FloatArray:
    """Read the soft truths of the labels of query atoms, NaN where there is none. Only learners and `evaluate` call this."""
    found: FloatArray = np.full(len(ids), np.nan)
    for info in _open(layout):
        assert info.atoms is not None
        value = column("value", "a") if info.valued else named(cast(column("truth", "a"), "DOUBLE"), "value")
        query = exp.select(column("atom", "a"), value).from_(table(info.atoms, "a"))
        data = engine.fetch(query, step=f"read the labels of {info.name}")
        atom = _integers(data, "atom")
        place = np.minimum(np.searchsorted(ids, atom), max(len(ids) - 1, 0))
        here = ids[place] == atom if len(ids) else np.zeros(len(atom), bool)
        found[place[here]] = data.column("value").to_numpy(zero_copy_only=False)[here]
    return found


# ---- what is true in a window of examples ------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class TrueAtoms:
    """The true ground atoms of one predicate in the examples of a window, each once."""

    predicate: str
    types: tuple[str, ...]  # of the arguments
    example: IntArray  # shape (r,), ascending; -1 for atoms of a global predicate, which belong to all examples
    arguments: IntArray  # shape (r, arity), ids of constants in their type's dictionary


@dataclass(frozen=True, eq=False)
class WindowFacts:
    """The observed world of a window of examples, labels included, as path finding reads it."""

    examples: IntArray  # shape (x,), distinct ids in the order of learning
    # By predicate; of open predicates the true labels and true given atoms. Predicates that the modes keep out of paths
    # may be absent.
    atoms: Mapping[str, TrueAtoms]
    # By local type: rows (example, id), sorted and distinct. An atom of a global predicate belongs to an example only
    # if all its constants of local types are in that example's domain.
    domains: Mapping[str, tuple[IntArray, IntArray]]


def read_facts(program: Program, predicates: Iterable[str], examples: TableName, chosen: IntArray) -> WindowFacts:
    """Read the observed world of a window, for learners only; `chosen` (e,) has its examples in the order of learning."""
    layout, engine = program.layout, program.engine
    infos = [layout.predicates[name] for name in sorted(set(predicates))]
    atoms = {}
    for info in infos:
        # A label outside the scope is not observed, as in all counts; an atom about two examples is listed for both.
        found = engine.fetch(true_atoms(info, layout, examples), step=f"read what is true of {info.name}")
        arguments = np.empty((found.num_rows, len(info.types)), np.int64)
        for i in range(len(info.types)):
            arguments[:, i] = found.column(f"a{i}").to_numpy()
        atoms[info.name] = TrueAtoms(info.name, info.types, _integers(found, "example"), arguments)
    domains = {}
    for kind in sorted({kind for info in infos for kind in info.types if layout.types[kind].local}):
        found = engine.fetch(domain_rows(layout.types[kind], examples), step=f"read the domains of {kind}")
        domains[kind] = (_integers(found, "example"), _integers(found, "id"))
    return WindowFacts(chosen, atoms, domains)


def _integers(data: pa.Table, name: str) -> IntArray:
    return np.asarray(data.column(name).to_numpy(), dtype=np.int64)
