"""What the clause oracle of a program answers, against full grounding of random programs over random databases."""

from __future__ import annotations

import re
from functools import cache

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sqlrl.catalog.catalog import Catalog
from sqlrl.engine.connection import connect
from sqlrl.errors import GroundingLimitError, InfeasibleError
from sqlrl.ground import oracle as oracle_module
from sqlrl.ground.binding import bind_program
from sqlrl.ground.grounding import check_evidence, ground_network
from sqlrl.ground.network import Network
from sqlrl.ground.oracle import ProgramOracle
from sqlrl.ground.pipeline import Pipeline
from sqlrl.ground.program import Extent, Program
from sqlrl.ground.sample_programs import FRIENDS, PEOPLE, sample_program
from sqlrl.logic.mln import parse_mln
from sqlrl.solve.counts import counts
from sqlrl.solve.cutting_plane import cutting_planes, recounted
from sqlrl.solve.mpe import mpe
from tests.effort import draws
from tests.ground.cases import Case, counted, expanded, mixed, rules

# A case is a database with five rules; HYPOTHESIS_PROFILE=search looks at as many as it says.
FEW = settings(max_examples=draws(5))

Rows = dict[tuple[int, tuple[int, ...]], int]


def rows(network: Network, keep: np.ndarray | None = None) -> Rows:
    """Multiplicities by clause and literals, equal rows added up."""
    found: Rows = {}
    for j in range(len(network.row_clause)):
        if keep is None or keep[j]:
            literals = tuple(network.literals[network.indptr[j] : network.indptr[j + 1]].tolist())
            key = int(network.row_clause[j]), literals
            found[key] = found.get(key, 0) + int(network.multiplicity[j])
    return found


def holds(literals: tuple[int, ...], world: np.ndarray) -> bool:
    return any(world[abs(x) - 1] == (x > 0) for x in literals)


def check_start(oracle: ProgramOracle, network: Network) -> None:
    start = oracle.start()
    assert len(start.row_clause) == len(start.literals) == 0
    assert (start.atoms == network.atoms).all()
    assert (start.block == network.block).all()
    assert (start.units != network.units).nnz == 0
    assert sorted(start.hard_units.tolist()) == sorted(network.hard_units.tolist())
    for name in ("sign", "hard", "base", "total", "evidence_violated", "prior", "helper"):
        assert (getattr(start, name) == getattr(network, name)).all(), name


def check_rounds(oracle: ProgramOracle, network: Network, seed: int, shares: tuple[float, ...]) -> None:
    """A round returns just the rows that a world does not meet; the pairs among some atoms are there, and no row is wrong."""
    random, full = np.random.default_rng(seed), rows(network)

    def unmet(key: tuple[int, tuple[int, ...]], world: np.ndarray, wanted: np.ndarray) -> bool:
        return bool(wanted[key[0]]) and holds(key[1], world) == (wanted[key[0]] < 0)

    for share in shares:
        world = random.random(len(network.atoms)) < share
        wanted = random.integers(-1, 2, len(network.clauses)).astype(np.int8)
        unsatisfied = rows(oracle.unsatisfied(world, wanted))
        assert unsatisfied == {key: times for key, times in full.items() if unmet(key, world, wanted)}
        # What an earlier world did not meet either may be left out, or have some of its groundings.
        for changes in (0.0, 0.2, 0.9):
            before = world ^ (random.random(len(world)) < changes)
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(oracle_module, "MANY_ATOMS", -1)
                patch.setattr(oracle_module, "FEW_CHANGED", 1.0)
                newly = rows(oracle.unsatisfied(world, wanted, before))
            assert {key: n for key, n in newly.items() if not unmet(key, before, wanted)} == {
                key: n for key, n in unsatisfied.items() if not unmet(key, before, wanted)
            }
            assert all(n <= unsatisfied.get(key, 0) for key, n in newly.items())
        # What was counted of this very world is not asked for again where there is none; the next world is asked for.
        oracle.unmet(world, wanted, dict.fromkeys(oracle.sizes, len(full)))
        assert rows(oracle.unsatisfied(world, wanted)) == unsatisfied
        among = rows(oracle.among(world, wanted))
        assert among.items() <= full.items()
        assert all(wanted[clause] and world[np.abs(literals) - 1].all() for clause, literals in among)
        asked = random.random(len(network.clauses)) < 0.5
        assert list(oracle.counts(world, asked)) == list(np.where(asked, counts(network, world), 0))


def check_solving(oracle: ProgramOracle, network: Network, seed: int) -> None:
    """The optimum is that of full grounding, and its counts are exact."""
    random = np.random.default_rng(seed)
    weights = random.choice([-2.0, -0.7, -0.1, 0.0, 0.3, 1.0, 2.5], len(network.clauses))
    try:
        whole = mpe(network, weights)
    except InfeasibleError:
        with pytest.raises(InfeasibleError):
            cutting_planes(oracle, weights)
        return
    found = cutting_planes(oracle, weights)
    report, slack = found.result.report, 1e-9 + whole.gap
    assert abs(report.objective - whole.objective) <= slack + report.gap
    assert found.result.status is whole.status
    assert rows(found.network).items() <= rows(network).items()
    idle = (weights == 0) & ~network.hard & ~oracle.complete
    assert not np.isin(found.network.row_clause, np.flatnonzero(idle)).any()
    exact, world = counts(network, found.result.world), found.result.world
    decided = (weights != 0) | network.hard
    assert (counts(found.network, world) == exact)[decided].all()
    # Where violation costs, what is not grounded holds, and no count has to be mended.
    unchanged = (weights * network.sign > 0) | network.hard
    assert (found.network.base == network.base)[unchanged].all()
    again = recounted(oracle, found)
    assert (counts(again, world) == exact).all()
    assert (again.open == network.open).all()


def check_estimate(oracle: ProgramOracle, network: Network, seed: int) -> None:
    """Sizes are bounds, and so are counts of what a world does not meet: rows that merge, or lose literals, count each."""
    assert sum(oracle.sizes.values()) >= len(network.row_clause)
    random = np.random.default_rng(seed)
    world = random.random(len(network.atoms)) < 0.5
    wanted = random.integers(-1, 2, len(network.clauses)).astype(np.int8)
    returned = len(oracle.unsatisfied(world, wanted).row_clause)
    unmet = oracle.unmet(world, wanted, oracle.sizes)
    assert unmet.keys() == oracle.sizes.keys()
    assert sum(unmet.values()) >= returned
    capped = oracle.unmet(world, wanted, dict.fromkeys(oracle.sizes, 0))
    assert {shape for shape, n in capped.items() if n} == {shape for shape, n in unmet.items() if n}


def check(case: Case, seed: int) -> None:
    program = expanded(case)
    network = ground_network(Extent(program), check=False)
    try:
        check_evidence(Extent(program), network.evidence_violated)
    except InfeasibleError as error:
        with pytest.raises(InfeasibleError, match=re.escape(str(error))):
            ProgramOracle(Extent(program)).start()
    oracle = ProgramOracle(Extent(program), check=False)
    check_start(oracle, network)
    check_rounds(oracle, network, seed, (0.3, 0.8))
    check_solving(oracle, network, seed)
    check_estimate(oracle, network, seed)
    random = np.random.default_rng(seed)
    some = [shape for shape in oracle.sizes if random.random() < 0.5]
    check_solving(ProgramOracle(Extent(program), check=False, whole=some), network, seed)
    subset = np.array(sorted(set(network.example.tolist()))[:1], dtype=np.int64)
    with program.examples_table(subset) as examples:
        few, part = (
            ProgramOracle(Extent(program, examples), check=False),
            ground_network(Extent(program, examples), check=False),
        )
        check_rounds(few, part, seed, (0.6,))
    program.close()
    program.engine.close()  # type: ignore[attr-defined]


@pytest.mark.slow
@FEW
@given(mixed(rules, counted, rules, counted), st.integers(0, 1000))
def test_rounds_return_what_a_world_does_not_meet(case: Case, seed: int) -> None:
    check(case, seed)


TEXT = """
Friends(person, person)
Smokes(person)
Cancer(person)
"""
FACTS = {
    "Friends": [(a, b) for a in "ABCDE" for b in "ABCDE" if (ord(a) * 7 + ord(b) * 3) % 4 == 0],
    "Cancer": [("A",)],
}


@cache
def loaded() -> Catalog:
    catalog = Catalog(connect(":memory:", threads=1))
    catalog.declare(parse_mln(TEXT, query=("Smokes", "Cancer")))
    catalog.load("Friends", FACTS["Friends"])
    catalog.load("Cancer", FACTS["Cancer"], target=True)
    return catalog


@cache
def checked(rules: str) -> tuple[Program, Network, ProgramOracle]:
    """A program in a database that all share, fully grounded, and its oracle, whose start and rounds are right."""
    model, catalog = parse_mln(TEXT + rules, query=("Smokes", "Cancer")), loaded()
    program = bind_program(catalog.engine, catalog.bind(model, training=True), model)
    program.expand()
    network, oracle = ground_network(Extent(program)), ProgramOracle(Extent(program))
    check_start(oracle, network)
    check_rounds(oracle, network, 3, (0.0, 0.4, 1.0))
    return program, network, oracle


@pytest.mark.slow
@pytest.mark.parametrize(
    "rules",
    [
        "1 Friends(x, y) ^ Smokes(x) => Smokes(y)\n2 Smokes(A)\n-0.5 Smokes(x)",
        "1 Smokes(x) ^ Smokes(y)\n-3 Smokes(x)",
        "-1 Smokes(x) v Cancer(y)\n0.5 Smokes(x)\n0.5 Cancer(x)",
        "1 EXIST y (Friends(x, y) ^ Smokes(y))\n-0.7 Smokes(x)",
        "-1 EXIST y (Friends(x, y) ^ Smokes(y))\n0.7 Smokes(x)",
        "Smokes(x) => (EXIST y (Friends(x, y) ^ Cancer(y))).\n1 Smokes(x)\n-0.4 Cancer(x)",
        "1 Smokes(x) <=> (EXIST y (Friends(x, y) ^ Smokes(y) ^ Cancer(y)))\n0.3 Smokes(A)\n0.2 Cancer(B)\n-0.1 Cancer(x)",
        "1 Friends(+x, y) ^ Smokes(x) => Cancer(y)\n0.2 Smokes(x)\n-0.3 Cancer(x)",
        "Smokes(x) v Smokes(y) v x = y.\n-1 Smokes(x)",
        "!Smokes(A) v !Smokes(B).\n!Smokes(B) v !Cancer(A).\n1 Smokes(x)\n1 Cancer(x)",
        "0 Smokes(x) v Cancer(x)\n1 Smokes(A)",
        "1 Smokes(x) v Cancer(x)\n1 !Smokes(x) ^ !Cancer(x)\n-0.3 Smokes(x)\n-0.3 Cancer(x)",
    ],
)
@pytest.mark.parametrize("times", [1.0, -1.0])
def test_the_optimum_of_full_grounding(rules: str, times: float) -> None:
    program, network, oracle = checked(rules)
    whole, found = mpe(network, times * program.weights()), cutting_planes(oracle, times * program.weights())
    assert abs(found.result.objective - whole.objective) <= 1e-9
    assert found.result.status is whole.status
    assert found.result.report.choices[0].method == "cutting plane"


def partly_given(rules: str, scope: bool) -> Program:
    """Some atoms of Smokes are given as true or false; with a scope Cancer has atoms for some people only, and one fact outside."""
    model = parse_mln(TEXT + rules, query=("Smokes", "Cancer"))
    catalog = Catalog(connect(":memory:", threads=1))
    catalog.declare(model)
    catalog.load("Friends", FACTS["Friends"])
    catalog.load("Smokes", [("A", True), ("B", False), ("C", True)], given=True, truth=1)
    catalog.load("Cancer", [("D", False)], given=True, truth=1)
    if scope:
        catalog.scope("Cancer", pa.table({"person": ["A", "B", "C"]}))
    program = bind_program(catalog.engine, catalog.bind(model, training=True), model)
    program.expand()
    return program


MANY = [
    "Friends(x, y) ^ Smokes(x) => Smokes(y)",
    "Friends(x, y) ^ Smokes(x) ^ Cancer(x) => Smokes(y) v Cancer(y)",
    "Friends(x, y) ^ Friends(y, z) ^ Smokes(x) ^ Smokes(y) => Smokes(z)",
    "Friends(x, y) => Cancer(x) v Cancer(y) v Smokes(x)",
    "Smokes(x) v Smokes(y)",
    "!Cancer(x) v !Cancer(y) v x = y",
    "Cancer(x) v Smokes(y) v Smokes(x)",
    "Smokes(x) => (EXIST y (Friends(x, y) ^ Cancer(y)))",
    "Cancer(x) => (EXIST y (Friends(x, y) ^ Smokes(y)))",
    "Cancer(x) v (EXIST y (Friends(x, y) ^ !Cancer(y)))",
    "Cancer(x) v (EXIST y (Friends(x, y) ^ Cancer(y))) v (EXIST y (Friends(y, x) ^ Cancer(y)))",
    "Smokes(x) v (EXIST y (Friends(x, y) ^ Smokes(y))) v !(EXIST y (Friends(y, x) ^ Cancer(y)))",
    "EXIST y (Friends(x, y) ^ Cancer(y))",
    "Friends(+x, y) ^ Smokes(x) => Cancer(y)",
    "Friends(x, A) ^ Smokes(A) => Cancer(x) v Cancer(B)",
    "Friends(x, y) ^ Smokes(z) => Cancer(z) v Cancer(A)",
]


@pytest.mark.parametrize(
    ("scope", "part"),
    [
        (False, 0),
        (True, 1),
        pytest.param(False, 1, marks=pytest.mark.slow),
        pytest.param(True, 0, marks=pytest.mark.slow),
    ],
)
def test_rounds_where_evidence_decides_some_atoms(scope: bool, part: int) -> None:
    program = partly_given("\n".join(f"1 {rule}" for rule in MANY[part::2]), scope)
    network = ground_network(Extent(program))
    oracle = ProgramOracle(Extent(program))
    check_start(oracle, network)
    check_rounds(oracle, network, 1, (0.2, 0.5, 0.8))
    check_solving(oracle, network, 2)


def test_nothing_is_grounded_where_nothing_is_unsatisfied() -> None:
    program = sample_program(PEOPLE + "\n-1 Smokes(x)", ["Smokes"], FRIENDS)
    found = cutting_planes(ProgramOracle(Extent(program)), program.weights())
    assert found.rounds == 0
    assert len(found.network.row_clause) == 0
    assert found.result.objective == 9.0
    assert "0 of at most 9 ground clauses in 0 rounds" in str(found.result.report)


def test_what_was_counted_as_met_is_not_asked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    program = sample_program(PEOPLE + "\n-1 Smokes(x)\n1 Smokes(x) v Smokes(y)", ["Smokes"], FRIENDS)
    oracle = ProgramOracle(Extent(program))
    atoms = len(oracle.start().atoms)
    wanted = np.ones(program.clause_count, dtype=np.int8)
    asked: list[str] = []
    monkeypatch.setattr(Pipeline, "rows", lambda _, each: asked.append(str(each.use.shape)) or [])
    for world in (np.zeros(atoms, dtype=bool), np.ones(atoms, dtype=bool)):
        found = oracle.unmet(world, wanted, dict.fromkeys(oracle.sizes, 1_000))
        oracle.unsatisfied(world, wanted)
        assert asked == [str(shape) for shape, times in found.items() if times]
        asked.clear()
        oracle.unsatisfied(~world, wanted)
        assert asked == [str(shape) for shape in found]
        asked.clear()


def test_evidence_that_violates_a_hard_clause_is_refused() -> None:
    program = sample_program(PEOPLE + "\nFriends(x, y) => Friends(y, x).", ["Smokes"], FRIENDS)
    with pytest.raises(InfeasibleError, match="evidence alone violates"):
        ProgramOracle(Extent(program)).start()


def test_a_conflict_is_shown_with_its_constants() -> None:
    text = (
        PEOPLE
        + "\nFriends(x, y) => (Smokes(x) v Smokes(y)).\nFriends(x, y) => !Smokes(x).\nFriends(x, y) => !Smokes(y)."
    )
    program = sample_program(text, ["Smokes"], {"Friends": [("Anna", "Bob")]})
    with pytest.raises(InfeasibleError, match=r"Smokes\(Anna\)"):
        cutting_planes(ProgramOracle(Extent(program)), program.weights())


def test_a_round_heeds_the_limit() -> None:
    text = PEOPLE + "\n1 Smokes(x) v Smokes(y)\n-50 Smokes(x)"
    program = sample_program(text, ["Smokes"], {"Friends": [(f"P{i}", f"P{i + 1}") for i in range(20)]})
    with pytest.raises(GroundingLimitError, match="more than 100 ground clauses"):
        cutting_planes(ProgramOracle(Extent(program, limit=100)), program.weights())


def many(predicate: str) -> str:
    """Nine positive literals that share a variable: counted by enumeration."""
    return " v ".join(f"{predicate}(x, y{i})" for i in range(9))


def test_counting_heeds_the_limit_before_any_round(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ProgramOracle, "unsatisfied", lambda *_: pytest.fail("a round was asked for"))
    closed = sample_program(f"{PEOPLE}\n1 {many('Friends')}", ["Smokes"], FRIENDS)
    with pytest.raises(
        GroundingLimitError, match=r"Friends\(x, y0\) v .* enumerating 59,049 groundings, .* limit of 5,000"
    ):
        cutting_planes(ProgramOracle(Extent(closed, limit=5000)), closed.weights())
    # Only what is better violated is counted at the end.
    text = f"{PEOPLE}\nLikes(person, person)\n-1 {many('Likes')}"
    program = sample_program(text, ["Smokes", "Likes"], FRIENDS)
    with pytest.raises(GroundingLimitError, match=r"Likes\(x, y0\) v .* is counted by enumerating 59,049 groundings"):
        cutting_planes(ProgramOracle(Extent(program, limit=5000)), program.weights())


def test_counts_of_a_world_heed_the_limit() -> None:
    program = sample_program(
        f"{PEOPLE}\nLikes(person, person)\n1 !Smokes(x) v {many('Likes')}", ["Smokes", "Likes"], FRIENDS
    )
    oracle, asked = ProgramOracle(Extent(program, limit=5000), check=False), np.array([False, True])
    smokers = oracle.start().atoms <= 0
    oracle.check_counts(asked)
    assert oracle.counts(smokers, asked).tolist() == [0, 59_049]
    smokers[-1] = True  # the atoms of Likes come first
    with pytest.raises(GroundingLimitError, match=r"enumerating 19,683 groundings, .* limit of 5,000"):
        oracle.counts(smokers, asked)


@pytest.mark.parametrize(
    "rules",
    [
        "1 (Friends(x, y) ^ Smokes(x) => Smokes(y)) ^ (Friends(y, x) ^ Smokes(x) => Smokes(y))\n-0.3 Smokes(x)",
        "0.7 (Smokes(x) ^ Smokes(y) => Cancer(x)) ^ (Smokes(x) => Cancer(x))\n0.4 Smokes(x)",
        "-1 (Friends(x, y) ^ Smokes(x) => Cancer(y)) ^ (Smokes(x) => Cancer(y))\n0.4 Smokes(x)",
    ],
)
def test_shapes_of_one_formula_are_grounded_together(rules: str) -> None:
    """Their ground clauses may be the same and count together, so that none of them may be there without the others."""
    program, network, oracle = checked(rules)
    for shape in oracle.sizes:
        for seed in range(3):
            check_solving(ProgramOracle(Extent(program), whole=[shape]), network, seed)
