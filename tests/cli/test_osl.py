"""`sqlrl learn --learner osl`: the clauses that were added, and runs that are resumed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sqlrl.structure.osl.learner import OSLLearner
from tests.cli.conftest import Project, Run, SeenError

MODES = "modeP(2, Token(#-,+,.))\nmodeP(1, Next(-,-))\nmodeP(2, InField(.,#.,+))\n"

EMPTY = """\
Token(token, position, bib)
Next(position, position)
InField(bib, field, position)

InField(c, f1, p) ^ (f1 != f2) => !InField(c, f2, p).
"""


def arguments(project: Project, *more: str | Path, model: str = EMPTY, modes: str = MODES) -> list[str | Path]:
    for name, text in (("modes.txt", modes), ("start.mln", model)):
        (project / name).write_text(text, encoding="utf-8")
    some = project / "some.txt"
    some.write_text("\n".join((project / "train.txt").read_text(encoding="utf-8").split()[:12]), encoding="utf-8")
    database, start, found = project / "cite.duckdb", project / "start.mln", project / "modes.txt"
    return ["learn", database, "--model", start, "--examples", some, "--learner", "osl", "--modes", found, *more]


@pytest.mark.slow
def test_what_was_added_is_printed_with_step_and_cause(run: Run, project: Project) -> None:
    done = run(*arguments(project, "--min-count-difference", "2", "--out", project / "learned.mln", "--rows", "5"))
    assert done.code == 0, done.err
    strongest, added, validation = done.out.split("\n\n")
    assert strongest.startswith("strongest clauses\n")
    title, header, _, *rows = added.splitlines()
    assert title == "clauses that were added, and the wrong atom that caused each"
    assert header.split() == ["step", "clause", "weight", "example", "wrong_atom", "delta_n"]
    assert rows[0].split()[0] == "0"
    assert 'InField("' in rows[0]
    assert len(rows) == 6
    assert validation.startswith("progressive validation")
    query = "select count(*) as n from sqlrl.added_clauses where run = (select max(run) from sqlrl.run)"
    (kept,) = run("sql", project / "cite.duckdb", query, "--json").rows()
    first = "exists (from sqlrl.weight_history as h where (h.run, h.step, h.clause) = (a.run, a.step, a.id))"
    history = f"{query} and {first}".replace("added_clauses", "added_clauses as a")
    assert run("sql", project / "cite.duckdb", history, "--json").rows() == [kept]
    assert f"12 examples, {kept['n']} clauses, {kept['n']} of them new" in done.err
    assert (project / "learned.mln").read_text(encoding="utf-8").count("InField(") > kept["n"]


@pytest.mark.slow
def test_json_rows_say_what_caused_a_clause(run: Run, project: Project) -> None:
    chain = (project / "chain.mln").read_text(encoding="utf-8")
    done = run(*arguments(project, "--json", "--max-length", "3", model=chain))
    assert done.code == 0, done.err
    query = "select clause, step, example, wrong_atom, delta_n from sqlrl.added_clauses"
    query += " where run = (select max(run) from sqlrl.run)"
    kept = {row["clause"]: row for row in run("sql", project / "cite.duckdb", query, "--json").rows()}
    new = [row for row in done.rows() if row["step"] is not None]
    assert {row["clause"] for row in new} == set(kept)
    for row in new:
        cause = kept[row["clause"]]
        assert [row[name] for name in ("step", "example", "wrong_atom", "first_delta_n")] == [
            cause[name] for name in ("step", "example", "wrong_atom", "delta_n")
        ]
    own = [row for row in done.rows() if row["step"] is None]
    assert sum(row["weight"] != 0 for row in own) > 20
    assert all(row["wrong_atom"] is None and row["first_delta_n"] is None for row in own)


@pytest.mark.slow
def test_the_model_alone_on_standard_output(run: Run, project: Project) -> None:
    done = run(*arguments(project, "--out", "-", "--min-count-difference", "3"))
    assert done.code == 0, done.err
    assert "clauses that were added" not in done.out
    assert "=>" in done.out
    learned = project / "learned.mln"
    learned.write_text(done.out, encoding="utf-8")
    test = project / "test.txt"
    predicted = run("infer", project / "cite.duckdb", "--model", learned, "--examples", test, "--missing", "allow")
    assert predicted.code == 0, predicted.err


def test_extensions_reach_the_learner(run: Run, project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[Any] = []

    def begun(job: object, learner: Any, *_: object) -> None:
        found.append(learner)
        raise SeenError("seen")

    monkeypatch.setattr("sqlrl.cli.learn.learn_online", begun)
    options = (
        "--longest-only",
        "--look-ahead",
        "--pool",
        "3",
        "--learning-rate",
        "0.5",
        "--delta",
        "2",
        "--no-history",
    )
    assert "seen" in run(*arguments(project, *options, "--json")).err
    wanted = {"longest_only": True, "look_ahead": True, "pool": 3, "learning_rate": 0.5, "delta": 2.0, "max_length": 4}
    wanted["record_history"] = False
    (learner,) = found
    assert {name: getattr(learner, name) for name in wanted} == wanted


@pytest.mark.parametrize(
    ("modes", "words"),
    [
        ("modeP(2, Token(#-,+,.)\n", ["modes.txt:1:", "^"]),
        ("modeP(-1, Next(-,-))\n", ["the recall is -1"]),
        (MODES + "modeP(1, Nxt(-,-))\n", ["Nxt"]),
        ("modeP(1, Next(-,-))\n", ["Token", "InField"]),
        ("", ["there are no modes"]),
    ],
)
def test_bad_modes_are_named(run: Run, lasting: Project, modes: str, words: list[str]) -> None:
    done = run(*arguments(lasting, modes=modes))
    assert done.code == 1
    assert all(word in done.err for word in words), done.err
    assert "Traceback" not in done.err


@pytest.mark.slow
def test_a_run_goes_on_after_ctrl_c(run: Run, project: Project) -> None:
    options = ["--window", "3", "--order", "shuffle", "--random-state", "5"]
    learn_many, calls = OSLLearner.learn_many, []

    def pressed(learner: OSLLearner, window: Any) -> Any:
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return learn_many(learner, window)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(OSLLearner, "learn_many", pressed)
        stopped = run(*arguments(project, *options, "--checkpoint"))
    assert stopped.code == 130
    assert "run 2 is saved after window 2: --resume 2 goes on" in stopped.err
    resumed = run(*arguments(project, *options, "--resume", "2", "--json"))
    assert resumed.code == 0, resumed.err
    whole = run(*arguments(project, *options, "--json"))
    assert resumed.rows() == whole.rows()
    assert sum(row["step"] is not None for row in whole.rows()) > 50
