"""Terminals and arguments that are not UTF-8: what cannot be written is escaped, what cannot be read is refused in a sentence."""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from sqlrl.cli.app import run as run_command
from tests.cli.conftest import SMOKERS, Run

MODEL = SMOKERS + '1 Smokes("李 Zoë")\n'
FACTS = 'Friends("李 Zoë", "Ω…")\nFriends("Ω…", Bob)\n'

COMMANDS: list[tuple[str, ...]] = [
    ("--help",),
    ("infer", "--help"),
    ("infer", "--modle", "x"),
    ("infer", "--model", "Ω.mln"),
    ("infer", "--model", "m.mln", "--evidence", "e.db", "--query", "Smokes,Cancer"),
    ("infer", "--model", "m.mln", "--evidence", "e.db", "--query", "Smökes"),
    (
        "learn",
        "--model",
        "m.mln",
        "--evidence",
        "e.db,labels.db",
        "--query",
        "Smokes,Cancer",
        "--learner",
        "perceptron",
        "--out",
        "-",
    ),
    ("sql", "x.duckdb", "select 'Zoë 李…' as \"Ω\""),
    ("sql", "x.duckdb", "select 'Zoë 李…' as \"Ω\"", "--json"),
    ("sql", "x.duckdb", "select 'Zoë 李…' as \"Ω\"", "--frmat", "Ω"),
    ("sql", "x.duckdb", "select Ω from t"),
    ("load", "x.duckdb", "P", "Ω.csv", "--types", "é"),
    ("version", "--json"),
]
MORE: list[tuple[str, ...]] = [
    ("infer", "--model", "m.mln", "--evidence", "e.db", "--query", "Smokes,Cancer", "--probabilities", "-n", "1"),
    ("infer", "--model", "m.mln", "--evidence", "e.db", "--query", "Smokes,Cancer", "--json"),
    ("why", "--model", "m.mln", "--evidence", "e.db", "--query", "Smokes", "--atom", 'Smokes("Ω…")'),
    ("count", "--model", "m.mln", "--evidence", "e.db", "--evidence", "labels.db"),
    ("ground", "--model", "m.mln", "--evidence", "e.db", "--query", "Smokes,Cancer"),
    ("explain", "--model", "m.mln", "--evidence", "e.db", "--query", "Smokes,Cancer"),
    (
        "learn",
        "--model",
        "m.mln",
        "--evidence",
        "e.db,labels.db",
        "--query",
        "Smokes,Cancer",
        "--learner",
        "perceptron",
        "-vv",
    ),
]
"""Commands that print as others of those do."""


@dataclass(frozen=True)
class Written:
    code: object
    out: bytes
    err: bytes


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("encodings")
    (folder / "m.mln").write_text(MODEL, encoding="utf-8")
    (folder / "e.db").write_text(FACTS, encoding="utf-8")
    (folder / "labels.db").write_text('Smokes("Ω…")\nCancer(Bob)\n', encoding="utf-8")
    (folder / "Ω.csv").write_text("x\nΩ\n", encoding="utf-8")
    import duckdb

    duckdb.connect(str(folder / "x.duckdb")).close()
    return folder


def written(monkeypatch: pytest.MonkeyPatch, folder: Path, command: tuple[str, ...], encoding: str) -> Written:
    """What a command writes where the streams of the process have an encoding."""
    out, err = io.BytesIO(), io.BytesIO()
    with monkeypatch.context() as place:
        place.chdir(folder)
        place.setenv("COLUMNS", "120")
        place.setattr(sys, "argv", ["sqlrl", *command])
        for name, target in (("stdout", out), ("stderr", err)):
            place.setattr(sys, name, io.TextIOWrapper(target, encoding=encoding, write_through=True))
        with pytest.raises(SystemExit) as end:
            run_command()
        sys.stdout.flush()
        return Written(end.value.code, out.getvalue(), err.getvalue())


@pytest.mark.parametrize(
    "command",
    [*COMMANDS, *(pytest.param(command, marks=pytest.mark.slow) for command in MORE)],
    ids=[" ".join(command) for command in (*COMMANDS, *MORE)],
)
def test_what_an_encoding_lacks_is_escaped(
    monkeypatch: pytest.MonkeyPatch, folder: Path, tmp_path: Path, command: tuple[str, ...]
) -> None:
    results = {}
    # What cp1252 has lies between what the others have.
    for encoding in ("utf-8", "ascii", *(["cp1252"] if command[0] in ("sql", "--help") else [])):
        place = tmp_path / encoding
        shutil.copytree(folder, place)
        results[encoding] = written(monkeypatch, place, command, encoding)
    whole = results["utf-8"]
    for encoding, result in results.items():
        assert result.code == whole.code
        assert b"Traceback" not in result.err
        result.err.decode(encoding)
        if "--json" in command and result.code == 0:
            assert json.loads(result.out.decode(encoding)) == json.loads(whole.out)
        elif command[-1] == "-":  # a file, which is always UTF-8
            assert result.out == whole.out
            assert "李 Zoë" in whole.out.decode()
        else:
            shown = result.out.decode(encoding)
            assert len(shown.splitlines()) == len(whole.out.decode().splitlines())
            assert "…" not in shown or encoding != "ascii"


@pytest.mark.slow
def test_a_process_whose_output_is_ascii(folder: Path) -> None:
    # As `LC_ALL=C` does where Python may not take UTF-8 in its place.
    spoken = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONPATH": str(Path(__file__).resolve().parents[2])}
    done = subprocess.run(
        [sys.executable, "-m", "sqlrl", "sql", "x.duckdb", "select 'Zoë' as \"Ω\""],
        env=spoken, cwd=folder, capture_output=True, check=True,
    )  # fmt: skip
    assert done.stdout.split() == [b"\\u03a9", b"---", b"Zo\\xeb"]


BAD = "caf\udce9"


@pytest.mark.parametrize(
    "arguments",
    [
        ("infer", "--model", f"{BAD}.mln"),
        ("infer", "--model", "m.mln", "--query", BAD),
        ("infer", "--model", "m.mln", "--evidence", f"{BAD}.db", "--examples", "x"),
        ("sql", f"{BAD}.duckdb", "select 1"),
        ("sql", "x.duckdb", f"select '{BAD}'"),
        ("load", "x.duckdb", BAD, "f.csv"),
        ("learn", "x.duckdb", "--model", "m.mln", "--out", f"{BAD}.mln"),
        ("why", "x.duckdb", "--model", "m.mln", "--atom", f"P({BAD})"),
        (BAD,),
    ],
)
def test_arguments_that_are_no_text_are_refused(run: Run, arguments: tuple[str, ...]) -> None:
    outcome = run(*arguments)
    assert (outcome.code, outcome.out) == (2, "")
    assert r"caf\xe9" in outcome.err
    assert "is no text in utf-8" in outcome.err


def test_so_is_a_database_that_the_environment_names(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SQLRL_DB", f"{BAD}.duckdb")
    outcome = run("sql", "select 1")
    assert outcome.code == 2
    assert r"SQLRL_DB 'caf\xe9.duckdb' is no text" in " ".join(outcome.err.split())


@pytest.mark.parametrize(
    "arguments",
    [
        ("sql", "x.duckdb", "-"),
        ("define", "x.duckdb", "-"),
        ("infer", "--model", "-", "--evidence", "e.db"),
        ("infer", "--model", "m.mln", "--evidence", "-", "--query", "Smokes"),
        ("infer", "--model", "m.mln", "--evidence", "e.db", "--query", "Smokes", "--examples", "-"),
        ("infer", "--model", "m.mln", "--evidence", "e.db", "--query", "bad.txt"),
        ("infer", "--model", "m.mln", "--evidence", "e.db", "--query", "Smokes", "--examples", "bad.txt"),
        ("infer", "--model", "bad.mln", "--evidence", "e.db"),
        ("infer", "--model", "m.mln", "--evidence", "bad.txt"),
    ],
)
def test_files_and_standard_input_that_are_no_text_are_refused(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
) -> None:
    monkeypatch.chdir(folder)
    content = b"P(Zo\xeb)\n"
    for name in ("bad.txt", "bad.mln"):
        (folder / name).write_bytes(content)
    outcome = run(*arguments, stdin=content)
    assert outcome.code == 1
    assert "no UTF-8 text: byte 4 is damaged" in outcome.err
