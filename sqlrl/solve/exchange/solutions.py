"""Worlds that outside solvers found: their answers in the formats of MaxSAT, integer programs and Markov networks, read, checked and scored."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeVar, get_args

import numpy as np
import numpy.typing as npt

from sqlrl import markup
from sqlrl.errors import InputError
from sqlrl.ground.network import BoolArray, FloatArray, IntArray
from sqlrl.solve.exchange.lpfile import column_names, place_in_lp, program_of
from sqlrl.solve.exchange.tables import helper_count
from sqlrl.solve.exchange.text import ExportedNames, ExportedPlace, check_map, names_or_local
from sqlrl.solve.exchange.uai import place_in_uai
from sqlrl.solve.exchange.wcnf import place_in_wcnf, variable_count
from sqlrl.solve.relaxation import relax
from sqlrl.solve.result import MethodChoice, MPEResult, SolverReport, status_of
from sqlrl.solve.rounding import PROVED
from sqlrl.solve.structure import variables_of
from sqlrl.solve.weighted import WeightedNetwork
from sqlrl.wording import counted

SHOWN = 40
"""So many characters of a wrong value are shown."""

NO_WORLD = "give it more time; if hard clauses conflict, sqlrl's own inference names them"
OTHER_FILE = "is the file whole, and the answer to the file that was exported?"
_INTEGER = re.compile(r"[+-]?[0-9]{1,18}")

_Truth = npt.NDArray[np.int8]

TASKS = ("MPE", "MAP", "MMAP")
"""What the first line of a result that holds a world may say."""

_CPLEX = re.compile(r'<variable\s+name="([^"]*)"[^>]*\svalue="([^"]*)"')
_CBC = re.compile(r"(?P<status>.*?)\s*- objective value\s*(?P<objective>\S*)")
_STATED = re.compile(r"(objective value:|=obj=)\s*(?P<objective>\S*)")

OBJECTIVE = 1e-6
"""How far a stated objective may be from that of the values, relative to the size of its terms: solvers print few digits."""

TRUTH = 1e-4
"""How far a truth value may be from 0 or 1; solvers allow about 1e-5."""

Format = Literal["wcnf", "lp", "uai"]
"""How a network is written for an outside solver."""

FORMATS: tuple[Format, ...] = get_args(Format)


@dataclass(frozen=True)
class OutsideSolution:
    r"""The world that an outside solver found for an exported model: `db.predict(model, solution=OutsideSolution(path))`.

    Parameters
    ----------
    path : str or Path
        What a MaxSAT solver printed; the solution file of CPLEX, Gurobi, HiGHS, CBC or SCIP; or a result file of the
        UAI competitions.
    format : {"wcnf", "lp", "uai"}, optional
        How the model was exported; by default the words of the file tell.
    exported : str or Path, optional
        The exported file: the table beside it must list the atoms that the data have now.
    bound : bool
        Bound the gap by the linear relaxation; else it is infinite, since nothing that the solver says is taken over.

    Examples
    --------
    >>> import tempfile
    >>> import sqlrl
    >>> db = sqlrl.connect()
    >>> db.load("Friends", [("Anna", "Bob"), ("Bob", "Chris")])
    >>> rules = "1 Friends(x, y) ^ Smokes(x) => Smokes(y)\n0.5 Smokes(x)"
    >>> model = sqlrl.parse_mln("Friends(person, person)\nSmokes(person)\n" + rules, query=["Smokes"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "answer").write_text("s OPTIMUM FOUND\nv 1 2 3 0\n")
    ...     prediction = db.predict(model, solution=sqlrl.OutsideSolution(Path(folder, "answer"), bound=True))
    >>> prediction.table()["person"], prediction.objective
    (['Anna', 'Bob', 'Chris'], 10.5)
    """

    path: str | Path
    format: Format | None = None
    exported: str | Path | None = None
    bound: bool = False
    _repr_html_ = markup.field_table


NetworkFormat = Literal[Format, "parquet"]
"""How a network is written for an outside solver, or to be asked with SQL."""

NETWORK_FORMATS: tuple[NetworkFormat, ...] = get_args(NetworkFormat)

_Kind = TypeVar("_Kind", bound=str)

Describe = Callable[[int, Sequence[int]], str]
"""Words for a ground clause: from its local clause and signed local atoms."""


# ---- what a solver wrote -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Answer:
    """What a solver wrote: the lines that are not empty, stripped, with their numbers from 1, and the path for messages."""

    path: str
    lines: Sequence[tuple[int, str]]

    @classmethod
    def read(cls, path: str | Path) -> Answer:
        """Read a text file, or a pipe; one that cannot be read, is no text, or is empty is an InputError."""
        try:
            with Path(path).open(encoding="utf-8") as file:
                stripped = ((number, line.strip()) for number, line in enumerate(file, 1))
                lines = [(number, line) for number, line in stripped if line]
        except OSError as error:
            raise InputError(f"{path}: {error.strerror or error}") from error
        except UnicodeDecodeError as error:
            raise InputError(f"{path} is no text: name the file that the solver wrote as its answer") from error
        if not lines:
            raise InputError(f"{path} is empty: let the solver write its answer to it first")
        return cls(str(path), lines)


def _shown(value: str) -> str:
    """A wrong value as messages show it."""
    return repr(value if len(value) <= SHOWN else f"{value[: SHOWN - 1]}...")


def integers(tokens: Sequence[str], where: str, what: str) -> IntArray:
    """Return integers from text; an InputError names the first token that is none of 64 bits, `where` it is and `what` it should be."""
    try:
        return np.array(tokens, dtype=np.int64)
    except (ValueError, OverflowError):
        wrong = next((t for t in tokens if not _INTEGER.fullmatch(t)), max(tokens, key=len))
        raise InputError(f"{where}: {_shown(wrong)} is no {what}: is the file whole?") from None


# ---- answers of MaxSAT solvers -----------------------------------------------------------------------


def _read_literals(answer: Answer, count: int, needed: int) -> BoolArray:
    """Return the truth of the first `needed` of `count` variables from literals of a MaxSAT solver or, as since 2022, zeros and ones."""
    value = np.full(count + 1, -1, dtype=np.int8)
    bits, literals = "", 0
    # Lines that begin with neither s nor v are passed over, since solvers print much besides.
    values = [(number, line) for number, line in answer.lines if line.split(maxsplit=1)[0] == "v"]
    _check_status(answer, bool(values))
    for number, line in values:
        tokens = line.split()[1:]
        if len(tokens) == 1 and _are_bits(tokens[0], count):
            # Of several lines the last counts: solvers print ever better ones.
            bits = tokens[0]
            if len(bits) != count:
                raise InputError(
                    f"{answer.path}:{number}: {counted(len(bits), 'value')} {_shown(bits)}, but the exported file has "
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
            f"{answer.path} has no line that begins with v, so no values ({_shown(status)}): let the solver print its solution"
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


# ---- answers of solvers of Markov networks -----------------------------------------------------------


def _read_states(answer: Answer, size: IntArray) -> IntArray:
    """Return the states of all variables from a result file: a line MPE, MAP or MMAP, then their number and the states."""
    number, task = answer.lines[0]
    if task not in TASKS:
        raise InputError(
            f"{answer.path}:{number}: a result file begins with a line {', '.join(TASKS)}, not {_shown(task)}"
        )
    # Of several solutions, which lines -BEGIN- part, the last counts.
    begin = max((i for i, (_, line) in enumerate(answer.lines) if line == "-BEGIN-"), default=0)
    tokens = [token for _, line in answer.lines[begin + 1 :] for token in line.split()]
    number = answer.lines[min(begin + 1, len(answer.lines) - 1)][0]
    where = f"{answer.path}:{number}"
    if not tokens:
        raise InputError(f"{where}: no states follow: give the solver more time")
    found, v = integers(tokens, where, "state"), len(size)
    # Results of 2010 have one line more, 1, the number of samples of evidence.
    if len(found) == v + 2 and found[0] == 1 and found[1] == v:
        found = found[1:]
    # Results of the task MMAP name each variable before its state.
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


# ---- answers of solvers of integer programs ----------------------------------------------------------


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
            raise InputError(f"{self.path}:{number}: {_shown(text)} is no {what}: is the file whole?")
        return value

    def state(self, text: str, number: int) -> None:
        """Keep the objective of a file that leaves out zeros."""
        self.sparse, self.objective = True, self.number(text, number, "objective")

    def unreadable(self, number: int, line: str) -> InputError:
        """Return the error about a line that is none of a solution file."""
        return InputError(
            f"{self.path}:{number}: expected the name of a variable and its value, found {_shown(line)}: name a solution file of "
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


def _parse_cplex(lines: Iterable[tuple[int, str]], values: _Values) -> None:
    ended = False
    for number, line in lines:
        ended = ended or line.startswith("</CPLEXSolution")
        variable = _CPLEX.match(line)
        if variable is not None:
            values.set(variable[1], variable[2], number)
        elif line.startswith("<variable "):
            raise values.unreadable(number, line)
    if not ended:
        raise InputError(f"{values.path} ends before </CPLEXSolution>: is the file whole?")


def _parse_highs(lines: Sequence[tuple[int, str]], values: _Values) -> None:
    # The first list of columns has the values; what follows are rows and dual values.
    left = -1
    for number, line in lines:
        if left < 0 and line.startswith("# Columns"):
            left = int(integers([line.split()[-1]], f"{values.path}:{number}", "number of variables")[0])
        elif left > 0:
            words = line.split()
            if len(words) != 2:
                raise values.unreadable(number, line)
            values.set(words[0], words[1], number)
            left -= 1
        if left == 0:
            return
    if left < 0:
        raise values.no_world(*(lines[0] if lines else (1, "Model status")))
    raise InputError(f"{values.path} ends where {counted(left, 'variable')} more should follow: is the file whole?")


def _parse_names(lines: Iterable[tuple[int, str]], values: _Values) -> None:
    # Gurobi lists all variables below comments; SCIP and MIPLIB's tools those that are not 0 below the objective.
    for number, line in lines:
        stated = _STATED.match(line)
        if stated is not None:
            values.state(stated["objective"], number)
        elif line.startswith("no solution") or (line.startswith("solution status:") and "nfeasible" in line):
            raise values.no_world(number, line)
        elif not line.startswith(("#", "solution status:")):
            words = line.split()
            if not (len(words) == 2 or (len(words) == 3 and words[2].startswith("(obj:"))):
                raise values.unreadable(number, line)
            values.set(words[0], words[1], number)


def _read_values(answer: Answer, names: Sequence[str], cost: FloatArray, needed: int) -> BoolArray:
    """Return the truth of the first `needed` variables from a file of CPLEX, Gurobi, HiGHS, CBC or SCIP, or lines with names and values."""
    found = _parse(answer)
    known = {name: i for i, name in enumerate(names)}
    value = np.full(len(names), np.nan)
    for name, number in found.value.items():
        if name not in known:
            line = f"{answer.path}:{found.line[name]}"
            raise InputError(f"{line}: the exported file has no variable {_shown(name)}: {OTHER_FILE}")
        value[known[name]] = number
    # CBC and SCIP may leave out variables that are 0; then the objective that the file states must be that of its values.
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


def _check_objective(values: _Values, cost: FloatArray, value: FloatArray) -> None:
    total = float(cost @ value)
    if not abs(total - values.objective) <= OBJECTIVE * max(1.0, float(np.abs(cost) @ np.abs(value))):
        raise InputError(
            f"{values.path}: its values have the objective {total:.10g}, but it says {values.objective:.10g}: {OTHER_FILE}"
        )


# ---- worlds ------------------------------------------------------------------------------------------


def format_of(path: str | Path, named: str | None, formats: Sequence[_Kind]) -> _Kind:
    """The format of some that is named, or else the one that the ending of a path names; an InputError if it names none."""
    word = Path(path).suffix.lower().removeprefix(".") if named is None else named
    for known in formats:
        if word == known:
            return known
    choice = ", ".join(map(repr, formats))
    if named is not None:
        raise InputError(f"unknown format {named!r}: choose {choice}")
    raise InputError(f"cannot tell the format of {path}: name one of {choice}, or end the path in it")


def answer_format(answer: Answer) -> Format:
    """The format of the exported file that a solver's answer belongs to, by the words of the answer."""
    if answer.lines[0][1] in TASKS:
        return "uai"
    return "wcnf" if any(line == "v" or line.startswith(("s ", "v ")) for _, line in answer.lines) else "lp"


def read_world(
    weighted: WeightedNetwork, answer: Answer, file_format: Format | None, names: ExportedNames
) -> BoolArray:
    """Read the world of an answer without checking its clauses; errors are those of `read_solution`."""
    n = len(weighted.atoms)
    kind = answer_format(answer) if file_format is None else file_format
    if kind == "wcnf":
        return _read_literals(answer, variable_count(weighted), n)
    if kind == "lp":
        program = program_of(weighted)
        return _read_values(answer, column_names(program, names.of(weighted)).to_pylist(), program.cost, n)
    variables = variables_of(weighted)
    helpers = np.full(helper_count(weighted), 2, dtype=np.int64)
    states = _read_states(answer, np.concatenate([variables.size, helpers]))
    return np.asarray(states[variables.of_atom] == variables.state_of_atom, dtype=np.bool_)


def check_world(
    weighted: WeightedNetwork, world: BoolArray, source: str, names: ExportedNames, describe: Describe | None = None
) -> None:
    """Refuse a world from `source` in which a hard row or a block does not hold, with an InputError that names one of them."""
    remedy = "the file is not a solution of the network that was exported: export it again, and solve that"
    ids = names.of(weighted)
    broken = np.flatnonzero(weighted.violated(world) & weighted.hard)
    if len(broken):
        literals = weighted.literals[weighted.indptr[broken[0]] : weighted.indptr[broken[0] + 1]]
        atom = np.abs(literals) - 1
        if describe is None:
            signs = ["" if x > 0 else "!" for x in literals.tolist()]
            clause = " v ".join(f"{sign}atom {i}" for sign, i in zip(signs, ids[atom].tolist(), strict=True))
        else:
            clause = describe(
                int(weighted.clause[broken[0]]), (np.sign(literals) * (weighted.atoms[atom] + 1)).tolist()
            )
        raise InputError(f"{source} violates {counted(len(broken), 'hard ground clause')}, such as {clause}: {remedy}")
    true = np.bincount(weighted.block[world & (weighted.block >= 0)], minlength=len(weighted.block_exact))
    wrong = np.flatnonzero((true > 1) | (weighted.block_exact & (true == 0)))
    if len(wrong):
        members = ids[weighted.block == wrong[0]]
        shown = ", ".join(map(str, members[:6].tolist())) + (", ..." if len(members) > 6 else "")
        kind = "exactly" if weighted.block_exact[wrong[0]] else "at most"
        raise InputError(
            f"{source} has {true[wrong[0]]} true atoms of the block {shown}, of which {kind} one is true: {remedy}"
        )


def read_solution(
    weighted: WeightedNetwork,
    path: str | Path,
    file_format: Format | None = None,
    *,
    names: ExportedNames | None = None,
    exported: str | Path | None = None,
    describe: Describe | None = None,
    bound: bool = False,
) -> MPEResult:
    """Read, check and score the world that an outside solver found; its gap is infinite unless `bound` asks for that of the linear relaxation."""
    if file_format is not None:
        format_of(path, file_format, FORMATS)
    start = time.perf_counter()
    names = names_or_local(names, weighted)
    if exported is not None:
        check_map(weighted, exported, place_in(weighted, format_of(exported, None, FORMATS), names), names)
    world = read_world(weighted, Answer.read(path), file_format, names)
    check_world(weighted, world, str(path), names, describe)
    # What the solver says about its quality is not taken over.
    score, gap, precision = weighted.score(world), np.inf, weighted.rounding
    magnitude = float(np.abs(weighted.linear).sum() + np.abs(weighted.cost[~weighted.hard]).sum())
    read = time.perf_counter()
    seconds = {"read": read - start}
    if bound:
        relaxed = relax(weighted)
        distance = max(relaxed.bound - score, 0.0)
        # The dual solution is a float one: what it leaves of the distance counts as rounding, as in `solve_relaxation`.
        precision += distance if distance <= relaxed.rounding + PROVED * magnitude else relaxed.rounding
        gap = distance + weighted.rounding
        seconds["bound"] = time.perf_counter() - read
    reason = "a world that was given, " + (
        "bounded by the linear relaxation" if bound else "of which nothing is proved"
    )
    report = SolverReport(
        status=status_of(gap <= precision, precision, magnitude),
        objective=score,
        constant=weighted.constant,
        gap=gap,
        precision=precision,
        magnitude=magnitude,
        scale=1.0,
        seconds=seconds,
        choices=(MethodChoice("file", 0, len(world), len(weighted.cost), reason, seconds["read"]),),
    )
    return MPEResult(world, report)


def place_in(weighted: WeightedNetwork, file_format: Format, names: ExportedNames) -> ExportedPlace:
    """What each atom is in a file of a format."""
    if file_format == "wcnf":
        return place_in_wcnf(weighted)
    return place_in_lp(weighted, names) if file_format == "lp" else place_in_uai(weighted)
