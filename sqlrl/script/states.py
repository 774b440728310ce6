"""The states of what statements of scripts make, change and read, each as a short text that another state does not have."""

from __future__ import annotations

import glob
import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from sqlglot import exp
from sqlglot.errors import SqlglotError

from sqlrl.catalog.fingerprints import file_fingerprint, pattern_fingerprint, table_fingerprint
from sqlrl.catalog.integrity import kept_json
from sqlrl.catalog.records import named_models
from sqlrl.errors import CatalogError, SqlrlError, UntrustedError
from sqlrl.paths import expanded, is_dir, is_file
from sqlrl.script.effects import (
    FILE,
    INDEX,
    MACRO,
    MODEL,
    PREDICATE,
    SCHEMA,
    SEQUENCE,
    TABLE,
    TYPE,
    VARIABLE,
    VIEW,
    Thing,
    quoted,
)
from sqlrl.script.settings import Context

_REMOTE = "://"

_DEFINITIONS: Mapping[str, tuple[str, str, tuple[str, ...]]] = {
    VIEW: ("duckdb_views", "view_name", ("sql",)),
    MACRO: ("duckdb_functions", "function_name", ("parameters", "macro_definition")),
    INDEX: ("duckdb_indexes", "index_name", ("sql",)),
    SEQUENCE: ("duckdb_sequences", "sequence_name", ("min_value", "max_value", "increment_by", "cycle")),
    TYPE: ("duckdb_types", "type_name", ("logical_type", "labels")),
    SCHEMA: ("duckdb_schemas", "schema_name", ("schema_name",)),
}
"""By kind the table of DuckDB's that lists what is defined, its column of names, and the columns that say the definition.

The start of a sequence moves with it in a file that is closed and opened."""


class States:
    """Looks at the things of a database as they are now."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.engine = context.db.advanced.engine

    def of(self, thing: Thing) -> str | None:
        """Return the state of a thing; None if it is not there."""
        kind, name = thing
        if kind in _DEFINITIONS:
            return self._definition(kind, name)
        looks = {
            MODEL: self._model,
            PREDICATE: self._predicate,
            TABLE: self._table,
            FILE: self._written,
            VARIABLE: self._variable,
        }
        return looks[kind](name) if kind in looks else None

    def _model(self, name: str) -> str | None:
        rows = named_models(self.context.db.advanced.catalog.store)
        numbers = [row["model"] for row in rows if str(row["name"]).casefold() == name]
        return f"model {numbers[0]}" if numbers else None

    def _predicate(self, name: str) -> str | None:
        lines = list(self.facts_of(name))
        return _hashed("\n".join(lines)) if lines else None

    def _table(self, name: str) -> str | None:
        try:
            node = exp.to_table(name, dialect="duckdb")
            if len(node.parts) == 1:
                node = exp.table_(node.name, db=self.engine.place[1], catalog=self.engine.place[0], quoted=True)
            return table_fingerprint(self.engine, node)
        except (SqlrlError, SqlglotError):
            return None

    def _definition(self, kind: str, name: str) -> str | None:
        """Return what defines a view, a macro or the like."""
        try:
            *outer, last = (part.name for part in exp.to_table(name, dialect="duckdb").parts)
        except SqlglotError:
            return None
        listed, own, columns = _DEFINITIONS[kind]
        catalog, schema = self.engine.place
        there = [_is(own, last)]
        if len(outer) == 1 and kind != SCHEMA:
            there.append(exp.or_(_is("schema_name", outer[0]), _is("database_name", outer[0])))
        else:
            there.append(_is("database_name", outer[0] if outer else catalog))
            there += [] if kind == SCHEMA else [_is("schema_name", outer[-1] if outer else schema)]
        query = exp.select(*map(exp.column, columns)).from_(exp.Anonymous(this=listed)).where(*there)
        rows = self.engine.fetch_rows(query, step="look at a definition")[1]
        return _hashed("\n".join(sorted(map(str, rows)))) if rows else None

    def view_query(self, catalog: str, schema: str, name: str) -> str | None:
        """Return the SQL that defines a view as plain names find it; None if there is no view of that name."""
        there = [_is("view_name", name), exp.not_("internal")]
        there += [_is("database_name", catalog)] if catalog else []
        here = exp.column("schema_name").eq(exp.Anonymous(this="current_schema"))
        there.append(_is("schema_name", schema) if schema else exp.or_(here, _is("schema_name", self.engine.place[1])))
        query = (
            exp.select("sql")
            .from_(exp.Anonymous(this="duckdb_views"))
            .where(*there)
            .order_by(exp.Ordered(this=here.copy(), desc=True))
        )
        rows = self.engine.fetch_rows(query, step="look at a definition")[1]
        return str(rows[0][0]) if rows else None

    def is_temporary(self, name: str) -> bool:
        """Whether a plain name is that of a temporary table."""
        query = (
            exp.select(exp.convert(1))
            .from_(exp.Anonymous(this="duckdb_tables"))
            .where("temporary", _is("table_name", name))
        )
        return bool(self.engine.fetch_rows(query, step="look for temporary tables")[1])

    # ---- variables -------------------------------------------------------------------------------------

    def _variable(self, name: str) -> str | None:
        """Return the type and the text of a variable; None if the text does not say the value, as that of a missing one."""
        value = exp.func("getvariable", exp.convert(name))
        asked = exp.select(exp.Anonymous(this="typeof", expressions=[value]), exp.cast(value, "varchar"))
        [(kind, text)] = self.engine.fetch_rows(asked, step="look at a variable")[1]
        if text is None:
            return None
        state = json.dumps([kind, text], ensure_ascii=False)
        try:
            same = exp.select(exp.NullSafeEQ(this=_value(state), expression=value.copy()))
            [(equal,)] = self.engine.fetch_rows(same, step="look at a variable")[1]
        except SqlrlError:
            return None
        return state if equal else None

    def restore(self, name: str, state: str) -> bool:
        """Give a variable the value that it had in an earlier run; False if its state cannot be read."""
        try:
            self.engine.statement(f"SET VARIABLE {quoted(name)} = {self.engine.render(_value(state))}")
        except SqlrlError:
            return False
        return True

    # ---- files -----------------------------------------------------------------------------------------

    def file(self, text: str) -> str | None:
        """Return the state of a file or of those of a pattern, "" if a text names none; None if it is far away."""
        if _REMOTE in text:
            return None
        if not text or "\n" in text or len(text) > 1000 or "\0" in text or not self.may_read(text):
            return ""
        # An untrusted database reads no patterns.
        if any(sign in text for sign in "*?[") and self.engine.trusted:
            found = glob.glob(text, recursive=True)  # noqa: PTH207 - as DuckDB reads it
            return pattern_fingerprint(found) if found else ""
        return file_fingerprint(Path(text)) if is_file(text) else ""

    def _written(self, text: str) -> str | None:
        """Return the state of a file, or of those in a folder, that a statement has written; None if there is none or it is far away."""
        if _REMOTE in text or "\0" in text or not self.may_read(text):
            return None
        path = expanded(text)
        if is_dir(path):
            return pattern_fingerprint(str(each) for each in path.rglob("*") if each.is_file())
        return file_fingerprint(path) if is_file(path) else None

    def may_read(self, path: str) -> bool:
        """Whether a file may be looked at, as those that whoever runs the script names in its variables."""
        if path in texts_in(list(self.context.given.values())):
            return True
        try:
            self.engine.admitted(path)
        except UntrustedError:
            return False
        return True

    # ---- predicates ------------------------------------------------------------------------------------

    def facts_of(self, name: str) -> Iterator[str]:
        """Yield what is known of what was loaded of a predicate."""
        store = self.context.db.advanced.catalog.store
        for (each, role), source in sorted(store.sources().items()):
            if each == name:
                yield f"{role} {source.kind} {source.rows} {source.fingerprint} {source.options}"
                yield from (
                    f"{part.part} {part.kind} {part.rows} {part.fingerprint}" for part in store.load_parts(name, role)
                )
        record = store.predicates().get(name)
        if record is not None and record.scope:
            yield f"{record.scope}"


def texts_in(value: Any) -> Iterator[str]:
    """Yield the texts in the value of a variable, any of which may be the name of a file."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | tuple):
        for each in value:
            yield from texts_in(each)
    elif isinstance(value, dict):
        yield from texts_in(list(value.values()))


def _hashed(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _is(column: str, name: str) -> exp.Expr:
    """Plan whether a column has a name, in letters of either case."""
    return exp.func("lower", exp.column(column)).eq(name.casefold())


def _value(state: str) -> exp.Expr:
    """Plan the value of a variable from its state; CatalogError if that is none."""
    kind, text = kept_json(state, "a variable in script_log", _is_value)
    try:
        return exp.cast(exp.convert(text), exp.DataType.build(kind, dialect="duckdb"))
    except (SqlglotError, ValueError) as error:
        raise CatalogError(f"{kind} is no type") from error


def _is_value(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(isinstance(each, str) for each in value)
