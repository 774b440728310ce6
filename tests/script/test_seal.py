"""What a stranger's script may open: nothing, or the files of one folder; every statement and every option that there is, with every kind of path."""

from __future__ import annotations

import itertools
import json
import os
import re
import sys
import warnings
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest

import sqlrl
from sqlrl.database.database import Database
from sqlrl.deprecated import old_parameters
from sqlrl.errors import InputError, ParseError, ScriptError, SqlrlError, UntrustedError
from sqlrl.learn.parameters import declarations
from sqlrl.script import statements
from sqlrl.script.functions import FUNCTIONS
from sqlrl.script.learning import TEXTS, learners
from sqlrl.script.source import ScriptText
from sqlrl.script.statements import Statement, read_statement

MARKER = "NobodyMaySeeThis"
NAMES = ("m.mln", "m.json", "m.psl", "m.yaml", "rows.csv", "rows.parquet", "bias.txt", "view.sql", "data.duckdb")
"""A file of each ending that something reads or writes."""


class Watch:
    """What Python opens, lists, renames and removes, and which addresses it asks for, while it is on."""

    def __init__(self) -> None:
        self.on, self.seen = False, list[str]()

    def __call__(self, event: str, given: tuple[Any, ...]) -> None:
        watched = event == "open" or event.startswith(("os.", "shutil.", "glob.", "socket.", "subprocess.", "urllib."))
        if self.on and watched:
            self.seen += [os.fsdecode(each) for each in given if isinstance(each, str | bytes | os.PathLike)]
            if event.startswith(("socket.", "subprocess.", "urllib.")):
                self.seen.append(f"{event} {given}")


@pytest.fixture(scope="session")
def watch() -> Watch:
    made = Watch()
    sys.addaudithook(made)  # there is no way to take one away
    return made


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A folder of files that nothing may open, each of which says the marker."""
    found = tmp_path / "outside"
    found.mkdir()
    for name in NAMES:
        (found / name).write_text(f"{MARKER}({MARKER} {MARKER}\n", encoding="utf-8")
    return found


@pytest.fixture
def folder(tmp_path: Path, outside: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the script, in which it also runs, with links that lead out of it."""
    found = tmp_path / "inside"
    found.mkdir()
    (found / "away").symlink_to(outside)
    for name in NAMES:
        (found / f"link-{name}").symlink_to(outside / name)
    monkeypatch.chdir(found)
    return found


def paths_of(name: str, outside: Path, folder: Path) -> list[str]:
    """The ways to name a file outside."""
    return [
        str(outside / name),
        f"../outside/{name}",
        f"{folder}/../outside/{name}",
        f"link-{name}",
        f"away/{name}",
        f"{folder}/away/../outside/{name}",
        f"../out*/{name}",
        f"aw?y/{name}",
        f"**/{name}",
        f"file://{outside / name}",
        f"http://127.0.0.1:9/{name}",
        f"s3://bucket/{name}",
    ]


# ---- statements, found from the grammar --------------------------------------------------------------

SLOTS: dict[type, list[str]] = {
    statements.CreatePredicate: [
        "CREATE PREDICATE New(t) FROM '{}'",
        "CREATE OR REPLACE PREDICATE Friends(t, t) OPTIONS (duplicates = 'drop') FROM ['{}', '{}']",
        "CREATE PREDICATE New(t) AS FROM '{}'",
        "CREATE PREDICATE New(t) AS SELECT * FROM read_text('{}')",
        "CREATE PREDICATE New AS RULES $$ #include \"{}\" $$",
        "CREATE PREDICATE New AS RULES '{}'",
        "CREATE PREDICATE New(t) OPTIONS (columns = '{}') AS FROM pairs",
    ],
    statements.SetScope: ["ALTER PREDICATE Smokes SET SCOPE (FROM '{}')", "ALTER PREDICATE Smokes SET SCOPE (FROM read_csv('{}'))"],
    statements.CreateModel: [
        "CREATE MODEL new FROM '{}'",
        "CREATE MODEL new OPTIONS (format = 'psl') FROM '{}'",
        "CREATE MODEL new OPTIONS (format = 'mln') FROM '{}'",
        "CREATE MODEL new AS $$ #include \"{}\" $$",
        "CREATE MODEL new AS '{}'",
        'CREATE MODEL new OPTIONS (format = \'psl\') AS $$ {{"rules": "{}", "predicates": {{"A/1": {{"observations": "{}"}}}}}} $$',
        "CREATE MODEL new OPTIONS (learner = 'likelihood') FROM MODEL m TRAINED ON (FROM '{}')",
        "CREATE MODEL new OPTIONS (learner = 'likelihood') FROM '{}'",
        "CREATE MODEL new OPTIONS (target = '{}', drop = '{}') FROM MODEL m",
        "CREATE MODEL new FROM MODEL \"{}\"",
    ],
    statements.AddRule: [
        "ALTER MODEL m ADD RULE '{}'",
        "ALTER MODEL m ADD RULE '#include \"{}\"'",
        "ALTER MODEL m ADD RULE 'Smokes(x)' WEIGHT '{}'",
        "ALTER MODEL m ADD RULE 'Smokes(x)' WEIGHT (FROM '{}')",
    ],
    statements.DropModel: ['DROP MODEL "{}"'],
    statements.ExportModel: ["EXPORT MODEL m TO '{}'", "EXPORT MODEL m TO '{}' OPTIONS (target = 'Smokes')"],
    statements.Show: ["SHOW MODELS"],
    statements.DescribeModel: ['DESCRIBE MODEL "{}"'],
    statements.Plain: [
        "FROM '{}'",
        "FROM read_csv('{}')",
        "FROM read_parquet('{}')",
        "FROM read_json('{}')",
        "FROM read_text('{}')",
        "FROM read_blob('{}')",
        "FROM glob('{}')",
        "FROM sniff_csv('{}')",
        "FROM parquet_metadata('{}')",
        "COPY pairs TO '{}'",
        "COPY (FROM pairs) TO '{}' (FORMAT parquet)",
        "COPY pairs FROM '{}'",
        "ATTACH '{}' AS other",
        "ATTACH '{}' AS other (READ_ONLY)",
        "EXPORT DATABASE '{}'",
        "IMPORT DATABASE '{}'",
        "INSTALL '{}'",
        "LOAD '{}'",
        "SET temp_directory = '{}'",
        "SET allowed_directories = ['{}']",
        "SET VARIABLE p = (SELECT content FROM read_text('{}'))",
        "CREATE TABLE stolen AS FROM '{}'",
        "CREATE VIEW stolen AS FROM read_text('{}')",
        "CREATE SECRET (TYPE s3, KEY_ID '{}')",
        "PREPARE p AS FROM '{}'",
        "EXPLAIN ANALYZE FROM '{}'",
    ],
}  # fmt: skip
"""Statements of each kind, with places for paths."""


def _texts(value: Any) -> Iterator[tuple[type, str, Any]]:
    """Yield each field of a statement and what stands in it."""
    for each in fields(value):
        found = getattr(value, each.name)
        yield type(value), each.name, found
        for inner in found if isinstance(found, tuple) else (found,):
            if is_dataclass(inner) and not isinstance(inner, type):
                yield from _texts(inner)


def test_every_statement_has_slots_and_every_slot_is_filled() -> None:
    assert set(SLOTS) == set(get_args(Statement))
    parts = (statements.Text, statements.Files, statements.Rules, statements.QueryText, statements.Value)
    for kind, scripts in SLOTS.items():
        hints = get_type_hints(kind)
        takes = {name for name, hint in hints.items() if any(part in (hint, *get_args(hint)) for part in parts)}
        filled = set()
        for script in scripts:
            (tokens,) = ScriptText(script.format(*["PATH"] * 3)).statements()
            statement = read_statement(tokens)
            assert isinstance(statement, kind), script
            filled |= {
                name for _, name, value in _texts(statement) if "PATH" in str(value) and isinstance(value, object)
            }
        assert takes <= filled, (kind, takes - filled)


class Attempt:
    """Runs statements that name files outside, and checks that none was opened, changed, made or quoted."""

    def __init__(self, db: Database, outside: Path, watch: Watch, *, limited: bool = True) -> None:
        self.db, self.outside, self.watch, self.limited = db, outside, watch, limited
        self.before = self._state()
        self.refused = 0

    def _state(self) -> dict[str, bytes]:
        return {str(path): path.read_bytes() for path in sorted(self.outside.rglob("*")) if path.is_file()}

    def ways(self, name: str, folder: Path) -> list[str]:
        """The ways to name a file outside: without a folder no path is looked at, and a few of them will do."""
        return paths_of(name, self.outside, folder)[:: 1 if self.limited else 3]

    def run(self, script: str, **variables: Any) -> Exception | None:
        self.watch.seen.clear()
        self.watch.on = True
        shown, found = "", None
        try:
            result = self.db.run(script, variables=variables)
            shown = repr(result) + repr(
                [each.table and each.table.to_arrow().to_pylist() for each in result.statements]
            )
        except SqlrlError as error:
            found, shown = error, f"{error} {error!r}"
            self.refused += 1
        finally:
            self.watch.on = False
        # The script itself may say the marker, and its errors show its lines.
        assert MARKER not in shown.replace(script, ""), script
        touched = [
            seen
            for seen in self.watch.seen
            if _leads(seen, self.outside) or seen.startswith(("socket", "subprocess", "urllib"))
        ]
        assert not touched, (script, touched)
        assert self._state() == self.before, script
        return found


def _leads(path: str, outside: Path) -> bool:
    try:
        return Path(path).resolve().is_relative_to(outside)
    except (OSError, ValueError):
        return False


MODEL = "Friends(person, person)\\nSmokes(person)\\n1 Friends(x, y) ^ Smokes(x) => Smokes(y)"


@pytest.fixture(params=[False, True], ids=["without a folder", "with a folder"])
def attempt(
    request: pytest.FixtureRequest, tmp_path: Path, outside: Path, folder: Path, watch: Watch
) -> Iterator[Attempt]:
    """An untrusted file with data and a model, and perhaps a folder."""
    path = tmp_path / "a.duckdb"
    with sqlrl.connect(path) as db:
        db.sql("create table pairs as select 'Anna' as a, 'Bob' as b")
        db.load("Friends", "pairs", types=["person", "person"])
        db.load("Smokes", [("Anna",), ("Bob",)], types=["person"], target=True)
        db.models["m"] = sqlrl.parse_mln(MODEL.replace("\\n", "\n"))
        db.models["soft"] = sqlrl.parse_psl("1: Friends(A, B) & Smokes(A) -> Smokes(B)", query=["Smokes"])
    with sqlrl.connect(path, trusted=False, folder=folder if request.param else None) as db:
        yield Attempt(db, outside, watch, limited=request.param)


@pytest.mark.slow  # some 1,100 statements
def test_no_statement_leads_out(attempt: Attempt, outside: Path, folder: Path) -> None:
    elsewhere = itertools.cycle(("away/{}", "../outside/{}", f"{outside}/{{}}"))
    names = itertools.cycle(NAMES)
    for kind, scripts in SLOTS.items():
        for script in scripts:
            first = "rows.csv" if kind in (statements.CreatePredicate, statements.Plain) else "m.mln"
            ways = attempt.ways(first, folder)
            # The ending says how sqlrl reads or writes a file, and nothing to DuckDB where it refuses all.
            endings = list(itertools.islice(names, 2)) if kind is statements.Plain else NAMES
            others = [next(elsewhere).format(name) for name in endings if name != first]
            for path in [*ways, *(others if "'{}'" in script else ())]:
                error = attempt.run(script.format(*[path] * 3))
                if kind not in (statements.Plain, statements.Show):
                    assert error is not None, script.format(*[path] * 3)


@pytest.mark.parametrize("kind", ["reads", "writes"])
def test_refusals_name_the_folder_and_no_content(kind: str, tmp_path: Path, outside: Path, folder: Path) -> None:
    script = {"reads": "CREATE MODEL new FROM '../outside/m.mln'", "writes": "EXPORT MODEL m TO '../outside/m.mln'"}[
        kind
    ]
    with sqlrl.connect(tmp_path / "b.duckdb", trusted=False) as db:
        db.models["m"] = sqlrl.parse_mln("P(x)")
        with pytest.raises(
            ScriptError, match=r"(?s)reads and writes no files for a script: pass folder=.*\^"
        ) as caught:
            db.run(script)
        assert isinstance(caught.value.__cause__, UntrustedError)
    with sqlrl.connect(tmp_path / "b.duckdb", trusted=False, folder=folder) as db:
        with pytest.raises(ScriptError, match=rf"which is not in {re.escape(str(folder))}: move the file there"):
            db.run(script)
        # Whether there is such a file is not told.
        missing = script.replace("m.mln", "none.mln")
        with pytest.raises(ScriptError, match="which is not in"):
            db.run(missing)
    # The same, trusted, does what it says, so that the statements are ones that reach files.
    with sqlrl.connect(tmp_path / "b.duckdb") as db:
        if kind == "reads":
            with pytest.raises(ScriptError, match=MARKER):
                db.run(script)
        else:
            db.run(script)
            assert MARKER not in (outside / "m.mln").read_text()


# ---- options, found from what registers them ---------------------------------------------------------

FORMS = {
    "CREATE PREDICATE New(t, t) OPTIONS ({}) AS FROM pairs": "",
    "CREATE PREDICATE New(t) OPTIONS ({}) FROM '{path}'": "",
    "CREATE PREDICATE New OPTIONS ({}) AS RULES $$ new(x) :- Friends(x, y). $$": "",
    "EXPORT MODEL m TO 'out.sql' OPTIONS ({})": "",
    "CREATE MODEL new OPTIONS ({}) FROM MODEL m": "",
    **{f"CREATE MODEL new OPTIONS (learner = '{word}', {{}}) FROM MODEL {'soft' if word.startswith('soft-') else 'm'}": word for word in (*learners(), "auto")},
}  # fmt: skip
"""Statements with options, and the learner that they name."""


def options_of(db: Database, form: str, word: str) -> set[str]:
    """The options of a statement, as it lists them where it refuses an unknown one."""
    found = {*declarations(learners()[word]), *old_parameters(learners()[word])} if word in learners() else set()
    with pytest.raises(ScriptError) as caught:
        db.run(form.replace("{path}", "rows.csv").format("zzqqzz = 1"))
    listed = re.search(r"there (?:are|is) ([\w, ]+)", caught.value.problem)
    return found | set(listed[1].split(", ") if listed else ()) | {"start", "groups", "limit", "constraints"}


@pytest.mark.slow  # some 500 statements, each with a learner
@pytest.mark.filterwarnings("ignore:.* is deprecated")
def test_no_option_leads_out(attempt: Attempt, outside: Path, folder: Path) -> None:
    # That its own file is refused, or read, is said before an option of it; this one is there.
    (folder / "rows.csv").write_text("a\nAnna\n", encoding="utf-8")
    met = set()
    for form, word in FORMS.items():
        for option in sorted(options_of(attempt.db, form, word)):
            met.add(option)
            ways = attempt.ways("bias.txt", folder) if option in TEXTS else [str(outside / "bias.txt")]
            for path in ways:
                attempt.run(form.replace("{path}", "rows.csv").format(f"{option} = '{path}'"))
            if option in TEXTS:
                for path in (ways[0], "link-bias.txt"):
                    attempt.run(form.format(f"{option} = ['{path}']"))
                    attempt.run(f"SET VARIABLE p = '{path}'; " + form.format(f"{option} = $p"))
                    attempt.run(form.format(f"{option} = $${path}$$"))
    assert met >= set(TEXTS)


@pytest.mark.slow  # every learner inside every other that takes one
def test_no_learner_in_a_text_leads_out(attempt: Attempt, outside: Path, folder: Path) -> None:
    outer = [
        (word, name) for word, kind in learners().items() for name, each in declarations(kind).items() if each.estimator
    ]
    inner = [(word, name) for word, kind in learners().items() for name in declarations(kind) if name in TEXTS]
    assert outer
    assert {name for _, name in inner} == set(TEXTS)
    for word, option in outer:
        for nested, name in inner:
            for path in (str(outside / "bias.txt"), "away/bias.txt", "../outside/m.mln"):
                text = f'{nested}({name}="{path}")'
                attempt.run(f"CREATE MODEL new OPTIONS (learner = '{word}', {option} = '{text}') FROM MODEL m")


def test_no_function_leads_out(attempt: Attempt, outside: Path, folder: Path) -> None:
    ways = (str(outside / "rows.csv"), str(outside / "bias.txt"), "away/rows.csv", f"{outside}/*.csv")
    for turn, (function, known) in enumerate(FUNCTIONS.items()):
        # All functions read their arguments in one way: each place has another path in the next one.
        paths = itertools.cycle((*ways[turn % 4 :], *ways[: turn % 4]))
        for form in ("MODEL m, '{}'", "MODEL m, '#include \"{}\"'", "MODEL m, (FROM '{}')", 'MODEL "{}"'):
            attempt.run(f"FROM ML.{function}({form.format(next(paths))})")
        for option in known.options:
            attempt.run(f"FROM ML.{function}(MODEL m, {option} => '{next(paths)}')")
            attempt.run(f"FROM ML.{function}(MODEL m, {option} => (FROM '{next(paths)}'))")
    assert attempt.refused > 100


# ---- what the seal lets through ----------------------------------------------------------------------


def test_the_folder_is_read_and_written(tmp_path: Path, folder: Path, outside: Path) -> None:
    (folder / "own").mkdir()
    (folder / "own" / "more.mln").write_text("*Friends(person, person)\n", encoding="utf-8")
    (folder / "own" / "m.mln").write_text(
        '#include "more.mln"\nSmokes(person)\n1 Friends(x, y) ^ Smokes(x) => Smokes(y)\n'
    )
    (folder / "bad.mln").write_text('#include "../outside/m.mln"\nP(x)\n', encoding="utf-8")
    (folder / "p.json").write_text('{"rules": "r.psl", "predicates": {"A/1": {"observations": "../outside/rows.csv"}}}')
    (folder / "r.psl").write_text("1: A(X) -> A(X)\n1: !A(X)")
    (folder / "modes.txt").write_text("modeP(1, Next(-,-))")
    (folder / "friends.csv").write_text("a;b\nAnna;Bob\nBob;Chris\n")
    (folder / "here").symlink_to(folder / "own")
    with sqlrl.connect(tmp_path / "b.duckdb", trusted=False, folder=folder) as db:
        db.run(f"""
            CREATE PREDICATE Friends(person, person) OPTIONS (delimiter = ';') FROM 'friends.csv';
            CREATE MODEL m FROM 'own/../here/m.mln';
            CREATE MODEL p OPTIONS (format = 'psl') FROM '{folder}/p.json';
            EXPORT MODEL m TO 'own/out.mln';
            EXPORT MODEL m TO '{folder}/out.json';
            CREATE PREDICATE Smokes(person) OPTIONS (target = true) AS SELECT 'Anna';
            EXPORT MODEL m TO 'view.sql' OPTIONS (target = 'Smokes', partial = true);
        """)
        assert db.tables()["facts"] == [2, 1]
        assert sqlrl.models_equal(sqlrl.read_mln(folder / "own" / "out.mln"), db.models["m"])
        assert {"out.json", "view.sql"} <= {path.name for path in folder.iterdir()}
        with pytest.raises(ScriptError, match="the include leads out") as caught:
            db.run("CREATE MODEL bad FROM 'bad.mln'")
        assert MARKER not in str(caught.value)
        for name in ("*.csv", "none.csv", "../inside/fri*.csv"):
            with pytest.raises(ScriptError, match="there is no such file; patterns are for"):
                db.run(f"CREATE PREDICATE Two(person) FROM '{name}'")
        # SQL itself reads no files in the folder either.
        for sql in ("FROM 'friends.csv'", "COPY (SELECT 1) TO 'sql.csv'", "FROM read_text('friends.csv')"):
            with pytest.raises(ScriptError, match="file system operations are disabled"):
                db.run(sql)


def test_a_path_in_a_variable_of_the_caller_is_the_caller_s(tmp_path: Path, folder: Path, outside: Path) -> None:
    own = outside / "modes.txt"
    own.write_text("modeX(", encoding="utf-8")
    script = "CREATE MODEL new OPTIONS (learner = 'osl', modes = $modes) FROM MODEL m"
    with sqlrl.connect(tmp_path / "b.duckdb", trusted=False, folder=folder) as db:
        db.models["m"] = sqlrl.parse_mln("P(x)")
        with pytest.raises(ScriptError, match="expected 'modep' or 'modec'"):
            db.run(script, variables={"modes": str(own)})
        with pytest.raises(ScriptError, match="which is not in"):
            db.run(f"SET VARIABLE modes = '{own}'; {script}")
        with pytest.raises(ScriptError, match="which is not in"):
            db.run(f"SET VARIABLE modes = '{own}'; {script}", variables={"modes": "another"})


@pytest.mark.parametrize("given", [7, "", "none", "a\0b", b"x", ["."]])
def test_a_folder_is_a_folder(given: Any, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(InputError, match="folder="):
        sqlrl.connect(tmp_path / "b.duckdb", trusted=False, folder=given if given != "" else tmp_path / "file")
    with pytest.raises(InputError, match=r"folder= limits a database opened with trusted=False"):
        sqlrl.connect(tmp_path / "b.duckdb", folder=tmp_path)


def test_a_resumed_script_looks_at_no_file_outside(tmp_path: Path, folder: Path, outside: Path, watch: Watch) -> None:
    path = tmp_path / "b.duckdb"
    with sqlrl.connect(path, trusted=False, folder=folder) as db:
        done = Attempt(db, outside, watch)
        text = f"CREATE TABLE t AS SELECT '{outside}/rows.csv' AS a, '{outside}/*' AS b, 'away/m.mln' AS c, '#include \"{outside}/m.mln\"' AS d"
        for _ in range(2):
            assert done.run(text.replace("CREATE TABLE", "CREATE OR REPLACE TABLE")) is None


# ---- programs of soft logic, and evidence ------------------------------------------------------------


def program(file: str, role: str) -> str:
    """A program that names a file for its data."""
    parts = {"targets": [["x"]]} | {role: file} if role != "observations" else {role: file}
    return json.dumps({"rules": ["1: A(X) -> B(X)"], "predicates": {"A/1": {"observations": [["x"]]}, "B/1": parts}})


@pytest.fixture
def empty() -> Iterator[Database]:
    """A database that refuses all that it is given."""
    with sqlrl.connect() as db:
        yield db


@pytest.mark.parametrize("role", ["observations", "targets", "truth"])
@pytest.mark.parametrize("read", [True, False], ids=["file", "text"])
def test_data_of_an_untrusted_program(
    role: str, read: bool, folder: Path, outside: Path, watch: Watch, empty: Database
) -> None:
    for file in paths_of("rows.csv", outside, folder)[:6]:
        text = program(file, role)
        (folder / "p.json").write_text(text, encoding="utf-8")

        def make(*, trusted: bool, text: str = text) -> sqlrl.SoftModel:
            return (
                sqlrl.read_psl(folder / "p.json", trusted=trusted) if read else sqlrl.parse_psl(text, trusted=trusted)
            )

        for changed in (
            lambda model: model,
            lambda model: model.without(()),
            lambda model: model.with_rules(model.rules),
        ):
            model = changed(make(trusted=False))
            for source in (model, sqlrl.SoftData(model), sqlrl.SoftData(model, folder=folder)):
                watch.seen.clear()
                watch.on = True
                with pytest.raises(UntrustedError) as caught:
                    empty.load(source)
                watch.on = False
                assert MARKER not in str(caught.value)
                assert not [seen for seen in watch.seen if _leads(seen, outside)]
        assert empty.tables()["predicate"] == []
        # That of one's own is read.
        with sqlrl.connect() as db, warnings.catch_warnings(action="ignore"):
            if "*" in file or "?" in file:
                continue
            assert db.load(make(trusted=True))["B"][role] == 1


def test_data_of_an_untrusted_program_in_its_folder(folder: Path) -> None:
    (folder / "p.json").write_text(program("b.tsv", "truth"), encoding="utf-8")
    (folder / "b.tsv").write_text("x\t1\n", encoding="utf-8")
    model = sqlrl.read_psl(folder / "p.json", trusted=False)
    with sqlrl.connect() as db:
        with pytest.raises(UntrustedError, match=r"p.json:1: .*SoftData\(model, folder=...\)"):
            db.load(model)
        assert db.tables()["predicate"] == []
        assert db.load(sqlrl.SoftData(model, folder=folder)) == {
            "A": {"observations": 1},
            "B": {"targets": 1, "truth": 1},
        }
    # Rows that the program has itself are no files.
    inline = sqlrl.parse_psl('{"rules": ["1: A(X)"], "predicates": {"A/1": {"observations": [["x"]]}}}', trusted=False)
    with sqlrl.connect() as db:
        assert db.load(inline) == {"A": {"observations": 1}}


def test_a_text_names_no_rule_file(folder: Path) -> None:
    (folder / "r.psl").write_text("1: A(X)", encoding="utf-8")
    text = '{"rules": "r.psl", "predicates": {"A/1": "open"}}'
    assert len(sqlrl.parse_psl(text).rules) == 1
    with pytest.raises(ParseError, match="no file can be named in a text read with trusted=False"):
        sqlrl.parse_psl(text, trusted=False)


def test_evidence_opens_only_what_it_is_given(tmp_path: Path, folder: Path, outside: Path, watch: Watch) -> None:
    path, own = tmp_path / "b.duckdb", tmp_path / "own.db"
    own.write_text("P(A)\nP(B)\n", encoding="utf-8")
    with sqlrl.connect(path) as db:
        db.load(sqlrl.Evidence(own))
        # Somebody says that these facts came from elsewhere.
        db.sql(
            f"update sqlrl.source set source = '{outside}/rows.csv', options = replace(options, 'own.db', 'rows.csv')"
        )
    with sqlrl.connect(path, trusted=False) as db:
        for source in (own, "P(C)\nP(D)", [str(own)]):
            watch.seen.clear()
            watch.on = True
            try:
                db.load(sqlrl.Evidence(source, replace=True))
            finally:
                watch.on = False
            assert not [seen for seen in watch.seen if _leads(seen, outside)]
        assert db.tables()["facts"] == [2]
