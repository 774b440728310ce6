"""Lists of rules of which each line is read by itself: what is kept, what is refused, and that good lists are read as programs are."""

from __future__ import annotations

from pathlib import Path

import hypothesis.strategies as st
import pytest
from hypothesis import given

from sqlrl.errors import ParseError, SqlrlError
from sqlrl.logic.mln import parse_mln
from sqlrl.logic.model import Rule
from sqlrl.logic.rule_list import RefusedRule, parse_rules, read_rules
from sqlrl.logic.terms import Argument, Predicate

KNOWN = {
    "P": Predicate("P", (Argument("t"),)),
    "R": Predicate("R", (Argument("t"), Argument("u"))),
}
DECLARED = "P(t)\nR(t, u)\n"
GOOD = [
    "P(x)", "1.5 P(x) => P(A)", "R(x, y) ^ P(x) => R(x, B).", "@2 P(A)", "EXIST y R(x, y)", "*P(x) => R(x, A)", "P(x), R(x, y) => P(x)",
    "R(x, +y) => P(x)", "P(x) <=>\n  R(x, A)", "(P(x) ^\nP(y)) => x = y", "// nothing\nP(B)",
]  # fmt: skip
BAD = [
    "P(x", "P(x))", "(P(x) => R(x, y)", "P(x) →", "=> P(x)", "1 P(x).", "Q(x) => P(x)", "P(x, y)", "R(x, x)", "x = y", "P(x) and P(y)",
    '"open', "+", "if P then R", "1. A rule in prose", "P(f(x))", "P(x) ^", "#include <x>", "nan P(x)", "$",
]  # fmt: skip


@given(st.lists(st.sampled_from(GOOD), unique=True), st.booleans())
def test_good_lists_are_read_as_programs_are(lines: list[str], declared: bool) -> None:
    text = "\n".join(lines)
    found = parse_rules(DECLARED + text if declared else text, {} if declared else KNOWN)
    model = parse_mln(DECLARED + text)
    assert found.entries == found.model.rules
    assert [(rule.formula, rule.weight, rule.hard, rule.fixed) for rule in found.model.rules] == [
        (rule.formula, rule.weight, rule.hard, rule.fixed) for rule in model.rules
    ]
    assert found.model.predicates == model.predicates


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 10**6))))
def test_a_bad_line_takes_no_other_with_it(drawn: list[tuple[bool, int]]) -> None:
    plain = [line for line in GOOD if "\n" not in line]
    bad = [line for line in BAD if not line.endswith("^")]  # whose next line goes on with it
    lines = [plain[i % len(plain)] if good else bad[i % len(bad)] for good, i in drawn]
    found = parse_rules("\n".join(lines), KNOWN)
    assert [entry.line for entry in found.entries] == list(range(1, len(lines) + 1))
    for entry, (good, _), line in zip(found.entries, drawn, lines, strict=True):
        assert isinstance(entry, Rule if good else RefusedRule), (line, entry)
        assert not isinstance(entry, RefusedRule) or entry.text == line.strip()


@pytest.mark.parametrize("line", BAD)
def test_what_is_refused_is_what_a_program_refuses(line: str) -> None:
    with pytest.raises(SqlrlError):
        parse_mln(DECLARED + line)
    ((entry),) = parse_rules(line, KNOWN).entries
    assert isinstance(entry, RefusedRule)
    assert entry.problem
    assert "\n" not in entry.problem


def test_a_declaration_may_add_to_what_is_known() -> None:
    found = parse_rules("*P(t)\nR(t, u!)\nP(x) => R(x, A)", KNOWN)
    assert found.model.predicates["P"].closed
    assert found.model.predicates["R"].arguments[1].block
    assert len(found.model.rules) == 1


def test_predicates_without_types_are_to_be_declared() -> None:
    (entry,) = parse_rules("S(x, y) => P(x)", KNOWN, untyped=["S"]).entries
    assert isinstance(entry, RefusedRule)
    assert (
        entry.problem
        == "the types of the arguments of S are unknown: declare them in a line before, such as S(entity, entity)"
    )
    assert len(parse_rules("S(t, u)\nS(x, y) => P(x)", KNOWN, untyped=["S"]).model.rules) == 1


def test_files_include_others_and_untrusted_ones_do_not(tmp_path: Path) -> None:
    (tmp_path / "more.mln").write_text("P(A)\n?\n", encoding="utf-8")
    inner = tmp_path / "inner"
    inner.mkdir()
    path = inner / "rules.mln"
    path.write_text('P(B)\n#include "../more.mln"\nP(C)\n', encoding="utf-8")
    assert [isinstance(entry, Rule) for entry in read_rules(path, KNOWN).entries] == [True, True, False, True]
    with pytest.raises(ParseError, match="leads out of a model read with"):
        read_rules(path, KNOWN, trusted=False)
