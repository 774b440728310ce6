"""How a command opens its database: what it may take, whether files are trusted, and the server on which plans run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from sqlrl.cli.options import DATA, AtomLimit, MemoryLimit, Untrusted

if TYPE_CHECKING:
    from sqlrl.engine.spark.server import Spark

SparkAddress = Annotated[
    str | None,
    typer.Option(
        "--spark",
        envvar="SQLRL_SPARK",
        metavar="ADDRESS",
        help="A server of Spark Connect that counts and grounds, sc://host:port.",
        rich_help_panel=DATA,
        show_default=False,
    ),
]
SparkStorage = Annotated[
    str | None,
    typer.Option(
        "--spark-storage",
        envvar="SQLRL_SPARK_STORAGE",
        metavar="FOLDER",
        help="A folder or address that the server can write, where tables of more than 65,536 rows are kept.",
        rich_help_panel=DATA,
        show_default=False,
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

    @property
    def engine(self) -> Spark | None:
        """The server on which plans run, None for DuckDB; typer.BadParameter for a storage without one."""
        if not self.spark:
            if self.spark_storage:
                raise typer.BadParameter(
                    "--spark-storage is where a server keeps tables: name the server, --spark sc://host:port"
                )
            return None
        from sqlrl.engine.spark.server import Spark

        return Spark(self.spark, storage=self.spark_storage or None)
