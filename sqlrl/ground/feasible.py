"""Hard clauses and blocks that the evidence alone makes impossible."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
from sqlglot import exp

from sqlrl.catalog.layout import PredicateInfo, TableName
from sqlrl.engine.nodes import column
from sqlrl.errors import InfeasibleError
from sqlrl.ground.blocks import BlockRule
from sqlrl.ground.network import Network
from sqlrl.ground.program import Program, ShapeUse
from sqlrl.logic.shapes import Shape, ShapeEquality, ShapeExists, ShapeLiteral, Slot, in_given_order
from sqlrl.logic.terms import Clause, EqualityLiteral, ExistsLiteral, Literal, Variable
from sqlrl.plan.sql import table
from sqlrl.plan.violations import violated_by_evidence
from sqlrl.wording import counted


def check_evidence(program: Program, network: Network, examples: TableName | None = None) -> None:
    r"""Raise if no world can satisfy the hard clauses and blocks because the evidence violates one by itself.

    Parameters
    ----------
    program : Program
    network : Network
        Of the program over the same examples.
    examples : TableName, optional

    Raises
    ------
    InfeasibleError
        Shows one violated ground clause with its constants, and in how many groundings the evidence violates it.

    Examples
    --------
    >>> from sqlrl.ground.assemble import ground_network
    >>> from sqlrl.ground.sample import FRIENDS, PEOPLE, sample_program
    >>> program = sample_program(
    ...     PEOPLE + "\nFriends(x, y) => Friends(y, x).", ["Smokes"], {"Friends": [("Anna", "Bob")]}
    ... )
    >>> check_evidence(program, ground_network(program, check=False))
    Traceback (most recent call last):
    sqlrl.errors.InfeasibleError: the evidence alone violates this hard clause in 1 grounding, so no world is possible: !Friends(Anna, Bob) v Friends(Bob, Anna); ...
    """
    for clause in np.flatnonzero(network.hard & (network.evidence_violated > 0)).tolist():
        found = network.evidence_violated[clause]
        for use in program.shapes.values():
            text = _violated(program, use.shape, use, examples, clause)
            if text is not None:
                raise InfeasibleError(_message(text, f"violates this hard clause in {counted(found, 'grounding')}"))
    for rule in program.blocks:
        if program.layout.predicates[rule.predicate].has_given or _may_be_empty(program, rule):
            _check_block(program, rule, examples)


def _message(text: str, problem: str) -> str:
    return (
        f"the evidence alone {problem}, so no world is possible: {text}; correct these facts, or give the rule a weight"
    )


def _may_be_empty(program: Program, rule: BlockRule) -> bool:
    """Return True if the type of a block may have no constants: in all the data, or in an example."""
    kinds = program.layout.predicates[rule.predicate].types
    types = [program.layout.types[kinds[i]] for i in rule.positions]
    return rule.exact and any(kind.local or not kind.size for kind in types)


def _check_block(program: Program, rule: BlockRule, examples: TableName | None) -> None:
    """Raise if evidence makes two atoms of a block true, or all atoms of a block of which one must be true false."""
    info = program.layout.predicates[rule.predicate]
    for clause, problem in _block_clauses(info, rule):
        shape = in_given_order(clause, lambda predicate, i: program.layout.predicates[predicate].types[i]).shape
        text = _violated(program, shape, ShapeUse(shape, None), examples, None)
        if text is not None:
            raise InfeasibleError(_message(text, problem))


def _block_clauses(info: PredicateInfo, rule: BlockRule) -> Iterator[tuple[Clause, str]]:
    """Yield what a block says as clauses: no two atoms are true, and, if exactly one is, one is."""
    kept = [(f"x{i}", kind) for i, kind in enumerate(info.types)]
    twins = [(f"y{i}" if i in rule.positions else name, kind) for i, (name, kind) in enumerate(kept)]
    one, other = (Literal(info.name, tuple(Variable(n) for n, _ in names), False) for names in (kept, twins))
    variables = tuple(dict.fromkeys([*kept, *twins]))
    for i in rule.positions if info.has_given else ():
        same = EqualityLiteral(Variable(f"x{i}"), Variable(f"y{i}"))
        yield Clause(variables, (one, other, same)), "makes two atoms of a block true"
    if rule.exact and info.full_scope:
        inside = tuple(v for i, v in enumerate(kept) if i in rule.positions)
        outside = tuple(v for i, v in enumerate(kept) if i not in rule.positions)
        some = ExistsLiteral(inside, (Literal(info.name, one.terms),))
        none = "makes every atom of a block false" if info.has_given else "leaves a block without atoms"
        yield Clause(outside, (some,)), f"{none} of which one must be true"


def _violated(
    program: Program, shape: Shape, use: ShapeUse, examples: TableName | None, clause: int | None
) -> str | None:
    """Return a ground clause of a shape that the evidence violates, as text; None if there is none."""
    if clause is not None and use.parameters is None and clause not in use.clauses:
        return None
    query = violated_by_evidence(
        shape, program.layout, parameters=use.parameters, examples=examples, foreign=frozenset(use.foreign)
    )
    if use.parameters is not None:
        query = query.where(exp.EQ(this=column("clause", "p"), expression=exp.convert(clause)))
    rows: pa.Table = program.engine.fetch(query.limit(1), step=f"look for what the evidence violates in {shape}")
    if not rows.num_rows:
        return None
    row = rows.to_pylist()[0]
    names = {slot: _name(program, kind, row[str(slot)]) for slot, kind in _slots(shape) if str(slot) in row}
    return _text(shape, names)


def _slots(shape: Shape) -> Iterator[tuple[Slot, str]]:
    yield from ((Slot(False, i), kind) for i, kind in enumerate(shape.variables))
    yield from ((Slot(True, i), kind) for i, kind in enumerate(shape.parameters))


def _name(program: Program, kind: str, identity: int) -> str:
    query = exp.select(column("name")).from_(table(program.layout.types[kind].dictionary))
    query = query.where(exp.EQ(this=column("id"), expression=exp.convert(identity)))
    found = program.engine.fetch(query, step="look up a name").column(0).to_pylist()
    return str(found[0]) if found else f"a {kind} that the data do not have"


def _text(shape: Shape, names: dict[Slot, str]) -> str:
    """Print a ground clause; quantified variables keep their canonical names."""

    def literal(x: ShapeLiteral) -> str:
        """Return a literal as text."""
        return f"{'' if x.positive else '!'}{x.predicate}({', '.join(names.get(s, str(s)) for s in x.terms)})"

    def equality(x: ShapeEquality) -> str:
        """Return an equality as text."""
        return f"{names.get(x.left, str(x.left))} {'=' if x.positive else '!='} {names.get(x.right, str(x.right))}"

    def group(x: ShapeExists) -> str:
        """Return an existential group as text."""
        inside = " ^ ".join([*map(literal, x.literals), *map(equality, x.equalities)])
        return f"EXIST {','.join(f'v{i}' for i in x.variables)} ({inside})"

    parts = [*map(literal, shape.literals), *map(equality, shape.equalities), *map(group, shape.exists)]
    return " v ".join(parts) or "FALSE"
