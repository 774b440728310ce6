"""Settings of a database as users give them, looked at before DuckDB is told: it takes `-5` for all the memory there is, and `2.7` threads for 3."""

from __future__ import annotations

import operator
import re
from pathlib import Path

from sqlrl.engine.memory import machine_memory
from sqlrl.errors import InputError, Parameter
from sqlrl.paths import is_file

MOST_THREADS = 1024
LEAST_MEMORY = 10**6
"""Bytes below which DuckDB cannot even open a database."""

_SIZE = re.compile(r"\s*(?P<number>\d+(\.\d+)?)\s*(?P<unit>%|[KMGT]i?B)\s*", re.IGNORECASE)
_FACTORS = {"k": 1, "m": 2, "g": 3, "t": 4}


def checked_threads(threads: object) -> int:
    """Return a number of threads, or refuse what is none."""
    try:
        found = 0 if isinstance(threads, bool) else operator.index(threads)  # type: ignore[arg-type]
    except TypeError:
        found = 0
    if not 1 <= found <= MOST_THREADS:
        raise InputError(
            f"{Parameter('threads', threads)} must be a whole number from 1 to {MOST_THREADS:,}, such as that of the processor's cores."
        )
    return found


def checked_memory(limit: object) -> str:
    """Return a size of memory, or refuse what is none."""
    found = _SIZE.fullmatch(limit) if isinstance(limit, str) else None
    if not isinstance(limit, str) or found is None or not _possible(float(found["number"]), found["unit"].lower()):
        raise InputError(
            f"{Parameter('memory_limit', limit)} must be a size of 1 MB or more with its unit, as text: '4GB', '500MB', or '60%' of what the machine has."
        )
    return limit


def _possible(number: float, unit: str) -> bool:
    """Return True for a size that a database can be opened with."""
    if unit == "%":
        return 0 < number <= 100
    # DuckDB counts bytes in 64 bits.
    return LEAST_MEMORY <= _bytes(number, unit) < 2**63


def _bytes(number: float, unit: str) -> float:
    return number * float((1024 if "i" in unit else 1000) ** _FACTORS[unit[0]])


def memory_bytes(limit: str) -> int:
    """Return how many bytes a size is, as `checked_memory` accepts it."""
    found = _SIZE.fullmatch(limit)
    assert found is not None, "the size was checked"
    number, unit = float(found["number"]), found["unit"].lower()
    return round(machine_memory() * number / 100) if unit == "%" else round(_bytes(number, unit))


def checked_directory(directory: object) -> str:
    """Return the folder into which DuckDB spills, '' for none, or refuse what is no path, or a file."""
    if not isinstance(directory, str | Path):
        raise InputError(
            f"{Parameter('temp_directory', directory)} must be the path of a folder, or '' where nothing may be spilled."
        )
    if is_file(directory):
        raise InputError(f"{Parameter('temp_directory', str(directory))} is a file: name a folder, which may be new.")
    return str(directory)
