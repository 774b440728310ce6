"""The parameters of each update rule, checked when they are made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from sqlrl.errors import InputError
from sqlrl.learn.adagrad import Rates
from sqlrl.learn.additive import AdditiveRates
from sqlrl.learn.decaying import DecayingRates
from sqlrl.learn.parameters import Parameters, check_choice, check_flag, check_integer, check_number

Update = Literal["maximal", "prediction"]
LabelLoss = Literal["hamming", "f1"]
Counts = Literal["gibbs", "mpe"]

_SIGMA = "the longest step at step t is 1 / (sigma * t); the default is 0.0001"


@dataclass(frozen=True)
class AdaGradParameters(Parameters):
    """How ADAGRAD_FB learns; see `Parameters` for what all learners have.

    Parameters
    ----------
    regularization, learning_rate, delta : float
        Lambda, eta and delta of equation 1.
    loss_augmented : bool
        Take delta n against the world that is most probable when each wrong atom adds 1, instead of the most probable
        world (Algorithm 1, line 4).

    Raises
    ------
    InputError
        A value is out of range; the message says which.
    """

    regularization: float = 0.001
    learning_rate: float = 1.0
    delta: float = 1.0
    loss_augmented: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, low, strict, remedy in (
            ("regularization", 0.0, False, "use 0 for no L1 penalty; the OSL paper uses 0.001"),
            ("learning_rate", 0.0, True, "the OSL paper uses 1"),
            ("delta", 0.0, False, "the OSL paper uses 1"),
        ):
            check_number(name, getattr(self, name), low, strict, remedy)
        check_flag("loss_augmented", self.loss_augmented)

    @property
    def rates(self) -> Rates:
        """The numbers of equation 1 as floats."""
        return Rates(float(self.regularization), float(self.learning_rate), float(self.delta))

    @property
    def remedy(self) -> str:
        """What to change when weights grow out of range."""
        return "lower learning_rate, or raise delta"

    @property
    def loss_added(self) -> bool:
        """Whether delta n is taken from the world that is most probable when each wrong atom adds 1."""
        return self.loss_augmented


def _check_loss(label_loss: str, update: str) -> None:
    check_choice("update", update, ("maximal", "prediction"))
    check_choice("label_loss", label_loss, ("hamming", "f1"))
    if label_loss == "f1" and update == "maximal":
        raise InputError(
            "label_loss='f1' cannot go with update='maximal': the maximal loss label needs a loss that is a sum over atoms, "
            "as Hamming loss is, and 1 - F1 is a quotient of such sums; use update='prediction', or label_loss='hamming'"
        )


@dataclass(frozen=True)
class CDAParameters(Parameters):
    """How CDA learns; see `Parameters` for what all learners have.

    Parameters
    ----------
    sigma : float
        Sigma of Algorithm 5.1.
    update : {"maximal", "prediction"}
        The world whose loss a step lessens: the one that is most probable when each wrong atom adds 1, or the most
        probable one.
    label_loss : {"hamming", "f1"}
        The margin that is asked for.

    Raises
    ------
    InputError
        A value is out of range, or 1 - F1 is to go with the maximal loss.
    """

    sigma: float = 0.0001
    update: Update = "maximal"
    label_loss: LabelLoss = "hamming"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number("sigma", self.sigma, 0.0, True, _SIGMA)
        _check_loss(self.label_loss, self.update)

    @property
    def rates(self) -> DecayingRates:
        """The numbers of Algorithm 5.1."""
        return DecayingRates(float(self.sigma), True, self.label_loss == "f1")

    @property
    def remedy(self) -> str:
        """What to change when weights grow out of range."""
        return "raise sigma"

    @property
    def loss_added(self) -> bool:
        """Whether the maximal loss is learned from."""
        return self.update == "maximal"


@dataclass(frozen=True)
class SubgradientParameters(Parameters):
    """How the subgradient method learns; see `Parameters` for what all learners have.

    Parameters
    ----------
    sigma : float
        The step at step t is 1 / (sigma * t).
    update : {"maximal", "prediction"}
        As for CDA.

    Raises
    ------
    InputError
        A value is out of range.
    """

    sigma: float = 0.0001
    update: Update = "maximal"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number("sigma", self.sigma, 0.0, True, _SIGMA)
        check_choice("update", self.update, ("maximal", "prediction"))

    @property
    def rates(self) -> DecayingRates:
        """The numbers of section 5.2's last formula."""
        return DecayingRates(float(self.sigma), False, False)

    @property
    def remedy(self) -> str:
        """What to change when weights grow out of range."""
        return "raise sigma"

    @property
    def loss_added(self) -> bool:
        """Whether the maximal loss is learned from."""
        return self.update == "maximal"


@dataclass(frozen=True)
class MIRAParameters(Parameters):
    """How 1-best MIRA learns; see `Parameters` for what all learners have.

    Parameters
    ----------
    label_loss : {"hamming", "f1"}
        The margin that is asked for.

    Raises
    ------
    InputError
        The loss is not known.
    """

    label_loss: LabelLoss = "hamming"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("label_loss", self.label_loss, ("hamming", "f1"))

    @property
    def rates(self) -> AdditiveRates:
        """The numbers of section 5.3.2."""
        return AdditiveRates(1.0, True, self.label_loss == "f1")

    @property
    def remedy(self) -> str:
        """What to change when weights grow out of range."""
        return "look for soft evidence near 0 or 1, which makes single steps long, or learn with CDA"


@dataclass(frozen=True)
class PerceptronParameters(Parameters):
    """How the structured perceptron learns; see `Parameters` for what all learners have."""

    @property
    def rates(self) -> AdditiveRates:
        """Whole steps along delta n."""
        return AdditiveRates(1.0, False, False)

    @property
    def remedy(self) -> str:
        """What to change when weights grow out of range."""
        return "learn with a learner whose steps can be made shorter, such as AdaGrad"


@dataclass(frozen=True)
class ContrastiveDivergenceParameters(Parameters):
    """How contrastive divergence learns; see `Parameters` for what all learners have.

    Parameters
    ----------
    counts : {"gibbs", "mpe"}
        Where delta n is taken from: the world after `burst` sweeps of a Markov chain that starts at the labels, or the most
        probable world.
    learning_rate : float
        The factor of delta n.
    burst : int
        Sweeps of the chain, 1 or more.

    Raises
    ------
    InputError
        A value is out of range.
    """

    counts: Counts = "gibbs"
    learning_rate: float = 0.1
    burst: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("counts", self.counts, ("gibbs", "mpe"))
        check_number(
            "learning_rate", self.learning_rate, 0.0, True, "each step moves weights by learning_rate * delta n"
        )
        check_integer("sweeps", self.burst, 1)

    @property
    def rates(self) -> AdditiveRates:
        """Steps along delta n."""
        return AdditiveRates(float(self.learning_rate), False, False)

    @property
    def remedy(self) -> str:
        """What to change when weights grow out of range."""
        return "lower learning_rate"

    @property
    def sweeps(self) -> int:
        """Sweeps of the chain from whose end delta n is taken; 0 if it is taken from a most probable world."""
        return self.burst if self.counts == "gibbs" else 0
