"""Weights by exact likelihood on the Cora references under hard constraints, beside CDA's and max-margin's, leaving one group out.

The systems are those of `cora_constraints.py`: the hard clauses C1 to C5 that training enforces, and those that prediction does. Exact
likelihood and exact probabilities need components that are narrow: where the constraints that are enforced join too much, the table has
the first line of what the library says, in place of numbers. Rows of the paper: Huynh, "Discriminative Learning with Markov Logic Networks"
(thesis, 2011), table 7.2, of other data.

    python experiments/cora_likelihood.py [--system NAME] [--weights NAME] [--fold NAME] [--so-far] [--quick] [--processes N]
                                      [--db FILE] [--json FILE] [--data DIR]
"""

from __future__ import annotations

from cora_constraints import PAPER
from harness import Row, read_options
from relearning import WEIGHTS
from relearning_plan import experiment, make_plan, more_options
from segmentation_sets import CORA

PAPER_ROWS: dict[str, Row] = {
    name: {
        "mean": f1, "sd_folds": deviation, "f1_field": f1_field, "whole": whole, "seconds": round(60 * minutes, 1),
        "note": "another Cora file",
    }
    for name, (f1, deviation, f1_field, _, whole, _, minutes) in PAPER.items()
}  # fmt: skip


def main() -> None:
    """Run the experiment."""
    options = read_options(
        "Weights by exact likelihood on Cora references under hard constraints, one group left out.",
        needs=("citeseer", "cora-references"),
        folds=CORA.groups,
        choices={"system": CORA.systems, "weights": (CORA.own, *WEIGHTS)},
        more=more_options(CORA, seeded=False),
    )
    plan = make_plan(CORA, options, seeded=False)
    title = "Cora references (not the paper's file), weights learned again under hard constraints, leave one group out"
    experiment(plan, options, PAPER_ROWS, script="cora_likelihood", title=title)


if __name__ == "__main__":
    main()
