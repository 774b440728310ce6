"""Boolean functions as disjoint conjunctions: the paths of a small ordered decision diagram.

The diagram is that of Bryant, "Graph-based algorithms for Boolean function manipulation" (1986), section 2; two
paths of one diagram differ in the value of an atom, so no assignment satisfies both conjunctions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from sqlrl.errors import ModelError
from sqlrl.logic.boolean import (
    FALSE,
    LARGEST_FORM,
    TRUE,
    All,
    Any,
    Node,
    Signed,
    Witness,
    conjoin,
    disjoin,
    disjuncts,
    negate,
)

SIFTED_ATOMS = 14
"""Up to how many atoms the order of the diagram is improved by moving each of them to every place."""

Path = tuple[Signed, ...]


def atoms_of(node: Node) -> tuple[Signed, ...]:
    """Return the distinct atoms of a function, as positive literals, in order of appearance."""
    return tuple(dict.fromkeys(_walk(node)))


def _walk(node: Node) -> Iterator[Signed]:
    if isinstance(node, Signed):
        yield node if node.positive else node.negated()
        return
    for part in node.parts:
        yield from _walk(part)


def _cofactor(node: Node, known: Signed) -> Node:
    """Return the function once a literal is known to be true."""
    match node:
        case Signed():
            if node.atom != known.atom:
                return node
            return TRUE if node.positive == known.positive else FALSE
        case All(parts):
            return conjoin([_cofactor(p, known) for p in parts])
        case Any(parts):
            return disjoin([_cofactor(p, known) for p in parts])


@dataclass(frozen=True, slots=True)
class Branch:
    """A node of a diagram: which atom it asks, and what follows if it is false or true."""

    atom: Signed
    low: Branch | bool
    high: Branch | bool


class Diagram:
    """The reduced ordered decision diagram of a function for one order of its atoms.

    Parameters
    ----------
    node : Node
    order : sequence of Signed
        The atoms, as positive literals.
    """

    def __init__(self, node: Node, order: Sequence[Signed]) -> None:
        self._order = order
        self._built: dict[tuple[int, Node], Branch | bool] = {}
        self._unique: dict[tuple[Signed, int, int], Branch] = {}
        self._counts: dict[tuple[int, bool], int] = {}
        self.root = self._build(node, 0)

    def _build(self, node: Node, depth: int) -> Branch | bool:
        if node in (TRUE, FALSE):
            return node == TRUE
        key = (depth, node)
        if key not in self._built:
            if len(self._built) > 10 * LARGEST_FORM:
                raise ModelError(f"the formula has more than {LARGEST_FORM} cases: split it into smaller ones")
            atom = self._order[depth]
            low = self._build(_cofactor(node, atom.negated()), depth + 1)
            high = self._build(_cofactor(node, atom), depth + 1)
            same = low is high
            self._built[key] = (
                low if same else self._unique.setdefault((atom, id(low), id(high)), Branch(atom, low, high))
            )
        return self._built[key]

    def count(self, value: bool) -> int:
        """Return the number of paths to a value."""
        return self._count(self.root, value)

    def _count(self, branch: Branch | bool, value: bool) -> int:
        if isinstance(branch, bool):
            return int(branch == value)
        key = (id(branch), value)
        if key not in self._counts:
            self._counts[key] = self._count(branch.low, value) + self._count(branch.high, value)
        return self._counts[key]

    def paths(self, value: bool) -> Iterator[Path]:
        """Yield the conjunctions that lead to a value; no two hold together, and one of them does if it is taken."""
        yield from self._paths(self.root, value, ())

    def _paths(self, branch: Branch | bool, value: bool, before: Path) -> Iterator[Path]:
        if isinstance(branch, bool):
            if branch == value:
                yield before
            return
        yield from self._paths(branch.low, value, (*before, branch.atom.negated()))
        yield from self._paths(branch.high, value, (*before, branch.atom))


def conjuncts(node: Node) -> tuple[Path, ...]:
    """Return the conjunctive normal form: clauses as tuples of literals in order of appearance.

    Examples
    --------
    >>> from sqlrl.logic.boolean import conjoin, disjoin
    >>> from sqlrl.logic.terms import Literal
    >>> h, s, t = (Signed(Literal(name, ())) for name in "HST")
    >>> conjuncts(disjoin((h, conjoin((s, t))))) == ((h, s), (h, t))
    True
    """
    place = {atom: i for i, atom in enumerate(atoms_of(node))}
    clauses = ((s.negated() for s in conjunction) for conjunction in disjuncts(negate(node)))
    return tuple(tuple(sorted(c, key=lambda s: place[Signed(s.atom)])) for c in clauses)


def disjoint(
    node: Node, values: Sequence[bool], helpers: Callable[[tuple[Path, ...]], int]
) -> tuple[bool, tuple[Path, ...]]:
    """Return a value and disjoint conjunctions that say when the function takes it.

    Parameters
    ----------
    node : Node
    values : sequence of bool
        The values to choose from; the first wins a tie.
    helpers : callable
        How many helper predicates some conjunctions need. Fewer helpers win, then fewer conjunctions.

    Returns
    -------
    bool, tuple of tuple of Signed
        The literals of each conjunction are in the function's order of appearance.

    Raises
    ------
    ModelError
        There would be more than `LARGEST_FORM` conjunctions.
    """
    atoms = atoms_of(node)
    if not values[0] and isinstance(node, Any) and node.parts:
        plain = [part for part in node.parts if isinstance(part, Signed) and not isinstance(part.atom, Witness)]
        if len(plain) == len(node.parts) == len(atoms):
            # A clause is false in one case: a diagram would say the same.
            return False, (tuple(part.negated() for part in plain),)
    place = {atom: i for i, atom in enumerate(atoms)}

    def cost(order: tuple[Signed, ...]) -> tuple[tuple[int, int, int], bool, tuple[Path, ...]]:
        """Return what the cheaper form of a diagram costs, which value it lists, and its paths."""
        diagram, found = Diagram(node, order), []
        for rank, value in enumerate(values):
            count = diagram.count(value)
            if count <= LARGEST_FORM:
                paths = tuple(diagram.paths(value))
                found.append(((helpers(paths), count, rank), value, paths))
        return min(found, key=lambda f: f[0], default=((1 << 30, 1 << 30, 0), values[0], ()))

    best, order = cost(atoms), atoms
    improving = len(atoms) <= SIFTED_ATOMS
    while improving and best[0][:2] > (0, 1):
        improving = False
        for atom in atoms:
            rest = [a for a in order if a != atom]
            for i in range(len(atoms)):
                tried = (*rest[:i], atom, *rest[i:])
                found = cost(tried)
                if found[0] < best[0]:
                    best, order, improving = found, tried, True
    if best[0][0] == 1 << 30:
        raise ModelError(f"the formula would become more than {LARGEST_FORM} clauses: split it into smaller ones")
    return best[1], tuple(tuple(sorted(p, key=lambda s: place[Signed(s.atom)])) for p in best[2])
