"""The ground clauses that mention some atoms, with constants, and whether each holds in two worlds, helper atoms included."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

import numpy as np
import pyarrow as pa

from sqlrl.ground.clauses import GroundClauseWriter, expansion_names
from sqlrl.ground.network import BoolArray, IntArray, Network
from sqlrl.ground.program import UNKNOWN, Extent, Program, ShapeUse
from sqlrl.logic.expansions import fill
from sqlrl.logic.printer import format_formula
from sqlrl.logic.shapes import Instance, Shape, Slot
from sqlrl.logic.terms import Constant, ForAll, Formula, Implies
from sqlrl.plan.disjuncts import disjunct_slots, disjuncts, is_open
from sqlrl.plan.named_clauses import AtomKey, TouchingQuery, touching
from sqlrl.progress import staged

ENUMERATED = 100
"""So many groundings of one shape that differ only in variables which occur in no open literal are listed each by itself."""

MATCHED = 100_000
"""So many ground clauses of one shape are fetched where several clauses are one rule, to find those of the same grounding."""


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
    """A ground clause, or a grounding of a rule that is several clauses, and what a flip makes of it."""

    clause: int  # id of the clause of which it is a grounding
    # With the literals that evidence makes false. A conjunction is shown as such, not as the negation that is grounded, and
    # a rule that is several disjoint clauses as it is written: each of these leaves out literals that matter.
    text: str
    times: int  # groundings with this text
    change: int  # truth of what `text` shows after the flip minus that before: -1, 0 or 1
    written: str  # `text` as its rule is written, if that is an implication


@dataclass(frozen=True)
class _Row:
    """A ground clause of a shape as it was fetched."""

    clause: int
    names: Mapping[Slot, str | None]  # constants of slots; None for one that the data do not have
    times: int
    change: int  # of the ground clause's truth: -1, 0 or 1


def clauses_of_atoms(extent: Extent, keys: Sequence[AtomKey], worlds: TwoWorlds) -> list[GroundClause]:
    """Return the open ground clauses that mention some atoms, by clause and text, without helper definitions."""
    program = extent.program
    several = {
        i: _RuleGroundings(program, i)
        for i, bound in enumerate(program.features)
        if bound.rule is not None and not bound.hard and len(bound.feature.clauses) > 1
    }
    listed: list[GroundClause] = []
    for use in staged("looking through shapes of clauses", program.shapes.values()):
        listed += _of_shape(extent, use, keys, worlds, several)
    for rule in several.values():
        listed += rule.clauses()
    times: Counter[tuple[int, str, int]] = Counter()
    written: dict[tuple[int, str], str] = {}
    for each in listed:
        times[each.clause, each.text, each.change] += each.times
        written.setdefault((each.clause, each.text), each.written)
    return [
        GroundClause(clause, text, number, change, written[clause, text])
        for (clause, text, change), number in sorted(times.items())
    ]


def _of_shape(
    extent: Extent,
    use: ShapeUse,
    keys: Sequence[AtomKey],
    worlds: TwoWorlds,
    several: Mapping[int, _RuleGroundings],  # by feature; their ground clauses are added there
) -> Iterator[GroundClause]:
    """Yield the ground clauses of one shape; equal texts may come more than once."""
    program = extent.program
    features = [i for i, x in enumerate(program.features) if any(y.shape == use.shape for y in x.instances)]
    if all(program.features[i].rule is None for i in features):
        return
    # What several clauses change together is known only if all their variables have constants.
    most = ENUMERATED if several.keys().isdisjoint(features) else MATCHED
    fetched = _fetch(extent, use, keys, count=False, most=most)
    if fetched is None:
        # A variable in no open literal then keeps its name, and `times` says how many groundings there are.
        fetched = _fetch(extent, use, keys, count=True)
        assert fetched is not None
    writers: dict[int, GroundClauseWriter | None] = {}
    for row in chain.from_iterable(_rows(program, use, keys, worlds, *each) for each in fetched):
        feature = program.feature_of[row.clause]
        if feature in several:
            several[feature].add(use.shape, row)
            continue
        if feature not in writers:
            writers[feature] = _writer(program, feature, use)
        writer = writers[feature]
        if writer is not None:
            text, written = writer.text(row.names), writer.written(row.names)
            yield GroundClause(row.clause, text, row.times, row.change, written)


def _rows(
    program: Program,
    use: ShapeUse,
    keys: Sequence[AtomKey],
    worlds: TwoWorlds,
    number: int,
    plan: TouchingQuery,
    data: pa.Table,
) -> Iterator[_Row]:
    """Yield what was fetched of one atom."""
    literals = _Literals(plan, data, worlds)
    # A ground clause with several of the atoms belongs to the first of them.
    fresh = ~literals.has([key.atom for key in keys[:number]]) & ~literals.tautology()
    change = literals.holds(worlds.after).astype(np.int64) - literals.holds(worlds.before)
    for place, cells in zip(np.flatnonzero(fresh).tolist(), data.filter(pa.array(fresh)).to_pylist(), strict=True):
        names = {slot: cells[f"s{i}"] for i, slot in enumerate(plan.slots)}
        for clause in [cells["clause"]] if plan.has_clause else use.clauses:
            sign = -1 if program.features[program.feature_of[clause]].feature.negated else 1
            yield _Row(clause, names, int(cells["times"]), sign * int(change[place]))


class _RuleGroundings:
    """The groundings of a rule that is several disjoint clauses: of these at most one is violated, so what they change together is what the rule does."""

    def __init__(self, program: Program, feature: int) -> None:
        self._program, self._feature, self._bound = program, feature, program.features[feature]
        plus = self._bound.feature.plus
        self._variables = tuple(name for name, _ in self._bound.feature.variables if name not in plus)
        # Of each ground clause the clause, which instance it is of, the constants of variables, times and change.
        self._rows: list[tuple[int, int, dict[str, str], int, int]] = []
        self._seen: Counter[tuple[int, Shape, tuple[str | None, ...]]] = Counter()
        self._alike: dict[tuple[int, Shape, tuple[str | None, ...]], list[int]] = {}

    def add(self, shape: Shape, row: _Row) -> None:
        """Add a ground clause of a shape."""
        key = (row.clause, shape, tuple(row.names.values()))
        # Instances that differ in the names of variables alone have the same ground clauses, each of which comes once for
        # each of them.
        alike = self._instances(row.clause, shape, row.names)
        place = alike[self._seen[key] % len(alike)]
        self._seen[key] += 1
        names = self._bound.instances[place].variables
        constants = {names[slot.index]: name for slot, name in row.names.items() if not slot.parameter and name}
        self._rows.append((row.clause, place, constants, row.times, row.change))

    def _instances(self, clause: int, shape: Shape, names: Mapping[Slot, str | None]) -> list[int]:
        """Return the places of the instances of a shape whose parameters have these constants."""
        filled = tuple(name for slot, name in names.items() if slot.parameter)
        key = (clause, shape, filled)
        if key not in self._alike:
            self._alike[key] = [
                i
                for i, instance in enumerate(self._bound.instances)
                if instance.shape == shape and self._parameters(clause, instance) == filled
            ]
        return self._alike[key]

    def _parameters(self, clause: int, instance: Instance) -> tuple[str | None, ...]:
        """Return the constants of an instance's parameters, None for those that the data do not have."""
        plus = self._plus.get(clause, {})
        found = []
        for kind, term in zip(instance.shape.parameters, instance.arguments, strict=True):
            name = term.name if isinstance(term, Constant) else plus[term.name]
            found.append(None if self._program.constants.of(kind).get(name) == UNKNOWN else name)
        return tuple(found)

    @cached_property
    def _plus(self) -> dict[int, dict[str, str]]:
        """The constants of the `+` variables, by clause."""
        names = self._bound.feature.plus
        if not names:
            return {}
        clauses, rows = expansion_names(self._program, self._feature)
        return {clause: dict(zip(names, row, strict=True)) for clause, row in zip(clauses, rows, strict=True)}

    def clauses(self) -> Iterator[GroundClause]:
        """Yield the groundings of the rule; where some variables were counted, the net of what differs only in them is one."""
        known = [name for name in self._variables if all(name in names for _, _, names, _, _ in self._rows)]
        net: Counter[tuple[int, tuple[str, ...]]] = Counter()
        sizes: dict[tuple[int, tuple[str, ...]], Counter[int]] = {}
        for clause, place, names, times, change in self._rows:
            key = (clause, tuple(names[name] for name in known))
            net[key] += change * times
            sizes.setdefault(key, Counter())[place] += times
        shown = list(range(len(known)))
        if len(net) > ENUMERATED:
            opened = self._opened()
            shown = [i for i in shown if known[i] in opened]
        found: Counter[tuple[int, tuple[str, ...], int]] = Counter()
        for (clause, constants), change in net.items():
            key = (clause, constants)
            sign = (change > 0) - (change < 0)
            found[clause, tuple(constants[i] for i in shown), sign] += abs(change) or max(sizes[key].values())
        assert self._bound.rule is not None
        formula = _matrix(self._bound.rule.formula)
        for (clause, constants, sign), times in found.items():
            filled = dict(zip((known[i] for i in shown), constants, strict=True))
            text = format_formula(fill(formula, {**self._plus.get(clause, {}), **filled}))
            yield GroundClause(clause, text, times, sign, text)

    def _opened(self) -> set[str]:
        """Return the variables that stand in an open literal of some clause."""
        found = set[str]()
        for instance in self._bound.instances:
            bound = self._program.shapes[instance.shape].bound
            slots = {s for x in disjuncts(instance.shape) if is_open(bound, x) for s in disjunct_slots(bound, x)}
            found |= {instance.variables[i] for i in instance.shape.universal() if Slot(False, i) in slots}
        return found


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
    formula = _matrix(bound.rule.formula)
    return GroundClauseWriter(
        use.shape,
        instance.variables,
        negated=bound.feature.negated,
        helpers=helpers,
        implication=isinstance(formula, Implies),
        # Each of several clauses of a hard rule is a ground clause by itself.
        formula=formula if len(bound.instances) == 1 else None,
        arguments=instance.arguments,
    )


def _matrix(formula: Formula) -> Formula:
    """Return what an outermost FORALL, with which a rule counts the same, stands before."""
    while isinstance(formula, ForAll):
        formula = formula.body
    return formula


class _Literals:
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
