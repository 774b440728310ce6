"""Weights by pseudo-likelihood: each atom given all others, of the targets or of all predicates."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, ClassVar, Self

import numpy as np
import pyarrow as pa
from threadpoolctl import threadpool_limits

from sqlrl.errors import ConvergenceWarning, InputError, warn
from sqlrl.ground.network import GROUNDING_LIMIT, FloatArray
from sqlrl.learn.batch.penalised import Penalty, fit_weights, make_design
from sqlrl.learn.batch.problem import Iteration, iteration_table
from sqlrl.learn.fitted import Fitted
from sqlrl.learn.parameters import Above, Option, Whole, check_callback, check_database, check_parameters
from sqlrl.learn.protocols import STEP_SCHEMA, TrainingRecord
from sqlrl.learn.pseudo.atoms import AtomRows, atom_rows
from sqlrl.learn.pseudo.protocols import BlanketDatabase, BlanketTraining
from sqlrl.learn.start import check_start, recorded_start
from sqlrl.progress import Stage
from sqlrl.report import Table

if TYPE_CHECKING:
    from sqlrl.logic.model import Model

STRENGTH = 1e-4
"""A Gaussian prior with a standard deviation of 100."""


class PseudoLikelihood(Fitted):
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

    Attributes
    ----------
    model_ : Model
        The model with its weights.
    weights_ : float array, shape (m,)
        The weights (log-odds) by clause id; 0 for hard clauses.
    iterations_ : pyarrow.Table
        One row for each iteration; `sqlrl.iteration` has them too.
    support_ : pyarrow.Table
        Columns `clause` and `support`: of how many atoms each clause says something.
    predicates_ : Table
        `predicate`, `atoms`, `true`, `rows` (how many kinds of atoms there are) and `log_likelihood`, the mean over its atoms.
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

    Notes
    -----
    Source: Kok and Domingos, "Learning the structure of Markov logic networks" (2005), section 4.1, for WPLL, the Gaussian prior and its deviation;
    Besag (1975) for pseudo-likelihood. The derivative for a weight is the sum over the atoms of the difference that the truth of the
    atom makes to n, times how wrong its probability is. L2: L-BFGS, L1: OWL-QN, and the last digits of both by Newton steps.

    What the sources leave open: an atom without which, or with which, a hard clause would be violated is certain, and adds 0; groundings of hard
    clauses that the data violate say nothing, and a warning counts them. Blocks of which at most one atom is true are such hard clauses; of one with exactly one
    true atom none could change alone, so that a declaration with `!` is refused. Predicates with a scope have the atoms that it lists.

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
    log_likelihood_: float
    optimality_: float
    n_statements_: int

    word: ClassVar[str] = "pseudo-likelihood"
    learned = ("iterations_", "support_", "predicates_", "log_likelihood_", "optimality_", "n_statements_")

    def __init__(
        self,
        penalty: Annotated[Penalty, Option("of the weights")] = "l2",
        strength: Annotated[
            float,
            Above(0, "it weighs the penalty, without which weights can grow without bounds"),
            Option("weight of the penalty"),
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
        max_iterations: Annotated[int, Whole(1), Option("at most")] = 2000,
    ) -> None:
        self.penalty, self.strength, self.averaged, self.discriminative = penalty, strength, averaged, discriminative
        self.tolerance, self.max_iterations = tolerance, max_iterations

    def fit(
        self,
        db: BlanketDatabase,
        model: Model,
        examples: object = None,
        *,
        on_iteration: Callable[[Iteration], None] | None = None,
        limit: int | None = GROUNDING_LIMIT,
        start: Model | None = None,
    ) -> Self:
        """Learn the weights of all rules of a model that are not hard.

        Parameters
        ----------
        db : Database
            The data: what is loaded of a predicate is true, and all else is false.
        model : Model
            Its rules; templates grow the clauses that the examples show constants for.
        examples : query or list of names, optional
            What to learn from; all examples by default.
        on_iteration : callable, optional
            Called with an `Iteration` after each.
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
            A rule has quantifiers inside, or a declaration says that exactly one atom of a block is true.
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
        check_callback("on_iteration", on_iteration)
        recorded = {**self.recorded(), **recorded_start(start)}
        started, name, seconds = datetime.now(UTC), type(self).__name__, dict[str, float]()
        iterations: list[Iteration] = []
        learning = Stage("learning weights")

        def report(iteration: Iteration) -> None:
            iterations.append(iteration)
            learning.advance(0, note=iteration.note())
            if on_iteration is not None:
                on_iteration(iteration)

        if all(rule.hard or rule.fixed for rule in model.rules):
            raise InputError("the model has no rules with a weight to learn: write some (weights after '@' are fixed)")
        clock = time.perf_counter()
        with db.learning.blankets(model, examples=examples, limit=limit, opened=self.discriminative) as training:
            number = training.begin(name, recorded, 0)
            rows = atom_rows(training.partitions, training.sign, training.hard, training.fixed, averaged=self.averaged)
            seconds["grounding"] = time.perf_counter() - clock
            clock = time.perf_counter()
            with threadpool_limits(limits=1, user_api="blas"), learning:
                begun = (
                    None
                    if start is None
                    else _padded(training.known_weights(start, 0, training.clause_count)[0], len(training.hard))
                )
                fit = fit_weights(
                    make_design(rows),
                    self.penalty,
                    self.strength,
                    start=begun,
                    tolerance=self.tolerance,
                    max_iterations=self.max_iterations,
                    report=report,
                )
            seconds["learning"] = time.perf_counter() - clock
            clock = time.perf_counter()
            weights = np.where(np.isnan(training.fixed), fit.weights, training.fixed)[: training.clause_count]
            support, table = support_table(training), iteration_table(iterations)
            predicates = _predicates(training, rows, fit.weights, averaged=self.averaged)
            record = TrainingRecord(name, recorded, 0, started, seconds, STEP_SCHEMA.empty_table(), support, table)
            learned = training.model(weights, record)
            seconds["statistics"] = time.perf_counter() - clock
            listed = training.clauses(weights, support)
            self.n_statements_ = training.statements
        if not fit.converged:
            warn(
                f"the weights are not as precise as tolerance={self.tolerance:g} asks for after {len(iterations) - 1:,} iterations (optimality "
                f"{fit.optimality:.3g}): allow more with max_iterations=, or a greater strength=",
                ConvergenceWarning,
            )
        self.model_, self.weights_, self.iterations_, self.support_ = learned, weights, table, support
        self.predicates_, self.log_likelihood_ = Table(predicates), float(rows.log_likelihood(fit.weights).sum())
        self.optimality_, self.seconds_, self.run_ = fit.optimality, seconds, number
        self._table = listed
        return self

    def _facts(self) -> list[tuple[str, str]]:
        found = self.predicates_.to_arrow()
        atoms, rows = (sum(found.column(name).to_pylist()) for name in ("atoms", "rows"))
        return [
            ("atoms", f"{atoms:,} of {rows:,} kinds"),
            ("iterations", f"{self.iterations_.num_rows:,}"),
            *super()._facts(),
        ]


def _padded(weights: FloatArray, size: int) -> FloatArray:
    return np.concatenate([weights, np.zeros(size - len(weights))])


def support_table(training: BlanketTraining) -> pa.Table:
    """Return of how many atoms each clause says something."""
    support = np.zeros(len(training.hard), dtype=np.int64)
    for partition in training.partitions.values():
        says = (abs(partition.negative) + abs(partition.positive)) != 0
        support += np.asarray(says.T.astype(np.int64) @ partition.count, dtype=np.int64)
    count = training.clause_count
    return pa.table({"clause": np.arange(count), "support": support[:count]})


def _predicates(training: BlanketTraining, rows: AtomRows, weights: FloatArray, *, averaged: bool) -> pa.Table:
    """Return how probable the atoms of each predicate are."""
    found = training.partitions
    total = np.bincount(rows.predicate, rows.log_likelihood(weights), minlength=len(found))
    atoms = [partition.domain.count for partition in found.values()]
    mean = total if averaged else total / np.maximum(np.array(atoms, dtype=np.float64), 1.0)
    return pa.table(
        {
            "predicate": pa.array(list(found), pa.string()),
            "atoms": pa.array(atoms, pa.int64()),
            "true": pa.array([len(partition.domain.true) for partition in found.values()], pa.int64()),
            "rows": pa.array([len(partition.count) for partition in found.values()], pa.int64()),
            "log_likelihood": mean,
        }
    )
