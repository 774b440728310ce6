"""What `--query` asks: predicates, or atoms of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import typer

from sqlrl.paths import is_file

if TYPE_CHECKING:
    import pyarrow as pa

    from sqlrl.catalog.layout import PredicateInfo
    from sqlrl.logic.model import Model
    from sqlrl.logic.terms import Atom


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
    r"""Return what is asked: names and atoms with commas between them, repeated, or in files, one on each line."""
    from sqlrl.logic.formulas import parse_formula
    from sqlrl.logic.terms import Atom, Variable

    names: dict[str, list[Atom]] = {}
    every = set[str]()
    for text in _texts(values or ()):
        name = text.split("(")[0].strip()
        if "(" not in text:
            every.add(name)
            names.setdefault(name, [])
            continue
        atom = parse_formula(text, model, path="--query")
        if not isinstance(atom, Atom):
            raise typer.BadParameter(
                f"--query {text}: name predicates or atoms, such as Cancer, Cancer(x) or Cancer(Anna)"
            )
        names.setdefault(name, []).append(atom)
        if all(isinstance(term, Variable) for term in atom.terms) and len(set(atom.terms)) == len(atom.terms):
            every.add(name)
    return AskedPredicates(
        tuple(names), tuple(atom for name, atoms in names.items() if name not in every for atom in atoms)
    )


def _texts(values: Sequence[str]) -> Iterator[str]:
    """Yield what options that are repeated, hold commas, or name files say; a comma between parentheses belongs to an atom."""
    from sqlrl.logic.lexer import read_text

    for value in values:
        text = read_text(value).replace("\n", ",") if is_file(value) else value
        depth, start, quoted = 0, 0, False
        for i, character in enumerate(f"{text},"):
            if character == '"' and text[max(i - 1, 0) : i] != "\\":
                quoted = not quoted
            if quoted:
                continue
            depth += (character == "(") - (character == ")")
            if character == "," and depth <= 0:
                if part := text[start:i].strip():
                    yield part
                start = i + 1
        if (depth > 0 or quoted) and text[start:].strip():
            yield text[start:].strip()
