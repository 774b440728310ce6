"""Marginal probabilities of query atoms, with names, and no more digits than their errors support."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from sqlrl import markup
from sqlrl.catalog.layout import Layout
from sqlrl.catalog.records import Records
from sqlrl.database.inferred import Inferred
from sqlrl.engine.duckdb import DuckDBEngine
from sqlrl.ground.expanding import Unseen
from sqlrl.ground.network import FloatArray, IntArray, NetworkAtoms
from sqlrl.report import Table
from sqlrl.wording import counted

if TYPE_CHECKING:
    from sqlrl.solve.sampling.belief import MarginalResult


@dataclass(frozen=True, eq=False)
class Marginals(Inferred):
    r"""The probability of each query atom, and how well it is known.

    Parameters
    ----------
    engine : DuckDBEngine
    layout : Layout
        Without helper predicates.
    network_atoms : NetworkAtoms
        The n query atoms and the helper atoms.
    result : MarginalResult
        Of all of them.
    unseen : Unseen
        Combinations of template constants that no training example had, and how many query atoms they touch.
    seconds : dict of str to float
        Wall time of grounding and inference.
    records : Records
    built : str
        What the query atoms were built from: `records.atoms()` at the time.
    examples : int64 array
        Ids of the examples, also of those without atoms.
    foreign : int
        Constants in the clauses of the model that these data do not have; their clauses have no groundings.
    run : int, optional
        The number in `sqlrl.run`, if they were kept.

    Examples
    --------
    >>> import sqlrl
    >>> db = sqlrl.connect()
    >>> db.load("Friends", [("Anna", "Bob"), ("Bob", "Chris")])
    >>> db.load("Smokes", [("Anna",)], given=True)
    >>> rule = "1 Friends(x, y) ^ Smokes(x) => Smokes(y)"
    >>> found = db.marginals(sqlrl.parse_mln("Friends(person, person)\nSmokes(person)\n" + rule))
    >>> found.table()
    Smokes: probabilities
    example  person  probability  error  method
    -------  ------  -----------  -----  -----------
    all      Bob        0.650245      0  elimination
    all      Chris      0.650245      0  elimination
    """

    engine: DuckDBEngine
    layout: Layout
    network_atoms: NetworkAtoms
    result: MarginalResult
    unseen: Unseen
    seconds: dict[str, float]
    records: Records
    built: str
    examples: IntArray
    foreign: int = 0
    run: int | None = None

    @cached_property
    def visible(self) -> MarginalResult:
        """The result of the n query atoms, in the order of their ids."""
        real, found = ~self.network_atoms.helper, self.result
        arrays = {name: getattr(found, name)[real] for name in ("probability", "error", "rhat", "ess", "code")}
        return replace(found, **arrays)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Where the estimates cannot be trusted, in words; empty if they can."""
        return self.visible.warnings

    def probabilities(self, predicate: str | None = None) -> pa.Table:
        """Return the probabilities of one predicate's atoms, as computed.

        Parameters
        ----------
        predicate : str, optional
            Required if the model has several open predicates.

        Returns
        -------
        pyarrow.Table
            Columns `example` (name), the arguments (named by their types), `probability`, `error` (Monte Carlo standard error; 0 if
            exact, infinite if unknown), `rhat`, `ess` (infinite if exact), `method`; ordered by atom.

        Raises
        ------
        InputError
            The predicate is not open, or atoms have been numbered anew since.
        """
        found = self.visible
        return self._named(
            predicate,
            self._atoms,
            {
                "probability": pa.array(found.probability),
                "error": pa.array(found.error),
                "rhat": pa.array(found.rhat),
                "ess": pa.array(found.ess),
                "method": method_names(found),
            },
        )

    def table(self, predicate: str | None = None) -> Table:
        """Return the probabilities with the digits that their errors support, as a table to read; compute with `probabilities`.

        Parameters
        ----------
        predicate : str, optional
            As in `probabilities`.

        Returns
        -------
        Table
            Columns `example`, the arguments, `probability` (NULL where the samples support no digit), `error`, `method`.
        """
        found = self.visible
        rounded, error = found.rounded, _two_digits(found.error)
        data = self._named(
            predicate,
            self._atoms,
            {
                "probability": pa.array(rounded, mask=np.isnan(rounded)),
                "error": pa.array(error),
                "method": method_names(found),
            },
        )
        return Table(data, title=f"{self._choose(predicate).name}: probabilities")

    def write(self, into: str, *, replace: bool = False) -> None:
        """Create a table of `probabilities` (of several open predicates: a table for each, named `into_predicate`).

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
        self._write(into, self.probabilities, replace=replace)

    @property
    def _atoms(self) -> IntArray:
        return self.network_atoms.visible

    def _title(self) -> str:
        found = self.visible
        exact = "all exact" if found.exact.all() else f"{int(found.exact.sum()):,} exact"
        return f"Probabilities of {', '.join(self.open_predicates)}: {counted(len(found.code), 'query atom')}, {exact}"

    def __repr__(self) -> str:
        lines = [*str(self.visible).splitlines(), *self._notes()]
        return "\n".join([self._title(), *(f"  {line}" for line in lines)])

    def _repr_html_(self) -> str:
        report = markup.preformatted(str(self.visible))
        return markup.paragraph(self._title()) + report + "".join(map(markup.paragraph, self._notes()))


def method_names(found: MarginalResult) -> pa.Array:
    """Return the name of the method of each atom.

    Examples
    --------
    >>> from sqlrl.solve.marginal import marginals
    >>> from sqlrl.solve.sample import network
    >>> method_names(marginals(network(1, []), [])).to_pylist()
    ['logistic']
    """
    from sqlrl.solve.sampling.belief import METHODS  # with numba, which a database that only loads does not need

    return pa.array([METHODS[code] for code in found.code.tolist()], pa.string())


def _two_digits(error: FloatArray) -> FloatArray:
    """Round errors up to two significant digits.

    Examples
    --------
    >>> _two_digits(np.array([0.0, 0.01234, np.inf])).tolist()
    [0.0, 0.013, inf]
    """
    found = error.copy()
    some = np.isfinite(error) & (error > 0)
    scale = 10.0 ** (1 - np.floor(np.log10(error[some])))
    found[some] = np.round(np.ceil(np.round(error[some] * scale, 9)) / scale, 15)
    return found
