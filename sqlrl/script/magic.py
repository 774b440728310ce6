"""The cell magic `%%sqlrl` of notebooks: a cell is a script."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

from sqlrl.errors import InputError
from sqlrl.report import Table
from sqlrl.script.runner import Done, run_script
from sqlrl.script.settings import variable_value

KEPT = "_sqlrl_database"
"""The variable of a notebook that holds the database in memory of cells that name none."""


def load_ipython_extension(shell: Any) -> None:
    """Give an IPython shell the cell magic `%%sqlrl`; `%load_ext sqlrl` calls this."""

    def sqlrl(line: str, cell: str) -> Table | None:
        """Run a script of SQL: %%sqlrl [database] [--resume] [NAME=VALUE ...].

        The database is a variable that holds one, or a file; without it that of the notebook's variables, if there is only one, else one in memory.
        Returns the rows of the last query; each statement says what it did.
        """
        name, variables, resume = _arguments(line)
        shown = _Shown()
        run_script(
            _database(shell, name), cell, path="<cell>", variables=variables, resume=resume, on_statement=shown.show
        )
        return shown.last

    shell.register_magic_function(sqlrl, magic_kind="cell", magic_name="sqlrl")


def _arguments(line: str) -> tuple[str | None, dict[str, str], bool]:
    """Return the database that a line names, the variables that it sets, and whether to resume."""
    name: str | None = None
    variables: dict[str, Any] = {}
    resume = False
    try:
        words = shlex.split(line)
    except ValueError:
        raise InputError(f"%%sqlrl {line}: a text in quotes has no end") from None
    for word in words:
        key, equals, value = word.partition("=")
        if word == "--resume":
            resume = True
        elif equals and key.isidentifier():
            variables[key] = variable_value(value)
        elif name is None:
            name = word
        else:
            raise InputError(f"%%sqlrl takes one database, and {name} and {word} are two")
    return name, variables, resume


def _database(shell: Any, name: str | None) -> Any:
    """Return the database that a cell runs on."""
    import sqlrl

    space = shell.user_ns
    if name is None:
        known = {id(x): x for key, x in space.items() if isinstance(x, sqlrl.Database) and key != KEPT}
        if len(known) > 1:
            names = [key for key, x in space.items() if isinstance(x, sqlrl.Database) and key != KEPT]
            raise InputError(f"there are several databases, {', '.join(names)}: name one, %%sqlrl {names[0]}")
        if known:
            return next(iter(known.values()))
        if KEPT not in space:
            space[KEPT] = sqlrl.connect()
        return space[KEPT]
    held = space.get(name)
    if isinstance(held, sqlrl.Database):
        return held
    if held is not None:
        raise InputError(f"{name} is no database of sqlrl but of type {type(held).__name__}")
    path = str(Path(name).absolute())
    files = space.setdefault(f"{KEPT}s", {})
    if path not in files:
        files[path] = sqlrl.connect(name)
    return files[path]


class _Shown:
    """Prints what each statement did once it has run, but for the rows of the last query, which the cell returns."""

    def __init__(self) -> None:
        self.last: Table | None = None

    def show(self, done: Done) -> None:
        """Print a statement; its rows when those of another query come."""
        if done.table is not None:
            if self.last is not None:
                print(self.last)  # noqa: T201
            self.last = done.table
        print(done)  # noqa: T201
