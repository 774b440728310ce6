"""Diagnoses of a model on the data of a database: which rules speak against them, which say the same, and what hard ones cost."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from sqlglot import exp

from sqlrl.catalog.layout import TableName
from sqlrl.catalog.roles import NONE
from sqlrl.engine.nodes import column, named, star_count, table
from sqlrl.errors import InputError, Parameter
from sqlrl.ground.binding import bind_program
from sqlrl.ground.clauses import clause_table, expansion_names
from sqlrl.ground.factors import FactorCounts, check_thresholds, factor_counts, growth_exponent, is_inexpensive
from sqlrl.ground.limits import DENSITY, GROWTH
from sqlrl.ground.program import Extent, Program
from sqlrl.ground.windows import divided
from sqlrl.logic.lexer import nearest
from sqlrl.logic.model import Rule
from sqlrl.logic.printer import format_formula
from sqlrl.logic.subformulas import atoms_of
from sqlrl.report import Table
from sqlrl.training.session import Query, Session, check_model, verb

if TYPE_CHECKING:
    from sqlrl.solve.overlaps import Overlaps
    from sqlrl.structure.diagnosis.diagnosis import Diagnosis
    from sqlrl.structure.diagnosis.quality import RuleQuality

TABLES = {"diagnosis": "found", "diagnosis_grounding": "groundings"}

_USUAL = {
    "threshold": 0.1, "samples": 100, "burn_in": 20, "chains": 4, "random_state": None, "shown": 3, "growth": GROWTH, "density": DENSITY,
}  # fmt: skip
_OF_COSTS = ("growth", "density")
KINDS = ("quality", "paper", "overlap", "costs")


def diagnosed(session: Session, asked: Query, kind: str, options: Mapping[str, Any]) -> RuleQuality | Diagnosis | Table:
    """Do what `Database.diagnose` does, for each kind."""
    if kind not in KINDS:
        raise InputError(
            f"{Parameter('kind', kind)} must be one of {', '.join(map(repr, KINDS))}{nearest(str(kind), KINDS)}."
        )
    paper = tuple(x for x in _USUAL if x not in _OF_COSTS)
    own: tuple[str, ...] = {"paper": paper, "costs": _OF_COSTS}.get(kind, ())
    strange = {name: value for name, value in options.items() if name not in own and value != _USUAL[name]}
    wrong = [f"{Parameter(name, value)}" for name, value in strange.items()]
    if kind == "paper" and asked.roles != NONE:
        wrong.append("roles=")
    if wrong:
        old = kind == "quality" and strange.keys() <= set(paper)
        marks = f"pass {Parameter('kind', 'paper')}, which marks rules as before, or "
        raise InputError(
            f"{', '.join(wrong)}: a diagnosis of kind {kind!r} has no such option; {marks if old else ''}leave it out."
        )
    if kind == "quality":
        from sqlrl.database.rule_quality import judged_rules

        return judged_rules(session, asked)
    check_model(asked.model)
    if kind == "overlap":
        return overlap(session, asked)
    if kind == "costs":
        return cost_table(clause_costs(session, asked, growth=options["growth"], density=options["density"]))
    return wrong_rules(session, asked, options)


# ---- which rules are wrong -------------------------------------------------------------------------------


def wrong_rules(session: Session, asked: Query, options: Mapping[str, Any]) -> Diagnosis:
    """Tell which rules are wrong."""
    from sqlrl.solve.sampling.chains import Effort
    from sqlrl.structure.beam.clauses import Language
    from sqlrl.structure.beam.estimator import member_of
    from sqlrl.structure.diagnosis.bins import check_threshold
    from sqlrl.structure.diagnosis.diagnosis import diagnosis
    from sqlrl.training.clause_search import clause_search
    from sqlrl.training.runs import Run

    threshold, shown, model = options["threshold"], options["shown"], asked.model
    effort = Effort(options["samples"], options["burn_in"], options["chains"], options["random_state"] or 0)
    check_model(model)
    check_threshold(threshold)
    if isinstance(shown, bool) or not isinstance(shown, int) or shown < 0:
        raise InputError(f"{Parameter('shown', shown)} is no number of groundings: give an integer of 0 or more")
    if not model.rules:
        raise InputError("the model has no rules, so there is nothing to diagnose: write some")
    run, clock = Run(session.records), time.perf_counter()
    parameters = {"threshold": threshold, "samples": effort.samples, "burn_in": effort.burn_in, "chains": effort.chains}
    with clause_search(session, model, examples=asked.examples, limit=asked.limit) as search, run.ending():
        number = run.begin("diagnose", parameters, effort.seed)
        language = Language(search.predicates, 0, 0, search.example_type)
        members = [member_of(rule, language) for rule in search.rules]
        found = diagnosis(search.rules, members, search.source, effort, threshold, shown=shown)
        with session.records.together():
            for table, name in TABLES.items():
                session.records.append(table, number, getattr(found, name).to_arrow())
            session.records.end_run(number, "done", timings={"diagnosis": time.perf_counter() - clock})
    return replace(found, run=number)


# ---- which clauses say the same ------------------------------------------------------------------


@verb
def overlap(session: Session, asked: Query) -> Table:
    """Find the pairs of clauses that share ground clauses; `Database.diagnose` explains it."""
    from sqlrl.solve.overlaps import overlaps

    asked.check()
    clock = time.perf_counter()
    with session.console.progress("comparing clauses"), session.expanded(asked) as (program, chosen):
        listed = clause_table(program)
        shown = np.zeros(program.clause_count, dtype=bool)
        shown[listed.column("clause").to_numpy()] = True
        found: Overlaps | None = None
        for _, network in divided(Extent(program, chosen, asked.limit), np.sort(session.ids(chosen))):
            part = overlaps(network, shown)
            found = part if found is None else found + part
            del network  # or else it would be there while the next is grounded
    assert found is not None, "there is at least one window"
    texts = dict(zip(listed.column("clause").to_pylist(), listed.column("text").to_pylist(), strict=True))
    data = _overlap_table(found, texts)
    if session.engine.writable:
        with session.records.together():
            run = session.records.begin_run("overlap", {}, None)
            session.records.append("overlap", run, data)
            session.records.end_run(run, "done", timings={"overlap": time.perf_counter() - clock})
    return Table(data, title="clauses that share ground clauses")


def _overlap_table(found: Overlaps, texts: dict[int, str]) -> pa.Table:
    """Return pairs as rows of `sqlrl.overlap`, without the run: those that share most of what either has come first."""
    first, second = found.pairs.T
    data = pa.table(
        {
            "first": pa.array([texts[clause] for clause in first.tolist()], pa.string()),
            "second": pa.array([texts[clause] for clause in second.tolist()], pa.string()),
            "shared": found.shared,
            "first_ground": found.size[first],
            "second_ground": found.size[second],
            "shared_atoms": found.atoms,
            "first_atoms": found.reach[first],
            "second_atoms": found.reach[second],
        }
    )
    names = data.column_names
    share = pa.array(found.shared / (found.size[first] + found.size[second] - found.shared))
    # As the view has them.
    order = [("share", "descending"), ("shared", "descending"), ("first", "ascending"), ("second", "ascending")]
    return data.append_column("share", share).sort_by(order).select(names)


# ---- what hard clauses cost ----------------------------------------------------------------------


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
