"""What a search for the clauses of a generative model is given of a database: declarations, the rules that there are, and counts of candidates."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sqlglot import exp

from sqlrl.catalog.layout import Layout, PredicateInfo, TableName
from sqlrl.engine.nodes import column, named, star_count, subquery
from sqlrl.errors import InputError, Parameter, UnsupportedError
from sqlrl.ground.clause_blankets import ClauseBlankets
from sqlrl.ground.counts import violated
from sqlrl.ground.grounding import ground_network
from sqlrl.ground.network import BoolArray, FloatArray, IntArray, Network
from sqlrl.ground.program import Extent, Program
from sqlrl.ground.single_target import opened_program
from sqlrl.logic.model import Model, Rule
from sqlrl.logic.printer import placed
from sqlrl.logic.shapes import Instance
from sqlrl.logic.subformulas import atoms_of, with_parts
from sqlrl.logic.terms import (
    Argument,
    Atom,
    Clause,
    Constant,
    Equal,
    Formula,
    Predicate,
)
from sqlrl.plan.slots import bind
from sqlrl.plan.some_groundings import some_groundings, ways
from sqlrl.plan.sources import OBSERVED, example_columns, true_rows
from sqlrl.progress import Stage
from sqlrl.training.blankets import check_labelled, refuse_exact, refuse_quantifiers
from sqlrl.training.runs import LearnerRun, Run, RunKey
from sqlrl.training.session import Query, Session
from sqlrl.wording import did_you_mean, nearest_names

MOST_ATOMS = 5_000_000
"""The most atoms of a predicate that are sampled."""


@dataclass(frozen=True, eq=False)
class GivenRule:
    """A rule of the model that a search begins with."""

    rule: Rule
    # One, or several for a formula that is no clause, of which a grounding violates at most one.
    clauses: tuple[Clause, ...]
    sign: int  # 1 if n counts where all clauses are true, -1 if it counts where one is violated

    @property
    def hard(self) -> bool:
        """Whether it must hold."""
        return self.rule.hard

    @property
    def stance(self) -> int:
        """1 if it speaks for its clauses being true, -1 if for one being violated: a conjunction, or a clause with a negative weight."""
        return -self.sign if self.rule.weight is not None and self.rule.weight < 0 else self.sign


@dataclass(frozen=True, eq=False)
class ClauseSearch:
    """The model, the predicates and the data of a search for clauses."""

    model: Model  # it declares all predicates that literals may be of, with the types of the data
    rules: Sequence[GivenRule]  # those that the search begins with
    predicates: Mapping[str, tuple[str, ...]]  # argument types of the predicates that literals may be of
    example_type: str | None
    constants: Mapping[str, tuple[str, ...]]  # the data's constants of each type of which rules name constants
    equalities: tuple[str, ...]  # predicates that hold identities alone, and are read as `=`
    source: SearchBlankets


class SearchRun(LearnerRun):
    """The run of a search for clauses: it begins before there is a model, and ends with the one that was found."""

    def __init__(self, session: Session, model: Model, examples: IntArray) -> None:
        self.run, self._model, self._examples = Run(session.records, unit="clause"), model, examples

    def _key(self, learner: str, parameters: Mapping[str, object]) -> RunKey:
        return RunKey(learner, parameters, self._model, self._examples)


@contextmanager
def search_run(session: Session, model: Model | None, examples: Any) -> Iterator[SearchRun]:
    """Open the run of a search for clauses; an error or Ctrl-C in this context ends it."""
    begun = Model(declarations(session)) if model is None else model
    Query(begun, examples).check()
    session.catalog.store.check_writable()
    with session.verb():
        # What the fingerprint of the data tells depends on what was bound last.
        session.catalog.bind(Model(declarations(session)), training=True)
    run = SearchRun(session, begun, np.sort(session.example_ids(examples)))
    with run.run.ending():
        yield run


@contextmanager
def clause_search(
    session: Session, model: Model | None, *, examples: Any = None, limit: int | None
) -> Iterator[ClauseSearch]:
    """Bind declarations and rules to the training examples while the context is open; without a model the predicates are those with data."""
    declared = _declared(session, model)
    Query(declared, examples, limit=limit).check()
    session.catalog.store.check_writable()
    with session.verb(), session.console.progress("finding clauses"):
        # What is learned is asked as the model says; atoms that the data leave open count besides.
        opened = _opened(session) & declared.predicates.keys()
        # Of predicates that hold identities alone (`same*`) no atom counts: in rules they are read as `=`.
        equalities = _equalities(session, declared, opened)
        asked = _as_equalities(declared, equalities)
        read = replace(asked, query=asked.query | opened)
        with session.program(read, training=True, all_closed=True) as program:
            ids = np.sort(session.example_ids(examples))
            with program.examples_table(ids) as chosen, Stage("reading the atoms"):
                refuse_quantifiers(program)
                predicates = {
                    name: info.types
                    for name, info in program.public_layout.predicates.items()
                    if name in read.predicates
                }
                missing = [name for name in read.predicates if name not in predicates]
                if missing:
                    raise InputError(
                        f"{missing[0]} has soft evidence and no labels, so that its atoms are unknown: load its labels with {Parameter('target', True)}, or give a model that does "
                        "not declare it"
                    )
                if not predicates:
                    raise InputError("no predicate has data that clauses could be about: load some")
                check_labelled(program, list(predicates), chosen)
                given = _given(program)
                source = SearchBlankets(program, given, ids, chosen, list(predicates), limit)
                try:
                    yield ClauseSearch(
                        asked, given, predicates, program.layout.example_type, _constants(program), equalities, source
                    )
                finally:
                    source.close()


# ---- diagnosis -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class OpenedNetwork:
    """The ground network of the atoms of a target, all others being evidence."""

    network: Network
    truth: BoolArray  # what the data say of its atoms, shape (n,)
    rules: IntArray  # the rule of each clause of the network, shape (m,)
    weights: FloatArray  # the weight of each clause, shape (m,)


class SearchBlankets(ClauseBlankets):
    """Says of clauses what they say of atoms, and grounds the rules of a model over the atoms of one predicate."""

    def __init__(
        self,
        program: Program,
        given: Sequence[GivenRule],
        examples: IntArray,
        chosen: TableName,
        names: Sequence[str],
        limit: int | None,
    ) -> None:
        super().__init__(program.engine, program.layout, examples, chosen, names)
        self._program, self._given, self._chosen, self._limit = program, given, chosen, limit

    @contextmanager
    def ground_target(self, target: str, rules: Sequence[int]) -> Iterator[OpenedNetwork]:
        """Ground all rules that mention a target over its atoms while the context is open, all others being evidence."""
        layout = self._program.layout
        if _of_no_example(layout, target):
            named = " and ".join(placed(self._given[i].rule) for i in rules)
            raise UnsupportedError(
                f"{named} has several literals of {target}, which belongs to no example though the data are several: its atoms cannot be sampled. Load {target} with "
                f"{Parameter('example')}, or leave the rule out"
            )
        # Hard rules that the data violate are left out: the truth is no world of theirs.
        broken = self._broken()
        places = [
            i
            for i, rule in enumerate(self._given)
            if i not in broken and any(atom.predicate == target for atom in atoms_of(rule.rule.formula))
        ]
        for i in places:
            rule = self._given[i].rule
            if not rule.hard and rule.weight is None:
                raise InputError(
                    f"{placed(rule)} has several literals of {target}, whose atoms are sampled, and the rules that mention {target} need weights for that: learn them "
                    "first, with sqlrl.PseudoLikelihood"
                    if i in rules
                    else f"{placed(rule)} has no weight, and atoms of {target} are sampled: learn weights first, with sqlrl.PseudoLikelihood"
                )
        model = self._program.model.with_rules(tuple(self._given[i].rule for i in places))
        with opened_program(
            self.engine, self._program.layout, model, target, self.domains[target], most=MOST_ATOMS
        ) as opened:
            extent = Extent(opened.program, self._chosen, self._limit, len(self.examples))
            network = ground_network(extent, check=False)
            place = {id(rule): i for rule, i in zip(opened.program.model.rules, places, strict=True)}
            of_feature = [place[id(bound.rule)] if bound.rule is not None else -1 for bound in opened.program.features]
            owner = np.array(of_feature, dtype=np.int64)[np.array(opened.program.feature_of, dtype=np.int64)]
            yield OpenedNetwork(
                network,
                opened.truth[network.atoms - 1],
                owner[network.clauses],
                opened.program.weights()[network.clauses],
            )

    def _broken(self) -> set[int]:
        """Return the hard rules that the data violate."""
        if not any(rule.hard for rule in self._given):
            return set()
        counts = violated(Extent(self._program, self._chosen, self._limit))
        place = {id(rule.rule): i for i, rule in enumerate(self._given)}
        of_clause = [self._program.features[feature] for feature in self._program.feature_of]
        return {
            place[id(bound.rule)] for bound, n in zip(of_clause, counts, strict=True) if bound.hard and n and bound.rule
        }

    def groundings(self, instance: Instance, target: str, name: str, sign: int, most: int) -> list[dict[str, str]]:
        """Return a few groundings of a clause in a bin of a target: the constant of each variable, by its name in the clause."""
        bound = bind(instance.shape, self._program.layout)
        parameters = self._program.constants.single_row(instance)
        found: dict[tuple[str, ...], dict[str, str]] = {}
        for way in ways(instance.shape, target, name, sign):
            query = some_groundings(
                bound, way, examples=self._chosen, parameters=parameters, most=most, repeats=max(1, len(self.examples))
            )
            # A grounding may be in the bin in several ways.
            for row in self.engine.fetch(query, step="look for groundings").to_pylist():
                named = {instance.variables[int(key[1:])]: str(v) for key, v in row.items() if key.startswith("v")}
                found.setdefault(tuple(named.values()), named)
            if len(found) >= most:
                break
        return list(found.values())[:most]


def _of_no_example(layout: Layout, name: str) -> bool:
    """Whether the data are several examples, and a predicate belongs to none."""
    return layout.divided and not example_columns(layout.predicates[name], layout)


def declarations(session: Session) -> dict[str, Predicate]:
    """Return the predicates that have data, with the types of their arguments."""
    store = session.catalog.store
    loaded = {name for name, _ in store.sources()}
    return {
        name: Predicate(name, tuple(map(Argument, record.known_types())))
        for name, record in store.predicates().items()
        if name in loaded
    }


def _declared(session: Session, model: Model | None) -> Model:
    """Return the model with the declarations of all predicates that have data, if it has none of its own."""
    known = declarations(session)
    if model is None:
        return Model(known)
    if model.semantics != "exact":
        raise UnsupportedError(
            f"clauses are found for exact semantics alone: read the model without {Parameter('semantics')}"
        )
    if any(rule.expansions is not None for rule in model.rules):
        raise UnsupportedError("a search for clauses cannot begin with templates (+): write their clauses out")
    wrong = [name for name in model.predicates if name not in known]
    used = {atom.predicate for rule in model.rules for atom in atoms_of(rule.formula)}
    for name in wrong:
        if name in used:
            raise InputError(
                f"{name} has no data{did_you_mean(nearest_names(name, known))}: load it, or leave its rules out"
            )
    return replace(model, predicates={name: p for name, p in model.predicates.items() if name in known})


def _opened(session: Session) -> frozenset[str]:
    """Return the predicates that the data leave open: those with labels or given atoms, and those with a scope."""
    store = session.catalog.store
    found = {name for name, role in store.sources() if role in ("label", "given")}
    return frozenset(found | {name for name, record in store.predicates().items() if record.scope is not None})


# ---- predicates that are equality ----------------------------------------------------------------------------------


def _equalities(session: Session, model: Model, open_predicates: frozenset[str]) -> tuple[str, ...]:
    """Return the predicates of two arguments of one type of which all facts say that something is itself; none that is to be predicted."""
    pairs = [
        name
        for name, p in model.predicates.items()
        if len(p.types) == 2 and p.types[0] == p.types[1] and name not in open_predicates | model.query
    ]
    if not pairs:
        return ()
    layout = session.catalog.bind(Model(dict(model.predicates), types=model.types, query=model.query), training=True)
    # One that has soft evidence alone is in no layout.
    return tuple(x for x in pairs if x in layout.predicates and _is_identity(session, layout.predicates[x]))


def _is_identity(session: Session, info: PredicateInfo) -> bool:
    rows = subquery(true_rows(info, OBSERVED), "r")
    other = exp.CountIf(this=exp.NEQ(this=column("a0", "r"), expression=column("a1", "r")))
    query = exp.select(named(star_count(), "n"), named(other, "other")).from_(rows)
    (row,) = session.engine.fetch(query, step=f"look whether {info.name} is equality").to_pylist()
    return bool(row["n"]) and not row["other"]


def _as_equalities(model: Model, names: tuple[str, ...]) -> Model:
    """Read atoms of some predicates as equalities."""

    def change(formula: Formula) -> Formula:
        if isinstance(formula, Atom) and formula.predicate in names:
            return Equal(*formula.terms)
        return with_parts(formula, change)

    rules = tuple(replace(rule, formula=change(rule.formula)) for rule in model.rules)
    left = {name: p for name, p in model.predicates.items() if name not in names}
    return replace(model, predicates=left, rules=rules, query=model.query - set(names)) if names else model


# ---- rules -----------------------------------------------------------------------------------------------------------


def _given(program: Program) -> list[GivenRule]:
    """Return the rules of a program with the clauses that they come to."""
    found = []
    featured: set[int] = set()
    for bound in program.features:
        assert bound.rule is not None, "rules with helpers were refused"
        if bound.feature.plus:
            raise UnsupportedError("a search for clauses cannot begin with templates (+): write their clauses out")
        featured.add(id(bound.rule))
        found.append(GivenRule(bound.rule, bound.feature.clauses, -1 if bound.feature.negated else 1))
    refuse_exact(program)
    for block in program.blocks:
        rule = next(rule for rule in program.model.rules if rule.hard and id(rule) not in featured)
        found.append(GivenRule(rule, (block.clause(program.layout.predicates[block.predicate].types),), 1))
    return found


def _constants(program: Program) -> dict[str, tuple[str, ...]]:
    """Return the constants of the types of which rules name some."""
    kinds = {
        kind
        for bound in program.features
        for instance in bound.instances
        for kind, term in zip(instance.shape.parameters, instance.arguments, strict=True)
        if isinstance(term, Constant)
    }
    return {kind: tuple(program.constants.names(kind, most=10_000)) for kind in sorted(kinds)}
