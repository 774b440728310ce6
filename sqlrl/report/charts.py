"""Charts of what was learned, for those who would rather look. They need matplotlib (`pip install 'sqlrl[plots]'`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sqlrl.errors import InputError, SqlrlError
from sqlrl.report.table import Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_progress(steps: pa.Table, *, smooth: int = 50, ax: Axes | None = None) -> Axes:
    """Plot progressive validation: the share of atoms predicted wrongly, each example before it was learned.

    Parameters
    ----------
    steps : pyarrow.Table
        `AdaGrad.steps_`, or rows of `sqlrl.step`: columns `step`, `loss`, `atoms`.
    smooth : int
        Steps over which the moving average goes.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    InputError
        There are no steps, or `smooth` is below 1.
    SqlrlError
        matplotlib is not installed.
    """
    if smooth < 1:
        raise InputError(f"smooth={smooth}: give at least 1")
    if not steps.num_rows:
        raise InputError("there are no steps to plot: fit with keep_steps=True")
    order = np.argsort(steps.column("step").to_numpy(), kind="stable")
    wrong = np.cumsum(steps.column("loss").to_numpy()[order])
    atoms = np.cumsum(steps.column("atoms").to_numpy()[order])
    width = min(smooth, len(wrong))
    recent = _since(wrong, width) / np.maximum(_since(atoms, width), 1)
    ax = _axes(ax)
    ax.plot(np.arange(1, len(wrong) + 1), wrong / np.maximum(atoms, 1), label="all steps so far")
    ax.plot(np.arange(width, len(wrong) + 1), recent, label=f"last {width} steps")
    ax.set(xlabel="step", ylabel="atoms predicted wrongly (share)", ylim=(0, None))
    ax.legend()
    return ax


def plot_weights(clauses: Table | pa.Table, *, most: int = 20, ax: Axes | None = None) -> Axes:
    """Plot the strongest clauses as bars, the strongest on top.

    Parameters
    ----------
    clauses : Table or pyarrow.Table
        `AdaGrad.clauses()`: columns `clause` (text) and `weight` (log-odds, NULL for hard clauses, which are left out).
    most : int
        How many clauses to show.
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    InputError
        No clause has a weight.
    SqlrlError
        matplotlib is not installed.
    """
    clauses = clauses.to_arrow() if isinstance(clauses, Table) else clauses
    weighted = clauses.filter(clauses.column("weight").is_valid())
    if not weighted.num_rows:
        raise InputError("no clause has a weight")
    weights = weighted.column("weight").to_numpy()
    order = np.argsort(-np.abs(weights), kind="stable")[:most][::-1]
    texts = [weighted.column("clause")[int(i)].as_py() for i in order]
    ax = _axes(ax)
    ax.barh(np.arange(len(order)), weights[order])
    # `$` would start a formula of matplotlib's.
    ax.set_yticks(np.arange(len(order)), [text.replace("$", r"\$") for text in texts])
    ax.set(xlabel="weight (log-odds)")
    ax.axvline(0, linewidth=0.8, color="black")
    return ax


def _since(total: npt.NDArray[np.float64], width: int) -> npt.NDArray[np.float64]:
    """Return the sums over the last `width` entries, from running totals."""
    sums: npt.NDArray[np.float64] = total[width - 1 :] - np.concatenate([[0], total[:-width]])
    return sums


def _axes(ax: Axes | None) -> Axes:
    if ax is not None:
        return ax
    try:
        from matplotlib import pyplot as plt
    except ImportError as error:
        raise SqlrlError("charts need matplotlib: pip install 'sqlrl[plots]'") from error
    subplots: Callable[[], tuple[object, Axes]] = plt.subplots
    return subplots()[1]
