"""The stream whose rules change half-way against plain sets, and the experiment on it: what its logs and tables say, by hand."""

from __future__ import annotations

import json
import math
from itertools import combinations
from pathlib import Path
from typing import Any

import drift
import pyarrow as pa
import pytest
from drift import (
    ALONE,
    DRIFTING,
    SEEDS,
    STATIONARY,
    SYSTEMS,
    WHOLE,
    Followed,
    Job,
    Outcome,
    followed,
    make_jobs,
    summarise,
)
from drift_stream import CHANCE, DECLARED, NOISE, PLANTED, TIES, TRAITS, Facts, Kind, Stream, grammar, window
from harness import Measured, Options

import sqlrl

TINY: drift.Sizes = {"posts": 80, "select": 40, "held_out": 20}


class Sets:
    """Some posts as sets: who is what, who sees whom by which tie, and who shares."""

    def __init__(self, facts: Facts) -> None:
        self.labels = {(row["example"], row["reader"]): row["truth"] for row in facts["Shares"].to_pylist()}
        self.has: dict[str, set[tuple[str, str]]] = {trait: set() for trait in TRAITS}
        self.sees: dict[str, set[tuple[str, str, str]]] = {tie: set() for tie in TIES}
        for row in facts["Is"].to_pylist():
            self.has[row["trait"]].add((row["example"], row["reader"]))
        for row in facts["Sees"].to_pylist():
            self.sees[row["tie"]].add((row["example"], row["seen"], row["reader"]))
        assert sum(map(len, self.has.values())) == facts["Is"].num_rows
        assert sum(map(len, self.sees.values())) == facts["Sees"].num_rows

    def selected(self, traits: tuple[str, ...], tie: str | None) -> list[tuple[str, str]]:
        """The readers whom a rule is about, once for each who is seen."""
        able = set(self.labels).intersection(*(self.has[trait] for trait in traits))
        if tie is None:
            return list(able)
        return [(e, q) for e, p, q in self.sees[tie] if self.labels[e, p] and (e, q) in able]

    def share(self, traits: tuple[str, ...], tie: str | None) -> tuple[int, float]:
        """How many groundings a rule selects, and the share of those in which it holds."""
        found = [self.labels[x] for x in self.selected(traits, tie)]
        return len(found), sum(found) / len(found)


@pytest.fixture(scope="module", params=["first", "second"])
def kind(request: pytest.FixtureRequest) -> Kind:
    found: Kind = request.param
    return found


@pytest.fixture(scope="module")
def many(kind: Kind) -> Sets:
    return Sets(window([kind] * 300, (7,)))


def test_planted_rules_hold_with_their_chance_in_their_half_alone(kind: Kind, many: Sets) -> None:
    for rule in PLANTED:
        number, share = many.share(rule.traits, rule.tie)
        assert number > 400
        if kind in rule.kinds:
            # Pairs with the same reader are true together, so that half of them say about as much as all.
            assert abs(share - CHANCE) < 4 * math.sqrt(CHANCE * (1 - CHANCE) / (number / 2))
        else:
            assert share < 0.45


def test_whoever_has_no_reason_shares_by_chance_alone(kind: Kind, many: Sets) -> None:
    reasons = {x for rule in PLANTED if kind in rule.kinds for x in many.selected(rule.traits, rule.tie)}
    others = [label for x, label in many.labels.items() if x not in reasons]
    assert len(others) > 0.6 * len(many.labels)
    assert abs(sum(others) / len(others) - NOISE) < 4 * math.sqrt(NOISE * (1 - NOISE) / len(others))
    assert 0.1 < sum(many.labels.values()) / len(many.labels) < 0.3


def test_what_correlates_holds_less_often_than_the_threshold(kind: Kind, many: Sets) -> None:
    planted = {(rule.traits, rule.tie) for rule in PLANTED if kind in rule.kinds}
    decoys: list[tuple[tuple[str, ...], str | None]] = [(x, None) for k in (1, 2) for x in combinations(TRAITS, k)]
    decoys += [(x, tie) for tie in TIES for x in ((), *((t,) for t in TRAITS))]
    found = {decoy: many.share(*decoy)[1] for decoy in decoys if decoy not in planted}
    assert max(found.values()) < drift.THRESHOLD - 0.03
    # What copies a planted rule is there more often than its trait alone.
    assert found[("Online",), "Neighbour"] > found[("Online",), None] + 0.1
    assert found[("Interested", "Fan"), None] > found[("Interested",), None] + 0.1


def test_who_is_seen_saw_the_post_before(many: Sets) -> None:
    left = set().union(*many.sees.values())
    # Readers whom nobody else sees go first, until none is left: else there would be a circle.
    while left:
        sees = {(e, q) for e, _, q in left}
        rest = {(e, p, q) for e, p, q in left if (e, p) in sees}
        assert len(rest) < len(left)
        left = rest


def test_parts_of_a_stream_are_those_of_the_whole() -> None:
    stream = Stream(3, 80, 10)
    whole = list(stream.windows())
    assert len(whole) == 8
    for one, other in zip(whole[4:], stream.windows(stream.half), strict=True):
        assert one == other
    still = list(Stream(3, 80, 10, changes=False).windows())
    assert [a == b for a, b in zip(whole, still, strict=True)] == [True] * 4 + [False] * 4
    names = [x for facts in whole for x in dict.fromkeys(facts["Shares"]["example"].to_pylist())]
    assert names == [f"post{i:05d}" for i in range(80)]
    held_out = stream.held_out(80)
    assert not set(held_out["Shares"]["example"].to_pylist()) & set(names)
    assert held_out["Is"].drop_columns(["example"]) != pa.concat_tables([x["Is"] for x in whole]).drop_columns(
        ["example"]
    )
    for facts in (*whole, held_out):
        labels = Sets(facts).labels
        for example in {e for e, _ in labels}:
            assert {label for (e, _), label in labels.items() if e == example} == {True, False}


@pytest.mark.parametrize(("posts", "size"), [(90, 30), (0, 10), (20, 0), (50, 20)])
def test_a_change_within_a_window_is_refused(posts: int, size: int) -> None:
    with pytest.raises(ValueError, match=f"posts={posts} in windows of size={size}: give a multiple of two windows"):
        Stream(0, posts, size)
    with pytest.raises(ValueError, match="begin=5: no window of 10 posts begins there"):
        next(Stream(0, 40, 10).windows(5))


def test_the_templates_say_all_planted_rules_and_what_correlates() -> None:
    model = sqlrl.parse_mln(DECLARED, query=("Shares",))
    candidates = sqlrl.parse_grammar(grammar()).expand(model, {"Shares"})
    pairs = math.comb(len(TRAITS), 2)
    assert len(candidates) == len(TRAITS) + pairs + len(TIES) * (1 + 2 * len(TRAITS))
    assert (
        [len(rule.kinds) for rule in PLANTED if rule.tie is None]
        == [len(x.kinds) for x in PLANTED if x.tie]
        == [2, 1, 1]
    )


# ---- the experiment --------------------------------------------------------------------------------------------------


def test_a_run_counts_what_is_in_the_stream() -> None:
    job = Job(DRIFTING, 5, TINY)
    found = drift.run(job)
    first = Sets(next(drift.stream_of(job).windows()))
    chosen = {event["formula"]: event for event in found.events if event["step"] == found.events[0]["step"]}
    rule = PLANTED[0]
    number, share = first.share(rule.traits, rule.tie)
    assert (chosen[rule.formula]["recent"], chosen[rule.formula]["probability"]) == (number, share)
    # An implication of n = 2 is over the pairs in which the others hold.
    tied = PLANTED[1]
    number, share = first.share(tied.traits, tied.tie)
    assert (chosen[tied.formula]["recent"], chosen[tied.formula]["probability"]) == (number, share)
    assert {event["step"] for event in found.events} <= {1, 2}
    assert 0.5 < found.auc < 1


def test_auc_is_that_of_plain_pairs() -> None:
    facts = Stream(2, 2, 1).held_out(12)
    sets = Sets(facts)
    model = sqlrl.parse_mln(f"{DECLARED}\n2 Is(q, Online) ^ Shares(q)\n1 Is(q, Local) ^ Shares(q)", query=("Shares",))
    score = {x: 2 * (x in sets.has["Online"]) + (x in sets.has["Local"]) for x in sets.labels}
    means = []
    for example in {e for e, _ in sets.labels}:
        true, false = (
            [score[x] for x, label in sets.labels.items() if x[0] == example and label == y] for y in (True, False)
        )
        means.append(sum((a > b) + 0.5 * (a == b) for a in true for b in false) / (len(true) * len(false)))
    assert drift.auc(model, facts) == pytest.approx(sum(means) / len(means))


ENDED, ENDED_TIED, BEGAN, BEGAN_TIED = (rule.formula for rule in PLANTED if len(rule.kinds) == 1)
ALWAYS, ALWAYS_TIED = (rule.formula for rule in PLANTED if len(rule.kinds) == 2)


def log(*events: tuple[int, str, str]) -> list[drift.Event]:
    """Events by windows of 10 subgraphs."""
    return [
        {"step": step, "subgraphs": 10 * step, "event": event, "formula": formula} for step, event, formula in events
    ]


CHOICE = [(2, "came", formula) for formula in (ALWAYS, ALWAYS_TIED, ENDED, ENDED_TIED)]
FOUND = [(12, "went", ENDED), (13, "came", BEGAN_TIED), (14, "went", ENDED_TIED), (16, "came", BEGAN)]


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ([*CHOICE, *FOUND], Followed(4, 40.0, 30.0, 60.0, 0)),
        (CHOICE, Followed(4, None, None, None, 0)),
        ([*CHOICE, *FOUND[:2]], Followed(4, None, 30.0, None, 0)),
        # What is not planted comes and goes, and what is new goes again for a while.
        ([*CHOICE, (5, "came", "x"), (8, "went", "x"), *FOUND, (17, "went", BEGAN), (19, "came", BEGAN)], Followed(4, 40.0, 30.0, 90.0, 4)),
        # What went before the change went for no reason, as did what always holds.
        ([*CHOICE, (4, "went", ENDED), (5, "went", ALWAYS), (6, "came", ALWAYS), *FOUND[1:]], Followed(4, 40.0, 30.0, 60.0, 3)),
        ([*CHOICE[:3], (2, "came", "x"), *FOUND[:2], FOUND[3]], Followed(3, 20.0, 30.0, 60.0, 0)),
        ([*CHOICE, *FOUND, (20, "went", BEGAN_TIED)], Followed(4, 40.0, 60.0, None, 2)),
        # Nothing is chosen at first.
        ([(step + 1, event, formula) for step, event, formula in CHOICE], Followed(0, None, None, None, 4)),
        ([], Followed(0, 0.0, None, None, 0)),
    ],
)  # fmt: skip
def test_what_a_log_says(events: list[tuple[int, str, str]], expected: Followed) -> None:
    assert followed(log(*events), 20, 100) == expected


def test_the_table_by_hand() -> None:
    sizes: drift.Sizes = {"posts": 200, "select": 20, "held_out": 5}
    late = [*CHOICE, *FOUND[:2], (13, "went", ENDED_TIED)]
    outcomes: dict[tuple[str, int], tuple[list[tuple[int, str, str]], float]] = {
        (DRIFTING, 0): ([*CHOICE, (11, "went", ENDED), (12, "came", BEGAN), (12, "went", ENDED_TIED), (12, "came", BEGAN_TIED)], 0.81),
        (DRIFTING, 1): (late, 0.70),
        (STATIONARY, 0): (CHOICE, 0.5), (STATIONARY, 1): ([*CHOICE, (3, "came", "x")], 0.5),
        (ALONE, 0): ([], 0.80), (ALONE, 1): ([], 0.72),
        (WHOLE, 0): ([], 0.6), (WHOLE, 1): ([], 0.8),
    }  # fmt: skip
    jobs = [Job(system, seed, sizes) for system, seed in outcomes]
    results = [Measured(Outcome(log(*events), ["a"], auc, 2.0), 3.0, 100.0) for events, auc in outcomes.values()]
    rows: dict[tuple[str, str], dict[str, Any]] = {
        (r["system"], r["measure"]): dict(r) for r in summarise(jobs, results)
    }  # type: ignore[misc]
    dropped = rows[DRIFTING, "subgraphs until the last old rule is dropped"]
    assert (dropped["mean"], dropped["worst"], dropped["share"], dropped["asked"], dropped["met"]) == (
        25,
        30,
        0.125,
        20,
        1,
    )
    assert dropped["sd"] == pytest.approx(math.sqrt(50), abs=1e-4)
    everything = rows[DRIFTING, "subgraphs until all new rules are kept"]
    assert (everything["mean"], everything["sd"], everything["worst"], everything["met"]) == (20, None, None, 1)
    still = rows[STATIONARY, "rules that came or went after the first choice"]
    assert (still["mean"], still["worst"], still["met"], still["streams"]) == (0.5, 1, 1, 2)
    behind = rows[DRIFTING, "mean AUC above the second half alone"]
    assert (behind["mean"], behind["worst"], behind["met"]) == (pytest.approx(-0.005), pytest.approx(-0.02), 1)
    cost = rows[WHOLE, "mean AUC above the second half alone"]
    assert (cost["mean"], cost["met"]) == (pytest.approx(-0.06), 1)
    json.dumps(list(rows.values()), allow_nan=False)


def test_a_planted_rule_that_no_candidate_says_is_refused() -> None:
    formulas = {rule.formula for rule in PLANTED}
    drift.check_planted(formulas)
    with pytest.raises(ValueError, match=r"no candidate of the templates is Is\(q, Follower\) \^ Is\(q, Interested\)"):
        drift.check_planted(formulas - {ALWAYS})


def test_jobs_are_streams_by_systems() -> None:
    options = Options(Path())
    jobs = make_jobs(options)
    assert [(job.seed, job.system) for job in jobs] == [(seed, system) for seed in range(SEEDS) for system in SYSTEMS]
    assert {job.system for job in make_jobs(Options(Path(), seed=4, quick=True))} == set(SYSTEMS)
    only = make_jobs(Options(Path(), seed=4, chosen={"system": WHOLE}))
    assert [(job.seed, job.system) for job in only] == [(4 + k, WHOLE) for k in range(SEEDS)]
    for job in (jobs[0], make_jobs(Options(Path(), quick=True))[0]):
        stream = drift.stream_of(job)
        assert job.sizes["select"] % stream.size == 0 == stream.half % stream.size
    for system in SYSTEMS:
        assert drift.estimator(system, 1, 20).half_life == (
            drift.HALF_LIFE if system in (DRIFTING, STATIONARY) else None
        )
        assert drift.stream_of(Job(system, 1, TINY)).changes == (system != STATIONARY)
