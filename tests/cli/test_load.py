"""`sqlrl load`: delimited text, and what a failure leaves behind."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

import sqlrl
from tests.cli.conftest import Run


def facts(database: Path) -> list[tuple[str, ...]]:
    """Return the facts of P with names."""
    with duckdb.connect(str(database), read_only=True) as connection:
        return connection.execute('select * from sqlrl."named_P" order by all').fetchall()


@pytest.mark.parametrize("piped", [False, True])
@pytest.mark.parametrize(
    ("content", "options"),
    [
        ("a,b\nAnna,Bob\n", []),
        ("Anna,Bob\n", ["--no-header"]),
        ("Anna\tBob\n", ["--no-header", "--delimiter", "\\t"]),
        ("a;b\nAnna;'Bob'\n", ["--delimiter", ";", "--quote", "'"]),
    ],
)
def test_text_in_its_dialect(run: Run, tmp_path: Path, content: str, options: list[str], piped: bool) -> None:
    source, database = tmp_path / "p.csv", tmp_path / "d.duckdb"
    source.write_text(content)
    done = run("load", database, "P", "-" if piped else source, *options, stdin=content if piped else None)
    assert done.code == 0, done.err
    assert facts(database) == [("Anna", "Bob")]


@pytest.mark.parametrize("piped", [False, True])
def test_faults_name_line_and_option_and_leave_no_file(run: Run, tmp_path: Path, piped: bool) -> None:
    source, database = tmp_path / "p.csv", tmp_path / "d.duckdb"
    for content, line, option in (
        ("a,b\n1,2\n3\n", 3, ""),
        ("a;b\n1;2\n", 1, "--delimiter ';'"),
        ('a,b\n1,"2\n', 2, "--quote"),
    ):
        source.write_text(content)
        done = run("load", database, "P", "-" if piped else source, stdin=content if piped else None)
        assert done.code == 1
        assert f"{'standard input' if piped else source}, line {line}: " in done.err
        assert option in done.err
        assert [file.name for file in tmp_path.iterdir()] == ["p.csv"]


def test_a_failure_keeps_a_database_that_was_there(run: Run, tmp_path: Path) -> None:
    source, database = tmp_path / "p.csv", tmp_path / "d.duckdb"
    source.write_text("a,b\n1,2\n")
    assert run("load", database, "P", source).code == 0
    source.write_text("a,b\n1\n")
    assert run("load", database, "P", source).code == 1
    assert facts(database) == [("1", "2")]
    done = run("load", tmp_path / "no" / "such.duckdb", "P", source)
    assert done.code == 1
    assert "there is no directory" in done.err


def test_a_changed_file_is_loaded_again_on_request(run: Run, tmp_path: Path) -> None:
    source, database, model = tmp_path / "p.csv", tmp_path / "d.duckdb", tmp_path / "m.mln"
    source.write_text("a;b\n1;2\n")
    model.write_text("P(s, s)\nQ(s)\n1 P(x, y) => Q(y)\n")
    assert run("load", database, "P", source, "--delimiter", ";").code == 0
    source.write_text("a;b\n1;2\n2;1\n")
    infer = ("infer", database, "--model", model, "--query", "Q")
    refused = run(*infer)
    assert refused.code == 1
    assert "changed after it was loaded" in refused.err
    assert "run `sqlrl load --refresh`" in refused.err
    assert run("load", database, "--refresh").code == 0
    assert run(*infer).code == 0
    source.unlink()
    warned = run(*infer)
    assert warned.code == 0
    assert "is gone" in warned.err


def test_long_failures_are_short_but_logged_in_full(run: Run, tmp_path: Path) -> None:
    database = tmp_path / "d.duckdb"
    duckdb.connect(str(database)).close()
    query = f"select {', '.join(f'{i} as column_{i}' for i in range(2000))} from nowhere"
    short, full = run("sql", database, query), run("sql", "-v", database, query)
    assert (short.code, full.code) == (1, 1)
    assert "Table with name nowhere does not exist" in short.err
    assert len(short.err) < 2500
    assert "column_1999" not in short.err
    assert "column_1999" in full.err


def test_a_scope_leaves_only_the_tuples_that_it_has(run: Run, tmp_path: Path) -> None:
    source, database = tmp_path / "better.csv", tmp_path / "d.duckdb"
    source.write_text("a,b,label\nx,y,1\ny,x,0\nz,x,0\n")
    options = ["--columns", "a,b", "--types", "drug,drug", "--truth", "label", "--target"]
    scope = f"select a, b from '{source}'"
    done = run("load", database, "Better", source, *options, "--scope", scope)
    assert done.code == 0, done.err
    assert run("load", database, "Old", "select 'x'", "--types", "drug").code == 0
    (tmp_path / "m.mln").write_text("Old(drug)\nBetter(drug, drug)\nOld(a) => Better(a, b)\n")
    learn = ["learn", database, "--model", tmp_path / "m.mln", "--learner", "likelihood", "--json"]
    assert run(*learn).code == 0
    with duckdb.connect(str(database), read_only=True) as connection:
        counts = connection.execute(
            'select truth, count(*) from sqlrl."atom_Better" group by all order by all'
        ).fetchall()
    assert counts == [(False, 2), (True, 1)]
    # A scope that fails takes the load back.
    done = run(
        "load", database, "Better", "select 'q', 'r'", "--types", "drug,drug", "--target", "--scope", "absent.csv"
    )
    assert done.code == 1
    assert "absent.csv" in done.err
    with duckdb.connect(str(database), read_only=True) as connection:
        assert connection.execute("select count(*) from sqlrl.dictionary_drug where name = 'q'").fetchall() == [(0,)]
    done = run("load", database, "Old", "select 'x'", "--types", "drug", "--scope", "select 'x'")
    assert done.code == 2
    assert "--target" in done.err


def test_a_folder_is_loaded_at_once(run: Run, tmp_path: Path) -> None:
    folder, db = tmp_path / "facts", tmp_path / "drugs.duckdb"
    folder.mkdir()
    (folder / "size.csv").write_text("d1;1\nd2;2\n", encoding="utf-8")
    (folder / "other.csv").write_text("d1\n", encoding="utf-8")
    modes = tmp_path / "good.modes"
    modes.write_text("modeh(1, good(+drug)). modeb(*, size(+drug,-n)).", encoding="utf-8")
    done = run("load", db, "--folder", folder, "--bias", modes, "--delimiter", ";", "--no-header", "--json")
    assert done.code == 0, done.err
    done = run("sql", db, "select predicate, rows from sqlrl.predicate", "--json")
    assert done.rows() == [{"predicate": "size", "rows": 2}]
    assert run("load", db, "--folder", folder, "--delimiter", ";", "--no-header").code == 0
    assert len(run("sql", db, "from sqlrl.predicate", "--json").rows()) == 2
    for options, words in (
        (["--folder", folder, "--target"], "--folder loads closed predicates"),
        (["--folder", folder, "--types", "a"], "--folder loads closed predicates"),
        (["--bias", modes], "give --folder DIRECTORY too"),
        (["--folder", tmp_path / "no"], "there is no folder"),
    ):
        done = run("load", db, *options)
        assert done.code != 0
        assert words in " ".join(done.err.replace("│", " ").split())


def test_ctrl_c_leaves_no_new_file_and_an_old_one_as_it_was(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, new = tmp_path / "old.duckdb", tmp_path / "new.duckdb"
    assert run("load", old, "P", "select 'a'", "--types", "t").code == 0

    def stopped(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(sqlrl.Database, "load", stopped)
    done = run("load", new, "P", "select 'b'", "--types", "t")
    assert (done.code, done.err, new.exists()) == (130, "error: interrupted\n", False)
    done = run("load", old, "P", "select 'b'", "--types", "t")
    assert (done.code, done.err) == (130, f"error: interrupted; what was finished is kept in {old}\n")
    assert run("sql", old, "from sqlrl.named_P", "--json").rows() == [{"t": "a"}]


def test_rows_with_empty_fields_can_be_left_out(run: Run, tmp_path: Path) -> None:
    (tmp_path / "likes.csv").write_text("a,b\nAnna,Bob\nBob,\n", encoding="utf-8")
    arguments = ("load", tmp_path / "d.duckdb", "Likes", tmp_path / "likes.csv", "--types", "person,person")
    refused = run(*arguments)
    assert refused.code == 1
    assert "1 row has an empty field for argument 2 (row 2): fill or remove it, or pass --nulls drop." in refused.err
    done = run(*arguments, "--nulls", "drop")
    assert done.code == 0, done.err
    assert "Anna" in run("sql", tmp_path / "d.duckdb", "from sqlrl.named_Likes", "--json").out
    assert run("load", tmp_path / "d.duckdb", "--refresh", "--nulls", "drop").code == 2


def test_types_of_numbers(run: Run, tmp_path: Path) -> None:
    """1 and 1.0 are one constant; the type stays one of numbers when more is loaded."""
    source = tmp_path / "old.csv"
    source.write_text("person,years\nAnn,1\nBob,1.0\nCid,2.50\n", encoding="utf-8")
    database = tmp_path / "d.duckdb"
    done = run("load", database, "Old", source, "--types", "person,years", "--numeric", "years")
    assert done.code == 0, done.err
    names = run("sql", database, "select name from sqlrl.dictionary_years order by id", "--json").rows()
    assert [row["name"] for row in names] == ["1", "2.5"]
    assert run("load", database, "Old", source, "--types", "person,years", "--numeric", "years").code == 0
    refused = run("load", database, "Old", source, "--types", "person,years", "--numeric", "person")
    assert refused.code == 1
    assert "declare it numeric before loading" in refused.err
    odd = run("load", tmp_path / "e.duckdb", "Old", source, "--types", "person,years", "--numeric", "yeers")
    assert odd.code == 2
    assert "--numeric yeers: the types that --types names are person, years" in " ".join(odd.err.split())
    assert not (tmp_path / "e.duckdb").exists()


@pytest.mark.parametrize(
    "command",
    [["load", "P", "p.csv"], ["remove", "P", "select 'Anna', 'Bob'"], ["define", "Q(x) :- P(x, y)."], ["migrate"]],
    ids=lambda command: str(command[0]),
)
def test_quiet_prints_nothing_that_was_not_asked_for(
    run: Run, tmp_path: Path, command: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("p.csv").write_text("a,b\nAnna,Bob\n")
    assert run("load", "d.duckdb", "P", "p.csv", "--types", "person,person").out
    name, *arguments = command
    for options, shown in (["-q"], False), (["-q", "--json"], True), ([], True):
        Path("p.csv").write_text("a,b\nAnna,Bob\n")
        done = run(name, "d.duckdb", *arguments, *options)
        assert done.code == 0, done.err
        assert bool(done.out) is shown
        assert not done.err or "-q" not in options
