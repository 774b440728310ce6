"""Every verb on every kept file of an older layout does what it does on a file that is written now with the same data."""

from __future__ import annotations

import inspect
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import sqlrl
from sqlrl.errors import EngineError, SqlrlError
from tests.fixtures import build_layout_1, build_layout_4, build_layout_5, build_stopped_run

FIXTURES = Path(__file__).parent.parent / "fixtures"


@dataclass(frozen=True)
class Kept:
    """A kept file: who writes its data now, its model, and what verbs are asked about."""

    build: Callable[[Path], None]
    model: Callable[[], Any]
    target: str
    closed: str
    row: tuple[str, ...]
    scope: tuple[str, ...]
    soft: bool = False


def build_1(path: Path) -> None:
    """Write the data of the file of layout 1; the table of clauses has other columns since."""
    words = [("b1", "p0", "on"), ("b1", "p1", "rules"), ("b2", "p0", "rules")]
    fields = [("b1", "title", "p0"), ("b1", "title", "p1"), ("b2", "author", "p0")]
    with sqlrl.connect(path, progress=False) as db:
        db.load("Word", words, example="bib", types=["bib", "position", "word"])
        db.load("Field", fields, types=["bib", "field", "position"], target=True)
        db.advanced.catalog.bind(sqlrl.parse_mln(build_layout_1.MODEL), training=True)


KEPT = {
    "layout_1": Kept(
        build_1,
        lambda: sqlrl.parse_mln("1.5 Word(b, p, rules) => Field(b, title, p)\n0.5 Field(b, f, p)\n" + build_layout_1.MODEL.split("\n")[0] + "\nField(bib, field!, position)"),
        "Field", "Word", ("b2", "p1", "new"), ("b1", "title", "p1"),
    ),
    "layout_4": Kept(
        build_layout_4.build, lambda: sqlrl.parse_mln(build_layout_4.MODEL, query=["Smokes"]), "Cancer", "Friends", ("Anna", "Emil"), ("Anna",)
    ),
    "layout_5": Kept(build_layout_5.build, lambda: sqlrl.parse_psl("2: Trusts(A, B) & Smokes(A) -> Smokes(B) ^2\n1: !Smokes(A) ^2\n"), "Smokes", "Trusts", ("Anna", "Emil"), ("Bob",), soft=True),
    "stopped_run": Kept(build_stopped_run.build, build_stopped_run.whole, "Liked", "Word", ("d01", "new"), ("d01",)),
}  # fmt: skip

Verb = Callable[[sqlrl.Database, Kept, Path], Any]


def _evaluated(db: sqlrl.Database, kept: Kept, path: Path) -> Any:
    return db.evaluate(db.predict(kept.model()))


def _learned(db: sqlrl.Database, kept: Kept, path: Path) -> Any:
    if kept.soft:
        return sqlrl.SoftMapLikelihood(max_iterations=2).fit(db, kept.model(), limit=None).run_ > 0
    return sqlrl.Likelihood(max_iterations=2).fit(db, kept.model()).run_ > 0


VERBS: dict[str, Verb] = {
    "audit": lambda db, kept, path: db.audit(kept.target),
    "close": lambda db, kept, path: db.close(),
    "count": lambda db, kept, path: db.count(kept.model()),
    "cursor": lambda db, kept, path: db.cursor().tables(),
    "define": lambda db, kept, path: db.define(f"defined({', '.join('xyz'[: len(kept.row)])}) :- {kept.closed}({', '.join('xyz'[: len(kept.row)])})."),
    "diagnose": lambda db, kept, path: db.diagnose(kept.model()),
    "evaluate": _evaluated,
    "export": lambda db, kept, path: db.export(kept.model(), path / "network.wcnf"),
    "fit": _learned,
    "load": lambda db, kept, path: db.load(kept.closed, [(*kept.row, 0.5) if kept.soft else kept.row], mode="append"),
    "models": lambda db, kept, path: [model.name for model in db.models.values()] if hasattr(db.models, "values") else str(db.models),
    "predict": lambda db, kept, path: db.predict(kept.model(), keep=True),
    "prepare": lambda db, kept, path: db.prepare(kept.model()),
    "probabilities": lambda db, kept, path: db.probabilities(kept.model()),
    "refresh": lambda db, kept, path: db.refresh(),
    "run": lambda db, kept, path: db.run("SELECT count(*) FROM sqlrl.run; SHOW TABLES;"),
    "runs": lambda db, kept, path: db.runs[-1].learner,
    "scope": lambda db, kept, path: db.scope(kept.target, [kept.scope]),
    "split": lambda db, kept, path: db.split(0.5, predicate=kept.target, model=None if kept.soft else kept.model()),
    "sql": lambda db, kept, path: db.sql(f"select * from sqlrl.named_{kept.closed}").columns,
    "sql of the target": lambda db, kept, path: db.sql(f"select * from sqlrl.named_{kept.target}").columns,
    "tables": lambda db, kept, path: str(db.tables()),
}  # fmt: skip


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of files that are written now."""
    folder = tmp_path_factory.mktemp("written")
    for name, kept in KEPT.items():
        kept.build(folder / f"{name}.duckdb")
    return folder


def test_no_verb_is_forgotten() -> None:
    verbs = {name for name, _ in inspect.getmembers(sqlrl.Database) if not name.startswith("_")}
    assert verbs - VERBS.keys() == {"advanced"} & verbs


def outcome(file: Path, name: str, verb: Verb, tmp_path: Path) -> tuple[str, str]:
    """What a verb gives: its kind and, of plain values, the value; or the error."""
    with sqlrl.connect(shutil.copy(file, tmp_path / file.name), progress=False) as db:
        try:
            found = verb(db, KEPT[name], tmp_path)
        except EngineError as error:
            pytest.fail(f"{type(error).__name__}: {error}")
        except SqlrlError as error:
            return type(error).__name__, str(error)
        plain = isinstance(found, str | bool | int | list | type(None))
        return type(found).__name__, str(found) if plain else ""


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("name", KEPT)
def test_a_verb_on_a_kept_file(name: str, verb: str, written: Path, tmp_path: Path) -> None:
    # The files that are written now are learned and predicted with: some ten seconds, and as much for 80 verbs.
    old = outcome(FIXTURES / f"{name}.duckdb", name, VERBS[verb], tmp_path)
    assert old == outcome(written / f"{name}.duckdb", name, VERBS[verb], tmp_path)
