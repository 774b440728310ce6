"""Ground networks of small programs: exact probabilities, blocks, templates of a learned model, impossible evidence, sizes."""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pyarrow as pa
import pytest

from sqlrl.catalog.catalog import Catalog
from sqlrl.engine.connecting import connect
from sqlrl.errors import CountOverflowError, GroundingLimitError, InfeasibleError, ModelError
from sqlrl.ground import counts as sql
from sqlrl.ground.assemble import check_sizes, ground_network, per_clause
from sqlrl.ground.atoms import read_labels
from sqlrl.ground.binding import bind_program
from sqlrl.ground.expanding import Unseen, unseen
from sqlrl.ground.network import Network
from sqlrl.ground.program import Program
from sqlrl.ground.rows import Rows
from sqlrl.ground.windows import Windows
from sqlrl.logic.mln import parse_mln
from sqlrl.logic.model import Expansions, Model, Rule
from sqlrl.solve.counts import counts, violated_rows
from tests.ground.brute import Data, Formulas, Ground
from tests.ground.cases import Names, completed

Facts = dict[str, list[tuple[str, ...]]]


@contextmanager
def bound(
    model: Model, facts: Facts | None = None, given: Facts | None = None, example: str | None = None
) -> Iterator[Program]:
    """Bind a model to facts; `given` has rows with their truth ("true", "false") at the end."""
    catalog = Catalog(connect(":memory:", threads=1))
    catalog.declare(model)
    for name, rows in (facts or {}).items():
        used = example if model.predicates[name].types.count(str(example)) == 1 else None
        catalog.load(name, rows, example=used, target=name in model.query)
    for name, rows in (given or {}).items():
        shown = [(*row[:-1], row[-1] == "true") for row in rows]
        catalog.load(name, shown, example=example, given=True, truth=len(shown[0]) - 1)
    program = bind_program(catalog.engine, catalog.bind(model, training=False), model)
    program.expand()
    yield program
    program.close()
    catalog.engine.close()


def worlds(program: Program, network: Network) -> Iterator[np.ndarray]:
    """The worlds that the hard clauses and blocks allow."""
    places = np.flatnonzero(~network.helper)
    for values in itertools.product((False, True), repeat=len(places)):
        world = np.zeros(len(network.atoms), dtype=bool)
        world[places] = values
        world = completed(program, network, world)
        broken = violated_rows(network, world) & network.hard[network.row_clause]
        units = all(world[abs(x) - 1] == (x > 0) for _, x in network.hard_units)
        sizes = np.bincount(network.block[world & (network.block >= 0)], minlength=len(network.block_exact))
        if not broken.any() and units and (sizes <= 1).all() and (sizes[network.block_exact] == 1).all():
            yield world


def probabilities(program: Program, network: Network) -> dict[frozenset[Ground], float]:
    """P of every world, by enumeration of the network's."""
    atoms, weights = Names(program.engine, program.layout).atoms(), program.weights()  # type: ignore[arg-type]
    found = {}
    for world in worlds(program, network):
        true = frozenset(atoms[i] for i in network.atoms[world & ~network.helper])
        score = sum(w * float(n) for w, n in zip(weights, counts(network, world), strict=True))
        found[true] = math.exp(score + network.prior[world].sum())
    z = sum(found.values())
    return {world: p / z for world, p in found.items()}


BATTERY = [
    ("H(x) ^ S(x).", 1.0, 1.0),
    ("H(x) v S(x).", 2 / 3, 2 / 3),
    ("1 H(x)", 1 / (1 + math.exp(-1)), 0.5),
    ("H(x) => S(x).", 1 / 3, 2 / 3),
    ("2 H(x) ^ S(x)", (math.exp(2) + 1) / (math.exp(2) + 3), (math.exp(2) + 1) / (math.exp(2) + 3)),
    ("-2 H(x) v S(x)", 2 / (math.exp(2) + 3), 2 / (math.exp(2) + 3)),
]


@pytest.mark.parametrize(("formula", "h", "s"), BATTERY)
def test_marginals_of_the_battery(formula: str, h: float, s: float) -> None:
    model = parse_mln(f"t = {{A}}\nH(t)\nS(t)\n{formula}", query=("H", "S"))
    with bound(model) as program:
        found = probabilities(program, ground_network(program))
    assert sum(p for w, p in found.items() if ("H", "", ("A",)) in w) == pytest.approx(h, abs=1e-12)
    assert sum(p for w, p in found.items() if ("S", "", ("A",)) in w) == pytest.approx(s, abs=1e-12)


FORMULAS = [
    "H(x) <=> S(x)",
    "H(x) ^ (S(x) v T(x))",
    "!(H(x) => S(x))",
    "EXIST y (H(y) ^ S(y))",
    "T(x) ^ (EXIST y (H(y) ^ S(y)))",
    "!(EXIST y (H(y) ^ !S(y))) v T(x)",
    "FORALL x (H(x) v (EXIST y (S(y))))",
]


@pytest.mark.parametrize("weight", ["1.5", "-1.5", "hard"])
@pytest.mark.parametrize("formula", FORMULAS)
def test_a_formula_is_one_exact_feature(formula: str, weight: str) -> None:
    line = f"{formula}." if weight == "hard" else f"{weight} {formula}"
    model = parse_mln(f"t = {{A, B}}\nH(t)\nS(t)\nT(t)\n{line}", query=("H", "S", "T"))
    with bound(model) as program:
        found = probabilities(program, ground_network(program))
    atoms = [(p, "", (c,)) for p in ("H", "S", "T") for c in ("A", "B")]
    predicates = dict.fromkeys(("H", "S", "T"), (("t",), False))
    data = Data("one", {"t": ("A", "B")}, predicates, ("",), {}, frozenset(), frozenset(), dict.fromkeys(atoms))
    read = Formulas(model.rules[0].formula, data)
    expected = {}
    for bits in range(2 ** len(atoms)):
        world = frozenset(a for i, a in enumerate(atoms) if bits >> i & 1)
        n = read.n(world)
        if weight != "hard" or n == read.total():
            expected[world] = math.exp(0.0 if weight == "hard" else float(weight) * n)
    z = sum(expected.values())
    assert found.keys() == expected.keys()
    assert all(p == pytest.approx(expected[w] / z, abs=1e-12) for w, p in found.items())


# ---- blocks --------------------------------------------------------------------------------------------------

DECLARED = "InField(bib, {0}, position)\nToken(position, bib)\nfield = {{F, G, H}}\n"
BLOCKS = {
    "declared": DECLARED.format("field!"),
    "inequality": DECLARED.format("field") + "!InField(b, f, p) v !InField(b, g, p) v f = g.\n",
    "implied": DECLARED.format("field") + "InField(b, f, p) ^ f != g => !InField(b, g, p).\n",
    "written": DECLARED.format("field")
    + "".join(f"!InField(b, {x}, p) v !InField(b, {y}, p).\n" for x, y in (("F", "G"), ("H", "F"), ("G", "H"))),
}
TOKENS: Facts = {"Token": [("P1", "B1"), ("P2", "B1"), ("P1", "B2")]}


@pytest.mark.parametrize("kind", sorted(BLOCKS))
@pytest.mark.parametrize("given", [False, True])
def test_blocks_are_recognised(kind: str, given: bool) -> None:
    model = parse_mln(BLOCKS[kind] + "1 InField(b, F, p)\n", query=("InField",))
    known: Facts = {"InField": [("B1", "F", "P1", "true"), ("B1", "G", "P2", "false")]} if given else {}
    with bound(model, TOKENS, known, "bib") as program:
        network = ground_network(program)
        atoms = Names(program.engine, program.layout).atoms()  # type: ignore[arg-type]
        assert program.clause_count == 1
        assert set(network.block_exact) == {kind == "declared"}
        blocks: dict[int, set[Ground]] = {}
        for k, block in enumerate(network.block):
            blocks.setdefault(int(block), set()).add(atoms[network.atoms[k]])
        decided = blocks.pop(-1, set())
        fields = ("F", "G", "H")
        cells = [("B1", "P1"), ("B1", "P2"), ("B2", "P1")]
        wanted = [{("InField", "", (b, f, p)) for f in fields} for b, p in cells]
        if given:
            assert decided == wanted[0] - {("InField", "", ("B1", "F", "P1"))}
            wanted = [wanted[1] - {("InField", "", ("B1", "G", "P2"))}, wanted[2]]
            forced = {(c, atoms[network.atoms[abs(x) - 1]], x > 0) for c, x in network.hard_units}
            assert forced == {(-1, atom, False) for atom in decided}
        assert sorted(map(sorted, blocks.values())) == sorted(map(sorted, wanted))


@pytest.mark.parametrize(
    "rule", ["!InField(b, f, p) v !InField(b, f, q) v p = q.", "!InField(b, F, p) v !InField(b, G, p)."]
)
def test_what_states_no_block_of_the_field_stays_a_clause(rule: str) -> None:
    model = parse_mln(DECLARED.format("field!") + rule, query=("InField",))
    with bound(model, TOKENS, example="bib") as program:
        assert program.clause_count == 1
        assert ground_network(program).hard.all()


def test_a_block_with_two_given_true_atoms_is_impossible() -> None:
    model = parse_mln(BLOCKS["inequality"] + "1 InField(b, F, p)\n", query=("InField",))
    known: Facts = {"InField": [("B1", "F", "P1", "true"), ("B1", "G", "P1", "true")]}
    with bound(model, TOKENS, known, "bib") as program:
        with pytest.raises(
            InfeasibleError, match=r"two atoms of a block true.*InField\(B1, ., P1\).*InField\(B1, ., P1\)"
        ):
            ground_network(program)
        with program.only(np.array([1])) as other:
            assert len(ground_network(program, other).atoms) == 3


def test_a_block_of_which_nothing_can_be_true_is_impossible() -> None:
    model = parse_mln(BLOCKS["declared"] + "1 InField(b, F, p)\n", query=("InField",))
    known: Facts = {"InField": [("B1", f, "P1", "false") for f in ("F", "G", "H")]}
    with (
        bound(model, TOKENS, known, "bib") as program,
        pytest.raises(InfeasibleError, match=r"every atom of a block false.*InField\(B1, v\d, P1\)"),
    ):
        ground_network(program)


@pytest.mark.parametrize("given", ["true", "false"])
@pytest.mark.parametrize(("declared", "row"), [("Winner(team!)", ("A",)), ("Won(team!, cup!)", ("A", "C"))])
def test_a_block_may_be_a_whole_predicate(declared: str, row: tuple[str, ...], given: str) -> None:
    name = declared.split("(", maxsplit=1)[0]
    variables = ", ".join("xy"[: len(row)])
    model = parse_mln(f"team = {{A, B}}\ncup = {{C, D}}\n{declared}\n1 {name}({variables})", query=(name,))
    with bound(model, given={name: [(*row, given)]}) as program:
        network = ground_network(program)
        size = 2 ** len(row) - 1
        assert network.block.tolist() == [-1 if given == "true" else 0] * size
        assert network.block_exact.tolist() == ([] if given == "true" else [True])


def test_every_atom_of_the_only_block_given_false_is_impossible() -> None:
    model = parse_mln("team = {A, B}\nWinner(team!)\n1 Winner(x)", query=("Winner",))
    with (
        bound(model, given={"Winner": [("A", "false"), ("B", "false")]}) as program,
        pytest.raises(InfeasibleError, match="every atom of a block false"),
    ):
        ground_network(program)


# ---- impossible evidence ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        ("Friends(x, y) => Friends(y, x).", r"1 groundings.*Friends\(Bob, Anna\)"),
        ("Friends(x, Bob) => Smokes(x).", r"!Friends\(Anna, Bob\) v Smokes\(Anna\)"),
        ("Friends(+x, y) => Smokes(+x).", r"Smokes\(Anna\)"),
        ("Friends(x, y) => (EXIST z (Friends(y, z))).", r"EXIST v. \(Friends\(Bob, v.\)\)"),
    ],
)
def test_evidence_that_violates_a_hard_clause_is_impossible(rule: str, text: str) -> None:
    model = parse_mln(f"Friends(person, person)\nSmokes(person)\n1 Smokes(x)\n{rule}", query=("Smokes",))
    facts: Facts = {"Friends": [("Anna", "Bob")]}
    model = model if "+" not in rule else model.with_rules((model.rules[0], listed(model.rules[1], ["Anna", "Bob"])))
    with bound(model, facts, {"Smokes": [("Anna", "false")]}) as program:
        with pytest.raises(InfeasibleError, match=text):
            ground_network(program)
        assert ground_network(program, check=False).evidence_violated.max() == 1


def listed(rule: Rule, constants: list[str]) -> Rule:
    (variable,) = {"x"}
    rows = tuple((c,) for c in constants)
    return Rule(rule.formula, hard=rule.hard, expansions=Expansions((variable,), rows, (0.0,) * len(rows)))


# ---- templates of a learned model --------------------------------------------------------------------------------


def test_constants_that_new_data_lack_join_with_nothing() -> None:
    model = parse_mln(
        "Token(word, bib)\nTopic(bib, topic)\ntopic = {Db, Ml}\nToken(+w, b) => Topic(b, +t)", query=("Topic",)
    )
    rows = (("sql", "Db"), ("lost", "Db"), ("sql", "Gone"), ("lost", "Gone"))
    rule = Rule(model.rules[0].formula, expansions=Expansions(("w", "t"), rows, (1.0, 2.0, 3.0, 4.0)))
    plain = parse_mln('Token(word, bib)\nTopic(bib, topic)\nToken("lost", b) v Topic(b, Gone)\nTopic(b, Gone)').rules
    model = model.with_rules((rule, *plain))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with bound(model, {"Token": [("sql", "B1"), ("net", "B1"), ("sql", "B2")]}, example="bib") as program:
            network = ground_network(program)
            # Clauses of rules without + come first.
            assert network.total.tolist() == [2] * 6
            assert sql.groundings(program).tolist() == [2] * 6
            none = np.zeros(len(network.atoms), dtype=bool)
            assert counts(network, none).tolist() == [0, 0, 0, 2, 0, 2]
            assert counts(network, ~none).tolist() == [0, 0, 2, 2, 0, 2]
            assert program.weights().tolist() == [0, 0, 1, 2, 3, 4]
            with program.shown(pa.table({"atom": network.atoms})) as everything:
                assert sql.true_counts(program, sql.World(everything)).tolist() == [0, 0, 2, 2, 0, 2]


def test_templates_grow_window_by_window() -> None:
    model = parse_mln("Token(word, bib)\nTopic(bib)\nToken(+w, b) => Topic(b)", query=("Topic",))
    facts: Facts = {"Token": [("a", "B1"), ("b", "B1"), ("b", "B2"), ("c", "B3")], "Topic": [("B1",)]}
    catalog = Catalog(connect(":memory:", threads=1))
    catalog.declare(model)
    catalog.load("Token", facts["Token"], example="bib")
    catalog.load("Topic", facts["Topic"], example="bib", target=True)
    program = bind_program(catalog.engine, catalog.bind(model, training=True), model)
    found = [(len(w.network.clauses), w.truth.tolist()) for w in Windows(program, np.arange(3), 1)]
    assert found == [(2, [True]), (2, [False]), (3, [False])]
    assert program.expand() == 0
    catalog.engine.close()


# ---- sizes -----------------------------------------------------------------------------------------------------


def test_a_count_past_128_bits_names_the_clause() -> None:
    variables = [f"x{i}" for i in range(8)]
    text = " v ".join(f"Smokes({v})" for v in variables)
    model = parse_mln(f"Smokes(person)\nKnown(person)\n1 {text}\n1 Known(x) => Smokes(x)", query=("Smokes",))
    with bound(model, {"Known": [(str(i),) for i in range(100_000)]}) as program:
        with pytest.raises(CountOverflowError, match=r"Smokes\(x0\) v Smokes\(x1\).*128 bits"):
            sql.groundings(program)
        with pytest.raises(CountOverflowError, match=r"Smokes\(x0\) v Smokes\(x1\).*128 bits"):
            sql.violated(program)


@pytest.mark.parametrize("count", [6, 9, 12])
def test_literals_without_common_variables_multiply(count: int) -> None:
    model = parse_mln("Known(p)\nS(p)\n1 " + " v ".join(f"S(x{i})" for i in range(count)), query=("S",))
    with bound(model, {"Known": [(str(i),) for i in range(301)]}) as program:
        with program.shown(pa.table({"atom": np.array([1])})) as one, program.shown(pa.table({"atom": [1, 2]})) as two:
            assert sql.violated(program, sql.World(one), limit=0).tolist() == [300**count]
            change = sql.count_differences(program, sql.World(two), sql.World(one), limit=0)
            assert change.tolist() == [300**count - 299**count]


def test_enumeration_past_the_limit_names_the_clause() -> None:
    text = " v ".join(f"S(x, y{i})" for i in range(9))
    model = parse_mln(f"Known(p)\nS(p, p)\n1 S(x, x)\n1 {text}", query=("S",), path="rules.mln")
    closed = parse_mln(f"Known(p, p)\nS(p)\n1 S(x)\n1 {text.replace('S', 'Known')}", query=("S",), path="rules.mln")
    with bound(model, {"Known": [(str(i),) for i in range(40)]}) as program:
        message = r"^rules\.mln:4: S\(x, y0\) v .* is counted by enumerating 10,485,760,000,000,000 groundings, .* limit of 1,000 "
        with pytest.raises(GroundingLimitError, match=message):
            sql.true_counts(program, limit=1000)
        with pytest.raises(GroundingLimitError, match=message), program.shown(pa.table({"atom": [1]})) as one:
            sql.count_differences(program, sql.World(one), limit=1000)
    with bound(closed, {"Known": [(str(i), str(i)) for i in range(40)]}) as program:
        with pytest.raises(GroundingLimitError, match=r"^rules\.mln:4: Known\(x, y0\) v .* is counted by enumerating"):
            ground_network(program, limit=1000)


@pytest.mark.parametrize("count", [5, 8, 10])
def test_differences_of_many_positive_literals(count: int) -> None:
    names = [f"C{i}" for i in range(count)]
    text = " v ".join(f"Likes(x, {c})" for c in names)
    model = parse_mln(f"thing = {{{', '.join(names)}}}\nLikes(p, thing)\nKnown(p)\n1 {text}", query=("Likes",))
    with bound(model, {"Known": [("Anna",), ("Bob",)], "Likes": [("Anna", "C1")]}) as program:
        assert sql.true_counts(program).tolist() == [1]
        with program.shown(pa.table({"atom": np.zeros(0, np.int64)})) as nothing:
            assert sql.count_differences(program, sql.World(nothing)).tolist() == [-1]


def test_many_positive_literals_are_enumerated() -> None:
    text = " v ".join(f"Likes(x, {c})" for c in "ABCDEFGHIJ")
    model = parse_mln(
        f"thing = {{{', '.join('ABCDEFGHIJ')}}}\nLikes(p, thing)\nKnown(p)\n1 Known(x) => {text}", query=("Likes",)
    )
    with bound(model, {"Known": [("Anna",), ("Bob",)], "Likes": [("Anna", "J")]}) as program:
        assert sql.true_counts(program).tolist() == [1]
        with program.shown(pa.table({"atom": np.zeros(0, np.int64)})) as nothing:
            assert sql.count_differences(program, sql.World(nothing)).tolist() == [-1]


def test_counts_past_64_bits_are_exact() -> None:
    model = parse_mln(
        "Smokes(p)\nKnown(p)\n1 Known(a) ^ Known(b) ^ Known(c) ^ Known(d) ^ Known(e) ^ Known(f) => Smokes(a)",
        query=("Smokes",),
    )
    with bound(model, {"Known": [(str(i),) for i in range(3000)]}) as program:
        assert sql.groundings(program).tolist() == [3000**6]
        assert sql.violated(program).tolist() == [3000**6]
        assert sql.true_counts(program).tolist() == [0]


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
            ground_network(program, limit=500)
            return
        with pytest.raises(GroundingLimitError, match=message):
            ground_network(program, limit=500)


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
        ("Smokes(w) v (EXIST z Rich(z))", r"no closed literal joins w and z, which range over their whole domains"),
    ],
)
def test_the_limit_says_which_variables_nothing_joins(rule: str, reason: str) -> None:
    model = parse_mln(f"Smokes(p)\nRich(p)\nKnown(p, p)\n1 {rule}", query=("Smokes", "Rich"))
    with bound(model, {"Known": [(str(i), str(i + 1)) for i in range(200)]}) as program:
        with pytest.raises(GroundingLimitError, match=reason):
            ground_network(program, limit=150)


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
    with bound(model, {"Known": [("A",), ("B",)]}) as program, program.only(np.array(ids, np.int64)) as none:
        network = ground_network(program, none)
        assert [len(network.atoms), len(network.literals), network.units.nnz] == [0, 0, 0]
        assert set(network.total) == set(network.base) == {0}
        with program.shown(pa.table({"atom": [1]})) as one:
            assert set(sql.true_counts(program, sql.World(one), none)) == {0}
            assert set(sql.count_differences(program, sql.World(one), examples=none)) == {0}


def test_no_example_expands_no_template_where_all_data_are_one() -> None:
    model = parse_mln("Known(p)\nS(p)\nKnown(+x) => S(x)", query=("S",))
    catalog = Catalog(connect(":memory:", threads=1))
    catalog.declare(model)
    catalog.load("Known", [("A",), ("B",)])
    program = bind_program(catalog.engine, catalog.bind(model, training=True), model)
    with program.only(np.zeros(0, np.int64)) as none, program.only(np.array([0])) as one:
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
    assert ground_network(program, limit=10).open.tolist() == [1]
    with pytest.raises(GroundingLimitError, match="leaves 1 groundings to enumerate"):
        ground_network(program, limit=0)
    catalog.engine.close()


def test_combinations_never_seen_in_training_are_counted() -> None:
    model = parse_mln("Token(word, bib)\nTopic(bib)\nToken(+w, b) => Topic(b)", query=("Topic",))
    model = model.with_rules((Rule(model.rules[0].formula, expansions=Expansions(("w",), (("a",),), (1.0,))),))
    with bound(model, {"Token": [("a", "B1"), ("b", "B1"), ("c", "B2")]}, example="bib") as program:
        assert unseen(program) == Unseen(combinations=2, atoms=2)


def test_sums_of_multiplicities_do_not_wrap() -> None:
    rows = Rows(np.array([0, 0, 1]), np.zeros(0, np.int64), np.zeros(3, np.int64), np.array([2**62, 2**62, 3]))
    opened = per_clause(rows, 2)
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
        network = ground_network(program)
        truth, _ = read_labels(program.engine, program.layout, network.atoms, None)
        assert network.helper.sum() == 3
        assert (completed(program, network, truth & ~network.helper) == truth).all()
        assert truth[network.helper].sum() == 2
