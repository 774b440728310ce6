"""`sqlrl load --bins`: the forms of the option, and edges that go with a model."""

from __future__ import annotations

import json
from pathlib import Path

import duckdb
import pytest
from typer.testing import CliRunner

from sqlrl.cli.app import app

RUNNER = CliRunner()


@pytest.fixture
def prices(tmp_path: Path) -> Path:
    path = tmp_path / "price.csv"
    path.write_text("item,price\n" + "".join(f"i{k},{k * k}\n" for k in range(12)))
    return path


def run(*arguments: object) -> str:
    result = RUNNER.invoke(app, list(map(str, arguments)))
    assert result.exit_code == 0, result.output
    return result.stdout


def edges(database: Path) -> list[float | str]:
    with duckdb.connect(str(database)) as connection:
        (row,) = connection.execute("select edges from sqlrl.type where type = 'price'").fetchall()
    return list(json.loads(row[0]))


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--bins", "price=3"], [16.0, 64.0]),
        (["--bins", "price=10:25.5:40"], [10.0, 25.5, 40.0]),
        (["--bins", "price=10:"], [10.0]),
        (["--bins", "price=2", "--example", "item", "--bins-from", "select 'i' || i from range(4) r(i)"], [4.0]),
    ],
)
def test_a_type_is_cut(options: list[str], expected: list[float], prices: Path, tmp_path: Path) -> None:
    database = tmp_path / "d.duckdb"
    run("load", database, "Price", prices, "--types", "item,price", *options)
    assert edges(database) == expected


@pytest.mark.parametrize(
    ("bins", "expected"),
    [
        ("price=2", ["2024-01-07"]),
        ("price=2024-01-31:2024-06-30", ["2024-01-31", "2024-06-30"]),
        ("price=2024-01-31", ["2024-01-31"]),
        ("price=2024-01-02 12:30:2024-01-03T01:02:03:", ["2024-01-02 12:30:00", "2024-01-03 01:02:03"]),
    ],
)
def test_dates_are_cut(bins: str, expected: list[str], tmp_path: Path) -> None:
    days = tmp_path / "days.csv"
    days.write_text("item,price\n" + "".join(f"i{k},2024-01-{k + 1:02d}\n" for k in range(12)))
    database = tmp_path / "d.duckdb"
    run("load", database, "Price", days, "--types", "item,price", "--bins", bins)
    assert edges(database) == expected


def test_a_model_says_the_edges_of_other_data(prices: Path, tmp_path: Path) -> None:
    first, second, model = tmp_path / "a.duckdb", tmp_path / "b.duckdb", tmp_path / "m.mln"
    model.write_text("Price(item, price)\nCheap(item)\nPrice(i, +p) => Cheap(i)\nCheap(i)\n")
    (tmp_path / "cheap.csv").write_text("item\ni0\ni1\ni2\ni4\n")
    run("load", first, "Price", prices, "--types", "item,price", "--bins", "price=3")
    run("load", first, "Cheap", tmp_path / "cheap.csv", "--types", "item", "--target")
    run(
        "learn",
        first,
        "--model",
        model,
        "--learner",
        "likelihood",
        "--strength",
        "0.01",
        "--out",
        tmp_path / "learned.json",
    )
    (tmp_path / "new.csv").write_text("item,price\nx,-7\ny,63.99\nz,1e6\n")
    run("load", second, "Price", tmp_path / "new.csv", "--types", "item,price", "--bins", tmp_path / "learned.json")
    assert edges(second) == [16.0, 64.0]
    found = run("infer", second, "--model", tmp_path / "learned.json", "--query", "Cheap", "--json")
    assert [row["item"] for row in json.loads(found)] == ["x"]


def test_a_folder_is_cut(prices: Path, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "price.csv").write_text(prices.read_text())
    bias = tmp_path / "b.modes"
    bias.write_text("modeh(1, good(+item)). modeb(1, price(+item, #price)).")
    run("load", tmp_path / "d.duckdb", "--folder", folder, "--bias", bias, "--bins", "price=3")
    assert edges(tmp_path / "d.duckdb") == [16.0, 64.0]


@pytest.mark.parametrize("text", ["price=", "price=x", "price=1:b"])
def test_what_is_neither_is_refused(text: str, prices: Path, tmp_path: Path) -> None:
    result = RUNNER.invoke(app, ["load", str(tmp_path / "d.duckdb"), "Price", str(prices), "--bins", text])
    assert result.exit_code == 2
    assert "--bins takes TYPE=N" in " ".join(result.output.split()).replace("│ ", "")


def test_a_type_is_cut_in_one_way(prices: Path, tmp_path: Path) -> None:
    same = ["--bins", "price=3", "--bins", "price=4"]
    result = RUNNER.invoke(app, ["load", str(tmp_path / "d.duckdb"), "Price", str(prices), *same])
    assert result.exit_code == 2
    assert "--bins names price twice" in result.output
