"""One Database serves one thread at a time; its cursors serve others on the same data; neither is taken to another process."""

from __future__ import annotations

import copy
import pickle
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import duckdb
import pytest

import sqlrl
from sqlrl.errors import BusyError, ConflictError, EngineError, InputError, SqlrlError
from tests.learn.stopped import load, model

RULES = sqlrl.parse_mln("Friends(person, person)\nSmokes(person)\n1 Friends(x, y) ^ Smokes(x) => Smokes(y)\n")
OTHER = sqlrl.parse_mln("Friends(person, person)\nSmokes(person)\n1 Friends(x, y) => Smokes(y)\n2 Smokes(Zed)\n")

NAMES = sorted(f"p{i}" for i in range(1, 21))

KINDS = [
    "memory",
    "file",
    "file called sqlrl",
    "file that is read",
    "file without our tables that is read",
    "own connection",
]


@pytest.fixture(
    params=[
        pytest.param(kind, marks=pytest.mark.slow) if kind in ("file", "file without our tables that is read") else kind
        for kind in KINDS
    ]
)
def db(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[sqlrl.Database]:
    """A Database of each kind, with something loaded."""
    kind = request.param
    path = tmp_path / ("sqlrl.duckdb" if "sqlrl" in kind else "some.duckdb")
    if kind == "file that is read":
        with sqlrl.connect(path) as made:
            fill(made)
    if kind == "file without our tables that is read":
        duckdb.connect(path).close()
    own = duckdb.connect() if kind == "own connection" else None
    if own is not None:
        own.execute("create schema s; use s")
    opened: Any = own if own is not None else ":memory:" if kind == "memory" else path
    with sqlrl.connect(opened, read_only="is read" in kind) as db:
        if kind != "file that is read":
            fill(db)
        yield db
    if own is not None:
        assert own.execute("select 1").fetchall() == [(1,)]


def fill(db: sqlrl.Database) -> None:
    db.load("Friends", [(f"p{i}", f"p{i + 1}") for i in range(20)], types=["person", "person"])
    db.load("Smokes", [("p0",)], types=["person"], given=True)


def in_thread(job: Callable[[], Any]) -> Any:
    """Return or raise what a job does in a thread of its own."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(job).result()


@contextmanager
def at_work(db: sqlrl.Database) -> Iterator[None]:
    """Keep a thread at work with a database: it holds a model against the data."""
    began, end = threading.Event(), threading.Event()

    def work() -> None:
        with db.advanced.program(RULES):
            began.set()
            end.wait(30)

    with ThreadPoolExecutor(1) as pool:
        job = pool.submit(work)
        assert began.wait(30)
        try:
            yield
        finally:
            end.set()
            job.result()


# ---- one Database ------------------------------------------------------------------------------------

CALLS: dict[str, Callable[[sqlrl.Database], Any]] = {
    "predict": lambda db: db.predict(RULES),
    "marginals": lambda db: db.probabilities(RULES),
    "ground": lambda db: db.advanced.ground(RULES),
    "count": lambda db: db.count(RULES),
    "explain": RULES.plan,
    "bind": lambda db: db.advanced.bind(RULES),
    "load": lambda db: db.load("Q", [("a",)]),
    "append": lambda db: db.load("Friends", [("a", "b")], mode="append"),
    "remove": lambda db: db.load("Friends", [("a", "b")], mode="remove"),
    "load_all": lambda db: db.load({"Q": [("a",)]}),
    "scope": lambda db: db.scope("Smokes", [("p0",)]),
    "define": lambda db: db.define("q(x, y) :- Friends(x, y)."),
    "refresh": lambda db: db.refresh(),
    "examples_from": lambda db: db.load(example=False),
    "set_numeric": lambda db: db.load(numeric=["year"]),
    "sql": lambda db: db.sql("select 1"),
    "predicates": lambda db: db.tables(),
    "repr": repr,
    "example_ids": lambda db: db.advanced.example_ids(),
    "derive_bias": lambda db: sqlrl.Bias.derive(db, "Smokes"),
    "fit": lambda db: sqlrl.AdaGrad().fit(db, RULES),
    "close": lambda db: db.close(),
}


@pytest.mark.parametrize("db", ["memory", "own connection"], indirect=True)
def test_a_second_thread_is_refused_and_the_database_heals(db: sqlrl.Database) -> None:
    expected = db.predict(RULES).table().to_arrow()
    with at_work(db):
        for call in CALLS.values():
            with pytest.raises(BusyError, match=r"at work in another thread.*db\.cursor\(\)"):
                call(db)
    # One after the other, threads may share it.
    for _ in range(2):
        assert in_thread(lambda: db.predict(RULES).table().to_arrow()) == expected
        assert db.predict(RULES).table().to_arrow() == expected
    in_thread(lambda: db.load("Q", [("a",)], types=["t"]))
    assert db.sql("select rows from sqlrl.predicate where predicate = 'Q'").fetchall() == [(1,)]


@pytest.mark.slow
@pytest.mark.parametrize("db", ["memory"], indirect=True)
def test_threads_that_do_not_care_see_our_errors_alone(db: sqlrl.Database) -> None:
    done, refused = [], []

    def work(number: int) -> None:
        for k in range(6):
            try:
                if (number + k) % 3:
                    done.append(db.predict(RULES))
                else:
                    db.load("Q", [("a",)] * (1 + number), types=["t"], duplicates="drop")
            except BusyError as error:
                refused.append(error)

    for _ in range(2):
        with ThreadPoolExecutor(3) as pool:
            list(pool.map(work, range(3)))
        # Nothing is left of a call that was refused.
        assert db.predict(RULES).table()["person"] == NAMES
        db.load("Q", [("a",)], types=["t"])
    assert done


def slow(connection: duckdb.DuckDBPyConnection) -> threading.Thread:
    """Run a query of the user's in another thread that takes a second or two, and return when it is under way.

    It must take longer than what meets it, on a loaded machine too.
    """
    query = "select count(*) from range(100_000_000) a, range(2) b where (a.range * b.range) % 7 = 3"

    def work() -> None:
        while True:
            # What looks whether it runs may itself be in the way.
            with suppress(duckdb.ResourceInUseException):
                connection.sql(query).fetchall()
                return

    thread = threading.Thread(target=work)
    thread.start()
    while thread.is_alive():
        time.sleep(0.02)
        try:
            connection.execute("select 1").fetchall()
        except duckdb.ResourceInUseException:
            return thread
    raise AssertionError("the query ended too soon")


@pytest.mark.parametrize(
    ("db", "inside"),
    [
        ("memory", False),
        pytest.param("own connection", True, marks=pytest.mark.slow),
        pytest.param("memory", True, marks=pytest.mark.slow),
        pytest.param("own connection", False, marks=pytest.mark.slow),
    ],
    indirect=["db"],
)
def test_sql_of_the_users_that_runs_elsewhere_is_in_the_way(db: sqlrl.Database, inside: bool) -> None:
    connection = db.advanced.engine.connection
    db.predict(RULES)

    def call() -> None:
        with db.advanced.catalog.store.writing():
            db.load("Q", [("a",)], types=["t"])
            thread.append(slow(connection))

    thread: list[threading.Thread] = []
    if not inside:
        thread.append(slow(connection))
    try:
        for work in [call] if inside else [lambda: db.predict(RULES), lambda: db.load("Q", [("a",)])]:
            with pytest.raises(BusyError, match="at work in another thread"):
                work()
        if not inside:
            with pytest.raises(BusyError, match="at work in another thread"):
                sqlrl.connect(connection)
            assert db.cursor().tables()["facts"]
    finally:
        for each in thread:
            each.join()
    # The next call finds no transaction of the one that was refused, nor what it did.
    assert "Q(t)" not in db.tables()["predicate"]
    db.load("Q", [("b",)], types=["t"])
    assert db.predict(RULES).table()["person"]


def test_two_databases_on_one_connection_take_turns() -> None:
    connection = duckdb.connect()
    one = sqlrl.connect(connection)
    fill(one)
    other = sqlrl.connect(connection)
    with at_work(one), pytest.raises(BusyError):
        other.predict(RULES)
    assert other.predict(RULES).table()["person"]


# ---- cursors -----------------------------------------------------------------------------------------


def test_a_cursor_is_another_database_on_the_same_data(db: sqlrl.Database) -> None:
    expected = db.predict(RULES).table().to_arrow()
    other = in_thread(db.cursor)
    assert other.advanced.session is not db.advanced.session
    assert other.sql("select current_schema(), current_database()").fetchall() == db.sql("select current_schema(), current_database()").fetchall()  # fmt: skip
    assert in_thread(lambda: other.predict(RULES).table().to_arrow()) == expected
    if db.advanced.engine.writable:
        # Either sees what the other has loaded.
        for one, two in ((db, other), (other, db)):
            one.load("Friends", [("p0", "new")], types=["person", "person"])
            assert two.predict(RULES).table()["person"] == one.predict(RULES).table()["person"]
            one.load("Friends", [("p0", "p1")], types=["person", "person"])
        assert db.advanced.engine.same_database(other.advanced.engine)
    assert other.cursor().tables().to_arrow() == db.tables().to_arrow()


@pytest.mark.parametrize("db", ["memory", "file that is read"], indirect=True)
def test_cursors_work_while_the_database_does(db: sqlrl.Database) -> None:
    expected = db.predict(RULES).table().to_arrow()

    def work(number: int) -> list[Any]:
        with db.cursor() as mine:
            return [mine.predict(RULES, random_state=number).table().to_arrow() for _ in range(2)]

    with at_work(db), ThreadPoolExecutor(3) as pool:
        for found in pool.map(work, range(3)):
            assert all(table == expected for table in found)


@pytest.mark.parametrize("db", ["memory", "file that is read", "own connection"], indirect=True)
def test_cursors_bind_for_the_first_time_together(db: sqlrl.Database) -> None:
    start = threading.Barrier(3)

    def work(_: int) -> list[str]:
        with db.cursor() as mine:
            start.wait()
            return mine.predict(RULES).table()["person"]

    with ThreadPoolExecutor(3) as pool:
        assert {tuple(found) for found in pool.map(work, range(3))} == {tuple(NAMES)}


@pytest.mark.slow
@pytest.mark.parametrize("db", ["memory", "file"], indirect=True)
def test_loads_that_meet_are_whole_or_conflicts(db: sqlrl.Database) -> None:
    start = threading.Barrier(3)
    kept: dict[str, int] = {}
    told: list[str] = []

    def work(number: int) -> None:
        with db.cursor() as mine:
            start.wait()
            for k in range(6):
                name = f"R{number}_{k}"
                try:
                    mine.load(name, [(f"{name}_{i}",) for i in range(k + 1)], types=["thing"])
                    kept[name] = k + 1
                except ConflictError as error:
                    told.append(str(error))

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(work, range(3)))
    assert kept
    assert all("call it again" in text for text in told)
    found = dict(db.sql("select predicate, rows from sqlrl.predicate where predicate like 'R%'").fetchall())
    assert found == kept
    # Constants of all of them have ids of their own.
    assert db.sql("select count(*), count(distinct id), count(distinct name) from sqlrl.dictionary_thing").fetchall() == [(sum(kept.values()),) * 3]  # fmt: skip


@pytest.mark.parametrize("db", ["memory", pytest.param("file", marks=pytest.mark.slow)], indirect=True)
@pytest.mark.parametrize(
    "change",
    [
        lambda db: db.load("Friends", [("p0", "p9")], types=["person", "person"]),
        lambda db: db.load("Smokes", [("p0",), ("p1",)], types=["person"], given=True),
        lambda db: db.scope("Smokes", [("p0",)]) or db.advanced.bind(RULES),
        lambda db: db.advanced.bind(OTHER),
    ],
)
def test_a_change_while_a_call_is_at_work_is_told(db: sqlrl.Database, change: Callable[[sqlrl.Database], Any]) -> None:
    db.advanced.bind(RULES)
    other = db.cursor()

    def disturbed() -> None:
        with db.advanced.program(RULES):
            change(other)

    with pytest.raises(ConflictError, match="call it again"):
        disturbed()
    assert db.predict(RULES).table() is not None
    # What has nothing to do with the call is no conflict.
    with db.advanced.program(RULES):
        other.load("Unrelated", [("a",)], types=["thing"])


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sqlrl.errors.InfeasibleTruthWarning")
def test_learners_work_beside_each_other_on_cursors() -> None:
    db = sqlrl.connect()
    load(db)
    expected = sqlrl.AdaGrad(passes=2).fit(db, model()).weights_.tolist()

    def fit(_: int) -> list[float]:
        with db.cursor() as mine:
            return sqlrl.AdaGrad(passes=2).fit(mine, model(), checkpoint=True).weights_.tolist()

    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(fit, range(2))) == [expected] * 2
    assert db.sql("select count(*), count(distinct run), count(distinct model) from sqlrl.run").fetchall()[0][:2] == (
        3,
        3,
    )


def test_cursors_leave_nothing_behind(db: sqlrl.Database) -> None:
    def tables() -> set[tuple[Any, ...]]:
        return set(db.sql("select schema_name, table_name from duckdb_tables() where database_name not like 'sqlrl_scratch%' union all select schema_name, view_name from duckdb_views() where not internal").fetchall())  # fmt: skip

    db.predict(RULES)
    before = tables()
    with db.cursor() as mine:
        mine.predict(RULES, examples=None)
        mine.advanced.ground(RULES)
    assert tables() == before


# ---- closing -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("db", ["file", "own connection"], indirect=True)
def test_a_closed_cursor_leaves_the_database_open(db: sqlrl.Database) -> None:
    with db.cursor() as mine, db.cursor() as other:
        mine.close()
        assert repr(mine).endswith("closed")
        with pytest.raises(InputError, match="closed"):
            mine.tables()
        assert other.predict(RULES).table()["person"]
    assert db.predict(RULES).table()["person"]


@pytest.mark.parametrize("db", ["memory", "file that is read", "own connection"], indirect=True)
def test_a_closed_database_closes_its_cursors(db: sqlrl.Database) -> None:
    mine = db.cursor()
    later = mine.cursor()
    with at_work(later):
        with pytest.raises(BusyError):
            db.close()
        # Nothing is closed then.
        assert db.tables()["facts"] == mine.tables()["facts"]
    db.close()
    for closed in (db, mine, later):
        assert repr(closed).endswith("closed")
    for closed in (mine, later):
        with pytest.raises(InputError, match="closed"):
            closed.predict(RULES)
    with pytest.raises(InputError, match="closed"):
        db.cursor()


def test_a_file_is_free_once_the_database_is_closed(tmp_path: Path) -> None:
    path = tmp_path / "a.duckdb"
    with sqlrl.connect(path) as db:
        fill(db)
        mine = db.cursor()
        mine.predict(RULES)
    # With other settings it could not be opened while a cursor holds it.
    with sqlrl.connect(path, trusted=False) as db:
        assert db.cursor().predict(RULES).table()["person"]
        assert not db.cursor().advanced.engine.trusted
        with pytest.raises(EngineError, match="trusted=False"):
            db.cursor().advanced.engine.rows_of("from glob('/*')")


# ---- other processes ---------------------------------------------------------------------------------

HELD: dict[str, tuple[Callable[[sqlrl.Database], Any], str]] = {
    "Database": (lambda db: db, r"pass the path and connect\(\) again"),
    "cursor": (lambda db: db.cursor(), r"db\.cursor\(\)"),
    "Prediction": (lambda db: db.predict(RULES), r"prediction\.atoms\(\).*into="),
    "Marginals": (lambda db: db.probabilities(RULES), r"marginals\.probabilities\(\).*into="),
    "Session": (lambda db: db.advanced.session, "connect again"),
    "Catalog": (lambda db: db.advanced.catalog, "connect again"),
    "Records": (lambda db: db.advanced.records, "connect again"),
    "Learning": (lambda db: db.advanced.learning, "connect again"),
    "list of them": (lambda db: [1, {"a": db.predict(RULES)}], r"prediction\.atoms"),
}
FREE: dict[str, Callable[[sqlrl.Database], Any]] = {
    "Table": lambda db: db.predict(RULES).table(),
    "atoms": lambda db: db.predict(RULES).atoms(),
    "Network": lambda db: db.advanced.ground(RULES),
    "MPEResult": lambda db: db.predict(RULES).result,
    "Layout": lambda db: db.advanced.bind(RULES),
    "Explanations": RULES.plan,
    "Reasons": lambda db: db.predict(RULES).why("Smokes(p1)"),
    "Bias": lambda db: sqlrl.Bias.derive(db, "Smokes"),
    "Scores": lambda db: db.evaluate(labelled(db)),
    "AdaGrad": lambda db: (labelled(db), sqlrl.AdaGrad().fit(db, RULES))[1],
    "Likelihood": lambda db: (labelled(db), sqlrl.Likelihood().fit(db, OTHER))[1],
    "ConstrainedTraining": lambda db: (labelled(db), sqlrl.ConstrainedTraining(sqlrl.AdaGrad()).fit(db, RULES))[1],
    "ILP": lambda db: (labelled(db), sqlrl.ILP().fit(db, "Smokes"))[1],
}


def labelled(db: sqlrl.Database) -> sqlrl.Prediction:
    db.load("Smokes", [("p0",), ("p2",)], types=["person"], target=True)
    return db.predict(RULES)


@pytest.mark.parametrize("copied", [pickle.dumps, copy.deepcopy])
def test_what_holds_a_database_says_what_to_take_along(copied: Callable[[Any], Any]) -> None:
    with sqlrl.connect() as db:
        fill(db)
        for make, words in HELD.values():
            with pytest.raises(InputError, match=f"cannot be pickled or copied.*{words}"):
                copied(make(db))
        assert db.predict(RULES).table()["person"]


LABELLED = ("Scores", "AdaGrad", "Likelihood", "ConstrainedTraining", "ILP")


@pytest.mark.parametrize(
    "names",
    [sorted({*FREE} - {*LABELLED}), pytest.param(LABELLED, marks=pytest.mark.slow)],
    ids=["answers", "learners"],
)
@pytest.mark.filterwarnings("ignore::sqlrl.errors.SqlrlWarning")
def test_what_holds_none_can_be_pickled(names: Iterable[str]) -> None:
    with sqlrl.connect() as db:
        db.load("Friends", [(f"p{i}", f"p{i + 1}") for i in range(20)], types=["person", "person"])
        if names is not LABELLED:
            fill(db)
        found = {name: FREE[name](db) for name in names}
    for name, each in found.items():
        assert repr(pickle.loads(pickle.dumps(each))) == repr(each), name


def test_a_prediction_can_be_copied_for_this_database() -> None:
    with sqlrl.connect() as db:
        fill(db)
        prediction = db.predict(RULES)
        assert copy.copy(prediction).table().to_arrow() == prediction.table().to_arrow()
        assert issubclass(InputError, SqlrlError)
