"""What the modes of a bias can reach from the head, by their types alone.

A literal can stand in a body if its inputs are variables that the clause already has: those of the head at depth 0, then
the outputs of literals, each one deeper than the deepest of its inputs. Aleph gives up silently where nothing can be
reached and returns ground unit clauses; here every predicate that stays out is named, with the reason.

Source: Muggleton, "Inverse Entailment and Progol" (1995), definition 20 (depth of a variable).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlrl.errors import BiasWarning, InputError, ModelError, warn
from sqlrl.logic.bias import INPUT, OUTPUT, Bias, Mode
from sqlrl.logic.lexer import nearest
from sqlrl.wording import counted

_REMEDY = "correct the type or add a mode with an output of it"


@dataclass(frozen=True, slots=True)
class Unreached:
    """A body predicate of which no literal can stand in a clause.

    Parameters
    ----------
    predicate : str
    reason : str
        Why, and how to mend it.
    depth : int or None
        The least variable depth that would reach it, None if none does.

    Examples
    --------
    >>> str(Unreached("q", "no mode of it ...", None))
    'q: no mode of it ...'
    """

    predicate: str
    reason: str
    depth: int | None

    def __str__(self) -> str:
        return f"{self.predicate}: {self.reason}"


def mode_depths(bias: Bias) -> tuple[int | None, ...]:
    """Return the least depth of the new variables of each body mode's literals, from 1; None where it is never reached.

    With Aleph's setting `i` the bottom clause has the literals of the modes whose depth is at most `i`.

    Parameters
    ----------
    bias : Bias

    Examples
    --------
    >>> from sqlrl.logic.bias_parser import parse_bias
    >>> modes = "modeh(1, p(+a)). modeb(*, gt(+b,-b)). modeb(*, size(+a,-b)). modeb(*, flex(+c,-e))."
    >>> mode_depths(parse_bias(modes))
    (2, 1, None)
    """
    return _depths(bias.body, _type_depths(bias))


def unreached(bias: Bias, depth: int) -> tuple[Unreached, ...]:
    """Return the body predicates that no clause can have at a variable depth, in the order of the bias, with the reasons.

    Parameters
    ----------
    bias : Bias
    depth : int
        The greatest depth of a variable, from 1 (Aleph's `i`).

    Raises
    ------
    InputError
        A depth below 1.

    Examples
    --------
    >>> from sqlrl.logic.bias_parser import parse_bias
    >>> modes = "modeh(1, p(+a)). modeb(*, gt(+b,-b)). modeb(*, size(+a,-b)). modeb(*, flex(+c,-e))."
    >>> for found in unreached(parse_bias(modes), 1):
    ...     print(found)
    gt: its input of the type 'b' is first there at depth 1, so its literals come at depth 2: raise the depth to 2
    flex: its input has the type 'c', which neither the head nor an output has: correct the type or add a mode with an output of it
    """
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
    """Refuse a bias that reaches nothing from the head; warn of the predicates that it does not reach, and return them.

    Parameters
    ----------
    bias : Bias
    depth : int
        The greatest depth of a variable, from 1 (Aleph's `i`).

    Raises
    ------
    ModelError
        No body predicate can be reached.
    InputError
        A depth below 1.

    Warns
    -----
    BiasWarning
        Some cannot.

    Examples
    --------
    >>> from sqlrl.logic.bias_parser import parse_bias
    >>> check_reach(parse_bias("modeh(1, p(+a)). modeb(*, q(+b,-c))."), 2)
    Traceback (most recent call last):
        ...
    sqlrl.errors.ModelError: <text>: the modes reach nothing from the head p(+a), so no clause could have a body:
      q: its input has the type 'b', which neither the head nor an output has: correct the type or add a mode with an output of it
    Bodies begin with constants of the head: give an argument that has them its type (a), in modes and by types= when loading
    """
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
    return f"Bodies begin with constants of the head: give an argument that has them its type ({types}), in modes and by types= when loading"


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


def _depths(modes: Sequence[Mode], types: dict[str, int]) -> tuple[int | None, ...]:
    """Return the depth of each mode's new variables, given those of the types."""
    found: list[int | None] = []
    for mode in modes:
        inputs = {mode.places[i].type for i in mode.positions(INPUT)}
        found.append(1 + max((types[name] for name in inputs), default=0) if inputs <= types.keys() else None)
    return tuple(found)


def _never(mode: Mode, bias: Bias, types: dict[str, int]) -> str:
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
