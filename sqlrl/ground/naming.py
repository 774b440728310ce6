"""Names for ids: query atoms and ground clauses as text."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from sqlglot import exp

from sqlrl.catalog.layout import Layout, PredicateInfo
from sqlrl.engine.nodes import column, named
from sqlrl.ground.clauses import clause_table
from sqlrl.ground.network import BLOCK, Network
from sqlrl.ground.program import Program
from sqlrl.logic.terms import Constant, Literal
from sqlrl.plan.sql import table

_TAKEN = ("example", "truth", "probability", "error", "rhat", "ess", "method")
"""Columns that tables of predictions and probabilities have beside the arguments."""
_ID = "atom id"
"""The column of ids beside names: a type may be called atom, but no type has a blank in its name."""


def named_atoms(layout: Layout, info: PredicateInfo) -> exp.Select:
    """Select `example` (name) and the names of the arguments of a predicate's query atoms; the table's alias is `a`.

    Arguments are named by their types; a second one of a type gets a number.

    Examples
    --------
    >>> from sqlrl.ground.sample import FRIENDS, PEOPLE, sample_program
    >>> program = sample_program(PEOPLE, ["Smokes"], FRIENDS)
    >>> query = named_atoms(program.layout, program.layout.predicates["Smokes"])
    >>> program.engine.fetch(query.order_by("a.atom"), step="name").to_pylist()[:2]
    [{'example': 'all', 'person': 'Anna'}, {'example': 'all', 'person': 'Bob'}]
    """
    assert info.atoms is not None
    query = exp.select(named(column("name", "x"), "example")).from_(table(info.atoms, "a"))
    on = exp.EQ(this=column("example", "x"), expression=column("example", "a"))
    query = query.join(table(layout.examples, "x"), on=on)
    for i, (name, kind) in enumerate(zip(argument_names(info), info.types, strict=True)):
        dictionary = table(layout.types[kind].dictionary, f"d{i}")
        query = query.join(dictionary, on=exp.EQ(this=column("id", f"d{i}"), expression=column(f"a{i}", "a")))
        query = query.select(named(column("name", f"d{i}"), name))
    return query


def argument_names(info: PredicateInfo) -> tuple[str, ...]:
    """Return distinct column names for the arguments of a predicate: the types, numbered from the second one of a type.

    Examples
    --------
    >>> from sqlrl.ground.sample import FRIENDS, PEOPLE, sample_program
    >>> program = sample_program(PEOPLE, ["Smokes"], FRIENDS)
    >>> argument_names(program.layout.predicates["Friends"])
    ('person', 'person_2')
    """
    taken = set(_TAKEN)
    names = []
    for kind in info.types:
        name, number = kind, 2
        while name.casefold() in taken:
            name, number = f"{kind}_{number}", number + 1
        taken.add(name.casefold())
        names.append(name)
    return tuple(names)


def atom_texts(program: Program, atoms: npt.NDArray[np.int64]) -> dict[int, str]:
    """Return query atoms as text, by id.

    Helper atoms have no names of their own and print with their predicate's.

    Examples
    --------
    >>> from sqlrl.ground.sample import FRIENDS, PEOPLE, sample_program
    >>> program = sample_program(PEOPLE, ["Smokes"], FRIENDS)
    >>> atom_texts(program, np.array([1, 3]))
    {1: 'Smokes(Anna)', 3: 'Smokes(Chris)'}
    """
    texts: dict[int, str] = {}
    with program.shown(pa.table({"atom": np.unique(atoms)})) as source:
        for info in (p for p in program.layout.predicates.values() if p.open):
            query = named_atoms(program.layout, info).select(named(column("atom", "a"), _ID))
            on = exp.EQ(this=column("atom", "w"), expression=column("atom", "a"))
            data = program.engine.fetch(query.join(table(source, "w"), on=on), step=f"name the atoms of {info.name}")
            for row in data.to_pylist():
                terms = tuple(Constant(row[name]) for name in argument_names(info))
                texts[row[_ID]] = str(Literal(info.name, terms))
    return texts


def example_names(program: Program, examples: npt.NDArray[np.int64]) -> dict[int, str]:
    """Return the names of examples, by id, from one query.

    Examples
    --------
    >>> from sqlrl.ground.sample import FRIENDS, PEOPLE, sample_program
    >>> example_names(sample_program(PEOPLE, ["Smokes"], FRIENDS), np.array([0]))
    {0: 'all'}
    """
    with program.only(np.unique(examples)) as chosen:
        query = exp.select(column("example", "e"), column("name", "e")).from_(table(program.layout.examples, "e"))
        on = exp.EQ(this=column("example", "c"), expression=column("example", "e"))
        data = program.engine.fetch(query.join(table(chosen, "c"), on=on), step="name examples")
    return {row["example"]: row["name"] for row in data.to_pylist()}


def describer(program: Program, network: Network) -> Callable[[int, Sequence[int]], str]:
    """Return a function that prints a ground clause of a network: its literals with constants, and the clause it comes from.

    In place of a clause, `BLOCK` has it only name the atoms.

    Examples
    --------
    >>> from sqlrl.ground.assemble import ground_network
    >>> from sqlrl.ground.sample import FRIENDS, PEOPLE, sample_program
    >>> program = sample_program(PEOPLE, ["Smokes"], FRIENDS)
    >>> describer(program, ground_network(program))(0, [-1, 2])
    '!Smokes(Anna) v Smokes(Bob) (from Friends(x, y) ^ Smokes(x) => Smokes(y))'
    """

    def describe(clause: int, literals: Sequence[int]) -> str:
        """Return a ground clause as text, with its constants."""
        ids = network.atoms[np.abs(np.array(literals, dtype=np.int64)) - 1]
        texts = atom_texts(program, ids)
        if clause == BLOCK:
            return ", ".join(texts[int(atom)] for atom in ids)
        ground = " v ".join(
            ("" if literal > 0 else "!") + texts[int(atom)] for literal, atom in zip(literals, ids, strict=True)
        )
        if clause < 0:
            return f"{ground} (another atom of its block is given as true)"
        listed = clause_table(program)
        found = np.flatnonzero(listed.column("clause").to_numpy() == clause)
        return f"{ground} (from {listed.column('text')[int(found[0])].as_py()})" if len(found) else ground

    return describe
