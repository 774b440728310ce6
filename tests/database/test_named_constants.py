"""Constants that only a model names: which domains they join, what they mean there, and that data and other models do not notice."""

from __future__ import annotations

import math
import re
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sqlrl
from sqlrl.errors import CatalogError, UnseenConstantWarning
from tests.effort import draws

FEW = settings(max_examples=draws(8))

pytestmark = pytest.mark.filterwarnings("ignore::sqlrl.errors.LabelWarning")


def probabilities(
    db: sqlrl.Database, model: sqlrl.Model, predicate: str = "Worn", **options: object
) -> dict[tuple[str, ...], float]:
    rows = db.probabilities(model, **options).probabilities(predicate).to_pylist()
    return {tuple(v for k, v in row.items() if k in ("hat", "shade")): row["probability"] for row in rows}


WEIGHTS = st.lists(st.floats(-3, 3).map(lambda w: round(w, 3)), min_size=2, max_size=3)


@FEW
@given(WEIGHTS, st.booleans(), st.sets(st.integers(0, 2)))
def test_a_domain_has_what_data_hold_and_rules_name(weights: list[float], block: bool, loaded: set[int]) -> None:
    """Values of a block are a softmax of the weights of the shades, atoms of a plain predicate logistic each."""
    rules = "".join(f"{w} Worn(h, S{i})\n" for i, w in enumerate(weights))
    model = sqlrl.parse_mln(f"Worn(hat, shade{'!' * block})\nHat(hat)\nSeen(shade)\n{rules}", query=["Worn"])
    with sqlrl.connect() as db:
        db.load("Hat", [("h1",), ("h2",)], types=["hat"])
        db.load("Seen", [(f"S{i}",) for i in sorted(loaded)], types=["shade"], empty="allow")
        found = probabilities(db, model)
    domain = {f"S{i}": w for i, w in enumerate(weights)} | {f"S{i}": 0.0 for i in loaded if i >= len(weights)}
    total = sum(map(math.exp, domain.values()))
    wanted = {
        (hat, shade): math.exp(w) / total if block else 1 / (1 + math.exp(-w))
        for hat, (shade, w) in product(("h1", "h2"), domain.items())
    }
    assert found.keys() == wanted.keys()
    assert all(abs(found[key] - p) < 1e-9 for key, p in wanted.items())


TWO = "Worn(hat, shade!)\nHat(hat)\n"


@pytest.mark.slow
def test_models_on_one_file_do_not_see_each_others_constants(tmp_path: Path) -> None:
    path = tmp_path / "hats.duckdb"
    one = sqlrl.parse_mln(TWO + "1.5 Worn(h, Mauve)\n0.5 Worn(h, Teal)", query=["Worn"])
    other = sqlrl.parse_mln(TWO + "2 Worn(h, Ochre)\n-1 Worn(h, Teal)\n0.1 Worn(h, Plum)", query=["Worn"])
    db = sqlrl.connect(path)
    db.load("Hat", [("h1",), ("h2",)], types=["hat"])
    stored = db.sql("select count(*) from sqlrl.dictionary_hat").fetchall()
    first = db.probabilities(one, keep=True).probabilities()
    assert {row["shade"] for row in first.to_pylist()} == {"Mauve", "Teal"}
    assert set(probabilities(db, other)) == {(h, s) for h in ("h1", "h2") for s in ("Ochre", "Teal", "Plum")}
    assert db.probabilities(one, keep=True).probabilities().equals(first)
    prints = db.sql("select distinct fingerprint from sqlrl.run").fetchall()
    assert len(prints) == 1
    assert db.sql("select count(*) from sqlrl.dictionary_shade").fetchall() == [(0,)]
    assert db.sql("select count(*) from sqlrl.dictionary_hat").fetchall() == stored
    db.close()
    # Another process finds what was bound, also where it may not write.
    with sqlrl.connect(path, read_only=True) as again:
        assert again.probabilities(one).probabilities().equals(first)
        assert len(probabilities(again, other)) == 6
    with sqlrl.connect(path) as again:
        again.load("Worn", [("h1", "Teal"), ("h2", "Cyan")], types=["hat", "shade"], target=True)
        assert set(probabilities(again, one)) == {(h, s) for h in ("h1", "h2") for s in ("Cyan", "Mauve", "Teal")}


def test_examples_and_local_types_take_no_constants_from_rules() -> None:
    db = sqlrl.connect()
    db.load("Token", [("d1", "p1", "cat"), ("d2", "p1", "dog")], types=["doc", "place", "word"], example="doc")
    text = "Token(doc, place, word)\nTag(doc, place, tag)\n"
    model = sqlrl.parse_mln(text + "1 Tag(d, p, Noun)\n2 Tag(d, p9, Verb)\n1 Tag(D7, p, Noun)", query=["Tag"])
    layout = db.advanced.bind(model)
    sizes = {name: (info.size, info.of_rules) for name, info in layout.types.items()}
    assert sizes == {"doc": (2, 0), "place": (1, 0), "word": (2, 0), "tag": (2, 2)}
    assert layout.example_count == 2
    assert layout.predicates["Tag"].atom_count == 2 * 1 * 2


def test_a_scope_may_hold_what_rules_name() -> None:
    db = sqlrl.connect()
    db.load("Hat", [("h1",), ("h2",)], types=["hat"])
    db.scope("Worn", "select * from (values ('h1', 'Teal'), ('h2', 'Mauve')) as t(a, b)")
    model = sqlrl.parse_mln(
        TWO.replace("!", "") + "1.5 Worn(h, Teal)\n0.5 Worn(h, Mauve)\n1 Worn(h, Plum)", query=["Worn"]
    )
    for _ in range(3):
        found = probabilities(db, model)
        assert {key: round(p, 6) for key, p in found.items()} == {("h1", "Teal"): 0.817574, ("h2", "Mauve"): 0.622459}
    assert db.advanced.bind(model).types["shade"].size == 3


@pytest.fixture(scope="module")
def shades() -> sqlrl.Database:
    """For tests that load nothing."""
    db = sqlrl.connect()
    db.load("Hat", [("h1",)], types=["hat"])
    db.load("Seen", [("Maroon",), ("Tan",), ("S11",)], types=["shade"])
    return db


@pytest.mark.parametrize(
    ("given", "like"),
    [
        ("Maroom", "Maroon"),
        ("maroon", "Maroon"),
        ("Marono", "Maroon"),
        ("Ten", "Tan"),
        ("To", None),
        ("S12", None),
        ("Indigo", None),
    ],
)
def test_a_constant_like_one_of_the_data_is_a_warning(
    given: str, like: str | None, shades: sqlrl.Database, recwarn: pytest.WarningsRecorder
) -> None:
    db = shades
    text = TWO + f'Seen(shade)\n1 Worn(h, "{given}")'
    db.advanced.bind(sqlrl.parse_mln(text, query=["Worn"]))
    found = [str(w.message) for w in recwarn if w.category is UnseenConstantWarning]
    if like is None:
        assert not found
    else:
        assert re.search(rf"'{given}' of shade \(<text>:4\) is like '{like}'\.", found[0])
    with pytest.raises(CatalogError, match=f"'{given}' is no constant of shade"):
        db.advanced.bind(sqlrl.parse_mln(text, query=["Worn"], strict=True))
    # What the model lists is meant; the list then is all there is.
    with pytest.raises(CatalogError, match="the data have 3 others"):
        db.advanced.bind(sqlrl.parse_mln(f'shade = {{"{given}"}}\n' + text, query=["Worn"], strict=True))


def test_numbers_are_written_as_numbers_are() -> None:
    db = sqlrl.connect()
    db.advanced.catalog.declare(sqlrl.parse_mln("Fits(hat, size)\nWorn(hat, size)"))
    db.load(numeric=["size"])
    db.load("Fits", [("h1", 7), ("h2", 8)], types=["hat", "size"])
    text = "Fits(hat, size)\nWorn(hat, size)\n1 Worn(h, {})"
    assert db.advanced.bind(sqlrl.parse_mln(text.format("9"), query=["Worn"])).types["size"].size == 3
    with pytest.raises(CatalogError, match=r"'9\.0' of size, a type of numbers.*write 9\."):
        db.advanced.bind(sqlrl.parse_mln(text.format('"9.0"'), query=["Worn"]))
    with pytest.raises(CatalogError, match=r"'Nine' of size.*correct it"):
        db.advanced.bind(sqlrl.parse_mln(text.format("Nine"), query=["Worn"]))


# ---- learned models on other data --------------------------------------------------------------------

CHAIN = """\
Sound(step, noise)
*Next(step, step)
Mood(step, mood!)
Sound(t, +n) => Mood(t, +m)
Next(t, u) ^ Mood(t, +m) => Mood(u, +m)
"""


@pytest.mark.slow
def test_a_learned_model_predicts_where_its_own_constants_never_occur(tmp_path: Path) -> None:
    """A hidden Markov model learned from one sequence is asked about another one, of which no state is known."""
    db = sqlrl.connect()
    noises = ["clap", "sigh", "clap", "clap", "sigh", "sigh"]
    moods = ["Glad", "Sad", "Glad", "Glad", "Sad", "Sad"]
    db.load("Sound", [(f"t{i}", noise) for i, noise in enumerate(noises)], types=["step", "noise"])
    db.load("Next", [(f"t{i}", f"t{i + 1}") for i in range(5)], types=["step", "step"])
    db.load("Mood", [(f"t{i}", mood) for i, mood in enumerate(moods)], types=["step", "mood"], target=True)
    fit = sqlrl.PSCG().fit(db, sqlrl.parse_mln(CHAIN))
    # States of the block are listed, the steps and noises of the training sequence are not.
    assert fit.model.types == {"mood": ("Glad", "Sad")}
    new = sqlrl.connect()
    new.load("Sound", [("u1", "sigh"), ("u2", "hum")], types=["step", "noise"])
    new.load("Next", [("u1", "u2")], types=["step", "step"])
    for path in (tmp_path / "m.mln", tmp_path / "m.json"):
        fit.model.save(path)
        model = sqlrl.read_model(path)
        with pytest.warns(UnseenConstantWarning, match="1 constant of the model does not occur in these data: 'clap'"):
            prediction = new.predict(model, roles=sqlrl.Roles(query=["Mood"]))
        atoms = prediction.atoms().to_pylist()
        assert [(row["step"], row["mood"]) for row in atoms] == [("u1", "Sad"), ("u2", "Sad")]
    # Where the other data have states of their own, those are added to.
    new.load("Mood", [("u2", "Calm")], types=["step", "mood"], given=True)
    with pytest.warns(UnseenConstantWarning):
        assert new.advanced.bind(model).types["mood"].size == 3


def test_the_entities_of_a_link_are_not_declared() -> None:
    db = sqlrl.connect()
    db.load("Knows", [("Ann", "Bob"), ("Bob", "Cid"), ("Cid", "Ann")], types=["person", "person"])
    db.load("Helps", [("Ann", "Bob"), ("Bob", "Cid")], types=["person", "person"], target=True)
    text = "Knows(person, person)\nHelps(person, person)\nKnows(x, y) => Helps(x, y)\nHelps(x, y)\n"
    assert sqlrl.PSCG().fit(db, sqlrl.parse_mln(text)).model.types == {}
    named = sqlrl.PSCG().fit(db, sqlrl.parse_mln(text + "Helps(Ann, x)\n")).model
    assert named.types == {"person": ("Ann",)}
