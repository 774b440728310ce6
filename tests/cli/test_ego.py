"""`sqlrl ego`: the file of views that it prints is the stream that `EgoNetworks` makes, and can be learned from."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import duckdb
import pytest

import sqlrl
from tests.cli.conftest import Run

DECLARED = "Friend(person)\nKnows(person, person)\nLikes(person, game)"


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A graph of people in groups, and what they play; names need quotes."""
    draw, path = random.Random(2), tmp_path_factory.mktemp("ego") / "graph.duckdb"
    pairs = [(a, b) for a in range(48) for b in range(a) if draw.random() < (0.6 if a % 6 == b % 6 else 0.04)]
    with duckdb.connect(str(path)) as con:
        con.execute('create table friends ("from" text, "to" text)')
        con.executemany("insert into friends values (?, ?)", [(f"O'{a}", f"O'{b}") for a, b in pairs])
        con.execute("create table likes (person text, game text)")
        con.executemany("insert into likes values (?, ?)", [(f"O'{a}", f"g{a % 6}") for a in range(48)])
    return path


OPTIONS: dict[str, tuple[list[str], dict[str, Any]]] = {
    "plain": ([], {}),
    "all": (["--negatives", "all", "--hops", "3"], {"negatives": None, "hops": 3}),
    "drawn": (["--negatives", "0.5", "--cap", "4", "--random-state", "7"], {"negatives": 0.5, "cap": 4, "random_state": 7}),
    "centres": (
        ["--centres", "select \"from\", count(*) from friends group by 1 having count(*) > 2 order by md5(\"from\") -- few"],
        {"centres": "select \"from\", count(*) from friends group by 1 having count(*) > 2 order by md5(\"from\") -- few"},
    ),
}  # fmt: skip
RELATIONS = ["--relation", "Knows=select \"from\", \"to\" from friends", "--relation", "Likes(person)=likes"]  # fmt: skip
GIVEN: dict[str, Any] = {"Knows": 'select "from", "to" from friends', "Likes": ("likes", ["person"])}


@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=pytest.mark.slow if kind != "drawn" else []) for kind in OPTIONS]
)
def test_what_is_printed_is_the_stream_of_ego_networks(kind: str, run: Run, graph: Path) -> None:
    more, options = OPTIONS[kind]
    done = run("ego", graph, "friends", "--target", "Friend", *RELATIONS, *more)
    assert done.code == 0, done.err
    with duckdb.connect(str(graph), read_only=True) as con:
        ego = sqlrl.EgoNetworks(con, "friends", target="Friend", relations=GIVEN, window=10, **options)
        assert done.out == ego.sql()
        read = sqlrl.parse_subgraphs(done.out, con, sqlrl.parse_mln(DECLARED), window=10)
        assert read.names(0, 99) == ego.names(0, 99)
        assert read.queries().keys() == ego.queries().keys()
        # A file that was read is written as one with the same windows.
        again = sqlrl.parse_subgraphs(read.sql(), con, sqlrl.parse_mln(DECLARED), window=10)
        for begin in range(0, len(ego), 10):
            windows = [x.cut(begin, min(begin + 10, len(ego))).tables for x in (ego, read, again)]
            assert windows[0] == windows[1] == windows[2]


@pytest.mark.slow
def test_what_is_printed_can_be_learned_from(run: Run, graph: Path, tmp_path: Path) -> None:
    views, model, templates = (tmp_path / name for name in ("friends.sql", "friends.mln", "friends.grammar"))
    views.write_text(run("ego", "--db", graph, "friends", "--target", "Friend", *RELATIONS).out, encoding="utf-8")
    model.write_text(DECLARED, encoding="utf-8")
    templates.write_text(
        "Knows(x, y) ^ Friend(x) ^ Friend(y)\nLikes(x, g) ^ Likes(y, g) ^ Friend(x) ^ Friend(y)", encoding="utf-8"
    )
    done = run(
        "learn", tmp_path / "runs.duckdb", "--model", model, "--learner", "resolwe", "--templates", templates, "--weights", "adagrad",
        "--graph", graph, "--stream", views,
    )  # fmt: skip
    assert done.code == 0, done.err
    with duckdb.connect(str(graph), read_only=True) as con, sqlrl.connect(tmp_path / "runs.duckdb") as db:
        ego = sqlrl.EgoNetworks(con, "friends", target="Friend", relations=GIVEN)
        fit = sqlrl.Resolwe(templates, weights=sqlrl.AdaGrad()).fit(db, sqlrl.parse_mln(DECLARED), examples=ego)
        stored = db.sql("from sqlrl.formulation where run = 1 order by candidate, implied nulls first").to_arrow_table()
        assert stored.drop_columns(["run"]).to_pylist() == fit.formulations_.to_arrow().to_pylist()
        weights = "select text, weight from sqlrl.clause where model = (select model from sqlrl.run where run = {}) order by clause"
        assert db.sql(weights.format(1)).fetchall() == db.sql(weights.format(fit.run_)).fetchall()
    assert any(fit.formulations_["kept"])


def test_json_has_the_views_as_rows(run: Run, graph: Path) -> None:
    rows = run("ego", graph, "friends", "--target", "Friend", "--json").rows()
    assert [row["view"] for row in rows] == ["centres", "Friend"]


@pytest.mark.parametrize(
    ("more", "code", "message"),
    [
        (["--relation", "Knows"], 2, "--relation Knows: give a predicate and its table, NAME=TABLE"),
        (["--relation", "Likes()=likes"], 1, "Likes names no column of entities"),
        (["--relation", "K=friends", "--relation", "K=likes"], 2, "--relation K=likes: K is given twice"),
        (["--relation", "Knows=nowhere"], 1, "nowhere"),
        (["--relation", "Likes(player)=likes"], 1, "Likes has no column 'player' of entities (columns: person, game)"),
        (["--negatives", "few"], 2, "--negatives few: give equal, all, or a number"),
        (["--negatives", "-1"], 1, "--negatives -1"),
        (["--hops", "1"], 1, "--hops 1 reaches the neighbours alone"),
        (["--cap", "0"], 1, "--cap 0 must be a whole number, 1 or more"),
        (["--centres", "drop table friends"], 1, "the query of centres must be one SELECT"),
    ],
)
def test_what_is_wrong_is_said(more: list[str], code: int, message: str, run: Run, graph: Path) -> None:
    done = run("ego", graph, "friends", "--target", "Friend", *more)
    assert (done.code, message in " ".join(done.err.replace("│", " ").split())) == (code, True), done.err
