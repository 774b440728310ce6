"""Streams of subgraphs: what is learned is what the same subgraphs give that are loaded at once, and no more than a window is ever there."""

from __future__ import annotations

import gc
import re
import warnings
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import sqlrl
from sqlrl.errors import InputError, LabelWarning, ModelError, SqlrlError, UnsupportedError
from sqlrl.training import subgraph_stream
from tests.structure.resolwe.test_resolwe import FAST, StoppedError, load, planted

pytestmark = pytest.mark.filterwarnings("ignore::sqlrl.errors.LabelWarning")

Tables = dict[str, pa.Table]
LEARNERS = [sqlrl.AdaGrad(), sqlrl.baselines.ContrastiveDivergence(passes=2)]


def labelled(tables: Tables, relations: Sequence[str] = ("Talks", "Links", "Old", "Swims")) -> Tables:
    """Return planted subgraphs with the query atoms as a stream has them."""
    good = set(zip(*(tables["Good"][c].to_pylist() for c in ("example", "x0")), strict=True))
    scope = tables["Scope"]
    truth = [row in good for row in zip(*(scope[c].to_pylist() for c in ("example", "x0")), strict=True)]
    facts = {name: tables[name] for name in relations}
    return facts | {"Good": scope.append_column("truth", pa.array(truth))}


# Each window is a database of its own, which takes a quarter of a second: there are few, of few relations.
DECLARED = "Talks(user, user)\nOld(user)\nGood(user)"
MODEL = sqlrl.parse_mln(DECLARED)
GRAMMAR = sqlrl.parse_grammar("NEAR(u, w) = {Talks}\nOld(u) ^ [!]Good(u)\nNEAR(u, w) ^ Good(u) ^ Good(w)")
PLANTED = planted(3, subgraphs=22)
FULL = labelled(PLANTED, ("Talks", "Old"))
NAMES: list[str] = list(dict.fromkeys(FULL["Good"]["example"].to_pylist()))
CHOOSE, WINDOW = 8, 5


def mixed(tables: Tables = FULL) -> list[str]:
    """Return the subgraphs that have true and false query atoms, by counting."""
    found: dict[str, set[bool]] = {}
    for name, truth in zip(tables["Good"]["example"].to_pylist(), tables["Good"]["truth"].to_pylist(), strict=True):
        found.setdefault(name, set()).add(truth)
    return [name for name in found if len(found[name]) == 2]


def part(tables: Tables, names: list[str]) -> Tables:
    return {p: t.filter(pc.is_in(t["example"], value_set=pa.array(names, pa.string()))) for p, t in tables.items()}


def windows(size: int = WINDOW) -> Iterator[Tables]:
    for i in range(0, len(NAMES), size):
        yield part(FULL, NAMES[i : i + size])


def graph() -> duckdb.DuckDBPyConnection:
    """Return a database of the user's with the planted subgraphs as tables of a big graph."""
    con = duckdb.connect()
    for name, data in FULL.items():
        con.register("given", data)
        con.execute(f"create table g_{name.lower()} as from given")
        con.unregister("given")
    return con


def queries(window: int = WINDOW, con: duckdb.DuckDBPyConnection | None = None) -> sqlrl.SubgraphQueries:
    relations = {name: f"from g_{name.lower()} semi join centres using (example);" for name in FULL}
    return sqlrl.SubgraphQueries(
        con or graph(), "select distinct example from g_good order by 1;", relations, window=window
    )


STREAMS: dict[str, Callable[[], Any]] = {
    "iterator": lambda: sqlrl.SubgraphTables(windows()),
    "callable": lambda: sqlrl.SubgraphTables(windows),
    "list": lambda: sqlrl.SubgraphTables(list(windows(9))),
    "queries": queries,
    "one window": lambda: queries(1000),
    "small windows": lambda: queries(3),
}


def new() -> sqlrl.Database:
    return sqlrl.connect(progress=False)


@pytest.fixture(scope="module")
def loaded() -> dict[str, sqlrl.Resolwe]:
    """Return what is learned of the same subgraphs, loaded at once; some of them say nothing in either part."""
    assert all(0 < sum(name in mixed() for name in part) < len(part) for part in (NAMES[:CHOOSE], NAMES[CHOOSE:]))
    return {
        type(x).__name__: sqlrl.Resolwe(GRAMMAR, weights=x, select=CHOOSE).fit(load(PLANTED), MODEL) for x in LEARNERS
    }


@pytest.mark.slow
def test_subgraphs_that_say_nothing_might_as_well_not_be_there(loaded: dict[str, sqlrl.Resolwe]) -> None:
    first = sum(name in mixed() for name in NAMES[:CHOOSE])
    for learner in LEARNERS:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            fit = sqlrl.Resolwe(GRAMMAR, weights=learner, select=first).fit(load(PLANTED), MODEL, examples=mixed())
        whole = loaded[type(learner).__name__]
        assert fit.formulations_.to_arrow().equals(whole.formulations_.to_arrow())
        assert str(fit.model_) == str(whole.model_)


@pytest.mark.parametrize(
    ("kind", "learner"),
    [
        pytest.param(
            kind,
            learner,
            id=f"{type(learner).__name__}-{kind}",
            marks=[] if kind in quick else pytest.mark.slow,
        )
        for learner, quick in zip(LEARNERS, (("iterator", "queries"), ("iterator",)), strict=True)
        for kind in STREAMS
    ],
)
def test_a_stream_gives_what_the_loaded_subgraphs_give(
    kind: str, learner: Any, loaded: dict[str, sqlrl.Resolwe]
) -> None:
    if kind == "iterator" and learner.passes > 1:
        with pytest.raises(InputError, match="is an iterator, which is gone when it was read"):
            sqlrl.Resolwe(GRAMMAR, weights=learner, select=CHOOSE).fit(new(), MODEL, examples=STREAMS[kind]())
        return
    db, whole = new(), loaded[type(learner).__name__]
    fit = sqlrl.Resolwe(GRAMMAR, weights=learner, select=CHOOSE).fit(db, MODEL, examples=STREAMS[kind]())
    assert fit.formulations_.to_arrow().equals(whole.formulations_.to_arrow())
    assert str(fit.model_) == str(whole.model_)
    assert fit.weights_.last_weights_.tobytes() == whole.weights_.last_weights_.tobytes()
    assert fit.clauses().to_arrow().equals(whole.clauses().to_arrow())
    losses = [x.weights_.steps_.drop_columns(["example"]).to_pylist() for x in (fit, whole)]
    assert losses[0] == losses[1]


@pytest.mark.slow
def test_what_was_learned_from_is_kept_by_name_and_not_by_that_of_other_data() -> None:
    db = load(planted(9, subgraphs=5))
    fit = sqlrl.Resolwe(GRAMMAR, weights=FAST, select=CHOOSE).fit(db, MODEL, examples=queries())
    query = "select example_name from sqlrl.learned_from where run = {} order by example"
    chose, learned = (
        [name for (name,) in db.sql(query.format(run)).fetchall()] for run in (fit.run_, fit.weights_.run_)
    )
    assert chose == [name for name in NAMES[:CHOOSE] if name in mixed()]
    assert learned == [name for name in NAMES[CHOOSE:] if name in mixed()]
    steps = db.sql(f"select example_name from sqlrl.step where run = {fit.weights_.run_} order by step").fetchall()
    assert [name for (name,) in steps] == learned


def strange(kind: str) -> Tables:
    """Return four subgraphs that say something, and others: without query atoms, all true, all false, or of one query atom."""
    tables = part(FULL, mixed()[:4])
    evidence = pa.table({"example": ["a nobody"], "x0": ["u1"]})
    rows = {
        "none": [],
        "true": [("alike", "u1", True), ("alike", "u2", True)],
        "false": [("alike", "u1", False), ("alike", "u2", False), ("alike", "u3", False)],
        "one": [("alone", "u1", True)],
    }[kind]
    good = pa.table(
        {
            c: pa.array([row[i] for row in rows], tables["Good"].schema.field(c).type)
            for i, c in enumerate(("example", "x0", "truth"))
        }
    )
    return {
        **tables,
        "Old": pa.concat_tables([tables["Old"], evidence]),
        "Good": pa.concat_tables([tables["Good"], good]),
    }


def loading(tables: Tables) -> sqlrl.Database:
    """Load what a stream has, in the order of the stream."""
    db = new()
    for name in ("Good", "Talks", "Old"):
        more: dict[str, Any] = {"truth": "truth", "target": True} if name == "Good" else {}
        columns = [c for c in tables[name].column_names if c not in ("example", "truth")]
        db.load(name, tables[name], columns=columns, types=["user"] * len(columns), example="example", **more)
    db.scope("Good", tables["Good"].select(["example", "x0"]))
    return db


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("none", r"^1 of 5 subgraphs is left out: 1 without query atoms, 0 of several that are all true or all false$"),
        ("true", "^2 of 6 subgraphs are left out: 1 without query atoms, 1 of several"),
        ("false", "^2 of 6 subgraphs are left out: 1 without query atoms, 1 of several"),
        ("one", "^1 of 6 subgraphs is left out: 1 without query atoms, 0 of several"),
    ],
)
def test_what_is_left_out_is_counted(kind: str, message: str) -> None:
    tables, found = strange(kind), []
    for db, examples in ((loading(tables), None), (new(), sqlrl.SubgraphTables([tables]))):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            fit = sqlrl.Resolwe(GRAMMAR, weights=FAST, select=2, min_support=1).fit(db, MODEL, examples=examples)
        (said,) = [str(each.message) for each in caught if issubclass(each.category, LabelWarning)]
        assert re.search(message, said)
        query = "select distinct run, example_name from sqlrl.learned_from order by all"
        found.append((said, fit.formulations_.to_arrow(), str(fit.model_), db.sql(query).fetchall()))
    assert found[0] == found[1]
    names = [name for _, name in found[0][3]]
    assert ("alone" in names, "alike" in names, "a nobody" in names) == (kind == "one", False, False)


@pytest.mark.parametrize(
    ("say", "message"),
    [
        pytest.param(["s", "t"], "^nothing is left to learn weights from: of 6 subgraphs the first 2 choose structure .*, and 4 are left out, 0 without", marks=pytest.mark.slow),
        (["w", "x", "y", "z"], "^nothing is left to choose structure from: all of the first 2 subgraphs .* are left out, 0 without query atoms, 2 of"),
    ],
)  # fmt: skip
def test_where_nothing_is_left_that_is_said(say: list[str], message: str) -> None:
    names = ["s", "t", "w", "x", "y", "z"]
    rows = [(name, user, name in say and user == "u1") for name in names for user in ("u1", "u2")]
    good = pa.table({c: [row[i] for row in rows] for i, c in enumerate(("example", "x0", "truth"))})
    tables = {
        "Talks": pa.table({c: ["s"] if c == "example" else ["u1"] for c in FULL["Talks"].column_names}),
        "Old": good.drop_columns(["truth"]),
        "Good": good,
    }
    said = []
    for db, examples in ((loading(tables), None), (new(), sqlrl.SubgraphTables([tables]))):
        with pytest.raises(InputError, match=message) as caught:
            sqlrl.Resolwe(GRAMMAR, weights=FAST, select=2, min_support=1).fit(db, MODEL, examples=examples)
        said.append(str(caught.value))
    assert said[0] == said[1]


@pytest.mark.parametrize("stage", ["counting", pytest.param("weights", marks=pytest.mark.slow)])
def test_loaded_subgraphs_go_on_as_a_run_that_never_stopped(stage: str, tmp_path: Path) -> None:
    options: dict[str, Any] = {
        "weights": sqlrl.AdaGrad(window=5),
        "select": CHOOSE,
        "window": 3,
        "order": "shuffle",
        "random_state": 5,
    }
    whole = sqlrl.Resolwe(GRAMMAR, **options).fit(load(PLANTED), MODEL)
    calls = 0

    def stop(progress: Any) -> None:
        nonlocal calls
        calls += hasattr(progress, "subgraphs") == (stage == "counting")
        if calls == 2:
            raise StoppedError

    with load(PLANTED, tmp_path / "data.duckdb") as db, pytest.raises(StoppedError):
        sqlrl.Resolwe(GRAMMAR, **options).fit(db, MODEL, callback=stop, checkpoint=True)
    with sqlrl.connect(tmp_path / "data.duckdb", progress=False) as db:
        with pytest.warns(LabelWarning, match=f"^{len(NAMES) - len(mixed())} of 22 subgraphs are left out"):
            again = sqlrl.Resolwe(GRAMMAR, **options).fit(db, MODEL, resume=1)
        assert str(again.model_) == str(whole.model_)
        assert again.weights_.last_weights_.tobytes() == whole.weights_.last_weights_.tobytes()
        assert again.formulations_.to_arrow().equals(whole.formulations_.to_arrow())
        learned = {name for (name,) in db.sql("select example_name from sqlrl.learned_from").fetchall()}
    assert learned == set(mixed())


RESUMED: dict[str, Any] = {"weights": LEARNERS[1], "select": CHOOSE, "random_state": 3}


@cache
def never_stopped() -> sqlrl.Resolwe:
    """Return what is learned without a stop; it is the same of all kinds of streams."""
    return sqlrl.Resolwe(GRAMMAR, **RESUMED).fit(new(), MODEL, examples=STREAMS["list"]())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "stage", "after"),
    [
        ("callable", "weights", 5),  # in the second pass
        ("queries", "counting", 1),
        ("queries", "weights", 2),
        ("callable", "counting", 1),
        ("list", "weights", 2),
        ("queries", "weights", 5),
    ],
)
def test_a_resumed_run_ends_as_one_that_never_stopped(kind: str, stage: str, after: int, tmp_path: Path) -> None:
    options, whole = RESUMED, never_stopped()
    calls = 0

    def stop(progress: Any) -> None:
        nonlocal calls
        calls += hasattr(progress, "subgraphs") == (stage == "counting")
        if calls == after:
            raise StoppedError

    with sqlrl.connect(tmp_path / "data.duckdb", progress=False) as db:
        with pytest.raises(StoppedError):
            sqlrl.Resolwe(GRAMMAR, **options).fit(db, MODEL, examples=STREAMS[kind](), callback=stop, checkpoint=True)
        # What was counted of the windows that were finished is still there.
        assert db.sql("select sum(n) > 0 from sqlrl.joint_count where run = 1").fetchall() == [(True,)]
    with sqlrl.connect(tmp_path / "data.duckdb", progress=False) as db:
        with pytest.warns(LabelWarning, match=f"{len(NAMES) - len(mixed())} of 22 subgraphs are left out"):
            again = sqlrl.Resolwe(GRAMMAR, **options).fit(db, MODEL, examples=STREAMS[kind](), resume=1)
        assert str(again.model_) == str(whole.model_)
        assert again.weights_.last_weights_.tobytes() == whole.weights_.last_weights_.tobytes()
        assert again.formulations_.to_arrow().equals(whole.formulations_.to_arrow())
        assert again.weights_.steps_.equals(whole.weights_.steps_)
        run = again.weights_.run_
        names = db.sql(f"select example_name from sqlrl.learned_from where run = {run} order by example").fetchall()
        assert [name for (name,) in names] == [name for name in NAMES[CHOOSE:] if name in mixed()]


def test_windows_before_are_passed_over_without_a_query() -> None:
    con = graph()

    class Counting(sqlrl.SubgraphQueries):
        cuts: list[tuple[int, int]]

        def cut(self, begin: int, end: int) -> Any:
            if end > begin:
                self.cuts.append((begin, end))
            return super().cut(begin, end)

    relations = {name: f"from g_{name.lower()} semi join centres using (example)" for name in FULL}

    def stream() -> Counting:
        found = Counting(con, "select distinct example from g_good order by 1", relations, window=WINDOW)
        found.cuts = []
        return found

    # The digest of another class is another stream's: both runs have this one.
    def stop(progress: Any) -> None:
        if not hasattr(progress, "subgraphs") and progress.window == 2:
            raise StoppedError

    db = new()
    with pytest.raises(StoppedError):
        sqlrl.Resolwe(GRAMMAR, weights=FAST, select=CHOOSE).fit(
            db, MODEL, examples=stream(), callback=stop, checkpoint=True
        )
    again = stream()
    sqlrl.Resolwe(GRAMMAR, weights=FAST, select=CHOOSE).fit(db, MODEL, examples=again, resume=1)
    assert again.cuts == [(18, 22)]


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "known"), [("queries", True), ("callable", False)])
def test_windows_are_counted_as_far_as_they_are_known(kind: str, known: bool) -> None:
    seen: list[tuple[bool, int, int]] = []
    sqlrl.Resolwe(GRAMMAR, weights=FAST, select=CHOOSE).fit(
        new(),
        MODEL,
        examples=STREAMS[kind](),
        callback=lambda p: seen.append((hasattr(p, "subgraphs"), p.window, p.windows)),
    )
    # 8 subgraphs by 5, and the other 14; a window of tables that arrive is cut where the first stage ends, so that one has two subgraphs.
    choosing = [(True, i, 2 if known else i) for i in (1, 2)]
    assert seen == choosing + [(False, i, 3 if known else i) for i in range(1, 4 if known else 5)]


def test_a_run_is_resumed_with_the_same_stream() -> None:
    db = new()

    def stop(progress: Any) -> None:
        raise StoppedError

    with pytest.raises(StoppedError):
        sqlrl.Resolwe(GRAMMAR, weights=FAST, select=CHOOSE).fit(
            db, MODEL, examples=queries(), callback=stop, checkpoint=True
        )
    with pytest.raises(InputError, match="run 1 cannot be resumed: it began with stream="):
        sqlrl.Resolwe(GRAMMAR, weights=FAST, select=CHOOSE).fit(db, MODEL, examples=queries(8), resume=1)
    with pytest.raises(StoppedError):
        sqlrl.Resolwe(GRAMMAR, weights=FAST, select=CHOOSE).fit(
            db, MODEL, examples=STREAMS["callable"](), callback=stop, checkpoint=True
        )
    others = sqlrl.SubgraphTables(lambda: list(windows())[1:])
    with pytest.raises(InputError, match="the stream's first 5 subgraphs have other names"):
        sqlrl.Resolwe(GRAMMAR, weights=FAST, select=CHOOSE).fit(db, MODEL, examples=others, resume=2)
    short = sqlrl.SubgraphTables(lambda: [part(FULL, NAMES[:3])])
    with pytest.raises(InputError, match="the stream ends after 3 subgraphs, and the run had 5"):
        sqlrl.Resolwe(GRAMMAR, weights=FAST, select=CHOOSE).fit(db, MODEL, examples=short, resume=2)


@pytest.mark.slow
def test_no_more_than_a_window_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    alive: list[weakref.ref[pa.Table]] = []
    most = databases = at_once = 0

    def watched() -> Iterator[Tables]:
        nonlocal most
        for i in range(0, len(NAMES), 5):
            gc.collect()
            most = max(most, sum(ref() is not None for ref in alive))
            window = part(FULL, NAMES[i : i + 5])
            alive.extend(weakref.ref(table) for table in window.values())
            yield window
            del window

    connect, close = subgraph_stream.connect_engine, subgraph_stream.DuckDBEngine.close

    def opening(*given: Any, **named: Any) -> Any:
        nonlocal databases, at_once
        databases += 1
        at_once = max(at_once, databases)
        return connect(*given, **named)

    def closing(engine: Any) -> None:
        nonlocal databases
        databases -= 1
        close(engine)

    monkeypatch.setattr(subgraph_stream, "connect_engine", opening)
    monkeypatch.setattr(subgraph_stream.DuckDBEngine, "close", closing)
    db = new()
    sqlrl.Resolwe(GRAMMAR, weights=FAST, select=CHOOSE).fit(db, MODEL, examples=sqlrl.SubgraphTables(watched()))
    # When the next is asked for, the one before is gone; one database without facts has the clauses.
    assert most == 0
    assert (databases, at_once) == (0, 2)


# ---- what is wrong is said ---------------------------------------------------------------------------


def with_change(change: Callable[[Tables], Mapping[str, Any] | Any], at: int = 1) -> Callable[[], Any]:
    def changed() -> Iterator[Any]:
        for number, window in enumerate(windows()):
            yield change(window) if number in (at, -1) or at < 0 else window

    return lambda: sqlrl.SubgraphTables(changed())


def instead(name: str, data: Any) -> Callable[[Tables], Tables]:
    return lambda window: {**window, name: data}


def changed_table(name: str, change: Callable[[pa.Table], Any]) -> Callable[[Tables], Tables]:
    return lambda window: {**window, name: change(window[name])}


def without(name: str) -> Callable[[Tables], Tables]:
    return lambda window: {p: t for p, t in window.items() if p != name}


def renamed(old: str, new_: str) -> Callable[[pa.Table], pa.Table]:
    return lambda t: t.rename_columns([new_ if c == old else c for c in t.column_names])


def nulls_in(column: str) -> Callable[[pa.Table], pa.Table]:
    return lambda t: t.set_column(
        t.column_names.index(column), column, pa.array([None, *t[column].to_pylist()[1:]], t[column].type)
    )


@pytest.mark.parametrize(
    ("stream", "kind", "message"),
    [
        (with_change(lambda w: [w]), InputError, "a window of subgraphs is a mapping .* not an object of type list"),
        (with_change(instead("Old", [("s", "u")])), InputError, "Old: a window has Arrow tables, not .* list"),
        (with_change(changed_table("Old", renamed("example", "e"))), InputError, "Old has no column example"),
        (with_change(changed_table("Old", nulls_in("example"))), InputError, "Old has rows whose example is NULL"),
        (
            with_change(changed_table("Good", nulls_in("truth"))),
            InputError,
            "Good has a truth that is NULL in the window",
        ),
        (
            with_change(changed_table("Old", renamed("x0", "y"))),
            InputError,
            "Old has other columns .* example, x0 then",
        ),
        (
            with_change(changed_table("Old", lambda t: t.set_column(1, "x0", pa.array(range(len(t)))))),
            InputError,
            "Old has other columns in the window after 5 subgraphs .*: x0 was string and is int64",
        ),
        (with_change(without("Old")), InputError, "no table of Old in the window after 5 subgraphs"),
        (with_change(without("Old"), -1), ModelError, "the stream has no table of Old, which the templates name"),
        (with_change(instead("Fat", FULL["Old"])), InputError, "a table of Fat in the window after 5 subgraphs"),
        (with_change(instead("Fat", FULL["Old"]), -1), ModelError, "a table of Fat, which the model does not declare"),
        (
            with_change(changed_table("Good", lambda t: t.drop_columns(["truth"])), -1),
            InputError,
            "no table of the stream has the column truth",
        ),
        (
            with_change(changed_table("Good", lambda t: t.set_column(2, "truth", t["x0"])), -1),
            InputError,
            "Good has a column truth of type string, which must be boolean",
        ),
        (
            with_change(changed_table("Talks", lambda t: t.drop_columns(["x1"])), -1),
            InputError,
            r"Talks\(user, user\) has 2 arguments, and its table 1 column",
        ),
        (
            with_change(changed_table("Old", lambda t: pa.concat_tables([t, t]))),
            SqlrlError,
            "duplicate facts",
        ),
        (lambda: sqlrl.SubgraphTables([*windows(), *windows()]), InputError, "subgraph 's000' comes again, after 22"),
        (
            lambda: sqlrl.SubgraphTables(list(windows())[:1]),
            InputError,
            "ends after 5 subgraphs, and 8 are to choose",
        ),
        (
            lambda: sqlrl.SubgraphTables(windows(CHOOSE).__next__() for _ in "a"),
            InputError,
            "is left to learn weights from",
        ),
        (lambda: sqlrl.SubgraphTables([]), InputError, "has no window: there is nothing to learn from$"),
        (lambda: sqlrl.SubgraphTables(iter([])), InputError, "an iterator that was read before is gone"),
        (lambda: sqlrl.SubgraphTables(7), InputError, "an iterable of windows, or a function"),
        (lambda: sqlrl.SubgraphTables(part(FULL, NAMES)), InputError, "put a single window in a list"),
        (lambda: sqlrl.SubgraphQueries(7, "select 1", {"Old": "from g_old"}), InputError, "source is a Database or"),
        (lambda: queries(0), InputError, "window=0 must be a number"),
        (lambda: sqlrl.SubgraphQueries(graph(), 7, {}), InputError, "centres is a query whose .*, not 7"),  # type: ignore[arg-type]
        (lambda: sqlrl.SubgraphQueries(graph(), "select 1", {}), InputError, "relations is a mapping"),
        (
            lambda: sqlrl.SubgraphQueries(graph(), "from nowhere", {"Old": "from g_old"}),
            InputError,
            "centres fails: .*nowhere",
        ),
        (
            lambda: sqlrl.SubgraphQueries(graph(), "select 1.5", {"Old": "from g_old"}),
            InputError,
            "texts or whole numbers",
        ),
        (
            lambda: sqlrl.SubgraphQueries(graph(), "from (values ('a'), (NULL))", {"Old": "from g_old"}),
            InputError,
            "NULL among its names",
        ),
        (
            lambda: sqlrl.SubgraphQueries(graph(), "from (values (3), (4), (3))", {"Old": "from g_old"}),
            InputError,
            "subgraph '3' comes again, after 2 subgraphs",
        ),
        (
            lambda: sqlrl.SubgraphQueries(
                graph(), "select example from g_good group by 1", {"Old": "select x0 from g_old"}
            ),
            InputError,
            "Old has no column example",
        ),
        (
            lambda: sqlrl.SubgraphQueries(graph(), "select example from g_good group by 1", {"Old": "select a.b"}),
            InputError,
            "the query of Old fails",
        ),
        (
            lambda: sqlrl.SubgraphQueries(
                graph(), "select example from g_good group by 1", {name: f"from g_{name}" for name in FULL}
            ),
            InputError,
            "which is no centre of this window",
        ),
        *(
            (
                lambda sql=sql: sqlrl.SubgraphQueries(graph(), sql, {"Old": "from g_old"}),
                InputError,
                "the query of centres must be one SELECT",
            )
            for sql in ("delete from g_old returning x0", "create table t as select 1", "select 1; select 2", "")
        ),
        (
            lambda: sqlrl.SubgraphQueries(
                graph(), "select example from g_good group by 1", {"Old": "delete from g_old returning example, x0"}
            ),
            InputError,
            "the query of Old fails",
        ),
        (
            lambda: queries(con=graph().execute("create table Centres as select 1")),
            InputError,
            "the graph has a table .*main.Centres of its own",
        ),
    ],
)
def test_what_is_wrong_is_said(stream: Callable[[], Any], kind: type[SqlrlError], message: str) -> None:
    with pytest.raises(kind, match=message):
        sqlrl.Resolwe(GRAMMAR, weights=FAST, select=CHOOSE).fit(new(), MODEL, examples=stream())


@pytest.mark.parametrize(
    ("options", "given", "kind", "message"),
    [
        ({"select": 0.5}, {}, InputError, "select=0.5 is a share of a stream whose length nobody knows"),
        ({"order": "shuffle"}, {}, InputError, "a stream has its own order"),
        ({"window": 7}, {}, InputError, "window=7 is for loaded examples"),
        pytest.param(
            {"weights": sqlrl.AdaGrad(window=3)},
            {},
            InputError,
            "window=3 is for loaded examples",
            marks=pytest.mark.slow,
        ),
        ({}, {"checkpoint": True}, InputError, "the stream is an iterator"),
    ],
)
def test_what_a_stream_does_not_take_is_said(
    options: dict[str, Any], given: dict[str, Any], kind: type[SqlrlError], message: str
) -> None:
    with pytest.raises(kind, match=message):
        sqlrl.Resolwe(GRAMMAR, **({"weights": FAST, "select": CHOOSE} | options)).fit(
            new(), MODEL, examples=sqlrl.SubgraphTables(windows()), **given
        )


def test_a_window_may_have_batches_and_dictionaries() -> None:
    """They are the tables that they hold; a stream is shown by what it reads."""
    old = FULL["Old"]
    (batch,) = old.combine_chunks().to_batches()
    coded = old.set_column(0, "example", old["example"].dictionary_encode())
    found = [sqlrl.SubgraphTables([{**FULL, "Old": table}]) for table in (old, batch, coded)]
    read = [stream.reader().read(None) for stream in found]
    assert all(window is not None for window in read)
    assert [window.tables["Old"].to_pylist() for window in read if window] == [old.to_pylist()] * 3
    assert [window.names for window in read if window] == [NAMES] * 3
    assert found[0].reader().skip(1000) == NAMES
    assert repr(sqlrl.SubgraphTables([])) == "SubgraphTables([])"
    twice = sqlrl.SubgraphTables([{**FULL, "Old": old.append_column("x0", old["x0"])}])
    with pytest.raises(InputError, match="Old has several columns x0: give each a name of its own"):
        twice.reader().read(None)


def test_a_target_that_the_model_names_needs_labels() -> None:
    model = sqlrl.parse_mln(DECLARED, query=["Old"])
    with pytest.raises(InputError, match="Old is to be predicted, and its table has no column truth"):
        sqlrl.Resolwe(GRAMMAR, weights=FAST, select=CHOOSE).fit(new(), model, examples=queries())


def test_a_target_that_the_model_names_needs_a_table() -> None:
    model = sqlrl.parse_mln(f"{DECLARED}\nMeets(user)", query=["Good", "Meets"])
    with pytest.raises(ModelError, match="the stream has no table of Meets, which is to be predicted"):
        sqlrl.Resolwe(GRAMMAR, weights=FAST, select=CHOOSE).fit(new(), model, examples=queries())


def test_a_relation_of_a_stream_has_an_argument() -> None:
    stream = sqlrl.SubgraphTables([{**window, "Sunny": pa.table({"example": ["s000"]})} for window in windows()])
    with pytest.raises(UnsupportedError, match="Sunny has no argument: a stream has relations with one at least"):
        sqlrl.Resolwe(GRAMMAR, weights=FAST, select=CHOOSE).fit(
            new(), sqlrl.parse_mln(f"{DECLARED}\nSunny"), examples=stream
        )


def other_labels(tables: Tables) -> Tables:
    """Add a predicate with labels of two classes in each subgraph."""
    meets = tables["Good"].select(["example", "x0"])
    truth = [x == "u1" for x in meets["x0"].to_pylist()]
    return {**tables, "Meets": meets.append_column("truth", pa.array(truth))}


@pytest.mark.slow
@pytest.mark.parametrize("named", [False, True])
def test_only_labels_of_what_is_learned_count(named: bool) -> None:
    # Meets, of two classes everywhere, says nothing as long as no template or rule is about it.
    rule = "\nMeets(u) ^ Old(u) => Good(u)" if named else ""
    model, tables = sqlrl.parse_mln(f"{DECLARED}\nMeets(user){rule}"), other_labels(FULL)
    db = load(PLANTED)
    db.load("Meets", tables["Meets"], columns=["x0"], types=["user"], example="example", truth="truth", target=True)
    db.scope("Meets", tables["Meets"].select(["example", "x0"]))
    found = []
    for where, examples in ((db, None), (new(), sqlrl.SubgraphTables([tables]))):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            fit = sqlrl.Resolwe(GRAMMAR, weights=FAST, select=CHOOSE).fit(where, model, examples=examples)
        said = [str(each.message) for each in caught if "left out" in str(each.message)]
        found.append((said, fit.formulations_.to_arrow(), str(fit.model_)))
    assert found[0] == found[1]
    assert len(found[0][0]) == (not named)


@pytest.mark.slow
def test_rules_with_a_clause_for_each_constant_are_refused() -> None:
    model = sqlrl.parse_mln(f"{DECLARED}\nOld(+u) => Good(u)")
    with pytest.raises(UnsupportedError, match=r"Old\(\+u\) => Good\(u\) has a clause for each constant"):
        sqlrl.Resolwe(GRAMMAR, weights=FAST, select=CHOOSE).fit(new(), model, examples=queries())


@pytest.mark.slow
def test_empty_relations_are_no_fault_and_nothing_is_written_to_the_graph() -> None:
    con = graph()
    con.execute("delete from g_talks")
    before = con.execute("from duckdb_tables() union all by name from duckdb_views() where not internal").fetchall()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit = sqlrl.Resolwe(GRAMMAR, weights=FAST, select=0.4).fit(new(), MODEL, examples=queries(con=con))
    assert sum(map(bool, fit.formulations_["kept"])) > 0
    after = con.execute("from duckdb_tables() union all by name from duckdb_views() where not internal").fetchall()
    assert len(before) == len(after)


@pytest.mark.slow
def test_the_graph_may_be_in_the_same_database(loaded: dict[str, sqlrl.Resolwe]) -> None:
    con = graph()
    db = sqlrl.connect(con, progress=False)
    relations = {name: f"from g_{name.lower()} semi join centres using (example)" for name in FULL}
    stream = sqlrl.SubgraphQueries(db, "select distinct example from g_good order by 1", relations)
    fit = sqlrl.Resolwe(GRAMMAR, weights=FAST, select=CHOOSE).fit(db, MODEL, examples=stream)
    assert str(fit.model_) == str(loaded["AdaGrad"].model_)
