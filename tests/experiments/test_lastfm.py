"""Ego networks of Last.fm, on graphs that are small enough to be read by eye, or generated and searched by plain Python."""

from __future__ import annotations

import hashlib
import json
import math
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import lastfm
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sqlrl
from sqlrl.errors import InputError
from sqlrl.evaluate import score_rankings

Rows = list[tuple[int, ...]]


def write(folder: Path, friends: Rows, listened: Rows, tagged: Rows) -> Path:
    """Write the three files; each friendship in both directions."""
    both = [*friends, *((b, a) for a, b in friends)]
    files = {
        "friend": (("user1", "user2"), both),
        "listened": (("user", "artist", "plays"), [(*row, 7) for row in listened]),
        "tagged": (("user", "artist", "tag", "day", "month", "year"), tagged),
    }
    for name, (columns, rows) in files.items():
        values = np.array(rows, np.int64).reshape(-1, len(columns))
        pq.write_table(pa.table({c: values[:, i] for i, c in enumerate(columns)}), folder / f"{name}.parquet")
    return folder


def rows(table: pa.Table) -> Rows:
    return [tuple(row.values()) for row in table.to_pylist()]


FRIENDS: Rows = [(1, 2), (1, 3), (2, 4), (2, 5), (3, 5), (4, 5), (6, 7)]
LISTENED: Rows = [
    (1, 10), (1, 11), (1, 12), (2, 10), (2, 11), (2, 21), (2, 22), (3, 10),
    (4, 11), (4, 12), (4, 13), (4, 21), (4, 22), (5, 13),
]  # fmt: skip
TAGGED: Rows = [
    (1, 10, 100, 1, 5, 2008), (1, 10, 101, 1, 3, 2007), (1, 11, 100, 1, 1, 2009),
    (2, 10, 100, 1, 2, 2007), (2, 11, 102, 5, 1, 2009),
    (3, 10, 101, 1, 4, 2007), (3, 12, 100, 1, 1, 2006),
    (4, 11, 100, 1, 1, 1956), (4, 11, 103, 1, 6, 2010),
    (5, 99, 100, 1, 1, 2010),
]  # fmt: skip


def test_an_ego_network_by_hand(tmp_path: Path) -> None:
    con = lastfm.connect(write(tmp_path, FRIENDS, LISTENED, TAGGED))
    # 2 and 5 have three friends and one friend of friends each, 6 and 7 have none.
    assert lastfm.census(con) == lastfm.Census(3, without_negatives=2, too_few_negatives=2, taggings=9, dropped=1)
    assert lastfm.centres(con) == [1, 3, 4]
    found = lastfm.window(con, [1])
    assert rows(found["cFriends"]) == [(2, 1, True), (3, 1, True), (4, 1, False), (5, 1, False)]
    # Of user 1 the first taggings are March 2007 (10) and January 2009 (11).
    assert rows(found["taggedBefore"]) == [(10, 2, 1)]
    assert rows(found["taggedSame"]) == [(11, 2, 1)]
    assert rows(found["taggedAfter"]) == [(10, 3, 1), (11, 4, 1)]
    assert rows(found["listens"]) == [(10, 2, 1), (11, 2, 1), (10, 3, 1), (11, 4, 1), (12, 4, 1)]
    assert rows(found["usedTag"]) == [(100, 2, 1), (100, 3, 1), (101, 3, 1), (100, 5, 1)]
    assert rows(found["friends"]) == [
        (2, 4, 1), (2, 5, 1), (3, 5, 1), (4, 2, 1), (4, 5, 1), (5, 2, 1), (5, 3, 1), (5, 4, 1),
    ]  # fmt: skip
    assert rows(found["sameArtist_1"]) == [(2, 3, 1), (2, 4, 1), (3, 2, 1), (4, 2, 1), (4, 5, 1), (5, 4, 1)]
    assert rows(found["sameArtist_3"]) == [(2, 4, 1), (4, 2, 1)]
    assert rows(found["sameArtist_10"]) == []
    assert rows(found["sameTag_1"]) == [(2, 3, 1), (2, 5, 1), (3, 2, 1), (3, 5, 1), (5, 2, 1), (5, 3, 1)]
    assert rows(found["sameTag_3"]) == []
    whole = lastfm.window(con, [1], shared=False)
    assert sorted(rows(whole["listens"])) == sorted((a, u, 1) for u, a in LISTENED if u != 1)
    assert sorted(set(rows(whole["usedTag"])) - set(rows(found["usedTag"]))) == [(102, 2, 1), (103, 4, 1)]

    scores = lastfm.baseline_scores(con, found)
    # Of artists 10 and 11 there are three users, of 12 two; of tag 100 four, since one tagging is dropped, of 101 two.
    three, four, two = (1 / math.log(k) for k in (3, 4, 2))
    assert {name: values.tolist() for name, values in scores.items()} == {
        "shared artists": [2, 1, 2, 0],
        "shared artists, 1/log degree": pytest.approx([2 * three, three, three + two, 0]),
        "shared tags": [1, 2, 0, 1],
        "shared tags, 1/log degree": pytest.approx([four, four + two, 0, four]),
        "friends among candidates": [2, 1, 2, 3],
    }


@pytest.mark.parametrize("seed", [0, 77])
def test_negatives_are_chosen_by_a_hash_of_seed_centre_and_user(tmp_path: Path, seed: int) -> None:
    # Whose only friend is 2 has the other ten as friends of friends, and takes one of them.
    con = lastfm.connect(write(tmp_path, [(u, 2) for u in range(3, 14)], [], []), seed)
    assert lastfm.centres(con) == list(range(3, 14))
    for centre in range(3, 14):
        others = [u for u in range(3, 14) if u != centre]
        first = min(others, key=lambda u: hashlib.md5(f"{seed}:{centre}:{u}".encode()).hexdigest())
        assert rows(lastfm.window(con, [centre])["cFriends"]) == sorted([(2, centre, True), (first, centre, False)])


def generated(seed: int) -> tuple[Rows, Rows, Rows]:
    rng = np.random.default_rng(seed)
    friends = [(a, b) for a in range(1, 31) for b in range(1, a) if rng.random() < 0.12]
    listened = [(u, a) for u in range(1, 31) for a in range(1, 41) if rng.random() < 0.45]
    tagged = [
        (u, a, int(rng.integers(1, 31)), 1, int(rng.integers(1, 13)), int(rng.integers(2003, 2008)))
        for u in range(1, 31) for a in range(1, 41) for _ in range(2) if rng.random() < 0.45
    ]  # fmt: skip
    return friends, listened, tagged


@pytest.mark.parametrize("seed", [0])
def test_generated_networks_are_those_of_plain_python(tmp_path: Path, seed: int) -> None:
    friends, listened, tagged = generated(seed)
    con = lastfm.connect(write(tmp_path, friends, listened, tagged), seed)
    near, artists, tags = (defaultdict[int, set[int]](set) for _ in range(3))
    first: dict[tuple[int, int], tuple[int, int]] = {}
    for a, b in friends:
        near[a].add(b), near[b].add(a)
    for user, artist in listened:
        artists[user].add(artist)
    for user, artist, tag, _, month, year in tagged:
        if year >= 2005:
            tags[user].add(tag)
            first[user, artist] = min(first.get((user, artist), (year, month)), (year, month))
    expected: dict[str, set[tuple[int, ...]]] = {name: set() for name in lastfm.TYPES}
    kept = []
    for c in sorted(near):
        far = {w for v in near[c] for w in near[v]} - near[c] - {c}
        if len(far) < len(near[c]):
            continue
        kept.append(c)
        order = sorted(far, key=lambda u: hashlib.md5(f"{seed}:{c}:{u}".encode()).hexdigest())
        candidates = near[c] | set(order[: len(near[c])])
        expected["cFriends"] |= {(v, c, v in near[c]) for v in candidates}
        for v in candidates:
            for (user, artist), month in first.items():
                if user == v and (c, artist) in first:
                    own = first[c, artist]
                    name = "taggedBefore" if month < own else "taggedAfter" if month > own else "taggedSame"
                    expected[name].add((artist, v, c))
            expected["listens"] |= {(a, v, c) for a in artists[v] & artists[c]}
            expected["usedTag"] |= {(t, v, c) for t in tags[v] & tags[c]}
            for w in candidates - {v}:
                if w in near[v]:
                    expected["friends"].add((v, w, c))
                for name, what in (("sameArtist", artists), ("sameTag", tags)):
                    for k in lastfm.THRESHOLDS:
                        if len(what[v] & what[w]) >= k:
                            expected[f"{name}_{k}"].add((v, w, c))
    assert lastfm.centres(con) == kept
    found = lastfm.window(con, kept)
    assert list(found) == list(lastfm.TYPES)
    for name, table in found.items():
        assert len(table) == len(expected[name]) > 0, name
        assert set(rows(table)) == expected[name], name
        assert table.num_columns == len(lastfm.TYPES[name]) + (2 if name == "cFriends" else 1)
        # In windows it is the same, in the same order.
        parts = [lastfm.window(con, part)[name] for part in lastfm.windows(kept, 4)]
        assert pa.concat_tables(parts).equals(table), name


def test_a_model_sees_what_the_baselines_see(tmp_path: Path) -> None:
    friends, listened, tagged = generated(4)
    con = lastfm.connect(write(tmp_path, friends, listened, tagged))
    tables = lastfm.window(con, lastfm.centres(con))
    db = sqlrl.connect()
    declared = "\n".join(f"{name}({', '.join(types)})" for name, types in lastfm.TYPES.items())
    for name, table in tables.items():
        atoms = name == lastfm.TARGET
        source = table.filter(table["truth"]).select(["user", "example"]) if atoms else table
        db.load(name, source, types=lastfm.TYPES[name], example="example", target=atoms)
    db.scope(lastfm.TARGET, tables[lastfm.TARGET].select(["user", "example"]))
    scores = lastfm.baseline_scores(con, tables)
    truth, example = (tables[lastfm.TARGET][name].to_numpy() for name in ("truth", "example"))
    rules = {
        "shared artists": "0.1 listens(a, v) => cFriends(v)",
        "shared tags": "0.1 usedTag(t, v) => cFriends(v)",
        "friends among candidates": "0.1 friends(v, w) => cFriends(v)",
    }
    for baseline, rule in rules.items():
        found = db.evaluate(
            db.probabilities(sqlrl.parse_mln(f"{declared}\n{rule}", query=[lastfm.TARGET]))
        ).by_example()
        known = score_rankings(truth, scores[baseline], example)
        by_name = {int(row.pop("example")): row for row in found.table().to_pylist()}
        assert by_name == {row.pop("example"): row for row in known.table().to_pylist()}


def test_the_real_data_have_1833_centres(data_folder: Path) -> None:
    con = lastfm.connect(data_folder / "lastfm")
    assert lastfm.census(con) == lastfm.Census(1833, 43, 16, taggings=186_474, dropped=5)
    atoms = lastfm.window(con, lastfm.centres(con)[::100])["cFriends"]
    # As many friends as others, each centre.
    balance = atoms.group_by("example").aggregate([("truth", "mean")])
    assert balance["truth_mean"].to_pylist() == [0.5] * 19


def test_who_is_no_centre_is_refused(tmp_path: Path) -> None:
    con = lastfm.connect(write(tmp_path, FRIENDS, LISTENED, TAGGED))
    with pytest.raises(InputError, match="2 users of 3 no centre of an example, such as 2: "):
        lastfm.window(con, [1, 6, 2])
    assert all(len(table) == 0 for table in lastfm.window(con, []).values())


def test_the_script_prints_sizes_and_baselines(tmp_path: Path) -> None:
    (tmp_path / "lastfm").mkdir()
    friends, listened, tagged = generated(5)
    write(tmp_path / "lastfm", friends, listened, tagged)
    script, out = Path(lastfm.__file__), tmp_path / "rows.json"
    command = [sys.executable, str(script), "--data", str(tmp_path), "--json", str(out), "--quiet"]
    done = subprocess.run(
        [*command, "--db", str(tmp_path / "kept.duckdb")], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(out.read_text(encoding="utf-8"))
    con = lastfm.connect(tmp_path / "lastfm")
    tables = lastfm.window(con, lastfm.centres(con))
    sizes = {row["name"]: row["rows"] for row in found if row["what"] == "relation"}
    assert {name: sizes[name] for name in lastfm.TYPES} == {name: len(table) for name, table in tables.items()}
    assert sizes["listens, all artists"] > sizes["listens"]
    assert str(lastfm.census(con)) in done.stdout
    truth, example = (tables[lastfm.TARGET][name].to_numpy() for name in ("truth", "example"))
    baselines = {row["name"]: row for row in found if row["what"] == "baseline"}
    for name, score in lastfm.baseline_scores(con, tables).items():
        known = score_rankings(truth, score, example)
        assert (baselines[name]["map"], baselines[name]["auc_error"]) == (
            round(known.mean_average_precision, 4),
            round(known.auc_error, 4),
        )
    assert baselines["nothing"]["auc"] == 0.5
    with sqlrl.connect(tmp_path / "kept.duckdb", read_only=True) as db:
        assert db.sql("select count(*) from experiment.lastfm").fetchall() == [(len(found),)]
