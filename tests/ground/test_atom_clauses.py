"""The ground clauses of one atom against direct evaluation of the formulas: what flipping the atom changes, and every text."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sqlrl.ground import atom_clauses
from sqlrl.ground.atom_clauses import GroundClause, TwoWorlds, clauses_of_atoms, with_helpers
from sqlrl.ground.grounding import ground_network
from sqlrl.ground.network import Network
from sqlrl.ground.program import Extent, Program
from sqlrl.ground.sample_programs import sample_program
from sqlrl.logic.mln import parse_mln
from sqlrl.plan.named_clauses import AtomKey
from tests.ground.brute import Formulas, Ground
from tests.ground.cases import Case, Names, completed, counted, expanded, formulas_of, mixed, rules, within_depth
from tests.ground.test_oracle import FEW


def keys_of(program: Program, names: Names) -> dict[int, AtomKey]:
    """The key of every query atom, helper atoms included."""
    found = {}
    for info in program.layout.predicates.values():
        for row in names.rows(info.atoms) if info.atoms is not None else []:
            columns = {n: int(row[n]) for n in ("example", *(f"a{i}" for i in range(len(info.types))))}
            found[int(row["atom"])] = AtomKey(info.name, int(row["atom"]), columns)
    return found


def defining(program: Program) -> np.ndarray:
    return np.array([program.features[f].rule is None for f in program.feature_of], dtype=bool)


def clauses_when_flipped(
    program: Program, network: Network, keys: dict[int, AtomKey], world: np.ndarray, atom: int
) -> tuple[np.ndarray, list[GroundClause]]:
    after = with_helpers(network, defining(program), world, atom)
    changed = network.atoms[(after != world) & network.helper].tolist()
    wanted = [keys[i] for i in (int(network.atoms[atom]), *changed)]
    return after, clauses_of_atoms(Extent(program), wanted, TwoWorlds(network.atoms, world, after))


def check(case: Case, seed: int) -> None:
    program = expanded(case)
    names = Names(program.engine, program.layout)
    network, atoms, keys = ground_network(Extent(program), check=False), names.atoms(), keys_of(program, names)
    generator = np.random.default_rng(seed)
    world = completed(program, network, generator.random(len(network.atoms)) < 0.5)
    formulas = [(c, r, f) for c, r, f in formulas_of(program, case.data, names) if not r.hard]

    def true(world: np.ndarray) -> frozenset[Ground]:
        return frozenset(atoms[int(i)] for i in network.atoms[world & ~network.helper])

    for atom in generator.permutation(np.flatnonzero(~network.helper))[:2].tolist():
        after, found = clauses_when_flipped(program, network, keys, world, atom)
        flipped = world.copy()
        flipped[atom] = not world[atom]
        assert (after == completed(program, network, flipped)).all()
        example = case.data.example_of(atoms[int(network.atoms[atom])]) if case.kind == "column" else ""
        change = dict.fromkeys(range(program.clause_count), 0)
        for each in found:
            assert each.times > 0
            change[each.clause] -= each.times * each.change
            check_text(case, each, example, true(world), true(after))
        for clause, rule, formula in formulas:
            assert change[clause] == formula.n(true(world)) - formula.n(true(after)), (rule, formula.fixed, found)
    program.close()
    program.engine.close()


def check_text(
    case: Case, clause: GroundClause, example: str, before: frozenset[Ground], after: frozenset[Ground]
) -> None:
    """What is printed changes as the ground clause does, read as a formula; one with a counted variable says less."""
    header = "".join(f"{predicate}\n" for predicate in case.model.predicates.values())
    formula = Formulas(parse_mln(f"{header}1 {clause.text}").rules[0].formula, case.data)
    if formula.variables:
        assert clause.times > 0
        return
    row = {"": example}
    assert formula.holds(row, after) - formula.holds(row, before) == clause.change, clause


@pytest.mark.slow
@FEW
@given(
    mixed(rules, counted, rules, counted),
    st.integers(0, 1000),
    st.sampled_from([2, 0, 100]),
    st.sampled_from([1000, 3]),
)
def test_contributions_are_what_flipping_changes(case: Case, seed: int, most: int, matched: int) -> None:
    with pytest.MonkeyPatch.context() as patch, within_depth():
        patch.setattr(atom_clauses, "ENUMERATED", most)
        patch.setattr(atom_clauses, "MATCHED", matched)
        check(case, seed)


FRIENDS = {"Friends": [(f"P{i}", f"P{j}") for i in range(30) for j in range(30) if i != j]}
WIDE = "Friends(person, person)\nSmokes(person)\n"


def texts(rule: str, atom: int, facts: dict[str, list[tuple[str, ...]]]) -> list[tuple[str, int]]:
    program = sample_program(WIDE + rule, ["Smokes"], {**facts, "Smokes": [("P0",)]})
    network, names = ground_network(Extent(program)), Names(program.engine, program.layout)
    _, found = clauses_when_flipped(program, network, keys_of(program, names), np.zeros(len(network.atoms), bool), atom)
    return [(each.text, each.times) for each in found]


def test_variables_that_no_open_literal_has_get_constants_until_there_are_too_many() -> None:
    few = {"Friends": [("P0", "P1"), ("P0", "P2")]}
    rule = "1 Friends(x, friend) => Smokes(x)"
    assert texts(rule, 0, few) == [("!Friends(P0, P1) v Smokes(P0)", 1), ("!Friends(P0, P2) v Smokes(P0)", 1)]
    rule = "1 Friends(x, friend) ^ Friends(friend, other) => Smokes(x)"
    assert texts(rule, 0, FRIENDS) == [("!Friends(P0, friend) v !Friends(friend, other) v Smokes(P0)", 29 * 29)]


def test_groundings_that_say_the_same_are_one_row() -> None:
    assert texts("1 Smokes(x) v Smokes(y)", 0, {"Friends": [("P0", "P1")]}) == [
        ("Smokes(P0)", 1),
        ("Smokes(P0) v Smokes(P1)", 2),
    ]


@pytest.mark.slow
def test_conjunctions_and_quantifiers_are_written_as_they_are_meant() -> None:
    few = {"Friends": [("P0", "P1"), ("P1", "P0")]}
    assert texts("1 Smokes(x) ^ Friends(x, y)", 0, few) == [("Friends(P0, P1) ^ Smokes(P0)", 1)]
    assert texts("1 EXIST y (Friends(x, y) ^ Smokes(y))", 1, few) == [("(EXIST y (Friends(P0, y) ^ Smokes(y)))", 1)]
    assert texts("1 !(EXIST y (Friends(x, y) ^ Smokes(y)))", 1, few) == [("!(EXIST y (Friends(P0, y) ^ Smokes(y)))", 1)]
    found = texts("1 Smokes(x) <=> (EXIST y (Friends(x, y) ^ Smokes(y)))", 1, few)
    assert found == [(f"Smokes({p}) <=> (EXIST y Friends({p}, y) ^ Smokes(y))", 1) for p in ("P0", "P1")]


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("EXIST y (Friends(y, y) v Smokes(y))", ["(EXIST y Friends(y, y)) v (EXIST y_2 Smokes(y_2))"]),
        ("EXIST y (Friends(y, P0) v Smokes(y))", ["(EXIST y Friends(y, P0)) v (EXIST y_2 Smokes(y_2))"]),
        ("EXIST x, y (Friends(x, x) v Smokes(y))", ["(EXIST x Friends(x, x)) v (EXIST y Smokes(y))"]),
        ("EXIST y (Friends(P1, y) v Smokes(y))", []),
    ],
)
def test_a_quantifier_that_the_evidence_decides_stands_beside_one_that_it_leaves_open(
    rule: str, expected: list[str]
) -> None:
    few = {"Friends": [("P1", "P2")]}
    assert texts(f"1 {rule}", 1, few) == [(text, 1) for text in expected]
