"""Lists of files as one source, texts that name no source, and empty lines of files."""

from __future__ import annotations

import io
import re
import warnings
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sqlrl
from sqlrl.cli.words import in_options
from sqlrl.errors import CatalogError, LoadError, UntrustedError


@pytest.fixture
def db() -> sqlrl.Database:
    return sqlrl.connect(progress=False)


@pytest.fixture(scope="module")
def shared() -> sqlrl.Database:
    """A database for loads that fail, or that replace what others loaded."""
    return sqlrl.connect(progress=False)


def facts(db: sqlrl.Database, source: Any, **options: Any) -> list[tuple[Any, ...]]:
    """Load facts of P and return them, in the order of their names."""
    options.setdefault("types", ["n", "m"])
    db.load("P", source, **options)
    return sorted(db.sql("from sqlrl.named_P").fetchall())


def write(path: Path, rows: list[tuple[str, str]]) -> Path:
    """Write rows to a Parquet or CSV file."""
    frame = pd.DataFrame(rows, columns=["a", "b"])
    if path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pandas(frame), path)
    else:
        frame.to_csv(path, index=False, sep="\t" if path.suffix == ".tsv" else ",")
    return path


ROWS = [[("x", "1")], [("y", "2"), ("z", "3")], [("w", "4")]]
ALL = sorted(row for rows in ROWS for row in rows)


# ---- lists of files ----------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", [".csv", ".parquet", pytest.param(".tsv", marks=pytest.mark.slow)])
def test_a_list_of_paths_is_read_as_files(db: sqlrl.Database, tmp_path: Path, suffix: str) -> None:
    paths = [write(tmp_path / f"f{i}{suffix}", rows) for i, rows in enumerate(ROWS)]
    others: list[Any] = [
        paths,
        tuple(map(str, paths)),
        [str(paths[0]), *paths[1:]],
        set(paths),
        (path for path in paths),
        tmp_path.glob(f"*{suffix}"),
        [tmp_path / f"f[01]{suffix}", paths[2]],
        str(tmp_path / f"*{suffix}"),
    ]
    for source in others:
        assert facts(db, source) == ALL
    assert facts(db, [paths[1]]) == sorted(ROWS[1])
    db.scope("P", paths)
    assert db.advanced.bind(sqlrl.parse_mln("P(n, m)\n1 P(x, y)", query=["P"])).predicates["P"].atom_count == 4


def test_texts_that_are_no_paths_are_facts(db: sqlrl.Database) -> None:
    assert facts(db, ["Anna", "b.csv"], types=["n"]) == [("Anna",), ("b.csv",)]
    assert facts(db, [("a.csv",), ("b.csv",)], types=["n"]) == [("a.csv",), ("b.csv",)]


def test_a_list_of_files_is_looked_at_again(tmp_path: Path) -> None:
    paths = [write(tmp_path / f"f, {i}.csv", rows) for i, rows in enumerate(ROWS)]
    file = tmp_path / "data.duckdb"
    model = sqlrl.parse_mln("P(n, m)\nQ(n)\n1 P(x, y) => Q(x)")
    with sqlrl.connect(file, progress=False) as db:
        db.load("Q", ["x"], types=["n"], target=True)
        assert facts(db, paths) == ALL
        assert db.refresh() == []
        db.advanced.bind(model)
    write(paths[2], [("w", "5")])
    with sqlrl.connect(file, progress=False) as db:
        with pytest.raises(
            CatalogError, match=r"P was loaded from .*f, 0\.csv, .*, which had 3 files, and now has 3 files, of which"
        ):
            db.advanced.bind(model)
        assert db.refresh() == ["P"]
        assert sorted(db.sql("from sqlrl.named_P").fetchall()) == sorted([*ROWS[0], *ROWS[1], ("w", "5")])
        db.advanced.bind(model)
        paths[1].unlink()
        with pytest.raises(LoadError, match=r"f, 1\.csv: there is no such file"):
            db.refresh()


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["a.csv", "gone.csv"], r"gone\.csv: there is no such file"),
        (["a.csv", "a.csv"], r"a\.csv is named twice"),
        (["a.csv", "b.parquet"], r"b\.parquet is Parquet and .*a\.csv is text: name files of one kind"),
        (["a.csv", "c.tsv"], r"some of the files are \.tsv, .* pass delimiter="),
        (["a.csv", "other.csv"], r"other\.csv has the columns c, d, but .*a\.csv has a, b"),
    ],
)
def test_lists_of_files_that_do_not_go_together(
    shared: sqlrl.Database, tmp_path: Path, names: list[str], message: str
) -> None:
    for name in ("a.csv", "b.parquet", "c.tsv"):
        write(tmp_path / name, ROWS[0])
    (tmp_path / "other.csv").write_text("c,d\n1,2\n")
    with pytest.raises(LoadError, match=message):
        facts(shared, [tmp_path / name for name in names])


def test_a_list_of_files_is_of_paths_alone_and_of_those_who_are_trusted(shared: sqlrl.Database, tmp_path: Path) -> None:
    for name in ("a.csv", "c.tsv"):
        write(tmp_path / name, ROWS[0])
    with pytest.raises(LoadError, match=r"a list of paths has the item \('x',\), which is none"):
        facts(shared, [tmp_path / "a.csv", ("x",)])
    with sqlrl.connect(progress=False, trusted=False) as other, pytest.raises(UntrustedError, match="reads no files"):
        other.load("P", [tmp_path / "a.csv", tmp_path / "c.tsv"], types=["n", "m"])


@pytest.mark.parametrize(
    ("kinds", "found"),
    [
        (("1::int", "5000000000::bigint"), ["1", "5000000000"]),
        (("1::bigint", "'x'"), ["1", "x"]),
        (("date '2020-01-02'", "timestamp '2020-01-02 12:00:00'"), ["2020-01-02", "2020-01-02 12:00:00"]),
        (("1.5::decimal(4,1)", "2.25::decimal(9,2)"), ["1.5", "2.25"]),
        (("1::bigint", "1.5::double"), None),
        (("1.5::double", "9007199254740993::bigint"), None),
        (("1.5::decimal(9,2)", "2.5::double"), None),
    ],
)
@pytest.mark.parametrize("pattern", [True, False])
def test_parquet_files_of_other_types_lose_nothing(
    shared: sqlrl.Database, tmp_path: Path, kinds: tuple[str, str], found: list[str] | None, pattern: bool
) -> None:
    for i, kind in enumerate(kinds):
        duckdb.connect().execute(f"copy (select {kind} as a) to '{tmp_path / f'f{i}.parquet'}'")
    source: Any = tmp_path / "*.parquet" if pattern else [tmp_path / "f1.parquet", tmp_path / "f0.parquet"]
    if found is None:
        with pytest.raises(
            LoadError, match=r"the column 'a' has floats in one of the files and other numbers in another"
        ):
            facts(shared, source, types=["n"])
    else:
        assert facts(shared, source, types=["n"]) == [(name,) for name in found]


# ---- empty lines -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("columns", "tail", "end"),
    [(1, 0, "\n"), (1, 1, "\r\n"), (1, 3, "\n"), (2, 0, "\r\n"), (2, 1, "\n"), (2, 3, "\r\n")],
)
def test_empty_lines_are_none_however_many_columns_there_are(
    shared: sqlrl.Database, tmp_path: Path, columns: int, tail: int, end: str
) -> None:
    rows = [("a", "b"), ("x", "1"), ("y", "2")]
    text = end.join(",".join(row[:columns]) for row in rows) + end * (1 + tail)
    (tmp_path / "f.csv").write_bytes(text.encode())
    with warnings.catch_warnings(action="error"):
        found = facts(shared, tmp_path / "f.csv", types=["n", "m"][:columns])
    assert found == [row[:columns] for row in rows[1:]]


def test_an_empty_text_is_quoted(db: sqlrl.Database, tmp_path: Path) -> None:
    pd.DataFrame({"a": ["x", ""]}).to_csv(tmp_path / "f.csv", index=False)
    assert facts(db, tmp_path / "f.csv", types=["n"]) == [("",), ("x",)]
    (tmp_path / "f.csv").write_text("a\nx\nx\n\n")
    with pytest.raises(LoadError, match=r"\(x\) occurs 2 times \(rows 1 and 2\)"):
        facts(db, tmp_path / "f.csv", types=["n"])


# ---- what names no source ----------------------------------------------------------------------------

NOTHING = [
    ("https://example.org/a.parquet", r'is a URL, .* pass a query, "from \'https://example.org/a.parquet\'"'),
    ("s3://bucket/key/facts.csv", r'is a URL, .* pass a query, "from \'s3://bucket/key/facts.csv\'"'),
    ("hf://datasets/x/y", r"is a URL"),
    ("file:///data/a.parquet", r"is a URL of a file: pass its path, '/data/a.parquet'"),
    ("frame", r"'frame' is neither .*: if it is a variable of Python, pass the object itself, without quotes"),
    ("select * from frame", r"neither [\s\S]*\nIf that is a variable of Python, pass the object itself"),
    ("Smokes(Anna)", r"is text of evidence: save it as a file \(\.db\) and pass that to sqlrl.Evidence, or .* tuples"),
    ("Smokes(Anna)\n!Smokes(Bob)\n0.3 Friends(Anna, Bob)\n", r"is text of evidence"),
    ("a,b\nx,1\n", r"is text of a table: save it as a file \(\.csv\) and pass its path"),
    ("facts.xlsx", r"'facts.xlsx' is neither a file, .*sqlrl reads files ending in \.csv, .*sqlrl.Evidence"),
    ("data/none", r"neither a file, .*The working directory is"),
    ("facts.db", r"neither a file, .*evidence files \(\.db\) go to sqlrl.Evidence"),
]


@pytest.mark.parametrize(("text", "message"), NOTHING)
def test_a_text_that_names_no_source_is_told_what_to_pass(shared: sqlrl.Database, text: str, message: str) -> None:
    for load in (lambda: shared.load("P", text, types=["n"]), lambda: shared.scope("P", text)):
        with pytest.raises(LoadError, match=message):
            load()


def test_folders_open_files_and_paths_of_urls(shared: sqlrl.Database, tmp_path: Path) -> None:
    write(tmp_path / "f.csv", ROWS[0])
    for folder in (tmp_path, str(tmp_path), f"{tmp_path}/", [tmp_path]):
        with pytest.raises(
            LoadError, match=re.escape(f"{tmp_path} is a directory: name a file, or a pattern such as")
        ) as caught:
            shared.load("P", folder)
        assert "db.load(folder) loads each" in str(caught.value)
    with pytest.raises(LoadError, match=r"is a URL, .* pass a query"):
        shared.load("P", Path("https://example.org/a.parquet"))
    with (tmp_path / "f.csv").open() as file, pytest.raises(LoadError, match=r"an open file, .*: pass its path"):
        shared.load("P", file)
    with pytest.raises(LoadError, match="an open file"):
        shared.load("P", io.StringIO("a\nx\n"))


@pytest.mark.parametrize(
    "text", ["from range(3)", "values('a')", "values ('a'), ('b')", "select 'x(y)'", "FROM\n(select 'a,b' as c)"]
)
def test_queries_are_queries(shared: sqlrl.Database, text: str) -> None:
    assert facts(shared, text, types=["n"])


def test_the_command_line_names_its_own_remedies() -> None:
    db = sqlrl.connect(progress=False)
    for text, message in NOTHING:
        with pytest.raises(LoadError) as caught:
            db.load("P", text, types=["n"])
        said = in_options(caught.value.message)
        assert "Python" not in said, message
        assert "tuples" not in said, message
        assert "Evidence" not in said, message
