"""The cell magic `%%sqlrl`, in the shell of notebooks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell

import sqlrl


@pytest.fixture
def shell() -> Iterator[Any]:
    InteractiveShell.clear_instance()
    made = InteractiveShell.instance()
    made.run_line_magic("load_ext", "sqlrl")
    yield made
    InteractiveShell.clear_instance()


def cell(shell: Any, text: str) -> Any:
    found = shell.run_cell(text, silent=False)
    if found.error_in_exec is not None:
        raise found.error_in_exec
    return found.result


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_cell_is_a_script(shell: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    # Without a database one in memory, the same in each cell.
    cell(shell, "%%sqlrl n=5\nCREATE TABLE t AS FROM range($n) r(x);\nFROM t LIMIT 1;\nSELECT sum(x) AS s FROM t")
    printed = capsys.readouterr().out
    assert "CREATE TABLE t: 5 rows" in printed
    assert cell(shell, "%%sqlrl\nSELECT count(*) AS n FROM t").to_pylist() == [{"n": 5}]
    # The only one among the variables; one of several by its name; a file.
    shell.user_ns["mine"] = sqlrl.connect()
    cell(shell, "%%sqlrl\nCREATE TABLE own AS SELECT 1 AS a")
    assert shell.user_ns["mine"].sql("from own").fetchall() == [(1,)]
    shell.user_ns["other"] = sqlrl.connect()
    with pytest.raises(sqlrl.SqlrlError, match=r"there are several databases, .*mine, other: name one"):
        cell(shell, "%%sqlrl\nSELECT 1")
    cell(shell, "%%sqlrl other\nCREATE TABLE own AS SELECT 2 AS a")
    assert shell.user_ns["other"].sql("from own").fetchall() == [(2,)]
    path = tmp_path / "a b.duckdb"
    cell(shell, f"%%sqlrl '{path}'\nCREATE OR REPLACE TABLE own AS SELECT 3 AS a")
    assert cell(
        shell, f"%%sqlrl '{path}' --resume\nCREATE OR REPLACE TABLE own AS SELECT 3 AS a; FROM own"
    ).to_pylist() == [{"a": 3}]
    assert "had finished before" in capsys.readouterr().out
    with pytest.raises(sqlrl.SqlrlError, match="takes one database"):
        cell(shell, "%%sqlrl mine other\nSELECT 1")
    shell.user_ns["number"] = 3
    with pytest.raises(sqlrl.SqlrlError, match="number is no database of sqlrl but of type int"):
        cell(shell, "%%sqlrl number\nSELECT 1")
    with pytest.raises(sqlrl.SqlrlError, match="<cell>:2:8"):
        cell(shell, "%%sqlrl mine\nSELECT 1;\nSELECT nothing")


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_cell_that_fails_has_said_what_came_before(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(sqlrl.SqlrlError, match="<cell>:1:41"):
        cell(shell, "%%sqlrl\nCREATE TABLE t AS FROM range(3); SELECT nothing")
    assert "CREATE TABLE t: 3 rows" in capsys.readouterr().out
    # Rows of all queries but the last are printed, and those are the value of the cell.
    last = cell(shell, "%%sqlrl\nSELECT 'first' AS a; SELECT 'second' AS a; CREATE TABLE u AS SELECT 1 AS b")
    printed = capsys.readouterr().out
    assert last.to_pylist() == [{"a": "second"}]
    assert "first" in printed
    assert "CREATE TABLE u" in printed
    for line in ("'a.duckdb", 'n="5'):
        with pytest.raises(sqlrl.SqlrlError, match="a text in quotes has no end"):
            cell(shell, f"%%sqlrl {line}\nSELECT 1")
