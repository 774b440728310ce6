"""How OSL learns, as values that were checked."""

from __future__ import annotations

from dataclasses import dataclass

from sqlrl.learn.adagrad import AdaGradRates
from sqlrl.learn.settings import Parameters


@dataclass(frozen=True, kw_only=True)
class OSLParameters(Parameters):
    """How OSL learns; `OSL` says what the parameters mean, and makes them."""

    rates: AdaGradRates
    max_length: int
    min_count_difference: int
    pool: int
    longest_only: bool
    look_ahead: bool
