"""Subgraphs of the graph of `collaborators_graph` around its editors, many at once, and how often its rules hold in them.

    python experiments/collaborators_subgraphs.py [--graph FOLDER] [--quick] [--seed N] [--db FILE] [--json FILE] [--data DIR]

prints, for a graph of full size, what was planted and what correlates with it; `--graph` keeps its Parquet files.

Mihalkova and Moustafa, "Structure Selection from Streaming Relational Data" (resolwe), section 4.1.1. The subgraph of a centre has the articles to which it
contributes, all other editors who contribute to one of these, the other articles to which those contribute, and what relates them. To be
predicted is which of the editors contributes to which of the articles of the centre; evidence are the contributions of these editors to all
other articles. What the centre itself contributes to is known: it is what makes the subgraph.

Everybody in a subgraph contributes to one of its articles, so pairs are true more often there than by chance: of an editor who would not be
there without the pair, always. `Held.elsewhere` is therefore over editors who contribute to another of the centre's articles, too, that is no
twin of the pair's, and who would be there either way: among these a rule holds with the chance that the graph was made with.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb
import numpy as np
import pyarrow as pa
from collaborators_graph import FULL, Chances, Sizes, generate_graph, open_graph, write_graph
from harness import Options, Row, peak_memory_mb, publish, read_options

from sqlrl.report import track

Facts = dict[str, pa.Table]

TARGET = "modifies"
"""The predicate to predict: article and editor, with the column `label`."""


def centres(
    con: duckdb.DuckDBPyConnection,
    count: int | None = None,
    *,
    seed: int = 0,
    collaborators: int = 30,
    most_articles: int = 15,
    least_articles: int = 2,
) -> list[int]:
    """Return editors who are a centre, by default all, else so many, drawn by a hash of the seed, in the order drawn.

    The paper asks for at least 30 collaborators and at most 15 articles, and for edits on 30 days, which are not in the graph. That a centre
    has two articles is asked for here: of the editors of a single one all contribute to it, so there is nothing to predict.
    """
    # An article with enough editors decides alone; the others are small, so that counting distinct editors costs little.
    rows = con.execute(
        """
        WITH size AS (SELECT article, count(*) AS editors FROM contributes GROUP BY article),
        own AS (
            SELECT editor, max(editors) AS largest FROM contributes JOIN size USING (article)
            GROUP BY editor HAVING count(*) BETWEEN $least AND $most
        ),
        counted AS (
            SELECT o.editor, count(DISTINCT c.editor) AS others
            FROM own AS o JOIN contributes AS a ON a.editor = o.editor JOIN contributes AS c ON c.article = a.article
            WHERE o.largest <= $wanted AND c.editor <> o.editor GROUP BY o.editor
        )
        SELECT editor FROM own LEFT JOIN counted USING (editor)
        WHERE largest > $wanted OR others >= $wanted
        ORDER BY hash(editor, $seed::BIGINT), editor LIMIT $count
        """,
        {"least": least_articles, "most": most_articles, "wanted": collaborators, "seed": seed, "count": count},
    ).fetchall()
    return [row[0] for row in rows]


# ---- windows ---------------------------------------------------------------------------------------------------------

_MEMBERS = (
    # The articles of each centre.
    """
    CREATE TEMP TABLE own AS
    SELECT w.example, c.article FROM window_centre AS w JOIN contributes AS c ON c.editor = w.example
    """,
    # The editors of each subgraph, without the centre: first those with whom it talks, then by a hash.
    """
    CREATE TEMP TABLE kept AS
    WITH found AS (
        SELECT DISTINCT o.example, c.editor FROM own AS o JOIN contributes AS c USING (article) WHERE c.editor <> o.example
    ),
    partner AS (
        SELECT w.example, t.reader AS editor FROM window_centre AS w JOIN userTalk AS t ON t.writer = w.example
        UNION SELECT w.example, t.writer FROM window_centre AS w JOIN userTalk AS t ON t.reader = w.example
    )
    SELECT example, editor FROM found
    QUALIFY row_number() OVER (
        PARTITION BY example
        ORDER BY (example, editor) NOT IN (FROM partner), hash(editor, example, $seed::BIGINT), editor
    ) <= $editors
    """,
    """
    CREATE TEMP TABLE label AS
    SELECT o.example, o.article, k.editor, c.editor IS NOT NULL AS label
    FROM own AS o JOIN kept AS k USING (example) LEFT JOIN contributes AS c USING (article, editor)
    """,
    # Articles that something relates to one of the centre's.
    """
    CREATE TEMP TABLE related AS
    SELECT example, target AS article FROM own JOIN hyperLink ON source = own.article
    UNION SELECT example, source FROM own JOIN hyperLink ON target = own.article
    UNION SELECT example, other FROM own JOIN "similar" AS s ON s.article = own.article
    UNION SELECT example, other FROM own JOIN verySimilar AS s ON s.article = own.article
    UNION SELECT example, k.article FROM own JOIN category AS o USING (article) JOIN category AS k USING (category)
    """,
    # Articles of a subgraph: those of the centre, and the others of its editors.
    """
    CREATE TEMP TABLE included AS
    FROM own UNION
    SELECT k.example, c.article FROM kept AS k JOIN contributes AS c USING (editor)
    WHERE NOT $related OR (k.example, c.article) IN (FROM related)
    """,
)

_CONTRIBUTION = """
    SELECT k.example, c.article, k.editor FROM kept AS k JOIN {} AS c USING (editor)
    JOIN included AS i ON i.example = k.example AND i.article = c.article
    ANTI JOIN own AS o ON o.example = k.example AND o.article = c.article ORDER BY ALL
"""
_RELATION = """
    SELECT s.example, r.{1}, r.{2} FROM included AS s JOIN {0} AS r ON s.article = r.{1}
    JOIN included AS t ON t.example = s.example AND t.article = r.{2}
    WHERE $whole OR (s.example, r.{1}) IN (FROM own) OR (s.example, r.{2}) IN (FROM own) ORDER BY ALL
"""
_FACTS: Mapping[str, str] = {
    TARGET: """
        SELECT example, article, editor, label FROM label
        QUALIFY label OR $negatives IS NULL OR row_number() OVER (
            PARTITION BY example, label ORDER BY hash(article, editor, example, $seed::BIGINT), article, editor
        ) <= $negatives * count(*) FILTER (label) OVER (PARTITION BY example)
        ORDER BY ALL
    """,
    "centre": "SELECT example, example AS editor FROM window_centre ORDER BY ALL",
    "articleEdit": _CONTRIBUTION.format("articleEdit"),
    "articleTalk": _CONTRIBUTION.format("articleTalk"),
    "contributesOther": _CONTRIBUTION.format("contributes"),
    "userTalk": """
        WITH member AS (FROM kept UNION ALL SELECT example, example FROM window_centre)
        SELECT w.example, t.writer, t.reader FROM member AS w JOIN userTalk AS t ON t.writer = w.editor
        JOIN member AS r ON r.example = w.example AND r.editor = t.reader ORDER BY ALL
    """,
    "hyperLink": _RELATION.format("hyperLink", "source", "target"),
    "similar": _RELATION.format('"similar"', "article", "other"),
    "verySimilar": _RELATION.format("verySimilar", "article", "other"),
    "category": "SELECT example, article, category FROM included JOIN category USING (article) ORDER BY ALL",
}
"""The rows of each predicate."""


def window(
    con: duckdb.DuckDBPyConnection,
    chosen: Sequence[int],
    *,
    editors: int | None = None,
    negatives: float | None = None,
    whole: bool = False,
    related: bool = False,
    seed: int = 0,
) -> Facts:
    """Return the facts of the subgraphs of some centres by predicate, each with the column `example`, which is the centre.

    Parameters
    ----------
    con : duckdb.DuckDBPyConnection
        With the views of `open_graph`. Temporary tables are made and dropped.
    chosen : sequence of int
        The centres, each once.
    editors : int, optional
        The most editors of a subgraph, without its centre: those with whom the centre talks, then others drawn by a hash.
    negatives : float, optional
        For each true pair of a subgraph at most so many false ones, drawn by a hash; by default all.
    whole : bool
        Links and similar pairs of any two articles of a subgraph; by default one of the two is the centre's, as in all rules that say
        something of a pair to predict without a detour over a third article.
    related : bool
        Contributions to, and categories of, those other articles alone that a link, similarity or a shared category relates to one of the
        centre's. By default all, most of which say nothing of a pair to predict, for the same reason.
    seed : int
        Of what is drawn. The hash is DuckDB's: another version of it may draw others.

    Returns
    -------
    dict of str to pyarrow.Table
        `modifies` has the pairs to predict with their `label`. `articleEdit`, `articleTalk` and `contributesOther`, either of the two, are of
        articles that are not the centre's; `centre` says who the centre is, `userTalk` has it among the editors. Rows are sorted.
    """
    if len(set(chosen)) < len(chosen):
        raise ValueError(f"centre {next(c for c in chosen if chosen.count(c) > 1)} is given more than once")
    given = {
        "editors": 2**62 if editors is None else editors,
        "negatives": negatives,
        "whole": whole,
        "related": related,
        "seed": seed,
    }
    with _temporary(con, pa.table({"example": pa.array(chosen, pa.int32())})):
        for statement in _MEMBERS:
            con.execute(statement, _used(statement, given))
        lonely = con.sql(
            "SELECT example FROM window_centre ANTI JOIN label USING (example) ORDER BY example"
        ).fetchall()
        if lonely:
            raise ValueError(f"centre {lonely[0][0]} shares no article with anybody: there is nothing to predict")
        return {name: con.sql(query, params=_used(query, given)).to_arrow_table() for name, query in _FACTS.items()}


def _used(statement: str, given: Mapping[str, object]) -> dict[str, object]:
    """Return the parameters that a statement has."""
    return {name: value for name, value in given.items() if f"${name}" in statement}


@contextmanager
def _temporary(con: duckdb.DuckDBPyConnection, found: pa.Table) -> Iterator[None]:
    """Drop the tables of a window in the end."""
    con.register("window_centre", found)
    try:
        yield
    finally:
        for name in ("own", "kept", "label", "related", "included"):
            con.execute(f"DROP TABLE IF EXISTS temp.{name}")
        con.unregister("window_centre")


# ---- do the rules hold? ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Pattern:
    """A conjunction as resolwe weighs it: how often its last literal holds where the others do.

    `chance` names the field of `Chances` that it was planted with, None of a decoy. `selected` is SQL for its groundings, distinct: `example`,
    `article`, `editor` of the last literal, and what else tells them apart; `g` is the other literal of the target, if it has one.
    """

    text: str
    n: int
    chance: str | None
    selected: str

    @property
    def planted(self) -> bool:
        """Whether the graph was made with it."""
        return self.chance is not None


_SAME_ARTICLE = (
    "SELECT DISTINCT g.example, g.article, {} AS editor, g.editor AS other FROM {} JOIN modifies AS g"
    " ON g.example = t.example AND g.editor = {} AND g.label"
)
_SAME_EDITOR = (
    "SELECT DISTINCT g.example, {1} AS article, g.editor, g.article AS other FROM {0} AS r"
    " JOIN modifies AS g ON g.example = r.example AND g.article = r.{2} AND g.label"
)
_MUTUAL = "userTalk AS t JOIN userTalk AS s ON s.example = t.example AND s.writer = t.reader AND s.reader = t.writer"
_BY_ANOTHER = (
    "SELECT DISTINCT c.example, r.{2} AS article, c.editor FROM {0} AS c JOIN {1} AS r"
    " ON r.example = c.example AND r.{3} = c.article"
)
_WITH_CENTRE = (
    "SELECT DISTINCT t.example, m.article, t.{0} AS editor FROM {1} JOIN modifies AS m"
    " ON m.example = t.example AND m.editor = t.{0} WHERE t.{2} = t.example"
)

PATTERNS = (
    Pattern("modifies(a, u)", 1, None, "SELECT example, article, editor FROM modifies"),
    Pattern(
        "contributesOther(b, u) ^ verySimilar(b, a) ^ modifies(a, u)",
        1,
        "twins",
        _BY_ANOTHER.format("contributesOther", "verySimilar", "other", "article"),
    ),
    Pattern(
        "userTalk(u, c) ^ userTalk(c, u) ^ centre(c) ^ modifies(a, u)",
        1,
        "teams",
        _WITH_CENTRE.format("writer", _MUTUAL, "reader"),
    ),
    Pattern(
        "articleTalk(b, u) ^ hyperLink(b, a) ^ similar(b, a) ^ modifies(a, u)",
        1,
        "followers",
        _BY_ANOTHER.format("articleTalk", "hyperLink", "target", "source")
        + ' JOIN "similar" AS s ON s.example = r.example AND s.article = r.source AND s.other = r.target',
    ),
    Pattern(
        "verySimilar(b, a) ^ modifies(b, u) ^ modifies(a, u)",
        2,
        "twins",
        _SAME_EDITOR.format("verySimilar", "r.other", "article"),
    ),
    Pattern(
        "userTalk(u, v) ^ userTalk(v, u) ^ modifies(a, v) ^ modifies(a, u)",
        2,
        "teams",
        _SAME_ARTICLE.format("t.writer", _MUTUAL, "t.reader"),
    ),
    Pattern(
        "articleEdit(b, u) ^ hyperLink(b, a) ^ similar(b, a) ^ modifies(a, u)",
        1,
        None,
        _BY_ANOTHER.format("articleEdit", "hyperLink", "target", "source")
        + ' JOIN "similar" AS s ON s.example = r.example AND s.article = r.source AND s.other = r.target',
    ),
    Pattern(
        "articleTalk(b, u) ^ hyperLink(b, a) ^ modifies(a, u)",
        1,
        None,
        _BY_ANOTHER.format("articleTalk", "hyperLink", "target", "source"),
    ),
    Pattern(
        "articleTalk(b, u) ^ similar(b, a) ^ modifies(a, u)",
        1,
        None,
        _BY_ANOTHER.format("articleTalk", '"similar"', "other", "article"),
    ),
    Pattern(
        "contributesOther(b, u) ^ hyperLink(b, a) ^ modifies(a, u)",
        1,
        None,
        _BY_ANOTHER.format("contributesOther", "hyperLink", "target", "source"),
    ),
    Pattern(
        "contributesOther(b, u) ^ category(b, k) ^ category(a, k) ^ modifies(a, u)",
        1,
        None,
        "SELECT DISTINCT c.example, k.article, c.editor FROM contributesOther AS c JOIN category AS r"
        " ON r.example = c.example AND r.article = c.article JOIN category AS k"
        " ON k.example = r.example AND k.category = r.category AND k.article <> r.article",
    ),
    Pattern(
        "userTalk(u, c) ^ centre(c) ^ modifies(a, u)",
        1,
        None,
        _WITH_CENTRE.format("writer", "userTalk AS t", "reader"),
    ),
    Pattern(
        "userTalk(c, u) ^ centre(c) ^ modifies(a, u)",
        1,
        None,
        _WITH_CENTRE.format("reader", "userTalk AS t", "writer"),
    ),
    Pattern(
        "userTalk(u, v) ^ modifies(a, v) ^ modifies(a, u)",
        2,
        None,
        _SAME_ARTICLE.format("t.writer", "userTalk AS t", "t.reader"),
    ),
    Pattern(
        "userTalk(u, v) ^ modifies(a, u) ^ modifies(a, v)",
        2,
        None,
        _SAME_ARTICLE.format("t.reader", "userTalk AS t", "t.writer"),
    ),
    Pattern(
        "hyperLink(b, a) ^ modifies(b, u) ^ modifies(a, u)",
        2,
        None,
        _SAME_EDITOR.format("hyperLink", "r.target", "source"),
    ),
    Pattern(
        "similar(b, a) ^ modifies(b, u) ^ modifies(a, u)",
        2,
        None,
        _SAME_EDITOR.format('"similar"', "r.other", "article"),
    ),
    Pattern(
        "category(a, k) ^ category(b, k) ^ modifies(b, u) ^ modifies(a, u)",
        2,
        None,
        "SELECT DISTINCT g.example, k.article, g.editor, g.article AS other FROM category AS r JOIN modifies AS g"
        " ON g.example = r.example AND g.article = r.article AND g.label JOIN category AS k"
        " ON k.example = r.example AND k.category = r.category AND k.article <> r.article",
    ),
)
"""All pairs, what is planted, and what correlates with it."""


@dataclass(frozen=True, slots=True)
class Held:
    """How often a pattern held: groundings and true ones, of all pairs and of those that say nothing of who is there."""

    pattern: Pattern
    groundings: int
    true: int
    groundings_elsewhere: int
    true_elsewhere: int

    @property
    def share(self) -> float:
        """The share of its groundings that are true."""
        return self.true / self.groundings if self.groundings else float("nan")

    @property
    def elsewhere(self) -> float:
        """The same of editors who contribute to another article of the centre, too."""
        return self.true_elsewhere / self.groundings_elsewhere if self.groundings_elsewhere else float("nan")


def held(facts: Facts, patterns: Sequence[Pattern] = PATTERNS) -> list[Held]:
    """Count how often patterns hold in the subgraphs of a window."""
    con = duckdb.connect()
    for name, table in facts.items():
        con.register(f"{name}_rows", table)
        con.execute(f'CREATE TABLE "{name}" AS FROM {name}_rows')
    # How many articles of the centre an editor contributes to besides this one and its twin.
    con.execute(
        """
        CREATE TABLE asked AS
        WITH twin AS (
            SELECT v.example, v.article, m.editor, count(*) FILTER (m.label) AS twins
            FROM verySimilar AS v JOIN modifies AS m ON m.example = v.example AND m.article = v.other GROUP BY ALL
        )
        SELECT example, article, editor, label,
            sum(label::INTEGER) OVER (PARTITION BY example, editor) - label::INTEGER - coalesce(twins, 0) > 0 AS elsewhere
        FROM modifies LEFT JOIN twin USING (example, article, editor)
        """
    )
    found = []
    for pattern in patterns:
        row = con.execute(
            "SELECT count(*), count(*) FILTER (label), count(*) FILTER (elsewhere), count(*) FILTER (elsewhere AND label)"
            f" FROM ({pattern.selected}) JOIN asked USING (example, article, editor)"
        ).fetchone()
        assert row is not None
        found.append(Held(pattern, *row))
    return found


def sums(counted: Sequence[Sequence[Held]]) -> list[Held]:
    """Add up what several windows counted of the same patterns."""
    totals = np.array(
        [[[x.groundings, x.true, x.groundings_elsewhere, x.true_elsewhere] for x in one] for one in counted]
    )
    return [Held(x.pattern, *row) for x, row in zip(counted[0], totals.sum(axis=0).tolist(), strict=True)]


# ---- the table -------------------------------------------------------------------------------------------------------

CENTRES, EDITORS, WINDOW = 300, 200, 50
"""Subgraphs that are counted, editors of each, and subgraphs in a window."""


def table(counted: Sequence[Held], chances: Chances) -> list[Row]:
    """Return a row for each pattern, with the chance that it was planted with."""
    return [
        {
            "pattern": x.pattern.text,
            "n": x.pattern.n,
            "planted": None if x.pattern.chance is None else getattr(chances, x.pattern.chance),
            "elsewhere": round(x.elsewhere, 3) if x.groundings_elsewhere else None,
            "share": round(x.share, 3) if x.groundings else None,
            "groundings_elsewhere": x.groundings_elsewhere,
            "groundings": x.groundings,
        }
        for x in counted
    ]


def run(folder: Path, options: Options) -> None:
    """Make a graph in a folder, count in its subgraphs, and print the table and what it took."""
    sizes, chances, console = Sizes() if options.quick else FULL, Chances(), options.console()
    times = {"generation": -time.perf_counter()}
    with console.progress("graph"):
        write_graph(generate_graph(sizes, chances, options.seed), folder)
    times["generation"] += time.perf_counter()
    memory = peak_memory_mb()
    con = open_graph(folder)
    chosen = centres(con, CENTRES, seed=options.seed)
    times["windows"], rows, counted = 0.0, 0, []
    parts = [chosen[k : k + WINDOW] for k in range(0, len(chosen), WINDOW)]
    for part in track(console, parts, "windows"):
        start = time.perf_counter()
        facts = window(con, part, editors=EDITORS, seed=options.seed)
        times["windows"] += time.perf_counter() - start
        rows += sum(x.num_rows for x in facts.values())
        counted.append(held(facts))
    parameters = {**asdict(sizes), **asdict(chances), "centres": len(chosen), "editors_of_a_subgraph": EDITORS}
    measured = {
        **{f"seconds_{name}": round(x, 1) for name, x in times.items()},
        "generation_mb": round(memory),
        "rows": rows,
    }
    title = "How often patterns hold in subgraphs" + (" (quick: a small graph)" if options.quick else "")
    publish(
        "collaborators_subgraphs",
        table(sums(counted), chances),
        options,
        title=title,
        parameters=parameters,
        details=[measured],
    )
    console.message(", ".join(f"{name} {value:,}" for name, value in measured.items()))


def main() -> None:
    """Make a graph, and count how often what was planted holds in its subgraphs."""
    options = read_options(
        "How often planted rules and what correlates with them hold in subgraphs of a generated graph.",
        files={"graph": "folder that keeps the graph's Parquet files"},
    )
    if "graph" in options.files:
        run(options.files["graph"], options)
    else:
        with TemporaryDirectory() as folder:
            run(Path(folder), options)


if __name__ == "__main__":
    main()
