"""What `sqlrl learn --holdout` adds: a part of the data that is not learned from, on which the learned model is scored."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import typer

from sqlrl.cli.options import split_names

if TYPE_CHECKING:
    from sqlrl import Database
    from sqlrl.catalog.roles import Roles
    from sqlrl.cli.session import CommandSession
    from sqlrl.database.holdout import Split
    from sqlrl.logic.model import Model
    from sqlrl.report import Table


@dataclass(frozen=True)
class HoldoutOptions:
    """The share of the data to hold out, and by which types; refuses values that do not go together."""

    share: float | None  # None: nothing is held out
    by: str | None  # names of types, separated by commas

    def __post_init__(self) -> None:
        if self.share is None and self.by is not None:
            raise typer.BadParameter("--holdout-by says how a part is held out: add --holdout SHARE, such as 0.2")
        if self.share is not None and not 0 < self.share < 1:
            raise typer.BadParameter(f"--holdout {self.share:g} must be a share between 0 and 1, such as 0.2")


@dataclass(frozen=True)
class Holdout:
    """A part of the data that was held out; `examples` are those to learn from, `roles` options of `predict`."""

    db: Database
    run: CommandSession
    examples: Any
    roles: Roles | None
    split: Split | None

    def score(self, model: Model) -> None:
        """Predict what was held out, if anything was, and say how well."""
        if self.split is None:
            return
        if self.split.predicate is None:
            prediction = self.db.predict(model, examples=self.split.test, roles=self.roles)
            scores = self.db.evaluate(prediction)
        else:
            from sqlrl.database.holdout import scoped

            with scoped(self.db.advanced.session, self.split.predicate, cast("Table", self.split.test)):
                scores = self.db.evaluate(self.db.predict(model, roles=self.roles), outside="ignore")
        self.run.message(f"held out: {scores}")


@contextmanager
def held_out(
    db: Database,
    run: CommandSession,
    wanted: HoldoutOptions,
    *,
    seed: int,
    targets: Sequence[str],  # the predicates to predict
    model: Model | None,  # says what is to be predicted where no load does
    examples: Any,
    roles: Roles | None,
) -> Iterator[Holdout]:
    """Hold out a part of the data while the context is open; if query atoms are split, the scope is the training part meanwhile."""
    if wanted.share is None:
        yield Holdout(db, run, examples, roles, None)
        return
    one = len(db.advanced.example_ids(examples)) < 2
    split = db.split(
        wanted.share,
        by=split_names([wanted.by]) if wanted.by else None,
        predicate=targets[0] if one and len(targets) == 1 else None,
        model=model,
        examples=examples,
        random_state=seed,
    )
    run.message(str(split))
    if split.predicate is None:
        yield Holdout(db, run, cast("list[str]", split.train), roles, split)
        return
    from sqlrl.database.holdout import scoped

    with scoped(db.advanced.session, split.predicate, cast("Table", split.train)):
        yield Holdout(db, run, examples, roles, split)
