"""Joins that meet nothing: predicates that rules join, and that share no constant where they are joined."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from sqlrl.catalog.layout import Layout, PredicateInfo, TableName
from sqlrl.catalog.similar_names import look_alike, shown_form
from sqlrl.engine.base import QueryEngine
from sqlrl.engine.nodes import column, integer, named, table, union_all
from sqlrl.errors import Parameter, Written
from sqlrl.ground.program import BoundFeature
from sqlrl.logic.model import Rule
from sqlrl.logic.shapes import Shape, ShapeLiteral
from sqlrl.logic.witnesses import HELPER_PREFIX

_FEW = 1000
"""Rows of one side that are looked for in the other before all are: mostly one of them is there."""

_COMPARED = 20_000
"""Constants of each side among which two that look alike are looked for."""

_SHOWN = 3


@dataclass(frozen=True, slots=True, order=True)
class JoinedArgument:
    """An argument of a predicate, by its place from 0, and the table whose constants it has there."""

    predicate: str
    place: int
    table: TableName


Joins = dict[tuple[JoinedArgument, JoinedArgument], Rule]
"""Arguments that rules join, each pair with the first rule that does."""


def joined_arguments(features: Iterable[BoundFeature], layout: Layout, *, training: bool) -> Joins:
    """Return the pairs of arguments of two predicates that rules join and that have constants to compare."""
    found: Joins = {}
    seen: set[Shape] = set()
    for feature in features:
        if feature.rule is None:
            continue
        for instance in feature.instances:
            if instance.shape not in seen:
                seen.add(instance.shape)
                for pair in _pairs(instance.shape, layout, training=training):
                    found.setdefault(pair, feature.rule)
    return found


def _pairs(shape: Shape, layout: Layout, *, training: bool) -> Iterator[tuple[JoinedArgument, JoinedArgument]]:
    """Yield the pairs of a shape's arguments that have one variable, the lesser of each pair first."""
    places: dict[int, list[tuple[bool, JoinedArgument]]] = {}
    for literal in shape.literals:
        # What a quantifier comes to is nobody's facts.
        info = None if literal.predicate.startswith(HELPER_PREFIX) else layout.predicates.get(literal.predicate)
        constants = _constants(info, literal, training=training) if info is not None else None
        if info is None or constants is None:
            continue
        for place, slot in enumerate(literal.terms):
            if not slot.parameter:
                argument = JoinedArgument(literal.predicate, place, constants)
                places.setdefault(slot.index, []).append((info.open, argument))
    for arguments in places.values():
        for i, (one_open, one) in enumerate(arguments):
            for other_open, other in arguments[:i]:
                if one.predicate != other.predicate and not (one_open and other_open):
                    yield (one, other) if one < other else (other, one)


def _constants(info: PredicateInfo, literal: ShapeLiteral, *, training: bool) -> TableName | None:
    """Return the table that has the constants of a literal's predicate, None if it joins nothing or has none."""
    if not info.open:
        # A positive literal is negated in the body of its rule, and joins nothing.
        return info.facts if info.rows and not literal.positive else None
    if not info.full_scope:
        # Given atoms are in another table, and one of them may be what is met.
        return info.atoms if info.atom_count and not info.has_given else None
    # Without a scope a predicate to predict has only its labels, in training.
    return info.facts if training and info.rows else None


def unmet(
    engine: QueryEngine, layout: Layout, pairs: Sequence[tuple[JoinedArgument, JoinedArgument]]
) -> list[tuple[JoinedArgument, JoinedArgument]]:
    """Return the pairs of arguments that share no constant; labels count only if no evidence of the type has any of them."""
    bare = [pairs[i] for i in disjoint_pairs(engine, pairs)] if pairs else []
    # Labels mostly list what is true, of few constants: that these are not in one predicate says little.
    strangers: dict[JoinedArgument, bool] = {}
    for pair in bare:
        for each in pair:
            info = layout.predicates[each.predicate]
            if info.open and each.table == info.facts and each not in strangers:
                evidence = _evidence(layout, layout.type_of(each.predicate, each.place))
                strangers[each] = len(disjoint_pairs(engine, [(each, other) for other in evidence])) == len(evidence)
    return [pair for pair in bare if all(strangers.get(each, True) for each in pair)]


def _evidence(layout: Layout, kind: str) -> list[JoinedArgument]:
    """Return the arguments of a type of all evidence."""
    return [
        JoinedArgument(name, place, info.facts)
        for name, info in sorted(layout.predicates.items())
        if not info.open and info.rows and not name.startswith(HELPER_PREFIX)
        for place, each in enumerate(info.types)
        if each == kind
    ]


def disjoint_pairs(engine: QueryEngine, pairs: Sequence[tuple[JoinedArgument, JoinedArgument]]) -> list[int]:
    """Return the places of the pairs that share no constant, by one query, and another one if some may not."""
    left = [i for i, shares in enumerate(_share(engine, pairs, few=True)) if not shares]
    if not left:
        return []
    sure = _share(engine, [pairs[i] for i in left], few=False)
    return [i for i, shares in zip(left, sure, strict=True) if not shares]


def _share(engine: QueryEngine, pairs: Sequence[tuple[JoinedArgument, JoinedArgument]], *, few: bool) -> list[bool]:
    """Return for each pair whether its arguments share a constant; with `few` only the first rows of one are looked for."""
    columns = []
    for number, (one, other) in enumerate(pairs):
        ids = exp.select(column(f"a{one.place}")).from_(table(one.table))
        ids = ids.limit(_FEW) if few else ids
        shared = exp.select(integer(1)).from_(table(other.table))
        shared = shared.where(exp.In(this=column(f"a{other.place}"), query=ids.subquery()))
        columns.append(named(exp.Exists(this=shared), f"s{number}"))
    data = engine.fetch(exp.select(*columns), step="look for constants that joins share")
    return [bool(data.column(i)[0].as_py()) for i in range(len(pairs))]


def unshared(engine: QueryEngine, layout: Layout, joins: Mapping[tuple[JoinedArgument, JoinedArgument], Rule]) -> str:
    """Return what to say of joins whose arguments share no constant: the predicates, the type, and a constant of each."""
    texts = []
    # Of several arguments of one type the first pair says enough.
    first_of: dict[tuple[str, str, str], tuple[JoinedArgument, JoinedArgument, Rule]] = {}
    for (one, other), rule in joins.items():
        kind = layout.type_of(one.predicate, one.place)
        first_of.setdefault((one.predicate, other.predicate, kind), (one, other, rule))
    for (_, _, kind), (one, other, rule) in list(first_of.items())[:_SHOWN]:
        first, second = _examples(engine, layout, kind, one, other)
        why = look_alike(first, second)
        where = f" ({rule.place})" if rule.place else ""
        texts.append(
            f"{one.predicate} and {other.predicate}{where} share no constant of the type {kind}: {one.predicate} has {first!r}, and "
            f"{other.predicate} {second!r}{f', {why}' if why else ''}"
        )
    more = f"; and {len(first_of) - _SHOWN:,} more pairs" if len(first_of) > _SHOWN else ""
    return (
        f"rules join predicates whose facts do not meet: {'; '.join(texts)}{more}. Such a rule says nothing: write the constants alike "
        f"({Parameter('constants', Written('{...}'))} and {Parameter('fold_case')} of load rename them), or check the types and the order of the columns"
    )


def _examples(
    engine: QueryEngine, layout: Layout, kind: str, one: JoinedArgument, other: JoinedArgument
) -> tuple[str, str]:
    """Return a constant of each of two arguments: two that look alike but for their case, if there are such."""
    dictionary = layout.types[kind].dictionary

    def names(argument: JoinedArgument, side: int) -> exp.Select:
        place = column(f"a{argument.place}")
        ids = exp.select(place).distinct().from_(table(argument.table)).order_by(place.copy()).limit(_COMPARED)
        query = exp.select(column("name", "d"), named(integer(side), "side")).from_(table(dictionary, "d"))
        return query.where(exp.In(this=column("id", "d"), query=ids.subquery()))

    # They are compared here: not every engine knows how letters look.
    both = union_all(names(each, side) for side, each in enumerate((one, other)))
    found = engine.fetch(both, step="find constants that look alike")
    sides: tuple[list[str], list[str]] = ([], [])
    for name, side in zip(found.column(0).to_pylist(), found.column(1).to_pylist(), strict=True):
        sides[side].append(name)
    first, second = ({shown_form(name): name for name in sorted(each, reverse=True)} for each in sides)
    alike = [(first[shown], second[shown]) for shown in first.keys() & second.keys()]
    return min(alike) if alike else (min(sides[0]), min(sides[1]))
