"""Counts by the constants of variables are those of an enumeration, group by group."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from sqlrl.ground import counts as sql
from sqlrl.ground.completion import completed_world
from sqlrl.ground.groups import EXAMPLE, group_counts, has_variables
from sqlrl.ground.program import Extent, Program
from sqlrl.logic.terms import Implies
from sqlrl.plan.sources import World
from tests.effort import draws
from tests.ground.brute import Data, Formulas, Ground, equalities_of
from tests.ground.cases import (
    Case,
    Names,
    counted,
    expanded,
    formulas_of,
    mixed,
    rules,
    wide,
    witnessed,
    world_table,
)

MANY = settings(max_examples=draws(5))

Group = tuple[str, ...]


def expected(
    formula: Formulas, by: tuple[str, ...], world: frozenset[Ground], examples: frozenset[str] | None
) -> tuple[Counter[Group], Counter[Group]]:
    """The groundings and the true groundings of a formula in each group."""
    total, true = Counter[Group](), Counter[Group]()
    for row in formula.groundings(examples):
        group = tuple(row["" if name == EXAMPLE else name] for name in by)
        total[group] += 1
        true[group] += formula.holds(row, world)
    return total, true


def check(
    program: Program,
    data: Data,
    by: tuple[str, ...],
    names: Names,
    true: frozenset[Ground],
    extent: Extent,
    world: World,
    examples: frozenset[str] | None,
) -> None:
    features = [i for i in range(len(program.features)) if has_variables(program, i, by)]
    found = {which: group_counts(extent, by, world, which).to_pylist() for which in ("all", "violated", "true")}  # type: ignore[arg-type]
    keys = [(row["clause"], *(row[f"b{j}"] for j in range(len(by)))) for row in found["all"]]
    assert len(set(keys)) == len(keys)
    assert [key[0] for key in keys] == sorted(key[0] for key in keys)
    n, groundings = sql.true_counts(extent, world), sql.groundings(extent)
    seen = set[int]()
    for clause, rule, formula in formulas_of(program, data, names):
        mine = {which: [row for row in rows if row["clause"] == clause] for which, rows in found.items()}
        if program.feature_of[clause] not in features:
            assert not any(mine.values())
            continue
        seen.add(clause)
        total, right = expected(formula, by, true, examples)
        rows = {tuple(row[f"b{j}"] for j in range(len(by))): row for row in mine["all"]}
        for row in rows.values():
            assert row["n"] + row["violated"] == row["groundings"]
        assert sum(row["groundings"] for row in rows.values()) == groundings[clause], rule
        assert sum(row["n"] for row in rows.values()) == n[clause], rule
        if any(each.left == each.right for each in equalities_of(rule.formula)):
            # What is always false is dropped, before anyone asks over whose constants its variables range.
            continue
        assert rows.keys() == total.keys(), (rule, formula.fixed)
        for group, row in rows.items():
            if rule.hard:
                assert (row["violated"] == 0) == (right[group] == total[group]), (rule, group)
            else:
                assert row["groundings"] == total[group], (rule, group)
                assert row["n"] == right[group], (rule, group)
            assert (row["applies"] is None) or isinstance(formula.formula, Implies)
            if row["applies"] is not None and not rule.hard:
                body = formula.formula.left
                held = sum(
                    formula.holds(each, true, body)
                    for each in formula.groundings(examples)
                    if tuple(each["" if name == EXAMPLE else name] for name in by) == group
                )
                assert row["applies"] == held, (rule, group)
        assert mine["violated"] == [row for row in mine["all"] if row["violated"]], rule
        assert mine["true"] == [row for row in mine["all"] if row["n"]], rule
    assert seen == {clause for clause, feature in enumerate(program.feature_of) if feature in features}


def asked(program: Program, case: Case, draw: st.DataObject) -> tuple[str, ...]:
    """One to three variables of a formula, the example among them where that may be."""
    found = [[name for name, _ in f.feature.variables] for f in program.features if f.rule is not None]
    if case.kind == "column":
        found = [[*names, EXAMPLE] for names in found]
    several = [names for names in found if names]
    if not several:
        reject()
    chosen = draw.draw(st.sampled_from(several))
    return tuple(draw.draw(st.lists(st.sampled_from(chosen), min_size=1, max_size=3, unique=True)))


@pytest.mark.parametrize("kinds", [(rules, counted), pytest.param((witnessed, wide), marks=pytest.mark.slow)])
@MANY
@given(data=st.data())
def test_groups_are_those_of_an_enumeration(kinds, data: st.DataObject) -> None:
    case = data.draw(mixed(*kinds))
    program = expanded(case)
    try:
        names = Names(program.engine, program.layout)
        atoms = {i: atom for i, atom in names.atoms().items() if atom in case.data.atoms}
        ids = np.array(sorted(atoms), dtype=np.int64)
        chosen = ids[np.random.default_rng(data.draw(st.integers(0, 9))).random(len(ids)) < 0.5]
        by = asked(program, case, data)
        with world_table(program, chosen) as listed, completed_world(program, World(listed)) as world:
            true = frozenset(atoms[i] for i in chosen.tolist())
            check(program, case.data, by, names, true, Extent(program), world, None)
            if case.kind == "one":
                return
            of = {name: i for i, name in names.examples.items()}
            few = np.array(sorted(of[name] for name in case.subset), dtype=np.int64)
            with Extent(program).restricted_to(few) as extent:
                check(program, case.data, by, names, true, extent, world, case.subset)
    finally:
        program.close()
        program.engine.close()
