"""What modes reach: against a search over the literals themselves, and the reasons given."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sqlrl
from sqlrl.errors import BiasWarning, InputError, ModelError
from sqlrl.logic.bias import KINDS, Bias, BiasMode, ModePlace
from sqlrl.logic.bias_parser import parse_bias
from sqlrl.structure.ilp.bottom import check_reach, mode_depths, unreached


def variables_at(bias: Bias, depth: int) -> set[str]:
    """Types of the variables of all clauses up to a depth, literal by literal as the definition of depth says."""
    types = {place.type for place in bias.head.places if place.kind == "+"}
    for _ in range(depth):
        usable = [m for m in bias.body if all(p.type in types for p in m.places if p.kind == "+")]
        types = types | {p.type for m in usable for p in m.places if p.kind == "-"}
    return types


_places = st.lists(st.builds(ModePlace, st.sampled_from(KINDS), st.sampled_from("abcde")), max_size=3).map(tuple)


@given(_places, st.lists(_places, min_size=1, max_size=6), st.integers(1, 4))
def test_depths_are_those_of_a_search(
    head: tuple[ModePlace, ...], bodies: list[tuple[ModePlace, ...]], depth: int
) -> None:
    bias = Bias(BiasMode("p", head, 1), tuple(BiasMode(f"q{i}", places, None) for i, places in enumerate(bodies)))
    for mode, found in zip(bias.body, mode_depths(bias), strict=True):
        inputs = {place.type for place in mode.places if place.kind == "+"}
        expected = next((d for d in itertools.count(1) if inputs <= variables_at(bias, d - 1) or d > 20), 0)
        assert found == (expected if expected <= 20 else None)
    out = {one.predicate for one in unreached(bias, depth)}
    there = {
        m.predicate for m in bias.body if {p.type for p in m.places if p.kind == "+"} <= variables_at(bias, depth - 1)
    }
    assert out == {m.predicate for m in bias.body} - there


def test_the_modes_of_alzheimers_reach_everything_at_depth_three(data_folder: Path) -> None:
    bias = sqlrl.read_bias(data_folder / "alzheimers" / "amine.modes")
    assert check_reach(bias, 3) == ()
    depths = dict(zip((mode.predicate for mode in bias.body), mode_depths(bias), strict=True))
    assert (depths["x_subst"], depths["gt"], depths["polar"], depths["great_polar"]) == (1, 2, 2, 3)
    with pytest.warns(BiasWarning, match="the modes do not reach 9 predicates at depth 2, no clause will have them:"):
        assert {one.depth for one in check_reach(bias, 2)} == {3}


def test_a_predicate_is_reached_if_one_of_its_modes_is() -> None:
    bias = parse_bias("modeh(1, p(+a)). modeb(*, q(+b,-a)). modeb(*, q(-b,+a)).")
    assert mode_depths(bias) == (2, 1)
    assert unreached(bias, 1) == ()


def test_reasons() -> None:
    modes = (
        "modeh(1, p(+drug,-value)). modeb(*, q(+value,-c)). modeb(*, r(+c)). modeb(*, s(+drugs)). modeb(1, t(#drug))."
    )
    with pytest.warns(BiasWarning) as caught:
        found = check_reach(parse_bias(modes, source="a.modes"), 2)
    assert [one.depth for one in found] == [None, None, None]
    assert str(caught[0].message).split("\n") == [
        "a.modes: the modes do not reach 3 predicates at depth 2, no clause will have them:",
        "  q: its input has the type 'value', which neither the head nor an output has: correct the type or add a mode with an output of it",
        "  r: its input of the type 'c' comes only from q, which is not reached itself: correct the type or add a mode with an output of it that is reached",
        "  s: its input has the type 'drugs', which neither the head nor an output has; did you mean 'drug'?",
    ]


def test_nothing_reached_is_an_error() -> None:
    with pytest.raises(
        ModelError, match=r"the modes reach nothing from the head p\(-a\), so no clause could have a body:\n  q: "
    ) as caught:
        check_reach(parse_bias("modeh(1, p(-a)). modeb(*, q(+a)). modeb(*, r(+a,-b))."), 1)
    assert str(caught.value).endswith("put '+' in place of '-' at an argument of it, or add a mode without inputs")
    with pytest.raises(InputError, match="the depth of variables is 0: expected 1 or more"):
        unreached(parse_bias("modeh(1, p(+a)). modeb(*, q(+a))."), 0)


def test_types_that_never_meet_are_an_error_that_says_which_to_change() -> None:
    with pytest.raises(ModelError, match="comes only from q, which is not reached itself: correct the type") as caught:
        check_reach(parse_bias("modeh(1, p(+gene)). modeb(*, q(+mouse,-cat)). modeb(*, q(-mouse,+cat))."), 2)
    assert "Bodies begin with constants of the head: give an argument that has them its type (gene)" in str(
        caught.value
    )
