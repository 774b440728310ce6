"""Relational paths held against data: which sequences of relations connect labelled target atoms, and how many of them, in a few queries for all."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import count, pairwise
from types import TracebackType
from typing import Literal, Self

import numpy as np
import pyarrow as pa
from sqlglot import exp

from sqlrl.catalog.layout import Layout, PredicateInfo, TableName
from sqlrl.distinct import distinct
from sqlrl.engine.base import QueryEngine
from sqlrl.errors import GroundingLimitError, InputError, ModelError, Parameter, UnsupportedError
from sqlrl.ground.coverage import constant_names
from sqlrl.ground.network import BoolArray, IntArray
from sqlrl.logic.lexer import nearest
from sqlrl.plan.paths import (
    LARGEST_CODE,
    Frontier,
    Numbering,
    PathRelation,
    PathSearch,
    busiest_entity,
    count_walks,
    edges_both_ways,
    fact_edges,
    fact_marks,
    labelled_atoms,
    next_frontier,
    own_facts,
    passed_columns,
    path_supports,
    path_walks,
    relations,
    stopped_supports,
    stopped_walks,
    summed_supports,
    target_counts,
    target_ends,
    target_pairs,
)
from sqlrl.progress import Stage
from sqlrl.wording import counted

MOST_WALKS = 100_000_000
"""Walks that one step makes, or that meet, before anything is aggregated: about ten seconds of two cores, and a few gigabytes."""

AT_ONCE = 20_000_000
"""Walks that are made distinct by one query at the most."""

WALK_BYTES = 100
"""What a walk takes while walks are made distinct: fewer at once are made where the database has little memory."""

FEWER_WALKS = f"lower {Parameter('length')}, leave predicates out that reach nearly everything ({Parameter('predicates')}), give fewer targets, or raise {Parameter('limit')}"
"""What helps against too many walks."""

Anchor = Literal["both", "start", "stop"]
ANCHORS: tuple[Anchor, ...] = ("both", "start", "stop")
"""Which ends of a target a path has: both, or one, where it stops at a constant."""

_numbers = count(1)


# ---- values ------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class LabelledPairs:
    """Target atoms whose labels are known: `arguments`, shape (n, 2), ids of constants; `positive` (n,); `example` (n,) if atoms have one."""

    arguments: IntArray
    positive: BoolArray
    example: IntArray | None = None

    def __post_init__(self) -> None:
        n = len(self.positive)
        if self.arguments.shape != (n, 2) or (self.example is not None and self.example.shape != (n,)):
            raise InputError(
                f"targets have arguments of the shape {self.arguments.shape} and {counted(n, 'label')}: expected two constants for each label"
            )
        found = distinct([*self.arguments.T, *([] if self.example is None else [self.example])])
        if len(found) < n:
            pair = tuple(self.arguments[found.first[np.argmax(found.counts > 1)]].tolist())
            raise InputError(f"the pair {pair} is a target twice: give each pair of constants once, with one label")

    def __len__(self) -> int:
        return len(self.positive)

    def table(self) -> pa.Table:
        """Return the atoms as `plan.paths.labelled_atoms` selects them."""
        columns = {
            "target": pa.array(np.arange(len(self)), pa.int64()),
            "positive": pa.array(self.positive.astype(bool)),
            "a0": pa.array(self.arguments[:, 0].astype(np.int32)),
            "a1": pa.array(self.arguments[:, 1].astype(np.int32)),
        }
        if self.example is not None:
            columns["example"] = pa.array(self.example.astype(np.int32))
        return pa.table(columns)


@dataclass(frozen=True, eq=False)
class PathSupports:
    """How many targets each of m paths connects, ordered by anchor, length and relations."""

    relations: tuple[PathRelation, ...]
    anchor: IntArray  # shape (m,), indices into `ANCHORS`
    length: IntArray  # shape (m,)
    steps: IntArray  # shape (m, longest), indices into `relations` in the direction of the target; -1 beyond
    constant: IntArray  # shape (m,), the entity at which a path stops; -1 if there is none
    positive: IntArray  # shape (m,), distinct targets with this label, as `negative`
    negative: IntArray
    walks: int  # walks that met in the search

    def __len__(self) -> int:
        return len(self.length)

    def path(self, place: int) -> tuple[PathRelation, ...]:
        """Return the relations of a path."""
        return tuple(self.relations[i] for i in self.steps[place, : self.length[place]].tolist())


@dataclass(frozen=True)
class _Found:
    """Paths of one anchor and length, as a table of their supports has them."""

    anchor: int
    length: int
    data: pa.Table


# ---- scratch tables ------------------------------------------------------------------------------------


class _Scratch:
    """The tables of a search, and how many statements have made and read them."""

    def __init__(self, engine: QueryEngine, place: tuple[str, str]) -> None:
        self._engine, self._place = engine, place
        self.tables, self.statements = set[TableName](), 0

    def create(self, kind: str, data: pa.Table | exp.Expr) -> TableName:
        """Create a table."""
        name = TableName(*self._place, f"paths_{kind}_{next(_numbers)}")
        # Known before it is there: Ctrl-C may come at any time.
        self.tables.add(name)
        self.statements += 1
        self._engine.create_table(name, data, step=f"create a scratch table of paths ({kind})")
        return name

    def append(self, name: TableName, query: exp.Expr, step: str) -> None:
        """Add rows to a table."""
        self.statements += 1
        self._engine.append(name, query, step=step)

    def fetch(self, query: exp.Expr, step: str) -> pa.Table:
        """Return the rows of a query."""
        self.statements += 1
        return self._engine.fetch(query, step=step)

    def drop(self, *names: TableName) -> None:
        """Drop tables."""
        for name in names:
            self._engine.drop_table(name, step="drop scratch tables")
            self.tables.discard(name)


# ---- the search ----------------------------------------------------------------------------------------


class RelationalPaths:
    """The graph of a layout's facts around the labelled atoms of a target of two arguments."""

    def __init__(
        self,
        engine: QueryEngine,
        layout: Layout,
        target: str,
        targets: LabelledPairs | None = None,  # by default the query atoms that have a label
        *,
        examples: TableName | None = None,  # those whose atoms count, if `targets` are not given
        predicates: Iterable[str] | None = None,  # those whose facts are the graph; all by default
        symmetric: bool = False,  # paths connect a target from either end, and the reversed fact is its own as well
        limit: int | None = None,  # most walks that a step makes
    ) -> None:
        self.engine, self.layout, self.target = engine, layout, target
        self.symmetric, self.limit = symmetric, MOST_WALKS if limit is None else limit
        info = _checked(layout, target, targets, symmetric)
        # Facts of closed predicates and, of open ones and the target, given ones; labels are never in the graph. Truths
        # between 0 and 1 are rounded, 0.5 and above to 1.
        names = _graph(layout, predicates)
        self.relations = relations(layout, names)
        self.numbering = Numbering.of(layout, {*names, target})
        self._scratch = _Scratch(engine, layout.scratch)
        try:
            with Stage("read the graph"):
                half = self._scratch.create("facts", fact_edges(layout, self.numbering, self.relations))
                self._edges = self._scratch.create("edges", edges_both_ways(half))
                self._scratch.drop(half)
                self._marks = self._scratch.create("marks", fact_marks(layout, self.numbering, self.relations))
                atoms = self._scratch.create(
                    "atoms", labelled_atoms(info, examples) if targets is None else targets.table()
                )
                pairs = target_pairs(atoms, info, layout, self.numbering, symmetric=symmetric)
                self._pairs = self._scratch.create("pairs", pairs)
                self._scratch.drop(atoms)
                self._ends = [self._scratch.create(end, target_ends(self._pairs, end)) for end in ("first", "last")]
                data = self._scratch.fetch(target_counts(self._pairs), "count the targets")
            labels = dict(zip(data.column("positive").to_pylist(), _integers(data, "n").tolist(), strict=True))
            self.positives, self.negatives = labels.get(True, 0), labels.get(False, 0)
            # Targets that are given may be facts of the graph all the same: they have walks that do without that fact.
            self._own = self._own_relation()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Drop the scratch tables."""
        self._scratch.drop(*self._scratch.tables)

    @property
    def statements(self) -> int:
        """How many queries have made and read tables so far."""
        return self._scratch.statements

    @property
    def types(self) -> Mapping[str, tuple[str, ...]]:
        """The types of the arguments of each predicate."""
        return {name: info.types for name, info in self.layout.predicates.items()}

    def constants(self, entities: Iterable[int]) -> dict[int, str]:
        """Return the names of entities."""
        groups: dict[str, dict[int, int]] = {}
        for entity in entities:
            kind, number = self.numbering.constant(entity)
            groups.setdefault(kind, {})[number] = entity
        found: dict[int, str] = {}
        for kind, members in sorted(groups.items()):
            self._scratch.statements += 1
            names = constant_names(self.engine, self.layout, kind, members)
            found |= {members[number]: name for number, name in names.items()}
        return found

    def supports(
        self,
        length: int,
        *,
        min_targets: int = 1,  # positive and negative ones together
        simple: bool = True,  # leave out walks that visit an entity twice
        constant_length: int = 0,  # most literals of paths from one end of a target to a constant; 0 for none
    ) -> PathSupports:
        """Return the paths of up to `length` steps that connect enough targets; too many walks are a GroundingLimitError."""
        self._check_codes(max(length, constant_length))
        ends = {"starts": self._ends[0], "stops": self._ends[1]}
        search = PathSearch(
            self._edges, self._marks, self._pairs, **ends, relations=len(self.relations), simple=simple, least=min_targets,
            target_relation=self._own, symmetric=self.symmetric,
        )  # fmt: skip
        run = _Run(self, self._scratch, search)
        try:
            with Stage("look for paths") as stage:
                run.connect(length, stage)
                run.stop(constant_length, stage)
            return run.found()
        finally:
            run.close()

    # ---- what a run does in the database -----------------------------------------------------------------

    def _own_relation(self) -> int | None:
        """Return the number of the target's relation if targets are facts of the graph."""
        relation = PathRelation(self.target, 0, 1)
        if relation not in self.relations:
            return None
        number = self.relations.index(relation)
        own = self._scratch.fetch(own_facts(self._pairs, self._edges, number), "look for targets that are facts")
        return number if int(_integers(own, "n")[0]) else None

    def _check_codes(self, length: int) -> None:
        base, most = max(len(self.relations), 2), 0
        while base ** (most + 1) <= LARGEST_CODE:
            most += 1
        if length > most:
            raise InputError(
                f"{Parameter('length', length)}: paths over {counted(len(self.relations), 'relation')} have numbers of 64 bits up to a length of {most}: lower "
                f"it, or leave predicates out ({Parameter('predicates')})"
            )


class _Run:
    """One search: its frontiers, and the supports of the paths of one anchor and length after the other."""

    def __init__(self, paths: RelationalPaths, scratch: _Scratch, search: PathSearch) -> None:
        self._paths, self._scratch, self._search = paths, scratch, search
        self._before = frozenset(scratch.tables)
        self._found: list[_Found] = []
        self._walks = 0

    def close(self) -> None:
        """Drop the scratch tables."""
        self._scratch.drop(*(self._scratch.tables - self._before))

    def connect(self, length: int, stage: Stage) -> None:
        """Find the paths that connect both ends: half of the steps from one of them, half from the other."""
        first = self._step(self._origin(True), 0)
        self._meet(first, None)
        stage.advance(note="paths of 1 step")
        if length == 1:
            return
        last = self._step(self._origin(False), 0)
        deep, shallow = [last], [first]
        if length > 2 and self._goes_deep(first, last, odd=length % 2 == 1):
            deep, shallow = shallow, deep
        for levels, most in ((shallow, length // 2), (deep, -(-length // 2))):
            while len(levels) < most:
                stage.advance(note=f"walks of {counted(len(levels) + 1, 'step')}")
                met = shallow[most - 2 : most] if levels is deep and len(levels) + 1 == most else []
                levels.append(self._step(levels[-1], self._witnesses(most, length), [x.table for x in met]))
        for steps in range(2, length + 1):
            one, other = deep[-(-steps // 2) - 1], shallow[steps // 2 - 1]
            self._meet(*((one, other) if one.forward else (other, one)))
            stage.advance(note=f"paths of {counted(steps, 'step')}")

    def stop(self, length: int, stage: Stage) -> None:
        """Find the paths of so many literals from one end to a constant; a symmetric target has the same from both."""
        for forward in () if not length else (True,) if self._search.symmetric else (True, False):
            walks = self._origin(forward)
            for literals in range(1, length + 1):
                self._check(walks, [], stopping=True)
                kept = None if self._passing and literals > 2 else self._own_witnesses
                query = next_frontier(self._search, walks, kept, stopping=True)
                table = self._scratch.create("stops", query)
                self._end(Frontier(table, literals, forward, passed_columns(literals, kept)))
                self._scratch.drop(table)
                stage.advance(note=f"paths of {counted(literals, 'literal')} to constants")
                if literals < length:
                    walks = self._step(walks, None if self._passing else 0)

    def found(self) -> PathSupports:
        """Return what was found."""
        longest = max((each.length for each in self._found), default=1)
        base, parts = self._search.relations, []
        for each in self._found:
            code = _integers(each.data, "path")
            steps = np.full((len(code), longest), -1, dtype=np.int64)
            for place in reversed(range(each.length)):
                code, steps[:, place] = np.divmod(code, base)
            none = np.full(len(code), -1, dtype=np.int64)
            constant = none if each.anchor == 0 else _integers(each.data, "constant")
            counts = (_integers(each.data, name) for name in ("positive", "negative"))
            parts.append((none * 0 + each.anchor, none * 0 + each.length, steps, constant, *counts))
        anchor, length, steps, constant, positive, negative = (np.concatenate(x) for x in zip(*parts, strict=True))
        return PathSupports(self._paths.relations, anchor, length, steps, constant, positive, negative, self._walks)

    # ---- frontiers ---------------------------------------------------------------------------------------

    @property
    def _passing(self) -> bool:
        """Whether it matters what walks have passed."""
        return self._search.simple or self._search.target_relation is not None

    @property
    def _own_witnesses(self) -> int:
        """How many witnesses tell whether walks can do without the target's own fact: its ends are what they may have to avoid."""
        if self._search.target_relation is None:
            return 0
        return 2 if self._search.simple else 3

    def _witnesses(self, most: int, length: int) -> int | None:
        """Return how many witnesses frontiers have of `most` steps, and those on the way to them, for paths of up to a length."""
        if most > 2:
            return None if self._passing else 0
        # Of a path of n steps, n - 2 entities are to be avoided: the other end, and what the other walk has passed.
        return length - 1 if self._search.simple else self._own_witnesses

    def _origin(self, forward: bool) -> Frontier:
        return Frontier(self._search.starts if forward else self._search.stops, 0, forward)

    def _goes_deep(self, first: Frontier, last: Frontier, *, odd: bool) -> bool:
        """Tell whether walks from the first entities are those that go further, or, of walks of equal lengths, come last."""
        one, other = (
            self._walks_of(count_walks(self._search, a, [b.table])) for a, b in ((first, last), (last, first))
        )
        return one < other if odd else other < one

    def _step(self, old: Frontier, witnesses: int | None, reached: list[TableName] | None = None) -> Frontier:
        """Make the frontier of one step more, if its walks are not too many."""
        met = reached or []
        self._check(old, met)
        table = self._scratch.create("frontier", next_frontier(self._search, old, witnesses, met))
        return Frontier(table, old.steps + 1, old.forward, passed_columns(old.steps + 1, witnesses))

    def _walks_of(self, query: exp.Select) -> int:
        # It need not fit into 64 bits.
        return int(self._scratch.fetch(query, "count walks").column("n").to_pylist()[0])

    def _check(self, old: Frontier, reached: list[TableName], *, stopping: bool = False) -> None:
        """Refuse a step that makes too many walks; which they are, is known before it is made."""
        n = self._walks_of(count_walks(self._search, old, reached, stopping=stopping))
        if n > self._paths.limit:
            query = busiest_entity(self._search, old, reached, stopping=stopping)
            (row,) = self._scratch.fetch(query, "look for the entity with most walks").to_pylist()
            (name,) = self._paths.constants([int(row["entity"]) % self._paths.numbering.total]).values()
            end = "first" if old.forward else "last"
            raise GroundingLimitError(
                f"there are {counted(n, 'walk')} of {counted(old.steps + 1, 'step')} from the {end} arguments of {self._paths.target}, "
                f"{int(row['n']):,} of them through {name}; the limit is {self._paths.limit:,}: {FEWER_WALKS}"
            )

    # ---- supports ----------------------------------------------------------------------------------------

    def _meet(self, one: Frontier, other: Frontier | None) -> None:
        """Count the targets that two frontiers connect, or one alone."""
        length = one.steps + (other.steps if other is not None else 0)
        parts = self._parts(path_walks(self._search, one, other), length)
        queries = [path_supports(self._search, one, other, part) for part in parts]
        self._count(0, length, queries, ["path"])

    def _end(self, walks: Frontier) -> None:
        """Count the targets from which walks go to constants."""
        parts = self._parts(stopped_walks(self._search, walks), walks.steps)
        constants = self._paths.numbering.total
        queries = [stopped_supports(self._search, walks, constants, part) for part in parts]
        self._count(1 if walks.forward else 2, walks.steps, queries, ["path", "constant"])

    def _parts(self, size: exp.Select, length: int) -> list[tuple[int, int] | None]:
        """Cut the targets so that each part has no more walks than fit into the memory; none if all of them do."""
        data = self._scratch.fetch(size, "count walks that meet")
        number, n = _integers(data, "number"), data.column("n").cast(pa.float64()).to_numpy()
        total = float(n.sum())
        if total > self._paths.limit:
            raise GroundingLimitError(
                f"{int(total):,} walks of {counted(length, 'step')} connect targets of {self._paths.target}; the limit is "
                f"{self._paths.limit:,}: {FEWER_WALKS}"
            )
        self._walks += int(total)
        most = max(min(AT_ONCE, self._paths.engine.memory.share() // WALK_BYTES), 1)
        if total <= most:
            return [None]
        cut = np.flatnonzero(np.diff((np.cumsum(n) - n) // most)) + 1
        places = [int(number[0]), *number[cut].tolist(), int(number[-1]) + 1]
        return list(pairwise(places))

    def _count(self, anchor: int, length: int, queries: list[exp.Select], keys: list[str]) -> None:
        supports = self._scratch.create("supports", queries[0])
        with Stage(f"paths of {counted(length, 'step')}", len(queries), even=True) as stage:
            stage.advance()
            for query in queries[1:]:
                self._scratch.append(supports, query, "count the targets that paths connect")
                stage.advance()
        data = self._scratch.fetch(summed_supports(supports, keys, self._search.least), "add up the targets of paths")
        self._found.append(_Found(anchor, length, data))
        self._scratch.drop(supports)


def _checked(layout: Layout, target: str, targets: LabelledPairs | None, symmetric: bool) -> PredicateInfo:
    """Return what is known of the target; refuse one that has no pairs."""
    info = layout.predicates.get(target)
    if info is None:
        raise ModelError(f"there is no predicate {target!r}{nearest(target, layout.predicates) or ': load its facts'}")
    shown = f"{target}({', '.join(info.types)})"
    if len(info.types) != 2:
        raise UnsupportedError(
            f"{shown} has {counted(len(info.types), 'argument')}: a path connects two; take a target of two arguments, or a view of two columns"
        )
    if symmetric and info.types[0] != info.types[1]:
        raise ModelError(
            f"{shown} has arguments of two types, so that it cannot be symmetric: leave {Parameter('symmetric')} out"
        )
    if targets is None and not info.open:
        raise ModelError(
            f"{target} is closed, and has no labels: load its facts as those of a target, or give {Parameter('targets')}"
        )
    if targets is not None and info.example_column != (targets.example is not None):
        has, given = ("an", "has not") if info.example_column else ("no", "has")
        raise InputError(
            f"{target} has {has} example for each atom, and {Parameter('targets')} {given}: give {Parameter('example')} where atoms have one, and only there"
        )
    return info


def _graph(layout: Layout, predicates: Iterable[str] | None) -> list[str]:
    """Return the predicates whose facts are the graph."""
    if predicates is None:
        return sorted(name for name, info in layout.predicates.items() if not info.open or info.has_given)
    names = sorted(set(predicates))
    for name in names:
        if name not in layout.predicates:
            hint = nearest(name, layout.predicates) or "; give some of those that are loaded"
            raise ModelError(f"{Parameter('predicates')} has {name!r}, which is no predicate of the data{hint}")
    return names


def _integers(data: pa.Table, name: str) -> IntArray:
    return np.asarray(data.column(name).cast(pa.int64()).to_numpy(), dtype=np.int64)
