"""`sqlrl ego`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from sqlrl.cli.grouping import grouped
from sqlrl.cli.opening import DatabaseOptions
from sqlrl.cli.options import DatabaseFirst, Db, Messages, Untrusted, split_names, with_database
from sqlrl.cli.session import print_json, session
from sqlrl.cli.streams import write_file

if TYPE_CHECKING:
    from sqlrl.database.ego_networks import Negatives, Relation

Second = Annotated[
    str | None,
    typer.Argument(metavar="EDGES", help="A table or query of two columns, both entities.", show_default=False),
]
Target = Annotated[
    str,
    typer.Option("--target", metavar="NAME", help="The predicate to predict, of an entity: a neighbour of the centre?"),
]
Relations = Annotated[
    list[str] | None,
    typer.Option(
        "--relation",
        metavar="NAME=TABLE",
        help="A predicate of candidates, and its table or query, whose columns are entities; NAME(COLUMN,...)=TABLE if only these are. Repeated.",
        show_default=False,
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
Cap = Annotated[
    int | None,
    typer.Option(
        "--cap", metavar="N", help="The most true candidates of a centre, and the most false ones.", show_default=False
    ),
]
Seed = Annotated[int, typer.Option("--random-state", metavar="N", help="Seed of what is drawn.")]


@grouped
def ego(
    output: Messages,
    target: Target,
    first: DatabaseFirst = None,
    second: Second = None,
    db: Db = None,
    untrusted: Untrusted = False,
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
    path, (edges,) = with_database((first, second), db, "EDGES")
    given = _relations(relations or [])
    with session(output) as run, run.database(path, DatabaseOptions(untrusted=untrusted), read_only=True) as source:
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
