"""What compares two commits: sums of results, modules that a call passes through, modules with one importer."""

from __future__ import annotations

import ast
import hashlib
import json
import threading
from pathlib import Path

import importers
import passage
import pytest
import same_results
from same_results import CASES, Found, Setting, exact, lines, rows_of

import sqlrl


def test_floats_are_written_exactly() -> None:
    assert [float.fromhex(exact(x)) for x in (0.1, 1e-320, -2.5)] == [0.1, 1e-320, -2.5]
    assert exact(0.1) != exact(0.1 + 2**-56)
    assert lines(["a", "b"], [(1, None), (True, "x\ty")]) == b'a\tb\n1\tnull\ntrue\t"x\\ty"\n'


def test_sums_are_printed_written_and_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    settings: list[Setting] = []

    def case(setting: Setting) -> Found:
        settings.append(setting)
        return {"model": b"P(a)", "a/b": b""}

    monkeypatch.setattr(same_results, "CASES", {"one": case, "other": CASES["loading"]})
    same_results.main(["--case", "one", "--json", str(tmp_path / "a.json"), "--keep", str(tmp_path / "kept")])
    sums = [hashlib.sha256(content).hexdigest() for content in (b"P(a)", b"")]
    assert capsys.readouterr().out == f"one | model | 4 | {sums[0]}\none | a/b | 0 | {sums[1]}\n"
    rows = json.loads((tmp_path / "a.json").read_text(encoding="utf-8"))
    assert rows == rows_of("one", case(Setting()))
    assert (tmp_path / "kept" / "one" / "model").read_bytes() == b"P(a)"
    assert (tmp_path / "kept" / "one" / "a-b").read_bytes() == b""
    assert settings[0] == Setting()


def test_modules_that_a_call_passes_through() -> None:
    db = sqlrl.connect()

    def elsewhere() -> None:
        thread = threading.Thread(target=db.load, args=("P", [("a",)]), kwargs={"types": ["t"]})
        thread.start()
        thread.join()

    assert passage.modules_of(lambda: None) == []
    found = passage.modules_of(elsewhere)
    assert found == sorted(set(found))
    assert any(name.startswith("sqlrl.catalog.") for name in found)
    assert not any(name.startswith("sqlrl.solve") for name in found)


def test_passage_prints_a_line_for_each_call(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(passage, "session", lambda citations: {"fit": ["sqlrl.a", "sqlrl.b"], "count": ["sqlrl.a"]})
    passage.main([])
    assert capsys.readouterr().out == "fit: 2 modules\ncount: 1 modules\n"
    passage.main(["-v", "--citations", "8"])
    assert capsys.readouterr().out == "fit: 2 modules\n  sqlrl.a\n  sqlrl.b\ncount: 1 modules\n  sqlrl.a\n"
    with pytest.raises(SystemExit):
        passage.main(["--citations", "3"])


PACKAGE = {
    "__init__.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from pack.room.deep import Deep",
    "room/__init__.py": '"""Passes on."""\nfrom pack.room.shown import shown\nfrom pack.room.alone import alone',
    "room/shown.py": "from pack.room.deep import Deep\nfrom pack import below\n\n\ndef shown(): ...",
    "room/deep.py": "import pack.below\nclass Deep: ...",
    "room/alone.py": "def alone(): ...",
    "user.py": "def use():\n    from pack.room import shown\n    from pack.lone import x",
    "below.py": "",
    "lone.py": 'x = 1\n"""What x is."""\n\n# Why.\ny = (\n    x\n)',
}


def test_modules_with_one_importer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, text in PACKAGE.items():
        path = tmp_path / "pack" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    found = importers.importers(importers.read_modules(tmp_path / "pack"))
    assert found["pack.room.shown"] == {"pack.user"}
    assert found["pack.room.alone"] == {"pack.room"}
    assert found["pack.room.deep"] == {"pack.room.shown"}
    assert found["pack.below"] == {"pack.room.shown", "pack.room.deep"}
    assert found["pack.user"] == set()
    importers.main(["--package", str(tmp_path / "pack")])
    head, *rest = capsys.readouterr().out.splitlines()
    assert head.startswith("4 of 8 modules have one importer. A sign, not a limit")
    assert rest == [
        "",
        "no room: 1 modules, 4 lines of code",
        "     4 pack.lone <- pack.user",
        "",
        "room: 3 modules, 6 lines of code",
        "     1 pack.room.alone <- pack.room",
        "     2 pack.room.deep <- pack.room.shown",
        "     3 pack.room.shown <- pack.user",
    ]


@pytest.mark.slow
def test_every_module_of_sqlrl_is_read() -> None:
    folder = Path(sqlrl.__file__).parent
    modules = importers.read_modules(folder)
    assert len(modules) == len(list(folder.rglob("*.py")))
    assert modules["sqlrl.errors"].lines < len((folder / "errors.py").read_text(encoding="utf-8").splitlines())
    assert importers.home(modules, "sqlrl.learn", "AdaGrad") not in {"sqlrl.learn", "sqlrl"}
    assert importers.lines_of_code("", ast.parse("")) == 0
