"""Faults that a person makes in a model, marked by its diagnosis and mended by revision: rules about machines with five faults, over 20 seeds.

Data follow a correct model (`planted_faults.py`). The same model with five of its rules changed, a literal too many (`surplus`), one too few (`missing`), a flipped sign
(`sign`), another constant (`constant`), and a rule that holds for half of a type (`half`), is diagnosed on them and revised by `sqlrl.Transfer(further=True)`, with the
same names of predicates on both sides.

A fault is recalled if its rule is marked. It is mended if the revised model has a clause with a positive weight that is the correct rule: the same up to names of variables and the order of
literals (`clause`), or the same on all groundings of held-out examples (`groundings`). The latter is decided by enumeration: variables of the one stand for
variables of the other of the same type, one to one; under one such reading both have the same atom of what the rule concludes, with the same sign, and what is left of both without
it has the same truth in every grounding. So both have the same truth whatever is concluded. That is stricter than the same truth in the world as it is, in which two rules that are never violated could not be told apart.

Precision is the share of marked clauses that have a fault, of all clauses of the model and of its rules: the model has clauses of one atom, too, which say how frequent conclusions are. A false repair is a
clause that was added and mends nothing; `lost` are correct rules that the revised model no longer has.

    python experiments/revise.py [--strategy shortest-first|beam] [--quick] [--processes N] [--seed N] [--db FILE] [--json FILE]
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import permutations
from typing import Literal as Choice

import numpy as np
from harness import Measured, Options, Row, publish, read_options, run_jobs
from numpy.typing import NDArray
from planted_faults import KINDS, RULES, Fault, Kind, PlantedFaults, plant
from relations import Facts, Relations, constants

import sqlrl
from sqlrl.errors import NothingFoundWarning
from sqlrl.logic.compile import compile_rule
from sqlrl.logic.model import Model, Rule
from sqlrl.logic.printer import format_formula
from sqlrl.logic.shapes import Instance, Shaper
from sqlrl.logic.terms import Clause, EqualityLiteral, Literal, Term, Variable
from sqlrl.structure.diagnosis.estimator import Transfer

Part = Literal | EqualityLiteral
Same = Choice["clause", "groundings"]
Strategy = Choice["shortest-first", "beam"]

STRATEGIES: tuple[Strategy, ...] = ("shortest-first", "beam")
"""By default the first: revisions by one literal are looked for before those by several."""

SEEDS = 20
MAX_LITERALS, MAX_VARIABLES = 4, 3
"""One more than the longest rule and the one with the most variables have."""
REQUIRED: Mapping[str, float] = {"recall": 1.0, "mended": 0.9}


@dataclass(frozen=True, slots=True)
class Job:
    """The faults and data of one seed, revised with one strategy."""

    seed: int
    strategy: Strategy


@dataclass(frozen=True, slots=True)
class Repair:
    """What became of a fault.

    Parameters
    ----------
    kind : Kind
    correct, faulty : str
        The rules.
    marked : bool
    same : {"clause", "groundings"} or None
        In what sense a clause of the revised model is the correct rule; None if none is.
    clause : str or None
        That clause.
    weight : float or None
        Its weight.
    left : float or None
        The weight of the faulty rule in the revised model, None if it is no longer there.
    """

    kind: Kind
    correct: str
    faulty: str
    marked: bool
    same: Same | None
    clause: str | None
    weight: float | None
    left: float | None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one revision gave.

    Parameters
    ----------
    repairs : tuple of Repair
    marked, marked_rules : int
        Clauses that are marked, and those of them that are rules.
    added : int
        Clauses that were added and are left.
    false : tuple of str
        Those of them that mend nothing.
    lost : tuple of str
        Correct rules of the model that the revised one no longer has.
    candidates, statements : int
    seconds : float
    """

    repairs: tuple[Repair, ...]
    marked: int
    marked_rules: int
    added: int
    false: tuple[str, ...]
    lost: tuple[str, ...]
    candidates: int
    statements: int
    seconds: float


# ---- revision --------------------------------------------------------------------------------------------------------


def learner(strategy: Strategy) -> Transfer:
    """Return what revises."""
    return Transfer(further=True, strategy=strategy, max_literals=MAX_LITERALS, max_variables=MAX_VARIABLES)


def run(job: Job) -> Outcome:
    """Plant faults, revise, and see what is mended."""
    warnings.simplefilter("ignore", NothingFoundWarning)
    planted = plant(job.seed)
    start = time.perf_counter()
    with planted.train.load() as db:
        fit = learner(job.strategy).fit(db, planted.faulty)
    seconds = time.perf_counter() - start
    marked = fit.diagnosis_.general | fit.diagnosis_.specific
    return Outcome(
        judge(fit.model_, planted, marked),
        len(marked),
        sum(place < len(RULES) for place in marked),
        len(fit.added_),
        false_repairs(fit.model_, len(fit.added_), planted),
        lost(fit.model_, planted),
        fit.candidates_,
        fit.n_statements_,
        seconds,
    )


def judge(revised: Model, planted: PlantedFaults, marked: Collection[int]) -> tuple[Repair, ...]:
    """Return what became of faults."""
    found, given = _named(revised), _named(planted.faulty)
    repairs = []
    for fault in planted.faults:
        mends = [(same, rule) for rule, clause, _ in found if (same := mended(fault, rule, clause, planted))]
        # What is the same clause first.
        same, rule = min(mends, key=lambda x: x[0], default=(None, None))
        left = [rule.weight for rule, _, instance in found if instance == given[fault.place][2]]
        text, weight = (format_formula(rule.formula), rule.weight) if rule else (None, None)
        is_marked = fault.place in marked
        repairs.append(
            Repair(fault.kind, fault.correct, fault.faulty, is_marked, same, text, weight, left[0] if left else None)
        )
    return tuple(repairs)


def mended(fault: Fault, rule: Rule, clause: Clause, planted: PlantedFaults) -> Same | None:
    """Tell in what sense a rule of the revised model, with what clause it is, mends a fault; None if it does not."""
    if rule.weight is None or rule.weight <= 0:
        return None
    correct = clause_of(fault.correct, planted.faulty)
    shaper = _shaper(planted.faulty)
    if shaper(clause) == shaper(correct):
        return "clause"
    return "groundings" if same_groundings(correct, clause, planted.held_out) else None


def false_repairs(revised: Model, added: int, planted: PlantedFaults) -> tuple[str, ...]:
    """Return the clauses that mend nothing, of those that were added, which are the last ones."""
    found = list(_clauses(revised))[len(revised.rules) - added :]
    return tuple(
        format_formula(rule.formula)
        for rule, clause in found
        if not any(mended(fault, rule, clause, planted) for fault in planted.faults)
    )


def lost(revised: Model, planted: PlantedFaults) -> tuple[str, ...]:
    """Return the correct rules of the model that are no longer there."""
    left = {instance for _, _, instance in _named(revised)}
    faulty = {fault.place for fault in planted.faults}
    given = _named(planted.faulty)[: len(RULES)]
    return tuple(
        format_formula(rule.formula)
        for place, (rule, _, instance) in enumerate(given)
        if place not in faulty and instance not in left
    )


def _shaper(model: Model) -> Shaper:
    return Shaper(lambda predicate, place: model.predicates[predicate].types[place])


def _named(model: Model) -> list[tuple[Rule, Clause, Instance]]:
    """Return the rules of a model, each with the clause that it is and what names it, up to names of variables and the order of literals."""
    shaper = _shaper(model)
    return [(rule, clause, shaper(clause)) for rule, clause in _clauses(model)]


def _clauses(model: Model) -> Iterator[tuple[Rule, Clause]]:
    """Yield the rules of a model, each with the clause that it is."""
    for rule in model.rules:
        ((clause,),) = (feature.clauses for feature in compile_rule(rule, model, frozenset(model.predicates)))
        yield rule, clause


def clause_of(rule: str, model: Model) -> Clause:
    """Return a rule of the predicates of a model as a clause.

    Examples
    --------
    >>> print(clause_of("P(x) ^ Q(x) => R(x)", sqlrl.parse_mln("P(t)\\nQ(t)\\nR(t)")))
    !P(x) v !Q(x) v R(x)
    """
    declared = "".join(f"{name}({', '.join(each.types)})\n" for name, each in model.predicates.items())
    ((_, clause),) = _clauses(sqlrl.parse_mln(f"{declared}1 {rule}"))
    return clause


# ---- clauses that are the same in a domain ---------------------------------------------------------------------------


def same_groundings(correct: Clause, other: Clause, data: Relations) -> bool:
    """Tell whether a clause has the same truth as a rule in every grounding, whatever the atoms of what the rule concludes, its last literal.

    Variables of the clause with fewer of them stand for variables of the other one, one to one, with the same types.
    """
    small, large = sorted((correct, other), key=lambda x: len(x.variables))
    parts = [[x for x in each.literals if isinstance(x, Literal | EqualityLiteral)] for each in (correct, other)]
    for names in _readings(small.variables, large.variables):
        one, rest = (
            [_renamed(x, names) for x in each] if of is small else each
            for of, each in zip((correct, other), parts, strict=True)
        )
        head = one[-1]
        if head not in rest:
            continue
        body, rest = one[:-1], [x for x in rest if x != head]
        if all(
            np.array_equal(
                _truth(body, large.variables, data.types, facts), _truth(rest, large.variables, data.types, facts)
            )
            for facts in data.areas.values()
        ):
            return True
    return False


def _readings(small: Sequence[tuple[str, str]], large: Sequence[tuple[str, str]]) -> Iterator[dict[str, str]]:
    """Yield the ways in which variables stand for others of the same types, one to one."""
    for chosen in permutations(large, len(small)):
        if all(kind == other for (_, kind), (_, other) in zip(small, chosen, strict=True)):
            yield {name: other for (name, _), (other, _) in zip(small, chosen, strict=True)}


def _renamed(literal: Part, names: Mapping[str, str]) -> Part:
    def put(term: Term) -> Term:
        return Variable(names[term.name]) if isinstance(term, Variable) else term

    if isinstance(literal, Literal):
        return Literal(literal.predicate, tuple(map(put, literal.terms)), literal.positive)
    return EqualityLiteral(put(literal.left), put(literal.right), literal.positive)


def _truth(
    literals: Sequence[Part], variables: Sequence[tuple[str, str]], types: Mapping[str, Sequence[str]], facts: Facts
) -> NDArray[np.bool_]:
    """Return whether one of some literals is true in each grounding, an axis for each variable."""
    # No two constants of different types have one name.
    domains = {kind: constants(facts, types, kind) for _, kind in variables}
    places = np.indices([len(domains[kind]) for _, kind in variables])
    names = {name: np.array(domains[kind])[at] for (name, kind), at in zip(variables, places, strict=True)}

    def values(term: Term) -> NDArray[np.str_]:
        return names[term.name] if isinstance(term, Variable) else np.full(places.shape[1:], term.name)

    found = np.zeros(places.shape[1:], dtype=bool)
    for literal in literals:
        if isinstance(literal, EqualityLiteral):
            found |= (values(literal.left) == values(literal.right)) == literal.positive
            continue
        true = set(map(tuple, facts.get(literal.predicate, ())))
        columns = [values(term).ravel().tolist() for term in literal.terms]
        holds = np.array([row in true for row in zip(*columns, strict=True)]).reshape(found.shape)
        found |= holds == literal.positive
    return found


# ---- the table -------------------------------------------------------------------------------------------------------


def summarise(results: Sequence[Measured[Outcome]]) -> list[Row]:
    """Return a row for each kind of fault, one for all, and what is required."""
    outcomes = [each.value for each in results]
    repairs = [repair for outcome in outcomes for repair in outcome.repairs]
    rows = [{"kind": kind, **_share([x for x in repairs if x.kind == kind])} for kind in KINDS]
    marked = sum(each.marked for each in outcomes)
    marked_rules = sum(each.marked_rules for each in outcomes)
    recalled = sum(x.marked for x in repairs)
    seconds = [each.seconds for each in outcomes]
    means = {
        "added": _mean([each.added for each in outcomes]),
        "false_repairs": _mean([len(each.false) for each in outcomes]),
        "lost": _mean([len(each.lost) for each in outcomes]),
        "candidates": _mean([each.candidates for each in outcomes]),
        "statements": _mean([each.statements for each in outcomes]),
        "seconds": _mean(seconds),
    }
    every = {
        "kind": "all", **_share(repairs), "precision": _of(recalled, marked), "precision_rules": _of(recalled, marked_rules),
        **means, "seconds_sd": round(float(np.std(seconds, ddof=1)), 2) if len(seconds) > 1 else None,
    }  # fmt: skip
    return [*rows, every, {"kind": "required", **REQUIRED}]


def _share(repairs: Sequence[Repair]) -> dict[str, object]:
    """Return how many of some faults were marked and mended, and the weights of what mends them, and of faulty rules that are left."""
    left = [x.left for x in repairs if x.left is not None]
    weights = [x.weight for x in repairs if x.weight is not None]
    return {
        "faults": len(repairs),
        "recalled": sum(x.marked for x in repairs),
        "recall": _of(sum(x.marked for x in repairs), len(repairs)),
        "same_clause": sum(x.same == "clause" for x in repairs),
        "same_groundings": sum(x.same == "groundings" for x in repairs),
        "mended": _of(len(weights), len(repairs)),
        "weight": _mean(weights),
        "left": len(left),
        "weight_left": _mean(left),
    }


def _of(some: int, of: int) -> float | None:
    return round(some / of, 4) if of else None


def _mean(values: Sequence[float]) -> float | None:
    return round(float(np.mean(values)), 2) if values else None


# ---- running ---------------------------------------------------------------------------------------------------------


def make_jobs(options: Options) -> list[Job]:
    """Return a job for each seed, from the one that is given on."""
    chosen = options.chosen.get("strategy")
    strategy = next((x for x in STRATEGIES if x == chosen), STRATEGIES[0])
    return [Job(options.seed + k, strategy) for k in range(1 if options.quick else SEEDS)]


def main() -> None:
    """Run the experiment."""
    options = read_options(
        "Five planted faults in a model of rules: marked by its diagnosis, and mended by revision.",
        choices={"strategy": STRATEGIES},
    )
    jobs = make_jobs(options)
    results = run_jobs(
        run, [(job,) for job in jobs], options.console(), "revisions", options.processes, journal=options.journal
    )
    details: list[Row] = [
        {
            "seed": job.seed,
            **asdict(repair),
            "false_repairs": " | ".join(result.value.false),
            "candidates": result.value.candidates,
            "statements": result.value.statements,
            "seconds": result.value.seconds,
            "memory_mb": result.memory_mb,
        }
        for job, result in zip(jobs, results, strict=True)
        for repair in result.value.repairs
    ]
    seeds = f"seeds {jobs[0].seed} to {jobs[-1].seed}" if len(jobs) > 1 else f"seed {jobs[0].seed}"
    title = f"Planted faults, {seeds}, {jobs[0].strategy} search" + (" (quick: one seed)" if options.quick else "")
    parameters = {"seeds": len(jobs), "transfer": repr(learner(jobs[0].strategy)), "required": dict(REQUIRED)}
    publish("revise", summarise(results), options, title=title, parameters=parameters, details=details)


if __name__ == "__main__":
    main()
