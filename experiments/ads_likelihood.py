"""Weights by exact likelihood on hotel ads, beside those of OSL and of max-margin: five random folds by ad.

As `citeseer_likelihood.py`, with the data, models and modes of `ads_osl.py`, in file order. The paper's rows are of other data (Huynh and
Mooney, "Online Structure Learning for Markov Logic Networks", 2011, table 2: apartments on Craigslist).

    python experiments/ads_likelihood.py [--system NAME] [--weights NAME] [--fold K] [--only-find] [--so-far] [--quick] [--processes N]
                                     [--db FILE] [--json FILE] [--data DIR]
"""

from __future__ import annotations

from ads_osl import PAPER
from harness import Row, read_options
from relearning import WEIGHTS
from relearning_plan import experiment, make_plan, more_options
from segmentation_sets import ADS

PAPER_ROWS: dict[str, Row] = {
    name.removeprefix("ADAGRAD_FB-"): {
        "mean": f1, "clauses": clauses, "seconds": round(60 * minutes, 1), "note": "Craigslist, other data",
    }
    for name, (f1, minutes, clauses) in PAPER.items()
}  # fmt: skip


def main() -> None:
    """Run the experiment."""
    options = read_options(
        "Weights by exact likelihood on hotel ads (for Craigslist, which is not available), five folds.",
        needs="hotel-ads",
        folds=ADS.groups,
        choices={"system": ADS.systems, "weights": (ADS.own, *WEIGHTS)},
        more=more_options(ADS, seeded=False),
    )
    plan = make_plan(ADS, options, seeded=False)
    title = "Hotel ads, a stand-in for Craigslist, weights learned again, five random folds"
    experiment(plan, options, PAPER_ROWS, script="ads_likelihood", title=title)


if __name__ == "__main__":
    main()
