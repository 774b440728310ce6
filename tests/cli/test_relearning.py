"""`sqlrl learn --then`, `--drop-zeros`, and Ctrl-C while a batch learner is at work."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import sqlrl
from sqlrl.training.fit import IterationFit
from sqlrl.training.records import Iteration
from tests.cli.conftest import Run
from tests.learn.batch.stopped import load

MODES = "modeP(1, Word(+, #.))\nmodeP(1, Liked(-))\n"
BIAS = "modeh(1, 'Liked'(+doc)).\nmodeb(*, 'Word'(+doc,#word)).\n"
DECLARED = "Word(doc, word)\nLiked(doc)\n"


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Labelled documents, and what finds clauses about them, made once."""
    tmp_path = tmp_path_factory.mktemp("documents")
    with sqlrl.connect(tmp_path / "docs.duckdb", progress=False) as db:
        load(db)
        for word in ("good", "bad", "odd"):
            has = db.sql(f"select doc from sqlrl.named_Word where word = '{word}' order by doc").fetchall()
            db.load(word.capitalize(), has, types=["doc"], example="doc")
    (tmp_path / "modes.txt").write_text(MODES, encoding="utf-8")
    (tmp_path / "bias.txt").write_text(BIAS, encoding="utf-8")
    (tmp_path / "start.mln").write_text(DECLARED, encoding="utf-8")
    (tmp_path / "rules.mln").write_text(DECLARED + "Word(d, +w) => Liked(d)\n", encoding="utf-8")
    (tmp_path / "about.grammar").write_text(
        'ABOUT(d) = {Word(d, "good"), Word(d, "bad"), Word(d, "dull")}\nABOUT(d) ^ [!]Liked(d)\n', encoding="utf-8"
    )
    words = "Good(doc)\nBad(doc)\nOdd(doc)\nLiked(doc)\n"
    (tmp_path / "words.mln").write_text(words, encoding="utf-8")
    rules = "1 Good(d) => Liked(d)\n1 Odd(d) => Liked(d)\n1 Bad(d) => !Liked(d)\n"
    (tmp_path / "source.mln").write_text(words + rules, encoding="utf-8")
    return tmp_path


@pytest.fixture
def documents(loaded: Path, tmp_path: Path) -> Path:
    """A copy that the test may change."""
    shutil.copytree(loaded, tmp_path, dirs_exist_ok=True)
    return tmp_path


FINDERS = {
    "osl": ["--modes", "modes.txt", "--model", "start.mln"],
    "ilp": ["--bias", "bias.txt", "--keep-above", "0.2", "--min-score", "0.2"],
    "msl": ["--model", "words.mln", "--max-literals", "2", "--literal-cost", "0.001"],
    "transfer": ["--model", "source.mln", "--max-literals", "2", "--literal-cost", "0.001"],
    "resolwe": ["--templates", "about.grammar", "--model", "start.mln", "--min-support", "2", "--threshold", "0.1"],
}


def learn(folder: Path, learner: str, *more: str | Path) -> list[str | Path]:
    given = [folder / x if "." in x and (folder / x).exists() else x for x in FINDERS.get(learner, [])]
    return ["learn", folder / "docs.duckdb", "--learner", learner, *given, *more]


def runs(run: Run, folder: Path) -> list[dict[str, Any]]:
    query = (
        "select run, learner, status, model, (parameters ->> 'found_by')::int as found_by from sqlrl.run order by run"
    )
    rows: list[dict[str, Any]] = run("sql", folder / "docs.duckdb", query, "--json").rows()
    return rows


def weights(path: Path) -> list[float | None]:
    model = sqlrl.read_model(path)
    listed = [w for rule in model.rules if rule.expansions is not None for w in rule.expansions.weights]
    return [*listed, *(rule.weight for rule in model.rules if rule.expansions is None)]


@pytest.mark.parametrize(
    "learner", [pytest.param(each, marks=[] if each == "osl" else pytest.mark.slow) for each in FINDERS]
)
def test_found_clauses_are_weighed_again(run: Run, documents: Path, learner: str) -> None:
    out = documents / "again.mln"
    done = run(*learn(documents, learner, "--then", "likelihood(strength=4)", "--out", out))
    assert done.code == 0, done.err
    found = [row for row in runs(run, documents) if row["learner"] != "ContrastiveDivergence"]
    assert [row["status"] for row in found] == ["done", "done"]
    assert (found[1]["learner"], found[1]["found_by"]) == ("Likelihood", found[0]["run"])
    kept = weights(out)
    assert kept
    assert all(kept)
    count = f"{len(kept)} clause{'s' if len(kept) > 1 else ''}"
    assert f"weights learned again by likelihood, run {found[1]['run']}: {count}; grounding" in done.err
    assert "strongest clauses" in done.out
    assert "iterations that learned the weights again" in done.out
    with sqlrl.connect(documents / "docs.duckdb", progress=False) as db:
        assert db.models[-1] == sqlrl.read_model(out)
        whole = db.models[found[0]["model"]]
        assert isinstance(whole, sqlrl.Model)
    assert len(kept) < sum(len(rule.expansions.rows) if rule.expansions else 1 for rule in whole.rules)


@pytest.mark.slow
def test_found_clauses_with_weights_are_scored_on_what_was_held_out(run: Run, documents: Path) -> None:
    done = run(*learn(documents, "ilp", "--then", 'likelihood(penalty="l2")', "--holdout", "0.3"))
    assert done.code == 0, done.err
    assert "examples to learn from" in done.err
    assert "held out: F1" in done.err


def test_rows_of_json_say_what_caused_the_clauses_that_are_left(run: Run, documents: Path) -> None:
    done = run(*learn(documents, "osl", "--then", "likelihood(strength=4)", "--json"))
    assert done.code == 0, done.err
    rows = done.rows()
    assert rows
    assert all(row["wrong_atom"].startswith("Liked(") and row["weight"] != 0 for row in rows)


@pytest.mark.slow
def test_rows_of_json_have_the_support_of_clauses_of_a_theory(run: Run, documents: Path) -> None:
    (of_ilp,) = [run(*learn(documents, "ilp", "--then", "max-margin(strength=10)", "--json")).rows()]
    assert {"clause", "weight", "support"} <= of_ilp[0].keys()


@pytest.mark.slow
def test_a_saved_model_is_learned_again_from_its_own_weights(run: Run, documents: Path) -> None:
    found, again, whole = (documents / f"{name}.mln" for name in ("found", "again", "whole"))
    assert run(*learn(documents, "osl", "--out", found)).code == 0
    options = ["--model", found, "--start", found, "--strength", "4"]
    done = run(*learn(documents, "likelihood", *options, "--drop-zeros", "--out", again))
    assert done.code == 0, done.err
    assert run(*learn(documents, "likelihood", *options, "--out", whole)).code == 0
    assert [w for w in weights(whole) if w] == weights(again)
    assert 0 < len(weights(again)) < len(weights(whole))
    # What `--then` does in one command.
    one = documents / "one.mln"
    assert run(*learn(documents, "osl", "--then", "likelihood(strength=4)", "--out", one)).code == 0
    assert sqlrl.read_model(one) == sqlrl.read_model(again)
    # Of a model without weights, as ilp saves it, there is nothing to start from.
    assert run(*learn(documents, "ilp", "--out", found)).code == 0
    refused = run(*learn(documents, "likelihood", *options))
    assert (refused.code, "no rule with a weight, so that nothing can start from it" in refused.err) == (1, True)
    assert run(*learn(documents, "likelihood", "--model", found, "--drop-zeros")).code == 0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["adagrad", "--model", "rules.mln", "--then", "likelihood"], ["--then is an option of osl, ilp, msl, transfer and resolwe"]),
        (["adagrad", "--model", "rules.mln", "--drop-zeros"], ["--drop-zeros is an option of likelihood"]),
        (["osl", "--then", "likelyhood"], ["--then likelyhood: there is no such learner; choose among adagrad,"]),
        (["osl", "--then", "osl"], ["--then osl: there is no such learner; choose among"]),
        (["osl", "--then", "msl"], ["--then msl: there is no such learner; choose among"]),
        (["osl", "--then", "msl(max_literals=2)"], ["--then takes a learner of the weights", "not an object of type MSL"]),
        (["osl", "--then", "likelihood(strenght=2)"], ["Likelihood has no parameter 'strenght'; did you mean 'strength'?"]),
        (["osl", "--then", "likelihood(strength=-1)"], ["--strength -1 is not a finite number of at least 0"]),
        (["ilp", "--then", "max-margin(folds=2)"], ["says how examples are held out to choose a strength"]),
    ],
)  # fmt: skip
def test_what_cannot_learn_weights_again_is_refused(
    run: Run, loaded: Path, options: list[str], words: list[str]
) -> None:
    learner, *more = [str(loaded / x) if x == "rules.mln" else x for x in options]
    done = run(*learn(loaded, learner, *more))
    said = " ".join(done.err.replace("│", " ").split())
    assert done.code != 0
    assert all(word in said for word in words), said
    assert runs(run, loaded) == []


# ---- Ctrl-C --------------------------------------------------------------------------------------------------


def press(monkeypatch: pytest.MonkeyPatch, at: int) -> None:
    original = IterationFit.report

    def pressed(self: IterationFit, iteration: Iteration) -> None:
        original(self, iteration)
        if iteration.iteration == at:
            raise KeyboardInterrupt

    monkeypatch.setattr(IterationFit, "report", pressed)


def test_ctrl_c_keeps_the_best_weights_so_far_in_the_database(
    run: Run, documents: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = documents / "learned.mln"
    press(monkeypatch, 3)
    done = run(*learn(documents, "max-margin", "--model", documents / "rules.mln", "--out", out))
    assert done.code == 130
    assert "interrupted; what was finished is kept" in done.err
    assert "run 1 is kept as interrupted, with the best weights up to iteration 3" in done.err
    assert "`sqlrl sql` with 'from sqlrl.strongest_clauses' shows its model" in done.err
    # A file that --out names is a finished model.
    assert not out.exists()
    (row,) = runs(run, documents)
    assert (row["status"], row["model"]) == ("interrupted", 1)
    rows = run("sql", documents / "docs.duckdb", "from sqlrl.strongest_clauses", "--json").rows()
    assert len(rows) == 6
    assert rows[0]["weight"] != 0


@pytest.mark.slow
def test_ctrl_c_while_weights_are_learned_again_names_both_runs(
    run: Run, documents: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    press(monkeypatch, 2)
    done = run(*learn(documents, "osl", "--then", "likelihood(penalty=l2)"))
    assert done.code == 130
    assert "run 2 is kept as interrupted, with the best weights up to iteration 2" in done.err
    assert (
        "run 1, which found the clauses, is done and keeps them; Likelihood was learning their weights again"
        in done.err
    )
    assert [(row["status"], row["found_by"]) for row in runs(run, documents)] == [("done", None), ("interrupted", 1)]


def test_what_was_learned_of_evidence_files_is_gone(run: Run, documents: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    evidence = documents / "docs.db"
    evidence.write_text("Word(D1, Good)\nWord(D2, Bad)\nWord(D3, Good)\nLiked(D1)\nLiked(D3)\n", encoding="utf-8")
    press(monkeypatch, 1)
    command = ["learn", "--evidence", evidence, "--model", documents / "rules.mln", "--query", "Liked"]
    done = run(*command, "--learner", "likelihood", "--strength", "0.1")
    assert done.code == 130
    assert "is gone with the evidence, which was loaded into memory: load it into a database file" in done.err
    assert "is kept" not in done.err.replace("what was finished is kept", "")


SIGNALLED = """
import os, signal, sys
from sqlrl.learn.batch.choice_design import Choices
from sqlrl.cli import main
original, calls = Choices.value_and_gradient, []
def evaluated(self, weights):
    calls.append(1)
    if len(calls) == 8:
        os.kill(os.getpid(), signal.SIGINT)
    return original(self, weights)
Choices.value_and_gradient = evaluated
sys.argv[0] = "sqlrl"
main()
"""


@pytest.mark.slow
def test_a_signal_in_the_middle_of_an_evaluation(run: Run, documents: Path) -> None:
    options = ["--model", documents / "rules.mln", "--penalty", "l2", "--strength", "0.05"]
    command = [sys.executable, "-c", SIGNALLED, *map(str, learn(documents, "likelihood", *options))]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode in (130, -signal.SIGINT), done.stderr
    assert "run 1 is kept as interrupted, with the best weights up to iteration" in done.stderr
    assert "Traceback" not in done.stderr
    (row,) = runs(run, documents)
    assert (row["status"], row["model"]) == ("interrupted", 1)
    count = "select max(iteration) as steps from sqlrl.iteration"
    assert run("sql", documents / "docs.duckdb", count, "--json").rows()[0]["steps"] > 1
    assert json.loads(run("sql", documents / "docs.duckdb", "select json from sqlrl.model", "--json").rows()[0]["json"])
