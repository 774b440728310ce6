"""Jobs kept in a DuckDB file: known by what they are, taken from there, and tried again where they ended in a refusal."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import duckdb
import pytest
from harness import Measured, run_jobs
from job_table import JobTable

from sqlrl.report import QuietConsole


@dataclass(frozen=True)
class Square:
    number: int
    parts: tuple[str, ...] = ("a",)


@dataclass(frozen=True)
class Result:
    value: float | None
    refused: str | None = None

    @property
    def lasting(self) -> bool:
        return self.refused is None


def square(job: Square, folder: str) -> Result:
    """Leave a file, so that it is seen when this runs."""
    Path(folder, str(job.number)).write_text("", encoding="utf-8")
    return Result(job.number**2) if job.number >= 0 else Result(None, "negative")


KINDS = {"square": Result}


def test_jobs_are_done_once_whatever_folders_they_are_given(tmp_path: Path) -> None:
    path = tmp_path / "kept.duckdb"
    first, second = tmp_path / "one", tmp_path / "two"
    first.mkdir()
    second.mkdir()
    jobs = [Square(3), Square(-1), Square(3, ("b",))]
    found = run_jobs(
        square, [(job, str(first)) for job in jobs], QuietConsole(), "squares", journal=JobTable(path, KINDS)
    )
    assert [x.value for x in found] == [Result(9), Result(None, "negative"), Result(9)]
    table = JobTable(path, KINDS)
    assert (len(table), table.stale(), table.seconds > 0) == (2, 0, True)
    again = run_jobs(square, [(job, str(second)) for job in jobs], QuietConsole(), "squares", journal=table)
    # Only what was refused was tried again.
    assert [x.name for x in second.iterdir()] == ["-1"]
    assert [x.value for x in again] == [x.value for x in found]
    assert (again[0], again[2]) == (found[0], found[2])


def test_the_file_says_what_a_job_was_and_what_it_gave(tmp_path: Path) -> None:
    path = tmp_path / "kept.duckdb"
    run_jobs(square, [(Square(5), str(tmp_path))], QuietConsole(), "squares", journal=JobTable(path, KINDS))
    with duckdb.connect(str(path)) as connection:
        rows = connection.sql(
            "SELECT key ->> 'kind', key ->> 'number', result ->> 'value', memory_mb > 1 FROM experiment.job"
        )
        assert rows.fetchall() == [("square", "5", "25", True)]
        connection.execute("UPDATE experiment.job SET code = 'older'")
    table = JobTable(path, KINDS)
    assert (len(table), table.stale()) == (1, 1)
    key = table.key(square, (Square(5), "elsewhere"))
    assert json.loads(key) == {"kind": "square", "number": 5, "parts": ["a"]}
    table.forget(key)
    assert (table.get(key), table.stale()) == (None, 0)
    # Kinds that are not asked for are left alone.
    assert len(JobTable(path, {})) == 0


def test_a_table_that_is_not_there_is_empty(tmp_path: Path) -> None:
    duckdb.connect(str(tmp_path / "other.duckdb")).close()
    for name in ("none.duckdb", "other.duckdb"):
        table = JobTable(tmp_path / name, KINDS)
        assert (len(table), table.seconds, str(table)) == (0, 0, str(tmp_path / name))
    assert not (tmp_path / "none.duckdb").exists()
    key = table.key(square, (Square(2),))
    table.add(key, Measured(Result(4.0), 1.0, 2.0, ("look",)))
    assert JobTable(tmp_path / "other.duckdb", KINDS).get(key) == Measured(Result(4.0), 1.0, 2.0, ("look",))


def test_only_what_says_itself_what_it_is_can_be_a_job(tmp_path: Path) -> None:
    with pytest.raises(AssertionError):
        JobTable(tmp_path / "x", KINDS).key(square, ("text",))


def test_a_result_waits_for_a_process_that_reads_the_file(tmp_path: Path) -> None:
    path = tmp_path / "jobs.duckdb"
    duckdb.connect(str(path)).close()
    holds = f"import duckdb, time\nwith duckdb.connect({str(path)!r}, read_only=True):\n    print('', flush=True)\n    time.sleep(1)"
    with subprocess.Popen([sys.executable, "-c", holds], stdout=subprocess.PIPE) as reader:
        assert reader.stdout is not None
        reader.stdout.readline()
        table = JobTable(path, KINDS)
        table.add(table.key(square, (Square(3),)), Measured(Result(9), 1.0, 1.0))
        assert reader.poll() is not None
    assert len(JobTable(path, KINDS)) == 1
