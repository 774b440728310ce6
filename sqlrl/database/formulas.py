"""A formula in place of a model: the model whose last rule it is, and the clauses that are its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeGuard

import pyarrow as pa
import pyarrow.compute as pc

from sqlrl.arguments import given
from sqlrl.database.inferred import Inferred
from sqlrl.errors import InputError, ParseError
from sqlrl.ground.program import Program
from sqlrl.logic.formulas import parse_formula
from sqlrl.logic.lexer import check_text
from sqlrl.logic.model import Model, Rule
from sqlrl.logic.printer import placed
from sqlrl.logic.subformulas import atoms_of
from sqlrl.logic.terms import Argument, Predicate
from sqlrl.training.session import Session, check_model


def is_formula(value: object) -> TypeGuard[str]:
    """Whether a text stands in place of a model, and is no path of one."""
    return isinstance(value, str) and given(value) == "text"


def formula_model(session: Session, text: object, around: object, world: Any) -> Model:
    """Return the model whose last rule is a formula, of predicates of the model `around` it or of loaded ones."""
    check_text(text, "a formula", "write it out, such as 'Friends(x, y) => Smokes(y)'")
    assert isinstance(text, str)
    records = session.catalog.predicates()
    known = {name: Predicate(name, tuple(map(Argument, record.known_types()))) for name, record in records.items()}
    # The other rules are those of the model, or of the world's prediction: constants that they name are in the domains.
    if around is None:
        around = (
            world.asked.model if isinstance(world, Inferred) and isinstance(world.asked.model, Model) else Model({})
        )
    check_model(around)
    assert isinstance(around, Model)
    hard = False
    try:
        formula = parse_formula(text, {**known, **around.predicates})
    except ParseError:
        # With `.` at its end it is a hard rule, as tables of clauses print it.
        if not text.rstrip().endswith("."):
            raise
        formula, hard = parse_formula(text.rstrip()[:-1], {**known, **around.predicates}), True
    names = dict.fromkeys(atom.predicate for atom in atoms_of(formula))
    used = {name: known[name] for name in names if name not in around.predicates}
    types = session.catalog.types()
    kinds = {kind for predicate in used.values() for kind in predicate.types}
    bins = {kind: types[kind].bins for kind in sorted(kinds & types.keys()) if types[kind].bins}
    whole = replace(around, predicates={**around.predicates, **used}, bins={**around.bins, **bins}, semantics="exact")
    return whole.with_rules((*around.rules, Rule(formula, None if hard else 0.0, hard=hard)))


def formula_features(program: Program) -> list[int]:
    """Return the features of the last rule that was given."""
    owners = {id(rule): owner for rule, owner in zip(program.model.rules, program.owners, strict=True)}
    last = max(program.owners, default=0)
    return [i for i, bound in enumerate(program.features) if bound.rule is not None and owners[id(bound.rule)] == last]


def check_expanded(program: Program, features: Sequence[int]) -> None:
    """Refuse a formula with `+` variables that stands for no clause, which says nothing of its groundings."""
    if features and not any(i in features for i in program.feature_of):
        bound = program.features[features[0]]
        assert bound.rule is not None
        names = " and ".join(f"+{name}" for name in bound.feature.plus)
        raise InputError(
            f"{placed(bound.rule)}: {names} has no constants for which the evidence leaves the formula open, so that there is no clause to "
            "count: write it without +, and count by it"
        )


def renumbered(program: Program, data: pa.Table) -> pa.Table:
    """Return counts of the clauses of a formula, whose column `clause` then counts from 0, as if the model had no other rule."""
    own = set(formula_features(program))
    first = next((clause for clause, feature in enumerate(program.feature_of) if feature in own), 0)
    place = data.schema.get_field_index("clause")
    return data.set_column(place, "clause", pc.subtract(data.column("clause"), first))
