"""Ground clauses in words: literals with constants, variables as the clause calls them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import chain

from sqlrl.logic.shapes import Shape, ShapeEquality, ShapeExists, ShapeLiteral, Slot
from sqlrl.logic.terms import Constant, EqualityLiteral, ExistsLiteral, Helper, Literal, Term, Variable


class ClauseWriter:
    r"""Writes the ground clauses of a shape.

    Parameters
    ----------
    shape : Shape
    variables : sequence of str
        What the clause calls the variables of the shape.
    negated : bool
        True for a conjunction, which is grounded as its negation: it is written as the conjunction.
    helpers : iterable of Helper
        Helper predicates, which are written as what they stand for.

    Examples
    --------
    >>> from sqlrl.plan.sample import friends_smoke
    >>> values = {Slot(False, 0): "Anna", Slot(False, 1): "Bob"}
    >>> ClauseWriter(friends_smoke(), ["x", "y"]).text(values)
    '!Friends(Anna, Bob) v Smokes(Bob)'
    >>> ClauseWriter(friends_smoke(), ["x", "y"], negated=True).text({Slot(False, 0): "Anna"})
    'Friends(Anna, y) ^ !Smokes(y)'
    """

    def __init__(
        self, shape: Shape, variables: Iterable[str], *, negated: bool = False, helpers: Iterable[Helper] = ()
    ) -> None:
        self._shape, self._variables, self._negated = shape, tuple(variables), negated
        self._helpers = {helper.name: helper for helper in helpers}

    def text(self, values: Mapping[Slot, str | None]) -> str:
        """Return a ground clause.

        Parameters
        ----------
        values : mapping of Slot to str or None
            The constant of each slot; a variable without one keeps its name. None: a constant that the data do not have.
        """
        terms = {slot: Constant("?" if name is None else name) for slot, name in values.items()}
        kinds: dict[tuple[str, bool], set[str]] = {}
        for literal in sorted(self._shape.literals, key=lambda x: x.positive):
            kinds.setdefault((literal.predicate, literal.positive), set()).add(self._literal(literal, terms))
        # Negative ones first, as an implication reads; look-alikes in one order, each once, so that equal ground clauses
        # are equal texts.
        parts = [text for found in kinds.values() for text in sorted(found)]
        # An equality of two constants is false in every ground clause: it says nothing.
        unknown = [x for x in self._shape.equalities if not (x.left in values and x.right in values)]
        parts += [_equal(self._equality(x, terms), self._negated) for x in unknown]
        for group in self._shape.exists:
            text = self._exists(group, terms)
            parts.append(f"!({text})" if self._negated else f"({text})")
        return (" ^ " if self._negated else " v ").join(parts)

    def _term(self, slot: Slot, terms: Mapping[Slot, Constant]) -> Term:
        return terms[slot] if slot in terms else Variable(self._variables[slot.index])

    def _literal(self, literal: ShapeLiteral, terms: Mapping[Slot, Constant], *, inside: bool = False) -> str:
        filled = tuple(self._term(slot, terms) for slot in literal.terms)
        positive = literal.positive != (self._negated and not inside)
        return self._words(Literal(literal.predicate, filled, positive))

    def _equality(self, equality: ShapeEquality, terms: Mapping[Slot, Constant]) -> EqualityLiteral:
        return EqualityLiteral(
            self._term(equality.left, terms), self._term(equality.right, terms), equality.positive
        )  # fmt: skip

    def _exists(self, group: ShapeExists, terms: Mapping[Slot, Constant]) -> str:
        names = ", ".join(self._variables[i] for i in group.variables)
        body = chain(
            (self._literal(x, terms, inside=True) for x in group.literals),
            (str(self._equality(x, terms)) for x in group.equalities),
        )
        return f"EXIST {names} {_joined(list(body))}"

    def _words(self, literal: Literal) -> str:
        """Return a literal as text; that of a helper predicate as the quantified conjunction that it stands for."""
        helper = self._helpers.get(literal.predicate)
        if helper is None:
            return str(literal)
        terms = dict(zip((name for name, _ in helper.variables), literal.terms, strict=True))
        definition = _filled(helper.definition, terms)
        names = ", ".join(name.replace("$", "") for name, _ in definition.variables)
        body = [self._words(x) if isinstance(x, Literal) else str(x) for x in definition.conjunction]
        return f"{'' if literal.positive else '!'}(EXIST {names} {_joined(body)})"


def _joined(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else f"({' ^ '.join(parts)})"


def _equal(equality: EqualityLiteral, negated: bool) -> str:
    return str(EqualityLiteral(equality.left, equality.right, equality.positive != negated))


def _filled(definition: ExistsLiteral, terms: Mapping[str, Term]) -> ExistsLiteral:
    """Put terms in place of the free variables of a definition; the quantified ones lose the `$` that sets them apart."""

    def term(old: Term) -> Term:
        """Return a term with its constant, or with the name that the user gave it."""
        if not isinstance(old, Variable):
            return old
        return terms.get(old.name, Variable(old.name.replace("$", "")))

    parts: list[Literal | EqualityLiteral] = []
    for part in definition.conjunction:
        if isinstance(part, Literal):
            parts.append(Literal(part.predicate, tuple(map(term, part.terms)), part.positive))
        else:
            parts.append(EqualityLiteral(term(part.left), term(part.right), part.positive))
    return ExistsLiteral(definition.variables, tuple(parts))
