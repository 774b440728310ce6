"""Arguments of another kind than a call takes: what was given, what is needed, and what there is of what was given."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from typing import Any

from sqlrl.errors import InputError, Parameter
from sqlrl.wording import shortened

_SHOWN = 60

_NAME = re.compile(r"[\w .-]{1,60}")
"""A text that may be the name of a model, and is no rule."""

NEEDED: Mapping[str, str] = {
    "a model": "parse it with sqlrl.parse_mln, or read a file with sqlrl.read_mln",
    "a model, or an estimator that has learned one,": "read a file with sqlrl.read_mln or sqlrl.read_psl",
    "a model, or rules,": "give the rules as a text with one in each line, or as a list of such texts, or the path of a file; "
    "sqlrl.parse_mln and sqlrl.read_mln read models",
    "a program of probabilistic soft logic": "parse it with sqlrl.parse_psl, or read a file with sqlrl.read_psl",
    "a prediction or probabilities": "give what db.predict(model) or db.probabilities(model) returned; sqlrl.evaluate scores arrays",
    "a list of names, a query, a table, a frame or a file": f"sqlrl.example lists the names, and leaving {Parameter('examples')} out takes all",
    "something to load": "pass a path, an Arrow table, a pandas or polars frame, a DuckDB relation, the name of a table, a query, or an iterable of tuples",
    "an Arrow table or a frame": "give an Arrow table, a pandas or polars frame, or a table of sqlrl's, such as prediction.table() and fit.clauses(); a query has a name as a view, "
    "db.sql('create view ...')",
    "the text of a script, or its path,": "give a str or a pathlib.Path",
    "the text of a query": "write SQL, such as db.sql('from sqlrl.predicate')",
    "a path": "give a str or a pathlib.Path",
    "the path of a file": "give a str or a pathlib.Path that ends in .mln or .json, after the model: sqlrl.save_model(model, path)",
    "the name of a table": "give a str",
    "a server of Spark": "give engine=sqlrl.Spark('sc://host:port', storage=...)",
    "rules": "give a tuple of rules, such as model.rules; sqlrl.parse_mln(text) parses them, beside their declarations",
    "names of examples": "give a list of them, such as those of db.sql('select name from sqlrl.example')",
}
"""What to give, by what is needed."""

GIVEN: Mapping[str, str] = {
    "estimator": "a learner has the model that it has learned in model_, as in db.predict(fit.model_)",
    "unfitted": "it has learned nothing yet: call fit(db, model), which gives it model_",
    "class": "make one, and call fit(db, model), which gives it model_",
    "path": "sqlrl.read_mln({value}) reads that file",
    "name": "a kept model is db.models[{value}], as in db.predict(db.models[{value}])",
    "number": "db.split(0.2) holds out a share of the examples",
    "Split": "a split has split.train and split.test, which are examples; of one network these are scopes, db.scope(split.predicate, split.train)",
    "Prediction": "a prediction has its atoms in prediction.atoms(), and its table in prediction.table()",
    "Marginals": "they are in marginals.probabilities(), and their table in marginals.table()",
    "Model": "a model is held against data, as in db.predict(model), db.probabilities(model) and db.count(model)",
    "Database": "a database comes first, as in db.predict(model) and fit(db, model), and db.cursor() is another one on its data",
    "ServerFiles": "db.load takes them, which a server of Spark reads",
}
"""What there is of a thing that was given, or is done with it."""


def wrong_kind(needed: str, value: object) -> str:
    """Return what is wrong with an argument, and what to give: what is needed in general, and what there is of this one."""
    verb = "are" if needed in ("rules", "names of examples") else "is"
    return f"{needed} {verb} needed, not {described(value)}: {instead(needed, value)}."


def instead(needed: str, value: object) -> str:
    """Return what to give in place of an argument."""
    kind = given(value)
    if kind == "text" and needed in ("a model", "a model, or rules,") and _NAME.fullmatch(str(value)):
        kind = "name"
    further = GIVEN.get(kind, "").replace("{value}", repr(value))
    return f"{NEEDED[needed]}; {further}" if further else NEEDED[needed]


def refuse(needed: str, value: object) -> InputError:
    """Return the error that an argument is of another kind; see `wrong_kind`."""
    return InputError(wrong_kind(needed, value))


def given(value: object) -> str:
    """Return what kind of thing an argument is, as `GIVEN` calls it."""
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
    if "Configured" in names:
        return "estimator" if getattr(value, "model_", None) is not None else "unfitted"
    if names:
        return next((name for name in names if name in (*GIVEN, "Table")), names[0])
    library = type(value).__module__.partition(".")[0]
    return "frame" if library in ("pandas", "polars", "pyarrow", "duckdb") else "other"


def described(value: Any) -> str:
    """Return what was given, in words."""
    kind = given(value)
    if kind in ("path", "text"):
        return f"the {kind} {shortened(str(value), _SHOWN)!r}"
    if kind in ("estimator", "unfitted"):
        return f"the estimator {type(value).__name__}"
    if kind == "class":
        return f"the class {value.__name__}"
    return "None" if value is None else f"an object of type {type(value).__name__}"


def predicate_names(option: str, given: object) -> tuple[str, ...]:
    """Return the predicate names given to an option, one or several; a name that is not a string is an InputError."""
    names: tuple[Any, ...] = tuple(given) if isinstance(given, Iterable) and not isinstance(given, str) else (given,)
    if wrong := [name for name in names if not isinstance(name, str)]:
        raise InputError(f"{Parameter(option)} takes names of predicates, and {shortened(repr(wrong[0]))} is none.")
    return names
