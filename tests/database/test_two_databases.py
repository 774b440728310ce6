"""Two Databases on cursors of one file: each sees what the other has loaded, and their runs do not get into each other's way."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import duckdb
import pytest

import sqlrl
from tests.learn.stopped import load, model

RULES = "P(t)\nQ(t)\n1 P(x) => Q(x)"


def load_letters(db: sqlrl.Database) -> None:
    db.load("P", [("A",), ("B",)], types=["t"])
    db.load("Q", [("A",)], types=["t"], target=True)


@pytest.fixture(params=[load_letters])
def pair(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[sqlrl.Database, sqlrl.Database]]:
    """Two Databases on cursors of a connection to a file, into which a function has loaded something."""
    path = tmp_path / "shared.duckdb"
    with sqlrl.connect(path) as db:
        request.param(db)
    connection = duckdb.connect(str(path))
    yield sqlrl.connect(connection.cursor()), sqlrl.connect(connection.cursor())
    connection.close()


def in_threads(*jobs: Callable[[], object]) -> None:
    """Do jobs at the same time and raise what one of them raises."""
    raised: list[BaseException] = []

    def run(job: Callable[[], object]) -> None:
        try:
            job()
        except BaseException as error:  # noqa: BLE001
            raised.append(error)

    threads = [threading.Thread(target=run, args=(job,)) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for error in raised:
        raise error


def test_each_sees_the_others_loads_at_its_next_verb(pair: tuple[sqlrl.Database, sqlrl.Database]) -> None:
    rules, (one, other) = sqlrl.parse_mln(RULES), pair
    assert len(one.advanced.ground(rules).atoms) == len(other.advanced.ground(rules).atoms) == 2
    for db, name in ((one, "C"), (other, "D"), (one, "E")):
        reader = other if db is one else one
        before = len(reader.advanced.ground(rules).atoms)
        constants = [("A",), ("B",), (name,)]
        # In a thread of its own, as such databases are used.
        in_threads(lambda db=db, constants=constants: db.load("P", constants, types=["t"]))
        assert len(reader.advanced.ground(rules).atoms) == 3 >= before
        assert reader.tables().to_arrow() == db.tables().to_arrow()


def test_each_sees_what_sql_of_the_other_did(pair: tuple[sqlrl.Database, sqlrl.Database]) -> None:
    one, other = pair
    other.tables()
    one.sql("update sqlrl.predicate set source = 'elsewhere' where predicate = 'P'")
    assert other.tables()["source"][other.tables()["predicate"].index("P(t)")] == "elsewhere"


@pytest.mark.slow
@pytest.mark.parametrize("pair", [load], indirect=True)
@pytest.mark.filterwarnings("ignore::sqlrl.errors.InfeasibleTruthWarning")
def test_runs_in_threads_do_not_conflict(pair: tuple[sqlrl.Database, sqlrl.Database]) -> None:
    alone = sqlrl.connect()
    load(alone)
    expected = sqlrl.AdaGrad(passes=2).fit(alone, model()).weights_.tolist()
    pair[0].advanced.bind(model())
    found: dict[int, list[float]] = {}

    def job(number: int) -> None:
        for _ in range(2):
            fit = sqlrl.AdaGrad(passes=2).fit(pair[number], model(), checkpoint=True)
            found[fit.run_] = fit.weights_.tolist()

    in_threads(lambda: job(0), lambda: job(1))
    assert sorted(found) == list(range(1, 5))
    assert all(weights == expected for weights in found.values())
    assert pair[0].sql("select distinct status from sqlrl.run").fetchall() == [("done",)]
    assert pair[0].sql("select count(distinct model), count(*) from sqlrl.run").fetchall() == [(4, 4)]
