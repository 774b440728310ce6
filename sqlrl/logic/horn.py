"""Horn definitions of background predicates: rules as values, and the order in which they can be evaluated.

A rule is `head :- body.`: the head holds where all literals of its body do. Literals are atoms, negated atoms of predicates
that do not depend on the head (stratified negation) and the comparisons `=` and `!=`.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from sqlrl.errors import ModelError
from sqlrl.logic.lexer import SourceText
from sqlrl.logic.prolog import quoted
from sqlrl.logic.terms import Term, Variable

ANONYMOUS = "_ "
"""How the names of variables that stand once, written `_`, begin; no written name has a blank."""


@dataclass(frozen=True, slots=True)
class HornAtom:
    """An atom of a rule; `offset` is where it stands in the text, and not part of equality."""

    predicate: str
    terms: tuple[Term, ...]
    offset: int = field(default=0, compare=False)

    def __str__(self) -> str:
        terms = f"({', '.join(map(_term, self.terms))})" if self.terms else ""
        return ("'not'" if self.predicate == "not" else quoted(self.predicate)) + terms


def _term(term: Term) -> str:
    if isinstance(term, Variable):
        return "_" if term.name.startswith(ANONYMOUS) else term.name
    text = term.name.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + text.replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t") + '"'


@dataclass(frozen=True, slots=True)
class HornRule:
    """A rule whose equalities have been put into its terms."""

    head: HornAtom
    body: tuple[HornAtom, ...] = ()  # the positive literals
    negated: tuple[HornAtom, ...] = ()  # `_` in one is any constant: no such atom holds
    unequal: tuple[tuple[Term, Term], ...] = ()
    source: SourceText = field(default_factory=lambda: SourceText(""), compare=False, repr=False)
    # What the text calls each variable.
    written: Mapping[str, str] = field(default_factory=dict, compare=False, repr=False)

    def said(self, term: Term) -> str:
        """Return a term as messages name it: as the text of the rule does."""
        return self.written.get(term.name, _term(term)) if isinstance(term, Variable) else _term(term)

    def __str__(self) -> str:
        literals = [*map(str, self.body), *(f"{_term(a)} != {_term(b)}" for a, b in self.unequal)]
        literals += [f"!{atom}" for atom in self.negated]
        return f"{self.head} :- {', '.join(literals)}." if literals else f"{self.head}."

    def atoms(self) -> Iterator[HornAtom]:
        """Yield the atoms of the body, the negated ones last."""
        yield from self.body
        yield from self.negated


@dataclass(frozen=True)
class Definitions:
    """Horn definitions of predicates."""

    rules: tuple[HornRule, ...]

    def __str__(self) -> str:
        """Return the rules, one a line, in the project's own convention; they parse to equal ones."""
        return "".join(f"{rule}\n" for rule in self.rules)

    def defined(self) -> tuple[str, ...]:
        """Return the predicates that the rules define, in the order of the text."""
        return tuple(dict.fromkeys(rule.head.predicate for rule in self.rules))

    def used(self) -> tuple[str, ...]:
        """Return the other predicates that the rules use, in the order of the text."""
        own = set(self.defined())
        found = (atom.predicate for rule in self.rules for atom in rule.atoms())
        return tuple(name for name in dict.fromkeys(found) if name not in own)

    def of(self, predicate: str) -> tuple[HornRule, ...]:
        """Return the rules of a predicate."""
        return tuple(rule for rule in self.rules if rule.head.predicate == predicate)


@dataclass(frozen=True)
class DefinedTogether:
    """Predicates that are defined through each other, or one predicate alone, in the order of the text."""

    predicates: tuple[str, ...]
    rules: tuple[HornRule, ...]
    recursive: bool  # whether a rule's body has one of the predicates

    def recursions(self, rule: HornRule) -> tuple[int, ...]:
        """Return the positive literals of a rule, from 0, that are of the component itself."""
        return tuple(i for i, atom in enumerate(rule.body) if atom.predicate in self.predicates)

    @property
    def linear(self) -> bool:
        """Whether no rule has two literals of the component."""
        return all(len(self.recursions(rule)) < 2 for rule in self.rules)

    def used(self) -> tuple[str, ...]:
        """Return the other predicates that its rules use."""
        found = dict.fromkeys(atom.predicate for rule in self.rules for atom in rule.atoms())
        return tuple(name for name in found if name not in self.predicates)


def components(definitions: Definitions) -> tuple[DefinedTogether, ...]:
    """Return the components of definitions, each after those that it uses."""
    rules: dict[str, list[HornRule]] = {}
    for rule in definitions.rules:
        rules.setdefault(rule.head.predicate, []).append(rule)
    uses = {
        name: [atom.predicate for rule in own for atom in rule.atoms() if atom.predicate in rules]
        for name, own in rules.items()
    }
    place = {name: number for number, name in enumerate(rules)}
    found: list[DefinedTogether] = []
    for group in _groups(rules, uses):
        predicates = tuple(sorted(group, key=place.__getitem__))
        own_rules = tuple(rule for name in predicates for rule in rules[name])
        recursive = any(used in group for name in predicates for used in uses[name])
        component = DefinedTogether(predicates, own_rules, recursive)
        _check(component)
        found.append(component)
    return tuple(found)


def _check(component: DefinedTogether) -> None:
    """Refuse recursion through a negation, and recursion that nothing starts."""
    for rule in component.rules:
        for atom in rule.negated:
            if atom.predicate in component.predicates:
                cycle = _cycle(component, rule.head.predicate, atom.predicate)
                problem = (
                    f"{rule.head.predicate} is defined through its own negation ({cycle}): a negated predicate must not depend on the "
                    "predicate that is defined (stratified negation)"
                )
                raise rule.source.error(ModelError, problem, atom.offset)
    if component.recursive and all(component.recursions(rule) for rule in component.rules):
        first = component.rules[0]
        names = ", ".join(component.predicates)
        verb = "is" if len(component.predicates) == 1 else "are"
        problem = f"{names} {verb} defined only through {'itself' if verb == 'is' else 'each other'}, so no atom of it is true: add a rule without it"
        raise first.source.error(ModelError, problem, first.head.offset)


def _cycle(component: DefinedTogether, start: str, negated: str) -> str:
    """Return the shortest way from a predicate through the negation of another one back to itself."""
    uses: dict[str, dict[str, str]] = {}
    for rule in component.rules:
        for atoms, sign in ((rule.body, ""), (rule.negated, "!")):
            for atom in atoms:
                if atom.predicate in component.predicates:
                    uses.setdefault(rule.head.predicate, {}).setdefault(atom.predicate, sign)
    came: dict[str, str] = {}
    reached = [negated]
    for name in reached:
        for used in uses.get(name, ()):
            if used not in came and used != negated:
                came[used] = name
                reached.append(used)
    way = [start]
    while way[-1] != negated:
        way.append(came[way[-1]])
    way.reverse()
    steps = [f"{start} uses !{negated}"]
    steps += [f"{one} uses {uses[one][other]}{other}" for one, other in itertools.pairwise(way)]
    return ", ".join(steps)


def _groups(names: Iterable[str], uses: Mapping[str, Iterable[str]]) -> list[set[str]]:
    """Return the strongly connected components of a graph, each after those that it reaches (Tarjan 1972, with a stack of its own)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    open_: set[str] = set()
    found: list[set[str]] = []
    for root in names:
        work: list[tuple[str, Iterator[str]]] = []
        following: str | None = None if root in index else root
        while following is not None or work:
            if following is not None:
                index[following] = low[following] = len(index)
                stack.append(following)
                open_.add(following)
                work.append((following, iter(uses[following])))
            name, rest = work[-1]
            following = None
            for used in rest:
                if used not in index:
                    following = used
                    break
                if used in open_:
                    low[name] = min(low[name], index[used])
            if following is None:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[name])
                if low[name] == index[name]:
                    at = stack.index(name) if stack[-1] != name else len(stack) - 1
                    found.append(set(stack[at:]))
                    open_ -= found[-1]
                    del stack[at:]
    return found
