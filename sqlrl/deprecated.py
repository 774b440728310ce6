"""The names that were public before, what to write in their place, and how a call by an old name becomes one by the new name.

All that is deprecated stands in the tables below, and nowhere else. An old name warns once for each call, and calls the new one with its own defaults.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import reduce, wraps
from importlib import import_module
from inspect import signature
from typing import Any, ParamSpec, TypeVar

from sqlrl.errors import InputError, Parameter, UnknownParameterError, warn
from sqlrl.wording import did_you_mean, nearest_names

_Asked = ParamSpec("_Asked")
_Found = TypeVar("_Found")
_Kind = TypeVar("_Kind")

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
    optional: int = 0  # how many of `parameters`, the last ones, could be left out
    alone: bool = False  # it took none of the new call's other parameters

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
            needed = self.parameters[: len(self.parameters) - self.optional]
            if missing := [repr(each) for each in needed if each not in whole]:
                raise TypeError(f"{name}() missing required argument{'s' * (len(missing) > 1)} {' and '.join(missing)}")
            new = self.found(whole[self.on] if self.on else owner)
            known = {*self.parameters, *self.keywords}
            if self.rewrite is None and not self.alone:
                known |= signature(new).parameters.keys() - self.defaults.keys()
            for each in (name for name in whole if name not in known):
                hint = did_you_mean(nearest_names(each, known)) or f"; it takes {', '.join(sorted(known)) or 'none'}"
                raise UnknownParameterError(f"{name}() got an unexpected keyword argument {each!r}{hint}")
            whole.pop(self.on, None)
            return new(**self.arguments(whole))

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
        named = {k: v for k, v in given.items() if isinstance(v, str) and v in old.values.get(k, {})}
        if len(args) <= most and given.keys().isdisjoint(old.keywords) and not named:
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
        for keyword in sorted(named.keys() - old.keywords.keys()):
            _warn(f"{name}({keyword}={named[keyword]!r})", f"{keyword}={changed[keyword]!r}")
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


# ---- parameters of estimators --------------------------------------------------------------------------------


@dataclass(frozen=True)
class OldParameter:
    """A parameter of an estimator by its old name, as a warning says it by the new one."""

    new: tuple[str, ...]  # the parameters that its value is in now
    now: str = ""  # what is written in its place, where that is not the first of these
    option: str | None = None  # of the command line, where it is not the old name
    # Its value, and the new parameters that were made of old ones so far, to the new parameters.
    change: Callable[[Any, Mapping[str, Any]], Mapping[str, Any]] | None = None
    back: Callable[[Mapping[str, Any]], Any] | None = None  # the new parameters to its value

    def changed(self, value: Any, before: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the new parameters."""
        return {self.new[0]: value} if self.change is None else self.change(value, before)

    def read(self, parameters: Mapping[str, Any]) -> Any:
        """Return its value."""
        return parameters[self.new[0]] if self.back is None else self.back(parameters)

    def warn(self, kind: str, name: str) -> None:
        """Warn of the old name."""
        _warn(f"{Parameter(name)} of {kind}", self.now or f"{Parameter(self.new[0])}")


def takes_old_parameters(kind: type[_Kind]) -> type[_Kind]:
    """Let a constructor take the parameters that `PARAMETERS` lists for it, with a warning of each; they can be read, set and unpickled, too."""
    old = PARAMETERS.get(kind.__name__) if kind.__module__.startswith(_OURS) else None
    if old is None:
        return kind
    construct, positions = kind.__init__, POSITIONS.get(kind.__name__, ())

    @wraps(construct)
    def init(self: Any, *args: Any, **given: Any) -> None:
        positioned = dict(zip(positions, args, strict=False))
        if both := positioned.keys() & given.keys():
            raise TypeError(f"{kind.__name__}() got multiple values for argument {min(both)!r}")
        construct(self, *args[len(positioned) :], **new_parameters(type(self), {**positioned, **given}))

    def unpickle(self: Any, state: Mapping[str, Any]) -> None:
        vars(self).update(_by_new_names(old, state))

    setattr(kind, "__init__", init)  # noqa: B010 - not the method that the class declares
    setattr(kind, "__setstate__", unpickle)  # noqa: B010
    for name, entry in old.items():
        setattr(kind, name, _attribute(name, entry))
    return kind


_OURS = "sqlrl."


def _attribute(name: str, old: OldParameter) -> property:
    def read(self: Any) -> Any:
        # A class of a user's may have a parameter of this name, which it hands on.
        if name not in signature(type(self).__init__).parameters:
            old.warn(type(self).__name__, name)
        return old.read(vars(self))

    def write(self: Any, value: Any) -> None:
        vars(self).update(new_parameters(type(self), {name: value}, vars(self)))

    return property(read, write, doc=OLD)


OLD = "A deprecated name."
"""The documentation of attributes that are old names."""


def old_parameters(kind: type) -> Mapping[str, OldParameter]:
    """Return the old names of the parameters of a class."""
    ours = (each.__name__ for each in kind.__mro__ if each.__module__.startswith(_OURS))
    return next((PARAMETERS[name] for name in ours if name in PARAMETERS), {})


def new_parameters(
    kind: type, given: Mapping[str, Any], now: Mapping[str, Any] | None = None, *, own: Collection[str] = ()
) -> dict[str, Any]:
    """Return parameters by their new names, with a warning of each old one.

    Of several that are one value, `now` has the others; `own` are names that a class of a user's has itself.
    """
    old = {name: entry for name, entry in old_parameters(kind).items() if name in given and name not in own}
    made: dict[str, Any] = {}
    for name, entry in old.items():
        if both := [each for each in entry.new if each in given]:
            raise UnknownParameterError(
                f"{Parameter(name)} and {Parameter(both[0])} are the same argument: leave {Parameter(name)} out"
            )
        entry.warn(kind.__name__, name)
        made |= entry.changed(given[name], {**(now or {}), **made})
    return {**{name: value for name, value in given.items() if name not in old}, **made}


def recorded_parameters(learner: str, recorded: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters that were kept of a run by the names that they have now."""
    return _by_new_names(PARAMETERS.get(learner, {}), recorded)


def _by_new_names(old: Mapping[str, OldParameter], values: Mapping[str, Any]) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for name in (each for each in old if each in values):
        made |= old[name].changed(values[name], made)
    return {name: value for name, value in values.items() if name not in old} | made


class _Changed(float):
    """A number that was made of an older one, which is read again to the last bit."""

    before: float

    def __new__(cls, value: float, before: float) -> _Changed:
        made = super().__new__(cls, value)
        made.before = before
        return made

    def __getnewargs__(self) -> tuple[float, float]:  # type: ignore[override]
        return float(self), self.before


class _Reciprocal(_Changed):
    """One whose reciprocal is the older number: 1 / (1 / C) need not be C in floats."""

    def __rtruediv__(self, other: float) -> float:
        return self.before if other == 1.0 else other / float(self)


def _above_zero(name: str, value: Any, remedy: str) -> float:
    """Return a number above 0, as the old parameter checked it."""
    try:
        number = math.nan if isinstance(value, bool | str) else float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not 0.0 < number < math.inf:
        raise InputError(f"{Parameter(name, value)} is not a finite number above 0: {remedy}")
    return number


def _listed(value: Any) -> list[Any] | None:
    """Return several values as a list; None of one."""
    plain = value.tolist() if hasattr(value, "tolist") else value
    return list(plain) if isinstance(plain, Iterable) and not isinstance(plain, str | Mapping | Iterator) else None


def _reciprocals(value: Any, _: Mapping[str, Any]) -> Mapping[str, Any]:
    """1 / C, or that of each."""
    several = _listed(value)
    prices = [
        _above_zero("C", each, "it is the price of the slack") for each in ([value] if several is None else several)
    ]
    made = [_Reciprocal(1.0 / price, price) for price in prices]
    return {"strength": made[0] if several is None else made}


def _prices(parameters: Mapping[str, Any]) -> Any:
    several = _listed(parameters["strength"])
    made = [1.0 / each if each else math.inf for each in ([parameters["strength"]] if several is None else several)]
    return made[0] if several is None else made


def _precision(value: Any, _: Mapping[str, Any]) -> Mapping[str, Any]:
    """prior_deviation ** -2."""
    if value is None or (isinstance(value, float) and value == math.inf):
        return {"strength": 0.0}
    remedy = "or give None for no prior"
    deviation = _above_zero("prior_deviation", value, remedy)
    try:
        return {"strength": _Changed(deviation**-2, deviation)}
    except OverflowError:
        raise InputError(f"{Parameter('prior_deviation', value)} is too near to 0: {remedy}") from None


def _deviation(parameters: Mapping[str, Any]) -> float | None:
    strength = parameters["strength"]
    if isinstance(strength, _Changed):
        return strength.before
    return float(strength) ** -0.5 if strength > 0 else None


def _l2_and_l1(parameters: Mapping[str, Any]) -> tuple[Any, Any]:
    """Return how strong the L2 and the L1 penalty of a learner of soft weights are."""
    penalty, strength = parameters.get("penalty", "l2"), parameters.get("strength", 1.0)
    several = _listed(strength)
    if penalty == "elastic" and several is not None and len(several) == 2:
        return several[0], several[1]
    return (0.0, strength) if penalty == "l1" else (strength, 0.0)


def _soft(l2: Any, l1: Any) -> Mapping[str, Any]:
    if isinstance(l1, int | float) and l1 == 0:
        return {"penalty": "l2", "strength": l2}
    if isinstance(l2, int | float) and l2 == 0:
        return {"penalty": "l1", "strength": l1}
    return {"penalty": "elastic", "strength": [l2, l1]}


# ---- the tables --------------------------------------------------------------------------------------------

_ROLES = {name: f"roles=Roles.{name}" for name in ("drop", "query", "hidden", "empty")}
_EVIDENCE = ("source", "model", "given", "target", "duplicates", "empty", "replace", "drop")
_VIEW = {name: f"options=SQLOptions.{name}" for name in ("target", "view", "tables", "columns", "scopes", "partial")}
_SOLUTION = {name: f"solution=OutsideSolution.{name}" for name in ("path", "format", "exported", "bound")}


def _advanced(name: str, *parameters: str, value: bool = False, optional: int = 0) -> Old:
    return Old(f"db.advanced.{name}", f"advanced.{name}", parameters, _ROLES, value=value, optional=optional)


NAMES: Mapping[str, Mapping[str, Old]] = {
    "Database": {
        "load_all": Old(
            "db.load(folder or mapping, types=...)", "load", ("sources", "types"), {"sources": "predicate"}, optional=1
        ),
        "load_evidence": Old(
            "db.load(sqlrl.Evidence(source, model, ...))",
            "load",
            ("source", "model"),
            {name: f"predicate=Evidence.{name}" for name in _EVIDENCE},
            optional=1,
            alone=True,
        ),
        "load_soft_data": Old(
            "db.load(model), or db.load(sqlrl.SoftData(model, split=...))",
            "load",
            ("model",),
            {name: f"predicate=SoftData.{name}" for name in ("model", "split", "folder")},
            alone=True,
        ),
        "register": Old(
            "db.load(name, data, mode='view')",
            "load",
            ("name", "data"),
            {"name": "predicate", "data": "source"},
            {"mode": "view"},
            alone=True,
        ),
        "remove": Old(
            "db.load(predicate, source, mode='remove')",
            "load",
            ("predicate", "source"),
            defaults={"mode": "remove"},
            alone=True,
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
        "clusters": Old(
            "prediction.clusters(predicate)", "clusters", ("prediction", "predicate"), on="prediction", optional=1
        ),
        "count_difference": Old(
            "db.count(model, world=..., against=...)",
            "count",
            ("model", "world", "other"),
            {"other": "against", **_ROLES},
            {"other": "observed"},
            optional=1,
        ),
        "expected_counts": Old(
            "db.count(model, expected=True)", "count", ("model", "examples"), _ROLES, {"expected": True}, optional=1
        ),
        "constraint_costs": Old(
            "db.diagnose(model, kind='costs')", "diagnose", ("model", "examples"), _ROLES, {"kind": "costs"}, optional=1
        ),
        "overlap": Old(
            "db.diagnose(model, kind='overlap')",
            "diagnose",
            ("model", "examples"),
            _ROLES,
            {"kind": "overlap"},
            optional=1,
        ),
        "explain": Old("model.plan(db)", "advanced.plan", ("model",), _ROLES),
        "export_sql": Old(
            "db.export(model, format='sql', options=sqlrl.SQLOptions(...))",
            "export",
            ("model", "target"),
            {**_VIEW, **_ROLES},
            {"format": "sql"},
            optional=1,
        ),
        "model": Old(
            "db.models[number or name], db.models[-1] for the newest",
            "models.__getitem__",
            ("model",),
            rewrite=lambda given: {"key": -1 if given.get("model") is None else given["model"]},
            optional=1,
        ),
        "keep_model": Old("db.models[name] = model, or db.models.keep(name, model)", "models.keep", ("name", "model")),
        "drop_model": Old("del db.models[name]", "models.__delitem__", ("name",)),
        "run_record": Old(
            "db.runs[number], db.runs[-1] for the newest",
            "runs.__getitem__",
            ("run",),
            rewrite=lambda given: {"key": -1 if given.get("run") is None else given["run"]},
            optional=1,
        ),
        "candidates": Old("templates.candidates(db, model)", "advanced.learning.candidates", ("templates", "model")),
        "derive_bias": Old("sqlrl.Bias.derive(db, target)", "advanced.learning.derived_bias", ("target",)),
        "ground": _advanced("ground", "model"),
        "program": _advanced("program", "model"),
        "bind": _advanced("bind", "model"),
        "example_ids": _advanced("example_ids", "examples", optional=1),
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
    "Database.diagnose": OldArguments(positions=("examples",), values={"kind": {"rules": "paper"}}),
    "Database.export": OldArguments(_ROLES, after=2),
    "EgoNetworks": OldArguments({"seed": "random_state"}, after=99),
    "k_fold": OldArguments({"seed": "random_state"}, after=99),
    "fit": OldArguments(
        dict.fromkeys(("on_window", "on_iteration", "on_step", "on_seed"), "callback"), ("examples",), after=2
    ),
}
"""By the method: its arguments under their old names."""

_STRENGTH = OldParameter(("strength",))
_LAMBDA = OldParameter(("strength",), option="--lambda")
_ITERATIONS = OldParameter(("max_iterations",))
_LOSS = OldParameter(("loss",))
_DEVIATION = OldParameter(
    ("strength",), f"{Parameter('strength')}, which is 1 / (deviation * deviation)", change=_precision, back=_deviation
)
_SOFT = {
    "prior": OldParameter(
        ("penalty", "strength"),
        f"{Parameter('strength')} with {Parameter('penalty', 'l2')}",
        change=lambda value, before: _soft(value, _l2_and_l1(before)[1]),
        back=lambda now: _l2_and_l1(now)[0],
    ),
    "l1": OldParameter(
        ("penalty", "strength"),
        f"{Parameter('strength')} with {Parameter('penalty', 'l1')}, or of both with {Parameter('penalty', 'elastic')}",
        change=lambda value, before: _soft(_l2_and_l1(before)[0], value),
        back=lambda now: _l2_and_l1(now)[1],
    ),
}

PARAMETERS: Mapping[str, Mapping[str, OldParameter]] = {
    "AdaGrad": {"regularization": _LAMBDA},
    "CDA": {"sigma": _STRENGTH, "label_loss": _LOSS},
    "ContrastiveDivergence": {"regularization": _LAMBDA, "steps": OldParameter(("step_size",))},
    "MaxMargin": {
        "C": OldParameter(("strength",), f"{Parameter('strength')}, which is 1 / C", change=_reciprocals, back=_prices),
    },
    "HingeOptions": {"iterations": _ITERATIONS},
    "MIRA": {"label_loss": _LOSS},
    "OSL": {"regularization": _LAMBDA},
    "PSCG": {"iterations": _ITERATIONS, "prior_deviation": _DEVIATION},
    **{name: {"penalty": OldParameter(("literal_cost",))} for name in ("MSL", "Searching", "Transfer")},
    "SoftMapLikelihood": {"iterations": _ITERATIONS, **_SOFT},
    "SoftPiecewiseLikelihood": _SOFT,
    "SoftPseudoLikelihood": _SOFT,
    "SoftStructure": _SOFT,
    "Subgradient": {"sigma": _STRENGTH},
    "VotedPerceptron": {"iterations": _ITERATIONS, "prior_deviation": _DEVIATION},
}
"""By the class, an estimator or a value: its parameters under their old names."""

POSITIONS: Mapping[str, tuple[str, ...]] = {"MaxMargin": ("C",)}
"""By the class: old parameters that could be given by position, where another one stands now or none."""

BASELINES = ("ContrastiveDivergence", "MIRA", "Perceptron", "Subgradient", "VotedPerceptron")

MODULES: Mapping[str, str] = {
    **{f"sqlrl.{name}": f"sqlrl.baselines.{name}" for name in BASELINES},
    "sqlrl.learn.Progress": "sqlrl.learn.WindowProgress",
}
"""Names in modules."""


COMMAND_OPTIONS: Mapping[str, str] = {
    "--eta": "--learning-rate",
    "--marginals": "--probabilities",
    "--seed": "--random-state",
}
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
