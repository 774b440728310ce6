"""`sqlrl version` and `doctor`: what is installed here, and whether it works."""

from __future__ import annotations

import os
import platform
import re
import shutil
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from importlib import import_module
from importlib.metadata import PackageNotFoundError, metadata, requires
from importlib.metadata import version as installed
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from sqlrl.cli.options import Json, Messages, grouped, option
from sqlrl.cli.session import CommandSession, print_json, session
from sqlrl.engine.main_module import named_main
from sqlrl.errors import SqlrlError, brief
from sqlrl.paths import expanded

# ---- sqlrl version ------------------------------------------------------------------------------------

_PACKAGES = ("sqlrl", "duckdb", "sqlglot", "numpy", "scipy", "ortools", "pyarrow", "numba")


def version(as_json: Json = False) -> None:
    """Print the versions of sqlrl, Python and the libraries that results depend on; `sqlrl doctor` looks whether they work.

    sqlrl version --json
    """
    rows = [{"package": "python", "version": platform.python_version()}]
    for package in _PACKAGES:
        try:
            found = installed(package)
        except PackageNotFoundError:
            found = "not installed"
        rows.append({"package": package, "version": found})
    if as_json:
        print_json(rows)
        return
    rows.insert(0, rows.pop(1))
    for row in rows:
        typer.echo(f"{row['package']:<10}{row['version']}")


# ---- sqlrl doctor -------------------------------------------------------------------------------------

OK, WARNING, ABSENT, BROKEN = "ok", "warning", "absent", "broken"
"""What a check finds: all right; works, with a drawback; an extra that is not there; sqlrl cannot work."""

_LEAST_DISK = 10**9
"""Bytes of free space below which a warning says so: what exceeds the memory goes to the disk."""

_MODULES = {
    "ortools": "ortools.sat.python.cp_model",
    "pyyaml": "yaml",
    "pyspark-client": "pyspark.sql.connect",
    "vl-convert-python": "vl_convert",
}
"""What is imported to see whether a package works, where it is not called like the package."""

_COMPILED = ("sqlrl", "duckdb", "numpy", "pyarrow", "sqlglot")
"""What every process imports that opens a database."""

_REQUIREMENT = re.compile(
    r"(?P<name>[A-Za-z0-9._-]+)[^;]*?(?:>=\s*(?P<floor>[\d.]+))?[^;]*(?:;.*extra\s*==\s*['\"](?P<extra>[^'\"]+)['\"])?"
)

Ahead = Annotated[
    bool,
    typer.Option(
        "--compile",
        help="First compile all machine code, which is otherwise compiled when it is first used: for container images.",
    ),
]

Folder = Annotated[
    Path | None,
    option("--directory", "DIR", "The folder where databases will be; the working folder by default."),
]  # fmt: skip


@dataclass(frozen=True)
class Check:
    """One row of the answer: what was looked at, what was found, its `status`, and how to mend what is not right."""

    check: str
    found: str
    status: str = OK
    remedy: str = ""


@grouped
def doctor(output: Messages, directory: Folder = None, ahead: Ahead = False) -> None:
    """Say whether sqlrl can work here: versions, cores, memory, disk, folders that can be written, and which extras are there.

    The exit code is 1 if something is broken that sqlrl needs; its row says how to mend it.

    sqlrl doctor

    sqlrl doctor --json

    sqlrl doctor --compile
    """
    with session(output) as run:
        if ahead:
            _compile_ahead(run)

        import pyarrow as pa

        from sqlrl.report import Table

        checks = list(examine(expanded(directory) if directory is not None else Path.cwd()))
        # A remedy is never cut: it is there to be copied.
        run.show(Table(pa.Table.from_pylist([asdict(each) for each in checks]), title="this machine", whole=True))
        if broken := [each for each in checks if each.status == BROKEN]:
            raise SqlrlError("\n".join(f"{each.check}: {each.found}: {each.remedy}" for each in broken))
        run.message("sqlrl can work here")


def _compile_ahead(run: CommandSession) -> None:
    from sqlrl.compilation import compile_ahead

    try:
        with run.working("compiling"):
            compiled = compile_ahead()
    except KeyboardInterrupt:
        run.message("what is compiled so far is kept: the same command compiles the rest")
        raise
    run.message(
        f"{compiled.new} of {compiled.signatures} signatures of kernels compiled; all are kept in {compiled.folder}"
    )


def examine(directory: Path) -> Iterator[Check]:
    """Yield all checks; none of them raises."""
    yield Check("python", platform.python_version())
    yield from _packages()
    yield from _attempt(
        "database", "install sqlrl and DuckDB again: pip install --force-reinstall sqlrl duckdb", _database
    )
    yield from _attempt("files of sqlrl", "install sqlrl again: pip install --force-reinstall sqlrl", _resources)
    yield Check("cores", str(_cores()))
    yield _memory()
    yield from (_disk("working folder", directory), _disk("temporary folder", _temporary()), _spill())
    yield _machine_code()
    yield _bytecode()
    yield from _extras()


# ---- packages ------------------------------------------------------------------------------------------


def _requirements() -> dict[str, list[tuple[str, str]]]:
    """Return the packages with the least versions that sqlrl needs (under ""), and those of each extra."""
    found: dict[str, list[tuple[str, str]]] = {"": []}
    for extra in metadata("sqlrl").get_all("Provides-Extra") or []:
        found[extra] = []
    for text in requires("sqlrl") or []:
        part = _REQUIREMENT.fullmatch(text)
        assert part is not None, text
        found[part["extra"] or ""].append((part["name"], part["floor"] or ""))
    return found


def _packages() -> Iterator[Check]:
    try:
        needed = _requirements()[""]
        yield Check("sqlrl", installed("sqlrl"))
    except PackageNotFoundError:
        yield Check(
            "sqlrl", "not installed", BROKEN, "install it: pip install sqlrl, or pip install -e . in its folder"
        )
        return
    for name, floor in needed:
        yield _package(name, floor)


def _package(name: str, floor: str) -> Check:
    """Look at a package that sqlrl needs: its version, and whether it can be imported."""
    remedy = f"pip install --upgrade '{name}>={floor}'" if floor else f"pip install {name}"
    try:
        found = installed(name)
        with warnings.catch_warnings(), named_main():
            # What a library warns of when it is imported is told where it is used.
            warnings.simplefilter("ignore")
            import_module(_MODULES.get(name, name))
    except PackageNotFoundError:
        return Check(name, "not installed", BROKEN, remedy)
    except Exception as error:  # noqa: BLE001 - a library that is built for another machine fails in any way
        return Check(name, f"cannot be imported: {brief(str(error))}", BROKEN, f"pip install --force-reinstall {name}")
    if floor and _numbers(found) < _numbers(floor):
        return Check(name, f"{found}, older than {floor}", BROKEN, remedy)
    return Check(name, found)


def _numbers(version: str) -> tuple[int, ...]:
    """Return the numbers of a version."""
    return tuple(int(part) for part in re.findall(r"\d+", version))


def _extras() -> Iterator[Check]:
    try:
        extras = _requirements()
    except PackageNotFoundError:
        return
    for extra, packages in extras.items():
        if extra in ("", "dev", "docs"):
            continue
        missing = [name for name, floor in packages if _package(name, floor).status != OK]
        found = ", ".join(f"{name} {installed(name)}" for name, _ in packages if name not in missing)
        status = ABSENT if missing else OK
        lacks = f"without {', '.join(missing)}" if missing else ""
        remedy = f"pip install 'sqlrl[{extra}]'" if missing else ""
        yield Check(f"extra {extra}", ", ".join(filter(None, [found, lacks])), status, remedy)


# ---- the machine ---------------------------------------------------------------------------------------


def _attempt(check: str, remedy: str, tried: Callable[[], str]) -> Iterator[Check]:
    """Yield what a function says that works, or why it fails."""
    try:
        yield Check(check, tried())
    except Exception as error:  # noqa: BLE001 - whatever it is, it is the answer
        yield Check(check, brief(str(error)), BROKEN, remedy)


def _database() -> str:
    from sqlrl.database.database import connect

    with connect(progress=False) as db:
        db.load("Works", [("yes",)], types=["answer"])
        (row,) = db.sql("from sqlrl.named_Works").fetchall()
    if row != ("yes",):
        raise SqlrlError(f"what was loaded as 'yes' came back as {row}")
    return "loads and answers"


def _resources() -> str:
    from sqlrl.resources import KINDS, resource_names

    return ", ".join(f"{len(resource_names(kind))} {kind}" for kind in KINDS)


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _memory() -> Check:
    """Look at the memory of the machine, at what a container leaves of it, and at what a database takes of that by default."""
    from sqlrl.engine.memory import PROCESS, SHARE, Memory, available_memory, machine_memory, physical_memory
    from sqlrl.wording import in_bytes

    may, whole = machine_memory(), physical_memory()
    limit = f", of which the container may take {in_bytes(may)}" if may < whole else ""
    available = available_memory()
    bound = "the container" if available.container else "the machine"
    words = (
        f"{in_bytes(whole)}{limit}; {in_bytes(available.size)} are available, bounded by {bound}: by default a database takes {SHARE:.0%} of that, "
        f"up to {in_bytes(Memory.of_machine().limit)} with sqlrl itself"
    )
    if min(may, available.size) < 2 * PROCESS:
        remedy = "give the machine or the container more memory, or do less at once: examples=, scopes, --memory-limit"
        return Check("memory", words, WARNING, remedy)
    return Check("memory", words)


def _spill() -> Check:
    """Look where a database in memory spills what exceeds its limit."""
    from sqlrl.engine.spill import candidates, chosen_base

    base = chosen_base()
    if base is not None:
        return _disk("spill folder", base)
    folders = candidates()
    tried, verb = ", ".join(map(str, folders)) or "the temporary folder", "are" if len(folders) > 1 else "is"
    return Check(
        "spill folder",
        f"none: {tried} {verb} in memory or cannot be written",
        WARNING,
        "set TMPDIR to a folder on a disk, or pass connect(temp_directory='FOLDER')",
    )


def _temporary() -> Path | None:
    try:
        return Path(tempfile.gettempdir())
    except OSError:  # no folder can be written
        return None


def _disk(check: str, folder: Path | None) -> Check:
    """Look whether a folder can be written, and how much room it has."""
    from sqlrl.wording import in_bytes

    remedy = (
        "set TMPDIR to a folder that can be written"
        if check == "temporary folder"
        else "change its permissions, or work in another folder"
    )
    # Databases may be elsewhere; what exceeds the memory of one in memory needs the temporary folder.
    status = BROKEN if check == "temporary folder" else WARNING
    if folder is None:
        return Check(check, "there is none that can be written", status, remedy)
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(b"sqlrl")
            file.flush()
        free = shutil.disk_usage(folder).free
    except OSError as error:
        return Check(check, f"{folder} cannot be written: {error.strerror}", status, remedy)
    words = f"{folder}, {in_bytes(free)} free"
    if free < _LEAST_DISK:
        return Check(check, words, WARNING, "make room: what exceeds the memory spills to disk")
    return Check(check, words)


def _machine_code() -> Check:
    """Look where compiled functions are kept."""
    try:
        from sqlrl.kernels import cache_folder

        folder, hindrance = cache_folder()
    except Exception as error:  # noqa: BLE001 - numba may fail in any way
        return Check(
            "machine code", brief(str(error)), BROKEN, "unset NUMBA_DISABLE_JIT, or pip install --force-reinstall numba"
        )
    if hindrance:
        remedy = "set NUMBA_CACHE_DIR to a folder that can be written: else every process takes seconds to compile"
        return Check("machine code", f"not kept: {hindrance}", WARNING, remedy)
    return Check("machine code", f"kept in {folder}")


def _bytecode() -> Check:
    """Look whether Python finds its modules compiled, or may keep what it compiles."""
    specs = [found for name in _COMPILED if (found := find_spec(name)) is not None]
    missing = [each.name for each in specs if each.cached is not None and not Path(each.cached).exists()]
    if not sys.dont_write_bytecode or not missing:
        return Check("bytecode", "kept")
    return Check(
        "bytecode",
        f"not kept, and {', '.join(missing)} compiled again by every process, which takes about a second",
        WARNING,
        f"unset PYTHONDONTWRITEBYTECODE, or compile once, such as when an image is built: {sys.executable} -m compileall -q "
        + " ".join(str(Path(each.origin).parent) for each in specs if each.name in missing and each.origin),
    )
