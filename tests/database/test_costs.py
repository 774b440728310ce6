"""What a prediction costs, in two parts: of what it decides, and of what the evidence alone decides, each grounding by itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import product

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import sqlrl
from tests.effort import draws

PEOPLE = ("Ann", "Bob", "Cid")
PAIRS = st.sets(st.sampled_from(list(product(PEOPLE, repeat=2))), min_size=1, max_size=5)
SOME = st.sets(st.sampled_from(PEOPLE), min_size=1)
GIVEN = st.dictionaries(st.sampled_from(PEOPLE), st.booleans(), max_size=2)
WEIGHTS = st.lists(st.sampled_from([-2.0, -0.5, 0.25, 0.75, 1.5, 3.0]), min_size=5, max_size=5)
World = Mapping[str, bool]
Rule = Callable[[World], bool]

DECLARED = "Knows(person, person)\nIll(person)\nCoughs(person)\n"
RULES = [
    "Knows(x, y) ^ Coughs(x) => Coughs(y)",
    "Coughs(x) => Ill(x)",
    "Coughs(x) ^ Ill(x)",
    "Ill(x) v Coughs(x)",
    "Knows(x, y) ^ Ill(x) => Ill(y)",
]


def groundings(knows: set[tuple[str, str]], ill: set[str]) -> list[list[Rule]]:
    """Every grounding of the rules, by what it says of a world."""

    def spread(x: str, y: str) -> Rule:
        return lambda world: (x, y) not in knows or not world[x] or world[y]

    def single(x: str, test: Callable[[bool, bool], bool]) -> Rule:
        return lambda world: test(world[x], x in ill)

    pairs = list(product(PEOPLE, repeat=2))
    return [
        [spread(x, y) for x, y in pairs],
        [single(x, lambda c, i: not c or i) for x in PEOPLE],
        [single(x, lambda c, i: c and i) for x in PEOPLE],
        [single(x, lambda c, i: c or i) for x in PEOPLE],
        [lambda _, x=x, y=y: (x, y) not in knows or x not in ill or y in ill for x, y in pairs],  # type: ignore[misc]
    ]


def worlds(known: Mapping[str, bool]) -> Iterator[World]:
    unknown = [x for x in PEOPLE if x not in known]
    for bits in product([False, True], repeat=len(unknown)):
        yield {**known, **dict(zip(unknown, bits, strict=True))}


@pytest.mark.filterwarnings("ignore:rules join predicates whose facts do not meet")
@settings(max_examples=draws(30), deadline=None, phases=[Phase.generate])
@given(PAIRS, SOME, GIVEN, WEIGHTS, st.sampled_from(["full", "cutting-plane"]))
def test_what_a_world_costs(
    knows: set[tuple[str, str]], ill: set[str], known: dict[str, bool], weights: list[float], method: str
) -> None:
    db = sqlrl.connect(progress=False)
    db.load("Knows", sorted(knows), types=("person", "person"))
    db.load("Ill", [(x,) for x in sorted(ill)], types=("person",))
    db.load("All", [(x,) for x in PEOPLE], types=("person",))
    if known:
        db.load("Coughs", sorted(known.items()), types=("person",), truth=1, given=True)
    text = DECLARED + "\n".join(f"{w} {rule}" for w, rule in zip(weights, RULES, strict=True))
    prediction = db.predict(sqlrl.parse_mln(text, query=("Coughs",)), method=method)  # type: ignore[arg-type]
    world = dict(known)
    for row in prediction.atoms("Coughs", every=True).to_pylist():
        world[row["person"]] = row["truth"]
    every, opened, constant = list(worlds(known)), 0.0, 0.0
    for weight, rules in zip(weights, groundings(knows, ill), strict=True):
        for rule in rules:
            costs = abs(weight) * (rule(world) == (weight < 0))
            if len({rule(other) for other in every}) == 1:
                constant += costs
            else:
                opened += costs
    assert prediction.open_cost == pytest.approx(opened)
    assert prediction.constant_cost == pytest.approx(constant)
    assert prediction.cost == pytest.approx(opened + constant)
    (line,) = (line for line in str(prediction).splitlines() if line.strip().startswith("cost"))
    assert line.split()[1:] == (
        [f"{prediction.cost:.10g}", "=", f"{opened:.10g}", "+", "constant", f"{constant:.10g}"]
        if constant
        else [f"{opened:.10g}"]
    )


@pytest.mark.filterwarnings("ignore::sqlrl.errors.GroundingWarning")
@settings(max_examples=draws(30), deadline=None, phases=[Phase.generate])
@given(PAIRS, SOME, st.dictionaries(st.sampled_from(PEOPLE), st.sampled_from([0.0, 0.25, 0.75, 1.0]), max_size=2))
def test_what_truth_values_cost(knows: set[tuple[str, str]], ill: set[str], known: dict[str, float]) -> None:
    db = sqlrl.connect(progress=False)
    db.load("Knows", sorted(knows), types=("person", "person"))
    db.load("Ill", [(x,) for x in sorted(ill)], types=("person",))
    if known:
        db.load("Coughs", sorted(known.items()), types=("person",), value=1, given=True)
    asked = [x for x in PEOPLE if x not in known]
    db.scope("Coughs", [(x,) for x in asked])
    model = sqlrl.parse_psl(
        "2: Knows(A, B) & Coughs(A) -> Coughs(B)\n1.5: Ill(A) -> Coughs(A) ^2\n0.5: !Coughs(A)", query=["Coughs"]
    )
    found = db.predict(model)
    value = {**known, **{row["person"]: row["value"] for row in found.atoms("Coughs").to_pylist()}}
    parts = {True: 0.0, False: 0.0}
    for x, y in knows:
        parts[x in known and y in known] += 2 * max(0.0, value[x] - value[y])
    for x in ill:
        parts[x in known] += 1.5 * (1 - value[x]) ** 2
    for x in PEOPLE:
        parts[x in known] += 0.5 * value[x]
    assert found.constant_cost == pytest.approx(parts[True], abs=1e-9)
    assert found.open_cost == pytest.approx(parts[False], abs=1e-6)
    assert found.cost == found.objective == pytest.approx(sum(parts.values()), abs=1e-6)
    # Which of the two other programs print.
    assert ("PSL's objective has no constant" in str(found)) == bool(found.constant_cost)
