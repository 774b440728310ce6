"""How a revised clause is written: as the implication that its rule was, with the same clause behind it."""

from __future__ import annotations

import pytest

import sqlrl
from sqlrl.logic.compile import compile_rule
from sqlrl.logic.model import Rule
from sqlrl.logic.printer import format_formula
from sqlrl.structure.beam.clauses import ALL, CONSTANT, KEEP, Language, SearchClause
from sqlrl.structure.beam.estimator import as_written, starting_clause
from sqlrl.training.clause_search import GivenRule

DECLARED = "Job(person)\nPays(person)\nDebts(person)\nKnows(person, person)\nPaint(person, colour)\n"
PREDICATES = {
    **dict.fromkeys(("Job", "Pays", "Debts"), ("person",)),
    "Knows": ("person", "person"),
    "Paint": ("person", "colour"),
}
LANGUAGE = Language(PREDICATES, 6, 5, constants={"colour": ("red", "blue")})


def begun(rule: str) -> tuple[SearchClause, GivenRule]:
    model = sqlrl.parse_mln(f"{DECLARED}1 {rule}")
    (feature,) = compile_rule(model.rules[0], model, frozenset(PREDICATES))
    given = GivenRule(model.rules[0], feature.clauses, -1 if feature.negated else 1)
    clause = starting_clause(0, given, ALL | {CONSTANT, KEEP})
    assert clause is not None
    return clause, given


@pytest.mark.parametrize(
    ("rule", "steps", "written"),
    [
        ("Job(x) => Pays(x)", ["!Job(x) v Pays(x) v Debts(x)"], "Job(x) ^ !Debts(x) => Pays(x)"),
        ("Job(x) => Pays(x)", ["!Job(x) v Pays(x) v !Debts(x)"], "Job(x) ^ Debts(x) => Pays(x)"),
        ("Job(x) => Pays(x)", ["!Job(x) v !Pays(x)"], "Job(x) => !Pays(x)"),
        ("Job(x) => Pays(x)", ["!Job(x) v Pays(x)"], "Job(x) => Pays(x)"),
        # Without its body or its conclusion nothing of an implication is left.
        ("Job(x) => Pays(x)", ["Pays(x)"], "Pays(x)"),
        ("Job(x) => Pays(x)", ["!Job(x)"], "!Job(x)"),
        ("Job(x) ^ Debts(x) => Pays(x)", ["!Job(x) v !Debts(x)"], "!Job(x) v !Debts(x)"),
        ("Job(x) ^ !Debts(x) => !Pays(x) v Knows(x, x)", ["Debts(x) v !Pays(x) v Knows(x, x)"], "!Debts(x) => !Pays(x) v Knows(x, x)"),
        ("Job(x) ^ !Debts(x) => !Pays(x) v Knows(x, x)", ["!Job(x) v Debts(x) v Knows(x, x)"], "Job(x) ^ !Debts(x) => Knows(x, x)"),
        ("Job(x) ^ Knows(x, y) => Pays(y)", ["!Job(x) v !Knows(x, y) v Pays(y) v x = y"], "Job(x) ^ Knows(x, y) ^ x != y => Pays(y)"),
        ("Job(x) ^ Knows(x, y) => Pays(y)", ["!Job(x) v !Knows(x, x) v Pays(x)"], "Job(x) ^ Knows(x, x) => Pays(x)"),
        ("Job(x) => Paint(x, Red)", ["!Job(x) v Paint(x, red)", "!Job(x) v Paint(x, red) v Debts(x)"], "Job(x) ^ !Debts(x) => Paint(x, \"red\")"),
        # What was written otherwise is a disjunction.
        ("!Job(x) v Pays(x)", ["!Job(x) v Pays(x) v Debts(x)"], "!Job(x) v Pays(x) v Debts(x)"),
        ("Job(x) => (Debts(x) => Pays(x))", ["!Job(x) v Pays(x)"], "!Job(x) v Pays(x)"),
    ],
)  # fmt: skip
def test_what_was_an_implication_is_one(rule: str, steps: list[str], written: str) -> None:
    clause, given = begun(rule)
    for step in steps:
        found = {str(each).replace('"', ""): each for each in LANGUAGE.neighbours(clause)}
        clause = found[step]
    assert format_formula(as_written(clause, [given])) == written


@pytest.mark.parametrize(
    "rule",
    ["Job(x) => Pays(x)", pytest.param("Job(x) ^ Knows(x, y) ^ x != y => Pays(y) v !Debts(x)", marks=pytest.mark.slow), "Job(x) => Paint(x, Red)", "Job(x) v !Pays(x)"],
)  # fmt: skip
def test_it_is_the_same_clause_and_reads_back(rule: str) -> None:
    begin, given = begun(rule)
    shaper = LANGUAGE.shaper()
    seen = 0
    for first in LANGUAGE.neighbours(begin):
        for clause in (first, *list(LANGUAGE.neighbours(first))[::3]):
            formula = as_written(clause, [given])
            model = sqlrl.parse_mln(f"{DECLARED}1 {format_formula(formula)}")
            assert model.rules[0].formula == formula
            # Not told apart by what tells clauses apart, and one feature as the disjunction is.
            (feature,) = compile_rule(Rule(formula, 1.0), model, frozenset(PREDICATES))
            (plain,) = compile_rule(Rule(clause.formula, 1.0), model, frozenset(PREDICATES))
            assert (feature.negated, len(feature.clauses)) == (plain.negated, len(plain.clauses))
            assert list(map(shaper, feature.clauses)) == list(map(shaper, plain.clauses))
            seen += 1
    assert seen > 50
