"""The ground clauses that mention some atoms, with constants, and whether each holds in two worlds, helper atoms included."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from sqlrl.ground.clauses import GroundClauseWriter
from sqlrl.ground.network import BoolArray, IntArray, Network
from sqlrl.ground.program import Extent, Program, ShapeUse
from sqlrl.logic.terms import ForAll, Formula, Implies
from sqlrl.plan.named_clauses import AtomKey, TouchingQuery, touching
from sqlrl.progress import staged

ENUMERATED = 100
"""So many groundings of one shape that differ only in variables which occur in no open literal are listed each by itself."""


def with_helpers(network: Network, defining: BoolArray, world: BoolArray, atom: int) -> BoolArray:
    """Return `world` (n,) with one atom flipped and its helper atoms recomputed; `defining` (m,) marks their definitions."""
    flipped = world.copy()
    flipped[atom] = not world[atom]
    if not network.helper.any():
        return flipped
    rows = np.flatnonzero(defining[network.row_clause])
    length = np.diff(network.indptr)
    row = np.repeat(np.arange(len(length)), length)
    mine = np.isin(row, rows)
    row, literal = row[mine], network.literals[mine]
    units = network.hard_units[defining[network.hard_units[:, 0]] & (network.hard_units[:, 0] >= 0), 1]
    row = np.concatenate([row, len(length) + np.arange(len(units))])
    literal = np.concatenate([literal, units])
    # Definitions form no cycle and fix a helper once its atoms are known, so unit propagation finds all helpers.
    known = ~network.helper
    while not known.all():
        here = np.abs(literal) - 1
        true = known[here] & (flipped[here] == (literal > 0))
        size = len(length) + len(units)
        satisfied = np.bincount(row[true], minlength=size) > 0
        left = np.bincount(row[~known[here]], minlength=size)
        forced = literal[~known[here] & (left[row] == 1) & ~satisfied[row]]
        if not len(forced):
            break
        flipped[np.abs(forced) - 1] = forced > 0
        known[np.abs(forced) - 1] = True
    return flipped


@dataclass(frozen=True)
class TwoWorlds:
    """The truth of query atoms in two worlds."""

    atoms: IntArray  # ids, ascending; all arrays have shape (n,)
    before: BoolArray
    after: BoolArray


@dataclass(frozen=True)
class GroundClause:
    """A ground clause and its truth in two worlds."""

    clause: int  # id of the clause of which it is a grounding
    # With the literals that evidence makes false. A conjunction is shown as such, not as the negation that is grounded.
    text: str
    times: int  # groundings with this text
    before: bool  # truth of what `text` shows
    after: bool
    written: str  # `text` as its rule is written, if that is an implication
    # Constants of all variables of a rule that is several disjoint clauses; None for other rules, or if one is unknown.
    binding: tuple[str, ...] | None = None


def clauses_of_atoms(extent: Extent, keys: Sequence[AtomKey], worlds: TwoWorlds) -> list[GroundClause]:
    """Return the open ground clauses that mention some atoms, by clause and text, without helper definitions."""
    found: dict[tuple[int, str, bool, bool], int] = {}
    written: dict[tuple[int, str], str] = {}
    listed = [
        each
        for use in staged("looking through shapes of clauses", extent.program.shapes.values())
        for each in _of_shape(extent, use, keys, worlds)
    ]
    for each in _of_formulas(listed):
        key = (each.clause, each.text, each.before, each.after)
        found[key] = found.get(key, 0) + each.times
        written.setdefault((each.clause, each.text), each.written)
    return [
        GroundClause(clause, text, times, before, after, written[clause, text])
        for (clause, text, before, after), times in sorted(found.items())
    ]


def _of_formulas(found: Sequence[GroundClause]) -> Iterator[GroundClause]:
    """Yield ground clauses, as true in both worlds where the flip leaves the truth of their formula unchanged."""
    groups: dict[tuple[int, tuple[str, ...]], list[GroundClause]] = {}
    for each in found:
        if each.binding is not None and each.before != each.after:
            groups.setdefault((each.clause, each.binding), []).append(each)
    # Of a formula's disjoint conjunctions at most one is true, and of its disjoint clauses at most one is violated:
    # where another one takes its place after the flip, neither says anything about the atom.
    same = {key for key, group in groups.items() if sum(x.after * x.times - x.before * x.times for x in group) == 0}
    for each in found:
        idle = each.binding is not None and (each.clause, each.binding) in same
        yield replace(each, before=True, after=True) if idle else each


def _of_shape(extent: Extent, use: ShapeUse, keys: Sequence[AtomKey], worlds: TwoWorlds) -> Iterator[GroundClause]:
    """Yield the ground clauses of one shape; equal texts may come more than once."""
    program = extent.program
    if all(bound.rule is None for bound in program.features if any(x.shape == use.shape for x in bound.instances)):
        return
    fetched = _fetch(extent, use, keys, count=False, most=ENUMERATED)
    if fetched is None:
        # A variable in no open literal then keeps its name, and `times` says how many groundings there are.
        fetched = _fetch(extent, use, keys, count=True)
        assert fetched is not None
    writers: dict[int, GroundClauseWriter | None] = {}
    for number, plan, data in fetched:
        rows = _Rows(plan, data, worlds)
        # A ground clause with several of the atoms belongs to the first of them.
        fresh = ~rows.has([key.atom for key in keys[:number]]) & ~rows.tautology()
        before, after = rows.holds(worlds.before), rows.holds(worlds.after)
        for row, cells in zip(np.flatnonzero(fresh).tolist(), data.filter(pa.array(fresh)).to_pylist(), strict=True):
            values = {slot: cells[f"s{i}"] for i, slot in enumerate(plan.slots)}
            for clause in [cells["clause"]] if plan.has_clause else use.clauses:
                feature = program.feature_of[clause]
                if feature not in writers:
                    writers[feature] = _writer(program, feature, use)
                writer, negated = writers[feature], program.features[feature].feature.negated
                if writer is not None:
                    true = (bool(before[row]) != negated, bool(after[row]) != negated)
                    yield GroundClause(
                        clause,
                        writer.text(values),
                        int(cells["times"]),
                        *true,
                        writer.written(values),
                        writer.binding(values),
                    )


def _fetch(
    extent: Extent, use: ShapeUse, keys: Sequence[AtomKey], *, count: bool, most: int | None = None
) -> list[tuple[int, TouchingQuery, pa.Table]] | None:
    """Read the rows of each atom whose predicate the shape has; None if one has more than `most`, and counting helps."""
    fetched = []
    for number, key in enumerate(keys):
        plans = [touching(use.bound, key, extent.examples, count=counting) for counting in (count, True)]
        plan, other = plans
        if plan is None or other is None:
            continue
        allowed = most if other.counted else None
        query = plan.query if allowed is None else plan.query.limit(allowed + 1)
        data = extent.program.engine.fetch(query, step=f"find the ground clauses of {use.shape} with an atom")
        if allowed is not None and data.num_rows > allowed:
            return None
        fetched.append((number, plan, data))
    return fetched


def _writer(program: Program, feature: int, use: ShapeUse) -> GroundClauseWriter | None:
    """Return what writes the ground clauses of a feature, None for the definition of a helper predicate."""
    bound = program.features[feature]
    if bound.rule is None:
        return None
    instance = next(x for x in bound.instances if x.shape == use.shape)
    helpers = (helper for each in program.features for helper in each.feature.helpers)
    alone = len(bound.instances) == 1
    return GroundClauseWriter(
        use.shape,
        instance.variables,
        negated=bound.feature.negated,
        helpers=helpers,
        implication=isinstance(_matrix(bound.rule.formula), Implies),
        formula=_matrix(bound.rule.formula),
        free=None if alone else [name for name, _ in bound.feature.variables],
        arguments=instance.arguments,
    )


def _matrix(formula: Formula) -> Formula:
    """Return what an outermost FORALL, with which a rule counts the same, stands before."""
    while isinstance(formula, ForAll):
        formula = formula.body
    return formula


class _Rows:
    """The literals of fetched ground clauses: for each the row, the id of the atom, and the sign."""

    def __init__(self, plan: TouchingQuery, data: pa.Table, worlds: TwoWorlds) -> None:
        self._size, self._worlds = data.num_rows, worlds
        rows, ids, signs = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        for i, sign in enumerate(plan.signs):
            atoms = data.column(f"l{i}").to_numpy()
            here = np.flatnonzero(atoms > 0)
            rows.append(here)
            ids.append(atoms[here].astype(np.int64))
            signs.append(np.full(len(here), sign))
        for i, sign in enumerate(plan.list_signs):
            lists = data.column(f"e{i}").combine_chunks()
            lengths = lists.value_lengths().fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
            rows.append(np.repeat(np.arange(self._size, dtype=np.int64), lengths))
            ids.append(lists.flatten().to_numpy(zero_copy_only=False).astype(np.int64))
            signs.append(np.full(int(lengths.sum()), sign))
        self._row, self._id, self._sign = np.concatenate(rows), np.concatenate(ids), np.concatenate(signs)

    def _some(self, literals: BoolArray) -> BoolArray:
        """Return which rows have one of some literals."""
        found = np.zeros(self._size, dtype=np.bool_)
        found[self._row[literals]] = True
        return found

    def has(self, atoms: Sequence[int]) -> BoolArray:
        """Return which rows mention one of some atoms."""
        return self._some(np.isin(self._id, np.array(atoms, dtype=np.int64)))

    def tautology(self) -> BoolArray:
        """Return which rows have an atom and its negation."""
        order = np.lexsort((self._sign, self._id, self._row))
        row, atom, sign = self._row[order], self._id[order], self._sign[order]
        opposed = np.zeros(len(row), dtype=np.bool_)
        opposed[1:] = (row[1:] == row[:-1]) & (atom[1:] == atom[:-1]) & (sign[1:] != sign[:-1])
        found = np.zeros(self._size, dtype=np.bool_)
        found[row[opposed]] = True
        return found

    def holds(self, world: BoolArray) -> BoolArray:
        """Return which rows have a true literal in a world."""
        # The two worlds have all atoms that the ground clauses mention.
        true = world[np.searchsorted(self._worlds.atoms, self._id)]
        return self._some(true == (self._sign > 0))
