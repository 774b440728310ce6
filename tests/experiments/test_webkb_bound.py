"""The bound on max-margin weights with 0/1 loss, against counts one ground clause after the other and against the learner itself."""

from __future__ import annotations

from pathlib import Path
from random import Random

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import webkb_bound
from hypothesis import given
from hypothesis import strategies as st
from pages import UNIVERSITIES, load_pages, read_pages, starting_model
from scipy import sparse
from webkb_bound import C, Job, few_columns, label_margins, multipliers, run

import sqlrl
from sqlrl.evaluate import Fold
from sqlrl.solve.sample_networks import network
from tests.solve.networks import Problem, problems


@given(problems(), st.randoms(use_true_random=False))
def test_margins_are_differences_of_counts(problem: Problem, random: Random) -> None:
    net = problem.network()
    truth = [random.random() < 0.5 for _ in range(problem.atoms)]
    found = label_margins(net, np.array(truth, dtype=np.bool_)).toarray()
    for k in range(problem.atoms):
        flipped = [value != (i == k) for i, value in enumerate(truth)]
        expected = np.subtract(problem.count(tuple(truth)), problem.count(tuple(flipped)))
        assert found[k].tolist() == expected.tolist()


def test_atoms_alike_with_other_labels_cost_all_there_is() -> None:
    # Atoms 1 and 2 have the same clauses and other labels, in two examples; atom 3 can be told from both.
    net = network(3, [(0, [1]), (0, [2]), (1, [3])])
    margins, example = label_margins(net, np.array([True, False, True])), np.array([0, 1, 1])
    p = multipliers(margins, example)
    assert p.sum() == pytest.approx(2)
    assert np.abs(margins.T @ p).max() < 1e-9


def test_labels_that_can_be_told_apart_cost_nothing() -> None:
    margins = label_margins(network(2, [(0, [1]), (1, [2])]), np.array([True, False]))
    assert multipliers(margins, np.array([0, 1])).sum() == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_fewer_columns_span_the_same(seed: int) -> None:
    random = np.random.default_rng(seed)
    has = random.integers(0, 2, (12, 5))
    of_class = np.repeat(np.eye(2, dtype=np.int64), 6, axis=0)
    pairs = (
        np.hstack([has * of_class[:, [c]] for c in range(2)]),
        np.hstack([(1 - has) * of_class[:, [c]] for c in range(2)]),
    )
    full = sparse.csr_array(np.hstack([*pairs, random.integers(-2, 3, (12, 1))]).astype(np.float64))
    few = few_columns(full, 10)
    assert few.shape[1] == 13
    rank = np.linalg.matrix_rank
    assert rank(few.toarray()) == rank(full.toarray()) == rank(np.hstack([few.toarray(), full.toarray()]))


def write_pages(folder: Path, words: list[list[str]], classes: list[list[str]]) -> None:
    """Write pages of three universities in turn, with their words and classes, page k linked to page k + 3."""
    names = [f"p{k:02d}" for k in range(len(words))]
    tables = {
        "page": [{"page": page, "university": UNIVERSITIES[1 + k % 3]} for k, page in enumerate(names)],
        "has": [{"word": w, "page": page} for page, found in zip(names, words, strict=True) for w in found],
        "linked": [{"page1": a, "page2": b} for a, b in zip(names, names[3:], strict=False)],
        "page_class": [{"class": c, "page": page} for page, found in zip(names, classes, strict=True) for c in found],
    }
    for name, rows in tables.items():
        pq.write_table(pa.Table.from_pylist(rows), folder / f"{name}.parquet")


JOB = Fold("cornell", UNIVERSITIES[1:], UNIVERSITIES[:1])


def test_pages_alike_with_other_classes_cost_all_there_is(tmp_path: Path) -> None:
    # Six pages in each university, linked in a row: the two in the middle are alike, and so are their neighbours.
    middle = [["course"], ["course"], ["course"], [], [], []]
    write_pages(
        tmp_path, [["w"]] * 18, [["staff"], ["staff"], ["staff"]] * 2 + middle + [["staff"], ["staff"], ["staff"]] * 2
    )
    found = run(Job(str(tmp_path), None, JOB))
    assert found.slack == pytest.approx(3)
    assert found.objective == pytest.approx(found.zero) == C * 3


@pytest.mark.parametrize("seed", [0])
def test_no_weights_cost_less(tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The learner itself never gets below the bound,."""
    random = np.random.default_rng(seed)
    words = [[f"w{i}" for i in range(3) if random.random() < 0.5] for _ in range(9)]
    classes = [[c for c in ("course", "staff") if random.random() < 0.4] for _ in range(9)]
    classes[0], classes[1] = ["course", "staff"], []
    write_pages(tmp_path, [["same", *w] for w in words], classes)
    monkeypatch.setattr(webkb_bound, "C", 5.0)
    bound = run(Job(str(tmp_path), None, JOB))
    db = sqlrl.connect()
    load_pages(db, read_pages(tmp_path))
    learner = sqlrl.MaxMargin(strength=0.2, loss="zero-one", separation="exact", epsilon=0.01, max_iterations=200)
    learner.fit(db, starting_model(), examples=list(JOB.train))
    objective = learner.choices_.to_pylist()[0]["objective"]
    assert bound.objective <= objective + 1e-6 <= bound.zero + 1e-6
