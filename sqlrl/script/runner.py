"""Scripts run statement by statement: what each did, what it prints, and what is left when one fails."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
from sqlglot import exp

from sqlrl import markup
from sqlrl.catalog.delimited import Dialect
from sqlrl.catalog.integrity import is_number
from sqlrl.catalog.records import named_models
from sqlrl.catalog.sources import rows_of_files
from sqlrl.errors import EngineError, InputError, LoadError, ScriptError, SqlrlError, marked, warnings_worded
from sqlrl.ground.limits import GROUNDING_LIMIT
from sqlrl.logic.bins import read_bins
from sqlrl.logic.horn_parser import parse_definitions
from sqlrl.logic.model import Model
from sqlrl.paths import is_file
from sqlrl.plan.view_options import SQLOptions
from sqlrl.report import Table
from sqlrl.script import functions
from sqlrl.script.journal import Journal, Note
from sqlrl.script.learning import create_model, read_rule
from sqlrl.script.plain import Found, Runner
from sqlrl.script.settings import Context, StatementOptions, in_sql
from sqlrl.script.source import ScriptText, Tokens
from sqlrl.script.statements import (
    AddRule,
    Call,
    CreateModel,
    CreatePredicate,
    DescribeModel,
    DropModel,
    ExportModel,
    Files,
    Plain,
    QueryText,
    Rules,
    SetScope,
    Show,
    Statement,
    Value,
    calls_between,
    read_statement,
)
from sqlrl.script.verbs import ScriptedDatabase
from sqlrl.wording import check_characters, counted, shortened


@dataclass(frozen=True)
class Done:
    """A statement that has run."""

    line: int  # where it begins in the script, from 1
    text: str
    note: str  # what it did, in a line: `CREATE MODEL cite: adagrad; 132 rules`
    seconds: float  # wall time
    table: Table | None = None  # the rows of a query
    more: bool = False  # whether the query has more rows than the table
    skipped: bool = False  # whether it had finished before (`resume=True`), and did not run again
    _repr_html_ = markup.field_table

    def __str__(self) -> str:
        """Return what it did, and how long that took."""
        return self.note if self.skipped else f"{self.note} ({self.seconds:.1f} s)"


@dataclass(frozen=True)
class ScriptResult:
    """What a script did: `statements`, each a `Done`; `table` is that of its last query, None without one."""

    statements: tuple[Done, ...]

    @property
    def table(self) -> Table | None:
        """The rows of the last query."""
        return next((each.table for each in reversed(self.statements) if each.table is not None), None)

    def __repr__(self) -> str:
        lines = []
        for each in self.statements:
            lines.append(str(each))
            if each.table is not None:
                lines.append(repr(each.table))
        return "\n".join(lines)

    def _repr_html_(self) -> str | None:
        return self.table._repr_html_() if self.table is not None else None


def run_script(
    db: ScriptedDatabase,
    text: str,
    *,
    path: str = "<script>",
    variables: Mapping[str, Any] | None = None,
    resume: bool = False,
    most: int | None = None,
    on_statement: Callable[[Done], None] | None = None,
) -> ScriptResult:
    """Run a script; `Database.run` explains it. `most` is how many rows of a query are kept."""
    check_characters(text, "the script")
    given: object = {} if variables is None else variables
    if not isinstance(given, Mapping):
        raise InputError(f"variables={shortened(repr(given))}: give a mapping from names to values")
    source = ScriptText(text, path)
    context = Context(db, source, variables or {})
    # All is read before anything runs.
    statements = [(tokens, read_statement(tokens)) for tokens in source.statements()]
    script = _Script(context, most, Journal(context, resume, statements))
    for name, value in (variables or {}).items():
        _set(db, name, value)
    done: list[Done] = []
    try:
        with db.advanced.engine.no_transaction():
            for tokens, statement in statements:
                found = script.run(tokens, statement)
                done.append(found)
                if on_statement is not None:
                    on_statement(found)
            if db.advanced.engine.in_transaction():
                begun = 0 if script.begun is None else script.begun.start
                raise source.error("BEGIN has no COMMIT behind it: what came after BEGIN was rolled back", begun)
    except SqlrlError:
        script.journal.rolled_back()
        raise
    return ScriptResult(tuple(done))


def _set(db: ScriptedDatabase, name: str, value: Any) -> None:
    """Set a variable of DuckDB's."""
    given: object = name
    if not isinstance(given, str) or not name.isidentifier():
        raise InputError(
            f"{shortened(str(given))!r} cannot be the name of a variable: letters, digits and _, as in --set folds=5"
        )
    # In quotes, as it may be a word of SQL.
    quoted = exp.to_identifier(name, quoted=True).sql("duckdb")
    try:
        db.advanced.engine.statement(f"SET VARIABLE {quoted} = $value", {"value": value})
    except EngineError as error:
        raise InputError(
            f"the variable {name} is {_shown(value)}, which is no value of DuckDB's: give a number, a text, a date, or a list or dict of such"
        ) from error


def _shown(value: Any) -> str:
    try:
        return shortened(repr(value))
    except ValueError:  # Python writes no integer of more than 4,300 digits
        return f"a very large {type(value).__name__}"


class _Script:
    """A script at work."""

    def __init__(self, context: Context, most: int | None, journal: Journal) -> None:
        self.context, self.most, self.journal = context, most, journal
        # The last statement that began a transaction of the script's.
        self.begun: Tokens | None = None

    @property
    def db(self) -> ScriptedDatabase:
        return self.context.db

    def run(self, tokens: Tokens, statement: Statement) -> Done:
        """Run a statement, unless it has finished before and the script is resumed."""
        line, _ = self.context.source.place(tokens.start)
        self._check_transaction(tokens, statement)
        start = time.perf_counter()
        plain = self._runner(tokens)
        # What is recorded is read once for all that the entry says, not again for each predicate.
        with self.db.advanced.catalog.store.read_once():
            entry = self.journal.entry(tokens, statement)
        if (before := self.journal.printed(tokens, entry)) is not None:
            return Done(line, tokens.text, f"{before} (had finished before)", 0.0, skipped=True)
        with (
            self.journal.noting(entry) as note,
            self._again(),
            self.context.at(tokens.start),
            warnings_worded(in_sql),
            self.db.advanced.console.progress(_title(tokens)),
        ):
            found = self._run(tokens, statement, plain, note)
            note.result = found.note
        word = tokens.word(0) if isinstance(statement, Plain) else ""
        if word in ("COMMIT", "END"):
            self.journal.committed()
        elif word in ("ROLLBACK", "ABORT"):
            self.journal.rolled_back()
        elif word == "ATTACH":
            self.journal.look_again()
        return replace(found, line=line, text=tokens.text, seconds=time.perf_counter() - start)

    @contextmanager
    def _again(self) -> Iterator[None]:
        """Say, if a resumed script makes anew what is there, how it is written to run again."""
        try:
            yield
        except ScriptError as error:
            if not (
                self.journal.resume and error.problem.startswith("Catalog Error") and "already exists" in error.problem
            ):
                raise
            remedy = "With resume a statement runs again unless it has finished and nothing that it read or made has changed: write CREATE OR REPLACE"
            at = self.context.source.offset(error.line, error.column)
            raise self.context.source.error(f"{marked(error.problem)}\n{remedy}", at) from error

    def _check_transaction(self, tokens: Tokens, statement: Statement) -> None:
        """Refuse statements of ours inside of a transaction of the script's: each has one of its own, so that it is done or not."""
        if tokens.word(0) in ("BEGIN", "START"):
            self.begun = tokens
        ours = not isinstance(statement, Plain) or calls_between(tokens, 0, len(tokens.tokens))
        if self.begun is not None and ours and self.db.advanced.engine.in_transaction():
            raise self.context.source.error(
                "inside BEGIN ... COMMIT no model is learned or asked, and no predicate is loaded: each such statement is a transaction of its own. "
                "Write COMMIT before it",
                tokens.start,
            )

    def _runner(self, tokens: Tokens) -> Runner:
        """Return what runs a statement; the query inside of a function of ours may have others."""

        def answer(call: Call, columns_alone: bool) -> pa.Table:
            return functions.answer(
                self.context, call, lambda query: runner.rows(tokens, query), columns_alone=columns_alone
            )

        runner = Runner(self.context, answer)
        return runner

    def _run(self, tokens: Tokens, statement: Statement, plain: Runner, note: Note) -> Done:
        match statement:
            case CreatePredicate():
                return self._create_predicate(tokens, statement, plain, note)
            case SetScope():
                note.result = f"ALTER PREDICATE {statement.name}: its scope is set"
                with self.context.at(statement.name.at):
                    tuples = plain.stored(tokens, statement.query)
                    with note.together():
                        self.db.scope(statement.name.text, tuples)
                return _note(note.result)
            case CreateModel():
                return self._create_model(tokens, statement, plain, note)
            case AddRule():
                return self._add_rule(statement, note)
            case DropModel():
                note.result = f"DROP MODEL {statement.name}"
                if not (statement.exists and statement.name.text.casefold() not in self._names()):
                    with self.context.at(statement.name.at), note.together():
                        del self.db.models[statement.name.text]
                return _note(note.result)
            case ExportModel():
                return self._export(statement)
            case Show():
                table = self.db.models() if statement.what == "models" else self.db.tables()
                return _rows(f"SHOW {statement.what.upper()}", table.to_arrow(), more=False)
            case DescribeModel():
                with self.context.at(statement.name.at):
                    model = self.db.models[statement.name.text]
                return _rows(f"DESCRIBE MODEL {statement.name}", functions.rules_table(model), more=False)
            case _:
                return self._plain(tokens, plain, note)

    def _plain(self, tokens: Tokens, plain: Runner, note: Note) -> Done:
        verb = _verb(tokens)

        def done(found: Found) -> Done:
            rows, more = found
            if isinstance(rows, pa.Table):
                return _rows(verb, rows, more=more)
            return _note(verb if rows is None else f"{verb}: {counted(rows, 'row')}")

        def keep(run: Callable[[], Found]) -> Found:
            with note.together():
                found = run()
                note.result = done(found).note
            return found

        return done(plain.run(tokens, keep, most=self.most))

    # ---- predicates ------------------------------------------------------------------------------------

    def _create_predicate(self, tokens: Tokens, statement: CreatePredicate, plain: Runner, note: Note) -> Done:
        name, source = statement.name, statement.source
        given = StatementOptions(self.context, statement.settings)
        verb = f"CREATE PREDICATE {name}"
        if isinstance(source, Rules):
            if statement.types is not None:
                raise self.context.source.error(
                    "the types of a predicate that rules define follow from the rules: leave them out", name.at
                )
            variables = given.text("variables") or "lower"
            given.remaining(("variables",), "a predicate that rules define")
            if self._has(name.text, "fact", statement):
                return _note(f"{verb}: is there already")
            with self.context.inside(source.text), note.together():
                define(self.db, name.text, source.text.text, variables)
                note.result = f"{verb}: {self._facts(name.text)}"
            return _note(note.result)
        options = _load_options(self.context, given)
        role = next((role for option, role in _ROLES.items() if options.get(option)), "fact")
        if options["mode"] != "append" and self._has(name.text, role, statement):
            return _note(f"{verb}: is there already")
        rows: Any
        if isinstance(source, Files):
            at = source.names[0].at
            rows = self._files(source, options)
        else:
            at = source.at
            rows = plain.stored(tokens, source)
        with self.context.at(at), note.together():
            self.db.load(name.text, rows, types=statement.types, **options)
            dropped = self.db.advanced.catalog.store.dropped
            left = f", {counted(dropped, 'duplicate row')} dropped" if dropped else ""
            note.result = f"{verb}: {self._facts(name.text)}{left}"
        return _note(note.result)

    def _files(self, source: Files, options: dict[str, Any]) -> Any:
        """Return files as `load` takes them, or for an untrusted database their rows; the options that say how they are written are taken."""
        files = [self.context.admitted(file.text, file.at) for file in source.names]
        if self.db.advanced.engine.trusted:
            return files[0] if len(files) == 1 else files
        for name, file in zip(source.names, files, strict=True):
            if not is_file(file):
                with self.context.at(name.at):
                    raise LoadError(f"{file}: there is no such file; patterns are for databases opened as trusted")
        written = {name: options.pop(name) for name in ("header", "delimiter", "quote") if name in options}
        with self.context.at(source.names[0].at):
            return rows_of_files(files, Dialect(**written))

    def _has(self, name: str, role: str, statement: CreatePredicate) -> bool:
        """Whether a predicate is there and may stay; ScriptError if it is there, and the statement replaces nothing."""
        if statement.replace or (name, role) not in self.db.advanced.catalog.store.sources():
            return False
        if statement.unless:
            return True
        raise self.context.source.error(
            f"{name} is loaded already: CREATE OR REPLACE PREDICATE replaces what is there, IF NOT EXISTS leaves it",
            statement.name.at,
        )

    def _facts(self, name: str) -> str:
        rows = [source.rows for (each, _), source in self.db.advanced.catalog.store.sources().items() if each == name]
        return counted(sum(rows), "row")

    # ---- models ----------------------------------------------------------------------------------------

    def _names(self) -> set[str]:
        return {str(row["name"]).casefold() for row in named_models(self.db.advanced.catalog.store)}

    def _create_model(self, tokens: Tokens, statement: CreateModel, plain: Runner, note: Note) -> Done:
        name = statement.name
        verb = f"CREATE MODEL {name}"
        if not statement.replace and name.text.casefold() in self._names():
            if statement.unless:
                return _note(f"{verb}: is there already")
            raise self.context.source.error(
                f"there is a model {name} already: CREATE OR REPLACE MODEL replaces it, IF NOT EXISTS leaves it",
                name.at,
            )
        with self.context.at(name.at):
            self.db.advanced.engine.check_ready()
        examples = None
        if statement.examples is not None:
            found = plain.rows(tokens, statement.examples)
            examples = functions.names_of_examples(self.context, statement.examples, found)
        made = create_model(self.context, statement, examples)
        note.result = f"{verb}: {made.note}"
        with self.context.at(name.at), note.together():
            self.db.models[name.text] = made.model
        return _note(note.result)

    def _export(self, statement: ExportModel) -> Done:
        file, given = statement.file.text, StatementOptions(self.context, statement.settings)
        with self.context.at(statement.name.at):
            model: Any = self.db.models[statement.name.text]
        verb = f"EXPORT MODEL {statement.name}"
        target = self.context.admitted(file, statement.file.at)
        if not file.endswith(".sql"):
            given.remaining((), f"a model in {file}")
            with self.context.at(statement.file.at):
                model.save(target)
            return _note(f"{verb}: {counted(len(model.rules), 'rule')} in {file}")
        values = given.remaining(("dialect", "target", "view", "partial", "limit"), "a view that scores")
        options = {name: self.context.plain(value) for name, value in values.items()}
        if not isinstance(options.get("partial", False), bool):
            raise self.context.source.error("partial must be true or false", values["partial"].at)
        with self.context.at(statement.name.at):
            dialect, limit = options.pop("dialect", None), options.pop("limit", GROUNDING_LIMIT)
            view = self.db.export(model, format="sql", dialect=dialect, limit=limit, options=SQLOptions(**options))
        with self.context.at(statement.file.at):
            view.write(target)
        left = f", without {counted(len(view.left_out), 'rule')} that join atoms" if len(view.left_out) else ""
        return _note(f"{verb}: the view {view.view} for {view.dialect}{left} in {file}")

    def _add_rule(self, statement: AddRule, note: Note) -> Done:
        with self.context.at(statement.name.at):
            model = self.db.models[statement.name.text]
            if not isinstance(model, Model):
                raise InputError(f"{statement.name} is a program of soft logic: write it anew, with its new rule")
        with self.context.inside(statement.rule):
            rule = read_rule(model, statement.rule.text, trusted=self.db.advanced.engine.trusted)
        if statement.weight is not None:
            weight = self.context.plain(statement.weight)
            if rule.hard or rule.weight is not None:
                raise self.context.source.error(
                    "the rule has a weight or a final . itself: leave WEIGHT out", statement.weight.at
                )
            if isinstance(weight, bool) or not isinstance(weight, int | float):
                raise self.context.source.error("a weight is a number", statement.weight.at)
            if not is_number(weight):
                raise self.context.source.error(
                    "a weight is a finite number, which a double holds", statement.weight.at
                )
            rule = replace(rule, weight=float(weight))
        note.result = f"ALTER MODEL {statement.name}: {counted(len(model.rules) + 1, 'rule')}"
        with self.context.at(statement.rule.at), note.together():
            more = model.with_rules((*model.rules, rule))
            self.db.models[statement.name.text] = replace(more, ranked_by=model.ranked_by)
        return _note(note.result)


_LOADING = {
    "append": "append", "bins": "bins", "bins_from": "bins_from", "columns": "columns", "delimiter": "delimiter", "duplicates": "duplicates", "empty": "empty", "example": "example",
    "fold_case": "fold_case", "given": "given", "header": "header", "nulls": "nulls", "probability": "probability", "quote": "quote",
    "soft": "probability", "target": "target", "truth": "truth", "value": "value",
}  # fmt: skip
"""Options of CREATE PREDICATE, and what `Database.load` calls them."""


_ROLES = {"target": "label", "given": "given", "probability": "soft"}
"""Which role rows have by an option; without one they are facts."""


def _bins(context: Context, value: Value) -> Model | dict[str, int | list[float] | list[str]]:
    """Return where types are cut into pieces, as `Database.load` takes it."""
    plain = context.plain(value)
    texts = (plain if isinstance(plain, list) else [plain]) or [None]
    forms = (
        "bins takes 'type=N' for a number of pieces, 'type=10:25:40' for edges, 'type=2024-01-31:2024-06-30' for dates, a [list] of such "
        "texts, or the name of a model"
    )
    found: dict[str, int | list[float] | list[str]] = {}
    for text in texts:
        if not isinstance(text, str) or isinstance(value.value, QueryText):
            raise context.source.error(forms, value.at)
        if len(texts) == 1 and "=" not in text:
            with context.at(value.at):
                model = context.db.models[text]
            if not isinstance(model, Model):
                raise context.source.error(f"{text} is a program of soft logic, which cuts no type", value.at)
            return model
        try:
            name, pieces = read_bins(text)
        except ValueError:
            raise context.source.error(f"{forms}, not {text!r}", value.at) from None
        if name in found:
            raise context.source.error(f"bins names {name} twice", value.at)
        found[name] = pieces
    return found


def _bins_from(context: Context, value: Value) -> Any:
    """Return the examples whose rows choose edges: the text of a query, or names."""
    plain = context.plain(value)
    named = isinstance(plain, list) and all(isinstance(each, str) for each in plain)
    if not isinstance(value.value, QueryText) and not named:
        raise context.source.error(
            "bins_from takes a (query) of one column, or a [list] of names of examples", value.at
        )
    return plain


def _load_options(context: Context, given: StatementOptions) -> dict[str, Any]:
    """Return the options of a load as `Database.load` takes them."""
    values = given.remaining(list(_LOADING), "CREATE PREDICATE")
    special = {"bins": _bins, "bins_from": _bins_from}
    options = {_LOADING[name]: special.get(name, Context.plain)(context, value) for name, value in values.items()}
    append = options.pop("append", False)
    if not isinstance(append, bool):
        raise context.source.error("append must be true or false", values["append"].at)
    return {**options, "mode": "append" if append else "replace"}


def define(db: ScriptedDatabase, name: str, rules: str, variables: str) -> None:
    """Define a predicate by rules, all of which are about it."""
    heads = set(parse_definitions(rules, variables=variables).defined())
    others = sorted(heads - {name})
    if others or not heads:
        raise InputError(
            f"these rules define {' and '.join(others) or 'nothing'}, not {name}: a statement defines one predicate"
        )
    db.define(rules, variables=variables)


def _note(text: str) -> Done:
    return Done(0, "", text, 0.0)


def _rows(verb: str, table: pa.Table, *, more: bool) -> Done:
    """Return a statement with rows."""
    size = f"more than {counted(len(table), 'row')}" if more else counted(len(table), "row")
    return Done(0, "", f"{verb}: {size}", 0.0, Table(table), more)


_HEADS = frozenset({
    "CREATE", "OR", "REPLACE", "TEMP", "TEMPORARY", "UNIQUE", "TABLE", "VIEW", "MACRO", "FUNCTION", "SCHEMA", "INDEX", "SEQUENCE", "TYPE",
    "PREDICATE", "MODEL", "IF", "NOT", "EXISTS", "DROP", "ALTER", "INSERT", "INTO", "SET", "VARIABLE",
})  # fmt: skip
"""Words before the name of what a statement makes or changes."""


def _verb(tokens: Tokens) -> str:
    """Return the first words of a statement, as CREATE TABLE wrong."""
    words: list[str] = []
    while tokens.word(len(words)) in _HEADS:
        words.append(tokens.word(len(words)))
    if not words:
        return tokens.word(0) or "statement"
    if len(words) < len(tokens.tokens):
        words.append(tokens.slice(len(words), len(words) + 1))
    return " ".join(words)


def _title(tokens: Tokens) -> str:
    return f"line {tokens.source.place(tokens.start)[0]}: {_verb(tokens)}"
