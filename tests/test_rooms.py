"""Imports go one way: each room of the package knows only those before it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import sqlrl

PACKAGE = Path(sqlrl.__file__).parent
BELOW = ("errors", "wording", "markup", "paths", "resources", "working", "kernels")
ROOMS = (
    "logic",
    "engine",
    "catalog",
    "plan",
    "ground",
    "solve",
    "learn",
    "structure",
    "evaluate",
    "report",
    "database",
)
RANK = {name: i for i, name in enumerate((*BELOW, *ROOMS))}
TOP = len(RANK)
"""What is in no room, `demo` and `cli`, knows all of them."""


def imports(node: ast.AST) -> Iterator[str]:
    """The first names below `sqlrl` that code imports when it runs, also inside functions."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING":
            continue
        if isinstance(child, ast.ImportFrom) and child.module == "sqlrl":
            yield from (alias.name for alias in child.names)
        elif isinstance(child, ast.ImportFrom) and (child.module or "").startswith("sqlrl."):
            yield str(child.module).split(".")[1]
        yield from imports(child)


def known_by(name: str) -> set[str]:
    path = PACKAGE / name
    files = sorted(path.rglob("*.py")) if path.is_dir() else [path.with_suffix(".py")]
    return {found for file in files for found in imports(ast.parse(file.read_text(encoding="utf-8")))} - {name}


@pytest.mark.parametrize("name", RANK)
def test_a_room_knows_only_those_before_it(name: str) -> None:
    assert {other for other in known_by(name) if RANK.get(other, TOP) > RANK[name]} == set()


def test_logic_and_engine_do_not_know_each_other() -> None:
    assert "logic" not in known_by("engine")


@pytest.mark.parametrize("room", ["plan", "ground"])
def test_whose_code_runs_on_any_engine(room: str) -> None:
    for file in sorted((PACKAGE / room).rglob("*.py")):
        names = {
            node.module or "" for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.ImportFrom)
        }
        # Programs for examples and tests are held against data in memory.
        known = {"base", "nodes"} | ({"connecting"} if file.name == "sample.py" else set())
        assert {x.split(".")[2] for x in names if x.startswith("sqlrl.engine.")} <= known, file
        assert "duckdb" not in {x.split(".")[0] for x in names}, file


@pytest.mark.parametrize(
    ("rooms", "libraries"),
    [(("plan",), {"duckdb"}), (("logic", "solve", "learn", "structure", "evaluate"), {"duckdb", "sqlglot"})],
)
def test_who_knows_no_connection_and_who_no_sql(rooms: tuple[str, ...], libraries: set[str]) -> None:
    for room in rooms:
        for file in sorted((PACKAGE / room).rglob("*.py")):
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
                named = [a.name for a in node.names] if isinstance(node, ast.Import) else []
                named += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
                assert not {name.split(".")[0] for name in named} & libraries, file
