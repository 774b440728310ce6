"""Saving and loading models."""

from __future__ import annotations

import dataclasses
import json
import math
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sqlrl.errors import InputError, ModelError, ParseError, SqlrlError
from sqlrl.logic.expansions import expand, fill
from sqlrl.logic.files import model_from_json, models_equal, parse_model, read_model
from sqlrl.logic.formulas import parse_formula
from sqlrl.logic.mln import parse_mln, read_mln
from sqlrl.logic.model import Expansions, Model, Rule
from sqlrl.logic.printer import format_formula, format_model
from sqlrl.logic.saving import model_to_json, save_model
from sqlrl.logic.terms import And, Argument, Atom, Predicate, Variable
from sqlrl.resources import resource, resource_names
from tests.effort import draws
from tests.logic.worlds import PREDICATES, formulas

SMALL = parse_mln(
    "t = {A, B}\nP(t)\n*Q(t, u!)\nRain\n0.1 P(x)\nP(A).\nQ(x, y) v Rain\n*P(x) ^ Rain\n@0.5 Rain", query=["P"]
)
W, F = Variable("w", plus=True), Variable("f", plus=True)


def template(rows=(("a", "F1"), ('x"\n', "F2")), weights=(0.1, -2.5)) -> Model:
    rule = Rule(And((Atom("Q", (W, F)), Atom("P", (W,)))), expansions=Expansions(("w", "f"), rows, weights))
    return Model(
        {"Q": Predicate("Q", (Argument("w"), Argument("f"))), "P": Predicate("P", (Argument("w"),))}, rules=(rule,)
    )


@pytest.mark.parametrize("ending", [".mln", ".json"])
@pytest.mark.parametrize("model", [SMALL, template(), Model({}), parse_mln("P(t)\n1 P(x)", semantics="alchemy")])
def test_models_load_to_equal_models(tmp_path, model, ending):
    path = tmp_path / f"m{ending}"
    save_model(model, path)
    assert models_equal(read_model(path), model)
    first = path.read_bytes()
    save_model(read_model(path), path)
    assert path.read_bytes() == first


def test_json_keeps_templates(tmp_path):
    save_model(template(), tmp_path / "m.json")
    assert read_model(tmp_path / "m.json") == template()


def test_mln_holds_each_clause(tmp_path):
    save_model(template(), tmp_path / "m.mln")
    header, _, text = (tmp_path / "m.mln").read_text().partition("\n")
    assert '"formula": "Q(+w, +f) ^ P(+w)"' in header
    assert text == 'Q(w, f)\nP(w)\n\n0.1 Q("a", F1) ^ P("a")\n-2.5 Q("x\\"\\n", F2) ^ P("x\\"\\n")\n'


@pytest.mark.parametrize("learned", [True, False])
@pytest.mark.parametrize("rows", [(("a", "F1"), ('x"\n', "F2")), (("a", "b"),), ()])
def test_mln_keeps_templates_and_where_the_weights_came_from(tmp_path, rows, learned):
    first = parse_mln("Q(w, f)\nP(w)\n1 P(x)\nP(A).\n2 Q(x, y)").rules
    known = template(rows, tuple(float(i) for i in range(len(rows))))
    model = dataclasses.replace(known.with_rules((*first[:2], *known.rules, first[2])), learned=learned)
    for name in ("m.mln", "m.json"):
        save_model(model, tmp_path / name)
        found = read_model(tmp_path / name)
        assert found == model
        assert found.learned == learned


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("0.1 Q(", "1 P(c)\n0.1 Q("),
        ('P("a")', "P(b)"),
        ('"clauses": 2', '"clauses": 3'),
        ("0.1 Q", "Q"),
        ('"rule": 0, ', ""),
    ],
)
def test_mln_that_was_changed_by_hand_says_how_to_go_on(tmp_path, old, new):
    path = tmp_path / "m.mln"
    save_model(template(), path)
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(ParseError, match=r'm\.mln: the first line does not fit the rules: .* remove "templates"'):
        read_model(path)
    path.write_text(text.replace("{", "{,", 1))
    with pytest.raises(ParseError, match=r"m\.mln:1:11: .*mend the first line or remove it"):
        read_model(path)
    path.write_text(text.replace("-2.5", "7"))
    assert read_model(path).rules[0].expansions.weights == (0.1, 7.0)


def test_expand_checks_its_rows():
    with pytest.raises(ModelError, match="do not fit"):
        expand(template(rows=(("a",), ("b",))))
    assert len(expand(template()).rules) == 2
    assert models_equal(expand(template()), template())


@pytest.mark.parametrize("quantifier", ["EXIST", "FORALL"])
def test_constants_leave_quantified_variables_of_the_same_name(quantifier: str) -> None:
    formula = parse_formula(f"P(x) v ({quantifier} x (Q(x, y) ^ ({quantifier} y Q(y, x))))")
    expected = parse_formula(f"P(A) v ({quantifier} x (Q(x, B) ^ ({quantifier} y Q(y, x))))")
    assert format_formula(fill(formula, {"x": "A", "y": "B"})) == format_formula(expected)


@given(formulas(), st.floats(allow_nan=False, allow_infinity=False), st.booleans())
def test_any_formula_and_weight_are_kept(formula, weight, fixed):
    predicates = {name: Predicate(name, tuple(map(Argument, types))) for name, types in PREDICATES.items()}
    model = Model(predicates, rules=(Rule(formula, weight, fixed=fixed),))
    try:
        again = model_from_json(json.loads(json.dumps(model_to_json(model))))
    except ModelError as error:  # a quantified variable that is not used, or without a type
        assert "occurs" in str(error)  # noqa: PT017
        return
    assert again == model
    assert math.copysign(1, again.rules[0].weight or 0) == math.copysign(1, weight)


@given(st.lists(st.tuples(st.text(), st.text()), max_size=4))
def test_any_name_is_kept(rows):
    model = template(rows=tuple(rows), weights=(1.0,) * len(rows))
    assert model_from_json(json.loads(json.dumps(model_to_json(model)))) == model


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"version": 6}, "the model has version 6, and this sqlrl reads up to 5: upgrade sqlrl"),
        ({"version": 3}, "does not fit its schema at $.version"),
        ({"semantics": "soft"}, "is a program of probabilistic soft logic: read it with sqlrl.read_psl"),
        ({"version": "1"}, "does not fit its schema at $.version"),
        ({"rules": [{"formula": 3}]}, "does not fit its schema at $.rules[0].formula"),
        ({"rules": [{"formula": "P(x) |"}]}, "expected 'v' for or"),
        ({"rules": [{"formula": "P(x)", "weight": 1, "hard": True}]}, "is hard and has a weight"),
        ({"extra": 1}, "does not fit its schema at $"),
    ],
)
def test_damaged_json(change, message):
    with pytest.raises((ParseError, ModelError)) as caught:
        model_from_json({**model_to_json(SMALL), **change}, path="m.json")
    assert "m.json" in str(caught.value)
    assert message in str(caught.value)


def test_damaged_files(tmp_path):
    (tmp_path / "m.json").write_text('{"version": 1,\n "x" 2}')
    with pytest.raises(ParseError, match=r"m.json:2:6: Expecting ':' delimiter"):
        read_model(tmp_path / "m.json")
    with pytest.raises(ParseError, match="cannot read"):
        read_model(tmp_path / "none.json")
    for action in (lambda: read_model("m.txt"), lambda: save_model(SMALL, "m.txt")):
        with pytest.raises(ModelError, match=r"ends in .mln or .json"):
            action()


@pytest.mark.parametrize("weight", [math.inf, math.nan])
def test_weights_that_are_not_finite_are_refused(tmp_path, weight):
    with pytest.raises(ModelError, match="is not finite"):
        save_model(Model({"P": Predicate("P", ())}, rules=(Rule(Atom("P", ()), weight),)), tmp_path / "m.json")
    with pytest.raises(ModelError, match="is not finite"):
        save_model(template(weights=(weight, 0.0)), tmp_path / "m.mln")
    assert not list(tmp_path.iterdir())


def test_resources():
    assert "model.schema.json" in resource_names("schemas")
    assert json.loads(resource("schemas", "model.schema.json"))["title"]
    with pytest.raises(ValueError, match="unknown kind"):
        resource_names("data")
    with pytest.raises(ValueError, match="there is no 'none'"):
        resource("schemas", "none")


def kept(weight="1.0", weights="[0.5]") -> str:
    rule = f'{{"formula": "P(x)", "weight": {weight}}}'
    template = f'{{"formula": "P(+x)", "expansions": {{"variables": ["x"], "rows": [["A"]], "weights": {weights}}}}}'
    predicates = '[{"name": "P", "arguments": [{"type": "t"}]}]'
    head = '"version": 1, "semantics": "exact", "query": [], "types": {}'
    return f'{{{head}, "predicates": {predicates}, "rules": [{rule}, {template}]}}'


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999", "1" + "0" * 400])
def test_kept_weights_that_are_not_finite_are_refused(tmp_path, number):
    path = tmp_path / "m.json"
    path.write_text(kept())
    assert len(read_model(path).rules) == 2
    path.write_text(kept(weight=number))
    with pytest.raises(
        ModelError, match=r"m\.json: the weight -?(nan|inf) of the rule P\(x\) is not finite: write a number"
    ):
        read_model(path)
    path.write_text(kept(weights=f"[{number}]"))
    with pytest.raises(ModelError, match=r"m\.json: the weight -?(nan|inf) of the rule P\(\+x\) with A is not finite"):
        read_model(path)


def test_what_cannot_be_written_is_named(tmp_path):
    with pytest.raises(
        InputError, match=r"none/m\.mln cannot be written: there is no directory .*none\. Create it first\.$"
    ):
        save_model(SMALL, tmp_path / "none" / "m.mln")
    (tmp_path / "m.json").mkdir()
    with pytest.raises(InputError, match=r"m\.json cannot be written: "):
        save_model(SMALL, tmp_path / "m.json")
    assert [p.name for p in tmp_path.iterdir()] == ["m.json"]


def test_an_interrupt_leaves_the_old_model_whole(tmp_path, monkeypatch):
    path = tmp_path / "m.mln"
    save_model(SMALL, path)
    path.chmod(0o640)
    (tmp_path / "link.mln").symlink_to(path)

    def interrupted(self, target):
        assert self.stat().st_size
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", interrupted)
        with pytest.raises(KeyboardInterrupt):
            save_model(template(), path)
    assert models_equal(read_model(path), SMALL)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["link.mln", "m.mln"]
    save_model(template(), tmp_path / "link.mln")
    assert models_equal(read_model(path), template())
    assert (tmp_path / "link.mln").is_symlink()
    assert path.stat().st_mode & 0o777 == 0o640


def test_a_saved_model_is_not_read_with_another_meaning(tmp_path: Path) -> None:
    model = parse_mln("H(t)\nS(t)\n1 H(x) <=> S(x)", query=["H"], semantics="alchemy")
    path = tmp_path / "saved.mln"
    model.save(path)
    with pytest.raises(ModelError, match=r"saved.mln was saved with semantics='alchemy', not 'exact': leave it out"):
        read_mln(path, semantics="exact")
    with pytest.raises(ModelError, match="<text> was saved with semantics='alchemy'"):
        parse_mln(path.read_text(encoding="utf-8"), semantics="exact")
    for found in (
        read_model(path),
        read_mln(path),
        parse_mln(path.read_text(encoding="utf-8")),
        read_mln(path, query=["S"]),
    ):
        assert found.semantics == "alchemy"
        assert models_equal(dataclasses.replace(found, query=frozenset({"H"})), model)


def test_templates_are_read_back_wherever_a_saved_model_is_read(tmp_path: Path) -> None:
    """Also by `read_mln`, which the README names: their clauses one by one would be thousands of shapes. Not under other names."""
    model, path = template(), tmp_path / "m.mln"
    model.save(path)
    text = path.read_text(encoding="utf-8")
    for found in (read_mln(path), parse_mln(text), parse_model(text), read_model(path)):
        assert models_equal(found, model)
        assert [rule.expansions is not None for rule in found.rules] == [r.expansions is not None for r in model.rules]
    renamed = read_mln(path, fold_case=True)
    assert all(rule.expansions is None for rule in renamed.rules)
    assert len(renamed.rules) > len(model.rules)


def test_the_first_line_counts_after_a_byte_order_mark_and_in_an_included_model(tmp_path: Path) -> None:
    parse_mln("H(t)\nS(t)\n1 H(x) <=> S(x)", query=["H"], semantics="alchemy", learned=True).save(tmp_path / "m.mln")
    (tmp_path / "marked.mln").write_bytes(b"\xef\xbb\xbf" + (tmp_path / "m.mln").read_bytes())
    (tmp_path / "including.mln").write_text('#include "m.mln"\n2 H(x)\n', encoding="utf-8")
    for name in ("marked.mln", "including.mln"):
        found = read_mln(tmp_path / name)
        assert (found.query, found.semantics, found.learned) == ({"H"}, "alchemy", True)
    with pytest.raises(ModelError, match=r"m.mln was saved with semantics='alchemy', not 'exact'"):
        read_mln(tmp_path / "including.mln", semantics="exact")


@pytest.mark.parametrize(
    "said",
    [{"query": None}, {"query": 3}, {"query": "Pred"}, {"semantics": None}, {"learned": 1}, {"templates": 5},
     {"templates": [{"rule": 0, "clauses": 2.0, "variables": ["w"], "formula": "P(+w)"}]}],
)  # fmt: skip
def test_a_first_line_that_no_model_has_is_refused(said: dict[str, object]) -> None:
    with pytest.raises(ParseError, match=f"the first line says {next(iter(said))}: .* which no model has: remove it"):
        parse_mln(f"// sqlrl {json.dumps(said)}\nPred(t)\n1 Pred(x)")


@pytest.mark.parametrize("name", ["EXIST", "Exist", "FORALL", "Forall", "V", "Exists"])
def test_constants_that_are_words_of_the_language_are_read_back(name: str) -> None:
    model = parse_mln(f'P(t)\nQ(t, t)\n1 P(x) ^ "{name}" != x\n2 "{name}" = x v P(x)\n3 Q("{name}", x) ^ P("{name}")')
    assert models_equal(parse_model(format_model(model)), model)


@pytest.mark.parametrize("block", [False, True])
def test_types_that_begin_with_a_capital_are_read_back(tmp_path: Path, *, block: bool) -> None:
    """A line `Size(Drug, Size)` would be an atom of constants: a name beside a type says that it is none."""
    arguments = (Argument("Drug", block), Argument("Size"))
    for predicate in (
        Predicate("size", arguments),
        Predicate("Size", arguments),
        Predicate("Size", arguments, closed=True),
        Predicate("Size", (Argument("drug"), Argument("Size", block))),
    ):
        save_model(Model({predicate.name: predicate}), tmp_path / "m.mln")
        assert read_model(tmp_path / "m.mln").predicates == {predicate.name: predicate}


# ---- damaged JSON ----------------------------------------------------------------------------------------------


WHOLE = {
    **model_to_json(dataclasses.replace(template(), query=frozenset({"P"}), types={"w": ("a", "b")})),
    "learned": True,
}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"predicates": [*WHOLE["predicates"], WHOLE["predicates"][1]]}, "the predicate P is declared twice"),
        ({"predicates": [*WHOLE["predicates"], {"name": "a b", "arguments": []}]}, "'a b' cannot be the name of a predicate"),
        ({"predicates": [*WHOLE["predicates"], {"name": "R", "arguments": [{"type": "2nd"}]}]}, "'2nd' cannot be the name of a type"),
        ({"types": {"w": []}}, "the type w lists no constants: leave it out"),
        ({"types": {"w\nP(x)": ["a"]}}, "cannot be the name of a type"),
        ({"query": ["P", "Z"]}, "the query has 'Z', which is no predicate"),
        ({"query": ["p"]}, "which is no predicate of the model; did you mean 'P'"),
    ],
)  # fmt: skip
def test_a_model_that_is_not_whole_is_refused_when_it_is_read(change: dict[str, object], message: str) -> None:
    with pytest.raises(ModelError, match=rf"^m\.json: .*{message}"):
        model_from_json({**WHOLE, **change}, path="m.json")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rows": [["a", "F1"]] * 3}, "3 rows and 2 weights"),
        ({"weights": []}, "2 rows and 0 weights"),
        ({"rows": [["a", "F1"], ["b"]]}, "in row 1 1 constant for 2 variables"),
        ({"rows": [["a", "F1", "x"], ["b", "F2"]]}, "in row 0 3 constants for 2 variables"),
        ({"variables": ["w", "g"]}, r"the variables w, g: expected its \+ variables, each once \(f, w\)"),
        ({"variables": ["w", "w"]}, "the variables w, w"),
        ({"variables": ["w"], "rows": [["a"], ["b"]]}, "the variables w: expected"),
        ({"variables": ["w", "f", "x"], "rows": [["a", "b", "c"]] * 2}, "the variables w, f, x: expected"),
    ],
)
def test_expansions_that_are_none_of_the_template_are_refused(change: dict[str, object], message: str) -> None:
    rule = WHOLE["rules"][0]
    changed = {**rule, "expansions": {**rule["expansions"], **change}}
    with pytest.raises(ModelError, match=rf"m\.json: the expansions of Q\(\+w, \+f\) \^ P\(\+w\) have .*{message}"):
        model_from_json({**WHOLE, "rules": [changed]}, path="m.json")
    with pytest.raises(ModelError, match="is hard and has expansions"):
        model_from_json({**WHOLE, "rules": [{**rule, "hard": True}]})


@pytest.mark.parametrize("name", ["a b", "", "2nd", "x\ny"])
def test_names_that_cannot_be_read_are_not_saved(tmp_path: Path, name: str) -> None:
    for model in (
        Model({}, {name: ("A",)}),
        Model({name: Predicate(name, ())}),
        Model({"P": Predicate("P", (Argument(name),))}),
    ):
        for ending in ("json", "mln"):
            with pytest.raises(ModelError, match="the language cannot write"):
                save_model(model, tmp_path / f"m.{ending}")


def test_json_that_says_a_name_twice_is_refused() -> None:
    with pytest.raises(ParseError, match="an object says 'rules' twice"):
        parse_model(json.dumps(WHOLE)[:-1] + ', "rules": []}')


def places(value: object) -> list[tuple[object, object]]:
    """All containers in a value with each of their keys."""
    if not isinstance(value, dict | list):
        return []
    keys = list(value) if isinstance(value, dict) else list(range(len(value)))
    return [(value, key) for key in keys] + [found for key in keys for found in places(value[key])]


@given(st.data())
@settings(max_examples=draws(300), deadline=None)
def test_any_change_of_a_saved_model_gives_a_whole_model_or_an_error(data: st.DataObject) -> None:
    value = json.loads(json.dumps(WHOLE))
    for _ in range(data.draw(st.integers(1, 3))):
        container, key = data.draw(st.sampled_from(places(value)))
        kind = data.draw(st.sampled_from(["remove", "twice", "other", "name"]))
        if kind == "remove":
            del container[key]
        elif kind == "twice" and isinstance(container, list):
            container.append(container[key])
        elif kind == "name" and isinstance(container, dict):
            container[data.draw(st.sampled_from(["", "a b", "P", "w", "version"]))] = container[key]
        else:
            container[key] = data.draw(
                st.sampled_from(
                    [None, True, -1, 1e308, 10**400, "", "P", "P(x)", "P(+f) v", "a b", "\x00", [], ["P"], [[]], {}]
                )
            )
        if not value:
            break
    try:
        model = parse_model(json.dumps(value))
    except SqlrlError:
        return
    # What was read can be used and written again.
    assert repr(expand(model))
    assert parse_model(json.dumps(model_to_json(model))) == model
    format_model(model)


def test_a_model_that_is_shown_has_short_weights_and_one_that_is_printed_exact_ones() -> None:
    text = "P(t)\n\n7.2312117980197765 P(x)\n-0.009011575692113874 !P(x) v P(y)\n@0.5 P(C)\nP(D).\n"
    model = parse_mln(text)
    assert str(model) == text
    head, *lines = repr(model).splitlines()
    assert head == "Model of 4 rules (1 hard, 3 with a weight, 0 clauses of templates), weights to 6 digits:"
    assert lines == ["P(t)", "", "7.23121 P(x)", "-0.00901158 !P(x) v P(y)", "@0.5 P(C)", "P(D)."]
    assert "7.23121 P(x)" in model._repr_html_()
    assert "7.2312117" not in model._repr_html_()
    # Clauses of templates, too; and where nothing was left out nothing is said.
    learned = Rule(
        Atom("P", (Variable("w", plus=True),)), expansions=Expansions(("w",), (("A",), ("B",)), (1 / 3, 2.0))
    )
    assert repr(model.with_rules((learned,))).splitlines()[3:] == ["0.333333 P(A)", "2.0 P(B)"]
    assert "digits" not in repr(parse_mln("P(t)\n0.25 P(x)"))
