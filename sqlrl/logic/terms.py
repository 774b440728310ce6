"""Terms, literals, clauses and formulas: the abstract syntax of sqlrl's first-order language.

All classes are frozen values. `str()` of each prints Alchemy's syntax, which parses again to an equal value.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from sqlrl import markup

_PLAIN_CONSTANT = re.compile(r"(?!(?:EXIST|Exist|FORALL|Forall)\Z)[A-Z][A-Za-z0-9_]*\Z|-?[0-9]+\Z")
"""What needs no quotes; the words for quantifiers do, where a term stands first in an equality."""


@dataclass(frozen=True, slots=True, order=True)
class Variable:
    """A logical variable; `plus` marks Alchemy's `+x`: one clause for each constant."""

    name: str
    plus: bool = False
    _repr_html_ = markup.field_table

    def __str__(self) -> str:
        return f"+{self.name}" if self.plus else self.name


@dataclass(frozen=True, slots=True, order=True)
class Constant:
    r"""A constant, as text. Its type is the type of the argument in which it stands."""

    name: str
    _repr_html_ = markup.field_table

    def __str__(self) -> str:
        return constant_text(self.name)


def constant_text(name: str) -> str:
    """Return a constant as formulas have it: quoted unless it is a number or begins with a capital letter."""
    if _PLAIN_CONSTANT.match(name):
        return name
    if "\\" in name or '"' in name or "\n" in name:
        name = name.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{name}"'


Term = Variable | Constant


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument of a predicate declaration: its type, and whether `!` marks a block on it."""

    type: str
    block: bool = False
    _repr_html_ = markup.field_table

    def __str__(self) -> str:
        return f"{self.type}!" if self.block else self.type


@dataclass(frozen=True, slots=True)
class Predicate:
    """A predicate declaration; `closed` if declared as evidence (Tuffy's `*pred(...)`)."""

    name: str
    arguments: tuple[Argument, ...]
    closed: bool = False
    _repr_html_ = markup.field_table

    @property
    def types(self) -> tuple[str, ...]:
        """The types of the arguments, in order."""
        return tuple(a.type for a in self.arguments)

    def __str__(self) -> str:
        return f"{'*' if self.closed else ''}{self.name}({', '.join(map(str, self.arguments))})"


@dataclass(frozen=True, slots=True)
class Atom:
    """A predicate applied to terms; also the formula that asserts it."""

    predicate: str
    terms: tuple[Term, ...]
    _repr_html_ = markup.field_table

    def __str__(self) -> str:
        return f"{self.predicate}({', '.join(map(str, self.terms))})"


@dataclass(frozen=True, slots=True)
class BothSigns:
    """Alchemy's `*P(x)`: the formula stands once with P(x) and once with !P(x), each with its own weight."""

    atom: Atom
    _repr_html_ = markup.field_table

    def __str__(self) -> str:
        return f"*{self.atom}"


@dataclass(frozen=True, slots=True)
class Equal:
    """`left = right` as a formula (`!=` is its negation)."""

    left: Term
    right: Term
    _repr_html_ = markup.field_table

    def __str__(self) -> str:
        return f"{self.left} = {self.right}"


@dataclass(frozen=True, slots=True)
class Not:
    """Negation."""

    body: Formula
    _repr_html_ = markup.field_table


@dataclass(frozen=True, slots=True)
class And:
    """Conjunction of two or more formulas."""

    parts: tuple[Formula, ...]
    _repr_html_ = markup.field_table


@dataclass(frozen=True, slots=True)
class Or:
    """Disjunction of two or more formulas."""

    parts: tuple[Formula, ...]
    _repr_html_ = markup.field_table


@dataclass(frozen=True, slots=True)
class Implies:
    """Implication."""

    left: Formula
    right: Formula
    _repr_html_ = markup.field_table


@dataclass(frozen=True, slots=True)
class Iff:
    """Equivalence."""

    left: Formula
    right: Formula
    _repr_html_ = markup.field_table


@dataclass(frozen=True, slots=True)
class ForAll:
    """Universal quantification."""

    variables: tuple[str, ...]
    body: Formula
    _repr_html_ = markup.field_table


@dataclass(frozen=True, slots=True)
class Exist:
    """Existential quantification."""

    variables: tuple[str, ...]
    body: Formula
    _repr_html_ = markup.field_table


Formula = Atom | BothSigns | Equal | Not | And | Or | Implies | Iff | ForAll | Exist


# ---- clausal form -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Literal:
    """A signed atom in a clause."""

    predicate: str
    terms: tuple[Term, ...]
    positive: bool = True
    _repr_html_ = markup.field_table

    def __str__(self) -> str:
        return f"{'' if self.positive else '!'}{self.predicate}({', '.join(map(str, self.terms))})"


@dataclass(frozen=True, slots=True)
class EqualityLiteral:
    """`left = right` (positive) or `left != right` in a clause."""

    left: Term
    right: Term
    positive: bool = True
    _repr_html_ = markup.field_table

    def __str__(self) -> str:
        return f"{self.left} {'=' if self.positive else '!='} {self.right}"


@dataclass(frozen=True, slots=True)
class ExistsLiteral:
    """`EXIST variables (conjunction)` as one positive disjunct of a clause."""

    variables: tuple[tuple[str, str], ...]  # the quantified variables (name, type)
    # All of it must hold of a witness. At most one literal has an open predicate, except in the definition of a helper.
    conjunction: tuple[Literal | EqualityLiteral, ...]

    def __str__(self) -> str:
        names = ",".join(name for name, _ in self.variables)
        body = " ^ ".join(map(str, self.conjunction))
        return f"EXIST {names} ({body})"


ClauseLiteral = Literal | EqualityLiteral | ExistsLiteral


@dataclass(frozen=True, slots=True)
class Clause:
    """A disjunction of literals under universal quantification; without literals it is always violated."""

    # The grounding variables (name, type), `+` variables included. All those of the *formula* are among them: one that
    # occurs in no literal still ranges over its domain and multiplies counts.
    variables: tuple[tuple[str, str], ...]
    literals: tuple[ClauseLiteral, ...] = field(default=())

    def __str__(self) -> str:
        return " v ".join(map(str, self.literals)) if self.literals else "FALSE"

    def plus_variables(self) -> tuple[str, ...]:
        """The names of the `+` variables, in the order of `variables`."""
        plus = {t.name for literal in self.literals for t in terms_in(literal) if isinstance(t, Variable) and t.plus}
        return tuple(name for name, _ in self.variables if name in plus)


def terms_in(literal: ClauseLiteral) -> Iterator[Term]:
    """Yield the terms of a literal from left to right."""
    match literal:
        case Literal():
            yield from literal.terms
        case EqualityLiteral():
            yield literal.left
            yield literal.right
        case ExistsLiteral():
            for part in literal.conjunction:
                yield from terms_in(part)


@dataclass(frozen=True, slots=True)
class Helper:
    """A helper predicate, hidden from users: `name(variables)` holds exactly if `EXIST witnesses (conjunction)` does."""

    name: str
    variables: tuple[tuple[str, str], ...]
    definition: ExistsLiteral
    called: tuple[str, ...] = field(default=(), compare=False)
    """What the first formula that needs it calls its variables, then those of the quantifier."""


@dataclass(frozen=True, slots=True)
class Feature:
    """One formula as one exact feature: `n = total - violated` if not `negated`, else `n = violated`.

    `violated` adds up the violated groundings of `clauses`, and `total` is the product of the domain sizes of
    `variables`. No two clauses are violated by one grounding, except those of a hard rule with quantifiers.
    """

    variables: tuple[tuple[str, str], ...]  # the formula's grounding variables (name, type), `+` variables included
    # One clause id for each combination of the constants of the `+` variables, also of those that no clause mentions.
    plus: tuple[str, ...]
    clauses: tuple[Clause, ...]
    negated: bool = False  # True for a conjunction, which is its negated clause with the negated weight
    helpers: tuple[Helper, ...] = ()  # those that the clauses mention, definitions before uses
    factor: float = 1.0  # 1/k for each of the k features of a soft formula under `semantics="alchemy"`, else 1

    def repeated(self, variables: tuple[tuple[str, str], ...]) -> Feature:
        """Return the feature once for each combination of the constants of further `+` variables, with their types."""
        if not variables:
            return self
        plus = (*self.plus, *(name for name, _ in variables))
        return replace(self, variables=(*self.variables, *variables), plus=plus)
