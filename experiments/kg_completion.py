"""Learned soft rules as a link predictor: heads and tails of the test facts of UMLS and of two relations of FB15k-237, ranked.

For each relation rules are learned from the training split alone, as in `psl_structure.py`: one half of its facts is observed, the other half, with as many
pairs that the training split does not have, in which one end is any other entity, are labels. Then all its training facts are observed. For a
test fact (h, r, t) all entities are ranked as t for (h, r, ?) and as h for (?, r, t), but for those that make another fact of any split
(filtered); ranks of entities that tie are those of all their orders, in expectation. Entities that no rule leads to have the value 0.

- soft inference: the truth values that cost the least, with the learned weights.
- noisy-or: 1 less the product of 1 less the confidence of each learned rule that leads there. The confidence of a rule is the share of labels among the
  pairs that it leads to from their first entities, smoothed with `SMOOTHING` pairs that are none; labels are not in the graph, so that no
  fact speaks for itself.
- maximum: of those confidences.
- popularity: how many training facts of the relation an entity has at this end.

    python experiments/kg_completion.py [--quick] [--task NAME] [--split NAME] [--processes N] [--seed N] [--db FILE] [--json FILE] [--data DIR]

prints MRR, Hits@1 and Hits@10 over heads and tails, beside published figures for all relations of the same splits.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Literal as Choice

import duckdb
import numpy as np
import pyarrow as pa
from harness import Measured, Options, Row, publish, read_options, run_jobs
from psl_structure import RELATIONS, relation_names

import sqlrl
from sqlrl.logic.psl import LogicalRule, SoftModel
from sqlrl.logic.terms import Literal
from sqlrl.structure.soft.paths import PathClause

Split = Choice["test", "valid"]
TASKS = ("umls", *RELATIONS)
SPLITS: tuple[Split, ...] = ("test", "valid")

TYPES = ("entity", "entity")

LENGTH = 3
SIZES: Mapping[str, tuple[int, int]] = {"umls": (5, 100), "film-genre": (10, 50), "profession": (10, 50)}
"""The least labels that a path connects, and how many paths there are: those of the paper, where relations have the facts for that."""

BY: Choice["support", "contrast"] = "contrast"
"""Which paths: in dense graphs those that connect most labels connect false ones as well, and say nothing (chosen by `--split valid`)."""

MOST_LABELS = 5_000
"""Facts that are labels, at most."""

SMOOTHING = 5.0
"""Pairs that are no facts which a confidence is smoothed with."""

QUICK = 3
"""Relations of a quick run, those with the most test facts."""

Pair = tuple[str, str]

PUBLISHED = (
    ("umls", "ConvE", "Dettmers et al. 2018, their repository: these splits, heads and tails", 0.94, 0.92, 0.99),
    ("fb15k-237", "ConvE", "Dettmers et al. 2018, their repository: these splits, all relations", 0.32, 0.24, 0.49),
)
"""Data, system, source with its split, and MRR, Hits@1, Hits@10."""

COLUMNS = (
    "task", "system", "whose", "mrr", "mrr_heads", "mrr_tails", "hits_1", "hits_10", "facts", "relations", "rules", "seconds_learning", "seconds_ranking",
    "memory_mb",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Job:
    """A relation of a knowledge graph, and the split that is ranked."""

    folder: str
    seed: int
    task: str
    relation: str
    split: Split


@dataclass(frozen=True, slots=True)
class Rank:
    """What a system gives to one end of a fact, in expectation over the orders of ties."""

    system: str
    side: str
    fact: Pair
    reciprocal: float
    hits_1: float
    hits_10: float


@dataclass(frozen=True, slots=True)
class Outcome:
    """The ranks of a relation, its learned rules, and seconds."""

    ranks: tuple[Rank, ...]
    rules: tuple[tuple[str, float], ...]
    learning: float
    ranking: float


# ---- data ----------------------------------------------------------------------------------------------------


class Graph:
    """The facts of a knowledge graph by split, in a database of their own; `fact` has split, relation (as a predicate), head, tail."""

    def __init__(self, folder: Path) -> None:
        self.con = duckdb.connect()
        self.con.execute("set enable_progress_bar = false")
        self.con.execute("create table fact (split varchar, relation varchar, head varchar, tail varchar)")
        for split in ("train", "valid", "test"):
            query = "insert into fact select distinct $split, relation, head, tail from read_parquet($file)"
            self.con.execute(query, {"split": split, "file": str(folder / f"{split}.parquet")})
        found = self.con.execute("select distinct relation from fact").fetchall()
        self.names = relation_names(name for (name,) in found)
        self.con.register("named", pa.table({"old": list(self.names), "new": list(self.names.values())}))
        self.con.execute("update fact set relation = new from named where relation = old")

    def __enter__(self) -> Graph:
        return self

    def __exit__(self, *_: object) -> None:
        self.con.close()

    def pairs(self, relation: str, split: str) -> list[Pair]:
        """Return the facts of a relation in a split, in order."""
        query = "select head, tail from fact where relation = $r and split = $s order by all"
        return self.con.execute(query, {"r": relation, "s": split}).fetchall()

    def entities(self) -> list[str]:
        """Return all entities, in order."""
        query = "select head from fact union select tail from fact order by all"
        return [name for (name,) in self.con.execute(query).fetchall()]

    def load(self, db: sqlrl.Database, relations: Sequence[str]) -> None:
        """Load the training facts of relations."""
        for name in relations:
            rows = self.pairs(name, "train")
            if rows:
                db.load(name, rows, types=TYPES)


def relations_of(folder: Path, task: str, split: Split) -> dict[str, int]:
    """Return the relations of a task with how many facts of the split they have, those with the most first."""
    with Graph(folder) as graph:
        if task in RELATIONS:
            name = graph.names[RELATIONS[task]]
            return {name: len(graph.pairs(name, split))}
        query = "select relation, count(*) from fact where split = $split group by all order by 2 desc, 1"
        return dict(graph.con.execute(query, {"split": split}).fetchall())


def data_folder(data: Path, task: str) -> Path:
    """Return where the splits of a task are."""
    return data / "kg" / ("fb15k-237" if task in RELATIONS else task)


# ---- rules ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Learned:
    """A soft model with the clauses of paths that are in it, and the confidence of each of those whose head is not negated."""

    model: SoftModel
    clauses: tuple[PathClause, ...]
    confidence: tuple[float, ...]


def false_pairs(
    labels: Sequence[Pair], true: Sequence[Pair], entities: Sequence[str], random: np.random.Generator
) -> list[Pair]:
    """Return for each label a pair that is no training fact: with another first entity or, in turn, another last one, of all that there are."""
    known, found = set(true), set[Pair]()
    for i, (head, tail) in enumerate(labels):
        order = random.permutation(len(entities)).tolist()
        changed = ((entities[e], tail) if i % 2 else (head, entities[e]) for e in order)
        found.update(islice((pair for pair in changed if pair not in known and pair not in found), 1))
    return sorted(found)


def learn(job: Job, graph: Graph) -> Learned | None:
    """Learn rules of a relation; None where it has too few facts for any."""
    least, top = SIZES[job.task]
    true, random = graph.pairs(job.relation, "train"), np.random.default_rng(job.seed)
    labels = [true[i] for i in np.sort(random.permutation(len(true))[: min(len(true) // 2, MOST_LABELS)]).tolist()]
    false = false_pairs(labels, true, graph.entities(), random)
    if len(labels) + len(false) < least:
        return None
    hidden = set(labels)
    observed = [pair for pair in true if pair not in hidden]
    db = sqlrl.connect(progress=False)
    graph.load(db, [name for name in graph.names.values() if name != job.relation])
    db.load(job.relation, observed, types=TYPES, given=True)
    rows = [*((*pair, 1.0) for pair in labels), *((*pair, 0.0) for pair in false)]
    table = pa.table({"a0": [r[0] for r in rows], "a1": [r[1] for r in rows], "value": [r[2] for r in rows]})
    db.load(job.relation, table, columns=["a0", "a1"], types=TYPES, value="value", target=True)
    db.scope(job.relation, table.select(["a0", "a1"]))
    fit = sqlrl.SoftStructure(length=LENGTH, min_targets=least, top=top, by=BY).fit(db, job.relation)
    weights = fit.weights_[len(fit.weights_) - len(fit.candidates_) :]
    clauses = tuple(
        each for each, w in zip(fit.candidates_, weights.tolist(), strict=True) if w > 0 and not each.negated
    )
    con = graph.con
    con.execute("create or replace temp table observed as select head, tail from fact where false")
    con.execute("create or replace temp table label as from observed")
    for name, pairs in (("observed", observed), ("label", labels)):
        con.register("rows", pa.table({"head": [a for a, _ in pairs], "tail": [b for _, b in pairs]}))
        con.execute(f"insert into {name} from rows")
    write_edges(graph, job.relation, "observed")
    con.execute("create or replace temp table start as select distinct head as a from label")
    return Learned(fit.model_, clauses, tuple(confidence(con, clause) for clause in clauses))


def write_edges(graph: Graph, relation: str, observed: str) -> None:
    """Let `edge` be the training facts of all relations but for one, of which it has those that are observed."""
    graph.con.execute(
        f"""create or replace temp table edge as
            select relation, head, tail from fact where split = 'train' and relation != $r
            union all select $r, head, tail from {observed}""",
        {"r": relation},
    )


def walk(clause: PathClause, *, backwards: bool = False) -> str:
    """Return the query of the pairs (a, b) that a path leads to from entities a of `start`, or, backwards, to entities b of it from any a."""
    steps = [(each.predicate, (each.start, each.end) == (0, 1)) for each in clause.path]
    if backwards:
        steps = [(name, not forwards) for name, forwards in reversed(steps)]
    query = "select a, a as b from start"
    for name, forwards in steps:
        here, there = ("head", "tail") if forwards else ("tail", "head")
        query = f"select distinct a, {there} as b from ({query}) join edge on b = {here} where relation = '{name}'"
    return f"select b as a, a as b from ({query})" if backwards else query


def confidence(con: duckdb.DuckDBPyConnection, clause: PathClause) -> float:
    """Return the smoothed share of labels among the pairs that a clause leads to and that are not observed."""
    led = f"from ({walk(clause)}) where (a, b) not in (select (head, tail) from observed)"
    found = con.execute(
        f"select count(*), count(*) filter ((a, b) in (select (head, tail) from label)) {led}"
    ).fetchone()
    assert found is not None, "a count is a row"
    return float(found[1] / (found[0] + SMOOTHING))


# ---- ranks ---------------------------------------------------------------------------------------------------

REACHED = """
create or replace temp table reached as
    select clause, a, b from led where (a, b) not in (select (head, tail) from known_before)
"""

SCORED = """
create or replace temp table scored as
    select 'noisy-or' as system, 'both' as side, a, b, round(1 - exp(sum(ln(1 - confidence))), 9) as value
        from reached join confidences using (clause) group by a, b
    union all select 'maximum', 'both', a, b, max(confidence) from reached join confidences using (clause) group by a, b
    union all select 'soft inference', 'both', a, b, round(value, 6) from inferred
    union all select 'popularity', 'tail', a, b, n
        from (select distinct head as a from ranked), (select tail as b, count(*)::double as n from known_before group by tail)
        where (a, b) not in (select (head, tail) from known_before)
    union all select 'popularity', 'head', a, b, n
        from (select distinct tail as b from ranked), (select head as a, count(*)::double as n from known_before group by head)
        where (a, b) not in (select (head, tail) from known_before)
"""
"""The values of pairs that are no training facts; all others have 0."""

RANKS = """
with system as (select unnest(['soft inference', 'noisy-or', 'maximum', 'popularity']) as system),
     asked as (select system, head, tail, unnest(['head', 'tail']) as side from ranked, system),
     own as (
        select asked.*, coalesce(max(value), 0) as own from asked left join scored
            on scored.system = asked.system and a = head and b = tail and scored.side in ('both', asked.side) group by all
     ),
     rival as (
        select own.*, value from own join scored on scored.system = own.system and scored.side in ('both', own.side)
            and case own.side when 'tail' then a = head and b != tail else b = tail and a != head end
            where (a, b) not in (select (head, tail) from known)
     ),
     counted as (
        select system, side, head, tail, count(*) as others, count(*) filter (value > own) as above, count(*) filter (value = own) as equal
            from rival group by all
     ),
     filtered as (
        select 'tail' as side, head as entity, count(*) as n from known group by head
        union all select 'head', tail, count(*) from known group by tail
     )
select own.system, own.side, own.head, own.tail, coalesce(above, 0),
    -- Entities without a value have 0; those of facts are left out, the one that is ranked among them.
    coalesce(equal, 0) + case when own = 0 then $entities - n - coalesce(others, 0) else 0 end
from own left join counted using (system, side, head, tail)
    join filtered on filtered.side = own.side and entity = case own.side when 'tail' then own.head else own.tail end
order by all
"""


def rank(job: Job, graph: Graph, learned: Learned | None) -> list[Rank]:
    """Rank the ends of the facts of a split."""
    con, names = graph.con, {"r": job.relation, "split": job.split}
    con.execute("create or replace temp table known_before as select head, tail from fact where relation = $r and split = 'train'", {"r": job.relation})  # fmt: skip
    con.execute("create or replace temp table known as select distinct head, tail from fact where relation = $r", {"r": job.relation})  # fmt: skip
    con.execute("create or replace temp table ranked as select head, tail from fact where relation = $r and split = $split", names)  # fmt: skip
    write_edges(graph, job.relation, "known_before")
    con.execute("create or replace temp table led (clause integer, a varchar, b varchar)")
    for side, backwards in (("head", False), ("tail", True)):
        con.execute(f"create or replace temp table start as select distinct {side} as a from ranked")
        for i, clause in enumerate(learned.clauses if learned else ()):
            con.execute(f"insert into led select {i}, a, b from ({walk(clause, backwards=backwards)})")
    con.execute("create or replace temp table led as select distinct * from led")
    con.execute(REACHED)
    shares = learned.confidence if learned else ()
    con.register("confidences", pa.table({"clause": pa.array(range(len(shares)), pa.int32()), "confidence": pa.array(shares, pa.float64())}))  # fmt: skip
    con.register("inferred", infer(job, graph, learned))
    con.execute(SCORED)
    found = con.execute(RANKS, {"entities": len(graph.entities())}).fetchall()
    return [
        Rank(system, side, (head, tail), *expected(above, equal)) for system, side, head, tail, above, equal in found
    ]


def infer(job: Job, graph: Graph, learned: Learned | None) -> pa.Table:
    """Return the values of the pairs that rules lead to by soft inference."""
    pairs = graph.con.sql("select distinct a, b from reached order by all").to_arrow_table()
    if learned is None or not len(pairs):
        return pairs.append_column("value", pa.array(np.zeros(len(pairs))))
    db = sqlrl.connect(progress=False)
    bodies = [rule.body for rule in learned.model.rules if isinstance(rule, LogicalRule)]
    used = {each.predicate for body in bodies for each in body if isinstance(each, Literal)}
    graph.load(db, [name for name in graph.names.values() if name in used and name != job.relation])
    db.load(job.relation, graph.pairs(job.relation, "train"), types=TYPES, given=True)
    db.scope(job.relation, pairs)
    # Rules lead to more pairs than those that are ranked; no body reads the others.
    rows = db.predict(learned.model, observed_bodies=True, missing="false").atoms()
    first, last = (name for name in rows.column_names if name not in ("example", "value"))
    return pa.table({"a": rows[first], "b": rows[last], "value": rows["value"]})


def expected(above: int, equal: int) -> tuple[float, float, float]:
    """Return the mean reciprocal rank, Hits@1 and Hits@10 of one of `equal` + 1 that tie below `above`, over all orders of them.

    Examples
    --------
    >>> expected(0, 1)
    (0.75, 0.5, 1.0)
    """
    places = np.arange(above + 1, above + equal + 2)
    return float((1 / places).mean()), float((places <= 1).mean()), float((places <= 10).mean())


def run(job: Job) -> Outcome:
    """Learn the rules of a relation, and rank the ends of its facts."""
    with Graph(data_folder(Path(job.folder), job.task)) as graph:
        start = time.perf_counter()
        learned = learn(job, graph)
        middle = time.perf_counter()
        ranks = rank(job, graph, learned)
    rules = learned.model.rules if learned else ()
    kept = tuple((rule.formula, float(rule.weight or 0.0)) for rule in rules)
    return Outcome(tuple(ranks), kept, middle - start, time.perf_counter() - middle)


# ---- the table -----------------------------------------------------------------------------------------------


def summarise(runs: Sequence[tuple[Job, Measured[Outcome]]], tasks: Sequence[str]) -> Iterator[Row]:
    """Return the table: published figures, and for each task and system means over the ends of facts."""
    for task in tasks:
        of = "fb15k-237" if task in RELATIONS else task
        for data, system, whose, mrr, one, ten in PUBLISHED:
            if data == of:
                yield row(task=task, system=system, whose=whose, mrr=mrr, hits_1=one, hits_10=ten)
        mine = [result for job, result in runs if job.task == task]
        ranks = [each for result in mine for each in result.value.ranks]
        for system in dict.fromkeys(each.system for each in ranks):
            its = [each for each in ranks if each.system == system]
            yield row(
                task=task,
                system=system,
                whose="baseline" if system == "popularity" else "ours",
                mrr=mean(x.reciprocal for x in its),
                mrr_heads=mean(x.reciprocal for x in its if x.side == "head"),
                mrr_tails=mean(x.reciprocal for x in its if x.side == "tail"),
                hits_1=mean(x.hits_1 for x in its),
                hits_10=mean(x.hits_10 for x in its),
                facts=len(its) // 2,
                relations=len(mine),
                rules=sum(len(r.value.rules) for r in mine),
                seconds_learning=round(sum(r.value.learning for r in mine), 1),
                seconds_ranking=round(sum(r.value.ranking for r in mine), 1),
                memory_mb=round(max(r.memory_mb for r in mine)),
            )


def row(**values: object) -> Row:
    """Return a row with all columns."""
    return {column: values.get(column) for column in COLUMNS}


def mean(values: Iterator[float]) -> float:
    """Return a mean with three decimals."""
    return round(float(np.mean(list(values))), 3)


def jobs_of(options: Options, tasks: Sequence[str], split: Split) -> list[Job]:
    """Return a job for each relation of the tasks."""
    jobs = []
    for task in tasks:
        found = list(relations_of(data_folder(options.data, task), task, split))
        jobs += [
            Job(str(options.data), options.seed, task, name, split)
            for name in found[: QUICK if options.quick else None]
        ]
    return jobs


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the experiment."""
    options = read_options(
        "Learned soft rules as a link predictor on UMLS and two relations of FB15k-237.",
        arguments,
        needs="kg",
        choices={"task": TASKS, "split": SPLITS},
    )
    chosen = options.chosen.get("task")
    tasks = [chosen] if chosen else list(TASKS[:1] if options.quick else TASKS)
    split: Split = "valid" if options.chosen.get("split") == "valid" else "test"
    jobs = jobs_of(options, tasks, split)
    results = run_jobs(
        run, [(job,) for job in jobs], options.console(), "relations", options.processes, journal=options.journal
    )
    runs = list(zip(jobs, results, strict=True))
    details: list[Row] = [
        {"task": j.task, "relation": j.relation, "clause": clause, "weight": weight}
        for j, r in runs
        for clause, weight in r.value.rules
    ]
    parameters = {
        "length": LENGTH,
        "sizes": SIZES,
        "by": BY,
        "most_labels": MOST_LABELS,
        "smoothing": SMOOTHING,
        "split": split,
    }
    title = f"Ranks of heads and tails, filtered, of the {split} split" + ("; quick: some relations" if options.quick else "")  # fmt: skip
    rows = list(summarise(runs, tasks))
    publish("kg_completion", rows, options, title=title, parameters=parameters, details=details)


if __name__ == "__main__":
    main()
