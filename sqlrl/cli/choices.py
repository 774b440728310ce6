"""What options of learning can be chosen from."""

from __future__ import annotations

from enum import StrEnum


class Learner(StrEnum):
    """Learners of weights, and osl, which learns clauses too; then batch learners; and ilp, which learns clauses alone."""

    adagrad = "adagrad"
    cda = "cda"
    mira = "mira"
    subgradient = "subgradient"
    perceptron = "perceptron"
    cd = "cd"
    osl = "osl"
    likelihood = "likelihood"
    pscg = "pscg"
    voted_perceptron = "voted-perceptron"
    max_margin = "max-margin"
    ilp = "ilp"


class Order(StrEnum):
    """Orders of the examples."""

    file = "file"
    shuffle = "shuffle"


class Truth(StrEnum):
    """What to do with examples whose labels violate hard clauses."""

    warn = "warn"
    skip = "skip"
    error = "error"


class Update(StrEnum):
    """Worlds whose loss a step lessens."""

    maximal = "maximal"
    prediction = "prediction"


class LabelLoss(StrEnum):
    """Losses of a world."""

    hamming = "hamming"
    f1 = "f1"


class Counts(StrEnum):
    """Where contrastive divergence takes counts from."""

    gibbs = "gibbs"
    mpe = "mpe"


class Inference(StrEnum):
    """How worlds are found."""

    exact = "exact"
    relaxed = "relaxed"


class Ties(StrEnum):
    """Which of several most probable worlds to learn from."""

    errors = "errors"
    first = "first"


class Constraints(StrEnum):
    """Which hard clauses training and prediction enforce; see `sqlrl.ConstrainedTraining`."""

    none = "none"
    learning_plus_inference = "l+i"
    inference_based = "ibt"
    approximate = "ibt-approx"
    selective = "sct"
    selective_only = "sct-"
