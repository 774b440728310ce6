"""How much of what is evaluated a model was learned from: such scores say how well it fits, not how well it predicts."""

from __future__ import annotations

from dataclasses import dataclass


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

    def __str__(self) -> str:
        if self.learned == self.atoms:
            what = f"the {self.atoms:,} atoms" if self.atoms > 1 else "the atom"
        else:
            what = f"{self.learned:,} of the {self.atoms:,} atoms"
        return f"note: run {self.run} learned the model from {what} evaluated here"
