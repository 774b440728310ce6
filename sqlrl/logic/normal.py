"""Formulas as boolean functions: unique variable names, types, negation normal form, quantifiers as atoms.

A quantified subformula becomes an atom of its own, a `Witness`: EXIST is distributed over disjunction, literals
without the quantified variables are taken out of it, and FORALL is the negation of an EXIST.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from sqlrl.errors import ModelError
from sqlrl.logic.lexer import nearest
from sqlrl.logic.model import Model
from sqlrl.logic.printer import format_formula
from sqlrl.logic.terms import (
    And,
    Atom,
    BothSigns,
    Constant,
    Equal,
    EqualityLiteral,
    Exist,
    ForAll,
    Formula,
    Iff,
    Implies,
    Literal,
    Not,
    Or,
    Term,
    Variable,
)

LARGEST_FORM = 2000
"""How many conjunctions (or clauses) a formula may expand to."""


@dataclass(frozen=True, slots=True)
class Witness:
    """`EXIST variables (conjunction)`, as an atom; every variable occurs in the conjunction."""

    variables: tuple[str, ...]
    conjunction: tuple[Signed, ...]


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
    found: dict[Node, None] = {}
    for part in parts:
        for piece in part.parts if isinstance(part, All) else (part,):
            if piece == FALSE or (isinstance(piece, Signed) and piece.negated() in found):
                return FALSE
            found[piece] = None
    return next(iter(found)) if len(found) == 1 else All(tuple(found))


def disjoin(parts: Iterable[Node]) -> Node:
    """Return the disjunction: flat, without repetition, true if one part is the negation of another."""
    found: dict[Node, None] = {}
    for part in parts:
        for piece in part.parts if isinstance(part, Any) else (part,):
            if piece == TRUE or (isinstance(piece, Signed) and piece.negated() in found):
                return TRUE
            found[piece] = None
    return next(iter(found)) if len(found) == 1 else Any(tuple(found))


def negate(node: Node) -> Node:
    """Return the negation, with negation at the literals only."""
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
    """Drop the universal quantifiers of a clause, so that their variables become grounding variables."""
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


@dataclass(frozen=True, slots=True)
class Normal:
    """A formula as a boolean function.

    Parameters
    ----------
    variables : tuple of (str, str)
        The grounding variables, each with its type.
    plus : tuple of str
        Those of them that `+` marks.
    types : mapping of str to str
        The type of every variable, quantified ones included; all names are unique.
    node : Node
    """

    variables: tuple[tuple[str, str], ...]
    plus: tuple[str, ...]
    types: Mapping[str, str]
    node: Node


def normalise(formula: Formula, model: Model) -> Normal:
    """Turn a formula without `*` into a boolean function over literals and witnesses.

    Parameters
    ----------
    formula : Formula
    model : Model
        Declares the predicates.

    Returns
    -------
    Normal

    Raises
    ------
    ModelError
        An unknown predicate, a wrong arity, a variable of two types or of none, an unused quantified variable,
        a formula that grows too large.
    """
    apart = _Apart(formula)
    types = _Types(model, formula, apart)
    prefix, body = _strip(apart.formula)
    free = dict.fromkeys((*prefix, *apart.free))
    variables = tuple((name, types.of(name)) for name in free)
    plus = tuple(name for name in free if name in apart.plus)
    node = _Normaliser(apart).node(body)
    return Normal(variables, plus, types.found, node)


def _strip(formula: Formula) -> tuple[tuple[str, ...], Formula]:
    """Take the outermost FORALLs off."""
    names: list[str] = []
    while isinstance(formula, ForAll):
        names += formula.variables
        formula = formula.body
    return tuple(names), formula


class _Apart:
    """A formula whose quantified variables have unique names, and whose `+` variables carry it everywhere."""

    def __init__(self, formula: Formula) -> None:
        self.original = formula
        self.plus = {t.name for t in terms_of(formula) if isinstance(t, Variable) and t.plus}
        self.free = tuple(dict.fromkeys(_free(formula, frozenset())))
        self.bound: list[str] = []
        self._used = set(self.free)
        self.formula = self._rename(formula, {})

    def fresh(self, name: str) -> str:
        """Return a name like the given one that is not used yet."""
        found, number = name, 2
        while found in self._used:
            found, number = f"{name}_{number}", number + 1
        self._used.add(found)
        return found

    def _rename(self, formula: Formula, names: Mapping[str, str]) -> Formula:
        def term(old: Term) -> Term:
            if isinstance(old, Constant):
                return old
            name = names.get(old.name, old.name)
            return Variable(name, plus=old.name not in names and name in self.plus)

        match formula:
            case Atom(predicate, terms):
                return Atom(predicate, tuple(map(term, terms)))
            case Equal(left, right):
                return Equal(term(left), term(right))
            case Not(body):
                return Not(self._rename(body, names))
            case And(parts):
                return And(tuple(self._rename(p, names) for p in parts))
            case Or(parts):
                return Or(tuple(self._rename(p, names) for p in parts))
            case Implies(left_part, right_part):
                return Implies(self._rename(left_part, names), self._rename(right_part, names))
            case Iff(left_part, right_part):
                return Iff(self._rename(left_part, names), self._rename(right_part, names))
            case ForAll(variables, body) | Exist(variables, body):
                fresh = {name: self.fresh(name) for name in dict.fromkeys(variables)}
                self.bound += fresh.values()
                kind = ForAll if isinstance(formula, ForAll) else Exist
                return kind(tuple(fresh.values()), self._rename(body, {**names, **fresh}))
            case BothSigns():
                raise ModelError(f"both signs are not split yet in: {format_formula(self.original)}")


class _Types:
    """Infers the types of the variables from the declarations, and across equalities."""

    def __init__(self, model: Model, original: Formula, apart: _Apart) -> None:
        self._model, self._text = model, original
        self.found: dict[str, str] = {}
        self._equal: list[tuple[Term, Term]] = []
        self._see(apart.formula)
        while sum(self._carry(left, right) for left, right in self._equal):
            pass
        for name in apart.bound:
            if not any(isinstance(t, Variable) and t.name == name for t in terms_of(apart.formula)):
                raise self._error(f"the quantified variable {name} occurs nowhere in its scope")
        for name in (*apart.free, *apart.bound):
            self.of(name)

    def of(self, name: str) -> str:
        """Return the type of a variable."""
        if name not in self.found:
            raise self._error(f"the type of {name} cannot be inferred: it occurs only in '=' and '!='")
        return self.found[name]

    def _error(self, problem: str) -> ModelError:
        return ModelError(f"{problem}, in: {format_formula(self._text)}")

    def _set(self, name: str, kind: str) -> None:
        if self.found.setdefault(name, kind) != kind:
            raise self._error(f"the variable {name} is of type {self.found[name]!r} and of type {kind!r}")

    def _see(self, formula: Formula) -> None:
        for part in subformulas(formula):
            if isinstance(part, Equal):
                self._equal.append((part.left, part.right))
            if not isinstance(part, Atom):
                continue
            if part.predicate not in self._model.predicates:
                hint = nearest(part.predicate, self._model.predicates)
                raise self._error(f"unknown predicate {part.predicate!r}{hint or '; declare it'}")
            declared = self._model.predicates[part.predicate]
            if len(declared.arguments) != len(part.terms):
                raise self._error(f"{part} has {len(part.terms)} argument(s), but is declared as {declared}")
            for term, kind in zip(part.terms, declared.types, strict=True):
                if isinstance(term, Variable):
                    self._set(term.name, kind)

    def _carry(self, left: Term, right: Term) -> bool:
        before = len(self.found)
        for one, other in ((left, right), (right, left)):
            if isinstance(one, Variable) and isinstance(other, Variable) and one.name in self.found:
                self._set(other.name, self.found[one.name])
        return len(self.found) > before


class _Normaliser:
    """Builds the boolean function; each subformula once, so that the parts of an equivalence share their atoms."""

    def __init__(self, apart: _Apart) -> None:
        self._apart = apart
        self._size = 0

    def node(self, formula: Formula) -> Node:
        """Return the function of a formula with unique names."""
        match formula:
            case Atom(predicate, terms):
                return Signed(Literal(predicate, terms))
            case Equal(left, right):
                return _equality(left, right)
            case Not(body):
                return negate(self.node(body))
            case And(parts):
                return conjoin([self.node(p) for p in parts])
            case Or(parts):
                return disjoin([self.node(p) for p in parts])
            case Implies(left_part, right_part):
                return disjoin((negate(self.node(left_part)), self.node(right_part)))
            case Iff(left_part, right_part):
                return self._equivalence(self.node(left_part), self.node(right_part))
            case Exist(variables, body):
                return self._exists(variables, self.node(body))
            case ForAll(variables, body):
                return negate(self._exists(variables, negate(self.node(body))))
            case BothSigns():
                raise ModelError(f"both signs are not split yet in: {formula}")

    def _equivalence(self, left: Node, right: Node) -> Node:
        self._size += _size(left) + _size(right)
        if self._size > 10 * LARGEST_FORM:
            raise ModelError(f"the equivalences of the formula expand to more than {LARGEST_FORM} parts: split it")
        return disjoin((conjoin((left, right)), conjoin((negate(left), negate(right)))))

    def _exists(self, variables: tuple[str, ...], body: Node) -> Node:
        bound = set(variables)
        return disjoin([conjoin(self._pieces(c, bound)) for c in disjuncts(body)])

    def _pieces(self, conjunction: tuple[Signed, ...], bound: set[str]) -> Iterator[Node]:
        """Split `EXIST bound (conjunction)` into what does not share quantified variables."""
        waiting = [(signed, set(variables_of(signed)) & bound) for signed in conjunction]
        while waiting:
            first, reached = waiting.pop(0)
            if not reached:
                yield first
                continue
            group, size = [(first, reached)], 0
            while size < len(group):
                size = len(group)
                group += [w for w in waiting if w[1] & reached]
                waiting = [w for w in waiting if not w[1] & reached]
                reached = reached.union(*(names for _, names in group))
            order = {id(signed): i for i, signed in enumerate(conjunction)}
            yield self._witness(sorted((s for s, _ in group), key=lambda s: order[id(s)]), reached)

    def _witness(self, parts: list[Signed], bound: set[str]) -> Node:
        """Make one witness; positive witnesses inside become part of it."""
        pieces: dict[Signed, None] = {}
        inside = set(bound)
        for part in parts:
            if isinstance(part.atom, Witness) and part.positive:
                clash = {name: self._apart.fresh(name) for name in part.atom.variables if name in inside}
                inside.update(clash.get(name, name) for name in part.atom.variables)
                pieces.update(dict.fromkeys(substitute(s, clash) for s in part.atom.conjunction))
            else:
                pieces[part] = None
        names = dict.fromkeys(n for piece in pieces for n in variables_of(piece) if n in inside)
        return Signed(Witness(tuple(names), tuple(pieces)))


def _equality(left: Term, right: Term) -> Node:
    """Return an equality in one of its two directions, or its truth if that is known."""
    if left == right or (isinstance(left, Variable) and isinstance(right, Variable) and left.name == right.name):
        return TRUE
    if isinstance(left, Constant) and isinstance(right, Constant):
        return FALSE
    first, second = sorted((left, right), key=lambda t: (isinstance(t, Constant), t.name))
    return Signed(EqualityLiteral(first, second))


def _size(node: Node) -> int:
    return 1 if isinstance(node, Signed) else 1 + sum(map(_size, node.parts))


def subformulas(formula: Formula) -> Iterator[Formula]:
    """Yield a formula and all formulas inside it, from left to right."""
    yield formula
    match formula:
        case Not(body) | ForAll(_, body) | Exist(_, body):
            yield from subformulas(body)
        case And(parts) | Or(parts):
            for part in parts:
                yield from subformulas(part)
        case Implies(left, right) | Iff(left, right):
            yield from subformulas(left)
            yield from subformulas(right)
        case BothSigns(atom):
            yield atom


def terms_of(formula: Formula) -> Iterator[Term]:
    """Yield the terms of a formula from left to right."""
    for part in subformulas(formula):
        if isinstance(part, Atom):
            yield from part.terms
        elif isinstance(part, Equal):
            yield from (part.left, part.right)


def _free(formula: Formula, bound: frozenset[str]) -> Iterator[str]:
    match formula:
        case Atom() | Equal() | BothSigns():
            yield from (t.name for t in terms_of(formula) if isinstance(t, Variable) and t.name not in bound)
        case Not(body):
            yield from _free(body, bound)
        case And(parts) | Or(parts):
            for part in parts:
                yield from _free(part, bound)
        case Implies(left, right) | Iff(left, right):
            yield from _free(left, bound)
            yield from _free(right, bound)
        case ForAll(variables, body) | Exist(variables, body):
            yield from _free(body, bound | set(variables))


def variables_of(signed: Signed) -> Iterator[str]:
    """Yield the names of the free variables of a literal or witness, from left to right."""
    match signed.atom:
        case Literal(_, terms):
            yield from (t.name for t in terms if isinstance(t, Variable))
        case EqualityLiteral(left, right):
            yield from (t.name for t in (left, right) if isinstance(t, Variable))
        case Witness(variables, conjunction):
            yield from (n for s in conjunction for n in variables_of(s) if n not in variables)


def substitute(signed: Signed, names: Mapping[str, str]) -> Signed:
    """Rename the free variables of a literal or witness."""
    return map_terms(signed, lambda t: Variable(names[t.name], t.plus) if t.name in names else t)


def map_terms(signed: Signed, change: Callable[[Variable], Term]) -> Signed:
    """Change the free variables of a literal or witness."""

    def term(old: Term) -> Term:
        return change(old) if isinstance(old, Variable) else old

    match signed.atom:
        case Literal(predicate, terms):
            return Signed(Literal(predicate, tuple(map(term, terms))), signed.positive)
        case EqualityLiteral(left, right):
            return Signed(EqualityLiteral(term(left), term(right)), signed.positive)
        case Witness(variables, conjunction):

            def outside(old: Variable) -> Term:
                return old if old.name in variables else change(old)

            return Signed(Witness(variables, tuple(map_terms(s, outside) for s in conjunction)), signed.positive)
