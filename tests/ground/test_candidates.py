"""Joint counts of candidates against a naive enumeration of all assignments."""

from __future__ import annotations

from collections import Counter
from functools import cache
from itertools import product

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import sqlrl
from sqlrl.errors import CountOverflowError, ModelError
from sqlrl.ground.candidates import CandidateProgram, JointCounts
from sqlrl.logic.candidates import Candidate
from sqlrl.logic.terms import Constant, EqualityLiteral, Literal, Variable
from tests.effort import draws

pytestmark = pytest.mark.filterwarnings("ignore::sqlrl.errors.ScopeWarning")

PEOPLE, TAGS, EXAMPLES = ["Ann", "Bob", "Cid"], ["t1", "t2"], ["e1", "e2"]
KINDS = {
    "Friend": ("person", "person"),
    "Same": ("person", "person"),
    "Used": ("tag", "person"),
    "Heard": ("tag", "person"),
    "Old": ("person",),
    "Knows": ("person", "person"),
}
GLOBAL = {"Knows"}
TARGETS = {"Good": ("person",), "Pair": ("person", "person")}
NAMES = {"person": ["v", "w", "x"], "tag": ["a", "b"]}
Row = tuple[str, ...]
Facts = dict[str, set[Row]]


def rows(name: str) -> st.SearchStrategy[Row]:
    kinds = {**KINDS, **TARGETS}[name]
    columns = [st.sampled_from(PEOPLE if kind == "person" else TAGS) for kind in kinds]
    return st.tuples(*columns) if name in GLOBAL else st.tuples(st.sampled_from(EXAMPLES), *columns)


data = st.fixed_dictionaries({name: st.sets(rows(name), min_size=1, max_size=6) for name in {**KINDS, **TARGETS}})


def variable(kind: str) -> st.SearchStrategy[Variable]:
    return st.sampled_from(NAMES[kind]).map(Variable)


@st.composite
def candidates(draw: st.DrawFn) -> Candidate:
    """Return a candidate whose variables are all in positive literals of the selector, if it has one."""
    names = draw(st.lists(st.sampled_from(sorted(KINDS)), min_size=0, max_size=3))
    selector: list[Literal | EqualityLiteral] = []
    for name in names:
        terms = tuple(
            draw(st.one_of(variable(kind), variable(kind), st.just(Constant("Ann" if kind == "person" else "t1"))))
            for kind in KINDS[name]
        )
        selector.append(Literal(name, terms))
    bound = {t.name for x in selector for t in x.terms if isinstance(t, Variable)}  # type: ignore[union-attr]
    people = sorted(bound & set(NAMES["person"])) or ["v", "w"]
    enforcer: list[Literal] = []
    for name in draw(st.lists(st.sampled_from(sorted(TARGETS)), min_size=1, max_size=2)):
        terms = tuple(Variable(draw(st.sampled_from(people))) for _ in TARGETS[name])
        found = Literal(name, terms, draw(st.booleans()))
        if all((x.predicate, x.terms) != (name, terms) for x in enforcer):
            enforcer.append(found)
    if bound & set(NAMES["person"]):
        if draw(st.booleans()):
            selector.append(Literal("Old", (Variable(draw(st.sampled_from(people))),), False))
        if len(people) > 1 and draw(st.booleans()):
            selector.append(EqualityLiteral(Variable(people[0]), Variable(people[1]), False))
    used = {t.name for x in enforcer for t in x.terms if isinstance(t, Variable)} | bound
    variables = tuple((name, kind) for kind in NAMES for name in NAMES[kind] if name in used)
    return Candidate(variables, tuple(selector), tuple(enforcer), "")


def load(facts: Facts) -> tuple[sqlrl.Database, sqlrl.Model]:
    db = sqlrl.connect(progress=False)
    for name, kinds in {**KINDS, **TARGETS}.items():
        names = [f"x{i}" for i in range(len(kinds))]
        columns = names if name in GLOBAL else ["example", *names]
        table = pa.table({column: [row[i] for row in sorted(facts[name])] for i, column in enumerate(columns)})
        db.load(name, table, types=kinds, target=name in TARGETS, example=None if name in GLOBAL else "example")
    declared = [f"{name}({', '.join(kinds)})" for name, kinds in {**KINDS, **TARGETS}.items()]
    calls = [
        f"{name}({', '.join('a' if kind == 'tag' else 'uv'[i] for i, kind in enumerate(kinds))})"
        for name, kinds in KINDS.items()
    ]
    rules = ["0 Good(v)", "0 Pair(v, w)", *(f"0 {call} ^ Good(v)" for call in calls)]
    return db, sqlrl.parse_mln("\n".join([*declared, *rules]))


def query_atoms(db: sqlrl.Database) -> dict[str, set[Row]]:
    """Return the query atoms of each target, the example first."""
    found = {}
    for name, kinds in TARGETS.items():
        columns = ", ".join(["e.name", *(f"d{i}.name" for i in range(len(kinds)))])
        joins = " ".join(f"join sqlrl.dictionary_person d{i} on d{i}.id = a.a{i}" for i in range(len(kinds)))
        query = f"select {columns} from sqlrl.atom_{name} a join sqlrl.example e using (example) {joins}"
        found[name] = set(db.sql(query).fetchall())
    return found


def naive(facts: Facts, atoms: Facts, candidate: Candidate, examples: list[str]) -> tuple[Counter[int], Counter[int]]:
    """Enumerate all assignments of all variables in each example."""
    n, groundings = Counter[int](), Counter[int]()
    constants = {"person": PEOPLE, "tag": TAGS}
    for example in examples:
        tuples = Counter[tuple[tuple[str, Row], ...]]()
        for values in product(*(constants[kind] for _, kind in candidate.variables)):
            world = dict(zip((name for name, _ in candidate.variables), values, strict=True))
            found = tuple((x.predicate, ground(x.terms, world)) for x in candidate.enforcer)
            if (
                all(holds(facts, example, x, world) for x in candidate.selector)
                and len(set(found)) == len(found)
                and all((example, *row) in atoms[name] for name, row in found)
            ):
                tuples[found] += 1
        for found, number in tuples.items():
            pattern = sum(((example, *row) in facts[name]) << i for i, (name, row) in enumerate(found))
            n[pattern] += 1
            groundings[pattern] += number
    return n, groundings


def ground(terms: tuple[Variable | Constant, ...], world: dict[str, str]) -> Row:
    return tuple(t.name if isinstance(t, Constant) else world[t.name] for t in terms)


def holds(facts: Facts, example: str, x: Literal | EqualityLiteral, world: dict[str, str]) -> bool:
    if isinstance(x, EqualityLiteral):
        one, other = ground((x.left, x.right), world)
        return (one == other) == x.positive
    row = ground(x.terms, world)
    return ((row if x.predicate in GLOBAL else (example, *row)) in facts[x.predicate]) == x.positive


@settings(max_examples=draws(12), deadline=None, phases=[Phase.explicit, Phase.reuse, Phase.generate])
@given(data, st.lists(candidates(), min_size=1, max_size=8), st.sampled_from([None, ["e1"], ["e2", "e1"]]))
def test_joint_counts_are_those_of_all_assignments(
    facts: Facts, found: list[Candidate], chosen: list[str] | None
) -> None:
    db, model = load(facts)
    with db.advanced.program(model) as program:
        known = [name for (name,) in db.sql("select name from sqlrl.example").fetchall()]
        wanted = [name for name in chosen or known if name in known]
        atoms = query_atoms(db)
        with (
            db.advanced.session.examples_table(None if chosen is None else wanted) as examples,
            CandidateProgram(program.engine, program.layout, found) as held,
        ):
            counts = held.counts(examples)
            assert held.statements == held.shapes <= len(found)
    for i, candidate in enumerate(found):
        n, groundings = naive(facts, atoms, candidate, wanted)
        assert {p: c for p, c in enumerate(counts.n[i].tolist()) if c} == n, candidate
        assert {p: c for p, c in enumerate(counts.groundings[i].tolist()) if c} == groundings, candidate
    db.close()


SOME: Facts = {
    name: {("e1", *(["t1"] if kinds[0] == "tag" else []), *["Ann", "Bob"][: kinds.count("person")])}
    for name, kinds in {**KINDS, **TARGETS}.items()
}
SOME["Knows"] = {("Ann", "Bob")}


@cache
def some() -> tuple[sqlrl.Database, sqlrl.Model]:
    return load(SOME)


V, W = Variable("v"), Variable("w")


@pytest.mark.parametrize(
    ("selector", "enforcer", "message"),
    [
        ([Literal("Good", (V,))], [Literal("Good", (W,))], "Good is to be predicted, so it cannot select"),
        ([Literal("Young", (V,))], [Literal("Good", (V,))], "Young has no data"),
        (
            [Literal("Old", (V,))],
            [Literal("Friend", (V, W))],
            "Friend is a target of the templates, but nothing is to be predicted",
        ),
        (
            [Literal("Old", (V,))],
            [Literal("Good", (Variable(f"v{i}"),)) for i in range(7)],
            "7 literals of targets have 128 patterns",
        ),
    ],
)
def test_predicates_in_the_wrong_part_are_refused(
    selector: list[Literal], enforcer: list[Literal], message: str
) -> None:
    db, model = some()
    refused = Candidate((), tuple(selector), tuple(enforcer), "T")
    with pytest.raises(ModelError, match=message), db.advanced.program(model) as program:
        CandidateProgram(program.engine, program.layout, [refused])


def test_scratch_tables_and_views_go_with_it() -> None:
    db, model = some()
    candidate = Candidate((("v", "person"),), (Literal("Old", (V,)),), (Literal("Good", (V,)),), "T")
    names = "select table_name from duckdb_tables() where table_name like 'scratch%' union all select view_name from duckdb_views() where view_name like 'scratch%'"
    with db.advanced.program(model) as program:
        before = db.sql(names).fetchall()
        with CandidateProgram(program.engine, program.layout, [candidate]):
            assert len(db.sql(names).fetchall()) > len(before)
        assert db.sql(names).fetchall() == before


def test_counts_that_do_not_fit_are_an_error() -> None:
    large = JointCounts(np.array([[2**62]]), np.array([[1]]))
    with pytest.raises(CountOverflowError, match="do not fit into 64 bits"):
        large + large
