"""Models and runs that a database keeps: `Database.models` and `Database.runs` list them, and look one up."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np
import pyarrow as pa
from sqlglot import exp

from sqlrl.arguments import refuse
from sqlrl.catalog.records import named_models
from sqlrl.catalog.store import Store
from sqlrl.database import reports
from sqlrl.database.run_data import RunData
from sqlrl.engine.nodes import column, named
from sqlrl.errors import CatalogError, InputError, Phrase
from sqlrl.logic.model import Model
from sqlrl.logic.psl import SoftModel
from sqlrl.markup import printable
from sqlrl.report import Table
from sqlrl.report.page import Report
from sqlrl.slips import Helpful
from sqlrl.training.provenance import TABLE as LEARNED_FROM
from sqlrl.training.runs import LearnedModel, no_shapes, soft_clauses
from sqlrl.training.session import Session
from sqlrl.wording import did_you_mean, nearest_names, shortened

LONGEST_NAME = 200
"""Characters of the name of a model."""

GIVEN = "given"
"""The origin of clauses that nobody learned."""

NAMES_SHOWN = 8
"""So many names of models are listed where there is none like the one that was asked for."""

Key = TypeVar("Key")
"""What a thing that is kept is looked up by."""


class Listing(ABC, Generic[Key]):
    """What a database keeps of one kind: called, it is a table, whose first column has the keys."""

    def __init__(self, session: Session) -> None:
        self._session = session

    @abstractmethod
    def __call__(self) -> Table:
        """Return all of them as a table."""

    def __iter__(self) -> Iterator[Key]:
        table = self()
        return iter(table[table.columns[0]])

    def __len__(self) -> int:
        return len(self())

    def __repr__(self) -> str:
        return repr(self())

    def _repr_html_(self) -> str:
        return self()._repr_html_()


class Models(Listing[str]):
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
        learned = getattr(model, "model_", model)
        if not isinstance(learned, Model | SoftModel):
            raise refuse("a model, or an estimator that has learned one,", model)
        records = self._session.records
        # Where weights of found clauses were learned again, the model is that of the run that did so.
        run = getattr(getattr(model, "relearned_", None) or model, "run_", None)
        with records.together():
            number = None if run is None else records.model_of(run, learned)
            if number is None:
                # A model alone; or the run went on to another one, or is of another database.
                run = records.learned(learned, LEARNED_FROM)
                number = None if run is None else records.model_of(run, learned)
            if number is None:
                number = records.save_model(name, learned, *rules_of(learned), origin=GIVEN)
            _forget(store, name)
            store.put(
                "named_model",
                [{"name": name, "model": number, "run": run, "created": datetime.now(UTC).replace(tzinfo=None)}],
                "name a model",
            )
        return number

    def __getitem__(self, key: int | str) -> Model | SoftModel:
        """Return the model of a name or of a number, -1 for the newest one that was kept; CatalogError if there is none."""
        wanted: object = key
        if isinstance(wanted, str):
            return self._session.records.model(number_of(self._session, wanted))
        if isinstance(wanted, bool) or not isinstance(wanted, int | np.integer):
            raise InputError(
                f"there is no model {shortened(repr(wanted))}: db.models() lists their names and whole numbers, and db.models[-1] is the newest; "
                "sqlrl.read_mln(path) reads a file"
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


def rules_of(model: Model | SoftModel) -> tuple[pa.Table, pa.Table]:
    """Return clauses and shapes of a model as `Records.save_model` takes them, a clause for each rule."""
    if isinstance(model, Model):
        plain = LearnedModel.of_rules(model)
        return plain.clauses, plain.shapes
    weights = np.array([rule.weight or 0.0 for rule in model.rules])
    return soft_clauses(model, weights), no_shapes()


def find(session: Session, name: str) -> Mapping[str, Any] | None:
    """Return the row of a named model; None if there is none. Case does not tell names apart."""
    return next((row for row in named_models(session.catalog.store) if _same(row["name"], name)), None)


def number_of(session: Session, name: str) -> int:
    """Return the number of the model of a name; CatalogError, with the nearest name, if there is none."""
    row = find(session, name)
    if row is None:
        names = [str(each["name"]) for each in named_models(session.catalog.store)]
        more = f" and {len(names) - NAMES_SHOWN:,} more" if len(names) > NAMES_SHOWN else ""
        known = did_you_mean(nearest_names(name, names)) or (
            f"; there are {', '.join(names[:NAMES_SHOWN])}{more}"
            if names
            else f"; none has a name yet, which {Phrase('db.models[{!r}] = model', (shortened(name),))} gives it"
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


def _forget(store: Store, name: str) -> None:
    names = [row["name"] for row in named_models(store) if _same(row["name"], name)]
    if names:
        mine = exp.In(this=column("name"), expressions=[exp.convert(each) for each in names])
        store.engine.execute(
            exp.Delete(this=store.table("named_model"), where=exp.Where(this=mine)), step="forget the name of a model"
        )


# ---- runs ----------------------------------------------------------------------------------------


_COLUMNS = ("run", "learner", "model", "status", "started")


class Runs(Listing[int]):
    """The runs that a database keeps; `Database.runs` are its own.

    Parameters
    ----------
    session : Session

    Examples
    --------
    >>> import sqlrl
    >>> len(sqlrl.connect().runs())
    0
    """

    def __call__(self) -> Table:
        """Return the runs as a table.

        Returns
        -------
        Table
            Columns `run`, `learner` (or what else it was: predict, marginals, audit), `model` (its number in `sqlrl.model`, NULL if it has none),
            `status` and `started`; `sqlrl.run` has more.
        """
        store = self._session.catalog.store
        query = exp.select(*map(column, _COLUMNS)).from_(store.table("run")).order_by(column("run"))
        return Table(store.engine.fetch(query, step="list the runs"), title="runs")

    def __getitem__(self, key: int) -> RunRecord:
        """Return the run of a number, -1 for the newest; InputError, with the numbers that there are, if there is none."""
        wanted: object = key
        if isinstance(wanted, bool) or not isinstance(wanted, int | np.integer):
            newest = dict(zip(self()["learner"], self, strict=True)) if isinstance(wanted, str) else {}
            like = [f"db.runs[{newest[name]}], the newest of {name}" for name in nearest_names(str(wanted), newest)]
            raise InputError(
                f"there is no run {shortened(repr(wanted))}: runs have whole numbers, which db.runs() lists, and db.runs[-1] is the newest"
                + (f"; did you mean {' or '.join(like)}?" if like else "")
            )
        return RunRecord.read(self._session, None if wanted == -1 else int(wanted))


class RunRecord(RunData, Helpful):
    r"""A run as the database has it; `Database.runs` has it.

    Parameters
    ----------
    session : Session
    number : int
        Its number in `sqlrl.run`.
    learner : str
        The learner, or what else it was: predict, marginals, audit, ...
    status : str
        running, done, interrupted or failed.
    started : str
        When it started.
    parameters : mapping of str to object
    seed : int or None
    versions : mapping of str to str
        Of Python and the packages that results depend on.
    fingerprint : str
        Of the data.
    seconds : mapping of str to float
        Wall time by stage; empty if the run has not ended.
    model_number : int or None
        The model in `sqlrl.model` that it learned or used.

    Examples
    --------
    >>> import sqlrl
    >>> db = sqlrl.connect()
    >>> db.load("Word", [("d1", "good"), ("d2", "bad")], types=["doc", "word"], example="doc")
    >>> db.load("Liked", [("d1",)], types=["doc"], target=True)
    >>> model = sqlrl.parse_mln("Word(doc, word)\nLiked(doc)\nWord(d, +w) => Liked(d)")
    >>> fit = sqlrl.AdaGrad().fit(db, model)
    >>> run = db.runs[fit.run_]
    >>> run.learner, run.status, run.plot.learning_curve().table()["running_accuracy"]
    ('AdaGrad', 'done', [0.0, 0.5])
    """

    def report(self, path: str | Path | None = None) -> Report:
        """Return a page about the run: clauses, charts, examples with the clauses behind their atoms, timings and data.

        Parameters
        ----------
        path : str or Path, optional
            Where to write the page, a name that ends in .html.

        Returns
        -------
        Report
            `html()` is one page that needs no network. Runs of the same model stand on it, too: the one that learned it, and the newest evaluations of
            its predictions (`predict(keep=True)`, then `evaluate`) and of its probabilities (`probabilities(keep=True)`, then `evaluate`).

        Raises
        ------
        InputError
            The name of the file has another ending.
        SqlrlError
            vl-convert is not installed, which the page's charts come from.
        """
        return reports.report(self, path)
