"""The diagnosis of a model on the data of a database: which rules speak against them, or say nothing where they could."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

from sqlrl.errors import InputError, Parameter
from sqlrl.logic.model import Model
from sqlrl.solve.sampling.chains import Effort
from sqlrl.structure.beam.clauses import Language
from sqlrl.structure.beam.estimator import member_of
from sqlrl.structure.diagnosis.bins import check_threshold
from sqlrl.structure.diagnosis.diagnosis import Diagnosis, diagnosis
from sqlrl.training.clause_search import clause_search
from sqlrl.training.runs import Run
from sqlrl.training.session import Session

TABLES = {"diagnosis": "found", "diagnosis_grounding": "groundings"}


def diagnose(
    session: Session, model: Model, *, examples: Any, threshold: float, effort: Effort, shown: object, limit: int | None
) -> Diagnosis:
    """Do what `Database.diagnose` does."""
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
