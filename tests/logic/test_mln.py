"""The `.mln` parser: the whole language, its errors word by word, and real files."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sqlrl.errors import InputError, ModelError, ParseError, UnsupportedError
from sqlrl.logic.formulas import parse_formula
from sqlrl.logic.mln import parse_mln, read_mln
from sqlrl.logic.model import Model, Rule
from sqlrl.logic.printer import check_names, format_formula, format_model, format_rule
from sqlrl.logic.terms import (
    And,
    Argument,
    Atom,
    BothSigns,
    Constant,
    Equal,
    Exist,
    ForAll,
    Iff,
    Implies,
    Not,
    Or,
    Predicate,
    Variable,
)

X, Y, Z = (Variable(n) for n in "xyz")
P, Q, R, S = (Atom(n, (X,)) for n in "PQRS")
HEAD = "P(t)\nQ(t)\nR(t)\nS(t)\nE(t, t)\n"


def rules(text: str, **options) -> tuple[Rule, ...]:
    return parse_mln(HEAD + text, **options).rules


def formula(text: str):
    return rules(text)[0].formula


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("P(x) v Q(x) ^ R(x) => S(x) <=> P(x)", Iff(Implies(Or((P, And((Q, R)))), S), P)),
        ("!P(x) ^ Q(x)", And((Not(P), Q))),
        ("P(x) => Q(x) => R(x)", Implies(Implies(P, Q), R)),
        ("P(x) <=> Q(x) <=> R(x)", Iff(Iff(P, Q), R)),
        ("(P(x) v Q(x)) v R(x)", Or((Or((P, Q)), R))),
        ("P(x) v Q(x) v R(x)", Or((P, Q, R))),
        ("!!P(x)", Not(Not(P))),
        ("!(P(x) v Q(x))", Not(Or((P, Q)))),
        ("P(x) v EXIST y E(x,y) ^ Q(y)", Or((P, Exist(("y",), And((Atom("E", (X, Y)), Atom("Q", (Y,)))))))),
        ("(EXIST y E(x,y)) v P(x)", Or((Exist(("y",), Atom("E", (X, Y))), P))),
        ("forall x,y E(x,y)", ForAll(("x", "y"), Atom("E", (X, Y)))),
        ("Forall x exist y E(x,y)", ForAll(("x",), Exist(("y",), Atom("E", (X, Y))))),
        ("E(x,y) ^ x != y", And((Atom("E", (X, Y)), Not(Equal(X, Y))))),
        ("E(x,y) ^ !(x = y)", And((Atom("E", (X, Y)), Not(Equal(X, Y))))),
        ("E(x,y) ^ !x = A", And((Atom("E", (X, Y)), Not(Equal(X, Constant("A")))))),
        ("1 = x v P(x)", Or((Equal(Constant("1"), X), P))),
        ("P(+x) ^ *Q(x)", And((Atom("P", (Variable("x", plus=True),)), BothSigns(Q)))),
        ("*P(x)", BothSigns(P)),
        ("E(v, v) v P(v)", Or((Atom("E", (Variable("v"),) * 2), Atom("P", (Variable("v"),))))),
        ("v = x v E(v, x)", Or((Equal(Variable("v"), X), Atom("E", (Variable("v"), X))))),
        ("EXIST v P(v) v Q(v)", Exist(("v",), Or((Atom("P", (Variable("v"),)), Atom("Q", (Variable("v"),)))))),
        ('E("new york", Anna)', Atom("E", (Constant("new york"), Constant("Anna")))),
        ("E(-3, 12)", Atom("E", (Constant("-3"), Constant("12")))),
        ("P(x) =>\n  Q(x) ^\n\n R(x)", Implies(P, And((Q, R)))),
        ("(P(x)\n v Q(x)\n)", Or((P, Q))),
        ("P(x) /* a\n b */ v Q(x) // c", Or((P, Q))),
        ("P(x), Q(x) => R(x) v S(x)", Implies(And((P, Q)), Or((R, S)))),
        ("EXIST y P(x), E(x,y) => R(x)", Exist(("y",), Implies(And((P, Atom("E", (X, Y)))), R))),
    ],
)  # fmt: skip
def test_formulas(text, expected):
    assert formula(text) == expected
    assert parse_formula(format_formula(expected)) == expected


@pytest.mark.parametrize(
    ("text", "weight", "hard"),
    [
        ("1.5 P(x)", 1.5, False),
        ("-2 P(x)", -2.0, False),
        ("+2 P(x)", 2.0, False),
        ("1e-3 P(x)", 0.001, False),
        ("1. P(x)", 1.0, False),
        ("1.e2 P(x)", 100.0, False),
        (".5 P(x)", 0.5, False),
        ("-.5e1 !P(x)", -5.0, False),
        ("0 P(x)", 0.0, False),
        ("P(x) v Q(x)", None, False),
        ("P(x) v Q(x).", None, True),
        ("E(x, 1).", None, True),
        ("E(x, y) ^ x = 1.", None, True),
        ("P(x) .", None, True),
    ],
)
def test_weights(text, weight, hard):
    (rule,) = rules(text)
    assert (rule.weight, rule.hard) == (weight, hard)


def test_declarations():
    model = parse_mln(
        'type = {A, "b c", 3}\nday = {1, ..., 4}\nmore = {\n x, \n Y\n}\nInField(bib, field!, position)\nRain\nSun()\n'
        "*closed(type, day)\nnamed(type first, day second!)\nInField(bib, field!, position)\n"
    )
    assert model.types == {"type": ("A", "b c", "3"), "day": ("1", "2", "3", "4"), "more": ("x", "Y")}
    block = (Argument("bib"), Argument("field", block=True), Argument("position"))
    assert model.predicates == {
        "InField": Predicate("InField", block),
        "Rain": Predicate("Rain", ()),
        "Sun": Predicate("Sun", ()),
        "closed": Predicate("closed", (Argument("type"), Argument("day")), closed=True),
        "named": Predicate("named", (Argument("type"), Argument("day", block=True))),
    }
    assert not model.rules


def test_a_declared_predicate_on_a_line_is_a_formula():
    model = parse_mln("Smokes(person)\nRain\nSmokes(x)\nRain\nRain.")
    assert [str(r.formula) for r in model.rules] == ["Smokes(x)", "Rain()", "Rain()"]
    assert parse_mln(format_model(model)) == model


def test_declarations_may_follow_their_use():
    assert len(parse_mln("1 P(x) v Q(x)\nP(t)\nQ(t)").rules) == 1


def test_a_lone_atom_over_names_of_types_prints_as_a_formula():
    model = Model({"P": Predicate("P", (Argument("t"),))}, rules=(Rule(Atom("P", (Variable("t"),))),))
    assert format_rule(model.rules[0], model.predicates) == "(P(t))"
    assert parse_mln(format_model(model)) == model


def test_renaming_and_case():
    text = "f = {Fauthor, Ftitle}\nIn(f)\nIn(Fauthor) v In(Ftitle)"
    model = parse_mln(text, constants={"Fauthor": "fauthor"})
    assert format_formula(model.rules[0].formula) == 'In("fauthor") v In(Ftitle)'
    assert model.types == {"f": ("fauthor", "Ftitle")}
    assert parse_mln(text, fold_case=True).types == {"f": ("fauthor", "ftitle")}


def test_query_and_semantics():
    model = parse_mln(HEAD, query=["P"], semantics="alchemy")
    assert (model.query, model.semantics) == (frozenset("P"), "alchemy")
    with pytest.raises(ModelError, match="query='Pp' is no predicate of the model; did you mean 'P'"):
        parse_mln(HEAD, query=["Pp"])
    with pytest.raises(ModelError, match="expected one of exact, alchemy"):
        parse_mln(HEAD, semantics="tuffy")


@pytest.mark.parametrize(
    "text",
    [
        "*wrote(Person, Paper)\ncat(Paper, Category)\n",
        "*Wrote(Person, Paper)\nCat(Paper, Category)\n",
        "*wrote(Person, Paper)\nCat(Paper, Category!)\n",
        "Cat(Paper, Category!)\n*Wrote(Person, Paper)\n",
        "Cat(Paper p, Category c)\n*Wrote(Person p, Paper q)\n",
    ],
)
def test_types_that_begin_with_a_capital(text: str) -> None:
    """A line of an undeclared predicate declares it where something says so: a star, a block, a name, or a type that is known."""
    predicates = parse_mln(text).predicates
    types = {name.lower(): predicate.types for name, predicate in predicates.items()}
    assert types == {"wrote": ("Person", "Paper"), "cat": ("Paper", "Category")}
    assert parse_mln(format_model(parse_mln(text))).predicates == predicates


def test_a_line_of_capitals_alone_says_how_it_would_be_a_declaration() -> None:
    with pytest.raises(
        ModelError, match=r"unknown predicate 'Cat'; .* types that begin with small letters, or names after them"
    ):
        parse_mln("Cat(Paper, Category)\n")
    with pytest.raises(ModelError, match="unknown predicate 'Cat'; expected one that a line before declares\n"):
        parse_mln("P(t)\n1 Cat(Paper, Category)\n")
    # A formula over constants may stand before the line that declares its predicate with small letters.
    assert len(parse_mln("cat(Paper, Category)\ncat(paper, category)\n").rules) == 1
    # A misspelt predicate with constants declares nothing.
    with pytest.raises(ModelError, match="unknown predicate 'Smoks'; did you mean 'Smokes'"):
        parse_mln("Smokes(person)\nSmoks(Anna)\n")


def test_tuffy_scoping_rules_with_a_prior():
    """The prior weighs what a body implies; the scope is a hard rule over all bodies."""
    model = parse_mln(
        "*wrote(p, t)\n*refers(t, t)\ncat(t, c)\n*tag(t, c)\n"
        "[priorProb = 0.75] cat(x, c) := wrote(a, x), tag(x, c).\n[0.5] cat(y, d) := refers(x, y), tag(x, d), x != y."
    )
    printed = [format_rule(r) for r in model.rules]
    assert printed == [
        "1.0986122886681098 (EXIST a wrote(a, x) ^ tag(x, c)) => cat(x, c)",
        "0.0 (EXIST x_ refers(x_, x) ^ tag(x_, c) ^ x_ != x) => cat(x, c)",
        "cat(x, c) => (EXIST a wrote(a, x) ^ tag(x, c)) v (EXIST x_ refers(x_, x) ^ tag(x_, c) ^ x_ != x).",
    ]
    assert parse_mln(format_model(model)) == model


def test_scoping_rules_of_one_predicate_have_as_many_arguments():
    with pytest.raises(UnsupportedError, match="C has another number of arguments in another scoping rule"):
        parse_mln("*B(t)\nC(t, t)\n[0.5] C(x, y) := B(x).\n[0.5] C(x) := B(x).")
    with pytest.raises(UnsupportedError, match=r"the body of a scoping rule is a list of literals without '\+'"):
        parse_mln("*B(t)\nC(t)\n[0.5] C(x) := (B(x) v B(A)).")


GOLDEN = [
    ("1 P(x) | Q(x)",
     ("a.mln:6:8: expected an operator or the end of the line, found '|' (expected 'v' for or)\n"
     "  1 P(x) | Q(x)\n"
     "         ^")),
    ("P(x) ^ (Q(x) v R(x)",
     ("a.mln:6:20: expected ')' or an operator, found the end of the text: the '(' in line 6 is never closed\n"
     "  P(x) ^ (Q(x) v R(x)\n"
     "                     ^")),
    ("1 P(x) Q(x)",
     ("a.mln:6:8: expected an operator or the end of the line, found 'Q'\n"
     "  1 P(x) Q(x)\n"
     "         ^")),
    ("1 P(x).",
     ("a.mln:6:7: a weight and a final '.' contradict each other: remove the weight (hard) or the '.' (soft)\n"
     "  1 P(x).\n"
     "        ^")),
    ("1 E(x y)",
     ("a.mln:6:7: expected ',' or ')', found 'y'\n"
     "  1 E(x y)\n"
     "        ^")),
    ("1 ^ P(x)",
     ("a.mln:6:3: expected a formula, found '^'\n"
     "  1 ^ P(x)\n"
     "    ^")),
    ("1 E(x, 1.5)",
     ("a.mln:6:8: expected a term: a constant is an integer, not 1.5; quote it to use it as a name\n"
     "  1 E(x, 1.5)\n"
     "         ^")),
    ('1 P("new york)',
     ("a.mln:6:5: this string does not end: expected '\"' on the same line\n"
     '  1 P("new york)\n'
     "      ^")),
    ("/* 1 P(x)",
     ("a.mln:6:1: this comment does not end: expected */\n"
     "  /* 1 P(x)\n"
     "  ^")),
    ("1 EXIST X P(X)",
     ("a.mln:6:9: expected a variable (its name starts with a lower-case letter), found 'X'\n"
     "  1 EXIST X P(X)\n"
     "          ^")),
    ("1 P(x) =>",
     ("a.mln:6:10: expected a formula, found the end of the text\n"
     "  1 P(x) =>\n"
     "           ^")),
    ("nan P(x)",
     ("a.mln:6:1: a weight must be finite, not nan\n"
     "  nan P(x)\n"
     "  ^")),
    ("--1 P(x)",
     ("a.mln:6:1: expected one sign before a number, found '--1'\n"
     "  --1 P(x)\n"
     "  ^")),
    ("1 P(x)\n+-0.5 P(x)",
     ("a.mln:7:1: expected one sign before a number, found '+-0.5'\n"
     "  +-0.5 P(x)\n"
     "  ^")),
    ("1e999 P(x)",
     ("a.mln:6:1: a weight must be finite, not 1e999\n"
     "  1e999 P(x)\n"
     "  ^")),
    ("1 Pp(x) v Q(x)",
     ("a.mln:6:3: unknown predicate 'Pp'; did you mean 'P'?\n"
     "  1 Pp(x) v Q(x)\n"
     "    ^")),
    ("\t1 P(x, y)",
     ("a.mln:6:4: P has 2 arguments here, but is declared as P(t)\n"
     "  \t1 P(x, y)\n"
     "  \t  ^")),
    ("D(t, u)\n1 D(x, x)",
     ("a.mln:7:8: the variable x is of type 'u' here, but of type 't' in line 7, column 5\n"
     "  1 D(x, x)\n"
     "         ^")),
    ("t = {Anna, Bob}\n1 P(Ana)",
     ("a.mln:7:5: the constant Ana is not among those declared for the type 't'; did you mean 'Anna'?\n"
     "  1 P(Ana)\n"
     "      ^")),
    ("1 EXIST y E(x, +y)",
     ("a.mln:6:17: '+y' stands under a quantifier: a '+' variable cannot be quantified\n"
     "  1 EXIST y E(x, +y)\n"
     "                  ^")),
    ("P(t, u!)",
     ("a.mln:6:1: P is declared again as P(t, u!), but was declared as P(t)\n"
     "  P(t, u!)\n"
     "  ^")),
    ("1 x = y",
     ("a.mln:6:3: the type of x cannot be inferred: it occurs only in '=' and '!='\n"
     "  1 x = y\n"
     "    ^")),
    ("1 EXIST z P(x)",
     ("a.mln:6:9: the quantified variable z occurs nowhere in its scope\n"
     "  1 EXIST z P(x)\n"
     "          ^")),
    ('1 P("a\\qb")',
     ("a.mln:6:7: unknown escape '\\q': expected \\n, \\r, \\t, \\\", \\' or \\\\ (which is one backslash)\n"
     '  1 P("a\\qb")\n'
     "        ^")),
    ("1 P(x), Q(x)",
     ("a.mln:6:7: ',' joins conditions only before '=>': expected '^' or 'v'\n"
     "  1 P(x), Q(x)\n"
     "        ^")),
    ("@P(x)",
     ("a.mln:6:1: expected a weight after '@', as in '@1.5 P(x)': one that learners leave as it is\n"
     "  @P(x)\n"
     "  ^")),
    ("@-2 E(x, +y)",
     ("a.mln:6:1: a fixed weight has no use for '+', which makes clauses whose weights are learned: remove the '@' or the '+'\n"
     "  @-2 E(x, +y)\n"
     "  ^")),
    ("@2 P(x).",
     ("a.mln:6:8: a weight and a final '.' contradict each other: remove the weight (hard) or the '.' (soft)\n"
     "  @2 P(x).\n"
     "         ^")),
    ("1 P(x) v y",
     ("a.mln:6:10: 'y' is no declared predicate: expected an atom, or '=' or '!=' after a term\n"
     "  1 P(x) v y\n"
     "           ^")),
]  # fmt: skip


@pytest.mark.parametrize(("text", "message"), GOLDEN, ids=[text for text, _ in GOLDEN])
def test_error_messages(text, message):
    with pytest.raises(InputError) as caught:
        parse_mln(HEAD + text, path="a.mln")
    assert isinstance(caught.value, (ParseError, ModelError))
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("person MotherOf(person)", "the function MotherOf"),
        ("1 P(MotherOf(x))", "the function MotherOf"),
        ("1 MotherOf(x) = y", "the function MotherOf"),
        ("1 x = MotherOf(y)", "the function MotherOf"),
        ("1 E(x, y + 1)", "the arithmetic '+'"),
        ("1 E(x, y-1)", "the arithmetic '-'"),
        ("1 E(x, y) ^ x < y", "the comparison '<'"),
        ("1 [P(x) ^ Q(x)]", "square brackets"),
        ("1 P(x) * (x = 2)", "hybrid formulas"),
        ("1:2 P(x)", "utilities"),
        ("$P(A)", "statements with '$'"),
        ('#include "code.cpp"', "linked-in functions"),
        ('#include "data.db"', "load the .db file by itself"),
        ("#dynamic 5", "of Alchemy's '#' forms only #include"),
        ("w: P(x)", "weights taken from a variable"),
        ("P(x) :- Q(x).", "rules with ':-'"),
        ("**N(t)", "Tuffy's '**' declarations"),
    ],
)
def test_what_is_refused_is_named(text, named):
    with pytest.raises(UnsupportedError) as caught:
        rules(text)
    assert named in str(caught.value)
    assert "^" in str(caught.value).splitlines()[-1]


@pytest.mark.parametrize(
    "text", ["2: P(x) ^ Q(x) => R(x)", "1:2 P(x)", "P(x) => => Q(x)", "Q(t)\nR(t)\n1: P(x) -> R(x)"]
)
def test_other_faults_are_no_programs_of_soft_logic(text: str) -> None:
    with pytest.raises((ParseError, UnsupportedError)) as caught:
        parse_mln(text)
    assert "psl" not in str(caught.value)


@pytest.mark.parametrize("text", ["[0.7] P(x)", "[1.5] P(x) := Q(x).", "P(A) := Q(A).", "n = {3, ..., 1}", "n = {}",
                                  "n = {1, ..., 99999999999}", "n = {A, ..., 3}", "0.5", "1a P(x)", "1 P(2x)",
                                  "(" * 100 + "P(x)" + ")" * 100, "!" * 500 + "P(x)", "EXIST x " * 90 + "P(x)",
                                  "1 P(\x00)", "inf !P(x)", "n = {1.5}", '#include "a.mln" P(x)', "[0.5] P(x) v Q(x) := R(x).", "-inf P(x)", "1 P(+A)", "1 +x", "#include a", "P(",
                                  "D(", "D(t", "D(t,", "n = {A", "1 *", "FORALL", "1 x =", "!"])  # fmt: skip
def test_other_faults_are_input_errors(text):
    with pytest.raises(InputError) as caught:
        rules(text)
    assert "^" in str(caught.value).splitlines()[-1]


@given(st.text(alphabet='PQx(),v^=>!<.1 @+*"\n{}[]#/\\EXIST', max_size=40))
def test_any_text_is_read_or_refused(text):
    try:
        model = parse_mln(HEAD + text)
    except InputError:
        return
    assert parse_mln(format_model(model)) == model


@given(st.lists(st.text(), min_size=2, max_size=2))
def test_any_constant_prints_and_parses_back(names):
    rule = Rule(Or((Atom("E", tuple(map(Constant, names))), Equal(X, Constant(names[0])), P)), 0.1)
    types = {"u": tuple(dict.fromkeys(names))}
    model = Model(parse_mln(HEAD).predicates, types, (rule,))
    assert parse_mln(format_model(model)) == model


@pytest.mark.parametrize(
    "name",
    ["it's", 'say "hi"', "a\\", "\\n", "a\nb", "\r\n", "Robert'); DROP TABLE x;--", "日本", "é", "", " ", "//", "/*"],
)
def test_hostile_constants(name):
    model = Model(parse_mln(HEAD).predicates, {}, (Rule(Atom("P", (Constant(name),)), 1.0),))
    assert parse_mln(format_model(model)) == model


@pytest.mark.parametrize("name", ["a b", "1a", "", "x;", "$exist1", "a-b"])
def test_names_that_the_language_cannot_write(name):
    with pytest.raises(ModelError, match="cannot write"):
        format_model(Model({name: Predicate(name, ())}))
    with pytest.raises(ModelError, match="cannot write"):
        format_model(Model({"P": Predicate("P", (Argument(name),))}))
    with pytest.raises(ModelError, match="cannot write"):
        check_names(Atom("P", (Variable(name),)))


# ---- files -------------------------------------------------------------------------------------------------------


def test_includes_are_relative_to_the_file(tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "a.mln").write_text('#include "sub/b.mln"\n2 P(x)')
    (tmp_path / "sub" / "b.mln").write_text('#include "c.mln"\n1 P(x)')
    (tmp_path / "sub" / "c.mln").write_text("P(t)\r\n")
    model = read_mln(tmp_path / "a.mln")
    assert [r.weight for r in model.rules] == [1.0, 2.0]
    assert [Path(r.path).name for r in model.rules] == ["b.mln", "a.mln"]
    assert [r.line for r in model.rules] == [2, 2]


def test_include_faults(tmp_path):
    (tmp_path / "a.mln").write_text('P(t)\n#include "b.mln"')
    with pytest.raises(ParseError, match=r"a.mln:2:10: the included file does not exist"):
        read_mln(tmp_path / "a.mln")
    (tmp_path / "b.mln").write_text('#include "a.mln"')
    with pytest.raises(ParseError, match=r"b.mln:1:10: the include leads back to"):
        read_mln(tmp_path / "a.mln")
    with pytest.raises(ParseError, match="cannot read the file"):
        read_mln(tmp_path / "none.mln")
    (tmp_path / "c.mln").write_bytes(b"P(t)\xff")
    with pytest.raises(ParseError, match="no UTF-8 text"):
        read_mln(tmp_path / "c.mln")


def test_files_that_cut_a_type_in_two_ways(tmp_path):
    (tmp_path / "a.mln").write_text('// sqlrl {"bins": {"t": [1.0, 2.0]}}\n#include "b.mln"\n1 P(x)')
    (tmp_path / "b.mln").write_text('// sqlrl {"bins": {"t": [1.0, 3.0]}}\nP(t)\n')
    with pytest.raises(ModelError, match=r"b\.mln cuts t at 1, 3, and another file of the model at 1, 2: data can be"):
        read_mln(tmp_path / "a.mln")


REFUSED = {
    "univ.mln": (ModelError, "unknown predicate 'publication'"),
    "testmln8.mln": (ParseError, "expected 'v' for or"),
}


def test_real_files_print_and_parse_back(data_folder):
    files = sorted(file for folder in ("mln", "citeseer") for file in (data_folder / folder).rglob("*.mln"))
    assert len(files) > 15
    for file in files:
        if file.name in REFUSED:
            kind, problem = REFUSED[file.name]
            with pytest.raises(kind) as caught:
                read_mln(file)
            assert problem in str(caught.value)
        else:
            model = read_mln(file)
            assert parse_mln(format_model(model)) == model
            assert model.rules
