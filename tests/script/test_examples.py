"""The scripts in `scripts/sql`, on small data of the same form."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pytest

import sqlrl

FOLDER = Path(__file__).parents[2] / "scripts" / "sql"
EXAMPLES = sorted(FOLDER.glob("*.sql"))


def run(name: str, **variables: Any) -> tuple[sqlrl.Database, list[Any]]:
    """Run a script, and return the rows of its queries."""
    db = sqlrl.connect()
    done = db.run(FOLDER / name, variables=variables).statements
    return db, [each.table.to_pylist() for each in done if each.table is not None]


def write(path: Path, query: str) -> None:
    duckdb.execute(f"COPY ({query}) TO '{path}'")


def test_there_are_five_and_each_is_short() -> None:
    assert len(EXAMPLES) == 5
    for path in EXAMPLES:
        lines = path.read_text(encoding="utf-8").splitlines()
        assert len(lines) < 40
        assert max(map(len, lines)) <= 160
        assert any(f"sqlrl run {word}" in line for line in lines for word in ("scripts/sql/" + path.name, "")), path


def test_friends_and_smokers() -> None:
    db, tables = run("friends_smokers.sql", towns=3, seed=0.5)
    weights, (guess,) = tables[-2:]
    assert len(weights) == 3
    assert (
        guess["people"]
        == len(db.sql("from guess").fetchall())
        == db.sql(
            "select count(*) from person where town = 't0' and not (known and person in (select person from smoker))"
        ).fetchall()[0][0]
    )
    right = db.sql("select avg((smokes = (probability > 0.5))::int) from guess").fetchall()[0][0]
    assert guess["accuracy"] == right


@pytest.fixture(scope="module")
def citations(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("citations")
    # Two words say which field it is, of eight citations with three positions each.
    rows = "FROM range(8) b(b), range(3) p(p)"
    field = "CASE p WHEN 0 THEN 'fauthor' WHEN 1 THEN 'ftitle' ELSE 'fvenue' END"
    write(folder / "token.parquet", f"SELECT 'w' || p || b % 2 AS token, 'p' || p AS position, 'b' || b AS bib {rows}")
    write(folder / "infield.parquet", f"SELECT 'b' || b AS bib, {field} AS field, 'p' || p AS position {rows}")
    write(folder / "next.parquet", "SELECT 'p' || p + 1 AS p1, 'p' || p AS p2 FROM range(2) p(p)")
    write(
        folder / "topic.parquet", "SELECT 'b' || b AS bib, if(b < 6, 'face', 'reasoning') AS topic FROM range(8) b(b)"
    )
    return folder


@pytest.mark.slow
def test_citations(citations: Path) -> None:
    db, (scores, wrong, words) = run("citeseer.sql", data=str(citations), topic="reasoning")
    assert [(r["predicate"], r["f1"], r["true_positives"]) for r in scores] == [("InField", 1.0, 6)]
    assert wrong == []
    assert len(words) == 10
    assert db.sql("select count(*), sum(truth::int) from guess").fetchall() == [(18, 6)]
    assert db.sql("select distinct example_name from sqlrl.learned_from order by all").fetchall() == [
        (f"b{i}",) for i in range(6)
    ]


@pytest.mark.slow
def test_drugs(tmp_path: Path) -> None:
    # Drugs of one target interact.
    kind = "FROM range(24) d(d)"
    write(tmp_path / "target.csv", f"SELECT 't' || d % 3 AS a0, 'd' || d AS a1 {kind}")
    write(tmp_path / "enzyme.csv", f"SELECT 'e' || d % 5 AS a0, 'd' || d AS a1 {kind}")
    write(tmp_path / "transporter.csv", f"SELECT 'r' || d % 7 AS a0, 'd' || d AS a1 {kind}")
    pairs = "FROM range(24) a(a), range(24) b(b) WHERE a < b"
    write(
        tmp_path / "interacts.csv",
        f"SELECT 'd' || a AS drug1, 'd' || b AS drug2, (a % 3 = b % 3)::int AS label, 0 AS fold {pairs}",
    )
    db, (weights, (scores,), best) = run("drug_interactions.sql", data=str(tmp_path))
    assert any("Target" in row["text"] for row in weights)
    assert scores["auc_roc"] > 0.95
    assert scores["atoms"] == db.sql("select count(*) from link where held_out").fetchall()[0][0]
    assert len(best) == 5


@pytest.mark.slow
def test_records(tmp_path: Path) -> None:
    people = tmp_path / "people.csv"
    write(
        people,
        """SELECT 'r' || p || c AS id, ['Anna Berger', 'Bob Cutter', 'Cleo Dane', 'Dora Ender', 'Emil Frost', 'Fay Gould'][p + 1] || if(c = 1, 's', '') AS name,
        'city' || p % 2 AS city, 1950 + p % 3 AS born, if(p < 4, 'w' || p, NULL) AS who FROM range(6) p(p), range(2) c(c)""",
    )
    db, (clusters,) = run("entity_resolution.sql", people=str(people))
    assert [(r["cluster"], r["record"]) for r in clusters] == [
        (f"r{p}0", f"r{p}{c}") for p in range(6) for c in range(2)
    ]
    assert [row["name"] for row in db.models()] == ["fields", "matching"]


@pytest.mark.slow
def test_transfer(tmp_path: Path) -> None:
    for fold in (1, 2, 3):
        lines = []
        for m in range(3):
            lines += [f"movie(M{fold}{m}, D{fold}{m})", f"director(D{fold}{m})"]
            for a in range(2):
                actor = f"A{fold}{m}{a}"
                lines += [f"actor({actor})", f"movie(M{fold}{m}, {actor})", f"workedUnder({actor}, D{fold}{m})"]
        (tmp_path / f"fold{fold}.db").write_text("\n".join(lines) + "\n", encoding="utf-8")
    db, (diagnosis, weights) = run("transfer.sql", data=str(tmp_path), fold="fold1.db")
    assert {row["target"] for row in diagnosis} <= {"Actor", "Director", "Movie", "WorkedUnder"}
    assert any("WorkedUnder" in row["text"] and "Movie" in row["text"] for row in weights)
    assert db.sql("select distinct name from sqlrl.example order by name").fetchall() == [("fold2.db",), ("fold3.db",)]


@pytest.mark.slow
def test_citations_of_the_thesis(data_folder: Path) -> None:
    # A slice: 60 citations of two topics.
    db = sqlrl.connect()
    text = (FOLDER / "citeseer.sql").read_text(encoding="utf-8")
    few = "FROM (SELECT bib, topic, row_number() OVER (PARTITION BY topic ORDER BY bib) AS n FROM read_parquet($data || '/topic.parquet')) WHERE topic IN ('face', 'reasoning') AND n <= 30"
    text = text.replace("FROM read_parquet($data || '/topic.parquet')", f"SELECT bib, topic {few}")
    for name in ("token", "infield"):
        read = f"FROM read_parquet($data || '/{name}.parquet')"
        text = text.replace(read, f"{read} WHERE bib IN (SELECT bib FROM topic)")
    done = db.run(text, variables={"data": str(data_folder / "citeseer"), "topic": "reasoning"}).statements
    tables = [each.table.to_pylist() for each in done if each.table is not None]
    assert 0.5 < tables[0][0]["f1"] < 1
    assert sum(row["tokens"] for row in tables[1]) > 0
