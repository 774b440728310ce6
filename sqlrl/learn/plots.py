"""Charts of what estimators have learned, from what they hold: no database is needed."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from sqlrl.errors import InputError, Parameter
from sqlrl.report import charts
from sqlrl.report.charts import Chart, Plots


class FitPlots(Plots):
    """The charts of an estimator; each has its data as `table()`."""

    def __init__(self, estimator: Any) -> None:
        self._estimator = estimator

    def learning_curve(self) -> Chart:
        """Return how learning went on: the share of atoms predicted rightly, each example before it was learned; of a batch learner its objective.

        Returns
        -------
        Chart
            Columns as in the view `sqlrl.learning_curve`. With `then`, of a learner of clauses that has no curve of its own that of the learner of weights.

        Raises
        ------
        NotFittedError
            Before `fit`.
        InputError
            The learner keeps neither steps nor iterations.
        """
        name = type(self._estimator).__name__
        self._estimator.clauses()  # an error before `fit`
        found = vars(self._estimator)
        if len(found.get("steps_", ())):
            return charts.learning_curve(charts.step_curve(found["steps_"]), learner=name)
        if len(found.get("iterations_", ())):
            return charts.learning_curve(_iteration_curve(found["iterations_"]), learner=name)
        if found.get("relearned_") is not None:
            return FitPlots(found["relearned_"]).learning_curve()
        kept = (
            f": fit with {Parameter('keep_steps', True)}"
            if "keep_steps" in found and not found["keep_steps"]
            else ", which a curve shows"
        )
        raise InputError(f"this {name} has neither steps nor iterations{kept}")

    def weights(self, *, most: int = 20) -> Chart:
        """Return the strongest clauses as bars.

        Parameters
        ----------
        most : int
            How many are drawn; the table has them all.

        Raises
        ------
        NotFittedError
            Before `fit`.
        InputError
            No clause has a weight.
        """
        return charts.weights(self._estimator.clauses(), most=most)


class Plotted:
    """What has charts of what it has learned."""

    @property
    def plot(self) -> FitPlots:
        """The charts of what was learned: `learning_curve()` and `weights()`."""
        return FitPlots(self)


def _iteration_curve(iterations: pa.Table) -> pa.Table:
    """Return the iterations of a batch learner as the view `sqlrl.learning_curve` has them."""
    names = [name for name in ("objective", "bound", "optimality", "errors") if name in iterations.column_names]
    data = iterations.select(["iteration", *names]).rename_columns(["position", *names])
    return data.add_column(0, "unit", pa.array(["iteration"] * len(data), pa.string()))
