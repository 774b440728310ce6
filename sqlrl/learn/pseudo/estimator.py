"""Weights by pseudo-likelihood: each atom given all others, of the targets or of all predicates."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated, ClassVar, Self

import numpy as np
import pyarrow as pa

from sqlrl.errors import Parameter, Written
from sqlrl.ground.limits import GROUNDING_LIMIT
from sqlrl.ground.network import FloatArray
from sqlrl.learn.batch.penalised import Penalty, fit_weights, make_design
from sqlrl.learn.convergence import warn_unconverged
from sqlrl.learn.fitted import WeightLearner
from sqlrl.learn.parameters import Above, Option, Whole, check_database, check_parameters, fit_options
from sqlrl.learn.pseudo.atoms import AtomRows, atom_rows
from sqlrl.learn.pseudo.sample import mean_error, sample_rows
from sqlrl.learn.settings import DropZeros, Seed
from sqlrl.learn.start import check_start, recorded_start
from sqlrl.report import Table
from sqlrl.training.blankets import BlanketTraining
from sqlrl.training.fit import INTERRUPTED, Fit, IterationFit, SetAttributes
from sqlrl.training.learning import TrainingDatabase
from sqlrl.training.records import STEP_SCHEMA, Iteration, TrainingRecord

if TYPE_CHECKING:
    from sqlrl.logic.model import Model

STRENGTH = 1e-4
"""A Gaussian prior with a standard deviation of 100."""


class PseudoLikelihood(WeightLearner):
    r"""Learns weights that make each atom probable given all others: generatively, or of the targets alone.

    No atom is listed that is like others: those that are false, and of which all clauses say the same, are counted. So all tuples
    of a relation count, of which only the true ones are stored.

    Parameters
    ----------
    penalty : {"l2", "l1"}
        A Gaussian or a Laplacian prior: what is maximised is the pseudo-log-likelihood less `strength / 2 * sum(w^2)`, or less `strength * sum(|w|)`.
    strength : float
        Above 0. The standard deviation of the Gaussian prior is `strength ** -0.5`, by default 100.
    averaged : bool
        Weighted pseudo-log-likelihood (WPLL): the atoms of each predicate count 1 all together, those that are false among them. Otherwise each atom counts 1
        (PLL), and large relations outweigh small ones.
    discriminative : bool
        Only atoms of the targets count, given all other atoms; by default those of all predicates that rules mention.
    tolerance : float
        Done when the optimality condition is violated by at most this share of the largest gradient at weights of 0.
    max_iterations : int
    sample : int, optional
        The most false atoms of a predicate that are looked at, drawn at random from all of them and each counting for several; all by default. This saves
        steps where nearly every atom is of a kind of its own, as with templates that name constants: kinds that are not drawn are not weighed. It saves
        nothing of the counting by SQL, nor of sorting atoms by kinds, which are exact. `predicates_` says how far the mean may be off.
    random_state : int, optional
        The seed of the sample; 0 by default. The same seed and data give the same bytes.
    drop_zeros : bool, optional
        Leave clauses whose weight is 0 out of `model_`; see `sqlrl.learn.BatchEstimator`.

    Attributes
    ----------
    model_ : Model
        The model with its weights.
    weights_ : float array, shape (m,)
        The weights (log-odds) by clause id; 0 for hard clauses.
    iterations_ : pyarrow.Table
        One row for each iteration; `sqlrl.iteration` has them too.
    support_ : pyarrow.Table
        Columns `clause` and `support`: with how many atoms the number of true groundings of each clause changes.
    predicates_ : Table
        `predicate`, `atoms`, `true`, `rows` (how many kinds of atoms there are), `sampled` (how many false atoms were looked at), `log_likelihood`, the
        mean over its atoms, and `error`: with probability .95 the mean over the sample is no further from that over all atoms, of weights that were not
        learned from this sample; 0 where all false atoms are looked at.
    violated_ : pyarrow.Table
        Columns `clause` and `groundings`: hard clauses that the data violate.
    log_likelihood_ : float
        What is maximised without its penalty.
    optimality_ : float
        The largest violation of the optimality condition at `weights_`; 0 proves the optimum.
    n_statements_ : int
        How many statements counted.
    seconds_ : dict of str to float
        Wall time of `grounding` (counting what flips change), `learning` and `statistics`.
    run_ : int
        The run's number in `sqlrl.run`.
    interrupted_ : bool
        Whether Ctrl-C ended learning: it keeps the best weights so far, as `sqlrl.learn.BatchEstimator` says.

    Notes
    -----
    Source: Kok and Domingos, "Learning the structure of Markov logic networks" (2005), sections 4.1 for WPLL, the Gaussian prior and its deviation, and
    4.3 for samples; Besag (1975) for pseudo-likelihood. The derivative for a weight is the sum over the atoms of the difference that the truth of the
    atom makes to n, times how wrong its probability is. L2: L-BFGS, L1: OWL-QN, and the last digits of both by Newton steps.

    What the sources leave open: an atom without which, or with which, a hard clause would be violated is certain, and adds 0; groundings of hard
    clauses that the data violate say nothing, and a warning counts them. Blocks of which at most one atom is true are such hard clauses; of one with exactly one
    true atom none could change alone, so that a declaration with `!` is refused. Predicates with a scope have the atoms that it lists.
    Under EXIST an atom counts where it alone decides whether there is a witness.

    Examples
    --------
    >>> import sqlrl
    >>> db = sqlrl.connect()
    >>> db.load("Friends", [("Anna", "Bob"), ("Bob", "Anna"), ("Chris", "Dora")], types=["person", "person"])
    >>> db.load("Smokes", [("Anna",), ("Bob",)], types=["person"])
    >>> model = sqlrl.parse_mln(
    ...     '''Friends(person, person)
    ... Smokes(person)
    ... Friends(x, y) ^ Smokes(x) => Smokes(y)
    ... Smokes(x)
    ... Friends(x, y)'''
    ... )
    >>> fit = PseudoLikelihood(strength=0.01).fit(db, model)
    >>> [(row["clause"], round(row["weight"], 2)) for row in fit.clauses()]
    [('Friends(x, y) ^ Smokes(x) => Smokes(y)', 3.94), ('Smokes(x)', -1.4), ('Friends(x, y)', -1.04)]
    >>> fit.predicates_.to_arrow().select(["predicate", "atoms", "true"]).to_pylist()
    [{'predicate': 'Friends', 'atoms': 16, 'true': 3}, {'predicate': 'Smokes', 'atoms': 4, 'true': 2}]
    """

    iterations_: pa.Table
    support_: pa.Table
    predicates_: Table
    violated_: pa.Table
    log_likelihood_: float
    optimality_: float
    n_statements_: int
    interrupted_: bool

    word: ClassVar[str] = "pseudo-likelihood"
    learned = (
        "iterations_",
        "support_",
        "predicates_",
        "violated_",
        "log_likelihood_",
        "optimality_",
        "n_statements_",
        "interrupted_",
    )

    def __init__(
        self,
        penalty: Annotated[Penalty, Option("penalty on the weights")] = "l2",
        strength: Annotated[
            float,
            Above(0, "it weighs the penalty, without which weights can grow without bounds"),
            Option("strength of the penalty"),
        ] = STRENGTH,
        *,
        averaged: Annotated[
            bool,
            Option(
                "each predicate counts as much as another, however many atoms it has", name="--averaged/--not-averaged"
            ),
        ] = True,
        discriminative: Annotated[bool, Option("only atoms of the targets count, given all others")] = False,
        tolerance: Annotated[float, Above(0, "1e-7 is the default"), Option("when to stop")] = 1e-7,
        max_iterations: Annotated[int, Whole(1), Option("most iterations")] = 2000,
        sample: Annotated[
            int | None,
            Whole(1),
            Option("the most false atoms of a predicate that are looked at", default="all"),
        ] = None,
        random_state: Seed = None,
        drop_zeros: DropZeros = None,
    ) -> None:
        self.penalty, self.strength, self.averaged, self.discriminative = penalty, strength, averaged, discriminative
        self.tolerance, self.max_iterations = tolerance, max_iterations
        self.sample, self.random_state, self.drop_zeros = sample, random_state, drop_zeros

    def fit(
        self,
        db: TrainingDatabase,
        model: Model,
        *,
        examples: object = None,
        callback: Callable[[Iteration], object] | None = None,
        checkpoint: bool = False,
        resume: int | None = None,
        limit: int | None = GROUNDING_LIMIT,
        start: Model | None = None,
    ) -> Self:
        """Learn the weights of all rules of a model that are not hard.

        Parameters
        ----------
        db : Database
            The data: what is loaded of a predicate is true, and all else is false.
        model : Model
            Its rules. Templates grow the clauses with whose constants all negated literals of some grounding are true (of conjunctions, all that are not
            negated): bodies that occur; other constants range over their types. With `discriminative` those that the evidence leaves open, as for other
            learners.
        examples : query or list of names, optional
            What to learn from; all examples by default.
        callback, checkpoint, resume
            As `sqlrl.learn.BatchEstimator.fit`; a run that goes on begins anew from the weights that were saved.
        limit : int, optional
            The most groundings that counting may enumerate; None for no limit.
        start : Model, optional
            Where weights begin; the optimum is the same.

        Returns
        -------
        Self
            This estimator.

        Raises
        ------
        InputError
            A parameter is out of range, a query atom has no label, or the model has no rules to learn.
        UnsupportedError
            A rule has EXIST with a predicate whose atoms count twice, or negated, or with several targets, or as a part of a formula that is no clause; or a
            declaration says that exactly one atom of a block is true.
        GroundingLimitError
            Atoms differ in too many ways to be counted.

        Warns
        -----
        InfeasibleTruthWarning
            The data violate hard clauses.
        ConvergenceWarning
            The weights are not as precise as was asked for.
        """
        check_parameters(self)
        check_database(db)
        check_start(start)
        recorded, options = {**self.recorded(), **recorded_start(start)}, fit_options(callback, checkpoint, resume)
        seed, begun_at = self.random_state or 0, time.perf_counter()
        with db.advanced.learning.blankets(
            model, examples=examples, limit=limit, open_only=self.discriminative
        ) as training:
            fit = IterationFit(training, type(self).__name__, recorded, seed, options, since=begun_at)
            whole, drawn = self._rows(training), None
            if self.sample is not None:
                random = np.random.default_rng(seed)
                drawn = [sample_rows(each, self.sample, random) for each in training.partitions.values()]
            rows = whole if drawn is None else self._rows(training, [weights for weights, _ in drawn])
            begun = fit.arrays.get("weight")
            if begun is None and start is not None:
                begun = _padded(training.known_weights(start, 0, training.clause_count)[0], len(training.hard))
            fit.lap("grounding")

            unsaid: list[Callable[[], None]] = []

            def learn() -> FloatArray:
                found = fit_weights(
                    make_design(rows),
                    self.penalty,
                    self.strength,
                    start=begun,
                    tolerance=self.tolerance,
                    max_iterations=self.max_iterations,
                    report=fit.report,
                    done=fit.done,
                )
                if not found.converged:
                    precise = Parameter("tolerance", Written(f"{self.tolerance:g}"))
                    off = f"the optimality condition is still violated by {found.optimality:.3g}, more than {precise} allows"
                    remedy = f"allow more with {Parameter('max_iterations')}, or a greater {Parameter('strength')}"
                    unsaid.append(partial(warn_unconverged, type(self).__name__, found.iterations, off, remedy))
                return found.weights

            set_attributes = fit.learn(
                learn, lambda found, status: self._keep(found(), status, fit, training, whole, rows, drawn)
            )
        for say in unsaid:
            say()
        set_attributes()
        return self

    def _keep(
        self,
        found: FloatArray,
        status: str,
        fit: IterationFit,
        training: BlanketTraining,
        whole: AtomRows,
        rows: AtomRows,
        drawn: Sequence[tuple[FloatArray, int]] | None,
    ) -> SetAttributes:
        table, predicates = fit.rows("iteration"), _predicates(training, whole, rows, drawn, found)
        kept = keep_weights(training, found, fit, status, table, drop_zeros=bool(self.drop_zeros))
        likelihood = float(rows.log_likelihood(found).sum())

        def set_attributes() -> None:
            self.model_, self.weights_, self.iterations_, self.support_ = kept.model, kept.weights, table, kept.support
            self.predicates_, self.log_likelihood_ = Table(predicates), likelihood
            self.optimality_, self.interrupted_ = table["optimality"][-1].as_py(), status == INTERRUPTED
            self.n_statements_, self.violated_ = training.statements, training.violated
            self.seconds_, self.run_, self._table = fit.seconds, fit.run, kept.clauses

        return set_attributes

    def _rows(self, training: BlanketTraining, weights: Sequence[FloatArray] | None = None) -> AtomRows:
        return atom_rows(
            training.partitions, training.sign, training.hard, training.fixed, training.priors,
            averaged=self.averaged, weights=weights,
        )  # fmt: skip

    def _facts(self) -> list[tuple[str, str]]:
        found = self.predicates_.to_arrow()
        atoms, rows = (sum(found.column(name).to_pylist()) for name in ("atoms", "rows"))
        return [
            ("atoms", f"{atoms:,} of {rows:,} kinds"),
            ("iterations", f"{self.iterations_.num_rows:,}{', interrupted there' if self.interrupted_ else ''}"),
            *super()._facts(),
        ]


@dataclass(frozen=True, eq=False)
class KeptWeights:
    """What is kept of weights that were learned."""

    model: Model
    weights: FloatArray  # by clause id
    support: pa.Table
    clauses: pa.Table  # as `clauses()` shows them


def keep_weights(
    training: BlanketTraining,
    found: FloatArray,
    fit: Fit,
    status: str,
    iterations: pa.Table,
    *,
    drop_zeros: bool = False,
) -> KeptWeights:
    """Make the model with weights, and end the run."""
    weights, support = training.chosen_weights(found), support_table(training)
    record = TrainingRecord(
        fit.learner, fit.parameters, fit.seed, fit.started, fit.seconds, STEP_SCHEMA.empty_table(), support, iterations,
        status=status, drop_zeros=drop_zeros,
    )  # fmt: skip
    learned = training.model(weights, record)
    fit.lap("statistics")
    return KeptWeights(learned, weights, support, training.clauses(weights, support))


def _padded(weights: FloatArray, size: int) -> FloatArray:
    return np.concatenate([weights, np.zeros(size - len(weights))])


def support_table(training: BlanketTraining) -> pa.Table:
    """Return with how many atoms n of each clause changes."""
    support = np.zeros(len(training.hard), dtype=np.int64)
    for partition in training.partitions.values():
        says = (partition.positive - partition.negative) != 0
        support += np.asarray(says.T.astype(np.int64) @ partition.count, dtype=np.int64)
    count = training.clause_count
    return pa.table({"clause": np.arange(count), "support": support[:count]})


def _predicates(
    training: BlanketTraining,
    whole: AtomRows,
    rows: AtomRows,
    drawn: Sequence[tuple[FloatArray, int]] | None,
    weights: FloatArray,
) -> pa.Table:
    """Return how probable the atoms of each predicate are, and how far that may be off where some were drawn."""
    found = list(training.partitions.values())
    truth, false = ([int(p.count[p.truth == value].sum()) for p in found] for value in (True, False))
    looked = false if drawn is None else [number for _, number in drawn]
    # Where rows count as shares of a predicate their sum is the mean.
    shared = [1 if rows.averaged else max(p.total, 1) for p in found]
    mean = np.bincount(rows.predicate, rows.log_likelihood(weights), minlength=len(found)) / np.array(shared)
    error = [
        mean_error(_width(whole.log_probability(weights), whole, i, false[i]), looked[i], false[i])
        * (false[i] / max(p.total, 1))
        for i, p in enumerate(found)
    ]
    return pa.table(
        {
            "predicate": pa.array(list(training.partitions), pa.string()),
            "atoms": pa.array([p.total for p in found], pa.int64()),
            "true": pa.array(truth, pa.int64()),
            "rows": pa.array([int((p.count > 0).sum()) for p in found], pa.int64()),
            "sampled": pa.array(looked, pa.int64()),
            "log_likelihood": mean,
            "error": pa.array(error, pa.float64()),
        }
    )


def _width(value: FloatArray, rows: AtomRows, predicate: int, false: int) -> float:
    """Return how far apart the log-likelihoods of the false atoms of a predicate are."""
    here = (rows.predicate == predicate) & ~rows.truth
    own = value[here]
    if rows.atoms[here].sum() < false:
        # Those that hard clauses leave no choice are certain.
        own = np.append(own, 0.0)
    return float(own.max() - own.min()) if len(own) else 0.0
