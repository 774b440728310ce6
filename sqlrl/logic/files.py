"""Models read from files: `.mln` with weights, and JSON that `schemas/model.schema.json` describes.

JSON keeps everything, templates with their expansions included. An `.mln` file holds each clause of a template by
itself, weights as the shortest decimals that read back to the same number, and in its first line, as a comment,
what the language cannot say (the query predicates, the semantics, that it was learned, whether its weights only rank worlds, where numbers are cut into pieces, and its
templates).
"""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

from sqlrl.errors import ModelError, ParseError, Phrase
from sqlrl.logic.bins import checked_bins
from sqlrl.logic.expansions import expand
from sqlrl.logic.formulas import parse_formula
from sqlrl.logic.json_text import parse_json
from sqlrl.logic.lexer import nearest, read_text
from sqlrl.logic.mln import parse_mln, read_mln
from sqlrl.logic.model import Expansions, Model, Rule
from sqlrl.logic.printer import is_identifier
from sqlrl.logic.psl import SoftModel
from sqlrl.logic.saving import SOFT, VERSION
from sqlrl.logic.subformulas import terms_of
from sqlrl.logic.terms import Argument, Formula, Predicate, Variable
from sqlrl.resources import resource
from sqlrl.wording import check_characters, counted, shortened


def read_model(path: str | Path, *, trusted: bool = True) -> Model:
    r"""Load a model that `save_model` wrote, or any other `.mln` file.

    Parameters
    ----------
    path : str or Path
        A `.mln` or `.json` file.
    trusted : bool
        False for a file that a stranger may have written, which includes others below its folder alone.

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
    >>> from sqlrl.logic.saving import save_model
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
    if path.suffix == ".psl":
        raise ModelError(f"{path} is a program of probabilistic soft logic: {Phrase('read it with sqlrl.read_psl')}")
    if path.suffix not in (".mln", ".json"):
        raise ModelError(f"cannot tell the format of {path}: expected a name that ends in .mln or .json")
    if path.suffix == ".json":
        return _read_json(read_text(path), str(path))
    return read_mln(path, trusted=trusted)


def parse_model(text: str, *, path: str = "<text>", trusted: bool = True) -> Model:
    """Parse the text of a model, JSON if it starts with a brace, else `.mln`; an untrusted text includes no file."""
    if text.lstrip().startswith("{"):
        return _read_json(text, path)
    return parse_mln(text, path=path, trusted=trusted)


def _read_json(text: str, path: str) -> Model:
    value = parse_json(text, path=path)
    # JSON writes characters as halves, each of which may be alone.
    check_characters(json.dumps(value, ensure_ascii=False), path)
    return model_from_json(value, path=path)


def model_from_json(value: Any, *, path: str = "<json>") -> Model:
    """Return the model that JSON values describe, the inverse of `model_to_json`."""
    check_json(value, path)
    _check_names(value, path)
    predicates = {
        p["name"]: Predicate(
            p["name"],
            tuple(Argument(a["type"], a.get("block", False)) for a in p["arguments"]),
            p.get("closed", False),
        )
        for p in value["predicates"]
    }
    types = {name: tuple(constants) for name, constants in value["types"].items()}
    bins = checked_bins(value.get("bins", {}), {t for p in predicates.values() for t in p.types}, path)
    model = Model(
        predicates, types, (), frozenset(value["query"]), value["semantics"], value.get("learned", False), bins=bins
    )
    model = model.with_rules(tuple(_rule_from_json(rule, model, path) for rule in value["rules"]))
    return replace(model, ranked_by=value.get("ranked_by", ""))


def check_json(value: Any, path: str, *, soft: bool = False) -> None:
    """Refuse values that do not fit the schema, those of a newer version, and those of the other kind of model."""
    said = value if isinstance(value, dict) else {}
    version = said.get("version")
    if isinstance(version, int) and version > VERSION:
        raise ModelError(
            f"{path}: the model has version {version}, and this sqlrl reads up to {VERSION}: upgrade sqlrl"
        )
    if not soft and version is None and {"predicates", "rules"} <= said.keys() and "query" not in said:
        raise ModelError(
            f"{path} is a program of probabilistic soft logic, as PSL writes them: {Phrase('read it with sqlrl.read_psl')}"
        )
    if soft != (said.get("semantics") == SOFT) and "semantics" in said:
        what, reader = ("a program of probabilistic soft logic", "read_psl") if not soft else ("a model", "read_model")
        raise ModelError(f"{path} is {what}: read it with sqlrl.{reader}")
    from jsonschema import Draft202012Validator  # a slow import that only loading needs

    validator = Draft202012Validator(json.loads(resource("schemas", "model.schema.json")))
    for error in sorted(validator.iter_errors(value), key=lambda e: (e.json_path, e.message)):
        raise ParseError(f"the model does not fit its schema at {error.json_path}: {error.message}", path=path)


def _check_names(value: Any, path: str) -> None:
    """Refuse what the schema cannot say: names that no formula could have, predicates declared twice, queries of none."""
    declared: set[str] = set()
    named = [("type", name) for name in value["types"]]
    for name, constants in value["types"].items():
        if not constants:
            raise ModelError(
                f"{path}: the type {shortened(name)} lists no constants: leave it out of the types, or list some"
            )
    for predicate in value["predicates"]:
        if predicate["name"] in declared:
            raise ModelError(f"{path}: the predicate {predicate['name']} is declared twice: remove one of the two")
        declared.add(predicate["name"])
        named += [("predicate", predicate["name"]), *(("type", each["type"]) for each in predicate["arguments"])]
    for what, name in named:
        if not is_identifier(name):
            raise ModelError(
                f"{path}: {shortened(repr(name))} cannot be the name of a {what}: a name is a letter and then letters, digits and "
                "underscores"
            )
    for name in value["query"]:
        if name not in declared:
            hint = nearest(name, declared) or "; expected a declared one"
            raise ModelError(f"{path}: the query has {shortened(repr(name))}, which is no predicate of the model{hint}")


def _check_expansions(expansions: Expansions, formula: Formula, text: str, path: str) -> None:
    """Refuse clauses that are none of the template."""
    marked = {term.name for term in terms_of(formula) if isinstance(term, Variable) and term.plus}
    where = f"{path}: the expansions of {text}"
    if len(set(expansions.variables)) < len(expansions.variables) or set(expansions.variables) != marked:
        has = ", ".join(expansions.variables) or "none"
        expected = ", ".join(sorted(marked)) or "none, so that the rule has no expansions"
        raise ModelError(f"{where} have the variables {has}: expected its + variables, each once ({expected})")
    if len(expansions.rows) != len(expansions.weights):
        raise ModelError(
            f"{where} have {counted(len(expansions.rows), 'row')} and {counted(len(expansions.weights), 'weight')}: expected as many"
        )
    for i, row in enumerate(expansions.rows):
        if len(row) != len(expansions.variables):
            wide = f"{counted(len(row), 'constant')} for {counted(len(expansions.variables), 'variable')}"
            raise ModelError(f"{where} have in row {i} {wide}: expected as many")


def _rule_from_json(value: dict[str, Any], model: Model, path: str) -> Rule:
    formula = parse_formula(value["formula"], model, path=path)
    expansions = None
    if "expansions" in value:
        found = value["expansions"]
        rows = tuple(map(tuple, found["rows"]))
        expansions = Expansions(
            tuple(found["variables"]), rows, tuple(map(_number, found["weights"])), found.get("found", False)
        )
        _check_expansions(expansions, formula, value["formula"], path)
        if value.get("hard", False):
            raise ModelError(f"{path}: the rule {value['formula']} is hard and has expansions: remove one of them")
        for each, row in zip(expansions.weights, expansions.rows, strict=True):
            _check_finite(each, f"{value['formula']} with {', '.join(row)}", path)
    weight = value.get("weight")
    hard = value.get("hard", False)
    if weight is not None:
        _check_finite(weight, value["formula"], path)
    if hard and weight is not None:
        raise ModelError(f"{path}: the rule {value['formula']} is hard and has a weight: remove one of them")
    fixed = value.get("fixed", False)
    if fixed and weight is None:
        raise ModelError(f"{path}: the weight of the rule {value['formula']} is fixed, but it has none: give it one")
    return Rule(formula, None if weight is None else float(weight), hard, expansions, path=path, fixed=fixed)


def _number(value: float) -> float:
    """Return a number of JSON as a float; an integer beyond the range of floats is infinite."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _check_finite(weight: float, rule: str, path: str) -> None:
    """Refuse NaN and infinity, which Python's reader of JSON lets pass."""
    if not math.isfinite(_number(weight)):
        raise ModelError(
            f"{path}: the weight {_number(weight)} of the rule {rule} is not finite: write a number, or make the rule hard with "
            '"hard": true and no weight'
        )


def models_equal(left: Model | SoftModel, right: Model | SoftModel) -> bool:
    r"""Tell whether two models say the same: predicates, types, query, semantics, and rules with weights, in order.

    Parameters
    ----------
    left, right : Model or SoftModel
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
    if isinstance(left, SoftModel) or isinstance(right, SoftModel):
        return left == right
    left, right = expand(left), expand(right)
    return (
        left.predicates == right.predicates
        and left.types == right.types
        and left.rules == right.rules
        and left.query == right.query
        and left.semantics == right.semantics
        and left.bins == right.bins
    )
