"""CREATE MODEL: which learner its options make, of what rules and examples it learns, and what comes of that."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache, partial
from inspect import Parameter, signature
from typing import Any, cast

from sqlrl.deprecated import old_parameters
from sqlrl.errors import InputError, NotFittedError, ParseError, SqlrlError
from sqlrl.learn.fitted import Configured
from sqlrl.learn.parameters import REQUIRED, Declaration, declarations, parameter_meant, parse_value
from sqlrl.logic.bias_parser import parse_bias, read_bias
from sqlrl.logic.files import parse_model, read_model
from sqlrl.logic.grammar_parser import parse_grammar, read_grammar
from sqlrl.logic.lexer import nearest
from sqlrl.logic.mapping_parser import parse_mapping, read_mapping
from sqlrl.logic.model import Model, Rule
from sqlrl.logic.modes import parse_modes, read_modes
from sqlrl.logic.psl import SoftModel
from sqlrl.logic.psl_files import parse_psl, read_psl
from sqlrl.script.settings import Context, StatementOptions
from sqlrl.script.statements import CreateModel, QueryText, ScriptVariable, Text, Value
from sqlrl.wording import counted

AUTO = "auto"
"""In place of a learner: the one that the data choose."""

TEXTS: Mapping[str, tuple[Callable[[str], Any], Callable[[str], Any]]] = {
    "bias": (read_bias, parse_bias),
    "mapping": (read_mapping, parse_mapping),
    "modes": (read_modes, parse_modes),
    "templates": (read_grammar, parse_grammar),
}
"""Parameters of learners that are texts in languages of their own: how a file is read, and a text that stands in the script."""

WITHOUT_RULES = ("ilp", "msl", "soft-structure")
"""Learners that find rules, and need none."""

OF_RULES = ("format", "target", "drop")
"""Options that say what the rules are."""

SOFT_FILES = (".psl", ".yaml", ".yml")


@cache
def learners() -> Mapping[str, type[Configured]]:
    """Return all learners by their words."""
    # The package lists what it offers; this room knows no learner by itself.
    import sqlrl
    from sqlrl import baselines

    found: list[Any] = [getattr(home, name) for home in (sqlrl, baselines) for name in home.__all__]
    kinds = [each for each in found if isinstance(each, type) and issubclass(each, Configured) and each.word]
    return {each.word: each for each in sorted(kinds, key=lambda kind: kind.word)}


@dataclass(frozen=True)
class Made:
    """What a CREATE MODEL made: a model, or an estimator that has learned one, and that in words."""

    model: Any
    note: str


def create_model(context: Context, statement: CreateModel, examples: Any) -> Made:
    """Make the model of a statement; `examples` are those that its query has found."""
    given = StatementOptions(context, statement.settings)
    word = given.text("learner")
    if word is None and statement.examples is not None:
        raise context.source.error(
            "TRAINED ON says what to learn from, and no learner is named: add OPTIONS (learner = 'auto')",
            statement.examples.at,
        )
    if word is not None and word != AUTO and word not in learners():
        known = ", ".join((AUTO, *learners()))
        found = given.value("learner")
        assert found is not None
        raise context.source.error(
            f"there is no learner {word!r}{nearest(word, [AUTO, *learners()]) or f'; there are {known}'}", found.at
        )
    if word is None:
        model = _rules(context, statement, given, soft=False)
        given.remaining((), "a model that nobody learns")
        if model is None:
            raise context.source.error(
                "the rules are missing: AS $$ ... $$, FROM 'file' or FROM MODEL name", statement.name.at
            )
        return Made(model, counted(len(model.rules), "rule"))
    return _learned(context, statement, given, word, examples)


# ---- rules -------------------------------------------------------------------------------------------


def _rules(
    context: Context, statement: CreateModel, given: StatementOptions, *, soft: bool
) -> Model | SoftModel | None:
    """Return the model that a statement begins with; None if it gives none."""
    language, targets = given.text("format"), given.texts("target")
    if language not in (None, "mln", "psl"):
        found = given.value("format")
        assert found is not None
        raise context.source.error(f"format = {language!r}: choose 'mln' or 'psl'", found.at)
    trusted = context.db.advanced.engine.trusted
    model: Model | SoftModel | None = None
    if statement.rules is not None:
        soft = soft if language is None else language == "psl"
        with context.inside(statement.rules):
            text = statement.rules.text
            model = (
                parse_psl(text, query=targets, trusted=trusted)
                if soft
                else parse_model(text, path="the rules", trusted=trusted)
            )
    elif statement.file is not None:
        path = context.admitted(statement.file.text, statement.file.at)
        soft = soft or path.endswith(SOFT_FILES) if language is None else language == "psl"
        with context.at(statement.file.at):
            model = read_psl(path, query=targets, trusted=trusted) if soft else read_model(path, trusted=trusted)
    elif statement.model is not None:
        with context.at(statement.model.at):
            model = context.db.models[statement.model.text]
    drop = given.texts("drop")
    if model is None:
        return None
    with context.at(statement.name.at):
        if isinstance(model, Model) and targets:
            unknown = [name for name in targets if name not in model.predicates]
            if unknown:
                raise InputError(
                    f"target = {unknown[0]!r} is no predicate of the model{nearest(unknown[0], model.predicates)}"
                )
            model = replace(model, query=frozenset(targets))
        return model.without(drop) if drop else model


def read_rule(model: Model, text: str, *, trusted: bool) -> Rule:
    """Return the one rule that a text says in the predicates of a model; ParseError, with places in the text, if it says none or several."""
    before = str(model.with_rules(())).rstrip("\n") + "\n"
    try:
        found = parse_model(before + text, path="the rule", trusted=trusted)
    except SqlrlError as error:
        located = error if isinstance(error, ParseError) else error.located
        if located is None:
            raise
        line = max(located.line - before.count("\n"), 1)
        raise ParseError(
            located.problem, text=located.text, line=line, column=located.column, path=located.path
        ) from error
    rules = found.rules
    # An atom alone, of an unknown predicate, is a declaration.
    unknown = [name for name in found.predicates if name not in model.predicates]
    if unknown:
        known = f"; there are {', '.join(model.predicates)}"
        raise ParseError(
            f"unknown predicate {unknown[0]!r}{nearest(unknown[0], model.predicates) or known}", path="the rule"
        )
    if len(rules) != 1:
        raise ParseError(f"give one rule, not {len(rules)}", path="the rule")
    return rules[0]


# ---- learners ----------------------------------------------------------------------------------------


def _learned(context: Context, statement: CreateModel, given: StatementOptions, word: str, examples: Any) -> Made:
    """Learn a model."""
    import sqlrl

    db, source = context.db, context.source
    fitting = _fitting(context, given, word)
    constraints = given.value("constraints")
    for name in OF_RULES:
        given.value(name)
    # A slip in an option is said before a long text is read.
    parameters = {} if word == AUTO else _parameters(context, given, word)
    if word != AUTO:
        _check_fitting(context, given, word, fitting)
    model = _rules(context, statement, given, soft=word.startswith("soft-"))
    if model is None and word not in WITHOUT_RULES:
        raise source.error(f"{word} needs rules: AS $$ ... $$, FROM 'file' or FROM MODEL name", statement.name.at)
    if isinstance(model, SoftModel) and word != AUTO and not word.startswith("soft-"):
        raise source.error(
            f"{word} learns Markov logic networks, and this is a program of soft logic: name a learner of its weights, as soft-pseudo-likelihood",
            statement.name.at,
        )
    choice = None
    if word == AUTO:
        with context.at(statement.name.at):
            if not isinstance(model, Model):
                raise InputError(
                    "learner = 'auto' chooses among learners of Markov logic networks: name one of soft-..."
                )
            choice = sqlrl.choose_learner(cast("sqlrl.Database", db), model, examples)
        word = choice.word
        parameters = _parameters(context, given, word)
        _check_fitting(context, given, word, fitting)
    with context.at(statement.name.at):
        estimator: Any = choice.estimator(**parameters) if choice is not None else learners()[word](**parameters)
        if constraints is not None:
            estimator = sqlrl.ConstrainedTraining(estimator, _constraints(context, constraints))
        begun: Any = model
        if model is None and word != "msl":
            begun = _target(given, getattr(estimator, "bias", None))
        estimator.fit(db, begun, examples=examples, **fitting)
    return Made(estimator, _note(word, estimator, chosen=choice.reason if choice is not None else ""))


def _constraints(context: Context, value: Value) -> Any:
    """Return when hard rules take part in learning, one of the modes of `ConstrainedTraining`."""
    import sqlrl

    mode, modes = context.plain(value), declarations(sqlrl.ConstrainedTraining)["mode"].choices
    if mode not in modes:
        raise context.source.error(f"constraints = {mode!r}: choose {', '.join(map(repr, modes))}", value.at)
    return mode


def _target(given: StatementOptions, bias: Any) -> str:
    """Return the predicate about which rules are to be found."""
    named = given.texts("target")
    if len(named) == 1:
        return named[0]
    if bias is not None and not named:
        return str(bias.head.predicate)
    raise InputError("name the predicate that rules are to be about: OPTIONS (target = 'Predicate')")


def _fitting(context: Context, given: StatementOptions, word: str) -> dict[str, Any]:
    """Return what `fit` is given beside model and examples."""
    found: dict[str, Any] = {}
    for name in ("limit", "missing"):
        if given.has(name):
            found[name] = given.take(name)
    start = given.value("start")
    if start is not None:
        plain = context.plain(start)
        with context.at(start.at):
            if word.startswith("soft-"):
                found["start"] = plain
            elif not isinstance(plain, str):
                raise InputError("start names a model whose weights are the first ones, in quotes")
            else:
                found["start"] = context.db.models[plain]
    groups = given.value("groups")
    if groups is not None:
        found["groups"] = context.plain(groups)
    return found


def _check_fitting(context: Context, given: StatementOptions, word: str, fitting: Mapping[str, Any]) -> None:
    """Refuse what is given beside model and examples to a learner whose `fit` does not take it."""
    taken = signature(learners()[word].fit).parameters  # type: ignore[attr-defined]
    if any(each.kind is Parameter.VAR_KEYWORD for each in taken.values()):
        return
    for name in fitting:
        found = given.value(name)
        if name not in taken and found is not None:
            raise context.source.error(f"{word} has no option {name}", found.at)


def _parameters(context: Context, given: StatementOptions, word: str) -> dict[str, Any]:
    """Return the parameters of a learner's constructor, checked against their declarations."""
    kind = learners()[word]
    declared = declarations(kind)
    found: dict[str, Any] = {}

    old = old_parameters(kind)
    for name, value in given.remaining([*declared, *old], word, partial(parameter_meant, names=declared)).items():
        with context.at(value.at):
            if name in old:  # the learner takes it as what it is now
                found[name] = _parameter(context, declared[old[name].new[0]], value)
                continue
            found[name] = _parameter(context, declared[name], value)
            declared[name].check(found[name])
    if "learner" in declared and declared["learner"].default is REQUIRED:
        raise context.source.error(
            f"{word} trains another learner: name that one, and OPTIONS (learner = 'adagrad', constraints = 'l+i')",
            given.settings[0].name.at,
        )
    missing = [name for name, each in declared.items() if each.default is REQUIRED and name not in found]
    if missing:
        how = f"{missing[0]} = 'file' or {missing[0]} = $$ ... $$" if missing[0] in TEXTS else f"{missing[0]} = ..."
        raise context.source.error(
            f"{word} needs {' and '.join(missing)}: OPTIONS (learner = '{word}', {how})", given.settings[0].name.at
        )
    return found


def _parameter(context: Context, declared: Declaration, value: Value) -> Any:
    """Return the value of a parameter: texts of languages are parsed, those of estimators make them."""
    plain, written = context.plain(value), value.value
    if isinstance(written, QueryText):
        raise InputError(f"{declared.name} takes a value, and no query")
    if declared.name in TEXTS and isinstance(plain, str) and plain != "found":
        read, parse = TEXTS[declared.name]
        if isinstance(written, Text) and written.dollar:
            with context.inside(written):
                return parse(plain)
        # A path that whoever runs the script has given it, as with --set, is their own.
        given = isinstance(written, ScriptVariable) and context.given.get(written.name) == plain
        return read(plain if given else context.admitted(plain, value.at))
    if declared.estimator and isinstance(plain, str):
        made = parse_value(plain if "(" in plain else f"{plain}()", learners())
        if not isinstance(made, Configured):
            raise InputError(f"{declared.name} is a learner, such as 'adagrad(delta=2.0)'")
        if not context.db.advanced.engine.trusted:
            _read_within(context, made, value.at)
        return made
    return plain


def _read_within(context: Context, made: Configured, at: int) -> None:
    """Read the files that a learner written as a text names, which it would open itself, where they may be opened."""
    for name, declared in declarations(type(made)).items():
        held = getattr(made, name)
        if isinstance(held, Configured):
            _read_within(context, held, at)
        elif name in TEXTS and isinstance(held, str) and held not in declared.choices and held != "found":
            setattr(made, name, TEXTS[name][0](context.admitted(held, at)))


def _note(word: str, estimator: Any, *, chosen: str) -> str:
    """Say in a line what a learner has learned."""
    try:
        facts = [f"{name} {text}" if name else text for name, text in estimator.facts()]
    except (AttributeError, NotFittedError):
        facts = []
    because = f" (chosen, since {chosen})" if chosen else ""
    return "; ".join([f"{word}{because}", counted(len(estimator.model_.rules), "rule"), *facts[:3]])
