"""Mode declarations: both forms, printing, faults with their places, and the check against a model."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sqlrl
from sqlrl.errors import InputError, ModelError, ParseError
from sqlrl.logic.modes import Modes, PathMode, format_modes, parse_modes, read_modes

PAPER = """
// Huynh & Mooney (2011), section 3.1
modep(2, Token(.,+,.))
modep(1, Next(-,-))   // one step
modep(2, InField(.,-,.))

modec(Token(c,v,v))
modec(Next(v,v))
modec(InField(c,v,v))
"""


def test_the_forms_of_the_paper_and_of_one_line_say_the_same() -> None:
    lines = "MODEP(2, Token(#.,+,.))\nmodeP(1,Next( - , - ))\nModeP(2, InField(#,-,.))\r\n"
    assert parse_modes(PAPER) == parse_modes(lines)
    assert parse_modes(PAPER).of["Token"] == PathMode(2, (".", "+", "."), (True, False, False))


def test_the_modes_of_citeseer_are_read(data_folder: Path) -> None:
    modes = read_modes(data_folder / "citeseer" / "osl-modes.txt")
    assert len(modes.of) == 14
    assert modes.of["Token"] == PathMode(2, ("-", "+", "."), (True, False, False))
    assert modes.of["FollowBy"] == PathMode(2, (".", "+", "."), (False, False, True))
    assert modes.of["IsDate"] == PathMode(2, ("+",), (True,))
    assert modes.of["LessThan"].recall == 0
    assert "LessThan" not in modes.in_paths()
    assert modes.of["HasComma"].line == 13


@given(
    st.dictionaries(
        st.from_regex(r"[A-Za-z][A-Za-z0-9_]{0,5}", fullmatch=True),
        st.lists(st.tuples(st.sampled_from("+-."), st.booleans()), max_size=4).flatmap(
            lambda places: st.integers(0, 99).map(
                lambda recall: PathMode(recall, tuple(p for p, _ in places), tuple(c for _, c in places))
            )
        ),
        min_size=1,
        max_size=5,
    )
)
def test_printed_modes_parse_again(of: dict[str, PathMode]) -> None:
    assert parse_modes(str(Modes(of))) == Modes(of)


def test_predicates_without_arguments_need_no_parentheses() -> None:
    assert parse_modes("modep(0, Rain)") == parse_modes("modep(0, Rain())") == Modes({"Rain": PathMode(0, (), ())})


def test_predicates_out_of_paths_need_no_clause_mode() -> None:
    modes = parse_modes("modep(0, LessThan(-,-))\nmodep(1, P(-))\nmodec(P(c))")
    assert modes.of["LessThan"].constants == (False, False)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "modep(-1, A(.))",
            "1:7: the recall is -1: expected 0 (never in a path) or more\n  modep(-1, A(.))\n        ^",
        ),
        ("modep(1.5, A(.))", "1:7: expected the recall, an integer of 0 or more, found '1.5'"),
        ("modep(x, A(.))", "1:7: expected the recall, an integer of 0 or more, found 'x'"),
        ("modep(1234567890, A(.))", "1:7: the recall is too large: expected at most 9 digits"),
        ("modep(1 A(.))", "1:9: expected ',' after the recall, found 'A'"),
        ("modep(1, 2)", "1:10: expected the name of a predicate, found '2'"),
        ("modep(1, A(x))", "1:12: expected '+' (input), '-' (output), '.' (not explored) or '#', found 'x'"),
        ("modep(1, A(#x))", "1:13: expected '+' (input), '-' (output) or '.' (not explored), found 'x'"),
        ("modep(1, A(.,))", "1:14: expected '+' (input), '-' (output), '.' (not explored) or '#', found ')'"),
        ("modep(1, A(. .))", "1:14: expected ')' or ',', found '.'"),
        ("modep(1, A(.)\n", "1:14: expected ')', found the end of the line"),
        ("modep(1, A(.)) x", "1:16: expected the end of the line, found 'x'"),
        ("\nmodef(1, A(.))", "2:1: expected 'modep' or 'modec', found 'modef'"),
        (
            "modep(1, A(.))\nmodep(2, A(.))",
            "2:10: A has a path mode in line 1 already: expected one for each predicate",
        ),
        ("modec(A(c))\nmodec(A(v))", "2:7: A has a clause mode in line 1 already: expected one for each predicate"),
        ("modec(A(+))", "1:9: expected 'c' (a constant) or 'v' (a variable), found '+'"),
        ("modec(A(c,v))", "1:7: A has a clause mode, but no path mode: expected one, as modep(1, A(.,.))"),
        (
            "modep(1, A(.,-))\nmodep(1, B(.))\nmodec(B(c))",
            "1:10: A has a path mode, but no clause mode: expected one, as modec(A(v,v))",
        ),
        (
            "modep(1, A(.))\nmodec(A(c,v))",
            "2:7: the clause mode of A has 2 places, its path mode (line 1) has 1",
        ),
        (
            "modep(1, A(#.))\nmodec(A(c))",
            "1:12: '#' keeps a constant, but so do clause modes (line 2): expected only one of the two",
        ),
        ("// nothing\n", " there are no modes: expected lines as modeP(2, Token(#.,+,.))"),
    ],
)
def test_faults_are_shown_where_they_stand(text: str, message: str) -> None:
    with pytest.raises(ParseError) as caught:
        parse_modes(text, path="m.txt")
    assert str(caught.value).startswith(f"m.txt:{message}")


def test_a_missing_file_and_no_text() -> None:
    with pytest.raises(ParseError, match="cannot read the file: No such file"):
        read_modes("nowhere.txt")
    with pytest.raises(
        InputError, match=r"the text of modes is a str, not bytes: decode .*, read files with read_modes"
    ):
        parse_modes(b"modep(1, A(.))")  # type: ignore[arg-type]


def test_modes_made_by_hand_are_checked() -> None:
    with pytest.raises(InputError, match="the recall of a mode is -1: give an integer of 0 or more"):
        PathMode(-1, (), ())
    with pytest.raises(InputError, match=r"'\*' is no place of a mode: expected '\+', '-' or '\.'"):
        PathMode(1, ("*",), (False,))
    with pytest.raises(InputError, match="a mode has 1 place and 2 for constants: expected as many"):
        PathMode(1, ("+",), (False, True))
    with pytest.raises(ModelError, match="the language cannot write the predicate name 'two words': rename it"):
        format_modes(Modes({"two words": PathMode(1, (), ())}))


ARITIES = {"Token": 3, "Next": 2, "InField": 3}


def test_modes_that_fit_a_model() -> None:
    parse_modes(PAPER).check(ARITIES, ["InField"])


def test_all_faults_of_a_model_are_told_at_once() -> None:
    modes = parse_modes("modep(1, Tokn(.,.,.))\nmodep(1, Next(+))\nmodep(0, InField(.,.,.))", path="m.txt")
    with pytest.raises(ModelError) as caught:
        modes.check({**ARITIES, "IsDate": 1}, ["InField"])
    assert str(caught.value).split("\n") == [
        "the modes do not fit the model:",
        "  m.txt:1: there is no predicate 'Tokn'; did you mean 'Token'?",
        "  m.txt:2: the mode of Next has 1 place, but the predicate has 2 arguments",
        "  m.txt: Token, IsDate have no modes: give them recall 0 to leave them out of paths, as in modeP(0, Token(.,.,.))",
        "  m.txt: no open predicate has a recall above 0, so no path can start (InField)",
    ]


@pytest.mark.parametrize(
    ("arities", "targets", "message"),
    [
        ({**ARITIES, "Rain": 0}, ["InField"], "<text>: Rain has no mode: give it recall 0 to leave it out of paths, as in modeP(0, Rain())"),
        ({"Token": 3, "Next": 2}, ["Next"], "<text>:5: there is no predicate 'InField'; expected one of the model"),
        (ARITIES, [], "<text>: no open predicate has a recall above 0, so no path can start (the model has none)"),
    ],
)  # fmt: skip
def test_a_single_fault_of_a_model(arities: dict[str, int], targets: list[str], message: str) -> None:
    with pytest.raises(ModelError) as caught:
        parse_modes(PAPER).check(arities, targets)
    assert str(caught.value) == message


def test_the_names_are_exported() -> None:
    assert sqlrl.parse_modes is parse_modes
    assert sqlrl.read_modes is read_modes
    assert sqlrl.Modes is Modes
