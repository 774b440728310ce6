"""`sqlrl report`: a page about a run."""

from __future__ import annotations

import pytest

from tests.cli.conftest import Project, Run

pytest.importorskip("vl_convert", reason="pages are an extra: pip install 'sqlrl[report]'")


@pytest.mark.slow
def test_a_run_becomes_a_page(run: Run, project: Project) -> None:
    given = [project / "cite.duckdb", "--model", project / "learned.json", "--examples", project / "test.txt"]
    assert run("evaluate", *given, "--keep").code == 0
    page = project / "report.html"
    done = run("report", project / "cite.duckdb", "1", "-o", page, "--json")
    assert done.code == 0, done.err
    assert done.rows() == [{"run": 1, "learner": "Likelihood", "file": str(page)}]
    text = page.read_text(encoding="utf-8")
    for said in ("<title>Run 1: Likelihood</title>", "Learning curve of Likelihood", "Confusion matrix of InField"):
        assert said in text
    # Probabilities were not asked for, and nobody audited.
    assert "need probabilities: probabilities(keep=True)" in text
    assert "The data were not audited" in text


@pytest.mark.slow
def test_the_newest_run_is_reported_where_none_is_named(run: Run, project: Project) -> None:
    given = [project / "cite.duckdb", "--model", project / "learned.json", "--examples", project / "test.txt"]
    assert run("evaluate", *given, "--keep").code == 0
    for arguments in ([project / "cite.duckdb"], ["--db", project / "cite.duckdb"]):
        done = run("report", *arguments, "-o", project / "newest.html", "--replace", "--json")
        assert done.code == 0, done.err
        assert [row["run"] for row in done.rows()] == [2]
    assert "expected DATABASE RUN, found 1" in " ".join(
        run("report", "1", "-o", "r.html").err.replace("│", " ").split()
    )


def test_a_page_that_is_there_is_not_written_over(run: Run, project: Project) -> None:
    page = project / "report.html"
    page.write_text("mine", encoding="utf-8")
    done = run("report", project / "cite.duckdb", "1", "-o", page)
    assert done.code != 0
    assert "exists: give another name, or --replace" in done.err
    assert page.read_text(encoding="utf-8") == "mine"
    assert run("report", project / "cite.duckdb", "1", "-o", page, "--replace", "--read-only").code == 0
    assert page.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["99", "-o", "r.html"], "there is no run 99; there are runs 1 to 1"),
        (["AdaGrad", "-o", "r.html"], "'AdaGrad' is no number of a run"),
        (["1", "-o", "r.pdf"], "end its name in .html"),
    ],
)
def test_what_is_no_run_or_no_page(
    run: Run, lasting: Project, monkeypatch: pytest.MonkeyPatch, arguments: list[str], said: str
) -> None:
    monkeypatch.chdir(lasting.folder)
    done = run("report", "cite.duckdb", *arguments)
    assert done.code != 0
    assert said in " ".join(done.err.split())
