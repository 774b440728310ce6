"""Programs of Alchemy and Tuffy with their evidence in files: what is open, hidden, closed or asked, and the words they use."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

import sqlrl
from sqlrl.cli.inputs import asked
from sqlrl.errors import CatalogError, ParseError, SqlrlError, UnsupportedError
from sqlrl.logic.evidence import parse_domains, parse_evidence
from tests.cli.conftest import Run

LAMPS = """\
Wired(lamp, lamp)
Live(lamp)
Lit(lamp)
1.2 Wired(x, y) ^ Live(x) => Live(y)
0.7 Live(x) => Lit(x)
"""
WIRES = "Wired(L1, L2)\nWired(L2, L3)\n"


def enumerated(live_weight: float = 1.2, lit_weight: float = 0.7) -> dict[str, float]:
    """P(Lit) of three lamps in a row, by all their worlds."""
    lamps, wires = ("L1", "L2", "L3"), {("L1", "L2"), ("L2", "L3")}
    mass = dict.fromkeys(lamps, 0.0)
    total = 0.0
    for bits in range(64):
        live = {lamp: bits >> i & 1 for i, lamp in enumerate(lamps)}
        lit = {lamp: bits >> (i + 3) & 1 for i, lamp in enumerate(lamps)}
        score = sum(live_weight for x in lamps for y in lamps if not ((x, y) in wires and live[x] and not live[y]))
        score += sum(lit_weight for x in lamps if lit[x] or not live[x])
        total += math.exp(score)
        for lamp in lamps:
            mass[lamp] += math.exp(score) * lit[lamp]
    return {lamp: m / total for lamp, m in mass.items()}


@pytest.fixture
def lamps(tmp_path: Path) -> tuple[Path, Path]:
    (tmp_path / "lamps.mln").write_text(LAMPS)
    (tmp_path / "wires.db").write_text(WIRES)
    return tmp_path / "lamps.mln", tmp_path / "wires.db"


def test_a_predicate_that_nobody_speaks_of_is_inferred_and_not_printed(run: Run, lamps: tuple[Path, Path]) -> None:
    model, evidence = lamps
    done = run("infer", "--model", model, "--evidence", evidence, "--query", "Lit", "--probabilities", "--json")
    assert {row["lamp"]: row["probability"] for row in done.rows()} == pytest.approx(enumerated(), abs=1e-5)
    assert {row["predicate"] for row in done.rows()} == {"Lit"}
    assert (
        "Live has no facts and is no query: its atoms are inferred and not printed (--closed Live: false)" in done.err
    )
    assert "inferred with them and not reported: Live (3 atoms)" in done.err
    closed = run("infer", "-m", model, "-e", evidence, "--query", "Lit", "--probabilities", "--json", "-cw", "Live")
    assert {row["probability"] for row in closed.rows()} == {0.5}
    best = run("infer", "-m", model, "-e", evidence, "--query", "Lit", "--all", "--json")
    assert len(best.rows()) == 3


def test_open_predicates_keep_what_is_known_of_them(run: Run, lamps: tuple[Path, Path]) -> None:
    model, evidence = lamps
    evidence.write_text(WIRES + "Live(L1)\n!Live(L3)\n")
    options = ("infer", "-m", model, "-e", evidence, "--query", "Lit", "--probabilities", "--json")
    known = {row["lamp"]: row["probability"] for row in run(*options).rows()}
    half, high = 0.5, 1 / (1 + math.exp(-0.7))
    # Without the option what is not stated is false.
    assert known == pytest.approx({"L1": high, "L2": half, "L3": half}, abs=1e-5)
    opened = {row["lamp"]: row["probability"] for row in run(*options, "-ow", "Live").rows()}
    live = math.exp(1.2) * (1 + math.exp(0.7)) / math.exp(0.7)
    dead = 2 * math.exp(1.2)
    p = live / (live + dead)
    assert opened == pytest.approx({"L1": high, "L2": p * high + (1 - p) * half, "L3": half}, abs=1e-5)


def test_a_name_that_is_almost_that_of_facts_is_refused(run: Run, tmp_path: Path, lamps: tuple[Path, Path]) -> None:
    model = tmp_path / "typo.mln"
    model.write_text(LAMPS.replace("Live(lamp)", "Live(lamp)\nWierd(lamp, lamp)").replace("1.2 Wired", "1.2 Wierd"))
    done = run("infer", "-m", model, "-e", lamps[1], "--query", "Lit,Live")
    assert done.code == 1
    assert "Wierd has no facts, and Wired has: correct the name, or say what it is: --open Wierd" in done.err
    assert run("infer", "-m", model, "-e", lamps[1], "--query", "Lit,Live", "--closed", "Wierd").code == 0


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        (
            ["--closed", "Life"],
            1,
            "--closed names predicates that the model does not declare: Life; did you mean 'Live'",
        ),
        (["--open", "Lives"], 1, "--open names predicates that the model does not declare: Lives"),
        (["--open", "Live", "--closed", "Live"], 1, "Live cannot be in both --open and --closed: choose one"),
        (["--closed", "Lit"], 1, "Lit is to be predicted, and cannot be empty: leave it out of --closed"),
        (["--open", "Lit"], 1, "--open names all that is to be predicted, Lit"),
        (["--closed", "Wired,Live"], 0, "3 query atoms"),
    ],
)
def test_what_open_and_closed_name(
    run: Run, lamps: tuple[Path, Path], options: list[str], code: int, words: str
) -> None:
    done = run("infer", "-m", lamps[0], "-e", lamps[1], "--query", "Lit", *options)
    assert (done.code, words in done.err) == (code, True), done.err


def test_learners_leave_nothing_open(run: Run, tmp_path: Path, lamps: tuple[Path, Path]) -> None:
    done = run("learn", "-m", lamps[0], "-e", lamps[1], "--query", "Lit", "--open", "Live")
    assert (done.code, "of which nothing can be learned" in done.err) == (2, True)
    done = run("learn", tmp_path / "x.duckdb", "-m", lamps[0], "--closed", "Live")
    assert (done.code, "load an empty table" in done.err) == (2, True)


@pytest.mark.parametrize("command", [pytest.param("learn", marks=pytest.mark.slow), "count"])
def test_other_commands_ask_what_it_is(run: Run, lamps: tuple[Path, Path], command: str) -> None:
    model, evidence = lamps
    evidence.write_text(WIRES + "Lit(L1)\n")
    done = run(command, "-m", model, "-e", evidence, "--query", "Lit")
    assert done.code == 1
    assert "predicates of the model without data: Live" in done.err
    assert run(command, "-m", model, "-e", evidence, "--query", "Lit", "--closed", "Live").code == 0


def test_python_names_three_ways() -> None:
    db = sqlrl.connect()
    model = sqlrl.parse_mln(LAMPS, query=["Lit"])
    db.load(sqlrl.Evidence(parse_evidence(WIRES), model))
    with pytest.raises(CatalogError, match=r"without data: Live\..* drop= .*, empty= .*, hidden= "):
        db.probabilities(model)

    def found(**options: list[str]) -> dict[str, float]:
        return {
            row["lamp"]: row["probability"]
            for row in db.probabilities(model, roles=sqlrl.Roles(**options)).probabilities("Lit").to_pylist()
        }

    assert found(hidden=["Live"]) == pytest.approx(enumerated(), abs=1e-12)
    assert set(found(empty=["Live"]).values()) == set(found(drop=["Live"]).values()) == {0.5}
    assert found(hidden=["Live"]) == pytest.approx(enumerated(), abs=1e-12)
    prediction = db.predict(model, into="lit", roles=sqlrl.Roles(hidden=["Live"]))
    assert prediction.open_predicates == ["Lit"]
    assert "of 3 query atoms" in repr(prediction)
    assert db.sql("select count(*) from duckdb_tables() where table_name like 'lit%'").fetchall() == [(1,)]
    with pytest.raises(SqlrlError, match="name one of the open predicates Lit"):
        prediction.atoms("Live")
    for options, words in [
        ({"hidden": ["Live"], "empty": ["Live"]}, "Live cannot be in both hidden= and empty="),
        ({"hidden": ["Life"]}, "hidden= names predicates that the model does not declare: Life; did you mean 'Live'"),
        ({"empty": ["Wired"], "hidden": ["Live"]}, "empty= names predicates that have data: Wired"),
    ]:
        with pytest.raises(CatalogError, match=words):
            db.predict(model, roles=sqlrl.Roles(**options))
    # What was taken as empty is no fact: it can be loaded.
    db.predict(model, roles=sqlrl.Roles(empty=["Live"]))
    db.load("Live", [("L2",)], types=["lamp"])
    assert found()["L2"] == pytest.approx(1 / (1 + math.exp(-0.7)))


def test_a_query_takes_the_place_of_the_one_that_was_learned(
    run: Run, tmp_path: Path, lamps: tuple[Path, Path]
) -> None:
    saved = tmp_path / "saved.mln"
    sqlrl.parse_mln(LAMPS, query=["Lit", "Live"]).save(saved)
    both = run("infer", "-m", saved, "-e", lamps[1], "--all", "--json")
    assert {row["predicate"] for row in both.rows()} == {"Lit", "Live"}
    one = run("infer", "-m", saved, "-e", lamps[1], "--query", "Lit", "--probabilities", "--json")
    assert {row["lamp"]: row["probability"] for row in one.rows()} == pytest.approx(enumerated(), abs=1e-5)
    assert {row["predicate"] for row in one.rows()} == {"Lit"}


@pytest.mark.parametrize("first", ["model with the query", "model without it"])
def test_given_facts_are_evidence_whenever_the_query_is_named(run: Run, tmp_path: Path, first: str) -> None:
    text = "Ripe(fruit)\nSold(fruit)\n0.8 Ripe(x) => Sold(x)\n"
    (tmp_path / "m.mln").write_text(text)
    (tmp_path / "with.mln").write_text('// sqlrl {"query": ["Sold"], "semantics": "exact"}\n' + text)
    (tmp_path / "f.db").write_text("Ripe(F1)\nRipe(F2)\nRipe(F3)\nSold(F1)\n!Sold(F2)\n")
    model = tmp_path / ("with.mln" if first.endswith("query") else "m.mln")
    db = tmp_path / "f.duckdb"
    assert run("load", db, "--evidence", tmp_path / "f.db", "--given", "--model", model).code == 0
    done = run("infer", db, "-m", tmp_path / "m.mln", "--query", "Sold", "--probabilities", "--json")
    assert [row["fruit"] for row in done.rows()] == ["F3"]
    assert done.rows()[0]["probability"] == pytest.approx(1 / (1 + math.exp(-0.8)), abs=1e-5)


# ---- the language ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "rows"),
    [
        (["Near(C1, x)"], {("C1", "C1"), ("C1", "C2")}),
        (["Near(x, x)"], {("C1", "C1"), ("C2", "C2")}),
        pytest.param(["Near(C1, C2), Near(C2, C1)"], {("C1", "C2"), ("C2", "C1")}, marks=pytest.mark.slow),
        pytest.param(["Near(x, y)"], {("C1", "C1"), ("C1", "C2"), ("C2", "C1"), ("C2", "C2")}, marks=pytest.mark.slow),
        (["Near(C1, x)", "Near"], {("C1", "C1"), ("C1", "C2"), ("C2", "C1"), ("C2", "C2")}),
        (["queries.txt"], {("C2", "C1"), ("C2", "C2")}),
    ],
)
def test_atoms_can_be_asked_for(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, asked: list[str], rows: set[tuple[str, str]]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("m.mln").write_text("City(city)\nNear(city, city)\n0.3 Near(x, y) => Near(y, x)\n1 City(x)\n")
    Path("e.db").write_text("City(C1)\nCity(C2)\n")
    Path("queries.txt").write_text("Near(C2, C1)\nNear(C2, C2)\n")
    options = [part for text in asked for part in ("--query", text)]
    done = run("infer", "-m", "m.mln", "-e", "e.db", *options, "--probabilities", "--json")
    assert {(row["city"], row["city_2"]) for row in done.rows()} == rows
    if asked == ["Near(C1, x)"]:
        plain = run("infer", "-m", "m.mln", "-e", "e.db", *options, "--all", "--json")
        assert {(row["city"], row["city_2"]) for row in plain.rows()} == rows


def test_a_model_without_rules_has_a_distribution(run: Run, tmp_path: Path) -> None:
    (tmp_path / "m.mln").write_text("face = {F1, F2, F3, F4}\nDie(die)\nTop(die, face!)\nHeld(die)\n")
    (tmp_path / "e.db").write_text("Die(D1)\n")
    done = run(
        "infer", "-m", tmp_path / "m.mln", "-e", tmp_path / "e.db", "--query", "Top,Held", "--probabilities", "--json"
    )
    assert [row["probability"] for row in done.rows() if row["predicate"] == "Top"] == [0.25] * 4
    assert [row["probability"] for row in done.rows() if row["predicate"] == "Held"] == [0.5]
    assert run("learn", "-m", tmp_path / "m.mln", "-e", tmp_path / "e.db", "--query", "Top").code == 1


def test_evidence_lists_constants_beside_its_facts(tmp_path: Path) -> None:
    model = sqlrl.parse_mln(LAMPS, query=["Lit", "Live"])
    path = tmp_path / "w.db"
    path.write_text('Wired(L1, L2)\nlamp = {L4, "L 5"} // spare ones\n')
    db = sqlrl.connect()
    db.load(sqlrl.Evidence(path, model))
    names = db.probabilities(model).probabilities("Lit")["lamp"].to_pylist()
    assert sorted(names) == ["L 5", "L1", "L2", "L4"]
    # They are the data's: another model, loading, and what is removed do not touch them.
    assert db.advanced.bind(sqlrl.parse_mln("Live(lamp)\n1 Live(x)", query=["Live"])).types["lamp"].size == 4
    path.write_text("Wired(L1, L3)\nlamp = {L4}\n")
    db.load(sqlrl.Evidence(path, model))
    assert db.advanced.bind(model).types["lamp"].size == 3
    path.write_text("lampe = {L4}\nWired(L1, L3)\n")
    with pytest.raises(
        SqlrlError, match=r"lists constants of 'lampe', which is no type of the model; did you mean 'lamp'"
    ):
        db.load(sqlrl.Evidence(path, model))
    assert parse_domains("/* t = {A}\n*/ u = {B, 7}\nu = {B} // once") == {"u": ("B", "7")}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("1 NOT Live(x)", "found 'NOT' (write '!')"),
        ("1 Live(x) AND Lit(x)", "found 'AND' (write '^')"),
        ("1 Live(x) or Lit(x)", "found 'or' (write 'v')"),
        ("1 Live(x) implies Lit(x)", "found 'implies' (write '=>')"),
        ("1 Live(x) -> Lit(x)", "found '->' (expected '=>')"),
        ("1 Live(x) <-> Lit(x)", "found '<->' (expected '<=>')"),
        ("Live(x) :- Lit(x).", "write 'body => head'"),
    ],
)
def test_words_of_other_languages_are_refused_with_ours(text: str, words: str) -> None:
    with pytest.raises((ParseError, UnsupportedError)) as raised:
        sqlrl.parse_mln(LAMPS + text)
    assert words in str(raised.value)
    assert "^" in str(raised.value).splitlines()[-1]


def test_primes_and_types_with_capitals_are_read_and_written(tmp_path: Path) -> None:
    text = "*wrote(Person, Paper)\nkind(Paper, Kind)\n0.5 wrote(x, p) ^ wrote(x, p') => (kind(p, k) => kind(p', k))\n"
    model = sqlrl.parse_mln(text, query=["kind"])
    assert [p.types for p in model.predicates.values()] == [("Person", "Paper"), ("Paper", "Kind")]
    for path in (tmp_path / "m.mln", tmp_path / "m.json"):
        model.save(path)
        assert sqlrl.models_equal(sqlrl.read_model(path), model)
    db = sqlrl.connect()
    db.load(sqlrl.Evidence(parse_evidence("wrote(Ann, P1)\nwrote(Ann, P2)\nkind(P1, Short)"), model, given=True))
    (row,) = db.probabilities(model).probabilities().to_pylist()
    # Two groundings of the rule have P1 beside P2: the one that P2 may break counts.
    assert (row["Paper"], row["probability"]) == ("P2", pytest.approx(1 / (1 + math.exp(-0.5))))
    # A misspelt predicate of a ground rule is no declaration.
    with pytest.raises(SqlrlError, match="unknown predicate 'Wrot'"):
        sqlrl.parse_mln("Wrote(person)\nWrot(Anna)")


@pytest.mark.parametrize("name", ["X", "Y2"])
def test_variables_with_capitals_are_refused_where_no_data_have_such_constants(name: str) -> None:
    db = sqlrl.connect()
    db.load("Live", [("L1",)], types=["lamp"])
    text = f"Live(lamp)\nLit(lamp)\n1 Live({name}) => Lit({name})"
    with pytest.raises(CatalogError, match=rf"<text>:3: .*variables begin with a small letter, write {name.lower()};"):
        db.predict(sqlrl.parse_mln(text, query=["Lit"]))
    # Listed, or among the data, it is a constant as any other.
    assert db.advanced.bind(sqlrl.parse_mln(f"lamp = {{L1, {name}}}\n" + text, query=["Lit"])).types["lamp"].size == 2
    db.load("Live", [("L1",), (name,)], types=["lamp"])
    (row,) = [
        row
        for row in db.probabilities(sqlrl.parse_mln(text, query=["Lit"])).probabilities().to_pylist()
        if row["lamp"] == name
    ]
    assert row["probability"] == pytest.approx(1 / (1 + math.exp(-1)))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sqlrl.errors.LabelWarning")
def test_a_target_without_one_true_atom_is_learned_from_as_false(run: Run, lamps: tuple[Path, Path]) -> None:
    model, evidence = lamps
    evidence.write_text(WIRES + "Live(L1)\n")
    learn = ("learn", "-m", model, "-e", evidence, "--query", "Lit", "--learner", "likelihood", "--strength", "0.1")
    done = run(*learn, "--json")
    assert done.code == 0, done.err
    assert "all 3 labels of Lit are false" in done.err
    weights = {row["clause"]: row["weight"] for row in done.rows()}
    assert next(weight for clause, weight in weights.items() if "Lit" in clause) < -0.5
    # Only a learner takes it so: a prediction has nothing to compare with.
    db = sqlrl.connect()
    program = sqlrl.parse_mln(LAMPS, query=["Lit"])
    db.load(sqlrl.Evidence(parse_evidence(WIRES + "Live(L1)"), program))
    sqlrl.PSCG().fit(db, program)
    with pytest.raises(SqlrlError, match="no predicted atom has a label"):
        db.evaluate(db.predict(program))
    # A given atom is no label: of the others nothing is known.
    db.load("Lit", [("L1",)], types=["lamp"], given=True)
    with pytest.raises(SqlrlError, match="unlabelled atoms"):
        sqlrl.PSCG().fit(db, program)


@pytest.mark.slow
def test_what_an_earlier_call_took_a_predicate_for_is_forgotten(
    run: Run, tmp_path: Path, lamps: tuple[Path, Path]
) -> None:
    model, evidence = lamps
    file = tmp_path / "lamps.duckdb"
    assert run("load", file, "--evidence", evidence, "--model", model).code == 0
    asked = ("infer", file, "-m", model, "--query", "Lit", "--probabilities", "--json")
    opened = run(*asked, "--open", "Live").rows()
    assert {row["lamp"]: row["probability"] for row in opened} == pytest.approx(enumerated(), abs=1e-5)
    assert {row["probability"] for row in run(*asked, "--closed", "Live").rows()} == {0.5}
    assert run(*asked, "--open", "Live").rows() == opened
    assert run(*asked).code == 1
    db = sqlrl.connect()
    program = sqlrl.parse_mln(LAMPS, query=["Lit"])
    db.load(sqlrl.Evidence(evidence, program))
    db.probabilities(program, roles=sqlrl.Roles(hidden="Live"))
    more = tmp_path / "more.db"
    more.write_text("Live(L1)\n")
    db.load(sqlrl.Evidence(more, program, given=True))
    assert [info.name for info in db.advanced.bind(program).predicates.values() if info.open] == ["Lit"]


def test_empty_predicates_of_any_arity() -> None:
    db = sqlrl.connect()
    db.load("Live", [("L1",), ("L2",)], types=["lamp"])
    found = []
    for declared, atom in [
        ("Off()", "Off()"),
        ("Off(lamp)", "Off(x)"),
        ("Off(lamp, lamp)", "Off(x, x)"),
        ("Off()", "Off()"),
    ]:
        text = f"Live(lamp)\nLit(lamp)\n{declared}\n1 Live(x) ^ !{atom} => Lit(x)"
        rows = (
            db.probabilities(sqlrl.parse_mln(text, query=["Lit"]), roles=sqlrl.Roles(empty=["Off"]))
            .probabilities()
            .to_pylist()
        )
        found.append([round(row["probability"], 6) for row in rows])
    assert found == [[0.731059] * 2] * 4


def test_lists_of_evidence_go_with_what_replaces_it_and_are_numbers_where_those_are_meant(tmp_path: Path) -> None:
    one, other = tmp_path / "a.db", tmp_path / "b.db"
    one.write_text("Live(L1)\nlamp = {L2, L3}\n")
    other.write_text("Live(L4)\n")
    program = sqlrl.parse_mln("Live(lamp)\nLit(lamp)\n1 Live(x) => Lit(x)", query=["Lit"])
    db = sqlrl.connect()
    db.load(sqlrl.Evidence(one, program))
    assert db.advanced.bind(program).types["lamp"].size == 3
    db.load(sqlrl.Evidence(other, program, replace=True))
    assert db.advanced.bind(program).types["lamp"].size == 1
    numbers = sqlrl.connect()
    numbers.advanced.catalog.declare(program)
    numbers.load(numeric=["lamp"])
    one.write_text("Live(1)\nlamp = {2, 3.0}\n")
    with pytest.raises(SqlrlError, match=r"evidence lists '3\.0' of lamp, a type of numbers.*write 3"):
        numbers.load(sqlrl.Evidence(one, program))


def test_names_in_quotes_may_hold_what_divides_queries() -> None:
    model = sqlrl.parse_mln(LAMPS)
    found = asked(['Lit("a(b"), Live', 'Live("c, d)")'], model)
    assert found.predicates == ("Lit", "Live")
    assert [str(atom) for atom in found.atoms] == ['Lit("a(b")']


# ---- what predicates are taken for ---------------------------------------------------------------------------------

MODEL = (
    "Sick(p)\nNear(p, p)\n*Old(p)\nTired(p)\nIll(p)\n1 Near(x, y) ^ Sick(x) => Sick(y)\n1 Old(x) ^ Tired(x) => Ill(x)\n"
)
NEAR, SICK = "Near(A, B)\nNear(B, C)\n", "Sick(A)\n"

TAKEN = [
    # What the evidence says, what options say, and what each predicate is taken for, with the rule.
    (NEAR + SICK, ["--query", "Ill"], {"open": "Ill (named by --query)", "closed": "Near and Sick (facts of them are given", "hidden": "Tired has no facts"}),
    (NEAR, ["--query", "Sick,Ill"], {"open": "Ill and Sick (named by --query)", "closed": "Near (facts of it are given", "hidden": "Tired has no facts and is no query"}),
    (NEAR, ["--query", "Ill"], {"open": "Ill (", "closed": "Near (", "hidden": "Sick and Tired have no facts and are no query: their atoms are inferred"}),
    (NEAR + SICK, ["--query", "Ill", "--open", "Sick"], {"open": "Ill (", "closed": "Near (", "hidden": "Sick (named by --open)"}),
    (NEAR + SICK, ["--query", "Ill", "--closed", "Tired"], {"open": "Ill (", "closed": "Tired (named by --closed)", "hidden": ""}),
    (NEAR + "0.25 Sick(A)\n?Tired(B)\n", ["--query", "Ill"], {"open": "Sick and Tired (? or a probability in the evidence)", "closed": "Near (", "hidden": ""}),
    (NEAR + "Old(A)\n", ["--query", "Sick", "--closed", "Tired,Ill"], {"open": "Sick (", "closed": "Old (declared with *)", "hidden": ""}),
    (NEAR + "!Sick(A)\n", ["--query", "Ill,Tired"], {"open": "Ill and Tired (", "closed": "Near and Sick (", "hidden": ""}),
]  # fmt: skip


@pytest.mark.parametrize(("evidence", "options", "expected"), TAKEN, ids=[f"{e!r} {o}" for e, o, _ in TAKEN])
def test_one_line_says_what_predicates_are_taken_for(
    run: Run, tmp_path: Path, evidence: str, options: list[str], expected: dict[str, str]
) -> None:
    (tmp_path / "m.mln").write_text(MODEL, encoding="utf-8")
    (tmp_path / "e.db").write_text(evidence, encoding="utf-8")
    done = run("infer", "-m", tmp_path / "m.mln", "-e", tmp_path / "e.db", *options, "--json")
    assert done.code == 0, done.err
    (line,) = [each for each in done.err.splitlines() if each.startswith("open: ")]
    for state, words in expected.items():
        assert (f"{state}: " in line) is bool(words)
        assert words in line
    # `*` closes whatever the evidence says; what facts close, --open infers, and that alone.
    assert "Old (declared with *)" in line
    if "--open " in line:
        shut = line.partition("--open ")[2].split()[0]
        again = run("infer", "-m", tmp_path / "m.mln", "-e", tmp_path / "e.db", *options, "--open", shut, "--json")
        assert again.code == 0, again.err
        assert "facts of" not in again.err
        told = "hidden: " + " and ".join(sorted({*shut.split(","), *(options[3:4] if "--open" in options else [])}))
        assert f"{told} (named by --open)" in again.err
    assert run("infer", "-m", tmp_path / "m.mln", "-e", tmp_path / "e.db", *options, "--json", "-q").err == ""


def test_learners_say_what_they_learn_from(run: Run, tmp_path: Path) -> None:
    (tmp_path / "m.mln").write_text("Near(p, p)\nSick(p)\n1 Near(x, y) ^ Sick(x) => Sick(y)\n", encoding="utf-8")
    (tmp_path / "e.db").write_text(NEAR + SICK, encoding="utf-8")
    done = run("learn", "-m", tmp_path / "m.mln", "-e", tmp_path / "e.db", "--query", "Sick", "--learner", "likelihood")
    assert "open: Sick (named by --query; facts are labels); closed: Near (facts of it are given" in done.err
    assert "--open" not in done.err


def test_a_database_decides_nothing(run: Run, tmp_path: Path) -> None:
    (tmp_path / "m.mln").write_text("Near(p, p)\nSick(p)\n1 Near(x, y) ^ Sick(x) => Sick(y)\n", encoding="utf-8")
    (tmp_path / "e.db").write_text(NEAR, encoding="utf-8")
    run("load", tmp_path / "d.duckdb", "--evidence", tmp_path / "e.db", "--model", tmp_path / "m.mln")
    done = run("infer", tmp_path / "d.duckdb", "-m", tmp_path / "m.mln", "--query", "Sick")
    assert done.code == 0
    assert "closed: " not in done.err


def test_a_program_of_psl_says_which_predicates_its_data_open(run: Run, tmp_path: Path) -> None:
    program = """{"rules": ["1: Near(A, B) & Sick(A) -> Sick(B)", "1: !Ill(A)", "1: !Sick(A)"], "predicates": {
        "Near/2": {"observations": [["a", "b"]]}, "Sick/1": {"targets": [["a"], ["b"]]}, "Ill/1": ["open", {"targets": [["a"]]}]}}"""
    (tmp_path / "p.json").write_text(program, encoding="utf-8")
    done = run("psl", tmp_path / "p.json")
    assert done.code == 0, done.err
    assert "open: Ill and Sick (targets are given); closed: Near (no targets are given)" in done.err
