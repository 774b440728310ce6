"""How many query atoms there may be, and what memory they take."""

from __future__ import annotations

from collections.abc import Mapping

from sqlrl.errors import CatalogError, InputError, Parameter, Phrase
from sqlrl.wording import counted, in_bytes

ATOM_LIMIT = 20_000_000
"""The most query atoms, helper atoms beside them, and clauses of templates, unless `connect` says otherwise."""

ATOM_BYTES = 250
"""About how much memory an atom takes at the worst moment of a prediction, its row in the database and a ground clause included."""


def check_atom_limit(limit: object) -> int:
    """Return a limit of atoms, or refuse what is none."""
    if not isinstance(limit, int) or isinstance(limit, bool) or limit < 1:
        raise InputError(f"{Parameter('atom_limit', limit)} must be a whole number of atoms, 1 or more.")
    return limit


def memory_of(atoms: int) -> str:
    """Return about how much memory some atoms take, in words."""
    return f"about {in_bytes(atoms * ATOM_BYTES)}"


def greater_limit(atoms: int) -> str:
    """Return the words for the way out that makes as many atoms nevertheless."""
    return f"or open the database with {Parameter('atom_limit', atoms)}"


def check_scope(predicate: str, rows: int, limit: int) -> None:
    """Refuse a scope of too many rows before it is read."""
    if rows > limit:
        raise CatalogError(
            f"the scope of {predicate} has {counted(rows, 'row')}, and each distinct one is a query atom ({memory_of(rows)}), more than the "
            f"limit of {limit:,} atoms: narrow it, load fewer examples, {greater_limit(rows)}."
        )


def check_atoms(sizes: Mapping[str, int], limit: int) -> None:
    """Refuse more query atoms than the limit; `sizes` are those of each open predicate."""
    total = sum(sizes.values())
    if total <= limit:
        return
    order = sorted(sizes, key=lambda name: (-sizes[name], name))
    each = f" ({', '.join(f'{sizes[n]:,} of {n}' for n in order)})" if len(order) > 1 else f" of {order[0]}"
    raise CatalogError(
        f"there would be {counted(total, 'query atom')}{each}, {memory_of(total)}, more than the limit of {limit:,}: give {order[0]} a "
        f"scope, the tuples that may be true, with {Phrase('db.scope({!r}, ...)', (order[0],))}, load fewer examples or constants, {greater_limit(total)}."
    )
