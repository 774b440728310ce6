"""What the package offers, by name: its own names and the baselines."""

from __future__ import annotations

import sqlrl
from sqlrl import baselines

OFFERED: dict[str, object] = {
    **{name: getattr(sqlrl, name) for name in sqlrl.__all__},
    **{name: getattr(baselines, name) for name in baselines.__all__},
}
