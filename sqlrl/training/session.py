"""A database at work: what its verbs share, and how a model is held against its data."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from sqlglot import exp

from sqlrl.arguments import refuse
from sqlrl.catalog.catalog import NOTHING, Catalog
from sqlrl.catalog.layout import Layout, TableName
from sqlrl.catalog.records import Records
from sqlrl.catalog.roles import NONE, Roles
from sqlrl.catalog.sizes import memory_of
from sqlrl.engine.base import QueryEngine
from sqlrl.engine.duckdb import DuckDBEngine
from sqlrl.engine.nodes import column, table
from sqlrl.errors import (
    CatalogError,
    ConflictError,
    EngineError,
    GroundingWarning,
    InputError,
    Parameter,
    Phrase,
    warn,
)
from sqlrl.ground.limits import GROUNDING_LIMIT
from sqlrl.logic.model import Model
from sqlrl.logic.psl import SoftModel
from sqlrl.progress import Stage, enough_memory
from sqlrl.report import Console, QuietConsole
from sqlrl.training.kept_program import KeptProgram
from sqlrl.wording import counted

if TYPE_CHECKING:
    from sqlrl.ground.binding import CompiledRules
    from sqlrl.ground.program import BoundFeature, Program
    from sqlrl.ground.soft_program import SoftProgram

_Asked = ParamSpec("_Asked")
_Found = TypeVar("_Found")


FROM_DATA = ("rules from data",)
"""Among what was said while rules are those that a search has found."""


@dataclass(eq=False)
class ReachedAtoms:
    """The atoms that the rules of a soft model reach and no list has, with what was asked: the data, the model, and how it is held against them."""

    asked: tuple[object, ...] = ()
    atoms: Mapping[str, pa.Table] = field(default_factory=dict)

    def keep(self, asked: tuple[object, ...], atoms: Mapping[str, pa.Table]) -> None:
        """Keep them in place of those before."""
        self.asked, self.atoms = asked, atoms


@dataclass(frozen=True, eq=False)
class Session:
    """What the methods of a database share; one for each cursor."""

    engine: DuckDBEngine
    catalog: Catalog
    records: Records
    console: Console  # draws progress of anything longer than two seconds
    # What rules were warned of, with the state of the data, so that each warning comes once.
    warned: set[tuple[object, ...]] = field(default_factory=set, repr=False)
    kept_program: KeptProgram = field(default_factory=KeptProgram, repr=False)  # the program of the last prediction
    reached: ReachedAtoms = field(default_factory=ReachedAtoms, repr=False)

    @classmethod
    def open(cls, catalog: Catalog, console: Console | None = None) -> Session:
        """Begin a session; runs of processes that were killed are recorded as interrupted."""
        records = Records(catalog.store)
        records.end_killed()
        return cls(catalog.engine, catalog, records, console or QuietConsole())

    @property
    def compiled(self) -> CompiledRules:
        """Rules that were compiled, for the next model that has them."""
        return self.kept_program.compiled

    @property
    def plans(self) -> QueryEngine:
        """What runs the plans of models: the engine, or a server that mirrors its tables."""
        return self.catalog.store.plans

    @contextmanager
    def verb(self) -> Iterator[None]:
        """Read the catalog's records once in this context, whatever it consists of; see `Store.verb`."""
        with enough_memory("working with the database"), self.catalog.store.verb():
            yield

    def layout(
        self,
        model: Model,
        *,
        training: bool = False,
        roles: Roles = NONE,
        all_closed: bool = False,  # there may be no open predicate
        adds_rules: bool = False,  # there may be no rule yet
    ) -> Layout:
        """Check that model and data fit, and build the tables of query atoms; `Advanced.bind` explains it."""
        check_model(model)
        layout = self.catalog.bind(_without(model, roles.drop), training=training, roles=roles)
        if not all_closed and not any(p.open for p in layout.predicates.values()):
            if not model.rules and not adds_rules:
                raise CatalogError(
                    "the model has no rules, so there is nothing to learn or to predict with: write some, or, if a learner of "
                    "clauses found none, see its warning"
                )
            raise CatalogError(
                f"no predicate is open, so there is nothing to predict: load the labels of one with {Parameter('target', True)}, "
                f"or name it when the model is read: {Phrase('read_mln(path, query=[...])')}"
            )
        return layout

    def bind(self, model: Model, roles: Roles = NONE, *, training: bool = False) -> Layout:
        """Do what `Advanced.bind` does."""
        with self.console.progress("binding"):
            return self.layout(model, training=training, roles=roles)

    @contextmanager
    def program(
        self,
        model: Model,
        *,
        training: bool = False,
        roles: Roles = NONE,
        all_closed: bool = False,
        limit: int | None = None,
        planned: bool = False,
        adds_rules: bool = False,
        keep: bool = False,  # keep the program for the next call if this comes to its end; no rules may be added then
    ) -> Iterator[Program]:
        """Bind a model to the data while the context is open; `Advanced.program` explains it."""
        from sqlrl.ground.binding import bind_program

        # It is at work until it is closed, whatever runs meanwhile.
        with self.engine.turn:
            with Stage("holding the model against the data"):
                # A server may have lost its tables, which `plans_of` looks at.
                again = keep and self.plans is self.engine
                program = self.kept_program.again(model, roles, self._described_now) if again else None
                if program is not None:
                    layout = program.public_layout
                else:
                    layout = self.layout(
                        model, training=training, roles=roles, all_closed=all_closed, adds_rules=adds_rules
                    )
                    plans = self.plans_of(layout)
                    program = self.kept_program.take(model, roles, layout) if keep else None
                    if program is None:
                        rules = _without(model, roles.drop)
                        program = bind_program(plans, layout, rules, known=self.compiled, limit=limit, planned=planned)
            done = False
            try:
                with enough_memory("working with the model", lambda: _size(layout)), self._undisturbed(layout):
                    self._warn_of_joins(program, training=training, closed=all_closed)
                    yield program
                done = True
            finally:
                if done and keep:
                    self.kept_program.keep(model, roles, program, self._described(program))
                else:
                    program.close()
                self.plans.leave(0)

    def _described_now(self, program: Program) -> object:
        """Return `_described`; a source that changed is an error, as where a model is bound."""
        self.catalog.check_sources()
        return self._described(program)

    def _described(self, program: Program) -> object:
        """Return all that is recorded of the data that a program is about; what it was bound to stands as long as that does."""
        store = self.catalog.store
        return (
            store.state("data"),
            store.state("stale"),
            store.described(program.layout.predicates),
            store.name("example"),
        )

    @contextmanager
    def soft_program(
        self,
        model: SoftModel,
        roles: Roles = NONE,
        *,
        training: bool = False,
        observed_bodies: bool = False,
        opens: SoftModel | None = None,  # the rules whose groundings make atoms, also where no list has them
    ) -> Iterator[SoftProgram]:
        """Hold a soft model against the data while the context is open."""
        from sqlrl.ground.soft_program import SoftProgram

        with self.engine.turn:
            with Stage("holding the model against the data"):
                opened = NOTHING
                if opens is not None:
                    opened = self._reached(opens, roles, training=training, observed_bodies=observed_bodies)
                layout = self.catalog.bind(model, training=training, roles=roles, opened=opened)
                plans = self.plans_of(layout)
                if not any(p.open for p in layout.predicates.values()):
                    raise CatalogError(
                        "no predicate is open, so there is nothing to predict: give one the atoms to infer with scope(), load its labels with "
                        f"{Parameter('target', True)}, or name it when the model is read: {Phrase('read_psl(path, query=[...])')}"
                    )
                soft = SoftProgram(plans, layout, model, observed_bodies=observed_bodies)
            try:
                with enough_memory("working with the model", lambda: _size(layout)), self._undisturbed(layout):
                    yield soft
            finally:
                soft.close()
                self.plans.leave(0)

    def _reached(
        self, model: SoftModel, roles: Roles, *, training: bool, observed_bodies: bool
    ) -> Mapping[str, pa.Table]:
        """Return the atoms that rules reach and no list has, in all examples; those of the last model are not looked for again."""
        from sqlrl.ground.soft_program import SoftProgram
        from sqlrl.ground.unlisted import reached_atoms

        asked = (self.catalog.store.state("data"), model, roles, training, observed_bodies)
        if self.reached.asked == asked:
            return self.reached.atoms
        layout = self.catalog.bind(model, training=training, roles=roles)
        soft = SoftProgram(self.plans_of(layout), layout, model, observed_bodies=observed_bodies)
        try:
            atoms = reached_atoms(soft)
        finally:
            soft.close()
        # Binding may have changed what is recorded of the data.
        self.reached.keep((self.catalog.store.state("data"), *asked[1:]), atoms)
        return atoms

    def plans_of(self, layout: Layout) -> QueryEngine:
        """Return what runs the plans of a layout, which sees its tables as they are now."""
        store = self.catalog.store
        if not self.plans.renew((store.state("data"), store.described(layout.predicates))):
            self.kept_program.forget()
        return self.plans

    def unsaid(self, what: Iterable[tuple[object, ...]]) -> list[tuple[object, ...]]:
        """Return what nobody was told of the data as they are now; from now on it is said."""
        data = self.catalog.store.state("data")
        new = [each for each in what if (data, *each) not in self.warned]
        self.warned.update((data, *each) for each in new)
        return new

    @contextmanager
    def rules_from_data(self) -> Iterator[None]:
        """Warn of no rules in this context: the data say what they join, no person does."""
        self.warned.add(FROM_DATA)
        try:
            yield
        finally:
            self.warned.discard(FROM_DATA)

    def _warn_of_joins(self, program: Program, *, training: bool, closed: bool) -> None:
        """Warn of predicates that rules join and that share no constant; a pair is looked at once."""
        from sqlrl.ground.joins import joined_arguments, unmet, unshared

        if FROM_DATA in self.warned:
            return
        features = program.features
        if training and closed:
            # Where atoms of all predicates count, a rule that two exclude each other says most where they never meet.
            features = tuple(x for x in features if not _is_exclusion(x))
        joins = joined_arguments(features, program.layout, training=training)
        fresh = set(self.unsaid(joins))
        new = [pair for pair in joins if pair in fresh]
        bare = unmet(program.engine, program.layout, new)
        if bare:
            warn(unshared(program.engine, program.layout, {pair: joins[pair] for pair in bare}), GroundingWarning)

    @contextmanager
    def _undisturbed(self, layout: Layout) -> Iterator[None]:
        """Refuse what was done in this context if another cursor changed the data of a layout meanwhile: parts of it may be of either."""
        if not self.engine.shared:
            yield
            return
        store = self.catalog.store
        before = store.described(layout.predicates)
        failure: EngineError | None = None
        try:
            yield
        except EngineError as error:
            failure = error
        store.read_again()
        if store.described(layout.predicates) != before:
            raise ConflictError(
                f"another cursor of {self.engine.path} loaded data, or bound another model, while this call was at work with them: call it again."
            ) from failure
        if failure is not None:
            raise failure

    @contextmanager
    def expanded(self, asked: Query) -> Iterator[tuple[Program, TableName | None]]:
        """Bind a model to some examples, its templates expanded over them; yield the program and a table of the examples, None for all."""
        with (
            self.program(asked.model, roles=asked.roles, limit=asked.helper_limit) as program,
            self.examples_table(asked.examples) as chosen,
        ):
            program.expand(chosen)
            yield program, chosen

    @contextmanager
    def examples_table(self, examples: Any) -> Iterator[TableName | None]:
        """Show chosen examples as a table while the context is open; None for all."""
        if examples is None:
            yield None
            return
        catalog, schema = self.engine.scratch
        name = TableName(catalog, schema, self.catalog.example_filter(examples))
        try:
            yield name
        finally:
            self.plans.drop_table(name, step="drop the chosen examples")
            self.engine.drop_table(name, step="drop the chosen examples")

    @contextmanager
    def rows_table(self, layout: Layout, rows: pa.Table | exp.Expr) -> Iterator[TableName]:
        """Show rows as a table of the database while the context is open, which plans read, too."""
        from sqlrl.ground.program import rows_table

        with rows_table(self.engine, layout, rows) as name:
            try:
                yield name
            finally:
                self.plans.drop_table(name, step="drop scratch tables")

    def ids(self, chosen: TableName | None) -> npt.NDArray[np.int64]:
        """Return the ids of examples that `examples_table` shows, in their order."""
        source, key = (
            (table(self.catalog.store.name("example")), "ordinal") if chosen is None else (table(chosen), "position")
        )
        query = exp.select(column("example")).from_(source).order_by(column(key))
        ids: npt.NDArray[np.int64] = self.engine.fetch(query, step="read the examples").column(0).to_numpy()
        return ids.astype(np.int64)

    def example_names(self, examples: npt.NDArray[np.int64]) -> list[str]:
        """Return the names of examples, by their ids, in their order."""
        query = exp.select(column("example"), column("name")).from_(table(self.catalog.store.name("example")))
        found = self.engine.fetch(query, step="name examples")
        names = dict(zip(found.column("example").to_pylist(), found.column("name").to_pylist(), strict=True))
        return [names[example] for example in examples.tolist()]

    def example_ids(self, examples: Any = None) -> npt.NDArray[np.int64]:
        """Return ids of examples, in the order given, or in that of the data."""
        with self.verb(), self.examples_table(examples) as chosen:
            return self.ids(chosen)


def verb(
    function: Callable[Concatenate[Session, _Asked], _Found],
) -> Callable[Concatenate[Session, _Asked], _Found]:
    """Let a function of a session read the catalog's records once, whatever it consists of (`Session.verb`)."""

    @wraps(function)
    def one(session: Session, /, *args: _Asked.args, **options: _Asked.kwargs) -> _Found:
        with session.verb():
            return function(session, *args, **options)

    return one


@dataclass(frozen=True, eq=False)
class Query:
    """What a method of the database asks: a model, and the examples to which it is bound."""

    model: Model
    examples: Any = None  # a list of names, a query, a relation or a frame; None for all
    roles: Roles = NONE  # what predicates are taken for
    limit: int | None = GROUNDING_LIMIT  # the most ground clauses of one shape

    def check(self, *, weighted: bool = False) -> None:
        """Refuse what is no model, or no limit; with `weighted` also a rule whose weight nobody gave or learned."""
        check_model(self.model)
        given: object = self.roles
        if not isinstance(given, Roles):
            raise InputError(f"roles={given!r} must be roles of predicates, such as sqlrl.Roles(query=['Smokes']).")
        if weighted:
            check_weights(self.model)
        check_limit_option(self.limit)

    @property
    def helper_limit(self) -> int | None:
        """What the limit on ground clauses says of helper atoms: each has a ground clause, but they are those of all examples."""
        return self.limit if self.examples is None else None


def check_model(model: object) -> None:
    """Refuse what is no model, such as its text."""
    if not isinstance(model, Model):
        raise refuse("a model", model)


def _size(layout: Layout) -> str:
    """Return how much memory the query atoms of a layout take, in words."""
    atoms = layout.query_atoms
    return f"{counted(atoms, 'query atom')} in all examples {'takes' if atoms == 1 else 'take'} {memory_of(atoms)}"


def check_limit_option(limit: object, name: str = "limit", things: str = "ground clauses") -> None:
    """Refuse a limit that is no number of things."""
    whole = isinstance(limit, int | np.integer) and not isinstance(limit, bool) and limit >= 0
    if limit is not None and not whole:
        raise InputError(
            f"{Parameter(name, limit)} must be a whole number of {things}, 0 or more, or {Phrase('None')} for no limit."
        )


def check_weights(model: Model) -> None:
    """Refuse a model with a rule whose weight nobody gave or learned; the error has the rule and its line."""
    for rule in model.rules:
        if not rule.hard and rule.weight is None and rule.expansions is None:
            from sqlrl.logic.printer import format_formula

            where = f"{rule.place}: " if rule.place else ""
            raise InputError(
                f"{where}the rule {format_formula(rule.formula)} has no weight: learn the model first, "
                "or write a weight before it"
            )


def _without(model: Model, drop: Iterable[str]) -> Model:
    """Return a model without the rules that mention dropped predicates."""
    # The declarations stay: they say what tables of the data are.
    return model.with_rules(model.without(drop).rules) if drop else model


def _is_exclusion(bound: BoundFeature) -> bool:
    """Whether a rule says of two atoms that not both are true."""
    literals = [x for instance in bound.instances for x in instance.shape.literals]
    return not bound.feature.negated and len(literals) == 2 and not any(x.positive for x in literals)
