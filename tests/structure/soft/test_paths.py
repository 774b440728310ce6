"""Clauses of relational paths: what they say against the supports of their paths, which of them are kept, and in which order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from scipy.stats import chi2_contingency

from sqlrl import parse_psl
from sqlrl.engine.connection import connect
from sqlrl.errors import InputError
from sqlrl.ground.paths import LabelledPairs, RelationalPaths
from sqlrl.logic.isomorphism import Distinct
from sqlrl.logic.psl import LogicalRule
from sqlrl.logic.terms import Constant, Literal, Variable
from sqlrl.structure.soft.paths import PathClauses, PathParameters, contrast, path_clauses
from tests.effort import draws
from tests.ground.walks import Fact, World

KINDS = {
    "Knows": ("person", "person"),
    "Likes": ("person", "tag"),
    "Sold": ("tag", "person", "person"),
    "Old": ("person",),
    "New": ("tag",),
}
SIZES = {"person": 4, "tag": 3}


@st.composite
def worlds(draw: st.DrawFn, target: tuple[str, str] | None = None) -> World:
    facts = {
        name: frozenset(
            draw(st.sets(st.tuples(st.just(0), *(st.integers(0, SIZES[k] - 1) for k in kinds)), max_size=7))
        )
        for name, kinds in KINDS.items()
    }
    target = target or draw(st.sampled_from([("person", "person"), ("person", "tag")]))
    pairs = st.tuples(st.just(0), *(st.integers(0, SIZES[k] - 1) for k in target))
    labels = draw(st.dictionaries(pairs, st.booleans(), min_size=1, max_size=6))
    return World(KINDS, SIZES, facts, target, labels)


def found(world: World, parameters: PathParameters, *, symmetric: bool = False) -> PathClauses:
    engine = connect(":memory:", threads=1)
    layout = world.load(engine, True)
    with RelationalPaths(engine, layout, world.name, symmetric=symmetric) as source:
        clauses = path_clauses(source, parameters)
    engine.close()
    return clauses


def bodies(world: World, literals: list[Literal], known: dict[str, int]) -> Iterator[dict[str, int]]:
    """Yield the assignments that make the literals of a body true."""
    if not literals:
        yield known
        return
    first, *rest = literals
    for _, *row in world.facts[first.predicate]:
        new = dict(known)
        kinds = world.kinds[first.predicate]
        if all(matches(term, f"{kind}{i}", i, new) for term, kind, i in zip(first.terms, kinds, row, strict=True)):
            yield from bodies(world, rest, new)


def matches(term: Variable | Constant, name: str, number: int, known: dict[str, int]) -> bool:
    return term.name == name if isinstance(term, Constant) else known.setdefault(term.name, number) == number


def support(world: World, rule: LogicalRule) -> tuple[int, int]:
    """Return how many positive and negative targets a body holds for."""
    (head,) = rule.head
    assert isinstance(head, Literal)
    body = [literal for literal in rule.body if isinstance(literal, Literal)]
    counts = [0, 0]
    for (_, first, last), positive in world.labels.items():
        one, other = (term.name for term in head.terms)
        counts[not positive] += any(True for _ in bodies(world, body, {one: first, other: last}))
    return counts[0], counts[1]


@settings(max_examples=draws(12), deadline=None, phases=[Phase.explicit, Phase.reuse, Phase.generate])
@given(worlds(), st.integers(1, 3), st.integers(1, 2))
def test_a_clause_holds_for_the_targets_that_its_path_connects(world: World, length: int, constant_length: int) -> None:
    clauses = found(
        world,
        PathParameters(
            length=length, min_targets=1, simple=False, constants=True, constant_length=constant_length, squared=False
        ),
    )
    for clause in clauses:
        assert (clause.positive, clause.negative) == support(world, clause.rule), str(clause)
        assert clause.rule.weight == 0
        assert not clause.rule.squared
    # Each path has two clauses, which differ in the sign of the head.
    texts = [str(clause) for clause in clauses]
    assert texts[1::2] == [text.replace("-> ", "-> !") for text in texts[::2]]
    assert [clause.negated for clause in clauses] == [False, True] * (len(clauses) // 2)
    # Those that connect most come first, then by their text.
    order = [(-clause.support, str(clause)) for clause in clauses[::2]]  # type: ignore[index]
    assert order == sorted(order)
    # They are clauses of the language, and no two of them are the same up to names.
    assert [str(rule.formula) for rule in parse_psl("\n".join(f"0: {text}" for text in texts) or "1: P(A)").rules] == (
        texts or ["P(A)"]
    )
    distinct = Distinct()
    assert all(
        distinct.add(variables(world, clause.rule), [*clause.rule.body, *clause.rule.head]) for clause in clauses
    )  # type: ignore[list-item]


def variables(world: World, rule: LogicalRule) -> tuple[tuple[str, str], ...]:
    kinds: Mapping[str, tuple[str, ...]] = {**world.kinds, world.name: world.target}
    found: dict[str, str] = {}
    for literal in rule.literals:
        assert isinstance(literal, Literal)
        for term, kind in zip(literal.terms, kinds[literal.predicate], strict=True):
            if isinstance(term, Variable):
                # A variable stands at arguments of one type.
                assert found.setdefault(term.name, kind) == kind, rule
    return tuple(found.items())


@settings(max_examples=draws(8), deadline=None, phases=[Phase.explicit, Phase.reuse, Phase.generate])
@given(worlds(("person", "person")), st.integers(1, 3))
def test_clauses_of_a_symmetric_target_are_the_same_read_either_way(world: World, length: int) -> None:
    one_way = {x: y for x, y in world.labels.items() if x[1] <= x[2]} or {(0, 0, 1): True}
    world = World(KINDS, SIZES, world.facts, world.target, one_way)
    both = {**one_way, **{(0, j, i): y for (_, i, j), y in one_way.items()}}
    clauses = found(world, PathParameters(length=length, min_targets=1, simple=False, negations=False), symmetric=True)
    distinct = Distinct()
    for clause in clauses:
        held = [
            x
            for x, y in both.items()
            if sum(support(World(KINDS, SIZES, world.facts, world.target, {x: y}), clause.rule))
        ]
        unordered = {(min(i, j), max(i, j)): both[0, i, j] for _, i, j in held}
        assert (clause.positive, clause.negative) == (sum(unordered.values()), len(unordered) - sum(unordered.values()))
        # Neither it nor what it is the other way round was there before.
        (head,) = clause.rule.head
        assert isinstance(head, Literal)
        kinds = variables(world, clause.rule)
        swapped = Literal(head.predicate, head.terms[::-1])
        fresh = [distinct.add(kinds, [*clause.rule.body, x]) for x in dict.fromkeys((head, swapped))]  # type: ignore[list-item]
        assert fresh[0], str(clause)
    # None is missing: a clause that a search one way finds is there, or its reverse.
    others = found(
        World(KINDS, SIZES, world.facts, world.target, both),
        PathParameters(length=length, min_targets=1, simple=False, negations=False),
    )
    for clause in others:
        (head,) = clause.rule.head
        assert isinstance(head, Literal)
        kinds = variables(world, clause.rule)
        swapped = Literal(head.predicate, head.terms[::-1])
        new = [distinct.add(kinds, [*clause.rule.body, x]) for x in (head, swapped)]  # type: ignore[list-item]
        assert not any(new), str(clause)


# ---- what is kept ----------------------------------------------------------------------------------------

FACTS: dict[str, frozenset[Fact]] = {
    **dict.fromkeys(KINDS, frozenset[Fact]()),
    "Knows": frozenset({(0, 0, 1), (0, 1, 2), (0, 2, 3), (0, 0, 2)}),
    "Likes": frozenset({(0, 1, 0), (0, 2, 0), (0, 2, 1), (0, 3, 2)}),
}
LABELS = {(0, 0, 0): True, (0, 0, 1): True, (0, 1, 0): True, (0, 1, 1): False, (0, 2, 2): True, (0, 3, 0): False}
CITED = World(KINDS, SIZES, FACTS, ("person", "tag"), LABELS)


def test_the_best_paths_are_kept_and_the_cut_is_stated() -> None:
    whole = found(CITED, PathParameters(min_targets=2))
    assert str(whole[0]) == "Knows(E1, E2) & Likes(E2, E3) -> Target(E1, E3)"
    assert (whole[0].positive, whole[0].negative, whole.positives, whole.negatives) == (4, 1, 4, 2)
    assert not whole.notes
    for top in range(1, len(whole) // 2):
        some = found(CITED, PathParameters(min_targets=2, top=top))
        assert some.clauses == whole.clauses[: 2 * top]
        assert some.notes == (
            f"{len(whole) // 2} paths connect 2 or more of the atoms; the {top} that connect most are kept (top=).",
        )
    assert found(CITED, PathParameters(min_targets=2, top=len(whole))) == whole


def test_contrast_is_the_likelihood_ratio_of_scipy() -> None:
    random = np.random.default_rng(0)
    positives, negatives = 30, 50
    positive, negative = random.integers(0, positives + 1, 40), random.integers(0, negatives + 1, 40)
    values = contrast(positive, negative, positives, negatives)
    for a, b, value in zip(positive.tolist(), negative.tolist(), values.tolist(), strict=True):
        table = np.array([[a, b], [positives - a, negatives - b]])
        if table.sum(axis=1).all():
            assert value == pytest.approx(chi2_contingency(table, correction=False, lambda_="log-likelihood").statistic)
        else:
            assert value == 0.0


def test_paths_that_tell_labels_apart_come_first_where_they_are_asked_for() -> None:
    most, best = (found(CITED, PathParameters(min_targets=1, by=by)) for by in ("support", "contrast"))
    assert {str(each) for each in most} == {str(each) for each in best}
    values = [
        float(contrast(np.array([each.positive]), np.array([each.negative]), best.positives, best.negatives)[0])
        for each in best
    ]
    assert values == sorted(values, reverse=True)
    assert [each.support for each in most] == sorted((each.support for each in most), reverse=True)
    assert [str(each) for each in best] != [str(each) for each in most]
    some = found(CITED, PathParameters(min_targets=1, by="contrast", top=2))
    assert some.clauses == best.clauses[:4]
    assert "the 2 that tell labels apart best are kept" in some.notes[-1]


def test_clauses_are_a_table() -> None:
    clauses = found(CITED, PathParameters(length=2, min_targets=4))
    assert clauses.table().to_pylist() == [
        {
            "clause": f"Knows(E1, E2) & Likes(E2, E3) -> {sign}Target(E1, E3)",
            "path": "Knows, Likes",
            "length": 2,
            "negated": bool(sign),
            "positive": 4,
            "negative": 1,
        }
        for sign in ("", "!")
    ]
    assert str(clauses).splitlines()[:2] == [
        "2 clauses about Target, from 4 positive and 2 negative atoms:",
        "Knows(E1, E2) & Likes(E2, E3) -> Target(E1, E3)  (4 positive, 1 negative)",
    ]
    assert [rule.squared for rule in clauses.rules] == [True, True]


def test_what_walks_the_other_way_has_its_arguments_exchanged() -> None:
    texts = [str(clause) for clause in found(CITED, PathParameters(min_targets=1, negations=False))]
    assert "Knows(E2, E1) & Likes(E2, E3) -> Target(E1, E3)" in texts
    assert "Likes(E1, E2) & Likes(E3, E2) & Likes(E3, E4) -> Target(E1, E4)" in texts


# ---- what is refused, and what is said --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"length": 0}, "length=0: give an integer"),
        ({"min_targets": 0}, "min_targets=0: give an integer"),
        ({"top": 0}, "top=0: give an integer"),
        ({"constant_length": -1}, "constant_length=-1: give an integer"),
        ({"length": 2.5}, "length=2.5"),
    ],
)
def test_parameters_out_of_range(given: dict[str, int], message: str) -> None:
    with pytest.raises(InputError, match=message):
        PathParameters(**given)  # type: ignore[arg-type]


def test_a_path_cannot_connect_more_targets_than_there_are() -> None:
    with pytest.raises(
        InputError, match="min_targets=7: Target has 6 labelled atoms, so that no path connects as many"
    ):
        found(CITED, PathParameters(min_targets=7))
    none = World(KINDS, SIZES, FACTS, ("person", "tag"), {})
    with pytest.raises(InputError, match="Target has no labelled atoms: load its facts"):
        found(none, PathParameters(min_targets=1))


@pytest.mark.parametrize(("label", "kind", "other"), [(True, "positive", "negative"), (False, "negative", "positive")])
def test_labels_of_one_class_are_said(label: bool, kind: str, other: str) -> None:
    world = World(KINDS, SIZES, FACTS, ("person", "tag"), dict.fromkeys(LABELS, label))
    clauses = found(world, PathParameters(min_targets=2))
    assert clauses.notes == (
        f"All labelled atoms of Target are {kind}: what its paths say of {other} ones is not known.",
    )
    assert {clause.negative if label else clause.positive for clause in clauses} == {0}


def test_no_path_connects_enough() -> None:
    clauses = found(CITED, PathParameters(length=1, min_targets=6))
    assert (len(clauses), clauses.table().num_rows) == (0, 0)


def test_a_target_that_is_a_fact_does_without_itself() -> None:
    # All that is known is the target; nothing else connects its pairs.
    facts = dict.fromkeys(KINDS, frozenset[Fact]())
    observed = frozenset({(0, 0, 1), (0, 2, 1)})
    world = World(KINDS, SIZES, facts, ("person", "person"), dict.fromkeys(observed, True), observed)
    engine = connect(":memory:", threads=1)
    layout = world.load(engine, False)
    pairs = LabelledPairs(np.array([[0, 1], [2, 1]]), np.array([True, True]))
    with RelationalPaths(engine, layout, world.name, pairs) as source:
        assert len(path_clauses(source, PathParameters(min_targets=1))) == 0
        # The facts of the others are known: each says that its last argument is one.
        stopped = path_clauses(source, PathParameters(min_targets=1, constants=True, negations=False))
    assert [(str(clause), clause.positive) for clause in stopped] == [
        (f"Target('person{i}', E2) -> Target(E1, E2)", 1) for i in (0, 2)
    ]
