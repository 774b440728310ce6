"""Examples, or entities, whose facts are those of others across the sides of folds: equal sets of facts, and similar ones.

The facts of a *unit* are those of its example, or those in which an entity stands, without its own name. Sets of common facts are equal, or
similar, by chance: a fact that u of n units have weighs ln(n / u), and units are compared whose facts weigh so much that by chance, were facts independent,
less than one other one is expected to have all of them (ln n), for similar ones also in n tries and then e^-3 (2 ln n + 3). Similar ones are found by prefix
filtering (Chaudhuri, Ganti and Kaushik 2006; Bayardo, Ma and Srikant 2007): if the Jaccard similarity of two sets of sizes m and n is t or
more, then they share one of the m - ceil(t m) + 1 and n - ceil(t n) + 1 facts that come first in an order of all facts. With the rarest facts
first, few pairs do. Of these pairs are compared that share so many first facts that with all later ones of a set they could be similar (Xiao, Wang, Lin and
Yu 2008); none that is similar enough is missed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from sqlrl.engine.nodes import cast, column, conjunction, integer, join, named, star_count, subquery, union_all
from sqlrl.plan.leaks import AuditedTarget, FactView, parts_of_entities, parts_of_examples, relation

LEAST = 3
"""Facts that a unit must have to be compared."""

_FINE = 100
"""Weights of facts are whole hundredths, whose sums are exact."""


@dataclass(frozen=True, slots=True)
class Units:
    """What is compared: examples (`places` is empty), or the entities at arguments of the target."""

    target: AuditedTarget
    facts: tuple[FactView, ...]
    places: tuple[int, ...] = ()  # The arguments of the target, all of one type.
    least: int = LEAST  # Units with fewer facts are not compared: they are equal by chance.

    @property
    def sources(self) -> list[tuple[FactView, str, int | None]]:
        """The views of facts that units have, the column that holds the unit, and its argument."""
        if not self.places:
            return [(f, f.example_column, f.example_place) for f in self.facts if f.example_column is not None]
        kind = self.target.types[self.places[0]]
        return [(f, f.columns[j], j) for f in self.facts for j, type_ in enumerate(f.types) if type_ == kind]

    def parts(self) -> exp.Select:
        """Return the parts of units: `unit`, `part`."""
        return parts_of_entities(self.target, self.places) if self.places else parts_of_examples(self.target)


def unit_facts(units: Units, *, places: bool) -> exp.Select:
    """Return the facts of units: `unit`, `fact` (a list: the predicate, the argument that is the unit, and the others), each once."""
    # Constants that only one example has are left out, and without `places` also those that are places in examples, so that units are equal,
    # or similar, whatever such constants are called; then the list ends in how many facts it stands for.
    hidden = frozenset() if units.places else units.target.private | (frozenset() if places else units.target.common)
    each = []
    for facts, key, place in units.sources:
        parts: list[exp.Expr] = [
            exp.convert(facts.predicate),
            # 0: a column beside the arguments is the unit.
            exp.convert(str(0 if place is None else place + 1)),
        ]
        shown: list[exp.Expr] = [
            column(name, "p") for j, name in enumerate(facts.columns) if j != place and facts.types[j] not in hidden
        ]
        if units.places and facts.example is not None:
            shown.append(column(facts.example, "p"))
        rows = facts.rows(units.target.schema, "p")
        if any(facts.types[j] in hidden for j in range(len(facts.types)) if j != place):
            rows = rows.group_by(column(key, "p"), *(node.copy() for node in shown))
            shown.append(cast(star_count(), "TEXT"))
        each.append(
            rows.select(named(column(key, "p"), "unit"), named(exp.Array(expressions=[*parts, *shown]), "fact"))
        )
    query = exp.select(column("unit", "f"), column("fact", "f")).from_(subquery(union_all(each), "f"))
    return query.distinct()


def unit_count(units: Units) -> exp.Select:
    """Count the units that a fold tests: `n`."""
    query = exp.select(named(exp.Count(this=exp.Distinct(expressions=[column("unit", "p")])), "n"))
    query = query.from_(subquery(units.parts(), "p"))
    on = conjunction([column("run", "s").eq(integer(units.target.run)), column("test", "s").eq(column("part", "p"))])
    return join(query, relation(units.target.schema, "audit_seen", "s"), on, "INNER")


def equal_units(units: Units) -> exp.Select:
    """Show tested units whose facts are those of one that is trained on: `unit`, `twin`, the first of these."""
    facts = exp.ArraySort(this=exp.ArrayAgg(this=column("number", "m")))
    whole = exp.select(column("unit", "m"), named(facts, "facts")).from_(_step("member", "m"))
    whole = join(whole, _step("sized", "z"), column("unit", "z").eq(column("unit", "m")), "INNER")
    whole = whole.group_by(column("unit", "m"))
    # Units with the same facts in one part are a row before they are joined, so that many of them cost no more than a few.
    unit = named(exp.Min(this=column("unit", "w")), "unit")
    group = exp.select(column("facts", "w"), column("part", "p"), unit).from_(_step("whole", "w"))
    group = join(group, _step("placed", "p"), column("unit", "p").eq(column("unit", "w")), "INNER")
    group = group.group_by(column("facts", "w"), column("part", "p"))
    query = exp.select(column("unit", "w"), named(exp.Min(this=column("unit", "g")), "twin")).from_(_step("whole", "w"))
    query = join(query, _step("placed", "p"), column("unit", "p").eq(column("unit", "w")), "INNER")
    query = join(query, _step("alike", "g"), column("facts", "g").eq(column("facts", "w")), "INNER")
    query = join(query, relation(units.target.schema, "audit_seen", "s"), _seen(units, "p", "g"), "INNER")
    query = _fresh(units, query, "w").group_by(column("unit", "w")).order_by(column("unit", "w"))
    return _with_steps(query, {**_sized_steps(units, places=True, tries=1, surely=0), "whole": whole, "alike": group})


def similar_units(units: Units, percent: int) -> exp.Select:
    """Show tested units whose Jaccard similarity to one trained on is `percent` or more: `unit`, `twin` (the first), `twins` (how many)."""
    common = star_count()
    sizes = exp.Add(this=column("size", "c"), expression=column("twin_size", "c"))
    both = exp.Paren(this=exp.Sub(this=sizes, expression=common.copy()))
    query = exp.select(column("unit", "c"), column("twin", "c")).from_(_step("candidate", "c"))
    query = join(query, _step("member", "f"), column("unit", "f").eq(column("unit", "c")), "INNER")
    same = conjunction([column("unit", "g").eq(column("twin", "c")), column("number", "g").eq(column("number", "f"))])
    query = join(query, _step("member", "g"), same, "INNER")
    query = query.group_by(*(column(name, "c") for name in ("unit", "twin", "size", "twin_size")))
    similar = query.having(_times(100, common) >= _times(percent, both))
    twin = named(exp.Min(this=column("twin", "m")), "twin")
    shown = exp.select(column("unit", "m"), twin, named(star_count(), "twins")).from_(_step("similar", "m"))
    shown = shown.group_by(column("unit", "m")).order_by(column("unit", "m"))
    steps = {"met": _met(percent), "candidate": _candidates(units), "similar": similar}
    return _with_steps(shown, {**_prefix_steps(units, percent), **steps})


def candidate_count(units: Units, percent: int) -> exp.Select:
    """Count the pairs of facts that `similar_units` joins to find candidates: `n`, without joining them."""
    side = exp.select(column("number", "p"), named(star_count(), "units")).from_(_step("prefix", "p"))
    square = exp.Mul(this=cast(column("units", "u"), "INT128"), expression=column("units", "u"))
    n = cast(exp.Sum(this=square), "INT128")
    query = exp.select(named(exp.Coalesce(this=n, expressions=[integer(0)]), "n"))
    query = query.from_(subquery(side.group_by(column("number", "p")), "u"))
    return _with_steps(query, _prefix_steps(units, percent))


def _prefix_steps(units: Units, percent: int) -> dict[str, exp.Query]:
    """Return the steps that lead to the first facts of each unit, the rarest first."""
    order = exp.Order(expressions=[exp.Ordered(this=column("number", "m"))])
    place = exp.Window(this=exp.RowNumber(), partition_by=[column("unit", "m")], order=order)
    ranked = exp.select(column("unit", "m"), column("number", "m"), column("size", "z"), named(place, "place"))
    ranked = ranked.from_(_step("member", "m"))
    ranked = join(ranked, _step("sized", "z"), column("unit", "z").eq(column("unit", "m")), "INNER")
    # size - ceil(t size) + 1, in integers.
    first = exp.Add(
        this=exp.IntDiv(this=_times(100 - percent, column("size", "r")), expression=integer(100)), expression=integer(1)
    )
    rest = exp.Sub(this=column("size", "r"), expression=exp.Paren(this=first))
    prefix = exp.select(column("unit", "r"), column("number", "r"), column("size", "r"), named(rest, "rest"))
    prefix = prefix.from_(_step("ranked", "r")).where(column("place", "r") <= first.copy())
    return {**_sized_steps(units, places=False, tries=2, surely=3), "ranked": ranked, "prefix": prefix}


def _sized_steps(units: Units, *, places: bool, tries: int, surely: int) -> dict[str, exp.Query]:
    """Return the steps to the facts of units, and to the units that are compared: their facts weigh `tries` ln n + `surely`."""
    every = exp.Count(this=exp.Distinct(expressions=[column("unit", "f")]))
    total = exp.select(named(every, "n")).from_(_step("fact", "f"))
    common = exp.select(column("fact", "f"), named(star_count(), "units")).from_(_step("fact", "f"))
    common = common.group_by(column("fact", "f"))
    ratio = exp.Div(this=cast(column("n", "t"), "DOUBLE"), expression=column("units", "c"))
    order = exp.Order(expressions=[exp.Ordered(this=column("units", "c")), exp.Ordered(this=column("fact", "c"))])
    # Facts are numbered, the rarest first: numbers are joined in place of lists.
    number = named(exp.Window(this=exp.RowNumber(), order=order), "number")
    weighed = exp.select(column("fact", "c"), number, named(_hundredths(exp.Ln(this=ratio)), "weight"))
    weighed = join(weighed.from_(_step("common", "c")), _step("total", "t"), None, "CROSS")
    member = exp.select(column("unit", "f"), column("number", "w"), column("weight", "w")).from_(_step("fact", "f"))
    member = join(member, _step("weighed", "w"), column("fact", "w").eq(column("fact", "f")), "INNER")
    sized = exp.select(column("unit", "m"), named(star_count(), "size")).from_(_step("member", "m"))
    sized = join(sized, _step("total", "t"), None, "CROSS").group_by(column("unit", "m"), column("n", "t"))
    chance = exp.Mul(this=integer(tries), expression=exp.Ln(this=cast(column("n", "t"), "DOUBLE")))
    least = _hundredths(exp.Add(this=chance, expression=integer(surely)) if surely else chance)
    sized = sized.having(star_count() >= integer(units.least), exp.Sum(this=column("weight", "m")) >= least)
    return {
        "fact": unit_facts(units, places=places),
        "placed": units.parts(),
        "total": total,
        "common": common,
        "weighed": weighed,
        "member": member,
        "sized": sized,
    }


def _hundredths(number: exp.Expression) -> exp.Expression:
    return cast(exp.Floor(this=exp.Mul(this=integer(_FINE), expression=exp.Paren(this=number))), "BIGINT")


def _met(percent: int) -> exp.Select:
    """Return the pairs of units that may be similar by their sizes and by how many of their first facts they share."""
    shown = [column("unit", "x"), named(column("unit", "y"), "twin")]
    shown += [column("size", "x"), named(column("size", "y"), "twin_size")]
    sizes = [_times(100, column("size", a)) >= _times(percent, column("size", b)) for a, b in (("x", "y"), ("y", "x"))]
    same: list[exp.Expression] = [
        column("number", "y").eq(column("number", "x")),
        column("unit", "y").neq(column("unit", "x")),
        *sizes,
    ]
    query = join(exp.select(*shown).from_(_step("prefix", "x")), _step("prefix", "y"), conjunction(same), "INNER")
    ends = [column(name, alias) for alias in "xy" for name in ("unit", "size", "rest")]
    # Of two prefixes the one that ends first has all that is shared so far: what else is shared is in the rest of that unit.
    most = exp.Greatest(this=column("rest", "x"), expressions=[column("rest", "y")])
    shared = exp.Paren(this=exp.Add(this=star_count(), expression=most))
    both = exp.Paren(this=exp.Add(this=column("size", "x"), expression=column("size", "y")))
    return query.group_by(*ends).having(_times(100 + percent, shared) >= _times(percent, both))


def _candidates(units: Units) -> exp.Select:
    """Return the pairs that met of a tested unit and one that is trained on."""
    shown = [column(name, "m") for name in ("unit", "twin", "size", "twin_size")]
    query = exp.select(*shown).from_(_step("met", "m"))
    query = join(query, _step("placed", "p"), column("unit", "p").eq(column("unit", "m")), "INNER")
    query = join(query, _step("placed", "q"), column("unit", "q").eq(column("twin", "m")), "INNER")
    query = join(query, relation(units.target.schema, "audit_seen", "s"), _seen(units, "p", "q"), "INNER")
    return _fresh(units, query, "m").distinct()


def _fresh(units: Units, query: exp.Select, alias: str) -> exp.Select:
    """Keep the units `alias`, in the part of `p`, that are not themselves trained on where that part is tested."""
    if not units.places:
        return query
    again = exp.select(column("unit", "o"), named(column("test", "t"), "part")).from_(_step("placed", "o"))
    own = conjunction(
        [column("run", "t").eq(integer(units.target.run)), column("training", "t").eq(column("part", "o"))]
    )
    again = join(again, relation(units.target.schema, "audit_seen", "t"), own, "INNER").distinct()
    on = conjunction([column("unit", "k").eq(column("unit", alias)), column("part", "k").eq(column("part", "p"))])
    query = join(query, subquery(again, "k"), on, "LEFT")
    return query.where(exp.Is(this=column("unit", "k"), expression=exp.null()))


def _seen(units: Units, test: str, training: str) -> exp.Expression | None:
    """Return that a fold tests the part of one alias and trains on that of another."""
    return conjunction(
        [
            column("run", "s").eq(integer(units.target.run)),
            column("test", "s").eq(column("part", test)),
            column("training", "s").eq(column("part", training)),
        ]
    )


def _step(name: str, alias: str) -> exp.Expr:
    return exp.table_(name, quoted=True).as_(alias, quoted=True)


def _times(factor: int, node: exp.Expression) -> exp.Mul:
    return exp.Mul(this=integer(factor), expression=node.copy())


def _with_steps(query: exp.Select, steps: dict[str, exp.Query]) -> exp.Select:
    """Put named steps in front of a query, each computed once."""
    for name, step in steps.items():
        query = query.with_(name, as_=step, materialized=True)
    return query


def duplicated_places(target: AuditedTarget) -> Sequence[tuple[int, ...]]:
    """Return the arguments of entities by their types: those of one type are compared together."""
    kinds = dict.fromkeys(target.types[i] for i in target.entities)
    return [tuple(i for i in target.entities if target.types[i] == kind) for kind in kinds]
