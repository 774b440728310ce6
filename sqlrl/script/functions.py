"""The table functions `ML.x` of scripts: what they are asked, which columns they have, and their rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
from sqlglot import exp

from sqlrl.catalog.roles import Roles
from sqlrl.deprecated import new_function, new_option
from sqlrl.engine.nodes import column
from sqlrl.errors import InputError, ParseError, ScriptError, SqlrlError
from sqlrl.ground.clauses import names_of_types
from sqlrl.ground.groups import group_columns, variable_names
from sqlrl.logic.lexer import nearest
from sqlrl.logic.model import Model, Rule
from sqlrl.logic.printer import format_rule
from sqlrl.logic.psl import SoftModel
from sqlrl.script.plain import has_order
from sqlrl.script.settings import Context, in_sql
from sqlrl.script.statements import Call, QueryText, ScriptVariable, Setting, Text

Rows = Callable[[QueryText], pa.Table]
"""Returns the rows of a query that stands in brackets."""

_ROLES = ("drop", "query", "hidden", "empty")
_CHOICES = ("limit", *_ROLES)
_EFFORT = ("method", "random_state", "observed_bodies", "missing", "deterministic_limit", *_CHOICES, "semantics")
_SAMPLING = ("method", "samples", "burn_in", "chains", "random_state", "time_limit", *_CHOICES, "semantics")
_SWITCHES = ("expected", "probabilities", "neutral", "observed_bodies")
_OF_QUERIES = ("world",)

_RULES = pa.schema(
    {
        "clause": pa.int64(),
        "text": pa.string(),
        "weight": pa.float64(),
        "hard": pa.bool_(),
        "origin": pa.string(),
        "step": pa.int64(),
    }
)
_STEPS = pa.schema(
    {
        "step": pa.int64(),
        "example": pa.string(),
        "atoms": pa.int64(),
        "correct": pa.int64(),
        "loss": pa.float64(),
        "objective": pa.float64(),
        "bound": pa.float64(),
        "optimality": pa.float64(),
    }
)


@dataclass(frozen=True)
class FunctionCall:
    """A function with its arguments as Python values."""

    context: Context
    call: Call
    model: Model | SoftModel
    name: str  # of the model
    examples: pa.Table | None  # their names; None for all
    text: str | None  # the argument in quotes
    options: Mapping[str, Any]

    @property
    def db(self) -> Any:
        """The database, whose verbs refuse what does not go with the kind of model."""
        return self.context.db

    @property
    def kept(self) -> Mapping[str, Any]:
        """The row of the model among those that have names."""
        return next(row for row in self.context.db.models() if str(row["name"]).casefold() == self.name.casefold())

    def targets(self) -> list[str]:
        """Return the predicates that are predicted, as far as the model and the data say it."""
        opened = {
            name
            for name, role in self.context.db.advanced.catalog.store.sources()
            if role in ("label", "given", "soft")
        }
        opened |= {x.predicate for x in self.context.db.advanced.catalog.store.predicates().values() if x.scope}
        return sorted((opened & self.model.predicates.keys()) | set(self.model.query))

    def target(self) -> str:
        """Return the predicate that is asked for."""
        targets = self.targets()
        if self.text is not None:
            if self.text not in targets:
                raise InputError(
                    f"{self.text!r} is no predicate that {self.name} predicts{nearest(self.text, targets) or _listed(targets)}"
                )
            return self.text
        if len(targets) != 1:
            which = (
                f"predicts {', '.join(targets)}: name one, as in ML.{self.call.name}(MODEL {self.name}, 'Predicate')"
            )
            raise InputError(
                f"{self.name} {which if targets else 'predicts nothing: no predicate has labels, and it names none'}"
            )
        return targets[0]


def _listed(names: Iterable[str]) -> str:
    known = ", ".join(names)
    return f"; it predicts {known}" if known else ""


@dataclass(frozen=True)
class Function:
    """A table function: what it computes, and what it takes."""

    rows: Callable[[FunctionCall], pa.Table]
    columns: Callable[[FunctionCall], pa.Schema]  # returns its columns without computing it
    examples: bool = False  # whether it takes examples
    text: str = ""  # what its argument in quotes is; "" if it has none
    options: tuple[str, ...] = ()  # the names of those that it takes


# ---- their rows --------------------------------------------------------------------------------------


def _predict(call: FunctionCall) -> pa.Table:
    target = call.target()
    margins = {} if _is_soft(call) else {"margins": True}
    return call.db.predict(call.model, examples=call.examples, **margins, **call.options).atoms(target, every=True)


def _is_soft(call: FunctionCall) -> bool:
    return isinstance(call.model, SoftModel) and call.options.get("semantics") != "boolean"


def _predicted(call: FunctionCall) -> pa.Schema:
    if _is_soft(call):
        return _atoms(call, {"value": pa.float64()})
    return _atoms(call, {"truth": pa.bool_(), "margin": pa.float64()})


def _atoms(call: FunctionCall, columns: Mapping[str, pa.DataType]) -> pa.Schema:
    model = call.db.advanced.catalog.typed(call.model) if isinstance(call.model, SoftModel) else call.model
    names = names_of_types(model.predicates[call.target()].types)
    return pa.schema({"example": pa.string(), **dict.fromkeys(names, pa.string()), **columns})


def _probabilities(call: FunctionCall) -> pa.Table:
    target = call.target()
    return call.db.probabilities(call.model, examples=call.examples, **call.options).atoms(target)


def _probable(call: FunctionCall) -> pa.Schema:
    return _atoms(
        call,
        {
            "probability": pa.float64(), "error": pa.float64(), "rhat": pa.float64(), "ess": pa.float64(), "method": pa.string(),
        },
    )  # fmt: skip


def _evaluate(call: FunctionCall) -> pa.Table:
    options = dict(call.options)
    probabilities, by = options.pop("probabilities", False), options.pop("by", "predicate")
    if by not in ("predicate", "example"):
        raise InputError(f"by => {by!r}: choose 'predicate' or 'example'")
    taken, other = (_SAMPLING, _EFFORT) if probabilities else (_EFFORT, _SAMPLING)
    for name in options:
        if name in other and name not in taken:
            how = "leave probabilities out" if probabilities else "add probabilities => true"
            raise InputError(
                f"{name} is an option of {'worlds' if probabilities else 'probabilities'}: leave it out, or {how}"
            )
    find = call.db.probabilities if probabilities else call.db.predict
    scores: Any = find(call.model, examples=call.examples, **options).evaluate()
    if by == "predicate":
        return scores.table().to_arrow()
    if probabilities or _is_soft(call):
        return scores.by_example().table().to_arrow()
    return scores.example_table().to_arrow()


def _evaluated(call: FunctionCall) -> pa.Schema:
    options = dict(call.options)
    numbers: tuple[str, ...]
    if options.get("by") == "example":
        raise InputError(
            "the columns of ML.EVALUATE(..., by => 'example') are known when it is computed: run it without DESCRIBE or EXPLAIN"
        )
    if options.get("probabilities"):
        numbers = ("auc_roc", "average_precision", "log_likelihood", "calibration_error", "brier", "accuracy")
        counts: tuple[str, ...] = ("atoms", "true", "impossible")
    elif _is_soft(call):
        numbers = (
            "auc_roc",
            "average_precision",
            "f1",
            "precision",
            "recall",
            "mean_absolute_error",
            "mean_squared_error",
        )
        counts = ("atoms", "true")
    else:
        numbers, counts = (
            ("f1", "precision", "recall"),
            ("true_positives", "false_positives", "false_negatives", "atoms"),
        )
    return pa.schema(
        {"predicate": pa.string(), **dict.fromkeys(numbers, pa.float64()), **dict.fromkeys(counts, pa.int64())}
    )


def _weights(call: FunctionCall) -> pa.Table:
    store = call.db.advanced.catalog.store
    mine = column("model").eq(exp.convert(call.kept["model"]))
    query = exp.select(*map(column, _RULES.names)).from_(store.table("clause")).where(mine).order_by(column("clause"))
    return store.engine.fetch(query, step="read the clauses of a model").cast(_RULES)


def _training(call: FunctionCall) -> pa.Table:
    store, run = call.db.advanced.catalog.store, call.kept["run"]
    if run is None:
        raise InputError(f"{call.name} was not learned, so that there is nothing to tell of its training")
    mine = column("run").eq(exp.convert(run))

    def rows(table: str, columns: Mapping[str, str]) -> pa.Table:
        query = (
            exp.select(*map(column, columns))
            .from_(store.table(table))
            .where(mine.copy())
            .order_by(column(next(iter(columns))))
        )
        found = store.engine.fetch(query, step="read what a learner did").rename_columns(list(columns.values()))
        for name in _STEPS.names:
            if name not in found.column_names:
                found = found.append_column(name, pa.nulls(len(found), _STEPS.field(name).type))
        return found.select(_STEPS.names).cast(_STEPS)

    same = {name: name for name in ("step", "atoms", "correct", "loss")}
    steps = rows("step", {**same, "example_name": "example"})
    own = {name: name for name in ("objective", "bound", "optimality")}
    return pa.concat_tables([steps, rows("iteration", {"iteration": "step", **own})])


def _explain(call: FunctionCall) -> pa.Table:
    if call.text is None:
        raise InputError(f"the atom is missing: ML.EXPLAIN(MODEL {call.name}, 'Smokes(Anna)')")
    options = dict(call.options)
    example, neutral = options.pop("example", None), options.pop("neutral", False)
    examples = call.examples if call.examples is not None or example is None else [example]
    reasons = call.db.predict(call.model, examples=examples, **options).why(call.text, example=example, neutral=neutral)
    return _beside(reasons.table.to_arrow(), reasons.head)


def _beside(table: pa.Table, values: Mapping[str, Any]) -> pa.Table:
    """Put columns of one value before those of a table."""
    for place, (name, value) in enumerate(values.items()):
        table = table.add_column(place, name, pa.array([value] * len(table), pa.scalar(value).type))
    return table


def _explained(call: FunctionCall) -> pa.Schema:
    if _is_soft(call):
        first: dict[str, pa.DataType] = {
            "atom": pa.string(),
            "value": pa.float64(),
            "side": pa.string(),
            "rule": pa.string(),
            "hinge": pa.string(),
        }
        rest = {
            "weight": pa.float64(),
            "times": pa.int64(),
            "distance": pa.float64(),
            "slack": pa.float64(),
            "push": pa.float64(),
        }
    else:
        first = {
            "atom": pa.string(),
            "truth": pa.bool_(),
            "margin": pa.float64(),
            "side": pa.string(),
            "clause": pa.string(),
        }
        rest = {"ground_clause": pa.string(), "weight": pa.float64(), "times": pa.int64(), "contribution": pa.float64()}
    return pa.schema({**first, **rest})


def _count(call: FunctionCall) -> pa.Table:
    if call.options.get("expected"):
        return _expected(call)
    found = call.db.count(_network(call), formula=call.text, examples=call.examples, **call.options).to_arrow()
    # Large counts are of another type, which whoever keeps them in a table has to know before.
    wide = [pa.field(f.name, _COUNT if f.name in _COUNTS else f.type) for f in found.schema]
    return found.cast(pa.schema(wide))


_COUNT, _COUNTS = pa.decimal128(38), ("n", "groundings", "applies", "violated")


def _network(call: FunctionCall) -> Model:
    if not isinstance(call.model, Model):
        raise InputError(
            f"{call.name} is a program of soft logic, whose rules hold by degrees: ML.{call.call.name} counts those of Markov logic networks"
        )
    return call.model


def _counted(call: FunctionCall) -> pa.Schema:
    if call.options.get("expected"):
        return _EXPECTED
    by = call.options.get("by")
    if by is None:
        return pa.schema(
            {
                "clause": pa.int64(), "text": pa.string(), "n": _COUNT, "groundings": _COUNT, "applies": _COUNT,
                "weight": pa.float64(),
            }
        )  # fmt: skip
    *variables, clause, groundings, n, violated, applies = group_columns(variable_names(by))
    return pa.schema(
        {
            **dict.fromkeys(variables, pa.string()),
            clause: pa.int64(),
            **dict.fromkeys((groundings, n, violated, applies), _COUNT),
        }
    )


def _expected(call: FunctionCall) -> pa.Table:
    found = call.db.count(_network(call), formula=call.text, examples=call.examples, **call.options).to_arrow()
    return found.cast(_EXPECTED)


_EXPECTED = pa.schema(
    {
        "clause": pa.int64(),
        "text": pa.string(),
        "n_observed": _COUNT,
        "n_expected": pa.float64(),
        "difference": pa.float64(),
        "groundings": _COUNT,
        "weight": pa.float64(),
    }
)


def _diagnose(call: FunctionCall) -> pa.Table:
    _diagnosed(call)  # refuses kinds that have other columns
    found = call.db.diagnose(_network(call), examples=call.examples, **call.options)
    if call.options.get("kind", "quality") == "quality":
        return found.table.to_arrow().cast(_diagnosed(call))
    return found.found.to_arrow()


def _diagnosed(call: FunctionCall) -> pa.Schema:
    from sqlrl.structure.diagnosis.diagnosis import BINS_SCHEMA
    from sqlrl.structure.diagnosis.quality import QUALITY_SCHEMA

    kind = call.options.get("kind", "quality")
    if kind not in ("quality", "paper"):
        raise InputError(f"kind => {kind!r}: choose 'quality' or 'paper'{nearest(str(kind), ('quality', 'paper'))}")
    return QUALITY_SCHEMA if kind == "quality" else BINS_SCHEMA


def rules_table(model: Model | SoftModel) -> pa.Table:
    """Return the rules of a model: `rule` (from 0), `text`, `weight` (log-odds; NULL if hard or not there), `hard`."""
    texts = [format_rule(rule) if isinstance(rule, Rule) else str(rule) for rule in model.rules]
    return pa.table(
        {
            "rule": pa.array(range(len(model.rules)), pa.int64()),
            "text": pa.array(texts, pa.string()),
            "weight": pa.array([None if rule.hard else rule.weight for rule in model.rules], pa.float64()),
            "hard": pa.array([rule.hard for rule in model.rules], pa.bool_()),
        }
    )


FUNCTIONS: Mapping[str, Function] = {
    "PREDICT": Function(_predict, _predicted, True, "a predicate that the model predicts", _EFFORT),
    "PROBABILITIES": Function(_probabilities, _probable, True, "a predicate that the model predicts", _SAMPLING),
    "EVALUATE": Function(
        _evaluate, _evaluated, True, "", ("probabilities", "by", *dict.fromkeys((*_EFFORT, *_SAMPLING)))
    ),
    "WEIGHTS": Function(_weights, lambda _: _RULES),
    "TRAINING_INFO": Function(_training, lambda _: _STEPS),
    "EXPLAIN": Function(
        _explain, _explained, True, "the atom, such as 'Smokes(Anna)'", ("example", "neutral", *_EFFORT)
    ),
    "COUNT": Function(
        _count,
        _counted,
        True,
        "a rule, such as 'Smokes(x) => Cancer(x)'",
        ("by", "groups", "most_groups", "world", "expected", *_CHOICES),
    ),
    "DIAGNOSE": Function(
        _diagnose,
        _diagnosed,
        True,
        "",
        ("kind", "threshold", "samples", "burn_in", "chains", "random_state", *_CHOICES),
    ),
}


# ---- asking them -------------------------------------------------------------------------------------


def answer(context: Context, call: Call, rows: Rows, *, columns_alone: bool) -> pa.Table:
    """Return the rows of a function; with `columns_alone` none, without computing them. Errors are at its place in the script."""
    name, preset = new_function(call.name.text.upper())
    function = FUNCTIONS.get(name)
    if function is None:
        hint = nearest(call.name.text, FUNCTIONS) or f"; there are {', '.join(FUNCTIONS)}"
        raise context.source.error(f"there is no function ML.{call.name}{hint}", call.name.at)
    if call.model is None:
        raise context.source.error(f"the model is missing: ML.{call.name}(MODEL name)", call.name.at)
    with context.at(call.model.at):
        model = context.db.models[call.model.text]
    asked = _asked(context, call, function, model, rows, columns_alone=columns_alone)
    asked = replace(asked, options={**asked.options, **preset})
    with context.at(call.name.at), _in_text(context, call):
        if columns_alone:
            return function.columns(asked).empty_table()
        found = function.rows(asked)
        return found.combine_chunks() if found.num_rows else found


@contextmanager
def _in_text(context: Context, call: Call) -> Iterator[None]:
    """Show errors in the text that a function is given, an atom or a rule, where they are in the script."""
    try:
        yield
    except ScriptError:
        raise
    except SqlrlError as error:
        located = error if isinstance(error, ParseError) else error.located
        text = next((each.value for each in call.arguments if isinstance(each.value, Text)), None)
        if text is None or located is None or not located.text or located.text not in text.text:
            raise
        raise context.source.within(located, located.problem.worded(in_sql), text.at) from error


def _asked(
    context: Context, call: Call, function: Function, model: Any, rows: Rows, *, columns_alone: bool
) -> FunctionCall:
    """Read the arguments of a function."""
    examples: pa.Table | None = None
    text: str | None = None
    for each in call.arguments:
        plain = context.plain(each) if isinstance(each.value, Text | ScriptVariable) else None
        if isinstance(each.value, QueryText) and function.examples and examples is None:
            examples = None if columns_alone else names_of_examples(context, each.value, rows(each.value))
        elif isinstance(plain, str) and function.text and text is None:
            text = plain
        else:
            raise context.source.error(_wanted(call, function), each.at)
    options: dict[str, Any] = {}
    known = {name.casefold(): name for name in function.options}
    for setting in call.settings:
        name = known.get(new_option(setting.name.text.casefold(), known))
        if name is None:
            hint = nearest(setting.name.text, known) or (
                f"; there are {', '.join(known)}" if known else ": it has none"
            )
            raise context.source.error(f"ML.{call.name} has no option {setting.name}{hint}", setting.name.at)
        value: Any = setting.value.value
        if isinstance(value, QueryText) and name not in _OF_QUERIES:
            raise context.source.error(f"{name} takes a value, and no query", setting.value.at)
        if isinstance(value, Text | ScriptVariable) and name in _OF_QUERIES:
            _check_world(context, setting)
        options[name] = (
            rows(value) if isinstance(value, QueryText) and not columns_alone else context.plain(setting.value)
        )
        if name in _SWITCHES and not isinstance(options[name], bool):
            raise context.source.error(f"{name} must be true or false", setting.value.at)
    assert call.model is not None
    roles = {name: options.pop(name) for name in _ROLES if name in options}
    if roles:
        with context.at(call.name.at):
            options["roles"] = Roles(**roles)
    return FunctionCall(context, call, model, call.model.text, examples, text, options)


def _check_world(context: Context, setting: Setting) -> None:
    """Refuse a text as the rows of a world in an untrusted database: it may be the path of a file, of which not even is told that there is one."""
    if not context.db.advanced.engine.trusted and context.plain(setting.value) != "observed":
        raise context.source.error(
            f"{setting.name} takes 'observed' or a query in an untrusted database, as {setting.name} => (FROM rows)",
            setting.value.at,
        )


def _wanted(call: Call, function: Function) -> str:
    """Say what arguments a function takes."""
    takes = ["MODEL name"]
    if function.examples:
        takes.append("a query of examples in brackets")
    if function.text:
        takes.append(function.text)
    return f"ML.{call.name} takes {', '.join(takes)}, each once; options are written name => value"


def names_of_examples(context: Context, query: QueryText, rows: pa.Table) -> pa.Table:
    """Return the examples that a query has found, each once: its only column, or the one that is called example."""
    if rows.num_columns > 1 and "example" not in rows.column_names:
        raise context.source.error(
            f"this query has {rows.num_columns} columns ({', '.join(rows.column_names)}), none of which is called example: select the names of the examples",
            query.at,
        )
    names = (rows.column("example") if "example" in rows.column_names else rows.column(0)).combine_chunks().unique()
    if not len(names):
        raise context.source.error("this query of examples has no rows", query.at)
    if names.null_count:
        raise context.source.error("this query of examples has a row without a name (NULL)", query.at)
    # Without ORDER BY they are in the order of the data: DuckDB may return rows in any order, and what an online learner learns depends on it.
    if not has_order(query.text):
        store = context.db.advanced.catalog.store
        listed = exp.select(column("name"), column("ordinal")).from_(store.table("example"))
        place = {row["name"]: row["ordinal"] for row in store.rows(listed, "read the order of the examples")}
        texts = [str(name) for name in names.to_pylist()]
        order = sorted(range(len(texts)), key=lambda i: (place.get(texts[i], len(place)), texts[i]))
        names = names.take(pa.array(order, pa.int64()))
    return pa.table({"example": names})
