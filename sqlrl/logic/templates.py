"""Templates of a saved `.mln` file: which of its rules are the clauses of which template.

The language has no way to write a template together with its clauses, so the file holds the clauses, and its first line
says in a comment where those of each template start and how many they are. Without that a model would forget which
combinations of constants its training data had, and predictions could not say how many are new.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlrl.errors import ParseError, SqlrlError
from sqlrl.logic.expansions import fill
from sqlrl.logic.formula import parse_formula
from sqlrl.logic.model import Expansions, Model, Rule
from sqlrl.logic.subformulas import terms_of
from sqlrl.logic.terms import Constant, Formula, Variable


def with_templates(model: Model, listed: Sequence[Mapping[str, Any]], path: str) -> Model:
    r"""Return a model with the listed templates in place of their clauses.

    Parameters
    ----------
    model : Model
        Has each clause as a rule of its own.
    listed : sequence of mapping
        What `sqlrl.logic.saving.listed_templates` returned for the model that was saved.
    path : str
        The file, in errors.

    Raises
    ------
    ParseError
        The rules at those places are not clauses of the template.

    Examples
    --------
    >>> from sqlrl.logic.mln import parse_mln
    >>> model = parse_mln("P(t)\n1 P(A)\n2 P(B)")
    >>> with_templates(model, [{"rule": 0, "clauses": 2, "variables": ["w"], "formula": "P(+w)"}], "a.mln").rules[
    ...     0
    ... ].expansions
    Expansions(variables=('w',), rows=(('A',), ('B',)), weights=(1.0, 2.0), found=False)
    """
    rules: list[Rule] = []
    start = 0
    for each in listed:
        try:
            first, end = each["rule"], each["rule"] + each["clauses"]
            formula, variables = parse_formula(each["formula"], model, path=path), tuple(each["variables"])
        except (KeyError, TypeError, SqlrlError) as error:
            raise _changed(path, f"what it says of a template cannot be read ({error})") from error
        clauses = model.rules[first:end]
        rows = [_constants(formula, variables, clause.formula) for clause in clauses]
        weights = [clause.weight for clause in clauses]
        known_rows, known_weights = [r for r in rows if r is not None], [w for w in weights if w is not None]
        if not start <= first <= end or len(known_rows) < end - first or len(known_weights) < end - first:
            raise _changed(path, f"rules {first + 1} to {end} are not the clauses of {each['formula']}")
        rules += model.rules[start:first]
        expansions = Expansions(variables, tuple(known_rows), tuple(known_weights), each.get("found") is True)
        rules.append(Rule(formula, expansions=expansions, path=path))
        start = end
    return model.with_rules((*rules, *model.rules[start:]))


def _constants(template: Formula, variables: Sequence[str], clause: Formula) -> tuple[str, ...] | None:
    """Return the constants that make a clause of a template, None if none do."""
    found: dict[str, str] = {}
    for term, constant in zip(terms_of(template), terms_of(clause), strict=False):
        if isinstance(term, Variable) and isinstance(constant, Constant):
            found.setdefault(term.name, constant.name)
    row = {name: found[name] for name in variables if name in found}
    return tuple(row.values()) if len(row) == len(variables) and fill(template, row) == clause else None


def _changed(path: str, problem: str) -> ParseError:
    return ParseError(
        f'the first line does not fit the rules: {problem}. If rules were changed by hand, remove "templates" and its list '
        "from that line.",
        path=path,
    )
