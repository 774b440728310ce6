"""The pages in docs/: their code runs as it stands, in order, and prints what stands there.

A block of Python runs in the page's namespace, in a folder of the page's own. A `text` block after it holds what it prints; without one it
prints nothing. A block with `title="NAME"` is first written to the file NAME. Lines of `sh` and `console` blocks are commands of sqlrl; a `text`
block after them holds what these print. Blocks of SQL have a title, and a command runs the file; or the page says on which database they
are asked. Marks, each a comment of its own line:

    <!-- not run: REASON -->       the next block is not run; `NOT_RUN` counts these
    <!-- warns: CLASS, CLASS -->   the next block gives these warnings, and no others
    <!-- sql: FILE -->             blocks of SQL without a title are asked of this database
    <!-- after: PAGE N -->         the page works on what the first N blocks of PAGE leave: these run first
"""

from __future__ import annotations

import io
import itertools
import re
import shlex
import sqlite3
import warnings
from collections.abc import Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pytest
from typer.testing import CliRunner

import sqlrl
from sqlrl.cli.app import app

DOCS = Path(__file__).resolve().parent.parent.parent / "docs"
WRITTEN = "<!-- Written by scripts/"
"""What pages begin with, below their title, that a program writes: their examples are docstrings' and the commands' own."""

PAGES = sorted(
    str(path.relative_to(DOCS)) for path in DOCS.rglob("*.md") if WRITTEN not in path.read_text(encoding="utf-8")[:500]
)

NOT_RUN = {
    "howto/scoring-service.md": 1,  # FastAPI, which is no dependency
    "spark.md": 3,  # a server of Spark
}
"""How many blocks of a page are not run."""

RUN = ("python", "sql", "sh", "console")
PIECE = re.compile(
    r"^<!-- (?P<mark>not run|warns|sql|after): (?P<said>.+?) -->$"
    r"|^```(?P<language>\w+)(?P<options>[^\n]*)\n(?P<text>.*?)^```$",
    flags=re.MULTILINE | re.DOTALL,
)
CODE = re.compile(rf"^```({'|'.join(RUN)})\b", flags=re.MULTILINE)
TITLE = re.compile(r'title="([\w./-]+)"')


@dataclass(frozen=True)
class Block:
    """A fenced block: `printed` is the text that follows, `warns` the names of classes of warnings, `asked` a database."""

    language: str
    text: str
    title: str | None
    line: int
    printed: str | None
    reason: str | None
    warns: frozenset[str]
    asked: str | None


def blocks(page: str) -> Iterator[Block]:
    """Yield the blocks of a page, and before them those of another page after which it comes."""
    text = (DOCS / page).read_text(encoding="utf-8")
    reason, asked, warns = None, None, frozenset[str]()
    pieces = list(PIECE.finditer(text))
    for piece, following in itertools.zip_longest(pieces, pieces[1:]):
        said = piece["said"]
        if piece["mark"] == "after":
            other, number = said.split()
            yield from itertools.islice((each for each in blocks(other) if each.language != "text"), int(number))
        elif piece["mark"] == "not run":
            reason = said
        elif piece["mark"] == "sql":
            asked = said
        elif piece["mark"] == "warns":
            warns = frozenset(re.split(", *", said))
        else:
            title = TITLE.search(piece["options"])
            printed = (
                following["text"]
                if following and following["language"] == "text" and not TITLE.search(following["options"])
                else None
            )
            line = text.count("\n", 0, piece.start()) + 1
            yield Block(
                piece["language"], piece["text"], title[1] if title else None, line, printed, reason, warns, asked
            )
            reason, warns = None, frozenset()


def plain(text: str) -> str:
    """Return text without empty lines and spaces at ends of lines, of which DuckDB's tables have some."""
    return "\n".join(line.rstrip() for line in text.splitlines() if line.strip())


def commands(text: str) -> Iterator[list[str]]:
    """Yield the arguments of each command; a line may go on after a backslash."""
    for line in text.replace("\\\n", " ").splitlines():
        words = shlex.split(line, comments=True)
        if words:
            yield words


def command(words: list[str]) -> str:
    """Run a command, and return what it prints."""
    assert words[0] == "sqlrl", f"{words[0]} is no command of sqlrl: say <!-- not run: why -->"
    done = CliRunner().invoke(app, words[1:])
    assert done.exit_code == 0, f"{shlex.join(words)}\n{done.output}"
    return done.stdout


def printed_by(block: Block, names: dict[str, Any], page: str) -> str:
    """Run a block, and return what it prints."""
    if block.language == "python":
        output = io.StringIO()
        with redirect_stdout(output):
            exec(compile("\n" * block.line + block.text, page, "exec"), names)
        return output.getvalue()
    if block.language == "sql":
        assert block.asked, "a title, or <!-- sql: FILE -->"
        return command(["sqlrl", "sql", block.asked, block.text])
    return "".join(map(command, commands(block.text)))


@pytest.mark.docs
@pytest.mark.usefixtures("comments")
@pytest.mark.parametrize("page", [page for page in PAGES if CODE.search((DOCS / page).read_text(encoding="utf-8"))])
def test_the_code_of_a_page_runs_and_prints_what_stands_there(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.delenv("SQLRL_DB", raising=False)
    names: dict[str, Any] = {}
    skipped = 0
    for block in blocks(page):
        where = f"{page}, line {block.line}"
        if block.title:
            Path(block.title).parent.mkdir(parents=True, exist_ok=True)
            Path(block.title).write_text(block.text, encoding="utf-8")
        if block.reason:
            skipped += 1
        elif block.language in RUN and not block.title:
            with warnings.catch_warnings(record=True) as given:
                warnings.simplefilter("always")
                found = printed_by(block, names, page)
            assert {each.category.__name__ for each in given} == block.warns, (
                where,
                [str(each.message) for each in given],
            )
            if block.printed is not None:
                assert plain(found) == plain(block.printed), where
            elif block.language in {"python", "sql"}:
                assert not found, where
    for value in names.values():
        if isinstance(value, sqlrl.Database | duckdb.DuckDBPyConnection | sqlite3.Connection):
            value.close()
    assert skipped == NOT_RUN.get(page, 0), "blocks that are not run"


def test_no_code_escapes() -> None:
    """Neither in indented blocks, nor of a page that is not there, nor after a mark that is misspelled."""
    assert set(NOT_RUN) <= set(PAGES)
    for page in PAGES:
        text = (DOCS / page).read_text(encoding="utf-8")
        assert not re.search(rf"^[ \t>]+```({'|'.join(RUN)})", text, flags=re.MULTILINE), page
        for mark in re.findall(r"^<!-- (?:not run|warns|sql|after)\b.*$", text, flags=re.MULTILINE):
            assert PIECE.fullmatch(mark), (page, mark)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("```python\nprint(1)\n```\n\n```text\n2\n```\n", "line 1"),
        ("```python\nprint(1)\n```\n", "line 1"),
        ("<!-- not run: a server -->\n```python\nprint(1)\n```\n", "blocks that are not run"),
        ("```python\nimport warnings\nwarnings.warn('odd')\n```\n", "odd"),
        ("<!-- warns: UserWarning -->\n```python\n1\n```\n", "line 2"),
        ("```sh\nrm -r x\n```\n", "no command of sqlrl"),
        ("```sql\nselect 1\n```\n", "a title"),
        ("```sh\nsqlrl version\n```\n\n```text\ntwo\n```\n", "line 1"),
    ],
)
def test_wrong_pages_fail(text: str, fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "page.md").write_text(text, encoding="utf-8")
    monkeypatch.setitem(globals(), "DOCS", tmp_path)
    with pytest.raises(AssertionError, match=fault):
        test_the_code_of_a_page_runs_and_prints_what_stands_there("page.md", tmp_path, monkeypatch)
