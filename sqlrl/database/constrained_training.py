"""Training under some of the hard constraints of a model, and predicting under all of them."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from inspect import Parameter, signature
from typing import TYPE_CHECKING, Annotated, Any, Literal, Protocol, Self, get_args

from sqlrl import markup
from sqlrl.database.diagnosis import ClauseCost, clause_costs, cost_table
from sqlrl.errors import InputError, NotFittedError
from sqlrl.ground.factors import check_thresholds
from sqlrl.ground.limits import DENSITY, GROUNDING_LIMIT, GROWTH
from sqlrl.learn.fitted import NESTED, Configured, Fitted, parameters_html
from sqlrl.learn.parameters import Option, check_database
from sqlrl.learn.settings import RUN
from sqlrl.logic.expansions import fill
from sqlrl.logic.model import Model, Rule
from sqlrl.slips import no_name
from sqlrl.training.learning import refuse_streams
from sqlrl.training.session import Query, check_model
from sqlrl.wording import counted

if TYPE_CHECKING:
    from sqlrl.database.database import Database
    from sqlrl.report import Table

Mode = Literal["none", "l+i", "ibt", "ibt-approx", "sct", "sct-"]
Part = Literal["none", "inexpensive", "all"]

ENFORCED: dict[Mode, tuple[Part, Part]] = {
    "none": ("none", "none"),
    "l+i": ("none", "all"),
    "ibt": ("all", "all"),
    "ibt-approx": ("all", "all"),
    "sct": ("inexpensive", "all"),
    "sct-": ("inexpensive", "inexpensive"),
}
"""For each mode, the hard clauses that training enforces, and those that prediction does."""

LEARNED = ("learner_", "training_model_", "model_", "costs_", "seconds_")


class ConstrainedLearner(Protocol):
    """What an estimator of weights must have to be trained here."""

    model_: Model
    seconds_: dict[str, float]

    def get_params(self) -> dict[str, Any]:
        """Return the constructor's arguments by name."""
        ...

    def fit(self, db: Any, model: Model, *, examples: Any = None) -> Any:
        """Learn the weights of a model; options of its own are keywords."""
        ...


class ConstrainedTraining(Configured):
    """Learns weights under the hard clauses that a mode enforces in training, and gives a model with those of prediction.

    Parameters
    ----------
    learner : estimator
        Any learner of weights (`CDA`, `AdaGrad`, ...). It is copied, and stays as it is.
    mode : {"sct", "sct-", "ibt", "ibt-approx", "l+i", "none"}
        Which hard clauses are enforced, in training and in prediction:

        - "none": none and none, mutual exclusion left out too;
        - "l+i" (learning plus inference): none, all;
        - "ibt" (inference based training): all, all;
        - "ibt-approx": as "ibt", but training takes the rounded linear relaxation for the most probable world;
        - "sct" (selectively constrained training): the inexpensive ones, all;
        - "sct-": the inexpensive ones, the inexpensive ones.
    growth, density : float
        What counts as inexpensive; as for `Database.diagnose`.

    Attributes
    ----------
    learner_ : estimator
        The fitted copy.
    training_model_ : Model
        The model that was trained, without the hard clauses that training does not enforce.
    model_ : Model
        The learned rules, and the hard rules that prediction enforces.
    costs_ : Table or None
        What each hard clause costs, where the mode asks for it ("sct", "sct-").
    seconds_ : dict of str to float
        Wall time of `selecting` the inexpensive clauses, and what the learner says (`grounding`, `learning`).

    Notes
    -----
    Source: Huynh (2011), chapter 7. Of a template (`+f`) each clause is selected for itself. A block that a declaration states
    (`field!`) belongs to the predicate and stays in every mode.

    Examples
    --------
    >>> import sqlrl
    >>> ConstrainedTraining(sqlrl.CDA(0.01), mode="ibt")
    ConstrainedTraining(CDA(strength=0.01), mode='ibt')
    """

    learner_: Any
    training_model_: Model
    model_: Model
    costs_: Table | None
    seconds_: dict[str, float]

    word = "constrained"

    def __init__(
        self,
        learner: ConstrainedLearner,
        mode: Annotated[
            Mode,
            Option(
                "which hard clauses training enforces, and prediction: none: none, none; l+i: none, all; ibt: all, all; ibt-approx: all, on "
                "rounded relaxations, all; sct: the inexpensive ones, all; sct-: the inexpensive ones, these. All in both if it is not given",
                name="--constraints",
                panel=RUN,
            ),
        ] = "sct",
        *,
        growth: float = GROWTH,
        density: float = DENSITY,
    ) -> None:
        self.learner, self.mode, self.growth, self.density = learner, mode, growth, density

    def fit(self, db: Database, model: Model, *, examples: object = None, **options: Any) -> Self:
        r"""Learn the weights of all rules of a model that are not hard.

        Parameters
        ----------
        db : Database
        model : Model
            With all its hard clauses.
        examples : query or list of names, optional
            What to learn from; all examples by default. What constraints cost is counted over them, too.
        **options
            What else the learner's `fit` takes: `limit`, `start`, `callback`, `checkpoint` and `resume`. `limit` holds for the counting of costs, too. A resumed run needs the same mode,
            thresholds, model and examples.

        Returns
        -------
        ConstrainedTraining
            This estimator.

        Raises
        ------
        InputError
            An unknown mode, a threshold that is no positive number, "ibt-approx" with a learner that has no such inference, or
            an option that the learner's `fit` does not have; and as the learner's `fit`.

        Examples
        --------
        >>> import sqlrl
        >>> db = sqlrl.connect()
        >>> db.load("Word", [("d1", "p0", "good"), ("d1", "p1", "bad")], types=["doc", "place", "word"], example="doc")
        >>> db.load("Liked", [("d1", "p0")], types=["doc", "place"], target=True, example="doc")
        >>> rules = "Word(doc, place, word)\nLiked(doc, place)\nWord(d, p, +w) => Liked(d, p)\n"
        >>> rules += "Liked(d, p) ^ p != q => !Liked(d, q)."
        >>> fit = ConstrainedTraining(sqlrl.AdaGrad(), mode="l+i").fit(db, sqlrl.parse_mln(rules))
        >>> len(fit.training_model_.rules), len(fit.model_.rules)
        (1, 2)
        """
        check_database(db)
        check_model(model)
        learner = self._copied()
        _check_options(learner, options)
        check_thresholds(self.growth, self.density)
        training, predicting = ENFORCED[self.mode]
        start = time.perf_counter()
        costs: list[ClauseCost] | None = None
        if "inexpensive" in (training, predicting):
            refuse_streams(examples)
            limit = options.get("limit", GROUNDING_LIMIT)
            asked = Query(model, examples, limit=limit)
            costs = clause_costs(db.advanced.session, asked, growth=self.growth, density=self.density)
        seconds = {"selecting": time.perf_counter() - start}
        soft = tuple(rule for rule in model.rules if not rule.hard)
        trained = model.with_rules((*soft, *enforced(model, training, costs or ())))
        try:
            learner.fit(db, trained, examples=examples, **options)
        finally:
            # Ctrl-C in the middle leaves a batch learner with the best weights so far.
            if "model_" in vars(learner):
                learned = tuple(rule for rule in learner.model_.rules if not rule.hard)
                self.learner_, self.training_model_ = learner, trained
                self.model_ = learner.model_.with_rules((*learned, *enforced(model, predicting, costs or ())))
                self.costs_ = None if costs is None else cost_table(costs)
                self.seconds_ = seconds | learner.seconds_
        return self

    def _copied(self) -> Any:
        """Return the learner to train: a copy, told how to predict."""
        if self.mode not in get_args(Mode):
            raise InputError(f"mode={self.mode!r}: choose {', '.join(map(repr, get_args(Mode)))}")
        kind = type(self.learner).__name__
        if isinstance(self.learner, type):
            raise InputError(f"learner must be an estimator, not its class: call it, as in {self.learner.__name__}()")
        # One of ours that has no weights learns clauses alone.
        clauses = isinstance(self.learner, Configured) and not isinstance(self.learner, Fitted)
        if clauses or not all(callable(getattr(self.learner, name, None)) for name in ("fit", "get_params")):
            raise InputError(
                f"learner must be an estimator of weights such as sqlrl.CDA(), not an object of type {kind}"
            )
        # Those of estimators among them are told with these.
        parameters = {name: value for name, value in self.learner.get_params().items() if NESTED not in name}
        if self.mode == "ibt-approx":
            if "inference" not in parameters:
                raise InputError(f"mode='ibt-approx' needs a learner with inference='relaxed', which {kind} has not")
            parameters["inference"] = "relaxed"
        return type(self.learner)(**parameters)

    # ---- showing ----------------------------------------------------------------------------------------

    def __repr__(self) -> str:
        """Return the constructor call, parameters with default values left out, and below it what was learned."""
        given = [repr(self.learner).split("\n")[0], f"mode={self.mode!r}"]
        defaults = (("growth", GROWTH), ("density", DENSITY))
        given += [f"{name}={getattr(self, name)!r}" for name, value in defaults if getattr(self, name) != value]
        call = f"ConstrainedTraining({', '.join(given)})"
        return "\n".join([call, *(f"  {name:<12}{value}" for name, value in self.facts())])

    def _repr_html_(self) -> str:
        call, *_ = repr(self).split("\n")
        if not self.facts():
            return parameters_html(self, call)
        costs = "" if self.costs_ is None else self.costs_._repr_html_()
        learner: str = self.learner_._repr_html_()
        return markup.preformatted(call) + markup.pairs(self.facts()) + costs + learner

    def facts(self) -> list[tuple[str, str]]:
        """Return what was done, in words; nothing before `fit`."""
        if "model_" not in vars(self):
            return []
        hard = [sum(rule.hard for rule in m.rules) for m in (self.training_model_, self.model_)]
        facts = [
            ("training", f"under {counted(hard[0], 'hard rule')}"),
            ("prediction", f"under {counted(hard[1], 'hard rule')}"),
        ]
        if self.costs_ is not None:
            cheap = self.costs_["inexpensive"]
            facts.append(("inexpensive", f"{sum(map(bool, cheap))} of {counted(len(cheap), 'hard clause')}"))
        return [*facts, ("seconds", ", ".join(f"{stage} {s:.3f}" for stage, s in self.seconds_.items()))]

    def __getattr__(self, name: str) -> Any:
        # Called only for attributes that are not there.
        if name == "model":
            return self.model_
        if name in LEARNED:
            raise NotFittedError(f"this ConstrainedTraining has no {name} yet: call fit(db, model) first")
        raise no_name(type(self).__name__, name, [*dir(type(self)), *LEARNED])


def _check_options(learner: ConstrainedLearner, options: Mapping[str, object]) -> None:
    """Refuse options that the learner's `fit` does not have."""
    parameters = signature(learner.fit).parameters.values()
    known = [x.name for x in parameters if x.kind is Parameter.KEYWORD_ONLY and x.name != "examples"]
    for name in options:
        if name not in known:
            what = f"it takes {', '.join(known)}" if known else "it takes none"
            raise InputError(f"{name}= is no option of the fit of {type(learner).__name__}: {what}")


def enforced(model: Model, part: Part, costs: Sequence[ClauseCost]) -> tuple[Rule, ...]:
    """Return the hard rules that `part` enforces; with "inexpensive" a template becomes those of its clauses that are inexpensive."""
    hard = [(i, rule) for i, rule in enumerate(model.rules) if rule.hard]
    if part == "none":
        return ()
    if part == "all":
        return tuple(rule for _, rule in hard)
    return tuple(kept for i, rule in hard for kept in _inexpensive(rule, [c for c in costs if c.rule == i]))


def _inexpensive(rule: Rule, costs: Sequence[ClauseCost]) -> Iterable[Rule]:
    """Return the rule if all its clauses are inexpensive, else those of its template that are."""
    if all(cost.inexpensive for cost in costs):
        return (rule,)
    chosen = [dict(cost.constants) for cost in costs if cost.inexpensive and cost.constants]
    return [Rule(fill(rule.formula, row), hard=True, line=rule.line, path=rule.path) for row in chosen]
