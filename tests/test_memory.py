"""Memory that is used up is an error of ours that names the stage, what is known of the size, and what helps, wherever it happens."""

from __future__ import annotations

import importlib
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from typer.testing import CliRunner

import sqlrl
from sqlrl.cli.app import app
from sqlrl.engine.memory import PROCESS
from sqlrl.errors import MemoryUsedUpError, SqlrlError
from sqlrl.progress import staged

TEXT = "Friends(person, person)\nSmokes(person)\n1 Friends(x, y) ^ Smokes(x) => Smokes(y)\n0.5 Smokes(x)"

VERBS: dict[str, Callable[[sqlrl.Database, sqlrl.Model], Any]] = {
    "predict": lambda db, model: db.predict(model),
    "marginals": lambda db, model: db.probabilities(model, samples=10),
    "count": lambda db, model: db.count(model),
    "adagrad": lambda db, model: sqlrl.AdaGrad(passes=1).fit(db, model),
    "likelihood": lambda db, model: sqlrl.PSCG(max_iterations=2).fit(db, model),
    "load": lambda db, model: db.load("Friends", [("Anna", "Bob")], types=["person", "person"]),
    "scope": lambda db, model: db.scope("Smokes", [("Anna",)]),
}

CASES = [
    ("predict", "sqlrl.ground.grounding.read_atoms", r"^grounding|^working with the model"),
    ("predict", "sqlrl.ground.grounding.assemble", "."),
    ("predict", "sqlrl.solve.mpe.compile_network", "^most probable world: "),
    ("predict", "sqlrl.solve.mpe.compile_forest", "^most probable world: "),
    ("marginals", "sqlrl.ground.grounding.read_atoms", "."),
    pytest.param("marginals", "sqlrl.ground.grounding.assemble", ".", marks=pytest.mark.slow),
    ("count", "sqlrl.ground.counts.groundings", "."),
    ("adagrad", "sqlrl.ground.grounding.assemble", "."),
    pytest.param("likelihood", "sqlrl.ground.grounding.assemble", ".", marks=pytest.mark.slow),
    ("load", "sqlrl.catalog.loading.load", "^loading Friends: "),
    ("scope", "sqlrl.catalog.scopes.number_rows", "^reading the scope of Smokes: "),
]


def opened() -> tuple[sqlrl.Database, sqlrl.Model]:
    db = sqlrl.connect()
    db.load("Friends", [("Anna", "Bob"), ("Bob", "Chris")], types=["person", "person"])
    db.load("Smokes", [("Anna",)], types=["person"], target=True)
    return db, sqlrl.parse_mln(TEXT)


def allocated(*_: Any, **__: Any) -> Any:
    """Ask numpy for more than any machine has."""
    return np.zeros(2**60, np.int8)


@pytest.mark.parametrize(("verb", "place", "words"), CASES)
def test_arrays_that_do_not_fit(verb: str, place: str, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    db, model = opened()
    module, _, name = place.rpartition(".")
    # What is imported first while a name is another keeps the other.
    importlib.import_module("sqlrl.database.counting")
    monkeypatch.setattr(importlib.import_module(module), name, allocated)
    with pytest.raises(MemoryUsedUpError, match=words) as caught:
        VERBS[verb](db, model)
    text = str(caught.value)
    assert "Unable to allocate 1.00 EiB" in text
    assert ("3 query atoms in all examples take about 750 bytes" in text) == (verb not in ("load", "scope"))
    assert all(way in text for way in ("fewer examples=", "scope", "memory_limit="))
    monkeypatch.undo()
    # Nothing is left half done.
    VERBS[verb](db, model)
    db.close()


class Full:
    """A connection all of whose results are too large for the process."""

    def __init__(self, connection: Any, error: MemoryError) -> None:
        self._connection, self._error = connection, error

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)

    def sql(self, query: str) -> Any:
        raise self._error


ARROW = pa.ArrowMemoryError("malloc of size 80 failed")


@pytest.mark.parametrize(
    ("verb", "error"),
    [
        *(("predict", MemoryError()), ("count", ARROW), ("adagrad", MemoryError())),
        *(
            pytest.param(*case, marks=pytest.mark.slow)
            for case in (("marginals", ARROW), ("likelihood", ARROW), ("predict", ARROW), ("count", MemoryError()))
        ),
    ],
)
def test_rows_that_do_not_fit(verb: str, error: MemoryError) -> None:
    db, model = opened()
    db.advanced.bind(model, training=True)
    db.advanced.engine._connection = Full(db.advanced.engine.connection, error)
    with pytest.raises(MemoryUsedUpError, match=rf"^[\w ]+: the memory is used up( \({error}.*\))?: pass fewer"):
        VERBS[verb](db, model)


@pytest.mark.parametrize("verb", ["load", "predict"])
def test_memory_of_the_database(verb: str) -> None:
    both = "Friends(person, person)\nLikes(person, person)\n1 Likes(x, y) ^ Friends(x, y)"
    with sqlrl.connect(memory_limit="20MB", temp_directory="", threads=1) as db:

        def load(people: int) -> None:
            rows = f"select 'person ' || range as p, 'friend ' || (range + 1) as q from range({people})"
            db.load("Friends", rows, types=["person", "person"])

        load(1000)
        words = r"the memory is used up \(memory_limit is 19.0 MiB\).*fewer examples=, .* a scope"
        with pytest.raises(SqlrlError, match=words):
            load(1_000_000) if verb == "load" else db.predict(sqlrl.parse_mln(both, query=["Likes"]))


def test_the_innermost_stage_is_named_once() -> None:
    def allocate() -> None:
        for _ in staged("counting", range(3)):
            with sqlrl.progress.Stage("inside"):
                allocated()

    with pytest.raises(MemoryUsedUpError, match=r"^inside: ") as caught, sqlrl.progress.Stage("outside"):
        allocate()
    assert isinstance(caught.value.__cause__, MemoryError)


READERS: dict[str, tuple[str, Callable[[sqlrl.Database, Any], Any]]] = {
    "evaluating": ("sqlrl.database.inferred.read_labels", lambda _, found: found.evaluate()),
    "naming the atoms of Smokes": ("sqlrl.database.inferred.named_atoms", lambda _, found: found.atoms()),
    "working with the database": ("sqlrl.database.clusters.clusters", lambda _, found: found.clusters()),
}


@pytest.mark.parametrize("stage", READERS)
def test_what_is_asked_of_a_prediction_does_not_fit(stage: str, monkeypatch: pytest.MonkeyPatch) -> None:
    db, model = opened()
    found = db.predict(model)
    place, ask = READERS[stage]
    monkeypatch.setattr(place, allocated)
    with pytest.raises(MemoryUsedUpError, match=rf"^{stage}: the memory is used up \(Unable to allocate 1.00 EiB"):
        ask(db, found)


def test_the_command_line_never_shows_a_bare_memory_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "people.mln").write_text(TEXT, encoding="utf-8")
    (tmp_path / "people.db").write_text("Friends(Anna, Bob)\n", encoding="utf-8")
    monkeypatch.setattr("sqlrl.cli.prediction.show", allocated)
    files = ["--model", str(tmp_path / "people.mln"), "--evidence", str(tmp_path / "people.db")]
    done = CliRunner().invoke(app, ["infer", *files, "--query", "Smokes"])
    assert done.exit_code == 1
    assert "infer: the memory is used up (Unable to allocate 1.00 EiB" in done.stderr
    assert "--memory-limit SIZE" in done.stderr


# ---- a limit of the whole process --------------------------------------------------------------------

JOB = """
import sys
import sqlrl

def peak():
    lines = open("/proc/self/status", encoding="utf-8")
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith("VmHWM"))

people, near = (int(x) for x in sys.argv[1:])
db = sqlrl.connect(memory_limit="1GB", threads=2, progress=False)
rows = f"select 'c' || i, 'c' || ((i + k * k + 1) % {people}) from range({people}) t(i), range({near}) u(k)"
db.load("Near", rows, types=("person", "person"))
text = "Near(person, person)\\nSmokes(person)\\n0.5 Near(x, y) ^ Smokes(x) => Smokes(y)\\n-0.2 Smokes(x)"
try:
    found = db.predict(sqlrl.parse_mln(text, query=["Smokes"]), method="full")
    print("predicted", len(found.result.world), found.result.status.value, peak())
except sqlrl.SqlrlError as error:
    print(type(error).__name__, str(error).count("1GB") + str(error).count("1 GB"), "-", peak())
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="only Linux says what a process took at the most")
@pytest.mark.parametrize(
    ("people", "near", "said"),
    [(300_000, 1, ["predicted", "300000", "optimal"]), (300_000, 5, ["MemoryLimitError", "1", "-"])],
)
def test_a_fresh_process_keeps_a_limit_of_one_gigabyte(people: int, near: int, said: list[str]) -> None:
    command = [sys.executable, "-c", JOB, str(people), str(near)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    *words, peak = done.stdout.split()
    assert words == said
    assert int(peak) < 1.15 * 10**9


LEARNING = """
import sys
import numpy as np
import pyarrow as pa
import sqlrl

def peak():
    lines = open("/proc/self/status", encoding="utf-8")
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith("VmHWM"))

kind, n = sys.argv[1], int(sys.argv[2])
db = sqlrl.connect(memory_limit="200MB", threads=2, progress=False)

def likelihood():
    db.load("P", f"select 'c' || range from range({n})", types=("t",))
    db.load("Q", f"select 'c' || range from range(0, {n}, 2)", types=("t",), target=True)
    model = sqlrl.parse_mln("P(t)\\nQ(t)\\n0.5 P(x) => Q(x)\\n-0.7 Q(x)\\n", query=["Q"])
    sqlrl.Likelihood().fit(db, model)

def soft():
    for name, target in (("P", False), ("Q", True)):
        query = f"select 'c' || range, (range % 7) / 7.0 from range({n})"
        db.load(name, query, columns=[0], value=1, types=("t",), target=target)
    sqlrl.SoftPseudoLikelihood().fit(db, sqlrl.parse_psl("1: P(A) -> Q(A) ^2\\n1: !Q(A) ^2"))

def structure():
    # A graph with hubs, n facts of one relation that is the target, and twice as many of others.
    random, entities = np.random.default_rng(0), n // 2
    share = 1 / np.arange(1, entities + 1) ** 0.7
    for i in range(5):
        ends = random.choice(entities, (2 * n, 2), p=share / share.sum())
        code = random.permutation(np.unique(ends[:, 0] * entities + ends[:, 1]))[: n if i == 0 else n // 2]
        rows = {"a": [f"e{x}" for x in code // entities], "b": [f"e{x}" for x in code % entities]}
        if i:
            db.load(f"R{i}", pa.table(rows), types=("e", "e"))
            continue
        labelled = pa.table({**rows, "v": (np.arange(len(code)) % 2).astype(float)})
        db.load("T", labelled, columns=[0, 1], types=("e", "e"), value=2, target=True)
        db.scope("T", labelled.select(["a", "b"]))
    sqlrl.SoftStructure(length=3, steps=2).fit(db, "T", missing="false")

try:
    {"likelihood": likelihood, "soft": soft, "structure": structure}[kind]()
    print("learned", peak())
except sqlrl.SqlrlError as error:
    print(type(error).__name__, peak())
"""


# Each is a process of its own that imports everything and learns from as much as memory allows: up to half a minute.
@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="only Linux says what a process took at the most")
@pytest.mark.parametrize(
    ("kind", "n", "said"),
    [
        ("likelihood", 150_000, "learned"),
        ("likelihood", 2_000_000, "MemoryLimitError"),
        ("soft", 150_000, "learned"),
        ("soft", 2_000_000, "MemoryLimitError"),
        ("structure", 20_000, "learned"),
    ],
)
def test_learning_keeps_a_small_limit_or_is_refused(kind: str, n: int, said: str) -> None:
    command = [sys.executable, "-W", "ignore", "-c", LEARNING, kind, str(n)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    word, peak = done.stdout.split()
    assert word == said
    # Imports, the database and arrays, each with its limit, and as much again for what allocators keep.
    assert int(peak) < 1.5 * (PROCESS + 2 * 200 * 10**6)
