"""The clauses, ground clauses and atoms of a program as text and names: what a user sees of ids."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain, repeat
from math import prod

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from sqlglot import exp

from sqlrl.catalog.layout import Layout, PredicateInfo
from sqlrl.catalog.views import typed_names
from sqlrl.distinct import distinct_values
from sqlrl.engine.base import QueryEngine
from sqlrl.engine.nodes import column, integer, named, table
from sqlrl.ground.network import BLOCK, FloatArray, IntArray, Network
from sqlrl.ground.program import BoundFeature, Program, ShapeUse, rows_table
from sqlrl.logic.expansions import canonical_variables, expand, fill
from sqlrl.logic.model import Expansions, Model, Rule
from sqlrl.logic.printer import format_formula
from sqlrl.logic.shapes import Shape, ShapeEquality, ShapeExists, ShapeLiteral, Slot
from sqlrl.logic.subformulas import atoms_of, terms_of
from sqlrl.logic.terms import (
    Constant,
    EqualityLiteral,
    ExistsLiteral,
    Formula,
    Helper,
    Literal,
    Term,
    Variable,
    constant_text,
)

_MARK = re.compile('"\x00([0-9]+)\x00"')

_TAKEN = ("example", "truth", "margin", "value", "probability", "error", "rhat", "ess", "method")
"""Columns that tables of predictions and probabilities have beside the arguments."""

_ID = "atom id"
"""The column of ids beside names: a type may be called atom, but no type has a blank in its name."""


def expansion_names(program: Program, feature: int) -> tuple[list[int], list[tuple[str, ...]]]:
    """Return the clauses of a template and the constants of their `+` variables, ordered by clause."""
    bound = program.features[feature]
    if bound.expansions is not None:
        first = program.feature_of.index(feature) if bound.expansions.rows else 0
        order = [bound.expansions.variables.index(name) for name in bound.feature.plus]
        rows = [tuple(row[j] for j in order) for row in bound.expansions.rows]
        return list(range(first, first + len(rows))), rows
    kinds = dict(bound.feature.variables)
    # Where Ctrl-C stopped an expansion, the table may be ahead of the program.
    known = column("clause", "e") < integer(program.clause_count)
    query = exp.select(column("clause", "e")).from_(table(program.expansions[feature], "e")).where(known)
    for j, name in enumerate(bound.feature.plus):
        dictionary = table(program.layout.types[kinds[name]].dictionary, f"d{j}")
        query = query.join(dictionary, on=exp.EQ(this=column("id", f"d{j}"), expression=column(f"plus{j}", "e")))
        query = query.select(named(column("name", f"d{j}"), f"name{j}"))
    data = program.engine.fetch(query.order_by(column("clause", "e")), step="read the clauses of a template")
    names = [data.column(f"name{j}").to_pylist() for j in range(len(bound.feature.plus))]
    return data.column("clause").to_pylist(), list(zip(*names, strict=True))


def clause_table(program: Program, weights: npt.NDArray[np.float64] | None = None, *, keys: bool = False) -> pa.Table:
    """Return the clauses without helper definitions as a table; `weight` is log-odds, NULL if hard, `rule` is from 0."""
    weights = program.weights() if weights is None else weights
    ids, texts, hard, rules, alike = list[int](), list[str](), list[bool](), list[int](), list[str]()
    places = {id(rule): i for i, rule in enumerate(program.model.rules)}
    plain = {
        feature: clause
        for clause, feature in enumerate(program.feature_of)
        if not program.features[feature].feature.plus
    }
    for i, bound in enumerate(program.features):
        if bound.rule is None:
            continue
        formulas = [bound.rule.formula]
        if keys:
            # The key is equal for clauses that differ in names of variables alone.
            formulas.append(canonical_variables(bound.rule.formula, bound.feature.plus))
        if i in plain:
            found, lines = [plain[i]], [[_text(bound, formula)] for formula in formulas]
        else:
            found, lines = _template_texts(program, i, formulas)
        ids += found
        texts += lines[0]
        alike += lines[-1]
        hard += [bound.hard] * len(found)
        rules += [places[id(bound.rule)]] * len(found)
    shown = pa.array(weights[np.array(ids, dtype=np.int64)], mask=np.array(hard, dtype=bool))
    data = {"clause": pa.array(ids, pa.int64()), "text": pa.array(texts, pa.string()), "weight": shown}
    data |= {"hard": pa.array(hard, pa.bool_()), "rule": pa.array(rules, pa.int32())}
    if keys:
        data["key"] = pa.array(alike, pa.string())
    return pa.table(data).sort_by("clause")


def _text(bound: BoundFeature, formula: Formula) -> str:
    return format_formula(formula) + ("." if bound.hard else "")


def _template_texts(program: Program, feature: int, formulas: Sequence[Formula]) -> tuple[list[int], list[list[str]]]:
    """Print the clauses of a template, whose formula may be written in several ways: each text once, cut where constants go."""
    bound = program.features[feature]
    clauses, rows = expansion_names(program, feature)
    marks = {name: f"\x00{j}\x00" for j, name in enumerate(bound.feature.plus)}
    columns = [_printed(column) for column in zip(*rows, strict=True)] or [[] for _ in marks]
    found: dict[str, list[str]] = {}
    lines = []
    for formula in formulas:
        text = _text(bound, fill(formula, marks))
        if text not in found:
            fixed = _MARK.split(text)
            parts = [columns[int(x)] if j % 2 else repeat(x, len(rows)) for j, x in enumerate(fixed)]
            found[text] = ["".join(pieces) for pieces in zip(*parts, strict=True)]
        lines.append(found[text])
    return clauses, lines


def _printed(names: Sequence[str]) -> list[str]:
    """Return constants as formulas have them, each printed once."""
    known = {name: constant_text(name) for name in set(names)}
    return [known[name] for name in names]


def clause_keys(program: Program, first: int = 0) -> dict[int, str]:
    """Return texts of the clauses with weights from an id on, by id: alike for clauses that differ in names of variables alone."""
    new = set(program.feature_of[first:])
    plain = {feature: clause for clause, feature in enumerate(program.feature_of)}
    found: dict[int, str] = {}
    for i, bound in enumerate(program.features):
        if bound.rule is None or bound.hard or i not in new:
            continue
        formula = canonical_variables(bound.rule.formula, bound.feature.plus)
        if bound.feature.plus:
            clauses, (texts,) = _template_texts(program, i, [formula])
            found |= zip(clauses, texts, strict=True)
        else:
            found[plain[i]] = format_formula(formula)
    return {clause: found[clause] for clause in sorted(found) if clause >= first}


def known_weights(program: Program, model: Model, first: int, last: int) -> tuple[FloatArray, int]:
    """Return a model's weights of the clauses `first` to `last - 1`, 0 if unknown, and how many from `first` on it knows."""
    said: dict[str, float] = {}
    for rule in expand(model).rules:
        if not rule.hard and rule.weight is not None:
            key = format_formula(canonical_variables(rule.formula))
            said[key] = said.get(key, 0.0) + rule.weight
    keys = clause_keys(program, first)
    # Clauses are the same if formula and constants are, whatever their variables are called; copies share the weight.
    times = Counter(keys.values())
    weights = np.zeros(last - first)
    for clause, key in keys.items():
        if clause < last and key in said:
            weights[clause - first] = said[key] / times[key]
    return weights, sum(key in said for key in keys.values())


def shape_table(program: Program) -> pa.Table:
    """Return the shapes of a program: columns `shape`, `text`, `literals`."""
    rows = [
        {"shape": i, "text": str(shape), "literals": len(shape.literals) + len(shape.exists)}
        for i, shape in enumerate(program.shapes)
    ]
    return pa.Table.from_pylist(
        rows, schema=pa.schema([("shape", pa.int32()), ("text", pa.string()), ("literals", pa.int32())])
    )


def shape_rows(program: Program, use: ShapeUse, first: int) -> tuple[IntArray, npt.NDArray[np.int32]]:
    """Return the clauses of a shape with parameters from the id `first` on, and the constants of each: shapes (c,) and (c, k)."""
    assert use.parameters is not None, "the shape has parameters"
    names = [f"k{k}" for k in range(len(use.shape.parameters))]
    query = exp.select(column("clause"), *(column(name) for name in names)).from_(table(use.parameters))
    query = query.where(column("clause") >= exp.convert(first))
    found = program.engine.fetch(query, step="read the clauses of a shape")
    rows = np.stack([found.column(name).to_numpy() for name in names], axis=1).astype(np.int32)
    return found.column("clause").to_numpy(), rows


def constant_names(program: Program, kind: str) -> list[str]:
    """Return the names of a type's constants, by id."""
    query = exp.select(column("name")).from_(table(program.layout.types[kind].dictionary)).order_by("id")
    found: list[str] = program.engine.fetch(query, step=f"read the names of {kind}").column(0).to_pylist()
    return found


def learned_model(
    program: Program,
    weights: npt.NDArray[np.float64],
    constants: Callable[[str], Sequence[str]]
    | None = None,  # those of a type, in order; of the program's data by default
) -> Model:
    """Return the program's model with weights (log-odds by clause, shape (m,)); templates list their clauses."""
    of_rule: dict[int, tuple[int, BoundFeature]] = {
        id(bound.rule): (i, bound) for i, bound in enumerate(program.features) if bound.rule is not None
    }
    # Of several clauses of a feature the first one comes last here.
    first = dict(zip(reversed(program.feature_of), range(program.clause_count - 1, -1, -1), strict=True))
    rules: list[Rule] = []
    for rule in program.model.rules:
        # Rules that only state a block have no feature; they come as they were.
        if rule.hard or rule.fixed or id(rule) not in of_rule:
            rules.append(rule)
            continue
        feature, bound = of_rule[id(rule)]
        rules.append(_weighted(program, rule, feature, bound, first, weights))
    model = replace(program.model.with_rules(tuple(rules)), types=_declared(program, rules, constants), learned=True)
    kinds = {kind for predicate in model.predicates.values() for kind in predicate.types}
    cut = {name: info.edges for name, info in program.public_layout.types.items() if info.edges and name in kinds}
    return replace(model, bins={**model.bins, **cut})


def listed_types(program: Program, rules: Sequence[Rule]) -> dict[str, set[str] | None]:
    """Return the types of which a learned model lists constants, and which: None for all over which a block of a target ranges."""
    layout = program.public_layout
    places = {
        info.name: [
            (i, kind)
            for i, kind in enumerate(info.types)
            if not layout.types[kind].local and kind != layout.example_type
        ]
        for info in layout.predicates.values()
        if info.open
    }
    blocks = {rule.predicate: rule.positions for rule in program.blocks}
    # To predict on other data a model needs the constants over which a block of a target ranges, and those that rules
    # name at an argument of a target; the entities of the training data do not matter.
    ranges = {kind for name, listed in places.items() for i, kind in listed if i in blocks.get(name, ())}
    named: dict[str, set[str]] = {}
    for rule in rules:
        for atom in atoms_of(rule.formula):
            for i, kind in places.get(atom.predicate, ()):
                if kind not in ranges:
                    named.setdefault(kind, set()).update(_named_by(rule, atom.terms[i]))
    return {kind: names for kind, names in named.items() if names} | dict.fromkeys(ranges)


def _declared(
    program: Program, rules: Sequence[Rule], constants: Callable[[str], Sequence[str]] | None
) -> dict[str, tuple[str, ...]]:
    """Return the constants that a learned model lists, by type: first those of the model, then others as the data have them."""
    found = dict(program.model.types)
    for kind, names in sorted(listed_types(program, rules).items()):
        every = constant_names(program, kind) if constants is None else constants(kind)
        more = [name for name in every if names is None or name in names]
        found[kind] = tuple(dict.fromkeys([*found.get(kind, ()), *more]))
    return found


def _named_by(rule: Rule, term: Term) -> Iterable[str]:
    """Return the constants that a term of a rule is: one, or those of the clauses that a template lists."""
    listed = rule.expansions
    if isinstance(term, Constant):
        return (term.name,)
    if listed is None or term.name not in listed.variables:
        return ()
    place = listed.variables.index(term.name)
    return (row[place] for row in listed.rows)


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
    one_by_one = bound.expansions is not None and bound.expansions.found
    places = [j for j, name in enumerate(bound.feature.plus) if name not in _unmentioned(bound)]
    # A rule that occurs several times (see `sqlrl.logic.alchemy.normal_rules`) has the sum of its weights.
    sums: dict[tuple[str, ...], float] = {}
    if len(places) == len(bound.feature.plus):
        listed = Expansions(bound.feature.plus, tuple(rows), tuple(weights[clauses].tolist()), one_by_one)
        return Rule(rule.formula, None, expansions=listed, line=rule.line, path=rule.path)
    for clause, row in zip(clauses, rows, strict=True):
        key = tuple(row[j] for j in places)
        sums[key] = sums.get(key, 0.0) + float(weights[clause])
    if not places:
        return Rule(rule.formula, sums.get((), 0.0), line=rule.line, path=rule.path)
    listed = Expansions(tuple(bound.feature.plus[j] for j in places), tuple(sums), tuple(sums.values()), one_by_one)
    return Rule(rule.formula, None, expansions=listed, line=rule.line, path=rule.path)


def _unmentioned(bound: BoundFeature) -> dict[str, str]:
    """Return the `+` variables, with their types, for each combination of whose constants a rule stands there once more."""
    if bound.rule is None or not bound.feature.plus:
        return {}
    mentioned = {term.name for term in terms_of(bound.rule.formula) if isinstance(term, Variable)}
    kinds = dict(bound.feature.variables)
    return {name: kinds[name] for name in bound.feature.plus if name not in mentioned}


def stated_model(program: Program) -> Model:
    """Return the program's model, in which a rule that stands there several times has the sum of its weights."""
    times = {
        id(bound.rule): prod(program.layout.types[kind].size for kind in _unmentioned(bound).values())
        for bound in program.features
    }
    rules = tuple(
        rule
        if rule.weight is None or times.get(id(rule), 1) == 1
        else replace(rule, weight=rule.weight * times[id(rule)])
        for rule in program.model.rules
    )
    # They say what they said, so that runs of the model are found by it.
    return replace(program.model, rules=rules)


# ---- names of atoms and ground clauses ---------------------------------------------------------------


def named_atoms(layout: Layout, info: PredicateInfo) -> exp.Select:
    """Select `example` and `argument_names`, as names, of a predicate's query atoms, whose table has the alias `a`."""
    assert info.atoms is not None
    query = exp.select(named(column("name", "x"), "example")).from_(table(info.atoms, "a"))
    on = exp.EQ(this=column("example", "x"), expression=column("example", "a"))
    query = query.join(table(layout.examples, "x"), on=on)
    for i, (name, kind) in enumerate(zip(argument_names(info), info.types, strict=True)):
        dictionary = table(layout.types[kind].dictionary, f"d{i}")
        query = query.join(dictionary, on=exp.EQ(this=column("id", f"d{i}"), expression=column(f"a{i}", "a")))
        query = query.select(named(column("name", f"d{i}"), name))
    return query


def argument_names(info: PredicateInfo) -> tuple[str, ...]:
    """Return distinct column names for the arguments of a predicate: the types, numbered from the second one of a type."""
    return names_of_types(info.types)


def names_of_types(types: Iterable[str]) -> tuple[str, ...]:
    """Return distinct column names for arguments of types, beside those of what is found of an atom."""
    return tuple(typed_names(types, _TAKEN))


def atom_texts(program: Program, atoms: npt.NDArray[np.int64]) -> dict[int, str]:
    """Return query atoms as text, by id; helper atoms have no names of their own and show their predicate's."""
    texts: dict[int, str] = {}
    with program.rows_table(pa.table({"atom": distinct_values(atoms)})) as source:
        for info in (p for p in program.layout.predicates.values() if p.open):
            query = named_atoms(program.layout, info).select(named(column("atom", "a"), _ID))
            on = exp.EQ(this=column("atom", "w"), expression=column("atom", "a"))
            data = program.engine.fetch(query.join(table(source, "w"), on=on), step=f"name the atoms of {info.name}")
            for row in data.to_pylist():
                terms = tuple(Constant(row[name]) for name in argument_names(info))
                texts[row[_ID]] = str(Literal(info.name, terms))
    return texts


def example_names(engine: QueryEngine, layout: Layout, examples: npt.NDArray[np.int64]) -> dict[int, str]:
    """Return the names of examples, by id, from one query."""
    with rows_table(engine, layout, pa.table({"example": np.unique(examples).astype(np.int32)})) as chosen:
        query = exp.select(column("example", "e"), column("name", "e")).from_(table(layout.examples, "e"))
        on = exp.EQ(this=column("example", "c"), expression=column("example", "e"))
        data = engine.fetch(query.join(table(chosen, "c"), on=on), step="name examples")
    return {row["example"]: row["name"] for row in data.to_pylist()}


def describer(program: Program, network: Network) -> Callable[[int, Sequence[int]], str]:
    """Return a function that prints a ground clause and the clause it comes from; for `BLOCK` it only names the atoms."""

    def describe(clause: int, literals: Sequence[int]) -> str:
        """Return a ground clause as text, with its constants."""
        ids = network.atoms[np.abs(np.array(literals, dtype=np.int64)) - 1]
        texts = atom_texts(program, ids)
        if clause == BLOCK:
            return ", ".join(texts[int(atom)] for atom in ids)
        ground = " v ".join(
            ("" if literal > 0 else "!") + texts[int(atom)] for literal, atom in zip(literals, ids, strict=True)
        )
        if clause < 0:
            return f"{ground} (another atom of its block is given as true)"
        listed = clause_table(program)
        found = np.flatnonzero(listed.column("clause").to_numpy() == clause)
        return f"{ground} (from {listed.column('text')[int(found[0])].as_py()})" if len(found) else ground

    return describe


# ---- ground clauses in words: literals with constants, variables as the clause calls them ------------


class GroundClauseWriter:
    """Writes the ground clauses of a shape, with constants and the names that the clause gives its variables."""

    def __init__(
        self,
        shape: Shape,
        variables: Iterable[str],  # what the clause calls the variables of the shape
        *,
        negated: bool = False,  # a conjunction, which is grounded as its negation and written as itself
        helpers: Iterable[Helper] = (),  # written as what they stand for
        implication: bool = False,  # whether `written` has an arrow
        formula: Formula | None = None,  # filled by `written`, of a rule that is one clause
        arguments: Sequence[Term] = (),  # of the shape's parameters
    ) -> None:
        self._shape, self._variables, self._negated = shape, tuple(variables), negated
        self._implication, self._formula, self._arguments = implication, formula, tuple(arguments)
        self._helpers = {helper.name: helper for helper in helpers}

    def text(self, values: Mapping[Slot, str | None]) -> str:
        """Return a ground clause; a variable not in `values` keeps its name, None is a constant that the data lack."""
        return (" ^ " if self._negated else " v ").join(self._parts(values))

    def written(self, values: Mapping[Slot, str | None]) -> str:
        """Return a ground clause with an arrow, where its rule has one."""
        if not self._implication:
            return self.text(values)
        if self._formula is not None:
            return format_formula(fill(self._formula, self._names(values)))
        parts = self._parts(values)
        left, right = [x[1:] for x in parts if x.startswith("!")], [x for x in parts if not x.startswith("!")]
        return f"{' ^ '.join(left)} => {' v '.join(right)}" if left and right else " v ".join(parts)

    def _names(self, values: Mapping[Slot, str | None]) -> dict[str, str]:
        """Return the constants of the rule's variables, as far as the clause has them."""
        names = {}
        for slot, name in values.items():
            term = self._arguments[slot.index] if slot.parameter else Variable(self._variables[slot.index])
            if isinstance(term, Variable):
                names[term.name] = "?" if name is None else name
        return names

    def _parts(self, values: Mapping[Slot, str | None]) -> list[str]:
        """Return the literals of a ground clause, negative ones first."""
        terms = {slot: Constant("?" if name is None else name) for slot, name in values.items()}
        kinds: dict[tuple[str, bool], set[str]] = {}
        for literal in sorted(self._shape.literals, key=lambda x: x.positive):
            kinds.setdefault((literal.predicate, literal.positive), set()).add(self._literal(literal, terms))
        # Negative ones first, as an implication reads; look-alikes in one order, each once, so that equal ground clauses
        # are equal texts.
        parts = [text for found in kinds.values() for text in sorted(found)]
        # An equality of two constants is false in every ground clause: it says nothing.
        unknown = [x for x in self._shape.equalities if not (x.left in values and x.right in values)]
        parts += [_equal(self._equality(x, terms), self._negated) for x in unknown]
        for group in self._shape.exists:
            text = self._exists(group, terms)
            parts.append(f"!({text})" if self._negated else f"({text})")
        return parts

    def _term(self, slot: Slot, terms: Mapping[Slot, Constant]) -> Term:
        return terms[slot] if slot in terms else Variable(self._variables[slot.index])

    def _literal(self, literal: ShapeLiteral, terms: Mapping[Slot, Constant], *, inside: bool = False) -> str:
        filled = tuple(self._term(slot, terms) for slot in literal.terms)
        positive = literal.positive != (self._negated and not inside)
        return self._words(Literal(literal.predicate, filled, positive))

    def _equality(self, equality: ShapeEquality, terms: Mapping[Slot, Constant]) -> EqualityLiteral:
        return EqualityLiteral(
            self._term(equality.left, terms), self._term(equality.right, terms), equality.positive
        )  # fmt: skip

    def _exists(self, group: ShapeExists, terms: Mapping[Slot, Constant]) -> str:
        names = ", ".join(self._variables[i] for i in group.variables)
        body = chain(
            (self._literal(x, terms, inside=True) for x in group.literals),
            (str(self._equality(x, terms)) for x in group.equalities),
        )
        return f"EXIST {names} {_joined(list(body))}"

    def _words(self, literal: Literal) -> str:
        """Return a literal as text; that of a helper predicate as the quantified conjunction that it stands for."""
        helper = self._helpers.get(literal.predicate)
        if helper is None:
            return str(literal)
        terms = dict(zip((name for name, _ in helper.variables), literal.terms, strict=True))
        definition = _filled(helper.definition, terms)
        names = ", ".join(name.replace("$", "") for name, _ in definition.variables)
        body = [self._words(x) if isinstance(x, Literal) else str(x) for x in definition.conjunction]
        return f"{'' if literal.positive else '!'}(EXIST {names} {_joined(body)})"


def _joined(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else f"({' ^ '.join(parts)})"


def _equal(equality: EqualityLiteral, negated: bool) -> str:
    return str(EqualityLiteral(equality.left, equality.right, equality.positive != negated))


def _filled(definition: ExistsLiteral, terms: Mapping[str, Term]) -> ExistsLiteral:
    """Put terms in place of the free variables of a definition; the quantified ones lose the `$` that sets them apart."""

    def term(old: Term) -> Term:
        """Return a term with its constant, or with the name that the user gave it."""
        if not isinstance(old, Variable):
            return old
        return terms.get(old.name, Variable(old.name.replace("$", "")))

    parts: list[Literal | EqualityLiteral] = []
    for part in definition.conjunction:
        if isinstance(part, Literal):
            parts.append(Literal(part.predicate, tuple(map(term, part.terms)), part.positive))
        else:
            parts.append(EqualityLiteral(term(part.left), term(part.right), part.positive))
    return ExistsLiteral(definition.variables, tuple(parts))
