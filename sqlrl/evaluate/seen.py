"""How much of what is evaluated a model was learned from: such scores say how well it fits, not how well it predicts."""

from __future__ import annotations

from dataclasses import dataclass

from sqlrl import markup
from sqlrl.wording import counted


@dataclass(frozen=True, slots=True)
class Seen:
    """Atoms that were evaluated, and those of them that the model was learned from.

    Parameters
    ----------
    run : int
        The run that learned the model.
    learned : int
        How many of the atoms it learned from; 1 or more.
    atoms : int
        All atoms that were evaluated.

    Examples
    --------
    >>> print(Seen(3, 40, 100))
    note: run 3 learned the model from 40 of the 100 atoms evaluated here
    """

    run: int
    learned: int
    atoms: int
    _repr_html_ = markup.field_table

    def __str__(self) -> str:
        if self.learned == self.atoms:
            what = f"the {self.atoms:,} atoms" if self.atoms > 1 else "the atom"
        else:
            what = f"{self.learned:,} of the {self.atoms:,} atoms"
        return f"note: run {self.run} learned the model from {what} evaluated here"


def score_remarks(outside: int, seen: Seen | None) -> str:
    """Return what a line of scores of probabilities says after them: labels that have none, and what the model was learned from."""
    out = ""
    if outside:
        lies = "lies" if outside == 1 else "lie"
        out = f"; {counted(outside, 'label')} {lies} outside the scope, without a probability"
    return out if seen is None else f"{out}; {seen}"
