"""The database: where data are loaded, models are held against them, and results come back."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace as with_values
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, NoReturn, Self, overload

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sqlrl import markup
from sqlrl.arguments import refuse
from sqlrl.arrow import array
from sqlrl.catalog.catalog import Catalog
from sqlrl.catalog.derived_bias import CONSTANTS
from sqlrl.catalog.image import PredicateRecord
from sqlrl.catalog.layout import Layout
from sqlrl.catalog.records import Records
from sqlrl.catalog.roles import Roles
from sqlrl.catalog.sizes import ATOM_LIMIT, check_atom_limit
from sqlrl.database.definitions import follow
from sqlrl.engine.connection import connect as connect_engine
from sqlrl.engine.duckdb import DuckDBEngine
from sqlrl.errors import InputError
from sqlrl.evaluate.probabilities import BINS
from sqlrl.ground.limits import DENSITY, GROUNDING_LIMIT, GROWTH, MOST_GROUPS
from sqlrl.logic.horn_parser import LOWER
from sqlrl.logic.limits import MOST_CANDIDATES
from sqlrl.logic.model import Model
from sqlrl.logic.psl import SoftModel
from sqlrl.report import Console, Table, console_for
from sqlrl.slips import Helpful
from sqlrl.training.learning import Learning
from sqlrl.training.session import Query, Session

if TYPE_CHECKING:
    import duckdb

    from sqlrl.catalog.loading import Sources, Types
    from sqlrl.database.audit import Audit
    from sqlrl.database.explanations import Explanations
    from sqlrl.database.exports import Exported
    from sqlrl.database.holdout import Split
    from sqlrl.database.marginals import Marginals
    from sqlrl.database.model_sql import ExportedSQL
    from sqlrl.database.predictions import Prediction
    from sqlrl.database.run_records import RunRecord
    from sqlrl.database.soft_predictions import SoftPrediction
    from sqlrl.engine.spark.server import Spark
    from sqlrl.evaluate import ProbabilityScores, Scores, SoftScores
    from sqlrl.ground.network import Network
    from sqlrl.ground.program import Program
    from sqlrl.logic.bias import Bias
    from sqlrl.logic.grammar import Grammar
    from sqlrl.script.runner import ScriptResult
    from sqlrl.solve.exchange.solutions import Format, NetworkFormat
    from sqlrl.solve.exchange.wcnf import Dialect
    from sqlrl.solve.hinge.result import HingeOptions
    from sqlrl.solve.marginal import Method as MarginalMethod
    from sqlrl.solve.methods import WorldMethod
    from sqlrl.structure.diagnosis.diagnosis import Diagnosis


def connect(
    target: str | Path | duckdb.DuckDBPyConnection = ":memory:",
    *,
    threads: int | None = None,
    memory_limit: str | None = None,
    temp_directory: str | Path | None = None,
    atom_limit: int = ATOM_LIMIT,
    read_only: bool = False,
    trusted: bool = True,
    progress: bool = True,
    engine: Spark | None = None,
) -> Database:
    """Open a database file, memory, or your own DuckDB connection.

    Parameters
    ----------
    target : path, ":memory:" or duckdb.DuckDBPyConnection
        On your own connection nothing is written but a database in memory named `sqlrl`; `sqlrl_`, if you have a schema or
        database of that name, and printing the database says so.
    threads : int, optional
    memory_limit : str, optional
        Such as "4GB". From 1 GB on it is for the whole process: what the database's share does not hold spills to `temp_directory`,
        predictions of many examples are made in smaller windows, and a ground network that would not fit is refused before it
        is grounded (`MemoryLimitError`). A smaller limit is the database's alone. Without one, what exceeds the memory of the
        machine or of the container is refused.
    temp_directory : path, optional
    atom_limit : int
        The most query atoms that a model may have, helper atoms included; and the most clauses of templates. They are counted before they
        are made, and more are an error, since each takes about 250 bytes.
    read_only : bool
    trusted : bool
        False for a file that a stranger may have made: SQL reads nothing outside of it, what sqlrl reads in it is what sqlrl makes,
        and `refresh` runs no query that it keeps. `SECURITY.md` says what that means and what it does not.
    progress : bool
        Show on standard error what is at work in anything that takes longer than two seconds: as a bar on a terminal, as one text that is updated
        below the cell of a notebook, else, as in scripts, as a line every few seconds.
    engine : Spark, optional
        A server of Spark Connect on which the plans of models run, `Spark("sc://host:port", storage=...)`. What is loaded, learned and kept
        stays in DuckDB; `docs/spark.md` says what is sent where.

    Returns
    -------
    Database

    Raises
    ------
    BusyError
        Another process holds the file.
    ServerError
        No server of Spark answers.
    MigrationError
        The file was written by a newer version of sqlrl.
    UntrustedError
        With `trusted=False`: what the file has in place of sqlrl's tables or DuckDB's functions.
    InputError
        The file is damaged, a setting is wrong, or your connection has an open transaction or a default collation.

    Examples
    --------
    >>> db = connect()
    >>> db.load("Smokes", [("Anna",), ("Bob",)], types=["person"])
    >>> db.sql("select predicate, rows from sqlrl.predicate").fetchall()
    [('Smokes', 2)]
    """
    check_atom_limit(atom_limit)
    given: object = engine
    if given is not None:
        from sqlrl.engine.spark.server import Spark, without_secret

        if not isinstance(given, Spark):
            raise refuse("a server of Spark", without_secret(given) if isinstance(given, str) else given)
    duck = connect_engine(
        target,
        threads=threads,
        memory_limit=memory_limit,
        temp_directory=temp_directory,
        read_only=read_only,
        trusted=trusted,
    )
    try:
        if not trusted:
            from sqlrl.catalog.inspection import inspect

            inspect(duck)
        catalog = Catalog(duck, follow, atom_limit=atom_limit)
        return Database(catalog, console_for(quiet=not progress), engine)
    except BaseException:
        # The file stays locked, and in DuckDB's memory, until it is closed: a copy could not be restored.
        duck.close()
        raise


class Database(Helpful):
    """Data, models and results in one DuckDB database. Use `connect` to open one.

    Parameters
    ----------
    catalog : Catalog
    console : Console, optional
        Where progress on anything longer than two seconds is drawn; nowhere by default.
    spark : Spark, optional
        The server on which plans run.

    Attributes
    ----------
    session : Session
        What the verbs share.
    engine, catalog, records, console
        Its parts.

    Examples
    --------
    >>> db = connect()
    >>> db.load("Friends", [("Anna", "Bob"), ("Bob", "Chris")], types=["person", "person"])
    >>> db
    Database(':memory:')
    predicates
    predicate                open   facts  example  source
    -----------------------  -----  -----  -------  ----------
    Friends(person, person)  false      2  NULL     the tuples
    """

    _owner = "Database"

    def __init__(self, catalog: Catalog, console: Console | None = None, spark: Spark | None = None) -> None:
        self._spark = spark
        if spark is not None:
            from sqlrl.engine.spark.engine import SparkEngine
            from sqlrl.engine.spark.server import Server

            catalog.store.plans = SparkEngine(Server(spark), catalog.engine)
        self.session = Session.open(catalog, console)
        self.learning = Learning(self.session)

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
        self.session = with_values(self.session, console=console)
        self.learning = Learning(self.session)

    # ---- loading -------------------------------------------------------------------------------------------

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
        value: str | int | None = None,
        duplicates: str = "error",
        nulls: str = "error",
        empty: str = "error",
        fold_case: bool = False,
        constants: Mapping[str, str] | None = None,
        header: bool = True,
        delimiter: str | None = None,
        quote: str = '"',
        bins: Mapping[str | int, int | Sequence[float] | Model] | Model | None = None,
        bins_from: Any = None,
        append: bool = False,
    ) -> None:
        """Load the facts of a predicate, in place of those loaded before in the same role (fact, label, given, soft).

        Parameters
        ----------
        predicate : str
        source : path, list of paths, str, Arrow table, pandas or polars frame, DuckDB relation, or iterable of rows
            Text is a Parquet or CSV file, the name of a table or view, or a query. The columns of a CSV file are read as text.
            Rows are tuples, lists, arrays, or mappings, whose keys name the columns. None and NaN are missing values. A value has
            one name whatever stored it: a whole number in a column of floats or decimals is the constant that an integer is, a
            timestamp at midnight the one that its date is, an instant is in UTC. An empty tuple is the fact of a predicate without
            arguments. `sqlrl.ServerFiles(path)` is Parquet that the server of Spark reads and encodes (`connect(engine=...)`).
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
        value : str or int, optional
            A column of soft truths, numbers from 0 to 1, which are kept as they are: of facts, of labels with `target`, of observed atoms
            with `given`. Soft models read them; a Markov logic network reads 0 and 1 as false and true, and is not held against others.
            An atom may not be both observed and a label then.
        duplicates : {"error", "drop"}
            What to do with facts that occur more than once.
        nulls : {"error", "drop"}
            What to do with rows that have NULL for an argument, the example or the value; the log says how many were dropped.
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
        bins : mapping or Model, optional
            Types of numbers to cut into pieces, each by its name, or a column or position (from 0) of an argument that has it. A whole
            number is how many pieces: each has equally many of the rows, as far as equal numbers allow. A list has the edges between the
            pieces; a model, here or for a type, those that it was learned with. The constants are the pieces, named as in `price[10,25)`,
            `price(-inf,10)` and `price[90,inf)`, which hold whatever lies outside. A type stays cut: all data of it are, also those of
            other predicates, scopes and evidence, and models that are learned from them have its edges. To cut otherwise, load again
            all its facts with `bins`.
        bins_from : list of names, query, relation or frame, optional
            The examples whose rows alone choose edges, such as those to train on; by default all rows do.
        append : bool
            Add the rows to those that are loaded in the role, with the same types; facts that are there already are duplicates. It costs
            what the new rows cost. Without `target` and `given` the role is the one that the facts have.

        Raises
        ------
        LoadError
            With all faults, the rows and the remedy; nothing has changed then.

        Warns
        -----
        LoadWarning
            A type has fewer pieces than asked for, since equal numbers are not parted; rows of a type have names such as `2.0` beside
            `2`.

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
        >>> db.load("Price", [("a", 5), ("b", 17.5), ("c", 30), ("d", 99)], types=["item", "price"], bins={"price": 2})
        >>> db.sql("from sqlrl.named_Price").fetchall()[1:3]
        [('b', 'price(-inf,30)'), ('c', 'price[30,inf)')]
        >>> db.load("Trusts", [("Anna", "Bob", 0.7), ("Bob", "Anna", 0.2)], types=["person", "person"], value=2)
        >>> sorted(db.sql("from sqlrl.named_Trusts").fetchall())
        [('Anna', 'Bob', 0.7), ('Bob', 'Anna', 0.2)]
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
                value=value,
                duplicates=duplicates,
                nulls=nulls,
                empty=empty,
                fold_case=fold_case,
                constants={} if constants is None else constants,
                header=header,
                delimiter=delimiter,
                quote=quote,
                bins=bins,
                bins_from=bins_from,
                append=append,
            )

    def remove(self, predicate: str, source: Any) -> int:
        """Remove facts of a predicate from what sqlrl has of it; your source stays as it is.

        `refresh` loads a source that changed again, and then appends and removes what was appended and removed, in that order: facts
        that were removed stay away until they are appended, or their predicate is loaded, anew.

        Parameters
        ----------
        predicate : str
        source : query, table, path, frame, relation or tuples
            The facts: a column for each argument, in order, and one named `example` if examples come from a column.

        Returns
        -------
        int
            How many facts, labels, given atoms or soft ones were removed.

        Raises
        ------
        LoadError
            Nothing is loaded of the predicate, its types are unknown, it is defined by rules, or the columns do not fit.

        Warns
        -----
        LoadWarning
            Some rows are no facts.

        Examples
        --------
        >>> import sqlrl
        >>> db = sqlrl.connect()
        >>> db.load("Friends", [("Anna", "Bob"), ("Bob", "Chris")], types=["person", "person"])
        >>> db.load("Friends", [("Chris", "Dora")], append=True)
        >>> db.remove("Friends", "select 'Anna', 'Bob'")
        1
        >>> db.sql("from sqlrl.named_Friends").fetchall()
        [('Bob', 'Chris'), ('Chris', 'Dora')]
        """
        with self.console.progress(f"removing from {predicate}"):
            return self.catalog.remove(predicate, source)

    def register(self, name: str, data: Any) -> None:
        r"""Show a table of Python's to SQL under a name, as DuckDB's `register` does.

        What `sql`, `load`, `scope`, `examples=` and scripts ask may name it, and `load` and `scope` also as a table. Nothing of it is
        written: it is there until the database is closed, for this Database alone (not for its cursors), and one that was registered under
        the name before is replaced. What was loaded from it is kept, and it counts as a table whose rows may change: with another number
        of rows it is refused until `refresh()`, which compares all of them.

        Parameters
        ----------
        name : str
            Not that of a table or view of yours, which it would hide, or of one in the schema `sqlrl`.
        data : Arrow table or batch, pandas or polars frame, or Table
            A `Table` is what `clusters`, `prediction.table()` and other calls return.

        Raises
        ------
        InputError
            The name is taken or no text, the data are no table or have no columns, or a transaction of yours is open.
        LoadError
            A column holds what no database reads.

        Examples
        --------
        >>> import sqlrl
        >>> db = sqlrl.connect()
        >>> db.load("Friends", [("Anna", "Bob"), ("Bob", "Chris")], types=["person", "person"])
        >>> db.register("counts", db.count("Friends(x, y)", by="x"))
        >>> db.sql("select x from counts where n > 0 order by x").fetchall()
        [('Anna',), ('Bob',)]
        >>> db.load("Popular", "select x from counts where n > 0", types=["person"])
        """
        from sqlrl.catalog.objects import registrable

        shown = registrable(name, data)
        self.engine.register(name, shown)

    def load_soft_data(
        self, model: SoftModel, *, split: str = "infer", folder: str | Path | None = None
    ) -> dict[str, dict[str, int]]:
        """Load the data of a program of probabilistic soft logic from where its configuration says that they are.

        Observations are facts, or observed values of a predicate that has targets or truths; targets are its scope, truths its labels.

        Parameters
        ----------
        model : SoftModel
            With `partitions`, as `sqlrl.read_psl` reads PSL's JSON and YAML.
        split : {"infer", "learn"}
            The data of which task, beside those of both.
        folder : str or Path, optional
            Files outside of it are refused: for a program that a stranger may have written.

        Returns
        -------
        dict of str to dict of str to int
            By predicate and role ("observations", "targets", "truth"), how many rows were loaded.

        Raises
        ------
        InputError
            The model names no data, or files that are not there: all of them.
        LoadError
            A row of another length, a truth outside of [0, 1], an atom with two truths, a target that is observed, a truth partition
            without rows.

        Examples
        --------
        >>> import sqlrl
        >>> text = '{"rules": ["1: A(X) -> B(X)"], "predicates": {"A/1": {"observations": [["x", 0.5]]}, "B/1": {"targets": [["x"]]}}}'
        >>> model = sqlrl.parse_psl(text)
        >>> db = sqlrl.connect()
        >>> db.load_soft_data(model)
        {'A': {'observations': 1}, 'B': {'targets': 1}}
        >>> db.predict(model).atoms()["value"].to_pylist()
        [0.5]
        """
        given: object = model
        if not isinstance(given, SoftModel):
            raise refuse("a program of probabilistic soft logic", given)
        from sqlrl.database.soft_data import load_soft_data

        with self.console.progress("loading data"):
            return load_soft_data(self, model, split, None if folder is None else Path(folder))

    def load_evidence(
        self,
        source: Any,
        model: Model | None = None,
        *,
        given: bool = False,
        target: bool | Collection[str] = False,
        duplicates: str = "error",
        empty: str | Collection[str] = "error",
        replace: bool = False,
        drop: Iterable[str] = (),
    ) -> Model:
        r"""Load evidence atoms (Alchemy's `.db` files); constants take the model's types.

        A later call may load other predicates or roles. The same files again take the place of what they held before;
        other files with facts of the same predicates and roles are refused, unless they are to replace them.

        Parameters
        ----------
        source : path, list of paths, iterable of EvidenceAtom, or mapping of str to path or atoms
            `P(A)` true, `!P(A)` false, `0.8 P(A)` soft, `?P(A)` unknown. Several files count as one; in a mapping each is an example,
            whose name is the key.
        model : Model, optional
            Declares the predicates. Those of a mapping that it does not declare, or all without a model, get types from the constants
            that arguments share: at least a quarter of those of the one that has fewer.
        given : bool
            Facts of predicates that are predicted, now or by a later model, are evidence, not labels.
        target : bool or collection of str
            The predicates to be predicted, whose facts are labels: every one in the files, or those that are named.
        duplicates : {"error", "drop", "warn"}
            What to do with atoms that stand more than once with the same value; "warn" drops them with a warning.
        empty : {"error", "allow", "warn"} or collection of str
            What to do with a file that has no atoms, and with an example without facts of a predicate of which others have some: they
            are false there. Names are of predicates that examples may lack.
        replace : bool
            Facts loaded before, of the same predicates and roles, are replaced.
        drop : iterable of str
            Predicates of the model whose facts are skipped.

        Returns
        -------
        Model
            The model, with declarations of the predicates that it lacked.

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
        >>> loaded = db.load_evidence(parse_evidence("Smokes(Anna)\nSmokes(Bob)"), model)
        >>> db.predicates()["facts"]
        [2]
        >>> folds = {"ai": "Advises(Ann, Bob)\nStudent(Bob)", "graphics": "Advises(Cid, Dan)\nStudent(Dan)"}
        >>> universities = sqlrl.connect()
        >>> print(universities.load_evidence({name: parse_evidence(text) for name, text in folds.items()}))
        Advises(advises_1, advises_2)
        Student(advises_2)
        <BLANKLINE>
        >>> universities.sql("from sqlrl.named_Student").fetchall()
        [('ai', 'Bob'), ('graphics', 'Dan')]
        """
        with self.console.progress("loading evidence"):
            return self.catalog.load_evidence(
                source,
                model,
                given=given,
                target=target,
                duplicates=duplicates,
                empty=empty,
                replace=replace,
                drop=drop,
            )

    def load_all(
        self,
        sources: Sources,
        types: Types | None = None,
        *,
        duplicates: str = "error",
        nulls: str = "error",
        empty: str = "error",
        fold_case: bool = False,
        constants: Mapping[str, str] | None = None,
        header: bool = True,
        delimiter: str | None = None,
        quote: str = '"',
        bins: Mapping[str, int | Sequence[float] | Model] | Model | None = None,
    ) -> list[str]:
        """Load the facts of several closed predicates, all or nothing.

        Parameters
        ----------
        sources : folder, or mapping of str to what `load` takes
            Of a folder the Parquet, CSV and TSV files, which are named after their predicates.
        types : Bias or mapping of str to sequence of str, optional
            The types of the arguments. With a bias only the predicates are loaded that its bodies have, with the types of their
            modes; with a mapping those that it leaves out wait for a model to say their types, as with `load`.
        duplicates, nulls, empty, fold_case, constants, header, delimiter, quote
            For all of them, as for `load`.
        bins : mapping or Model, optional
            As for `load`, by type: the first predicate that has a type chooses its edges, and the others are cut there.

        Returns
        -------
        list of str
            The predicates that were loaded.

        Raises
        ------
        LoadError
            As `load`; or a folder without such files, or types of a predicate that there is not.

        Examples
        --------
        >>> import sqlrl
        >>> bias = sqlrl.parse_bias(
        ...     "modeh(1, old(+person)). modeb(*, parent(+person,-person)). modeb(*, job(+person,#job))."
        ... )
        >>> db = sqlrl.connect()
        >>> db.load_all({"parent": [("Ann", "Bob")], "job": [("Ann", "smith")], "other": [("x",)]}, bias)
        ['parent', 'job']
        """
        from sqlrl.catalog.loading import chosen_sources, shared_bins

        with self.session.verb(), self.console.progress("loading") as task, self.catalog.store.writing():
            chosen = chosen_sources(sources, types)
            cuts = shared_bins(chosen, bins)
            for predicate, (source, known) in chosen.items():
                task.advance(0, note=predicate)
                self.load(
                    predicate,
                    source,
                    types=known,
                    duplicates=duplicates,
                    nulls=nulls,
                    empty=empty,
                    fold_case=fold_case,
                    constants=constants,
                    header=header,
                    delimiter=delimiter,
                    quote=quote,
                    bins=cuts[predicate],
                )
                task.advance()
        return list(chosen)

    def scope(self, predicate: str, source: Any) -> None:
        r"""Set which tuples of an open predicate have atoms.

        Parameters
        ----------
        predicate : str
        source : query, table, path, frame, tuples or None
            One column for each argument; None for all tuples of the right types.

        Raises
        ------
        LoadError
            The source cannot be read, or a constant is NULL.

        Examples
        --------
        >>> import sqlrl
        >>> db = sqlrl.connect()
        >>> db.load("Friends", [("Anna", "Bob"), ("Bob", "Chris")])
        >>> db.scope("Likes", "select 'Anna', 'Bob'")
        >>> rule = "1 Friends(x, y) => Likes(x, y)"
        >>> model = sqlrl.parse_mln("Friends(person, person)\nLikes(person, person)\n" + rule)
        >>> db.bind(model).predicates["Likes"].atom_count
        1
        """
        with self.console.progress(f"setting the scope of {predicate}"):
            self.catalog.scope(predicate, source)

    def examples_from(self, type_name: str | None) -> None:
        r"""Name the type whose constants are the examples; None makes all data one example.

        `load(example=...)` does so, too.

        Parameters
        ----------
        type_name : str or None

        Raises
        ------
        CatalogError
            Examples come from a column of the data.

        Examples
        --------
        >>> import sqlrl
        >>> db = sqlrl.connect()
        >>> db.load("Word", [("d1", "a"), ("d2", "b")], types=["doc", "word"])
        >>> db.load("Liked", [("d1",)], types=["doc"], target=True)
        >>> db.examples_from("doc")
        >>> db.bind(sqlrl.parse_mln("Word(doc, word)\nLiked(doc)\n1 Word(d, w) => Liked(d)")).example_count
        2
        """
        with self.console.progress("finding the examples"):
            self.catalog.examples(argument_type=type_name)

    def set_local(self, type_name: str, local: bool | None) -> None:
        r"""Make a type local or global.

        The domain of a local type in an example is the constants that occur in that example's facts; that of a global type is
        all its constants.

        Parameters
        ----------
        type_name : str
        local : bool or None
            None: as it is by default, which is local where the type stands beside the example in a closed predicate.

        Raises
        ------
        CatalogError
            There is no such type.

        Examples
        --------
        >>> import sqlrl
        >>> db = sqlrl.connect()
        >>> db.load("Word", [("d1", "a"), ("d2", "b")], types=["doc", "word"], example="doc")
        >>> db.load("Bold", [("d1", "a")], types=["doc", "word"], target=True)
        >>> model = sqlrl.parse_mln("Word(doc, word)\nBold(doc, word)\n1 Word(d, w) => Bold(d, w)")
        >>> db.bind(model).predicates["Bold"].atom_count
        2
        >>> db.set_local("word", False)
        >>> db.bind(model).predicates["Bold"].atom_count
        4
        """
        self.catalog.set_local(type_name, local)

    def set_numeric(self, type_name: str) -> None:
        """Declare that the constants of a type are numbers, so that `1` and `1.0` are one; before data of the type are loaded.

        Parameters
        ----------
        type_name : str

        Raises
        ------
        CatalogError
            The type has constants already.

        Examples
        --------
        >>> import sqlrl
        >>> db = sqlrl.connect()
        >>> db.set_numeric("year")
        >>> db.load("Old", [("1",), ("2.50",)], types=["year"])
        >>> db.sql("select name from sqlrl.dictionary_year order by id").fetchall()
        [('1',), ('2.5',)]
        """
        with self.console.progress(f"reading {type_name} as numbers"):
            self.catalog.set_numeric(type_name)

    def refresh(self, *, run_queries: bool = False) -> list[str]:
        """Load again what changed at its source.

        Each source is read and compared with what was loaded. Without it a file or table whose size, time or number of rows differs
        is refused; a change of a view or a query, or of rows in place, is not noticed, and the rows of the last loading are used.

        Parameters
        ----------
        run_queries : bool
            Whether queries and views that a database opened with `trusted=False` keeps are run, which others always do. Files are
            never read there.

        Returns
        -------
        list of str
            The predicates that were loaded.

        Raises
        ------
        LoadError
            A source is gone or its new content cannot be loaded; nothing has changed then.
        UntrustedError
            Queries or views would be run without `run_queries`.

        Examples
        --------
        >>> import sqlrl
        >>> db = sqlrl.connect()
        >>> people = db.sql("create table people as select 'Anna' as name")
        >>> db.load("Smokes", "people", types=["person"])
        >>> more = db.sql("insert into people values ('Bob')")
        >>> db.refresh()
        ['Smokes']
        """
        with self.session.verb(), self.console.progress("loading what changed"):
            return self.catalog.refresh(run_queries=run_queries)

    # ---- defining ------------------------------------------------------------------------------------------

    def define(self, definitions: str | Path, *, variables: str = LOWER) -> None:
        r"""Define closed predicates by Horn rules `head :- literal, literal.` over others.

        Literals are atoms, negated atoms (`!p(x)`, `not p(x)`, `\+ p(x)`; `_` for any constant) and the comparisons `=` and
        `!=`. Rules may be recursive, but not through a negation; they become one query for each predicate, a recursive one
        where needed. Types follow from the bodies. A later definition of a predicate replaces an earlier one; when a
        predicate that a body uses is loaded again (also by `refresh`), what was defined from it is evaluated again.
        Where it can be chosen, write one recursive literal in a rule: several make it much slower (`ancestor(x, y),
        ancestor(y, z)` derives each pair once for each y).

        Parameters
        ----------
        definitions : str or Path
            The rules, or a file of them.
        variables : {"lower", "upper"}
            Which names are variables. "lower", as in models: those that begin with a small letter; other names, quoted ones
            and numbers are constants. "upper", as in Prolog and Aleph's background files: those that begin with a capital
            or `_`.

        Raises
        ------
        ParseError, UnsupportedError, ModelError
            The text does not parse or its rules do not fit each other or the predicates; the message shows the literal.
        CatalogError
            A predicate has facts that were loaded; a body uses one that is open or whose types are unknown; a constant is
            unknown; only some rules say to which example they belong.
        LoadError
            A name that no model can write.

        Warns
        -----
        LoadWarning
            A defined predicate has no facts.

        Examples
        --------
        >>> import sqlrl
        >>> db = sqlrl.connect()
        >>> db.load("parent", [("Ann", "Bob"), ("Bob", "Cid"), ("Cid", "Dan")], types=["person", "person"])
        >>> db.define("ancestor(x, y) :- parent(x, y).  ancestor(x, z) :- parent(x, y), ancestor(y, z).")
        >>> db.sql("select count(*) from sqlrl.named_ancestor").fetchall()
        [(6,)]
        >>> db.define("founder(X) :- parent(X, _), not parent(_, X).", variables="upper")
        >>> db.sql("from sqlrl.named_founder").fetchall()
        [('Ann',)]
        """
        from sqlrl.database.definitions import define, read_definitions

        rules = read_definitions(definitions, variables)
        with self.console.progress("defining"):
            define(self.catalog.store, rules)

    def derive_bias(self, target: str, *, body: Collection[str] | None = None, constants: int = CONSTANTS) -> Bias:
        """Derive a language bias for a target from the types and keys of the data, by the rules of `sqlrl.catalog.derived_bias`.

        An argument that determines the others is an input, the others are outputs; without such a key each argument in turn
        is the input, and brings in ten facts at the most. Outputs with few values may also be constants.

        Parameters
        ----------
        target : str
            The predicate to learn.
        body : collection of str, optional
            Predicates that bodies may have; by default all closed ones with facts.
        constants : int
            The most values of an argument that may be a constant; 0 for no constants.

        Returns
        -------
        Bias

        Raises
        ------
        CatalogError
            An unknown predicate, a body predicate that is open or the target itself, unknown types, or no closed predicate.
        InputError
            `constants` is negative.

        Examples
        --------
        >>> import sqlrl
        >>> db = sqlrl.connect()
        >>> db.load("Friends", [("Ann", "Bob"), ("Ann", "Cid"), ("Bob", "Cid")], types=["person", "person"])
        >>> db.load("Smokes", [("Ann",)], types=["person"], target=True)
        >>> print(db.derive_bias("Smokes"), end="")
        :- modeh(1, Smokes(+person)).
        :- modeb(10, Friends(+person,-person)).
        :- modeb(10, Friends(-person,+person)).
        :- modeb(1, Friends(+person,+person)).
        """
        from sqlrl.catalog.derived_bias import derive_bias

        with self.session.verb(), self.console.progress("deriving a bias"):
            return derive_bias(self.catalog.store, target, body=body, constants=constants)

    def candidates(self, templates: Grammar, model: Model, *, limit: int = MOST_CANDIDATES) -> Table:
        r"""List the candidates of templates, with the query that counts the labels which each of them selects.

        Candidates that differ in names of predicates and in constants alone share a query.

        Parameters
        ----------
        templates : Grammar
            As `sqlrl.parse_grammar` returns it.
        model : Model
            Its declarations.
        limit : int
            The most candidates that there may be.

        Returns
        -------
        Table
            `candidate` (from 0), `template`, `formula`, `groundings` (how many its joins enumerate at the most, over all examples, before
            what can be is aggregated), `sql`.

        Raises
        ------
        ModelError
            A template does not fit the declarations, or its predicates do not fit the data; there are more candidates than `limit`.

        Examples
        --------
        >>> import sqlrl
        >>> db = sqlrl.connect()
        >>> db.load("Friends", [("Ann", "Bob"), ("Bob", "Cid")], types=["person", "person"])
        >>> db.load("Smokes", [("Ann",)], types=["person"], target=True)
        >>> templates = sqlrl.parse_grammar("NEAR(x, y) = {Friends} extender 2\nNEAR(x, y) ^ Smokes(x) ^ Smokes(y)")
        >>> found = db.candidates(templates, sqlrl.parse_mln("Friends(person, person)\nSmokes(person)"))
        >>> [(row["formula"], row["groundings"]) for row in found.to_arrow().to_pylist()]
        [('Friends(x, y) ^ Smokes(x) ^ Smokes(y)', 2), ('Friends(x, z) ^ Friends(z, y) ^ Smokes(x) ^ Smokes(y)', 1)]
        """
        from sqlrl.logic.grammar import Grammar
        from sqlrl.training.selection import list_candidates

        if not isinstance(templates, Grammar):
            raise InputError(f"templates={templates!r}: give what sqlrl.parse_grammar or sqlrl.read_grammar returns")
        return Table(list_candidates(self.session, templates, model, limit))

    # ---- looking -------------------------------------------------------------------------------------------

    def sql(self, query: str) -> duckdb.DuckDBPyRelation:
        """Run SQL on the same database.

        Parameters
        ----------
        query : str

        Returns
        -------
        duckdb.DuckDBPyRelation
            None for a statement that returns nothing.

        Raises
        ------
        EngineError
            If DuckDB refuses the query, with its message.

        Examples
        --------
        >>> import sqlrl
        >>> db = sqlrl.connect()
        >>> db.load("Smokes", [("Anna",), ("Bob",)], types=["person"])
        >>> db.sql('from sqlrl."dictionary_person" order by id').fetchall()
        [(0, 'Anna'), (1, 'Bob')]
        """
        text: object = query
        if not isinstance(text, str):
            raise refuse("the text of a query", text)
        with self.engine.turn:
            self.catalog.store.forget()
            return self.engine.relation(query)

    def run(
        self, script: str | Path, *, variables: Mapping[str, Any] | None = None, resume: bool = False
    ) -> ScriptResult:
        r"""Run a script: DuckDB's SQL, with statements that load predicates and learn models, and functions that ask them.

        `sqlrl.script.statements` has their grammar. Each statement is run and kept before the next; what earlier ones did stays when one fails,
        and of that one nothing is left.

        Parameters
        ----------
        script : str or Path
            The text, or a file that has it.
        variables : mapping, optional
            Values of DuckDB variables: `$name` where a value may stand, `getvariable('name')` anywhere.
        resume : bool
            Skip CREATE MODEL, CREATE PREDICATE and CREATE TABLE ... AS that have finished: with the same text and variables, on the same
            inputs, if what they made is as they left it. `sqlrl.script_log` lists them.

        Returns
        -------
        ScriptResult
            `statements`, what each did, and `table`, the rows of the last query.

        Raises
        ------
        ScriptError
            With line, column and a caret: the text cannot be read, before anything has run; or a statement failed.

        Examples
        --------
        >>> import sqlrl
        >>> db = sqlrl.connect()
        >>> result = db.run('''
        ... CREATE TABLE people AS FROM (VALUES ('Anna', true), ('Bob', true), ('Chris', false)) AS t(name, coughs);
        ... CREATE PREDICATE Smokes(person) AS SELECT name FROM people;
        ... CREATE PREDICATE Cough(person) OPTIONS (target = true) AS SELECT name FROM people WHERE coughs;
        ... CREATE MODEL health OPTIONS (learner = 'likelihood', strength = 0.1) AS $$
        ...     Smokes(person)
        ...     Cough(person)
        ...     Smokes(x) => Cough(x)
        ... $$;
        ... SELECT person, round(probability, 1) AS p FROM ML.PROBABILITIES(MODEL health) ORDER BY person;
        ... ''')
        >>> result.table
        person  p
        ------  ---
        Anna    0.6
        Bob     0.6
        Chris   0.6
        """
        from sqlrl.logic.lexer import read_text
        from sqlrl.script.runner import run_script

        given: object = script
        if isinstance(given, Path):
            return run_script(
                self, read_text(given, parse="run as a str"), path=str(given), variables=variables, resume=resume
            )
        if not isinstance(given, str):
            raise refuse("the text of a script, or its path,", given)
        return run_script(self, given, variables=variables, resume=resume)

    def predicates(self) -> Table:
        """Return the predicates.

        Returns
        -------
        Table
            Columns `predicate` (with its types), `open`, `facts`, `example` (where it stands), `source`; if some have soft truths also
            `value`, the columns of their sources that hold them.

        Examples
        --------
        >>> import sqlrl
        >>> db = sqlrl.connect()
        >>> db.load("Smokes", [("Anna",), ("Bob",)], types=["person"])
        >>> db.predicates()["predicate"], db.predicates()["facts"]
        (['Smokes(person)'], [2])
        """
        return _predicate_table(self.catalog.predicates(), self.catalog.values())

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
        >>> layout = db.bind(sqlrl.parse_mln("Word(doc, word)\nLiked(doc)\n1 Word(d, w) => Liked(d)"))
        >>> db.example_ids(["d2", "d1"]).tolist()
        [1, 0]
        """
        return self.session.example_ids(examples)

    def model(self, model: int | str | None = None) -> Model | SoftModel:
        r"""Return a model that was kept: under a name, or by a learner or `predict(keep=True)`.

        Parameters
        ----------
        model : int or str, optional
            A name that `keep_model` or CREATE MODEL gave, or a number of `sqlrl.model`; the newest one by default.

        Returns
        -------
        Model or SoftModel

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
        from sqlrl.database import named_models

        wanted: object = model
        if isinstance(wanted, str):
            return self.records.model(named_models.number_of(self.session, wanted))
        if wanted is not None and (isinstance(wanted, bool) or not isinstance(wanted, int | np.integer)):
            raise InputError(
                f"model={wanted!r} must be the name of a model or its whole number in sqlrl.model, or None for the newest one; "
                "sqlrl.read_mln(path) reads a file."
            )
        return self.records.model(None if wanted is None else int(wanted))

    def keep_model(self, name: str, model: Any, *, replace: bool = False) -> int:
        r"""Keep a model under a name, by which `model` and scripts find it.

        Parameters
        ----------
        name : str
            On one line; case does not tell names apart.
        model : Model, SoftModel or estimator
            Of an estimator what it has learned, with its run.
        replace : bool
            Whether another model of that name may lose it.

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
        >>> db.keep_model("smoking", sqlrl.parse_mln("Smokes(person)\nCancer(person)\n1.5 Smokes(x) => Cancer(x)"))
        1
        >>> db.model("smoking").rules[0].weight
        1.5
        >>> db.models()["name"], db.models()["rules"]
        (['smoking'], [1])
        """
        from sqlrl.database import named_models

        return named_models.keep_model(self.session, name, model, replace=replace)

    def models(self) -> Table:
        """Return the models that have names.

        Returns
        -------
        Table
            Columns `name`, `model` (its number in `sqlrl.model`), `run` and `learner` (NULL if it was not learned), `rules` (how many
            clauses it has), `created`; ordered by name.

        Examples
        --------
        >>> import sqlrl
        >>> len(sqlrl.connect().models())
        0
        """
        from sqlrl.database import named_models

        return Table(named_models.list_models(self.session))

    def drop_model(self, name: str) -> None:
        """Forget the name of a model; the run that learned it stays.

        Parameters
        ----------
        name : str

        Raises
        ------
        CatalogError
            There is no model of that name.

        Examples
        --------
        >>> import sqlrl
        >>> sqlrl.connect().drop_model("cite")
        Traceback (most recent call last):
        sqlrl.errors.CatalogError: there is no model cite; there is none yet
        """
        from sqlrl.database import named_models

        named_models.drop_model(self.session, name)

    # ---- holding a model against the data ------------------------------------------------------------------

    def bind(
        self,
        model: Model,
        *,
        training: bool = False,
        drop: Iterable[str] = (),
        query: Iterable[str] = (),
        hidden: Iterable[str] = (),
        empty: Iterable[str] = (),
    ) -> Layout:
        r"""Check that model and data fit, and build the tables of query atoms.

        Parameters
        ----------
        model, training, drop, query, hidden, empty
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
        return self.session.bind(model, Roles(drop, query, hidden, empty), training=training)

    @contextmanager
    def program(
        self,
        model: Model,
        *,
        training: bool = False,
        drop: Iterable[str] = (),
        query: Iterable[str] = (),
        hidden: Iterable[str] = (),
        empty: Iterable[str] = (),
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
        drop, query, hidden, empty : iterable of str
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
        with self.session.program(
            model,
            training=training,
            roles=Roles(drop, query, hidden, empty),
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
        drop: Iterable[str] = (),
        query: Iterable[str] = (),
        hidden: Iterable[str] = (),
        empty: Iterable[str] = (),
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
        hidden : iterable of str
            Predicates that are open, too, but of which nothing is reported: what is not known of them is inferred with the rest.
        empty : iterable of str
            Closed predicates without data: all their atoms are false.

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
        from sqlrl.ground.grounding import ground_network
        from sqlrl.ground.program import Extent

        asked = Query(model, examples, Roles(drop, query, hidden, empty), limit)
        asked.check()
        working = self.console.progress("grounding")
        with self.session.verb(), working, self.session.expanded(asked) as (program, chosen):
            return ground_network(Extent(program, chosen, limit))

    def explain(
        self,
        model: Model,
        *,
        drop: Iterable[str] = (),
        query: Iterable[str] = (),
        hidden: Iterable[str] = (),
        empty: Iterable[str] = (),
    ) -> Explanations:
        r"""Say how a model would be grounded, before any work.

        Parameters
        ----------
        model : Model
        drop, query, hidden, empty : iterable of str
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
        from sqlrl.database.explanations import Explanations, explain

        working = self.console.progress("planning")
        held = self.session.program(model, roles=Roles(drop, query, hidden, empty), planned=True)
        with self.session.verb(), working, held as program:
            return Explanations(explain(program))

    def export(
        self,
        model: Model,
        path: str | Path,
        *,
        format: NetworkFormat | None = None,
        dialect: Dialect = "classic",
        examples: Any = None,
        limit: int | None = GROUNDING_LIMIT,
        drop: Iterable[str] = (),
        query: Iterable[str] = (),
        hidden: Iterable[str] = (),
        empty: Iterable[str] = (),
    ) -> Exported:
        r"""Write the ground network of a model with its weights to a file that other solvers read, or SQL. Labels are never read.

        A table beside it, with the ending `.atoms.tsv`, lists the atom of each variable; `read_solution` makes a
        prediction of what a solver answers.

        Parameters
        ----------
        model : Model
            With weights.
        path : str or Path
        format : {"wcnf", "lp", "uai", "parquet"}, optional
            Weighted partial MaxSAT, an integer program in CPLEX LP format, a Markov network, or a table of ground clauses; by default the
            ending of the path. WCNF rounds weights to integers, LP is exact, UAI rounds exp(weight); each file says how much is lost.
            Parquet is written as the ground clauses are made, so that no memory holds them; `limit` says nothing there.
        dialect : {"classic", "2022"}
            Of WCNF: with a line `p wcnf`, or as in the MaxSAT Evaluations from 2022 on.
        examples : list of names, query, relation or frame, optional
        limit, drop, query, hidden, empty
            As in `ground`.

        Returns
        -------
        Exported

        Raises
        ------
        InputError
            A rule has no weight; the path's ending names no format; the file cannot be written.
        NumericError
            The format cannot hold weights so far apart, or so large.

        Examples
        --------
        >>> import tempfile
        >>> import sqlrl
        >>> db = sqlrl.connect()
        >>> db.load("Friends", [("Anna", "Bob"), ("Bob", "Chris")])
        >>> text = "Friends(person, person)\nSmokes(person)\n1 Friends(x, y) ^ Smokes(x) => Smokes(y)"
        >>> model = sqlrl.parse_mln(text, query=["Smokes"])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     exported = db.export(model, Path(folder, "smokers.lp"))
        ...     print(exported.map.read_text())
        # the score of a world is 9.0 - objective
        variable    atom    predicate       constants
        a1  1       Smokes  Anna
        a2  2       Smokes  Bob
        a3  3       Smokes  Chris
        """
        from sqlrl.database import exports

        return exports.export(
            self.session,
            Query(model, examples, Roles(drop, query, hidden, empty), limit),
            path,
            format=format,
            dialect=dialect,
        )

    def export_sql(
        self,
        model: Model,
        target: str | None = None,
        *,
        dialect: str = "duckdb",
        view: str | None = None,
        tables: Mapping[str, str] | None = None,
        columns: Mapping[str, Mapping[str, str]] | None = None,
        scopes: Mapping[str, str] | None = None,
        partial: bool = False,
        limit: int | None = GROUNDING_LIMIT,
        drop: Iterable[str] = (),
        query: Iterable[str] = (),
        hidden: Iterable[str] = (),
        empty: Iterable[str] = (),
    ) -> ExportedSQL:
        r"""Write a model as one SQL view over your own tables, which gives each atom of a target its log-odds and probability.

        Wherever the tables are, in PostgreSQL, SQLite, Spark or DuckDB, the view needs nothing of sqlrl, and holds for rows that come later. It
        can tell what `marginals` does, to 12 digits, of rules that have one literal to predict in each clause: the log-odds of an atom are the
        weights of the clauses times the number of their groundings. A block has the softmax of these; a hard rule makes log-odds infinite.
        The atoms are those of the scope that are not given, with the constants that the tables hold, labels left out.

        Parameters
        ----------
        model : Model
            With weights.
        target : str, optional
            The predicate of whose atoms the view is; required if the model predicts several.
        dialect : {"duckdb", "postgres", "spark", "sqlite"}
        view : str, optional
            Its name, as SQL has it; by default `target_scores` in small letters.
        tables : mapping of str to str, optional
            What the table of a predicate is called where it is not as the predicate, as SQL has it: `{"Friends": "public.friends"}`. That
            of a target has what is given of it, if anything is; labels are never read.
        columns : mapping of str to mapping of str to str, optional
            By predicate, what columns are called where they are not as in the data that were loaded: `{"Token": {"pos": "position"}}`.
        scopes : mapping of str to str, optional
            The table of the tuples that have atoms, by default `Target_scope`, where `scope` says which do; its columns are called as
            those of the predicate.
        partial : bool
            Whether to leave out rules that join several atoms to predict, which is another model; `left_out` of the result lists them.
        limit, drop, query, hidden, empty
            As in `ground`; the limit is about a model with hard rules, which is grounded to see that they can be satisfied.

        Returns
        -------
        ExportedSQL
            Prints as the statement; `write(path)` writes it to a file.

        Raises
        ------
        InputError
            A rule has no weight; a dialect, target, predicate, column or table is none, or two tables have one name.
        UnsupportedError
            Rules join several atoms to predict, which the error lists; there is soft evidence; more than 10,000 constants of a type stand in
            labels alone.
        InfeasibleError
            Hard rules contradict each other on the data that are loaded. Where they do on later rows, the view has NULL.

        Examples
        --------
        >>> import sqlrl
        >>> db = sqlrl.connect()
        >>> _ = db.sql("create table friends as from (values ('Anna', 'Bob'), ('Bob', 'Chris')) t(person, friend)")
        >>> db.load("Friends", "friends", types=["person", "person"])
        >>> rules = "Friends(person, person)\nSmokes(person)\n1.5 Friends(x, y) => Smokes(y)\n-0.7 Smokes(x)"
        >>> view = db.export_sql(sqlrl.parse_mln(rules, query=["Smokes"]), tables={"Friends": "friends"})
        >>> _ = db.sql(view.text)
        >>> db.sql("select person, round(probability, 4) from smokes_scores order by person").fetchall()
        [('Anna', 0.3318), ('Bob', 0.69), ('Chris', 0.69)]
        >>> _ = db.sql("insert into friends values ('Chris', 'Dan')")
        >>> db.sql("select round(probability, 4) from smokes_scores where person = 'Dan'").fetchall()
        [(0.69,)]
        """
        from sqlrl.database import model_sql
        from sqlrl.database.view_tables import Naming

        return model_sql.export_sql(
            self.session,
            Query(model, None, Roles(drop, query, hidden, empty), limit),
            target,
            Naming(dialect, view, tables, columns, scopes),
            partial=partial,
        )

    def constraint_costs(
        self,
        model: Model,
        examples: Any = None,
        *,
        growth: float = GROWTH,
        density: float = DENSITY,
        limit: int | None = GROUNDING_LIMIT,
        drop: Iterable[str] = (),
        query: Iterable[str] = (),
        hidden: Iterable[str] = (),
        empty: Iterable[str] = (),
    ) -> Table:
        r"""Say what each hard clause costs, and which are inexpensive: factors times degree linear in the nodes.

        Nodes and factors are counted in the database, for all examples of a shape of clause at once, as sums of products over
        its literals; no ground clause leaves the database.

        Parameters
        ----------
        model : Model
        examples : list of names, query, relation or frame, optional
        growth : float
            The largest exponent of growth that counts as linear: a chain has 1, all pairs have 2.
        density : float
            The most factors for each node where examples do not differ in size: a chain has 1, a grid 2.
        limit : int or None
            The most ground clauses of one shape that may be listed inside the database, as some with quantifiers must be.
        drop, query, hidden, empty : iterable of str
            As in `ground`.

        Returns
        -------
        Table
            A row for each hard clause: `rule` (from 0), `clause` (text), `examples` (in which it leaves something open), `nodes`,
            `factors` (over all examples), `degree`, `growth` (NULL where examples do not differ in size by a factor of 2),
            `inexpensive`, `counted` ("exact"; "at most" where ground clauses with the same literals are too many to be
            compared; "block" for mutual exclusion, which makes its atoms one variable and costs nothing).

        Raises
        ------
        InputError
            A threshold is no positive number.
        GroundingLimitError
            Names the clause that would have to be listed.

        Notes
        -----
        Source: Huynh (2011), section 7.2, which leaves open what counts as linear; `sqlrl.ground.factors` says what does here.

        Examples
        --------
        >>> import sqlrl
        >>> db = sqlrl.connect()
        >>> words = [(d, f"p{i}", "the") for d, n in (("d1", 5), ("d2", 20)) for i in range(n)]
        >>> db.load("Word", words, types=["doc", "position", "word"], example="doc")
        >>> db.load("Next", [(f"p{i}", f"p{i + 1}") for i in range(19)], types=["position", "position"])
        >>> rules = "Word(doc, position, word)\nNext(position, position)\nName(doc, position)\nAge(doc, position)\n"
        >>> rules += "Next(p, q) ^ Name(d, p) => !Age(d, q).\nName(d, p) ^ Age(d, q) => p = q."
        >>> costs = db.constraint_costs(sqlrl.parse_mln(rules, query=["Name", "Age"]))
        >>> costs["nodes"], costs["factors"], costs["inexpensive"]
        ([46, 50], [23, 400], [True, False])
        """
        from sqlrl.database.constraints import clause_costs, cost_table

        return cost_table(
            clause_costs(
                self.session,
                Query(model, examples, Roles(drop, query, hidden, empty), limit),
                growth=growth,
                density=density,
            )
        )

    # ---- counting ------------------------------------------------------------------------------------------

    def diagnose(
        self,
        model: Model,
        examples: Any = None,
        *,
        threshold: float = 0.1,
        samples: int = 100,
        burn_in: int = 20,
        chains: int = 4,
        random_state: int | None = None,
        shown: int = 3,
        limit: int | None = GROUNDING_LIMIT,
    ) -> Diagnosis:
        r"""Tell which rules of a model are wrong on the data: too general or too specific, for which predicate, and where.

        Each predicate in turn is taken for unknown, all others being evidence; what is loaded of it is its truth. A rule is too general if it speaks against
        the truth of atoms too often, so that it needs another condition; and too specific if it says nothing of atoms of which it would be right
        without one of its literals. A rule with a negative weight speaks for what its negation says.

        Parameters
        ----------
        model : Model
            Its rules need weights only where one has several literals of a predicate, whose atoms are sampled then.
        examples : list of names, query, relation or frame, optional
            All by default.
        threshold : float
            The share of the groundings above which a rule is marked, above 0 and below 1.
        samples, burn_in, chains : int
            Of the sampling.
        random_state : int, optional
            Its seed; None is 0.
        shown : int
            How many groundings are kept for each reason to mark a rule.
        limit : int, optional
            The most ground clauses of a rule that is sampled.

        Returns
        -------
        Diagnosis
            Prints the rules that are marked; `found` and `groundings` are tables, which `sqlrl.diagnosis` and `sqlrl.diagnosis_grounding` keep.

        Raises
        ------
        InputError
            The model has no rules, a predicate has no data, the threshold is no share, or a rule that is sampled has no weight.
        UnsupportedError
            A rule has quantifiers inside, is a template, or has several literals of a predicate that belongs to no example though the data are several.

        Notes
        -----
        Source: Mihalkova and Mooney, "Transfer learning with Markov logic networks" (2006), section 3.1; what it leaves open is in
        `sqlrl.structure.diagnosis.bins`. `sqlrl.Transfer` revises what is marked.

        Examples
        --------
        >>> import sqlrl
        >>> db = sqlrl.connect()
        >>> db.load("Bird", [("tweety",), ("pingu",), ("polly",)], types=["animal"])
        >>> db.load("Penguin", [("pingu",)], types=["animal"])
        >>> db.load("Flies", [("tweety",), ("polly",)], types=["animal"])
        >>> found = db.diagnose(sqlrl.parse_mln("Bird(animal)\nPenguin(animal)\nFlies(animal)\n1 Bird(x) => Flies(x)"))
        >>> print(found)
        Bird(x) => Flies(x): of Bird and Flies too general (33 % against the truth)
        >>> found.groundings.to_arrow().column("grounding").to_pylist()[0]
        '!Bird("pingu") v Flies("pingu")'
        """
        from sqlrl.database.diagnosis import diagnose
        from sqlrl.solve.sampling.chains import Effort

        effort = Effort(samples=samples, burn_in=burn_in, chains=chains, seed=random_state or 0)
        return diagnose(
            self.session, model, examples=examples, threshold=threshold, effort=effort, shown=shown, limit=limit
        )

    def overlap(
        self,
        model: Model,
        examples: Any = None,
        *,
        limit: int | None = GROUNDING_LIMIT,
        drop: Iterable[str] = (),
        query: Iterable[str] = (),
        hidden: Iterable[str] = (),
        empty: Iterable[str] = (),
    ) -> Table:
        r"""Find the pairs of clauses that say the same of the same atoms: those that share ground clauses on the data.

        A ground clause is the set of its literals over query atoms, as the evidence leaves it open. One with a single literal is its atom, whichever sign it
        has: with the opposite weight it says the same, and so does the negation of a clause. No label is read, and no weight.

        Parameters
        ----------
        model : Model
        examples : list of names, query, relation or frame, optional
            All by default.
        limit : int or None
            The most ground clauses that one shape may have.
        drop, query, hidden, empty : iterable of str
            As in `ground`.

        Returns
        -------
        Table
            Columns `first`, `second` (clauses), `shared` (distinct ground clauses that both have), `first_ground`, `second_ground` (that each has),
            `shared_atoms`, `first_atoms`, `second_atoms` (query atoms that they mention); those with the largest share of ground clauses in common first.
            A database that can be written keeps it, for the view `sqlrl.clause_overlap`.

        Raises
        ------
        InputError
            Clauses share ground clauses too often to be counted.

        Examples
        --------
        >>> import sqlrl
        >>> db = sqlrl.connect()
        >>> db.load("Bird", [("tweety",), ("pingu",)], types=["animal"])
        >>> db.load("Wings", [("tweety",), ("bat",)], types=["animal"])
        >>> rules = "Bird(x) => Flies(x)\nWings(x) => Flies(x)"
        >>> model = sqlrl.parse_mln("Bird(animal)\nWings(animal)\nFlies(animal)\n" + rules, query=["Flies"])
        >>> [(row["shared"], row["first_ground"], row["second_ground"]) for row in db.overlap(model)]
        [(1, 2, 2)]
        >>> db.sql("select first, second, round(share, 2) from sqlrl.clause_overlap").fetchall()
        [('Bird(x) => Flies(x)', 'Wings(x) => Flies(x)', 0.33)]
        """
        from sqlrl.database.overlaps import overlap

        return overlap(self.session, Query(model, examples, Roles(drop, query, hidden, empty), limit))

    def count(
        self,
        model: Model | str | None = None,
        *,
        formula: str | None = None,
        by: str | Iterable[str] | None = None,
        groups: Literal["all", "violated", "true"] = "all",
        most_groups: int | None = MOST_GROUPS,
        world: Any = "observed",
        examples: Any = None,
        limit: int | None = GROUNDING_LIMIT,
        drop: Iterable[str] = (),
        query: Iterable[str] = (),
        hidden: Iterable[str] = (),
        empty: Iterable[str] = (),
    ) -> Table:
        r"""Count the true groundings of every clause in a world, exactly and without enumerating them where that can be avoided.

        Parameters
        ----------
        model : Model or str, optional
            A text in its place is a formula.
        formula : str, optional
            A formula that is counted in place of the rules of the model, with its declarations and constants. Without a model its predicates
            are those that are loaded, or those of the model of a prediction that is the world.
        by : str or iterable of str, optional
            Names of variables, one by one or with commas between them: each clause that has all of them is counted by their constants. The
            `+` variables of a template are among them, and `example` where examples come from a column of the data. Variables under a
            quantifier are not.
        groups : {"all", "violated", "true"}
            Which groups have a row: all; those in which some grounding is violated; those in which some is true.
        most_groups : int or None
            The most groups of all clauses together: more are refused before they are made. None, as `limit=None`, is no limit.
        world : "observed", Prediction, source or mapping of predicate to source
            "observed" is the labels. A source is anything that `load` takes, with the column `atom` (ids of the true query
            atoms), or with the arguments of the true query atoms as `predict(into=...)` writes them; of several open
            predicates a mapping has such a source for each: `{"Smokes": ..., "Cancer": ...}`. A column `truth`
            beside the arguments marks the true ones.
        examples : list of names, query, relation or frame, optional
            By default those of a prediction that is the world, else all.
        limit : int or None
            The most groundings that counting may enumerate, which it does where many positive literals of a clause share variables, and
            for variables of `by` that no one literal has (the ends of a path).
        drop, query, hidden, empty : iterable of str
            As in `ground`.

        Returns
        -------
        Table
            Columns `clause`, `text`, `n`, `groundings`, `weight`; the counts are exact integers. With `by` a column for each variable, with
            the names of constants, `clause`, `groundings`, `n`, `violated`, by clause and then by the order of constants in the data. A
            variable with the name of another column has `_` behind it.

        Raises
        ------
        InputError
            The world has rows that are no query atoms, query atoms have no label, the prediction is of other examples, or no clause has the
            variables of `by`.
        GroundingLimitError
            Names the clause, where it stands, and the number of groundings, or of groups.

        Notes
        -----
        What counts is the formula as written, but for a hard one with quantifiers inside. That is taken apart into the clauses of
        its normal form, since all that matters is whether they hold, and that costs no helper atoms: a FORALL inside gives them
        grounding variables, so that `groundings` may be more than those of the formula, and n is what is left of them when each
        ground clause that the world violates takes one away, which may be below 0. It is all of them exactly where the formula
        holds everywhere. To count such a formula as written, give it a weight.

        A group is a choice of constants that some grounding has: all combinations of the constants over which the variables range, those of
        one example where their types are local. Groundings that are true whatever the data say are counted, as everywhere: of `Friends(x, y)
        ^ Smokes(x) => Smokes(y)` the n of an x who does not smoke is the number of people. The sum over the groups of a clause is
        what it has without `by`.

        Examples
        --------
        >>> import sqlrl
        >>> db = sqlrl.connect()
        >>> db.load("Friends", [("Anna", "Bob"), ("Bob", "Chris")])
        >>> text = "Friends(person, person)\nSmokes(person)\n1 Friends(x, y) ^ Smokes(x) => Smokes(y)"
        >>> model = sqlrl.parse_mln(text, query=["Smokes"])
        >>> db.count(model, world=[("Anna",)])["n"]
        Traceback (most recent call last):
        sqlrl.errors.InputError: a world of Smokes has the columns person, as predict(into=...) writes them, not column0
        >>> db.count(model, world="select 'Anna' as person")["n"]
        [8]
        >>> db.count(model, by="x", groups="violated", world="select 'Anna' as person")
        n of 1 clause by x in the given world, groups with a violated grounding
        x     clause  groundings  n  violated
        ----  ------  ----------  -  --------
        Anna       0           3  2         1
        >>> db.count("Friends(x, y) ^ Friends(y, z)", by=["x", "z"], groups="true")
        n of 1 clause by x and z in the observed world, groups with a true grounding
        x     z      clause  groundings  n  violated
        ----  -----  ------  ----------  -  --------
        Anna  Chris       0           3  1         2
        """
        from sqlrl.database import counting
        from sqlrl.database.formulas import formula_model, is_formula
        from sqlrl.database.groups import count_groups

        if formula is None and is_formula(model):
            model, formula = None, model
        whole: Any = model if formula is None else formula_model(self.session, formula, model, world)
        asked = Query(whole, examples, Roles(drop, query, hidden, empty), limit)
        if by is not None:
            return count_groups(self.session, asked, world, by, groups, most_groups, formula)
        if groups != "all":
            raise InputError(
                f"groups={groups!r} chooses among the groups of by=, which is not given: name variables by="
            )
        return counting.count(self.session, asked, world, formula=formula is not None)

    def count_difference(
        self,
        model: Model,
        world: Any,
        other: Any = "observed",
        *,
        examples: Any = None,
        limit: int | None = GROUNDING_LIMIT,
        drop: Iterable[str] = (),
        query: Iterable[str] = (),
        hidden: Iterable[str] = (),
        empty: Iterable[str] = (),
    ) -> Table:
        r"""Count delta n of every clause: n in one world minus n in another, touching only groundings of atoms that differ.

        Parameters
        ----------
        model : Model
        world, other : "observed", Prediction, source or mapping of predicate to source
            As in `count`.
        examples : list of names, query, relation or frame, optional
            By default those of a prediction that is one of the worlds, else all.
        limit : int or None
            As in `count`.
        drop, query, hidden, empty : iterable of str
            As in `ground`.

        Returns
        -------
        Table
            Columns `clause`, `text`, `delta_n`, `weight`; delta n is an exact integer. See `count` for hard formulas with
            quantifiers inside.

        Raises
        ------
        InputError, GroundingLimitError
            As in `count`.

        Examples
        --------
        >>> import sqlrl
        >>> db = sqlrl.connect()
        >>> db.load("Friends", [("Anna", "Bob"), ("Bob", "Chris")])
        >>> text = "Friends(person, person)\nSmokes(person)\n1 Friends(x, y) ^ Smokes(x) => Smokes(y)"
        >>> model = sqlrl.parse_mln(text, query=["Smokes"])
        >>> anna, nobody = "select 'Anna' as person", "select 'Anna' as person where false"
        >>> db.count_difference(model, anna, nobody)["delta_n"]
        [-1]
        """
        from sqlrl.database import counting

        return counting.count_difference(
            self.session, Query(model, examples, Roles(drop, query, hidden, empty), limit), world, other
        )

    def expected_counts(
        self,
        model: Model,
        examples: Any = None,
        *,
        keep: bool = False,
        limit: int | None = GROUNDING_LIMIT,
        drop: Iterable[str] = (),
        query: Iterable[str] = (),
        hidden: Iterable[str] = (),
        empty: Iterable[str] = (),
    ) -> Table:
        r"""Find the expected count E[n] of every clause given the evidence, exactly, beside its count in the observed world.

        The mean of n over all worlds, each as probable as the weights say. Where it differs from the observed count, the model and the labels
        disagree: the difference is the gradient of the log-likelihood of the labels by the weight.

        Parameters
        ----------
        model : Model
            With weights.
        examples : list of names, query, relation or frame, optional
            All by default. They are grounded and counted in windows, of which one is held at a time.
        keep : bool
            Keep the counts in `sqlrl.clause_statistics`, for the view `sqlrl.count_differences`.
        limit : int or None
            The most ground clauses of one shape in a window, which is one example at least.
        drop, query, hidden, empty : iterable of str
            As in `ground`.

        Returns
        -------
        Table
            Columns `clause`, `text`, `n_observed`, `n_expected`, `difference` (observed minus expected), `groundings`, `weight`. Labels are read for
            `n_observed` alone; it and the difference are NULL if a query atom has no label.

        Raises
        ------
        InputError
            A rule has no weight; or a component of the ground network is too wide for exact sums, and its worlds are too many to be enumerated:
            nothing is estimated. The error says how many components and atoms those are, and names one component and the clause that widens it.
        InfeasibleError
            Hard clauses cannot all hold; shows a conflicting set.
        GroundingLimitError
            Names the clause, where it stands, and the number of ground clauses.

        Notes
        -----
        Exact as `marginals(method="exact")`, in floats: bucket elimination in logarithms over components of small treewidth (Dechter, "Bucket
        elimination: a unifying framework for reasoning", 1999). A hard clause is counted as `count` does, in worlds in which it holds.

        Examples
        --------
        >>> import sqlrl
        >>> db = sqlrl.connect()
        >>> db.load("Friends", [("Anna", "Bob"), ("Bob", "Chris")])
        >>> db.load("Smokes", [("Anna",), ("Bob",)], target=True)
        >>> text = "Friends(person, person)\nSmokes(person)\n1 Friends(x, y) ^ Smokes(x) => Smokes(y)\n-0.5 Smokes(x)"
        >>> for row in db.expected_counts(sqlrl.parse_mln(text), keep=True):
        ...     (
        ...         row["text"],
        ...         row["n_observed"],
        ...         round(row["n_expected"], 3),
        ...         round(row["difference"], 3),
        ...         row["groundings"],
        ...     )
        ('Friends(x, y) ^ Smokes(x) => Smokes(y)', 8, 8.754, -0.754, 9)
        ('Smokes(x)', 2, 1.029, 0.971, 3)
        >>> db.sql("select clause, round(difference, 3) from sqlrl.count_differences").fetchall()
        [('Smokes(x)', 0.971), ('Friends(x, y) ^ Smokes(x) => Smokes(y)', -0.754)]
        """
        from sqlrl.database.expected import expected_counts

        return expected_counts(
            self.session, Query(model, examples, Roles(drop, query, hidden, empty), limit), keep=keep
        )

    # ---- inference -----------------------------------------------------------------------------------------

    @overload
    def predict(
        self,
        model: SoftModel,
        *,
        semantics: Literal["soft"] | None = ...,
        examples: Any = ...,
        into: str | None = ...,
        replace: bool = ...,
        limit: int | None = ...,
        options: HingeOptions | None = ...,
        observed_bodies: bool = ...,
        keep: bool = ...,
        drop: Iterable[str] = ...,
        query: Iterable[str] = ...,
        hidden: Iterable[str] = ...,
        empty: Iterable[str] = ...,
    ) -> SoftPrediction: ...

    @overload
    def predict(
        self,
        model: Model,
        *,
        semantics: None = ...,
        examples: Any = ...,
        into: str | None = ...,
        replace: bool = ...,
        method: WorldMethod = ...,
        limit: int | None = ...,
        deterministic_limit: float | None = ...,
        seed: int = ...,
        margins: bool = ...,
        keep: bool = ...,
        drop: Iterable[str] = ...,
        query: Iterable[str] = ...,
        hidden: Iterable[str] = ...,
        empty: Iterable[str] = ...,
    ) -> Prediction: ...

    @overload
    def predict(
        self,
        model: SoftModel,
        *,
        semantics: Literal["boolean"],
        examples: Any = ...,
        into: str | None = ...,
        replace: bool = ...,
        method: WorldMethod = ...,
        limit: int | None = ...,
        deterministic_limit: float | None = ...,
        seed: int = ...,
        margins: bool = ...,
        keep: bool = ...,
        drop: Iterable[str] = ...,
        query: Iterable[str] = ...,
        hidden: Iterable[str] = ...,
        empty: Iterable[str] = ...,
    ) -> Prediction: ...

    def predict(
        self,
        model: Model | SoftModel,
        *,
        semantics: Literal["soft", "boolean"] | None = None,
        examples: Any = None,
        into: str | None = None,
        replace: bool = False,
        method: WorldMethod = "auto",
        limit: int | None = GROUNDING_LIMIT,
        deterministic_limit: float | None = None,
        seed: int = 0,
        margins: bool = False,
        keep: bool = False,
        options: HingeOptions | None = None,
        observed_bodies: bool = False,
        drop: Iterable[str] = (),
        query: Iterable[str] = (),
        hidden: Iterable[str] = (),
        empty: Iterable[str] = (),
    ) -> Prediction | SoftPrediction:
        r"""Predict the most probable world; of a soft model the truth values that cost the least. Labels are never read.

        Many examples are grounded and solved in windows, of which one is held at a time.

        Parameters
        ----------
        model : Model or SoftModel
            With weights.
        semantics : {"soft", "boolean"}, optional
            Of a soft model: "soft" (the default) finds truth values from 0 to 1, "boolean" the most probable world of the Markov logic network
            with the same rules.
        examples : list of names, query, relation or frame, optional
        into : str, optional
            A table to create with the true atoms of the open predicate (of several: `into`_predicate).
        replace : bool
            Whether tables of that name may be replaced.
        method : {"auto", "full", "cutting-plane", "elimination", "cut", "lp", "cpsat", "walksat"}
            "full" grounds everything, and takes for each connected component the cheapest method that is exact for it; see
            `sqlrl.solve.mpe.mpe`. "cutting-plane" finds the same optimum, but grounds only what some best world so far does not
            meet. "auto" chooses between the two: large rules of which a first world violates little, such as transitivity over
            candidate pairs, are cut, after counts that ground nothing (`sqlrl.solve.rounds.Estimate`).
        limit : int or None
            The most ground clauses of one shape in a window, which is one example at least; of "cutting-plane": that a round may
            return. Also the most groundings that counting may enumerate, which "cutting-plane" and `keep` do where many positive
            literals of a clause share variables.
        deterministic_limit : float, optional
            CP-SAT's limit for each connected component, in its deterministic seconds.
        seed : int
        margins : bool
            Find how much the score of the best world falls when each atom must have the other value, where elimination can
            (`atoms(every=True)` has it); not by "cutting-plane", which grounds too little for that.
        keep : bool
            Keep the true atoms in `sqlrl.prediction` and exact counts of every clause in `sqlrl.clause_statistics`. If every
            predicted atom has a label, `evaluate` adds the counts of the observed world; it also fills the views `sqlrl.confusion`,
            `sqlrl.clause_support` and `sqlrl.worst_predicted_examples`. Of a soft model: keep its truth values in
            `sqlrl.truth_value`, the distances of every rule in `sqlrl.rule_distance` (`evaluate` adds those at the labels), and
            objective and bound in `sqlrl.optimum`.
        options : HingeOptions, optional
            Of a soft model: how far and by what method its truth values are sought. `method`, `deterministic_limit` and `seed` are of
            Markov logic networks alone.
        observed_bodies : bool
            Of a soft model: whether bodies of logical rules read what is observed of the open predicates alone, as where `SoftStructure` learned
            them; their query atoms are 0 there.
        drop, query, hidden, empty : iterable of str
            As in `ground`.

        Returns
        -------
        Prediction or SoftPrediction

        Raises
        ------
        InputError
            A rule has no weight; or the table cannot be created, which is noticed before anything is solved.
        GroundingLimitError
            Names the clause, where it stands, and the number of groundings.
        InfeasibleError
            Hard clauses cannot all hold; shows a conflicting set.

        Examples
        --------
        >>> import sqlrl
        >>> db = sqlrl.connect()
        >>> db.load("Friends", [("Anna", "Bob"), ("Bob", "Chris")])
        >>> db.load("Smokes", [("Anna",)], given=True)
        >>> rule = "1 Friends(x, y) ^ Smokes(x) => Smokes(y)"
        >>> prediction = db.predict(sqlrl.parse_mln("Friends(person, person)\nSmokes(person)\n" + rule))
        >>> prediction.table()["person"]
        ['Bob', 'Chris']
        """
        from sqlrl.database import predictions
        from sqlrl.database.inference import Destination
        from sqlrl.database.soft_predictions import predict_soft, refuse_options

        destination, roles = Destination(into, replace, keep), Roles(drop, query, hidden, empty)
        model = self._read_as(model, semantics)
        if isinstance(model, SoftModel):
            refuse_options(method=method, deterministic_limit=deterministic_limit, seed=seed, margins=margins)
            asked = Query(Model({}), examples, roles, limit)
            return predict_soft(self.session, model, asked, destination, options, observed_bodies=observed_bodies)
        if options is not None or observed_bodies:
            raise InputError(
                "options= and observed_bodies= are of soft models: a Markov logic network takes method=, deterministic_limit= and seed="
            )
        return predictions.predict(
            self.session, Query(model, examples, roles, limit), destination,
            method=method, deterministic_limit=deterministic_limit, seed=seed, margins=margins,
        )  # fmt: skip

    def _read_as(self, model: Model | SoftModel, semantics: str | None) -> Model | SoftModel:
        """Return a soft model as the network that it is in Boolean logic, where that is asked for."""
        if semantics not in (None, "soft", "boolean"):
            raise InputError(f"semantics={semantics!r} must be 'soft' or 'boolean'.")
        if semantics is not None and not isinstance(model, SoftModel):
            raise InputError(
                f"semantics={semantics!r} is of soft models: a Markov logic network is Boolean as it is; leave it out."
            )
        if semantics != "boolean":
            return model
        from sqlrl.logic.psl_boolean import boolean_model

        assert isinstance(model, SoftModel)
        return boolean_model(self.catalog.typed(model))

    def read_solution(
        self,
        model: Model,
        path: str | Path,
        *,
        format: Format | None = None,
        exported: str | Path | None = None,
        bound: bool = False,
        examples: Any = None,
        into: str | None = None,
        replace: bool = False,
        limit: int | None = GROUNDING_LIMIT,
        keep: bool = False,
        drop: Iterable[str] = (),
        query: Iterable[str] = (),
        hidden: Iterable[str] = (),
        empty: Iterable[str] = (),
    ) -> Prediction:
        r"""Make a prediction of the world that an outside solver found for an exported model.

        Parameters
        ----------
        model : Model
            The one that was exported, and the same `examples`, `drop`, `query`, `hidden` and `empty`.
        path : str or Path
            What a MaxSAT solver printed; the solution file of CPLEX, Gurobi, HiGHS, CBC or SCIP; or a result file of the
            UAI competitions.
        format : {"wcnf", "lp", "uai"}, optional
            How the model was exported; by default the words of the file tell.
        exported : str or Path, optional
            The exported file: the table beside it must list the atoms that the data have now.
        bound : bool
            Bound the gap by the linear relaxation; else it is infinite, since nothing that the solver says is taken over.
        examples, into, replace, limit, keep, drop, query, hidden, empty
            As in `predict`.

        Raises
        ------
        InputError
            With the line: the file is damaged or belongs to another network; with the ground clause: its world violates a
            hard one.

        Examples
        --------
        >>> import tempfile
        >>> import sqlrl
        >>> db = sqlrl.connect()
        >>> db.load("Friends", [("Anna", "Bob"), ("Bob", "Chris")])
        >>> rules = "1 Friends(x, y) ^ Smokes(x) => Smokes(y)\n0.5 Smokes(x)"
        >>> model = sqlrl.parse_mln("Friends(person, person)\nSmokes(person)\n" + rules, query=["Smokes"])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = Path(folder, "answer").write_text("s OPTIMUM FOUND\nv 1 2 3 0\n")
        ...     prediction = db.read_solution(model, Path(folder, "answer"))
        >>> prediction.table()["person"], prediction.objective
        (['Anna', 'Bob', 'Chris'], 10.5)
        """
        from sqlrl.database import predictions
        from sqlrl.database.inference import Destination

        return predictions.read_solution(
            self.session, Query(model, examples, Roles(drop, query, hidden, empty), limit), Destination(into, replace, keep),
            path, format=format, exported=exported, bound=bound,
        )  # fmt: skip

    @overload
    def evaluate(self, prediction: Prediction, *, outside: str = ..., bins: int = ...) -> Scores: ...

    @overload
    def evaluate(self, prediction: Marginals, *, outside: str = ..., bins: int = ...) -> ProbabilityScores: ...

    @overload
    def evaluate(self, prediction: SoftPrediction, *, outside: str = ..., threshold: float = ...) -> SoftScores: ...

    def evaluate(
        self,
        prediction: Prediction | Marginals | SoftPrediction,
        *,
        outside: str = "missed",
        bins: int = BINS,
        threshold: float = 0.5,
    ) -> Scores | ProbabilityScores | SoftScores:
        r"""Compare a prediction, or probabilities, with the labels.

        Parameters
        ----------
        prediction : Prediction, Marginals or SoftPrediction
        outside : {"missed", "ignore"}
            What a true label outside the scope counts as, which has no query atom: as missed, or not at all, as where a scope splits one
            network into a part to learn from and a part to predict. It has no probability: of probabilities it is counted beside the scores.
        bins : int
            Bins of equal width in which probabilities are compared with shares of true atoms.
        threshold : float
            Of a soft model: labels and values of at least as much count as true.

        Returns
        -------
        Scores, ProbabilityScores or SoftScores
            Over atoms that have a label: precision, recall and F1 of a prediction; of probabilities the area under the ROC curve, average
            precision, log-likelihood, Brier score and calibration.

        Raises
        ------
        InputError
            No atom has a label, an option is another word, or `prediction` was made in another database, or is neither of the two.

        Examples
        --------
        >>> import sqlrl
        >>> db = sqlrl.connect()
        >>> db.load("Word", [("d1", "good"), ("d2", "bad")], types=["doc", "word"], example="doc")
        >>> db.load("Liked", [("d1",)], types=["doc"], target=True)
        >>> rules = sqlrl.parse_mln('Word(doc, word)\nLiked(doc)\n1 Word(d, "good") => Liked(d)\n-0.5 Liked(d)')
        >>> print(db.evaluate(db.predict(rules)))
        F1 100.00 (precision 100.00, recall 100.00); 2 of 2 examples all right
        >>> print(db.evaluate(db.marginals(rules)))
        AUC-ROC 1.000, average precision 1.000, log-likelihood -0.474 per atom, calibration error 0.378, accuracy 100.00 (2 atoms, 1 true)
        >>> import warnings
        >>> db.scope("Liked", [("d2",)])
        >>> with warnings.catch_warnings(action="ignore"):
        ...     prediction = db.predict(rules)
        >>> [db.evaluate(prediction, outside=each).total.false_negatives for each in ("missed", "ignore")]
        [1, 0]
        """
        from sqlrl.database.results import InferenceResult

        given: object = prediction
        if not isinstance(given, InferenceResult):
            raise refuse("a prediction or probabilities", given)
        with self.session.verb():
            prediction.check_current(self.engine)
            return prediction.evaluate(outside=outside, bins=bins, threshold=threshold)

    def clusters(
        self,
        prediction: Prediction | Marginals | SoftPrediction,
        predicate: str | None = None,
        *,
        closure: bool = False,
    ) -> Table:
        """Return the clusters of a predicted equivalence: `Prediction.clusters` says how, and which errors there are.

        Parameters
        ----------
        prediction : Prediction, Marginals or SoftPrediction
        predicate, closure
            As in `Prediction.clusters`.

        Returns
        -------
        Table
            Columns `example`, the record (named by its type) and `cluster`.
        """
        from sqlrl.database.results import InferenceResult

        given: object = prediction
        if not isinstance(given, InferenceResult):
            raise refuse("a prediction", given)
        prediction.check_current(self.engine)
        return prediction.clusters(predicate, closure=closure)

    def marginals(
        self,
        model: Model | SoftModel,
        *,
        semantics: Literal["boolean"] | None = None,
        examples: Any = None,
        method: MarginalMethod = "auto",
        samples: int = 1000,
        burn_in: int = 100,
        chains: int = 4,
        seed: int = 0,
        time_limit: float | None = None,
        into: str | None = None,
        samples_into: str | None = None,
        means_into: str | None = None,
        replace: bool = False,
        limit: int | None = GROUNDING_LIMIT,
        keep: bool = False,
        drop: Iterable[str] = (),
        query: Iterable[str] = (),
        hidden: Iterable[str] = (),
        empty: Iterable[str] = (),
    ) -> Marginals:
        r"""Find the probability of each query atom. Labels are never read.

        Many examples are grounded and solved in windows, of which one is held at a time.

        Parameters
        ----------
        model : Model or SoftModel
            With weights. A soft model is asked in its Boolean reading alone.
        semantics : {"boolean"}, optional
            Needed for a soft model: the probabilities are of the Markov logic network with the same rules.
        examples : list of names, query, relation or frame, optional
        method : {"auto", "exact", "gibbs", "mcsat"}
            "auto" is exact where closed forms or tables of elimination allow it, and samples elsewhere: by Gibbs sampling, or by
            MC-SAT where clauses are hard or nearly so. Small components whose worlds hard clauses leave few, such as a transitive
            relation over ten records, are exact, too. "exact" refuses what it would have to sample.
        samples, burn_in, chains, seed : int
            Samples of each chain, after those it forgets.
        time_limit : float, optional
            Seconds of wall time after which the answer should be there: with what fewer samples tell, its errors, and a warning that
            says how many they were; the same seed may give other numbers then. Grounding is not cut short.
        into : str, optional
            A table to create with the probabilities of the open predicate (of several: `into`_predicate).
        samples_into : str, optional
            A table to create with the sampled worlds while they are drawn: `chain`, `sample`, `atom` (as text) of each true
            atom; NULL for a world in which none is true. With this or `means_into` all examples are one window.
        means_into : str, optional
            A table to create with running means: `chain`, `samples` (so far), `atom` (as text), `mean`.
        replace : bool
            Whether tables of those names may be replaced.
        limit : int or None
            The most ground clauses of one shape in a window, which is one example at least.
        keep : bool
            Keep the probabilities in `sqlrl.marginal`; `evaluate` then fills the views `sqlrl.calibration` and `sqlrl.confusion`.
        drop, query, hidden, empty : iterable of str
            As in `ground`.

        Returns
        -------
        Marginals
            Probabilities with their Monte Carlo errors, and warnings where they cannot be trusted.

        Raises
        ------
        InputError
            A rule has no weight; an option is out of range; "exact" or "gibbs" cannot treat the model; a table cannot be created.
        InfeasibleError
            Hard clauses cannot all hold; shows a conflicting set.

        Examples
        --------
        >>> import sqlrl
        >>> db = sqlrl.connect()
        >>> db.load("Friends", [("Anna", "Bob"), ("Bob", "Chris")])
        >>> db.load("Smokes", [("Anna",)], given=True)
        >>> rule = "1 Friends(x, y) ^ Smokes(x) => Smokes(y)"
        >>> found = db.marginals(sqlrl.parse_mln("Friends(person, person)\nSmokes(person)\n" + rule))
        >>> found.table()["probability"]
        [0.650245, 0.650245]
        """
        from sqlrl.database import marginals
        from sqlrl.database.inference import Destination

        read = self._read_as(model, semantics)
        if isinstance(read, SoftModel):
            raise InputError(
                "truth values of a soft model have no probabilities of being true: ask for those of its Boolean reading, semantics='boolean', or for the "
                "values themselves, predict()"
            )
        return marginals.marginals(
            self.session, Query(read, examples, Roles(drop, query, hidden, empty), limit), Destination(into, replace, keep),
            method=method, samples=samples, burn_in=burn_in, chains=chains, seed=seed, time_limit=time_limit,
            samples_into=samples_into, means_into=means_into,
        )  # fmt: skip

    def check_atoms(
        self,
        model: Model,
        atoms: Iterable[str],
        *,
        examples: Any = None,
        example: str | None = None,
        drop: Iterable[str] = (),
        query: Iterable[str] = (),
        hidden: Iterable[str] = (),
        empty: Iterable[str] = (),
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
        drop, query, hidden, empty : iterable of str
            As in `ground`.

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
        >>> db.check_atoms(model, ["Smokes(Bob)"])
        >>> db.check_atoms(model, ["Smokes(Bo)"])
        Traceback (most recent call last):
        sqlrl.errors.InputError: Smokes(Bo): there is no person 'Bo'; did you mean 'Bob' or 'Anna' or 'Chris'?
        """
        from sqlrl.database.named_atoms import check_atoms

        check_atoms(self.session, Query(model, examples, Roles(drop, query, hidden, empty)), atoms, example)

    def split(
        self,
        fraction: float = 0.2,
        *,
        by: str | Sequence[str] | None = None,
        predicate: str | None = None,
        model: Model | None = None,
        examples: Any = None,
        random_state: int = 0,
    ) -> Split:
        r"""Hold a part of the data out for testing: whole examples, or query atoms of a target where all data are one network.

        Parameters
        ----------
        fraction : float
            The share that is held out, between 0 and 1: of the examples, of the query atoms, or with `by` of the constants of that type.
        by : str or list of str, optional
            Types whose constants are on one side only, such as "person". Examples or query atoms that join constants of both sides are in
            neither part, and are counted. What is connected stays together as far as possible, so that few of them are lost.
        predicate : str, optional
            Split the query atoms of this target, also where there are several examples; required where there is one example and several
            targets. The atoms of a block stay together.
        model : Model, optional
            Needed where only the model's declarations say what the types of the data are; not to split examples that loads have named
            (`example=`), which are those of the facts that name them then.
        examples : list of names, query, relation or frame, optional
            Those that are split; all by default.
        random_state : int
            The same data and number give the same parts, in whatever order the data were loaded.

        Returns
        -------
        Split
            `train` and `test`: names of examples, for `examples=`, or rows of a scope, for `scope`.

        Raises
        ------
        InputError
            There is nothing to split, no such type, or a part would be empty.

        Examples
        --------
        >>> import sqlrl
        >>> db = sqlrl.connect()
        >>> pairs = [(a, b) for a in range(12) for b in range(12) if a != b and a // 3 == b // 3]
        >>> db.load("Alike", pairs, types=["record", "record"])
        >>> db.load("Same", pairs[::2], types=["record", "record"], target=True)
        >>> db.scope("Same", pairs)
        >>> split = db.split(0.25, by="record")
        >>> split
        Split: 18 query atoms of Same to learn from, 6 to test on, with no record in common
        >>> db.scope("Same", split.train)  # and then learn
        >>> db.scope("Same", split.test)  # and then predict, and evaluate(prediction, outside="ignore")
        """
        from sqlrl.database import holdout

        return holdout.split(
            self.session,
            fraction,
            by=by,
            predicate=predicate,
            model=model,
            examples=examples,
            random_state=random_state,
        )

    def audit(
        self,
        target: str,
        *,
        folds: Any = None,
        train: Any = None,
        test: Any = None,
        near: float = 0.8,
        model: Model | None = None,
        random_state: int = 0,
    ) -> Audit:
        r"""Look for leaks between training and test, and for labels that something else than the facts tells. It reads the labels.

        It looks for facts that training sees and that name what is tested; atoms whose reverse is trained on; entities on both sides, and
        how well their identity alone predicts, without any fact; examples, or entities, with the same facts as others, or nearly; and predicates that say
        what the labels say, negated, with arguments permuted, or with some of them fixed to a constant or left out, too.

        Parameters
        ----------
        target : str
            A predicate with labels.
        folds : int, list, mapping, query, table, frame or str, optional
            How the data are divided. A number of random folds; a list of lists, or a mapping of names to lists, of what each fold tests while the others
            are trained on; folds with `train` and `test`, as `sqlrl.k_fold` makes them; what `Database.split` returned; rows with the fold in their last
            column; or a predicate whose last argument is the fold of what stands before it: an example, a query atom, or, in one network, an entity (atoms of
            entities in several folds are left out). Named are examples, or query atoms by their arguments. By default 10 random folds, of examples
            where there are several, else of query atoms.
        train, test : list of names, query, table or frame, optional
            One division, instead of folds: both parts.
        near : float
            The Jaccard similarity of facts from which on examples are near duplicates, from 0.5 to 1, in whole percent.
        model : Model, optional
            Needed where only the model's declarations say what the types of the data are.
        random_state : int
            The seed of random folds.

        Returns
        -------
        Audit
            Prints the findings, each with a query that shows it, and the baselines. `findings` is a table, what gives away most first; the view
            `sqlrl.leaks` has those of the newest audit of each target.

        Raises
        ------
        InputError
            There is no such target, it has no labels, or folds overlap, are empty, or name what is not there.

        Notes
        -----
        Similar examples are found by prefix filtering, which misses none: pairs are compared that share one of their (1 - `near`) n + 1 rarest facts, n being
        how many an example has. If these are more than 50 million, the result says that it was not looked for them. Examples with fewer than 3
        facts are not compared. Constants of a local type that stand in more than a tenth of the examples on average are taken for places in them, such as
        positions, and left out of near duplicates; a note of the result says which types. Identity is tested by the majority for each constant of an argument, and, for pairs, by the model of Bradley and
        Terry (1952), a score for each constant, fitted on the training atoms of each fold with a penalty of 0.05 times the squared scores.

        Examples
        --------
        >>> import sqlrl
        >>> db = sqlrl.connect()
        >>> teams = [f"t{i}" for i in range(8)]
        >>> pairs = [(a, b) for a in teams for b in teams if a != b]
        >>> db.load("Beats", [(a, b) for a, b in pairs if a < b], types=["team", "team"], target=True)
        >>> db.scope("Beats", pairs)
        >>> audit = db.audit("Beats", folds=4)
        >>> for row in audit.findings:
        ...     print(row["kind"], row["count"], round(row["share"], 2))
        antisymmetry 28 1.0
        identity 8 1.0
        opposite reverse 42 0.75
        >>> print(audit.findings["what"][0])
        in all the data, all 28 true atoms have a reverse, Beats(y, x), that is false
        >>> len(db.sql(audit.findings["show_sql"][0]).fetchall())
        28
        """
        from sqlrl.database.audit import audit

        return audit(
            self.session, target, folds=folds, train=train, test=test, near=near, model=model, random_state=random_state
        )

    def run_record(self, run: int | None = None) -> RunRecord:
        r"""Return a run as the database has it: its facts, its charts, and the page about it.

        Parameters
        ----------
        run : int, optional
            Its number in `sqlrl.run`, as `run_` of a fitted estimator and `run` of a kept prediction; the newest one by default.

        Returns
        -------
        RunRecord
            `report("report.html")` writes the page, `plot` has the charts.

        Raises
        ------
        InputError
            There is no such run.

        Examples
        --------
        >>> import sqlrl
        >>> db = sqlrl.connect()
        >>> db.load("Friends", [("Anna", "Bob"), ("Bob", "Chris")])
        >>> text = "Friends(person, person)\nSmokes(person)\n1 Friends(x, y) ^ Smokes(x) => Smokes(y)"
        >>> prediction = db.predict(sqlrl.parse_mln(text, query=["Smokes"]), keep=True)
        >>> db.run_record(prediction.run).plot.weights().table()
        Strongest clauses
        clause                                  weight
        --------------------------------------  ------
        Friends(x, y) ^ Smokes(x) => Smokes(y)       1
        """
        from sqlrl.database.run_records import RunRecord

        return RunRecord.read(self.session, run)

    # ---- opening, closing and showing -----------------------------------------------------------------------

    def cursor(self) -> Database:
        r"""Return another Database on the same data, file or memory, for another thread: one Database serves one thread at a time.

        What one loads the others see at their next call. Of two that change the same at the same time one raises ConflictError and
        has changed nothing; so does a call whose data another one changes while it is at work. A cursor draws no progress, sees no
        temporary tables, and looks for plain names of tables where this Database did when it was made. It may be closed by itself, and
        is closed with this one at the latest.

        Returns
        -------
        Database

        Raises
        ------
        InputError
            This Database is closed.

        Examples
        --------
        >>> from concurrent.futures import ThreadPoolExecutor
        >>> import sqlrl
        >>> db = sqlrl.connect()
        >>> db.load("Friends", [("Anna", "Bob"), ("Bob", "Chris")])
        >>> model = sqlrl.parse_mln(
        ...     "Friends(person, person)\nSmokes(person)\n1 Friends(x, y) => Smokes(y)", query=["Smokes"]
        ... )
        >>> def predict(number):
        ...     with db.cursor() as mine:
        ...         return mine.predict(model, seed=number).table()["person"]
        >>> with ThreadPoolExecutor(2) as pool:
        ...     list(pool.map(predict, range(2)))
        [['Bob', 'Chris'], ['Bob', 'Chris']]
        """
        engine = self.engine.cursor()
        try:
            return Database(Catalog(engine, follow, atom_limit=self.catalog.atom_limit), spark=self._spark)
        except BaseException:
            engine.close()
            raise

    def close(self) -> None:
        """Close the database and its cursors; a connection of yours stays open.

        Raises
        ------
        BusyError
            Another thread is at work with one of them.
        """
        with self.engine.turn:
            try:
                if not self.engine.closed:
                    self._drop_kept()
                    self.catalog.store.close()
            finally:
                # The file must not stay locked, whatever could not be dropped.
                try:
                    if self.session.plans is not self.engine:
                        self.session.plans.close()
                finally:
                    self.engine.close()

    def _drop_kept(self) -> None:
        """Drop the tables of the program that is kept; not in a transaction of the user's, with which they might come back."""
        try:
            self.engine.check_ready()
        except InputError:
            self.session.kept.forget()
        else:
            self.session.kept.close()

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise InputError(
            "a Database cannot be pickled or copied, since it holds an open connection: pass the path and connect() again in another "
            "process (read_only=True lets several read a file); in another thread use db.cursor()."
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        if self.engine.closed:
            return f"{type(self).__name__}({self.engine.path!r}), closed"
        # Where a user's own schema or database is called sqlrl, ours is not.
        schema = "" if self.engine.schema == "sqlrl" else f", tables and views in the schema {self.engine.schema}"
        return f"{type(self).__name__}({self.engine.path!r}){schema}\n{self.predicates()!r}"

    def _repr_html_(self) -> str:
        head = markup.paragraph(repr(self).split("\n", maxsplit=1)[0])
        return head if self.engine.closed else head + self.predicates()._repr_html_()


def _predicate_table(records: Mapping[str, PredicateRecord], values: Mapping[str, str]) -> Table:
    """Return what is recorded of predicates, as a table."""
    rows = [
        {
            "predicate": str(f"{name}({', '.join(kind or '?' for kind in record.types)})"),
            "open": record.open,
            "facts": record.rows,
            "example": record.example,
            "source": record.source,
            "value": values.get(name),
        }
        for name, record in records.items()
    ]
    schema = pa.schema(
        [
            ("predicate", pa.string()),
            ("open", pa.bool_()),
            ("facts", pa.int64()),
            ("example", pa.string()),
            ("source", pa.string()),
            *([("value", pa.string())] if values else []),
        ]
    )
    columns = [array([row[field.name] for row in rows], field.type) for field in schema]
    return Table(pa.table(columns, schema=schema), title="predicates")
