"""Whoever closes the pipe to which a command prints, as `head` does, loses what would have been printed and nothing else."""

from __future__ import annotations

import io
from contextlib import redirect_stdout
from pathlib import Path

import duckdb
import pytest

from sqlrl.cli.app import app
from sqlrl.report.console import PlainConsole
from tests.cli.conftest import Project

_LEARN = ("learn", "cite.duckdb", "--model", "chain.mln", "--examples", "train.txt", "--out", "out.mln")
_MODES = "modeP(2, Token(#-, +, .))\nmodeP(1, Next(-, -))\nmodeP(2, InField(., #., +))\n"
_BIAS = "modeh(1, InField(+bib, #field, +position)).\nmodeb(1, Token(#token, +position, +bib))."
_TEST = ("cite.duckdb", "--model", "learned.json", "--examples", "test.txt")


class Closed(io.TextIOBase):
    """Standard output whose reader is gone."""

    encoding = "utf-8"

    def __init__(self, file: io.BufferedWriter) -> None:
        self._file = file

    def write(self, text: str) -> int:
        raise BrokenPipeError(32, "Broken pipe")

    def fileno(self) -> int:
        return self._file.fileno()


@pytest.fixture
def closed(monkeypatch: pytest.MonkeyPatch, project: Project) -> Project:
    """A project, and its folder as the place where commands run."""
    monkeypatch.delenv("SQLRL_DB", raising=False)
    monkeypatch.chdir(project.folder)
    Path("osl.modes").write_text(_MODES, encoding="utf-8")
    Path("ilp.modes").write_text(_BIAS, encoding="utf-8")
    return project


def _end(*arguments: str) -> object:
    """Return the exit code of a command whose output is closed."""
    with Path("nowhere").open("wb") as file, redirect_stdout(Closed(file)), pytest.raises(SystemExit) as end:
        app(list(arguments))
    return end.value.code


@pytest.mark.parametrize(
    ("arguments", "file"),
    [
        pytest.param((*_LEARN, "--learner", "adagrad"), "out.mln", id="online"),
        pytest.param((*_LEARN, "--learner", "pscg", "--max-iterations", "1"), "out.mln", id="batch"),
        pytest.param(
            (*_LEARN, "--learner", "osl", "--modes", "osl.modes", "--json"), "out.mln", id="osl", marks=pytest.mark.slow
        ),
        pytest.param(
            ("learn", "cite.duckdb", "--learner", "ilp", "--bias", "ilp.modes", "--nodes", "5", "--out", "out.json"),
            "out.json",
            id="ilp",
            marks=pytest.mark.slow,
        ),
        pytest.param(("export", *_TEST, "--out", "out.wcnf", "--json"), "out.wcnf", id="export"),
        pytest.param(
            ("load", "new.duckdb", "Next", "next.parquet", "--types", "position,position"), "new.duckdb", id="load"
        ),
        pytest.param(
            ("demo", "--citations", "20", "--directory", "kept"), "kept/model.mln", id="demo", marks=pytest.mark.slow
        ),
    ],
)
def test_files_are_written_before_anything_is_printed(
    closed: Project, arguments: tuple[str, ...], file: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert _end(*arguments) == 141
    assert (closed / file).stat().st_size
    err = capfd.readouterr().err
    assert "error" not in err
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("arguments", "query"),
    [
        pytest.param(("infer", *_TEST, "--into", "guess", "--json"), "from guess", id="into"),
        pytest.param(
            ("infer", *_TEST, "--probabilities", "--into", "guess", "--json"),
            "from guess where probability > 0",
            id="marginals",
            marks=pytest.mark.slow,
        ),
        pytest.param(("infer", *_TEST, "--keep"), "from sqlrl.prediction", id="keep"),
        pytest.param(
            ("why", *_TEST, "--keep", "--atom", "InField(b0021, Author, p00)"),
            "from sqlrl.explanation",
            id="why",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            ("define", "cite.duckdb", "Second(x, z) :- Next(x, y), Next(y, z)."),
            "from sqlrl.predicate where predicate = 'Second'",
            id="define",
        ),
    ],
)
def test_tables_are_written_before_anything_is_printed(closed: Project, arguments: tuple[str, ...], query: str) -> None:
    assert _end(*arguments) == 141
    with duckdb.connect(str(closed / "cite.duckdb"), read_only=True) as connection:
        assert connection.execute(query).fetchone() is not None


def test_messages_that_nobody_reads_stop_no_work(tmp_path: Path) -> None:
    with (tmp_path / "nowhere").open("wb") as file:
        console = PlainConsole(Closed(file))
        console.message("the model is in m.mln")
        console.warning("labels violate a hard clause")
