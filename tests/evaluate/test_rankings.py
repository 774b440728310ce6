"""Rankings of each example against all orders of ties, all pairs, scikit-learn and scipy."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from sklearn import metrics

from sqlrl.errors import InputError
from sqlrl.evaluate import (
    LeftOut,
    Seen,
    auc_roc,
    mean_and_deviation,
    paired_difference,
    score_probabilities,
    score_rankings,
)

Row = tuple[bool, float, str]
rows = st.lists(
    st.tuples(st.booleans(), st.sampled_from([-math.inf, 0.0, 0.25, 0.5, 1e9]), st.sampled_from("abc")), max_size=12
)


def expected_precision(atoms: list[tuple[bool, float]]) -> Fraction:
    """The mean over all orders that keep the scores of the mean over true atoms of the precision at their place."""
    tied = {score: [t for t, s in atoms if s == score] for score in sorted({s for _, s in atoms}, reverse=True)}
    found = []
    for order in product(*({*permutations(range(len(tie)))} for tie in tied.values())):
        ranked = [tie[i] for tie, places in zip(tied.values(), order, strict=True) for i in places]
        each = [Fraction(sum(ranked[: k + 1]), k + 1) for k, true in enumerate(ranked) if true]
        found.append(sum(each, Fraction()) / len(each))
    return sum(found, Fraction()) / len(found)


def area(atoms: list[tuple[bool, float]]) -> Fraction:
    pairs = [(a, b) for t, a in atoms if t for u, b in atoms if not u]
    return sum((Fraction(1 + (a > b) - (a < b), 2) for a, b in pairs), Fraction()) / len(pairs)


@given(rows.filter(lambda given: all(sum(e == x for *_, e in given) <= 6 for x in "abc")))
def test_each_example_is_scored_as_over_all_orders_of_its_ties(given: list[Row]) -> None:
    each = {name: [(t, s) for t, s, e in given if e == name] for name in sorted({e for *_, e in given})}
    both = {name: atoms for name, atoms in each.items() if len({t for t, _ in atoms}) == 2}
    columns = [list(column) for column in zip(*given, strict=True)] or [[], [], []]
    if not both:
        with pytest.raises(InputError, match="both true and false atoms, so that nothing is ranked"):
            score_rankings(*columns)
        return
    found = score_rankings(*columns)
    assert found.example.tolist() == list(each)
    for k, (name, atoms) in enumerate(each.items()):
        assert (found.atoms[k], found.true[k]) == (len(atoms), sum(t for t, _ in atoms))
        if name in both:
            assert found.average_precision[k] == pytest.approx(float(expected_precision(atoms)), abs=1e-14)
            assert found.auc[k] == float(area(atoms))
        else:
            assert math.isnan(found.average_precision[k])
            assert math.isnan(found.auc[k])
    assert found.mean_average_precision == pytest.approx(
        float(sum(map(expected_precision, both.values())) / len(both)), abs=1e-14
    )
    assert found.mean_auc == pytest.approx(float(sum(map(area, both.values())) / len(both)), abs=1e-14)
    true = [all(t for t, _ in atoms) for name, atoms in each.items() if name not in both]
    assert found.left_out == LeftOut(sum(true), len(true) - sum(true), 0)


def made(seed: int, examples: int = 60, *, ties: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Examples of 2 to 40 atoms in no order, of which each has both true and false ones."""
    rng = np.random.default_rng(seed)
    example = np.concatenate(
        [np.repeat(np.arange(examples), 2), np.repeat(np.arange(examples), rng.integers(0, 39, examples))]
    )
    truth = rng.random(len(example)) < 0.4
    truth[: 2 * examples] = np.arange(2 * examples) % 2 == 0
    score = rng.normal(size=len(example)) + truth
    order = rng.permutation(len(example))
    return truth[order], (np.round(score) if ties else score)[order], example[order]


@pytest.mark.parametrize("seed", range(3))
def test_without_ties_scores_are_those_of_scikit_learn(seed: int) -> None:
    truth, score, example = made(seed, ties=False)
    found = score_rankings(truth, score, example)
    for k in range(60):
        mine = example == k
        assert found.average_precision[k] == pytest.approx(
            metrics.average_precision_score(truth[mine], score[mine]), abs=1e-12
        )
        assert found.auc[k] == pytest.approx(metrics.roc_auc_score(truth[mine], score[mine]), abs=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_areas_are_the_statistic_of_mann_and_whitney(seed: int) -> None:
    truth, score, example = made(seed, ties=True)
    found = score_rankings(truth, score, example)
    for k in range(60):
        true, false = score[(example == k) & truth], score[(example == k) & ~truth]
        won = stats.mannwhitneyu(true, false).statistic
        assert found.auc[k] == pytest.approx(won / (len(true) * len(false)), abs=1e-12)
        assert found.auc[k] == auc_roc(truth[example == k], score[example == k])


@pytest.mark.parametrize(("atoms", "true"), [(1000, 1), (1000, 400), (1000, 999), (20_000, 7)])
def test_where_all_are_tied_it_is_the_expectation_of_a_random_order(atoms: int, true: int) -> None:
    # By harmonic numbers: (true - 1) / (atoms - 1) + (1 - that) H(atoms) / atoms.
    harmonic = sum((Fraction(1, k) for k in range(1, 1001)), Fraction()) if atoms == 1000 else None
    h = float(harmonic) if harmonic is not None else math.fsum(1 / k for k in range(1, atoms + 1))
    share = (true - 1) / (atoms - 1)
    found = score_rankings(np.arange(atoms) < true, np.zeros(atoms), np.zeros(atoms, int))
    assert found.mean_average_precision == pytest.approx(share + (1 - share) * h / atoms, rel=1e-12)
    assert found.mean_auc == 0.5
    assert math.isnan(found.auc_error)
    assert str(found).startswith(f"MAP {found.mean_average_precision:.3f}, mean AUC-ROC 0.500 (over 1 example)")


def test_the_order_in_which_atoms_are_given_does_not_matter() -> None:
    truth, score, example = made(5, ties=True)
    found, order = score_rankings(truth, score, example), np.random.default_rng(1).permutation(len(truth))
    again = score_rankings(truth[order], score[order], example[order])
    assert found.table() == again.table()


def test_means_have_standard_errors() -> None:
    found = score_rankings(*made(3, ties=True))
    for mean, error, values in (
        (found.mean_average_precision, found.average_precision_error, found.average_precision),
        (found.mean_auc, found.auc_error, found.auc),
    ):
        known = mean_and_deviation(values.tolist())
        assert mean == pytest.approx(known.mean, abs=1e-14)
        assert error == pytest.approx(known.deviation / math.sqrt(60), abs=1e-14)
    precision, auc = found.means().to_pylist()
    assert precision == {
        "measure": "average precision",
        "mean": found.mean_average_precision,
        "error": found.average_precision_error,
        "examples": 60,
    }
    assert (auc["measure"], auc["mean"]) == ("AUC-ROC", found.mean_auc)


def test_what_is_left_out_is_counted_and_said() -> None:
    truth = [True, False, True, True, False]
    found = score_rankings(
        truth, [0.5, 0.25, 1, 1, 0], [2, 2, 0, 0, 3], names=["w", "x", "y", "z"], outside=2, seen=Seen(4, 1, 5)
    )
    assert found.left_out == LeftOut(only_true=1, only_false=1, without_atoms=1)
    assert found.left_out.total == 3
    assert found.table().to_pylist() == [
        {"example": "w", "average_precision": None, "auc": None, "atoms": 2, "true": 2},
        {"example": "x", "average_precision": None, "auc": None, "atoms": 0, "true": 0},
        {"example": "y", "average_precision": 1.0, "auc": 1.0, "atoms": 2, "true": 1},
        {"example": "z", "average_precision": None, "auc": None, "atoms": 1, "true": 0},
    ]
    assert str(found) == (
        "MAP 1.000, mean AUC-ROC 1.000 (over 1 example; left out: 1 with only true atoms, 1 with only false atoms, 1 with no labelled atom); "
        "2 labels lie outside the scope, without a probability; note: run 4 learned the model from 1 of the 5 atoms evaluated here"
    )
    assert repr(found) == f"RankingScores({found})"
    html = found._repr_html_()
    assert html.count("<tr>") == 3
    assert "MAP 1.000" in html


@pytest.mark.parametrize("seed", range(4))
def test_two_rankings_are_compared_example_by_example(seed: int) -> None:
    truth, score, example = made(seed, ties=True)
    other = score + np.random.default_rng(seed).normal(size=len(score))
    first, second = score_rankings(truth, score, example), score_rankings(truth, other, example)
    found = first.compare(second, confidence=0.9)
    for part, one, two in (
        (found.average_precision, first.average_precision, second.average_precision),
        (found.auc, first.auc, second.auc),
    ):
        known = stats.ttest_rel(one, two)
        interval = known.confidence_interval(0.9)
        assert part.mean == pytest.approx(float(np.mean(one - two)), abs=1e-13)
        assert part.error == pytest.approx(part.mean / known.statistic, rel=1e-9)
        assert (part.low, part.high) == pytest.approx((interval.low, interval.high), rel=1e-9)
        assert part.pairs == 60
    assert [row["low"] for row in found.table().to_pylist()] == [found.average_precision.low, found.auc.low]
    assert f"(90 % interval {found.average_precision.low:+.4f}" in str(found)
    assert found._repr_html_().count("<tr>") == 3
    # Against itself there is no difference, whatever the order of the examples.
    names = [f"e{k}" for k in range(60)]
    one = score_rankings(truth, score, example, names=names)
    turned = score_rankings(truth, score, 59 - example, names=names[::-1])
    assert (one.compare(turned).auc.low, one.compare(turned).auc.high) == (0.0, 0.0)


def test_only_rankings_of_the_same_atoms_are_compared() -> None:
    truth, example = [True, False] * 3, [0, 0, 1, 1, 2, 2]
    found = score_rankings(truth, [1, 0] * 3, example)
    with pytest.raises(InputError, match="2 examples only in one of the rankings, such as 0"):
        found.compare(score_rankings(truth, [1, 0] * 3, [5, 5, 2, 2, 6, 6]))
    with pytest.raises(InputError, match="1 example only in one of the rankings, such as 9"):
        found.compare(score_rankings([*truth, True], [1, 0] * 3 + [1], [*example, 9]))
    with pytest.raises(
        InputError, match=r"example 1 has 2 atoms \(1 true\) in one and 3 atoms \(1 true\) in the other"
    ):
        found.compare(score_rankings([*truth, False], [1, 0] * 3 + [1], [*example, 1]))
    with pytest.raises(InputError, match="2 or more, not of shapes"):
        score_rankings([True, False], [1, 0], [0, 0]).compare(score_rankings([True, False], [1, 0], [0, 0]))


@pytest.mark.parametrize(
    ("first", "second", "confidence", "message"),
    [
        ([1.0, 2.0], [1.0], 0.95, "two lists of one length"),
        ([[1.0], [2.0]], [[1.0], [2.0]], 0.95, "two lists of one length"),
        ([1.0, math.nan], [1.0, 1.0], 0.95, "not finite"),
        ([1.0, 2.0], [1.0, 1.0], 95, r"confidence=95 must be a share between 0 and 1, such as 0.95 \(not 95 for percent\)"),
        ([1.0, 2.0], [1.0, 1.0], 1, "confidence=1 must be"),
        ([1.0, 2.0], [1.0, 1.0], "high", "confidence='high' must be"),
        ([1.0, 2.0], [1.0, 1.0], math.nan, "confidence=nan must be"),
    ],
)  # fmt: skip
def test_intervals_that_cannot_be(first: list[float], second: list[float], confidence: float, message: str) -> None:
    with pytest.raises(InputError, match=message):
        paired_difference(first, second, confidence=confidence)


@pytest.mark.parametrize(
    ("truth", "score", "example", "names", "message"),
    [
        ([True, False], [1, 0], [0], (), r"shape of the labels, \(2,\), not \(1,\)"),
        ([True, False], [1, 0], [0.5, 0.5], (), "array of integers or names, not of float64"),
        ([True, False], [1, 0], [None, 0], (), "array of integers or names, not of object"),
        ([True, False], [1, 0], ["x", "x"], ("x",), "array of indices in `names`, not of <U1"),
        ([True, False], [1, 0], [0, 1], ("x",), "indices from 0 to 1, but there are 1 names"),
        ([True, False], [1, 0], [-1, 0], ("x",), "indices from -1 to 0"),
        ([True, False], [1, 0], [0, 0], ("x", "y", "y"), "the example 'y' occurs twice in `names`"),
        ([1, 0], [1, 0], [0, 0], (), "labels must be booleans"),
        ([True, False], [1, math.nan], [0, 0], (), "1 score of 2 NaN"),
        ([True, False, True], [1, 0, 1], [0, 1, 2], (), "so that nothing is ranked: 2 with only true atoms, 1 with only false atoms. Score"),
        ([], [], [], (), "none of 0 examples has both true and false atoms, so that nothing is ranked. Score"),
        ([], [], [], ("x",), "none of 1 example has both true and false atoms, so that nothing is ranked: 1 with no labelled atom. Score"),
    ],
)  # fmt: skip
def test_what_cannot_be_ranked(
    truth: list[bool], score: list[float], example: list[object], names: tuple[str, ...], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        score_rankings(truth, score, example, names=names)  # type: ignore[arg-type]


def test_scores_of_probabilities_rank_each_predicate_and_all() -> None:
    truth, chance = [True, False, False, True, True, False], [0.9, 0.2, 0.5, 0.4, 0.8, 0.7]
    kind, example = [0, 0, 0, 0, 1, 1], [0, 0, 1, 1, 0, 0]
    found = score_probabilities(
        truth, chance, predicate=kind, names=["P", "Q"], example=example, examples=["x", "y"], outside=3
    )
    whole = found.by_example()
    assert whole.table() == score_rankings(truth, chance, example, names=["x", "y"]).table()
    assert whole.outside == 3
    assert found.predicates["P"].by_example().table() == score_rankings(truth[:4], chance[:4], example[:4], names=["x", "y"]).table()  # fmt: skip
    assert found.predicates["Q"].by_example().left_out == LeftOut(0, 0, 1)
    # What is scored beside does not change.
    assert str(replace(found, ranking=None)) == str(found)
    with pytest.raises(InputError, match="given without their examples"):
        score_probabilities(truth, chance).by_example()
    with pytest.raises(InputError, match=r"`example` must have the shape"):
        score_probabilities(truth, chance, example=[0])


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 5), st.integers(-3, 3)), min_size=2, max_size=30))
def test_probabilities_that_differ_by_rounding_alone_are_ties(given: list[tuple[bool, int, int]]) -> None:
    truth = [True, False, *(t for t, *_ in given)]
    bare = np.array([0.0, 1e-9, *([0.0, 1e-9, 1e-9 * (1 + 1e-9), 0.3, 0.7, 1.0][k] for _, k, _ in given)])
    steps = np.array([0, 0, *(n for *_, n in given)])
    noisy = np.clip(bare + steps * np.spacing(bare) * (bare > 0), 0, 1)
    example = np.zeros(len(truth), int)
    found, known = (score_probabilities(truth, x, example=example) for x in (noisy, bare))
    assert found.auc_roc == known.auc_roc == auc_roc(truth, bare)
    assert found.average_precision == known.average_precision
    assert found.by_example().table() == score_rankings(truth, bare, example).table()
