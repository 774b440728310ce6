"""Clauses of one open literal as SQL: how much each speaks for an atom, one step of a query for all clauses of a shape."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from sqlrl.catalog.layout import PredicateInfo
from sqlrl.engine.nodes import cast, column, cte, integer, named, table, union_all
from sqlrl.logic.shapes import Shape
from sqlrl.plan.body import QueryBody
from sqlrl.plan.counted_variables import counted_parts, without_parts
from sqlrl.plan.grounding import clause_body, may_merge, multiplicity_column, open_literals, witness_lists
from sqlrl.plan.multiplicity import Multiplicity
from sqlrl.plan.number_names import number
from sqlrl.plan.plain_tables import NamedStep, PlainLayout, StepNames, step_table
from sqlrl.plan.slots import BoundShape, bind
from sqlrl.plan.sources import argument_columns

AMOUNT, MUST, MUST_NOT = "log_odds", "must", "must_not"
"""What a clause adds to the log-odds of an atom; 1 if a hard clause makes it true; 1 if one makes it false."""

MOST_TOGETHER = 200
"""How many steps are joined by one UNION ALL: SQLite takes up to 500."""


@dataclass(frozen=True)
class ScoredClauses:
    """The clauses of one shape, which has one open literal and no open existential group."""

    shape: Shape
    # For each clause its weight (log-odds of a true clause), negated where violated groundings count, or None if it is hard; and the constants
    # of the shape's parameters. All are hard, or none is.
    rows: Sequence[tuple[float | None, tuple[str, ...]]]
    # The rules that the clauses are of.
    says: str = ""

    @property
    def hard(self) -> bool:
        """Whether the clauses are hard."""
        return self.rows[0][0] is None


def atom_columns(info: PredicateInfo) -> tuple[str, ...]:
    """Return the columns that identify an atom: the example if it has one, then the arguments; `one` if there are none."""
    return argument_columns(info) or ("one",)


def evidence_steps(
    plain: PlainLayout, target: str, clauses: Sequence[ScoredClauses], names: StepNames
) -> list[NamedStep]:
    """Return steps, the last with what clauses say of a target's atoms: the columns of an atom, `log_odds`, `must` and `must_not`."""
    info, steps = plain.layout.predicates[target], list[NamedStep]()
    assert info.atoms is not None
    keys = atom_columns(info)
    # An atom of which no clause says anything has a row, too: so no outer join is needed, for which SQLite would build no index.
    nothing = exp.select(*map(column, keys), *_amounts(number(0.0), 0, 0)).from_(table(info.atoms))
    parts: list[exp.Query] = [nothing]
    for place, each in enumerate(clauses, 1):
        found, part = _clause_steps(plain, each, f"rule_{place}", keys, names)
        steps += found
        parts.append(part)
    # There is a row for each clause and atom, and one for each atom.
    while len(parts) > MOST_TOGETHER:
        groups = [parts[i : i + MOST_TOGETHER] for i in range(0, len(parts), MOST_TOGETHER)]
        together = [NamedStep(names.free("evidence_part"), union_all(group)) for group in groups]
        steps += together
        parts = [exp.select(*map(column, [*keys, AMOUNT, MUST, MUST_NOT])).from_(cte(step.name)) for step in together]
    says = "what each clause says of each atom: log-odds, and whether a hard one makes it true or false"
    return [*steps, NamedStep(names.free("evidence"), union_all(parts), says)]


def _amounts(amount: exp.Expression, must: int, must_not: int) -> list[exp.Expression]:
    return [named(amount, AMOUNT), named(integer(must), MUST), named(integer(must_not), MUST_NOT)]


def _clause_steps(
    plain: PlainLayout, clauses: ScoredClauses, name: str, keys: tuple[str, ...], names: StepNames
) -> tuple[list[NamedStep], exp.Select]:
    """Return the steps of the clauses of a shape, and the query of what they say."""
    steps, parameters = list[NamedStep](), None
    if clauses.shape.parameters:
        says = "constants of the clauses, each with its weight" if not clauses.hard else "constants of the clauses"
        weights = None if clauses.hard else [number(w) for w, _ in clauses.rows if w is not None]
        rows = [found for _, found in clauses.rows]
        steps += plain.constants.steps(f"{name}_constants", rows, clauses.shape.parameters, names, says, weights)
        parameters = step_table(steps[-1].name)
    bound = bind(clauses.shape, plain.layout, parameters=parameters)
    (literal,) = open_literals(bound)
    query, inner = _atoms_spoken_for(bound, keys, hard=clauses.hard)
    for step_name, step in inner:
        steps.append(NamedStep(names.free(f"{name}_{step_name}"), step))
    # The steps of a plan have names that are distinct inside it alone.
    renamed = dict(zip((n for n, _ in inner), (s.name for s in steps[-len(inner) :] if inner), strict=False))
    for each in (query, *(step for _, step in inner)):
        _rename(each, renamed)
    steps.append(NamedStep(names.free(name), query, clauses.says))
    said = exp.select(*map(column, keys)).from_(cte(steps[-1].name))
    if clauses.hard:
        zero = cast(integer(0), "DOUBLE")
        return steps, said.select(*_amounts(zero, int(literal.positive), int(not literal.positive)))
    sign = 1 if literal.positive else -1
    weight: exp.Expression
    if parameters is None:
        weight = number(sign * sum(w for w, _ in clauses.rows if w is not None))
    else:
        weight = cast(column("weight"), "DOUBLE")
        weight = weight if sign > 0 else exp.Neg(this=weight)
    return steps, said.select(*_amounts(exp.Mul(this=weight, expression=column("n")), 0, 0))


def _rename(query: exp.Query, names: dict[str, str]) -> None:
    """Let a query read steps under their new names; columns keep the aliases of the steps that they are of."""
    for read in query.find_all(exp.Table):
        if not read.db and read.name in names:
            if not read.alias:
                read.set("alias", exp.TableAlias(this=read.this.copy()))
            read.set("this", exp.to_identifier(names[read.name], quoted=True))


def _atoms_spoken_for(
    bound: BoundShape, keys: Sequence[str], *, hard: bool
) -> tuple[exp.Select, list[tuple[str, exp.Query]]]:
    """Plan the atoms for which some grounding of a clause has all other literals false, with their number `n`; and the plan's steps."""
    body = QueryBody(bound)
    # What a view joins is ordered by whichever database has it: few relations at a time, those that share a variable.
    body.steps.freely = True
    parts = counted_parts(bound, bound.variables, freely=True)
    counted = Multiplicity(bound, body, parts)
    rest = without_parts(bound, parts)
    clause_body(rest, body, None, undecided=True, counted=counted)
    witness_lists(rest, body, None)
    outputs: list[exp.Alias | exp.Column] = [column(key, "o0") for key in keys]
    # Of hard clauses each atom stands once.
    if hard:
        query = body.select(outputs).distinct()
    else:
        outputs += [column("weight", "p")] if bound.parameters is not None else []
        variables = [slot for slot in bound.variables if slot not in counted.slots]
        # Clauses of one weight may speak for one atom.
        merges = bound.parameters is not None or may_merge(rest, variables, open_literals(rest), set())
        count = multiplicity_column(rest, variables, counted, merges) if merges or parts else integer(1)
        query = body.select([*outputs, named(count, "n")])
        if merges:
            query = query.group_by(*(output.copy() for output in outputs))
    query.set("with_", None)
    return query, list(body.steps.steps)


# ---- scores ------------------------------------------------------------------------------------------


def score_step(info: PredicateInfo, evidence: str, names: StepNames) -> NamedStep:
    """Return the step that adds up what clauses say: each atom once, with its weighted count, `must` and `must_not`."""
    keys = [column(key) for key in atom_columns(info)]
    # Some databases read 1.5E0 as a decimal, of which exponentials are slow.
    outputs = [named(cast(exp.Sum(this=column(AMOUNT)), "DOUBLE"), "score")]
    outputs += [named(exp.Max(this=column(name)), name) for name in (MUST, MUST_NOT)]
    query = exp.select(*keys, *outputs).from_(cte(evidence)).group_by(*(key.copy() for key in keys))
    return NamedStep(names.free("scores"), query, "weighted counts")
