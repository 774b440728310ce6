"""The database: where data are loaded, models are held against them, and results come back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, NoReturn, Self, overload

from sqlrl import markup
from sqlrl.arguments import refuse
from sqlrl.catalog.catalog import Catalog
from sqlrl.catalog.roles import NONE, Roles
from sqlrl.catalog.sizes import ATOM_LIMIT, check_atom_limit
from sqlrl.database.advanced import Advanced
from sqlrl.database.definitions import follow
from sqlrl.deprecated import set_old, takes_old_arguments
from sqlrl.engine.connection import connect as connect_engine
from sqlrl.errors import InputError, Parameter, Phrase
from sqlrl.evaluate.probabilities import BINS
from sqlrl.ground.limits import DENSITY, GROUNDING_LIMIT, GROWTH, MOST_GROUPS, MissingAtoms
from sqlrl.logic.horn_parser import LOWER
from sqlrl.logic.model import Model
from sqlrl.logic.psl import SoftModel
from sqlrl.report import Console, Table, console_for
from sqlrl.slips import Helpful
from sqlrl.training.session import Query, Session

if TYPE_CHECKING:
    import duckdb

    from sqlrl.catalog.evidence import Evidence
    from sqlrl.catalog.loading import Types
    from sqlrl.database.audit import Audit
    from sqlrl.database.exports import Exported
    from sqlrl.database.holdout import Split
    from sqlrl.database.marginals import Marginals
    from sqlrl.database.model_sql import ExportedSQL
    from sqlrl.database.models_and_runs import Models, Runs
    from sqlrl.database.predictions import Prediction
    from sqlrl.database.soft_data import SoftData
    from sqlrl.database.soft_predictions import SoftPrediction
    from sqlrl.engine.spark.server import Spark
    from sqlrl.evaluate import ProbabilityScores, Scores, SoftScores
    from sqlrl.plan.view_options import SQLOptions
    from sqlrl.script.runner import ScriptResult
    from sqlrl.solve.exchange.solutions import NetworkFormat, OutsideSolution
    from sqlrl.solve.hinge.result import HingeOptions
    from sqlrl.solve.marginal import Method as MarginalMethod
    from sqlrl.solve.methods import WorldMethod
    from sqlrl.structure.diagnosis.diagnosis import Diagnosis
    from sqlrl.structure.diagnosis.quality import RuleQuality


def connect(
    target: str | Path | duckdb.DuckDBPyConnection = ":memory:",
    *,
    threads: int | None = None,
    memory_limit: str | None = None,
    temp_directory: str | Path | None = None,
    atom_limit: int = ATOM_LIMIT,
    read_only: bool = False,
    trusted: bool = True,
    folder: str | Path | None = None,
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
        is grounded (`MemoryLimitError`). A smaller limit is that of the database, and ground networks may take as much again. By default
        80 % of the memory that the machine, or the container, has available when the database is opened. On your own connection
        the database keeps the limit that it has, and the default is for ground networks alone.
    temp_directory : path, optional
        Where the database spills what exceeds its memory; "" if nothing may be spilled. By default a folder beside the database file, or in
        the temporary folder of the system; one that a file system in memory holds is passed over. What a process that was
        killed has left is removed by the next one. Your own connection keeps its folder.
    atom_limit : int
        The most query atoms that a model may have, helper atoms included; and the most clauses of templates. They are counted before they
        are made, and more are an error, since each takes about 250 bytes.
    read_only : bool
    trusted : bool
        False for a file that a stranger may have made: SQL reads nothing outside of it, what sqlrl reads in it is what sqlrl makes,
        and `refresh` runs no query that it keeps. `SECURITY.md` says what that means and what it does not.
    folder : path, optional
        With `trusted=False`: the folder whose files the statements of a script may read and write, such as `EXPORT MODEL` and
        `CREATE MODEL ... FROM 'file'`, links resolved. Without it they open no file. SQL itself opens none in either case.
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
        folder=folder,
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
    models : Models
        The models that are kept: `models()` lists them, `models["name"]` is one.
    runs : Runs
        The runs that are kept: `runs()` lists them, `runs[-1]` is the newest.
    advanced : Advanced
        What the verbs work with, for code that extends sqlrl.

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

    def __init__(self, catalog: Catalog, console: Console | None = None, spark: Spark | None = None) -> None:
        self._spark = spark
        if spark is not None:
            from sqlrl.engine.spark.engine import SparkEngine
            from sqlrl.engine.spark.server import Server

            catalog.store.plans = SparkEngine(Server(spark), catalog.engine)
        self.advanced = Advanced(Session.open(catalog, console))

    @property
    def _session(self) -> Session:
        return self.advanced.session

    @property
    def models(self) -> Models:
        r"""The models that are kept, under names and by the numbers of `sqlrl.model`.

        Examples
        --------
        >>> import sqlrl
        >>> db = sqlrl.connect()
        >>> db.models["smoking"] = sqlrl.parse_mln("Smokes(person)\nCancer(person)\n1.5 Smokes(x) => Cancer(x)")
        >>> db.models["smoking"].rules[0].weight
        1.5
        >>> db.models()["name"], db.models()["rules"]
        (['smoking'], [1])
        >>> del db.models["smoking"]
        """
        from sqlrl.database.models_and_runs import Models

        return Models(self._session)

    @property
    def runs(self) -> Runs:
        r"""The runs that are kept, of learners and of `predict(keep=True)`, by their numbers in `sqlrl.run`.

        Examples
        --------
        >>> import sqlrl
        >>> db = sqlrl.connect()
        >>> db.load("Friends", [("Anna", "Bob"), ("Bob", "Chris")])
        >>> text = "Friends(person, person)\nSmokes(person)\n1 Friends(x, y) ^ Smokes(x) => Smokes(y)"
        >>> prediction = db.predict(sqlrl.parse_mln(text, query=["Smokes"]), keep=True)
        >>> db.runs()["run"], db.runs()["learner"]
        ([1], ['predict'])
        >>> db.runs[prediction.run].plot.weights().table()
        Strongest clauses
        clause                                  weight
        --------------------------------------  ------
        Friends(x, y) ^ Smokes(x) => Smokes(y)       1
        """
        from sqlrl.database.models_and_runs import Runs

        return Runs(self._session)

    # ---- loading -------------------------------------------------------------------------------------------

    @overload
    def load(self, predicate: Evidence) -> Model: ...

    @overload
    def load(self, predicate: SoftModel | SoftData) -> dict[str, dict[str, int]]: ...

    @overload
    def load(self, predicate: str, source: Any, *, mode: Literal["remove"]) -> int: ...

    @overload
    def load(
        self,
        predicate: Mapping[str, Any] | Path,
        *,
        types: Types | None = ...,
        duplicates: str = ...,
        nulls: str = ...,
        empty: str = ...,
        fold_case: bool = ...,
        constants: Mapping[str, str] | None = ...,
        header: bool = ...,
        delimiter: str | None = ...,
        quote: str = ...,
        bins: Mapping[str | int, int | Sequence[float | str | date] | Model] | Model | None = ...,
        local: Mapping[str, bool | None] | None = ...,
        numeric: Iterable[str] = ...,
    ) -> list[str]: ...

    @overload
    def load(
        self,
        predicate: str | None = ...,
        source: Any = ...,
        *,
        mode: Literal["replace", "append", "view"] = ...,
        columns: Sequence[str | int] | Mapping[str | int, str | int] | None = ...,
        types: Sequence[str] | None = ...,
        example: str | int | Literal[False] | None = ...,
        target: bool = ...,
        given: bool = ...,
        truth: str | int | None = ...,
        probability: str | int | None = ...,
        value: str | int | None = ...,
        duplicates: str = ...,
        nulls: str = ...,
        empty: str = ...,
        fold_case: bool = ...,
        constants: Mapping[str, str] | None = ...,
        header: bool = ...,
        delimiter: str | None = ...,
        quote: str = ...,
        bins: Mapping[str | int, int | Sequence[float | str | date] | Model] | Model | None = ...,
        bins_from: Any = ...,
        local: Mapping[str, bool | None] | None = ...,
        numeric: Iterable[str] = ...,
    ) -> None: ...

    @takes_old_arguments
    def load(
        self,
        predicate: str | Path | Mapping[str, Any] | Evidence | SoftModel | SoftData | None = None,
        source: Any = None,
        *,
        mode: Literal["replace", "append", "remove", "view"] = "replace",
        columns: Sequence[str | int] | Mapping[str | int, str | int] | None = None,
        types: Sequence[str] | Types | None = None,
        example: str | int | Literal[False] | None = None,
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
        bins: Mapping[str | int, int | Sequence[float | str | date] | Model] | Model | None = None,
        bins_from: Any = None,
        local: Mapping[str, bool | None] | None = None,
        numeric: Iterable[str] = (),
    ) -> Model | dict[str, dict[str, int]] | int | list[str] | None:
        """Load the facts of a predicate, in place of those loaded before in the same role (fact, label, given, soft).

        The first argument may also be a folder or a mapping of predicates to their sources, which are loaded all or nothing; evidence atoms
        (`Evidence`); or a soft program that says where its data are (`SoftModel`, `SoftData`). Without it, `numeric`, `local` and
        `example` say of types what they are.

        Parameters
        ----------
        predicate : str, folder, mapping, Evidence, SoftModel or SoftData, optional
            Of a folder the Parquet, CSV and TSV files are loaded, which are named after their predicates.
        source : path, list of paths, str, Arrow table, pandas or polars frame, DuckDB relation, or iterable of rows
            Text is a Parquet or CSV file, the name of a table or view, or a query. The columns of a CSV file are read as text.
            Rows are tuples, lists, arrays, or mappings, whose keys name the columns. None and NaN are missing values. A value has
            one name whatever stored it: a whole number in a column of floats or decimals is the constant that an integer is, a
            timestamp at midnight the one that its date is, an instant is in UTC. An empty tuple is the fact of a predicate without
            arguments. `sqlrl.ServerFiles(path)` is Parquet that the server of Spark reads and encodes (`connect(engine=...)`).
        mode : {"replace", "append", "remove", "view"}
            "append" adds the rows to those that are loaded in the role, with the same types; facts that are there already are duplicates. It costs
            what the new rows cost. Without `target` and `given` the role is the one that the facts have. "remove" takes facts away from what sqlrl has of
            the predicate; their source stays as it is, and after `refresh` they stay away. "view" loads nothing: it shows an Arrow table, a frame or a
            `Table` to SQL under the name, until the database is closed.
        columns : sequence or mapping, optional
            Columns of the arguments in order, by name or position from 0; or from argument (position, or type where
            only one argument has it) to column. By default columns are arguments by their position.
        types : sequence of str, mapping or Bias, optional
            Types of the arguments; for several predicates by name, or a bias, with which only the predicates of its bodies are loaded. If neither they nor a model's declaration are there, the facts wait as text for the model.
            Other types than before need a load that replaces all facts of the predicate.
        example : str, int or False, optional
            The type, the column or the position (from 0) of an argument whose constants are the examples, or a column
            beside the arguments that holds the example. Without a predicate: the type; False makes all data one example.
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
            Types of numbers or dates to cut into pieces, each by its name, or a column or position (from 0) of an argument that has it. A
            whole number is how many pieces: each has equally many of the rows, as far as equal values allow. A list has the edges between the
            pieces, numbers or dates (also as ISO texts); a model, here or for a type, those that it was learned with. The constants are the pieces, named as in `price[10,25)`,
            `price(-inf,10)`, `price[90,inf)` and `day[2024-01-31,2024-06-30)`, which hold whatever lies outside. A type stays cut: all data of it are, also those of
            other predicates, scopes and evidence, and models that are learned from them have its edges. To cut otherwise, load again
            all its facts with `bins`.
        bins_from : list of names, query, relation or frame, optional
            The examples whose rows alone choose edges, such as those to train on; by default all rows do.
        local : mapping of str to bool, optional
            Types by whether they are local: the domain of a local type in an example is the constants of that example's facts. By default, which None
            restores, a type is local that stands beside the example in a closed predicate.
        numeric : iterable of str
            Types of which constants are numbers, so that `1` and `1.0` are one; before data of the type are loaded.

        Returns
        -------
        None, int, list, Model or dict
            Of mode "remove" how many facts were removed; of several predicates their names; of evidence the model, with declarations of the predicates
            that it lacked; of a soft program the numbers of rows by predicate and role.

        Raises
        ------
        LoadError
            With all faults, the rows and the remedy; nothing has changed then.
        CatalogError
            An option of a type that there is not, or that has constants already.
        InputError
            An option that does not go with what is loaded.

        Warns
        -----
        LoadWarning
            A type has fewer pieces than asked for, since equal numbers are not parted; rows of a type have names such as `2.0` beside
            `2`; rows to remove are no facts.

        Examples
        --------
        >>> import sqlrl
        >>> db = sqlrl.connect()
        >>> db.load("Friends", [("Anna", "Bob"), ("Bob", None)], types=["person", "person"], nulls="drop")
        >>> db.load("Smokes", [("Anna", 0.8), ("Bob", 0.5)], types=["person"], probability=1)
        >>> db.tables()["predicate"], db.tables()["facts"]
        (['Friends(person, person)', 'Smokes(person)'], [1, 2])
        >>> db.load("Smokes", [("Anna",), ("Anna",)], types=["person"])
        Traceback (most recent call last):
        sqlrl.errors.LoadError: Smokes from the tuples: duplicate facts: (Anna) occurs 2 times (rows 1 and 2): remove them or pass duplicates="drop", which drops 1 row.
        >>> db.load("Price", [("a", 5), ("b", 17.5), ("c", 30), ("d", 99)], types=["item", "price"], bins={"price": 2})
        >>> db.sql("from sqlrl.named_Price").fetchall()[1:3]
        [('b', 'price(-inf,30)'), ('c', 'price[30,inf)')]
        >>> db.load("Trusts", [("Anna", "Bob", 0.7), ("Bob", "Anna", 0.2)], types=["person", "person"], value=2)
        >>> sorted(db.sql("from sqlrl.named_Trusts").fetchall())
        [('Anna', 'Bob', 0.7), ('Bob', 'Anna', 0.2)]
        >>> db.load("Friends", [("Chris", "Dora")], mode="append")
        >>> db.load("Friends", "select 'Anna', 'Bob'", mode="remove")
        1
        >>> db.load("counts", db.count("Friends(x, y)", by="x"), mode="view")
        >>> db.sql("select x from counts where n > 0").fetchall()
        [('Chris',)]
        >>> db.load({"Parent": [("Ann", "Bob")], "Job": [("Ann", "smith")]}, types={"Parent": ["person", "person"]})
        ['Parent', 'Job']
        """
        from sqlrl.database import loading

        options = {
            "columns": columns,
            "types": types,
            "example": example,
            "target": target,
            "given": given,
            "truth": truth,
            "probability": probability,
            "value": value,
            "duplicates": duplicates,
            "nulls": nulls,
            "empty": empty,
            "fold_case": fold_case,
            "constants": constants,
            "header": header,
            "delimiter": delimiter,
            "quote": quote,
            "bins": bins,
            "bins_from": bins_from,
        }
        found: Model | dict[str, dict[str, int]] | int | list[str] | None = loading.load(
            self._session, predicate, source, mode, options, local or {}, numeric
        )
        return found

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
        >>> db.advanced.bind(model).predicates["Likes"].atom_count
        1
        """
        with self._session.console.progress(f"setting the scope of {predicate}"):
            self._session.catalog.scope(predicate, source)

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
        with self._session.verb(), self._session.console.progress("loading what changed"):
            return self._session.catalog.refresh(run_queries=run_queries)

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
        with self._session.console.progress("defining"):
            define(self._session.catalog.store, rules)

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
        with self._session.engine.turn:
            self._session.catalog.store.forget()
            return self._session.engine.relation(query)

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
            Skip statements that have finished: with the same text and variables, on the same inputs, if what they left is as it was, or as
            later statements left it. No change is made twice: a statement that can be neither skipped nor repeated is an error.
            `sqlrl.script_log` lists the statements.

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

    def tables(self) -> Table:
        """Return what is loaded: a row for each predicate.

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
        >>> db.tables()["predicate"], db.tables()["facts"]
        (['Smokes(person)'], [2])
        """
        return Table(self._session.catalog.table(), title="predicates")

    # ---- dividing ------------------------------------------------------------------------------------------

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
            self._session,
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
            self._session,
            target,
            folds=folds,
            train=train,
            test=test,
            near=near,
            model=model,
            random_state=random_state,
        )

    # ---- predicting ----------------------------------------------------------------------------------------

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
        missing: MissingAtoms = ...,
        keep: bool = ...,
        roles: Roles | None = ...,
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
        solution: str | Path | OutsideSolution | None = ...,
        limit: int | None = ...,
        deterministic_limit: float | None = ...,
        random_state: int = ...,
        margins: bool = ...,
        prepared: bool | None = ...,
        keep: bool = ...,
        roles: Roles | None = ...,
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
        solution: str | Path | OutsideSolution | None = ...,
        limit: int | None = ...,
        deterministic_limit: float | None = ...,
        random_state: int = ...,
        margins: bool = ...,
        prepared: bool | None = ...,
        keep: bool = ...,
        roles: Roles | None = ...,
    ) -> Prediction: ...

    @takes_old_arguments
    def predict(
        self,
        model: Model | SoftModel,
        *,
        semantics: Literal["soft", "boolean"] | None = None,
        examples: Any = None,
        into: str | None = None,
        replace: bool = False,
        method: WorldMethod = "auto",
        solution: str | Path | OutsideSolution | None = None,
        limit: int | None = GROUNDING_LIMIT,
        deterministic_limit: float | None = None,
        random_state: int = 0,
        margins: bool = False,
        prepared: bool | None = None,
        keep: bool = False,
        options: HingeOptions | None = None,
        observed_bodies: bool = False,
        missing: MissingAtoms = "error",
        roles: Roles | None = None,
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
            candidate pairs, are cut, after counts that ground nothing (`sqlrl.solve.cutting_plane_worlds.NetworkEstimate`).
        solution : path or OutsideSolution, optional
            Take the world from what an outside solver answered about a file that `export` wrote, with the same `examples` and `roles`.
        limit : int or None
            The most ground clauses of one shape in a window, which is one example at least; of "cutting-plane": that a round may
            return. Also the most groundings that counting may enumerate, which "cutting-plane" and `keep` do where many positive
            literals of a clause share variables.
        deterministic_limit : float, optional
            CP-SAT's limit for each connected component, in its deterministic seconds.
        random_state : int
        margins : bool
            Find how much the score of the best world falls when each atom must have the other value, where elimination can
            (`atoms(every=True)` has it); not by "cutting-plane", which grounds too little for that.
        prepared : bool, optional
            Whether up to 64 examples, a list of names, are grounded by statements that were rendered once: by default from the second prediction with one
            `Model` object on, as long as the data stay as they are; with True from the first on (`prepare`), with False never. The
            world is the same.
        keep : bool
            Keep the true atoms in `sqlrl.prediction` and exact counts of every clause in `sqlrl.clause_statistics`. If every
            predicted atom has a label, `evaluate` adds the counts of the observed world; it also fills the views `sqlrl.confusion`,
            `sqlrl.clause_support` and `sqlrl.worst_predicted_examples`. Of a soft model: keep its truth values in
            `sqlrl.truth_value`, the distances of every rule in `sqlrl.rule_distance` (`evaluate` adds those at the labels), and
            objective and bound in `sqlrl.optimum`.
        options : HingeOptions, optional
            Of a soft model: how far and by what method its truth values are sought. `method`, `deterministic_limit` and `random_state` are of
            Markov logic networks alone.
        observed_bodies : bool
            Of a soft model: whether bodies of logical rules read what is observed of the open predicates alone, as where `SoftStructure` learned
            them; their query atoms are 0 there.
        missing : {"error", "open", "false"}
            Of a soft model: what an atom of a predicate with a scope is that logical rules reach and that is neither observed nor in the scope.
            "error" stops and names the first, as PSL does. "open" infers it as well, and what rules reach from it; in all examples. "false"
            takes it as 0, which earlier versions did.
        roles : Roles, optional
            What predicates are taken for: left out, predicted, hidden or empty.

        Returns
        -------
        Prediction or SoftPrediction

        Raises
        ------
        InputError
            A rule has no weight; or the table cannot be created, which is noticed before anything is solved. Of a solution: the file is damaged
            or belongs to another network, or its world violates a hard clause.
        GroundingLimitError
            Names the clause, where it stands, and the number of groundings.
        MissingAtomError
            Of a soft model: rules reach atoms that are neither observed nor in the scope of their predicate.
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
        >>> import tempfile
        >>> model = sqlrl.parse_mln("Friends(person, person)\nSmokes(person)\n" + rule)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = Path(folder, "answer").write_text("s OPTIMUM FOUND\nv 1 2 0\n")
        ...     db.predict(model, solution=Path(folder, "answer")).table()["person"]
        ['Bob', 'Chris']
        """
        from sqlrl.database import predictions
        from sqlrl.database.inference import Destination, read_as
        from sqlrl.database.soft_predictions import predict_soft, refuse_options

        destination, held = Destination(into, replace, keep), roles or NONE
        read = read_as(self._session, model, semantics)
        of_worlds = {
            "method": method, "deterministic_limit": deterministic_limit, "random_state": random_state, "margins": margins,
            "prepared": prepared,
        }  # fmt: skip
        if isinstance(read, SoftModel):
            refuse_options(**of_worlds, solution=solution)
            asked = Query(Model({}), examples, held, limit)
            return predict_soft(
                self._session, read, asked, destination, options, observed_bodies=observed_bodies, missing=missing
            )
        if options is not None or observed_bodies or missing != "error":
            raise InputError(
                f"{Phrase('options=, ')}{Parameter('observed_bodies')} and {Parameter('missing')} are of soft models: a Markov logic network takes "
                f"{Parameter('method')}, {Parameter('deterministic_limit')} and {Parameter('random_state')}; atoms outside of a scope are false there"
            )
        asked = Query(read, examples, held, limit)
        if solution is not None:
            predictions.refuse_search(**of_worlds)
            return predictions.read_solution(self._session, asked, destination, solution)
        return predictions.predict(
            self._session, asked, destination,
            method=method, deterministic_limit=deterministic_limit, seed=random_state, margins=margins,
            prepared=prepared,
        )  # fmt: skip

    def prepare(self, model: Model, *, roles: Roles | None = None) -> None:
        r"""Render the statements that predict a few examples with a model, before the first prediction.

        A prediction with one `Model` object runs as many statements as the model has shapes with open literals, and three more; from
        the second on they are not rendered again, after `prepare` from the first on. Nothing is created in the database by them. Changed
        data are noticed as always, and the next prediction prepares again. The model that was used last is prepared.

        Parameters
        ----------
        model : Model
            With weights, without templates that grow with the examples.
        roles : Roles, optional
            As in `predict`.

        Raises
        ------
        InputError
            The model cannot be prepared; says why.

        Examples
        --------
        >>> import sqlrl
        >>> db = sqlrl.connect()
        >>> db.load("Rainy", [("May 1",), ("May 3",)], types=["day"], example="day")
        >>> db.load("Indoors", [("May 1",)], types=["day"], target=True)
        >>> model = sqlrl.parse_mln("Rainy(day)\nIndoors(day)\n1 Rainy(d) => Indoors(d)")
        >>> db.prepare(model)
        >>> db.predict(model, examples=["May 3"]).table()["day"]
        ['May 3']
        """
        from sqlrl.database.predictions import prepare

        prepare(self._session, Query(model, None, roles or NONE))

    def probabilities(
        self,
        model: Model | SoftModel,
        *,
        semantics: Literal["boolean"] | None = None,
        examples: Any = None,
        method: MarginalMethod = "auto",
        samples: int = 1000,
        burn_in: int = 100,
        chains: int = 4,
        random_state: int = 0,
        time_limit: float | None = None,
        into: str | None = None,
        samples_into: str | None = None,
        means_into: str | None = None,
        replace: bool = False,
        limit: int | None = GROUNDING_LIMIT,
        keep: bool = False,
        roles: Roles | None = None,
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
        samples, burn_in, chains : int
            Samples of each chain, after those it forgets.
        random_state : int
            The seed.
        time_limit : float, optional
            Seconds of wall time after which the answer should be there: with what fewer samples tell, its errors, and a warning that
            says how many they were; the same `random_state` may give other numbers then. Grounding is not cut short.
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
        roles : Roles, optional
            What predicates are taken for: left out, predicted, hidden or empty.

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
        >>> found = db.probabilities(sqlrl.parse_mln("Friends(person, person)\nSmokes(person)\n" + rule))
        >>> found.table()["probability"]
        [0.650245, 0.650245]
        """
        from sqlrl.database import marginals
        from sqlrl.database.inference import Destination, read_as

        read = read_as(self._session, model, semantics)
        if isinstance(read, SoftModel):
            raise InputError(
                "truth values of a soft model have no probabilities of being true: ask for those of its Boolean reading, semantics='boolean', or for the "
                "values themselves, predict()"
            )
        return marginals.marginals(
            self._session, Query(read, examples, roles or NONE, limit), Destination(into, replace, keep),
            method=method, samples=samples, burn_in=burn_in, chains=chains, seed=random_state, time_limit=time_limit,
            samples_into=samples_into, means_into=means_into,
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
        >>> print(db.evaluate(db.probabilities(rules)))
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
        with self._session.verb():
            prediction.check_current(self._session.engine)
            return prediction.evaluate(outside=outside, bins=bins, threshold=threshold)

    # ---- counting and diagnosing ---------------------------------------------------------------------------

    @takes_old_arguments
    def count(
        self,
        model: Model | str | None = None,
        *,
        formula: str | None = None,
        by: str | Iterable[str] | None = None,
        groups: Literal["all", "violated", "true"] = "all",
        most_groups: int | None = MOST_GROUPS,
        world: Any = "observed",
        against: Any = None,
        expected: bool = False,
        keep: bool = False,
        examples: Any = None,
        limit: int | None = GROUNDING_LIMIT,
        roles: Roles | None = None,
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
        against : as `world`, optional
            Count the difference: n in the world minus n in this one, touching only groundings of atoms that differ.
        expected : bool
            Find the expected count E[n] of every clause given the evidence, exactly, beside its count in the observed world; the model needs weights.
        keep : bool
            Keep expected counts in `sqlrl.clause_statistics`, for the view `sqlrl.count_differences`.
        examples : list of names, query, relation or frame, optional
            By default those of a prediction that is a world, else all.
        limit : int or None
            The most groundings that counting may enumerate, which it does where many positive literals of a clause share variables, and
            for variables of `by` that no one literal has (the ends of a path). Of `expected`: the most ground clauses of one shape in a window.
        roles : Roles, optional
            What predicates are taken for: left out, predicted, hidden or empty.

        Returns
        -------
        Table
            Columns `clause`, `text`, `n`, `groundings`, `applies`, `weight`; the counts are exact integers. `applies` are the groundings whose body holds, of a clause that
            is an implication as written, and NULL of others; atoms without a label are false here, and no cases of `diagnose`. With `by` a column for each variable, with
            the names of constants, `clause`, `groundings`, `n`, `violated`, `applies`, by clause and then by the order of constants in the data. A
            variable with the name of another column has `_` behind it. With `against`: `clause`, `text`, `delta_n`, `weight`. With `expected`:
            `clause`, `text`, `n_observed`, `n_expected`, `difference` (observed minus expected), `groundings`, `weight`; labels are read for
            `n_observed` alone, which is NULL, as the difference is, if a query atom has no label.

        Raises
        ------
        InputError
            The world has rows that are no query atoms, query atoms have no label, the prediction is of other examples, or no clause has the
            variables of `by`; or options do not go together. Of `expected`: a rule has no weight, or a component of the ground network is too wide for exact
            sums, and its worlds are too many to be enumerated: nothing is estimated.
        InfeasibleError
            Of `expected`: hard clauses cannot all hold.
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

        Expected counts are the means of n over all worlds, each as probable as the weights say: exact as `probabilities(method="exact")`, in floats. Where one differs from the
        observed count, the model and the labels disagree: the difference is the gradient of the log-likelihood of the labels by the weight.

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
        x     clause  groundings  n  violated  applies
        ----  ------  ----------  -  --------  -------
        Anna       0           3  2         1        1
        >>> db.count("Friends(x, y) ^ Friends(y, z)", by=["x", "z"], groups="true")
        n of 1 clause by x and z in the observed world, groups with a true grounding
        x     z      clause  groundings  n  violated  applies
        ----  -----  ------  ----------  -  --------  -------
        Anna  Chris       0           3  1         2     NULL
        >>> anna, nobody = "select 'Anna' as person", "select 'Anna' as person where false"
        >>> db.count(model, world=anna, against=nobody)["delta_n"]
        [-1]
        >>> [round(n, 3) for n in db.count(model, expected=True)["n_expected"]]
        [8.731]
        """
        from sqlrl.database import counting

        if formula is None and not expected and against is None and counting.is_formula(model):
            model, formula = None, model
        counting.check_forms(
            formula=formula, by=by, groups=groups, world=world, against=against, expected=expected, keep=keep
        )
        whole: Any = model if formula is None else counting.formula_model(self._session, formula, model, world)
        asked = Query(whole, examples, roles or NONE, limit)
        if expected:
            return counting.expected_counts(self._session, asked, keep=keep)
        if against is not None:
            return counting.count_difference(self._session, asked, world, against)
        if by is not None:
            return counting.count_groups(self._session, asked, world, by, groups, most_groups, formula)
        return counting.count(self._session, asked, world, formula=formula is not None)

    @overload
    def diagnose(
        self,
        model: Model | str | Path | Sequence[str],
        *,
        kind: Literal["quality"] = ...,
        examples: Any = ...,
        limit: int | None = ...,
        roles: Roles | None = ...,
    ) -> RuleQuality: ...

    @overload
    def diagnose(
        self,
        model: Model,
        *,
        kind: Literal["paper"],
        examples: Any = ...,
        threshold: float = ...,
        samples: int = ...,
        burn_in: int = ...,
        chains: int = ...,
        random_state: int | None = ...,
        shown: int = ...,
        limit: int | None = ...,
    ) -> Diagnosis: ...

    @overload
    def diagnose(
        self,
        model: Model,
        *,
        kind: Literal["overlap"],
        examples: Any = ...,
        limit: int | None = ...,
        roles: Roles | None = ...,
    ) -> Table: ...

    @overload
    def diagnose(
        self,
        model: Model,
        *,
        kind: Literal["costs"],
        examples: Any = ...,
        growth: float = ...,
        density: float = ...,
        limit: int | None = ...,
        roles: Roles | None = ...,
    ) -> Table: ...

    @takes_old_arguments
    def diagnose(
        self,
        model: Model | str | Path | Sequence[str],
        *,
        kind: Literal["quality", "paper", "overlap", "costs"] = "quality",
        examples: Any = None,
        threshold: float = 0.1,
        samples: int = 100,
        burn_in: int = 20,
        chains: int = 4,
        random_state: int | None = None,
        shown: int = 3,
        growth: float = GROWTH,
        density: float = DENSITY,
        limit: int | None = GROUNDING_LIMIT,
        roles: Roles | None = None,
    ) -> RuleQuality | Diagnosis | Table:
        r"""Tell how good rules are on the data: how often each applies, how often it is violated there, and how that compares with chance.

        Rules may come from anywhere: a model, a file, or a text such as a handbook's or a language model's list. They need no weights. A rule that does not parse, or
        that mentions predicates without data, is listed with its problem, and the others are judged. Labels count as facts.

        Parameters
        ----------
        model : Model, str, Path or list of str
            Of kind "quality" also the path of a file, a text with a rule a line, or a list of such texts; predicates that it does not declare are those of the data. A number or
            bullet before a rule (`1.`, `-`) is skipped, which the verdict says.
        kind : {"quality", "paper", "overlap", "costs"}
            "quality": a row for each rule, the worst first. "paper": which rules are too general or too specific, by the share of all groundings (also those whose body is
            false), as `sqlrl.Transfer` marks them. "overlap": the pairs of clauses that share ground clauses on the data, so that they say the same of the same atoms. A
            ground clause is the set of
            its literals over query atoms, as the evidence leaves it open; with a single literal it is its atom, whichever sign it has. "costs": what each
            hard clause costs, and which are inexpensive: factors times degree linear in the nodes. The last two read no label and no weight.
        examples : list of names, query, relation or frame, optional
            All by default.
        threshold : float
            Of "paper": the share of the groundings above which a rule is marked, above 0 and below 1.
        samples, burn_in, chains : int
            Of "paper": of the sampling, where a rule has several literals of a predicate.
        random_state : int, optional
            Of "paper": its seed; None is 0.
        shown : int
            Of "paper": how many groundings are kept for each reason to mark a rule.
        growth : float
            Of "costs": the largest exponent of growth that counts as linear: a chain has 1, all pairs have 2.
        density : float
            Of "costs": the most factors for each node where examples do not differ in size: a chain has 1, a grid 2.
        limit : int, optional
            The most groundings that counting a rule may enumerate, or ground clauses of one shape.
        roles : Roles, optional
            What predicates are taken for; not of "paper".

        Returns
        -------
        RuleQuality, Diagnosis or Table
            Of "quality" a `RuleQuality`, which prints a verdict on each rule. Its `table`, which the view `sqlrl.rule_quality` has, too, has for each rule `applies` (bindings of
            the variables of body and head that satisfy the body; where some atoms have no label those of whose head it is known whether it holds), `violations`, `confidence` (the share of `applies` that is no violation) with its Wilson interval of 95 %
            (`confidence_low`, `confidence_high`; cases with the same head are one draw), `base_rate` (the share of the bindings of the head alone that satisfy it), `lift` (confidence / base rate), `pca_confidence`
            (over those bindings alone of whose head's other arguments some fact is known; where the predicate of the head is to be predicted and has several arguments),
            `weight`, `verdict`, `violating_sql` (a query that lists the violations), `implied_by`, `contradicts` (numbers of other rules) and `problem`. Body and head are those
            of an implication as it is written; other formulas have violations alone.

            Of "paper" a `Diagnosis`, which prints the rules that are marked; `found` and `groundings` are tables, which `sqlrl.diagnosis` and `sqlrl.diagnosis_grounding` keep.
            Of "overlap" the columns `first`, `second` (clauses), `shared` (distinct ground clauses that both have), `first_ground`, `second_ground`,
            `shared_atoms`, `first_atoms`, `second_atoms` (query atoms that they mention), which `sqlrl.clause_overlap` has, too. Of "costs" a row for each
            hard clause: `rule` (from 0), `clause` (text), `examples` (in which it leaves something open), `nodes`, `factors`, `degree`, `growth` (NULL where
            examples do not differ in size by a factor of 2), `inexpensive`, and `counted`: "exact"; "at most" where ground clauses with the same literals are
            too many to be compared; "block" for mutual exclusion, which makes its atoms one variable and costs nothing.

        Raises
        ------
        InputError
            An option is of another kind; of other kinds than "quality": the model has no rules, a predicate has no data, the threshold is no share, or a rule that is sampled has no
            weight; clauses share ground clauses too often to be counted.
        UnsupportedError
            Of "paper": a rule has quantifiers inside, is a template, or has several literals of a predicate that belongs to no example though the data are several.

        Notes
        -----
        Sources: Wilson (1927) for the interval; Galárraga, Teflioudi, Hose and Suchanek, "AMIE: association rule mining under incomplete evidence" (2013) for the PCA confidence, of
        which the argument that the others determine best is taken as the one that may be unknown; Plotkin (1970) for `implied_by`, which is subsumption. Huynh (2011), section 7.2,
        for "costs" (`sqlrl.ground.factors` says what counts as linear); Mihalkova and Mooney, "Transfer learning with Markov logic networks" (2006), section 3.1, for "paper"; what
        it leaves open is in `sqlrl.structure.diagnosis.bins`.

        Examples
        --------
        >>> import sqlrl
        >>> db = sqlrl.connect()
        >>> db.load("Bird", [("tweety",), ("pingu",), ("polly",)], types=["animal"])
        >>> db.load("Penguin", [("pingu",)], types=["animal"])
        >>> db.load("Flies", [("tweety",), ("polly",)], types=["animal"])
        >>> found = db.diagnose("Penguin(x) => Bird(x).\nPenguin(x) => Flies(x).\nPenguin(x) => Swims(x)")
        >>> print(found)
        Penguin(x) => Flies(x).: hard, but violated in 1 of 1 case where it applies (100 %); of all 3 animals 67 % satisfy Flies(x); no better than chance
        Penguin(x) => Bird(x).: holds in the 1 case where it applies; of all 3 animals 100 % satisfy Bird(x)
        Penguin(x) => Swims(x): not counted: unknown predicate 'Swims'; there are Bird, Flies, Penguin
        >>> db.sql(found.table["violating_sql"][0]).fetchall()
        [('pingu',)]
        >>> marked = db.diagnose(sqlrl.parse_mln("Bird(animal)\nFlies(animal)\n1 Bird(x) => Flies(x)"), kind="paper")
        >>> print(marked)
        Bird(x) => Flies(x): of Bird and Flies too general (33 % against the truth)
        >>> db.load("Wings", [("tweety",), ("bat",)], types=["animal"])
        >>> rules = "Bird(x) => Swims(x)\nWings(x) => Swims(x)\nSwims(x) ^ Swims(y) => x = y."
        >>> model = sqlrl.parse_mln("Bird(animal)\nWings(animal)\nSwims(animal)\n" + rules, query=["Swims"])
        >>> [(row["shared"], row["first_ground"], row["second_ground"]) for row in db.diagnose(model, kind="overlap")]
        [(1, 3, 2)]
        >>> costs = db.diagnose(model, kind="costs")
        >>> costs["nodes"], costs["factors"], costs["inexpensive"]
        ([4], [0], [True])
        """
        from sqlrl.database import diagnosis

        return diagnosis.diagnosed(
            self._session, Query(model, examples, roles or NONE, limit), kind,  # type: ignore[arg-type]
            {
                "threshold": threshold, "samples": samples, "burn_in": burn_in, "chains": chains, "random_state": random_state,
                "shown": shown, "growth": growth, "density": density,
            },
        )  # fmt: skip

    # ---- exporting -----------------------------------------------------------------------------------------

    @overload
    def export(
        self,
        model: Model,
        path: str | Path | None = ...,
        *,
        format: Literal["sql"],
        dialect: str | None = ...,
        options: SQLOptions | None = ...,
        limit: int | None = ...,
        roles: Roles | None = ...,
    ) -> ExportedSQL: ...

    @overload
    def export(
        self,
        model: Model,
        path: str | Path,
        *,
        format: NetworkFormat | None = ...,
        dialect: str | None = ...,
        examples: Any = ...,
        limit: int | None = ...,
        roles: Roles | None = ...,
    ) -> Exported: ...

    @takes_old_arguments
    def export(
        self,
        model: Model,
        path: str | Path | None = None,
        *,
        format: NetworkFormat | Literal["sql"] | None = None,
        dialect: str | None = None,
        options: SQLOptions | None = None,
        examples: Any = None,
        limit: int | None = GROUNDING_LIMIT,
        roles: Roles | None = None,
    ) -> Exported | ExportedSQL:
        r"""Write a model for others: its ground network for a solver, or a view in SQL. Labels are never read.

        A table beside a network, with the ending `.atoms.tsv`, lists the atom of each variable; `predict(solution=...)` makes a
        prediction of what a solver answers. A view over your own tables gives each atom of a target its log-odds and probability: in
        PostgreSQL, SQLite, Spark or DuckDB it needs nothing of sqlrl, and holds for rows that come later. `SQLOptions` says what it can tell.

        Parameters
        ----------
        model : Model
            With weights.
        path : str or Path, optional
            The file; a view need not be written to one.
        format : {"wcnf", "lp", "uai", "parquet", "sql"}, optional
            Weighted partial MaxSAT, an integer program in CPLEX LP format, a Markov network, or a table of ground clauses; by default the
            ending of the path. WCNF rounds weights to integers, LP is exact, UAI rounds exp(weight); each file says how much is lost.
            Parquet is written as the ground clauses are made, so that no memory holds them; `limit` says nothing there.
        dialect : str, optional
            Of WCNF "classic" (the default), with a line `p wcnf`, or "2022", as in the MaxSAT Evaluations from 2022 on. Of SQL "duckdb" (the
            default), "postgres", "spark" or "sqlite".
        options : SQLOptions, optional
            Of SQL: of which target the view is, and how your tables and their columns are called.
        examples : list of names, query, relation or frame, optional
        limit, roles
            As in `predict`. The limit of SQL is about a model with hard rules, which is grounded to see that they can be satisfied.

        Returns
        -------
        Exported or ExportedSQL
            The statement of a view prints as it is, `text` has it, and `write(path)` writes it to a file.

        Raises
        ------
        InputError
            A rule has no weight; the path's ending names no format; the file cannot be written; an option is of another format, or a target,
            predicate, column or table of a view is none.
        UnsupportedError
            Of SQL: rules join several atoms to predict, which the error lists; there is soft evidence; more than 10,000 constants of a type stand in
            labels alone.
        InfeasibleError
            Of SQL: hard rules contradict each other on the data that are loaded. Where they do on later rows, the view has NULL.
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
        >>> _ = db.sql("create table pals as from (values ('Anna', 'Bob'), ('Bob', 'Chris')) t(person, friend)")
        >>> db.load("Friends", "pals", types=["person", "person"])
        >>> rules = "Friends(person, person)\nSmokes(person)\n1.5 Friends(x, y) => Smokes(y)\n-0.7 Smokes(x)"
        >>> model = sqlrl.parse_mln(rules, query=["Smokes"])
        >>> view = db.export(model, format="sql", options=sqlrl.SQLOptions(tables={"Friends": "pals"}))
        >>> _ = db.sql(view.text)
        >>> db.sql("select person, round(probability, 4) from smokes_scores order by person").fetchall()
        [('Anna', 0.3318), ('Bob', 0.69), ('Chris', 0.69)]
        >>> _ = db.sql("insert into pals values ('Chris', 'Dan')")
        >>> db.sql("select round(probability, 4) from smokes_scores where person = 'Dan'").fetchall()
        [(0.69,)]
        """
        asked = Query(model, examples, roles or NONE, limit)
        if format == "sql":
            from sqlrl.database.model_sql import export_sql

            return export_sql(self._session, asked, path, dialect, options)
        from sqlrl.database import exports

        return exports.export(self._session, asked, path, format=format, dialect=dialect, options=options)

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
        ...         return mine.predict(model, random_state=number).table()["person"]
        >>> with ThreadPoolExecutor(2) as pool:
        ...     list(pool.map(predict, range(2)))
        [['Bob', 'Chris'], ['Bob', 'Chris']]
        """
        engine = self._session.engine.cursor()
        try:
            return Database(Catalog(engine, follow, atom_limit=self._session.catalog.atom_limit), spark=self._spark)
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
        session = self._session
        with session.engine.turn:
            try:
                if not session.engine.closed:
                    self._drop_kept()
                    session.catalog.store.close()
            finally:
                # The file must not stay locked, whatever could not be dropped.
                try:
                    if session.plans is not session.engine:
                        session.plans.close()
                finally:
                    session.engine.close()

    def _drop_kept(self) -> None:
        """Drop the tables of the program that is kept; not in a transaction of the user's, with which they might come back."""
        try:
            self._session.engine.check_ready()
        except InputError:
            self._session.kept_program.forget()
        else:
            self._session.kept_program.close()

    def __setattr__(self, name: str, value: object) -> None:
        if name == "console":
            set_old(self, name, value)
        else:
            super().__setattr__(name, value)

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
        engine = self._session.engine
        if engine.closed:
            return f"{type(self).__name__}({engine.path!r}), closed"
        # Where a user's own schema or database is called sqlrl, ours is not.
        schema = "" if engine.schema == "sqlrl" else f", tables and views in the schema {engine.schema}"
        return f"{type(self).__name__}({engine.path!r}){schema}\n{self.tables()!r}"

    def _repr_html_(self) -> str:
        head = markup.paragraph(repr(self).split("\n", maxsplit=1)[0])
        return head if self._session.engine.closed else head + self.tables()._repr_html_()
