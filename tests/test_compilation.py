"""Kernels compiled ahead: for the signatures that calls have, once, by one process at a time."""

from __future__ import annotations

import os
import pkgutil
import subprocess
import sys
import threading
import time
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numba
import numpy as np
import numpy.typing as npt
import pytest

import sqlrl
from sqlrl import compilation, kernels
from sqlrl.compilation import CompilationReport, compile_ahead, load_kernels, signatures
from sqlrl.errors import SqlrlError
from tests.test_kernels import doubled

ROW = np.dtype([("first", np.int32), ("worth", np.float64)], align=True)


class Pair(NamedTuple):
    counts: npt.NDArray[np.int64]
    rows: Annotated[npt.NDArray[np.void], ROW]


def every_type(
    matrix: Annotated[npt.NDArray[np.float64], 2],
    pair: Pair,
    maybe: Pair | None,
    both: tuple[int, bool],
    word: np.uint64,
) -> None:
    """A signature with all kinds of annotations."""


def test_annotations_are_the_types_that_numba_gives_to_arguments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(kernels.KERNELS, "sqlrl.every_type", numba.njit(every_type))
    pair = Pair(np.zeros(1, np.int64), np.zeros(1, ROW))
    given = (np.zeros((1, 1)), pair, pair, (1, True), np.uint64(1))
    with_pair = tuple(map(numba.typeof, given))
    assert signatures("sqlrl.every_type") == [with_pair, (*with_pair[:2], numba.types.none, *with_pair[3:])]


def test_a_type_without_a_meaning_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def unclear(x: Any) -> None: ...

    monkeypatch.setitem(kernels.KERNELS, "sqlrl.unclear", numba.njit(unclear))
    with pytest.raises(TypeError, match=r"sqlrl.unclear cannot be compiled ahead: typing.Any"):
        signatures("sqlrl.unclear")


def test_every_kernel_is_found_and_has_signatures() -> None:
    load_kernels()
    loaded = {name for name in kernels.KERNELS if name.startswith("sqlrl.")}
    assert all(signatures(name) for name in loaded)
    for module in pkgutil.walk_packages(sqlrl.__path__, "sqlrl."):
        if not module.name.endswith("__main__"):
            import_module(module.name)
    assert {name for name in kernels.KERNELS if name.startswith("sqlrl.")} == loaded


@pytest.fixture
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A package with one kernel, and where its code is kept."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "kept"))
    path = tmp_path / "kept.py"
    path.write_text(
        "from __future__ import annotations\nfrom sqlrl.kernels import kernel\n@kernel\ndef doubled(x: int) -> int:\n    return 2 * x\n"
    )
    monkeypatch.setattr(kernels, "KERNELS", {})
    monkeypatch.setattr(kernels, "_unkept", {})
    monkeypatch.setattr(kernels, "_said", [])
    made = doubled(path)
    monkeypatch.setattr(compilation, "KERNELS", {"sqlrl.doubled": made})
    monkeypatch.setattr(compilation, "load_kernels", lambda: None)
    return path


def test_what_was_compiled_ahead_is_read(alone: Path) -> None:
    done = compile_ahead(1)
    assert (done.signatures, done.new) == (1, 1)
    assert compile_ahead(1) == CompilationReport(1, 0, done.folder)
    later = doubled(alone)
    assert (later(4), later.stats.cache_hits, later.stats.cache_misses) == (8, {(numba.int64,): 1}, {})


@pytest.mark.usefixtures("alone")
def test_code_that_cannot_be_kept_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    kernels._unkept["no room"] = None
    with pytest.raises(SqlrlError, match=r"machine code cannot be kept \(no room\): set .* NUMBA_CACHE_DIR"):
        compile_ahead(1)
    monkeypatch.setattr(compilation, "cache_folder", lambda: ("", "no folder"))
    with pytest.raises(SqlrlError, match=r"machine code cannot be kept \(no folder\)"):
        compile_ahead(1)


@pytest.mark.usefixtures("alone")
def test_a_second_process_waits_and_finds_it_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compilation, "_POLL", 0.01)
    folder, done = Path(kernels.cache_folder()[0]), list[CompilationReport]()
    folder.mkdir(parents=True, exist_ok=True)
    with compilation._alone(folder / "compiling.lock"):
        second = threading.Thread(target=lambda: done.append(compile_ahead(1)))
        second.start()
        time.sleep(0.1)
        assert second.is_alive()
        for name, dispatcher in compilation.KERNELS.items():
            dispatcher.compile(*signatures(name))
    second.join(60)
    assert [each.new for each in done] == [0]


JOBS = """
import numpy as np
import sqlrl
from sqlrl import compilation

soft = sqlrl.parse_psl("1: Friends(P, Q) && Smokes(P) >> Smokes(Q) ^2\\n1: ~Smokes(P)")
with sqlrl.connect(progress=False) as db:
    db.load("Friends", [("a", "b"), ("b", "c")], types=["person", "person"])
    db.load("Smokes", [("a", 0.8), ("b", 0.6), ("c", 0.3)], columns=[0], types=["person"], value=1, target=True)
    db.predict(sqlrl.SoftPiecewiseLikelihood().fit(db, soft).model)
hard = sqlrl.parse_mln("*Friends(person, person)\\nSmokes(person)\\n\\n0.4 Friends(x, y) ^ Smokes(x) => Smokes(y)\\n-0.1 Smokes(x)")
with sqlrl.connect(progress=False) as db:
    db.load("Friends", [("a", "b"), ("b", "c"), ("c", "a")], types=["person", "person"])
    db.load("Smokes", [("a",), ("b",)], types=["person"], target=True)
    for learner in (sqlrl.AdaGrad(), sqlrl.baselines.ContrastiveDivergence(), sqlrl.Likelihood()):
        db.predict(learner.fit(db, hard).model)
    db.probabilities(hard)
print(compilation.compiled_late())
"""


@pytest.mark.slow  # compiles all that is not kept yet: two minutes of a processor on a new checkout
def test_jobs_compile_nothing_once_all_is_compiled_ahead() -> None:
    compile_ahead()
    done = subprocess.run(
        [sys.executable, "-c", JOBS], capture_output=True, text=True, check=True, env=dict(os.environ)
    )
    assert done.stdout == "[]\n"
