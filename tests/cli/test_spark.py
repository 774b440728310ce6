"""`--spark`: commands print what they print without it."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.cli.conftest import Project, Run

OPTIONS = ("--query", "Smokes,Cancer", "--json")


def evidence(project: Project) -> list[str | Path]:
    return ["--model", project / "smokers.mln", "--evidence", project / "smokers.db"]


@pytest.mark.parametrize(
    "command",
    [
        ["infer", "--probabilities"],
        pytest.param(["infer", "--all"], marks=pytest.mark.slow),
        pytest.param(["infer", "--method", "cutting-plane"], marks=pytest.mark.slow),
    ],
)
def test_a_server_changes_nothing(command: list[str], run: Run, project: Project, spark_address: str) -> None:
    options = [*command, *evidence(project), *OPTIONS]
    here, there = run(*options), run(*options, "--spark", spark_address)
    assert there.code == here.code == 0
    assert there.out == here.out


@pytest.mark.slow
def test_learning_and_the_environment(
    run: Run, project: Project, spark_address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = ["learn", project / "cite.duckdb", "--model", project / "chain.mln"]
    here = run(*options, "--out", tmp_path / "here.mln")
    monkeypatch.setenv("SQLRL_SPARK", spark_address)
    monkeypatch.setenv("SQLRL_SPARK_STORAGE", str(tmp_path / "storage"))
    there = run(*options, "--out", tmp_path / "there.mln")
    assert (here.code, there.code) == (0, 0), here.err + there.err
    assert (tmp_path / "here.mln").read_bytes() == (tmp_path / "there.mln").read_bytes()


def test_storage_is_of_a_server(run: Run, project: Project) -> None:
    found = run("infer", *evidence(project), *OPTIONS, "--spark-storage", "folder")
    assert found.code == 2
    assert "--spark sc://host:port" in found.err


def test_what_is_no_address(run: Run, project: Project) -> None:
    found = run("infer", *evidence(project), *OPTIONS, "--spark", "localhost:15002")
    assert found.code == 1
    assert "'localhost:15002' is no address of a Spark Connect server: write sc://host:port" in found.err


def test_parquet_that_the_server_reads(run: Run, project: Project, spark_address: str, tmp_path: Path) -> None:
    file, storage, made = tmp_path / "friends.parquet", tmp_path / "storage", tmp_path / "made.duckdb"
    pq.write_table(pa.table({"a": ["Bob", "Anna"], "b": ["Chris", "Bob"]}), file)
    options = ["load", made, "Friends", file, "--types", "person,person", "--on-server"]
    for given, missing in (
        ([], "give --spark ADDRESS and --spark-storage FOLDER, or leave out --on-server"),
        (["--spark", spark_address], "give --spark-storage FOLDER"),
    ):
        refused = run(*options, *given)
        assert refused.code == 1
        assert missing in refused.err
    loaded = run(*options, "--spark", spark_address, "--spark-storage", storage)
    assert loaded.code == 0, loaded.err
    names = run("sql", made, "from sqlrl.named_Friends order by all", "--json")
    assert names.code == 0, names.err
    assert names.rows() == [{"person": "Anna", "person_2": "Bob"}, {"person": "Bob", "person_2": "Chris"}]
