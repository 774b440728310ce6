"""Mutants: does the test suite notice when a line of sqlrl is wrong?

`record` runs a suite once and keeps which tests run which lines. `plant` changes one line at a time, in a copy, and runs only the tests that
run this line until one fails: first the quick tier, then the slow one, then the suite of an earlier commit, if one is given. Where neither
tier fails and the earlier suite does, a check was lost. Lines are drawn from the bodies of functions; a kernel's line is run by whoever runs
a line that calls it, directly or through other kernels. The seed is the hash of the tree, so that nobody chooses it.

    python scripts/bench/mutants.py record --out FOLDER [--tree DIR] [PYTEST OPTION ...]
    python scripts/bench/mutants.py coverage --record FOLDER [--tree DIR]
    python scripts/bench/mutants.py plant --record FOLDER --json FILE [--before DIR --before-record FOLDER] [--count 60] [--kernels 15]
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from queue import SimpleQueue
from typing import NamedTuple

import coverage
import importers
import recorded
from recorded import Recorded

Function = ast.FunctionDef | ast.AsyncFunctionDef

SWAPPED: Mapping[type, tuple[type, str]] = {
    ast.Lt: (ast.LtE, "<="),
    ast.LtE: (ast.Lt, "<"),
    ast.Gt: (ast.GtE, ">="),
    ast.GtE: (ast.Gt, ">"),
    ast.Eq: (ast.NotEq, "!="),
    ast.NotEq: (ast.Eq, "=="),
    ast.Is: (ast.IsNot, "is not"),
    ast.IsNot: (ast.Is, "is"),
    ast.In: (ast.NotIn, "not in"),
    ast.NotIn: (ast.In, "in"),
    ast.Add: (ast.Sub, "-"),
    ast.Sub: (ast.Add, "+"),
    ast.Mult: (ast.Add, "+"),
    ast.Div: (ast.Mult, "*"),
    ast.FloorDiv: (ast.Mult, "*"),
    ast.Mod: (ast.Add, "+"),
    ast.And: (ast.Or, "or"),
    ast.Or: (ast.And, "and"),
}
"""What an operator becomes."""

KERNELS = ("kernel", "inner", "inlined")
"""The decorators of kernels, whose lines no tracer sees."""

SECONDS = 60.0
"""How long a test may take before it counts as failed, if 30 times its recorded seconds are less."""


@dataclass(frozen=True)
class Mutant:
    """A changed line: the text before and after, and whether it stands in a kernel."""

    file: str
    line: int
    before: str
    after: str
    kernel: bool


@dataclass(frozen=True)
class Outcome:
    """What became of a mutant: which suite noticed it (`quick`, `slow`, `before` or none), by which test, and how many tests could have."""

    mutant: Mutant
    caught: str
    test: str
    tests: int


# ---- which mutants there are ------------------------------------------------------------------------------


def mutants_of(text: str, file: str, place: int) -> list[Mutant]:
    """Return all mutants of a line of a file: in each, an operator, a number, a truth value, a condition or a statement is another one."""
    lines = text.splitlines()
    line = lines[place - 1].encode()
    found = []
    for function in _functions(ast.parse(text)):
        for node in _code(function):
            for changed, new in _changes(node):
                if changed.lineno == changed.end_lineno == place:
                    start, end = changed.col_offset, changed.end_col_offset or 0
                    after = line[:start] + new(line[start:end]) + line[end:]
                    found.append(Mutant(file, place, line.decode(), after.decode(), _is_kernel(function)))
    return [mutant for mutant in dict.fromkeys(found) if _differs(lines, mutant)]


def _functions(tree: ast.Module) -> Iterator[Function]:
    for node in ast.walk(tree):
        if isinstance(node, Function):
            yield node


def _is_kernel(function: Function) -> bool:
    return any(isinstance(mark, ast.Name) and mark.id in KERNELS for mark in function.decorator_list)


def _code(function: Function) -> Iterator[ast.AST]:
    # What a function does itself: no docstring, no annotations, no messages of errors, no functions inside it.
    waiting: list[ast.AST] = list(reversed(function.body))
    while waiting:
        node = waiting.pop()
        if isinstance(node, Function | ast.ClassDef | ast.Raise | ast.Assert | ast.JoinedStr):
            continue
        if (
            isinstance(node, ast.keyword) and node.arg == "strict"
        ):  # of `zip`: lengths are equal, so that it changes nothing
            continue
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            continue
        yield node
        children = [node.target, node.value] if isinstance(node, ast.AnnAssign) else ast.iter_child_nodes(node)
        waiting.extend(child for child in children if child is not None)


def _changes(node: ast.AST) -> Iterator[tuple[ast.expr | ast.stmt, _Change]]:
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        yield from _swapped(node, node.left, node.ops[0], node.comparators[0])
    elif isinstance(node, ast.BinOp):
        yield from _swapped(node, node.left, node.op, node.right)
    elif isinstance(node, ast.BoolOp) and len(node.values) == 2:
        yield from _swapped(node, node.values[0], node.op, node.values[1])
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield node, _Change(node.col_offset, "(", node.operand.col_offset, None, ")")
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield node, _Change.to(str(not node.value))
    elif isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        yield node, _Change.to(repr(node.value + 1))
    elif isinstance(node, ast.If | ast.While | ast.IfExp):
        yield node.test, _Change(node.test.col_offset, "(not (", node.test.col_offset, None, "))")
    elif isinstance(node, ast.AugAssign) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)):
        yield node, _Change.to("pass")
    elif isinstance(node, ast.Break | ast.Continue):
        yield node, _Change.to("continue" if isinstance(node, ast.Break) else "break")


@dataclass(frozen=True)
class _Change:
    # A new text for the bytes of a node: `start`, the old bytes from column `keep` to column `until`, `end`.
    column: int
    start: str
    keep: int | None
    until: int | None
    end: str = ""

    @classmethod
    def to(cls, text: str) -> _Change:
        return cls(0, text, None, None)

    def __call__(self, old: bytes) -> bytes:
        kept = b"" if self.keep is None else old[self.keep - self.column :]
        return self.start.encode() + kept + self.end.encode()


@dataclass(frozen=True)
class _Swap(_Change):
    # Another operator between two operands.
    first: int = 0
    last: int = 0
    operator: str = ""

    def __call__(self, old: bytes) -> bytes:
        left, right = self.first - self.column, self.last - self.column
        between = old[left:right]
        opening = between[: len(between) - len(between.lstrip(b") "))]
        closing = between[len(between.rstrip(b"( ")) :]
        return old[:left] + opening + b" " + self.operator.encode() + b" " + closing + old[right:]


def _swapped(node: ast.expr, left: ast.expr, operator: ast.AST, right: ast.expr) -> Iterator[tuple[ast.expr, _Change]]:
    if type(operator) in SWAPPED and left.end_lineno == right.lineno and left.end_col_offset is not None:
        text = SWAPPED[type(operator)][1]
        swap = _Swap(node.col_offset, "", None, None, "", left.end_col_offset, right.col_offset, text)
        yield node, swap


def _differs(lines: Sequence[str], mutant: Mutant) -> bool:
    changed = [*lines]
    changed[mutant.line - 1] = mutant.after
    try:
        return ast.dump(ast.parse("\n".join(changed))) != ast.dump(ast.parse("\n".join(lines)))
    except SyntaxError:
        return False


def drawn(tree: Path, seed: str, count: int, kernels: int) -> list[Mutant]:
    """Return `count` mutants of different lines, `kernels` of them in kernels: each line is as likely as any other."""
    draw = random.Random(seed)  # noqa: S311 - nothing secret
    texts = {
        str(path.relative_to(tree)): path.read_text(encoding="utf-8") for path in sorted((tree / "sqlrl").rglob("*.py"))
    }
    places: dict[bool, set[tuple[str, int]]] = {True: set(), False: set()}
    for file, text in texts.items():
        for function in _functions(ast.parse(text)):
            changed = (change[0] for node in _code(function) for change in _changes(node))
            places[_is_kernel(function)].update(
                (file, node.lineno) for node in changed if node.lineno == node.end_lineno
            )
    found: list[Mutant] = []
    for kernel, wanted in ((True, kernels), (False, count - kernels)):
        chosen: list[Mutant] = []
        for file, line in draw.sample(sorted(places[kernel]), len(places[kernel])):
            choices = [mutant for mutant in mutants_of(texts[file], file, line) if mutant.kernel == kernel]
            if choices:
                chosen.append(draw.choice(choices))
            if len(chosen) == wanted:
                break
        found += chosen
    return found


def tree_hash(tree: Path) -> str:
    """Return git's name of the tree that is committed."""
    command = ["git", "rev-parse", "HEAD^{tree}"]
    return subprocess.run(command, cwd=tree, check=True, capture_output=True, text=True).stdout.strip()


# ---- which tests run a line ------------------------------------------------------------------------------


class Callers(NamedTuple):
    """Who calls a kernel: lines outside kernels, and the names of the kernel and of those that call it."""

    lines: set[tuple[str, int]]
    kernels: set[str]


@cache
def callers_of_kernels(tree: Path) -> dict[tuple[str, str], Callers]:
    """Return for each kernel, by file and name, the lines outside kernels that name it or a kernel that calls it, and these kernels.

    A kernel that a table of the module hands on, as the update rules of learners, is called by whoever runs a line of its folder.
    """
    users: dict[str, set[tuple[str, str | None, int]]] = defaultdict(set)
    kernels: dict[str, set[str]] = defaultdict(set)
    for path in sorted((tree / "sqlrl").rglob("*.py")):
        file = str(path.relative_to(tree))
        module = ast.parse(path.read_text(encoding="utf-8"))
        inside: dict[ast.AST, str | None] = {}
        for function in _functions(module):
            if _is_kernel(function):
                kernels[function.name].add(file)
            for node in ast.walk(function):
                inside[node] = function.name if _is_kernel(function) else None
        for node in ast.walk(module):
            name = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else None
            if name is not None:
                line = node.lineno if node in inside else 0  # type: ignore[attr-defined]
                users[name].add((file, inside.get(node), line))
    found: dict[tuple[str, str], Callers] = {}
    for name, files in kernels.items():
        lines: set[tuple[str, int]] = set()
        seen, waiting = {name}, [name]
        while waiting:
            for file, kernel, line in users[waiting.pop()]:
                if kernel is None:
                    lines.add((file, line) if line else (str(Path(file).parent), 0))
                elif kernel not in seen:
                    seen.add(kernel)
                    waiting.append(kernel)
        for file in files:
            found[file, name] = Callers(lines, seen)
    return found


class Imports(NamedTuple):
    """What machine code depends on: modules with kernels, folders with compiled overloads, and who imports each module."""

    holders: set[str]
    overloading: set[str]
    importers: dict[str, set[str]]


@cache
def _imports(tree: Path) -> Imports:
    modules = importers.read_modules(tree / "sqlrl")
    holders = {name for name, module in modules.items() if any(map(_is_kernel, _functions(module.tree)))}
    overload = ("numba.extending", "overload")
    folders = {
        name.rpartition(".")[0] for name, module in modules.items() if overload in importers.imports(module.tree)
    }
    return Imports(holders, folders, importers.importers(modules))


def stale(tree: Path, file: str) -> list[str]:
    """Return whose machine code may hold kernels of a file: its own, and that of whoever imports it, directly or not.

    Where a folder has compiled overloads, by which its functions get into kernels that do not name them, it is all machine code.
    """
    holders, overloading, users = _imports(tree)
    start = ".".join(Path(file).with_suffix("").parts)
    found, waiting = {start}, [start]
    while waiting:
        name = waiting.pop()
        if name.rpartition(".")[0] in overloading:
            found = holders
            break
        new = users[name] & holders - found
        found |= new
        waiting += new
    return sorted(f"{name.replace('.', '/')}.py" for name in found)


def runners(mutant: Mutant, tree: Path, tests: Sequence[Recorded]) -> list[Recorded]:
    """Return the tests that run the line of a mutant, those of its module and room first, and then those that run the least."""
    if mutant.kernel:
        module = ast.parse((tree / mutant.file).read_text(encoding="utf-8"))
        names = [
            f.name
            for f in _functions(module)
            if _is_kernel(f) and f.lineno <= mutant.line <= (f.end_lineno or f.lineno)
        ]
        callers = callers_of_kernels(tree)[mutant.file, names[0]]
    else:
        callers = Callers({(mutant.file, mutant.line)}, set())
    path = Path(mutant.file)
    named = _naming(tree, path, callers.kernels)
    found = [test for test in tests if test.test.partition("::")[0] in named or _runs(test, callers.lines)]

    def order(test: Recorded) -> tuple[object, ...]:
        parts = Path(test.test.partition("::")[0]).parts
        far = 0 if parts[-1] == f"test_{path.name}" else 1 if parts[1:2] == path.parts[1:2] else 2
        return far, test.seconds > 1, sum(map(len, test.lines.values())), test.test

    return sorted(found, key=order)


def _naming(tree: Path, path: Path, kernels: set[str]) -> set[str]:
    # The files of tests, of the room of a module, that name a kernel: they may call it themselves.
    if not kernels:
        return set()
    name = re.compile(rf"\b({'|'.join(map(re.escape, sorted(kernels)))})\b")
    files = (tree / "tests" / path.parts[1]).rglob("test_*.py")
    return {str(file.relative_to(tree)) for file in files if name.search(file.read_text(encoding="utf-8"))}


def _runs(test: Recorded, places: set[tuple[str, int]]) -> bool:
    for file, line in places:
        if line and line in test.lines.get(file, ()):
            return True
        if not line and any(str(Path(other).parent) == file for other in test.lines):
            return True
    return False


# ---- running tests -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Suite:
    """A suite of tests: its tree, and its tests by what they run."""

    name: str
    tree: Path
    tests: Sequence[Recorded]


def _place_of(tree: Path, mutant: Mutant) -> Mutant | None:
    # The same mutant in another tree: the same line of the same file, wherever it stands there, if it stands there once.
    path = tree / mutant.file
    lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    places = [number for number, line in enumerate(lines, 1) if line == mutant.before]
    if len(places) > 1 and mutant.line in places:
        places = [mutant.line]
    return replace(mutant, line=places[0]) if len(places) == 1 else None


def _fails(suite: Suite, mutant: Mutant, tests: Sequence[Recorded]) -> str:
    """Return the first test that fails with a mutant in a copy of the tree; empty if all pass."""
    with tempfile.TemporaryDirectory() as scratch:
        copy = Path(scratch) / "project" / "tree"
        ignored = shutil.ignore_patterns(".git", ".venv", "site", ".*_cache", ".hypothesis")
        shutil.copytree(suite.tree, copy, ignore=ignored)
        shared = suite.tree.resolve().parent / "shared"
        if shared.exists():
            (copy.parent / "shared").symlink_to(shared)
        path = copy / mutant.file
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
        lines[mutant.line - 1] = mutant.after + "\n"
        path.write_text("".join(lines), encoding="utf-8")
        if mutant.kernel:
            for holder in map(copy.joinpath, stale(suite.tree, mutant.file)):
                for kept in (holder.parent / "__pycache__").glob(f"{holder.stem}.*.nb[ci]"):
                    kept.unlink()
        limit = max(SECONDS, *(30 * test.seconds for test in tests))
        names = Path(scratch) / "tests.txt"
        names.write_text("\n".join(test.test for test in tests) + "\n", encoding="utf-8")
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-o", f"timeout={limit}"]
        command += ["--timeout-method=thread", "-m", "not docs", "--tb=no", f"@{names}"]
        here = {**os.environ, "PYTHONPATH": str(copy), "SQLRL_DATA": str(shared / "data")}
        run = subprocess.run(command, cwd=copy, env=here, capture_output=True, text=True, check=False)
        if run.returncode == 0:
            return ""
        failed = [line.split(" ")[1] for line in run.stdout.splitlines() if line.startswith(("FAILED ", "ERROR "))]
        return failed[0] if failed else f"pytest ended with {run.returncode}"


def outcome_of(mutant: Mutant, suites: Sequence[Suite]) -> Outcome:
    """Run the suites until one notices a mutant."""
    count = 0
    for suite in suites:
        there = mutant if suite.name != "before" else _place_of(suite.tree, mutant)
        tests = runners(there, suite.tree, suite.tests) if there else []
        count += len(tests)
        if tests and there and (test := _fails(suite, there, tests)):
            return Outcome(mutant, suite.name, test, count)
    return Outcome(mutant, "", "", count)


# ---- what is asked -------------------------------------------------------------------------------------------


def collected(tree: Path, marks: str) -> set[str]:
    """Return the names of the tests with some marks, as the tree has them now: a record may be older than the marks."""
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-n", "0", "-m", marks]
    here = {**os.environ, "PYTHONPATH": str(tree.resolve())}
    run = subprocess.run(command, cwd=tree, env=here, capture_output=True, text=True, check=True)
    return {line for line in run.stdout.splitlines() if "::" in line}


def record(tree: Path, out: Path, options: Sequence[str]) -> int:
    """Run a suite and write what each test runs into a folder."""
    out.mkdir(parents=True, exist_ok=True)
    here = {**os.environ, recorded.FOLDER: str(out.resolve())}
    here["PYTHONPATH"] = os.pathsep.join([str(Path(__file__).resolve().parent), str(tree.resolve())])
    command = [sys.executable, "-m", "pytest", "-q", "-p", "recorded", *options]
    return subprocess.run(command, cwd=tree, env=here, check=False).returncode


def covered(tree: Path, folder: Path) -> tuple[float, float]:
    """Return the shares of lines and of branches that a recorded suite ran, in percent; kernels are left out, as they are not seen."""
    _, arcs = recorded.read(folder, tree)
    with tempfile.TemporaryDirectory() as scratch:
        report = Path(scratch) / "coverage.json"
        file = Path(scratch) / "data"
        data = coverage.CoverageData(str(file))
        there = {name: pairs for name, pairs in arcs.items() if (tree / name).is_file()}
        data.add_arcs({str(tree.resolve() / name): pairs for name, pairs in there.items()})
        data.write()
        settings = Path(scratch) / "settings"
        settings.write_text(
            f"[report]\nexclude_also =\n    ^\\s*@({'|'.join(KERNELS)})\\b\n    if TYPE_CHECKING\n    raise NotImplementedError\n"
        )
        tool = coverage.Coverage(
            data_file=str(file), branch=True, source=[str(tree.resolve() / "sqlrl")], config_file=str(settings)
        )
        tool.load()
        tool.json_report(outfile=str(report))
        totals = json.loads(report.read_text(encoding="utf-8"))["totals"]
    lines = 100 * totals["covered_lines"] / totals["num_statements"]
    return lines, 100 * totals["covered_branches"] / totals["num_branches"]


def plant(tree: Path, tests: Sequence[Recorded], before: Suite | None, count: int, kernels: int) -> list[Outcome]:
    """Draw mutants and say what becomes of each, two at a time."""
    marks = {"quick": "not slow and not docs", "slow": "slow"}
    tiers = {name: collected(tree, mark) for name, mark in marks.items()}
    suites = [Suite(name, tree, [test for test in tests if test.test in tier]) for name, tier in tiers.items()]
    if before is not None:
        suites.append(before)
    found: SimpleQueue[Outcome] = SimpleQueue()

    def work(mutant: Mutant) -> None:
        outcome = outcome_of(mutant, suites)
        found.put(outcome)
        print(f"{outcome.caught or 'not noticed':11} {mutant.file}:{mutant.line} {mutant.after.strip()}", flush=True)

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(work, drawn(tree, tree_hash(tree), count, kernels)))
    return [found.get() for _ in range(found.qsize())]


def main(arguments: Sequence[str] | None = None) -> int:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("work", choices=["record", "coverage", "plant"])
    parser.add_argument("--tree", type=Path, default=Path.cwd(), help="the checkout; the working folder by default")
    parser.add_argument("--out", type=Path, help="folder for a new record")
    parser.add_argument("--record", type=Path, help="folder of a record")
    parser.add_argument("--before", type=Path, help="a checkout of an earlier commit")
    parser.add_argument("--before-record", type=Path, help="the record of its suite")
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--kernels", type=int, default=15, help="how many of them stand in kernels")
    parser.add_argument("--json", type=Path, help="file for the outcomes")
    given, options = parser.parse_known_args(arguments)
    if given.work == "record":
        return record(given.tree, given.out, options)
    if given.work == "coverage":
        lines, branches = covered(given.tree, given.record)
        print(f"lines {lines:.2f} %, branches {branches:.2f} %")
        return 0
    before = None
    if given.before is not None:
        before = Suite("before", given.before, recorded.read(given.before_record, given.before)[0])
    outcomes = plant(given.tree, recorded.read(given.record, given.tree)[0], before, given.count, given.kernels)
    if given.json is not None:
        given.json.write_text(json.dumps([asdict(x) for x in outcomes], indent=1) + "\n", encoding="utf-8")
    caught = {name: sum(x.caught == name for x in outcomes) for name in ("quick", "slow", "before", "")}
    print(
        f"quick tier {caught['quick']}, slow tier {caught['slow']}, only before {caught['before']}, nobody {caught['']}"
    )
    return 1 if caught["before"] else 0


if __name__ == "__main__":
    sys.exit(main())
