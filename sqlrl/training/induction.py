"""What a clause learner is given of a database: a target with its labels and the facts around it; and what is kept of a run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
from scipy import sparse
from scipy.sparse import csgraph
from sqlglot import exp

from sqlrl.catalog.derived_bias import CONSTANTS, derive_bias
from sqlrl.catalog.layout import TableName
from sqlrl.catalog.roles import Roles
from sqlrl.engine.duckdb import DuckDBEngine
from sqlrl.engine.nodes import column, table
from sqlrl.errors import CatalogError, InputError, Parameter
from sqlrl.ground.clauses import atom_texts, constant_names
from sqlrl.ground.coverage import FEWER_BINDINGS, MOST_BINDINGS, ComponentCounts, Coverage
from sqlrl.ground.network import BoolArray, IntArray
from sqlrl.ground.program import Program
from sqlrl.ground.saturation import Saturated, saturate
from sqlrl.logic.bias import Bias
from sqlrl.logic.components import Component, Components
from sqlrl.logic.model import Model
from sqlrl.logic.rules import Rule
from sqlrl.logic.terms import Argument, Predicate
from sqlrl.training.atom_groups import atom_groups, ungrouped
from sqlrl.training.clusters import Cluster, alike_within, members
from sqlrl.training.provenance import keep_learned_from
from sqlrl.training.runs import LearnedModel, LearnerRun, Run, RunKey
from sqlrl.training.session import Session, check_limit_option, verb
from sqlrl.wording import counted


class TargetSource:
    """The labelled query atoms of a target; see `structure.ilp.covers.CoverageSource`."""

    def __init__(
        self,
        program: Program,  # its model declares the target and the predicates of the bias
        bias: Bias,
        components: Components,
        examples: TableName | None,
        limit: int,  # of the bindings of a layer of components, and of the facts around seeds
        engine: DuckDBEngine,  # that of the database, to which groups are given
    ) -> None:
        self._engine = engine
        self._program, self._bias, self._chosen, self._limit = program, bias, examples, limit
        data = _atoms(program, bias.head.predicate, examples)
        truth = data.column("truth")
        if truth.null_count:
            raise InputError(
                f"{counted(truth.null_count, 'query atom')} of {bias.head.predicate} {'has' if truth.null_count == 1 else 'have'} no label, "
                "so they are neither positive nor negative: label them, take them out of the scope, or leave their examples "
                f"out with {Parameter('examples')}"
            )
        self.truth: BoolArray = truth.to_numpy().astype(np.bool_)
        self.atoms: IntArray = _integers(data, "atom")
        self.examples: IntArray = _integers(data, "example")
        columns = [_integers(data, f"a{i}") for i in range(bias.head.arity)]
        self.arguments: IntArray = np.array(columns, dtype=np.int64).T.reshape(len(data), bias.head.arity)
        self.predicates = bias.predicates()
        self.coverage = Coverage(
            program.engine,
            program.layout,
            components,
            self.predicates,
            self.arguments,
            self.examples,
            limit=limit,
            pass_over=True,
        )

    def saturate(self, seeds: IntArray, depth: int) -> Saturated:
        """Return the facts around seeds."""
        engine, layout = self._program.engine, self._program.layout
        return saturate(
            engine, layout, self._bias, self.arguments[seeds], self.examples[seeds], depth, limit=self._limit
        )

    def evaluate(self, layer: Sequence[Component], *, keep: bool = True) -> ComponentCounts:
        """Return where components hold."""
        return self.coverage.evaluate(layer, keep=keep)

    def alike_within(self, depth: int) -> list[Cluster]:
        """Return the constants within which labels are alike, the most so first; at most `depth` facts lead to them."""
        return alike_within(self._program.engine, self._program.layout, self._bias, self._chosen, depth)

    def clustered(self, cluster: Cluster) -> IntArray:
        """Return a number for each target atom, equal for those that belong to one constant, shape (n,)."""
        atom, constant = members(self._program.engine, cluster)
        found = -1 - np.arange(len(self.atoms), dtype=np.int64)
        found[np.searchsorted(self.atoms, atom)] = constant
        return found

    def grouped(self, groups: Any) -> IntArray:
        """Return a number for each target atom, equal for those that groups join, one or several in a row; shape (n,)."""
        atom, group = atom_groups(self._engine, self._program.public_layout, groups)
        known = np.isin(atom, self.atoms)
        atom, group = np.searchsorted(self.atoms, atom[known]), group[known]
        missing = np.flatnonzero(np.bincount(atom, minlength=len(self.atoms)) == 0)
        if len(missing):
            first = int(self.atoms[missing[0]])
            raise ungrouped(len(missing), len(self.atoms), atom_texts(self._program, np.array([first]))[first])
        size = len(self.atoms) + int(group.max(initial=-1)) + 1
        joins = sparse.coo_array((np.ones(len(atom)), (atom, len(self.atoms) + group)), shape=(size, size))
        found = csgraph.connected_components(joins, directed=False)[1]
        return np.asarray(found[: len(self.atoms)], dtype=np.int64)


class InductionSession(LearnerRun):
    """A target with its data, and a run that is kept."""

    def __init__(
        self,
        program: Program,
        source: TargetSource,
        components: Components,
        model: Model,  # its rules come before those that are found
        session: Session,
        examples: IntArray,  # ids of those that are learned from
    ) -> None:
        self.source, self.components = source, components
        self._program, self._model, self._records = program, model, session.records
        self._examples, self.run = examples, Run(session.records, unit="seed")
        self._words: dict[str, list[str]] = {}

    @property
    def types(self) -> Mapping[str, tuple[str, ...]]:
        """The types of the arguments of each predicate."""
        return {name: info.types for name, info in self._program.public_layout.predicates.items()}

    @property
    def rules(self) -> Sequence[Rule]:
        """The rules that come before those that are found."""
        return self._model.rules

    def names(self, kind: str) -> Sequence[str]:
        """Return the names of a type's constants, by id."""
        if kind not in self._words:
            self._words[kind] = constant_names(self._program, kind)
        return self._words[kind]

    def atom_texts(self, atoms: Sequence[int]) -> Mapping[int, str]:
        """Return atoms as text, by id."""
        return atom_texts(self._program, np.unique(np.array(atoms, dtype=np.int64)))

    def parameters(self, run: int) -> Mapping[str, Any]:
        """Return the parameters of an earlier run; none if there is no such run."""
        row = self._records.run(run)
        return {} if row is None else row["parameters"]

    def passed_over(self) -> str | None:
        """Say which clauses could not be evaluated; None if all could be."""
        coverage = self.source.coverage
        if not coverage.passed_over:
            return None
        reasons = [coverage.exploding[x] for x in dict.fromkeys(coverage.passed_over.values())]
        others = f", and {counted(len(reasons) - 1, 'other literal')} in other bodies" if len(reasons) > 1 else ""
        return (
            f"clauses were passed over because {counted(len(coverage.passed_over), 'part')} of their bodies could not be evaluated: "
            f"{reasons[0]}{others}; {FEWER_BINDINGS}"
        )

    def begin(self, learner: str, parameters: Mapping[str, object], seed: int) -> int:
        """Record that the run has begun; return its number."""
        run = super().begin(learner, parameters, seed)
        keep_learned_from(self._records, self._program, self._examples, run)
        return run

    def _key(self, learner: str, parameters: Mapping[str, object]) -> RunKey:
        return RunKey(learner, parameters, self._model, self._examples)

    def keep(
        self, rules: Sequence[Rule], candidates: pa.Table, coverage: pa.Table, seconds: Mapping[str, float], status: str
    ) -> Model:
        """Keep what was found, all or nothing, and end the run; return the model with the rules added."""
        model = self._model.with_rules((*self._model.rules, *rules))
        rows = {"candidate": candidates, "coverage": coverage}
        self.run.finish(LearnedModel.of_rules(model), rows, origin="ILP", seconds=seconds, status=status)
        return model


@verb
def induction_bias(session: Session, target: Model | str, bias: Bias | None) -> Bias:
    """Return the bias for a target: the given one, checked against the data, or one from types and keys."""
    if isinstance(target, Model):
        session.catalog.declare(target)
    name = _target(session, target, bias)
    if bias is None:
        return _derived(session, name)
    sources = session.catalog.store.sources()
    named = {mode.predicate for mode in (bias.head, *bias.body)}
    records = session.catalog.predicates().items()
    # Unknown types of a predicate that the bias names are an error that says how to tell them.
    bias.check({name: record.known_types() for name, record in records if name in named or None not in record.types})
    for mode in bias.body:
        if mode.predicate == name or (mode.predicate, "fact") in sources:
            continue
        if any(predicate == mode.predicate for predicate, _ in sources):
            raise CatalogError(
                f"{mode.predicate} is open, and a body has closed predicates only: leave its modes out, or load its facts "
                f"without {Parameter('target', True)}"
            )
        raise CatalogError(f"{mode.predicate} has no facts that bodies could have: load them, or leave its modes out")
    return bias


@contextmanager
def induction(
    session: Session, target: Model | str, bias: Bias, *, examples: Any = None, limit: int | None = None
) -> Iterator[InductionSession]:
    """Open a target with its data while the context is open."""
    check_limit_option(limit)
    session.catalog.store.check_writable()
    declared = _declared(session, target, bias)
    # Who learns weights for the clauses must know what is open, also where the facts were loaded as evidence.
    model = replace(declared, query=declared.query | {bias.head.predicate})
    components = Components(bias.head.arity)
    with (
        session.console.progress("learning clauses"),
        session.program(model, training=True, roles=Roles(query=[bias.head.predicate])) as program,
        session.examples_table(examples) as chosen,
    ):
        most = MOST_BINDINGS if limit is None else limit
        source = TargetSource(program, bias, components, chosen, most, session.records.engine)
        opened = InductionSession(program, source, components, model, session, session.ids(chosen))
        with source.coverage, opened.run.ending():
            yield opened


def _derived(session: Session, target: str) -> Bias:
    """Return the bias that types and keys suggest; `Bias.derive` explains it."""
    with session.console.progress("deriving a bias"):
        return derive_bias(session.catalog.store, target, body=None, constants=CONSTANTS)


def _target(session: Session, target: object, bias: Bias | None) -> str:
    """Return the name of a target."""
    if isinstance(target, str):
        if bias is not None and bias.head.predicate != target:
            raise InputError(f"the modes of {bias.path} are for {bias.head.predicate}, not for {target}")
        return target
    if not isinstance(target, Model):
        raise InputError(
            f"the target is {target!r}: give the name of a predicate, or a model that declares it (sqlrl.parse_mln)"
        )
    if bias is not None:
        return bias.head.predicate
    labelled = {name for name, role in session.catalog.store.sources() if role == "label"}
    found = sorted((labelled | target.query) & set(target.predicates))
    if len(found) != 1:
        listed = f"{len(found)} of its predicates are: {', '.join(found)}" if found else "none of its predicates is"
        raise InputError(f"which predicate of the model is to be learned? {listed} open; give its name, or a bias")
    return found[0]


def _declared(session: Session, target: Model | str, bias: Bias) -> Model:
    """Return a model that declares the predicates of a bias, with the rules of the given one."""
    records = session.catalog.predicates()
    found = {
        name: Predicate(
            name,
            tuple(
                Argument(kind, x.block)
                for kind, x in zip(records[name].known_types(), records[name].arguments, strict=True)
            ),
        )
        for name in (bias.head.predicate, *bias.predicates())
    }
    model = Model(found) if isinstance(target, str) else replace(target, predicates={**found, **target.predicates})
    kinds = {kind for predicate in model.predicates.values() for kind in predicate.types}
    types = session.catalog.types()
    cut = {name: types[name].bins for name in sorted(kinds & types.keys()) if types[name].bins}
    return replace(model, bins={**model.bins, **cut})


def _atoms(program: Program, target: str, examples: TableName | None) -> pa.Table:
    """Read the query atoms of a target: `atom`, `example`, `truth`, `a0`, `a1`, ...; ascending."""
    info = program.layout.predicates[target]
    assert info.atoms is not None, "the target is open"
    names = ["atom", "example", "truth", *(f"a{i}" for i in range(len(info.types)))]
    query = exp.select(*(column(name, "a") for name in names)).from_(table(info.atoms, "a"))
    if examples is not None:
        on = exp.EQ(this=column("example", "x"), expression=column("example", "a"))
        query = query.join(table(examples, "x"), on=on)
    return program.engine.fetch(query.order_by(column("atom", "a")), step=f"read the atoms of {target}")


def _integers(data: pa.Table, name: str) -> IntArray:
    return np.asarray(data.column(name).to_numpy(), dtype=np.int64)
