"""Documents that other programs configure with: YAML, and JSON as people write it, each value with its place.

JSON may have comments (`//`, `#`, `/* */`), single quotes, commas behind the last value, and numbers with leading zeros or signs.
Numbers stay the texts that they are: a constant `1.0` is not the constant `1`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NoReturn

from sqlrl.errors import InputError, ParseError
from sqlrl.logic.lexer import SourceText
from sqlrl.logic.limits import DEEPEST_JSON
from sqlrl.wording import check_characters, shortened

TEXT, NUMBER, WORD, LIST, OBJECT = "text", "number", "word", "list", "object"
_NAMES = {TEXT: "a text", NUMBER: "a number", WORD: "a word", LIST: "a list", OBJECT: "an object"}

_BLANK = re.compile(r"(?:[\s\ufeff]++|//[^\n]*+|\#[^\n]*+|/\*(?s:.*?)\*/)*+")
_STRING = re.compile(r""""(?:[^"\\\n]++|\\[^\n])*+"|'(?:[^'\\\n]++|\\[^\n])*+'""")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_WORD = re.compile(r"true|false|null")
_ESCAPE = re.compile(r"\\(?:u(d[89ab][0-9a-f]{2})\\u(d[c-f][0-9a-f]{2})|u([0-9a-f]{4})|(.))", re.IGNORECASE)
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f", '"': '"', "'": "'", "\\": "\\", "/": "/"}


@dataclass(frozen=True, slots=True)
class Node:
    """A value of a document and where it starts."""

    kind: str
    value: Any  # a str for a scalar, a tuple of nodes for a list, a tuple of pairs of nodes for an object
    offset: int
    start: int = 0  # where the text of a scalar starts, behind its quote
    # Where each character of a text stands, and where the text ends; empty if they follow each other from `start`.
    places: tuple[int, ...] = field(default=(), repr=False)

    @property
    def items(self) -> tuple[Node, ...]:
        """The nodes of a list."""
        return self.value if self.kind == LIST else ()

    @property
    def pairs(self) -> tuple[tuple[Node, Node], ...]:
        """The names and values of an object."""
        return self.value if self.kind == OBJECT else ()

    def __str__(self) -> str:
        """The node as an error message names it."""
        if self.kind in (LIST, OBJECT):
            return _NAMES[self.kind]
        return repr(shortened(self.value)) if self.kind == TEXT else shortened(self.value)


class QuotedText(SourceText):
    """A text that stands inside of another one, in which errors show it."""

    def __init__(self, node: Node, whole: SourceText) -> None:
        super().__init__(node.value, whole.path, quotable=whole.quotable)
        self._node, self._whole = node, whole

    def position(self, offset: int) -> tuple[int, int, str]:
        """Return line and column in the whole text, and the text of the line."""
        node = self._node
        place = node.places[min(offset, len(node.places) - 1)] if node.places else node.start + offset
        return self._whole.position(place)


class Document:
    """A text that was read, and its root."""

    def __init__(self, root: Node, source: SourceText) -> None:
        self.root, self.source = root, source

    def fail(self, problem: str, node: Node) -> NoReturn:
        """Raise the error that shows a node."""
        raise self.source.error(ParseError, problem, node.offset)

    def expect(self, node: Node, *kinds: str, what: str) -> Node:
        """Return a node if it is of one of some kinds; else fail."""
        if node.kind not in kinds:
            names = " or ".join(_NAMES[kind] for kind in kinds)
            self.fail(f"expected {names} for {what}, found {node}", node)
        return node

    def members(self, node: Node, what: str) -> Iterator[tuple[Node, Node]]:
        """Yield the names and values of an object, each name once."""
        known: set[str] = set()
        for name, value in self.expect(node, OBJECT, what=what).pairs:
            if name.kind != TEXT:
                self.fail(f"expected a text for a name of {what}, found {name}", name)
            if name.value in known:
                self.fail(f"{what} says {shortened(name.value)!r} twice: remove one of the two", name)
            known.add(name.value)
            yield name, value


# ---- JSON --------------------------------------------------------------------------------------------


def is_json(text: str) -> bool:
    """Tell whether a text is an object of JSON rather than rules: it starts with a brace, comments aside."""
    blank = _BLANK.match(text)
    return text.startswith("{", blank.end() if blank else 0)


def parse_json_document(source: SourceText) -> Document:
    """Parse JSON with the extensions that this module's docstring lists."""
    reader = _JSON(source)
    root = reader.value(0)
    reader.skip()
    if reader.place < len(source.text):
        raise reader.unexpected("the end of the document")
    return Document(root, source)


class _JSON:
    def __init__(self, source: SourceText) -> None:
        self.source, self.text, self.place = source, source.text, 0

    def unexpected(self, expected: str) -> ParseError:
        """Return the error that says what was expected at the next place."""
        found = self.text[self.place : self.place + 1]
        shown = f"found {found!r}" if found else "found the end of the text"
        return self.source.error(ParseError, f"expected {expected}, {shown}", self.place)

    def skip(self) -> None:
        """Step over blanks and comments."""
        match = _BLANK.match(self.text, self.place)
        self.place = match.end() if match else self.place
        if self.text.startswith("/*", self.place):
            raise self.source.error(ParseError, "this comment does not end: expected */", self.place)

    def accept(self, sign: str) -> bool:
        """Step over a sign if it comes next."""
        self.skip()
        found = self.text.startswith(sign, self.place)
        self.place += len(sign) * found
        return found

    def value(self, depth: int) -> Node:
        """Read any value."""
        self.skip()
        start = self.place
        if depth > DEEPEST_JSON:
            raise self.source.error(ParseError, f"brackets nest more than {DEEPEST_JSON} deep", start)
        if self.accept("{"):
            pairs: list[tuple[Node, Node]] = []
            while not self.accept("}"):
                if pairs and not self.accept(","):
                    raise self.unexpected("',' or '}'")
                if self.accept("}"):
                    break
                self.skip()
                if self.text[self.place : self.place + 1] not in ("'", '"'):
                    raise self.unexpected("a name in quotes")
                name = self.string()
                if not self.accept(":"):
                    raise self.unexpected("':'")
                pairs.append((name, self.value(depth + 1)))
            return Node(OBJECT, tuple(pairs), start)
        if self.accept("["):
            items: list[Node] = []
            while not self.accept("]"):
                if items and not self.accept(","):
                    raise self.unexpected("',' or ']'")
                if self.accept("]"):
                    break
                items.append(self.value(depth + 1))
            return Node(LIST, tuple(items), start)
        if self.text[start : start + 1] in ("'", '"'):
            return self.string()
        for kind, pattern in ((NUMBER, _NUMBER), (WORD, _WORD)):
            match = pattern.match(self.text, start)
            if match:
                self.place = match.end()
                return Node(kind, match.group(), start)
        raise self.unexpected("a value")

    def string(self) -> Node:
        """Read a text in quotes."""
        start = self.place
        match = _STRING.match(self.text, start)
        if match is None:
            raise self.source.error(
                ParseError, f"this text does not end: expected {self.text[start]} on the same line", start
            )
        self.place = match.end()
        raw = match.group()[1:-1]
        if "\\" not in raw:
            return Node(TEXT, raw, start, start + 1)
        found: list[str] = []
        places: list[int] = []
        at = 0
        for escape in _ESCAPE.finditer(raw):
            found += raw[at : escape.start()]
            places += range(start + 1 + at, start + 1 + escape.start())
            high, low, code, letter = escape.groups()
            if high is not None:
                found.append(chr(0x10000 + ((int(high, 16) - 0xD800) << 10) + int(low, 16) - 0xDC00))
            elif code is not None:
                found.append(chr(int(code, 16)))
            elif letter in _ESCAPES:
                found.append(_ESCAPES[letter])
            else:
                problem = f"unknown escape {escape.group()!r}: a backslash is written twice"
                raise self.source.error(ParseError, problem, start + 1 + escape.start())
            places.append(start + 1 + escape.start())
            at = escape.end()
        found += raw[at:]
        places += range(start + 1 + at, match.end())
        text = "".join(found)
        check_characters(text, self.source.path)
        return Node(TEXT, text, start, start + 1, tuple(places))


# ---- YAML --------------------------------------------------------------------------------------------


def parse_yaml_document(source: SourceText) -> Document:
    """Parse one YAML document without aliases, all of whose scalars stay texts: no booleans, no dates."""
    try:
        import yaml
    except ImportError as error:
        raise InputError(f"{source.path}: reading YAML needs PyYAML: pip install 'sqlrl[yaml]'") from error
    roots: list[Node] = []
    # For each list or object that is open: its event, and the nodes in it so far.
    open_nodes: list[tuple[Any, list[Node]]] = []
    try:
        for event in yaml.parse(source.text, Loader=yaml.BaseLoader):
            offset = event.start_mark.index
            if isinstance(event, yaml.AliasEvent):
                problem = f"the alias *{event.anchor} is not supported: write out what it stands for"
                raise source.error(ParseError, problem, offset)
            if isinstance(event, yaml.DocumentStartEvent) and roots:
                raise source.error(ParseError, "the file has several documents: expected one", offset)
            if isinstance(event, yaml.CollectionStartEvent):
                open_nodes.append((event, []))
                if len(open_nodes) > DEEPEST_JSON:
                    raise source.error(ParseError, f"values nest more than {DEEPEST_JSON} deep", offset)
                continue
            if isinstance(event, yaml.CollectionEndEvent):
                first, nodes = open_nodes.pop()
                node = _collection(first, nodes, yaml)
            elif isinstance(event, yaml.ScalarEvent):
                node = _scalar(event, source)
            else:
                continue
            (open_nodes[-1][1] if open_nodes else roots).append(node)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        problem = f"this is no YAML: {getattr(error, 'problem', None) or getattr(error, 'reason', error)}"
        offset = mark.index if mark is not None else getattr(error, "position", 0)
        raise source.error(ParseError, problem, min(offset, len(source.text))) from error
    return Document(roots[0] if roots else Node(OBJECT, (), 0), source)


def _collection(first: Any, nodes: list[Node], yaml: Any) -> Node:
    offset = first.start_mark.index
    if isinstance(first, yaml.SequenceStartEvent):
        return Node(LIST, tuple(nodes), offset)
    return Node(OBJECT, tuple(zip(nodes[::2], nodes[1::2], strict=True)), offset)


def _scalar(event: Any, source: SourceText) -> Node:
    offset = event.start_mark.index
    start = offset + (event.style in ("'", '"'))
    text: str = event.value
    if source.text.startswith(text, start):
        return Node(TEXT, text, offset, start)
    # Its characters stand elsewhere than one behind the other: it is shown as a whole.
    return Node(TEXT, text, offset, start, (offset,) * (len(text) + 1))
