"""Saving models: `.mln` with weights, and JSON that `schemas/model.schema.json` describes.

JSON keeps everything, templates with their expansions included. An `.mln` file holds each clause of a template by
itself, weights as the shortest decimals that read back to the same number, and in its first line, as a comment,
what the language cannot say (the query predicates, the semantics, that it was learned, whether its weights only rank worlds, where numbers are cut into pieces, and its
templates).
"""

from __future__ import annotations

import json
import math
import os
import shutil
from pathlib import Path
from typing import Any, Protocol, cast

from sqlrl.arguments import refuse
from sqlrl.errors import InputError, ModelError
from sqlrl.logic.bins import dated
from sqlrl.logic.printer import check_names, format_formula, format_model, is_identifier
from sqlrl.logic.rules import Rule, RuleSet
from sqlrl.logic.terms import Predicate
from sqlrl.paths import UNNAMEABLE, expanded, is_dir
from sqlrl.wording import shortened

VERSION = 5
"""Version of the JSON layout: 5 where weights rank worlds, 4 with pieces of dates, 3 for soft models, 2 with pieces of numbers, else 1, so that earlier sqlrl reads what it can."""

SOFT = "soft"
"""What JSON says of a soft model in place of the semantics of formulas."""


class SoftSet(Protocol):
    """What is seen here of `sqlrl.logic.psl.SoftModel`."""

    @property
    def semantics(self) -> str:
        """`SOFT`."""
        ...

    def save(self, path: str | Path) -> None:
        """Save it."""
        ...


def save_model(model: RuleSet | SoftSet, path: str | Path) -> None:
    r"""Save a model as `.mln` or `.json`, by the ending of the path.

    Parameters
    ----------
    model : Model or SoftModel
    path : str or Path
        A soft model is saved as `.psl` or `.json`.

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
    >>> from sqlrl.logic.files import models_equal, read_model
    >>> model = parse_mln("P(t)\n0.1 P(x)")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_model(model, Path(folder, "m.json"))
    ...     models_equal(read_model(Path(folder, "m.json")), model)
    True
    """
    target: object = path
    if not isinstance(target, str | os.PathLike):
        raise refuse("the path of a file", target)
    if not hasattr(model, "rules"):
        raise refuse("a model", model)
    if model.semantics == SOFT:
        cast("SoftSet", model).save(path)
        return
    model, path = cast("RuleSet", model), Path(path)
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
    write_file(path, text)


def write_file(path: Path, text: str) -> None:
    """Write a file that is there whole or not at all: beside its place first, then renamed."""
    # A link stays one: the file that it names is written.
    try:
        path = expanded(path).resolve()
        os.fsencode(path)
    except (OSError, RuntimeError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else UNNAMEABLE
        raise InputError(f"{shortened(str(path))} cannot be written: {reason}.") from error
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
        if not is_dir(path.parent):
            raise InputError(
                f"{path} cannot be written: there is no directory {path.parent}. Create it first."
            ) from error
        raise InputError(f"{path} cannot be written: {error.strerror}.") from error


def _header(model: RuleSet) -> str:
    templates = listed_templates(model)
    said = model.query or model.semantics != "exact" or model.learned or model.ranked_by or model.bins or templates
    if not said:
        return ""
    header: dict[str, Any] = {"query": sorted(model.query), "semantics": model.semantics}
    if model.learned:
        header["learned"] = True
    if model.ranked_by:
        header["ranked_by"] = model.ranked_by
    if model.bins:
        header["bins"] = _bins_to_json(model)
    if templates:
        header["templates"] = templates
    return f"// sqlrl {json.dumps(header)}\n"


def listed_templates(model: RuleSet) -> list[dict[str, Any]]:
    """Return each template that has clauses, with the index of the first one, for `sqlrl.logic.mln.with_templates`."""
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
    r"""Return a model as JSON values."""
    for name in (*model.types, *(name for p in model.predicates.values() for name in (p.name, *p.types))):
        if not is_identifier(name):
            raise ModelError(f"the language cannot write the name {name!r}: rename it")
    return {
        "version": max((*(4 if dated(edges) else 2 for edges in model.bins.values()), 5 if model.ranked_by else 1)),
        "semantics": model.semantics,
        **({"learned": True} if model.learned else {}),
        **({"ranked_by": model.ranked_by} if model.ranked_by else {}),
        **({"bins": _bins_to_json(model)} if model.bins else {}),
        "query": sorted(model.query),
        "types": {name: list(constants) for name, constants in model.types.items()},
        "predicates": [_predicate_to_json(p) for p in model.predicates.values()],
        "rules": [_rule_to_json(rule) for rule in model.rules],
    }


def _bins_to_json(model: RuleSet) -> dict[str, list[float | str]]:
    """Return the edges by type, sorted by its name."""
    return {name: list(edges) for name, edges in sorted(model.bins.items())}


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
    if rule.fixed:
        value["fixed"] = True
    if rule.expansions is not None:
        found = rule.expansions
        value["expansions"] = {
            "variables": list(found.variables),
            "rows": [list(row) for row in found.rows],
            "weights": list(found.weights),
            **({"found": True} if found.found else {}),
        }
    return value
