"""Precision, recall, F1 and example accuracy of predicted truth values, counted in integers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sqlrl import markup
from sqlrl.errors import InputError, Message, Parameter
from sqlrl.evaluate.seen import Seen
from sqlrl.report.table import Table
from sqlrl.slips import Helpful

IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]
FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Counts:
    """Right and wrong atoms, and what follows from them.

    An atom that is predicted true and is labelled true is a true positive, predicted true alone a false positive,
    labelled true alone a false negative. So a field predicted where another one stands is one of each of the latter.

    Parameters
    ----------
    true_positives, false_positives, false_negatives, true_negatives : int

    Examples
    --------
    >>> counts = Counts(true_positives=6, false_positives=2, false_negatives=4)
    >>> counts.precision, counts.recall, round(counts.f1, 4)
    (0.75, 0.6, 0.6667)
    """

    true_positives: int
    false_positives: int
    false_negatives: int
    true_negatives: int = 0
    _repr_html_ = markup.field_table

    @property
    def precision(self) -> float:
        """TP / (TP + FP); with nothing predicted 1 if nothing was to be found, else 0."""
        return _share(self.true_positives, self.false_positives, perfect=self.false_negatives == 0)

    @property
    def recall(self) -> float:
        """TP / (TP + FN); with nothing to be found 1 if nothing was predicted, else 0."""
        return _share(self.true_positives, self.false_negatives, perfect=self.false_positives == 0)

    @property
    def f1(self) -> float:
        """2 TP / (2 TP + FP + FN), the harmonic mean of precision and recall; 1 if there was nothing and no error."""
        return _share(2 * self.true_positives, self.false_positives + self.false_negatives, perfect=True)

    @property
    def atoms(self) -> int:
        """Number of atoms."""
        return self.true_positives + self.false_positives + self.false_negatives + self.true_negatives

    @property
    def errors(self) -> int:
        """Number of atoms predicted wrongly: the Hamming distance of the two worlds."""
        return self.false_positives + self.false_negatives


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ExampleScores:
    """The counts of each example, as arrays of one length.

    Parameters
    ----------
    example : int64 array, shape (k,)
        Ids of the examples that have an atom, ascending.
    true_positives, false_positives, false_negatives : int64 array, shape (k,)
    names : tuple of str, optional
        Names of the examples, in the same order.
    """

    example: IntArray
    true_positives: IntArray
    false_positives: IntArray
    false_negatives: IntArray
    names: tuple[str, ...] | None = None
    _repr_html_ = markup.field_table

    @property
    def exact(self) -> BoolArray:
        """True where every atom of the example is right."""
        exact: BoolArray = self.false_positives + self.false_negatives == 0
        return exact

    @property
    def f1(self) -> FloatArray:
        """F1 of each example, in [0, 1]; 1 where there was nothing to be found and nothing predicted."""
        twice = 2 * self.true_positives
        below = twice + self.false_positives + self.false_negatives
        share: FloatArray = np.divide(twice, below, out=np.ones(len(twice)), where=below > 0)
        return share

    def __len__(self) -> int:
        return len(self.example)

    def __repr__(self) -> str:
        return f"ExampleScores({len(self)} examples, {int(self.exact.sum())} all right)"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Scores(Helpful):
    """The scores of a prediction.

    `str()` gives one line, `repr()` also one for each of several predicates, `table()` a row for each and one for all.

    Parameters
    ----------
    total : Counts
        Over all atoms: `total.f1` is the micro-averaged F1.
    predicates : dict of str to Counts
        Sorted by name.
    examples : ExampleScores
    outside : int
        True labels outside the scope, which no prediction can find: they are among the false negatives. 0 if they are ignored.
    seen : Seen or None
        Whether the model was learned from some of the atoms, as far as the runs of the database tell.

    Examples
    --------
    >>> scores = score([True, False, True], [True, True, True], [7, 7, 8])
    >>> round(scores.f1, 2), scores.example_accuracy
    (0.8, 0.5)
    >>> scores.example_table()["exact"].to_pylist()
    [False, True]
    """

    total: Counts
    predicates: dict[str, Counts]
    examples: ExampleScores
    outside: int = 0
    seen: Seen | None = None

    @property
    def precision(self) -> float:
        """Micro-averaged precision, in [0, 1]."""
        return self.total.precision

    @property
    def recall(self) -> float:
        """Micro-averaged recall, in [0, 1]."""
        return self.total.recall

    @property
    def f1(self) -> float:
        """Micro-averaged F1, in [0, 1]."""
        return self.total.f1

    @property
    def example_accuracy(self) -> float:
        """Share of the examples whose atoms are all right, in [0, 1]; NaN without examples."""
        return int(self.examples.exact.sum()) / len(self.examples) if len(self.examples) else float("nan")

    def table(self) -> Table:
        """Return a row for each predicate and, if there are several, a last one named `(all)`.

        Returns
        -------
        Table
            Columns predicate, f1, precision, recall, true_positives, false_positives, false_negatives, atoms.
        """
        rows = list(self.predicates.items())
        if len(rows) != 1:
            rows.append(("(all)", self.total))
        return Table(
            pa.table(
                {
                    "predicate": pa.array([name for name, _ in rows], pa.string()),
                    "f1": pa.array([c.f1 for _, c in rows], pa.float64()),
                    "precision": pa.array([c.precision for _, c in rows], pa.float64()),
                    "recall": pa.array([c.recall for _, c in rows], pa.float64()),
                    "true_positives": pa.array([c.true_positives for _, c in rows], pa.int64()),
                    "false_positives": pa.array([c.false_positives for _, c in rows], pa.int64()),
                    "false_negatives": pa.array([c.false_negatives for _, c in rows], pa.int64()),
                    "atoms": pa.array([c.atoms for _, c in rows], pa.int64()),
                }
            )
        )

    def example_table(self) -> Table:
        """Return a row for each example, in the order of their ids.

        Returns
        -------
        Table
            Columns example (the name; the id where no names are known), f1, true_positives, false_positives, false_negatives, exact.
        """
        each = self.examples
        return Table(
            pa.table(
                {
                    "example": each.example if each.names is None else pa.array(each.names, pa.string()),
                    "f1": each.f1,
                    "true_positives": each.true_positives,
                    "false_positives": each.false_positives,
                    "false_negatives": each.false_negatives,
                    "exact": each.exact,
                }
            )
        )

    @property
    def message(self) -> Message:
        """What `str` says, with the parameters that it mentions."""
        exact = int(self.examples.exact.sum())
        # Where all data are one example, whether it is all right says no more than F1.
        right = f"; {exact} of {len(self.examples)} examples all right" if len(self.examples) > 1 else ""
        return Message(
            f"F1 {100 * self.f1:.2f} (precision {100 * self.precision:.2f}, recall {100 * self.recall:.2f})"
            f"{right}{self._missed()}{'' if self.seen is None else f'; {self.seen}'}"
        )

    def __str__(self) -> str:
        return str(self.message)

    def _missed(self) -> str:
        """Return what is said of labels outside the scope."""
        if not self.outside:
            return ""
        one = self.outside == 1
        verb, end = ("lies", "s as missed") if one else ("lie", " as missed")
        return f"; {self.outside:,} label{'' if one else 's'} {verb} outside the scope and count{end} (not with {Parameter('outside', 'ignore')})"

    def __repr__(self) -> str:
        if len(self.predicates) < 2:
            return str(self)
        size = max(map(len, self.predicates))
        each = (
            f"  {name:<{size}}  F1 {100 * c.f1:.2f} (precision {100 * c.precision:.2f}, recall {100 * c.recall:.2f})"
            for name, c in self.predicates.items()
        )
        return "\n".join([str(self), *each])

    def _repr_html_(self) -> str:
        return scores_html(self.table(), str(self))


def scores_html(scores: Table, caption: str) -> str:
    """Return a table of scores as HTML; what is not defined is empty."""

    def shown(value: object) -> str:
        """Write a cell."""
        return "" if value is None else f"{value:.4f}" if isinstance(value, float) else str(value)

    rows = [[shown(value) for value in row.values()] for row in scores.to_pylist()]
    right = [not pa.types.is_string(kind) for kind in scores.to_arrow().schema.types]
    return markup.table([name.replace("_", " ") for name in scores.column_names], rows, right, caption=caption)


def score(
    truth: npt.ArrayLike,
    predicted: npt.ArrayLike,
    example: npt.ArrayLike,
    *,
    predicate: npt.ArrayLike | None = None,
    names: Sequence[str] = (),
    examples: Mapping[int, str] | None = None,
    outside: int = 0,
    seen: Seen | None = None,
) -> Scores:
    """Compare predicted truth values with labels.

    All arrays have shape (n,): for each atom its label and its prediction (bool), its example and the index of its predicate in
    `names` (int); without `predicate`, `names` has at most one. `examples` has the names of examples. `outside` is how many of the atoms are labels outside the
    scope; it and `seen` are only reported.

    Examples
    --------
    >>> scores = score([True, False, True, False], [True, True, False, False], [7, 7, 8, 9])
    >>> print(scores)
    F1 50.00 (precision 50.00, recall 50.00); 1 of 3 examples all right
    >>> scores.examples.exact
    array([False, False,  True])
    """
    label, guess = _booleans(truth, "truth"), _booleans(predicted, "predicted")
    group = _integers(example, "example")
    kind = np.zeros(len(label), np.int64) if predicate is None else _integers(predicate, "predicate")
    lengths = {"truth": len(label), "predicted": len(guess), "example": len(group), "predicate": len(kind)}
    if len(set(lengths.values())) > 1:
        raise InputError(f"the arrays must have one length, not {lengths}")
    if predicate is None and len(names) > 1:
        raise InputError(f"{len(names)} names need the array `predicate`")
    known = len(names) if predicate is not None or names else 1
    if len(kind) and not 0 <= int(kind.min()) <= int(kind.max()) < known:
        raise InputError(f"`predicate` has indices from {kind.min()} to {kind.max()}, but there are {known} names")
    return Scores(
        total=_counts(label, guess),
        predicates={names[k]: _counts(label[kind == k], guess[kind == k]) for k in _sorted_indices(names)},
        examples=_example_scores(label, guess, group, examples),
        outside=outside,
        seen=seen,
    )


def _share(hits: int, misses: int, *, perfect: bool) -> float:
    """Return hits / (hits + misses), and for 0 / 0 whether that is perfect."""
    return hits / (hits + misses) if hits + misses else float(perfect)


def _sorted_indices(names: Sequence[str]) -> list[int]:
    """Return the indices of the names in their sorted order."""
    return sorted(range(len(names)), key=lambda k: names[k])


def _booleans(values: npt.ArrayLike, name: str) -> BoolArray:
    """Return a one-dimensional array of truth values; an empty one may have any type."""
    array = np.asarray(values)
    if array.ndim != 1 or (array.dtype != np.bool_ and array.size):
        raise InputError(
            f"`{name}` must be a one-dimensional array of booleans, not {array.dtype} of shape {array.shape}"
        )
    return array.astype(np.bool_)


def _integers(values: npt.ArrayLike, name: str) -> IntArray:
    """Return a one-dimensional array of integers; an empty one may have any type."""
    array = np.asarray(values)
    if array.ndim != 1 or (array.dtype.kind not in "iu" and array.size):
        raise InputError(
            f"`{name}` must be a one-dimensional array of integers, not {array.dtype} of shape {array.shape}"
        )
    return array.astype(np.int64)


def _counts(truth: BoolArray, predicted: BoolArray) -> Counts:
    """Count the four cases."""
    return Counts(
        true_positives=int(np.count_nonzero(truth & predicted)),
        false_positives=int(np.count_nonzero(~truth & predicted)),
        false_negatives=int(np.count_nonzero(truth & ~predicted)),
        true_negatives=int(np.count_nonzero(~truth & ~predicted)),
    )


def _example_scores(
    truth: BoolArray, predicted: BoolArray, example: IntArray, names: Mapping[int, str] | None
) -> ExampleScores:
    """Count the cases of each example."""
    ids, index = np.unique(example, return_inverse=True)

    def count(which: BoolArray) -> IntArray:
        """Count the chosen atoms of each example."""
        return np.bincount(index[which], minlength=len(ids)).astype(np.int64)

    named = None if names is None else tuple(names[each] for each in ids.tolist())
    return ExampleScores(ids, count(truth & predicted), count(~truth & predicted), count(truth & ~predicted), named)
