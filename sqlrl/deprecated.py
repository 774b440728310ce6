"""The names that were public before, what to write in their place, and how a call by an old name becomes one by the new name.

All that is deprecated stands in the tables below, and nowhere else. An old name warns once for each call, and calls the new one with its own defaults.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import reduce, wraps
from importlib import import_module
from typing import Any, ParamSpec, TypeVar

from sqlrl.errors import UnknownParameterError, warn

_Asked = ParamSpec("_Asked")
_Found = TypeVar("_Found")

_Rewrite = Callable[[dict[str, Any]], dict[str, Any]]
"""Old arguments by their old names to arguments of the new call."""


@dataclass(frozen=True)
class Old:
    """A name that was public: the call to write in its place, and how its arguments are given to that call."""

    now: str  # the new call, as a warning shows it
    path: str  # the new name, by way of attributes of the same object
    parameters: tuple[str, ...] = ()  # what could be given by position
    # Other names of its parameters; `roles=Roles.drop` is the field of a public value that a parameter takes.
    keywords: Mapping[str, str] = field(default_factory=dict)
    defaults: Mapping[str, Any] = field(default_factory=dict)  # where those of the new name differ, or are said
    rewrite: _Rewrite | None = None
    value: bool = False  # it is a value, and is not called
    on: str = ""  # the parameter whose method the new name is, if it is none of the same object

    def of(self, owner: Any, name: str) -> Any:
        """Return what the old name of an object is: the value, or a function that calls the new name."""
        what = f"{type(owner).__name__}.{name}"
        if self.value:
            _warn(what, self.now)
            return self.found(owner)

        def called(*args: Any, **given: Any) -> Any:
            if len(args) > len(self.parameters):
                raise TypeError(
                    f"{name}() takes {len(self.parameters)} positional arguments but {len(args)} were given"
                )
            named = dict(zip(self.parameters, args, strict=False))
            if both := named.keys() & given.keys():
                raise TypeError(f"{name}() got multiple values for argument {min(both)!r}")
            _warn(f"{what}()", self.now)
            whole = named | given
            return self.found(whole.pop(self.on) if self.on else owner)(**self.arguments(whole))

        called.__name__ = name
        return called

    def found(self, owner: Any) -> Any:
        """Return what the new name is."""
        return reduce(getattr, self.path.split("."), owner)

    def arguments(self, given: dict[str, Any]) -> dict[str, Any]:
        """Return the arguments of the new call."""
        whole = {**self.defaults, **(given if self.rewrite is None else self.rewrite(given))}
        return _renamed(whole, self.keywords)


@dataclass(frozen=True)
class OldArguments:
    """The arguments that a call still takes by other names, or by position."""

    keywords: Mapping[str, str] = field(default_factory=dict)
    positions: tuple[str, ...] = ()  # parameters that are by keyword now, in their order after those that are not
    after: int = 1  # how many those are
    values: Mapping[str, Mapping[Any, Any]] = field(default_factory=dict)  # of a keyword: old values to new ones


def takes_old_arguments(function: Callable[_Asked, _Found], name: str | None = None) -> Callable[_Asked, _Found]:
    """Let a method take the arguments that `ARGUMENTS` lists for it, or for a name that several have, with a warning of each."""
    name = name or function.__qualname__
    old = ARGUMENTS[name]
    most = old.after + 1  # `self` is the first

    @wraps(function)
    def called(*args: _Asked.args, **given: _Asked.kwargs) -> _Found:
        if len(args) <= most and given.keys().isdisjoint(old.keywords):
            return function(*args, **given)
        changed = {k: old.values[k].get(v, v) if k in old.values else v for k, v in given.items()}
        positioned = dict(zip(old.positions, args[most:], strict=False))
        if both := positioned.keys() & given.keys():
            raise TypeError(f"{name}() got multiple values for argument {min(both)!r}")
        more: Any = {**positioned, **_renamed(changed, old.keywords)}
        for position in positioned:
            _warn(f"{name}() with {position} by position", f"{position}=")
        for keyword in sorted(given.keys() & old.keywords.keys()):
            _warn(f"{name}({keyword}=)", shown(old.keywords[keyword]))
        rest: Any = (*args[:most], *args[most + len(old.positions) :])
        return function(*rest, **more)

    return called


def set_old(owner: Any, name: str, value: object) -> None:
    """Set a value by its old name."""
    old = NAMES[type(owner).__name__][name]
    _warn(f"{type(owner).__name__}.{name}", old.now)
    place, _, attribute = old.path.rpartition(".")
    setattr(reduce(getattr, place.split("."), owner), attribute, value)


def _renamed(given: Mapping[str, Any], keywords: Mapping[str, str]) -> dict[str, Any]:
    """Return arguments by their new names, those that are fields of one value put together."""
    found: dict[str, Any] = {}
    fields: dict[tuple[str, str], dict[str, Any]] = {}
    for name, value in given.items():
        parameter, equals, target = keywords.get(name, name).partition("=")
        if parameter in found or (parameter != name and parameter in given):
            raise UnknownParameterError(f"{name}= and {parameter}= are the same argument: leave {name}= out")
        if equals:
            kind, _, attribute = target.partition(".")
            fields.setdefault((parameter, kind), {})[attribute] = value
        else:
            found[parameter] = value
    for (parameter, kind), values in fields.items():
        if parameter in found:
            raise TypeError(
                f"{', '.join(f'{name}=' for name in values)} and {parameter}= are one argument: give {parameter}= alone"
            )
        found[parameter] = getattr(sys.modules["sqlrl"], kind)(**values)
    return found


def shown(new: str) -> str:
    """Return a new argument as it is written: `roles=sqlrl.Roles(drop=...)`."""
    parameter, equals, target = new.partition("=")
    kind, _, attribute = target.partition(".")
    return f"{parameter}=sqlrl.{kind}({attribute}=...)" if equals else f"{parameter}="


def _warn(old: str, new: str) -> None:
    warn(f"{old} is deprecated, and the next release does not have it: write {new}", FutureWarning)


# ---- the tables --------------------------------------------------------------------------------------------

_ROLES = {name: f"roles=Roles.{name}" for name in ("drop", "query", "hidden", "empty")}
_EVIDENCE = ("source", "model", "given", "target", "duplicates", "empty", "replace", "drop")
_VIEW = {name: f"options=SQLOptions.{name}" for name in ("target", "view", "tables", "columns", "scopes", "partial")}
_SOLUTION = {name: f"solution=OutsideSolution.{name}" for name in ("path", "format", "exported", "bound")}


def _advanced(name: str, *parameters: str, value: bool = False) -> Old:
    return Old(f"db.advanced.{name}", f"advanced.{name}", parameters, _ROLES, value=value)


NAMES: Mapping[str, Mapping[str, Old]] = {
    "Database": {
        "load_all": Old(
            "db.load(folder or mapping, types=...)", "load", ("sources", "types"), {"sources": "predicate"}
        ),
        "load_evidence": Old(
            "db.load(sqlrl.Evidence(source, model, ...))",
            "load",
            ("source", "model"),
            {name: f"predicate=Evidence.{name}" for name in _EVIDENCE},
        ),
        "load_soft_data": Old(
            "db.load(model), or db.load(sqlrl.SoftData(model, split=...))",
            "load",
            ("model",),
            {name: f"predicate=SoftData.{name}" for name in ("model", "split", "folder")},
        ),
        "register": Old(
            "db.load(name, data, mode='view')",
            "load",
            ("name", "data"),
            {"name": "predicate", "data": "source"},
            {"mode": "view"},
        ),
        "remove": Old(
            "db.load(predicate, source, mode='remove')", "load", ("predicate", "source"), defaults={"mode": "remove"}
        ),
        "set_local": Old(
            "db.load(local={type: True or False})",
            "load",
            ("type_name", "local"),
            rewrite=lambda given: {"local": {given.pop("type_name"): given.pop("local")}, **given},
        ),
        "set_numeric": Old(
            "db.load(numeric=[type])",
            "load",
            ("type_name",),
            rewrite=lambda given: {"numeric": [given.pop("type_name")], **given},
        ),
        "examples_from": Old(
            "db.load(example=type), or db.load(example=False) for one example",
            "load",
            ("type_name",),
            rewrite=lambda given: {"example": False if given["type_name"] is None else given["type_name"]},
        ),
        "predicates": Old("db.tables()", "tables"),
        "marginals": Old("db.probabilities(model)", "probabilities", ("model",), {"seed": "random_state", **_ROLES}),
        "read_solution": Old("db.predict(model, solution=path)", "predict", ("model", "path"), {**_SOLUTION, **_ROLES}),
        "clusters": Old("prediction.clusters(predicate)", "clusters", ("prediction", "predicate"), on="prediction"),
        "count_difference": Old(
            "db.count(model, world=..., against=...)",
            "count",
            ("model", "world", "other"),
            {"other": "against", **_ROLES},
            {"other": "observed"},
        ),
        "expected_counts": Old(
            "db.count(model, expected=True)", "count", ("model", "examples"), _ROLES, {"expected": True}
        ),
        "constraint_costs": Old(
            "db.diagnose(model, kind='costs')", "diagnose", ("model", "examples"), _ROLES, {"kind": "costs"}
        ),
        "overlap": Old(
            "db.diagnose(model, kind='overlap')", "diagnose", ("model", "examples"), _ROLES, {"kind": "overlap"}
        ),
        "explain": Old("model.plan(db)", "advanced.plan", ("model",), _ROLES),
        "export_sql": Old(
            "db.export(model, format='sql', options=sqlrl.SQLOptions(...))",
            "export",
            ("model", "target"),
            {**_VIEW, **_ROLES},
            {"format": "sql"},
        ),
        "model": Old(
            "db.models[number or name], db.models[-1] for the newest",
            "models.__getitem__",
            ("model",),
            rewrite=lambda given: {"key": -1 if given.get("model") is None else given["model"]},
        ),
        "keep_model": Old("db.models[name] = model, or db.models.keep(name, model)", "models.keep", ("name", "model")),
        "drop_model": Old("del db.models[name]", "models.__delitem__", ("name",)),
        "run_record": Old(
            "db.runs[number], db.runs[-1] for the newest",
            "runs.__getitem__",
            ("run",),
            rewrite=lambda given: {"key": -1 if given.get("run") is None else given["run"]},
        ),
        "candidates": Old("templates.candidates(db, model)", "advanced.learning.candidates", ("templates", "model")),
        "derive_bias": Old("sqlrl.Bias.derive(db, target)", "advanced.learning.derived_bias", ("target",)),
        "ground": _advanced("ground", "model"),
        "program": _advanced("program", "model"),
        "bind": _advanced("bind", "model"),
        "example_ids": _advanced("example_ids", "examples"),
        "check_atoms": _advanced("check_atoms", "model", "atoms"),
        "engine": _advanced("engine", value=True),
        "catalog": _advanced("catalog", value=True),
        "records": _advanced("records", value=True),
        "learning": _advanced("learning", value=True),
        "console": _advanced("console", value=True),
        "session": _advanced("session", value=True),
    },
}
"""By the class, as `slips.Helpful` calls it: its old names."""

ARGUMENTS: Mapping[str, OldArguments] = {
    "Database.load": OldArguments({"append": "mode"}, after=2, values={"append": {True: "append", False: "replace"}}),
    "Database.predict": OldArguments({"seed": "random_state", **_ROLES}),
    "Database.count": OldArguments(_ROLES),
    "Database.diagnose": OldArguments(positions=("examples",)),
    "Database.export": OldArguments(_ROLES, after=2),
    "fit": OldArguments(
        dict.fromkeys(("on_window", "on_iteration", "on_step", "on_seed"), "callback"), ("examples",), after=2
    ),
}
"""By the method: its arguments under their old names."""

BASELINES = ("ContrastiveDivergence", "MIRA", "Perceptron", "Subgradient", "VotedPerceptron")

MODULES: Mapping[str, str] = {
    **{f"sqlrl.{name}": f"sqlrl.baselines.{name}" for name in BASELINES},
    "sqlrl.learn.Progress": "sqlrl.learn.WindowProgress",
}
"""Names in modules."""


COMMAND_OPTIONS: Mapping[str, str] = {"--marginals": "--probabilities"}
"""Options of the command line."""

SQL_OPTIONS: Mapping[str, str] = {"seed": "random_state"}
"""Options of the functions of scripts."""


SQL_FUNCTIONS: Mapping[str, tuple[str, Mapping[str, Any]]] = {"EXPECTED_COUNTS": ("COUNT", {"expected": True})}
"""Functions of scripts, with the options that the new ones have in their place."""


def new_function(name: str) -> tuple[str, Mapping[str, Any]]:
    """Return the new name of a script's function and the options that make it the same, with a warning of the old name."""
    if name not in SQL_FUNCTIONS:
        return name, {}
    new, options = SQL_FUNCTIONS[name]
    given = ", ".join(f"{option} => {str(value).lower()}" for option, value in options.items())
    _warn(f"ML.{name}", f"ML.{new}(..., {given})")
    return new, options


def new_option(name: str, known: Collection[str]) -> str:
    """Return the new name of an option of a script's function that has it among those `known`, with a warning of the old one."""
    new = SQL_OPTIONS.get(name, name)
    if new == name or name in known or new not in known:
        return name
    _warn(f"the option {name} =>", f"{new} =>")
    return new


def moved(name: str) -> Any:
    """Return what an old name in a module is, with a warning."""
    _warn(name, MODULES[name])
    module, _, attribute = MODULES[name].rpartition(".")
    return getattr(import_module(module), attribute)
