"""Compiled scorers, against predictions and probabilities of the database, on random programs over random data."""

from __future__ import annotations

import random
import subprocess
import sys
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given, reject, settings
from hypothesis import strategies as st

import sqlrl
from sqlrl.database.scorer import CompiledScorer
from sqlrl.demo.bibliography import MODEL, generate
from sqlrl.errors import GroundingLimitError, InfeasibleError, ModelError, UnsupportedError
from sqlrl.logic.model import Expansions
from tests.effort import draws
from tests.ground.cases import GLOBAL, Case, counted, fill, mixed, rules, sentences, witnessed

# A case is a database with five rules; HYPOTHESIS_PROFILE=search looks at as many as it says.
FEW = settings(max_examples=draws(6))


def facts_of(case: Case, examples: frozenset[str]) -> dict[str, list[tuple[object, ...]]]:
    """What is handed over of some examples: closed facts, and what is given of open predicates, as probabilities."""
    found: dict[str, list[tuple[object, ...]]] = {}
    for name, rows in case.closed.items():
        if name not in GLOBAL:
            found[name] = [row for row in sorted(rows) if row[0] in examples]
    for name in case.opened:
        known = [(*row, float(value)) for row, value in sorted(case.given[name].items()) if row[0] in examples]
        known += [(*row, value) for row, value in sorted(case.soft[name].items()) if row[0] in examples]
        found[name] = known
    return found


def compiled(db: sqlrl.Database, case: Case, *, plain: bool) -> tuple[sqlrl.Model, CompiledScorer]:
    """The rules of a case that can be scored from one example alone."""
    kept = []
    for rule in case.rules:
        model = replace(case.model, rules=(rule,))
        try:
            program = model.compile(db).program
        except (ModelError, UnsupportedError):
            continue
        if not (plain and (program.templates or program.helpers)):
            kept.append(rule)
    model = replace(case.model, rules=tuple(kept))
    assume(kept)
    return model, model.compile(db)


def rows_of(table: pa.Table, value: str) -> dict[tuple[object, ...], float]:
    names = [
        name
        for name in table.column_names
        if name not in ("truth", "probability", "error", "rhat", "ess", "method", "margin")
    ]
    keys = zip(*(table[name].to_pylist() for name in names), strict=True)
    return dict(zip(keys, table[value].to_pylist(), strict=True))


def check(case: Case, weights: list[float], *, plain: bool = False) -> None:
    """The same worlds, scores and probabilities as the database, of all examples and of some."""
    case = replace(
        case,
        scope={},
        rules=tuple(
            rule if rule.hard else replace(rule, weight=w) for rule, w in zip(case.rules, weights, strict=True)
        ),
    )
    assume(case.kind != "one")
    with sqlrl.connect(threads=1, progress=False) as db, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fill(db.advanced.catalog, case)
        model, scorer = compiled(db, case, plain=plain)
        for examples in (frozenset(case.data.examples), case.subset):
            facts = facts_of(case, examples)
            try:
                expected = db.predict(model, examples=sorted(examples))
            except InfeasibleError:
                with pytest.raises(InfeasibleError):
                    scorer.predict(facts)
                continue
            except GroundingLimitError:
                reject()
            found = scorer.predict(facts)
            assert (found.world == found.result.world).all()
            assert found.network.total.sum() == expected.network.total.sum()
            assert found.objective == pytest.approx(expected.objective, rel=1e-12, abs=1e-12)
            probable = db.probabilities(model, examples=sorted(examples))
            for name in case.opened:
                assert rows_of(found.atoms(name, every=True), "truth") == rows_of(
                    expected.atoms(name, every=True), "truth"
                )
                one = rows_of(found.probabilities(name), "probability")
                other = rows_of(probable.atoms(name), "probability")
                assert one.keys() == other.keys()
                assert np.allclose([one[key] for key in other], list(other.values()), rtol=0, atol=1e-12)


WEIGHTS = st.lists(st.sampled_from([-2.5, -1.0, -0.3, 0.4, 1.0, 1.7]), min_size=5, max_size=5)


@FEW
@given(mixed(rules, rules, rules, rules, rules), WEIGHTS)
def test_rules(case: Case, weights: list[float]) -> None:
    check(case, weights)


@FEW
@given(mixed(counted, counted, counted, rules, rules), WEIGHTS)
def test_counted_variables(case: Case, weights: list[float]) -> None:
    check(case, weights)


@FEW
@given(mixed(witnessed, witnessed, witnessed, rules, sentences), WEIGHTS)
def test_witnesses(case: Case, weights: list[float]) -> None:
    check(case, weights)


@FEW
@given(mixed(rules, rules, counted, counted, witnessed), WEIGHTS)
def test_rules_without_templates(case: Case, weights: list[float]) -> None:
    """Skeletons of these are kept, and their worlds found without the networks of `mpe`."""
    check(case, weights, plain=True)


# ---- what a learned model keeps, files, and what is refused ------------------------------------------


def bibliography() -> tuple[sqlrl.Database, sqlrl.Model, dict[str, list[tuple[str, ...]]]]:
    """The chain of the README, with weights of its own, and the tokens of each citation."""
    cites = generate(12, seed=3)
    db = sqlrl.connect(threads=1, progress=False)
    db.load("Token", cites.token, example="bib")
    db.load("Next", cites.next)
    db.load("InField", cites.field, example="bib", target=True)
    model = sqlrl.AdaGrad().fit(db, sqlrl.parse_mln(MODEL), examples=cites.citations[:8]).model
    words: dict[str, list[tuple[str, ...]]] = {}
    for row in cites.token.to_pylist():
        words.setdefault(row["bib"], []).append(tuple(row.values()))
    return db, model, words


def test_learned_chains(tmp_path: Path) -> None:
    """One by one, together, from a file and as Arrow: the same worlds; words that no training citation had are new."""
    db, model, words = bibliography()
    scorer = model.compile(db)
    scorer.save(tmp_path / "fields.npz")
    loaded = sqlrl.load_scorer(tmp_path / "fields.npz")
    everything = [row for rows in words.values() for row in rows]
    expected = db.predict(model).atoms()
    assert scorer.predict({"Token": everything}).atoms() == expected
    columns = dict(zip(("token", "position", "bib"), map(list, zip(*everything, strict=True)), strict=True))
    assert loaded.predict({"Token": pa.table(columns)}).atoms() == expected
    alone = pa.concat_tables([loaded.predict({"Token": rows}).atoms() for rows in words.values()])
    assert alone.sort_by("example") == expected.sort_by("example")
    # A chain that was never loaded, with a word that nobody knows.
    new = [("zyzzyva", "p00", "new"), ("of", "p01", "new")]
    found = loaded.predict({"Token": new})
    db.load("Token", [*everything, *new], types=["token", "position", "bib"], example="bib")
    again = db.predict(model, examples=["new"])
    assert found.atoms(every=True)["truth"] == again.atoms(every=True)["truth"]
    assert found.objective == again.objective
    db.close()


def test_examples_of_the_same_domains_are_solved_together() -> None:
    """Examples in any order, some with domains of their own, some with given atoms or probabilities: as alone, and as `mpe` has them."""
    db, model, words = bibliography()
    scorer = model.compile(db)
    rows = [
        (word, position, f"{bib}{copy}") for copy in "ab" for bib, found in words.items() for word, position, _ in found
    ]
    random.Random(0).shuffle(rows)
    together = scorer.predict({"Token": rows})
    assert len(together._grounded.groups) < len(words)
    assert (together.world == together.result.world).all()
    by_bib: dict[str, list[tuple[str, ...]]] = {}
    for row in rows:
        by_bib.setdefault(row[2], []).append(row)
    alone = pa.concat_tables([scorer.predict({"Token": by_bib[bib]}).atoms() for bib in sorted(by_bib)])
    assert together.atoms() == alone
    bib, first = next(iter(by_bib.items()))
    known = {"Token": rows, "InField": [(bib, "Title", first[0][1], 1.0), (bib, "Venue", first[1][1], 0.9)]}
    given = scorer.predict(known)
    assert (given.world == given.result.world).all()
    assert given.atoms(every=True).num_rows < together.atoms(every=True).num_rows
    db.close()


def test_rows_of_any_kind() -> None:
    """Lists, generators, Arrow tables with dictionaries or other types, and frames are the same facts."""
    with sqlrl.connect(threads=1, progress=False) as db:
        db.load("Size", [("d1", 1), ("d2", 22)], types=["doc", "size"], example="doc")
        model = sqlrl.parse_mln("Size(doc, size)\nLarge(doc)\n1 Size(d, +s) => Large(d)", query=["Large"])
        rules = (replace(model.rules[0], expansions=Expansions(("s",), (("22",),), (1.5,)), weight=None),)
        scorer = replace(model, rules=rules).compile(db)
        names, sizes = ["a", "b", "c"], [22, 1, 3]
        plain = pa.table({"x": names, "y": sizes})
        coded = pa.table(
            {"x": pa.chunked_array([["a"], ["b", "c"]]).dictionary_encode(), "y": pa.array(sizes, pa.int8())}
        )
        kinds = [
            list(zip(names, sizes, strict=True)),
            (list(row) for row in zip(names, map(str, sizes), strict=True)),
            plain,
            plain.to_batches()[0],
            coded,
            plain.to_pandas(),
        ]
        for rows in kinds:
            assert scorer.predict({"Size": rows}).atoms()["doc"].to_pylist() == ["a"]
        assert scorer.predict({"Size": []}).atoms().num_rows == 0
        assert scorer.predict({}).probabilities().num_rows == 0


def test_saved_programs_are_the_same(tmp_path: Path) -> None:
    """Templates, helpers, blocks and hard rules survive a file."""
    text = """
    Tok(bib, pos, word)
    Good(word)
    In(bib, pos, field!)
    Any(bib)
    1.5 Tok(b, p, +w) => In(b, p, +f)
    -1 (EXIST p,w (!Good(w) ^ Tok(b, p, w))) v (EXIST p (!In(b, p, "title")))
    0.7 Tok(b, p, w) ^ !Good(w) => Any(b)
    EXIST p (In(b, p, "title")) => Any(b).
    -0.4 EXIST p (In(b, p, "title") ^ In(b, p, f))
    """
    with sqlrl.connect(threads=1, progress=False) as db:
        db.load(
            "Tok",
            [("b1", "p1", "x"), ("b1", "p2", "y"), ("b2", "p1", "y")],
            example="bib",
            types=["bib", "pos", "word"],
        )
        db.load("Good", [("x",)], types=["word"])
        model = sqlrl.parse_mln(text.replace("    ", ""), query=["In", "Any"])
        model = replace(model, types={"field": ("title", "other")})
        scorer = model.compile(db)
        scorer.save(tmp_path / "a.npz")
        facts = {"Tok": [("n", "p1", "y"), ("n", "p7", "x")], "In": [("n", "p7", "title", True)]}
        one, other = scorer.predict(facts), sqlrl.load_scorer(tmp_path / "a.npz").predict(facts)
        assert one.objective == other.objective
        for name in ("In", "Any"):
            assert one.atoms(name, every=True) == other.atoms(name, every=True)
            assert one.probabilities(name) == other.probabilities(name)
        db.load("Tok", facts["Tok"], example="bib", types=["bib", "pos", "word"], mode="append")
        db.load("In", [row[:3] for row in facts["In"]], example="bib", types=["bib", "pos", "field"], given=True)
        assert one.objective == pytest.approx(db.predict(model, examples=["n"]).objective, rel=1e-12)


def test_loading_needs_no_database(tmp_path: Path) -> None:
    """In a process of its own, which takes some seconds, where DuckDB cannot be imported."""
    db, model, words = bibliography()
    model.compile(db).save(tmp_path / "fields.npz")
    db.close()
    code = (
        "import sys; sys.modules['duckdb'] = None; import sqlrl; "
        f"scorer = sqlrl.load_scorer({str(tmp_path / 'fields.npz')!r}); "
        f"print(scorer.predict({{'Token': {next(iter(words.values()))!r}}}).atoms().num_rows)"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr
    assert int(found.stdout) > 0


DECLARED = "Word(doc, word)\nLink(doc, doc)\nLiked(doc)\n"


@pytest.mark.parametrize(
    ("rule", "reason"),
    [
        ('1 Word("d1", w) => Liked("d1")', "names an example"),
        ("1 Word(d, w) ^ Link(d, e) => Liked(d)", "about several examples"),
        ("1 Word(d, w) ^ Link(d, d) => Liked(d)", "Link has several arguments"),
        ("1 Liked(d) v Word(d, +w)", "local type 'word'"),
    ],
)
def test_refused_rules(rule: str, reason: str) -> None:
    with sqlrl.connect(threads=1, progress=False) as db:
        db.load("Word", [("d1", "good"), ("d2", "bad")], types=["doc", "word"], example="doc")
        db.load("Link", [("d1", "d2")], types=["doc", "doc"])
        with pytest.raises(UnsupportedError, match=reason) as error:
            sqlrl.parse_mln(DECLARED + rule, query=["Liked"]).compile(db)
        assert str(error.value).startswith("<text>:4: ")


def test_refused_data() -> None:
    with sqlrl.connect(threads=1, progress=False) as db:
        db.load("Friends", [("a", "b")], types=["person", "person"])
        model = sqlrl.parse_mln(
            "Friends(person, person)\nSmokes(person)\n1 Friends(x, y) => Smokes(y)", query=["Smokes"]
        )
        with pytest.raises(UnsupportedError, match="one example"):
            model.compile(db)


@pytest.mark.parametrize(
    ("facts", "wrong"),
    [
        ({"Wrod": []}, "Word"),
        ({"Word": [("d1",)]}, "2 columns"),
        ({"Word": [("d1", "a"), ("d1",)]}, "one length"),
        ({"Word": [("d1", None)]}, "missing values"),
        ({"Word": "d1"}, "list of rows"),
        ({"Liked": [("d1", 1.5)]}, "probability"),
        ({"Liked": [("d1", True), ("d1", False)]}, "both true and false"),
        ({"Common": [("a",)]}, "part of the scorer"),
        ([("d1", "a")], "dictionary"),
    ],
)
def test_wrong_facts(facts: object, wrong: str) -> None:
    with sqlrl.connect(threads=1, progress=False) as db:
        db.load("Word", [("d1", "good")], types=["doc", "word"], example="doc")
        db.load("Common", [("good",)], types=["word"])
        text = "Word(doc, word)\nCommon(word)\nLiked(doc)\n1 Word(d, w) ^ Common(w) => Liked(d)"
        scorer = sqlrl.parse_mln(text, query=["Liked"]).compile(db)
        with pytest.raises(sqlrl.SqlrlError, match=wrong):
            scorer.predict(facts)  # type: ignore[arg-type]


def test_files_of_something_else(tmp_path: Path) -> None:
    path = tmp_path / "x.npz"
    with pytest.raises(sqlrl.SqlrlError, match="no file"):
        sqlrl.load_scorer(path)
    path.write_bytes(b"something")
    with pytest.raises(sqlrl.SqlrlError, match="no scorer"):
        sqlrl.load_scorer(path)
    np.savez(path, scorer=np.frombuffer(b'{"format": "sqlrl-scorer", "version": 99}', np.uint8))
    with pytest.raises(sqlrl.SqlrlError, match="version 99"):
        sqlrl.load_scorer(path)
