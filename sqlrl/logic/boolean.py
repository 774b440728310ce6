"""Boolean functions over literals and existential witnesses, in negation normal form."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from sqlrl.errors import ModelError
from sqlrl.logic.terms import EqualityLiteral, Literal, Term, Variable

LARGEST_FORM = 2000
"""How many conjunctions (or clauses) a formula may expand to."""


@dataclass(frozen=True, slots=True)
class Witness:
    """`EXIST variables (conjunction)`, as an atom; every variable occurs in the conjunction.

    `example` is the example over whose domains the variables range, where only the rest of the formula says it.
    """

    variables: tuple[str, ...]
    conjunction: tuple[Signed, ...]
    example: Variable | None = None


@dataclass(frozen=True, slots=True)
class Signed:
    """An atom or its negation; literals inside are positive."""

    atom: Literal | EqualityLiteral | Witness
    positive: bool = True

    def negated(self) -> Signed:
        """Return the other sign of the same atom."""
        return Signed(self.atom, not self.positive)


@dataclass(frozen=True, slots=True)
class All:
    """A conjunction; without parts it is true."""

    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Any:
    """A disjunction; without parts it is false."""

    parts: tuple[Node, ...]


Node = Signed | All | Any
TRUE, FALSE = All(()), Any(())


def conjoin(parts: Iterable[Node]) -> Node:
    """Return the conjunction: flat, without repetition, false if two parts contradict each other."""
    found = _distinct((piece for part in parts for piece in (part.parts if isinstance(part, All) else (part,))), FALSE)
    if found is None:
        return FALSE
    return found[0] if len(found) == 1 else All(found)


def disjoin(parts: Iterable[Node]) -> Node:
    """Return the disjunction: flat, without repetition, true if one part is the negation of another."""
    found = _distinct((piece for part in parts for piece in (part.parts if isinstance(part, Any) else (part,))), TRUE)
    if found is None:
        return TRUE
    return found[0] if len(found) == 1 else Any(found)


def _distinct(pieces: Iterable[Node], absorbing: Node) -> tuple[Node, ...] | None:
    """Return each piece once; None if one is `absorbing`, or an atom has both signs."""
    found: dict[Node | Literal | EqualityLiteral | Witness, Node] = {}
    for piece in pieces:
        if isinstance(piece, Signed):
            known = found.setdefault(piece.atom, piece)
            if isinstance(known, Signed) and known.positive != piece.positive:
                return None
        elif piece == absorbing:
            return None
        else:
            found[piece] = piece
    return tuple(found.values())


def negate(node: Node) -> Node:
    """Return the negation, with negation at the literals only.

    Examples
    --------
    >>> h, s = Signed(Literal("H", ())), Signed(Literal("S", ()))
    >>> negate(conjoin((h, s))) == disjoin((h.negated(), s.negated()))
    True
    """
    match node:
        case Signed():
            return node.negated()
        case All(parts):
            return disjoin(map(negate, parts))
        case Any(parts):
            return conjoin(map(negate, parts))


def disjuncts(node: Node) -> tuple[tuple[Signed, ...], ...]:
    """Return the disjunctive normal form, without conjunctions that others absorb.

    Raises
    ------
    ModelError
        It has more than `LARGEST_FORM` conjunctions.

    Examples
    --------
    >>> h, s, t = (Signed(Literal(name, ())) for name in "HST")
    >>> [[signed.atom.predicate for signed in found] for found in disjuncts(conjoin((h, disjoin((s, t)))))]
    [['H', 'S'], ['H', 'T']]
    """
    match node:
        case Signed():
            return ((node,),)
        case Any(parts):
            return tuple(_absorb(conjunction for part in parts for conjunction in disjuncts(part)))
        case All(parts):
            found: list[tuple[Signed, ...]] = [()]
            for part in parts:
                right = disjuncts(part)
                if len(found) * len(right) > LARGEST_FORM:
                    raise ModelError(f"the formula expands to more than {LARGEST_FORM} conjunctions: split it")
                joined = (conjoin((*a, *b)) for a in found for b in right)
                found = _absorb(_signs(x) for x in joined if x != FALSE)
            return tuple(found)


def prenex(clause: tuple[Signed, ...]) -> tuple[Signed, ...]:
    """Drop the universal quantifiers of a clause, so that their variables become grounding variables.

    Examples
    --------
    >>> p, q = Signed(Literal("P", (Variable("x"),))), Signed(Literal("Q", (Variable("y"),)))
    >>> prenex((p, Signed(Witness(("y",), (q.negated(),)), False))) == (p, q)  # P(x) v FORALL y Q(y)
    True
    """
    found: dict[Signed, None] = {}
    for signed in clause:
        if isinstance(signed.atom, Witness) and not signed.positive:
            found.update(dict.fromkeys(prenex(tuple(s.negated() for s in signed.atom.conjunction))))
        else:
            found[signed] = None
    return tuple(found)


def _signs(node: Node) -> tuple[Signed, ...]:
    parts = node.parts if isinstance(node, All) else (node,)
    return tuple(p for p in parts if isinstance(p, Signed))


def _absorb(conjunctions: Iterable[tuple[Signed, ...]]) -> list[tuple[Signed, ...]]:
    unique = list({frozenset(c): c for c in conjunctions}.items())
    return [c for key, c in unique if not any(other < key for other, _ in unique)]


def size_of(node: Node) -> int:
    """Return the number of parts of a function."""
    return 1 if isinstance(node, Signed) else 1 + sum(map(size_of, node.parts))


def variables_of(signed: Signed) -> Iterator[str]:
    """Yield the names of the free variables of a literal or witness, from left to right."""
    match signed.atom:
        case Literal(_, terms):
            yield from (t.name for t in terms if isinstance(t, Variable))
        case EqualityLiteral(left, right):
            yield from (t.name for t in (left, right) if isinstance(t, Variable))
        case Witness(variables, conjunction, example):
            yield from (n for s in conjunction for n in variables_of(s) if n not in variables)
            yield from () if example is None else (example.name,)


def substitute(signed: Signed, names: Mapping[str, str]) -> Signed:
    """Rename the free variables of a literal or witness."""
    return map_terms(signed, lambda t: Variable(names[t.name], t.plus) if t.name in names else t)


def map_terms(signed: Signed, change: Callable[[Variable], Variable]) -> Signed:
    """Change the free variables of a literal or witness."""

    def term(old: Term) -> Term:
        """Return a changed variable, or the constant."""
        return change(old) if isinstance(old, Variable) else old

    match signed.atom:
        case Literal(predicate, terms):
            return Signed(Literal(predicate, tuple(map(term, terms))), signed.positive)
        case EqualityLiteral(left, right):
            return Signed(EqualityLiteral(term(left), term(right)), signed.positive)
        case Witness(variables, conjunction, example):

            def outside(old: Variable) -> Variable:
                """Change a variable that the quantifier does not bind."""
                return old if old.name in variables else change(old)

            example = None if example is None else change(example)
            parts = tuple(map_terms(s, outside) for s in conjunction)
            return Signed(Witness(variables, parts, example), signed.positive)
