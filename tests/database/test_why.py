"""Reasons for predictions: contributions against flips, margins against enumeration of worlds, what is kept and refused."""

from __future__ import annotations

import itertools
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sqlrl
from sqlrl.database.why import Reasons
from sqlrl.errors import InfeasibleError, InputError
from sqlrl.solve.counts import score
from tests.effort import draws

HEADER = "Friends(person, person)\nSmokes(person)\nCancer(person)\n"
RULES = [
    "{w} Friends(x, y) ^ Smokes(x) => Smokes(y)",
    "{w} Smokes(x) => Cancer(x)",
    "{w} Smokes(x) ^ Cancer(x)",
    "{w} Smokes(x) <=> Cancer(x)",
    "{w} EXIST y (Friends(x, y) ^ Smokes(y))",
    "{w} Cancer(x) <=> (EXIST y (Friends(x, y) ^ Smokes(y)))",
    "{w} Smokes(x) v Smokes(y) v Friends(x, y)",
    "Smokes(Chris) => Cancer(Anna).",
]
FRIENDS = [("Anna", "Bob"), ("Bob", "Anna"), ("Bob", "Chris"), ("Chris", "Chris")]


def smokers() -> sqlrl.Database:
    db = sqlrl.connect()
    db.load("Friends", FRIENDS, types=("person", "person"))
    return db


@pytest.fixture(scope="module")
def friends() -> sqlrl.Database:
    """For tests that only read."""
    return smokers()


def helpers_hold(prediction: sqlrl.Prediction, world: np.ndarray) -> bool:
    """Hard rows of the network hold (definitions of helper atoms among them)."""
    network = prediction.network
    for _, literal in network.hard_units.tolist():
        if world[abs(literal) - 1] != (literal > 0):
            return False
    for j in np.flatnonzero(network.hard[network.row_clause]).tolist():
        row = network.literals[network.indptr[j] : network.indptr[j + 1]]
        if not any(world[abs(x) - 1] == (x > 0) for x in row.tolist()):
            return False
    for b, exact in enumerate(network.block_exact.tolist()):
        true = int(world[network.block == b].sum())
        if true > 1 or (exact and true == 0):
            return False
    return True


def margin_by_enumeration(prediction: sqlrl.Prediction, weights: np.ndarray, atom: int) -> float:
    network = prediction.network
    best = {True: -math.inf, False: -math.inf}
    for bits in itertools.product([False, True], repeat=len(network.atoms)):
        world = np.array(bits)
        if helpers_hold(prediction, world):
            value = score(network, weights, world)
            best[bool(world[atom])] = max(best[bool(world[atom])], value)
    value = bool(prediction.result.world[atom])
    return best[value] - best[not value]


WEIGHTS = st.sampled_from([-2.0, -0.75, -0.5, 0.0, 0.25, 0.5, 1.0, 1.5, 3.0])


@pytest.mark.slow
@settings(max_examples=draws(12), deadline=None)
@given(st.lists(st.tuples(st.sampled_from(RULES), WEIGHTS), min_size=1, max_size=4), st.integers(0, 5))
def test_margins_are_those_of_enumeration(friends: sqlrl.Database, rules: list[tuple[str, float]], place: int) -> None:
    db = friends
    text = HEADER + "\n".join(rule.format(w=w) for rule, w in rules)
    model = sqlrl.parse_mln(text, query=("Smokes", "Cancer"))
    prediction = db.predict(model)
    network = prediction.network
    if len(network.atoms) > 12:
        return
    name = f"{('Smokes', 'Cancer')[place % 2]}({('Anna', 'Bob', 'Chris')[place // 2]})"
    reasons = prediction.why(name)
    with db.advanced.program(model) as program:
        weights = program.weights()
        program_atoms = db.advanced.ground(model).atoms
    assert (program_atoms == network.atoms).all()
    ids = {f"{p}({row['person']})": i for p in ("Smokes", "Cancer") for i, row in named(prediction, p)}
    atom = ids[name]
    assert reasons.truth == prediction.result.world[atom]
    assert reasons.margin == pytest.approx(margin_by_enumeration(prediction, weights, atom), abs=1e-9)
    assert reasons.gap <= 1e-9


def named(prediction: sqlrl.Prediction, predicate: str) -> list[tuple[int, dict[str, str]]]:
    rows = prediction.atoms(predicate, every=True).to_pylist()
    places = np.flatnonzero(prediction.of_predicate(predicate))
    return list(zip(places.tolist(), rows, strict=True))


def test_the_contributions_of_an_atom() -> None:
    db = smokers()
    db.load("Smokes", [("Anna", 0.75)], types=("person",), probability=1)
    text = HEADER + "0.5 Smokes(x) => Cancer(x)\n1 Friends(x, y) ^ Smokes(x) => Smokes(y)\n-0.25 Smokes(x) ^ Cancer(x)"
    prediction = db.predict(sqlrl.parse_mln(text, query=("Smokes", "Cancer")))
    assert prediction.atoms("Smokes")["person"].to_pylist() == ["Anna", "Bob", "Chris"]
    reasons = prediction.why("Smokes(Anna)", neutral=True)
    rows = {row["ground_clause"]: (row["side"], row["contribution"]) for row in reasons.table}
    assert rows == {
        "Smokes(Anna)": ("for", pytest.approx(math.log(3))),
        "!Friends(Bob, Anna) v !Smokes(Bob) v Smokes(Anna)": ("for", 1.0),
        "Cancer(Anna) ^ Smokes(Anna)": ("against", -0.25),
        "!Smokes(Anna) v Cancer(Anna)": ("neutral", 0.0),
        "!Friends(Anna, Bob) v !Smokes(Anna) v Smokes(Bob)": ("neutral", 0.0),
    }
    assert reasons.contribution == pytest.approx(math.log(3) + 0.75)
    assert [row["side"] for row in reasons.table] == ["for", "for", "against", "neutral", "neutral"]
    assert len(prediction.why("Smokes(Anna)").table) == 3


def chain(blocks: str = "field!") -> tuple[sqlrl.Database, sqlrl.Model]:
    db = sqlrl.connect()
    db.load("Token", [("sql", 0, "b1"), ("rules", 1, "b1"), ("sql", 0, "b2")], types=("token", "position", "bib"),
            example="bib")  # fmt: skip
    db.load("InField", [("b1", "Title", 0)], types=("bib", "field", "position"), target=True)
    text = (
        f"Token(token, position, bib)\nInField(bib, {blocks}, position)\nfield = {{Author, Title, Venue}}\n"
        '1 Token("sql", p, c) => InField(c, Title, p)\n0.25 InField(c, Venue, p)\n'
    )
    return db, sqlrl.parse_mln(text)


@pytest.mark.slow
def test_blocks_speak_for_the_value_that_they_leave() -> None:
    db, model = chain()
    prediction = db.predict(model)
    reasons = prediction.why('InField("b1", Title, 0)')
    assert [row["ground_clause"] for row in reasons.table] == [
        "exactly one of 3 atoms is true",
        '!Token("sql", 0, "b1") v InField("b1", Title, 0)',
    ]
    assert reasons.margin == pytest.approx(0.75)
    other = prediction.why("InField(b1, Venue, 0)")
    assert not other.truth
    assert {row["ground_clause"]: row["side"] for row in other.table} == {
        'exactly one of 3 atoms is true: InField("b1", Title, 0)': "for",
        'InField("b1", Venue, 0)': "against",
    }
    assert other.margin == pytest.approx(0.75)


def test_hard_clauses_are_worth_more_than_anything(friends: sqlrl.Database) -> None:
    db = friends
    model = sqlrl.parse_mln(
        HEADER + "-5 Cancer(x)\n9 Smokes(Anna)\nSmokes(x) => Cancer(x).", query=("Smokes", "Cancer")
    )
    reasons = db.predict(model).why("Cancer(Anna)")
    assert [(row["side"], row["weight"], row["contribution"]) for row in reasons.table] == [
        ("for", None, math.inf),
        ("against", -5.0, -5.0),
    ]
    assert reasons.contribution == math.inf
    assert reasons.margin == pytest.approx(4.0)
    forced = sqlrl.parse_mln(HEADER + "Smokes(Anna).\n1 Smokes(x)", query=("Smokes",))
    found = db.predict(forced).why("Smokes(Anna)")
    assert found.margin == math.inf
    assert "no world has the other value" in repr(found)


@pytest.mark.slow
def test_reasons_of_a_kept_prediction_are_in_sql() -> None:
    db, model = chain("field")
    prediction = db.predict(model, keep=True)
    for _ in range(2):  # a second call puts its rows in place of the first one's
        prediction.why('InField("b1", Title, 0)')
    found = db.sql(
        "select atom, example, truth, margin, side, ground_clause, weight, times, run from sqlrl.explanation"
    )
    assert found.fetchall() == [
        (
            'InField("b1", Title, 0)',
            "b1",
            True,
            1.0,
            "for",
            '!Token("sql", 0, "b1") v InField("b1", Title, 0)',
            1.0,
            1,
            1,
        )
    ]
    db.predict(model).why('InField("b2", Title, 0)')
    assert db.sql("select count(*) from sqlrl.explained").fetchall() == [(1,)]


def test_an_atom_of_several_examples_needs_the_example() -> None:
    db = sqlrl.connect()
    db.load("Word", [("d1", "good"), ("d2", "bad")], types=("word",), example="column0")
    model = sqlrl.parse_mln('Word(word)\nclass = {Yes, No}\nIs(class)\n1 Word("good") => Is(Yes)', query=("Is",))
    prediction = db.predict(model)
    with pytest.raises(InputError, match=r"Is\(Yes\) is an atom of 2 examples \(d1, d2\): name one with example="):
        prediction.why("Is(Yes)")
    assert prediction.why("Is(Yes)", example="d1").truth
    assert not prediction.why("Is(Yes)", example="d2").truth
    with pytest.raises(InputError, match="no query atom of an example 'd3'"):
        prediction.why("Is(Yes)", example="d3")


@pytest.fixture(scope="module")
def predicted() -> sqlrl.Prediction:
    db = smokers()
    db.load("Smokes", [("Anna",)], given=True)
    return db.predict(
        sqlrl.parse_mln("Friends(person, person)\nSmokes(person)\n1 Friends(x, y) ^ Smokes(x) => Smokes(y)")
    )


@pytest.mark.parametrize(
    ("atom", "message"),
    [
        ("", "is not one atom"),
        ("Smokes(Anna) Smokes(Bob)", "expected the end of the line"),
        ("Smokes(Anna)\nSmokes(Bob)", "is not one atom"),
        ("!Smokes(Bob)", "is not one atom"),
        ("0.5 Smokes(Bob)", "is not one atom"),
        ("Smoke(Bob)", "there is no predicate Smoke; did you mean 'Smokes'?"),
        ("Friends(Anna, Bob)", "Friends is evidence and not predicted; Smokes is"),
        ("Smokes(Anna, Bob)", r"Smokes\(person\) has 1 argument, but 2 are given"),
        ("Smokes(Bobb)", "there is no person 'Bobb'; did you mean 'Bob'"),
        ("Smokes(Anna)", "is given as true by the evidence"),
        ("Smokes(Bob", "the atom:1"),
        ('Smokes("x\'; drop table x; --")', "there is no person"),
    ],
)
def test_what_is_no_query_atom_is_refused(predicted: sqlrl.Prediction, atom: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        predicted.why(atom)


def test_atoms_of_other_examples_and_of_other_data_are_refused() -> None:
    db, model = chain()
    prediction = db.predict(model, examples=["b1"])
    with pytest.raises(InputError, match="not among the examples of the prediction"):
        prediction.why('InField("b2", Title, 0)')
    with pytest.raises(InputError, match="outside the scope or the domains"):
        db.predict(model).why('InField("b2", Title, 1)')
    db.load("InField", [("b2", "Title", 0)], types=("bib", "field", "position"), given=True)
    db.predict(model)
    with pytest.raises(InputError, match="predict again"):
        prediction.why('InField("b1", Title, 0)')


def test_a_prediction_of_some_examples_is_explained_with_its_own_clauses() -> None:
    db, _ = chain()
    text = (
        "Token(token, position, bib)\nInField(bib, field!, position)\nfield = {Author, Title}\n"
        "0.5 Token(+t, p, c) => InField(c, Title, p)\n"
    )
    reasons: Reasons = db.predict(sqlrl.parse_mln(text), examples=["b2"]).why('InField("b2", Title, 0)')
    assert [row["clause"] for row in reasons.table if row["weight"]] == ['Token("sql", p, c) => InField(c, Title, p)']


@pytest.mark.slow
def test_the_margin_of_a_prediction_by_cutting_planes_is_that_of_the_whole_network(friends: sqlrl.Database) -> None:
    text = HEADER + "\n".join(rule.format(w=0.75) for rule in RULES[:3]) + "\n0.25 Smokes(Anna)\n"
    model = sqlrl.parse_mln(text, query=("Smokes", "Cancer"))
    whole, cut = smokers().predict(model), friends.predict(model, method="cutting-plane")
    assert cut.network.partial
    for name in ("Smokes(Bob)", "Cancer(Chris)", "Smokes(Anna)"):
        ours, theirs = cut.why(name), whole.why(name)
        assert ours.margin == pytest.approx(theirs.margin, abs=1e-6)
        assert ours.table.to_arrow() == theirs.table.to_arrow()


@pytest.mark.parametrize("method", ["full", "cutting-plane"])
def test_helper_atoms_have_their_definitions_in_margins(method: str) -> None:
    """No round needs the definition of a witness that no world looked for; with another value of the atom some world does."""
    db = sqlrl.connect()
    db.load("Sure", [("A", "A"), ("A", "B")], types=("thing", "thing"), target=True)
    rules = "Sure(x, y) ^ Sure(y, z) => Sure(x, z).\n1.9 !(EXIST y (!Sure(y, x) ^ !Sure(x, y)))"
    model = sqlrl.parse_mln("Sure(thing, thing)\n" + rules, query=["Sure"])
    reasons = db.predict(model, method=method).why("Sure(B, B)")  # type: ignore[arg-type]
    assert reasons.margin == pytest.approx(1.9)
    assert not reasons.at_least


@pytest.mark.parametrize("kind", ["atom", "example"])
def test_a_type_may_have_the_name_of_a_column(kind: str) -> None:
    db = sqlrl.connect()
    db.load("Bond", [("c1", "c2"), ("c2", "c3")], types=[kind, kind])
    declared = f"Bond({kind}, {kind})\nHot({kind})\n"
    model = sqlrl.parse_mln(declared + "1 Bond(x, y) ^ Hot(x) => Hot(y)\n2 Hot(x)", query=("Hot",))
    ground = [row["ground_clause"] for row in db.predict(model).why("Hot(c2)").table]
    assert any('v !Hot("c1") v Hot("c2")' in text for text in ground), ground
    contradictory = sqlrl.parse_mln(declared + "Bond(x, y) => Hot(y).\nBond(x, y) => !Hot(x).", query=("Hot",))
    with pytest.raises(InfeasibleError, match=r'!Hot\("c2"\)'):
        db.predict(contradictory)


@pytest.mark.parametrize(
    ("rule", "shown"),
    [
        ("1 Friends(x, y) ^ Smokes(x) => Smokes(y)", "Friends(Anna, Bob) ^ Smokes(Anna) => [Smokes(Bob)]"),
        ("1 !Friends(x, y) v !Smokes(x) v Smokes(y)", "!Friends(Anna, Bob) v !Smokes(Anna) v [Smokes(Bob)]"),
        ("1 FORALL x (Smokes(x) => Cancer(x))", "[Smokes(Bob)] => Cancer(Bob)"),
        ("1 !Smokes(x) => Cancer(x) v Cancer(Anna)", "![Smokes(Bob)] => Cancer(Bob) v Cancer(Anna)"),
        ("1 Smokes(x) => Cancer(x) ^ Smokes(Anna)", "[Smokes(Bob)] => Cancer(Bob) ^ Smokes(Anna)"),
        (
            "1 Smokes(x) => (EXIST y (Friends(x, y) ^ Cancer(y)))",
            "[Smokes(Bob)] => (EXIST y Friends(Bob, y) ^ Cancer(y))",
        ),
        ("1 Smokes(x) ^ x != y => Cancer(y)", "[Smokes(Bob)] ^ Bob != Chris => Cancer(Chris)"),
        ("1 Smokes(x) ^ Cancer(x)", "Cancer(Bob) ^ [Smokes(Bob)]"),
    ],
)
def test_ground_clauses_read_as_their_rules(friends: sqlrl.Database, rule: str, shown: str) -> None:
    prediction = friends.predict(sqlrl.parse_mln(HEADER + rule, query=("Smokes", "Cancer")))
    reasons = prediction.why("Smokes(Bob)", neutral=True)
    assert shown in reasons.shown()["ground_clause"]
    assert shown in repr(reasons)
    assert len(reasons.shown()) == len(reasons.table)


@pytest.fixture
def molecules() -> sqlrl.Database:
    """A molecule with a red part, and one without."""
    db = sqlrl.connect(progress=False)
    db.load("Has", [("m1", "a"), ("m1", "b"), ("m2", "c")], types=["molecule", "part"], example="molecule")
    db.load("Red", [("m1", "a")], types=["molecule", "part"], example="molecule")
    db.load("Active", [("m1",)], types=["molecule"], target=True)
    return db


QUANTIFIED = "Has(molecule, part)\nRed(molecule, part)\nActive(molecule)\n-1 Active(m)\n3 (EXIST x Has(m, x) ^ Red(m, x)) => Active(m)"


def test_a_rule_whose_body_does_not_hold_is_no_reason(molecules: sqlrl.Database) -> None:
    # Its disjoint conjunctions, of which one takes the other's place, would stand there as 3 for and 3 against.
    prediction = molecules.predict(sqlrl.parse_mln(QUANTIFIED))
    reasons = prediction.why('Active("m2")')
    assert reasons.shown()["ground_clause"] == ['[Active("m2")]']
    assert (reasons.truth, reasons.contribution, reasons.margin) == (False, 1.0, 1.0)
    neutral = prediction.why('Active("m2")', neutral=True).table.to_arrow().to_pylist()
    assert [row["contribution"] for row in neutral if row["side"] == "neutral"] == [0.0]


def test_a_rule_whose_quantified_body_holds_is_written_as_it_is(molecules: sqlrl.Database) -> None:
    reasons = molecules.predict(sqlrl.parse_mln(QUANTIFIED)).why('Active("m1")')
    shown = reasons.shown()["ground_clause"]
    assert shown == ['(EXIST x Has("m1", x) ^ Red("m1", x)) => [Active("m1")]', '[Active("m1")]']
    assert reasons.contribution == 2.0


def test_groundings_of_other_constants_do_not_cancel(friends: sqlrl.Database) -> None:
    # Bob agrees with Anna, twice, and not with Chris: each binding is a reason of its own.
    rules = "1 Friends(x, y) => (Smokes(x) <=> Smokes(y))\n3 Smokes(Anna)\n-3 Smokes(Chris)"
    reasons = friends.predict(
        sqlrl.parse_mln(HEADER + rules, query=("Smokes",)), roles=sqlrl.Roles(empty=("Cancer",))
    ).why("Smokes(Bob)")
    assert reasons.truth
    assert sorted(row["contribution"] for row in reasons.table.to_arrow().to_pylist()) == [-1.0, 1.0, 1.0]


@pytest.mark.slow
def test_no_constant_acts_on_a_terminal(tmp_path: Path) -> None:
    db = sqlrl.connect()
    names = ["\x1b[31mred", "a\u202eb", "tab\tand\rback", "bell\x07", "\x9b2J", "two\nlines"]
    db.load("Friends", [pair for name in names for pair in ((name, "Bob"), ("Bob", name))], types=("person", "person"))
    model = sqlrl.parse_mln(HEADER + "1 Friends(x, y) ^ Smokes(x) => Smokes(y)", query=["Smokes"])
    prediction = db.predict(model)
    shown = [
        *map(repr, (prediction, prediction.table("Smokes", every=True))),
        *map(repr, (model.plan(db)[0], db.export(model, tmp_path / "n.wcnf"))),
    ]
    for name in names:
        atom = 'Smokes("' + name.replace("\n", "\\n") + '")'
        reasons = prediction.why(atom)
        with pytest.raises(InputError) as refused:
            prediction.why(atom.replace("Smokes", "Smoke"))
        learned = sqlrl.parse_mln("Smokes(person)\n1 " + atom, query=["Smokes"])
        shown += [repr(reasons), reasons._repr_html_(), repr(learned), str(refused.value)]
        shown.append(str(learned.plan(db)[0]))
    for text in shown:
        assert all(line.isprintable() for line in text.split("\n"))
        assert not [name for name in names if name in text]
