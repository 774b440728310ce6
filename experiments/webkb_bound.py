"""Why max-margin weights with 0/1 loss are 0 on the web pages: a bound that no weights can pass.

With 0/1 loss and margin rescaling (Huynh, thesis, 2011, sections 2.3 and 4.3.2) a university costs the largest
`[y is not the labels] - w @ (n(labels) - n(y))` over its worlds y: 1 with weights of 0, and no less than 1 with any weights that give
some other world as much as the labels. The worlds in which one page has one class more or less are among these. With M, of which row a
is `n(labels) - n(labels with atom a flipped)`, a university costs at least `1 - M[a] @ w` for each of its atoms, so that for all
multipliers p >= 0 that add up to no more than 1 in each university, and all w,

    |w|^2 / 2 + C * (cost of all universities) >= C * sum(p) - C^2 * |M.T @ p|^2 / 2.

A linear program finds p with `M.T @ p = 0` and the largest sum; what its solution lacks in precision is in the last term. Where the sum
is the number of universities, weights of 0 are optimal, whatever C: words and links cannot tell all pages of a class from all others.
A fold takes one minute, the one without washington a quarter of an hour.

    python experiments/webkb_bound.py [--fold NAME] [--quick] [--db FILE] [--json FILE] [--data DIR]
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from harness import Measured, Options, Row, publish, read_options, run_jobs
from ortools.linear_solver.python import model_builder, model_builder_helper
from pages import NOTE, UNIVERSITIES, load_pages, read_pages, starting_model, university_folds
from scipy import sparse

import sqlrl
from sqlrl.evaluate import Fold
from sqlrl.ground.network import Network

C = 10000.0
"""The one of `webkb.py` for 0/1 loss, the largest of the thesis."""

QUICK_PAGES = 20

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Job:
    """One fold; `most` pages of each university."""

    folder: str
    most: int | None
    fold: Fold[str]


@dataclass(frozen=True, slots=True)
class Bound:
    """The sum of the multipliers, what the objective is at least, and what it is with weights of 0."""

    slack: float
    objective: float
    zero: float
    atoms: int
    seconds: float


def label_margins(network: Network, truth: npt.NDArray[np.bool_]) -> sparse.csr_array:
    """How much the counts of the labels exceed those of the labels with one atom flipped.

    Parameters
    ----------
    network : Network
        n atoms, m clauses.
    truth : bool array, shape (n,)
        The labels.

    Returns
    -------
    scipy.sparse.csr_array of float, shape (n, m)
    """
    n, m = network.units.shape
    units = sparse.diags_array(np.where(truth, 1.0, -1.0)) @ network.units
    atom = np.abs(network.literals) - 1
    row = np.repeat(np.arange(len(network.row_clause)), np.diff(network.indptr))
    holds = truth[atom] == (network.literals > 0)
    count = np.bincount(row[holds], minlength=len(network.row_clause))
    # Any flip mends a violated row; the flip of its only true literal violates a row.
    change = np.where(count[row] == 0, -1, np.where(holds & (count[row] == 1), 1, 0))
    size = change * (network.sign[network.row_clause] * network.multiplicity)[row]
    rows = sparse.coo_array((size.astype(np.float64), (atom, network.row_clause[row])), shape=(n, m))
    return sparse.csr_array(units + rows.tocsr())


def few_columns(margins: sparse.csr_array, pairs: int) -> sparse.csr_array:
    """Leave out columns that others span: `pairs` clauses of words that pages have, as many of words that they lack, then others.

    For one class the two columns of a word add up to the same for every word.
    """
    has, lacks = margins[:, :pairs], margins[:, pairs : 2 * pairs]
    both = sparse.csr_array(has + lacks).tocsc()
    _, first = np.unique([both[:, [i]].indices.tobytes() for i in range(pairs)], return_index=True)
    return sparse.csr_array(sparse.hstack([has, both[:, np.sort(first)], margins[:, 2 * pairs :]]))


def multipliers(margins: sparse.csr_array, example: npt.NDArray[np.int64]) -> FloatArray:
    """Return p >= 0 with `margins.T @ p` about 0 that adds up to no more than 1 in each example, and to the most in all, shape (n,).

    Raises
    ------
    RuntimeError
        The linear program was not solved.
    """
    names, place = np.unique(example, return_inverse=True)
    n, m = margins.shape
    each = sparse.csr_array((np.ones(n), (place, np.arange(n))), shape=(len(names), n))
    program: Any = model_builder.Model().helper  # type: ignore[no-untyped-call]
    program.fill_model_from_sparse_data(
        np.zeros(n),
        np.full(n, np.inf),
        -np.ones(n),
        np.concatenate([np.zeros(m), np.full(len(names), -np.inf)]),
        np.concatenate([np.zeros(m), np.ones(len(names))]),
        sparse.csr_matrix(sparse.vstack([margins.T, each])),
    )
    # The HiGHS of OR-Tools took 43 s for what took SciPy's more than 400.
    solver = model_builder_helper.ModelSolverHelper("highs")
    solver.set_solver_specific_parameters("output_flag=false")
    solver.solve(program)
    if not solver.has_solution():
        raise RuntimeError(f"the linear program was not solved: {solver.status_string()}")
    found = np.maximum(np.asarray(solver.variable_values()), 0.0)
    return np.asarray(found / max(1.0, float((each @ found).max())))


def run(job: Job) -> Bound:
    """Bound the objective of the three training universities."""
    start = time.perf_counter()
    db = sqlrl.connect(":memory:")
    pages = read_pages(job.folder, job.most)
    load_pages(db, pages)
    network = db.advanced.ground(starting_model(), examples=list(job.fold.train))
    labels = db.sql('SELECT atom, truth FROM sqlrl."atom_PageClass"').to_arrow_table().to_pydict()
    known = dict(zip(labels["atom"], labels["truth"], strict=True))
    margins = label_margins(network, np.array([known[atom] for atom in network.atoms.tolist()], dtype=np.bool_))
    classes = len(set(pages["PageClass"].column("class").to_pylist()))
    p = multipliers(few_columns(margins, (len(network.clauses) - classes**2) // 2), network.example)
    left = margins.T @ p
    objective = C * float(p.sum()) - C**2 * float(left @ left) / 2
    return Bound(float(p.sum()), objective, C * len(job.fold.train), len(p), time.perf_counter() - start)


def make_jobs(options: Options) -> list[Job]:
    """Return a job for each fold."""
    folds = [fold for fold in university_folds() if options.fold in (None, fold.name)][: 1 if options.quick else None]
    return [Job(str(options.data / "webkb"), QUICK_PAGES if options.quick else None, fold) for fold in folds]


def summarise(jobs: list[Job], results: list[Measured[Bound]]) -> list[Row]:
    """Return the table, a row for each fold."""
    return [
        {
            "held_out": job.fold.name,
            "atoms": result.value.atoms,
            "cost_at_least": round(result.value.slack, 6),
            "objective_at_least": round(result.value.objective, 2),
            "objective_of_zero": result.value.zero,
            "seconds": round(result.value.seconds, 1),
            "memory_mb": round(result.memory_mb),
        }
        for job, result in zip(jobs, results, strict=True)
    ]


def main() -> None:
    """Run the experiment."""
    options = read_options(
        f"A bound of max-margin weights with 0/1 loss on web pages ({NOTE}).", needs="webkb", folds=UNIVERSITIES
    )
    jobs = make_jobs(options)
    results = run_jobs(
        run, [(job,) for job in jobs], options.console(), "bounds", options.processes, journal=options.journal
    )
    title = f"WebKB, 0/1 loss, C = {C:g}: what all weights cost at least on the other universities; {NOTE}"
    if options.quick:
        title += f"; quick: {QUICK_PAGES} pages of each university, one fold"
    publish(
        "webkb_bound",
        summarise(jobs, results),
        options,
        title=title,
        parameters={"data": NOTE, "C": C},
    )


if __name__ == "__main__":
    main()
