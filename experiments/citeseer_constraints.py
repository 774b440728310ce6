"""Hard constraints on the CiteSeer citations: which to enforce in training, leaving one topic out.

Huynh, "Discriminative Learning with Markov Logic Networks" (thesis, 2011), table 7.1: no constraints, learning plus inference (L+I),
inference based training (IBT, and IBT-Approx with the rounded linear relaxation), and selectively constrained training (SCT, and
SCT- without the expensive constraints in prediction). F1 of tokens and of fields, share of right citations, seconds of training.

    python experiments/citeseer_constraints.py [--system NAME] [--fold NAME] [--quick] [--processes N] [--seed N] [--db FILE] [--json FILE]
                                       [--data DIR]
"""

from __future__ import annotations

from citations import TOPICS
from harness import read_options
from segmentation import SYSTEMS, Paper, experiment

SIGMA = 0.0001

PAPER: Paper = {
    "No constraints": (93.53, 2.63, 84.41, 8.63, 37.25, 12.50, 12.1),
    "L+I": (95.10, 2.51, 85.85, 9.61, 63.30, 22.59, 12.1),
    "IBT": (95.53, 2.04, 88.00, 6.75, 66.83, 17.95, 322.8),
    "IBT-Approx": (90.37, 3.73, 69.48, 15.55, 20.45, 15.04, 64.4),
    "SCT": (95.64, 2.05, 87.97, 6.85, 66.72, 18.72, 37.4),
    "SCT-": (94.61, 1.95, 84.70, 7.91, 43.24, 10.37, 37.4),
}


def main() -> None:
    """Run the experiment."""
    options = read_options(
        "Hard constraints on CiteSeer, one topic left out.",
        needs="citeseer",
        folds=TOPICS,
        choices={"system": tuple(SYSTEMS)},
    )
    title = "CiteSeer, hard constraints, leave one topic out"
    experiment(options, "citeseer", SIGMA, PAPER, script="citeseer_constraints", title=title)


if __name__ == "__main__":
    main()
