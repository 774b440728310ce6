"""Subgraphs of a graph: `sqlrl ego` prints the SQL that cuts them out, `sqlrl learn --stream` learns from them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sqlrl.cli.options import DatabaseOptions, Messages, argument, grouped, is_database, option, split_names
from sqlrl.cli.session import STANDARD_INPUT, NamedDatabase, print_json, read_input, write_file
from sqlrl.errors import InputError
from sqlrl.paths import exists, expanded, is_file

if TYPE_CHECKING:
    from sqlrl.cli.inputs import Job, ModelInputs
    from sqlrl.database.database import Database
    from sqlrl.database.ego_networks import Negatives, Relation
    from sqlrl.training.subgraphs import Subgraphs


# ---- sqlrl ego ----------------------------------------------------------------------------------------

Edges = Annotated[str | None, argument("EDGES", "A table or query of two columns, both entities.")]
Target = Annotated[
    str,
    typer.Option("--target", metavar="NAME", help="The predicate to predict, of an entity: a neighbour of the centre?"),
]
Relations = Annotated[
    list[str] | None,
    option(
        "--relation",
        "NAME=TABLE",
        "A predicate of candidates, and its table or query, whose columns are entities; NAME(COLUMN,...)=TABLE if only these are. Repeated.",
    ),
]
Centres = Annotated[
    str | None,
    typer.Option(
        "--centres",
        metavar="QUERY",
        help="The centres, in the order of the stream.",
        show_default="all entities that have an edge",
    ),
]
Hops = Annotated[int, typer.Option("--hops", metavar="N", help="How far candidates are away at most.")]
False_ = Annotated[
    str,
    typer.Option(
        "--negatives", metavar="equal|all|X", help="False candidates for each true one: as many, all, or so many."
    ),
]
Cap = Annotated[int | None, option("--cap", "N", "The most true candidates of a centre, and the most false ones.")]
Seed = Annotated[int, typer.Option("--random-state", metavar="N", help="Seed of what is drawn.")]


@grouped
def ego(
    output: Messages,
    target: Target,
    place: NamedDatabase,
    second: Edges = None,
    relations: Relations = None,
    centres: Centres = None,
    hops: Hops = 2,
    negatives: False_ = "equal",
    cap: Cap = None,
    seed: Seed = 0,
) -> None:
    """Print the SQL that cuts ego networks out of a graph, the neighbours of each centre and others near it, as views to be edited and given
    to `learn --stream`.

    sqlrl ego graph.duckdb friends --target Friend --relation Knows=friends > friends.sql
    """
    given = _relations(relations or [])
    with place.open(output, [second], "EDGES", read_only=True) as (_, source, (edges,)):
        from sqlrl.database.ego_networks import EgoNetworks

        found = EgoNetworks(
            source, edges, target=target, relations=given, centres=centres, hops=hops, negatives=_negatives(negatives),
            cap=cap, random_state=seed,
        )  # fmt: skip
        if output.as_json:
            print_json({"view": name, "query": query} for name, query in found.views().items())
        else:
            write_file(found.sql())


def _relations(given: Sequence[str]) -> dict[str, Relation]:
    """Return relations as `EgoNetworks` takes them."""
    found: dict[str, Relation] = {}
    for each in given:
        parts = re.fullmatch(r"\s*(\w+)\s*(?:\(([^()]*)\)\s*)?=\s*(.*\S)\s*", each, flags=re.DOTALL)
        if parts is None:
            raise typer.BadParameter(
                f"--relation {each}: give a predicate and its table, NAME=TABLE or NAME(COLUMN,...)=TABLE"
            )
        name, entities, table = parts.groups()
        if name in found:
            raise typer.BadParameter(f"--relation {each}: {name} is given twice")
        found[name] = table if entities is None else (table, list(split_names([entities])))
    return found


def _negatives(text: str) -> Negatives:
    """Return what the option says of false candidates; `EgoNetworks` refuses numbers that are none."""
    if text == "equal":
        return "equal"
    if text == "all":
        return None
    try:
        return float(text)
    except ValueError:
        raise typer.BadParameter(f"--negatives {text}: give equal, all, or a number for each true candidate") from None


# ---- sqlrl learn --stream -----------------------------------------------------------------------------

PANEL = "Subgraphs of a graph (online learners, resolwe)"

StreamFile = Annotated[
    str | None,
    option(
        "--stream",
        "FILE",
        "Learn from subgraphs of a graph, a window at a time, in place of loaded examples, with an online learner or resolwe. A file of SQL: CREATE VIEW centres AS SELECT "
        "... AS example names them, in its order; a view for each predicate selects example, its arguments and, of a target, truth (boolean) "
        "FROM centres JOIN tables of the graph. Other views are steps. No view is made; - is standard input.",
        panel=PANEL,
    ),
]
GraphFile = Annotated[
    Path | None,
    option(
        "--graph",
        "FILE",
        "The DuckDB file with the graph of --stream, which is only read; without it, the DATABASE has the graph. With it the DATABASE, "
        "which keeps the run, may be new, or left out.",
        panel=PANEL,
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
        and exists(expanded(one))
        and exists(expanded(other))
        and expanded(one).samefile(expanded(other))
    )


def _check(path: Path) -> None:
    """Refuse a graph that is not there, or no database."""
    file = expanded(path)
    if not is_file(file):
        raise InputError(f"--graph {path}: there is no such file")
    if not is_database(file):
        raise InputError(f"--graph {path} is no DuckDB database: name the file that has the tables of the graph")
