"""Models, evidence, examples and queries as the command line names them; `-` is standard input."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sqlrl.cli.options import (
    DATA,
    Closed,
    DatabaseOptions,
    Db,
    Drop,
    Evidence,
    Messages,
    ModelFile,
    Open,
    Query,
    named_database,
    split_names,
)
from sqlrl.cli.options import Database as DatabaseFile
from sqlrl.cli.queries import AskedPredicates, asked
from sqlrl.cli.session import STANDARD_INPUT, CommandSession, read_input, session
from sqlrl.errors import InputError, brief
from sqlrl.paths import is_file

if TYPE_CHECKING:
    import pyarrow as pa

    from sqlrl.catalog.roles import Roles
    from sqlrl.database.database import Database
    from sqlrl.logic.model import Model


# ---- models and data ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Job:
    """A running command: the open database with the model, and where results go."""

    run: CommandSession
    db: Database
    model: Model  # without what `--drop` names, with the predicates of `--query`
    examples: str | list[str] | None  # a query or table, names, or None for all
    roles: Roles  # which predicates are hidden, and which are empty
    asked: AskedPredicates  # what `--query` names
    rules: Model | str | Path = ""  # the model, or where it is read rule by rule its text or path

    @property
    def predicted(self) -> list[str]:
        """The predicates of the model that the data open: they have labels, given atoms or soft evidence."""
        opened = {name for name, role in self.db.advanced.catalog.store.sources() if role in ("label", "given", "soft")}
        return sorted(opened & self.model.predicates.keys())


class Missing(StrEnum):
    """What constants of the model's rules are that the data lack: further ones of their types, or an error."""

    allow = "allow"
    error = "error"


InMissing = Annotated[
    Missing,
    typer.Option(
        "--missing",
        help="Constants of rules that the data lack: further ones of their types, or an error.",
        rich_help_panel=DATA,
    ),
]


@dataclass(frozen=True)
class ModelInputs(DatabaseOptions):
    """The options that name a model and data, and how these are opened."""

    model: ModelFile  # a file, or "-"
    database: DatabaseFile = None  # the argument
    db: Db = None  # the option, or SQLRL_DB
    evidence: Evidence = None  # files, or "-"
    query: Query = None
    drop: Drop = None
    closed: Closed = None  # predicates without facts: here false, in `opened` to be inferred
    opened: Open = None
    missing: InMissing = Missing.allow  # whether rules may name constants that the data lack

    @property
    def named(self) -> Path | None:
        """The database that the argument, `--db` or SQLRL_DB names."""
        return self.database or self.db

    @property
    def typed(self) -> Path | None:
        """The one that the argument or `--db` names: SQLRL_DB may be set for other commands, and what was typed is meant for this one."""
        return self.database or (self.db if self.db != Path(os.environ.get("SQLRL_DB", "")) else None)

    def check_writable(self, option: str, *, read_only: bool) -> None:
        """Refuse an option that writes where there is no database to write, with a typer.BadParameter."""
        if self.evidence or read_only:
            raise typer.BadParameter(f"{option} needs a database that can be written, not --evidence or --read-only")

    @contextmanager
    def open(
        self,
        output: Messages,
        *,
        examples: str | None = None,
        labels: bool = False,  # facts of predicates to predict are labels, not evidence
        read_only: bool = False,
        reads: bool = True,  # as in `Session.database`
        rules: bool = True,  # refuse a model without rules, which has a distribution, too
        beside: bool = False,  # the data are elsewhere: the database may be new, or in memory if none is named
        listed: bool = False,  # rules are read one by one, and those that cannot be read are left to whoever reads `Job.rules`
    ) -> Iterator[Job]:
        """Read the model, and open the database or make one in memory from evidence files."""
        files = split_files(self.evidence)
        if str(self.missing) in ("open", "false"):  # of `sqlrl learn`, see `Training`
            raise typer.BadParameter(
                f"--missing {self.missing} is about programs of soft logic: of a network it is allow or error, and atoms outside of a scope are false"
            )
        check_standard_input(model=[self.model], evidence=files, examples=[examples or ""])
        path = None if files or (beside and self.named is None) else named_database(self.database, self.db)
        if files and self.typed is not None:
            raise typer.BadParameter(
                "--evidence makes a database in memory: leave out the DATABASE, or load the file first with "
                "`sqlrl load --evidence`"
            )
        with session(output) as run:
            # The line end says that it is a text, and no name of a model.
            given: str | Path = f"{read_input()}\n" if self.model == "-" and listed else Path(self.model)
            if listed:
                whole = read_listed(given, trusted=not self.untrusted)
            else:
                whole = read_model(self.model, self.query, trusted=not self.untrusted)
            dropped = split_names(self.drop)
            model = whole if listed else whole.without(dropped)
            if not model.rules and (rules or dropped) and not listed:
                without = f" without {', '.join(dropped)}" if dropped else ""
                raise InputError(
                    f"{self.model}: the model has no rules{without}, so there is nothing to do: write some"
                )
            model = replace(model, strict=str(self.missing) == Missing.error.value)
            with run.database(path, self, create=beside, read_only=read_only, reads=reads) as opened:
                if files:
                    with run.working("loading evidence"):
                        from sqlrl.catalog.evidence import Evidence as EvidenceAtoms

                        # As in Alchemy, a fact may stand twice, and a file may say nothing.
                        opened.load(
                            EvidenceAtoms(
                                evidence_of(files, whole),
                                whole,
                                given=not labels,
                                duplicates="warn",
                                empty="warn",
                                drop=dropped,
                            )
                        )
                roles = self._roles(opened, model, inferred=bool(files) and not labels)
                if files:
                    from sqlrl.cli.roles import evidence_roles

                    known = opened.advanced.catalog.store.sources()
                    run.message(
                        evidence_roles(
                            model,
                            known,
                            roles,
                            queried=bool(self.query),
                            opened=split_names(self.opened),
                            closed=split_names(self.closed),
                            labels=labels,
                        )
                    )
                    # A learner, which has no roles, sees them as tables without rows.
                    fill_empty(opened, model, roles.empty)
                    roles = replace(roles, empty=())
                if listed:
                    # Of predicates that the file does not declare the data know.
                    roles = replace(roles, drop=dropped, query=split_names(self.query))
                    yield Job(run, opened, model, chosen_examples(examples), roles, AskedPredicates(), given)
                    return
                yield Job(run, opened, model, chosen_examples(examples), roles, asked(self.query, whole), model)

    def _roles(self, db: Database, model: Model, *, inferred: bool) -> Roles:
        """Return which predicates are hidden and which are empty; a name that is almost that of facts is an InputError."""
        from sqlrl.catalog.dictionary import used_predicates
        from sqlrl.catalog.roles import Roles
        from sqlrl.catalog.similar_names import close_names

        sources = db.advanced.catalog.store.sources()
        loaded = {name for (name, _), source in sources.items() if source.rows}
        labelled = {name for name, role in sources if role in ("label", "given", "soft")}
        closed, hidden = split_names(self.closed), list(split_names(self.opened))
        Roles(hidden=hidden, empty=closed).check(model)
        predicted = [name for name in closed if name in labelled]
        if predicted:
            raise InputError(f"{', '.join(predicted)} cannot both be closed and predicted: leave it out of --closed")
        # One that has facts is closed as it is.
        closed = tuple(name for name in closed if name not in loaded)
        silent = used_predicates(model) - loaded - labelled - model.query - {*closed, *hidden}
        empty = [name for name in silent if self.evidence and model.predicates[name].closed]
        # As in Alchemy, predicates without facts, `*` or query are inferred where the evidence is in files.
        for name in sorted(silent - set(empty)) if inferred else ():
            near = close_names(name, loaded)
            if near:
                raise InputError(
                    f"{name} has no facts, and {near[0]} has: correct the name, or say what it is: --open {name} if its atoms are to be "
                    f"inferred, --closed {name} if they are false"
                )
            hidden.append(name)
        return Roles(hidden=hidden, empty=[*closed, *sorted(empty)])


def read_model(path: str, query: Sequence[str] | None = None, *, trusted: bool = True) -> Model:
    """Read a model from a file or standard input, and name predicates to predict."""
    from sqlrl.logic import files

    if path == "-":
        model = files.parse_model(read_input(), path=STANDARD_INPUT, trusted=trusted)
    else:
        model = files.read_model(path, trusted=trusted)
    if not query:
        return model
    names = asked(query, model).predicates
    # What is asked takes the place of what a learner was asked.
    return replace(model, query=frozenset(names))


def read_listed(given: str | Path, *, trusted: bool) -> Model:
    """Read what a file or text declares, and those of its rules that can be read by what it declares."""
    from sqlrl.logic.rule_list import parse_rules, read_rules

    if isinstance(given, Path):
        return read_rules(given, {}, trusted=trusted).model
    return parse_rules(given, {}, path=STANDARD_INPUT, trusted=trusted).model


def chosen_examples(value: str | None) -> str | list[str] | None:
    """Return the examples that `--examples` names: names from a file or standard input, else a query or table; None for all."""
    if value is None:
        return None
    path = Path(value)
    if value != "-" and not is_file(value):
        return value
    from sqlrl.logic.lexer import read_text

    # Parquet and CSV files are tables, which the library reads itself.
    if path.suffix.lower() in (".parquet", ".csv", ".tsv"):
        return value
    text = read_input() if value == "-" else read_text(path)
    names = [line for line in text.splitlines() if line.strip()]
    if not names:
        raise InputError(f"{STANDARD_INPUT if value == '-' else value}: there are no names of examples")
    return names


def check_standard_input(**options: Sequence[str]) -> None:
    """Refuse to read standard input twice, with a typer.BadParameter that names the options."""
    readers = [f"--{name}" for name, values in options.items() for value in values if value == "-"]
    if len(readers) > 1:
        raise typer.BadParameter(f"{' and '.join(readers)} cannot both be standard input")


def split_files(values: Sequence[str] | None) -> list[str]:
    """Return files from options that are repeated, hold commas, or both; an existing file may have a comma in its name."""
    return [file for value in values or () for file in ([value] if is_file(value) else split_names([value]))]


def named_examples(files: Sequence[str]) -> dict[str, str]:
    """Return evidence files that are examples by the names of these, NAME=FILE; none if no file is named so."""
    pairs = [(file, *file.partition("=")) for file in files if "=" in file and not is_file(file)]
    named = {name: path for _, name, _, path in pairs if name and path and "/" not in name}
    if pairs and len(named) < len(files):
        raise typer.BadParameter(
            f"--evidence {files[0]}: either all files are examples, each with a name of its own (ai=fold1.db), or none is"
        )
    return named


def evidence_of(files: Sequence[str], model: Model) -> list[Any]:
    """Return evidence files as `Evidence` takes them, with the atoms of standard input in place of `-`."""
    from sqlrl.logic.evidence import parse_domains, parse_evidence

    found: list[Any] = [file for file in files if file != "-"]
    if "-" in files:
        text = read_input()
        found += parse_evidence(text, path=STANDARD_INPUT, model_or_predicates=model)
        if parse_domains(text, path=STANDARD_INPUT):
            raise InputError(f"{STANDARD_INPUT} lists the constants of a type, which only a file can: save it as one")
    return found


def fill_empty(db: Database, model: Model, names: Iterable[str]) -> None:
    """Load predicates of a model without facts."""
    import pyarrow as pa

    for name in names:
        types = model.predicates[name].types
        columns = {f"column{i}": pa.array([], pa.string()) for i in range(len(types))}
        db.advanced.catalog.load(name, pa.table(columns), types=types, empty="allow")


def read_table(db: Database, *, header: bool = True, delimiter: str | None = None, quote: str = '"') -> pa.Table:
    """Read Parquet or CSV from standard input; the columns of CSV are strings."""
    import io

    import pyarrow as pa
    import pyarrow.parquet

    from sqlrl.catalog.delimited import Dialect
    from sqlrl.catalog.sources import read_delimited

    data = sys.stdin.buffer.read()
    if not data:
        raise InputError(f"{STANDARD_INPUT} is empty: send Parquet or CSV to it.")
    dialect = Dialect(header, delimiter, quote)
    if data[:4] != b"PAR1":
        return read_delimited(db.advanced.engine, data, STANDARD_INPUT, dialect)
    if dialect != Dialect():
        raise InputError(f"{STANDARD_INPUT} is Parquet: leave out what says how CSV is written.")
    try:
        return pyarrow.parquet.read_table(io.BytesIO(data))
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"{STANDARD_INPUT} is damaged Parquet: {brief(str(error))}") from error
