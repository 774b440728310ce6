"""Models as files: `.mln` with weights, and JSON that `schemas/model.schema.json` describes, saved and loaded."""

from __future__ import annotations

import json
import math
import os
import shutil
from pathlib import Path
from typing import Any

from sqlrl.errors import InputError, ModelError, ParseError
from sqlrl.logic.expansions import expand
from sqlrl.logic.formulas import parse_formula
from sqlrl.logic.lexer import read_text
from sqlrl.logic.mln import parse_mln, read_mln
from sqlrl.logic.model import Expansions, Model
from sqlrl.logic.printer import check_names, format_formula, format_model
from sqlrl.logic.rules import Rule, RuleSet
from sqlrl.logic.terms import Argument, Predicate
from sqlrl.paths import expanded
from sqlrl.resources import resource

VERSION = 1
"""Version of the JSON layout."""


# ---- saving ------------------------------------------------------------------------------------------


def save_model(model: RuleSet, path: str | Path) -> None:
    r"""Save a model as `.mln` or `.json`, by the ending of the path.

    Parameters
    ----------
    model : Model
    path : str or Path

    Raises
    ------
    ModelError
        Another ending; a weight that is not finite; a name that the language cannot write.
    InputError
        The file cannot be written, and is as it was.

    Examples
    --------
    >>> import tempfile
    >>> from sqlrl.logic.mln import parse_mln
    >>> model = parse_mln("P(t)\n0.1 P(x)")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_model(model, Path(folder, "m.json"))
    ...     models_equal(read_model(Path(folder, "m.json")), model)
    True
    """
    path = Path(path)
    for rule in model.rules:
        for weight in (rule.weight, *(rule.expansions.weights if rule.expansions else ())):
            if weight is not None and not math.isfinite(weight):
                raise ModelError(f"the weight {weight} of {format_formula(rule.formula)} is not finite")
    if path.suffix == ".mln":
        text = _header(model) + format_model(model)
    elif path.suffix == ".json":
        text = json.dumps(model_to_json(model), indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    else:
        raise ModelError(f"cannot tell the format of {path}: expected a name that ends in .mln or .json")
    _write(path, text)


def _write(path: Path, text: str) -> None:
    """Write a file that is there whole or not at all: beside its place first, then renamed."""
    # A link stays one: the file that it names is written.
    path = expanded(path).resolve()
    beside = path.with_name(f".{path.name}.{os.getpid()}.new")
    try:
        try:
            with beside.open("w", encoding="utf-8", newline="") as file:
                file.write(text)
            if path.exists():
                shutil.copymode(path, beside)
            beside.replace(path)
        finally:
            beside.unlink(missing_ok=True)
    except OSError as error:
        if not path.parent.is_dir():
            raise InputError(
                f"{path} cannot be written: there is no directory {path.parent}. Create it first."
            ) from error
        raise InputError(f"{path} cannot be written: {error.strerror}.") from error


def _header(model: RuleSet) -> str:
    templates = listed_templates(model)
    if not model.query and model.semantics == "exact" and not model.learned and not templates:
        return ""
    said: dict[str, Any] = {"query": sorted(model.query), "semantics": model.semantics}
    if model.learned:
        said["learned"] = True
    if templates:
        said["templates"] = templates
    return f"// sqlrl {json.dumps(said)}\n"


def listed_templates(model: RuleSet) -> list[dict[str, Any]]:
    """Return for each template with clauses the place of its first clause, their number, its `+` variables and its text.

    `sqlrl.logic.mln.with_templates` reads them.

    Examples
    --------
    >>> from sqlrl.logic.model import Expansions, Model, Rule
    >>> from sqlrl.logic.terms import Atom, Variable
    >>> rule = Rule(Atom("P", (Variable("w", plus=True),)), expansions=Expansions(("w",), (("a",), ("b",)), (1.0, 2.0)))
    >>> listed_templates(Model({}, rules=(rule,)))
    [{'rule': 0, 'clauses': 2, 'variables': ['w'], 'formula': 'P(+w)'}]
    """
    found: list[dict[str, Any]] = []
    place = 0
    for rule in model.rules:
        if rule.expansions is None:
            place += 1
            continue
        size, variables = len(rule.expansions.rows), list(rule.expansions.variables)
        text = format_formula(rule.formula)
        one_by_one = {"found": True} if rule.expansions.found else {}
        found.append({"rule": place, "clauses": size, "variables": variables, "formula": text, **one_by_one})
        place += size
    return found


def model_to_json(model: RuleSet) -> dict[str, Any]:
    r"""Return a model as JSON values.

    Parameters
    ----------
    model : Model

    Returns
    -------
    dict

    Examples
    --------
    >>> from sqlrl.logic.mln import parse_mln
    >>> model_to_json(parse_mln("P(t)\n2 P(x)"))["rules"]
    [{'formula': 'P(x)', 'weight': 2.0}]
    """
    return {
        "version": VERSION,
        "semantics": model.semantics,
        **({"learned": True} if model.learned else {}),
        "query": sorted(model.query),
        "types": {name: list(constants) for name, constants in model.types.items()},
        "predicates": [_predicate_to_json(p) for p in model.predicates.values()],
        "rules": [_rule_to_json(rule) for rule in model.rules],
    }


def _predicate_to_json(predicate: Predicate) -> dict[str, Any]:
    arguments = [{"type": a.type, **({"block": True} if a.block else {})} for a in predicate.arguments]
    return {"name": predicate.name, "arguments": arguments, **({"closed": True} if predicate.closed else {})}


def _rule_to_json(rule: Rule) -> dict[str, Any]:
    check_names(rule.formula)
    value: dict[str, Any] = {"formula": format_formula(rule.formula)}
    if rule.hard:
        value["hard"] = True
    if rule.weight is not None:
        value["weight"] = rule.weight
    if rule.expansions is not None:
        found = rule.expansions
        value["expansions"] = {
            "variables": list(found.variables),
            "rows": [list(row) for row in found.rows],
            "weights": list(found.weights),
            **({"found": True} if found.found else {}),
        }
    return value


# ---- loading -----------------------------------------------------------------------------------------


def read_model(path: str | Path) -> Model:
    r"""Load a model that `save_model` wrote, or any other `.mln` file.

    Parameters
    ----------
    path : str or Path
        A `.mln` or `.json` file.

    Returns
    -------
    Model
        Equal to the saved one.

    Raises
    ------
    ParseError
        A missing or damaged file; for JSON, the message names the place that does not fit the schema.
    ModelError
        Another ending; JSON of a newer version.

    Examples
    --------
    >>> import tempfile
    >>> from sqlrl.logic.mln import parse_mln
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_model(parse_mln("P(t)\n1e-3 P(x)", query=["P"]), Path(folder, "m.mln"))
    ...     print(Path(folder, "m.mln").read_text())
    ...     read_model(Path(folder, "m.mln")).query
    // sqlrl {"query": ["P"], "semantics": "exact"}
    P(t)
    <BLANKLINE>
    0.001 P(x)
    <BLANKLINE>
    frozenset({'P'})
    """
    path = Path(path)
    if path.suffix not in (".mln", ".json"):
        raise ModelError(f"cannot tell the format of {path}: expected a name that ends in .mln or .json")
    if path.suffix == ".json":
        return _read_json(read_text(path), str(path))
    return read_mln(path)


def parse_model(text: str, *, path: str = "<text>") -> Model:
    r"""Parse the text of a model, JSON if it starts with a brace, else `.mln`.

    Parameters
    ----------
    text : str
    path : str
        A name for the text, in errors.

    Returns
    -------
    Model

    Raises
    ------
    ParseError, ModelError
        As in `read_model`.

    Examples
    --------
    >>> sorted(parse_model('// sqlrl {"query": ["P"]}\nP(t)\n2 P(x)').query)
    ['P']
    """
    if text.lstrip().startswith("{"):
        return _read_json(text, path)
    return parse_mln(text, path=path)


def _read_json(text: str, path: str) -> Model:
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        line = text.split("\n")[error.lineno - 1]
        raise ParseError(error.msg, text=line, line=error.lineno, column=error.colno, path=path) from error
    return model_from_json(value, path=path)


def model_from_json(value: Any, *, path: str = "<json>") -> Model:
    r"""Return the model that JSON values describe.

    Parameters
    ----------
    value : dict
        What `model_to_json` returns.
    path : str
        The file, in errors.

    Returns
    -------
    Model

    Raises
    ------
    ParseError
        The value does not fit the schema; the message names the place.
    ModelError
        It is of a newer version, its rules do not fit its declarations, or a weight is not finite.

    Examples
    --------
    >>> from sqlrl.logic.mln import parse_mln
    >>> model = parse_mln("P(t)\nP(A).")
    >>> model_from_json(model_to_json(model)) == model
    True
    """
    version = value.get("version") if isinstance(value, dict) else None
    if isinstance(version, int) and version > VERSION:
        raise ModelError(
            f"{path}: the model has version {version}, and this sqlrl reads up to {VERSION}: upgrade sqlrl"
        )
    _validate(value, path)
    predicates = {
        p["name"]: Predicate(
            p["name"],
            tuple(Argument(a["type"], a.get("block", False)) for a in p["arguments"]),
            p.get("closed", False),
        )
        for p in value["predicates"]
    }
    types = {name: tuple(constants) for name, constants in value["types"].items()}
    model = Model(predicates, types, (), frozenset(value["query"]), value["semantics"], value.get("learned", False))
    return model.with_rules(tuple(_rule_from_json(rule, model, path) for rule in value["rules"]))


def _validate(value: Any, path: str) -> None:
    from jsonschema import Draft202012Validator  # a slow import that only loading needs

    validator = Draft202012Validator(json.loads(resource("schemas", "model.schema.json")))
    for error in sorted(validator.iter_errors(value), key=lambda e: (e.json_path, e.message)):
        raise ParseError(f"the model does not fit its schema at {error.json_path}: {error.message}", path=path)


def _rule_from_json(value: dict[str, Any], model: Model, path: str) -> Rule:
    formula = parse_formula(value["formula"], model, path=path)
    expansions = None
    if "expansions" in value:
        found = value["expansions"]
        rows = tuple(map(tuple, found["rows"]))
        expansions = Expansions(
            tuple(found["variables"]), rows, tuple(map(_number, found["weights"])), found.get("found", False)
        )
        for each, row in zip(expansions.weights, expansions.rows, strict=False):
            _check_finite(each, f"{value['formula']} with {', '.join(row)}", path)
    weight = value.get("weight")
    hard = value.get("hard", False)
    if weight is not None:
        _check_finite(weight, value["formula"], path)
    if hard and weight is not None:
        raise ModelError(f"{path}: the rule {value['formula']} is hard and has a weight: remove one of them")
    return Rule(formula, None if weight is None else float(weight), hard, expansions, path=path)


def _number(value: float) -> float:
    """Return a number of JSON as a float; an integer beyond the range of floats is infinite."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _check_finite(weight: float, rule: str, path: str) -> None:
    """Refuse NaN and infinity, which Python's reader of JSON lets pass.

    Raises
    ------
    ModelError
    """
    if not math.isfinite(_number(weight)):
        raise ModelError(
            f"{path}: the weight {_number(weight)} of the rule {rule} is not finite: write a number, or make the rule hard with "
            '"hard": true and no weight'
        )


def models_equal(left: Model, right: Model) -> bool:
    r"""Tell whether two models say the same: predicates, types, query, semantics, and rules with weights, in order.

    Parameters
    ----------
    left, right : Model
        Templates count as their clauses.

    Returns
    -------
    bool

    Examples
    --------
    >>> from sqlrl.logic.mln import parse_mln
    >>> models_equal(parse_mln("P(t)\n1 P(x)"), parse_mln("P( t ) // same\n1.0 P(x)"))
    True
    """
    left, right = expand(left), expand(right)
    return (
        left.predicates == right.predicates
        and left.types == right.types
        and left.rules == right.rules
        and left.query == right.query
        and left.semantics == right.semantics
    )
