"""A pytest plugin that records for every test its CPU seconds and the lines of sqlrl that it runs.

`python scripts/bench/mutants.py record` loads it. Each process of the run writes a file of JSON lines into the folder that the variable
`RECORD` names; lines of subprocesses are recorded, too. Compiled kernels are not seen: whoever reads a record counts them by their callers.
"""

from __future__ import annotations

import gzip
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, NamedTuple

import coverage
import pytest
from coverage.numbits import numbits_to_nums, nums_to_numbits

FOLDER = "RECORD"
TEST = "RECORD_TEST"
"""Variables: the folder of the record, and the test that runs, by which subprocesses know what they belong to."""

_PLACE, _BEFORE_THE_FIRST = 0xFFFFFFF, "collection"


class Recorded(NamedTuple):
    """What one test did: CPU seconds with those of subprocesses, its lines by file."""

    test: str
    seconds: float
    lines: dict[str, frozenset[int]]


class _Recorder:
    # Reads what the tracer of coverage.py has collected after each test, since its own contexts store branches test by test.

    def __init__(self, folder: Path, root: Path) -> None:
        self.root = root
        path = folder / f"tests-{os.getpid()}.jsonl.gz"
        self.out: IO[str] = gzip.open(path, "wt", encoding="utf-8")  # noqa: SIM115 - closed when the tests have run
        self.arcs: dict[str, set[tuple[int, int]]] = {}
        settings = folder / f"coverage-{os.getpid()}.ini"
        settings.write_text(
            f"[run]\nbranch = True\nparallel = True\ndata_file = {folder}/subprocess\nsource = {root}/sqlrl\ncontext = ${{{TEST}}}\n",
            encoding="utf-8",
        )
        os.environ["COVERAGE_PROCESS_START"] = str(settings)
        os.environ[TEST] = _BEFORE_THE_FIRST
        self.tracer = coverage.Coverage(branch=True, data_file=None, source=[f"{root}/sqlrl"], config_file=False)
        self.tracer.start()

    def take(self) -> dict[str, str]:
        """Return the lines that have run since the last call, by file, as hexadecimal digits of a bit for each line."""
        found = {}
        collector = self.tracer._collector  # noqa: SLF001 - see the class
        assert collector is not None
        live: Any
        for name, live in list(collector.data.items()):
            packed: set[int] = set(live)
            live.difference_update(packed)
            arcs = {_unpacked(pair) for pair in packed}
            if arcs:
                file = os.path.relpath(name, self.root)
                self.arcs.setdefault(file, set()).update(arcs)
                found[file] = nums_to_numbits({line for pair in arcs for line in pair if line > 0}).hex()
        return found

    def write(self, test: str, seconds: float) -> None:
        """Write a line about a test."""
        self.out.write(json.dumps({"test": test, "seconds": seconds, "lines": self.take()}) + "\n")

    def close(self) -> None:
        """Write the branches of the whole process and end the file."""
        self.take()
        self.out.write(json.dumps({"arcs": {file: sorted(arcs) for file, arcs in self.arcs.items()}}) + "\n")
        self.out.close()


def _unpacked(pair: int) -> tuple[int, int]:
    # Two line numbers with their signs, as coverage.py's tracer packs them.
    first, second = pair & _PLACE, (pair >> 28) & _PLACE
    return (-first if pair & (1 << 56) else first), (-second if pair & (1 << 57) else second)


_recorder: list[_Recorder] = []


def pytest_configure(config: pytest.Config) -> None:
    """Begin to record, but not in the process that only hands out tests."""
    if os.environ.get("PYTEST_XDIST_WORKER") or not config.getoption("numprocesses", None):
        _recorder.append(_Recorder(Path(os.environ[FOLDER]), config.rootpath))


def pytest_collection_finish() -> None:
    """Keep what importing the tests ran apart from the first test."""
    for recorder in _recorder:
        recorder.write(_BEFORE_THE_FIRST, 0.0)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Record one test."""
    os.environ[TEST] = item.nodeid.replace("$", "_")
    before = time.process_time(), os.times()
    try:
        return (yield)
    finally:
        after = os.times()
        children = sum(after[2:4]) - sum(before[1][2:4])
        seconds = time.process_time() - before[0] + children
        for recorder in _recorder:
            recorder.write(item.nodeid, seconds)


def pytest_sessionfinish() -> None:
    """Write what is left."""
    for recorder in _recorder:
        recorder.close()


def read(folder: Path, root: Path) -> tuple[list[Recorded], dict[str, set[tuple[int, int]]]]:
    """Return the tests of a record with what their subprocesses ran, and all branches that were taken, by file."""
    tests: dict[str, tuple[float, dict[str, set[int]]]] = {}
    arcs: dict[str, set[tuple[int, int]]] = {}
    for path in sorted(folder.glob("tests-*.jsonl.gz")):
        for row in _rows(path):
            if "arcs" in row:
                for file, pairs in row["arcs"].items():
                    arcs.setdefault(file, set()).update((a, b) for a, b in pairs)
                continue
            lines = {file: set(numbits_to_nums(bytes.fromhex(bits))) for file, bits in row["lines"].items()}
            tests[row["test"]] = row["seconds"], lines
    for path in sorted(folder.glob("subprocess.*")):
        data = coverage.CoverageData(str(path))
        data.read()
        owner = next(iter(data.measured_contexts()), _BEFORE_THE_FIRST)
        for name in data.measured_files():
            file = os.path.relpath(name, root)
            arcs.setdefault(file, set()).update(data.arcs(name) or ())
            if owner in tests:
                tests[owner][1].setdefault(file, set()).update(data.lines(name) or ())
    found = [
        Recorded(test, seconds, {file: frozenset(numbers) for file, numbers in lines.items()})
        for test, (seconds, lines) in tests.items()
        if test != _BEFORE_THE_FIRST
    ]
    return found, arcs


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)
