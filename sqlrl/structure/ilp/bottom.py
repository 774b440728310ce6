"""The bottom clause of a seed: all literals that its facts allow, from which clauses take some; and what modes can reach by types alone.

Source: Muggleton, "Inverse entailment and Progol" (1995), section 4, and definition 20 (depth of a variable); Srinivasan, "The
Aleph Manual" (2001).

Equal constants of one type of the bias are one variable. Arguments of the head come first, as variables 0 .. h - 1; where two
of them are equal constants of one type, the first one stands for both, and the clause is about such atoms only.

A literal can stand in a body if its inputs are variables that the clause already has: those of the head at depth 0, then
the outputs of literals, each one deeper than the deepest of its inputs. Aleph gives up silently where nothing can be
reached and returns ground unit clauses; here every predicate that stays out is named, with the reason.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sqlrl.errors import BiasWarning, GroundingLimitError, InputError, ModelError, Parameter, warn
from sqlrl.ground.network import BoolArray, IntArray
from sqlrl.ground.saturation import Saturated
from sqlrl.logic.bias import CONSTANT, INPUT, OUTPUT, Bias, BiasMode
from sqlrl.logic.components import BodyLiteral, constant
from sqlrl.logic.lexer import nearest
from sqlrl.wording import counted

_REMEDY = "correct the type or add a mode with an output of it"


@dataclass(frozen=True, eq=False)
class BottomClause:
    """The bottom clause of a seed: j literals over v variables, of which the first h are those of the head."""

    head: tuple[int, ...]  # the term of each argument: a variable, or a constant where the mode has `#`
    literals: tuple[BodyLiteral, ...]  # no two alike, by the depth at which they were found first, then by mode
    variables: BoolArray  # of each literal, shape (j, v)
    option: IntArray  # literals, ascending, each once for each mode that reached it, shape (o,)
    needs: BoolArray  # the inputs of each option's mode, which the head or other literals must have, shape (o, v)
    inputs: BoolArray  # the variables of the head's `+` places, which a clause has from the start, shape (v,)
    wanted: BoolArray  # the variables of the head's `-` places, which a body must bring in, shape (v,)


class BottomClauses:
    """Makes bottom clauses of at most `limit` literals; `predicates` are those of bodies, ascending."""

    def __init__(self, bias: Bias, predicates: Sequence[str], limit: int) -> None:
        self._bias, self._limit = bias, limit
        index = {name: i for i, name in enumerate(predicates)}
        self._predicate = [index[mode.predicate] for mode in bias.body]

    def of(self, facts: Saturated, place: int, arguments: IntArray) -> BottomClause:
        """Return the bottom clause of the seed `place` of `facts` with these constants, shape (h,); over the limit it is a GroundingLimitError."""
        first, last = np.searchsorted(facts.seed, [place, place + 1])
        modes, rows = facts.mode[first:last].tolist(), facts.arguments[first:last].tolist()
        names = _Names(self._bias.head.arity)
        head = tuple(
            constant(value) if place.kind == CONSTANT else names.known.setdefault((place.type, value), i)
            for i, (place, value) in enumerate(zip(self._bias.head.places, arguments.tolist(), strict=True))
        )
        literals: dict[BodyLiteral, int] = {}
        options: set[tuple[int, frozenset[int]]] = set()
        for mode, row in zip(modes, rows, strict=True):
            literal, needs = self._literal(mode, row, names)
            options.add((literals.setdefault(literal, len(literals)), needs))
        if len(literals) > self._limit:
            raise GroundingLimitError(self._exploded(modes, len(literals)))
        return self._assembled(head, tuple(literals), sorted(options, key=lambda x: (x[0], sorted(x[1]))), names.size)

    def _literal(self, mode: int, row: Sequence[int], names: _Names) -> tuple[BodyLiteral, frozenset[int]]:
        """Return a fact as a literal, with the variables that its mode takes as inputs."""
        terms, needs = [], set()
        # Facts come by depth, so that inputs have names by now.
        for place, value in zip(self._bias.body[mode].places, row, strict=False):
            if place.kind == CONSTANT:
                terms.append(constant(value))
                continue
            terms.append(names.known[place.type, value] if place.kind == INPUT else names.of(place.type, value))
            if place.kind == INPUT:
                needs.add(terms[-1])
        return BodyLiteral(self._predicate[mode], tuple(terms)), frozenset(needs)

    def _assembled(
        self,
        head: tuple[int, ...],
        literals: tuple[BodyLiteral, ...],
        options: Sequence[tuple[int, frozenset[int]]],
        size: int,
    ) -> BottomClause:
        """Return a bottom clause with its variables as arrays."""
        ends = {kind: np.zeros(size, dtype=np.bool_) for kind in (INPUT, OUTPUT)}
        for place, term in zip(self._bias.head.places, head, strict=True):
            if place.kind != CONSTANT:
                ends[place.kind][term] = True
        variables, needs = (np.zeros((len(x), size), dtype=np.bool_) for x in (literals, options))
        for i, literal in enumerate(literals):
            variables[i, [term for term in literal.terms if term >= 0]] = True
        for i, (_, needed) in enumerate(options):
            needs[i, list(needed)] = True
        wanted = ends[OUTPUT] & ~ends[INPUT]
        option = np.array([number for number, _ in options], dtype=np.int64)
        return BottomClause(head, literals, variables, option, needs, ends[INPUT], wanted)

    def _exploded(self, modes: Sequence[int], size: int) -> str:
        mode, most = Counter(modes).most_common(1)[0]
        return (
            f"a bottom clause has {counted(size, 'literal')}, more than the limit of {self._limit:,}: "
            f"{counted(most, 'fact')} of them from the mode {self._bias.body[mode]}; give it a smaller recall, or a '#' or '+' "
            f"in place of a '-', lower depth, or raise {Parameter('bottom_limit')}"
        )


class _Names:
    """The variables of constants of types."""

    def __init__(self, heads: int) -> None:
        self.known: dict[tuple[str, int], int] = {}
        self.size = heads

    def of(self, kind: str, value: int) -> int:
        """Return the variable of a constant, a new one if it has none."""
        if (kind, value) not in self.known:
            self.known[kind, value] = self.size
            self.size += 1
        return self.known[kind, value]


# ---- what modes can reach ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Unreached:
    """A body predicate of which no literal can stand in a clause."""

    predicate: str
    reason: str  # why, and how to mend it
    depth: int | None  # the least variable depth that would reach it; None if none does

    def __str__(self) -> str:
        return f"{self.predicate}: {self.reason}"


def mode_depths(bias: Bias) -> tuple[int | None, ...]:
    """Return the least depth, from 1, of new variables in each body mode's literals, None if never reached; Aleph's `i` bounds it."""
    return _depths(bias.body, _type_depths(bias))


def unreached(bias: Bias, depth: int) -> tuple[Unreached, ...]:
    """Return the body predicates that no clause can have at a depth of variables (Aleph's `i`), with reasons, in the order of the bias."""
    if depth < 1:
        raise InputError(f"the depth of variables is {depth}: expected 1 or more")
    types = _type_depths(bias)
    depths = _depths(bias.body, types)
    found: list[Unreached] = []
    for predicate in dict.fromkeys(mode.predicate for mode in bias.body):
        own = [(mode, at) for mode, at in zip(bias.body, depths, strict=True) if mode.predicate == predicate]
        known = [(at, mode) for mode, at in own if at is not None]
        if not known:
            found.append(Unreached(predicate, _never(own[0][0], bias, types), None))
        elif (least := min(at for at, _ in known)) > depth:
            mode = next(mode for at, mode in known if at == least)
            last = max((mode.places[i].type for i in mode.positions(INPUT)), key=lambda name: types[name])
            reason = (
                f"its input of the type {last!r} is first there at depth {least - 1}, so its literals come at depth {least}: "
                f"raise the depth to {least}"
            )
            found.append(Unreached(predicate, reason, least))
    return tuple(found)


def check_reach(bias: Bias, depth: int) -> tuple[Unreached, ...]:
    """Return the predicates that a bias does not reach at a depth (Aleph's `i`), with a BiasWarning; reaching none is a ModelError."""
    found = unreached(bias, depth)
    if not found:
        return found
    listed = "".join(f"\n  {one}" for one in found)
    if len(found) == len({mode.predicate for mode in bias.body}):
        head = str(bias.head).split(", ", maxsplit=1)[1]
        problem = f"the modes reach nothing from the head {head}, so no clause could have a body:"
        raise ModelError(f"{bias.path}: {problem}{listed}\n{_start(bias)}")
    who = counted(len(found), "predicate")
    warn(f"{bias.path}: the modes do not reach {who} at depth {depth}, no clause will have them:{listed}", BiasWarning)
    return found


def _start(bias: Bias) -> str:
    """Say where bodies could begin."""
    types = ", ".join(dict.fromkeys(bias.head.places[i].type for i in bias.head.positions(INPUT)))
    if not types:
        return "The head has no input: put '+' in place of '-' at an argument of it, or add a mode without inputs"
    return f"Bodies begin with constants of the head: give an argument that has them its type ({types}), in modes and by {Parameter('types')} when loading"


def _type_depths(bias: Bias) -> dict[str, int]:
    """Return the least depth of a variable of each type that can be reached."""
    depths = dict.fromkeys((bias.head.places[i].type for i in bias.head.positions(INPUT)), 0)
    changed = True
    while changed:
        changed = False
        for mode, at in zip(bias.body, _depths(bias.body, depths), strict=True):
            if at is None:
                continue
            for name in (mode.places[i].type for i in mode.positions(OUTPUT)):
                if at < depths.get(name, at + 1):
                    depths[name], changed = at, True
    return depths


def _depths(modes: Sequence[BiasMode], types: dict[str, int]) -> tuple[int | None, ...]:
    """Return the depth of each mode's new variables, given those of the types."""
    found: list[int | None] = []
    for mode in modes:
        inputs = {mode.places[i].type for i in mode.positions(INPUT)}
        found.append(1 + max((types[name] for name in inputs), default=0) if inputs <= types.keys() else None)
    return tuple(found)


def _never(mode: BiasMode, bias: Bias, types: dict[str, int]) -> str:
    """Say why a mode is never reached."""
    missing = next(mode.places[i].type for i in mode.positions(INPUT) if mode.places[i].type not in types)
    givers = dict.fromkeys(
        other.predicate
        for other in bias.body
        if any(other.places[i].type == missing for i in other.positions(OUTPUT)) and other != mode
    )
    if givers:
        only = ", ".join(givers)
        themselves = "which is not reached itself" if len(givers) == 1 else "which are not reached themselves"
        return f"its input of the type {missing!r} comes only from {only}, {themselves}: {_REMEDY} that is reached"
    hint = nearest(missing, types) or f": {_REMEDY}"
    return f"its input has the type {missing!r}, which neither the head nor an output has{hint}"
