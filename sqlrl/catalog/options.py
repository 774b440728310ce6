"""The options of a load: what they may be, and how the catalog keeps them."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterable, KeysView, Mapping, Sequence, Set
from dataclasses import asdict, dataclass, field, replace
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np

from sqlrl.catalog.delimited import Dialect
from sqlrl.catalog.image import PartRecord, SourceRecord
from sqlrl.catalog.integrity import are_texts, is_number, is_object, kept_json
from sqlrl.catalog.values import text_of
from sqlrl.errors import LoadError, Parameter, Phrase, Written
from sqlrl.logic.bins import edges_fault
from sqlrl.logic.model import Model
from sqlrl.logic.printer import is_identifier
from sqlrl.wording import shortened

_WHOLE = (int, np.integer)


@dataclass(frozen=True)
class LoadOptions:
    """The options of `sqlrl.Database.load`, which explains them, and what a load found."""

    columns: Sequence[str | int] | Mapping[str | int, str | int] | None = None
    types: Sequence[str] | None = None
    example: str | int | None = None
    target: bool = False
    given: bool = False
    truth: str | int | None = None
    probability: str | int | None = None
    value: str | int | None = None
    duplicates: str = "error"
    empty: str = "error"
    fold_case: bool = False
    constants: Mapping[str, str] = field(default_factory=dict)
    header: bool = True
    delimiter: str | None = None
    quote: str = '"'
    nulls: str = "error"
    # Those that `load_evidence`, or `load` from a list, read together.
    files: Sequence[str] = ()
    # Kept as edges by type.
    bins: Mapping[str | int, int | Sequence[float | str | date] | Model] | Model | None = None
    bins_from: Any = None
    # Of the values of each argument (`catalog.values.column_kind`), separated by blanks.
    kinds: Sequence[str] = ()

    @classmethod
    def from_json(cls, text: str) -> LoadOptions:
        """Return the options that `to_json` wrote."""
        values = kept_json(text, "the options of a row of sqlrl.source", _are_options)
        if isinstance(values.get("columns"), dict):
            # Keys are texts in JSON; no type has the name of a number.
            values["columns"] = {int(k) if k.isdecimal() else k: v for k, v in values["columns"].items()}
        return cls(**values)

    def to_json(self) -> str:
        """Return the options as the catalog keeps them, to load the source again."""
        values = asdict(self)
        if self.value is None:
            # As before there were values.
            del values["value"]
        if isinstance(self.columns, Mapping):
            values["columns"] = {str(argument): name for argument, name in self.columns.items()}
        return json.dumps(values, sort_keys=True, ensure_ascii=False)

    @property
    def dialect(self) -> Dialect:
        """How the source is written if it is a CSV file."""
        return Dialect(self.header, self.delimiter, self.quote)

    @property
    def role(self) -> str:
        """What the rows say: fact, label, given or soft."""
        if self.probability is not None:
            return "soft"
        return "given" if self.given else "label" if self.target else "fact"


def _is_name(value: Any) -> bool:
    """Tell whether a value of JSON is a name or place of a column."""
    return value is None or isinstance(value, str | int)


def _are_names(value: Any) -> bool:
    """Tell whether a value of JSON is a list of texts."""
    return isinstance(value, list) and all(isinstance(x, str) for x in value)


def _are_columns(value: Any) -> bool:
    """Tell whether a value of JSON says which columns there are."""
    listed = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return (value is None or isinstance(value, list | dict)) and all(isinstance(x, str | int) for x in listed)


def _are_bins(value: Any) -> bool:
    """Tell whether a value of JSON says how numbers or dates are cut."""
    if not isinstance(value, dict):
        return value is None or is_number(value)
    return all(is_number(x) or (isinstance(x, list) and edges_fault(x) is None) for x in value.values())


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_flag(value: Any) -> bool:
    return isinstance(value, bool)


_KEPT: Mapping[str, Callable[[Any], bool]] = {
    "columns": _are_columns,
    "types": lambda value: value is None or isinstance(value, str) or _are_names(value),
    **dict.fromkeys(("example", "truth", "probability", "value"), _is_name),
    **dict.fromkeys(("target", "given", "fold_case", "header"), _is_flag),
    **dict.fromkeys(("duplicates", "empty", "nulls", "quote"), _is_text),
    "delimiter": lambda value: value is None or isinstance(value, str),
    "constants": are_texts,
    "files": _are_names,
    "kinds": _are_names,
    "bins": _are_bins,
    "bins_from": lambda value: value is None or isinstance(value, str | list),
}
"""What the options are like that the catalog keeps."""


def _are_options(value: Any) -> bool:
    """Tell whether a value of JSON is what `LoadOptions.to_json` writes, or wrote before it had as many."""
    return is_object(value) and value.keys() <= _KEPT.keys() and all(_KEPT[name](x) for name, x in value.items())


def evidence_files(record: SourceRecord) -> list[tuple[Path, str]]:
    """Return the files of evidence that a source was loaded from, each with its fingerprint; any other object is one that no file has."""
    prints = record.fingerprint.split(" ")
    files = LoadOptions.from_json(record.options).files
    if not files:
        # Earlier versions kept the names alone, in which a comma may also stand.
        files = record.source.split(", ") if len(prints) > 1 else [record.source]
    return list(zip(map(Path, files), prints, strict=True)) if len(files) == len(prints) else []


def origin(record: SourceRecord | PartRecord) -> Any:
    """Return what the source of a load that can be read again is opened by: its text, or the paths of several files."""
    files = LoadOptions.from_json(record.options).files if record.kind == "file" else ()
    return [Path(file) for file in files] if files else record.source


def check_name(name: object, what: str = "predicate") -> None:
    """Refuse a name of a predicate or type that no model can write."""
    if not isinstance(name, str):
        raise LoadError(f"the name of a {what} is a text, not {name!r}.")
    if not is_identifier(name):
        raise LoadError(
            f"{name!r} cannot be the name of a {what}: a name is a letter and then letters, digits and underscores."
        )


def checked_options(predicate: str, options: LoadOptions) -> LoadOptions:
    """Return options with tuples, dicts and texts in place of what else may hold or be them, as arrays and pandas' indexes."""
    check_name(predicate)
    options = _plain(predicate, options)
    if options.types is not None and not isinstance(options.types, str):
        for name in options.types:
            check_name(name, "type")
    if options.target and options.given:
        raise LoadError(
            f"{predicate}: {Parameter('target', True)} makes facts labels, {Parameter('given', True)} makes them evidence: choose one."
        )
    if options.duplicates not in ("error", "drop"):
        raise LoadError(f"{predicate}: {Parameter('duplicates', options.duplicates)} must be 'error' or 'drop'.")
    if options.nulls not in ("error", "drop"):
        raise LoadError(f"{predicate}: {Parameter('nulls', options.nulls)} must be 'error' or 'drop'.")
    if options.empty not in ("error", "allow"):
        raise LoadError(f"{predicate}: {Parameter('empty', options.empty)} must be 'error' or 'allow'.")
    if options.truth is not None and options.probability is not None:
        raise LoadError(
            f"{predicate}: {Parameter('truth')} and {Parameter('probability')} cannot both be given: a probability of 0 or 1 is hard evidence."
        )
    if options.value is not None and (options.truth, options.probability) != (None, None):
        other = Parameter("truth" if options.truth is not None else "probability")
        raise LoadError(
            f"{predicate}: {Parameter('value')} and {other} cannot both be given: a value of 0 is false and one of 1 true, and those between are no "
            "probabilities."
        )
    if options.probability is not None and (options.target or options.given):
        raise LoadError(
            f"{predicate}: {Parameter('probability')} is soft evidence, which is neither target nor given; leave those out."
        )
    return options


def _plain(predicate: str, options: LoadOptions) -> LoadOptions:
    """Return options whose values JSON can keep."""
    plain: dict[str, Any] = {}
    for name in ("example", "truth", "probability", "value"):
        value = getattr(options, name)
        plain[name] = None if value is None else _column(predicate, name, value)
    for name in ("target", "given", "fold_case"):
        value = getattr(options, name)
        if not isinstance(value, int | np.bool_) or value not in (0, 1):
            raise LoadError(f"{predicate}: {Parameter(name, value)} must be {Phrase('True')} or {Phrase('False')}.")
        plain[name] = bool(value)
    # What else a header may be `Dialect` says, with the reason.
    header: Any = options.header
    plain["header"] = bool(header) if isinstance(header, np.bool_) else header
    columns, names = options.columns, functools.partial(_column, predicate, "columns")
    if isinstance(columns, Mapping):
        plain["columns"] = {names(argument): names(value) for argument, value in columns.items()}
    elif columns is not None and not isinstance(columns, str):
        plain["columns"] = tuple(map(names, _ordered(predicate, "columns", columns)))
    if options.types is not None and not isinstance(options.types, str):
        types = _ordered(predicate, "types", options.types)
        plain["types"] = tuple(str(t) if isinstance(t, str) else t for t in types)
    plain["constants"] = _renames(predicate, options.constants)
    plain["bins"] = _bins(predicate, options.bins)
    return replace(options, **plain)


def _bins(predicate: str, bins: Any) -> dict[str | int, int | tuple[Any, ...] | Model] | Model | None:
    """Return numbers of pieces, edges and models by what names their type, with plain numbers."""
    if bins is None or isinstance(bins, Model):
        return bins
    if not isinstance(bins, Mapping):
        raise LoadError(
            f"{predicate}: {Parameter('bins', Written(shortened(repr(bins), 80)))} must be a mapping from types to numbers of pieces or edges, such as "
            "{'price': 10}, or a model."
        )
    return {_column(predicate, "bins", key): _pieces(predicate, key, value) for key, value in bins.items()}


def _pieces(predicate: str, key: object, value: Any) -> int | tuple[Any, ...] | Model:
    """Return a number of pieces, edges or a model as plain values."""
    if isinstance(value, Model):
        return value
    if isinstance(value, _WHOLE) and not isinstance(value, bool):
        return int(value)
    if isinstance(value, Iterable) and not isinstance(value, str | bytes | Mapping | Set):
        return tuple(
            (str(x) if np.isnat(x) else text_of(x))
            if isinstance(x, np.datetime64)
            else x.item()
            if isinstance(x, np.generic)
            else x
            for x in value
        )
    raise LoadError(
        f"{predicate}: {Parameter('bins', {key: Written(shortened(repr(value), 80))})} must be a whole number of pieces, a list of edges, or a model."
    )


def _column(predicate: str, option: str, value: object) -> str | int:
    """Return what names a column as a text or an int."""
    if isinstance(value, str):
        return str(value)
    if isinstance(value, _WHOLE) and not isinstance(value, bool):
        return int(value)
    where = (
        f"{Parameter(option)} has {value!r}, which" if option in ("columns", "bins") else f"{Parameter(option, value)}"
    )
    raise LoadError(f"{predicate}: {where} names no column: give its name, or its position (an int from 0).")


def _ordered(predicate: str, option: str, values: object) -> tuple[Any, ...]:
    """Return what stands in an option for the arguments, one after the other."""
    # The keys of a dict have an order, other sets have none.
    unordered = isinstance(values, Set) and not isinstance(values, KeysView)
    if isinstance(values, Iterable) and not unordered and not isinstance(values, bytes | Mapping):
        return tuple(values)
    why = ", and a set has no order" if unordered else ""
    raise LoadError(f"{predicate}: {Parameter(option, values)} must be a list with one item for each argument{why}.")


def _renames(predicate: str, constants: Any) -> dict[str, str]:
    """Return the new names of constants."""
    if not hasattr(constants, "keys"):
        raise LoadError(
            f"{predicate}: {Parameter('constants', constants)} must be a mapping from constants to their new names."
        )
    pairs = dict(constants)
    for name in (*pairs, *pairs.values()):
        if not isinstance(name, (str, *_WHOLE)) or isinstance(name, bool):
            raise LoadError(
                f"{predicate}: {Parameter('constants')} has {name!r}, which is no constant: name constants by texts."
            )
    return {str(old): str(new) for old, new in pairs.items()}
