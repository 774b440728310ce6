"""Exported files against other programs' readers and solvers, and against enumeration."""

from __future__ import annotations

import csv
import itertools
import json
import math
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from pysat.examples.rc2 import RC2
from pysat.formula import WCNF

from sqlrl.errors import InputError, NumericError
from sqlrl.ground.network import IntArray
from sqlrl.solve.exchange import tables, wcnf
from sqlrl.solve.exchange.lpfile import write_lp
from sqlrl.solve.exchange.solutions import read_solution
from sqlrl.solve.exchange.tables import helper_count
from sqlrl.solve.exchange.text import ExportedNames, new_file
from sqlrl.solve.exchange.uai import write_uai
from sqlrl.solve.exchange.wcnf import write_wcnf
from sqlrl.solve.structure import variables_of
from sqlrl.solve.weighted import WeightedNetwork, weigh
from tests.solve.networks import EXTREME, ORDINARY, Problem, problems
from tests.solve.test_cliques import grouped
from tests.solve.test_weighted import enumerate_weighted, tolerance

FOLDER = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
MILD = st.one_of(ORDINARY, st.sampled_from([1e-9, -1e-9, 1e-4, 100.0, -100.0, 0.1]))


def weighted(problem: Problem) -> WeightedNetwork:
    return weigh(problem.network(), problem.weights)


def stated(path: Path, pattern: str) -> tuple[float, ...]:
    """The numbers that a file's comments give where the pattern has groups."""
    found = re.search(pattern, path.read_text())
    assert found is not None, pattern
    return tuple(map(float, found.groups()))


# ---- MaxSAT -------------------------------------------------------------------------------------------------


@FOLDER
@given(
    st.one_of(problems(EXTREME, hardness=2), grouped()),
    st.sampled_from(["classic", "2022"]),
    st.sampled_from([40, 2]),
    st.data(),
)
def test_maxsat_has_the_same_optimum_and_the_same_costs(
    tmp_path: Path, problem: Problem, dialect: str, pairwise: int, data: st.DataObject
) -> None:
    network, path = weighted(problem), tmp_path / "a.wcnf"
    scores = enumerate_weighted(network)
    with patch.object(wcnf, "PAIRWISE", pairwise):
        try:
            write_wcnf(network, path, dialect=dialect)  # type: ignore[arg-type]
        except NumericError:
            assume(False)
        variables = wcnf.variable_count(network)
    constant, scale = stated(path, r"score of a world is (\S+) - \(.*\) / (\S+)")
    (lost,) = stated(path, r"which lost (\S+) in all")
    formula = WCNF(from_file=str(path))
    assert formula.nv == (variables if problem.atoms else 0)
    close = lost * 1.01 + tolerance(problem) + 1e-15 * abs(constant)
    with RC2(formula) as solver:
        model = solver.compute()
        assert (model is None) == (not scores)
        if model is None:
            return
        found = tuple(x > 0 for x in model[: problem.atoms])
        assert constant - solver.cost / scale == pytest.approx(max(scores.values()), abs=close)
        assert scores[found] == pytest.approx(max(scores.values()), abs=2 * close)
    # Any world, not only the best, has its own cost in the file.
    world = data.draw(st.sampled_from(sorted(scores)))
    for atom, true in enumerate(world, 1):
        formula.append([atom if true else -atom])
    with RC2(formula) as solver:
        solver.compute()
        assert constant - solver.cost / scale == pytest.approx(scores[world], abs=close)


@pytest.mark.parametrize("dialect", ["classic", "2022"])
def test_the_lines_of_a_file_are_as_the_formats_say(tmp_path: Path, dialect: str) -> None:
    problem = Problem(3, [(0, [-1, 2], 1), (1, [1, 2], 1), (2, [-2], 1)], [1.5, -0.25, 0.0], hard=[2])
    write_wcnf(weighted(problem), tmp_path / "a.wcnf", dialect=dialect)  # type: ignore[arg-type]
    lines = [line for line in (tmp_path / "a.wcnf").read_text().splitlines() if not line.startswith("c ")]
    hard = "8" if dialect == "classic" else "h"
    header = ["p wcnf 4 6 8"] if dialect == "classic" else []
    # Atom 3 is in no clause: it gets one that always holds, so that solvers give it a value.
    assert lines == [
        *header, f"{hard} -2 0", f"{hard} -4 -1 0", f"{hard} -4 -2 0", f"{hard} 3 -3 0", "6 -1 2 0", "1 4 0",
    ]  # fmt: skip


@pytest.mark.parametrize("exact", [True, False])
def test_large_blocks_need_few_clauses(tmp_path: Path, exact: bool) -> None:
    n = 300
    problem = Problem(n, [(0, [17], 1), (0, [200], 1)], [0.5], blocks=[(list(range(n)), exact)])
    write_wcnf(weighted(problem), tmp_path / "a.wcnf")
    formula = WCNF(from_file=str(tmp_path / "a.wcnf"))
    assert len(formula.hard) < 4 * n
    for forced, possible in (([], True), ([3, 290], False), ([1, 2], False), ([299, 300], False)):
        with RC2(formula) as solver:
            for atom in forced:
                solver.add_clause([atom])
            model = solver.compute()
            assert (model is not None) == possible
            if model is not None:
                assert sum(x > 0 for x in model[:n]) == 1
    for atom in range(1, n + 1):
        formula.append([-atom])
    with RC2(formula) as solver:
        assert (solver.compute() is None) == exact


def test_weights_too_far_apart_are_refused_by_name(tmp_path: Path) -> None:
    problem = Problem(3, [(0, [1], 1), (1, [2, 3], 1)], [1e-9, 1e9])
    with pytest.raises(
        NumericError, match=r"1e-09 \(unit clauses and soft evidence of atom 70\).*clause of atoms 80, 90"
    ):
        write_wcnf(weighted(problem), tmp_path / "a.wcnf", names=ExportedNames(np.array([70, 80, 90])))
    assert list(tmp_path.iterdir()) == []


# ---- integer programs ---------------------------------------------------------------------------------------


# In a process of its own, since HiGHS cannot be imported beside OR-Tools.
HIGHS = """
import json, os, sys, highspy
# What HiGHS prints itself, now and then in spite of silent(), is no answer.
answers = os.fdopen(os.dup(1), "w")
os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
for line in sys.stdin:
    path = line.strip()
    highs = highspy.Highs()
    highs.silent()
    highs.setOptionValue("mip_rel_gap", 0.0)
    assert highs.readModel(path) == highspy.HighsStatus.kOk, path
    highs.run()
    lp = highs.getLp()
    binary = all(k == highspy.HighsVarType.kInteger for k in lp.integrality_)
    binary &= set(lp.col_lower_) <= {0.0} and set(lp.col_upper_) <= {1.0}
    highs.writeSolution(path + ".sol", 0)
    status, best = str(highs.getModelStatus()), highs.getObjectiveValue()
    found = dict(status=status, best=best, names=list(lp.col_names_), rows=lp.num_row_, binary=binary, cost=list(lp.col_cost_))
    print(json.dumps(found), file=answers, flush=True)
"""


class Highs:
    """The solver HiGHS, which reads LP files and writes solution files."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", HIGHS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def solve(self, path: Path) -> dict[str, Any]:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{path}\n")
        self.process.stdin.flush()
        found: dict[str, Any] = json.loads(self.process.stdout.readline())
        return found


@pytest.fixture(scope="module")
def highs() -> Iterator[Highs]:
    solver = Highs()
    yield solver
    assert solver.process.stdin is not None
    assert solver.process.stdout is not None
    solver.process.stdin.close()
    solver.process.stdout.close()
    solver.process.wait()


@FOLDER
@given(st.one_of(problems(ORDINARY, hardness=2), grouped()))
def test_integer_programs_have_the_same_optimum(tmp_path: Path, highs: Highs, problem: Problem) -> None:
    assume(problem.atoms > 0)
    network, path = weighted(problem), tmp_path / "a.lp"
    ids = 3 * np.arange(problem.atoms, dtype=np.int64) + 11
    write_lp(network, path, names=ExportedNames(ids))
    scores = enumerate_weighted(network)
    found = highs.solve(path)
    assert found["names"][: problem.atoms] == [f"a{i}" for i in ids]
    assert found["binary"]
    answer = Path(f"{path}.sol")
    if not scores:
        assert found["status"] == "HighsModelStatus.kInfeasible"
        with pytest.raises(InputError, match="found no world"):
            read_solution(network, answer, names=ExportedNames(ids))
        return
    assert found["status"] == "HighsModelStatus.kOptimal"
    (constant,) = stated(path, r"score of a world is (\S+) - objective")
    best = max(scores.values())
    assert constant - found["best"] == pytest.approx(best, abs=1e-6)
    # The solver's own file comes back as a best world.
    result = read_solution(network, answer, names=ExportedNames(ids), exported=path)
    assert result.objective == pytest.approx(best, abs=1e-6)
    assert result.objective == scores[tuple(result.world.tolist())]


def test_lines_stay_short_and_numbers_whole(tmp_path: Path, highs: Highs) -> None:
    n = 2000
    problem = Problem(n, [(0, list(range(1, n + 1)), 1), (1, [-1, 2], 1)], [1e-17 / 3, -math.pi])
    path = tmp_path / "a.lp"
    write_lp(weighted(problem), path, names=ExportedNames(np.arange(n, dtype=np.int64) + 2**60))
    assert max(map(len, path.read_text().splitlines())) <= 510
    found = highs.solve(path)
    assert found["rows"] == 3
    assert sorted(found["cost"])[0] == -math.pi
    assert sorted(found["cost"])[-1] == 1e-17 / 3
    assert found["best"] == pytest.approx(-math.pi)


# ---- Markov networks ----------------------------------------------------------------------------------------


class Markov:
    """A reader of the UAI format, token by token, that knows nothing of our writer."""

    def __init__(self, text: str) -> None:
        tokens = iter(text.split())
        assert next(tokens) == "MARKOV"
        self.size = [int(next(tokens)) for _ in range(int(next(tokens)))]
        scopes = [[int(next(tokens)) for _ in range(int(next(tokens)))] for _ in range(int(next(tokens)))]
        self.factors = []
        for scope in scopes:
            entries = int(next(tokens))
            assert entries == math.prod(self.size[v] for v in scope)
            self.factors.append((scope, [float(next(tokens)) for _ in range(entries)]))
        assert next(tokens, None) is None
        assert all(max(values) in (0.0, 1.0) for _, values in self.factors)

    def logarithm(self, states: tuple[int, ...]) -> float:
        total = 0.0
        for scope, values in self.factors:
            index = 0
            for v in scope:
                index = index * self.size[v] + states[v]
            if values[index] == 0:
                return -math.inf
            total += math.log(values[index])
        return total

    def states(self, first: int) -> Iterator[tuple[int, ...]]:
        return itertools.product(*(range(k) for k in self.size[:first]))


def read_map(path: Path) -> list[list[str]]:
    with Path(f"{path}.atoms.tsv").open(encoding="utf-8", newline="") as file:
        return list(csv.reader((line for line in file if not line.startswith("#")), delimiter="\t"))[1:]


@FOLDER
@given(problems(MILD, hardness=2), st.sampled_from([1 << 14, 1]))
def test_products_of_factors_are_scores(tmp_path: Path, problem: Problem, largest: int) -> None:
    network, path = weighted(problem), tmp_path / "a.uai"
    with patch.object(tables, "LARGEST_TABLE", largest):
        write_uai(network, path)
        helpers = helper_count(network)
    markov = Markov(path.read_text())
    place = {(int(v), int(s)): int(atom) for v, s, atom, *_ in read_map(path)}
    constant, off = stated(
        Path(f"{path}.atoms.tsv"), r"score of a world is (\S+) \+ [^\n]*\n# which is off by at most (\S+)"
    )
    scores = enumerate_weighted(network)
    own = len(markov.size) - helpers
    for states in markov.states(own):
        world = [False] * problem.atoms
        for variable, state in enumerate(states):
            if (variable, state) in place:
                world[place[variable, state]] = True
        # Whatever the helpers do, only what they should be has a product above 0: sums over worlds do not change.
        found = [markov.logarithm((*states, *rest)) for rest in itertools.product([0, 1], repeat=helpers)]
        possible = [x for x in found if x > -math.inf]
        expected = scores.pop(tuple(world), -math.inf)
        assert len(possible) == (expected > -math.inf)
        if possible:
            assert constant + possible[0] == pytest.approx(expected, abs=off * 1.01)
    assert not scores, "every possible world has states"


def test_long_clauses_are_split(tmp_path: Path) -> None:
    n = 40
    problem = Problem(n, [(0, [a if a % 3 else -a for a in range(1, n + 1)], 1)], [0.75])
    network = weighted(problem)
    write_uai(network, tmp_path / "a.uai")
    markov = Markov((tmp_path / "a.uai").read_text())
    assert helper_count(network) == n - 1
    assert max(len(values) for _, values in markov.factors) == 8
    for flipped in (None, 0, 20, n - 1):
        world = np.array([a % 3 == 0 for a in range(1, n + 1)])
        if flipped is not None:
            world[flipped] ^= True
        false = [world[a - 1] == (a % 3 == 0) for a in range(1, n + 1)]
        states = (*world.astype(int).tolist(), *(int(all(false[: j + 1])) for j in range(n - 1)))
        (constant,) = stated(tmp_path / "a.uai.atoms.tsv", r"score of a world is (\S+) \+")
        assert constant + markov.logarithm(states) == pytest.approx(network.score(world), abs=1e-12)


def test_weights_that_exp_would_make_hard_are_refused(tmp_path: Path) -> None:
    for ground in ([(0, [1], 1)], [(0, [-1, 2], 1)]):
        with pytest.raises(NumericError, match=r"atoms 7.*800.*make such clauses hard"):
            write_uai(weighted(Problem(2, ground, [800.0])), tmp_path / "a.uai", names=ExportedNames(np.array([7, 9])))
    write_uai(weighted(Problem(2, [(0, [-1, 2], 1)], [699.0])), tmp_path / "a.uai")
    assert list(tmp_path.glob("*.partial")) == []


# ---- the map, and where files go ----------------------------------------------------------------------------


def test_the_map_names_every_atom_whatever_its_constants(tmp_path: Path) -> None:
    hostile = ['tab\there, "quoted"', "# no comment\nline", "κόσμος"]

    def texts(ids: IntArray) -> list[tuple[str, str]]:
        return [("Likes", hostile[i - 70]) for i in ids.tolist()]

    network, names = (
        weighted(Problem(3, [], [], blocks=[([0, 2], False)])),
        ExportedNames(np.array([70, 71, 72]), texts),
    )
    expected = {
        "wcnf": [["1"], ["2"], ["3"]],
        "lp": [["a70"], ["a71"], ["a72"]],
        "uai": [["0", "1"], ["1", "1"], ["0", "2"]],
    }
    answers = {"wcnf": "v -1 -2 3\n", "lp": "a70 0\na71 0\na72 1\n", "uai": "MPE\n2 2 0\n"}
    for form, write in (("wcnf", write_wcnf), ("lp", write_lp), ("uai", write_uai)):
        path = tmp_path / f"a.{form}"
        write(network, path, names=names)  # type: ignore[operator]
        with Path(f"{path}.atoms.tsv").open(encoding="utf-8", newline="") as file:
            rows = list(csv.reader(itertools.dropwhile(lambda line: line.startswith("#"), file), delimiter="\t"))
        assert rows[0][-3:] == ["atom", "predicate", "constants"]
        assert rows[1:] == [[*p, str(70 + k), "Likes", hostile[k]] for k, p in enumerate(expected[form])]
        (tmp_path / "answer").write_text(answers[form])
        result = read_solution(network, tmp_path / "answer", names=names, exported=path)
        assert result.world.tolist() == [False, False, True]


def test_files_appear_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "a.lp"
    path.write_text("before")

    def interrupted() -> None:
        with new_file(path) as file:
            file.write("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert path.read_text() == "before"
    assert [p.name for p in tmp_path.iterdir()] == ["a.lp"]
    for place in (tmp_path / "absent" / "a.lp", tmp_path):
        with pytest.raises(InputError, match="cannot write"):
            write_lp(weighted(Problem(1, [], [])), place)


def test_networks_without_atoms_are_files_too(tmp_path: Path) -> None:
    network = weighted(Problem(0, [], []))
    for form, write, answer in (
        ("wcnf", write_wcnf, "s OPTIMUM FOUND\nv\n"),
        ("lp", write_lp, "# Objective value = 0\n"),
        ("uai", write_uai, "MPE\n0\n"),
    ):
        write(network, tmp_path / f"a.{form}")  # type: ignore[operator]
        (tmp_path / "answer").write_text(answer)
        assert len(read_solution(network, tmp_path / "answer").world) == 0
    assert Markov((tmp_path / "a.uai").read_text()).logarithm(()) == 0


def test_blocks_of_one_variable_agree_with_the_structure() -> None:
    network = weighted(Problem(3, [], [], blocks=[([0, 2], True)]))
    assert variables_of(network).size.tolist() == [2, 2]
