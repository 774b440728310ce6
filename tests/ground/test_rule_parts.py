"""Bodies and heads of rules, and the rows that violate them, on random data with examples and local types: against enumeration."""

from __future__ import annotations

import warnings
from dataclasses import replace

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, reject

from sqlrl.catalog.store import Store
from sqlrl.database.violation_queries import named_tables
from sqlrl.errors import ModelError, ScopeWarning, UnsupportedError
from sqlrl.ground.binding import bind_program
from sqlrl.ground.counts import groundings
from sqlrl.ground.observed import observed_layout
from sqlrl.ground.program import Extent
from sqlrl.ground.rule_parts import PartCounter, bodies, implications, in_halves, rule_parts, whole_rules
from sqlrl.logic.implications import has_atoms
from sqlrl.logic.model import Rule
from sqlrl.logic.terms import And, Implies
from sqlrl.plan.violating_rows import violating_rows
from tests.ground.brute import Data, Formulas
from tests.ground.cases import Case, Language, Names, databases, formulas_of, load, quantified, well_typed


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """A database with implications of random bodies and heads, with quantifiers, constants, equalities and templates among them."""
    case = draw(databases())
    rules = []
    for _ in range(3):
        plus = draw(st.sampled_from([frozenset[str]()] * 4 + [frozenset({"f"})]))
        language = Language(case, plus)
        side = st.one_of(language.literal(), language.formula(), quantified(case, plus, None))
        body = draw(st.lists(side, min_size=1, max_size=2))
        formula = Implies(body[0] if len(body) == 1 else And(tuple(body)), draw(side))
        if well_typed(formula) and has_atoms(formula):
            rules.append(Rule(formula, None))
    return replace(case, rules=tuple(rules), block=False)


def observed(data: Data) -> tuple[Data, frozenset[tuple[str, str, tuple[str, ...]]]]:
    """Return data of which nothing is open, with the labels as facts."""
    true = frozenset(atom for atom, label in data.atoms.items() if label)
    return replace(data, facts=data.facts | true, atoms={}, opened=frozenset()), frozenset()


@pytest.mark.slow  # each case is a database of its own
@given(cases(), st.booleans())
def test_bodies_heads_and_violations_are_those_of_enumeration(case: Case, some: bool) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ScopeWarning)
        try:
            engine, layout = load(case)
        except (ModelError, UnsupportedError):
            reject()
    data, world = observed(case.data)
    examples = case.subset if some and case.kind != "one" else None
    with observed_layout(engine, layout) as closed:
        names = Names(engine, closed)
        program = bind_program(engine, closed, replace(case.model, rules=()))
        in_halves(case.rules, program.add, lambda *_: None)
        program.expand(observed=True)
        ids = {name: number for number, name in names.examples.items()}
        chosen = np.array([ids[name] for name in sorted(examples or ())])
        with program.examples_table(chosen) as listed:
            extent = Extent(program, None if examples is None else listed, None)
            counter, totals = PartCounter(extent), dict(enumerate(groundings(extent)))
            features = [i for i, bound in enumerate(program.features) if bound.rule is not None]
            true = counter.true(whole_rules(program, features), totals)
            applies = counter.applies(bodies(program, features), totals)
            heads = rule_parts(
                program, {i: x.head for i, x in implications(program, features).items() if has_atoms(x.head)}, own=True
            )
            head_totals = counter.totals(heads)
            head_true = counter.true(heads, head_totals)
        for clause, rule, formula in formulas_of(program, data, names):
            rows = list(formula.groundings(examples))
            assert totals[clause] == len(rows)
            assert true[clause] == sum(formula.holds(row, world) for row in rows), rule
            assert isinstance(formula.formula, Implies)
            if clause in applies:
                body = formula.formula.left
                assert applies[clause] == sum(formula.holds(row, world, body) for row in rows), rule
            else:
                # Some variable ranges over other examples without the head.
                assert case.kind == "type"
            if clause in head_true:
                head = Formulas(formula.formula.right, data, formula.fixed)
                mine = list(head.groundings(examples))
                assert head_totals[clause] == len(mine)
                assert head_true[clause] == sum(head.holds(row, world) for row in mine), rule
            if examples is None and not formula.fixed:
                feature = program.features[program.feature_of[clause]].feature
                query = violating_rows(rule.formula, feature.variables, named_tables(Store(engine), layout))
                found = engine.fetch(query, step="list violations").to_pylist()
                wrong = [{k or "example": v for k, v in row.items()} for row in rows if not formula.holds(row, world)]
                key = [str(sorted(row.items())) for row in wrong] if feature.variables else ["violated"] * len(wrong)
                mine = [str(sorted(row.items())) for row in found] if feature.variables else ["violated"] * len(found)
                assert sorted(mine) == sorted(key), query.sql("duckdb")
        program.close()
