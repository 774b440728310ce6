"""The supports of relational paths against walking, on random graphs and on real ones."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from sqlrl.engine.connection import connect
from sqlrl.ground.paths import RelationalPaths
from tests.ground.walks import Fact, World

KINDS = {
    "Knows": ("person", "person"),
    "Likes": ("person", "tag"),
    "Under": ("tag", "tag"),
    "Sold": ("person", "tag", "person"),
    "Old": ("person",),
}
SIZES = {"person": 4, "tag": 3, "unused": 2}


def facts(draw: st.DrawFn, kinds: tuple[str, ...], examples: int, most: int) -> frozenset[Fact]:
    columns = [st.integers(0, max(examples, 1) - 1), *(st.integers(0, SIZES[kind] - 1) for kind in kinds)]
    return frozenset(draw(st.sets(st.tuples(*columns), max_size=most)))


@st.composite
def worlds(draw: st.DrawFn, kinds: tuple[str, ...] = tuple(KINDS), examples: bool = True) -> World:
    chosen = {name: KINDS[name] for name in kinds}
    number = draw(st.sampled_from([0, 2])) if examples else 0
    target = draw(st.sampled_from([("person", "person"), ("person", "tag")]))
    everywhere = frozenset(draw(st.sets(st.sampled_from(kinds)))) if number else frozenset()
    tables = {name: facts(draw, types, number, 9) for name, types in chosen.items()}
    for name in everywhere:
        tables[name] = frozenset((0, *x[1:]) for x in tables[name])
    labelled = facts(draw, target, number, 6)
    labels = {fact: draw(st.booleans()) for fact in sorted(labelled)}
    observed = facts(draw, target, number, 6)
    return World(chosen, SIZES, tables, target, labels, observed, number, everywhere)


@settings(max_examples=60, deadline=None)
@given(worlds(), st.integers(1, 4), st.booleans(), st.booleans(), st.integers(0, 3), st.sampled_from([1, 1, 2, 3]))
def test_supports_are_those_of_all_walks(
    world: World, length: int, simple: bool, atoms: bool, constant_length: int, least: int
) -> None:
    if atoms:
        # Labels are of atoms that are not given.
        world = World(**{**vars(world), "observed": world.observed - world.labels.keys()})
    engine = connect(":memory:", threads=1)
    layout = world.load(engine, atoms)
    with RelationalPaths(engine, layout, world.name, None if atoms else world.pairs()) as paths:
        found = paths.supports(length, min_targets=least, simple=simple, constant_length=constant_length)
        assert (paths.positives, paths.negatives) == tuple(
            sum(x == label for x in world.labels.values()) for label in (True, False)
        )
    expected = world.supports(length, simple=simple, constant_length=constant_length)
    assert world.read(found) == {path: n for path, n in expected.items() if sum(n) >= least}
    assert not [x for (x,) in engine.fetch_rows("select table_name from duckdb_tables()", step="")[1] if "paths_" in x]
    engine.close()
