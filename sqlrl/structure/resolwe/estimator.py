"""resolwe as an estimator over a database: the first subgraphs of a stream choose structure, the rest learn its weights."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Self

import numpy as np
import pyarrow as pa

from sqlrl import markup
from sqlrl.errors import InputError, NotFittedError, NothingFoundWarning, Parameter, Phrase, UnsupportedError, warn
from sqlrl.ground.limits import GROUNDING_LIMIT
from sqlrl.learn.additive import ContrastiveDivergence
from sqlrl.learn.fitted import THEN, call, parameters_html
from sqlrl.learn.online import OnlineEstimator
from sqlrl.learn.parameters import (
    Above,
    AtLeast,
    Option,
    Whole,
    check_database,
    check_parameters,
    fit_options,
)
from sqlrl.learn.settings import RUN, InOrder, Seed
from sqlrl.logic.candidates import Candidate, targets_of
from sqlrl.logic.grammar import Grammar
from sqlrl.logic.grammar_parser import read_grammar
from sqlrl.logic.limits import MOST_CANDIDATES
from sqlrl.logic.rules import Rule
from sqlrl.report import Table
from sqlrl.slips import no_name
from sqlrl.structure.relearning import Relearning, Then, refuse_stream, relearner
from sqlrl.structure.resolwe.drift import RULE_LOG_SCHEMA, Drift
from sqlrl.structure.resolwe.following import Drifting
from sqlrl.structure.resolwe.formulas import Alternatives, check_signs, structured
from sqlrl.structure.resolwe.selection import Criteria, Default
from sqlrl.training.fit import INTERRUPTED, Fit, SetAttributes
from sqlrl.training.learning import Learning, TrainingDatabase
from sqlrl.training.ordering import Ordering
from sqlrl.training.records import WindowProgress
from sqlrl.training.selection import CandidateRun
from sqlrl.training.stream_counts import StreamCounts
from sqlrl.wording import counted

if TYPE_CHECKING:
    from sqlrl.learn.fitted import WeightLearner
    from sqlrl.logic.model import Model

STRUCTURE = "Structure (--learner resolwe)"
SHOWN = 10
"""How many formulations a notebook shows."""

_PROBABILITY = "it is a probability"


@dataclass(frozen=True)
class Counted:
    """How far the choice of structure is, after each window: subgraphs counted of those that choose, and the queries so far."""

    window: int
    windows: int
    subgraphs: int
    statements: int
    run: int
    candidates: int

    def note(self) -> str:
        """Say how far it is, for those who watch."""
        return f"{counted(self.candidates, 'candidate')}, {counted(self.statements, 'query', 'queries')}"


class Resolwe(Relearning):
    r"""Chooses structure from a stream of subgraphs, and learns its weights: resolwe.

    Templates say what formulas there may be. The first subgraphs of the stream count, for each of them, how often its query literals have
    which labels where its evidence holds; formulations whose probability is high are kept; the rest of the stream learns their weights.

    Parameters
    ----------
    templates : Grammar or path
        `sqlrl.parse_grammar`, or a file for `sqlrl.read_grammar`.
    threshold : float
        The least probability of a formulation that is kept.
    implication_threshold : float, optional
        The least probability of an implication that is kept; by default the threshold. Where as many labels are true as false, an implication holds in
        half of the cases by chance, and a conjunction of two in a quarter.
    min_support : int
        The least number of selected groundings that it is a share of.
    joint_support : int, optional
        The same for formulations of several query literals, of which there are many more groundings; by default `min_support`.
    confidence : float
        Of the lower bound of the probability (Wilson's), which must reach the threshold; at 0.5 that is the probability itself, as in the paper.
    top : int, optional
        The most formulations that are kept, the most probable ones; None for all.
    once : bool
        Quantify the variables that only the evidence of a formulation has, so that each tuple of query atoms counts once in its n, as it does
        where structure is chosen. By default n counts all groundings of the evidence, as in the paper: how many artists two users share says
        more than that they share one. Where evidence is a chain these may be hundreds of thousands, of which learning rates must be as small.
    default : {"sparse", "estimated"}
        What the labels are like where nothing selects: mostly false, as the paper assumes; or as they are counted. Then formulations of
        low probability are kept, too, where they differ from that.
    significance : float
        How unlikely the labels may be by chance under the estimated default.
    select : float or int
        How many subgraphs choose: a share of them, or a number. The rest learn weights.
    weights : estimator, optional
        An online learner of weights; contrastive divergence by default, as in the paper.
    half_life : float, optional
        Follow a stream that drifts: counts halve whenever so many subgraphs have come, without those that are left out, and after the first ones
        (`select`) each window chooses structure anew before weights are learned from it. Rules that stay keep their weights. By default nothing decays,
        and what the first subgraphs choose stays. A rule that is there goes when the upper bound of its probability is below the threshold, so that
        one near it does not come and go with every window; at `confidence=0.5` both bounds are the probability, and it does.
    max_candidates : int
        The most candidates that the templates may have.
    window : int, optional
        Subgraphs that are counted together; 512 by default, 100 with a half-life. A stream has windows of its own.
    order : {"file", "shuffle"}
        Order of the stream.
    random_state : int, optional
        Seed of that order and, by default, of the learner of weights; None is 0.
    then : estimator, optional
        A learner that learns the weights of the structure again, from all subgraphs that are given; see `sqlrl.structure.relearning.Relearning`. They have to
        be loaded: it goes back to them.

    Attributes
    ----------
    model_ : Model
        The rules of the model that was given, a unit clause of each target, and the formulations that were kept, with weights.
    formulations_ : Table
        All formulations with support, probability and, where they were dropped, the reason; `sqlrl.formulation` has them too. With a half-life
        `recent` is what is left of the support, of which the probability is a share.
    rule_log_ : Table
        With a half-life: which rules came and went, after which window and how many subgraphs, and why; `sqlrl.rule_log` has it too.
    candidates_ : tuple of Candidate
    weights_ : estimator
        The fitted learner of weights.
    n_statements_ : int
        How many queries counted labels.
    seconds_ : dict of str to float
        Wall time of `expanding`, `selecting` and `weights`.
    run_ : int
        The run's number in `sqlrl.run`; the learner of weights has one of its own.
    found_ : Model
        The model before `then` learned its weights again; without it the same as `model_`.
    relearned_ : estimator or None
        With `then` the learner that learned the weights again: `model_` and `clauses()` are its own then.

    Notes
    -----
    Source: "Structure Selection from Streaming Relational Data" (resolwe), section 3 and Algorithm 1. What it leaves open, and how formulations
    are judged, is in `sqlrl.structure.resolwe.selection`, and how structure follows a stream in `sqlrl.structure.resolwe.drift`. The paper's step 1
    needs no data here, since templates make the candidates.

    Examples
    --------
    >>> import sqlrl
    >>> db = sqlrl.connect()
    >>> pages = [(f"d{i}", word) for i in range(40) for word in (("sql", "join") if i % 2 else ("cat", "dog"))]
    >>> db.load("Word", pages, types=["doc", "word"], example="doc")
    >>> db.load("Tech", [(f"d{i}",) for i in range(40) if i % 2], types=["doc"], target=True)
    >>> templates = sqlrl.parse_grammar('TOPIC(d) = {Word(d, "sql"), Word(d, "cat")}\nTOPIC(d) ^ Tech(d)')
    >>> fit = Resolwe(templates, min_support=5).fit(db, sqlrl.parse_mln("Word(doc, word)\nTech(doc)"))
    >>> fit.formulations_.to_arrow().select(["formula", "probability", "kept"]).to_pylist()
    [{'formula': 'Word(d, "sql") ^ Tech(d)', 'probability': 1.0, 'kept': True}, {'formula': 'Word(d, "cat") ^ Tech(d)', 'probability': 0.0, 'kept': False}]
    """

    model_: Model
    formulations_: Table
    rule_log_: Table
    candidates_: tuple[Candidate, ...]
    weights_: Any
    n_statements_: int
    seconds_: dict[str, float]
    run_: int
    found_: Model
    relearned_: WeightLearner | None

    word = "resolwe"

    def __init__(
        self,
        templates: Annotated[
            Grammar | str | Path,
            Option("file of templates, with symbols and their expansions", value="FILE", panel=STRUCTURE),
        ],
        *,
        threshold: Annotated[
            float, AtLeast(0.0, _PROBABILITY), Option("the least probability of what is kept", panel=STRUCTURE)
        ] = 0.5,
        implication_threshold: Annotated[
            float | None,
            AtLeast(0.0, _PROBABILITY),
            Option("the least probability of implications that are kept; by default the threshold", panel=STRUCTURE),
        ] = None,
        min_support: Annotated[
            int, Whole(0), Option("the least number of groundings that it is a share of", panel=STRUCTURE)
        ] = 10,
        joint_support: Annotated[
            int | None,
            Whole(0),
            Option("the same for several query literals; by default that for one", panel=STRUCTURE),
        ] = None,
        confidence: Annotated[
            float,
            AtLeast(0.5, "0.5 takes the probability itself"),
            Option("of the bound that must reach the threshold; 0.5 is the probability itself", panel=STRUCTURE),
        ] = 0.95,
        top: Annotated[int | None, Whole(1), Option("the most formulations that are kept", panel=STRUCTURE)] = None,
        once: Annotated[
            bool, Option("count a tuple of query atoms once in n, however many groundings select it", panel=STRUCTURE)
        ] = False,
        default: Annotated[
            Default, Option("labels where nothing selects: mostly false, or as they are counted", panel=STRUCTURE)
        ] = "sparse",
        significance: Annotated[
            float, Above(0.0, _PROBABILITY), Option("of the difference from an estimated default", panel=STRUCTURE)
        ] = 0.01,
        select: Annotated[
            float,
            Above(0.0, "some subgraphs must choose"),
            Option("subgraphs that choose: a share, or a number", panel=STRUCTURE),
        ] = 1 / 3,
        weights: Annotated[
            OnlineEstimator | None,
            Option("the learner of weights, as cd(learning_rate=0.05)", panel=STRUCTURE, value="LEARNER", default="cd"),
        ] = None,
        half_life: Annotated[
            float | None,
            Above(0.0, "it is a number of subgraphs"),
            Option("follow a stream that drifts: counts halve whenever so many subgraphs have come", panel=STRUCTURE),
        ] = None,
        max_candidates: Annotated[
            int, Whole(1), Option("the most candidates of the templates", panel=STRUCTURE)
        ] = MOST_CANDIDATES,
        window: Annotated[int | None, Whole(1), Option("subgraphs that are counted together", panel=RUN)] = None,
        order: InOrder = "file",
        random_state: Seed = None,
        then: Then = None,
    ) -> None:
        self.templates, self.threshold, self.min_support, self.confidence = (
            templates,
            threshold,
            min_support,
            confidence,
        )
        self.implication_threshold, self.joint_support = implication_threshold, joint_support
        self.top, self.once, self.default, self.significance, self.select = top, once, default, significance, select
        self.weights, self.half_life, self.max_candidates, self.window = weights, half_life, max_candidates, window
        self.order, self.random_state, self.then = order, random_state, then

    def criteria(self) -> Criteria:
        """Return the checked criteria.

        Raises
        ------
        InputError
            A parameter is out of range; the message says which.
        """
        check_parameters(self)
        for name in ("threshold", "implication_threshold", "confidence", "significance"):
            value = getattr(self, name)
            if value is not None and value > 1:
                raise InputError(f"{Parameter(name, value)} must be a number from 0 to 1: {_PROBABILITY}")
        if self.confidence == 1:
            raise InputError(
                f"{Parameter('confidence', 1)} would need infinitely many groundings: give a number below 1, such as 0.95"
            )
        for name in ("threshold", "implication_threshold"):
            value = getattr(self, name)
            if self.default == "estimated" and value is not None and value < 0.5:
                raise InputError(
                    f"{Parameter(name, value)} with {Parameter('default', 'estimated')} would keep every probability, since those up to 1 - {name} are kept, too: "
                    "give 0.5 or more"
                )
        return Criteria(
            self.threshold,
            self.min_support,
            self.confidence,
            self.top,
            self.default,
            self.significance,
            self.implication_threshold,
            self.joint_support,
        )

    def fit(
        self,
        db: TrainingDatabase,
        model: Model,
        *,
        examples: object = None,
        callback: Callable[[Counted | WindowProgress], object] | None = None,
        checkpoint: bool = False,
        resume: int | None = None,
        limit: int | None = GROUNDING_LIMIT,
    ) -> Self:
        """Choose formulas among the candidates of the templates, and learn their weights.

        Parameters
        ----------
        db : Database
            The subgraphs as examples, with labels for all their query atoms. Of a stream it keeps the run and the model alone.
        model : Model
            Its declarations; its rules stay, and learn weights with what is chosen.
        examples : query, list of names, or stream, optional
            The subgraphs, in the order of the stream; all that are loaded by default. `SubgraphQueries`, `EgoNetworks` and `SubgraphTables`
            are streams of which no more than a window is ever in memory. A subgraph without query atoms, or with several that are all true or
            all false, is left out; `select` counts it where it comes.
        callback : callable, optional
            Called after each window: with a `Counted` while structure is chosen, with the learner's `Progress` then.
        checkpoint : bool
            Save the run after each window, so that it can be resumed.
        resume : int, optional
            The number of a run that was saved and stopped: go on after its last window. What is learned is that of a run that never stopped.
        limit : int, optional
            The most ground clauses of one shape in a window, where weights are learned.

        Returns
        -------
        Self

        Raises
        ------
        InputError
            A parameter is out of range, there are too few subgraphs, or a run cannot be resumed.
        ModelError
            A template does not fit the declarations, or its predicates do not fit the data.

        Warns
        -----
        LabelWarning
            Subgraphs are left out; says how many have no query atoms, and how many only true or only false ones.
        NothingFoundWarning
            No formulation is kept; says what stopped most of them. The model has the unit clauses then.
        """
        criteria, learner, second = self.criteria(), self._learner(), relearner(self.then)
        check_database(db)
        options, begun_at = fit_options(callback, checkpoint, resume), time.perf_counter()
        grammar, data = self._grammar(), db.advanced.learning
        given, examples = examples, data.drawn(examples)
        if second is not None and examples is not given:
            raise refuse_stream()
        choice = self._alternatives(grammar, data, model, examples, criteria)
        order: Ordering = {
            "size": self.window, "order": self.order, "seed": self.random_state or 0, "passes": 1, "limit": limit,
        }  # fmt: skip
        first, rest = data.divided(model, choice.counted, examples, order, self._chosen)
        recorded = {**self._recorded(), "templates": str(grammar)}
        decaying = self.half_life is not None
        with (
            data.selection(model, choice.counted, first, order, saving=options.saving, decaying=decaying) as session,
            session.ending(),
        ):
            fit = Fit(
                session, type(self).__name__, recorded, order["seed"], options, stage="counting labels of candidates", total=len(session) or None,
                part="selecting", since=begun_at,
            )  # fmt: skip
            fit.lap("expanding")
            counts = self._counted(session, choice.counted, fit)
        stage = _Weights(db, learner, session, fit, limit)
        base = structured(model, model.query | targets_of(choice.candidates), [])

        def learn() -> _Chosen:
            if self.half_life is None:
                return _still(stage, choice, base, counts, rest)
            drift = Drift(choice, base, counts, self.half_life)
            stage.chosen = lambda: _Chosen(drift.rows(), drift.log(), drift.statements)
            stage.learn(base, Drifting(rest, drift, session, self.window))
            return stage.chosen()

        with session.ending():
            set_attributes = fit.learn(
                learn,
                lambda chosen, status: self._keep(session, choice, learner, fit, chosen(), status),
                part="weights",
            )
        set_attributes()
        if not any(self.formulations_["kept"]):
            warn(_nothing(list(self.formulations_["reason"])), NothingFoundWarning)
        self._relearn(second, db, given, limit=limit)
        return self

    # ---- its parts -----------------------------------------------------------------------------------------

    def _keep(
        self,
        session: CandidateRun,
        choice: Alternatives,
        learner: OnlineEstimator,
        fit: Fit,
        chosen: _Chosen,
        status: str,
    ) -> SetAttributes:
        session.finish(learner.model_, chosen.rows, chosen.log, fit.seconds, status)

        def set_attributes() -> None:
            self.model_, self.formulations_, self.candidates_ = learner.model_, Table(chosen.rows), choice.candidates
            self.weights_, self.rule_log_, self.seconds_, self.run_ = learner, Table(chosen.log), fit.seconds, fit.run
            self.n_statements_, self.interrupted_ = session.statements + chosen.statements, status == INTERRUPTED
            self.found_, self.relearned_ = learner.model_, None

        return set_attributes

    def _alternatives(
        self, grammar: Grammar, data: Learning, model: Model, examples: object, criteria: Criteria
    ) -> Alternatives:
        """Return what is to be chosen from."""
        targets = data.targets(model, examples)
        if model.semantics != "exact":
            raise UnsupportedError(
                f"the model has the semantics {model.semantics!r}, under which a conjunction is as many rules as it has parts: leave {Parameter('semantics')} out"
            )
        if not targets:
            raise InputError(
                f"nothing of the model is to be predicted: load labels of a predicate with {Parameter('target', True)}, or name it when the model is read: "
                f"{Phrase('read_mln(path, query=[...])')}"
            )
        candidates = grammar.expand(model, targets, limit=self.max_candidates)
        check_signs(candidates)
        if not candidates:
            raise InputError("the templates have no candidate: there is nothing to choose from")
        return Alternatives(tuple(candidates), criteria, self.once)

    def _counted(self, session: CandidateRun, candidates: Sequence[Candidate], fit: Fit) -> StreamCounts:
        """Count the labels that all candidates select, window by window."""
        if fit.saved is None:
            counts = StreamCounts.none(candidates, decaying=self.half_life is not None)
        else:
            counts = StreamCounts.of_arrays(fit.saved.arrays)
        with fit.at_work():
            for window in session.windows(counts.windows):
                counts = counts.after(session.count(window), len(window), half_life=self.half_life)
                told = Counted(
                    counts.windows, len(session), counts.subgraphs, session.statements, fit.run, len(candidates)
                )
                if not fit.saving:
                    session.show(counts)
                fit.step(told, counts.windows, state=counts.arrays, advance=1)
        return counts

    def _grammar(self) -> Grammar:
        if isinstance(self.templates, Grammar):
            return self.templates
        if isinstance(self.templates, str | Path):
            return read_grammar(self.templates)
        raise InputError(
            f"{Parameter('templates', self.templates)}: give {Phrase('what sqlrl.parse_grammar returns, or ')}the path of a file with templates"
        )

    def _learner(self) -> OnlineEstimator:
        """Return the learner of weights: a copy, that stays as it was given."""
        given: object = self.weights
        if given is None:
            return ContrastiveDivergence(random_state=self.random_state)
        if not isinstance(given, OnlineEstimator):
            kind = given.__name__ if isinstance(given, type) else type(given).__name__
            raise InputError(
                f"weights must be an online learner, such as sqlrl.baselines.ContrastiveDivergence() or sqlrl.AdaGrad(), not {kind}"
            )
        if given.word == "osl":
            raise InputError(
                "weights must be a learner of weights, and OSL looks for clauses, too: give sqlrl.AdaGrad(), whose updates it has"
            )
        if self.half_life is not None:
            _check_drifting(given)
        made = type(given)(**given.get_params(deep=False))
        # What is wrong with it is said before structure is chosen.
        made.parameters()
        return made

    def _chosen(self, subgraphs: int | None) -> int:
        """Return how many subgraphs choose, of so many, or of a stream of unknown length."""
        whole = isinstance(self.select, int | np.integer) or self.select > 1
        if whole and float(self.select) != int(self.select):
            raise InputError(f"{Parameter('select', self.select)} is neither a share below 1 nor a number of subgraphs")
        if subgraphs is None:
            if not whole:
                raise InputError(
                    f"{Parameter('select', self.select)} is a share of a stream whose length nobody knows: give the number of subgraphs that choose, such as {Parameter('select', 500)}"
                )
            return int(self.select)
        # Not one more than 7 of 100 where the share is .07, whose product is a little above 7.
        size = int(self.select) if whole else math.ceil(round(self.select * subgraphs, 6))
        if not 0 < size < subgraphs:
            raise InputError(
                f"{Parameter('select', self.select)} of {counted(subgraphs, 'subgraph')} leaves {'none that chooses' if size < 1 else 'none to learn weights from'}: "
                f"each stage needs one at least; load data in examples ({Parameter('example')}), or give other {Parameter('examples')}"
            )
        return size

    def _recorded(self) -> dict[str, object]:
        """Return the parameters as they are kept with a run."""
        found = {name: value for name, value in self.get_params(deep=False).items() if name not in ("templates", THEN)}
        found["weights"] = repr(self._learner()).split("\n")[0]
        return found

    # ---- showing -------------------------------------------------------------------------------------------

    @property
    def model(self) -> Model:
        """The learned model; the same as `model_`."""
        return self.model_

    def clauses(self) -> Table:
        """Return the clauses of the learned model with their weights, the strongest first.

        Returns
        -------
        Table
            As that of the learner of weights, with `then` of that one.

        Raises
        ------
        NotFittedError
            Before `fit`.
        """
        fitted = self.weights_
        found: Table = (self.relearned_ or fitted).clauses()
        return found

    def facts(self) -> list[tuple[str, str]]:
        """Return what was learned, in words; nothing before `fit`."""
        if "model_" not in vars(self):
            return []
        kept = sum(map(bool, self.formulations_["kept"]))
        return [
            (
                "structure",
                f"{kept:,} of {counted(len(self.formulations_), 'formulation')} kept, {counted(len(self.candidates_), 'candidate')}",
            ),
            ("counting", counted(self.n_statements_, "query", "queries")),
            *self._relearning_facts(),
            ("seconds", ", ".join(f"{stage} {seconds:.3f}" for stage, seconds in self.seconds_.items())),
        ]

    def __repr__(self) -> str:
        """Return the constructor call, parameters with default values left out, and below it what was learned."""
        return "\n".join([call(self), *(f"  {name:<12}{value}" for name, value in self.facts())])

    def _repr_html_(self) -> str:
        if not self.facts():
            return parameters_html(self, call(self))
        learner: str = self.weights_._repr_html_()
        return markup.preformatted(call(self)) + markup.pairs(self.facts()) + self.formulations_._repr_html_() + learner

    def __getattr__(self, name: str) -> Any:
        # Called only for attributes that are not there.
        if name == "model":
            name = "model_"
        if name in Resolwe.__annotations__:
            raise NotFittedError(f"this Resolwe has no {name} yet: call fit(db, model) first")
        raise no_name(type(self).__name__, name, [*dir(Resolwe), *Resolwe.__annotations__])


@dataclass(frozen=True)
class _Chosen:
    # What was chosen: formulations as rows of `FORMULATION_SCHEMA`, what came and went, and queries that counted besides.

    rows: pa.Table
    log: pa.Table
    statements: int = 0


@dataclass
class _Weights:
    # The stage that learns weights; a run that is resumed goes on with that of its weights (`inner`), if it had begun.

    db: TrainingDatabase
    learner: OnlineEstimator
    session: CandidateRun
    fit: Fit
    limit: int | None
    chosen: Callable[[], _Chosen] | None = None  # what is chosen by now

    def learn(self, structure: Model, examples: object) -> None:
        """Learn the weights of a model on the rest of the stream."""
        saved = {} if self.fit.saved is None else self.fit.saved.arrays
        self.inner = int(saved["weights"]) if "weights" in saved else None
        self.learner.fit(
            self.db,
            structure,
            examples=examples,
            callback=self._after,
            checkpoint=self.fit.saving,
            resume=self.inner,
            limit=self.limit,
        )

    def _after(self, progress: WindowProgress) -> None:
        """Keep which run learns the weights, once it has saved something."""
        if self.fit.saving and self.inner != progress.run:
            self.session.learning(progress.run)
            self.inner = progress.run
        # The learner keeps its weights before this run ends.
        self.fit.step(progress, self.fit.done, so_far=self.chosen)


def _still(stage: _Weights, choice: Alternatives, base: Model, counts: StreamCounts, rest: object) -> _Chosen:
    """Learn the weights of what the first subgraphs have chosen."""
    found = choice.judged(counts.n)
    formulas = choice.formulas(found)
    rules = [Rule(formula) for formula, keep in zip(formulas, found.in_model.tolist(), strict=True) if keep]
    chosen = _Chosen(choice.rows(found, counts.total.n, formulas), RULE_LOG_SCHEMA.empty_table())
    stage.chosen = lambda: chosen
    stage.learn(structured(base, [], rules), rest)
    return chosen


def _check_drifting(learner: OnlineEstimator) -> None:
    """Refuse a learner of weights whose parameters need clauses that stay, or a stream that comes again."""
    if learner.passes > 1:
        raise InputError(
            f"{Parameter('passes', learner.passes)} of the learner of weights goes back to where the stream began, which {Parameter('half_life')} leaves behind: leave it out"
        )
    for name, usual in (("order", "file"), ("window", None)):
        if getattr(learner, name) != usual:
            raise InputError(
                f"{Parameter(name, getattr(learner, name))} of the learner of weights would be another one than structure is chosen in, and with {Parameter('half_life')} "
                f"each window does both: give Resolwe the {Parameter(name)}"
            )
    if learner.record_history:
        raise UnsupportedError(
            f"{Parameter('record_history', True)} of the learner of weights needs clauses that stay, and with {Parameter('half_life')} they come and go: leave it out"
        )


def _nothing(reasons: Sequence[str]) -> str:
    """Say what stopped most formulations where none is kept."""
    kinds: dict[str, int] = {}
    for reason in reasons:
        kind = reason.split()[0]
        kinds[kind] = kinds.get(kind, 0) + 1
    word = max(kinds, key=lambda kind: kinds[kind])
    remedy = {
        "support": f"lower min_support, or let more subgraphs choose ({Parameter('select')})",
        "bound": "lower threshold, or confidence, which keeps the bound of few groundings below it",
        "probability": "lower threshold",
        "no": "raise significance",
    }.get(word, "change the templates")
    first = next(reason for reason in reasons if reason.split()[0] == word)
    return (
        f"none of {counted(len(reasons), 'formulation')} is kept: {kinds[word]:,} for a reason such as {first!r}; {remedy}. The model has the unit "
        "clauses of its targets alone"
    )
