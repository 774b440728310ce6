"""What the readers take: a text beyond a limit is an error with its place, and one below is read in time that grows with it."""

from __future__ import annotations

import json
import pickle
import re
import sys
from collections.abc import Callable
from itertools import product
from pathlib import Path
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sqlrl.errors import ModelError, ParseError, SqlrlError
from sqlrl.learn.parameters import parse_value
from sqlrl.logic.bias_parser import parse_bias
from sqlrl.logic.boolean import Signed, _absorb, atoms_of, conjoin, conjuncts, disjoint
from sqlrl.logic.compile import compile_rule
from sqlrl.logic.evidence import parse_domains, parse_evidence
from sqlrl.logic.files import parse_model
from sqlrl.logic.formulas import parse_formula
from sqlrl.logic.grammar_parser import parse_grammar
from sqlrl.logic.horn_parser import parse_definitions
from sqlrl.logic.json_text import parse_json
from sqlrl.logic.limits import (
    DEEPEST,
    DEEPEST_INCLUDE,
    DEEPEST_JSON,
    LARGEST_FORM,
    LARGEST_RANGE,
    LONGEST_INTEGER,
    MOST_ATOMS,
)
from sqlrl.logic.mln import parse_mln, read_mln
from sqlrl.logic.model import Model
from sqlrl.logic.modes import parse_modes
from sqlrl.logic.normal import normalise
from sqlrl.logic.printer import format_model
from sqlrl.logic.shapes import Shaper
from sqlrl.logic.terms import Literal

DECLARED = "P(t)\nQ(t)\nR(t, t)\n"
OPEN = frozenset({"P", "Q", "R"})
NESTED: dict[str, Callable[[int], str]] = {
    "parentheses": lambda n: "(" * n + "P(x)" + ")" * n,
    "unclosed": lambda n: "(" * n,
    "negations": lambda n: "!" * n + "P(x)",
    "implications": lambda n: "P(x) => " * n + "P(x)",
    "equivalences": lambda n: "P(x) <=> " * n + "P(x)",
    "quantifiers": lambda n: (
        "".join(f"EXIST y{i} " for i in range(n)) + " ^ ".join(["P(x)"] + [f"P(y{i})" for i in range(n)])
    ),
    "operators in turn": lambda n: "P(x) => " + "(P(x) v " * n + "Q(x)" + ")" * n,
    "rows in rows": lambda n: f"({'P(x) => ' * n}P(x)) => " * n + "P(x)",
    "to the right": lambda n: "P(x) => (" * n + "P(x)" + ")" * n,
}


@pytest.mark.parametrize("size", [DEEPEST + 1, 10_000])
@pytest.mark.parametrize("kind", sorted(NESTED))
def test_a_formula_that_nests_too_deeply_is_an_error_with_its_place(kind: str, size: int) -> None:
    size = min(size, 100) if kind == "rows in rows" else size
    with pytest.raises(ParseError, match=rf"a\.mln:\d+:\d+: the formula is nested more than {DEEPEST} deep") as caught:
        parse_mln(f"{DECLARED}1 {NESTED[kind](size)}", path="a.mln")
    assert caught.value.line == 4
    assert str(caught.value).splitlines()[-1].strip() == "^"


@pytest.mark.parametrize("kind", sorted(NESTED.keys() - {"unclosed"}))
def test_what_is_just_below_the_limit_goes_through_all_stages(kind: str) -> None:
    size = DEEPEST // 2 - 2 if kind in ("operators in turn", "rows in rows", "to the right") else DEEPEST - 1
    model = parse_mln(f"{DECLARED}1 {NESTED[kind](size)}")
    assert parse_model(format_model(model)) == model
    assert pickle.loads(pickle.dumps(model)) == model
    assert repr(model)
    for semantics in ("exact", "alchemy"):
        changed = Model(model.predicates, rules=model.rules, semantics=semantics)
        try:
            compile_rule(changed.rules[0], changed, OPEN)
        except SqlrlError as error:  # EXIST over a conjunction has no normal form in Alchemy's reading
            assert semantics == "alchemy" or "parts" in str(error)  # noqa: PT017


def includes(folder: Path, files: int, each: Callable[[int], list[int]]) -> Path:
    """Write files that include others, and in the last one a rule."""
    for i in range(files):
        lines = [f'#include "{j}.mln"' for j in each(i) if j < files]
        (folder / f"{i}.mln").write_text("\n".join(lines or ["P(t)", "1 P(x)"]) + "\n", encoding="utf-8")
    return folder / "0.mln"


@pytest.mark.parametrize("names", [lambda i: [i + 1, i + 2], lambda i: [i + 1] * 3, lambda i: [i + 2, i + 1]])
def test_a_file_is_read_once(tmp_path: Path, names: Callable[[int], list[int]]) -> None:
    assert len(read_mln(includes(tmp_path, 40, names)).rules) == 1


def test_files_that_include_each_other_in_a_long_row_are_an_error(tmp_path: Path) -> None:
    path = includes(tmp_path, 400, lambda i: [i + 1])
    with pytest.raises(ParseError, match=rf"\d+\.mln:1:10: more than {DEEPEST_INCLUDE} files include each other"):
        read_mln(path)
    # Beside each other they may be many.
    path.write_text("".join(f'#include "{i}.mln"\n' for i in range(399, 0, -1)), encoding="utf-8")
    assert len(read_mln(path).rules) == 1


MANY = "7" * 6000


@pytest.mark.parametrize(
    ("read", "text", "place"),
    [
        (parse_mln, f"t = {{1, ..., {MANY}}}", "1:9"),
        (parse_mln, f"P(t)\nt = {{-{MANY}, ..., 3}}", "2:6009"),
        (parse_mln, 't = {"--3", ..., 9}', "1:13"),
        (parse_mln, 't = {"²", ..., 9}', "1:11"),
        (parse_mln, f'// sqlrl {{"query": [{MANY}]}}\nP(t)', "1:21"),
        (parse_mln, f'// sqlrl {{"query": {"[" * 3000}{"]" * 3000}}}\nP(t)', "1:119"),
        (parse_mln, f"P(t)\n{MANY} P(x)", "2:1"),
        (parse_mln, f"P(t)\n[{MANY}] P(x) := P(x).", "2:2"),
        (parse_model, f'{{"version": 1,\n "rules": -{MANY}}}', "2:11"),
        (parse_model, '{"a": ' + "[" * 1000 + "]" * 1000 + "}", "1:106"),
        (parse_model, '\n{"a": "]]]\\"[[",\n "b": ' + '{"c":' * 100_000, "3:502"),
        (parse_bias, f":- modeh({MANY}, p(+a)).", "1:10"),
        (parse_bias, f":- modeh(-{MANY}, p(+a)).", "1:10"),
        (parse_grammar, f"S(x) = {{p(x)}} compounder {MANY}", "1:26"),
        (parse_bias, f":- modeh(1, p(+a)).\n:- determination(p/{MANY}, q/1).", "2:20"),
        (parse_bias, f":- modeh(1, p(+a)).\n:- set(i, {MANY}).", "2:11"),
        (parse_modes, f"modeP({MANY}, P(+))", "1:7"),
        (parse_evidence, f"P(A)\n{MANY} P(B)", "2:1"),
    ],
)  # fmt: skip
def test_integers_and_brackets_beyond_the_limits_are_errors_with_a_place(
    read: Callable[[str], object], text: str, place: str
) -> None:
    with pytest.raises(SqlrlError, match=rf"^<text>:{place}: ") as caught:
        read(text)
    assert len(str(caught.value)) < 3000


@pytest.mark.parametrize(
    "text", ["[" * 100_000, "[" * 5000 + "]" * 5000, "[1, " * 2000, MANY, f"[1, -{MANY}]", "a(b=" * 3000]
)
def test_values_beyond_the_limits_are_errors(text: str) -> None:
    with pytest.raises(SqlrlError, match=r"deep|digits|no estimator") as caught:
        parse_value(text, {})
    assert len(str(caught.value)) < 3000


def test_values_below_the_limits_are_read() -> None:
    assert parse_value("[" * DEEPEST + "]" * DEEPEST, {})
    assert parse_value("9" * LONGEST_INTEGER, {}) == int("9" * LONGEST_INTEGER)
    assert parse_json("[" * DEEPEST_JSON + "]" * DEEPEST_JSON)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(), st.lists, max_leaves=20
    )
)
def test_json_is_read_as_it_was_written(value: object) -> None:
    assert parse_json(json.dumps(value)) == value


@pytest.mark.parametrize(
    "text",
    [
        "t = {1, ..., 10000000}",
        f"t = {{{10**30}, ..., {10**31}}}",
    ],
)
def test_ranges_beyond_the_limit_are_errors_that_name_the_option(text: str) -> None:
    with pytest.raises(
        ModelError, match=rf"<text>:\d+:\d+: the ranges are too large: .*{LARGEST_RANGE:,}.*largest_range="
    ):
        parse_mln(text)


def test_the_limit_of_ranges_is_an_option(tmp_path: Path) -> None:
    (tmp_path / "a.mln").write_text("t = {1, ..., 5}\nu = {1, ..., 5}\n", encoding="utf-8")
    assert len(read_mln(tmp_path / "a.mln", largest_range=9).types["u"]) == 5
    with pytest.raises(ModelError, match=r"a\.mln:2:14: the ranges are too large"):
        read_mln(tmp_path / "a.mln", largest_range=8)
    with pytest.raises(ModelError, match=r"<text>:1:25: the ranges are too large"):
        parse_mln("t = {1, ..., 9, 1, ..., 9}", largest_range=16)
    # A list that is written out has as many as its text.
    assert len(parse_mln("t = {A, B, C, D}", largest_range=2).types["t"]) == 4


@pytest.mark.parametrize("first", [0, 10**LONGEST_INTEGER])
def test_lists_of_integers_are_written_so_that_they_are_read(first: int) -> None:
    model = Model({}, {"t": tuple(map(str, range(first, first + 5)))})
    assert parse_mln(format_model(model)) == model


# ---- long lines ------------------------------------------------------------------------------------------------

LONG = 100_000


@pytest.mark.parametrize(
    ("read", "text"),
    [
        (parse_mln, "P(t)\n1 " + "P(x) ^ " * (LONG // 70) + "^"),
        (parse_mln, "P(t)\n1 P(x) " + "a" * LONG),
        (parse_mln, 'P(t)\n1 P(x) "' + "a" * LONG + '"'),
        (parse_mln, "P(t)\n1 " + "b" * LONG + "(x)"),
        (parse_mln, "P(t)\n" + " " * LONG + "1 P(x) ^"),
        (parse_mln, 'P(t)\n1 P("' + "a" * LONG),
        (parse_mln, f't = {{A}}\nP(t)\n1 P("{"a" * LONG}")'),
        (parse_evidence, "P(" + "A, " * (LONG // 30) + "$)"),
        (parse_domains, "t = {" + "A, " * (LONG // 30) + "$}"),
        (parse_definitions, "p(x) :- " + "q(x), " * (LONG // 60) + "."),
        (parse_modes, "modeP(1, " + "P" * LONG + "(*))"),
        (parse_bias, ":- modeh(1, " + "p" * LONG + "(*))."),
        (parse_grammar, "S(x) = {" + "p(x) ^ " * (LONG // 70) + "}"),
        (parse_grammar, "S(x) = {" + "p" * LONG + "(x)} chain"),
        (parse_grammar, "s" * LONG + "(x) = {p(x)}"),
        (parse_grammar, "S(x) = {p(x)} " + "c" * LONG + " 2"),
        (parse_grammar, "S(x) = {p(x, \"" + "c" * LONG + "\"), p(x, \"" + "c" * LONG + "\")}"),
        (parse_formula, "P(x) v " * (LONG // 70)),
        (parse_model, '{"a": 3,' + " " * LONG + "x" * LONG + "}"),
        (parse_model, '{"version": 1, "semantics": "' + "a" * LONG + '"}'),
    ],
)  # fmt: skip
def test_a_message_shows_a_window_of_a_long_line(read: Callable[[str], object], text: str) -> None:
    with pytest.raises(SqlrlError) as caught:
        read(text)
    message = str(caught.value)
    assert len(message) < 3000
    found = re.match(r"<text>:(\d+):(\d+): ", message)
    if found is None:
        return
    # The caret stands below the character of the place.
    *_, shown, caret = message.split("\n")
    line = (text + "\n").split("\n")[int(found[1]) - 1]
    column, place = int(found[2]) - 1, len(caret) - 1
    assert caret == " " * place + "^"
    shown = shown[place : place + 20].removesuffix(" ...").rstrip()
    assert line[column : column + len(shown)] == shown


@given(st.text("ab \t", max_size=2000), st.integers(0, 2000))
def test_the_caret_is_below_its_character(text: str, column: int) -> None:
    text = text[:column] + "X" + text[column:]
    message = str(ParseError("here", text=text, line=1, column=text.index("X") + 1))
    _, shown, caret = message.split("\n")
    assert shown[len(caret) - 1] == "X"
    assert [c for c in shown[: len(caret) - 1] if c == "\t"] == [c for c in caret if c == "\t"]


# ---- work ------------------------------------------------------------------------------------------------------


def compiled(text: str, semantics: str = "exact") -> None:
    model = parse_mln(DECLARED + text, semantics=semantics)
    shaper = Shaper(lambda predicate, place: "t")
    for feature in compile_rule(model.rules[0], model, OPEN):
        for clause in feature.clauses[:10]:
            shaper(clause)


def normalised(text: str) -> None:
    model = parse_mln(DECLARED + text)
    normalise(model.rules[0].formula, model)


def each(form: str, n: int, between: str) -> str:
    return between.join(form.format(i=i, j=i + 1) for i in range(n))


LINEAR: dict[str, Callable[[int], object]] = {
    "conjunction": lambda n: compiled("1 " + each("P(x{i})", n, " ^ ")),
    "conjunction of constants": lambda n: compiled("1 " + each("P(A{i})", n, " ^ ")),
    "clause": lambda n: compiled("1 " + each("!P(x{i})", n, " v ")),
    "implication": lambda n: compiled("1 " + each("R(x{i}, x{j})", n, " ^ ") + " => P(x0)"),
    "conditions": lambda n: compiled("1 " + each("P(x{i})", n, ", ") + " => Q(x0)"),
    "normal form": lambda n: compiled("1 " + each("P(x{i})", n, " ^ "), "alchemy"),
    "normal form of a clause, hard": lambda n: compiled(each("P(x{i})", n, " v ") + ".", "alchemy"),
    "normal form of a clause": lambda n: compiled("1 " + each("P(x{i})", n, " v "), "alchemy"),
    "quantified": lambda n: normalised("1 EXIST " + each("x{i}", n, ",") + " (" + each("P(x{i})", n, " v ") + ")"),
    "many quantifiers": lambda n: normalised("1 " + each("(EXIST y P(y))", n, " v ")),
    "equalities": lambda n: parse_mln(DECLARED + "1 P(x0) ^ " + each("x{j} = x{i}", n, " ^ ")),
    "equalities from behind": lambda n: compiled(f"1 {each('x{j} = x{i}', n, ' v ')} v P(x{n})"),
    "Horn equalities": lambda n: parse_definitions("p(x0) :- q(x0), " + each("x{i} = x{j}", n, ", ") + "."),
    "Horn equalities from behind": lambda n: parse_definitions(f"p(x) :- q(x), x{n} = A, {each('x{j} = x{i}', n, ', ')}."),
    "Horn variables": lambda n: parse_definitions("p(X0) :- q(" + each("X{i}", n, ", ") + ").", variables="upper"),
    "modes": lambda n: parse_bias(":- modeh(1, p(+a)).\n" + each(":- mode(1, q{i}(+a)).", n, "\n")),
    "grammar": lambda n: parse_grammar("S(x) = {" + each("p{i}(x)", n, ", ") + "}\n" + each("S(x) ^ q{i}(x)", n, "\n")),
    "grammar of many symbols": lambda n: parse_grammar(each("S{i}(x) = {{p(x)}}", n, "\n") + "\nt(x)"),
    "expansion": lambda n: parse_grammar("S(x) = {" + each("p(x, y{i})", n, " ^ ") + "}\nS(x) ^ t(x)"),
    "extender": lambda n: parse_grammar("S(x, y) = {" + each("p{i}", n, ", ") + "} extender 2\nS(x, y) ^ t(x)"),
    "template": lambda n: parse_grammar(each("p{i}(x)", n, " ^ ")),
    "declarations": lambda n: parse_mln(each("P{i}(t{i})", n, "\n") + "\n" + each("P{i}(t{i})", n, "\n")),
}  # fmt: skip


def calls(work: Callable[[int], object], size: int) -> int:
    """How many functions are entered and left in a piece of work."""
    count = 0

    def see(*_: object) -> None:
        nonlocal count
        count += 1

    before = sys.getprofile()
    sys.setprofile(see)
    try:
        work(size)
    finally:
        sys.setprofile(before)
    return count


@pytest.mark.parametrize("kind", sorted(LINEAR))
def test_twice_the_text_takes_twice_the_calls(kind: str) -> None:
    LINEAR[kind](10)
    # A formula of up to a hundred atoms is tried in ways that a longer one is not.
    assert calls(LINEAR[kind], 400) < 2.1 * calls(LINEAR[kind], 200)


# Texts of thousands of parts show what calls do not: a list that is searched or copied for each part.
@pytest.mark.slow
@pytest.mark.parametrize("kind", sorted(LINEAR))
def test_the_time_grows_with_the_text(kind: str) -> None:
    LINEAR[kind](10)

    def seconds(size: int) -> float:
        start = process_time()
        LINEAR[kind](size)
        return process_time() - start

    # The garbage of all tests before may be collected in one of the small ones.
    small, large = min(seconds(250) for _ in range(3)), seconds(4000)
    # Sixteen times the text: were the time its square, it would be 256 times as long.
    assert large < 64 * small + 0.5


@pytest.mark.parametrize("text", [each("(P(x{i}) ^ Q(x{i}))", 1000, " v "), each("P(x{i})", 1000, " ^ ") + " <=> Q(x0)",
                                  each("(EXIST y R(x{i}, y))", 1000, " ^ ")])  # fmt: skip
def test_a_formula_of_too_many_cases_is_an_error_with_its_line(text: str) -> None:
    model = parse_mln(f"{DECLARED}1 P(x)\n1 {text}", path="a.mln")
    with pytest.raises(ModelError, match=rf"^a\.mln:5: the formula has \d+ different atoms, .*{MOST_ATOMS}.*split it"):
        compile_rule(model.rules[1], model, OPEN)


@pytest.mark.parametrize("size", [2, 5, 9])
def test_a_row_of_equivalences_has_a_case_for_every_other_assignment(size: int) -> None:
    nested = each("(P(x{i}) <=> ", size - 1, "") + f"P(x{size - 1})" + ")" * (size - 1)
    model = parse_mln(f"{DECLARED}1 {nested}")
    (feature,) = compile_rule(model.rules[0], model, OPEN)
    assert len(feature.clauses) == 2 ** (size - 1)
    assert all(len(clause.literals) == size for clause in feature.clauses)


@pytest.mark.parametrize("size", [pytest.param(12, marks=pytest.mark.slow), 17, 40])
def test_too_long_a_row_of_equivalences_is_an_error_with_its_line(size: int) -> None:
    nested = each("(P(x{i}) <=> ", size - 1, "") + f"P(x{size - 1})" + ")" * (size - 1)
    model = parse_mln(f"{DECLARED}1 {nested}", path="a.mln")
    with pytest.raises(ModelError, match=r"^a\.mln:4: the .* more than 2000 (clauses|parts): split it"):
        compile_rule(model.rules[0], model, OPEN)


def test_a_formula_of_too_many_clauses_is_an_error_with_its_line() -> None:
    model = parse_mln(DECLARED + each("P(x{i})", LARGEST_FORM + 1, " ^ ") + ".", semantics="alchemy")
    with pytest.raises(ModelError, match=rf"^<text>:4: the formula expands to more than {LARGEST_FORM} clauses"):
        compile_rule(model.rules[0], model, OPEN)


# ---- and the results are what they were ------------------------------------------------------------------------

ATOMS = [Signed(Literal(name, ())) for name in "ABCD"]
LITERALS = [*ATOMS, *(atom.negated() for atom in ATOMS)]


@given(st.lists(st.lists(st.sampled_from(LITERALS), max_size=4).map(tuple), max_size=12))
def test_absorbed_are_those_that_another_is_part_of(conjunctions: list[tuple[Signed, ...]]) -> None:
    unique = {frozenset(c): c for c in conjunctions}
    naive = [c for key, c in unique.items() if not any(other < key for other in unique)]
    assert _absorb(conjunctions) == naive


@pytest.mark.parametrize(("size", "signs"), [(n, signs) for n in (2, 3) for signs in product((True, False), repeat=n)])
def test_a_conjunction_is_true_in_one_case(size: int, signs: tuple[bool, ...]) -> None:
    node = conjoin(Signed(atom.atom, sign) for atom, sign in zip(ATOMS[:size], signs, strict=True))
    value, paths = disjoint(node, (False, True), lambda paths: 0)
    assert (value, paths) == (True, (node.parts,))
    assert disjoint(node, (False,), lambda paths: 0)[0] is False
    assert conjuncts(node) == tuple((part,) for part in node.parts)
    assert len(atoms_of(node)) == size
