"""Evidence files: what stands twice, contradicts itself or is missing, in one file or several."""

from __future__ import annotations

from pathlib import Path

import pytest
from sqlglot import exp

import sqlrl
from sqlrl.catalog.catalog import Catalog
from sqlrl.engine.connection import connect
from sqlrl.errors import InputError, LoadError, LoadWarning, ModelError, SourceWarning
from sqlrl.logic.evidence import parse_evidence
from sqlrl.logic.mln import parse_mln

MODEL = parse_mln("P(s)\nQ(s, s)\nP(x) => Q(x, y)")


@pytest.fixture
def catalog() -> Catalog:
    return Catalog(connect(":memory:", threads=1))


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    texts = {"a.db": "P(A)\nQ(A, B)\n", "b.db": "// more\nP(B)\n0.3 Q(B, B)\n"}
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    return [tmp_path / name for name in texts]


def named(catalog: Catalog, predicate: str) -> list[dict[str, object]]:
    view = catalog.predicates()[predicate].readable
    assert view is not None
    return catalog.store.rows(exp.select("*").from_(catalog.store.table(view)), "read")


def rows(catalog: Catalog) -> dict[tuple[str, str], int]:
    return {key: source.rows for key, source in catalog.store.sources().items()}


def test_duplicates_are_refused_dropped_or_warned_of(catalog: Catalog, tmp_path: Path) -> None:
    path = tmp_path / "e.db"
    path.write_text("P(A)\n0.5 Q(A, B)\nP(A)\n?Q(B, A)\n0.5 Q(A, B)\n?Q(B, A)\n")
    message = (
        r"e\.db: duplicate facts: P\(A\) \(lines 1 and 3\), Q\(A, B\) \(lines 2 and 5\), Q\(B, A\) \(lines 4 and 6\)"
    )
    with pytest.raises(LoadError, match=message + r': remove the repetitions or pass duplicates="drop"'):
        catalog.load_evidence(sqlrl.Evidence(path, MODEL))
    assert catalog.predicates() == {}
    catalog.load_evidence(sqlrl.Evidence(path, MODEL, duplicates="drop"))
    assert rows(catalog) == {("P", "fact"): 1, ("Q", "soft"): 2}
    with pytest.warns(LoadWarning, match=message + "; each counts once") as caught:
        catalog.load_evidence(sqlrl.Evidence(path, MODEL, duplicates="warn"))
    assert caught[0].filename == __file__
    assert rows(catalog) == {("P", "fact"): 1, ("Q", "soft"): 2}


def test_many_duplicates_are_counted(catalog: Catalog) -> None:
    atoms = parse_evidence("".join(f"P(A{i})\n" for i in range(8)) * 2)
    with pytest.raises(LoadError, match=r"P\(A4\) \(lines 5 and 13\) and 3 others: remove"):
        catalog.load_evidence(sqlrl.Evidence(atoms, MODEL))


def test_a_contradiction_is_no_duplicate(catalog: Catalog) -> None:
    for text in ("P(A)\n!P(A)", "?P(A)\nP(A)", "0.2 P(A)\n0.3 P(A)"):
        for duplicates in ("error", "drop"):
            with pytest.raises(LoadError) as raised:
                catalog.load_evidence(sqlrl.Evidence(parse_evidence(text), MODEL, duplicates=duplicates))
            assert str(raised.value) == "the evidence: lines 1 and 2 contradict each other about P(A): remove one"


def test_empty_files(catalog: Catalog, tmp_path: Path, files: list[Path]) -> None:
    path = tmp_path / "e.db"
    path.write_text("// nothing\n")
    with pytest.raises(LoadError, match=r'e\.db: there are no atoms; pass empty="allow"'):
        catalog.load_evidence(sqlrl.Evidence(path, MODEL))
    with pytest.raises(LoadError, match=r"there are no atoms in .*e\.db; pass"):
        catalog.load_evidence(sqlrl.Evidence([*files, path], MODEL))
    with pytest.raises(LoadError, match="the evidence: there are no atoms"):
        catalog.load_evidence(sqlrl.Evidence([], MODEL))
    with pytest.warns(LoadWarning, match=r"e\.db: there are no atoms"):
        catalog.load_evidence(sqlrl.Evidence(path, MODEL, empty="warn"))
    catalog.load_evidence(sqlrl.Evidence([path, *files], MODEL, empty="allow"))
    assert rows(catalog) == {("P", "fact"): 2, ("Q", "fact"): 1, ("Q", "soft"): 1}


def test_several_files_count_as_one(catalog: Catalog, files: list[Path], tmp_path: Path) -> None:
    catalog.load_evidence(sqlrl.Evidence(list(map(str, files)), MODEL))
    assert named(catalog, "P") == [{"s": "A"}, {"s": "B"}]
    assert catalog.store.sources()["P", "fact"].source == f"{files[0]}, {files[1]}"
    more = tmp_path / "c.db"
    more.write_text("\n!P(A)\nP(B)\n")
    with pytest.raises(LoadError) as raised:
        catalog.load_evidence(sqlrl.Evidence([*files, more], MODEL))
    assert f"{files[0]}:1 and {more}:2 contradict each other about P(A): remove one" in str(raised.value)
    assert f"duplicate facts: P(B) ({files[1]}:2 and {more}:3)" in str(raised.value)


def test_a_second_call_never_loses_facts_without_a_word(catalog: Catalog, files: list[Path]) -> None:
    catalog.load_evidence(sqlrl.Evidence(files[0], MODEL))
    with pytest.raises(LoadError) as raised:
        catalog.load_evidence(sqlrl.Evidence(files[1], MODEL))
    remedy = "name all files in one Evidence, or pass replace=True to put these facts in their place."
    assert str(raised.value) == f"{files[1]}: P has facts from {files[0]} already: {remedy}"
    assert rows(catalog) == {("P", "fact"): 1, ("Q", "fact"): 1}
    with pytest.raises(LoadError, match="P has facts from"):
        catalog.load_evidence(sqlrl.Evidence(parse_evidence("P(C)"), MODEL))
    catalog.load_evidence(sqlrl.Evidence(parse_evidence("P(C)"), MODEL, target=True))
    catalog.load_evidence(sqlrl.Evidence(files[1], MODEL, replace=True))
    assert rows(catalog) == {("P", "fact"): 1, ("P", "label"): 1, ("Q", "fact"): 1, ("Q", "soft"): 1}
    catalog.load("P", [("D",)])
    with pytest.raises(LoadError, match="P has facts from the tuples already"):
        catalog.load_evidence(sqlrl.Evidence(files[1], MODEL))


def test_a_file_that_changed_takes_its_own_place(catalog: Catalog, files: list[Path]) -> None:
    first = files[1]
    catalog.load_evidence(sqlrl.Evidence(first, MODEL))
    layout = catalog.bind(MODEL, training=True)
    assert layout.predicates["Q"].open
    assert layout.types["s"].size == 1
    first.write_text("P(A)\nP(C)\nQ(C, C)\n")
    catalog.load_evidence(sqlrl.Evidence(first, MODEL))
    assert rows(catalog) == {("P", "fact"): 2, ("Q", "fact"): 1}
    assert named(catalog, "Q") == [{"s": "C", "s_2": "C"}]
    assert not catalog.predicates()["Q"].open
    layout = catalog.bind(MODEL, training=True)
    assert not layout.predicates["Q"].open
    assert layout.types["s"].size == 2
    first.write_text("P(A)\n")
    catalog.load_evidence(sqlrl.Evidence(first, MODEL))
    record = catalog.predicates()["Q"]
    assert (record.rows, record.readable, record.facts) == (0, None, None)


def test_constants_go_with_the_last_facts_of_a_file(catalog: Catalog, files: list[Path]) -> None:
    files[0].write_text("Q(B, C)\n")
    catalog.load_evidence(sqlrl.Evidence(files[0], MODEL))
    files[0].write_text("P(A)\n")
    catalog.load_evidence(sqlrl.Evidence(files[0], MODEL))
    assert rows(catalog) == {("P", "fact"): 1}
    assert catalog.bind(parse_mln("P(s)\nP(x)", query=["P"]), training=False).types["s"].size == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"duplicates": "keep"}, "duplicates='keep' must be 'error', 'drop' or 'warn'"),
        ({"empty": "drop"}, "empty='drop' must be 'error', 'allow' or 'warn'"),
        ({"given": True, "target": True}, "choose one"),
    ],
)
def test_wrong_options(catalog: Catalog, options: dict[str, object], message: str) -> None:
    with pytest.raises(LoadError, match=message):
        catalog.load_evidence(sqlrl.Evidence(parse_evidence("P(A)"), MODEL, **options))  # type: ignore[arg-type]
    with pytest.raises(LoadError, match="takes paths or evidence atoms, not 7"):
        catalog.load_evidence(sqlrl.Evidence([7], MODEL))  # type: ignore[list-item]


def test_a_single_name_is_one_predicate_for_each_role() -> None:
    one = sqlrl.Evidence("Friends(A, B)", sqlrl.parse_mln("Friends(person, person)"), drop="Friends")
    assert one.drop == {"Friends"}
    for role in ("drop", "query", "hidden", "empty"):
        assert getattr(sqlrl.Roles(**{role: "Friends"}), role) == ("Friends",)
    assert sqlrl.Roles("Friends") == sqlrl.Roles(drop=["Friends"])
    with pytest.raises(InputError, match="drop= takes names of predicates, and 3 is none"):
        sqlrl.Evidence("Friends(A, B)", drop=[3])  # type: ignore[list-item]


def test_facts_of_dropped_predicates_are_skipped(catalog: Catalog, files: list[Path], tmp_path: Path) -> None:
    only = tmp_path / "only.db"
    only.write_text("Q(C, D)\nQ(C, D)\n")
    catalog.load_evidence(sqlrl.Evidence([*files, only], MODEL, drop=["Q"]))
    assert rows(catalog) == {("P", "fact"): 2}
    assert catalog.types()["s"].size == 2
    with pytest.raises(ModelError, match="there is no predicate 'R' to drop"):
        catalog.load_evidence(sqlrl.Evidence(files, MODEL, drop=["R"]))


def test_full_paths_are_recorded(
    catalog: Catalog, files: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    catalog.load_evidence(sqlrl.Evidence("a.db", MODEL))
    assert {s.source for s in catalog.store.sources().values()} == {str(tmp_path / "a.db")}
    (tmp_path / "below").mkdir()
    monkeypatch.chdir(tmp_path / "below")
    catalog.load_evidence(sqlrl.Evidence(files[0], MODEL))
    files[0].unlink()
    with pytest.warns(
        SourceWarning, match=r"a\.db, from which [PQ] was loaded, is gone: what was loaded from it is used"
    ):
        catalog.bind(parse_mln("P(s)\nQ(s, s)\nP(x) => Q(x, y)", query=["Q"]), training=False)
