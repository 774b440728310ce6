"""What is true in a window of examples, as arrays: what path finding reads of the data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sqlrl.ground.network import IntArray


@dataclass(frozen=True, eq=False)
class TrueAtoms:
    """True ground atoms of one predicate in the examples of a window, each once.

    Parameters
    ----------
    predicate : str
    types : tuple of str
        Of the arguments.
    example : int64 array, shape (r,)
        Ascending; -1 for the atoms of a global predicate, which belong to all examples.
    arguments : int64 array, shape (r, arity)
        Ids of constants in their type's dictionary.
    """

    predicate: str
    types: tuple[str, ...]
    example: IntArray
    arguments: IntArray


@dataclass(frozen=True, eq=False)
class WindowFacts:
    """What a window of examples says to path finding: the observed world, labels included.

    Parameters
    ----------
    examples : int64 array, shape (x,)
        Ids of examples, distinct, in the order of learning.
    atoms : mapping of str to TrueAtoms
        By predicate; of open predicates the true labels and true given atoms. Predicates that the modes keep out of
        paths may be absent.
    domains : mapping of str to (int64 array, int64 array)
        The domains of the local types in these examples: rows (example, id), sorted and distinct. An atom of a global
        predicate belongs to an example only if all its constants of local types are in that example's domain.
    """

    examples: IntArray
    atoms: Mapping[str, TrueAtoms]
    domains: Mapping[str, tuple[IntArray, IntArray]]
