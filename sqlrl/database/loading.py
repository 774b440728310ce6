"""The forms of `Database.load`: one predicate, several, evidence atoms, the data of a soft program, a view, and options of types."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from sqlrl.catalog.evidence import Evidence
from sqlrl.catalog.loading import chosen_sources, shared_bins
from sqlrl.catalog.options import LoadOptions
from sqlrl.errors import InputError
from sqlrl.logic.psl import SoftModel
from sqlrl.progress import at_work
from sqlrl.training.session import Session
from sqlrl.wording import counted

MODES = ("replace", "append", "remove", "view")
_OF_ONE = ("remove", "view")
"""Those in which a missing source is told as such, and is no folder in its place."""

_USUAL: Mapping[str, Any] = {each.name: each.default for each in fields(LoadOptions)} | {"constants": None}

_OF_ALL = (
    "types", "duplicates", "nulls", "empty", "fold_case", "constants", "header", "delimiter", "quote", "bins"
)  # fmt: skip
"""The options that several predicates have together."""


def load(
    session: Session,
    what: object,
    source: Any,
    mode: str,
    options: Mapping[str, Any],
    local: Mapping[str, bool | None],
    numeric: Iterable[str],
) -> Any:
    """Load what `Database.load` is given, in the form that its first argument tells, all or nothing; return what that form returns."""
    if mode not in MODES:
        raise InputError(f"mode={mode!r} must be one of {', '.join(map(repr, MODES))}.")
    types = [numeric] if isinstance(numeric, str) else list(numeric)
    if not types and not local:
        return _load(session, what, source, mode, options)
    if mode == "view":
        raise InputError("local= and numeric= are of types, and mode='view' loads nothing: leave them out.")
    with session.verb(), session.catalog.store.writing():
        for name in types:
            with session.console.progress(f"reading {name} as numbers"):
                session.catalog.set_numeric(name)
        found = None
        if what is not None or _unusual(options) or mode != "replace":
            found = _load(session, what, source, mode, options)
        for name, choice in local.items():
            session.catalog.set_local(name, choice)
    return found


def _load(session: Session, what: object, source: Any, mode: str, options: Mapping[str, Any]) -> Any:
    """Load one form, whose options of types are told already."""
    if isinstance(what, str) and (source is not None or mode in _OF_ONE):
        return _one(session, what, source, mode, options)
    from sqlrl.database.soft_data import SoftData, load_soft_data

    if source is not None:
        if not isinstance(what, Path | Mapping | Evidence | SoftModel | SoftData | None):
            # That a name is no text, the catalog says.
            return _one(session, what, source, mode, options)
        raise InputError(f"{_named(what)} has its source with it: leave the second argument out.")
    if mode != "replace":
        raise InputError(f"mode={mode!r} is of one predicate: load(predicate, source, mode={mode!r})")
    if what is None:
        _only(options, ("example",), "without a predicate, load says what types are")
        kind = options["example"]
        if kind is None:
            raise InputError("there is nothing to load: give a predicate and its source, load('Smokes', rows)")
        with session.console.progress("finding the examples"):
            return session.catalog.examples(argument_type=None if kind is False else kind)
    if isinstance(what, Evidence):
        _only(options, (), "Evidence has its options with it")
        with session.console.progress("loading evidence"):
            return session.catalog.load_evidence(what)
    if isinstance(what, SoftModel | SoftData):
        _only(options, (), "the data of a soft program are as it says")
        with session.console.progress("loading data"):
            return load_soft_data(session, SoftData(what) if isinstance(what, SoftModel) else what)
    return _several(session, what, options)


def _one(session: Session, predicate: Any, source: Any, mode: str, options: Mapping[str, Any]) -> int | None:
    """Load, append, remove or show one table."""
    if mode == "view":
        from sqlrl.catalog.objects import registrable

        _only(options, (), "mode='view' loads nothing")
        session.engine.register(predicate, registrable(predicate, source))
        return None
    if mode == "remove":
        _only(options, (), "mode='remove' takes facts as they are")
        with session.console.progress(f"removing from {predicate}"):
            return session.catalog.remove(predicate, source)
    if options["example"] is False:
        raise InputError("example=False makes all data one example: load(example=False), without a predicate")
    constants = options["constants"]
    with session.console.progress(f"loading {predicate}"):
        session.catalog.load(
            predicate,
            source,
            **{**options, "constants": {} if constants is None else constants},
            append=mode == "append",
        )
    dropped = session.catalog.store.dropped
    # A task that loads, such as a statement of a script, says it in its own line.
    if dropped and at_work() is None:
        session.console.message(f"{predicate}: {counted(dropped, 'duplicate row')} dropped")
    return None


def _several(session: Session, sources: Any, options: Mapping[str, Any]) -> list[str]:
    """Load several closed predicates, all or nothing; return them."""
    _only(options, _OF_ALL, "several predicates have these options alone: load one that needs more by itself")
    with session.verb(), session.console.progress("loading") as task, session.catalog.store.writing():
        chosen = chosen_sources(sources, options["types"])
        cuts = shared_bins(chosen, options["bins"])
        for predicate, (source, known) in chosen.items():
            task.advance(0, note=predicate)
            _one(session, predicate, source, "replace", {**options, "types": known, "bins": cuts[predicate]})
            task.advance()
    return list(chosen)


def _unusual(options: Mapping[str, Any]) -> list[str]:
    """Return the options that were given."""
    return [name for name, value in options.items() if value is not _USUAL[name] and value != _USUAL[name]]


def _only(options: Mapping[str, Any], allowed: Iterable[str], why: str) -> None:
    """Refuse options that a form does not have."""
    wrong = [f"{name}=" for name in _unusual(options) if name not in set(allowed)]
    if wrong:
        raise InputError(f"{', '.join(wrong)}: {why}; leave {'it' if len(wrong) == 1 else 'them'} out.")


def _named(what: object) -> str:
    """Return what messages call the first argument of a load."""
    return (
        str(what) if isinstance(what, str | Path) else "a mapping" if isinstance(what, Mapping) else type(what).__name__
    )
