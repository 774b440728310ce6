"""Facts around seeds, against a search that looks at each fact."""

from __future__ import annotations

import random
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pytest
from sqlglot import exp

from sqlrl.errors import GroundingLimitError
from sqlrl.ground.saturation import Saturated, saturate
from sqlrl.logic.bias import Bias, BiasMode, ModePlace
from sqlrl.logic.bias_parser import parse_bias
from tests.ground.bodies import PREDICATES, TYPES, Facts, constants, encoded, load, random_facts, target_atoms

Row = tuple[int, int, int, tuple[int, ...]]


def random_modes(rng: random.Random) -> Bias:
    """Some modes for each predicate; two types of the bias stand for `t`."""
    modes = []
    for name in PREDICATES:
        for _ in range(2):
            places = []
            for kind in TYPES[name]:
                shown = rng.choice(["t", "t", "other"]) if kind == "t" else kind
                places.append(ModePlace(rng.choice("+-#+-"), shown))  # type: ignore[arg-type]
            modes.append(BiasMode(name, tuple(places), rng.choice([None, None, 1, 2])))
    head = BiasMode("Target", (ModePlace("+", "t"), ModePlace(rng.choice("+-"), "t")), 1)  # type: ignore[arg-type]
    return Bias(head, tuple(modes))


def around(bias: Bias, seed: tuple[int, ...], facts: dict[int, set[tuple[int, ...]]], depth: int) -> Iterator[Row]:
    """The facts that each mode reaches, depth by depth: as the definition says."""
    known = {(place.type, x) for place, x in zip(bias.head.places, seed, strict=True) if place.kind == "+"}
    seen: set[tuple[int, tuple[int, ...]]] = set()
    for level in range(1, depth + 1):
        new: set[tuple[str, int]] = set()
        for number, mode in enumerate(bias.body):
            taken: dict[tuple[int, ...], int] = {}
            for fact in sorted(facts[PREDICATES.index(mode.predicate)]):
                inputs = [(place.type, x) for place, x in zip(mode.places, fact, strict=True) if place.kind == "+"]
                if not all(pair in known for pair in inputs):
                    continue
                key = tuple(x for _, x in inputs)
                taken[key] = taken.get(key, 0) + 1
                if mode.recall is not None and taken[key] > mode.recall:
                    continue
                if (number, fact) not in seen:
                    seen.add((number, fact))
                    yield (level, number, len(fact), fact)
                new |= {(place.type, x) for place, x in zip(mode.places, fact, strict=True) if place.kind == "-"}
        known |= new


def rows_of(found: Saturated, bias: Bias, seed: int) -> list[Row]:
    here = np.flatnonzero(found.seed == seed)
    rows = []
    for i in here.tolist():
        mode = int(found.mode[i])
        width = bias.body[mode].arity
        arguments = found.arguments[i].tolist()
        assert arguments[width:] == [-1] * (len(arguments) - width)
        rows.append((int(found.depth[i]), mode, width, tuple(arguments[:width])))
    return rows


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1])
def test_facts_are_those_that_modes_reach(seed: int) -> None:
    rng = random.Random(seed)
    facts = random_facts(rng)
    catalog, layout = load(facts, [("t0", "t1"), ("t1", "t2"), ("t2", "t2")])
    ids = {kind: constants(catalog, layout, kind) for kind in ("t", "u")}
    rows = encoded(facts, ids)
    _, arguments, example = target_atoms(catalog, layout)
    for _ in range(3):
        bias = random_modes(rng)
        for depth in (1, 3):
            found = saturate(catalog.engine, layout, bias, arguments, example, depth)
            for i, head in enumerate(arguments.tolist()):
                assert rows_of(found, bias, i) == sorted(around(bias, tuple(head), rows, depth))
            assert (np.diff(found.seed) >= 0).all()


def test_facts_of_other_examples_are_not_reached() -> None:
    rng = random.Random(11)
    facts = random_facts(rng, ["e0", "e1"])
    catalog, layout = load(facts, [("e0", "t0", "t1"), ("e1", "t0", "t1")], examples=True)
    ids = {kind: constants(catalog, layout, kind) for kind in ("t", "u")}
    _, arguments, example = target_atoms(catalog, layout)
    examples = {
        int(e): name
        for e, name in catalog.engine.connection.sql(
            f'SELECT example, name FROM "{layout.examples.catalog}"."{layout.examples.schema}"."{layout.examples.name}"'
        ).fetchall()
    }
    bias = random_modes(rng)
    found = saturate(catalog.engine, layout, bias, arguments, example, 2)
    for i, head in enumerate(arguments.tolist()):
        rows = encoded(facts, ids, examples[int(example[i])])
        assert rows_of(found, bias, i) == sorted(around(bias, tuple(head), rows, 2))


def crowd() -> Facts:
    facts: Facts = {name: {tuple(f"{kind}0" for kind in kinds)} for name, kinds in TYPES.items()}
    facts["P"] = {(f"t{i}", f"t{j}") for i in range(9) for j in range(9)}
    return facts


def test_the_mode_that_explodes_is_named() -> None:
    catalog, layout = load(crowd(), [("t0", "t1")])
    bias = parse_bias(
        ":- modeh(1, 'Target'(+t, +t)).\n:- modeb(*, 'Q'(+t, -u)).\n:- modeb(*, 'P'(+t, -t)).", source="my.modes"
    )
    _, arguments, example = target_atoms(catalog, layout)
    with pytest.raises(GroundingLimitError) as caught:
        saturate(catalog.engine, layout, bias, arguments[:2], example[:2], 2, limit=50)
    text = str(caught.value)
    assert text.startswith("my.modes:3: the mode *, P(+t,-t) explodes: at depth 2 it reaches 135 facts around 2 atoms")
    assert "the limit is 50 for all modes" in text


def test_one_query_a_depth(monkeypatch: pytest.MonkeyPatch) -> None:
    catalog, layout = load(crowd(), [("t0", "t1")])
    bias = parse_bias(":- modeh(1, 'Target'(+t, +t)). :- modeb(*, 'P'(+t, -t)). :- modeb(*, 'Q'(+t, -u)).")
    _, arguments, example = target_atoms(catalog, layout)
    fetch, steps = catalog.engine.fetch, list[str]()

    def noted(query: exp.Expr, *, step: str) -> pa.Table:
        steps.append(step)
        return fetch(query, step=step)

    monkeypatch.setattr(catalog.engine, "fetch", noted)
    for seeds in (arguments, arguments[:5]):
        saturate(catalog.engine, layout, bias, seeds, example[: len(seeds)], 2)
    assert steps == ["saturate at depth 1", "saturate at depth 2"] * 2
