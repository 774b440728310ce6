"""Mutants: which there are, who runs their line, and whether a suite notices them."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import mutants
import pytest
import recorded
from mutants import Mutant, callers_of_kernels, drawn, mutants_of, runners, stale
from recorded import Recorded

SOURCE = '''
from sqlrl.kernels import kernel


@kernel
def inner(a: int) -> int:
    return a + 1


@kernel
def outer(a: int) -> int:
    return inner(a)


def least(values: list[int], strict: bool = True) -> int:
    """Return the least value, 0 of none."""
    if not values:
        return 0
    found = outer(values[0]) - 1
    for value in values[1:]:
        if value < found or value == found - 1:
            found = value
    return found
'''

TESTS = """
import pytest
from sqlrl.made import least


def test_none():
    assert least([]) == 0


@pytest.mark.slow
def test_some():
    assert least([3, 2, 4]) == 2
"""


def changed(line: str) -> list[str]:
    """The mutants of a line in a function."""
    return [mutant.after.strip() for mutant in mutants_of(f"def f(a, b):\n    {line}\n", "f.py", 2)]


@pytest.mark.parametrize(
    ("line", "after"),
    [
        ("return a < (b)", ["return a  <=  (b)"]),
        ("return (a) is not b", ["return (a)  is  b"]),
        ("return a and not b", ["return a  or  not b", "return a and (b)"]),
        ("return [a, True]", ["return [a, False]"]),
        ("a += 2", ["pass", "a += 3"]),
        ("a.sort()", ["pass"]),
        ("x: int = a // b", ["x: int = a  *  b"]),
        ("return b if a else a", ["return b if (not (a)) else a"]),
        ("return zip(a, b, strict=True)", []),
        ('raise ValueError("a" + b)', []),
        ('"""Words of 1 - 2."""', []),
    ],
)
def test_a_line_has_mutants(line: str, after: list[str]) -> None:
    assert changed(line) == after


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A checkout of a small package, which has kernels that are not compiled, and its tests."""
    tree = tmp_path / "tree"
    (tree / "sqlrl").mkdir(parents=True)
    (tree / "sqlrl" / "__init__.py").touch()
    (tree / "sqlrl" / "kernels.py").write_text("def kernel(function): return function\n")
    (tree / "sqlrl" / "made.py").write_text(SOURCE)
    (tree / "test_made.py").write_text(TESTS)
    (tree / "pytest.ini").write_text("[pytest]\nmarkers = slow\n")
    return tree


def line_of(text: str) -> int:
    return SOURCE.splitlines().index(text) + 1


def test_mutants_are_drawn_by_the_seed_from_kernels_and_elsewhere(tree: Path) -> None:
    found = drawn(tree, "seed", 4, 1)
    assert found == drawn(tree, "seed", 4, 1)
    assert [mutant.kernel for mutant in found] == [True, False, False, False]
    assert found[0].after == "    return a  -  1"
    assert len({mutant.line for mutant in found}) == 4


def test_a_kernel_is_run_by_those_that_call_it_through_others(tree: Path) -> None:
    call = line_of("    found = outer(values[0]) - 1")
    assert callers_of_kernels(tree)["sqlrl/made.py", "inner"] == ({("sqlrl/made.py", call)}, {"inner", "outer"})
    mutant = Mutant("sqlrl/made.py", line_of("    return a + 1"), "    return a + 1", "    return a - 1", kernel=True)
    one = Recorded("t::one", 0.1, {"sqlrl/made.py": frozenset({call, 20})})
    small = Recorded("t::small", 0.1, {"sqlrl/made.py": frozenset({call})})
    other = Recorded("t::other", 0.1, {"sqlrl/made.py": frozenset({call - 1})})
    assert runners(mutant, tree, [one, small, other]) == [small, one]
    (tree / "tests" / "made.py").mkdir(parents=True)
    (tree / "tests" / "made.py" / "test_kernels.py").write_text("from sqlrl.made import outer")
    direct = Recorded("tests/made.py/test_kernels.py::test_outer", 0.1, {})
    assert runners(mutant, tree, [one, direct]) == [direct, one]
    near = Recorded("tests/test_made.py::test_near", 5.0, {"sqlrl/made.py": frozenset({call, 20, 21})})
    assert runners(mutant, tree, [one, small, near]) == [near, small, one]


def test_machine_code_of_those_that_may_hold_a_kernel_is_stale(tree: Path) -> None:
    room = tree / "sqlrl" / "room"
    room.mkdir()
    marked = "from sqlrl.kernels import kernel\n\n\n@kernel\ndef f(a: int) -> int:\n    return a\n"
    for name, text in {
        "first": "from sqlrl.made import outer\n" + marked,
        "second": "from sqlrl.room import first\n" + marked,
        "third": "from sqlrl.room.second import f as g\n" + marked,
        "plain": "from sqlrl.made import outer\n",
        "other": marked,
    }.items():
        (room / f"{name}.py").write_text(text)
    names = ["sqlrl/made.py", *(f"sqlrl/room/{name}.py" for name in ("first", "second", "third"))]
    assert stale(tree, "sqlrl/made.py") == names
    (room / "plain.py").write_text("from numba.extending import overload\n")
    mutants._imports.cache_clear()
    assert stale(tree, "sqlrl/made.py") == sorted([*names, "sqlrl/room/other.py"])


@pytest.mark.slow  # five runs of pytest in processes of their own
def test_a_record_says_who_notices_a_mutant(
    tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for command in (
        ["init", "-q"],
        ["add", "."],
        ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "all"],
    ):
        subprocess.run(["git", *command], cwd=tree, check=True)
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)
    record = tmp_path / "record"
    assert mutants.main(["record", "--tree", str(tree), "--out", str(record), "-p", "no:cacheprovider"]) == 0
    tests, arcs = recorded.read(record, tree)
    assert {test.test for test in tests} == {"test_made.py::test_none", "test_made.py::test_some"}
    assert mutants.collected(tree, "slow") == {"test_made.py::test_some"}
    empty, guess = line_of("        return 0"), line_of("            found = value")
    lines = {test.test: test.lines["sqlrl/made.py"] for test in tests}
    assert (empty in lines["test_made.py::test_none"], guess in lines["test_made.py::test_none"]) == (True, False)
    assert (empty in lines["test_made.py::test_some"], guess in lines["test_made.py::test_some"]) == (False, True)
    assert (guess - 1, guess) in arcs["sqlrl/made.py"]

    before = "        return 0"
    noticed = [
        Mutant("sqlrl/made.py", empty, before, "        return 1", kernel=False),
        Mutant("sqlrl/made.py", guess, "            found = value", "            pass", kernel=False),
        Mutant("sqlrl/made.py", empty, before, "        return False", kernel=False),
    ]
    monkeypatch.setattr(mutants, "drawn", lambda *_: noticed)
    out = tmp_path / "outcomes.json"
    work = ["plant", "--tree", str(tree), "--record", str(record), "--json", str(out)]
    assert mutants.main([*work, "--before", str(tree), "--before-record", str(record)]) == 0
    caught = {row["mutant"]["after"].strip(): (row["caught"], row["test"]) for row in json.loads(out.read_text())}
    assert caught == {
        "return 1": ("quick", "test_made.py::test_none"),
        "pass": ("slow", "test_made.py::test_some"),
        "return False": ("", ""),
    }
    assert "quick tier 1, slow tier 1, only before 0, nobody 1" in capsys.readouterr().out
    assert mutants.main(["coverage", "--tree", str(tree), "--record", str(record)]) == 0
    assert capsys.readouterr().out.startswith("lines ")
