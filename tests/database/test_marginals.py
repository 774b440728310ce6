"""Probabilities as a user gets them: against enumeration of worlds, with their errors, and in tables."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest

import sqlrl
from sqlrl.database import marginals as sinks
from sqlrl.errors import CatalogError, InputError
from tests.ground.brute import Data, Formulas, Ground

HEADER = "Friends(person, person)\nSmokes(person)\nCancer(person)\n"
FRIENDS = [("Anna", "Bob"), ("Bob", "Anna"), ("Bob", "Chris")]
RULES = [
    (0.9, "Friends(x, y) ^ Smokes(x) => Smokes(y)"),
    (1.5, "Smokes(x) <=> Cancer(x)"),
    (-0.7, "Smokes(x) ^ Cancer(x)"),
    (0.4, "Cancer(x) <=> (EXIST y (Friends(x, y) ^ Smokes(y)))"),
]
PEOPLE = ("Anna", "Bob", "Chris")


def model(rules: list[tuple[float, str]] = RULES) -> sqlrl.Model:
    return sqlrl.parse_mln(HEADER + "\n".join(f"{w} {text}" for w, text in rules), query=("Smokes", "Cancer"))


def smokers(target: object = ":memory:") -> sqlrl.Database:
    db = sqlrl.connect(target)  # type: ignore[arg-type]
    db.load("Friends", FRIENDS, types=("person", "person"))
    return db


def by_enumeration(rules: list[tuple[float, str]]) -> dict[tuple[str, str], float]:
    """Probabilities from the formulas as written, over all worlds."""
    atoms: list[Ground] = [(p, "", (x,)) for p in ("Cancer", "Smokes") for x in PEOPLE]
    predicates = {
        "Friends": (("person", "person"), False),
        "Smokes": (("person",), False),
        "Cancer": (("person",), False),
    }
    facts = frozenset(("Friends", "", pair) for pair in FRIENDS)
    data = Data(
        "one", {"person": PEOPLE}, predicates, ("",), {}, frozenset(), facts, dict.fromkeys(atoms),
        opened=frozenset({"Smokes", "Cancer"}),
    )  # fmt: skip
    formulas = [(w, Formulas(rule.formula, data)) for (w, _), rule in zip(rules, model(rules).rules, strict=True)]
    total, sums = 0.0, dict.fromkeys(atoms, 0.0)
    for bits in itertools.product([False, True], repeat=len(atoms)):
        world = frozenset(a for a, true in zip(atoms, bits, strict=True) if true)
        weight = float(np.exp(sum(w * f.n(world) for w, f in formulas)))
        total += weight
        for atom in world:
            sums[atom] += weight
    return {(p, constants[0]): value / total for (p, _, constants), value in sums.items()}


def found(result: sqlrl.Marginals, column: str = "probability") -> dict[tuple[str, str], float]:
    return {(p, r["person"]): r[column] for p in result.open_predicates for r in result.probabilities(p).to_pylist()}


def test_exact_probabilities_are_those_of_enumeration() -> None:
    result = smokers().probabilities(model())
    assert found(result) == pytest.approx(by_enumeration(RULES), abs=1e-9)
    assert set(found(result, "error").values()) == {0.0}
    assert result.network_atoms.helper.any()
    assert len(found(result)) == len(result.visible.code) == 6  # helper atoms are not shown
    assert "6 query atoms, all exact" in repr(result)


@pytest.mark.parametrize("method", ["gibbs", "mcsat"])
def test_samplers_stay_within_their_errors_and_show_no_more_digits(method: str) -> None:
    rules = RULES[:3]
    result = smokers().probabilities(model(rules), method=method, samples=2000, random_state=1)
    expected, errors = by_enumeration(rules), found(result, "error")
    for atom, probability in found(result).items():
        assert abs(probability - expected[atom]) < 5 * errors[atom]
    for predicate in result.open_predicates:
        raw = result.probabilities(predicate)
        known = zip(raw["probability"].to_pylist(), raw["error"].to_pylist(), strict=True)
        for shown, (probability, error) in zip(result.table(predicate)["probability"], known, strict=True):
            digits = len(f"{shown}".partition(".")[2])
            assert 2 * error <= 10.0 ** (1 - digits) or digits == 1
            assert abs(shown - probability) <= max(error, 1e-6)
    assert f"{method} " in repr(result)
    assert "R-hat" in repr(result)


def test_too_few_samples_are_warned_of_and_print_nothing() -> None:
    result = smokers().probabilities(model(RULES[:1]), method="gibbs", samples=1, chains=1)
    assert result.warnings
    assert "warning" in repr(result)
    assert set(result.table("Smokes")["probability"]) == {None}
    assert "NULL" in repr(result.table("Smokes"))


@pytest.mark.slow
def test_samples_and_running_means_stream_into_tables() -> None:
    db = smokers()
    result = db.probabilities(
        model(), method="mcsat", samples=300, chains=2, samples_into="drawn", means_into="running", into="known"
    )
    names = {f"{p}({x})" for p in ("Smokes", "Cancer") for x in PEOPLE}
    assert {
        a for (a,) in db.sql("select distinct atom from drawn union select atom from running").fetchall() if a
    } == names
    assert db.sql("select chain, min(sample), max(sample) from drawn group by chain order by chain").fetchall() == [
        (0, 0, 299),
        (1, 0, 299),
    ]
    last = "select atom, avg(mean) from running where samples = 300 group by atom"
    means = dict(db.sql(last).fetchall())
    for (predicate, person), probability in found(result).items():
        assert means[f"{predicate}({person})"] == pytest.approx(probability, abs=1e-9)
        drawn = db.sql(f"select count(*) / 600 from drawn where atom = '{predicate}({person})'").fetchall()[0][0]
        assert drawn == pytest.approx(probability, abs=0.12)
    written = db.sql("select person, probability from known_Smokes order by person").fetchall()
    assert written == [(x, pytest.approx(found(result)["Smokes", x])) for x in PEOPLE]


@pytest.mark.slow
def test_more_samples_than_a_row_group_can_be_joined() -> None:
    db = smokers()
    db.probabilities(model(RULES[:2]), samples=20_000, chains=4, samples_into="drawn")
    size = db.sql("select count(atom) from drawn").fetchall()[0][0]
    assert size > 122_880
    joined = "select count(*) from drawn join (select distinct atom from drawn) using (atom)"
    assert db.sql(joined).fetchall() == [(size,)]


def test_an_interrupted_run_leaves_the_old_table(monkeypatch: pytest.MonkeyPatch) -> None:
    db = smokers()
    db.sql("create table drawn as select 42 as x")
    write, calls = sinks.SampleTables.write, []

    def interrupted(self: sinks.SampleTables, batch: object) -> None:
        calls.append(batch)
        if len(calls) > 3:
            raise KeyboardInterrupt
        write(self, batch)  # type: ignore[arg-type]

    monkeypatch.setattr(sinks.SampleTables, "write", interrupted)
    with pytest.raises(KeyboardInterrupt):
        db.probabilities(model(), method="mcsat", samples_into="drawn", means_into="running", replace=True)
    assert db.sql("from drawn").fetchall() == [(42,)]
    assert db.sql("select count(*) from duckdb_tables() where table_name = 'running'").fetchall() == [(0,)]


def test_what_is_kept() -> None:
    db = smokers()
    result = db.probabilities(model(), keep=True, random_state=5)
    rows = db.sql("select predicate, count(*), bool_and(error = 0) from sqlrl.marginal group by all order by all")
    assert rows.fetchall() == [("Cancer", 3, True), ("Smokes", 3, True)]
    run = db.sql("select run, learner, seed, status from sqlrl.run").fetchall()
    assert run == [(result.run, "marginals", 5, "done")]
    kept = dict(db.sql("select atom, probability from sqlrl.marginal").fetchall())
    assert kept == dict(zip(result.network_atoms.visible.tolist(), result.visible.probability.tolist(), strict=True))


def test_same_seed_same_bytes_and_labels_play_no_part() -> None:
    results = []
    for labels in (["Anna"], ["Bob", "Chris"]):
        db = smokers()
        db.load("Smokes", [(x,) for x in labels], target=True)
        results.append(
            db.probabilities(model(), method="mcsat", samples=50, random_state=3).result.probability.tobytes()
        )
    assert results[0] == results[1]


def test_bad_input_is_refused(tmp_path: Path) -> None:
    db = smokers(tmp_path / "a.duckdb")
    with pytest.raises(InputError, match="samples is 0"):
        db.probabilities(model(), samples=0)
    with pytest.raises(InputError, match="unknown method 'magic'"):
        db.probabilities(model(), method="magic")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="one table, B"):
        db.probabilities(model(), samples_into="b", means_into="B")
    with pytest.raises(InputError, match="one table, p_Smokes"):
        db.probabilities(model(), samples_into="p_Smokes", into="p")
    db.sql("create table drawn as select 1 as x")
    with pytest.raises(InputError, match="drawn"):
        db.probabilities(model(), samples_into="drawn")
    with pytest.raises(InputError, match="has no weight"):
        db.probabilities(sqlrl.parse_mln(HEADER + "Smokes(x)", query=("Smokes", "Cancer")))
    with pytest.raises(sqlrl.errors.InfeasibleError, match="Smokes"):
        db.probabilities(sqlrl.parse_mln(HEADER + "Smokes(Anna).\n!Smokes(x).", query=("Smokes", "Cancer")))
    db.close()
    with sqlrl.connect(tmp_path / "a.duckdb", read_only=True) as reader:
        assert found(reader.probabilities(model())) == pytest.approx(by_enumeration(RULES), abs=1e-9)
        with pytest.raises(CatalogError, match="read-only"):
            reader.probabilities(model(), samples_into="other")


def test_arguments_and_results_have_columns_of_their_own() -> None:
    kinds = ["probability", "error", "rhat", "ess", "method", "truth", "example"]
    db = sqlrl.connect()
    db.load("Seen", [tuple("abcdefg")], types=kinds)
    declared = ", ".join(kinds)
    rules = sqlrl.parse_mln(f"Seen({declared})\nQ({declared})\n1 Q(a, b, c, d, e, f, g)", query=("Q",))
    found = db.probabilities(rules)
    found.write("found")
    names = db.sql("from found").columns
    assert found.probabilities().column_names == names
    assert names[1:8] == [f"{kind}_2" for kind in kinds]
    assert len(set(names)) == len(names)
    assert db.predict(rules).atoms(every=True).column_names == [*names[:8], "truth"]
