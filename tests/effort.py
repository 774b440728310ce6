"""How many cases tests draw: few in the quick tier, more in the slow one."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

SHARES = {"quick": 0.2, "few": 0.1, "thorough": 0.5, "all": 1.0, "search": 100.0}
"""What part of its cases a property draws, by profile: the quick tier, servers on which a query takes a tenth of a second, the slow tier, all by
hand, and a long search by hand, which draws other cases each time."""

PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "quick")
LEAST = 3


def draws(most: int) -> int:
    """Return how many of a property's `most` cases the profile that is set draws."""
    return max(min(LEAST, most), round(most * SHARES[PROFILE]))


def load_profile() -> None:
    """Make the profile that HYPOTHESIS_PROFILE names the one of all properties."""
    # A loaded machine makes single cases slow, so no deadline; a fixed choice of cases makes a failure repeatable.
    settings.register_profile(
        PROFILE,
        deadline=None,
        derandomize=PROFILE != "search",
        max_examples=draws(30),
        suppress_health_check=[HealthCheck.too_slow],
    )
    settings.load_profile(PROFILE)
