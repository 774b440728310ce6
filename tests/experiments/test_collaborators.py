"""The generated graph of articles and editors, and its subgraphs, against plain sets: what was planted holds, and nothing is told."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from pathlib import Path
from typing import Any

import collaborators_subgraphs
import duckdb
import pytest
from collaborators_graph import COLUMNS, Chances, Graph, Sizes, generate_graph, open_graph, write_graph
from collaborators_subgraphs import PATTERNS, centres, held, run, sums, window
from harness import Options

TINY = Sizes(editors=400, articles=40, contributions=1_500, largest=90, talks=4_000, links=260)
OTHERS = Chances(twins=0.8, teams=0.7, followers=0.6)
Pairs = set[tuple[int, int]]


def pairs(graph: Graph, name: str) -> Pairs:
    rows = [column.to_pylist() for column in graph[name].columns]
    found = set(zip(*rows, strict=True))
    assert len(found) == graph[name].num_rows
    return found


class Sets:
    """A graph as sets: editors of articles and articles of editors, and the relations of each."""

    def __init__(self, graph: Graph) -> None:
        self.edit, self.talk, self.wrote, self.link, self.near, self.twin, self.category = (
            pairs(graph, x) for x in COLUMNS
        )
        self.contributes = self.edit | self.talk
        self.articles: dict[int, set[int]] = defaultdict(set)
        self.editors: dict[int, set[int]] = defaultdict(set)
        for a, u in self.contributes:
            self.articles[u].add(a)
            self.editors[a].add(u)
        self.mates = {(u, v) for u, v in self.wrote if (v, u) in self.wrote}

    def subgraph(self, centre: int) -> tuple[set[int], set[int]]:
        own = self.articles[centre]
        return own, {u for a in own for u in self.editors[a]} - {centre}


@pytest.fixture(scope="module")
def tiny() -> Graph:
    return generate_graph(TINY, seed=3)


@pytest.fixture
def con(tiny: Graph, tmp_path: Path) -> duckdb.DuckDBPyConnection:
    write_graph(tiny, tmp_path)
    return open_graph(tmp_path)


# ---- the graph -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("chances", "seed"),
    [(Chances(), 0), (OTHERS, 1), (OTHERS, 2)],
)
def test_what_is_planted_holds_with_its_chance_in_the_whole_graph(chances: Chances, seed: int) -> None:
    found = Sets(generate_graph(chances=chances, seed=seed))
    twins = [(b, u) in found.contributes for a, b in found.twin for u in found.editors[a]]
    teams = [(a, u) in found.contributes for u, v in found.mates for a in found.articles[v]]
    led = {(a, u) for b, u in found.talk for x, a in found.link if x == b and (b, a) in found.near}
    followers = [x in found.contributes for x in led]
    for trues, chance in ((twins, chances.twins), (teams, chances.teams), (followers, chances.followers)):
        assert len(trues) > 800
        # Pairs of twins and mates come from both sides, so that a quarter of them says about as much as all.
        assert abs(sum(trues) / len(trues) - chance) < 4 * math.sqrt(chance * (1 - chance) / (len(trues) / 4))


def test_nobody_but_members_of_teams_answers_and_they_discuss_nothing() -> None:
    found = Sets(generate_graph(seed=4))
    team: dict[int, set[int]] = defaultdict(set)
    for u, v in found.mates:
        team[u].add(v)
    assert {len(x) + 1 for x in team.values()} == set(range(3, 8))
    # Teams are cliques, each of its own.
    assert all(team[v] | {v} == team[u] | {u} for u in team for v in team[u])
    assert 0.15 * 2_400 < len(team) <= 0.2 * 2_400
    assert not {u for _, u in found.talk} & team.keys()


def test_articles_are_twins_followed_or_neither() -> None:
    found = Sets(generate_graph(seed=5))
    paired = {a for a, _ in found.twin}
    followed = {a for b, a in found.link if (b, a) in found.near}
    assert len(paired) == len(found.twin) == 2 * (150 // 5)
    assert not paired & followed
    assert not found.twin & found.near
    # What is followed leads nowhere, and similar is symmetric.
    assert not {b for b, a in found.link if (b, a) in found.near} & followed
    assert all((b, a) in found.near for a, b in found.near)
    linked = {(a, b) for a, b in found.twin if (a, b) in found.link}
    assert 0.2 < len(linked) / len(found.twin) < 0.8


@pytest.mark.parametrize("sizes", [Sizes(), TINY, Sizes(4_000, 200, 30_000, 800, 90_000, 2_500)])
def test_sizes_are_those_that_were_asked_for(sizes: Sizes) -> None:
    found = Sets(generate_graph(sizes, seed=6))
    assert sizes.contributions <= len(found.contributes) < 1.5 * sizes.contributions
    assert (len(found.wrote), len(found.link)) == (sizes.talks, sizes.links)
    assert {a for a, _ in found.category} == set(range(sizes.articles))
    assert 0 <= min(found.articles) <= max(found.articles) < sizes.editors
    assert len(found.articles) > 0.99 * sizes.editors
    largest = sorted((len(x) for x in found.editors.values()), reverse=True)
    assert 0.7 * sizes.largest < largest[0] < 1.3 * sizes.largest
    assert largest[0] > 2 * largest[len(largest) // 2]
    assert not any(u == v for u, v in found.wrote | found.link | found.near)
    written = defaultdict(int)
    for _, v in found.wrote:
        written[v] += 1
    order = sorted(written.values(), reverse=True)
    assert order[0] > 8 * order[len(order) // 2]


def test_the_same_seed_gives_the_same_bytes(tmp_path: Path) -> None:
    for name, seed in (("one", 7), ("two", 7), ("other", 8)):
        write_graph(generate_graph(TINY, seed=seed), tmp_path / name)
    for name in COLUMNS:
        one, two, other = ((tmp_path / x / f"{name}.parquet").read_bytes() for x in ("one", "two", "other"))
        assert one == two != other


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Sizes(links=10_000), "links=10,000: there are 22,500 pairs, of which at most a fifth is drawn"),
        (lambda: Sizes(talks=0), "talks=0: "),
        (lambda: Chances(twins=1.0), "twins=1.0: give a number between 0 and 1"),
        (lambda: Chances(twins=0.5, teams=0.8), "would come to one of them with 1.2; lower teams, or raise twins"),
        (lambda: generate_graph(Sizes(talks=100)), r"teams alone have [\d,]+ messages, and talks=100 is less"),
    ],
)
def test_what_cannot_be_made_is_refused(make: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


# ---- subgraphs -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("collaborators", "most", "least"), [(30, 15, 2), (60, 4, 1), (45, 3, 3), (250, 15, 2)])
def test_centres_are_those_of_the_filter(
    tiny: Graph, con: duckdb.DuckDBPyConnection, collaborators: int, most: int, least: int
) -> None:
    found = Sets(tiny)
    wanted = {
        u
        for u, own in found.articles.items()
        if least <= len(own) <= most and len(found.subgraph(u)[1]) >= collaborators
    }
    given: dict[str, int] = {"collaborators": collaborators, "most_articles": most, "least_articles": least}
    chosen = centres(con, **given)
    assert len(chosen) == len(set(chosen)) > 0
    assert set(chosen) == wanted
    assert centres(con, 7, **given) == chosen[:7]
    assert centres(con, seed=1, **given) != chosen


def test_the_paper_s_filter_leaves_some_out(tiny: Graph, con: duckdb.DuckDBPyConnection) -> None:
    alone = {u for u, own in Sets(tiny).articles.items() if len(own) > 1}
    assert set(centres(con)) < alone


@pytest.mark.parametrize(("whole", "related"), [(False, False), (True, False), (False, True)])
def test_a_window_has_the_facts_of_each_subgraph_and_none_of_its_target(
    tiny: Graph, con: duckdb.DuckDBPyConnection, whole: bool, related: bool
) -> None:
    found, chosen = Sets(tiny), centres(con, 6, seed=2)
    facts = {
        name: set(zip(*table.to_pydict().values(), strict=True))
        for name, table in window(con, chosen, whole=whole, related=related).items()
    }
    topic = dict(found.category)
    left_out = 0
    wanted: dict[str, set[tuple[Any, ...]]] = {name: set() for name in facts}
    for c in chosen:
        own, editors = found.subgraph(c)
        others = {(a, u) for u in editors for a in found.articles[u] - own}
        tied = {b for pair in found.link | found.near | found.twin if set(pair) & own for b in pair}
        tied |= {b for b in topic if topic[b] in {topic[a] for a in own}}
        kept = {(a, u) for a, u in others if not related or a in tied}
        left_out += len(others - kept)
        others = kept
        included, members = own | {a for a, _ in others}, editors | {c}

        def near(relation: Pairs) -> Pairs:
            return {(a, b) for a, b in relation if {a, b} <= included and (whole or {a, b} & own)}  # noqa: B023

        wanted["modifies"] |= {(c, a, u, (a, u) in found.contributes) for a in own for u in editors}
        wanted["centre"].add((c, c))
        wanted["contributesOther"] |= {(c, *x) for x in others}
        wanted["articleEdit"] |= {(c, *x) for x in others & found.edit}
        wanted["articleTalk"] |= {(c, *x) for x in others & found.talk}
        wanted["userTalk"] |= {(c, u, v) for u, v in found.wrote if {u, v} <= members}
        for name, relation in (("hyperLink", found.link), ("similar", found.near), ("verySimilar", found.twin)):
            wanted[name] |= {(c, *x) for x in near(relation)}
        wanted["category"] |= {(c, a, k) for a, k in found.category if a in included}
    assert facts == wanted
    assert all(facts.values())
    assert (left_out > 0) == related
    assert con.sql("SHOW TABLES").fetchall() == duckdb.connect().sql("SHOW TABLES").fetchall() + sorted(
        (name,) for name in [*COLUMNS, "contributes"]
    )


def test_centres_without_a_subgraph_of_their_own_are_refused(con: duckdb.DuckDBPyConnection) -> None:
    first, second = centres(con, 2)
    for chosen, message in (
        ([first, second, first], f"centre {first} is given more than once"),
        ([first, TINY.editors], f"centre {TINY.editors} shares no article with anybody"),
    ):
        with pytest.raises(ValueError, match=message):
            window(con, chosen)
    # Nothing is left behind that would be in the way of the next window.
    assert window(con, [first])["centre"].to_pylist() == [{"example": first, "editor": first}]


def test_large_subgraphs_are_cut_by_a_hash_and_keep_who_talks_with_the_centre(
    tiny: Graph, con: duckdb.DuckDBPyConnection
) -> None:
    found, chosen, most = Sets(tiny), centres(con, 8), 25
    cut, again, other = (window(con, chosen, editors=most, negatives=1.5, seed=seed) for seed in (0, 0, 1))
    assert all(cut[name].equals(again[name]) for name in cut)
    assert not cut["modifies"].equals(other["modifies"])
    rows = cut["modifies"].to_pylist()
    for c in chosen:
        own, editors = found.subgraph(c)
        asked = {(x["article"], x["editor"]) for x in rows if x["example"] == c}
        kept = {u for _, u in asked}
        partners = {u for u in editors if (u, c) in found.wrote or (c, u) in found.wrote}
        assert len(kept) <= most < len(editors)
        # All true pairs of those who are kept, of whom each has one, and no more false ones than asked for.
        true = {x for x in asked if x in found.contributes}
        assert true == {(a, u) for a in own for u in kept if (a, u) in found.contributes}
        assert kept == {u for _, u in true}
        assert len(kept) == most
        assert len(asked - true) <= 1.5 * len(true)
        assert partners <= kept if len(partners) <= most else kept <= partners
    everyone = {(x["example"], x["editor"]) for x in rows}
    for name in ("articleEdit", "articleTalk", "contributesOther"):
        assert {(x["example"], x["editor"]) for x in cut[name].to_pylist()} <= everyone


def test_counts_of_patterns_are_those_of_sets(tiny: Graph, con: duckdb.DuckDBPyConnection) -> None:
    found, chosen = Sets(tiny), centres(con, 12)
    counted = {x.pattern.text: x for x in held(window(con, chosen))}
    followers, teams, both = [], [], []
    for c in chosen:
        own, editors = found.subgraph(c)

        def elsewhere(a: int, u: int, own: set[int] = own) -> bool:
            return any(b != a and (a, b) not in found.twin for b in found.articles[u] & own)

        for a in own:
            for u in editors:
                led = any(
                    (b, a) in found.link and (b, a) in found.near and (b, u) in found.talk
                    for b in found.articles[u] - own
                )
                followers += [((a, u) in found.contributes, elsewhere(a, u))] * led
                mates = [v for v in found.editors[a] - {c} if (u, v) in found.mates]
                teams += [((a, u) in found.contributes, elsewhere(a, u))] * len(mates)
                ways = [b for b in own if (b, a) in found.link and (b, u) in found.contributes]
                both += [((a, u) in found.contributes, elsewhere(a, u))] * len(ways)
    for text, seen in (
        ("articleTalk(b, u) ^ hyperLink(b, a) ^ similar(b, a) ^ modifies(a, u)", followers),
        ("userTalk(u, v) ^ userTalk(v, u) ^ modifies(a, v) ^ modifies(a, u)", teams),
        ("hyperLink(b, a) ^ modifies(b, u) ^ modifies(a, u)", both),
    ):
        one = counted[text]
        assert len(seen) > 20
        assert (one.groundings, one.true) == (len(seen), sum(true for true, _ in seen))
        assert (one.groundings_elsewhere, one.true_elsewhere) == (
            sum(there for _, there in seen),
            sum(true and there for true, there in seen),
        )
    assert sums([list(counted.values())] * 2)[1].groundings == 2 * counted[PATTERNS[1].text].groundings


@pytest.mark.parametrize(("chances", "seed"), [(Chances(), 10), (OTHERS, 11)])
def test_planted_patterns_stand_out_in_subgraphs(tmp_path: Path, chances: Chances, seed: int) -> None:
    write_graph(generate_graph(chances=chances, seed=seed), tmp_path)
    con = open_graph(tmp_path)
    counted = held(window(con, centres(con, 150), editors=150))
    planted = [x for x in counted if x.pattern.chance is not None]
    assert {(x.pattern.n, x.pattern.chance) for x in planted} == {
        (1, "twins"), (1, "teams"), (1, "followers"), (2, "twins"), (2, "teams"),
    }  # fmt: skip
    for one in planted:
        assert one.pattern.chance is not None
        chance = getattr(chances, one.pattern.chance)
        # Subgraphs share editors, so that groundings are not independent.
        assert one.groundings_elsewhere > 300
        assert one.elsewhere == pytest.approx(chance, abs=0.05)
        assert one.share > chance - 0.05
    decoys = [x for x in counted if x.pattern.chance is None]
    assert max(x.share for x in decoys) < min(x.share for x in planted) - 0.08
    assert max(x.elsewhere for x in decoys) < min(x.elsewhere for x in planted) - 0.2
    # And they are no noise: most say more of a pair than that it is there.
    everything, *others = decoys
    assert sum(x.elsewhere > 1.3 * everything.elsewhere for x in others) >= 8


def test_the_script_prints_the_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, value in (("CENTRES", 30), ("EDITORS", 40), ("WINDOW", 12)):
        monkeypatch.setattr(collaborators_subgraphs, name, value)
    run(
        tmp_path / "graph",
        Options(Path(), quick=True, quiet=True, json=str(tmp_path / "t.json"), db=tmp_path / "t.duckdb"),
    )
    rows = json.loads((tmp_path / "t.json").read_text(encoding="utf-8"))
    assert [row["pattern"] for row in rows] == [x.text for x in PATTERNS]
    assert [row["planted"] for row in rows if row["planted"]] == [0.9, 0.85, 0.8, 0.9, 0.85]
    assert "verySimilar(b, a) ^ modifies(b, u) ^ modifies(a, u)" in capsys.readouterr().out
    with duckdb.connect(str(tmp_path / "t.duckdb")) as kept:
        ((number,),) = kept.sql("SELECT rows FROM experiment.collaborators_subgraphs_runs").fetchall()
    assert number > 10_000
