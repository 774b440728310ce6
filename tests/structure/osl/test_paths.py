"""Path finding against Algorithms 2 and 3 as they are printed, and by hand on the paper's example."""

from __future__ import annotations

from itertools import pairwise
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sqlrl.errors import InputError
from sqlrl.ground.atoms import TrueAtoms, WindowFacts
from sqlrl.ground.network import BoolArray, IntArray
from sqlrl.logic.modes import parse_modes
from sqlrl.structure.osl import paths as finding
from sqlrl.structure.osl.hypergraph import Hypergraph, build_hypergraph
from sqlrl.structure.osl.paths import find_paths
from sqlrl.structure.osl.patterns import sub_clauses
from tests.effort import draws
from tests.structure.osl.pathcases import Atom, Case, Path, create_hypergraph, paths_from, random_case


def atom_of(graph: Hypergraph, edge: int) -> Atom:
    arguments = graph.arguments[edge].tolist()
    return graph.predicates[graph.predicate[edge]], tuple(x for x in arguments if x >= 0)


def as_sets(graph: Hypergraph, paths: finding.Paths) -> list[Path]:
    found = []
    for a, b in zip(paths.indptr[:-1], paths.indptr[1:], strict=True):
        members = [atom_of(graph, e) for e in paths.atom[a:b]]
        assert paths.atom[a + 1 : b].tolist() == sorted(paths.atom[a + 1 : b])
        found.append((members[0], frozenset(members)))
    return found


def starts_of(case: Case, graph: Hypergraph) -> IntArray:
    """All own atoms of the examples: those that can be wrong."""
    found = []
    for name, owned in case.atoms.items():
        for example, rows in owned.items():
            if example is not None and rows:
                wanted = np.array(sorted(rows), dtype=np.int64).reshape(len(rows), -1)
                found.append(graph.find(example, name, wanted))
    edges = np.concatenate([np.empty(0, dtype=np.int64), *found])
    return edges[edges >= 0]


def same_as_printed(case: Case, keep: finding.Keep | None = None, without: frozenset[Atom] = frozenset()) -> int:
    graph = build_hypergraph(case.facts(), case.modes)
    starts = starts_of(case, graph)
    starts = np.array([e for e in starts if atom_of(graph, e) not in without], dtype=np.int64)
    paths = find_paths(graph, starts, case.modes, case.max_length, keep=keep)
    found: dict[int, list[Path]] = {e: [] for e in case.examples}
    for path, a in zip(as_sets(graph, paths), paths.indptr[:-1], strict=True):
        found[int(graph.example[paths.atom[a]])].append(path)
    for example in case.examples:
        world = case.world(example) - without
        own = {atom_of(graph, e) for e in starts if graph.example[e] == example}
        expected = {path for start in own for path in paths_from(case, world, start)}
        assert set(found[example]) == expected
        assert len(found[example]) == len(expected)
    return len(paths)


@settings(max_examples=draws(250))
@given(st.integers(0, 2**32))
def test_paths_are_those_of_the_printed_algorithms(seed: int) -> None:
    same_as_printed(random_case(Random(seed)))


def test_the_random_cases_have_paths() -> None:
    sizes = [same_as_printed(random_case(Random(seed))) for seed in range(40)]
    assert sum(size > 10 for size in sizes) > 10


@settings(max_examples=draws(150))
@given(st.integers(0, 2**32))
def test_the_hypergraph_holds_the_atoms_of_each_example(seed: int) -> None:
    case = random_case(Random(seed))
    graph = build_hypergraph(case.facts(), case.modes)
    nodes: dict[int, set[tuple[int, tuple[str, int]]]] = {}
    for i, example in enumerate(graph.examples.tolist()):
        world = {x for x in case.world(example) if case.modes.of[x[0]].recall}
        h = create_hypergraph(case, world)
        edges = range(graph.start[i], graph.start[i + 1])
        held = [atom_of(graph, e) for e in edges]
        assert len(set(held)) == len(held)
        # Atoms without a constant of the example may be left out if nothing leads to them.
        assert set(held) <= world
        assert {x for x in world if "p" in case.types[x[0]] or None not in case.atoms[x[0]]} <= set(held)
        assert all(x in set(held) or not (h.keys() & case.nodes(x) & used(case, held)) for x in world)
        for e in edges:
            for kind, x, node in zip(
                case.types[held[e - edges.start][0]], graph.arguments[e], graph.nodes[e], strict=False
            ):
                if node >= 0:
                    nodes.setdefault(int(node), set()).add((example, (kind, int(x))))
                    listed = graph.edges[graph.indptr[node] : graph.indptr[node + 1]]
                    expected = {a for a in h[kind, int(x)] if a in set(held)}
                    assert [atom_of(graph, y) for y in listed] == [a for a in held if a in expected]
    assert all(len(meaning) == 1 for meaning in nodes.values())
    assert len(nodes) == len(graph.indptr) - 1


def used(case: Case, atoms: list[Atom]) -> set[tuple[str, int]]:
    return set().union(*(case.nodes(x) for x in atoms)) if atoms else set()


@settings(max_examples=draws(100))
@given(st.integers(0, 2**32))
def test_masked_paths_are_neither_returned_nor_extended(seed: int) -> None:
    """Masking all paths with an atom is the same as an example without it."""
    random = Random(seed)
    case = random_case(random)
    graph = build_hypergraph(case.facts(), case.modes)
    everything = sorted({atom_of(graph, e) for e in range(len(graph.predicate))})
    banned = frozenset(random.sample(everything, min(2, len(everything))))

    def keep(level: IntArray) -> BoolArray:
        return np.array([not banned & {atom_of(graph, e) for e in row} for row in level], dtype=np.bool_)

    same_as_printed(case, keep, banned)


@settings(max_examples=draws(100))
@given(st.integers(0, 2**32))
def test_sub_clauses_are_parts_of_longer_kept_paths(seed: int) -> None:
    random = Random(seed)
    case = random_case(random)
    graph = build_hypergraph(case.facts(), case.modes)
    paths = find_paths(graph, starts_of(case, graph), case.modes, case.max_length)
    sets = [(paths.atom[a], frozenset(paths.atom[a:b])) for a, b in pairwise(paths.indptr)]
    count = max(1, len(sets) * 2 // 3)
    row = np.array([random.randrange(count) for _ in sets], dtype=np.int64)
    kept = np.array([random.random() < 0.2 for _ in range(count)])
    longer = [x for x, i in zip(sets, row, strict=True) if kept[i]]
    expected = [False] * count
    for (start, members), i in zip(sets, row, strict=True):
        expected[i] |= any(start == other and members < more for other, more in longer)
    assert sub_clauses(paths, row, kept).tolist() == expected


# ---- the paper's example --------------------------------------------------------------------------------------

PAPER = parse_modes("modep(2, Token(., +, .))\nmodep(1, Next(-, -))\nmodep(2, InField(., -, .))")
SIZE, AND, SPACIOUS, AD, P29, P30 = 0, 1, 2, 0, 29, 30


def advertisement() -> Hypergraph:
    """And, Spacious at the positions 29, 30 of an advertisement, both in the field Size."""
    ad = np.array([AD, AD])
    field = TrueAtoms("InField", ("field", "position", "ad"), ad, np.array([[SIZE, P29, AD], [SIZE, P30, AD]]))
    token = TrueAtoms("Token", ("word", "position", "ad"), ad, np.array([[AND, P29, AD], [SPACIOUS, P30, AD]]))
    following = TrueAtoms("Next", ("position", "position"), np.full(3, -1), np.array([[28, 29], [29, 30], [30, 31]]))
    domains = {"position": (ad, np.array([P29, P30])), "ad": (np.array([AD]), np.array([AD]))}
    atoms = {"InField": field, "Token": token, "Next": following}
    return build_hypergraph(WindowFacts(np.array([AD]), atoms, domains), PAPER)


def test_the_sample_path_of_the_paper_and_its_parts() -> None:
    graph = advertisement()
    start = graph.find(AD, "InField", np.array([[SIZE, P29, AD]]))
    found = as_sets(graph, find_paths(graph, start, PAPER, 5))
    wrong: Atom = ("InField", (SIZE, P29, AD))
    here: Atom = ("Token", (AND, P29, AD))
    following: Atom = ("Next", (P29, P30))
    there: Atom = ("Token", (SPACIOUS, P30, AD))
    other: Atom = ("InField", (SIZE, P30, AD))
    # The next position is reached through Next alone; the word there must come after it.
    expected = [
        {here},
        {following},
        {here, following},
        {following, there},
        {following, other},
        {here, following, there},
        {here, following, other},
        {following, there, other},
        {here, following, there, other},
    ]
    assert len(found) == len(expected)
    assert set(found) == {(wrong, frozenset({wrong, *rest})) for rest in expected}


def test_a_path_ends_at_the_longest_length() -> None:
    graph = advertisement()
    start = graph.find(AD, "InField", np.array([[SIZE, P29, AD]]))
    assert [len(find_paths(graph, start, PAPER, n)) for n in (1, 2, 3, 4, 5, 9)] == [0, 2, 5, 8, 9, 9]


def test_recall_counts_the_start() -> None:
    modes = parse_modes("modep(1, InField(., -, .))\nmodep(1, Next(-, -))\nmodep(0, Token(., +, .))")
    facts = WindowFacts(
        np.array([AD]),
        {
            "InField": TrueAtoms(
                "InField", ("field", "position", "ad"), np.array([0, 0]), np.array([[0, 1, 0], [0, 2, 0]])
            ),
            "Next": TrueAtoms("Next", ("position", "position"), np.array([-1]), np.array([[1, 2]])),
        },
        {"position": (np.array([0, 0]), np.array([1, 2]))},
    )
    graph = build_hypergraph(facts, modes)
    assert graph.predicates == ("InField", "Next")
    assert as_sets(graph, find_paths(graph, np.array([0]), modes, 4)) == [
        (("InField", (0, 1, 0)), frozenset({("InField", (0, 1, 0)), ("Next", (1, 2))}))
    ]


def test_constants_of_the_start_are_outputs() -> None:
    """As in modes where the position of the predicted field is an input."""
    modes = parse_modes("modeP(2, Token(#-,+,.))\nmodeP(1, IsDate(#+))\nmodeP(2, InField(.,#.,+))")
    facts = WindowFacts(
        np.array([5]),
        {
            "Token": TrueAtoms("Token", ("word", "position", "bib"), np.array([5]), np.array([[3, 1, 5]])),
            "IsDate": TrueAtoms("IsDate", ("word",), np.array([-1, -1]), np.array([[2], [3]])),
            "InField": TrueAtoms("InField", ("bib", "field", "position"), np.array([5]), np.array([[5, 0, 1]])),
        },
        {"position": (np.array([5]), np.array([1]))},
    )
    graph = build_hypergraph(facts, modes)
    start, word, date = ("InField", (5, 0, 1)), ("Token", (3, 1, 5)), ("IsDate", (3,))
    paths = find_paths(graph, graph.find(5, "InField", np.array([[5, 0, 1]])), modes, 4)
    assert as_sets(graph, paths) == [(start, frozenset({start, word})), (start, frozenset({start, word, date}))]


def test_atoms_that_are_not_true_are_not_found() -> None:
    graph = advertisement()
    assert graph.find(AD, "Token", np.array([[AND, P30, AD], [SPACIOUS, P30, AD]])).tolist()[0] == -1
    assert graph.find(AD, "Nothing", np.array([[1]])).tolist() == [-1]
    assert graph.find(7, "Token", np.array([[AND, P29, AD]])).tolist() == [-1]


def test_a_length_below_one_is_refused() -> None:
    with pytest.raises(InputError, match="the longest path has 0 atoms: give a max_length of 1 or more"):
        find_paths(advertisement(), np.array([0]), PAPER, 0)


def test_too_many_paths_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(finding, "MOST_PATHS", 9)
    assert len(find_paths(advertisement(), np.array([0]), PAPER, 5)) == 9
    monkeypatch.setattr(finding, "MOST_PATHS", 8)
    with pytest.raises(InputError, match="more than 8 paths of at most 5 atoms start at 1 atom: lower max_length"):
        find_paths(advertisement(), np.array([0]), PAPER, 5)
