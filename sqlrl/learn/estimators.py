"""The online learners of weights, as estimators over a database."""

from __future__ import annotations

from typing import Any, Unpack

from sqlrl.errors import InputError
from sqlrl.learn.online import Common, OnlineEstimator
from sqlrl.learn.settings import (
    AdaGradParameters,
    CDAParameters,
    ContrastiveDivergenceParameters,
    Counts,
    LabelLoss,
    MIRAParameters,
    PerceptronParameters,
    SubgradientParameters,
    Update,
)


class AdaGrad(OnlineEstimator):
    """Learns the weights of a model online with ADAGRAD_FB (Huynh and Mooney 2011, section 3.2).

    Every clause learns at its own pace, and an L1 penalty draws weights to 0.

    Parameters
    ----------
    regularization : float
        Lambda, the weight of the L1 penalty.
    learning_rate : float
        Eta.
    delta : float
        Added to the root of each clause's summed squares.
    loss : {"hamming"}
        The loss that is recorded: atoms predicted wrongly.
    loss_augmented : bool
        Learn from the world that is most probable when each wrong atom adds 1, instead of the most probable one.
    **common
        See `sqlrl.learn.OnlineEstimator`, also for the attributes.

    Examples
    --------
    >>> AdaGrad(regularization=0.01)
    AdaGrad(regularization=0.01)
    """

    settings = AdaGradParameters
    own = ("regularization", "learning_rate", "delta", "loss", "loss_augmented")

    def __init__(
        self,
        regularization: float = 0.001,
        learning_rate: float = 1.0,
        delta: float = 1.0,
        *,
        loss: str = "hamming",
        loss_augmented: bool = False,
        **common: Unpack[Common],
    ) -> None:
        super().__init__(**common)
        self.regularization, self.learning_rate, self.delta = regularization, learning_rate, delta
        self.loss, self.loss_augmented = loss, loss_augmented

    def _settings(self) -> dict[str, Any]:
        if self.loss != "hamming":
            raise InputError(f"loss={self.loss!r} is not known: the only loss of this learner is 'hamming'")
        return {name: value for name, value in super()._settings().items() if name != "loss"}


class CDA(OnlineEstimator):
    """Learns the weights of a model online by coordinate dual ascent (Huynh 2011, Algorithm 5.1).

    Steps are as long as the loss asks for, and at most 1 / (sigma * t): bold at first, careful later.

    Parameters
    ----------
    sigma : float
        The weight of the regulariser. Choose it on training data.
    update : {"maximal", "prediction"}
        CDA-ML: learn from the maximal loss label, the world that is most probable when each wrong atom adds 1; or CDA-PL:
        from the most probable world.
    label_loss : {"hamming", "f1"}
        What the labels should score above the other world: its number of wrong atoms, or 1 - F1 of its true atoms. The
        maximal loss label needs Hamming loss, since 1 - F1 is no sum over atoms.
    **common
        See `sqlrl.learn.OnlineEstimator`, also for the attributes.

    Notes
    -----
    Soft evidence is a feature with a fixed weight: what it adds to the labels' score over the other world's counts towards
    the loss, and does not shrink.

    Examples
    --------
    >>> CDA(0.01, update="prediction", label_loss="f1")
    CDA(sigma=0.01, update='prediction', label_loss='f1')
    """

    settings = CDAParameters
    own = ("sigma", "update", "label_loss")

    def __init__(
        self,
        sigma: float = 0.0001,
        *,
        update: Update = "maximal",
        label_loss: LabelLoss = "hamming",
        **common: Unpack[Common],
    ) -> None:
        super().__init__(**common)
        self.sigma, self.update, self.label_loss = sigma, update, label_loss


class MIRA(OnlineEstimator):
    """Learns the weights of a model online with 1-best MIRA (McDonald, Crammer and Pereira 2005; Huynh 2011, section 5.3.2).

    Each step is the shortest one after which the labels score higher than the prediction by its loss.

    Parameters
    ----------
    label_loss : {"hamming", "f1"}
        As for `CDA`.
    **common
        See `sqlrl.learn.OnlineEstimator`, also for the attributes.

    Examples
    --------
    >>> MIRA(passes=2)
    MIRA(passes=2)
    """

    settings = MIRAParameters
    own = ("label_loss",)

    def __init__(self, *, label_loss: LabelLoss = "hamming", **common: Unpack[Common]) -> None:
        super().__init__(**common)
        self.label_loss = label_loss


class Subgradient(OnlineEstimator):
    """Learns the weights of a model online by the subgradient method (Ratliff, Bagnell and Zinkevich 2007; Huynh 2011, section 5.2).

    Steps have the length 1 / (sigma * t), whatever the loss is.

    Parameters
    ----------
    sigma, update
        As for `CDA`.
    **common
        See `sqlrl.learn.OnlineEstimator`, also for the attributes.

    Examples
    --------
    >>> Subgradient(0.01)
    Subgradient(sigma=0.01)
    """

    settings = SubgradientParameters
    own = ("sigma", "update")

    def __init__(self, sigma: float = 0.0001, *, update: Update = "maximal", **common: Unpack[Common]) -> None:
        super().__init__(**common)
        self.sigma, self.update = sigma, update


class Perceptron(OnlineEstimator):
    """Learns the weights of a model online with the structured perceptron (Collins 2002).

    Where the prediction is wrong, the difference of the counts is added to the weights.

    Parameters
    ----------
    **common
        See `sqlrl.learn.OnlineEstimator`, also for the attributes.

    Examples
    --------
    >>> Perceptron(average=False)
    Perceptron(average=False)
    """

    settings = PerceptronParameters


class ContrastiveDivergence(OnlineEstimator):
    """Learns the weights of a model online by contrastive divergence (Hinton 2002; Lowd and Domingos 2007).

    Parameters
    ----------
    counts : {"gibbs", "mpe"}
        Learn from the world after some sweeps of Gibbs sampling that starts at the labels, or from the most probable world.
        Sampling draws blocks as one; where hard clauses are left that are no blocks, it takes steps of MC-SAT. The predicted world
        then serves progressive validation alone: what only a long search could prove is the linear relaxation's world, rounded and
        improved by local search.
    learning_rate : float
        The factor of each difference of counts.
    sweeps : int
        Sweeps of sampling in each step.
    **common
        See `sqlrl.learn.OnlineEstimator`, also for the attributes.

    Examples
    --------
    >>> ContrastiveDivergence("mpe", learning_rate=0.5)
    ContrastiveDivergence(counts='mpe', learning_rate=0.5)
    """

    settings = ContrastiveDivergenceParameters
    own = ("counts", "learning_rate", "sweeps")

    def __init__(
        self, counts: Counts = "gibbs", *, learning_rate: float = 0.1, sweeps: int = 1, **common: Unpack[Common]
    ) -> None:
        super().__init__(**common)
        self.counts, self.learning_rate, self.sweeps = counts, learning_rate, sweeps

    def _settings(self) -> dict[str, Any]:
        return {"counts": self.counts, "learning_rate": self.learning_rate, "burst": self.sweeps}
