"""How much memory this process may take, and how the database and the arrays of grounding and solving share it."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path

PROCESS = 350_000_000
"""What the interpreter, all imports and compiled code take: 300 to 370 MB measured after a prediction of a thousand atoms."""

WORKING = 150_000_000
"""What a database is left at the least: with less, DuckDB fails to join and to sort where it spills."""

WHOLE = 10**9
"""From this limit on the whole process keeps it; a smaller one, which the imports nearly fill, is one of the database alone."""

_CGROUPS = Path("/sys/fs/cgroup")


@dataclass(frozen=True)
class Memory:
    """The bytes that a process may take."""

    limit: int
    # Whether a user gave the limit; else it is what the machine has, and only refuses what cannot end well: the kernel kills a process that takes
    # more, and what it had done is lost.
    given: bool = True
    fixed: bool = False  # the share of the database cannot be changed later

    @classmethod
    def of_machine(cls) -> Memory:
        """Return the memory of the machine, or of the container, where nobody gave a limit."""
        return cls(machine_memory(), given=False)

    @classmethod
    def of(cls, size: int | None, *, fixed: bool = False) -> Memory:
        """Return the memory of a process whose limit a user gave, or not; one below `WHOLE` is DuckDB's alone."""
        return cls.of_machine() if size is None or size < WHOLE else cls(size, fixed=fixed)

    @property
    def arrays(self) -> int:
        """The most that all arrays may take together."""
        if not self.given:
            return max(self.limit - PROCESS, 0)
        return (self.limit - PROCESS) // 2 if self.fixed else self.limit - PROCESS - WORKING

    @staticmethod
    def enough(arrays: int) -> int:
        """Return a limit that leaves so many bytes to arrays, in whole GB."""
        return math.ceil((arrays + PROCESS + WORKING) / 10**9) * 10**9

    def share(self, arrays: int = 0) -> int:
        """Return what the database may take beside arrays of some size."""
        return self.limit - PROCESS - self.arrays if self.fixed else max(self.limit - PROCESS - arrays, WORKING)


@cache
def machine_memory() -> int:
    """Return the memory of the machine in bytes, or what its container may take of it, whichever is less."""
    sizes = [physical_memory()]
    try:
        lines = Path("/proc/self/cgroup").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    for line in lines:
        sizes += _limits(line)
    return min(sizes)


def physical_memory() -> int:
    """Return the memory of the machine in bytes, whatever a container may take of it; 2^63 where the system does not say."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if hasattr(os, "sysconf") else 2**63


def _limits(line: str) -> list[int]:
    """Return the limits of a group of processes, as a line of /proc/self/cgroup names it, and of those around it."""
    _, controllers, path = line.split(":", 2)
    if controllers == "":
        root, name = _CGROUPS, "memory.max"
    elif controllers == "memory":
        root, name = _CGROUPS / "memory", "memory.limit_in_bytes"
    else:
        return []
    group, found = root / path.lstrip("/"), []
    for folder in (group, *group.parents):
        try:
            text = (folder / name).read_text(encoding="utf-8").strip()
        except OSError:
            text = "max"
        if text.isdigit() and int(text) > 0:
            found.append(int(text))
        if folder == root:
            break
    return found
