"""Atoms that rules reach and no list has, against the enumeration of all groundings; seven programs of up to thirty rules take a second or two."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace

import pytest
from sqlglot import exp

from sqlrl.errors import MissingAtomError
from sqlrl.ground.program import Extent
from sqlrl.ground.unlisted import check_listed, reached_atoms
from sqlrl.logic.psl import LogicalRule, SoftModel
from sqlrl.logic.psl_files import parse_psl
from sqlrl.logic.terms import Constant, Literal
from tests.ground.soft_worlds import World, _bindings, _holds, _name, _names, random_world
from tests.ground.test_hinges import RULES

Found = dict[tuple[str, tuple[str, ...]], int]
"""Atoms with the first rule that reaches each."""

LOGICAL = [text for text in RULES if isinstance(parse_psl(text).rules[0], LogicalRule)]
MORE = """
1: D(A) & Q(B) -> P(A, B) | R(B, A) ^2
2: R(A, B) & V(B, C) -> Q(C) | D(C)
1: P(A, B) -> R(B, A) | V(A, B) ^2
1: Q(A) & C(A, B) -> Q(B)
0.5: D(A) -> R(A, B) | Q(A)
R(A, B) & Q(B) & A != B -> P(B, A) .
""".strip().splitlines()


def reached(world: World, model: SoftModel, *, observed_bodies: bool = False) -> Found:
    """Return the atoms that groundings reach and no list has."""
    found: Found = {}
    for number, rule in enumerate(model.rules):
        if isinstance(rule, LogicalRule):
            for atom in _of_rule(world, rule, observed_bodies=observed_bodies):
                found.setdefault(atom, number)
    return found


def _of_rule(world: World, rule: LogicalRule, *, observed_bodies: bool) -> Iterator[tuple[str, tuple[str, ...]]]:
    atoms = [(i, x) for i, x in enumerate(rule.clause) if isinstance(x, Literal)]
    names = list(dict.fromkeys(n for _, x in atoms for n in _names(x.terms)))
    left = set(names) - {n for _, x in atoms if not x.positive for n in _names(x.terms)}
    having = [x for _, x in atoms if x.positive and left & set(_names(x.terms))]
    # A variable of one literal alone ranges over what there is of it.
    alone = next(
        (
            x
            for x in having
            if len(having) == 1 and world.data[x.predicate].atoms is not None and left <= set(_names(x.terms))
        ),
        None,
    )
    for binding in _bindings(world, names):
        if any(_holds(world, x, binding) for x in rule.clause if not isinstance(x, Literal)):
            continue
        missing, grounded = [], True
        for i, x in atoms:
            data, row = world.data[x.predicate], tuple(_name(t, binding) for t in x.terms)
            listed = row in (data.atoms or ()) and not (observed_bodies and i < len(rule.body))
            there = listed or row in data.known
            if not x.positive:
                grounded &= listed or data.known.get(row, 0.0) > 0
            elif data.known.get(row, 0.0) >= 1 or (x == alone and not there):
                grounded = False
            elif data.atoms is not None and not there:
                missing.append((x.predicate, row))
        if grounded:
            yield from missing


def fixpoint(world: World, model: SoftModel, *, observed_bodies: bool = False) -> World:
    """Return the world in which all that rules reach is listed."""
    while found := reached(world, model, observed_bodies=observed_bodies):
        data = {
            name: each
            if each.atoms is None
            else replace(each, atoms=(*each.atoms, *sorted(row for n, row in found if n == name)))
            for name, each in world.data.items()
        }
        world = replace(world, data=data)
    return world


def programs(seed: int) -> Iterator[SoftModel]:
    """Yield random programs of some rules each, and one of all."""
    rng, every = random.Random(seed), [*LOGICAL, *MORE]
    yield parse_psl("\n".join(every))
    for _ in range(6):
        yield parse_psl("\n".join(rng.sample(every, rng.randint(1, 4))))


@pytest.mark.parametrize("observed_bodies", [False, True])
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 8))])
def test_the_first_atom_that_no_list_has_is_an_error(seed, observed_bodies):
    world = random_world(seed)
    for model in programs(seed):
        found = reached(world, model, observed_bodies=observed_bodies)
        soft = world.program(model, observed_bodies=observed_bodies)
        if not found:
            check_listed(soft, Extent(soft.program))
            continue
        with pytest.raises(MissingAtomError) as error:
            check_listed(soft, Extent(soft.program))
        rule = min(found.values())
        name, row = min(atom for atom, first in found.items() if first == rule)
        atom = str(Literal(name, tuple(map(Constant, row))))
        assert (error.value.atom, error.value.count, error.value.rule) == (atom, len(found), rule)
        assert str(model.rules[rule]) in str(error.value)
        # The first rules alone are looked at where the others are nobody's.
        for count in range(len(model.rules)):
            if any(first < count for first in found.values()):
                with pytest.raises(MissingAtomError) as error:
                    check_listed(soft, Extent(soft.program), rules=count)
                assert error.value.atom == atom
                assert error.value.count == sum(first < count for first in found.values())
            else:
                check_listed(soft, Extent(soft.program), rules=count)


@pytest.mark.parametrize("observed_bodies", [False, True])
@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 9))])
def test_what_rules_reach_is_opened_until_they_reach_no_more(seed, observed_bodies):
    world = random_world(seed)
    for model in programs(seed):
        whole = fixpoint(world, model, observed_bodies=observed_bodies)
        expected = {
            name: sorted(set(whole.data[name].atoms or ()) - set(each.atoms or ())) for name, each in world.data.items()
        }
        found = reached_atoms(world.program(model, observed_bodies=observed_bodies))
        rows = {name: [tuple(row.values()) for row in table.to_pylist()] for name, table in found.items()}
        assert rows == {name: each for name, each in expected.items() if each}


def test_scratch_tables_are_dropped():
    world = random_world(1)
    soft = world.program(parse_psl("\n".join([*LOGICAL, *MORE])))
    listed = exp.select("table_name").from_("information_schema.tables").order_by("table_name")
    before = soft.engine.fetch(listed, step="test")
    assert reached_atoms(soft)
    with pytest.raises(MissingAtomError):
        check_listed(soft, Extent(soft.program))
    assert soft.engine.fetch(listed, step="test").equals(before)
