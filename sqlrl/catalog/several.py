"""Several predicates at once: the files of a folder, named after predicates, and the types of their arguments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sqlrl.catalog.delimited import is_delimited
from sqlrl.catalog.dictionary import did_you_mean, nearest_names
from sqlrl.catalog.sources import PARQUET
from sqlrl.errors import InputError, LoadError
from sqlrl.logic.bias import Bias

Sources = str | Path | Mapping[str, Any]
Types = Bias | Mapping[str, Sequence[str]]
Chosen = tuple[Any, tuple[str, ...] | None]


def chosen_sources(sources: Sources, types: Types | None) -> dict[str, Chosen]:
    """Return the source and the types of each predicate to load.

    Parameters
    ----------
    sources : folder or mapping
        A folder of Parquet, CSV and TSV files named after predicates; or the source of each predicate.
    types : Bias or mapping of str to sequence of str, optional
        Types of the arguments of predicates; of a bias only the predicates that bodies have are loaded.

    Raises
    ------
    LoadError
        The folder has no such file or two for one predicate; types of a predicate without a source; a bias with several types
        for an argument.
    InputError
        Arguments of the wrong kind.
    """
    found = dict(sources) if isinstance(sources, Mapping) else _files(sources)
    if types is None:
        return {name: (source, None) for name, source in found.items()}
    where = "sources" if isinstance(sources, Mapping) else str(sources)
    if isinstance(types, Bias):
        known = _bias_types(types)
        mine: dict[str, Chosen] = {name: (source, known[name]) for name, source in found.items() if name in known}
        if not mine:
            raise LoadError(f"{where} has none of the predicates of {types.path}: {', '.join(known)}")
        return mine
    if not isinstance(types, Mapping):
        raise InputError(f"types={types!r}: give a mapping from predicates to the types of their arguments, or a bias")
    for name in types:
        if name not in found:
            raise LoadError(
                f"types= names {name}, which {where} does not have{did_you_mean(nearest_names(name, found))}"
            )
    return {name: (source, tuple(types[name]) if name in types else None) for name, source in found.items()}


def _files(folder: object) -> dict[str, Path]:
    """Return the files of a folder by the names of their predicates, sorted."""
    if not isinstance(folder, str | Path):
        raise InputError(f"{folder!r}: give a folder, or a mapping from predicates to what load takes")
    if not Path(folder).is_dir():
        raise LoadError(f"there is no folder {folder}: one source is loaded with load(predicate, source)")
    found: dict[str, Path] = {}
    for path in sorted(Path(folder).iterdir()):
        if path.suffix.lower() not in PARQUET and not is_delimited(path):
            continue
        name = path.name.split(".", maxsplit=1)[0]
        if name in found:
            raise LoadError(f"{folder} has two files for {name}: {found[name].name} and {path.name}; move one away")
        found[name] = path
    if not found:
        raise LoadError(f"{folder} has no Parquet, CSV or TSV file")
    return found


def _bias_types(bias: Bias) -> dict[str, tuple[str, ...]]:
    """Return the types of each predicate of a bias that bodies have."""
    known: dict[str, tuple[str, ...]] = {}
    for mode in (*bias.body, *bias.unused):
        if mode.predicate == bias.head.predicate:
            continue
        types = tuple(place.type for place in mode.places)
        if known.setdefault(mode.predicate, types) != types:
            raise LoadError(
                f"the modes of {mode.predicate} in {bias.path} have the types ({', '.join(known[mode.predicate])}) and "
                f"({', '.join(types)}): give types= as a mapping"
            )
    return known
