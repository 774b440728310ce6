"""What learners of the structure of soft models are given of a database: declarations, and the graph around a target's labelled atoms."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from sqlrl.errors import InputError, Parameter
from sqlrl.ground.paths import RelationalPaths
from sqlrl.logic.model import Model
from sqlrl.logic.psl import SoftModel
from sqlrl.logic.terms import Predicate
from sqlrl.training.clause_search import declarations
from sqlrl.training.session import Query, Session
from sqlrl.wording import did_you_mean, nearest_names


@dataclass(frozen=True)
class SoftStructureData:
    """A model with the declarations of all predicates that have data, and the graph of their facts."""

    model: SoftModel
    source: RelationalPaths


@contextmanager
def soft_structure(
    session: Session, target: str | SoftModel, *, examples: Any, limit: int | None, symmetric: bool
) -> Iterator[SoftStructureData]:
    """Show the graph around the labelled atoms of a target while the context is open."""
    Query(Model({}), examples, limit=limit).check()
    session.catalog.store.check_writable()
    with session.verb(), session.console.progress("finding paths"), session.engine.turn:
        name, model = _declared(session, target)
        layout = session.catalog.bind(model, training=True)
        plans = session.plans_of(layout)
        with (
            session.examples_table(examples) as chosen,
            RelationalPaths(plans, layout, name, examples=chosen, symmetric=symmetric) as source,
        ):
            yield SoftStructureData(session.catalog.typed(model), source)


def _declared(session: Session, target: str | SoftModel) -> tuple[str, SoftModel]:
    """Return the target, and a model that declares what has data; of a model that is given its rules stay."""
    given: object = target
    if not isinstance(given, str | SoftModel):
        raise InputError(
            f"the target {given!r} is neither the name of a predicate nor a program of probabilistic soft logic"
        )
    known = _known(session)
    if isinstance(target, str):
        if target not in known:
            raise InputError(
                f"{target} has no data{did_you_mean(nearest_names(target, known))}: load its labels with {Parameter('target', True)}"
            )
        return target, SoftModel(known, query=frozenset({target}))
    if len(target.query) != 1:
        raise InputError(
            f"the model has {len(target.query)} open predicates, and structure is learned for one: name it, fit(db, 'Name'), or {Parameter('query', ['Name'])}"
        )
    (name,) = target.query
    return name, replace(target, predicates={**known, **target.predicates})


def _known(session: Session) -> dict[str, Predicate]:
    """Return the predicates with data and arguments, with the types of the data."""
    return {name: predicate for name, predicate in declarations(session).items() if predicate.types}
