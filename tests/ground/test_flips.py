"""Changes of n when one atom flips, by SQL for all atoms at once, against flips in the ground network, formulas and worlds."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sqlrl.errors import CountOverflowError, GroundingLimitError
from sqlrl.ground.counts import count_differences
from sqlrl.ground.flips import flip_differences
from sqlrl.ground.grounding import ground_network
from sqlrl.ground.network import Network
from sqlrl.ground.program import Extent, Program
from sqlrl.logic.mln import parse_mln
from sqlrl.plan.sources import OBSERVED, World
from sqlrl.solve.counts import counts
from tests.ground.binding import bound
from tests.ground.cases import (
    Case,
    Names,
    completed,
    counted,
    expanded,
    formulas_of,
    label_world,
    programs,
    random_worlds,
    sentences,
    wide,
    world_table,
)

# A case is a database with its rules and costs about a second; HYPOTHESIS_PROFILE=search looks at as many as it says.
FEW = settings(max_examples=5 if settings().max_examples <= 60 else settings().max_examples)

Flips = dict[tuple[int, int], int]


def flips(program: Program, world: World = OBSERVED, chosen=None) -> Flips:
    """The differences by clause and atom; their table is in key order, and has no zeros."""
    table = flip_differences(Extent(program, chosen), world)
    assert [str(field.type) for field in table.schema] == ["int64"] * 3
    keys = list(zip(table.column("clause").to_pylist(), table.column("atom").to_pylist(), strict=True))
    assert keys == sorted(set(keys))
    found = dict(zip(keys, table.column("delta").to_pylist(), strict=True))
    assert 0 not in found.values()
    return found


def flipped(program: Program, network: Network, world: np.ndarray) -> dict[int, np.ndarray]:
    """The worlds in which one query atom has flipped, and helper atoms have followed it, by the atom's id."""
    found = {}
    for k in np.flatnonzero(~network.helper):
        other = world.copy()
        other[k] = not other[k]
        found[int(network.atoms[k])] = completed(program, network, other)
    return found


def differences(found: dict[int, np.ndarray], before: np.ndarray) -> Flips:
    """What is not 0 of the differences from n in a world, for n after the flip of each atom."""
    return {
        (clause, atom): int(delta)
        for atom, after in found.items()
        for clause, delta in enumerate(after - before)
        if delta
    }


def check(case: Case, seed: int) -> None:
    program = expanded(case)
    names, network = Names(program.engine, program.layout), ground_network(Extent(program), check=False)
    atoms = names.atoms()
    observed = label_world(program, network)
    (chance,) = random_worlds(program, network, seed)
    for world in (observed, chance):
        others = flipped(program, network, world)
        after = {a: counts(network, other) for a, other in others.items()}
        expected = differences(after, counts(network, world))
        if world is observed:
            assert flips(program) == expected
            continue
        with world_table(program, network.atoms[world]) as name:
            assert flips(program, World(name)) == expected
            check_worlds(case, program, network, names, others, World(name), seed)
    check_formulas(case, program, network, names, atoms, chance)
    program.close()
    program.engine.close()


def check_worlds(
    case: Case,
    program: Program,
    network: Network,
    names: Names,
    others: dict[int, np.ndarray],
    world: World,
    seed: int,
) -> None:
    """The same as counting the difference of two worlds, over all examples and over some, for a few atoms."""
    ids = np.array([i for i, name in names.examples.items() if name in case.subset], np.int64)
    generator = np.random.default_rng(seed)
    some = generator.permutation(sorted(others))[:2].tolist()
    with program.only(ids if case.kind != "one" else np.array([0])) as chosen:
        for examples in (None, chosen):
            found = flips(program, world, examples)
            for atom in some:
                with world_table(program, network.atoms[others[atom]]) as name:
                    expected = count_differences(Extent(program, examples), World(name), world)
                assert [found.get((clause, atom), 0) for clause in range(program.clause_count)] == list(expected)


def check_formulas(
    case: Case, program: Program, network: Network, names: Names, atoms: dict, world: np.ndarray
) -> None:
    """The same as formulas as written say, over some examples; hard ones count the same groundings as violated at times."""
    if case.kind == "one":
        return
    ids = np.array([i for i, name in names.examples.items() if name in case.subset], np.int64)
    true = frozenset(atoms[i] for i, t in zip(network.atoms, world, strict=True) if t)
    with program.only(ids) as chosen, world_table(program, network.atoms[world]) as name:
        found = flips(program, World(name), chosen)
    by_clause: dict[int, Flips] = defaultdict(dict)
    for (clause, atom), delta in found.items():
        by_clause[clause][clause, atom] = delta
    for clause, rule, formula in formulas_of(program, case.data, names):
        if rule.hard:
            continue
        before = formula.n(true, case.subset)
        expected = {}
        for atom, key in atoms.items():
            if key in case.data.atoms and (delta := formula.n(true ^ {key}, case.subset) - before):
                expected[clause, atom] = delta
        assert by_clause[clause] == expected, (rule, formula.fixed)


@FEW
@given(programs(), st.integers(0, 1000))
def test_flips_are_those_of_the_ground_network(case: Case, seed: int) -> None:
    check(case, seed)


@FEW
@given(programs(kind=counted), st.integers(0, 1000))
def test_flips_of_clauses_with_counted_variables(case: Case, seed: int) -> None:
    check(case, seed)


@FEW
@given(programs(kind=sentences), st.integers(0, 1000))
def test_flips_of_sentences_without_free_variables(case: Case, seed: int) -> None:
    check(case, seed)


@settings(FEW, max_examples=FEW.max_examples // 2)
@given(programs(size=1, kind=wide), st.integers(0, 1000))
def test_flips_of_clauses_with_many_positive_literals(case: Case, seed: int) -> None:
    check(case, seed)


PEOPLE = "Same(p, p)\nKnows(p, p)\nS(p)\n"
KNOWN = {"Knows": [(f"P{i}", f"P{j}") for i in range(5) for j in range(5) if (2 * i + j) % 5 == 2]}
SAME = {"Same": [("P0", "P1"), ("P1", "P2"), ("P2", "P2"), ("P3", "P0"), ("P1", "P0")], "S": [("P1",), ("P4",)]}
RULES = [
    "Same(a, b) ^ Same(b, c) => Same(a, c)",
    "Same(a, b) => Same(b, a)",
    "Same(a, a)",
    "Same(a, b) ^ Same(b, c) ^ Same(c, d) => Same(d, a)",
    "S(x) ^ Knows(x, y) => S(y)",
    "S(x) v S(y) v Knows(x, y)",
    "S(x) <=> S(y)",
    "S(x) v S(y) v S(z)",
    "S(P1) <=> S(y)",
    "S(P1) v S(P2) v Same(x, P1) v Same(y, P2)",
    "Same(x, P1) <=> Same(y, P1)",
    "S(x) ^ Same(x, y) ^ x != y => S(y) v Knows(y, x)",
    "S(x) => (EXIST y (Knows(x, y) ^ S(y)))",
    "EXIST y (Knows(x, y) ^ !S(y))",
    "S(x) ^ (EXIST y (Same(x, y) ^ S(y)))",
    "!(EXIST y (Same(x, y) ^ Same(y, x) ^ S(y)))",
    "S(+x) ^ Same(x, +y) => S(y)",
]


@pytest.mark.parametrize("sign", [1, -1])
def test_flips_are_differences_of_worlds(sign: int) -> None:
    """Literals that can be one atom, several clauses of a formula, formulas that count what violates them, quantifiers."""
    text = PEOPLE + "\n".join(f"{sign} {rule}" if "+" not in rule else rule for rule in RULES)
    with bound(parse_mln(text, query=("Same", "S")), {**KNOWN, **SAME}) as program:
        network = ground_network(Extent(program), check=False)
        observed = label_world(program, network)
        found, worlds = flips(program), flipped(program, network, observed)
        assert {clause for clause, _ in found} >= set(range(len(RULES) - 1))
        assert found == differences({a: counts(network, w) for a, w in worlds.items()}, counts(network, observed))
        for atom in sorted(worlds)[:: len(worlds) // 2]:
            with world_table(program, network.atoms[worlds[atom]]) as name:
                expected = count_differences(Extent(program), World(name))
            assert [found.get((clause, atom), 0) for clause in range(program.clause_count)] == list(expected)


def test_an_atom_without_a_label_is_false() -> None:
    """As in counts: the flip makes it true."""
    with bound(parse_mln("S(p)\nKnows(p, p)\n1 S(x)", query=("S",)), KNOWN) as program:
        assert flips(program) == {(0, atom): 1 for atom in range(1, 6)}


def test_given_atoms_do_not_flip() -> None:
    model = parse_mln("S(p)\nT(p)\n1 S(x) => T(x)", query=("S", "T"))
    with bound(model, {"S": [("A",), ("B",)]}, given={"T": [("A", "true"), ("B", "false")]}) as program:
        # Both S(A) and S(B) are true: T(A) is, so that S(A) makes no difference.
        assert flips(program) == {(0, 2): 1}


@pytest.mark.parametrize("count", [6, 9])
def test_parts_without_common_variables_multiply(count: int) -> None:
    model = parse_mln("Known(p)\nS(p)\n1 " + " v ".join(f"S(x{i})" for i in range(count)), query=("S",))
    with bound(model, {"Known": [(str(i),) for i in range(101)]}) as program:
        assert set(flips(program).values()) == {101**count - 100**count}
        assert len(flip_differences(Extent(program, limit=0))) == 101


def test_a_difference_past_64_bits_names_the_clause() -> None:
    facts = {"Known": [(str(i),) for i in range(300)]}
    text = "Known(p)\nS(p)\n1 S(x)\n1 " + " v ".join(f"S(x{i})" for i in range(9))
    with (
        bound(parse_mln(text, query=("S",), path="rules.mln"), facts) as program,
        pytest.raises(CountOverflowError, match=r"changes n of rules\.mln:4: S\(x0\) v .* by 5\d\d,.* into 64 bits"),
    ):
        flip_differences(Extent(program))


def test_a_difference_past_128_bits_names_the_clause() -> None:
    facts = {"Known": [(str(i),) for i in range(100_000)]}
    text = "Known(p)\nS(p)\n1 S(x)\n1 " + " v ".join(f"S(x{i})" for i in range(8))
    with (
        bound(parse_mln(text, query=("S",), path="rules.mln"), facts) as program,
        pytest.raises(CountOverflowError, match=r"^a count of rules\.mln:4: S\(x0\) v .* 128 bits"),
    ):
        flip_differences(Extent(program))


def test_enumeration_past_the_limit_names_the_clause() -> None:
    text = "Known(p)\nS(p, p)\n1 S(x, x)\n1 " + " v ".join(f"S(x, y{i})" for i in range(9))
    model = parse_mln(text, query=("S",), path="rules.mln")
    with bound(model, {"Known": [(str(i),) for i in range(40)]}) as program:
        message = r"^rules\.mln:4: S\(x, y0\) v .* is counted by enumerating 10,485,760,000,000,000 groundings, .* limit of 1,000 "
        with pytest.raises(GroundingLimitError, match=message):
            flip_differences(Extent(program, limit=1_000))
