"""Scores of segmentations: log-likelihood of labels by sums over all worlds, and a conditional random field on the same footing."""

from __future__ import annotations

import math
from itertools import pairwise, product

import numpy as np
import pyarrow as pa
import pytest
from chain_crf import NOTHING, Chain, chain_scores, read_chains, train, weights_other_than_zero
from segmentation_scores import first_line, label_log_likelihood, model_scores, probability_scores

import sqlrl

WORDS = [("d1", "p0", "red"), ("d1", "p1", "big"), ("d1", "p2", "red"), ("d2", "p0", "big"), ("d2", "p1", "red")]
LABELS = [("d1", "A", "p0"), ("d1", "B", "p1"), ("d2", "A", "p0"), ("d2", "A", "p1")]
FIELDS = ("A", "B")
RULES = """\
Word(doc, place, word)
Next(place, place)
Field(doc, field, place)
{w0} Word(d, p, "red") => Field(d, "A", p)
{w1} Word(d, p, "big") => Field(d, "B", p)
{w2} Next(p, q) ^ Field(d, "A", p) => Field(d, "A", q)
Field(d, f, p) ^ f != g => !Field(d, g, p).
"""


def database() -> sqlrl.Database:
    db = sqlrl.connect()
    db.load("Word", WORDS, types=["doc", "place", "word"], example="doc")
    db.load("Next", [("p0", "p1"), ("p1", "p2")], types=["place", "place"])
    db.load("Field", LABELS, types=["doc", "field", "place"], example="doc", target=True)
    return db


def labels() -> pa.Table:
    return pa.table(dict(zip(("doc", "field", "place"), zip(*LABELS, strict=True), strict=True)))


def by_enumeration(doc: str, weights: tuple[float, float, float]) -> float:
    """The log-likelihood of the labels of a document: violated ground clauses cost their weight."""
    word = {place: w for d, place, w in WORDS if d == doc}
    places = sorted(word)
    truth = tuple(next((f for d, f, p in LABELS if (d, p) == (doc, place)), None) for place in places)

    def score(world: tuple[str | None, ...]) -> float:
        at = dict(zip(places, world, strict=True))
        lost = sum(weights[0] for p in places if word[p] == "red" and at[p] != "A")
        lost += sum(weights[1] for p in places if word[p] == "big" and at[p] != "B")
        return -lost - sum(weights[2] for p, q in pairwise(places) if at[p] == "A" != at[q])

    worlds = [score(world) for world in product((None, *FIELDS), repeat=len(places))]
    return score(truth) - math.log(sum(map(math.exp, worlds)))


@pytest.mark.parametrize("weights", [(1.0, 0.5, 0.25), (-2.0, 3.0, 1.5), (0.0, 0.0, 0.0)])
def test_the_log_likelihood_is_that_of_all_worlds(weights: tuple[float, float, float]) -> None:
    model = sqlrl.parse_mln(RULES.format(w0=weights[0], w1=weights[1], w2=weights[2]))
    found, impossible = label_log_likelihood(database(), model, ["d1", "d2"])
    assert found == pytest.approx((by_enumeration("d1", weights) + by_enumeration("d2", weights)) / 2, abs=1e-12)
    assert impossible == 0


def test_labels_that_hard_clauses_forbid_are_counted_apart() -> None:
    rules = RULES.format(w0=1, w1=0.5, w2=0.25) + 'Field(d, "A", p) ^ Next(p, q) => !Field(d, "A", q).\n'
    model = sqlrl.parse_mln(rules)
    # In d2 both places are A.
    with_d2, impossible = label_log_likelihood(database(), model, ["d1", "d2"])
    alone, none = label_log_likelihood(database(), model, ["d1"])
    assert (with_d2, impossible, none) == (alone, 1, 0)
    assert label_log_likelihood(database(), model, ["d2"]) == (None, 1)


def test_all_scores_of_a_model() -> None:
    model = sqlrl.parse_mln(RULES.format(w0=3, w1=4, w2=0.25))
    found = model_scores(database(), model, ["d1", "d2"], labels())
    # Predicted: A B A and B A; labelled: A B - and A A.
    assert (found.f1, found.f1_field, found.whole) == (pytest.approx(100 * 6 / 9), pytest.approx(100 * 2 / 7), 0)
    assert found.refused is None
    assert found.log_likelihood is not None
    assert 0 < found.brier < 100
    assert first_line(sqlrl.SqlrlError("one\ntwo")) == "one"


@pytest.mark.parametrize(("exclusion", "known"), [("Field(d, f, p) ^ f != g => !Field(d, g, p).\n", True), ("", False)])
def test_positions_that_may_have_several_fields_have_no_most_probable_one(exclusion: str, known: bool) -> None:
    rules = RULES.replace("Field(d, f, p) ^ f != g => !Field(d, g, p).\n", exclusion).format(w0=3, w1=4, w2=0.25)
    found = model_scores(database(), sqlrl.parse_mln(rules), ["d1", "d2"], labels())
    assert found.refused is None
    assert found.brier is not None
    assert found.f1_marginal == (pytest.approx(100 * 6 / 9) if known else None)


def test_calibration_and_brier_in_percent() -> None:
    ece, brier = probability_scores(np.array([True, False]), np.array([0.75, 0.25]))
    assert (ece, brier) == (pytest.approx(25), pytest.approx(6.25))


CHAINS = {
    "a": Chain(("red", "big", "red"), ("A", "B", NOTHING)),
    "b": Chain(("big", "red"), ("B", NOTHING)),
    "c": Chain(("red", "red", "big"), ("A", NOTHING, "B")),
}


def test_chains_are_in_the_order_of_positions() -> None:
    tokens = pa.table({"token": ["big", "red"], "position": ["p1", "p0"], "bib": ["x", "x"]})
    fields = pa.table({"bib": ["x"], "field": ["A"], "position": ["p1"]})
    assert read_chains(tokens, fields) == {"x": Chain(("red", "big"), (NOTHING, "A"))}


def test_a_random_field_is_scored_as_a_model_is() -> None:
    found = chain_scores(train(list(CHAINS.values()), "L2", 0.01), CHAINS)
    # Two reds are alike but for what is beside them.
    assert (found.f1, found.whole) == (100, 100)
    assert found.log_likelihood is not None
    assert -1 < found.log_likelihood < 0
    strong = chain_scores(train(list(CHAINS.values()), "L2", 1e6), CHAINS)
    # Nothing is learned: three labels at 8 positions, all alike.
    assert strong.log_likelihood == pytest.approx(-8 * math.log(3) / 3, abs=1e-3)
    assert strong.brier == pytest.approx(100 * (5 * (4 / 9) + 11 / 9) / 16, abs=0.1)


def chance(penalty: str, strength: float) -> float:
    """The probability of a label that three of four chains of one word have."""
    chains = [Chain(("red",), ("A",))] * 3 + [Chain(("red",), (NOTHING,))]
    found = chain_scores(train(chains, penalty, strength, tolerance=1e-12), {"x": chains[0]})
    assert found.log_likelihood is not None
    return math.exp(found.log_likelihood)


@pytest.mark.parametrize("strength", [0.1, 0.5, 2.0])
def test_the_penalty_is_that_of_likelihood(strength: float) -> None:
    """At the optimum the counts of a feature less those expected are the strength, times the weight or its sign."""
    p = chance("L2", strength)
    # Two features, of each label, share the log-odds.
    assert 3 - 4 * p == pytest.approx(strength * math.log(p / (1 - p)) / 2, abs=1e-4)
    assert chance("L1", strength) == pytest.approx(max((3 - strength) / 4, 0.5), abs=1e-4)


def test_l1_leaves_weights_out() -> None:
    weak, strong, none = (weights_other_than_zero(train(list(CHAINS.values()), "L1", s)) for s in (0.01, 1.0, 100.0))
    assert weak > strong > none == 0


def test_a_label_never_seen_in_training_has_probability_zero() -> None:
    model = train([CHAINS["b"]], "L2", 0.1)
    found = chain_scores(model, {"a": CHAINS["a"]})
    assert found.log_likelihood is None
    assert found.brier is not None
