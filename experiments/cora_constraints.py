"""Hard constraints on the Cora references: which to enforce in training, leaving one group of references out.

Huynh, "Discriminative Learning with Markov Logic Networks" (thesis, 2011), table 7.2; the systems are those of
`citeseer_constraints.py`. The thesis' Cora file is not public: these are McCallum's tagged references, other papers and more fields,
mapped to author, title and venue as `cora.py` says. The paper's rows are of other data.

    python experiments/cora_constraints.py [--system NAME] [--fold NAME] [--quick] [--processes N] [--seed N] [--db FILE] [--json FILE]
                                       [--data DIR]
"""

from __future__ import annotations

from citations import AUTHORS
from harness import read_options
from segmentation import SYSTEMS, Paper, experiment

SIGMA = 0.002

PAPER: Paper = {
    "No constraints": (96.46, 0.45, 92.58, 3.08, 55.91, 3.96, 2.6),
    "L+I": (98.88, 0.21, 93.74, 0.86, 81.30, 1.86, 2.6),
    "IBT": (98.92, 0.40, 95.63, 1.74, 84.45, 7.50, 266.3),
    "IBT-Approx": (87.06, 1.98, 62.12, 4.69, 13.61, 5.15, 87.2),
    "SCT": (98.98, 0.49, 96.04, 1.83, 85.39, 7.08, 22.0),
    "SCT-": (98.10, 0.90, 94.73, 2.08, 71.40, 9.51, 22.0),
}


def main() -> None:
    """Run the experiment."""
    options = read_options(
        "Hard constraints on Cora references, one group left out.",
        needs=("citeseer", "cora-references"),
        folds=AUTHORS,
        choices={"system": tuple(SYSTEMS)},
    )
    title = "Cora references (not the paper's file: McCallum's, mapped to author, title, venue), leave one group out"
    experiment(options, "cora", SIGMA, PAPER, script="cora_constraints", title=title)


if __name__ == "__main__":
    main()
