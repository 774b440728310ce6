"""How good predictions are: metrics over atoms and examples, and splits for cross-validation."""

from sqlrl.evaluate.fields import score_fields
from sqlrl.evaluate.metrics import Counts, ExampleScores, Scores, score
from sqlrl.evaluate.probabilities import (
    Calibration,
    ProbabilityScores,
    auc_roc,
    average_precision,
    calibration,
    score_probabilities,
)
from sqlrl.evaluate.rankings import LeftOut, RankingComparison, RankingScores, score_rankings
from sqlrl.evaluate.seen import Seen
from sqlrl.evaluate.soft_truths import SoftScores, score_values
from sqlrl.evaluate.validation import (
    Fold,
    MeanDeviation,
    PairedDifference,
    k_fold,
    leave_one_group_out,
    mean_and_deviation,
    paired_difference,
)

__all__ = [
    "Calibration",
    "Counts",
    "ExampleScores",
    "Fold",
    "LeftOut",
    "MeanDeviation",
    "PairedDifference",
    "ProbabilityScores",
    "RankingComparison",
    "RankingScores",
    "Scores",
    "Seen",
    "SoftScores",
    "auc_roc",
    "average_precision",
    "calibration",
    "k_fold",
    "leave_one_group_out",
    "mean_and_deviation",
    "paired_difference",
    "score",
    "score_fields",
    "score_probabilities",
    "score_rankings",
    "score_values",
]
