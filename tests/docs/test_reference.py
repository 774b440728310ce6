"""The pages of the reference are what the program says of itself."""

from __future__ import annotations

import doctest
import re
import shlex
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest
import reference
import reference_api
import reference_text
from reference_api import members, rendered
from reference_text import cell, code, prose, table

import sqlrl
from sqlrl import errors
from sqlrl.learn.parameters import REQUIRED, declarations, parse_value, value_text
from sqlrl.script import runner
from sqlrl.script.functions import FUNCTIONS
from sqlrl.script.learning import OF_RULES, learners

pytestmark = pytest.mark.usefixtures("comments")


_made = cache(reference.all_pages)


@pytest.fixture
def kept(comments: None) -> dict[str, str]:
    return _made()


def test_pages_are_up_to_date(kept: dict[str, str]) -> None:
    for name, text in kept.items():
        there = (reference.FOLDER / name).read_text(encoding="utf-8")
        assert there.splitlines() == text.splitlines(), f"{name} is late: run python scripts/reference.py"


def test_check_names_a_page_that_is_late(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(reference, "FOLDER", tmp_path)
    monkeypatch.setattr(reference, "all_pages", lambda: {"a.md": "new\n", "b.md": "same\n"})
    (tmp_path / "a.md").write_text("old\n")
    (tmp_path / "b.md").write_text("same\n")
    monkeypatch.setattr("sys.argv", ["reference.py", "--check"])
    assert reference.main() == 1
    assert "a.md is not" in (said := capsys.readouterr().err)
    assert "b.md" not in said


def test_schema_has_every_table_and_column_with_its_comment(kept: dict[str, str]) -> None:
    db = sqlrl.connect()
    columns = db.sql(
        "SELECT table_name, column_name, comment FROM duckdb_columns() WHERE schema_name = 'sqlrl'"
    ).fetchall()
    assert len(columns) > 300
    parts = {part.split("\n", 1)[0]: part for part in kept["schema.md"].split("\n### ")}
    for table_name, column, comment in columns:
        assert comment, f"{table_name}.{column} has no comment"
        assert f"| `{column}` |" in parts[table_name]
        assert cell(comment) in parts[table_name]


def test_command_line_has_every_option_that_parses(kept: dict[str, str]) -> None:
    parts = {part.split("\n", 1)[0]: part for part in kept["command-line.md"].split("\n## sqlrl ")}
    for name, command in reference.commands().items():
        for each in command.params:
            if each.param_type_name == "option" and not getattr(each, "hidden", False):  # those are old names
                assert all(option in parts[name] for option in each.opts), (name, each.name)
                assert each.help, f"{each.opts[0]} of {name} has no help"


def test_examples_of_the_command_line_name_options_that_there_are(kept: dict[str, str]) -> None:
    found = reference.commands()
    checked = 0
    for line in re.findall(r"^(?:.*\| )?sqlrl (\w.*)$", kept["command-line.md"], re.MULTILINE):
        if "[OPTIONS]" in line:
            continue
        name, *words = shlex.split(line.split(" | ")[0].split(" > ")[0])
        options = {option for each in found[name].params for option in (*each.opts, *each.secondary_opts)}
        given = {word.split("=")[0] for word in words if word.startswith("--")}
        assert given <= options, line
        checked += 1
    assert checked > 40


def test_every_command_has_an_example(kept: dict[str, str]) -> None:
    parts = {part.split("\n", 1)[0]: part for part in kept["command-line.md"].split("\n## sqlrl ")[1:]}
    without = [name for name, part in parts.items() if "```sh" not in part]
    assert without == []


def test_every_learner_is_there_with_every_parameter(kept: dict[str, str]) -> None:
    parts = {part.split("\n", 1)[0]: part for part in kept["parameters.md"].split("\n### ")}
    assert parts.keys() - {parts_before(kept)} == learners().keys()
    for word, kind in learners().items():
        for name, each in declarations(kind).items():
            row = re.search(rf"^\| `{name}` \|.*$", parts[word], re.MULTILINE)
            assert row is not None, (word, name)
            assert "|  |\n" not in row[0] + "\n", f"nothing says what {name} of {word} is"
            if each.default is not REQUIRED:
                assert f"`{value_text(each.default)}`" in row[0]


def parts_before(kept: dict[str, str]) -> str:
    """What stands before the first learner."""
    return kept["parameters.md"].split("\n### ")[0].split("\n", 1)[0]


def test_forms_of_a_parameter_make_the_same_learner(kept: dict[str, str]) -> None:
    words = learners()
    forms = re.findall(
        r"^Python        sqlrl\.(?:baselines\.)?\w+\((.*)\)\n(?:command.*\n)?SQL           OPTIONS \(learner = '(.*?)', (\w+) = (.*)\)$",
        kept["parameters.md"],
        re.MULTILINE,
    )
    assert len(forms) > 15
    for python, word, name, value in forms:
        assert parse_value(f"{word}({name}={value})", words).get_params(deep=False) == eval(
            f"kind({python})", {"kind": words[word]}
        ).get_params(deep=False)


def test_every_function_of_scripts_is_there(kept: dict[str, str]) -> None:
    assert reference.ANSWERS.keys() == FUNCTIONS.keys()
    parts = {part.split("\n", 1)[0]: part for part in kept["functions.md"].split("\n## ML.")[1:]}
    for name, function in FUNCTIONS.items():
        assert all(f"`{option}`" in parts[name] for option in function.options)


def test_options_of_statements_are_those_that_there_are() -> None:
    text = (reference.FOLDER / "sql.md").read_text(encoding="utf-8")
    named = re.search(r"`db\.load`\]\([^)]*\): (.*)", text)
    assert named is not None
    assert set(re.findall(r"`(\w+)`", named[1])) == set(runner._LOADING)
    assert all(f"`{option}`" in text for option in OF_RULES)


def test_every_error_says_what_to_do(kept: dict[str, str]) -> None:
    assert reference.REMEDIES.keys() == reference.error_classes().keys()
    for name, kind in reference.error_classes().items():
        assert issubclass(kind, errors.SqlrlError | errors.SqlrlWarning)
        assert f"\n### {name}\n" in kept["errors.md"]


def test_api_has_every_public_name_once(kept: dict[str, str]) -> None:
    pages = {name: text for name, text in kept.items() if name.startswith("api/")}
    listed = [name for _, names in reference.API.values() for name in names]
    of_others = {*reference.HELD, *sqlrl.baselines.__all__}
    assert sorted([*listed, "SqlrlError", "__version__"]) == sorted([*sqlrl.__all__, *of_others])
    for name, (_, names) in reference.API.items():
        for each in names:
            assert f"\n## {each}\n" in pages[f"api/{name}.md"]
    assert "### Database.predict\n" in pages["api/database.md"]
    assert not re.search(r" at 0x[0-9a-f]+", "".join(pages.values())), "an address would differ in each build"
    assert not re.search(r"^-{3,}$", "".join(pages.values()), re.MULTILINE), "a section was not taken apart"


def test_links_between_pages_have_targets(kept: dict[str, str]) -> None:
    for name, text in kept.items():
        for target, anchor in re.findall(r"\]\(([\w/.-]*\.md)?#([\w.-]+)\)", text):
            there = target and str((Path(name).parent / target).as_posix())
            heads = re.findall(r"^#+ (.*)$", kept[there or name], re.MULTILINE)
            assert anchor in {re.sub(r"[^\w -]", "", head).lower().replace(" ", "-") for head in heads}, (
                name,
                target,
                anchor,
            )


def test_text_is_escaped_but_in_code() -> None:
    assert prose("a_b _c_ <b> `x_y*`") == "a_b \\_c\\_ &lt;b&gt; `x_y*`"
    assert cell("`a|b` or c|d\nnext") == "<code>a&#124;b</code> or c&#124;d next"
    assert code("a<b") == "`a<b`"
    assert table(("a", "b"), [("1", "2")]) == ["| a | b |", "| --- | --- |", "| 1 | 2 |", ""]


def test_docstrings_keep_prose_after_lists() -> None:
    text = "First.\n\nParameters\n----------\na : int\n    One.\nb\n    Two\n    lines.\n\nAnd more of it, which is no entry: so.\n"
    assert rendered(text) == [
        "First.", "", "**Parameters**", "", "- `a` : int. One.", "- `b`. Two lines.", "", "And more of it, which is no entry: so.", "",
    ]  # fmt: skip


def test_members_are_those_that_users_call() -> None:
    class Base:
        __module__ = "sqlrl.sample"

        def shared(self) -> None:
            """Shared."""

    class Sample(Base):
        __module__ = "sqlrl.sample"
        constant = 3

        @property
        def size(self) -> int:
            """How many."""
            return 0

        def grow(self, by: int = 1, *, fast: bool = False) -> None:
            """Grow."""

        def _hidden(self) -> None: ...

    assert list(members(Sample)) == [
        ("size", "", "How many."), ("grow", "grow(by=1, *, fast=False)", "Grow."), ("shared", "shared()", "Shared."),
    ]  # fmt: skip
    assert [name for name, *_ in members(Sample, {Base})] == ["size", "grow"]


@pytest.mark.parametrize("module", [reference_text, reference_api])
def test_examples_in_docstrings_of_the_writer(module: ModuleType) -> None:
    failed, tried = doctest.testmod(module)
    assert (failed, tried > 0) == (0, True)
