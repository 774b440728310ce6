"""Audits of leaks: what is planted is found, counts are those of brute force, clean data have none, and what is given wrongly is said."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable, Mapping
from itertools import permutations, product
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sqlrl
from sqlrl.errors import CatalogError, InputError
from sqlrl.plan.duplicates import Units, equal_units, similar_units
from sqlrl.plan.label_copies import agreements, claims
from sqlrl.plan.leaks import AuditedTarget, FactView, naming_facts, reversed_atoms, shared_entities
from tests.effort import draws

Pair = tuple[str, str]


def paired(labels: Mapping[Pair, bool], **facts: tuple[Iterable[tuple[Any, ...]], list[str]]) -> sqlrl.Database:
    """Return a database whose target `T(item, item)` has these labelled pairs, and closed predicates."""
    db = sqlrl.connect()
    true = [pair for pair, label in labels.items() if label]
    db.load(
        "T",
        pa.table({"a": [x for x, _ in true], "b": [y for _, y in true]}),
        types=["item", "item"],
        target=True,
        empty="allow",
    )
    db.scope("T", list(labels))
    for name, (rows, types) in facts.items():
        db.load(name, list(rows), types=types)
    return db


def kinds(audit: sqlrl.Audit) -> list[str]:
    return list(audit.findings["kind"])


def check_shown(db: sqlrl.Database, audit: sqlrl.Audit) -> None:
    """Every query runs as it is, has as many rows as it says, and has each once."""
    for row in audit.findings:
        shown = db.sql(row["show_sql"]).fetchall()
        assert len(shown) == row["count"] > 0, row["what"]
        assert len(set(map(repr, shown))) == len(shown)
        assert 0 < row["share"] <= 1
        assert 0 < row["severity"] <= 1
    severities = audit.findings["severity"]
    assert severities == sorted(severities, reverse=True)


def ask(db: sqlrl.Database, query: Any) -> list[tuple[Any, ...]]:
    return db.advanced.engine.fetch_rows(query, step="ask")[1]


# ---- what is planted -----------------------------------------------------------------------------------


def tournament(size: int, seed: int) -> dict[Pair, bool]:
    """Return who beats whom by a hidden order: of each pair one direction is true, the other false."""
    order = [f"i{k:02}" for k in range(size)]
    random.Random(seed).shuffle(order)
    return {(order[i], order[j]): i < j for i in range(size) for j in range(size) if i != j}


def test_an_antisymmetric_target_is_found_by_defaults() -> None:
    labels = tournament(9, 9)
    db = paired(labels)
    audit = db.audit("T")
    check_shown(db, audit)
    assert set(kinds(audit)) == {"antisymmetry", "identity", "opposite reverse"}
    first = audit.findings.to_pylist()[0]
    true = sum(labels.values())
    assert (first["kind"], first["count"], first["share"]) == ("antisymmetry", true, 1.0)
    assert first["what"] == f"in all the data, all {true} true atoms have a reverse, T(y, x), that is false"
    part = {tuple(a): p for a, p in db.sql("select arguments, part from sqlrl.audit_atom").fetchall()}
    parted = sum(part[a, b] != part[b, a] for a, b in labels)
    (across,) = [row for row in audit.findings if row["kind"] == "opposite reverse"]
    assert (across["count"], across["share"]) == (parted, parted / len(labels))
    assert audit.baselines["accuracy"][-1] > 0.85
    assert "10 random folds of query atoms" in str(audit)


def test_a_symmetric_target_is_found_though_few_pairs_are_true() -> None:
    names = [f"i{k:02}" for k in range(25)]
    draw = random.Random(5)
    friends = {frozenset(draw.sample(names, 2)) for _ in range(20)}
    db = paired({(a, b): frozenset((a, b)) in friends for a, b in permutations(names, 2)})
    audit = db.audit("T", folds=5)
    check_shown(db, audit)
    rows = {row["kind"]: row for row in audit.findings}
    assert {"symmetry", "equal reverse"} <= rows.keys()
    assert (rows["symmetry"]["count"], rows["symmetry"]["share"]) == (2 * len(friends), 1.0)


@pytest.mark.slow
def test_reverses_that_tell_nothing_are_no_finding() -> None:
    names = [f"i{k:02}" for k in range(30)]
    draw = random.Random(1)
    for share in (0.02, 0.9):
        db = paired({pair: draw.random() < share for pair in permutations(names, 2)})
        assert kinds(db.audit("T", folds=3)) == [], share


@pytest.mark.slow
def test_names_that_predict_are_found_and_names_that_do_not_are_printed_alone() -> None:
    draw = random.Random(0)
    items = [f"i{k}" for k in range(10)]
    popular = set(items[:5])
    pairs = [(a, b) for a, b in product(items, items) if a < b]
    db = paired({(a, b): (b in popular) != (draw.random() < 0.05) for a, b in pairs})
    audit = db.audit("T", folds=4)
    check_shown(db, audit)
    (found,) = [row for row in audit.findings if row["kind"] == "identity"]
    assert found["count"] == len({x for pair in pairs for x in pair})
    assert "identity of item alone predicts" in found["what"]
    noise = paired({pair: draw.random() < 0.5 for pair in pairs}).audit("T", folds=4)
    assert kinds(noise) == []
    assert len(noise.baselines) == 3


def test_links_that_few_pairs_have_are_ranked_by_names() -> None:
    draw = random.Random(3)
    items = [f"i{k:02}" for k in range(40)]
    labels = {(a, b): int(b[1:]) < 4 and draw.random() < 0.3 for a, b in permutations(items, 2)}
    db = paired(labels)
    audit = db.audit("T", folds=4)
    check_shown(db, audit)
    (found,) = [row for row in audit.findings if row["kind"] == "identity"]
    assert "ranks 1,560 test atoms, AUC 0.9" in found["what"]


def noisy(labels: Mapping[Pair, bool], wrong: int) -> dict[Pair, bool]:
    """Return labels of which some are turned."""
    turned = set(random.Random(2).sample(sorted(labels), wrong))
    return {pair: label != (pair in turned) for pair, label in labels.items()}


COPIES: dict[str, tuple[Callable[[Mapping[Pair, bool]], tuple[list[tuple[str, ...]], list[str]]], str]] = {
    "as it is": (lambda t: ([p for p, x in t.items() if x], ["item", "item"]), "Copy(x, y) says what T(x, y) says"),
    "permuted": (lambda t: ([p[::-1] for p, x in t.items() if x], ["item", "item"]), "Copy(y, x) says what T(x, y) says"),
    "negated": (lambda t: ([p for p, x in t.items() if not x], ["item", "item"]), "Copy(x, y) is true where T(x, y) is not true"),
    "projected": (
        lambda t: ([(*p, v) for p, x in t.items() if x for v in "qr"], ["item", "item", "value"]),
        "Copy(x, y, _) says what T(x, y) says",
    ),
    "fixed": (
        lambda t: ([("yes" if x else "no", *p) for p, x in t.items()], ["value", "item", "item"]),
        "says what T(x, y) says",
    ),
}  # fmt: skip


def unlike(seed: int = 4) -> dict[Pair, bool]:
    """Return labels of pairs in one direction, without a pattern."""
    draw = random.Random(seed)
    return {(f"a{i:02}", f"b{j:02}"): draw.random() < 0.4 for i in range(20) for j in range(15)}


@pytest.mark.slow
def test_a_label_under_another_name_is_found() -> None:
    """Twenty predicates, which take a second: five forms of the labels with 0, 2 and 12 of them turned, and of other labels."""
    labels = unlike()
    facts, said = {}, {}
    for k, (make, text) in enumerate(COPIES.values()):
        facts[f"Other{k}"] = make(unlike(9))
        for wrong in (0, 2, 12):
            facts[f"Copy{k}With{wrong}"] = make(noisy(labels, wrong))
            said[f"Copy{k}With{wrong}"] = text.replace("Copy", f"Copy{k}With{wrong}"), wrong
    db = paired(labels, **facts)
    audit = db.audit("T", folds=3)
    check_shown(db, audit)
    found = [row for row in audit.findings if row["kind"] == "label copy"]
    assert sorted(row["predicate"] for row in found) == sorted(name for name in said if not name.endswith("12"))
    for row in found:
        text, wrong = said[row["predicate"]]
        assert text in row["what"]
        assert (row["count"], row["share"]) == (len(labels) - wrong, 1 - wrong / len(labels))


@pytest.mark.slow
def test_a_label_that_is_an_attribute_of_one_argument_is_found() -> None:
    draw = random.Random(7)
    good = {f"b{j:02}" for j in range(15) if draw.random() < 0.5}
    pairs = [(f"a{i:02}", f"b{j:02}") for i in range(12) for j in range(15)]
    grades = [
        (f"{side}{k:02}", "high" if f"b{k:02}" in good and side == "b" else "low") for side in "ab" for k in range(15)
    ]
    db = paired({(a, b): b in good for a, b in pairs}, Grade=(grades, ["item", "grade"]))
    audit = db.audit("T", folds=3)
    check_shown(db, audit)
    found = [row for row in audit.findings if row["kind"] == "label copy"]
    assert "Grade(y, 'high') says what T(x, y) says" in found[0]["what"]


def test_a_fact_about_whole_examples_that_is_the_label_is_found() -> None:
    draw = random.Random(8)
    days = {f"d{k:02}": draw.random() < 0.5 for k in range(40)}
    db = sqlrl.connect()
    sky = [(d, "grey" if rain else draw.choice(["blue", "white"])) for d, rain in days.items()]
    db.load("Sky", sky, columns=[1], types=["colour"], example="column0")
    db.load("Rain", [(d,) for d, rain in days.items() if rain], columns=[], types=[], example="column0", target=True)
    audit = db.audit("Rain", folds=4)
    check_shown(db, audit)
    (found,) = audit.findings
    assert (found["kind"], found["count"]) == ("label copy", 40)
    assert found["what"] == "Sky('grey') says what Rain() says: all 40 labelled atoms agree"


@pytest.mark.slow
def test_a_rare_target_is_no_copy_of_an_empty_predicate() -> None:
    """With 5 true atoms of 1,000, whatever is nearly always false agrees with 99 %."""
    items = [f"i{k:02}" for k in range(33)]
    pairs = list(permutations(items, 2))
    true = set(random.Random(0).sample(pairs, 5))
    rare = random.Random(1).sample(pairs, 4)
    db = paired({p: p in true for p in pairs}, Rare=(rare, ["item", "item"]))
    assert "label copy" not in kinds(db.audit("T", folds=3))


@pytest.mark.slow
def test_a_relation_that_tells_the_labels_of_the_pairs_it_has_is_found() -> None:
    labels = unlike(11)
    half = [pair for pair, label in labels.items() if label][::2]
    db = paired(labels, Cited=([p[::-1] for p in half], ["item", "item"]))
    audit = db.audit("T", folds=3)
    check_shown(db, audit)
    (found,) = [row for row in audit.findings if row["kind"] == "facts"]
    assert found["count"] == len(half)
    assert found["what"].startswith("Cited(y, x) tells that T(x, y) is true")


def documents(rows: Mapping[str, Iterable[str]], **more: Any) -> sqlrl.Database:
    """Return a database with an example a document: its words, and whether it is liked."""
    db = sqlrl.connect()
    db.load("Word", [(d, w) for d, words in rows.items() for w in words], types=["doc", "word"], example="doc")
    liked = [(d,) for d in list(rows)[::2]]
    db.load("Liked", liked, types=["doc"], target=True)
    for name, (facts, types) in more.items():
        db.load(name, facts, types=types)
    return db


def vocabulary(docs: int, words: int, seed: int = 0, size: int = 200) -> dict[str, list[str]]:
    draw = random.Random(seed)
    return {f"d{k:02}": sorted(f"w{x:03}" for x in draw.sample(range(size), words)) for k in range(docs)}


@pytest.mark.slow
def test_duplicates_and_near_duplicates_of_examples_are_found() -> None:
    rows = vocabulary(20, 10)
    rows["d01"], rows["d03"] = rows["d00"], ["new", *rows["d02"][1:]]
    db = documents(rows)
    folds = [[d for d in rows if int(d[1:]) % 2 == k] for k in (0, 1)]
    audit = db.audit("Liked", folds=folds)
    check_shown(db, audit)
    found = {row["kind"]: db.sql(row["show_sql"]).fetchall() for row in audit.findings}
    assert found == {
        "duplicate": [("d00", "d01"), ("d01", "d00")],
        "near duplicate": [("d00", "d01", 1), ("d01", "d00", 1), ("d02", "d03", 1), ("d03", "d02", 1)],
    }
    assert kinds(db.audit("Liked", folds=folds, near=0.95)) == ["duplicate"]
    together = [["d00", "d01", "d02", "d03"], [d for d in rows if d > "d03"]]
    assert kinds(db.audit("Liked", folds=together)) == []


@pytest.mark.slow
def test_duplicates_do_not_depend_on_the_names_of_what_is_private() -> None:
    """Two molecules with the same atoms and bonds, whose atoms are called otherwise."""
    db = sqlrl.connect()
    draw = random.Random(0)
    atoms, bonds = [], []
    for m in range(12):
        same = random.Random(99) if m < 2 else draw
        elements = [same.choice(["c", "n", "o", "s", "cl", "br", "f", "h", "p", "i"]) for _ in range(30)]
        atoms += [(f"m{m}", f"m{m}_{k}", element) for k, element in enumerate(elements)]
        bonds += [(f"m{m}", f"m{m}_{k}", f"m{m}_{k + 1}", str(same.randrange(4))) for k in range(29)]
    db.load("Atom", atoms, types=["molecule", "atom", "element"], example="molecule")
    db.load("Bond", bonds, types=["molecule", "atom", "atom", "bond"], example="molecule")
    db.load("Active", [("m0",), ("m3",)], types=["molecule"], target=True)
    folds = [[f"m{m}" for m in range(12) if m % 2 == k] for k in (0, 1)]
    audit = db.audit("Active", folds=folds)
    check_shown(db, audit)
    found = {row["kind"]: db.sql(row["show_sql"]).fetchall() for row in audit.findings}
    assert [row[:2] for row in found["duplicate"]] == [("m0", "m1"), ("m1", "m0")]


def test_entities_with_the_facts_of_others_are_found_where_atoms_are_folded() -> None:
    """In one network, whose examples are atoms: what a held-out entity has is what one that is trained on has."""
    rows = vocabulary(20, 10)
    rows["d01"], rows["d03"] = rows["d00"], ["new", *rows["d02"][1:]]
    db = sqlrl.connect()
    db.load("Has", [(d, w) for d, words in rows.items() for w in words], types=["thing", "word"])
    db.load("Good", [(d,) for d in list(rows)[::3]], types=["thing"], target=True)
    folds = [[(d,) for d in rows if int(d[1:]) % 2 == k] for k in (0, 1)]
    audit = db.audit("Good", folds=folds)
    check_shown(db, audit)
    found = {row["kind"]: db.sql(row["show_sql"]).fetchall() for row in audit.findings}
    assert found["duplicate"] == [("d00", "d01"), ("d01", "d00")]
    assert [row[0] for row in found["near duplicate"]] == ["d00", "d01", "d02", "d03"]


def test_facts_of_training_that_name_tested_examples_are_found() -> None:
    rows = vocabulary(12, 6)
    cites = [("d00", "d01"), ("d02", "d04"), ("d05", "d03")]
    db = documents(rows, Cites=(cites, ["doc", "doc"]))
    train = [d for d in rows if d not in ("d01", "d03")]
    audit = db.audit("Liked", train=train, test=["d01", "d03"])
    check_shown(db, audit)
    (found,) = [row for row in audit.findings if row["kind"] == "facts"]
    assert db.sql(found["show_sql"]).fetchall() == [("d00", "d01"), ("d05", "d03")]
    assert found["what"].startswith("2 facts of Cites (66.7 % of all)")


def test_facts_of_all_examples_about_people_of_a_tested_one_are_found() -> None:
    db = sqlrl.connect()
    areas = {area: [f"{area}{k}" for k in range(6)] for area in ("ai", "db", "hw")}
    db.load(
        "Knows",
        [(a, x, y) for a, people in areas.items() for x, y in permutations(people, 2)],
        types=["person", "person"],
        columns=[1, 2],
        example="column0",
    )
    db.load("Wrote", [("ai0", "ai1"), ("ai4", "ai2"), ("hw1", "hw2")], types=["person", "person"])
    db.load(
        "Advises",
        [(a, p[0], p[1]) for a, p in areas.items()],
        types=["person", "person"],
        columns=[1, 2],
        example="column0",
        target=True,
    )
    audit = db.audit("Advises", train=["db", "hw"], test=["ai"])
    check_shown(db, audit)
    (found,) = [row for row in audit.findings if row["kind"] == "facts"]
    assert sorted(tuple(row[1]) for row in db.sql(found["show_sql"]).fetchall()) == [("ai0", "ai1"), ("ai4", "ai2")]
    assert "Wrote belongs to all examples" in found["what"]


# ---- clean data ----------------------------------------------------------------------------------------


@pytest.mark.slow
@settings(max_examples=draws(8))
@given(st.integers(0, 10**6), st.integers(2, 6), st.sampled_from([4, 12, 30]), st.sampled_from([1, 3, 8]))
def test_random_folds_of_independent_examples_have_no_leak(seed: int, folds: int, docs: int, words: int) -> None:
    draw = random.Random(seed)
    # Few words, or many: equal by chance is no finding either.
    rows = vocabulary(docs, words, seed, size=draw.choice([8, 40, 500]))
    db = documents(rows)
    pairs = [(d, f"e{i}", f"e{j}") for d in rows for i, j in permutations(range(3), 2) if draw.random() < 0.5]
    db.load("Linked", pairs or [("d00", "e0", "e1")], types=["doc", "entity", "entity"], target=True)
    audit = db.audit(draw.choice(["Liked", "Linked"]), folds=min(folds, docs), random_state=seed)
    assert not set(kinds(audit)) - {"identity"}, audit


@pytest.mark.slow
@settings(max_examples=draws(6))
@given(st.integers(0, 10**6), st.floats(0.05, 0.6))
def test_random_folds_of_independent_atoms_have_no_leak(seed: int, share: float) -> None:
    draw = random.Random(seed)
    db = sqlrl.connect()
    things = [f"t{k:02}" for k in range(30)]
    db.load(
        "Has", [(t, f"w{draw.randrange(100)}", k) for k, t in enumerate(things * 6)], types=["thing", "word", "number"]
    )
    db.load("Near", [(*draw.sample(things, 2), k) for k in range(60)], types=["thing", "thing", "number"])
    db.load("Good", [(t,) for t in things if draw.random() < share] or [("t00",)], types=["thing"], target=True)
    assert kinds(db.audit("Good", folds=4, random_state=seed)) == []


# ---- counts are those of brute force -------------------------------------------------------------------


def view(name: str, columns: str, kinds: str, **more: Any) -> FactView:
    return FactView(name, f"named_{name}", tuple(columns.split()), tuple(kinds.split()), **more)


@pytest.mark.slow
@settings(max_examples=draws(8))
@given(
    st.dictionaries(
        st.tuples(st.sampled_from("abcd"), st.sampled_from("abcd")), st.tuples(st.booleans(), st.sampled_from([0, 0, 1, 2])), min_size=6
    ),
    st.lists(st.tuples(st.sampled_from("abcde"), st.sampled_from("abcde"), st.sampled_from("rs")), min_size=1, max_size=25, unique=True),
)  # fmt: skip
def test_pairs_entities_and_claims_are_counted_as_one_by_one(
    atoms: dict[Pair, tuple[bool, int]], facts: list[tuple[str, str, str]]
) -> None:
    labels, part = {p: x for p, (x, _) in atoms.items()}, {p: k for p, (_, k) in atoms.items()}
    if len(set(part.values())) < 2 or not any(labels.values()):
        return
    db = paired(labels, R=(facts, ["item", "item", "kind"]))
    audit = db.audit("T", folds=[[p for p in part if part[p] == k] for k in sorted(set(part.values()))])
    check_shown(db, audit)
    target = AuditedTarget("sqlrl", audit.run, "T", ("item", "item"))
    for equal, across in product((True, False), (True, False)):
        if across:
            expected = {p for p in labels if p[::-1] in labels and p[0] != p[1] and part[p] != part[p[::-1]]}
            expected = {p for p in expected if (labels[p] == labels[p[::-1]]) == equal}
        else:
            expected = {
                p for p in labels if labels[p] and p[::-1] in labels and p[0] != p[1] and labels[p[::-1]] == equal
            }
        found = [tuple(row[1]) for row in ask(db, reversed_atoms(target, (0, 1), equal=equal, across=across))]
        assert sorted(found) == sorted(expected)
    for places in ((0,), (1,), (0, 1)):
        seen: dict[str, list[Pair]] = {}
        for pair, place in product(labels, places):
            seen.setdefault(pair[place], []).append(pair)
        expected_rows = [
            (item, len(mine), sum(labels[p] for p in mine))
            for item, mine in sorted(seen.items())
            if len({part[p] for p in mine}) > 1
        ]
        assert ask(db, shared_entities(target, places)) == expected_rows
    every = list(claims(target, view("R", "item item_2 kind", "item item kind")))
    rows = ask(db, agreements(target, every))
    found_claims = {(row[0], row[1]): (row[2], row[3]) for row in rows if row[2] is not None}
    expected_claims = {}
    for k, claim in enumerate(every):
        values = [None] if claim.constant_place is None else sorted({f[claim.constant_place] for f in facts})
        for value in values:
            said = [
                p
                for p in labels
                if any(
                    all(p[i] == f[j] for i, j in claim.places)
                    and (value is None or f[claim.constant_place or 0] == value)
                    for f in facts
                )
            ]
            if said:
                expected_claims[k, value] = (len(said), sum(labels[p] for p in said))
    assert found_claims == expected_claims


@pytest.mark.slow
@settings(max_examples=draws(8))
@given(st.integers(0, 10**6), st.sampled_from([60, 75, 80, 100]))
def test_similar_examples_are_those_of_comparing_all_pairs(seed: int, percent: int) -> None:
    draw = random.Random(seed)
    base = [draw.sample(range(60), draw.randrange(3, 13)) for _ in range(6)]
    rows = {}
    for k in range(24):
        words = set(draw.choice(base))
        words ^= set(draw.sample(range(60), draw.randrange(3)))
        rows[f"d{k:02}"] = sorted(f"w{x:02}" for x in words) or ["w00"]
    db = documents(rows)
    part = {d: draw.randrange(3) for d in rows}
    folds = [[d for d in rows if part[d] == k] for k in range(3)]
    audit = db.audit("Liked", folds=folds, near=percent / 100)
    check_shown(db, audit)
    sets = {d: frozenset(words) for d, words in rows.items()}
    units = {w: sum(w in own for own in sets.values()) for own in sets.values() for w in own}
    n = len(sets)

    def compared(d: str, tries: int, surely: int) -> bool:
        weight = sum(math.floor(100 * math.log(n / units[w])) for w in sets[d])
        return len(sets[d]) >= 3 and weight >= math.floor(100 * (tries * math.log(n) + surely))

    similar = {}
    for d, mine in sets.items():
        twins = [
            o
            for o in sets
            if part[o] != part[d]
            and compared(o, 2, 3)
            and compared(d, 2, 3)
            and 100 * len(mine & sets[o]) >= percent * len(mine | sets[o])
        ]
        if twins:
            similar[d] = (min(twins), len(twins))
    target = AuditedTarget("sqlrl", audit.run, "Liked", ("doc",), example_place=0)
    asked = Units(target, (view("Word", "doc word", "doc word", example_place=0),))
    assert {row[0]: row[1:] for row in ask(db, similar_units(asked, percent))} == similar
    equal = {
        d: min(o for o in sets if part[o] != part[d] and sets[o] == sets[d])
        for d in sets
        if compared(d, 1, 0) and any(part[o] != part[d] and sets[o] == sets[d] for o in sets)
    }
    assert dict(ask(db, equal_units(asked))) == equal


@pytest.mark.slow
@settings(max_examples=draws(8))
@given(
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=12, unique=True),
    st.lists(st.sampled_from(["train", "test", "neither"]), min_size=6, max_size=6),
)
def test_facts_that_name_tested_examples_are_counted_as_one_by_one(
    cites: list[tuple[int, int]], sides: list[str]
) -> None:
    if not {"train", "test"} <= set(sides):
        return
    names = [f"d{k:02}" for k in range(6)]
    db = documents(vocabulary(6, 3), Cites=([(names[i], names[j]) for i, j in cites], ["doc", "doc"]))
    chosen = {side: [d for d, own in zip(names, sides, strict=True) if own == side] for side in ("train", "test")}
    audit = db.audit("Liked", train=chosen["train"], test=chosen["test"])
    target = AuditedTarget("sqlrl", audit.run, "Liked", ("doc",), example_place=0)
    found = ask(db, naming_facts(target, view("Cites", "doc doc_2", "doc doc", example_place=0), 1))
    expected = [(names[i], names[j]) for i, j in cites if sides[i] == "train" and sides[j] == "test"]
    assert found == sorted(expected)


# ---- folds ---------------------------------------------------------------------------------------------


def partition(db: sqlrl.Database) -> set[frozenset[frozenset[tuple[Any, ...]]]]:
    """Return what each fold tests and trains on, whatever folds and parts are called."""
    rows = db.sql(
        "select f.fold, f.test, a.example, a.arguments from sqlrl.audit_fold f join sqlrl.audit_atom a using (run, part)"
    ).fetchall()
    folds: dict[str, set[tuple[Any, ...]]] = {}
    for fold, test, example, arguments in rows:
        folds.setdefault(fold, set()).add((test, example, *arguments))
    return {frozenset(atoms) for atoms in folds.values()}  # type: ignore[misc]


@pytest.fixture
def _folds_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Audits that end when the folds are kept, for tests of what folds are: looking for leaks is nearly all that an audit takes."""

    def result(self: Any) -> sqlrl.Audit:
        nothing = sqlrl.Table(pa.table({"kind": pa.array([], pa.string())}))
        return sqlrl.Audit(self.info.name, str(self.folds), nothing, nothing, (), self.target.run)

    monkeypatch.setattr("sqlrl.database.audit._Auditing.result", result)


@pytest.mark.usefixtures("_folds_alone")
def test_folds_of_examples_are_given_in_many_ways() -> None:
    rows = vocabulary(9, 3)
    db = documents(rows)
    own = {d: f"f{k % 3}" for k, d in enumerate(rows)}
    lists = [[d for d in rows if own[d] == name] for name in ("f0", "f1", "f2")]
    table = pa.table({"doc": list(own), "fold": list(own.values())})
    db.load("Fold", table, types=["doc", "fold"])
    ways = {
        "lists": lists,
        "mapping": dict(zip("abc", lists, strict=True)),
        "folds": sqlrl.leave_one_group_out(list(own), list(own.values())),
        "table": table,
        "rows": list(own.items()),
        "query": "select doc, fold from sqlrl.named_Fold",
        "predicate": "Fold",
        "arrays": [np.array(names) for names in lists],
    }
    found = {}
    for name, folds in ways.items():
        audit = db.audit("Liked", folds=folds)
        assert audit.folds == "3 folds of examples", name
        found[name] = partition(db)
    assert all(each == found["lists"] for each in found.values())
    expected = {frozenset((own[d] == name, d, d) for d in rows) for name in ("f0", "f1", "f2")}
    assert found["lists"] == expected


@pytest.mark.usefixtures("_folds_alone")
def test_folds_of_query_atoms_are_given_in_many_ways() -> None:
    labels = tournament(6, 0)
    own = {pair: k % 3 for k, pair in enumerate(labels)}
    lists = [[p for p in labels if own[p] == k] for k in range(3)]
    db = paired(labels, Fold=([(*p, f"f{k}") for p, k in own.items()], ["item", "item", "fold"]))
    ways: dict[str, Any] = {
        "lists": lists,
        "folds": [
            type("Fold", (), {"train": [p for p in labels if own[p] != k], "test": lists[k]})() for k in range(3)
        ],
        "rows": [(*p, k) for p, k in own.items()],
        "query": "from sqlrl.named_Fold",
        "predicate": "Fold",
    }
    expected = {frozenset((own[p] == k, "all", *p) for p in labels) for k in range(3)}
    for name, folds in ways.items():
        assert db.audit("T", folds=folds).folds == "3 folds of query atoms", name
        assert partition(db) == expected, name


def test_a_predicate_says_the_fold_of_entities() -> None:
    """Pairs of items in one fold are in it; those of two folds are in none, as where one university is left out."""
    labels = tournament(9, 4)
    own = {item: f"u{k % 3}" for k, item in enumerate(sorted({x for pair in labels for x in pair}))}
    db = paired(labels, At=(own.items(), ["item", "place"]))
    audit = db.audit("T", folds="At")
    assert audit.folds == "3 folds of query atoms"
    inside = [(a, b) for a, b in labels if own[a] == own[b]]
    assert partition(db) == {frozenset((own[a] == name, "all", a, b) for a, b in inside) for name in set(own.values())}
    assert kinds(audit) == []


def test_a_split_and_its_two_parts_are_the_same() -> None:
    labels = tournament(8, 1)
    db = paired(labels)
    split = db.split(0.25)
    by_split = db.audit("T", folds=split)
    one = partition(db)
    by_parts = db.audit("T", train=split.train, test=split.test)
    assert partition(db) == one
    assert by_split.findings.to_arrow().drop_columns("show_sql") == by_parts.findings.to_arrow().drop_columns(
        "show_sql"
    )
    check_shown(db, by_parts)
    with_neither = db.split(0.4, by="item")
    assert with_neither.neither
    audit = db.audit("T", folds=with_neither)
    assert audit.folds == "one split of query atoms"
    # Neither the pairs nor the items are shared.
    assert kinds(audit) == []
    assert len(audit.baselines) == 0


def test_folds_that_test_a_pair_twice_count_it_once() -> None:
    labels = tournament(8, 3)
    items = sorted({x for pair in labels for x in pair})
    folds = []
    for k in range(4):
        new = set(items[2 * k : 2 * k + 2])
        train = [p for p in labels if not new & set(p)]
        folds.append(
            type("Fold", (), {"name": str(k), "train": train, "test": [p for p in labels if len(new & set(p)) == 1]})()
        )
    db = paired(labels)
    audit = db.audit("T", folds=folds)
    check_shown(db, audit)
    assert "opposite reverse" not in kinds(audit)
    tested = {p for fold in folds for p in fold.test}
    query = "select count(distinct arguments) from sqlrl.audit_atom join sqlrl.audit_seen on test = part"
    assert db.sql(query).fetchall() == [(len(tested),)]


@pytest.mark.slow
def test_random_folds_do_not_depend_on_the_order_of_loading() -> None:
    labels = tournament(9, 5)
    turned = dict(reversed(labels.items()))
    found = []
    for each in (labels, turned):
        db = paired(each)
        audit = db.audit("T", random_state=3)
        found.append((str(audit), partition(db)))
    assert found[0] == found[1]
    assert str(paired(labels).audit("T", random_state=4)) != found[0][0]


# ---- what is kept --------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.usefixtures("comments")
def test_findings_are_kept_and_their_queries_run_elsewhere(tmp_path: Path) -> None:
    path = tmp_path / "audited.duckdb"
    with sqlrl.connect(path) as db:
        labels = tournament(8, 0)
        db.load("T", [p for p, x in labels.items() if x], types=["item", "item"], target=True)
        db.load("U", [p for p, x in labels.items() if not x], types=["item", "item"], target=True)
        for name in "TU":
            db.scope(name, list(labels))
        db.audit("T")
        old = db.audit("U")
        audit = db.audit("T", folds=3)
        runs = db.sql("select learner, status, parameters from sqlrl.run order by run").fetchall()
        assert [row[:2] for row in runs] == [("audit", "done")] * 3
        assert '"target": "T"' in runs[2][2]
    path = path.rename(tmp_path / "renamed.duckdb")
    with duckdb.connect(str(path)) as other:
        rows = other.sql("select target, kind, count, show_sql from sqlrl.leaks").fetchall()
        expected = [(t, r["kind"], r["count"]) for t, a in (("T", audit), ("U", old)) for r in a.findings]
        assert [row[:3] for row in rows] == expected
        for *_, count, query in rows:
            assert len(other.sql(query).fetchall()) == count
        tables = ("leak", "audit_atom", "audit_fold", "audit_baseline")
        kept = {name: {r for (r,) in other.sql(f"select distinct run from sqlrl.{name}").fetchall()} for name in tables}
        assert kept == {name: {old.run, audit.run} for name in tables}
    with sqlrl.connect(path, trusted=False) as db:
        assert db.sql("select count(*) from sqlrl.leaks").fetchall() == [(len(rows),)]
    with sqlrl.connect(path, read_only=True) as db, pytest.raises(CatalogError, match="opened read-only"):
        db.audit("T")


def test_on_a_connection_of_the_user_queries_name_the_right_place() -> None:
    labels = tournament(8, 2)
    own = duckdb.connect()
    own.execute("create schema sqlrl")
    db = sqlrl.connect(own)
    db.load("T", [p for p, x in labels.items() if x], types=["item", "item"], target=True)
    db.scope("T", list(labels))
    audit = db.audit("T")
    assert '"sqlrl_"."audit_atom"' in audit.findings["show_sql"][0]
    check_shown(db, audit)


def test_names_with_quotes_are_names() -> None:
    labels = {(f'it\'s "{a}"', f'it\'s "{b}"'): x for (a, b), x in tournament(8, 2).items()}
    beaten = [(y, x, "o'clock; --" if label else "never") for (x, y), label in labels.items()]
    db = paired(labels, Beaten=(beaten, ["item", "item", "when"]))
    audit = db.audit("T")
    check_shown(db, audit)
    assert kinds(audit)[0] == "label copy"


# ---- what is given wrongly -----------------------------------------------------------------------------

WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "no predicate": ({"target": "Liekd"}, r"there is no predicate 'Liekd'; did you mean 'Liked'\?"),
    "no text": ({"target": 3}, r"there is no predicate 3; targets with labels: Liked"),
    "closed": ({"target": "Word"}, r"Word is closed, so there is nothing to audit: load its labels with target=True"),
    "without labels": ({"target": "Seen"}, r"Seen has atoms to predict, but no labels"),
    "one fold": ({"folds": [["d00", "d01"]]}, r"folds= has 1 fold, and one is to be tested while others are trained on"),
    "one fold of rows": ({"folds": [("d00", "f"), ("d01", "f")]}, r"folds= has 1 fold, and"),
    "one fold of a number": ({"folds": 1}, r"folds=1 must lie between 2 and the number of units, here 6 examples"),
    "too many": ({"folds": 7}, r"folds=7 must lie between 2 and the number of units, here 6 examples"),
    "overlap": ({"folds": [["d00", "d01"], ["d01", "d02"]]}, r"folds overlap: 1 example is in two folds, such as 'd01'"),
    "both parts": ({"train": ["d00", "d01"], "test": ["d01"]}, r"1 example is in both the training and the test part of a fold, such as 'd01'"),
    "unknown": ({"folds": [["d00"], ["d1"]]}, r"fold 2 names examples that the data do not have: 'd1'; did you mean 'd01'"),
    "empty": ({"folds": [["d00"], []]}, r"fold 2 is empty"),
    "empty part": ({"train": ["d00"], "test": []}, r"test= is empty"),
    "half": ({"train": ["d00"]}, r"test= is missing: give both train= and test=, or folds="),
    "two ways": ({"folds": 3, "train": ["d00"], "test": ["d01"]}, r"folds= and train= with test= say the same in two ways"),
    "wide": ({"folds": "select 1, 2, 3, 4"}, r"folds= has 4 columns, and the names of examples \(1 column\) or query atoms of Liked\(doc\) \(1 column\) and one of folds are needed"),
    "no fold": ({"folds": "select name, case when name < 'd03' then 'a' end from sqlrl.example"}, r"folds= has rows without a fold"),
    "predicate": ({"folds": "Pairs"}, r"Pairs\(word, word\) does not say which fold a query atom of Liked is in: give a predicate like Pairs\(doc, fold\), or a query"),
    "no similarity": ({"near": 80}, r"near=80 must be a Jaccard similarity from 0\.5 to 1, such as 0\.8"),
    "seed": ({"random_state": -1}, r"random_state=-1 must be a whole number"),
    "no folds": ({"folds": []}, r"folds= has 0 folds"),
}  # fmt: skip


@pytest.fixture(scope="module")
def never_audited() -> sqlrl.Database:
    db = documents(vocabulary(6, 3), Pairs=([("w000", "w001")], ["word", "word"]))
    db.load("Seen", [("d00",)], types=["doc"], given=True)
    return db


@pytest.mark.parametrize("wrong", WRONG)
def test_what_is_given_wrongly_is_said(wrong: str, never_audited: sqlrl.Database) -> None:
    given_, message = WRONG[wrong]
    with pytest.raises(InputError, match=message):
        never_audited.audit(**{"target": "Liked", **given_})
    # What failed leaves nothing behind.
    for table in ("leak", "audit_atom", "audit_fold"):
        assert never_audited.sql(f"select count(*) from sqlrl.{table}").fetchall() == [(0,)]


def test_after_what_was_given_wrongly_the_next_audit_works() -> None:
    db = documents(vocabulary(6, 3))
    for folds in (7, [["d00"], ["d1"]]):
        with pytest.raises(InputError):
            db.audit("Liked", folds=folds)
    assert db.audit("Liked").folds == "6 random folds of examples"


def test_folds_without_labels_are_said_and_leave_nothing() -> None:
    db = sqlrl.connect()
    items = [f"i{k}" for k in range(6)]
    db.load("T", [(x,) for x in items[:2]], types=["item"], target=True)
    db.load("T", [(x,) for x in items[2:4]], types=["item"], given=True)
    db.scope("T", [(x,) for x in items])
    db.audit("T", folds=2)
    kept = db.sql("select run, arguments from sqlrl.audit_atom order by all").fetchall()
    with pytest.raises(InputError, match=r"fold 2 names what is no query atom of T: \(i2\)"):
        db.audit("T", folds=[["i0"], ["i2"]])
    assert db.sql("select run, arguments from sqlrl.audit_atom order by all").fetchall() == kept


def test_what_was_not_looked_for_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    from sqlrl.database import audit as module

    monkeypatch.setattr(module, "MOST_PAIRS", 5)
    audit = documents(vocabulary(12, 8)).audit("Liked", folds=3)
    (note,) = audit.notes
    assert note.startswith("near duplicates among 12 tested examples were not looked for: ")
    assert "more than 5; give a larger near=" in note
    assert note in str(audit)


@pytest.mark.parametrize(("words", "said"), [(40, True), (400, False)])
def test_types_that_near_duplicates_leave_out_are_said(words: int, said: bool) -> None:
    # Twelve words in each of thirty documents: of 40 words each stands in nine documents, of 400 in less than one.
    drawn = random.Random(3)
    facts = {f"d{k:02}": drawn.sample([f"w{i:03}" for i in range(words)], 12) for k in range(30)}
    facts["d01"] = [*facts["d00"][:11], "other"]
    audit = documents(facts).audit(
        "Liked", folds=[[name for name in facts if int(name[1:]) % 2 == k] for k in range(2)]
    )
    assert [note for note in audit.notes if "without the constants of word" in note] == list(audit.notes)[: int(said)]
    assert ("near duplicate" in audit.findings["kind"]) is not said


def test_query_atoms_that_are_none_are_said() -> None:
    db = paired(tournament(5, 0))
    with pytest.raises(InputError, match=r"fold 1 names what is no query atom of T: \(i00, i09\): correct the names"):
        db.audit("T", folds=[[("i00", "i09")], [("i00", "i01")]])
    with pytest.raises(InputError, match=r"1 query atom is in two folds, such as T\(i00, i01\)"):
        db.audit("T", folds=[[("i00", "i01")], [("i00", "i01"), ("i01", "i00")]])
    with pytest.raises(
        InputError, match=r"fold 1 has 3 columns, and query atoms of T\(item, item\) \(2 columns\) are needed"
    ):
        db.audit("T", folds=[[("i00", "i01", "x")], [("i00", "i01")]])


def test_an_example_without_query_atoms_is_no_side_of_a_fold() -> None:
    db = documents({**vocabulary(3, 3), "d09": ["w001"]})
    db.scope("Liked", [(f"d{k:02}",) for k in range(3)])
    with pytest.raises(InputError, match=r"fold '2' has no query atom of Liked to test on"):
        db.audit("Liked", folds=[["d00", "d01"], ["d09"]])


def test_a_model_says_types_that_the_data_do_not() -> None:
    labels = tournament(7, 0)
    db = sqlrl.connect()
    db.load("T", [p for p, x in labels.items() if x], target=True)
    db.scope("T", list(labels))
    with pytest.raises(
        CatalogError, match=r"the types of T are not known yet: pass the model that declares them, model=model"
    ):
        db.audit("T")
    audit = db.audit("T", model=sqlrl.parse_mln("T(item, item)\nNever(item)"))
    assert kinds(audit)[0] == "antisymmetry"
    with pytest.raises(InputError, match=r"a model is needed, not the text"):
        db.audit("T", model="T(item, item)")  # type: ignore[arg-type]


# ---- real data -----------------------------------------------------------------------------------------


def test_the_leaks_of_the_drugs_are_found(data_folder: Path) -> None:
    path = data_folder / "alzheimers" / "amine.csv"
    if not path.is_file():
        pytest.skip("the drugs are not there")
    with duckdb.connect() as other:
        rows = other.sql(
            f"select drug1, drug2, label::int::bool, fold from read_csv('{path}', all_varchar = true)"
        ).fetchall()
    labels = {(a, b): label for a, b, label, _ in rows}
    db = sqlrl.connect()
    db.load("Better", [p for p, x in labels.items() if x], types=["drug", "drug"], target=True)
    db.scope("Better", list(labels))
    for folds in (None, [(a, b, fold) for a, b, _, fold in rows]):
        audit = db.audit("Better", folds=folds)
        check_shown(db, audit)
        found = {row["kind"]: row for row in audit.findings}
        assert found.keys() >= {"antisymmetry", "opposite reverse", "identity"}
        assert found["antisymmetry"]["share"] == 1.0
        assert found["antisymmetry"]["count"] == sum(labels.values()) == len(labels) / 2
        best = max(audit.baselines, key=lambda row: row["accuracy"])
        assert best["baseline"] == "Bradley-Terry"
        assert best["accuracy"] > 0.97
        assert best["auc"] > 0.99
