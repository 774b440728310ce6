"""Streams of subgraphs that are never held as a whole: Arrow tables that arrive, or queries of a big graph, window by window."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from sqlrl import markup
from sqlrl.engine.graph import GraphConnection, trimmed
from sqlrl.errors import InputError, Parameter
from sqlrl.wording import counted

if TYPE_CHECKING:
    import duckdb

    from sqlrl.training.learning import TrainingDatabase

EXAMPLE, TRUTH = "example", "truth"
"""Columns of a window's tables: whose subgraph a row is in, and the label of a query atom."""

WINDOW = 512
"""Subgraphs of a window of queries, where nobody says how many."""

CENTRES = "centres"
"""What queries call the centres of a window."""

# ---- windows -----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class SubgraphWindow:
    """Some whole subgraphs: their names in the order of the stream, and the rows of each predicate with the column `example` (text)."""

    names: Sequence[str]
    tables: Mapping[str, pa.Table]
    _repr_html_ = markup.field_table

    def places(self, predicate: str) -> Any:
        """Return the place among the names of each row of a predicate, int32."""
        values = pa.array(self.names, pa.string())
        return pc.index_in(self.tables[predicate][EXAMPLE], value_set=values).to_numpy()

    def select(self, chosen: Sequence[int] | Any) -> SubgraphWindow:
        """Return the window with some of its subgraphs alone, by their places, ascending."""
        keep = np.zeros(len(self.names), dtype=np.bool_)
        keep[np.asarray(chosen, dtype=np.int64)] = True
        tables = {name: data.filter(pa.array(keep[self.places(name)])) for name, data in self.tables.items()}
        return SubgraphWindow([name for name, kept in zip(self.names, keep.tolist(), strict=True) if kept], tables)

    def cut(self, most: int) -> tuple[SubgraphWindow, SubgraphWindow | None]:
        """Return the first subgraphs, at most so many, and the rest if there is one."""
        if len(self.names) <= most:
            return self, None
        return self.select(range(most)), self.select(range(most, len(self.names)))


def window_of(tables: object, names: Sequence[str] | None = None) -> SubgraphWindow:
    """Return a window of the tables that a user's code or query made; `names` are its subgraphs, if they are known."""
    if not isinstance(tables, Mapping):
        raise InputError(
            f"a window of subgraphs is a mapping of predicates to Arrow tables, not an object of type {type(tables).__name__}"
        )
    found = {str(name): _with_names(str(name), data) for name, data in tables.items()}
    if names is None:
        # In the order in which tables with labels have them, then the others.
        first = sorted(found, key=lambda name: TRUTH not in found[name].column_names)
        names = list(dict.fromkeys(x for name in first for x in pc.unique(found[name][EXAMPLE]).to_pylist()))
    window = SubgraphWindow(names, found)
    for name, data in found.items():
        unknown = pc.index_in(data[EXAMPLE], value_set=pa.array(names, pa.string())).null_count
        if unknown:
            strange = sorted(set(data[EXAMPLE].to_pylist()) - set(names))[0]
            raise InputError(
                f"{name} has rows of {strange!r}, which is no centre of this window: take the column example from the table {CENTRES}"
            )
    return window


def _with_names(name: str, data: object) -> pa.Table:
    """Return a table of a window with its examples as text; an InputError if it has none."""
    if isinstance(data, pa.RecordBatch):
        data = pa.Table.from_batches([data])
    if not isinstance(data, pa.Table):
        raise InputError(f"{name}: a window has Arrow tables, not an object of type {type(data).__name__}")
    if EXAMPLE not in data.column_names:
        has = ", ".join(data.column_names) or "none"
        raise InputError(f"{name} has no column example, which says whose subgraph a row is in (columns: {has})")
    repeated = sorted({each for each in data.column_names if data.column_names.count(each) > 1})
    if repeated:
        raise InputError(f"{name} has several columns {repeated[0]}: give each a name of its own")
    place, column = data.column_names.index(EXAMPLE), data[EXAMPLE]
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if column.null_count:
        raise InputError(f"{name} has rows whose example is NULL: each row is in a subgraph")
    kind = column.type
    if not (pa.types.is_integer(kind) or is_text(kind) or (pa.types.is_null(kind) and not len(column))):
        raise InputError(f"{name} has an example of type {kind}: name subgraphs by texts or whole numbers")
    return data.set_column(place, EXAMPLE, column.cast(pa.string()))


def is_text(kind: pa.DataType) -> bool:
    """Tell whether an Arrow type is one of texts."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


# ---- streams -----------------------------------------------------------------------------------------


class Reader(ABC):
    """Reads a stream once, from its beginning."""

    @abstractmethod
    def read(self, most: int | None) -> SubgraphWindow | None:
        """Return the next window, with at most so many subgraphs; None at the end."""

    @abstractmethod
    def skip(self, number: int) -> list[str]:
        """Pass over subgraphs without loading them; return their names, fewer if the stream ends."""


class Subgraphs(ABC):
    """A stream of subgraphs, as `examples` of online learners, OSL and Resolwe: it yields windows, each a mapping of predicates to Arrow tables.

    A table has the column `example`, the name of the subgraph, and the arguments in their order. That of a target has the boolean column
    `truth`, too, and one row for each query atom.
    """

    @property
    def length(self) -> int | None:
        """How many subgraphs there are, None if nobody knows."""
        return None

    def windows_of(self, subgraphs: int | None) -> int | None:
        """Return how many windows so many subgraphs, or all, are in from a beginning on; None if nobody knows."""
        return None

    @property
    @abstractmethod
    def again(self) -> bool:
        """Whether the stream can be read again, from its beginning."""

    @abstractmethod
    def reader(self) -> Reader:
        """Begin to read."""

    @abstractmethod
    def schemas(self) -> Mapping[str, pa.Schema] | None:
        """Return the columns of each predicate, None if nobody knows before the first window."""

    @abstractmethod
    def identity(self) -> str:
        """Return what tells this stream from others, as far as it is known without reading it."""


class SubgraphTables(Subgraphs):
    r"""Subgraphs that arrive as Arrow tables, window by window: `examples` of online learners, OSL and Resolwe.

    Parameters
    ----------
    windows : iterable or callable
        Yields mappings of predicates to Arrow tables: the column `example`, the name of the subgraph, then the arguments in their order;
        of a target also the boolean column `truth`, and one row for each query atom. A subgraph is whole in one window. A callable
        without arguments returns such an iterable anew, so that runs can be resumed and learners can go over it several times.

    Notes
    -----
    What is learned is what the same subgraphs give that are loaded, in the same order, as long as each type stands in a relation: one that only
    targets have ranges over the constants of a window, where loaded data have those of all examples.

    Examples
    --------
    >>> import pyarrow as pa
    >>> import sqlrl
    >>> def windows():
    ...     for w in range(10):
    ...         rows = [(f"club{4 * w + k}", p) for k in range(4) for p in ("Ann", "Bob", "Carl")]
    ...         clubs, people = zip(*rows)
    ...         plays = pa.table({"example": clubs, "person": people, "truth": [p != "Bob" for p in people]})
    ...         yield {"Plays": plays, "Trains": plays.filter(plays["truth"]).drop_columns(["truth"])}
    >>> model = sqlrl.parse_mln("Plays(person)\nTrains(person)")
    >>> templates = sqlrl.parse_grammar("Trains(x) ^ Plays(x)")
    >>> fit = sqlrl.Resolwe(templates, select=12).fit(sqlrl.connect(), model, examples=sqlrl.SubgraphTables(windows))
    >>> fit.formulations_.to_arrow().select(["formula", "support", "kept"]).to_pylist()
    [{'formula': 'Trains(x) ^ Plays(x)', 'support': 24, 'kept': True}]
    """

    _repr_html_ = markup.field_table

    def __init__(self, windows: Iterable[Mapping[str, Any]] | Callable[[], Iterable[Mapping[str, Any]]]) -> None:
        if not callable(windows) and not isinstance(windows, Iterable):
            raise InputError(
                f"SubgraphTables takes an iterable of windows, or a function that returns one, not an object of type {type(windows).__name__}"
            )
        if isinstance(windows, Mapping | str):
            raise InputError("SubgraphTables takes an iterable of windows: put a single window in a list")
        self._windows = windows

    def __repr__(self) -> str:
        """Return what it reads."""
        return f"SubgraphTables({self._windows!r})"

    @property
    def again(self) -> bool:
        """Whether it is no plain iterator."""
        return not isinstance(self._windows, Iterator)

    def reader(self) -> Reader:
        """Begin to read."""
        return _TableReader(iter(self._windows() if callable(self._windows) else self._windows))

    def schemas(self) -> Mapping[str, pa.Schema] | None:
        """Return None: the first window tells."""
        return None

    def identity(self) -> str:
        """Return the name of the class: windows that nobody has seen are not compared."""
        return type(self).__name__


class _TableReader(Reader):
    def __init__(self, windows: Iterator[object]) -> None:
        self._windows = windows
        self._rest: SubgraphWindow | None = None

    def read(self, most: int | None) -> SubgraphWindow | None:
        window, self._rest = self._rest, None
        while window is None or not window.names:
            tables = next(self._windows, None)
            if tables is None:
                return None
            window = window_of(tables)
        if most is not None:
            window, self._rest = window.cut(most)
        return window

    def skip(self, number: int) -> list[str]:
        found: list[str] = []
        while len(found) < number:
            window = self.read(number - len(found))
            if window is None:
                break
            found += window.names
        return found


class SubgraphQueries(Subgraphs):
    r"""Subgraphs that queries cut out of a graph, window by window: one statement a relation and window.

    Parameters
    ----------
    source : Database or duckdb.DuckDBPyConnection
        Has the graph. Nothing is written there.
    centres : query
        Its first column names the subgraphs, in the order of the stream (ORDER BY): texts or whole numbers.
    relations : mapping of str to query
        By predicate. A query reads a table `centres`, whose column `example` has the centres of the window at hand; its columns are
        `example` and then the arguments, of a target also `truth` (boolean).
    window : int
        Centres in a window: at most so many subgraphs are in memory.

    Examples
    --------
    >>> import duckdb
    >>> import sqlrl
    >>> graph = duckdb.connect()
    >>> graph = graph.execute(
    ...     "create table knows as select i as a, (i + j) % 60 as b from range(60) t(i), (values (1), (2)) u(j)"
    ... )
    >>> graph = graph.execute("create table old as select i as person from range(0, 60, 2) t(i)")
    >>> near = "select example, b as person from centres join knows on a = example"
    >>> stream = sqlrl.SubgraphQueries(
    ...     graph,
    ...     "select distinct a from knows order by a",
    ...     {
    ...         "Likes": f"select example, person, person % 2 = 0 as truth from ({near})",
    ...         "Old": f"select example, person from ({near}) join old using (person)",
    ...     },
    ...     window=7,
    ... )
    >>> len(stream)
    60
    >>> model = sqlrl.parse_mln("Likes(person)\nOld(person)")
    >>> fit = sqlrl.Resolwe(sqlrl.parse_grammar("Old(x) ^ Likes(x)")).fit(sqlrl.connect(), model, examples=stream)
    >>> fit.formulations_.to_arrow().select(["formula", "support", "kept"]).to_pylist()
    [{'formula': 'Old(x) ^ Likes(x)', 'support': 20, 'kept': True}]
    """

    _repr_html_ = markup.field_table

    def __init__(
        self,
        source: TrainingDatabase | duckdb.DuckDBPyConnection,
        centres: str,
        relations: Mapping[str, str],
        *,
        window: int = WINDOW,
    ) -> None:
        self._graph = GraphConnection(source)
        _check_queries(window, centres, relations)
        self.window, self.centres, self._relations = int(window), centres, dict(relations)
        found = self._graph.rows(trimmed(self._as_run(CENTRES)), self._said(CENTRES))
        if found.num_columns == 0:
            raise InputError("the query of centres has no column")
        column = found.column(0)
        if column.null_count:
            raise InputError("the query of centres has NULL among its names: leave it out")
        self._centres = pa.table({EXAMPLE: column})
        self._names: list[str] = window_of({CENTRES: self._centres}).tables[CENTRES][EXAMPLE].to_pylist()
        _check_distinct(self._names)

    def __repr__(self) -> str:
        """Return the statements as they run."""
        parts = [f"-- {name}\n{sql};" for name, sql in self.queries().items()]
        return (
            f"{type(self).__name__} of {counted(len(self), 'subgraph')}, {self.window:,} in a window\n\n"
            + "\n\n".join(parts)
        )

    def __len__(self) -> int:
        """Return how many subgraphs there are."""
        return len(self._names)

    def queries(self) -> dict[str, str]:
        """Return the query of each predicate, which reads the table `centres`.

        Returns
        -------
        dict of str to str
            To read, or to change and give to `SubgraphQueries`.
        """
        return dict(self._relations)

    def views(self) -> dict[str, str]:
        """Return the views that say the stream: `centres`, with the column `example`, and one for each predicate.

        Returns
        -------
        dict of str to str
            By name, the query of each.
        """
        columns = self._graph.columns(trimmed(self.centres), self._said(CENTRES))
        centres = trimmed(self.centres)
        if columns != [EXAMPLE]:
            names = [EXAMPLE, *(f"c{i}" for i in range(1, len(columns)))]
            first = exp.select(exp.column(EXAMPLE, quoted=True)).sql(dialect="duckdb")
            centres = f"{first} FROM (\n{centres}\n) AS found({', '.join(names)})"
        return {CENTRES: centres} | {name: trimmed(query) for name, query in self.queries().items()}

    def sql(self) -> str:
        r"""Return the stream as the text of a file of SQL, which may be edited.

        Returns
        -------
        str
            For `parse_subgraphs`, or in a file for `read_subgraphs` and `sqlrl learn --stream`.

        Examples
        --------
        >>> import duckdb
        >>> import sqlrl
        >>> graph = duckdb.connect().execute("create table likes as from (values (1, 2)) t(a, b)")
        >>> facts = {"Likes": "select example, b, b > 1 as truth from centres join likes on a = example"}
        >>> print(sqlrl.SubgraphQueries(graph, "select a from likes", facts).sql())
        CREATE VIEW centres AS
        SELECT "example" FROM (
        select a from likes
        ) AS found(example);
        <BLANKLINE>
        CREATE VIEW "Likes" AS
        select example, b, b > 1 as truth from centres join likes on a = example;
        <BLANKLINE>
        """
        found = []
        for name, query in self.views().items():
            shown = name if name == CENTRES else exp.to_identifier(name, quoted=True).sql(dialect="duckdb")
            # A comment in the last line would hide what ends the statement.
            end = "\n;" if "--" in query.rsplit("\n", 1)[-1] else ";"
            found.append(f"CREATE VIEW {shown} AS\n{query}{end}\n")
        return "\n".join(found)

    @property
    def length(self) -> int | None:
        """How many centres there are."""
        return len(self)

    def windows_of(self, subgraphs: int | None) -> int | None:
        """Return how many windows so many subgraphs are in."""
        return -(-(len(self) if subgraphs is None else subgraphs) // self.window)

    @property
    def again(self) -> bool:
        """Queries can always run again."""
        return True

    def reader(self) -> Reader:
        """Begin to read."""
        return _QueryReader(self)

    def schemas(self) -> Mapping[str, pa.Schema] | None:
        """Return the columns of the queries, from running them without a centre."""
        return {name: data.schema for name, data in self.cut(0, 0).tables.items()}

    def identity(self) -> str:
        """Return a digest of the queries and of the centres' names."""
        said = repr([sorted(self._relations.items()), self._names, self.window])
        return f"{type(self).__name__} {hashlib.sha256(said.encode()).hexdigest()[:16]}"

    def _said(self, name: str) -> str:
        """Return what errors call a query."""
        return f"the query of {name}"

    def _as_run(self, name: str) -> str:
        """Return a query as DuckDB is given it, whose errors say lines of it."""
        return self.centres if name == CENTRES else self._relations[name]

    def names(self, begin: int, end: int) -> list[str]:
        """Return the names of some subgraphs by their places."""
        return self._names[begin:end]

    def cut(self, begin: int, end: int) -> SubgraphWindow:
        """Run the queries for some centres by their places."""
        tables = {}
        other = self._graph.named(CENTRES)
        if other is not None:
            raise InputError(
                f"the graph has a table {other} of its own, and {CENTRES} is what queries call the centres of a window: rename the table"
            )
        with self._graph.named_table(self._centres.slice(begin, end - begin)) as name:
            for predicate in self._relations:
                # What stands before the query is on its first line, so that DuckDB says the lines of the query.
                given = f"WITH {CENTRES} AS (FROM {name}) FROM ({trimmed(self._as_run(predicate))}\n)"
                tables[predicate] = self._graph.rows(given, self._said(predicate))
        return window_of(tables, self.names(begin, end))


class _QueryReader(Reader):
    def __init__(self, stream: SubgraphQueries) -> None:
        self._stream, self._place = stream, 0

    def read(self, most: int | None) -> SubgraphWindow | None:
        size = self._stream.window if most is None else min(most, self._stream.window)
        begin, self._place = self._place, min(self._place + size, len(self._stream))
        return self._stream.cut(begin, self._place) if begin < self._place else None

    def skip(self, number: int) -> list[str]:
        begin, self._place = self._place, min(self._place + number, len(self._stream))
        return self._stream.names(begin, self._place)


def _check_queries(window: object, centres: object, relations: object) -> None:
    """Refuse what are no queries, or no size of a window."""
    if isinstance(window, bool) or not isinstance(window, int | np.integer) or window < 1:
        raise InputError(f"{Parameter('window', window)} must be a number of subgraphs, 1 or more")
    if not isinstance(centres, str):
        raise InputError(f"centres is a query whose first column names the subgraphs, not {centres!r}")
    if (
        not isinstance(relations, Mapping)
        or not relations
        or not all(isinstance(query, str) for query in relations.values())
    ):
        raise InputError(
            "relations is a mapping of predicates to queries, such as {'Old': 'select example, person from centres join ...'}"
        )


def _check_distinct(names: Sequence[str]) -> None:
    """Refuse a centre that comes again."""
    seen: set[str] = set()
    for place, name in enumerate(names):
        if name in seen:
            raise InputError(
                f"subgraph {name!r} comes again, after {counted(place, 'subgraph')}: give each centre once, as by SELECT DISTINCT"
            )
        seen.add(name)
