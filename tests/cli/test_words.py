"""Messages in the words of the command line and of scripts: each parameter that one mentions is an option, and no call of Python is left."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
import typer

import sqlrl
from sqlrl.cli.app import app
from sqlrl.cli.words import IN_COMMANDS, OPTIONS, PHRASES, VALUES, in_options, words
from sqlrl.errors import DoubleQuoted, Mention, Message, Parameter, Phrase, Written
from sqlrl.script.settings import OUTSIDE, in_sql
from tests.cli.conftest import Project, Run

PACKAGE = Path(sqlrl.__file__).parent


# ---- words -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("message", "command", "shown"),
    [
        (f"or list them in {Parameter('drop')}.", "", "or list them in --drop."),
        (f"fewer {Parameter('examples')}, or raise {Parameter('limit')}", "", "fewer --examples, or raise --limit"),
        (f"{Parameter('read_only', True, 'connect(path, {})')}.", "", "--read-only."),
        (f"{Parameter('strength', -1.0)} is not", "learn", "--strength -1.0 is not"),
        (f"{Parameter('view', 'a b')} is no name", "export", "--view 'a b' is no name"),
        (f"{Parameter('columns')} of A", "export", "--column of A"),
        (f"{Parameter('columns')} of A", "load", "--columns of A"),
        (f"{Parameter('by')} takes", "count", "--by takes"),
        (f"or {Parameter('by')} another", "learn", "or --holdout-by another"),
        (f"name it by {Parameter('target')}", "export", "name it by --target"),
        (f"as {Parameter('target', 'Cancer')}", "learn", "as --query Cancer"),
        (f"load it with {Parameter('target', True)}", "learn", "load it with --target"),
        (f"pass {Parameter('empty', DoubleQuoted('allow'))}", "load", "pass --empty allow"),
        (f"{Parameter('empty')} takes them as false", "infer", "--closed takes them as false"),
        (f"rename them with {Parameter('constants', Written('{...}'))}", "load", "rename them with --rename"),
        (f"opened with {Parameter('trusted', False)}", "infer", "opened with --untrusted"),
        (
            f"{Phrase('use more folds')}, or {Phrase('leave folds out')}",
            "",
            "use a larger --folds, or leave --folds out",
        ),
        (f"with {Phrase('db.scope({!r}, ...)', ('P',))}, or", "", "with --scope where P is loaded, or"),
        ("what stands in a text, limit=, is no option", "", "what stands in a text, limit=, is no option"),
    ],
)
def test_remedies_name_options(message: str, command: str, shown: str) -> None:
    import_module("sqlrl.cli.learners")  # which says what the parameters of learners are
    assert in_options(message, command) == shown


@pytest.mark.parametrize(
    ("message", "python", "sql"),
    [
        (f"{Parameter('wide', 'a')}: choose", "wide='a': choose", "wide = 'a': choose"),
        (f"{Parameter('by')} takes names", "by= takes names", "by takes names"),
        (f"with {Parameter('given', True)}", "with given=True", "with given = true"),
        (f"raise {Parameter('atom_limit', 7)}", "raise atom_limit=7", "raise atom_limit=7"),
        (f"{Parameter('m', None)}", "m=None", "m = NULL"),
        (f"{Phrase('db.scope({!r}, ...)', ('P',))}", "db.scope('P', ...)", "ALTER PREDICATE P SET SCOPE (query)"),
    ],
)
def test_scripts_have_words_of_their_own(message: str, python: str, sql: str) -> None:
    assert Message(message) == python
    assert Message(message).worded(in_sql) == sql


# ---- what the sources mention --------------------------------------------------------------------------


@cache
def commands() -> dict[str, set[str]]:
    """Return the options of each command."""
    whole: Any = typer.main.get_command(app)
    alone = typer.Typer()
    alone.command()(import_module("sqlrl.cli.learn").learn)
    found = {**whole.commands, "learn": typer.main.get_command(alone)}
    return {name: {o for p in each.params for o in (*p.opts, *p.secondary_opts)} for name, each in found.items()}


@cache
def mentioned() -> tuple[tuple[str, Mention], ...]:
    """Return each parameter and phrase that a message of the package mentions by a text, with where that is; all modules are read once."""
    return tuple(_mentioned())


def _mentioned() -> Iterator[tuple[str, Mention]]:
    for path in sorted(PACKAGE.rglob("*.py")):
        if path.name in ("errors.py", "words.py") or path.parts[-2:] == ("script", "settings.py"):
            continue
        text = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text)):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name) or not node.args:
                continue
            first = node.args[0]
            if not isinstance(first, ast.Constant) or not isinstance(first.value, str):
                continue
            where = f"{path.relative_to(PACKAGE)}:{node.lineno}"
            if node.func.id == "Phrase":
                yield where, Phrase(first.value)
            elif node.func.id == "Parameter" and "from sqlrl.errors import" in text:
                given = node.args[1] if len(node.args) > 1 else ast.Constant(...)
                yield where, Parameter(first.value, given.value if isinstance(given, ast.Constant) else Written("..."))


PYTHON_ALONE = {
    *("among", "closure", "confidence", "dictionary", "options", "predicates", "shown", "symmetric", "targets", "task", "temp_directory"),
    *("threads", "semantics", "largest_range", "flips", "tries", "tabu", "excursion", "keep_steps", "distrust", "callback", "prepared"),
}  # fmt: skip
"""Parameters that the command line does not have."""


def test_each_parameter_in_a_message_is_an_option_of_the_command_line() -> None:
    learners = import_module("sqlrl.cli.learners")
    every = set().union(*commands().values())
    lacking = {}
    inverted = {of.name for of in VALUES if of.value is False}
    for where, mention in mentioned():
        shown = words(mention)
        if shown is None and where.startswith(("ground/paths", "structure/soft", "learn/soft")):
            with patch.dict(OPTIONS):
                learners.name_parameters(learners.SOFT)
                shown = words(mention)
        if isinstance(mention, Parameter) and mention.name not in PYTHON_ALONE | inverted:
            option = (shown or "nothing").split(" ")[0]
            if option not in every:
                lacking[where] = (str(mention), shown)
        if isinstance(mention, Phrase) and shown is None:
            lacking[where] = (str(mention), shown)
        if shown is not None:
            assert set(re.findall(r"(?<![\w-])--[A-Za-z][a-z0-9-]*", shown)) <= every, (where, shown)
    assert not lacking, lacking


def test_options_and_phrases_exist() -> None:
    import_module("sqlrl.cli.learners")
    every = set().union(*commands().values())
    shown = [*OPTIONS.values(), *VALUES.values(), *PHRASES.values()]
    assert {option for text in shown for option in re.findall(r"(?<![\w-])--[A-Za-z][a-z0-9-]*", text)} <= every
    assert all(option in commands()[command] for (command, _), option in IN_COMMANDS.items())
    called = {name for text in PHRASES.values() for name in re.findall(r"`sqlrl (\w+)", text)}
    assert called <= commands().keys()
    used = {mention.text for _, mention in mentioned() if isinstance(mention, Phrase)}
    built = {
        text
        for text in PHRASES
        if text.startswith(("db.load({!r}, [],", "sqlrl.Evidence,", "Spark(", "open the database with sqlrl.connect("))
    }
    assert PHRASES.keys() == used | built


def test_scripts_word_each_parameter_that_a_statement_has() -> None:
    for where, mention in mentioned():
        if isinstance(mention, Parameter) and mention.name not in OUTSIDE:
            shown = in_sql(mention)
            assert shown is not None, where
            assert re.fullmatch(rf"{mention.name}( = \S.*)?", shown), where
    assert not set(OUTSIDE) & {name for names in _script_options() for name in names}


def _script_options() -> Iterator[tuple[str, ...]]:
    from sqlrl.script.functions import FUNCTIONS
    from sqlrl.script.runner import _LOADING

    yield tuple(_LOADING)
    yield from (function.options for function in FUNCTIONS.values())


# ---- failing commands ----------------------------------------------------------------------------------

FILES = {
    "pairs.csv": "a,b\nx,1\ny,2\n",
    "twice.csv": "a,b\nx,1\nx,1\n",
    "null.csv": "a,b\nx,1\n,2\n",
    "nothing.csv": "a,b\n",
    "value.csv": "a,v\nx,0.5\n",
    "soft.psl": "1.0: !Liked(D) ^2\n",
    "closed.mln": "Token(token, position, bib)\n1 Token(t, p, b)\n",
    "many.mln": "Token(token, position, bib)\nInField(bib, field, position)\n1 Token(t, p, b) ^ InField(b, f, p)\n",
    "bob.mln": "Token(token, position, bib)\nInField(bib, field, position)\n1 Token(Nowhere, p, b) => InField(b, FTitle, p)\n",
    "pairs.mln": "Pair(a, b)\nLabel(a)\n1 Pair(x, y) => Label(x)\n",
    "lacks.mln": "Absent(bib)\nInField(bib, field, position)\n1 Absent(b) => InField(b, f, p)\n",
    "chained.mln": "Next(position, position)\nInField(bib, field, position)\n1 Next(p, q) ^ InField(b, f, p) => InField(b, f, q)\n",
    "bias.pl": ":- modeh(1, a(+x)).\n:- modeh(1, b(+x)).\n:- modeb(1, c(+x)).\n",
}

DB = "cite.duckdb"

FAILING: list[tuple[str, str]] = [
    ("load new.duckdb P pairs.csv --types a,b,c", "--columns"),
    ("load new.duckdb P pairs.csv --bins a=2", "--types"),
    ("load new.duckdb P twice.csv --types a,b", "--duplicates drop"),
    ("load new.duckdb P null.csv --types a,b", "--nulls drop"),
    ("load new.duckdb P nothing.csv --types a,b", "--empty allow"),
    ("load new.duckdb P pairs.csv --types a,b --columns a,z", "z"),
    ("load new.duckdb P pairs.csv --types a,b --truth b --probability b", "--truth and --probability"),
    ("load new.duckdb P pairs.csv --types a,b --example 7", "--example 7"),
    ("load new.duckdb P pairs", "pairs"),
    ("load new.duckdb P .", "`sqlrl load --folder`"),
    ("load new.duckdb P A(x)", "--evidence"),
    (f"infer {DB} --model soft.psl", "`sqlrl psl`"),
    (f"infer {DB} --model closed.mln", "--query NAME"),
    (f"infer {DB} --model many.mln --limit 1 --query InField", "--limit"),
    (f"infer {DB} --model many.mln --examples nobody", "--examples"),
    (f"infer {DB} --model many.mln --atom-limit 1", "--atom-limit"),
    (f"infer {DB} --model bob.mln --missing error", "--rename"),
    (f"infer {DB} --model lacks.mln", "--closed takes them as false, --open as open"),
    (f"learn {DB} --model lacks.mln", "--drop NAME"),
    (f"learn {DB} --model many.mln --learner likelihood --folds 3", "--folds"),
    (f"count {DB} --model many.mln --by zebra", "zebra"),
    (f"export {DB} --model chained.mln --format sql --out v.sql", "--partial"),
    (f"audit {DB} Token", "--target"),
    (f"audit {DB} InField --folds 1", "--folds 1"),
    (f"define {DB} nowhere.pl", "nowhere.pl"),
]

PYTHON = re.compile(
    r"\b(?:db|sqlrl|model|split)\.[a-z_]+|\b[a-z_]+\((?:path|model|predicate)|(?<![\w-])[a-z_]+=(?=[\s'\"\[{,.;:)]|True|False)"
)
"""A call, or a parameter of Python."""


@pytest.mark.parametrize(("command", "said"), FAILING)
def test_failing_commands_say_nothing_of_python(
    run: Run, project: Project, monkeypatch: pytest.MonkeyPatch, command: str, said: str
) -> None:
    monkeypatch.chdir(project.folder)
    for name, text in FILES.items():
        (project / name).write_text(text, encoding="utf-8")
    done = run(*command.split())
    assert done.code
    assert said in done.err
    assert not PYTHON.findall(done.err)
