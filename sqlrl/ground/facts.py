"""The observed world of a window, read by one query a predicate."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pyarrow as pa

from sqlrl.catalog.layout import TableName
from sqlrl.ground.network import IntArray
from sqlrl.ground.observed import TrueAtoms, WindowFacts
from sqlrl.ground.program import Program
from sqlrl.plan.facts import domain_rows, true_atoms


def read_facts(program: Program, predicates: Iterable[str], examples: TableName, chosen: IntArray) -> WindowFacts:
    """Read what is true in the examples of a window: facts, labels and given atoms. Only learners call this.

    A label outside the scope is no part of the observed world, as in all counts.

    Parameters
    ----------
    program : Program
    predicates : iterable of str
        Those that modes let into paths.
    examples : TableName
        Table with a column `example`: those of the window, each once.
    chosen : int64 array, shape (e,)
        The same examples, in the order of learning.

    Returns
    -------
    WindowFacts
        An atom that is about two examples stands in both.

    Examples
    --------
    >>> from sqlrl.ground.sample import FRIENDS, PEOPLE, sample_program
    >>> program = sample_program(PEOPLE, ["Smokes"], FRIENDS)
    >>> with program.only(np.array([0])) as examples:
    ...     facts = read_facts(program, ["Friends", "Smokes"], examples, np.array([0]))
    >>> facts.atoms["Friends"].arguments.tolist(), facts.atoms["Smokes"].example.tolist()
    ([[0, 1], [1, 2]], [-1, -1])
    """
    layout, engine = program.layout, program.engine
    infos = [layout.predicates[name] for name in sorted(set(predicates))]
    atoms = {}
    for info in infos:
        found = engine.fetch(true_atoms(info, layout, examples), step=f"read what is true of {info.name}")
        arguments = np.empty((found.num_rows, len(info.types)), np.int64)
        for i in range(len(info.types)):
            arguments[:, i] = found.column(f"a{i}").to_numpy()
        atoms[info.name] = TrueAtoms(info.name, info.types, _integers(found, "example"), arguments)
    domains = {}
    for kind in sorted({kind for info in infos for kind in info.types if layout.types[kind].local}):
        found = engine.fetch(domain_rows(layout.types[kind], examples), step=f"read the domains of {kind}")
        domains[kind] = (_integers(found, "example"), _integers(found, "id"))
    return WindowFacts(chosen, atoms, domains)


def _integers(data: pa.Table, name: str) -> IntArray:
    return np.asarray(data.column(name).to_numpy(), dtype=np.int64)
