"""How good predictions are: metrics over atoms and examples, and splits for cross-validation."""

from sqlrl.evaluate.fields import score_fields
from sqlrl.evaluate.metrics import Counts, ExampleScores, Scores, score
from sqlrl.evaluate.probabilities import ProbabilityScores, auc_roc, score_probabilities
from sqlrl.evaluate.validation import Fold, MeanDeviation, k_fold, leave_one_group_out, mean_and_deviation

__all__ = [
    "Counts",
    "ExampleScores",
    "Fold",
    "MeanDeviation",
    "ProbabilityScores",
    "Scores",
    "auc_roc",
    "k_fold",
    "leave_one_group_out",
    "mean_and_deviation",
    "score",
    "score_fields",
    "score_probabilities",
]
