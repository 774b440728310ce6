"""Databases that cannot be written: what only reads works, what has to write says why it cannot."""

from __future__ import annotations

import inspect
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

import sqlrl
from sqlrl.engine import faults
from tests.cli.conftest import Project, Run, SeenError

MODEL = ("--model", "learned.json", "--examples", "test.txt")

READING: list[tuple[str, ...]] = [
    ("sql", "cite.duckdb", "from sqlrl.strongest_clauses limit 3"),
    ("sql", "-q", "cite.duckdb", "from sqlrl.strongest_clauses limit 3"),
    ("infer", "cite.duckdb", *MODEL),
    ("evaluate", "cite.duckdb", *MODEL),
    ("explain", "cite.duckdb", *MODEL[:2]),
    ("ground", "cite.duckdb", *MODEL),
    ("count", "cite.duckdb", *MODEL),
    ("bias", "cite.duckdb", "InField"),
    ("why", "cite.duckdb", *MODEL, "--atom", "InField(b0021, Author, p00)"),
    ("export", "cite.duckdb", *MODEL, "--out", "o.wcnf"),
]
WRITING: list[tuple[str, ...]] = [
    ("infer", "cite.duckdb", *MODEL, "--into", "out"),
    ("infer", "cite.duckdb", *MODEL, "--probabilities", "--means-into", "out"),
    ("learn", "cite.duckdb", "--model", "chain.mln", "--examples", "train.txt"),
    ("learn", "cite.duckdb", "--learner", "ilp", "--query", "InField"),
    ("load", "cite.duckdb", "Next2", "next.parquet", "--types", "position,position"),
    ("load", "cite.duckdb", "--refresh"),
    ("load", "new.duckdb", "Next2", "next.parquet", "--types", "position,position"),
    ("load", "cite.duckdb", "Next", "next.parquet", "--append"),
    ("remove", "cite.duckdb", "Next", "next.parquet"),
    ("define", "cite.duckdb", "Two(x, z) :- Next(x, y), Next(y, z)."),
    ("migrate", "cite.duckdb"),
]


def forbid(monkeypatch: pytest.MonkeyPatch, what: Callable[[Path], bool]) -> None:
    """Forbid to write some files, also to root, whom permissions do not bind."""
    there = os.access

    def access(path: Path, mode: int) -> bool:
        return not (mode & os.W_OK and what(Path(path))) and there(path, mode)

    monkeypatch.setattr(faults.os, "access", access)


FORBIDDEN: list[Callable[[Path], bool]] = [lambda path: path.suffix == ".duckdb", Path.is_dir]


def test_every_command_says_whether_it_has_to_write(
    run: Run, lasting: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    def opened(path: object, *, read_only: bool = False, **_: object) -> None:
        raise SeenError(f"{path} opened, read_only {read_only}")

    monkeypatch.chdir(lasting.folder)
    forbid(monkeypatch, FORBIDDEN[0])
    monkeypatch.setattr("sqlrl.database.database.connect", opened)
    for command in READING:
        assert "cite.duckdb opened, read_only True" in run(*command).err, command
    for command in WRITING:
        if command[0] != "migrate" and command[1] != "new.duckdb":
            assert "cite.duckdb cannot be written, which this command has to: " in run(*command).err, command


@pytest.mark.parametrize(
    ("what", "reading", "writing"),
    [
        pytest.param(FORBIDDEN[0], READING[:3], WRITING[:1] + WRITING[5:7], id="file", marks=pytest.mark.slow),
        pytest.param(FORBIDDEN[1], READING[:1], WRITING[6:7], id="folder"),
        pytest.param(FORBIDDEN[0], READING, WRITING, id="every command, file", marks=pytest.mark.slow),
        # What opens the file is the same for all of them.
        pytest.param(FORBIDDEN[1], READING[:3], WRITING, id="every command, folder", marks=pytest.mark.slow),
    ],
)
def test_what_reads_is_not_stopped_and_what_writes_says_why(
    run: Run,
    project: Project,
    monkeypatch: pytest.MonkeyPatch,
    what: Callable[[Path], bool],
    reading: list[tuple[str, ...]],
    writing: list[tuple[str, ...]],
) -> None:
    monkeypatch.chdir(project.folder)
    before = (project / "cite.duckdb").read_bytes()
    with monkeypatch.context() as place:
        forbid(place, what)
        seen = {command: run(*command) for command in reading}
        refused = {command: run(*command) for command in writing}
    assert (project / "cite.duckdb").read_bytes() == before
    assert (project / "new.duckdb").exists() == (what is not Path.is_dir)
    for command, outcome in refused.items():
        if what is Path.is_dir or command[1] != "new.duckdb":
            assert outcome.code == 1, command
            assert f"error: {command[1]} cannot be written, which this command has to: " in outcome.err
            assert "may not be written" in outcome.err
            assert "--read-only" not in outcome.err
    for command, outcome in seen.items():
        assert outcome.code == 0, (command, outcome.err)
        said = "cite.duckdb cannot be written: it is opened as with --read-only" in outcome.err
        assert said == (command[0] != "bias" and "-q" not in command)
        if command[0] in ("sql", "count"):
            assert outcome.out == run(*command).out


def opened(paths: list[Path]) -> Iterator[str]:
    """Open files for writing, and for reading; a process may do so from its source."""
    for path in paths:
        for read_only in (False, True):
            try:
                with sqlrl.connect(path, read_only=read_only) as db:
                    yield str(db.sql("select count(*) from t").fetchall()[0][0])
            except sqlrl.SqlrlError as error:
                yield f"{type(error).__name__} {error}"


def bound() -> list[str]:
    """How to start a process that permissions bind, root's too."""
    if os.geteuid() != 0:
        return []
    tool = shutil.which("setpriv")
    if tool is None:
        pytest.skip("permissions do not bind root, and there is no setpriv to change that")
    return [tool, "--bounding-set=-dac_override,-dac_read_search"]


@pytest.fixture
def unwritable(tmp_path: Path) -> list[Path]:
    """A file, one in a folder, and one that is not there, which are to be opened."""
    (tmp_path / "folder").mkdir()
    paths = [tmp_path / "file.duckdb", tmp_path / "folder" / "in.duckdb", tmp_path / "folder" / "new.duckdb"]
    for path in paths[:2]:
        with duckdb.connect(str(path)) as made:
            made.execute("create table t as from range(7)")
    return paths


def remedies(paths: list[Path]) -> list[str]:
    """What each of them says that is opened for writing, and for reading."""
    remedy = "To read it, open it with connect(path, read_only=True); to write, change the permissions, or copy it elsewhere."
    log = f"its folder {paths[1].parent} may not be written, where DuckDB keeps a log beside it"
    return [
        f"InputError {paths[0]} cannot be written: the file may not be written. {remedy}",
        "7",
        f"InputError {paths[1]} cannot be written: {log}. {remedy}",
        "7",
        f"InputError {paths[2]} cannot be written: {log}. Change the permissions, or name a file elsewhere.",
        f"InputError {paths[2]} does not exist, and read_only=True cannot create it.",
    ]


def test_connect_says_how_to_read_what_may_not_be_written(
    unwritable: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    forbid(monkeypatch, lambda path: path in (unwritable[0], unwritable[1].parent))
    assert list(opened(unwritable)) == remedies(unwritable)


@pytest.mark.slow
def test_permissions_of_files_are_told_alike(unwritable: list[Path]) -> None:
    file, folder = unwritable[0], unwritable[1].parent
    file.chmod(0o444)
    folder.chmod(0o555)
    code = f"from __future__ import annotations\nimport sys, sqlrl\n{inspect.getsource(opened)}\nprint(*opened(sys.argv[1:]), sep='\\n')"
    command = [*bound(), sys.executable, "-c", code, *map(str, unwritable)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    folder.chmod(0o755)
    assert done.stdout.splitlines() == remedies(unwritable)


@pytest.mark.parametrize("reason", ["Permission denied", "Read-only file system"])
def test_what_only_the_database_notices_is_told_alike(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reason: str
) -> None:
    path = tmp_path / "x.duckdb"
    sqlrl.connect(path).close()

    def refused(*_: Any, **__: Any) -> Any:
        raise duckdb.IOException(f'IO Error: Cannot open file "x.duckdb": {reason}')

    monkeypatch.setattr(duckdb, "connect", refused)
    with pytest.raises(sqlrl.SqlrlError, match=rf"cannot be written: .*{reason}\. To read it, .*read_only=True"):
        sqlrl.connect(path)


def test_who_has_to_write_a_file_that_another_process_holds_is_not_told_to_read(
    run: Run, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project.folder)
    code = "import duckdb, sys; c = duckdb.connect('cite.duckdb'); print('open', flush=True); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline().strip() == "open"
        for command in (READING[0], READING[2], WRITING[0], WRITING[4]):
            outcome = run(*command)
            assert outcome.code == 1
            assert f"is held by process {other.pid}. Wait until it ends" in outcome.err
            assert ("--read-only" in outcome.err) == (command in READING)
        other.communicate("")
