"""The verbs of a database that scripts call. `sqlrl.Database` has them; scripts are run by it, so that they do not know its module."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from sqlrl.catalog.catalog import Catalog
from sqlrl.engine.duckdb import DuckDBEngine
from sqlrl.report import Console, Table
from sqlrl.training.learning import Learning


class ScriptedDatabase(Protocol):
    """What statements and functions of a script call."""

    @property
    def engine(self) -> DuckDBEngine:
        """Runs SQL."""
        ...

    @property
    def catalog(self) -> Catalog:
        """Predicates and their tables."""
        ...

    @property
    def console(self) -> Console:
        """Shows progress."""
        ...

    @property
    def learning(self) -> Learning:
        """The data as learners take them."""
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
    def model(self) -> Callable[..., Any]:
        """Returns a kept model."""
        ...

    @property
    def keep_model(self) -> Callable[..., int]:
        """CREATE MODEL and ALTER MODEL."""
        ...

    @property
    def drop_model(self) -> Callable[..., None]:
        """DROP MODEL."""
        ...

    @property
    def models(self) -> Callable[..., Table]:
        """SHOW MODELS."""
        ...

    @property
    def predicates(self) -> Callable[..., Table]:
        """SHOW PREDICATES."""
        ...

    @property
    def export_sql(self) -> Callable[..., Any]:
        """EXPORT MODEL."""
        ...

    @property
    def predict(self) -> Callable[..., Any]:
        """ML.PREDICT, ML.EVALUATE and ML.EXPLAIN."""
        ...

    @property
    def marginals(self) -> Callable[..., Any]:
        """ML.PROBABILITIES and ML.EVALUATE."""
        ...

    @property
    def count(self) -> Callable[..., Table]:
        """ML.COUNT."""
        ...

    @property
    def expected_counts(self) -> Callable[..., Table]:
        """ML.EXPECTED_COUNTS."""
        ...

    @property
    def diagnose(self) -> Callable[..., Any]:
        """ML.DIAGNOSE."""
        ...
