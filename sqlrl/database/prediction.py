"""Predictions: the most probable world over the query atoms of some examples, with names."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from sqlrl import markup
from sqlrl.catalog.fitting import labels_outside
from sqlrl.catalog.layout import Layout
from sqlrl.catalog.records import Records
from sqlrl.database.inferred import Inferred
from sqlrl.engine.duckdb import DuckDBEngine
from sqlrl.errors import InputError
from sqlrl.evaluate import Scores, score
from sqlrl.ground.atoms import read_labels
from sqlrl.ground.expanding import Unseen
from sqlrl.ground.network import IntArray, Network, NetworkAtoms
from sqlrl.report import Console, QuietConsole, Table
from sqlrl.solve.result import MPEResult, Status
from sqlrl.wording import counted

if TYPE_CHECKING:
    from sqlrl.database.why import Reasons


@dataclass(frozen=True, eq=False)
class Prediction(Inferred):
    r"""A predicted world and what is proved about it.

    Parameters
    ----------
    engine : DuckDBEngine
    layout : Layout
        Without helper predicates.
    network_atoms : NetworkAtoms
        The n query atoms and the helper atoms.
    network : Network or None
        None if the examples were grounded in several windows, of which only one is held at a time.
    result : MPEResult
        Of all of them.
    unseen : Unseen
        Combinations of template constants that no training example had, and how many query atoms they touch.
    seconds : dict of str to float
        Wall time of grounding and solving.
    records : Records
        Where runs are kept.
    built : str
        What the query atoms were built from: `records.atoms()` at the time.
    examples : int64 array
        Ids of the examples, also of those without atoms.
    foreign : int
        Constants in the clauses of the model that these data do not have; their clauses have no groundings.
    on_labels : callable, optional
        Called by `evaluate` if every atom has a label: completes the statistics of a prediction that was kept.
    on_why : callable, optional
        What `why` calls: with the prediction, and the parameters of `why`.
    run : int, optional
        The number in `sqlrl.run` of a prediction that was kept.
    partial : bool
        Whether `network` lacks ground clauses that cutting planes did not need.
    console : Console
        Where progress on what is asked of the prediction is drawn; nowhere by default.

    Examples
    --------
    >>> import sqlrl
    >>> db = sqlrl.connect()
    >>> db.load("Friends", [("Anna", "Bob"), ("Bob", "Chris")])
    >>> db.load("Smokes", [("Anna",)], given=True)
    >>> rule = "1 Friends(x, y) ^ Smokes(x) => Smokes(y)"
    >>> prediction = db.predict(sqlrl.parse_mln("Friends(person, person)\nSmokes(person)\n" + rule))
    >>> prediction.status.value, prediction.objective
    ('optimal', 9.0)
    >>> prediction.atoms(every=True)["person"].to_pylist()
    ['Bob', 'Chris']
    """

    engine: DuckDBEngine
    layout: Layout
    network_atoms: NetworkAtoms
    network: Network | None
    result: MPEResult
    unseen: Unseen
    seconds: dict[str, float]
    records: Records
    built: str
    examples: IntArray
    foreign: int = 0
    on_labels: Callable[[], None] | None = None
    on_why: Callable[[Prediction, str, str | None, bool], Reasons] | None = None
    run: int | None = None
    partial: bool = False
    console: Console = field(default_factory=QuietConsole)

    @property
    def status(self) -> Status:
        """How well the world is proved."""
        return self.result.status

    @property
    def objective(self) -> float:
        """Sum of weight times n over the weighted clauses, in log-odds.

        A template without clauses of its own, whose weight was given and not learned, has a clause for each combination of
        constants that these examples leave open. Combinations that the evidence decides everywhere would add the same to
        every world, and are not in the sum.
        """
        return self.result.objective

    @property
    def bound(self) -> float:
        """No world has a greater objective."""
        return self.result.bound

    @property
    def gap(self) -> float:
        """Bound minus objective, absolute."""
        return self.result.gap

    def atoms(self, predicate: str | None = None, *, every: bool = False) -> pa.Table:
        """Return predicted atoms of one predicate with names.

        Parameters
        ----------
        predicate : str, optional
            Required if the model has several open predicates.
        every : bool
            Also those predicted false; `truth` tells.

        Returns
        -------
        pyarrow.Table
            Columns `example` (name), the arguments (named by their types), `truth`; ordered by atom.

        Raises
        ------
        InputError
            The predicate is not open, or atoms have been numbered anew since the prediction.
        """
        ids = self.network_atoms.ids
        shown = np.ones(len(ids), bool) if every else self.result.world
        return self._named(predicate, ids[shown], {"truth": pa.array(self.result.world[shown])})

    def table(self, predicate: str | None = None, *, every: bool = False) -> Table:
        """Return `atoms` as a table that prints; parameters and errors are the same."""
        info = self._choose(predicate)
        return Table(self.atoms(info.name, every=every), title=f"{info.name}: predicted")

    def write(self, into: str, *, replace: bool = False) -> None:
        """Create a table with the true atoms (of several open predicates: a table for each, named `into_predicate`).

        Parameters
        ----------
        into : str
            The name of the table, in the current schema of the connection.
        replace : bool
            Whether a table of that name may be replaced.

        Raises
        ------
        InputError
            The table exists and may not be replaced, or the database can only be read.
        """
        self._write(into, lambda predicate: self.atoms(predicate).drop(["truth"]), replace=replace)

    def why(self, atom: str, *, example: str | None = None, neutral: bool = False) -> Reasons:
        r"""Say why an atom is predicted as it is.

        Parameters
        ----------
        atom : str
            A query atom with its constants, as a line of evidence: `Smokes(Anna)`, `InField("b 1", Title, 3)`.
        example : str, optional
            Its example, where the arguments do not say.
        neutral : bool
            Whether to list also the ground clauses that other atoms decide.

        Returns
        -------
        Reasons
            The ground clauses for and against the predicted value, with constants, weights and what each contributes, and the
            margin: how much the best world's score falls when the atom must have the other value. Those of a prediction
            that was kept are kept too, in `sqlrl.explanation`.

        Raises
        ------
        InputError
            There is no such query atom, or atoms have been numbered anew since the prediction.

        Examples
        --------
        >>> import sqlrl
        >>> db = sqlrl.connect()
        >>> db.load("Friends", [("Anna", "Bob"), ("Bob", "Chris")])
        >>> db.load("Smokes", [("Anna",)], given=True)
        >>> rule = "1 Friends(x, y) ^ Smokes(x) => Smokes(y)"
        >>> prediction = db.predict(sqlrl.parse_mln("Friends(person, person)\nSmokes(person)\n" + rule))
        >>> prediction.why("Smokes(Bob)").table["ground_clause"]
        ['!Friends(Anna, Bob) v !Smokes(Anna) v Smokes(Bob)']
        """
        self.check_current()
        if self.on_why is None:
            raise InputError(
                "this prediction did not come from Database.predict, so that nothing is known of its model"
            )
        return self.on_why(self, atom, example, neutral)

    def evaluate(self, *, outside: str = "missed") -> Scores:
        """Compare with the labels.

        Parameters
        ----------
        outside : {"missed", "ignore"}
            What a true label outside the scope counts as, which has no query atom: as missed, or not at all.

        Returns
        -------
        Scores
            Over atoms that have a label.

        Raises
        ------
        InputError
            No atom has one.
        """
        if outside not in ("missed", "ignore"):
            raise InputError(f"outside={outside!r} must be 'missed' or 'ignore'.")
        with self.console.progress("evaluating"):
            return self._scores(outside)

    def _scores(self, counted: str) -> Scores:
        """Do what `evaluate` does."""
        self.check_current()
        real, atoms = ~self.network_atoms.helper, self.network_atoms.visible
        truth, labelled = read_labels(self.engine, self.layout, atoms, None)
        names = self.open_predicates
        examples = self.examples if counted == "missed" else np.zeros(0, np.int64)
        missed = [labels_outside(self.engine, self.layout, name, examples) for name in names]
        outside = np.concatenate(missed) if missed else np.zeros(0, np.int64)
        if not labelled.any() and not len(outside):
            raise InputError(
                "no predicted atom has a label to compare with: load the labels with target=True, or choose examples "
                "that have them"
            )
        kind = np.full(len(atoms), -1, np.int64)
        for i, name in enumerate(names):
            kind[self.of_predicate(name)[real]] = i
        if self.on_labels is not None and labelled.all():
            self.on_labels()
        none = np.zeros(len(outside), bool)
        return score(
            np.concatenate([truth[labelled], ~none]),
            np.concatenate([self.result.world[real][labelled], none]),
            np.concatenate([self.network_atoms.example[real][labelled], outside]),
            predicate=np.concatenate([kind[labelled], np.repeat(np.arange(len(names)), [len(m) for m in missed])]),
            names=names,
            outside=len(outside),
        )

    def _title(self) -> str:
        real = ~self.network_atoms.helper
        true = int((self.result.world & real).sum())
        names = ", ".join(self.open_predicates)
        return f"Prediction of {names}: {true:,} of {counted(int(real.sum()), 'query atom')} true"

    def __repr__(self) -> str:
        lines = [*str(self.result.report).splitlines(), *self._notes()]
        return "\n".join([self._title(), *(f"  {line}" for line in lines)])

    def _repr_html_(self) -> str:
        report = markup.preformatted(str(self.result.report))
        return markup.paragraph(self._title()) + report + "".join(map(markup.paragraph, self._notes()))
