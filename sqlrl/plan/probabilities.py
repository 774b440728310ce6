"""From scores to log-odds and probabilities: the logistic function, and over blocks the softmax, in SQL that loses no digits.

A probability is 1 / (1 + exp(-x)) of a log-odds x of 0 or more and exp(x) / (1 + exp(x)) of a negative one, so that no
exponential overflows. The log-odds of a state of a block are its score less the logarithm of the sum of exp(score) of the other
states: the sum of the states below the first one is taken relative to the first for the log-odds of all but the first, and relative to the
second for those of the first, so that nothing is subtracted from what it nearly equals.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

from sqlglot import exp

from sqlrl.catalog.layout import PredicateInfo
from sqlrl.engine.nodes import cast, column, cte, integer, named, subquery, union_all
from sqlrl.plan.number_names import number
from sqlrl.plan.plain_tables import NamedStep, StepNames, given_true
from sqlrl.plan.scoring import AMOUNT, MUST, MUST_NOT, atom_columns
from sqlrl.plan.sources import argument_columns

STEEP = 700.0
"""Beyond these log-odds exp(-x) is below 1e-304: PostgreSQL refuses it where it comes to 0."""

INFINITY = exp.cast(exp.Literal.string("Infinity"), exp.DataType.build("DOUBLE"))
"""As it is planned; `engine.dialects` knows who writes it otherwise."""


@dataclass(frozen=True)
class Block:
    """Atoms that agree outside some arguments; at most one of them is true, or exactly one (`exact`)."""

    shared: tuple[str, ...]  # The columns in which they agree.
    exact: bool
    given: bool  # Whether an atom of the predicate may be given.


def block_of(info: PredicateInfo, positions: Sequence[int], *, exact: bool, given: bool) -> Block:
    """Return the block of a predicate whose atoms differ at some positions alone."""
    apart = {f"a{i}" for i in positions}
    return Block(tuple(name for name in argument_columns(info) if name not in apart), exact, given)


def log_odds_steps(info: PredicateInfo, scores: str, block: Block | None, names: StepNames) -> list[NamedStep]:
    """Return steps, the last with each atom's `log_odds`: infinite if it is certain, NULL where hard clauses contradict each other."""
    keys = atom_columns(info)
    if block is not None:
        return _block_steps(info, scores, block, keys, names)
    both = _and(_is_one(MUST), _is_one(MUST_NOT))
    value = exp.Case().when(both, exp.null()).when(_is_one(MUST), INFINITY.copy())
    value = value.when(_is_one(MUST_NOT), exp.Neg(this=INFINITY.copy())).else_(column("score"))
    query = exp.select(*map(column, keys), named(value, AMOUNT)).from_(cte(scores))
    return [NamedStep(names.free("certain"), query, "log-odds; NULL where hard rules contradict each other")]


def probability(log_odds: exp.Expression) -> exp.Expression:
    """Return the probability for log-odds, NULL for NULL."""
    one, small = number(1.0), exp.Exp(this=log_odds.copy())
    falling = exp.Exp(this=exp.Neg(this=log_odds.copy()))
    case = exp.Case().when(exp.GT(this=log_odds.copy(), expression=number(STEEP)), one.copy())
    case = case.when(exp.LT(this=log_odds.copy(), expression=number(-STEEP)), number(0.0))
    case = case.when(exp.GTE(this=log_odds.copy(), expression=integer(0)), _ratio(one, _sum(one, falling)))
    return case.else_(_ratio(small, _sum(one, small)))


# ---- blocks ------------------------------------------------------------------------------------------


def _block_steps(
    info: PredicateInfo, scores: str, block: Block, keys: tuple[str, ...], names: StepNames
) -> list[NamedStep]:
    """Return the steps for the atoms of blocks: their states, how these compare, and log-odds."""
    states = NamedStep(names.free("states"), _states(info, scores, block, keys), _says(block))
    ranked = NamedStep(
        names.free("ranked"), _ranked(states.name, block, keys), "the states of each block, likeliest first"
    )
    compared = NamedStep(
        names.free("compared"),
        _compared(ranked.name, block, keys),
        "the first and second score of each block, and how many must be true",
    )
    summed = NamedStep(
        names.free("summed"),
        _summed(compared.name, block, keys),
        "sums of exp(score) below the first, relative to the first and to the second",
    )
    certain = NamedStep(
        names.free("certain"),
        _decided(summed.name, block, keys),
        "log-odds; NULL where hard rules contradict each other",
    )
    return [states, ranked, compared, summed, certain]


def _says(block: Block) -> str:
    return (
        "states of blocks: one is true"
        if block.exact
        else "states of blocks: one is true, or none, which has the score 0"
    )


def _states(info: PredicateInfo, scores: str, block: Block, keys: tuple[str, ...]) -> exp.Query:
    """Select the states of blocks: their atoms, with `state` 1; where none may be true that one, and what is given true, which must be."""
    columns = ["score", MUST, MUST_NOT]
    parts: list[exp.Query] = [
        exp.select(*map(column, keys), named(integer(1), "state"), *map(column, columns)).from_(cte(scores))
    ]
    if not block.exact:
        parts.append(_other_state(block, keys, must=False).distinct().from_(cte(scores)))
    if block.given:
        parts.append(_other_state(block, keys, must=True).from_(subquery(given_true(info), "g")))
    return union_all(parts)


def _other_state(block: Block, keys: tuple[str, ...], *, must: bool) -> exp.Select:
    """Select a state that is no atom, of the score 0."""
    outputs = [column(key) if key in block.shared else named(_none(key), key) for key in keys]
    numbers = {"state": integer(0), "score": number(0.0), MUST: integer(int(must)), MUST_NOT: integer(0)}
    return exp.select(*outputs, *(named(value, name) for name, value in numbers.items()))


def _none(key: str) -> exp.Expression:
    return integer(1) if key == "one" else cast(exp.null(), "TEXT")


def _over(value: exp.Expression, block: Block, order: Sequence[exp.Expression] = ()) -> exp.Window:
    """Return a window function over the states of a block."""
    found = exp.Window(this=value, partition_by=[column(name) for name in block.shared])
    if order:
        found.set("order", exp.Order(expressions=list(order)))
    return found


def _ranked(states: str, block: Block, keys: tuple[str, ...]) -> exp.Select:
    """Select the states with their `place` in the block, from 1; those that must be false come last."""
    order = [
        exp.Ordered(this=column(MUST_NOT), nulls_first=False),
        exp.Ordered(this=column("score"), desc=True, nulls_first=False),
        # Whichever of equal states is first: any order does, and this one is the same each time.
        *(
            exp.Ordered(this=exp.Coalesce(this=column(key), expressions=[exp.Literal.string("")]), nulls_first=False)
            for key in keys
            if key != "one"
        ),
    ]
    place = _over(exp.RowNumber(), block, order)
    names = [*keys, "state", "score", MUST, MUST_NOT]
    return exp.select(*map(column, names), named(place, "place")).from_(cte(states))


def _possible(later: bool = False) -> exp.Expression:
    possible = exp.EQ(this=column(MUST_NOT), expression=integer(0))
    return _and(possible, exp.GT(this=column("place"), expression=integer(1))) if later else possible


def _compared(ranked: str, block: Block, keys: tuple[str, ...]) -> exp.Select:
    """Add the first and the second score of those that may be true, how many must, and whether one both must and must not."""
    first = exp.Max(this=exp.Case().when(_possible(), column("score")))
    second = exp.Max(this=exp.Case().when(_possible(later=True), column("score")))
    contradiction = exp.Max(this=exp.Mul(this=column(MUST), expression=column(MUST_NOT)))
    return exp.select(
        *map(column, [*keys, "state", "score", MUST, MUST_NOT, "place"]),
        named(_over(first, block), "first"),
        named(_over(second, block), "second"),
        named(_over(exp.Sum(this=column(MUST)), block), "musts"),
        named(_over(contradiction, block), "contradiction"),
    ).from_(cte(ranked))


def _summed(compared: str, block: Block, keys: tuple[str, ...]) -> exp.Select:
    """Add the sums of exp(score) of the states after the first one, relative to the first and to the second score."""

    def total(relative: str) -> exp.Expression:
        """Return the sum relative to a score."""
        term = exp.Case().when(_possible(later=True), _safe_exp(column("score"), column(relative))).else_(number(0.0))
        return _over(exp.Sum(this=term), block)

    names = [*keys, "state", "score", MUST, MUST_NOT, "place", "first", "second", "musts", "contradiction"]
    return exp.select(
        *map(column, names), named(total("first"), "below_first"), named(total("second"), "below_second")
    ).from_(cte(compared))


def _decided(summed: str, block: Block, keys: tuple[str, ...]) -> exp.Select:
    """Select the log-odds of each atom; the states of none are left out."""
    nothing = exp.Is(this=column("first"), expression=exp.null())
    impossible = exp.or_(
        exp.EQ(this=column("contradiction"), expression=integer(1)),
        exp.GT(this=column("musts"), expression=integer(1)),
        *([nothing] if block.exact else []),
    )
    ahead = exp.Sub(
        this=exp.Sub(this=column("score"), expression=column("second")), expression=exp.Ln(this=column("below_second"))
    )
    others = exp.Sub(this=column("below_first"), expression=_safe_exp(column("score"), column("first")))
    behind = exp.Sub(
        this=exp.Sub(this=column("score"), expression=column("first")),
        expression=exp.Ln(this=_sum(number(1.0), exp.Paren(this=others), bare=True)),
    )
    forced = exp.Case().when(_is_one(MUST), INFINITY.copy()).else_(exp.Neg(this=INFINITY.copy()))
    alone = exp.Is(this=column("second"), expression=exp.null())
    value = exp.Case().when(impossible, exp.null()).when(exp.EQ(this=column("musts"), expression=integer(1)), forced)
    value = value.when(_is_one(MUST_NOT), exp.Neg(this=INFINITY.copy()))
    value = value.when(_and(exp.EQ(this=column("place"), expression=integer(1)), alone), INFINITY.copy())
    value = value.when(exp.EQ(this=column("place"), expression=integer(1)), ahead).else_(behind)
    query = exp.select(*map(column, keys), named(value, AMOUNT)).from_(cte(summed))
    return query.where(_is_one("state")) if block.given or not block.exact else query


# ---- expressions -------------------------------------------------------------------------------------


def _safe_exp(score: exp.Expression, top: exp.Expression) -> exp.Expression:
    """Return exp(score - top) of a score that is not above, 0 where it would be too small for a double."""
    below = exp.Sub(this=score, expression=top)
    steep = exp.LT(this=exp.Paren(this=below.copy()), expression=number(-STEEP))
    return exp.Case().when(steep, number(0.0)).else_(exp.Exp(this=below))


def _is_one(name: str) -> exp.Expression:
    return exp.EQ(this=column(name), expression=integer(1))


def _and(*conditions: exp.Expression) -> exp.Expression:
    return reduce(lambda a, b: exp.And(this=a, expression=b), conditions)


def _sum(left: exp.Expression, right: exp.Expression, *, bare: bool = False) -> exp.Expression:
    total = exp.Add(this=left.copy(), expression=right.copy())
    return total if bare else exp.Paren(this=total)


def _ratio(left: exp.Expression, right: exp.Expression) -> exp.Expression:
    return exp.Div(this=left.copy(), expression=right.copy(), typed=True)
