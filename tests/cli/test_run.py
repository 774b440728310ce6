"""`sqlrl run`: arguments, variables, what is printed where, and a script that was stopped."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import duckdb
import pytest

from tests.cli.conftest import Project, Run

SCRIPT = """
CREATE OR REPLACE TABLE few AS SELECT DISTINCT bib FROM {words} LIMIT $n;
CREATE OR REPLACE MODEL chain FROM '{model}';
SELECT count(*) AS n FROM few;
SHOW MODELS;
"""


@pytest.fixture
def script(project: Project) -> Path:
    path = project / "learn.sql"
    words = "(SELECT bib FROM sqlrl.named_Token)"
    path.write_text(SCRIPT.format(words=words, model=project / "chain.mln"), encoding="utf-8")
    return path


def test_a_script_on_a_file(run: Run, project: Project, script: Path) -> None:
    found = run("run", project / "cite.duckdb", script, "--set", "n=3")
    assert found.code == 0
    assert found.out.splitlines()[:3] == ["n", "-", "3"]
    assert "CREATE OR REPLACE TABLE few: 3 rows" in found.err
    assert "CREATE OR REPLACE MODEL chain: 3 rules" in found.err or "CREATE MODEL chain: 3 rules" in found.err
    again = run("run", script, project / "cite.duckdb", "--set", "n=3", "--resume")
    assert again.err.count("had finished before") == 2
    rows = run("run", script, "--db", project / "cite.duckdb", "--set", "n=2", "--json").rows()
    assert [(row["line"], row["skipped"]) for row in rows] == [(2, False), (3, False), (4, False), (5, False)]
    assert rows[2]["rows"] == [{"n": 2}]
    assert rows[0]["rows"] is None


def test_in_memory_from_standard_input_and_values(run: Run, tmp_path: Path) -> None:
    found = run(
        "run",
        "-",
        "--set",
        "a=1",
        "--set",
        "b=0.5",
        "--set",
        "c=true",
        "--set",
        "d=it's",
        "--set",
        "e='5'",
        "--json",
        stdin="SELECT $a a, $b b, $c c, $d d, $e e",
    )
    assert found.rows()[0]["rows"] == [{"a": 1, "b": 0.5, "c": True, "d": "it's", "e": "5"}]
    new = tmp_path / "new.duckdb"
    assert run("run", new, "-", stdin="CREATE TABLE t AS SELECT 1 AS a").code == 0
    assert duckdb.connect(new).sql("from t").fetchall() == [(1,)]
    assert run("run", "-", "--rows", "2", stdin="FROM range(10)").out.count("\n") <= 6


def test_what_is_wrong(run: Run, project: Project, script: Path, tmp_path: Path) -> None:
    missing = run("run", project / "cite.duckdb", script)
    assert missing.code == 1
    assert f"{script}:2:" in missing.err
    assert "there is no variable n: give it with --set n=VALUE" in missing.err
    assert run("run", "-", "--set", "n", stdin="").code == 2
    assert run("run", "-", "--set", "a b=1", stdin="").code == 2
    nothing = run("run", tmp_path / "nothing.sql")
    assert (nothing.code, "nothing.sql" in nothing.err) == (1, True)
    failed = run("run", "-", stdin="SELECT 1;\nSELECT nothing")
    assert (failed.code, failed.out.splitlines()[-1].strip()) == (1, "1")
    assert "standard input:2:8: Binder Error" in failed.err


@pytest.mark.slow
def test_ctrl_c_leaves_what_was_done_and_the_rest_is_resumed(tmp_path: Path) -> None:
    path, script = tmp_path / "a.duckdb", tmp_path / "slow.sql"
    slow = "SELECT count(*) AS n FROM range(100000) a, range(100000) b WHERE hash(a.range, b.range) % 7 = $part"
    script.write_text(
        f"CREATE OR REPLACE TABLE first AS FROM range(5);\nBEGIN; INSERT INTO first VALUES (9);\n{slow};\nCOMMIT;\n",
        encoding="utf-8",
    )
    command = [sys.executable, "-m", "sqlrl", "run", str(path), str(script)]
    process = subprocess.Popen([*command, "--set", "part=1"], stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stderr is not None
    for line in process.stderr:
        if "INSERT" in line:
            break
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    process.communicate()
    assert process.returncode == 130
    script.write_text(script.read_text(encoding="utf-8").replace("range(100000)", "range(10)"), encoding="utf-8")
    done = subprocess.run([*command, "--set", "part=1", "--resume"], capture_output=True, text=True, check=True)
    assert "CREATE OR REPLACE TABLE first: 5 rows (had finished before)" in done.stderr
    with duckdb.connect(path) as connection:
        assert connection.sql("select count(*) from first").fetchall() == [(6,)]
