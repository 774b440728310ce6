"""Bad input ends with a message that names the place and the remedy, and with the right exit code; nothing is lost."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from tests.cli.conftest import Project, Run

HOSTILE = [
    "o'clock",
    'say "hi"',
    "a; drop table sqlrl.type; --",
    "new\tyork",
    "κόσμος",
    "[red]x[/red]",
    "%s",
    "select 1",
]
TOGETHER = "; ".join(reversed(HOSTILE))
"""All of them in one name, which begins as a query."""


@pytest.fixture(scope="module")
def broken(lasting: Project, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A project with files that have faults, which no command may change."""
    project = Project(tmp_path_factory.mktemp("broken"))
    shutil.copytree(lasting.folder, project.folder, dirs_exist_ok=True)
    (project / "damaged.parquet").write_bytes(b"PAR1" + b"x" * 100 + b"PAR1")
    (project / "syntax.mln").write_text("P(x)\n1.5 P(x => P(y)\n", encoding="utf-8")
    (project / "unknown.mln").write_text("Token(token, position, bib)\n1 Tokn(t, p, c)\n", encoding="utf-8")
    (project / "nodata.mln").write_text(
        "InField(bib, field, position)\nVenue(bib)\n1 Venue(c) => InField(c, f, p)\n", encoding="utf-8"
    )
    (project / "empty.mln").write_text("", encoding="utf-8")
    (project / "header.csv").write_text("a\n", encoding="utf-8")
    (project / "wrong.db").write_text("Smokes(Anna\n", encoding="utf-8")
    return project


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["load", "{}/new.duckdb", "P", "{}/absent.parquet"], ["absent.parquet", "no such file"]),
        (["load", "{}/new.duckdb", "P", "{}/damaged.parquet"], ["damaged.parquet", "damaged"]),
        (["load", "{}/absent/new.duckdb", "P", "{}/token.parquet"], ["no directory"]),
        (["load", "{}/token.parquet", "P", "{}/token.parquet"], ["token.parquet", "not a DuckDB database"]),
        (["load", "{}/new.duckdb", "P", "-"], ["standard input"]),
        (["load", "{}/cite.duckdb", "Token", "{}/token.parquet", "--columns", "token,where,bib"], ["where"]),
        (["sql", "{}/absent.duckdb", "select 1"], ["absent.duckdb", "sqlrl load"]),
        (["sql", "{}/cite.duckdb", "select * from nowhere"], ["nowhere"]),
        (["sql", "{}/cite.duckdb", "select 'a'::int"], ["Could not convert"]),
        (["migrate", "{}/absent.duckdb"], ["absent.duckdb"]),
        (["ground", "{}/cite.duckdb", "-m", "{}/absent.mln"], ["absent.mln"]),
        (["ground", "{}/cite.duckdb", "-m", "{}/syntax.mln"], ["syntax.mln:2:", "^"]),
        (["ground", "{}/cite.duckdb", "-m", "{}/unknown.mln"], ["Tokn", "Token"]),
        (["ground", "{}/cite.duckdb", "-m", "{}/nodata.mln"], ["Venue", "--drop"]),
        (["ground", "{}/cite.duckdb", "-m", "{}/chain.mln", "--query", "InFeld"], ["InFeld", "InField", "--query"]),
        (["ground", "{}/cite.duckdb", "-m", "{}/chain.mln", "--examples", "values ('b1')"], ["b1", "--examples"]),
        (["ground", "{}/cite.duckdb", "-m", "{}/chain.mln", "--limit", "10"], ["10", "--limit"]),
        (["infer", "{}/cite.duckdb", "-m", "{}/chain.mln"], ["has no weight", "chain.mln:5"]),
        (["infer", "-m", "{}/smokers.mln", "-e", "{}/wrong.db", "--query", "Smokes"], ["wrong.db", "^"]),
        (["learn", "{}/cite.duckdb", "-m", "{}/chain.mln", "--learning-rate", "-1"], ["--learning-rate -1"]),
        (["learn", "{}/cite.duckdb", "-m", "{}/chain.mln", "--window", "0"], ["--window 0"]),
        (["learn", "{}/cite.duckdb", "-m", "{}/chain.mln", "--delta", "nan"], ["--delta nan"]),
        (["learn", "{}/cite.duckdb", "-m", "{}/chain.mln", "--drop", "Nex"], ["'Nex'", "'Next'"]),
        (["infer", "{}/cite.duckdb", "-m", "{}/chain.mln", "--drop", "Token,Next,InField"], ["no rules", "InField"]),
        (["count", "{}/cite.duckdb", "-m", "{}/empty.mln"], ["empty.mln", "no rules"]),
        (["count", "{}/cite.duckdb", "-m", "{}/chain.mln", "--world", "{}/absent.csv"], ["absent.csv"]),
        (["ground", "{}", "-m", "{}/chain.mln"], ["directory"]),
        (["ground", "{}/cite.duckdb", "-m", "{}"], [".mln or .json"]),
        (["ground", "-m", "{}/smokers.mln", "-e", "{}/smokers.db,{}/absent.db"], ["absent.db", "no such file"]),
        (["ground", "-m", "{}/smokers.mln", "-e", "{}"], ["irectory"]),
        (["sql", "{}/cite.duckdb", " "], ["no SQL"]),
        (["load", "{}/new.duckdb", "P", "{}/header.csv", "--types", "t"], ["header.csv", "--empty allow"]),
        (["load", "{}/new.duckdb", "-e", "{}/empty.mln", "-m", "{}/smokers.mln"], ["no atoms", "--empty allow"]),
        (["demo", "--directory", "{}/chain.mln"], ["chain.mln is a file"]),
    ],
)
def test_an_error_names_the_place_and_ends_with_1(
    run: Run, broken: Project, arguments: list[str], words: list[str]
) -> None:
    done = run(*(a.replace("{}", str(broken.folder)) for a in arguments), stdin="")
    assert done.code == 1, done.out + done.err
    assert done.out == ""
    assert "error: " in done.err
    for word in words:
        assert word in done.err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["learn", "--resume", "x"], "'--resume': give the number of a run, not 'x': the table sqlrl.run lists them"),
        (["infer", "--limit", "x"], "'--limit': give an integer, not 'x'"),
        (["infer", "--limit", "0"], "'--limit': give at least 1, not '0'"),
        (["infer", "--time-limit", "soon"], "'--time-limit': give a number, not 'soon'"),
        (["psl", "p.psl", "--threshold", "2"], "'--threshold': give at most 1.0, not '2'"),
        (["infer", "--method", "best"], "'--method': 'best' is not one of 'auto', 'full'"),
    ],
)
def test_a_value_of_the_wrong_kind_is_named(run: Run, arguments: list[str], words: str) -> None:
    done = run(*arguments)
    assert done.code == 2
    assert words in " ".join(done.err.replace("│", " ").split())


@pytest.mark.parametrize(
    "arguments",
    [
        ["nonsense"],
        ["sql"],
        ["sql", "select 1"],
        ["sql", "a", "b", "c"],
        ["load", "x.duckdb", "P"],
        ["load", "x.duckdb", "--evidence", "a.db"],
        ["load", "x.duckdb", "P", "t.csv", "--rename", "nothing"],
        ["ground", "x.duckdb"],
        ["ground", "-m", "a.mln", "x.duckdb", "-e", "a.db"],
        ["infer", "-m", "-", "-e", "-"],
        ["infer", "-m", "a.mln", "-e", "a.db", "--into", "t"],
        ["infer", "x.duckdb", "-m", "a.mln", "--into", " "],
        ["infer", "x.duckdb", "-m", "a.mln", "--replace"],
        ["infer", "x.duckdb", "-m", "a.mln", "--into", "t", "--all"],
        ["infer", "--db", "x.duckdb", "-m", "a.mln", "-e", "a.db"],
        ["infer", "-m", "a.mln", "-e", "a.db", "-e", "-,-"],
        ["count", "-m", "a.mln", "-e", "a.db", "--world", "t", "--world", "u"],
        ["count", "-m", "a.mln", "-e", "a.db", "--world", "P=t", "--world", "P=u"],
        ["count", "-m", "a.mln", "-e", "a.db", "--query", "P", "--against", "P=t", "--against", "u"],
        ["count", "-m", "long.mln", "-e", "a.db", "--world", "Smoke=t"],
        ["load", "x.duckdb", "P", "t.csv", "--target", "--given"],
        ["load", "x.duckdb", "P", "t.csv", "--replace"],
        ["load", "x.duckdb", "--refresh", "--target"],
        ["load", "x.duckdb", "-e", "a.db", "-m", "a.mln", "--types", "t"],
        ["load", "x.duckdb", "P", "t.csv", "--duplicates", "keep"],
        ["learn", "x.duckdb", "-m", "a.mln", "--out", "folder.mln"],
        ["infer", "x.duckdb", "-m", "a.mln", "--method", "magic"],
        ["learn", "x.duckdb", "-m", "a.mln", "--out", "model.txt"],
        ["learn", "x.duckdb", "-m", "a.mln", "--out", "no/such/folder/model.mln"],
        ["learn", "x.duckdb", "-m", "a.mln", "--out", "-", "--json"],
        ["demo", "--citations", "1"],
    ],
)
def test_wrong_usage_ends_with_2(
    run: Run, arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.mln").write_text("P(t)\n1 P(x)\n", encoding="utf-8")
    (tmp_path / "long.mln").write_text("Smokes(t)\n1 Smokes(x)\n", encoding="utf-8")
    (tmp_path / "a.db").write_text("", encoding="utf-8")
    (tmp_path / "folder.mln").mkdir()
    done = run(*arguments, stdin="")
    assert done.code == 2, done.out + done.err
    assert done.err
    assert not (tmp_path / "x.duckdb").exists()


def test_a_newer_layout_is_refused(run: Run, project: Project) -> None:
    with duckdb.connect(str(project / "cite.duckdb")) as connection:
        connection.execute("UPDATE sqlrl.layout SET version = 99, sqlrl = '9.9.9'")
    for arguments in (["migrate", project / "cite.duckdb"], ["sql", project / "cite.duckdb", "select 1"]):
        done = run(*arguments)
        assert done.code == 1
        assert "layout 99" in done.err
        assert "9.9.9" in done.err


def test_an_older_layout_is_migrated_or_the_newest(run: Run, project: Project) -> None:
    assert "the newest" in run("migrate", project / "cite.duckdb").out
    duckdb.connect(str(project / "empty.duckdb")).close()
    assert "had no layout" in run("migrate", project / "empty.duckdb").out


def test_a_busy_file_names_the_process(run: Run, project: Project) -> None:
    hold = "import duckdb, sys; c = duckdb.connect(sys.argv[1]); print('ready', flush=True); sys.stdin.read()"
    command = [sys.executable, "-c", hold, str(project / "cite.duckdb")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        done = run("sql", project / "cite.duckdb", "select 1")
        holder.communicate()
    assert done.code == 1
    assert f"process {holder.pid}" in done.err
    assert "--read-only" in done.err
    assert run("sql", project / "cite.duckdb", "select 1", "--read-only").code == 0


@pytest.mark.parametrize("name", [TOGETHER, *(pytest.param(name, marks=pytest.mark.slow) for name in HOSTILE)])
def test_hostile_names_stay_data(run: Run, tmp_path: Path, name: str) -> None:
    folder = tmp_path / name.replace("/", "|")
    folder.mkdir()
    source = folder / f"{name.replace('/', '|')}.csv"
    quoted = name.replace('"', '""')
    source.write_text(f'who\n"{quoted}"\nplain\n', encoding="utf-8")
    database = folder / "my base.duckdb"
    assert run("load", database, "P", source, "--types", "person", "--target").code == 0
    (folder / "m.mln").write_text("P(person)\n1 P(x)\n", encoding="utf-8")
    (folder / "names").write_text(name + "\n", encoding="utf-8")
    done = run("infer", database, "--model", folder / "m.mln", "--json")
    assert {row["person"] for row in done.rows()} == {name, "plain"}
    wrote = run("infer", database, "--model", folder / "m.mln", "--into", name)
    assert wrote.code == 0, wrote.err
    tables = run("sql", database, "select table_name as t from duckdb_tables() where schema_name = 'main'", "--json")
    assert tables.rows() == [{"t": name}]
    refused = run("ground", database, "--model", folder / "m.mln", "--examples", folder / "names")
    assert refused.code == 1
    assert run("sql", database, "select count(*) as n from sqlrl.type", "--json").rows() == [{"n": 1}]


def test_a_failed_load_changes_nothing(run: Run, project: Project) -> None:
    bad = project / "bad.csv"
    bad.write_text("a,b,c\nx,y,z\nx,y,z\n", encoding="utf-8")
    query = "select predicate, rows from sqlrl.predicate order by predicate"
    before = run("sql", project / "cite.duckdb", query, "--json").rows()
    assert run("load", project / "cite.duckdb", "Token", bad).code == 1
    assert run("sql", project / "cite.duckdb", query, "--json").rows() == before
