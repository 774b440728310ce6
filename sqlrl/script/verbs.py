"""The verbs of a database that scripts call. `sqlrl.Database` has them; scripts are run by it, so that they do not know its module."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from sqlrl.catalog.catalog import Catalog
from sqlrl.engine.duckdb import DuckDBEngine
from sqlrl.report import Console, Table
from sqlrl.training.learning import Learning


class ScriptedSession(Protocol):
    """What the verbs work with."""

    @property
    def engine(self) -> DuckDBEngine: ...

    @property
    def catalog(self) -> Catalog: ...

    @property
    def console(self) -> Console: ...

    @property
    def learning(self) -> Learning: ...


class ScriptedModels(Protocol):
    """The models that are kept."""

    def __call__(self) -> Table: ...

    def __getitem__(self, key: int | str, /) -> Any: ...

    def __setitem__(self, name: str, model: Any, /) -> None: ...

    def __delitem__(self, name: str, /) -> None: ...


class ScriptedDatabase(Protocol):
    """What statements and functions of a script call."""

    @property
    def advanced(self) -> ScriptedSession:
        """What the verbs work with."""
        ...

    @property
    def load(self) -> Callable[..., None]:
        """CREATE PREDICATE from rows."""
        ...

    @property
    def scope(self) -> Callable[..., None]:
        """ALTER PREDICATE ... SET SCOPE."""
        ...

    @property
    def define(self) -> Callable[..., None]:
        """CREATE PREDICATE ... AS RULES."""
        ...

    @property
    def models(self) -> ScriptedModels:
        """SHOW MODELS, CREATE MODEL, ALTER MODEL, DROP MODEL."""
        ...

    @property
    def export(self) -> Callable[..., Any]:
        """EXPORT MODEL."""
        ...

    @property
    def tables(self) -> Callable[..., Table]:
        """SHOW PREDICATES."""
        ...

    @property
    def predict(self) -> Callable[..., Any]:
        """ML.PREDICT, ML.EVALUATE and ML.EXPLAIN."""
        ...

    @property
    def probabilities(self) -> Callable[..., Any]:
        """ML.PROBABILITIES and ML.EVALUATE."""
        ...

    @property
    def count(self) -> Callable[..., Table]:
        """ML.COUNT."""
        ...

    @property
    def diagnose(self) -> Callable[..., Any]:
        """ML.DIAGNOSE."""
        ...
