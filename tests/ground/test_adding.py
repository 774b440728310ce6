"""Rules added to a program, against the program of a model that has all of them from the start."""

from __future__ import annotations

from collections.abc import Hashable
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from sqlrl.catalog.catalog import Catalog
from sqlrl.engine.connection import connect
from sqlrl.errors import GroundingLimitError, ModelError, UnsupportedError
from sqlrl.ground import counts as sql
from sqlrl.ground.binding import bind_program
from sqlrl.ground.blocks import BlockRule
from sqlrl.ground.clauses import clause_table, expansion_names, learned_model
from sqlrl.ground.grounding import ground_network
from sqlrl.ground.network import Network
from sqlrl.ground.program import Extent, Program
from sqlrl.logic.compile import clause_text
from sqlrl.logic.expansions import canonical_variables, fill
from sqlrl.logic.mln import parse_mln
from sqlrl.logic.model import Model, Rule
from sqlrl.logic.printer import format_formula
from sqlrl.plan.sources import OBSERVED, World
from tests.effort import draws
from tests.ground.binding import bound
from tests.ground.cases import Case, completed, counted, load, mixed, rules, sentences, world_table

# A case is a database with its rules and costs about a second; HYPOTHESIS_PROFILE=search looks at as many as it says.
FEW = settings(max_examples=draws(8))


def names_of(program: Program) -> dict[int, Hashable]:
    """What a clause is called in every program: the place of its rule with its text, or the definition that it is."""
    listed = clause_table(program)
    found: dict[int, Hashable] = {
        clause: (rule, text)
        for clause, rule, text in zip(*(listed.column(c).to_pylist() for c in ("clause", "rule", "text")), strict=True)
    }
    for clause, feature in enumerate(program.feature_of):
        if program.features[feature].rule is None:
            assert clause not in found
            found[clause] = clause_text(program.features[feature].feature.clauses, negated=False)
    assert len(set(found.values())) == len(found) == program.clause_count
    return found


def content(network: Network, names: dict[int, Hashable]) -> dict[str, object]:
    """All that a network says, with the names of clauses in place of their ids and of their order."""
    called = [repr(names[i]) for i in network.clauses.tolist()]
    ends = zip(network.indptr[:-1].tolist(), network.indptr[1:].tolist(), strict=True)
    rows = [tuple(network.literals[a:b].tolist()) for a, b in ends]
    units = network.units.tocoo()
    of_clause = (network.sign, network.hard, network.base, network.total, network.evidence_violated, network.open)
    of_atom = (network.atoms, network.example, network.prior, network.block, network.helper, network.block_exact)
    return {
        "clauses": dict(zip(called, zip(*(x.tolist() for x in of_clause), strict=True), strict=True)),
        "rows": sorted(
            (called[c], row, n)
            for c, row, n in zip(network.row_clause, rows, network.multiplicity.tolist(), strict=True)
        ),
        "units": {(int(k), called[i]): int(n) for k, i, n in zip(units.row, units.col, units.data, strict=True) if n},
        "hard units": sorted(("" if c < 0 else called[c], int(x)) for c, x in network.hard_units),
        "atoms": [x.tolist() for x in of_atom],
    }


def counted_in(program: Program, names: dict[int, Hashable], world: World) -> dict[Hashable, object]:
    """What SQL counts of each clause."""
    n, total = sql.true_counts(Extent(program), world), sql.groundings(Extent(program))
    return {names[i]: (n[i], total[i]) for i in range(program.clause_count)}


def check(case: Case, cuts: list[int], expand: bool, seed: int) -> None:
    engine, layout = load(case)
    try:
        whole = bind_program(engine, layout, case.model)
    except (ModelError, UnsupportedError):
        reject()
    whole.expand()
    rules, edges = case.model.rules, [*sorted(cuts), len(case.rules)]
    grown = bind_program(engine, layout, case.model.with_rules(rules[: edges[0]]))
    ids: dict[int, Hashable] = {}
    for begin, end in pairwise(edges):
        if expand:
            grown.expand()
        known = names_of(grown)
        assert ids.items() <= known.items(), "ids stay"
        ids, before = known, grown.clause_count
        assert grown.add(rules[begin:end]) == grown.clause_count - before
    grown.expand()
    assert grown.model == whole.model
    assert grown.owners == whole.owners
    assert grown.blocks == whole.blocks
    named, wanted = names_of(grown), names_of(whole)
    assert ids.items() <= named.items()
    assert sorted(map(repr, named.values())) == sorted(map(repr, wanted.values()))
    assert grown.shapes.keys() == whole.shapes.keys()
    assert {s: grown.clauses_of(u) for s, u in grown.shapes.items()} == {
        s: whole.clauses_of(u) for s, u in whole.shapes.items()
    }
    of_clause = [
        dict(zip(names.values(), p.weights()[list(names)], strict=True))
        for p, names in ((grown, named), (whole, wanted))
    ]
    assert of_clause[0] == of_clause[1]
    networks = [ground_network(Extent(program), check=False) for program in (grown, whole)]
    assert content(networks[0], named) == content(networks[1], wanted)
    network = networks[1]
    world = completed(whole, network, np.random.default_rng(seed).random(len(network.atoms)) < 0.5)
    with world_table(whole, network.atoms[world]) as name:
        for shown in (OBSERVED, World(name)):
            assert counted_in(grown, named, shown) == counted_in(whole, wanted, shown)
    grown.close()
    whole.close()
    engine.close()


CUTS = st.lists(st.integers(0, 5), min_size=1, max_size=2)


@pytest.mark.slow
@FEW
@given(mixed(rules, counted, sentences, rules, counted), CUTS, st.booleans(), st.integers(0, 1000))
def test_a_program_that_grew_is_that_of_all_rules(case: Case, cuts: list[int], expand: bool, seed: int) -> None:
    check(case, cuts, expand, seed)


DECLARED = "Knows(p, p)\nS(p)\nIs(p, c)\n"
FACTS = {"Knows": [("A", "B"), ("B", "C"), ("C", "A")], "S": [("A",)], "Is": [("A", "x"), ("B", "y"), ("C", "x")]}


def parsed(*rules: str) -> Model:
    return parse_mln(DECLARED + "\n".join(rules), query=("S", "Is"))


def rules_of(*rules: str) -> tuple[Rule, ...]:
    return parsed(*rules).rules


def test_shapes_that_there_are_get_rows() -> None:
    with bound(parsed("1 S(A) v Knows(A, x)", "1 S(x)"), FACTS) as program:
        (before,) = [use for use in program.shapes.values() if use.parameters is not None]
        assert program.add(rules_of("2 S(B) v Knows(B, x)", "3 S(x)", "4 S(C) v Knows(C, x)")) == 3
        assert list(program.shapes.values()).count(before) == 1
        assert (len(program.shapes), before.rows) == (2, 3)
        assert program.weights().tolist() == [1, 1, 2, 3, 4]
        assert sql.true_counts(Extent(program)).tolist() == [3, 1, 1, 1, 1]


def test_a_template_goes_on_after_rules_that_were_added() -> None:
    with bound(parsed("Is(x, +c) => S(x)"), FACTS) as program:
        assert program.add(rules_of("1 S(x)", "Knows(+x, y) => S(y)")) == 1
        assert program.expand() == 3
        assert program.feature_of == [0, 0, 1, 2, 2, 2]
        texts = clause_table(program).column("text").to_pylist()
        assert texts[:4] == ['Is(x, "x") => S(x)', 'Is(x, "y") => S(x)', "S(x)", "Knows(A, y) => S(y)"]
        model = learned_model(program, np.arange(6, dtype=np.float64))
        assert model.rules[1].weight == 2.0
        assert [rule.expansions and rule.expansions.weights for rule in model.rules] == [(0, 1), None, (3, 4, 5)]


@pytest.mark.parametrize(
    "rule", ["Is(x, +c) ^ Knows(+y, x) => S(+y)", "Knows(+x, +y) v Is(+y, +c) v !Knows(+y, +x)", "S(x) v S(+y)."]
)
def test_clauses_of_templates_are_printed_as_their_formulas_are(rule: str) -> None:
    facts = {**FACTS, "Is": [*FACTS["Is"], ("A", 'a "b" \\ c'), ("B", "1 0")]}
    with bound(parsed(rule), facts) as program:
        program.expand()
        listed = clause_table(program, keys=True)
        clauses, rows = expansion_names(program, 0)
        formula = program.model.rules[0].formula
        plus = program.features[0].feature.plus
        end = "." if rule.endswith(".") else ""
        assert listed.column("clause").to_pylist() == clauses
        for column, template in (("text", formula), ("key", canonical_variables(formula, plus))):
            expected = [format_formula(fill(template, dict(zip(plus, row, strict=True)))) + end for row in rows]
            assert listed.column(column).to_pylist() == expected
        assert len(rows) >= 3


def test_clauses_that_a_learned_template_lists() -> None:
    with bound(parsed("Is(x, +c) => S(x)"), FACTS) as program:
        learned = learned_model(program, np.array([0.5, -1.0]))
    with bound(parsed("1 S(x)"), FACTS) as program:
        assert program.add(learned.rules) == 2
        assert program.expand() == 0
        assert program.weights().tolist() == [1.0, 0.5, -1.0]


def test_rules_with_signs_and_their_owners() -> None:
    with bound(parsed("*S(x)", "1 Is(x, c)"), FACTS) as program:
        assert program.add(rules_of("1 Knows(x, y) => S(y)", "*S(x) v *Knows(x, x)")) == 5
        assert program.owners == (0, 0, 1, 2, 3, 3, 3, 3)


def test_constants_that_the_data_lack_join_with_nothing() -> None:
    with bound(parsed("1 S(A)"), FACTS) as program:
        program.add(rules_of("1 S(Nobody)", "1 S(B) v S(Nobody)"))
        network = ground_network(Extent(program))
        assert np.diff(network.units.tocsc().indptr).tolist() == [1, 0, 1]


def test_a_quantifier_that_is_known_has_no_second_helper() -> None:
    rule = "S(x) <=> (EXIST y (Knows(x, y) ^ S(y)))"
    with bound(parsed(f"1 {rule}"), FACTS) as program:
        helpers, clauses = program.helper_names, program.clause_count
        assert program.add(rules_of(f"2 {rule}")) == 1
        assert (program.helper_names, program.clause_count) == (helpers, clauses + 1)
        assert program.add(rules_of("2 S(x) <=> (EXIST y (Knows(y, x) ^ S(y)))")) == 3
        assert len(program.helper_names) == 2


def scratch_tables(program: Program) -> set[str]:
    catalog, schema = program.layout.scratch
    query = "SELECT table_name FROM information_schema.tables WHERE table_catalog = '{}' AND table_schema = '{}'"
    _, rows = program.engine.fetch_rows(query.format(catalog, schema), step="list tables")
    return {str(name) for (name,) in rows}


def test_what_is_refused_leaves_no_trace() -> None:
    catalog = Catalog(connect(":memory:", threads=1))
    model = parse_mln(DECLARED + "1 S(x)", query=("S",))
    catalog.declare(model)
    for name, rows in FACTS.items():
        catalog.load(name, rows, target=name in ("S", "Is"))
    program = bind_program(catalog.engine, catalog.bind(model, training=False), model, limit=4)
    tables, before = scratch_tables(program), (program.layout, program.model, program.features, program.blocks)
    fitting, large = "1 S(x) <=> (EXIST y (Knows(x, y) ^ S(y)))", "1 S(x) <=> (EXIST y, z (S(y) ^ S(z) ^ !Knows(y, z)))"
    with pytest.raises(GroundingLimitError, match=r"5: S\(x\) <=> .* needs up to \d+ helper atoms"):
        program.add(rules_of(fitting, large))
    with pytest.raises(ModelError, match=r"5: Is\(x, y\) => S\(x\): Is has no table here"):
        program.add(rules_of("!S(x) v !S(y) v x = y.", "1 Is(x, y) => S(x)"))
    assert (program.layout, program.model, program.features, program.blocks) == before
    assert scratch_tables(program) == tables
    assert program.add(rules_of(fitting)) == 3
    program.close()
    assert not any(name.startswith("scratch_") for name in scratch_tables(program))
    catalog.engine.close()


BLOCK = "!Is(x, c) v !Is(x, d) v c = d."


def test_a_hard_rule_that_states_a_block_is_no_clause() -> None:
    with bound(parsed("1 Is(x, c)"), FACTS) as program:
        assert program.add(rules_of(BLOCK, "2 S(x)")) == 1
        assert program.blocks == (BlockRule("Is", (1,), exact=False),)
        assert program.owners == (0, 1, 2)
        network = ground_network(Extent(program))
        assert np.bincount(network.block[network.block >= 0]).tolist() == [2, 2, 2]
        # A block stays: what would state another one of its predicate is a clause.
        assert program.add(rules_of(BLOCK, "!Is(x, c) v !Is(y, c) v x = y.")) == 1
        assert program.blocks == (BlockRule("Is", (1,), exact=False),)
        assert len(ground_network(Extent(program)).row_clause) == 6


def test_a_block_written_out_by_rules_of_several_times() -> None:
    """The clauses that were there before stay, and say what the block says."""
    facts = {**FACTS, "Is": [*FACTS["Is"], ("C", "z")]}
    pairs = [f"!Is(x, {a}) v !Is(x, {b})." for a, b in (('"x"', '"y"'), ('"x"', '"z"'), ('"y"', '"z"'))]
    with bound(parsed(pairs[0]), facts) as program:
        assert program.add(rules_of(pairs[1])) == 1
        assert not program.blocks
        assert program.add(rules_of(pairs[2])) == 0
        assert program.blocks == (BlockRule("Is", (1,), exact=False),)
        assert program.clause_count == 2
