"""`--untrusted`: every command that opens a database or reads a model takes it, and nothing of a stranger's file leads out of it."""

from __future__ import annotations

import shutil
from importlib import import_module
from pathlib import Path

import duckdb
import pytest

from sqlrl.cli.app import app
from tests.cli.conftest import Project, Run, SeenError

MARKER = "nobody-may-see-this"

COMMANDS = {
    "load": ["load", "{db}", "P", "select 'a'", "--types", "t"],
    "load --folder": ["load", "{db}", "--folder", "{folder}"],
    "load --evidence": ["load", "{db}", "--evidence", "{folder}/smokers.db", "--model", "{model}"],
    "refresh": ["load", "{db}", "--refresh"],
    "remove": ["remove", "{db}", "P", "select 'a'"],
    "define": ["define", "{db}", "q(x) :- Token(x, y, z)."],
    "bias": ["bias", "{db}", "InField"],
    "ego": ["ego", "{db}", "Token", "--target", "P"],
    "ground": ["ground", "{db}", "--model", "{model}"],
    "count": ["count", "{db}", "--model", "{model}"],
    "diagnose": ["diagnose", "{db}", "--model", "{model}"],
    "overlap": ["overlap", "{db}", "--model", "{model}"],
    "audit": ["audit", "{db}", "InField"],
    "audit --model": ["audit", "{db}", "InField", "--model", "{model}"],
    "learn": ["learn", "{db}", "--model", "{model}"],
    "learn ilp": ["learn", "{db}", "--learner", "ilp", "--model", "{model}"],
    "infer": ["infer", "{db}", "--model", "{model}"],
    "evaluate": ["evaluate", "{db}", "--model", "{model}"],
    "why": ["why", "{db}", "--atom", "InField(b, f, p)", "--model", "{model}"],
    "psl": ["psl", "{rules}", "{db}"],
    "export": ["export", "{db}", "--model", "{model}", "--out", "{folder}/out.wcnf"],
    "explain": ["explain", "{db}", "--model", "{model}"],
    "report": ["report", "{db}", "1", "--out", "{folder}/report.html"],
    "sql": ["sql", "{db}", "from sqlrl.predicate"],
    "run": ["run", "{db}", "{script}"],
    "migrate": ["migrate", "{db}"],
}


@pytest.fixture(scope="module")
def hostile(lasting: Project, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """A database whose list of predicates is a view of a file outside, a model that includes that file, and their names."""
    project = Project(tmp_path_factory.mktemp("hostile"))
    shutil.copytree(lasting.folder, project.folder, dirs_exist_ok=True)
    secret = project / "secret.csv"
    secret.write_text(f"{MARKER}\n{MARKER}(x\n", encoding="utf-8")
    (project / "models").mkdir()
    model = project / "models" / "m.mln"
    model.write_text(f'#include "../secret.csv"\n{(project / "chain.mln").read_text()}', encoding="utf-8")
    rules = project / "models" / "rules.psl"
    rules.write_text("1: !InField(B, F, P)", encoding="utf-8")
    script = project / "models" / "ask.sql"
    script.write_text("SHOW PREDICATES", encoding="utf-8")
    with duckdb.connect(project / "cite.duckdb") as connection:
        connection.execute("ALTER TABLE sqlrl.predicate RENAME TO was")
        connection.execute(
            f"CREATE VIEW sqlrl.predicate AS SELECT w.* REPLACE (f.column0 AS source) FROM sqlrl.was AS w, read_csv('{secret}', header = false) AS f"
        )
    return {
        "db": str(project / "cite.duckdb"),
        "model": str(project / "chain.mln"),
        "folder": str(project.folder),
        "bad": str(model),
        "rules": str(rules),
        "script": str(script),
    }


def test_every_command_opens_its_database_as_a_stranger_s(
    hostile: dict[str, str], run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def opened(path: object, *, trusted: bool = True, **_: object) -> None:
        raise SeenError(f"{path} opened, trusted {trusted}")

    # A module that is first imported meanwhile would keep the stand-in.
    import_module("sqlrl.catalog.inspection")
    for module in ("sqlrl.database.database", "sqlrl.engine.connection"):
        monkeypatch.setattr(f"{module}.connect", opened)
    for command, words in COMMANDS.items():
        found = run(*(part.format_map(hostile) for part in words), "--untrusted")
        assert found.err == f"error: {hostile['db']} opened, trusted False\n", (command, found.err)


@pytest.mark.parametrize("commands", [["ground", "migrate"], pytest.param(list(COMMANDS), marks=pytest.mark.slow)])
def test_every_command_refuses_a_stranger_s_file(commands: list[str], hostile: dict[str, str], run: Run) -> None:
    for command in commands:
        words = COMMANDS[command]
        found = run(*(part.format_map(hostile) for part in words), "--untrusted")
        assert (found.code, found.out) == (1, ""), command
        assert "sqlrl.predicate is a view, not a table" in found.err, command
        assert "open it without --untrusted" in found.err, command
        assert MARKER not in found.err, command


def test_every_command_refuses_a_model_that_leads_out_of_its_folder(hostile: dict[str, str], run: Run) -> None:
    for command in (words for words in COMMANDS.values() if "{model}" in words and words[0] != "diagnose"):
        words = [part.format_map(hostile | {"model": hostile["bad"]}) for part in command]
        for more in ([], ["--untrusted"]):
            found = run(*words, *more)
            assert found.code == 1, words
            assert MARKER not in found.out, words
            assert f"{MARKER}(x" not in found.err, words
        assert "the include leads out of a model read with --untrusted" in found.err, words


def test_a_list_of_rules_on_trial_does_not_lead_out_of_its_folder(
    hostile: dict[str, str], lasting: Project, run: Run
) -> None:
    """Its rules are read once the database is open, so it needs one that can be opened."""
    found = run("diagnose", lasting / "cite.duckdb", "--model", hostile["bad"], "--untrusted")
    assert found.code == 1, found.out
    assert "the include leads out of a model read with --untrusted" in found.err
    assert MARKER not in found.out + found.err


def test_no_command_is_left_out() -> None:
    own = {command.callback.__name__ for command in app.registered_commands if command.callback is not None}
    assert own - {words[0] for words in COMMANDS.values()} == {"version", "doctor", "demo"}


def test_a_kept_query_needs_a_yes(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "a.duckdb"
    assert run("load", path, "P", "select 'a' || count(*) from duckdb_tables()", "--types", "t").code == 0
    refused = run("load", path, "--refresh", "--untrusted")
    assert refused.code == 1
    assert "give --run-queries" in refused.err
    assert run("load", path, "--refresh", "--untrusted", "--run-queries").code == 0
    assert run("load", path, "--refresh", "--run-queries").code == 2


def test_the_log_has_no_characters_that_act_on_a_terminal(run: Run, tmp_path: Path) -> None:
    found = run("sql", tmp_path / "none.duckdb", "select 1", "-vv")
    assert found.code == 1
    run("load", tmp_path / "a.duckdb", "P", "select 'a'", "--types", "t")
    found = run("sql", tmp_path / "a.duckdb", "select '\x1b[2J\x9b' as \"\x07\"", "-vv")
    assert found.code == 0
    assert (found.out + found.err).replace("\n", "").isprintable()
