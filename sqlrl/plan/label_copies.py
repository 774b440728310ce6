"""Predicates that say what a target's labels say: as they are, negated, with arguments permuted, with others projected or fixed to a constant."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, permutations

from sqlglot import exp

from sqlrl.engine.nodes import column, conjunction, integer, join, named, star_count, subquery, union_all
from sqlrl.plan.leaks import AuditedTarget, FactView, argument, atoms, narrowed


@dataclass(frozen=True, slots=True)
class Claim:
    """A reading of a predicate as a statement about atoms of the target: those for which it has a fact."""

    facts: FactView
    # Pairs of an argument of the target and the argument of the predicate that is the same constant.
    places: tuple[tuple[int, int], ...]
    # The argument of the predicate that is one constant; its other ones are anything.
    constant_place: int | None = None

    def text(self, constant: str | None = None, names: tuple[str, ...] = ()) -> str:
        """Return it as users read it; `names` are those of the target's arguments."""
        of = {j: i for i, j in self.places}
        parts = []
        for j in range(len(self.facts.types)):
            if j in of:
                parts.append(names[of[j]] if names else f"argument {of[j] + 1}")
            else:
                parts.append(repr(constant) if j == self.constant_place else "_")
        return f"{self.facts.predicate}({', '.join(parts)})"


def claims(target: AuditedTarget, facts: FactView) -> Iterator[Claim]:
    """Yield the readings of a predicate: each choice of its arguments for some of the target's, of their types."""
    inside = target.example_place is not None and facts.example_place is not None
    # With the example in a column a fact may speak of an example as a whole.
    least = 0 if facts.example is not None else 1
    for size in range(min(len(target.types), len(facts.types)), least - 1, -1):
        for chosen in combinations(range(len(target.types)), size):
            for found in permutations(range(len(facts.types)), size):
                places = tuple(zip(chosen, found, strict=True))
                if any(target.types[i] != facts.types[j] for i, j in places):
                    continue
                # Where both have the example in an argument, it is the same one.
                if inside and (target.example_place, facts.example_place) not in places:
                    continue
                yield Claim(facts, places)
                for j in range(len(facts.types)):
                    if j not in found:
                        yield Claim(facts, places, j)


def agreements(target: AuditedTarget, claims: Sequence[Claim]) -> exp.Query:
    """Count, by `claim` (its place) and `constant`, the labelled atoms of which it has facts, `said`, and the true ones, `right`."""
    found: exp.Query = union_all([_agreement(target, claim, i) for i, claim in enumerate(claims)])
    # Atoms are grouped once for claims about the same arguments, so that a claim joins no more rows than those of its facts.
    for name, claim in {_group_name(claim): claim for claim in claims}.items():
        found = found.with_(name, as_=_atoms_by_key(target, claim), materialized=True)
    return found


def notable(counts: exp.Query, true: int, false: int, *, errors: int, least: int, percent: int) -> exp.Select:
    """Keep the claims and constants of `agreements` that may be of note, with how many of the claim were counted, `tried`."""
    names = ("claim", "constant", "said", "right")
    every = exp.Window(this=star_count(), partition_by=[column("claim", "c")])
    inner = exp.select(*(column(name, "c") for name in names), named(every, "tried")).from_(subquery(counts, "c"))
    said, right = column("said", "n"), column("right", "n")

    def product(factor: int, node: exp.Expression) -> exp.Mul:
        return exp.Mul(this=integer(factor), expression=node.copy())

    def difference(left: exp.Expression, other: exp.Expression) -> exp.Sub:
        return exp.Sub(this=left.copy(), expression=other.copy())

    wrong = exp.Add(this=difference(integer(true), product(2, right)), expression=said.copy())
    agree = difference(exp.Add(this=integer(false), expression=product(2, right)), said)
    rarer = integer(min(true, false))
    one = [
        exp.GTE(this=product(100, each), expression=product(percent, said))
        for each in (right, exp.Paren(this=difference(said, right)))
    ]
    # Of `least` or more atoms of which there are facts, `percent` or more have one label.
    told = exp.And(
        this=exp.GTE(this=said.copy(), expression=integer(least)),
        expression=exp.Paren(this=exp.Or(this=one[0], expression=one[1])),
    )
    # Of all `true` and `false` labels the errors, or those of the negation, are no more than one for `errors` of the rarer.
    few = [exp.LTE(this=product(errors, exp.Paren(this=each)), expression=rarer.copy()) for each in (wrong, agree)]
    shown = exp.select(*(column(name, "n") for name in (*names, "tried"))).from_(subquery(inner, "n"))
    shown.set("where", exp.Where(this=exp.Or(this=exp.Or(this=few[0], expression=few[1]), expression=told)))
    return shown


def _agreement(target: AuditedTarget, claim: Claim, number: int) -> exp.Select:
    names = _key_names(claim)
    on = conjunction([column(name, "c").eq(column(name, "g")) for name in names])
    said = exp.Sum(this=column("atoms", "g"))
    right = exp.Sum(this=column("true_atoms", "g"))
    constant: exp.Expression = exp.cast(exp.null(), "text") if claim.constant_place is None else column("constant", "c")
    query = exp.select(
        named(integer(number), "claim"), named(constant, "constant"), named(said, "said"), named(right, "right")
    )
    groups = exp.table_(_group_name(claim), quoted=True).as_("g", quoted=True)
    query = join(query.from_(subquery(_said(target, claim), "c")), groups, on, "INNER")
    return query if claim.constant_place is None else query.group_by(column("constant", "c"))


def _group_name(claim: Claim) -> str:
    """Return the name of the step that groups atoms by what a claim speaks of."""
    return "by_" + "_".join(_key_names(claim))


def agreeing_atoms(target: AuditedTarget, claim: Claim, constant: str | None, *, negated: bool) -> exp.Select:
    """Show the labelled atoms on which a claim, or its negation, and the label agree."""
    absent = exp.Is(this=column(_key_names(claim)[0], "c"), expression=exp.null())
    says = absent if negated else exp.Not(this=absent)
    query = _with_claim(target, claim, constant, "LEFT")
    return _shown(narrowed(query, column("truth", "a").eq(exp.paren(says))))


def told_atoms(target: AuditedTarget, claim: Claim, constant: str | None = None) -> exp.Select:
    """Show the labelled atoms of which a claim has facts."""
    return _shown(_with_claim(target, claim, constant, "INNER"))


def _with_claim(target: AuditedTarget, claim: Claim, constant: str | None, kind: str) -> exp.Select:
    """Join labelled atoms `a` with what a claim says, `c`."""
    keys = _said(target, claim, constant)
    same = [column(f"k{i}", "c").eq(argument("a", i)) for i, _ in claim.places]
    same += [column("example", "c").eq(column("example", "a"))] if claim.facts.example is not None else []
    return join(
        atoms(target, "a", labelled=True), subquery(keys, "c"), conjunction(same), "LEFT" if kind == "LEFT" else "INNER"
    )


def _said(target: AuditedTarget, claim: Claim, constant: str | None = None) -> exp.Select:
    """Return the constants of atoms of which a claim has facts, each once: `k0`, ..., `constant` where it is not given yet."""
    facts = claim.facts
    query = facts.rows(target.schema, "p")
    query = query.select(*(named(column(facts.columns[j], "p"), f"k{i}") for i, j in claim.places))
    if facts.example is not None:
        query = query.select(named(column(facts.example, "p"), "example"))
    if claim.constant_place is not None:
        value = column(facts.columns[claim.constant_place], "p")
        query = (
            query.select(named(value, "constant")) if constant is None else query.where(value.eq(exp.convert(constant)))
        )
    return query.distinct()


def _atoms_by_key(target: AuditedTarget, claim: Claim) -> exp.Select:
    """Count labelled atoms, and true ones, by the arguments that a claim speaks of."""
    keys = [named(argument("a", i), f"k{i}") for i, _ in claim.places]
    groups = [argument("a", i) for i, _ in claim.places]
    if claim.facts.example is not None:
        keys.append(named(column("example", "a"), "example"))
        groups.append(column("example", "a"))
    true = exp.Sum(this=exp.Case().when(column("truth", "a"), integer(1)).else_(integer(0)))
    query = atoms(target, "a", labelled=True).select(*keys, named(star_count(), "atoms"), named(true, "true_atoms"))
    return query.group_by(*groups)


def _key_names(claim: Claim) -> list[str]:
    return [f"k{i}" for i, _ in claim.places] + (["example"] if claim.facts.example is not None else [])


def _shown(query: exp.Select) -> exp.Select:
    shown = [column(name, "a") for name in ("example", "arguments", "truth")]
    return query.select(*shown).order_by(column("example", "a"), column("arguments", "a"))
