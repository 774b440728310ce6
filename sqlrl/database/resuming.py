"""Going on with a run that was stopped: what it saved, and whether it is still the same run."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sqlrl.catalog.records import Kept, Records
from sqlrl.errors import InputError, SourceWarning, warn
from sqlrl.logic.model import Model
from sqlrl.logic.saving import model_to_json
from sqlrl.wording import counted

STREAM, MODEL, EXAMPLES = "stream", "model", "examples"
"""Names of what is saved beside the learner's own arrays: how far the stream is, and what the run is of."""
NUMBERED = "numbered"
"""From which id on a stopped run's history has added clauses; -1 while it has them by their provisional ids."""


@dataclass(frozen=True, eq=False)
class RunKey:
    """What makes a run the one that it is, apart from the data.

    Parameters
    ----------
    learner : str
        Name of the estimator.
    parameters : mapping of str to object
        Its constructor's arguments.
    model : Model
    examples : int64 array
        The examples of all passes, in order.
    """

    learner: str
    parameters: Mapping[str, object]
    model: Model
    examples: npt.NDArray[np.int64]

    def saved(self) -> dict[str, Kept]:
        """Return what is saved once, with the first window."""
        return {MODEL: _plain(model_to_json(self.model)), EXAMPLES: self.examples}


def _plain(value: object) -> Any:
    """Return a value as it comes back from JSON."""
    return json.loads(json.dumps(value, default=str))


def read_run(records: Records, run: int, key: RunKey) -> dict[str, Kept]:
    """Return what a stopped run saved, if it is the run that `key` describes, on the same data.

    Parameters
    ----------
    records : Records
    run : int
    key : RunKey

    Raises
    ------
    InputError
        There is no such run, it saved nothing, or it is done; or something differs: the message says what.
    """
    row = records.run(run)
    if row is None:
        raise InputError(f"there is no run {run} to resume: the table sqlrl.run lists those that are there")
    if row["status"] == "done":
        raise InputError(f"run {run} is done: there is nothing to resume")
    saved = records.state(run)
    if STREAM not in saved:
        raise InputError(
            f"run {run} saved nothing from which it could be resumed: start anew, with checkpoint=True to save each window"
        )
    for problem in _differences(records, row, saved, key):
        raise InputError(f"run {run} cannot be resumed: {problem}")
    return saved


def _differences(records: Records, row: Mapping[str, Any], saved: Mapping[str, Any], key: RunKey) -> Iterator[str]:
    """Yield what differs between a run and what it is to be resumed as, the plainest thing first."""
    if row["learner"] != key.learner:
        yield f"it is a run of {row['learner']}, not of {key.learner}"
    before, now = row["parameters"], _plain(dict(key.parameters))
    for name in sorted({*before, *now}):
        if before.get(name) != now.get(name):
            yield f"it began with {name}={before.get(name)!r}, not {name}={now.get(name)!r}: give the same"
    model = _plain(model_to_json(key.model))
    if model != saved[MODEL]:
        yield _model_difference(saved[MODEL], model)
    same = records.same_data(row["run"], row["fingerprint"])
    if same is None:
        warn(
            f"run {row['run']} was begun with an earlier version of DuckDB, whose fingerprint of the data this one cannot compute: "
            "whether they are the same was not checked",
            SourceWarning,
        )
    elif not same:
        yield (
            f"the data have changed since it began (fingerprint {row['fingerprint']} then, {records.data()} now: other facts, labels, "
            "scopes or examples): bring them back, or start anew"
        )
    if not np.array_equal(saved[EXAMPLES], key.examples):
        before_, now_ = (counted(len(np.unique(x)), "example") for x in (saved[EXAMPLES], key.examples))
        how = f"{before_} then, {now_} now" if before_ != now_ else "as many, but others or in another order"
        yield f"its examples differ ({how}): give the same examples="


def _model_difference(before: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """Return where two models differ first, as `model_to_json` writes them."""
    old, new = before.get("rules", []), now.get("rules", [])
    for number, (a, b) in enumerate(zip(old, new, strict=False), 1):
        if a != b:
            same = a.get("formula") == b.get("formula")
            shown = "in its weight or options" if same else f"{a.get('formula')} then, {b.get('formula')} now"
            return f"its model differs in rule {number}: {shown}"
    if len(old) != len(new):
        return f"its model had {counted(len(old), 'rule')}, this one has {len(new)}"
    return "its model differs in its declarations"
