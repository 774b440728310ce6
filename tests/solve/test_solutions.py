"""Answers of outside solvers: what real ones wrote, and what damaged files say."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from sqlrl.errors import InputError
from sqlrl.solve.exchange.lpfile import write_lp
from sqlrl.solve.exchange.solutions import Format, read_solution
from sqlrl.solve.exchange.text import ExportedNames
from sqlrl.solve.exchange.uai import write_uai
from sqlrl.solve.exchange.wcnf import write_wcnf
from sqlrl.solve.mpe import mpe
from sqlrl.solve.result import Status
from sqlrl.solve.structure import variables_of
from sqlrl.solve.weighted import WeightedNetwork, weigh
from tests.effort import draws
from tests.solve.networks import Problem, problems
from tests.solve.test_weighted import enumerate_weighted

ANSWERS = Path(__file__).parents[1] / "fixtures" / "answers"
"""What solvers wrote about the files that `PROBLEM` was exported to (the result files are written by hand)."""

NAMES = ExportedNames(np.array([3, 5, 8, 13, 21]))

PROBLEM = Problem(
    5,
    [(0, [-1, 4], 1), (1, [2, -4], 1), (2, [-3, -5], 1), (3, [1, 5], 1), (4, [5], 1), (5, [4, 5], 1)],
    [1.5, 0.75, 0.0, 2.0, 0.25, -0.5],
    hard=[2],
    blocks=[([0, 1, 2], True)],
    prior=[0.0, 0.25, 1.0, 0.5, 0.0],
)
"""A block of atoms 3, 5 and 8, the atoms 13 and 21."""


def weighted(problem: Problem = PROBLEM) -> WeightedNetwork:
    return weigh(problem.network(), problem.weights)


def best_world() -> list[bool]:
    scores = enumerate_weighted(weighted())
    order = sorted(scores, key=scores.__getitem__)
    assert scores[order[-1]] > scores[order[-2]] + 0.1, "the best world is unique"
    return list(order[-1])


@pytest.mark.parametrize("path", sorted(ANSWERS.iterdir()), ids=lambda path: path.name)
def test_what_solvers_write_is_read(path: Path) -> None:
    result = read_solution(weighted(), path, names=NAMES)
    assert result.world.tolist() == best_world()
    assert result.status is Status.FEASIBLE
    assert result.gap == np.inf
    assert result.objective == pytest.approx(mpe(PROBLEM.network(), PROBLEM.weights).objective, abs=1e-12)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(problems(hardness=2), st.data(), st.sampled_from(["literals", "bits", "lp", "uai", "pairs"]))
def test_any_world_comes_back(tmp_path: Path, problem: Problem, data: st.DataObject, kind: str) -> None:
    network = weighted(problem)
    scores = enumerate_weighted(network)
    assume(bool(scores))
    world = data.draw(st.sampled_from(sorted(scores)))
    ids = 2 * np.arange(problem.atoms, dtype=np.int64) + 7
    path = tmp_path / "answer"
    form: Format = "uai"
    if kind in ("literals", "bits"):
        form = "wcnf"
        rewarded = int((network.cost < 0).sum())
        values = [*world, *data.draw(st.lists(st.booleans(), min_size=rewarded, max_size=rewarded))]
        literals = " ".join(str(i if y else -i) for i, y in enumerate(values, 1))
        path.write_text(
            f"o 7\ns OPTIMUM FOUND\nv {literals if kind == 'literals' else ''.join('01'[y] for y in values)}\n"
        )
    elif kind == "lp":
        form = "lp"
        values = "".join(f"a{i} {int(y)}\n" for i, y in zip(ids.tolist(), world, strict=True))
        path.write_text(f"# Objective value = 3\n{values}")
    else:
        variables = variables_of(network)
        states = [0] * len(variables.exact)
        for atom, true in enumerate(world):
            if true:
                states[variables.of_atom[atom]] = int(variables.state_of_atom[atom])
        listed = [f"{u} {s}" if kind == "pairs" else str(s) for u, s in enumerate(states)]
        path.write_text(f"{'MMAP' if kind == 'pairs' else 'MPE'}\n{len(states)} {' '.join(listed)}\n")
    for given_form in (form, None):
        result = read_solution(network, path, given_form, names=ExportedNames(ids))
        assert tuple(result.world.tolist()) == world
        assert result.objective == scores[world]
        assert result.gap == np.inf


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=draws(30))
@given(problems(hardness=2), st.data())
def test_the_gap_on_request_holds(tmp_path: Path, problem: Problem, data: st.DataObject) -> None:
    network = weighted(problem)
    scores = enumerate_weighted(network)
    assume(bool(scores) and problem.atoms > 0)
    world = data.draw(st.sampled_from(sorted(scores)))
    literals = " ".join(str(i if y else -i) for i, y in enumerate(world, 1))
    (tmp_path / "answer").write_text(f"v {literals}\n")
    result = read_solution(network, tmp_path / "answer", bound=True)
    assert np.isfinite(result.gap)
    assert scores[world] + result.gap >= max(scores.values()) - 1e-12
    # Where the relaxation is exact, the best world is proved best.
    if result.status is Status.OPTIMAL:
        assert scores[world] >= max(scores.values()) - result.report.precision


HIGHS = "Model status\nOptimal\n\n# Primal solution values\nFeasible\nObjective -3\n"
CPLEX = '<?xml version = "1.0"?>\n<CPLEXSolution version="1.2">\n <variables>\n'
WHOLE = "a3 0\na5 1\na8 0\na13 1\na21 1\n"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        # MaxSAT
        ("s UNSATISFIABLE\n", ["answer:1", "UNSATISFIABLE"]),
        ("c hello\ns UNKNOWN\n", ["answer:2", "UNKNOWN", "more time"]),
        ("o 3\ns OPTIMUM FOUND\n", ["no line that begins with v"]),
        ("v -1 2 -3\n", ["2 of 5 atoms", "variable 4"]),
        ("v -1 2 -3\nv 4 5 7 0\n", ["answer:2", "literal 7", "which has 6"]),
        ("v -1 2 -3\nv 4 3 5\n", ["answer:2", "variable 3", "both true and false"]),
        ("v -1 2 -3 3 4 5\n", ["answer:1", "variable 3", "both true and false"]),
        ("v -1 2 x3 4 5\n", ["answer:1", "'x3'", "literal"]),
        ("v -1 2 3 4 99999999999999999999999\n", ["answer:1", "99999999999999999999999"]),
        ("v 0101\n", ["answer:1", "4 values", "'0101'", "6 variables"]),
        ("v 0101010\n", ["answer:1", "7 values"]),
        ("v 010110\nv -1 2\n", ["answer:2", "zeros and ones", "literals"]),
        ("s SATISFIABLE\nv 1 2 -3 4 5\n", ["2 true atoms", "block 3, 5, 8", "exactly one"]),
        ("s SATISFIABLE\nv -1 -2 3 4 5\n", ["1 hard ground clause", "!atom 8 v !atom 21", "export it again"]),
        # integer programs
        ("a3 0\na5 1\n", ["3 of 5 atoms", "a8 first"]),
        (f"{WHOLE}a99 1\n", ["answer:6", "'a99'"]),
        (f"{WHOLE}a13 0\n", ["answer:6", "a13 is 0 here and 1 in line 4"]),
        (WHOLE.replace("a8 0", "a8 0.5"), ["answer:3", "a8 is 0.5", "binary"]),
        (WHOLE.replace("a8 0", "a8 2"), ["answer:3", "a8 is 2"]),
        (WHOLE.replace("a8 0", "a8 nan"), ["answer:3", "'nan'", "a8"]),
        (WHOLE.replace("a8 0", "a8"), ["answer:3", "'a8'", "CPLEX"]),
        ("hello world, this is no solution\n", ["answer:1", "'hello world", "solution file"]),
        (f"{HIGHS}# Columns 8\na3 0\na5 1\n", ["6 variables more"]),
        (f"{HIGHS}# Columns x\n", ["answer:7", "'x'"]),
        (f"{HIGHS}# Columns 2\na3 0\na5\n", ["answer:9", "'a5'"]),
        ("Model status\nInfeasible\n\n# Primal solution values\nNone\n", ["answer:2", "no world", "Infeasible"]),
        ("Model status\n", ["no world"]),
        (f'{CPLEX}  <variable name="a3" index="0" value="0"/>\n', ["ends before </CPLEXSolution>"]),
        (f'{CPLEX}  <variable name="a3" index="0" val\n</CPLEXSolution>\n', ["answer:4", "<variable"]),
        ("Infeasible - objective value 0.00000000\n", ["answer:1", "no world", "Infeasible"]),
        ("Optimal - objective value -3.00\n      0 a3\n", ["answer:2", "0 a3"]),
        ("Optimal - objective value -77.00\n  1 a5 1 0\n", ["-77", "objective"]),
        ("Optimal - objective value\n", ["answer:1", "objective"]),
        ("solution status: infeasible\nno solution available\n", ["answer:1", "no world"]),
        ("objective value:   -77\na5  1 \t(obj:-1)\n", ["-77", "is the file whole"]),
        # Markov networks
        ("MPE\n", ["answer:1", "no states"]),
        ("MPE\n3 1 0\n", ["answer:2", "3, and their states", "2 numbers"]),
        ("MPE\n4 1 0 1 1\n", ["answer:2", "found 4"]),
        ("MPE\n3 3 1 1\n", ["answer:2", "variable 0", "states 0 to 2, not 3"]),
        ("MPE\n3 1 -1 1\n", ["answer:2", "variable 1", "not -1"]),
        ("MPE\n3 1 0.5 1\n", ["answer:2", "'0.5'"]),
        ("MMAP\n3 0 1 1 1 1 1\n", ["answer:2", "each variable once"]),
        ("MPE\n3 2 1 1\n", ["1 hard ground clause", "!atom 8 v !atom 21"]),
        ("\n \n", ["empty"]),
        ("", ["empty"]),
    ],
)  # fmt: skip
def test_bad_answers_are_refused(tmp_path: Path, text: str, words: list[str]) -> None:
    path = tmp_path / "answer"
    path.write_text(text)
    with pytest.raises(InputError) as error:
        read_solution(weighted(), path, names=NAMES)
    assert "answer" in str(error.value)
    for word in words:
        assert word in str(error.value)


def test_files_that_are_no_text_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="absent: No such file"):
        read_solution(weighted(), tmp_path / "absent")
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00v 1 2")
    with pytest.raises(InputError, match="binary is no text"):
        read_solution(weighted(), tmp_path / "binary")
    (tmp_path / "answer").write_text("v 1")
    with pytest.raises(InputError, match="unknown format 'mps'"):
        read_solution(weighted(), tmp_path / "answer", "mps")  # type: ignore[arg-type]


# Answers are cut at each of some thousand characters; in the quick tier at few of them.
@pytest.mark.parametrize("step", [29, pytest.param(1, marks=pytest.mark.slow)])
def test_every_cut_of_an_answer_is_refused_or_whole(tmp_path: Path, step: int) -> None:
    best, network = best_world(), weighted()
    for source in sorted(ANSWERS.iterdir()):
        # Of several solutions a file may lose the last.
        text = source.read_text().replace("-BEGIN-\n3 0 0 0\n", "")
        for end in range(0, len(text), step):
            (tmp_path / "answer").write_text(text[:end])
            try:
                result = read_solution(network, tmp_path / "answer", names=NAMES)
            except InputError:
                continue
            # What was cut off said nothing about atoms, or the file may leave out atoms that are false.
            assert result.world.tolist() == best, (source.name, end)


def test_the_map_tells_another_network(tmp_path: Path) -> None:
    network = weighted()
    for form, write in (("wcnf", write_wcnf), ("lp", write_lp), ("uai", write_uai)):
        exported = tmp_path / f"network.{form}"
        write(network, exported, names=NAMES)  # type: ignore[operator]
        answer = ANSWERS / {"wcnf": "rc2.txt", "lp": "gurobi.sol", "uai": "results_2014.MPE"}[form]
        assert read_solution(network, answer, names=NAMES, exported=exported).world.tolist() == best_world()
        later = ExportedNames(NAMES.ids + 1)
        with pytest.raises(InputError, match=r"lists .*3.* where .*4.* is expected: the network is not the one"):
            read_solution(network, answer, names=later, exported=exported)
        smaller = weighted(Problem(4, [], [], blocks=[([0, 1, 2], True)]))
        with pytest.raises(InputError, match="lists more than 4 atoms"):
            read_solution(smaller, answer, names=NAMES, exported=exported)
        Path(f"{exported}.atoms.tsv").write_text("hello\n")
        with pytest.raises(InputError, match="is not the map"):
            read_solution(network, answer, names=NAMES, exported=exported)
        Path(f"{exported}.atoms.tsv").unlink()
        with pytest.raises(InputError, match="No such file"):
            read_solution(network, answer, names=NAMES, exported=exported)


def test_a_best_world_is_proved_where_the_relaxation_is_exact() -> None:
    result = read_solution(weighted(), ANSWERS / "rc2.txt", names=NAMES, bound=True)
    assert result.status is Status.OPTIMAL
    assert result.gap < 1e-6
