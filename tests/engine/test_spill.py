"""Where databases spill: on a disk, never in the working folder, locked while their process lives, and removed when it has died."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import sqlrl
from sqlrl.engine import spill
from sqlrl.engine.spill import LOCK, PREFIX, in_memory, remove_dead, spill_folder

FILL = "create or replace table big as select range as a, hash(range) as b from range(4_000_000)"
"""About 64 MB of values that nothing compresses."""

MOUNTS = """\
22 27 0:21 / /proc rw - proc proc rw
27 1 254:0 / / rw,relatime - ext4 /dev/vda rw
28 27 0:25 / /tmp rw,relatime shared:3 - tmpfs tmp rw
29 28 0:26 / /tmp/disk rw - xfs /dev/vdb rw
30 27 0:27 / /with\\040space rw - tmpfs tmp rw
31 27 0:28 / /twice rw - tmpfs tmp rw
32 27 0:29 / /twice rw - btrfs /dev/vdc rw
33 27 0:30 / /ram rw - ramfs ram rw
"""


def left(folder: Path) -> list[str]:
    """Return the names of what spilling has left in a folder."""
    return sorted(x.name for x in folder.iterdir() if x.name.startswith(PREFIX))


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a temporary folder for this test alone, beside an empty working folder."""
    for name in ("temporary", "working"):
        (tmp_path / name).mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    monkeypatch.chdir(tmp_path / "working")
    return tmp_path / "temporary"


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        ("/", False), ("/tmp", True), ("/tmp/a/b", True), ("/tmp/disk", False), ("/tmp/disk/x", False), ("/tmpfs", False),
        ("/with space/x", True), ("/twice", False), ("/ram/x", True), ("/var/tmp", False),
    ],
)  # fmt: skip
def test_file_systems_in_memory_are_known(
    place: str, expected: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mountinfo").write_text(MOUNTS)
    monkeypatch.setattr(spill, "_MOUNTS", tmp_path / "mountinfo")
    monkeypatch.setattr(Path, "resolve", lambda self: self)
    assert in_memory(Path(place)) == expected


@pytest.mark.parametrize("trusted", [True, False])
def test_a_database_in_memory_spills_to_the_temporary_folder(temporary: Path, *, trusted: bool) -> None:
    with sqlrl.connect(memory_limit="40MB", threads=1, trusted=trusted, progress=False) as db:
        db.sql(FILL)
        [(size,)] = db.sql("select count(*) from duckdb_temporary_files()").fetchall()
        assert size
        assert [name.endswith(LOCK) for name in left(temporary)] == [False, True]
        assert not list(Path.cwd().iterdir())
    assert not left(temporary)
    assert not list(Path.cwd().iterdir())


@pytest.mark.parametrize("trusted", [True, False])
def test_connections_to_a_file_share_a_folder_beside_it(temporary: Path, *, trusted: bool) -> None:
    file = temporary.parent / "data.duckdb"
    options = {"memory_limit": "40MB", "threads": 1, "trusted": trusted, "progress": False}
    with sqlrl.connect(file, **options) as db:
        # The settings of a sealed database are locked.
        with sqlrl.connect(file, **options if trusted else {"trusted": False, "progress": False}):
            assert len(left(file.parent)) == 1
        assert len(left(file.parent)) == 1
        db.sql("create temp table big as select range as a, hash(range) as b from range(4_000_000)")
        assert len(left(file.parent)) == 2
    assert not left(file.parent)
    assert not left(temporary)


def test_a_folder_in_memory_is_passed_over(temporary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(temporary.parent / "working"))
    monkeypatch.setattr(spill, "in_memory", lambda folder: folder == temporary or str(folder) == "/var/tmp")
    found = spill_folder(":memory:")
    assert found is not None
    assert found.path.parent == temporary.parent / "working"
    found.release()
    assert not left(temporary.parent / "working")


def test_where_nothing_is_on_a_disk_nothing_is_spilled_and_that_is_said(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(spill, "in_memory", lambda folder: True)
    with sqlrl.connect(memory_limit="40MB", threads=1, progress=False) as db:
        assert "connect(temp_directory=...)" in caplog.text
        assert "TMPDIR" in caplog.text
        with pytest.raises(sqlrl.SqlrlError, match="connect\\(temp_directory='FOLDER'\\)"):
            db.sql(FILL)


def test_what_is_given_stays(temporary: Path) -> None:
    with sqlrl.connect(temp_directory=temporary / "mine", progress=False) as db:
        assert db.sql("select current_setting('temp_directory')").fetchall() == [(str(temporary / "mine"),)]
        assert not left(temporary)


SPILLING = f"""
import sys, tempfile, sqlrl
tempfile.tempdir = sys.argv[1]
db = sqlrl.connect(memory_limit="40MB", threads=1, progress=False)
db.sql({FILL!r})
print("spilled", flush=True)
sys.stdin.read()
"""


# A process of its own imports everything: about two seconds.
@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="locks and kills as on Unix")
def test_what_a_killed_process_left_is_removed_and_a_live_one_keeps_its_own(temporary: Path) -> None:
    command = [sys.executable, "-c", SPILLING, str(temporary)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=temporary) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"spilled\n"
        before = left(temporary)
        assert len(before) == 2
        sqlrl.connect(progress=False).close()
        assert left(temporary) == before
        process.kill()
        process.wait()
    assert left(temporary) == before
    sqlrl.connect(progress=False).close()
    assert not left(temporary)


@pytest.mark.slow
def test_a_process_that_ends_without_closing_leaves_nothing(temporary: Path) -> None:
    command = [sys.executable, "-c", SPILLING, str(temporary)]
    done = subprocess.run(command, input=b"", capture_output=True, cwd=temporary, check=True)
    assert done.stdout == b"spilled\n"
    assert not left(temporary)


def test_folders_that_nobody_can_tell_of_stay(tmp_path: Path) -> None:
    (tmp_path / f"{PREFIX}0123").mkdir()
    (tmp_path / "other.lock").write_text("")
    outside = tmp_path / "outside"
    outside.write_text("kept")
    (tmp_path / f"{PREFIX}4567{LOCK}").symlink_to(outside)
    remove_dead(tmp_path)
    assert left(tmp_path) == [f"{PREFIX}0123", f"{PREFIX}4567{LOCK}"]
    assert outside.read_text() == "kept"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked on Unix alone")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_process_removes_nothing_of_the_one_it_came_from(temporary: Path) -> None:
    found = spill_folder(":memory:")
    assert found is not None
    child = os.fork()
    if not child:
        found.release()
        os._exit(0)
    os.waitpid(child, 0)
    assert left(temporary) == [found.path.name + LOCK]
    found.release()
    assert not left(temporary)
