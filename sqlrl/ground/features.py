"""Features of non-recursive clauses: how many groundings their bodies have at each query atom, by components.

A non-recursive clause has one literal of an open predicate, its head, and a body of closed literals that must be true. Of such
clauses there may be thousands of different shapes, each with a query of its own if they were grounded one by one; but they share
their components, and these are evaluated in a few queries.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from sqlrl.catalog.layout import PredicateInfo, TableName
from sqlrl.errors import CountOverflowError
from sqlrl.ground.clause_bodies import ClauseBody, clause_bodies, closed_predicates, heads_of
from sqlrl.ground.coverage import MOST_BINDINGS, Coverage
from sqlrl.ground.network import BoolArray, IntArray
from sqlrl.ground.program import Program
from sqlrl.ground.running import rule_place
from sqlrl.logic.components import Components
from sqlrl.plan.facts import atom_arguments

INT64_MAX = int(np.iinfo(np.int64).max)


@dataclass(frozen=True, eq=False)
class Features:
    """The non-recursive clauses of a program at its query atoms.

    Parameters
    ----------
    atoms : int64 array, shape (n,)
        Ids of the query atoms of all open predicates, ascending.
    units : scipy.sparse.csr_array of int64, shape (n, m)
        As `Network.units`: how much n of clause i grows when atom k becomes true. Of a rule `body => head` this is the number of
        the body's groundings there.
    found : bool array, shape (m,)
        The clauses that were evaluated; the columns of the others are empty.
    """

    atoms: IntArray
    units: sparse.csr_array
    found: BoolArray


def features(program: Program, examples: TableName | None = None, *, limit: int = MOST_BINDINGS) -> Features:
    r"""Count the body groundings of a program's non-recursive clauses at all query atoms; templates are left out.

    Parameters
    ----------
    program : Program
    examples : TableName, optional
        Table with a column `example`: only the atoms in these.
    limit : int
        The most bindings of a layer of components.

    Returns
    -------
    Features

    Raises
    ------
    GroundingLimitError
        If a layer of components has more bindings than the limit; names the literal.
    CountOverflowError
        If a count does not fit into 64 bits; names the clause.

    Examples
    --------
    >>> from sqlrl.ground.sample import FRIENDS, PEOPLE, sample_program
    >>> text = PEOPLE + "\n1 Friends(x, y) ^ Friends(y, z) => Smokes(x)\n1 Friends(Anna, y) => Smokes(x)"
    >>> found = features(sample_program(text, ["Smokes"], FRIENDS))
    >>> found.found.tolist(), found.units.toarray().tolist()
    ([False, True, True], [[0, 1, 1], [0, 0, 1], [0, 0, 1]])
    """
    clauses = _whole(program)
    ids, pieces = [np.zeros(0, np.int64)], []
    for info in (info for _, info in sorted(program.layout.predicates.items()) if info.open):
        atoms, example, arguments = atoms_with_arguments(program, info, examples)
        ids.append(atoms)
        if info.name in clauses:
            found = clauses[info.name]
            pieces.append((atoms, found, body_counts(program, info, found, arguments, example, limit)))
    every = np.sort(np.concatenate(ids))
    sign = program.signs()
    rows, columns, values = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for atoms, found, counts in pieces:
        entries = counts.tocoo()
        clause = np.array([x.clause for x in found], dtype=np.int64)
        change = sign[clause] * np.where([x.positive for x in found], 1, -1)
        rows.append(np.searchsorted(every, atoms)[entries.coords[1]])
        columns.append(clause[entries.coords[0]])
        values.append(entries.data * change[entries.coords[0]])
    places = (np.concatenate(rows), np.concatenate(columns))
    units = sparse.coo_array((np.concatenate(values), places), shape=(len(every), program.clause_count)).tocsr()
    evaluated = np.zeros(program.clause_count, np.bool_)
    evaluated[[x.clause for group in clauses.values() for x in group]] = True
    return Features(every, units, evaluated)


def _whole(program: Program) -> dict[str, list[ClauseBody]]:
    """Return the bodies of the clauses all of whose instances are non-recursive, by the predicate of their heads."""
    heads = heads_of(program)
    partly = {
        feature
        for feature, bound in enumerate(program.features)
        if any(instance.shape not in heads for instance in bound.instances)
    }
    every = clause_bodies(program, heads)
    kept = {name: [x for x in found if program.feature_of[x.clause] not in partly] for name, found in every.items()}
    return {name: found for name, found in kept.items() if found}


def atoms_with_arguments(
    program: Program, info: PredicateInfo, examples: TableName | None
) -> tuple[IntArray, IntArray, IntArray]:
    """Return the ids, examples and arguments of a predicate's query atoms, by id: shapes (n,), (n,) and (n, h).

    Examples
    --------
    >>> from sqlrl.ground.sample import FRIENDS, PEOPLE, sample_program
    >>> program = sample_program(PEOPLE, ["Smokes"], FRIENDS)
    >>> [x.tolist() for x in atoms_with_arguments(program, program.layout.predicates["Smokes"], None)]
    [[1, 2, 3], [0, 0, 0], [[0], [1], [2]]]
    """
    data = program.engine.fetch(atom_arguments(info, examples), step=f"read the query atoms of {info.name}")
    arguments = np.empty((data.num_rows, len(info.types)), np.int64)
    for i in range(len(info.types)):
        arguments[:, i] = data.column(f"a{i}").to_numpy()
    atom, example = (np.asarray(data.column(name).to_numpy(), dtype=np.int64) for name in ("atom", "example"))
    return atom, example, arguments


def body_counts(
    program: Program,
    info: PredicateInfo,
    clauses: Sequence[ClauseBody],
    arguments: IntArray,
    example: IntArray,
    limit: int,
) -> sparse.csr_array:
    r"""Return the body groundings of clauses with one head predicate at atoms of it, shape (clauses, atoms).

    Raises
    ------
    GroundingLimitError, CountOverflowError
        As `features`.

    Examples
    --------
    >>> from sqlrl.ground.sample import FRIENDS, PEOPLE, sample_program
    >>> program = sample_program(PEOPLE + "\n1 Friends(x, y) => Smokes(y)", ["Smokes"], FRIENDS)
    >>> smokes, clauses = program.layout.predicates["Smokes"], clause_bodies(program, heads_of(program))["Smokes"]
    >>> people = np.array([[0], [1], [2]])
    >>> body_counts(program, smokes, clauses, people, np.zeros(3, np.int64), 100).toarray().tolist()
    [[0, 1, 1]]
    """
    n, layout = len(arguments), program.layout
    components = Components(len(info.types))
    bodies = [components.split(clause.body) for clause in clauses]
    every = list(dict.fromkeys(component for body in bodies for component in body))
    with Coverage(
        program.engine, layout, components, closed_predicates(layout), arguments, example, limit=limit
    ) as found:
        counts = found.evaluate(every, keep=False)
    factors = sparse.csr_array((counts.count, counts.atom, counts.indptr), shape=(len(every), n))
    number = {component: i for i, component in enumerate(every)}
    chosen = [[number[component] for component in body] for body in bodies]
    # What the head's own constants and repeated variables demand is one factor more.
    heads = list(dict.fromkeys((x.same, x.fixed) for x in clauses if x.same or x.fixed))
    if heads:
        fits = [sparse.csr_array(_fits(arguments, same, fixed)[None].astype(np.int64)) for same, fixed in heads]
        factors = sparse.vstack([factors, *fits], format="csr")
        for clause, factor in zip(clauses, chosen, strict=True):
            if clause.same or clause.fixed:
                factor.append(len(every) + heads.index((clause.same, clause.fixed)))
    return _products(program, clauses, chosen, factors)


def _fits(arguments: IntArray, same: Sequence[tuple[int, int]], fixed: Sequence[tuple[int, int]]) -> BoolArray:
    """Return the atoms that a head can be."""
    fits = np.ones(len(arguments), np.bool_)
    for first, other in same:
        fits &= arguments[:, first] == arguments[:, other]
    for place, identity in fixed:
        fits &= arguments[:, place] == identity
    return fits


def _products(
    program: Program, clauses: Sequence[ClauseBody], chosen: Sequence[Sequence[int]], factors: sparse.csr_array
) -> sparse.csr_array:
    """Multiply the rows of `factors` that each clause has chosen, entry by entry; without any, all entries are 1."""
    n = factors.shape[1]
    groups: dict[int, list[int]] = {}
    for i, rows in enumerate(chosen):
        groups.setdefault(len(rows), []).append(i)
    pieces, order = [sparse.csr_array((0, n), dtype=np.int64)], []
    for size, members in sorted(groups.items()):
        if not size:
            product = sparse.csr_array(np.ones((len(members), n), np.int64))
        else:
            picked = np.array([chosen[i] for i in members], dtype=np.int64)
            product = factors[picked[:, 0]]
            for j in range(1, size):
                other = factors[picked[:, j]]
                _check(program, [clauses[i].clause for i in members], product, other)
                product = product.multiply(other).tocsr()
        pieces.append(product)
        order += members
    return sparse.vstack(pieces, format="csr")[np.argsort(np.array(order, dtype=np.int64))]


def _check(program: Program, clauses: Sequence[int], left: sparse.csr_array, right: sparse.csr_array) -> None:
    """Raise if an entry of a product does not fit into 64 bits; entries are looked at only where the greatest might not."""
    for i in np.flatnonzero(_greatest(left) * _greatest(right) > INT64_MAX / 2).tolist():
        one, other = (dict(zip(x[[i]].indices.tolist(), x[[i]].data.tolist(), strict=True)) for x in (left, right))
        most = max((value * other.get(atom, 0) for atom, value in one.items()), default=0)
        if most > INT64_MAX:
            place = rule_place(program, program.feature_of[clauses[i]])
            raise CountOverflowError(f"{place} has {most:,} groundings for one atom, which do not fit into 64 bits")


def _greatest(matrix: sparse.csr_array) -> np.ndarray:
    """Return the greatest entry of each row, 0 for an empty one, as floating-point numbers."""
    found = np.zeros(matrix.shape[0])
    filled = np.flatnonzero(np.diff(matrix.indptr))
    if len(filled):
        found[filled] = np.maximum.reduceat(matrix.data, matrix.indptr[filled])
    return found
