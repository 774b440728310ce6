"""The answers of solvers of Markov networks: result files of the UAI competitions."""

from __future__ import annotations

import numpy as np

from sqlrl.errors import InputError
from sqlrl.ground.network import IntArray
from sqlrl.solve.exporting.answer import OTHER_FILE, Answer, integers, shown
from sqlrl.wording import counted

TASKS = ("MPE", "MAP", "MMAP")
"""What the first line of a result that holds a world may say."""


def read_states(answer: Answer, size: IntArray) -> IntArray:
    """Read a result file: a line MPE, MAP or MMAP, then the number of variables and their states.

    Parameters
    ----------
    answer : Answer
    size : int64 array, shape (v,)
        The number of states of each variable of the exported file.

    Returns
    -------
    int64 array, shape (v,)

    Raises
    ------
    InputError
        With the line: another number of variables, states that do not exist, no solution.

    Notes
    -----
    Of several solutions, which lines `-BEGIN-` part, the last counts. Results of 2010 have one line more, 1, the number
    of samples of evidence; those of the task MMAP name each variable before its state.

    Examples
    --------
    >>> read_states(Answer("answer", [(1, "MPE"), (2, "2 1 0")]), np.array([2, 3])).tolist()
    [1, 0]
    """
    number, task = answer.lines[0]
    if task not in TASKS:
        raise InputError(
            f"{answer.path}:{number}: a result file begins with a line {', '.join(TASKS)}, not {shown(task)}"
        )
    begin = max((i for i, (_, line) in enumerate(answer.lines) if line == "-BEGIN-"), default=0)
    tokens = [token for _, line in answer.lines[begin + 1 :] for token in line.split()]
    number = answer.lines[min(begin + 1, len(answer.lines) - 1)][0]
    where = f"{answer.path}:{number}"
    if not tokens:
        raise InputError(f"{where}: no states follow: give the solver more time")
    found, v = integers(tokens, where, "state"), len(size)
    if len(found) == v + 2 and found[0] == 1 and found[1] == v:
        found = found[1:]
    pairs = task == "MMAP" and len(found) == 2 * v + 1
    if found[0] != v or not (pairs or len(found) == v + 1):
        raise InputError(
            f"{where}: expected the number of variables, {v}, and their states, found {found[0]} and "
            f"{counted(len(found) - 1, 'number')}: {OTHER_FILE}"
        )
    states = _in_order(found[1:], v, where) if pairs else found[1:]
    wrong = np.flatnonzero((states < 0) | (states >= size))
    if len(wrong):
        u = int(wrong[0])
        raise InputError(f"{where}: variable {u} has the states 0 to {size[u] - 1}, not {states[u]}: {OTHER_FILE}")
    return np.asarray(states, dtype=np.int64)


def _in_order(pairs: IntArray, v: int, where: str) -> IntArray:
    variable, states = pairs[::2], np.empty(v, dtype=np.int64)
    if not np.array_equal(np.sort(variable), np.arange(v)):
        raise InputError(f"{where}: pairs of variables and states should name each variable once: {OTHER_FILE}")
    states[variable] = pairs[1::2]
    return states
