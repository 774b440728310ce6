"""A PostgreSQL server of this process, where one is installed: views run on it through psql."""

from __future__ import annotations

import csv
import io
import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

_EMPTY = "set client_min_messages = warning;\ndrop schema public cascade;\ncreate schema public;\n"


@dataclass(frozen=True)
class Postgres:
    """A server; `run` gives the rows of the last statement of a script in an empty schema, each value as text, None for NULL."""

    socket: Path
    user: str | None

    def run(self, script: str, database: str = "postgres") -> list[tuple[str | None, ...]]:
        """Run a script; what fails ends it."""
        done = subprocess.run(
            [
                *("psql", "-X", "-q", "--csv", "-t", "-h", str(self.socket), "-U", "tester", "-d", database),
                *("-v", "ON_ERROR_STOP=1", "-P", r"null=\N", "-f", "-"),
            ],
            input=(_EMPTY + script).encode(), capture_output=True, user=self.user, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr.decode()
        rows = csv.reader(io.StringIO(done.stdout.decode(), newline=""))
        return [tuple(None if value == r"\N" else value for value in row) for row in rows]


def installed() -> bool:
    """Whether there is a server, and somebody to run it: it does not run as root."""
    return all(map(shutil.which, ("initdb", "pg_ctl", "psql"))) and (os.getuid() != 0 or _other() is not None)


def _other() -> str | None:
    """A user in whose name root may run the server."""
    known = {each.pw_name for each in pwd.getpwall()}
    return next((name for name in ("postgres", "nobody") if name in known), None)


@contextmanager
def server() -> Iterator[Postgres]:
    """Start a server on a socket in a folder of its own."""
    user = _other() if os.getuid() == 0 else None
    # The path of a socket has at most 107 bytes.
    with tempfile.TemporaryDirectory(prefix="pg") as name:
        folder = Path(name)
        if user is not None:
            shutil.chown(folder, user)
        data = folder / "data"

        def call(*command: str) -> None:
            subprocess.run(command, check=True, capture_output=True, user=user, cwd=folder)

        call("initdb", "-D", str(data), "-U", "tester", "-A", "trust", "-E", "UTF8", "--locale=C", "-N")
        options = f"-k {folder} -c listen_addresses='' -c fsync=off"
        call("pg_ctl", "-D", str(data), "-w", "-l", str(folder / "log"), "-o", options, "start")
        try:
            yield Postgres(folder, user)
        finally:
            call("pg_ctl", "-D", str(data), "-m", "immediate", "-w", "stop")


def table_script(name: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """The statements that make a table; the column `truth` is a boolean, all others are texts."""

    def quoted(text: str) -> str:
        return '"' + text.replace('"', '""') + '"'

    def literal(value: object) -> str:
        return str(value).lower() if isinstance(value, bool) else "'" + str(value).replace("'", "''") + "'"

    listed = ", ".join(f"{quoted(c)} {'boolean' if c == 'truth' else 'text'}" for c in columns)
    script = f"create table {quoted(name)} ({listed});\n"
    if rows:
        values = ", ".join("(" + ", ".join(map(literal, row)) + ")" for row in rows)
        script += f"insert into {quoted(name)} values {values};\n"
    return script
