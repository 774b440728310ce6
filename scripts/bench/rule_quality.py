"""Putting 1,000 rules on trial on a million facts, beside two SQL statements for each rule.

Rules have two to four literals over three relations that join: who owns what, who knows whom, who made what. Their constants, negations and joins are drawn at random, in at
least 50 shapes. The diagnosis runs once. The statements for each rule, written as one would by hand (cases, violations), run for a sample of the rules, of which
both must find the same numbers; the ratio is theirs by rule over ours by rule, in one run (larger is better).

    python scripts/bench/rule_quality.py [--quick] [--seed N] [--db FILE] [--json FILE]
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
from rounds import publish, read_options

import sqlrl
from sqlrl.logic.printer import format_formula
from sqlrl.logic.terms import And, Atom, Constant, Formula, Implies, Not, Term, Variable

RELATIONS = {"Owns": ("person", "item"), "Knows": ("person", "person"), "Made": ("maker", "item")}
SHARES = {"Owns": 0.5, "Knows": 0.3, "Made": 0.2}
LEAST_SHAPES = 50


def pairs(rng: np.random.Generator, sizes: tuple[int, int], names: tuple[str, str], count: int) -> pa.Table:
    """Return distinct pairs of constants, those of low numbers in more of them."""
    found = np.zeros(0, np.int64)
    while len(found) < count:
        draws = [(rng.random(count) ** 1.5 * size).astype(np.int64) for size in sizes]
        found = np.unique(np.concatenate([found, draws[0] * sizes[1] + draws[1]]))
    found = rng.permutation(found)[:count]
    columns = zip(names, (found // sizes[1], found % sizes[1]), strict=True)
    return pa.table({f"c{i}": [f"{name[0]}{n}" for n in numbers.tolist()] for i, (name, numbers) in enumerate(columns)})


def load(db: sqlrl.Database, facts: int, rng: np.random.Generator) -> dict[str, int]:
    """Load the relations; return the number of constants of each type."""
    sizes = {"person": facts // 20, "item": facts // 40, "maker": facts // 500}
    for name, types in RELATIONS.items():
        rows = pairs(rng, (sizes[types[0]], sizes[types[1]]), types, int(facts * SHARES[name]))
        db.load(name, rows, types=types)
    return sizes


# ---- rules ---------------------------------------------------------------------------------------------


def rules(count: int, sizes: dict[str, int], rng: np.random.Generator) -> list[Implies]:
    """Draw distinct implications of two to four literals, in which each joins one before it."""
    found: dict[str, Implies] = {}
    while len(found) < count:
        rule = one_rule(int(rng.integers(2, 5)), sizes, rng)
        found.setdefault(str(rule), rule)
    return list(found.values())


def one_rule(length: int, sizes: dict[str, int], rng: np.random.Generator) -> Implies:
    """Draw a rule; a negated condition, and the head, have variables of the conditions before alone."""
    kinds: dict[str, str] = {}

    def atom(*, bound: bool) -> Atom:
        """Draw an atom that shares a variable with those before."""
        while True:
            name = str(rng.choice(list(RELATIONS)))
            terms: list[Term] = []
            new: dict[str, str] = {}
            for kind in RELATIONS[name]:
                known = [v for v, other in kinds.items() if other == kind]
                if known and rng.random() < 0.75:
                    terms.append(Variable(str(rng.choice(known))))
                elif bound or rng.random() < 0.3:
                    # Frequent ones, so that rules apply.
                    terms.append(Constant(f"{kind[0]}{int(rng.integers(max(sizes[kind] // 50, 2)))}"))
                else:
                    new[f"x{len(kinds) + len(new)}"] = kind
                    terms.append(Variable(list(new)[-1]))
            variables = [t.name for t in terms if isinstance(t, Variable)]
            if len(set(variables)) == len(variables) and variables and (not kinds or kinds.keys() & set(variables)):
                kinds.update(new)
                return Atom(name, tuple(terms))

    body: list[Formula] = [atom(bound=False)]
    for _ in range(length - 2):
        if rng.random() < 0.2:
            body.append(Not(atom(bound=True)))
        else:
            body.append(atom(bound=False))
    head = atom(bound=True)
    return Implies(body[0] if len(body) == 1 else And(tuple(body)), Not(head) if rng.random() < 0.3 else head)


# ---- SQL for each rule ---------------------------------------------------------------------------------


def statements(rule: Implies) -> Iterator[str]:
    """Yield a statement for the cases of a rule, and one for its violations, on tables of names."""
    body = rule.left.parts if isinstance(rule.left, And) else (rule.left,)
    head = rule.right.body if isinstance(rule.right, Not) else rule.right
    known: dict[str, str] = {}
    sources: list[str] = []
    where: list[str] = []

    def conditions(atom: Atom, alias: str, *, bind: bool) -> list[str]:
        """Return what ties an atom's columns to the terms."""
        found = []
        for i, term in enumerate(atom.terms):
            here = f"{alias}.c{i}"
            if isinstance(term, Constant):
                found.append(f"{here} = '{term.name}'")
            elif term.name in known:
                found.append(f"{here} = {known[term.name]}")
            else:
                assert bind, "it is bound"
                known[term.name] = here
        return found

    for i, part in enumerate(body):
        if isinstance(part, Not):
            assert isinstance(part.body, Atom)
            tied = " and ".join(conditions(part.body, f"t{i}", bind=False))
            where.append(f"not exists (select 1 from {part.body.predicate} t{i} where {tied})")
        else:
            assert isinstance(part, Atom)
            sources.append(f"{part.predicate} t{i}")
            where += conditions(part, f"t{i}", bind=True)
    assert isinstance(head, Atom)
    tied = " and ".join(conditions(head, "h", bind=False))
    holds = f"exists (select 1 from {head.predicate} h where {tied})"
    wrong = holds if isinstance(rule.right, Not) else f"not {holds}"
    cases = f"select count(*) from {', '.join(sources)} where {' and '.join([*where, 'true'])}"
    yield cases
    yield f"{cases} and {wrong}"


def main() -> None:
    """Print the table."""
    options = read_options("1,000 rules on trial on a million facts, beside SQL for each rule.")
    facts, number, sample = (50_000, 100, 20) if options.quick else (1_000_000, 1_000, 50)
    rng = np.random.default_rng(options.seed)
    with sqlrl.connect() as db:
        sizes = load(db, facts, rng)
        listed = rules(number, sizes, rng)
        text = "\n".join(map(format_formula, listed))
        declared = "\n".join(f"{name}({', '.join(types)})" for name, types in RELATIONS.items())
        with db.advanced.program(sqlrl.parse_mln(f"{declared}\n{text}"), closed=True) as program:
            shapes = len(program.shapes)
        if shapes < LEAST_SHAPES and not options.quick:
            raise SystemExit(f"there are {shapes} shapes: draw others")
        start = time.perf_counter()
        found = db.diagnose(text)
        seconds = time.perf_counter() - start
        rows = {row["rule"]: row for row in found.table}
        for name in RELATIONS:
            view = db.advanced.catalog.predicates()[name].readable
            first, second = list(db.sql(f'select * from sqlrl."{view}" limit 0').columns)[:2]
            db.sql(f'create table {name} as select "{first}" c0, "{second}" c1 from sqlrl."{view}"')
        chosen = rng.choice(number, sample, replace=False).tolist()
        counts = {}
        start = time.perf_counter()
        for i in chosen:
            counts[i] = tuple(db.sql(query).fetchall()[0][0] for query in statements(listed[i]))
        by_hand = time.perf_counter() - start
        for i, (cases, wrong) in counts.items():
            if (rows[i]["applies"], rows[i]["violations"]) != (cases, wrong):
                raise SystemExit(
                    f"{rows[i]['text']}: {rows[i]['applies']}, {rows[i]['violations']}; by hand {cases}, {wrong}"
                )
        row = {
            "facts": facts,
            "rules": number,
            "shapes": shapes,
            "problems": len(found.problems),
            "pairs": len(found.pairs),
            "seconds": round(seconds, 1),
            "ms_by_rule": round(1e3 * seconds / number, 1),
            "by_hand_ms_by_rule": round(1e3 * by_hand / sample, 1),
            "by_hand_over_ours": round(by_hand / sample / (seconds / number), 1),
        }
    parameters = {"facts": facts, "rules": number, "sample": sample}
    publish("bench_rule_quality", [row], options, title="rules on trial", parameters=parameters, details=[row])


if __name__ == "__main__":
    main()
