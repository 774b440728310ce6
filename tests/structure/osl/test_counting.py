"""Delta n and ground clauses of patterns' clauses, against those of the same clauses as rules of a program."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings

from sqlrl.ground.atoms import read_labels
from sqlrl.ground.binding import bind_program
from sqlrl.ground.bindings import WindowBindings
from sqlrl.ground.counts import count_differences
from sqlrl.ground.grounding import ground_network
from sqlrl.ground.network import Network
from sqlrl.ground.program import Extent
from sqlrl.ground.rows import GroundRows, by_clause, in_order
from sqlrl.ground.sample_programs import sample_program
from sqlrl.logic.shapes import Shape, ShapeLiteral, Slot
from sqlrl.plan.sources import World
from sqlrl.structure.osl.accepted_clauses import NONE, AcceptedClauses
from sqlrl.structure.osl.count_differences import delta_counts
from tests.effort import draws
from tests.ground.cases import CLOSED, Case, Names, load, world_table
from tests.structure.osl.candidates import Candidate, cases

# Loading a case takes a second, a candidate a few milliseconds.
FEW = settings(max_examples=draws(5))


@pytest.mark.slow
@FEW
@given(cases())
def test_counts_and_rows_are_those_of_the_same_clauses_as_rules(drawn: tuple[Case, list[Candidate], int]) -> None:
    case, found, seed = drawn
    engine, layout = load(case)
    types = {name: case.types(name) for name in (*CLOSED, *case.opened)}
    patterns = [c.pattern(types) for c in found]
    rules = [rule for c, pattern in zip(found, patterns, strict=True) for rule in c.rules(pattern)]
    program = bind_program(engine, layout, replace(case, rules=tuple(rules)).model)
    assert [f.rule is not None for f in program.features] == [True] * len(rules)
    names = Names(engine, layout)
    generator = np.random.default_rng(seed)
    chosen = generator.permutation(np.array(sorted(names.examples), np.int64))
    chosen = chosen[: generator.integers(1, len(chosen) + 1)]
    accepted, numbered, first = AcceptedClauses(), [], 0
    for c, pattern in zip(found, patterns, strict=True):
        constants = c.ids(pattern, names)
        clauses = first + np.arange(2 * len(constants)).reshape(-1, 2)
        first += clauses.size
        numbered.append((pattern, constants, clauses))
        accepted.add(pattern, constants, clauses)
    with program.examples_table(chosen) as examples:
        network = ground_network(Extent(program, examples), check=False)
        window = WindowBindings(program, examples, chosen, network.atoms)
        observed, _ = read_labels(engine, layout, network.atoms, examples)
        predicted = generator.random(len(observed)) < 0.5
        for place, example in enumerate(chosen):
            with (
                program.examples_table(np.array([example])) as one,
                world_table(program, network.atoms[predicted]) as world,
            ):
                expected = -count_differences(Extent(program, one), World(world))
            for pattern, constants, clauses in numbered:
                delta = delta_counts(window.of(pattern), place, constants, observed, predicted)
                assert delta.tolist() == expected[clauses].tolist(), (pattern, place)
        parts = [accepted.rows(window, place) for place in range(len(chosen))]
        assert all((np.diff(part.clause) >= 0).all() for part in parts)
        same_rows(network, by_clause(parts))
    program.close()
    engine.close()


def same_rows(network: Network, rows: GroundRows) -> None:
    empty, units, longer = rows.split()
    assert not len(empty.clause)
    change = np.zeros(network.units.shape, np.int64)
    np.add.at(change, (np.abs(units.literals) - 1, units.clause), np.sign(units.literals))
    assert (change == network.units.toarray()).all()
    assert ground_clauses(in_order(longer, merge=True)) == ground_clauses(
        GroundRows(network.row_clause, network.literals, np.diff(network.indptr), network.multiplicity)
    )


def ground_clauses(rows: GroundRows) -> Counter[tuple[int, tuple[int, ...]]]:
    start, found = rows.starts(), Counter[tuple[int, tuple[int, ...]]]()
    for i in range(len(rows.clause)):
        literals = tuple(rows.literals[start[i] : start[i + 1]].tolist())
        found[int(rows.clause[i]), literals] += int(rows.multiplicity[i])
    return found


def smokers() -> tuple[Shape, Shape]:
    """Patterns about friends who smoke: with a constant, and with none."""
    x, y, k = Slot(False, 0), Slot(False, 1), Slot(True, 0)
    start, friends, other = (
        ShapeLiteral("Smokes", False, (x,)),
        ShapeLiteral("Friends", False, (y, x)),
        ShapeLiteral("Smokes", False, (y,)),
    )
    with_constant = (start, ShapeLiteral("Friends", False, (k, x)), ShapeLiteral("Smokes", False, (k,)))
    return Shape(("person",), ("person",), with_constant), Shape(("person", "person"), (), (start, friends, other))


def test_accepted_clauses_grow_and_variants_may_be_left_out() -> None:
    people = [f"P{i:03}" for i in range(200)]
    friends = [(people[i], people[(i * 7 + j) % 200]) for i in range(200) for j in range(3)]
    text = "Friends(person, person)\nSmokes(person)\n1 Friends(x, y) ^ Smokes(x) => Smokes(y)"
    program = sample_program(text, ["Smokes"], {"Friends": friends, "Smokes": [(p,) for p in people]})
    pattern, _ = smokers()
    accepted = AcceptedClauses()
    with program.examples_table(np.array([0])) as examples:
        network = ground_network(Extent(program, examples))
        window = WindowBindings(program, examples, np.array([0]), network.atoms)
        found = window.of(pattern)
        pairs = found.values[:, [found.parameters[0], found.variables[0]]]
        for first in range(0, 200, 40):
            some = np.arange(first, first + 40)
            accepted.add(pattern, some[:, None], np.stack([some, np.full(40, NONE)], axis=1))
            rows = accepted.rows(window, 0)
            expected = Counter(
                (int(k), tuple(sorted({-int(k) - 1, -int(x) - 1}, reverse=True))) for k, x in pairs if k < first + 40
            )
            assert ground_clauses(rows) == expected
    assert len(accepted) == 200
    assert len(ground_clauses(rows)) > 256
    program.close()


def test_ground_clauses_that_are_true_or_false_in_every_world_are_left_out() -> None:
    text = "Friends(person, person)\nSmokes(person)\n1 Friends(x, y) ^ Smokes(x) => Smokes(y)"
    facts = {"Friends": [("A", "A"), ("A", "B")], "Smokes": [("A",)]}
    program = sample_program(text, ["Smokes"], facts)
    _, pattern = smokers()
    accepted = AcceptedClauses()
    accepted.add(pattern, np.zeros((1, 0)), [[0, 1]])
    with program.examples_table(np.array([0])) as examples:
        window = WindowBindings(program, examples, np.array([0]), np.array([1, 2]))
        rows = accepted.rows(window, 0)
    # Friends(A, A): !Smokes(A) twice, and a tautology.
    assert ground_clauses(rows) == Counter({(0, (-1,)): 1, (0, (-1, -2)): 1, (1, (-1, 2)): 1})
    assert rows.multiplicity.tolist() == [1, 1, 1]
    program.close()


def test_an_atom_that_is_in_a_ground_clause_twice_is_written_once_in_its_place() -> None:
    text = "Friends(person, person)\nSmokes(person)\n1 Friends(x, y) ^ Smokes(x) => Smokes(y)"
    program = sample_program(text, ["Smokes"], {"Friends": [("A", "A"), ("A", "B")], "Smokes": [("A",)]})
    x, y, z = (Slot(False, i) for i in range(3))
    smokes, friends = ((lambda *slots, name=name: ShapeLiteral(name, False, slots)) for name in ("Smokes", "Friends"))
    pattern = Shape(("person",) * 3, (), (smokes(x), friends(x, y), smokes(y), friends(y, z), smokes(z)))
    accepted = AcceptedClauses()
    accepted.add(pattern, np.zeros((1, 0)), [[0, 1]])
    with program.examples_table(np.array([0])) as examples:
        rows = accepted.rows(WindowBindings(program, examples, np.array([0]), np.array([1, 2])), 0)
    # x, y, z are A, A, A or A, A, B, and as Horn clauses, Smokes(x) their head, both are true.
    assert ground_clauses(rows) == Counter({(0, (-1,)): 1, (0, (-1, -2)): 1})
    program.close()


def test_an_example_without_bindings_changes_nothing() -> None:
    program = sample_program("Mark(bib)\nTopic(bib)\n1 Mark(b) => Topic(b)", ["Topic"], {"Mark": [("B1",), ("B2",)]})
    b = Slot(False, 0)
    pattern = Shape(("bib",), (), (ShapeLiteral("Topic", False, (b,)), ShapeLiteral("Mark", False, (b,))))
    with program.examples_table(np.array([0])) as examples:
        window = WindowBindings(program, examples, np.array([0, 7]), np.array([1, 2]))
        worlds = np.array([True, True]), np.array([False, True])
        found = [delta_counts(window.of(pattern), i, np.zeros((1, 0)), *worlds).tolist() for i in (0, 1)]
    assert found == [[[-1, 1]], [[0, 0]]]
    program.close()
