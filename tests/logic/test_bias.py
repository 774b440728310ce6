"""Aleph's mode files: what is read, how it prints, what is left out by name, and faults with their places."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sqlrl
from sqlrl.errors import BiasWarning, InputError, ModelError, ParseError
from sqlrl.logic.bias import KINDS, Bias, BiasMode, ModePlace
from sqlrl.logic.bias_parser import parse_bias

HEAD = ":- modeh(1, great(+a,+a)).\n"


def mode(predicate: str, places: str, recall: int | None = None) -> BiasMode:
    return BiasMode(predicate, tuple(ModePlace(p[0], p[1:]) for p in places.split(",") if p), recall)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("task", "head"), [("amine", "great_ne"), ("toxic", "less_toxic"), ("acetyl", "great"), ("mem", "great_rsd")]
)
def test_the_mode_files_of_alzheimers_are_read(data_folder: Path, task: str, head: str) -> None:
    bias = sqlrl.read_bias(data_folder / "alzheimers" / f"{task}.modes")
    assert bias.head == mode(head, "+a,+a", 1)
    assert len(bias.body) == 31
    assert bias.body[0] == mode("x_subst", "+a,-n,-b")
    assert bias.unused == ()
    assert not bias.unknown
    assert bias.settings["evalfn"] == "auto_m"
    assert (bias.settings["i"], bias.settings["minscore"], bias.settings["interactive"]) == (6, 0.6, False)
    assert sqlrl.parse_bias(str(bias)) == bias


def test_directives_need_no_arrow_and_comments_are_skipped() -> None:
    text = """
    /* the target
       of all */
    modeh(1,great(+a , +a)). % one
    modeb(3, 'x subst'(+a,-n,#b)). modeb(*,rain).
    :- aleph_set(noise,10).
    set(minscore, -inf).
    :- use_module(library(aleph)).
    :- aleph.
    set(verbosity,0)."""
    bias = parse_bias(text)
    assert bias.head == mode("great", "+a,+a", 1)
    assert bias.body == (mode("x subst", "+a,-n,#b", 3), mode("rain", ""))
    assert bias.settings == {"noise": 10, "minscore": float("-inf"), "verbosity": 0}
    assert [m.line for m in bias.body] == [5, 5]


def test_modes_without_a_determination_are_left_out_by_name() -> None:
    text = (
        HEAD + "modeb(*, size(+a,-b)). modeb(*, size(+a,#b)). modeb(*, polar(+b,-c)). determination(great/2, polar/2)."
    )
    with pytest.warns(BiasWarning, match=r"left out \(size\): add one, as in determination\(great/2, size/2\)"):
        bias = parse_bias(text)
    assert bias.body == (mode("polar", "+b,-c"),)
    assert bias.unused == (mode("size", "+a,-b"), mode("size", "+a,#b"))
    with pytest.warns(BiasWarning):
        assert parse_bias(str(bias)) == bias


def test_unknown_settings_are_named_and_kept_apart() -> None:
    with pytest.warns(
        BiasWarning, match=r"<text>: sqlrl does not know these settings of Aleph, .*: samplesize, caching"
    ):
        bias = parse_bias(HEAD + "modeb(*, q(+a)). set(samplesize, 4). set(i, 3). set(caching, true).")
    assert bias.settings == {"i": 3}
    assert bias.unknown == {"samplesize": 4, "caching": True}


def test_a_target_is_chosen_among_several_heads() -> None:
    text = "modeh(1, p(+a)). modeh(1, q(+a)). modeb(1, r(+a)). modeb(1, s(+a)).\n"
    text += "determination(p/1, r/1). determination(q/1, s/1)."
    chosen = parse_bias(text, target="q")
    assert chosen.head.predicate == "q"
    assert chosen.predicates() == ("s",)
    assert chosen.unused == (mode("r", "+a", 1),)  # not a fault: another head has it
    with pytest.raises(ParseError, match=r"1:27: there are modes for 2 heads \(p, q\): choose .* as target='p'"):
        parse_bias(text)
    with pytest.raises(ParseError, match="there is no modeh of the target 'r': expected one of p, q"):
        parse_bias(text, target="r")


def test_mode_is_the_head_where_a_determination_says_so() -> None:
    bias = parse_bias("mode(1, p(+a)). mode(*, q(+a,-b)). determination(p/1, q/2).")
    assert (bias.head, bias.body) == (mode("p", "+a", 1), (mode("q", "+a,-b"),))


def test_recursion_is_seen() -> None:
    assert parse_bias(HEAD + "modeb(*, great(+a,-a)).").recursive
    assert not parse_bias(
        HEAD + "modeb(*, gt(+a,-a)). determination(great/2, great/2). determination(great/2, gt/2)."
    ).recursive


_names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=6)
_places = st.lists(st.builds(ModePlace, st.sampled_from(KINDS), _names), max_size=3).map(tuple)


@given(st.data())
def test_a_printed_bias_parses_to_an_equal_one(data: st.DataObject) -> None:
    places = data.draw(st.dictionaries(_names, _places, min_size=2, max_size=5))
    recalls = st.none() | st.integers(1, 999_999_999)
    head, *body = [BiasMode(name, p, data.draw(recalls)) for name, p in places.items()]
    settings = data.draw(
        st.fixed_dictionaries(
            {},
            optional={
                "i": st.integers(1, 9),
                "minscore": st.floats(allow_nan=False),
                "evalfn": st.sampled_from(["coverage", "auto_m"]),
                "interactive": st.booleans(),
                "recordfile": _names.map(lambda name: "x" + name),
            },
        )
    )
    bias = Bias(head, tuple(body), settings)
    assert parse_bias(str(bias)) == bias


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (":- modeb(*, q(+a)).", "1:13: there is no modeh: expected the mode of the predicate to learn, as modeh(1, great(+a,+a))"),
        ("", "<text>: there is no modeh"),
        (HEAD, "<text>: there is no modeb"),
        (HEAD + ":- modeb(0, q(+a)).", "2:10: the recall is 0: expected 1 or more, or '*' for no limit"),
        (HEAD + ":- modeb(-2, q(+a)).", "2:10: the recall is -2: expected 1 or more"),
        (HEAD + ":- modeb(1.5, q(+a)).", "2:10: expected the recall, an integer of 1 or more or '*', found '1.5'"),
        (HEAD + ":- modeb(1234567890, q(+a)).", "2:10: the recall is too large: expected at most 9 digits, or '*'"),
        (HEAD + ":- modeb(*, q(+a,-)).", "2:18: the place '-' has no type: expected a name after it, as -drug\n  :- modeb(*, q(+a,-)).\n                   ^"),
        (HEAD + ":- modeb(*, q(a)).", "2:15: expected '+type' (input), '-type' (output) or '#type' (a constant), found 'a'"),
        (HEAD + ":- modeb(*, q(f(+a))).", "2:15: expected '+type'"),
        (HEAD + ":- modeb(*, q(+a))", "2:19: expected '.' and a blank or the end of the line, found the end of the text"),
        (HEAD + ":- modbe(*, q(+a)).", "2:4: there is no directive 'modbe'; did you mean 'mode' or 'modeh' or 'modeb'?"),
        (HEAD + "size(x, 1).", "2:1: there is no directive 'size': expected one of modeh, modeb, mode, determination, set, aleph_set; load facts with db.load"),
        (HEAD + "'size'(x, 1).", "2:1: expected a directive, as ':- modeb(*, q(+a,-b)).', found the string 'size'"),
        (HEAD + "modeb(*, q(+a)). modeb(*, q(+a,-b)).", "2:27: q has 2 places here and 1 in line 2: a predicate has one number of arguments"),
        (HEAD + "modeb(1, q(+a)). modeb(2, q(+a)).", "2:27: line 2 has this mode with another recall"),
        (HEAD + "modeh(1, great(+a,-a)). modeb(1, q(+a)).", "2:10: great has another modeh in line 1"),
        (HEAD + "modeb(1, q(+a)). determination(great/2, r/1).", "2:41: r/1 has a determination, but no mode: declare one"),
        (HEAD + "modeb(1, size(+a)). determination(great/2, sizes/1).", "2:44: sizes/1 has a determination, but no mode; did you mean 'size'?"),
        (HEAD + "modeb(1, q(+a)). determination(great/2, q/2).", "2:41: the mode of q has 1 place: expected q/1"),
        (HEAD + "modeb(1, q(+a)). determination(great/2, great/2).", "1:13: no determination lets a predicate with a modeb into bodies of great/2: expected some, as determination(great/2, q/1)"),
        (HEAD + "set(i, 0).", "2:8: i is 0: expected an integer of 1 or more"),
        (HEAD + "set(minacc, 1.5).", "2:13: minacc is 1.5: expected a number from 0 to 1"),
        (HEAD + "set(noise, true).", "2:12: noise is true: expected an integer of 0 or more"),
        (HEAD + "set(evalfn, wracc).", "2:13: evalfn is wracc: expected one of coverage, compression, accuracy, laplace, mestimate, auto_m"),
        (HEAD + "set(i, 2). set(i, 3).", "2:19: line 2 sets i to 2: expected one value"),
        (HEAD + "set(i, [2]).", "2:8: i is [2]: expected one value without brackets, as set(i,2)"),
        (HEAD + "/* no end", "2:1: this comment does not end: expected */"),
        (HEAD + "modeb(*, 'q(+a)).", "2:10: this quoted constant does not end: expected ' in its line"),
        (HEAD + "modeb(*, q(+2a)).", "2:13: a name starts with a letter"),
        (HEAD + "modeb(*, q(§)).", "2:12: unexpected character '§'"),
    ],
)  # fmt: skip
def test_faults_are_shown_in_their_line(text: str, message: str) -> None:
    with pytest.raises(ParseError) as caught:
        parse_bias(text)
    assert message in str(caught.value)


def test_values_are_checked_when_they_are_made_by_hand() -> None:
    with pytest.raises(InputError, match=r"'\.' is no place of a mode: expected"):
        ModePlace(".", "a")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="has no type"):
        ModePlace("+", "")
    with pytest.raises(InputError, match="the recall of a mode is 0"):
        mode("p", "+a", 0)
    with pytest.raises(InputError, match="has no body modes"):
        Bias(mode("p", "+a"), ())
    with pytest.raises(InputError, match="q has modes of 1 and of 2 arguments"):
        Bias(mode("p", "+a"), (mode("q", "+a"), mode("q", "+a,-b")))
    with pytest.raises(InputError, match="the text of a bias is a str, not PosixPath"):
        parse_bias(Path("x"))  # type: ignore[arg-type]
    with pytest.raises(ParseError, match="cannot read the file"):
        sqlrl.read_bias("nowhere.modes")


def test_a_bias_is_checked_against_the_predicates() -> None:
    bias = parse_bias(HEAD + "modeb(*, size(+a,-b)).\nmodeb(*, gt(+b,-b)).", source="t.modes")
    bias.check({"great": ("drug", "drug"), "size": ("drug", "value"), "gt": ("value", "value"), "other": ()})
    with pytest.raises(ModelError) as caught:
        bias.check({"Great": ("drug", "drug"), "size": ("drug",), "gt": ("value", "number")})
    assert str(caught.value) == (
        "the modes do not fit the predicates:\n"
        "  t.modes:1: there is no predicate 'great'; did you mean 'Great'?\n"
        "  t.modes:2: the mode of size has 2 places, but the predicate has 1 argument\n"
        "  t.modes:3: the type 'b' is 'number' in gt (argument 2) and 'value' in gt (argument 1): no constant is of both; "
        "give the two places different types, or load the two arguments with one type"
    )


# ---- files for SWI-Prolog ------------------------------------------------------------------------------------

MODES = """:- modeh(1,eastbound(+train)).
:- modeb(1,short(+car)).
:- modeb(*,has_car(+train,-car)).
:- determination(eastbound/1,short/1).
:- determination(eastbound/1,has_car/2).
:- aleph_set(i,2).
"""

SKIPPED = [
    ":- use_module(library(aleph)).\n",
    ":- if(current_predicate(use_rendering/1)).\n:- use_rendering(prolog).\n:- endif.\n",
    ":- if(\\+ current_predicate(foo/0)). :- elif((true, fail)). :- use_rendering(c3). :- else. :- endif.\n",
    ":- if(true).\n:- set_prolog_flag(double_quotes, codes).\n:- endif.\n",
    ":- if(fail).\n:- modeb(*, never(+car)).\n:- foo(X) :- bar.\n:- endif.\n",
    ":- aleph.\n",
    ":-style_check(-discontiguous).\n",
    ":- dynamic short/1, has_car/2.\n",
    "/** <examples>\n?- induce(Program).\n*/\n",
    "?- induce.\n",
    ":- aleph_set(verbosity, 0).\n",
    ":- aleph_read_all.\n",
    ":- initialization(main).\n",
]


@given(st.data())
def test_what_has_no_effect_is_skipped_wherever_it_stands(data: st.DataObject) -> None:
    lines = MODES.splitlines(keepends=True)
    for piece in data.draw(st.lists(st.sampled_from(SKIPPED), max_size=5)):
        lines.insert(data.draw(st.integers(0, len(lines))), piece)
    bias, plain = parse_bias("".join(lines)), parse_bias(MODES)
    settings = {name: value for name, value in bias.settings.items() if name != "verbosity"}
    assert (bias.head, bias.body, settings, bias.unknown) == (plain.head, plain.body, plain.settings, {})


NAMED = [
    # What has an effect in Aleph, and what the warning names.
    (":- commutative(add/3).\n", "no effect here: commutative in line 7"),
    ("\n:- ['more.pl'].\n:- positive_only(p/1).\n", r"no effect here: \[\.\.\.\] in line 8, positive_only in line 9"),
    (":- aleph_set(classes,[play,dont_play]).\n", "this setting of Aleph, so it has no effect here: classes"),
    (":- set(costs,[[a,1],['B c',-2.5]]).\n", "so it has no effect here: costs"),
    (":- if(flag).\n:- aleph_set(minpos, 3).\n:- endif.\n", "the first branch is read: flag in line 7 decides about line 8"),
    (":- if(flag).\n:- else.\n:- modeb(*,x(+car)).\n:- endif.\n", "flag in line 7 decides about line 9"),
    (":- if(false).\n:- elif(a, b).\n:- aleph_set(noise, 3).\n:- endif.\n", "a, b in line 7 decides about line 9"),
    (":-begin_bg.\nshort(car_12).\nx(0'a, `b`, \"\\q\") :- y, !.\n:- end_bg.\n:- begin_in_pos.\neastbound(e1).\n:-end_in_pos.\n", r"\(begin_bg in line 7, begin_in_pos in line 11\)"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "message"), NAMED, ids=[text for text, _ in NAMED])
def test_what_has_an_effect_is_named(text: str, message: str) -> None:
    with pytest.warns(BiasWarning, match=message) as caught:
        bias = parse_bias(MODES + text, source="t.pl")
    assert len(caught) == 1
    assert str(caught[0].message).startswith("t.pl: ")
    plain = parse_bias(MODES)
    assert (bias.head, bias.body) == (plain.head, plain.body)
    expected = {"aleph_set(minpos, 3)": {"minpos": 3}, "aleph_set(noise, 3)": {"noise": 3}}
    assert dict(bias.settings) == {"i": 2} | next((more for each, more in expected.items() if each in text), {})


def test_lists_of_settings_are_values_that_print() -> None:
    with pytest.warns(BiasWarning, match="classes, nothing"):
        bias = parse_bias(MODES + "set(classes, [play, 'Not play', [1, -2.5], true, []]). set(nothing, []).")
    assert bias.unknown == {"classes": ("play", "Not play", (1, -2.5), True, ()), "nothing": ()}
    with pytest.warns(BiasWarning):
        assert parse_bias(str(bias)) == bias


IDLE = [
    "use_module(library(lists))",
    "aleph",
    "set_prolog_flag(x, (a, b))",
    "write('a, b.'), nl",
    'format("~w~n", [a, [b]])',
    "foo(X, (bar, {baz}))",
]


@given(st.data())
def test_settings_in_lists_and_conjunctions_are_those_of_a_directive_each(data: st.DataObject) -> None:
    names = ["clauselength", "minpos", "noise", "nodes", "verbosity", "m"]
    wanted = data.draw(st.dictionaries(st.sampled_from(names), st.integers(1, 99), min_size=1))
    goals, rest = [], list(wanted.items())
    while rest:
        size = data.draw(st.integers(0, len(rest)))
        part, rest = rest[:size], rest[size:]
        items = [
            data.draw(st.sampled_from(["{}({})", "{} = {}", "{}-{}", "set({}, {})"])).format(*each) for each in part
        ]
        goals.append(f"{data.draw(st.sampled_from(['set', 'aleph_set']))}([{', '.join(items)}])")
        if rest:
            name, value = rest.pop(0)
            goals.append(f"aleph_set({name}, {value})")
        if data.draw(st.booleans()):
            goals.insert(0, data.draw(st.sampled_from(IDLE[:-1])))
    # Behind a goal without effect others may follow that are Prolog's alone.
    idle = goals[0] in IDLE
    if idle:
        goals.insert(1, IDLE[-1])
    cut = data.draw(st.integers(1 + idle, len(goals)))
    text = "".join(f":- {', '.join(part)}.\n" for part in (goals[:cut], goals[cut:]) if part)
    assert dict(parse_bias(MODES + text).settings) == {"i": 2, **wanted}


LISTS = [
    ("set(i,[2])", "7:9: i is [2]: expected one value without brackets, as set(i,2)"),
    ("aleph_set(noise, [1, 2])", "noise is [1, 2]: expected one value without brackets"),
    ("set(evalfn, [coverage])", "expected one value without brackets, as set(evalfn,coverage)"),
    ("set(minpos, [[3]])", "minpos is [[3]]: expected one value without brackets"),
    ("set([minpos(0)])", "7:15: minpos is 0: expected"),
    ("set([noise])", "expected the value of noise: each setting of a list is i(2) or i = 2, found ']'"),
    ("set([noise(1, 2)])", "each setting of a list is i(2) or i = 2, found ','"),
    ("set([3])", "expected each setting of a list is i(2) or i = 2, found '3'"),
    ("set([noise = 3, noise = 4])", "line 7 sets noise to 3: expected one value"),
    ("set(noise, 3), foo(x)", "7:18: there is no directive 'foo'"),
    ("set(noise, 3); set(minpos, 2)", "expected '.' and a blank or the end of the line, found ';'"),
]


@pytest.mark.parametrize(("text", "message"), LISTS, ids=[text for text, _ in LISTS])
def test_a_list_that_is_no_value_says_what_to_write(text: str, message: str) -> None:
    with pytest.raises(ParseError) as caught:
        parse_bias(f"{MODES}:-{text}.")
    assert message in str(caught.value)


def test_a_list_given_to_a_setting_without_effect_is_named() -> None:
    with pytest.warns(BiasWarning, match="has no effect here: verbosity"):
        bias = parse_bias(MODES + ":- aleph_set(verbosity, [1]), dynamic a/1, b/2.\n:- aleph_set([]).")
    assert (dict(bias.settings), bias.unknown) == ({"i": 2}, {"verbosity": (1,)})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (":- endif.\n", "7:4: ':- endif' has no ':- if' before it"),
        (":- else.\n", "7:4: ':- else' has no ':- if' before it"),
        (":- if(a).\n:- if(b).\n:- endif.\n", "7:4: this ':- if' does not end: expected ':- endif.'"),
        (":- begin_bg.\nshort(c1).\n", "7:1: this section does not end: expected ':- end_bg.'"),
        (":- begin_bg.\n:- end_bg.\nshort(c1).\n", "9:1: there is no directive 'short'"),
        (":- render(prolog).\n", "7:4: there is no directive 'render'"),
        ("show(a, b).\n", "7:1: there is no directive 'show'"),
        (":- set(classes, [a, X(1)]).\n", "7:22: expected ',' or ']', found '('"),
    ],
)
def test_faults_of_the_frame_are_shown_in_their_line(text: str, message: str) -> None:
    with pytest.raises(ParseError) as caught:
        parse_bias(MODES + text)
    assert message in str(caught.value)
