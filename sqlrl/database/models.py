"""Models held against the data of a database: bound, ground, explained."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from sqlrl.catalog.atoms import ATOM_LIMIT
from sqlrl.catalog.catalog import Catalog
from sqlrl.catalog.layout import Layout
from sqlrl.database.data import Data
from sqlrl.database.explaining import Explanations, explain
from sqlrl.database.verb import verb
from sqlrl.errors import CatalogError, InputError
from sqlrl.ground.assemble import ground_network
from sqlrl.ground.binding import CompiledRules, bind_program
from sqlrl.ground.counts import GROUNDING_LIMIT
from sqlrl.ground.network import Network
from sqlrl.ground.program import Program
from sqlrl.logic.dropping import drop_predicates
from sqlrl.logic.model import Model
from sqlrl.report import Console
from sqlrl.wording import shortened


class Models(Data):
    """Data, and models held against them; `sqlrl.database.database.Database` adds counting, inference and learning.

    Parameters
    ----------
    catalog : Catalog
    console : Console, optional
        As for `Data`.
    """

    def __init__(self, catalog: Catalog, console: Console | None = None) -> None:
        super().__init__(catalog, console)
        self._compiled = CompiledRules()

    @contextmanager
    def program(
        self,
        model: Model,
        *,
        training: bool = False,
        drop: Iterable[str] = (),
        query: Iterable[str] = (),
        closed: bool = False,
        limit: int | None = None,
        planned: bool = False,
        growing: bool = False,
    ) -> Iterator[Program]:
        r"""Hold a model against the data while the context is open; its scratch tables go when it closes.

        Parameters
        ----------
        model : Model
        training : bool
            True if the model is new: a constant of a rule that the data do not have is then an error.
        drop, query : iterable of str
            As in `ground`.
        closed : bool
            Whether there may be nothing to predict.
        limit : int, optional
            The most helper atoms of a quantifier over several open literals, over all examples; no more than the most atoms of a
            predicate in any case.
        planned : bool
            Whether helper atoms are planned and not listed, which is enough to explain a model.
        growing : bool
            Whether the rules are yet to be found.

        Yields
        ------
        Program

        Raises
        ------
        CatalogError
            As for `bind`.
        GroundingLimitError
            A quantifier needs more helper atoms; names the rule, where it stands, and their number.

        Examples
        --------
        >>> import sqlrl
        >>> db = sqlrl.connect()
        >>> db.load("Friends", [("Anna", "Bob"), ("Bob", "Chris")])
        >>> text = "Friends(person, person)\nSmokes(person)\n1 Friends(x, y) ^ Smokes(x) => Smokes(y)"
        >>> model = sqlrl.parse_mln(text, query=["Smokes"])
        >>> with db.program(model) as program:
        ...     program.clause_count
        1
        """
        drop = tuple(drop)
        layout = self._bound(model, training, drop, query, closed=closed, growing=growing)
        most = ATOM_LIMIT if limit is None else min(limit, ATOM_LIMIT)
        program = bind_program(
            self.engine, layout, _without(model, drop), known=self._compiled, limit=most, planned=planned
        )
        try:
            yield program
        finally:
            program.close()

    def bind(
        self, model: Model, *, training: bool = False, drop: Iterable[str] = (), query: Iterable[str] = ()
    ) -> Layout:
        r"""Check that model and data fit, and build the tables of query atoms.

        Parameters
        ----------
        model, training, drop, query
            As for `program`.

        Returns
        -------
        Layout

        Raises
        ------
        CatalogError
            With everything that does not fit; also if no predicate is open.

        Examples
        --------
        >>> import sqlrl
        >>> db = sqlrl.connect()
        >>> db.load("Friends", [("Anna", "Bob"), ("Bob", "Chris")])
        >>> text = "Friends(person, person)\nSmokes(person)\n1 Friends(x, y) ^ Smokes(x) => Smokes(y)"
        >>> model = sqlrl.parse_mln(text, query=["Smokes"])
        >>> db.bind(model).predicates["Smokes"].atom_count
        3
        """
        with self.console.progress("binding"):
            return self._bound(model, training, tuple(drop), query)

    def _bound(
        self,
        model: Model,
        training: bool,
        drop: tuple[str, ...],
        query: Iterable[str],
        *,
        closed: bool = False,
        growing: bool = False,
    ) -> Layout:
        """Do what `bind` does; with `closed` there may be no open predicate, with `growing` no rule yet."""
        check_model(model)
        layout = self.catalog.bind(_without(model, drop), training=training, drop=drop, query=query)
        if not closed and not any(p.open for p in layout.predicates.values()):
            if not model.rules and not growing:
                raise CatalogError(
                    "the model has no rules, so there is nothing to learn or to predict with: write some, or, if a learner of "
                    "clauses found none, see its warning"
                )
            raise CatalogError(
                "no predicate is open, so there is nothing to predict: load the labels of one with target=True, "
                "or name it when the model is read: read_mln(path, query=[...])"
            )
        return layout

    def model(self, number: int | None = None) -> Model:
        r"""Return a model that a learner or `predict(keep=True)` kept.

        Parameters
        ----------
        number : int, optional
            A number of `sqlrl.model`; the newest one by default.

        Returns
        -------
        Model

        Raises
        ------
        CatalogError
            There is no such model.

        Examples
        --------
        >>> import sqlrl
        >>> db = sqlrl.connect()
        >>> db.load("Friends", [("Anna", "Bob"), ("Bob", "Chris")])
        >>> text = "Friends(person, person)\nSmokes(person)\n1 Friends(x, y) ^ Smokes(x) => Smokes(y)"
        >>> model = sqlrl.parse_mln(text, query=["Smokes"])
        >>> prediction = db.predict(model, keep=True)
        >>> sqlrl.models_equal(db.model(), model)
        True
        """
        return self.records.model(number)

    @verb
    def ground(
        self,
        model: Model,
        *,
        examples: Any = None,
        limit: int | None = GROUNDING_LIMIT,
        drop: Iterable[str] = (),
        query: Iterable[str] = (),
    ) -> Network:
        r"""Ground a model: one SQL query for each shape of clause.

        Parameters
        ----------
        model : Model
        examples : list of names, query, relation or frame, optional
        limit : int or None
            The most ground clauses of one shape.
        drop : iterable of str
            Predicates that may lack data; rules that mention them are left out.
        query : iterable of str
            Predicates to predict, beside those of the model and the data.

        Returns
        -------
        Network

        Raises
        ------
        GroundingLimitError
            Names the clause, where it stands, and the number of groundings.

        Examples
        --------
        >>> import sqlrl
        >>> db = sqlrl.connect()
        >>> db.load("Friends", [("Anna", "Bob"), ("Bob", "Chris")])
        >>> text = "Friends(person, person)\nSmokes(person)\n1 Friends(x, y) ^ Smokes(x) => Smokes(y)"
        >>> model = sqlrl.parse_mln(text, query=["Smokes"])
        >>> network = db.ground(model)
        >>> network.atoms.tolist(), network.literals.tolist()
        ([1, 2, 3], [-1, 2, -2, 3])
        """
        check_limit_option(limit)
        most = helper_limit(limit, examples)
        with (
            self.console.progress("grounding"),
            self.program(model, drop=drop, query=query, limit=most) as program,
            self.only(examples) as chosen,
        ):
            program.expand(chosen)
            return ground_network(program, chosen, limit=limit)

    @verb
    def explain(self, model: Model, *, drop: Iterable[str] = (), query: Iterable[str] = ()) -> Explanations:
        r"""Say how a model would be grounded, before any work.

        Parameters
        ----------
        model : Model
        drop, query : iterable of str
            As in `ground`.

        Returns
        -------
        Explanations
            For each shape of clause its size, SQL and plan. It prints as a table; `print(found[0])` shows SQL and plan.

        Examples
        --------
        >>> import sqlrl
        >>> db = sqlrl.connect()
        >>> db.load("Friends", [("Anna", "Bob"), ("Bob", "Chris")])
        >>> text = "Friends(person, person)\nSmokes(person)\n1 Friends(x, y) ^ Smokes(x) => Smokes(y)"
        >>> found = db.explain(sqlrl.parse_mln(text, query=["Smokes"]))
        >>> found[0].clauses, "JOIN" in found[0].sql
        (1, True)
        """
        working = self.console.progress("planning")
        with working, self.program(model, drop=drop, query=query, planned=True) as program:
            return Explanations(explain(program))


def check_model(model: object) -> None:
    """Refuse what is no model, such as its text.

    Raises
    ------
    InputError

    Examples
    --------
    >>> check_model("1 Smokes(x)")
    Traceback (most recent call last):
    sqlrl.errors.InputError: a model is needed, not the text '1 Smokes(x)': parse it with sqlrl.parse_mln, or read a file with sqlrl.read_mln.
    """
    if isinstance(model, Model):
        return
    what = "None" if model is None else f"an object of type {type(model).__name__}"
    if isinstance(model, str):
        what = f"the text {shortened(model, 60)!r}"
    remedy = "parse it with sqlrl.parse_mln, or read a file with sqlrl.read_mln"
    if isinstance(getattr(model, "model_", None), Model):
        what, remedy = f"the estimator {type(model).__name__}", "pass its model_"
    raise InputError(f"a model is needed, not {what}: {remedy}.")


def check_limit_option(limit: object) -> None:
    """Refuse a limit that is no number of ground clauses.

    Raises
    ------
    InputError

    Examples
    --------
    >>> check_limit_option(-1)
    Traceback (most recent call last):
    sqlrl.errors.InputError: limit=-1 must be a whole number of ground clauses, 0 or more, or None for no limit.
    """
    whole = isinstance(limit, int | np.integer) and not isinstance(limit, bool) and limit >= 0
    if limit is not None and not whole:
        raise InputError(f"limit={limit!r} must be a whole number of ground clauses, 0 or more, or None for no limit.")


def helper_limit(limit: int | None, examples: object) -> int | None:
    """Return what a limit on ground clauses says of helper atoms: each has a ground clause, but they are those of all examples.

    Examples
    --------
    >>> helper_limit(1000, None), helper_limit(1000, ["b1"])
    (1000, None)
    """
    return limit if examples is None else None


def _without(model: Model, drop: Iterable[str]) -> Model:
    """Return a model without the rules that mention dropped predicates."""
    # The declarations stay: they say what tables of the data are.
    return model.with_rules(drop_predicates(model, drop).rules) if drop else model
