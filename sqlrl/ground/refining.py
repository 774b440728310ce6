"""How components are built from each other: the literal that is added last, and the parents to which it is added."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import pyarrow as pa

from sqlrl.catalog.layout import PredicateInfo
from sqlrl.logic.components import BodyLiteral, Component, Components, constant
from sqlrl.plan.patterns import Argument, Heads, Kind, Pattern, layer_columns


@dataclass(frozen=True, slots=True)
class Step:
    """How a component is made of others.

    Parameters
    ----------
    component : Component
    literal : BodyLiteral
        The one that is added; its variables are those of the component.
    parents : tuple of Component
        What is left without it.
    names : tuple of tuple of int
        For each parent the variables of the component that its existential variables are, in order.
    """

    component: Component
    literal: BodyLiteral
    parents: tuple[Component, ...]
    names: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class Stored:
    """Where the bindings of a component are.

    Parameters
    ----------
    number : int
        `component` in the table of bindings.
    touched : Heads
    places : tuple of int
        The existential variable, from 0, at each place of the list of values.
    """

    number: int
    touched: Heads
    places: tuple[int, ...]


class Refiner:
    """Finds steps, so that as little as possible must be evaluated that nobody has asked for.

    Parameters
    ----------
    components : Components

    Examples
    --------
    >>> components = Components(1)
    >>> [path] = components.split([BodyLiteral(0, (0, 1)), BodyLiteral(1, (1, 2))])
    >>> steps, _ = Refiner(components).layers([path], {})
    >>> [[step.literal.predicate for step in layer] for layer in steps]
    [[0], [1]]
    """

    def __init__(self, components: Components) -> None:
        self.components = components

    def layers(
        self, wanted: Iterable[Component], known: Collection[Component], exploding: Collection[Component] = ()
    ) -> tuple[list[list[Step]], dict[Component, Component]]:
        """Return the steps to the wanted components: those of a layer need only what is known and earlier layers.

        Parameters
        ----------
        wanted, known : collection of Component
        exploding : collection of Component
            Those that nothing can be made of, as they have too many bindings.

        Returns
        -------
        list of list of Step
        dict of Component to Component
            Those that cannot be made without an exploding one, and which that is.
        """
        steps: dict[Component, Step] = {}
        level: dict[Component, int] = {}
        beyond: dict[Component, Component] = {}
        waiting = [component for component in wanted if component not in known]
        while waiting:
            component = waiting[-1]
            if component in level or component in beyond:
                waiting.pop()
                continue
            if component not in steps or any(parent in beyond for parent in steps[component].parents):
                step = self.step(component, known, exploding, beyond)
                if not isinstance(step, Step):
                    beyond[component] = step
                    continue
                steps[component] = step
            parents = [parent for parent in steps[component].parents if parent not in known]
            missing = [parent for parent in parents if parent not in level]
            if missing:
                waiting.extend(missing)
                continue
            level[component] = max((level[parent] + 1 for parent in parents), default=0)
            waiting.pop()
        found: list[list[Step]] = [[] for _ in range(max(level.values(), default=-1) + 1)]
        for component, i in level.items():
            found[i].append(steps[component])
        return found, beyond

    def step(
        self,
        component: Component,
        known: Collection[Component],
        exploding: Collection[Component] = (),
        beyond: Mapping[Component, Component] = MappingProxyType({}),
    ) -> Step | Component:
        """Return the best way to make a component: of known parents; else of few parents that the head ties down.

        Where no way is left that needs neither `exploding` ones nor those `beyond` them, return the exploding one of the last way.

        Examples
        --------
        >>> components = Components(1)
        >>> [path] = components.split([BodyLiteral(0, (0, 1)), BodyLiteral(1, (1,))])
        >>> Refiner(components).step(path, {}).literal
        BodyLiteral(predicate=1, terms=(1,))
        """
        best: tuple[tuple[int, int], Step] | None = None
        reason: Component = ()
        for literal in reversed(component):
            step = self._without(component, literal)
            missing = [parent for parent in step.parents if parent not in known]
            if not missing:
                return step
            stuck = [beyond.get(parent, parent) for parent in missing if parent in exploding or parent in beyond]
            if stuck:
                reason = stuck[0]
                continue
            loose = sum(not _touches_head(parent, self.components.heads) for parent in missing)
            cost = (loose, len(missing))
            if best is None or cost < best[0]:
                best = (cost, step)
        return reason if best is None else best[1]

    def _without(self, component: Component, literal: BodyLiteral) -> Step:
        rest = self.components.groups(other for other in component if other != literal)
        found = sorted(self.components.named(group) for group in rest)
        return Step(component, literal, tuple(parent for parent, _ in found), tuple(names for _, names in found))


def _touches_head(component: Component, heads: int) -> bool:
    return any(0 <= term < heads for literal in component for term in literal.terms)


@dataclass(frozen=True, slots=True)
class Placed:
    """A step as the database takes it.

    Parameters
    ----------
    pattern : Pattern
    parents : tuple of int
        Numbers of the parents, as the pattern orders them.
    values : tuple of int or None
        For each argument of the pattern the place of its variable in the parent's list (from 1), or the id of its constant.
    places : tuple of int
        As of `Stored`, for the new component.
    """

    pattern: Pattern
    parents: tuple[int, ...]
    values: tuple[int | None, ...]
    places: tuple[int, ...]


def placed(
    step: Step, info: PredicateInfo, heads: int, stored: Mapping[Component, Stored], *, facts_first: bool = False
) -> Placed:
    """Return a step with the places of its variables.

    Parameters
    ----------
    step : Step
    info : PredicateInfo
        Of the literal's predicate.
    heads : int
        The number of the head's arguments.
    stored : mapping of Component to Stored
        The parents.
    facts_first : bool
        As of `Pattern`.

    Examples
    --------
    >>> from sqlrl.plan.sample import people
    >>> components = Components(1)
    >>> [path] = components.split([BodyLiteral(0, (0, 1)), BodyLiteral(0, (1, 2))])
    >>> step = Refiner(components).step(path, {})
    >>> found = placed(step, people().predicates["Friends"], 1, {step.parents[0]: Stored(4, (0,), (0,))})
    >>> found.parents, found.values, found.places
    ((4,), (1, None), (0, 1))
    """
    known = [(stored[parent], names) for parent, names in zip(step.parents, step.names, strict=True)]
    # Parents in the order in which the literal meets them, so that few patterns occur.
    known.sort(key=lambda found: min(step.literal.terms.index(name) for name in found[1] if name in step.literal.terms))
    place_of: dict[int, tuple[int, int]] = {}
    places: list[int] = []
    for i, (parent, names) in enumerate(known):
        for j, variable in enumerate(parent.places):
            place_of[names[variable]] = (i, j + 1)
            places.append(names[variable] - heads)
    arguments: list[Argument] = []
    values: list[int | None] = []
    new: dict[int, int] = {}
    if info.example_column:
        arguments.append(Argument(Kind.HEAD.value, heads))
        values.append(None)
    for term in step.literal.terms:
        argument, value = Argument(Kind.CONSTANT.value), None
        if term < 0:
            value = constant(term)
        elif term < heads:
            argument = Argument(Kind.HEAD.value, term)
        elif term in place_of:
            owner, value = place_of[term]
            argument = Argument(Kind.BOUND.value, owner, value if facts_first else 0)
        else:
            if term not in new:
                places.append(term - heads)
            argument = Argument(Kind.NEW.value, new.setdefault(term, len(new)))
        arguments.append(argument)
        values.append(value)
    pattern = Pattern(info.name, tuple(arguments), tuple(parent.touched for parent, _ in known), facts_first)
    return Placed(pattern, tuple(parent.number for parent, _ in known), tuple(values), tuple(places))


def layer_table(found: Sequence[Placed], first: int) -> pa.Table:
    """Return the table of a layer; see `CoverageTables`."""
    patterns = sorted({x.pattern for x in found})
    number = {pattern: i for i, pattern in enumerate(patterns)}
    columns: dict[str, list[int | None]] = {"pattern": [number[x.pattern] for x in found]}
    columns["component"] = list(range(first, first + len(found)))
    for name in layer_columns(patterns)[2:]:
        i = int(name[1:])
        values = [x.parents if name[0] == "p" else x.values for x in found]
        columns[name] = [x[i] if i < len(x) else None for x in values]
    return pa.table({name: pa.array(values, pa.int32()) for name, values in columns.items()})
