"""The bindings of a pattern as arrays, and the pattern as compiled loops read it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sqlrl.ground.atom_table import Int32Array
from sqlrl.ground.network import IntArray
from sqlrl.logic.shapes import Shape


class PatternCode(NamedTuple):
    """A pattern as compiled loops read it: which atoms its undecided literals are, given a binding and the constants.

    Parameters
    ----------
    predicate, arity : int64 arrays, shape (l,)
        Of each undecided literal; the first is the start.
    beside : bool array, shape (l,)
        Whether the example of the binding is part of the atom.
    term : int64 array, shape (l, greatest arity)
        Column of the bindings (from 0), or -(parameter + 1).
    column, place : int64 arrays, shape (k,)
        The parameters that the closed part mentions: column of the bindings, and place among the pattern's parameters.
    """

    predicate: IntArray
    arity: IntArray
    beside: npt.NDArray[np.bool_]
    term: IntArray
    column: IntArray
    place: IntArray


@dataclass(frozen=True, eq=False)
class Bindings:
    """The bindings of a pattern in the examples of a window.

    Parameters
    ----------
    pattern : Shape
    example : int64 array, shape (b,)
        Ascending.
    values : int32 array, shape (b, w)
        Ids of constants, row by row in ascending order inside an example. Patterns with one closed part share the array.
    variables : int64 array, shape (v,)
        The column of `values` of each variable of the pattern.
    parameters : int64 array, shape (k,)
        The same for parameters; -1 for those that only undecided literals mention.
    first, last : int64 arrays, shape (e,)
        The bindings of the i-th chosen example are `first[i]` to `last[i] - 1`.
    code : PatternCode
    """

    pattern: Shape
    example: IntArray
    values: Int32Array
    variables: IntArray
    parameters: IntArray
    first: IntArray
    last: IntArray
    code: PatternCode
