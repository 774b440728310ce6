"""What a database works with, for code that extends sqlrl or looks into it: engine, catalog, ground networks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sqlrl.catalog.catalog import Catalog
from sqlrl.catalog.layout import Layout
from sqlrl.catalog.records import Records
from sqlrl.catalog.roles import NONE, Roles
from sqlrl.engine.duckdb import DuckDBEngine
from sqlrl.ground.limits import GROUNDING_LIMIT
from sqlrl.logic.model import Model
from sqlrl.report import Console
from sqlrl.training.learning import Learning
from sqlrl.training.session import Query, Session

if TYPE_CHECKING:
    from sqlrl.database.explanations import Explanations
    from sqlrl.ground.network import Network
    from sqlrl.ground.program import Program


class Advanced:
    r"""What the verbs of a database work with: `Database.advanced`. It may change in any release.

    Parameters
    ----------
    session : Session

    Attributes
    ----------
    session : Session
        What the verbs share.
    learning : Learning
        The data as learners take them.

    Examples
    --------
    >>> import sqlrl
    >>> db = sqlrl.connect()
    >>> db.load("Friends", [("Anna", "Bob"), ("Bob", "Chris")])
    >>> text = "Friends(person, person)\nSmokes(person)\n1 Friends(x, y) ^ Smokes(x) => Smokes(y)"
    >>> network = db.advanced.ground(sqlrl.parse_mln(text, query=["Smokes"]))
    >>> network.atoms.tolist(), network.literals.tolist()
    ([1, 2, 3], [-1, 2, -2, 3])
    """

    def __init__(self, session: Session) -> None:
        self.session = session
        self.learning = Learning(session)

    @property
    def engine(self) -> DuckDBEngine:
        """What executes SQL."""
        return self.session.engine

    @property
    def catalog(self) -> Catalog:
        """Predicates and their tables."""
        return self.session.catalog

    @property
    def records(self) -> Records:
        """What is kept of models and runs."""
        return self.session.records

    @property
    def console(self) -> Console:
        """Where progress on anything longer than two seconds is drawn."""
        return self.session.console

    @console.setter
    def console(self, console: Console) -> None:
        self.session = replace(self.session, console=console)
        self.learning = Learning(self.session)

    def bind(self, model: Model, *, training: bool = False, roles: Roles | None = None) -> Layout:
        r"""Check that model and data fit, and build the tables of query atoms.

        Parameters
        ----------
        model, training, roles
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
        >>> db.advanced.bind(sqlrl.parse_mln(text, query=["Smokes"])).predicates["Smokes"].atom_count
        3
        """
        return self.session.bind(model, roles or NONE, training=training)

    @contextmanager
    def program(
        self,
        model: Model,
        *,
        training: bool = False,
        roles: Roles | None = None,
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
            True if the model is to be learned: a target of which nothing was loaded is then false everywhere.
        roles : Roles, optional
            What predicates are taken for.
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
        >>> with db.advanced.program(sqlrl.parse_mln(text, query=["Smokes"])) as program:
        ...     program.clause_count
        1
        """
        with self.session.program(
            model,
            training=training,
            roles=roles or NONE,
            closed=closed,
            limit=limit,
            planned=planned,
            growing=growing,
        ) as program:
            yield program

    def ground(
        self,
        model: Model,
        *,
        examples: Any = None,
        limit: int | None = GROUNDING_LIMIT,
        roles: Roles | None = None,
    ) -> Network:
        r"""Ground a model: one SQL query for each shape of clause.

        Parameters
        ----------
        model : Model
        examples : list of names, query, relation or frame, optional
        limit : int or None
            The most ground clauses of one shape.
        roles : Roles, optional
            What predicates are taken for.

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
        >>> db.advanced.ground(sqlrl.parse_mln(text, query=["Smokes"])).literals.tolist()
        [-1, 2, -2, 3]
        """
        from sqlrl.ground.grounding import ground_network
        from sqlrl.ground.program import Extent

        asked = Query(model, examples, roles or NONE, limit)
        asked.check()
        working = self.console.progress("grounding")
        with self.session.verb(), working, self.session.expanded(asked) as (program, chosen):
            return ground_network(Extent(program, chosen, limit))

    def plan(self, model: Model, *, roles: Roles | None = None) -> Explanations:
        r"""Say how a model would be grounded, before any work; `Model.plan` explains it.

        Parameters
        ----------
        model : Model
        roles : Roles, optional

        Returns
        -------
        Explanations

        Examples
        --------
        >>> import sqlrl
        >>> db = sqlrl.connect()
        >>> db.load("Smokes", [("Anna",)], types=["person"])
        >>> db.advanced.plan(
        ...     sqlrl.parse_mln("Smokes(person)\nCancer(person)\n1 Smokes(x) => Cancer(x)", query="Cancer")
        ... )[0].clauses
        1
        """
        from sqlrl.database.explanations import Explanations, explain

        working = self.console.progress("planning")
        held = self.session.program(model, roles=roles or NONE, planned=True)
        with self.session.verb(), working, held as program:
            return Explanations(explain(program))

    def example_ids(self, examples: Any = None) -> npt.NDArray[np.int64]:
        r"""Return ids of examples.

        Parameters
        ----------
        examples : list of names, query, relation or frame, optional
            All examples by default.

        Returns
        -------
        int64 array
            In the order given, or in that of the data.

        Raises
        ------
        CatalogError
            There is no example of a name, or a name occurs twice.

        Examples
        --------
        >>> import sqlrl
        >>> db = sqlrl.connect()
        >>> db.load("Word", [("d1", "a"), ("d2", "b")], types=["doc", "word"], example="doc")
        >>> db.load("Liked", [("d1",)], types=["doc"], target=True)
        >>> layout = db.advanced.bind(sqlrl.parse_mln("Word(doc, word)\nLiked(doc)\n1 Word(d, w) => Liked(d)"))
        >>> db.advanced.example_ids(["d2", "d1"]).tolist()
        [1, 0]
        """
        return self.session.example_ids(examples)

    def check_atoms(
        self,
        model: Model,
        atoms: Iterable[str],
        *,
        examples: Any = None,
        example: str | None = None,
        roles: Roles | None = None,
    ) -> None:
        r"""Refuse texts that name no query atom of some examples, which `Prediction.why` would refuse after all the work.

        Parameters
        ----------
        model : Model
        atoms : iterable of str
            Each a predicate with constants, as `Prediction.why` takes it.
        examples : list of names, query, relation or frame, optional
            Those that are to be predicted.
        example : str, optional
            The example of the atoms, where their arguments do not say.
        roles : Roles, optional
            What predicates are taken for.

        Raises
        ------
        InputError
            With the atom, and those that are nearest to it.

        Examples
        --------
        >>> import sqlrl
        >>> db = sqlrl.connect()
        >>> db.load("Friends", [("Anna", "Bob"), ("Bob", "Chris")])
        >>> text = "Friends(person, person)\nSmokes(person)\n1 Friends(x, y) ^ Smokes(x) => Smokes(y)"
        >>> model = sqlrl.parse_mln(text, query=["Smokes"])
        >>> db.advanced.check_atoms(model, ["Smokes(Bob)"])
        >>> db.advanced.check_atoms(model, ["Smokes(Bo)"])
        Traceback (most recent call last):
        sqlrl.errors.InputError: Smokes(Bo): there is no person 'Bo'; did you mean 'Bob' or 'Anna' or 'Chris'?
        """
        from sqlrl.database.named_atoms import check_atoms

        check_atoms(self.session, Query(model, examples, roles or NONE), atoms, example)
