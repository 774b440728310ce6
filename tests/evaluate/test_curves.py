"""Curves of precision, recall and rates are those of scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import metrics

from sqlrl.errors import InputError
from sqlrl.evaluate.curves import precision_recall_curve, roc_curve


@pytest.mark.parametrize("seed", range(2))
def test_as_scikit_learn_has_them(seed: int) -> None:
    rng = np.random.default_rng(seed)
    score = rng.integers(0, 12, 200) / 12  # with ties
    truth = rng.random(200) < 0.2 + 0.6 * score
    ours = precision_recall_curve(truth, score)
    precision, recall, threshold = metrics.precision_recall_curve(truth, score)
    # Theirs ascend, and end with a point that no threshold has.
    assert np.allclose(ours["threshold"], threshold[::-1])
    assert np.allclose(ours["precision"], precision[:-1][::-1])
    assert np.allclose(ours["recall"], recall[:-1][::-1])
    rates = roc_curve(truth, score)
    false, true, cut = metrics.roc_curve(truth, score, drop_intermediate=False)
    assert np.allclose(rates["false_positive_rate"], false)
    assert np.allclose(rates["true_positive_rate"], true)
    assert np.allclose(rates["threshold"][1:], cut[1:])


def test_labels_of_one_kind() -> None:
    with pytest.raises(InputError, match="need a true atom"):
        precision_recall_curve([False, False], [0.1, 0.2])
    for truth in ([False, False], [True, True]):
        with pytest.raises(InputError, match="labels are of one kind"):
            roc_curve(truth, [0.1, 0.2])
