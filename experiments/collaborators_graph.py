"""A graph of articles, editors, links and talk of the form of WikiCollabs, with rules that are known, and its Parquet files.

Mihalkova and Moustafa, "Structure Selection from Streaming Relational Data" (resolwe), section 4.1.1: 280,068 editors contribute to 3,538 articles by editing
them or their discussion pages, write to each other 7,874,985 times, and articles have 45,006 links. `collaborators_subgraphs` cuts the
subgraphs out of it; there `modifies(a, u)`, that u contributed to a, is hidden for the articles of the centre, and known for all others.

Predicates: `articleEdit(a, u)`, `articleTalk(a, u)` (either is a contribution), `userTalk(u, v)` (u wrote to v), `hyperLink(a, b)`,
`similar(a, b)` and `verySimilar(a, b)` (both symmetric, no pair is in both), `category(a, k)`.

Three things make contributions, besides the interests of editors, who mostly stay in the topics that they have:

1. *Twins*. Two fifths of the articles are pairs that are very similar. Who contributes to one contributes to the other with `twins`,
   whichever is the first: verySimilar(a, b) ^ modifies(a, u) => modifies(b, u), a rule of n = 2. Where b is an article of the centre and a
   is none it is one of n = 1: contributesOther(a, u) ^ verySimilar(a, b) => modifies(b, u).
2. *Teams*. A fifth of the editors are in teams of three to seven, whose members all write to each other. A team has articles, and each
   member contributes to each of them with `teams`, and to nothing else: userTalk(u, v) ^ userTalk(v, u) ^ modifies(a, v) => modifies(a, u),
   n = 2. Where v is the centre, all of whose articles are known, it is n = 1: userTalk(u, c) ^ userTalk(c, u) ^ centre(c) => modifies(a, u).
3. *Followers*. Who discusses an article contributes to what it links to and is similar to, with `followers`: articleTalk(b, u) ^
   hyperLink(b, a) ^ similar(b, a) => modifies(a, u), n = 1. The articles that are followed to lead nowhere themselves.

These chances are exact, in the whole graph, since nothing else decides whether such a pair is true: members of teams discuss nothing, nobody
else answers when written to, and where a follower's coin says no, what interests would have made of the pair is taken away.

What correlates and decides nothing: a message in one direction (three quarters between editors who are busy, one quarter between two who
share an article), links (twins have them half of the time, followed articles always, other articles of a topic often), similarity alone,
the category (three topics share one, and one article in seven has another one), and that u *edited* b where to discuss it counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

Ids = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
Graph = Mapping[str, pa.Table]

COLUMNS: Mapping[str, tuple[str, str]] = {
    "articleEdit": ("article", "editor"),
    "articleTalk": ("article", "editor"),
    "userTalk": ("writer", "reader"),
    "hyperLink": ("source", "target"),
    "similar": ("article", "other"),
    "verySimilar": ("article", "other"),
    "category": ("article", "category"),
}
"""The columns of the table of each predicate; constants are numbers from 0."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """How large a graph is: `contributions` at least, `largest` about the editors of the largest article, the others exactly."""

    editors: int = 2_400
    articles: int = 150
    contributions: int = 12_000
    largest: int = 500
    talks: int = 50_000
    links: int = 1_800

    def __post_init__(self) -> None:
        for name, pairs in (
            ("contributions", self.editors * self.articles),
            ("talks", self.editors**2),
            ("links", self.articles**2),
        ):
            if not 0 < 5 * getattr(self, name) <= pairs:
                raise ValueError(
                    f"{name}={getattr(self, name):,}: there are {pairs:,} pairs, of which at most a fifth is drawn"
                )


FULL = Sizes(280_000, 3_500, 1_200_000, 5_000, 8_000_000, 45_000)
"""Those of the paper, whose articles are 3,538 and editors 280,068."""


@dataclass(frozen=True, slots=True)
class Chances:
    """With what probability each of the rules above holds."""

    twins: float = 0.9
    teams: float = 0.85
    followers: float = 0.8

    def __post_init__(self) -> None:
        for name in ("twins", "teams", "followers"):
            if not 0.0 < getattr(self, name) < 1.0:
                raise ValueError(f"{name}={getattr(self, name)}: give a number between 0 and 1")
        if self.teams * (2.0 - self.twins) > 1.0:
            raise ValueError(
                f"teams={self.teams} and twins={self.twins}: a member of a team that comes to each of two twins with {self.teams}, and to one "
                f"given the other with {self.twins}, would come to one of them with {self.teams * (2.0 - self.twins):g}; lower teams, or raise twins"
            )


IN_TEAMS = 0.2
"""The share of editors that are in teams."""
TEAM = (3, 7)
"""The smallest and the largest team, and below how often one draws an article, or a pair of twins, to work on."""
UNITS_OF_TEAM = (3, 9)
AT_HOME = 0.7
"""The share of contributions to articles of a topic that an editor has; the others are to any article."""
PER_TOPIC = 25
"""Articles of a topic."""
ACQUAINTED = 0.25
"""The share of messages outside of teams between two who share an article."""
EDITOR_ZIPF = 0.6
"""The r-th busiest editor has a share in proportion to r^-this of the contributions beyond the first, and of the messages."""
DRAWN_AGAIN = 1.22
"""An editor who is drawn twice for one article contributes once, by which the largest one loses most: so much larger it has to be drawn."""


class Articles(NamedTuple):
    """What is true of articles, each in a unit: a pair of twins, or alone.

    `topic` (a,); `unit` (a,), and `first` and `second` (units,), the article or articles of each, -1 for no second one; `weight`
    (units,) how popular each is, and `unit_topic` (units,); `follow` (k, 2): who discusses the first follows to the second; `followed` (a,).
    """

    topic: Ids
    unit: Ids
    first: Ids
    second: Ids
    weight: Floats
    unit_topic: Ids
    follow: Ids
    followed: Flags

    @property
    def topics(self) -> int:
        """How many topics there are."""
        return int(self.topic.max()) + 1


class Contributions(NamedTuple):
    """Who contributed to what, each pair once, and how."""

    article: Ids
    editor: Ids
    edited: Flags
    discussed: Flags


def generate_graph(sizes: Sizes = Sizes(), chances: Chances = Chances(), seed: int = 0) -> dict[str, pa.Table]:
    """Return a table for each predicate, sorted; the same seed gives the same bytes."""
    random = np.random.default_rng(seed)
    articles = _articles(random, sizes, chances)
    team = _teams(random, sizes.editors)
    made = _contributions(random, sizes, chances, articles, team)
    links, similar = _relations_of_articles(random, sizes, articles)
    twins = np.flatnonzero(articles.second >= 0)
    pairs = np.stack([articles.first[twins], articles.second[twins]], axis=1)
    talks = _talks(random, sizes, team, made)
    # Numbers of articles and editors say nothing.
    editor = random.permutation(sizes.editors)
    article = random.permutation(sizes.articles)
    who = np.stack([article[made.article], editor[made.editor]], axis=1)
    found = {
        "articleEdit": who[made.edited],
        "articleTalk": who[made.discussed],
        "userTalk": editor[talks],
        "hyperLink": article[links],
        "similar": article[_both_ways(similar)],
        "verySimilar": article[_both_ways(pairs)],
        "category": np.stack([article, _categories(random, articles)], axis=1),
    }
    return {name: _table(name, rows) for name, rows in found.items()}


def write_graph(graph: Graph, folder: Path) -> None:
    """Write a Parquet file for each predicate."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, table in graph.items():
        pq.write_table(table, folder / f"{name}.parquet")


def open_graph(folder: Path, con: duckdb.DuckDBPyConnection | None = None) -> duckdb.DuckDBPyConnection:
    """Return a connection with a view of each Parquet file, and `contributes(article, editor)`, who edited or discussed."""
    con = duckdb.connect() if con is None else con
    for name in COLUMNS:
        con.read_parquet(str(folder / f"{name}.parquet")).create_view(name)
    con.execute("CREATE VIEW contributes AS SELECT * FROM articleEdit UNION SELECT * FROM articleTalk")
    return con


def _table(name: str, rows: Ids) -> pa.Table:
    """Return rows of two columns, sorted, as a table; contributions by editor."""
    order = np.lexsort(rows.T if name.startswith("article") else rows.T[::-1])
    columns = rows[order].astype(np.int32).T
    return pa.table(dict(zip(COLUMNS[name], columns, strict=True)))


def _both_ways(pairs: Ids) -> Ids:
    return np.concatenate([pairs, pairs[:, ::-1]])


# ---- articles --------------------------------------------------------------------------------------------------------


def _articles(random: np.random.Generator, sizes: Sizes, chances: Chances) -> Articles:
    """Make units with their topics and popularity, and choose what is followed."""
    twins = sizes.articles // 5
    units = sizes.articles - twins
    unit = np.concatenate([np.arange(units), np.arange(twins)])
    second = np.full(units, -1)
    second[:twins] = np.arange(units, sizes.articles)
    topics = max(2, sizes.articles // PER_TOPIC)
    # Every topic has as many units as another, give or take one.
    unit_topic = random.permutation(np.arange(units) % topics)
    share = np.full(units, 1.0)
    share[:twins] = 1.0 / (2.0 - chances.twins)  # of who comes to a pair of twins, at each of them
    rank = random.permutation(units) + 1
    weight: Floats = rank.astype(np.float64) ** -_exponent(
        rank, share, np.where(second >= 0, 2, 1), DRAWN_AGAIN * sizes.largest / sizes.contributions
    )
    topic = unit_topic[unit]
    # Half of the articles that are alone are followed to, from one or two of their topic that are not.
    followed = np.zeros(sizes.articles, dtype=np.bool_)
    followed[np.arange(twins, units)[random.random(units - twins) < 0.5]] = True
    follow: list[tuple[int, int]] = []
    for a in np.flatnonzero(followed).tolist():
        sources = np.flatnonzero(~followed & (topic == topic[a]))
        count = min(int(random.integers(1, 3)), len(sources))
        follow += [(int(b), a) for b in random.choice(sources, size=count, replace=False)]
    return Articles(
        topic,
        unit,
        np.arange(units),
        second,
        weight,
        unit_topic,
        np.array(follow, dtype=np.int64).reshape(-1, 2),
        followed,
    )


def _exponent(rank: Ids, share: Floats, articles: Ids, largest: float) -> float:
    """Return the exponent of Zipf's law with which the largest article has that share of all contributions."""
    low, high = 0.0, 3.0
    for _ in range(60):
        middle = (low + high) / 2
        size = share * rank**-middle
        low, high = (middle, high) if size.max() / (size * articles).sum() < largest else (low, middle)
    return low


def _categories(random: np.random.Generator, articles: Articles) -> Ids:
    """Return the category of each article: that of its topic, which it shares with two others, or any."""
    count = max(2, articles.topics // 3)
    any_ = random.integers(count, size=len(articles.topic))
    own = articles.topic % count
    found: Ids = np.where(random.random(len(own)) < 6 / 7, own, any_)
    return found


def _relations_of_articles(random: np.random.Generator, sizes: Sizes, articles: Articles) -> tuple[Ids, Ids]:
    """Return links, directed, and similar pairs, each once: no pair but those to follow is linked and similar."""
    n = sizes.articles
    follow, twins = articles.follow, np.flatnonzero(articles.second >= 0)
    pairs = np.stack([articles.first[twins], articles.second[twins]], axis=1)
    ahead = follow[:, 0] * n + follow[:, 1]
    back = follow[:, 1] * n + follow[:, 0]
    twin_keys = np.concatenate([pairs @ [n, 1], pairs @ [1, n]])
    some = _pairs_of_articles(random, articles, 4 * n)
    low, high = some.min(axis=1), some.max(axis=1)
    wanted = np.unique(low * n + high)
    wanted = wanted[~np.isin(wanted, np.concatenate([ahead, back, twin_keys]))]
    others = random.permutation(wanted)[: 2 * n]
    similar = np.stack([others // n, others % n], axis=1)
    # What must not be linked: what is similar without being followed, and the way back of what is.
    never = np.concatenate([similar @ [n, 1], similar @ [1, n], back, twin_keys])
    linked = random.random(len(pairs)) < 0.5
    links = np.concatenate([ahead, pairs[linked] @ [n, 1], pairs[linked] @ [1, n]])
    while len(links) < sizes.links:
        more = _pairs_of_articles(random, articles, sizes.links) @ [n, 1]
        more = np.unique(more[~np.isin(more, np.concatenate([never, links]))])
        links = np.concatenate([links, random.permutation(more)[: sizes.links - len(links)]])
    return np.stack([links // n, links % n], axis=1), np.concatenate([follow, similar])


def _pairs_of_articles(random: np.random.Generator, articles: Articles, count: int) -> Ids:
    """Draw pairs of two articles, seven of ten of one topic, shape (<= count, 2)."""
    n = len(articles.topic)
    order = np.argsort(articles.topic, kind="stable")
    start = np.searchsorted(articles.topic[order], np.arange(articles.topics + 1))
    one = random.integers(n, size=count)
    topic = articles.topic[one]
    near = order[start[topic] + (random.random(count) * (start[topic + 1] - start[topic])).astype(np.int64)]
    other = np.where(random.random(count) < 0.7, near, random.integers(n, size=count))
    found: Ids = np.stack([one, other], axis=1)[one != other]
    return found


# ---- contributions ---------------------------------------------------------------------------------------------------


def _teams(random: np.random.Generator, editors: int) -> Ids:
    """Return the team of each editor, -1 for none; those in teams come first."""
    team = np.full(editors, -1)
    members = int(IN_TEAMS * editors)
    size = random.integers(TEAM[0], TEAM[1] + 1, size=members // TEAM[0] + 1)
    found = np.repeat(np.arange(len(size)), size)[:members]
    # The last one may have been cut short.
    whole = found[-1] if len(found) and np.count_nonzero(found == found[-1]) < TEAM[0] else len(size)
    found = found[found < whole]
    team[: len(found)] = found
    return team


class _Draw:
    """Draws units by their popularity, of a topic or of all."""

    def __init__(self, random: np.random.Generator, articles: Articles) -> None:
        self.random, self.topics = random, articles.topics
        self.order = np.argsort(articles.unit_topic, kind="stable")
        self.sums = np.concatenate([[0.0], np.cumsum(articles.weight[self.order])])
        self.start = np.searchsorted(articles.unit_topic[self.order], np.arange(self.topics + 1))

    def topics_by_weight(self, count: int) -> Ids:
        """Return topics, each drawn by the popularity of its units."""
        x = self.random.random(count) * self.sums[-1]
        found: Ids = np.searchsorted(self.sums[self.start], x, side="right") - 1
        topics: Ids = np.clip(found, 0, self.topics - 1)
        return topics

    def units(self, topic: Ids) -> Ids:
        """Return a unit for each home topic: of that one mostly."""
        home = self.random.random(len(topic)) < AT_HOME
        low = np.where(home, self.sums[self.start[topic]], 0.0)
        high = np.where(home, self.sums[self.start[topic + 1]], self.sums[-1])
        x = low + self.random.random(len(topic)) * (high - low)
        place = np.searchsorted(self.sums, x, side="right") - 1
        first = np.where(home, self.start[topic], 0)
        last = np.where(home, self.start[topic + 1], len(self.order)) - 1
        found: Ids = self.order[np.clip(place, first, last)]
        return found


def _contributions(
    random: np.random.Generator, sizes: Sizes, chances: Chances, articles: Articles, team: Ids
) -> Contributions:
    """Make the contributions of teams, of all others, and of followers."""
    draw = _Draw(random, articles)
    article, editor = _of_teams(random, chances, articles, team, draw)
    alone = np.flatnonzero(team < 0)
    own_article, own_editor = _of_interests(random, chances, articles, alone, draw, sizes.contributions - len(article))
    kind = random.random(len(own_article))
    edited, discussed = kind < 0.9, kind >= 0.75
    # Followers: a coin for each pair of an editor and an article to which something that they discuss leads.
    n = sizes.articles
    talks = discussed & ~articles.followed[own_article]
    by, of = own_editor[talks], own_article[talks]
    order = np.argsort(of, kind="stable")
    by, start = by[order], np.searchsorted(of[order], np.arange(n + 1))
    source, target = articles.follow.T
    count = start[source + 1] - start[source]
    place = np.repeat(start[source] - np.cumsum(count) + count, count) + np.arange(count.sum())
    led = np.unique(by[place] * n + np.repeat(target, count))
    follows = led[random.random(len(led)) < chances.followers]
    kept = ~np.isin(own_editor * n + own_article, led)
    yes, no = (
        np.ones(len(article) + len(follows), dtype=np.bool_),
        np.zeros(len(article) + len(follows), dtype=np.bool_),
    )
    return Contributions(
        np.concatenate([own_article[kept], article, follows % n]),
        np.concatenate([own_editor[kept], editor, follows // n]),
        np.concatenate([edited[kept], yes]),
        np.concatenate([discussed[kept], no]),
    )


def _of_teams(
    random: np.random.Generator, chances: Chances, articles: Articles, team: Ids, draw: _Draw
) -> tuple[Ids, Ids]:
    """Return articles and editors: each member comes to each article of the team with the same chance, to twins jointly."""
    teams = int(team.max()) + 1
    wanted = random.integers(UNITS_OF_TEAM[0], UNITS_OF_TEAM[1] + 1, size=teams)
    home = draw.topics_by_weight(teams)
    owner = np.repeat(np.arange(teams), wanted)
    keys = np.unique(owner * len(articles.weight) + draw.units(home[owner]))
    owner, unit = keys // len(articles.weight), keys % len(articles.weight)
    size = np.bincount(team[team >= 0], minlength=teams)
    first = np.cumsum(size) - size
    count = size[owner]
    member = np.repeat(first[owner] - np.cumsum(count) + count, count) + np.arange(count.sum())
    unit = np.repeat(unit, count)
    # To one: the chance. To twins: to each with the chance, and to the other, given one, with that of twins.
    x = random.random(len(unit))
    both, single = chances.teams * chances.twins, chances.teams * (1.0 - chances.twins)
    paired = articles.second[unit] >= 0
    to_first = np.where(paired, x < both + single, x < chances.teams)
    to_second = paired & ((x < both) | ((x >= both + single) & (x < both + 2 * single)))
    return (
        np.concatenate([articles.first[unit[to_first]], articles.second[unit[to_second]]]),
        np.concatenate([member[to_first], member[to_second]]),
    )


def _of_interests(
    random: np.random.Generator, chances: Chances, articles: Articles, alone: Ids, draw: _Draw, contributions: int
) -> tuple[Ids, Ids]:
    """Return articles and editors, at least so many: each editor comes to one unit, and busy ones to many."""
    units = len(articles.weight)
    # A busy editor has several home topics.
    busy = (np.arange(len(alone)) + 1.0) ** -EDITOR_ZIPF
    homes = 1 + np.floor(busy / busy.sum() * contributions / 12).astype(np.int64)
    start = np.cumsum(homes) - homes
    home = draw.topics_by_weight(int(homes.sum()))

    def come(who: Ids) -> Ids:
        """Return keys of who and where."""
        topic = home[start[who] + (random.random(len(who)) * homes[who]).astype(np.int64)]
        return who * units + draw.units(topic)

    def reached(keys: Ids) -> float:
        """Return how many contributions are to be expected of keys."""
        return float(np.where(articles.second[keys % units] >= 0, 2 / (2 - chances.twins), 1.0).sum())

    keys = come(np.arange(len(alone)))
    while (left := contributions - reached(keys)) > 0:
        who = _by_zipf(random, len(alone), int(1.2 * left) + 50)
        keys = np.unique(np.concatenate([keys, come(who)]))
    who, unit = alone[keys // units], keys % units
    # To both twins so often that one implies the other with the chance of twins, from either side.
    x, both = random.random(len(unit)), chances.twins / (2.0 - chances.twins)
    paired = articles.second[unit] >= 0
    to_first, to_second = ~paired | (x < (1.0 + both) / 2), paired & ((x < both) | (x >= (1.0 + both) / 2))
    return (
        np.concatenate([articles.first[unit[to_first]], articles.second[unit[to_second]]]),
        np.concatenate([who[to_first], who[to_second]]),
    )


def _by_zipf(random: np.random.Generator, count: int, size: int) -> Ids:
    """Draw places from 0 on, the r-th in proportion to r^-EDITOR_ZIPF."""
    found: Ids = (count * random.random(size) ** (1.0 / (1.0 - EDITOR_ZIPF))).astype(np.int64)
    return np.minimum(found, count - 1)


# ---- talk ------------------------------------------------------------------------------------------------------------


def _talks(random: np.random.Generator, sizes: Sizes, team: Ids, made: Contributions) -> Ids:
    """Return who wrote to whom, shape (talks, 2): all of a team to each other, others in one direction."""
    n = sizes.editors
    size = np.bincount(team[team >= 0])
    first = np.cumsum(size) - size
    lane = [np.flatnonzero(size > k) for k in range(TEAM[1])]
    mates = np.concatenate(
        [
            np.stack([first[lane[max(i, j)]] + i, first[lane[max(i, j)]] + j], axis=1)
            for i in range(TEAM[1])
            for j in range(TEAM[1])
            if i != j
        ]
    )
    if len(mates) > sizes.talks:
        raise ValueError(f"teams alone have {len(mates):,} messages, and talks={sizes.talks:,} is less: give more")
    # The r-th busiest contributor outside of teams writes, and is written to, the most, too: they come after the teams.
    order = np.concatenate([np.flatnonzero(team < 0), np.flatnonzero(team >= 0)])
    by_article = np.argsort(made.article, kind="stable")
    start = np.searchsorted(made.article[by_article], np.arange(sizes.articles + 1))
    wanted, keys = sizes.talks - len(mates), np.zeros(0, np.int64)
    while len(keys) < wanted:
        count = int(1.1 * (wanted - len(keys))) + 50
        near = int(ACQUAINTED * count)
        one = random.integers(len(made.article), size=near)
        a = made.article[one]
        other = by_article[start[a] + (random.random(near) * (start[a + 1] - start[a])).astype(np.int64)]
        u = np.concatenate([made.editor[one], order[_by_zipf(random, n, count - near)]])
        v = np.concatenate([made.editor[other], order[_by_zipf(random, n, count - near)]])
        fine = (u != v) & ((team[u] < 0) | (team[u] != team[v]))
        keys = np.unique(np.concatenate([keys, np.minimum(u, v)[fine] * n + np.maximum(u, v)[fine]]))
    if len(keys) > wanted:
        keys = random.permutation(keys)[:wanted]
    pairs = np.stack([keys // n, keys % n], axis=1)
    turned = random.random(len(pairs)) < 0.5
    pairs[turned] = pairs[turned, ::-1]
    return np.concatenate([mates, pairs])
