"""The `.db` parser."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sqlrl.errors import InputError, ModelError, ParseError, UnsupportedError
from sqlrl.logic.evidence import EvidenceAtom, format_evidence, iterate_evidence, parse_evidence, read_evidence
from sqlrl.logic.mln import parse_mln

PLAIN = parse_mln("P(t)\nE(t, t)\nRain")


def values(text: str) -> list[tuple[object, ...]]:
    return [tuple(atom) for atom in parse_evidence(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("P(A)", ("P", ("A",), True, None, 1)),
        ("  !P( A )  ", ("P", ("A",), False, None, 1)),
        ("?P(A)", ("P", ("A",), None, None, 1)),
        ("0.75 P(A)", ("P", ("A",), None, 0.75, 1)),
        ("0.75 !P(A)", ("P", ("A",), None, 0.25, 1)),
        (".5 P(A)", ("P", ("A",), None, 0.5, 1)),
        ("1 P(A)", ("P", ("A",), True, None, 1)),
        ("1. P(A)", ("P", ("A",), True, None, 1)),
        ("0 P(A)", ("P", ("A",), False, None, 1)),
        ("1 !P(A)", ("P", ("A",), False, None, 1)),
        ("1e-3 P(A)", ("P", ("A",), None, 0.001, 1)),
        ("E(Anna_1, -3)", ("E", ("Anna_1", "-3"), True, None, 1)),
        ("e(lower, 007)\r", ("e", ("lower", "007"), True, None, 1)),
        ('E("new york", "a,b") // why', ("E", ("new york", "a,b"), True, None, 1)),
        ('P("// no comment")', ("P", ("// no comment",), True, None, 1)),
        ("P(Post-Quals)", ("P", ("Post-Quals",), True, None, 1)),
        ("P(0.5)", ("P", ("0.5",), True, None, 1)),
        ("Rain", ("Rain", (), True, None, 1)),
        ("!Rain()", ("Rain", (), False, None, 1)),
        ("/* one\n two */ P(A) /* three */", ("P", ("A",), True, None, 2)),
        ("\n\n// only\n P(A)\n", ("P", ("A",), True, None, 4)),
    ],
)
def test_lines(text, expected):
    assert values(text) == [expected]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("P(A", "e.db:1:4: expected ',' or ')', found the end of the text\n  P(A\n     ^"),
        (
            "P(A)\nP(A B)",
            "e.db:2:5: expected ',' or ')', found 'B': a constant with other signs or spaces stands in quotes\n  P(A B)\n      ^",
        ),
        (
            "P(3-2)",
            "e.db:1:4: expected ',' or ')', found '-2': a constant with other signs or spaces stands in quotes\n  P(3-2)\n     ^",
        ),
        ("P(A) P(B)", "e.db:1:6: expected the end of the line, found 'P'\n  P(A) P(B)\n       ^"),
        ("1.5 P(A)", "e.db:1:1: soft evidence is a probability between 0 and 1, not 1.5\n  1.5 P(A)\n  ^"),
        ("+-0.5 P(A)", "e.db:1:1: expected one sign before a number, found '+-0.5'\n  +-0.5 P(A)\n  ^"),
        ("--1 P(A)", "e.db:1:1: expected one sign before a number, found '--1'\n  --1 P(A)\n  ^"),
        ("0.5 ?P(A)", ("e.db:1:6: an atom is either soft or unknown: remove the probability or the '?'\n"
                      "  0.5 ?P(A)\n       ^")),
        ("P(,A)", "e.db:1:3: expected a constant, found ','\n  P(,A)\n    ^"),
        ("Pp(A)", "e.db:1:1: unknown predicate 'Pp'; did you mean 'P'?\n  Pp(A)\n  ^"),
        ("P(A, B)", "e.db:1:1: P has 2 arguments here, but is declared as P(t)\n  P(A, B)\n  ^"),
        ("(A)", "e.db:1:1: expected a predicate, found '('\n  (A)\n  ^"),
    ],
)  # fmt: skip
def test_error_messages(text, message):
    with pytest.raises((ParseError, ModelError)) as caught:
        parse_evidence(text, path="e.db", model_or_predicates=PLAIN)
    assert str(caught.value) == message


def test_functions_are_refused():
    with pytest.raises(UnsupportedError, match="functions"):
        parse_evidence("Anna = MotherOf(Bob)")


constants = st.text(min_size=0, max_size=8)


@given(st.lists(st.builds(
    EvidenceAtom, st.sampled_from(["P", "some_predicate"]), st.lists(constants, max_size=3).map(tuple),
    st.sampled_from([True, False, None]), st.none(), st.just(0),
)))  # fmt: skip
def test_any_evidence_prints_and_parses_back(atoms):
    again = parse_evidence(format_evidence(atoms))
    assert [a[:4] for a in again] == [a[:4] for a in atoms]


@given(st.floats(0, 1, exclude_min=True, exclude_max=True))
def test_probabilities_are_exact(probability):
    atom = EvidenceAtom("P", ("A",), None, probability, 1)
    assert parse_evidence(format_evidence([atom])) == [atom]


@given(st.text(alphabet='PA(),.!?01 "\n/*\\=-', max_size=30))
def test_any_text_is_read_or_refused(text):
    try:
        atoms = parse_evidence(text)
    except InputError:
        return
    assert [a[:4] for a in parse_evidence(format_evidence(atoms))] == [a[:4] for a in atoms]


@given(st.lists(st.sampled_from(["P(A)", "!E(B, c)", "  P( 12 )", 'P("x")', "0.5 P(A)", "?P(A)", "", "// no"])))
def test_comments_in_blocks_change_no_line(lines):
    """The reader of plain lines and that of whole texts agree."""
    text = "\n".join(lines)
    assert parse_evidence(text + "\n/* end */") == parse_evidence(text)


def test_streaming_reads_line_by_line():
    assert next(iterate_evidence("P(A)\n((((")).constants == ("A",)


def test_missing_file(tmp_path):
    with pytest.raises(ParseError, match="cannot read the file"):
        read_evidence(tmp_path / "none.db")


def test_real_files_print_and_parse_back(data_folder):
    folders = ("mln", "uw-cse", "imdb", "webkb-relational")
    files = sorted(file for folder in folders for file in (data_folder / folder).rglob("*.db"))
    assert len(files) > 15
    for file in files:
        atoms = read_evidence(file)
        assert atoms
        assert [a[:4] for a in parse_evidence(format_evidence(atoms))] == [a[:4] for a in atoms]
