"""What the commands share: evidence files, predicates that are dropped or predicted, worlds, JSON, help."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import sqlrl
from sqlrl.cli.inputs import chosen_examples, split_files
from tests.cli.conftest import EVIDENCE, Project, Run

COMMANDS = [
    "load",
    "remove",
    "define",
    "ground",
    "count",
    "learn",
    "infer",
    "evaluate",
    "explain",
    "sql",
    "migrate",
    "version",
    "demo",
]
WITH_MODEL = ["ground", "count", "learn", "infer", "evaluate", "explain"]


def test_help_has_the_inputs_of_a_model_and_no_type_for_a_flag(run: Run) -> None:
    shared = {"--model", "--db", "--evidence", "--query", "--drop", "--missing", "--json", "--verbose", "--quiet"}
    for command in COMMANDS:
        text = run(command, "--help").out
        assert not [line for line in text.splitlines() if "<bool>" in line and "--help" not in line], command
        assert "[[" not in text, command
        if command in WITH_MODEL:
            assert shared <= set(re.findall(r"(?<![\w-])--[a-z-]+", text)), command


@pytest.fixture
def halves(project: Project) -> tuple[Path, Path]:
    """The evidence about smokers in two files."""
    lines = EVIDENCE.splitlines(keepends=True)
    first, second = project / "first.db", project / "second, with a comma.db"
    first.write_text("".join(lines[:2]), encoding="utf-8")
    second.write_text("".join(lines[2:]), encoding="utf-8")
    return first, second


@pytest.mark.slow
def test_evidence_comes_from_several_files_and_standard_input(
    run: Run, project: Project, halves: tuple[Path, Path]
) -> None:
    first, second = halves
    arguments = ["infer", "--model", project / "smokers.mln", "--query", "Smokes,Cancer", "--json"]
    whole = run(*arguments, "--evidence", project / "smokers.db").rows()
    assert whole
    text = second.read_text(encoding="utf-8")
    plain = project / "plain.db"
    plain.write_text(text, encoding="utf-8")
    assert run(*arguments, "-e", first, "-e", second).rows() == whole
    assert run(*arguments, "-e", f"{plain},{first},-", stdin=text).rows() == whole
    assert run(*arguments, "-e", first).rows() != whole


def test_one_shot_evidence_may_repeat_itself_and_be_empty(run: Run, project: Project) -> None:
    (project / "empty.db").write_text("", encoding="utf-8")
    arguments = ["infer", "--model", project / "smokers.mln", "--query", "Smokes,Cancer", "--json", "--evidence"]
    once = run(*arguments, project / "smokers.db")
    again = run(*arguments, f"{project / 'smokers.db'},{project / 'smokers.db'},{project / 'empty.db'}")
    assert again.rows() == once.rows()
    assert "warning" in again.err
    assert "empty.db" in again.err


def test_evaluate_leaves_labels_outside_the_scope_out(run: Run, tmp_path: Path) -> None:
    with sqlrl.connect(tmp_path / "people.duckdb") as db:
        db.load("Friends", [("Anna", "Bob")], types=("person", "person"))
        db.load("Smokes", [("Anna",), ("Bob",)], types=("person",), target=True)
        db.scope("Smokes", "select 'Anna'")
    model = tmp_path / "model.mln"
    model.write_text("Friends(person, person)\nSmokes(person)\n1 Friends(x, y) => Smokes(x)\n")
    arguments = ["evaluate", tmp_path / "people.duckdb", "--model", model, "--json"]
    assert run(*arguments).rows()[0]["false_negatives"] == 1
    assert run(*arguments, "--outside", "ignore").rows()[0]["false_negatives"] == 0
    assert run(*arguments, "--outside", "other").code == 2


def test_evaluate_takes_the_labels_from_evidence(run: Run, project: Project) -> None:
    """With a strong rule for smoking everybody is predicted to smoke, of whom Anna alone does."""
    (project / "all.mln").write_text("*Friends(person, person)\nSmokes(person)\n2 Smokes(x)\n", encoding="utf-8")
    arguments = ["evaluate", "-m", project / "all.mln", "-e", project / "smokers.db", "--query", "Smokes", "--json"]
    (row,) = run(*arguments).rows()
    assert (row["true_positives"], row["false_positives"], row["false_negatives"]) == (1, 2, 0)


def test_a_query_of_one_line_may_be_longer_than_the_name_of_a_file() -> None:
    query = f"select name from test where name <> '{'x' * 300}'"
    assert chosen_examples(query) == query
    assert split_files([",".join(f"{'x' * 100}{i}.db" for i in range(3))]) == [f"{'x' * 100}{i}.db" for i in range(3)]


@pytest.mark.slow
@pytest.mark.parametrize("commands", [["ground", "count"], ["learn", "explain"]])
def test_drop_leaves_rules_out_everywhere(run: Run, project: Project, commands: list[str]) -> None:
    model = project / "more.mln"
    text = (project / "chain.mln").read_text(encoding="utf-8")
    model.write_text(f"{text}Rare(bib)\n1 Rare(c) => InField(c, f, p)\n", encoding="utf-8")
    for command in commands:
        refused = run(command, project / "cite.duckdb", "-m", model)
        assert "Rare" in refused.err
        assert "--drop" in refused.err
        done = run(command, project / "cite.duckdb", "-m", model, "--drop", "Rare", "--json")
        assert done.code == 0, done.err
        assert "Rare" not in done.out


def test_counts_in_a_world_and_against_another(run: Run, project: Project) -> None:
    examples = ["--examples", project / "test.txt"]
    common = [project / "cite.duckdb", "--model", project / "learned.json", *examples]
    assert run("infer", *common, "--into", "predicted").code == 0
    here = {row["clause"]: row["n"] for row in run("count", *common, "--world", "predicted", "--json").rows()}
    observed = {row["clause"]: row["n"] for row in run("count", *common, "--json").rows()}
    assert here != observed
    rows = run("count", *common, "--world", "InField=predicted", "--against", "observed", "--json").rows()
    assert {row["clause"]: row["delta_n"] for row in rows} == {c: here[c] - observed[c] for c in here}
    back = run("count", *common, "--against", "predicted", "--json").rows()
    assert {row["clause"]: row["delta_n"] for row in back} == {c: observed[c] - here[c] for c in here}


def test_worlds_of_several_predicates(run: Run, project: Project) -> None:
    database = project / "smokers.duckdb"
    arguments = [database, "--model", project / "smokers.mln", "--query", "Smokes,Cancer"]
    run("load", database, "--evidence", project / "smokers.db", "--model", project / "smokers.mln")
    worlds = ["--world", "Smokes=select 'Anna' as person", "--world", "Cancer=select 'Bob' as person"]
    rows = {row["text"]: (row["n"], row["groundings"]) for row in run("count", *arguments, *worlds, "--json").rows()}
    assert rows["Smokes(x) => Cancer(x)"] == (2, 3)


def test_what_has_no_rows_is_json_too(run: Run, project: Project) -> None:
    database = project / "cite.duckdb"
    learned = [database, "--model", project / "learned.json"]
    for arguments in (
        ["sql", database, "set threads = 1"],
        ["infer", *learned, "--into", "written"],
    ):
        done = run(*arguments, "--json")
        assert done.code == 0, done.err
        assert isinstance(json.loads(done.out), list)


def test_a_learned_model_may_name_constants_that_other_data_lack(run: Run, project: Project) -> None:
    model = project / "named.mln"
    model.write_text("Token(token, position, bib)\nInField(bib, field, position)\n"
                     '1 Token("qqq", p, c) => InField(c, f, p)\n', encoding="utf-8")  # fmt: skip
    refused = run("ground", project / "cite.duckdb", "-m", model, "--missing", "error")
    assert refused.code == 1
    assert "qqq" in refused.err
    assert "Without --missing error" in refused.err
    for options in ([], ["--missing", "allow"]):
        assert run("ground", project / "cite.duckdb", "-m", model, *options).code == 0


def test_evidence_of_dropped_predicates_is_skipped(run: Run, project: Project) -> None:
    arguments = ["infer", "--model", project / "smokers.mln", "--query", "Smokes,Cancer", "--json"]
    evidence = project / "smokers.db"
    assert "Friends(" in evidence.read_text(encoding="utf-8")
    without = project / "without.db"
    lines = [x for x in evidence.read_text(encoding="utf-8").splitlines(keepends=True) if not x.startswith("Friends(")]
    without.write_text("".join(lines), encoding="utf-8")
    found = run(*arguments, "--evidence", evidence, "--drop", "Friends").rows()
    assert found == run(*arguments, "--evidence", without, "--drop", "Friends").rows()
    assert "did you mean 'Friends'" in run(*arguments, "--evidence", evidence, "--drop", "Freinds").err


def test_intervals_are_json(run: Run, project: Project) -> None:
    run("load", project / "x.duckdb", "--evidence", project / "smokers.db", "--model", project / "smokers.mln")
    [row] = run("sql", project / "x.duckdb", "select interval 40 day as i", "--json").rows()
    assert row == {"i": {"months": 0, "days": 40, "nanoseconds": 0}}
