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
from sqlrl.evaluate.seen import Seen
from sqlrl.evaluate.validation import Fold, MeanDeviation, k_fold, leave_one_group_out, mean_and_deviation

__all__ = [
    "Calibration",
    "Counts",
    "ExampleScores",
    "Fold",
    "MeanDeviation",
    "ProbabilityScores",
    "Scores",
    "Seen",
    "auc_roc",
    "average_precision",
    "calibration",
    "k_fold",
    "leave_one_group_out",
    "mean_and_deviation",
    "score",
    "score_fields",
    "score_probabilities",
]
