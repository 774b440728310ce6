"""The body and the head of an implication as written, and the formulas whose counts say how good it is."""

from __future__ import annotations

from dataclasses import dataclass

from sqlrl.logic.subformulas import atoms_of, terms_of
from sqlrl.logic.terms import And, Atom, Exist, ForAll, Formula, Implies, Not, Variable


@dataclass(frozen=True, slots=True)
class Implication:
    """`body => head`, whatever the two are."""

    body: Formula
    head: Formula

    def known_subject(self, place: int) -> Formula:
        """Return the body where something is known of the head's other arguments: some fact has them, whatever it has at a place."""
        assert isinstance(self.head, Atom), "only an atom has arguments"
        taken = {term.name for formula in (self.body, self.head) for term in terms_of(formula)}
        fresh = "other"
        while fresh in taken:
            fresh += "_"
        terms = (*self.head.terms[:place], Variable(fresh), *self.head.terms[place + 1 :])
        return And((self.body, Exist((fresh,), Atom(self.head.predicate, terms))))


def implication(formula: Formula) -> Implication | None:
    """Return the body and the head of a formula that is an implication as written; None of any other."""
    while isinstance(formula, ForAll):
        formula = formula.body
    return Implication(formula.left, formula.right) if isinstance(formula, Implies) else None


def literal_of(formula: Formula) -> tuple[Atom, bool] | None:
    """Return the atom and the sign of a literal; None of any other formula."""
    positive = True
    while isinstance(formula, Not):
        formula, positive = formula.body, not positive
    return (formula, positive) if isinstance(formula, Atom) else None


def has_atoms(formula: Formula) -> bool:
    """Tell whether a formula mentions an atom, by which the types of its variables are known."""
    return next(iter(atoms_of(formula)), None) is not None
