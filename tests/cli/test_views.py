"""`sqlrl evaluate --keep` and `sqlrl overlap`: what they print is in the views that `sqlrl sql` asks."""

from __future__ import annotations

import pytest

from tests.cli.conftest import Project, Run


@pytest.mark.slow
@pytest.mark.parametrize("marginals", [False, True])
def test_an_evaluation_is_kept_for_views(run: Run, project: Project, marginals: bool) -> None:
    given = [project / "cite.duckdb", "--model", project / "learned.json", "--examples", project / "test.txt"]
    more = ["--probabilities"] if marginals else []
    plain = run("evaluate", *given, *more, "--json").rows()
    ask = ["sql", project / "cite.duckdb", "--json"]
    assert run(*ask, "from sqlrl.confusion").rows() == []
    done = run("evaluate", *given, *more, "--keep", "--json")
    assert done.code == 0, done.err
    assert done.rows() == plain
    (kept,) = run(*ask, "from sqlrl.confusion where constant is null").rows()
    if marginals:
        bins = run("evaluate", *given, "--probabilities", "--calibration", "--json").rows()
        view = run(*ask, "select above, atoms, true_atoms from sqlrl.calibration").rows()
        assert [tuple(row.values()) for row in view] == [
            (row["above"], row["atoms"], row["true"]) for row in bins if row["atoms"]
        ]
        assert kept["true_positives"] + kept["true_negatives"] == pytest.approx(
            plain[0]["accuracy"] * plain[0]["atoms"]
        )
    else:
        assert (kept["true_positives"], kept["false_positives"], kept["false_negatives"]) == tuple(
            plain[0][name] for name in ("true_positives", "false_positives", "false_negatives")
        )
        assert kept["f1"] == pytest.approx(plain[0]["f1"])


def test_what_is_kept_needs_a_database_that_can_be_written(run: Run, project: Project) -> None:
    given = [project / "cite.duckdb", "--model", project / "learned.json", "--examples", project / "test.txt"]
    done = run("evaluate", *given, "--keep", "--read-only")
    assert done.code == 2
    assert "--keep needs a database that can be written" in " ".join(done.err.replace("│", " ").split())


def test_overlaps_are_shown_and_kept(run: Run, project: Project) -> None:
    model = project / "twice.mln"
    model.write_text((project / "chain.mln").read_text(encoding="utf-8") + "Token(t, p, c) => InField(c, Title, p)\n")
    given = [project / "cite.duckdb", "--model", model, "--examples", project / "test.txt"]
    read_only = run("overlap", *given, "--read-only", "--json")
    assert read_only.code == 0, read_only.err
    ask = ["sql", project / "cite.duckdb", "--json", "select first, second, shared from sqlrl.clause_overlap"]
    assert run(*ask).rows() == []
    shown = run("overlap", *given, "--json").rows()
    assert shown == read_only.rows()
    assert all("Title" in row["second"] and row["shared"] > 0 for row in shown)
    assert [tuple(row.values()) for row in run(*ask).rows()] == [
        (row["first"], row["second"], row["shared"]) for row in shown
    ]
