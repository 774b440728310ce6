"""What every learner and every inference gives, as SHA-256 sums: two commits that should give the same results give the same lines.

Small data are made up with fixed seeds; each case learns, predicts, counts or exports in a database of its own, by what users
call and nothing else, so that this file runs as it is at older and later commits. A line has the case, what was made, its size in
bytes and its sum. `diff` of two outputs, or of two JSON files, on one machine shows what changed; with `--keep` the bytes
themselves are written, for `diff -r`. Floats are written exactly, so that other processors may give other sums.

    python scripts/bench/same_results.py [--json FILE] [--keep DIR] [--case TEXT]
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa

import sqlrl
from sqlrl.demo import MODEL as CHAIN
from sqlrl.demo import Bibliography, generate

Found = dict[str, bytes]
"""What a case made, by what it is."""

Tuples = list[tuple[Any, ...]]


@dataclass(frozen=True, slots=True)
class Setting:
    """How cases are run; of all but `small` results must not depend.

    Parameters
    ----------
    small : bool
        The smallest data that still have something to learn.
    threads : int, optional
        Of DuckDB and of samplers; by default all of the machine.
    shuffle : int, optional
        A seed: the rows of all sources are shuffled.
    """

    small: bool = False
    threads: int | None = None
    shuffle: int | None = None

    def connect(self, path: str | Path = ":memory:") -> Any:
        """Return a database."""
        return sqlrl.connect(path, threads=self.threads, progress=False)

    def rows(self, rows: Iterable[tuple[Any, ...]]) -> Tuples:
        """Return rows in the order in which they are loaded."""
        found = list(rows)
        if self.shuffle is not None:
            seeded(self.shuffle).shuffle(found)
        return found

    def table(self, table: pa.Table) -> pa.Table:
        """Return a table with its rows in the order in which they are loaded."""
        return table.take([place for (place,) in self.rows((i,) for i in range(table.num_rows))])


Case = Callable[[Setting], Found]


def seeded(seed: int) -> Random:
    """Return random numbers that are the same in every run."""
    return Random(seed)  # noqa: S311 (data are made up, nothing is kept secret)


# ---- bytes ----------------------------------------------------------------------------------------------


def exact(value: object) -> str:
    r"""Return a value as text from which it can be had again: floats in hexadecimal digits.

    Examples
    --------
    >>> exact(0.1), exact(None), exact("a\tb"), exact(3)
    ('0x1.999999999999ap-4', 'null', '"a\\tb"', '3')
    """
    return value.hex() if isinstance(value, float) else json.dumps(value, ensure_ascii=False, default=str)


def lines(columns: Sequence[str], rows: Iterable[Iterable[object]]) -> bytes:
    """Return a table as text: its columns, then its rows as they come."""
    found = ["\t".join(columns), *("\t".join(map(exact, row)) for row in rows)]
    return ("\n".join(found) + "\n").encode()


def arrow_lines(table: pa.Table) -> bytes:
    """Return an Arrow table as text."""
    return lines(table.column_names, (row.values() for row in table.to_pylist()))


def asked(db: Any, query: str) -> bytes:
    """Return the rows of a query as text, sorted."""
    relation = db.sql(query)
    return lines(relation.columns, sorted(relation.fetchall(), key=repr))


RECORDS = {
    "run": "run, learner, parameters, seed, status",
    "clause": "model, clause, text, weight, hard, origin, step, rule",
    "clause_statistics": "run, clause, groundings, open, satisfied_by_evidence, violated_by_evidence, n_observed, n_predicted, delta_n",
    "weight_history": "run, step, clause, delta_n, weight",
    "step": "run, step, example_name, loss, atoms, correct, score_truth, score_prediction",
    "iteration": "run, iteration, objective, bound, optimality, step, damping, cuts, errors",
    "tuning": "run, parameter, value, fold, score, chosen",
    "added_clause": "run, clause, step, example_name, atom_name, horn, delta_n",
    "candidate": "run, candidate, clause, literals, positives, negatives, score, in_theory, atom_name",
    "coverage": "run, candidate, atom",
    "prediction": "run, predicate, atom, truth",
    "marginal": "run, predicate, atom, probability, error, rhat, ess, method",
    "outcome": "run, predicate, name, example_name, label, predicted, probability, log_odds, block, constant",
    "support": "run, clause, for_right, for_wrong, against_right, against_wrong",
    "explanation": "atom, example, truth, margin, side, clause, ground_clause, weight, times, contribution, gap, run",
}
"""What runs leave in the database, without times, versions and fingerprints."""


def recorded(db: Any) -> Found:
    """Return what runs left in the database; tables without rows are left out."""
    found = {f"sqlrl.{table}": asked(db, f"select {columns} from sqlrl.{table}") for table, columns in RECORDS.items()}
    return {name: content for name, content in found.items() if content.count(b"\n") > 1}


def saved(model: sqlrl.Model) -> Found:
    """Return a model as both kinds of file."""
    found: Found = {}
    with tempfile.TemporaryDirectory() as folder:
        for name in ("model.mln", "model.json"):
            model.save(Path(folder, name))
            found[name] = Path(folder, name).read_bytes()
    return found


def world(prediction: sqlrl.Prediction, *predicates: str) -> Found:
    """Return the atoms of a prediction, and how well it is proved."""
    facts = (prediction.status.value, prediction.objective, prediction.bound, prediction.gap)
    choices = [(c.method, c.components, c.atoms, c.rows) for c in prediction.result.report.choices]
    return {f"world of {p}": arrow_lines(prediction.atoms(p, every=True)) for p in predicates} | {
        "proof": lines(("status", "objective", "bound", "gap"), [facts]),
        "methods": lines(("method", "components", "atoms", "rows"), choices),
    }


def probabilities(found: sqlrl.Marginals, *predicates: str) -> Found:
    """Return probabilities with their errors."""
    return {f"probabilities of {p}": arrow_lines(found.probabilities(p)) for p in predicates}


def attempted(work: Callable[[], Found]) -> Found:
    """Return what work makes, or the kind of error with which a method refuses it."""
    try:
        return work()
    except sqlrl.SqlrlError as error:
        return {"error": type(error).__name__.encode()}


def prefixed(prefix: str, found: Found) -> Found:
    """Return what was made under longer names."""
    return {f"{prefix}: {name}": content for name, content in found.items()}


# ---- data -----------------------------------------------------------------------------------------------


@cache
def bibliography(count: int) -> Bibliography:
    """Return citations, which are made up once for all cases."""
    return generate(count, seed=5)


def citations(setting: Setting) -> tuple[Any, list[str], list[str]]:
    """Load citations; return also those to learn from, and the last third, to predict."""
    made, db = bibliography(6 if setting.small else 18), setting.connect()
    db.load("Token", setting.table(made.token), example="bib")
    db.load("Next", setting.table(made.next), types=("position", "position"))
    db.load("InField", setting.table(made.field), target=True)
    names = made.citations
    return db, names[: 2 * len(names) // 3], names[2 * len(names) // 3 :]


REVIEWS = """
Word(doc, word)
Liked(doc)
Kind(doc, kind!)
Word(d, +w) => Liked(d)
Word(d, +w) => Kind(d, +k)
Liked(d) ^ Kind(d, +k)
Kind(d, K0) => !Liked(d).
"""


def reviews(setting: Setting) -> tuple[Any, list[str], list[str]]:
    """Load documents with a block of kinds; later ones bring new words, and some labels break the hard clause."""
    draw, count = seeded(1), 12 if setting.small else 24
    names = [f"d{i:02}" for i in range(count)]
    words = sorted({(name, f"w{draw.randrange(4 + i // 2)}") for i, name in enumerate(names) for _ in range(3)})
    db = setting.connect()
    db.load("Word", setting.rows(words), types=["doc", "word"], example="doc")
    db.load("Liked", setting.rows((name,) for name in names if draw.random() < 0.5), types=["doc"], target=True)
    kinds = setting.rows((name, f"K{draw.randrange(3)}") for name in names)
    db.load("Kind", kinds, types=["doc", "kind"], target=True)
    return db, names[: 3 * count // 4], names[3 * count // 4 :]


SMOKERS = """
Friends(person, person)
Smokes(person)
Cancer(person)
-0.6 Smokes(x)
-1.0 Cancer(x)
1.5 Smokes(x) => Cancer(x)
0.9 Friends(x, y) ^ Smokes(x) => Smokes(y)
"""


def smokers(setting: Setting, *, labels: bool) -> Any:
    """Load one network of friends: all of Smokes and Cancer as labels, or some of Smokes as evidence."""
    people = 10 if setting.small else 40
    draw = seeded(2)
    names = [f"P{i:02}" for i in range(people)]
    friends = {(a, b) for a in names for b in draw.sample(names, 2) if a != b}
    smokes = {name: draw.random() < 0.4 for name in names}
    db = setting.connect()
    db.load("Friends", setting.rows(sorted(friends)), types=["person", "person"])
    if labels:
        db.load("Smokes", setting.rows((n,) for n in names if smokes[n]), types=["person"], target=True)
        sick = [(n,) for n in names if draw.random() < (0.6 if smokes[n] else 0.2)]
        db.load("Cancer", setting.rows(sick), types=["person"], target=True)
        return db
    seen = setting.rows((n, smokes[n]) for n in names if draw.random() < 0.3)
    db.load("Smokes", seen, columns=[0], types=["person"], truth=1, given=True)
    return db


LINKAGE = """
Cand(record, record)
Alike(record, record)
Same(record, record)
Alike(a, b) => Same(a, b)
Cand(a, b) => Same(a, b)
Same(a, b) => Same(b, a).
Same(a, b) ^ Same(a, c) ^ Cand(b, c) => Same(b, c).
"""


def records(setting: Setting) -> tuple[Any, Tuples, Tuples]:
    """Load pairs of records that may be the same, as of the README but with noise; return also pairs to learn from and to predict."""
    count, draw = 12 if setting.small else 60, seeded(3)
    pairs: Tuples = [(a, b) for a in range(count) for b in range(count) if a != b and a // 6 == b // 6]
    same = [(a, b) for a, b in pairs if a // 3 == b // 3]
    alike = [(a, b) for a, b in pairs if draw.random() < (0.8 if a // 3 == b // 3 else 0.15)]
    db = setting.connect()
    for name, rows in {"Cand": pairs, "Alike": alike, "Same": same}.items():
        db.load(name, setting.rows(rows), types=["record", "record"], target=name == "Same")
    half = [(a, b) for a, b in pairs if a < count // 2], [(a, b) for a, b in pairs if a >= count // 2]
    return db, setting.rows(half[0]), setting.rows(half[1])


def family(setting: Setting) -> Any:
    """Load a tree of parents, the sex of half of its people, and grandfathers, of whom some are missing."""
    people, draw = 14 if setting.small else 30, seeded(4)
    parents = [(f"P{(i - 1) // 2:02}", f"P{i:02}") for i in range(1, people)]
    males = {f"P{i:02}" for i in range(people) if draw.random() < 0.6}
    grand = [(a, c) for a, b in parents for d, c in parents if b == d and a in males and draw.random() < 0.9]
    db = setting.connect()
    db.load("Parent", setting.rows(parents), types=["person", "person"])
    db.load("Male", setting.rows((name,) for name in sorted(males)), types=["person"])
    db.load("Grandfather", setting.rows(grand), types=["person", "person"], target=True)
    db.define("Ancestor(x, y) :- Parent(x, y). Ancestor(x, z) :- Parent(x, y), Ancestor(y, z).")
    return db


FORMULAS = """
Knows(person, person)
Old(person)
Happy(person)
Owns(person, pet!)
pet = {Cat, Dog, Fish}
1.5 Knows(x, y) ^ Happy(x) => Happy(y)
-0.7 Old(x) v Happy(x)
0.4 Happy(x) <=> (EXIST y (Knows(x, y) ^ Happy(y)))
0.9 FORALL y (Knows(x, y) => Happy(y))
-1.1 !(Happy(x) => Owns(x, Cat))
0.3 Owns(x, +p)
0.25 Happy(x) ^ (Old(x) v Owns(x, Dog))
Owns(x, Dog) ^ Old(x) => Happy(x).
Owns(x, Cat) => (EXIST y (Knows(x, y) ^ !Owns(y, Dog))).
"""


def people(setting: Setting) -> Any:
    """Load some people, of whom some are probably happy: for formulas of every kind."""
    draw = seeded(6)
    names = [f"N{i}" for i in range(5 if setting.small else 8)]
    knows = [(a, b) for a in names for b in names if a != b and draw.random() < 0.35]
    db = setting.connect()
    db.load("Knows", setting.rows(knows), types=["person", "person"])
    db.load("Old", setting.rows((name,) for name in names[::3]), types=["person"])
    happy = setting.rows([(names[0], 0.9), (names[1], 0.3), (names[3], 1.0)])
    db.load("Happy", happy, columns=[0], types=["person"], probability=1)
    pets = setting.rows((name, draw.choice(("Cat", "Dog", "Fish"))) for name in names)
    db.load("Owns", pets, types=["person", "pet"], target=True)
    return db


# ---- cases of learning ------------------------------------------------------------------------------------


def learned(db: Any, fit: Any) -> Found:
    """Return a learned model, its clauses, and what the run left."""
    return saved(fit.model_) | {"clauses": arrow_lines(fit.clauses().to_arrow())} | recorded(db)


def chain(estimator: Callable[[], Any], setting: Setting, text: str = CHAIN, **options: Any) -> Found:
    """Learn to segment citations, and segment others."""
    db, train, test = citations(setting)
    with db:
        fit = estimator().fit(db, sqlrl.parse_mln(text), examples=train, **options)
        found = learned(db, fit)
        prediction = db.predict(fit.model_, examples=test)
        difference = db.count_difference(fit.model_, prediction, examples=test)
        found |= world(prediction, "InField") | {"delta n": arrow_lines(difference.to_arrow())}
        return found | {"scores": str(db.evaluate(prediction)).encode()}


def documents(estimator: Callable[[], Any], setting: Setting, **options: Any) -> Found:
    """Learn which documents are liked and of which kind, and predict others."""
    db, train, test = reviews(setting)
    with db:
        fit = estimator().fit(db, sqlrl.parse_mln(REVIEWS), examples=train, **options)
        return learned(db, fit) | world(db.predict(fit.model_, examples=test), "Liked", "Kind")


def network(estimator: Callable[[], Any], setting: Setting) -> Found:
    """Learn from one network of friends, and predict it."""
    with smokers(setting, labels=True) as db:
        model = sqlrl.parse_mln(SMOKERS, query=["Smokes", "Cancer"])
        fit = estimator().fit(db, model)
        return learned(db, fit) | world(db.predict(fit.model_), "Smokes", "Cancer")


def resumed(estimator: Callable[[], Any], setting: Setting) -> Found:
    """Stop a run after its second window, and go on with it."""

    def stop(progress: Any) -> None:
        if progress.window == 2:
            raise KeyboardInterrupt

    db, train, test = reviews(setting)
    with db:
        try:
            estimator().fit(db, sqlrl.parse_mln(REVIEWS), examples=train, checkpoint=True, callback=stop)
        except KeyboardInterrupt:
            fit = estimator().fit(db, sqlrl.parse_mln(REVIEWS), examples=train, resume=1)
            return learned(db, fit) | world(db.predict(fit.model_, examples=test), "Liked", "Kind")
    raise AssertionError("the run was not stopped")


MODES = "modeP(2, Token(#-, +, .))\nmodeP(1, Next(-, -))\nmodeP(2, InField(., #., +))"
RULE = "Next(p1, p2) ^ InField(c, Pages, p1) => !InField(c, Author, p2).\n"


def without(*parts: str) -> str:
    """Return the chain without the rules that start so."""
    return "\n".join(line for line in CHAIN.splitlines() if not line.startswith(parts))


def grandfathers(setting: Setting) -> Found:
    """Find clauses, choose among them by exact likelihood, and predict."""
    with family(setting) as db:
        ilp = sqlrl.ILP(keep_above=0.3, keep_coverage=True, clause_length=3, nodes=500).fit(db, "Grandfather")
        fit = sqlrl.Likelihood(penalty="l1", strength=0.5).fit(db, ilp.model_)
        found = {
            "theory": arrow_lines(ilp.theory_),
            "definitions": ilp.definitions("Found").encode(),
            "bias": str(ilp.bias_).encode(),
        }
        found |= learned(db, fit) | world(db.predict(fit.model_), "Grandfather")
        return found | probabilities(db.marginals(fit.model_), "Grandfather")


BIAS = """
modeh(1, 'Grandfather'(+person, +person)).
modeb(*, 'Parent'(+person, -person)).
modeb(1, 'Male'(+person)).
"""


def theory(setting: Setting, **options: Any) -> Found:
    """Find clauses with given modes."""
    with family(setting) as db:
        fit = sqlrl.ILP(sqlrl.parse_bias(BIAS), **options).fit(db, "Grandfather")
        return {"theory": arrow_lines(fit.theory_), "candidates": arrow_lines(fit.candidates_)} | recorded(db)


def linked(estimator: Callable[[], Any], setting: Setting, *, rules: int | None = None) -> Found:
    """Learn which records are the same, without or with transitivity, and predict others with it."""
    db, learn, predict = records(setting)
    with db:
        model = sqlrl.parse_mln(LINKAGE)
        db.scope("Same", learn)
        fit = estimator().fit(db, model.with_rules(model.rules[:rules]))
        found = learned(db, fit)
        db.scope("Same", predict)
        whole = model.with_rules((*fit.model_.rules[:2], *model.rules[2:]))
        prediction = db.predict(whole, keep=True)
        scores = str(db.evaluate(prediction, outside="ignore"))
        return found | world(prediction, "Same") | {"scores": scores.encode()}


# ---- cases of inference, counts and files -----------------------------------------------------------------

METHODS = ("auto", "elimination", "cut", "lp", "cpsat", "walksat", "cutting-plane")
SAMPLING: Mapping[str, Any] = {"samples": 60, "burn_in": 20, "chains": 2, "seed": 7}


def predicted(ask: Callable[[Setting], Any], predicates: Sequence[str], setting: Setting) -> Found:
    """Find the most probable world by every method."""
    db, model = ask(setting)
    found: Found = {}
    with db:
        for method in METHODS:
            find = partial(db.predict, model, method=method, deterministic_limit=5.0)
            found |= prefixed(method, attempted(lambda find=find: world(find(), *predicates)))  # type: ignore[misc]
    return found


def believed(ask: Callable[[Setting], Any], predicates: Sequence[str], setting: Setting) -> Found:
    """Find probabilities by every method."""
    db, model = ask(setting)
    found: Found = {}
    with db:
        for method in ("auto", "exact", "gibbs", "mcsat"):
            find = partial(db.marginals, model, method=method, **SAMPLING)
            found |= prefixed(method, attempted(lambda find=find: probabilities(find(), *predicates)))  # type: ignore[misc]
    return found


def friends(setting: Setting) -> tuple[Any, sqlrl.Model]:
    """Return a network of friends with some evidence, and its model."""
    return smokers(setting, labels=False), sqlrl.parse_mln(SMOKERS, query=["Smokes", "Cancer"])


def labelled_friends(setting: Setting) -> tuple[Any, sqlrl.Model]:
    """Return a network of friends with labels, and its model."""
    return smokers(setting, labels=True), sqlrl.parse_mln(SMOKERS, query=["Smokes", "Cancer"])


def weighted_linkage(setting: Setting) -> tuple[Any, sqlrl.Model]:
    """Return records with transitivity, and weights."""
    db, _, predict = records(setting)
    db.scope("Same", predict)
    text = LINKAGE.replace("\nAlike(a", "\n1.7 Alike(a").replace("\nCand(a,", "\n-0.9 Cand(a,")
    return db, sqlrl.parse_mln(text)


def weighted_formulas(setting: Setting) -> tuple[Any, sqlrl.Model]:
    """Return people, and formulas of every kind."""
    return people(setting), sqlrl.parse_mln(FORMULAS, query=["Happy", "Owns"])


def alchemy_formulas(setting: Setting) -> tuple[Any, sqlrl.Model]:
    """Return people, and the formulas that have a normal form, read as Alchemy reads them."""
    text = "\n".join(line for line in FORMULAS.splitlines() if "EXIST" not in line)
    return people(setting), sqlrl.parse_mln(text, query=["Happy", "Owns"], semantics="alchemy")


def weighted_chain(setting: Setting) -> tuple[Any, sqlrl.Model]:
    """Return citations, and a chain that was learned from some of them."""
    db, train, _ = citations(setting)
    return db, sqlrl.Perceptron().fit(db, sqlrl.parse_mln(CHAIN), examples=train).model_


def drawn(setting: Setting) -> Found:
    """Stream samples and running means into tables, and keep probabilities."""
    db, model = friends(setting)
    with db:
        for method in ("gibbs", "mcsat"):
            into = {"samples_into": f"{method}_samples", "means_into": f"{method}_means"}
            db.marginals(model, method=method, into=f"{method}_found", keep=True, **into, **SAMPLING)
        tables = [f"{m}_{what}" for m in ("gibbs", "mcsat") for what in ("samples", "means", "found_Smokes")]
        return {table: asked(db, f"from {table}") for table in tables} | recorded(db)


def counted(
    ask: Callable[[Setting], Any], predicates: Sequence[str], setting: Setting, *, labels: bool = True
) -> Found:
    """Count clauses in a predicted world, in a made-up one and in the observed one, and differences."""
    db, model = ask(setting)
    with db:
        prediction = db.predict(model)
        given = {p: every_other(prediction.atoms(p, every=True)) for p in predicates}
        tables = {
            "n predicted": db.count(model, world=prediction),
            "n given": db.count(model, world=given),
            "predicted minus given": db.count_difference(model, prediction, given),
        }
        if labels:
            tables |= {"n observed": db.count(model), "delta n": db.count_difference(model, prediction)}
        return {name: arrow_lines(table.to_arrow()) for name, table in tables.items()}


def every_other(atoms: pa.Table) -> pa.Table:
    """Return a world in which every other one of some atoms is true."""
    truth = pa.array([k % 2 == 0 for k in range(atoms.num_rows)], pa.bool_())
    return atoms.set_column(atoms.column_names.index("truth"), "truth", truth)


def exported(ask: Callable[[Setting], Any], setting: Setting) -> Found:
    """Write the ground network as every kind of file, and read a made-up answer."""
    db, model = ask(setting)
    found: Found = {}
    with db, tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file, dialect in {"a.wcnf": "classic", "b.wcnf": "2022", "a.lp": "classic", "a.uai": "classic"}.items():
            db.export(model, folder / file, dialect=dialect)
            found |= {each: (folder / each).read_bytes() for each in (file, f"{file}.atoms.tsv")}
        # What a solver answers that finds every third atom true.
        variables = range(1, int(found["a.wcnf"].split(b"p wcnf ")[1].split()[0]) + 1)
        answer = " ".join(str(k if k % 3 == 0 else -k) for k in variables)
        (folder / "answer").write_text(f"s SATISFIABLE\nv {answer} 0\n", encoding="ascii")
        read = partial(
            db.read_solution, model, folder / "answer", format="wcnf", exported=folder / "a.wcnf", bound=True
        )
        return found | prefixed("answer", attempted(lambda: world(read())))


def kept(setting: Setting) -> Found:
    """Keep a prediction with counts and reasons, and write it into a table."""
    db, model = friends(setting)
    with db:
        prediction = db.predict(model, keep=True, into="world")
        atoms = prediction.atoms("Smokes", every=True)["person"].to_pylist()
        reasons = [prediction.why(f"{p}({name})", neutral=True) for p in ("Smokes", "Cancer") for name in atoms[:3]]
        found = {f"why {r.atom}": lines([str(r.margin.hex()), str(r.gap.hex())], []) for r in reasons}
        found |= {table: asked(db, f"from {table}") for table in ("world_Smokes", "world_Cancer")}
        return found | recorded(db) | world(prediction, "Smokes", "Cancer")


def constraints(setting: Setting) -> Found:
    """Find which hard clauses are cheap, and train with these alone."""
    db, train, test = citations(setting)
    with db:
        model = sqlrl.parse_mln(CHAIN + RULE)
        costs = db.constraint_costs(model, train)
        fit = sqlrl.ConstrainedTraining(sqlrl.AdaGrad(), mode="sct").fit(db, model, examples=train)
        found = {"costs": arrow_lines(costs.to_arrow())} | saved(fit.model_) | recorded(db)
        return found | world(db.predict(fit.model_, examples=test), "InField")


def loaded(setting: Setting) -> Found:
    """Show what loading makes of tuples: predicates, types and examples."""
    db, _, _ = reviews(setting)
    with db, family(setting) as other:
        bias = str(other.derive_bias("Grandfather"))
        return {
            "predicates": arrow_lines(db.predicates().to_arrow()),
            "examples": asked(db, "select name from sqlrl.example"),
            "types": asked(db, "select type, local, size from sqlrl.type"),
            "bias": bias.encode(),
        }


def commands(setting: Setting) -> Found:
    """Load, learn, infer and count on the command line, each in a process of its own."""
    train, test = (4, 2) if setting.small else (12, 6)
    examples = "from range({}, {}) t(k) select printf('b%04d', k)".format
    learn, predict = ["--examples", examples(1, train + 1)], ["--examples", examples(train + 1, train + test + 1)]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        made = bibliography(train + test)
        with setting.connect(folder / "a.duckdb") as db:
            db.load("Token", setting.table(made.token), types=("token", "position", "bib"), example="bib")
            db.load("Next", setting.table(made.next), types=("position", "position"))
        (folder / "chain.mln").write_text(CHAIN, encoding="utf-8")

        def run(*arguments: str) -> bytes:
            environment = {k: v for k, v in os.environ.items() if not k.startswith("SQLRL_")} | {"COLUMNS": "200"}
            command = [sys.executable, "-m", "sqlrl", *arguments]
            return subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True).stdout

        labels = str(made.write(folder)["field"])
        run("load", "a.duckdb", "InField", labels, "--types", "bib,field,position", "--target", "--quiet")
        run("learn", "a.duckdb", "--model", "chain.mln", *learn, "--out", "learned.mln", "--quiet")
        ask = ["a.duckdb", "--model", "learned.mln", *predict, "--json", "--quiet"]
        return {
            "learned.mln": (folder / "learned.mln").read_bytes(),
            "infer": run("infer", *ask, "--into", "predictions"),
            "infer --marginals": run("infer", *ask, "--marginals"),
            "count --world": run("count", *ask, "--world", "predictions", "--against", "observed"),
        }


ONLINE: Mapping[str, Any] = {
    "window": 4, "passes": 2, "order": "shuffle", "random_state": 3, "record_history": True,
}  # fmt: skip


def named(name: str) -> Callable[..., Any]:
    """Return what makes a learner, which is looked up when it does: at later commits some names warn."""

    def make(*values: Any, **options: Any) -> Any:
        return getattr(sqlrl, name)(*values, **options)

    return make


CASES: Mapping[str, Case] = {
    "AdaGrad": partial(chain, sqlrl.AdaGrad),
    "AdaGrad, more L1": partial(chain, partial(named("AdaGrad"), regularization=0.05)),
    "AdaGrad, no L1, loss added": partial(chain, partial(named("AdaGrad"), regularization=0.0, loss_augmented=True)),
    "AdaGrad, passes": partial(documents, partial(sqlrl.AdaGrad, **ONLINE)),
    "AdaGrad, resumed": partial(resumed, partial(sqlrl.AdaGrad, **ONLINE)),
    "AdaGrad, one network": partial(network, partial(sqlrl.AdaGrad, passes=3)),
    "CDA": partial(chain, sqlrl.CDA),
    "CDA, F1": partial(documents, partial(named("CDA"), update="prediction", label_loss="f1", **ONLINE)),
    "MIRA": partial(chain, named("MIRA")),
    "MIRA, passes": partial(documents, partial(named("MIRA"), **ONLINE)),
    "Subgradient": partial(chain, named("Subgradient")),
    "Subgradient, passes": partial(documents, partial(named("Subgradient"), update="prediction", **ONLINE)),
    "Perceptron": partial(chain, named("Perceptron")),
    "Perceptron, relaxed": partial(
        documents, partial(named("Perceptron"), inference="relaxed", ties="first", **ONLINE)
    ),
    "ContrastiveDivergence": partial(chain, named("ContrastiveDivergence")),
    "ContrastiveDivergence, MPE": partial(documents, partial(named("ContrastiveDivergence"), "mpe", **ONLINE)),
    "ContrastiveDivergence, resumed": partial(resumed, partial(named("ContrastiveDivergence"), **ONLINE)),
    "OSL from a model": partial(chain, partial(sqlrl.OSL, sqlrl.parse_modes(MODES), 3, 1, window=8)),
    "OSL from nothing": partial(
        chain, partial(sqlrl.OSL, sqlrl.parse_modes(MODES), window=8), text=without("Token(+t", "Next(p1")
    ),
    "OSL, options": partial(
        chain,
        partial(sqlrl.OSL, sqlrl.parse_modes(MODES), 3, 2, pool=2, longest_only=True, look_ahead=True, **ONLINE),
        text=without("Next(p1"),
    ),
    "ILP and Likelihood": grandfathers,
    "ILP, induce": partial(theory, command="induce", order="shuffle", random_state=1),
    "ILP, induce_max": partial(theory, command="induce_max", evaluation="laplace", noise=3),
    "Likelihood, L2": partial(linked, partial(sqlrl.Likelihood, "l2"), rules=2),
    "Likelihood, chosen": partial(linked, partial(sqlrl.Likelihood, strength=[0.1, 1.0, 10.0], folds=3), rules=2),
    "MaxMargin": partial(chain, partial(sqlrl.MaxMargin, max_iterations=20), text=without("Next(p1")),
    "MaxMargin, exact, L1": partial(documents, partial(named("MaxMargin"), 10.0, penalty="l1", separation="exact")),
    "MaxMargin, one network": partial(network, partial(named("MaxMargin"), [0.1, 10.0])),
    "MaxMargin, transitivity": partial(linked, partial(named("MaxMargin"), 10.0)),
    "PSCG": partial(network, partial(sqlrl.PSCG, 8)),
    "PSCG, documents": partial(documents, partial(sqlrl.PSCG, 4, random_state=2)),
    "VotedPerceptron": partial(network, partial(named("VotedPerceptron"), 0.05, 20)),
    "VotedPerceptron, transitivity": partial(linked, partial(named("VotedPerceptron"), 0.01, 8)),
    "ConstrainedTraining": constraints,
    "worlds: friends": partial(predicted, friends, ("Smokes", "Cancer")),
    "worlds: records": partial(predicted, weighted_linkage, ("Same",)),
    "worlds: formulas": partial(predicted, weighted_formulas, ("Happy", "Owns")),
    "worlds: chain": partial(predicted, weighted_chain, ("InField",)),
    "marginals: friends": partial(believed, friends, ("Smokes", "Cancer")),
    "marginals: records": partial(believed, weighted_linkage, ("Same",)),
    "marginals: formulas": partial(believed, weighted_formulas, ("Happy", "Owns")),
    "marginals: chain": partial(believed, weighted_chain, ("InField",)),
    "marginals: Alchemy's reading": partial(believed, alchemy_formulas, ("Happy", "Owns")),
    "samples": drawn,
    "counts: friends": partial(counted, labelled_friends, ("Smokes", "Cancer")),
    "counts: records": partial(counted, weighted_linkage, ("Same",)),
    "counts: formulas": partial(counted, weighted_formulas, ("Happy", "Owns"), labels=False),
    "counts: chain": partial(counted, weighted_chain, ("InField",)),
    "export: friends": partial(exported, friends),
    "export: formulas": partial(exported, weighted_formulas),
    "kept prediction": kept,
    "loading": loaded,
    "command line": commands,
}


def run(name: str, setting: Setting) -> Found:
    """Run a case without its warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return CASES[name](setting)


def rows_of(name: str, found: Found) -> list[dict[str, object]]:
    """Return a row for each thing that a case made."""
    return [
        {"case": name, "what": what, "bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
        for what, content in found.items()
    ]


def keep(folder: Path, name: str, found: Found) -> None:
    """Write what a case made into a folder of its own."""
    for what, content in found.items():
        path = folder / name.replace("/", "-") / what.replace("/", "-")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a line for each thing that each case makes."""
    parser = argparse.ArgumentParser(description="What every learner and every inference gives, as SHA-256 sums.")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the lines as JSON, too")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="write the bytes themselves into this folder")
    parser.add_argument("--case", default="", metavar="TEXT", help="only cases whose names have this text")
    given = parser.parse_args(arguments)
    rows: list[dict[str, object]] = []
    for name in CASES:
        if given.case not in name:
            continue
        found = run(name, Setting())
        if given.keep is not None:
            keep(given.keep, name, found)
        for row in rows_of(name, found):
            print(f"{row['case']} | {row['what']} | {row['bytes']} | {row['sha256']}", flush=True)
            rows.append(row)
    if given.json is not None:
        given.json.write_text(json.dumps(rows, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
