"""`sqlrl export`, another solver, and `sqlrl infer --solution`."""

from __future__ import annotations

from pathlib import Path

from tests.cli.conftest import EVIDENCE, Run
from tests.database.test_exporting import solved


def test_the_command_line_exports_and_reads_back(tmp_path: Path, run: Run) -> None:
    program = "*Friends(person, person)\nSmokes(person)\nCancer(person)\n0.5 Smokes(x) => Cancer(x)\n0.9 Smokes(x)\n"
    (tmp_path / "p.mln").write_text(program)
    (tmp_path / "p.db").write_text(EVIDENCE)
    inputs = ["--model", tmp_path / "p.mln", "--evidence", tmp_path / "p.db", "--query", "Smokes,Cancer"]
    out = tmp_path / "p.wcnf"
    exported = run("export", *inputs, "--out", out, "--dialect", "2022", "--json")
    assert exported.code == 0, exported.err
    (row,) = exported.rows()
    assert row == {"path": str(out), "map": f"{out}.atoms.tsv", "atoms": 5, "clauses": 2}
    answer = solved(out)
    found = run("infer", *inputs, "--solution", answer, "--exported", out, "--json")
    assert found.code == 0, found.err
    assert found.rows() == run("infer", *inputs, "--json").rows()
    assert "nothing is proved" in found.err
    bounded = run("infer", *inputs, "--solution", answer, "--bound")
    assert "optimal" in bounded.err
    assert "warning" not in bounded.err
    told = run("infer", *inputs, "--solution", answer, "--solution-format", "wcnf", "--json")
    assert told.rows() == found.rows()
    for arguments, words in (
        (["infer", *inputs, "--bound"], "--solution"),
        (["infer", *inputs, "--solution-format", "uai"], "--solution-format is about the world that --solution names"),
        (["infer", *inputs, "--solution", answer, "--solution-format", "uai"], "a result file begins with"),
        (["infer", *inputs, "--solution", tmp_path / "absent"], "absent"),
        (["export", *inputs, "--out", tmp_path / "p.lp", "--dialect", "2022"], "--dialect"),
        (["export", *inputs, "--out", tmp_path / "p.txt"], "cannot tell the format"),
    ):
        failed = run(*arguments)
        assert failed.code in (1, 2)
        assert words in failed.err
