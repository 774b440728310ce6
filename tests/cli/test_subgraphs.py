"""`sqlrl learn --stream`: what a file of views gives is what Python gives of it, also where the run stopped, and what is wrong is said."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest

import sqlrl
from sqlrl.training.subgraphs import SubgraphQueries, SubgraphWindow
from tests.cli.conftest import Outcome, Run, SeenError
from tests.database.test_subgraphs import labelled, mixed
from tests.structure.resolwe.test_resolwe import DECLARED, TEMPLATES, planted

FULL = labelled(planted(3))
NAMES: list[str] = list(dict.fromkeys(FULL["Good"]["example"].to_pylist()))

VIEWS = """\
-- Users of an étude: what they talk of; ümläuts move places
CREATE VIEW centres AS
SELECT DISTINCT example FROM g_good ORDER BY example;

CREATE VIEW talking(example, u, w) AS SELECT example, x0, x1 FROM centres JOIN g_talks USING (example);
create or replace temp view "Talks" AS FROM talking;
CREATE VIEW Links AS
  WITH near AS (SELECT example FROM centres)
  SELECT * FROM g_links WHERE example IN (FROM near); /* ; */
CREATE VIEW Old AS (SELECT example, x0 FROM g_old SEMI JOIN centres USING (example));
CREATE VIEW IF NOT EXISTS Swims(example, swimmer) AS SELECT example, x0 FROM g_swims SEMI JOIN centres USING (example)
;
CREATE VIEW Good AS SELECT example, x0, truth FROM centres JOIN g_good USING (example);
-- the end
"""
SIZE = 20
WINDOW = ["--window", str(SIZE), "--select", "40", "--weights", "adagrad"]
"""Two windows choose structure, one learns weights: each window of subgraphs is a database of its own, and takes a third of a second."""


def graph(path: Path) -> None:
    """Write the planted subgraphs as tables of a big graph."""
    with duckdb.connect(str(path)) as con:
        for name, data in FULL.items():
            con.register("given", data)
            con.execute(f"create table g_{name.lower()} as from given")
            con.unregister("given")


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A graph, a model of declarations, templates, and a file of views; nothing of them changes."""
    folder = tmp_path_factory.mktemp("graph")
    graph(folder / "graph.duckdb")
    (folder / "users.mln").write_text(DECLARED, encoding="utf-8")
    (folder / "users.grammar").write_text(TEMPLATES, encoding="utf-8")
    (folder / "users.sql").write_text(VIEWS, encoding="utf-8")
    return folder


def fitted(prepared: Path, stream: SubgraphQueries) -> sqlrl.Resolwe:
    """Return what Python learns of a stream with the options of `WINDOW`."""
    learner = sqlrl.Resolwe(prepared / "users.grammar", weights=sqlrl.AdaGrad(), select=40, random_state=0)
    with pytest.warns(sqlrl.errors.LabelWarning):
        return learner.fit(sqlrl.connect(progress=False), sqlrl.parse_mln(DECLARED), examples=stream)


@pytest.fixture(scope="module")
def whole(prepared: Path) -> sqlrl.Resolwe:
    """Return what Python learns of the same queries, written for `SubgraphQueries`."""
    relations = {name: f"from g_{name.lower()} semi join centres using (example)" for name in FULL}
    with duckdb.connect(str(prepared / "graph.duckdb"), read_only=True) as con:
        stream = SubgraphQueries(con, "select distinct example from g_good order by 1", relations, window=SIZE)
        return fitted(prepared, stream)


def learn(run: Run, folder: Path, *more: object, database: Path | None = None, stdin: str | None = None) -> Outcome:
    given = ["--model", folder / "users.mln", "--learner", "resolwe", "--templates", folder / "users.grammar"]
    return run("learn", *([] if database is None else [database]), *given, *more, stdin=stdin)  # type: ignore[arg-type]


def said(done: Outcome) -> str:
    return " ".join(done.err.replace("│", " ").split())


WHERE = ["elsewhere", "kept", "inside", "same file", "standard input"]
"""Where the graph is, whether the run is kept, and where the views come from."""


def placed(how: str, prepared: Path, folder: Path) -> tuple[list[object], dict[str, Any]]:
    """Return the options that say where graph and views are, and what else `learn` takes."""
    own, inside = folder / "own.duckdb", how in ("inside", "same file")
    if inside:
        graph(own)
    named: list[object] = [] if how == "inside" else ["--graph", own if inside else prepared / "graph.duckdb"]
    piped = how == "standard input"
    options = [*WINDOW, *named, "--stream", "-" if piped else prepared / "users.sql"]
    return options, {"database": own if inside or how == "kept" else None, "stdin": VIEWS if piped else None}


@pytest.mark.parametrize("how", ["same file", pytest.param("elsewhere", marks=pytest.mark.slow)])
def test_a_file_of_views_gives_what_python_gives(
    how: str, run: Run, prepared: Path, whole: sqlrl.Resolwe, tmp_path: Path
) -> None:
    """It learns once, after `whole`: a second each."""
    before = (prepared / "graph.duckdb").read_bytes()
    options, given = placed(how, prepared, tmp_path)
    done = learn(run, prepared, *options, "--out", tmp_path / "found.mln", **given)
    assert done.code == 0, done.err
    assert sqlrl.read_mln(tmp_path / "found.mln") == whole.model_
    assert f"{60 - len(mixed(FULL))} of 60 subgraphs" in said(done)
    assert (prepared / "graph.duckdb").read_bytes() == before
    if given["database"] is not None:
        with sqlrl.connect(given["database"], read_only=True) as db:
            stored = db.sql("from sqlrl.formulation order by candidate, implied nulls first").to_arrow_table()
            assert stored.drop_columns(["run"]).to_pylist() == whole.formulations_.to_arrow().to_pylist()
            tables = {name for (name,) in db.sql("select view_name from duckdb_views() where not internal").fetchall()}
        assert not tables & {"centres", "talking", *FULL}


def test_wherever_graph_and_views_are_the_stream_is_the_same(
    run: Run, prepared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with duckdb.connect(str(prepared / "graph.duckdb"), read_only=True) as con:
        stream = sqlrl.read_subgraphs(prepared / "users.sql", con, sqlrl.parse_mln(DECLARED), window=SIZE)
        wanted = (stream.names(0, 60), stream.cut(0, 5).tables)
    found, runs = [], []

    def seen(learner: sqlrl.Resolwe, db: object, model: object, *, examples: SubgraphQueries, **given: object) -> None:
        found.append((examples.names(0, 60), examples.cut(0, 5).tables))
        runs.append((given.get("checkpoint", False), given.get("resume")))
        raise SeenError("seen")

    monkeypatch.setattr(sqlrl.Resolwe, "fit", seen)
    for how in WHERE:
        (tmp_path / how).mkdir()
        options, given = placed(how, prepared, tmp_path / how)
        done = learn(run, prepared, *options, **given)
        assert (done.code, "seen" in done.err) == (1, True), (how, done.err)
        assert found.pop() == wanted, how
        assert runs.pop() == (False, None)
    options, given = placed("kept", prepared, tmp_path)
    for saving, wanted_run in ((["--checkpoint"], (True, None)), (["--resume", "3"], (False, 3))):
        learn(run, prepared, *options, *saving, **given)
        assert runs.pop() == wanted_run


def test_python_reads_the_same_file(prepared: Path) -> None:
    with duckdb.connect(str(prepared / "graph.duckdb"), read_only=True) as con:
        stream = sqlrl.read_subgraphs(prepared / "users.sql", con, sqlrl.parse_mln(DECLARED), window=SIZE)
        assert (len(stream), sorted(stream.queries())) == (60, sorted(FULL))
        # What `queries` shows may be given to `SubgraphQueries`.
        again = SubgraphQueries(con, stream.centres, stream.queries(), window=SIZE)
        assert [t.to_pylist() for t in again.cut(3, 9).tables.values()] == [
            t.to_pylist() for t in stream.cut(3, 9).tables.values()
        ]


class Stop:
    """Stops a process between two windows, as Ctrl-C does."""

    def __init__(self, patch: pytest.MonkeyPatch, after: int) -> None:
        self.left, cut = after, SubgraphQueries.cut

        def stopping(stream: SubgraphQueries, begin: int, end: int) -> SubgraphWindow:
            self.left -= end > begin
            if self.left < 0:
                raise KeyboardInterrupt
            return cut(stream, begin, end)

        patch.setattr(SubgraphQueries, "cut", stopping)


@pytest.mark.slow
@pytest.mark.parametrize("after", [1, 2])
def test_a_resumed_run_ends_as_one_that_never_stopped(
    after: int, run: Run, prepared: Path, whole: sqlrl.Resolwe, tmp_path: Path
) -> None:
    """It is stopped while structure is chosen, or before weights are learned."""
    database = tmp_path / "runs.duckdb"
    given = [*WINDOW, "--graph", prepared / "graph.duckdb", "--stream", prepared / "users.sql", "--checkpoint"]
    with pytest.MonkeyPatch.context() as patch:
        Stop(patch, after)
        stopped = learn(run, prepared, *given, database=database)
    assert stopped.code == 130
    assert "--resume 1" in stopped.err
    again = learn(run, prepared, *given, "--resume", "1", "--out", tmp_path / "found.mln", database=database)
    assert again.code == 0, again.err
    assert f"{60 - len(mixed(FULL))} of 60 subgraphs" in said(again)
    assert sqlrl.read_mln(tmp_path / "found.mln") == whole.model_
    with sqlrl.connect(database, read_only=True) as db:
        names = db.sql(
            "select example_name from sqlrl.learned_from where run = (select max(run) from sqlrl.run) order by example"
        ).fetchall()
        stored = db.sql("from sqlrl.formulation order by candidate, implied nulls first").to_arrow_table()
    assert [name for (name,) in names] == [name for name in NAMES[40:] if name in mixed(FULL)]
    assert stored.drop_columns(["run"]).to_pylist() == whole.formulations_.to_arrow().to_pylist()


@pytest.mark.slow
def test_lines_may_move_before_a_run_is_resumed_and_queries_may_not_change(
    run: Run, prepared: Path, tmp_path: Path
) -> None:
    database, views = tmp_path / "runs.duckdb", tmp_path / "users.sql"
    given = [*WINDOW, "--graph", prepared / "graph.duckdb", "--stream", views, "--checkpoint"]
    views.write_text(VIEWS, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        Stop(patch, 1)
        assert learn(run, prepared, *given, database=database).code == 130
    views.write_text(VIEWS.replace("FROM g_swims", "FROM g_old"), encoding="utf-8")
    done = learn(run, prepared, *given, "--resume", "1", database=database)
    assert done.code == 1
    assert "run 1 cannot be resumed: it began with stream='SubgraphViews " in said(done)
    views.write_text("-- moved\n\n" + VIEWS, encoding="utf-8")
    assert learn(run, prepared, *given, "--resume", "1", database=database).code == 0


def change(old: str, new: str) -> Callable[[], str]:
    assert old in VIEWS
    return lambda: VIEWS.replace(old, new)


WRONG: list[tuple[Callable[[], str], str]] = [
    (lambda: "hello world", r"users\.sql is no SQL: Parser Error: syntax error at or near \"hello\" LINE 1:"),
    (change("FROM talking;", "FRM talking;"), r"is no SQL: .* LINE 6:"),
    (lambda: "", r"users\.sql has no view centres, .* write CREATE VIEW centres AS SELECT"),
    (lambda: "-- nothing", "has no view centres"),
    (change("VIEW centres", "VIEW center"), "has no view centres"),
    (
        change("DISTINCT example FROM g_good ORDER BY example", "DISTINCT example AS name FROM g_good"),
        r"users\.sql:2: the view centres has the columns name: it needs one, example",
    ),
    (
        change("SELECT DISTINCT example FROM", "SELECT DISTINCT example, x0 FROM"),
        "the view centres has the columns example, x0: it needs one",
    ),
    (change("DISTINCT example", "example"), "subgraph 's000' comes again"),
    (
        change("VIEW Old", "VIEW Olds"),
        r"users\.sql:10: the view Olds is of no predicate that the model declares, and none after it reads it; did you mean 'Old'",
    ),
    (
        lambda: VIEWS + "CREATE VIEW zzz AS SELECT 1;",
        r"users\.sql:\d+: the view zzz is of no predicate .*: write its declaration, or leave it out",
    ),
    (change("VIEW Old", "VIEW links"), r"users\.sql:10: there is a view Links before"),
    (change("talking", "g_old"), r"users\.sql:5: the graph has a table graph\.main\.g_old, too"),
    (lambda: VIEWS + "SELECT 1;", r"users\.sql:\d+: 'SELECT 1' makes no view"),
    (lambda: VIEWS + "DROP TABLE g_old;", "'DROP TABLE g_old' makes no view"),
    (lambda: VIEWS + "CREATE TABLE t AS SELECT 1", "'CREATE TABLE t AS SELECT 1' makes no view"),
    (change("VIEW Old", "VIEW main.Old"), r"users\.sql:10: the name of a view is one word"),
    (
        change("SELECT example, x0, truth", "SELECT example, nope"),
        r"users\.sql: the view Good fails: .*nope.* LINE 13:",
    ),
    (
        change("SELECT * FROM g_links", "SELECT * FROM nowhere"),
        r"the view Links fails: .*nowhere does not exist.* LINE 9:",
    ),
    (change("x0, x1 FROM", "x0, x7 FROM"), r"the view Talks fails: .*x7.* LINE 5:"),
    (change("FROM g_good ORDER", "FROM nowhere ORDER"), r"the view centres fails: .*nowhere.* LINE 3:"),
    (
        change("x0, truth FROM", "x0, cast(x0 AS integer) > 3 AS truth FROM"),
        r"users\.sql: the view Good fails: Conversion Error: .* LINE 13:",
    ),
    (change("x0, truth FROM", "truth FROM"), r"Good\(user\) has 1 argument, and its table 0 columns"),
    (change("(SELECT example, x0 FROM g_old", "(SELECT x0 FROM g_old"), "Old has no column example"),
    (change("CREATE VIEW Old AS", "CREATE VIEW step AS"), "the view step is of no predicate"),
]


def test_what_is_wrong_in_the_file_is_said(run: Run, prepared: Path, tmp_path: Path) -> None:
    path, model = tmp_path / "users.sql", sqlrl.parse_mln(DECLARED)
    with duckdb.connect(str(prepared / "graph.duckdb"), read_only=True) as con:
        for views, message in WRONG:
            path.write_text(views(), encoding="utf-8")
            with pytest.raises(sqlrl.SqlrlError) as raised:
                learned_from_views(path, con, model, prepared / "users.grammar")
            words = " ".join(str(raised.value).split())
            assert re.search(message, words), words
    done = learn(run, prepared, *WINDOW, "--graph", prepared / "graph.duckdb", "--stream", path)
    assert done.code == 1
    assert re.search(WRONG[-1][1], said(done)), done.err
    assert "Traceback" not in done.err


def learned_from_views(path: Path, con: duckdb.DuckDBPyConnection, model: sqlrl.Model, templates: Path) -> None:
    """Learn what a file of views gives, as the command does."""
    stream = sqlrl.read_subgraphs(path, con, model, window=SIZE)
    sqlrl.Resolwe(templates, weights=sqlrl.AdaGrad(), select=SIZE).fit(
        sqlrl.connect(progress=False), model, examples=stream
    )


def test_a_relation_that_templates_need_must_be_there(run: Run, prepared: Path, tmp_path: Path) -> None:
    text = "\n".join(line for line in VIEWS.splitlines() if "VIEW Old" not in line)
    (tmp_path / "users.sql").write_text(text, encoding="utf-8")
    done = learn(run, prepared, *WINDOW, "--graph", prepared / "graph.duckdb", "--stream", tmp_path / "users.sql")
    assert (done.code, "the stream has no table of Old, which the templates name" in said(done)) == (1, True)


@pytest.mark.parametrize(
    ("more", "code", "message"),
    [
        (["--stream", "absent.sql"], 1, "absent.sql: cannot read the file"),
        (["--stream", "users.sql", "--graph", "absent.duckdb"], 1, "--graph absent.duckdb: there is no such file"),
        (["--stream", "users.sql", "--graph", "users.mln"], 1, "--graph users.mln is no DuckDB database"),
        (["--graph", "graph.duckdb"], 2, "--graph has the graph of a stream: add --stream FILE"),
        (["--stream", "users.sql", "--examples", "select 1"], 2, "--examples names examples that are loaded"),
        (["--stream", "users.sql", "--holdout", "0.2"], 2, "--holdout is of examples that are loaded"),
        (["--stream", "users.sql", "--evidence", "x.db"], 2, "--evidence loads examples"),
        (
            ["--stream", "users.sql", "--learner", "likelihood"],
            2,
            "--stream is an option of online learners and resolwe: likelihood learns",
        ),
        (
            ["--stream", "users.sql", "--learner", "adagrad", "--constraints", "sct"],
            2,
            "--constraints counts ground clauses of examples that are loaded",
        ),
        (["--stream", "users.sql", "--order", "shuffle"], 1, "a stream has its own order"),
        (["--stream", "users.sql"], 2, "name the database: as the first argument"),
        (["--stream", "users.sql", "--checkpoint"], 2, "--checkpoint and --resume need a DATABASE"),
        (["--stream", "users.sql", "--resume", "1"], 2, "--checkpoint and --resume need a DATABASE"),
        (["--stream", "-", "--model", "-"], 2, "cannot both be standard input"),
    ],
)
def test_options_that_do_not_go_together_are_refused(
    more: list[str], code: int, message: str, run: Run, prepared: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(prepared)
    graphs = [] if "--graph" in more or message.startswith("name the database") else ["--graph", "graph.duckdb"]
    given: dict[str, Any] = {"--model": "users.mln", "--learner": "resolwe", "--templates": "users.grammar"}
    own = [x for option, value in given.items() if option not in more for x in (option, value)]
    if "--learner" in more:
        own = own[: own.index("--templates")]
    done = run("learn", *own, *graphs, *more, stdin="")
    assert (done.code, message in said(done)) == (code, True), done.err


def test_an_online_learner_takes_a_stream(run: Run, prepared: Path, tmp_path: Path) -> None:
    (tmp_path / "rules.mln").write_text(f"{DECLARED}\nOld(u) => Good(u)\nGood(u)\n", encoding="utf-8")
    done = run(
        "learn", tmp_path / "runs.duckdb", "--model", tmp_path / "rules.mln", "--learner", "perceptron", "--graph", prepared / "graph.duckdb",
        "--stream", prepared / "users.sql", "--window", "30", "--checkpoint", "--out", tmp_path / "learned.mln",
    )  # fmt: skip
    assert done.code == 0, done.err
    model = sqlrl.read_mln(tmp_path / "rules.mln")
    with duckdb.connect(str(prepared / "graph.duckdb"), read_only=True) as con:
        stream = sqlrl.read_subgraphs(prepared / "users.sql", con, model, window=30)
        fit = sqlrl.baselines.Perceptron(random_state=0).fit(sqlrl.connect(progress=False), model, examples=stream)
    assert sqlrl.read_mln(tmp_path / "learned.mln") == fit.model_


def test_a_predicate_may_have_the_name_of_a_table_of_the_graph() -> None:
    con = duckdb.connect()
    con.execute("create table knows as from (values (1, 2), (1, 3), (2, 3)) t(a, b)")
    text = """
    create view Centres as select distinct a as example from knows order by 1;
    create view Knows as select example, b, a from centres join knows on a = example;
    create view Likes as select example, b as person, b > 2 as truth from centres join knows on a = example;
    """
    stream = sqlrl.parse_subgraphs(text, con, sqlrl.parse_mln("Knows(person, person)\nLikes(person)"))
    tables = {name: [list(row.values()) for row in data.to_pylist()] for name, data in stream.cut(0, 2).tables.items()}
    assert sorted(tables["Likes"]) == [["1", 2, False], ["1", 3, True], ["2", 3, True]]
    assert sorted(tables["Knows"]) == [["1", 2, 1], ["1", 3, 1], ["2", 3, 2]]


def test_centres_keep_their_order_behind_steps() -> None:
    con = duckdb.connect()
    con.execute("create table n as select (i * 7919) % 10007 as a from range(5000) t(i)")
    text = """create view evens as select a from n where a % 2 = 0;
    create view centres(example) as select a from evens order by md5(a::text);
    create view P as select example, example as x, true as truth from centres"""
    stream = sqlrl.parse_subgraphs(text, con, sqlrl.parse_mln("P(x)"))
    wanted = con.sql("select a::text from n where a % 2 = 0 order by md5(a::text)").fetchall()
    assert stream.names(0, len(stream)) == [name for (name,) in wanted]


@pytest.mark.parametrize(
    ("change", "lines"),
    [
        (lambda text: "\ufeff" + text, 0),
        (lambda text: text.replace("\n", "\r\n"), 0),
        (lambda text: text.replace("order by a;", "order by a; ;;"), 0),
        (lambda text: text.replace("FROM ", "FROM\u00a0"), 0),
        (lambda text: f"{text} -- ünd; so", 0),
        (lambda text: "\n\n/* ;\n */" + text, 3),
    ],
)
def test_how_a_file_is_written_changes_nothing(change: Callable[[str], str], lines: int) -> None:
    con = duckdb.connect().execute("create table n as select i as a from range(9) t(i)")
    text = """create view centres as select a as example from n order by a;
create view P as
select example, example || ';é' as x, example > 3 as truth FROM centres"""
    model = sqlrl.parse_mln("P(x)")
    plain, other = (sqlrl.parse_subgraphs(each, con, model) for each in (text, change(text)))
    assert other.cut(0, 9).tables == plain.cut(0, 9).tables
    assert sqlrl.parse_subgraphs(other.sql(), con, model).cut(0, 9).tables == plain.cut(0, 9).tables
    with pytest.raises(sqlrl.SqlrlError, match=rf"the view P fails: [^$]*LINE {3 + lines}:"):
        sqlrl.parse_subgraphs(change(text.replace("example > 3", "nope > 3")), con, model).cut(0, 9)
