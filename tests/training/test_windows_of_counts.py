"""Learning by windows of examples what is learned of all at once: counts of pseudo-likelihood, and hinges in parts that files keep."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sqlrl
from sqlrl.engine.memory import Memory
from sqlrl.errors import InputError, MemoryLimitError
from sqlrl.ground.hinge_network import HingeNetwork
from sqlrl.training import blankets, soft
from sqlrl.training.hinge_parts import HingeParts
from sqlrl.training.records import Iteration
from sqlrl.training.shelf import Shelf
from tests.effort import draws

# ---- pseudo-likelihood ---------------------------------------------------------------------------------

DECLARED = "Near(town, person, person)\nRich(town, person)\nHappy(town, person)\nLucky(town, person)\nOdd(person)\n"
APART = [
    "Happy(t, x)",
    "Rich(t, x) => Happy(t, x)",
    "Near(t, x, y) ^ Happy(t, x) => Happy(t, y)",
    "Near(t, x, y) ^ Near(t, y, z) ^ Happy(t, x) => Happy(t, z)",
    "Odd(x) ^ Happy(t, x)",
    "Near(t, x, y) ^ Lucky(t, y) => Happy(t, x)",
    "Happy(t, +x) v Rich(t, +x)",
    "Near(t, x, y) => EXIST z (Near(t, x, z) ^ Happy(t, z))",
]
OF_SEVERAL = ["Rich(u, x) => Happy(t, x)", "Near(t, x, y) ^ Rich(u, y) => Happy(t, x)", "Odd(x)"]
PAIRS = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 4), st.integers(0, 4)), min_size=8, max_size=30)


def database(pairs: list[tuple[int, int, int]], seed: int, *, soft_evidence: bool) -> sqlrl.Database:
    random = np.random.default_rng(seed)
    db = sqlrl.connect(progress=False)
    near = sorted({(f"t{t}", f"p{x}", f"p{y}") for t, x, y in pairs})
    people = sorted({(t, x) for t, *two in near for x in two})
    db.load("Near", near, types=["town", "person", "person"], example="town")
    for name, share in (("Rich", 0.5), ("Lucky", 0.3)):
        some = [p for p in people if random.random() < share] or people[:1]
        db.load(name, some, types=["town", "person"])
    happy = [p for p in people if random.random() < 0.6] or people[:1]
    db.load("Happy", happy, types=["town", "person"], target=True)
    known = [(*p, random.random() < 0.5) for p in people if p not in happy and random.random() < 0.3]
    if known:
        db.load("Happy", known, types=["town", "person"], truth=2, given=True)
    db.load("Odd", [(f"p{i}",) for i in range(0, 5, 2)], types=["person"])
    if soft_evidence:
        rows = [(*p, 0.2 + 0.6 * random.random()) for p in people if p not in {x[:2] for x in known}]
        db.load("Happy", rows, types=["town", "person"], probability=2)
    return db


def learned(db: sqlrl.Database, model: sqlrl.Model, examples: list[str] | None, **options: object) -> list[object]:
    with warnings.catch_warnings():
        # Some rules have no ground clause in some data.
        warnings.simplefilter("ignore")
        fit = sqlrl.PseudoLikelihood(**options).fit(db, model, examples=examples)  # type: ignore[arg-type]
    counts = db.sql(
        f"select clause, groundings, n_observed from sqlrl.clause_statistics where run = {fit.run_} order by clause"
    ).fetchall()
    support = fit.support_.to_pylist()
    return [fit.weights_.tobytes(), fit.log_likelihood_, fit.predicates_.to_arrow().to_pylist(), support, counts]


@pytest.mark.slow  # each draw learns twice, a second or two
@settings(max_examples=draws(6))
@given(
    PAIRS,
    st.lists(st.sampled_from(APART), min_size=1, max_size=4, unique=True),
    st.integers(0, 100),
    st.booleans(),
    st.booleans(),
)
def test_windows_learn_the_same_bytes(
    pairs: list[tuple[int, int, int]], rules: list[str], seed: int, discriminative: bool, some: bool
) -> None:
    if any("Odd" in rule for rule in rules):
        discriminative = True  # else atoms count that no example has
    model = sqlrl.parse_mln(DECLARED + "\n".join(rules))
    db = database(pairs, seed, soft_evidence=seed % 2 == 0)
    towns = sorted({f"t{t}" for t, *_ in pairs})
    examples = towns[::2] if some else None
    whole = learned(db, model, examples, discriminative=discriminative)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blankets, "WINDOW_ROWS", 1)
        assert learned(db, model, examples, discriminative=discriminative) == whole


@pytest.mark.parametrize("rule", OF_SEVERAL)
def test_clauses_of_several_examples_are_counted_at_once(rule: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model = sqlrl.parse_mln(DECLARED + f"Happy(t, x)\n{rule}")
    db = database([(t, x, (x + 1) % 4) for t in range(5) for x in range(4)], 3, soft_evidence=False)
    whole = learned(db, model, None, discriminative=rule != "Odd(x)")
    monkeypatch.setattr(blankets, "WINDOW_ROWS", 1)
    assert learned(db, model, None, discriminative=rule != "Odd(x)") == whole


def test_windows_are_as_many_as_there_must_be(monkeypatch: pytest.MonkeyPatch) -> None:
    db = database([(t, x, (x + 1) % 4) for t in range(5) for x in range(4)], 3, soft_evidence=False)
    model = sqlrl.parse_mln(DECLARED + "\n".join(APART[:3]))
    whole = sqlrl.PseudoLikelihood(discriminative=True).fit(db, model)
    assert whole.n_statements_ == 1
    monkeypatch.setattr(blankets, "WINDOW_ROWS", 1)
    assert sqlrl.PseudoLikelihood(discriminative=True).fit(db, model).n_statements_ == 5


def test_kinds_that_do_not_fit_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    db = database([(t, x, (x + 1) % 4) for t in range(5) for x in range(4)], 3, soft_evidence=False)
    model = sqlrl.parse_mln(DECLARED + "\n".join(APART[:3]))
    monkeypatch.setattr(blankets, "WINDOW_ROWS", 1)
    db.advanced.engine.memory = Memory(1_000, apart=True)
    with pytest.raises(MemoryLimitError, match=r"^\d+ query atoms would take about .*, more than the "):
        sqlrl.PseudoLikelihood(discriminative=True).fit(db, model)


# ---- hinges in parts -----------------------------------------------------------------------------------

SOFT = """
1: Like(P, A, B) -> Friend(P, A, B) ^2
1: Friend(P, A, B) & Friend(P, B, C) & (A != B) & (B != C) & (A != C) -> Friend(P, A, C) ^2
0.5: !Friend(P, A, B)
"""


def friends(path: Path | str = ":memory:") -> sqlrl.Database:
    db, random = sqlrl.connect(path, progress=False), np.random.default_rng(0)
    pairs = [(f"s{s}", f"a{i}", f"a{j}") for s in range(6) for i in range(4) for j in range(4)]
    types = ["street", "one", "one"]
    for name, target in (("Like", False), ("Friend", True)):
        rows = [(*pair, float(random.integers(0, 5)) / 4) for pair in pairs]
        db.load(name, rows, columns=[0, 1, 2], types=types, value=3, example="street", target=target)
    return db


def no_memory(*_: object, **__: object) -> HingeNetwork:
    raise MemoryLimitError("the hinges of all examples do not fit")


def test_parts_are_stepped_along_as_the_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    db, model = friends(tmp_path / "d.duckdb"), sqlrl.parse_psl(SOFT)
    whole = sqlrl.SoftMapLikelihood(max_iterations=3).fit(db, model)
    monkeypatch.setattr(soft, "ground_hinges", no_memory)
    monkeypatch.setattr(soft, "PART_ENTRIES", 150)
    # Nothing stays in memory.
    on_disk: list[bool] = []

    class Files(Shelf[HingeNetwork]):
        def __init__(self, folder: Path | None) -> None:
            super().__init__(folder, most=0)

        def close(self) -> None:
            on_disk.append(not self.in_memory and len(self) > 1)
            super().close()

    monkeypatch.setattr(soft, "Shelf", Files)
    parts = sqlrl.SoftMapLikelihood(max_iterations=3).fit(db, model)
    assert on_disk == [True]
    # States are found to a tolerance, part by part.
    assert parts.weights_ == pytest.approx(whole.weights_, abs=1e-4)
    assert parts.result_.labelled == whole.result_.labelled
    assert parts.clauses().to_arrow().column("support") == whole.clauses().to_arrow().column("support")

    def stop(iteration: Iteration) -> None:
        if iteration.iteration == 2:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        sqlrl.SoftMapLikelihood(max_iterations=3).fit(db, model, checkpoint=True, callback=stop)
    gone = sqlrl.SoftMapLikelihood(max_iterations=3).fit(db, model, resume=parts.run_ + 1)
    assert gone.weights_.tobytes() == parts.weights_.tobytes()
    db.close()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["d.duckdb"]


@pytest.mark.parametrize("learner", [sqlrl.SoftPseudoLikelihood(), sqlrl.SoftPiecewiseLikelihood()])
def test_learners_that_need_all_hinges_refuse_before_the_work(learner: object) -> None:
    db = friends()
    db.advanced.engine.memory = Memory(400, apart=True)
    with pytest.raises(MemoryLimitError, match=r"query atoms would take about .*memory_limit="):
        learner.fit(db, sqlrl.parse_psl(SOFT))  # type: ignore[attr-defined]


def test_rules_about_several_examples_are_refused_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(soft, "ground_hinges", no_memory)
    rule = "1: Friend(P, A, B) & Like(Q, A, B) -> Friend(Q, A, B)\n"
    with pytest.raises(MemoryLimitError, match="do not fit"):
        sqlrl.SoftMapLikelihood().fit(friends(), sqlrl.parse_psl(SOFT + rule))


def test_parts_without_labels_are_refused_as_the_whole_is(monkeypatch: pytest.MonkeyPatch) -> None:
    db = sqlrl.connect(progress=False)
    db.load(
        "Like", [("s1", "a", 0.5), ("s2", "a", 0.5)], columns=[0, 1], types=["street", "one"], value=2, example="street"
    )
    db.scope("Friend", [("s1", "a"), ("s2", "a")])
    model = sqlrl.parse_psl("1: Like(P, A) -> Friend(P, A)\n1: !Friend(P, A)", query=["Friend"])
    model = model.with_types({"Like": ["street", "one"], "Friend": ["street", "one"]})
    with pytest.raises(InputError, match="none of 2 query atoms has a label"):
        sqlrl.SoftMapLikelihood().fit(db, model)
    monkeypatch.setattr(soft, "ground_hinges", no_memory)
    monkeypatch.setattr(soft, "PART_ENTRIES", 2)
    with pytest.raises(InputError, match="has a label"):
        sqlrl.SoftMapLikelihood().fit(db, model)


def test_parts_know_their_rules() -> None:
    networks = []
    db = friends()
    with db.advanced.learning.soft_training(sqlrl.parse_psl(SOFT)) as training:
        networks = [training.network] * 2
        support = training.ground
    found = HingeParts(networks, Shelf(None))
    assert found.ground.tolist() == (2 * support).tolist()
    assert [len(part.truth) for part in found] == [len(networks[0].atoms)] * 2
