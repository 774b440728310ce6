"""Rules as a link predictor: walks, confidences and ranks against loops in Python, on a generated graph with a planted rule."""

from __future__ import annotations

import json
import random
from itertools import permutations
from pathlib import Path

import duckdb
import kg_completion as kg
import numpy as np
import pyarrow as pa
import pytest

from sqlrl.logic.psl import LogicalRule
from sqlrl.logic.terms import Literal, Variable
from sqlrl.plan.paths import PathRelation
from sqlrl.structure.soft.paths import PathClause

Triples = set[tuple[str, str, str]]


def generated(seed: int = 0) -> dict[str, Triples]:
    """Who works in a town lives there, mostly; who knows whom says nothing."""
    draw = random.Random(seed)
    people, towns = [f"p{i}" for i in range(40)], [f"t{i}" for i in range(8)]
    firms = {f"f{i}": towns[i % 8] for i in range(16)}
    triples: Triples = {(firm, "lies in", town) for firm, town in firms.items()}
    for person in people:
        firm = draw.choice(sorted(firms))
        triples |= {
            (person, "works at", firm),
            (person, "/lives/in", firms[firm] if draw.random() < 0.8 else draw.choice(towns)),
        }
        triples |= {(person, "knows", other) for other in draw.sample(people, 2)}
    lives = sorted(x for x in triples if x[1] == "/lives/in")
    draw.shuffle(lives)
    return {"train": triples - set(lives[:12]), "valid": set(lives[:6]), "test": set(lives[6:12])}


def write(folder: Path, splits: dict[str, Triples], name: str = "umls") -> Path:
    """Write splits as the data have them."""
    place = folder / "kg" / name
    place.mkdir(parents=True)
    for split, triples in splits.items():
        rows = sorted(triples)
        table = pa.table({c: [r[i] for r in rows] for i, c in enumerate(("head", "relation", "tail"))})
        duckdb.from_arrow(table).write_parquet(str(place / f"{split}.parquet"))
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("data"), generated())


def clause(*steps: tuple[str, bool]) -> PathClause:
    """The clause of a path; True goes from head to tail."""
    path = tuple(PathRelation(name, *((0, 1) if on else (1, 0))) for name, on in steps)
    rule = LogicalRule((), (Literal("lives_in", (Variable("A"), Variable("B"))),), 0.0)
    return PathClause(rule, path, 0, 0)


def led(triples: Triples, names: dict[str, str], path: PathClause, start: str) -> set[str]:
    """Where a path leads to from an entity."""
    ends = {start}
    for step in path.path:
        pairs = [
            (h, t) if (step.start, step.end) == (0, 1) else (t, h) for h, r, t in triples if names[r] == step.predicate
        ]
        ends = {b for a, b in pairs if a in ends}
    return ends


PATHS = [
    clause(("works_at", True), ("lies_in", True)),
    clause(("knows", True), ("lives_in", True)),
    clause(("lives_in", True), ("lives_in", False), ("lives_in", True)),
    clause(("knows", False)),
]


@pytest.mark.parametrize("path", PATHS, ids=lambda path: "-".join(map(str, path.path)))
def test_walks_and_confidences_are_those_of_loops(folder: Path, path: PathClause) -> None:
    splits = generated()
    with kg.Graph(folder / "kg" / "umls") as graph:
        observed = graph.pairs("lives_in", "train")[::2]
        labels = graph.pairs("lives_in", "train")[1::2]
        graph.con.register("seen", pa.table({"head": [a for a, _ in observed], "tail": [b for _, b in observed]}))
        graph.con.register("hidden", pa.table({"head": [a for a, _ in labels], "tail": [b for _, b in labels]}))
        graph.con.execute("create temp table observed as from seen; create temp table label as from hidden")
        kg.write_edges(graph, "lives_in", "observed")
        graph.con.execute("create temp table start as select distinct head as a from label")
        edges = {x for x in splits["train"] if graph.names[x[1]] != "lives_in"}
        edges |= {(a, "/lives/in", b) for a, b in observed}
        starts = sorted({a for a, _ in labels})
        wanted = {(a, b) for a in starts for b in led(edges, graph.names, path, a)}
        assert set(graph.con.execute(kg.walk(path)).fetchall()) == wanted
        rest = wanted - set(observed)
        assert kg.confidence(graph.con, path) == pytest.approx(len(rest & set(labels)) / (len(rest) + kg.SMOOTHING))
        # Backwards, the same entities are those where walks end.
        people = sorted({a for a, *_ in edges} | {b for *_, b in edges})
        back = {(a, b) for a in people for b in led(edges, graph.names, path, a) if b in starts}
        assert set(graph.con.execute(kg.walk(path, backwards=True)).fetchall()) == back


def test_false_pairs_have_one_end_of_a_label_and_are_no_facts() -> None:
    true = [("a", "x"), ("b", "x"), ("b", "y"), ("c", "z")]
    found = kg.false_pairs(true[:3], true, list("abcxyz"), np.random.default_rng(0))
    assert len(set(found)) == 3
    assert set(found).isdisjoint(true)
    # The last entity of the first label, the first one of the second, and so on.
    assert sum(any(a == head for head, _ in (true[0], true[2])) for a, _ in found) >= 1
    assert all(any(a == head or b == tail for head, tail in true[:3]) for a, b in found)
    # Where all entities make facts there is nothing to draw.
    assert (
        kg.false_pairs([("a", "a")], [("a", "a"), ("a", "b"), ("b", "a")], ["a", "b"], np.random.default_rng(0)) == []
    )


@pytest.mark.parametrize(("above", "equal"), [(0, 0), (0, 3), (7, 5), (30, 2)])
def test_ties_are_expectations_over_orders(above: int, equal: int) -> None:
    # It is as likely at each place among those that tie.
    places = range(above + 1, above + equal + 2)
    ranks = [order.index(0) for order in permutations(range(equal + 1))]
    assert {r: ranks.count(r) for r in set(ranks)} == dict.fromkeys(range(len(places)), len(ranks) // len(places))
    wanted = [np.mean([1 / x for x in places]), np.mean([x == 1 for x in places]), np.mean([x <= 10 for x in places])]
    assert kg.expected(above, equal) == pytest.approx(wanted)


def test_ranks_are_those_of_loops(folder: Path) -> None:
    """Values of all entities, sorted in Python; facts of all splits are left out."""
    splits = generated()
    job = kg.Job(str(folder), 0, "umls", "lives_in", "test")
    every = sorted({x for triples in splits.values() for h, _, t in triples for x in (h, t)})
    known = {(h, t) for triples in splits.values() for h, r, t in triples if r == "/lives/in"}
    before = {(h, t) for h, r, t in splits["train"] if r == "/lives/in"}
    shares = (0.6, 0.25)
    paths = (PATHS[0], PATHS[1])
    with kg.Graph(folder / "kg" / "umls") as graph:
        names = graph.names
        learned = kg.learn(job, graph)
        assert learned is not None
        found = kg.rank(job, graph, kg.Learned(learned.model, paths, shares))

    def value(system: str, side: str, a: str, b: str) -> float:
        if (a, b) in before:
            return 0.0
        if system == "popularity":
            return float(sum(t == b for _, t in before) if side == "tail" else sum(h == a for h, _ in before))
        confidences = [
            share for share, path in zip(shares, paths, strict=True) if b in led(splits["train"], names, path, a)
        ]
        if system == "maximum":
            return max(confidences, default=0.0)
        return round(1 - float(np.prod([1 - x for x in confidences])), 9)

    seen = 0
    for each in found:
        if each.system == "soft inference":
            continue
        head, tail = each.fact
        pairs = [(head, e) if each.side == "tail" else (e, tail) for e in every]
        own = value(each.system, each.side, head, tail)
        others = [value(each.system, each.side, *pair) for pair in pairs if pair not in known]
        assert (each.reciprocal, each.hits_1, each.hits_10) == pytest.approx(
            kg.expected(sum(x > own for x in others), sum(x == own for x in others))
        )
        seen += 1
    assert seen == 2 * 3 * len(splits["test"])


def test_a_run_finds_the_planted_rule_and_ranks_by_it(folder: Path, tmp_path: Path) -> None:
    rows = tmp_path / "rows.json"
    kg.main(
        ["--data", str(folder), "--task", "umls", "--quiet", "--json", str(rows), "--db", str(tmp_path / "f.duckdb")]
    )
    table = {row["system"]: row for row in json.loads(rows.read_text())}
    assert table["soft inference"]["mrr_tails"] > table["popularity"]["mrr_tails"] + 0.2
    assert table["noisy-or"]["facts"] == 6
    with duckdb.connect(str(tmp_path / "f.duckdb")) as con:
        rules = con.execute("select clause from experiment.kg_completion_runs where weight > 0").fetchall()
    assert ("works_at(E1, E2) & lies_in(E2, E3) -> lives_in(E1, E3)",) in rules
