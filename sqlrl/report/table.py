"""Results as tables that print well, show in notebooks, and leave as Arrow, pandas, polars or DuckDB."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy.typing as npt
import pyarrow as pa

from sqlrl import markup
from sqlrl.errors import InputError, SqlrlError
from sqlrl.markup import visible
from sqlrl.report.text import NULL, cell_text, fit_widths, pad, shorten, width
from sqlrl.slips import Helpful

if TYPE_CHECKING:
    import duckdb
    import pandas as pd
    import polars as pl
    from rich.console import Group

_WIDEST_CELL = 80


class Column(list[Any]):
    """The values of a column: a list, which also goes to Arrow and numpy."""

    def to_pylist(self) -> list[Any]:
        """Return them as a plain list, as a column of Arrow does."""
        return list(self)

    def to_arrow(self) -> pa.Array:
        """Return them as an Arrow array."""
        return pa.array(self.to_pylist())

    def to_numpy(self) -> npt.NDArray[Any]:
        """Return them as an array of numpy; missing numbers are NaN."""
        found: npt.NDArray[Any] = self.to_arrow().to_numpy(zero_copy_only=False)
        return found

    def _repr_html_(self) -> str:
        shown: str = Table(pa.table({"value": self.to_arrow()}))._repr_html_()
        return shown


class Table(Helpful):
    """A result: a `pyarrow.Table` that prints.

    What else a `pyarrow.Table` has, such as `filter`, `sort_by`, `to_pylist` and `num_rows`, is called on the data.

    Long tables show their first rows and say how many there are. It can be given to anything that takes Arrow data
    (`polars.DataFrame(table)`, `con.sql("from table")`).

    Parameters
    ----------
    data : pyarrow.Table
    title : str
        Shown above the table.
    limit : int
        Number of rows that are shown; the data stay whole.
    whole : bool
        Whether cells are shown whole on a narrow terminal, too.

    Raises
    ------
    InputError
        `limit` is negative.

    Examples
    --------
    >>> Table(pa.table({"clause": ["Token(proc., p, c) => InField(c, Venue, p)", "a"], "weight": [2.5, -0.125]}))
    clause                                      weight
    ------------------------------------------  ------
    Token(proc., p, c) => InField(c, Venue, p)     2.5
    a                                           -0.125
    """

    def __init__(self, data: pa.Table, *, title: str = "", limit: int = 20, whole: bool = False) -> None:
        if limit < 0:
            raise InputError(f"limit must not be negative, but is {limit}")
        self._data, self.title, self.limit, self.whole = data, title, limit, whole

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return list(self._data.column_names)

    def __len__(self) -> int:
        return int(self._data.num_rows)

    def __iter__(self) -> Iterator[dict[str, object]]:
        for batch in self._data.to_batches():
            yield from batch.to_pylist()

    def __getitem__(self, column: str) -> Column:
        if column not in self._data.column_names:
            wanted: object = column
            rows = "; list(table) has the rows" if isinstance(wanted, int | slice) else ""
            raise KeyError(f"no column {column!r}; there are {', '.join(map(repr, self.columns))}{rows}")
        return Column(self._data[column].to_pylist())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Table | pa.Table):
            return NotImplemented
        return bool(self._data.equals(other.to_arrow() if isinstance(other, Table) else other))

    __hash__ = None  # type: ignore[assignment]  # as of a pyarrow.Table

    if not TYPE_CHECKING:  # or else every name would pass the check of types

        def __getattr__(self, name):
            # Called only for what is not there.
            if not name.startswith("_") and hasattr(pa.Table, name):
                return getattr(self._data, name)
            return super().__getattr__(name)

    def equals(self, other: Table | pa.Table) -> bool:
        """Return whether another table has the same columns and rows, as of a `pyarrow.Table`."""
        return self == other

    @property
    def num_rows(self) -> int:
        """The number of rows, as of a `pyarrow.Table`."""
        return len(self)

    @property
    def column_names(self) -> list[str]:
        """The names of the columns, as of a `pyarrow.Table`."""
        return self.columns

    def to_pylist(self) -> list[dict[str, Any]]:
        """Return the rows, a mapping each, as of a `pyarrow.Table`."""
        found: list[dict[str, Any]] = self._data.to_pylist()
        return found

    def head(self, rows: int) -> Table:
        """Return the first rows as a table that shows them all.

        Parameters
        ----------
        rows : int

        Returns
        -------
        Table

        Examples
        --------
        >>> len(Table(pa.table({"n": [1, 2, 3]})).head(2))
        2
        """
        return Table(self._data.slice(0, max(rows, 0)), title=self.title, limit=max(rows, 0), whole=self.whole)

    def to_arrow(self) -> pa.Table:
        """Return the data as a `pyarrow.Table`; nothing is copied.

        Examples
        --------
        >>> Table(pa.table({"n": [1, 2]})).to_arrow().num_rows
        2
        """
        return self._data

    def to_pandas(self) -> pd.DataFrame:
        """Return the data as a pandas frame; counts of 128 bits stay exact, as `decimal.Decimal`.

        Raises
        ------
        SqlrlError
            pandas is not installed.

        Examples
        --------
        >>> Table(pa.table({"n": [1, 2]})).to_pandas().shape
        (2, 1)
        """
        try:
            import pandas as pd  # noqa: F401 (pyarrow needs it)
        except ImportError as error:
            raise _missing("pandas") from error
        return self._data.to_pandas()

    def to_polars(self) -> pl.DataFrame:
        """Return the data as a polars frame.

        Raises
        ------
        SqlrlError
            polars is not installed.

        Examples
        --------
        >>> Table(pa.table({"n": [1, 2]})).to_polars().shape
        (2, 1)
        """
        try:
            import polars as pl
        except ImportError as error:
            raise _missing("polars") from error
        frame = pl.from_arrow(self._data)
        assert isinstance(frame, pl.DataFrame)
        return frame

    def to_duckdb(self, connection: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyRelation:
        """Return the data as a relation of a DuckDB connection; nothing is copied.

        Parameters
        ----------
        connection : duckdb.DuckDBPyConnection

        Returns
        -------
        duckdb.DuckDBPyRelation

        Examples
        --------
        >>> import duckdb
        >>> with duckdb.connect() as connection:
        ...     Table(pa.table({"n": [1, 2]})).to_duckdb(connection).sum("n").fetchall()
        [(3,)]
        """
        return connection.from_arrow(self._data)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Give the data to another library through Arrow's stream interface."""
        return self._data.__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        return self.to_text()

    def to_text(self, most: int | None = None) -> str:
        """Return the table as it prints.

        Parameters
        ----------
        most : int, optional
            Characters in a line: wide columns are cut short to fit in. By default those of the terminal (or what COLUMNS in the
            environment says); nothing is cut where standard output is none, such as a pipe, a file or a notebook.

        Returns
        -------
        str

        Examples
        --------
        >>> table = Table(pa.table({"clause": ["Smokes(x) => Cancer(x)"], "weight": [1.5]}))
        >>> print(table.to_text(20))
        clause        weight
        ------------  ------
        Smokes(x) =…     1.5
        """
        most = _terminal_columns() if most is None and not self.whole else most
        names, cells, right = self._shown(cut=most is not None)
        if not names:
            return self._with_title("(no columns)")
        columns = [[name, *(row[k] for row in cells)] for k, name in enumerate(names)]
        widths = [max(map(width, column)) for column in columns]
        widths = widths if most is None else fit_widths(widths, most - 2 * (len(names) - 1))

        def line(row: list[str]) -> str:
            """Fit a row to the widths."""
            fitted = (pad(shorten(c, w), w, right=r) for c, w, r in zip(row, widths, right, strict=True))
            return "  ".join(fitted).rstrip()

        lines = [line(names), "  ".join("-" * w for w in widths), *(line(row) for row in cells)]
        return self._with_title("\n".join([*lines, *self._footer()]))

    def __rich__(self) -> Group:
        from rich import box
        from rich.console import Group
        from rich.table import Table as RichTable
        from rich.text import Text

        names, cells, right = self._shown(cut=not self.whole)
        # `Text`, since a plain string would be read as markup: "[red]" in the data is data.
        table = RichTable(box=box.SIMPLE_HEAD)
        for name, is_right in zip(names, right, strict=True):
            # Numbers stay on one line, whatever is folded beside them.
            table.add_column(
                Text(name),
                justify="right" if is_right else "left",
                overflow="fold" if self.whole else "ellipsis",
                no_wrap=is_right or not self.whole,
            )
        for row in cells:
            table.add_row(*(Text(cell, style="dim" if cell == NULL else "") for cell in row))
        # Title and footer stand outside, since rich wraps them to the width of a narrow table.
        title = [Text(visible(self.title), style="bold")] if self.title else []
        return Group(*title, *([table] if names else []), *map(Text, self._footer()))

    def _repr_html_(self) -> str:
        names, cells, right = self._shown(cut=False)
        footer = "".join(map(markup.paragraph, self._footer()))
        return markup.table(names, cells, right, caption=self.title) + footer

    def _shown(self, *, cut: bool) -> tuple[list[str], list[list[str]], list[bool]]:
        """Return the names, the cells of the rows that are shown, wide ones `cut`, and which columns are numbers."""
        columns = [[cell_text(v) for v in column.to_pylist()] for column in self._data.slice(0, self.limit).columns]
        shown = min(self.limit, len(self))
        cells = [[shorten(column[k], _WIDEST_CELL) if cut else column[k] for column in columns] for k in range(shown)]
        return [visible(name) for name in self.columns], cells, [_is_number(f.type) for f in self._data.schema]

    def _footer(self) -> list[str]:
        """Return the line that counts the rows, if not all are shown or there are none."""
        if len(self) == 0:
            return ["(no rows)"]
        return [f"… {len(self) - self.limit:,} more of {len(self):,} rows"] if len(self) > self.limit else []

    def _with_title(self, text: str) -> str:
        """Put the title above a text."""
        return f"{visible(self.title)}\n{text}" if self.title else text


def _terminal_columns() -> int | None:
    """Return the columns of the terminal to which standard output goes, None if it goes elsewhere."""
    stated = os.environ.get("COLUMNS", "").isdecimal()
    return shutil.get_terminal_size().columns if stated or sys.stdout.isatty() else None


def _is_number(kind: pa.DataType) -> bool:
    """Return whether a column holds numbers, which are aligned to the right."""
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def _missing(library: str) -> SqlrlError:
    """Return the error for an optional library that is not installed."""
    return SqlrlError(f"{library} is not installed: run `pip install 'sqlrl[frames]'`, or use `to_arrow()`")
