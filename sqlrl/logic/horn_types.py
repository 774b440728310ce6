"""The types of defined predicates, from the bodies of their definitions."""

from __future__ import annotations

from collections.abc import Hashable, Mapping

from sqlrl.errors import ModelError, Phrase
from sqlrl.logic.horn import Definitions, HornAtom, HornRule
from sqlrl.logic.lexer import nearest
from sqlrl.logic.terms import Term, Variable
from sqlrl.wording import counted


class _Types:
    """Sets of places that have one type, and that type as far as it is known."""

    def __init__(self) -> None:
        self._parent: dict[Hashable, Hashable] = {}
        self._type: dict[Hashable, tuple[str, str]] = {}

    def find(self, item: Hashable) -> Hashable:
        """Return what stands for the set of an item."""
        while (parent := self._parent.get(item, item)) != item:
            self._parent[item] = item = self._parent.get(parent, parent)
        return item

    def known(self, item: Hashable) -> tuple[str, str] | None:
        """Return the type of an item and the place that says so."""
        return self._type.get(self.find(item))

    def say(self, item: Hashable, known: tuple[str, str]) -> bool:
        """Give an item a type; False if it has another one."""
        return self._type.setdefault(self.find(item), known)[0] == known[0]

    def join(self, one: Hashable, other: Hashable) -> bool:
        """Put two items into one set; False if their types differ."""
        first, second = self.find(one), self.find(other)
        if first != second:
            self._parent[second] = first
            known = self._type.pop(second, None)
            return known is None or self.say(first, known)
        return True


def infer_types(definitions: Definitions, known: Mapping[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    """Return the argument types of the defined predicates, given those (`known`) of the others that bodies may use."""
    defined = {rule.head.predicate: len(rule.head.terms) for rule in definitions.rules}
    types = _Types()
    for number, rule in enumerate(definitions.rules):
        for atom in rule.atoms():
            if atom.predicate not in defined:
                _check_known(rule, atom, known, defined)
                for place, term in enumerate(atom.terms):
                    says = f"argument {place + 1} of {atom.predicate}"
                    _say(types, rule, atom, (number, term), term, (known[atom.predicate][place], says))
    for number, rule in enumerate(definitions.rules):
        for atom in (rule.head, *rule.atoms()):
            if atom.predicate in defined:
                if len(atom.terms) != defined[atom.predicate]:
                    _arity(rule, atom, defined[atom.predicate])
                for place, term in enumerate(atom.terms):
                    _join(types, rule, atom, place, (number, term))
        for one, other in rule.unequal:
            if all(isinstance(term, Variable) for term in (one, other)):
                _join_terms(types, rule, number, one, other)
    while sum(_say_by_constants(types, rule, known) for rule in definitions.rules):
        pass
    first: dict[str, HornRule] = {}
    for rule in definitions.rules:
        first.setdefault(rule.head.predicate, rule)
    return {name: _argument_types(types, rule) for name, rule in first.items()}


def _check_known(
    rule: HornRule, atom: HornAtom, known: Mapping[str, tuple[str, ...]], defined: Mapping[str, int]
) -> None:
    name = atom.predicate
    if name not in known:
        hint = nearest(name, [*known, *defined]) or ": load it or define it"
        raise rule.source.error(ModelError, f"there is no closed predicate {name!r}{hint}", atom.offset)
    if len(known[name]) != len(atom.terms):
        _arity(rule, atom, len(known[name]))


def _arity(rule: HornRule, atom: HornAtom, expected: int) -> None:
    problem = f"{atom.predicate} has {counted(len(atom.terms), 'argument')} here: expected {expected}"
    raise rule.source.error(ModelError, problem, atom.offset)


def _say(types: _Types, rule: HornRule, atom: HornAtom, item: Hashable, term: Term, known: tuple[str, str]) -> None:
    """Note the type that a known predicate gives a variable; a constant is one of each argument where it stands."""
    if isinstance(term, Variable) and not types.say(item, known):
        before = types.known(item)
        assert before is not None
        problem = (
            f"{rule.said(term)} is of the type {known[0]!r} as {known[1]}, and of {before[0]!r} as {before[1]}: "
            "no constant is of both"
        )
        raise rule.source.error(ModelError, problem, atom.offset)


def _join(types: _Types, rule: HornRule, atom: HornAtom, place: int, item: tuple[int, Term]) -> None:
    """Note that an argument of a defined predicate and a variable have one type."""
    slot = (atom.predicate, place)
    before, now = types.known(slot), types.known(item)
    if isinstance(item[1], Variable) and not types.join(slot, item):
        assert before is not None
        assert now is not None
        raise _two_types(rule, atom, place, now, before)


def _join_terms(types: _Types, rule: HornRule, number: int, one: Term, other: Term) -> None:
    before, now = types.known((number, one)), types.known((number, other))
    if not types.join((number, one), (number, other)):
        assert before is not None
        assert now is not None
        problem = (
            f"{rule.said(one)} != {rule.said(other)} always holds: they are of the types {before[0]!r} and {now[0]!r}"
        )
        raise rule.source.error(ModelError, problem, rule.head.offset)


def _say_by_constants(types: _Types, rule: HornRule, known: Mapping[str, tuple[str, ...]]) -> bool:
    """Note the types of arguments of the head that nothing else says: those of where their constants stand in the body; True if some."""
    changed = False
    for place, term in enumerate(rule.head.terms):
        slot = (rule.head.predicate, place)
        if isinstance(term, Variable):
            continue
        places = [(atom.predicate, i) for atom in rule.body for i, other in enumerate(atom.terms) if other == term]
        found = [
            (known[name][i], f"argument {i + 1} of {name}") if name in known else types.known((name, i))
            for name, i in places
        ]
        says = {each[0]: each for each in found if each is not None}
        before = types.known(slot)
        if before is None and len(says) == 1:
            changed = types.say(slot, next(iter(says.values()))) or changed
        elif before is not None and says and before[0] not in says:
            raise _two_types(rule, rule.head, place, min(says.values()), before)
    return changed


def _two_types(rule: HornRule, atom: HornAtom, place: int, now: tuple[str, str], before: tuple[str, str]) -> ModelError:
    problem = (
        f"argument {place + 1} of {atom.predicate} is of the type {now[0]!r} here, as {now[1]} says, "
        f"and of {before[0]!r}, as {before[1]} says: no constant is of both"
    )
    return rule.source.error(ModelError, problem, atom.offset)


def _argument_types(types: _Types, rule: HornRule) -> tuple[str, ...]:
    found: list[str] = []
    for place in range(len(rule.head.terms)):
        known = types.known((rule.head.predicate, place))
        if known is None:
            problem = (
                f"nothing says which type argument {place + 1} of {rule.head.predicate} has: expected a rule whose body has a "
                f"variable there. A table of facts is loaded, with types: {Phrase('db.load({!r}, ...)', (rule.head.predicate,))}"
            )
            raise rule.source.error(ModelError, problem, rule.head.offset)
        found.append(known[0])
    return tuple(found)
