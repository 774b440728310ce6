"""The rows of `sqlrl.script_log`: which statements of scripts have begun and finished, and how they found and left what they changed."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from sqlglot import exp

from sqlrl.catalog.integrity import kept_json
from sqlrl.catalog.store import Store
from sqlrl.engine.nodes import column
from sqlrl.errors import CatalogError
from sqlrl.script.effects import VARIABLE, Thing

States = dict[Thing, str | None]
"""The states of things, None of one that is not there."""

_UNTOLD = "?"
"""Stands for the fingerprint of what a statement read where that cannot be told."""
_TABLE, _STEP = "script_log", "note what a script does"


@dataclass(frozen=True)
class Row:
    """What a row says of a statement."""

    path: str
    line: int
    kind: str
    name: str
    text: str
    variables: str
    inputs: str | None = None  # a fingerprint of what the statement read, None if that cannot be told
    before: States = field(default_factory=dict)
    after: States | None = None  # None of a statement that has begun alone
    result: str = ""
    seconds: float = 0.0
    readable: bool = True  # False of a row that sqlrl did not write so
    run: str = ""  # the run of the script; resumed runs go on with that of the one before
    script: str = ""  # a fingerprint of the text of the whole script
    number: int = -1  # counts the rows
    place: int | None = None  # how many statements of the same text stand before it in the script
    makes: bool = False  # whether what it left does not follow from what was there
    # A fingerprint of the statements of the session that stood before it and on which its meaning rests, None where an earlier version wrote the row.
    session: str | None = None

    @property
    def changed(self) -> States:
        """How the statement left what it changed for good."""
        return {thing: state for thing, state in (self.after or {}).items() if thing[0] != VARIABLE}

    def written(self) -> dict[str, Any]:
        """Return the row as the table has it, but for the time."""
        told = {name: getattr(self, name) for name in _TOLD} | {"before": _listed(self.before)}
        return {
            "script": self.path, "line": self.line, "kind": self.kind, "name": self.name, "text": self.text, "variables": self.variables,
            "inputs": f"{_UNTOLD if self.inputs is None else self.inputs} {json.dumps(told, ensure_ascii=False)}",
            "output": None if self.after is None else json.dumps(_listed(self.after), ensure_ascii=False),
            "result": self.result, "seconds": self.seconds,
        }  # fmt: skip


_TOLD = {"run": str, "script": str, "number": int, "place": int, "makes": bool, "session": str}
"""What a row says of the run and of the place of its statement, as JSON beside the fingerprint of its inputs."""


def put(store: Store, row: Row) -> None:
    """Write a row, in the open transaction or one of its own."""
    store.put(_TABLE, [row.written() | {"finished": _now()}], _STEP)


def put_beside(store: Store, row: Row) -> None:
    """Write a row in a transaction of its own, also while one of the script's is open."""
    written = row.written() | {"finished": _now()}
    beside = store.engine.cursor()
    try:
        values = exp.select(*map(exp.convert, written.values()))
        columns = [exp.to_identifier(name, quoted=True) for name in written]
        target = exp.Schema(this=store.table(_TABLE), expressions=columns)
        beside.execute(exp.Insert(this=target, expression=values), step=_STEP)
    finally:
        beside.close()


def forget_begun(store: Store, row: Row) -> None:
    """Take away the row which says that a statement has begun."""
    same = exp.and_(*(column(name).eq(exp.convert(row.written()[name])) for name in ("script", "text", "inputs")))
    begun = exp.and_(same, column("output").is_(exp.null()))
    store.engine.execute(exp.Delete(this=store.table(_TABLE), where=exp.Where(this=begun)), step=_STEP)


def read(store: Store, paths: Iterable[str], script: str) -> list[Row]:
    """Return the rows of a script by any of its paths, or of one with the same text whatever its path is; the oldest first."""
    same_path = exp.or_(*(column("script").eq(exp.convert(path)) for path in paths))
    same_text = exp.func("contains", column("inputs"), exp.convert(f'"script": {json.dumps(script)}'))
    query = exp.select("*").from_(store.table(_TABLE)).where(exp.or_(same_path, same_text))
    rows = store.rows(query.order_by(column("finished")), "look for what has finished")
    return sorted(map(_read, rows), key=lambda row: row.number)


def _read(row: Mapping[str, Any]) -> Row:
    """Return a row; one that sqlrl did not write so tells only that its statement may have run."""
    plain = row["script"], row["line"], row["kind"], row["name"], str(row["text"]), str(row["variables"])
    inputs, _, rest = str(row["inputs"]).partition(" ")
    try:
        told = kept_json(rest, "inputs of a row of script_log", _is_told)
        # A list is what earlier versions wrote.
        given = {"before": told} if isinstance(told, list) else told
        before = _states(given.pop("before"))
        output = row["output"]
        after = None if output is None else _states(kept_json(output, "output of a row of script_log", _are_states))
    except CatalogError:
        return Row(*plain, readable=False)
    if after is not None and not after.keys() <= before.keys():
        return Row(*plain, readable=False)
    return Row(*plain, None if inputs == _UNTOLD else inputs, before, after, str(row["result"]), **given)


def _is_told(value: Any) -> bool:
    """Whether a value of JSON is what `Row.written` writes of a statement, or an earlier version wrote."""
    if not isinstance(value, dict):
        return _are_states(value)
    told = {**_TOLD, "before": list}
    same = value.keys() == told.keys() and all(type(value[key]) is kind for key, kind in told.items())
    return same and _are_states(value["before"])


def _are_states(value: Any) -> bool:
    """Whether a value of JSON lists kinds, names and states of things."""
    return isinstance(value, list) and all(
        isinstance(each, list)
        and [type(part) for part in each[:2]] == [str, str]
        and [type(part) for part in each[2:]] in ([str], [type(None)])
        for each in value
    )


def _states(listed: Iterable[list[Any]]) -> States:
    return {(kind, name): state for kind, name, state in listed}


def _listed(states: States) -> list[list[Any]]:
    return [[*thing, state] for thing, state in sorted(states.items())]


def _now() -> datetime:
    return datetime.now(UTC).replace(tzinfo=None)
