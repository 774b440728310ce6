"""Evidence files (`.db`): `P(A)` true, `!P(A)` false, `0.8 P(A)` soft, `?P(A)` unknown, one atom a line; `type = {A, B}` lists constants."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from sqlrl.errors import ModelError, ParseError, UnsupportedError
from sqlrl.logic.lexer import (
    END,
    NAME,
    NEWLINE,
    NUMBER,
    SIGN,
    STRING,
    SourceText,
    Token,
    check_text,
    nearest,
    read_text,
    signed_number,
    tokenize,
)
from sqlrl.logic.model import Model
from sqlrl.logic.terms import Constant, Predicate
from sqlrl.wording import counted

_PLAIN = re.compile(
    r"[ \t]*(!?)[ \t]*([^\W\d]\w*)[ \t]*"
    r"\([ \t]*((?:[^\W\d]\w*|-?\d+)(?:[ \t]*,[ \t]*(?:[^\W\d]\w*|-?\d+))*)[ \t]*\)[ \t]*\r?\Z"
)
_DOMAIN = re.compile(r"[ \t]*[^\W\d]\w*[ \t]*=[ \t]*\{")
_COMMENT_OR_STRING = re.compile(r'"(?:[^"\\\n]++|\\[^\n])*+"|//[^\n]*|/\*(?s:.*?)\*/')


class EvidenceAtom(NamedTuple):
    """One line of evidence."""

    predicate: str
    constants: tuple[str, ...]
    truth: bool | None  # None for soft evidence and for an unknown atom
    probability: float | None  # that of soft evidence, strictly between 0 and 1; else None
    line: int  # from 1


def parse_evidence(
    text: str,
    *,
    path: str = "<text>",
    model_or_predicates: Model | Mapping[str, Predicate] | None = None,
) -> list[EvidenceAtom]:
    """Parse the text of a `.db` file into atoms in its order, repeats included, checked against given declarations."""
    return list(iterate_evidence(text, path=path, model_or_predicates=model_or_predicates))


def read_evidence(
    path: str | Path, *, model_or_predicates: Model | Mapping[str, Predicate] | None = None
) -> list[EvidenceAtom]:
    """Read a `.db` file; see `parse_evidence`."""
    return parse_evidence(
        read_text(path, parse="sqlrl.parse_evidence"), path=str(path), model_or_predicates=model_or_predicates
    )


def iterate_evidence(
    text: str,
    *,
    path: str = "<text>",
    model_or_predicates: Model | Mapping[str, Predicate] | None = None,
) -> Iterator[EvidenceAtom]:
    """Parse evidence atom by atom; as `parse_evidence` without the list."""
    check_text(text, "evidence", "read files with read_evidence")
    declared = model_or_predicates.predicates if isinstance(model_or_predicates, Model) else model_or_predicates
    plain = _PLAIN.match
    if "/*" in text:
        text = _COMMENT_OR_STRING.sub(_blank, text)
    for number, line in enumerate(text.split("\n"), 1):
        match = plain(line)
        if match is None:
            if line.strip():
                yield from _slow(line, number, path, declared)
            continue
        sign, name, arguments = match.groups()
        constants = (*map(str.strip, arguments.split(",")),)
        if declared is not None and (name not in declared or len(declared[name].arguments) != len(constants)):
            _check(SourceText(line, path, number), match.start(2), name, len(constants), declared)
        yield EvidenceAtom(name, constants, not sign, None, number)


def parse_domains(text: str, *, path: str = "<text>") -> dict[str, tuple[str, ...]]:
    r"""Return the constants that lines such as `person = {Anna, Bob}` list, by type; `parse_evidence` steps over them."""
    found: dict[str, tuple[str, ...]] = {}
    if "{" not in text:
        return found
    text = _COMMENT_OR_STRING.sub(_blank, text) if "/*" in text else text
    for number, line in enumerate(text.split("\n"), 1):
        if _DOMAIN.match(line):
            source = SourceText(line, path, number)
            name, listed = _domain(source, [t for t in tokenize(source) if t.kind != NEWLINE])
            found[name] = tuple(dict.fromkeys((*found.get(name, ()), *listed)))
    return found


def _domain(source: SourceText, tokens: list[Token]) -> tuple[str, tuple[str, ...]]:
    """Read `type = {A, B}`."""
    constants, at = _listed(source, tokens, 3, "}")
    if tokens[at].kind != END:
        raise source.error(ParseError, f"expected the end of the line, found {tokens[at]}", tokens[at])
    return tokens[0].text, constants


def _blank(match: re.Match[str]) -> str:
    """Keep strings; of a comment keep the ends of lines."""
    found = match.group()
    return found if found[0] == '"' else "".join(c if c == "\n" else " " for c in found)


def _slow(line: str, number: int, path: str, declared: Mapping[str, Predicate] | None) -> Iterator[EvidenceAtom]:
    """Parse a line that the fast pattern does not cover."""
    source = SourceText(line, path, number)
    tokens = [t for t in tokenize(source) if t.kind != NEWLINE]
    if tokens[0].kind == END:
        return
    probability, at = _probability(source, tokens)
    sign = tokens[at].text if tokens[at].kind == SIGN and tokens[at].text in ("!", "?") else ""
    at += bool(sign)
    name, after = tokens[at], tokens[min(at + 1, len(tokens) - 1)]
    if after.kind == SIGN and after.text == "=" and _DOMAIN.match(line):
        return  # as `parse_domains` reads it
    if after.kind == SIGN and after.text == "=":
        raise source.error(UnsupportedError, "the values of functions are not supported; use a predicate", name)
    if name.kind != NAME:
        raise source.error(ParseError, f"expected a predicate, found {name}", name)
    constants, at = _constants(source, tokens, at + 1)
    if tokens[at].kind != END:
        raise source.error(ParseError, f"expected the end of the line, found {tokens[at]}", tokens[at])
    if sign == "?" and probability is not None:
        raise source.error(ParseError, "an atom is either soft or unknown: remove the probability or the '?'", name)
    if declared is not None:
        _check(source, name.start, name.text, len(constants), declared)
    truth: bool | None = None if sign == "?" else sign != "!"
    if probability is not None:
        # As in Tuffy, `0.8 !P(A)` is `0.2 P(A)`; probabilities 0 and 1 are plain evidence.
        probability = 1 - probability if sign == "!" else probability
        truth = {0.0: False, 1.0: True}.get(probability)
        probability = probability if truth is None else None
    yield EvidenceAtom(name.text, constants, truth, probability, number)


def _probability(source: SourceText, tokens: list[Token]) -> tuple[float | None, int]:
    """Read the probability of soft evidence, if there is one; return where the atom starts."""
    sign = tokens[0].kind == SIGN and tokens[0].text in ("+", "-", ".")
    if tokens[0].kind != NUMBER and not (sign and tokens[1].kind == NUMBER):
        return None, 0
    number = tokens[1] if sign else tokens[0]
    value = signed_number(source, number, tokens[0] if sign and tokens[0].text != "." else None)
    if not 0 <= value <= 1:
        problem = f"soft evidence is a probability between 0 and 1, not {number.text}"
        raise source.error(ParseError, problem, number)
    at = 2 if sign else 1
    if tokens[at].kind == SIGN and tokens[at].text == ".":
        at += 1  # "1." is a number too
    return value, at


def _constants(source: SourceText, tokens: list[Token], at: int) -> tuple[tuple[str, ...], int]:
    """Read `(A, "b c", 3)`; return the constants and the position behind."""
    if not (tokens[at].kind == SIGN and tokens[at].text == "("):
        return (), at
    return _listed(source, tokens, at + 1, ")")


def _listed(source: SourceText, tokens: list[Token], at: int, end: str) -> tuple[tuple[str, ...], int]:
    """Read `A, "b c", 3` up to a bracket; return the constants and the position behind that."""
    found: list[str] = []
    while not (tokens[at].kind == SIGN and tokens[at].text == end):
        if found:
            if tokens[at].text != "," or tokens[at].kind != SIGN:
                # A name such as `3-2` or `New York` is what people write first.
                hint = "" if tokens[at].kind == END else ": a constant with other signs or spaces stands in quotes"
                raise source.error(ParseError, f"expected ',' or '{end}', found {tokens[at]}{hint}", tokens[at])
            at += 1
        if tokens[at].kind not in (NAME, STRING, NUMBER):
            raise source.error(ParseError, f"expected a constant, found {tokens[at]}", tokens[at])
        found.append(tokens[at].text)
        at += 1
    return tuple(found), at + 1


def _check(source: SourceText, offset: int, name: str, arity: int, declared: Mapping[str, Predicate]) -> None:
    if name not in declared:
        hint = nearest(name, declared) or "; expected one that the model declares"
        raise source.error(ModelError, f"unknown predicate {name!r}{hint}", offset)
    if arity != len(declared[name].arguments):
        problem = f"{name} has {counted(arity, 'argument')} here, but is declared as {declared[name]}"
        raise source.error(ModelError, problem, offset)


def format_evidence(atoms: Iterable[EvidenceAtom]) -> str:
    r"""Return the text of a `.db` file."""
    lines = []
    for atom in atoms:
        if atom.probability is not None:
            sign = f"{atom.probability!r} "
        else:
            sign = {True: "", False: "!", None: "?"}[atom.truth]
        lines.append(f"{sign}{atom.predicate}({', '.join(str(Constant(c)) for c in atom.constants)})\n")
    return "".join(lines)
