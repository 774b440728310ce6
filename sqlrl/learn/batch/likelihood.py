"""Exact conditional likelihood of the labels of a model, with an L1 or L2 penalty."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Literal, Self, Unpack

import numpy as np
import pyarrow as pa

from sqlrl.errors import InputError, Parameter
from sqlrl.ground.limits import GROUNDING_LIMIT
from sqlrl.ground.network import FloatArray, IntArray, Network
from sqlrl.learn.batch.estimator import NO_ATOMS, NONE_LEFT, BatchCommon, BatchEstimator, names_of
from sqlrl.learn.batch.joint import LabelledPart
from sqlrl.learn.batch.labelled import (
    Labelled,
    LikelihoodReach,
    Wide,
    label_part,
    observations,
    warn_unpenalised,
    with_loss,
)
from sqlrl.learn.batch.penalised import Penalty, fit_weights, make_design, running_away
from sqlrl.learn.batch.problem import Support
from sqlrl.learn.batch.validation import (
    STRENGTH_SCHEMA,
    VALIDATION,
    AtomGroups,
    Validation,
    make_grouped_parts,
    make_parts,
    validate,
)
from sqlrl.learn.convergence import warn_unconverged
from sqlrl.learn.parameters import Above, AtLeast, Option, Whole, listed, several
from sqlrl.training.labels import InfeasibleTruth, no_infeasible_truth
from sqlrl.training.learning import TrainingDatabase
from sqlrl.training.records import TUNING_SCHEMA, Iteration, Report
from sqlrl.training.shelf import Shelf
from sqlrl.training.stream import TrainingStream
from sqlrl.wording import counted

if TYPE_CHECKING:
    from sqlrl.logic.model import Model


class Likelihood(BatchEstimator[Labelled]):
    r"""Learns weights by the exact conditional likelihood of labels, that of a conditional random field.

    Where no clause joins query atoms, these are independent given the evidence: the likelihood and its gradient have closed forms. Where
    clauses join them, both are exact sums over the worlds of each component, by elimination: chains, trees, small cliques, whatever has
    small treewidth. The best weights are found with penalty "l1" by OWL-QN (many weights are exactly 0), with "l2" by L-BFGS.

    Parameters
    ----------
    penalty : {"l1", "l2"}
        What is maximised: the log-likelihood less `strength * sum(|w|)`, a Laplacian prior; or less
        `strength / 2 * sum(w^2)`, a Gaussian prior of mean 0 and variance 1 / strength.
    strength : float, sequence of float or array
        Beta in the thesis, in the units of the log-likelihood summed over all atoms (of liblinear it is 1 / C). With 0 weights can
        grow without bounds, and there is a warning where they do. Of several the one whose weights make held-out labels most likely is chosen, and weights are learned again from all.
    folds : int
        Parts for that choice: whole examples if there are several (then no more parts than examples), else query atoms and
        blocks, or components that clauses join, with labels in proportion, or whole groups of them, see `fit`.
    prior_scale : float, sequence of float or array
        How wide the prior is: in the penalty weights are divided by it. One number for each rule of the model, in their order (those of
        hard rules are not used; all clauses that a rule stands for have its own), or one for all. Kinds of clauses that have many groundings, or are many, want a narrower prior than
        others to say as much as these before learning.
    tolerance : float
        Done when the optimality condition is violated by at most this share of the largest gradient at weights of 0.
    max_iterations : int
    wide : {"error", "pseudo-likelihood", "composite-likelihood"}
        What is done with components whose tables elimination cannot hold: an error that names one, with its atoms and the clause that widens
        it; or each of their atoms, or each of their blocks and other atoms, is learned given the labels of all others.
    loss : {"none", "hamming"}
        With "hamming" the score of each world is raised by the number of its wrong atoms before worlds are summed over (*softmax-margin*): labels
        shall outscore worlds with many wrong atoms by more, as in `MaxMargin`, which often predicts better where the rules are far from the
        truth. What is learned then says less of how probable something is.
    **common
        See `sqlrl.learn.BatchEstimator`, also for more attributes.

    Attributes
    ----------
    strength_ : float
        The strength that was used.
    strengths_ : pyarrow.Table
        How strengths did, see `Validation.table`; empty if only one was given. `sqlrl.tuning` has each part.
    log_likelihood_ : float
        Of the training labels of the predicates that rules mention; with a loss, that in which it is added.
    optimality_ : float
        The largest violation of the optimality condition at `weights_`, in counts: of the derivative of the objective for a
        weight that is not 0, else of the gradient of the log-likelihood beyond the L1 strength. 0 proves the optimum.
    reached_ : Reached
        How many components elimination summed over, how many atoms and blocks have a closed form, and how many of wider components were
        learned given the labels of all others: if these are 0, the likelihood is exact.

    Notes
    -----
    Source: of closed forms Huynh (2011), section 3.2.2; of joint models Lafferty, McCallum and Pereira, "Conditional random fields" (2001),
    section 3, on the networks of Richardson and Domingos, "Markov logic networks" (2006): the derivative for a weight is n of the labels less
    the expected n, here both exact. Of wider components: Besag (1975), and Lindsay (1988) for blocks. OWL-QN by Andrew and Gao, "Scalable
    training of L1-regularized log-linear models" (2007), L-BFGS by scipy. The loss: Gimpel and Smith, "Softmax-margin CRFs: training log-linear
    models with cost functions" (2010), section 2, equation 3; that of an atom is 1, whatever block it is of. Closed forms end with Newton steps, since columns of clauses
    depend on each other and quasi-Newton steps creep there; joint models with L1 end with L-BFGS-B inside the orthants that OWL-QN finds.

    Hard clauses have no worlds that violate them. If labels violate some, which would make their probability 0 whatever the weights are,
    these ground clauses are left out of n, of the sum over worlds, and of the gradient alike (`on_infeasible_truth="warn"`): of a block with
    two true labels the pairs of these, so that each of them excludes the other members still. `InfeasibleTruthWarning` says how many.

    Examples come in windows; what is grounded of them is kept as arrays, from 256 MB on in files where DuckDB spills, so that memory does
    not grow with the data, and SQL runs once.

    An L1 penalty leaves rules out and tests none: of 19 rules about shuffled labels of 300 atoms it kept 13 on average at the strength 1, some in 20 of 20 drawings. The strength that
    held-out labels chose among 0.1, 1, 10 and 100 kept some in one drawing of 20.

    Blocks are choices among their atoms. Soft evidence counts with its fixed log-odds. An atom that hard
    clauses fix contributes nothing. No constant feature is added: write the unit
    clause `Target(x)` if the model is to have one; it is penalised as all clauses are. Of clauses with equal counts "l1" gives
    the first of the widest prior all the weight, "l2" each a part, the same if their priors are.

    Examples
    --------
    >>> import sqlrl
    >>> db = sqlrl.connect()
    >>> db.load("Word", [("d1", "good"), ("d2", "bad"), ("d3", "bad")], types=["doc", "word"])
    >>> db.load("Liked", [("d1",)], types=["doc"], target=True)
    >>> model = sqlrl.parse_mln("Word(doc, word)\nLiked(doc)\nWord(d, +w) => Liked(d)")
    >>> fit = Likelihood("l2", strength=0.1).fit(db, model)
    >>> [(row["clause"], round(row["weight"], 3), row["support"]) for row in fit.clauses().to_pylist()]
    [('Word(d, "bad") => Liked(d)', -2.128, 2), ('Word(d, "good") => Liked(d)', 1.634, 1)]

    Neighbours that are alike, in a ring of which elimination sums over all worlds:

    >>> db = sqlrl.connect()
    >>> people = ["Ann", "Bob", "Cid", "Dan"]
    >>> db.load("Beside", list(zip(people, people[1:] + people[:1])), types=["person", "person"])
    >>> db.load("Happy", [("Ann",), ("Bob",)], types=["person"], target=True)
    >>> model = sqlrl.parse_mln("Beside(person, person)\nHappy(person)\nBeside(x, y) ^ Happy(x) => Happy(y)\nHappy(x)")
    >>> fit = Likelihood("l2", strength=0.1).fit(db, model)
    >>> fit.reached_, [round(float(weight), 3) for weight in fit.weights_]
    (LikelihoodReach(components=1, choices=0, wide=0), [0.0, 0.0])
    """

    strength_: float
    strengths_: pa.Table
    log_likelihood_: float
    optimality_: float
    reached_: LikelihoodReach

    word = "likelihood"
    learned = (*BatchEstimator.learned, "strength_", "strengths_", "log_likelihood_", "optimality_", "reached_")
    window = None

    def __init__(
        self,
        penalty: Annotated[Penalty, Option("penalty on the weights")] = "l1",
        strength: Annotated[
            float | Sequence[float] | FloatArray,
            AtLeast(0, "it weighs the penalty, and 0 is no penalty"),
            Option("strength of the penalty; of several the best by held-out labels"),
        ] = 1.0,
        *,
        folds: Annotated[int, Whole(2), Option("parts that are held out in turn")] = 5,
        prior_scale: Annotated[
            float | Sequence[float] | FloatArray, Above(0, "weights are divided by it in the penalty")
        ] = 1.0,
        tolerance: Annotated[float, Above(0, "1e-7 is the default"), Option("when to stop")] = 1e-7,
        max_iterations: Annotated[int, Whole(1), Option("most iterations")] = 2000,
        wide: Annotated[Wide, Option("what is done with components that elimination cannot reach")] = "error",
        loss: Annotated[
            Literal["none", "hamming"], Option("loss that is added to the scores of other worlds")
        ] = "none",
        **common: Unpack[BatchCommon],
    ) -> None:
        super().__init__(**common)
        self.penalty, self.strength, self.folds, self.prior_scale = penalty, strength, folds, prior_scale
        self.tolerance, self.max_iterations, self.wide, self.loss = tolerance, max_iterations, wide, loss
        self._validation: Validation | None = None
        self._given: object = None
        self._model: Model | None = None
        self._shelf: Shelf[LabelledPart] = Shelf(None)

    def fit(
        self,
        db: TrainingDatabase,
        model: Model,
        *,
        examples: object = None,
        groups: object = None,
        callback: Callable[[Iteration], object] | None = None,
        checkpoint: bool = False,
        resume: int | None = None,
        limit: int | None = GROUNDING_LIMIT,
        start: Model | None = None,
    ) -> Self:
        r"""Learn the weights of all rules of a model that are not hard.

        Parameters
        ----------
        db, model, examples, callback, checkpoint, resume, limit, start
            As `BatchEstimator.fit`.
        groups : query, table, path, relation, frame or tuples, optional
            Which query atoms stay together when a strength is chosen: a column for each argument of the target, in order, and one
            for the group; rows of other atoms are passed over. Groups are dealt to the parts at random, and an atom is in each part
            that has one of its groups. With two rows for each pair of drugs, whose groups are the first and the second drug, nothing
            is learned from any pair of the drugs that are held out.

        Returns
        -------
        Self

        Raises
        ------
        InputError
            As `BatchEstimator.fit`; `prior_scale` has not as many numbers as the model has rules; or there is one strength, several
            open predicates or several examples, the columns are not those above, an atom has no group, or nothing is left to learn
            from.
        InfeasibleError, GroundingLimitError
            As `BatchEstimator.fit`.

        Examples
        --------
        A pair of players and its reverse say the same, so they are held out together:

        >>> import sqlrl
        >>> db = sqlrl.connect()
        >>> db.load("Old", [("a",), ("b",)], types=["player"])
        >>> games = [("a", "c"), ("b", "c"), ("a", "d"), ("b", "d")]
        >>> db.load("Beats", games, types=["player", "player"], target=True)
        >>> pairs = games + [(y, x) for x, y in games]
        >>> db.scope("Beats", pairs)
        >>> rules = "Old(x) => Beats(x, y)\nOld(y) => Beats(x, y)"
        >>> model = sqlrl.parse_mln(f"Old(player)\nBeats(player, player)\n{rules}")
        >>> together = [(x, y, "-".join(sorted((x, y)))) for x, y in pairs]
        >>> fit = Likelihood("l2", strength=[0.1, 10], folds=4).fit(db, model, groups=together)
        >>> fit.strength_
        0.1
        """
        self._given, self._model = groups, model
        try:
            return super().fit(
                db,
                model,
                examples=examples,
                callback=callback,
                checkpoint=checkpoint,
                resume=resume,
                limit=limit,
                start=start,
            )
        finally:
            self._given = self._model = None
            self._shelf.close()

    def _check(self) -> None:
        super()._check()
        if self._given is not None and len(listed("strength", self.strength)) == 1:
            raise InputError(
                f"{Parameter('groups')} says which atoms stay together when a strength is chosen, and {Parameter('strength', self.strength)} is only one: give "
                f"several to choose from, or leave {Parameter('groups')} out"
            )

    def _problem(self, stream: TrainingStream) -> tuple[Labelled, InfeasibleTruth]:
        reached, support, infeasible = LikelihoodReach(), Support(), no_infeasible_truth()
        network: Network | None = None
        learned: Network | None = None
        self._shelf = Shelf(stream.spill_directory())
        for window in stream:
            network = window.network
            problem, broken = self._checked(stream, window)
            infeasible = infeasible.joined(broken)
            if problem is not None and len(network.atoms):
                support.add(problem.network)
                if self.loss == "hamming":
                    problem = with_loss(problem)
                part, how = label_part(problem, self.wide, seed=self.seed)
                self._shelf.put(part)
                reached += how
                if len(part):
                    # Places of atoms are those in what is left of the window.
                    learned = problem.network
        if network is None or (len(self._shelf) == 0 and len(infeasible.clause) == 0):
            raise InputError(NO_ATOMS)
        if len(self._shelf) == 0:
            raise InputError(NONE_LEFT)
        observed, clauses = observations(self._shelf, len(network.clauses)), network.clauses
        assert learned is not None, "there is something to learn from"
        scale, groups = self._scales(stream, clauses), self._groups(stream, learned, len(np.unique(observed.example)))
        return Labelled(
            observed, names_of(stream), clauses, network.hard, support.table(clauses), reached, scale, groups
        ), infeasible

    def _scales(self, stream: TrainingStream, clauses: IntArray) -> FloatArray:
        """Return how wide the prior of each clause is, shape (m,)."""
        given = listed("prior_scale", self.prior_scale)
        if not several(self.prior_scale):
            return np.full(len(clauses), given[0], dtype=np.float64)
        assert self._model is not None
        of_rule = np.array(given, dtype=np.float64)
        if len(of_rule) != len(self._model.rules):
            raise InputError(
                f"prior_scale has {counted(len(of_rule), 'number')}, and the model has {counted(len(self._model.rules), 'rule')}: give "
                "one for each, in their order, or one for all"
            )
        return np.asarray(of_rule[stream.clause_rules()[clauses]], dtype=np.float64)

    def _groups(self, stream: TrainingStream, network: Network, count: int) -> AtomGroups | None:
        """Return the groups of atoms that stay together when a strength is chosen, of so many examples."""
        if self._given is None:
            return None
        if count > 1:
            raise InputError(
                f"{Parameter('groups')} is for atoms of one example, and there are {count:,}: whole examples stay together"
            )
        ids, group = stream.atom_groups(self._given)
        order = np.argsort(network.atoms)
        known = np.isin(ids, network.atoms)
        place = order[np.searchsorted(network.atoms[order], ids[known])].astype(np.int64)
        atoms, name = network.atoms, stream.atom_text
        return AtomGroups(place, group[known], lambda place: name(int(atoms[place])))

    def _learn(self, problem: Labelled, report: Report, after: Iteration | None = None) -> FloatArray:
        labels, strengths, seed = problem.observed, listed("strength", self.strength), self.seed
        going = {} if after is None or after.state is None else after.state()
        self._validation = Validation.of_arrays(going) if f"{VALIDATION} scores" in going else None
        if len(strengths) > 1 and self._validation is None:
            if problem.groups is None:
                parts = make_parts(labels, self.folds, seed=seed)
            else:
                parts = make_grouped_parts(labels, problem.groups, self.folds, seed=seed)
            self._validation = validate(labels, self.penalty, strengths, parts, problem.scale)
        strength = float(strengths[0]) if self._validation is None else self._validation.best

        def ended(weights: FloatArray, optimality: float) -> FloatArray:
            """Take weights that learning ended with."""
            self.strength_, self.optimality_, self.reached_ = strength, optimality, problem.reached
            self.strengths_ = STRENGTH_SCHEMA.empty_table() if self._validation is None else self._validation.table()
            self.log_likelihood_ = float(labels.log_likelihood(weights).sum())
            return weights

        def tell(iteration: Iteration) -> None:
            weights, optimality, state = iteration.so_far, iteration.optimality, iteration.state
            if weights is not None and optimality is not None:
                iteration = replace(iteration, so_far=lambda: ended(weights(), optimality))
            if self._validation is not None and state is not None:
                chosen = self._validation.arrays()
                iteration = replace(iteration, state=lambda: {**state(), **chosen})
            report(iteration)

        design = make_design(labels, problem.scale)
        found = fit_weights(
            design,
            self.penalty,
            strength,
            start=problem.start,
            tolerance=self.tolerance,
            max_iterations=self.max_iterations,
            report=tell,
            done=0 if after is None else after.iteration,
        )
        if not found.converged:
            warn_unconverged(
                type(self).__name__,
                found.iterations,
                f"the optimality condition is still violated by {found.optimality:.3g}",
                f"raise max_iterations, now {self.max_iterations}, or tolerance, now {self.tolerance:g}, or a strength above {strength:g} makes it easier",
            )
        if strength == 0:
            away = running_away(design, max_iterations=self.max_iterations)
            warn_unpenalised(problem, found.weights, away, seed)
        return ended(found.weights, found.optimality)

    def _excess(self, problem: Labelled, weights: FloatArray) -> FloatArray | None:
        """Return n of the labels less E[n]: the gradient, where it is that of the likelihood."""
        if problem.reached.wide or self.loss != "none":
            return None
        found = np.full(int(problem.clauses.max(initial=-1)) + 1, np.nan)
        soft = ~problem.hard
        found[problem.clauses[soft]] = problem.observed.value_and_gradient(weights)[1][soft]
        return found

    def _tuning(self) -> pa.Table:
        return TUNING_SCHEMA.empty_table() if self._validation is None else self._validation.tuning()

    def _facts(self) -> list[tuple[str, str]]:
        exact = "log-likelihood"
        if self.reached_.wide:
            exact = f"{self.wide.removesuffix('-likelihood')}-log-likelihood"
        if self.loss != "none":
            exact = f"{exact} with the {self.loss} loss,"
        facts = [
            (
                "likelihood",
                f"{exact} {self.log_likelihood_:.6g} of the labels, optimality within {self.optimality_:.2g}",
            ),
            ("computed by", self.reached_.words(self.wide)),
        ]
        if self.strengths_.num_rows:
            facts.append(("strength", self._choice()))
        return [*super()._facts(), *facts]

    def _choice(self) -> str:
        """Say which strength was chosen, and whether the best one may lie outside those that were tried."""
        tried = self.strengths_.column("strength").to_pylist()
        ends = {
            min(tried): "the smallest: perhaps a smaller one is better",
            max(tried): "the largest: perhaps a larger one is better",
        }
        note = f", {ends[self.strength_]}" if self.strength_ in ends else ""
        return f"{self.strength_:g}, chosen from {counted(len(tried), 'value')}{note}"
