"""The real domains of transfer: small files by hand, the library's own counts of the real ones, and the mappings between them."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
import transfer_domains
from harness import Options
from relations import TYPES, Relations
from transfer_domains import (
    DOMAINS,
    IDENTITIES,
    IMDB_TO_UW_CSE,
    LACKING,
    MAPPINGS,
    UW_CSE_TO_IMDB,
    declared,
    load_domain,
    predicates,
    read_domain,
    sizes,
    table,
)

import sqlrl

AREAS = {
    "ai": """
        advisedby(A, B)
        publication(T, A) publication(T, B) publication(U, C)
        student(A) professor(B) student(C) inphase(A, Late) hasposition(B, Full)
        tempadvisedby(C, B) yearsinprogram(A, Y3) courselevel(K, Basic)
        ta(K, A, Q1) taughtby(K, B, Q1)
        projectmember(J, B)
        sameperson(A, A) sameperson(Z, Z) samecourse(K, K) sameproject(J, J)
    """,
    "theory": """
        advisedby(A, D) publication(V, A) student(A) professor(D) inphase(A, Late) hasposition(D, Full)
        tempadvisedby(A, D) yearsinprogram(A, Y1) courselevel(K, Basic) ta(K, A, Q1) taughtby(K, D, Q2)
        sameproject(J, J) sameperson(D, D) samecourse(L, L)
    """,
}
"""Two areas: `Z`, `L`, and in the second one `J`, stand in nothing but identities."""


def write_areas(folder: Path, areas: dict[str, str]) -> Path:
    """Write a folder that looks like UW-CSE's; return the one above it."""
    inner = folder / "uw-cse"
    inner.mkdir()
    for name, text in areas.items():
        lines = [f"{atom.strip()})" for line in text.split(")") if (atom := line.strip())]
        (inner / f"{name}.db").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return write_areas(tmp_path, AREAS)


# ---- what is read ----------------------------------------------------------------------------------------------------


def test_identities_are_left_out(data: Path) -> None:
    found = read_domain(data, "uw-cse")
    assert list(found.areas) == ["ai", "theory"]
    assert found.target is None
    for facts in (found.types, *found.areas.values()):
        assert set(facts) == set(predicates("uw-cse")) == set(TYPES["uw-cse"]) - set(IDENTITIES["uw-cse"])
    assert found.areas["theory"]["projectmember"] == []
    assert found.areas["ai"]["publication"] == [("T", "A"), ("T", "B"), ("U", "C")]
    # `Z` is nobody.
    assert found.pairs("ai", "student") == [("A",), ("B",), ("C",)]
    with pytest.raises(ValueError, match="no target: name the predicate"):
        found.pairs("ai")


@pytest.mark.parametrize(
    ("fact", "others", "more"),
    [
        ("sameperson(A, B)", "", ""),
        ("samecourse(K, L)", "sameproject(I, J) samecourse(L, K)", ", and 2 more"),
    ],
)
def test_what_is_no_identity_is_refused(tmp_path: Path, fact: str, others: str, more: str) -> None:
    data = write_areas(tmp_path, {**AREAS, "theory": f"{AREAS['theory']} {fact} {others}"})
    for read in (read_domain, load_domain):
        with pytest.raises(ValueError, match=r"theory\.db: ") as caught:
            read(data, "uw-cse")
        assert f"{fact}{more} joins two constants" in str(caught.value)


def test_all_facts_are_observed_in_the_example_of_their_file(data: Path) -> None:
    db, found = load_domain(data, "uw-cse"), read_domain(data, "uw-cse")
    assert [name.partition("(")[0] for name in db.tables()["predicate"]] == sorted(predicates("uw-cse"))
    assert set(db.tables()["open"]) == {False}
    for name in predicates("uw-cse"):
        rows = {(area, *row) for area, facts in found.areas.items() for row in facts[name]}
        assert set(db.sql(f"from sqlrl.named_{name}").fetchall()) == rows


def test_a_file_that_lacks_another_predicate_is_refused(tmp_path: Path) -> None:
    assert LACKING["uw-cse"] == ("projectmember",)
    data = write_areas(tmp_path, {**AREAS, "theory": AREAS["theory"].replace("student(A)", "")})
    with pytest.raises(sqlrl.SqlrlError, match="student"):
        load_domain(data, "uw-cse")


# ---- sizes -----------------------------------------------------------------------------------------------------------


def test_atoms_are_products_of_the_domains_of_an_example(data: Path) -> None:
    found = table(Options(data, chosen={"domain": "uw-cse"}))
    rows = {(row["example"], row["predicate"]): (row["true"], row["atoms"]) for row in found}
    # Of the first one: three people, two titles, one of all else.
    by_hand = {
        "advisedby": (1, 9), "publication": (3, 6), "student": (2, 3), "professor": (1, 3), "inphase": (1, 3), "hasposition": (1, 3),
        "tempadvisedby": (1, 9), "yearsinprogram": (1, 3), "courselevel": (1, 1), "ta": (1, 3), "taughtby": (1, 3),
        "projectmember": (1, 3),
    }  # fmt: skip
    assert {name: value for (area, name), value in rows.items() if area == "ai" and name != "all"} == by_hand
    assert rows["ai", "all"] == (15, 49)
    # Two people, two quarters, no project.
    assert rows["theory", "taughtby"] == (1, 4)
    assert rows["theory", "projectmember"] == (0, 0)
    assert len(rows) == 2 * 13


def test_the_script_prints_the_table(
    data: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in DOMAINS[1:]:
        (data / name).mkdir()
    command = ["transfer_domains", "--data", str(data), "--domain", "uw-cse", "--json", "-", "--quiet"]
    monkeypatch.setattr(sys, "argv", command)
    transfer_domains.main()
    rows = json.loads(capsys.readouterr().out)
    assert rows == table(Options(data, chosen={"domain": "uw-cse"}))


ATOMS = {
    "uw-cse": [44037, 73029, 13062, 59777, 68196],
    "imdb": [4234, 4366, 4331, 2332, 2530],
    "webkb-relational": [16965, 30096, 12921, 18150],
}
"""All atoms of each example."""


@pytest.mark.parametrize("domain", DOMAINS)
def test_sizes_are_those_that_the_library_counts(domain: str, data_folder: Path) -> None:
    rows = sizes(domain, read_domain(data_folder, domain))
    db = load_domain(data_folder, domain)
    text = "".join(f"1 {name}({', '.join('xyz'[: len(types)])})\n" for name, types in predicates(domain).items())
    counts = db.count(sqlrl.parse_mln(declared(domain) + text)).to_arrow().to_pylist()
    for name, counted in zip(predicates(domain), counts, strict=True):
        own = [row for row in rows if row["predicate"] == name]
        assert (sum(row["true"] for row in own), sum(row["atoms"] for row in own)) == (
            counted["n"],
            counted["groundings"],
        )  # type: ignore[misc]
    assert [row["atoms"] for row in rows if row["predicate"] == "all"] == ATOMS[domain]


# ---- mappings --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("pair", MAPPINGS, ids=" to ".join)
def test_mappings_keep_types_and_arities(pair: tuple[str, str]) -> None:
    source, target = (predicates(name) for name in pair)
    mapping = MAPPINGS[pair]
    assert set(mapping) == set(source)
    found = [x for x in mapping.values() if x is not None]
    assert len(set(found)) == len(found)
    kinds: dict[str, str] = {}
    for name, other in mapping.items():
        if other is not None:
            types = zip(source[name], target[other], strict=True)
            assert all(kinds.setdefault(one, its) == its for one, its in types)
    assert len(set(kinds.values())) == len(kinds)


def test_one_mapping_is_the_inverse_of_another() -> None:
    assert {UW_CSE_TO_IMDB[x] for x in UW_CSE_TO_IMDB} - {None} == set(predicates("imdb"))
    assert all(source is not None and UW_CSE_TO_IMDB[source] == target for target, source in IMDB_TO_UW_CSE.items())


def test_a_target_has_all_pairs_of_people_as_query_atoms(data: Path) -> None:
    found = read_domain(data, "uw-cse")
    db = Relations("advisedby", found.types, found.areas).load()
    model = sqlrl.parse_mln(declared("uw-cse") + "1 publication(t, x) ^ publication(t, y) => advisedby(x, y)")
    predicted = db.predict(model).atoms("advisedby", every=True)
    assert predicted.num_rows == 3 * 3 + 2 * 2
