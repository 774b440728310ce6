"""Names that were public before: each warns once, names what to write, and gives what the new name gives."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import sqlrl
from sqlrl.catalog.migrations import layout_script
from sqlrl.cli.app import app
from sqlrl.database.database import Database
from sqlrl.deprecated import ARGUMENTS, COMMAND_OPTIONS, MODULES, NAMES, SQL_FUNCTIONS, SQL_OPTIONS
from sqlrl.report import QuietConsole

RULES = "1 Friends(x, y) ^ Smokes(x) => Smokes(y)\n0.5 Smokes(x)\nSmokes(x) v !Smokes(x)."
MODEL = sqlrl.parse_mln("Friends(person, person)\nSmokes(person)\n" + RULES, query=["Smokes"])
WEIGHTED = sqlrl.parse_mln(
    "Friends(person, person)\nSmokes(person)\n1 Friends(x, y) ^ Smokes(x) => Smokes(y)", query=["Smokes"]
)
SAME = sqlrl.parse_mln(
    "Friends(person, person)\nSame(person, person)\n1 Friends(x, y) => Same(x, y)\nSame(x, y) => Same(y, x).\n"
    "Same(x, y) ^ Same(y, z) => Same(x, z).",
    query=["Same"],
)
PSL = sqlrl.parse_psl(
    '{"rules": ["1: A(X) -> B(X)"], "predicates": {"A/1": {"observations": [["x", 0.5]]}, "B/1": {"targets": [["x"]]}}}'
)
GRAMMAR = sqlrl.parse_grammar("NEAR(x, y) = {Friends} extender 2\nNEAR(x, y) ^ Smokes(x) ^ Smokes(y)")
NOBODY = "select 'Anna' as person where false"
ANNA = "select 'Anna' as person"
QUERY = {"query": ["Smokes"]}

Call = Callable[[Any], Any]


def opened() -> Database:
    db = sqlrl.connect()
    db.load("Friends", [("Anna", "Bob"), ("Bob", "Chris")], types=["person", "person"])
    return db


def labelled() -> Database:
    db = opened()
    db.load("Smokes", [("Anna",)], types=["person"], target=True)
    return db


def with_model() -> Database:
    db = opened()
    db.models["rules"] = MODEL
    return db


def with_run() -> Database:
    db = opened()
    db.predict(WEIGHTED, keep=True)
    return db


def documents() -> Database:
    db = sqlrl.connect()
    db.load("Word", [("d1", "a"), ("d2", "b")], types=["doc", "word"])
    return db


def labelled_documents() -> Database:
    db = documents()
    db.load(example="doc")
    db.load("Liked", [("d1",)], types=["doc"], target=True)
    db.advanced.bind(sqlrl.parse_mln("Word(doc, word)\nLiked(doc)\n1 Word(d, w) => Liked(d)"))
    return db


def tables(db: Database) -> Any:
    """What a load changed."""
    return db.tables(), db.sql("from sqlrl.type order by type").fetchall(), db.advanced.catalog.types()


def solution(folder: Path) -> Path:
    path = folder / "answer"
    path.write_text("s OPTIMUM FOUND\nv 1 2 3 0\n", encoding="utf-8")
    return path


def plain(found: Any) -> Any:
    """What can be compared of a result."""
    if isinstance(found, type):
        return found
    if hasattr(found, "to_arrow"):
        return found.to_arrow()
    if hasattr(found, "atoms") and callable(found.atoms):
        return found.atoms()
    if hasattr(found, "probabilities"):
        return found.probabilities()
    if hasattr(found, "query") and hasattr(found, "text"):
        return found.text
    if isinstance(found, list | tuple | int | str | sqlrl.Model | sqlrl.Bias | dict | pa.Table) or found is None:
        return found
    if hasattr(found, "tolist"):
        return found.tolist()
    return type(found)


def entered(context: Any) -> int:
    with context as program:
        return int(program.clause_count)


EVIDENCE = "Smokes(Anna)\nSmokes(Bob)"

CASES: dict[str, tuple[Callable[[], Database], Call, Call]] = {
    "load_all": (
        sqlrl.connect,
        lambda db: (db.load_all({"P": [("a",)]}, {"P": ["t"]}, nulls="drop"), tables(db)),
        lambda db: (db.load({"P": [("a",)]}, types={"P": ["t"]}, nulls="drop"), tables(db)),
    ),
    "load_evidence": (
        opened,
        lambda db: (db.load_evidence(EVIDENCE, MODEL, target=True), tables(db)),
        lambda db: (db.load(sqlrl.Evidence(EVIDENCE, MODEL, target=True)), tables(db)),
    ),
    "load_soft_data": (sqlrl.connect, lambda db: db.load_soft_data(PSL, split="infer"), lambda db: db.load(PSL)),
    "register": (
        opened,
        lambda db: (db.register("shown", pa.table({"a": [1]})), db.sql("from shown").fetchall()),
        lambda db: (db.load("shown", pa.table({"a": [1]}), mode="view"), db.sql("from shown").fetchall()),
    ),
    "remove": (
        opened,
        lambda db: (db.remove("Friends", [("Anna", "Bob")]), tables(db)),
        lambda db: (db.load("Friends", [("Anna", "Bob")], mode="remove"), tables(db)),
    ),
    "set_local": (
        documents,
        lambda db: (db.set_local("word", False), tables(db)),
        lambda db: (db.load(local={"word": False}), tables(db)),
    ),
    "set_numeric": (
        opened,
        lambda db: (db.set_numeric("year"), db.load("Old", [("1.0",)], types=["year"]), tables(db)),
        lambda db: (db.load(numeric=["year"]), db.load("Old", [("1.0",)], types=["year"]), tables(db)),
    ),
    "examples_from": (
        documents,
        lambda db: (db.examples_from("doc"), db.sql("from sqlrl.example").fetchall()),
        lambda db: (db.load(example="doc"), db.sql("from sqlrl.example").fetchall()),
    ),
    "predicates": (opened, lambda db: db.predicates(), lambda db: db.tables()),
    "marginals": (
        opened,
        lambda db: db.marginals(WEIGHTED, method="gibbs", samples=20, seed=3, query=["Smokes"]),
        lambda db: db.probabilities(
            WEIGHTED, method="gibbs", samples=20, random_state=3, roles=sqlrl.Roles(query=["Smokes"])
        ),
    ),
    "clusters": (
        opened,
        lambda db: db.clusters(db.predict(SAME), "Same"),
        lambda db: db.predict(SAME).clusters("Same"),
    ),
    "count_difference": (
        opened,
        lambda db: db.count_difference(WEIGHTED, ANNA, NOBODY, **QUERY),
        lambda db: db.count(WEIGHTED, world=ANNA, against=NOBODY, roles=sqlrl.Roles(**QUERY)),
    ),
    "expected_counts": (
        labelled,
        lambda db: db.expected_counts(WEIGHTED, None, keep=True),
        lambda db: db.count(WEIGHTED, expected=True, keep=True),
    ),
    "constraint_costs": (
        opened,
        lambda db: db.constraint_costs(MODEL, None, growth=1.5),
        lambda db: db.diagnose(MODEL, kind="costs", growth=1.5),
    ),
    "overlap": (opened, lambda db: db.overlap(MODEL, None), lambda db: db.diagnose(MODEL, kind="overlap")),
    "explain": (
        opened,
        lambda db: db.explain(WEIGHTED, **QUERY).table(),
        lambda db: WEIGHTED.plan(db, roles=sqlrl.Roles(**QUERY)).table(),
    ),
    "export_sql": (
        opened,
        lambda db: db.export_sql(
            sqlrl.parse_mln("Friends(person, person)\nPopular(person)\n1 Friends(x, y) => Popular(y)", query="Popular"),
            "Popular", dialect="sqlite", view="popular", tables={"Friends": "friends"},
        ),
        lambda db: db.export(
            sqlrl.parse_mln("Friends(person, person)\nPopular(person)\n1 Friends(x, y) => Popular(y)", query="Popular"),
            format="sql", dialect="sqlite",
            options=sqlrl.SQLOptions(target="Popular", view="popular", tables={"Friends": "friends"}),
        ),
    ),
    "model": (with_model, lambda db: (db.model(), db.model("rules"), db.model(1))[0], lambda db: db.models[-1]),
    "keep_model": (opened, lambda db: db.keep_model("a", MODEL), lambda db: db.models.keep("a", MODEL)),
    "drop_model": (
        with_model,
        lambda db: (db.drop_model("rules"), db.models())[1],
        lambda db: (db.models.__delitem__("rules"), db.models())[1],
    ),
    "run_record": (with_run, lambda db: db.run_record(1).parameters, lambda db: db.runs[1].parameters),
    "candidates": (
        labelled,
        lambda db: db.candidates(GRAMMAR, sqlrl.parse_mln("Friends(person, person)\nSmokes(person)")),
        lambda db: GRAMMAR.candidates(db, sqlrl.parse_mln("Friends(person, person)\nSmokes(person)")),
    ),
    "derive_bias": (
        labelled,
        lambda db: db.derive_bias("Smokes", constants=2),
        lambda db: sqlrl.Bias.derive(db, "Smokes", constants=2),
    ),
    "ground": (
        opened,
        lambda db: db.ground(WEIGHTED, hidden=["Smokes"], query=["Friends"]).literals,
        lambda db: db.advanced.ground(WEIGHTED, roles=sqlrl.Roles(hidden=["Smokes"], query=["Friends"])).literals,
    ),
    "program": (
        opened,
        lambda db: entered(db.program(WEIGHTED, **QUERY)),
        lambda db: entered(db.advanced.program(WEIGHTED, roles=sqlrl.Roles(**QUERY))),
    ),
    "bind": (
        opened,
        lambda db: db.bind(WEIGHTED, **QUERY).predicates["Smokes"].atom_count,
        lambda db: db.advanced.bind(WEIGHTED, roles=sqlrl.Roles(**QUERY)).predicates["Smokes"].atom_count,
    ),
    "check_atoms": (
        opened,
        lambda db: db.check_atoms(WEIGHTED, ["Smokes(Bob)"], **QUERY),
        lambda db: db.advanced.check_atoms(WEIGHTED, ["Smokes(Bob)"], roles=sqlrl.Roles(**QUERY)),
    ),
    "example_ids": (
        labelled_documents,
        lambda db: db.example_ids(["d2"]),
        lambda db: db.advanced.example_ids(["d2"]),
    ),
    **{
        name: (opened, lambda db, name=name: type(getattr(db, name)), lambda db, name=name: type(getattr(db.advanced, name)))
        for name in ("engine", "catalog", "records", "learning", "console", "session")
    },
}  # fmt: skip


def warned(call: Call, db: Any) -> tuple[Any, list[str]]:
    """What a call returns, and its warnings, all of which are FutureWarning at this file."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        found = call(db)
    assert {each.category for each in seen} <= {FutureWarning}, [str(each.message) for each in seen]
    assert {Path(each.filename).name for each in seen} <= {Path(__file__).name}
    return found, [str(each.message) for each in seen]


@pytest.mark.parametrize("name", sorted(NAMES["Database"] | {"read_solution": None}))
def test_an_old_name_warns_once_and_gives_what_the_new_one_gives(name: str, tmp_path: Path) -> None:
    old = NAMES["Database"][name]
    if name == "read_solution":
        path = solution(tmp_path)
        make: Callable[[], Database] = opened
        before: Call = lambda db: db.read_solution(WEIGHTED, path, bound=True)  # noqa: E731
        now: Call = lambda db: db.predict(WEIGHTED, solution=sqlrl.OutsideSolution(path, bound=True))  # noqa: E731
    else:
        make, before, now = CASES[name]
    theirs, said = warned(before, make())
    assert len(said) == (3 if name == "model" else 1)
    assert said[0].startswith(f"Database.{name}")
    assert said[0].endswith(f"write {old.now}")
    ours, quiet = warned(now, make())
    assert quiet == []
    assert str(plain(theirs)) == str(plain(ours))


def test_there_is_a_case_for_each_old_name() -> None:
    assert {*CASES, "read_solution"} == set(NAMES["Database"])
    assert not set(NAMES["Database"]) & set(dir(Database))


def test_a_value_can_be_set_by_its_old_name() -> None:
    db, console = opened(), QuietConsole()
    _, said = warned(lambda db: setattr(db, "console", console), db)
    assert len(said) == 1
    assert db.advanced.console is console


OLD_ARGUMENTS: dict[str, tuple[Callable[[], Database], Call, Call, int]] = {
    "Database.load": (
        opened,
        lambda db: (db.load("Friends", [("a", "b")], append=True), tables(db)),
        lambda db: (db.load("Friends", [("a", "b")], mode="append"), tables(db)),
        1,
    ),
    "Database.predict": (
        opened,
        lambda db: db.predict(WEIGHTED, seed=1, query=["Friends"]),
        lambda db: db.predict(WEIGHTED, random_state=1, roles=sqlrl.Roles(query=["Friends"])),
        2,
    ),
    "Database.count": (
        opened,
        lambda db: db.count(WEIGHTED, world=ANNA, hidden=[], empty=[]),
        lambda db: db.count(WEIGHTED, world=ANNA),
        2,
    ),
    "Database.diagnose": (
        labelled,
        lambda db: db.diagnose(WEIGHTED, None, kind="paper", threshold=0.2).found,
        lambda db: db.diagnose(WEIGHTED, kind="paper", threshold=0.2).found,
        1,
    ),
    "Database.export": (
        opened,
        lambda db: db.export(WEIGHTED, "/dev/null/x.lp", drop=["Smokes"]),
        lambda db: db.export(WEIGHTED, "/dev/null/x.lp", roles=sqlrl.Roles(drop=["Smokes"])),
        1,
    ),
}


@pytest.mark.parametrize(
    "name", sorted(ARGUMENTS.keys() - {"fit", "k_fold", "EgoNetworks"})
)  # those of learners: training/test_fit
def test_old_arguments_warn_and_mean_what_the_new_ones_mean(name: str) -> None:
    make, before, now, times = OLD_ARGUMENTS[name]

    def outcome(call: Call, db: Database) -> str:
        try:
            return str(plain(call(db)))
        except sqlrl.SqlrlError as error:
            return str(error)

    theirs, said = warned(lambda db: outcome(before, db), make())
    assert len(said) == times
    assert all(name in each for each in said)
    ours, quiet = warned(lambda db: outcome(now, db), make())
    assert (quiet, theirs) == ([], ours)


def test_old_arguments_of_functions_and_values() -> None:
    found, said = warned(lambda names: sqlrl.k_fold(names, 2, seed=3), ["a", "b", "c"])  # type: ignore[call-arg]
    assert found == sqlrl.k_fold(["a", "b", "c"], 2, random_state=3)
    assert said == ["k_fold(seed=) is deprecated, and the next release does not have it: write random_state="]
    with opened() as db:
        make: Call = lambda name: sqlrl.EgoNetworks(db, "select 1 as a, 2 as b", target="Friend", **{name: 3})  # noqa: E731
        (old, said), (new, quiet) = warned(make, "seed"), warned(make, "random_state")
        assert ((old.queries(), len(said)), quiet) == ((new.queries(), 1), [])
    found, said = warned(lambda most: sqlrl.HingeOptions(iterations=most), 7)  # type: ignore[call-arg]
    assert found == sqlrl.HingeOptions(max_iterations=7)
    assert len(said) == 1


@pytest.mark.parametrize("name", sorted(MODULES))
def test_names_in_modules_have_moved(name: str) -> None:
    module, _, old = name.rpartition(".")
    home, _, new = MODULES[name].rpartition(".")
    found, said = warned(lambda module: getattr(module, old), import_module(module))
    assert found is getattr(import_module(home), new)
    assert said == [f"{name} is deprecated, and the next release does not have it: write {MODULES[name]}"]
    assert old not in import_module(module).__all__


def test_old_options_of_scripts_warn() -> None:
    db = with_model()
    assert SQL_OPTIONS == {"seed": "random_state"}
    script = "SELECT * FROM ML.PROBABILITIES(MODEL rules, {} => 1)"
    theirs, said = warned(lambda db: db.run(script.format("seed")).table, db)
    ours, quiet = warned(lambda db: db.run(script.format("random_state")).table, db)
    assert (str(theirs), quiet, len(said)) == (str(ours), [], 1)
    assert set(SQL_FUNCTIONS) == {"EXPECTED_COUNTS"}
    db.models["weighted"] = WEIGHTED
    theirs, said = warned(lambda db: db.run("SELECT * FROM ML.EXPECTED_COUNTS(MODEL weighted)").table, db)
    ours, quiet = warned(lambda db: db.run("SELECT * FROM ML.COUNT(MODEL weighted, expected => true)").table, db)
    assert (str(theirs), quiet) == (str(ours), [])
    assert set(said) == {
        "ML.EXPECTED_COUNTS is deprecated, and the next release does not have it: write ML.COUNT(..., expected => true)"
    }


def test_an_old_name_is_called_as_it_was() -> None:
    db = opened()
    with pytest.warns(FutureWarning), pytest.raises(TypeError, match="unexpected keyword argument 'other'"):
        db.marginals(WEIGHTED, other=1)  # type: ignore[attr-defined]
    with pytest.raises(TypeError, match="takes 1 positional arguments but 2 were given"):
        db.marginals(WEIGHTED, None)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda db: db.register("P"), r"register\(\) missing required argument 'data'"),
        (lambda db: db.set_local(), r"set_local\(\) missing required arguments 'type_name' and 'local'"),
        (lambda db: db.clusters(), r"clusters\(\) missing required argument 'prediction'"),
        (lambda db: db.load_evidence(model=MODEL), r"load_evidence\(\) missing required argument 'source'"),
        (
            lambda db: db.load_soft_data(PSL, nonsense=1),
            r"load_soft_data\(\) .* 'nonsense'; it takes folder, model, split$",
        ),
        (lambda db: db.load_soft_data(PSL, header=False), r"load_soft_data\(\) .* 'header'"),
        (lambda db: db.register("P", [], nane="Q"), r"register\(\) .* 'nane'; did you mean 'name'\?"),
        (lambda db: db.register("P", [], mode="append"), r"register\(\) .* 'mode'"),
        (lambda db: db.model(-1, strict=True), r"model\(\) .* 'strict'; it takes model$"),
        (lambda db: db.run_record(run=1, x=2), r"run_record\(\) .* 'x'; it takes run$"),
        (lambda db: db.examples_from("doc", b=2), r"examples_from\(\) .* 'b'; it takes type_name$"),
        (lambda db: db.predicates(x=2), r"predicates\(\) .* 'x'; it takes none$"),
    ],
)
def test_an_old_name_refuses_what_it_did_not_take(call: Call, message: str) -> None:
    with pytest.warns(FutureWarning), pytest.raises(TypeError, match=message):
        call(opened())


def test_comments_on_tables_name_no_old_verb() -> None:
    names = {name for name, old in NAMES["Database"].items() if not old.value} - {"model", "program", "candidates"}
    comments = re.findall(r"^COMMENT ON .*$", layout_script(), re.MULTILINE)
    called = re.compile(rf"\b({'|'.join(sorted(names))})\(|keep_model|drop_model|run_record")
    assert len(comments) > 100
    assert [text for text in comments if called.search(text)] == []


def test_old_options_of_the_command_line_warn(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "m.mln").write_text("Smokes(person)\n1 Smokes(x)\n", encoding="utf-8")
    (tmp_path / "e.db").write_text("person = {Anna}\n", encoding="utf-8")
    said = []
    for option in ("--marginals", "--probabilities"):
        with pytest.raises(SystemExit):
            app(["infer", "-m", str(tmp_path / "m.mln"), "-e", str(tmp_path / "e.db"), "--query", "Smokes", option])
        said.append(capsys.readouterr())
    assert said[0].out == said[1].out != ""
    assert "--marginals is deprecated, and the next release does not have it: write --probabilities" in said[0].err
    assert "deprecated" not in said[1].err
    assert set(COMMAND_OPTIONS) == {"--marginals", "--eta", "--seed"}  # the others are in cli/test_learning


def test_an_old_argument_and_the_new_one_are_too_many() -> None:
    with pytest.raises(TypeError, match="drop= and roles= are the same argument: leave drop= out"):
        opened().predict(WEIGHTED, drop=["Smokes"], roles=sqlrl.Roles())  # type: ignore[call-overload]
