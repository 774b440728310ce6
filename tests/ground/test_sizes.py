"""Sizes of ground networks: limits, counts past 64 and 128 bits, many literals, no examples."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from sqlrl.catalog.catalog import Catalog
from sqlrl.engine.connection import connect
from sqlrl.errors import CountOverflowError, GroundingLimitError, ModelError
from sqlrl.ground import counts as sql
from sqlrl.ground.atoms import read_labels
from sqlrl.ground.binding import bind_program
from sqlrl.ground.grounding import add_per_clause, check_sizes, ground_network
from sqlrl.ground.program import Extent
from sqlrl.ground.rows import GroundRows
from sqlrl.ground.unseen import Unseen, unseen
from sqlrl.logic.mln import parse_mln
from sqlrl.logic.model import Expansions, Rule
from tests.ground.binding import bound
from tests.ground.cases import completed


@pytest.mark.slow
def test_a_count_past_128_bits_names_the_clause() -> None:
    variables = [f"x{i}" for i in range(8)]
    text = " v ".join(f"Smokes({v})" for v in variables)
    model = parse_mln(f"Smokes(person)\nKnown(person)\n1 {text}\n1 Known(x) => Smokes(x)", query=("Smokes",))
    with bound(model, {"Known": [(str(i),) for i in range(100_000)]}) as program:
        with pytest.raises(CountOverflowError, match=r"Smokes\(x0\) v Smokes\(x1\).*128 bits"):
            sql.groundings(Extent(program))
        with pytest.raises(CountOverflowError, match=r"Smokes\(x0\) v Smokes\(x1\).*128 bits"):
            sql.violated(Extent(program))


@pytest.mark.parametrize("count", [6, 12])
def test_literals_without_common_variables_multiply(count: int) -> None:
    model = parse_mln("Known(p)\nS(p)\n1 " + " v ".join(f"S(x{i})" for i in range(count)), query=("S",))
    with (
        bound(model, {"Known": [(str(i),) for i in range(301)]}) as program,
        program.rows_table(pa.table({"atom": [1]})) as one,
        program.rows_table(pa.table({"atom": [1, 2]})) as two,
    ):
        assert sql.violated(Extent(program, limit=0), sql.World(one)).tolist() == [300**count]
        change = sql.count_differences(Extent(program, limit=0), sql.World(two), sql.World(one))
        assert change.tolist() == [300**count - 299**count]


def test_enumeration_past_the_limit_names_the_clause() -> None:
    text = " v ".join(f"S(x, y{i})" for i in range(9))
    model = parse_mln(f"Known(p)\nS(p, p)\n1 S(x, x)\n1 {text}", query=("S",), path="rules.mln")
    closed = parse_mln(f"Known(p, p)\nS(p)\n1 S(x)\n1 {text.replace('S', 'Known')}", query=("S",), path="rules.mln")
    with bound(model, {"Known": [(str(i),) for i in range(40)]}) as program:
        message = r"^rules\.mln:4: S\(x, y0\) v .* is counted by enumerating 10,485,760,000,000,000 groundings, .* limit of 1,000 "
        with pytest.raises(GroundingLimitError, match=message):
            sql.true_counts(Extent(program, limit=1000))
        with pytest.raises(GroundingLimitError, match=message), program.rows_table(pa.table({"atom": [1]})) as one:
            sql.count_differences(Extent(program, limit=1000), sql.World(one))
    with (
        bound(closed, {"Known": [(str(i), str(i)) for i in range(40)]}) as program,
        pytest.raises(GroundingLimitError, match=r"^rules\.mln:4: Known\(x, y0\) v .* is counted by enumerating"),
    ):
        ground_network(Extent(program, limit=1000))


@pytest.mark.parametrize("count", [pytest.param(5, marks=pytest.mark.slow), 10])
def test_differences_of_many_positive_literals(count: int) -> None:
    names = [f"C{i}" for i in range(count)]
    text = " v ".join(f"Likes(x, {c})" for c in names)
    model = parse_mln(f"thing = {{{', '.join(names)}}}\nLikes(p, thing)\nKnown(p)\n1 {text}", query=("Likes",))
    with bound(model, {"Known": [("Anna",), ("Bob",)], "Likes": [("Anna", "C1")]}) as program:
        assert sql.true_counts(Extent(program)).tolist() == [1]
        with program.rows_table(pa.table({"atom": np.zeros(0, np.int64)})) as nothing:
            assert sql.count_differences(Extent(program), sql.World(nothing)).tolist() == [-1]


def test_many_positive_literals_are_enumerated() -> None:
    text = " v ".join(f"Likes(x, {c})" for c in "ABCDEFGHIJ")
    model = parse_mln(
        f"thing = {{{', '.join('ABCDEFGHIJ')}}}\nLikes(p, thing)\nKnown(p)\n1 Known(x) => {text}", query=("Likes",)
    )
    with bound(model, {"Known": [("Anna",), ("Bob",)], "Likes": [("Anna", "J")]}) as program:
        assert sql.true_counts(Extent(program)).tolist() == [1]
        with program.rows_table(pa.table({"atom": np.zeros(0, np.int64)})) as nothing:
            assert sql.count_differences(Extent(program), sql.World(nothing)).tolist() == [-1]


def test_counts_past_64_bits_are_exact() -> None:
    model = parse_mln(
        "Smokes(p)\nKnown(p)\n1 Known(a) ^ Known(b) ^ Known(c) ^ Known(d) ^ Known(e) ^ Known(f) => Smokes(a)",
        query=("Smokes",),
    )
    with bound(model, {"Known": [(str(i),) for i in range(3000)]}) as program:
        assert sql.groundings(Extent(program)).tolist() == [3000**6]
        assert sql.violated(Extent(program)).tolist() == [3000**6]
        assert sql.true_counts(Extent(program)).tolist() == [0]


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        (
            "1 Smokes(a)\n1 Smokes(a) v Smokes(b)",
            r"^rules\.mln:4: Smokes\(a\) v Smokes\(b\) leaves 40,000 .* limit of 500 \(its shape is Smokes\(v0\) v Smokes\(v1\)\)",
        ),
        (
            "1 Smokes(1) v Smokes(a)\n1 Smokes(2) v Smokes(a)\n1 Smokes(3) v Smokes(a)",
            r"^rules\.mln:3: Smokes\(1\) v Smokes\(a\) leaves 600 .*limit of 500 \(all together of 3 clauses of the shape Smokes",
        ),
        (
            "1 Smokes(a) v (EXIST b (Smokes(b)))",
            r"^rules\.mln:3: .* leaves 40,000 groundings and witnesses .*limit of 500",
        ),
        ("1 EXIST b (Smokes(b) ^ Known(c))", None),
        ("1 Known(a) ^ Known(b) ^ Known(c) => Smokes(d)", None),
    ],
)
def test_grounding_past_the_limit_names_the_clause(rules: str, message: str | None) -> None:
    model = parse_mln(f"Smokes(p)\nKnown(p)\n{rules}", query=("Smokes",), path="rules.mln")
    with bound(model, {"Known": [(str(i),) for i in range(200)]}) as program:
        if message is None:
            ground_network(Extent(program, limit=500))
            return
        with pytest.raises(GroundingLimitError, match=message):
            ground_network(Extent(program, limit=500))


@pytest.mark.parametrize(("body", "size"), [("Two(a, b) ^ Two(c, d)", 9), ("Two(a, b) ^ Two(b, c)", 3)])
def test_facts_whose_other_variables_are_counted_join(body: str, size: int) -> None:
    model = parse_mln(f"Likes(p, p)\nTwo(p, p)\nKnown(p)\n1 {body} => Likes(a, c)", query=("Likes",))
    two = [("1", "2"), ("2", "3"), ("3", "1")]
    with bound(model, {"Two": two, "Known": [(str(i),) for i in range(200)]}) as program:
        assert ground_network(Extent(program, limit=9)).open.tolist() == [size]


@pytest.mark.parametrize(
    ("rule", "reason"),
    [
        (
            "Known(a, b) => Smokes(a)",
            r"its variables are joined, but that many facts match; narrow a scope, pass fewer",
        ),
        (
            "Known(a, b) => Smokes(a) v Smokes(z)",
            r"no closed literal joins z, which ranges over its whole domain; join it, ",
        ),
        (
            "Smokes(y) v Smokes(z)",
            r"no closed literal joins y and z, which range over their whole domains; join them, ",
        ),
        ("Smokes(w) v (EXIST z Rich(z))", r"no closed literal joins w, which ranges over its whole domain"),
    ],
)
def test_the_limit_says_which_variables_nothing_joins(rule: str, reason: str) -> None:
    model = parse_mln(f"Smokes(p)\nRich(p)\nKnown(p, p)\n1 {rule}", query=("Smokes", "Rich"))
    with (
        bound(model, {"Known": [(str(i), str(i + 1)) for i in range(200)]}) as program,
        pytest.raises(GroundingLimitError, match=reason),
    ):
        ground_network(Extent(program, limit=150))


@pytest.mark.parametrize(
    ("kinds", "reason"),
    [
        (2, r"leaves 7,200 groundings .*: 3,600 matches of facts are the larger factor, the smaller one is what .* joins \(t\); narrow"),
        (4000, r"leaves 14,400,000 groundings .*: no closed literal joins t, which ranges over its whole domain; join it, narrow"),
    ],
)  # fmt: skip
def test_the_limit_blames_the_larger_factor(kinds: int, reason: str) -> None:
    rule = "1 Word(a, w) ^ Word(b, w) ^ Topic(a, t) => Topic(b, t)"
    model = parse_mln(f"Word(p, w)\nKind(t)\nTopic(p, t)\n{rule}", query=("Topic",))
    data = {"Word": [(str(i), "the") for i in range(60)], "Kind": [(f"K{i}",) for i in range(kinds)]}
    with bound(model, data) as program, pytest.raises(GroundingLimitError, match=reason):
        ground_network(Extent(program, limit=150))


@pytest.mark.parametrize("ids", [[], [5]])
def test_no_example_has_nothing_where_all_data_are_one(ids: list[int]) -> None:
    rules = [
        "1 Known(x) => S(x)",
        "1 S(x) v S(y)",
        "1 EXIST x S(x)",
        "1 S(A)",
        "1 Known(z) ^ S(x)",
        "Known(+x) => S(x)",
    ]
    model = parse_mln("\n".join(["Known(p)\nS(p)", *rules]), query=("S",))
    with bound(model, {"Known": [("A",), ("B",)]}) as program, program.examples_table(np.array(ids, np.int64)) as none:
        network = ground_network(Extent(program, none))
        assert [len(network.atoms), len(network.literals), network.units.nnz] == [0, 0, 0]
        assert set(network.total) == set(network.base) == {0}
        with program.rows_table(pa.table({"atom": [1]})) as one:
            assert set(sql.true_counts(Extent(program, none), sql.World(one))) == {0}
            assert set(sql.count_differences(Extent(program, none), sql.World(one))) == {0}


def test_no_example_expands_no_template_where_all_data_are_one() -> None:
    model = parse_mln("Known(p)\nS(p)\nKnown(+x) => S(x)", query=("S",))
    catalog = Catalog(connect(":memory:", threads=1))
    catalog.declare(model)
    catalog.load("Known", [("A",), ("B",)])
    program = bind_program(catalog.engine, catalog.bind(model, training=True), model)
    with program.examples_table(np.zeros(0, np.int64)) as none, program.examples_table(np.array([0])) as one:
        assert [program.expand(none), program.expand(one)] == [0, 2]
    catalog.engine.close()


def test_the_limit_counts_atoms_of_a_scope_not_the_domain() -> None:
    model = parse_mln("Likes(p, p)\nKnown(p)\n1 Likes(a, b) ^ Likes(b, c) => Likes(a, c)", query=("Likes",))
    catalog = Catalog(connect(":memory:", threads=1))
    catalog.declare(model)
    catalog.load("Known", [(str(i),) for i in range(200)])
    catalog.load("Likes", [("1", "2"), ("2", "3")], target=True)
    catalog.scope("Likes", pa.table({"a": ["1", "2", "1"], "b": ["2", "3", "3"]}))
    program = bind_program(catalog.engine, catalog.bind(model, training=False), model)
    assert ground_network(Extent(program, limit=10)).open.tolist() == [1]
    with pytest.raises(GroundingLimitError, match="leaves 1 grounding to enumerate"):
        ground_network(Extent(program, limit=0))
    catalog.engine.close()


def test_combinations_never_seen_in_training_are_counted() -> None:
    model = parse_mln("Token(word, bib)\nTopic(bib)\nToken(+w, b) => Topic(b)", query=("Topic",))
    model = model.with_rules((Rule(model.rules[0].formula, expansions=Expansions(("w",), (("a",),), (1.0,))),))
    with bound(model, {"Token": [("a", "B1"), ("b", "B1"), ("c", "B2")]}, example="bib") as program:
        assert unseen(Extent(program)) == Unseen(combinations=2, atoms=2)


def test_sums_of_multiplicities_do_not_wrap() -> None:
    rows = GroundRows(np.array([0, 0, 1]), np.zeros(0, np.int64), np.zeros(3, np.int64), np.array([2**62, 2**62, 3]))
    opened = np.full(2, 0, dtype=object)
    add_per_clause(opened, rows)
    assert opened.tolist() == [2**63, 3]
    model = parse_mln("Smokes(p)\nKnown(p)\n1 Smokes(a)\n1 Known(a) => Smokes(a)", query=("Smokes",))
    with (
        bound(model, {"Known": [("A",)]}) as program,
        pytest.raises(CountOverflowError, match=r"Smokes\(a\) has .*64 bits"),
    ):
        check_sizes(program, opened)


# ---- examples ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "rule",
    [
        "Same(b, c) ^ Topic(b, t) => Topic(c, t)",
        "Topic(b, t) => Topic(B1, t)",
        "EXIST b (Topic(b, t))",
        "Word(w, b) => (EXIST c (Topic(c, t)))",
    ],
)
def test_open_literals_of_two_examples_are_refused(rule: str) -> None:
    text = f"Same(bib, bib)\nWord(word, bib)\nTopic(bib, topic)\ntopic = {{Db}}\n1 {rule}"
    with (
        pytest.raises(ModelError, match="belong to several examples"),
        bound(parse_mln(text, query=("Topic",)), {"Same": [("B1", "B2")], "Word": [("a", "B1")]}, example="bib"),
    ):
        pass


def test_labels_of_helper_atoms_follow_from_the_labels() -> None:
    model = parse_mln("t = {A, B}\nH(t)\nS(t)\n1 EXIST y (H(y) ^ S(y))", query=("H", "S"))
    with bound(model, {"H": [("A",)], "S": [("A",), ("B",)]}) as program:
        network = ground_network(Extent(program))
        truth, _ = read_labels(program.engine, program.layout, network.atoms, None)
        assert network.helper.sum() == 3
        assert (completed(program, network, truth & ~network.helper) == truth).all()
        assert truth[network.helper].sum() == 2
