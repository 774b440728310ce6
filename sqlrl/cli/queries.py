"""What `--query` asks: predicates and atoms, repeated or in files; `sqlrl.logic.queries` reads them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlrl.errors import InputError
from sqlrl.paths import is_file

if TYPE_CHECKING:
    import pyarrow as pa

    from sqlrl.catalog.layout import PredicateInfo
    from sqlrl.logic.model import Model
    from sqlrl.logic.queries import QueryItem
    from sqlrl.logic.terms import Atom

OPTION = "--query"


@dataclass(frozen=True)
class AskedPredicates:
    """The predicates that are asked for, and of some the atoms, which may hold variables: of others all."""

    predicates: tuple[str, ...] = ()
    atoms: tuple[Atom, ...] = ()

    @property
    def whole(self) -> bool:
        """Whether all atoms of each predicate are asked for."""
        return not self.atoms

    def shown(self, info: PredicateInfo, rows: pa.Table) -> pa.Table:
        """Return the rows of a predicate's atoms, with the columns of its arguments, that are asked for."""
        import pyarrow as pa
        import pyarrow.compute as pc

        from sqlrl.ground.clauses import argument_names
        from sqlrl.logic.terms import Constant

        mine = [atom for atom in self.atoms if atom.predicate == info.name]
        if not mine:
            return rows
        names, chosen = argument_names(info), pa.array([False] * len(rows), pa.bool_())
        for atom in mine:
            fits = pa.array([True] * len(rows), pa.bool_())
            first: dict[str, str] = {}
            for name, term in zip(names, atom.terms, strict=True):
                same = term.name if isinstance(term, Constant) else rows[first.setdefault(term.name, name)]
                fits = pc.and_(fits, pc.equal(rows[name], same))
            chosen = pc.or_(chosen, fits)
        return rows.filter(chosen)


def asked(values: Sequence[str] | None, model: Model) -> AskedPredicates:
    """Return what is asked of a model."""
    from sqlrl.logic.terms import Variable
    from sqlrl.wording import did_you_mean, nearest_names

    items = list(_items(values))
    unknown = [each.atom.predicate for each in items if each.bare and each.source.path == OPTION]
    if unknown := [name for name in unknown if name not in model.predicates]:
        like = did_you_mean(nearest_names(unknown[0], model.predicates))
        raise InputError(f"{OPTION} names predicates that the model does not declare: {', '.join(unknown)}{like}")
    names: dict[str, list[Atom]] = {}
    every = set[str]()
    for each in items:
        each.check(model)
        name, terms = each.atom.predicate, each.atom.terms
        names.setdefault(name, []).extend([] if each.bare else [each.atom])
        if each.bare or (all(isinstance(term, Variable) for term in terms) and len(set(terms)) == len(terms)):
            every.add(name)
    return AskedPredicates(
        tuple(names), tuple(atom for name, atoms in names.items() if name not in every for atom in atoms)
    )


def asked_names(values: Sequence[str] | None) -> tuple[str, ...]:
    """Return the predicates that are asked of a program, all of whose atoms are."""
    items = list(_items(values))
    for each in items:
        if not each.bare:
            raise each.fault(f"expected a predicate, found an atom: write {each.atom.predicate}")
    return tuple(dict.fromkeys(each.atom.predicate for each in items))


def _items(values: Sequence[str] | None) -> Iterator[QueryItem]:
    """Yield what options that are repeated, hold commas, or name files say."""
    from sqlrl.logic.lexer import read_text
    from sqlrl.logic.queries import parse_query

    for value in values or ():
        yield from parse_query(read_text(value), value) if is_file(value) else parse_query(value, OPTION)
