"""OSL as an estimator over a database."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Self, Unpack, cast

import numpy.typing as npt

from sqlrl.errors import InputError, NotFittedError, NothingFoundWarning, Parameter, Phrase, warn
from sqlrl.ground.limits import GROUNDING_LIMIT
from sqlrl.ground.network import FloatArray
from sqlrl.ground.windows import FIRST
from sqlrl.learn.adagrad import Delta, Eta, Strength, adagrad
from sqlrl.learn.learner import StartWeights
from sqlrl.learn.online import History, Learner, OnlineEstimator, SameDefaults
from sqlrl.learn.parameters import Option, Whole
from sqlrl.learn.settings import Parameters, Update
from sqlrl.logic.modes import Modes, read_modes
from sqlrl.report import Table
from sqlrl.structure.osl.learner import OSLLearner
from sqlrl.structure.osl.search import nothing_added
from sqlrl.structure.osl.settings import OSLParameters
from sqlrl.structure.osl.stream import AddedClauses
from sqlrl.structure.relearning import Relearning, Then, refuse_stream, relearner
from sqlrl.training.fit import Fit, SetAttributes
from sqlrl.training.labels import Names
from sqlrl.training.learning import TrainingDatabase
from sqlrl.training.ordering import Ordering
from sqlrl.training.records import WindowProgress
from sqlrl.training.stream import TrainingStream

if TYPE_CHECKING:
    from sqlrl.learn.fitted import WeightLearner
    from sqlrl.logic.model import Model

CLAUSES = "Clauses (--learner osl)"


class OSL(OnlineEstimator, Relearning):
    r"""Learns clauses and weights online: OSL (Huynh and Mooney 2011).

    Each example in turn is predicted with the clauses and weights so far. Where a true atom was predicted false, relational
    path finding looks for paths of true atoms from it, guided by mode declarations; each path makes two clauses, and those
    that tell the observed world from the predicted one are added. ADAGRAD_FB then updates the weights of all clauses.

    Parameters
    ----------
    modes : Modes or path
        Which atoms paths may join and which constants clauses keep: `sqlrl.parse_modes`, or a file for `sqlrl.read_modes`.
    max_length : int
        The most atoms of a path (maxLen), at least 2.
    min_count_difference : int
        The least delta n of a clause that is added (minCountDiff).
    strength, learning_rate, delta : float
        Lambda (of the L1 penalty), eta and delta of ADAGRAD_FB; see `AdaGrad`.
    pool : int
        Examples whose candidates are counted together, 1 in the paper: a clause is then added after the last of them if its
        delta n over all of them suffices. The last examples of a window are a smaller pool, so `window` should be a multiple.
    longest_only : bool
        Do not add clauses that are sub-clauses of longer ones that are added at the same step (the paper's future work).
    look_ahead : bool
        Do not follow paths of which no extension can suffice any more, by an upper bound on delta n. The clauses that are added are
        the same, with the same steps, delta n and weights. But other patterns are met, and in another order, so that rules of
        `model_`, and the ids of clauses that one step adds, may come in another order, and sums of weights may differ in
        their last digit.
    record_history : bool
        Store the delta n and the weight of each clause after each step in which it counted, in `sqlrl.weight_history`: by default
        every added clause has its history. On a stream that is too long for that, take False.
    then : estimator, optional
        A learner that learns the weights of what was found again; see `sqlrl.structure.relearning.Relearning`.
    **common
        See `sqlrl.learn.OnlineEstimator`, also for the attributes; `window` is 512 by default whatever examples are like. `weights_` has the
        model's own clauses first, then the added ones.

    Attributes
    ----------
    found_ : Model
        What was found, with the weights of ADAGRAD_FB; without `then` the same as `model_`.
    relearned_ : estimator or None
        With `then` the learner that learned the weights again: `model_`, `weights_` and `clauses()` are its own then, in which clauses of weight 0 are left
        out. `added()` and `run_` are those of the run that found the clauses, `relearned_.run_` is the other one.

    Notes
    -----
    The model may have rules or only declarations; hard rules hold in predictions, also while learning. Predicates of the
    model need a mode each, those that paths shall not have one with recall 0; other predicates of the database are in no path.
    A run that adds no clause ends with a `NothingFoundWarning` that says what stopped it.

    No clause is tested on labels that were held out: of 200 documents with shuffled labels it added a clause for nearly each of 40 words, in 20 of 20 drawings. Score what it found
    on examples that it has not seen, or find clauses with `ILP`, which tests them.

    Examples
    --------
    >>> import sqlrl
    >>> db = sqlrl.connect()
    >>> db.load("Word", [("d1", "good"), ("d2", "bad"), ("d3", "good")], types=["doc", "word"], example="doc")
    >>> db.load("Liked", [("d1",), ("d3",)], types=["doc"], target=True)
    >>> model = sqlrl.parse_mln("Word(doc, word)\nLiked(doc)")
    >>> fit = OSL(sqlrl.parse_modes("modeP(1, Word(+, #.))\nmodeP(1, Liked(-))")).fit(db, model)
    >>> fit.clauses()["clause"].to_pylist()
    ['Word(d, "good") => Liked(d)']
    >>> fit.added().to_arrow().select(["step", "example", "wrong_atom", "delta_n"]).to_pylist()
    [{'step': 0, 'example': 'd1', 'wrong_atom': 'Liked("d1")', 'delta_n': 1}]
    >>> db.sql("select step, clause, delta_n, weight from sqlrl.weight_history").fetchall()
    [(0, 0, 1, 0.4995...)]

    The weights of what was found, learned again with an exact likelihood:

    >>> modes = sqlrl.parse_modes("modeP(1, Word(+, #.))\nmodeP(1, Liked(-))")
    >>> fit = OSL(modes, then=sqlrl.Likelihood(strength=0.1)).fit(db, model)
    >>> [(row["clause"], round(row["weight"], 2)) for row in fit.clauses()]
    [('Word(d, "good") => Liked(d)', 2.94)]
    >>> db.sql("select run, learner, parameters ->> 'found_by' as found_by from sqlrl.run order by run").fetchall()
    [(1, 'OSL', None), (2, 'OSL', None), (3, 'Likelihood', '2')]
    """

    word = "osl"
    learned = (*OnlineEstimator.learned, "found_", "relearned_")

    grows = True

    def __init__(
        self,
        modes: Annotated[
            Modes | str | Path,
            Option(
                "file of mode declarations: which atoms paths join, which constants clauses keep",
                value="FILE",
                panel=CLAUSES,
            ),
        ],
        max_length: Annotated[
            int,
            Whole(2, reason="since the start of a path alone makes no clause"),
            Option("the most atoms of a path", panel=CLAUSES),
        ] = 4,
        min_count_difference: Annotated[
            int, Whole(1), Option("the least delta n of a clause that is added", panel=CLAUSES)
        ] = 1,
        *,
        strength: Strength = 0.001,
        learning_rate: Eta = 1.0,
        delta: Delta = 1.0,
        pool: Annotated[int, Whole(1), Option("examples whose candidates are counted together", panel=CLAUSES)] = 1,
        longest_only: Annotated[
            bool, Option("no sub-clauses of longer clauses of the same step", panel=CLAUSES)
        ] = False,
        look_ahead: Annotated[
            bool, Option("follow no path that cannot suffice any more; the same clauses", panel=CLAUSES)
        ] = False,
        record_history: History = True,
        then: Then = None,
        **common: Unpack[SameDefaults],
    ) -> None:
        super().__init__(record_history=record_history, **common)
        self.then = then
        self.modes, self.max_length, self.min_count_difference = modes, max_length, min_count_difference
        self.strength, self.learning_rate, self.delta = strength, learning_rate, delta
        self.pool, self.longest_only, self.look_ahead = pool, longest_only, look_ahead

    def learner(  # type: ignore[override]
        self, types: Mapping[str, tuple[str, ...]], *, names: Names | None = None
    ) -> OSLLearner:
        """Return a learner with these parameters that has learned nothing: it takes windows of facts, without a database.

        Parameters
        ----------
        types : mapping of str to tuple of str
            The types of the arguments of each predicate.
        names : Names, optional
            Words for clauses and examples in messages.

        Returns
        -------
        OSLLearner
            With `learn_one` and `learn_many`.

        Raises
        ------
        InputError, ParseError
            A parameter is out of range, or the modes cannot be read.
        """
        return OSLLearner(self.parameters(), self._modes(), types, names=names)

    def fit(
        self,
        db: TrainingDatabase,
        model: Model,
        *,
        examples: object = None,
        callback: Callable[[WindowProgress], object] | None = None,
        checkpoint: bool = False,
        resume: int | None = None,
        limit: int | None = GROUNDING_LIMIT,
        start: Model | None = None,
    ) -> Self:
        """Find clauses and learn weights, those of the model's rules too; with `then` learn them again.

        Parameters
        ----------
        db, model, examples, callback, checkpoint, resume
            As `OnlineEstimator.fit`. What is saved, and goes on, is the run that finds clauses.
        limit : int, optional
            The most ground clauses of one shape that a window may have, and all examples together where `then` is a batch learner; None for
            no limit.
        start : Model, optional
            Refused: what is found depends on weights that begin at 0.

        Returns
        -------
        Self
            This estimator. If `then` fails it has what was found, and a note of the exception says so.

        Raises
        ------
        InputError
            As `OnlineEstimator.fit`; or `then` is no learner of weights, or `examples` are a stream, which is gone by then.
        InfeasibleError, GroundingLimitError
            As `OnlineEstimator.fit`.

        Warns
        -----
        NothingFoundWarning
            No clause was added; says what stopped it.
        LabelWarning, InfeasibleTruthWarning, ConvergenceWarning, CheckpointWarning
            As `OnlineEstimator.fit`.
        """
        learner = relearner(self.then)
        super().fit(
            db,
            model,
            examples=examples,
            callback=callback,
            checkpoint=checkpoint,
            resume=resume,
            limit=limit,
            start=start,
        )
        self._relearn(learner, db, examples, limit=limit)
        return self

    def _take(self, learner: WeightLearner) -> None:
        self.weights_, self._table = learner.weights_, learner.clauses().to_arrow()

    def _facts(self) -> list[tuple[str, str]]:
        return [*super()._facts(), *self._relearning_facts()]

    def parameters(self) -> OSLParameters:
        """Return the checked parameters.

        Raises
        ------
        InputError
            A parameter is out of range; the message says which.
        """
        return OSLParameters(
            **vars(super().parameters()),
            max_length=self.max_length,
            min_count_difference=self.min_count_difference,
            pool=self.pool,
            longest_only=self.longest_only,
            look_ahead=self.look_ahead,
        )

    def _update(self) -> Update:
        return adagrad(self.strength, self.learning_rate, self.delta)

    def _modes(self) -> Modes:
        if isinstance(self.modes, Modes):
            return self.modes
        if isinstance(self.modes, str | Path):
            return read_modes(self.modes)
        raise InputError(
            f"{Parameter('modes', self.modes)}: give {Phrase('what sqlrl.parse_modes returns, or ')}the path of a file with modes"
        )

    def _windows(
        self, db: TrainingDatabase, model: Model, examples: object, order: Ordering
    ) -> AbstractContextManager[TrainingStream]:
        drawn = db.advanced.learning.drawn(examples)
        if drawn is examples:
            # A step takes a hundred times as long as grounding its example: larger windows would only keep progress waiting.
            order["size"] = order["size"] or FIRST
        elif self.then is not None:
            raise refuse_stream()
        return db.advanced.learning.training_windows(
            model, examples=drawn, changes=AddedClauses(self._modes()), **order
        )

    def _learner(
        self,
        parameters: Parameters,
        stream: TrainingStream,
        names: Names,
        arrays: Mapping[str, npt.NDArray[Any]] | None,
        start: StartWeights | None,
    ) -> Learner:
        assert isinstance(parameters, OSLParameters)
        if start is not None:
            raise InputError(
                f"OSL takes no {Parameter('start')}: what it finds depends on weights that begin at 0. Give it the earlier clauses as the model, and let "
                "AdaGrad go on with the weights of what it found: AdaGrad().fit(db, osl.model_, start=osl.model_)"
            )
        added = cast(AddedClauses, stream.changes)
        if arrays is None:
            return OSLLearner(parameters, added.modes, added.types, names=names)
        return OSLLearner.from_state(parameters, added.modes, added.types, arrays, names=names)

    def _settle(self, learner: Learner, stream: TrainingStream) -> None:
        assert isinstance(learner, OSLLearner)
        added = cast(AddedClauses, stream.changes)
        learner.settle(added.clause_count)
        added.take(learner.book, learner.additions)
        self._nothing = None if learner.additions else nothing_added(learner.searched, learner.parameters)

    def _keep(self, learner: Learner, stream: TrainingStream, fit: Fit, said: str | None, status: str) -> SetAttributes:
        set_weights = super()._keep(learner, stream, fit, said, status)

        def set_attributes() -> None:
            set_weights()
            self.found_, self.relearned_ = self.model_, None

        return set_attributes

    def _note(self, stream: TrainingStream, weights: FloatArray) -> None:
        self._added = cast(AddedClauses, stream.changes).added(weights)
        # Not before: where warnings are errors the run is kept all the same.
        if self._nothing is not None:
            warn(self._nothing, NothingFoundWarning)

    def added(self) -> Table:
        """Return the clauses that were added, with what caused each, in order.

        Returns
        -------
        Table
            `step`, `clause` (text), `weight` (log-odds, that of the run that added it), `example`, `wrong_atom`, `delta_n` (when it was added), `id`; the view
            `sqlrl.added_clauses` has them too.

        Raises
        ------
        NotFittedError
            Before `fit`.
        """
        if "model_" not in vars(self):
            raise NotFittedError(f"this {type(self).__name__} has added no clauses yet: call fit(db, model) first")
        return Table(self._added)
