"""Where a database spills what exceeds its memory: a folder on a disk, locked while its process lives, and removed by the next process if that died."""

from __future__ import annotations

import atexit
import logging
import os
import re
import secrets
import shutil
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from sqlrl.paths import is_dir

logger = logging.getLogger(__name__)

PREFIX = ".sqlrl-spill-"
LOCK = ".lock"
IN_MEMORY = frozenset({"tmpfs", "ramfs", "devtmpfs"})
"""Kinds of file systems whose files take memory, so that nothing is gained by spilling to them."""

_MOUNTS = Path("/proc/self/mountinfo")
_ESCAPE = re.compile(r"\\([0-7]{3})")


class SpillFolder:
    """A folder that DuckDB makes when it spills, and a lock file beside it that is held as long as some connection may need the folder."""

    def __init__(self, base: Path) -> None:
        self.process, self.holders = os.getpid(), 0
        self.path, self._descriptor = _locked(base)

    def release(self) -> None:
        """Let go of the folder, once for each time that `spill_folder` gave it."""
        # A process that was forked ends before the one that made the folder.
        if os.getpid() != self.process:
            return
        with _turn:
            self.holders -= 1
            if self.holders:
                return
            for name in [name for name, each in _open.items() if each is self]:
                del _open[name]
        # DuckDB has removed its own files, unless a connection goes on, the user's or one that nobody has closed.
        with suppress(OSError):
            self.path.rmdir()
        if self.path.exists():
            _left.append(self)
            return
        os.close(self._descriptor)
        _lock_of(self.path).unlink(missing_ok=True)

    def remove(self) -> None:
        """Remove the folder with what is in it, as its process ends."""
        if os.getpid() == self.process:
            shutil.rmtree(self.path, ignore_errors=True)
            os.close(self._descriptor)
            _lock_of(self.path).unlink(missing_ok=True)


_turn = threading.Lock()
_left: list[SpillFolder] = []
"""Folders that are locked until this process ends, since something in them may be in use."""


def _remove_left() -> None:
    for each in _left:
        each.remove()


# Registered before the first engine is there, and so run after engines that nobody has closed have let go.
atexit.register(_remove_left)
_open: dict[str, SpillFolder] = {}
"""The folders of this process by the path of their database: connections to one file share it, and its settings."""


def spill_folder(path: str) -> SpillFolder | None:
    """Return the folder of a database, the same for all connections of this process to a file, until `release`; None if no disk can be written."""
    bases = candidates(path)
    for base in bases:
        remove_dead(base)
    with _turn:
        known = _open.get(path)
        if known is not None and known.process == os.getpid():
            known.holders += 1
            return known
        for base in bases:
            if in_memory(base):
                continue
            try:
                made = SpillFolder(base)
            except OSError as error:
                logger.debug("nothing can be spilled to %s: %s", base, error)
                continue
            made.holders = 1
            if path != ":memory:":
                _open[path] = made
            return made
    return None


def candidates(path: str = ":memory:") -> list[Path]:
    """Return the folders where a database may spill, the first choice first."""
    found = [] if path == ":memory:" else [Path(path).absolute().parent]
    try:
        found.append(Path(tempfile.gettempdir()))
    except OSError as error:
        logger.debug("there is no temporary folder: %s", error)
    if sys.platform != "win32":
        found += [Path("/var/tmp"), Path(os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser())]  # noqa: S108
    return [each for each in dict.fromkeys(found) if is_dir(each)]


def chosen_base(path: str = ":memory:") -> Path | None:
    """Return the folder in which a database would make its own, None if there is none; nothing is made."""
    return next((each for each in candidates(path) if not in_memory(each) and os.access(each, os.W_OK)), None)


def in_memory(folder: Path) -> bool:
    """Tell whether what is written to a folder takes memory; False where the system does not say."""
    place, kind, longest = folder.resolve(), "", -1
    for mount, found in _mounts():
        # What is mounted later hides what was there.
        if place.is_relative_to(mount) and len(mount.parts) >= longest:
            kind, longest = found, len(mount.parts)
    return kind in IN_MEMORY


def _mounts() -> Iterator[tuple[Path, str]]:
    """Yield where file systems are mounted, and of which kind they are."""
    try:
        lines = _MOUNTS.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return
    for line in lines:
        mount, _, system = line.partition(" - ")
        if len(mount.split()) > 4 and system:
            yield Path(_ESCAPE.sub(lambda x: chr(int(x[1], 8)), mount.split()[4])), system.split()[0]


# ---- locks: held by the kernel for a process, in whatever name space it runs, and let go when it dies ---


def _lock_of(folder: Path) -> Path:
    return folder.with_name(folder.name + LOCK)


def _locked(base: Path) -> tuple[Path, int]:
    """Return the path of a new folder, which is not made, and the open file that locks it; OSError if nothing can be written there."""
    while True:
        # What a sealed database spills may be read by its SQL, so nobody may know the folder beforehand.
        folder = base / f"{PREFIX}{secrets.token_hex(8)}"
        lock = _lock_of(folder)
        descriptor = os.open(lock, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600)
        # Another process may have taken the new file for one that was left, before it was locked.
        if _lock(descriptor) is not False and _is(lock, descriptor):
            return folder, descriptor
        os.close(descriptor)


def _is(file: Path, descriptor: int) -> bool:
    """Tell whether an open file still has its name."""
    try:
        return os.path.samestat(file.stat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def _lock(descriptor: int) -> bool | None:
    """Lock an open file if nobody else has; return False if somebody has, and None if files cannot be locked there."""
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    except OSError:
        return None
    return True


def remove_dead(base: Path) -> None:
    """Remove the folders of processes that died; those of other users, and those that nobody can tell of, stay."""
    try:
        with os.scandir(base) as entries:
            locks = [Path(x.path) for x in entries if x.name.startswith(PREFIX) and x.name.endswith(LOCK)]
    except OSError:
        return
    for lock in locks:
        try:
            descriptor = os.open(lock, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0))
        except OSError:
            continue
        try:
            if _lock(descriptor) and _is(lock, descriptor):
                folder = lock.with_name(lock.name.removesuffix(LOCK))
                logger.info("%s was left by a process that died", folder)
                shutil.rmtree(folder, ignore_errors=True)
                lock.unlink(missing_ok=True)
        except OSError as error:
            logger.debug("%s stays: %s", lock, error)
        finally:
            os.close(descriptor)
