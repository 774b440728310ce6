"""Soft models held against the data: their logical rules as clauses of a program, sorted by shape, and their arithmetic rules one by one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count

import numpy as np

from sqlrl.catalog.layout import Layout, TableName
from sqlrl.engine.base import QueryEngine
from sqlrl.errors import ModelError, Parameter
from sqlrl.ground.blocks import BlockRule
from sqlrl.ground.network import BoolArray, FloatArray
from sqlrl.ground.program import BoundFeature, BoundRules, ConstantIds, Program
from sqlrl.logic.model import Model, Rule
from sqlrl.logic.psl import LogicalRule, SoftModel, SoftRule
from sqlrl.logic.psl_arithmetic import ArithmeticRule
from sqlrl.logic.psl_literals import OrderLiteral, SoftLiteral, literals_of
from sqlrl.logic.shapes import Instance, ShapeOrder, Shaper, Slot, in_given_order
from sqlrl.logic.terms import (
    And,
    Atom,
    Clause,
    Constant,
    Equal,
    EqualityLiteral,
    Feature,
    Formula,
    Literal,
    Not,
    Or,
    Term,
    Variable,
)
from sqlrl.plan.hinges import known_rows
from sqlrl.plan.slots import BoundShape, bind

_numbers = count(1)


@dataclass(frozen=True)
class SumUse:
    """An arithmetic rule bound to the data."""

    number: int  # its place among the rules of the model
    # Atoms of terms and filters as literals, in the order of `ArithmeticRule.literals`; a parameter table of one row.
    bound: BoundShape
    variables: tuple[str, ...]  # names of the shape's variables


class SoftProgram:
    """A soft model bound to a layout; with `observed_bodies`, bodies read what is observed: query atoms are 0 there."""

    def __init__(self, engine: QueryEngine, layout: Layout, model: SoftModel, *, observed_bodies: bool = False) -> None:
        prefix = f"scratch_soft_{next(_numbers)}"
        self.engine, self.layout, self.model = engine, layout, model
        self._views: list[TableName] = []
        observed: dict[str, str] = {}
        if observed_bodies:
            layout, observed = self._observed(layout, prefix)
        constants = ConstantIds(engine, layout, prefix)
        typed = model.with_types(
            {name: layout.predicates[name].types for name in model.predicates if name in layout.predicates}
        )
        plain = Model(dict(typed.predicates), rules=tuple(map(_shown, model.rules)), query=model.query)
        try:
            # Clause i is rule i of the model; those of arithmetic rules have no shapes, and are `sums`.
            self.program = Program(engine, plain, _SoftBinder(layout, typed, observed), constants)
            self.sums = tuple(
                self._sum(i, rule, constants) for i, rule in enumerate(typed.rules) if not isinstance(rule, LogicalRule)
            )
        except BaseException:
            constants.close()
            self._drop()
            raise

    def weights(self) -> FloatArray:
        """Return the weights of the rules, shape (m,), 0 for hard ones."""
        return np.array([rule.weight or 0.0 for rule in self.model.rules])

    @property
    def squared(self) -> BoolArray:
        """Which rules have squared hinges, shape (m,)."""
        return np.array([rule.squared for rule in self.model.rules], dtype=bool)

    @property
    def hard(self) -> BoolArray:
        """Which rules are hard, shape (m,)."""
        return np.array([rule.hard for rule in self.model.rules], dtype=bool)

    @property
    def equal(self) -> BoolArray:
        """Which rules are equalities, shape (m,)."""
        return np.array([not isinstance(r, LogicalRule) and r.comparator == "=" for r in self.model.rules], dtype=bool)

    def close(self) -> None:
        """Drop the scratch tables."""
        self.program.close()
        self._drop()

    def _drop(self) -> None:
        for view in self._views:
            self.engine.drop_view(view, step="drop scratch tables")
        self._views.clear()

    def _observed(self, layout: Layout, prefix: str) -> tuple[Layout, dict[str, str]]:
        """Return a layout that has what is observed of each open predicate as a closed one, and its name by that of the open one."""
        known, names = dict(layout.predicates), dict[str, str]()
        for i, info in enumerate(p for p in layout.predicates.values() if p.open):
            view = TableName(*layout.scratch, f"{prefix}_observed_{i}")
            self._views.append(view)
            self.engine.create_view(view, known_rows(info), step="show what is observed of a predicate")
            names[info.name] = f"$observed_{info.name}"
            closed = replace(
                info, name=names[info.name], open=False, facts=view, atoms=None, has_given=False, atom_count=0
            )
            known[closed.name] = closed
        return replace(layout, predicates=known), names

    def _sum(self, number: int, rule: SoftRule, constants: ConstantIds) -> SumUse:
        for each in rule.filters if isinstance(rule, ArithmeticRule) else ():
            for literal in literals_of(each.condition):
                if isinstance(literal, Literal) and self.layout.predicates[literal.predicate].open:
                    raise ModelError(
                        f"{rule.place or rule}: {literal.predicate} is to be inferred, and stands in the filter {each}: what a sum goes through must "
                        "be known beforehand; filter by a closed predicate"
                    )
        clause = _clause(rule, rule.literals, self.layout)
        instance = _ordered(
            in_given_order(clause, self.layout.type_of, self.layout.example_type), rule.literals, clause
        )
        parameters = constants.single_row(instance)
        known = [
            constants.of(kind)[t.name]
            for kind, t in zip(instance.shape.parameters, instance.arguments, strict=True)
            if isinstance(t, Constant)
        ]
        unknown = frozenset(k for k, number in enumerate(known) if number < 0)
        bound = bind(instance.shape, self.layout, unknown, parameters)
        return SumUse(number, bound, tuple(name for name, _ in clause.variables))


class _SoftBinder:
    """Holds the rules of a soft model against a layout, one feature for each, without a look at what their formulas mean in Boolean logic."""

    def __init__(self, layout: Layout, model: SoftModel, observed: Mapping[str, str]) -> None:
        self.layout, self._model, self._given, self._observed = layout, model, 0, observed
        self._shaper = Shaper(layout.type_of, layout.example_type)

    @property
    def blocks(self) -> tuple[BlockRule, ...]:
        """There are none: a hard rule is a constraint like any other."""
        return ()

    def bind(self, rules: Sequence[Rule]) -> BoundRules:
        """Return a feature for each rule of the model that is next."""
        soft = self._model.rules[self._given : self._given + len(rules)]
        features = tuple(self._feature(rule, each) for rule, each in zip(rules, soft, strict=True))
        self._given += len(rules)
        return BoundRules(tuple(rules), tuple(range(len(rules))), features)

    def _feature(self, shown: Rule, rule: SoftRule) -> BoundFeature:
        if not isinstance(rule, LogicalRule):
            return BoundFeature(shown, Feature((), (), ()), ())
        literals = (*(self._read(x) for x in rule.clause[: len(rule.body)]), *rule.head)
        clause = _clause(rule, literals, self.layout)
        instance = _ordered(self._shaper(clause), literals, clause)
        return BoundFeature(shown, Feature(clause.variables, (), (clause,)), (instance,))

    def _read(self, literal: SoftLiteral) -> SoftLiteral:
        """Return a literal of a body as one of what is observed, where bodies read that alone."""
        if not isinstance(literal, Literal) or literal.predicate not in self._observed:
            return literal
        return replace(literal, predicate=self._observed[literal.predicate])

    def follows(self, layout: Layout) -> bool:
        """A program of a soft model is bound anew."""
        return False

    def follow(self, layout: Layout) -> None:
        """Nothing follows."""
        raise AssertionError("it follows no layout")

    def close(self) -> None:
        """It owns nothing."""


def _clause(rule: SoftRule, literals: Sequence[SoftLiteral], layout: Layout) -> Clause:
    """Return literals as a clause whose variables have the types that the data give them; comparisons with `%` are left out."""
    kinds: dict[str, tuple[str, str]] = {}
    plain: list[Literal | EqualityLiteral] = []
    for literal in literals:
        if isinstance(literal, Literal):
            info = layout.predicates[literal.predicate]
            if len(info.types) != len(literal.terms):
                raise ModelError(
                    f"{rule.place or rule}: {literal.predicate} has {len(literal.terms)} arguments here and {len(info.types)} in the data"
                )
            for term, kind in zip(literal.terms, info.types, strict=True):
                if isinstance(term, Variable) and kinds.setdefault(term.name, (kind, literal.predicate))[0] != kind:
                    other, where = kinds[term.name]
                    raise ModelError(
                        f"{rule.place or rule}: the variable {term.name} is of the type {other} in {where} and {kind} in {literal.predicate}: "
                        f"load both with one type, {Parameter('types')}, or give the rule another variable"
                    )
            terms = tuple(Variable(t.name) if isinstance(t, Variable) else t for t in literal.terms)
            plain.append(Literal(literal.predicate, terms, literal.positive))
        elif isinstance(literal, EqualityLiteral):
            plain.append(literal)
    return Clause(tuple((name, kind) for name, (kind, _) in kinds.items()), tuple(plain))


def _ordered(instance: Instance, literals: Sequence[SoftLiteral], clause: Clause) -> Instance:
    """Return an instance with the comparisons by `%` that were left out of its clause."""
    arguments, kinds = list(instance.arguments), list(instance.shape.parameters)
    names = instance.variables or tuple(name for name, _ in clause.variables)
    types: Mapping[str, str] = dict(clause.variables)

    def slot(term: Term, other: Term) -> Slot:
        """Return the slot of a term; a constant is a parameter of its own, of the type of the term beside it."""
        if isinstance(term, Variable):
            return Slot(False, names.index(term.name))
        arguments.append(term)
        kinds.append(types[other.name] if isinstance(other, Variable) else "")
        return Slot(True, len(arguments) - 1)

    orders = [
        ShapeOrder(each.positive, slot(each.left, each.right), slot(each.right, each.left))
        for each in literals
        if isinstance(each, OrderLiteral)
    ]
    if not orders:
        return instance
    shape = replace(instance.shape, parameters=tuple(kinds), orders=tuple(orders))
    return replace(instance, shape=shape, arguments=tuple(arguments))


# ---- for messages ------------------------------------------------------------------------------------


def _shown(rule: SoftRule) -> Rule:
    """Return a rule with a formula that messages can show."""
    parts = [_formula(x) for x in (rule.clause if isinstance(rule, LogicalRule) else rule.literals)]
    formula: Formula = parts[0] if len(parts) == 1 else (Or if isinstance(rule, LogicalRule) else And)(tuple(parts))
    return Rule(formula, rule.weight, hard=rule.hard, line=rule.line, path=rule.path)


def _formula(literal: SoftLiteral) -> Formula:
    if isinstance(literal, Literal):
        found: Formula = Atom(
            literal.predicate, tuple(Variable(t.name) if isinstance(t, Variable) else t for t in literal.terms)
        )
    else:
        found = Equal(literal.left, literal.right)
    return found if literal.positive else Not(found)
