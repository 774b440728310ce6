"""The same input and seed give the same bytes, with any number of threads and whatever order the rows of sources have.

The cases are those of `scripts/bench/same_results.py`, of the smallest size; each learner and each kind of inference is here once, the
others differ in parameters or data. No sums are kept here: floats may differ on another processor.
"""

from __future__ import annotations

import pytest
from same_results import CASES, Found, Setting, run

NAMES = (
    "AdaGrad",
    "CDA, F1",
    "MIRA, passes",
    "Subgradient",
    "Perceptron",
    "ContrastiveDivergence",
    "OSL from nothing",
    "ILP and Likelihood",
    "MaxMargin, transitivity",
    "PSCG",
    "VotedPerceptron",
    "worlds: friends",
    "worlds: records",
    "marginals: friends",
    "samples",
    "counts: friends",
    "export: friends",
    "kept prediction",
)
NUMBERED = ("PSCG, documents",)
"""Cases whose results depend on the order of rows: examples are numbered as they appear, and draw their random numbers in that order."""


def in_any_order(found: Found) -> dict[str, list[bytes]]:
    """Return what was made with the atoms of worlds sorted: they are in the order of their examples, which is that of the data."""
    return {
        what: sorted(content.splitlines()) if " of " in what else content.splitlines()
        for what, content in found.items()
    }


# A run takes up to a second, and each case two; those of the quick tier are of a learner and of a query.
OFTEN = ("AdaGrad", "counts: friends")


@pytest.mark.parametrize(
    "name", [name if name in OFTEN else pytest.param(name, marks=pytest.mark.slow) for name in NAMES]
)
def test_neither_threads_nor_the_order_of_rows_matter(name: str) -> None:
    first = run(name, Setting(small=True, threads=1))
    second = run(name, Setting(small=True, threads=2, shuffle=1))
    assert in_any_order(first) == in_any_order(second)
    assert any(content.count(b"\n") > 2 for content in first.values())


@pytest.mark.slow
@pytest.mark.parametrize("name", NUMBERED)
def test_threads_do_not_matter(name: str) -> None:
    assert run(name, Setting(small=True, threads=1)) == run(name, Setting(small=True, threads=2))


def test_only_cases_that_there_are_are_named() -> None:
    assert {*NAMES, *NUMBERED} <= set(CASES)
