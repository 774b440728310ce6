"""Boolean functions over literals and existential witnesses: in negation normal form, and as disjoint conjunctions.

The conjunctions are the paths of a small ordered decision diagram, that of Bryant, "Graph-based algorithms for Boolean function
manipulation" (1986), section 2; two paths of one diagram differ in the value of an atom, so no assignment satisfies both
conjunctions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from sqlrl.errors import ModelError
from sqlrl.logic.limits import LARGEST_FORM, MOST_ATOMS
from sqlrl.logic.terms import Constant, EqualityLiteral, Literal, Term, Variable

SIFTED_ATOMS = 14
"""Up to how many atoms the order of the diagram is improved by moving each of them to every place."""

SIFTED_SIZE = 200
"""The same for the parts of the function: of more, as nested equivalences have, each diagram takes long."""


# ---- negation normal form ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Witness:
    """`EXIST variables (conjunction)` as an atom; every variable occurs in the conjunction."""

    variables: tuple[str, ...]
    conjunction: tuple[Signed, ...]
    # The example over whose domains the variables range, where only the rest of the formula names it.
    example: Variable | Constant | None = None


@dataclass(frozen=True, slots=True)
class Signed:
    """An atom or its negation; literals inside are positive."""

    atom: Literal | EqualityLiteral | Witness
    positive: bool = True

    def negated(self) -> Signed:
        """Return the other sign of the same atom."""
        return Signed(self.atom, not self.positive)


@dataclass(frozen=True, slots=True)
class All:
    """A conjunction; without parts it is true."""

    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Any:
    """A disjunction; without parts it is false."""

    parts: tuple[Node, ...]


Node = Signed | All | Any

TRUE, FALSE = All(()), Any(())


def conjoin(parts: Iterable[Node]) -> Node:
    """Return the conjunction: flat, without repetition, false if two parts contradict each other."""
    found = _distinct((piece for part in parts for piece in (part.parts if isinstance(part, All) else (part,))), FALSE)
    if found is None:
        return FALSE
    return found[0] if len(found) == 1 else All(found)


def disjoin(parts: Iterable[Node]) -> Node:
    """Return the disjunction: flat, without repetition, true if one part is the negation of another."""
    found = _distinct((piece for part in parts for piece in (part.parts if isinstance(part, Any) else (part,))), TRUE)
    if found is None:
        return TRUE
    return found[0] if len(found) == 1 else Any(found)


def _distinct(pieces: Iterable[Node], absorbing: Node) -> tuple[Node, ...] | None:
    """Return each piece once; None if one is `absorbing`, or an atom has both signs."""
    found: dict[Node | Literal | EqualityLiteral | Witness, Node] = {}
    for piece in pieces:
        if isinstance(piece, Signed):
            known = found.setdefault(piece.atom, piece)
            if isinstance(known, Signed) and known.positive != piece.positive:
                return None
        elif piece == absorbing:
            return None
        else:
            found[piece] = piece
    return tuple(found.values())


def negate(node: Node) -> Node:
    """Return the negation, with negation at the literals only."""
    match node:
        case Signed():
            return node.negated()
        case All(parts):
            return disjoin(map(negate, parts))
        case Any(parts):
            return conjoin(map(negate, parts))


def disjuncts(node: Node) -> tuple[tuple[Signed, ...], ...]:
    """Return the disjunctive normal form, without conjunctions that others absorb."""
    match node:
        case Signed():
            return ((node,),)
        case Any(parts):
            return tuple(_absorb(conjunction for part in parts for conjunction in disjuncts(part)))
        case All(parts):
            found: list[tuple[Signed, ...]] = [()]
            # Literals in a row are joined at once, since each step copies what was joined before.
            for plain, grouped in groupby(parts, lambda part: isinstance(part, Signed)):
                row = tuple(grouped)
                found = _joined(found, [(_signs(All(row)),)] if plain else map(disjuncts, row))
            return tuple(found)


def _joined(
    found: list[tuple[Signed, ...]], others: Iterable[tuple[tuple[Signed, ...], ...]]
) -> list[tuple[Signed, ...]]:
    """Return the disjunctive normal form of the conjunction of one and others."""
    for right in others:
        if len(found) * len(right) > LARGEST_FORM:
            raise ModelError(f"the formula expands to more than {LARGEST_FORM} conjunctions: split it")
        joined = (conjoin((*a, *b)) for a in found for b in right)
        found = _absorb(_signs(x) for x in joined if x != FALSE)
    return found


def prenex(clause: tuple[Signed, ...]) -> tuple[Signed, ...]:
    """Drop the universal quantifiers of a clause, so that their variables become grounding variables."""
    found: dict[Signed, None] = {}
    for signed in clause:
        # A quantifier over the domains of a constant example stays: the clause need not name that example.
        if isinstance(signed.atom, Witness) and not signed.positive and not isinstance(signed.atom.example, Constant):
            found.update(dict.fromkeys(prenex(tuple(s.negated() for s in signed.atom.conjunction))))
        else:
            found[signed] = None
    return tuple(found)


def _signs(node: Node) -> tuple[Signed, ...]:
    parts = node.parts if isinstance(node, All) else (node,)
    return tuple(p for p in parts if isinstance(p, Signed))


def _absorb(conjunctions: Iterable[tuple[Signed, ...]]) -> list[tuple[Signed, ...]]:
    unique = {frozenset(c): c for c in conjunctions}
    if frozenset() in unique:
        return [()]
    # One that absorbs another is found by the literal of it that the fewest conjunctions have.
    often = Counter(signed for key in unique for signed in key)
    having: dict[Signed, list[frozenset[Signed]]] = {}
    for key in unique:
        having.setdefault(min(key, key=often.__getitem__), []).append(key)
    return [
        c for key, c in unique.items() if not any(other < key for signed in key for other in having.get(signed, ()))
    ]


def size_of(node: Node) -> int:
    """Return the number of parts of a function."""
    return 1 if isinstance(node, Signed) else 1 + sum(map(size_of, node.parts))


def variables_of(signed: Signed) -> Iterator[str]:
    """Yield the names of the free variables of a literal or witness, from left to right."""
    match signed.atom:
        case Literal(_, terms):
            yield from (t.name for t in terms if isinstance(t, Variable))
        case EqualityLiteral(left, right):
            yield from (t.name for t in (left, right) if isinstance(t, Variable))
        case Witness(variables, conjunction, example):
            yield from (n for s in conjunction for n in variables_of(s) if n not in variables)
            yield from (example.name,) if isinstance(example, Variable) else ()


def substitute(signed: Signed, names: Mapping[str, str]) -> Signed:
    """Rename the free variables of a literal or witness."""
    return map_terms(signed, lambda t: Variable(names[t.name], t.plus) if t.name in names else t)


def map_terms(signed: Signed, change: Callable[[Variable], Variable]) -> Signed:
    """Change the free variables of a literal or witness."""

    def term(old: Term) -> Term:
        """Return a changed variable, or the constant."""
        return change(old) if isinstance(old, Variable) else old

    match signed.atom:
        case Literal(predicate, terms):
            return Signed(Literal(predicate, tuple(map(term, terms))), signed.positive)
        case EqualityLiteral(left, right):
            return Signed(EqualityLiteral(term(left), term(right)), signed.positive)
        case Witness(variables, conjunction, example):

            def outside(old: Variable) -> Variable:
                """Change a variable that the quantifier does not bind."""
                return old if old.name in variables else change(old)

            example = change(example) if isinstance(example, Variable) else example
            parts = tuple(map_terms(s, outside) for s in conjunction)
            return Signed(Witness(variables, parts, example), signed.positive)


# ---- decision diagrams -------------------------------------------------------------------------------


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
    """The reduced ordered decision diagram of a function for one order of its atoms, which are positive literals."""

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
    """Return the conjunctive normal form: clauses as tuples of literals in order of appearance."""
    place = {atom: i for i, atom in enumerate(atoms_of(node))}
    clauses = ((s.negated() for s in conjunction) for conjunction in disjuncts(negate(node)))
    return tuple(tuple(sorted(c, key=lambda s: place[Signed(s.atom)])) for c in clauses)


def disjoint(
    node: Node, values: Sequence[bool], helpers: Callable[[tuple[Path, ...]], int]
) -> tuple[bool, tuple[Path, ...]]:
    """Return one of `values`, and few disjoint conjunctions that hold exactly where the function takes it."""
    atoms = atoms_of(node)
    case = isinstance(node, All)
    if isinstance(node, All | Any) and node.parts and (case in values if case else not values[0]):
        plain = [part for part in node.parts if isinstance(part, Signed) and not isinstance(part.atom, Witness)]
        if len(plain) == len(node.parts) == len(atoms):
            # A clause is false in one case, and a conjunction true in one: a diagram would say the same.
            return case, (tuple(part if case else part.negated() for part in plain),)
    if len(atoms) > MOST_ATOMS:
        raise ModelError(
            f"the formula has {len(atoms)} different atoms, and its cases can be told apart for up to {MOST_ATOMS}: split it into smaller "
            "ones; a hard conjunction is one hard rule for each part"
        )
    place = {atom: i for i, atom in enumerate(atoms)}

    def cost(order: tuple[Signed, ...]) -> tuple[tuple[int, int, int], bool, tuple[Path, ...]]:
        """Return what the cheaper form of a diagram costs, which value it lists, and its paths."""
        diagram, found = Diagram(node, order), []
        for rank, value in enumerate(values):
            count = diagram.count(value)
            if count <= LARGEST_FORM:
                paths = tuple(diagram.paths(value))
                # Fewer helper predicates win, then fewer conjunctions, then the earlier value.
                found.append(((helpers(paths), count, rank), value, paths))
        return min(found, key=lambda f: f[0], default=((1 << 30, 1 << 30, 0), values[0], ()))

    best, order = cost(atoms), atoms
    improving = len(atoms) <= SIFTED_ATOMS and size_of(node) <= SIFTED_SIZE
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
