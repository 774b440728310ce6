"""Bindings of patterns and the truth of all atoms, against direct evaluation on random databases."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings

from sqlrl.catalog.catalog import Catalog
from sqlrl.engine.connection import connect
from sqlrl.errors import GroundingLimitError
from sqlrl.ground.atoms import read_facts
from sqlrl.ground.binding import bind_program
from sqlrl.ground.bindings import FIXED_FALSE, FIXED_TRUE, NO_EXAMPLE, AtomTable, WindowBindings
from sqlrl.ground.grounding import ground_network
from sqlrl.ground.program import Extent
from sqlrl.ground.sample_programs import FRIENDS, PEOPLE, sample_program
from sqlrl.logic.mln import parse_mln
from sqlrl.logic.model import Rule
from sqlrl.logic.shapes import Shape, ShapeLiteral, Slot
from sqlrl.logic.terms import And, Variable
from tests.effort import draws
from tests.ground.brute import Data, Formulas, Row
from tests.ground.cases import CLOSED, Case, Names, load
from tests.structure.osl.candidates import Candidate, atoms_of, cases

FEW = settings(max_examples=draws(5))


@pytest.mark.slow
@FEW
@given(cases())
def test_bindings_and_atoms_are_those_of_direct_evaluation(drawn: tuple[Case, list[Candidate], int]) -> None:
    case, found, seed = drawn
    data = case.data
    engine, layout = load(case)
    types = {name: case.types(name) for name in (*CLOSED, *case.opened)}
    patterns = [c.pattern(types) for c in found]
    rule = Rule(atoms_of(patterns[0], found[0].constants[0])[0], 1.0)
    program = bind_program(engine, layout, replace(case, rules=(rule,)).model)
    names = Names(engine, layout)
    generator = np.random.default_rng(seed)
    chosen = generator.permutation(np.array(sorted(names.examples), np.int64))
    chosen = chosen[: generator.integers(1, len(chosen) + 1)]
    with program.examples_table(chosen) as examples:
        network = ground_network(Extent(program, examples), check=False)
        window = WindowBindings(program, examples, chosen, network.atoms)
        for c, pattern in zip(found, patterns, strict=True):
            for row, ids in zip(c.constants, c.ids(pattern, names), strict=True):
                check_bindings(data, window, pattern, row, ids, names)
        check_atoms(case, window, network.atoms, names)
    program.close()
    engine.close()


def check_bindings(
    data: Data, window: WindowBindings, pattern: Shape, constants: tuple[str, ...], ids: np.ndarray, names: Names
) -> None:
    """The bindings that have some constants are the groundings for which the closed literals with a variable are true."""
    if without_owner(data, pattern, constants):
        return
    found = window.of(pattern)
    rows = np.column_stack([found.example, found.values]).tolist()
    assert rows == sorted(rows)
    assert len({tuple(row) for row in rows}) == len(rows)
    atoms = atoms_of(pattern, constants)
    formula = Formulas(And(tuple(atoms)), data)
    chosen = [names.examples[i] if data.kind != "one" else "" for i in window.chosen]
    expected = set()
    for grounding in formula.groundings(frozenset(chosen)):
        joined = (
            a
            for a in atoms
            if a.predicate in CLOSED
            and (data.predicates[a.predicate][1] or any(isinstance(t, Variable) for t in a.terms))
        )
        if all(formula.key(a, grounding) in data.facts for a in joined):
            values = tuple(grounding[f"v{i}"] for i in range(len(pattern.variables)))
            expected.add((example_of(data, pattern, constants, grounding), *values))
    given = found.parameters >= 0
    kept = (found.values[:, found.parameters[given]] == ids[given]).all(axis=1)
    got = set()
    for place, example in enumerate(chosen):
        for i in range(found.first[place], found.last[place]):
            if kept[i]:
                values = found.values[i, found.variables].tolist()
                kinds = zip(pattern.variables, values, strict=True)
                got.add((example, *(names.constants[kind][value] for kind, value in kinds)))
    assert got == expected, (pattern, constants)
    assert sum(found.last - found.first) == len(rows)


def without_owner(data: Data, pattern: Shape, constants: tuple[str, ...]) -> bool:
    """Whether a variable beside no example belongs to the only one of a clause, which its pattern takes for two that may differ."""
    bibs = [name for name, kind in zip(constants, pattern.parameters, strict=True) if kind == data.example_type]
    kinds = {False: pattern.variables, True: pattern.parameters}
    beside = {
        slot
        for literal in pattern.literals
        if any(kinds[slot.parameter][slot.index] == data.example_type for slot in literal.terms)
        for slot in literal.terms
    }
    return len(set(bibs)) < len(bibs) and any(Slot(False, i) not in beside for i in range(len(pattern.variables)))


def example_of(data: Data, pattern: Shape, constants: tuple[str, ...], grounding: Row) -> str:
    if data.kind != "type":
        return grounding.get("", "")
    slot = pattern.literals[0].terms[0]
    return constants[slot.index] if slot.parameter else grounding[f"v{slot.index}"]


def check_atoms(case: Case, window: WindowBindings, ids: np.ndarray, names: Names) -> None:
    """Every tuple of an open predicate is the query atom with its name, or fixed as the facts say."""
    data, number = case.data, {atom: k for k, atom in enumerate(map(names.atoms().__getitem__, ids.tolist()))}
    known = {kind: {name: i for i, name in found.items()} for kind, found in names.constants.items()}
    for name in case.opened:
        kinds = case.types(name)
        for example in window.chosen.tolist():
            inside = {"bib": [names.examples[example]]} if case.kind == "type" else {}
            for row in itertools.product(*(inside.get(k, data.types[k]) for k in kinds)):
                atom = (name, names.examples[example] if case.kind == "column" else "", row)
                arguments = [[known[k].get(c, -7) for k, c in zip(kinds, row, strict=True)]]
                beside = example if case.kind == "column" else NO_EXAMPLE
                expected = number.get(atom, FIXED_TRUE if atom in data.facts else FIXED_FALSE)
                assert window.table.find(name, beside, np.array(arguments)).tolist() == [expected], atom


def test_atoms_whose_numbers_would_overflow_a_key() -> None:
    generator = np.random.default_rng(0)
    rows = generator.integers(0, 2**31 - 1, (5000, 5)).astype(np.int32)
    table = AtomTable({"P": 0, "Q": 1}, 5)
    for part in np.split(np.arange(5000), 5):
        table.add("Q", 3, rows[part], part)
    table.add("P", NO_EXAMPLE, rows[:10, :2], FIXED_TRUE)
    order = generator.permutation(5000)
    assert table.find("Q", 3, rows[order]).tolist() == order.tolist()
    assert set(table.find("Q", 4, rows[:100]).tolist()) == {FIXED_FALSE}
    assert set(table.find("P", NO_EXAMPLE, rows[:12, :2]).tolist()) == {FIXED_TRUE, FIXED_FALSE}


@pytest.mark.parametrize("wet", [True, False])
def test_a_predicate_without_arguments(wet: bool) -> None:
    model = parse_mln("Wet()\nRain()\nMark(p)\n1 Wet() ^ Mark(x) => Rain()", query=("Rain",))
    catalog = Catalog(connect(":memory:", threads=1))
    catalog.declare(model)
    catalog.load("Mark", [("A",), ("B",)])
    catalog.load("Wet", [(wet,)], truth=0)
    catalog.load("Rain", [(True,)], truth=0, target=True)
    program = bind_program(catalog.engine, catalog.bind(model, training=True), model)
    names = ("Rain", ()), ("Wet", ()), ("Mark", (Slot(False, 0),))
    pattern = Shape(("p",), (), tuple(ShapeLiteral(name, False, terms) for name, terms in names))
    with program.examples_table(np.array([0])) as examples:
        window = WindowBindings(program, examples, np.array([0]), np.array([1]))
        assert window.of(pattern).values.tolist() == [[0], [1]]
        assert window.table.find("Rain", NO_EXAMPLE, np.zeros((1, 0))).tolist() == [0]
        assert window.table.find("Wet", NO_EXAMPLE, np.zeros((1, 0))).tolist() == [FIXED_TRUE if wet else FIXED_FALSE]
        facts = read_facts(program, ["Rain", "Wet"], examples, np.array([0]))
    assert [facts.atoms[name].arguments.shape for name in ("Rain", "Wet")] == [(1, 0), (int(wet), 0)]
    program.close()
    catalog.engine.close()


def test_too_many_bindings_name_the_pattern() -> None:
    program = sample_program(PEOPLE, ["Smokes"], FRIENDS)
    x, y, z = (Slot(False, i) for i in range(3))
    literals = (ShapeLiteral("Smokes", False, (x,)), ShapeLiteral("Friends", False, (y, z)))
    pattern = Shape(("person",) * 3, (), literals)
    with program.examples_table(np.array([0])) as examples:
        message = (
            r"^the pattern !Smokes\(v0\) v !Friends\(v1, v2\) has more than 5 bindings in 1 example \(joined from "
            r"Friends\(v\d, v\d\)\): lower the recall"
        )
        with pytest.raises(GroundingLimitError, match=message):
            WindowBindings(program, examples, np.array([0]), np.array([1, 2, 3]), limit=5).of(pattern)
        window = WindowBindings(program, examples, np.array([0]), np.array([1, 2, 3]), limit=6)
        assert len(window.of(pattern).values) == 6
    program.close()


def test_patterns_with_one_closed_part_share_a_query() -> None:
    program = sample_program(PEOPLE, ["Smokes"], FRIENDS)
    x, y = Slot(False, 0), Slot(False, 1)
    friends, smokes = ShapeLiteral("Friends", False, (x, y)), ShapeLiteral("Smokes", False, (y,))
    start = ShapeLiteral("Smokes", False, (x,))
    people = ("person", "person")
    with program.examples_table(np.array([0])) as examples:
        window = WindowBindings(program, examples, np.array([0]), np.array([1, 2, 3]))
        one = window.of(Shape(people, (), (start, friends)))
        two = window.of(Shape(people, (), (smokes, friends, start)))
        again = window.of(Shape(people, (), (start, friends)))
    assert one.values is two.values
    assert one.values is again.values
    assert one.values[:, one.variables].tolist() == [[0, 1], [1, 2]]
    program.close()
