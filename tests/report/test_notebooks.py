"""A notebook in a real kernel: tables of HTML, and progress as one text that is updated."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from sqlrl.report import NotebookConsole
from sqlrl.report.console import notebook

# A kernel and a client of it take five seconds; what they show is tried without them in tests/test_html.py and test_console.py.
pytestmark = pytest.mark.slow

CELLS = {
    # What a kernel without widgets has: DuckDB wants them for a bar of its own.
    "start": "import sys; sys.modules['ipywidgets'] = None\nimport duckdb, sqlrl\ndb = sqlrl.connect()\ntype(db.advanced.console).__name__",
    "load": """
db.advanced.console.delay = 0  # progress at once, in place of after two seconds
db.load("Word", [(f"d{i}", "<b>" if i % 2 else "a") for i in range(40)], types=["doc", "word"], example="doc")
db.load("Liked", [(f"d{i}",) for i in range(1, 40, 2)], types=["doc"], target=True)
db""",
    "fit": "model = sqlrl.parse_mln('Word(doc, word)\\nLiked(doc)\\nWord(d, +w) => Liked(d)\\nLiked(d)')\nfit = sqlrl.Likelihood(strength=0.1).fit(db, model)\nfit",
    "clauses": "fit.clauses()",
    "predict": "prediction = db.predict(fit.model)\nprediction",
    "many": """
for number in range(150):
    with db.advanced.console.progress(f"part {number}", 3) as task:
        task.advance(note="<script>alert(1)</script>")
print("between")
db.advanced.console.message("said")""",
    "two at once": """
import threading, time
def work(name):
    with db.advanced.console.progress(name):
        time.sleep(1.2)
threads = [threading.Thread(target=work, args=(name,)) for name in ("first", "second")]
for thread in threads: thread.start()
for thread in threads: thread.join()""",
    "file": "import tempfile, pathlib\nfolder = tempfile.mkdtemp()\nwith sqlrl.connect(pathlib.Path(folder) / 'a.duckdb') as other:\n    other.load('P', [('a',)])\nduckdb.sql('select sum(range) from range(1000000)').fetchall()",
    "quiet": "sqlrl.connect(progress=False).advanced.console.progress('nothing').__enter__().advance()",
}

SCRIPT = """
import json, sys, warnings
import nbformat
from nbclient import NotebookClient
cells = json.load(sys.stdin)
notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(text) for text in cells.values()])
NotebookClient(notebook, timeout=None, kernel_name="python3").execute()
print(json.dumps({name: cell.outputs for name, cell in zip(cells, notebook.cells)}))
"""


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[dict[str, Any]]]:
    """What the cells put out, as a notebook keeps it: a text that was updated is there once, as it was in the end."""
    pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    folder = tmp_path_factory.mktemp("notebook")
    root = Path(__file__).parents[2]
    path = os.pathsep.join([str(root), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = {**os.environ, "PYTHONPATH": path, "IPYTHONDIR": str(folder), "JUPYTER_RUNTIME_DIR": str(folder)}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        input=json.dumps(CELLS),
        capture_output=True,
        text=True,
        cwd=folder,
        env=environment,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, list[dict[str, Any]]] = json.loads(done.stdout.splitlines()[-1])
    return found


def shown(outputs: list[dict[str, Any]]) -> list[str]:
    """The texts that progress left."""
    return [each["data"]["text/plain"] for each in outputs if each["output_type"] == "display_data"]


def streams(outputs: list[dict[str, Any]], name: str) -> str:
    return "".join(each["text"] for each in outputs if each["output_type"] == "stream" and each["name"] == name)


def test_a_kernel_without_widgets_complains_of_nothing(outputs: dict[str, list[dict[str, Any]]]) -> None:
    assert list(outputs) == list(CELLS)
    whole = json.dumps(outputs)
    for word in ("Traceback", "Warning", "ipywidgets", "IProgress"):
        assert word not in whole
    errors = {name: streams(each, "stderr") for name, each in outputs.items()}
    assert {name: text for name, text in errors.items() if text} == {"many": "said\n"}
    assert not shown(outputs["quiet"])


def test_a_notebook_has_its_console(outputs: dict[str, list[dict[str, Any]]]) -> None:
    (first,) = outputs["start"]
    assert first["data"]["text/plain"] == repr(NotebookConsole.__name__)
    assert notebook() is None


@pytest.mark.parametrize("cell", ["load", "fit", "clauses", "predict"])
def test_results_are_tables(outputs: dict[str, list[dict[str, Any]]], cell: str) -> None:
    (result,) = [each["data"] for each in outputs[cell] if each["output_type"] == "execute_result"]
    assert "<table>" in result["text/html"]
    assert "<b>" not in result["text/html"]
    assert result["text/plain"]
    if cell == "clauses":
        assert "&lt;b&gt;" in result["text/html"]


@pytest.mark.parametrize("cell", ["load", "fit", "predict"])
def test_progress_is_one_text_that_was_updated(outputs: dict[str, list[dict[str, Any]]], cell: str) -> None:
    (text,) = shown(outputs[cell])
    assert text.endswith("; done")
    assert len(text.splitlines()) == 1


def test_many_tasks_of_a_cell_leave_one_line(outputs: dict[str, list[dict[str, Any]]]) -> None:
    (text,) = shown(outputs["many"])
    assert text.startswith("part 149: 1 of 3, ")
    assert streams(outputs["many"], "stdout") == "between\n"


def test_two_tasks_at_once_have_a_text_each(outputs: dict[str, list[dict[str, Any]]]) -> None:
    assert sorted(text.split(":")[0] for text in shown(outputs["two at once"])) == ["first", "second"]
    assert all(text.endswith("; done") for text in shown(outputs["two at once"]))


def test_files_open_in_a_kernel(outputs: dict[str, list[dict[str, Any]]]) -> None:
    (result,) = [each["data"] for each in outputs["file"] if each["output_type"] == "execute_result"]
    assert result["text/plain"] == "[(499999500000,)]"
