"""What path finding met so far, so that a run that adds no clause can say what stopped it."""

from __future__ import annotations

from dataclasses import astuple, dataclass

from sqlrl.structure.settings import OSLParameters
from sqlrl.wording import counted


@dataclass
class Searched:
    """How much of each there was.

    Parameters
    ----------
    missed : int
        True atoms that were predicted false.
    starts : int
        Those that paths may start from.
    paths : int
        Paths from them.
    enough : int
        Clauses of paths whose delta n sufficed.
    """

    missed: int = 0
    starts: int = 0
    paths: int = 0
    enough: int = 0

    def joined(self, other: Searched) -> Searched:
        """Return the sums of both.

        Examples
        --------
        >>> Searched(missed=2, starts=1).joined(Searched(missed=3))
        Searched(missed=5, starts=1, paths=0, enough=0)
        """
        return Searched(*(a + b for a, b in zip(astuple(self), astuple(other), strict=True)))


def nothing_added(searched: Searched, parameters: OSLParameters) -> str:
    """Return what stopped a run that added no clause, and what to change.

    Examples
    --------
    >>> print(nothing_added(Searched(missed=3, starts=3, paths=2), OSLParameters(min_count_difference=5)))
    no clause was added: of the clauses of 2 paths none has a delta n of min_count_difference=5; lower it, or raise pool, now 1
    """
    atoms, least = f"{counted(searched.missed, 'true atom')} predicted false", parameters.min_count_difference
    if not searched.missed:
        why = (
            "no true atom was predicted false, and paths start from such atoms; check that there are true labels, or leave out rules "
            "that predict them all"
        )
    elif not searched.starts:
        why = f"paths may start from none of the {atoms}; give their predicates a recall above 0 in their modes"
    elif not searched.paths:
        why = (
            f"no path goes on from the {atoms}; check that other facts have their constants where modes let paths pass ('+' or '-'), and "
            "that recalls leave room for them"
        )
    elif not searched.enough:
        why = (
            f"of the clauses of {counted(searched.paths, 'path')} none has a delta n of min_count_difference={least}; lower it, or raise "
            f"pool, now {parameters.pool}"
        )
    else:
        why = "those whose delta n suffices are in the model already; raise max_length or recalls to find others"
    return f"no clause was added: {why}"
