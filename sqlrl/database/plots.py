"""Charts of what was inferred, held against the labels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import ClassVar

import numpy as np
import pyarrow as pa

from sqlrl.database.evaluation import Blocks, Compared, blocks_of, compared, outcomes_of
from sqlrl.database.inferred import THRESHOLD, Inferred, InferredByClauses, InferredWorld
from sqlrl.database.run_data import UNCALIBRATED, confusion_of, precision_recall_of, roc_of
from sqlrl.errors import InputError, UnsupportedError
from sqlrl.evaluate import calibration
from sqlrl.evaluate.probabilities import BINS
from sqlrl.ground.network import BoolArray, FloatArray
from sqlrl.ground.program import Extent
from sqlrl.report import charts
from sqlrl.report.charts import Chart, Plots


class ResultPlots(Plots):
    r"""The charts of what was inferred; each has its data as `table()`, and reads the labels."""

    _refusal: ClassVar[str] = ""
    """Why a kind has no chart of `_without`, and what to call instead."""

    def __init__(self, found: Inferred) -> None:
        self._found = found

    def calibration(self, *, bins: int = BINS) -> Chart:
        """Return probabilities beside the share of true atoms.

        Parameters
        ----------
        bins : int
            Bins of equal width.

        Raises
        ------
        InputError
            No atom has a label, or `bins` is no number of bins.
        UnsupportedError
            There are no probabilities.
        """
        label, chance = self._labelled("calibration", "calibration")
        return charts.calibration(calibration(label, chance, bins=bins).table().to_arrow())

    def precision_recall(self, *, threshold: float = THRESHOLD) -> Chart:
        """Return precision and recall at each probability, or at each truth value.

        Parameters
        ----------
        threshold : float
            Of soft labels.

        Raises
        ------
        InputError
            No atom has a label, or none is true.
        UnsupportedError
            There is a world alone.
        """
        return precision_recall_of(*self._labelled("precision_recall", "a curve of precision and recall", threshold))

    def roc(self, *, threshold: float = THRESHOLD) -> Chart:
        """Return the ROC curve of probabilities, or of truth values.

        Parameters
        ----------
        threshold : float
            Of soft labels.

        Raises
        ------
        InputError
            No atom has a label, or the labels are of one kind.
        UnsupportedError
            There is a world alone.
        """
        return roc_of(*self._labelled("roc", "a ROC curve", threshold))

    def confusion(self, predicate: str | None = None, *, threshold: float = THRESHOLD) -> Chart:
        """Return what counts as true beside the labels: of a predicate with blocks by the constants that blocks choose, else by truth.

        Parameters
        ----------
        predicate : str, optional
            One of those that were predicted; all atoms together by default, where there are several.
        threshold : float
            Of truth values and soft labels.

        Returns
        -------
        Chart
            Columns `label`, `predicted` (NULL for no constant) and `count`: blocks, or labelled atoms. True labels outside the scope count
            as missed by a predicted world, and are not counted beside probabilities and truth values.

        Raises
        ------
        InputError
            No atom has a label, or no such predicate was predicted.
        """
        found = self._found
        with found.session.verb():
            blocks = _blocks(found)
            known = compared(found, "missed" if found.counts_missed else "ignore", threshold)
            return _confusion(found, known, found.holds(threshold)[found.reported], predicate, blocks)

    def _labelled(self, chart: str, what: str, threshold: float = THRESHOLD) -> tuple[BoolArray, FloatArray]:
        """Return the labels and the values of the atoms that have a label, or refuse a chart, called `what`, that the kind does not have."""
        if chart in self._without:
            raise UnsupportedError(self._refusal.format(what=what))
        found = self._found
        with found.session.verb():
            known = compared(found, "ignore", threshold)
        values = found.atom_values[found.reported][known.labelled]
        return known.truth[known.labelled], values.astype(np.float64, copy=False)


class PredictionPlots(ResultPlots):
    """The charts of a predicted world."""

    _without = ("calibration", "precision_recall", "roc")
    _refusal = "{what} needs probabilities, and a most probable world has none: db.probabilities(model).plot has it"


class MarginalPlots(ResultPlots):
    """The charts of probabilities."""


class SoftPlots(ResultPlots):
    """The charts of truth values, which count as true from the threshold on."""

    _without = ("calibration",)
    _refusal = UNCALIBRATED


PLOTS: Mapping[str, type[ResultPlots]] = {"truth": PredictionPlots, "probability": MarginalPlots, "value": SoftPlots}
"""The charts of a kind, by the column of its values."""


# ---- what is counted -----------------------------------------------------------------------------------


def _blocks(found: Inferred) -> Blocks | None:
    """Return the blocks of the atoms that are reported; soft models have none."""
    if not isinstance(found, InferredByClauses):
        return None
    network = found.network if isinstance(found, InferredWorld) else None
    with found.held() as (program, chosen):
        return blocks_of(found.network_atoms.ids[found.reported], Extent(program, chosen, found.asked.limit), network)


def _confusion(
    found: Inferred, known: Compared, predicted: BoolArray, predicate: str | None, blocks: Blocks | None
) -> Chart:
    """Return the confusion matrix of one predicate, or of all; `predicted` and `blocks` are of the atoms that are reported."""
    names = known.names
    # The title of a soft model's chart names a predicate only if one was asked for.
    if predicate is None and len(names) == 1 and isinstance(found, InferredByClauses):
        predicate = names[0]
    if predicate is not None and predicate not in names:
        raise InputError(f"name one of the open predicates {', '.join(names)}, not {predicate!r}")
    if predicate is not None and blocks is not None and predicate in blocks.positions:
        rows = outcomes_of(found, known, predicted, blocks=blocks)
        chosen = [part for part in rows if part.column("predicate")[0].as_py() == predicate]
        if chosen:
            return charts.confusion(_block_counts(chosen[0]), things="blocks", predicate=predicate)
    mine = known.labelled if predicate is None else known.labelled & (known.kind == names.index(predicate))
    missed = sum(map(len, known.missed)) if predicate is None else len(known.missed[names.index(predicate)])
    label = np.concatenate([known.truth[mine], np.ones(missed, bool)])
    return confusion_of(_counted(label, np.concatenate([predicted[mine], np.zeros(missed, bool)])), predicate)


def _counted(label: BoolArray, predicted: BoolArray) -> pa.Table:
    """Return how many atoms have which label and predicted truth, those pairs that there are."""
    number = np.bincount(2 * label.astype(np.int64) + predicted, minlength=4)
    there = np.flatnonzero(number)
    return pa.table({"label": there >= 2, "predicted": there % 2 == 1, "count": number[there]})


def _block_counts(rows: pa.Table) -> pa.Table:
    """Return which constant was true in a block and which was predicted, with the number of blocks, as the view `sqlrl.block_confusion` has them."""
    rows = rows.filter(rows.column("block").is_valid())
    blocks = sorted(set(rows.column("block").to_pylist()))
    label, predicted = (dict(_joined(rows, name)) for name in ("label", "predicted"))
    number: dict[tuple[str | None, str | None], int] = {}
    for block in blocks:
        pair = (label.get(block), predicted.get(block))
        number[pair] = number.get(pair, 0) + 1
    order = sorted(number, key=lambda pair: (-number[pair], *((text is None, text or "") for text in pair)))
    found = [{"label": pair[0], "predicted": pair[1], "count": number[pair]} for pair in order]
    schema = pa.schema([("label", pa.string()), ("predicted", pa.string()), ("count", pa.int64())])
    return pa.Table.from_pylist(found, schema=schema)


def _joined(rows: pa.Table, name: str) -> Iterator[tuple[int, str]]:
    """Yield the constants of each block of which a column is true, with commas."""
    true = rows.filter(rows.column(name))
    grouped = true.group_by("block").aggregate([("constant", "list")])
    for block, constants in zip(
        grouped.column("block").to_pylist(), grouped.column("constant_list").to_pylist(), strict=True
    ):
        yield block, ", ".join(sorted(constants))
