"""Arguments of another kind than a call takes: what was given, and what to give, by what was given in place of what."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

from sqlrl.errors import InputError
from sqlrl.wording import shortened

_SHOWN = 60

_OURS = (
    "Database",
    "Model",
    "Prediction",
    "Marginals",
    "Split",
    "Table",
    "Scores",
    "ProbabilityScores",
    "Bias",
    "Grammar",
    "Modes",
    "PredicateMapping",
    "ServerFiles",
)

INSTEAD: Mapping[str, Mapping[str, str]] = {
    "a model": {
        "": "parse it with sqlrl.parse_mln, or read a file with sqlrl.read_mln",
        "path": "read it with sqlrl.read_mln({value})",
        "estimator": "pass its model_",
        "unfitted": "it has learned nothing yet; call fit(db, model), and pass its model_",
        "class": "make one, learn with fit(db, model), and pass its model_",
        "Database": "a model comes after the database, as in db.predict(model) and fit(db, model)",
        "Prediction": "pass the model that it was made with",
        "Marginals": "pass the model that it was made with",
    },
    "a prediction or probabilities": {
        "": "give what db.predict(model) or db.probabilities(model) returned",
        "Model": "predict with it, db.evaluate(db.predict(model)), or find probabilities, db.evaluate(db.probabilities(model))",
        "path": "read the model, model = sqlrl.read_mln({value}), and predict with it, db.evaluate(db.predict(model))",
        "estimator": "predict with its model, db.evaluate(db.predict(fit.model_))",
        "unfitted": "it has learned nothing yet; call fit(db, model), and then db.evaluate(db.predict(fit.model_))",
        "Table": "give what db.predict(model) returned, since a table has no query atoms",
        "frame": "give what db.predict(model) returned, since a frame has no query atoms; sqlrl.evaluate scores arrays",
        "text": "give what db.predict(model) returned, not the name of a table",
    },
    "a list of names, a query, a table, a frame or a file": {
        "": "sqlrl.example lists the names, and leaving examples= out takes all",
        "Split": "give split.train or split.test; of one network these are scopes, db.scope(split.predicate, split.train)",
        "number": "db.split(0.2) holds out a share of the examples, and split.train and split.test are what examples= takes",
    },
    "something to load": {
        "": "pass a path, an Arrow table, a pandas or polars frame, a DuckDB relation, the name of a table, a query, or an iterable of tuples",
        "Split": "give split.train or split.test",
        "Prediction": "give its true atoms, prediction.atoms()",
        "Marginals": "give marginals.probabilities()",
        "Model": "a model is no data; db.predict(model) and fit(db, model) hold it against data",
        "Database": "give a table of it, db.sql(query)",
        "ServerFiles": "db.load reads it, by the server of Spark; here give the path, which DuckDB reads",
    },
    "an Arrow table or a frame": {
        "": "give an Arrow table, a pandas or polars frame, or a table of sqlrl's, such as prediction.table()",
        "Prediction": "give its table, prediction.table()",
        "Marginals": "give its table, marginals.table()",
        "text": "a query has a name as a view, db.sql('create view ...')",
        "estimator": "give its clauses, fit.clauses()",
    },
    "the text of a query": {
        "": "write SQL, such as db.sql('from sqlrl.predicate')",
        "Model": "hold it against the data with db.predict(model), model.plan(db) or db.count(model)",
    },
    "a path": {
        "": "give a str or a pathlib.Path",
        "Database": "it is open already; db.cursor() is another one on the same data, for another thread",
        "Model": "a model is held against a database: db = sqlrl.connect(path), db.predict(model)",
    },
    "the path of a file": {
        "": "give a str or a pathlib.Path that ends in .mln or .json",
        "Model": "the model comes first, sqlrl.save_model(model, path)",
    },
    "the name of a table": {"": "give a str"},
    "a server of Spark": {
        "": "give engine=sqlrl.Spark('sc://host:port', storage=...)",
        "text": "give engine=sqlrl.Spark({value})",
    },
    "rules": {
        "": "give a tuple of rules, such as model.rules",
        "Model": "give its rules, model.with_rules(other.rules)",
        "text": "parse them with sqlrl.parse_mln, beside their declarations, and give the rules of that model",
    },
    "names of examples": {
        "": "give a list of them",
        "Database": "give the names, such as those of db.sql('select name from sqlrl.example')",
    },
}
"""What to give instead, by what is needed and what was given; "" is anything else."""


def wrong_kind(needed: str, value: object) -> str:
    """Return what is wrong with an argument, and what to give; `needed` is a key of `INSTEAD`."""
    found = INSTEAD[needed]
    kind = given(value)
    sentence = found.get(kind) or found[""]
    verb = "are" if needed in ("rules", "names of examples") else "is"
    return f"{needed} {verb} needed, not {described(value, kind)}: {sentence.replace('{value}', repr(value))}."


def refuse(needed: str, value: object) -> InputError:
    """Return the error that an argument is of another kind; see `wrong_kind`."""
    return InputError(wrong_kind(needed, value))


def given(value: object) -> str:
    """Return what kind of thing an argument is, as `INSTEAD` calls it."""
    if value is None:
        return "None"
    if isinstance(value, os.PathLike):
        return "path"
    if isinstance(value, str):
        return "path" if value.endswith((".mln", ".json")) and "\n" not in value else "text"
    if isinstance(value, type):
        return "class"
    if isinstance(value, int | float) and not isinstance(value, bool):
        return "number"
    names = [each.__name__ for each in type(value).__mro__ if each.__module__.startswith("sqlrl.")]
    if names:
        if any(name == "Configured" for name in names):
            return "estimator" if getattr(value, "model_", None) is not None else "unfitted"
        return next((name for name in names if name in _OURS), names[0])
    library = type(value).__module__.partition(".")[0]
    return "frame" if library in ("pandas", "polars", "pyarrow", "duckdb") else "other"


def described(value: Any, kind: str) -> str:
    """Return what was given, in words."""
    if kind == "None":
        return "None"
    if kind in ("path", "text"):
        return f"the {kind} {shortened(str(value), _SHOWN)!r}"
    if kind in ("estimator", "unfitted"):
        return f"the estimator {type(value).__name__}"
    if kind == "class":
        return f"the class {value.__name__}"
    return f"an object of type {type(value).__name__}"


def predicate_names(option: str, given: object) -> tuple[str, ...]:
    """Return the predicate names given to an option, one or several; a name that is not a string is an InputError."""
    names: tuple[Any, ...] = tuple(given) if isinstance(given, Iterable) and not isinstance(given, str) else (given,)
    if wrong := [name for name in names if not isinstance(name, str)]:
        raise InputError(f"{option}= takes names of predicates, and {shortened(repr(wrong[0]))} is none.")
    return names
