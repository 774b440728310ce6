"""Learning weights again: which jobs there are, that no test label has a part in a choice, and the arithmetic of the table, without learning."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from citations import AUTHORS, TOPICS
from citeseer_likelihood import PAPER_ROWS
from harness import Measured, Options
from relearning import (
    FURTHER,
    QUICK,
    WEIGHTS,
    Find,
    Found,
    Outcome,
    Refused,
    Relearn,
    Sweep,
    Swept,
    find,
    relearn,
    sweep,
)
from relearning_plan import Line, Plan, best, make_plan, pair_of, partners, results_of, summarise
from segmentation_scores import Segmented
from segmentation_sets import ADS, CITESEER, CORA, CRF, found_by

OPTIONS = Options(Path("nowhere"), seed=4)
FOUND = [system for system in CITESEER.systems if found_by(system)]


def plan(options: Options = OPTIONS) -> Plan:
    return make_plan(CITESEER, options, seeded=True, modes="file")


class Work:
    """Does jobs at once: the F1 of a test group is a function of the value, the system and the order."""

    def __init__(self, refused: str | None = None, *, impossible: int | None = 0, wide: str | None = None) -> None:
        self.done: dict[Any, Measured[Any]] = {}
        self.phases: list[str] = []
        self.refused, self.impossible, self.wide = refused, impossible, wide

    def __call__(
        self, function: Callable[..., Any], jobs: Sequence[tuple[Any, ...]], what: str
    ) -> dict[Any, Measured[Any]]:
        self.phases.append(what)
        memory = 500.0 if function is find else 300.0
        results = {job[0]: Measured(self.value(function, job[0]), 9.0, memory) for job in jobs}
        self.done |= results
        return results

    def value(self, function: Callable[..., Any], job: Any) -> object:
        if function is find:
            return Found(f"{job}.json", f"{hash(job)}", 70, 7, 2.0)
        if function is sweep:
            if self.refused is not None and job.weights == "L1":
                return Swept({}, [], self.refused)
            return Swept({group: [self.f1(group, value) for value in job.values] for group in job.scored}, [1.0])
        assert function is relearn
        f1 = 90.0 + TOPICS.index(job.found.without[0]) + (0 if job.found.seed is None else 2 * (job.found.seed - 4))
        scores = Segmented(f1, 50, 20, ece=2.5, brier=1.5, log_likelihood=-2.0, impossible=self.impossible)
        own = job.value is None
        if not own and self.wide not in (None, job.found.without[0]):
            return Refused("too wide")
        return Outcome(**asdict(scores), clauses=None if own else 40, seconds=None if own else 6.0)

    @staticmethod
    def f1(group: str, value: float) -> float:
        """Each group likes another value: that of its own place."""
        return -abs(value - 10.0 ** -TOPICS.index(group))


def test_groups_are_held_out_for_each_other() -> None:
    assert partners(TOPICS) == {"constraint": "face", "face": "constraint", "reasoning": "reinforcement", "reinforcement": "reasoning"}  # fmt: skip
    assert pair_of(TOPICS, "reinforcement") == ("reasoning", "reinforcement")
    assert partners(AUTHORS) == {"fahl": "kibl", "kibl": "fahl", "utgo": "fahl"}
    assert pair_of(AUTHORS, "utgo") == ("fahl", "utgo")
    assert partners(ADS.groups)["5"] == "1"


def test_of_equal_values_the_first_is_chosen() -> None:
    assert best((10.0, 1.0, 0.1), (90.0, 91.0, 91.0)) == 1.0


def test_values_begin_with_the_strongest_penalty() -> None:
    for values in (WEIGHTS, QUICK):
        assert list(values["max-margin"]) == sorted(values["max-margin"])
        assert all(list(values[name]) == sorted(values[name], reverse=True) for name in ("L2, loss", "L1", "L2"))


def test_every_row_of_the_experiment_is_there() -> None:
    lines = plan().lines()
    assert len(lines) == len(set(lines))
    of_crf = [line for line in lines if line.system == CRF]
    assert of_crf == [Line(CRF, "L1"), Line(CRF, "L2")]
    for system in ("LC_0", "ISM"):
        mine = [line for line in lines if line.system == system]
        assert [line.weights for line in mine if not line.seeded] == ["AdaGrad", *WEIGHTS]
        # Of weights that are learned in a batch the order says nothing.
        assert [line.weights for line in mine if line.seeded] == ["AdaGrad"]
        assert not any(line.leaky for line in mine)
    for system in FOUND:
        mine = [line for line in lines if line.system == system]
        assert [line.weights for line in mine if line.leaky] == list(WEIGHTS)
        assert [line.weights for line in mine if line.seeded] == ["AdaGrad", *WEIGHTS]
    assert len(FOUND) == 6


def test_all_jobs_are_counted() -> None:
    for options in (OPTIONS, replace(OPTIONS, fold="face"), replace(OPTIONS, more=frozenset({"no-orders"}))):
        work = Work()
        results_of(plan(options), work)
        repeated = sum(
            job.found.seed is None and job.value is not None for job in work.done if isinstance(job, Relearn)
        )
        # A leaky choice that is the other one is no job of its own: here the choice is always the same.
        leaky = sum(line.leaky for line in plan(options).lines()) * len(plan(options).tests)
        paths = [job for job in work.done if isinstance(job, Sweep)]
        ended = sum(job.values == WEIGHTS[job.weights] for job in paths) - sum(
            job.values == FURTHER[job.weights] for job in paths
        )
        assert ended > 0
        assert len(work.done) + leaky + ended == plan(options).most_jobs()
        assert repeated > 0


def test_no_label_of_a_test_group_has_a_part_in_what_is_chosen_for_it() -> None:
    work = Work()
    results_of(plan(), work)
    paths = [job for job in work.done if isinstance(job, Sweep)]
    assert {(path.weights, path.values) for path in paths} == set(WEIGHTS.items()) | set(FURTHER.items())
    for path in paths:
        assert set(path.scored) <= set(path.without)
        # Clauses were found without the groups that are scored, or it is the leaky choice, which is for the other one alone.
        if path.found.without == path.without:
            assert path.scored == path.without
        else:
            (test,) = path.found.without
            assert path.scored == (partners(TOPICS)[test],)
            assert found_by(path.found.system)
        assert path.found.seed is None
    for job in work.done:
        if isinstance(job, Relearn) and job.value is not None:
            (test,) = job.found.without
            other, further = partners(TOPICS)[test], FURTHER[job.weights]
            wanted = min(WEIGHTS[job.weights], key=lambda value: -Work.f1(other, value))
            if wanted == WEIGHTS[job.weights][-1]:
                wanted = min(wanted, *further, key=lambda value: -Work.f1(other, value))
            assert job.value == wanted


def test_weaker_penalties_are_tried_only_where_the_weakest_is_the_best() -> None:
    work = Work()
    results_of(plan(replace(OPTIONS, chosen={"system": "ISM", "weights": "L1"})), work)
    # The groups like 1, 0.1, 0.01 and 0.001 best.
    paths = [(job.without, job.values) for job in work.done if isinstance(job, Sweep)]
    first, second = pair_of(TOPICS, "constraint"), pair_of(TOPICS, "reasoning")
    assert sorted(paths) == sorted(
        [(first, WEIGHTS["L1"]), (first, FURTHER["L1"]), (second, WEIGHTS["L1"]), (second, FURTHER["L1"])]
    )
    chosen = {job.found.without: job.value for job in work.done if isinstance(job, Relearn)}
    assert chosen == {("constraint",): 0.1, ("face",): 1.0, ("reasoning",): 0.01, ("reinforcement",): 0.01}


def test_the_leaky_choice_learns_from_the_same_examples_and_its_own_clauses() -> None:
    work = Work()
    results_of(plan(replace(OPTIONS, chosen={"system": "OSL-M1-ISM", "weights": "L2"}, fold="face")), work)
    honest, leaky = (job for job in work.done if isinstance(job, Sweep))
    assert honest.without == leaky.without == ("constraint", "face")
    assert (honest.found.without, leaky.found.without) == (("constraint", "face"), ("face",))
    assert honest.digest != leaky.digest


def test_orders_come_last_and_nothing_is_chosen_in_them() -> None:
    work = Work()
    results_of(plan(), work)
    assert [phase.split(":")[0] for phase in work.phases] == [
        "finding clauses", *["file order"] * 3, *["leaky choice"] * 3, "finding clauses in seeded orders", *["seeded orders"] * 3,
    ]  # fmt: skip
    seeds = {job.found.seed for job in work.done if isinstance(job, Relearn)}
    assert seeds == {None, 4, 5, 6}


def test_finding_alone() -> None:
    work = Work()
    results_of(plan(), work, only_find=True)
    assert {type(job) for job in work.done} == {Find}
    # Four topics in four orders, and two pairs of topics, of all systems but the random field.
    assert len(work.done) == (len(CITESEER.systems) - 1) * (4 * 4 + 2)


def test_the_row_of_the_paper_and_ours() -> None:
    asked = plan(replace(OPTIONS, chosen={"system": "OSL-M1-ISM"}))
    rows = summarise(asked, results_of(asked, Work()), PAPER_ROWS)
    shown = [(row["weights"], row["order"], row["choice"]) for row in rows]
    assert shown[:4] == [("paper", "one", None), ("AdaGrad", "file", None), ("AdaGrad", "3 seeded", None), ("max-margin", "file", "held out")]  # fmt: skip
    assert shown[4:6] == [("max-margin", "file", "LEAKY"), ("max-margin", "3 seeded", "held out")]
    assert len(rows) == 2 + 3 * len(WEIGHTS) + 1
    paper, own, seeded, margin = rows[:4]
    assert (paper["mean"], paper["sd_folds"], paper["clauses"], paper["seconds"]) == (96.48, 1.72, 8476, 8938.8)
    assert [own[topic] for topic in TOPICS] == [90, 91, 92, 93]
    assert (own["mean"], own["sd_folds"], own["sd_orders"], own["clauses"], own["seconds"]) == (91.5, 1.29, None, 70, 2)
    assert (seeded["mean"], seeded["sd_folds"], seeded["sd_orders"]) == (93.5, 1.29, 2)
    assert (margin["clauses"], margin["seconds"], margin["chosen"]) == (40, 6, "0.1, 1, 0.01, 0.01")
    assert (margin["log_likelihood"], margin["ece"], margin["brier"]) == (-2, 2.5, 1.5)
    # Own weights are learned while clauses are found.
    assert (own["memory_mb"], seeded["memory_mb"], margin["memory_mb"]) == (500, 500, 300)


def test_impossible_labels_are_those_of_one_order_and_nothing_where_nobody_knows() -> None:
    asked = plan(replace(OPTIONS, chosen={"system": "OSL-M1-ISM", "weights": "L2"}))
    for known, shown in ((3, 12), (0, 0), (None, None)):
        rows = summarise(asked, results_of(asked, Work(impossible=known)), {})
        assert [(row["choice"], row["order"], row["impossible"]) for row in rows] == [
            ("held out", "file", shown), ("LEAKY", "file", shown), ("held out", "3 seeded", shown),
        ]  # fmt: skip


def test_what_cannot_be_learned_says_why_in_place_of_a_number() -> None:
    asked = plan(replace(OPTIONS, chosen={"system": "ISM"}))
    rows = summarise(asked, results_of(asked, Work(refused="too wide")), PAPER_ROWS)
    (wide,) = (row for row in rows if row["weights"] == "L1")
    assert wide["note"] == "constraint, face, reasoning, reinforcement: too wide"
    assert wide["mean"] is None
    assert all(row["note"] is None for row in rows if row["weights"] in ("AdaGrad", "L2"))


def test_what_a_group_that_was_held_out_makes_too_wide_does_not_stop_the_others() -> None:
    asked = plan(replace(OPTIONS, chosen={"system": "ISM", "weights": "L2"}))
    (row,) = summarise(asked, results_of(asked, Work(wide="face")), {})
    assert (row["face"], row["constraint"], row["note"]) == (91, None, "constraint, reasoning, reinforcement: too wide")


@pytest.mark.parametrize("data", [CITESEER, ADS, CORA])
def test_a_slice_is_one_fold_of_few_systems(data: Any) -> None:
    quick = make_plan(data, replace(OPTIONS, quick=True), seeded=True)
    assert (quick.systems, quick.tests, quick.seeds, quick.each) == (data.quick, data.groups[:1], (), data.each)
    assert quick.values == QUICK
    assert {line.weights for line in quick.lines() if line.leaky or line.system == CRF} <= {"L2"}
    assert set(data.quick) <= set(data.systems)
    assert set(data.constraints) <= set(data.systems)
