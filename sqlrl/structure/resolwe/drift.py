"""Structure that follows a stream: counts decay, each window decides anew, and what came and went is kept in a log.

Source: "Structure Selection from Streaming Relational Data" (resolwe), section 6, which leaves this to later work: "interleave steps 2 and 3" and
"use a decaying average of the statistics calculated by Algorithm 1. As soon as step 2 determines a change in the structure over which weights are
learned in step 3, the change is implemented, keeping the weights of the remaining rules at their currently learned values, and the process continues."

What it leaves open:

- The first subgraphs choose alone, as without drift (`select`). From then on each window is counted first, structure is chosen, and then weights
  are learned from the same window with the structure that it chose.
- Counts are halved with each half-life (`sqlrl.training.stream_counts.StreamCounts`), so that support is what is left of it. A formulation that
  is in the model is judged by the other end of its interval (`sqlrl.structure.resolwe.selection`), lest it come and go by chance.
- A formulation that comes begins with weight 0, also one that had gone before. Means of weights, where a learner has them, are over the steps since
  structure last changed, since those before are of another model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sqlrl.ground.candidates import JointCounts
from sqlrl.ground.network import BoolArray, IntArray
from sqlrl.logic.candidates import Candidate
from sqlrl.logic.printer import format_formula
from sqlrl.logic.rules import Rule
from sqlrl.structure.resolwe.formulas import Alternatives, renamed
from sqlrl.structure.resolwe.selection import CONJUNCTION, Formulations
from sqlrl.training.stream_counts import StreamCounts

if TYPE_CHECKING:
    from sqlrl.logic.model import Model


RULE_LOG_SCHEMA = pa.schema(
    [
        ("step", pa.int64()),
        ("subgraphs", pa.int64()),
        ("event", pa.string()),
        ("candidate", pa.int64()),
        ("formula", pa.string()),
        ("implied", pa.int32()),
        ("recent", pa.float64()),
        ("probability", pa.float64()),
        ("bound", pa.float64()),
        ("reason", pa.string()),
    ]
)
"""What came and went as `sqlrl.rule_log` keeps it, but for the run."""

CAME, WENT = "came", "went"
_PREFIX = "drift_"


class Drift:
    """The formulations of a model that follows a stream; `counts` are of its first subgraphs, `half_life` is in subgraphs."""

    def __init__(self, alternatives: Alternatives, base: Model, counts: StreamCounts, half_life: float) -> None:
        self._alternatives, self._half_life, self.counts = alternatives, half_life, counts
        self._before: BoolArray | None = None
        self.found = alternatives.judged(counts.n)
        self.formulas = alternatives.formulas(self.found)
        # A formulation that equals a rule of `base`, which always stays, never comes.
        self._same = _representatives([renamed(rule.formula) for rule in base.rules], list(map(renamed, self.formulas)))
        # All that ever came, in this order; one that comes again is another one.
        self.rules: list[Rule] = []
        # Queries that counted for it, in this process.
        self.statements = 0
        # Which formulation each of the rules is, and the place among them of each formulation in the model, -1 of others.
        self._came: list[int] = []
        self._places = np.full(len(self.formulas), -1, dtype=np.int64)
        self._log: list[dict[str, Any]] = []
        self._choose(self.found)

    @property
    def counted(self) -> Sequence[Candidate]:
        """Whose labels are to be counted."""
        return self._alternatives.counted

    @property
    def active(self) -> IntArray:
        """The places in `rules` of those in the model, ascending."""
        return np.sort(self._places[self._places >= 0])

    def add(self, counts: JointCounts, subgraphs: int) -> bool:
        """Take the counts of a window of so many subgraphs, and choose anew; tell whether the model has changed."""
        self.counts = self.counts.after(counts, subgraphs, half_life=self._half_life)
        self._before = self.found.in_model
        return self._choose(self._alternatives.judged(self.counts.n, self._before))

    def log(self) -> pa.Table:
        """Return what came and went, as rows of `RULE_LOG_SCHEMA`."""
        return pa.Table.from_pylist(self._log, schema=RULE_LOG_SCHEMA)

    def rows(self) -> pa.Table:
        """Return all formulations as the last window judged them, as rows of `FORMULATION_SCHEMA`."""
        return self._alternatives.rows(self.found, self.counts.total.n, self.formulas)

    # ---- going on later ------------------------------------------------------------------------------------

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return what is needed to go on, but for the log, as arrays whose names are no learner's."""
        found: dict[str, npt.NDArray[Any]] = {
            **self.counts.arrays(),
            "before": np.zeros(0, dtype=np.bool_) if self._before is None else self._before,
            "came": np.array(self._came, dtype=np.int64),
            "places": self._places,
        }
        return {_PREFIX + name: array for name, array in found.items()}

    def events(self) -> list[dict[str, Any]]:
        """Return the log as JSON values."""
        return list(self._log)

    def go_on(self, arrays: Mapping[str, npt.NDArray[Any]], events: Sequence[Mapping[str, Any]]) -> None:
        """Be what `arrays` and `events` had."""
        own = {name.removeprefix(_PREFIX): array for name, array in arrays.items() if name.startswith(_PREFIX)}
        self.counts, self._places = StreamCounts.of_arrays(own), own["places"].astype(np.int64)
        self._before = own["before"].astype(np.bool_) if len(own["before"]) else None
        self.found = self._alternatives.judged(self.counts.n, self._before)
        self._came = own["came"].tolist()
        self.rules = [Rule(self.formulas[k]) for k in self._came]
        self._log = [dict(event) for event in events]

    # ---- choosing ------------------------------------------------------------------------------------------

    def _choose(self, found: Formulations) -> bool:
        """Put what is kept in place of what was; tell whether rules have come or gone."""
        self.found = found
        wanted = np.zeros(len(self.formulas), dtype=np.bool_)
        wanted[self._same[found.in_model & (self._same >= 0)]] = True
        gone, new = (np.flatnonzero(x).tolist() for x in (~wanted & (self._places >= 0), wanted & (self._places < 0)))
        for k in gone:
            self._places[k] = -1
            self._note(WENT, k)
        for k in new:
            self._places[k] = len(self.rules)
            self._came.append(k)
            self.rules.append(Rule(self.formulas[k]))
            self._note(CAME, k)
        return bool(gone or new)

    def _note(self, event: str, k: int) -> None:
        found = self.found
        literal = int(found.literal[k])
        self._log.append(
            {
                "step": self.counts.windows,
                "subgraphs": self.counts.subgraphs,
                "event": event,
                "candidate": int(found.candidate[k]),
                "formula": format_formula(self.formulas[k]),
                "implied": None if literal == CONJUNCTION else literal,
                "recent": float(found.support[k]),
                "probability": float(found.probability[k]),
                "bound": float(found.bound[k]),
                "reason": found.reason[k],
            }
        )


def _representatives(base: Sequence[object], formulas: Sequence[object]) -> IntArray:
    """Return for each formula the place of the first one that is equal to it, -1 where it is one of the base."""
    places: dict[object, int] = dict.fromkeys(base, -1)
    return np.array([places.setdefault(each, k) for k, each in enumerate(formulas)], dtype=np.int64)
