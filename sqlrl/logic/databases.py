"""A database as values of logic know it, who pass themselves to what it works with: by its shape, since its class is in a room above."""

from __future__ import annotations

from typing import Protocol, TypeVar

_Part_co = TypeVar("_Part_co", covariant=True)


class OpenedDatabase(Protocol[_Part_co]):
    """A database, `sqlrl.Database`, of whose `advanced` part something is asked."""

    @property
    def advanced(self) -> _Part_co: ...


class Learns(Protocol[_Part_co]):
    """That part, of whose data as learners take them something is asked."""

    @property
    def learning(self) -> _Part_co: ...
