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
    from sqlrl.database.scorer import CompiledScorer
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
        """Check that model and data fit, and build the tables of query atoms; a CatalogError has everything that does not fit."""
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
        """Hold a model against the data while the context is open; its scratch tables go when it closes.

        Parameters
        ----------
        model : Model
        training : bool
            True if the model is to be learned: a target of which nothing was loaded is then false everywhere.
        roles : Roles, optional
        closed : bool
            Whether there may be nothing to predict.
        limit : int, optional
            The most helper atoms of a quantifier over several open literals, over all examples.
        planned : bool
            Whether helper atoms are planned and not listed, which is enough to explain a model.
        growing : bool
            Whether the rules are yet to be found.
        """
        with self.session.program(
            model,
            training=training,
            roles=roles or NONE,
            all_closed=closed,
            limit=limit,
            planned=planned,
            adds_rules=growing,
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
        """Ground a model, one SQL query for each shape of clause; `limit` is the most ground clauses of one shape, None for no limit."""
        from sqlrl.ground.grounding import ground_network
        from sqlrl.ground.program import Extent

        asked = Query(model, examples, roles or NONE, limit)
        asked.check()
        working = self.console.progress("grounding")
        with self.session.verb(), working, self.session.expanded(asked) as (program, chosen):
            return ground_network(Extent(program, chosen, limit))

    def plan(self, model: Model, *, roles: Roles | None = None) -> Explanations:
        """Say how a model would be grounded, before any work; `Model.plan` explains it."""
        from sqlrl.database.explanations import Explanations, explain

        working = self.console.progress("planning")
        held = self.session.program(model, roles=roles or NONE, planned=True)
        with self.session.verb(), working, held as program:
            return Explanations(explain(program))

    def compile(self, model: Model, *, roles: Roles | None = None) -> CompiledScorer:
        """Compile a model to a scorer; `Model.compile` explains it."""
        from sqlrl.database.scorer import CompiledScorer
        from sqlrl.ground.array_compile import compile_arrays

        Query(model, roles=roles or NONE).check(weighted=True)
        working = self.console.progress("compiling")
        # Atoms of helper predicates are those of the examples: of the data they are only planned.
        held = self.session.program(model, roles=roles or NONE, planned=True)
        with self.session.verb(), working, held as program:
            return CompiledScorer(*compile_arrays(program))

    def example_ids(self, examples: Any = None) -> npt.NDArray[np.int64]:
        """Return the ids of examples, in the order given, or in that of the data; CatalogError if there is no example of a name, or a name occurs twice."""
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
        """Refuse texts that name no query atom of some examples, which `Prediction.why` would refuse after all the work.

        `example` is that of the atoms, where their arguments do not say. An InputError has the atom, and those that are nearest to it.
        """
        from sqlrl.database.named_atoms import check_atoms

        check_atoms(self.session, Query(model, examples, roles or NONE), atoms, example)
