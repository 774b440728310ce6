"""Evidence files that are examples, and types of their predicates inferred from shared constants."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import sqlrl
from sqlrl.catalog.cooccurrence import SHARED, with_inferred_types
from sqlrl.cli.app import app
from sqlrl.errors import LoadError, ParseError, SqlrlError
from sqlrl.logic.evidence import EvidenceAtom, parse_evidence
from sqlrl.logic.terms import Argument, Predicate
from tests.effort import draws

AI = "Advises(Ann, Bob)\nAdvises(Ann, Cid)\nStudent(Bob)\nStudent(Cid)\nTaught(c1, Ann)\nTaught(c2, Ann)\nLevel(c1, 5)\nLevel(c2, 4)\n"
GRAPHICS = "Advises(Dan, Eve)\nStudent(Eve)\nTaught(c3, Dan)\nLevel(c3, 5)\n"
MODEL = "Advises(person, person)\nStudent(person)\nTaught(course, person)\nLevel(course, level)\n"


def write(folder: Path, **texts: str) -> dict[str, Path]:
    paths = {}
    for name, text in texts.items():
        paths[name] = folder / f"{name}.db"
        paths[name].write_text(text)
    return paths


@pytest.fixture(scope="module")
def empty() -> sqlrl.Database:
    """A database for loads that fail."""
    return sqlrl.connect(progress=False)


def facts(db: sqlrl.Database, predicate: str) -> list[tuple[Any, ...]]:
    return sorted(db.sql(f"from sqlrl.named_{predicate}").fetchall())


@pytest.mark.parametrize("declared", [None, "Advises(person, person)\n", pytest.param(MODEL, marks=pytest.mark.slow)])
def test_each_file_is_an_example(declared: str | None, tmp_path: Path) -> None:
    db = sqlrl.connect(progress=False)
    model = None if declared is None else sqlrl.parse_mln(declared)
    found = db.load(sqlrl.Evidence(write(tmp_path, ai=AI, graphics=GRAPHICS), model))
    assert facts(db, "Advises") == [("ai", "Ann", "Bob"), ("ai", "Ann", "Cid"), ("graphics", "Dan", "Eve")]
    assert db.sql("select name from sqlrl.example order by example").fetchall() == [("ai",), ("graphics",)]
    kinds = {name: predicate.types for name, predicate in found.predicates.items()}
    # People teach, advise and study: all through the advisers and the advised; courses and levels are apart.
    assert kinds["Taught"][1] == kinds["Advises"][0]
    assert kinds["Student"][0] == kinds["Advises"][1]
    assert kinds["Taught"][0] == kinds["Level"][0]
    assert len({kinds["Taught"][0], kinds["Advises"][0], kinds["Level"][1]}) == 3
    if declared is not None:
        assert kinds["Advises"] == ("person", "person")
        assert kinds["Taught"][1] == "person"
    head = "Student(x)" if declared is not None else "Advises(x, y)"
    rules = sqlrl.parse_mln(f"{found}\n1 Taught(c, x) ^ Level(c, l) => {head}", query=[head.partition("(")[0]])
    assert db.advanced.bind(rules).example_count == 2


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sqlrl.errors.GroundingWarning")
def test_one_example_learns_nothing_of_the_other(tmp_path: Path) -> None:
    """The same constants in two files are facts of two examples, and predictions of one do not see the other."""
    db = sqlrl.connect(progress=False)
    model = sqlrl.parse_mln(
        "Friends(person, person)\nSmokes(person)\nCancer(person)\n2 Friends(x, y) ^ Smokes(x) => Cancer(y)\n-1 Cancer(x)"
    )
    one, two = "Friends(A, B)\nSmokes(A)\nCancer(B)\n", "Friends(A, B)\nSmokes(B)\nCancer(A)\n"
    db.load(sqlrl.Evidence(write(tmp_path, one=one, two=two), model))
    db.load(
        sqlrl.Evidence(
            {"one": parse_evidence("Cancer(B)"), "two": parse_evidence("Cancer(A)")}, model, target=True, replace=True
        )
    )
    again = sqlrl.connect(progress=False)
    for name, text in (("one", one), ("two", two)):
        single = sqlrl.connect(progress=False)
        atoms = [atom for atom in parse_evidence(text) if atom.predicate != "Cancer"]
        single.load(sqlrl.Evidence(atoms, model))
        expected = single.predict(model, roles=sqlrl.Roles(query=["Cancer"])).atoms("Cancer")["person"].to_pylist()
        again.load(
            sqlrl.Evidence(
                {n: [a for a in parse_evidence(t) if a.predicate != "Cancer"] for n, t in (("one", one), ("two", two))},
                model,
                replace=True,
            )
        )
        found = again.predict(model, examples=[name], roles=sqlrl.Roles(query=["Cancer"])).atoms("Cancer")
        assert found["person"].to_pylist() == expected
    assert db.sql("select count(*) from sqlrl.named_Friends").fetchall() == [(2,)]


@pytest.mark.parametrize(
    ("texts", "options", "message"),
    [
        ({"a": AI, "b": "Student(Eve)\n"}, {}, r"b\.db has no facts of Advises, Level, Taught, of which other examples have some: pass empty=\['Advises', 'Level', 'Taught'\]"),
        ({"a": AI, "b": "Student(Eve)\n"}, {"empty": ["Advises", "Level"]}, r"b\.db has no facts of Taught"),
        ({"a": AI, "b": GRAPHICS}, {"empty": ["Advice"]}, "empty= names Advice, of which no example has facts"),
        ({"a": "P(A)\nP(A)\n"}, {}, "duplicate facts: P"),
        ({"a": "P(A)\n!P(A)\n"}, {}, "contradict each other about P"),
        ({"a": "P(A)\nP(A, B)\n"}, {}, "P has 1 argument in line 1 and 2 in line 2"),
        ({"a": "P(A)\n", "b": ""}, {}, "there are no atoms in .*b.db"),
        ({"a": "Smokes(A)\nSmoeks(B)\n"}, {"model": sqlrl.parse_mln("Smokes(person)")}, "Smoeks is not declared; did you mean 'Smokes'"),
        ({}, {}, "the mapping has no example"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused(
    empty: sqlrl.Database, texts: dict[str, str], options: dict[str, Any], message: str, tmp_path: Path
) -> None:
    with pytest.raises(SqlrlError, match=message):
        empty.load(sqlrl.Evidence(write(tmp_path, **texts), **options))
    assert empty.tables()["predicate"] == []


def test_a_predicate_that_one_file_lacks_is_false_there(tmp_path: Path) -> None:
    paths = write(tmp_path, a="P(A)\nQ(A)\n", b="Q(A)\n")
    db = sqlrl.connect(progress=False)
    for empty in (["P"], "allow", {"P"}):
        db.load(sqlrl.Evidence(paths, empty=empty, replace=True))
        assert (facts(db, "P"), facts(db, "Q")) == ([("a", "A")], [("a", "A"), ("b", "A")])


def test_names_and_sources_are_checked(tmp_path: Path) -> None:
    db = sqlrl.connect(progress=False)
    for source, message in (
        ({1: tmp_path / "a.db"}, "1 cannot be the name of an example"),
        ({"a": tmp_path / "a.db"}, "there is no such file"),
        ({"a": []}, "the example a is 0 files"),
    ):
        with pytest.raises(LoadError, match=message):
            db.load(sqlrl.Evidence(source))
    write(tmp_path, a="P(A\n")
    with pytest.raises(ParseError):
        db.load(sqlrl.Evidence({"a": tmp_path / "a.db"}))


def test_several_files_without_a_model_have_types_as_well(tmp_path: Path) -> None:
    db = sqlrl.connect(progress=False)
    found = db.load(sqlrl.Evidence([*write(tmp_path, a="P(A, B)\n", b="Q(B)\n").values()]))
    assert [str(p) for p in found.predicates.values()] == ["P(p_1, p_2)", "Q(p_2)"]
    assert facts(db, "P") == [("A", "B")]


# ---- types -------------------------------------------------------------------------------------------

COLUMNS = st.dictionaries(
    st.sampled_from(["P", "Q", "R", "S", "T"]), st.sets(st.integers(0, 12), min_size=1), min_size=1
)


@settings(max_examples=draws(60), deadline=None, phases=(Phase.explicit, Phase.generate))
@given(COLUMNS, st.sets(st.sampled_from(["P", "Q"]), max_size=1))
def test_types_are_the_components_of_sharing(columns: dict[str, set[int]], known: set[str]) -> None:
    atoms = [
        EvidenceAtom(name, (str(c),), True, None, 1) for name, constants in columns.items() for c in sorted(constants)
    ]
    declared = {name: Predicate(name, (Argument("known"),)) for name in known & columns.keys()}
    found = with_inferred_types(atoms, declared)
    names = sorted(columns)
    component = {name: {name} for name in names}
    for one in names:
        for other in names:
            shared = len(columns[one] & columns[other]) / min(len(columns[one]), len(columns[other]))
            if one != other and shared >= SHARED and component[one] is not component[other]:
                merged = component[one] | component[other]
                for name in merged:
                    component[name] = merged
    for one in names:
        expected = "known" if any(name in declared for name in component[one]) else f"{min(component[one]).lower()}_1"
        assert found[one].types == (expected,)


def test_two_declared_types_are_never_one() -> None:
    declared = {"P": Predicate("P", (Argument("a"),)), "Q": Predicate("Q", (Argument("b"),))}
    rows = {"P": "12345", "Q": "56789", "R": "45678", "S": "1234567"}
    atoms = [EvidenceAtom(name, (c,), True, None, 1) for name, constants in rows.items() for c in constants]
    found = with_inferred_types(atoms, declared)
    assert {name: predicate.types[0] for name, predicate in found.items()} == {"P": "a", "Q": "b", "R": "b", "S": "a"}


# ---- on the command line -----------------------------------------------------------------------------


def test_the_command_line_names_examples(tmp_path: Path) -> None:
    write(tmp_path, ai=AI, graphics=GRAPHICS)
    files = ["--evidence", f"ai={tmp_path / 'ai.db'},graphics={tmp_path / 'graphics.db'}"]
    result = CliRunner().invoke(app, ["load", str(tmp_path / "d.duckdb"), *files])
    assert result.exit_code == 0, result.output
    assert "types inferred from shared constants: Advises(advises_1, advises_2)" in " ".join(result.stderr.split())
    db = sqlrl.connect(tmp_path / "d.duckdb", progress=False)
    assert facts(db, "Student") == [("ai", "Bob"), ("ai", "Cid"), ("graphics", "Eve")]
    db.close()
    (tmp_path / "m.mln").write_text(MODEL)
    result = CliRunner().invoke(app, ["load", str(tmp_path / "e.duckdb"), *files, "--model", str(tmp_path / "m.mln")])
    assert result.exit_code == 0, result.output
    for wrong in (
        ["--evidence", f"ai={tmp_path / 'ai.db'}", "--evidence", str(tmp_path / "graphics.db")],
        ["--evidence", str(tmp_path / "ai.db")],
    ):
        assert CliRunner().invoke(app, ["load", str(tmp_path / "f.duckdb"), *wrong]).exit_code == 2


@pytest.mark.parametrize("target", ["Smokes", {"Smokes", "Cancer"}, True])
def test_targets_are_named(tmp_path: Path, target: Any) -> None:
    """Facts of the named predicates are labels, those of the others evidence."""
    db = sqlrl.connect(progress=False)
    text = "Friends(A, B)\nSmokes(A)\nCancer(B)\n"
    declared = db.load(sqlrl.Evidence(write(tmp_path, one=text, two=text), target=target))
    labels = set(declared.predicates) if target is True else {target} if isinstance(target, str) else set(target)
    roles = db.sql("select predicate, role from sqlrl.source").fetchall()
    assert set(roles) == {(name, "label" if name in labels else "fact") for name in ("Friends", "Smokes", "Cancer")}
    assert {name for name, record in db.advanced.catalog.predicates().items() if record.open} == labels


def test_a_target_without_a_fact_is_named_with_the_nearest(tmp_path: Path) -> None:
    db = sqlrl.connect(progress=False)
    with pytest.raises(LoadError, match=r"target= names 'Smoke', of which there is no fact .*did you mean 'Smokes'"):
        db.load(sqlrl.Evidence(write(tmp_path, one="Smokes(A)\n"), target=["Smoke"]))
    assert not db.advanced.catalog.predicates()
