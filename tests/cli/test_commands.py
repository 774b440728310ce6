"""Each command does its work: tables on standard output, messages on standard error, JSON where asked for."""

from __future__ import annotations

import json
from importlib import import_module
from importlib.metadata import version
from inspect import signature
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pyarrow.parquet as pq
import pytest

import sqlrl
from sqlrl.cli.inputs import AskedPredicates, Job
from sqlrl.cli.options import Messages
from sqlrl.cli.session import session
from sqlrl.cli.solvers import Saving, Solver
from sqlrl.logic.mln import parse_mln
from sqlrl.solve.result import Status
from tests.cli.conftest import EVIDENCE, MODEL, SMOKERS, Project, Run


def test_version_lists_the_libraries(run: Run) -> None:
    assert f"duckdb    {version('duckdb')}" in run("version").out
    assert {"package": "duckdb", "version": version("duckdb")} in run("version", "--json").rows()


def test_help_lists_every_command_and_no_arguments_mean_help(run: Run) -> None:
    names = [
        "load",
        "remove",
        "define",
        "ground",
        "count",
        "diagnose",
        "overlap",
        "learn",
        "infer",
        "evaluate",
        "explain",
        "sql",
        "migrate",
        "version",
        "demo",
    ]
    shown = run("--help").out
    assert all(f" {name} " in shown for name in names)
    assert run("load", "-h").out == run("load", "--help").out != ""


def test_load_shows_the_predicates(run: Run, project: Project) -> None:
    loaded = run(
        "load", project / "new.duckdb", "Token", project / "token.parquet", "--types", "token,position,bib", "--json"
    )
    rows = pq.read_table(project / "token.parquet").num_rows
    (row,) = loaded.rows()
    assert (row["predicate"], row["facts"]) == ("Token(token, position, bib)", rows)


def test_load_takes_csv_and_parquet_from_standard_input(run: Run, project: Project) -> None:
    database = project / "new.duckdb"
    text = 'who,sure\nf,true\n"new, ""york""",false\n'
    assert run("load", database, "P", "-", "--types", "person", "--truth", "sure", stdin=text).code == 0
    assert run("load", database, "T", "-", stdin=(project / "token.parquet").read_bytes()).code == 0
    names = run("sql", database, "select name from sqlrl.dictionary_person order by id", "--json").rows()
    assert sorted(row["name"] for row in names) == ["f", 'new, "york"']


def test_load_options_reach_the_catalog(run: Run, project: Project) -> None:
    source = project / "people.csv"
    source.write_text("p,who\n0.8,ANNA\n0.8,ANNA\n0.5,BOB\n", encoding="utf-8")
    options = ["--types", "person", "--probability", "0", "--columns", "who", "--fold-case", "--rename", "bob=robert"]
    refused = run("load", project / "new.duckdb", "Smokes", source, *options)
    assert refused.code == 1
    assert "--duplicates drop" in refused.err
    assert run("load", project / "new.duckdb", "Smokes", source, *options, "--duplicates", "drop").code == 0
    names = run("sql", project / "new.duckdb", "select name from sqlrl.dictionary_person", "--json").rows()
    assert sorted(row["name"] for row in names) == ["anna", "robert"]


def test_soft_truths_are_loaded_from_a_column(run: Run, project: Project) -> None:
    """By name or position; the table of predicates says so, and faults name the options."""
    source, database = project / "trust.csv", project / "new.duckdb"
    source.write_text("a,trust,b\nann,0.7,bob\nbob,0,ann\n", encoding="utf-8")
    options = ["--columns", "a,b", "--types", "person,person"]
    for column, more in (("trust", []), ("1", ["--append", "--duplicates", "drop"])):
        (row,) = run("load", database, "Trusts", source, *options, "--value", column, *more, "--json").rows()
        assert (row["predicate"], row["facts"], row["value"]) == ("Trusts(person, person)", 2, "trust")
    shown = run("sql", database, "select * from sqlrl.named_Trusts order by value", "--json").rows()
    assert shown == [
        {"person": "bob", "person_2": "ann", "value": 0.0},
        {"person": "ann", "person_2": "bob", "value": 0.7},
    ]
    source.write_text("a,trust,b\nann,,bob\nbob,1.2,ann\n", encoding="utf-8")
    refused = run("load", database, "Trusts", source, *options, "--value", "trust")
    assert refused.code == 1
    assert "(row 1): fill or remove it, or pass --nulls drop" in refused.err
    assert "1 row has a value outside [0, 1], such as 1.2 (row 2)" in refused.err
    both = run("load", database, "Trusts", source, *options, "--value", "trust", "--truth", "trust")
    assert "--value and --truth cannot both be given" in both.err
    assert run("load", database, "--refresh", "--value", "trust").code == 2


def test_refresh_loads_again_what_changed(run: Run, project: Project) -> None:
    source, database = project / "p.csv", project / "new.duckdb"
    source.write_text("who\na\n", encoding="utf-8")
    run("load", database, "P", source, "--types", "person")
    assert "nothing has changed" in run("load", database, "--refresh").err
    source.write_text("who\na\nb\n", encoding="utf-8")
    again = run("load", database, "--refresh", "--json")
    assert "loaded again: P" in again.err
    assert again.rows()[0]["facts"] == 2


def test_the_database_can_be_an_argument_an_option_or_in_the_environment(
    run: Run, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    query = "select 1 as one"
    database = project / "cite.duckdb"
    assert run("sql", database, query, "--json").rows() == [{"one": 1}]
    assert run("sql", query, "--db", database, "--json").rows() == [{"one": 1}]
    monkeypatch.setenv("SQLRL_DB", str(database))
    assert run("sql", query, "--json").rows() == [{"one": 1}]
    assert run("migrate").code == 0


def test_ground_sums_up_each_shape(run: Run, project: Project) -> None:
    done = run("ground", project / "cite.duckdb", "--model", project / "chain.mln", "--json")
    for row in done.rows():
        assert row["groundings"] == row["satisfied"] + row["violated"] + row["open"]
    assert "query atoms" in done.err
    assert "shape" in run("ground", project / "cite.duckdb", "--model", project / "chain.mln").out


def test_count_gives_exact_integers(run: Run, project: Project) -> None:
    done = run(
        "count", project / "cite.duckdb", "-m", project / "chain.mln", "--json", "--examples", "values ('b0001')"
    )
    tokens = [r for r in pq.read_table(project / "token.parquet").to_pylist() if r["bib"] == "b0001"]
    assert {row["groundings"] for row in done.rows() if "Token" in row["text"]} == {len(tokens)}
    assert all(isinstance(row["n"], int) for row in done.rows())


def test_count_by_variables(run: Run, project: Project) -> None:
    database = project / "smokers.duckdb"
    assert run("load", database, "-e", project / "smokers.db", "-m", project / "smokers.mln").code == 0
    shared = [
        database,
        "-m",
        project / "smokers.mln",
        "--query",
        "Smokes,Cancer",
        "--world",
        "Smokes=select 'Bob' as person",
    ]
    shared += ["--world", "Cancer=select 'Bob' as person where false"]
    whole = {row["clause"]: row["n"] for row in run("count", *shared, "--json").rows()}
    rows = run("count", *shared, "--json", "--by", "x,y").rows()
    (clause,) = {row["clause"] for row in rows}
    assert sum(row["n"] for row in rows) == whole[clause]
    violated = run("count", *shared, "--json", "--by", "x", "--by", "y", "--groups", "violated").rows()
    assert violated == [row for row in rows if row["violated"]]
    assert {(row["x"], row["y"]) for row in violated} <= {("Anna", "Bob"), ("Bob", "Chris")}
    (row,) = run("count", *shared, "--json", "--formula", "Friends(x, y) ^ Smokes(x) => Smokes(y)").rows()
    assert (row["clause"], row["n"]) == (0, whole[clause])
    alone = run("count", *shared, "--json", "--formula", "Friends(x, y) ^ Smokes(x) => Smokes(y)", "--by", "x,y").rows()
    assert alone == [{**row, "clause": 0} for row in rows]
    for given, said in {
        ("--by", "z"): "no clause of the model has a variable z to count by: name x or y",
        ("--by", ""): "leave --by out",
        ("--by", "x", "--most-groups", "1"): "more than the limit of 1",
        ("--by", "x", "--groups", "none"): "none",
        ("--groups", "true"): "--by",
        ("--by", "x", "--against", "observed"): "leave --against out",
        ("--formula", "Smokes(x)", "--against", "observed"): "leave --against out",
        ("--formula", "Smoke(x)"): "did you mean 'Smokes'",
    }.items():
        done = run("count", *shared, *given)
        assert done.code > 0
        assert said in done.err, given
        assert "by=" not in done.err
        assert "most_groups" not in done.err


@pytest.mark.slow
def test_learn_prints_clauses_and_progress_and_saves_the_model(run: Run, project: Project) -> None:
    arguments = [
        "learn",
        project / "cite.duckdb",
        "--model",
        project / "chain.mln",
        "--examples",
        project / "train.txt",
    ]
    done = run(*arguments, "--out", project / "again.mln", "--order", "shuffle", "--random-state", "3", "--window", "7")
    assert "strongest clauses" in done.out
    assert "more of" in done.out
    assert "progressive validation" in done.out
    learned = sqlrl.read_model(project / "again.mln")
    assert sum(len(rule.expansions.rows) if rule.expansions else 1 for rule in learned.rules) > 100
    rows = run(*arguments, "--strength", "0.01", "--learning-rate", "0.5", "--delta", "2", "--json").rows()
    assert [abs(r["weight"] or 0) for r in rows] == sorted((abs(r["weight"] or 0) for r in rows), reverse=True)


@pytest.mark.slow
def test_same_seed_same_model(run: Run, project: Project) -> None:
    arguments = [
        "learn",
        project / "cite.duckdb",
        "-m",
        project / "chain.mln",
        "--order",
        "shuffle",
        "--out",
        "-",
        "-q",
    ]
    first, second, other = (run(*arguments, "--random-state", seed).out for seed in ("3", "3", "4"))
    assert first == second != other
    assert "\nToken(token, position, bib)\n" in first


@pytest.mark.slow
def test_a_model_can_come_from_standard_input(run: Run, project: Project) -> None:
    arguments = ["ground", project / "cite.duckdb", "--json", "-q", "--model"]
    from_file = run(*arguments, project / "learned.json")
    for text in ((project / "learned.json").read_text(encoding="utf-8"), MODEL):
        piped = run(*arguments, "-", stdin=text)
        assert {row["shape"] for row in piped.rows()} == {row["shape"] for row in from_file.rows()}


@pytest.mark.slow
def test_infer_writes_a_table_once(run: Run, project: Project) -> None:
    arguments = [
        "infer",
        project / "cite.duckdb",
        "--model",
        project / "learned.json",
        "--examples",
        project / "test.txt",
    ]
    printed = run(*arguments, "--json").rows()
    assert {row["predicate"] for row in printed} == {"InField"}
    assert "InField: predicted" in run(*arguments).out
    wrote = run(*arguments, "--into", "predictions")
    assert (wrote.code, wrote.out) == (0, "")
    count = run("sql", project / "cite.duckdb", "select count(*) as n from predictions", "--json").rows()
    assert count == [{"n": len(printed)}]
    assert "--replace" in run(*arguments, "--into", "predictions").err
    assert run(*arguments, "--into", "predictions", "--replace").code == 0


@pytest.mark.slow
def test_infer_leaves_no_scratch_tables(run: Run, project: Project) -> None:
    query = "select table_name from duckdb_tables() where table_name like '%scratch%' or table_name like 'chosen%'"
    run("infer", project / "cite.duckdb", "--model", project / "learned.json", "--examples", project / "test.txt")
    run("ground", project / "cite.duckdb", "--model", project / "chain.mln")
    assert run("sql", project / "cite.duckdb", query, "--json").rows() == []


def test_keep_stores_the_run(run: Run, project: Project) -> None:
    assert run("infer", project / "cite.duckdb", "-m", project / "learned.json", "--keep", "-q").code == 0
    rows = run("sql", project / "cite.duckdb", "select learner, status from sqlrl.run order by run", "--json").rows()
    assert rows[-1] == {"learner": "predict", "status": "done"}


def test_evaluate_scores_predictions(run: Run, project: Project) -> None:
    arguments = [
        "evaluate",
        project / "cite.duckdb",
        "--model",
        project / "learned.json",
        "--examples",
        project / "test.txt",
    ]
    (row,) = run(*arguments, "--json").rows()
    assert row["predicate"] == "InField"
    assert row["f1"] > 0.4
    worst = run(*arguments, "--by-example", "--json").rows()
    assert [r["wrong"] for r in worst] == sorted((r["wrong"] for r in worst), reverse=True)
    assert {r["example"] for r in worst} == set((project / "test.txt").read_text(encoding="utf-8").split())


def test_explain_shows_sql_plan_and_estimate(run: Run, project: Project) -> None:
    shown = run("explain", project / "cite.duckdb", "--model", project / "chain.mln")
    assert "SELECT" in shown.out
    assert "ground clauses" in shown.out
    rows = run("explain", project / "cite.duckdb", "--model", project / "chain.mln", "--json").rows()
    assert {"shape", "clauses", "estimate", "sql", "plan", "at_most"} == set(rows[0])


def test_explain_says_what_hard_clauses_cost(run: Run, project: Project, tmp_path: Path) -> None:
    model = tmp_path / "hard.mln"
    text = (project / "chain.mln").read_text(encoding="utf-8")
    model.write_text(text + "Next(p1, p2) ^ InField(c, f, p1) => InField(c, f, p2).\n", encoding="utf-8")
    arguments = ("explain", project / "cite.duckdb", "--model", model)
    block, chain = run(*arguments, "--hard", "--json").rows()
    assert (block["counted"], block["inexpensive"]) == ("block", True)
    assert (chain["degree"], chain["inexpensive"]) == (2, True)
    assert chain["factors"] > 0
    assert "inexpensive" in run(*arguments, "--hard").out
    fewer = run(*arguments, "--hard", "--json", "--examples", project / "test.txt").rows()
    assert 0 < fewer[1]["factors"] < chain["factors"]
    assert "--examples goes with --hard" in run(*arguments, "--examples", project / "test.txt").err


def test_sql_prints_json_of_every_type(run: Run, project: Project) -> None:
    query = "select 2::hugeint ** 0 as h, 1.5 as d, 'inf'::double as i, null as n, date '2020-01-02' as t, [1, 2] as l, {'a': 'é'} as s"
    (row,) = run("sql", project / "cite.duckdb", query, "--json").rows()
    assert (row["d"], row["i"], row["n"], row["t"], row["l"], row["s"]) == (
        1.5,
        None,
        None,
        "2020-01-02",
        [1, 2],
        {"a": "é"},
    )


def test_sql_reads_statements_from_standard_input_and_may_have_no_rows(run: Run, project: Project) -> None:
    assert run("sql", project / "cite.duckdb", "create table mine as select 7 as x").code == 0
    assert run("sql", project / "cite.duckdb", "-", "--json", stdin="from mine").rows() == [{"x": 7}]
    assert run("sql", project / "cite.duckdb", "select 1 as x where false", "--json").rows() == []


def test_one_shot_inference_needs_no_database(run: Run, project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SQLRL_DB", str(project / "cite.duckdb"))
    before = (project / "cite.duckdb").read_bytes()
    arguments = ["infer", "--model", project / "smokers.mln", "--query", "Smokes,Cancer", "--evidence"]
    done = run(*arguments, project / "smokers.db", "--json")
    true = {(row["predicate"], row["person"]) for row in done.rows()}
    # Anna's smoking is evidence, so it is no query atom; her friends smoke through it, and all smokers get cancer.
    assert true == {("Smokes", "Bob"), ("Smokes", "Chris"), *(("Cancer", p) for p in ("Anna", "Bob", "Chris"))}
    assert run(*arguments, "-", "--json", stdin=EVIDENCE).rows() == done.rows()
    every = run(*arguments, project / "smokers.db", "--json", "--all").rows()
    assert len(every) == 5
    assert (project / "cite.duckdb").read_bytes() == before


def test_predicates_that_the_evidence_never_mentions_are_empty(run: Run, project: Project) -> None:
    model = project / "more.mln"
    model.write_text(SMOKERS + "*Never(person)\n0.7 Never(x) => !Smokes(x)\n", encoding="utf-8")
    done = run("infer", "-m", model, "-e", project / "smokers.db", "--query", "Smokes", "--query", "Cancer", "--json")
    assert done.code == 0
    assert ("Smokes", "Bob", True) in {(row["predicate"], row["person"], row["truth"]) for row in done.rows()}


def test_evidence_can_be_loaded_into_a_file(run: Run, project: Project) -> None:
    database = project / "smokers.duckdb"
    (project / "smokers.db").write_text(EVIDENCE + "Cancer(Bob)\n", encoding="utf-8")
    assert run("load", database, "--evidence", project / "smokers.db", "--model", project / "smokers.mln").code == 0
    done = run("count", database, "--model", project / "smokers.mln", "--query", "Smokes,Cancer", "--json")
    counts = {row["text"]: (row["n"], row["groundings"]) for row in done.rows()}
    assert counts["Smokes(x) => Cancer(x)"] == (2, 3)


@pytest.mark.slow
def test_the_real_programs_of_tuffy_run(run: Run, data_folder: Path) -> None:
    folder = data_folder / "mln" / "tuffy"
    smoke = [
        "--model",
        folder / "smoke" / "prog.mln",
        "--evidence",
        folder / "smoke" / "evidence.db",
        "--query",
        "Smokes,Cancer",
    ]
    done = run("infer", *smoke, "--json")
    assert {r["person"] for r in done.rows() if r["predicate"] == "Cancer"} >= {"Anna", "Edward"}
    cse = ["--model", folder / "cse" / "prog.mln", "--evidence", folder / "cse" / "evidence.db", "--query", "advisedBy"]
    assert run("ground", *cse, "--json").code == 0


def test_a_world_that_is_not_proved_optimal_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    report = SimpleNamespace(gap=0.25, precision=1e-9, magnitude=1.0)
    found = SimpleNamespace(status=Status.FEASIBLE, result=SimpleNamespace(report=report))
    database = SimpleNamespace(predict=lambda *_, **__: found)
    with session(Messages()) as current:
        model = parse_mln("P(t)\n1 P(x)")
        job = Job(current, cast(sqlrl.Database, database), model, None, {}, AskedPredicates(), model)
        shown = Solver(deterministic_limit=0.0).predict(job, Saving())
    assert shown is found
    err = capsys.readouterr().err
    assert "not proved optimal" in err
    assert "0.25" in err
    assert "--deterministic-limit" in err


def test_weights_that_rounding_swallows_are_told_as_such(run: Run, project: Project) -> None:
    (project / "huge.mln").write_text("P(t)\n1e20 P(x)\n1e20 !P(x)\n5 !P(x)\n", encoding="utf-8")
    (project / "p.db").write_text("?P(A)\n", encoding="utf-8")
    done = run("infer", "-m", project / "huge.mln", "-e", project / "p.db", "--query", "P")
    assert done.code == 0
    assert "status      feasible" in done.err
    assert "rounding loses" in done.err
    assert "scale the weights down" in done.err


@pytest.mark.slow
def test_verbose_logs_sql_and_quiet_says_nothing(run: Run, project: Project) -> None:
    arguments = ["infer", project / "cite.duckdb", "--model", project / "learned.json"]
    assert "SELECT" in run(*arguments, "-vv").err
    assert run(*arguments, "-q").err == ""
    assert "SELECT" not in run(*arguments).err


def test_demo_learns_and_asks(run: Run, tmp_path: Path) -> None:
    """It loads, learns and infers, in a second."""
    folder = tmp_path / "demo"
    shown = run("demo", "--citations", "20", "--directory", folder)
    assert shown.code == 0
    assert "held out: F1" in shown.out
    assert "from sqlrl.strongest_clauses" in shown.out
    assert {p.name for p in folder.iterdir()} >= {
        "token.parquet",
        "cite.duckdb",
        "model.mln",
        "learned.mln",
    }
    again = run("demo", "--citations", "20", "--directory", folder)
    assert "exists already" in again.err


@pytest.mark.slow
def test_demo_predicts_most_fields(run: Run) -> None:
    (row,) = run("demo", "--citations", "60", "--json").rows()
    assert row["f1"] > 50
    assert {field["field"] for field in row["fields"]} == {"Author", "Title", "Venue", "Date", "Pages"}


def test_json_is_one_row_a_line(run: Run, project: Project) -> None:
    out = run("sql", project / "cite.duckdb", "from range(3) t(x)", "--json").out
    assert [json.loads(line.strip("[],\n ")) for line in out.splitlines()] == [{"x": 0}, {"x": 1}, {"x": 2}]


@pytest.mark.parametrize(
    ("command", "verb", "names"),
    [
        ("count", "count", ["limit", "most_groups", "groups"]),
        ("overlap", "diagnose", ["limit"]),
        ("audit", "audit", ["near", "seed"]),
        ("export", "export", ["limit"]),
    ],
)
def test_options_have_the_defaults_of_the_parameters(command: str, verb: str, names: list[str]) -> None:
    # Written out on both sides, as the command line must not load what declares them before it knows that it needs it.
    options = signature(getattr(import_module("sqlrl.cli.app"), command)).parameters
    parameters = signature(getattr(sqlrl.Database, verb)).parameters
    for name in names:
        assert options[name].default == parameters[{"seed": "random_state"}.get(name, name)].default
