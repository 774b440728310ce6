"""What learns from pairs of drugs: clauses, their weights, and predictions with and without a transitive target.

Clauses are found once for a fold and settings; every learner of weights starts from them. `CLAUSES` says from which:

- `theory`: the theory of the clause learner (ALEPH);
- `all`: every clause whose m-estimate exceeds 0.6 besides (ALEPH++);
- `both ways`: of all clauses that have as many groundings as each other at every training pair the first; each `body(a, b) =>
  better(a, b)` beside `body(b, a) => better(a, b)`, whose weight can be negative: a reason that a is better is one that b is not. And
  one clause for each attribute of either drug. The strength of the penalty is chosen in inner folds of the protocol's own kind;
- `both ways and names`: also one clause for each drug on either side.

Where the target must be transitive, all pairs of two drugs are query atoms, and no drug is better than itself. Every other clause
has one query atom in each of its groundings, so that all that they say of an atom is its log-odds: they become unit clauses beside the
hard one. Most probable worlds are exact; probabilities are MC-SAT's.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import permutations
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from drugs import BoolArray, FloatArray, Pair, Protocol, Task, background, choose_strength

import sqlrl
from sqlrl.ground.assemble import ground_network
from sqlrl.logic.terms import And, Atom, Formula, Implies

Kind = Literal["theory", "all", "both ways", "both ways and names"]

SETTINGS: Mapping[str, Mapping[str, Any]] = {
    "thesis": {"clause_length": 5, "noise": 300, "nodes": 5000, "min_positive": 2, "min_score": 0.6},
    "modes": {"noise": 0},
}
"""The thesis' settings (section 3.3.2; what it does not say is Aleph's default), and those of the `.modes` files alone, where the
noise is Aleph's default. Both use the depth and the evaluation function of the files."""

GOOD = 0.6
"""Clauses of a greater m-estimate are kept besides the theory."""

SAMPLES, BURN_IN = 200, 50


@dataclass(frozen=True)
class Found:
    """Clauses of a fold, without weights.

    Parameters
    ----------
    theory, all : Model
    seconds : float
    """

    theory: sqlrl.Model
    all: sqlrl.Model
    seconds: float


def find_clauses(db: sqlrl.Database, bias: sqlrl.Bias, settings: str, nodes: int | None = None) -> Found:
    """Find clauses; `nodes` bounds the search for each seed further."""
    given = dict(SETTINGS[settings])
    if nodes is not None:
        given["nodes"] = nodes
    start = time.perf_counter()
    learner = sqlrl.ILP(bias, command="induce_cover", keep_above=GOOD, **given).fit(db, bias.head.predicate)
    rules = learner.model_.rules
    in_theory = learner.candidates_.column("in_theory").to_pylist()
    theory = tuple(rule for rule, chosen in zip(rules, in_theory, strict=True) if chosen)
    return Found(learner.model_.with_rules(theory), learner.model_, time.perf_counter() - start)


def both_ways(model: sqlrl.Model) -> sqlrl.Model:
    """Return a model with the other direction of each clause after it, unless it has that already."""
    known = {str(rule.formula) for rule in model.rules}
    turned = [(rule, replace(rule, formula=reverse(rule.formula))) for rule in model.rules]
    return model.with_rules(
        tuple(r for pair in turned for r in (pair if str(pair[1].formula) not in known else pair[:1]))
    )


def reverse(formula: Formula) -> Formula:
    r"""Exchange the two variables of the head in the body of a clause.

    Examples
    --------
    >>> model = sqlrl.parse_mln("size(d, n)\nbetter(d, d)\nsize(a, n) => better(a, b)")
    >>> str(sqlrl.logic.printer.format_formula(reverse(model.rules[0].formula)))
    'size(b, n) => better(a, b)'
    """
    assert isinstance(formula, Implies), formula
    assert isinstance(formula.right, Atom), formula
    first, second = formula.right.terms
    other = {first: second, second: first}

    def turned(atom: Formula) -> Atom:
        assert isinstance(atom, Atom), atom
        return Atom(atom.predicate, tuple(other.get(term, term) for term in atom.terms))

    left = formula.left
    body = And(tuple(turned(part) for part in left.parts)) if isinstance(left, And) else turned(left)
    return Implies(body, formula.right)


def with_attributes(model: sqlrl.Model, folder: str | Path, bias: sqlrl.Bias, *, names: bool) -> sqlrl.Model:
    """Add a clause for each attribute of either drug, and with `names` for each drug itself."""
    target, drug = bias.head.predicate, bias.head.places[0].type
    lines = []
    for name, (_, types) in background(folder, bias).items():
        if types[0] == drug:
            others = "".join(f", +v{k}" for k in range(1, len(types)))
            lines += [f"{name}({side}{others}) => {target}(a, b)" for side in ("a", "b")]
    if names:
        lines += [f"0 {target}(+a, b)", f"0 {target}(a, +b)"]
    return with_rules(model, bias, lines)


def with_rules(model: sqlrl.Model, bias: sqlrl.Bias, lines: Sequence[str]) -> sqlrl.Model:
    """Add rules to a model; a rule that is an atom needs a weight, or it reads as a declaration."""
    declared = [f"{mode.predicate}({', '.join(p.type for p in mode.places)})" for mode in (bias.head, *bias.body)]
    added = sqlrl.parse_mln("\n".join([*dict.fromkeys(declared), *lines]), query=(bias.head.predicate,))
    return replace(model, predicates={**added.predicates, **model.predicates}, rules=(*model.rules, *added.rules))


def clauses_of(db: sqlrl.Database, found: Found, kind: Kind, folder: str | Path, bias: sqlrl.Bias) -> sqlrl.Model:
    """Return the clauses that a system learns weights of; as in Alchemy, the target by itself is one more."""
    if kind in ("theory", "all"):
        return with_rules(found.theory if kind == "theory" else found.all, bias, [f"0 {bias.head.predicate}(a, b)"])
    return with_attributes(both_ways(different(db, found.all)), folder, bias, names=kind == "both ways and names")


def different(db: sqlrl.Database, model: sqlrl.Model) -> sqlrl.Model:
    """Return the clauses that differ in what they count at the query atoms, of equal ones the first."""
    if not model.rules:
        return model
    _, first = np.unique(counts(db, model), axis=1, return_index=True)
    return model.with_rules(tuple(model.rules[k] for k in sorted(first)))


def counts(db: sqlrl.Database, model: sqlrl.Model) -> FloatArray:
    """Return how many groundings each clause that is not hard has at each query atom, shape (atoms, clauses)."""
    rules = (rule if rule.weight is not None or rule.expansions else replace(rule, weight=1.0) for rule in model.rules)
    with db.program(model.with_rules(tuple(rule for rule in rules if not rule.hard))) as program:
        found: FloatArray = ground_network(program, None).units.toarray().astype(np.float64)
    return found


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


def named_pairs(db: sqlrl.Database, target: str) -> list[Pair]:
    """Return the query atoms of the target in the order of their ids, which is that of networks."""
    atoms = db.predict(sqlrl.parse_mln(f"{target}(a, a)\n0 {target}(x, y)", query=(target,))).atoms(every=True)
    return list(zip(*(atoms.column(name).to_pylist() for name in atoms.column_names[1:3]), strict=True))


class Asked:
    """Pairs to predict: from now on they are the query atoms of a database, which has no label of a pair of the test.

    Parameters
    ----------
    db : Database
        As `drugs.load_drugs` filled it.
    bias : Bias
    pairs : sequence of (str, str)
    """

    def __init__(self, db: sqlrl.Database, bias: sqlrl.Bias, pairs: Sequence[Pair]) -> None:
        self.db, self.pairs = db, list(pairs)
        db.scope(bias.head.predicate, self.pairs)
        place = {pair: k for k, pair in enumerate(named_pairs(db, bias.head.predicate))}
        self._place = {pair: k for k, pair in enumerate(pairs)}
        self._order = np.array([place[pair] for pair in pairs], dtype=np.intp)

    def of(self, pairs: Sequence[Pair], values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return the values of some of the pairs, of an array with one for each."""
        found: npt.NDArray[Any] = values[[self._place[pair] for pair in pairs]]
        return found

    def log_odds(self, model: sqlrl.Model) -> FloatArray:
        """Return what the weighted clauses of a model say of each pair; hard clauses say nothing here."""
        with self.db.program(model.with_rules(tuple(rule for rule in model.rules if not rule.hard))) as program:
            program.expand(None)
            network = ground_network(program, None)
            assert not len(network.row_clause), "a grounding has two query atoms"
            found: FloatArray = (network.units @ program.weights())[self._order]
        return found

    def covered(self, theory: sqlrl.Model) -> BoolArray:
        """Return True for the pairs that some clause of a theory covers."""
        weighted = theory.with_rules(tuple(replace(rule, weight=1.0) for rule in theory.rules))
        found: BoolArray = self.log_odds(weighted) > 0
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
    optimal : bool
        Whether the world is proved to be the most probable one.
    """

    truth: Mapping[Pair, bool]
    probability: Mapping[Pair, float]
    optimal: bool


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
    db = sqlrl.connect(":memory:")
    db.load("Drug", [(drug,) for drug in sorted({drug for pair in pairs for drug in pair})], types=["drug"])
    db.scope("better", list(pairs))
    units = [f'{float(value)!r} better("{a}", "{b}")' for (a, b), value in zip(pairs, log_odds, strict=True)]
    model = sqlrl.parse_mln("\n".join(["better(drug, drug)", *units, transitive("better")]), query=("better",))
    prediction = db.predict(model)
    probability: dict[Pair, float] = {}
    if samples:
        found = db.marginals(model, method="mcsat", samples=samples, burn_in=BURN_IN, chains=1, seed=seed)
        probability = _by_pair(found.probabilities(), "probability")
    truth = _by_pair(prediction.atoms(every=True), "truth")
    return Ordered(truth, probability, prediction.status.value == "optimal")


def _by_pair(rows: pa.Table, value: str) -> dict[Pair, Any]:
    """Return a column by the two arguments, which come after the example."""
    first, second = (rows.column(name).to_pylist() for name in rows.column_names[1:3])
    return dict(zip(zip(first, second, strict=True), rows.column(value).to_pylist(), strict=True))


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


def learn_both_ways(db: sqlrl.Database, model: sqlrl.Model, task: Task, protocol: Protocol, seed: int) -> Weighted:
    """Learn weights with L2; the strength is chosen as that of the baselines, see `drugs.choose_strength`."""
    first = sqlrl.Likelihood("l2", 1.0, random_state=seed).fit(db, model)
    atoms = named_pairs(db, task.predicate)
    features = counts(db, first.model_)
    best = choose_strength(features, task.truth(atoms), atoms, protocol, STRENGTHS, seed)
    fit = sqlrl.Likelihood("l2", best, random_state=seed).fit(db, model)
    return Weighted(fit.model_, None, _weighted(fit), f"strength {best:g}")


def learn_weights(db: sqlrl.Database, model: sqlrl.Model, bias: sqlrl.Bias, learner: str, seed: int) -> Weighted:
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
    fits = [
        sqlrl.MaxMargin(PRICES, penalty=norm, loss="hamming", separation="relaxed", random_state=seed).fit(db, each)
        for each in (model, made_transitive(model, bias))
    ]
    chosen = [f"{row['C']:g}" for fit in fits for row in fit.choices_.to_pylist() if row["chosen"]]
    return Weighted(fits[0].model_, fits[1].model_, _weighted(fits[1]), f"C {', '.join(chosen)}")


def _weighted(fit: Any) -> int:
    return int((fit.weights_ != 0).sum())
