"""The experiment with resolwe on Last.fm: folds, settings, formulations and the table, on generated graphs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import lastfm
import lastfm_friends as friends
import numpy as np
import pyarrow as pa
import pytest
from harness import Measured

import sqlrl
from sqlrl.evaluate import paired_difference
from tests.experiments.test_lastfm import generated, write

DECLARED = friends.model_of()


@pytest.mark.parametrize(("size", "seed"), [(41, 0), (40, 3), (9, 7)])
def test_each_centre_is_tested_once_and_learned_from_in_the_other_folds(size: int, seed: int) -> None:
    centres = list(range(100, 100 + 3 * size, 3))
    folds = friends.make_folds(centres, seed)
    assert sorted(x for _, test in folds.values() for x in test) == centres
    for train, test in folds.values():
        assert sorted(train + test) == centres
        assert abs(len(test) - size / 4) < 1
        first, learning, scoring = friends.divided(train)
        assert [*first, *learning, *scoring] == list(train)
        assert abs(len(first) - len(train) / 3) <= 1
        assert abs(len(scoring) - (len(train) - len(first)) / 3) <= 1
    assert folds == friends.make_folds(centres, seed) != friends.make_folds(centres, seed + 1)


def test_the_grammar_is_that_of_the_paper_on_these_relations() -> None:
    found = sqlrl.parse_grammar(friends.GRAMMAR).expand(DECLARED, frozenset([lastfm.TARGET]))
    # 5 expansions and their 10 pairs, with either sign; 7 relations, and 49 chains of two, of users; both.
    users, centre = 7 + 49, 5 + 10
    assert len(found) == 2 * centre + users + centre * users


def job(
    folder: Path, system: str, centres: list[int], setting: friends.Setting | None, every: tuple[str, ...] = ()
) -> friends.Job:
    cut = 3 * len(centres) // 4
    return friends.Job(
        str(folder), 0, "1", system, tuple(centres[:cut]), tuple(centres[cut:]), friends.SMALL, setting, every
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Each two friends have an artist of their own, besides those that anybody may have."""
    known, listened, tagged = generated(6)
    own = [(user, 100 + k) for k, pair in enumerate(known) for user in pair]
    return write(tmp_path_factory.mktemp("graph"), known, [*listened[::7], *own], tagged[::2])


@pytest.mark.parametrize(
    ("system", "setting"),
    [
        ("resolwe", friends.Setting(0.2, 1.0, 40, 20, 0.02)),
        ("resolwe, estimated", friends.Setting(0.5, 0.6, 20, 10, 0.1)),
    ],
)
def test_a_setting_keeps_what_resolwe_keeps(folder: Path, system: str, setting: friends.Setting) -> None:
    with lastfm.connect(folder) as con:
        centres = lastfm.centres(con)
    one = job(folder, system, centres, setting)
    found = (
        friends.estimator(one, setting, 20)
        .fit(friends.load(one), friends.model_of(), examples=friends.names(centres))
        .formulations_.to_arrow()
    )
    rows = found.to_pylist()
    assert 0 < sum(row["kept"] for row in rows) < len(rows)
    kept = friends.kept(found, setting, friends.DEFAULTS[system])
    assert sorted(kept) == sorted(row["formula"] for row in rows if row["kept"])
    assert len(kept) <= friends.MOST
    # They are rules that are read again, for the one system as for the other.
    assert len(friends.model_of(kept).rules) == 1 + len(kept)


@pytest.mark.filterwarnings("ignore:.* no ground clause:sqlrl.errors.GroundingWarning")
def test_what_is_chosen_learned_and_ranked(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(friends, "SUPPORTS", (1_200,))
    monkeypatch.setattr(friends, "JOINT_SUPPORTS", (1_200,))
    monkeypatch.setattr(friends, "IMPLICATIONS", (1.0,))
    with lastfm.connect(folder) as con:
        centres = lastfm.centres(con)[::2]
    choice = friends.choose(job(folder, "resolwe", centres, None))
    chosen, least = (
        choice.setting,
        max(1, round(1_200 * len(friends.divided(job(folder, "resolwe", centres, None).train)[0]) / friends.CHOOSING)),
    )
    assert chosen.threshold in friends.THRESHOLDS["sparse"]
    assert (chosen.implication_threshold, chosen.min_support, chosen.joint_support) == (1.0, least, least)
    assert chosen.learning_rate in friends.RATES
    assert 0 < choice.score <= 1
    # Of one literal there is the conjunction, of two there are two implications besides.
    candidates = sqlrl.parse_grammar(friends.SMALL).expand(DECLARED, frozenset([lastfm.TARGET]))
    assert len(choice.formulations) == sum(1 if len(x.enforcer) == 1 else 3 for x in candidates)
    assert len(set(choice.formulations)) == len(choice.formulations)
    outcomes = {}
    for system in ("resolwe", "skipSelection"):
        one = job(folder, system, centres, choice.setting, choice.formulations)
        outcomes[system] = friends.run(one)
        assert outcomes[system].ranked.example == tuple(
            sorted(map(str, one.test), key=outcomes[system].ranked.example.index)
        )
    assert len(outcomes["skipSelection"].weights) == 1 + len(choice.formulations)
    assert 1 < len(outcomes["resolwe"].weights) <= 1 + friends.MOST
    assert outcomes["skipSelection"].step_2 is None
    assert outcomes["resolwe"].ranked.true == outcomes["skipSelection"].ranked.true


def ranked(values: list[float], first: int = 0) -> friends.Ranked:
    number = len(values)
    return friends.Ranked(
        tuple(f"c{first + i}" for i in range(number)),
        (4,) * number,
        (2,) * number,
        tuple(values),
        tuple(v / 2 for v in values),
    )


def test_the_table_pairs_test_subgraphs(tmp_path: Path) -> None:
    own, skip, base = [0.9, 0.7, 0.8, 0.6], [0.5, 0.7, 0.6, 0.65], [0.4, 0.9, 0.7, 0.5]
    setting = friends.Setting(0.5, 1.0, 7, 9, 0.1)
    jobs, results = [], []
    for system, values, second in (("resolwe", own, 2.0), ("skipSelection", skip, None)):
        for k in (0, 1):
            jobs.append(friends.Job("", 0, str(k + 1), system, (), (), "", setting))
            rules = (("cFriends(v)", 0.1),) + (("x", 1.0),) * (3 + k)
            outcome = friends.Outcome(rules, second, 10.0 + k, 1.0, ranked(values[2 * k : 2 * k + 2], 2 * k))
            results.append(Measured(outcome, 30.0, 100.0 + k))
    # Those of a baseline come in another order.
    other = ranked(base)
    turned = friends.Ranked(*(getattr(other, name)[::-1] for name in friends.Ranked.__slots__))
    rows = friends.summarise(jobs, results, {"shared artists": turned})
    assert [tuple(row) for row in rows] == [friends.COLUMNS] * len(rows)
    found = {(row["system"], row["whose"], row["fold"]): row for row in rows}
    mine, every = found["resolwe", "ours", "all"], found["skipSelection", "ours", "all"]
    assert (mine["map"], mine["subgraphs"], mine["difference"]) == (0.75, 4, None)
    assert (mine["step_2_seconds"], mine["step_3_seconds"], mine["seconds"], mine["memory_mb"]) == (
        2.0,
        10.5,
        12.5,
        101,
    )
    assert (every["step_2_seconds"], every["seconds"], every["formulations"]) == (None, 10.5, 3.5)
    for row, values in ((every, skip), (found["shared artists", "baseline", "all"], base)):
        less = paired_difference(own, values)
        assert (row["difference"], row["low"], row["high"]) == tuple(
            round(x, 4) for x in (less.mean, less.low, less.high)
        )
    second = found["skipSelection", "ours", "2"]
    assert second["difference"] == round(float(np.mean([0.2, -0.05])), 4)
    assert (second["rate"], second["threshold"]) == (0.1, None)
    assert found["resolwe", "ours", "1"]["support"] == 7
    assert found["skipSelection", "paper, Delicious", None]["seconds"] == pytest.approx(60 * 602.08)


def test_the_script_prints_all_systems(tmp_path: Path) -> None:
    (tmp_path / "lastfm").mkdir()
    write(tmp_path / "lastfm", *generated(5))
    out, kept = tmp_path / "rows.json", tmp_path / "kept.duckdb"
    command = [
        sys.executable,
        friends.__file__,
        "--data",
        str(tmp_path),
        "--json",
        str(out),
        "--db",
        str(kept),
        "--quick",
        "--quiet",
        "--every",
        "2",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    rows = json.loads(out.read_text(encoding="utf-8"))
    assert {row["system"] for row in rows} == {*friends.SYSTEMS, *lastfm.BASELINES}
    numbers = {row["subgraphs"] for row in rows if row["whose"] != "paper, Delicious"}
    assert len(numbers) == 1
    with sqlrl.connect(kept, read_only=True) as db:
        ((parameters,),) = db.sql("select parameters from experiment.run").fetchall()
        found = db.sql("select system, count(*) from experiment.lastfm_friends_runs group by system").fetchall()
    assert dict(found).keys() == set(friends.SYSTEMS)
    assert {x["system"] for x in json.loads(parameters)["chosen"]} == set(friends.DEFAULTS)


def test_support_and_threshold_depend_on_the_kind_of_formulation() -> None:
    one, two = "listens(a, v) ^ cFriends(v)", "friends(v, w) ^ cFriends(v) ^ {}cFriends(w)"
    found = pa.table(
        {
            "formula": [one, two.format(""), two.format("!")],
            "implied": pa.array([None, None, 1], pa.int32()),
            "support": [50, 60, 70],
            "probability": [0.65, 0.75, 0.95],
            "bound": [0.6, 0.7, 0.9],
            "p_value": pa.array([None] * 3, pa.float64()),
        }
    )
    for setting, expected in (
        (friends.Setting(0.5, 0.5, 10, 10, 0.1), [2, 1, 0]),
        (friends.Setting(0.65, 0.5, 10, 10, 0.1), [2, 1]),
        (friends.Setting(0.5, 0.95, 10, 10, 0.1), [1, 0]),
        (friends.Setting(0.5, 0.5, 55, 10, 0.1), [2, 1]),
        (friends.Setting(0.5, 0.5, 10, 65, 0.1), [2, 0]),
        (friends.Setting(0.5, 0.5, 55, 75, 0.1), []),
    ):
        assert friends.kept(found, setting, "sparse") == [found["formula"][i].as_py() for i in expected]
