"""Rules read one by one: a list of a handbook, or of a language model, in which a line that does not parse leaves the others alone."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from sqlrl.errors import ModelError, ParseError, SqlrlError
from sqlrl.logic.files import read_model
from sqlrl.logic.formulas import AtomMention, Mentions, check
from sqlrl.logic.lexer import SourceText, Token, nearest, read_text, tokenize
from sqlrl.logic.mln import ParsedProgram, parse_mln
from sqlrl.logic.model import Model, Rule
from sqlrl.logic.terms import Predicate

NAMED = 8
"""So many predicates are named where a rule has another."""

SAVED = "// sqlrl {"
"""How the first line of a saved model begins."""


MARK = re.compile(r"^[ \t]*(\(?\d+[.)]|[*+\u2022\u2023\u25e6\u2013\u2014\u00b7-])(?=[ \t]+\S)", re.MULTILINE)
"""A number or bullet at the beginning of a line of a list. A weight does not end in a dot, and no blank follows a sign."""


@dataclass(frozen=True)
class RefusedRule:
    """A statement of a list that cannot be read as a rule of these predicates."""

    line: int
    text: str
    problem: str


@dataclass(frozen=True)
class RuleList:
    """The rules of a text."""

    # With all rules that can be read.
    model: Model
    # Every rule, and what cannot be read as one, in the order of the text.
    entries: tuple[Rule | RefusedRule, ...]
    # The numbers and bullets before rules, which are no part of these, by the line.
    marks: Mapping[int, str] = field(default_factory=dict)
    # What the text is called in its rules.
    path: str | None = None

    def mark(self, entry: Rule | RefusedRule) -> str | None:
        """Return the number or bullet before a rule."""
        here = isinstance(entry, Rule) and entry.path == self.path
        return self.marks.get(entry.line) if here else None


def rules_of(model: Model) -> RuleList:
    """Return the rules of a model as a list."""
    return RuleList(model, model.rules)


def read_rules(
    path: str | Path, known: Mapping[str, Predicate], *, untyped: Collection[str] = (), trusted: bool = True
) -> RuleList:
    """Read the rules of a file; predicates that it does not declare are the `known` ones."""
    if Path(path).suffix == ".json":
        return rules_of(read_model(path, trusted=trusted))
    return parse_rules(read_text(path), known, untyped=untyped, path=str(path), file=Path(path), trusted=trusted)


def parse_rules(
    text: str,
    known: Mapping[str, Predicate],
    *,
    untyped: Collection[str] = (),  # predicates whose types nobody has said
    path: str = "<text>",
    file: Path | None = None,  # relative to which files are included
    trusted: bool = True,
) -> RuleList:
    """Read the rules of a text, a statement a line; predicates that it does not declare are the `known` ones."""
    if text.lstrip("\ufeff").startswith(SAVED):
        # What its first line says of templates is about all lines after it.
        return rules_of(parse_mln(text, path=path, trusted=trusted))
    program = _ListedProgram(known, untyped, trusted=trusted)
    bare, marks = _without_marks(text)
    source = SourceText(bare, path)
    program.read(SourceText(program.readable(source), path), file)
    found = program.rule_list()
    if not marks:
        return found
    # What is no rule is shown as it was written.
    written, lines = text.split("\n"), bare.split("\n")
    entries = tuple(
        replace(entry, text=written[entry.line - 1].strip())
        if isinstance(entry, RefusedRule) and entry.line in marks and entry.text == lines[entry.line - 1].strip()
        else entry
        for entry in found.entries
    )
    return replace(found, entries=entries, marks=marks, path=path)


def _without_marks(text: str) -> tuple[str, dict[int, str]]:
    """Put blanks in place of the numbers and bullets of a list, and return them by line."""
    marks: dict[int, str] = {}
    pieces: list[str] = []
    end, line = 0, 1
    for found in MARK.finditer(text):
        begin, after = found.span(1)
        line += text.count("\n", end, begin)
        marks[line] = found[1]
        pieces += [text[end:begin], " " * (after - begin)]
        end = after
    return "".join([*pieces, text[end:]]), marks


class _ListedProgram(ParsedProgram):
    """A program whose statements are refused one by one."""

    def __init__(self, known: Mapping[str, Predicate], untyped: Collection[str], *, trusted: bool) -> None:
        super().__init__({}, fold_case=False, trusted=trusted)
        self._known, self._untyped = dict(known), untyped
        self.predicates.update(known)
        self.declared_types.update(kind for predicate in known.values() for kind in predicate.types)
        self._entries: list[tuple[Rule, SourceText, Mentions] | RefusedRule] = []

    def readable(self, source: SourceText) -> str:
        """Return a text with blanks in place of lines that hold what no statement can."""
        text, begin = source.text, 0
        while True:
            try:
                tokenize(SourceText(text[begin:]))
                return text
            except ParseError as error:
                for _ in range(error.line - 1):
                    begin = text.index("\n", begin) + 1
                end = text.find("\n", begin)
                end = len(text) if end < 0 else end
                line, _, wrong = source.position(begin)
                self._entries.append(RefusedRule(line, wrong.strip(), str(error.problem)))
                text = text[:begin] + " " * (end - begin) + text[end:]
                begin = end

    def refuse(self, error: SqlrlError, source: SourceText, start: Token) -> None:
        """Note what is wrong with a statement, and go on after it; what leads an untrusted text out of its folder is no slip."""
        if start.text == "#" and not self._trusted:
            raise error
        line, _, text = source.position(start.start)
        self._entries.append(RefusedRule(line, text.strip(), _problem(error)))

    def declare(self, predicate: Predicate) -> Predicate:
        """Declare a predicate; one that is known may be declared once more, as closed or with a block."""
        known = self._known.pop(predicate.name, None)
        if known is not None and known.types == predicate.types:
            self.predicates[predicate.name] = predicate
        return super().declare(predicate)

    def add(self, rule: Rule, source: SourceText, mentions: Mentions) -> None:
        """Add a rule, to be checked at the end."""
        self._entries.append((rule, source, mentions))

    def rule_list(self) -> RuleList:
        """Check every rule by itself, and return them with what is refused."""
        # Characters that no statement has were found before any rule.
        entries = (
            sorted(self._checked(), key=lambda entry: entry.line) if len(self.headers) == 1 else list(self._checked())
        )
        entries += self.scoping.rules()
        rules = tuple(entry for entry in entries if isinstance(entry, Rule))
        return RuleList(Model(dict(self.predicates), dict(self.types), rules), tuple(entries))

    def _check_known(self, atom: AtomMention, source: SourceText) -> None:
        """Refuse an atom of a predicate that neither the text declares nor the data have."""
        name = atom.predicate
        if name in self.predicates:
            return
        if name in self._untyped:
            declared = f"{name}({', '.join(['entity'] * len(atom.terms))})"
            problem = (
                f"the types of the arguments of {name} are unknown: declare them in a line before, such as {declared}"
            )
        else:
            problem = (
                f"unknown predicate {name!r}{nearest(name, self.predicates) or f'; there are {_some(self.predicates)}'}"
            )
        raise source.error(ModelError, problem, atom.token)

    def _checked(self) -> Iterator[Rule | RefusedRule]:
        for entry in self._entries:
            if isinstance(entry, RefusedRule):
                yield entry
                continue
            rule, source, mentions = entry
            try:
                for atom in mentions.atoms:
                    self._check_known(atom, source)
                check(source, mentions, self.predicates, self.types)
            except SqlrlError as error:
                yield RefusedRule(
                    rule.line, source.text.split("\n")[rule.line - source.first_line].strip(), _problem(error)
                )
            else:
                yield rule


def _some(names: Iterable[str]) -> str:
    listed = sorted(names)
    more = [f"{len(listed) - NAMED:,} more"] if len(listed) > NAMED else []
    return ", ".join([*listed[:NAMED], *more]) or "none"


def _problem(error: SqlrlError) -> str:
    """Return what is wrong, without the place."""
    located = error if isinstance(error, ParseError) else error.located
    return str(located.problem if located is not None else error.message)
