"""`sqlrl doctor`: what it looks at, and that it says how to mend what is broken."""

from __future__ import annotations

import json
import platform
import subprocess
import sys
import tempfile
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest

from sqlrl import compilation, kernels
from sqlrl.cli import doctor
from sqlrl.engine import memory, spill
from tests.cli.conftest import Run

COLUMNS = ["check", "found", "status", "remedy"]


def test_all_is_well_here(run: Run, tmp_path: Path) -> None:
    done = run("doctor", "--directory", tmp_path, "--json")
    assert done.code == 0
    rows = {row["check"]: row for row in done.rows()}
    assert all(list(row) == COLUMNS for row in rows.values())
    assert rows["python"]["found"] == platform.python_version()
    for name in ("sqlrl", "duckdb", "ortools", "numpy", "numba", "pyarrow", "sqlglot"):
        assert rows[name] == {"check": name, "found": version(name), "status": "ok", "remedy": ""}
    assert int(rows["cores"]["found"]) >= 1
    assert rows["working folder"]["found"].startswith(str(tmp_path))
    assert {"database", "memory", "temporary folder", "machine code"} <= set(rows)
    # Those who develop have them all.
    extras = {check: row["status"] for check, row in rows.items() if check.startswith("extra ")}
    assert extras == dict.fromkeys([f"extra {name}" for name in ("frames", "plots", "report", "spark", "yaml")], "ok")
    assert "warning" not in done.err
    assert not {row["status"] for row in rows.values()} & {doctor.BROKEN}
    assert "sqlrl can work here" in done.err


@pytest.mark.slow
def test_a_process_without_a_main_file() -> None:
    """There the client of Spark would end the process when it is imported for the first time."""
    code = "import sys; from sqlrl.cli import main; sys.argv = ['sqlrl', 'doctor', '--json']; main()"
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (spark,) = [row for row in json.loads(done.stdout) if row["check"] == "extra spark"]
    assert spark["status"] == "ok"


def test_a_package_that_lacks_or_is_old_breaks_it(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def found(name: str) -> str:
        if name == "duckdb":
            raise PackageNotFoundError(name)
        return "1.9" if name == "numpy" else version(name)

    monkeypatch.setattr(doctor, "installed", found)
    done = run("doctor", "--json")
    assert done.code == 1
    rows = {row["check"]: row for row in done.rows()}
    assert (rows["duckdb"]["status"], rows["duckdb"]["found"]) == ("broken", "not installed")
    assert rows["duckdb"]["remedy"].startswith("pip install --upgrade 'duckdb>=")
    assert rows["numpy"]["found"] == "1.9, older than 2"
    assert "error: duckdb: not installed: pip install" in done.err
    assert "numpy: 1.9, older than 2: pip install" in done.err


def test_a_package_that_does_not_load_and_an_extra_that_is_not_there(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    real = doctor.import_module

    def imported(name: str) -> object:
        if name in ("scipy", "polars"):
            raise ImportError(f"{name}: built for another machine")
        return real(name)

    monkeypatch.setattr(doctor, "import_module", imported)
    done = run("doctor", "--json")
    rows = {row["check"]: row for row in done.rows()}
    assert done.code == 1
    assert rows["scipy"]["found"] == "cannot be imported: scipy: built for another machine"
    assert (rows["extra frames"]["status"], rows["extra frames"]["remedy"]) == ("absent", "pip install 'sqlrl[frames]'")
    assert rows["extra frames"]["found"].endswith("without polars")


def test_folders_that_cannot_be_written(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    missing = tmp_path / "missing"
    monkeypatch.setattr(kernels, "_cache", lambda function: kernels._Unkept("neither this nor that can be written"))
    monkeypatch.setattr(doctor, "_temporary", lambda: missing)
    done = run("doctor", "--directory", missing, "--json")
    rows = {row["check"]: row for row in done.rows()}
    assert done.code == 1
    assert (rows["working folder"]["status"], rows["temporary folder"]["status"]) == ("warning", "broken")
    assert rows["temporary folder"]["remedy"] == "set TMPDIR to a folder that can be written"
    assert (rows["machine code"]["status"], rows["machine code"]["found"]) == (
        "warning",
        "not kept: neither this nor that can be written",
    )
    assert "NUMBA_CACHE_DIR" in rows["machine code"]["remedy"]


def test_the_limit_of_a_container_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "machine_memory", lambda: 500_000_000)
    monkeypatch.setattr(memory, "physical_memory", lambda: 16_000_000_000)
    monkeypatch.setattr(memory, "available_memory", lambda: memory.Available(400_000_000, container=True))
    monkeypatch.setattr(memory, "resident_memory", lambda: 100_000_000)
    found = doctor._memory()
    assert found.found == (
        "16 GB, of which the container may take 500 MB; 400 MB are available, bounded by the container: by default a database takes 80% of that, "
        "up to 420 MB with sqlrl itself"
    )
    assert (found.status == "warning") == (2 * memory.PROCESS > 500_000_000)


def test_the_folder_to_spill_to_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(spill, "candidates", lambda path=":memory:": [tmp_path])
    assert doctor._spill().found.startswith(f"{tmp_path}, ")
    monkeypatch.setattr(spill, "in_memory", lambda folder: True)
    found = doctor._spill()
    assert (found.status, found.found) == ("warning", f"none: {tmp_path} is in memory or cannot be written")
    assert "TMPDIR" in found.remedy
    assert "connect(temp_directory='FOLDER')" in found.remedy


def test_a_full_disk_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    class Usage:
        free = 5_000_000

    monkeypatch.setattr(doctor.shutil, "disk_usage", lambda folder: Usage())
    found = doctor._disk("working folder", Path(tempfile.gettempdir()))
    assert (found.status, found.remedy.split(":")[0]) == ("warning", "make room")


def test_remedies_are_not_cut_in_narrow_terminals(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setattr(doctor, "_temporary", lambda: None)
    done = run("doctor")
    assert done.code == 1
    assert "set TMPDIR to a folder that can be written" in " ".join(done.out.split())


def test_python_that_keeps_no_bytecode_is_a_warning(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    assert doctor._bytecode() == doctor.Check("bytecode", "kept")
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(doctor, "_COMPILED", ("small",))
    (tmp_path / "small").mkdir()
    (tmp_path / "small" / "__init__.py").write_text("")
    check = doctor._bytecode()
    assert check.status == doctor.WARNING
    assert check.found.startswith("not kept, and small compiled again")
    assert "unset PYTHONDONTWRITEBYTECODE" in check.remedy
    # What the remedy says helps.
    command = check.remedy.split(": ", 1)[1]
    subprocess.run(command.split(), check=True)
    assert doctor._bytecode().status == doctor.OK


def test_all_is_compiled_ahead_if_asked_for(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compilation, "compile_ahead", lambda: compilation.CompilationReport(130, 7, "a folder"))
    done = run("doctor", "--compile")
    assert done.code == 0
    assert "7 of 130 signatures of kernels compiled; all are kept in a folder" in done.err


def test_code_that_cannot_be_kept_fails_when_it_is_to_be_compiled_ahead(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compilation, "cache_folder", lambda: ("", "neither this nor that can be written"))
    done = run("doctor", "--compile")
    assert done.code == 1
    assert done.err.startswith("error: machine code cannot be kept (neither this nor that can be written): set")
    assert done.out == ""


def test_ctrl_c_says_that_what_is_compiled_stays(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(compilation, "compile_ahead", stopped)
    done = run("doctor", "--compile")
    assert done.code == 130
    assert "what is compiled so far is kept" in done.err
