"""Options in groups: fields become options, values come back as the group."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from sqlrl.cli.options import grouped

Depth = Annotated[int, typer.Option("--depth", "-d")]


@dataclass(frozen=True)
class Size:
    width: Annotated[int, typer.Option("--width")]
    depth: Depth = 3


SHALLOW = Size(7, 1)


def commands() -> typer.Typer:
    app = typer.Typer()

    @grouped
    def required(size: Size, name: Annotated[str, typer.Option("--name")] = "x") -> None:
        """Say a size."""
        print(size, name)

    @grouped
    def defaults(size: Size = SHALLOW) -> None:
        """Say a size."""
        print(size)

    app.command()(required)
    app.command()(defaults)
    return app


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["required", "--width", "2"], "Size(width=2, depth=3) x"),
        (["required", "--width", "2", "-d", "5", "--name", "y"], "Size(width=2, depth=5) y"),
        (["defaults"], "Size(width=7, depth=1)"),
        (["defaults", "--depth", "4"], "Size(width=7, depth=4)"),
    ],
)
def test_values_come_as_the_group(arguments: list[str], said: str) -> None:
    assert CliRunner().invoke(commands(), arguments).output.strip() == said


def test_a_field_without_default_is_required() -> None:
    assert CliRunner().invoke(commands(), ["required"]).exit_code == 2


def test_two_options_of_one_name_are_refused() -> None:
    def twice(size: Size, depth: Depth = 1) -> None: ...

    with pytest.raises(TypeError, match="two options of one name"):
        grouped(twice)
