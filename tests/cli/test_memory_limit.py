"""`--memory-limit`: what would take more is refused before it is grounded, with the option as the remedy."""

from __future__ import annotations

from pathlib import Path

import pytest

import sqlrl
from tests.cli.conftest import Run

PAIRS = "*D(t)\nQ(t)\n0.3 Q(x) v Q(y)\n"


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three thousand atoms and a model of their pairs."""
    tmp_path = tmp_path_factory.mktemp("people")
    (tmp_path / "d.csv").write_text("a\n" + "".join(f"c{i}\n" for i in range(3000)), encoding="utf-8")
    (tmp_path / "pairs.mln").write_text(PAIRS, encoding="utf-8")
    file = tmp_path / "people.duckdb"
    with sqlrl.connect(file, progress=False, memory_limit="1GB") as db:
        db.load("D", tmp_path / "d.csv", types=["t"])
    return file


@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    [
        ("infer", "--method", "full"),
        ("infer", "--probabilities"),
        ("ground",),
    ],
    ids=["infer", "marginals", "ground"],
)
def test_a_network_beyond_the_limit_is_refused(run: Run, people: Path, command: tuple[str, ...]) -> None:
    name, *options = command
    model = people.parent / "pairs.mln"
    done = run(name, people, "--model", model, "--query", "Q", *options, "--memory-limit", "1GB")
    assert done.code == 1
    # Pairs in either order are one ground clause: 3,000 * 3,001 / 2, of two literals each.
    assert "pairs.mln:3: Q(x) v Q(y) has 4,501,500 ground clauses" in done.err
    for words in (
        "3,000 query atoms would take about 2.6 GB",
        "memory limit of 1 GB",
        "--memory-limit 4GB",
        "fewer --examples",
    ):
        assert words in done.err


@pytest.mark.parametrize("size", ["much", "0GB", "-1GB"])
def test_what_is_no_size_is_refused_in_words_of_options(run: Run, people: Path, size: str) -> None:
    done = run("infer", people, "--model", people.parent / "pairs.mln", "--query", "Q", f"--memory-limit={size}")
    assert done.code == 1
    assert f"--memory-limit {size} must be a size of 1 MB or more" in done.err
