"""Runs as the database has them: what they were, and their charts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import pyarrow as pa
from sqlglot import exp, parse_one

from sqlrl import markup
from sqlrl.catalog.records import Records
from sqlrl.engine.duckdb import DuckDBEngine
from sqlrl.errors import InputError, UnsupportedError
from sqlrl.evaluate import auc_roc, average_precision, calibration
from sqlrl.evaluate.curves import precision_recall_curve, roc_curve
from sqlrl.evaluate.rankings import without_rounding
from sqlrl.ground.network import BoolArray, FloatArray
from sqlrl.report import charts
from sqlrl.report.charts import Chart, Plots
from sqlrl.report.text import cell_text
from sqlrl.training.session import Session

INFERENCE = ("predict", "marginals", "audit", "overlap", "diagnose", "expected_counts")
"""What `sqlrl.run` calls runs that learn nothing."""

UNCALIBRATED = "truth values of a soft model are no probabilities, which could be calibrated: plot.roc() takes them"
"""Why a soft model has no chart of calibration."""


def ask(records: Records, text: str, /, **values: int) -> pa.Table:
    """Run a query of ours over the tables and views of records: they stand in it by their names, and numbers as `:name`."""
    records.engine.show()
    query = parse_one(text, dialect="duckdb")
    steps = {cte.alias for cte in query.find_all(exp.CTE)}
    for node in list(query.find_all(exp.Table)):
        if node.name not in steps:
            found = records.table(node.name)
            found.set("alias", node.args.get("alias") or exp.TableAlias(this=exp.to_identifier(node.name, quoted=True)))
            node.replace(found)
    for number in list(query.find_all(exp.Placeholder)):
        number.replace(exp.convert(values[number.name]))
    return records.engine.fetch(query, step="read what is kept of a run")


@dataclass(frozen=True, eq=False)
class RunData:
    """A run as the database has it, without the page about it, which is made of such values; `RunRecord` explains the fields."""

    session: Session
    number: int
    learner: str
    status: str
    started: str
    parameters: Mapping[str, Any]
    seed: int | None
    versions: Mapping[str, str]
    fingerprint: str
    seconds: Mapping[str, float]
    model_number: int | None

    @classmethod
    def read(cls, session: Session, number: int | None = None) -> Self:
        """Read a run by its number, the newest one without it; an InputError that says which there are if there is none."""
        records = session.records
        if number is None:
            newest = ask(records, "SELECT max(run) AS run FROM run").column(0)[0].as_py()
            if newest is None:
                raise InputError("there is no run yet: learners make one, and predict(keep=True)")
            number = int(newest)
        row = records.run(number)
        if row is None:
            known = ask(records, "SELECT min(run) AS least, max(run) AS most FROM run").to_pylist()[0]
            there = "none yet" if known["least"] is None else f"runs {known['least']} to {known['most']}"
            raise InputError(f"there is no run {number}; there are {there}, which the table sqlrl.run lists")
        return cls(
            session=session,
            number=int(row["run"]),
            learner=row["learner"],
            status=row["status"],
            started=cell_text(row["started"].replace(microsecond=0)),
            parameters=row["parameters"],
            seed=row["seed"],
            versions=row["versions"],
            fingerprint=row["fingerprint"],
            seconds=row["timings"],
            model_number=row["model"],
        )

    @property
    def engine(self) -> DuckDBEngine:
        """Of the database."""
        return self.session.engine

    @property
    def learns(self) -> bool:
        """Whether it is a run of a learner."""
        return self.learner not in INFERENCE

    @cached_property
    def plot(self) -> RunPlots:
        """Its charts."""
        return RunPlots(self)

    def facts(self) -> list[tuple[str, str]]:
        """Return what it was, in words."""
        facts = [
            ("run", f"{self.number}"),
            ("learner" if self.learns else "what", self.learner),
            ("status", self.status),
        ]
        facts += [("started", self.started), ("seed", "none" if self.seed is None else str(self.seed))]
        return [*facts, ("data fingerprint", self.fingerprint)]

    def __repr__(self) -> str:
        head, *rest = self.facts()
        return "\n".join([f"Run {head[1]}", *(f"  {name:<18}{value}" for name, value in rest)])

    def _repr_html_(self) -> str:
        return markup.pairs(self.facts())


@dataclass(frozen=True, eq=False)
class Outcomes:
    """Labels beside what a run predicted of n query atoms; `score` is a probability or a truth value."""

    label: BoolArray
    predicted: BoolArray
    score: FloatArray | None
    soft: bool
    _repr_html_ = markup.field_table


class RunPlots(Plots):
    r"""The charts of a run, drawn from what the database keeps of it; each has its data as `table()`."""

    _without = ("predicates", "outcomes")

    def __init__(self, run: RunData) -> None:
        self._run, self._records = run, run.session.records

    def learning_curve(self) -> Chart:
        """Return how learning went on: the steps of an online learner, or the iterations of a batch learner.

        Raises
        ------
        InputError
            The run keeps neither.
        """
        text = """
            SELECT unit, position, accuracy, running_accuracy, recent_accuracy, objective, bound, optimality, errors
            FROM learning_curve WHERE run = :run ORDER BY position ASC NULLS LAST
        """
        curve = ask(self._records, text, run=self._run.number)
        return charts.learning_curve(curve, learner=self._run.learner)

    def weights(self, *, most: int = 20) -> Chart:
        """Return the strongest clauses of its model as bars.

        Parameters
        ----------
        most : int
            How many are drawn.

        Raises
        ------
        InputError
            No clause has a weight, or the run has no model.
        """
        text = "SELECT text AS clause, weight FROM clause WHERE model = :model ORDER BY abs(weight) DESC NULLS LAST, clause ASC NULLS LAST"
        return charts.weights(ask(self._records, text, model=self._model()), most=most)

    def weight_history(self, *, most: int = 8) -> Chart:
        r"""Return the weights of the strongest clauses over the steps of an online learner.

        Parameters
        ----------
        most : int
            How many clauses, those whose last weights are greatest in size.

        Returns
        -------
        Chart
            Columns `step`, `clause`, `id`, `delta_n` and `weight` of these clauses; the view `sqlrl.clause_history` has all.

        Raises
        ------
        InputError
            The run keeps no history of weights, or `most` is below 1.
        """
        if most < 1:
            raise InputError(f"most={most}: give at least 1")
        text = """
            WITH ends AS (
                SELECT clause, arg_max(weight, step) AS ending, count(*) OVER () AS clauses FROM weight_history WHERE run = :run GROUP BY clause
            ), strongest AS (
                SELECT clause, ending, clauses FROM ends ORDER BY abs(ending) DESC NULLS LAST, clause ASC NULLS LAST LIMIT :most
            )
            SELECT h.step, c.text AS clause, h.clause AS id, h.delta_n, h.weight, s.clauses
            FROM strongest AS s JOIN weight_history AS h ON h.clause = s.clause JOIN run AS r ON r.run = h.run
                LEFT JOIN clause AS c ON c.model = r.model AND c.clause = h.clause
            WHERE h.run = :run
            ORDER BY abs(s.ending) DESC NULLS LAST, h.clause ASC NULLS LAST, h.step ASC NULLS LAST
        """
        found = ask(self._records, text, run=self._run.number, most=most)
        if not len(found):
            raise InputError(
                f"run {self._run.number} ({self._run.learner}) keeps no history of weights: fit an online learner with record_history=True"
            )
        return charts.weight_history(found.drop_columns(["clauses"]), clauses=found.column("clauses")[0].as_py())

    def calibration(self) -> Chart:
        """Return its probabilities beside the share of true atoms, in ten bins.

        Raises
        ------
        InputError
            The run has no probabilities, or they were not evaluated.
        """
        found = self._scored("calibration")
        if found.soft:
            raise UnsupportedError(UNCALIBRATED)
        assert found.score is not None
        return charts.calibration(calibration(found.label, found.score).table().to_arrow())

    def precision_recall(self) -> Chart:
        """Return precision and recall at each threshold of its probabilities, or truth values.

        Raises
        ------
        InputError
            The run has neither, they were not evaluated, or no label is true.
        """
        found = self._scored("a curve of precision and recall")
        return precision_recall_of(found.label, found.score)

    def roc(self) -> Chart:
        """Return the ROC curve of its probabilities, or truth values.

        Raises
        ------
        InputError
            The run has neither, they were not evaluated, or the labels are of one kind.
        """
        found = self._scored("a ROC curve")
        return roc_of(found.label, found.score)

    def confusion(self, predicate: str | None = None) -> Chart:
        """Return what was predicted beside the labels: of a predicate with blocks by the constants that blocks choose, else by truth.

        Parameters
        ----------
        predicate : str, optional
            One of those that were predicted; all atoms together by default, where there are several.

        Raises
        ------
        InputError
            The run was not evaluated, or predicted no such predicate.
        """
        names = self.predicates()
        if not names:
            raise self._not_evaluated("a confusion matrix")
        if predicate is None and len(names) == 1:
            predicate = names[0]
        if predicate is not None and predicate not in names:
            raise InputError(f"the run predicted {', '.join(names)}, not {predicate!r}")
        if predicate is not None:
            blocks = ask(
                self._records,
                "SELECT predicate, label, predicted, blocks AS count FROM block_confusion WHERE run = :run",
                run=self._run.number,
            )
            blocks = blocks.filter(_is(blocks, predicate)).drop_columns(["predicate"])
            if len(blocks):
                return charts.confusion(blocks, things="blocks", predicate=predicate)
        text = "SELECT predicate, label, predicted, count(*) AS count FROM outcome WHERE run = :run GROUP BY ALL ORDER BY ALL"
        counts = ask(self._records, text, run=self._run.number)
        if predicate is None:
            return confusion_of(counts)
        return confusion_of(counts.filter(_is(counts, predicate)), predicate)

    def timings(self) -> Chart:
        """Return the wall time of its stages.

        Raises
        ------
        InputError
            The run has not ended.
        """
        return charts.timings(stage_table([self._run]))

    def predicates(self) -> list[str]:
        """Return the predicates whose predictions were evaluated, sorted."""
        text = "SELECT DISTINCT predicate FROM outcome WHERE run = :run ORDER BY predicate ASC NULLS LAST"
        names: list[str] = ask(self._records, text, run=self._run.number).column(0).to_pylist()
        return names

    def outcomes(self) -> Outcomes | None:
        """Return labels beside what was predicted; None if the run was not evaluated."""
        text = """
            SELECT o.label, o.predicted, o.probability, t.value
            FROM outcome AS o LEFT JOIN truth_value AS t ON t.run = o.run AND t.predicate = o.predicate AND t.atom = o.atom
            WHERE o.run = :run AND o.atom IS NOT NULL ORDER BY o.predicate ASC NULLS LAST, o.atom ASC NULLS LAST
        """
        found = ask(self._records, text, run=self._run.number)
        if not len(found):
            return None
        label, predicted = (found.column(name).to_numpy() for name in ("label", "predicted"))
        for name in ("probability", "value"):
            if not found.column(name).null_count:
                return Outcomes(label, predicted, found.column(name).to_numpy(), soft=name == "value")
        return Outcomes(label, predicted, None, soft=False)

    def _scored(self, what: str) -> Outcomes:
        found = self.outcomes()
        if found is None:
            raise self._not_evaluated(what)
        if found.score is None:
            raise InputError(
                f"{what} needs probabilities, and run {self._run.number} found a most probable world: db.probabilities(model, keep=True) finds them"
            )
        return found

    def _not_evaluated(self, what: str) -> InputError:
        return InputError(
            f"{what} compares with labels, and run {self._run.number} was not evaluated: predict(keep=True) or probabilities(keep=True), then evaluate()"
        )

    def _model(self) -> int:
        if self._run.model_number is None:
            raise InputError(f"run {self._run.number} ({self._run.learner}) has no model")
        return self._run.model_number


# ---- runs of one model ------------------------------------------------------------------------------


def same_model(run: RunData) -> dict[int, str]:
    """Return the runs that learned or used the model of a run, its own among them, with what they are called; none if it has none."""
    if run.model_number is None:
        return {}
    text = """
        SELECT r.run, r.learner FROM run AS r JOIN model AS m ON m.model = r.model
        WHERE m.json = (SELECT json FROM model WHERE model = :model) ORDER BY r.run ASC NULLS LAST
    """
    found = ask(run.session.records, text, model=run.model_number)
    return dict(zip(found.column("run").to_pylist(), found.column("learner").to_pylist(), strict=True))


# ---- charts that predictions draw, too ---------------------------------------------------------------


def precision_recall_of(label: BoolArray, score: FloatArray | None) -> Chart:
    """Return precision and recall at each threshold; scores that differ by rounding alone are one."""
    assert score is not None
    value = without_rounding(score)
    return charts.precision_recall(
        precision_recall_curve(label, value).to_arrow(), average_precision=average_precision(label, value)
    )


def roc_of(label: BoolArray, score: FloatArray | None) -> Chart:
    """Return the ROC curve; scores that differ by rounding alone are one."""
    assert score is not None
    value = without_rounding(score)
    return charts.roc(roc_curve(label, value).to_arrow(), area=auc_roc(label, value))


def confusion_of(counts: pa.Table, predicate: str | None = None) -> Chart:
    """Return the confusion matrix of truth values: columns `label`, `predicted` (bool), `count`."""
    sums: dict[tuple[bool, bool], int] = {}
    for row in counts.to_pylist():
        key = (row["label"], row["predicted"])
        sums[key] = sums.get(key, 0) + int(row["count"])
    rows = [
        {"label": cell_text(label), "predicted": cell_text(predicted), "count": n}
        for (label, predicted), n in sorted(sums.items())
    ]
    schema = pa.schema([("label", pa.string()), ("predicted", pa.string()), ("count", pa.int64())])
    return charts.confusion(pa.Table.from_pylist(rows, schema=schema), things="atoms", predicate=predicate)


def stage_table(runs: list[RunData]) -> pa.Table:
    """Return the wall time of the stages of runs: columns `run` (number and name), `stage`, `seconds`."""
    rows = [
        (f"{run.number} {run.learner}", stage, float(seconds)) for run in runs for stage, seconds in run.seconds.items()
    ]
    names, stages, seconds = ([row[i] for row in rows] for i in range(3))
    return pa.table(
        {
            "run": pa.array(names, pa.string()),
            "stage": pa.array(stages, pa.string()),
            "seconds": pa.array(seconds, pa.float64()),
        }
    )


def _is(data: pa.Table, predicate: str) -> pa.Array:
    return pa.array([name == predicate for name in data.column("predicate").to_pylist()], pa.bool_())
