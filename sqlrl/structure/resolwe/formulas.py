"""The formulas that candidates may become, and the model that those which are chosen make."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from sqlrl.errors import UnsupportedError
from sqlrl.ground.network import BoolArray, FloatArray, IntArray
from sqlrl.logic.candidates import Candidate, literal_formula
from sqlrl.logic.printer import format_formula
from sqlrl.logic.rules import Rule
from sqlrl.logic.subformulas import with_parts
from sqlrl.logic.terms import (
    And,
    Atom,
    BothSigns,
    Constant,
    Equal,
    Exist,
    ForAll,
    Formula,
    Not,
    Term,
    Variable,
    terms_in,
)
from sqlrl.structure.resolwe.selection import CONJUNCTION, Criteria, Formulations, formulations, tallies

if TYPE_CHECKING:
    from sqlrl.logic.model import Model


FORMULATION_SCHEMA = pa.schema(
    [
        ("candidate", pa.int64()),
        ("template", pa.string()),
        ("formula", pa.string()),
        ("implied", pa.int32()),
        ("support", pa.int64()),
        ("matched", pa.int64()),
        ("recent", pa.float64()),
        ("probability", pa.float64()),
        ("bound", pa.float64()),
        ("g2", pa.float64()),
        ("p_value", pa.float64()),
        ("kept", pa.bool_()),
        ("reason", pa.string()),
    ]
)
"""Formulations as `sqlrl.formulation` keeps them, but for the run."""


@dataclass(frozen=True, eq=False)
class Alternatives:
    """The formulations of candidates, and what decides between them; `once` is as for `formulation`."""

    candidates: tuple[Candidate, ...]
    criteria: Criteria
    once: bool

    @cached_property
    def counted(self) -> tuple[Candidate, ...]:
        """Whose labels are to be counted: the candidates, then what they are compared with."""
        return (*self.candidates, *(_defaults(self.candidates) if self.criteria.default == "estimated" else ()))

    @cached_property
    def positive(self) -> list[list[bool]]:
        """The signs of each candidate's query literals."""
        return [[x.positive for x in each.enforcer] for each in self.candidates]

    def judged(self, n: IntArray | FloatArray, before: BoolArray | None = None) -> Formulations:
        """Choose by the counts of patterns of all that is `counted`; see `formulations`."""
        size = len(self.candidates)
        estimated = self.criteria.default == "estimated"
        defaults = n[size:][_default_of(self.candidates)] if estimated else None
        return formulations(n[:size], self.positive, self.criteria, defaults, before)

    def formulas(self, chosen: Formulations) -> list[Formula]:
        """Return the formula of each formulation."""
        return [
            formulation(self.candidates[c], i, once=self.once)
            for c, i in zip(chosen.candidate.tolist(), chosen.literal.tolist(), strict=True)
        ]

    def rows(self, formulations: Formulations, total: IntArray, formulas: Sequence[Formula]) -> pa.Table:
        """Return formulations as rows of `FORMULATION_SCHEMA`; where counts decay `total` has those that do not."""
        recent = formulations.support.dtype.kind == "f"
        *_, support, matched = tallies(total[: len(self.candidates)], self.positive)
        columns: list[Any] = [
            formulations.candidate, [self.candidates[c].template for c in formulations.candidate.tolist()], list(map(format_formula, formulas)),
            [None if i == CONJUNCTION else i for i in formulations.literal.tolist()], support, matched,
            formulations.support if recent else [None] * len(formulas),
            *([None if math.isnan(x) else x for x in values.tolist()] for values in (formulations.probability, formulations.bound, formulations.g2, formulations.p_value)),
            formulations.in_model, formulations.reason,
        ]  # fmt: skip
        arrays = [pa.array(x, field.type) for x, field in zip(columns, FORMULATION_SCHEMA, strict=True)]
        return pa.Table.from_arrays(arrays, schema=FORMULATION_SCHEMA)


def formulation(candidate: Candidate, implied: int, *, once: bool) -> Formula:
    """Return a formulation as a conjunction, with the conclusion of an implication negated; `once` quantifies variables of evidence alone."""
    # Quantified, a tuple of query atoms counts once, as in choosing structure.
    parts = _quantified(candidate) if once else [literal_formula(x) for x in candidate.selector]
    several = len(candidate.enforcer) > 1
    for i, literal in enumerate(candidate.enforcer):
        atom = Atom(literal.predicate, literal.terms)
        positive = i != implied if several else literal.positive
        parts.append(atom if positive else Not(atom))
    if implied == CONJUNCTION:
        parts += _apart(candidate)
    return parts[0] if len(parts) == 1 else And(tuple(parts))


def _apart(candidate: Candidate) -> list[Formula]:
    """Return what says that query literals are about different atoms; of an implication its signs say so."""
    found: list[Formula] = []
    for one, other in combinations(candidate.enforcer, 2):
        differ = [(a, b) for a, b in zip(one.terms, other.terms, strict=False) if a != b]
        never = any(isinstance(a, Constant) and isinstance(b, Constant) for a, b in differ)
        if one.predicate != other.predicate or never:
            continue
        equal = tuple(Equal(a, b) for a, b in differ)
        found.append(Not(equal[0] if len(equal) == 1 else And(equal)))
    return [x for x in found if x not in map(literal_formula, candidate.selector)]


def _quantified(candidate: Candidate) -> list[Formula]:
    """Return the evidence with a quantifier around what shares variables that no query literal has."""
    outside = {t.name for x in candidate.enforcer for t in x.terms if isinstance(t, Variable)}
    groups: list[tuple[set[str], list[int]]] = []
    for i, literal in enumerate(candidate.selector):
        names = {t.name for t in terms_in(literal) if isinstance(t, Variable)} - outside
        tied = [group for group in groups if group[0] & names]
        merged = (names.union(*(g[0] for g in tied)), sorted([i, *(k for g in tied for k in g[1])]))
        groups = [group for group in groups if group not in tied] + [merged]
    parts: list[Formula] = []
    for names, places in sorted(groups, key=lambda group: group[1]):
        inside = [literal_formula(candidate.selector[i]) for i in places]
        body = inside[0] if len(inside) == 1 else And(tuple(inside))
        ordered = tuple(name for name, _ in candidate.variables if name in names)
        parts.append(Exist(ordered, body) if ordered else body)
    return parts


def structured(model: Model, targets: Iterable[str], rules: Sequence[Rule]) -> Model:
    """Return the model with a unit clause of each target, unless it has one, and with the rules that were chosen; of equal ones the first."""
    units = [
        Rule(Atom(x, tuple(Variable(f"x{i}") for i in range(len(model.predicates[x].types))))) for x in sorted(targets)
    ]
    known = {renamed(rule.formula) for rule in model.rules}
    more = []
    for rule in (*units, *rules):
        key = renamed(rule.formula)
        if key not in known:
            known.add(key)
            more.append(rule)
    return model.with_rules((*model.rules, *more))


def renamed(formula: Formula) -> Formula:
    """Return a formula with names of variables by their first occurrence, so that two that differ in names alone are equal."""
    names: dict[str, str] = {}

    def name(old: str) -> str:
        """Return the new name of a variable."""
        return names.setdefault(old, f"x{len(names)}")

    def term(old: Term) -> Term:
        """Return a variable under its new name, or the constant."""
        return Variable(name(old.name), old.plus) if isinstance(old, Variable) else old

    def whole(part: Formula) -> Formula:
        """Return a part with the new names."""
        match part:
            case Atom(predicate, terms):
                return Atom(predicate, tuple(map(term, terms)))
            case BothSigns(atom):
                return BothSigns(Atom(atom.predicate, tuple(map(term, atom.terms))))
            case Equal(left, right):
                return Equal(term(left), term(right))
            case Exist(variables, body):
                return Exist(tuple(map(name, variables)), whole(body))
            case ForAll(variables, body):
                return ForAll(tuple(map(name, variables)), whole(body))
            case _:
                return with_parts(part, whole)

    return whole(formula)


def check_signs(candidates: Sequence[Candidate]) -> None:
    """Refuse signs where they say nothing."""
    for each in candidates:
        if len(each.enforcer) > 1 and not all(x.positive for x in each.enforcer):
            raise UnsupportedError(
                f"{each.template}: of several literals of targets the signs are found from the data: write them without !"
            )


def _defaults(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Return a candidate without a selector for each kind of query literals, in order of first appearance."""
    return list({_kind(each): _alone(each) for each in candidates}.values())


def _default_of(candidates: Sequence[Candidate]) -> list[int]:
    """Return the place of each candidate's kind among `_defaults`."""
    places = {kind: i for i, kind in enumerate(dict.fromkeys(map(_kind, candidates)))}
    return [places[_kind(each)] for each in candidates]


def _kind(candidate: Candidate) -> tuple[object, ...]:
    """Return what two candidates have in common whose query literals are the same but for names of variables."""
    names: dict[object, int] = {}
    return tuple(
        (x.predicate, tuple(names.setdefault(t, len(names)) if isinstance(t, Variable) else t for t in x.terms))
        for x in candidate.enforcer
    )


def _alone(candidate: Candidate) -> Candidate:
    used = {t.name for x in candidate.enforcer for t in x.terms if isinstance(t, Variable)}
    variables = tuple(v for v in candidate.variables if v[0] in used)
    return Candidate(variables, (), candidate.enforcer, candidate.template)
