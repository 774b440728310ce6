"""Several predicates loaded at once: from a folder or a mapping, with the types of a bias or given ones."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

import sqlrl
from sqlrl.errors import InputError, LoadError

BIAS = """\
modeh(1, good(+drug)).
modeb(*, size(+drug,#n)). modeb(*, size(+drug,-n)). modeb(*, less(+n,-n)). modeb(*, later(+drug)).
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "size.csv").write_text("a0,a1\nd1,1\nd2,2\n", encoding="utf-8")
    (tmp_path / "less.tsv").write_text("a0\ta1\n1\t2\n", encoding="utf-8")
    duckdb.sql("select 'd1' as a").write_parquet(str(tmp_path / "other.parquet"))
    (tmp_path / "README.md").write_text("files", encoding="utf-8")
    return tmp_path


def loaded(db: sqlrl.Database) -> dict[str, int]:
    return dict(db.sql("select predicate, rows from sqlrl.predicate").fetchall())


def test_a_folder_is_loaded_with_the_types_of_a_bias(folder: Path) -> None:
    db = sqlrl.connect()
    assert db.load(folder, types=sqlrl.parse_bias(BIAS)) == ["less", "size"]
    assert loaded(db) == {"less": 1, "size": 2}
    assert {name: record.types for name, record in db.advanced.catalog.predicates().items()} == {
        "less": ("n", "n"),
        "size": ("drug", "n"),
    }


def test_a_folder_or_a_mapping_with_some_types(folder: Path) -> None:
    db = sqlrl.connect()
    assert db.load(str(folder), types={"size": ["drug", "n"]}) == ["less", "other", "size"]
    kinds = {name: record.types for name, record in db.advanced.catalog.predicates().items()}
    assert (kinds["size"], kinds["other"]) == (("drug", "n"), (None,))
    again = sqlrl.connect()
    assert again.load({"size": folder / "size.csv", "p": [("A",), ("A",)]}, duplicates="drop") == ["size", "p"]
    assert loaded(again) == {"size": 2, "p": 1}


def test_all_or_nothing(folder: Path) -> None:
    (folder / "size.csv").write_text("a0,a1\nd1,1\nd1,1\n", encoding="utf-8")
    db = sqlrl.connect()
    with pytest.raises(LoadError, match=r"size from .* duplicate facts"):
        db.load(folder)
    assert loaded(db) == {}


@pytest.mark.parametrize(
    ("types", "words"),
    [
        ({"sice": ["drug", "n"]}, "types= names sice, which .* does not have; did you mean 'size'"),
        (sqlrl.parse_bias("modeh(1, good(+drug)). modeb(*, bad(+drug))."), "has none of the predicates of <text>: bad"),
        (
            sqlrl.parse_bias("modeh(1, good(+drug)). modeb(*, size(+drug,-n)). modeb(*, size(+drug,#m))."),
            r"the modes of size in <text> have the types \(drug, n\) and \(drug, m\): give types= as a mapping",
        ),
        (["drug"], "give a mapping from predicates"),
    ],
)
def test_types_that_do_not_fit_are_refused(folder: Path, types: sqlrl.Bias, words: str) -> None:
    with pytest.raises(InputError, match=words):
        sqlrl.connect().load(folder, types=types)


def test_wrong_folders_are_refused(folder: Path, tmp_path: Path) -> None:
    db = sqlrl.connect()
    with pytest.raises(LoadError, match="there is no folder nowhere"):
        db.load("nowhere")
    with pytest.raises(InputError, match="give a folder, or a mapping"):
        db.load(3)  # type: ignore[arg-type]
    (tmp_path / "none").mkdir()
    with pytest.raises(LoadError, match="has no Parquet, CSV or TSV file"):
        db.load(tmp_path / "none")
    (folder / "size.tsv").write_text("a\n", encoding="utf-8")
    with pytest.raises(LoadError, match=r"two files for size: size\.csv and size\.tsv"):
        db.load(folder)
