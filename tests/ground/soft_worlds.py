"""Small worlds of soft truths, made table by table, and the hinges of rules over them by enumeration of all groundings."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import pyarrow as pa

from sqlrl.catalog.layout import Layout, PredicateInfo, TableName, TypeInfo
from sqlrl.engine.base import QueryEngine
from sqlrl.engine.connection import connect
from sqlrl.ground.soft_program import SoftProgram
from sqlrl.logic.psl import LogicalRule, SoftModel
from sqlrl.logic.psl_arithmetic import ArithmeticRule, coefficient_value
from sqlrl.logic.psl_files import parse_psl
from sqlrl.logic.psl_literals import Both, Condition, Either, OrderLiteral
from sqlrl.logic.terms import Constant, EqualityLiteral, Literal, Term, Variable

Tuple = tuple[str, ...]


@dataclass(frozen=True)
class Data:
    """What is known of a predicate, and its query atoms; `valued` says whether it has soft truths."""

    arity: int
    known: Mapping[Tuple, float] = field(default_factory=dict)
    atoms: tuple[Tuple, ...] | None = None
    valued: bool = False


@dataclass(frozen=True)
class World:
    """Predicates over constants of one type."""

    names: tuple[str, ...]
    data: Mapping[str, Data]

    def numbered(self) -> dict[tuple[str, Tuple], int]:
        """Return the id of each query atom, from 1, in order of predicates."""
        opened = [(name, x) for name in sorted(self.data) for x in self.data[name].atoms or ()]
        return {each: i + 1 for i, each in enumerate(opened)}

    def program(self, model: SoftModel, *, observed_bodies: bool = False) -> SoftProgram:
        """Hold a model against these data."""
        engine = connect(":memory:", threads=1)
        return SoftProgram(engine, self.layout(engine), model, observed_bodies=observed_bodies)

    def layout(self, engine: QueryEngine) -> Layout:
        """Make the tables, and return what they are."""
        catalog, schema = engine.scratch
        at = lambda name: TableName(catalog, schema, name)  # noqa: E731
        place = {name: i for i, name in enumerate(self.names)}
        ids = pa.table({"id": pa.array(range(len(self.names)), pa.int32()), "name": pa.array(self.names, pa.string())})
        engine.create_table(at("names"), ids, step="test")
        example = pa.table(
            {"example": pa.array([0], pa.int32()), "name": ["all"], "ordinal": pa.array([0], pa.int32())}
        )
        engine.create_table(at("example"), example, step="test")
        number = self.numbered()
        infos = {}
        for name, data in self.data.items():
            rows = list(data.known.items())
            columns = {f"a{i}": pa.array([place[x[i]] for x, _ in rows], pa.int32()) for i in range(data.arity)}
            opened = data.atoms is not None
            if opened:
                columns["truth"] = pa.array([v >= 0.5 for _, v in rows], pa.bool_())
                columns["given"] = pa.array([True for _ in rows], pa.bool_())
            if data.valued:
                columns["value"] = pa.array([v for _, v in rows], pa.float64())
            engine.create_table(at(f"fact_{name}"), pa.table(columns), step="test")
            if opened:
                atoms = data.atoms or ()
                columns = {
                    "atom": pa.array([number[name, x] for x in atoms], pa.int64()),
                    "example": pa.array([0] * len(atoms), pa.int32()),
                }
                columns |= {f"a{i}": pa.array([place[x[i]] for x in atoms], pa.int32()) for i in range(data.arity)}
                columns["truth"] = pa.array([None] * len(atoms), pa.bool_())
                columns["prior"] = pa.array([None] * len(atoms), pa.float64())
                engine.create_table(at(f"atom_{name}"), pa.table(columns), step="test")
            every = len(data.known) + len(data.atoms or ()) == len(self.names) ** data.arity
            infos[name] = PredicateInfo(
                name, ("name",) * data.arity, opened, at(f"fact_{name}"), at(f"atom_{name}") if opened else None,
                full_scope=opened and every, has_given=opened and bool(rows), rows=len(rows), atom_count=len(data.atoms or ()), valued=data.valued,
            )  # fmt: skip
        types = {"name": TypeInfo("name", at("names"), len(self.names))}
        return Layout(infos, types, None, at("example"), 1, (catalog, schema))


def random_world(seed: int) -> World:
    """Return a world with closed predicates C, V (soft) and D, and open ones P, Q (some observed), R (soft and observed)."""
    rng = random.Random(seed)
    names = tuple("abcd"[: rng.randint(2, 4)])

    def some(arity: int, share: float, *, soft: bool) -> dict[Tuple, float]:
        """Return values of some tuples."""
        picked = [x for x in itertools.product(names, repeat=arity) if rng.random() < share]
        return {x: rng.choice([0.0, 0.25, 0.3, 0.5, 0.8, 1.0]) if soft else 1.0 for x in picked}

    def opened(arity: int, observed: float, share: float, *, soft: bool) -> Data:
        """Return an open predicate."""
        known = some(arity, observed, soft=soft)
        if not soft:
            known = {x: float(rng.random() < 0.5) for x in known}
        left = [x for x in itertools.product(names, repeat=arity) if x not in known and rng.random() < share]
        return Data(arity, known, tuple(left), soft)

    share = rng.choice([0.5, 1.0])
    return World(
        names,
        {
            "C": Data(2, some(2, 0.6, soft=False)),
            "D": Data(1, some(1, 0.6, soft=False)),
            "V": Data(2, some(2, 0.7, soft=True), valued=True),
            "P": opened(2, 0.0, share, soft=False),
            "Q": opened(1, 0.3, share, soft=False),
            "R": opened(2, 0.4, share, soft=True),
        },
    )


# ---- by enumeration ----------------------------------------------------------------------------------

Expression = tuple[dict[int, float], float]
"""Coefficients by the id of the atom, and a constant."""


def enumerated(world: World, model: SoftModel, *, observed_bodies: bool = False) -> list[tuple[int, Expression]]:
    """Return the expression of each grounding of each rule; those of `>=` are turned round. With `observed_bodies` query atoms of bodies are 0."""
    found: list[tuple[int, Expression]] = []
    for i, rule in enumerate(model.rules):
        logical = isinstance(rule, LogicalRule)
        each = _logical(world, rule, observed_bodies=observed_bodies) if logical else _arithmetic(world, rule)
        found.extend((i, x) for x in each)
    return found


def _ground(world: World, literal: Literal, binding: Mapping[str, str]) -> tuple[int | None, float]:
    """Return the atom and the value of a ground literal's atom."""
    terms = tuple(binding[t.name] if isinstance(t, Variable) else t.name for t in literal.terms)
    data = world.data[literal.predicate]
    if data.atoms is not None and terms in data.atoms:
        return world.numbered()[literal.predicate, terms], 0.0
    return None, data.known.get(terms, 0.0)


def _holds(world: World, literal: EqualityLiteral | OrderLiteral, binding: Mapping[str, str]) -> bool:
    left, right = (_name(t, binding) for t in (literal.left, literal.right))
    if isinstance(literal, EqualityLiteral):
        return (left == right) == literal.positive
    place = {name: i for i, name in enumerate(world.names)}
    return (place.get(left, -1) < place.get(right, -1)) == literal.positive


def _name(term: Term, binding: Mapping[str, str]) -> str:
    return binding[term.name] if isinstance(term, Variable) else term.name


def _bindings(world: World, names: list[str]) -> Iterator[dict[str, str]]:
    for values in itertools.product(world.names, repeat=len(names)):
        yield dict(zip(names, values, strict=True))


def _names(terms: Iterator[Term] | tuple[Term, ...]) -> list[str]:
    return [t.name for t in terms if isinstance(t, Variable)]


def _logical(world: World, rule: LogicalRule, *, observed_bodies: bool) -> Iterator[Expression]:
    atoms = [x for x in rule.clause if isinstance(x, Literal)]
    names = list(dict.fromkeys(n for x in atoms for n in _names(x.terms)))
    bound = {n for x in atoms if not x.positive for n in _names(x.terms)}
    left = set(names) - bound
    having = [x for x in atoms if x.positive and left & set(_names(x.terms))]
    alone = (
        having[0]
        if len(having) == 1
        and world.data[having[0].predicate].atoms is not None
        and left <= set(_names(having[0].terms))
        else None
    )
    for binding in _bindings(world, names):
        if any(_holds(world, x, binding) for x in rule.clause if not isinstance(x, Literal)):
            continue
        if alone is not None:
            terms = tuple(_name(t, binding) for t in alone.terms)
            data = world.data[alone.predicate]
            if terms not in data.known and terms not in (data.atoms or ()):
                continue
        coefficients: dict[int, float] = {}
        constant = 1.0 - sum(not x.positive for x in atoms)
        for place, x in enumerate(rule.clause):
            if not isinstance(x, Literal):
                continue
            atom, value = _ground(world, x, binding)
            sign = -1.0 if x.positive else 1.0
            constant += sign * value
            if atom is not None and not (observed_bodies and place < len(rule.body)):
                coefficients[atom] = coefficients.get(atom, 0.0) + sign
        yield coefficients, constant


def _condition(world: World, condition: Condition, binding: Mapping[str, str]) -> bool:
    if isinstance(condition, Both):
        return all(_condition(world, x, binding) for x in condition.parts)
    if isinstance(condition, Either):
        return any(_condition(world, x, binding) for x in condition.parts)
    if isinstance(condition, Literal):
        return (_ground(world, condition, binding)[1] > 0) == condition.positive
    return _holds(world, condition, binding)


def _arithmetic(world: World, rule: ArithmeticRule) -> Iterator[Expression]:
    summed = set(rule.summed)
    atoms = [t.atom for t in rule.terms if isinstance(t.atom, Literal)]
    names = list(dict.fromkeys(n for x in atoms for n in _names(x.terms) if n not in summed))
    opened = [x for x in atoms if world.data[x.predicate].atoms is not None]
    bound = {n for x in opened for n in _names(x.terms)} - summed

    def exists(literal: Literal, binding: Mapping[str, str]) -> bool:
        """Whether some tuple of a literal is known or to be inferred."""
        data = world.data[literal.predicate]
        if data.atoms is None and opened and set(_names(literal.terms)) - summed <= bound:
            return True
        rows = {*data.known, *(data.atoms or ())}
        return any(
            all(_matches(t, value, binding) for t, value in zip(literal.terms, row, strict=True)) for row in rows
        )

    for binding in _bindings(world, names):
        if not all(_holds(world, t.atom, binding) for t in rule.terms if not isinstance(t.atom, Literal)):
            continue
        if not all(exists(x, binding) for x in atoms):
            continue
        through: dict[str, set[str]] = {name: set() for name in summed}
        parts: list[tuple[int, int | None, float]] = []
        for k, term in enumerate(rule.terms):
            if not isinstance(term.atom, Literal):
                parts.append((k, None, 1.0))
                continue
            data = world.data[term.atom.predicate]
            inner = [n for n in _names(term.atom.terms) if n in summed]
            for more in _bindings(world, inner):
                whole = {**binding, **more}
                row = tuple(_name(t, whole) for t in term.atom.terms)
                if row not in data.known and row not in (data.atoms or ()):
                    continue
                if not all(_condition(world, f.condition, whole) for f in rule.filters if f.variable in more):
                    continue
                for name in inner:
                    through[name].add(more[name])
                parts.append((k, *_ground(world, term.atom, whole)))
        counts = {name: len(found) for name, found in through.items()}
        sign = -1.0 if rule.comparator == ">=" else 1.0
        coefficients: dict[int, float] = {}
        constant = -sign * coefficient_value(rule.constant, counts)
        for k, atom, value in parts:
            coefficient = sign * coefficient_value(rule.terms[k].coefficient, counts)
            constant += coefficient * value
            if atom is not None:
                coefficients[atom] = coefficients.get(atom, 0.0) + coefficient
        yield coefficients, constant


def _matches(term: Term, value: str, binding: Mapping[str, str]) -> bool:
    if isinstance(term, Constant):
        return term.name == value
    return term.plus or binding[term.name] == value


def penalty(model: SoftModel, found: list[tuple[int, Expression]], y: Mapping[int, float]) -> list[float]:
    """Return the sum of the distances of each rule that is not hard."""
    total = [0.0] * len(model.rules)
    for i, (coefficients, constant) in found:
        rule = model.rules[i]
        if rule.hard:
            continue
        value = constant + math.fsum(c * y[a] for a, c in coefficients.items())
        both = isinstance(rule, ArithmeticRule) and rule.comparator == "="
        distance = abs(value) if both else max(value, 0.0)
        total[i] += distance * distance if rule.squared else distance
    return total


def hard(
    model: SoftModel, found: list[tuple[int, Expression]]
) -> set[tuple[int, tuple[tuple[int, float], ...], float]]:
    """Return the hard hinges that have an atom and may be violated, each once, with rounded numbers."""
    kept = set()
    for i, (coefficients, constant) in found:
        rule = model.rules[i]
        left = {a: c for a, c in coefficients.items() if c}
        both = isinstance(rule, ArithmeticRule) and rule.comparator == "="
        if rule.hard and left and (both or constant + sum(max(c, 0.0) for c in left.values()) > 1e-12):
            kept.add((i, tuple(sorted((a, round(c, 9)) for a, c in left.items())), round(constant, 9)))
    return kept


def soft_model(text: str) -> SoftModel:
    """Parse rules over the predicates of `random_world`."""
    return parse_psl(text, query=("P", "Q", "R")) if not isinstance(text, SoftModel) else text
