"""The clause finder against a search that looks at one clause at a time, and against the enumeration of all clauses."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest

from sqlrl.errors import ModelError
from sqlrl.logic.components import Components
from sqlrl.structure.ilp import search as search_module
from sqlrl.structure.ilp.bottom import BottomClauses
from sqlrl.structure.ilp.commands import Induction
from sqlrl.structure.ilp.covers import Covers, Forms, packed
from sqlrl.structure.ilp.scores import Scorer, likelihood_m
from sqlrl.structure.ilp.search import BottomSearch, ClauseRefiner, Judge, Met, run_together
from sqlrl.structure.ilp.settings import ILPParameters
from tests.structure.ilp.brute import all_bodies, bias_of, bottom_clause, form, search
from tests.structure.ilp.worlds import Facts, PythonSource, covers

BIASES = {
    "chain": "modeh(1, t(+a,+a)). modeb(*, p(+a,-b)). modeb(*, q(+b,-c)). modeb(*, gt(+c,-c)). modeb(*, r(+a)).",
    "constants": "modeh(1, t(+a,+b)). modeb(*, p(+a,#b)). modeb(*, p(+a,-b)). modeb(*, q(+b,+b)). modeb(*, s(-a,+b,#c)).",
    "both ways": "modeh(1, t(+a)). modeb(*, e(+a,-a)). modeb(*, e(-a,+a)). modeb(*, r(+a)).",
    "outputs": "modeh(1, t(+a,-b)). modeb(*, p(+a,-b)). modeb(*, q(+b,-b)). modeb(*, r(+b)).",
    "fixed head": "modeh(1, t(+a,#b)). modeb(*, p(+a,-b)). modeb(*, q(+b,#b)). modeb(*, r(+a)).",
}
CONSTANTS = 5


def world(name: str, seed: int, atoms: int = 14) -> PythonSource:
    """A random database for a bias."""
    draw, bias = random.Random(seed), bias_of(BIASES[name])
    facts: Facts = {
        mode.predicate: frozenset(
            tuple(draw.randrange(CONSTANTS) for _ in range(mode.arity))
            for _ in range(draw.randint(3, 3 + 3 * mode.arity))
        )
        for mode in bias.body
    }
    targets = sorted({tuple(draw.randrange(CONSTANTS) for _ in range(bias.head.arity)) for _ in range(atoms)})
    labels = [draw.random() < 0.5 for _ in targets]
    labels[0], labels[-1] = True, False
    return PythonSource(facts, bias, targets, labels)


def parameters_of(seed: int, **more: object) -> ILPParameters:
    draw = random.Random(seed)
    given = {
        "evaluation": draw.choice(["coverage", "compression", "accuracy", "laplace", "mestimate", "auto_m"]),
        "depth": draw.randint(1, 2),
        "clause_length": draw.randint(2, 4),
        "nodes": draw.choice([7, 40, 10_000]),
        "noise": draw.choice([0, 2, 100]),
        "min_positive": draw.randint(1, 2),
        "min_accuracy": draw.choice([0.0, 0.6]),
        "min_score": draw.choice([0.3, 0.7]),
        "keep_above": draw.choice([None, 0.4]),
        "explore": draw.random() < 0.5,
        "above_seed": draw.random() < 0.5,
        **more,
    }
    if given["evaluation"] == "mestimate":
        given["m"] = draw.choice([None, 2.0])
    return ILPParameters(**given)  # type: ignore[arg-type]


def searched(
    source: PythonSource, seed: int, parameters: ILPParameters
) -> tuple[BottomSearch, Covers, tuple[int, ...]]:
    facts = source.saturate(np.array([seed]), parameters.depth)
    bottom = BottomClauses(source.bias, source.predicates, 1000).of(facts, 0, source.arguments[seed])
    truth, known = source.truth, Covers(source)
    scorer = Scorer(parameters.evaluation, float(truth.mean()), parameters.m)  # type: ignore[arg-type]
    estimate = scorer if parameters.evaluation == "mestimate" else Scorer("auto_m", scorer.prior)
    judge = Judge(packed(truth[None])[0], packed(~truth[None])[0], int(truth.sum()), scorer, estimate, parameters)
    head = packed(np.array([covers(source, bottom.head, [])]))[0]
    arity = max(mode.arity for mode in source.bias.body)
    forms = Forms(Components(source.bias.head.arity), arity)
    return BottomSearch(ClauseRefiner(bottom, known, forms), judge, head), known, bottom.head


def form_of(met: Met, known: Covers, head: tuple[int, ...]) -> tuple[object, ...]:
    """The form of a found clause, its components with variables of their own."""
    h = len(head)
    body = [
        literal._replace(terms=tuple(t + 100 * number if t >= h else t for t in literal.terms))
        for number, component in enumerate(met.components, start=1)
        for literal in known.components[component]
    ]
    return form(head, body, h)


@pytest.mark.parametrize("name", BIASES)
@pytest.mark.parametrize("seed", range(12))
def test_the_search_is_that_of_one_clause_at_a_time(name: str, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    source, parameters = world(name, seed), parameters_of(seed)
    # Every other search looks at few clauses at a time.
    monkeypatch.setattr(search_module, "_WORDS", 5 if seed % 2 else 1 << 24)
    start = source.labels.index(True)
    run, known, head = searched(source, start, parameters)
    (found,) = run_together(known, [run.run()])
    bottom = bottom_clause(source, start, parameters.depth)
    wanted = search(source, bottom, parameters, source.labels, m=parameters.m)  # type: ignore[arg-type]
    h = source.bias.head.arity

    def written(body: frozenset[int]) -> tuple[object, ...]:
        return form(bottom.head, [bottom.literals[i] for i in body], h)

    assert found.nodes == wanted.nodes
    assert (found.best is None) == (wanted.best is None)
    if found.best is not None and wanted.best is not None:
        assert found.best.score == pytest.approx(wanted.best[0])
        assert form_of(found.best, known, head) == written(wanted.best[1])
    assert [form_of(met, known, head) for met in found.kept_clauses] == [written(body) for body in wanted.kept]


@pytest.mark.parametrize("name", BIASES)
@pytest.mark.parametrize("seed", range(4))
def test_every_clause_of_the_bottom_clause_is_scored_once(name: str, seed: int) -> None:
    source = world(name, seed)
    parameters = parameters_of(
        seed, explore=True, nodes=10**6, min_positive=1, noise=100, min_accuracy=0.0, keep_above=-1.0, depth=2,
        clause_length=4, evaluation="auto_m",
    )  # fmt: skip
    start = source.labels.index(True)
    run, known, head = searched(source, start, parameters)
    (found,) = run_together(known, [run.run()])
    bottom = bottom_clause(source, start, 2)
    bodies = all_bodies(bottom, 3)
    assert found.nodes == len(bodies)
    expected = {}
    for body in bodies:
        literals = [bottom.literals[i] for i in body]
        covered = covers(source, bottom.head, literals)
        counts = [sum(c and t == sign for c, t in zip(covered, source.labels, strict=True)) for sign in (True, False)]
        complete = bottom.wanted <= {t for x in literals for t in x.terms} | bottom.start
        if complete:
            expected[form(bottom.head, literals, source.bias.head.arity)] = tuple(counts)
    assert {form_of(met, known, head): (met.positives, met.negatives) for met in found.kept_clauses} == expected


def test_components_of_a_layer_are_evaluated_in_one_call() -> None:
    source = world("chain", 1, atoms=20)
    parameters = ILPParameters(explore=True, clause_length=4, nodes=10**6, min_positive=1)
    run, known, _ = searched(source, source.labels.index(True), parameters)
    (outcome,) = run_together(known, [run.run()])
    assert len(source.evaluated) <= 3
    assert sum(source.evaluated) == len(known.components) < outcome.nodes


def theory_by_hand(source: PythonSource, parameters: ILPParameters) -> list[tuple[object, ...]]:
    """The commands, read from Aleph's manual."""
    left, theory = list(source.labels), []
    best: dict[int, tuple[float, int]] = {}
    for seed in [i for i, label in enumerate(source.labels) if label]:
        if not left[seed]:
            continue
        bottom = bottom_clause(source, seed, parameters.depth)
        counting = left if parameters.command == "induce" else source.labels
        found = search(source, bottom, parameters, counting)
        if parameters.command != "induce_max":
            left[seed] = False
        if found.best is None:
            continue
        value, body = found.best
        literals = [bottom.literals[i] for i in body]
        covered = covers(source, bottom.head, literals)
        written = form(bottom.head, literals, source.bias.head.arity)
        if written not in theory:
            theory.append(written)
        if parameters.command != "induce_max":
            left = [was and not now for was, now in zip(left, covered, strict=True)]
        for i, now in enumerate(covered):
            if now and source.labels[i] and value > best.get(i, (-np.inf, 0))[0]:
                best[i] = (value, theory.index(written))
    if parameters.command == "induce_max":
        return [theory[k] for k in sorted({k for _, k in best.values()})]
    return theory


@pytest.mark.parametrize("command", ["induce", "induce_cover", "induce_max"])
@pytest.mark.parametrize("seed", range(8))
def test_theories_are_those_of_the_commands(command: str, seed: int) -> None:
    source = world("chain", seed, atoms=18)
    parameters = parameters_of(
        seed, command=command, evaluation="auto_m", keep_above=None, clause_length=3, nodes=10_000
    )
    found = Induction(source, source.bias, parameters)
    found.run()
    forms = []
    for place in found.theory:
        clause = found.candidates[place]
        met = Met(clause.components, 0, 0, 0.0)
        known = Covers(source)
        known.components = found.components
        forms.append(form_of(met, known, clause.head))
    assert forms == theory_by_hand(source, parameters)


def test_candidates_are_kept_once_and_cover_what_they_say() -> None:
    source = world("chain", 3, atoms=20)
    base = ILPParameters(min_positive=1, keep_above=0.5, min_score=0.5, clause_length=4)
    found = Induction(source, source.bias, base)
    found.run()
    assert len(found.candidates) > len(found.theory) > 0
    assert len({(x.head, x.components) for x in found.candidates}) == len(found.candidates)
    for clause in found.candidates:
        covered = found.cover(clause)
        assert (clause.positives, clause.negatives) == ((covered & source.truth).sum(), (covered & ~source.truth).sum())
        assert covered[clause.seed]
    fewer = Induction(source, source.bias, replace(base, distinct="coverage"))
    fewer.run()
    patterns = [fewer.cover(x).tobytes() for x in fewer.candidates]
    assert len(set(patterns)) == len(patterns)
    assert set(patterns) == {found.cover(x).tobytes() for x in found.candidates}


def test_m_is_the_likeliest_for_the_clauses_of_one_literal() -> None:
    source = world("chain", 6, atoms=25)
    run = Induction(source, source.bias, ILPParameters(evaluation="mestimate", m="likelihood", min_score=0.3, depth=3))
    run.run()
    counts = {}
    for seed in [i for i, label in enumerate(source.labels) if label]:
        bottom = bottom_clause(source, seed, 3)
        for body in all_bodies(bottom, 1) - {frozenset()}:
            literals = [bottom.literals[i] for i in body]
            covered = covers(source, bottom.head, literals)
            pairs = [
                sum(c and t == sign for c, t in zip(covered, source.labels, strict=True)) for sign in (True, False)
            ]
            counts[form(bottom.head, literals, 2)] = tuple(pairs)
    p, n = np.array(list(counts.values())).T
    prior = sum(source.labels) / len(source.labels)
    m = likelihood_m(p, n, prior)
    assert run.theory
    for place in run.theory:
        found = run.candidates[place]
        assert found.score == pytest.approx((found.positives + m * prior) / (found.positives + found.negatives + m))


def test_m_needs_clauses_to_be_chosen_by() -> None:
    source = world("chain", 6)
    empty = replace(source, facts={name: frozenset() for name in source.facts})
    with pytest.raises(ModelError, match="has no clauses to choose m by"):
        Induction(empty, source.bias, ILPParameters(evaluation="mestimate", m="likelihood")).run()


def test_shuffled_seeds_can_be_repeated() -> None:
    source = world("chain", 4, atoms=20)

    def seeds_of(seed: int) -> list[int]:
        seeds: list[int] = []
        run = Induction(source, source.bias, ILPParameters(order="shuffle", seed=seed, command="induce_max"))
        run.run(lambda report: seeds.append(report.seed))
        return seeds

    orders = [seeds_of(seed) for seed in (1, 1, 2)]
    assert orders[0] == orders[1] != orders[2]
    assert sorted(orders[0]) == sorted(orders[2]) == [i for i, label in enumerate(source.labels) if label]


def test_thresholds_that_stopped_clauses_are_counted() -> None:
    source = world("chain", 5)
    run = Induction(source, source.bias, ILPParameters(min_score=2.0, explore=True, clause_length=3))
    run.run()
    assert run.theory == []
    assert run.missed["min_score"] > 0
    assert sum(run.missed.values()) == run.nodes


def test_a_stop_leaves_what_was_found() -> None:
    source = world("chain", 3, atoms=20)
    parameters = ILPParameters(min_positive=1, keep_above=0.5, min_score=0.5, command="induce_max", clause_length=3)
    whole, stopped, seen = Induction(source, source.bias, parameters), Induction(source, source.bias, parameters), []

    def stop(report: object) -> None:
        seen.append(report)
        if len(seen) == 2:
            raise KeyboardInterrupt

    whole.run()
    with pytest.raises(KeyboardInterrupt):
        stopped.run(stop)
    assert 0 < len(stopped.candidates) < len(whole.candidates)
    assert stopped.candidates == whole.candidates[: len(stopped.candidates)]
    assert all(place < len(stopped.candidates) for place in stopped.theory)


def test_what_is_kept_is_estimated_with_the_m_that_was_given() -> None:
    source = world("chain", 3, atoms=20)
    every = ILPParameters(
        explore=True, nodes=10**6, min_positive=1, noise=100, min_accuracy=0.0, clause_length=3, evaluation="mestimate", m=20.0, keep_above=0.0
    )  # fmt: skip
    found = Induction(source, source.bias, every)
    found.run()
    prior = source.truth.mean()
    estimate = {x.components: (x.positives + 20 * prior) / (x.positives + x.negatives + 20) for x in found.candidates}
    limit = float(np.median(list(estimate.values()))) + 1e-9
    few = Induction(source, source.bias, replace(every, keep_above=limit))
    few.run()
    theory = {found.candidates[place].components for place in found.theory}
    expected = {components for components, value in estimate.items() if value > limit} | theory
    assert {x.components for x in few.candidates} == expected
    assert 0 < len(expected) < len(found.candidates)
