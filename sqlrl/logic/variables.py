"""The variables of formulas: names that are unique, and types."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sqlrl.errors import ModelError
from sqlrl.logic.lexer import nearest
from sqlrl.logic.model import Model
from sqlrl.logic.printer import format_formula
from sqlrl.logic.subformulas import parts_of, subformulas, terms_of, with_parts
from sqlrl.logic.terms import (
    Atom,
    BothSigns,
    Constant,
    Equal,
    Exist,
    ForAll,
    Formula,
    Term,
    Variable,
)
from sqlrl.wording import counted


class Apart:
    """A formula whose quantified variables have unique names, and whose `+` variables carry it everywhere."""

    def __init__(self, formula: Formula) -> None:
        self.original = formula
        self.plus = {t.name for t in terms_of(formula) if isinstance(t, Variable) and t.plus}
        self.free = tuple(dict.fromkeys(_free(formula, frozenset())))
        self.bound: list[str] = []
        self._used = set(self.free)
        plain = not self.plus and not any(isinstance(part, ForAll | Exist | BothSigns) for part in subformulas(formula))
        self.formula = formula if plain else self._rename(formula, {})

    def fresh(self, name: str) -> str:
        """Return a name like the given one that is not used yet."""
        found, number = name, 2
        while found in self._used:
            found, number = f"{name}_{number}", number + 1
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
                raise self._error(f"{part} has {counted(len(part.terms), 'argument')}, but is declared as {declared}")
            for term, kind in zip(part.terms, declared.types, strict=True):
                if isinstance(term, Variable):
                    self._set(term.name, kind)

    def _carry(self, left: Term, right: Term) -> bool:
        before = len(self.found)
        for one, other in ((left, right), (right, left)):
            if isinstance(one, Variable) and isinstance(other, Variable) and one.name in self.found:
                self._set(other.name, self.found[one.name])
        return len(self.found) > before


def _free(formula: Formula, bound: frozenset[str]) -> Iterator[str]:
    match formula:
        case Atom() | Equal() | BothSigns():
            yield from (t.name for t in terms_of(formula) if isinstance(t, Variable) and t.name not in bound)
        case ForAll(variables, body) | Exist(variables, body):
            yield from _free(body, bound | set(variables))
        case _:
            for part in parts_of(formula):
                yield from _free(part, bound)
