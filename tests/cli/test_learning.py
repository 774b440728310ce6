"""`sqlrl learn` with every learner, and runs that are resumed."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import sqlrl
from sqlrl.catalog.records import Records
from sqlrl.cli.learners import LEARNERS
from sqlrl.cli.learning import BATCHES, GENERATIVE, ONLINE, SEARCHES, SOFT
from sqlrl.errors import EngineError
from sqlrl.learn import BatchEstimator, OnlineEstimator, OnlineLearner
from sqlrl.learn.fitted import Configured
from sqlrl.learn.soft.estimator import SoftEstimator
from tests.cli.conftest import Project, Run, SeenError
from tests.offered import OFFERED

MODES = "modeP(2, Token(#-,+,.))\nmodeP(1, Next(-,-))\nmodeP(2, InField(.,#.,+))\n"

CHOICES = {
    "adagrad": ["--strength", "0.01", "--learning-rate", "0.5", "--delta", "2"],
    "cda": ["--strength", "0.01", "--update", "prediction", "--loss", "f1"],
    "mira": ["--loss", "f1", "--last"],
    "subgradient": ["--strength", "0.1", "--update", "maximal", "--ties", "first"],
    "perceptron": ["--passes", "2"],
    "cd": ["--counts", "gibbs", "--sweeps", "2", "--learning-rate", "0.2", "--strength", "0.05"],
    "osl": [
        "--modes",
        "modes.txt",
        "--max-length",
        "3",
        "--min-count-difference",
        "2",
        "--pool",
        "2",
        "--strength",
        "0.01",
    ],
    "likelihood": ["--strength", "0.1,1", "--folds", "3", "--model", "words.mln"],
    "pscg": ["--max-iterations", "3", "--samples", "4", "--strength", "0"],
    "voted-perceptron": ["--max-iterations", "2", "--learning-rate", "0.1", "--last"],
    "pseudo-likelihood": ["--strength", "0.01", "--not-averaged", "--discriminative"],
    "max-margin": ["--strength", "1,3", "--folds", "2", "--separation", "relaxed", "--epsilon", "1", "--penalty", "l1"],
}


def arguments(project: Project, *more: str) -> list[object]:
    some = project / "some.txt"
    (project / "modes.txt").write_text(MODES, encoding="utf-8")
    some.write_text("\n".join((project / "train.txt").read_text(encoding="utf-8").split()[:12]), encoding="utf-8")
    found = [project / name if name in ("modes.txt", "words.mln") else name for name in more]
    model = [] if "--model" in more else ["--model", project / "chain.mln"]
    lines = (project / "chain.mln").read_text(encoding="utf-8").splitlines(keepends=True)
    words = "".join(line for line in lines if not line.startswith("Next(p1"))
    (project / "words.mln").write_text(words, encoding="utf-8")
    return ["learn", project / "cite.duckdb", *model, "--examples", some, *found]


def test_the_help_begins_sentences_and_leaves_words_of_options_as_they_are(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "1000")
    shown = " ".join(run("learn", "--help-all").out.split())
    assert "All in both if it is not given." in shown
    assert "Of mestimate: a number, or" in shown


def test_the_short_help_has_options_of_the_whole_one_and_every_learner(run: Run) -> None:
    short, whole = (run("learn", option).out for option in ("--help", "--help-all"))
    names = {
        kind: {line.split()[1] for line in text.splitlines() if line.startswith("│ --")}
        for kind, text in (("short", short), ("whole", whole))
    }
    assert names["short"] - {"--help", "--help-all"} < names["whole"]
    assert {
        "--model",
        "--out",
        "--learner",
        "--examples",
        "--query",
        "--random-state",
        "--limit",
        "--help-all",
    } <= names["short"]
    assert len(names["short"]) <= 30
    assert len(names["whole"]) > 50
    assert run("learn", "-h").out == short
    online = {word for word, kind in LEARNERS.items() if issubclass(kind, OnlineEstimator)}
    batch = {word for word, kind in LEARNERS.items() if issubclass(kind, BatchEstimator)}
    assert (online, batch) == (set(ONLINE), set(BATCHES))
    assert {word for word, kind in LEARNERS.items() if issubclass(kind, sqlrl.PseudoLikelihood)} == set(GENERATIVE)
    found = list(OFFERED.values())
    words = {each.word for each in found if isinstance(each, type) and issubclass(each, Configured)}
    soft = {
        each.word for each in found if isinstance(each, type) and issubclass(each, SoftEstimator | sqlrl.SoftStructure)
    }
    assert soft == set(SOFT)
    assert words - {sqlrl.ConstrainedTraining.word} == set(LEARNERS)


HELPED = """
import sys
from sqlrl.cli import main
sys.argv = ["sqlrl", "learn", "--help"]
try:
    main()
finally:
    print([name for name in ("numba", "ortools", "scipy", "pyarrow", "duckdb") if name in sys.modules], file=sys.stderr)
"""


def test_the_help_loads_no_learner() -> None:
    done = subprocess.run([sys.executable, "-c", HELPED], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "[]\n")
    assert "--help-all" in done.stdout


WORDS = [word for word in LEARNERS if word not in ("ilp", "resolwe", *SEARCHES, *SOFT)]
WANTED: dict[str, tuple[str, Any]] = {
    "adagrad": ("strength", 0.01),
    "cda": ("loss", "f1"),
    "mira": ("average", False),
    "subgradient": ("ties", "first"),
    "perceptron": ("passes", 2),
    "cd": ("sweeps", 2),
    "osl": ("max_length", 3),
    "likelihood": ("strength", [0.1, 1.0]),
    "pscg": ("strength", 0.0),
    "voted-perceptron": ("average", False),
    "max-margin": ("strength", [1.0, 3.0]),
    "pseudo-likelihood": ("discriminative", True),
}
"""What an option of each learner in `CHOICES` becomes."""


@pytest.mark.slow
@pytest.mark.parametrize("learner", WORDS)
def test_every_learner_learns(run: Run, project: Project, learner: str) -> None:
    done = run(*arguments(project, "--learner", learner, *CHOICES.get(learner, []), "--json"))
    assert done.code == 0, done.err
    assert sum(row["weight"] not in (None, 0) for row in done.rows()) > 50
    query = "select learner, parameters from sqlrl.run order by run desc limit 1"
    (row,) = run("sql", project / "cite.duckdb", query, "--json").rows()
    assert row["learner"] == LEARNERS[learner].__name__
    kept = json.loads(row["parameters"])
    # As earlier versions kept it: a run that was stopped then goes on.
    assert kept["random_state"] == 0
    name, value = WANTED[learner]
    assert kept[name] == value


def test_options_reach_every_learner(run: Run, project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []

    def begun(how: str, learner: Any) -> None:
        seen.append((how, learner))
        raise SeenError("seen")

    for how in ("batch", "online", "structure"):
        monkeypatch.setattr(f"sqlrl.cli.learn.learn_{how}", lambda _, learner, *__, how=how: begun(how, learner))
    for word in WORDS:
        done = run(*arguments(project, "--learner", word, *CHOICES.get(word, [])))
        assert (done.code, "seen" in done.err) == (1, True), done.err
        how, learner = seen.pop()
        assert (how, type(learner)) == ("batch" if word in {*BATCHES, *GENERATIVE} else "online", LEARNERS[word])
        name, value = WANTED[word]
        assert (learner.random_state, getattr(learner, name)) == (0, value), word


def test_old_options_with_new_names_are_told(run: Run, project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Any] = []

    def begun(_: Any, learner: Any, *__: Any) -> None:
        made.append((learner.learning_rate, learner.random_state))
        raise SeenError("seen")

    monkeypatch.setattr("sqlrl.cli.learn.learn_online", begun)
    done = run(*arguments(project, "--learner", "adagrad", "--eta=0.5", "--seed", "3"))
    assert made == [(0.5, 3)]
    for old, new in (("--eta", "--learning-rate"), ("--seed", "--random-state")):
        assert f"{old} is deprecated, and the next release does not have it: write {new}" in done.err


@pytest.mark.parametrize(
    "learner", ["adagrad", *(pytest.param(each, marks=pytest.mark.slow) for each in ("osl", "likelihood"))]
)
def test_the_limit_of_ground_clauses_can_be_set(run: Run, project: Project, learner: str) -> None:
    done = run(*arguments(project, "--learner", learner, *CHOICES[learner], "--limit", "1"))
    assert done.code == 1
    assert "the limit of 1" in done.err


@pytest.mark.parametrize(
    ("mode", "trained"),
    [
        pytest.param("l+i", False, marks=pytest.mark.slow),
        pytest.param("ibt", True, marks=pytest.mark.slow),
        ("sct", True),
    ],
)
def test_hard_clauses_are_enforced_as_said(run: Run, project: Project, mode: str, trained: bool) -> None:
    out = project / f"{mode.strip('+')}.mln"
    done = run(*arguments(project, "--learner", "cda", "--constraints", mode, "--out", out))
    assert done.code == 0, done.err
    assert ("what the hard clauses cost" in done.out) == (mode == "sct")
    assert "=> !InField(c, f2, p)." in out.read_text(encoding="utf-8")
    # The model that was trained is the one of the run.
    (row,) = run(
        "sql", project / "cite.duckdb", "select json from sqlrl.model order by model desc limit 1", "--json"
    ).rows()
    assert ("f1 != f2" in row["json"]) == trained


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--constraints", "hard"], ["--constraints", "'hard' is not one of"]),
        (["--learner", "ilp", "--constraints", "sct"], ["--constraints is an option of learners of weights: ilp"]),
        (["--update", "maximal"], ["--update is an option of cda and subgradient", "adagrad"]),
        (["--learner", "mira", "--update", "maximal"], ["--update is an option of cda and subgradient", "mira"]),
        (["--learner", "perceptron", "--learning-rate", "0.1"], ["--learning-rate is an option of adagrad, cd, osl, voted-perceptron, soft-pseudo-likelihood, soft-piecewise-likelihood and soft-map-likelihood: perceptron"]),
        (["--modes", "modes.txt"], ["--modes is an option of osl: adagrad has no such number or choice"]),
        (["--learner", "mira", "--longest-only"], ["--longest-only is an option of osl: mira"]),
        (["--learner", "osl", "--modes", "modes.txt", "--sweeps", "1"], ["--sweeps is an option of cd: osl"]),
        (["--learner", "osl"], ["--learner osl needs --modes FILE"]),
        (["--learner", "likelihood", "--folds", "3"], ["there is only one: give several, such as --strength 0.1,1,10"]),
        (["--learner", "likelihood", "--folds", "3", "--strength", "2"], ["there is only one"]),
        (["--learner", "osl", "--modes", "absent.txt"], ["absent.txt"]),
        (["--learner", "osl", "--modes", "modes.txt", "--max-length", "1"], ["--max-length 1: give an integer of at least 2"]),
        (["--learner", "osl", "--modes", "modes.txt", "--min-count-difference", "0"], ["--min-count-difference 0"]),
        (["--learner", "cda", "--loss", "f1"], ["--loss f1 cannot go with --update maximal", "a sum over atoms"]),
        (["--learner", "cda", "--strength", "0"], ["--strength 0"]),
        (["--learner", "cd", "--sweeps", "0"], ["--sweeps 0: give an integer of at least 1"]),
        (["--learner", "cd", "--learning-rate", "0.5", "--strength", "4"], ["--learning-rate 0.5 and --strength 4.0 take 2 times", "use --strength below 2, or --learning-rate below 0.25"]),
        (["--learner", "mira", "--delta", "1"], ["--delta is an option of adagrad and osl: mira"]),
        (["--learner", "likelihood", "--strength", "a,1"], ["--strength a,1: give a number, or several with commas"]),
        (["--strength", "nan"], ["--strength nan: give a number, or several with commas between them: 0.1,1,10"]),
        (["--learner", "likelihood", "--strength", "true,1"], ["--strength true,1: give a number, or several with commas"]),
        (["--learner", "likelihood", "--strength", "-1"], ["--strength -1.0 is not a finite number of at least 0"]),
        (["--learner", "likelihood", "--passes", "2"], ["--passes is an option of online learners: likelihood sees all"]),
        (["--learner", "pscg", "--folds", "2"], ["--folds is an option of likelihood and max-margin: pscg has no such"]),
        (["--learner", "max-margin", "--strength", "0"], ["--strength 0", "not a finite number above 0"]),
        (["--penalty", "l1", "--passes", "2"], ["--penalty is an option of likelihood, max-margin, pseudo-likelihood,", "adagrad has no such", "--learner NAME"]),
        (["--learner", "max-margin", "--groups", "from t"], ["--groups is an option of likelihood and ilp: max-margin holds out"]),
        (["--learner", "pseudo-likelihood", "--groups", "from t"], ["--groups is an option of likelihood and ilp: pseudo-likelihood holds out"]),
        (["--learner", "pseudo-likelihood", "--passes", "2"], ["--passes is an option of online learners: pseudo-likelihood sees all"]),
        (["--learner", "pseudo-likelihood", "--strength", "1,2"], ["--strength 1,2", "pseudo-likelihood takes one number"]),
        (["--learner", "pseudo-likelihood", "--folds", "2"], ["--folds is an option of likelihood and max-margin: pseudo-likelihood"]),
        (["--learner", "likelihood", "--groups", "select 1"], ["--groups says which atoms stay together", "--strength 1.0"]),
        (["--resume", "999"], ["there is no run 999 to resume"]),
        (["--resume", "0"], ["--resume 0: give an integer of at least 1"]),
    ],
)  # fmt: skip
def test_wrong_options_are_named(run: Run, lasting: Project, options: list[str], words: list[str]) -> None:
    done = run(*arguments(lasting, *options))
    said = " ".join(done.err.replace("│", " ").split())
    assert done.code != 0
    assert all(word in said for word in words), said
    assert "Traceback" not in said


def test_checkpoints_need_a_file(run: Run, project: Project, tmp_path: Path) -> None:
    evidence = tmp_path / "data.db"
    evidence.write_text("P(A)\n", encoding="utf-8")
    done = run("learn", "-e", evidence, "--model", project / "chain.mln", "--checkpoint")
    assert done.code != 0
    assert "--checkpoint and --resume need a database file" in " ".join(done.err.replace("│", " ").split())


STOPPED = """
import os, signal, sys
from sqlrl.learn import OnlineLearner
from sqlrl.cli import main
original, calls = OnlineLearner.learn_many, []
def learn(self, window):
    calls.append(1)
    if len(calls) == 3:
        os.kill(os.getpid(), signal.SIGINT)
    return original(self, window)
OnlineLearner.learn_many = learn
sys.argv[0] = "sqlrl"
main()
"""


ONLINE_OPTIONS = ["--window", "3", "--learner", "cda", "--order", "shuffle", "--random-state", "5"]


@pytest.mark.slow
def test_ctrl_c_in_a_process_says_how_to_go_on(run: Run, project: Project) -> None:
    command = [sys.executable, "-c", STOPPED, *map(str, arguments(project, *ONLINE_OPTIONS, "--checkpoint"))]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode in (130, -signal.SIGINT), done.stderr
    (row,) = run("sql", project / "cite.duckdb", "select max(run) as run from sqlrl.run", "--json").rows()
    assert f"run {row['run']} is saved after window 2: --resume {row['run']} goes on" in done.stderr


@pytest.mark.slow
def test_what_is_said_of_a_run_reaches_fit(run: Run, project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[dict[str, object]] = []

    def begun(*_: object, **given: object) -> None:
        found.append(given)
        raise SeenError("seen")

    for learner in (sqlrl.CDA, sqlrl.Likelihood, sqlrl.ILP):
        monkeypatch.setattr(learner, "fit", begun)
    for options, wanted in {
        ("cda",): {},
        ("cda", "--checkpoint"): {"checkpoint": True},
        ("cda", "--resume", "1"): {"resume": 1},
        ("likelihood", "--checkpoint"): {"checkpoint": True},
        ("likelihood", "--groups", "from t", "--strength", "1,2", "--folds", "2"): {"groups": "from t"},
        ("ilp", "--groups", "from t", "--test-units", "atoms"): {"groups": "from t"},
    }.items():
        assert "seen" in run(*arguments(project, "--learner", *options)).err
        given = found.pop()
        assert {name: given[name] for name in ("checkpoint", "resume", "groups") if name in given} == wanted, options


@pytest.mark.slow
def test_ctrl_c_says_how_to_go_on(run: Run, project: Project) -> None:
    """It learns for half a second, as often as it is asked to."""
    learn_many, calls = OnlineLearner.learn_many, []

    def pressed(learner: OnlineLearner, window: Any) -> Any:
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return learn_many(learner, window)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(OnlineLearner, "learn_many", pressed)
        stopped = run(*arguments(project, *ONLINE_OPTIONS, "--checkpoint"))
    assert stopped.code == 130
    assert "run 2 is saved after window 2: --resume 2 goes on" in stopped.err
    resumed = run(*arguments(project, *ONLINE_OPTIONS, "--resume", "2", "--json"))
    assert resumed.code == 0, resumed.err
    whole = run(*arguments(project, *ONLINE_OPTIONS, "--json"))
    assert resumed.rows() == whole.rows()
    other = run(*arguments(project, *ONLINE_OPTIONS, "--passes", "2", "--resume", "2"))
    assert "run 2 is done" in other.err


def test_a_full_disk_says_how_to_go_on(run: Run, project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    save_state = Records.save_state

    def full(records: Records, run: int, state: dict[str, Any]) -> None:
        if "stream" in state and state["stream"]["windows"] == 3:
            raise EngineError("save a run", "No space left on device", "INSERT")
        save_state(records, run, state)

    monkeypatch.setattr(Records, "save_state", full)
    done = run(*arguments(project, "--window", "3", "--checkpoint"))
    assert done.code == 1, done.err
    assert "No space left on device" in done.err
    assert "run 2 is saved after window 2: --resume 2 goes on" in done.err


@pytest.mark.slow
def test_atoms_of_a_group_are_held_out_together(run: Run, tmp_path: Path) -> None:
    words = [f"w{i % 5},t{i}" for i in range(30)]
    good = [f"t{i},{i // 10}" for i in range(30) if i % 5 < 2 or i % 7 == 0]
    (tmp_path / "word.csv").write_text("\n".join(["word,text", *words]), encoding="utf-8")
    (tmp_path / "good.csv").write_text("\n".join(["text,part", *good]), encoding="utf-8")
    model = "Word(word, text)\nGood(text)\nWord(+w, t) => Good(t)\nGood(t)\n"
    (tmp_path / "m.mln").write_text(model, encoding="utf-8")
    db = tmp_path / "g.duckdb"
    assert run("load", db, "Word", tmp_path / "word.csv").code == 0
    done = run("load", db, "Good", f"select text from '{tmp_path / 'good.csv'}'", "--types", "text", "--target")
    assert done.code == 0, done.err
    learn = [
        "learn",
        db,
        "--model",
        tmp_path / "m.mln",
        "--learner",
        "likelihood",
        "--strength",
        "0.1,1",
        "--folds",
        "3",
    ]
    tried = {}
    for divisor in (0, 10):
        query = f'select name, id // {divisor} from sqlrl."dictionary_text"'
        done = run(*learn, *(["--groups", query] if divisor else []))
        assert done.code == 0, done.err
        tried[divisor] = done.out.partition("values that were tried")[2].partition("iterations")[0]
    assert len(set(tried.values())) == 2
    failed = run(*learn, "--groups", "select 1")
    assert failed.code == 1
    assert "--groups takes 2 columns" in failed.err


def test_a_batch_learner_shows_what_it_tried(run: Run, project: Project, tmp_path: Path) -> None:
    out = tmp_path / "learned.mln"
    done = run(*arguments(project, "--learner", "likelihood", *CHOICES["likelihood"], "--out", out))
    assert done.code == 0, done.err
    titles = [
        line for line in done.out.splitlines() if line in ("strongest clauses", "values that were tried", "iterations")
    ]
    assert titles == ["strongest clauses", "values that were tried", "iterations"]
    assert "objective" in done.out
    assert "with a weight other than 0" in done.err
    # Whether the likelihood is exact is said.
    assert re.search(r"; likelihood by closed form of \d+ choices$", done.err, re.MULTILINE)
    assert out.read_text(encoding="utf-8").count("InField") > 50
