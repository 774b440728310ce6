"""The whole chain, from loaded tables to counts, against direct evaluation on random databases and programs."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st
from sqlglot import exp

from sqlrl.engine.nodes import table
from sqlrl.errors import ModelError, UnsupportedError
from sqlrl.ground import counts as sql
from sqlrl.ground.binding import bind_program
from sqlrl.ground.completion import completed_world
from sqlrl.ground.grounding import ground_network
from sqlrl.ground.network import Network
from sqlrl.ground.program import Extent, Program
from sqlrl.logic.mln import parse_mln
from sqlrl.plan.sources import World
from sqlrl.solve.counts import counts
from tests.effort import draws
from tests.ground.brute import Data, Formulas, Ground
from tests.ground.cases import (
    CLOSED,
    GLOBAL,
    OPEN,
    Case,
    Names,
    completed,
    counted,
    formulas_of,
    label_world,
    load,
    mixed,
    programs,
    random_worlds,
    rules,
    sentences,
    wide,
    world_table,
)

# A case is a database with five rules and costs about a second; HYPOTHESIS_PROFILE=search looks at as many as it says.
FEW = settings(max_examples=draws(10))


def check(case: Case, seed: int) -> None:
    data = case.data
    engine, layout = load(case)
    try:
        program = bind_program(engine, layout, case.model)
    except (ModelError, UnsupportedError) as error:
        if (
            "leaves its domain unclear" not in str(error)
            and "make 'fld' global" not in str(error)
            and "make 'pos' global" not in str(error)
        ):
            raise
        reject()
    program.expand()
    names = Names(engine, program.layout)
    atoms = names.atoms()
    network = ground_network(Extent(program), check=False)
    visible = {atoms[i] for i, h in zip(network.atoms, network.helper, strict=True) if not h}
    assert visible == set(data.atoms)
    for k, i in enumerate(network.atoms):
        if not network.helper[k]:
            assert abs(network.prior[k] - data.priors.get(atoms[i], 0.0)) < 1e-12
    check_blocks(case, data, network, atoms)
    observed = label_world(program, network)
    worlds = [observed, *random_worlds(program, network, seed)]
    assert (completed(program, network, observed) == observed).all()
    found = [(c, r, f, f.total()) for c, r, f in formulas_of(program, data, names)]
    total = sql.groundings(Extent(program))
    for world in worlds:
        true = frozenset(atoms[i] for i, t in zip(network.atoms, world, strict=True) if t)
        n = counts(network, world)
        with world_table(program, network.atoms[world]) as name:
            wrong = sql.violated(Extent(program), World(name))
            n_sql = sql.true_counts(Extent(program), World(name))
            difference = sql.count_differences(Extent(program), World(name))
        check_completing(program, network, world)
        assert list(n) == list(n_sql)
        assert list(difference) == list(n - counts(network, observed))
        for clause, rule, formula, size in found:
            expected = formula.n(true)
            if rule.hard:
                assert (expected == size) == (wrong[clause] == 0), (rule, formula.fixed)
            else:
                assert total[clause] == network.total[clause] == size, (rule, formula.fixed)
                assert n[clause] == expected, (rule, formula.fixed)
    assert list(sql.true_counts(Extent(program))) == list(counts(network, observed))
    check_expansion(case, program, data, names)
    check_subset(case, program, names, network, worlds[-1])
    program.close()
    engine.close()


def check_completing(program: Program, network: Network, world: np.ndarray) -> None:
    """Helper atoms follow from the others, also where a world lists some of them."""
    helpers = np.flatnonzero(network.helper)
    listed = network.atoms[np.concatenate([np.flatnonzero(world & ~network.helper), helpers[:2]])]
    with world_table(program, listed) as chosen, completed_world(program, World(chosen)) as shown:
        query = exp.select("atom").from_(table(shown.atoms)) if shown.atoms is not None else None
        found = program.engine.fetch(query, step="read").column(0).to_pylist()
    assert sorted(found) == sorted(network.atoms[world])


def check_blocks(case: Case, data: Data, network: Network, atoms: dict[int, Ground]) -> None:
    """Atoms of In that differ in the field alone are a block if it is declared, but for those that a true fact decides."""

    def key(atom: Ground) -> tuple[str, ...]:
        _, example, constants = atom
        return (example, *(c for c, kind in zip(constants, case.types("In"), strict=True) if kind != "fld"))

    found: dict[int, set[Ground]] = {}
    for k, block in enumerate(network.block):
        found.setdefault(int(block), set()).add(atoms[network.atoms[k]])
    free = {a for a in found.pop(-1, set()) if a in data.atoms}
    inside = {a for a in data.atoms if a[0] == "In" and case.block}
    true = {key(a) for a in data.facts if a[0] == "In"}
    assert free == {a for a in data.atoms if a not in inside or key(a) in true}
    wanted: dict[tuple[str, ...], set[Ground]] = {}
    for atom in inside - free:
        wanted.setdefault(key(atom), set()).add(atom)
    assert sorted(map(sorted, found.values())) == sorted(map(sorted, wanted.values()))
    assert network.block_exact.all()
    assert {atoms[network.atoms[abs(x) - 1]] for c, x in network.hard_units if c < 0} == free & inside


def check_expansion(case, program, data, names) -> None:
    """A template has a clause for each combination that some grounding leaves open."""
    for i, bound in enumerate(program.features):
        if bound.rule is None or not bound.feature.plus:
            continue
        kinds = dict(bound.feature.variables)
        clauses = [tuple(c[v] for v in bound.feature.plus) for c in names.combinations(program, i).values()]
        assert len(set(clauses)) == len(clauses)
        wanted = set()
        for row in itertools.product(*(data.types[kinds[v]] for v in bound.feature.plus)):
            formula = Formulas(bound.rule.formula, data, dict(zip(bound.feature.plus, row, strict=True)))
            if any(formula.is_open(grounding) for grounding in formula.groundings()):
                wanted.add(row)
        assert wanted <= set(clauses), bound.rule
        if len(bound.feature.clauses) == 1 and not bound.feature.helpers:
            assert wanted == set(clauses), bound.rule


def check_subset(case, program, names, whole, world) -> None:
    """Counts over some examples are counts of the formulas over them."""
    data, subset = case.data, case.subset
    ids = np.array([i for i, name in names.examples.items() if name in subset], np.int64)
    if data.kind == "one":
        ids = np.array([0])
    with program.examples_table(ids) as examples:
        network = ground_network(Extent(program, examples), check=False)
        inside = np.isin(whole.atoms, network.atoms)
        atoms = names.atoms()
        assert {atoms[i] for i, h in zip(network.atoms, network.helper, strict=True) if not h} == {
            a for a in data.atoms if data.kind == "one" or data.example_of(a) in subset
        }
        n = counts(network, world[inside])
        with world_table(program, whole.atoms[world]) as name:
            assert list(sql.true_counts(Extent(program, examples), World(name))) == list(n)
            assert list(sql.count_differences(Extent(program, examples), World(name))) == list(
                n - counts(network, label_world(program, network))
            )
        true = frozenset(atoms[i] for i, t in zip(whole.atoms, world, strict=True) if t)
        for clause, rule, formula in formulas_of(program, data, names):
            if not rule.hard:
                assert n[clause] == formula.n(true, subset), (rule, formula.fixed)


@pytest.mark.slow
@FEW
@given(mixed(rules, counted, sentences, rules, counted), st.integers(0, 1000))
def test_counts_are_those_of_direct_evaluation(case: Case, seed: int) -> None:
    check(case, seed)


@pytest.mark.slow
@settings(FEW, max_examples=draws(4))
@given(programs(size=1, kind=wide), st.integers(0, 1000))
def test_counts_of_clauses_with_many_positive_literals(case: Case, seed: int) -> None:
    check(case, seed)


QUANTIFIED = [
    "EXIST w (In(c, w, p))",
    "EXIST w (Lab(c, w))",
    "EXIST w (Tok(c, p, w))",
    "FORALL w (Lab(c, w))",
    "Mark(c, p) => (EXIST w (Lab(c, w)))",
    "Mark(c, p) => (EXIST w (In(c, w, p) ^ Cap(w)))",
    "Mark(c, p) ^ (EXIST w (Lab(c, w) ^ In(c, w, p)))",
    "!(EXIST w (Lab(c, w) ^ In(c, w, p))) v Mark(c, p)",
    "Mark(c, p) ^ (FORALL w (Lab(c, w) => In(c, w, p)))",
    "FORALL w (EXIST u (In(c, w, u) ^ !Lab(c, w)))",
    "EXIST u,w (In(c, w, u) ^ Lab(c, w))",
    "Mark(c, p) => (EXIST w (Lab(c, f) ^ In(c, w, p)))",
    "Lab(c, f) v !(EXIST w (Lab(c, w)))",
    "Mark(c, p) => (EXIST w (Lab(c, w))) v (FORALL u (In(c, F, u)))",
    "EXIST w (!Tok(c, p, w) ^ Lab(c, w))",
    "EXIST w (!Lab(c, w))",
]


def header(kind: str) -> str:
    """The declarations of the cases' predicates."""
    beside = "bib, " if kind == "type" else ""
    return "".join(
        f"{name}({'' if name in GLOBAL else beside}{', '.join(types)})\n" for name, types in {**CLOSED, **OPEN}.items()
    )


TWICE = [
    "!Rel(B1, q, +p) v !Cap(g) v !Mark(B1, +p) v !Rel(B1, +p, P1)",
    "Mark(B1, p) ^ Tok(B1, p, F) ^ Cap(g) => Lab(B1, F)",
    "Lab(B1, f) v (EXIST w (Lab(B1, w) ^ Cap(w) ^ w != F))",
    "Mark(B2, p) ^ Cap(g) => Rel(B1, p, P1) v Lab(B1, g)",
]


@pytest.mark.slow
def test_variables_of_a_clause_that_names_one_example_twice_are_those_of_the_example() -> None:
    """`g` stands beside no example: it is of the one that the clause is about, and where it is about two, any field."""
    model = parse_mln(header("type") + "".join(f"1 {text}\n-1 {text}\n" for text in TWICE), query=("Lab", "Rel"))
    case = Case(
        "type",
        {
            "Tok": frozenset({("B1", "P1", "F"), ("B1", "P2", "F"), ("B2", "P1", "F"), ("B2", "P3", "G")}),
            "Mark": frozenset({("B1", "P1"), ("B1", "P3"), ("B2", "P1")}),
            "Next": frozenset({("P1", "P2")}),
            "Cap": frozenset({("F",), ("G",)}),
        },
        ("Lab", "Rel"),
        {"Lab": frozenset({("B2", "G")}), "Rel": frozenset({("B1", "P1", "P3"), ("B1", "P3", "P1")})},
        {"Lab": {}, "Rel": {}},
        {"Lab": {}, "Rel": {}},
        {},
        True,
        model.rules,
        subset=frozenset({"B1"}),
    )
    assert case.data.domains["fld", "B1"] < set(case.data.types["fld"])
    check(case, 0)


# The quick tier has each formula with one kind of examples.
@pytest.mark.parametrize(
    ("kind", "part"),
    [
        pytest.param("type", 0, marks=pytest.mark.slow),
        ("column", 1),
        pytest.param("type", 1, marks=pytest.mark.slow),
        pytest.param("column", 0, marks=pytest.mark.slow),
    ],
)
def test_quantifiers_over_an_empty_domain(kind: str, part: int) -> None:
    """The second example has no field: EXIST is false there, FORALL true, and a free variable has no grounding."""
    texts = [text if kind == "type" else text.replace("(c, ", "(") for text in QUANTIFIED[part::2]]
    lines = [line for text in texts for line in (f"1 {text}", f"-1 {text}", f"{text}.")]
    case = Case(
        kind,
        {
            "Tok": frozenset({("B1", "P1", "F"), ("B1", "P2", "G")}),
            "Mark": frozenset({("B1", "P1"), ("B2", "P1"), ("B2", "P3")}),
            "Next": frozenset({("P1", "P2")}),
            "Cap": frozenset({("F",)}),
        },
        ("In", "Lab"),
        {"In": frozenset({("B1", "F", "P1")}), "Lab": frozenset({("B1", "G")})},
        {"In": {}, "Lab": {}},
        {"In": {}, "Lab": {}},
        {},
        None,
        parse_mln(header(kind) + "\n".join(lines), query=("In", "Lab")).rules,
        subset=frozenset({"B2"}),
    )
    assert case.data.domains["fld", "B2"] == frozenset()
    check(case, 0)
