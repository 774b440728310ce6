"""Candidates of a structure learner held against data: what the labels say where their evidence holds, for all of them by a few queries.

Names of predicates are constants here: closed predicates of one signature are one relation of the name and the arguments, so that candidates
that differ in predicates alone are clauses of one shape, and one query counts them all.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import count
from typing import Self

import numpy as np
import pyarrow as pa
from sqlglot import exp

from sqlrl.catalog.layout import Layout, PredicateInfo, TableName, TypeInfo
from sqlrl.engine.base import QueryEngine
from sqlrl.engine.nodes import cast, column, integer, named, table, union_all
from sqlrl.errors import CountOverflowError, ModelError, OverflowEngineError, Parameter, UnsupportedError
from sqlrl.ground.binding import CompiledRules, bind_program
from sqlrl.ground.counts import run_counts
from sqlrl.ground.network import IntArray
from sqlrl.ground.program import Program, ShapeUse
from sqlrl.logic.candidates import Candidate, targets_of
from sqlrl.logic.model import Model
from sqlrl.logic.rules import Rule
from sqlrl.logic.shapes import Instance, ShapeLiteral
from sqlrl.logic.terms import (
    And,
    Argument,
    Atom,
    Constant,
    Equal,
    EqualityLiteral,
    Formula,
    Literal,
    Not,
    Predicate,
    Variable,
)
from sqlrl.plan.bounds import enumerated
from sqlrl.plan.grounding import open_literals
from sqlrl.plan.joint_counts import joint_counts

NAME = "$predicate"
"""The type of names of predicates; no model can declare it."""

MOST_LITERALS = 6
"""Query literals of a candidate: it has a count for each pattern of their truth values."""

_numbers = count(1)


# ---- counts ------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class JointCounts:
    """How often the query literals of m candidates had each pattern of labels where their evidence holds."""

    # Distinct tuples of atoms, shape (m, 2 ** most literals): bit i of a column is the label of the atom of the
    # candidate's i-th query literal, whatever its sign.
    n: IntArray
    groundings: IntArray  # the same shape, groundings of the evidence that select them

    @classmethod
    def none(cls, candidates: Sequence[Candidate]) -> Self:
        """Return the counts of no data."""
        most = max((len(each.enforcer) for each in candidates), default=0)
        return cls(*(np.zeros((len(candidates), 1 << most), dtype=np.int64) for _ in range(2)))

    def __add__(self, other: JointCounts) -> JointCounts:
        """Return the counts of both; those that do not fit into 64 bits are a CountOverflowError."""
        return JointCounts(_added(self.n, other.n), _added(self.groundings, other.groundings))


def _added(left: IntArray, right: IntArray) -> IntArray:
    if (left > np.iinfo(np.int64).max - right).any():
        raise CountOverflowError(
            "the groundings of a candidate do not fit into 64 bits: leave out literals that multiply them"
        )
    return left + right


# ---- names of predicates as constants ------------------------------------------------------------------


@dataclass(frozen=True)
class _Relation:
    """The closed predicates of one signature."""

    name: str
    types: tuple[str, ...]
    example_column: bool
    members: tuple[PredicateInfo, ...]

    def info(self, view: TableName) -> PredicateInfo:
        """Return what a layout says of it."""
        rows = sum(each.rows for each in self.members)
        return PredicateInfo(self.name, (NAME, *self.types), False, view, example_column=self.example_column, rows=rows)

    def query(self, ids: Mapping[str, int]) -> exp.Query:
        """Select the facts of all members: the id of the name as `a0`, and the arguments after it."""
        parts = []
        for each in self.members:
            first = [column("example")] if self.example_column else []
            outputs = [*first, named(cast(integer(ids[each.name]), "INT"), "a0")]
            outputs += [named(column(f"a{i}"), f"a{i + 1}") for i in range(len(self.types))]
            parts.append(exp.select(*outputs).from_(table(each.facts)))
        return union_all(parts)


def _relations(layout: Layout, names: Sequence[str]) -> list[_Relation]:
    groups: dict[tuple[tuple[str, ...], bool], list[PredicateInfo]] = {}
    for name in names:
        info = layout.predicates[name]
        groups.setdefault((info.types, info.example_column), []).append(info)
    return [
        _Relation(f"$relation{i}", types, column_, tuple(members))
        for i, ((types, column_), members) in enumerate(groups.items())
    ]


# ---- candidates --------------------------------------------------------------------------------------


class CandidateProgram:
    """Candidates bound to a layout, with one query for each of their shapes; `statements` counts the queries so far."""

    def __init__(self, engine: QueryEngine, layout: Layout, candidates: Sequence[Candidate]) -> None:
        self.engine, self.candidates, self.statements = engine, tuple(candidates), 0
        number = next(_numbers)
        self._views, self._tables = list[TableName](), list[TableName]()
        self._program: Program | None = None
        names = sorted({x.predicate for each in candidates for x in each.selector if isinstance(x, Literal)})
        _check(layout, candidates, names)
        relations = _relations(layout, names)
        self._relation = {each.name: relation.name for relation in relations for each in relation.members}
        ids = {name: i for i, name in enumerate(names)}
        try:
            known = dict(layout.predicates)
            for i, relation in enumerate(relations):
                view = TableName(*layout.scratch, f"scratch_relation_{number}_{i}")
                self._views.append(view)
                engine.create_view(view, relation.query(ids), step="show predicates of one signature as one relation")
                known[relation.name] = relation.info(view)
            dictionary = TableName(*layout.scratch, f"scratch_predicates_{number}")
            self._tables.append(dictionary)
            listed = pa.table({"id": pa.array(range(len(names)), pa.int32()), "name": pa.array(names, pa.string())})
            engine.create_table(dictionary, listed, step="list the predicates of candidates")
            types = {**layout.types, NAME: TypeInfo(NAME, dictionary, len(names))}
            self.layout = replace(layout, predicates=known, types=types)
            self._program = self._bound(relations)
        except BaseException:
            self.close()
            raise
        self._bits = [self._order(i) for i in range(len(self.candidates))]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Drop the scratch tables."""
        if self._program is not None:
            self._program.close()
        for view in self._views:
            self.engine.drop_view(view, step="drop scratch tables")
        for name in self._tables:
            self.engine.drop_table(name, step="drop scratch tables")
        self._program = None
        self._views.clear()
        self._tables.clear()

    @property
    def program(self) -> Program:
        """The program, whose clause i is candidate i; a candidate whose literals contradict each other has none."""
        assert self._program is not None, "it is open"
        return self._program

    @property
    def shapes(self) -> int:
        """How many queries count all candidates."""
        return len(self.program.shapes)

    def queries(self, examples: TableName | None = None) -> Iterator[tuple[exp.Select, dict[int, int]]]:
        """Yield each shape's counting query, and how many groundings its joins enumerate for each candidate."""
        for use in self.program.shapes.values():
            # This is counted without being enumerated, and bounds what the query goes through before it aggregates.
            size, *_ = enumerated(use.bound, examples)
            yield (
                joint_counts(use.bound, examples, alone=not _of_names(use)),
                dict(run_counts(self.program, use, size.query)),
            )

    def counts(self, examples: TableName | None = None) -> JointCounts:
        """Count the labels where each candidate's evidence holds; a count beyond 64 bits is a CountOverflowError."""
        found = JointCounts.none(self.candidates)
        uses = list(self.program.shapes.values())
        plans = [joint_counts(use.bound, examples, alone=not _of_names(use)) for use in uses]
        with self._steps_in_common(plans):
            for use, plan in zip(uses, plans, strict=True):
                self._count(use, plan, found)
        return found

    # ---- building ------------------------------------------------------------------------------------------

    def _bound(self, relations: Sequence[_Relation]) -> Program:
        """Bind the candidates as rules; an error about one of them shows it as it is."""
        try:
            return bind_program(self.engine, self.layout, self._model(relations), known=CompiledRules())
        except (ModelError, UnsupportedError) as error:
            shown = re.sub(r"\$relation\d+\(\"?([^\",()]+)\"?(?:, )?", r"\1(", str(error))
            raise type(error)(shown) from error

    def _model(self, relations: Sequence[_Relation]) -> Model:
        """Return the candidates as rules over relations."""
        predicates = {r.name: Predicate(r.name, tuple(map(Argument, (NAME, *r.types)))) for r in relations}
        targets = targets_of(self.candidates)
        for name in sorted(targets):
            info = self.layout.predicates[name]
            predicates[name] = Predicate(name, tuple(map(Argument, info.types)))
        rules = tuple(Rule(self._formula(each), weight=0.0) for each in self.candidates)
        return Model(predicates, rules=rules, query=targets)

    def _formula(self, candidate: Candidate) -> Formula:
        """Return the conjunction with all query literals positive: what is counted are the labels of their atoms."""
        parts = [self._part(x) for x in candidate.selector]
        parts += [Atom(x.predicate, x.terms) for x in candidate.enforcer]
        return parts[0] if len(parts) == 1 else And(tuple(parts))

    def _part(self, literal: Literal | EqualityLiteral) -> Formula:
        found: Formula
        if isinstance(literal, EqualityLiteral):
            found = Equal(literal.left, literal.right)
        else:
            found = Atom(self._relation[literal.predicate], (Constant(literal.predicate), *literal.terms))
        return found if literal.positive else Not(found)

    def _order(self, candidate: int) -> tuple[int, ...]:
        """Return which query literal of a candidate each open literal of its shape is."""
        instances = self.program.features[candidate].instances
        if not instances:
            return ()  # its literals contradict each other
        (instance,) = instances
        wanted = [(x.predicate, x.terms) for x in self.candidates[candidate].enforcer]
        opened = open_literals(self.program.shapes[instance.shape].bound)
        return tuple(wanted.index((x.predicate, _terms(x, instance))) for x in opened)

    # ---- counting ------------------------------------------------------------------------------------------

    @contextmanager
    def _steps_in_common(self, plans: Sequence[exp.Select]) -> Iterator[None]:
        """Make the first steps that several queries have once, as scratch tables while the context is open; the queries are changed."""
        having: dict[str, list[tuple[exp.Select, exp.CTE]]] = {}
        for plan in plans:
            steps = plan.ctes
            names = {step.alias for step in steps}
            for step in steps:
                if not any(node.name in names for node in step.this.find_all(exp.Table)):
                    having.setdefault(step.this.sql(), []).append((plan, step))
        made: list[TableName] = []
        try:
            for users in (users for users in having.values() if len(users) > 1):
                name = TableName(*self.layout.scratch, f"scratch_step_{next(_numbers)}")
                made.append(name)
                self.engine.create_table(
                    name, users[0][1].this.copy(), step="count what several candidates have in common"
                )
                self.statements += 1
                for plan, step in users:
                    _replace_step(plan, step, name)
            yield
        finally:
            for name in made:
                self.engine.drop_table(name, step="drop scratch tables")

    def _count(self, use: ShapeUse, plan: exp.Select, found: JointCounts) -> None:
        try:
            data = self.engine.fetch(plan, step=f"count the labels of {use.shape}")
            self.statements += 1
            rows = [data.column(name).cast(pa.int64()).to_numpy() for name in ("pattern", "n", "groundings")]
        except (OverflowEngineError, pa.ArrowInvalid) as error:
            first = next(
                i for i, f in enumerate(self.program.features) if any(x.shape == use.shape for x in f.instances)
            )
            raise CountOverflowError(
                f"the groundings of a candidate such as {self.candidates[first]} do not fit into 64 bits: leave out literals that multiply "
                "them"
            ) from error
        pattern, n, groundings = rows
        if use.parameters is None:
            clauses = np.repeat(np.array(use.clauses, dtype=np.int64), len(pattern))
            pattern, n, groundings = (np.tile(x, len(use.clauses)) for x in rows)
        else:
            clauses = data.column("clause").to_numpy()
        moved = np.array(
            [self._moved(self._bits[c], p) for c, p in zip(clauses.tolist(), pattern.tolist(), strict=True)], np.int64
        )
        np.add.at(found.n, (clauses, moved), n)
        np.add.at(found.groundings, (clauses, moved), groundings)

    @staticmethod
    def _moved(bits: Sequence[int], pattern: int) -> int:
        """Return a pattern of the shape's literals as one of the candidate's."""
        return sum(((pattern >> i) & 1) << bit for i, bit in enumerate(bits))


def _of_names(use: ShapeUse) -> bool:
    """Return whether names of predicates are the only constants of a shape's clauses: then most facts are those of some clause."""
    return all(kind == NAME for kind in use.shape.parameters)


def _replace_step(plan: exp.Select, step: exp.CTE, made: TableName) -> None:
    """Let a query read a table in place of one of its steps."""
    for node in plan.find_all(exp.Table):
        if node.name == step.alias and not node.db:
            node.replace(table(made, node.alias_or_name))
    clause = step.parent
    step.pop()
    if clause is not None and not clause.expressions:
        clause.pop()


def _terms(literal: ShapeLiteral, instance: Instance) -> tuple[Variable | Constant, ...]:
    """Return the terms of a shape's literal in the words of an instance."""
    return tuple(
        instance.arguments[slot.index] if slot.parameter else Variable(instance.variables[slot.index])
        for slot in literal.terms
    )


def _check(layout: Layout, candidates: Sequence[Candidate], evidence: Sequence[str]) -> None:
    """Refuse candidates whose predicates are not what their part of the conjunction needs."""
    for name in evidence:
        if name not in layout.predicates:
            raise ModelError(f"{name} has no data: load its facts, or leave it out of the templates")
        if layout.predicates[name].open:
            raise ModelError(
                f"{name} is to be predicted, so it cannot select: leave it out of the expansions, or load its facts as evidence"
            )
    for name in sorted(targets_of(candidates)):
        if name not in layout.predicates or not layout.predicates[name].open:
            raise ModelError(
                f"{name} is a target of the templates, but nothing is to be predicted of it: name it in {Parameter('query')}"
            )
    for each in candidates:
        if len(each.enforcer) > MOST_LITERALS:
            raise ModelError(
                f"{each.template}: {len(each.enforcer)} literals of targets have {2 ** len(each.enforcer)} patterns of truth values; give a "
                f"template at most {MOST_LITERALS}"
            )
