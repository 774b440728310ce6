"""Programs of probabilistic soft logic as files: PSL's JSON and YAML, rule files with their data files, and what was saved."""

from __future__ import annotations

import builtins
import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sqlrl.errors import InputError, ModelError, ParseError, SqlrlError, UnsupportedError
from sqlrl.logic.documents import NUMBER, OBJECT, TEXT, Node, parse_json_document, parse_yaml_document
from sqlrl.logic.files import models_equal, parse_model, read_model
from sqlrl.logic.json_text import parse_json
from sqlrl.logic.lexer import SourceText
from sqlrl.logic.mln import parse_mln
from sqlrl.logic.psl import DataPartition, SoftModel, soft_model_to_json
from sqlrl.logic.psl_files import parse_psl, read_psl
from sqlrl.logic.saving import save_model
from tests.effort import draws

# ---- the same program in four forms --------------------------------------------------------------------------

RULES = """
// Who trades with whom is alike.
2.5: Trades(A, B) & Rich(A) && (A != B) >> Rich(B) ^2
0.1: ~RICH(A)   # few are
Trades(A, +B) <= 3 . {B: Port(B, 'sea')}
"""

JSON = """
/* The same, in one file. */
{
    "options": {"runtime.seed": 7, 'exact': true},
    "rules": [
        "2.5: Trades(A, B) & Rich(A) && (A != B) >> Rich(B) ^2",
        // few are
        '0.1: ~RICH(A)',
        "Trades(A, +B) <= 3 . {B: Port(B, \\"sea\\")}",   # a limit
    ],
    "predicates": {
        "Trades/2": {"observations": ["trades.txt"]},
        "Port": {"types": ["UniqueStringID", "UniqueStringID"], "observations": [["Ghent", "sea"], ["Basel", 'river', 0.50]]},
        "Rich/1": {
            "evaluations": ["AUCEvaluator", {"evaluator": "DiscreteEvaluator", "options": {"threshold": 0.5}}],
            "observations": {"learn": ["rich_learn.txt"], "infer": [["Bruges", 1]]},
            "targets": {"all": ["rich_targets.txt", ["Ghent"]]},
            "truth": [["Ghent", 1.0]]
        },
    }
}
"""

YAML = """
# The same as YAML.
options: {runtime.seed: 7, exact: true}
rules:
  - "2.5: Trades(A, B) & Rich(A) && (A != B) >> Rich(B) ^2"
  - '0.1: ~RICH(A)'   # few are
  - |
    Trades(A, +B) <= 3 . {B: Port(B, "sea")}
predicates:
  Trades/2:
    observations: [trades.txt]
  Port:
    types: [UniqueStringID, UniqueStringID]
    observations:
      - [Ghent, sea]
      - [Basel, river, 0.50]
  Rich/1:
    evaluations: [AUCEvaluator]
    observations:
      learn: [rich_learn.txt]
      infer:
        - [Bruges, 1]
    targets:
      all:
        - rich_targets.txt
        - [Ghent]
    truth:
      - [Ghent, 1.0]
"""

DATA = """
predicates:
  Trades/2: closed
  Port:
    - closed
    - types:
      - UniqueStringID
      - UniqueStringID
    - block
  Rich/1: open
observations:
  Trades: trades.txt
  rich: rich_learn.txt
targets:
  Rich:
    - rich_targets.txt
    - more_targets.txt
truth:
  Rich: rich_truth.txt
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in (("trade.psl", RULES), ("trade.json", JSON), ("trade.yaml", YAML), ("trade.data", DATA)):
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def test_rule_files_json_and_yaml_have_equal_rules(folder: Path) -> None:
    bare = read_psl(folder / "trade.psl")
    models = [
        read_psl(folder / "trade.json"),
        read_psl(folder / "trade.yaml"),
        read_psl(folder / "trade.psl", data=folder / "trade.data"),
    ]
    assert all(model.rules == bare.rules for model in models)
    assert models[0] == models[1] == models[2] == parse_psl(JSON)
    assert str(models[0]) == (
        '// sqlrl {"predicates": {"Trades/2": "closed", "Port/2": "closed", "Rich/1": "open"}}\n'
        "2.5: Trades(A, B) & Rich(A) & A != B -> Rich(B) ^2\n"
        "0.1: !Rich(A)\n"
        "Trades(A, +B) <= 3 . {B: Port(B, 'sea')}\n"
    )
    assert bare != models[0]  # it declares nothing
    assert bare.query == frozenset()
    assert read_psl(folder / "trade.psl", query="rich").query == {"Rich"}


def test_partitions_say_where_the_data_are(folder: Path) -> None:
    expected = [
        ("Trades", "observations", "all", ("trades.txt",), ()),
        ("Port", "observations", "all", (), (("Ghent", "sea"), ("Basel", "river", "0.50"))),
        ("Rich", "observations", "learn", ("rich_learn.txt",), ()),
        ("Rich", "observations", "infer", (), (("Bruges", "1"),)),
        ("Rich", "targets", "all", ("rich_targets.txt",), (("Ghent",),)),
        ("Rich", "truth", "all", (), (("Ghent", "1.0"),)),
    ]
    for name, line in (("trade.json", 12), ("trade.yaml", 11)):
        model = read_psl(folder / name)
        parts = [(p.predicate, p.role, p.split, tuple(f.name for f in p.files), p.rows) for p in model.partitions]
        assert parts == expected
        assert all(file.parent == folder for part in model.partitions for file in part.files)
        assert model.partitions[0].place == f"{folder / name}:{line}"
        assert model.options == {"runtime.seed": "7", "exact": "true"}
    model = read_psl(folder / "trade.psl", data=folder / "trade.data")
    assert [(p.predicate, p.role, len(p.files)) for p in model.partitions] == [
        ("Trades", "observations", 1), ("Rich", "observations", 1), ("Rich", "targets", 2), ("Rich", "truth", 1),
    ]  # fmt: skip


def test_constants_of_rows_stay_the_texts_that_they_are() -> None:
    texts = ["1", "1.0", "010", "1e3", "true", "2020-01-01", "yes", "Ghent"]
    rows = ", ".join(f"[{text}]" for text in texts)
    found = parse_yaml_document(SourceText(f"rows: [{rows}]")).root.pairs[0][1]
    assert [row.items[0].value for row in found.items] == texts
    model = parse_psl(
        '{"predicates": {"P/1": {"observations": [[1], [1.0], [010], [1e3], [true], [+5], [.5], ["1"]]}}}'
    )
    assert [row[0] for row in model.partitions[0].rows] == ["1", "1.0", "010", "1e3", "true", "+5", ".5", "1"]


def test_rules_and_options_of_one_task(tmp_path: Path) -> None:
    (tmp_path / "more.psl").write_text("3: C(X)\nD(X) = 1 .")
    text = """{
    "learn": {"rules": ["2: B(X)"], "options": {"a": "l", "b": "l"}},
    "infer": {"rules": "more.psl", "options": {"a": "i"}},
    "rules": ["1: A(X)"], "options": {"a": "both", "c": "both"}}"""
    (tmp_path / "m.json").write_text(text)
    model = read_psl(tmp_path / "m.json")
    assert [str(rule) for rule in model.rules] == ["1: A(X)", "3: C(X)", "D(X) = 1 ."]
    assert [rule.place for rule in model.rules[1:]] == [f"{tmp_path / 'more.psl'}:1", f"{tmp_path / 'more.psl'}:2"]
    assert model.options == {"a": "i", "c": "both"}
    learned = read_psl(tmp_path / "m.json", task="learn")
    assert [str(rule) for rule in learned.rules] == ["1: A(X)", "2: B(X)"]
    assert learned.options == {"a": "l", "b": "l", "c": "both"}
    # Earlier versions call it `eval`.
    assert parse_psl('{"eval": {"rules": ["1: A(X)"]}}').rules == model.rules[:1]
    with pytest.raises(InputError, match="expected 'infer' or 'learn'"):
        read_psl(tmp_path / "m.json", task="eval")  # type: ignore[arg-type]


def test_open_and_closed() -> None:
    text = """{"predicates": {
        "A/1": {"targets": [["x"]]}, "B/1": {"observations": [["x"]]}, "C/1": {"truth": [["x"]]}, "D/1": {},
        "E/1": {"force-open": true}, "F/1": {"targets": {"learn": ["f.txt"]}}, "G/1": "open", "H/1": {"force-open": false}}}"""
    model = parse_psl(text)
    assert model.query == {"A", "E", "F", "G"}
    assert {name for name, predicate in model.predicates.items() if predicate.closed} == {"B", "C", "D", "H"}


def test_types_are_those_that_are_declared() -> None:
    model = parse_psl("""{"predicates": {"A/2": {"types": ["UniqueIntID", "person"]}, "B(a, b)": {}, "C/1": {}}}""")
    assert [p.types for p in model.predicates.values()] == [("UniqueIntID", "person"), ("a", "b"), ("UniqueStringID",)]
    assert parse_psl(str(model)) == model


def test_the_eight_examples_of_psl(data_folder: Path, tmp_path: Path) -> None:
    files = sorted(data_folder.glob("psl/*/cli/*.json"))
    if not files:
        pytest.skip("the examples of PSL are not there")
    sizes = {}
    for file in files:
        model = read_psl(file)
        sizes[file.stem] = (len(model.rules), len(model.predicates), sorted(model.query))
        assert parse_psl(str(model)) == model
        # The same as a rule file with its data file.
        (tmp_path / "m.psl").write_text("\n".join(map(str, model.rules)))
        states = {f"{n}/{len(p.types)}": "closed" if p.closed else "open" for n, p in model.predicates.items()}
        (tmp_path / "m.data").write_text("predicates:\n" + "".join(f"  {k}: {v}\n" for k, v in states.items()))
        assert read_psl(tmp_path / "m.psl", data=tmp_path / "m.data") == model
        for ending in (".psl", ".json"):
            save_model(model, tmp_path / f"saved{ending}")
            assert read_psl(tmp_path / f"saved{ending}") == model
    assert sizes == {
        "citeseer": (11, 2, ["HasCat"]),
        "epinions": (21, 3, ["Trusts"]),
        "friendship": (4, 3, ["Friends"]),
        "knowledge-graph-identification": (26, 24, ["Cat", "Rel"]),
        "lastfm": (21, 20, ["rating"]),
        "simple-acquaintances": (6, 3, ["Knows"]),
        "smokers": (5, 3, ["Cancer", "Smokes"]),
        "trust-prediction": (20, 3, ["Trusts"]),
    }


# ---- what is refused, and where ------------------------------------------------------------------------------

REFUSED: list[tuple[str, type[SqlrlError], str]] = [
    ('{"rules": ["1: A(X) -> B(X"]}', ParseError, "1:27: expected ',' or ')', found the end of the text"),
    ('{"rules": [\n  "1: A(X)",\n  "1: A(\\"b\\", Y)"]}', ModelError, "3:7: A has 1 argument, found 2"),
    ('{"rules": ["-1: A(X)"]}', ModelError, "1:13: the weight -1 is negative"),
    ('{"rules": ["1: A(\\t\'b\\\\q\')"]}', ParseError, "1:22: unknown escape '\\q'"),
    ('{"rules": ["1: A(X) 2: A(X)"]}', ParseError, "1:12: expected one rule in each text, found 2 rules"),
    ('{"rules": ["// none"]}', ParseError, "1:12: expected one rule in each text, found 0 rules"),
    ('{"rules": [1]}', ParseError, "1:12: expected a rule as a text, found 1: put it into quotes"),
    ('{"rules": {"a": 1}}', ParseError, "1:11: expected a list or a text for rules, found an object"),
    ('{"rules": "none.psl"}', ParseError, "1:11: the rule file does not exist: none.psl"),
    ('{"rule": []}', ParseError, "1:2: PSL knows no entry 'rule'; did you mean 'rules'?"),
    ('{"rules": [], "rules": []}', ParseError, "1:15: the file says 'rules' twice"),
    ('{"infer": {"predicates": {}}}', ParseError, "1:12: infer has 'predicates': expected 'rules' or 'options'"),
    ('{"rules": ["1: B(X)"], "predicates": {"A/1": {}}}', ModelError, "1:16: there is no predicate 'B'"),
    ('{"rules": ["1: Smoke(X)"], "predicates": {"Smokes/1": {}}}', ModelError, "1:16: there is no predicate 'Smoke'; did you mean 'Smokes'?"),
    ('{"rules": ["1: A(X)"], "predicates": {"A/2": {}}}', ModelError, "1:16: A has 2 arguments, found 1"),
    ('{"predicates": {"A": {}}}', ParseError, "1:17: A is declared without its number of arguments: write A/2, say"),
    ('{"predicates": {"A/0": {}}}', ParseError, "1:17: A has 0 arguments: expected 1 to 250"),
    ('{"predicates": {"A/x": {}}}', ParseError, "1:17: 'A/x' declares no predicate"),
    ('{"predicates": {"A/2": {"arity": 3}}}', ParseError, "1:34: A is declared with 2 arguments, and with 3"),
    ('{"predicates": {"A/2": {"types": ["String"]}}}', ParseError, "1:17: A is declared with 2 arguments, and with 1 type"),
    ('{"predicates": {"A/1": {"types": ["Strng"]}}}', ParseError, "1:35: 'Strng' is no type; did you mean 'String'?"),
    ('{"predicates": {"A/1": {}, "a/1": {}}}', ParseError, "1:28: the predicate a is declared twice"),
    ('{"predicates": {"A/1": {"target": []}}}', ParseError, "1:25: PSL knows no property 'target' of A; did you mean 'targets'?"),
    ('{"predicates": {"A/1": "opened"}}', ParseError, "1:24: PSL knows no property 'opened' of A"),
    ('{"predicates": {"A/1": ["open", "closed"]}}', ParseError, "1:33: A is declared as open or closed twice"),
    ('{"predicates": {"A/1": ["closed", {"targets": [["x"]]}]}}', ParseError, "1:17: A is declared as closed, and has targets"),
    ('{"predicates": {"A/1": {"function": "org.some.Text"}}}', UnsupportedError, "1:25: A has 'function', which is not supported: it is computed by Java code"),
    ('{"predicates": {"A/1": {"type": "DeepPredicate"}}}', UnsupportedError, "1:25: A has 'type', which is not supported: it is computed by a neural model"),
    ('{"predicates": {"A/1": {"targets": {"test": []}}}}', ParseError, "1:37: PSL knows no split 'test' of targets: expected all, learn or infer"),
    ('{"predicates": {"A/1": {"targets": [1]}}}', ParseError, "1:37: expected a text for targets of A: a file, or a row, found 1"),
    ('{"predicates": {"A/2": {"targets": [["x"]]}}}', ParseError, "1:37: a row of targets of A has 1 value: expected 2, or 3 with a truth"),
    ('{"predicates": {"A/1": {"truth": [["x", 1, 2]]}}}', ParseError, "1:35: a row of truth of A has 3 values: expected 1, or 2 with a truth"),
    ('{"predicates": {"A/1": {"truth": [["x", 1.5]]}}}', ModelError, "1:41: the truth of a row of A is 1.5: expected a number from 0 to 1"),
    ('{"predicates": {"A/1": {"truth": [["x", "nan"]]}}}', ModelError, "1:41: the truth of a row of A is 'nan': expected a number from 0 to 1"),
    ('{"predicates": {"A/1": {"truth": [["x", "y"]]}}}', ModelError, "1:41: the truth of a row of A is 'y': expected a number from 0 to 1"),
    ('{"predicates": {"A/1": {"truth": [[null, 1]]}}}', ParseError, "1:36: a row has null: expected a constant"),
    ('{"predicates": {"A/1": {"truth": [[["x"], 1]]}}}', ParseError, "1:36: expected a text or a number or a word for a constant of a row, found a list"),
    ('{"predicates": {}, "targets": {"A": "a.txt"}}', ParseError, "1:32: there is no predicate 'A'; declare it under 'predicates'"),
    ('{"options": {"a": []}}', ParseError, "1:19: expected a text or a number or a word for the option 'a', found a list"),
    # JSON itself.
    ('{"rules": [1 2]}', ParseError, "1:14: expected ',' or ']', found '2'"),
    ('{"rules" []}', ParseError, "1:10: expected ':', found '['"),
    ("{rules: []}", ParseError, "1:2: expected a name in quotes, found 'r'"),
    ('{"rules": [],, }', ParseError, "1:14: expected a name in quotes, found ','"),
    ('{"rules": []', ParseError, "1:13: expected ',' or '}', found the end of the text"),
    ('{"rules": ["1: A(X)]}', ParseError, '1:12: this text does not end: expected " on the same line'),
    ('{"rules": [/* ]}', ParseError, "1:12: this comment does not end: expected */"),
    ('{"rules": ["\\x"]}', ParseError, "1:13: unknown escape '\\\\x': a backslash is written twice"),
    ('{"rules": []} []', ParseError, "1:15: expected the end of the document, found '['"),
    ('{"rules": [nil]}', ParseError, "1:12: expected a value, found 'n'"),
    ('{"a":' + "[" * 101, ParseError, "1:106: brackets nest more than 100 deep"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "kind", "message"), REFUSED, ids=[text[:60] for text, _, _ in REFUSED])
def test_what_is_refused_shows_the_place(text: str, kind: type[SqlrlError], message: str) -> None:
    with pytest.raises(kind) as caught:
        parse_psl(text, path="m.json")
    said, line, caret = str(caught.value).split("\n")
    row, column = message.split(":", 2)[:2]
    assert said.startswith(f"m.json:{message}")
    if len(text) < 200:
        assert line == "  " + text.split("\n")[int(row) - 1].replace("\t", " ")
        assert caret.replace("\t", " ") == " " * (int(column) + 1) + "^"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("rules:\n  - '1: A(X) -> B('\n", "2:19: expected a variable, or a constant in quotes, found the end of the text"),
        ("rules:\n  - |\n    1: A(X) -> B(\n", "2:5: expected a variable"),
        ("rules:\n  - 1: A(X)\n", "2:5: expected a rule as a text, found an object: put it into quotes"),
        ("rules: [a\n", "2:1: this is no YAML: expected ',' or ']'"),
        ("rules: &r [a]\nlearn: *r\n", "2:8: the alias *r is not supported: write out what it stands for"),
        ("rules: []\n---\nrules: []\n", "2:1: the file has several documents: expected one"),
        ("- rules\n", "1:1: expected an object for a program of PSL, found a list"),
        ("predicates:\n  A/1: closed\n  A/1: open\n", "3:3: predicates says 'A/1' twice"),
        ("{[rules]: []}\n", "1:2: expected a text for a name of the file, found a list"),
        ("a: " + "[" * 101, "1:103: values nest more than 100 deep"),
        ("a: \x01", "1:4: this is no YAML: special characters are not allowed"),
    ],
)  # fmt: skip
def test_what_is_refused_in_yaml_shows_the_place(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "m.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(SqlrlError) as caught:
        read_psl(path)
    assert str(caught.value).startswith(f"{path}:{message}")


def test_yaml_without_its_library_says_what_to_install(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    true_import = builtins.__import__

    def without_yaml(name: str, *args: Any, **kwargs: Any) -> Any:
        if name == "yaml":
            raise ImportError(name)
        return true_import(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without_yaml)
    with pytest.raises(InputError, match=r"trade\.yaml: reading YAML needs PyYAML: pip install 'sqlrl\[yaml\]'"):
        read_psl(folder / "trade.yaml")
    assert read_psl(folder / "trade.json").rules == read_psl(folder / "trade.psl").rules


def test_files_that_do_not_belong_together(folder: Path) -> None:
    with pytest.raises(InputError, match="belongs to a rule file"):
        read_psl(folder / "trade.json", data=folder / "trade.data")
    with pytest.raises(InputError, match="has rules of its own"):
        read_psl(folder / "trade.psl", data=folder / "trade.json")
    (folder / "none.data").write_text("observations: {}\n")
    with pytest.raises(InputError, match="declares no predicates"):
        read_psl(folder / "trade.psl", data=folder / "none.data")
    with pytest.raises(ParseError, match="No such file"):
        read_psl(folder / "missing.psl")
    with pytest.raises(ParseError, match=r"pass it to sqlrl\.parse_psl"):
        read_psl("1: A(X) -> B(X)")
    (folder / "few.data").write_text("predicates: {Trades/2: closed, Rich/1: open}\n")
    with pytest.raises(ModelError, match=r"trade\.psl:5:26: there is no predicate 'Port'"):
        read_psl(folder / "trade.psl", data=folder / "few.data")


def test_a_stranger_s_file_reads_no_other_folder(tmp_path: Path) -> None:
    (tmp_path / "inside").mkdir()
    (tmp_path / "secret.txt").write_text("a secret text")
    path = tmp_path / "inside" / "m.json"
    path.write_text('{"rules": "../secret.txt"}')
    with pytest.raises(ParseError, match="outside of the folder of a program read with trusted=False"):
        read_psl(path, trusted=False)
    # What is wrong with a file that is none of rules is told without its lines.
    with pytest.raises(ParseError) as caught:
        read_psl(path)
    assert "secret text" not in str(caught.value)
    (tmp_path / "inside" / "r.psl").write_text("1: A(X)")
    path.write_text('{"rules": "r.psl"}')
    assert len(read_psl(path, trusted=False).rules) == 1


# ---- what was saved ------------------------------------------------------------------------------------------


def test_saved_models_load_to_equal_models(folder: Path) -> None:
    model = read_psl(folder / "trade.json").with_types(
        {"Trades": ["town", "town"], "Port": ["town", "water"], "Rich": ["town"]}
    )
    for ending in (".psl", ".json"):
        path = folder / f"saved{ending}"
        model.save(path)
        first = path.read_bytes()
        found = read_psl(path)
        assert found == model
        assert models_equal(found, model)
        assert not models_equal(found, model.with_rules(()))
        assert (found.partitions, found.options) == ((), {})
        found.save(path)
        assert path.read_bytes() == first
    assert read_psl(folder / "saved.json", query="Rich") == model


def test_readers_of_the_other_kind_of_model_say_so(folder: Path) -> None:
    read_psl(folder / "trade.json").save(folder / "saved.json")
    with pytest.raises(ModelError, match=r"soft logic: read it with sqlrl\.read_psl"):
        read_model(folder / "saved.json")
    with pytest.raises(ModelError, match=r"soft logic: read it with sqlrl\.read_psl"):
        read_model(folder / "trade.psl")
    model = parse_mln("P(t)\n1 P(x)")
    save_model(model, folder / "other.json")
    assert models_equal(read_model(folder / "other.json"), model)
    with pytest.raises(ModelError, match=r"is a model: read it with sqlrl\.read_model"):
        read_psl(folder / "other.json")


def saved(**changes: Any) -> str:
    return json.dumps(soft_model_to_json(parse_psl("1: A(X) ^2\nB(X) = 1 .")) | changes)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (saved(version=6), "the model has version 6, and this sqlrl reads up to 5: upgrade sqlrl"),
        (saved(version=2), "does not fit its schema at $.version"),
        (saved(learned=True), "does not fit its schema at $.learned"),
        (saved(types={"t": ["a"]}), "does not fit its schema at $.types"),
        (saved(rules=[{"formula": "A(X)", "weight": -1}]), "does not fit its schema at $.rules[0].weight"),
        (saved(rules=[{"formula": "A(X)", "weight": 1, "fixed": True}]), "does not fit its schema at $.rules[0].fixed"),
        (saved(rules=[{"formula": "A(X)", "weight": 77}]).replace("77", "NaN"), "expected a value, found 'N'"),
        (saved(rules=[{"formula": "A(X)", "weight": 77}]).replace("77", "1e999"), "the weight inf is not finite"),
        (saved(rules=[{"formula": "A(X)"}]), "the rule A(X) has no weight: give it one, or make it hard"),
        (saved(rules=[{"formula": "A(X)", "hard": True, "weight": 1}]), "the rule A(X) is hard and has a weight"),
        (saved(rules=[{"formula": "A(X)", "hard": True, "squared": True}]), "a hard rule has no exponent"),
        (saved(rules=[{"formula": "A(X) B(X)", "weight": 1}]), "expected an operator or the end of the rule, found 'B'"),
        (saved(rules=[{"formula": "C(X)", "weight": 1}]), "there is no predicate 'C'"),
        (saved(query=["C"]), "query has 'C', which is no predicate"),
        (saved(predicates=[{"name": "A", "arguments": [{"type": "t"}]}] * 2), "the predicate A is declared twice"),
        (saved(predicates=[{"name": "a b", "arguments": [{"type": "t"}]}]), "cannot write the name 'a b'"),
    ],
)  # fmt: skip
def test_damaged_saved_models_are_refused(text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_psl(text, path="m.json")
    assert str(caught.value).startswith("m.json")
    assert message in str(caught.value)


def test_other_models_are_as_they_were() -> None:
    for version, bins in ((1, {}), (2, {"t": [1.0]})):
        text = json.dumps(
            {"version": version, "semantics": "exact", "query": [], "types": {}, "predicates": [{"name": "P", "arguments": [{"type": "t"}]}],
             "rules": [{"formula": "P(x)", "weight": 1.0}], **({"bins": bins} if bins else {})}
        )  # fmt: skip
        assert len(parse_model(text).rules) == 1
        with pytest.raises(ParseError, match="does not fit its schema"):
            parse_model(text.replace('"weight"', '"squared": true, "weight"'))
        with pytest.raises(ParseError, match="does not fit its schema"):
            parse_model(text.replace(f'"version": {version}', '"version": 3'))


@settings(max_examples=draws(300), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from([JSON, YAML, DATA, saved()] + [text for text, _, _ in REFUSED]), st.data())
def test_damaged_configurations_are_read_or_refused(tmp_path: Path, text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, min(start + 4, len(text))))
    pieces = [
        "",
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        '"',
        "'",
        "/*",
        "#",
        "-",
        "*a",
        "&a",
        "!",
        "|",
        ">",
        "%",
        "1",
        "null",
        "\\",
        "\n",
    ]
    damaged = text[:start] + data.draw(st.sampled_from(pieces)) + text[end:]
    for ending in (".json", ".yaml"):
        (tmp_path / f"m{ending}").write_text(damaged, encoding="utf-8")
        try:
            model = read_psl(tmp_path / f"m{ending}")
        except SqlrlError:
            continue
        assert parse_psl(str(model)) == model


# ---- documents -----------------------------------------------------------------------------------------------

values = st.recursive(
    st.text(max_size=5) | st.integers() | st.booleans() | st.none(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


def plain(node: Node) -> Any:
    """The values of a document, numbers as Python reads them."""
    if node.kind == OBJECT:
        return {name.value: plain(value) for name, value in node.pairs}
    if node.kind == TEXT:
        return node.value
    return [plain(each) for each in node.items] if node.items or node.value == () else json.loads(node.value)


@given(values, st.booleans(), st.sampled_from([None, 1]))
def test_documents_are_json(value: Any, ascii_only: bool, indent: int | None) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
    assert plain(parse_json_document(SourceText(text)).root) == value == parse_json(text)


@settings(max_examples=draws(50))
@given(
    st.dictionaries(
        st.from_regex(r"[a-z]{1,4}", fullmatch=True), st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1)
    )
)
def test_yaml_has_the_texts_of_json(value: dict[str, str]) -> None:
    # JSON is YAML, where its texts are.
    text = json.dumps(value, ensure_ascii=False)
    assert plain(parse_yaml_document(SourceText(text)).root) == value


@given(st.text(st.sampled_from("ab'\"\\\n\tü😀 /"), max_size=8))
def test_places_of_texts_are_those_of_their_characters(value: str) -> None:
    for ascii_only in (True, False):
        text = f'["", {json.dumps(value, ensure_ascii=ascii_only)}]'
        node = parse_json_document(SourceText(text)).root.items[1]
        starts = node.places[: len(value)] or range(node.start, node.start + len(value))
        places = [*starts, text.rindex('"')]
        # What stands from one place to the next one is that character.
        assert [json.loads(f'"{text[i:j]}"') for i, j in pairwise(places)] == list(value)


def test_an_empty_yaml_file_is_an_empty_program(tmp_path: Path) -> None:
    (tmp_path / "m.yaml").write_text("# nothing\n")
    assert read_psl(tmp_path / "m.yaml") == SoftModel({})
    assert parse_psl("{}") == SoftModel({}) == parse_psl("")


def test_partitions_are_values() -> None:
    one = DataPartition("A", "truth", rows=(("x", "1"),), place="m.json:3")
    assert one == DataPartition("A", "truth", rows=(("x", "1"),))
    assert one != DataPartition("A", "targets", rows=(("x", "1"),))
    assert NUMBER != TEXT
