"""`sqlrl learn` of programs of probabilistic soft logic."""

from __future__ import annotations

import json
from pathlib import Path
from typing import get_origin

import pytest

import sqlrl
from sqlrl.cli.learners import LEARNERS, OPTIONS
from sqlrl.cli.learning import SOFT
from sqlrl.learn.parameters import declarations
from tests.cli.conftest import Run

PROGRAM = {
    "rules": ["2: Friends(A, B) & Smokes(A) -> Smokes(B) ^2", "1: !Smokes(A) ^2"],
    "predicates": {
        "Friends/2": {"observations": [["Anna", "Bob"], ["Bob", "Chris"]]},
        "Smokes/1": {
            "observations": [["Anna"]],
            "targets": {"learn": [["Bob"], ["Chris"]], "infer": [["Dora"]]},
            "truth": {"learn": [["Bob", 1], ["Chris", 0.5]]},
        },
    },
}
WEIGHTS = [word for word in SOFT if word != "soft-structure"]


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "smokers.json"
    path.write_text(json.dumps(PROGRAM), encoding="utf-8")
    return path


@pytest.fixture
def family(tmp_path: Path) -> Path:
    path = tmp_path / "family.duckdb"
    with sqlrl.connect(path, progress=False) as db:
        people = ["person", "person"]
        db.load("Parent", [("a", "b"), ("b", "c"), ("d", "e"), ("e", "f")], types=people)
        pairs = [("a", "c", 1.0), ("d", "f", 1.0), ("a", "b", 0.0), ("d", "c", 0.0)]
        db.load("Grandparent", pairs, columns=[0, 1], types=people, value=2, target=True)
        db.scope("Grandparent", [pair[:2] for pair in pairs])
    return path


@pytest.mark.slow
@pytest.mark.parametrize(
    "learner", [pytest.param(each, marks=[] if "map" in each else pytest.mark.slow) for each in WEIGHTS]
)
def test_weights_are_learned_from_the_data_that_a_program_names(run: Run, program: Path, learner: str) -> None:
    out = program.with_name("learned.psl")
    done = run("learn", "--model", program, "--learner", learner, "--strength", "0.1", "--out", out, "--json")
    assert done.code == 0, done.err
    db = sqlrl.connect(progress=False)
    model = sqlrl.read_psl(program, task="learn")
    db.load(sqlrl.SoftData(model, split="learn"))
    fit = LEARNERS[learner](strength=0.1).fit(db, model)  # type: ignore[attr-defined]
    assert done.rows() == fit.clauses().to_arrow().to_pylist()
    assert sqlrl.read_psl(out) == fit.model_
    assert f"the model is in {out}" in done.err


def test_a_new_database_gets_the_data_and_the_run(run: Run, program: Path, tmp_path: Path) -> None:
    path = tmp_path / "new.duckdb"
    done = run("learn", path, "--model", program, "--learner", "soft-piecewise-likelihood", "--out", "-")
    assert done.code == 0, done.err
    learned = sqlrl.parse_psl(done.out)
    with sqlrl.connect(path, progress=False) as db:
        assert db.sql("select learner, status from sqlrl.run").fetchall() == [("SoftPiecewiseLikelihood", "done")]
        assert db.models[-1] == learned
    # Another time they are there.
    again = run("learn", path, "--model", program, "--learner", "soft-piecewise-likelihood", "--out", "-")
    assert (again.code, again.out) == (0, done.out), again.err
    with sqlrl.connect(path, progress=False) as db:
        assert db.sql("select count(*) from sqlrl.run").fetchall() == [(2,)]


def test_a_rule_file_needs_no_learner_and_may_have_its_data_in_another_file(run: Run, tmp_path: Path) -> None:
    rules, data = tmp_path / "rules.psl", tmp_path / "rules.data"
    rules.write_text("\n".join(PROGRAM["rules"]), encoding="utf-8")
    for name, rows in {
        "friends": "Anna\tBob\n",
        "observed": "Anna\n",
        "targets": "Bob\n",
        "truth": "Bob\t0.75\n",
    }.items():
        (tmp_path / f"{name}.txt").write_text(rows, encoding="utf-8")
    data.write_text(
        "predicates:\n  Friends/2: closed\n  Smokes/1: open\n"
        "observations:\n  Friends: friends.txt\n  Smokes: observed.txt\n"
        "targets:\n  Smokes: targets.txt\ntruth:\n  Smokes: truth.txt\n",
        encoding="utf-8",
    )
    done = run("learn", "--model", rules, "--data", data, "--json")
    assert done.code == 0, done.err
    weights = {row["id"]: row["weight"] for row in done.rows()}
    # The label is nearer to 1 than to 0.
    assert weights[0] > 0
    assert weights[1] == 0
    alone = run("learn", "--model", rules)
    assert (alone.code, "give the .data file, --data" in alone.err) == (1, True)


@pytest.mark.slow
def test_rules_are_found_about_a_target_and_infer_it(run: Run, family: Path) -> None:
    out = family.with_name("rules.psl")
    given = ["--learner", "soft-structure", "--length", "2", "--min-targets", "1"]
    done = run("learn", family, "--query", "Grandparent", *given, "--out", out, "--json")
    assert done.code == 0, done.err
    path = "Parent(E1, E2) & Parent(E2, E3) -> Grandparent(E1, E3)"
    found = {row["clause"]: row for row in done.rows()}
    assert (found[path]["positive"], found[path]["negative"]) == (2, 0)
    assert all(rule.squared for rule in sqlrl.read_psl(out).rules)
    scores = run("psl", out, family, "--observed-bodies", "--evaluate", "--threshold", "0.3", "--json")
    assert scores.rows()[0]["f1"] == 1.0, scores.err


@pytest.mark.slow
def test_rules_of_a_program_are_candidates_too(run: Run, family: Path) -> None:
    given = ["--learner", "soft-structure", "--length", "2", "--min-targets", "1"]
    path = "Parent(E1, E2) & Parent(E2, E3) -> Grandparent(E1, E3)"
    other = family.with_name("candidate.psl")
    other.write_text("1: Parent(A, B) -> !Grandparent(A, B)", encoding="utf-8")
    greedy = ["--query", "Grandparent", "--search", "gls", "--linear", "--no-negative-prior", "--no-negations"]
    done = run("learn", family, "--model", other, *given, *greedy, "--out", "-")
    assert done.code == 0, done.err
    learned = sqlrl.parse_psl(done.out)
    assert [rule.formula for rule in learned.rules] == ["Parent(A, B) -> !Grandparent(A, B)", path]
    assert not any(rule.squared for rule in learned.rules)


def test_bodies_read_what_is_observed_alone_if_asked(run: Run, tmp_path: Path) -> None:
    path, rules = tmp_path / "people.duckdb", tmp_path / "rules.psl"
    with sqlrl.connect(path, progress=False) as db:
        db.load("Friends", [("Anna", "Bob"), ("Bob", "Chris")], types=["person", "person"])
        db.load("Smokes", [("Anna",)], types=["person"], given=True)
    rules.write_text("1: Friends(A, B) & Smokes(A) -> Smokes(B)\n", encoding="utf-8")
    found = [
        {row["person"]: round(row["value"], 3) for row in run("psl", rules, path, "--json", *more).rows()}
        for more in ([], ["--observed-bodies"])
    ]
    assert [each["Bob"] for each in found] == [1.0, 1.0]
    assert found[0]["Chris"] == 1.0
    assert found[1]["Chris"] < 1.0


def test_a_run_is_saved_and_resumed_if_asked(
    run: Run, program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found: list[object] = []
    monkeypatch.setattr(
        "sqlrl.cli.learn.learn_program", lambda inputs, learner, fitting, *_, **__: found.append(fitting)
    )
    given = ["learn", tmp_path / "new.duckdb", "--model", program, "--learner", "soft-map-likelihood"]
    for more, fitting in (([], {}), (["--checkpoint"], {"checkpoint": True}), (["--resume", "1"], {"resume": 1})):
        assert run(*given, *more).code == 0
        assert found.pop() == fitting


@pytest.mark.slow
def test_a_run_that_was_stopped_goes_on(
    run: Run, program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "new.duckdb"
    given = ["learn", path, "--model", program, "--learner", "soft-map-likelihood", "--out", "-"]

    def stopped(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("sqlrl.training.runs.Run.finish", stopped)
        done = run(*given, "--checkpoint")
    assert (done.code, "run 1 is saved after iteration 25: --resume 1 goes on" in done.err) == (130, True), done.err
    resumed, whole = run(*given, "--resume", "1"), run(*given)
    assert (resumed.code, resumed.out) == (0, whole.out), resumed.err
    again = run(*given, "--resume", "1")
    assert (again.code, "run 1 is done: there is nothing to resume" in again.err) == (1, True)


WRONG: list[tuple[list[str], int, str]] = [
    ([], 2, "--model FILE is missing: it names the program"),
    (["--learner", "soft-structure", "--query", "Q"], 2, "name the database"),
    (["--learner", "soft-structure"], 2, "or --query NAME"),
    (["--model", "P", "--evidence", "e.db"], 2, "--evidence is an option of Markov logic networks"),
    (["--model", "P", "--missing", "allow"], 2, "--missing allow is about constants of Markov logic networks"),
    (["--model", "P", "--holdout", "0.2"], 2, "--holdout is no option of soft-map-likelihood"),
    (["--model", "P", "--start", "m.psl"], 2, "--start is no option of soft-map-likelihood"),
    (["--model", "P", "--constraints", "sct"], 2, "--constraints is no option of soft-map-likelihood"),
    (["--model", "P", "--groups", "from t"], 2, "--groups is an option of likelihood"),
    (["--model", "P", "--out", "m.mln"], 2, "the name must end in .psl or .json"),
    (["--model", "P", "--random-state", "3"], 2, "soft-map-likelihood sees all examples at once"),
    (["--model", "P", "--gradient-steps", "3"], 2, "--gradient-steps is an option of soft-p"),
    (["--model", "P", "--max-iterations", "0"], 1, "--max-iterations 0: give an integer of at least 1"),
    (["--model", "P", "--learner", "soft-piecewise-likelihood", "--gradient-steps", "0"], 1, "--gradient-steps 0: give"),
    (["--model", "P", "--checkpoint"], 2, "--checkpoint and --resume need a DATABASE"),
    (["--model", "P", "--learner", "soft-structure", "--resume", "1"], 2, "--checkpoint and --resume need a DATABASE"),
    (["--model", "-", "--data", "x.data"], 2, "in place of standard input"),
    (["--model", "P", "--learner", "adagrad", "--data", "x.data"], 2, "--data is an option of soft-pseudo"),
    (["--model", "P", "--drop", "Smokes"], 1, "Smokes cannot both be dropped and predicted"),
    (["--model", "P", "--drop", "Nope"], 1, "there is no predicate 'Nope' to drop: the model declares Friends, Smokes"),
    (["D", "--query", "Q", "--learner", "soft-structure", "--data", "x.data"], 2, "--data belongs to a rule file"),
    (["D", "--query", "Q", "--learner", "soft-structure", "--drop", "R"], 2, "soft-structure walks over all that is loaded"),
    (["D", "--model", "P", "--learner", "adagrad"], 1, "soft logic, as PSL writes them: `sqlrl psl` infers it"),
]  # fmt: skip


@pytest.mark.parametrize(("options", "code", "message"), WRONG)
def test_what_cannot_be_learned_is_refused(
    run: Run, program: Path, options: list[str], code: int, message: str
) -> None:
    files = {"P": program, "D": program.with_name("new.duckdb")}
    given = [str(files.get(option, option)) for option in options]
    learner = [] if "--learner" in given else ["--learner", "soft-map-likelihood"]
    done = run("learn", *given, *learner)
    assert (done.code, message in " ".join(done.err.replace("│", " ").split())) == (code, True), done.err


def test_data_that_are_named_are_learned_from_or_refused(
    run: Run, family: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rules, data = tmp_path / "rules.psl", tmp_path / "rules.data"
    rules.write_text("1: Friends(A, B) & Smokes(A) -> Smokes(B) ^2\n1: !Smokes(A) ^2", encoding="utf-8")
    rows = {"friends.txt": "a\tb", "given.txt": "a", "asked.txt": "b", "true.txt": "b\t1"}
    for name, text in rows.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    data.write_text(
        "predicates:\n  Friends/2: closed\n  Smokes/1: open\nobservations:\n  Friends: friends.txt\n  Smokes: given.txt\n"
        "targets:\n  Smokes: asked.txt\ntruth:\n  Smokes: true.txt\n",
        encoding="utf-8",
    )
    given = ["--model", rules, "--data", data, "--learner", "soft-piecewise-likelihood", "--out", "-"]
    alone = run("learn", *given)
    assert alone.code == 0, alone.err
    # A database for other commands is not learned from in place of data that are named; one that is typed and has data is not either.
    monkeypatch.setenv("SQLRL_DB", str(family))
    assert run("learn", *given).out == alone.out
    done = run("learn", family, *given)
    assert (
        done.code,
        "has data, from which is learned: leave out --data" in " ".join(done.err.replace("│", " ").split()),
    ) == (2, True)


def test_a_load_that_fails_leaves_a_new_database_as_it_was(run: Run, program: Path, tmp_path: Path) -> None:
    wrong = json.loads(program.read_text(encoding="utf-8"))
    wrong["predicates"]["Smokes/1"]["truth"]["learn"][0][1] = 75
    program.write_text(json.dumps(wrong), encoding="utf-8")
    path = tmp_path / "new.duckdb"
    given = ["learn", path, "--model", program, "--learner", "soft-piecewise-likelihood", "--out", "-"]
    done = run(*given)
    assert (done.code, "75" in done.err) == (1, True)
    program.write_text(json.dumps(PROGRAM), encoding="utf-8")
    done = run(*given)
    assert (done.code, len(sqlrl.parse_psl(done.out).rules)) == (0, 2), done.err


def test_data_outside_of_the_folder_of_a_stranger_are_not_read(run: Run, tmp_path: Path) -> None:
    (tmp_path / "program").mkdir()
    (tmp_path / "secret.txt").write_text("a\t1\n", encoding="utf-8")
    path = tmp_path / "program" / "p.json"
    text = {"rules": ["1: !Q(A)"], "predicates": {"Q/1": {"targets": [["a"]], "truth": ["../secret.txt"]}}}
    path.write_text(json.dumps(text), encoding="utf-8")
    given = ["learn", "--model", path, "--learner", "soft-pseudo-likelihood"]
    assert run(*given).code == 0
    done = run(*given, "--untrusted")
    assert (done.code, "leads out of" in done.err) == (1, True)


def test_learners_that_share_an_option_take_the_same_kind_of_value() -> None:
    shared = {option.name: {_kind(each.kind) for each in option.declared.values()} for option in OPTIONS.values()}
    assert {name: kinds for name, kinds in shared.items() if len(kinds) > 1} == {}
    # The help of what has a panel of its own is that of its first learner alone.
    assert all(SOFT.keys().isdisjoint(x.declared) for x in OPTIONS.values() if "--learner" in (x.option.panel or ""))
    assert all(each.option for word in SOFT for each in declarations(LEARNERS[word]).values())


def _kind(kind: object) -> object:
    return get_origin(kind) or kind


def test_learners_take_atoms_that_no_list_has_as_they_are_told(run: Run, tmp_path: Path) -> None:
    rules = ["2: Friends(A, B) & Smokes(A) -> Smokes(B) ^2", "1: !Smokes(A) ^2"]
    smokes = {"observations": [["Anna"]], "targets": [["Chris"]], "truth": [["Chris", 1]]}
    data = {"Friends/2": {"observations": [["Anna", "Bob"], ["Bob", "Chris"]]}, "Smokes/1": smokes}
    path = tmp_path / "smokers.json"
    path.write_text(json.dumps({"rules": rules, "predicates": data}), encoding="utf-8")
    command = ("learn", "--model", path, "--learner", "soft-pseudo-likelihood", "--unlabelled", "zero")
    done = run(*command)
    assert done.code == 1
    assert "reaches Smokes(Bob)" in " ".join(done.err.split())
    for word in ("open", "false"):
        assert run(*command, "--missing", word).code == 0
    network = tmp_path / "friends.mln"
    network.write_text("Friends(person, person)\n1 Friends(x, y)", encoding="utf-8")
    done = run("learn", "--model", network, "--learner", "adagrad", "--missing", "open")
    assert (done.code, "is about programs of soft logic" in " ".join(done.err.replace("│", " ").split())) == (2, True)
