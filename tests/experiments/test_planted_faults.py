"""Planted faults: what each is, and by plain enumeration that data follow the correct rules and speak against the faulty ones."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import product

import numpy as np
import planted_faults
import pytest
from planted_faults import CONCLUDED, HALF, KINDS, NOISE, RULES, TYPES, Fault, PlantedFaults, draw_faults, plant
from relations import Relations

MARKED = 0.1
"""The share of groundings from which on a clause is marked."""

SEEDS = range(2)


@pytest.fixture(scope="module")
def planted() -> Sequence[PlantedFaults]:
    return [plant(seed, held_out=1) for seed in SEEDS]


# ---- the faults ------------------------------------------------------------------------------------------------------


def literals(rule: str) -> list[tuple[bool, str, tuple[str, ...]]]:
    """The literals of a rule as a clause: sign, predicate, arguments."""
    body, _, head = rule.partition(" => ")
    found = []
    for text, turned in [*((x, True) for x in body.split(" ^ ")), (head, False)]:
        name, arguments = re.fullmatch(r"!?(\w+)\((.*)\)", text).groups()  # type: ignore[union-attr]
        found.append((text.startswith("!") == turned, name, tuple(x.strip() for x in arguments.split(","))))
    return found


def drawn(kind: str) -> Iterator[tuple[Fault, Counter[object], Counter[object]]]:
    """The faults of a kind for many seeds: the literals that only the correct, and only the faulty rule has."""
    for seed in range(60):
        (fault,) = (x for x in draw_faults(np.random.default_rng(seed)) if x.kind == kind)
        one, other = Counter(literals(fault.correct)), Counter(literals(fault.faulty))
        yield fault, one - other, other - one


def test_each_fault_is_in_a_rule_of_its_own() -> None:
    found = [draw_faults(np.random.default_rng(seed)) for seed in range(60)]
    for faults in found:
        assert sorted(x.kind for x in faults) == sorted(KINDS)
        assert [x.place for x in faults] == sorted({x.place for x in faults})
        assert all(RULES[x.place].text == x.correct for x in faults)
    # Seeds change which rule has which fault; each rule has one at times.
    assert len({tuple((x.kind, x.place) for x in faults) for faults in found}) > 40
    assert {x.place for faults in found for x in faults} == set(range(len(RULES)))
    for kind in KINDS:
        assert len({x.faulty for faults in found for x in faults if x.kind == kind}) > 2


def test_a_literal_is_too_many() -> None:
    for _, lost, gained in drawn("surplus"):
        ((sign, name, arguments),) = gained
        assert not lost
        assert (sign, arguments, TYPES[name]) == (False, ("x",), ("machine",))


@pytest.mark.parametrize("kind", ["missing", "half"])
def test_a_literal_of_the_body_is_missing(kind: str) -> None:
    for fault, lost, gained in drawn(kind):
        ((sign, name, _),) = lost
        assert not gained
        assert not sign
        assert (name == HALF) == (kind == "half")
        assert name != "Site"
        # Something is left to follow from.
        assert not fault.faulty.startswith("=>")


def test_a_sign_of_one_of_two_literals_of_a_body_is_flipped() -> None:
    for fault, lost, gained in drawn("sign"):
        ((sign, *atom),), ((other, *same),) = lost, gained
        assert atom == same
        assert (sign, other) == (False, True)
        assert len(literals(fault.correct)) == 3
        assert literals(fault.correct)[-1] == literals(fault.faulty)[-1]


def test_a_constant_is_another_one() -> None:
    for _, lost, gained in drawn("constant"):
        ((sign, name, (machine, site)),), ((same, too, (also, other)),) = lost, gained
        assert (sign, name, machine) == (same, too, also)
        assert {site, other} == {"North", "South"}


def test_the_two_models_differ_in_their_faults_alone(planted: Sequence[PlantedFaults]) -> None:
    for found in planted:
        correct, faulty = found.correct.rules, found.faulty.rules
        assert len(correct) == len(faulty) == len(RULES) + len(CONCLUDED)
        assert {k for k, (one, other) in enumerate(zip(correct, faulty, strict=True)) if one.formula != other.formula} == {
            fault.place for fault in found.faults
        }  # fmt: skip
        assert [x.weight for x in correct] == [x.weight for x in faulty]


# ---- the data --------------------------------------------------------------------------------------------------------


def bins(rule: str, data: Relations) -> Mapping[str, tuple[float, float]]:
    """By predicate the shares of groundings in which a clause applies and is wrong, and does not apply and would be right.

    The atoms of each literal are taken in turn; no clause here has two of one predicate.
    """
    clause = literals(rule)
    variables = sorted({x for _, _, arguments in clause for x in arguments if x in ("x", "y")})
    tally: dict[str, list[int]] = {name: [0, 0, 0] for _, name, _ in clause}
    assert len(tally) == len(clause)
    for facts in data.areas.values():
        true = {name: set(rows) for name, rows in facts.items()}
        machines = sorted({row[0] for row in facts["Site"]})
        for values in product(machines, repeat=len(variables)):
            bound = dict(zip(variables, values, strict=True))
            atoms = [tuple(bound.get(x, x) for x in arguments) in true[name] for _, name, arguments in clause]
            meets = [sign == value for (sign, _, _), value in zip(clause, atoms, strict=True)]
            for k, (sign, name, _) in enumerate(clause):
                others = any(meets[:k] + meets[k + 1 :])
                tally[name][0] += not others and sign != atoms[k]
                tally[name][1] += others and sign == atoms[k]
                tally[name][2] += 1
    return {name: (bad / total, missed / total) for name, (bad, missed, total) in tally.items()}


def test_every_fault_is_marked_in_the_direction_that_mends_it(planted: Sequence[PlantedFaults]) -> None:
    for found in planted:
        for fault in found.faults:
            shares = bins(fault.faulty, found.train).values()
            general, specific = max(x for x, _ in shares), max(x for _, x in shares)
            if fault.kind in ("missing", "half"):
                assert general > MARKED, fault
            elif fault.kind == "surplus":
                assert specific > MARKED, fault
            else:
                assert max(general, specific) > MARKED, fault


def likelihood(rule: str, data: Relations) -> float:
    """The log-likelihood for each atom of a rule's head, if its probability depends on the body alone."""
    *body, (_, head, variables) = literals(rule)
    tally: Counter[tuple[bool, bool]] = Counter()
    for facts in data.areas.values():
        true = {name: set(rows) for name, rows in facts.items()}
        for values in product(sorted({row[0] for row in facts["Site"]}), repeat=len(variables)):
            bound = dict(zip(variables, values, strict=True))
            said = all((tuple(bound.get(x, x) for x in xs) in true[name]) != sign for sign, name, xs in body)
            tally[said, values in true[head]] += 1
    total = sum(n * np.log(n / (tally[said, True] + tally[said, False])) for (said, _), n in tally.items())
    return float(total / sum(tally.values()))


def test_correct_rules_explain_data_better_than_faulty_ones_whatever_the_weights(
    planted: Sequence[PlantedFaults],
) -> None:
    for found in planted:
        for fault in found.faults:
            # A structure learner takes .01 off for a literal.
            assert likelihood(fault.correct, found.train) > likelihood(fault.faulty, found.train) + 0.05, fault


def test_data_follow_the_correct_rules_but_for_noise(planted: Sequence[PlantedFaults]) -> None:
    violated: dict[str, list[float]] = {rule.text: [] for rule in RULES}
    for found in planted:
        for data in (found.train, found.held_out):
            for rule, shares in violated.items():
                ((share, _), *_) = bins(rule, data).values()
                shares.append(share)
    for rule, shares in violated.items():
        # Where the body is true a coin is wrong half of the time.
        assert 0.002 < np.mean(shares) < NOISE / 2, rule
        assert max(shares) <= 0.2


def test_a_conclusion_is_true_where_its_rule_says_so_or_a_coin() -> None:
    found = plant(4, train=1, held_out=1)
    for area, facts in {**found.train.areas, **found.held_out.areas}.items():
        known = planted_faults.draw_skeleton((4, 1, int(area[-2:])), 16).known
        true = {name: set(rows) for name, rows in facts.items()}
        machines = [f"m{k:02d}" for k in range(16)]
        for rule in RULES:
            *body, (_, head, variables) = literals(rule.text)
            for values in product(machines, repeat=len(CONCLUDED[head])):
                bound = dict(zip(variables, values, strict=True))
                said = all(tuple(bound.get(x, x) for x in arguments) in true[name] for _, name, arguments in body)
                assert (values in true[head]) == known[head].get(values, said), (rule, values)


def test_half_of_all_machines_are_presses_and_parts_share_no_example() -> None:
    found = plant(7, train=1, held_out=2, machines=10)
    assert [*found.train.areas, *found.held_out.areas] == ["plant00", "plant01", "plant02"]
    for facts in {**found.train.areas, **found.held_out.areas}.values():
        assert len(facts[HALF]) == 5
        assert Counter(site for _, site in facts["Site"]) == {"North": 4, "South": 4, "West": 2}
        assert len({machine for machine, _ in facts["Site"]}) == 10


def test_the_same_seed_gives_the_same_and_more_examples_the_same_first_ones() -> None:
    one, same, more, other = (plant(seed, train, 1, machines=10) for seed, train in ((3, 1), (3, 1), (3, 2), (5, 1)))
    assert one == same
    assert one.train.areas == {name: more.train.areas[name] for name in one.train.areas}
    assert one.held_out.areas["plant01"] == more.train.areas["plant01"]
    assert one.faults != other.faults
    assert one.train != other.train


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"machines": 9}, "machines=9: half of them are presses, so give an even number, 10 or more"),
        ({"machines": 8}, "machines=8"),
        ({"train": 0}, "train=0: give the number of examples, 1 or more"),
        ({"held_out": 0}, "held_out=0"),
    ],
)
def test_sizes_that_make_no_sense_are_refused(arguments: dict[str, int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        plant(0, **arguments)


def test_all_facts_are_observed() -> None:
    found = plant(1, train=1, held_out=1, machines=10)
    db = found.train.load()
    for name in TYPES:
        rows = {(area, *row) for area, facts in found.train.areas.items() for row in facts[name]}
        assert set(db.sql(f"from sqlrl.named_{name}").fetchall()) == rows
