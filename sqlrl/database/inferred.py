"""What inference found, as data: a world, probabilities, or truth values. Users hold them with their methods."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from sqlrl.database.inference import Inferred
from sqlrl.ground.network import FloatArray, Network
from sqlrl.solve.result import MPEResult

if TYPE_CHECKING:
    from sqlrl.ground.hinge_network import HingeNetwork
    from sqlrl.solve.hinge.result import HingeResult
    from sqlrl.solve.sampling.belief import MarginalResult


@dataclass(frozen=True, eq=False, kw_only=True)
class InferredWorld(Inferred):
    """A world and what is proved about it; `Prediction` has its methods."""

    network: Network | None
    result: MPEResult
    options: Mapping[str, Any]
    margin: FloatArray | None = None

    @property
    def gap(self) -> float:
        """Bound minus objective, absolute."""
        return self.result.gap


@dataclass(frozen=True, eq=False, kw_only=True)
class InferredProbabilities(Inferred):
    """The probability of each query atom; `Marginals` has its methods."""

    result: MarginalResult

    @cached_property
    def visible(self) -> MarginalResult:
        """The result of the n query atoms that are reported, in the order of their ids."""
        real, found = self.reported, self.result
        arrays = {name: getattr(found, name)[real] for name in ("probability", "error", "rhat", "ess", "code")}
        return replace(found, **arrays)


@dataclass(frozen=True, eq=False, kw_only=True)
class InferredValues(Inferred):
    """The truth values of a soft model; `SoftPrediction` has its methods."""

    network: HingeNetwork | None
    result: HingeResult
