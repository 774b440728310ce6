"""Formulas as boolean functions: unique variable names, types, negation normal form, quantifiers as atoms.

A quantified subformula becomes an atom of its own, a `Witness`: EXIST is distributed over disjunction, literals
without the quantified variables are taken out of it, and FORALL is the negation of an EXIST.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from sqlrl.errors import ModelError
from sqlrl.logic.boolean import (
    FALSE,
    TRUE,
    Node,
    Signed,
    Witness,
    conjoin,
    disjoin,
    disjuncts,
    negate,
    size_of,
    substitute,
    variables_of,
)
from sqlrl.logic.lexer import nearest
from sqlrl.logic.limits import LARGEST_FORM
from sqlrl.logic.model import Model
from sqlrl.logic.printer import format_formula
from sqlrl.logic.subformulas import atoms_of, free_variables, subformulas, terms_of, with_parts
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
from sqlrl.wording import counted

# ---- variables: names that are unique, and types -----------------------------------------------------


class Apart:
    """A formula whose quantified variables have unique names, and whose `+` variables carry it everywhere."""

    def __init__(self, formula: Formula) -> None:
        self.original = formula
        self.plus = {t.name for t in terms_of(formula) if isinstance(t, Variable) and t.plus}
        self.free = tuple(dict.fromkeys(free_variables(formula)))
        self.bound: list[str] = []
        self._used = set(self.free)
        self._numbers: dict[str, int] = {}
        plain = not self.plus and not any(isinstance(part, ForAll | Exist | BothSigns) for part in subformulas(formula))
        self.formula = formula if plain else self._rename(formula, {})

    def fresh(self, name: str) -> str:
        """Return a name like the given one that is not used yet."""
        found, number = name, self._numbers.get(name, 2)
        while found in self._used:
            found, number = f"{name}_{number}", number + 1
        self._numbers[name] = number
        self._used.add(found)
        return found

    def _rename(self, formula: Formula, names: Mapping[str, str]) -> Formula:
        def term(old: Term) -> Term:
            """Return a term with its new name."""
            if isinstance(old, Constant):
                return old
            name = names.get(old.name, old.name)
            return Variable(name, plus=old.name not in names and name in self.plus)

        match formula:
            case Atom(predicate, terms):
                return Atom(predicate, tuple(map(term, terms)))
            case Equal(left, right):
                return Equal(term(left), term(right))
            case ForAll(variables, body) | Exist(variables, body):
                fresh = {name: self.fresh(name) for name in dict.fromkeys(variables)}
                self.bound += fresh.values()
                kind = ForAll if isinstance(formula, ForAll) else Exist
                return kind(tuple(fresh.values()), self._rename(body, {**names, **fresh}))
            case BothSigns():
                raise ModelError(f"both signs are not split yet in: {format_formula(self.original)}")
            case _:
                return with_parts(formula, lambda part: self._rename(part, names))


class Types:
    """Infers the types of the variables from the declarations, and across equalities."""

    def __init__(self, model: Model, original: Formula, apart: Apart) -> None:
        self._model, self._text = model, original
        self.found: dict[str, str] = {}
        self._equal: list[tuple[Term, Term]] = []
        self._see(apart.formula)
        self._carry()
        named = {t.name for t in terms_of(apart.formula) if isinstance(t, Variable)}
        for name in apart.bound:
            if name not in named:
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
                raise self._error(f"{part} has {counted(len(part.terms), 'argument')}, but is declared as {declared}")
            for term, kind in zip(part.terms, declared.types, strict=True):
                if isinstance(term, Variable):
                    self._set(term.name, kind)

    def _carry(self) -> None:
        """Give the variables that are equal to one of a known type that type, and so on from these."""
        beside: dict[str, list[str]] = {}
        for left, right in self._equal:
            if isinstance(left, Variable) and isinstance(right, Variable):
                beside.setdefault(left.name, []).append(right.name)
                beside.setdefault(right.name, []).append(left.name)
        waiting = list(self.found)
        while waiting:
            name = waiting.pop()
            for other in beside.pop(name, ()):
                self._set(other, self.found[name])
                waiting.append(other)


# ---- normal form -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Division:
    """How the constants of a type divide the data into examples."""

    example: str  # the type whose constants are the examples
    local: frozenset[str]  # the types of which each example has a domain of its own


@dataclass(frozen=True, slots=True)
class Normal:
    """A formula as a boolean function; all names of variables are unique."""

    variables: tuple[tuple[str, str], ...]  # the grounding variables (name, type)
    plus: tuple[str, ...]  # those of them that `+` marks
    types: Mapping[str, str]  # of every variable, quantified ones included
    node: Node
    division: Division | None = None


def normalise(formula: Formula, model: Model, division: Division | None = None) -> Normal:
    """Turn a formula without `*` into a boolean function over literals and witnesses.

    Free variables and those of the outermost FORALLs are the grounding variables: a free variable is read as
    universally quantified at the outermost level. Alchemy 2 makes every variable of a FORALL a grounding variable
    (`ListObj::toCNF` in its parser); here only an outermost one does, as the formula is one feature.
    """
    apart = Apart(formula)
    types = Types(model, formula, apart)
    prefix, body = _strip(apart.formula)
    free = dict.fromkeys((*prefix, *apart.free))
    variables = tuple((name, types.of(name)) for name in free)
    plus = tuple(name for name in free if name in apart.plus)
    owning = None if division is None else _Owning(division, model, apart.formula, dict(variables), types.found)
    node = _Normaliser(apart, owning).node(body)
    return Normal(variables, plus, types.found, node, division)


def _strip(formula: Formula) -> tuple[tuple[str, ...], Formula]:
    """Take the outermost FORALLs off."""
    names: list[str] = []
    while isinstance(formula, ForAll):
        names += formula.variables
        formula = formula.body
    return tuple(names), formula


class _Owning:
    """Which example a quantifier's variables of local types belong to: the only one that the formula names."""

    def __init__(
        self, division: Division, model: Model, formula: Formula, grounding: Mapping[str, str], types: Mapping[str, str]
    ) -> None:
        self._division, self._model, self._types = division, model, types
        terms = {self._bare(term) for atom in atoms_of(formula) for term in self._beside(atom.predicate, atom.terms)}
        terms |= {Variable(name) for name, kind in grounding.items() if kind == division.example}
        alone = next(iter(terms)) if len(terms) == 1 else None
        # Witnesses carry it, since a clause of its own, as a helper's definition, no longer knows the rest of the formula.
        self._only = alone if isinstance(alone, Constant) or (alone is not None and alone.name in grounding) else None

    def example(self, variables: Sequence[str], conjunction: Iterable[Signed]) -> Variable | Constant | None:
        """Return the example of a quantifier's variables, None if its literals name one or it needs none."""
        local = any(self._types.get(name) in self._division.local for name in variables)
        return self._only if local and not any(map(self._named, conjunction)) else None

    def _named(self, signed: Signed) -> bool:
        """Tell whether a literal or witness has an example among its terms."""
        match signed.atom:
            case Literal(predicate, terms):
                return bool(self._beside(predicate, terms))
            case Witness(_, conjunction, example):
                return example is not None or any(map(self._named, conjunction))
            case _:
                return False

    def _beside(self, predicate: str, terms: Sequence[Term]) -> list[Term]:
        kinds = self._model.predicates[predicate].types
        return [term for term, kind in zip(terms, kinds, strict=True) if kind == self._division.example]

    @staticmethod
    def _bare(term: Term) -> Variable | Constant:
        return Variable(term.name) if isinstance(term, Variable) else term


class _Normaliser:
    """Builds the boolean function; each subformula once, so that the parts of an equivalence share their atoms."""

    def __init__(self, apart: Apart, owning: _Owning | None) -> None:
        self._apart, self._owning = apart, owning
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
        self._size += size_of(left) + size_of(right)
        if self._size > 10 * LARGEST_FORM:
            raise ModelError(f"the equivalences of the formula expand to more than {LARGEST_FORM} parts: split it")
        return disjoin((conjoin((left, right)), conjoin((negate(left), negate(right)))))

    def _exists(self, variables: tuple[str, ...], body: Node) -> Node:
        bound = set(variables)
        return disjoin([conjoin(self._pieces(c, bound)) for c in disjuncts(body)])

    def _pieces(self, conjunction: tuple[Signed, ...], bound: set[str]) -> Iterator[Node]:
        """Split `EXIST bound (conjunction)` into what does not share quantified variables."""
        names = [set(variables_of(signed)) & bound for signed in conjunction]
        having: dict[str, list[int]] = {}
        for i, found in enumerate(names):
            for name in found:
                having.setdefault(name, []).append(i)
        done: set[int] = set()
        for i, signed in enumerate(conjunction):
            if i in done:
                continue
            if not names[i]:
                yield signed
                continue
            group, waiting, reached = {i}, [i], set[str]()
            while waiting:
                for name in names[waiting.pop()] - reached:
                    reached.add(name)
                    waiting += set(having[name]) - group
                    group.update(having[name])
            done |= group
            yield self._witness([conjunction[j] for j in sorted(group)], reached)

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
        example = None if self._owning is None else self._owning.example(tuple(names), pieces)
        return Signed(Witness(tuple(names), tuple(pieces), example))


def _equality(left: Term, right: Term) -> Node:
    """Return an equality in one of its two directions, or its truth if that is known."""
    if left == right or (isinstance(left, Variable) and isinstance(right, Variable) and left.name == right.name):
        return TRUE
    if isinstance(left, Constant) and isinstance(right, Constant):
        return FALSE
    first, second = sorted((left, right), key=lambda t: (isinstance(t, Constant), t.name))
    return Signed(EqualityLiteral(first, second))
