"""Help: each command has examples that parse, can be pasted, and work on the data of the demo where that is cheap."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path
from typing import Any

import pytest
import typer

from sqlrl.cli.app import app, command_lines, pasteable, with_examples
from sqlrl.cli.learning import learn
from tests.cli.conftest import Run

COMMANDS = {each.callback.__name__: each.callback for each in app.registered_commands if each.callback is not None} | {
    "learn": learn
}
WORD = {"run_script": "run"}


GROUP: Any = typer.main.get_command(app)


def name_of(function: Any) -> str:
    (name,) = [n for n in GROUP.commands if n == function.__name__ or n == WORD.get(function.__name__)]
    return str(name)


EXAMPLES = [
    (name_of(function), line) for function in COMMANDS.values() for line in command_lines(function.__doc__ or "")
]


@pytest.mark.slow
def test_each_command_has_an_example_in_its_help(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    for function in COMMANDS.values():
        lines = command_lines(function.__doc__ or "")
        assert lines, f"sqlrl {function.__name__} has no example"
        help_ = run(name_of(function), "--help").out
        heading = "Examples" if len(lines) > 1 else "Example"
        assert re.search(rf"^ {heading} *$", help_, re.M), function.__name__
        # Pasted from the screen of a terminal it is the command.
        screen = "\n".join(line.rstrip() for line in help_.splitlines())
        flat = " ".join(screen.replace("\\\n", " ").split())
        assert [line for line in lines if " ".join(line.split()) not in flat] == []
        summary = with_examples(function).split("\n\n")[0]
        assert len(summary) <= 200, function.__name__


@pytest.mark.slow
def test_each_example_parses() -> None:
    outer = typer.Context(GROUP)
    for name, line in EXAMPLES:
        program, *arguments = shlex.split(re.sub(r" > \S+$", "", line))
        assert (program, arguments[0]) == ("sqlrl", name), line
        assert shlex.split(pasteable(line).replace("\\\n", " ")) == shlex.split(line)
        _, command, rest = GROUP.resolve_command(outer, arguments)
        with command.make_context(name, rest, parent=outer) as context:
            assert context.params, line


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `sqlrl demo --directory` leaves, under the names that the examples have."""
    folder = tmp_path_factory.mktemp("demo")
    from typer.testing import CliRunner

    (line,) = command_lines(COMMANDS["demo"].__doc__)
    words = shlex.split(line)[1:]
    result = CliRunner().invoke(app, [*words[:-1], str(folder / words[-1]), "--citations", "40"])
    assert result.exit_code == 0, result.output
    made = folder / words[-1]
    for name in ("lc0.mln", "chain.mln"):
        shutil.copy(made / "model.mln", made / name)
    made_table = "drop table predictions; create table test as select name as bib from sqlrl.example order by example desc limit 8"
    assert CliRunner().invoke(app, ["sql", str(made / "cite.duckdb"), made_table]).exit_code == 0
    return made


RUNS = [
    line
    for name, line in EXAMPLES
    if name in {"ground", "explain", "overlap", "sql", "migrate", "version", "doctor"}
    or line.startswith(
        ("sqlrl load cite.duckdb Token", "sqlrl learn cite.duckdb --model lc0.mln --query InField --out")
    )
    or (
        name in {"infer", "evaluate", "export"}
        and line.startswith(f"sqlrl {name} cite.duckdb --model learned.mln")
        and "answer" not in line
    )
]


def test_the_examples_that_are_run_are_those_of_many_commands() -> None:
    assert len({line.split()[1] for line in RUNS}) >= 12


@pytest.mark.slow
@pytest.mark.parametrize("line", RUNS)
def test_examples_work_on_the_data_of_the_demo(
    run: Run, demo: Path, line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(demo, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    done = run(*shlex.split(line)[1:])
    assert done.code == 0, done.err
    for option in ("--out", "--into"):
        if option == "--out" and option in line:
            assert (tmp_path / shlex.split(line)[shlex.split(line).index(option) + 1]).stat().st_size
