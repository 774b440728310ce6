"""Models exported from a database, solved by other programs, and their answers as predictions."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow.parquet as pq
import pytest
from pysat.examples.rc2 import RC2
from pysat.formula import WCNF

import sqlrl
from sqlrl.errors import InfeasibleError, InputError, NumericError
from sqlrl.ground.grounding import ground_network
from sqlrl.ground.program import Extent
from sqlrl.solve.result import Status
from sqlrl.solve.weighted import weigh
from sqlrl.training.session import Query

MODEL = """
Friends(person, person)
Smokes(person)
Cancer(person)
Mood(person, mood!)
0.7 !Cancer(x)
0.55 Smokes(x) => Cancer(x)
0.9 Friends(x, y) ^ Smokes(x) => Smokes(y)
-0.4 Smokes(x) v Cancer(x)
1.1 Cancer(x) => Mood(x, "so, so")
0.2 Mood(x, Bad)
Smokes(x) ^ Cancer(x) => !Mood(x, Good).
Smokes(x) => (EXIST y Friends(x, y) ^ Smokes(y)).
"""


@pytest.fixture
def db() -> sqlrl.Database:
    return filled(sqlrl.connect())


def filled(opened: sqlrl.Database) -> sqlrl.Database:
    opened.load("Friends", [("Anna", "Bob"), ("Bob", "Anna"), ("Bob", "Chris"), ("Chris", "Anna")])
    opened.load("Smokes", [("Anna",)], given=True)
    opened.load("Mood", [("Dan", "Good")], types=["person", "mood"], target=True)
    return opened


@pytest.fixture
def model() -> sqlrl.Model:
    return sqlrl.parse_mln('mood = {Good, Bad, "so, so"}\n' + MODEL, query=["Cancer"])


def solved(path: Path) -> Path:
    """What a MaxSAT solver answers, in a file."""
    answer = path.with_suffix(".answer")
    with RC2(WCNF(from_file=str(path))) as solver:
        literals = solver.compute()
        assert literals is not None
        answer.write_text(f"o {solver.cost}\ns OPTIMUM FOUND\nv {' '.join(map(str, literals))} 0\n")
    return answer


@pytest.mark.slow
def test_another_solver_finds_the_same_world(tmp_path: Path, db: sqlrl.Database, model: sqlrl.Model) -> None:
    ours = db.predict(model)
    assert ours.status is Status.OPTIMAL
    exported = db.export(model, tmp_path / "a.wcnf")
    assert exported.atoms == len(ours.network.atoms)
    theirs = db.predict(
        model,
        solution=sqlrl.OutsideSolution(solved(exported.path), exported=exported.path, bound=True),
        into="world",
        keep=True,
    )
    assert theirs.objective == pytest.approx(ours.objective, abs=1e-9)
    assert theirs.gap >= 0
    counted = [dict(zip(t["text"], t["n"], strict=True)) for t in (db.count(model, world=w) for w in (ours, theirs))]
    assert counted[0] == counted[1]
    assert db.sql('select count(*) from "world_Mood"').fetchall() == [(4,)]
    assert db.sql("select count(*) > 0 from sqlrl.prediction").fetchall() == [(True,)]
    (parameters,) = db.sql("select parameters::varchar from sqlrl.run where learner = 'predict'").fetchall()[0]
    assert "a.answer" in parameters


def table_scores(path: Path, worlds: npt.NDArray[np.bool_]) -> npt.NDArray[np.float64]:
    """The score of each world by the rows of a table of Parquet, minus infinity if it cannot be."""
    found = np.zeros(len(worlds))
    for row in pq.read_table(path).to_pylist():
        literals = np.array(row["literals"])
        holds = worlds[:, np.abs(literals) - 1] == (literals > 0)
        number = holds.sum(axis=1)
        satisfied = {"clause": number > 0, "at most one": number <= 1, "exactly one": number == 1}[row["kind"]]
        if row["weight"] is None:
            found[~satisfied] = -np.inf
        else:
            found[satisfied] += row["weight"] * row["multiplicity"]
    return found


@pytest.mark.parametrize("engine", ["duckdb", pytest.param("spark", marks=pytest.mark.slow)])
def test_a_table_of_ground_clauses_scores_every_world(
    tmp_path: Path, model: sqlrl.Model, engine: str, request: pytest.FixtureRequest
) -> None:
    with sqlrl.connect(engine=request.getfixturevalue("spark") if engine == "spark" else None, progress=False) as db:
        # Three people, so that all worlds can be listed.
        db.load("Friends", [("Anna", "Bob"), ("Bob", "Anna"), ("Bob", "Chris")])
        db.load("Smokes", [("Anna",)], given=True)
        db.load("Smokes", [("Bob", 0.8), ("Chris", 0.25)], probability=1)
        db.load("Mood", [("Bob", "Good")], types=["person", "mood"], target=True)
        exported = db.export(model, tmp_path / "network.parquet")
        with db.advanced.session.expanded(Query(model)) as (program, chosen):
            weighted = weigh(ground_network(Extent(program, chosen)), program.weights())
    worlds = np.array(list(product([False, True], repeat=exported.atoms)))
    expected = np.array([weighted.score(world) for world in worlds])
    found = table_scores(exported.path, worlds)
    possible = np.isfinite(expected)
    assert 2 < possible.sum() < len(worlds)
    assert (np.isfinite(found) == possible).all()
    differences = found[possible] - expected[possible]
    np.testing.assert_allclose(differences, differences[0], atol=1e-9)
    rows = pq.read_table(exported.path)
    assert rows.num_rows == exported.clauses
    assert {"clause", "exactly one"} == set(rows["kind"].to_pylist())
    assert "Smokes(x) => Cancer(x)" in rows["rule"].to_pylist()


def test_no_table_is_left_of_a_world_that_cannot_be(tmp_path: Path, db: sqlrl.Database) -> None:
    model = sqlrl.parse_mln(
        "Friends(person, person)\nSmokes(person)\nFriends(x, y) => Friends(y, x).\n1 Smokes(x)", query=["Smokes"]
    )
    with pytest.raises(InfeasibleError, match="violates this hard clause"):
        db.export(model, tmp_path / "network.parquet")
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_the_map_names_the_atoms(tmp_path: Path, db: sqlrl.Database, model: sqlrl.Model) -> None:
    for form in ("wcnf", "lp", "uai", "parquet"):
        exported = db.export(model, tmp_path / f"network.{form}", examples=None)
        listed = db.sql(f"from read_csv('{exported.map}', delim='\t', quote='\"', comment='#', header=true)")
        rows = {(r["atom"]): (r["predicate"], r["constants"]) for r in listed.to_arrow_table().to_pylist()}
        assert len(rows) == exported.atoms
        assert sorted(c for p, c in rows.values() if p == "Smokes") == ["Bob", "Chris", "Dan"]
        assert 'Anna, "so, so"' in [c for p, c in rows.values() if p == "Mood"]


def test_what_cannot_be_exported_says_why(tmp_path: Path, db: sqlrl.Database, model: sqlrl.Model) -> None:
    with pytest.raises(InputError, match=r"cannot tell the format of .*network.txt"):
        db.export(model, tmp_path / "network.txt")
    with pytest.raises(InputError, match="unknown format 'mps'"):
        db.export(model, tmp_path / "network.lp", format="mps")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="unknown dialect '2023'"):
        db.export(model, tmp_path / "network.wcnf", dialect="2023")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="cannot write"):
        db.export(model, tmp_path / "absent" / "network.lp")
    unlearned = sqlrl.parse_mln("Friends(person, person)\nSmokes(person)\nFriends(x, y) => Smokes(y)", query=["Smokes"])
    with pytest.raises(InputError, match="has no weight"):
        db.export(unlearned, tmp_path / "network.lp")
    strong = sqlrl.parse_mln("Friends(person, person)\nSmokes(person)\n800 Smokes(x)", query=["Smokes"])
    with pytest.raises(NumericError, match="make such clauses hard"):
        db.export(strong, tmp_path / "network.uai")
    assert list(tmp_path.iterdir()) == []


def test_a_world_that_breaks_a_hard_clause_is_refused_with_its_constants(
    tmp_path: Path, db: sqlrl.Database, model: sqlrl.Model
) -> None:
    exported = db.export(model, tmp_path / "a.lp")
    lines = [line.split("\t") for line in exported.map.read_text().splitlines() if not line.startswith("#")][1:]
    true = {("Cancer", "Bob"), ("Smokes", "Bob"), ("Mood", "Bob, Good")}
    values = []
    for variable, _, predicate, constants in lines:
        other = predicate == "Mood" and not constants.startswith("Bob") and constants.endswith("Bad")
        values.append(f"{variable} {int((predicate, constants) in true or other)}\n")
    (tmp_path / "a.sol").write_text("".join(values))
    with pytest.raises(
        InputError, match=r"a.sol violates \d+ hard ground clauses?, such as .*\(from .*\): the file is not"
    ):
        db.predict(model, solution=tmp_path / "a.sol")


def test_data_that_changed_are_noticed(tmp_path: Path, db: sqlrl.Database, model: sqlrl.Model) -> None:
    exported = db.export(model, tmp_path / "a.wcnf")
    answer = solved(exported.path)
    fewer = sqlrl.parse_mln("Friends(person, person)\nSmokes(person)\n1 Smokes(x)", query=["Smokes"])
    with pytest.raises(InputError, match="the network is not the one that was exported"):
        db.predict(fewer, solution=sqlrl.OutsideSolution(answer, exported=exported.path))
