"""What hard clauses cost: the sizes of the factor graphs that they make, counted without grounding."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import pyarrow as pa
from sqlglot import exp

from sqlrl.catalog.layout import TableName
from sqlrl.engine.nodes import column, named, star_count, table
from sqlrl.ground.binding import bind_program
from sqlrl.ground.clauses import clause_table, expansion_names
from sqlrl.ground.factors import (
    FactorCounts,
    check_thresholds,
    factor_counts,
    growth_exponent,
    is_inexpensive,
)
from sqlrl.ground.program import Extent, Program
from sqlrl.logic.model import Rule
from sqlrl.logic.printer import format_formula
from sqlrl.logic.subformulas import atoms_of
from sqlrl.report import Table
from sqlrl.training.session import Query, Session, verb


@dataclass(frozen=True)
class ClauseCost:
    """The cost of one hard clause."""

    rule: int  # the place of its rule in the model
    text: str
    constants: tuple[tuple[str, str], ...]  # the `+` variables of a template, each with its constant
    examples: int  # examples in which it leaves ground clauses open
    nodes: int  # over all examples
    factors: int  # over all examples
    degree: int  # how often query predicates appear in it; 0 for a block
    growth: float | None  # see `sqlrl.ground.factors.growth_exponent`
    # "exact"; "at most": ground clauses with the same literals were counted once for each grounding; "block": it states that at most
    # one of some atoms is true, which makes them one variable and adds no factor.
    counted: str
    inexpensive: bool


@verb
def clause_costs(session: Session, asked: Query, *, growth: float, density: float) -> list[ClauseCost]:
    """Return what each hard clause costs; `Database.diagnose` explains it."""
    asked.check()
    check_thresholds(growth, density)
    model = asked.model
    kept = model.without(asked.roles.drop).rules if asked.roles.drop else model.rules
    places = [i for i, rule in enumerate(model.rules) if rule.hard and rule in kept]
    if not places:
        return []
    working, hard = session.console.progress("counting"), _hard_program(session, asked, places)
    with working, hard as (program, rules), session.examples_table(asked.examples) as chosen:
        program.expand(chosen)
        counts = factor_counts(Extent(program, chosen, asked.limit))
        return list(_costs(program, counts, rules, chosen, growth, density))


@contextmanager
def _hard_program(session: Session, asked: Query, places: Sequence[int]) -> Iterator[tuple[Program, list[int]]]:
    """Hold the hard rules of a model against the data; with the place in the model of each rule of the program."""
    model = asked.model
    layout = session.bind(model, asked.roles, training=not model.learned)
    program = bind_program(
        session.plans_of(layout),
        layout,
        model.with_rules(tuple(model.rules[i] for i in places)),
        known=session.compiled,
    )
    try:
        yield program, [places[i] for i in program.owners]
    finally:
        program.close()


def _costs(
    program: Program,
    counts: FactorCounts,
    owners: Sequence[int],
    examples: TableName | None,
    growth: float,
    density: float,
) -> Iterator[ClauseCost]:
    """Yield the cost of each clause, rule by rule."""
    features = {id(bound.rule): i for i, bound in enumerate(program.features) if bound.rule is not None}
    clauses: dict[int, list[int]] = {}
    for clause, feature in enumerate(program.feature_of):
        clauses.setdefault(feature, []).append(clause)
    texts = dict(zip(*(clause_table(program).column(name).to_pylist() for name in ("clause", "text")), strict=True))
    for rule, place in zip(program.model.rules, owners, strict=True):
        if id(rule) not in features:
            size, spread = _block_size(program, rule, examples)
            text = f"{format_formula(rule.formula)}."
            yield ClauseCost(place, text, (), spread, size, 0, 0, None, "block", inexpensive=True)
            continue
        feature = features[id(rule)]
        plus = program.features[feature].feature.plus
        constants = dict(zip(*expansion_names(program, feature), strict=True)) if plus else {}
        for clause in clauses.get(feature, []):
            rows = counts.of(clause)
            nodes, factors, edges = (values[rows] for values in (counts.nodes, counts.factors, counts.edges))
            yield ClauseCost(
                rule=place,
                text=texts[clause],
                constants=tuple(zip(plus, constants[clause], strict=True)) if plus else (),
                examples=len(nodes),
                nodes=int(nodes.sum()),
                factors=int(factors.sum()),
                degree=int(counts.degree[clause]),
                growth=growth_exponent(nodes, edges),
                counted="exact" if counts.exact[clause] else "at most",
                inexpensive=is_inexpensive(nodes, factors, edges, growth_factor=growth, density=density),
            )


def _block_size(program: Program, rule: Rule, examples: TableName | None) -> tuple[int, int]:
    """Return the number of query atoms of a rule that states a block, and of the examples that have them."""
    mentioned = {atom.predicate for atom in atoms_of(rule.formula)}
    predicate = next(b.predicate for b in program.blocks if b.predicate in mentioned)
    atoms = program.layout.predicates[predicate].atoms
    assert atoms is not None
    query = exp.select(
        named(star_count(), "nodes"), named(exp.Count(this=exp.Distinct(expressions=[column("example")])), "examples")
    ).from_(table(atoms))
    if examples is not None:
        query = query.where(
            exp.In(
                this=column("example"), query=exp.Subquery(this=exp.select(column("example")).from_(table(examples)))
            )
        )
    data = program.engine.fetch(query, step=f"count the atoms of {predicate}")
    return int(data.column("nodes")[0].as_py()), int(data.column("examples")[0].as_py())


def cost_table(costs: Iterable[ClauseCost]) -> Table:
    """Return the costs of clauses as a table; `Database.diagnose` says what its columns are."""
    rows = list(costs)
    schema = [
        ("rule", pa.int64()), ("clause", pa.string()), ("examples", pa.int64()), ("nodes", pa.int64()),
        ("factors", pa.int64()), ("degree", pa.int64()), ("growth", pa.float64()), ("inexpensive", pa.bool_()),
        ("counted", pa.string()),
    ]  # fmt: skip
    columns = {
        name: pa.array([getattr(row, "text" if name == "clause" else name) for row in rows], kind)
        for name, kind in schema
    }
    return Table(pa.table(columns), title="hard clauses", limit=max(len(rows), 1))
