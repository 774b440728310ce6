"""What a stranger's file has in the schema of sqlrl's tables, held against what sqlrl makes, before anything is read from it."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import cache

from sqlglot import exp, parse, parse_one
from sqlglot.errors import SqlglotError

from sqlrl.catalog.migrations import COMMENT, Migration, layout_script, shipped_migrations
from sqlrl.engine.connection import connect
from sqlrl.engine.duckdb import DuckDBEngine
from sqlrl.engine.nodes import column
from sqlrl.engine.trust import REMEDY, Item
from sqlrl.errors import UntrustedError

_SCHEMA = "sqlrl"
_SHOWN = 3

_TYPES = frozenset(
    {
        exp.DataType.Type.INT,
        exp.DataType.Type.BIGINT,
        exp.DataType.Type.INT128,
        exp.DataType.Type.DOUBLE,
        exp.DataType.Type.BOOLEAN,
        exp.DataType.Type.TEXT,
        exp.DataType.Type.VARCHAR,
    }
)
"""Types of columns of data."""

_NODES = (
    *(exp.Create, exp.Select, exp.From, exp.Join, exp.Where, exp.Subquery, exp.Union, exp.Values, exp.Tuple, exp.Paren),
    *(exp.Table, exp.TableAlias, exp.Alias, exp.Column, exp.Identifier, exp.Star, exp.Literal, exp.Boolean, exp.Null),
    *(exp.And, exp.Or, exp.Not, exp.EQ, exp.Is, exp.Cast, exp.DataType, exp.Neg),
)
"""Of what the views of data consist: no function is among them."""


VIEWS = ("named_", "bound_")
"""How the names of views begin that are made beside those of the layout: of facts with names, and of what rules name."""


def inspect(engine: DuckDBEngine) -> None:
    """Refuse a file whose schema `sqlrl` has what sqlrl does not make there, or lacks what it makes; nothing of the file is run."""
    found = [item for item in engine.contents() if item.schema.casefold() == _SCHEMA]
    # A file without the schema may be used.
    if not found:
        return
    steps = tuple(step.script for step in _steps_since(engine, found))
    # Tables and views of the layout must be defined as in this version, those of an earlier one without what migrations make.
    layout, renewed = _layout(layout_script(), steps), _renewed(steps)
    names = {item.name for item in layout}
    others = [item for item in found if item.name.casefold() not in names]
    # Nothing reads these before a migration drops them.
    others = [item for item in others if item.kind != "view" or item.name.casefold() not in renewed]
    copied = _copies([item for item in others if item.kind == "table"])
    # What is there says more than what is missing.
    faults = sorted(_of_layout(found, layout), key=lambda fault: fault.endswith("missing"))
    tables = {item.name for item in found if item.kind == "table"}
    # Other tables have plain columns; other views have names that sqlrl gives, so that none stands in place of a table, may join tables
    # of this schema, and call no function.
    # What stands in place of a table comes before the views that it breaks.
    for item in sorted(others, key=lambda each: each.kind == "view"):
        if item.kind == "table":
            if item.name.casefold() in renewed:
                faults.append(f"{_SCHEMA}.{item.name} is a table, not a view")
            elif item.sql not in copied:
                faults.append(f"the table {_SCHEMA}.{item.name} has more than plain columns")
        elif item.kind == "view":
            if not item.name.startswith(VIEWS) or not _joins(item, tables):
                faults.append(f"the view {_SCHEMA}.{item.name} is none of those that sqlrl makes")
        else:
            faults.append(f"there is {_an(item.kind)} {_SCHEMA}.{item.name}")
    if faults:
        more = f", and {len(faults) - _SHOWN} more" if len(faults) > _SHOWN else ""
        raise UntrustedError(f"{engine.path} is not as sqlrl makes it: {'; '.join(faults[:_SHOWN])}{more}: {REMEDY}.")


def _steps_since(engine: DuckDBEngine, found: Iterable[Item]) -> list[Migration]:
    """Return the steps that a file of an older layout lacks: it is held against its own layout before they are made."""
    as_made = {item.sql for item in _layout(layout_script()) if item.name == "layout"}
    if not any(item.kind == "table" and item.name == "layout" and item.sql in as_made for item in found):
        return []
    numbers = exp.select(column("version")).from_(exp.table_("layout", db=_SCHEMA, quoted=True))
    versions = engine.fetch_rows(numbers, step="read the layout")[1]
    return [step for step in shipped_migrations() if len(versions) == 1 and step.layout > int(versions[0][0])]


@cache
def _layout(script: str, steps: tuple[str, ...] = ()) -> tuple[Item, ...]:
    """Return the tables and views that a script creates, as DuckDB defines them, before some of the last steps to it."""
    engine = connect(":memory:")
    try:
        engine.run_script(COMMENT.sub("", script), step="create the layout")
        for step in reversed(steps):
            for statement in reversed(parse(step, dialect=engine.dialect)):
                _undo(engine, statement)
        return tuple(engine.contents())
    finally:
        engine.close()


@cache
def _renewed(steps: tuple[str, ...]) -> frozenset[str]:
    """Return the names of the views that migrations drop, to make them anew."""
    statements = [each for step in steps for each in parse(step, dialect="duckdb")]
    dropped = [each for each in statements if isinstance(each, exp.Drop) and each.kind == "VIEW"]
    return frozenset(table.name.casefold() for each in dropped for table in each.args["tables"])


def _undo(engine: DuckDBEngine, statement: exp.Expr | None) -> None:
    """Take back a statement of a migration: the table or view that it creates, or the columns that it adds."""
    target = exp.table_("", db=_SCHEMA, quoted=True)
    if isinstance(statement, exp.Create):
        made = statement.this.this if isinstance(statement.this, exp.Schema) else statement.this
        target.set("this", made.this.copy())
        # A view that two steps make is gone since the later one was taken back.
        drop = exp.Drop(tables=[target], kind=statement.args["kind"], exists=True)
        engine.execute(drop, step="undo a migration")
    elif isinstance(statement, exp.Alter):
        target.set("this", statement.this.this.copy())
        for added in statement.args["actions"]:
            drop = exp.Drop(tables=[exp.Column(this=exp.to_identifier(added.name, quoted=True))], kind="COLUMN")
            engine.execute(exp.Alter(this=target, kind="TABLE", actions=[drop]), step="undo a migration")


def _copies(tables: Iterable[Item]) -> set[str]:
    """Return the definitions of tables that have plain columns alone: those that come back as they are when such tables are created."""
    engine = connect(":memory:")
    try:
        for item in tables:
            _copy(engine, item)
        return {item.sql for item in engine.contents()}
    finally:
        engine.close()


def _of_layout(found: Collection[Item], layout: Iterable[Item]) -> Iterable[str]:
    """Say what tables and views of the layout are instead."""
    there = {(item.kind, item.name.casefold()): item for item in found}
    kinds = {item.name.casefold(): item.kind for item in found}
    for wanted in layout:
        item = there.get((wanted.kind, wanted.name))
        name = f"{_SCHEMA}.{wanted.name}"
        if item is not None and item.sql != wanted.sql:
            yield f"the {wanted.kind} {name} is defined otherwise"
        if wanted.name in kinds and (item is None or kinds[wanted.name] != wanted.kind):
            yield f"{name} is {_an(kinds[wanted.name])}, not {_an(wanted.kind)}"
        elif item is None:
            yield f"the {wanted.kind} {name} is missing"


def _copy(engine: DuckDBEngine, item: Item) -> None:
    """Create a table with the columns of another one, where they are plain: DuckDB writes its definition as that of the other."""
    try:
        definition = parse_one(item.sql, dialect=engine.dialect)
    except SqlglotError:
        return
    schema = definition.this
    if not isinstance(definition, exp.Create) or not isinstance(schema, exp.Schema):
        return
    columns = schema.expressions
    if not columns or not all(isinstance(each, exp.ColumnDef) and _is_plain(each) for each in columns):
        return
    made = [
        exp.ColumnDef(
            this=exp.to_identifier(each.name, quoted=True),
            kind=each.kind.copy(),
            constraints=[constraint.copy() for constraint in each.constraints],
        )
        for each in columns
    ]
    target = exp.Schema(this=exp.table_(item.name, db=_SCHEMA, quoted=True), expressions=made)
    engine.execute(exp.Create(this=target, kind="TABLE", exists=True), step="copy a definition")


def _is_plain(found: exp.ColumnDef) -> bool:
    """Return True for a column that has a name and a type of data, and at most the collation under which texts are compared exactly."""
    kind = found.kind
    constraints = [constraint.kind for constraint in found.constraints]
    exact = all(
        isinstance(each, exp.CollateColumnConstraint) and each.this.name.upper() == "POSIX" for each in constraints
    )
    return exact and isinstance(kind, exp.DataType) and kind.this in _TYPES and not kind.expressions


def _joins(item: Item, tables: Collection[str]) -> bool:
    """Return True for a view that joins tables of the schema and does nothing else."""
    try:
        definition = parse_one(item.sql, dialect="duckdb")
    except SqlglotError:
        return False
    for node in definition.walk():
        if not isinstance(node, _NODES):
            return False
        if isinstance(node, exp.Table) and node.parent is not definition:
            own = isinstance(node.this, exp.Identifier) and node.db == _SCHEMA and not node.catalog
            if not own or node.name not in tables:
                return False
    return True


def _an(kind: str) -> str:
    return f"{'an' if kind[0] in 'aeiou' else 'a'} {kind}"
