"""Charts: what is drawn is what the tables say."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from sqlrl.errors import InputError
from sqlrl.report.charts import plot_progress, plot_weights

matplotlib = pytest.importorskip("matplotlib", reason="charts are an extra")
matplotlib.use("agg")


def test_progress_is_the_share_of_wrong_atoms() -> None:
    steps = pa.table({"step": [2, 0, 1], "loss": [0.0, 3.0, 1.0], "atoms": [5, 3, 4]})
    ax = plot_progress(steps, smooth=2)
    every, recent = (line.get_ydata() for line in ax.lines)
    assert np.allclose(every, [3 / 3, 4 / 7, 4 / 12])
    assert np.allclose(recent, [4 / 7, 1 / 9])


def test_weights_are_bars_with_the_strongest_on_top() -> None:
    clauses = pa.table({"clause": ["a $x$", "b", "c.", "d"], "weight": [0.5, -2.0, None, 1.0]})
    ax = plot_weights(clauses, most=2)
    assert [bar.get_width() for bar in ax.patches] == [1.0, -2.0]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["d", "b"]
    assert plot_weights(clauses).get_yticklabels()[0].get_text() == r"a \$x\$"


def test_nothing_to_draw() -> None:
    empty = pa.table(
        {"step": pa.array([], pa.int64()), "loss": pa.array([], pa.float64()), "atoms": pa.array([], pa.int64())}
    )
    with pytest.raises(InputError, match="no steps"):
        plot_progress(empty)
    with pytest.raises(InputError, match="smooth=0"):
        plot_progress(empty, smooth=0)
    with pytest.raises(InputError, match="no clause has a weight"):
        plot_weights(pa.table({"clause": ["a."], "weight": pa.array([None], pa.float64())}))
