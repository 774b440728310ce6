"""Patterns and the clauses of paths, against each path turned into a clause by itself."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sqlrl.ground.atoms import TrueAtoms, WindowFacts
from sqlrl.ground.network import IntArray
from sqlrl.logic.compile import compile_rule
from sqlrl.logic.expansions import expand_rule
from sqlrl.logic.formulas import parse_formula
from sqlrl.logic.model import Model
from sqlrl.logic.modes import parse_modes
from sqlrl.logic.printer import format_formula
from sqlrl.logic.rules import Rule
from sqlrl.logic.shapes import Shaper
from sqlrl.logic.terms import Argument, Predicate
from sqlrl.structure.osl.additions import Addition, rules_of
from sqlrl.structure.osl.hypergraph import Hypergraph, build_hypergraph
from sqlrl.structure.osl.paths import Paths, find_paths
from sqlrl.structure.osl.patterns import Candidates, PatternBook, clause_of
from tests.effort import draws
from tests.structure.osl.pathcases import Case, Path, direct_clause, random_case, same_clause
from tests.structure.osl.test_paths import AD, AND, P29, SIZE, advertisement, as_sets, atom_of, starts_of

MANY = 25
"""Paths of a case that are compared with each other."""


def paths_of(case: Case, random: Random) -> tuple[Hypergraph, Paths, list[Path]]:
    """Some of the paths of a case."""
    graph = build_hypergraph(case.facts(), case.modes)
    paths = find_paths(graph, starts_of(case, graph), case.modes, case.max_length)
    chosen = random.sample(range(len(paths)), min(MANY, len(paths)))
    rows = [paths.atom[paths.indptr[i] : paths.indptr[i + 1]] for i in chosen]
    some = Paths(np.cumsum([0, *map(len, rows)]), np.concatenate([np.empty(0, dtype=np.int64), *rows]))
    return graph, some, as_sets(graph, some)


def names(constants: np.ndarray) -> list[str]:
    return [str(x) for x in constants.tolist()]


def added_rule(book: PatternBook, pattern: int, constants: np.ndarray, *, horn: bool) -> Rule:
    """The rule of an added clause, its constants named by their ids."""
    addition = Addition(pattern, horn, tuple(constants.tolist()), 0, 0, 0, 1)
    (template,), _ = rules_of(
        book, [addition], np.array([1.5]), lambda _: names(np.arange(1 + constants.max(initial=0)))
    )
    (rule,) = expand_rule(template)
    return rule


@pytest.mark.slow
@settings(max_examples=draws(250))
@given(st.integers(0, 2**32))
def test_patterns_and_constants_are_equal_exactly_if_the_clauses_are(seed: int) -> None:
    random = Random(seed)
    case = random_case(random)
    graph, paths, sets = paths_of(case, random)
    book = PatternBook(case.modes, case.types)
    candidates, row = book.grouped(graph, paths)
    flat = [(c.pattern, c.constants[i], int(c.start[i])) for c in candidates for i in range(len(c.start))]
    starts = paths.atom[paths.indptr[:-1]].tolist()
    assert sorted(set(row.tolist())) == list(range(len(flat)))
    assert [c.pattern for c in candidates] == sorted({c.pattern for c in candidates})
    direct = [[direct_clause(case, path, horn=horn) for horn in (False, True)] for path in sets]
    keys: list[list[tuple[object, ...]]] = []
    for i, clauses in zip(row, direct, strict=True):
        pattern, constants = book.patterns[flat[i][0]], flat[i][1]
        for horn, clause in enumerate(clauses):
            assert same_clause(clause, clause_of(pattern.shape, names(constants), horn=bool(horn)))
        assert pattern.shape.literals[0].predicate == clauses[1].literals[0].predicate  # type: ignore[union-attr]
        keys.append([(v.shape, *v.rows(constants[None])[0].tolist()) for v in pattern.variants])
    for a, b in combinations(range(len(sets)), 2):
        same_horn = same_clause(direct[a][1], direct[b][1])
        one, other = flat[row[a]], flat[row[b]]
        assert (one[0] == other[0] and names(one[1]) == names(other[1])) == same_horn
        assert (row[a] == row[b]) == (same_horn and starts[a] == starts[b])
        assert (keys[a][1] == keys[b][1]) == same_horn
        assert (keys[a][0] == keys[b][0]) == same_clause(direct[a][0], direct[b][0])


@pytest.mark.slow
@settings(max_examples=draws(250))
@given(st.integers(0, 2**32))
def test_other_names_of_constants_give_the_same_patterns(seed: int) -> None:
    """They change the order in which the atoms of paths are listed, and nothing else."""
    random = Random(seed)
    case = random_case(random)
    other = {kind: random.sample(range(4), 4) for kind in ("p", "w")}

    def renamed(name: str, arguments: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(other[kind][x] for kind, x in zip(case.types[name], arguments, strict=True))

    atoms = {name: {e: {renamed(name, x) for x in rows} for e, rows in of.items()} for name, of in case.atoms.items()}
    domains = {
        kind: {e: {other[kind][x] for x in of} for e, of in found.items()} for kind, found in case.domains.items()
    }
    graph, paths, sets = paths_of(case, random)
    image = build_hypergraph(replace(case, atoms=atoms, domains=domains).facts(), case.modes)
    edge_of = {(int(image.example[e]), *atom_of(image, e)): e for e in range(len(image.predicate))}
    rows = []
    for (start, members), first in zip(sets, paths.atom[paths.indptr[:-1]], strict=True):
        listed = [(name, renamed(name, x)) for name, x in (start, *(members - {start}))]
        edges = [edge_of[int(graph.example[first]), name, x] for name, x in listed]
        rows.append([edges[0], *sorted(edges[1:])])
    images = Paths(paths.indptr, np.array([e for edges in rows for e in edges], dtype=np.int64))
    book = PatternBook(case.modes, case.types)
    one, other_one = each_path(*book.grouped(graph, paths)), each_path(*book.grouped(image, images))
    for (number, constants), (same_number, new_constants) in zip(one, other_one, strict=True):
        assert number == same_number
        pattern = book.patterns[number]
        again = [other[kind][x] for kind, x in zip(pattern.shape.parameters, constants, strict=True)]
        assert min([again[i] for i in symmetry] for symmetry in pattern.symmetries) == new_constants


def each_path(candidates: list[Candidates], row: IntArray) -> list[tuple[int, list[int]]]:
    """Pattern and constants of each path."""
    rows = [(c.pattern, x) for c in candidates for x in c.constants.tolist()]
    return [rows[i] for i in row]


@settings(max_examples=draws(100))
@given(st.integers(0, 2**32))
def test_variants_are_what_the_shaper_makes_of_each_clause(seed: int) -> None:
    random = Random(seed)
    case = random_case(random)
    graph, paths, sets = paths_of(case, random)
    book = PatternBook(case.modes, case.types)
    candidates, row = book.grouped(graph, paths)
    flat = [book.patterns[c.pattern] for c in candidates for _ in c.start]
    shaper = Shaper(lambda predicate, place: case.types[predicate][place])
    for i, path in zip(row, sets, strict=True):
        for horn, variant in enumerate(flat[i].variants):
            assert variant.shape == shaper(direct_clause(case, path, horn=bool(horn))).shape
        literals = flat[i].horn.shape.literals
        assert [j for j, x in enumerate(literals) if x.positive] == [flat[i].horn.start]
        assert literals[flat[i].horn.start or 0].predicate == path[0][0]


@settings(max_examples=draws(60))
@given(st.integers(0, 2**32))
def test_rules_compile_to_their_clauses_and_parse_again(seed: int) -> None:
    random = Random(seed)
    case = random_case(random)
    graph, paths, _ = paths_of(case, random)
    book = PatternBook(case.modes, case.types)
    model = Model({name: Predicate(name, tuple(map(Argument, types))) for name, types in case.types.items()})
    for number, constants, _ in book.grouped(graph, paths)[0]:
        shape = book.patterns[number].shape
        for horn in (False, True):
            rule = added_rule(book, number, constants[0], horn=horn)
            (feature,) = compile_rule(rule, model, frozenset(case.types))
            (clause,) = feature.clauses
            assert not feature.negated
            assert same_clause(clause, clause_of(shape, names(constants[0]), horn=horn))
            assert parse_formula(format_formula(rule.formula)) == rule.formula


def test_a_second_window_meets_the_same_patterns() -> None:
    book = PatternBook(PAPER, TYPES)
    first, second = advertisement(), advertisement()
    paths = [find_paths(graph, graph.find(AD, "InField", START), PAPER, 5) for graph in (first, second)]
    one, other = book.grouped(first, paths[0])[0], book.grouped(second, paths[1])[0]
    assert [c.pattern for c in one] == [c.pattern for c in other] == list(range(len(book.patterns)))
    again = PatternBook(PAPER, TYPES)
    assert [again.number_of(pattern.shape) for pattern in book.patterns] == list(range(len(book.patterns)))
    assert again.patterns == book.patterns
    assert book.grouped(first, Paths(np.zeros(1, dtype=np.int64), np.empty(0, dtype=np.int64)))[0] == []


# ---- by hand ----------------------------------------------------------------------------------------------------

PAPER = parse_modes(
    "modep(2, Token(., +, .))\nmodep(1, Next(-, -))\nmodep(2, InField(., -, .))\n"
    "modec(Token(c, v, v))\nmodec(Next(v, v))\nmodec(InField(c, v, v))"
)
TYPES = {
    "Token": ("word", "position", "ad"),
    "Next": ("position", "position"),
    "InField": ("field", "position", "ad"),
}
START = np.array([[SIZE, P29, AD]])


def sample_path() -> tuple[Hypergraph, Paths]:
    """The sample path of the paper: InField, Token, Next, Token, InField."""
    graph = advertisement()
    paths = find_paths(graph, graph.find(AD, "InField", START), PAPER, 5)
    longest = paths.atom[paths.indptr[-2] :]
    return graph, Paths(np.array([0, 5]), longest)


def test_the_clauses_of_the_sample_path_of_the_paper() -> None:
    book = PatternBook(PAPER, TYPES)
    ((number, constants, start),), _ = book.grouped(*sample_path())
    assert start.tolist() == [0]
    shape = book.patterns[number].shape
    words = {"field": ["Size"], "word": ["And", "Spacious"]}
    named = [
        words[kind][0 if kind == "field" else x - AND] for kind, x in zip(shape.parameters, constants[0], strict=True)
    ]
    assert (
        str(clause_of(shape, named))
        == "!InField(Size, p1, a) v !InField(Size, p2, a) v !Next(p1, p2) v !Token(And, p1, a) v !Token(Spacious, p2, a)"
    )
    assert (
        format_formula(added_rule(book, number, constants[0], horn=True).formula)
        == f"InField({SIZE}, p2, a) ^ Next(p1, p2) ^ Token({AND}, p1, a) ^ Token({AND + 1}, p2, a) => InField({SIZE}, p1, a)"
    )
    assert str(book.patterns[number].horn.shape.literals[book.patterns[number].horn.start or 0]).startswith("InField")


def two_words(
    rows: list[tuple[int, ...]], types: dict[str, tuple[str, ...]], modes: str
) -> tuple[PatternBook, list[str]]:
    """Pattern and constants of the path from Topic(0) through all `Word` atoms."""
    facts = WindowFacts(
        np.array([0]),
        {
            "Topic": TrueAtoms("Topic", types["Topic"], np.array([0]), np.array([[0]])),
            "Word": TrueAtoms("Word", types["Word"], np.zeros(len(rows), dtype=np.int64), np.array(rows)),
        },
        {},
    )
    parsed = parse_modes(modes)
    graph = build_hypergraph(facts, parsed)
    paths = find_paths(graph, graph.find(0, "Topic", np.array([[0]])), parsed, 1 + len(rows))
    longest = Paths(np.array([0, 1 + len(rows)]), paths.atom[paths.indptr[-2] :])
    book = PatternBook(parsed, types)
    ((_, constants, _),), _ = book.grouped(graph, longest)
    return book, names(constants[0])


def test_look_alikes_have_one_order_of_constants() -> None:
    """Both words fill either place: the order of the other constants must not show."""
    types = {"Topic": ("page",), "Word": ("place", "word", "page")}
    modes = "modeP(1, Topic(-))\nmodeP(2, Word(., #., +))"
    one = two_words([(1, 8, 0), (2, 5, 0)], types, modes)
    other = two_words([(1, 5, 0), (2, 8, 0)], types, modes)
    assert one[1] == other[1] == ["5", "8"]
    assert str(one[0].patterns[0].shape) == str(other[0].patterns[0].shape)


def test_a_constant_that_is_kept_somewhere_is_kept_everywhere() -> None:
    types = {"Topic": ("word",), "Word": ("word", "word")}
    book, constants = two_words([(0, 3), (3, 4)], types, "modeP(1, Topic(#-))\nmodeP(2, Word(-, -))")
    assert str(book.patterns[0].shape) == "!Topic(k0) v !Word(v0, v1) v !Word(k1, v0)"
    assert constants == ["0", "0"]


def test_equal_constants_are_one_variable_only_within_a_type() -> None:
    types = {"Topic": ("page",), "Word": ("page", "word")}
    book, _ = two_words([(0, 0)], types, "modeP(1, Topic(-))\nmodeP(1, Word(-, -))")
    assert str(book.patterns[0].shape) == "!Topic(v0) v !Word(v0, v1)"
    assert book.patterns[0].shape.variables == ("page", "word")


def test_a_chain_is_one_pattern_in_whatever_order_its_atoms_are_listed() -> None:
    types = {"Topic": ("page",), "Word": ("page", "page")}
    modes = "modeP(1, Topic(-))\nmodeP(2, Word(-, -))"
    for rows in ([(0, 1), (1, 2)], [(0, 2), (2, 1)]):
        book, _ = two_words(rows, types, modes)
        assert str(book.patterns[0].shape) == "!Topic(v0) v !Word(v0, v1) v !Word(v1, v2)"
