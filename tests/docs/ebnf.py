"""Grammars in EBNF: read from a page, texts made from them, and texts held against them."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

# ---- grammars ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Word:
    """A terminal that stands for itself."""

    text: str


@dataclass(frozen=True)
class Pattern:
    """A regular expression."""

    regex: str


@dataclass(frozen=True)
class Hole:
    """What the grammar leaves to another one, in words."""

    what: str


@dataclass(frozen=True)
class Name:
    """A reference to a rule."""

    name: str


@dataclass(frozen=True)
class Row:
    """Parts one after the other."""

    parts: tuple[Node, ...]


@dataclass(frozen=True)
class Choice:
    """Alternatives."""

    parts: tuple[Node, ...]


@dataclass(frozen=True)
class Many:
    """Any number of times; `most` is 1 for what may be left out."""

    part: Node
    most: float = math.inf


Node = Word | Pattern | Hole | Name | Row | Choice | Many

_TOKEN = re.compile(
    r"""\s+|\(\*.*?\*\)|(?P<word>"(?:\\"|[^"])*"|'[^']*')|(?P<pattern>/(?:\\.|\[(?:\\.|[^\]\\])*\]|[^/\\\[])+/)|(?P<hole>\?[^?]*\?)"""
    r"""|(?P<name>[A-Za-z][\w-]*)|(?P<sign>[=|;(){}\[\]])""",
    re.DOTALL | re.VERBOSE,
)


@dataclass(frozen=True)
class Ebnf:
    """A grammar; its first rule is where it begins."""

    rules: Mapping[str, Node]

    @property
    def start(self) -> str:
        return next(iter(self.rules))

    @cached_property
    def heights(self) -> Mapping[str, int]:
        """How deep the least text of each rule is."""
        found = dict.fromkeys(self.rules, 10**6)
        changed = True
        while changed:
            changed = False
            for name, node in self.rules.items():
                height = 1 + self.height(node, found)
                if height < found[name]:
                    found[name], changed = height, True
        return found

    def height(self, node: Node, heights: Mapping[str, int] | None = None) -> int:
        heights = self.heights if heights is None else heights
        match node:
            case Name(name):
                return heights[name]
            case Row(parts):
                return max((self.height(part, heights) for part in parts), default=0)
            case Choice(parts):
                return min(self.height(part, heights) for part in parts)
            case _:
                return 0


def read_ebnf(text: str) -> Ebnf:
    """Read a grammar; every name in it has a rule, and every rule but the first one is used."""
    tokens: list[tuple[str, str]] = []
    at = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        assert match is not None, f"no EBNF: {text[at : at + 40]!r}"
        if match.lastgroup is not None:
            tokens.append((match.lastgroup, match[0]))
        at = match.end()
    rules: dict[str, Node] = {}
    place = 0

    def peek() -> str:
        return tokens[place][1] if place < len(tokens) and tokens[place][0] == "sign" else ""

    def take(sign: str) -> None:
        nonlocal place
        assert peek() == sign, f"expected {sign!r} in {[each for _, each in tokens[max(place - 5, 0) : place + 3]]}"
        place += 1

    def choice() -> Node:
        parts = [row()]
        while peek() == "|":
            take("|")
            parts.append(row())
        return parts[0] if len(parts) == 1 else Choice(tuple(parts))

    def row() -> Node:
        nonlocal place
        parts: list[Node] = []
        while place < len(tokens) and peek() not in ("|", ";", ")", "]", "}"):
            kind, shown = tokens[place]
            if kind == "sign":
                take(shown)
                close = {"(": ")", "[": "]", "{": "}"}[shown]
                inner = choice()
                take(close)
                parts.append(inner if shown == "(" else Many(inner, 1 if shown == "[" else math.inf))
                continue
            place += 1
            made: dict[str, Callable[[str], Node]] = {
                "word": lambda shown: Word(shown[1:-1]), "pattern": lambda shown: Pattern(shown[1:-1].replace("\\/", "/")),
                "hole": lambda shown: Hole(shown.strip("? ")), "name": Name,
            }  # fmt: skip
            parts.append(made[kind](shown))
        return parts[0] if len(parts) == 1 else Row(tuple(parts))

    while place < len(tokens):
        name = tokens[place][1]
        place += 1
        take("=")
        assert name not in rules, f"two rules for {name}"
        rules[name] = choice()
        take(";")
    used = {name for node in rules.values() for name in _names(node)}
    assert used <= rules.keys(), f"no rules for {used - rules.keys()}"
    assert rules.keys() - used <= {next(iter(rules))}, f"never used: {rules.keys() - used}"
    return Ebnf(rules)


def _names(node: Node) -> set[str]:
    match node:
        case Name(name):
            return {name}
        case Row(parts) | Choice(parts):
            return {name for part in parts for name in _names(part)}
        case Many(part):
            return _names(part)
        case _:
            return set()


def grammars(page: Path) -> dict[str, Ebnf]:
    """Return the grammars of a page by the headings above them."""
    found: dict[str, Ebnf] = {}
    for part in page.read_text(encoding="utf-8").split("\n## ")[1:]:
        head, _, body = part.partition("\n")
        for block in re.findall(r"^```ebnf\n(.*?)^```$", body, re.MULTILINE | re.DOTALL):
            assert head not in found, f"two grammars below {head}"
            found[head] = read_ebnf(block)
    return found


# ---- texts from a grammar ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Maker:
    """Makes texts: `tokens` has some for each pattern that is a rule, which are held against it; `fill` has texts for holes; `without` has rules that are left out."""

    grammar: Ebnf
    tokens: Mapping[str, Sequence[str]] = field(default_factory=dict)
    fill: Mapping[str, st.SearchStrategy[str]] = field(default_factory=dict)
    without: frozenset[str] = frozenset()
    depth: int = 14
    most: int = 3

    def texts(self, start: str) -> st.SearchStrategy[str]:
        """Return texts of a rule, with a blank between two tokens."""

        @st.composite
        def made(draw: Any) -> str:
            tokens: list[str] = []
            self._make(draw, Name(start), self.depth, tokens)
            return " ".join(tokens)

        return made()

    def _make(self, draw: Any, node: Node, depth: int, tokens: list[str]) -> None:
        match node:
            case Word(text):
                tokens.append(text)
            case Hole(what):
                tokens.append(draw(self.fill[what]))
            case Pattern(regex):
                tokens.append(draw(self._of(regex, "")))
            case Name(name):
                inner = self.grammar.rules[name]
                if isinstance(inner, Pattern):
                    tokens.append(draw(self._of(inner.regex, name)))
                else:
                    self._make(draw, inner, depth - 1, tokens)
            case Row(parts):
                for part in parts:
                    self._make(draw, part, depth, tokens)
            case Choice(parts):
                kept = [part for part in parts if not (_names(part) & self.without)]
                least = min(map(self.grammar.height, kept))
                fitting = [part for part in kept if self.grammar.height(part) <= max(depth, least)]
                self._make(draw, draw(st.sampled_from(fitting)), depth, tokens)
            case Many(part, most):
                if self.grammar.height(part) < depth and not (_names(part) & self.without):
                    for _ in range(draw(st.integers(0, int(min(most, self.most))))):
                        self._make(draw, part, depth - 1, tokens)

    def _of(self, regex: str, name: str) -> st.SearchStrategy[str]:
        if regex == r"\n":
            return st.just("\n")
        fitting = [each for each in self.tokens.get(name, ()) if re.fullmatch(regex, each)]
        return st.sampled_from(fitting) if fitting else st.from_regex(regex, fullmatch=True)


# ---- texts against a grammar -------------------------------------------------------------------------


@dataclass
class Recogniser:
    """Tells whether a text is one of the grammar's, by all ways at once; `blank` is what may stand between tokens."""

    grammar: Ebnf
    blank: str

    def accepts(self, text: str) -> bool:
        """Tell whether a text is one of the grammar's; `reached` is how far it is."""
        self._text, self._known = text, dict[tuple[int, int], frozenset[int]]()
        self._skip = re.compile(f"(?:{self.blank})*", re.DOTALL)
        self._nodes: list[Node] = []
        self.reached = 0
        ends = self._ends(Name(self.grammar.start), 0)
        return any(self._skipped(end) == len(text) for end in ends)

    def _skipped(self, at: int) -> int:
        found = self._skip.match(self._text, at)
        return found.end() if found else at

    def _ends(self, node: Node, at: int) -> frozenset[int]:
        key = (id(node), at) if not isinstance(node, Name) else (hash(node.name), at)
        if key not in self._known:
            self._nodes.append(node)  # ids stay those of living nodes
            self._known[key] = frozenset()
            self._known[key] = self._find(node, at)
        return self._known[key]

    def _find(self, node: Node, at: int) -> frozenset[int]:
        match node:
            case Name(name):
                return self._ends(self.grammar.rules[name], at)
            case Word(text):
                here = self._skipped(at)
                end = here + len(text)
                there = self._text.startswith(text, here)
                cut = text[-1].isalnum() and end < len(self._text) and re.match(r"\w", self._text[end])
                return self._reach(end) if there and not cut else frozenset()
            case Pattern(regex):
                here = at if regex == r"\n" and self._text.startswith("\n", at) else self._skipped(at)
                found = re.compile(regex).match(self._text, here)
                return self._reach(found.end()) if found else frozenset()
            case Row(parts):
                places = frozenset((at,))
                for part in parts:
                    places = frozenset().union(*(self._ends(part, place) for place in places))
                return places
            case Choice(parts):
                return frozenset().union(*(self._ends(part, at) for part in parts))
            case Many(part, most):
                found_ends, fresh = {at}, {at}
                while fresh:
                    fresh = {end for place in fresh for end in self._ends(part, place)} - found_ends
                    found_ends |= fresh
                    if most == 1:
                        break
                return frozenset(found_ends)
            case Hole(_):
                raise NotImplementedError("a hole has no end of its own")

    def _reach(self, end: int) -> frozenset[int]:
        self.reached = max(self.reached, end)
        return frozenset((end,))
