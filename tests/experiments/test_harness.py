"""The harness of the experiments: options, measured processes, and what is kept."""

from __future__ import annotations

import json
import os
import warnings
from pathlib import Path

import duckdb
import pytest
from harness import Options, keep, measure, peak_memory_mb, publish, read_options, run_jobs, to_table, versions
from journal import Journal

from sqlrl.report import PlainConsole, QuietConsole


def allocate(megabytes: int) -> int:
    """Hold that much memory for a moment."""
    return len(bytearray(os.urandom(1) * (megabytes << 20)))


def warn_twice() -> None:
    """Warn of one thing twice."""
    warnings.warn("look here", UserWarning, stacklevel=1)
    warnings.warn("look here", UserWarning, stacklevel=1)


def test_options(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("SQLRL_DATA", str(tmp_path))
    assert read_options("x", []) == Options(tmp_path)
    found = read_options("x", ["--seed", "4", "--quick", "--db", "a.duckdb", "--json", "-", "--quiet"])
    assert found == Options(tmp_path, 4, True, Path("a.duckdb"), "-", True)
    with pytest.raises(SystemExit):
        read_options("x", [], needs="citeseer")
    assert "citeseer: give --data DIR or set SQLRL_DATA" in capsys.readouterr().err


def test_further_options(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    choices = {"task": ("amine", "toxic"), "protocol": ("paper", "both-new")}
    given = ["--data", str(tmp_path), "--task", "toxic"]
    assert read_options("x", given, choices=choices) == Options(tmp_path, chosen={"task": "toxic"})
    assert read_options("x", [*given, "--processes", "2"], choices=choices).processes == 2
    numbers = {"divisions": "how often"}
    assert read_options("x", given, choices=choices, numbers=numbers).numbers == {"divisions": 1}
    assert read_options("x", [*given, "--divisions", "5"], choices=choices, numbers=numbers).numbers == {"divisions": 5}
    for wrong, said in (
        (["--protocol", "new"], "both-new"),
        (["--processes", "0"], "--processes must be 1 or more, not 0"),
        (["--divisions", "0"], "--divisions must be 1 or more, not 0"),
    ):
        with pytest.raises(SystemExit):
            read_options("x", [*given, *wrong], choices=choices, numbers=numbers)
        assert said in capsys.readouterr().err


def fail_or_write(path: str | None) -> None:
    """Fail without a path; else leave a file there."""
    if path is None:
        raise ValueError("no path")
    Path(path).write_text("done", encoding="utf-8")


def test_jobs_at_the_same_time_keep_their_order_and_stop_at_a_failure(tmp_path: Path) -> None:
    small, large = run_jobs(allocate, [(3,), (1,)], QuietConsole(), "jobs", 2)
    assert (small.value >> 20, large.value >> 20) == (3, 1)
    paths = [tmp_path / str(k) for k in range(4)]
    with pytest.raises(ValueError, match="no path"):
        run_jobs(fail_or_write, [(None,), *((str(path),) for path in paths)], QuietConsole(), "jobs")
    assert not paths[-1].exists()


def test_jobs_that_are_done_are_taken_from_the_journal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = Options(tmp_path, db=tmp_path / "kept.duckdb", quiet=True)
    journal = options.journal
    assert journal == tmp_path / "kept.duckdb.jobs"
    paths = [tmp_path / str(k) for k in range(2)]
    jobs = [(str(path),) for path in paths]
    with pytest.raises(ValueError, match="no path"):
        run_jobs(fail_or_write, [jobs[0], (None,)], PlainConsole(), "jobs", journal=journal)
    assert "1 of 2 jobs kept in" in capsys.readouterr().err
    with journal.open("ab") as file:
        file.write(b"\x80\x04\x95")  # a result that was cut off
    paths[0].unlink()
    first, second = run_jobs(fail_or_write, jobs, PlainConsole(), "jobs", journal=journal)
    assert "1 of 2 jobs taken from" in capsys.readouterr().err
    assert (paths[0].exists(), paths[1].exists()) == (False, True)
    assert first.memory_mb > 0
    paths[1].unlink()
    assert run_jobs(fail_or_write, jobs, QuietConsole(), "jobs", journal=journal) == [first, second]
    assert not paths[1].exists()
    # Other arguments, another function and other libraries are other jobs; what is published is done.
    kept = Journal(journal, versions())
    for function, job, depends in (
        (fail_or_write, ("x",), versions()),
        (allocate, jobs[0], versions()),
        (fail_or_write, jobs[0], {**versions(), "duckdb": "1.0"}),
    ):
        assert kept.get(Journal(journal, depends).key(function, job)) is None
    assert kept.get(kept.key(fail_or_write, jobs[0])) == first
    publish("trial", [{"f1": 1.5}], options)
    assert not journal.exists()


def test_a_job_does_not_inherit_the_memory_of_this_process() -> None:
    held = b"x" * (600 << 20)
    assert peak_memory_mb() > 600
    small, large = run_jobs(allocate, [(1,), (300,)], QuietConsole(), "jobs")
    assert small.value == 1 << 20
    assert small.memory_mb < 500
    assert large.memory_mb > small.memory_mb + 200
    assert held


def test_measure_collects_distinct_warnings() -> None:
    measured = measure(warn_twice)
    assert measured.warnings == ("look here",)
    assert measured.seconds >= 0


def test_publish_prints_writes_and_keeps(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [{"system": "ours", "f1": 86.5, "memory_mb": 300.25}, {"system": "paper", "f1": 82.62, "memory_mb": None}]
    options = Options(tmp_path, db=tmp_path / "kept.duckdb", json=str(tmp_path / "rows.json"), quiet=True)
    publish("trial", rows, options, title="Trial", parameters={"rate": 1.0}, details=[{"seed": 1, "none": None}])
    assert "paper" in capsys.readouterr().out
    assert json.loads((tmp_path / "rows.json").read_text(encoding="utf-8")) == rows
    with duckdb.connect(str(tmp_path / "kept.duckdb")) as connection:
        assert connection.sql("SELECT * FROM experiment.trial ORDER BY f1 DESC").fetchall() == [
            (1, "ours", 86.5, 300.25), (1, "paper", 82.62, None),
        ]  # fmt: skip
        assert connection.sql("SELECT run, seed FROM experiment.trial_runs").fetchall() == [(1, 1)]
        parameters = connection.sql("SELECT parameters FROM experiment.run").fetchall()[0][0]
        assert json.loads(parameters) == {"seed": 0, "quick": False, "rate": 1.0}


def test_a_file_shows_names_whole(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    many = {f"column {k}": 0.125 for k in range(20)}
    publish("trial", [{"system": "ALEPH++ ExactL1", **many}, {"system": "ALEPH++ ExactL2", **many}], Options(tmp_path))
    lines = capsys.readouterr().out.splitlines()
    assert [line.split("  ")[0] for line in lines[-2:]] == ["ALEPH++ ExactL1", "ALEPH++ ExactL2"]
    assert all(name in lines[-4] for name in many)


def test_json_on_standard_output_stays_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    publish("trial", [{"f1": 1.5}], Options(tmp_path, json="-", quiet=True))
    captured = capsys.readouterr()
    assert json.loads(captured.out) == [{"f1": 1.5}]
    assert "1.5" in captured.err


def test_kept_tables_grow_columns_and_take_any_name(tmp_path: Path) -> None:
    path, name = tmp_path / "kept.duckdb", 'x"; DROP SCHEMA experiment; --'
    assert keep(path, "s", {}, {name: to_table([{'a "b"': 1}])}) == 1
    assert keep(path, "s", {}, {name: to_table([{'a "b"': 2, "later": "y"}, {"later": "z"}])}) == 2
    with duckdb.connect(str(path)) as connection:
        quoted = name.replace('"', '""')
        rows = connection.sql(f'SELECT * FROM experiment."{quoted}" ORDER BY ALL NULLS LAST').fetchall()
    assert rows == [(1, 1, None), (2, 2, "y"), (2, None, "z")]
