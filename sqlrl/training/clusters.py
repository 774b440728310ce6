"""Whether labels are alike within constants that the target's atoms belong to, as those of all orders of a customer may be.

An atom belongs to its own constants, if it has several, and to those that facts link it to without another choice: the customer in `Placed(customer, order)`, if each order is in
one fact only; and so on from there. Only types from which bodies go on count, those of an input of some mode: through such a constant a clause speaks of all atoms that belong to
it at once. Of a plain value, such as a colour, it does not.

Labels are more alike within constants than between them if the numbers of positive atoms vary more than binomial ones would. With n atoms, k of them positive, for each constant, and
p the share of all N atoms, S = sum (k - n p)^2 / (p (1 - p)) is about N if labels are independent, with the variance 2 sum n (n - 1).

Source: Tarone, "Testing the goodness of fit of the binomial distribution" (1979), the test against correlated labels.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from sqlglot import exp

from sqlrl.catalog.layout import Layout, PredicateInfo, TableName
from sqlrl.engine.base import QueryEngine
from sqlrl.engine.nodes import column, integer, named, star_count, subquery, table, union_all
from sqlrl.ground.network import IntArray
from sqlrl.logic.bias import CONSTANT, INPUT, Bias

_ALIKE = 2.3
"""Standard deviations from which on labels count as alike. Chance reaches them once in a hundred cases, which costs some power and nothing else."""


@dataclass(frozen=True, eq=False)
class Cluster:
    """Constants of a type to which atoms of the target belong."""

    type: str
    link: str  # the atom in which they are, as text
    own: bool  # whether they are arguments of the atoms themselves
    nameable: bool  # whether bodies may name them
    members: exp.Select  # a row for each atom that belongs to one: `atom`, `example`, `truth`, `id`


def alike_within(
    engine: QueryEngine, layout: Layout, bias: Bias, examples: TableName | None, depth: int
) -> list[Cluster]:
    """Return the constants within which labels of the bias' target are alike, the most so first; at most `depth` facts lead to them."""
    target = layout.predicates[bias.head.predicate]
    inputs = {layout.predicates[mode.predicate].types[i] for mode in bias.body for i in mode.positions(INPUT)}
    nameable = {(mode.predicate, i) for mode in bias.body for i in mode.positions(CONSTANT)}
    functions = _functions(engine, [layout.predicates[name] for name in bias.predicates()])
    layer = [
        Cluster(
            kind, f"{target.name}({', '.join(target.types)}), argument {i + 1}", True, False, _own(target, i, examples)
        )
        for i, kind in enumerate(target.types)
        if i in bias.head.positions(INPUT)
    ]
    # With one constant each atom is all that belongs to it.
    found = layer if len(target.types) > 1 else []
    met: set[tuple[str, int, int]] = set()
    for _ in range(depth):
        further = []
        for cluster in layer:
            for info, key in functions:
                if info.types[key] != cluster.type:
                    continue
                for place, kind in enumerate(info.types):
                    if place != key and kind in inputs and (info.name, key, place) not in met:
                        met.add((info.name, key, place))
                        link = f"{info.name}({', '.join(info.types)})"
                        named_there = (info.name, place) in nameable
                        further.append(
                            Cluster(kind, link, False, named_there, _linked(cluster.members, info, key, place))
                        )
        found, layer = found + further, further
    spreads = _spreads(engine, [cluster.members for cluster in found])
    order = sorted(range(len(found)), key=lambda i: -spreads[i])
    return [found[i] for i in order if spreads[i] > _ALIKE]


def members(engine: QueryEngine, cluster: Cluster) -> tuple[IntArray, IntArray]:
    """Return the atoms that belong to some constant, ascending, and the ids of these, shape (r,)."""
    query = exp.select(column("atom", "m"), column("id", "m")).from_(subquery(cluster.members.copy(), "m"))
    data = engine.fetch(query.order_by(column("atom", "m")), step="read clusters of atoms")
    atom, constant = (np.asarray(data.column(name).to_numpy(), dtype=np.int64) for name in ("atom", "id"))
    return atom, constant


def _functions(engine: QueryEngine, predicates: list[PredicateInfo]) -> list[tuple[PredicateInfo, int]]:
    """Return arguments that are in one fact of a predicate only, so that they determine its other arguments."""
    wide = [(info, i) for info in predicates for i in range(len(info.types)) if len(info.types) > 1 and info.rows]
    if not wide:
        return []
    queries = []
    for number, (info, i) in enumerate(wide):
        names = ["example"] * info.example_column + [f"a{i}"]
        values = exp.Count(this=exp.Distinct(expressions=[column(name) for name in names]))
        outputs = [named(integer(number), "number"), named(star_count(), "facts"), named(values, "values")]
        queries.append(exp.select(*outputs).from_(table(info.facts)))
    data = engine.fetch(union_all(queries), step="count the facts of each constant").to_pylist()
    return [
        wide[row["number"]] for row in sorted(data, key=lambda x: int(x["number"])) if row["facts"] == row["values"]
    ]


def _own(target: PredicateInfo, place: int, examples: TableName | None) -> exp.Select:
    """Return the query of atoms with their own constants at an argument."""
    assert target.atoms is not None, "the target is open"
    names = [column(name, "a") for name in ("atom", "example", "truth")]
    query = exp.select(*names, named(column(f"a{place}", "a"), "id")).from_(table(target.atoms, "a"))
    if examples is None:
        return query
    on = exp.EQ(this=column("example", "x"), expression=column("example", "a"))
    return query.join(table(examples, "x"), on=on)


def _linked(before: exp.Select, info: PredicateInfo, key: int, place: int) -> exp.Select:
    """Return the query of atoms with the constants at an argument of the facts to whose keys they belong."""
    names = [column(name, "m") for name in ("atom", "example", "truth")]
    query = exp.select(*names, named(column(f"a{place}", "f"), "id")).from_(subquery(before.copy(), "m"))
    on = [exp.EQ(this=column(f"a{key}", "f"), expression=column("id", "m"))]
    if info.example_column:
        on.append(exp.EQ(this=column("example", "f"), expression=column("example", "m")))
    return query.join(table(info.facts, "f"), on=exp.and_(*on))


def _spreads(engine: QueryEngine, queries: list[exp.Select]) -> list[float]:
    """Return by how many standard deviations labels are more alike within the constants of each query than chance makes them."""
    if not queries:
        return []
    positive = exp.Case(ifs=[exp.If(this=column("truth", "m"), true=integer(1))], default=integer(0))
    counts = []
    for number, query in enumerate(queries):
        sizes = exp.select(named(star_count(), "n"), named(exp.Sum(this=positive.copy()), "k"))
        sizes = sizes.from_(subquery(query.copy(), "m")).group_by(column("id", "m"))
        n, k = column("n", "c"), column("k", "c")
        products = {"n": n, "k": k, "nn": exp.Mul(this=n, expression=n), "nk": exp.Mul(this=n, expression=k), "kk": exp.Mul(this=k, expression=k)}  # fmt: skip
        sums = [named(exp.Sum(this=each.copy()), name) for name, each in products.items()]
        counts.append(exp.select(named(integer(number), "number"), *sums).from_(subquery(sizes, "c")))
    rows = engine.fetch(union_all(counts), step="compare labels within constants and between them").to_pylist()
    return [_spread(**{name: int(row[name] or 0) for name in ("n", "k", "nn", "nk", "kk")}) for row in sorted(rows, key=lambda x: int(x["number"]))]  # fmt: skip


def _spread(n: int, k: int, nn: int, nk: int, kk: int) -> float:
    """Return the statistic of this module, given sums of n, k and their products over all constants."""
    if not 0 < k < n or nn == n:
        return 0.0
    p = k / n
    return ((kk - 2 * p * nk + p * p * nn) / (p * (1 - p)) - n) / math.sqrt(2 * (nn - n))
