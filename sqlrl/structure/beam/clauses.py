"""Clauses of a search, and the clauses that differ from one in a literal: with one more, one less, or one of the other sign."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import combinations, product
from typing import Any, TypeAlias

from sqlrl.logic.candidates import clause_formula
from sqlrl.logic.shapes import Shaper
from sqlrl.logic.terms import Clause, Constant, EqualityLiteral, Formula, Literal, Term, Variable, terms_in

Part: TypeAlias = Literal | EqualityLiteral

ADD, DELETE, FLIP, CONSTANT, KEEP = "add", "delete", "flip", "constant", "keep"
"""What a search may do to a clause: add a literal, delete one, change the sign of one, put another constant in the place of one, or take it as it is."""

Operations = frozenset[str]

ALL: Operations = frozenset((ADD, DELETE, FLIP))

NEW = -1
"""In place of a literal of the clause that a search began with: one that was added."""


@dataclass(frozen=True)
class SearchClause:
    """A clause of a search, and how it came from its origin, the clause that the search began with."""

    variables: tuple[tuple[str, str], ...]  # names and types
    literals: tuple[Part, ...]
    # For each literal which one of the origin it was, `NEW` for one that was added, below `NEW` for one that was changed (`_change`).
    marks: tuple[int, ...]
    origin: int | None = None  # place of the origin in the model; None for one that was no part of it
    size: int = 0  # literals of the origin
    merged: int = 0  # how many variables were merged into others
    operations: Operations = ALL  # what may be done to it
    added: str | None = None  # the predicate of the literal that it has more than the clause that it was made of
    sign: int = 1  # -1 if the origin speaks for its negation: a conjunction, or a clause with a negative weight

    def __str__(self) -> str:
        return " v ".join(map(str, self.literals))

    @property
    def clause(self) -> Clause:
        """The clause itself."""
        return Clause(self.variables, self.literals)

    @property
    def distance(self) -> int:
        """In how many literals it differs from its origin; without one, how many it has."""
        kept = sum(mark != NEW for mark in self.marks)
        changed = sum(mark < NEW for mark in self.marks)
        return self.size - kept + changed + (len(self.marks) - kept) + self.merged

    @property
    def formula(self) -> Formula:
        """The clause as a formula."""
        return clause_formula(self.literals)

    def saved(self) -> dict[str, Any]:
        """Return it as values of JSON, as a run is saved."""
        kept = {each.name: getattr(self, each.name) for each in fields(self)}
        return {**kept, "literals": [_saved(x) for x in self.literals], "operations": sorted(self.operations)}

    @classmethod
    def of_saved(cls, kept: Mapping[str, Any]) -> SearchClause:
        """Return the clause that `saved` has made values of."""
        read = {
            "variables": tuple((name, kind) for name, kind in kept["variables"]),
            "literals": tuple(map(_of_saved, kept["literals"])),
            "marks": tuple(kept["marks"]),
            "operations": frozenset(kept["operations"]),
        }
        return cls(**{**kept, **read})


def _saved(part: Part) -> dict[str, Any]:
    name = part.predicate if isinstance(part, Literal) else None
    terms = [[term.name, isinstance(term, Variable)] for term in terms_in(part)]
    return {"predicate": name, "positive": part.positive, "terms": terms}


def _of_saved(kept: Mapping[str, Any]) -> Part:
    terms: list[Term] = [Variable(name) if variable else Constant(name) for name, variable in kept["terms"]]
    if kept["predicate"] is None:
        return EqualityLiteral(terms[0], terms[1], kept["positive"])
    return Literal(kept["predicate"], tuple(terms), kept["positive"])


@dataclass(frozen=True)
class Language:
    """The clauses that a search may make."""

    predicates: Mapping[str, tuple[str, ...]]  # argument types of the predicates that literals may be of
    max_literals: int
    max_variables: int
    # The type whose constants are the examples, if arguments say them: all literals of a clause are of one example.
    example_type: str | None = None
    equalities: bool = True  # whether clauses may say that two variables are equal
    constants: Mapping[str, tuple[str, ...]] | None = None  # by type, those that may take the place of others
    new_variables: bool = True  # whether added literals may have variables that the clause lacks

    def unit(self, predicate: str, operations: Operations = ALL) -> SearchClause:
        """Return the clause of one atom of a predicate, all of whose arguments differ; those that are the example are one."""
        names: list[tuple[str, str]] = []
        terms: list[Variable] = []
        for kind in self.predicates[predicate]:
            known = next((name for name, other in names if other == kind == self.example_type), None)
            if known is None:
                known = f"v{len(names)}"
                names.append((known, kind))
            terms.append(Variable(known))
        return SearchClause(tuple(names), (Literal(predicate, tuple(terms)),), (NEW,), operations=operations)

    def is_unit(self, clause: SearchClause) -> bool:
        """Whether a clause is that of one atom of a predicate, or its negation."""
        first = clause.literals[0]
        if len(clause.literals) > 1 or not isinstance(first, Literal):
            return False
        unit = self.unit(first.predicate)
        return len(clause.variables) == len(unit.variables) and all(isinstance(term, Variable) for term in first.terms)

    def shaper(self) -> Shaper:
        """Return what names its clauses: two have the same instance exactly if they are the same up to names of variables and the order of literals."""
        return Shaper(lambda predicate, place: self.predicates[predicate][place], self.example_type)

    def neighbours(self, clause: SearchClause) -> Iterator[SearchClause]:
        """Yield the clauses that differ from a clause by one of its operations, and with `KEEP` the clause itself."""
        if KEEP in clause.operations:
            yield clause
        if DELETE in clause.operations:
            yield from self._deletions(clause)
        if FLIP in clause.operations:
            yield from self._flips(clause)
        if ADD in clause.operations and len(clause.literals) < self.max_literals:
            yield from self._additions(clause)
            if self.equalities:
                yield from self._equalities(clause)
        if CONSTANT in clause.operations:
            yield from self._constants(clause)

    def _deletions(self, clause: SearchClause) -> Iterator[SearchClause]:
        for i in range(len(clause.literals)):
            literals = [x for j, x in enumerate(clause.literals) if j != i]
            plain = {t.name for x in literals if isinstance(x, Literal) for t in _variables(x)}
            # An equality of a variable that nothing else mentions says nothing.
            kept = [
                j
                for j, x in enumerate(clause.literals)
                if j != i and (isinstance(x, Literal) or all(t.name in plain for t in _variables(x)))
            ]
            # What is left must be connected by common variables.
            if any(isinstance(clause.literals[j], Literal) for j in kept) and _connected(
                [clause.literals[j] for j in kept]
            ):
                yield _changed(clause, [clause.literals[j] for j in kept], [clause.marks[j] for j in kept])

    def _flips(self, clause: SearchClause) -> Iterator[SearchClause]:
        for i, literal in enumerate(clause.literals):
            if isinstance(literal, Literal):
                other = Literal(literal.predicate, literal.terms, not literal.positive)
                marks = _change(clause.marks, i, _SIGN)
                yield _changed(clause, [*clause.literals[:i], other, *clause.literals[i + 1 :]], marks)

    def _additions(self, clause: SearchClause) -> Iterator[SearchClause]:
        atoms = {(x.predicate, x.terms) for x in clause.literals if isinstance(x, Literal)}
        for predicate, kinds in self.predicates.items():
            for terms, variables in self._bindings(clause, kinds):
                if (predicate, terms) in atoms:
                    continue
                for positive in (True, False):
                    literal = Literal(predicate, terms, positive)
                    yield SearchClause(
                        variables, (*clause.literals, literal), (*clause.marks, NEW), clause.origin, clause.size, clause.merged,
                        clause.operations, predicate, clause.sign,
                    )  # fmt: skip

    def _bindings(
        self, clause: SearchClause, kinds: Sequence[str]
    ) -> Iterator[tuple[tuple[Variable, ...], tuple[tuple[str, str], ...]]]:
        """Yield the arguments of a literal that shares a variable with a clause, and the variables of both."""
        known = dict(clause.variables)
        fresh = (f"v{i}" for i in range(len(known) + len(kinds)))
        names = [name for name in fresh if name not in known][: len(kinds)]
        examples = [name for name, kind in clause.variables if kind == self.example_type]
        choices = []
        for i, kind in enumerate(kinds):
            old = [name for name, other in clause.variables if other == kind]
            own = not self.new_variables or (kind == self.example_type and examples)
            choices.append(old if own else [*old, names[i]])
        for chosen in product(*choices):
            if not any(name in known for name in chosen) and clause.variables:
                continue
            new = dict.fromkeys(name for name in chosen if name not in known)
            if len(known) + len(new) > self.max_variables:
                continue
            # New variables are called in the order in which they come.
            called = dict(zip(new, names, strict=False))
            terms = tuple(Variable(called.get(name, name)) for name in chosen)
            types = {called.get(name, name): kind for name, kind in zip(chosen, kinds, strict=True)}
            yield terms, (*clause.variables, *((name, types[name]) for name in called.values()))

    def _equalities(self, clause: SearchClause) -> Iterator[SearchClause]:
        equal = {frozenset((x.left, x.right)) for x in clause.literals if isinstance(x, EqualityLiteral)}
        for (left, one), (right, other) in combinations(clause.variables, 2):
            pair = Variable(left), Variable(right)
            if one != other or one == self.example_type or frozenset(pair) in equal:
                continue
            # The literal `x = y` restricts the clause to bindings in which both variables differ.
            yield SearchClause(
                clause.variables, (*clause.literals, EqualityLiteral(*pair)), (*clause.marks, NEW), clause.origin, clause.size,
                clause.merged, clause.operations, sign=clause.sign,
            )  # fmt: skip
            # The literal `x != y` would restrict it to those in which they are the same: they are merged.
            same: dict[Term, Term] = {pair[1]: pair[0]}
            literals = [_renamed(x, same) for x in clause.literals]
            found = _changed(clause, literals, clause.marks)
            if not _trivial(literals):
                yield SearchClause(
                    found.variables,
                    found.literals,
                    found.marks,
                    clause.origin,
                    clause.size,
                    clause.merged + 1,
                    clause.operations,
                    sign=clause.sign,
                )

    def _constants(self, clause: SearchClause) -> Iterator[SearchClause]:
        for i, literal in enumerate(clause.literals):
            if not isinstance(literal, Literal):
                continue
            for place, (term, kind) in enumerate(zip(literal.terms, self.predicates[literal.predicate], strict=True)):
                if isinstance(term, Variable):
                    continue
                for name in (self.constants or {}).get(kind, ()):
                    if name == term.name:
                        continue
                    terms = (*literal.terms[:place], type(term)(name), *literal.terms[place + 1 :])
                    changed = Literal(literal.predicate, terms, literal.positive)
                    marks = _change(clause.marks, i, _TERM)
                    yield _changed(clause, [*clause.literals[:i], changed, *clause.literals[i + 1 :]], marks)


_SIGN, _TERM = 1, 2
"""What may be changed of a literal, added up."""


def _change(marks: Sequence[int], i: int, what: int) -> tuple[int, ...]:
    """Return marks after a change of literal i: that of literal k of the origin is `-2 - 4 k` less what was changed; a sign that is changed back is as it was."""
    mark = marks[i]
    if mark == NEW:
        return tuple(marks)
    place, changed = _decoded(mark)
    changed = changed ^ what if what == _SIGN else changed | what
    return (*marks[:i], -2 - 4 * place - changed if changed else place, *marks[i + 1 :])


def place_of(mark: int) -> int | None:
    """Return which literal of the origin a mark is of; None for a literal that was added."""
    return None if mark == NEW else _decoded(mark)[0]


def _decoded(mark: int) -> tuple[int, int]:
    """Return which literal of the origin a mark is of, and what was changed of it."""
    return (mark, 0) if mark > NEW else divmod(-2 - mark, 4)


def _connected(literals: Sequence[Part]) -> bool:
    """Whether literals share variables, directly or through others; those without any stand for themselves."""
    left = [{term.name for term in _variables(x)} for x in literals]
    left = [names for names in left if names]
    reached = left.pop() if left else set[str]()
    while touched := [names for names in left if names & reached]:
        reached.update(*touched)
        left = [names for names in left if not names & reached]
    return not left


def _variables(literal: Part) -> list[Variable]:
    return [term for term in terms_in(literal) if isinstance(term, Variable)]


def _changed(clause: SearchClause, literals: Sequence[Part], marks: Sequence[int]) -> SearchClause:
    """Return a clause with other literals, and the variables that these have."""
    used = {term.name for literal in literals for term in _variables(literal)}
    variables = tuple(pair for pair in clause.variables if pair[0] in used)
    return SearchClause(
        variables,
        tuple(literals),
        tuple(marks),
        clause.origin,
        clause.size,
        clause.merged,
        clause.operations,
        sign=clause.sign,
    )


def _renamed(literal: Part, names: Mapping[Term, Term]) -> Part:
    if isinstance(literal, Literal):
        return Literal(literal.predicate, tuple(names.get(t, t) for t in literal.terms), literal.positive)
    return EqualityLiteral(
        names.get(literal.left, literal.left), names.get(literal.right, literal.right), literal.positive
    )


def _trivial(literals: Sequence[Part]) -> bool:
    """Whether a clause is always true, or says something twice."""
    plain = [(x.predicate, x.terms) for x in literals if isinstance(x, Literal)]
    equal = [x for x in literals if isinstance(x, EqualityLiteral)]
    return len(set(plain)) < len(plain) or any(x.left == x.right for x in equal)
