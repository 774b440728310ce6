"""What a network will take is counted before it is grounded: never less than there is, and what does not fit is refused by name."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import sqlrl
from sqlrl.engine.connection import _usual_limit
from sqlrl.engine.memory import PROCESS, SHARE, WORKING, Memory, machine_memory
from sqlrl.errors import MemoryLimitError, SqlrlError
from sqlrl.ground import memory as memory_module
from sqlrl.ground.grounding import ground_network
from sqlrl.ground.memory import (
    ENTRY_BYTES,
    SINGLE_BYTES,
    ShapeSize,
    check_memory,
    entry_bytes,
    memory_budget,
    network_sizes,
)
from sqlrl.ground.pipeline import Pipeline, plans
from sqlrl.ground.program import Extent, Program
from sqlrl.ground.rows import AtomIndex
from sqlrl.ground.sample_programs import sample_program

DECLARED = "N(t, t)\nP(t)\nQ(t)\nS(t, t)\n"
MODELS = {
    "units": "0.5 P(x) => Q(x)\n-0.2 Q(x)",
    "pairs": "0.5 N(x, y) ^ Q(x) => Q(y)\n1 P(x) => Q(x)",
    "products": "0.3 Q(x) v Q(y)",
    "joined": "0.5 N(x, y) ^ N(y, z) ^ Q(x) => Q(z)",
    "merged": "0.5 N(x, y) ^ N(z, y) ^ P(y) ^ Q(x) => Q(z)",
    "evidence": "0.5 N(x, y) ^ Q(x) => Q(y) v P(x)",
    "triples": "0.5 S(x, y) ^ S(y, z) => S(x, z)",
    "constants": "0.5 Q(C1) ^ Q(x) => Q(C2)\n0.25 Q(C3) ^ Q(x) => Q(C4)",
    "quantified": "0.5 Q(x) => EXIST y (N(x, y) ^ Q(y))",
    "formula": "0.5 N(x, y) => (Q(x) <=> Q(y))",
}
# The quick tier has each model with one size.
SIZES = (4, 9, 23)
SIZED = [
    pytest.param(model, n, marks=[] if i % len(SIZES) == k else pytest.mark.slow)
    for i, model in enumerate(MODELS)
    for k, n in enumerate(SIZES)
]


def program_of(model: str, n: int, *, training: bool = True) -> Program:
    """Return the program of a model over n constants, each with three neighbours at the most."""
    random = np.random.default_rng(n)
    near = sorted({(f"C{i}", f"C{(i + random.integers(1, n)) % n}") for i in range(n) for _ in range(3)})
    facts = {"N": near, "P": [(f"C{i}",) for i in range(0, n, 3)]}
    return sample_program(DECLARED + MODELS[model], ["Q", "S"], facts, training=training)


@pytest.mark.parametrize(("model", "n"), SIZED)
def test_counts_before_grounding_are_no_less_than_what_is_grounded(model: str, n: int) -> None:
    extent = Extent(program_of(model, n))
    network = ground_network(extent)
    pipeline = Pipeline(extent, AtomIndex(network.atoms), np.zeros(len(network.clauses), object))
    truth = {
        each.use.shape: [sum(len(rows.clause) for rows in found), sum(len(rows.literals) for rows in found)]
        for each in plans(extent)
        for found in [pipeline.rows(each)]
    }
    for most in (0, 10**9):
        sizes = {size.use.shape: (size.clauses, size.literals) for size in network_sizes(extent, most=most)}
        for shape, (clauses, literals) in truth.items():
            assert sizes[shape][0] >= clauses
            assert sizes[shape][1] >= literals
    counted = sum(size.literals for size in network_sizes(extent))
    if model in ("units", "pairs"):
        # Here no ground clauses merge, and none is a tautology or satisfied by evidence.
        assert counted == sum(literals for _, literals in truth.values())
    assert len(network.literals) + network.units.nnz <= counted


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("model", MODELS)
def test_what_is_said_to_fit_fits(model: str, *, training: bool) -> None:
    program = program_of(model, 23, training=training)
    extent, atoms = Extent(program), len(ground_network(Extent(program)).atoms)
    size = check_memory(extent, atoms)
    # Learners keep more of an atom that stands alone.
    assert entry_bytes(program) == (SINGLE_BYTES if model == "units" and not training else ENTRY_BYTES)
    # A limit that leaves exactly that is enough, and one that leaves less than the atoms is not.
    program.engine.memory = Memory(PROCESS + WORKING + size, given=True)
    assert len(ground_network(extent).atoms) == atoms
    program.engine.memory = Memory(PROCESS + WORKING + atoms * entry_bytes(program) - 1, given=True)
    with pytest.raises(MemoryLimitError, match=r"more than the .* that a memory limit of .* leaves to them"):
        ground_network(extent)


@pytest.mark.parametrize("model", ["units", "pairs", "quantified"])
def test_atoms_that_do_not_fit_are_refused_before_ground_clauses_are_counted(
    model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*_: object, **__: object) -> list[ShapeSize]:
        raise AssertionError("ground clauses were counted")

    monkeypatch.setattr(memory_module, "network_sizes", never)
    program = program_of(model, 9)
    atoms = 41
    program.engine.memory = Memory(PROCESS + WORKING + atoms * entry_bytes(program) - 1, given=True)
    with pytest.raises(MemoryLimitError) as caught:
        check_memory(Extent(program), atoms)
    # Both numbers are shown in as many digits as tell them apart.
    (would, may) = re.findall(r"would take about (.*?), more than the (.*?) that", str(caught.value))[0]
    assert would != may


def test_what_is_too_much_on_the_way_names_no_size_that_nobody_knows() -> None:
    program = program_of("pairs", 9)
    program.engine.memory = Memory(10**9)
    with pytest.raises(
        MemoryLimitError, match=r"^9 query atoms and their ground clauses take more than the 500 MB that"
    ):
        memory_budget(program, 9).take(10**9)


# ---- by the verbs ------------------------------------------------------------------------------------

RULES = "N(t, t, e)\nQ(t, e)\n0.5 N(x, y, e) ^ Q(x, e) => Q(y, e)\n-0.2 Q(x, e)\n0.1 N(x, y, e) ^ N(y, z, e) ^ Q(x, e) => Q(z, e)\n"


@pytest.fixture(params=[True, False], ids=["examples", "one"], scope="module")
def loaded(request: pytest.FixtureRequest) -> Iterator[tuple[sqlrl.Database, sqlrl.Model, bool]]:
    """Return a database of chains, 40 examples or all one, its model, and whether there are examples."""
    with sqlrl.connect(threads=1, progress=False) as db:
        rows = [(f"c{i}", f"c{i + 1}", f"e{i // 10}") for i in range(400) if i % 10 < 9]
        db.load("N", rows, types=("t", "t", "e"), example="e" if request.param else None)
        labels = [(f"c{i}", f"e{i // 10}") for i in range(0, 400, 3)]
        db.load("Q", labels, types=("t", "e"), target=True)
        if not request.param:
            db.scope("Q", [(f"c{i}", f"e{i // 10}") for i in range(400)])
        yield db, sqlrl.parse_mln(RULES), request.param


@pytest.fixture
def opened(loaded: tuple[sqlrl.Database, sqlrl.Model, bool]) -> Iterator[tuple[sqlrl.Database, sqlrl.Model, bool]]:
    """Lend the database, with the memory that it had."""
    db, _, _ = loaded
    before = db.advanced.engine.memory
    yield loaded
    db.advanced.engine.memory = before


def squeezed(db: sqlrl.Database, entries: int) -> None:
    """Leave a database so many atoms and literals that ground clauses join."""
    db.advanced.engine.memory = Memory(PROCESS + WORKING + entries * ENTRY_BYTES, given=True)


def test_predictions_keep_a_limit_by_windows_or_are_refused(
    opened: tuple[sqlrl.Database, sqlrl.Model, bool],
) -> None:
    db, model, examples = opened
    whole = db.predict(model, method="full")
    assert whole.network is not None
    squeezed(db, 600)
    if examples:
        found = db.predict(model, method="full")
        assert found.network is None
        assert found.result.world.tolist() == whole.result.world.tolist()
        assert found.result.objective == pytest.approx(whole.result.objective)
    else:
        with pytest.raises(MemoryLimitError) as caught:
            db.predict(model, method="full")
        text = str(caught.value)
        assert text.startswith("<text>:3: N(x, y, e) ^ Q(x, e) => Q(y, e) has 360 ground clauses (its shape is ")
        for words in ("400 query atoms", "171 kB that a memory limit of 500 MB leaves", "fewer examples=", "a scope"):
            assert words in text
        assert "predict(method='cutting-plane')" in text
        assert "connect(memory_limit='1GB')" in text
    # Nothing is left half done, and what the database may take is what it was.
    squeezed(db, 10**6)
    assert db.predict(model, method="full").result.world.tolist() == whole.result.world.tolist()


@pytest.mark.parametrize(
    "learner",
    [pytest.param(sqlrl.PSCG(max_iterations=2), marks=pytest.mark.slow), sqlrl.MaxMargin(), sqlrl.AdaGrad(passes=1)],
)
def test_learners_are_refused_what_does_not_fit(
    opened: tuple[sqlrl.Database, sqlrl.Model, bool], learner: sqlrl.PSCG
) -> None:
    db, model, examples = opened
    squeezed(db, 600)
    if examples and isinstance(learner, sqlrl.AdaGrad):
        learner.fit(db, model)
        return
    with pytest.raises(MemoryLimitError, match="ground clauses"):
        learner.fit(db, model)


def test_marginals_are_refused_what_does_not_fit(opened: tuple[sqlrl.Database, sqlrl.Model, bool]) -> None:
    db, model, examples = opened
    squeezed(db, 600)
    if examples:
        assert db.probabilities(model, samples=20).network_atoms.ids.tolist() == list(range(1, 401))
    else:
        with pytest.raises(MemoryLimitError, match="ground clauses"):
            db.probabilities(model, samples=20)


def test_what_windows_found_needs_memory_too(opened: tuple[sqlrl.Database, sqlrl.Model, bool]) -> None:
    db, model, _ = opened
    squeezed(db, 10)
    with pytest.raises(MemoryLimitError, match="400 query atoms would take about"):
        db.predict(model, method="full")


# ---- the limit of a process --------------------------------------------------------------------------


@pytest.mark.parametrize(("limit", "share"), [("1GB", "619.8 MiB"), ("4GB", "3.3 GiB"), ("200MB", "190.7 MiB")])
def test_the_database_has_a_share_of_the_limit(limit: str, share: str, tmp_path: Path) -> None:
    for target in (":memory:", tmp_path / "a.duckdb"):
        with sqlrl.connect(target, memory_limit=limit, progress=False) as db:
            assert db.sql("select current_setting('memory_limit')").fetchall() == [(share,)]
            assert db.advanced.engine.memory.apart == (limit == "200MB")
            assert db.cursor().advanced.engine.memory == db.advanced.engine.memory


def test_the_share_comes_back_after_a_call() -> None:
    with sqlrl.connect(memory_limit="1GB", progress=False) as db:
        db.load("D", "select 'c' || range from range(200000)", types=("t",))
        setting = "select current_setting('memory_limit')"
        before = db.sql(setting).fetchall()
        with db.advanced.session.program(sqlrl.parse_mln("D(t)\nQ(t)\n1 D(x) => Q(x)", query=["Q"])) as program:
            assert len(ground_network(Extent(program)).atoms) == 200_000
            assert db.sql(setting).fetchall() != before
        assert db.sql(setting).fetchall() == before


def test_a_sealed_database_shares_once_for_all() -> None:
    memory = Memory.of(2 * 10**9, fixed=True)
    assert memory.arrays == memory.share() == memory.share(arrays=10**9) == (2 * 10**9 - PROCESS) // 2


def test_the_limit_is_that_of_the_machine_where_nobody_gives_one() -> None:
    with sqlrl.connect(progress=False) as db:
        found = db.advanced.engine.memory
        assert not found.given
        # What the imports have taken already comes on top of a part of what is available.
        assert found.limit < SHARE * machine_memory() + PROCESS
        [(share,)] = db.sql("select value from duckdb_settings() where name = 'memory_limit'").fetchall()
        assert share != _usual_limit()
        db.load("D", [("a",), ("b",)], types=("t",))
        db.advanced.engine.memory = Memory(100, given=False, apart=True)
        with pytest.raises(SqlrlError, match=r"2 query atoms would take about .* the available memory of 100 bytes"):
            db.predict(sqlrl.parse_mln("D(t)\nQ(t)\n1 D(x) => Q(x)", query=["Q"]))


def test_batches_with_lists_of_witnesses_are_small(monkeypatch: pytest.MonkeyPatch) -> None:
    n = 6_000
    monkeypatch.setattr("sqlrl.ground.pipeline.ROWS_PER_BATCH", n * 100)
    rules = "0.5 Q(x) => EXIST y (N(x, y) ^ Q(y))\n0.5 N(x, y) ^ Q(x) => Q(y)"
    near = [(f"C{i}", f"C{(i + k) % n}") for i in range(n) for k in (1, 2)]
    extent = Extent(sample_program(DECLARED + rules, ["Q"], {"N": near, "P": [("C1",)], "S": [("C1", "C2")]}))
    pipeline = Pipeline(extent, AtomIndex(np.arange(1, n + 1)), np.zeros(2, object))
    rows = {bool(each.plan.list_signs): [batch.num_rows for batch in pipeline.batches(each)] for each in plans(extent)}
    assert max(rows[True]) <= 2_048
    assert sum(rows[True]) == n
    assert rows[False] == [2 * n]
