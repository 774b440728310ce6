"""Mappings of predicates: texts and what they say, faults with their places, and legal mappings against enumeration."""

from __future__ import annotations

import pickle
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sqlrl
from sqlrl.errors import InputError, ModelError, ParseError
from sqlrl.logic.mapping import (
    ConstantPair,
    PredicateMapping,
    PredicatePair,
    count_legal_mappings,
    legal_mappings,
)
from sqlrl.logic.mapping_parser import parse_mapping, read_mapping
from sqlrl.logic.mln import parse_mln
from sqlrl.logic.terms import Argument, Predicate
from tests.effort import draws

SOURCE = parse_mln(
    "student(person)\nprofessor(person)\nadvisedBy(person, person)\npublication(title, person)\n"
    "inPhase(person, phase)\ntaughtBy(course, person, season)\nquiet()"
).predicates
TARGET = parse_mln(
    "actor(person)\ndirector(person)\nworkedUnder(person, person)\nmovie(movie, person)\n"
    "gender(person, gender)\nplays(person, movie)\nloud()\ncast(movie, person, role)"
).predicates


# ---- texts -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "predicates", "constants"),
    [
        ("student -> actor", {"student": "actor"}, {}),
        ("student->actor", {"student": "actor"}, {}),
        ("Student(person)\t->  Actor( person )", {"Student": "Actor"}, {}),
        ("p(a, b!) -> q", {"p": "q"}, {}),
        ("quiet() -> loud()", {"quiet": "loud"}, {}),
        ("\n# all of it\n\np -> None // no\nq -> r # yes -> no\n/* s ->\n t */ u -> v", {"p": None, "q": "r", "u": "v"}, {}),
        ("p -> q\r\nr -> s\r\n", {"p": "q", "r": "s"}, {}),
        ("p -> q\nt = {A -> B}", {"p": "q"}, {("t", "A"): "B"}),
        ("t = {A -> B}\np -> q\nt = {C -> B}", {"p": "q"}, {("t", "A"): "B", ("t", "C"): "B"}),
        ("p -> q\nt = {\n A -> B, # first\n 3\n -> -7\n , \"None\" -> None }", {"p": "q"}, {("t", "A"): "B", ("t", "3"): "-7", ("t", "None"): None}),
        ('p -> q\nt = {"a # b" -> "//", "say \\"hi\\"" -> low}', {"p": "q"}, {("t", "a # b"): "//", ("t", 'say "hi"'): "low"}),
        # Predicates and types have names of their own.
        ("genre -> genre\ngenre = {Drama -> Comedy}", {"genre": "genre"}, {("genre", "Drama"): "Comedy"}),
    ],
)  # fmt: skip
def test_what_a_text_says(text: str, predicates: dict[str, str | None], constants: dict[tuple[str, str], str]) -> None:
    mapping = parse_mapping(text)
    assert mapping.targets == predicates
    assert mapping.constant_targets == constants
    assert parse_mapping(str(mapping)) == mapping


def test_a_text_and_dicts_say_the_same() -> None:
    mapping = PredicateMapping({"p": "q", "r": None}, {"t": {"A": "B", "C": None}, "u": {"1": "2"}})
    assert parse_mapping("p(t) -> q(v)\nr -> None\nt = {A -> B}\nu = {1 -> 2}\nt = {C -> None}") == mapping
    assert str(mapping) == "p -> q\nr -> None\n\nt = {A -> B, C -> None}\n\nu = {1 -> 2}\n"
    assert hash(mapping) == hash(parse_mapping(str(mapping)))
    assert pickle.loads(pickle.dumps(mapping)) == mapping
    assert mapping != PredicateMapping({"p": "q"}, {"t": {"A": "B"}})


def test_a_long_list_of_constants_has_a_line_for_each() -> None:
    mapping = PredicateMapping({"p": "q"}, {"t": {f"Constant{i}": f"Counterpart{i}" for i in range(4)}})
    lines = str(mapping).splitlines()
    assert lines[2:4] == ["t = {", "  Constant0 -> Counterpart0,"]
    assert lines[-1] == "}"
    assert parse_mapping(str(mapping)) == mapping


def test_a_file_is_read_and_named_in_errors(tmp_path: Path) -> None:
    path = tmp_path / "uw-imdb.mapping"
    path.write_text("student -> actor  # ä\n", encoding="utf-8")
    assert sqlrl.read_mapping(path) == sqlrl.parse_mapping("student -> actor")
    path.write_text("student -> actor\nstudent => actor\n")
    with pytest.raises(ParseError, match=r"uw-imdb\.mapping:2:9: expected '->'"):
        read_mapping(path)
    with pytest.raises(ParseError, match="cannot read the file"):
        read_mapping(tmp_path / "absent.mapping")


IDENTIFIERS = st.from_regex(r"[^\W\d]\w{0,5}", fullmatch=True).filter(lambda name: name != "None")
CONSTANTS = st.one_of(
    st.sampled_from(["None", "A", "-3", "007", 'a"b\\', "# x", "//", "}", "new\nline"]), st.text(max_size=5)
)


@st.composite
def mappings(draw: st.DrawFn) -> PredicateMapping:
    """Mappings with and without the types of arguments, and constants of several types."""
    sources = draw(st.lists(IDENTIFIERS, unique=True, min_size=1, max_size=4))
    targets = draw(st.lists(IDENTIFIERS, unique=True, min_size=len(sources), max_size=len(sources)))
    types = st.none() | st.lists(IDENTIFIERS, max_size=3).map(tuple)
    pairs = []
    for source, target in zip(sources, targets, strict=True):
        with_target = draw(st.booleans())
        pairs.append(
            PredicatePair(source, target if with_target else None, draw(types), draw(types) if with_target else None)
        )
    named = draw(st.lists(st.tuples(IDENTIFIERS, CONSTANTS), unique=True, max_size=5))
    return PredicateMapping(pairs, [ConstantPair(kind, name, draw(st.none() | CONSTANTS)) for kind, name in named])


@settings(max_examples=draws(150))
@given(mappings())
def test_what_is_printed_is_read_again(mapping: PredicateMapping) -> None:
    again = parse_mapping(str(mapping))
    assert again == mapping
    assert str(again) == str(mapping)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "<text>: the mapping has no predicate: expected some, as student -> actor"),
        ("# nothing\n", "<text>: the mapping has no predicate: expected some, as student -> actor"),
        ("t = {A -> B}", "<text>: the mapping has no predicate: expected some, as student -> actor"),
        (
            "student => actor",
            ("<text>:1:9: expected '->' and the target predicate, or '=' and constants in braces, found '=>'\n"
            "  student => actor\n          ^"),
        ),
        ("p(t) q", "<text>:1:6: expected '->' and the target predicate, found 'q'\n  p(t) q\n       ^"),
        ("p ->\nq", "<text>:1:5: expected a target predicate, or None, found the end of the line\n  p ->\n      ^"),
        ("p -> q r", "<text>:1:8: expected the end of the line, found 'r'\n  p -> q r\n         ^"),
        ("p -> None(t)", "<text>:1:10: expected the end of the line, found '('\n  p -> None(t)\n           ^"),
        ("p(t -> q", "<text>:1:5: expected ',' or ')', found '->'\n  p(t -> q\n      ^"),
        ('p("t") -> q', "<text>:1:3: expected the type of an argument, as it is declared, found the string 't'\n  p(\"t\") -> q\n    ^"),
        (
            '"New York" -> Paris',
            ("<text>:1:1: expected a predicate, as in 'student -> actor', or a type with its constants, as in 'position = {Faculty -> Lead}', "
            "found the string 'New York'\n  \"New York\" -> Paris\n  ^"),
        ),
        (
            "student = actor",
            ("<text>:1:11: expected '{' and the constants of the type, as in 'position = {Faculty -> Lead}', found 'actor'\n"
            "  student = actor\n            ^"),
        ),
        ("p -> q\nt = {}", "<text>:2:5: the type t has no constants: leave it out\n  t = {}\n      ^"),
        ("t = {A -> B", "<text>:1:5: this '{' is never closed: expected '}' after the constants\n  t = {A -> B\n      ^"),
        ("t = {A ->\n", "<text>:1:5: this '{' is never closed: expected '}' after the constants\n  t = {A ->\n      ^"),
        ("t = {A B}", "<text>:1:8: expected '->' and the constant of the target, found 'B'\n  t = {A B}\n         ^"),
        ("t = {A -> B C -> D}", "<text>:1:13: expected ',' or '}', found 'C'\n  t = {A -> B C -> D}\n              ^"),
        ("t = {A -> (}", "<text>:1:11: expected a constant of the target, or None, found '('\n  t = {A -> (}\n            ^"),
        (
            "t = {1.5 -> 2}",
            "<text>:1:6: expected a constant of the type t: an integer, not 1.5; quote it to use it as a name\n  t = {1.5 -> 2}\n       ^",
        ),
        (
            "t = {None -> A}",
            ("<text>:1:6: None is the word for no counterpart: a target constant that stands for none is left out; a constant of that name is "
            'written "None"\n  t = {None -> A}\n       ^'),
        ),
        ("p -> q é$", "<text>:1:8: expected the end of the line, found 'é'\n  p -> q é$\n         ^"),
        ("p -> `q", "<text>:1:6: unexpected character '`'; quote a constant with such characters\n  p -> `q\n       ^"),
        ('t = {"A -> B}', "<text>:1:6: this string does not end: expected '\"' on the same line\n  t = {\"A -> B}\n       ^"),
    ],
)  # fmt: skip
def test_what_does_not_parse(text: str, message: str) -> None:
    with pytest.raises(ParseError) as caught:
        parse_mapping(text)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "p -> q\n\np -> r",
            "<text>:3:1: p is mapped already in line 1: a predicate has one counterpart\n  p -> r\n  ^",
        ),
        (
            "a -> q\nb -> q\nc -> q\na -> None",
            ("<text>:2:1: q is already the counterpart of a in line 1: map one of a and b to another predicate or to None\n  b -> q\n  ^\n"
            "<text>:3:1: q is already the counterpart of a in line 1: map one of a and c to another predicate or to None\n  c -> q\n  ^\n"
            "<text>:4:1: a is mapped already in line 1: a predicate has one counterpart\n  a -> None\n  ^"),
        ),
        (
            "None -> q",
            ("<text>:1:1: 'None' is no predicate but the word for no counterpart: a target predicate that stands for none needs no line\n"
            "  None -> q\n  ^"),
        ),
        (
            "p -> q\nt = {A -> B,\n A -> C}",
            "<text>:3:2: A of the type t is mapped already in line 2: a constant has one counterpart\n   A -> C}\n   ^",
        ),
        (
            "p' -> q\nr -> s",
            "<text>:1:1: \"p'\" cannot be the name of a predicate: a name is a letter and then letters, digits and underscores\n  p' -> q\n  ^",
        ),
    ],
)  # fmt: skip
def test_texts_that_contradict_themselves(text: str, message: str) -> None:
    with pytest.raises(ModelError) as caught:
        parse_mapping(text)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("predicates", "constants", "kind", "message"),
    [
        ({"a": "q", "b": "q"}, {}, ModelError, "q is already the counterpart of a: map one of a and b to another predicate or to None"),
        ({"a": "None"}, {}, ModelError, "'None' is no predicate but the word for no counterpart of a: write None without quotes"),
        ({"a b": "q"}, {}, ModelError, "'a b' cannot be the name of a predicate: a name is a letter and then letters, digits and underscores"),
        ({"a": ""}, {}, ModelError, "'' cannot be the name of a predicate: a name is a letter and then letters, digits and underscores"),
        ({"a": "b"}, {"1": {"A": "B"}}, ModelError, "'1' cannot be the name of a type: a name is a letter and then letters, digits and underscores"),
        ({"a": 1}, {}, InputError, "a mapping has 1 as the counterpart of a: give a name, or None"),
        ({None: "a"}, {}, InputError, "a mapping has None as a predicate: give its name"),
        ("a -> b", {}, InputError, "the predicates of a mapping are 'a -> b': give a dict, as {'student': 'actor'}"),
        ([("a", "b")], {}, InputError, "the predicates of a mapping have ('a', 'b'): give a dict, as {'student': 'actor'}"),
        ({"a": "b"}, {"A": "B"}, InputError, "the constants of the type A are 'B': give a dict, as {'position': {'Faculty': 'Lead'}}"),
        ({"a": "b"}, {"t": {"A": 3}}, InputError, "a mapping has 3 as the counterpart of A: give a name, or None"),
    ],
)  # fmt: skip
def test_dicts_that_are_no_mapping(predicates: object, constants: object, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind) as caught:
        PredicateMapping(predicates, constants)  # type: ignore[arg-type]
    assert str(caught.value) == message


def test_half_a_character_is_refused() -> None:
    with pytest.raises(InputError, match="half a character"):
        PredicateMapping({"a": "b"}, {"t": {"caf\udce9": "B"}})


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"a": "b"}, "make one of a dict with PredicateMapping"),
        ("uw-imdb.mapping", "read files with read_mapping"),
    ],
)
def test_something_else_than_a_text(given: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        parse_mapping(given)  # type: ignore[arg-type]


# ---- against declarations --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "types"),
    [
        ("student -> actor", {"person": "person"}),
        ("publication -> movie\nstudent -> actor", {"title": "movie", "person": "person"}),
        ("publication(title, person) -> movie(movie, person)", {"title": "movie", "person": "person"}),
        ("inPhase -> gender\nstudent -> None", {"person": "person", "phase": "gender"}),
        # Two types may have one image.
        ("publication -> workedUnder", {"title": "person", "person": "person"}),
        ("quiet -> loud\ntaughtBy -> None\ncourse = {Ai -> B}", {}),
        ("student -> None", {}),
    ],
)
def test_the_types_that_a_mapping_implies(text: str, types: dict[str, str]) -> None:
    assert parse_mapping(text).types(SOURCE, TARGET) == types


CLASH = "a type has one counterpart, so map one of the two to another predicate or to None"


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        ("studnt -> actor", ["1:1: there is no source predicate 'studnt'; did you mean 'student'?"]),
        ("advisedby -> workedunder", [
            "1:1: there is no source predicate 'advisedby'; did you mean 'advisedBy'?",
            "1:1: there is no target predicate 'workedunder'; did you mean 'workedUnder'?",
        ]),
        ("student -> xyz", [
            "1:1: there is no target predicate 'xyz': the target declares actor, director, workedUnder, movie, gender, plays, loud, cast",
        ]),
        ("student -> none", ["1:1: there is no target predicate 'none': write None for no counterpart"]),
        ("student -> movie", ["1:1: student has 1 argument, and movie has 2: map it to a predicate with as many, or to None"]),
        ("taughtBy -> loud", ["1:1: taughtBy has 3 arguments, and loud has 0: map it to a predicate with as many, or to None"]),
        ("student(X) -> actor(X)", [
            "1:1: student(X) is declared as student(person): write the types as declared, or the name alone",
            "1:1: actor(X) is declared as actor(person): write the types as declared, or the name alone",
        ]),
        ("student(person, person) -> None", [
            "1:1: student(person, person) is declared as student(person): write the types as declared, or the name alone",
        ]),
        ("student -> actor\npublication -> plays", [
            (f"2:1: publication(title, person) -> plays(person, movie) maps the type person to movie, but student(person) -> actor(person) maps it "
            f"to person: {CLASH}"),
        ]),
        ("advisedBy -> plays", [
            ("1:1: advisedBy(person, person) -> plays(person, movie) maps the type person to person and to movie: a type has one counterpart, so "
            "map advisedBy to another predicate or to None"),
        ]),
        # What a faulty pair says of other types makes no right pair look faulty.
        ("student -> actor\ntaughtBy -> cast\npublication -> plays\ninPhase -> gender", [
            (f"3:1: publication(title, person) -> plays(person, movie) maps the type person to movie, but student(person) -> actor(person) maps it "
            f"to person: {CLASH}"),
        ]),
        ("student -> actor\nphase = {A -> B}\nphaze = {A -> B, C -> D}\nzzz = {A -> B}", [
            "3:1: there is no source type 'phaze'; did you mean 'phase'?",
            "4:1: there is no source type 'zzz': the source declares person, title, phase, course, season",
        ]),
        ("nope -> actor\nstudent -> gender\nprofessor -> director", [
            "1:1: there is no source predicate 'nope': the source declares student, professor, advisedBy, publication, inPhase, taughtBy, quiet",
            "2:1: student has 1 argument, and gender has 2: map it to a predicate with as many, or to None",
        ]),
    ],
)  # fmt: skip
def test_mappings_that_do_not_fit_say_all_that_is_wrong(text: str, faults: list[str]) -> None:
    with pytest.raises(ModelError) as caught:
        parse_mapping(text, "a.mapping").types(SOURCE, TARGET)
    lines = str(caught.value).splitlines()
    assert lines[::3] == [f"a.mapping:{fault}" for fault in faults]
    shown = [text.splitlines()[int(fault.split(":")[0]) - 1] for fault in faults]
    assert lines[1::3] == [f"  {line}" for line in shown]


def test_faults_of_dicts_have_no_place() -> None:
    with pytest.raises(ModelError) as caught:
        PredicateMapping({"studnt": "actor", "student": "movie"}).types(SOURCE, TARGET)
    assert str(caught.value) == (
        "there is no source predicate 'studnt'; did you mean 'student'?\n"
        "student has 1 argument, and movie has 2: map it to a predicate with as many, or to None"
    )


@pytest.mark.parametrize(
    ("text", "inverse"),
    [
        ("student(person) -> actor\nprofessor -> None", "actor -> student(person)\n"),
        (
            "inPhase -> gender\nphase = {Pre -> Male, Post -> None, Quals -> Female}\ncourse = {A -> B}",
            "gender -> inPhase\n\ngender = {Male -> Pre, Female -> Quals}\n",
        ),
    ],
)
def test_inverses(text: str, inverse: str) -> None:
    back = parse_mapping(text).inverse(SOURCE, TARGET)
    assert str(back) == inverse
    again = back.inverse(TARGET, SOURCE)
    assert again.targets == {k: v for k, v in parse_mapping(text).targets.items() if v is not None}


def test_merged_constants_have_no_inverse() -> None:
    mapping = parse_mapping("inPhase -> gender\nphase = {Pre -> Male,\nPost -> Male}")
    with pytest.raises(ModelError) as caught:
        mapping.inverse(SOURCE, TARGET)
    assert str(caught.value) == (
        "<text>:3:1: the constants Pre and Post are both mapped to Male, which therefore has no counterpart in the inverse: map one of "
        "them to None\n  Post -> Male}\n  ^"
    )
    with pytest.raises(ModelError, match="no source predicate"):
        parse_mapping("x -> actor").inverse(SOURCE, TARGET)


# ---- legal mappings --------------------------------------------------------------------------------------------


def declarations(prefix: str, types: str) -> st.SearchStrategy[dict[str, Predicate]]:
    """A few predicates of up to three arguments of a few types."""
    arguments = st.lists(st.sampled_from(types), max_size=3)
    return st.lists(arguments, min_size=1, max_size=6).map(
        lambda found: {f"{prefix}{i}": Predicate(f"{prefix}{i}", tuple(map(Argument, a))) for i, a in enumerate(found)}
    )


def is_legal(
    names: list[str], targets: tuple[str, ...], source: dict[str, Predicate], target: dict[str, Predicate]
) -> bool:
    """Whether targets are all different and have as many arguments, and their types are a function of those of the source."""
    types = [(source[s].types, target[t].types) for s, t in zip(names, targets, strict=True)]
    if len(set(targets)) < len(targets) or any(len(a) != len(b) for a, b in types):
        return False
    pairs = {pair for a, b in types for pair in zip(a, b, strict=True)}
    return len(pairs) == len({kind for kind, _ in pairs})


@settings(max_examples=draws(300))
@given(declarations("s", "abc"), declarations("t", "xyz"), st.data())
def test_legal_mappings_are_those_of_all_functions_that_are_legal(
    source: dict[str, Predicate], target: dict[str, Predicate], data: st.DataObject
) -> None:
    names = data.draw(st.lists(st.sampled_from(sorted(source)), unique=True, max_size=4))
    every = [t for t in product(target, repeat=len(names)) if is_legal(names, t, source, target)]
    found = list(legal_mappings([*names, *names[:1]], source, target))
    assert [tuple(mapping.targets.items()) for mapping in found] == [tuple(zip(names, t, strict=True)) for t in every]
    for mapping in found:
        mapping.types(source, target)
    for most in (0, 1, len(every), len(every) + 1):
        assert count_legal_mappings(names, source, target, most) == min(most, len(every))


def test_they_come_one_by_one() -> None:
    many = {f"p{i}": Predicate(f"p{i}", (Argument("t"),)) for i in range(30)}
    first = next(legal_mappings(many, many, many))
    assert first.targets == {name: name for name in many}
    assert count_legal_mappings(many, many, many, 100) == 100


def test_too_few_targets_are_seen_before_they_are_tried() -> None:
    source = {f"p{i}": Predicate(f"p{i}", (Argument("t"),)) for i in range(25)}
    assert count_legal_mappings(source, source, dict(list(source.items())[1:]), 1) == 0
    # Once the first predicate says what the type is, the others have as many counterparts as they are, or one fewer.
    targets = {f"q{i}": Predicate(f"q{i}", (Argument("ab"[i % 2]),)) for i in range(49)}
    assert count_legal_mappings(source, source, targets, 100) == 100
    assert all(
        set(mapping.targets.values()) <= set(list(targets)[::2])
        for mapping, _ in zip(legal_mappings(source, source, targets), range(100), strict=False)
    )


def test_unknown_predicates_are_refused_at_once() -> None:
    with pytest.raises(
        ModelError,
        match=r"^there is no source predicate 'studnt'; did you mean 'student'\?\nthere is no source predicate 'q'",
    ):
        legal_mappings(["studnt", "q"], SOURCE, TARGET)
    with pytest.raises(ModelError, match="no source predicate"):
        count_legal_mappings(["q"], SOURCE, TARGET, 10)
    assert [mapping.targets for mapping in legal_mappings([], SOURCE, TARGET)] == [{}]
