"""Nodes and factors of clauses, counted by SQL, against an enumeration of ground clauses in Python."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings

from sqlrl.ground.factors import MERGED, FactorCounts, factor_counts
from sqlrl.ground.program import BoundFeature, Extent, Program
from sqlrl.logic.mln import parse_mln
from sqlrl.logic.rules import Expansions
from sqlrl.logic.shapes import Shape
from sqlrl.logic.terms import Clause, Constant, EqualityLiteral, ExistsLiteral, Literal, Term
from sqlrl.plan.factor_graph import count_factors
from tests.effort import draws
from tests.ground.binding import bound
from tests.ground.brute import Data, Formulas, Ground, Row
from tests.ground.cases import Case, Names, counted, expanded, formulas_of, mixed, rules, wide, within_depth

FEW = settings(max_examples=draws(8))
GroundClause = frozenset[tuple[Ground, bool]]


def ground_clause(read: Formulas, clause: Clause, row: Row) -> GroundClause | None:
    """The open literals of a clause under an assignment; None if the evidence satisfies it."""
    data, found = read.data, set()

    def value(term: Term) -> str:
        return term.name if isinstance(term, Constant) else row[term.name]

    for literal in clause.literals:
        if isinstance(literal, EqualityLiteral):
            if (value(literal.left) == value(literal.right)) == literal.positive:
                return None
            continue
        assert isinstance(literal, Literal)
        beside = data.predicates[literal.predicate][1]
        key = (literal.predicate, row[""] if beside else "", tuple(map(value, literal.terms)))
        if key in data.atoms:
            found.add((key, literal.positive))
        elif (key in data.facts) == literal.positive:
            return None
    return frozenset(found)


def listed(read: Formulas, feature: BoundFeature) -> Iterator[tuple[Shape, str, GroundClause]]:
    """The ground clauses of a feature that the evidence leaves open, one for each grounding, with their examples."""
    for row in read.groundings():
        for clause, instance in zip(feature.feature.clauses, feature.instances, strict=True):
            found = ground_clause(read, clause, row)
            if found:
                yield instance.shape, read.data.example_of(min(found)[0]), found


def is_true(clause: GroundClause) -> bool:
    return any((atom, not positive) in clause for atom, positive in clause)


def check(case: Case) -> None:
    data = case.data
    program = expanded(case)
    names = Names(program.engine, program.layout)
    merged, every = factor_counts(Extent(program)), factor_counts(Extent(program), merged=0)
    for clause, _, read in formulas_of(program, data, names):
        feature = program.features[program.feature_of[clause]]
        if any(isinstance(x, ExistsLiteral) for c in feature.feature.clauses for x in c.literals):
            continue
        clauses: dict[str, dict[Shape, list[GroundClause]]] = defaultdict(lambda: defaultdict(list))
        for shape, example, found in listed(read, feature):
            clauses[example][shape].append(found)
        distinct = {
            e: [{c for c in found if not is_true(c)} for found in shapes.values()] for e, shapes in clauses.items()
        }
        expected = {e: sizes(found) for e, found in distinct.items() if any(found)}
        assert numbers(program, names, merged, clause, data) == expected
        assert merged.exact[clause]
        if len({i.shape for i in feature.instances}) == len(feature.instances) and not every.exact[clause]:
            raw = {e: sizes(list(found.values()))[:2] for e, found in clauses.items()}
            assert {e: n[:2] for e, n in numbers(program, names, every, clause, data).items()} == raw
    check_subset(case, program, names, merged, every)
    program.close()
    program.engine.close()


def check_subset(case: Case, program: Program, names: Names, merged: FactorCounts, every: FactorCounts) -> None:
    """Counts of some examples are the rows of these examples."""
    if case.kind == "one":
        return
    ids = np.array([i for i, name in names.examples.items() if name in case.subset], np.int64)
    with program.examples_table(ids) as chosen:
        for whole, most in ((merged, MERGED), (every, 0)):
            part, mine = factor_counts(Extent(program, chosen), merged=most), np.isin(whole.example, ids)
            for name in ("clause", "example", "nodes", "factors", "edges"):
                assert getattr(part, name).tolist() == getattr(whole, name)[mine].tolist()


def sizes(shapes: list) -> tuple[int, int, int]:
    """Nodes, factors and edges of the ground clauses of each shape."""
    nodes = max(len({atom for clause in found for atom, _ in clause}) for found in shapes)
    return nodes, sum(map(len, shapes)), sum(len(clause) for found in shapes for clause in found)


def numbers(program: Program, names: Names, counts, clause: int, data: Data) -> dict[str, tuple[int, int, int]]:
    rows = counts.of(clause)
    examples = [names.examples[e] if data.kind != "one" else "" for e in counts.example[rows].tolist()]
    columns = (counts.nodes[rows], counts.factors[rows], counts.edges[rows])
    return dict(zip(examples, zip(*(c.tolist() for c in columns), strict=True), strict=True))


@pytest.mark.slow
@FEW
@given(mixed(rules, counted, wide, quantifiers=False))
def test_counts_are_those_of_enumerated_ground_clauses(case: Case) -> None:
    with within_depth():
        check(case)


CHAIN = "Less(p, p)\nNext(p, p)\nIs(p, kind)\nkind = {A, B}\np = {P0, P1, P2, P3, P4, P5}\n"
FACTS = {
    "Less": [(f"P{i}", f"P{j}") for i in range(6) for j in range(i + 1, 6)],
    "Next": [(f"P{i}", f"P{i + 1}") for i in range(5)],
}
RULES = [
    # A chain, all pairs, all triples, what is left of a clause with witnesses, and one that evidence satisfies.
    ("Next(x, y) ^ Is(x, A) => !Is(y, B).", (10, 5, 10)),
    ("Less(x, y) ^ Is(x, A) => !Is(y, B).", (10, 15, 30)),
    ("Less(x, y) ^ Less(y, z) ^ Is(x, A) ^ Is(z, A) => Is(y, A).", (6, 20, 60)),
    ("Is(x, A) v Is(y, A).", (6, 21, 36)),
    ("Is(x, A) => (EXIST y (Next(x, y) ^ Is(y, B))).", (11, 6, 11)),
    ("Is(x, A) ^ Is(y, B) => x = y.", (12, 30, 60)),
]


@pytest.mark.parametrize(("rule", "expected"), RULES)
def test_sizes_by_hand(rule: str, expected: tuple[int, int, int]) -> None:
    with bound(parse_mln(CHAIN + rule, query=("Is",)), FACTS) as program:
        found = factor_counts(Extent(program))
        assert (found.nodes.tolist(), found.factors.tolist(), found.edges.tolist()) == tuple([n] for n in expected)


def test_many_ground_clauses_are_counted_without_comparing_them() -> None:
    with bound(parse_mln(CHAIN + "Is(x, A) v Is(y, A).", query=("Is",)), FACTS) as program:
        found = factor_counts(Extent(program), merged=20)
        assert not found.exact[0]
        assert (found.nodes.tolist(), found.factors.tolist(), found.edges.tolist()) == ([6], [36], [72])
        assert factor_counts(Extent(program), merged=36).factors.tolist() == [21]


def test_a_clause_over_evidence_alone_has_no_factors() -> None:
    with bound(parse_mln(CHAIN + "Next(x, y) => Less(x, y).", query=("Is",)), FACTS) as program:
        found = factor_counts(Extent(program))
        assert len(found.clause) == 0
        assert found.degree.tolist() == [0]


def test_what_defines_a_quantifier_counts_for_the_rule_that_needs_it() -> None:
    rule = "Is(x, A) => (EXIST y (Is(y, A) ^ Is(y, B)))."
    with bound(parse_mln(CHAIN + rule, query=("Is",)), FACTS) as program:
        found = factor_counts(Extent(program))
        (own,) = (c for c, f in enumerate(program.feature_of) if program.features[f].rule is not None)
        defining = [c for c in range(program.clause_count) if c != own]
        assert defining
        alone = sum(int(found.factors[found.of(c)].sum()) for c in defining)
        # Its own ground clauses are one for each x.
        assert found.factors[found.of(own)].sum() == 6 + alone


def test_other_examples_are_not_counted() -> None:
    text = "Word(doc, p)\nNext(p, p)\nIs(doc, p)\nNext(x, y) ^ Is(d, x) => !Is(d, y)."
    facts = {"Word": [("D1", f"P{i}") for i in range(3)] + [("D2", f"P{i}") for i in range(6)], "Next": FACTS["Next"]}
    with bound(parse_mln(text, query=("Is",)), facts, example="doc") as program:
        found = factor_counts(Extent(program))
        assert found.factors.tolist() == [2, 5]
        with program.examples_table(np.array([1])) as chosen:
            assert factor_counts(Extent(program, chosen)).factors.tolist() == [5]


@pytest.mark.filterwarnings("ignore::sqlrl.errors.UnseenConstantWarning")
def test_a_literal_about_an_unknown_constant_is_no_node() -> None:
    """Its atom is outside of the scope, so that the evidence makes it false and the others are the factor."""
    model = parse_mln("Next(p, p)\nIs(p)\nOn(p, p)\nNext(x, y) => Is(x) v On(+z, y)", query=("Is", "On"))
    # What rules name belongs to the domain; what a template lists does not.
    listed = replace(model.rules[0], expansions=Expansions(("z",), (("Zoe",),), (1.0,)))
    with bound(replace(model, rules=(listed,), learned=True), {"Next": FACTS["Next"]}) as program:
        assert [use.bound.unknown for use in program.shapes.values()] == [{0}]
        for merged in (0, MERGED):
            found = factor_counts(Extent(program), merged=merged)
            assert found.factors.tolist() == found.nodes.tolist() == [len(FACTS["Next"])]


def test_no_join_holds_the_whole_of_a_clause() -> None:
    """All triples of a chain are counted from pairs: no step joins both Less literals."""
    rule = "Less(x, y) ^ Less(y, z) ^ Is(x, +k) ^ Is(z, +k) => Is(y, +k)."
    with bound(parse_mln(CHAIN + rule, query=("Is",)), FACTS) as program:
        (use,) = program.shapes.values()
        query = count_factors(use.bound)
        less = program.layout.predicates["Less"].facts.name
        for select in query.find_all(type(query)):
            joined = [join.this for join in select.args.get("joins") or []]
            tables = [select.args["from_"].this if "from_" in select.args else None, *joined]
            assert sum(getattr(t, "name", "") == less for t in tables) < 2
        assert query.sql("duckdb").count(less) >= 8
