"""Writes the pages of docs/reference that say what the program itself says.

    python scripts/reference.py                # writes all pages
    python scripts/reference.py --check        # writes nothing; exit code 1, and a name for each page that is not up to date

The schema comes from the comments of a fresh database, the command line from the objects that parse it, the parameters of learners from
their declarations, errors and the API from docstrings. The pages are kept beside the sources, and a test holds them equal to what is
made here: links to them hold without a step before, whoever reads the repository has them, and a changed column, option or default value is
seen as such in a review.
"""

from __future__ import annotations

import argparse
import inspect
import re
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import typer
from reference_api import parameters_told, section
from reference_text import cell, code, prose, table

import sqlrl
from sqlrl import baselines, errors
from sqlrl.cli.app import app
from sqlrl.cli.learners import OPTIONS as LEARNER_OPTIONS
from sqlrl.database.advanced import Advanced
from sqlrl.database.models_and_runs import Models, Runs
from sqlrl.deprecated import ARGUMENTS, COMMAND_OPTIONS, MODULES, NAMES, PARAMETERS, SQL_FUNCTIONS, SQL_OPTIONS, shown
from sqlrl.errors import Message
from sqlrl.learn import OnlineEstimator
from sqlrl.learn.batch.estimator import BatchEstimator
from sqlrl.learn.fitted import Configured
from sqlrl.learn.parameters import REQUIRED, Above, AtLeast, Declaration, Whole, declarations, value_text
from sqlrl.learn.soft.estimator import SoftEstimator
from sqlrl.script.functions import FUNCTIONS
from sqlrl.script.learning import learners

FOLDER = Path(__file__).parent.parent / "docs" / "reference"
NOTE = "<!-- Written by scripts/reference.py: change what it reads, and run it again. -->"


# ---- the schema ----------------------------------------------------------------------------------------

_TABLES = """
    SELECT table_name, comment, false FROM duckdb_tables() WHERE schema_name = 'sqlrl' AND table_name NOT LIKE 'scratch_%'
    UNION ALL SELECT view_name, comment, true FROM duckdb_views() WHERE schema_name = 'sqlrl'
    ORDER BY ALL
"""
_COLUMNS = """
    SELECT table_name, column_name, data_type, comment FROM duckdb_columns() WHERE schema_name = 'sqlrl' ORDER BY table_name, column_index
"""

DATA_TABLES = {
    "atom_Smokes": "atom_P",
    "dictionary_person": "dictionary_t",
    "fact_Friends": "fact_P",
    "given_Old": "given_P",
    "label_Smokes": "label_P",
    "named_Friends": "named_P",
    "soft_Cancer": "soft_P",
}
"""Tables of a sample of data that stand for those of any predicate P and any type t."""


def schema() -> list[str]:
    """Return the page about tables and views."""
    with sqlrl.connect() as db:
        fresh = {name: (comment, view) for name, comment, view in db.sql(_TABLES).fetchall()}
        columns = _columns(db)
        _load_sample(db)
        loaded = {name: comment for name, comment, _ in db.sql(_TABLES).fetchall() if name in DATA_TABLES}
        columns |= _columns(db)
    lines = [
        "# Tables and views",
        "",
        NOTE,
        "",
        "Everything that sqlrl keeps is in the schema `sqlrl` of your database. Read it with any DuckDB client, with `db.sql(...)`, or with",
        "`sqlrl sql DATABASE QUERY`. The texts are the comments in the database: `from duckdb_columns()` shows them there.",
        "",
        "The names of these tables, views and columns are a part of the public interface. Read them; sqlrl alone writes them.",
        "",
    ]
    for title, views in (("Views", True), ("Tables", False)):
        lines += [f"## {title}", ""]
        for name, (comment, view) in fresh.items():
            if view is views:
                lines += _table_part(name, comment, columns[name])
    lines += [
        "## Tables of the data",
        "",
        "Each type `t` and each predicate `P` that is loaded has tables of its own. These are of the predicates `Friends(person, person)` (facts),",
        "`Smokes(person)` (to be predicted, with labels), `Old(person)` (given atoms) and `Cancer(person)` (soft evidence).",
        "",
    ]
    for name, general in DATA_TABLES.items():
        lines += _table_part(general, loaded[name], columns[name], of=name)
    return lines


def _columns(db: sqlrl.Database) -> dict[str, list[tuple[str, str, str]]]:
    """Return the columns of all tables: name, type and comment."""
    found: dict[str, list[tuple[str, str, str]]] = {}
    for name, *column in db.sql(_COLUMNS).fetchall():
        found.setdefault(name, []).append(tuple(column))
    return found


def _load_sample(db: sqlrl.Database) -> None:
    """Load facts in every role."""
    db.load("Friends", [("Anna", "Bob"), ("Bob", "Chris")], types=["person", "person"])
    db.load("Smokes", [("Anna",)], types=["person"], target=True)
    db.load("Old", [("Anna",)], types=["person"], given=True)
    db.load("Cancer", [("Anna", 0.5)], types=["person"], probability=1)
    db.predict(sqlrl.parse_mln("Friends(person, person)\nSmokes(person)\n1 Friends(x, y) ^ Smokes(x) => Smokes(y)"))


def _table_part(name: str, comment: str, columns: Iterable[tuple[str, str, str]], of: str = "") -> list[str]:
    """Return the part of the page about a table."""
    shown = [(code(column), kind.lower(), cell(told)) for column, kind, told in columns]
    said = prose(comment) + (f" Here of `{of}`." if of else "")
    return [f"### {prose(name)}", "", said, "", *table(("column", "type", "what it is"), shown)]


# ---- the command line ----------------------------------------------------------------------------------

EXIT_CODES = (
    ("0", "It worked."),
    (
        "1",
        "What you gave cannot be used, or the work failed; the last lines on standard error say why, and how to mend it.",
    ),
    (
        "2",
        "The command line itself is wrong: an option that there is not, a value that is none of those to choose from.",
    ),
    ("130", "Ctrl-C. What was finished before is kept."),
    ("141", "The reader of standard output closed it, as `head` does."),
)


def commands() -> dict[str, Any]:
    """Return the sub-commands by name, `learn` with the options of every learner."""
    group: Any = typer.main.get_command(app)
    context = group.make_context("sqlrl", ["version"])
    found = {name: group.resolve_command(context, [name])[1] for name in group.commands}
    # Helps are made for terminals; of `learn` the short one has the examples.
    for name, each in found.items():
        shown = group.resolve_command(context, [name, "--help"])[1] if name == "learn" else each
        each.help = inspect.cleandoc(shown.callback.__doc__)
    return found


def command_line() -> list[str]:
    """Return the page about the command line."""
    found = commands()
    lines = [
        "# Command line",
        "",
        NOTE,
        "",
        "Results go to standard output, messages and progress to standard error. `sqlrl COMMAND --help` shows what stands here.",
        "",
        *table(
            ("command", "what it does"),
            ((f"[`{name}`](#sqlrl-{name})", cell(_first_sentence(each.help))) for name, each in found.items()),
        ),
        "Exit codes:",
        "",
        *table(("code", "when"), ((number, cell(when)) for number, when in EXIT_CODES)),
    ]
    for name, each in found.items():
        lines += _command_part(name, each)
    return lines


def _first_sentence(text: str) -> str:
    """Return the first sentence of a command's help."""
    first = _paragraphs(text)[0][0]
    return re.split(r"(?<=[^.]\.) |; prints ", first)[0].rstrip(".") + "."


def _paragraphs(text: str) -> tuple[list[str], list[str]]:
    """Return the prose of a command's help, and its examples."""
    paragraphs = [" ".join(part.split()) for part in re.split(r"\n\s*\n", text.strip())]
    return [p for p in paragraphs if not _is_example(p)], [p for p in paragraphs if _is_example(p)]


def _is_example(paragraph: str) -> bool:
    """Return whether a paragraph of a help is a command."""
    return "sqlrl " in paragraph and not paragraph.endswith(".") and paragraph.split(maxsplit=1)[0].islower()


def _command_part(name: str, command: Any) -> list[str]:
    """Return the part of the page about a sub-command."""
    said, examples = _paragraphs(command.help)
    arguments = [each for each in command.params if each.param_type_name == "argument"]
    options = [each for each in command.params if each.param_type_name == "option" and not each.hidden]
    usage = " ".join([f"sqlrl {name} [OPTIONS]", *(f"[{_metavar(each)}]" for each in arguments)])
    lines = [f"## sqlrl {name}", "", "```text", usage, "```", ""]
    for paragraph in said:
        lines += [prose(paragraph), ""]
    if examples:
        lines += ["```sh", *examples, "```", ""]
    if arguments:
        lines += table(
            ("argument", "what it is"), ((code(_metavar(each)), cell(each.help or "")) for each in arguments)
        )
    panels: dict[str, list[Any]] = {}
    for each in options:
        panels.setdefault(getattr(each, "rich_help_panel", None) or "Options", []).append(each)
    for panel in sorted(panels, key=lambda panel: panel != "Options"):
        rows = [(code(_option(each)), cell(_default(each)), cell(_help(each))) for each in panels[panel]]
        lines += [f"**{panel}**", "", *table(("option", "default", "what it does"), rows)]
    return lines


def _choices(parameter: Any) -> tuple[str, ...]:
    """Return the words to choose from, where releases of typer keep them."""
    kind = getattr(parameter, "type", None)
    found = getattr(kind, "choices", None) if kind is not None else parameter.type_descriptor.choices
    return tuple(str(getattr(each, "value", each)) for each in found or ())


def _metavar(parameter: Any) -> str:
    """Return what stands for a value: its word, the words to choose from, or nothing of a flag."""
    return parameter.metavar if parameter.metavar is not None else "|".join(_choices(parameter)) or "TEXT"


def _option(option: Any) -> str:
    """Return how an option is written."""
    names = ", ".join(sorted(option.opts, key=len, reverse=True))
    names += "".join(f" / {each}" for each in option.secondary_opts)
    flag = option.is_flag or option.metavar == ""
    return names if flag else f"{names} {_metavar(option)}"


def _default(option: Any) -> str:
    """Return the default value of an option; "" where there is none, or its help says it."""
    if isinstance(option.show_default, str):
        return option.show_default
    value = getattr(option.default, "value", option.default)
    if not option.show_default or value is None or isinstance(value, bool):
        return ""
    return f"`{value}`"


def _help(option: Any) -> str:
    """Return the help of an option, with the variable of the environment that stands for it."""
    return (option.help or "") + (f" The variable `{option.envvar}` gives it, too." if option.envvar else "")


# ---- parameters of learners ----------------------------------------------------------------------------

FAMILIES = (
    ("Online learners", ("adagrad", "cda", "subgradient", "mira", "perceptron", "cd", "constrained")),
    ("Batch learners", ("likelihood", "pscg", "voted-perceptron", "max-margin", "pseudo-likelihood")),
    ("Learners of clauses", ("osl", "ilp", "resolwe", "msl", "transfer")),
    (
        "Learners of soft logic",
        ("soft-pseudo-likelihood", "soft-piecewise-likelihood", "soft-map-likelihood", "soft-structure"),
    ),
)
"""Learners by their words, in the order of the page."""


def parameters() -> list[str]:
    """Return the page about the parameters of learners."""
    lines = [
        "# Parameters of learners",
        "",
        NOTE,
        "",
        "Each parameter is declared once, and has one name and one text everywhere. `sqlrl.CDA(strength=0.01)` in Python,",
        "`--learner cda --strength 0.01` on the command line and `OPTIONS (learner = 'cda', strength = 0.01)` in a SQL script are the same learner.",
        "Where a learner is the value of a parameter, its text is its word with its own parameters: `--weights 'cd(learning_rate=0.01)'`.",
        "",
        "A range with a round bracket leaves its end out. `none` is `None` in Python. An option without a value says the opposite of the default.",
        "",
    ]
    known = learners()
    for title, words in FAMILIES:
        lines += [f"## {title}", ""]
        for word in words:
            lines += _learner_part(word, known[word])
    return lines


def _learner_part(word: str, kind: type[Configured]) -> list[str]:
    """Return the part of the page about a learner."""
    summary = (inspect.getdoc(kind) or "").partition("\n\n")[0]
    told = parameters_told(kind)
    rows = []
    for each in declarations(kind).values():
        option = each.option
        said = option.sentence if option is not None else told.get(each.name, "")
        rows.append(
            (
                code(each.name),
                cell(_range(each)),
                cell(_default_text(each)),
                code(_switch(each)) if option else "",
                cell(said),
            )
        )
    anchors = f"[API](api/learners.md#{kind.__name__.lower()})"
    lines = [f"### {word}", "", f"`{_imported(kind)}`: {prose(' '.join(summary.split()))} {anchors}", ""]
    return [*lines, *table(("parameter", "values", "default", "command line", "what it is"), rows), *_forms(word, kind)]


def _switch(declared: Declaration) -> str:
    """Return the option of the command line that a parameter is."""
    assert declared.option is not None
    return declared.option.name or "--" + declared.name.replace("_", "-")


def _range(declared: Declaration) -> str:
    """Return the values that a parameter may have."""
    bounds = declared.range
    if declared.choices:
        shown = ", ".join(f"`{each}`" for each in declared.choices)
    elif isinstance(bounds, Whole):
        shown = f"whole, {bounds.low} to {bounds.high}" if bounds.high else f"whole, from {bounds.low}"
    elif isinstance(bounds, Above):
        shown = f"({bounds.low:g}, inf)"
    elif isinstance(bounds, AtLeast):
        shown = f"[{bounds.low:g}, inf)"
    elif declared.kind is bool:
        shown = "`true`, `false`"
    elif declared.estimator:
        shown = "a learner"
    else:
        shown = {int: "a whole number", float: "a number", str: "a text"}.get(
            declared.kind, "a file, or a value: see API"
        )
    return shown + (", or several" if declared.several else "") + (", `none`" if declared.optional else "")


def _default_text(declared: Declaration) -> str:
    """Return a default value as text."""
    if declared.default is REQUIRED:
        return "must be given"
    shown = f"`{value_text(declared.default)}`"
    described = declared.option.default if declared.option is not None else None
    return f"{shown}: {described}" if described and declared.default is None else shown


_SAMPLES: Mapping[str, tuple[str, Any]] = {
    "constrained": ("mode", "l+i"),
    "ilp": ("clause_length", 3),
    "transfer": ("mapping", "university_to_imdb.map"),
    "osl": ("modes", "modes.txt"),
    "resolwe": ("templates", "friends.grammar"),
}
"""A parameter with a value that is given in an example; of others it is the first number that can be."""


def _forms(word: str, kind: type[Configured]) -> list[str]:
    """Return one parameter in the three forms that it has."""
    declared = declarations(kind)
    if word in _SAMPLES:
        name, value = _SAMPLES[word]
    else:
        numbers = [
            each
            for each in declared.values()
            if each.kind in (int, float) and each.option and each.default not in (REQUIRED, None)
        ]
        name, value = numbers[0].name, numbers[0].default
    given = {each.name: each for each in declared.values() if each.default is REQUIRED and each.name != name}
    needed = "".join(f"{each}={_needed(given[each])}, " for each in given)
    quoted = f"'{value}'" if isinstance(value, str) else value_text(value)
    lines = ["```text", f"Python        {_imported(kind)}({needed}{name}={value!r})"]
    if declared[name].option is not None and word != "constrained":
        lines.append(
            f"command line  sqlrl learn ... --learner {word} {_switch(declared[name]).split('/')[0]} {shlex.quote(str(value))}"
        )
    if not given:
        lines.append(f"SQL           OPTIONS (learner = '{word}', {name} = {quoted})")
    return [*lines, "```", ""]


def _needed(declared: Declaration) -> str:
    """Return a value of a parameter that must be given, in Python."""
    return "sqlrl.CDA()" if declared.estimator or declared.name == "learner" else "..."


# ---- functions of scripts ------------------------------------------------------------------------------

ANSWERS: Mapping[str, tuple[str, str]] = {
    "PREDICT": (
        "The most probable world, an atom a row; of a soft model truth values.",
        "`example` if there is one, the arguments, `truth` and `margin`, or `value`",
    ),
    "PROBABILITIES": (
        "The probability of each atom.",
        "`example` if there is one, the arguments, `probability`, `error`, `rhat`, `ess` and `method`",
    ),
    "EVALUATE": (
        "Scores of a prediction against the labels.",
        "a row for each predicate, or with `by` for each example",
    ),
    "WEIGHTS": (
        (
            "The rules of the model. As in `sqlrl.clause`, `clause` is the number of a rule and `text` the rule; in the views for people, such as "
            "`sqlrl.strongest_clauses`, `clause` is the rule itself, and `id` its number."
        ),
        "",
    ),
    "TRAINING_INFO": ("How learning went on, a step or an iteration a row.", ""),
    "EXPLAIN": (
        "The ground clauses for and against atoms.",
        "`atom`, `truth`, `margin`, `side`, `clause`, `ground_clause`, `weight`, `times` and `contribution`; of a soft model hinges in their place",
    ),
    "COUNT": (
        "Exact counts of the groundings of each rule.",
        "the rule, `groundings`, `n`, `applies`, and with `by` its variables and `violated`",
    ),
    "DIAGNOSE": (
        "How often each rule applies and is violated, the worst first; with `kind => 'paper'` which rules are too general or too specific, by the bins of their groundings.",
        "those of the view `sqlrl.rule_quality`, but for `run`; with `kind => 'paper'` those of the table `sqlrl.diagnosis`, but for `run`",
    ),
}
"""What each function returns, and its columns in words where they depend on the model."""


def function_page() -> list[str]:
    """Return the page about the functions of scripts."""
    lines = [
        "# Functions of scripts",
        "",
        NOTE,
        "",
        "`ML.NAME(MODEL model, (query of examples), 'text', option => value, ...)` is a table in any `FROM` or `JOIN` of a script. What is not named is left out.",
        "",
    ]
    for name, function in FUNCTIONS.items():
        said, columns = ANSWERS[name]
        arguments = ["MODEL model", *(["(query)"] if function.examples else []), *(["'text'"] if function.text else [])]
        lines += [
            f"## ML.{name}",
            "",
            "```text",
            f"ML.{name}({', '.join(arguments)}{', option => value, ...' if function.options else ''})",
            "```",
            "",
            prose(said),
            "",
        ]
        if function.examples:
            lines.append("- A query in brackets names the examples; all by default.")
        if function.text:
            lines.append(f"- In quotes: {prose(function.text)}.")
        if function.options:
            lines.append(f"- Options: {', '.join(f'`{each}`' for each in dict.fromkeys(function.options))}.")
        lines += [f"- Columns: {columns or _fixed_columns(function)}.", ""]
    return lines


def _fixed_columns(function: Any) -> str:
    """Return the columns of a function that has the same for all models."""
    return ", ".join(f"`{each.name}`" for each in function.columns(None))


# ---- errors and warnings -------------------------------------------------------------------------------

REMEDIES: Mapping[str, str] = {
    "SqlrlError": "Catch it to catch all errors of sqlrl.",
    "InputError": "Read the end of the message: it says what to give instead. It is a `ValueError` as well.",
    "ParseError": "Look at the caret. `line`, `column` and `path` say where it is; the [grammar](language.md) says what may stand there.",
    "ScriptError": "Mend the statement, and run the script again with `--resume`: what has finished is not done again.",
    "ModelError": "Declare the predicate, or give it the arguments, types and weights that the message names.",
    "UnsupportedError": "Write the rule in another way; the message names one where there is one.",
    "LoadError": "Mend the rows that the message names, or choose `duplicates=`, `nulls=` or `empty=`. Nothing was changed.",
    "CatalogError": "Load what is missing, or say what a predicate without data is: `drop=`, `empty=` or `hidden=`.",
    "MigrationError": "Run `sqlrl migrate DATABASE` for an older file; for a newer one, upgrade sqlrl.",
    "UntrustedError": "Look at what the message names. Open the file without `trusted=False` only if you know who made it.",
    "BusyError": "Close the other process or wait for the other thread; to read only, open with `read_only=True`.",
    "ConflictError": "Make the call again.",
    "EngineError": "Read the database's own message; `step` and `sql` say what was being done.",
    "OverflowEngineError": "Give the column a wider type; the statement in the message says which one.",
    "ServerError": "Start the server again or connect anew, and make the call again.",
    "ServerTimeoutError": "Look whether the server is overloaded or stopped, and call again, or give it longer: `Spark(address, timeout=...)`.",
    "MemoryUsedUpError": "Pass fewer `examples=`, give predicted predicates a scope, or lower `memory_limit` of the database.",
    "MemoryLimitError": "Do what the message says for the clause that it names, or raise `memory_limit`.",
    "GroundingLimitError": "Narrow the clause that the message names, or give a larger `limit=`. `db.count` shows sizes before grounding.",
    "MissingAtomError": "List the atom that the message names in the scope of its predicate, or say what it is: `missing='open'` or `missing='false'`.",
    "TimeLimitError": "Change what the message names, such as lower `nodes`, or give a larger `time_limit=`. What the first minute has found is kept.",
    "CountOverflowError": "Split the clause that the message names, or restrict its variables.",
    "InfeasibleError": "One of the ground clauses that the message shows is wrong, or the evidence is: soften it with a weight, or mend the data.",
    "NotFittedError": "Call `fit` first.",
    "UnknownNameError": "Call what the message names.",
    "UnknownParameterError": "Use the name that the message gives; [Parameters of learners](parameters.md) has all.",
    "NumericError": "Look for weights that are not finite; lower a learning rate or raise a penalty if a learner made them.",
    "UnboundedWeightError": "Give a penalty (a prior) above 0, or make the rules that it names hard.",
    "SqlrlWarning": "Filter it to filter all warnings of sqlrl: `warnings.simplefilter('ignore', sqlrl.errors.SqlrlWarning)`.",
    "InfeasibleTruthWarning": "Mend the labels, soften the hard clauses, or choose `on_infeasible_truth=`.",
    "UnseenConstantWarning": "Compare the name with those that the message gives; `strict=True` makes it an error.",
    "LoadWarning": "Look at what was loaded: `from sqlrl.named_P`.",
    "RepeatedRuleWarning": "Remove the copy; in a Markov logic network keep it only if both weights are meant to add up.",
    "BiasWarning": "Correct the setting or the mode that the message names.",
    "ConvergenceWarning": "Allow more iterations, or a coarser precision; results so far are kept.",
    "StartWarning": "Start from a model with the same clauses, or from none.",
    "NothingFoundWarning": "Loosen what the learner accepts; the message says which parameter refused most.",
    "LittleFoundWarning": "Allow longer clauses or more modes, or accept that the data have no more rules of this kind.",
    "CheckpointWarning": "Open a database file in place of memory, so that the run can be resumed.",
    "PassedOverWarning": "Raise the limit, or narrow the search to what can be counted.",
    "ValidationWarning": "Give more labels or fewer folds, or set the parameter yourself.",
    "CalibrationWarning": "Learn the weights with `Likelihood`, or use the most probable world.",
    "ScopeWarning": "Widen the scope, or leave the labels out on purpose.",
    "LabelWarning": "Load labels of both kinds, or a scope that says which tuples are known.",
    "GroundingWarning": "Check the names of constants and the types of the predicates that the message names.",
    "SourceWarning": "Bring the source back and call `refresh()`, or go on with what was loaded.",
    "UnkeptCodeWarning": "Set `NUMBA_CACHE_DIR` to a folder that can be written.",
}
"""What to do about each."""


def error_classes() -> dict[str, type]:
    """Return the classes of errors and warnings, in the order of their module."""
    return {
        name: found
        for name, found in vars(errors).items()
        if isinstance(found, type) and issubclass(found, errors.SqlrlError | errors.SqlrlWarning)
    }


def error_page() -> list[str]:
    """Return the page about errors and warnings."""
    lines = [
        "# Errors and warnings",
        "",
        NOTE,
        "",
        "All of them are in `sqlrl.errors`. Each message says what is wrong, which value, where it stands, and how to mend it. The command line",
        "prints the message and ends with code 1.",
        "",
    ]
    for title, root in (("Errors", errors.SqlrlError), ("Warnings", errors.SqlrlWarning)):
        lines += [f"## {title}", ""]
        for name, kind in error_classes().items():
            if issubclass(kind, root):
                lines += _error_part(name, kind)
    return lines


def _error_part(name: str, kind: type) -> list[str]:
    """Return the part of the page about an error or a warning."""
    bases = ", ".join(f"`{base.__name__}`" for base in kind.__bases__ if base.__name__[0] != "_")
    told = inspect.getdoc(kind) or ""
    first, _, rest = told.partition("\n\n")
    attributes = re.findall(
        r"^(\w+(?:, \w+)*) : (.*)\n((?:    .*\n?)+)", rest.partition("\nExamples\n")[0] + "\n", re.MULTILINE
    )
    lines = [f"### {name}", "", prose(" ".join(first.split())), ""]
    lines += [f"- Base: {bases}", f"- What to do: {REMEDIES[name]}"]
    lines += [f"- `{names}` ({prose(sort)}): {prose(' '.join(said.split()))}" for names, sort, said in attributes]
    return [*lines, ""]


# ---- names of before -----------------------------------------------------------------------------------


def renamed_page() -> list[str]:
    """Return the page about names that are deprecated."""
    lines = [
        "# New names",
        "",
        NOTE,
        "",
        "Old names work in this release, with a `FutureWarning` that says what to write. The next release does not have them.",
        "",
    ]
    for owner, names in NAMES.items():
        rows = [(code(name), code(old.now)) for name, old in sorted(names.items())]
        lines += [f"## {owner}", "", *table(("before", "write"), rows)]
    rows = [
        (code(f"{method}({old}=)"), code(shown(new)))
        for method, arguments in ARGUMENTS.items()
        for old, new in arguments.keywords.items()
    ]
    rows += [
        (f"{code(method)} with {code(name)} by position", code(f"{name}="))
        for method, arguments in ARGUMENTS.items()
        for name in arguments.positions
    ]
    lines += ["## Arguments", "", *table(("before", "write"), rows)]
    rows = [
        (code(f"{kind}({name}=)"), Message(old.now) if old.now else code(f"{old.new[0]}="))
        for kind, names in PARAMETERS.items()
        if kind != "Searching"  # what MSL and Transfer are
        for name, old in names.items()
    ]
    lines += ["## Parameters of learners", "", *table(("before", "write"), rows)]
    rows = [(code(old), code(new)) for old, new in MODULES.items()]
    lines += ["## The package", "", *table(("before", "write"), rows)]
    rows = [(code(f"sqlrl ... {old}"), code(f"sqlrl ... {new}")) for old, new in COMMAND_OPTIONS.items()]
    rows += [
        (
            code(f"sqlrl learn {each.name}"),
            f"the option of {', '.join(f'{code(old.name)} of {word}' for word, old in each.declared.items())}, as above",
        )
        for each in LEARNER_OPTIONS.values()
        if each.old
    ]
    rows += [(code(f"ML.PREDICT(..., {old} => ...)"), code(f"{new} => ...")) for old, new in SQL_OPTIONS.items()]
    rows += [
        (code(f"ML.{old}(...)"), code(f"ML.{new}(..., {', '.join(options)} => true)"))
        for old, (new, options) in SQL_FUNCTIONS.items()
    ]
    return [*lines, "## The command line and scripts", "", *table(("before", "write"), rows)]


# ---- the API -------------------------------------------------------------------------------------------

HELD: Mapping[str, type] = {"Models": Models, "Runs": Runs, "Advanced": Advanced}
"""What attributes of a database are, which nobody makes."""

API: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "database": ("The database", ("connect", "Database", "Roles", "Evidence", "SoftData", "OutsideSolution", "SQLOptions", "Spark", "ServerFiles", *HELD)),
    "models": (
        "Models and languages",
        (
            "Model", "SoftModel", "LogicalRule", "ArithmeticRule", "Grammar", "Symbol", "Bias", "Modes", "PredicateMapping",
            "parse_mln", "read_mln", "parse_psl", "read_psl", "parse_grammar", "read_grammar", "parse_bias", "read_bias", "parse_modes",
            "read_modes", "parse_mapping", "read_mapping", "read_model", "save_model", "models_equal",
        ),
    ),
    "learners": (
        "Learners",
        (
            "AdaGrad", "CDA", "ConstrainedTraining", "Likelihood", "PSCG", "MaxMargin", "PseudoLikelihood", "OSL", "ILP", "Resolwe", "MSL", "Transfer", "SoftPseudoLikelihood",
            "SoftPiecewiseLikelihood", "SoftMapLikelihood", "SoftStructure", "choose_learner",
            *baselines.__all__,
        ),
    ),
    "results": ("Results", ("Prediction", "Marginals", "SoftPrediction", "HingeOptions", "RuleQuality", "Diagnosis", "Audit", "Split", "Table", "CompiledScorer", "ScoredExamples", "load_scorer")),
    "evaluation": (
        "Evaluation",
        (
            "Scores", "ProbabilityScores", "RankingScores", "SoftScores", "auc_roc", "average_precision", "score_probabilities",
            "score_rankings", "score_values", "k_fold", "leave_one_group_out",
        ),
    ),
    "streams": ("Streams of subgraphs", ("SubgraphTables", "SubgraphQueries", "EgoNetworks", "parse_subgraphs", "read_subgraphs")),
}  # fmt: skip
"""Pages of the API: their titles, and the names on them. `SqlrlError` is on the page about errors."""

SHARED: Mapping[str, type] = {
    "OnlineEstimator": OnlineEstimator,
    "BatchEstimator": BatchEstimator,
    "SoftEstimator": SoftEstimator,
}
"""What learners have in common, described once."""


def public(name: str) -> Any:
    """Return what a name of these pages is."""
    return HELD[name] if name in HELD else getattr(baselines if name in baselines.__all__ else sqlrl, name)


def _imported(kind: type) -> str:
    """Return the name by which a learner is called."""
    return f"sqlrl.{'baselines.' if kind.__name__ in baselines.__all__ else ''}{kind.__name__}"


def api() -> Iterator[tuple[str, list[str]]]:
    """Yield the pages of the API."""
    index = ["# API", "", NOTE, "", "What `import sqlrl` offers.", ""]
    common = {owner for kind in SHARED.values() for owner in kind.__mro__}
    for name, (title, names) in API.items():
        lines = [f"# {title}", "", NOTE, ""]
        if name == "learners":
            lines += ["What learners of a kind share comes first.", ""]
            for each, kind in SHARED.items():
                lines += section(each, kind)
        for each in names:
            lines += section(each, public(each), common if name == "learners" else ())
        yield name, lines
        rows = [(f"[`{each}`]({name}.md#{each.lower()})", cell(_summary(public(each)))) for each in names]
        index += [f"## {title}", "", *table(("name", "what it is"), rows)]
    yield "index", index


def _summary(made: Any) -> str:
    """Return the first paragraph of a docstring."""
    return (inspect.getdoc(made) or "").partition("\n\n")[0]


# ---- all -----------------------------------------------------------------------------------------------

MADE: Mapping[str, Callable[[], list[str]]] = {
    "schema.md": schema,
    "command-line.md": command_line,
    "parameters.md": parameters,
    "functions.md": function_page,
    "errors.md": error_page,
    "renamed.md": renamed_page,
}
"""Pages by their names; those of the API come by `api`."""


def all_pages() -> dict[str, str]:
    """Return all pages by their names."""
    found = {name: make() for name, make in MADE.items()} | {f"api/{name}.md": lines for name, lines in api()}
    return {name: "\n".join(lines).rstrip() + "\n" for name, lines in found.items()}


def main() -> int:
    """Write the pages, or say which are not up to date."""
    parser = argparse.ArgumentParser(description="Write the pages of docs/reference that are generated.")
    parser.add_argument("--check", action="store_true", help="write nothing, and compare")
    if parser.parse_args().check:
        late = [name for name, text in all_pages().items() if not _same(FOLDER / name, text)]
        for name in late:
            print(
                f"docs/reference/{name} is not what the program says: run python scripts/reference.py", file=sys.stderr
            )
        return bool(late)
    for name, text in all_pages().items():
        (FOLDER / name).parent.mkdir(parents=True, exist_ok=True)
        (FOLDER / name).write_text(text, encoding="utf-8", newline="\n")
    return 0


def _same(path: Path, text: str) -> bool:
    """Return whether a file has a text."""
    return path.is_file() and path.read_text(encoding="utf-8") == text


if __name__ == "__main__":
    sys.exit(main())
