"""What atoms are that rules of a soft model reach and no list has: an error, inferred as well, or false."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from itertools import pairwise

import pyarrow as pa
import pytest

import sqlrl
from sqlrl.errors import GroundingLimitError, InputError, MissingAtomError
from sqlrl.ground import unlisted
from sqlrl.logic.psl_files import parse_psl
from sqlrl.logic.terms import Constant, Literal
from tests.database.test_reports import sentences
from tests.ground.soft_worlds import World, random_world
from tests.ground.test_unlisted import LOGICAL, MORE, fixpoint, reached

OPEN = ("P", "Q", "R")
RULES = [text for text in [*LOGICAL, *MORE] if not text.endswith(".") and "'" not in text]
"""Without constants, which a world may not have, and hard rules, which what is observed may violate."""


def loaded(worlds: dict[str, World], examples: str) -> sqlrl.Database:
    """Return a database of worlds: of one alone, of several with a column of examples, or with an argument that names them."""
    db = sqlrl.connect(progress=False, threads=1)
    first = next(iter(worlds.values()))
    lead = [] if examples == "one" else ["world"]
    for name, data in first.data.items():
        columns = [*lead, *(f"a{i}" for i in range(data.arity))]
        types = [*(["world"] if examples == "argument" else []), *["name"] * data.arity]
        given = {"types": types, "example": "world" if examples == "column" else None, "empty": "allow"}
        rows = [
            (*([w] if lead else []), *row, v)
            for w, world in worlds.items()
            for row, v in world.data[name].known.items()
        ]
        keys = [c for c in columns if c != "world" or examples == "argument"]
        if data.valued:
            db.load(name, table(rows, [*columns, "value"]), columns=keys, value="value", given=name in OPEN, **given)
        elif name in OPEN:
            truth = table([(*row[:-1], row[-1] >= 0.5) for row in rows], [*columns, "truth"], pa.bool_())
            db.load(name, truth, columns=keys, truth="truth", given=True, **given)
        else:
            db.load(name, table([row[:-1] for row in rows], columns), columns=keys, **given)
    here = [(*([w] if lead else []), n) for w, world in worlds.items() for n in world.names]
    db.load(
        "Here", table(here, [*lead, "a0"]), columns=[*(lead if examples == "argument" else []), "a0"],
        types=[*(["world"] if examples == "argument" else []), "name"], example="world" if examples == "column" else None,
    )  # fmt: skip
    listed(db, worlds, examples)
    if examples == "argument":
        db.load(example="world")
    return db


def listed(db: sqlrl.Database, worlds: dict[str, World], examples: str) -> None:
    """List the query atoms of the open predicates."""
    lead = {"one": [], "column": ["example"], "argument": ["world"]}[examples]
    for name in OPEN:
        rows = [(*([w] if lead else []), *row) for w, world in worlds.items() for row in world.data[name].atoms or ()]
        arity = next(iter(worlds.values())).data[name].arity
        db.scope(name, table(rows, [*lead, *(f"a{i}" for i in range(arity))]))


def table(rows: list[tuple[object, ...]], names: list[str], last: pa.DataType | None = None) -> pa.Table:
    """Return rows as a table of text, with numbers in a column `value`."""
    kinds = [pa.float64() if name == "value" else pa.string() for name in names]
    if last is not None:
        kinds[-1] = last
    return pa.table(
        {n: pa.array([r[i] for r in rows], kind) for i, (n, kind) in enumerate(zip(names, kinds, strict=True))}
    )


def program(text: str, examples: str) -> sqlrl.SoftModel:
    """Return a program; where an argument names the example, with a variable for it in every atom."""
    if examples == "argument":
        for name in ("C", "D", "V", *OPEN):
            text = text.replace(f"{name}(", f"{name}(W, ")
    return parse_psl(text, query=OPEN)


@pytest.mark.filterwarnings("ignore::sqlrl.errors.SqlrlWarning")
@pytest.mark.parametrize(
    ("seed", "examples"),
    [
        pytest.param(seed, kind, marks=[] if (seed, kind) == (0, "column") else [pytest.mark.slow])
        for kind in ("one", "column", "argument")
        for seed in range(6)
    ],
)
def test_predictions_are_those_of_what_is_listed_by_hand(seed, examples):
    """Of rules over three worlds; two databases of ten predicates take about a second."""
    rng = random.Random(seed)
    worlds = {f"w{i}": random_world(10 * seed + i) for i in range(1 if examples == "one" else 3)}
    text = "\n".join(rng.sample(RULES, rng.randint(2, 5)))
    model, plain = program(text, examples), program(text, "one")
    whole = {name: fixpoint(world, plain) for name, world in worlds.items()}
    found = {name: reached(world, plain) for name, world in worlds.items()}
    db = loaded(worlds, examples)
    if any(found.values()):
        rule = min(first for each in found.values() for first in each.values())
        firsts = [(n, w, row) for w, each in found.items() for (n, row), first in each.items() if first == rule]
        name, world, row = min(firsts)
        atom = str(Literal(name, tuple(map(Constant, [*([world] if examples == "argument" else []), *row]))))
        with pytest.raises(MissingAtomError) as error:
            db.predict(model)
        assert error.value.atom == (f"{atom} of the example {world}" if examples == "column" else atom)
        assert (error.value.count, error.value.rule) == (sum(map(len, found.values())), rule)
        calm = [name for name, each in found.items() if not each]
        if calm and examples != "one":
            db.predict(model, examples=calm)
    prediction = db.predict(model, missing="open")
    by_hand = loaded(worlds, examples)
    listed(by_hand, whole, examples)
    expected = by_hand.predict(model)
    assert prediction.objective == pytest.approx(expected.objective, abs=1e-6)
    for name in OPEN:
        mine, other = prediction.atoms(name), expected.atoms(name)
        keys = [c for c in mine.column_names if c != "value"]
        assert mine.select(keys).equals(other.select(keys))
    assert db.predict(model, missing="open").atoms("Q").equals(prediction.atoms("Q"))
    assert len(db.predict(model, missing="false").atoms("P")) == sum(
        len(w.data["P"].atoms or ()) for w in worlds.values()
    )


# ---- one program, in words -----------------------------------------------------------------------------

WET = "5: Road(A, B) & Wet(A) -> Wet(B) ^2\n1: !Wet(A) ^2"
ROADS = [("a", "b"), ("b", "c"), ("c", "d")]


def town(
    scope: list[str], roads: list[tuple[str, str]] = ROADS, labels: list[tuple[str, float]] | None = None
) -> sqlrl.Database:
    """Return a database of roads, of which the town a is wet."""
    db = sqlrl.connect(progress=False)
    db.load("Road", roads, types=["town", "town"])
    db.load("Wet", [("a",)], types=["town"], given=True)
    if labels:
        db.load("Wet", labels, types=["town"], columns=[0], value=1, target=True)
    db.scope("Wet", [(name,) for name in scope])
    return db


def wet() -> sqlrl.SoftModel:
    return parse_psl(WET, query=["Wet"])


def test_the_message_names_the_atom_the_rule_and_the_remedies():
    with pytest.raises(MissingAtomError) as error:
        town(["d"]).predict(wet())
    text = str(error.value)
    for part in (
        '5: Road(A, B) & Wet(A) -> Wet(B) ^2 reaches Wet("b")',
        "db.scope('Wet', ...)",
        "missing='open'",
        "missing='false'",
    ):
        assert part in text
    assert (error.value.atom, error.value.count, error.value.rule) == ('Wet("b")', 1, 0)
    assert "blanks" not in text


@pytest.mark.parametrize(
    ("scope", "roads", "twins"),
    [
        (["b ", "c", "d"], ROADS, "'b' differs from 'b ' by blanks alone"),
        (["b", "c", "d"], [("a", "\tb"), *ROADS[1:]], r"'\tb' differs from 'b' by blanks alone"),
        (["b", "c\u00a0", "d"], ROADS, r"'c' differs from 'c\xa0' by blanks alone"),
        (["b", "d", " c", "c  "], ROADS, "'c' differs from ' c' by blanks alone"),
        (["b", "d"], ROADS, None),
        (["b", "d", "C"], ROADS, None),
    ],
)
def test_names_that_differ_by_blanks_are_named(scope, roads, twins):
    with pytest.raises(MissingAtomError) as error:
        town(scope, roads).predict(wet())
    assert ("blanks" in str(error.value)) == (twins is not None)
    assert twins is None or twins in str(error.value)


def test_closed_predicates_stay_false():
    """No fact of Road is missing, and no atom of a predicate without a list."""
    db = town(["b", "c", "d"])
    rule = "\n1: Wet(A) & Wet(B) -> Road(A, B)"
    prediction = db.predict(parse_psl(WET + rule, query=["Wet"]))
    assert prediction.atoms()["town"].to_pylist() == ["b", "c", "d"]
    db.scope("Wet", None)
    assert len(db.predict(wet()).atoms()) == 3


@pytest.mark.filterwarnings("ignore::sqlrl.errors.GroundingWarning")
def test_what_an_observed_atom_satisfies_reaches_nothing():
    db = sqlrl.connect(progress=False)
    db.load("Road", [("a", "b"), ("c", "d")], types=["town", "town"])
    db.load("Wet", [("a", 0.0), ("b", 1.0), ("c", 0.4)], types=["town"], columns=[0], value=1, given=True)
    db.scope("Wet", [("e",)])
    with pytest.raises(MissingAtomError, match=r'reaches Wet\("d"\)'):
        db.predict(parse_psl("1: Road(A, B) & Wet(A) -> Wet(B)", query=["Wet"]))
    # The body is 0 for the road from a, and b is wet.
    db.load("Road", [("a", "f"), ("c", "b")], types=["town", "town"])
    assert db.predict(parse_psl("1: Road(A, B) & Wet(A) -> Wet(B)", query=["Wet"])).objective == 0.0


@pytest.mark.filterwarnings("ignore::sqlrl.errors.UnseenConstantWarning")
def test_constants_that_rules_alone_name_stay_theirs():
    db = town(["d"])
    db.load("Home", [("a",)], types=["town"], target=True)
    named = parse_psl(WET + "\n1: Wet(A) -> Wet('e')", query=["Wet"])
    prediction = db.predict(named, missing="open")
    assert prediction.atoms()["town"].to_pylist() == ["b", "c", "d", "e"]
    assert prediction.why("Wet(e)").value > 0
    assert prediction.atoms().equals(db.predict(named, missing="open").atoms())
    home = parse_psl("1: !Home(A)\n1: !Wet(A)", query=["Home", "Wet"])
    assert db.predict(home).atoms("Home")["town"].to_pylist() == ["a", "b", "c", "d"]


@pytest.mark.parametrize("missing", ["", "opened", None, True])
def test_other_words_are_refused(missing):
    with pytest.raises(InputError, match=r"missing=.* must be 'error', 'open' or 'false'"):
        town(["d"]).predict(wet(), missing=missing)
    with pytest.raises(InputError, match=r"missing=.* must be 'error', 'open' or 'false'"):
        sqlrl.SoftMapLikelihood().fit(town(["d"], labels=[("d", 1.0)]), wet(), missing=missing)


def test_networks_take_none():
    db = town(["d"])
    network = sqlrl.parse_mln("Road(town, town)\nWet(town)\n1 Road(x, y) ^ Wet(x) => Wet(y)", query=["Wet"])
    assert len(db.predict(network).atoms(every=True)) == 1
    with pytest.raises(InputError, match="missing= are of soft models"):
        db.predict(network, missing="open")
    assert len(db.predict(wet(), semantics="boolean").atoms(every=True)) == 1


# ---- limits --------------------------------------------------------------------------------------------


def chain(length: int) -> list[tuple[str, str]]:
    """Return roads from a to n1, n2, and so on."""
    return list(pairwise(["a", *(f"n{i}" for i in range(1, length + 1))]))


def test_a_long_chain_is_opened_whole():
    db = town(["elsewhere"], chain(30))
    assert len(db.predict(wet(), missing="open").atoms()) == 31


def test_rounds_have_a_limit(monkeypatch):
    monkeypatch.setattr(unlisted, "ROUNDS", 5)
    with pytest.raises(GroundingLimitError, match=r"Wet .* after 5 rounds .* 5 so far.*missing='false'"):
        town(["elsewhere"], chain(9)).predict(wet(), missing="open")
    assert len(town(["elsewhere"], chain(4)).predict(wet(), missing="open").atoms()) == 5


def test_atoms_have_the_limit_of_the_database():
    db = sqlrl.connect(progress=False, atom_limit=10)
    db.load("Road", chain(20), types=["town", "town"])
    db.load("Wet", [("a",)], types=["town"], given=True)
    db.scope("Wet", [("n3",)])
    with pytest.raises(
        GroundingLimitError, match=r"rules reach 19 atoms of Wet .* 1 that .* limit of 10 atoms.*atom_limit=20$"
    ):
        db.predict(wet(), missing="open")
    assert len(db.predict(wet(), missing="false").atoms()) == 1


def with_limit(limit: int, roads: list[tuple[str, str]]) -> sqlrl.Database:
    """Return towns of which one is known to be wet and one is listed."""
    db = sqlrl.connect(progress=False, atom_limit=limit)
    db.load("Road", roads, types=["town", "town"])
    db.load("Wet", [("a",)], types=["town"], given=True)
    db.scope("Wet", [("b",)])
    return db


def advised(limit: int, roads: list[tuple[str, str]]) -> int:
    """Return the limit that the error names."""
    with pytest.raises(GroundingLimitError) as caught:
        with_limit(limit, roads).predict(wet(), missing="open")
    return int(re.search(r"atom_limit=(\d+)", str(caught.value))[1])


@pytest.mark.parametrize("seed", range(6))
def test_the_limit_that_is_advised_is_the_least_that_is_enough(seed):
    drawn = random.Random(seed)
    towns = ["a", "b", *(f"n{i}" for i in range(drawn.choice([4, 15, 40])))]
    roads = sorted(
        {(drawn.choice(towns), drawn.choice(towns)) for _ in range(2 * len(towns))} | {("a", "b"), ("b", "n0")}
    )
    wet_by_now, new = {"a"}, {"a"}
    while new:
        new = {end for start, end in roads if start in new} - wet_by_now
        wet_by_now |= new
    # The town that is given is no atom.
    least = len(wet_by_now | {"b"}) - 1
    for limit in sorted({1, (least + 1) // 2, least - 1} - {0, least}):
        assert advised(limit, roads) == least
    assert len(with_limit(least, roads).predict(wet(), missing="open").atoms()) == least


@pytest.mark.parametrize(("name", "most"), [("MORE_ROUNDS", 2), ("COUNTED", 6)])
def test_where_counting_stops_the_advice_is_twice_as_much(monkeypatch, name, most):
    monkeypatch.setattr(unlisted, name, most)
    limit, steps = 2, 0
    # The atom that is listed is beside 30 that are reached; each try grounds what it may, which takes a second or two together.
    while limit < 31:
        following = advised(limit, chain(30))
        assert following >= 2 * limit or following == 31
        limit, steps = following, steps + 1
    assert steps <= 4
    assert len(with_limit(limit, chain(30)).predict(wet(), missing="open").atoms()) == 31


# ---- learning, and what is kept ------------------------------------------------------------------------

LABELS = [("b", 0.7), ("d", 0.2)]

LEARNERS: list[Callable[[], object]] = [
    lambda: sqlrl.SoftPseudoLikelihood(strength=0.1, unlabelled="zero"),
    lambda: sqlrl.SoftPiecewiseLikelihood(strength=0.1, unlabelled="zero"),
    lambda: sqlrl.SoftMapLikelihood(max_iterations=5),
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("learner", LEARNERS)
def test_learners_take_missing_atoms_as_predictions_do(learner):
    db = town(["b", "d"], labels=LABELS)
    with pytest.raises(MissingAtomError, match=r'reaches Wet\("c"\)'):
        learner().fit(db, wet())
    by_hand = learner().fit(town(["b", "c", "d"], labels=LABELS), wet())
    opened = learner().fit(db, wet(), missing="open")
    assert opened.weights_.tolist() == by_hand.weights_.tolist()
    assert learner().fit(db, wet(), missing="false").weights_.tolist() != opened.weights_.tolist()


def one(db: sqlrl.Database, query: str) -> object:
    """Return the only value of a query."""
    ((value,),) = db.sql(query).fetchall()
    return value


def newest(db: sqlrl.Database) -> int:
    return one(db, "select max(run) from sqlrl.run")


class StoppedError(Exception):
    """Ends a run."""


def stop(iteration):
    raise StoppedError


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("missing", ["false", "open"])
def test_a_run_goes_on_as_it_began(missing):
    learner = sqlrl.SoftMapLikelihood(max_iterations=3)
    db = town(["b", "d"], labels=LABELS)
    whole = learner.fit(db, wet(), missing=missing).weights_.tolist()
    with pytest.raises(StoppedError):
        learner.fit(db, wet(), missing=missing, checkpoint=True, callback=stop)
    run = newest(db)
    # An earlier version recorded no such parameter, and took these atoms as false.
    recorded = one(db, f"select parameters from sqlrl.run where run = {run}")
    assert ("missing" in recorded) == (missing == "open")
    with pytest.raises(MissingAtomError, match="missing='false'"):
        learner.fit(db, wet(), resume=run)
    with pytest.raises(InputError, match=r"began with|data have changed"):
        learner.fit(db, wet(), resume=run, missing="open" if missing == "false" else "false")
    assert learner.fit(db, wet(), resume=run, missing=missing).weights_.tolist() == whole


@pytest.mark.filterwarnings("ignore")
def test_without_missing_atoms_a_run_goes_on_under_either_word():
    learner = sqlrl.SoftMapLikelihood(max_iterations=3)
    db = town(["b", "c", "d"], labels=LABELS)
    with pytest.raises(StoppedError):
        learner.fit(db, wet(), missing="false", checkpoint=True, callback=stop)
    run = newest(db)
    assert learner.fit(db, wet(), resume=run).weights_.tolist() == learner.fit(db, wet()).weights_.tolist()


@pytest.mark.filterwarnings("ignore")
def test_structure_is_learned_from_what_is_listed():
    db = sqlrl.connect(progress=False)
    pairs = [("a", "b"), ("b", "c"), ("c", "d"), ("d", "e")]
    db.load("Near", pairs, types=["t", "t"])
    labels = [("a", "b", 1.0), ("b", "c", 1.0), ("d", "a", 0.0)]
    db.load("Like", labels, columns=[0, 1], types=["t", "t"], value=2, target=True)
    db.scope("Like", [row[:2] for row in labels])
    learner = sqlrl.SoftStructure(length=1, min_targets=1, strength=0.1)
    learned = learner.fit(db, "Like").model_
    with pytest.raises(MissingAtomError, match="Near"):
        db.predict(learned, observed_bodies=True)
    assert len(db.predict(learned, observed_bodies=True, missing="false").atoms()) == 3
    assert len(db.predict(learned, observed_bodies=True, missing="open").atoms()) == 5
    model = parse_psl("1: Near(A, B) -> Like(B, A)", query=["Like"])
    with pytest.raises(MissingAtomError) as error:
        learner.fit(db, model)
    assert error.value.count == 4
    assert len(learner.fit(db, model, missing="open").weights_) == len(learner.fit(db, model, missing="false").weights_)


def test_what_is_kept_names_the_atoms_that_were_opened():
    db = town(["d"], labels=[("d", 0.5)])
    prediction = db.predict(wet(), missing="open", keep=True, into="wet")
    assert db.sql("select town from wet order by all").fetchall() == [("b",), ("c",), ("d",)]
    assert one(db, f"select count(*) from sqlrl.truth_value where run = {prediction.run}") == 3
    recorded = one(db, f"select parameters from sqlrl.run where run = {prediction.run}")
    assert '"missing": "open"' in recorded
    assert {row["hinge"] for row in prediction.why("Wet(c)").table} >= {'Wet("b") - Wet("c")'}
    assert prediction.evaluate().atoms == 3
    db.predict(wet(), missing="false")
    said = sentences(db.runs[prediction.run].report(), "examples")
    assert "named any more" not in said
    assert "cannot be named" not in said
