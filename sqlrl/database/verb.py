"""Verbs of a database, each of which sees the records of the catalog as they are when it first reads them."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Concatenate, ParamSpec, Protocol, TypeVar

if TYPE_CHECKING:
    from sqlrl.catalog.catalog import Catalog


class _HasCatalog(Protocol):
    catalog: Catalog


_Self = TypeVar("_Self", bound=_HasCatalog)
_Asked = ParamSpec("_Asked")
_Found = TypeVar("_Found")


def verb(
    method: Callable[Concatenate[_Self, _Asked], _Found],
) -> Callable[Concatenate[_Self, _Asked], _Found]:
    """Let a method read the catalog's records once, whatever it consists of (`Store.verb`)."""

    @wraps(method)
    def one(self: _Self, /, *args: _Asked.args, **options: _Asked.kwargs) -> _Found:
        with self.catalog.store.verb():
            return method(self, *args, **options)

    return one
