"""Charts: what is drawn is what the tables say."""

from __future__ import annotations

import json
import sys
import threading
from datetime import date
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest

from sqlrl.errors import InputError, SqlrlError
from sqlrl.report import charts
from sqlrl.report.charts import Chart, plot_progress, plot_weights

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


HOSTILE = "</script><script>alert(1)</script>"


def every_chart() -> dict[str, Chart]:
    steps = pa.table({"step": [1, 0, 2], "atoms": [4, 2, 0], "correct": [3, 1, 0]})
    iterations = pa.table(
        {"unit": ["iteration"] * 2, "position": [0, 1], "objective": [3.0, 2.0], "bound": [None, 1.0]}
    )
    bins = pa.table({"atoms": [3, 0], "true": [1, 0], "probability": [0.4, None], "share": [1 / 3, None]})
    recall = pa.table({"threshold": [0.9, 0.1], "recall": [0.5, 1.0], "precision": [1.0, 0.5]})
    rates = pa.table({"threshold": [np.inf, 0.1], "false_positive_rate": [0.0, 1.0], "true_positive_rate": [0.0, 1.0]})
    counts = pa.table(
        {"label": [HOSTILE, None], "predicted": [HOSTILE, "b"], "count": pa.array([Decimal(2), 1], pa.decimal128(38))}
    )
    stages = pa.table({"run": ["1 a", "2 b"], "stage": ["grounding", HOSTILE], "seconds": [0.5, 2.0]})
    return {
        "steps": charts.learning_curve(charts.step_curve(steps), learner="AdaGrad"),
        "iterations": charts.learning_curve(iterations),
        "weights": charts.weights(pa.table({"clause": [HOSTILE, "b"], "weight": [0.5, -2.0]}), most=1),
        "weight history": charts.weight_history(
            pa.table(
                {"step": [0, 3, 1], "clause": [HOSTILE, HOSTILE, None], "id": [2, 2, 5], "weight": [0.5, 1.5, -1.0]}
            )
        ),
        "calibration": charts.calibration(bins),
        "precision and recall": charts.precision_recall(recall, average_precision=0.75),
        "roc": charts.roc(rates, area=0.5),
        "confusion": charts.confusion(counts),
        "timings": charts.timings(stages),
    }


@pytest.mark.parametrize("name", every_chart())
def test_a_chart_is_vega_lite_and_is_drawn(name: str, tmp_path: Path) -> None:
    altair = pytest.importorskip("altair", reason="an extra")
    chart = every_chart()[name]
    # Altair checks a specification against the schema of Vega-Lite.
    assert altair.Chart.from_dict(chart.to_dict()).to_dict()["data"]
    assert chart.to_altair().to_dict()["title"] == chart.title
    drawn = chart._repr_html_()
    assert "<svg" in drawn
    assert HOSTILE not in drawn
    chart.save(tmp_path / "chart.svg")
    assert "<svg" in (tmp_path / "chart.svg").read_text(encoding="utf-8")
    chart.save(tmp_path / "chart.json")
    assert json.loads((tmp_path / "chart.json").read_text(encoding="utf-8")) == chart.to_dict()


def test_what_is_drawn_is_what_the_data_say() -> None:
    found = every_chart()
    curve = found["steps"].table().to_pylist()
    assert [row["position"] for row in curve] == [0, 1, 2]
    assert [row["running_accuracy"] for row in curve] == [1 / 2, 4 / 6, 4 / 6]
    assert [row["accuracy"] for row in curve] == [1 / 2, 3 / 4, None]
    assert {row["line"] for row in found["iterations"].to_dict()["data"]["values"]} == {"objective", "bound"}
    assert found["weights"].table()["weight"] == [-2.0, 0.5]
    assert [row["weight"] for row in found["weights"].to_dict()["data"]["values"]] == [-2.0]
    assert "1 strongest of 2" in found["weights"].note
    cells = found["confusion"].to_dict()["data"]["values"]
    assert [(row["label"], row["count"], row["share"]) for row in cells] == [(HOSTILE, 2, 1.0), ("(none)", 1, 1.0)]


def test_the_moving_average_goes_over_as_many_steps_as_in_the_view() -> None:
    right = np.arange(250) % 2
    steps = pa.table({"step": np.arange(250), "atoms": np.ones(250, np.int64), "correct": right})
    recent = charts.step_curve(steps).column("recent_accuracy").to_pylist()
    assert recent[:3] == [0.0, 1 / 2, 1 / 3]
    assert recent[249] == right[150:].mean()


def test_long_lines_are_thinned_and_their_tables_are_not() -> None:
    steps = pa.table({"step": np.arange(5000), "atoms": np.ones(5000, np.int64), "correct": np.ones(5000, np.int64)})
    chart = charts.learning_curve(charts.step_curve(steps))
    assert len(chart.table()) == 5000
    assert len(chart.to_dict()["data"]["values"]) == 2 * charts.MOST_POINTS
    assert "1,000 of 5,000 steps" in chart.note


def test_a_large_confusion_matrix_says_what_it_leaves_out() -> None:
    names = [f"c{k:02d}" for k in range(40)]
    chart = charts.confusion(
        pa.table({"label": names, "predicted": names, "count": list(range(1, 41))}), things="blocks"
    )
    assert len(chart.to_dict()["data"]["values"]) == charts.MOST_CONSTANTS
    assert f"{charts.MOST_CONSTANTS} of 40 constants, with 765 of 820 blocks" in chart.note


def test_histories_of_weights_are_thinned_clause_by_clause() -> None:
    n, few = 3000, 5
    history = pa.table(
        {
            "step": [*range(n), *range(few)],
            "clause": ["long"] * n + ["short"] * few,
            "id": [9] * n + [3] * few,
            "weight": np.linspace(0, 1, n + few),
        }
    )
    chart = charts.weight_history(history, clauses=40)
    drawn = chart.to_dict()["data"]["values"]
    long, short = ([row for row in drawn if row["clause"] == name] for name in ("long", "short"))
    assert len(chart.table()) == n + few
    assert len(long) == charts.MOST_POINTS // 2
    assert [long[0]["step"], long[-1]["step"]] == [0, n - 1]
    assert [row["step"] for row in short] == list(range(few))
    assert {row["label"] for row in short} == {"2. short"}
    assert "The 2 strongest of 40 clauses" in chart.note
    assert f"Drawn are {len(drawn)} of 3,005 points" in chart.note
    with pytest.raises(InputError, match="nothing to draw"):
        charts.weight_history(history.slice(0, 0))


@pytest.mark.parametrize("library", ["vl_convert", "altair"])
def test_a_missing_library_is_named_with_its_extra(
    library: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    chart = every_chart()["weights"]
    with pytest.raises(SqlrlError, match=r"pip install 'sqlrl\[report\]'"):
        chart.to_altair() if library == "altair" else chart.save(tmp_path / "chart.png")
    if library == "vl_convert":
        # A notebook shows the data, and why they are not drawn.
        assert "<table>" in chart._repr_html_()
        assert "sqlrl[report]" in chart._repr_html_()


def test_files_of_other_kinds_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"end the name in .svg, .png, .html, .json"):
        every_chart()["weights"].save(tmp_path / "chart.pdf")


def test_a_chart_of_no_rows_says_why() -> None:
    def empty(**columns: pa.DataType) -> pa.Table:
        return pa.schema(columns).empty_table()

    some = pa.table({"clause": ["a"], "weight": [1.0]})
    with pytest.raises(InputError, match="most=0: give at least 1"):
        charts.weights(some, most=0)
    with pytest.raises(InputError, match="no atom has both a probability and a label"):
        charts.calibration(pa.table({"atoms": [0], "probability": [0.5], "share": [0.5]}))
    with pytest.raises(InputError, match="no predicted atom has a label"):
        charts.confusion(empty(label=pa.string(), predicted=pa.string(), count=pa.int64()))
    with pytest.raises(InputError, match="the run has no timings, since it has not ended"):
        charts.timings(empty(run=pa.string(), stage=pa.string(), seconds=pa.float64()))


def test_a_notebook_chooses_how_a_chart_is_shown() -> None:
    pytest.importorskip("vl_convert", reason="an extra")
    chart = every_chart()["weights"]
    bundle = chart._repr_mimebundle_()
    assert bundle["text/plain"] == "Chart of Strongest clauses: 2 rows; table() has them"
    assert bundle["application/vnd.vegalite.v6+json"] == chart.to_dict()
    assert "<svg" in str(bundle["text/html"])


def test_a_page_of_a_chart_has_the_scripts_inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def page(chart: dict[str, object], *, vl_version: str, bundle: bool) -> str:
        # The library takes two seconds.
        return json.dumps([chart, vl_version, bundle])

    monkeypatch.setattr(charts, "converter", lambda: SimpleNamespace(vegalite_to_html=page))
    chart = every_chart()["weights"]
    chart.save(tmp_path / "chart.HTML")
    written = json.loads((tmp_path / "chart.HTML").read_text(encoding="utf-8"))
    assert written == [chart.to_dict(), charts.VEGA_LITE, True]


def test_a_steep_part_of_a_long_curve_keeps_its_points() -> None:
    recall, n = np.concatenate([np.zeros(3000), np.linspace(0, 1, 3000)]), 6000
    precision = np.concatenate([np.linspace(0, 1, 3000), np.ones(3000)])
    curve = pa.table({"threshold": np.linspace(1, 0, n), "recall": recall, "precision": precision})
    chart = charts.precision_recall(curve, average_precision=1.0)
    drawn = chart.to_dict()["data"]["values"]
    assert (drawn[0]["precision"], drawn[-1]["recall"]) == (0.0, 1.0)
    assert sum(row["recall"] == 0 for row in drawn) == pytest.approx(len(drawn) / 2, abs=2)
    assert f"Drawn at {len(drawn):,} of 6,000 thresholds" in chart.note


def test_values_of_other_kinds_are_their_texts() -> None:
    assert [charts.plain(value) for value in (date(2024, 2, 1), Decimal(3), np.inf)] == ["2024-02-01", 3, None]


def test_a_plot_is_drawn_where_it_is_told() -> None:
    from matplotlib.figure import Figure

    axes = Figure().subplots()
    assert plot_weights(pa.table({"clause": ["a"], "weight": [1.0]}), ax=axes) is axes
    assert [bar.get_width() for bar in axes.patches] == [1.0]


@pytest.mark.parametrize(
    ("asked", "said"), [((), "a chart has a name: call "), (("weigths",), "Did you mean"), (("x y",), "'x y'")]
)
def test_charts_are_named_where_one_is_asked_for_without_a_name(asked: tuple[str, ...], said: str) -> None:
    from sqlrl.database.run_data import RunPlots
    from sqlrl.learn.plots import FitPlots

    for plots in (FitPlots(None), RunPlots.__new__(RunPlots)):
        with pytest.raises(InputError) as caught:
            plots(*asked)
        assert said.casefold() in str(caught.value).casefold()
        assert ".plot.learning_curve()" in str(caught.value) or "did you mean" in str(caught.value)


def test_other_threads_go_on_while_vega_is_read() -> None:
    """So does Ctrl-C, which Python heeds between two instructions of its own."""
    pytest.importorskip("vl_convert")
    done, ticks = threading.Event(), list[None]()

    def tick() -> None:
        while not done.wait(0.01):
            ticks.append(None)

    thread = threading.Thread(target=tick)
    thread.start()
    try:
        assert "vegaEmbed" in charts.vega_bundle.__wrapped__()
    finally:
        done.set()
        thread.join()
    assert len(ticks) > 10
