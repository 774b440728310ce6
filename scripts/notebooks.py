"""Runs notebooks, each in a temporary folder: ``python scripts/notebooks.py [--write] docs/tutorials/*.ipynb``.

Without ``--write`` the texts that cells print are compared with those that are kept, up to rounding, and each cell that differs is shown. With it
the outputs are kept, in a form that only depends on what they say: no times, no paths, cell ids as they are.
"""

from __future__ import annotations

import argparse
import difflib
import os
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

TIMEOUT = 1800
"""Seconds a cell may take: many times what it takes on a quiet machine, so that only a cell that hangs is stopped."""


class NotebookError(Exception):
    """A notebook that does not run, or prints what depends on the machine."""


def read(path: Path) -> Any:
    """The notebook in the file."""
    return nbformat.read(path, as_version=4)


def execute(path: Path) -> Any:
    """The notebook with the outputs of a run of its own, none of which is kept from before."""
    notebook = read(path)
    with tempfile.TemporaryDirectory() as folder:
        client = NotebookClient(
            notebook,
            timeout=TIMEOUT,
            record_timing=False,
            resources={"metadata": {"path": folder}},
            kernel_name="python3",
        )
        # The width of a terminal, which tables heed, is none of the notebook's.
        env = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
        try:
            client.execute(env=env)
        except CellExecutionError as error:
            raise NotebookError(f"{path.name} stops: {error}") from error
    for number, cell in enumerate(notebook.cells, 1):
        cell.metadata.pop("execution", None)
        if cell.cell_type == "code":
            cell.outputs = merged(cell.outputs)
            check_portable(f"{path.name}, cell {number} ({cell.id})", cell, folder)
    # Only the language: the version of Python would differ between machines.
    notebook.metadata = nbformat.from_dict(
        {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        }
    )
    return notebook


def merged(outputs: list[Any]) -> list[Any]:
    """Outputs in which neighbouring pieces of one stream are one: where a kernel cuts them depends on time."""
    result: list[Any] = []
    for output in outputs:
        if output.output_type == "stream" and result and result[-1].get("name") == output.name:
            result[-1].text += output.text
        else:
            result.append(output)
    return result


def check_portable(where: str, cell: Any, folder: str) -> None:
    """Raise NotebookError where a cell prints a path of this machine, or anything on standard error."""
    for output in cell.outputs:
        if output.get("name") == "stderr":
            raise NotebookError(
                f"{where} writes on standard error, where progress and warnings depend on the machine:\n{output.text}\n"
                "connect with progress=False, and mend what is warned of"
            )
    said = texts(cell)
    for path in (folder, str(Path.home()) + "/", sys.prefix):
        if path in said:
            raise NotebookError(f"{where} prints a path of this machine, {path}")


def texts(cell: Any) -> str:
    """What the outputs of a cell say as text, streams and results in their order."""
    pieces = [
        output.text if output.output_type == "stream" else output.get("data", {}).get("text/plain", "")
        for output in cell.get("outputs", [])
    ]
    return "\n".join(piece.rstrip("\n") for piece in pieces)


NUMBER = re.compile(r"-?\d+\.\d+(?:e[+-]?\d+)?")
SPACE = re.compile(r"[ ─-]+")


def alike(old: str, new: str) -> bool:
    """Return True if texts are equal but for the last digits of numbers with a decimal point, and for the widths of columns.

    Learners sum in the order of the processor's vectors: what is rounded to a digit may be one more or less on another machine.
    """
    numbers = [[(float(x), _last_digit(x)) for x in NUMBER.findall(text)] for text in (old, new)]
    rest = [SPACE.sub(" ", NUMBER.sub("#", text)) for text in (old, new)]
    return rest[0] == rest[1] and all(
        abs(a - b) <= max(1.01 * digit, 1.01 * other, 1e-4 * abs(a))
        for (a, digit), (b, other) in zip(*numbers, strict=True)
    )


def _last_digit(number: str) -> float:
    """Return what one more in the last digit of a number adds."""
    digits, _, exponent = number.partition("e")
    return float(10.0 ** (int(exponent or 0) - len(digits.partition(".")[2])))


def differences(path: Path, kept: Any, ran: Any) -> list[str]:
    """For each cell whose texts differ, its number and id, and the lines that are kept (-) and printed now (+)."""
    found = []
    for number, (before, after) in enumerate(zip(kept.cells, ran.cells, strict=True), 1):
        old, new = texts(before), texts(after)
        if not alike(old, new):
            lines = difflib.unified_diff(old.splitlines(), new.splitlines(), "kept", "now", lineterm="")
            found.append(f"{path.name}, cell {number} ({after.get('id')}):\n" + "\n".join(lines))
    return found


def run(path: Path, write: bool = False) -> list[str]:
    """Run a notebook, and keep its outputs or compare them: one text for each cell that differs."""
    ran = execute(path)
    if write:
        nbformat.write(ran, path)
        return []
    return differences(path, read(path), ran)


def main() -> int:
    """Run the notebooks that are named; 1 if one stops or differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("notebooks", nargs="+", type=Path)
    parser.add_argument("--write", action="store_true", help="keep the outputs in place of comparing them")
    options = parser.parse_args()
    failed = False
    for path in options.notebooks:
        try:
            found = run(path, options.write)
        except NotebookError as error:
            found = [str(error)]
        print("\n\n".join(found) if found else f"{path.name}: {'written' if options.write else 'as kept'}", flush=True)
        failed = failed or bool(found)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
