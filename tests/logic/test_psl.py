"""Rules of probabilistic soft logic: what is read and printed, what is refused and where, and that what is printed reads back."""

from __future__ import annotations

import copy
import pickle
import warnings
from collections.abc import Callable

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import sqlrl
from sqlrl.errors import InputError, ModelError, ParseError, RepeatedRuleWarning, SqlrlError, UnsupportedError
from sqlrl.logic.limits import DEEPEST, LONGEST_CLAUSE
from sqlrl.logic.psl import LogicalRule, SoftModel, SoftRule, counted_once, soft_model_to_json, untyped
from sqlrl.logic.psl_arithmetic import (
    ArithmeticRule,
    Cardinality,
    Coefficient,
    Filter,
    LinearTerm,
    Operation,
    coefficient_value,
)
from sqlrl.logic.psl_files import parse_psl, soft_model_from_json
from sqlrl.logic.psl_literals import Both, Condition, Either, OrderLiteral, SoftLiteral, literals_of, terms_of_literal
from sqlrl.logic.terms import Argument, Atom, Constant, EqualityLiteral, Literal, Predicate, Term, Variable
from tests.effort import draws

# ---- what is read, and how it is printed ---------------------------------------------------------------------

NORMAL = [
    # Weights, squares, hard rules.
    ("1: A(X) >> B(X)", "1: A(X) -> B(X)"),
    ("0025.50 : A(X)>>B(X)^2", "25.5: A(X) -> B(X) ^2"),
    ("2e-6: A(X) -> B(X) ^1", "2e-06: A(X) -> B(X)"),
    ("3E30: A(X) -> B(X) ^ 2", "3e30: A(X) -> B(X) ^2"),
    ("0: A(X) -> B(X)", "0: A(X) -> B(X)"),
    ("A(X) -> B(X).", "A(X) -> B(X) ."),
    # Operators.
    ("1: A(X) & B(X) && C(X) -> D(X)", "1: A(X) & B(X) & C(X) -> D(X)"),
    ("1: A(X) -> B(X) | C(X) || D(X)", "1: A(X) -> B(X) | C(X) | D(X)"),
    ("1: A(X) &\n  & B(X) & & R(X, Y) & X = = Y & (X ! = 'a') -> C(X) | | D(X)", "1: A(X) & B(X) & R(X, Y) & X == Y & X != 'a' -> C(X) | D(X)"),
    ("1: A(+X) = |X|\n|Y| * A(+Y) = 1 .", "1: A(+X) = |X|\n|Y| * A(+Y) = 1 ."),
    ("1: D(X) | C(X) << A(X) & B(X)", "1: A(X) & B(X) -> D(X) | C(X)"),
    ("1: D(X) <- A(X) ^2", "1: A(X) -> D(X) ^2"),
    ("1: ~A(X) & !B(X) -> ~~C(X)", "1: !A(X) & !B(X) -> C(X)"),
    ("1: !~!A(X) -> !!B(X)", "1: !A(X) -> B(X)"),
    ("1: ((A(X)) & (B(X))) & (!(C(X))) -> ((D(X) | (E(X))))", "1: A(X) & B(X) & !C(X) -> D(X) | E(X)"),
    # Priors, positive disjunctions and ground rules, of which PSL refuses the last two.
    ("1: !A(X, Y) ^2", "1: !A(X, Y) ^2"),
    ("1: A(X)", "1: A(X)"),
    ("1: A(X) | B(X, Y) ^2", "1: A(X) | B(X, Y) ^2"),
    ("!A('a') | A('b') .", "!A('a') | A('b') ."),
    ("1: A('a') -> B('b')", "1: A('a') -> B('b')"),
    ("1: A(X) -> B(X, Y)", "1: A(X) -> B(X, Y)"),
    # Comparisons.
    ("1: R(X, Y) & X == Y -> A(X)", "1: R(X, Y) & X == Y -> A(X)"),
    ("1: R(X, Y) & (X != Y) & X ~= 'b' & Y - 'a' -> A(X)", "1: R(X, Y) & X != Y & X != 'b' & Y != 'a' -> A(X)"),
    ("1: R(X, Y) & (X % Y) -> A(X)", "1: R(X, Y) & X % Y -> A(X)"),
    ("1: R(X, Y) & X ^ Y -> A(X) ^2", "1: R(X, Y) & X % Y -> A(X) ^2"),
    ("1: R(X, Y) & !(X % Y) & !(X == Y) & !X != Y -> A(X)", "1: R(X, Y) & !(X % Y) & X != Y & X == Y -> A(X)"),
    ("1: R(X, Y) & R(X, Z) -> Y == Z", "1: R(X, Y) & R(X, Z) -> Y == Z"),
    ("1: 'a' == 'b' & A(X) -> B(X)", "1: 'a' == 'b' & A(X) -> B(X)"),
    # Constants and names.
    ("1: A(\"x\") & A('y') -> A('')", "1: A('x') & A('y') -> A('')"),
    (r"""1: A('it\'s "so"\n\\') -> A("it's")""", r"""1: A('it\'s "so"\n\\') -> A('it\'s')"""),
    ("1: A('// no comment # /* */ ^2 .') -> B(X)", "1: A('// no comment # /* */ ^2 .') -> B(X)"),
    ("1: '@' == X & A(X) & A('(') & '|' != ':' -> A(':')", "1: '@' == X & A(X) & A('(') & '|' != ':' -> A(':')"),
    ("1: a_1(anna, $x) -> b2(X1)", "1: a_1(anna, $x) -> b2(X1)"),
    ("1: Größe(X) -> GRÖSSE_2(X)", "1: Größe(X) -> GRÖSSE_2(X)"),
    # Case tells no predicates apart, the first spelling stays; constants keep theirs.
    ("1: Cat(X, 'a') -> CAT(X, 'A')", "1: Cat(X, 'a') -> Cat(X, 'A')"),
    # Comments, and rules over several lines or beside each other.
    ("1: A(X) /* & B(X) */ ->\n  C(X) // ^2\n  ^2 # end", "1: A(X) -> C(X) ^2"),
    ("# one\n1: A(X) -> B(X)\n2: A(X)\n  -> C(X)", "1: A(X) -> B(X)\n2: A(X) -> C(X)"),
    ("A(X) -> B(X) . 1: A(X) ^2 2: B(X) 3: C(X)", "A(X) -> B(X) .\n1: A(X) ^2\n2: B(X)\n3: C(X)"),
    ("1: A(X)\nB(X) = 1 .", "1: A(X)\nB(X) = 1 ."),
    ("1: A(X) <= 1\nB(X) = 1 .", "1: A(X) <= 1\nB(X) = 1 ."),
    ("1: A(X) <= 1\n-1 * B(X) = 0 .", "1: A(X) <= 1\n(-1) * B(X) = 0 ."),
    ("1: A(X)\n2 * B(X) = 0 .", "1: A(X)\n2 * B(X) = 0 ."),
    ("1: A(X) | B(X)\n@Max[|Y|, 1] * B(+Y) = 0 .", "1: A(X) | B(X)\n@Max[|Y|, 1] * B(+Y) = 0 ."),
    ("1: A(X)\n(X != Y) & R(X, Y) -> A(Y) .", "1: A(X)\nX != Y & R(X, Y) -> A(Y) ."),
    ("1: A(X)\n|Y| * B(+Y) = 1 .", "1: A(X)\n|Y| * B(+Y) = 1 ."),
    ("1: A(X)\n  - B(X)\n  <= 1\n  - C(X)", "1: A(X) - B(X) + C(X) <= 1"),
    (
        "1: A(X) <= 1\n- B(X)\n+ C(X)\n2: A(X)\n1: A(X) <= 0\n-1 * B(X)\n+ C(X) = 1 .",
        "1: A(X) + B(X) - C(X) <= 1\n2: A(X)\n1: A(X) <= 0\n(-1) * B(X) + C(X) = 1 .",
    ),
    # Arithmetic rules: atoms go to the left, numbers to the right.
    ("R(X, Y) = R(Y, X) .", "R(X, Y) - R(Y, X) = 0 ."),
    ("0.0 = A(X) - B(X) .", "(-1) * A(X) + B(X) = 0 ."),
    ("1: 1 >= A(X) + B(X) ^2", "1: -1 * A(X) - B(X) >= -1 ^2"),
    ("A(X) + 1 <= B(X) - 2 .", "A(X) - B(X) <= -3 ."),
    ("(A(X) + B(X)) - (C(X) - (D(X) - 1)) = 0 .", "A(X) + B(X) - C(X) + D(X) = 1 ."),
    ("A(X) + B(X) + A(X) = 2 .", "2 * A(X) + B(X) = 2 ."),
    ("2 A(X) + 3 * B(X) - C(X) / 4 <= 1 .", "2 * A(X) + 3 * B(X) - 0.25 * C(X) <= 1 ."),
    ("2 (A(X)) + (3) * (B(X)) <= 1 .", "2 * A(X) + 3 * B(X) <= 1 ."),
    ("(1 + 2) * 3 / 2 * A(X) <= 1 .", "4.5 * A(X) <= 1 ."),
    ("A(X) / (1 + 1) <= 6 / 4 / 2 .", "0.5 * A(X) <= 0.75 ."),
    ("1 + (2 * 3 * A(X)) = 99 .", "6 * A(X) = 98 ."),
    ("-1.5 * A(X) - -2 * B(X) >= -3 .", "(-1.5) * A(X) + 2 * B(X) >= -3 ."),
    ("@Max[1, 2] * A(X) + @Min(3, (4)) * B(X) = 1 .", "2 * A(X) + 3 * B(X) = 1 ."),
    # Sums.
    ("R(X, +Y) = 1 .", "R(X, +Y) = 1 ."),
    ("5: R(+X, +Y) + A(Z) <= |X| ^2", "5: R(+X, +Y) + A(Z) <= |X| ^2"),
    ("R(X, +Y) / |Y| >= 0.5 .", "1 / |Y| * R(X, +Y) >= 0.5 ."),
    ("(|Y| + 1) * R(X, +Y) - A(X) = |Y| - 1 .", "(|Y| + 1) * R(X, +Y) - A(X) = |Y| - 1 ."),
    ("A(X) = R(X, +Y) / |Y| .", "A(X) + -1 * (1 / |Y|) * R(X, +Y) = 0 ."),
    ("@Max[|Y|, 0] R(X, +Y) = @Min(|Y|, 2 * |Y|) .", "@Max[|Y|, 0] * R(X, +Y) = @Min[|Y|, 2 * |Y|] ."),
    ("(|Y| - |Y| + 1) * R(X, +Y) + 0 * (X != 'a') = 1 .", "R(X, +Y) + 0 * (X != 'a') = 1 ."),
    ("A(X) + A(Y) + (X == Y) + (X % Y) = 0 .", "A(X) + A(Y) + (X == Y) + (X % Y) = 0 ."),
    # Filters.
    ("R(X, +Y) = 1 . {Y: A(Y)}", "R(X, +Y) = 1 . {Y: A(Y)}"),
    ("1: R(X, +Y) = 1 ^2 {Y: A(Y) && !R(Y, X)}", "1: R(X, +Y) = 1 ^2 {Y: A(Y) & !R(Y, X)}"),
    ("1: R(X, +Y) = 1 {Y: A(Y) || B(Y) & C(Y)}", "1: R(X, +Y) = 1 {Y: A(Y)}\n1: R(X, +Y) = 1 {Y: B(Y) & C(Y)}"),
    ("R(X, +Y) = 1 . {Y: (A(Y)) & (C(Y) & Y != X)}", "R(X, +Y) = 1 . {Y: A(Y) & C(Y) & Y != X}"),
    ("A(+X) + B(+Y) = 1 .\n{X: A('a')}\n{Y: ~(A(Y)) & Y == 'a'}", "A(+X) + B(+Y) = 1 . {X: A('a')} {Y: !A(Y) & Y == 'a'}"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), NORMAL, ids=[text for text, _ in NORMAL])
def test_rules_are_printed_in_normal_form(text: str, expected: str) -> None:
    model = parse_psl(text)
    assert str(model) == f"{expected}\n"
    assert parse_psl(str(model)) == model
    assert soft_model_from_json(soft_model_to_json(model)) == model


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("1: A(X) & B(X) >> C(X)", "1.0: C(X) <- A(X) && B(X)"),
        ("1: A(X) -> B(X)", "1: (a(X)) -> B(X) ^1 // comment"),
        ("R(X, Y) - R(Y, X) = 0 .", "R(X, Y) = R(Y, X) ."),
        ("A(X) + B(X) <= 1 .", "(A(X) + B(X)) <= 3 - 2 ."),
    ],
)
def test_two_ways_to_write_a_rule(one: str, other: str) -> None:
    first, second = parse_psl(one), parse_psl(other.replace("a(X)", "A(X)"))
    assert first == second
    assert hash(first.rules) == hash(second.rules)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("1: A(X) -> B(X)", "1: !A(X) | B(X)"),
        ("1: A(X) -> B(X)", "1: A(X) -> B(X) ^2"),
        ("1: A(X) -> B(X)", "2: A(X) -> B(X)"),
        ("1: A(X) -> B(X)", "A(X) -> B(X) ."),
        ("R(X, Y) & X != Y -> A(X) .", "R(X, Y) & X % Y -> A(X) ."),
        ("A(X) <= 1 .", "A(X) >= 1 ."),
        ("A(X, +Y) = 1 .", "A(X, +Y) = 1 . {Y: B(Y)}"),
    ],
)
def test_rules_that_differ(one: str, other: str) -> None:
    assert parse_psl(one) != parse_psl(other)


def test_the_clause_of_a_rule_has_its_body_negated() -> None:
    (rule,) = parse_psl("1: A(X) & !B(X) & X != 'a' & (X % Y) -> R(X, Y) | !A(Y)").rules
    assert isinstance(rule, LogicalRule)
    x, y = Variable("X"), Variable("Y")
    assert rule.clause == (
        Literal("A", (x,), positive=False),
        Literal("B", (x,)),
        EqualityLiteral(x, Constant("a")),
        OrderLiteral(x, y, positive=False),
        Literal("R", (x, y)),
        Literal("A", (y,), positive=False),
    )


# ---- what is refused, and where ------------------------------------------------------------------------------

PARSE, MODEL = ParseError, ModelError

REFUSED: list[tuple[str, type[InputError], str]] = [
    # Weights.
    ("-1: A(X) ^2", MODEL, "1:1: the weight -1 is negative: expected at least 0; to prefer that the rule does not hold, write its negation"),
    ("1: A(X)\n-0.5: B(X)", MODEL, "2:1: the weight -0.5 is negative"),
    ("1: A(X) <= 1\n-0.5: B(X)", MODEL, "2:1: the weight -0.5 is negative"),
    ("NaN: A(X)", MODEL, "1:1: the weight NaN is not finite: expected a number, or a hard rule, which ends with '.'"),
    ("-inf: A(X)", MODEL, "1:1: the weight -inf is not finite"),
    ("1e999: A(X)", MODEL, "1:1: the weight 1e999 is not finite"),
    (".5: A(X)", PARSE, "1:1: a number starts with a digit: write 0.5"),
    ("w: A(X)", PARSE, "1:1: expected a number as the weight, found 'w'"),
    ("W(X): A(X) ^2", UnsupportedError, "1:5: a weight that is an atom is not supported: expected a number"),
    # Ends.
    ("1: A(X) ^3", MODEL, "1:10: the exponent is 3: expected 1 or 2"),
    ("1: A(X) ^2.5", MODEL, "1:10: the exponent is 2.5: expected 1 or 2"),
    ("1: A(X) <= 1 ^-2", MODEL, "1:15: the exponent is -2: expected 1 or 2"),
    ("1: A(X) ^two", PARSE, "1:10: expected the exponent, 1 or 2, found 'two'"),
    ("1: A(X) .", PARSE, "1:9: the rule has a weight and a final '.': remove the '.', or the weight if the rule must hold"),
    ("A(X) . ^2", MODEL, "1:8: a hard rule has no exponent"),
    ("A(X) ^2", MODEL, "1:6: the rule has an exponent and no weight"),
    ("A(X) -> B(X)", PARSE, "1:13: expected an operator, or '.' since the rule has no weight in front, as 1: ..., found the end of the text"),
    ("1: A(X) B(X)", PARSE, "1:9: expected an operator, '^2' or the end of the rule, found 'B'"),
    # Logical rules.
    ("1: A(X) & B(X)", PARSE, "1:9: a conjunction alone is no rule: expected '->' and a head, or write a rule for each literal"),
    ("1: A(X) | B(X) -> C(X)", PARSE, "1:9: the body of a rule is a conjunction: write a rule for each part of '|'"),
    ("1: A(X) -> B(X) & C(X)", PARSE, "1:17: the head of a rule is a disjunction: write a rule for each part of '&'"),
    ("1: B(X) & C(X) <- A(X)", PARSE, "1:9: the head of a rule is a disjunction"),
    ("1: A(X) & B(X) | C(X) -> D(X)", PARSE, "1:16: '&' and '|' are mixed"),
    ("1: A(X) & (B(X) | C(X)) -> D(X)", PARSE, "1:17: '&' and '|' are mixed"),
    ("1: A(X) -> B(X) -> C(X)", PARSE, "1:17: a rule has one arrow: write another rule for what '->' says"),
    ("1: A(X) => B(X)", PARSE, "1:9: expected '->', the implication of PSL, found '=>'"),
    ("1: !(A(X) & B(X)) -> C(X)", PARSE, "1:4: '!' stands before a literal, not before several"),
    ("1: A(X) -> ", PARSE, "1:12: expected an atom, as P(X), or a comparison, as X != Y, found the end of the text"),
    ("1: (A(X) -> B(X)", PARSE, "1:10: expected ')', '&' or '|', found '->'"),
    ("1: A(X, +Y) & B(X) -> C(X)", PARSE, "1:13: '&' stands in logical rules alone, and this is an arithmetic one"),
    ("1: A(X) & B(X, +Y) -> C(X)", PARSE, "1:16: '+' sums in arithmetic rules alone"),
    ("1: A(1) -> B(X)", PARSE, "1:6: expected a variable or a constant in quotes, as '1', found '1'"),
    ("1: A() -> B(X)", PARSE, "1:6: expected a variable, or a constant in quotes, found ')'"),
    ("1: A(X Y) -> B(X)", PARSE, "1:8: expected ',' or ')', found 'Y'"),
    ("1: A('b) -> B(X)", PARSE, "1:6: this constant does not end: expected '"),
    (r"1: A('\q') -> B(X)", PARSE, r"1:7: unknown escape '\q'"),
    ("1: A(X) /* -> B(X)", PARSE, "1:9: this comment does not end: expected */"),
    ("1: A(X) ; B(X)", PARSE, "1:9: unexpected character ';'"),
    ("1: X == Y ^2", MODEL, "1:4: a rule has no atoms"),
    ("1: A(X) & X != Z -> B(X)", MODEL, "1:16: the variable Z is unbound: expected an atom with it, as it stands in 'X != Z' alone"),
    ("1: A(X) & X -> B(X)", PARSE, "1:13: expected '(' behind a predicate, or one of ==, !=, % behind 'X', found '->'"),
    # Arithmetic rules.
    ("1: A(X) & B(X) <= 1", PARSE, "1:16: '<=' stands in arithmetic rules alone, and this is a logical one"),
    ("A(X) + B(X) .", PARSE, "1:13: expected an operator, or '=', '<=' or '>=' since the rule is an arithmetic one, found '.'"),
    ("A(X) + B(X) < 1 .", PARSE, "1:13: expected '=', '<=' or '>=' between the sides of an arithmetic rule, found '<'"),
    ("A(X) = B(X) = 1 .", PARSE, "1:13: a rule has one '=': write another rule for the second relation"),
    ("1 = 2 .", MODEL, "1:1: an arithmetic rule has no atoms"),
    ("-A(X) = 1 .", PARSE, "1:2: expected a number behind '-', as in -1 * P(X), found 'A'"),
    ("2 * (A(X) + B(X)) = 1 .", PARSE, "1:5: expected one atom behind a coefficient, over which PSL distributes nothing"),
    ("(A(X) + B(X)) / 2 = 1 .", PARSE, "1:15: '/' stands behind several terms, over which PSL distributes nothing"),
    ("A(X) * 2 = 1 .", PARSE, "1:6: '*' stands behind an atom: write the coefficient in front of it"),
    ("A(X) / B(X) = 1 .", PARSE, "1:8: expected an atom or a number, found 'B'"),
    ("(2 + A(X)) * B(X) = 1 .", PARSE, "1:12: '*' stands behind several terms"),
    ("@Avg[1, 2] * A(X) = 1 .", PARSE, "1:1: expected @Max or @Min, found '@Avg'"),
    ("@max[1, 2] * A(X) = 1 .", PARSE, "1:1: expected @Max or @Min, found '@max'; did you mean '@Max'?"),
    ("@Max[1] * A(X) = 1 .", PARSE, "1:7: expected ',' between the two numbers of @Max, found ']'"),
    ("@Max[A(X), 1] * B(X) = 1 .", PARSE, "1:6: expected a number, found an atom: coefficients have none"),
    (".5 * A(X) + B(X) = 1 .", PARSE, "1:1: expected an atom, as P(X), or a comparison"),
    # PSL's own reading of these is another one than that of arithmetic.
    ("1 + 2 * A(X) = 3 .", PARSE, "1:3: PSL takes '1 + ...' as a part of the coefficient here"),
    ("A(X) - 1 + 2 * B(X) = 3 .", PARSE, "1:10: PSL takes '1 + ...' as a part of the coefficient here"),
    ("A(X) / 2 + 1 = 3 .", PARSE, "1:10: PSL takes what follows as a part of the divisor"),
    ("A(X) / 2 * 3 = 3 .", PARSE, "1:10: PSL takes '*' and what follows as a part of the divisor"),
    # Coefficients.
    ("A(X) - A(X) = 0 .", MODEL, "1:1: the coefficients of A(X) cancel to 0, so that the rule does not depend on it: leave it out"),
    ("B(X) + A(X) = A(X) .", MODEL, "1:8: the coefficients of A(X) cancel to 0"),
    ("B(X) + 0 * A(X) = 1 .", MODEL, "1:12: the coefficients of A(X) cancel to 0"),
    ("(|Y| - |Y|) * A(X, +Y) = 1 .", MODEL, "1:15: the coefficients of A(X, +Y) cancel to 0"),
    ("A(X) / 0 + B(X) = 1 .", MODEL, "1:6: division by zero in '1 / 0': expected another divisor"),
    ("2 / (2 - 2) * A(X) = 1 .", MODEL, "1:3: division by zero in '2 / 0'"),
    ("A(X) / @Min[0, 1] = 1 .", MODEL, "1:6: division by zero"),
    ("A(X, +Y) = |Y| / (1 - 1) .", MODEL, "1:16: division by zero in '|Y| / 0'"),
    ("1e300 * 1e300 * A(X) = 1 .", MODEL, "1:7: '1e300 * 1e300' is not finite: write smaller numbers"),
    ("1e999 * A(X) = 1 .", MODEL, "1:1: the number 1e999 is too large for a float"),
    # Sums.
    ("|Y| * A(X) = 1 .", MODEL, "1:1: |Y| counts an unbound sum: no atom has the summation variable +Y"),
    ("A(X, +Y) = |Z| .", MODEL, "1:12: |Z| counts an unbound sum"),
    ("|X| * A(X, +Y) = 1 .", MODEL, "1:1: |X| counts an unbound sum"),
    ("A(X) = 1 . {Y: B(Y)}", MODEL, "1:12: the filter {Y: ...} is of an unbound sum: no atom has the summation variable +Y"),
    ("A(X, +Y) = 1 . {X: B(X)}", MODEL, "1:16: the filter {X: ...} is of an unbound sum"),
    ("A(X, +Y) = 1 . {Y: B(Y, Z)}", MODEL, "1:25: the variable Z of the filter {Y: ...} is unbound"),
    ("A(+X, +Y) = 1 . {Y: B(X)}", MODEL, "1:23: the variable X of the filter {Y: ...} is unbound"),
    ("A(X, +Y) = 1 . {Y: B(Y)} {Y: C(Y)}", MODEL, "1:26: +Y has two filters: write one, with '&' between the conditions"),
    ("A(X, +Y) + B(Y) = 1 .", MODEL, "1:14: the variable Y is summed (+Y) and stands without '+', too: give one of the two another name"),
    ("A(X, +Y) + (X != Y) = 1 .", MODEL, "1:18: the variable Y is summed (+Y) and stands without '+', too"),
    ("A(X, +Y) = B(+Y) .", MODEL, "1:6: the summation variable +Y stands twice: each sum needs a variable of its own, as +Y2"),
    ("A(+Y, +Y) = 1 .", MODEL, "1:3: the summation variable +Y stands twice"),
    ("A(+Y) + A(+Y) = 1 .", MODEL, "1:7: the summation variable +Y stands twice"),
    ("A(X, +'b') = 1 .", PARSE, "1:7: expected a variable, found the string 'b'"),
    ("A(X, +Y) + (Z != 'a') = 1 .", MODEL, "1:13: the variable Z is unbound"),
    ("A(X, +Y) = 1 . {Y: B(Y)", PARSE, "1:24: expected '}', '&' or '|', found the end of the text"),
    ("A(X, +Y) = 1 . {Y: !(B(Y) | C(Y))}", PARSE, "1:20: '!' stands before a literal, not before several"),
    ("A(X, +Y) = 1 . {'b': B(Y)}", PARSE, "1:17: expected the summation variable that the filter is of"),
    # Predicates.
    ("1: A(X) -> B(X)\n2: A(X, Y)", MODEL, "2:4: A has 1 argument, found 2"),
    ("1: A(X) -> !a(X, Y)", MODEL, "1:12: A has 1 argument, found 2"),
    ("1: A$(X)", MODEL, "1:4: the language cannot write the predicate name 'A$'"),
    # The first line.
    ('// sqlrl {"predicates": {"Knows/2": null}}\n1: Know(A, B)', MODEL, "2:4: there is no predicate 'Know'; did you mean 'Knows'?"),
    ('// sqlrl {"predicates": {"Knows/2": null}}\n1: Knows(A)', MODEL, "2:4: Knows has 2 arguments, found 1"),
    ('// sqlrl {"predicates": {"R(p, q)": null}}\n1: R(A, B) -> R(B, A)', MODEL, "2:15: the variable B is of the type q in R and p in R"),
    ('// sqlrl {"predicates": {"R/2": null, "A/1": "open"}}\nR(X, +Y) = 1 . {Y: A(Y)}', MODEL, "2:20: A is open, and stands in the filter {Y: A(Y)}"),
    ('// sqlrl {"predicates": {"Knows": null}}', PARSE, '1:10: {"Knows": null} declares no predicate'),
    ('// sqlrl {"predicates": {"A/1": null, "a/1": null}}', PARSE, "1:10: A and a are one predicate to PSL"),
    ('// sqlrl {"predicates": }', PARSE, "1:10: Expecting value: mend the first line or remove it"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "kind", "message"), REFUSED, ids=[text for text, _, _ in REFUSED])
def test_what_is_refused_shows_the_place(text: str, kind: type[InputError], message: str) -> None:
    with pytest.raises(kind) as caught:
        parse_psl(text, path="m.psl")
    said, line, caret = str(caught.value).split("\n")
    place = message.split(":", 2)
    assert said.startswith(f"m.psl:{message}")
    assert line == "  " + text.split("\n")[int(place[0]) - 1]
    assert caret == " " * (int(place[1]) + 1) + "^"


def test_limits_are_errors_that_show_the_place() -> None:
    deep = "(" * (DEEPEST + 1) + "A(X)" + ")" * (DEEPEST + 1)
    divided = "A(X) / (" * (DEEPEST + 1)
    nested = "@Max[1, " * (DEEPEST + 1)
    for text in (
        f"1: {deep} -> B(X)",
        f"{deep} = 1 .",
        f"A(X, +Y) = 1 . {{Y: {deep}}}",
        divided,
        nested,
        f"1 * {nested}",
    ):
        with pytest.raises(ParseError, match=f"parentheses nest more than {DEEPEST} deep"):
            parse_psl(text)
    with pytest.raises(ModelError, match="literals: expected at most"):
        parse_psl("1: " + " & ".join(f"A(X{i})" for i in range(LONGEST_CLAUSE + 1)) + " -> B(X1)")
    with pytest.raises(ModelError, match="terms: expected at most"):
        parse_psl(" + ".join(f"A(X{i})" for i in range(LONGEST_CLAUSE + 1)) + " <= 1 .")
    with pytest.raises(ParseError, match="the coefficient has more than"):
        parse_psl("A(X, +Y) = " + " + ".join(["|Y| * |Y|"] * 400) + " .")


def test_a_file_in_place_of_its_text_is_refused() -> None:
    with pytest.raises(InputError, match="read files with read_psl"):
        parse_psl("smokers.psl")
    with pytest.raises(InputError, match="a str, not int"):
        parse_psl(3)  # type: ignore[arg-type]


X, Y = Variable("X"), Variable("Y")
P = Literal("P", (X,))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: LogicalRule((P,), ()), "has no head"),
        (lambda: LogicalRule((), (P,), -1.0), "the weight -1 is negative"),
        (lambda: LogicalRule((), (P,), float("nan")), "the weight nan is not finite"),
        (lambda: LogicalRule((), (P,), float("-inf")), "the weight -inf is not finite"),
        (lambda: LogicalRule((), (P,), None, squared=True), "a hard rule has no exponent"),
        (lambda: LogicalRule((), (Literal("a b", (X,)),)), "cannot write the predicate name 'a b'"),
        (lambda: LogicalRule((), (Literal("P", (Variable("a b"),)),)), "cannot write the variable name 'a b'"),
        (lambda: LogicalRule((), (Literal("P", (Variable("X", plus=True),)),)), "outside of an arithmetic rule's atoms"),
        (lambda: LogicalRule((), (Literal("P", ()),)), "P has no arguments"),
        (lambda: LogicalRule((), (Atom("P", (X,)),)), "is no literal"),  # type: ignore[arg-type]
        (lambda: LogicalRule((), (P,), "1"), "the weight '1' is no number"),  # type: ignore[arg-type]
        (lambda: ArithmeticRule((P,), "="), "is no term: give a LinearTerm"),  # type: ignore[arg-type]
        (lambda: ArithmeticRule((LinearTerm("1", P),), "="), "'1' is no coefficient"),  # type: ignore[arg-type]
        (lambda: ArithmeticRule((), "="), "has no atoms"),
        (lambda: ArithmeticRule((LinearTerm(1.0, P),), "<"), "'<' compares nothing"),  # type: ignore[arg-type]
        (lambda: ArithmeticRule((LinearTerm(1.0, P), LinearTerm(2.0, P)), "="), "stands in two terms"),
        (lambda: ArithmeticRule((LinearTerm(1.0, Literal("P", (X,), positive=False)),), "="), "is negated"),
        (lambda: ArithmeticRule((LinearTerm(float("inf"), P),), "="), "is not finite"),
        (lambda: ArithmeticRule((LinearTerm(Operation("/", 1.0, 0.0), P),), "="), "division by zero"),
        (lambda: SoftModel({}, (LogicalRule((), (P,)),)), "there is no predicate 'P'"),
        (lambda: SoftModel({"P": untyped("P", 2)}, (LogicalRule((), (P,)),)), "P has 2 arguments, found 1"),
        (lambda: SoftModel({"P": untyped("P", 1, closed=True)}, query=frozenset({"P"})), "as open and as closed"),
        (lambda: SoftModel({}, query=frozenset({"P"})), "query has 'P', which is no predicate"),
        (lambda: SoftModel({"P": untyped("Q", 1)}), "stands under the name 'P'"),
        (lambda: SoftModel({"P": Predicate("P", (Argument("a", block=True),))}), "marks a block"),
        (lambda: SoftModel({"P": untyped("P", 1), "p": untyped("p", 1)}), "are one predicate to PSL"),
        (lambda: SoftModel({"P": untyped("P", 0)}), "has no arguments"),
        (lambda: parse_psl("1: P(X)", query="Q"), "query has 'Q'"),
        (lambda: parse_psl("1: P(X)").with_types({"Q": ["t"]}), "types= has 'Q'"),
        (lambda: parse_psl("1: P(X)").with_types({"P": ["t", "t"]}), "types= has 2 types for P"),
        (lambda: parse_psl("1: P(X) -> Q(X)").with_types({"P": ["t"]}), "<text>:1: the variable X is of the type t in P"),
        (lambda: parse_psl("1: P(X)").save("model.mln"), "ends in .psl or .json"),
    ],
)  # fmt: skip
def test_values_that_no_rule_or_model_can_have(make: Callable[[], object], message: str) -> None:
    with pytest.raises(ModelError) as caught:
        make()
    assert message in str(caught.value)


# ---- models --------------------------------------------------------------------------------------------------


def test_declarations_are_in_the_first_line_where_the_rules_do_not_say_them() -> None:
    predicates = {
        "Likes": Predicate("Likes", (Argument("person"), Argument("thing")), closed=True),
        "P": untyped("P", 3),
    }
    model = SoftModel(predicates, query=frozenset({"P"}))
    assert str(model) == '// sqlrl {"predicates": {"Likes(person, thing)": "closed", "P/3": "open"}}\n'
    assert parse_psl(str(model)) == model
    assert str(parse_psl("1: A(X)", query="a")).startswith('// sqlrl {"predicates": {"A/1": "open"}}\n1: A(X)')


def test_models_are_shown_copied_and_changed() -> None:
    model = parse_psl("1: A(X) -> B(X)\nA(X) = 1 .")
    assert repr(model) == "SoftModel of 2 rules (1 hard):\n1: A(X) -> B(X)\nA(X) = 1 ."
    assert "<caption>SoftModel of 2 rules (1 hard)</caption>" in model._repr_html_()
    assert pickle.loads(pickle.dumps(model)) == copy.deepcopy(model) == model
    assert [rule.place for rule in model.rules] == ["<text>:1", "<text>:2"]
    assert model.with_rules(model.rules[:1]).rules == model.rules[:1]
    with pytest.raises(InputError, match="rules are needed"):
        model.with_rules("1: A(X)")  # type: ignore[arg-type]
    with pytest.raises(AttributeError, match=r"has no attribute 'withrules'; did you mean 'with_rules'"):
        model.withrules  # noqa: B018


def test_words_tried_on_a_soft_model_are_told() -> None:
    model = parse_psl("1: A(X)")
    for word, said in (("clauses", "model.rules"), ("to_json", "model.save"), ("load", "db.load")):
        with pytest.raises(AttributeError, match=said):
            getattr(model, word)


def test_coefficients_have_values_where_sums_have_sizes() -> None:
    (rule,) = parse_psl("(@Max[|Y|, 3] - 1) / |Y| * A(X, +Y) = 2 * |Y| / (|Y| - 1) .").rules
    assert isinstance(rule, ArithmeticRule)
    assert [coefficient_value(rule.terms[0].coefficient, {"Y": n}) for n in (1, 2, 4)] == [2.0, 1.0, 0.75]
    assert coefficient_value(rule.constant, {"Y": 3}) == 3.0
    with pytest.raises(ModelError, match=r"division by zero in '2 \* \|Y\| / \(\|Y\| - 1\)', where \|Y\| = 1"):
        coefficient_value(rule.constant, {"Y": 1})


def test_public_names() -> None:
    for name in ("SoftModel", "LogicalRule", "ArithmeticRule", "parse_psl", "read_psl"):
        assert name in sqlrl.__all__
        assert getattr(sqlrl, name).__doc__


# ---- what is printed reads back ------------------------------------------------------------------------------

names = st.sampled_from(["X", "Y", "Z", "x1", "$a", "A_B"])
constants = st.builds(
    Constant,
    st.sampled_from(["@", "(", ":", "|", ".", "1", "+X", "->"])
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=6),
)
terms: st.SearchStrategy[Term] = st.builds(Variable, names) | constants
ARITIES = {"P": 1, "Q": 2, "rel": 3}
numbers = st.floats(-1e6, 1e6) | st.integers(-9, 9).map(float) | st.floats(-1e-300, 1e300)


@st.composite
def atoms(draw: st.DrawFn, sums: bool = False) -> Literal:
    name = draw(st.sampled_from(sorted(ARITIES)))
    kinds = terms | st.builds(Variable, names, plus=st.just(True)) if sums else terms
    return Literal(name, tuple(draw(st.lists(kinds, min_size=ARITIES[name], max_size=ARITIES[name]))))


@st.composite
def literals(draw: st.DrawFn) -> SoftLiteral:
    positive = draw(st.booleans())
    match draw(st.sampled_from(["atom", "atom", "equal", "order"])):
        case "atom":
            found = draw(atoms())
            return Literal(found.predicate, found.terms, positive)
        case "equal":
            return EqualityLiteral(draw(terms), draw(terms), positive)
        case _:
            return OrderLiteral(draw(terms), draw(terms), positive)


weights = st.none() | st.floats(0, 1e300)


@st.composite
def logical(draw: st.DrawFn) -> SoftRule:
    weight = draw(weights)
    body, head = draw(st.lists(literals(), max_size=3)), draw(st.lists(literals(), min_size=1, max_size=3))
    return LogicalRule(tuple(body), tuple(head), weight, weight is not None and draw(st.booleans()))


def coefficients(summed: list[str]) -> st.SearchStrategy[Coefficient]:
    if not summed:
        return numbers
    leaves: st.SearchStrategy[Coefficient] = numbers | st.sampled_from(summed).map(Cardinality)
    signs = st.sampled_from(["+", "-", "*", "/", "@Max", "@Min"])
    return st.recursive(leaves, lambda inner: st.builds(Operation, signs, inner, inner), max_leaves=4)


@st.composite
def conditions(draw: st.DrawFn, variables: list[str], depth: int = 2) -> Condition:
    kind = draw(st.sampled_from(["literal", "both", "either"] if depth else ["literal"]))
    if kind == "literal":
        found = draw(literals())
        assume(all(t.name in variables for t in terms_of_literal(found) if isinstance(t, Variable)))
        return found
    parts = tuple(draw(st.lists(conditions(variables, depth - 1), min_size=2, max_size=3)))
    return Both(parts) if kind == "both" else Either(parts)


@st.composite
def arithmetic(draw: st.DrawFn) -> SoftRule:
    found = draw(st.lists(atoms(sums=True), min_size=1, max_size=3, unique=True))
    every = [t for atom in found for t in atom.terms if isinstance(t, Variable)]
    summed, plain = [t.name for t in every if t.plus], [t.name for t in every if not t.plus]
    comparisons = draw(st.lists(literals(), max_size=1))
    others = [x for x in comparisons if isinstance(x, EqualityLiteral) or (isinstance(x, OrderLiteral) and x.positive)]
    weight = draw(weights)
    filters = tuple(
        Filter(name, draw(conditions([name, *plain]))) for name in dict.fromkeys(summed) if draw(st.integers(0, 2)) == 0
    )
    parts = tuple(LinearTerm(draw(coefficients(summed)), atom) for atom in [*found, *others])
    squared = weight is not None and draw(st.booleans())
    sign = draw(st.sampled_from(["=", "<=", ">="]))
    return ArithmeticRule(parts, sign, draw(coefficients(summed)), weight, squared, filters)


def valid(strategy: st.SearchStrategy[SoftRule]) -> st.SearchStrategy[SoftRule]:
    """Those of a strategy that are rules: what the values refuse is tested above."""

    @st.composite
    def tried(draw: st.DrawFn) -> SoftRule:
        try:
            return draw(strategy)
        except ModelError:
            assume(False)
            raise

    return tried()


@st.composite
def models(draw: st.DrawFn) -> SoftModel:
    rules = draw(st.lists(valid(logical()) | valid(arithmetic()), max_size=4))
    filtered = {
        x.predicate
        for rule in rules
        if isinstance(rule, ArithmeticRule)
        for each in rule.filters
        for x in literals_of(each.condition)
        if isinstance(x, Literal)
    }
    closed = draw(st.sets(st.sampled_from(sorted(ARITIES))))
    predicates = {name: untyped(name, arity, closed=name in closed) for name, arity in ARITIES.items()}
    return SoftModel(
        predicates, tuple(rules), frozenset(ARITIES) - closed - filtered if draw(st.booleans()) else frozenset()
    )


@pytest.mark.slow
@settings(max_examples=draws(100))
@given(models())
def test_what_is_printed_reads_back(model: SoftModel) -> None:
    assert parse_psl(str(model)) == model
    assert soft_model_from_json(soft_model_to_json(model)) == model
    # Without a first line the rules alone declare their predicates, and count as in a program of PSL.
    bare = "\n".join(map(str, model.rules))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RepeatedRuleWarning)
        assert parse_psl(bare).rules == tuple(counted_once(model.rules)[0])


@pytest.mark.filterwarnings("ignore::sqlrl.errors.RepeatedRuleWarning")
@settings(max_examples=draws(300))
@given(
    st.lists(st.sampled_from([text for text, _ in NORMAL] + [text for text, _, _ in REFUSED]), min_size=1, max_size=2),
    st.data(),
)
def test_damaged_texts_are_read_or_refused(texts: list[str], data: st.DataObject) -> None:
    text = "\n".join(texts)
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, min(start + 4, len(text))))
    damaged = (
        text[:start]
        + data.draw(st.sampled_from(["", "(", ")", "|", "-", "+", "{", "1", "^", "'", "X", "\n", " "]))
        + text[end:]
    )
    try:
        model = parse_psl(f"{damaged}\n")
    except SqlrlError:
        return
    assert parse_psl(str(model)) == model
