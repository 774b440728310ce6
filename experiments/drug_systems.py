"""What learns from pairs of drugs: clauses, their weights, and predictions with and without a transitive target.

Clauses are found once for a fold and settings; every learner of weights starts from them: from the theory of the clause learner
(ALEPH), or from all clauses whose m-estimate exceeds 0.6 (ALEPH++). What is made of them for the rows "sqlrl" is in `drug_reasons.py`.

Where the target must be transitive, all pairs of two drugs are query atoms, and no drug is better than itself. Every other clause
has one query atom in each of its groundings, so that all that they say of an atom is its log-odds: they become unit clauses beside the
hard one. Most probable worlds are exact; probabilities are MC-SAT's.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import permutations, product
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from drugs import BoolArray, FloatArray, Pair, Task, connect, load_drugs
from evaluated_once import EvaluatedOnce, Part
from grounded_once import GroundedOnce
from scipy import sparse

import sqlrl
from sqlrl.ground.grounding import ground_network
from sqlrl.ground.network import Network
from sqlrl.ground.program import Extent
from sqlrl.logic.rules import Rule
from sqlrl.logic.terms import Formula
from sqlrl.solve.marginal import marginals
from sqlrl.solve.mpe import mpe
from sqlrl.solve.result import Status

Kind = Literal["theory", "all"]

GOOD = 0.6
"""Clauses of a greater m-estimate are kept besides the theory."""

_THESIS = {"clause_length": 5, "noise": 300, "nodes": 5000, "min_positive": 2, "min_score": 0.6}
SETTINGS: Mapping[str, Mapping[str, Any]] = {
    "thesis": {**_THESIS, "keep_above": GOOD},
    "modes": {"noise": 0, "keep_above": GOOD},
    "constants": _THESIS,
}
"""The thesis' settings (section 3.3.2; what it does not say is Aleph's default), and those of the `.modes` files alone, where the
noise is Aleph's default. All use the depth and the evaluation function of the files. The modes of these have no constants, and the
thesis does not print its own: "constants" are the thesis' settings with those of `with_constants`, for theories alone."""

SAMPLES, BURN_IN = 200, 50

DIGITS = 6
"""Decimals of log-odds: weights are learned no better, and what they leave where they cancel each other is no reason."""

LIMIT = 20.0
"""Deterministic seconds of CP-SAT for a most probable world: where log-odds of pairs contradict each other in many circles a proof can
take minutes, and the gap is reported instead."""


@dataclass(frozen=True)
class Found:
    """Clauses of a fold, without weights.

    Parameters
    ----------
    theory, all : Model
    seconds : float
    settings : str
        Of the clause learner, one of `SETTINGS`.
    """

    theory: sqlrl.Model
    all: sqlrl.Model
    seconds: float
    settings: str


def evaluated_once(folder: str | Path, bias: sqlrl.Bias, pairs: Iterable[Pair]) -> EvaluatedOnce:
    """Return what finds clauses from labels of some of the pairs; its database has none of theirs: all pairs are true there."""
    db, known = connect(), list(pairs)
    load_drugs(db, folder, bias, known, known)
    return EvaluatedOnce(db)


def find_clauses(part: Part, bias: sqlrl.Bias, settings: str, nodes: int | None = None) -> Found:
    """Find clauses; `nodes` bounds the search for each seed further. The seconds are those of a search that knows nothing."""
    given = dict(SETTINGS[settings])
    if nodes is not None:
        given["nodes"] = nodes
    start, modes = time.perf_counter(), with_constants(bias) if settings == "constants" else bias
    learner = sqlrl.ILP(modes, command="induce_cover", **given).fit(part, bias.head.predicate)
    rules = learner.model_.rules
    in_theory = learner.candidates_.column("in_theory").to_pylist()
    theory = tuple(rule for rule, chosen in zip(rules, in_theory, strict=True) if chosen)
    return Found(learner.model_.with_rules(theory), learner.model_, time.perf_counter() - start + part.saved, settings)


def with_constants(bias: sqlrl.Bias) -> sqlrl.Bias:
    """Return the bias in which each argument of a body literal that brings in a variable may be a constant instead."""
    body = [
        replace(mode, places=places)
        for mode in bias.body
        for places in product(*((p, replace(p, kind="#")) if p.kind == "-" else (p,) for p in mode.places))
    ]
    return replace(bias, body=tuple(body))


def with_rules(model: sqlrl.Model, bias: sqlrl.Bias, lines: Sequence[str]) -> sqlrl.Model:
    """Add rules to a model; a rule that is an atom needs a weight, or it reads as a declaration."""
    declared = [f"{mode.predicate}({', '.join(p.type for p in mode.places)})" for mode in (bias.head, *bias.body)]
    added = sqlrl.parse_mln("\n".join([*dict.fromkeys(declared), *lines]), query=(bias.head.predicate,))
    return replace(model, predicates={**added.predicates, **model.predicates}, rules=(*model.rules, *added.rules))


def clauses_of(db: GroundedOnce, found: Found, kind: Kind, bias: sqlrl.Bias) -> sqlrl.Model:
    """Return the clauses that a system learns weights of, the same object each time; as in Alchemy, the target is one more."""
    model = found.theory if kind == "theory" else found.all
    return db.once(kind, lambda: with_rules(model, bias, [f"0 {bias.head.predicate}(a, b)"]))


# ---- learning with a transitive target -----------------------------------------------------------------------------

COMPARED = "Compared"
"""The pairs that may be true; only among them the transitive clause holds in training, since other pairs have no label."""


def transitive(target: str, *, among: str | None = None) -> str:
    """Return the hard clause that a target is transitive, perhaps only among the pairs of a closed predicate."""
    sides = ("a, b", "b, c", "a, c")
    known = "".join(f"{among}({pair}) ^ " for pair in sides) if among else ""
    return f"{known}{target}(a, b) ^ {target}(b, c) => {target}(a, c)."


def made_transitive(model: sqlrl.Model, bias: sqlrl.Bias) -> sqlrl.Model:
    """Add the transitive clause among compared pairs."""
    target = bias.head.predicate
    types = ", ".join(place.type for place in bias.head.places)
    declared = f"{target}({types})\n{COMPARED}({types})\n"
    added = sqlrl.parse_mln(declared + transitive(target, among=COMPARED), query=(target,))
    predicates = {**model.predicates, COMPARED: added.predicates[COMPARED]}
    return replace(model, predicates=predicates, rules=(*model.rules, *added.rules))


# ---- predicting ----------------------------------------------------------------------------------------------------


def pairs_of(task: Task) -> list[Pair]:
    """Return all pairs of two different drugs that occur."""
    return list(permutations(sorted({drug for pair in task.pairs for drug in pair}), 2))


def named_pairs(db: sqlrl.Database, target: str, drug: str = "a") -> list[Pair]:
    """Return the query atoms of the target in the order of their ids, which is that of networks; `drug` is the type."""
    model = sqlrl.parse_mln(f"{target}({drug}, {drug})\n0 {target}(x, y)", query=(target,))
    atoms = db.predict(model).atoms(every=True)
    return list(zip(*(atoms.column(name).to_pylist() for name in atoms.column_names[1:3]), strict=True))


class Asked:
    """Pairs to predict: the query atoms of a database with the background facts, and without any label.

    Parameters
    ----------
    folder : path
        That of the task's files.
    bias : Bias
    pairs : sequence of (str, str)

    Attributes
    ----------
    db : Database
    saved : float
        Seconds that the groundings which were not repeated would have taken: of all, the share of the clauses that were known.
    """

    def __init__(self, folder: str | Path, bias: sqlrl.Bias, pairs: Sequence[Pair]) -> None:
        self.db, self.pairs, self.saved = connect(), list(pairs), 0.0
        load_drugs(self.db, folder, bias, self.pairs, None)
        place = {pair: k for k, pair in enumerate(named_pairs(self.db, bias.head.predicate))}
        self._place = {pair: k for k, pair in enumerate(pairs)}
        self._order = np.array([place[pair] for pair in pairs], dtype=np.intp)
        # Systems have the same clauses with other weights: their counts, and the column of each.
        self._units, self._column = sparse.csc_matrix((len(self.pairs), 0), dtype=np.int64), dict[Formula, int]()
        self._seconds = 0.0

    def of(self, pairs: Sequence[Pair], values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return the values of some of the pairs, of an array with one for each."""
        found: npt.NDArray[Any] = values[[self._place[pair] for pair in pairs]]
        return found

    def counts(self, model: sqlrl.Model) -> sparse.csc_matrix:
        """Return how many groundings each rule of a model has at each pair, shape (pairs, rules); each rule is one clause.

        Weights do not matter, and a formula is grounded when it is first asked for.
        """
        missing = list(dict.fromkeys(rule.formula for rule in model.rules if rule.formula not in self._column))
        if len(self._column):
            self.saved += self._seconds * (len(model.rules) - len(missing)) / len(self._column)
        if missing:
            start = time.perf_counter()
            units, weights = self._ground(model.with_rules(tuple(Rule(formula, 1.0) for formula in missing)))
            assert len(weights) == len(missing), "a rule is not one clause"
            self._column |= {formula: len(self._column) + k for k, formula in enumerate(missing)}
            self._units = sparse.hstack([self._units, units], format="csc")
            self._seconds += time.perf_counter() - start
        return self._units[:, [self._column[rule.formula] for rule in model.rules]]

    def log_odds(self, model: sqlrl.Model) -> FloatArray:
        """Return what the weighted clauses of a model say of each pair; hard clauses say nothing here."""
        soft = model.with_rules(tuple(rule for rule in model.rules if not rule.hard))
        if any(rule.expansions for rule in soft.rules):
            units, weights = self._ground(soft)
        else:
            units, weights = self.counts(soft), np.array([rule.weight for rule in soft.rules], dtype=np.float64)
        found: FloatArray = np.round(units @ weights, DIGITS)
        return found

    def _ground(self, model: sqlrl.Model) -> tuple[sparse.csc_matrix, FloatArray]:
        """Return how many groundings each clause has at each pair, and the weights of the clauses."""
        with self.db.advanced.program(model) as program:
            program.expand(None)
            network = ground_network(Extent(program))
            assert not len(network.row_clause), "a grounding has two query atoms"
            return network.units.tocsr()[self._order].tocsc(), program.weights()

    def covered(self, theory: sqlrl.Model) -> BoolArray:
        """Return True for the pairs that some clause of a theory covers."""
        found: BoolArray = np.asarray(self.counts(theory).sum(axis=1)).ravel() > 0
        return found


@dataclass(frozen=True)
class Ordered:
    """Predictions of a transitive target.

    Parameters
    ----------
    truth : dict of (str, str) to bool
        In the most probable world.
    probability : dict of (str, str) to float
        Empty if it was not asked for.
    gap : float
        How much greater the score (log-odds) of the most probable world can be than that of this one; 0 if it is proved to be it.
    """

    truth: Mapping[Pair, bool]
    probability: Mapping[Pair, float]
    gap: float


@lru_cache(maxsize=1)
def transitive_network(pairs: tuple[Pair, ...]) -> tuple[Network, tuple[Pair, ...]]:
    """Ground the hard transitive clause over pairs, all of them query atoms; return the pair of each atom, too."""
    db = connect()
    db.load("Drug", [(drug,) for drug in sorted({drug for pair in pairs for drug in pair})], types=["drug"])
    db.scope("better", list(pairs))
    network = db.advanced.ground(sqlrl.parse_mln(f"better(drug, drug)\n{transitive('better')}", query=("better",)))
    return network, tuple(named_pairs(db, "better", "drug"))


def ordered(pairs: Sequence[Pair], log_odds: FloatArray, *, samples: int = SAMPLES, seed: int = 0) -> Ordered:
    """Predict with the hard transitive clause beside log-odds for each pair.

    Parameters
    ----------
    pairs : sequence of (str, str)
        All query atoms; others are false.
    log_odds : float array
    samples : int
        Of MC-SAT, in one chain; 0 for no probabilities.
    seed : int
    """
    network, atoms = transitive_network(tuple(pairs))
    value = dict(zip(pairs, log_odds, strict=True))
    # As soft evidence, so that the network is the same for all systems of a fold.
    network = replace(network, prior=np.array([value[pair] for pair in atoms]))
    weights = np.zeros(len(network.clauses))
    best = mpe(network, weights, deterministic_limit=LIMIT, seed=seed)
    probability: dict[Pair, float] = {}
    if samples:
        found = marginals(network, weights, method="mcsat", samples=samples, burn_in=BURN_IN, chains=1, seed=seed)
        probability = dict(zip(atoms, found.probability.tolist(), strict=True))
    gap = 0.0 if best.report.status is Status.OPTIMAL else best.report.gap
    return Ordered(dict(zip(atoms, best.world.tolist(), strict=True)), probability, gap)


# ---- weights -------------------------------------------------------------------------------------------------------

STRENGTHS = (0.01, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
PRICES = (1.0, 10.0, 100.0, 1000.0, 10000.0)
"""What strengths of the penalty, and values of C, are chosen from, on training pairs."""


@dataclass(frozen=True)
class Weighted:
    """Clauses with weights.

    Parameters
    ----------
    model : Model
    transitive_model : Model or None
        Learned with the transitive clause; None if the learner has no use for it.
    clauses : int
        With a weight other than 0.
    parameter : str
        What was chosen.
    """

    model: sqlrl.Model
    transitive_model: sqlrl.Model | None
    clauses: int
    parameter: str


def learn_weights(db: GroundedOnce, model: sqlrl.Model, bias: sqlrl.Bias, learner: str, seed: int) -> Weighted:
    """Learn the weights of clauses with "PSCG", "L2", "L1", "MM" or "MM-L1".

    With "MM" the pairs of the database must also be the facts of `COMPARED`.
    """
    if learner == "PSCG":
        fit: Any = sqlrl.PSCG(random_state=seed).fit(db, model)
        return Weighted(fit.model_, None, _weighted(fit), "")
    if learner in ("L1", "L2"):
        penalty: Any = learner.lower()
        fit = sqlrl.Likelihood(penalty, STRENGTHS, random_state=seed).fit(db, model)
        return Weighted(fit.model_, None, _weighted(fit), f"strength {fit.strength_:g}")
    norm: Any = "l1" if learner == "MM-L1" else "l2"
    together = db.once(("transitive", id(model)), lambda: made_transitive(model, bias))
    fits = [
        sqlrl.MaxMargin(
            strength=[1 / price for price in PRICES],
            penalty=norm,
            loss="hamming",
            separation="relaxed",
            random_state=seed,
        ).fit(db, each)
        for each in (model, together)
    ]
    chosen = [f"{row['C']:g}" for fit in fits for row in fit.choices_.to_pylist() if row["chosen"]]
    return Weighted(fits[0].model_, fits[1].model_, _weighted(fits[1]), f"C {', '.join(chosen)}")


def _weighted(fit: Any) -> int:
    return int((fit.weights_ != 0).sum())
