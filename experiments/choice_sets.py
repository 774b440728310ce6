"""The data sets on which learners of weights are compared, for `learner_choice.py`: each loaded, with a model and one part held out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
from ads import starting_model as ads_model
from ads_osl import read_folds
from citations import author_folds, load_citeseer, load_cora, read_ism, topic_folds
from citeseer_osl import starting_model as citeseer_model
from drugs import FILES, attributes, read_modes, read_task
from pages import load_pages, read_pages
from pages import starting_model as linked_pages
from relations import generate_relations, read_relations
from segmentation_sets import ADS

import sqlrl
from sqlrl.demo import MODEL, generate


@dataclass(frozen=True)
class Loaded:
    """Data with a model without weights, and examples to learn from and to predict."""

    db: sqlrl.Database
    model: sqlrl.Model
    train: Sequence[str]
    test: Sequence[str]


@dataclass(frozen=True)
class ChoiceSet:
    """A data set: `load` takes the folder of the real data, whether a slice is enough, and a seed."""

    load: Callable[[Path, bool, int], Loaded]
    wide: bool = False  # rules join more atoms than elimination can sum over


def split(names: Sequence[str], seed: int, held_out: float = 0.25) -> tuple[list[str], list[str]]:
    """Hold out a share of the examples at random."""
    order = np.random.default_rng(seed).permutation(len(names))
    test = int(len(names) * held_out)
    return [names[k] for k in order[test:]], [names[k] for k in order[:test]]


# ---- segmentation ------------------------------------------------------------------------------------------------


def bibliography(_: Path, quick: bool, seed: int) -> Loaded:
    """Load the citations of the README."""
    made, db = generate(150 if quick else 600, seed=seed), sqlrl.connect()
    db.load("Token", made.token, types=("token", "position", "bib"), example="bib")
    db.load("Next", made.next, types=("position", "position"))
    db.load("InField", made.field, types=("bib", "field", "position"), example="bib", target=True)
    names = sorted(set(made.field.column("bib").to_pylist()))
    return Loaded(db, sqlrl.parse_mln(MODEL), *split(names, seed))


def citeseer(start: str) -> Callable[[Path, bool, int], Loaded]:
    """Return what loads CiteSeer with the model LC_0 or ISM, the first topic held out."""

    def load(data: Path, quick: bool, _: int) -> Loaded:
        folder, db = data / "citeseer", sqlrl.connect()
        load_citeseer(db, folder)
        fold = topic_folds(folder, each=12 if quick else None)[0]
        model = read_ism(folder) if start == "ISM" else citeseer_model(folder, start)
        return Loaded(db, model, fold.train, fold.test)

    return load


def cora(data: Path, quick: bool, _: int) -> Loaded:
    """Load the references of Cora with the model ISM, the first group held out."""
    db = sqlrl.connect()
    labels = load_cora(db, data / "cora-references")
    fold = author_folds(data / "cora-references", labels, each=12 if quick else None)[0]
    return Loaded(db, read_ism(data / "citeseer"), fold.train, fold.test)


def ads(data: Path, quick: bool, seed: int) -> Loaded:
    """Load the hotel ads with transitions within fields."""
    db = sqlrl.connect()
    ADS.load(db, data)
    fold = read_folds(data / "hotel-ads", seed, most=60 if quick else None)[0]
    return Loaded(db, ads_model("ISM"), fold.train, fold.test)


# ---- examples whose atoms nothing joins --------------------------------------------------------------------------


def pages(data: Path, quick: bool, seed: int) -> Loaded:
    """Load the pages of WebKB, each an example with its words, without links."""
    found, db = read_pages(data / "webkb", 30 if quick else None), sqlrl.connect()
    words, classes = found["Has"].select([0, 1]), found["PageClass"].select([0, 1])
    db.load("Has", words, types=("word", "page"), example="page")
    db.load("PageClass", classes, types=("class", "page"), example="page", target=True)
    model = sqlrl.parse_mln("Has(word, page)\nPageClass(class, page)\nHas(+w, p) => PageClass(+c, p)\nPageClass(+c, p)")
    names = sorted(set(found["Has"].column(1).to_pylist()))
    return Loaded(db, model, *split(names, seed))


def documents(_: Path, quick: bool, seed: int) -> Loaded:
    """Make documents of twelve words, of four kinds that share most of them; of one in ten the kind is another."""
    count, random = 300 if quick else 20_000, np.random.default_rng(seed)
    kinds, words = 4, 400
    topic = random.dirichlet(np.full(words, 0.5), size=kinds) * 0.25 + random.dirichlet(np.full(words, 2.0)) * 0.75
    kind = random.integers(0, kinds, count)
    rows = [(f"d{d}", f"w{w}") for d in range(count) for w in set(random.choice(words, 12, p=topic[kind[d]]).tolist())]
    shown = np.where(random.random(count) < 0.1, random.integers(0, kinds, count), kind)
    db = sqlrl.connect()
    db.load(
        "Word", pa.table({"d": [d for d, _ in rows], "w": [w for _, w in rows]}), types=("doc", "word"), example="doc"
    )
    labels = pa.table({"d": [f"d{d}" for d in range(count)], "k": [f"k{k}" for k in shown]})
    db.load("Kind", labels, types=("doc", "kind"), example="doc", target=True)
    model = sqlrl.parse_mln("Word(doc, word)\nKind(doc, kind!)\nWord(d, +w) => Kind(d, +k)\nKind(d, +k)")
    return Loaded(db, model, *split([f"d{d}" for d in range(count)], seed))


def alzheimers(task: str) -> Callable[[Path, bool, int], Loaded]:
    """Return what loads pairs of drugs, each an example with the attributes of both."""

    def load(data: Path, quick: bool, seed: int) -> Loaded:
        folder = data / "alzheimers"
        found, known = read_task(folder, task), attributes(folder, read_modes(folder, task))
        pairs = found.pairs[: 120 if quick else None]
        db = sqlrl.connect()
        for name, side in (("First", 0), ("Second", 1)):
            rows = [(f"e{k}", "-".join(a)) for k, pair in enumerate(pairs) for a in sorted(known[pair[side]])]
            db.load(name, rows, types=("pair", "attribute"), example="pair")
        true = [(f"e{k}",) for k, pair in enumerate(pairs) if found.labels[pair]]
        db.load("Better", true, types=("pair",), example="pair", target=True)
        declared = "First(pair, attribute)\nSecond(pair, attribute)\nBetter(pair)\n"
        model = sqlrl.parse_mln(f"{declared}First(e, +a) => Better(e)\nSecond(e, +a) => Better(e)\nBetter(e)")
        return Loaded(db, model, *split([f"e{k}" for k in range(len(pairs))], seed))

    return load


RACES = """
WITH asked AS (
    SELECT 'e' || row_number() OVER (ORDER BY date, driverId) AS example, date, driverId, label, split
    FROM task WHERE split <> 'valid'
),
past AS (
    SELECT example, count(*) AS races, avg(positionOrder) AS finish, avg(grid) AS start,
        avg(CAST(statusId <> 1 AS INTEGER)) AS failed, sum(points) AS points
    FROM asked JOIN results r ON r.driverId = asked.driverId AND r.date < asked.date AND r.date >= asked.date - INTERVAL 1 YEAR
    GROUP BY example
)
SELECT example, label, split, races, finish, start, failed, points FROM asked LEFT JOIN past USING (example) ORDER BY asked.date, example
"""


def races(task: str) -> Callable[[Path, bool, int], Loaded]:
    """Return what loads a task of Formula 1: each driver at a date is an example, with his last year in tenths of its ranks."""

    def load(data: Path, quick: bool, _: int) -> Loaded:
        with duckdb.connect(":memory:") as connection:
            for name, file in (("task", f"task_{task}"), ("results", "results")):
                connection.read_parquet(str(data / "f1" / f"{file}.parquet")).create(name)
            found = connection.sql(RACES).to_arrow_table()
        if quick:
            found = found.slice(len(found) - 300)
        names, facts = found.column("example").to_pylist(), []
        for column in ("races", "finish", "start", "failed", "points"):
            values = np.array([np.nan if x is None else float(x) for x in found.column(column).to_pylist()])
            edges = np.nanquantile(values, np.linspace(0.1, 0.9, 9))
            kept = np.flatnonzero(~np.isnan(values))
            facts += [(names[k], f"{column}{np.searchsorted(edges, values[k])}") for k in kept]
        db = sqlrl.connect()
        db.load("Past", facts, types=("entry", "value"), example="entry")
        label = found.column("label").to_pylist()
        db.load(
            "Does",
            [(n,) for n, x in zip(names, label, strict=True) if x],
            types=("entry",),
            example="entry",
            target=True,
        )
        db.scope("Does", [(n,) for n in names])
        part = found.column("split").to_pylist()
        model = sqlrl.parse_mln("Past(entry, value)\nDoes(entry)\nPast(e, +v) => Does(e)\nDoes(e)")
        train, test = ([n for n, x in zip(names, part, strict=True) if x == side] for side in ("train", "test"))
        return Loaded(db, model, train or names[:200], test or names[200:])

    return load


# ---- sparse relations ----------------------------------------------------------------------------------------------

ADVISERS = """
publication(t, a) ^ publication(t, b) ^ student(a) ^ professor(b) => advisedby(a, b)
student(a) ^ professor(b) => advisedby(a, b)
ta(c, a, q) ^ taughtby(c, b, q) => advisedby(a, b)
tempadvisedby(a, b) => advisedby(a, b)
inphase(a, +h) ^ professor(b) => advisedby(a, b)
hasposition(b, +p) ^ student(a) => advisedby(a, b)
advisedby(a, b)"""
ACTORS = """
movie(t, a) ^ movie(t, b) ^ actor(a) ^ director(b) => workedUnder(a, b)
actor(a) ^ director(b) => workedUnder(a, b)
genre(b, +g) ^ actor(a) => workedUnder(a, b)
gender(a, +s) ^ director(b) => workedUnder(a, b)
workedUnder(a, b)"""
GUIDES = """
Wrote(t, a) ^ Wrote(t, b) ^ Pupil(a) ^ Staff(b) => Guides(a, b)
Assisted(c, a, q) ^ Taught(c, b, q) => Guides(a, b)
Pupil(a) ^ Rank(b, +r) => Guides(a, b)
Stage(a, +s) ^ Staff(b) => Guides(a, b)
Guides(a, b)"""


def links(name: str, rules: str) -> Callable[[Path, bool, int], Loaded]:
    """Return what loads a sparse relation by areas, one of `relations.LINKS` or a generated one; the first area is held out."""

    def load(data: Path, quick: bool, seed: int) -> Loaded:
        areas = 3 if quick else 12
        found = generate_relations(seed, areas=areas) if name == "generated" else read_relations(data, name)
        declared = "\n".join(f"{each}({', '.join(types)})" for each, types in found.types.items())
        first, *others = found.areas
        return Loaded(found.load(), sqlrl.parse_mln(declared + rules), others[:2] if quick else others, [first])

    return load


# ---- rules that join many atoms ------------------------------------------------------------------------------------


def towns(count: int) -> Callable[[Path, bool, int], Loaded]:
    """Return what makes towns of 24 people with four friends each, who live alike; worlds are drawn by Gibbs sampling."""

    def load(_: Path, quick: bool, seed: int) -> Loaded:
        random, number = np.random.default_rng(seed), 16 if quick else count
        friends, hints, happy = [], [], []
        for town in range(number):
            near = random.random((24, 24)) < 4 / 23
            near = np.triu(near, 1) | np.triu(near, 1).T
            hint = random.random(24) < 0.5
            state = random.random(24) < 0.5
            for _sweep in range(60):
                for k in range(24):
                    score = 1.6 * hint[k] - 1.0 + 0.5 * float((2 * state[near[k]] - 1.0).sum())
                    state[k] = random.random() < 1 / (1 + np.exp(-score))
            person = [f"t{town}p{k}" for k in range(24)]
            friends += [(person[i], person[j], f"t{town}") for i, j in zip(*np.nonzero(near), strict=True)]
            hints += [(person[k], f"t{town}") for k in np.flatnonzero(hint)]
            happy += [(person[k], f"t{town}") for k in np.flatnonzero(state)]
        db = sqlrl.connect()
        db.load("Friends", friends, types=("person", "person", "town"), example="town")
        db.load("Hint", hints, types=("person", "town"), example="town")
        db.load("Happy", happy, types=("person", "town"), example="town", target=True)
        declared = "Friends(person, person, town)\nHint(person, town)\nHappy(person, town)\n"
        joined = "Friends(x, y, t) ^ Happy(x, t) => Happy(y, t)\nHint(x, t) => Happy(x, t)\nHappy(x, t)"
        return Loaded(db, sqlrl.parse_mln(declared + joined), *split([f"t{k}" for k in range(number)], seed))

    return load


def linked(data: Path, quick: bool, _: int) -> Loaded:
    """Load WebKB with its links; the smallest university is held out."""
    db, names = sqlrl.connect(), ["cornell", "texas", "washington", "wisconsin"]
    load_pages(db, read_pages(data / "webkb", 20 if quick else None))
    return Loaded(db, linked_pages(), names[1:], names[:1])


SETS: Mapping[str, ChoiceSet] = {
    "bibliography": ChoiceSet(bibliography),
    "citeseer, LC_0": ChoiceSet(citeseer("LC_0")),
    "citeseer, ISM": ChoiceSet(citeseer("ISM")),
    "cora, ISM": ChoiceSet(cora),
    "hotel ads": ChoiceSet(ads),
    "webkb pages": ChoiceSet(pages),
    "documents": ChoiceSet(documents),
    **{f"alzheimers, {task}": ChoiceSet(alzheimers(task)) for task in FILES},
    "f1, top3": ChoiceSet(races("top3")),
    "f1, dnf": ChoiceSet(races("dnf")),
    "uw-cse": ChoiceSet(links("uw-cse", ADVISERS)),
    "imdb": ChoiceSet(links("imdb", ACTORS)),
    "guides": ChoiceSet(links("generated", GUIDES)),
    "1,600 towns": ChoiceSet(towns(1_600), wide=True),
    "80 towns": ChoiceSet(towns(80), wide=True),
    "8 towns": ChoiceSet(towns(8), wide=True),
    "webkb, linked": ChoiceSet(linked, wide=True),
}
"""By name."""
