"""The files that sqlrl ships beside its code: `schemas/` and `migrations/`.

In an editable install and in a checkout they are top-level folders beside the package; in a wheel they are packed
into it as `sqlrl/_schemas` and `sqlrl/_migrations`.
"""

from __future__ import annotations

from pathlib import Path

from sqlrl.errors import SqlrlError

KINDS = ("schemas", "migrations")


def _folder(kind: str) -> Path:
    """Return the folder of a kind: the packed one if it exists, else the one beside the package."""
    if kind not in KINDS:
        raise ValueError(f"unknown kind of resource {kind!r}: expected one of {', '.join(KINDS)}")
    package = Path(__file__).resolve().parent
    packed, beside = package / f"_{kind}", package.parent / kind
    for folder in (packed, beside):
        if folder.is_dir():
            return folder
    raise SqlrlError(f"the installation of sqlrl is incomplete: neither {packed} nor {beside} exists; install it again")


def resource_names(kind: str) -> tuple[str, ...]:
    """Return the sorted names of the files of a kind, "schemas" or "migrations", but for those that begin with `.` or `_`."""
    return tuple(sorted(p.name for p in _folder(kind).iterdir() if p.is_file() and p.name[0] not in "._"))


def resource(kind: str, name: str) -> str:
    """Return the text of one file, by a name that `resource_names` lists for the kind, and with its errors."""
    names = resource_names(kind)
    if name not in names:
        raise ValueError(f"there is no {name!r} among the {kind}: {', '.join(names) or 'none'}")
    return (_folder(kind) / name).read_text(encoding="utf-8")
