"""The answers of MaxSAT solvers."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sqlrl.errors import InputError
from sqlrl.ground.network import BoolArray
from sqlrl.solve.exporting.answer import NO_WORLD, OTHER_FILE, Answer, integers, shown
from sqlrl.wording import counted

_Truth = npt.NDArray[np.int8]


def read_literals(answer: Answer, count: int, needed: int) -> BoolArray:
    r"""Read what a MaxSAT solver printed: lines `o`, `s` and `v`, with literals or, as since 2022, zeros and ones.

    Other lines are passed over, since solvers print much besides.

    Parameters
    ----------
    answer : Answer
    count : int
        The number of variables of the exported file.
    needed : int
        The first so many must have a value.

    Returns
    -------
    bool array, shape (needed,)
        Of several lines of zeros and ones the last counts: solvers print ever better ones.

    Raises
    ------
    InputError
        With the line: no values, too many or too few, contradictory ones, or the solver found none.

    Examples
    --------
    >>> lines = ["c hello", "o 3", "s OPTIMUM FOUND", "v -1 2", "v 3 0"]
    >>> read_literals(Answer("answer", list(enumerate(lines, 1))), 3, 2).tolist()
    [False, True]
    >>> read_literals(Answer("answer", [(1, "v 011")]), 3, 2).tolist()
    [False, True]
    """
    value = np.full(count + 1, -1, dtype=np.int8)
    bits, literals = "", 0
    values = [(number, line) for number, line in answer.lines if line.split(maxsplit=1)[0] == "v"]
    _check_status(answer, bool(values))
    for number, line in values:
        tokens = line.split()[1:]
        if len(tokens) == 1 and _are_bits(tokens[0], count):
            bits = tokens[0]
            if len(bits) != count:
                raise InputError(
                    f"{answer.path}:{number}: {counted(len(bits), 'value')} {shown(bits)}, but the exported file has "
                    f"{counted(count, 'variable')}: {OTHER_FILE}"
                )
        else:
            literals = number
            _set_literals(value, tokens, f"{answer.path}:{number}")
        if bits and literals:
            raise InputError(
                f"{answer.path}:{number}: one line v has zeros and ones, another literals: keep one solution"
            )
    if bits:
        return np.asarray(np.frombuffer(bits.encode(), dtype=np.uint8)[:needed] == ord("1"), dtype=np.bool_)
    missing = np.flatnonzero(value[1 : needed + 1] < 0)
    if len(missing):
        raise InputError(
            f"{answer.path} gives {len(missing)} of {counted(needed, 'atom')} no value, variable {missing[0] + 1} first: "
            f"{OTHER_FILE}"
        )
    return np.asarray(value[1 : needed + 1] == 1, dtype=np.bool_)


def _are_bits(token: str, count: int) -> bool:
    # A literal has no more digits than the number of variables, and no zero in front.
    return set(token) <= {"0", "1"} and (len(token) == count or len(token) > len(str(count)))


def _check_status(answer: Answer, values: bool) -> None:
    status = "none of its lines begins with s"
    for number, line in answer.lines:
        if line.startswith("s "):
            status = line[2:].strip()
            if status in ("UNSATISFIABLE", "UNKNOWN"):
                raise InputError(f"{answer.path}:{number}: the solver found no world ({status}): {NO_WORLD}")
    if not values:
        raise InputError(
            f"{answer.path} has no line that begins with v, so no values ({shown(status)}): let the solver print its solution"
        )


def _set_literals(value: _Truth, tokens: list[str], where: str) -> None:
    literals = integers(tokens, where, "literal")
    literals = literals[literals != 0]
    variable = np.abs(literals)
    wrong = np.flatnonzero(variable >= len(value))
    if len(wrong):
        raise InputError(
            f"{where}: the literal {literals[wrong[0]]} is of no variable of the exported file, which has {len(value) - 1}: "
            f"{OTHER_FILE}"
        )
    truth = (literals > 0).astype(np.int8)
    before = value[variable]
    value[variable] = truth
    # A variable that stands twice among these tokens keeps one of its values, which differs from the other.
    clash = np.flatnonzero((value[variable] != truth) | ((before >= 0) & (before != truth)))
    if len(clash):
        raise InputError(f"{where}: variable {variable[clash[0]]} is both true and false: keep one solution")
