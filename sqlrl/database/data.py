"""Data in a database: scopes, examples, and plain SQL."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from sqlglot import exp

from sqlrl import markup
from sqlrl.catalog.catalog import Catalog
from sqlrl.catalog.layout import TableName
from sqlrl.catalog.records import Records
from sqlrl.database.loading import Loading
from sqlrl.database.verb import verb
from sqlrl.engine.nodes import column
from sqlrl.plan.sources import table
from sqlrl.report import Console, Table

if TYPE_CHECKING:
    import duckdb


class Data(Loading):
    """Predicates with their facts in one DuckDB database; `sqlrl.database.database.Database` adds models.

    Parameters
    ----------
    catalog : Catalog
    console : Console, optional
        Where progress on anything longer than a second is drawn; nowhere by default.
    """

    def __init__(self, catalog: Catalog, console: Console | None = None) -> None:
        super().__init__(catalog, console)
        self.records = Records(catalog.store)
        self.records.end_killed()
        self._closed = False

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
        self.catalog.set_numeric(type_name)

    @verb
    def refresh(self) -> list[str]:
        """Load again what changed at its source.

        Each source is read and compared with what was loaded. Without it a file or table whose size, time or number of rows differs
        is refused; a change of a view or a query, or of rows in place, is not noticed, and the rows of the last loading are used.

        Returns
        -------
        list of str
            The predicates that were loaded.

        Raises
        ------
        LoadError
            A source is gone or its new content cannot be loaded; nothing has changed then.

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
        with self.console.progress("loading what changed"):
            return self.catalog.refresh()

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
        self.catalog.store.forget()
        return self.engine.relation(query)

    def predicates(self) -> Table:
        """Return the predicates.

        Returns
        -------
        Table
            Columns `predicate` (with its types), `open`, `facts`, `example` (where it stands), `source`.

        Examples
        --------
        >>> import sqlrl
        >>> db = sqlrl.connect()
        >>> db.load("Smokes", [("Anna",), ("Bob",)], types=["person"])
        >>> db.predicates()["predicate"], db.predicates()["facts"]
        (['Smokes(person)'], [2])
        """
        rows = [
            {
                "predicate": str(f"{name}({', '.join(kind or '?' for kind in record.types)})"),
                "open": record.open,
                "facts": record.rows,
                "example": record.example,
                "source": record.source,
            }
            for name, record in self.catalog.predicates().items()
        ]
        schema = pa.schema(
            [
                ("predicate", pa.string()),
                ("open", pa.bool_()),
                ("facts", pa.int64()),
                ("example", pa.string()),
                ("source", pa.string()),
            ]
        )
        return Table(pa.Table.from_pylist(rows, schema=schema), title="predicates")

    @verb
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
        with self.only(examples) as chosen:
            return self._ids_of(chosen)

    def _ids_of(self, chosen: TableName | None) -> npt.NDArray[np.int64]:
        """Return the ids of examples that `only` shows, in their order."""
        source, key = (
            (table(self.catalog.store.name("example")), "ordinal") if chosen is None else (table(chosen), "position")
        )
        query = exp.select(column("example")).from_(source).order_by(column(key))
        ids: npt.NDArray[np.int64] = self.engine.fetch(query, step="read the examples").column(0).to_numpy()
        return ids.astype(np.int64)

    @contextmanager
    def only(self, examples: Any) -> Iterator[TableName | None]:
        """Show chosen examples as a table while the context is open; None for all."""
        if examples is None:
            yield None
            return
        catalog, schema = self.engine.scratch
        name = TableName(catalog, schema, self.catalog.example_filter(examples))
        try:
            yield name
        finally:
            self.engine.drop_table(name, step="drop the chosen examples")

    def close(self) -> None:
        """Close the database; a connection of yours stays open."""
        self._closed = True
        self.engine.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        if self._closed:
            return f"{type(self).__name__}({self.engine.path!r}), closed"
        # Where a user's own schema or database is called sqlrl, ours is not.
        schema = "" if self.engine.schema == "sqlrl" else f", tables and views in the schema {self.engine.schema}"
        return f"{type(self).__name__}({self.engine.path!r}){schema}\n{self.predicates()!r}"

    def _repr_html_(self) -> str:
        head = markup.paragraph(repr(self).split("\n", maxsplit=1)[0])
        return head if self._closed else head + self.predicates()._repr_html_()
