"""Searches side by side against one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from sqlrl.errors import GroundingLimitError
from sqlrl.ground.coverage import ComponentCounts
from sqlrl.logic.components import Component
from sqlrl.structure.ilp import commands
from sqlrl.structure.ilp.commands import Induction, SeedReport
from sqlrl.structure.ilp.settings import ILPParameters
from tests.structure.ilp.brute import bias_of
from tests.structure.ilp.test_search import BIASES, parameters_of, world
from tests.structure.ilp.worlds import PythonSource


def run(source: PythonSource, parameters: ILPParameters) -> tuple[Induction, list[SeedReport]]:
    found, reports = Induction(source, source.bias, parameters), list[SeedReport]()
    found.run(lambda report: reports.append(report._replace(seconds=0.0)))
    return found, reports


def everything(found: Induction) -> tuple[object, ...]:
    """All that a run has found, whatever the numbers of its components."""
    candidates = [
        (x.head, sorted(found.components[i] for i in x.components), x.positives, x.negatives, x.score, x.seed)
        for x in found.candidates
    ]
    return candidates, found.theory, found.missed, found.nodes, found.seeds, found.facts


@pytest.mark.parametrize("command", ["induce", "induce_cover", "induce_max"])
@pytest.mark.parametrize("name", BIASES)
@pytest.mark.parametrize("seed", range(3))
def test_what_is_found_is_the_same(command: str, name: str, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    parameters = parameters_of(seed, command=command)
    found, reports = run(world(name, seed, atoms=20), parameters)
    monkeypatch.setattr(commands, "_TOGETHER", 1)
    alone, alone_reports = run(world(name, seed, atoms=20), parameters)
    assert everything(found) == everything(alone)
    assert reports == alone_reports


def test_searches_wait_together() -> None:
    source = world("chain", 2, atoms=30)
    found, _ = run(source, ILPParameters(command="induce_max", min_positive=1, clause_length=3, explore=True))
    # One, two, four, ... seeds, and for each number of them a query for each of two layers.
    assert found.seeds >= 8
    assert len(source.evaluated) <= 2 * found.seeds.bit_length()


@dataclass
class Small(PythonSource):
    """Evaluates few components at once."""

    most: int = 3

    def evaluate(self, layer: Sequence[Component], *, keep: bool = True) -> ComponentCounts:
        if len(layer) > self.most:
            raise GroundingLimitError(f"{len(layer)} components")
        return super().evaluate(layer, keep=keep)


def test_what_is_too_large_together_is_searched_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = world("constants", 3, atoms=24)
    parameters = ILPParameters(command="induce_max", min_positive=1, clause_length=3, explore=True)
    with monkeypatch.context() as patch:
        patch.setattr(commands, "_TOGETHER", 1)
        wanted, _ = run(whole, parameters)
    most = max(whole.evaluated)
    whole.evaluated.clear()
    run(whole, parameters)
    assert max(whole.evaluated) > most
    found, _ = run(Small(whole.facts, whole.bias, whole.targets, whole.labels, most=most), parameters)
    assert everything(found) == everything(wanted)
    with pytest.raises(GroundingLimitError):
        run(Small(whole.facts, whole.bias, whole.targets, whole.labels, most=0), parameters)


def test_a_seed_that_is_covered_before_its_turn_may_have_too_many_facts_and_another_is_passed_over() -> None:
    # Atom 0 has no clause, so 1 and 2 are searched together; 1's clause covers 2, which has 30 facts.
    facts = {
        "p": frozenset((2, i) for i in range(30)),
        "r": frozenset([(1,), (2,)]),
    }
    bias = bias_of("modeh(1, t(+a)). modeb(*, p(+a,-b)). modeb(*, r(+a)).")
    parameters = ILPParameters(bottom_limit=10, noise=0, min_score=0.5)
    for positives, passed_over in (([0, 1, 2], []), ([0, 2, 1], [1])):
        source = PythonSource(facts, bias, [(x,) for x in (*positives, 3)], [True, True, True, False])
        found, _ = run(source, parameters)
        assert len(found.theory) == 1
        assert list(found.passed_over) == passed_over
        assert all("30 facts of them from the mode" in str(error) for error in found.passed_over.values())
