"""Shapes: clauses with their constants taken out and everything else in canonical order.

One shape is one SQL query; the clauses of a shape are rows of its parameter table.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import permutations, product
from math import factorial, prod

from sqlrl.logic.terms import (
    Clause,
    ClauseLiteral,
    Constant,
    EqualityLiteral,
    ExistsLiteral,
    Literal,
    Term,
    Variable,
    terms_in,
)

ORDERINGS_TRIED = 5040
"""Up to so many orders of look-alike literals the canonical one is found for certain."""

BEGINNINGS_KEPT = 120
"""Where there are more, how many equal beginnings of orders go on, divided by the literals that look alike: what is lost is only a shape
that might have been shared."""

TypeOf = Callable[[str, int], str]
"""Maps (predicate, argument position) to a type."""

Slots = Mapping[Term, tuple[bool, int]]


# ---- shapes ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, order=True)
class Slot:
    """A term of a shape: variable `index` or parameter `index`."""

    parameter: bool
    index: int

    def __str__(self) -> str:
        return f"{'k' if self.parameter else 'v'}{self.index}"


_slot = cache(Slot)
"""One object for each slot: a large model has millions of them."""


@dataclass(frozen=True, slots=True, order=True)
class ShapeLiteral:
    """A signed predicate over slots."""

    predicate: str
    positive: bool
    terms: tuple[Slot, ...]

    def __str__(self) -> str:
        return f"{'' if self.positive else '!'}{self.predicate}({', '.join(map(str, self.terms))})"


@dataclass(frozen=True, slots=True, order=True)
class ShapeEquality:
    """A signed equality of two slots."""

    positive: bool
    left: Slot
    right: Slot

    def __str__(self) -> str:
        return f"{self.left} {'=' if self.positive else '!='} {self.right}"


@dataclass(frozen=True, slots=True, order=True)
class ShapeExists:
    """`EXIST variables (literals ^ equalities)`; its variables are slots of the shape like all others."""

    variables: tuple[int, ...]
    literals: tuple[ShapeLiteral, ...]
    equalities: tuple[ShapeEquality, ...]

    def __str__(self) -> str:
        body = " ^ ".join(map(str, (*self.literals, *self.equalities)))
        return f"EXIST {','.join(f'v{i}' for i in self.variables)} ({body})"


@dataclass(frozen=True, slots=True, order=True)
class ShapeOrder:
    """`left % right` of soft logic, signed: the left constant has the lesser id."""

    positive: bool
    left: Slot
    right: Slot

    def __str__(self) -> str:
        text = f"{self.left} % {self.right}"
        return text if self.positive else f"!({text})"


@dataclass(frozen=True, slots=True)
class Shape:
    """A clause without its constants."""

    variables: tuple[str, ...]  # the type of each variable, those of `exists` included
    parameters: tuple[str, ...]  # the type of each parameter
    literals: tuple[ShapeLiteral, ...]
    equalities: tuple[ShapeEquality, ...] = ()
    exists: tuple[ShapeExists, ...] = ()
    orders: tuple[ShapeOrder, ...] = ()  # of soft rules alone

    def universal(self) -> tuple[int, ...]:
        """The variables that are not quantified by an `exists`: the grounding variables."""
        bound = {i for group in self.exists for i in group.variables}
        return tuple(i for i in range(len(self.variables)) if i not in bound)

    def __str__(self) -> str:
        return " v ".join(map(str, (*self.literals, *self.equalities, *self.exists, *self.orders))) or "FALSE"


@dataclass(frozen=True, slots=True)
class Instance:
    """A clause as a shape and the terms that fill the shape's parameters."""

    shape: Shape
    arguments: tuple[Term, ...]  # for each parameter a constant, or a `+` variable of a template
    variables: tuple[str, ...] = field(default=(), compare=False)  # names of the shape's variables, for printing


def in_given_order(clause: Clause, type_of: TypeOf, example_type: str | None = None) -> Instance:
    """Return a clause as an instance with its variables in order, quantified ones last; `Shaper` makes shapes to share."""
    inside = tuple(v for x in clause.literals if isinstance(x, ExistsLiteral) for v in x.variables)
    slots = {name: Slot(False, i) for i, (name, _) in enumerate((*clause.variables, *inside))}
    constants = _Constants(example_type)

    def slot(term: Term, kind: str) -> Slot:
        """Return the slot of a term."""
        return slots[term.name] if isinstance(term, Variable) else Slot(True, constants.number(term, kind))

    def literal(x: Literal) -> ShapeLiteral:
        """Return a literal over slots."""
        return ShapeLiteral(
            x.predicate, x.positive, tuple(slot(t, type_of(x.predicate, i)) for i, t in enumerate(x.terms))
        )

    def equality(x: EqualityLiteral) -> ShapeEquality:
        """Return an equality over slots; a constant has the type of the variable beside it."""
        names = dict((*clause.variables, *inside))
        kind = next((names[t.name] for t in (x.left, x.right) if t.name in names), "")
        return ShapeEquality(x.positive, slot(x.left, kind), slot(x.right, kind))

    plain = tuple(literal(x) for x in clause.literals if isinstance(x, Literal))
    equal = tuple(equality(x) for x in clause.literals if isinstance(x, EqualityLiteral))
    exists = tuple(
        ShapeExists(
            tuple(slots[name].index for name, _ in x.variables),
            tuple(literal(part) for part in x.conjunction if isinstance(part, Literal)),
            tuple(equality(part) for part in x.conjunction if isinstance(part, EqualityLiteral)),
        )
        for x in clause.literals
        if isinstance(x, ExistsLiteral)
    )
    types = tuple(kind for _, kind in (*clause.variables, *inside))
    names = tuple(name for name, _ in (*clause.variables, *inside))
    return Instance(Shape(types, tuple(constants.kinds), plain, equal, exists), tuple(constants.terms), names)


class _Constants:
    """The constants of a clause by the parameters that they fill, and the types of these."""

    def __init__(self, example_type: str | None) -> None:
        self.terms: list[Term] = []
        self.kinds: list[str] = []
        self._example_type = example_type
        self._examples: dict[Term, int] = {}

    def number(self, constant: Term, kind: str) -> int:
        """Return the parameter of a constant at one place of the clause."""
        # With a parameter for each occurrence, clauses that repeat a constant share the shape of the others. A repeated
        # example is one parameter: the examples of a clause decide over whose constants its variables range.
        number = len(self.terms)
        if kind == self._example_type:
            number = self._examples.setdefault(constant, number)
        if number == len(self.terms):
            self.terms.append(constant)
            self.kinds.append(kind)
        return number


class Shaper:
    """Turns clauses into instances, once for all that differ only in constants; a repeated example is one parameter."""

    def __init__(self, type_of: TypeOf, example_type: str | None = None) -> None:
        self._type_of = type_of
        self._example_type = example_type
        self._known: dict[Clause, tuple[Shape, tuple[int, ...], tuple[str, ...]]] = {}

    def __call__(self, clause: Clause, plus: Iterable[str] = ()) -> Instance:
        """Return the instance of a clause; `plus` are the `+` variables of its feature."""
        # A `+` variable that the clause does not mention is a constant all the same, and no grounding variable.
        fixed = set(plus) - set(clause.plus_variables())
        if fixed:
            clause = Clause(tuple(v for v in clause.variables if v[0] not in fixed), clause.literals)
        constants = _Constants(self._example_type)
        names = clause.plus_variables()
        skeleton = Clause(clause.variables, tuple(_blank(x, self._type_of, constants) for x in clause.literals))
        if skeleton not in self._known:
            self._known[skeleton] = _canonical(skeleton, names, self._type_of)
        shape, order, variables = self._known[skeleton]
        terms = (*constants.terms, *(Variable(name, plus=True) for name in names))
        return Instance(shape, tuple(terms[i] for i in order), variables)


def _blank(literal: ClauseLiteral, type_of: TypeOf, constants: _Constants) -> ClauseLiteral:
    """Replace the constants of a literal by their running number, and collect them."""

    def blank(term: Term, kind: str) -> Term:
        """Keep a constant, and return its number in place of it."""
        return term if isinstance(term, Variable) else Constant(str(constants.number(term, kind)))

    match literal:
        case Literal(predicate, terms, positive):
            if not any(isinstance(term, Constant) for term in terms):
                return literal
            return Literal(predicate, tuple(blank(t, type_of(predicate, i)) for i, t in enumerate(terms)), positive)
        case EqualityLiteral(left, right, positive):
            return EqualityLiteral(blank(left, ""), blank(right, ""), positive)
        case ExistsLiteral(variables, conjunction):
            parts = tuple(_blank(part, type_of, constants) for part in conjunction)
            return ExistsLiteral(variables, tuple(p for p in parts if not isinstance(p, ExistsLiteral)))


def _canonical(clause: Clause, plus: Sequence[str], type_of: TypeOf) -> tuple[Shape, tuple[int, ...], tuple[str, ...]]:
    """Return the least shape over the orders of look-alike literals, the constant that fills each parameter, and the variables."""
    groups: dict[tuple[object, ...], list[ClauseLiteral]] = {}
    for literal in clause.literals:
        groups.setdefault(_look(literal), []).append(literal)
    ordered = [groups[key] for key in sorted(groups, key=repr)]
    numbered = [_number(clause, order, plus, type_of) for order in _orders(ordered)]
    return numbered[0] if len(numbered) == 1 else min(numbered, key=lambda found: (_key(found[0]), found[1]))


def _orders(groups: Sequence[Sequence[ClauseLiteral]]) -> Iterator[list[ClauseLiteral]]:
    """Yield orders within groups of look-alikes; among up to `ORDERINGS_TRIED` of them is that of the least shape."""
    # Literals are compared first, from left to right, so only their least beginnings go on; of the rest all are tried.
    plain = [[x for x in group if isinstance(x, Literal)] for group in groups]
    rest = [group for group, alike in zip(groups, plain, strict=True) if not alike]
    certain = prod(factorial(len(alike)) for alike in plain) <= ORDERINGS_TRIED
    known: list[tuple[tuple[Literal, ...], Slots]] = [((), {})]
    for alike in filter(None, plain):
        if len(alike) > BEGINNINGS_KEPT:
            # Of so many no beginning of equal ones would go on: they stay as they were written.
            order, slots = known[0]
            numbers, sizes = dict(slots), Counter(parameter for parameter, _ in slots.values())
            for term in (term for literal in alike for term in literal.terms if term not in numbers):
                parameter = isinstance(term, Constant) or term.plus
                numbers[term] = (parameter, sizes[parameter])
                sizes[parameter] += 1
            known = [((*order, *alike), numbers)]
            continue
        most = ORDERINGS_TRIED if certain else max(1, BEGINNINGS_KEPT // len(alike))
        begun = [(order, tuple(alike), slots) for order, slots in known]
        for _ in alike:
            longer = [
                (key, (*order, literal), (*left[:k], *left[k + 1 :]), new)
                for order, left, slots in begun
                for k, literal in enumerate(left)
                for key, new in [_numbered(literal.terms, slots)]
            ]
            least = min(key for key, *_ in longer)
            begun = [(order, left, new) for key, order, left, new in longer if key == least][:most]
        known = [(order, slots) for order, _, slots in begun]
    all_tried = len(known) * prod(factorial(len(group)) for group in rest) <= ORDERINGS_TRIED
    ways = list(product(*(permutations(group) for group in rest))) if all_tried else [tuple(map(tuple, rest))]
    for order, _ in known:
        for way in ways:
            yield [*order, *(literal for group in way for literal in group)]


def _numbered(terms: Sequence[Term], known: Slots) -> tuple[tuple[tuple[bool, int], ...], Slots]:
    """Return the slots of terms, new ones with the next numbers, and the slot of each term that is known then."""
    slots = known
    for term in terms:
        if term not in slots:
            parameter = isinstance(term, Constant) or term.plus
            slots = {**slots, term: (parameter, sum(kind == parameter for kind, _ in slots.values()))}
    return tuple(slots[term] for term in terms), slots


def _key(shape: Shape) -> tuple[object, ...]:
    return (shape.literals, shape.equalities, shape.exists, shape.variables, shape.parameters)


def _look(literal: ClauseLiteral) -> tuple[object, ...]:
    """What can be told of a literal before its variables are numbered."""
    match literal:
        case Literal(predicate, terms, positive):
            return (0, predicate, positive, _pattern(terms))
        case EqualityLiteral(left, right, positive):
            return (1, positive, _pattern((left, right)))
        case ExistsLiteral(variables, conjunction):
            return (2, len(variables), tuple(sorted(repr(_look(part)) for part in conjunction)))


def _pattern(terms: Iterable[Term]) -> tuple[object, ...]:
    first: dict[Term, int] = {}
    return tuple(
        ("v", first.setdefault(t, len(first))) if isinstance(t, Variable) and not t.plus else ("k",) for t in terms
    )


def _number(
    clause: Clause, literals: Sequence[ClauseLiteral], plus: Sequence[str], type_of: TypeOf
) -> tuple[Shape, tuple[int, ...], tuple[str, ...]]:
    """Number variables and parameters by first occurrence in the given order of literals."""
    names: dict[str, int] = {}
    types: list[str] = []
    parameters: dict[int, int] = {}
    parameter_types: list[str] = []
    declared = dict(clause.variables)
    constants = len({t.name for literal in literals for t in terms_in(literal) if isinstance(t, Constant)})

    def slot(term: Term, kind: str) -> Slot:
        """Return the slot of a term in the order in which slots are met."""
        if isinstance(term, Variable) and not term.plus:
            if term.name not in names:
                names[term.name] = len(types)
                types.append(declared.get(term.name, kind))
            return _slot(False, names[term.name])
        number = constants + plus.index(term.name) if isinstance(term, Variable) else int(term.name)
        if number not in parameters:
            parameters[number] = len(parameter_types)
            parameter_types.append(declared.get(term.name, kind) if isinstance(term, Variable) else kind)
        return _slot(True, parameters[number])

    def literal_of(literal: Literal) -> ShapeLiteral:
        """Return a literal over slots."""
        terms = tuple(slot(t, type_of(literal.predicate, i)) for i, t in enumerate(literal.terms))
        return ShapeLiteral(literal.predicate, literal.positive, terms)

    def equality_of(literal: EqualityLiteral) -> ShapeEquality:
        """Return an equality over slots, the lesser one first."""
        kind = next((declared[t.name] for t in (literal.left, literal.right) if t.name in declared), "")
        left, right = slot(literal.left, kind), slot(literal.right, kind)
        return ShapeEquality(literal.positive, min(left, right), max(left, right))

    plain = [literal_of(x) for x in literals if isinstance(x, Literal)]
    exists: list[ShapeExists] = []
    for group in (x for x in literals if isinstance(x, ExistsLiteral)):
        declared.update(group.variables)
        inside = tuple(literal_of(x) for x in group.conjunction if isinstance(x, Literal))
        equal = tuple(equality_of(x) for x in group.conjunction if isinstance(x, EqualityLiteral))
        for name, kind in group.variables:
            slot(Variable(name), kind)
        exists.append(ShapeExists(tuple(sorted(names[name] for name, _ in group.variables)), inside, equal))
    equalities = tuple(sorted(equality_of(x) for x in literals if isinstance(x, EqualityLiteral)))
    for name, kind in sorted(clause.variables, key=lambda v: v[1]):
        if name not in plus:
            slot(Variable(name), kind)
    shape = Shape(tuple(types), tuple(parameter_types), tuple(plain), equalities, tuple(exists))
    return shape, tuple(sorted(parameters, key=parameters.__getitem__)), tuple(names)


# ---- symmetries: exchanges of parameters that leave a clause the same --------------------------------


def parameter_symmetries(shape: Shape) -> tuple[tuple[int, ...], ...]:
    """Return the exchanges of parameters (old one at each place, identity first) that leave a shape the same clause."""
    if shape.equalities or shape.exists:
        raise ValueError(f"symmetries are known for shapes of plain literals alone, not for {shape}")
    # `!Token(k0, v0) v !Token(k1, v0)` is one clause for the rows (A, B) and (B, A) of the parameter table. The least of
    # the rows `row[p[0]], row[p[1]], ...` that exchanges p lead to stands for all of them.
    identity = tuple(range(len(shape.parameters)))
    sizes = Counter((x.predicate, x.positive) for x in shape.literals)
    # Of so many look-alike literals `Shaper` does not try all orders either.
    if prod(map(factorial, sizes.values())) > ORDERINGS_TRIED:
        return (identity,)
    found = {_parameters(shape, order) for order in _exchanges(shape.literals)}
    return (identity, *sorted(x for x in found if x is not None and x != identity))


def _exchanges(literals: Sequence[ShapeLiteral]) -> Iterator[tuple[ShapeLiteral, ...]]:
    """Yield the orders of literals that put a literal of the same predicate and sign at each place."""
    places: dict[tuple[str, bool], list[int]] = {}
    for i, literal in enumerate(literals):
        places.setdefault((literal.predicate, literal.positive), []).append(i)
    for chosen in product(*(permutations(group) for group in places.values())):
        order = list(literals)
        for group, images in zip(places.values(), chosen, strict=True):
            for place, image in zip(group, images, strict=True):
                order[place] = literals[image]
        yield tuple(order)


def _parameters(shape: Shape, order: Sequence[ShapeLiteral]) -> tuple[int, ...] | None:
    """Return the parameters at each place if renaming slots one to one turns the shape's literals into these."""
    image: dict[Slot, Slot] = {}
    for old, new in zip(shape.literals, order, strict=True):
        for a, b in zip(old.terms, new.terms, strict=True):
            if image.setdefault(a, b) != b or a.parameter != b.parameter:
                return None
    # The literals are the same ones in another order, so that no two slots get one name.
    parameters = [image.get(Slot(True, k), Slot(True, k)).index for k in range(len(shape.parameters))]
    return tuple(parameters)
