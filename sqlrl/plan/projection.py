"""Variables of which a query asks only whether they have a value: eliminated one after the other, over DISTINCT.

It is the elimination of `plan.semiring` with truth in place of sums, so that of `A(x, y), B(y, z), C(z)` the x that have a y
and a z are found without their triples: B and C give the y, those and A the x.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sqlglot import exp

from sqlrl.engine.nodes import conjunction, cte, integer, join, named
from sqlrl.logic.shapes import Slot
from sqlrl.plan.semiring import Steps
from sqlrl.plan.sources import Source, connect


@dataclass(frozen=True)
class Condition:
    """A condition on slots.

    Parameters
    ----------
    expression : exp.Expression
        Over the columns of slots as some body knows them.
    slots : frozenset of Slot
        Those that it mentions.
    """

    expression: exp.Expression
    slots: frozenset[Slot]


@dataclass(frozen=True)
class Joined:
    """Sources that are joined on shared slots, and the conditions that their rows meet.

    Parameters
    ----------
    sources : tuple of Source
    conditions : tuple of Condition
    """

    sources: tuple[Source, ...]
    conditions: tuple[Condition, ...]


def project(
    whole: Joined, keep: frozenset[Slot], fixed: frozenset[str], known: Mapping[Slot, exp.Column], steps: Steps
) -> Joined:
    """Eliminate slots as long as no result is larger than a source.

    Parameters
    ----------
    whole : Joined
    keep : frozenset of Slot
        Slots that are not eliminated.
    fixed : frozenset of str
        Aliases of sources that stay as they are, since something mentions more of their columns than their slots. All their slots
        are kept.
    known : mapping of Slot to exp.Column
        The columns that the conditions mention.
    steps : Steps
        Receives the steps.

    Returns
    -------
    Joined
        Rows exist for the same values of the kept slots as of `whole`; its conditions are some of those of `whole`.

    Examples
    --------
    >>> from sqlrl.plan.sample import table_name
    >>> from sqlrl.plan.sql import table
    >>> x, y, z = (Slot(False, i) for i in range(3))
    >>> edges = [Source(table(table_name("e"), a), a, (("a", v), ("b", w))) for a, v, w in (("e", x, y), ("f", y, z))]
    >>> steps = Steps([])
    >>> left = project(Joined(tuple(edges), ()), frozenset([x]), frozenset(), {}, steps)
    >>> [str(slot) for source in left.sources for _, slot in source.columns]
    ['v1', 'v0', 'v1']
    >>> [step.sql("duckdb").replace('"', "") for _, step in steps.steps]
    ['SELECT DISTINCT f.a AS s0 FROM db.main.e AS f']
    """
    places = {(column.table, column.name): slot for slot, column in known.items()}
    left = whole
    while (bucket := _bucket(left, keep, fixed)) is not None:
        step = Source(*_step(bucket, places, steps))
        others = tuple(x for x in left.sources if x not in bucket.sources)
        left = Joined((step, *others), tuple(x for x in left.conditions if x not in bucket.conditions))
    return left


def rewritten(
    condition: exp.Expression, places: Mapping[tuple[str, str], Slot], known: Mapping[Slot, exp.Column]
) -> exp.Expression:
    """Return a condition over other columns of the same slots.

    Parameters
    ----------
    condition : exp.Expression
    places : mapping of (str, str) to Slot
        The alias and name of the column that the condition has for each slot.
    known : mapping of Slot to exp.Column
        The columns that it shall have.

    Examples
    --------
    >>> from sqlrl.engine.nodes import column
    >>> x = Slot(False, 0)
    >>> condition = exp.GT(this=column("a", "t"), expression=integer(0))
    >>> rewritten(condition, {("t", "a"): x}, {x: column("s0", "m0")}).sql("duckdb")
    '"m0"."s0" > 0'
    """

    def changed(node: exp.Expr) -> exp.Expr:
        """Return the new column of a slot; other nodes as they are."""
        slot = places.get((node.table, node.name)) if isinstance(node, exp.Column) else None
        return node if slot is None else known[slot].copy()

    found = condition.transform(changed)
    assert isinstance(found, exp.Expression), "columns become columns"
    return found


def _slots(source: Source) -> frozenset[Slot]:
    return frozenset(slot for _, slot in source.columns)


def _bucket(left: Joined, keep: frozenset[Slot], fixed: frozenset[str]) -> _Bucket | None:
    """Return what is to be joined to eliminate the slot that leaves the fewest others; None if it is not worth it."""
    every = [_slots(source) for source in left.sources]
    if any(slots >= frozenset[Slot]().union(*every) for slots in every):
        return None  # a join of the others to that source is no larger than it
    best: _Bucket | None = None
    for slot in sorted(frozenset[Slot]().union(*every) - keep):
        found = _around(slot, left, fixed)
        small = any(found.others <= slots for slots in every)
        if small and found.is_bound and (best is None or len(found.others) < len(best.others)):
            best = found
    return best


@dataclass(frozen=True)
class _Bucket:
    # What mentions a slot, and what can be tested beside it: sources with no slots but those that the former mention.
    sources: tuple[Source, ...]
    conditions: tuple[Condition, ...]
    others: frozenset[Slot]

    @property
    def is_bound(self) -> bool:
        """True if the sources have all slots that the conditions mention."""
        return self.others <= frozenset[Slot]().union(*map(_slots, self.sources))


def _around(slot: Slot, left: Joined, fixed: frozenset[str]) -> _Bucket:
    sources = [x for x in left.sources if slot in _slots(x)]
    conditions = [x for x in left.conditions if slot in x.slots]
    others = frozenset[Slot]().union(*map(_slots, sources), *(x.slots for x in conditions)) - {slot}
    sources += [
        x for x in left.sources if x not in sources and x.alias not in fixed and _slots(x) and _slots(x) <= others
    ]
    return _Bucket(tuple(sources), tuple(conditions), others)


def _step(
    bucket: _Bucket, places: Mapping[tuple[str, str], Slot], steps: Steps
) -> tuple[exp.Expression, str, tuple[tuple[str, Slot], ...]]:
    """Add the step that has the values of the other slots of a bucket; return its relation, alias and columns."""
    here: dict[Slot, exp.Column] = {}
    conditions: list[exp.Expression] = []
    query = exp.Select()
    for i, source in enumerate(bucket.sources):
        on = connect(source, here)
        if i == 0:
            query, conditions = query.from_(source.relation, copy=False), on
        else:
            join(query, source.relation, conjunction(on), "INNER" if on else "CROSS")
    conditions = conditions + [rewritten(x.expression, places, here) for x in bucket.conditions]
    where = conjunction(conditions)
    columns = tuple((f"s{i}", slot) for i, slot in enumerate(sorted(bucket.others)))
    selected = [named(here[slot].copy(), name) for name, slot in columns] or [named(integer(1), "one")]
    query = query.select(*selected, copy=False).distinct(copy=False)
    name = steps.add("m", query if where is None else query.where(where, copy=False))
    return cte(name, name), name, columns
