"""Options that several commands share, what shells complete of them, and groups of options that commands name once."""

from __future__ import annotations

import inspect
import os
import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from sqlrl.paths import expanded, is_file

if TYPE_CHECKING:
    from sqlrl.engine.spark.server import Spark


# ---- completion ---------------------------------------------------------------------------------------

_RUNS = "select run::varchar, learner || ', ' || status from sqlrl.run"


def predicates(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return the predicates that may stand here; the last part of a list with commas is completed."""
    before, comma, _ = incomplete.rpartition(",")
    given = set(before.split(","))
    names = [name for (name,) in _answered(ctx, "select predicate from sqlrl.predicate order by predicate")]
    return [f"{before}{comma}{name}" for name in names if name not in given]


def runs(ctx: typer.Context) -> list[tuple[str, str]]:
    """Return the numbers of the runs, each with what it was."""
    return _answered(ctx, f"{_RUNS} order by run")


def unfinished_runs(ctx: typer.Context) -> list[tuple[str, str]]:
    """Return the numbers of the runs with which one can go on: those that did not come to their end."""
    return _answered(ctx, f"{_RUNS} where status <> 'done' order by run")


def _answered(ctx: typer.Context, query: str) -> list[Any]:
    """Return what the first database of the command line answers; nothing if there is none that can be read now."""
    for path in _paths(ctx):
        try:
            if not is_database(path):
                continue
            from sqlrl.engine.connection import connect

            # Nothing is created, migrated or locked for a completion, and a stranger may have made the file.
            engine = connect(path, read_only=True, trusted=False)
            try:
                found = engine.rows_of(query)
            finally:
                engine.close()
        except Exception:  # noqa: BLE001 - whatever fails, a shell has nothing to complete, and no place for a message
            return []
        return [] if found is None else [tuple(row.values()) for row in found.to_pylist()]
    return []


def _paths(ctx: typer.Context) -> Iterator[Path]:
    """Yield what may be the database: arguments, the value of --db, SQLRL_DB."""
    given = [*ctx.params.values(), *_words(), os.environ.get("SQLRL_DB")]
    yield from (expanded(Path(value)) for value in given if isinstance(value, str | Path) and str(value))


def _words() -> list[str]:
    """Return the words of the line so far: an option that lacks its value ends what the parser takes apart."""
    line = os.environ.get("_TYPER_COMPLETE_ARGS") or os.environ.get("COMP_WORDS") or ""
    try:
        return shlex.split(line)
    except ValueError:  # a quotation that is open
        return line.split()


def is_database(path: Path) -> bool:
    """Return True if a file is one of DuckDB's, by what it begins with."""
    if not is_file(path):
        return False
    with path.open("rb") as content:
        return content.read(12)[8:] == b"DUCK"


# ---- options ------------------------------------------------------------------------------------------

FLAG = ""
"""What the help shows as the value of an option that has none."""

DATA, _OUTPUT = "Data", "Output"


def option(
    name: str,
    metavar: str | None,
    text: str,
    *short: str,
    panel: str | None = None,
    least: int | float | None = None,
    complete: Callable[..., Any] | None = None,
    env: str | None = None,
) -> Any:
    """Return an option without a default value that the help could show."""
    return typer.Option(
        name, *short, metavar=metavar, help=text, rich_help_panel=panel, min=least, autocompletion=complete, envvar=env, show_default=False
    )  # fmt: skip


def argument(metavar: str, text: str, *, complete: Callable[..., Any] | None = None) -> Any:
    """Return an argument that may be left out."""
    return typer.Argument(metavar=metavar, help=text, autocompletion=complete, show_default=False)


def flag(name: str, text: str, *short: str, panel: str | None = None) -> Any:
    """Return an option without a value."""
    return typer.Option(name, *short, metavar=FLAG, help=text, rich_help_panel=panel)


DatabaseFirst = Annotated[str | None, argument("DATABASE", "The DuckDB file.")]
"""The database as the first of several arguments, which `with_database` splits."""
Database = Annotated[Path | None, argument("DATABASE", "The DuckDB file.")]
Db = Annotated[Path | None, option("--db", "FILE", "The DuckDB file, if no argument names it.", env="SQLRL_DB")]
ReadOnly = Annotated[bool, flag("--read-only", "Open the file for reading; several processes can.")]
Untrusted = Annotated[
    bool,
    flag(
        "--untrusted",
        "Files of a stranger: SQL and models reach nothing beside them, and no query that they keep is run.",
        panel=DATA,
    ),
]
ModelFile = Annotated[
    str, typer.Option("--model", "-m", metavar="FILE", help="The model, .mln or .json; - is standard input.")
]
Evidence = Annotated[
    list[str] | None,
    option(
        "--evidence",
        "FILES",
        "Alchemy .db files instead of a database, with commas or repeated; - is standard input.",
        "-e",
        panel=DATA,
    ),
]
Query = Annotated[
    list[str] | None,
    option("--query", "NAMES", "Predicates to predict, with commas or repeated.", complete=predicates, panel=DATA),
]
Drop = Annotated[
    list[str] | None,
    option(
        "--drop",
        "NAMES",
        "Predicates without data, with commas or repeated; rules that mention them are left out.",
        complete=predicates,
        panel=DATA,
    ),
]
Closed = Annotated[
    list[str] | None,
    option(
        "--closed",
        "NAMES",
        "Predicates without facts that are false, with commas or repeated.",
        "-cw",
        complete=predicates,
        panel=DATA,
    ),
]
Open = Annotated[
    list[str] | None,
    option(
        "--open",
        "NAMES",
        "Predicates whose unknown atoms are inferred, and not printed, with commas or repeated.",
        "-ow",
        complete=predicates,
        panel=DATA,
    ),
]
Examples = Annotated[
    str | None,
    option(
        "--examples",
        "QUERY",
        "The examples: a query, a table, a CSV file with a header or a Parquet file, a text file with a name on each line, or - for standard input.",
        panel=DATA,
    ),
]
DataFile = Annotated[
    Path | None, option("--data", "FILE", "The .data file that belongs to a rule file of soft logic.", panel=DATA)
]
Limit = Annotated[
    int, typer.Option("--limit", metavar="N", min=1, help="The most ground clauses of one shape.", rich_help_panel=DATA)
]
AtomLimit = Annotated[
    int | None,
    typer.Option(
        "--atom-limit",
        metavar="N",
        min=1,
        help="The most query atoms, helper atoms included; more are refused before they are made.",
        show_default="20000000",
        rich_help_panel=DATA,
    ),
]
MemoryLimit = Annotated[
    str | None,
    option(
        "--memory-limit",
        "SIZE",
        "The memory of the whole process, such as 4GB; what would take more is refused before it is grounded.",
        panel=DATA,
    ),
]
SHOWN = 20
"""Rows of a table that are shown on a terminal, where nobody says how many."""


def _rows(default: str | bool) -> Any:
    """Return the option that says how many rows of a table are shown; its help states the default."""
    return typer.Option(
        "--rows",
        "-n",
        metavar="N",
        min=0,
        help="Rows of a table that are shown.",
        rich_help_panel=_OUTPUT,
        show_default=default,
    )


Rows = Annotated[int | None, _rows(f"{SHOWN} on a terminal, else all")]
FewRows = Annotated[int, _rows(True)]
Json = Annotated[bool, flag("--json", "Print the result as JSON rows, all of them.", panel=_OUTPUT)]
Verbose = Annotated[
    int,
    typer.Option(
        "--verbose",
        "-v",
        metavar=FLAG,
        count=True,
        help="Log to standard error; -vv with the SQL.",
        rich_help_panel=_OUTPUT,
        show_default=False,
    ),
]
Quiet = Annotated[bool, flag("--quiet", "Neither progress nor messages.", "-q", panel=_OUTPUT)]


@dataclass(frozen=True)
class Messages:
    """The options of every command that prints: how results and messages look."""

    as_json: Json = False
    verbose: Verbose = 0  # 0: warnings, 1: also the log, 2: also every SQL statement
    quiet: Quiet = False  # no progress, messages or warnings


@dataclass(frozen=True)
class Output(Messages):
    """`Messages`, and how much of a table is shown."""

    rows: Rows = None  # None: some on a terminal, else all; JSON always has all rows


@dataclass(frozen=True)
class Summary(Messages):
    """`Messages`, and how many rows of tables are shown that say the most in the first of them."""

    rows: FewRows = 10


def split_names(values: Sequence[str] | None) -> tuple[str, ...]:
    """Return names from options that are repeated, hold commas, or both."""
    return tuple(name for value in values or () for part in value.split(",") if (name := part.strip()))


def named_database(named: Path | None, db: Path | None) -> Path:
    """Return the database that the argument names, else that of `--db` or SQLRL_DB."""
    found = named or db
    if found is None:
        raise typer.BadParameter("name the database: as the first argument, with --db FILE, or in SQLRL_DB")
    return found


def with_database(arguments: Sequence[str | None], db: Path | None, names: str) -> tuple[Path, list[str]]:
    """Return the database and the other arguments, called `names`; the database is the first argument, else that of `--db`."""
    given = [each for each in arguments if each is not None]
    own = len(names.split())
    if len(given) == own + 1:
        return Path(given[0]), given[1:]
    if len(given) == own and db is not None:
        return db, given
    wanted = f"DATABASE {names}".rstrip()
    if len(given) <= own:
        beside = f" {db}" if db is not None else "; the database can also stand in --db FILE or SQLRL_DB"
        found = f" beside the database{beside}" if db is not None else beside
        raise typer.BadParameter(f"expected {wanted}, found {' '.join(given) or 'nothing'}{found}")
    raise typer.BadParameter(f"expected {wanted}, found {' '.join(given)}")


# ---- how a database is opened -------------------------------------------------------------------------

SparkAddress = Annotated[
    str | None,
    option(
        "--spark",
        "ADDRESS",
        "A server of Spark Connect that counts and grounds, sc://host:port.",
        env="SQLRL_SPARK",
        panel=DATA,
    ),
]
SparkStorage = Annotated[
    str | None,
    option(
        "--spark-storage",
        "FOLDER",
        "A folder or address that the server can write, where tables of more than 65,536 rows are kept.",
        env="SQLRL_SPARK_STORAGE",
        panel=DATA,
    ),
]
SparkTimeout = Annotated[
    float | None,
    option(
        "--spark-timeout",
        "SECONDS",
        "How long that server may answer nothing, not even a greeting: 120 seconds if this is left out.",
        env="SQLRL_SPARK_TIMEOUT",
        panel=DATA,
    ),
]


@dataclass(frozen=True, kw_only=True)
class DatabaseOptions:
    """The options that say how a database is opened."""

    untrusted: Untrusted = False
    atom_limit: AtomLimit = None
    memory_limit: MemoryLimit = None  # of the whole process
    spark: SparkAddress = None
    spark_storage: SparkStorage = None  # where that server keeps tables
    spark_timeout: SparkTimeout = None

    @property
    def engine(self) -> Spark | None:
        """The server on which plans run, None for DuckDB; typer.BadParameter for a storage without one."""
        if not self.spark:
            if self.spark_storage:
                raise typer.BadParameter(
                    "--spark-storage is where a server keeps tables: name the server, --spark sc://host:port"
                )
            return None
        from sqlrl.engine.spark.server import TIMEOUT, Spark

        timeout = TIMEOUT if self.spark_timeout is None else self.spark_timeout
        return Spark(self.spark, storage=self.spark_storage or None, timeout=timeout)


# ---- groups -------------------------------------------------------------------------------------------


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command for typer with keyword parameters, in which each parameter of a dataclass type is replaced by its fields."""
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, type] = {}
    parameters: list[inspect.Parameter] = []
    for parameter in inspect.signature(command).parameters.values():
        kind = hints[parameter.name]
        if not is_dataclass(kind):
            parameters.append(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY, annotation=kind))
            continue
        assert isinstance(kind, type)
        groups[parameter.name] = kind
        inner = get_type_hints(kind, include_extras=True)
        parameters += [
            inspect.Parameter(
                field.name,
                inspect.Parameter.KEYWORD_ONLY,
                default=_default(field, parameter.default),
                annotation=inner[field.name],
            )
            # Those that are keywords alone come last, as in a signature, also where they are inherited.
            for field in sorted(fields(kind), key=lambda field: bool(field.kw_only))
        ]
    names = [parameter.name for parameter in parameters]
    if len(set(names)) < len(names):
        raise TypeError(f"{command.__name__} has two options of one name: {sorted(names)}")

    defaults = {p.name: p.default for p in parameters if p.default is not inspect.Parameter.empty}

    def run(**given: Any) -> None:
        """Make the groups and run the command."""
        values = {**defaults, **given}
        made = {name: kind(**{f.name: values.pop(f.name) for f in fields(kind)}) for name, kind in groups.items()}
        command(**made, **values)

    run.__name__, run.__doc__ = command.__name__, command.__doc__
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    vars(run)["__signature__"] = inspect.Signature(parameters, return_annotation=None)
    return run


def _default(field: Field[Any], given: object) -> object:
    """Return the default of an option: that of the group's default, else of the field."""
    if given is not inspect.Parameter.empty:
        return getattr(given, field.name)
    return inspect.Parameter.empty if field.default is MISSING else field.default
