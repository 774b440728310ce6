"""The synthetic universities and companies: skeletons and worlds by hand, plain sets, and how well rules say what is tested."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest
from organisations import (
    ACADEMIC,
    ACADEMIC_TO_INDUSTRIAL,
    DOMAINS,
    INDUSTRIAL,
    TESTED,
    TRUE_ATOMS,
    draw_skeleton,
    generate,
)
from relations import Relations
from skeletons import Domain, Skeleton, complete, true_atoms

from sqlrl.evaluate import average_precision

DOMAIN = pytest.mark.parametrize("domain", DOMAINS.values(), ids=list(DOMAINS))
LINKS = {"academic": ("AdvisedBy", "Publication", "Area"), "industrial": ("SupervisedBy", "Project", "Department")}


@pytest.fixture(scope="module")
def many() -> Mapping[str, Relations]:
    return {name: generate(domain, 11, 32) for name, domain in DOMAINS.items()}


# ---- the two models --------------------------------------------------------------------------------------------------


def literals(line: str) -> frozenset[str]:
    """The literals of a rule of these domains, as a clause: those before the arrow with the other sign."""
    body, arrow, head = line.partition(" => ")
    if not arrow:
        return frozenset(body.split(" v "))
    turned = (x.removeprefix("!") if x.startswith("!") else f"!{x}" for x in body.split(" ^ "))
    return frozenset((*turned, *head.split(" v ")))


def clauses(domain: Domain, names: Mapping[str, str]) -> list[frozenset[str]]:
    lines = [line.split(" ", 1)[1] for line in domain.rules.strip().splitlines()]
    return [literals(re.sub(r"\w+(?=\()", lambda x: names.get(x[0], x[0]), line)) for line in lines]


def test_the_mapping_keeps_arities_and_types() -> None:
    kinds: dict[str, str] = {}
    for source, target in ACADEMIC_TO_INDUSTRIAL.items():
        pairs = zip(ACADEMIC.types[source], INDUSTRIAL.types[target], strict=True)
        assert all(kinds.setdefault(one, other) == other for one, other in pairs)
    assert set(ACADEMIC_TO_INDUSTRIAL) == set(ACADEMIC.types)
    assert set(INDUSTRIAL.types) - set(ACADEMIC_TO_INDUSTRIAL.values()) == {"Secretary", "AssistedBy"}


def test_companies_differ_from_mapped_universities_in_the_ways_named() -> None:
    mapped, theirs = clauses(ACADEMIC, ACADEMIC_TO_INDUSTRIAL), clauses(INDUSTRIAL, {})
    assert len(set(mapped)) == len(mapped)
    assert len(set(theirs)) == len(theirs)
    same = set(mapped) & set(theirs)
    longest = {x for x in set(mapped) - same if any(x < y and len(y) == len(x) + 2 for y in theirs)}
    longer = {x for x in set(mapped) - same - longest if any(x < y and len(y) == len(x) + 1 for y in theirs)}
    shorter = {x for x in set(mapped) - same - longer if any(x > y and len(x) == len(y) + 1 for y in theirs)}
    flipped = {x for x in set(mapped) - same if any(_without_signs(x) == _without_signs(y) for y in theirs)} - longest
    assert (len(same), len(longer), len(longest), len(shorter), len(flipped)) == (9, 6, 1, 1, 1)
    assert len(mapped) == 18
    assert same | longer | longest | shorter | flipped == set(mapped)
    assert sum(any("Secretary" in z or "AssistedBy" in z for z in x) for x in theirs) == 8


def _without_signs(clause: frozenset[str]) -> set[str]:
    return {x.removeprefix("!") for x in clause}


@DOMAIN
def test_no_sum_of_weights_is_rounded(domain: Domain) -> None:
    weights = [float(line.split(" ", 1)[0]) for line in domain.rules.strip().splitlines()]
    assert all((8 * weight).is_integer() for weight in weights)
    assert [rule.weight for rule in domain.model().rules] == weights


# ---- worlds by hand --------------------------------------------------------------------------------------------------

COMPANY: Mapping[str, Mapping[tuple[str, ...], bool]] = {
    "Chair": {("c",): True},
    "Employee": {("e",): True, ("f",): True},
    "Intern": {("i",): True},
    "Secretary": {("s",): True},
    "SupervisedBy": {},
    "AssistedBy": {},
    "Project": {("w", "e"): True, ("w", "i"): True},
    "Department": {},
}
"""A chair, two employees, an intern with a project of the first one's, and a secretary."""

ALL = {
    "SupervisedBy": {("e", "c"), ("f", "c"), ("i", "e")},
    "AssistedBy": {("c", "s")},
    "Project": {("w", "e"), ("w", "i")},
    "Department": set(),
}
"""The most probable world of it, and below what differs from it."""


def company(**known: Mapping[tuple[str, ...], bool]) -> Skeleton:
    constants = {"person": ("c", "e", "f", "i", "s"), "project": ("w",), "department": ("u",)}
    return Skeleton(constants, {name: {**rows, **known.get(name, {})} for name, rows in COMPANY.items()})


WORLDS: Mapping[str, tuple[Skeleton, Mapping[str, set[tuple[str, ...]]]]] = {
    "plain": (company(), {}),
    "no secretary of the chair": (company(AssistedBy={("c", "s"): False}), {"AssistedBy": set()}),
    # The intern cannot have two supervisors, and what the known one is on is what the intern is on.
    "another supervisor": (
        company(SupervisedBy={("i", "f"): True}),
        {
            "SupervisedBy": {("e", "c"), ("f", "c"), ("i", "f")},
            "Project": {("w", "e"), ("w", "i"), ("w", "f")},
        },
    ),
    "not that one on it": (
        company(SupervisedBy={("i", "f"): True}, Project={("w", "f"): False}),
        {"SupervisedBy": {("e", "c"), ("f", "c"), ("i", "f")}},
    ),
    "a department": (company(Department={("u", "e"): True}), {"Department": {("u", "e"), ("u", "i")}}),
    "not supervised by the chair": (
        company(SupervisedBy={("e", "c"): False}),
        {"SupervisedBy": {("f", "c"), ("i", "e")}},
    ),
    "nothing shared": (company(Project={("w", "i"): False}), {"SupervisedBy": {("e", "c"), ("f", "c")}, "Project": {("w", "e")}}),
}  # fmt: skip


def test_worlds_of_many_companies_are_those_by_hand() -> None:
    found = complete(INDUSTRIAL, {name: skeleton for name, (skeleton, _) in WORLDS.items()}).areas
    for name, (skeleton, differs) in WORLDS.items():
        for predicate, rows in {**ALL, **differs}.items():
            assert set(found[name][predicate]) == rows, (name, predicate)
        for predicate in ("Chair", "Employee", "Intern", "Secretary"):
            assert set(found[name][predicate]) == set(skeleton.known[predicate])


# ---- mega-examples ---------------------------------------------------------------------------------------------------


@DOMAIN
def test_the_first_ones_are_the_same_whatever_their_number(domain: Domain) -> None:
    two = generate(domain, 5, 2)
    assert list(two.areas) == ["org000", "org001"]
    assert generate(domain, 5, 1).areas == {"org000": two.areas["org000"]}
    assert generate(domain, 6, 1).areas["org000"] != two.areas["org000"] != two.areas["org001"]
    with pytest.raises(ValueError, match="count=0: give the number of organisations, 1 or more"):
        generate(domain, 5, 0)


@DOMAIN
def test_worlds_have_what_their_skeletons_say(domain: Domain, many: Mapping[str, Relations]) -> None:
    kind = list(DOMAINS).index(domain.name)
    unspecified = 0
    for k, facts in enumerate(many[domain.name].areas.values()):
        skeleton = draw_skeleton(domain, np.random.default_rng((11, kind, k)))
        for predicate, rows in skeleton.known.items():
            true = set(facts[predicate])
            assert all((row in true) == truth for row, truth in rows.items())
            unspecified += len(true - rows.keys())
            assert len(domain.types[predicate]) == 2 or true == rows.keys()
            for row in true:
                assert all(x in skeleton.constants[t] for x, t in zip(row, domain.types[predicate], strict=True))
    # About a tenth of what is true was found out.
    assert unspecified > 0.08 * sum(map(true_atoms, many[domain.name].areas.values()))


@DOMAIN
def test_true_atoms_are_as_many_as_in_the_paper(domain: Domain, many: Mapping[str, Relations]) -> None:
    sizes = [sum(len(set(rows)) for rows in facts.values()) for facts in many[domain.name].areas.values()]
    assert TRUE_ATOMS == (50, 150)
    assert 50 < min(sizes) < max(sizes) < 150
    assert 70 < np.mean(sizes) < 110


@DOMAIN
def test_links_follow_what_is_shared_and_not_always(domain: Domain, many: Mapping[str, Relations]) -> None:
    link, work, unit = LINKS[domain.name]
    junior, senior = ("Student", "Professor") if domain is ACADEMIC else ("Intern", "Employee")
    joint, apart, supervisors = [], [], []
    for facts in many[domain.name].areas.values():
        on: dict[str, set[str]] = {}
        for name, person in facts[work]:
            on.setdefault(person, set()).add(name)
        true = set(facts[link])
        assert not any((y, x) in true for x, y in true)
        for (x,) in facts[junior]:
            supervisors.append(sum(pair[0] == x for pair in true))
            for (y,) in facts[senior]:
                (joint if on.get(x, set()) & on.get(y, set()) else apart).append((x, y) in true)
    assert 0.3 < np.mean(joint) < 0.8
    assert 0.005 < np.mean(apart) < 0.1
    assert 0.4 < np.mean([x == 1 for x in supervisors]) < 0.8
    assert 0.0 < np.mean([x > 1 for x in supervisors]) < 0.1
    homes = [len([u for u, person in facts[unit] if person == x]) for facts in many[domain.name].areas.values() for (x,) in facts[junior]]  # fmt: skip
    assert 0.75 < np.mean([x == 1 for x in homes]) < 1.0


def test_secretaries_assist_the_chair_and_not_always(many: Mapping[str, Relations]) -> None:
    right = called = assisting = 0
    for facts in many["industrial"].areas.values():
        ((chair,),) = facts["Chair"]
        assist, secretaries = {y for x, y in facts["AssistedBy"] if x == chair}, {x for (x,) in facts["Secretary"]}
        right, called, assisting = (
            right + len(assist & secretaries),
            called + len(secretaries),
            assisting + len(assist),
        )
    assert 0.7 < right / called < 0.97
    assert 0.7 < right / assisting < 0.97


@pytest.mark.parametrize("target", TESTED)
def test_the_model_ranks_what_is_tested_well_and_not_perfectly(target: str, many: Mapping[str, Relations]) -> None:
    few = replace(many["industrial"], areas=dict(list(many["industrial"].areas.items())[:5]), target=target)
    found = few.load().predict(INDUSTRIAL.model((target,))).atoms(target, every=True)
    rows = zip(*(column.to_pylist() for column in found.columns), strict=True)
    truth = {(example, *row): value for example, *row, value in rows}
    labels = {(area, *row) for area, facts in few.areas.items() for row in facts[target]}
    # All people, also those of whom nothing else is known.
    assert truth.keys() == {(area, *row) for area in few.areas for row in few.pairs(area)}
    precision = average_precision([x in labels for x in truth], [float(x) for x in truth.values()])
    assert 3 * len(labels) / len(truth) < precision < 0.95


@DOMAIN
def test_all_facts_are_observed_without_a_target(domain: Domain, many: Mapping[str, Relations]) -> None:
    db = many[domain.name].load()
    for predicate in domain.types:
        rows = {(area, *row) for area, facts in many[domain.name].areas.items() for row in facts[predicate]}
        assert set(db.sql(f"from sqlrl.named_{predicate}").fetchall()) == rows
