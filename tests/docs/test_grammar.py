"""The grammars of the reference against the parsers, both ways.

From the grammar: random texts are accepted by the parser. Limits: tokens come from lists (each is held against its regular expression), a text is 14 rules deep at the most, and what no grammar without context can say is left
out here or taken for accepted: ModelError, which parsers raise for what parses and is no model (predicates that are not declared, types that clash, rules of soft logic whose
variables are unbound), is no refusal of the grammar. Rules of .mln are also read as formulas alone, where no declaration is asked for: there nothing at all may be raised.

Back: every text in sqlrl's tests that a parser accepts is one of its grammar, as a recogniser finds that is made of the EBNF.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from itertools import zip_longest
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sqlrl
from sqlrl.errors import ModelError, ScriptError, SqlrlError, UnsupportedError
from sqlrl.logic.evidence import parse_evidence
from sqlrl.logic.formulas import parse_formula
from sqlrl.logic.horn_parser import parse_definitions
from sqlrl.script.source import ScriptText
from sqlrl.script.statements import Plain, read_statement
from tests.docs.ebnf import Ebnf, Maker, Recogniser, grammars, read_ebnf
from tests.effort import draws

REFERENCE = Path(__file__).parents[2] / "docs" / "reference"
TESTS = Path(__file__).parents[1]
LANGUAGES = grammars(REFERENCE / "language.md")
MLN, PSL = LANGUAGES["Rules: .mln"], LANGUAGES["Soft rules: .psl"]
STATEMENTS = grammars(REFERENCE / "sql.md")["Statements"]

SETTINGS = settings(max_examples=draws(100), deadline=None, derandomize=True)
TEXTS = ('""', '"a b"', '"it\'s"', r'"\"q\" \\ \n"', "'a b'", r"'it\'s'", "'two words => x'")
TOKENS = {
    "NAME": ("P", "Q2", "Has-type", "Links_to", "likes", "x", "y'", "a1", "z''", "'own name'"),
    "CONSTANT": ("Anna", "B", "New-York", "C_3", *TEXTS),
    "VARIABLE": ("x", "y", "z'", "person", "a1", "vv", "x_2"),
    "SYMBOL": ("CENTRE", "USERS_2"),
    "INTEGER": ("0", "1", "42", "-3"),
    "COUNT": ("1", "2"),
    "RECALL": ("0", "1", "20"),
    "NUMBER": ("0", "1", "2.5", "-3", ".5", "1e-3", "0.25", "2.5E+2"),
    "WEIGHT": ("1", "-2.5", "+.5", "3.", "1e-3", "-1.5E+2", "0"),
    "PROBABILITY": ("0", "1", ".5", "0.75", "1.0"),
    "STRING": TEXTS,
    "QUOTED": TEXTS,
    "DOLLAR": ("$$Smokes(x) => Cancer(x)$$",),
    "IDENTIFIER": ("friends", "smokes_model", "learner"),
}
"""Tokens of each pattern of that name, where they match it."""


STATIC = (
    r"cannot be quantified|is no declared predicate|unknown predicate|is empty: write the smaller|arguments? (here|, found)|arguments?, found|occurs nowhere in its scope|"
    r"cannot be inferred|the variable .* is of type|is declared again|is not among those declared|"
    r"is unbound|has no atoms|stands twice|counts an unbound sum|and stands without|cancel to 0|"
    r"compares two constants|but in no positive literal|has no variable|this comparison never holds|is given twice|has arguments"
)
"""What parsers say of a text that has parsed: about names, types, bindings and values."""


@contextmanager
def static_checks(said: str = STATIC) -> Iterator[None]:
    """Take for accepted what a parser refuses for a reason that no grammar without context knows."""
    try:
        yield
    except (ModelError, ScriptError) as error:
        if not re.search(said, str(error)):
            raise


# ---- from the grammar ----------------------------------------------------------------------------------


@SETTINGS
@given(Maker(MLN, TOKENS).texts("formula"))
def test_formulas_parse(text: str) -> None:
    with static_checks("cannot be quantified"):
        parse_formula(text)


@SETTINGS
@given(Maker(MLN, TOKENS, without=frozenset(["scoping-rule", "include"])).texts("statement"))
def test_statements_of_models_parse(text: str) -> None:
    if text.startswith("@") and "+" in text:
        return  # a fixed weight has no use for "+": the grammar cannot say that both are not there
    with static_checks():
        sqlrl.parse_mln(text + "\n")


@pytest.mark.slow
@SETTINGS
@given(Maker(PSL, TOKENS).texts("logical"))
def test_logical_rules_of_soft_logic_parse(text: str) -> None:
    for rule in (f"1: {text}", f"{text} .", f"2.5: {text} ^2"):
        with static_checks():
            sqlrl.parse_psl(rule)


@st.composite
def linear(draw: Any) -> str:
    """A side of an arithmetic rule that PSL reads as arithmetic does: no number before a product, no division before a number."""
    make = Maker(PSL, TOKENS, most=2, depth=6)
    atoms = draw(st.lists(make.texts("sum-atom"), min_size=1, max_size=3))
    signs = [draw(st.sampled_from(["+", "-"])) for _ in atoms]
    terms = [
        f"{sign} {draw(st.sampled_from(['', '2 * ', '0.5 ', '|X| * ', '@Max[1, 2] * ']))}{atom}"
        for sign, atom in zip(signs, atoms, strict=True)
    ]
    terms[0] = terms[0][2:]
    return " ".join(terms)


@SETTINGS
@given(linear(), st.sampled_from(["=", "<=", ">="]), linear())
def test_arithmetic_rules_of_soft_logic_parse_and_are_of_the_grammar(left: str, relation: str, right: str) -> None:
    text = f"1: {left} {relation} {right}"
    assert Recogniser(PSL, BLANKS["Soft rules: .psl"]).accepts(text), text
    with static_checks():
        sqlrl.parse_psl(text)


@SETTINGS
@given(Maker(LANGUAGES["Evidence: .db"], TOKENS).texts("fact"))
def test_facts_parse(text: str) -> None:
    parse_evidence(text)


@SETTINGS
@given(Maker(LANGUAGES["Modes of paths"], TOKENS, without=frozenset(["MODEC"])).texts("mode"))
def test_modes_parse(text: str) -> None:
    sqlrl.parse_modes(text)


@SETTINGS
@given(Maker(LANGUAGES["Templates of candidates"], TOKENS).texts("template"))
def test_templates_parse(text: str) -> None:
    with static_checks():
        sqlrl.parse_grammar(text)


@SETTINGS
@given(Maker(LANGUAGES["Mappings of domains"], TOKENS).texts("pair"))
def test_mappings_parse(text: str) -> None:
    with static_checks():
        sqlrl.parse_mapping(text)


@SETTINGS
@given(Maker(LANGUAGES["Horn definitions"], TOKENS).texts("definition"))
def test_definitions_parse(text: str) -> None:
    with static_checks():
        parse_definitions(text)


FILLS = {"a query": st.just("SELECT a FROM t"), "a query in brackets": st.just("(SELECT a FROM t)")}


@SETTINGS
@given(Maker(STATEMENTS, TOKENS, FILLS).texts("statement"))
def test_statements_of_scripts_parse(text: str) -> None:
    (tokens,) = ScriptText(text).statements()
    with static_checks("is given twice"):
        assert not isinstance(read_statement(tokens), Plain), text


# ---- back: the texts of the tests ----------------------------------------------------------------------

BLANKS = {
    "Rules: .mln": r"[ \t\r\f\v\u00a0\ufeff]|//[^\n]*|/\*.*?\*/",
    "Soft rules: .psl": r"[\s\ufeff]|//[^\n]*|#[^\n]*|/\*.*?\*/",
    "Modes of paths": r"[ \t\r]|//[^\n]*|/\*.*?\*/",
    "Templates of candidates": r"[ \t\r]|//[^\n]*|/\*.*?\*/",
    "Horn definitions": r"\s|%[^\n]*|/\*.*?\*/",
    "Bias of ILP": r"\s|%[^\n]*|/\*.*?\*/",
}
PARSERS: dict[str, Callable[[str], object]] = {
    "Rules: .mln": sqlrl.parse_mln, "Soft rules: .psl": sqlrl.parse_psl, "Modes of paths": sqlrl.parse_modes,
    "Templates of candidates": sqlrl.parse_grammar, "Horn definitions": parse_definitions, "Bias of ILP": sqlrl.parse_bias,
}  # fmt: skip
_PIECE = re.compile(r'"(?:\\.|[^"\\\n])*"|//[^\n]*|/\*.*?\*/|<=>|=>|!=|:=|\w+|\s+|.', re.DOTALL)


def joined(text: str) -> str:
    """Take out the ends of lines that end no statement: inside brackets, and after operators."""
    out: list[str] = []
    depth, before = 0, ""
    for piece in _PIECE.findall(text):
        if piece in "({[":
            depth += 1
        elif piece in ")}]":
            depth -= 1
        if piece.startswith(("//", "/*")):
            out.append(" ")
        elif piece.isspace():
            inside = depth > 0 or before in ("^", "v", "=>", "<=>", "!", "=", "!=", ":=", ",")
            out.append(" " if inside or "\n" not in piece else "\n")
        else:
            out.append(piece)
            before = piece
    return "".join(out)


def tightened(text: str) -> str:
    """Take the blanks out of signs of soft logic that have two characters."""
    pieces = re.split(r"""("(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|//[^\n]*|#[^\n]*|/\*.*?\*/)""", text, flags=re.DOTALL)
    outside = (
        re.sub(r"([=!~|])\s+(=)|(&)\s+(&)|(\|)\s+(\|)", lambda found: "".join(filter(None, found.groups())), piece)
        for piece in pieces[::2]
    )
    return "".join(piece for pair in zip_longest(outside, pieces[1::2], fillvalue="") for piece in pair)


@cache
def texts() -> tuple[str, ...]:
    """All texts in the tests of languages and learners that may be one of ours."""
    found: dict[str, None] = {}
    for folder in ("logic", "database", "learn", "structure", "script"):
        for path in sorted((TESTS / folder).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Constant) and isinstance(node.value, str) and 2 < len(node.value) < 2000:
                    found[node.value] = None
    return tuple(found)


def accepted(language: str, every: int) -> Iterator[str]:
    """Yield the texts that a parser accepts, of every so many that look like more than a word."""
    for text in texts()[::every]:
        if "(" not in text or re.match(r"\s*(/\*.*?\*/\s*)*\{", text, re.DOTALL):
            continue  # a word, or JSON
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                PARSERS[language](text)
        except SqlrlError:
            continue
        yield text


@pytest.mark.parametrize(
    ("language", "every"),
    [
        *((language, 5) for language in PARSERS),
        *(pytest.param(language, 1, marks=pytest.mark.slow) for language in PARSERS),
    ],
)
def test_texts_that_parse_are_of_the_grammar(language: str, every: int) -> None:
    recogniser = Recogniser(LANGUAGES[language], BLANKS[language])
    lines = language in ("Rules: .mln", "Modes of paths", "Templates of candidates")
    met, refused = 0, []
    for text in accepted(language, every):
        if not text.isascii():
            continue  # the grammar's letters are those of ASCII
        met += 1
        shown = joined(text) if lines else tightened(text) if language == "Soft rules: .psl" else text
        if not recogniser.accepts(shown):
            refused.append((text, shown[: recogniser.reached]))
    assert refused == []
    assert met >= 5 // every, "there is hardly a text to compare with"


# ---- the reader of grammars ------------------------------------------------------------------------------

SUMS = read_ebnf(
    'sum = product { "+" product } ; product = NUMBER [ "*" product ] | "(" sum ")" ; NUMBER = /\\d+/ ; (* all *)'
)


@pytest.mark.parametrize(
    ("text", "right"), [("1 + 2*3", True), ("( 1 )+2", True), ("1 +", False), ("1 2", False), ("", False)]
)
def test_recogniser(text: str, right: bool) -> None:
    assert Recogniser(SUMS, r"\s").accepts(text) is right


@given(Maker(SUMS).texts("sum"))
def test_made_texts_are_recognised(text: str) -> None:
    assert Recogniser(SUMS, r"\s").accepts(text)


@pytest.mark.parametrize("text", ["a = b ;", 'a = "x" ; b = "y" ;', 'a = ( "x" ;', 'a = "x" ; a = a ;'])
def test_grammars_with_faults_are_refused(text: str) -> None:
    with pytest.raises(AssertionError):
        read_ebnf(text)


def test_a_grammar_that_is_too_narrow_is_found_out() -> None:
    narrow = Ebnf(dict(MLN.rules) | {"operator": read_ebnf('a = "^" ;').rules["a"]})
    assert Recogniser(MLN, BLANKS["Rules: .mln"]).accepts("1 P(x) => Q(x)")
    assert not Recogniser(narrow, BLANKS["Rules: .mln"]).accepts("1 P(x) => Q(x)")


@pytest.mark.slow
def test_a_grammar_that_is_too_wide_is_found_out() -> None:
    wide = Ebnf(dict(MLN.rules) | {"operator": read_ebnf('a = "&" ;').rules["a"]})

    @settings(max_examples=draws(200), deadline=None, database=None)
    @given(Maker(wide, TOKENS).texts("formula"))
    def all_parse(text: str) -> None:
        parse_formula(text)

    with pytest.raises((SqlrlError, ExceptionGroup)) as caught:
        all_parse()
    assert not isinstance(caught.value, UnsupportedError)
