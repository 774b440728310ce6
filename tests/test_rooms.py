"""Imports go one way: each room of the package knows only those before it."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Collection, Iterator
from pathlib import Path

import pytest

import sqlrl

PACKAGE = Path(sqlrl.__file__).parent
BELOW = (
    "markup",
    "errors",
    "wording",
    "paths",
    "resources",
    "progress",
    "kernels",
    "compilation",
    "garbage",
    "deprecated",
    "slips",
    "arguments",
    "arrow",
    "distinct",
)
ROOMS = (
    "logic",
    "engine",
    "catalog",
    "plan",
    "ground",
    "solve",
    "report",
    "training",
    "learn",
    "structure",
    "baselines",
    "evaluate",
    "script",
    "database",
)
RANK = {name: i for i, name in enumerate((*BELOW, *ROOMS))}
TOP = len(RANK)
"""What is in no room, `demo` and `cli`, knows all of them."""


@functools.cache
def parsed(file: Path) -> ast.Module:
    return ast.parse(file.read_text(encoding="utf-8"))


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


def statements(node: ast.AST, *, lazy: bool, types: bool = False) -> Iterator[ast.Import | ast.ImportFrom]:
    """The imports of code that runs, and those for `types` alone; those inside functions run only later (`lazy`)."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING" and not types:
            continue
        if isinstance(child, ast.Import | ast.ImportFrom):
            yield child
        elif lazy or not isinstance(child, ast.FunctionDef):
            yield from statements(child, lazy=lazy, types=types)


def libraries(tree: ast.AST) -> Iterator[str]:
    for found in statements(tree, lazy=True):
        yield from [a.name for a in found.names] if isinstance(found, ast.Import) else [found.module or ""]


def module_name(file: Path) -> str:
    parts = file.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def module_imports(tree: ast.AST, files: Collection[str], *, lazy: bool = False, types: bool = False) -> Iterator[str]:
    """The modules of the package that a module imports when it is itself imported, or ever (`lazy`), or for `types` alone."""
    for found in statements(tree, lazy=lazy, types=types):
        if isinstance(found, ast.Import):
            yield from (a.name for a in found.names if a.name in files)
        else:
            inside = [f"{found.module}.{a.name}" for a in found.names]
            yield from (name if name in files else str(found.module) for name in inside if str(found.module) in files)


def known_by(name: str) -> set[str]:
    path = PACKAGE / name
    files = sorted(path.rglob("*.py")) if path.is_dir() else [path.with_suffix(".py")]
    return {found for file in files for found in imports(parsed(file))} - {name}


@pytest.mark.slow
def test_a_room_knows_only_those_before_it() -> None:
    later = {name: {other for other in known_by(name) if RANK.get(other, TOP) > RANK[name]} for name in RANK}
    assert {name: others for name, others in later.items() if others} == {}


def test_logic_and_engine_do_not_know_each_other() -> None:
    assert "logic" not in known_by("engine")


@pytest.mark.parametrize("room", ["plan", "ground"])
def test_whose_code_runs_on_any_engine(room: str) -> None:
    for file in sorted((PACKAGE / room).rglob("*.py")):
        names = {node.module or "" for node in ast.walk(parsed(file)) if isinstance(node, ast.ImportFrom)}
        # Programs for examples and tests are held against data in memory.
        known = {"base", "nodes"} | ({"connection"} if file.name == "sample_programs.py" else set())
        assert {x.split(".")[2] for x in names if x.startswith("sqlrl.engine.")} <= known, file
        assert "duckdb" not in {x.split(".")[0] for x in names}, file


@pytest.mark.slow
def test_who_knows_of_spark() -> None:
    """One switch: who opens a database says where its plans run, and no other code knows but what has files encoded there."""
    for file in PACKAGE.rglob("*.py"):
        text, place = file.read_text(encoding="utf-8"), file.relative_to(PACKAGE).parts
        if place[:2] == ("engine", "spark"):
            # The client takes a second to import, and few have it.
            assert not re.search(r"^(import|from) (pyspark|grpc)", text, re.MULTILINE), file
            continue
        assert "pyspark" not in {x.split(".")[0] for x in libraries(ast.parse(text))}, file
        known = {("__init__.py",), ("database", "database.py"), ("cli", "options.py"), ("catalog", "server_files.py")}
        assert place in known or "sqlrl.engine.spark" not in text, file


@pytest.mark.slow
@pytest.mark.parametrize("library", ["duckdb", "sqlglot"])
def test_who_knows_the_database_and_who_sql(library: str) -> None:
    # `plan/` knows no connection; who solves, learns or finds clauses knows no SQL.
    allowed = {
        "duckdb": ("engine", "catalog"),
        "sqlglot": ("engine", "catalog", "plan", "ground", "training", "script", "database"),
    }[library]
    for file in sorted(PACKAGE.rglob("*.py")):
        known = {name.split(".")[0] for name in libraries(parsed(file))}
        assert library not in known or file.relative_to(PACKAGE).parts[0] in allowed, file


def test_no_module_imports_itself_by_way_of_others() -> None:
    files = {module_name(file): file for file in PACKAGE.rglob("*.py")}
    known = {
        name: {found for found in module_imports(parsed(file), files, types=True) if found != name}
        for name, file in files.items()
    }
    done: set[str] = set()

    def visit(name: str, above: tuple[str, ...]) -> None:
        assert name not in above, " -> ".join([*above[above.index(name) :], name])
        if name not in done:
            for other in sorted(known[name]):
                visit(other, (*above, name))
            done.add(name)

    for name in sorted(known):
        visit(name, ())


@pytest.mark.slow
def test_no_import_in_a_function_is_there_because_of_a_circle() -> None:
    """Imports in functions wait for what takes long to import; what they import does not import their module when it is itself imported."""
    files = {module_name(file): file for file in PACKAGE.rglob("*.py")}
    trees = {name: parsed(file) for name, file in files.items()}
    known = {name: set(module_imports(tree, files)) - {name} for name, tree in trees.items()}

    def reached(name: str) -> set[str]:
        found, left = set[str](), [name]
        while left:
            new = known[left.pop()] - found
            found |= new
            left += new
        return found

    for name, tree in trees.items():
        later = set(module_imports(tree, files, lazy=True)) - known[name] - {name}
        assert {other for other in later if name in reached(other)} == set(), name


def test_a_class_has_a_name_of_its_own() -> None:
    found: dict[str, list[str]] = {}
    for file in sorted(PACKAGE.rglob("*.py")):
        for node in parsed(file).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found.setdefault(node.name, []).append(module_name(file))
    shared = {name: places for name, places in found.items() if len(places) > 1}
    assert shared == {}
