"""Ego networks against plain Python on small random graphs, and what is wrong with them."""

from __future__ import annotations

import hashlib
import math
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest

import sqlrl
from sqlrl.errors import InputError

pytestmark = pytest.mark.filterwarnings("ignore::sqlrl.errors.LabelWarning")

Edges = list[tuple[Any, Any]]


def random_graph(seed: int, *, texts: bool) -> tuple[Edges, Edges, list[tuple[Any, str]]]:
    """Return friendships with loops and some in both directions, directed links, and what users like."""
    draw = random.Random(seed)
    users: list[Any] = [f"u{i}" if texts else i for i in range(draw.randint(4, 14))]
    friends = [(x, y) for x in users for y in users if draw.random() < 0.13]
    links = [(x, y) for x in users for y in users if draw.random() < 0.3]
    return friends, links, [(x, game) for x in users for game in ("chess", "go") if draw.random() < 0.5]


def graph(friends: Edges, links: Edges, likes: list[tuple[Any, str]], *, texts: bool) -> duckdb.DuckDBPyConnection:
    con, kind = duckdb.connect(), "varchar" if texts else "integer"
    con.execute(f'create table friends (x {kind}, "y y" {kind})')
    con.execute(f"create table links (x {kind}, y {kind})")
    con.execute(f"create table likes (who {kind}, game varchar)")
    for name, rows in (("friends", friends), ("links", links), ("likes", likes)):
        if rows:
            con.executemany(f"insert into {name} values (?, ?)", rows)
    return con


def expected(
    friends: Edges, centre: Any, *, hops: int, ratio: float | None, cap: int | None, seed: int
) -> dict[Any, bool]:
    """Return the candidates of a centre by breadth-first search."""
    near: dict[Any, set[Any]] = {}
    for x, y in friends:
        if x != y:
            near.setdefault(x, set()).add(y)
            near.setdefault(y, set()).add(x)
    distance, front = {centre: 0}, [centre]
    for step in range(1, hops + 1):
        front = [y for x in front for y in near.get(x, ()) if y not in distance and not distance.update({y: step})]

    def drawn(found: list[Any]) -> list[Any]:
        return sorted(found, key=lambda v: (hashlib.md5(f"{seed}:{centre}:{v}".encode()).hexdigest(), v))

    true = drawn([v for v, d in distance.items() if d == 1])[:cap]
    false = drawn([v for v, d in distance.items() if d > 1])[:cap]
    false = false if ratio is None else false[: math.floor(ratio * len(true))]
    return dict.fromkeys(true, True) | dict.fromkeys(false, False)


OPTIONS = [(2, "equal", None), (3, 1.5, 2), (2, None, None), (4, None, 3), (2, 0.5, None)]


@pytest.mark.parametrize("seed", range(2 * len(OPTIONS)))
def test_ego_networks_are_those_of_plain_python(seed: int) -> None:
    """Each choice of options meets a graph of texts and one of numbers."""
    hops, negatives, cap = OPTIONS[seed % len(OPTIONS)]
    texts = seed % 2 == 0
    friends, links, likes = random_graph(seed, texts=texts)
    ratio = {"equal": 1.0}.get(negatives, negatives)
    ego = sqlrl.EgoNetworks(
        graph(friends, links, likes, texts=texts),
        "friends",
        target="Friend",
        relations={"Knows": "select * from friends;", "Links": ("links", ["x", "y"]), "Likes": ("likes", "who")},
        hops=hops,
        negatives=negatives,
        cap=cap,
        random_state=seed,
        window=3,
    )
    centres = sorted({v for edge in friends if edge[0] != edge[1] for v in edge})
    assert ego.names(0, len(ego)) == [str(c) for c in centres]
    for begin in range(0, len(centres), 3):
        tables = ego.cut(begin, begin + 3).tables
        rows = {name: [tuple(row.values()) for row in data.to_pylist()] for name, data in tables.items()}
        chosen = {
            str(c): expected(friends, c, hops=hops, ratio=ratio, cap=cap, seed=seed) for c in centres[begin : begin + 3]
        }
        assert sorted(rows["Friend"]) == sorted((c, v, t) for c, found in chosen.items() for v, t in found.items())
        for name, edges in (("Knows", friends), ("Links", links)):
            inside = {(c, x, y) for c, found in chosen.items() for x, y in edges if x in found and y in found}
            assert sorted(rows[name]) == sorted(inside)
            # The centre's own edges are hidden, in both directions.
            assert not any(c in (str(x), str(y)) for c, x, y in rows[name])
        assert sorted(rows["Likes"]) == sorted((c, x, g) for c, found in chosen.items() for x, g in likes if x in found)


def test_a_query_can_be_copied_and_changed() -> None:
    friends, links, likes = random_graph(4, texts=True)
    con = graph(friends, links, likes, texts=True)
    ego = sqlrl.EgoNetworks(con, "friends", target="Friend", relations={"Links": "links"}, centres="select 'u1'")
    copy = sqlrl.SubgraphQueries(con, ego.centres, ego.queries())
    assert all(copy.cut(0, 1).tables[name].equals(data) for name, data in ego.cut(0, 1).tables.items())
    for query in ego.queries().values():
        assert query in repr(ego)


@pytest.mark.slow
def test_a_model_is_learned_from_ego_networks() -> None:
    draw = random.Random(1)
    users = range(60)
    team = {u: u % 6 for u in users}
    friends = [(x, y) for x in users for y in users if x < y and draw.random() < (0.5 if team[x] == team[y] else 0.04)]
    con = graph(friends, [], [], texts=False)
    ego = sqlrl.EgoNetworks(con, "friends", target="Friend", relations={"Knows": "friends"}, negatives="equal")
    model = sqlrl.parse_mln("Friend(user)\nKnows(user, user)")
    templates = sqlrl.parse_grammar("Knows(x, y) ^ Friend(x) ^ Friend(y)")
    fit = sqlrl.Resolwe(templates, weights=sqlrl.AdaGrad()).fit(sqlrl.connect(progress=False), model, examples=ego)
    row = next(r for r in fit.formulations_.to_arrow().to_pylist() if r["implied"] is None)
    matched = support = 0
    for centre in range(len(ego) // 3):
        found = expected(friends, centre, hops=2, ratio=1.0, cap=None, seed=0)
        if len(set(found.values())) == 2:
            inside = [(x, y) for x, y in friends if x in found and y in found]
            support, matched = support + len(inside), matched + sum(found[x] and found[y] for x, y in inside)
    assert (row["support"], row["matched"]) == (support, matched)


@pytest.mark.slow
def test_ego_networks_give_what_they_give_when_they_are_loaded(tmp_path: Path) -> None:
    draw = random.Random(2)
    friends = [(x, y) for x in range(40) for y in range(x) if draw.random() < (0.4 if x % 4 == y % 4 else 0.05)]
    stream = sqlrl.EgoNetworks(
        graph(friends, [], [], texts=False), "friends", target="Friend", relations={"Knows": "friends"}, window=9
    )
    whole = stream.cut(0, len(stream)).tables
    db = sqlrl.connect(progress=False)
    db.load("Knows", whole["Knows"], types=["user", "user"], example="example")
    db.load("Friend", whole["Friend"], types=["user"], example="example", truth="truth", target=True)
    db.scope("Friend", whole["Friend"].select(["example", "entity"]))
    truths: dict[str, set[bool]] = {}
    for row in whole["Friend"].to_pylist():
        truths.setdefault(row["example"], set()).add(row["truth"])
    names = stream.names(0, len(stream))
    keep = [name for name in names if len(truths[name]) == 2]
    first = sum(name in keep for name in names[:15])
    model = sqlrl.parse_mln("Friend(user)\nKnows(user, user)")
    templates = sqlrl.parse_grammar("NEAR(x, y) = {Knows} extender 2\nNEAR(x, y) ^ Friend(x) ^ Friend(y)")
    loaded = sqlrl.Resolwe(templates, select=first, threshold=0.1).fit(db, model, examples=keep)
    fit = sqlrl.Resolwe(templates, select=15, threshold=0.1)

    def stop(progress: Any) -> None:
        if progress.window == 2 and not hasattr(progress, "subgraphs"):
            raise KeyboardInterrupt

    with sqlrl.connect(tmp_path / "runs.duckdb", progress=False) as kept:
        with pytest.raises(KeyboardInterrupt):
            fit.fit(kept, model, examples=stream, callback=stop, checkpoint=True)
        fit.fit(kept, model, examples=stream, resume=1)
    assert sum(map(bool, fit.formulations_["kept"])) > 0
    assert fit.formulations_.to_arrow().equals(loaded.formulations_.to_arrow())
    assert str(fit.model_) == str(loaded.model_)
    assert fit.weights_.last_weights_.tobytes() == loaded.weights_.last_weights_.tobytes()


def ego(**changes: Any) -> Callable[[], Any]:
    def make() -> sqlrl.EgoNetworks:
        con = duckdb.connect()
        con.execute("create table friends as select 1 as a, 2 as b")
        con.execute("create table wide as select 1 as a, 2 as b, true as truth")
        return sqlrl.EgoNetworks(con, **{"edges": "friends", "target": "Friend", **changes})

    return make


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (ego(hops=0), "hops=0 must be a whole number, 1 or more"),
        (ego(hops=1), "all candidates would be true"),
        (ego(hops=50), "hops=50 reach most of a graph"),
        (ego(cap=0), "cap=0 must be a whole number"),
        (ego(random_state="a"), "random_state='a' must be a whole number"),
        (ego(negatives="all"), "negatives='all' is neither 'equal' nor a positive number"),
        (ego(negatives=-1), "negatives=-1 is neither"),
        (ego(negatives=float("nan")), "negatives=nan is neither"),
        (ego(edges="nowhere"), "edges fails: .*nowhere"),
        (ego(edges="wide"), "edges needs two columns, both entities, and has 3 columns: a, b, truth"),
        (ego(edges="select from where"), "edges is no table, and not understood as a query|edges fails"),
        (ego(edges=7), "edges must be the name of a table or a query, not 7"),
        (ego(relations={"Friend": "friends"}), "Friend is to be predicted, so it cannot be among the relations"),
        (ego(relations={"Knows": ("friends", ["c"])}), r"Knows has no column 'c' of entities \(columns: a, b\)"),
        (ego(relations={"Knows": ("friends", [])}), "Knows names no column of entities"),
        (ego(relations={"Knows": ("friends", ["a"], 3)}), "give a table or query, or a pair"),
        (ego(relations={"Wide": ("wide", ["a"])}), "Wide has a column truth"),
        (ego(relations=["friends"]), "relations is a mapping of predicates"),
    ],
)
def test_what_is_wrong_is_said(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        make()
