"""Predictions in windows of examples against predictions of all examples at once: worlds, scores, statistics, reasons, memory."""

from __future__ import annotations

import io
import re
import weakref
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sqlrl
from sqlrl.engine.memory import Memory
from sqlrl.errors import GroundingLimitError, InfeasibleError, MemoryLimitError
from sqlrl.ground import grounding
from sqlrl.ground import windows as windows_module
from sqlrl.ground.grounding import ground_network
from sqlrl.ground.network import IntArray, Network
from sqlrl.ground.program import Extent, Program
from sqlrl.ground.windows import divided
from sqlrl.report import PlainConsole
from tests.effort import draws

DECLARED = """
Word(word, place, page)
Next(place, place)
Label(page, kind!, place)
Odd(page)
kind = {Name, Date, Rest}
"""
RULES = [
    "0.83 Word(+w, p, d) => Label(d, Name, p)",
    "{w} Word(W1, p, d) => Label(d, Date, p)",
    "{w} Next(p, q) ^ Label(d, k, p) => Label(d, k, q)",
    "{w} Odd(d) <=> (EXIST p (Word(W2, p, d) ^ Label(d, Rest, p)))",
    "{w} Label(d, Name, p) ^ Odd(d)",
    "Word(W3, p, d) => Label(d, Rest, p).",
    "{w} Odd(d)",
    "{w} Word(W1, p, d) => Word(W2, p, d)",
    "{w} Odd(d) v !Odd(d)",
]
OF_NO_EXAMPLE_OR_TWO = [
    "{w} Next(p, q) => Next(q, p)",
    "{w} Next(p, q) ^ Next(q, r)",
    "{w} Word(W1, p, d) ^ Word(W1, p, e) => d = e",
    "{w} Next(p, q) v !Next(p, q)",
]
WORDS = ["W1", "W2", "W3", "W4"]
PAGES = st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=5), min_size=1, max_size=7)
WEIGHTS = st.floats(-2, 2).filter(lambda w: abs(w) > 1e-3)


def database(pages: list[list[str]]) -> sqlrl.Database:
    db = sqlrl.connect()
    rows = [(word, f"P{i}", f"D{d}") for d, page in enumerate(pages) for i, word in enumerate(page)]
    # Constants of the model are there even if no page has them.
    rows += [(word, "P0", "D99") for word in WORDS[:1]] + [(WORDS[1], "P1", "D99"), (WORDS[2], "P2", "D99")]
    db.load("Word", rows, types=["word", "place", "page"], example="page")
    db.load("Next", [(f"P{i}", f"P{i + 1}") for i in range(4)], types=["place", "place"])
    return db


def model(chosen: list[tuple[str, float]]) -> sqlrl.Model:
    text = DECLARED + "\n".join(rule.format(w=w) for rule, w in chosen)
    return sqlrl.parse_mln(text, query=["Label", "Odd"])


def small(monkeypatch: pytest.MonkeyPatch, entries: int = 40) -> None:
    """Let a window have so many atoms and literals."""
    monkeypatch.setattr("sqlrl.database.predictions.divided", partial(divided, entries=entries))


@pytest.mark.slow
@settings(max_examples=draws(6))
@given(PAGES, st.lists(st.tuples(st.sampled_from(RULES), WEIGHTS), min_size=1, max_size=5), st.integers(1, 200))
def test_windows_find_what_is_found_at_once(
    pages: list[list[str]], rules: list[tuple[str, float]], entries: int
) -> None:
    db, rules_ = database(pages), model(rules)
    whole = db.predict(rules_, keep=True)
    with pytest.MonkeyPatch.context() as monkeypatch:
        small(monkeypatch, entries)
        found = db.predict(rules_, keep=True)
    for field in ("ids", "example", "helper"):
        assert (getattr(found.network_atoms, field) == getattr(whole.network_atoms, field)).all()
    assert found.objective == pytest.approx(whole.objective, abs=1e-9)
    assert found.status is whole.status
    assert found.gap == pytest.approx(whole.gap, abs=1e-9)
    assert found.result.report.magnitude == pytest.approx(whole.result.report.magnitude)
    query = (
        "select clause, groundings, open, satisfied_by_evidence, violated_by_evidence{} from sqlrl.clause_statistics "
        "where run = {} order by clause"
    )
    same = bool((found.result.world == whole.result.world).all())
    shown = [db.sql(query.format(", n_predicted" * same, run)).fetchall() for run in (whole.run, found.run)]
    assert shown[0] == shown[1]


@pytest.mark.slow
def test_counts_that_do_not_add_up_over_examples_need_all_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    db, chosen = database([["W1", "W2", "W4"]] * 6), ["D0", "D2", "D3", "D5"]
    query = "select * exclude (run) from sqlrl.clause_statistics where run = {} order by clause"
    for rule in OF_NO_EXAMPLE_OR_TWO:
        rules = model([(RULES[0], 1.0), (rule, 0.3)])
        whole = db.predict(rules, examples=chosen, keep=True)
        with monkeypatch.context() as patched:
            small(patched, 20)
            found = db.predict(rules, examples=chosen, keep=True)
        assert found.objective == whole.objective, rule
        assert db.sql(query.format(found.run)).fetchall() == db.sql(query.format(whole.run)).fetchall(), rule


@pytest.mark.slow
def test_one_window_is_held_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    held: list[weakref.ref[Network]] = []
    alive: list[int] = []

    def watched(extent: Extent, **options: Any) -> Network:
        alive.append(sum(each() is not None for each in held))
        network = ground_network(extent, **options)
        held.append(weakref.ref(network))
        return network

    monkeypatch.setattr("sqlrl.ground.windows.ground_network", watched)
    small(monkeypatch)
    db, stream = database([["W1", "W2", "W4"]] * 20), io.StringIO()
    db.advanced.console = PlainConsole(stream, delay=0, interval=0)
    prediction = db.predict(model([(RULES[0], 1.0), (RULES[2], 0.7)]))
    assert len(alive) > 4
    assert set(alive) == {0}
    assert re.search(r"predicting: .*\b\d+ of 21 examples", stream.getvalue())
    assert prediction.network is None
    assert len(prediction.atoms("Label", every=True)) == 3 * (20 * 3 + 3)
    whole = database([["W1", "W2", "W4"]] * 20).predict(model([(RULES[0], 1.0), (RULES[2], 0.7)]), examples=["D3"])
    assert whole.network is not None


def windows_of(db: sqlrl.Database, rules: sqlrl.Model, entries: int) -> Iterator[tuple[IntArray, Network]]:
    with db.advanced.program(rules) as program:
        program.expand()
        yield from divided(Extent(program), np.arange(program.layout.example_count), entries=entries)


def test_a_window_that_has_no_room_is_tried_with_fewer_examples() -> None:
    # The first pages are short, so that the guess from the atoms takes far too many of the long ones.
    db = database([["W4"]] * 30 + [["W1", "W2", "W3", "W4", "W1"]] * 6)
    rules = model([("0.5 Label(d, k, p) v Label(d, l, q)", 0.0)])
    found = [
        (len(window), len(network.atoms) + len(network.literals)) for window, network in windows_of(db, rules, 200)
    ]
    assert sum(size for size, _ in found) == 37
    assert max(size for size, _ in found) > 3
    assert [size for size, _ in found][-3:] == [1, 1, 1]
    assert all(entries <= 200 or size == 1 for size, entries in found)
    assert any(entries > 200 for _, entries in found)


def test_reasons_and_counts_of_a_prediction_in_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    pages = [["W1", "W2"], ["W3", "W4", "W2"], ["W2"]] * 2
    rules = model([(RULES[0], 1.0), (RULES[1], 1.5), (RULES[2], 0.7), (RULES[3], -0.6), (RULES[5], 0.0)])
    whole_db, db = database(pages), database(pages)
    whole = whole_db.predict(rules)
    small(monkeypatch)
    found = db.predict(rules)
    assert found.network is None
    assert whole.network is not None
    for atom in ("Label(D4, Rest, P0)", "Odd(D5)"):
        ours, theirs = found.why(atom), whole.why(atom)
        assert ours.table.to_arrow() == theirs.table.to_arrow()
        assert ours.margin == pytest.approx(theirs.margin)
    assert db.count(rules, world=found).to_arrow() == whole_db.count(rules, world=whole).to_arrow()


@pytest.mark.slow
@pytest.mark.parametrize(("method", "tolerance"), [("auto", 1e-12), ("mcsat", 0.15)])
def test_probabilities_in_windows(monkeypatch: pytest.MonkeyPatch, method: Any, tolerance: float) -> None:
    db = database([["W1", "W2"], ["W3", "W4", "W2"], ["W2"]] * 3)
    rules = model([(RULES[0], 1.0), (RULES[1], 1.5), (RULES[2], 0.7), (RULES[3], -0.6), (RULES[5], 0.0)])
    whole = db.probabilities(rules)
    assert whole.visible.exact.all()
    drawn: list[int] = []
    monkeypatch.setattr(
        "sqlrl.database.marginals.divided", lambda *args, **options: noted(drawn, *args, **{"entries": 100, **options})
    )
    found = db.probabilities(rules, method=method, keep=True, samples=500)
    assert len(drawn) > 2
    assert (found.network_atoms.ids == whole.network_atoms.ids).all()
    assert np.abs(found.result.probability - whole.result.probability).max() <= tolerance
    assert len({choice.method for choice in found.result.choices}) == len(found.result.choices)
    kept = dict(db.sql("select atom, probability from sqlrl.marginal").fetchall())
    assert kept == dict(zip(found.network_atoms.visible.tolist(), found.visible.probability.tolist(), strict=True))
    db.probabilities(rules, method="mcsat", samples=5, chains=2, samples_into="worlds")
    assert drawn[-1] == len(whole.examples)


@pytest.mark.slow
def test_windows_are_worth_the_queries_of_their_shapes(monkeypatch: pytest.MonkeyPatch) -> None:
    db = database([["W1", "W2"]] * 12)
    rules = model([(RULES[0], 1.0), (RULES[2], 0.7)])
    monkeypatch.setattr("sqlrl.ground.windows.MOST_ENTRIES", 40)
    for each, windows in ((0, 2), (10_000, 1)):
        monkeypatch.setattr("sqlrl.ground.windows.SHAPE_ENTRIES", each)
        drawn: list[int] = []
        monkeypatch.setattr("sqlrl.database.predictions.divided", lambda *a, drawn=drawn, **o: noted(drawn, *a, **o))
        found = db.predict(rules)
        assert sum(drawn) == len(found.examples)
        assert (len(drawn) > 1) == (windows > 1)


def test_windows_of_one_example_are_counted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    counted: list[int] = []
    real = grounding.check_memory
    monkeypatch.setattr(grounding, "check_memory", lambda extent, atoms: counted.append(atoms) or real(extent, atoms))
    db = database([["W1", "W2", "W3"]] * 6)
    rules = model([(RULES[0], 1.0), (RULES[2], 0.7)])
    with db.advanced.program(rules) as program:
        program.expand()
        windows = [len(window) for window, _ in divided(Extent(program), np.arange(6), entries=2)]
    assert windows == [1] * 6
    assert len(counted) == 1


def noted(sizes: list[int], *args: Any, **options: Any) -> Iterator[tuple[IntArray, Network]]:
    """Note how many examples each window has."""
    for window, network in divided(*args, **options):
        sizes.append(len(window))
        yield window, network


def test_an_error_in_a_later_window_names_its_clause(monkeypatch: pytest.MonkeyPatch) -> None:
    small(monkeypatch)
    db = database([["W4"]] * 12 + [["W3"]])
    with pytest.raises(InfeasibleError, match=r'Label\("?D12"?, Rest, P0\)'):
        db.predict(model([("Word(W3, p, d) => Label(d, Rest, p).", 0.0), ("!Label(D12, Rest, p).", 0.0)]))


@pytest.mark.slow
def test_a_limit_of_ground_clauses_divides_examples(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[int] = []
    monkeypatch.setattr("sqlrl.database.predictions.divided", lambda *args, **options: noted(drawn, *args, **options))
    db, rules = database([["W4"]] * 12), model([("0.5 Label(d, k, p) v Label(d, l, q)", 0.0)])
    whole = db.predict(rules)
    # A page of n places has (3 n)^2 groundings: 81 of the one that all constants are on, 9 of the others.
    found = db.predict(rules, limit=81)
    assert drawn[0] == 13
    assert len(drawn) > 2
    assert found.objective == whole.objective
    with pytest.raises(GroundingLimitError, match="81 groundings"):
        db.predict(rules, limit=80)


def test_all_examples_together_that_would_not_fit_are_predicted_in_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    db = sqlrl.connect(progress=False)
    pairs = [(f"e{e}", f"x{i}", f"x{(i + k) % 60}") for e in range(12) for i in range(60) for k in range(1, 40)]
    db.load("Near", pairs, types=["town", "person", "person"], example="town")
    rules = (
        "Near(town, person, person)\nGood(town, person)\n-1 Good(t, x)\n0.1 Near(t, x, y) ^ Good(t, x) => Good(t, y)"
    )
    asked = sqlrl.parse_mln(rules, query=["Good"])
    together = db.predict(asked)
    assert "cutting plane" in str(together.result.report)
    assert together.network is not None
    # The rounds hold next to nothing; what they might hold is what half of the first world's violations take.
    monkeypatch.setattr("sqlrl.database.predictions.most_entries", lambda program: -1)
    small(monkeypatch, 10_000)
    apart = db.predict(asked)
    assert apart.network is None
    assert apart.objective == pytest.approx(together.objective, abs=1e-9)
    assert (apart.result.world == together.result.world).all()


def test_a_network_in_one_piece_beyond_the_memory_limit_is_refused_before_it_is_ground(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    db = sqlrl.connect(progress=False)
    db.load(
        "Near", [(f"x{i}", f"x{(i + k) % 200}") for i in range(200) for k in range(1, 60)], types=["person", "person"]
    )
    asked = sqlrl.parse_mln("Near(person, person)\nGood(person)\n1 Near(x, y) ^ Good(x) => Good(y)", query=["Good"])
    db.advanced.engine.memory = Memory(1_000_000, apart=True)
    monkeypatch.setattr("sqlrl.ground.pipeline.Pipeline.rows", None)
    with pytest.raises(MemoryLimitError, match=r"has 11,800 ground clauses .*would take about .*memory_limit="):
        db.predict(asked, method="full")


def test_one_example_beyond_what_windows_take_is_predicted_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    left: list[int | None] = []
    leave = windows_module.leave_to_window

    def watched(program: Program, entries: int | None, examples: int) -> None:
        left.append(entries)
        leave(program, entries, examples)

    monkeypatch.setattr(windows_module, "leave_to_window", watched)
    db, rules = database([["W1"], ["W2"], ["W1", "W2", "W3", "W4"] * 8, ["W1"]]), model([(RULES[2], 0.5)])
    whole = db.predict(rules, prepared=False)
    small(monkeypatch, 8)
    found = db.predict(rules, prepared=False)
    assert found.network is None
    assert found.objective == pytest.approx(whole.objective, abs=1e-9)
    # Examples beyond four times what windows may take are ground with all the memory that there is, and no other.
    assert left.count(None) < len(left) - 1
    assert None in left[1:]


def test_a_first_window_has_few_facts_whatever_atoms_say(monkeypatch: pytest.MonkeyPatch) -> None:
    db, rules = database([["W1", "W2"]] * 40), model([(RULES[1], 0.5)])
    sizes: list[int] = []
    for facts in (10**6, 20):
        monkeypatch.setattr(windows_module, "FIRST_FACTS", facts)
        with db.advanced.program(rules) as program:
            program.expand()
            ids = np.arange(program.layout.example_count)
            sizes.append(len(next(iter(divided(Extent(program), ids, entries=10_000)))[0]))
    assert sizes[0] > 4 * sizes[1]
