"""Worlds that outside solvers found: read, checked and scored."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal, get_args

import numpy as np

from sqlrl.errors import InputError
from sqlrl.ground.network import BoolArray
from sqlrl.solve.exporting.answer import Answer
from sqlrl.solve.exporting.atoms import Names, Place, check_map, names_or_local
from sqlrl.solve.exporting.factors import helper_count
from sqlrl.solve.exporting.literals import read_literals
from sqlrl.solve.exporting.lpfile import column_names, place_in_lp, program_of
from sqlrl.solve.exporting.states import TASKS, read_states
from sqlrl.solve.exporting.uai import place_in_uai
from sqlrl.solve.exporting.values import read_values
from sqlrl.solve.exporting.wcnf import place_in_wcnf, variable_count
from sqlrl.solve.relaxation import relax
from sqlrl.solve.result import Choice, MPEResult, SolverReport, status_of
from sqlrl.solve.rounding import PROVED
from sqlrl.solve.structure import variables_of
from sqlrl.solve.weighed import Weighed
from sqlrl.wording import counted

Format = Literal["wcnf", "lp", "uai"]
"""How a network is written for an outside solver."""

FORMATS: tuple[Format, ...] = get_args(Format)

Describe = Callable[[int, Sequence[int]], str]
"""Words for a ground clause: from its local clause and signed local atoms."""


def format_of(path: str | Path, named: str | None = None) -> Format:
    """The format that is named, or else the one that the ending of a path names.

    Raises
    ------
    InputError
        There is no such format, or the ending names none.

    Examples
    --------
    >>> format_of("smokers.wcnf"), format_of("smokers.LP"), format_of("smokers.txt", "uai")
    ('wcnf', 'lp', 'uai')
    """
    word = Path(path).suffix.lower().removeprefix(".") if named is None else named
    for known in FORMATS:
        if word == known:
            return known
    choice = ", ".join(map(repr, FORMATS))
    if named is not None:
        raise InputError(f"unknown format {named!r}: choose {choice}")
    raise InputError(f"cannot tell the format of {path}: name one of {choice}, or end the path in it")


def answer_format(answer: Answer) -> Format:
    """The format of the exported file that a solver's answer belongs to, by the words of the answer.

    Examples
    --------
    >>> answer_format(Answer("answer", [(1, "MPE"), (2, "1 0")]))
    'uai'
    """
    if answer.lines[0][1] in TASKS:
        return "uai"
    return "wcnf" if any(line == "v" or line.startswith(("s ", "v ")) for _, line in answer.lines) else "lp"


def read_world(weighed: Weighed, answer: Answer, file_format: Format | None, names: Names) -> BoolArray:
    """Read the world of an answer without checking its clauses; errors are those of `read_solution`."""
    n = len(weighed.atoms)
    kind = answer_format(answer) if file_format is None else file_format
    if kind == "wcnf":
        return read_literals(answer, variable_count(weighed), n)
    if kind == "lp":
        program = program_of(weighed)
        return read_values(answer, column_names(program, names.of(weighed)).to_pylist(), program.cost, n)
    variables = variables_of(weighed)
    helpers = np.full(helper_count(weighed), 2, dtype=np.int64)
    states = read_states(answer, np.concatenate([variables.size, helpers]))
    return np.asarray(states[variables.of_atom] == variables.state_of_atom, dtype=np.bool_)


def check_world(
    weighed: Weighed, world: BoolArray, source: str, names: Names, describe: Describe | None = None
) -> None:
    """Refuse a world in which a hard row or a block does not hold.

    Parameters
    ----------
    weighed : Weighed
        n atoms.
    world : bool array, shape (n,)
    source : str
        Where the world comes from, for the error.
    names : Names
    describe : callable, optional
        Words for a ground clause; ids of atoms by default.

    Raises
    ------
    InputError
        Names one of them.
    """
    remedy = "the file is not a solution of the network that was exported: export it again, and solve that"
    ids = names.of(weighed)
    broken = np.flatnonzero(weighed.violated(world) & weighed.hard)
    if len(broken):
        literals = weighed.literals[weighed.indptr[broken[0]] : weighed.indptr[broken[0] + 1]]
        atom = np.abs(literals) - 1
        if describe is None:
            signs = ["" if x > 0 else "!" for x in literals.tolist()]
            clause = " v ".join(f"{sign}atom {i}" for sign, i in zip(signs, ids[atom].tolist(), strict=True))
        else:
            clause = describe(int(weighed.clause[broken[0]]), (np.sign(literals) * (weighed.atoms[atom] + 1)).tolist())
        raise InputError(f"{source} violates {counted(len(broken), 'hard ground clause')}, such as {clause}: {remedy}")
    true = np.bincount(weighed.block[world & (weighed.block >= 0)], minlength=len(weighed.block_exact))
    wrong = np.flatnonzero((true > 1) | (weighed.block_exact & (true == 0)))
    if len(wrong):
        members = ids[weighed.block == wrong[0]]
        shown = ", ".join(map(str, members[:6].tolist())) + (", ..." if len(members) > 6 else "")
        kind = "exactly" if weighed.block_exact[wrong[0]] else "at most"
        raise InputError(
            f"{source} has {true[wrong[0]]} true atoms of the block {shown}, of which {kind} one is true: {remedy}"
        )


def read_solution(
    weighed: Weighed,
    path: str | Path,
    file_format: Format | None = None,
    *,
    names: Names | None = None,
    exported: str | Path | None = None,
    describe: Describe | None = None,
    bound: bool = False,
) -> MPEResult:
    r"""Read the world that an outside solver found for an exported network.

    Parameters
    ----------
    weighed : Weighed
        The network that was exported, n atoms.
    path : str or Path
        What a MaxSAT solver printed; the solution file of CPLEX, Gurobi, HiGHS, CBC or SCIP; a result file of the UAI
        competitions.
    file_format : {"wcnf", "lp", "uai"}, optional
        How the network was exported; by default the answer's first words tell.
    names : Names, optional
        As for the export.
    exported : str or Path, optional
        The exported file: its map must list the atoms of `weighed`.
    describe : callable, optional
        Words for a ground clause, for the error: (local clause, signed local atoms).
    bound : bool
        Bound the gap by the linear relaxation.

    Returns
    -------
    MPEResult
        The world as scored here. What the solver says about its quality is not taken over: without `bound` the gap is
        infinite.

    Raises
    ------
    InputError
        With the line: the file is damaged, belongs to another network, lacks values of atoms, or its world violates a
        hard clause.

    Examples
    --------
    >>> import tempfile
    >>> from sqlrl.solve.sample import network
    >>> from sqlrl.solve.weighed import weigh
    >>> weighed = weigh(network(2, [(0, [-1, 2]), (1, [1])]), [2.0, 0.5])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "answer").write_text("s OPTIMUM FOUND\nv 1 2\n")
    ...     read_solution(weighed, Path(folder, "answer"))
    MPEResult(2 of 2 atoms true, feasible, objective 2.5, gap inf)
    """
    if file_format is not None:
        format_of(path, file_format)
    start = time.perf_counter()
    names = names_or_local(names, weighed)
    if exported is not None:
        check_map(weighed, exported, place_in(weighed, format_of(exported), names), names)
    world = read_world(weighed, Answer.read(path), file_format, names)
    check_world(weighed, world, str(path), names, describe)
    score, gap, precision = weighed.score(world), np.inf, weighed.rounding
    magnitude = float(np.abs(weighed.linear).sum() + np.abs(weighed.cost[~weighed.hard]).sum())
    read = time.perf_counter()
    seconds = {"read": read - start}
    if bound:
        relaxed = relax(weighed)
        distance = max(relaxed.bound - score, 0.0)
        # The dual solution is a float one: what it leaves of the distance counts as rounding, as in `solve_relaxation`.
        precision += distance if distance <= relaxed.rounding + PROVED * magnitude else relaxed.rounding
        gap = distance + weighed.rounding
        seconds["bound"] = time.perf_counter() - read
    reason = "a world that was given, " + (
        "bounded by the linear relaxation" if bound else "of which nothing is proved"
    )
    report = SolverReport(
        status=status_of(gap <= precision, precision, magnitude),
        objective=score,
        constant=weighed.constant,
        gap=gap,
        precision=precision,
        magnitude=magnitude,
        scale=1.0,
        seconds=seconds,
        choices=(Choice("file", 0, len(world), len(weighed.cost), reason, seconds["read"]),),
    )
    return MPEResult(world, report)


def place_in(weighed: Weighed, file_format: Format, names: Names) -> Place:
    """What each atom is in a file of a format."""
    if file_format == "wcnf":
        return place_in_wcnf(weighed)
    return place_in_lp(weighed, names) if file_format == "lp" else place_in_uai(weighed)
