"""Rules with weights, and what printing, saving and expanding read of the model that holds them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from numbers import Real
from types import NoneType
from typing import Any, Protocol, Self

from sqlrl import markup
from sqlrl.errors import ModelError
from sqlrl.logic.bins import Bins
from sqlrl.logic.subformulas import atoms_of, subformulas
from sqlrl.logic.terms import Constant, Equal, Formula, Predicate, Term, Variable
from sqlrl.wording import shortened


@dataclass(frozen=True, slots=True)
class Expansions:
    """The clauses of a template: a row of constants for its `+` variables and a weight (log-odds) for each."""

    variables: tuple[str, ...]  # the `+` variables, in the order of the columns
    rows: tuple[tuple[str, ...], ...]
    weights: tuple[float, ...]
    # True if a structure learner found the clauses one by one: other combinations of constants were no clauses that
    # training could have met, and nobody counts them as unseen.
    found: bool = False
    _repr_html_ = markup.field_table


@dataclass(frozen=True, slots=True)
class Rule:
    """A formula with its weight."""

    formula: Formula
    weight: float | None = None  # log-odds; None if the rule is hard or its weight is to be learned
    hard: bool = False
    expansions: Expansions | None = None  # the learned clauses of a template (a rule with `+` variables)
    line: int = field(default=0, compare=False)  # in the source, from 1; 0 if it has none
    path: str = field(default="", compare=False)
    fixed: bool = False  # True if learners leave the weight as it is (`@` before the weight, as in Tuffy)
    _repr_html_ = markup.field_table

    def __post_init__(self) -> None:
        if type(self.weight) not in (float, NoneType):
            object.__setattr__(self, "weight", _checked_weight(self.weight))
        given: Any = self.hard
        if type(given) is not bool:
            # numpy's truths are of a type of its own.
            if getattr(given, "shape", None) != () or str(given.dtype) != "bool":
                raise ModelError(f"whether a rule is hard cannot be {shortened(repr(given))}: expected True or False")
            object.__setattr__(self, "hard", bool(given))

    @property
    def place(self) -> str:
        """Where it stands, as `path:line`; empty if it was not read."""
        return f"{self.path}:{self.line}" if self.line else ""

    def constants(self, predicates: Mapping[str, Predicate], *, listed: bool) -> Iterator[tuple[str, str]]:
        """Yield (type, constant); `listed` adds those of learned clauses; one in an equality has the type of its other side."""
        variables: dict[str, str] = {}
        for atom in atoms_of(self.formula):
            for term, type_name in zip(atom.terms, predicates[atom.predicate].types, strict=True):
                if isinstance(term, Constant):
                    yield type_name, term.name
                else:
                    variables.setdefault(term.name, type_name)
        for equal in (part for part in subformulas(self.formula) if isinstance(part, Equal)):
            for one, other in ((equal.left, equal.right), (equal.right, equal.left)):
                found = _variable_type(one, variables)
                if isinstance(other, Constant) and found is not None:
                    yield found, other.name
        if listed and self.expansions is not None:
            types = [variables.get(v) for v in self.expansions.variables]
            for row in self.expansions.rows:
                yield from ((t, name) for t, name in zip(types, row, strict=True) if t is not None)


def _checked_weight(weight: Any) -> float:
    """Return the weight of a rule as a number that models keep: an int, or a float for other numbers; a ModelError for what is none."""
    given, whole = shortened(repr(weight)), weight
    if isinstance(weight, bool) or not isinstance(weight, Real | Decimal):
        raise ModelError(f"the weight {given} is no number: give one, or None for a rule whose weight is to be learned")
    try:
        number = float(weight)
    except (OverflowError, ValueError) as error:
        raise ModelError(f"the weight {given} is too large: expected a number that a double holds") from error
    return whole if isinstance(whole, int) else number


def _variable_type(term: Term, variables: Mapping[str, str]) -> str | None:
    """Return the type of a variable, None for a constant."""
    return variables.get(term.name) if isinstance(term, Variable) else None


Constants = Mapping[str, Mapping[str, Rule]]
"""Constants by type, each with the first rule that names it."""


class RuleSet(Protocol):
    """What stands below `sqlrl.logic.model.Model` and serves it sees of it; `Model` says what each part is."""

    @property
    def predicates(self) -> Mapping[str, Predicate]:
        """Declarations by name."""
        ...

    @property
    def types(self) -> Mapping[str, tuple[str, ...]]:
        """Constants declared for types."""
        ...

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The rules, in order."""
        ...

    @property
    def query(self) -> frozenset[str]:
        """Predicates named as open by the caller."""
        ...

    @property
    def semantics(self) -> str:
        """How a formula with a weight is read."""
        ...

    @property
    def learned(self) -> bool:
        """Whether a learner chose the weights."""
        ...

    @property
    def ranked_by(self) -> str:
        """The learner whose weights rank worlds and are no log-odds; empty for other weights."""
        ...

    @property
    def bins(self) -> Bins:
        """Edges between the pieces of types of numbers or dates."""
        ...

    def with_rules(self, rules: tuple[Rule, ...]) -> Self:
        """Return the same with other rules."""
        ...
