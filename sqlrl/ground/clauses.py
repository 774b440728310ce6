"""The clauses of a program as text and names: what a user sees of clause ids."""

from __future__ import annotations

import re
from dataclasses import replace
from math import prod

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from sqlglot import exp

from sqlrl.engine.nodes import column, named
from sqlrl.ground.program import BoundFeature, Program
from sqlrl.logic.expansions import fill
from sqlrl.logic.model import Expansions, Model, Rule
from sqlrl.logic.printer import format_formula
from sqlrl.logic.subformulas import terms_of
from sqlrl.logic.terms import Constant, Variable
from sqlrl.plan.sql import table

_MARK = re.compile('"\x00([0-9]+)\x00"')


def expansion_names(program: Program, feature: int) -> tuple[list[int], list[tuple[str, ...]]]:
    r"""Return the clauses of a template and the constants of their `+` variables, ordered by clause.

    Examples
    --------
    >>> from sqlrl.ground.sample import sample_program
    >>> text = "Token(word, bib)\nTopic(bib)\nToken(+w, b) => Topic(b)"
    >>> program = sample_program(text, ["Topic"], {"Token": [("sql", "B1"), ("rule", "B2")]})
    >>> program.expand()
    2
    >>> expansion_names(program, 0)
    ([0, 1], [('rule',), ('sql',)])
    """
    bound = program.features[feature]
    if bound.expansions is not None:
        first = program.feature_of.index(feature) if bound.expansions.rows else 0
        order = [bound.expansions.variables.index(name) for name in bound.feature.plus]
        rows = [tuple(row[j] for j in order) for row in bound.expansions.rows]
        return list(range(first, first + len(rows))), rows
    kinds = dict(bound.feature.variables)
    query = exp.select(column("clause", "e")).from_(table(program.expansions[feature], "e"))
    for j, name in enumerate(bound.feature.plus):
        dictionary = table(program.layout.types[kinds[name]].dictionary, f"d{j}")
        query = query.join(dictionary, on=exp.EQ(this=column("id", f"d{j}"), expression=column(f"plus{j}", "e")))
        query = query.select(named(column("name", f"d{j}"), f"name{j}"))
    data = program.engine.fetch(query.order_by(column("clause", "e")), step="read the clauses of a template")
    names = [data.column(f"name{j}").to_pylist() for j in range(len(bound.feature.plus))]
    return data.column("clause").to_pylist(), list(zip(*names, strict=True))


def clause_table(program: Program, weights: npt.NDArray[np.float64] | None = None) -> pa.Table:
    r"""Return the clauses of a program.

    Parameters
    ----------
    program : Program
    weights : float array, shape (m,), optional
        Log-odds; those of the program by default.

    Returns
    -------
    pyarrow.Table
        Columns `clause` (id), `text`, `weight` (NULL for hard clauses), `hard`, `rule` (from 0). Definitions of helper
        predicates are left out.

    Examples
    --------
    >>> from sqlrl.ground.sample import sample_program
    >>> text = "Token(word, bib)\nTopic(bib)\nToken(+w, b) => Topic(b)"
    >>> program = sample_program(text, ["Topic"], {"Token": [("sql", "B1"), ("rule", "B2")]})
    >>> program.expand()
    2
    >>> clause_table(program, np.array([0.5, -1.0])).select(["text", "weight"]).to_pylist()
    [{'text': 'Token("rule", b) => Topic(b)', 'weight': 0.5}, {'text': 'Token("sql", b) => Topic(b)', 'weight': -1.0}]
    """
    weights = program.weights() if weights is None else weights
    ids, texts, hard, rules = list[int](), list[str](), list[bool](), list[int]()
    places = {id(rule): i for i, rule in enumerate(program.model.rules)}
    plain = {
        feature: clause
        for clause, feature in enumerate(program.feature_of)
        if not program.features[feature].feature.plus
    }
    for i, bound in enumerate(program.features):
        if bound.rule is None:
            continue
        found, lines = ([plain[i]], [_text(bound)]) if i in plain else _template_texts(program, i)
        ids += found
        texts += lines
        hard += [bound.hard] * len(found)
        rules += [places[id(bound.rule)]] * len(found)
    shown = pa.array(weights[np.array(ids, dtype=np.int64)], mask=np.array(hard, dtype=bool))
    data = {"clause": pa.array(ids, pa.int64()), "text": pa.array(texts, pa.string()), "weight": shown}
    return pa.table({**data, "hard": pa.array(hard, pa.bool_()), "rule": pa.array(rules, pa.int32())}).sort_by("clause")


def _text(bound: BoundFeature) -> str:
    assert bound.rule is not None
    return format_formula(bound.rule.formula) + ("." if bound.hard else "")


def _template_texts(program: Program, feature: int) -> tuple[list[int], list[str]]:
    """Print the clauses of a template: its text once, cut where constants go."""
    bound = program.features[feature]
    assert bound.rule is not None
    clauses, rows = expansion_names(program, feature)
    marks = {name: f"\x00{j}\x00" for j, name in enumerate(bound.feature.plus)}
    pieces = _MARK.split(format_formula(fill(bound.rule.formula, marks)))
    printed = {name: str(Constant(name)) for row in rows for name in row}
    end = "." if bound.hard else ""
    fixed, places = pieces[::2], [int(piece) for piece in pieces[1::2]]
    texts = [
        fixed[0] + "".join(printed[row[j]] + piece for j, piece in zip(places, fixed[1:], strict=True)) + end
        for row in rows
    ]
    return clauses, texts


def shape_table(program: Program) -> pa.Table:
    """Return the shapes of a program: columns `shape`, `text`, `literals`.

    Examples
    --------
    >>> from sqlrl.ground.sample import FRIENDS, PEOPLE, sample_program
    >>> program = sample_program(PEOPLE, ["Smokes"], FRIENDS)
    >>> shape_table(program).to_pylist()
    [{'shape': 0, 'text': '!Friends(v0, v1) v !Smokes(v0) v Smokes(v1)', 'literals': 3}]
    """
    rows = [
        {"shape": i, "text": str(shape), "literals": len(shape.literals) + len(shape.exists)}
        for i, shape in enumerate(program.shapes)
    ]
    return pa.Table.from_pylist(
        rows, schema=pa.schema([("shape", pa.int32()), ("text", pa.string()), ("literals", pa.int32())])
    )


def learned_model(program: Program, weights: npt.NDArray[np.float64]) -> Model:
    r"""Return the program's model with weights; templates list their clauses.

    Parameters
    ----------
    program : Program
    weights : float array, shape (m,)
        Log-odds by clause.

    Returns
    -------
    Model
        Its rules are those of the program in order, signs chosen; rules that only state a block come as they were. A rule that
        stands there several times (see `sqlrl.logic.alchemy.normal_rules`) has the sum of its weights.

    Examples
    --------
    >>> from sqlrl.ground.sample import sample_program
    >>> text = "Token(word, bib)\nTopic(bib)\nToken(+w, b) => Topic(b)"
    >>> program = sample_program(text, ["Topic"], {"Token": [("sql", "B1"), ("rule", "B2")]})
    >>> program.expand()
    2
    >>> learned_model(program, np.array([0.5, -1.0])).rules[0].expansions
    Expansions(variables=('w',), rows=(('rule',), ('sql',)), weights=(0.5, -1.0), found=False)
    """
    of_rule: dict[int, tuple[int, BoundFeature]] = {
        id(bound.rule): (i, bound) for i, bound in enumerate(program.features) if bound.rule is not None
    }
    first: dict[int, int] = {}
    for clause, feature in enumerate(program.feature_of):
        first.setdefault(feature, clause)
    rules: list[Rule] = []
    for rule in program.model.rules:
        if rule.hard or id(rule) not in of_rule:
            rules.append(rule)
            continue
        feature, bound = of_rule[id(rule)]
        rules.append(_weighted(program, rule, feature, bound, first, weights))
    return replace(program.model.with_rules(tuple(rules)), learned=True)


def _weighted(
    program: Program,
    rule: Rule,
    feature: int,
    bound: BoundFeature,
    first: dict[int, int],
    weights: npt.NDArray[np.float64],
) -> Rule:
    if not bound.feature.plus:
        return Rule(rule.formula, float(weights[first[feature]]), line=rule.line, path=rule.path)
    clauses, rows = expansion_names(program, feature)
    places = [j for j, name in enumerate(bound.feature.plus) if name not in _unmentioned(bound)]
    sums: dict[tuple[str, ...], float] = {}
    if len(places) == len(bound.feature.plus):
        listed = Expansions(bound.feature.plus, tuple(rows), tuple(float(weights[c]) for c in clauses))
        return Rule(rule.formula, None, expansions=listed, line=rule.line, path=rule.path)
    for clause, row in zip(clauses, rows, strict=True):
        key = tuple(row[j] for j in places)
        sums[key] = sums.get(key, 0.0) + float(weights[clause])
    if not places:
        return Rule(rule.formula, sums.get((), 0.0), line=rule.line, path=rule.path)
    listed = Expansions(tuple(bound.feature.plus[j] for j in places), tuple(sums), tuple(sums.values()))
    return Rule(rule.formula, None, expansions=listed, line=rule.line, path=rule.path)


def _unmentioned(bound: BoundFeature) -> dict[str, str]:
    """Return the `+` variables, with their types, for each combination of whose constants a rule stands there once more."""
    if bound.rule is None or not bound.feature.plus:
        return {}
    mentioned = {term.name for term in terms_of(bound.rule.formula) if isinstance(term, Variable)}
    kinds = dict(bound.feature.variables)
    return {name: kinds[name] for name in bound.feature.plus if name not in mentioned}


def stated_model(program: Program) -> Model:
    r"""Return the program's model, in which a rule that stands there several times has the sum of its weights.

    Examples
    --------
    >>> from sqlrl.ground.sample import FRIENDS, PEOPLE, sample_program
    >>> program = sample_program(PEOPLE, ["Smokes"], FRIENDS)
    >>> stated_model(program) == program.model
    True
    """
    times = {
        id(bound.rule): prod(program.layout.types[kind].size for kind in _unmentioned(bound).values())
        for bound in program.features
    }
    return program.model.with_rules(
        tuple(
            rule
            if rule.weight is None or times.get(id(rule), 1) == 1
            else replace(rule, weight=rule.weight * times[id(rule)])
            for rule in program.model.rules
        )
    )
