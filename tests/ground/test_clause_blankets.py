"""What clauses of a search say of atoms, against formulas that are evaluated with and without each atom, and against the counts of programs."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import sqlrl
from sqlrl.catalog.catalog import Catalog
from sqlrl.engine.connection import connect
from sqlrl.ground.binding import bind_program
from sqlrl.ground.clause_blankets import ClauseBlankets
from sqlrl.ground.clause_rows import DomainCells, PartitionRows
from sqlrl.ground.partitions import Partition
from sqlrl.ground.program import Program
from sqlrl.logic.model import Model, Rule
from sqlrl.logic.shapes import Instance, Shaper
from sqlrl.logic.terms import (
    Argument,
    Atom,
    Clause,
    Constant,
    Equal,
    Formula,
    Literal,
    Not,
    Or,
    Predicate,
    Term,
    Variable,
)
from tests.effort import draws
from tests.ground.brute import Data
from tests.ground.cases import Case, Names, counted, expanded, formulas_of, programs
from tests.ground.test_blankets import atoms_of, dense, differences

FEW = settings(
    max_examples=draws(8),
    suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow],
)

Table = dict[str, Counter[tuple[bool, int]]]


def said(source: ClauseBlankets, instance: Instance) -> Table:
    """How many atoms of each predicate are true or false, and what a clause says of them."""
    terms, found = source.terms(instance), {}
    for name in source.names:
        partition = source.partition(name)[0].refined([terms[name]] if name in terms else [], 1)
        found[name] = tally(partition, dense(partition.positive) - dense(partition.negative))
    return found


def tally(partition: Partition, says: np.ndarray) -> Counter[tuple[bool, int]]:
    found: Counter[tuple[bool, int]] = Counter()
    for truth, count, row in zip(partition.truth.tolist(), partition.count.tolist(), says.tolist(), strict=True):
        found[truth, row[0]] += count
    return +found


def check(program: Program, case: Case, data: Data, added: dict[Instance, str | None]) -> None:
    """Compare what is said of all clauses of a program, learned together and one by one, with the definitions."""
    names = list(program.public_layout.predicates)
    ids = np.array(sorted(Names(program.engine, program.layout).examples), dtype=np.int64)
    formulas = {
        clause: formula for clause, _, formula in formulas_of(program, data, Names(program.engine, program.layout))
    }
    with program.examples_table(ids) as chosen:
        together, plain = (ClauseBlankets(program.engine, program.layout, ids, chosen, names) for _ in range(2))
        together.learn(added.items())
        for instance in added:
            plain.learn([(instance, None)])
        cells = {name: DomainCells(together.domains[name]) for name in names}
        for clause, feature in enumerate(program.feature_of):
            bound = program.features[feature]
            if len(bound.instances) != 1 or bound.instances[0] not in added:
                continue
            for other in added:
                check_rows(together, cells, bound.instances[0], other)
            found = said(together, bound.instances[0])
            assert found == said(plain, bound.instances[0]), str(bound.rule)
            for name in names:
                keys = atoms_of(case, data, name, frozenset(data.examples))
                expected = Counter(
                    (truth, int(n))
                    for truth, (n,) in (differences(case, data, [(0, formulas[clause])], key, 1) for key in keys)
                )
                assert found[name] == expected, (name, str(bound.rule), found[name] - expected, expected - found[name])
        assert together.statements <= plain.statements
        together.close()
        plain.close()


def check_rows(source: ClauseBlankets, cells: dict[str, DomainCells], instance: Instance, other: Instance) -> None:
    """Compare what is said of the atoms of a partition by another clause with that partition refined."""
    before = source.terms(other)
    for name, terms in source.terms(instance).items():
        partition = source.partition(name)[0].refined([before[name]] if name in before else [], 1)
        refined = partition.refined([terms], 1)
        expected: Counter[tuple[int, int]] = Counter()
        for parent, says, count in zip(
            refined.parent.tolist(),
            (dense(refined.positive) - dense(refined.negative))[:, 0].tolist(),
            refined.count.tolist(),
            strict=True,
        ):
            expected[parent, says] += count
        found = PartitionRows(partition, cells[name]).of(cells[name].program(terms))
        pairs = list(zip(found.parent.tolist(), found.says.tolist(), strict=True))
        assert len(set(pairs)) == len(pairs)
        rows = dict(zip(pairs, found.atoms.tolist(), strict=True))
        assert {key: n for key, n in rows.items() if n} == +expected, (name, str(instance.shape))


@pytest.mark.slow
@FEW
@given(programs(quantifiers=False, kind=counted), st.data())
def test_clauses_of_any_database(case: Case, draw: st.DataObject) -> None:
    program = expanded(case)
    added = {}
    for bound in program.features:
        # What templates come to has constants that the clause does not say.
        if len(bound.instances) == 1 and not bound.feature.plus and not bound.instances[0].shape.exists:
            mentioned = sorted({x.predicate for x in bound.instances[0].shape.literals})
            added[bound.instances[0]] = draw.draw(st.sampled_from([None, *mentioned]))
    check(program, case, case.data, added)
    program.engine.close()


# ---- predicates of one signature -------------------------------------------------------------------------------------

ALIKE = {
    "A": ("pos", "pos"), "B": ("pos", "pos"), "C": ("pos",), "D": ("pos",), "E": ("pos", "fld"), "F": ("pos", "fld"),
    "Next": ("pos", "pos"), "Cap": ("pos", "pos"),
}  # fmt: skip
TYPES = {"bib": ("B1", "B2", "B3"), "pos": ("P1", "P2", "P3"), "fld": ("F", "G")}
GLOBAL = ("Next", "Cap")
VARIABLES = {"p": "pos", "q": "pos", "r": "pos", "f": "fld", "g": "fld"}


@st.composite
def alike(draw: st.DrawFn) -> tuple[Case, Data, Model, dict[str, set[tuple[str, ...]]]]:
    """A database of closed predicates several of which have the same types, and clauses of one to four literals."""
    kind = draw(st.sampled_from(["type", "column", "one"]))
    bibs = TYPES["bib"][: draw(st.integers(1, 3))]
    facts = {}
    for name, types in ALIKE.items():
        columns = [st.sampled_from(bibs)] if name not in GLOBAL else []
        rows = st.tuples(*columns, *(st.sampled_from(TYPES[t]) for t in types))
        # At times a predicate has no fact.
        facts[name] = draw(st.sets(rows, max_size=5))
    # Each type and each example has a constant.
    facts["E"] = facts["E"] | {(b, "P1", "F") for b in bibs}
    local = {"pos", "fld"} if kind != "one" else set()
    if kind != "one" and draw(st.integers(0, 3)) == 0:
        local = {"fld"}
    own = {name: types if name in GLOBAL or kind == "column" else ("bib", *types) for name, types in ALIKE.items()}
    domains: dict[tuple[str, str], set[str]] = {(k, b): set() for k in local for b in bibs}
    for name, rows in facts.items():
        for bib, *constants in rows if name not in GLOBAL else ():
            for constant, t in zip(constants, ALIKE[name], strict=True):
                if t in local:
                    domains[t, bib].add(constant)
    truth = {
        (name, row[0], row[1:]) if kind == "column" and name not in GLOBAL else (name, "", row)
        for name, rows in facts.items()
        for row in rows
    }
    data = Data(
        kind,
        {**TYPES, "bib": bibs},
        {n: (own[n], kind == "column" and n not in GLOBAL) for n in ALIKE},
        ("",) if kind == "one" else bibs,
        {key: frozenset(found) for key, found in domains.items()},
        frozenset(local),
        frozenset(truth),
        {},
    )
    rules = []
    for _ in range(6):
        literals = []
        for name in draw(st.lists(st.sampled_from([*ALIKE, "A", "A", "C", "B"]), min_size=1, max_size=4)):
            terms = [draw(_terms(t)) for t in own[name]]
            literals.append((Atom(name, tuple(terms)), draw(st.booleans())))
        formula = _clause([*dict(literals).items()], draw)
        rules.append(Rule(formula, 1.0))
    predicates = {name: Predicate(name, tuple(map(Argument, types))) for name, types in own.items()}
    model = Model(predicates, {"pos": TYPES["pos"], "fld": TYPES["fld"]}, tuple(rules))
    case = Case(kind, {}, (), {}, {}, {}, {}, None)
    return case, data, model, facts


def _terms(kind: str) -> st.SearchStrategy[Term]:
    if kind == "bib":
        return st.just(Variable("c"))
    names = [Variable(v) for v, t in VARIABLES.items() if t == kind]
    return st.sampled_from([*names * 4, Constant(TYPES[kind][0])])


def _clause(literals: list[tuple[Atom, bool]], draw: st.DrawFn) -> Formula:
    parts: list[Formula] = [atom if positive else Not(atom) for atom, positive in literals]
    used = {t.name for atom, _ in literals for t in atom.terms if isinstance(t, Variable)}
    pairs = [pair for pair in (("p", "q"), ("q", "r"), ("f", "g")) if used.issuperset(pair)]
    if pairs and draw(st.booleans()):
        left, right = draw(st.sampled_from(pairs))
        equal = Equal(Variable(left), Variable(right))
        parts.append(equal if draw(st.booleans()) else Not(equal))
    return Or(tuple(parts)) if len(parts) > 1 else parts[0]


@FEW
@given(alike(), st.data())
def test_predicates_of_one_signature_share_counts(drawn: tuple, draw: st.DataObject) -> None:
    case, data, model, facts = drawn
    engine = connect(":memory:", threads=1)
    catalog = Catalog(engine)
    catalog.declare(model)
    example = {"one": None, "type": "bib", "column": "column0"}[data.kind]
    for name, rows in facts.items():
        catalog.load(name, sorted(rows), example=None if name in GLOBAL else example, empty="allow")
    if data.kind != "one" and data.local == {"fld"}:
        catalog.set_local("pos", False)
    program = bind_program(engine, catalog.bind(model, training=True), model)
    program.expand()
    added = {}
    for bound in program.features:
        mentioned = sorted({x.predicate for x in bound.instances[0].shape.literals})
        added[bound.instances[0]] = draw.draw(st.sampled_from([None, *mentioned]))
    check(program, case, data, added)
    engine.close()


def test_candidates_that_differ_in_the_added_predicate_are_one_statement() -> None:
    engine = connect(":memory:", threads=1)
    catalog = Catalog(engine)
    names = ["A", "B", "C", "D", "E"]
    x, y, z = (Variable(v) for v in "xyz")
    rules = [Rule(Or((Not(Atom("A", (x, y))), Atom("B", (y, z)), Not(Atom(name, (x, z))))), 1.0) for name in names[1:]]
    flipped = [Rule(Or((Atom("A", (x, y)), Not(Atom("B", (y, z))), Atom(name, (x, z)))), 1.0) for name in names[1:]]
    predicates = {name: Predicate(name, (Argument("pos"), Argument("pos"))) for name in names}
    model = Model(predicates, {}, (*rules, *flipped))
    catalog.declare(model)
    generator = np.random.default_rng(1)
    for name in names:
        pairs = np.argwhere(generator.random((5, 5)) < 0.4)
        catalog.load(name, [(f"P{i}", f"P{j}") for i, j in pairs.tolist()])
    program = bind_program(engine, catalog.bind(model, training=True), model)
    program.expand()
    ids = np.array([0])
    instances = [bound.instances[0] for bound in program.features]
    with program.examples_table(ids) as chosen:
        source, plain = (ClauseBlankets(engine, program.layout, ids, chosen, names) for _ in range(2))
        source.learn(list(zip(instances, (*names[1:], *names[1:]), strict=True)))
        assert source.statements == 1
        source.learn([(instance, None) for instance in instances])
        assert source.statements == 1
        for instance in instances:
            plain.learn([(instance, None)])
        assert plain.statements == len(instances)
        assert [said(source, each) for each in instances] == [said(plain, each) for each in instances]
        source.close()
        plain.close()
    engine.close()


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 4))])
def test_long_clauses_of_one_predicate_that_are_counted_together(seed: int) -> None:
    """Of more literals of a predicate than are tried in all orders, parts that are alike have keys in other orders."""
    random = np.random.default_rng(seed)
    names = [f"a{i}" for i in range(5)]
    pairs = [(x, y) for x in names for y in names if random.random() < 0.45]
    variables = [f"x{i}" for i in range(6)]
    ends = list(pairwise(variables))
    path = [(x, y) if random.random() < 0.5 else (y, x) for x, y in ends]
    shaper = Shaper(lambda predicate, place: "a")
    instances = []
    for last in ((variables[0], variables[-1]), (variables[-1], variables[0])):
        literals = tuple(Literal("R", tuple(map(Variable, x)), False) for x in (*path, last))
        instances.append(shaper(Clause(tuple((x, "a") for x in variables), literals)))
    with sqlrl.connect() as db:
        db.load("R", pairs, types=["a", "a"])
        with db.advanced.learning.clause_search(None, examples=None, limit=None) as search:
            program, source = search.source._program, search.source
            together, plain = (
                ClauseBlankets(program.engine, program.layout, source.examples, source._chosen, ["R"]) for _ in range(2)
            )
            together.learn([(instance, "R") for instance in instances])
            for instance in instances:
                plain.learn([(instance, None)])
                assert said(together, instance) == said(plain, instance), str(instance.shape)
            together.close()
            plain.close()
