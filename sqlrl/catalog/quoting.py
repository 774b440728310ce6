"""Names of tables as users write them, with quotes or without."""

from __future__ import annotations

import re

_PART = r'("(?:[^"]|"")+"|[^\s".]+)'
_NAME = re.compile(rf"\s*{_PART}(?:\.{_PART})?(?:\.{_PART})?\s*")


class WrittenName:
    """A text that may name a table: `t`, `schema.t`, `catalog.t` or `catalog.schema.t`, case ignored.

    Its parts may be quoted as in SQL (`"my schema"."my table"`); without quotes they may hold any character.

    Parameters
    ----------
    text : str

    Examples
    --------
    >>> WrittenName('Main."a.b"').names("memory", "main", "a.b", short=False)
    True
    >>> WrittenName("main.a.b").names("memory", "main", "a.b", short=False)
    True
    >>> WrittenName('"a.b"').names("memory", "other", "a.b", short=False)
    False
    """

    def __init__(self, text: str) -> None:
        self._plain = text.casefold()
        found = _NAME.fullmatch(self._plain) if '"' in text else None
        parts = found.groups() if found is not None else ()
        self._parts = tuple(p[1:-1].replace('""', '"') if p.startswith('"') else p for p in parts if p is not None)

    def names(self, catalog: str, schema: str, table: str, *, short: bool) -> bool:
        """Return whether the text names this table; `short` if the table's own name is enough."""
        full = tuple(part.casefold() for part in (catalog, schema, table))
        if self._plain in (".".join(full), ".".join(full[1:])) or (short and self._plain == full[2]):
            return True
        size = len(self._parts)
        return size > (0 if short else 1) and self._parts == full[-size:]

    def names_in_database(self, catalog: str, schema: str, table: str) -> bool:
        """Return whether the text names this table as one in the schema `main` of a database: `catalog.t`.

        Examples
        --------
        >>> WrittenName("Other.t").names_in_database("other", "main", "t")
        True
        """
        named = (catalog.casefold(), table.casefold())
        return schema.casefold() == "main" and (
            self._parts == named or ("." not in table and self._plain == ".".join(named))
        )
