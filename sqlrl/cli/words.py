"""What the command line says where a message names a parameter, or has words about Python alone."""

from __future__ import annotations

import shlex
from collections.abc import Mapping

from sqlrl.errors import Mention, Message, Parameter, Phrase, Written

_SAME = (
    *("append", "bins", "bins_from", "columns", "types", "variables", "truth", "probability", "value", "given", "fold_case", "duplicates"),
    *("nulls", "delimiter", "quote", "query", "drop", "examples", "example", "samples", "burn_in", "chains", "time_limit", "samples_into"),
    *("means_into", "limit", "world", "read_only", "method", "deterministic_limit", "atom_limit", "memory_limit", "replace", "missing"),
    *("most_groups", "into", "checkpoint", "resume", "groups", "folds", "train", "test", "near", "view", "partial", "hops", "negatives"),
    *("cap", "random_state", "outside", "observed_bodies", "run_queries", "model", "constraints", "split", "threshold", "kind", "keep", "start", "data"),
)  # fmt: skip
"""Parameters whose options have the same names."""

OPTIONS: dict[str, str] = {
    **{name: f"--{name.replace('_', '-')}" for name in _SAME},
    "constants": "--rename", "hidden": "--open", "empty": "--closed", "other": "--against",
    "fraction": "--holdout", "by": "--holdout-by", "tables": "--table", "scopes": "--scope-table", "target": "--query", "predicate": "--query",
    "storage": "--spark-storage", "timeout": "--spark-timeout", "folder": "--folder",
}  # fmt: skip
"""The options that parameters are; those of a learner are added once its declarations are loaded (`name_options`)."""

IN_COMMANDS: Mapping[tuple[str, str], str] = {
    ("count", "by"): "--by",
    ("diagnose", "shown"): "--groundings",
    ("export", "columns"): "--column",
    ("export", "target"): "--target",
}
"""Options of a command, where others have another one for a parameter of that name."""

VALUES: Mapping[Parameter, str] = {
    Parameter("above_seed", False): "--below-seed",
    Parameter("above_seed", True): "the score of a seed's own fact, which clauses need not exceed with --below-seed,",
    Parameter("empty", "allow"): "--empty allow",
    Parameter("header", False): "--no-header",
    Parameter("strict", True): "--missing error",
    Parameter("target", True): "--target",
    Parameter("trusted"): "--untrusted",
    Parameter("trusted", False): "--untrusted",
}
"""Values of parameters for which there are options of their own."""

_LOAD_INTO = "load tables into a DATABASE with `sqlrl load`, and name it"

PHRASES: Mapping[str, str] = {
    "\nIf that is a variable of Python, pass the object itself, or show it with db.load(name, data, mode='view').": "",
    ", connect()": "",
    ", or call load(example={!r}) before": "",
    ", or pass its rows as tuples": "",
    ", or read the model without trusted=False": ", or leave --untrusted out",
    "--untrusted, folder=": "--untrusted",
    "SoftData(model, folder=...)": "the folder of the program",
    ": if it is a variable of Python, pass the object itself, without quotes": "",
    'Spark(address, storage="..."), or a greater resident=': "--spark-storage FOLDER",
    "Spark(address, timeout=...)": "--spark-timeout SECONDS",
    "False": "false",
    "None": "none",
    "True": "true",
    "`from sqlrl.found_clauses` shows them in SQL, db.models[-1] is their model": "`sqlrl sql` with 'from sqlrl.found_clauses' shows them",
    "another fraction, another random_state": "another --holdout, another --random-state",
    "a dict of predicates, a sqlrl.PredicateMapping, or ": "",
    "call db.load(numeric=[{!r}]) in another database before its data are loaded": "load its data into another database with --numeric {}",
    "change above_seed": "give --below-seed",
    "call refresh()": "run `sqlrl load --refresh`",
    "db.define": "`sqlrl define`",
    "db.load": "`sqlrl load`",
    "db.load(predicate, sqlrl.ServerFiles(path))": "`sqlrl load --on-server`",
    "db.load({!r}, ...)": "`sqlrl load DATABASE {} FILE --types TYPES`",
    "db.load({!r}, [], empty='allow')": "an empty file is loaded as {} with --empty allow",
    "db.load({!r}, [], empty='allow', given=True)": "an empty file is loaded as {} with --empty allow --given",
    "db.load({!r}, [], empty='allow', target=True)": "an empty file is loaded as {} with --empty allow --target",
    "db.load(folder)": "`sqlrl load --folder`",
    "db.probabilities(model)": "`sqlrl infer --probabilities`",
    "db.models[{!r}] = model": "`sqlrl run` of CREATE MODEL {}",
    "db.models[-1] is its model": "`sqlrl sql` with 'from sqlrl.strongest_clauses' shows its model",
    "db.load({!r}, ..., mode='remove')": "`sqlrl remove DATABASE {} FILE`",
    "db.load(local={{{!r}: False}})": "`sqlrl run` of CREATE PREDICATE without ! behind {}",
    "db.scope(predicate, split.train) before learning, db.scope(predicate, split.test) before predicting": "`sqlrl load --scope` sets it, and "
    "`sqlrl learn --holdout` holds out a part of it",
    "db.scope({!r}, ...)": "--scope where {} is loaded",
    "db.predict": "`sqlrl infer`",
    "learn its weights with Likelihood": "learn its weights with --learner likelihood",
    "leave folds out": "leave --folds out",
    "load tables with load() and scope()": _LOAD_INTO,
    "Evidence": "--evidence",
    "sqlrl.Evidence": "--evidence",
    'sqlrl.Evidence, or pass the constants as tuples, such as [("Anna", "Bob")]': "--evidence",
    "model=model": "--model",
    "open it with trusted=True": "leave --untrusted out",
    "open the database with sqlrl.Spark(address, storage=...)": "give --spark-storage FOLDER",
    "open the database with sqlrl.connect(path, engine=sqlrl.Spark(address, storage=...)), or give the path itself to have DuckDB read the files": ""
    "give --spark ADDRESS and --spark-storage FOLDER, or leave out --on-server",
    "options=, ": "",
    "or 'likelihood', or None for the root of what a clause covers": "or `likelihood`; without it, the root of what a clause covers",
    "out of the model: model.without(names)": "out, --drop NAME",
    "pass it to {}": "save it in a file and name that",
    "pass run_queries=True": "give --run-queries",
    "predict(into=...)": "`sqlrl infer --into`",
    "read it with sqlrl.read_psl": "`sqlrl psl` infers it, `sqlrl learn --learner soft-pseudo-likelihood` learns its weights",
    "read it with sqlrl.read_psl or sqlrl.parse_psl": "name a file that ends in .psl",
    "read_mln(path, query=[...])": "--query NAME",
    "read_psl(path, data=...)": "--data",
    "read_psl(path, query=[...])": "--query NAME",
    "say which one to split, predicate={!r}": "name the one to split, --query {}",
    "sqlrl.ServerFiles": "--on-server",
    "what sqlrl.parse_bias returns, ": "",
    "what sqlrl.parse_grammar returns, or ": "",
    "what sqlrl.parse_modes returns, or ": "",
    "use PSCG (moments='mcsat'), Likelihood or MaxMargin": "use --learner pscg, likelihood or max-margin",
    "use more folds": "use a larger --folds",
}
"""What the command line says in place of words about Python."""


def name_options(options: Mapping[str, str]) -> None:
    """Say which options other parameters are, those of learners, whose declarations take a while to load."""
    OPTIONS.update(options)


def in_options(message: str, command: str = "") -> str:
    """Return a message of the library in the words of the command line, or of one command."""
    return str(Message(message).worded(lambda mention: words(mention, command)))


def words(mention: Mention, command: str = "") -> str | None:
    """Return how the command line calls what a message mentions; None if it has no other words than Python."""
    if isinstance(mention, Phrase):
        found = PHRASES.get(mention.text)
        return found if found is None else mention.filled(found)
    if not isinstance(mention, Parameter):
        return None
    own = VALUES.get(Parameter(mention.name, mention.value))
    if own is not None:
        return own
    option = IN_COMMANDS.get((command, mention.name)) or OPTIONS.get(mention.name)
    if option is None or mention.value is False:
        return None
    return f"{option} {_value(mention.value)}".rstrip()


def _value(value: object) -> str:
    """Return a value as it is typed behind its option; nothing of a flag, and of what is left to fill in."""
    if value is ... or value is True or value in (Written("..."), Written("[...]"), Written("{...}")):
        return ""
    return shlex.quote(value) if isinstance(value, str) and not isinstance(value, Written) else str(value)
