"""Memory and disk that are used up: what was, how much there was, and what to do."""

from __future__ import annotations

import sys
from pathlib import Path

import duckdb
import pytest

import sqlrl
from sqlrl.engine.faults import Storage, is_exhausted, remedy
from sqlrl.errors import EngineError

MANY = "select repeat(md5(i::text), 4) as word from range(300000) t(i)"
STORAGE = Storage("3.7 GiB", "spilled", "1.0 GiB")


def failure(db: sqlrl.Database) -> EngineError:
    with pytest.raises(EngineError) as caught:
        db.load("Word", MANY, types=["word"])
    return caught.value


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({}, ["memory_limit is 38.1 MiB", "let what exceeds it spill, SET temp_directory = 'FOLDER'"]),
        # Whether the memory or the folder is full first depends on what the threads do.
        pytest.param(
            {"max_temp_directory_size": "1MB"},
            ["memory_limit is 38.1 MiB", "spilled", "976.5 KiB"],
            marks=pytest.mark.slow,
        ),
    ],
)
def test_memory_that_is_used_up_says_how_much_there_was_and_what_to_do(
    tmp_path: Path, settings: dict[str, str], said: list[str]
) -> None:
    folder = str(tmp_path / "spilled") if settings else ""
    connection = duckdb.connect(config={"memory_limit": "40MB", "temp_directory": folder, **settings})
    with sqlrl.connect(connection) as db:
        error = failure(db)
        assert error.remedy
        lines = str(error).splitlines()
        assert lines[0].partition(": ")[2].startswith("Out of Memory Error: ")
        assert len(lines) == 2
        assert all(words in lines[1] for words in [*said, "raise the memory, SET memory_limit = 'SIZE'"])
        # What was tried is whole in the error, and works once there is room.
        assert error.sql.startswith(("INSERT", "CREATE", "SELECT"))
        connection.execute("set memory_limit = '2GB'")
        db.load("Word", MANY, types=["word"])


def test_a_database_of_ours_names_what_connect_takes() -> None:
    with sqlrl.connect(memory_limit="40MB", temp_directory="") as db:
        assert (
            "raise the memory, connect(memory_limit='SIZE'), let what exceeds it spill, connect(temp_directory='FOLDER')"
            in str(failure(db))
        )


@pytest.mark.skipif(sys.platform != "linux", reason="there is no disk that is always full")
def test_a_disk_that_is_full_is_named() -> None:
    db = sqlrl.connect()
    with pytest.raises(
        EngineError, match=r"No space left on device.*\nthe disk of /dev/full is full: free some of it"
    ) as caught:
        db.advanced.engine.execute_sql(f"copy ({MANY}) to '/dev/full' (format csv)", step="write")
    assert "while running" not in str(caught.value)


@pytest.mark.parametrize(
    ("reason", "said"),
    [
        ('IO Error: Could not write file "spilled/a.tmp": No space left on device', "spills to spilled, and that disk is full: free some"),
        ('IO Error: Could not write file "x.duckdb": No space left on device', "the disk of x.duckdb is full: free some of it, or use a"),
        (
            'TransactionContext Error: Failed to commit: Could not write file "x.duckdb.wal": Disk quota exceeded',
            "the disk of x.duckdb.wal is full",
        ),
        ("TransactionContext Error: Failed to commit: failed to pin block", "the memory is used up (memory_limit is 3.7 GiB;"),
        ("IO Error: No space left on device", "a disk is full: free some of it"),
    ],
)  # fmt: skip
def test_the_remedy_follows_from_what_is_used_up(reason: str, said: str) -> None:
    assert is_exhausted(reason)
    assert said in remedy(reason, STORAGE)


@pytest.mark.parametrize("text", ["Out of Memory Error", "out of memory", "failed to pin", "No space left on device"])
def test_words_in_data_are_no_failure_of_memory(text: str) -> None:
    db = sqlrl.connect()
    with pytest.raises(EngineError, match="while running") as caught:
        db.advanced.engine.execute_sql(f"select '{text}'::int", step="read")
    assert not caught.value.remedy
