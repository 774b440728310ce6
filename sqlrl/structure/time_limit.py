"""How long a search may take: a limit, and the estimate after the first minute that refuses a search which would take longer."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated

from sqlrl.errors import Parameter, TimeLimitError, Written
from sqlrl.learn.parameters import Above, Option
from sqlrl.wording import both_numbers

TimeLimit = Annotated[
    float,
    Above(0.0, "it is a number of seconds"),
    Option("stop a search that would take more seconds, as estimated after its first minute", value="SECONDS"),
]

DAY = 86_400.0
"""Seconds that a search may take where nobody says how many."""

ESTIMATED_AFTER = 60.0
"""Seconds after which the time of a whole search is estimated."""


@dataclass
class SearchTime:
    """The time that a search may take; it is looked at once."""

    limit: float
    estimated: bool = False

    def check(self, seconds: float, share: float, searched: str, remedies: str) -> None:
        """Refuse a search that would take too long, given the share of it that took some seconds, what that was, and what shortens it."""
        if self.estimated or seconds < ESTIMATED_AFTER or not share:
            return
        self.estimated = True
        needed = seconds * (1 - share) / share
        if needed <= self.limit:
            return
        hours, most = both_numbers(needed / 3600, self.limit / 3600)
        raise TimeLimitError(
            f"the search would take about {hours} hours more, by the {searched} that it took {seconds:.0f} s to search: more than the {most} hours that "
            f"{Parameter('time_limit', Written(f'{self.limit:g}'))} allows. Try {remedies}, or let it take its time with "
            f"{Parameter('time_limit', Written(f'{math.ceil(2 * needed)}'))}"
        )
