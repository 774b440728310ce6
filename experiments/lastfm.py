"""Who is a friend of the centre of an ego network on Last.fm: the data, window by window, and baselines that see what a model sees.

The set-up is that of the Delicious experiment of the paper, section 4.1.2, on the friendships, plays and taggings of HetRec 2011. Each user is
the centre of an example. Its candidates are its friends and, as false ones, as many friends of friends, chosen by a hash of the seed; a centre
that has fewer of those is left out. Evidence relates candidates to the centre and to each other; of the centre's own friendships there is
nothing in either direction. Dates are months (98 % of the taggings are of the first of one).

    python experiments/lastfm.py [--quick] [--seed N] [--db FILE] [--json FILE] [--data DIR]

prints how many rows each relation has, and how well baselines rank the candidates: MAP and AUC with their standard errors over centres.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa
from harness import Row, publish, read_options

from sqlrl.errors import InputError
from sqlrl.evaluate import RankingScores, score_rankings
from sqlrl.report import track
from sqlrl.wording import counted

FIRST_YEAR = 2005
"""Taggings of earlier years have a wrong date: Last.fm has had tags since August 2005."""

THRESHOLDS = (1, 3, 10)
"""How many artists or tags two users have in common at least, to be alike: 80 % of the pairs of candidates have one artist."""

TARGET = "cFriends"

TYPES: dict[str, tuple[str, ...]] = {
    TARGET: ("user",),
    **dict.fromkeys(("taggedBefore", "taggedAfter", "taggedSame", "listens"), ("artist", "user")),
    "usedTag": ("tag", "user"),
    "friends": ("user", "user"),
    **{f"{name}_{k}": ("user", "user") for name in ("sameArtist", "sameTag") for k in THRESHOLDS},
}
"""The predicates, with the types of their arguments in the order of the windows' columns; a last column `example` has the centre."""

WINDOW = 100
"""Centres that are looked at together."""

QUICK = 100
"""Centres of a quick run, evenly spaced."""

BASELINES = {
    "shared artists": ("listens", None),
    "shared artists, 1/log degree": ("listens", "artist"),
    "shared tags": ("usedTag", None),
    "shared tags, 1/log degree": ("usedTag", "tag"),
    "friends among candidates": ("friends", None),
}
"""What candidates are ranked by: how many facts of a relation they have, each counting 1 or 1 / log(users of the artist or tag)."""

COLUMNS = ("what", "name", "rows", "rows_a_centre", "map", "map_error", "auc", "auc_error")

BASE = """
CREATE SCHEMA lastfm;
CREATE TABLE lastfm.friend AS -- in both directions, whatever the file has
    SELECT user1 AS a, user2 AS b FROM friend_file WHERE user1 <> user2
    UNION SELECT user2, user1 FROM friend_file WHERE user1 <> user2;
CREATE TABLE lastfm.tagging AS
    SELECT DISTINCT "user", artist, tag, 12 * year + month - 1 AS month FROM tagged_file WHERE year >= $first;
CREATE TABLE lastfm.first_tagging AS SELECT "user", artist, min(month) AS month FROM lastfm.tagging GROUP BY ALL;
CREATE TABLE lastfm.listens AS SELECT DISTINCT "user", artist FROM listened_file;
CREATE TABLE lastfm.used_tag AS SELECT DISTINCT "user", tag FROM lastfm.tagging;
CREATE TABLE lastfm.degree AS
    SELECT 'artist' AS kind, artist AS id, count(*) AS users FROM lastfm.listens GROUP BY ALL
    UNION ALL SELECT 'tag', tag, count(*) FROM lastfm.used_tag GROUP BY ALL;
CREATE TABLE lastfm.shared AS -- how many artists or tags two users have in common
    SELECT 'sameArtist' AS kind, x."user" AS a, y."user" AS b, count(*) AS number
    FROM lastfm.listens AS x JOIN lastfm.listens AS y ON x.artist = y.artist AND x."user" <> y."user" GROUP BY ALL
    UNION ALL SELECT 'sameTag', x."user", y."user", count(*)
    FROM lastfm.used_tag AS x JOIN lastfm.used_tag AS y ON x.tag = y.tag AND x."user" <> y."user" GROUP BY ALL;
CREATE TABLE lastfm.negative AS -- friends of friends, in the order in which they are taken
    SELECT centre, "user", row_number() OVER (
        PARTITION BY centre ORDER BY md5(concat_ws(':', $seed, centre, "user")), "user"
    ) AS place
    FROM (
        SELECT DISTINCT f.a AS centre, g.b AS "user" FROM lastfm.friend AS f JOIN lastfm.friend AS g ON f.b = g.a AND g.b <> f.a
    ) AS reached ANTI JOIN lastfm.friend AS own ON own.a = centre AND own.b = "user";
CREATE TABLE lastfm.centre AS
    SELECT a AS centre, count(*) AS positives, (SELECT count(*) FROM lastfm.negative WHERE centre = a) AS negatives
    FROM lastfm.friend GROUP BY ALL;
CREATE TABLE lastfm.candidate AS
    SELECT a AS centre, b AS "user", true AS truth FROM lastfm.friend JOIN lastfm.centre ON centre = a WHERE negatives >= positives
    UNION ALL SELECT centre, "user", false FROM lastfm.negative JOIN lastfm.centre USING (centre)
    WHERE negatives >= positives AND place <= positives;
"""
"""The tables of the schema `lastfm`. DuckDB's own `hash` may change with its version, md5 does not."""

CHOSEN = """
CREATE OR REPLACE TEMP TABLE chosen AS
SELECT centre AS example, "user", truth FROM lastfm.candidate WHERE centre IN (SELECT unnest($centres))
"""

ATOMS = 'SELECT "user", example, truth FROM chosen ORDER BY example, "user"'

TAGGED = """
SELECT his.artist, "user", example FROM chosen JOIN lastfm.first_tagging AS his USING ("user")
JOIN lastfm.first_tagging AS own ON own."user" = example AND own.artist = his.artist
WHERE sign(his.month - own.month) = $sign ORDER BY example, "user", his.artist
"""

LISTENS = """
SELECT artist, "user", example FROM chosen JOIN lastfm.listens USING ("user")
WHERE NOT $shared OR (example, artist) IN (SELECT ("user", artist) FROM lastfm.listens)
ORDER BY example, "user", artist
"""

USED_TAG = """
SELECT tag, "user", example FROM chosen JOIN lastfm.used_tag USING ("user")
WHERE NOT $shared OR (example, tag) IN (SELECT ("user", tag) FROM lastfm.used_tag)
ORDER BY example, "user", tag
"""

FRIENDS = """
SELECT v."user" AS "user", w."user" AS other, v.example
FROM chosen AS v JOIN chosen AS w ON v.example = w.example JOIN lastfm.friend ON a = v."user" AND b = w."user"
-- The centre is no candidate of its own; that nothing of its friendships is left does not rest on that alone.
WHERE a <> v.example AND b <> v.example
ORDER BY v.example, v."user", w."user"
"""

ALIKE = """
SELECT v."user" AS "user", w."user" AS other, v.example
FROM chosen AS v JOIN chosen AS w ON v.example = w.example JOIN lastfm.shared ON a = v."user" AND b = w."user"
WHERE kind = $kind AND number >= $least
ORDER BY v.example, v."user", w."user"
"""

EVIDENCE: dict[str, tuple[str, dict[str, object]]] = {
    "taggedBefore": (TAGGED, {"sign": -1}),
    "taggedAfter": (TAGGED, {"sign": 1}),
    "taggedSame": (TAGGED, {"sign": 0}),
    "listens": (LISTENS, {}),
    "usedTag": (USED_TAG, {}),
    "friends": (FRIENDS, {}),
    **{f"{kind}_{k}": (ALIKE, {"kind": kind, "least": k}) for kind in ("sameArtist", "sameTag") for k in THRESHOLDS},
}
"""The query of each evidence relation, and its parameters."""

UNSHARED = {"listens": "listens, all artists", "usedTag": "usedTag, all tags"}
"""What the two relations are called that need not be about what the centre has, too, if they are not."""

COUNTS = """
SELECT place, users, count(facts."user") AS number
FROM atoms LEFT JOIN facts USING ("user", example) LEFT JOIN lastfm.degree ON kind = $kind AND id = constant
GROUP BY ALL ORDER BY place, users
"""
"""How many facts each atom has, by the users of what they are about (NULL where that has no degree, or there is no fact)."""


# ---- the data ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Census:
    """What became examples, and what did not.

    Parameters
    ----------
    centres : int
        Users that are centres of an example.
    without_negatives : int
        Users whose friends have no other friends.
    too_few_negatives : int
        Users with fewer friends of friends than friends.
    taggings : int
        Those of possible years.
    dropped : int
        Taggings of years before `FIRST_YEAR`.
    """

    centres: int
    without_negatives: int
    too_few_negatives: int
    taggings: int
    dropped: int

    def __str__(self) -> str:
        return (
            f"{counted(self.centres, 'centre')} ({self.too_few_negatives:,} with too few and {self.without_negatives:,} with no friends of friends "
            f"left out; {counted(self.dropped, 'tagging')} before {FIRST_YEAR} dropped, {self.taggings:,} kept)"
        )


def connect(folder: str | Path, seed: int = 0) -> duckdb.DuckDBPyConnection:
    """Read the files into a database in memory, with the candidates of all centres.

    Parameters
    ----------
    folder : path
        Has `friend.parquet`, `listened.parquet` and `tagged.parquet`.
    seed : int
        Which friends of friends are candidates.

    Returns
    -------
    duckdb.DuckDBPyConnection
        With the schema `lastfm`.
    """
    con = duckdb.connect()
    con.execute("SET enable_progress_bar = false")
    for name in ("friend", "listened", "tagged"):
        con.read_parquet(str(Path(folder) / f"{name}.parquet")).create_view(f"{name}_file")
    for statement in con.extract_statements(BASE):
        values = {"first": FIRST_YEAR, "seed": seed}
        con.execute(statement, {name: values[name] for name in statement.named_parameters})
    return con


def census(con: duckdb.DuckDBPyConnection) -> Census:
    """Count what became examples."""
    query = """
    SELECT count(*) FILTER (negatives >= positives), count(*) FILTER (negatives = 0),
        count(*) FILTER (negatives > 0 AND negatives < positives), (SELECT count(*) FROM lastfm.tagging),
        (SELECT count(*) FROM tagged_file WHERE year < $first)
    FROM lastfm.centre
    """
    (found,) = con.execute(query, {"first": FIRST_YEAR}).fetchall()
    return Census(*found)


def centres(con: duckdb.DuckDBPyConnection) -> list[int]:
    """Return the centres of all examples, in order."""
    found = con.execute("SELECT DISTINCT centre FROM lastfm.candidate ORDER BY centre").fetchall()
    return [centre for (centre,) in found]


def window(con: duckdb.DuckDBPyConnection, chosen: Sequence[int], *, shared: bool = True) -> dict[str, pa.Table]:
    """Return the atoms and the evidence of some centres.

    Parameters
    ----------
    con : duckdb.DuckDBPyConnection
        As `connect` returns it.
    chosen : sequence of int
        The centres; all at once are nine million rows.
    shared : bool
        Whether `listens` and `usedTag` have only the artists and tags that the centre has, too, as the relations of taggings do. With all of
        them nothing would say what a candidate shares with the centre, whose own artists and tags are no evidence.

    Returns
    -------
    dict of str to pyarrow.Table
        By predicate (`TYPES`): its arguments, `example` (the centre), and of `cFriends` also `truth`; ordered by example, user, and the
        rest. `sameArtist_3`, say, is of two users with three artists or more in common.

    Raises
    ------
    InputError
        One of them is no centre of an example.
    """
    con.execute(CHOSEN, {"centres": list(chosen)})
    atoms = con.sql(ATOMS).to_arrow_table()
    unknown = sorted(set(chosen) - set(atoms["example"].to_pylist()))
    if unknown:
        raise InputError(
            f"{counted(len(unknown), 'user')} of {len(chosen):,} no centre of an example, such as {unknown[0]}: lastfm.centres(con) has those "
            "with enough friends of friends"
        )
    found = {TARGET: atoms}
    return found | {name: _facts(con, name, shared=shared) for name in EVIDENCE}


def _facts(con: duckdb.DuckDBPyConnection, name: str, *, shared: bool) -> pa.Table:
    """Return the facts of a relation about the candidates that are chosen."""
    query, values = EVIDENCE[name]
    more = {"shared": shared} if name in UNSHARED else {}
    return con.sql(query, params={**values, **more}).to_arrow_table()


def windows(items: Sequence[int], size: int = WINDOW) -> list[Sequence[int]]:
    """Cut centres into windows."""
    return [items[i : i + size] for i in range(0, len(items), size)]


# ---- baselines -----------------------------------------------------------------------------------------------


def baseline_scores(
    con: duckdb.DuckDBPyConnection, tables: Mapping[str, pa.Table]
) -> dict[str, npt.NDArray[np.float64]]:
    """Return what each of `BASELINES` says of the atoms of a window, in their order.

    They are computed from the tables of the window, with what is shared alone, so that they see what a model sees, and from how many users each
    artist and tag has.
    """
    size = len(tables[TARGET])
    found: dict[str, npt.NDArray[np.float64]] = {}
    con.register("atoms", tables[TARGET].append_column("place", pa.array(range(size), pa.int64())))
    for name, (relation, kind) in BASELINES.items():
        facts = tables[relation]
        con.register("facts", facts.rename_columns({(set(facts.column_names) - {"user", "example"}).pop(): "constant"}))
        rows = con.execute(COUNTS, {"kind": kind}).fetchnumpy()
        number = np.asarray(rows["number"], np.float64)
        # What two users share has two users or more, so that its logarithm is not 0; of an atom without facts nothing is counted.
        weight = np.ones(len(number)) if kind is None else 1 / np.log(np.ma.filled(rows["users"], 2).astype(np.float64))
        found[name] = np.asarray(np.bincount(rows["place"], weights=number * weight, minlength=size), np.float64)
    con.unregister("facts")
    con.unregister("atoms")
    return found


@dataclass(frozen=True, slots=True)
class Report:
    """The rows of each relation over all centres, those of all artists and tags among them; and how baselines rank the candidates.

    Parameters
    ----------
    rows : dict of str to int
    seconds : float
        For the windows of 100 centres, on the average.
    baselines : dict of str to RankingScores
    """

    rows: Mapping[str, int]
    seconds: float
    baselines: Mapping[str, RankingScores]


def report(con: duckdb.DuckDBPyConnection, parts: Iterable[Sequence[int]]) -> Report:
    """Go through windows of centres."""
    rows = dict.fromkeys((*TYPES, *UNSHARED.values()), 0)
    atoms: list[pa.Table] = []
    scores: list[dict[str, npt.NDArray[np.float64]]] = []
    seconds, number = 0.0, 0
    for part in parts:
        start = time.perf_counter()
        tables = window(con, part)
        seconds, number = seconds + time.perf_counter() - start, number + len(part)
        for name, table in tables.items():
            rows[name] += len(table)
        for name, called in UNSHARED.items():
            rows[called] += len(_facts(con, name, shared=False))
        atoms.append(tables[TARGET])
        scores.append(baseline_scores(con, tables))
    truth, example = (pa.concat_tables(atoms)[name].to_numpy() for name in ("truth", "example"))
    joined = {name: np.concatenate([found[name] for found in scores]) for name in BASELINES}
    joined["nothing"] = np.zeros(len(truth))
    ranked = {name: score_rankings(truth, score, example) for name, score in joined.items()}
    return Report(rows, 100 * seconds / number, ranked)


# ---- the table -----------------------------------------------------------------------------------------------


def table_of(found: Report) -> list[Row]:
    """Return the rows that are printed: relations, and baselines."""
    number = len(found.baselines["nothing"].example)
    rows: list[Row] = [
        {"what": "relation", "name": name, "rows": count, "rows_a_centre": round(count / number, 1)}
        for name, count in found.rows.items()
    ]
    for name, scores in found.baselines.items():
        rows.append(
            {
                "what": "baseline",
                "name": name,
                "map": round(scores.mean_average_precision, 4),
                "map_error": round(scores.average_precision_error, 4),
                "auc": round(scores.mean_auc, 4),
                "auc_error": round(scores.auc_error, 4),
            }
        )
    return [{column: row.get(column) for column in COLUMNS} for row in rows]


def main() -> None:
    """Print the sizes and the baselines."""
    options = read_options("Ego networks of Last.fm: sizes of the relations, and baselines.", needs="lastfm")
    console = options.console()
    with console.progress("reading friends, plays and taggings"):
        con = connect(options.data / "lastfm", options.seed)
    with con:
        known, everyone = census(con), centres(con)
        part = everyone[:: max(1, len(everyone) // QUICK)][:QUICK] if options.quick else everyone
        cut = windows(part)
        found = report(con, track(console, cut, "windows of centres", len(cut)))
    title = f"Friends on Last.fm: {known}; {found.seconds:.2f} s for 100 centres" + (
        f"; quick: {len(part)} of the centres" if options.quick else ""
    )
    parameters = {"first_year": FIRST_YEAR, "thresholds": THRESHOLDS, "window": WINDOW, "seconds": found.seconds}
    publish("lastfm", table_of(found), options, title=title, parameters=parameters)


if __name__ == "__main__":
    main()
