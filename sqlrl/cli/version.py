"""`sqlrl version`."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as installed

import typer

from sqlrl.cli.options import Json

_PACKAGES = ("sqlrl", "duckdb", "sqlglot", "numpy", "scipy", "ortools", "pyarrow", "numba")


def version(as_json: Json = False) -> None:
    """Print the versions of sqlrl, Python and the libraries that results depend on; `sqlrl doctor` looks whether they work.

    sqlrl version --json
    """
    rows = [{"package": "python", "version": platform.python_version()}]
    for package in _PACKAGES:
        try:
            found = installed(package)
        except PackageNotFoundError:
            found = "not installed"
        rows.append({"package": package, "version": found})
    if as_json:
        from sqlrl.cli.session import print_json

        print_json(rows)
        return
    rows.insert(0, rows.pop(1))
    for row in rows:
        typer.echo(f"{row['package']:<10}{row['version']}")
