"""Structure of soft models as an estimator: clauses of paths, and those that piecewise pseudo-likelihood or a greedy search keeps."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
import pyarrow as pa

from sqlrl.deprecated import takes_old_parameters
from sqlrl.errors import NothingFoundWarning, Parameter, warn
from sqlrl.ground.limits import GROUNDING_LIMIT, MissingAtoms, check_missing
from sqlrl.ground.network import FloatArray
from sqlrl.learn.convergence import warn_unconverged
from sqlrl.learn.fitted import Fitted
from sqlrl.learn.parameters import AtLeast, Option, Whole, check_database, fit_options
from sqlrl.learn.soft.atom_hinges import atom_hinges
from sqlrl.learn.soft.estimator import recorded_missing, run_record
from sqlrl.learn.soft.piecewise import SoftPiecewiseLikelihood
from sqlrl.learn.soft.pseudo_likelihood import SoftPseudoLikelihood
from sqlrl.learn.soft.settings import OnUnlabelled, Penalty, SoftWeights, Strength, check_soft_parameters, saved
from sqlrl.logic.psl import LogicalRule, SoftModel
from sqlrl.logic.terms import Literal as Atom
from sqlrl.logic.terms import Variable
from sqlrl.structure.soft.greedy import GreedyRules, GreedySearch, Least, Most, greedy_rules
from sqlrl.structure.soft.paths import (
    By,
    ConstantLength,
    Constants,
    Length,
    MinTargets,
    Negations,
    PathClauses,
    PathParameters,
    Simple,
    Squared,
    Top,
    path_clauses,
)
from sqlrl.structure.time_limit import DAY, SearchTime, TimeLimit
from sqlrl.training.fit import INTERRUPTED, IterationFit, SetAttributes
from sqlrl.training.learning import TrainingDatabase
from sqlrl.training.records import Iteration
from sqlrl.training.soft import SoftTraining
from sqlrl.wording import counted


@dataclass(frozen=True, eq=False)
class _Weighed:
    # Weights of all candidates, shape (m,), and what a greedy search found if there was one.

    weights: FloatArray
    greedy: GreedyRules | None

    @classmethod
    def of_greedy(cls, found: GreedyRules, rules: int) -> _Weighed:
        """Return the weights of what a greedy search found among so many rules."""
        weights = np.zeros(rules)
        weights[found.rules] = found.weights
        return cls(weights, found)


@takes_old_parameters
@dataclass(kw_only=True, eq=False, repr=False)
class SoftStructure(Fitted):
    r"""Learns the rules of a soft model for a target of two arguments, and their weights.

    The candidates are the clauses of the paths of relations that connect the arguments of labelled atoms, their negations, and a negative prior.

    Parameters
    ----------
    method : {"ppll", "gls"}
        Piecewise pseudo-likelihood: the rules whose weight, each by itself, is above 0; or greedy local search by pseudo-likelihood.
    length, min_targets, top, by, simple, constants, constant_length, negations, squared
        As in `PathParameters`.
    symmetric : bool
        Whether an atom of the target is as good the other way round.
    negative_prior : bool
        Whether `!Target(A, B)` is a candidate, too, which the model has in any case.
    least_prior : float
        The least weight of that in the model. Where most labels are true its own weight is 0, and without it rules that lift atoms would all lift
        them to 1, so that none comes before another.
    penalty, strength, unlabelled
        As in `SoftPseudoLikelihood`.
    most, least
        As in `GreedySearch`.
    steps : int, optional
        Learn weights by so many steps along the gradient, as the source does (150 of "ppll", 15 of each model of "gls"); by default to the maximum.
    time_limit : float
        The most seconds that a greedy search may take: its first minute tells how long it would, and one that would take longer is refused.

    Attributes
    ----------
    model_ : SoftModel
        The rules with a weight above 0.
    candidates_ : PathClauses
        The clauses of paths.
    weights_ : float array, shape (m,)
        Of all m candidates: the rules of the model that was given, the negative prior, the clauses of paths.
    greedy_ : GreedyRules or None
        In which order rules came, and the scores.
    seconds_ : dict of str to float
        Wall time of `paths`, `grounding`, `learning` and `statistics`.
    run_ : int
        The run's number in `sqlrl.run`.

    Notes
    -----
    Source: Embar, Sridhar, Farnadi, Getoor, "Scalable Structure Learning for Probabilistic Soft Logic" (2018). Atoms of the target in bodies are
    what is observed of it (`given=True`), and 0 else; labels stand in no body. So predict with `observed_bodies=True`, and
    with `missing="false"` where the target has a scope and paths connect other pairs, too.

    No rule is tested on labels that were held out: of 400 pairs with random labels "gls" kept 4 rules on average and "ppll" 6, some in 20 of 20 drawings. Score what it found on
    pairs that it has not seen.

    Examples
    --------
    >>> import sqlrl
    >>> db = sqlrl.connect()
    >>> db.load("Parent", [("a", "b"), ("b", "c"), ("d", "e"), ("e", "f")], types=["person", "person"])
    >>> labels = [("a", "c", 1.0), ("d", "f", 1.0), ("a", "b", 0.0), ("d", "c", 0.0)]
    >>> db.load("Grandparent", labels, columns=[0, 1], types=["person", "person"], value=2, target=True)
    >>> db.scope("Grandparent", [row[:2] for row in labels])
    >>> learner = sqlrl.SoftStructure(length=2, min_targets=1).fit(db, "Grandparent")
    >>> for row in learner.clauses():
    ...     print(round(row["weight"], 3), row["clause"])
    1.0 !Grandparent(A, B)
    0.571 Parent(E1, E2) & Parent(E2, E3) -> Grandparent(E1, E3)
    0.307 Parent(E1, E2) -> !Grandparent(E1, E2)
    """

    word: ClassVar[str] = "soft-structure"

    method: Annotated[
        Literal["ppll", "gls"], Option("piecewise pseudo-likelihood, or a greedy search", name="--search")
    ] = "ppll"
    length: Length = 3
    min_targets: MinTargets = 10
    top: Top = 50
    by: By = "support"
    simple: Simple = True
    constants: Constants = False
    constant_length: ConstantLength = 1
    negations: Negations = True
    squared: Squared = True
    symmetric: Annotated[bool, Option("an atom is as good the other way round")] = False
    negative_prior: Annotated[
        bool, Option("no candidate that says that atoms are false", name="--no-negative-prior")
    ] = True
    least_prior: Annotated[
        float, AtLeast(0.0, "1 is the default"), Option("the least weight of the rule that says that atoms are false")
    ] = 1.0
    penalty: Penalty = "l2"
    strength: Strength = 1.0
    unlabelled: OnUnlabelled = "error"
    most: Most = 20
    least: Least = 1e-3
    steps: Annotated[
        int | None,
        Whole(1),
        Option("steps along the gradient in place of the maximum", name="--gradient-steps", default="the maximum"),
    ] = None
    time_limit: TimeLimit = DAY

    model_: SoftModel = field(init=False)  # type: ignore[assignment]
    candidates_: PathClauses = field(init=False)
    greedy_: GreedyRules | None = field(init=False)
    iterations_: pa.Table = field(init=False)
    interrupted_: bool = field(init=False)

    learned: ClassVar[tuple[str, ...]] = ("candidates_", "greedy_", "iterations_", "interrupted_")

    def __post_init__(self) -> None:
        check_soft_parameters(self)

    def fit(
        self,
        db: TrainingDatabase,
        target: str | SoftModel,
        *,
        examples: object = None,
        callback: Callable[[Iteration], object] | None = None,
        checkpoint: bool = False,
        resume: int | None = None,
        limit: int | None = GROUNDING_LIMIT,
        missing: MissingAtoms = "error",
    ) -> Self:
        """Learn rules about a target and their weights.

        Parameters
        ----------
        db : Database
            The data: facts, what is observed of the target, and labels of its query atoms, true and false ones.
        target : str or SoftModel
            The predicate; or a model with one open predicate, whose rules are candidates, too.
        examples : query or list of names, optional
            What to learn from; all examples by default.
        callback, checkpoint, resume
            As `sqlrl.learn.soft.estimator.SoftEstimator.fit`: steps are iterations of the learner of weights, or rules of the greedy search. A run that goes on
            finds its paths again.
        limit : int, optional
            The most ground rules of one candidate; None for no limit.
        missing : {"error", "open", "false"}
            What an atom of a predicate with a scope is that the rules of the model which is given reach and that is neither observed nor in the
            scope, as in `Database.predict`. Candidates that the search makes are weighed on the atoms that are listed, whatever else they reach.

        Returns
        -------
        Self
            This estimator.

        Raises
        ------
        InputError
            A parameter is out of range, the target has no labels, or fewer than `min_targets`.
        UnsupportedError
            The target has not two arguments.
        TimeLimitError
            A greedy search would take more time than `time_limit`. The rules of its first minute are kept, and it can be resumed if it was saved.
        GroundingLimitError
            A step of the search has more walks, or a candidate more groundings, than the limit; counted before.
        MissingAtomError
            Rules of the model that is given reach atoms that are neither observed nor in the scope of their predicate.
        UnboundedWeightError
            Without a penalty a rule that labels never violate would have an infinite weight.

        Warns
        -----
        NothingFoundWarning
            No candidate has a weight above 0.
        """
        check_soft_parameters(self)
        check_database(db)
        check_missing(missing)
        options, clock = fit_options(callback, checkpoint, resume), time.perf_counter()
        with db.advanced.learning.soft_structure(
            target, examples=examples, limit=None, symmetric=self.symmetric
        ) as data:
            found = path_clauses(data.source, self._paths())
            model = data.model.with_rules((*data.model.rules, *self._beside(data.source.target), *found.rules))
        paths, clock = time.perf_counter() - clock, time.perf_counter()
        with db.advanced.learning.soft_training(
            model, examples=examples, limit=limit, observed_bodies=True, missing=missing, written=len(data.model.rules)
        ) as training:
            recorded = {**self.recorded(), **recorded_missing(missing)}
            fit = IterationFit(training, type(self).__name__, recorded, 0, options, things="rules", since=clock)
            fit.seconds = {"paths": fit.seconds.pop("paths", 0.0) + paths, **fit.seconds}
            fit.lap("grounding")

            def keep(weighed: Callable[[], _Weighed], status: str) -> SetAttributes:
                return self._keep(weighed(), status, fit, training, model, found)

            set_attributes = fit.learn(lambda: self._weighed(training, fit), keep, failed=True)
        set_attributes()
        if not any(self.weights_[len(model.rules) - len(found) :] > 0):
            warn(
                f"none of {counted(len(found), 'clause')} of paths got a weight above 0: allow longer paths, fewer targets for each ({Parameter('min_targets')}), or "
                f"less {Parameter('strength')}",
                NothingFoundWarning,
            )
        return self

    def _keep(
        self,
        weighed: _Weighed,
        status: str,
        fit: IterationFit,
        training: SoftTraining,
        model: SoftModel,
        found: PathClauses,
    ) -> SetAttributes:
        weights, table = self._with_prior(weighed.weights, model, found), fit.rows("iteration")
        kept = [i for i, rule in enumerate(model.rules) if rule.hard or weights[i] > 0]
        learned = training.finish(weights, run_record(fit, status), kept)
        fit.lap("statistics")

        def set_attributes() -> None:
            self.model_, self.weights_, self.candidates_, self.greedy_ = learned, weights, found, weighed.greedy
            self.iterations_, self.seconds_, self.run_, self.interrupted_ = (
                table,
                fit.seconds,
                fit.run,
                status == INTERRUPTED,
            )
            self._table = _clause_table(model, weights, found)

        return set_attributes

    def recorded(self) -> dict[str, object]:
        """Return the constructor's arguments by name as values of JSON, without the time limit, with another of which a run goes on."""
        return {name: value for name, value in super().recorded().items() if name != "time_limit"}

    def _paths(self) -> PathParameters:
        return PathParameters(**{each.name: getattr(self, each.name) for each in fields(PathParameters)})

    def _beside(self, target: str) -> list[LogicalRule]:
        """Return the negative prior, if it is a candidate."""
        if not self.negative_prior:
            return []
        pair = Atom(target, (Variable("A"), Variable("B")), positive=False)
        return [LogicalRule((), (pair,), 0.0, self.squared)]

    def _warn_of(self, found: SoftWeights) -> None:
        if not found.converged:
            remedy = "allow more" if self.steps is None else f"raise {Parameter('steps', self.steps)}, or leave it out"
            warn_unconverged(type(self).__name__, found.iterations, found.off, remedy)

    def _weighed(self, training: SoftTraining, fit: IterationFit) -> _Weighed:
        """Return the weights of all candidates, 0 for those that the model does without."""
        network, truth, names, rules = training.network, training.truth, training.names, len(training.network.hard)
        shared: dict[str, Any] = {"penalty": self.penalty, "strength": self.strength, "unlabelled": self.unlabelled}
        if self.steps is not None:
            shared |= {"method": "steps", "steps": self.steps}
        if self.method == "ppll":

            def report(iteration: Iteration) -> None:
                fit.report(replace(iteration, so_far=lambda: _Weighed(saved(iteration)["weight"], None)))

            learner = SoftPiecewiseLikelihood(**shared)
            found = learner.learn(network, truth, names=names, report=report, after=fit.after)
            self._warn_of(found)
            return _Weighed(found.weights, None)
        hinges = atom_hinges(network, truth, names=names, unlabelled=self.unlabelled)

        def added(greedy: GreedyRules) -> None:
            fit.report(
                Iteration(
                    iteration=len(greedy.rules),
                    objective=float(greedy.scores[-1]),
                    share=len(greedy.rules) / self.most,
                    state=greedy.arrays,
                    so_far=lambda: _Weighed.of_greedy(greedy, rules),
                )
            )

        after = None if fit.saved is None else GreedyRules.of_arrays(fit.arrays)
        search = GreedySearch(most=self.most, least=self.least)
        scored = SoftPseudoLikelihood(**shared)
        clock, allowed = time.perf_counter(), SearchTime(self.time_limit)

        def trial(share: float) -> None:
            """Refuse a search that would take too long."""
            remedies = f"a lower {Parameter('most', self.most)} or {Parameter('length', self.length)}, a higher {Parameter('min_targets', self.min_targets)}"
            allowed.check(time.perf_counter() - clock, share, f"{share:.2%} of it", remedies)

        greedy = greedy_rules(hinges, scored, search, report=added, after=after, trial=trial)
        if len(greedy.rules):
            chosen = hinges.of_rules(greedy.rules)
            self._warn_of(scored.ended(chosen, greedy.weights, scored.steps if self.steps else scored.max_iterations))
        return _Weighed.of_greedy(greedy, rules)

    def _with_prior(self, weights: FloatArray, model: SoftModel, path_clauses: PathClauses) -> FloatArray:
        """Return the weights with that of the negative prior no less than it may be."""
        if not self.negative_prior:
            return weights
        place = len(model.rules) - len(path_clauses) - 1
        raised = weights.copy()
        raised[place] = max(raised[place], self.least_prior)
        return raised

    def _facts(self) -> list[tuple[str, str]]:
        return [("candidates", f"{len(self.weights_):,}"), *super()._facts()]


def _clause_table(model: SoftModel, weights: FloatArray, path_clauses: PathClauses) -> pa.Table:
    """Return the rules of the model, the strongest first, with how many labelled atoms the path of each connects."""
    first = len(model.rules) - len(path_clauses)
    rows: list[dict[str, Any]] = []
    for i, (rule, weight) in enumerate(zip(model.rules, weights.tolist(), strict=True)):
        if rule.hard or weight > 0:
            path = path_clauses[i - first] if i >= first else None
            rows.append(
                {
                    "clause": rule.formula,
                    "weight": None if rule.hard else weight,
                    "hard": rule.hard,
                    "support": path.support if path else 0,
                    "positive": path.positive if path else None,
                    "negative": path.negative if path else None,
                    "id": i,
                }
            )
    rows.sort(key=lambda row: (-(np.inf if row["weight"] is None else row["weight"]), row["id"]))
    return pa.Table.from_pylist(rows, _CLAUSES)


_CLAUSES = pa.schema(
    {
        "clause": pa.string(),
        "weight": pa.float64(),
        "hard": pa.bool_(),
        "support": pa.int64(),
        "positive": pa.int64(),
        "negative": pa.int64(),
        "id": pa.int64(),
    }
)
