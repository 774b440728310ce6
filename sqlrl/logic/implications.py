"""The body and the head of an implication as written, and the formulas whose counts say how good it is."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from sqlrl.logic.subformulas import atoms_of, terms_of, with_parts
from sqlrl.logic.terms import And, Atom, Exist, ForAll, Formula, Iff, Implies, Not, Variable

FALSE = " is false"
"""What follows the name of a predicate in that of the predicate of its atoms that are known to be false; no predicate of a user has blanks."""


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


# ---- atoms of which nothing is known --------------------------------------------------------------------


def surely_true(formula: Formula, partial: Collection[str]) -> Formula:
    """Return what holds where a formula is true whatever the unknown atoms of `partial` predicates are, taken one by one.

    Source: Kleene, "Introduction to metamathematics" (1952), section 64: the strong connectives.
    """
    return _decided(formula, frozenset(partial), sure=True, positive=True)


def possibly_true(formula: Formula, partial: Collection[str]) -> Formula:
    """Return what fails where a formula is false whatever the unknown atoms of `partial` predicates are, taken one by one."""
    return _decided(formula, frozenset(partial), sure=False, positive=True)


def false_atom(atom: Atom) -> Atom:
    """Return the atom that holds where another is known to be false."""
    return Atom(f"{atom.predicate}{FALSE}", atom.terms)


def _decided(formula: Formula, partial: frozenset[str], *, sure: bool, positive: bool) -> Formula:
    match formula:
        case Atom(predicate, _):
            # An atom that must be true has a true label; what must not be false has no false one.
            return formula if predicate not in partial or sure == positive else Not(false_atom(formula))
        case Not(body):
            return Not(_decided(body, partial, sure=sure, positive=not positive))
        case Implies(left, right):
            return Implies(
                _decided(left, partial, sure=sure, positive=not positive),
                _decided(right, partial, sure=sure, positive=positive),
            )
        case Iff(left, right):
            both = And((Implies(left, right), Implies(right, left)))
            return _decided(both, partial, sure=sure, positive=positive) if mentions(formula, partial) else formula
        case _:
            return with_parts(formula, lambda part: _decided(part, partial, sure=sure, positive=positive))


def mentions(formula: Formula, partial: Collection[str]) -> bool:
    """Tell whether a formula has an atom of one of some predicates."""
    return any(atom.predicate in partial for atom in atoms_of(formula))
