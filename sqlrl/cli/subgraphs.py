"""What `sqlrl learn --stream` adds: subgraphs that a file of SQL cuts out of a graph, window by window, in place of examples that are loaded."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sqlrl.cli.opening import DatabaseOptions
from sqlrl.cli.streams import STANDARD_INPUT, read_input
from sqlrl.errors import InputError
from sqlrl.paths import expanded

if TYPE_CHECKING:
    from sqlrl.cli.inputs import Job, ModelInputs
    from sqlrl.database.database import Database
    from sqlrl.training.subgraphs import Subgraphs

PANEL = "Subgraphs of a graph (online learners, resolwe)"

StreamFile = Annotated[
    str | None,
    typer.Option(
        "--stream",
        metavar="FILE",
        help="Learn from subgraphs of a graph, a window at a time, in place of loaded examples, with an online learner or resolwe. A file of SQL: CREATE VIEW centres AS SELECT "
        "... AS example names them, in its order; a view for each predicate selects example, its arguments and, of a target, truth (boolean) "
        "FROM centres JOIN tables of the graph. Other views are steps. No view is made; - is standard input.",
        show_default=False,
        rich_help_panel=PANEL,
    ),
]
GraphFile = Annotated[
    Path | None,
    typer.Option(
        "--graph",
        metavar="FILE",
        help="The DuckDB file with the graph of --stream, which is only read; without it, the DATABASE has the graph. With it the DATABASE, "
        "which keeps the run, may be new, or left out.",
        show_default=False,
        rich_help_panel=PANEL,
    ),
]


@dataclass(frozen=True)
class Streamed:
    """A stream of subgraphs as the command line names it: its file, the file of its graph, and the subgraphs in a window."""

    file: str
    graph: Path | None
    window: int | None

    @contextmanager
    def open(self, job: Job, inputs: ModelInputs) -> Iterator[Subgraphs]:
        """Read the stream while the context is open."""
        from sqlrl.database.subgraph_views import parse_subgraphs, read_subgraphs

        sized = {} if self.window is None else {"window": self.window}
        with self._source(job, inputs) as source:
            if self.file == "-":
                yield parse_subgraphs(read_input(), source, job.model, path=STANDARD_INPUT, **sized)
            else:
                yield read_subgraphs(self.file, source, job.model, **sized)

    @contextmanager
    def _source(self, job: Job, inputs: ModelInputs) -> Iterator[Database]:
        """Open what has the graph: the job's own database, or another file, for reading."""
        if self.graph is None or _same(self.graph, inputs.named):
            yield job.db
            return
        _check(self.graph)
        with job.run.database(
            self.graph, DatabaseOptions(untrusted=inputs.untrusted, memory_limit=inputs.memory_limit), read_only=True
        ) as source:
            yield source


def streamed(file: str | None, graph: Path | None, window: int | None, examples: str | None) -> Streamed | None:
    """Return the stream that was named, if one was; a typer.BadParameter for options that do not go together."""
    if file is None:
        if graph is not None:
            raise typer.BadParameter(
                "--graph has the graph of a stream: add --stream FILE, the SQL that cuts subgraphs out of it"
            )
        return None
    if examples is not None:
        raise typer.BadParameter(
            "--examples names examples that are loaded, and --stream has subgraphs of its own: leave centres out in its file"
        )
    return Streamed(file, graph, window)


def _same(one: Path, other: Path | None) -> bool:
    """Return True if two paths are of one file."""
    return (
        other is not None
        and expanded(one).exists()
        and expanded(other).exists()
        and expanded(one).samefile(expanded(other))
    )


def _check(path: Path) -> None:
    """Refuse a graph that is not there, or no database."""
    file = expanded(path)
    if not file.is_file():
        raise InputError(f"--graph {path}: there is no such file")
    with file.open("rb") as content:
        if content.read(12)[8:] != b"DUCK":
            raise InputError(f"--graph {path} is no DuckDB database: name the file that has the tables of the graph")
