"""Predicates that say what a target's labels say: as they are, negated, with arguments permuted, with others projected or fixed to a constant."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, permutations

from sqlglot import exp

from sqlrl.engine.nodes import column, conjunction, integer, join, named, star_count, subquery, union_all
from sqlrl.plan.leaks import AuditedTarget, FactView, argument, atoms, narrowed


@dataclass(frozen=True, slots=True)
class Claim:
    """A reading of a predicate as a statement about atoms of the target: those for which it has a fact.

    `places` are pairs of an argument of the target and the argument of the predicate that is the same constant; `fixed` is the argument of
    the predicate that is one constant, its other ones are anything.

    Examples
    --------
    >>> likes = FactView("Likes", "named_Likes", ("person", "person_2", "kind"), ("person", "person", "kind"))
    >>> Claim(likes, ((0, 1), (1, 0)), 2).text("love")
    "Likes(argument 2, argument 1, 'love')"
    """

    facts: FactView
    places: tuple[tuple[int, int], ...]
    fixed: int | None = None

    def text(self, constant: str | None = None, names: tuple[str, ...] = ()) -> str:
        """Return it as users read it; `names` are those of the target's arguments."""
        of = {j: i for i, j in self.places}
        parts = []
        for j in range(len(self.facts.types)):
            if j in of:
                parts.append(names[of[j]] if names else f"argument {of[j] + 1}")
            else:
                parts.append(repr(constant) if j == self.fixed else "_")
        return f"{self.facts.predicate}({', '.join(parts)})"


def claims(target: AuditedTarget, facts: FactView) -> Iterator[Claim]:
    """Yield the readings of a predicate: each choice of its arguments for some of the target's, of their types.

    Where both have the example in an argument, it is the same one.

    Examples
    --------
    >>> target = AuditedTarget("sqlrl", 1, "Beats", ("team", "team"))
    >>> likes = FactView("Likes", "named_Likes", ("team", "team_2"), ("team", "team"))
    >>> [(claim.places, claim.fixed) for claim in claims(target, likes)][:4]
    [(((0, 0), (1, 1)), None), (((0, 1), (1, 0)), None), (((0, 0),), None), (((0, 0),), 1)]
    """
    inside = target.own is not None and facts.own is not None
    for size in range(min(len(target.types), len(facts.types)), 0, -1):
        for chosen in combinations(range(len(target.types)), size):
            for found in permutations(range(len(facts.types)), size):
                places = tuple(zip(chosen, found, strict=True))
                if any(target.types[i] != facts.types[j] for i, j in places):
                    continue
                if inside and (target.own, facts.own) not in places:
                    continue
                yield Claim(facts, places)
                for j in range(len(facts.types)):
                    if j not in found:
                        yield Claim(facts, places, j)


def agreements(target: AuditedTarget, claims: list[Claim]) -> exp.Query:
    """Count, for each claim and constant, labelled atoms of which it has facts, and true ones: `claim` (its place), `constant`, `said`, `right`.

    Atoms are grouped by what the claim says of them, so that the rows that are joined are at most those of the facts.
    """
    return union_all([_agreement(target, claim, i) for i, claim in enumerate(claims)])


def _agreement(target: AuditedTarget, claim: Claim, number: int) -> exp.Select:
    keys, groups = _said(target, claim), _atoms_by_key(target, claim)
    names = _key_names(claim)
    on = conjunction([column(name, "c").eq(column(name, "g")) for name in names])
    said = exp.Sum(this=column("atoms", "g"))
    right = exp.Sum(this=column("true_atoms", "g"))
    constant: exp.Expression = exp.cast(exp.null(), "text") if claim.fixed is None else column("constant", "c")
    query = exp.select(
        named(integer(number), "claim"), named(constant, "constant"), named(said, "said"), named(right, "right")
    )
    query = join(query.from_(subquery(keys, "c")), subquery(groups, "g"), on, "INNER")
    return query if claim.fixed is None else query.group_by(column("constant", "c"))


def agreeing_atoms(target: AuditedTarget, claim: Claim, constant: str | None, *, negated: bool) -> exp.Select:
    """Show the labelled atoms on which a claim, or its negation, and the label agree.

    Examples
    --------
    >>> target = AuditedTarget("sqlrl", 1, "Beats", ("team", "team"))
    >>> claim = Claim(FactView("Lost", "named_Lost", ("team", "team_2"), ("team", "team")), ((0, 1), (1, 0)))
    >>> print(agreeing_atoms(target, claim, None, negated=False).sql("duckdb").replace('"', ""))
    SELECT a.example, a.arguments, a.truth FROM sqlrl.audit_atom AS a
    LEFT JOIN (SELECT DISTINCT p.team_2 AS k0, p.team AS k1 FROM sqlrl.named_Lost AS p) AS c
    ON c.k0 = a.arguments[1] AND c.k1 = a.arguments[2]
    WHERE a.run = 1 AND NOT a.truth IS NULL AND a.truth = (NOT c.k0 IS NULL)
    ORDER BY a.example, a.arguments
    """
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
    if claim.fixed is not None:
        value = column(facts.columns[claim.fixed], "p")
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
