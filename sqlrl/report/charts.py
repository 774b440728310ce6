"""Charts: values that hold exact data and a Vega-Lite specification, which notebooks show, files keep and pages embed.

Drawing one outside a page needs vl-convert, and `to_altair` Altair (`pip install 'sqlrl[report]'`); the data need neither. `plot_progress` and
`plot_weights` draw with matplotlib (`pip install 'sqlrl[plots]'`), for those who lay out figures of their own with it.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sqlrl import markup
from sqlrl.errors import InputError, SqlrlError
from sqlrl.markup import visible
from sqlrl.paths import expanded
from sqlrl.report.table import Table
from sqlrl.wording import did_you_mean, nearest_names, shortened

if TYPE_CHECKING:
    from altair import Chart as AltairChart
    from matplotlib.axes import Axes

VEGA_LITE = "6.4"
"""The version of Vega-Lite in which charts are specified: the one of Altair 6.3."""

MOST_POINTS = 1000
"""Points of a line that are drawn; a chart's table has them all."""

MOST_CONSTANTS = 30
"""Constants of a confusion matrix that are drawn, those of most blocks."""

RECENT = 100
"""Steps of the moving average of a learning curve, as in the view `sqlrl.learning_curve`."""

LONGEST = 60
"""Characters of a clause beside its bar."""

_WIDTH = 480
_FOR, _AGAINST, _ALSO = "#1b7fbd", "#d95f02", "#6a8f2f"
_MIME = "application/vnd.vegalite.v6+json"
_FILES = ("svg", "png", "html", "json")


# ---- a chart -----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, repr=False)
class Chart:
    """Exact data with a Vega-Lite specification that draws them."""

    title: str
    data: pa.Table
    spec: Mapping[str, Any]  # marks and encodings in Vega-Lite, without title and data
    drawn: pa.Table | None = None  # a row for each mark; None draws `data`
    note: str = ""  # one sentence below the chart: what is left out, or how it is read

    def table(self) -> Table:
        """Return the data, all of them."""
        return Table(self.data, title=self.title)

    def to_dict(self, *, width: int | str = _WIDTH) -> dict[str, Any]:
        """Return the Vega-Lite specification with the data inside; `width` is in pixels, or "container" to fit the element of a page."""
        rows = (self.data if self.drawn is None else self.drawn).to_pylist()
        values = [{name: plain(value) for name, value in row.items()} for row in rows]
        return {
            "$schema": f"https://vega.github.io/schema/vega-lite/v{VEGA_LITE}.json",
            "title": visible(self.title),
            "description": visible(f"{self.title}. {self.note}".strip()),
            "data": {"values": values},
            "width": width,
            "height": 260,
            **self.spec,
        }

    def to_altair(self) -> AltairChart:
        """Return an Altair chart to continue with; needs Altair."""
        try:
            import altair as alt
        except ImportError as error:
            raise missing("altair") from error
        found: AltairChart = alt.Chart.from_dict(self.to_dict())
        return found

    def save(self, path: str | Path) -> None:
        """Write the chart to a file that ends in .svg, .png, .html (which needs no network) or .json; all but .json need vl-convert."""
        file = expanded(Path(path))
        kind = file.suffix[1:].lower()
        if kind not in _FILES:
            raise InputError(
                f"{path}: end the name in {', '.join('.' + each for each in _FILES)}, which says what is written"
            )
        if kind == "json":
            file.write_text(json.dumps(self.to_dict(), ensure_ascii=False), encoding="utf-8")
        elif kind == "png":
            file.write_bytes(converter().vegalite_to_png(self.to_dict(), vl_version=VEGA_LITE, scale=2))
        elif kind == "svg":
            file.write_text(self._svg(), encoding="utf-8")
        else:
            page = converter().vegalite_to_html(self.to_dict(), vl_version=VEGA_LITE, bundle=True)
            file.write_text(page, encoding="utf-8")

    def _svg(self) -> str:
        svg: str = converter().vegalite_to_svg(self.to_dict(), vl_version=VEGA_LITE)
        return svg

    def __repr__(self) -> str:
        return f"Chart of {self.title}: {len(self.data):,} row{'s' * (len(self.data) != 1)}; table() has them"

    def _repr_html_(self) -> str:
        try:
            drawn = self._svg()
        except SqlrlError as error:
            return markup.paragraph(str(error)) + self.table()._repr_html_()
        return f"<figure>{drawn}{markup.paragraph(self.note) if self.note else ''}</figure>"

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, object]:
        """Return what a notebook may choose from: what it can draw itself, or the drawing."""
        return {_MIME: self.to_dict(), "text/html": self._repr_html_(), "text/plain": repr(self)}


class Plots:
    """What has charts: its methods return them."""

    def _names(self) -> list[str]:
        names = dict.fromkeys(name for kind in type(self).__mro__ for name in vars(kind) if not name.startswith("_"))
        return [name for name in names if name not in self._without and callable(getattr(self, name))]

    def __call__(self, chart: object = None, /, *_: object, **__: object) -> NoReturn:
        """Name the charts: there is none that could be meant without a name."""
        names = self._names()
        asked = str(chart) if isinstance(chart, str) else ""
        near = did_you_mean(nearest_names(asked, names)) if asked else ""
        one = f"there is no chart {shortened(repr(asked))}{near or ': '}" if asked else "a chart has a name: "
        calls = "" if near else "call " + " or ".join(f".plot.{name}()" for name in names)
        raise InputError(f"{one}{calls}")

    def __repr__(self) -> str:
        return f"{type(self).__name__}: {', '.join(f'{name}()' for name in self._names())}"

    def _repr_html_(self) -> str:
        rows = [[f"{name}()", (getattr(self, name).__doc__ or "").split("\n")[0]] for name in self._names()]
        return markup.table(["chart", "what it shows"], rows, [False, False], caption=type(self).__name__)

    _without: ClassVar[tuple[str, ...]] = ()
    """Methods that only say who has the chart, or are no charts."""


def plain(value: object) -> Any:
    r"""Return a value of a table as JSON has it: counts stay whole, what is no number of JSON is null, texts show their control characters."""
    match value:
        case None | bool() | int():
            return value
        case float():
            return value if math.isfinite(value) else None
        case Decimal():
            return int(value)
        case str():
            return visible(value)
        case _:
            return visible(str(value))


def converter() -> Any:
    """Return vl-convert, which has Vega and draws without a network; an error that names the extra if it is not installed."""
    try:
        import vl_convert
    except ImportError as error:
        raise missing("vl-convert") from error
    return vl_convert


@cache
def vega_bundle() -> str:
    """Return the JavaScript of Vega, Vega-Lite and Vega-Embed, which sets `vegaEmbed`; it takes seconds, once a process."""
    # In a process of its own: vl-convert lets no other thread run meanwhile, nor Ctrl-C be heeded.
    folder = str(Path(converter().__file__).parent.parent)
    command = [sys.executable, "-I", "-c", _BUNDLE, folder, VEGA_LITE]
    done = subprocess.run(command, capture_output=True, check=False)  # noqa: S603 (only our own text runs)
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().rpartition("\n")[2]
        raise SqlrlError(f"vl-convert could not give the JavaScript of Vega: {said}")
    return done.stdout.decode()


_BUNDLE = """
import sys
sys.path.insert(0, sys.argv[1])
import vl_convert
sys.stdout.buffer.write(vl_convert.javascript_bundle(vl_version=sys.argv[2]).encode())
"""


def missing(library: str) -> SqlrlError:
    """Return the error that a library of the extra is not installed."""
    return SqlrlError(
        f"{library} is not installed, which draws charts: run `pip install 'sqlrl[report]'`, or use `table()`, the data"
    )


# ---- what is drawn -----------------------------------------------------------------------------------


def learning_curve(curve: pa.Table, *, learner: str = "") -> Chart:
    """Chart accuracy over steps, or the objective over iterations, from columns of the view `sqlrl.learning_curve`; measures may be missing."""
    steps = "step" in curve.column("unit").to_pylist()
    if steps:
        lines = {"all steps so far": "running_accuracy", f"last {RECENT} steps": "recent_accuracy"}
        what = "atoms predicted rightly (share)"
    else:
        lines = {"objective": "objective", "bound": "bound", "atoms predicted wrongly": "errors"}
        if any(_known(curve, name) for name in ("objective", "bound")):
            del lines["atoms predicted wrongly"]
        what = " and ".join(name for name, column in lines.items() if _known(curve, column))
    lines = {name: column for name, column in lines.items() if _known(curve, column)}
    if not lines:
        raise InputError("there is no learning curve: neither steps nor iterations with an objective were kept")
    unit = "step" if steps else "iteration"
    kept = _thinned(len(curve))
    parts = [
        pa.table(
            {
                "position": curve.column("position").take(kept),
                "value": curve.column(column).take(kept).cast(pa.float64()),
            }
        ).append_column("line", pa.array([name] * len(kept), pa.string()))
        for name, column in lines.items()
    ]
    drawn = pa.concat_tables(parts)
    note = f"Drawn at {len(kept):,} of {len(curve):,} {unit}s." if len(kept) < len(curve) else ""
    if steps:
        note = f"Each example is predicted before it is learned. {note}".strip()
    colors: dict[str, Any] = {"domain": list(lines), "range": [_FOR, _AGAINST, _ALSO][: len(lines)]}
    spec: dict[str, Any] = {
        "mark": {"type": "line", "tooltip": True, "point": len(kept) == 1},
        "encoding": {
            "x": {"field": "position", "type": "quantitative", "title": unit, "axis": {"tickMinStep": 1}},
            "y": {"field": "value", "type": "quantitative", "title": what, "scale": {"zero": False}},
            "color": {**_legend("line", list(lines)), "scale": colors},
            "strokeDash": {"field": "line", "type": "nominal", "sort": list(lines), "legend": None},
        },
    }
    return Chart(f"Learning curve{' of ' + learner if learner else ''}", curve, spec, drawn, note)


def step_curve(steps: pa.Table) -> pa.Table:
    """Return the learning curve of an online learner from its steps (`step`, `atoms`, `correct`), as `sqlrl.learning_curve` has it."""
    order = np.argsort(steps.column("step").to_numpy(), kind="stable")
    position, atoms, correct = (steps.column(name).to_numpy()[order] for name in ("step", "atoms", "correct"))
    right, every = np.cumsum(correct), np.cumsum(atoms)
    before = np.maximum(np.arange(1, len(order) + 1) - RECENT, 0)
    some = [np.concatenate([[0], total]) for total in (right, every)]
    last = [total[1:] - total[before] for total in some]
    columns = {"accuracy": (correct, atoms), "running_accuracy": (right, every), "recent_accuracy": (last[0], last[1])}
    shares = {name: _share(part, whole) for name, (part, whole) in columns.items()}
    return pa.table({"unit": pa.array(["step"] * len(order), pa.string()), "position": position, **shares})


def weights(clauses: Table | pa.Table, *, most: int = 20) -> Chart:
    """Chart the `most` clauses with the greatest absolute weights as bars; clauses without a weight (hard ones) are left out."""
    if most < 1:
        raise InputError(f"most={most}: give at least 1")
    weighted = _weighted(clauses)
    strength = weighted.column("weight").to_numpy()
    order = np.argsort(-np.abs(strength), kind="stable")
    data = weighted.take(pa.array(order))
    first = data.slice(0, most)
    shown = pa.table(
        {
            "rank": np.arange(len(first)),
            "clause": first.column("clause"),
            "weight": first.column("weight"),
            "label": pa.array([_short(text) for text in first.column("clause").to_pylist()], pa.string()),
        }
    )
    # Two clauses may be cut to one text: the rank tells them apart.
    place = {"field": "rank", "type": "ordinal", "title": None, "axis": None}
    tooltip = [{"field": "clause"}, {"field": "weight", "format": ".4g"}]
    color = {"condition": {"test": "datum.weight < 0", "value": _AGAINST}, "value": _FOR}
    spec = {
        "height": 30 * len(shown),
        "layer": [
            {
                "mark": {"type": "bar", "height": 7, "yOffset": 6},
                "encoding": {
                    "y": place,
                    "x": {"field": "weight", "type": "quantitative", "title": "weight", "axis": {"grid": False}},
                    "color": color,
                    "tooltip": tooltip,
                },
            },
            # Above its bar a text has the width of the chart: clauses are long, and phones narrow.
            {
                "mark": {"type": "text", "align": "left", "dy": -6, "fontSize": 11, "limit": {"expr": "width"}},
                "encoding": {"y": place, "x": {"value": 0}, "text": {"field": "label"}, "tooltip": tooltip},
            },
        ],
    }
    left = len(data) - len(shown)
    note = f"The {len(shown):,} strongest of {len(data):,} weighted clauses." if left else ""
    return Chart("Strongest clauses", data, spec, shown, note)


def weight_history(history: pa.Table, *, clauses: int | None = None) -> Chart:
    """Chart each clause's weight (log-odds, not averaged) after steps; a clause's rows are together, by step, and their order is the legend's."""
    if not len(history):
        raise InputError("there is nothing to draw: no step changed a weight, or none was kept")
    ids = history.column("id").to_numpy()
    starts = np.flatnonzero(np.append(True, ids[1:] != ids[:-1]))
    ends = np.append(starts[1:], len(ids))
    # Two clauses may be cut to one text: the number tells them apart. A run that has not ended has no texts (NULL).
    texts = [history.column("clause")[int(k)].as_py() for k in starts]
    labels = [
        f"{rank}. {_short(text if text is not None else f'clause {ids[k]}')}"
        for rank, (k, text) in enumerate(zip(starts.tolist(), texts, strict=True), start=1)
    ]
    most = max(MOST_POINTS // len(starts), 2)
    kept = [start + _thinned(int(end - start), most) for start, end in zip(starts.tolist(), ends.tolist(), strict=True)]
    drawn = history.take(pa.array(np.concatenate(kept))).select(["step", "weight", "clause"])
    drawn = drawn.append_column(
        "label", pa.array([label for label, rows in zip(labels, kept, strict=True) for _ in rows], pa.string())
    )
    spec: dict[str, Any] = {
        "height": 260 + 16 * len(labels),
        # Between its rows a weight stays, but for what a learner takes off it for its penalty.
        "mark": {"type": "line", "interpolate": "step-after", "point": {"size": 16}, "tooltip": True},
        "encoding": {
            "x": {"field": "step", "type": "quantitative", "axis": {"tickMinStep": 1}},
            "y": {"field": "weight", "type": "quantitative", "title": "weight (log-odds)", "scale": {"zero": True}},
            "color": {
                "field": "label",
                "type": "nominal",
                "title": None,
                "sort": labels,
                "scale": {"domain": labels, "scheme": "tableau10"},
                "legend": {
                    "orient": "bottom",
                    "columns": 1,
                    "labelLimit": {"expr": "width - 20"},
                    "symbolType": "stroke",
                },
            },
            "tooltip": [{"field": "clause"}, {"field": "step"}, {"field": "weight", "format": ".4g"}],
        },
    }
    every = len(labels) if clauses is None else clauses
    which = f"The {len(labels):,} strongest of {every:,} clauses with a history; a" if every > len(labels) else "A"
    note = f"{which} point for each step in which the count of a clause differed."
    if len(drawn) < len(history):
        note += f" Drawn are {len(drawn):,} of {len(history):,} points."
    return Chart("Weights while learning", history, spec, drawn, note)


def calibration(bins: pa.Table) -> Chart:
    """Chart mean probabilities against shares of true atoms, from columns of the view `sqlrl.calibration`; empty bins are left out."""
    filled = bins.filter(pa.array([bool(n) for n in bins.column("atoms").to_pylist()], pa.bool_()))
    if not len(filled):
        raise InputError("there is nothing to draw: no atom has both a probability and a label")
    both = {"type": "quantitative", "scale": {"domain": [0, 1]}}
    spec = {
        "layer": [
            {
                "data": {"values": [{"x": 0, "y": 0}, {"x": 1, "y": 1}]},
                "mark": {"type": "line", "strokeDash": [4, 4], "color": "#888888"},
                "encoding": {"x": {"field": "x", **both}, "y": {"field": "y", **both}},
            },
            {
                "mark": {"type": "line", "color": _FOR},
                "encoding": {"x": {"field": "probability", **both}, "y": {"field": "share", **both}},
            },
            {
                "mark": {"type": "point", "filled": True, "opacity": 1, "tooltip": True, "color": _FOR},
                "encoding": {
                    "x": {"field": "probability", "title": "probability (mean of the bin)", **both},
                    "y": {"field": "share", "title": "share of true atoms", **both},
                    "size": {"field": "atoms", "type": "quantitative", "scale": {"range": [40, 400]}, "legend": None},
                },
            },
        ]
    }
    note = "Calibrated probabilities lie on the dashed line; larger points have more atoms."
    return Chart("Calibration", bins, spec, filled, note)


def precision_recall(curve: pa.Table, *, average_precision: float) -> Chart:
    """Return the curve of precision and recall: columns `recall`, `precision`, `threshold`, the highest threshold first."""
    return _steps(
        curve,
        ("recall", "precision"),
        f"Precision and recall (average precision {average_precision:.3f})",
        "step-before",
    )


def roc(curve: pa.Table, *, area: float) -> Chart:
    """Return the ROC curve: columns `false_positive_rate`, `true_positive_rate`, `threshold`, the highest threshold first."""
    names = ("false_positive_rate", "true_positive_rate")
    return _steps(curve, names, f"ROC curve (area {area:.3f})", "linear")


def confusion(counts: pa.Table, *, things: str = "atoms", predicate: str | None = None) -> Chart:
    """Chart a confusion matrix from columns `label`, `predicted` (texts, NULL for none) and `count`; `things` names what is counted."""
    if not len(counts):
        raise InputError("there is nothing to draw: no predicted atom has a label")
    rows = [
        {**row, **{key: "(none)" if row[key] is None else row[key] for key in ("label", "predicted")}}
        for row in counts.to_pylist()
    ]
    sums: dict[str, int] = {}
    for row in rows:
        for key in {row["label"], row["predicted"]}:
            sums[key] = sums.get(key, 0) + int(row["count"])
    often = sorted(sums, key=lambda key: (-sums[key], key))[:MOST_CONSTANTS]
    kept = sorted(often)
    shown = [row for row in rows if row["label"] in often and row["predicted"] in often]
    whole, drawn = (sum(int(row["count"]) for row in each) for each in (rows, shown))
    note = (
        ""
        if drawn == whole
        else f"Drawn are {len(kept)} of {len(sums):,} constants, with {drawn:,} of {whole:,} {things}."
    )
    totals: dict[str, int] = {}
    for row in rows:
        totals[row["label"]] = totals.get(row["label"], 0) + int(row["count"])
    cells = [{**row, "share": int(row["count"]) / totals[row["label"]]} for row in shown]
    names = [visible(name) for name in kept]
    axis: dict[str, Any] = {"type": "nominal", "sort": names, "scale": {"domain": names}}
    across: dict[str, Any] = {
        "field": "predicted",
        "title": "predicted",
        **axis,
        "axis": {"labelAngle": -40, "labelLimit": 120},
    }
    down: dict[str, Any] = {"field": "label", "title": "label", **axis, "axis": {"labelLimit": 120}}
    size = {"height": 24 * len(kept)} if len(kept) > 8 else {}
    spec = {
        **size,
        "encoding": {
            "x": across,
            "y": down,
            "tooltip": [
                {"field": "label"},
                {"field": "predicted"},
                {"field": "count", "title": things, "format": ","},
                {"field": "share", "format": ".1%"},
            ],
        },
        "layer": [
            {
                "mark": "rect",
                "encoding": {
                    "color": {
                        "field": "share",
                        "type": "quantitative",
                        "scale": {"scheme": "blues", "domain": [0, 1]},
                        "title": "share of the label",
                        "legend": None,
                    }
                },
            },
            {
                "mark": {"type": "text"},
                "encoding": {
                    "text": {"field": "count", "format": ","},
                    "color": {"condition": {"test": "datum.share > 0.55", "value": "#ffffff"}, "value": "#102030"},
                },
            },
        ],
    }
    reading = f"Counts of {things}; a row is darker the greater its share of the label."
    title = "Confusion matrix" if predicate is None else f"Confusion matrix of {predicate}"
    return Chart(title, counts, spec, pa.Table.from_pylist(cells), f"{reading} {note}".strip())


def timings(stages: pa.Table) -> Chart:
    """Return the wall time of stages as bars: columns `run`, `stage`, `seconds`; an InputError without any."""
    if not len(stages):
        raise InputError("there is nothing to draw: the run has no timings, since it has not ended")
    runs, bars = (len(set(stages.column(name).to_pylist())) for name in ("run", "stage"))
    several = runs > 1
    color = (
        {"color": {"field": "run", "type": "nominal"}, "yOffset": {"field": "run", "type": "nominal"}}
        if several
        else {}
    )
    spec = {
        "height": bars * (16 + 10 * runs),
        "mark": {"type": "bar", "tooltip": True},
        "encoding": {
            "y": {"field": "stage", "type": "nominal", "title": None, "sort": None},
            "x": {"field": "seconds", "type": "quantitative", "title": "seconds"},
            **color,
        },
    }
    return Chart("Time by stage", stages, spec)


# ---- parts of specifications -------------------------------------------------------------------------


def _steps(curve: pa.Table, names: tuple[str, str], title: str, how: str) -> Chart:
    """Return one measure over another, both shares."""
    kept = _along(*(curve.column(name).to_numpy() for name in names))
    drawn = curve.take(kept).append_column("order", pa.array(range(len(kept)), pa.int64()))
    both = {"type": "quantitative", "scale": {"domain": [0, 1]}}
    x, y = ({"field": name, "title": name.replace("_", " "), **both} for name in names)
    spec = {
        "mark": {"type": "line", "tooltip": True, "interpolate": how, "color": _FOR, "clip": True},
        "encoding": {"x": x, "y": y, "order": {"field": "order", "type": "quantitative"}},
    }
    note = f"Drawn at {len(kept):,} of {len(curve):,} thresholds." if len(kept) < len(curve) else ""
    return Chart(title, curve, spec, drawn, note)


def _legend(field: str, order: Sequence[str]) -> dict[str, Any]:
    return {"field": field, "type": "nominal", "title": None, "sort": list(order), "legend": {"orient": "top"}}


def _weighted(clauses: Table | pa.Table) -> pa.Table:
    """Return the clauses that have a weight; an error if none has."""
    clauses = clauses.to_arrow() if isinstance(clauses, Table) else clauses
    weighted = clauses.filter(clauses.column("weight").is_valid()) if "weight" in clauses.column_names else None
    if weighted is None or not weighted.num_rows:
        raise InputError("no clause has a weight")
    return weighted


def _known(data: pa.Table, column: str) -> bool:
    """Return whether a column is there and has a value."""
    return column in data.column_names and data.column(column).null_count < len(data)


def _share(part: npt.NDArray[Any], whole: npt.NDArray[Any]) -> pa.Array:
    return pa.array(part / np.maximum(whole, 1), mask=whole == 0)


def _thinned(rows: int, most: int = MOST_POINTS) -> npt.NDArray[np.int64]:
    """Return the rows of a line that are drawn: the first, the last, and even ones between."""
    return (
        np.unique(np.linspace(0, rows - 1, min(rows, most)).round().astype(np.int64)) if rows else np.zeros(0, np.int64)
    )


def _along(x: npt.NDArray[np.float64], y: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    """Return the points of a curve that are drawn: at even distances along it, so that a steep part keeps its shape."""
    if len(x) <= MOST_POINTS:
        return np.arange(len(x))
    way = np.concatenate([[0.0], np.cumsum(np.abs(np.diff(x)) + np.abs(np.diff(y)))])
    places = np.searchsorted(way, np.linspace(0, way[-1], MOST_POINTS - 1))
    return np.unique(np.append(places, len(x) - 1))


def _short(text: str) -> str:
    shown = visible(text)
    return shown if len(shown) <= LONGEST else shown[: LONGEST - 1] + "…"


# ---- drawn by matplotlib -----------------------------------------------------------------------------


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
    weighted = _weighted(clauses)
    strength = weighted.column("weight").to_numpy()
    order = np.argsort(-np.abs(strength), kind="stable")[:most][::-1]
    texts = [weighted.column("clause")[int(i)].as_py() for i in order]
    ax = _axes(ax)
    ax.barh(np.arange(len(order)), strength[order])
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
