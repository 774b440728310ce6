"""The bins of self-diagnosis against the definitions, held against all groundings of random rules over random databases."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

import hypothesis.strategies as st
from hypothesis import given, reject, settings

import sqlrl
from sqlrl.errors import GroundingWarning, ModelError, ScopeWarning, UnsupportedError
from sqlrl.logic.model import Rule
from sqlrl.logic.terms import And, Atom, Clause, EqualityLiteral, Formula, Implies, Literal, Not, Or, Variable, terms_in
from sqlrl.solve.sampling.chains import Effort
from sqlrl.structure.beam.clauses import Language as Searched
from sqlrl.structure.beam.estimator import member_of
from sqlrl.structure.diagnosis.bins import NAMES, diagnose
from sqlrl.training.clause_search import ClauseSearch, clause_search
from tests.effort import draws
from tests.ground.brute import Data, Formulas
from tests.ground.cases import Case, Language, databases, fill, well_typed
from tests.ground.cases import atoms_of as mentioned
from tests.ground.test_blankets import atoms_of

FEW = settings(max_examples=draws(10))

Bins = tuple[float, float, float, float]
Shown = dict[str, set[tuple[tuple[str, str], ...]]]


@st.composite
def clause_rules(draw: st.DrawFn, case: Case) -> Rule:
    """A clause, a conjunction, an implication or any formula, without templates and quantifiers."""
    kind = draw(st.sampled_from(["clause", "clause", "and", "implies", "any"]))
    language = Language(case, frozenset(), second=kind == "clause" and draw(st.integers(0, 3)) == 0)
    formula: Formula
    if kind == "clause":
        formula = draw(language.clause())
    elif kind == "and":
        formula = And(tuple(draw(st.lists(language.literal(), min_size=2, max_size=3))))
    elif kind == "implies":
        body = draw(st.lists(language.atom(), min_size=2, max_size=3))
        formula = Implies(And(tuple(body)), draw(language.literal()))
    else:
        formula = draw(language.formula())
    if not well_typed(formula) or not list(mentioned(formula)):
        formula = draw(language.atom())
    return Rule(formula, 1.0)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    case = draw(databases())
    rules = tuple(draw(clause_rules(case)) for _ in range(5))
    return replace(case, rules=rules, block=False)


@contextmanager
def searching(case: Case, examples: Sequence[str] | None) -> Iterator[ClauseSearch]:
    """Hold the rules of a case against its data; what binding refuses is passed over."""
    with sqlrl.connect() as db, warnings.catch_warnings():
        warnings.simplefilter("ignore", ScopeWarning)
        warnings.simplefilter("ignore", GroundingWarning)
        fill(db.advanced.session.catalog, case)
        try:
            with clause_search(db.advanced.session, case.model, examples=examples, limit=None) as search:
                yield search
        except (ModelError, UnsupportedError):
            reject()


def parts_of(clause: Clause) -> list[Literal | EqualityLiteral]:
    return [x for x in clause.literals if isinstance(x, Literal | EqualityLiteral)]


def is_true(literal: Literal | EqualityLiteral, formula: Formulas, row: dict[str, str], world: frozenset) -> bool:
    if isinstance(literal, EqualityLiteral):
        same = formula.value(literal.left, row) == formula.value(literal.right, row)
        return same == literal.positive
    return (formula.key(Atom(literal.predicate, literal.terms), row) in world) == literal.positive


def by_definition(
    case: Case, data: Data, rule: Rule, clauses: Sequence[Clause], sign: int, target: str, chosen: frozenset[str]
) -> tuple[Bins, list[Shown]]:
    """The four bins: each ground clause, each literal of the target in it, as the paper says; and the groundings of each clause that are in each."""
    world = frozenset(data.facts | {atom for atom, label in data.atoms.items() if label})
    atoms = set(atoms_of(case, data, target, chosen))
    formula = Formulas(rule.formula, data)
    found = dict.fromkeys(NAMES, 0)
    shown: list[Shown] = [{name: set() for name in NAMES} for _ in clauses]
    for row in formula.groundings(chosen):
        for clause, sets in zip(clauses, shown, strict=True):
            literals = parts_of(clause)
            names = sorted({t.name for x in literals for t in terms_in(x) if isinstance(t, Variable)})
            for own in (x for x in literals if isinstance(x, Literal) and x.predicate == target):
                key = formula.key(Atom(own.predicate, own.terms), row)
                if key not in atoms:
                    continue
                idle = any(is_true(x, formula, row, world) for x in literals if x is not own)
                positive = own.positive == (sign > 0)
                good = (positive == (key in world)) != idle
                name = f"{'idle' if idle else 'applies'}_{'good' if good else 'bad'}"
                found[name] += 1
                sets[name].add(tuple((v, row[v]) for v in names))
    return tuple(found.values()), shown  # type: ignore[return-value]


def own_literals(formula: Formula) -> list[Literal | EqualityLiteral] | None:
    """The literals of a clause as it is written; None for any other formula."""
    parts = formula.parts if isinstance(formula, Or) else (formula,)
    if isinstance(formula, Implies) and isinstance(formula.left, And):
        parts = (*map(Not, formula.left.parts), formula.right)
    found: list[Literal | EqualityLiteral] = []
    for part in parts:
        positive, body = (False, part.body) if isinstance(part, Not) else (True, part)
        if isinstance(body, Not):
            positive, body = not positive, body.body
        if isinstance(body, Atom):
            found.append(Literal(body.predicate, body.terms, positive))
        elif hasattr(body, "left") and not isinstance(body, Implies) and type(body).__name__ == "Equal":
            found.append(EqualityLiteral(body.left, body.right, positive))
        else:
            return None
    return list(dict.fromkeys(found))


def check(case: Case, examples: Sequence[str] | None) -> None:
    data = case.data
    chosen = frozenset(data.examples if examples is None else examples)
    with searching(case, examples) as search:
        language = Searched(search.predicates, 0, 0, search.example_type)
        members = [member_of(rule, language) for rule in search.rules]
        single = []
        for i, member in enumerate(members):
            names = [x.predicate for each in member.instances for x in each.shape.literals]
            most = max(
                ([x.predicate for x in each.shape.literals].count(name) for each in member.instances for name in names),
                default=0,
            )
            if most == 1:
                single.append(i)
        found = diagnose([members[i] for i in single], search.source, Effort(samples=1, burn_in=0, chains=1))
        compared = set()
        for bins in found:
            given_rule = search.rules[single[bins.rule]]
            formula = given_rule.rule.formula
            written = own_literals(formula)
            clauses = given_rule.clauses
            if written is not None and given_rule.sign > 0:
                clauses = (Clause(clauses[0].variables, tuple(written)),)
            expected, shown = by_definition(case, data, given_rule.rule, clauses, given_rule.sign, bins.target, chosen)
            assert tuple(getattr(bins, name) for name in NAMES) == expected, (str(formula), bins.target)
            assert bins.error == 0.0
            for instance, sets in zip(members[single[bins.rule]].instances, shown, strict=True):
                if any(x.predicate == bins.target for x in instance.shape.literals):
                    for name in ("applies_bad", "idle_bad"):
                        ask = search.source.groundings
                        rows = ask(instance, bins.target, name, given_rule.sign, 10_000)
                        assert {tuple(sorted(row.items())) for row in rows} == sets[name], (
                            str(formula),
                            name,
                            rows,
                            sets[name],
                            expected,
                        )
                        assert len(rows) == len(sets[name])
                        few = ask(instance, bins.target, name, given_rule.sign, 2)
                        assert len(few) == min(2, len(rows))
                        assert all(row in rows for row in few)
            compared.add((bins.rule, bins.target))
        assert compared >= {
            (place, atom.predicate)
            for place, i in enumerate(single)
            for atom in mentioned(search.rules[i].rule.formula)
            if atom.predicate in {x.predicate for each in members[i].instances for x in each.shape.literals}
        }


@FEW
@given(cases(), st.booleans())
def test_exact_bins_are_those_of_all_groundings(case: Case, some: bool) -> None:
    check(case, sorted(case.subset) if some and case.kind != "one" else None)
