"""Models under names in the database: what scripts and `Database.models` call them by."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pyarrow as pa
from sqlglot import exp

from sqlrl.arguments import refuse
from sqlrl.catalog.store import Store
from sqlrl.engine.nodes import column, named
from sqlrl.errors import CatalogError, InputError
from sqlrl.logic.model import Model
from sqlrl.logic.psl import SoftModel
from sqlrl.markup import printable
from sqlrl.report import Table
from sqlrl.training.runs import LearnedModel, no_shapes, soft_clauses
from sqlrl.training.session import Session
from sqlrl.wording import did_you_mean, nearest_names, shortened

LONGEST_NAME = 200
"""Characters of the name of a model."""

GIVEN = "given"
"""The origin of clauses that nobody learned."""


class Models:
    """The models that a database keeps; `Database.models` are its own.

    Parameters
    ----------
    session : Session

    Examples
    --------
    >>> import sqlrl
    >>> len(sqlrl.connect().models())
    0
    """

    def __init__(self, session: Session) -> None:
        self._session = session

    def __call__(self) -> Table:
        """Return the models that have names.

        Returns
        -------
        Table
            Columns `name`, `model` (its number in `sqlrl.model`), `run` and `learner` (NULL if it was not learned), `rules` (how many
            clauses it has), `created`; ordered by name.
        """
        store = self._session.catalog.store
        counted = (
            exp.select(column("model"), named(exp.Count(this=exp.Star()), "rules"))
            .from_(store.table("clause"))
            .group_by(column("model"))
        )
        query = (
            exp.select(
                *(column(x, "n") for x in ("name", "model", "run")),
                column("learner", "r"),
                named(exp.Coalesce(this=column("rules", "c"), expressions=[exp.convert(0)]), "rules"),
                column("created", "n"),
            )
            .from_(store.table("named_model", "n"))
            .join(store.table("run", "r"), on=column("run", "r").eq(column("run", "n")), join_type="left")
            .join(counted.subquery("c"), on=column("model", "c").eq(column("model", "n")), join_type="left")
            .order_by(exp.Ordered(this=column("name", "n"), nulls_first=False))
        )
        return Table(store.engine.fetch(query, step="list the models"))

    def keep(self, name: str, model: Any, *, replace: bool = False) -> int:
        r"""Keep a model under a name, unless another one has it.

        Parameters
        ----------
        name : str
            On one line; case does not tell names apart.
        model : Model, SoftModel or estimator
            Of an estimator what it has learned, with its run.
        replace : bool
            Whether another model of that name may lose it, as with `models[name] = model`; it stays under its number.

        Returns
        -------
        int
            Its number in `sqlrl.model`.

        Raises
        ------
        CatalogError
            There is a model of that name.

        Examples
        --------
        >>> import sqlrl
        >>> db = sqlrl.connect()
        >>> db.models.keep("smoking", sqlrl.parse_mln("Smokes(person)\nCancer(person)\n1.5 Smokes(x) => Cancer(x)"))
        1
        """
        check_name(name)
        store = self._session.catalog.store
        store.check_writable()
        if find(self._session, name) is not None and not replace:
            raise CatalogError(f"there is a model {name} already: give it another name, or say that it may be replaced")
        # Where weights of found clauses were learned again, the model is that of the run that did so.
        run = getattr(getattr(model, "relearned_", None) or model, "run_", None)
        learned = getattr(model, "model_", model)
        if not isinstance(learned, Model | SoftModel):
            raise refuse("a model, or an estimator that has learned one,", model)
        with self._session.records.together():
            row = None if run is None else self._session.records.run(run)
            number = None if row is None else row["model"]
            if number is None:
                kept = rules_of(learned)
                number = self._session.records.save_model(name, learned, kept[0], kept[1], origin=GIVEN)
            _forget(store, name)
            store.put(
                "named_model",
                [{"name": name, "model": number, "run": run, "created": datetime.now(UTC).replace(tzinfo=None)}],
                "name a model",
            )
        return int(number)

    def __getitem__(self, key: int | str) -> Model | SoftModel:
        """Return the model of a name or of a number, -1 for the newest one that was kept; CatalogError if there is none."""
        wanted: object = key
        if isinstance(wanted, str):
            return self._session.records.model(number_of(self._session, wanted))
        if isinstance(wanted, bool) or not isinstance(wanted, int | np.integer):
            raise InputError(
                f"model={wanted!r} must be the name of a model or its whole number in sqlrl.model, or -1 for the newest one; "
                "sqlrl.read_mln(path) reads a file."
            )
        return self._session.records.model(None if wanted == -1 else int(wanted))

    def __setitem__(self, name: str, model: Any) -> None:
        """Keep a model, or what an estimator has learned, under a name; a model that has it loses it."""
        self.keep(name, model, replace=True)

    def __delitem__(self, name: str) -> None:
        """Forget the name of a model; the run that learned it stays. CatalogError if there is none."""
        check_name(name)
        number_of(self._session, name)
        store = self._session.catalog.store
        store.check_writable()
        with store.engine.transaction():
            _forget(store, name)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and find(self._session, name) is not None

    def __iter__(self) -> Iterator[str]:
        return iter(self()["name"])

    def __len__(self) -> int:
        return len(self())

    def __repr__(self) -> str:
        return repr(self())

    def _repr_html_(self) -> str:
        return self()._repr_html_()


def rules_of(model: Model | SoftModel) -> tuple[pa.Table, pa.Table]:
    """Return clauses and shapes of a model as `Records.save_model` takes them, a clause for each rule."""
    if isinstance(model, Model):
        plain = LearnedModel.of_rules(model)
        return plain.clauses, plain.shapes
    weights = np.array([rule.weight or 0.0 for rule in model.rules])
    return soft_clauses(model, weights), no_shapes()


def find(session: Session, name: str) -> Mapping[str, Any] | None:
    """Return the row of a named model; None if there is none. Case does not tell names apart."""
    return next((row for row in _rows(session.catalog.store) if _same(row["name"], name)), None)


def number_of(session: Session, name: str) -> int:
    """Return the number of the model of a name; CatalogError, with the nearest name, if there is none."""
    row = find(session, name)
    if row is None:
        names = [str(each["name"]) for each in _rows(session.catalog.store)]
        known = did_you_mean(nearest_names(name, names)) or (
            f"; there are {', '.join(names)}" if names else "; there is none yet"
        )
        file = (
            "; a file is read by sqlrl.read_mln or sqlrl.read_psl" if name.endswith((".mln", ".json", ".psl")) else ""
        )
        raise CatalogError(f"there is no model {shortened(printable(name))}{known}{file}")
    return int(row["model"])


def check_name(name: object) -> None:
    """Refuse what cannot be the name of a model."""
    if not isinstance(name, str) or not 0 < len(name) <= LONGEST_NAME or not name.isprintable():
        raise InputError(
            f"the name of a model must be a text of 1 to {LONGEST_NAME} characters on one line, not {shortened(repr(name))}"
        )


def _same(name: str, other: str) -> bool:
    return name.casefold() == other.casefold()


def _rows(store: Store) -> list[dict[str, Any]]:
    query = exp.select("*").from_(store.table("named_model"))
    return store.rows(query, "look for a model")


def _forget(store: Store, name: str) -> None:
    names = [row["name"] for row in _rows(store) if _same(row["name"], name)]
    if names:
        mine = exp.In(this=column("name"), expressions=[exp.convert(each) for each in names])
        store.engine.execute(
            exp.Delete(this=store.table("named_model"), where=exp.Where(this=mine)), step="forget the name of a model"
        )
