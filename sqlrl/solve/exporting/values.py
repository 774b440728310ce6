"""The solution files of solvers of integer programs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from sqlrl.errors import InputError
from sqlrl.ground.network import BoolArray, FloatArray
from sqlrl.solve.exporting.answer import NO_WORLD, OTHER_FILE, Answer, integers, shown
from sqlrl.wording import counted

_CPLEX = re.compile(r'<variable\s+name="([^"]*)"[^>]*\svalue="([^"]*)"')
_CBC = re.compile(r"(?P<status>.*?)\s*- objective value\s*(?P<objective>\S*)")
_STATED = re.compile(r"(objective value:|=obj=)\s*(?P<objective>\S*)")

OBJECTIVE = 1e-6
"""How far a stated objective may be from that of the values, relative to the size of its terms: solvers print few digits."""

TRUTH = 1e-4
"""How far a truth value may be from 0 or 1; solvers allow about 1e-5."""


@dataclass
class _Values:
    # What a solution file says of each name, and in which line; whether variables that are 0 may be left out.
    path: str
    line: dict[str, int] = field(default_factory=dict)
    value: dict[str, float] = field(default_factory=dict)
    sparse: bool = False
    objective: float = 0.0

    def set(self, name: str, text: str, number: int) -> None:
        """Keep the value of a variable; another one later is an error."""
        value = self.number(text, number, f"value of {name}")
        if self.value.get(name, value) != value:
            raise InputError(
                f"{self.path}:{number}: {name} is {value:.10g} here and {self.value[name]:.10g} in line {self.line[name]}: keep "
                "one solution"
            )
        self.value[name], self.line[name] = value, number

    def number(self, text: str, number: int, what: str) -> float:
        """Return a number that stands in a line, or refuse it."""
        try:
            value = float(text)
        except ValueError:
            value = np.nan
        if not np.isfinite(value):
            raise InputError(f"{self.path}:{number}: {shown(text)} is no {what}: is the file whole?")
        return value

    def state(self, text: str, number: int) -> None:
        """Keep the objective of a file that leaves out zeros."""
        self.sparse, self.objective = True, self.number(text, number, "objective")

    def unreadable(self, number: int, line: str) -> InputError:
        """Return the error about a line that is none of a solution file."""
        return InputError(
            f"{self.path}:{number}: expected the name of a variable and its value, found {shown(line)}: name a solution file of "
            "CPLEX, Gurobi, HiGHS, CBC or SCIP, as the solver wrote it"
        )

    def no_world(self, number: int, line: str) -> InputError:
        """Return the error about a solver that found nothing."""
        return InputError(f"{self.path}:{number}: the solver found no world ({line}): {NO_WORLD}")


def _parse(answer: Answer) -> _Values:
    found = _Values(answer.path)
    number, first = answer.lines[0]
    rest = answer.lines[1:]
    if first.startswith("<"):
        _parse_cplex(rest, found)
    elif first == "Model status":
        _parse_highs(rest, found)
    elif (cbc := _CBC.match(first)) is not None:
        if "nfeasible" in cbc["status"] or "nbounded" in cbc["status"]:
            raise found.no_world(number, cbc["status"])
        found.state(cbc["objective"], number)
        for number, line in rest:
            # CBC marks variables that break a bound.
            words = line.removeprefix("**").split()
            if len(words) not in (3, 4):
                raise found.unreadable(number, line)
            found.set(words[1], words[2], number)
    else:
        _parse_names(answer.lines, found)
    return found


def _parse_cplex(lines: Iterable[tuple[int, str]], found: _Values) -> None:
    ended = False
    for number, line in lines:
        ended = ended or line.startswith("</CPLEXSolution")
        variable = _CPLEX.match(line)
        if variable is not None:
            found.set(variable[1], variable[2], number)
        elif line.startswith("<variable "):
            raise found.unreadable(number, line)
    if not ended:
        raise InputError(f"{found.path} ends before </CPLEXSolution>: is the file whole?")


def _parse_highs(lines: Sequence[tuple[int, str]], found: _Values) -> None:
    # The first list of columns has the values; what follows are rows and dual values.
    left = -1
    for number, line in lines:
        if left < 0 and line.startswith("# Columns"):
            left = int(integers([line.split()[-1]], f"{found.path}:{number}", "number of variables")[0])
        elif left > 0:
            words = line.split()
            if len(words) != 2:
                raise found.unreadable(number, line)
            found.set(words[0], words[1], number)
            left -= 1
        if left == 0:
            return
    if left < 0:
        raise found.no_world(*(lines[0] if lines else (1, "Model status")))
    raise InputError(f"{found.path} ends where {counted(left, 'variable')} more should follow: is the file whole?")


def _parse_names(lines: Iterable[tuple[int, str]], found: _Values) -> None:
    # Gurobi lists all variables below comments; SCIP and MIPLIB's tools those that are not 0 below the objective.
    for number, line in lines:
        stated = _STATED.match(line)
        if stated is not None:
            found.state(stated["objective"], number)
        elif line.startswith("no solution") or (line.startswith("solution status:") and "nfeasible" in line):
            raise found.no_world(number, line)
        elif not line.startswith(("#", "solution status:")):
            words = line.split()
            if not (len(words) == 2 or (len(words) == 3 and words[2].startswith("(obj:"))):
                raise found.unreadable(number, line)
            found.set(words[0], words[1], number)


def read_values(answer: Answer, names: Sequence[str], cost: FloatArray, needed: int) -> BoolArray:
    """Read the solution file of CPLEX, Gurobi, HiGHS, CBC, SCIP, or lines with names and values.

    CBC and SCIP may leave out variables that are 0; then the objective that the file states must be that of its values.

    Parameters
    ----------
    answer : Answer
    names : sequence of str, length k
        The variables of the exported file.
    cost : float array, shape (k,)
        Their coefficients in the objective.
    needed : int
        The first so many must have a value, 0 or 1.

    Returns
    -------
    bool array, shape (needed,)

    Raises
    ------
    InputError
        With the line: unknown names, missing, contradictory or fractional values, a file that ends early or has no
        solution.

    Examples
    --------
    >>> lines = ["# Objective value = -1", "a7 1", "a8 0", "z1 0"]
    >>> answer = Answer("answer", list(enumerate(lines, 1)))
    >>> read_values(answer, ["a7", "a8", "z1"], np.array([-1.0, 0.0, 2.0]), 2).tolist()
    [True, False]
    """
    found = _parse(answer)
    known = {name: i for i, name in enumerate(names)}
    value = np.full(len(names), np.nan)
    for name, number in found.value.items():
        if name not in known:
            line = f"{answer.path}:{found.line[name]}"
            raise InputError(f"{line}: the exported file has no variable {shown(name)}: {OTHER_FILE}")
        value[known[name]] = number
    if found.sparse:
        value[np.isnan(value)] = 0.0
        _check_objective(found, cost, value)
    missing = np.flatnonzero(np.isnan(value[:needed]))
    if len(missing):
        raise InputError(
            f"{answer.path} gives {len(missing)} of {counted(needed, 'atom')} no value, {names[missing[0]]} first: {OTHER_FILE}"
        )
    truth = np.round(value[:needed])
    wrong = np.flatnonzero((np.abs(value[:needed] - truth) > TRUTH) | (truth < 0) | (truth > 1))
    if len(wrong):
        name = names[wrong[0]]
        raise InputError(
            f"{answer.path}:{found.line[name]}: {name} is {found.value[name]:.10g}, but an atom is 0 or 1: solve the integer "
            "program, in which all variables are binary, not its relaxation"
        )
    return np.asarray(truth == 1, dtype=np.bool_)


def _check_objective(found: _Values, cost: FloatArray, value: FloatArray) -> None:
    total = float(cost @ value)
    if not abs(total - found.objective) <= OBJECTIVE * max(1.0, float(np.abs(cost) @ np.abs(value))):
        raise InputError(
            f"{found.path}: its values have the objective {total:.10g}, but it says {found.objective:.10g}: {OTHER_FILE}"
        )
