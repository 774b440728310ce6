"""Options of `sqlrl export --format sql`: what the view, the tables and their columns are called."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import typer

from sqlrl.cli.options import FLAG

_VIEW = "With --format sql"

Target = Annotated[
    str | None,
    typer.Option(
        "--target",
        metavar="NAME",
        help="The predicate of whose atoms the view is; not needed if the model predicts one.",
        rich_help_panel=_VIEW,
        show_default=False,
    ),
]
View = Annotated[
    str | None,
    typer.Option(
        "--view",
        metavar="NAME",
        help="The name of the view; else TARGET_scores.",
        rich_help_panel=_VIEW,
        show_default=False,
    ),
]
Tables = Annotated[
    list[str] | None,
    typer.Option(
        "--table",
        metavar="PREDICATE=TABLE",
        help="What a predicate's table is called where it is not as the predicate; repeated.",
        rich_help_panel=_VIEW,
        show_default=False,
    ),
]
Columns = Annotated[
    list[str] | None,
    typer.Option(
        "--column",
        metavar="PREDICATE.OLD=NEW",
        help="What a column is called where it is not as in the data that were loaded; repeated.",
        rich_help_panel=_VIEW,
        show_default=False,
    ),
]
Scopes = Annotated[
    list[str] | None,
    typer.Option(
        "--scope-table",
        metavar="PREDICATE=TABLE",
        help="The table of the tuples that have atoms, where a scope says so; else PREDICATE_scope; repeated.",
        rich_help_panel=_VIEW,
        show_default=False,
    ),
]
Partial = Annotated[
    bool,
    typer.Option(
        "--partial",
        metavar=FLAG,
        help="Leave out rules that join atoms: a view of the others, which is another model.",
        rich_help_panel=_VIEW,
    ),
]


@dataclass(frozen=True)
class ViewOptions:
    """What the view of a model is, and how the user's tables are called."""

    target: Target = None
    view: View = None
    tables: Tables = None
    columns: Columns = None
    scopes: Scopes = None
    partial: Partial = False

    @property
    def given(self) -> list[str]:
        """The options that were given."""
        options = {
            "--target": self.target, "--view": self.view, "--table": self.tables, "--column": self.columns,
            "--scope-table": self.scopes, "--partial": self.partial,
        }  # fmt: skip
        return [name for name, value in options.items() if value]

    def renamed_columns(self) -> dict[str, dict[str, str]]:
        """Return what columns are called, by predicate."""
        found: dict[str, dict[str, str]] = {}
        for name, new in pairs("--column", self.columns, "Token.position=pos").items():
            predicate, dot, old = name.partition(".")
            if not dot:
                raise typer.BadParameter(f"--column {name}={new}: write PREDICATE.OLD=NEW, such as Token.position=pos")
            found.setdefault(predicate, {})[old] = new
        return found


def pairs(option: str, values: Sequence[str] | None, example: str) -> dict[str, str]:
    """Return what options NAME=VALUE say, by name."""
    found: dict[str, str] = {}
    for each in values or ():
        name, equal, value = each.partition("=")
        if not equal or not name or not value or name in found:
            what = "stands twice" if name in found else "is no NAME=VALUE"
            raise typer.BadParameter(f"{option} {each} {what}: write it as {option} {example}, once for each name")
        found[name] = value
    return found
