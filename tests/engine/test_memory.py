"""What is available to a process: of the machine, and of every group of processes (cgroup) around it, by files as the kernel writes them."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

import sqlrl
from sqlrl.engine import memory
from sqlrl.engine.memory import LEAST, PROCESS, SHARE, WHOLE, WORKING, Available, Memory, available_memory

GB = 10**9
UNLIMITED = "9223372036854771712"  # as the first version writes it


def second(limit: str, used: int, inactive: int = 0, active: int = 0) -> dict[str, str]:
    """Return the files of a group of the second version."""
    stat = f"anon 5\nfile 999\ninactive_file {inactive}\nactive_file {active}\nslab_reclaimable 7\n"
    return {"memory.max": f"{limit}\n", "memory.current": f"{used}\n", "memory.stat": stat}


def first(limit: str, used: int, inactive: int = 0, active: int = 0) -> dict[str, str]:
    """Return the files of a group of the first version, whose plain counts leave out what is inside of the group."""
    stat = f"inactive_file 1\nactive_file 1\ntotal_inactive_file {inactive}\ntotal_active_file {active}\n"
    return {"memory.limit_in_bytes": f"{limit}\n", "memory.usage_in_bytes": f"{used}\n", "memory.stat": stat}


CASES: dict[str, tuple[int, str, dict[str, dict[str, str]], Available]] = {
    "no groups": (5 * GB, "", {}, Available(5 * GB, container=False)),
    "a group without a limit": (5 * GB, "0::/a\n", {"a": second("max", GB)}, Available(5 * GB, container=False)),
    "a limit": (5 * GB, "0::/a\n", {"a": second(str(2 * GB), GB)}, Available(GB, container=True)),
    "cached files are free": (
        5 * GB,
        "0::/a\n",
        {"a": second(str(2 * GB), 3 * GB // 2, GB // 2, GB // 4)},
        Available(5 * GB // 4, container=True),
    ),
    "an ancestor is full": (
        5 * GB,
        "0::/a/b/c\n",
        {"a": second(str(3 * GB), 5 * GB // 2), "a/b": second("max", 2 * GB), "a/b/c": second(str(2 * GB), GB)},
        Available(GB // 2, container=True),
    ),
    "more than its limit": (5 * GB, "0::/a\n", {"a": second(str(GB), 2 * GB)}, Available(0, container=True)),
    "the machine is full": (GB, "0::/a\n", {"a": second(str(3 * GB), GB)}, Available(GB, container=False)),
    "the first version": (
        5 * GB,
        "5:cpu:/x\n4:memory:/a/b\n0::/\n",
        {"memory/a": first(UNLIMITED, 4 * GB), "memory/a/b": first(str(2 * GB), GB, GB // 4, GB // 4)},
        Available(3 * GB // 2, container=True),
    ),
    "the path of the host": (
        5 * GB,
        "4:memory:/docker/0123\n",
        {"memory": first(str(2 * GB), GB)},
        Available(GB, container=True),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_available_memory_heeds_every_group(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    free, groups, files, expected = CASES[name]
    (tmp_path / "proc" / "self").mkdir(parents=True)
    (tmp_path / "proc" / "self" / "cgroup").write_text(groups)
    (tmp_path / "proc" / "meminfo").write_text(
        f"MemTotal: 99 kB\nMemFree: 7 kB\nMemAvailable: {free // 1000 * 1000 // 1024} kB\n"
    )
    for folder, content in files.items():
        (tmp_path / "cgroup" / folder).mkdir(parents=True, exist_ok=True)
        for file, text in content.items():
            (tmp_path / "cgroup" / folder / file).write_text(text)
    monkeypatch.setattr(memory, "_PROC", tmp_path / "proc")
    monkeypatch.setattr(memory, "_CGROUPS", tmp_path / "cgroup")
    found = available_memory()
    assert found.container == expected.container
    assert found.size == pytest.approx(expected.size, abs=1024)


@pytest.mark.parametrize("available", [0, 10**8, 4 * 10**8, GB, 8 * GB, 500 * GB])
@pytest.mark.parametrize("resident", [0, 10**8, 50 * GB])
def test_shares_never_exceed_what_is_available(available: int, resident: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "available_memory", lambda: Available(available, container=False))
    monkeypatch.setattr(memory, "resident_memory", lambda: resident)
    for fixed in (False, True):
        found = Memory.of_machine(fixed=fixed)
        assert found.limit - PROCESS <= max(SHARE * available, LEAST)
        for arrays in (0, found.arrays // 20, found.arrays // 2, found.arrays):
            assert found.share(arrays) > 0
            # A small part is not worth a statement.
            assert found.share(arrays) + arrays <= (found.limit - PROCESS) * 17 / 16
        assert 0 < found.arrays < found.limit
    assert Memory.of_machine(apart=True).arrays == round(SHARE * available)


def test_a_connection_of_the_user_keeps_its_settings() -> None:
    with duckdb.connect(config={"memory_limit": "3GB", "temp_directory": "elsewhere"}) as connection:
        names = ("memory_limit", "temp_directory", "max_temp_directory_size", "threads")
        settings = "select " + ", ".join(f"current_setting('{name}')" for name in names)
        before = connection.execute(settings).fetchall()
        with sqlrl.connect(connection, progress=False) as db:
            db.load("D", "select 'c' || range from range(1000)", types=("t",))
            db.predict(sqlrl.parse_mln("D(t)\nQ(t)\n1 D(x) => Q(x)", query=["Q"]))
            assert connection.execute(settings).fetchall() == before
        assert connection.execute(settings).fetchall() == before


def test_a_database_that_is_open_already_keeps_its_settings(tmp_path: Path) -> None:
    file = str(tmp_path / "a.duckdb")
    settings = "select current_setting('memory_limit'), current_setting('temp_directory')"
    with duckdb.connect(file) as connection:
        connection.execute(f"set memory_limit = '1.5GB'; set temp_directory = '{tmp_path / 'mine'}'")
        before = connection.execute(settings).fetchall()
        with sqlrl.connect(file, progress=False):
            assert connection.execute(settings).fetchall() == before


def test_a_small_limit_is_one_of_arrays_too() -> None:
    found = Memory.of(WHOLE - 1)
    assert (found.arrays, found.share(), found.apart) == (WHOLE - 1, WHOLE - 1, True)
    assert Memory.of(WHOLE).arrays == WHOLE - PROCESS - WORKING
