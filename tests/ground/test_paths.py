"""The supports of relational paths against walking, on random graphs and on real ones."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from sqlglot import exp

from sqlrl.catalog.layout import Layout, TableName
from sqlrl.engine.connection import connect
from sqlrl.engine.duckdb import DuckDBEngine
from sqlrl.engine.nodes import table as table_node
from sqlrl.errors import GroundingLimitError, InputError, ModelError, UnsupportedError
from sqlrl.ground import paths as searching
from sqlrl.ground.paths import LabelledPairs, RelationalPaths
from tests.effort import draws
from tests.ground.walks import Fact, World

KINDS = {
    "Knows": ("person", "person"),
    "Likes": ("person", "tag"),
    "Under": ("tag", "tag"),
    "Sold": ("person", "tag", "person"),
    "Old": ("person",),
}
PHASES = [Phase.explicit, Phase.reuse, Phase.generate]
SIZES = {"person": 4, "tag": 3, "unused": 2}


def rows(kinds: tuple[str, ...], examples: int = 0) -> st.SearchStrategy[Fact]:
    return st.tuples(st.integers(0, max(examples, 1) - 1), *(st.integers(0, SIZES[kind] - 1) for kind in kinds))


@st.composite
def worlds(draw: st.DrawFn) -> World:
    """Several predicates of one to three arguments, in examples or not, some of them the same in all examples."""
    number = draw(st.sampled_from([0, 2]))
    target = draw(st.sampled_from([("person", "person"), ("person", "tag")]))
    everywhere = frozenset(draw(st.sets(st.sampled_from(sorted(KINDS))))) if number else frozenset()
    facts = {
        name: frozenset(draw(st.sets(rows(kinds, 0 if name in everywhere else number), max_size=9)))
        for name, kinds in KINDS.items()
    }
    labels = draw(st.dictionaries(rows(target, number), st.booleans(), max_size=6))
    observed = frozenset(draw(st.sets(rows(target, number), max_size=6)))
    return World(KINDS, SIZES, facts, target, labels, observed, number, everywhere)


@st.composite
def dense_worlds(draw: st.DrawFn) -> World:
    """One predicate beside the target among a few people: many walks of each path, which avoid different people."""
    pairs = st.tuples(st.just(0), st.integers(0, 4), st.integers(0, 4))
    facts = {"Knows": frozenset(draw(st.sets(pairs, min_size=3, max_size=10)))}
    labels = draw(st.dictionaries(pairs, st.booleans(), min_size=2, max_size=6))
    observed = frozenset(draw(st.sets(pairs, max_size=5))) | frozenset(list(labels)[:2])
    return World({"Knows": KINDS["Knows"]}, {"person": 5}, facts, KINDS["Knows"], labels, observed)


@settings(max_examples=draws(20), deadline=None, phases=PHASES)
@given(worlds(), st.integers(1, 3), st.booleans(), st.booleans(), st.integers(0, 3), st.sampled_from([1, 1, 2, 3]))
def test_supports_are_those_of_all_walks(
    world: World, length: int, simple: bool, atoms: bool, constant_length: int, least: int
) -> None:
    if atoms:
        # Labels are of atoms that are not given.
        world = replace(world, observed=world.observed - world.labels.keys())
    engine = connect(":memory:", threads=1)
    layout = world.load(engine, atoms)
    with RelationalPaths(engine, layout, world.name, None if atoms else world.pairs()) as paths:
        found = paths.supports(length, min_targets=least, simple=simple, constant_length=constant_length)
        labels = Counter(world.labels.values())
        assert (paths.positives, paths.negatives) == (labels[True], labels[False])
    expected = world.supports(length, simple=simple, constant_length=constant_length)
    assert world.read(found) == {path: n for path, n in expected.items() if sum(n) >= least}
    left = engine.fetch_rows("select table_name from duckdb_tables()", step="list the tables")[1]
    assert not [name for (name,) in left if "paths_" in str(name)]
    engine.close()


@settings(max_examples=draws(20), deadline=None, phases=PHASES)
@given(dense_worlds(), st.integers(3, 5), st.booleans(), st.booleans(), st.sampled_from([0, 3]))
def test_few_witnesses_tell_which_targets_have_a_walk(
    world: World, length: int, simple: bool, symmetric: bool, constant_length: int
) -> None:
    if not simple:
        length = min(length, 4)
    if symmetric:
        # A target is one pair, whichever way it is given.
        world = replace(world, labels={x: y for x, y in world.labels.items() if x[1] <= x[2]})
    engine = connect(":memory:", threads=1)
    with RelationalPaths(engine, world.load(engine, False), world.name, world.pairs(), symmetric=symmetric) as paths:
        found = paths.supports(length, simple=simple, constant_length=constant_length)
    assert world.read(found) == world.supports(
        length, simple=simple, symmetric=symmetric, constant_length=constant_length
    )
    engine.close()


def test_two_entities_to_be_avoided_take_three_witnesses() -> None:
    # From 0 by Knows to itself, then over 0, 1 or 2: by way of 0 and of 2 the walk takes the fact (0, 2) itself.
    target = frozenset({(0, 0, 0), (0, 0, 1), (0, 0, 2), (0, 1, 2), (0, 2, 2)})
    world = World(
        {"Knows": KINDS["Knows"]},
        {"person": 3},
        {"Knows": frozenset({(0, 0, 0)})},
        KINDS["Knows"],
        {(0, 0, 2): True},
        target,
    )
    engine = connect(":memory:", threads=1)
    with RelationalPaths(engine, world.load(engine, False), world.name, world.pairs()) as paths:
        found = world.read(paths.supports(3, simple=False))
    assert found["both", (("Knows", 0, 1), ("Target", 0, 1), ("Target", 0, 1)), None] == (1, 0)
    assert found == world.supports(3, simple=False)


@pytest.fixture
def umls(data_folder: Path) -> World:
    """The facts of UMLS among 40 entities, those of its third relation once more as targets, and pairs that are none."""
    data = pq.read_table(data_folder / "kg" / "umls" / "train.parquet").to_pydict()
    triples = list(zip(data["head"], data["relation"], data["tail"], strict=True))
    number = {name: i for i, name in enumerate(sorted({e for h, _, t in triples for e in (h, t)})[:40])}
    facts: dict[str, set[Fact]] = {}
    for head, relation, tail in triples:
        if head in number and tail in number:
            facts.setdefault(relation, set()).add((0, number[head], number[tail]))
    name = Counter({relation: len(pairs) for relation, pairs in facts.items()}).most_common(3)[-1][0]
    true = sorted(facts.pop(name))[:12]
    pairs = [(0, i, j) for i in range(40) for j in range(40) if (0, i, j) not in true]
    false = np.random.default_rng(0).choice(len(pairs), len(true), replace=False)
    labels = {**dict.fromkeys(true, True), **{pairs[i]: False for i in false.tolist()}}
    kinds = dict.fromkeys(sorted(facts), ("entity", "entity"))
    frozen = {relation: frozenset(found) for relation, found in facts.items()}
    return World(kinds, {"entity": 40}, frozen, ("entity", "entity"), labels, frozenset(true))


@pytest.mark.slow
@pytest.mark.parametrize("simple", [True, False])
def test_supports_on_umls_are_those_of_all_walks(umls: World, simple: bool) -> None:
    engine = connect(":memory:", threads=1)
    with RelationalPaths(engine, umls.load(engine, False), umls.name, umls.pairs()) as paths:
        found = umls.read(paths.supports(3, simple=simple))
    assert len(found) > 1000
    assert found == umls.supports(3, simple=simple)


# ---- which targets and facts -------------------------------------------------------------------------------


def test_targets_of_some_examples_alone() -> None:
    rows = [(0, 0, 1), (0, 1, 2), (1, 0, 1), (1, 1, 2), (1, 2, 3)]
    labels = {(0, 0, 2): True, (1, 0, 2): False, (1, 1, 3): True}
    world = World({"Knows": KINDS["Knows"]}, SIZES, {"Knows": frozenset(rows)}, KINDS["Knows"], labels, examples=2)
    engine = connect(":memory:", threads=1)
    layout = world.load(engine, True)
    chosen = TableName("memory", "main", "chosen")
    engine.create_table(chosen, pa.table({"example": pa.array([1], pa.int32())}), step="choose")
    with RelationalPaths(engine, layout, world.name, examples=chosen) as paths:
        found = world.read(paths.supports(2))
    some = replace(world, labels={fact: label for fact, label in labels.items() if fact[0] == 1})
    assert found == some.supports(2, simple=True) == {("both", (("Knows", 0, 1),) * 2, None): (1, 1)}


def test_soft_truths_are_rounded() -> None:
    # Of the given facts that with .4 is none; of the labels that with .5 is positive.
    knows = frozenset({(0, 0, 1), (0, 1, 2)})
    labels = {(0, 0, 2): True, (0, 0, 3): False}
    observed = frozenset({(0, 2, 3), (0, 1, 3)})
    world = World({"Knows": KINDS["Knows"]}, SIZES, {"Knows": knows}, KINDS["Knows"], labels, observed)
    engine = connect(":memory:", threads=1)
    layout = world.load(engine, True)
    info = layout.predicates[world.name]
    assert info.atoms is not None
    for table, truths in ((info.facts, {(1, 3): 0.4, (2, 3): 0.8}), (info.atoms, {(0, 2): 0.5, (0, 3): 0.49})):
        data = engine.fetch(exp.select("*").from_(table_node(table)), step="read")
        soft = [truths.get((row["a0"], row["a1"]), row["truth"]) for row in data.to_pylist()]
        column = pa.array([None if x is None else float(x) for x in soft], pa.float64())
        engine.create_table(table, data.set_column(data.column_names.index("truth"), "truth", column), step="soften")
    with RelationalPaths(engine, layout, world.name) as paths:
        found = world.read(paths.supports(3))
    # (0, 1) and (1, 2) lead to (0, 2); with (2, 3) to (0, 3), and no longer with (1, 3).
    knows_step, target_step = ("Knows", 0, 1), ("Target", 0, 1)
    assert found == {
        ("both", (knows_step, knows_step), None): (1, 0),
        ("both", (knows_step, knows_step, target_step), None): (0, 1),
    }


# ---- what it takes ---------------------------------------------------------------------------------------


def small(names: int = 1, engine: DuckDBEngine | None = None) -> tuple[DuckDBEngine, Layout, World]:
    """Return a ring of eight people who know each other, under as many names of predicates."""
    ring = frozenset((0, i, (i + step) % 8) for i in range(8) for step in (1, 3))
    kinds = {f"Knows{i}": KINDS["Knows"] for i in range(names)}
    labels = {(0, i, (i + 2) % 8): i % 2 == 0 for i in range(8)}
    world = World(kinds, {"person": 8}, dict.fromkeys(kinds, ring), KINDS["Knows"], labels)
    engine = engine or connect(":memory:", threads=1)
    return engine, world.load(engine, True), world


def test_statements_do_not_grow_with_predicates_or_targets() -> None:
    counts = []
    for names in (1, 7):
        engine, layout, world = small(names)
        with RelationalPaths(engine, layout, world.name) as paths:
            assert len(paths.supports(3)) > 0
            counts.append(paths.statements)
    assert counts[0] == counts[1]


def test_targets_are_counted_in_parts_if_their_walks_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    engine, layout, world = small()
    with RelationalPaths(engine, layout, world.name) as paths:
        whole, before = world.read(paths.supports(4, min_targets=2, constant_length=2)), paths.statements
        monkeypatch.setattr(searching, "AT_ONCE", 30)
        parts = world.read(paths.supports(4, min_targets=2, constant_length=2))
        # Beside what reads the graph.
        assert paths.statements - before > before - 9
    expected = world.supports(4, simple=True, constant_length=2)
    assert whole == parts == {path: n for path, n in expected.items() if sum(n) >= 2}


def test_too_many_walks_are_refused_before_they_are_made() -> None:
    engine, layout, world = small()
    with RelationalPaths(engine, layout, world.name, limit=100) as paths:
        assert len(paths.supports(1)) == 0
        with pytest.raises(
            GroundingLimitError,
            match=r"there are \d+ walks of \d steps from the (first|last) arguments of Target, \d+ of them through person\d; "
            r"the limit is 100: lower length=",
        ):
            paths.supports(4)
        # What was made on the way is gone, and the search can go on.
        assert len(paths.supports(2)) > 0
    # Of two predicates 64 walks of one step go from eight people. Over two steps 4 * 2 * 2 walks connect each of the eight targets.
    engine, layout, world = small(2)
    with (
        RelationalPaths(engine, layout, world.name, limit=100) as paths,
        pytest.raises(
            GroundingLimitError, match=r"^128 walks of 2 steps connect targets of Target; the limit is 100: "
        ),
    ):
        paths.supports(2)


# ---- what is refused -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("target", "given", "kind", "message"),
    [
        ("Targt", {}, ModelError, r"there is no predicate 'Targt'; did you mean 'Target'"),
        ("Old", {}, UnsupportedError, r"Old\(person\) has 1 argument: a path connects two"),
        ("Sold", {}, UnsupportedError, r"Sold\(person, tag, person\) has 3 arguments: a path connects two"),
        ("Likes", {}, ModelError, r"Likes is closed, and has no labels"),
        ("Likes", {"symmetric": True}, ModelError, r"Likes\(person, tag\) has arguments of two types"),
        ("Target", {"predicates": ["Knows", "Liks"]}, ModelError, r"predicates= has 'Liks'.*'Likes'"),
        (
            "Target",
            {"targets": LabelledPairs(np.array([[0, 1]]), np.array([True]), np.array([0]))},
            InputError,
            r"Target has no example for each atom, and targets= has",
        ),
    ],
)
def test_what_no_search_can_begin_with(
    target: str, given: dict[str, object], kind: type[Exception], message: str
) -> None:
    engine = connect(":memory:", threads=1)
    none = {name: frozenset({(0, *(0 for _ in kinds))}) for name, kinds in KINDS.items()}
    layout = World(KINDS, SIZES, none, KINDS["Knows"], {(0, 0, 1): True}).load(engine, True)
    with pytest.raises(kind, match=message):
        RelationalPaths(engine, layout, target, **given)  # type: ignore[arg-type]
    left = engine.fetch_rows("select table_name from duckdb_tables()", step="list the tables")[1]
    assert not [name for (name,) in left if "paths_" in str(name)]


def test_paths_too_long_for_their_numbers_are_refused() -> None:
    engine, layout, world = small(8)
    with (
        RelationalPaths(engine, layout, world.name) as paths,
        pytest.raises(
            InputError, match=r"length=16: paths over 18 relations have numbers of 64 bits up to a length of 15"
        ),
    ):
        paths.supports(16)


@pytest.mark.parametrize(
    ("arguments", "positive", "message"),
    [
        ([[0, 1], [0, 2], [0, 1]], [True, False, False], r"the pair \(0, 1\) is a target twice"),
        ([[0, 1, 2]], [True], r"arguments of the shape \(1, 3\) and 1 label"),
        ([[0, 1]], [True, False], r"arguments of the shape \(1, 2\) and 2 labels"),
    ],
)
def test_pairs_that_are_no_targets(arguments: list[list[int]], positive: list[bool], message: str) -> None:
    with pytest.raises(InputError, match=message):
        LabelledPairs(np.array(arguments), np.array(positive))


def test_chosen_predicates_alone_are_walked() -> None:
    engine, layout, world = small(2)
    with RelationalPaths(engine, layout, world.name, predicates=["Knows1"]) as paths:
        found = world.read(paths.supports(2))
    assert found == {
        path: n for path, n in world.supports(2, simple=True).items() if {name for name, *_ in path[1]} == {"Knows1"}
    }
