"""What labels say of weights, window by window: closed forms where nothing joins choices, and sums over worlds where elimination reaches."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import pyarrow as pa

from sqlrl import markup
from sqlrl.errors import ConvergenceWarning, InputError, Parameter, UnsupportedError, warn
from sqlrl.ground.network import BoolArray, FloatArray, IntArray, Network
from sqlrl.learn.batch.choice_design import Choices, joined_choices
from sqlrl.learn.batch.conditionals import NOTHING, conditionals, joined_atoms
from sqlrl.learn.batch.feasible import feasible_part
from sqlrl.learn.batch.joint import JointLikelihood, LabelledPart, joint, joint_part
from sqlrl.learn.batch.problem import TrainingProblem, raise_conflict
from sqlrl.learn.batch.tied_labels import tied_part
from sqlrl.learn.batch.validation import AtomGroups
from sqlrl.learn.steps import describer
from sqlrl.solve.beyond_elimination import widest
from sqlrl.solve.log_linear import LogLinear, log_linear, reach
from sqlrl.solve.restriction import UnsatisfiableError
from sqlrl.solve.structure import variables_of
from sqlrl.training.labels import Names, hamming_loss, infeasible_truth
from sqlrl.training.shelf import Shelf
from sqlrl.wording import counted

Wide = Literal["error", "pseudo-likelihood", "composite-likelihood"]


@dataclass(frozen=True, eq=False)
class LikelihoodReach:
    """How the likelihood of labels is computed, as numbers of terms."""

    components: int = 0  # summed by elimination
    choices: int = 0  # in closed form
    wide: int = 0  # atoms and blocks of wider components, each given the labels of all others
    _repr_html_ = markup.field_table

    def words(self, wide: Wide) -> str:
        """Say it in a phrase; `wide` is what was done with wider components."""
        parts = [
            (self.components, "elimination over {}", "component"),
            (self.choices, "closed form of {}", "choice"),
        ]
        said = [text.format(counted(number, noun)) for number, text, noun in parts if number]
        each = counted(self.wide, "atom or block", "atoms and blocks")
        return ", ".join([*said, *([f"{wide} of {each}"] if self.wide else [])])

    def __add__(self, other: LikelihoodReach) -> LikelihoodReach:
        return LikelihoodReach(self.components + other.components, self.choices + other.choices, self.wide + other.wide)


def with_loss(problem: TrainingProblem) -> TrainingProblem:
    """Add 1 to the score of a world for each wrong atom, minus a constant, the number of true labels.

    Source: Gimpel and Smith, "Softmax-margin CRFs: training log-linear models with cost functions" (2010), equation 3.
    The constant changes no probability, so that the log-likelihood of the labels is that of the paper.
    """
    network = problem.network
    prior = network.prior + hamming_loss(network, problem.truth)
    return replace(problem, network=replace(network, prior=prior))


def label_part(problem: TrainingProblem, wide: Wide, *, seed: int) -> tuple[LabelledPart, LikelihoodReach]:
    """Return the likelihood of the labels of some examples; `wide` is for components beyond the bounds of elimination."""
    tied = tied_part(problem)
    if tied is not None:
        return tied, LikelihoodReach(len(tied.partition), len(tied.given), 0)
    network, truth = problem.network, problem.truth
    model = _model(problem, seed)
    joined = joined_atoms(model)
    alone = _given(model.select(~joined), problem, blocks=True)
    rest = model.select(joined)
    found = reach(rest)
    given, beyond = alone, 0
    if not found.inside.all():
        if wide == "error":
            raise _too_wide(problem, rest, found.inside)
        left = rest.select(~found.inside)
        more = _each_given_others(problem, left, wide)
        beyond = len(left.free) if wide == "pseudo-likelihood" else len(variables_of(left).exact)
        given = joined_choices([alone, more], atoms=True)
    part = joint_part(found.narrow, found.partition, truth, network.example, given)
    return part, LikelihoodReach(len(found.partition), len(alone), beyond)


def _model(problem: TrainingProblem, seed: int) -> LogLinear:
    network, truth = problem.network, problem.truth
    if len(infeasible_truth(network, truth).clause) == 0:
        try:
            return log_linear(network)
        except UnsatisfiableError:
            raise_conflict(problem, seed)
            raise
    # Hard clauses that cannot all hold are an error of the model, not of the labels; without those that labels violate, they can.
    raise_conflict(problem, seed)
    return log_linear(network, feasible_part(network, truth))


def _given(model: LogLinear, problem: TrainingProblem, *, blocks: bool) -> Choices:
    return conditionals(model, problem.truth[model.free], problem.network.example[model.free], blocks=blocks)


def _each_given_others(problem: TrainingProblem, left: LogLinear, wide: Wide) -> Choices:
    """Return the choices of components beyond the bounds, each given the labels of all others; what these would decide is refused."""
    network = problem.network
    if network.helper[left.free].any():
        clause = problem.names.clause(int(network.clauses[_first_with_helpers(network)]))
        raise UnsupportedError(
            f"{Parameter('wide', wide)} does not count what an atom changes under an EXIST of several targets, or one that is a part of a formula that is "
            f"no clause, as in {clause}: write the rule as clauses, or learn its weight with another "
            "learner"
        )
    found = _given(left, problem, blocks=wide == "composite-likelihood")
    if len(found) == 0:
        kind, other = (
            ("atom", f"{Parameter('wide', 'composite-likelihood')}, or ")
            if wide == "pseudo-likelihood"
            else ("atom or block", "")
        )
        raise InputError(
            f"{Parameter('wide', wide)} has nothing to learn from: given the labels of all others, blocks and hard clauses decide each {kind} of the "
            f"components beyond the bound, which have {counted(len(left.free), 'atom')}; use {other}another learner: MaxMargin, or PSCG with {Parameter('moments', 'mcsat')}"
        )
    return found


def _first_with_helpers(network: Network) -> int:
    """Return the first clause that has a helper atom: rules come before what defines the helper atoms that they need."""
    rows = np.repeat(network.row_clause, np.diff(network.indptr))[network.helper[np.abs(network.literals) - 1]]
    units = network.units[np.flatnonzero(network.helper)].indices
    clause, literal = network.hard_units[:, 0], network.hard_units[:, 1]
    hard = clause[(clause >= 0) & network.helper[np.abs(literal) - 1]]
    return int(np.concatenate([rows, units, hard]).min())


def _too_wide(problem: TrainingProblem, model: LogLinear, inside: BoolArray) -> InputError:
    """Return the error about the first component beyond the bounds."""
    network = problem.network
    found = widest(model, network, outside=~inside)
    assert found is not None
    return InputError(
        f"the exact likelihood needs tables beyond the bound for {counted(found.components, 'component')}, with "
        f"{counted(found.beyond, 'atom')}: {found.words(describer(network, problem.names))}. Take the clause out of the model, narrow the scope "
        f"of what is predicted, or use {Parameter('wide', 'pseudo-likelihood')}, {Parameter('wide', 'composite-likelihood')}, or another learner: MaxMargin, or PSCG with {Parameter('moments', 'mcsat')}"
    )


@dataclass(frozen=True, eq=False)
class Labelled:
    """The likelihood of labels, a sum over o components and choices, for the weights of m clauses, with what learning needs."""

    observed: Choices | JointLikelihood
    names: Names
    clauses: IntArray  # shape (m,): ids
    hard: BoolArray  # shape (m,): clauses that have no weight
    support: pa.Table  # see `support_table`
    reached: LikelihoodReach
    scale: FloatArray  # shape (m,): how wide the prior of each clause is
    groups: AtomGroups | None = None  # atoms that stay together when a strength is chosen
    start: FloatArray | None = None  # shape (m,): weights to start from

    def begun(self, start: FloatArray) -> Labelled:
        """Return the same with weights to start from."""
        return replace(self, start=start)


def observations(shelf: Shelf[LabelledPart], clauses: int) -> Choices | JointLikelihood:
    """Return the likelihood of all labels on a shelf for `clauses` clauses, all that the last part knows."""
    held = list(shelf)
    # Where elimination is needed nowhere, the closed form serves, as long as it stays in memory.
    if shelf.in_memory:
        kept = [each.part() for each in held]
        if not any(len(part.partition) for part in kept):
            # Of several windows places in one network are none in another.
            found = joined_choices([part.given for part in kept], atoms=sum(len(part) > 0 for part in kept) == 1)
            if len(found) == 0:
                raise InputError(NOTHING)
            return found
    whole = joint(held, clauses)
    if len(whole) == 0:
        raise InputError(NOTHING)
    return whole


# ---- without a penalty --------------------------------------------------------------------------------

SAME = 1e-9
"""Gradients up to this, for a count of 1, are rounding."""

SIZES = (1.0, 1e-3)
"""Deviations of random weights: under large ones labels may be as good as certain, so that gradients vanish."""


def warn_unpenalised(problem: Labelled, weights: FloatArray, away: BoolArray, seed: int) -> None:
    """Warn of weights that nothing determines without a penalty, and of those in `away`, shape (m,), that grow without bound."""
    # A count that is the same in all worlds has no gradient under any weights; under random ones all others have one.
    drawn = np.random.default_rng(seed).normal(size=len(weights))
    slopes = [problem.observed.value_and_gradient(size * drawn)[1] for size in SIZES]
    same = np.flatnonzero(~problem.hard & (np.abs(slopes).max(axis=0) <= SAME))
    if len(same):
        first = problem.names.clause(int(problem.clauses[same[0]]))
        warn(
            f"n of {counted(len(same), 'clause')}, the first {first}, is the same in all worlds of the training examples, so that without a "
            "penalty nothing determines the weight: take it out, or give a strength above 0",
            ConvergenceWarning,
        )
    if away.any():
        most = int(np.argmax(np.where(away, np.abs(weights), -1.0)))
        first = problem.names.clause(int(problem.clauses[most]))
        warn(
            f"without a penalty {counted(int(away.sum()), 'weight')} would grow for ever, since the rules tell training labels apart "
            f"perfectly: where learning stopped, that of {first} is {weights[most]:.3g}; give a strength above 0",
            ConvergenceWarning,
        )
