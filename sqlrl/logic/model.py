"""Models: declarations plus weighted rules."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from sqlrl.logic.printer import format_model
from sqlrl.logic.saving import save_model
from sqlrl.logic.terms import Formula, Predicate


@dataclass(frozen=True, slots=True)
class Expansions:
    """The clauses of a template: one row of constants for its `+` variables, one weight each (log-odds).

    Parameters
    ----------
    variables : tuple of str
        The `+` variables in the order of the columns.
    rows : tuple of tuple of str
        One row of constants for each clause.
    weights : tuple of float
    """

    variables: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    weights: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Rule:
    """A formula with its weight.

    Parameters
    ----------
    formula : Formula
    weight : float or None
        Log-odds; None if it is hard or to be learned.
    hard : bool
        True if it must hold in every grounding.
    expansions : Expansions or None
        The learned clauses of a template (a rule with `+` variables).
    line : int
        Line in the source, from 1; 0 if it has none. Not part of equality.
    path : str
        The source file. Not part of equality.
    """

    formula: Formula
    weight: float | None = None
    hard: bool = False
    expansions: Expansions | None = None
    line: int = field(default=0, compare=False)
    path: str = field(default="", compare=False)


@dataclass(frozen=True)
class Model:
    """Predicates, types and rules.

    Parameters
    ----------
    predicates : mapping of str to Predicate
    types : mapping of str to tuple of str
        Constants declared for a type, in order; a type that no declaration lists is absent.
    rules : tuple of Rule
    query : frozenset of str
        Predicates named as open by the caller (`read_mln(..., query=...)`), beside those that the data open.
    semantics : {"exact", "alchemy"}
    """

    predicates: Mapping[str, Predicate]
    types: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    rules: tuple[Rule, ...] = ()
    query: frozenset[str] = frozenset()
    semantics: str = "exact"

    def save(self, path: str | Path) -> None:
        """Save as `.mln` (templates written out clause by clause) or `.json`, by the ending of the path.

        `sqlrl.read_model` loads it again to an equal model.

        Raises
        ------
        ModelError
            Another ending, a weight that is not finite, or a name that the language cannot write.
        """
        save_model(self, path)

    def __str__(self) -> str:
        """Return the model in Alchemy's language."""
        return format_model(self)

    def with_rules(self, rules: tuple[Rule, ...]) -> Model:
        """Return this model with other rules."""
        return replace(self, rules=rules)
