"""Charts of predictions, probabilities and truth values, held against the labels."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from sqlrl.database.evaluation import THRESHOLD, compared
from sqlrl.database.inference import Inferred
from sqlrl.database.inferred import InferredProbabilities, InferredValues, InferredWorld
from sqlrl.database.outcomes import Blocks, blocks_of, outcomes_of
from sqlrl.database.run_data import confusion_of, precision_recall_of, roc_of
from sqlrl.errors import InputError
from sqlrl.evaluate import calibration
from sqlrl.evaluate.probabilities import BINS
from sqlrl.ground.atoms import read_values
from sqlrl.ground.network import BoolArray, FloatArray
from sqlrl.ground.program import Extent
from sqlrl.report import charts
from sqlrl.report.charts import Chart, Plots


class PredictionPlots(Plots):
    r"""The charts of a predicted world; each has its data as `table()`, and reads the labels."""

    _without = ("calibration", "precision_recall", "roc")

    def __init__(self, prediction: InferredWorld) -> None:
        self._prediction = prediction

    def confusion(self, predicate: str | None = None) -> Chart:
        """Return what was predicted beside the labels: of a predicate with blocks by the constants that blocks choose, else by truth.

        Parameters
        ----------
        predicate : str, optional
            One of those that were predicted; all atoms together by default, where there are several.

        Returns
        -------
        Chart
            Columns `label`, `predicted` (NULL for no constant) and `count`: blocks, or labelled atoms; true labels outside the scope count as missed.

        Raises
        ------
        InputError
            No atom has a label, or no such predicate was predicted.
        """
        found = self._prediction
        with found.session.verb():
            with found.held() as (program, chosen):
                extent = Extent(program, chosen, found.asked.limit)
                blocks = blocks_of(found.network_atoms.ids[found.reported], extent, found.network)
            return _confusion(found, found.result.world[found.reported], predicate, blocks, missed=True)

    def calibration(self) -> Chart:
        """Refuse: a world has no probabilities."""
        raise self._no_chances("calibration")

    def precision_recall(self) -> Chart:
        """Refuse, as `calibration`."""
        raise self._no_chances("a curve of precision and recall")

    def roc(self) -> Chart:
        """Refuse, as `calibration`."""
        raise self._no_chances("a ROC curve")

    def _no_chances(self, what: str) -> InputError:
        return InputError(
            f"{what} needs probabilities, and a most probable world has none: db.marginals(model).plot has it"
        )


class MarginalPlots(Plots):
    r"""The charts of probabilities; each has its data as `table()`, and reads the labels."""

    def __init__(self, found: InferredProbabilities) -> None:
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
        """
        label, chance = self._labelled()
        return charts.calibration(calibration(label, chance, bins=bins).table().to_arrow())

    def precision_recall(self) -> Chart:
        """Return precision and recall at each threshold.

        Raises
        ------
        InputError
            No atom has a label, or none is true.
        """
        return precision_recall_of(*self._labelled())

    def roc(self) -> Chart:
        """Return the ROC curve.

        Raises
        ------
        InputError
            No atom has a label, or the labels are of one kind.
        """
        return roc_of(*self._labelled())

    def confusion(self, predicate: str | None = None) -> Chart:
        """Return which value was more probable beside the labels, as `PredictionPlots.confusion`; labels outside the scope are not counted.

        Parameters
        ----------
        predicate : str, optional
            As there.

        Raises
        ------
        InputError
            As there.
        """
        found = self._found
        with found.session.verb():
            with found.held() as (program, chosen):
                blocks = blocks_of(found.network_atoms.ids[found.reported], Extent(program, chosen, found.asked.limit))
            return _confusion(found, found.visible.probability > THRESHOLD, predicate, blocks)

    def _labelled(self) -> tuple[BoolArray, FloatArray]:
        with self._found.session.verb():
            known = compared(self._found, "ignore")
        return known.truth[known.labelled], self._found.visible.probability[known.labelled]


class SoftPlots(Plots):
    """The charts of truth values beside labels, which count as true from the threshold on; each has its data as `table()`."""

    _without = ("calibration",)

    def __init__(self, found: InferredValues) -> None:
        self._found = found

    def precision_recall(self, *, threshold: float = 0.5) -> Chart:
        """Return precision and recall at each truth value.

        Parameters
        ----------
        threshold : float
            Of labels.

        Raises
        ------
        InputError
            No atom has a label, or none is true.
        """
        return precision_recall_of(*self._labelled(threshold))

    def roc(self, *, threshold: float = 0.5) -> Chart:
        """Return the ROC curve of the truth values.

        Parameters
        ----------
        threshold : float
            Of labels.

        Raises
        ------
        InputError
            No atom has a label, or the labels are of one kind.
        """
        return roc_of(*self._labelled(threshold))

    def confusion(self, *, threshold: float = 0.5) -> Chart:
        """Return which atoms reach the threshold beside which labels do.

        Parameters
        ----------
        threshold : float
            Of labels and truth values.

        Raises
        ------
        InputError
            No atom has a label.
        """
        label, value = self._labelled(threshold)
        return confusion_of(_counted(label, value >= threshold))

    def calibration(self) -> Chart:
        """Refuse: truth values are no probabilities."""
        raise InputError(
            "truth values of a soft model are no probabilities, which could be calibrated: plot.roc() takes them"
        )

    def _labelled(self, threshold: float) -> tuple[BoolArray, FloatArray]:
        found = self._found
        with found.session.verb():
            known = compared(found, "ignore")
            labels = read_values(found.engine, found.layout, known.atoms[known.labelled])
        return labels >= threshold, found.result.y[found.reported][known.labelled]


# ---- what is counted -----------------------------------------------------------------------------------


def _confusion(
    found: Inferred, predicted: BoolArray, predicate: str | None, blocks: Blocks | None, *, missed: bool = False
) -> Chart:
    """Return the confusion matrix of one predicate, or of all; `predicted` and `blocks` are of the atoms that are reported."""
    known = compared(found, "missed" if missed else "ignore")
    names = known.names
    if predicate is None and len(names) == 1:
        predicate = names[0]
    if predicate is not None and predicate not in names:
        raise InputError(f"name one of the open predicates {', '.join(names)}, not {predicate!r}")
    parts = [
        part
        for part in outcomes_of(found, known, predicted, missed=missed, blocks=blocks)
        if predicate in (None, part.column("predicate")[0].as_py())
    ]
    if predicate is not None and blocks is not None and predicate in blocks.positions:
        chosen = pa.concat_tables(
            [part.select(["label", "predicted", "block", "constant"]) for part in parts if "block" in part.column_names]
        )
        return charts.confusion(_block_counts(chosen), things="blocks", predicate=predicate)
    rows = pa.concat_tables([part.select(["label", "predicted"]) for part in parts])
    label, guess = (rows.column(name).to_numpy() for name in ("label", "predicted"))
    return confusion_of(_counted(label, guess), predicate)


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
