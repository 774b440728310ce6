"""What the benchmarks share: systems timed in turns, and ratios of their medians in one run."""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "experiments"))

from harness import Options, peak_memory_mb, publish, read_options, run_jobs

__all__ = ["Options", "in_turns", "peak_memory_mb", "publish", "read_options", "run_jobs", "spread"]


def in_turns(
    systems: Mapping[str, Callable[[], object]], *, rounds: int, warm_up: int = 1, once: Sequence[str] = ()
) -> dict[str, list[float]]:
    """Return the seconds of each system in each round; systems take turns, so that a slow spell hits them alike.

    Parameters
    ----------
    systems : mapping of str to callable
    rounds, warm_up : int
        Rounds that count, and rounds before them that do not.
    once : sequence of str
        Systems too slow for every round: they run in the first that counts only.
    """
    times: dict[str, list[float]] = {name: [] for name in systems}
    for number in range(warm_up + rounds):
        for name, work in systems.items():
            if name in once and number != warm_up:
                continue
            start = time.perf_counter()
            work()
            if number >= warm_up:
                times[name].append(time.perf_counter() - start)
    return times


def spread(seconds: Sequence[float]) -> str:
    """Return median, minimum and maximum as one cell."""
    return f"{statistics.median(seconds):.3f} ({min(seconds):.3f}-{max(seconds):.3f})"
