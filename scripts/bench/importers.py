"""Modules of sqlrl that only one other module imports: a sign that they may be a part of it, and no limit to keep.

Some stand alone for a good reason: one idea, a heavy library that is imported late, a page of contract. Imports are read from
the source, also those inside functions and those for types alone. Who takes a name from a package whose `__init__` imports it from a module
imports that module; the `__init__` itself counts only where nobody does.

    python scripts/bench/importers.py [--package DIR]
"""

from __future__ import annotations

import argparse
import ast
import io
import tokenize
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

import sqlrl

NOTE = "A sign, not a limit: a module with an idea of its own may well have one importer."
LAYOUT = {tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.COMMENT, tokenize.ENDMARKER}
DOCUMENTED = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


class Module(NamedTuple):
    """A module of a package.

    Parameters
    ----------
    name : str
        With its package: `sqlrl.logic.terms`.
    package : bool
        Whether it is the `__init__` of a folder.
    tree : ast.Module
    lines : int
        Lines of code: without empty lines, comments and docstrings.
    """

    name: str
    package: bool
    tree: ast.Module
    lines: int

    @property
    def room(self) -> str:
        """The first name below the package; empty for a module in no room."""
        parts = self.name.split(".")
        return parts[1] if len(parts) > 2 or (self.package and len(parts) > 1) else ""


def read_modules(folder: Path) -> dict[str, Module]:
    """Return the modules below the folder of a package by name."""
    found: dict[str, Module] = {}
    for path in sorted(folder.rglob("*.py")):
        parts = [folder.name, *path.relative_to(folder).with_suffix("").parts]
        package = parts[-1] == "__init__"
        name, text = ".".join(parts[:-1] if package else parts), path.read_text(encoding="utf-8")
        tree = ast.parse(text)
        found[name] = Module(name, package, tree, lines_of_code(text, tree))
    return found


def lines_of_code(text: str, tree: ast.Module) -> int:
    r"""Return the number of lines of code: without empty lines, comments and docstrings.

    Examples
    --------
    >>> text = '"Doc."\n\n# Why.\ndef f():\n    "Doc."\n    return (1,\n            2)\n'
    >>> lines_of_code(text, ast.parse(text))
    3
    """
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in LAYOUT:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(tree):
        # Texts that stand by themselves document what is above them.
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            lines.difference_update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return len(lines)


def imports(tree: ast.Module) -> Iterator[tuple[str, str]]:
    r"""Return what a module imports: a module, and a name in it or nothing.

    Examples
    --------
    >>> list(imports(ast.parse("import a.b\nfrom c import d, e")))
    [('a.b', ''), ('c', 'd'), ('c', 'e')]
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield from ((node.module, alias.name) for alias in node.names)


def home(modules: Mapping[str, Module], module: str, name: str) -> str:
    """Return the module from which a name comes, through packages that pass it on."""
    if f"{module}.{name}" in modules:
        return f"{module}.{name}"
    if name and module in modules and modules[module].package:
        for other, passed_on in imports(modules[module].tree):
            if passed_on == name and other != module:
                return home(modules, other, name)
    return module


def importers(modules: Mapping[str, Module]) -> dict[str, set[str]]:
    """Return for each module those that import it; the `__init__` of its own folder only where no other does."""
    found: dict[str, set[str]] = {name: set() for name in modules}
    passing: dict[str, set[str]] = {name: set() for name in modules}
    for module in modules.values():
        for other, name in imports(module.tree):
            source = home(modules, other, name)
            if source in found and source != module.name:
                shown = module.package and source.startswith(f"{module.name}.")
                (passing if shown else found)[source].add(module.name)
    return {name: found[name] or passing[name] for name in modules}


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the modules that have one importer, by room."""
    parser = argparse.ArgumentParser(description="Modules of sqlrl that only one other module imports.")
    parser.add_argument("--package", type=Path, metavar="DIR", help="the folder of the package (default: sqlrl's own)")
    given = parser.parse_args(arguments)
    modules = read_modules((given.package or Path(sqlrl.__file__).parent).resolve())
    found = importers(modules)
    single = [module for name, module in modules.items() if len(found[name]) == 1 and not module.package]
    print(f"{len(single)} of {len(modules)} modules have one importer. {NOTE}")
    for room, part in groupby(sorted(single, key=lambda m: (m.room, m.name)), key=lambda m: m.room):
        members = list(part)
        print(f"\n{room or 'no room'}: {len(members)} modules, {sum(m.lines for m in members)} lines of code")
        for module in members:
            (importer,) = found[module.name]
            print(f"  {module.lines:4} {module.name} <- {importer}")


if __name__ == "__main__":
    main()
