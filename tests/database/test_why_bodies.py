"""Reasons against bodies in SQL: a ground clause speaks for an atom or against it where SQLite finds that its body holds in the data."""

from __future__ import annotations

import sqlite3
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import sqlrl
from sqlrl.ground import atom_clauses
from sqlrl.logic.model import Expansions
from tests.effort import draws

SHOPS, THINGS, MAKERS = ("S1", "S2", "S3"), ("T1", "T2", "T3"), ("M1", "M2")
TYPES = {
    "Sells": ("shop", "thing"),
    "Made": ("thing", "maker"),
    "Old": ("thing",),
    "Near": ("shop", "shop"),
    "Rich": ("shop",),
}
DOMAINS = {"shop": SHOPS, "thing": THINGS, "maker": MAKERS}
DECLARED = "\n".join(f"{name}({', '.join(types)})" for name, types in TYPES.items()) + "\nClosed(shop)\n"
WEIGHTS = [0.5, 0.75, -1.25, 2.0, -0.375, 1.5, -3.0, 0.125, -0.625, 0.25, 4.0, -7.0]


@dataclass(frozen=True)
class Group:
    """`EXIST t Sells(owner, t) ^ ...`, perhaps negated."""

    owner: str
    negated: bool
    made: tuple[bool, str] | None  # the sign, and a maker, or `+m`
    old: bool | None  # the sign

    def text(self) -> str:
        parts = [f"Sells({self.owner}, t)"]
        if self.made is not None:
            parts.append(f"{'' if self.made[0] else '!'}Made(t, {self.made[1]})")
        if self.old is not None:
            parts.append(f"{'' if self.old else '!'}Old(t)")
        return f"{'!' if self.negated else ''}(EXIST t {' ^ '.join(parts)})"

    def sql(self, maker: str) -> str:
        """The condition in SQLite, of rows that have `shop` and `other`."""
        owner = "shop" if self.owner == "s" else "other"
        tests = [f"x.a = {owner}"]
        if self.made is not None:
            sign, name = self.made
            chosen = maker if name.startswith("+") else name
            tests.append(
                f"{'' if sign else 'NOT '}EXISTS (SELECT 1 FROM Made AS y WHERE y.a = x.b AND y.b = '{chosen}')"
            )
        if self.old is not None:
            tests.append(f"x.b {'' if self.old else 'NOT '}IN (SELECT a FROM Old)")
        return f"{'NOT ' if self.negated else ''}EXISTS (SELECT 1 FROM Sells AS x WHERE {' AND '.join(tests)})"


@dataclass(frozen=True)
class Drawn:
    """A rule `body => Closed(s)` or `body => !Closed(s)`."""

    groups: tuple[Group, ...]
    near: bool  # with which `o` ranges over the shops near `s`
    rich: bool | None
    head: bool

    @property
    def template(self) -> bool:
        return any(g.made is not None and g.made[1] == "+m" for g in self.groups)

    def text(self) -> str:
        parts = ["Near(s, o)"] * self.near
        parts += [] if self.rich is None else [f"{'' if self.rich else '!'}Rich(s)"]
        parts += [group.text() for group in self.groups]
        return f"{' ^ '.join(parts)} => {'' if self.head else '!'}Closed(s)"

    def holds(self, data: sqlite3.Connection, shop: str, maker: str) -> int:
        """For how many `o`, or whether, the body holds for a shop."""
        tests = [group.sql(maker) for group in self.groups]
        tests += [] if self.rich is None else [f"shop {'' if self.rich else 'NOT '}IN (SELECT a FROM Rich)"]
        rows = f"(SELECT a AS shop, b AS other FROM Near WHERE a = '{shop}')"
        if not self.near:
            rows = f"(SELECT '{shop}' AS shop, NULL AS other)"
        (found,) = data.execute(f"SELECT count(*) FROM {rows} WHERE {' AND '.join(tests)}").fetchone()
        return int(found)


@st.composite
def rules(draw: st.DrawFn) -> Drawn:
    near = draw(st.booleans())

    def group() -> Group:
        made = st.tuples(st.booleans(), st.sampled_from(["+m", "+m", *MAKERS]))
        return Group(
            draw(st.sampled_from(["s", "o"] if near else ["s"])),
            draw(st.sampled_from([False, False, True])),
            draw(st.one_of(st.none(), made, made)),
            draw(st.sampled_from([None, None, True, False])),
        )

    groups = tuple(group() for _ in range(draw(st.sampled_from([1, 1, 2]))))
    return Drawn(groups, near, draw(st.sampled_from([None, None, True, False])), draw(st.booleans()))


def facts(name: str) -> st.SearchStrategy[list[tuple[str, ...]]]:
    row = st.tuples(*(st.sampled_from(DOMAINS[kind]) for kind in TYPES[name]))
    return st.sets(row, min_size=1, max_size=5).map(sorted)


def weighed(drawn: list[Drawn]) -> tuple[sqlrl.Model, dict[float, tuple[Drawn, str]]]:
    """A model as a learner leaves it: templates list their clauses. Each weight stands once, so that it names its clause."""
    model = sqlrl.parse_mln(DECLARED + "\n".join(rule.text() for rule in drawn), query=("Closed",))
    weights, known, found = iter(WEIGHTS), dict[float, tuple[Drawn, str]](), []
    for rule, one in zip(model.rules, drawn, strict=True):
        if one.template:
            chosen = tuple(next(weights) for _ in MAKERS)
            known |= {weight: (one, maker) for weight, maker in zip(chosen, MAKERS, strict=True)}
            listed = Expansions(("m",), tuple((maker,) for maker in MAKERS), chosen)
            found.append(replace(rule, expansions=listed))
        else:
            weight = next(weights)
            known[weight] = (one, "")
            found.append(replace(rule, weight=weight))
    return model.with_rules(tuple(found)), known


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sqlrl.errors.GroundingWarning")
@settings(max_examples=draws(40), deadline=None, phases=[Phase.generate])
@given(st.lists(rules(), min_size=1, max_size=3), st.fixed_dictionaries({name: facts(name) for name in TYPES}))
def test_a_rule_speaks_where_its_body_holds_in_the_data(
    drawn: list[Drawn], data: dict[str, list[tuple[str, ...]]]
) -> None:
    db, plain = sqlrl.connect(progress=False), sqlite3.connect(":memory:")
    for name, rows in data.items():
        db.load(name, rows, types=TYPES[name])
        names = ("a", "b")[: len(TYPES[name])]
        plain.execute(f"CREATE TABLE {name} ({', '.join(names)})")
        plain.executemany(f"INSERT INTO {name} VALUES ({', '.join('?' * len(names))})", rows)
    # Every constant is of the data, so that each shop has an atom and each maker a clause.
    db.load("Seen", [(s, t, m) for s in SHOPS for t in THINGS for m in MAKERS], types=("shop", "thing", "maker"))
    db.load("Closed", [("S1",)], types=("shop",), target=True)
    model, known = weighed(drawn)
    prediction = db.predict(model)
    for shop in SHOPS:
        reasons = prediction.why(f"Closed({shop})")
        expected: Counter[tuple[float, float]] = Counter()
        for weight, (rule, maker) in known.items():
            true = rule.head == reasons.truth
            expected[weight, weight if true else -weight] += rule.holds(plain, shop, maker)
        rows = reasons.table.to_arrow().to_pylist()
        found: Counter[tuple[float, float]] = Counter()
        for row in rows:
            found[row["weight"], row["contribution"] / row["times"]] += row["times"]
            assert row["side"] == ("for" if row["contribution"] > 0 else "against")
            rule, maker = known[row["weight"]]
            for group in rule.groups:
                # What must exist is part of the reason, with its constants; of two groups one has other variables.
                owner = shop if group.owner == "s" else ""
                parts = [f"Sells({owner}"]
                if group.made is not None:
                    parts.append(f", {maker if group.made[1] == '+m' else group.made[1]})")
                if group.old is not None:
                    parts.append("Old(t" if group.old else "!Old(t")
                assert all(part in row["ground_clause"] for part in parts)
        assert found == +expected, (reasons, [rule.text() for rule in drawn])
        # Of a world that scores best, flipping one atom gains nothing.
        assert reasons.contribution >= -1e-9


CLUBS = [("Ada", "Chess"), ("Ada", "Rowing"), ("Ben", "Rowing"), ("Cleo", "Judo"), ("Dov", "Chess"), ("Eve", "Judo")]
KINDS = [("Chess", "Board"), ("Rowing", "Water"), ("Judo", "Mat")]


def fitted() -> tuple[sqlrl.Database, sqlrl.Model]:
    db = sqlrl.connect(progress=False)
    db.load("Joins", CLUBS, types=("person", "club"))
    db.load("Kind", KINDS, types=("club", "kind"))
    db.load("Calm", [("Ada",), ("Dov",)], types=("person",), target=True)
    rules = (
        "Joins(person, club)\nKind(club, kind)\nCalm(person)\nCalm(p)\n(EXIST q Joins(p, q) ^ Kind(q, +k)) => Calm(p)"
    )
    return db, sqlrl.Likelihood(strength=0.05).fit(db, sqlrl.parse_mln(rules)).model


def test_a_fitted_template_speaks_as_its_rules_written_out() -> None:
    db, model = fitted()
    wanted = {}
    for form in (model, sqlrl.parse_mln(str(model))):
        prediction = db.predict(form)
        tables = [prediction.why(f"Calm({p})").table.to_arrow() for p in ("Ada", "Ben", "Cleo", "Dov", "Eve")]
        wanted[form is model] = tables
        for name, table in zip(("Ada", "Ben", "Cleo", "Dov", "Eve"), tables, strict=True):
            mine = {kind for person, club in CLUBS for k, kind in KINDS if (person, club) == (name, k)}
            texts = [text for text in table.column("ground_clause").to_pylist() if "EXIST" in text]
            told = {kind for kind in mine if any(f"Kind(q, {kind})" in text for text in texts)}
            assert len(texts) == len(told)
            assert all(text.startswith(f"(EXIST q Joins({name}, q) ^ Kind(q, ") for text in texts)
    assert wanted[True] == wanted[False]


def test_what_must_exist_stays_in_sql(tmp_path: Path) -> None:
    db, model = fitted()
    prediction = db.predict(model, keep=True)
    texts = prediction.why("Calm(Ada)").table.to_arrow().column("ground_clause").to_pylist()
    assert "(EXIST q Joins(Ada, q) ^ Kind(q, Board)) => Calm(Ada)" in texts
    for view in ("explain_atom", "explanation"):
        rows = db.sql(f"select ground_clause from sqlrl.{view} where atom = 'Calm(Ada)'").fetchall()
        assert sorted(text for (text,) in rows) == sorted(texts)
    path = tmp_path / "calm.json"
    model.save(path)
    found = db.run(
        f"CREATE MODEL calm FROM '{path}'; SELECT ground_clause FROM ML.EXPLAIN(MODEL calm, 'Calm(Ada)')"
    ).table
    assert found is not None
    assert sorted(found["ground_clause"]) == sorted(texts)


def test_many_groundings_that_differ_in_what_evidence_decides_are_one_row(monkeypatch: pytest.MonkeyPatch) -> None:
    # For each of 150 kinds that no club has the rule holds whatever Ada is; of the kinds of her clubs it speaks twice.
    db = sqlrl.connect(progress=False)
    db.load("Joins", CLUBS, types=("person", "club"))
    db.load("Kind", [*KINDS, *((f"other{i}", f"kind{i}") for i in range(150))], types=("club", "kind"))
    db.load("Calm", [("Ada",), ("Dov",)], types=("person",), target=True)
    rules = "Joins(person, club)\nKind(club, kind)\nCalm(person)\n"
    for rule, expected in (
        ("(EXIST q Joins(p, q) ^ Kind(q, k)) => Calm(p)", [("for", 2)]),
        ("(EXIST q Joins(p, q) ^ Kind(q, k)) <=> Calm(p)", [("for", 151), ("against", 2)]),
    ):
        prediction = db.predict(sqlrl.parse_mln(f"{rules}1 {rule}", query=("Calm",)))
        assert prediction.why("Calm(Ada)").truth == (len(expected) == 1)
        for matched in (100_000, 10):
            monkeypatch.setattr(atom_clauses, "MATCHED", matched)
            reasons = prediction.why("Calm(Ada)")
            found = [(row["side"], row["times"]) for row in reasons.table.to_arrow().to_pylist()]
            # Past that only the sum of what the rule says is known.
            net = sum(times if side == "for" else -times for side, times in expected)
            assert found == (expected if matched > 1000 else [("for", net)])
            assert reasons.contribution == net
            text = rule.replace("Joins(p,", "Joins(Ada,").replace("Calm(p)", "Calm(Ada)")
            assert set(reasons.table["ground_clause"]) == {text}
