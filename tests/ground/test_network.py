"""Ground networks of small programs: exact probabilities, blocks, templates of a learned model, impossible evidence, sizes."""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Iterator
from dataclasses import fields, replace

import numpy as np
import pyarrow as pa
import pytest

from sqlrl.catalog.catalog import Catalog
from sqlrl.engine.connection import connect
from sqlrl.errors import InfeasibleError
from sqlrl.ground import counts as sql
from sqlrl.ground.binding import bind_program
from sqlrl.ground.grounding import ground_network
from sqlrl.ground.network import Network
from sqlrl.ground.program import Extent, Program
from sqlrl.ground.windows import ExampleWindow, Window, Windows, grounded, ungrounded
from sqlrl.logic.mln import parse_mln
from sqlrl.logic.model import Expansions, Rule
from sqlrl.solve.counts import counts, violated_rows
from tests.ground.binding import Facts, bound
from tests.ground.brute import Data, Formulas, Ground
from tests.ground.cases import Names, completed


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
        found = probabilities(program, ground_network(Extent(program)))
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
    # Evidence decides the quantifier over E, which stands before those over open literals.
    "EXIST y (E(y, y) v H(y))",
    "EXIST y (E(y, A) v H(y))",
    "EXIST y (E(A, y) v H(y))",
    "EXIST x, y (E(y, y) v !H(x) v S(y))",
    "E(x, x) v (EXIST y (!E(y, y) ^ E(x, y))) v (EXIST y (!E(A, y) ^ S(y))) v (EXIST y (!T(y)))",
    "(EXIST y (E(y, x) ^ E(y, B))) v (EXIST y (H(y))) <=> T(x)",
]
EVIDENCE = [("A", "B")]


WEIGHTS = ["1.5", "-1.5", "hard"]


# The quick tier has each formula with one weight.
@pytest.mark.parametrize(
    ("formula", "weight"),
    [
        pytest.param(formula, weight, marks=[] if i % len(WEIGHTS) == k else pytest.mark.slow)
        for i, formula in enumerate(FORMULAS)
        for k, weight in enumerate(WEIGHTS)
    ],
)
def test_a_formula_is_one_exact_feature(formula: str, weight: str) -> None:
    line = f"{formula}." if weight == "hard" else f"{weight} {formula}"
    model = parse_mln(f"t = {{A, B}}\nE(t, t)\nH(t)\nS(t)\nT(t)\n{line}", query=("H", "S", "T"))
    with bound(model, {"E": EVIDENCE}) as program:
        found = probabilities(program, ground_network(Extent(program)))
    atoms = [(p, "", (c,)) for p in ("H", "S", "T") for c in ("A", "B")]
    predicates = {"E": (("t", "t"), False), **dict.fromkeys(("H", "S", "T"), (("t",), False))}
    facts = frozenset(("E", "", row) for row in EVIDENCE)
    data = Data("one", {"t": ("A", "B")}, predicates, ("",), {}, frozenset(), facts, dict.fromkeys(atoms))
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
        network = ground_network(Extent(program))
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
        assert ground_network(Extent(program)).hard.all()


def test_a_block_with_two_given_true_atoms_is_impossible() -> None:
    model = parse_mln(BLOCKS["inequality"] + "1 InField(b, F, p)\n", query=("InField",))
    known: Facts = {"InField": [("B1", "F", "P1", "true"), ("B1", "G", "P1", "true")]}
    with bound(model, TOKENS, known, "bib") as program:
        with pytest.raises(
            InfeasibleError, match=r"two atoms of a block true.*InField\(B1, ., P1\).*InField\(B1, ., P1\)"
        ):
            ground_network(Extent(program))
        with program.examples_table(np.array([1])) as other:
            assert len(ground_network(Extent(program, other)).atoms) == 3


def test_a_block_of_which_nothing_can_be_true_is_impossible() -> None:
    model = parse_mln(BLOCKS["declared"] + "1 InField(b, F, p)\n", query=("InField",))
    known: Facts = {"InField": [("B1", f, "P1", "false") for f in ("F", "G", "H")]}
    with (
        bound(model, TOKENS, known, "bib") as program,
        pytest.raises(InfeasibleError, match=r"every atom of a block false.*InField\(B1, v\d, P1\)"),
    ):
        ground_network(Extent(program))


@pytest.mark.parametrize("given", ["true", "false"])
@pytest.mark.parametrize(("declared", "row"), [("Winner(team!)", ("A",)), ("Won(team!, cup!)", ("A", "C"))])
def test_a_block_may_be_a_whole_predicate(declared: str, row: tuple[str, ...], given: str) -> None:
    name = declared.split("(", maxsplit=1)[0]
    variables = ", ".join("xy"[: len(row)])
    text = f"team = {{A, B}}\ncup = {{C, D}}\n{declared}\nDrawn(team, cup)\n1 {name}({variables})"
    model = parse_mln(text, query=(name, "Drawn"))
    with bound(model, given={name: [(*row, given)]}) as program:
        network = ground_network(Extent(program))
        block = network.block[program.layout.predicates["Drawn"].atom_count :]
        assert block.tolist() == [-1 if given == "true" else 0] * (2 ** len(row) - 1)
        assert network.block_exact.tolist() == ([] if given == "true" else [True])


def test_every_atom_of_the_only_block_given_false_is_impossible() -> None:
    model = parse_mln("team = {A, B}\nWinner(team!)\n1 Winner(x)", query=("Winner",))
    with (
        bound(model, given={"Winner": [("A", "false"), ("B", "false")]}) as program,
        pytest.raises(InfeasibleError, match="every atom of a block false"),
    ):
        ground_network(Extent(program))


# ---- impossible evidence ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        ("Friends(x, y) => Friends(y, x).", r"1 grounding, .*Friends\(Bob, Anna\)"),
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
            ground_network(Extent(program))
        assert ground_network(Extent(program), check=False).evidence_violated.max() == 1


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
    facts: Facts = {"Token": [("sql", "B1"), ("net", "B1"), ("sql", "B2")]}
    model = replace(model, learned=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with bound(model.with_rules((rule,)), facts, example="bib") as program:
            network = ground_network(Extent(program))
            all_true = np.ones(len(network.atoms), dtype=bool)
            # No atom has the topic Gone: the template lists it, and no rule names it.
            assert counts(network, all_true).tolist() == [2, 2, 0, 2]
        # Here a rule does. Words are those of the examples, whatever rules name.
        with bound(model.with_rules((rule, *plain)), facts, example="bib") as program:
            network = ground_network(Extent(program))
            # Clauses of rules without + come first.
            assert network.total.tolist() == [2] * 6
            assert sql.groundings(Extent(program)).tolist() == [2] * 6
            none = np.zeros(len(network.atoms), dtype=bool)
            assert counts(network, none).tolist() == [0, 0, 0, 2, 0, 2]
            assert counts(network, ~none).tolist() == [2, 2, 2, 2, 2, 2]
            assert program.weights().tolist() == [0, 0, 1, 2, 3, 4]
            with program.rows_table(pa.table({"atom": network.atoms})) as everything:
                assert sql.true_counts(Extent(program), sql.World(everything)).tolist() == [2, 2, 2, 2, 2, 2]


def test_templates_grow_window_by_window() -> None:
    model = parse_mln("Token(word, bib)\nTopic(bib)\nToken(+w, b) => Topic(b)", query=("Topic",))
    facts: Facts = {"Token": [("a", "B1"), ("b", "B1"), ("b", "B2"), ("c", "B3")], "Topic": [("B1",)]}
    catalog = Catalog(connect(":memory:", threads=1))
    catalog.declare(model)
    catalog.load("Token", facts["Token"], example="bib")
    catalog.load("Topic", facts["Topic"], example="bib", target=True)
    program = bind_program(catalog.engine, catalog.bind(model, training=True), model)
    found = [
        (len(w.network.clauses), w.truth.tolist())
        for _, w in Windows(Extent(program), [np.arange(3)], 1, ground=grounded)
    ]
    assert found == [(2, [True]), (2, [False]), (3, [False])]
    assert program.expand() == 0
    catalog.engine.close()


def test_windows_that_are_not_grounded_have_the_same_examples_and_clauses(caplog: pytest.LogCaptureFixture) -> None:
    model = parse_mln("Token(word, bib)\nTopic(bib)\nToken(+w, b) => Topic(b)", query=("Topic",))
    facts: Facts = {"Token": [("a", "B1"), ("b", "B1"), ("b", "B2"), ("c", "B3")], "Topic": [("B1",)]}
    passes, found = [np.array([2, 0, 1]), np.array([1, 2, 0])], []
    for ground in (grounded, ungrounded):
        catalog = Catalog(connect(":memory:", threads=1))
        catalog.declare(model)
        catalog.load("Token", facts["Token"], example="bib")
        catalog.load("Topic", facts["Topic"], example="bib", target=True)
        program = bind_program(catalog.engine, catalog.bind(model, training=True), model)
        windows: Windows[Window] | Windows[ExampleWindow] = Windows(Extent(program), passes, 2, ground=ground)
        caplog.clear()
        with caplog.at_level("DEBUG", logger="sqlrl.engine"):
            seen = [(number, window.examples.tolist(), program.clause_count) for number, window in windows]
        atoms = [x for x in caplog.messages if x.startswith(("ground ", "read the query atoms"))]
        assert (len(atoms) > 0) == (ground is grounded)
        # The table of its examples is there for whoever counts over a window.
        with windows.extent.restricted_to(np.array([0])) as extent:
            found.append((seen, sql.true_counts(extent).tolist()))
        catalog.engine.close()
    assert found[0] == found[1]
    assert [(number, examples) for number, examples, _ in found[0][0]] == [(0, [2, 0]), (0, [1]), (1, [1, 2]), (1, [0])]
    assert [clauses for *_, clauses in found[0][0]] == [3, 3, 3, 3]
    assert found[0][1] == [1, 1, 1]


@pytest.mark.parametrize(("size", "once"), [(None, True), (3, True), (2, False)])
def test_a_window_of_all_examples_is_grounded_once_for_all_passes(
    size: int | None, *, once: bool, caplog: pytest.LogCaptureFixture
) -> None:
    model = parse_mln("Token(word, bib)\nTopic(bib)\nToken(+w, b) => Topic(b)", query=("Topic",))
    facts: Facts = {"Token": [("a", "B1"), ("b", "B1"), ("b", "B2"), ("c", "B3")], "Topic": [("B1",)]}
    passes = [np.array([2, 0, 1]), np.array([1, 2, 0]), np.array([0, 1, 2])]
    catalog = Catalog(connect(":memory:", threads=1))
    catalog.declare(model)
    catalog.load("Token", facts["Token"], example="bib")
    catalog.load("Topic", facts["Topic"], example="bib", target=True)
    program = bind_program(catalog.engine, catalog.bind(model, training=True), model)
    seen: dict[int, list[Window]] = {}
    statements: dict[int, int] = {}
    with caplog.at_level("DEBUG", logger="sqlrl.engine"):
        for number, window in Windows(Extent(program), passes, size, ground=grounded):
            seen.setdefault(number, []).append(window)
            statements[number] = statements.get(number, 0) + len(caplog.messages)
            caplog.clear()
    assert (statements[1], statements[2]) == (0, 0) if once else min(statements.values()) > 0
    for number, order in enumerate(passes):
        assert np.concatenate([window.examples for window in seen[number]]).tolist() == order.tolist()
        # In the first pass a window has only the clauses that are known by then.
        for window in seen[number] if once or number else []:
            with program.examples_table(window.examples) as chosen:
                alone = ground_network(Extent(program, chosen))
            names = [each.name for each in fields(alone) if each.name != "rows"]
            for name in [*names, "indptr", "literals", "row_clause", "multiplicity"]:
                one, other = (getattr(network, name) for network in (window.network, alone))
                assert (one != other).nnz == 0 if name == "units" else np.array_equal(one, other), name
    catalog.engine.close()
