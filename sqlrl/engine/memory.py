"""How much memory this process may take, and how the database and the arrays of grounding and solving share it."""

from __future__ import annotations

import ctypes
import math
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

PROCESS = 350_000_000
"""What the interpreter, all imports and compiled code take: 300 to 370 MB measured after a prediction of a thousand atoms."""

WORKING = 150_000_000
"""What a database is left at the least: with less, DuckDB fails to join and to sort where it spills."""

WHOLE = 10**9
"""From this limit on the whole process keeps it; a smaller one, which the imports nearly fill, is one of the database, and once more of arrays."""

SHARE = 0.8
"""The part of the available memory that is the limit where nobody gives one."""

LEAST = 50_000_000
"""What a process may take beside its imports where next to nothing is available: small work is done all the same."""

_CGROUPS = Path("/sys/fs/cgroup")
_PROC = Path("/proc")


@dataclass(frozen=True)
class Memory:
    """The bytes that a process may take."""

    limit: int
    # Whether a user gave the limit; else it is a part of what was available.
    given: bool = True
    fixed: bool = False  # the share of the database cannot be changed later
    # The database has a limit of its own, on a connection of the user's or where the whole is too small to be shared; this one is for arrays alone.
    apart: bool = False

    @classmethod
    def of_machine(cls, *, fixed: bool = False, apart: bool = False) -> Memory:
        """Return the limit where nobody gave one: a part of what is available now, beside what the imports have taken already."""
        beside = round(SHARE * available_memory().size)
        if apart:
            return cls(beside, given=False, apart=True)
        # Data of the user's own may fill this process, too, and are no part of what sqlrl may take.
        return cls(max(beside + min(resident_memory(), PROCESS), PROCESS + LEAST), given=False, fixed=fixed)

    @classmethod
    def of(cls, size: int | None, *, fixed: bool = False) -> Memory:
        """Return the memory of a process whose limit a user gave, or not; one below `WHOLE` is for the database and, once more, for arrays."""
        if size is None:
            return cls.of_machine(fixed=fixed)
        return cls(size, fixed=fixed, apart=size < WHOLE)

    @property
    def arrays(self) -> int:
        """The most that all arrays may take together."""
        if self.apart:
            return self.limit
        left = max(self.limit - PROCESS, 0)
        if self.fixed:
            return left // 2
        if self.given:
            return max(left - WORKING, 0)
        # What is loaded into memory by those who give no limit stays there, most of it: it would be slow to spill nearly all.
        return max(left - max(WORKING, left // 4), left // 2)

    @staticmethod
    def enough(arrays: int) -> int:
        """Return a limit that leaves so many bytes to arrays, in whole GB."""
        return math.ceil((arrays + PROCESS + WORKING) / 10**9) * 10**9

    def share(self, arrays: int = 0) -> int:
        """Return what the database may take beside arrays of some size."""
        if self.apart:
            return self.limit
        left = max(self.limit - PROCESS, 0)
        if self.fixed:
            return left - self.arrays
        if self.given:
            return max(left - arrays, WORKING)
        # Nobody asked for the last percent, and to tell the database takes a statement.
        return left - min(arrays, self.arrays) if arrays > left // 16 else left


@dataclass(frozen=True)
class Available:
    """So many bytes can be taken now, and what bounds them: the machine, or the container (a group of processes) that this process is in."""

    size: int
    container: bool


def available_memory() -> Available:
    """Return what this process can take now without swapping: of the machine, or of a group of processes around it if that leaves less."""
    machine = Available(_machine_available(), container=False)
    groups = [Available(max(limit - used, 0), container=True) for limit, used in _groups()]
    return min([machine, *groups], key=lambda each: each.size)


@cache
def machine_memory() -> int:
    """Return the memory of the machine in bytes, or what its container may take of it, whichever is less."""
    return min([physical_memory(), *(limit for limit, _ in _groups())])


def physical_memory() -> int:
    """Return the memory of the machine in bytes, whatever a container may take of it; 2^63 where the system does not say."""
    if hasattr(os, "sysconf"):
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return _windows_memory()[0]


def resident_memory() -> int:
    """Return how many bytes this process has in memory; 0 where the system does not say."""
    try:
        return int((_PROC / "self" / "statm").read_text(encoding="utf-8").split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


def _machine_available() -> int:
    """Return what the machine can still give; all that it has where the system does not say."""
    try:
        lines = (_PROC / "meminfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return physical_memory() if hasattr(os, "sysconf") else _windows_memory()[1]
    found = [int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:")]
    return found[0] if found else physical_memory()


def _windows_memory() -> tuple[int, int]:
    """Return the memory of a machine with Windows, and what of it is available."""
    if sys.platform == "win32":

        class _Status(ctypes.Structure):
            # MEMORYSTATUSEX: length, load in percent, total and available bytes, five sizes of page files and addresses.
            _fields_ = (
                ("length", ctypes.c_ulong),
                ("load", ctypes.c_ulong),
                ("total", ctypes.c_ulonglong),
                ("available", ctypes.c_ulonglong),
                ("others", ctypes.c_ulonglong * 5),
            )

        status = _Status(length=ctypes.sizeof(_Status))
        if ctypes.windll.kernel32.GlobalMemoryStatusEx(ctypes.byref(status)):
            return int(status.total), int(status.available)
    return 2**63, 2**63


# ---- groups of processes (cgroups) -------------------------------------------------------------------


def _groups() -> Iterator[tuple[int, int]]:
    """Yield the limit of each group of processes that this process is in, and what the group uses of it beside cached files."""
    try:
        lines = (_PROC / "self" / "cgroup").read_text(encoding="utf-8").splitlines()
    except OSError:
        return
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            root, names, cached = _CGROUPS, ("memory.max", "memory.current"), ("inactive_file", "active_file")
        elif "memory" in controllers.split(","):
            # In the first version the plain names are of the group alone, without those inside of it.
            root, names = _CGROUPS / "memory", ("memory.limit_in_bytes", "memory.usage_in_bytes")
            cached = ("total_inactive_file", "total_active_file")
        else:
            continue
        group = root / path.lstrip("/")
        # In a container the path may be that of the host: what the container has is at the root then.
        for folder in (group, *group.parents):
            limit = _number(folder / names[0])
            if limit:
                yield limit, max((_number(folder / names[1]) or 0) - _cached(folder / "memory.stat", cached), 0)
            if folder == root:
                break


def _number(file: Path) -> int | None:
    """Return the number in a file; None if there is none, as in a group without a limit."""
    text = _text(file).strip()
    return int(text) if text.isdigit() else None


def _cached(file: Path, names: tuple[str, ...]) -> int:
    """Return how many bytes of a group are cached files, which the kernel drops when memory is asked for."""
    rows = (line.split() for line in _text(file).splitlines())
    return sum(int(row[1]) for row in rows if len(row) == 2 and row[0] in names)


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except OSError:
        return ""
