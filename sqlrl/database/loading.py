"""Loading facts: of one predicate, and evidence files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sqlrl.catalog.catalog import Catalog
from sqlrl.logic.model import Model
from sqlrl.report import Console, QuietConsole


class Loading:
    """What loads facts into a database; `sqlrl.database.data.Data` adds scopes, examples and SQL.

    Parameters
    ----------
    catalog : Catalog
    console : Console, optional
        Where progress on anything longer than a second is drawn; nowhere by default.
    """

    def __init__(self, catalog: Catalog, console: Console | None = None) -> None:
        self.catalog, self.engine = catalog, catalog.engine
        self.console = console or QuietConsole()

    def load(
        self,
        predicate: str,
        source: Any,
        *,
        columns: Sequence[str | int] | Mapping[str | int, str | int] | None = None,
        types: Sequence[str] | None = None,
        example: str | int | None = None,
        target: bool = False,
        given: bool = False,
        truth: str | int | None = None,
        probability: str | int | None = None,
        duplicates: str = "error",
        nulls: str = "error",
        empty: str = "error",
        fold_case: bool = False,
        constants: Mapping[str, str] | None = None,
        header: bool = True,
        delimiter: str | None = None,
        quote: str = '"',
    ) -> None:
        """Load the facts of a predicate, in place of those loaded before in the same role (fact, label, given, soft).

        Parameters
        ----------
        predicate : str
        source : path, str, Arrow table, pandas or polars frame, DuckDB relation, or iterable of rows
            Text is a Parquet or CSV file, the name of a table or view, or a query. The columns of a CSV file are read as text.
            Rows are tuples, lists, arrays, or mappings, whose keys name the columns. None and NaN are missing values. A whole
            number in a column of floats or decimals is the constant that an integer is. An empty tuple is the fact of a predicate
            without arguments.
        columns : sequence or mapping, optional
            Columns of the arguments in order, by name or position from 0; or from argument (position, or type where
            only one argument has it) to column. By default columns are arguments by their position.
        types : sequence of str, optional
            Types of the arguments. If neither they nor a model's declaration are there, the facts wait as text for the model.
            Other types than before need a load that replaces all facts of the predicate.
        example : str or int, optional
            The type, the column or the position (from 0) of an argument whose constants are the examples, or a column
            beside the arguments that holds the example.
        target : bool
            The predicate is to be predicted and the facts are its labels.
        given : bool
            The predicate is to be predicted and the facts are evidence about it.
        truth : str or int, optional
            A boolean column: false rows are facts known to be false. Of a target other tuples in its scope count as false as well.
        probability : str or int, optional
            A column of probabilities: soft evidence. 0 and 1 are hard evidence.
        duplicates : {"error", "drop"}
            What to do with facts that occur more than once.
        nulls : {"error", "drop"}
            What to do with rows that have NULL for an argument or the example; the log says how many were dropped.
        empty : {"error", "allow"}
            What to do with a source that has no rows.
        fold_case : bool
            Lower the case of all constants.
        constants : mapping of str to str, optional
            New names of constants (after `fold_case`).
        header : bool
            The first line of a CSV file names its columns; without a header they are chosen by position.
        delimiter : str, optional
            What separates the fields of a CSV file, one character; by default a tab in .tsv files, else a comma.
        quote : str
            What encloses fields of a CSV file that hold a delimiter, one character; "" if there is none.

        Raises
        ------
        LoadError
            With all faults, the rows and the remedy; nothing has changed then.

        Examples
        --------
        >>> import sqlrl
        >>> db = sqlrl.connect()
        >>> db.load("Friends", [("Anna", "Bob"), ("Bob", None)], types=["person", "person"], nulls="drop")
        >>> db.load("Smokes", [("Anna", 0.8), ("Bob", 0.5)], types=["person"], probability=1)
        >>> db.predicates()["predicate"], db.predicates()["facts"]
        (['Friends(person, person)', 'Smokes(person)'], [1, 2])
        >>> db.load("Smokes", [("Anna",), ("Anna",)], types=["person"])
        Traceback (most recent call last):
        sqlrl.errors.LoadError: Smokes from the tuples: duplicate facts: (Anna) occurs 2 times (rows 1 and 2): remove them or pass duplicates="drop".
        """
        with self.console.progress(f"loading {predicate}"):
            self.catalog.load(
                predicate,
                source,
                columns=columns,
                types=types,
                example=example,
                target=target,
                given=given,
                truth=truth,
                probability=probability,
                duplicates=duplicates,
                nulls=nulls,
                empty=empty,
                fold_case=fold_case,
                constants={} if constants is None else constants,
                header=header,
                delimiter=delimiter,
                quote=quote,
            )

    def load_evidence(
        self,
        source: Any,
        model: Model,
        *,
        given: bool = False,
        target: bool = False,
        duplicates: str = "error",
        empty: str = "error",
        replace: bool = False,
        drop: Iterable[str] = (),
    ) -> None:
        r"""Load evidence atoms (Alchemy's `.db` files); constants take the model's types.

        A later call may load other predicates or roles. The same files again take the place of what they held before;
        other files with facts of the same predicates and roles are refused, unless they are to replace them.

        Parameters
        ----------
        source : path, list of paths, or iterable of EvidenceAtom
            `P(A)` true, `!P(A)` false, `0.8 P(A)` soft, `?P(A)` unknown. Several files count as one.
        model : Model
            Declares the predicates.
        given : bool
            Facts of open predicates are evidence, not labels.
        target : bool
            Every predicate in the files is to be predicted.
        duplicates : {"error", "drop", "warn"}
            What to do with atoms that stand more than once with the same value; "warn" drops them with a warning.
        empty : {"error", "allow", "warn"}
            What to do with a file that has no atoms.
        replace : bool
            Facts loaded before, of the same predicates and roles, are replaced.
        drop : iterable of str
            Predicates of the model whose facts are skipped.

        Raises
        ------
        ParseError
            A line does not parse.
        LoadError, CatalogError
            With all faults, their files and lines; nothing has changed then.

        Examples
        --------
        >>> import sqlrl
        >>> from sqlrl.logic.evidence import parse_evidence
        >>> model = sqlrl.parse_mln("Smokes(person)\n1 Smokes(x)")
        >>> db = sqlrl.connect()
        >>> db.load_evidence(parse_evidence("Smokes(Anna)\nSmokes(Anna)"), model)
        Traceback (most recent call last):
        sqlrl.errors.LoadError: the evidence: duplicate facts: Smokes(Anna) (lines 1 and 2): remove the repetitions or pass duplicates="drop"
        >>> db.load_evidence(parse_evidence("Smokes(Anna)\nSmokes(Bob)"), model)
        >>> db.predicates()["facts"]
        [2]
        """
        with self.console.progress("loading evidence"):
            self.catalog.load_evidence(
                source,
                model,
                given=given,
                target=target,
                duplicates=duplicates,
                empty=empty,
                replace=replace,
                drop=drop,
            )
