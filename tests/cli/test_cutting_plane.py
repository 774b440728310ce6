"""`sqlrl infer --method cutting-plane`."""

from __future__ import annotations

from tests.cli.conftest import Project, Run


def test_infer_by_cutting_planes_prints_the_same_atoms(run: Run, project: Project) -> None:
    options = ["--model", project / "smokers.mln", "--evidence", project / "smokers.db", "--query", "Smokes,Cancer"]
    whole = run("infer", *options, "--all", "--json")
    cut = run("infer", *options, "--all", "--json", "--method", "cutting-plane")
    assert cut.code == whole.code == 0
    assert cut.rows() == whole.rows()
    assert "cutting plane: " in cut.err
    assert "ground clauses in" in cut.err
