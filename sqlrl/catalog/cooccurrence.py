"""Types of arguments that nobody declares, from the constants that they share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import combinations

from sqlrl.catalog.similar_names import close_names
from sqlrl.errors import LoadError
from sqlrl.logic.evidence import EvidenceAtom
from sqlrl.logic.terms import Argument, Predicate
from sqlrl.wording import counted

SHARED = 0.25
"""Arguments have one type if they share this part of the constants of the one that has fewer: single ones may be shared by chance."""

Place = tuple[str, int]
"""An argument: a predicate and a position."""


def with_inferred_types(atoms: Iterable[EvidenceAtom], declared: Mapping[str, Predicate]) -> dict[str, Predicate]:
    """Return the declared predicates and those that atoms have beside them, with types inferred from shared constants."""
    arity: dict[str, EvidenceAtom] = {}
    columns: dict[Place, set[str]] = {}
    for atom in atoms:
        first = arity.setdefault(atom.predicate, atom)
        if len(first.constants) != len(atom.constants):
            raise LoadError(
                f"{atom.predicate} has {counted(len(first.constants), 'argument')} in line {first.line} and {len(atom.constants)} in line "
                f"{atom.line}: correct one of them, or declare it in a model."
            )
        for i, constant in enumerate(atom.constants):
            columns.setdefault((atom.predicate, i), set()).add(constant)
    new = sorted(arity.keys() - declared.keys())
    for name in new:
        near = close_names(name, declared)
        if near:
            raise LoadError(
                f"{name} is not declared; did you mean {near[0]!r}? If it is another predicate, declare it as well."
            )
    # Arguments that share constants, directly or by way of others, have one type: a declared one, else one named after the first of them.
    # If they tie two declared types together, each keeps to the type with which it shares most.
    types = _types(columns, {p: declared[p[0]].types[p[1]] for p in columns if _is_declared(p, declared)})
    found = dict(declared)
    for name in new:
        arguments = tuple(Argument(types[name, i]) for i in range(len(arity[name].constants)))
        found[name] = Predicate(name, arguments)
    return found


def _is_declared(place: Place, declared: Mapping[str, Predicate]) -> bool:
    return place[0] in declared and place[1] < len(declared[place[0]].types)


def _types(columns: Mapping[Place, set[str]], declared: Mapping[Place, str]) -> dict[Place, str]:
    """Return the type of each argument: the declared ones, and those of groups that grow by the pairs that share most."""
    group = {place: place for place in columns}
    types = dict(declared)

    def root(place: Place) -> Place:
        while group[place] != place:
            place = group[place]
        return place

    by_name: dict[str, Place] = {}
    for place, kind in sorted(declared.items()):
        group[root(place)] = root(by_name.setdefault(kind, place))
    of_root = {root(place): kind for place, kind in declared.items()}
    for _, one, other in sorted(_pairs(columns)):
        a, b = sorted((root(one), root(other)))
        kinds = {of_root[place] for place in (a, b) if place in of_root}
        if a != b and len(kinds) < 2:
            group[b] = a
            of_root |= dict.fromkeys((a,), *kinds) if kinds else {}
    taken = set(declared.values())
    for place in sorted(columns):
        first = root(place)
        if first not in of_root:
            name = f"{place[0][0].lower()}{place[0][1:]}_{place[1] + 1}"
            while name in taken:
                name += "_"
            taken.add(name)
            of_root[first] = name
        types[place] = of_root[first]
    return types


def _pairs(columns: Mapping[Place, set[str]]) -> Iterable[tuple[float, Place, Place]]:
    """Yield pairs of arguments that share enough, with less the part that they share, so that the closest come first."""
    for one, other in combinations(sorted(columns), 2):
        part = len(columns[one] & columns[other]) / min(len(columns[one]), len(columns[other]))
        if part >= SHARED:
            yield -part, one, other
