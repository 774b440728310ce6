"""Compiled scorers, against predictions and probabilities of the database, on random programs over random data."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given, reject, settings
from hypothesis import strategies as st

import sqlrl
from sqlrl.database.scorer import Scorer
from sqlrl.errors import GroundingLimitError, InfeasibleError, ModelError, UnsupportedError
from tests.effort import draws
from tests.ground.cases import GLOBAL, Case, counted, fill, mixed, rules, sentences, witnessed

# A case is a database with five rules; HYPOTHESIS_PROFILE=search looks at as many as it says.
FEW = settings(max_examples=draws(6))


def facts_of(case: Case, examples: frozenset[str]) -> dict[str, list[tuple[object, ...]]]:
    """What is handed over of some examples: closed facts, and what is given of open predicates, as probabilities."""
    found: dict[str, list[tuple[object, ...]]] = {}
    for name, rows in case.closed.items():
        if name not in GLOBAL:
            found[name] = [row for row in sorted(rows) if row[0] in examples]
    for name in case.opened:
        known = [(*row, float(value)) for row, value in sorted(case.given[name].items()) if row[0] in examples]
        known += [(*row, value) for row, value in sorted(case.soft[name].items()) if row[0] in examples]
        found[name] = known
    return found


def compiled(db: sqlrl.Database, case: Case, *, plain: bool) -> tuple[sqlrl.Model, Scorer]:
    """The rules of a case that can be scored from one example alone."""
    kept = []
    for rule in case.rules:
        model = replace(case.model, rules=(rule,))
        try:
            program = model.compile(db).program
        except (ModelError, UnsupportedError):
            continue
        if not (plain and (program.templates or program.helpers)):
            kept.append(rule)
    model = replace(case.model, rules=tuple(kept))
    assume(kept)
    return model, model.compile(db)


def rows_of(table: pa.Table, value: str) -> dict[tuple[object, ...], float]:
    names = [
        name
        for name in table.column_names
        if name not in ("truth", "probability", "error", "rhat", "ess", "method", "margin")
    ]
    keys = zip(*(table[name].to_pylist() for name in names), strict=True)
    return dict(zip(keys, table[value].to_pylist(), strict=True))


def check(case: Case, weights: list[float], *, plain: bool = False) -> None:
    """The same worlds, scores and probabilities as the database, of all examples and of some."""
    case = replace(
        case,
        scope={},
        rules=tuple(
            rule if rule.hard else replace(rule, weight=w) for rule, w in zip(case.rules, weights, strict=True)
        ),
    )
    assume(case.kind != "one")
    with sqlrl.connect(threads=1, progress=False) as db, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fill(db.advanced.catalog, case)
        model, scorer = compiled(db, case, plain=plain)
        for examples in (frozenset(case.data.examples), case.subset):
            facts = facts_of(case, examples)
            try:
                expected = db.predict(model, examples=sorted(examples))
            except InfeasibleError:
                with pytest.raises(InfeasibleError):
                    scorer.predict(facts)
                continue
            except GroundingLimitError:
                reject()
            found = scorer.predict(facts)
            assert (found.world == found.result.world).all()
            assert found.network.total.sum() == expected.network.total.sum()
            assert found.objective == pytest.approx(expected.objective, rel=1e-12, abs=1e-12)
            probable = db.probabilities(model, examples=sorted(examples))
            for name in case.opened:
                assert rows_of(found.atoms(name, every=True), "truth") == rows_of(
                    expected.atoms(name, every=True), "truth"
                )
                one = rows_of(found.probabilities(name), "probability")
                other = rows_of(probable.atoms(name), "probability")
                assert one.keys() == other.keys()
                assert np.allclose([one[key] for key in other], list(other.values()), rtol=0, atol=1e-12)


WEIGHTS = st.lists(st.sampled_from([-2.5, -1.0, -0.3, 0.4, 1.0, 1.7]), min_size=5, max_size=5)


@FEW
@given(mixed(rules, rules, rules, rules, rules), WEIGHTS)
def test_rules(case: Case, weights: list[float]) -> None:
    check(case, weights)


@FEW
@given(mixed(counted, counted, counted, rules, rules), WEIGHTS)
def test_counted_variables(case: Case, weights: list[float]) -> None:
    check(case, weights)


@FEW
@given(mixed(witnessed, witnessed, witnessed, rules, sentences), WEIGHTS)
def test_witnesses(case: Case, weights: list[float]) -> None:
    check(case, weights)


@FEW
@given(mixed(rules, rules, counted, counted, witnessed), WEIGHTS)
def test_rules_without_templates(case: Case, weights: list[float]) -> None:
    """Skeletons of these are kept, and their worlds found without the networks of `mpe`."""
    check(case, weights, plain=True)
