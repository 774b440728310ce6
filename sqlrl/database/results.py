"""One kind of result: what users do with a predicted world, with probabilities and with truth values alike."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Generic, TypeVar

import pyarrow as pa

from sqlrl import markup
from sqlrl.arguments import refuse
from sqlrl.catalog.layout import Layout
from sqlrl.catalog.views import unique_name
from sqlrl.database.evaluation import Compared, compared
from sqlrl.database.inferred import THRESHOLD, Inferred
from sqlrl.database.named_atoms import find_atom
from sqlrl.errors import InputError, Parameter
from sqlrl.evaluate.probabilities import BINS
from sqlrl.ground.network import BoolArray
from sqlrl.progress import enough_memory
from sqlrl.report import Table
from sqlrl.wording import counted

if TYPE_CHECKING:
    from sqlrl.database.plots import ResultPlots
    from sqlrl.plan.named_clauses import AtomKey
    from sqlrl.report.page import Report

ScoresT = TypeVar("ScoresT")
"""The scores of a kind."""

ReasonsT = TypeVar("ReasonsT")
"""What a kind says of why an atom has its value."""


class InferenceResult(Inferred, Generic[ScoresT, ReasonsT]):
    """What inference found, as users hold it: `Prediction`, `Marginals` and `SoftPrediction` are its kinds.

    All have `atoms` (data), `table` (to read), `write` (a table of the database), `evaluate` (against the labels), `clusters` (of an
    equivalence), `why` (an atom has its value), `plot` and `report`. What differs is the column of the value, `truth`, `probability` or
    `value`, which a kind declares with the values, what counts as true and how labels are read (`Inferred`), and beside it:

    - the columns of data, to read, to keep and to write (`_columns`, `_shown_columns`, `_kept_columns`, `kept_in`, `_unwritten`) and the words
      of titles (`_found`, `_title`, `_summary`),
    - its scores, what is kept of them, and its reasons (`_scores`, `_keep_outcomes`, `_reasons`).

    What means nothing for a kind is an UnsupportedError that says what to call instead.
    """

    kept_in: ClassVar[str]
    """The table of `sqlrl` that has the values of runs."""
    _found: ClassVar[str] = "predicted"
    """What titles of tables say was done."""
    _unwritten: ClassVar[tuple[str, ...]] = ()
    """Columns of `atoms` that `write` leaves out."""

    @abstractmethod
    def _scores(self, known: Compared, *, bins: int, threshold: float) -> ScoresT:
        """Score the values beside the labels."""

    @abstractmethod
    def _keep_outcomes(self, run: int, known: Compared, threshold: float) -> None:
        """Keep what labels say of a run."""

    @abstractmethod
    def _reasons(self, key: AtomKey, *, neutral: bool) -> ReasonsT:
        """Say why an atom has its value."""

    @abstractmethod
    def _title(self) -> str:
        """Return the first line of how it prints."""

    @abstractmethod
    def _summary(self) -> str:
        """Return lines of a name and a value: how it was found, and how well it is known."""

    # ---- the atoms -------------------------------------------------------------------------------------

    def atoms(self, predicate: str | None = None, *, every: bool = False, at_least: float = 0.0) -> pa.Table:
        """Return the atoms of one predicate with their names and values.

        Parameters
        ----------
        predicate : str, optional
            Required if the model has several open predicates.
        every : bool
            Of a predicted world also the atoms predicted false, which `truth` tells; probabilities and truth values are always those of all
            atoms.
        at_least : float
            Leave out atoms with a lower value; false is 0, and true is 1.

        Returns
        -------
        pyarrow.Table
            Columns `example` (name), the arguments (named by their types) and the value, ordered by atom. A predicted world has `truth`, and
            with `margins=True` also `margin` (log-odds; infinite where no world has the other value, NULL where that was too much to find).
            Probabilities have `probability`, `error` (Monte Carlo standard error; 0 if exact, infinite if unknown), `rhat`, `ess` (infinite if
            exact) and `method`. A soft model has `value`.

        Raises
        ------
        InputError
            The predicate is not open, or atoms have been numbered anew since.
        """
        shown = self._listed(every=every, at_least=at_least)
        return self.named(predicate, self.network_atoms.ids[shown], self._columns(shown))

    def table(self, predicate: str | None = None, *, every: bool = False, at_least: float = 0.0) -> Table:
        """Return `atoms` as a table that prints; parameters and errors are the same.

        Probabilities have only the digits that their errors support (NULL where the samples support none), and neither `rhat` nor `ess`.
        """
        info, shown = self.chosen(predicate), self._listed(every=every, at_least=at_least)
        data = self.named(info.name, self.network_atoms.ids[shown], self._shown_columns(shown))
        return Table(data, title=f"{info.name}: {self._found}")

    def write(self, into: str, *, replace: bool = False) -> None:
        """Create a table of `atoms` (of several open predicates: a table for each, named `into_predicate`).

        Of a predicted world these are the true atoms, without the column `truth`.

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
        given: object = into
        if not isinstance(given, str):
            raise refuse("the name of a table", given)
        names = self.tables(into)
        # All are checked before the first is written.
        self.engine.check_free(names.values(), replace=replace)
        for predicate, name in names.items():
            self.engine.write_table(name, self.atoms(predicate).drop(list(self._unwritten)), replace=replace)

    def tables(self, into: str) -> Mapping[str, str]:
        """Return the names of the tables that `write` creates, by predicate."""
        return into_tables(self.layout, into)

    def kept_rows(self, predicate: str) -> pa.Table:
        """Return the atoms of a predicate, by their ids, as rows of `kept_in` without the run."""
        atoms, mine = self.network_atoms, self._listed() & self.of_predicate(predicate)
        names = pa.array([predicate] * int(mine.sum()), pa.string())
        columns = {"predicate": names, "atom": atoms.ids[mine], "example": atoms.example[mine]}
        return pa.table({**columns, **self._kept_columns(mine)})

    def _listed(self, *, every: bool = False, at_least: float = 0.0) -> BoolArray:
        """Return which of the n atoms are listed, shape (n,)."""
        # NaN is not known to be lower.
        shown: BoolArray = self.reported & ~(self.atom_values < at_least)
        return shown if every or self.value_column != "truth" else shown & self.holds()

    def _columns(self, shown: BoolArray) -> dict[str, pa.Array]:
        """Return the columns of some atoms, as computed."""
        return {self.value_column: pa.array(self.atom_values[shown])}

    def _kept_columns(self, shown: BoolArray) -> dict[str, pa.Array]:
        """Return the columns of some atoms, to keep."""
        return self._columns(shown)

    def _shown_columns(self, shown: BoolArray) -> dict[str, pa.Array]:
        """Return the columns of some atoms, to read."""
        return self._columns(shown)

    # ---- what is asked of them -------------------------------------------------------------------------

    def evaluate(self, *, outside: str = "missed", bins: int = BINS, threshold: float = THRESHOLD) -> ScoresT:
        r"""Compare with the labels.

        Parameters
        ----------
        outside : {"missed", "ignore"}
            What a true label outside the scope counts as, which has no query atom: as missed, or not at all. It has no probability and no
            truth value, and is counted beside these scores.
        bins : int
            Bins of equal width in which probabilities are compared with shares of true atoms.
        threshold : float
            Of a soft model: labels and values of at least as much count as true.

        Returns
        -------
        Scores, ProbabilityScores or SoftScores
            Over atoms that have a label: of a predicted world, of probabilities, or of truth values. `by_example()` of the latter two says
            how well the atoms of each example are ranked.

        Raises
        ------
        InputError
            No atom has a label, or an option is none of those above.

        Notes
        -----
        Of what was kept, `sqlrl.outcome` then has the labels beside what was inferred, for the views `confusion`, `block_confusion`,
        `calibration` (ten bins, whatever `bins` says) and `worst_predicted_examples`; of a predicted world `sqlrl.support` has for how many
        atoms each clause speaks, for the view `clause_support`, and examples that were grounded in several windows are grounded once more
        for it.

        Examples
        --------
        >>> import sqlrl
        >>> db = sqlrl.connect()
        >>> db.load("Word", [("d1", "good"), ("d2", "bad")], types=["doc", "word"], example="doc")
        >>> db.load("Liked", [("d1",)], types=["doc"], target=True)
        >>> rules = sqlrl.parse_mln('Word(doc, word)\nLiked(doc)\n1 Word(d, "good") => Liked(d)\n-0.5 Liked(d)')
        >>> db.predict(rules).evaluate().total.f1
        1.0
        >>> scores = db.probabilities(rules).evaluate(bins=2)
        >>> scores.auc_roc, scores.calibration.table()["share"].to_pylist()
        (1.0, [0.0, 1.0])
        """
        with self.session.verb(), self.session.console.progress("evaluating"), enough_memory("evaluating"):
            known = compared(self, outside, threshold)
            scores = self._scores(known, bins=bins, threshold=threshold)
            if self.run is not None and self.engine.writable:
                self._keep_outcomes(self.run, known, threshold)
            return scores

    def clusters(self, predicate: str | None = None, *, closure: bool = False) -> Table:
        r"""Return the clusters of a predicted equivalence, such as records that are the same.

        Parameters
        ----------
        predicate : str, optional
            An open predicate with two arguments of one type; required if the model has several.
        closure : bool
            Join whatever is connected, also where the prediction is no equivalence.

        Returns
        -------
        Table
            Columns `example`, the record (named by its type) and `cluster` (numbered from 0 by the first record of each), in order
            of clusters: all records of the type where all data are one example, else those with a query atom or a given one. Two
            records are joined if the predicate is true of them in either order, that is predicted, or more probable than not, or of a truth
            value of at least one half; what is given true counts.

        Raises
        ------
        InputError
            The predicate is no such relation; or it joins x with y and y with z, but not x with z: the error shows such a triple.

        Examples
        --------
        >>> import sqlrl
        >>> db = sqlrl.connect()
        >>> db.load("Alike", [("Ann", "Anne"), ("Anne", "Anna"), ("Bob", "Rob")], types=("name", "name"))
        >>> text = "Alike(name, name)\nSame(name, name)\n1 Alike(x, y) => Same(x, y)\n-0.1 Same(x, y)\n"
        >>> rules = "Same(x, y) => Same(y, x).\nSame(x, y) ^ Same(y, z) => Same(x, z)."
        >>> for row in db.predict(sqlrl.parse_mln(text + rules, query=["Same"])).clusters():
        ...     print(row["cluster"], row["name"])
        0 Ann
        0 Anna
        0 Anne
        1 Bob
        1 Rob
        """
        from sqlrl.database.clusters import clusters

        with self.session.verb():
            return clusters(self, predicate, closure=closure)

    def why(self, atom: str, *, example: str | None = None, neutral: bool = False) -> ReasonsT:
        r"""Say why an atom has its value.

        Parameters
        ----------
        atom : str
            A query atom with its constants, as a line of evidence: `Smokes(Anna)`, `InField("b 1", Title, 3)`.
        example : str, optional
            Its example, where the arguments do not say.
        neutral : bool
            Of a predicted world, whether to list also the ground clauses that other atoms decide; of a soft model satisfied hinges are
            always listed.

        Returns
        -------
        Reasons or Pushes
            Of a predicted world the ground clauses for and against the value, with constants, weights and what each contributes, and the
            margin: how much the best world's score falls when the atom must have the other value. Those of a prediction that was kept are
            kept too, in `sqlrl.explanation`. Of a soft model the hinges that the atom is in, and how each pushes its truth value.

        Raises
        ------
        InputError
            There is no such query atom, or atoms have been numbered anew since the prediction.
        UnsupportedError
            These are probabilities.

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
        >>> soft = sqlrl.parse_psl("2: Friends(A, B) & Smokes(A) -> Smokes(B) ^2\n1: !Smokes(A) ^2")
        >>> for push in db.predict(soft).why("Smokes(Chris)").table:
        ...     print(push["side"], push["hinge"], round(push["push"], 3))
        up Smokes(Bob) - Smokes(Chris) 0.727
        down Smokes(Chris) -0.727
        """
        self.check_current()
        with self.session.verb(), self.session.console.progress("explaining"):
            key = find_atom(self.session.catalog, self.layout, atom, self.network_atoms.visible, example)
            return self._reasons(key, neutral=neutral)

    @property
    def plot(self) -> ResultPlots:
        """The charts: `confusion()`, of probabilities and truth values also `precision_recall()` and `roc()`, of probabilities `calibration()`."""
        from sqlrl.database.plots import PLOTS

        return PLOTS[self.value_column](self)

    def report(self, path: str | Path | None = None) -> Report:
        """Return a page about the run that was kept; `RunRecord.report` explains it.

        Parameters
        ----------
        path : str or Path, optional
            Where to write the page, a name that ends in .html.

        Raises
        ------
        InputError
            It was not kept.
        """
        if self.run is None:
            raise InputError(
                f"a report is about a run that the database keeps, and this was not kept: give {Parameter('keep', True)}, and call evaluate() if there are labels"
            )
        from sqlrl.database.models_and_runs import RunRecord

        return RunRecord.read(self.session, self.run).report(path)

    # ---- how it prints ---------------------------------------------------------------------------------

    def _notes(self) -> list[str]:
        """Return what a user should know of how far the model fits these examples."""
        hidden = [f"{p.name} ({counted(p.atom_count, 'atom')})" for p in self.layout.open_predicates() if p.hidden]
        notes = [f"inferred with them and not reported: {', '.join(hidden)}"] if hidden else []
        if self.unseen.combinations:
            were = "was" if self.unseen.combinations == 1 else "were"
            touch = "it touches" if self.unseen.combinations == 1 else "they touch"
            notes.append(
                f"{counted(self.unseen.combinations, 'combination')} of constants {were} never seen in training; "
                f"{touch} {counted(self.unseen.atoms, 'query atom')}"
            )
        if self.unknown:
            do = "does" if self.unknown == 1 else "do"
            notes.append(f"{counted(self.unknown, 'constant')} of the model's clauses {do} not occur in these data")
        return notes

    def __repr__(self) -> str:
        lines = [*self._summary().splitlines(), *self._notes()]
        return "\n".join([self._title(), *(f"  {line}" for line in lines)])

    def _repr_html_(self) -> str:
        return markup.report(self._title(), self._summary(), self._notes())


def into_tables(layout: Layout, into: str) -> dict[str, str]:
    """Return the tables into which results are written, by open predicate that is not hidden."""
    # The database ignores case in names of tables, so that those of predicates `P` and `p` are `into_P` and `into_p_2`.
    names = [info.name for info in layout.open_predicates() if not info.hidden]
    taken = set[str]()
    return {name: into if len(names) == 1 else unique_name(f"{into}_{name}", taken) for name in names}
