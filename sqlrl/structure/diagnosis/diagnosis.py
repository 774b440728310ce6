"""What a diagnosis found, as rows: the bins of each rule, how it is marked, and groundings that show why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from sqlrl import markup
from sqlrl.logic.printer import format_formula
from sqlrl.logic.terms import Clause, Constant, EqualityLiteral, Literal, Term, Variable
from sqlrl.report import Table
from sqlrl.solve.sampling.chains import Effort
from sqlrl.structure.beam.scores import Member
from sqlrl.structure.diagnosis.bins import NAMES, ClauseBins, diagnose

if TYPE_CHECKING:
    from sqlrl.training.clause_search import GivenRule, SearchBlankets

SHOWN = 3
"""Groundings of each bin that are shown."""

BINS_SCHEMA = pa.schema(
    {
        "rule": pa.int64(),
        "formula": pa.string(),
        "target": pa.string(),
        **dict.fromkeys(NAMES, pa.float64()),
        "error": pa.float64(),
        "too_general": pa.bool_(),
        "too_specific": pa.bool_(),
    }
)
"""What `sqlrl.diagnosis` keeps, but for the run."""

GROUNDINGS_SCHEMA = pa.schema(
    {
        "rule": pa.int64(),
        "target": pa.string(),
        "bin": pa.string(),
        "grounding": pa.string(),
    }
)
"""What `sqlrl.diagnosis_grounding` keeps, but for the run."""


@dataclass(frozen=True, eq=False)
class Diagnosis:
    """What a diagnosis found.

    Parameters
    ----------
    found : Table
        One row for each rule and target: the four bins, the error of their shares, and whether the rule is too general or too specific there.
    groundings : Table
        Some groundings in the bins for which rules were marked.
    general, specific : frozenset of int
        The rules, by their places in the model, that are too general or too specific for some target.
    run : int
        The number of the run in `sqlrl.run`; `sqlrl.diagnosis` and `sqlrl.diagnosis_grounding` have its rows.
    """

    found: Table
    groundings: Table
    general: frozenset[int]
    specific: frozenset[int]
    run: int = 0

    def __str__(self) -> str:
        """Return the rules that are marked, with the shares for which they are; predicates of a rule that have the same stand together."""
        targets: dict[tuple[int, str, str], list[str]] = {}
        for row in self.found.to_arrow().to_pylist():
            total = sum(row[name] for name in NAMES)
            marks = " and ".join(
                f"{word} ({100 * row[name] / total:.0f} % {why})"
                for word, name, why in (
                    ("too general", "applies_bad", "against the truth"),
                    ("too specific", "idle_bad", "idle where it would speak for the truth"),
                )
                if row[word.replace(" ", "_")]
            )
            if marks:
                targets.setdefault((row["rule"], row["formula"], marks), []).append(row["target"])
        lines = []
        for (_, formula, marks), names in targets.items():
            together = " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
            lines.append(f"{formula}: of {together} {marks}")
        return "\n".join(lines) or "no rule is marked"

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        found: str = self.found._repr_html_()
        return markup.preformatted(str(self)) + found


def diagnosis(
    given: Sequence[GivenRule],
    members: Sequence[Member],
    source: SearchBlankets,
    effort: Effort,
    threshold: float,
    *,
    shown: int = SHOWN,
) -> Diagnosis:
    """Diagnose rules, and look for groundings that show why they are marked."""
    # A rule with a negative weight says what its negation says with a positive one, and is diagnosed as that.
    bins = [
        x if given[x.rule].stance == given[x.rule].sign else x.opposite() for x in diagnose(members, source, effort)
    ]
    rows: list[dict[str, Any]] = []
    groundings: list[dict[str, Any]] = []
    for each in bins:
        general, specific = each.too_general(threshold), each.too_specific(threshold)
        rows.append(
            {
                "rule": each.rule,
                "formula": format_formula(given[each.rule].rule.formula),
                "target": each.target,
                **{name: float(getattr(each, name)) for name in NAMES},
                "error": each.error,
                "too_general": general,
                "too_specific": specific,
            }
        )
        for marked, name in ((general, "applies_bad"), (specific, "idle_bad")):
            if marked:
                groundings += _groundings(each, name, given[each.rule], members[each.rule], source, shown)
    return Diagnosis(
        Table(pa.Table.from_pylist(rows, BINS_SCHEMA)),
        Table(pa.Table.from_pylist(groundings, GROUNDINGS_SCHEMA)),
        frozenset(each.rule for each in bins if each.too_general(threshold)),
        frozenset(each.rule for each in bins if each.too_specific(threshold)),
    )


def _groundings(
    bins: ClauseBins, name: str, given: GivenRule, member: Member, source: SearchBlankets, shown: int
) -> list[dict[str, Any]]:
    """Return some groundings of a rule in a bin."""
    found: list[dict[str, Any]] = []
    for clause, instance in zip(given.clauses, member.instances, strict=True):
        if not any(x.predicate == bins.target for x in instance.shape.literals):
            continue
        some = source.groundings(instance, bins.target, name, given.stance, shown - len(found))
        texts = [_text(clause, constants, negated=given.sign < 0) for constants in some]
        found += [{"rule": bins.rule, "target": bins.target, "bin": name, "grounding": text} for text in texts]
        if len(found) >= shown:
            break
    return found


def _text(clause: Clause, constants: Mapping[str, str], *, negated: bool) -> str:
    """Return a clause with constants in place of its variables; of a conjunction, whose negation it is, that."""

    def put(term: Term) -> Term:
        return Constant(constants[term.name]) if isinstance(term, Variable) and term.name in constants else term

    parts: list[str] = []
    for literal in clause.literals:
        if isinstance(literal, Literal):
            parts.append(str(Literal(literal.predicate, tuple(map(put, literal.terms)), literal.positive != negated)))
        elif isinstance(literal, EqualityLiteral):
            parts.append(str(EqualityLiteral(put(literal.left), put(literal.right), literal.positive != negated)))
    return (" ^ " if negated else " v ").join(parts)
