"""What `sqlrl learn --holdout` adds: a part of the data that is not learned from, on which the learned model is scored."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

import typer

from sqlrl.cli.inputs import Job
from sqlrl.cli.options import split_names

if TYPE_CHECKING:
    from sqlrl.database.holdout import Split
    from sqlrl.logic import Model
    from sqlrl.report import Table


def check(share: float | None, by: str | None) -> None:
    """Refuse options that do not go together, and a share that is none, with a typer.BadParameter."""
    if share is None and by is not None:
        raise typer.BadParameter("--holdout-by says how a part is held out: add --holdout SHARE, such as 0.2")
    if share is not None and not 0 < share < 1:
        raise typer.BadParameter(f"--holdout {share:g} must be a share between 0 and 1, such as 0.2")


@dataclass(frozen=True)
class Holdout:
    """A part of the data that was held out; `job` is a job on the rest."""

    job: Job
    whole: Job
    split: Split | None

    def score(self, model: Model) -> None:
        """Predict what was held out, if anything was, and say how well."""
        if self.split is None:
            return
        db, run = self.whole.db, self.whole.run
        if self.split.predicate is None:
            prediction = db.predict(model, examples=self.split.test, **self.whole.choices)
            scores = db.evaluate(prediction)
        else:
            from sqlrl.database.holdout import scoped

            with scoped(db.session, self.split.predicate, cast("Table", self.split.test)):
                scores = db.evaluate(db.predict(model, **self.whole.choices), outside="ignore")
        run.message(f"held out: {scores}")


@contextmanager
def held_out(job: Job, share: float | None, by: str | None, seed: int) -> Iterator[Holdout]:
    """Hold a part of the data out while the context is open; where query atoms are split, the scope is the other ones meanwhile.

    `by` are names of types with commas between them.
    """
    if share is None:
        yield Holdout(job, job, None)
        return
    queried = list(job.asked.predicates)
    one = len(job.db.example_ids(job.examples)) < 2
    split = job.db.split(
        share,
        by=split_names([by]) if by else None,
        predicate=queried[0] if one and len(queried) == 1 else None,
        # Declarations alone do not say what is predicted: what has labels is, then.
        model=job.model if job.model.rules or job.model.query else None,
        examples=job.examples,
        random_state=seed,
    )
    job.run.message(str(split))
    if split.predicate is None:
        yield Holdout(replace(job, examples=cast("list[str]", split.train)), job, split)
        return
    from sqlrl.database.holdout import scoped

    with scoped(job.db.session, split.predicate, cast("Table", split.train)):
        yield Holdout(job, job, split)
