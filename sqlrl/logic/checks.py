"""Static checks of parsed formulas against the declarations, with errors that point at the text."""

from __future__ import annotations

from collections.abc import Mapping

from sqlrl.errors import ModelError
from sqlrl.logic.formulas import AtomMention, Mentions, TermMention
from sqlrl.logic.lexer import Source, Token, nearest
from sqlrl.logic.terms import Constant, Predicate
from sqlrl.wording import counted

Binding = tuple[str, int]


def check(
    source: Source, mentions: Mentions, predicates: Mapping[str, Predicate], types: Mapping[str, tuple[str, ...]]
) -> None:
    """Check one formula: predicates are declared, arities and types fit, constants lie in declared types.

    Raises
    ------
    ModelError
        With the line and a caret under the first fault.
    """
    known = _Types(source, types)
    for atom in mentions.atoms:
        _check_atom(source, atom, predicates)
        for mention, kind in zip(atom.terms, predicates[atom.predicate].types, strict=True):
            known.see(mention, kind)
    known.equalities(mentions.equalities)
    for token, binding in mentions.quantified:
        if binding not in known.of:
            raise source.error(ModelError, f"the quantified variable {token.text} occurs nowhere in its scope", token)


def _check_atom(source: Source, atom: AtomMention, predicates: Mapping[str, Predicate]) -> None:
    if atom.predicate not in predicates:
        hint = nearest(atom.predicate, predicates)
        problem = f"unknown predicate {atom.predicate!r}{hint or '; expected one that a line before declares'}"
        if not atom.terms and atom.token.end == atom.token.start + len(atom.predicate) and not hint:
            problem = f"{atom.predicate!r} is no declared predicate: expected an atom, or '=' or '!=' after a term"
        raise source.error(ModelError, problem, atom.token)
    declared = predicates[atom.predicate]
    if len(atom.terms) != len(declared.arguments):
        problem = f"{atom.predicate} has {counted(len(atom.terms), 'argument')} here, but is declared as {declared}"
        raise source.error(ModelError, problem, atom.token)


class _Types:
    """The types of the variables of one formula, learned while its terms are seen."""

    def __init__(self, source: Source, types: Mapping[str, tuple[str, ...]]) -> None:
        self.source = source
        self.of: dict[Binding, tuple[str, Token]] = {}
        self._types = types
        self._declared: dict[str, frozenset[str]] = {}

    def see(self, mention: TermMention, kind: str) -> None:
        """Note that a term stands where a type is wanted."""
        if mention.binding is None:
            self._see_constant(mention, kind)
            return
        first, where = self.of.setdefault(mention.binding, (kind, mention.token))
        if first != kind:
            line, column, _ = self.source.position(where.start)
            name = mention.binding[0]
            problem = (
                f"the variable {name} is of type {kind!r} here, but of type {first!r} in line {line}, column {column}"
            )
            raise self.source.error(ModelError, problem, mention.token)

    def _see_constant(self, mention: TermMention, kind: str) -> None:
        if kind not in self._types:
            return
        constants = self._declared.setdefault(kind, frozenset(self._types[kind]))
        name = mention.term.name
        if name not in constants:
            hint = nearest(name, constants)
            problem = f"the constant {mention.term} is not among those declared for the type {kind!r}{hint}"
            raise self.source.error(ModelError, problem, mention.token)

    def equalities(self, pairs: list[tuple[TermMention, TermMention]]) -> None:
        """Carry types across `=` until nothing changes, and require them to agree."""
        waiting = list(pairs)
        while waiting:
            still: list[tuple[TermMention, TermMention]] = []
            for left, right in waiting:
                kind = self._type(left) or self._type(right)
                if kind:
                    self.see(left, kind)
                    self.see(right, kind)
                elif left.binding or right.binding:
                    still.append((left, right))
            if len(still) == len(waiting):
                mention = next(m for m in still[0] if m.binding)
                problem = f"the type of {mention.term} cannot be inferred: it occurs only in '=' and '!='"
                raise self.source.error(ModelError, problem, mention.token)
            waiting = still

    def _type(self, mention: TermMention) -> str | None:
        if isinstance(mention.term, Constant) or mention.binding is None:
            return None
        found = self.of.get(mention.binding)
        return found[0] if found else None
