"""Settings that no database can have are refused by a sentence before one is opened, whatever DuckDB would make of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest

import sqlrl
from sqlrl.engine.connection import connect
from sqlrl.errors import InputError

WRONG = {
    "threads": [2.7, 10**9, 1025, 0, -1, True, False, "two", "2", "", float("nan"), float("inf"), [2], np.float64(2)],
    "memory_limit": [
        *(
            "-5",
            "-1",
            "0GB",
            "0",
            "",
            " ",
            "lots",
            "none",
            "5",
            "1KB",
            "999kB",
            "+2GB",
            "1e3MB",
            "nan",
            "inf",
            "2g",
            "120%",
            "0%",
        ),
        *("999999999999TB", "4GB;", "4 GB x", 5, 4.0, True, float("nan"), b"4GB"),
    ],
    "temp_directory": [True, 5, 0, float("nan"), b"x", Path(__file__)],
}
RIGHT = {
    "threads": [1, 2, np.int64(3), 1024],
    "memory_limit": ["64MB", "1.5GiB", " 2 gb ", "80%", "1000000kB"],
    "temp_directory": ["", Path("spilled")],
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_no_setting_is_refused(name: str, tmp_path: Path) -> None:
    path = tmp_path / "new.duckdb"
    own = duckdb.connect()
    for value in WRONG[name]:
        for target in (path, ":memory:", own):
            with pytest.raises(InputError, match=rf"^{name}=.* (must be .*|is a file: .*)\.$"):
                sqlrl.connect(target, **{name: value})
        assert not path.exists(), value


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in RIGHT.items() for value in values])
def test_what_is_one_is_taken(name: str, value: Any) -> None:
    engine = connect(**{name: value})
    (found,) = engine.connection.execute(f"select current_setting('{name}')").fetchall()[0]
    assert name == "memory_limit" or str(found) == str(value)
    engine.close()
