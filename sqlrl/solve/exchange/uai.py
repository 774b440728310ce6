"""Markov networks in the UAI format, for solvers of the most probable world and of marginals."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow.compute as pc

from sqlrl.errors import NumericError
from sqlrl.ground.network import FloatArray, IntArray
from sqlrl.solve.exchange.tables import FactorGraph, factor_graph
from sqlrl.solve.exchange.text import (
    ExportedNames,
    ExportedPlace,
    joined,
    names_or_local,
    new_file,
    pieces,
    texts,
    write_lines,
    write_map,
)
from sqlrl.solve.structure import variables_of
from sqlrl.solve.weighted import EPSILON, WeightedNetwork

WIDEST = 700.0
"""Two entries of a table differ by no more: exp(-709) is the smallest number with all its digits, and 0 would be hard."""


def _normalised(graph: FactorGraph, ids: IntArray) -> tuple[FloatArray, float]:
    """The logarithms of the file's numbers, the largest of each table 0, and what that took from the score."""
    tables = graph.tables
    if len(tables) == 0:
        return tables.value, 0.0
    value = np.where(tables.forbidden, -np.inf, tables.value)
    top = np.maximum.reduceat(value, tables.start[:-1])
    top[np.isneginf(top)] = 0.0
    value -= np.repeat(top, np.diff(tables.start))
    wrong = np.flatnonzero(~tables.forbidden & (value < -WIDEST))
    if len(wrong):
        table = int(np.searchsorted(tables.start, wrong[0], side="right")) - 1
        variables = tables.scope[tables.scope_start[table] : tables.scope_start[table + 1]]
        atoms = ids[np.isin(graph.variables.of_atom, variables)]
        shown = ", ".join(map(str, atoms[:6].tolist())) + (", ..." if len(atoms) > 6 else "")
        raise NumericError(
            f"the ground clauses of atoms {shown} add up to a difference of {-value[wrong[0]]:.6g}, and exp(-{WIDEST:g}) "
            "is about the smallest number of a UAI file: make such clauses hard, scale the weights down, or export WCNF or LP"
        )
    return value, float(top.sum())


def place_in_uai(weighted: WeightedNetwork) -> ExportedPlace:
    """The variable of each atom, from 0, and the state that makes it true."""
    variables = variables_of(weighted)
    return ExportedPlace(variables.of_atom, variables.state_of_atom)


def write_uai(weighted: WeightedNetwork, path: str | Path, *, names: ExportedNames | None = None) -> None:
    """Write a Markov network in UAI format, whose factors multiply to exp(score - constant), or 0 in an impossible world, and its map."""
    names = names_or_local(names, weighted)
    graph = factor_graph(weighted)
    tables = graph.tables
    # The largest number of each factor is 1; weights so large that exp() of them is 0, which would make their clauses hard, are refused.
    value, taken = _normalised(graph, names.of(weighted))
    number = np.exp(value)
    finite = np.abs(value[np.isfinite(value)])
    # The logarithm of the product may be off by so much: exp is rounded to 53 binary digits, once for each factor.
    off = EPSILON * len(tables) * (2 + float(finite.max(initial=0.0))) + weighted.rounding
    with new_file(path) as file:
        file.write(f"MARKOV\n{len(graph.size)}\n")
        write_lines(file, joined(np.array([0, len(graph.size)], dtype=np.int64), texts(graph.size)))
        file.write(f"{len(tables)}\n")
        for low, high in pieces(tables.scope_start):
            start = tables.scope_start[low : high + 1]
            write_lines(file, texts(np.diff(start)), joined(start, texts(tables.scope[start[0] : start[-1]])))
        for low, high in pieces(tables.start):
            start = tables.start[low : high + 1]
            sizes = pc.binary_join_element_wise("\n", texts(np.diff(start)), "\n", "")
            write_lines(file, sizes, joined(start, texts(number[start[0] : start[-1]])))
    notes = [
        "an atom is true if its variable has the state; variables that are not listed help to split long clauses",
        f"the score of a world is {weighted.constant + taken!r} + the natural logarithm of the product of the factors",
        f"which is off by at most {off:.3g}",
    ]
    write_map(weighted, path, place_in_uai(weighted), names, notes)
