"""A program as a clause oracle: its network stays in the database, which returns what a world does not meet."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from sqlglot import exp

from sqlrl.catalog.layout import TableName
from sqlrl.engine.nodes import column, integer, named, star_count, subquery, table
from sqlrl.ground.atoms import read_atoms
from sqlrl.ground.clauses import describer
from sqlrl.ground.counts import Counts, check_count, check_limit, enumerations, run_counts, violated_by_evidence
from sqlrl.ground.grounding import add_per_clause, assemble, check_evidence, ground_clauses
from sqlrl.ground.memory import memory_budget
from sqlrl.ground.network import BoolArray, Network, NetworkRows
from sqlrl.ground.pipeline import Pipeline, ShapePlan, plans
from sqlrl.ground.program import Extent, ShapeUse
from sqlrl.ground.rows import AtomIndex, GroundRows, by_clause, in_order
from sqlrl.plan.counting import count_violated
from sqlrl.plan.grounding import GroundingQuery, ground
from sqlrl.plan.slots import BoundShape
from sqlrl.plan.sources import World
from sqlrl.plan.unsatisfied import FAIL, HOLD, among, few, may_be_long, newly_unsatisfied, unsatisfied

LITTLE = 1_000
"""So many ground clauses of a shape are not counted, which takes about as long as grounding them."""


MANY_ATOMS, FEW_CHANGED = 50_000, 0.1
"""Of so many atoms, and up to this share of them, only ground clauses with an atom that changed are asked for: the database then joins a shape
once for each of its literals, though from few rows."""


@dataclass(frozen=True)
class _Queries:
    """What a round asks of a shape: the ground clauses that a world does not meet, those that it met before, and all pairs among chosen atoms."""

    use: ShapeUse
    tables: Mapping[int, BoundShape]  # by what its clauses ought to do
    clauses: tuple[int, ...]
    world: TableName
    changed: Callable[[], TableName]
    examples: TableName | None

    @cached_property
    def unsatisfied(self) -> ShapePlan:
        """All that a world does not meet."""
        return ShapePlan(self.use, unsatisfied(self.tables, self.world, self.examples), self.clauses)

    @cached_property
    def newly(self) -> ShapePlan:
        """What it met before some atoms changed, or more."""
        plan = newly_unsatisfied(self.tables, self.world, self.changed(), self.examples)
        return self.unsatisfied if plan is None else ShapePlan(self.use, plan, self.clauses)

    @cached_property
    def pairs(self) -> ShapePlan | None:
        """Pairs whose atoms are all chosen."""
        plan = among(self.tables, self.world, self.examples)
        return None if plan is None else ShapePlan(self.use, plan, self.clauses)


class ProgramOracle:
    """A `sqlrl.solve.cutting_plane.ClauseOracle` of a program; `whole` shapes are grounded at the start."""

    def __init__(self, extent: Extent, *, check: bool = True, whole: Collection[Hashable] = ()) -> None:
        self.extent, self.program, self.check = extent, extent.program, check
        # A formula's shapes go together, since their ground clauses may be the same, and count together.
        groups = {self._together[shape] for shape in whole if shape in self._together}
        self.whole = frozenset(shape for shape, group in self._together.items() if group in groups)
        self._planned: dict[bytes, list[_Queries]] = {}
        # What `unmet` counted: a world and what is wanted, and the places of queries that find nothing there.
        self._met: tuple[bytes, bytes, frozenset[int]] = (b"", b"", frozenset())

    @cached_property
    def _world(self) -> TableName:
        """The scratch table of the atoms that are true in a world."""
        return self.program.constants.scratch("world", pa.table({"atom": pa.array([], pa.int64())}))

    @cached_property
    def _changed(self) -> TableName:
        """The scratch table of the atoms that changed since another world."""
        return self.program.constants.scratch("changed", pa.table({"atom": pa.array([], pa.int64())}))

    @cached_property
    def _together(self) -> dict[Hashable, Hashable]:
        """The group of each shape, one of its shapes: formulas that have several shapes join them."""
        found: dict[Hashable, Hashable] = {shape: shape for shape in self.program.shapes}
        for bound in self.program.features:
            groups = {found[x.shape] for x in bound.instances if x.shape in found}
            if len(groups) > 1:
                first = next(x.shape for x in bound.instances if x.shape in found)
                found.update({shape: found[first] for shape, group in list(found.items()) if group in groups})
        return found

    # ---- what cutting planes ask ----------------------------------------------------------------------------

    def start(self) -> Network:
        """Return the network with the ground clauses of one open literal alone, and those of whole shapes."""
        return self._network

    @cached_property
    def _network(self) -> Network:
        atoms = read_atoms(self.extent)
        evidence = violated_by_evidence(self.extent)
        pipeline = Pipeline(self.extent, AtomIndex(atoms.ids), evidence, memory_budget(self.program, len(atoms.ids)))
        pieces: list[GroundRows] = []
        for each in plans(self.extent, self._first):
            if each.use.shape in self.whole:
                check_limit(self.extent, each.use)
            pieces += pipeline.rows(each)
        network = replace(assemble(self.extent, atoms, pieces, evidence), partial=True)
        if self.check:
            check_evidence(self.extent, network.evidence_violated)
        return network

    def _first(self, bound: BoundShape, examples: TableName | None) -> GroundingQuery | None:
        """Plan what the start has of a shape."""
        return ground(bound, examples) if bound.shape in self.whole else few(bound, examples)

    @cached_property
    def complete(self) -> BoolArray:
        """The clauses all of whose ground clauses `start` returns, shape (m,)."""
        program = self.program
        later = {use.shape for use in self._uses() if may_be_long(use.bound) and use.shape not in self.whole}
        found = [all(x.shape not in later for x in program.features[f].instances) for f in program.feature_of]
        return np.array(found, dtype=np.bool_)

    def unsatisfied(self, world: BoolArray, wanted: npt.NDArray[np.int8], since: BoolArray | None = None) -> Network:
        """Return the network with the rows that `world` does not meet; `wanted` is 1 (to hold), -1 (to fail) or 0, by clause."""
        # Rows that the world `since` does not meet either may be left out.
        if since is not None and len(world) > MANY_ATOMS:
            changed = world != since
            if changed.sum() <= FEW_CHANGED * len(world):
                self._show(world)
                self._show(changed, self._changed, step="show to SQL what changed")
                return self._long_rows(x.newly for x in self._round(wanted))
        # The first world is often the one that was counted.
        known = self._met[2] if self._met[:2] == (world.tobytes(), wanted.tobytes()) else ()
        left = [x.unsatisfied for place, x in enumerate(self._round(wanted)) if place not in known]
        if left:
            self._show(world)
        return self._long_rows(left)

    def among(self, chosen: BoolArray, wanted: npt.NDArray[np.int8]) -> Network:
        """Return the network with the rows of two literals whose atoms are all `chosen`; `wanted` 1 and -1 are the same."""
        self._show(chosen)
        # Ground clauses of shapes with other literals, that the evidence makes false, are left out.
        return self._long_rows(x.pairs for x in self._round(wanted) if x.pairs is not None)

    def _long_rows(self, queries: Iterable[ShapePlan]) -> Network:
        """Return the network whose rows are those of some queries with two literals or more."""
        network = self._network
        none: Counts = np.zeros(len(network.clauses), dtype=object)
        budget = memory_budget(self.program, len(network.atoms))
        pipeline = Pipeline(self.extent, AtomIndex(network.atoms), none, budget)
        # Atoms and clauses are those of the start; rows are distinct, with their full multiplicities.
        pieces = [rows.split()[2] for each in queries for rows in pipeline.rows(each)]
        rows = in_order(by_clause(pieces), merge=True)
        long = NetworkRows(rows.starts(), rows.literals, np.array(rows.clause), np.array(rows.multiplicity))
        return replace(network, rows=long)

    def check_counts(self, asked: BoolArray) -> None:
        """Refuse, before there is a world, clauses that `counts` would refuse in every world."""
        # The fewer atoms are true, the less is enumerated.
        self._show(np.zeros(len(self._network.atoms), dtype=np.bool_))
        self._check(self._asked_shapes(asked))

    def counts(self, world: BoolArray, asked: BoolArray) -> Counts:
        """Return the exact n of the clauses asked for in a world, 0 for others; GroundingLimitError beyond the limit."""
        program, m = self.program, self.program.clause_count
        violated = np.zeros(m, dtype=object)
        if not asked.any():
            return violated
        self._show(world)
        uses = self._asked_shapes(asked)
        self._check(uses)
        for use in uses:
            for clause, n in run_counts(
                program, use, count_violated(use.bound, World(self._world), self.extent.examples)
            ):
                violated[clause] += n
        found: Counts = np.where(program.signs() > 0, self._network.total - violated, violated)
        return np.where(asked, found, 0)

    def describe(self, clause: int, literals: Sequence[int]) -> str:
        """Return a ground clause as text, with its constants."""
        return describer(self.program, self._network)(clause, literals)

    @cached_property
    def bounds(self) -> dict[Hashable, int]:
        """Bounds on `sizes` by the sizes of domains and tables, which need no query."""
        found = dict[Hashable, int]()
        for use in self._uses():
            if may_be_long(use.bound):
                group = self._together[use.shape]
                found[group] = found.get(group, 0) + self.extent.join_bound(use)
        return found

    @property
    def large(self) -> bool:
        """Whether there are so many atoms that counting `sizes` is work to be avoided."""
        layout, examples = self.program.layout, self.extent.example_count
        atoms = sum(info.atom_count for info in layout.predicates.values())
        share = 1 if examples is None else examples / max(layout.example_count, 1)
        return share * atoms > MANY_ATOMS

    @property
    def known_sizes(self) -> dict[Hashable, int]:
        """The `sizes`, or `bounds` where they are too much work and were not counted."""
        return self.bounds if self.large and "sizes" not in self.__dict__ else self.sizes

    @cached_property
    def sizes(self) -> dict[Hashable, int]:
        """Bounds on ground clauses of two literals or more, by group of shapes: from domain sizes if small, else joins."""
        found = dict[Hashable, int]()
        for use in self._uses():
            if may_be_long(use.bound):
                most = self.extent.domain_bound(use)
                group = self._together[use.shape]
                if most <= LITTLE:
                    found[group] = found.get(group, 0) + most
                    continue
                found[group] = found.get(group, 0) + sum(n for _, n in enumerations(self.extent, use)[0])
        return found

    def unmet(
        self, world: BoolArray, wanted: npt.NDArray[np.int8], most: Mapping[Hashable, int]
    ) -> dict[Hashable, int]:
        """Return how many ground clauses a world does not meet, by group of shapes, counting to `most` + 1 for each shape."""
        self._show(world)
        found, met = dict.fromkeys(self.bounds, 0), list[int]()
        for place, each in enumerate(x.unsatisfied for x in self._round(wanted)):
            shape, times = self._together[each.use.shape], max(len(each.clauses), 1)
            # Rows that merge count each, and so do those whose literals merge into one.
            rows = subquery(exp.select(integer(1)).from_(subquery(each.plan.query, "u")).limit(most[shape] + 1), "m")
            query = exp.select(named(star_count(), "n")).from_(rows)
            data = self.program.engine.fetch(query, step=f"count what a world does not meet of {each.use.shape}")
            size = int(data.column(0)[0].as_py())
            found[shape] += times * size
            if not size:
                met.append(place)
        self._met = (world.tobytes(), wanted.tobytes(), frozenset(met))
        return found

    def open_counts(self) -> Counts:
        """Return `Network.open` of full grounding, shape (m,); all ground clauses pass by in batches, and none is kept."""
        none, opened = (np.zeros(self.program.clause_count, dtype=object) for _ in range(2))
        for rows in ground_clauses(self.extent, self._network.atoms, none):
            add_per_clause(opened, rows.take(rows.length > 0))
        return opened

    # ---- queries ---------------------------------------------------------------------------------------------

    def _uses(self) -> Iterator[ShapeUse]:
        """Yield the shapes that have an open literal."""
        yield from (use for use in self.program.shapes.values() if use.bound.is_open)

    def _asked_shapes(self, asked: BoolArray) -> list[ShapeUse]:
        """Return the shapes of clauses."""
        program = self.program
        features = {program.feature_of[clause] for clause in np.flatnonzero(asked).tolist()}
        shapes = dict.fromkeys(x.shape for feature in features for x in program.features[feature].instances)
        return [program.shapes[shape] for shape in shapes]

    def _check(self, uses: Sequence[ShapeUse]) -> None:
        """Refuse to count shapes in the world that is shown if that would enumerate more groundings than the limit."""
        for use in uses:
            check_count(self.extent, use, World(self._world))

    def _show(self, world: BoolArray, name: TableName | None = None, *, step: str = "show a world to SQL") -> None:
        """Show the true atoms of a world to SQL."""
        true = pa.table({"atom": pa.array(self._network.atoms[world], pa.int64())})
        self.program.engine.create_table(name or self._world, true, step=step)

    def _round(self, wanted: npt.NDArray[np.int8]) -> list[_Queries]:
        """Return the queries of a round; they are planned once for all rounds."""
        key = wanted.tobytes()
        if key not in self._planned:
            self._planned[key] = [x for use in self._uses() for x in self._plan(use, wanted)]
        return self._planned[key]

    def _plan(self, use: ShapeUse, wanted: npt.NDArray[np.int8]) -> Iterator[_Queries]:
        if use.shape in self.whole or not may_be_long(use.bound):
            return
        if use.parameters is not None:
            tables = self._by_wish(use.parameters, wanted)
            if tables:
                yield self._both(use, tables, ())
            return
        for ought in (HOLD, FAIL):
            mine = tuple(clause for clause in use.clauses if wanted[clause] == ought)
            if mine:
                yield self._both(use, {ought: None}, mine)

    def _both(self, use: ShapeUse, clauses: Mapping[int, TableName | None], ids: tuple[int, ...]) -> _Queries:
        tables = {ought: use.bound.with_parameters(parameters) for ought, parameters in clauses.items()}
        return _Queries(use, tables, ids, self._world, lambda: self._changed, self.extent.examples)

    def _by_wish(self, parameters: TableName, wanted: npt.NDArray[np.int8]) -> dict[int, TableName | None]:
        """Split a parameter table into the clauses whose ground clauses ought to hold, and those whose ought to fail."""
        program, source = self.program, table(parameters, "p")
        ids = exp.select(column("clause", "p")).from_(source)
        found = wanted[program.engine.fetch(ids, step="read the clauses of a shape").column(0).to_numpy()]
        present = {ought: int((found == ought).sum()) for ought in (HOLD, FAIL)}
        tables = dict[int, TableName | None]()
        with program.rows_table(pa.table({"clause": np.arange(len(wanted)), "wanted": wanted})) as name:
            for ought, size in present.items():
                if size == len(found):
                    tables[ought] = parameters
                elif size:
                    on = exp.EQ(this=column("clause", "s"), expression=column("clause", "p"))
                    mine = exp.select(exp.Column(this=exp.Star(), table=exp.to_identifier("p", quoted=True)))
                    mine = mine.from_(source.copy()).join(table(name, "s"), on=on)
                    mine = mine.where(exp.EQ(this=column("wanted", "s"), expression=integer(ought)))
                    tables[ought] = program.constants.scratch("wanted", mine)
        return tables
