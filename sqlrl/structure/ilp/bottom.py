"""The bottom clause of a seed: all literals that its facts allow, from which clauses take some.

Source: Muggleton, "Inverse entailment and Progol" (1995), section 4; Srinivasan, "The Aleph Manual" (2001).

Equal constants of one type of the bias are one variable. Arguments of the head come first, as variables 0 .. h - 1; where two
of them are equal constants of one type, the first one stands for both, and the clause is about such atoms only.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sqlrl.errors import GroundingLimitError
from sqlrl.ground.evaluated import Saturated
from sqlrl.ground.network import BoolArray, IntArray
from sqlrl.logic.bias import CONSTANT, INPUT, OUTPUT, Bias
from sqlrl.logic.components import BodyLiteral, constant
from sqlrl.wording import counted


@dataclass(frozen=True, eq=False)
class BottomClause:
    """The bottom clause of a seed.

    Parameters
    ----------
    head : tuple of int
        The term of each argument of the head: a variable, or a constant where the mode has `#`.
    literals : tuple of BodyLiteral
        j of them, no two alike, by the depth at which they were found first, then in the order of the modes.
    variables : bool array, shape (j, v)
        The variables of each literal; the head's are the first h.
    option : int64 array, shape (o,)
        Literals, ascending, each once for each mode that reached it.
    needs : bool array, shape (o, v)
        The variables that an option's mode takes as inputs: they must stand in the head or in other literals.
    inputs : bool array, shape (v,)
        The variables that a clause has from the start: those of the head's `+` places.
    wanted : bool array, shape (v,)
        The variables that a body must bring in: those of the head's `-` places.
    """

    head: tuple[int, ...]
    literals: tuple[BodyLiteral, ...]
    variables: BoolArray
    option: IntArray
    needs: BoolArray
    inputs: BoolArray
    wanted: BoolArray


class BottomClauses:
    """Makes bottom clauses.

    Parameters
    ----------
    bias : Bias
    predicates : sequence of str
        The body predicates, ascending.
    limit : int
        The most literals of a bottom clause.

    Examples
    --------
    >>> from sqlrl.logic.bias_parser import parse_bias
    >>> bias = parse_bias(":- modeh(1, p(+a,+a)). :- modeb(*, q(+a,-b)). :- modeb(*, r(+b,#c)).")
    >>> facts = Saturated(*(np.array(x) for x in ([0, 0], [0, 1], [1, 2], [[5, 3], [3, 8]])))
    >>> bottom = BottomClauses(bias, ("q", "r"), 10).of(facts, 0, np.array([4, 5]))
    >>> bottom.head, [(x.predicate, x.terms) for x in bottom.literals]
    ((0, 1), [(0, (1, 2)), (1, (2, -9))])
    """

    def __init__(self, bias: Bias, predicates: Sequence[str], limit: int) -> None:
        self._bias, self._limit = bias, limit
        index = {name: i for i, name in enumerate(predicates)}
        self._predicate = [index[mode.predicate] for mode in bias.body]

    def of(self, facts: Saturated, place: int, arguments: IntArray) -> BottomClause:
        """Return the bottom clause of a seed.

        Parameters
        ----------
        facts : Saturated
        place : int
            The seed's place among those that were saturated.
        arguments : int64 array, shape (h,)
            Its constants.

        Raises
        ------
        GroundingLimitError
            It has more literals than the limit; names the mode that has most of them.
        """
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
            "in place of a '-', lower depth, or raise bottom_limit="
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
