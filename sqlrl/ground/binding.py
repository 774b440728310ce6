"""From a model and a layout to a program: rules compiled to features, checked for what would tie examples together, with blocks and helpers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count

from sqlrl.catalog.layout import Layout, PredicateInfo, TableName
from sqlrl.engine.base import QueryEngine
from sqlrl.errors import ModelError, UnsupportedError
from sqlrl.ground.blocks import BlockRule, at_most_one, pair_of_constants, written_out
from sqlrl.ground.helpers import HelperTables
from sqlrl.ground.program import BoundFeature, BoundRules, ConstantIds, Program
from sqlrl.logic.compile import compile_rule
from sqlrl.logic.limits import MOST_JOINED
from sqlrl.logic.model import Model, Rule
from sqlrl.logic.normal import Apart, Division
from sqlrl.logic.plain import plain_model
from sqlrl.logic.printer import placed
from sqlrl.logic.shapes import Instance, Shaper, Slot, in_given_order
from sqlrl.logic.signs import split_signs
from sqlrl.logic.subformulas import atoms_of, parts_of
from sqlrl.logic.terms import (
    Atom,
    Clause,
    Exist,
    ExistsLiteral,
    Feature,
    ForAll,
    Formula,
    Helper,
    Literal,
    Term,
    Variable,
)
from sqlrl.plan.slots import bind
from sqlrl.wording import counted

MOST_RULES = 50_000
"""Rules that are remembered, at about 2 kB each."""

MOST_CONSTANTS = 200
"""Types up to this size are looked at for at-most-one clauses written out constant by constant."""

_numbers = count(1)


# ---- rules compiled to features, with the shapes of their clauses ------------------------------------


@dataclass(eq=False, slots=True)
class CompiledFeature:
    """A feature, with an instance for each of its clauses once they were asked for."""

    feature: Feature
    _instances: tuple[Instance, ...] | None = None

    def instances(self, shaper: Shaper) -> tuple[Instance, ...]:
        """Return the instances of its clauses; the shaper must know the types that it was compiled for."""
        if self._instances is None:
            self._instances = tuple(shaper(clause, self.feature.plus) for clause in self.feature.clauses)
        return self._instances


Known = dict[tuple[Formula, bool], tuple[CompiledFeature, ...]]


class CompiledRules:
    """A cache of compiled rules; when it holds more than `most` rules, it is emptied before the next model."""

    def __init__(self, most: int = MOST_RULES) -> None:
        self._most = most
        # Learners, folds and predictions bind mostly the same formulas, one model after the other.
        self._known: dict[object, Known] = {}

    def of(self, model: Model, layout: Layout) -> Compiling:
        """Return what compiles the rules of a model that is held against a layout."""
        if sum(map(len, self._known.values())) > self._most:
            self._known.clear()
        opened = frozenset(p.name for p in layout.predicates.values() if p.open)
        # All that features and shapes depend on, but for the rule; helper predicates have names that say what they are.
        declared = frozenset((name, p.types) for name, p in model.predicates.items())
        bound = frozenset((name, info.types) for name, info in layout.predicates.items())
        division = _division(layout)
        known = self._known.setdefault((model.semantics, opened, declared, bound, division), {})
        return Compiling(model, frozenset(layout.predicates), opened, division, known)


def _division(layout: Layout) -> Division | None:
    """Return how the constants of a type divide the data into examples; None if they do not."""
    if layout.example_type is None:
        return None
    return Division(layout.example_type, frozenset(name for name, info in layout.types.items() if info.local))


class Compiling:
    """Compiles the rules of one model; see `CompiledRules.of`."""

    def __init__(
        self,
        model: Model,
        predicates: frozenset[str],
        open_predicates: frozenset[str],
        division: Division | None,
        known: Known,
    ) -> None:
        self._model, self._predicates, self._open = model, predicates, open_predicates
        self._division, self._known = division, known

    def __call__(self, rule: Rule) -> tuple[CompiledFeature, ...]:
        """Return the features of a rule, as `sqlrl.logic.compile.compile_rule` does, which raises errors, too."""
        key = (rule.formula, rule.hard)
        if key not in self._known:
            absent = {x.predicate for x in atoms_of(rule.formula)} & self._model.predicates.keys() - self._predicates
            if absent:
                raise ModelError(
                    f"{placed(rule)}: {', '.join(sorted(absent))} has no table here, since no rule mentioned it when data and model were "
                    "bound: bind a model with this rule"
                )
            features = compile_rule(rule, self._model, self._open, self._division)
            self._known[key] = tuple(map(CompiledFeature, features))
        return self._known[key]


# ---- clauses have a length ---------------------------------------------------------------------------


def _check_length(rule: Rule, feature: Feature) -> None:
    """Refuse a clause with more literals than a query can join in reasonable time."""
    longest = max((len(clause.literals) for clause in feature.clauses), default=0)
    if longest > MOST_JOINED:
        raise UnsupportedError(
            f"{placed(rule)}: {counted(longest, 'literal')} in one clause are more than the limit of {MOST_JOINED}, since its query would "
            "join as many tables: where they differ in constants alone, list these as facts of a closed predicate, and write EXIST x "
            "(Listed(x) ^ P(x))"
        )


# ---- examples are independent ------------------------------------------------------------------------


def _check_independence(layout: Layout, rule: Rule, feature: Feature) -> None:
    """Refuse a formula whose open literals belong to several examples, or whose local variables have no one domain."""
    if layout.example_type is None:
        return
    # Closed literals may be about other examples: they are evidence.
    terms = dict.fromkeys(_example_terms(layout, rule.formula, frozenset()))
    if len(terms) > 1 or any(quantified for _, quantified in terms):
        names = ", ".join(str(term) for term, _ in terms)
        raise ModelError(
            f"{placed(rule)}: its open literals belong to several examples ({names}), but examples are independent: make all "
            "data one example, or load what ties them together as evidence"
        )
    several = feature.clauses if len(feature.clauses) > 1 else ()
    known = _with_helpers(layout, feature)
    readings: dict[str, frozenset[str]] = {}
    differing = {
        name: (readings[name], owners)
        for clause in several
        for name, owners in _reading(known, clause, feature.plus).items()
        if readings.setdefault(name, owners) != owners
    }
    if differing:
        # A variable says more than that to which queries are restricted, which stands under ''.
        name = max(differing)
        one, other = differing[name]
        what = f"{name} {_ranges(one)} in one clause of this formula, and in another {_ranges(other)}"
        if not name:
            what = f"one clause of this formula is about {_named(one) or 'no example'}, and another about {_named(other) or 'no example'}"
        raise ModelError(
            f"{placed(rule)}: {what}, which leaves its domain unclear: write the clauses as rules of their own"
        )
    written = {} if _has_all(feature, rule.formula) else _written(layout, rule.formula, feature)
    clauses = feature.clauses or (Clause(tuple(v for v in feature.variables if v[0] not in feature.plus)),)
    for clause in clauses if written else ():
        found = _reading(known, clause, feature.plus)
        wrong = [f"{name} {_ranges(owners)}" for name, owners in written.items() if found.get(name, owners) != owners]
        if wrong:
            raise ModelError(
                f"{placed(rule)}: that {' and '.join(wrong)} is said in a part of the formula that is always true or false, or under a quantifier, "
                "which drops out of its clauses and leaves its domain unclear: leave that part out, or join the variable to its example elsewhere"
            )


def _ranges(examples: frozenset[str]) -> str:
    """Say over which constants a variable ranges: those of each of some examples."""
    return f"ranges over the constants of {_named(examples) or 'all examples'}"


def _named(examples: frozenset[str]) -> str:
    return " and ".join(sorted(examples))


def _has_all(feature: Feature, formula: Formula) -> bool:
    """Tell whether a feature is one clause with all atoms of its formula."""
    if len(feature.clauses) != 1 or feature.helpers:
        return False
    (clause,) = feature.clauses
    parts = [part for x in clause.literals for part in (x.conjunction if isinstance(x, ExistsLiteral) else (x,))]
    return sum(isinstance(part, Literal) for part in parts) == len(set(atoms_of(formula)))


def _written(layout: Layout, formula: Formula, feature: Feature) -> dict[str, frozenset[str]]:
    """Return the examples of local variables by the formula as written; those beside a quantified example are left out."""
    kinds = {v: kind for v, kind in feature.variables if v not in feature.plus}
    mine = [v for v, kind in kinds.items() if layout.types[kind].local]
    if not mine:
        return {}
    free = {v for v, _ in feature.variables}
    every, quantified = dict.fromkeys(v for v, kind in kinds.items() if kind == layout.example_type), set[str]()
    beside: dict[str, dict[str, None]] = {v: {} for v in mine}
    for atom in atoms_of(Apart(split_signs(formula)[0]).formula):
        types = layout.predicates[atom.predicate].types
        examples = [t for t, kind in zip(atom.terms, types, strict=True) if kind == layout.example_type]
        here = dict.fromkeys(str(t) for t in examples)
        quantified.update(t.name for t in examples if isinstance(t, Variable) and t.name not in free)
        every.update(here)
        for term in atom.terms:
            if isinstance(term, Variable) and term.name in beside:
                beside[term.name].update(here)
    alone = frozenset(every) if len(every) == 1 else frozenset()
    return {v: frozenset(here) or alone for v, here in beside.items() if not quantified & ((here or every).keys())}


def _check_templates(layout: Layout, rule: Rule, feature: Feature) -> None:
    """Refuse a `+` variable of a local type in a helper atom unless evidence keeps it in the examples' domains."""
    helpers = {helper.name: helper for helper in feature.helpers}
    calls = (x for clause in feature.clauses for x in clause.literals if isinstance(x, Literal))
    for literal in (x for x in calls if x.predicate in helpers):
        helper = helpers[literal.predicate]
        for (name, kind), term in zip(helper.variables, literal.terms, strict=True):
            # Helper atoms exist only inside the domain of each example, clauses of a template for all constants.
            plus = isinstance(term, Variable) and term.plus
            if plus and layout.types[kind].local and not _kept_inside(layout, helper, name):
                raise UnsupportedError(
                    f"{placed(rule)}: {term} is of the local type {kind!r} and stands under a quantifier over several literals with open "
                    f"predicates or under a negation, beside no positive evidence: make {kind!r} global, or write the clauses out"
                )


def _kept_inside(layout: Layout, helper: Helper, name: str) -> bool:
    """True if the definition of a helper holds only for constants of the examples' domains."""
    return any(
        part.positive
        and Variable(name) in part.terms
        and part.predicate in layout.predicates
        # Facts of an open predicate may be outside of every domain.
        and not (layout.predicates[part.predicate].open and layout.predicates[part.predicate].has_given)
        and layout.predicates[part.predicate].name in _beside_example(layout)
        for part in helper.definition.conjunction
        if isinstance(part, Literal)
    )


def _beside_example(layout: Layout) -> set[str]:
    """Return the predicates that are not global."""
    return {p.name for p in layout.predicates.values() if p.example_column or layout.example_type in p.types}


def _example_terms(layout: Layout, formula: Formula, inside: frozenset[str]) -> Iterator[tuple[Term, bool]]:
    """Yield the example terms of open atoms, each with whether it is quantified inside the formula."""
    match formula:
        case Atom(predicate, terms):
            info = layout.predicates.get(predicate)
            for term, kind in zip(terms, info.types if info is not None and info.open else (), strict=False):
                if kind == layout.example_type:
                    bare = Variable(term.name) if isinstance(term, Variable) else term
                    yield bare, isinstance(term, Variable) and term.name in inside
        case ForAll(variables, body) if not inside:
            yield from _example_terms(layout, body, frozenset())
        case ForAll(variables, body) | Exist(variables, body):
            yield from _example_terms(layout, body, inside | frozenset(variables))
        case _:
            # Below a negation or a connective a FORALL is no outermost one.
            for part in parts_of(formula):
                yield from _example_terms(layout, part, inside or frozenset({""}))


def _with_helpers(layout: Layout, feature: Feature) -> Layout:
    """Add the helpers of a feature, which have no tables yet; one over closed literals alone is closed."""
    nowhere, known = TableName(*layout.scratch, ""), dict(layout.predicates)
    for helper in feature.helpers:
        opened = any(known[x.predicate].open for x in helper.definition.conjunction if isinstance(x, Literal))
        types = tuple(kind for _, kind in helper.variables)
        known[helper.name] = PredicateInfo(helper.name, types, opened, nowhere, nowhere if opened else None)
    return replace(layout, predicates=known)


def _reading(layout: Layout, clause: Clause, plus: tuple[str, ...]) -> dict[str, frozenset[str]]:
    """Return by name the examples over which each variable of a clause ranges, and under '' those that restrict queries."""
    instance = in_given_order(clause, layout.type_of, layout.example_type)
    bound = bind(instance.shape, layout)
    inside = [v for x in clause.literals if isinstance(x, ExistsLiteral) for v in x.variables]
    names = [name for name, _ in (*clause.variables, *inside)]

    def name(slot: Slot) -> str:
        """Return the name of a variable, or the constant of a parameter."""
        return str(instance.arguments[slot.index]) if slot.parameter else names[slot.index]

    found = {"": frozenset(map(name, bound.restricted))}
    # Clauses of a hard formula may have variables that were quantified beside those of the formula.
    for i, (variable, _) in enumerate(clause.variables):
        if variable not in plus and bound.is_local(Slot(False, i)):
            found[variable] = frozenset(map(name, bound.owners[Slot(False, i)]))
    return found


# ---- programs ----------------------------------------------------------------------------------------


def bind_program(
    engine: QueryEngine,
    layout: Layout,
    model: Model,
    *,
    known: CompiledRules | None = None,
    limit: int | None = None,  # most atoms of one helper predicate, beside the layout's limit on all atoms
    planned: bool = False,  # helper atoms are planned, not listed: queries can be explained, and take as long as listing
) -> Program:
    """Bind a model to a layout with all its predicates; templates that list no clauses get them by `Program.expand`."""
    prefix = f"scratch_{next(_numbers)}"
    constants = ConstantIds(engine, layout, prefix)
    helpers = HelperTables(engine, layout, prefix, constants.single_row, limit=limit, planned=planned)
    binder = ModelBinder(model, known or CompiledRules(), helpers, constants)
    try:
        return Program(engine, model, binder, constants)
    except BaseException:
        binder.close()
        constants.close()
        raise


class ModelBinder:
    """Holds rules in the language of one model against a layout, those that are added to a program after its first ones."""

    def __init__(self, model: Model, known: CompiledRules, helpers: HelperTables, constants: ConstantIds) -> None:
        layout = helpers.layout
        self._model, self._plain_layout = model, layout
        self._compiling = known.of(model, layout)
        self._helpers, self._constants = helpers, constants
        self._blocks = {
            p.name: BlockRule(p.name, p.block, exact=True) for p in layout.predicates.values() if p.open and p.block
        }
        self._hard: list[Clause] = []
        # Whether which blocks there are may depend on the constants of a type.
        self._listed = False
        self._shaper = Shaper(self._type_of, layout.example_type)

    @property
    def layout(self) -> Layout:
        """The layout, with the helper predicates of all rules so far."""
        return self._helpers.layout

    def _type_of(self, predicate: str, place: int) -> str:
        """Return the type of an argument, also of a helper predicate that came after the shaper."""
        return self.layout.type_of(predicate, place)

    @property
    def blocks(self) -> tuple[BlockRule, ...]:
        """The blocks that declarations and hard rules so far state, one a predicate at the most."""
        return tuple(self._blocks.values())

    def bind(self, rules: Sequence[Rule]) -> BoundRules:
        """Compile rules and make the tables of their helpers; rules that are refused leave no trace."""
        layout = self._plain_layout
        opened = frozenset(p.name for p in layout.predicates.values() if p.open)
        plain, owners, repeated = plain_model(self._model.with_rules(tuple(rules)), opened)
        found = [
            (rule, each, beside)
            for rule, beside in zip(plain.rules, repeated, strict=True)
            for each in self._compiling(rule)
        ]
        compiled = [(rule, each.feature) for rule, each, _ in found]
        for rule, feature in compiled:
            _check_length(rule, feature)
            _check_independence(layout, rule, feature)
            _check_templates(layout, rule, feature)
        blocks, hard, stated = self._stating(compiled)
        defining: list[Clause] = []
        with self._helpers.all_or_none():
            for rule, feature in compiled:
                for helper in feature.helpers:
                    defining.extend(self._helpers.add(helper, placed(rule)))
        self._blocks, self._hard = blocks, hard
        features = [
            BoundFeature(rule, each.feature.repeated(beside), each.instances(self._shaper))
            for i, (rule, each, beside) in enumerate(found)
            if i not in stated
        ]
        for clause in defining:
            feature = Feature(clause.variables, (), (clause,))
            features.append(BoundFeature(None, feature, (self._shaper(clause),)))
        return BoundRules(plain.rules, owners, tuple(features))

    def follows(self, layout: Layout) -> bool:
        """Whether rules come to the same against another layout, and have no helpers."""
        return self.layout is self._plain_layout and not self._listed and layout.grew_from(self._plain_layout)

    def follow(self, layout: Layout) -> None:
        """Go over to a layout that it follows."""
        self._helpers.layout = self._plain_layout = layout

    def close(self) -> None:
        """Drop the tables of the helpers."""
        self._helpers.close()

    def _stating(self, compiled: Sequence[tuple[Rule, Feature]]) -> tuple[dict[str, BlockRule], list[Clause], set[int]]:
        """Return blocks and hard clauses with those of new rules, and the places of the new ones that only state a block."""
        layout, blocks, stated = self._plain_layout, dict(self._blocks), set[int]()
        new = [(i, f.clauses[0]) for i, (rule, f) in enumerate(compiled) if rule.hard and len(f.clauses) == 1]
        pairs: dict[tuple[str, int], list[int]] = {}
        for i, clause in new:
            found = at_most_one(clause)
            if found is not None and layout.predicates[found[0]].open:
                # A predicate keeps its first block: clauses that would state another one remain clauses.
                rule = blocks.setdefault(found[0], BlockRule(found[0], (found[1],), exact=False))
                if rule.positions == (found[1],):
                    stated.add(i)
            pair = pair_of_constants(clause)
            if pair is not None and layout.predicates[pair[0]].open:
                pairs.setdefault(pair[:2], []).append(i)
        self._listed = self._listed or bool(pairs)
        kinds = {key: layout.predicates[key[0]].types[key[1]] for key in pairs}
        names = {key: self._constants.names(kind, MOST_CONSTANTS) for key, kind in kinds.items()}
        hard = [*self._hard, *(clause for _, clause in new)]
        for predicate, position in sorted(written_out(hard, names)):
            rule = blocks.setdefault(predicate, BlockRule(predicate, (position,), exact=False))
            if rule.positions == (position,):
                stated.update(pairs[predicate, position])
        return blocks, hard, stated
