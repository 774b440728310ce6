"""Pseudo-likelihood of random programs: what is maximised, its derivatives and its maximum, against atoms listed one by one."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

import sqlrl
from sqlrl.errors import InputError, ModelError, UnsupportedError
from sqlrl.learn.batch.penalised import fit_weights, make_design
from sqlrl.learn.pseudo.atoms import AtomRows, atom_rows
from sqlrl.training.blankets import BlanketTraining
from tests.effort import draws
from tests.ground.brute import atoms_of
from tests.ground.cases import Case, fill, programs
from tests.learn.pseudo.enumerated import Floats, Listed, is_clause, listed

# A case is a database with its rules and costs about a second; HYPOTHESIS_PROFILE=search looks at as many as it says.
FEW = settings(max_examples=draws(8))
NO_LIMIT = None


@st.composite
def learnable(draw: st.DrawFn) -> Case:
    """A program without `!`; hard rules are clauses, and some of the others have a fixed weight."""
    case = draw(programs(quantifiers=False))
    rules = []
    for rule in case.rules:
        hard = rule.hard and is_clause(rule.formula)
        fixed = not hard and draw(st.integers(0, 4)) == 0
        weight = None if hard else draw(st.sampled_from([-1.5, 0.25, 2.0])) if fixed else 1.0
        # A template has no single weight to fix.
        plus = any(getattr(t, "plus", False) for atom in atoms_of(rule.formula) for t in atom.terms)
        rules.append(replace(rule, hard=hard, weight=1.0 if fixed and plus else weight, fixed=fixed and not plus))
    return replace(case, rules=tuple(rules), block=False)


@contextmanager
def training_of(case: Case, examples: list[str] | None, *, opened: bool) -> Iterator[BlanketTraining]:
    db = sqlrl.connect(threads=1, progress=False)
    fill(db.advanced.catalog, case)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            entered = db.advanced.learning.blankets(case.model, examples=examples, limit=NO_LIMIT, open_only=opened)
            training = entered.__enter__()
        except (ModelError, UnsupportedError):
            reject()
        except InputError as error:
            # Rules may all be hard, or of closed predicates.
            assert "no rules with a weight" in str(error) or "no predicate of the rules is open" in str(error)  # noqa: PT017
            reject()
        try:
            yield training
        finally:
            entered.__exit__(None, None, None)
            db.close()


def both(
    training: BlanketTraining, case: Case, chosen: frozenset[str], *, averaged: bool, opened: bool
) -> tuple[AtomRows, Listed]:
    rows = atom_rows(
        training.partitions, training.sign, training.hard, training.fixed, training.priors, averaged=averaged
    )
    fixed = {i: float(w) for i, w in enumerate(training.fixed[: training.clause_count]) if not np.isnan(w)}
    program = training._program
    return rows, listed(case, program, chosen, fixed, averaged=averaged, opened=opened)


def numerical(rows: AtomRows, weights: Floats) -> Floats:
    step = 1e-5
    units = np.eye(len(weights)) * step
    return np.array([(rows.log_likelihood(weights + u).sum() - rows.log_likelihood(weights - u).sum()) / (2 * step) for u in units])  # fmt: skip


@pytest.mark.slow
@FEW
@given(learnable(), st.booleans(), st.booleans(), st.booleans(), st.integers(0, 2**32 - 1))
def test_value_gradient_and_optimum(case: Case, averaged: bool, opened: bool, some: bool, seed: int) -> None:
    one = case.data.kind == "one"
    chosen = case.subset if some and not one else frozenset(case.data.examples)
    with training_of(case, sorted(chosen) if some and not one else None, opened=opened) as training:
        rows, every = both(training, case, chosen, averaged=averaged, opened=opened)
        width, count = len(training.hard), training.clause_count
        weights = np.zeros(width)
        weights[:count] = np.random.default_rng(seed).normal(size=count) / 3
        value, gradient = rows.value_and_gradient(weights)
        assert value == pytest.approx(every.value(weights[:count]), rel=1e-9, abs=1e-9)
        assert gradient[:count] == pytest.approx(every.gradient(weights[:count]), rel=1e-9, abs=1e-9)
        assert not gradient[count:].any()
        assert gradient == pytest.approx(numerical(rows, weights), rel=1e-4, abs=1e-5)
        assert rows.curvature(weights) == pytest.approx(np.diag(rows.hessian(weights, np.arange(width))))
        fit = fit_weights(make_design(rows), "l2", 0.1, tolerance=1e-9, max_iterations=500)
        assert fit.weights[:count] == pytest.approx(every.optimum(0.1), abs=1e-5)
