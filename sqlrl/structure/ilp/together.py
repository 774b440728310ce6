"""Searches side by side: what they wait for at the same time is asked of the database at once.

A search of one bottom clause meets few new components at a time, and a query for each few of them is mostly overhead.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import NamedTuple, TypeVar

from sqlrl.logic.components import Component
from sqlrl.structure.ilp.covers import Covers

Result = TypeVar("Result")


class Wanted(NamedTuple):
    """Components that a search waits for.

    Parameters
    ----------
    components : sequence of Component
    keep : bool
        Whether larger ones may be built from them.
    """

    components: Sequence[Component]
    keep: bool


Waiting = Generator[Wanted, None, Result]
"""What goes on when the components that it yields are known to `Covers`."""


def run_together(covers: Covers, searches: Sequence[Waiting[Result]]) -> list[Result]:
    """Run searches, each until it waits, then evaluate what all of them wait for, and so on; return what each one returns.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> def search(name, components):
    ...     for component in components:
    ...         yield Wanted([component], keep=True)
    ...     return f"{name} is done"
    >>> known = SimpleNamespace(evaluate=lambda components, keep: print(sorted(components)))
    >>> run_together(known, [search("one", "ac"), search("two", "b")])
    ['a', 'b']
    ['c']
    ['one is done', 'two is done']
    """
    found: dict[int, Result] = {}
    left = dict(enumerate(searches))
    while left:
        waiting: list[Wanted] = []
        for place, search in list(left.items()):
            try:
                waiting.append(next(search))
            except StopIteration as end:
                found[place] = end.value
                del left[place]
        for keep in sorted({wanted.keep for wanted in waiting}, reverse=True):
            covers.evaluate([x for wanted in waiting if wanted.keep == keep for x in wanted.components], keep=keep)
    return [found[place] for place in range(len(searches))]
