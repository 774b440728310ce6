"""The options of a load: what they may be, and how the catalog keeps them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from sqlrl.catalog.delimited import Dialect
from sqlrl.catalog.store import SourceRecord
from sqlrl.errors import LoadError
from sqlrl.logic.printer import is_identifier


@dataclass(frozen=True)
class LoadOptions:
    """The options of `Catalog.load`, which explains them; `files` are those that `Catalog.load_evidence` read together."""

    columns: Sequence[str | int] | Mapping[str | int, str | int] | None = None
    types: Sequence[str] | None = None
    example: str | int | None = None
    target: bool = False
    given: bool = False
    truth: str | int | None = None
    probability: str | int | None = None
    duplicates: str = "error"
    empty: str = "error"
    fold_case: bool = False
    constants: Mapping[str, str] = field(default_factory=dict)
    header: bool = True
    delimiter: str | None = None
    quote: str = '"'
    files: Sequence[str] = ()

    @classmethod
    def from_json(cls, text: str) -> LoadOptions:
        """Return the options that `to_json` wrote.

        Examples
        --------
        >>> LoadOptions.from_json(LoadOptions(columns={0: "b", "place": 2}).to_json()).columns
        {0: 'b', 'place': 2}
        """
        values = json.loads(text)
        if isinstance(values["columns"], dict):
            # Keys are texts in JSON; no type has the name of a number.
            values["columns"] = {int(k) if k.isdecimal() else k: v for k, v in values["columns"].items()}
        return cls(**values)

    def to_json(self) -> str:
        """Return the options as the catalog keeps them, to load the source again."""
        values = asdict(self)
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


def evidence_files(record: SourceRecord) -> list[tuple[Path, str]]:
    """Return the files of evidence that a source was loaded from, each with its fingerprint; any other object is one that no file has.

    Examples
    --------
    >>> record = SourceRecord(
    ...     "P", "fact", "t", False, False, False, "object", "/a.db, /b.db", "1:2 3:4", LoadOptions().to_json(), 1
    ... )
    >>> [path.name for path, _ in evidence_files(record)]
    ['a.db', 'b.db']
    """
    prints = record.fingerprint.split(" ")
    files = LoadOptions.from_json(record.options).files
    if not files:
        # Earlier versions kept the names alone, in which a comma may also stand.
        files = record.source.split(", ") if len(prints) > 1 else [record.source]
    return list(zip(map(Path, files), prints, strict=True)) if len(files) == len(prints) else []


def check_name(name: object, what: str = "predicate") -> None:
    """Refuse a name of a predicate or type that no model can write.

    Raises
    ------
    LoadError

    Examples
    --------
    >>> check_name("my table")
    Traceback (most recent call last):
    sqlrl.errors.LoadError: 'my table' cannot be the name of a predicate: a name is a letter and then letters, digits and underscores.
    """
    if not isinstance(name, str):
        raise LoadError(f"the name of a {what} is a text, not {name!r}.")
    if not is_identifier(name):
        raise LoadError(
            f"{name!r} cannot be the name of a {what}: a name is a letter and then letters, digits and underscores."
        )


def check_options(predicate: str, options: LoadOptions) -> None:
    """Refuse names that no model can write, and options that contradict each other.

    Raises
    ------
    LoadError
    """
    check_name(predicate)
    if isinstance(options.types, Sequence) and not isinstance(options.types, str):
        for name in options.types:
            check_name(name, "type")
    if options.target and options.given:
        raise LoadError(f"{predicate}: target=True makes facts labels, given=True makes them evidence: choose one.")
    if options.duplicates not in ("error", "drop"):
        raise LoadError(f"{predicate}: duplicates={options.duplicates!r} must be 'error' or 'drop'.")
    if options.empty not in ("error", "allow"):
        raise LoadError(f"{predicate}: empty={options.empty!r} must be 'error' or 'allow'.")
    if options.truth is not None and options.probability is not None:
        raise LoadError(
            f"{predicate}: truth= and probability= cannot both be given: a probability of 0 or 1 is hard evidence."
        )
    if options.probability is not None and (options.target or options.given):
        raise LoadError(
            f"{predicate}: probability= is soft evidence, which is neither target nor given; leave those out."
        )
