"""The diagnosis of a model on the data of a database: which rules speak against them, or say nothing where they could."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from sqlrl.catalog.roles import NONE
from sqlrl.errors import InputError, Parameter
from sqlrl.ground.limits import DENSITY, GROWTH
from sqlrl.logic.model import Model
from sqlrl.report import Table
from sqlrl.solve.sampling.chains import Effort
from sqlrl.structure.beam.clauses import Language
from sqlrl.structure.beam.estimator import member_of
from sqlrl.structure.diagnosis.bins import check_threshold
from sqlrl.structure.diagnosis.diagnosis import Diagnosis, diagnosis
from sqlrl.training.clause_search import clause_search
from sqlrl.training.runs import Run
from sqlrl.training.session import Query, Session

TABLES = {"diagnosis": "found", "diagnosis_grounding": "groundings"}


_USUAL = {
    "threshold": 0.1, "samples": 100, "burn_in": 20, "chains": 4, "random_state": None, "shown": 3, "growth": GROWTH, "density": DENSITY,
}  # fmt: skip
_OF_COSTS = ("growth", "density")
KINDS = ("rules", "overlap", "costs")


def diagnosed(session: Session, asked: Query, kind: str, options: Mapping[str, Any]) -> Diagnosis | Table:
    """Do what `Database.diagnose` does, for each kind."""
    if kind not in KINDS:
        raise InputError(f"kind={kind!r} must be one of {', '.join(map(repr, KINDS))}.")
    own = {"rules": tuple(x for x in _USUAL if x not in _OF_COSTS), "overlap": (), "costs": _OF_COSTS}[kind]
    wrong = [f"{name}={value!r}" for name, value in options.items() if name not in own and value != _USUAL[name]]
    if kind == "rules" and asked.roles != NONE:
        wrong.append("roles=")
    if wrong:
        raise InputError(f"{', '.join(wrong)}: a diagnosis of kind {kind!r} has no such option; leave it out.")
    if kind == "overlap":
        from sqlrl.database.overlaps import overlap

        return overlap(session, asked)
    if kind == "costs":
        from sqlrl.database.constraints import clause_costs, cost_table

        return cost_table(clause_costs(session, asked, growth=options["growth"], density=options["density"]))
    effort = Effort(
        samples=options["samples"],
        burn_in=options["burn_in"],
        chains=options["chains"],
        seed=options["random_state"] or 0,
    )
    return diagnose(
        session,
        asked.model,
        examples=asked.examples,
        threshold=options["threshold"],
        effort=effort,
        shown=options["shown"],
        limit=asked.limit,
    )


def diagnose(
    session: Session, model: Model, *, examples: Any, threshold: float, effort: Effort, shown: object, limit: int | None
) -> Diagnosis:
    """Tell which rules are wrong."""
    check_threshold(threshold)
    if isinstance(shown, bool) or not isinstance(shown, int) or shown < 0:
        raise InputError(f"{Parameter('shown', shown)} is no number of groundings: give an integer of 0 or more")
    if not model.rules:
        raise InputError("the model has no rules, so there is nothing to diagnose: write some")
    run, clock = Run(session.records), time.perf_counter()
    parameters = {"threshold": threshold, "samples": effort.samples, "burn_in": effort.burn_in, "chains": effort.chains}
    with clause_search(session, model, examples=examples, limit=limit) as search, run.ending():
        number = run.begin("diagnose", parameters, effort.seed)
        language = Language(search.predicates, 0, 0, search.example_type)
        members = [member_of(rule, language) for rule in search.rules]
        found = diagnosis(search.rules, members, search.source, effort, threshold, shown=shown)
        with session.records.together():
            for table, name in TABLES.items():
                session.records.append(table, number, getattr(found, name).to_arrow())
            session.records.end_run(number, "done", timings={"diagnosis": time.perf_counter() - clock})
    return replace(found, run=number)
