"""Query atoms, helper atoms and clauses of templates are counted before they are made, and refused beyond a limit."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import sqlrl
from sqlrl.catalog.sizes import ATOM_BYTES, ATOM_LIMIT, memory_of
from sqlrl.cli.words import in_options
from sqlrl.database.database import Database
from sqlrl.engine.duckdb import DuckDBEngine
from sqlrl.errors import CatalogError, GroundingLimitError, InputError, SqlrlError

PEOPLE, GROUPS = 30, 4


def nothing(_: Database) -> None:
    """Load no more."""


def by_group(db: Database) -> None:
    """Make the groups examples, so that people are local to them: 4 * 7 or 8 of each, and 2 * 7**2 + 2 * 8**2 pairs."""
    rows = [(f"g{i % GROUPS}", f"p{i}") for i in range(PEOPLE)]
    db.load("Member", rows, types=["group", "person"], example="group")


def soft(db: Database) -> None:
    """Load soft evidence, whose atoms are those of a predicate that is no target."""
    db.load("Likes", [(f"p{i}", f"p{j}", 0.5) for i in range(9) for j in range(5)], columns=[0, 1], probability=2,
            types=["person", "person"])  # fmt: skip


@dataclass(frozen=True)
class Case:
    """A model with its open predicates and data, how many atoms it has, and how many were made before those beyond the limit."""

    text: str
    query: tuple[str, ...]
    atoms: int
    load: Callable[[Database], None] = nothing
    kind: type[SqlrlError] = CatalogError
    words: str = ""
    below: int = 0


CASES = {
    "unary": Case("Smokes(person)\n1 Smokes(x)", ("Smokes",), 30, words=r"30 query atoms of Smokes"),
    "pairs": Case("Likes(person, person)\nLikes(x, x).", ("Likes",), 900, words=r"db\.scope\('Likes', \.\.\.\)"),
    "together": Case(
        "Likes(person, person)\nSmokes(person)\n1 Likes(x, y) => Smokes(x)", ("Likes", "Smokes"), 930,
        words=r"930 query atoms \(900 of Likes, 30 of Smokes\)",
    ),
    "local": Case(
        "Member(group, person)\nLikes(group, person, person)\n1 Likes(g, x, y)", ("Likes",), 226, by_group,
        words="226 query atoms",
    ),
    "soft": Case("Likes(person, person)\n1 Likes(x, x)", (), 45, soft, words="45 query atoms of Likes"),
    # The helper (x) comes after its witnesses (x, z).
    "helpers": Case(
        "Smokes(person)\nLikes(person, person)\n1 !(EXIST z (Smokes(z) ^ Likes(x, z)))", ("Smokes", "Likes"),
        1860, kind=GroundingLimitError, below=1830,
        words=r"needs up to 30 helper atoms, .* about 7.5 kB beside 1,830 atoms, more than the limit of 1,859 on all atoms: ",
    ),
    "template": Case(
        "Smokes(person)\n1 Smokes(+x) v Smokes(+y)", ("Smokes",), 900, kind=GroundingLimitError,
        below=30,
        words=r"Smokes\(\+x\) v Smokes\(\+y\): with a clause for each combination of \+x and \+y there would be 900 clauses",
    ),
}  # fmt: skip

VERBS: dict[str, Callable[[Database, sqlrl.Model], Any]] = {
    "predict": lambda db, model: db.predict(model),
    "marginals": lambda db, model: db.probabilities(model, samples=10),
    "count": lambda db, model: db.count(model),
    "ground": lambda db, model: db.advanced.ground(model),
    "fit": lambda db, model: sqlrl.AdaGrad(passes=1).fit(db, model),
}


def opened(case: Case, limit: int, path: str | Path = ":memory:") -> tuple[Database, sqlrl.Model]:
    db = sqlrl.connect(path, atom_limit=limit)
    db.load("Person", [(f"p{i}",) for i in range(PEOPLE)], types=["person"], duplicates="drop")
    case.load(db)
    return db, sqlrl.parse_mln(f"Person(person)\n{case.text}", query=case.query)


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return the rows of each table of atoms or expansions that is made."""
    sizes: list[int] = []
    create, append = DuckDBEngine.create_table, DuckDBEngine.append

    def noted(self: DuckDBEngine, name: Any, *rest: Any, **options: Any) -> int:
        rows = create(self, name, *rest, **options)
        if re.match(r"atom_|scratch_.*atoms_", name.name):
            sizes.append(rows)
        return rows

    def added(self: DuckDBEngine, name: Any, *rest: Any, **options: Any) -> None:
        sizes.append(-1)
        append(self, name, *rest, **options)

    monkeypatch.setattr(DuckDBEngine, "create_table", noted)
    monkeypatch.setattr(DuckDBEngine, "append", added)
    return sizes


@pytest.mark.parametrize("name", CASES)
def test_one_more_than_the_limit_is_refused_before_it_is_made(name: str, made: list[int]) -> None:
    case = CASES[name]
    db, model = opened(case, case.atoms - 1)
    made.clear()
    with pytest.raises(case.kind, match=case.words) as caught:
        db.advanced.ground(model)
    text = str(caught.value)
    assert f"limit of {case.atoms - 1:,}" in text
    assert f"open the database with atom_limit={case.atoms}" in text
    assert f"--atom-limit {case.atoms}" in in_options(caught.value.message)
    assert "about" in text
    assert sum(made) == case.below
    assert -1 not in made
    # As many as the limit are made.
    db.advanced.catalog.atom_limit = case.atoms
    network = db.advanced.ground(model)
    assert max(len(network.atoms), len(network.clauses)) == case.atoms
    db.close()


def test_every_verb_refuses() -> None:
    db, model = opened(CASES["pairs"], 500)
    with db.cursor() as other:
        for verb in VERBS.values():
            with pytest.raises(
                CatalogError, match=r"there would be 900 query atoms of Likes, about 225 kB, more than the limit of 500"
            ):
                verb(db, model)
            with pytest.raises(CatalogError, match="limit of 500"):
                verb(other, model)
    db.close()


def test_the_default_refuses_what_no_memory_holds() -> None:
    db = sqlrl.connect()
    model = sqlrl.parse_mln("person = {1,...,6000}\nAdvisedBy(person, person)\n!AdvisedBy(x, x).", query=["AdvisedBy"])
    with pytest.raises(
        CatalogError, match=r"36,000,000 query atoms of AdvisedBy, about 9 GB, more than the limit of 20,000,000"
    ):
        db.predict(model)
    assert memory_of(ATOM_LIMIT) == f"about {ATOM_LIMIT * ATOM_BYTES // 10**9} GB"
    db.close()


def test_a_scope_is_counted_before_it_is_read(made: list[int]) -> None:
    db, model = opened(CASES["pairs"], 100)
    pairs = "select a.name, b.name from sqlrl.dictionary_person a, sqlrl.dictionary_person b"
    made.clear()
    with pytest.raises(
        CatalogError, match=r"the scope of Likes has 900 rows, .* \(about 225 kB\), more than the limit of 100"
    ):
        db.scope("Likes", pairs)
    assert "scope" not in " ".join(name for (name,) in db.sql("select table_name from duckdb_tables()").fetchall())
    db.scope("Likes", f"{pairs} where a.id < 3")
    assert db.advanced.bind(model).predicates["Likes"].atom_count == 90
    db.close()


@pytest.mark.slow
def test_atoms_that_were_made_under_a_greater_limit_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "a.duckdb"
    db, model = opened(CASES["pairs"], 900, path)
    db.predict(model)
    db.close()
    with sqlrl.connect(path, atom_limit=899) as db, pytest.raises(CatalogError, match="limit of 899"):
        db.predict(model)
    with sqlrl.connect(path, atom_limit=900) as db:
        assert len(db.advanced.ground(model).atoms) == 900


@pytest.mark.parametrize("limit", [0, -1, True, 2.5, "many", None, float("nan")])
def test_what_is_no_limit_is_refused(limit: Any) -> None:
    with pytest.raises(InputError, match=r"^atom_limit=.* must be a whole number of atoms, 1 or more\.$"):
        sqlrl.connect(atom_limit=limit)
