"""In how many groundings atoms decide, for all atoms of all predicates, against formulas that are evaluated with and without each atom."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings

from sqlrl.errors import CountOverflowError, GroundingLimitError, UnsupportedError
from sqlrl.ground.blankets import AtomReader, PartTable, clause_terms, shape_clauses
from sqlrl.ground.grounding import ground_network
from sqlrl.ground.partitions import Partition
from sqlrl.ground.program import Extent, Program
from sqlrl.logic.mln import parse_mln
from sqlrl.plan.blankets import is_countable
from sqlrl.solve.counts import counts
from tests.effort import draws
from tests.ground.binding import bound
from tests.ground.brute import Data, Formulas, Ground
from tests.ground.cases import (
    GLOBAL,
    Case,
    Names,
    counted,
    expanded,
    formulas_of,
    label_world,
    mixed,
    rules,
    sentences,
    witnessed,
)

# A case is a database with its rules and costs about a second; HYPOTHESIS_PROFILE=search looks at as many as it says.
FEW = settings(max_examples=draws(10))


def atoms_of(case: Case, data: Data, name: str, chosen: frozenset[str]) -> list[Ground]:
    """The atoms of a predicate in some examples, by the definitions."""
    types, beside = data.predicates[name]
    if name in case.opened:
        found = [key for key in data.atoms if key[0] == name]
        found += [case.ground(name, t) for t in case.given[name]]
        return [key for key in dict.fromkeys(found) if data.kind == "one" or data.example_of(key) in chosen]
    found = []
    for bib in sorted(chosen) if data.kind != "one" and name not in GLOBAL else [""]:
        domains = []
        for kind in types:
            if data.kind == "type" and kind == data.example_type:
                domains.append((bib,))
            elif kind in data.local and name not in GLOBAL:
                domains.append(tuple(sorted(data.domains[kind, bib])))
            else:
                domains.append(data.types[kind])
        found += [(name, bib if beside else "", constants) for constants in product(*domains)]
    return found


def differences(
    case: Case, data: Data, formulas: list[tuple[int, Formulas]], key: Ground, width: int
) -> tuple[bool, tuple]:
    """The truth of an atom, and for each clause n if it were true less n if it were false."""
    world = data.facts | {atom for atom, label in data.atoms.items() if label}
    hidden = replace(data, atoms=dict.fromkeys(data.atoms))
    found = [0] * width
    for clause, formula in formulas:
        n = []
        for facts in (world - {key}, world | {key}):
            formula.data = replace(hidden, facts=frozenset(facts))
            n.append(formula.n(frozenset(), None))
        found[clause] = n[1] - n[0]
    return key in world, tuple(found)


def check(case: Case) -> None:
    program = expanded(case)
    public = program.public_layout.predicates
    if any(literal.predicate not in public for use in program.shapes.values() for literal in use.bound.every_literal):
        return  # a helper atom is a function of others: learners refuse its rule
    data = case.data
    # Of a hard formula with quantifiers n is that of the clauses of its normal form.
    names = Names(program.engine, program.layout)
    formulas = [(clause, formula) for clause, rule, formula in formulas_of(program, data, names) if not rule.hard]
    clauses = {clause for clause, _ in formulas}
    names = {name: all(is_countable(use.bound, name) for use in program.shapes.values()) for name in public}
    for name in (name for name, countable in names.items() if not countable):
        with pytest.raises(UnsupportedError, match=rf"what an atom of {name} changes .* under EXIST"):
            partitions(program, names=[name])
    for name, partition in partitions(program, names=[name for name, countable in names.items() if countable]).items():
        atoms = atoms_of(case, data, name, frozenset(data.examples))
        expected = Counter(differences(case, data, formulas, key, program.clause_count) for key in atoms)
        assert partition.domain.count == len(atoms), name
        sign = program.signs()
        delta = np.asarray(dense(partition.positive) - dense(partition.negative)) * sign
        delta[:, [c for c in range(program.clause_count) if c not in clauses]] = 0
        found = Counter()
        for truth, count, row in zip(partition.truth.tolist(), partition.count.tolist(), delta.tolist(), strict=True):
            found[truth, tuple(row)] += count
        assert found == expected, (
            name,
            found - expected,
            expected - found,
            [str(s) for s in program.shapes],
            [str(f.rule.formula) for f in program.features if f.rule],
        )
    program.close()
    program.engine.close()


def dense(matrix: object) -> np.ndarray:
    return matrix if isinstance(matrix, np.ndarray) else matrix.toarray()  # type: ignore[attr-defined]


def partitions(program: Program, ids: np.ndarray | None = None, names: list[str] | None = None) -> dict[str, Partition]:
    """The partitions of predicates, all unless others are named, by all clauses."""
    layout = program.layout
    if ids is None:
        ids = np.array(sorted(Names(program.engine, layout).examples), dtype=np.int64)
    names = list(program.public_layout.predicates) if names is None else names
    with program.examples_table(ids) as chosen:
        reader, parts = AtomReader(program.engine, layout, chosen), PartTable(program.engine, layout, chosen)
        terms = clause_terms(shape_clauses(program), names, parts, len(ids))
        found = {}
        for name in names:
            domain = reader.domain(layout.predicates[name], ids)
            found[name] = Partition.of(domain).refined(terms.get(name, []), program.clause_count)
    return found


def soft(case: Case) -> Case:
    """Of a hard formula with quantifiers n is that of the clauses of its normal form: a soft one in its place."""
    return replace(case, rules=tuple(replace(rule, hard=False, weight=1.0) for rule in case.rules))


@pytest.mark.slow
@FEW
@given(mixed(rules, witnessed))
def test_differences_of_formulas_with_quantifiers(case: Case) -> None:
    check(soft(case))


@pytest.mark.slow
@FEW
@given(mixed(counted, sentences))
def test_differences_of_counted_variables_and_sentences_with_quantifiers(case: Case) -> None:
    check(soft(case))


@FEW
@given(mixed(rules, rules, counted, counted, sentences, quantifiers=False))
def test_differences_are_those_of_formulas(case: Case) -> None:
    check(case)


# ---- literals that can be one atom ---------------------------------------------------------------------------


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
    "Same(x, y) => (EXIST z (Knows(y, z) ^ Same(x, z))) v S(y)",
    "Same(x, x) v !Knows(x, P1) v (EXIST y (Same(x, y) ^ x != y))",
    "S(x) => (EXIST y, z (Same(x, y) ^ Knows(y, z) ^ y != z))",
    "S(+x) ^ Same(x, +y) => S(y)",
]


@pytest.mark.parametrize("sign", [pytest.param(1, marks=pytest.mark.slow), -1])
def test_differences_are_those_of_the_ground_network(sign: int) -> None:
    """Several clauses of a formula, formulas that count what violates them, and literals that can be one atom, alone or under EXIST."""
    text = "Same(p, p)\nKnows(p, p)\nS(p)\n" + "\n".join(f"{sign} {x}" if "+" not in x else x for x in RULES)
    with bound(parse_mln(text, query=("Same", "S")), {**KNOWN, **SAME}) as program:
        network = ground_network(Extent(program), check=False)
        world = label_world(program, network)
        names = Names(program.engine, program.layout).atoms()
        expected: dict[str, Counter[tuple[bool, tuple[int, ...]]]] = {"Same": Counter(), "S": Counter()}
        for k, atom in enumerate(network.atoms.tolist()):
            n = [counts(network, np.where(np.arange(len(world)) == k, truth, world)) for truth in (True, False)]
            expected[names[atom][0]][bool(world[k]), tuple((n[0] - n[1]).tolist())] += 1
        assert {c for rows in expected.values() for _, row in rows for c, delta in enumerate(row) if delta} >= set(
            range(len(RULES) - 1)
        )
        for name, partition in partitions(program, names=["Same", "S"]).items():
            delta = np.asarray(dense(partition.positive) - dense(partition.negative)) * program.signs()
            found: Counter[tuple[bool, tuple[int, ...]]] = Counter()
            for truth, count, row in zip(
                partition.truth.tolist(), partition.count.tolist(), delta.tolist(), strict=True
            ):
                found[truth, tuple(row)] += count
            assert found == expected[name], name


WORDS = """
kind = {K1, K2}
Token(bib, word, position)
Pair(word, position)
Cites(bib, bib)
Quad(bib, word, position, word)
Wide(bib, word, position, kind)
1 Token(b, w, p) => Quad(b, w, p, v)
1 Token(b, w, p) => Wide(b, w, p, k)
1 Pair(w, p) => Quad(b, w, p, v) v Wide(b, v, p, k)
1 Quad(b, w, p, w) v Wide(b, w, p, K1)
1 Cites(b, b) v Quad(b, w, p, v)
1 Token(b, "none", p) v Quad(b, w, p, "none")
"""
TEXTS = {
    "Token": [("B1", "a", "1"), ("B1", "b", "2"), ("B2", "a", "3"), ("B2", "c", "4")],
    "Pair": [("a", "1"), ("c", "1"), ("b", "2"), ("c", "4")],
    "Cites": [("B1", "B2")],
    "Quad": [("B1", "a", "1", "b"), ("B2", "c", "4", "c")],
    "Wide": [("B1", "b", "2", "K1")],
}


def test_counts_of_several_arguments_beside_others() -> None:
    """Atoms of which a count looks at two arguments are listed with all that the others can be, in each example."""
    with bound(parse_mln(WORDS, query=("Quad", "Wide")), TEXTS, example="bib") as program:
        network = ground_network(Extent(program), check=False)
        world = label_world(program, network)
        names = Names(program.engine, program.layout).atoms()
        expected: dict[str, Counter[tuple[bool, tuple[int, ...]]]] = {"Quad": Counter(), "Wide": Counter()}
        for k, atom in enumerate(network.atoms.tolist()):
            n = [counts(network, np.where(np.arange(len(world)) == k, truth, world)) for truth in (True, False)]
            expected[names[atom][0]][bool(world[k]), tuple((n[0] - n[1]).tolist())] += 1
        for name, partition in partitions(program, names=["Quad", "Wide"]).items():
            delta = np.asarray(dense(partition.positive) - dense(partition.negative)) * program.signs()
            rows = zip(partition.truth.tolist(), map(tuple, delta.tolist()), strict=True)
            found: Counter[tuple[bool, tuple[int, ...]]] = Counter()
            for row, count in zip(rows, partition.count.tolist(), strict=True):
                found[row] += count
            assert found == expected[name], name
        cites = partitions(program, names=["Cites"])["Cites"]
        delta = (dense(cites.positive) - dense(cites.negative))[:, 4]
        # B1 and B2 have 8 atoms of Quad each, of which one is true; the other atoms of Cites decide nothing.
        assert sorted(zip(np.abs(delta).tolist(), cites.count.tolist(), strict=True))[-1] == (7, 2)


@pytest.mark.parametrize(
    ("rule", "name", "most", "message"),
    [
        ("Pair(w, p) => Wide(b, w, p, k)", "Wide", 7, "rules look at 8 atoms of Wide one by one"),
        ("Token(b, w, p) => Wide(b, w, p, k)", "Wide", 7, "rules look at 8 atoms of Wide one by one"),
        ("Token(b, w, p) => Quad(b, w, p, v)", "Quad", 7, "rules look at 8 atoms of Quad one by one"),
        (
            "Pair(w, q) => Wide(b, w, p, k)",
            "Wide",
            1,
            "the atoms of Wide differ in 2 combinations of what the rules say",
        ),
    ],
)
def test_atoms_that_are_too_many_are_refused(
    rule: str, name: str, most: int, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = parse_mln(WORDS[: WORDS.index("1 Token")] + f"1 {rule}", query=("Quad", "Wide"))
    with bound(model, TEXTS, example="bib") as program:
        assert partitions(program, names=[name])[name].count.sum() > most
        monkeypatch.setattr("sqlrl.ground.partitions.MOST_COMBINATIONS", most)
        with pytest.raises(GroundingLimitError, match=f"{message}.*, more than the limit of {most}: give it a scope"):
            partitions(program, names=[name])


def test_literals_without_common_variables_multiply() -> None:
    model = parse_mln("Known(p)\nS(p)\n1 " + " v ".join(f"S(x{i})" for i in range(6)), query=("S",))
    with bound(model, {"Known": [(str(i),) for i in range(101)]}) as program:
        found = partitions(program, names=["S"])["S"]
        assert (found.count.tolist(), found.truth.tolist()) == ([101], [False])
        assert (found.positive.tolist(), found.negative.tolist()) == ([[101**6 - 100**6]], [[0]])


@pytest.mark.parametrize("people", [440, 500])
def test_a_difference_past_64_bits_names_the_predicate(people: int) -> None:
    """With 440 people each term fits, but their sum, 440^8 - 439^8, does not."""
    model = parse_mln("Known(p)\nS(p)\n1 " + " v ".join(f"S(x{i})" for i in range(8)), query=("S",))
    with (
        bound(model, {"Known": [(str(i),) for i in range(people)]}) as program,
        pytest.raises(CountOverflowError, match="an atom of S decides does not fit into 64 bits"),
    ):
        partitions(program, names=["S"])
