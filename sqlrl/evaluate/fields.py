"""Whole fields of a segmentation: a field counts as right only if all its positions are."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sqlrl.distinct import distinct
from sqlrl.errors import InputError
from sqlrl.evaluate.metrics import Counts

IntArray = npt.NDArray[np.int64]


def score_fields(
    truth: npt.ArrayLike, predicted: npt.ArrayLike, example: npt.ArrayLike, field: npt.ArrayLike
) -> Counts:
    """Compare predicted fields with labelled ones, each as a whole; the counts are of fields.

    The atoms of one field of one example are one segment: the set of positions that the field has there, wherever they
    stand. It is right only if the predicted set is the labelled one, so that neither a missing nor an added position is
    forgiven. A labelled segment that is not right is a false negative, a predicted one a false positive; a field that has
    no position in either world is a true negative.

    All arrays have shape (n,): for each atom its label and its prediction (bool), its example and its field (int). `f1` of the
    counts is the F1 at the field level.

    Notes
    -----
    Source: Huynh (2011), section 7.3.3: "all tokens in a field must be correctly assigned the right labels in order to
    count as a correct field". The source does not say whether a field in two pieces is one or two: here it is one, since a
    citation has one title, and since C1 makes pieces impossible, so that both readings agree for the systems that keep it.

    Examples
    --------
    Two citations of two positions and fields; the second has one position too many in field 1:

    >>> truth = [True, True, False, False] + [True, False, False, True]
    >>> predicted = [True, True, False, False] + [True, False, True, True]
    >>> counts = score_fields(truth, predicted, [1] * 4 + [2] * 4, [0, 0, 1, 1, 0, 0, 1, 1])
    >>> counts.true_positives, counts.false_positives, counts.false_negatives, counts.true_negatives
    (2, 1, 1, 1)
    """
    arrays = {name: np.asarray(value) for name, value in (("truth", truth), ("predicted", predicted))}
    keys = {name: np.asarray(value) for name, value in (("example", example), ("field", field))}
    lengths = {name: value.shape for name, value in (arrays | keys).items()}
    if len(set(lengths.values())) > 1 or any(len(shape) != 1 for shape in lengths.values()):
        raise InputError(f"the arrays must be one-dimensional and of one length, not of shapes {lengths}")
    for name, value in arrays.items():
        if value.dtype != np.bool_ and value.size:
            raise InputError(f"`{name}` must be an array of booleans, not of {value.dtype}")
    for name, value in keys.items():
        if value.dtype.kind not in "iu" and value.size:
            raise InputError(f"`{name}` must be an array of integers, not of {value.dtype}")
    label, guess = (arrays[name].astype(np.bool_) for name in ("truth", "predicted"))
    segment = distinct([keys["example"], keys["field"]]).inverse
    size = int(segment.max(initial=-1)) + 1
    wrong, labelled, guessed = (
        np.bincount(segment[which], minlength=size) > 0 for which in (label != guess, label, guess)
    )
    return Counts(
        true_positives=int((labelled & ~wrong).sum()),
        false_positives=int((guessed & wrong).sum()),
        false_negatives=int((labelled & wrong).sum()),
        true_negatives=int((~labelled & ~guessed).sum()),
    )
