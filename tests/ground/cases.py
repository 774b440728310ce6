"""Random databases and programs, loaded through the catalog, with what the definitions say of them."""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
from hypothesis import reject
from hypothesis import strategies as st
from sqlglot import exp

from sqlrl.catalog.catalog import Catalog
from sqlrl.catalog.layout import Layout, TableName
from sqlrl.engine.connection import connect
from sqlrl.engine.duckdb import DuckDBEngine
from sqlrl.errors import EngineError, ModelError, ScopeWarning, UnsupportedError
from sqlrl.ground.atoms import read_labels
from sqlrl.ground.binding import bind_program
from sqlrl.ground.network import Network
from sqlrl.ground.program import Program
from sqlrl.logic.model import Model, Rule
from sqlrl.logic.terms import (
    And,
    Argument,
    Atom,
    Constant,
    Equal,
    Exist,
    Formula,
    Iff,
    Implies,
    Not,
    Or,
    Predicate,
    Term,
    Variable,
)
from tests.ground.brute import Data, Formulas, Ground, atoms_of, equalities_of, free_variables, parts_of

TYPES = {"bib": ("B1", "B2", "B3"), "pos": ("P1", "P2", "P3"), "fld": ("F", "G")}
CLOSED = {"Tok": ("pos", "fld"), "Mark": ("pos",), "Next": ("pos", "pos"), "Cap": ("fld",)}
OPEN = {"In": ("fld", "pos"), "Lab": ("fld",), "Rel": ("pos", "pos")}
GLOBAL = frozenset({"Next", "Cap"})
VARIABLES = {"p": "pos", "q": "pos", "f": "fld", "g": "fld", "u": "pos", "w": "fld", "a": "pos", "b": "pos", "h": "fld"}
QUANTIFIED = ("u", "w")
FURTHER = ("a", "b", "h")
EXAMPLE = "c"
Tuple = tuple[str, ...]


@dataclass(frozen=True)
class Case:
    """Tuples start with the example, except those of global predicates."""

    kind: str
    closed: dict[str, frozenset[Tuple]]
    opened: tuple[str, ...]
    labels: dict[str, frozenset[Tuple]]
    given: dict[str, dict[Tuple, bool]]
    soft: dict[str, dict[Tuple, float]]
    scope: dict[str, frozenset[Tuple]]
    local: bool | None
    rules: tuple[Rule, ...] = ()
    block: bool = False
    subset: frozenset[str] = field(default=frozenset())

    @property
    def data(self) -> Data:
        """The definitions, enumerated."""
        bibs = tuple(sorted({t[0] for name in ("Tok", "Mark") for t in self.closed[name]}))
        kinds = {**CLOSED, **{name: OPEN[name] for name in self.opened}}
        local = {"pos", "fld"} if self.kind != "one" and self.local is None else set()
        if self.kind != "one" and self.local:
            local = {"pos", "fld"}
        elif self.kind != "one" and self.local is False:
            local = {"fld"}
        evidence = [(CLOSED[n], t) for n, rows in self.closed.items() if n not in GLOBAL for t in rows]
        for name in self.opened:
            for listed in (self.given[name], self.soft[name], self.scope.get(name, ())):
                evidence += [(OPEN[name], t) for t in listed]
        domains: dict[tuple[str, str], set[str]] = {(k, b): set() for k in local for b in bibs}
        for types, (bib, *constants) in evidence:
            for kind, constant in zip(types, constants, strict=True):
                if kind in local:
                    domains[kind, bib].add(constant)
        facts = {self.ground(n, t) for n, rows in self.closed.items() for t in rows}
        atoms: dict[Ground, bool | None] = {}
        priors: dict[Ground, float] = {}
        for name in self.opened:
            scope = (
                set(self.scope[name]) | set(self.soft[name])
                if name in self.scope
                else {
                    (bib, *constants)
                    for bib in bibs
                    for constants in itertools.product(
                        *(sorted(domains[k, bib]) if k in local else TYPES[k] for k in OPEN[name])
                    )
                }
            )
            for t in scope - set(self.given[name]):
                atoms[self.ground(name, t)] = (t in self.labels[name]) if self.labels[name] else None
                if t in self.soft[name]:
                    priors[self.ground(name, t)] = math.log(self.soft[name][t] / (1 - self.soft[name][t]))
            facts |= {self.ground(name, t) for t, true in self.given[name].items() if true}
        predicates = {n: (self.types(n), self.kind == "column" and n not in GLOBAL) for n in kinds}
        return Data(
            self.kind,
            {**TYPES, "bib": bibs},
            predicates,
            ("",) if self.kind == "one" else bibs,
            {key: frozenset(found) for key, found in domains.items()},
            frozenset(local),
            frozenset(facts),
            atoms,
            priors,
            frozenset(self.opened),
        )

    def types(self, name: str) -> Tuple:
        """Declared types of a predicate's arguments."""
        plain = CLOSED.get(name) or OPEN[name]
        return plain if name in GLOBAL or self.kind == "column" else ("bib", *plain)

    def ground(self, name: str, row: Tuple) -> Ground:
        """A loaded tuple as an atom."""
        beside = self.kind == "column" and name not in GLOBAL
        return (name, row[0], row[1:]) if beside else (name, "", row)

    @property
    def model(self) -> Model:
        """Declarations and rules."""
        predicates = {
            name: Predicate(
                name, tuple(Argument(k, block=self.block and name == "In" and k == "fld") for k in self.types(name))
            )
            for name in (*CLOSED, *self.opened)
        }
        return Model(predicates, {"pos": TYPES["pos"], "fld": TYPES["fld"]}, self.rules, frozenset(self.opened))


def tuples(*kinds: str, bibs: Tuple) -> st.SearchStrategy[Tuple]:
    return st.tuples(*(st.sampled_from(bibs if k == "bib" else TYPES[k]) for k in kinds))


@st.composite
def databases(draw: st.DrawFn) -> Case:
    """A random database; at times the last example has no field, so that its domain of a local type is empty."""
    kind = draw(st.sampled_from(["type", "column", "one"]))
    bibs = TYPES["bib"][: draw(st.integers(1, 3))]
    first = {(b, draw(st.sampled_from(TYPES["pos"])), draw(st.sampled_from(TYPES["fld"]))) for b in bibs}
    more = draw(st.sets(tuples("bib", "pos", "fld", bibs=bibs), max_size=4))
    marked = draw(st.sets(tuples("bib", "pos", bibs=bibs), min_size=1, max_size=3))
    if len(bibs) > 1 and draw(st.integers(0, 3)) == 0:
        first, more = ({t for t in found if t[0] != bibs[-1]} for found in (first, more))
        marked.add((bibs[-1], "P1"))
    closed = {"Tok": frozenset(first | more), "Mark": frozenset(marked)}
    closed["Next"] = frozenset(draw(st.sets(tuples("pos", "pos", bibs=bibs), min_size=1, max_size=4)))
    closed["Cap"] = frozenset(draw(st.sets(tuples("fld", bibs=bibs), min_size=1, max_size=2)))
    opened = tuple(draw(st.sets(st.sampled_from(sorted(OPEN)), min_size=1, max_size=2).map(sorted)))
    labels, evidence, soft, scope = {}, {}, {}, {}
    for name in opened:
        atoms = tuples("bib", *OPEN[name], bibs=bibs)
        labels[name] = frozenset(draw(st.sets(atoms, min_size=1, max_size=5)))
        known = draw(st.dictionaries(atoms, st.booleans(), max_size=3)) if draw(st.booleans()) else {}
        soft[name] = draw(st.dictionaries(atoms, st.sampled_from([0.25, 0.5, 0.75]), max_size=1))
        soft[name] = {t: p for t, p in soft[name].items() if t not in known}
        evidence[name] = {t: v for t, v in known.items() if t not in labels[name] or v}
        if draw(st.integers(0, 3)) == 0:
            evidence[name] = dict.fromkeys(evidence[name], True)
        if draw(st.integers(0, 3)) == 0:
            scope[name] = frozenset(draw(st.sets(atoms, min_size=1, max_size=6)))
    local = draw(st.sampled_from([None, None, None, True, False]))
    case = Case(kind, closed, opened, labels, evidence, soft, scope, local)
    subset = frozenset(draw(st.sets(st.sampled_from(case.data.examples), min_size=1)))
    return replace(case, subset=subset, block=draw(st.integers(0, 2)) == 0)


# ---- programs ------------------------------------------------------------------------------------------------


class Language:
    """Strategies for formulas over a database's predicates."""

    def __init__(
        self, case: Case, plus: frozenset[str], inside: Tuple = (), bib: Term | None = None, second: bool = False
    ) -> None:
        self.case, self.plus, self.second = case, plus, second
        self.bib = bib or Variable(EXAMPLE, plus=EXAMPLE in plus)
        self.variables = [v for v in VARIABLES if v not in (*QUANTIFIED, *FURTHER) or v in inside]

    def term(self, kind: str) -> st.SearchStrategy[Term]:
        if kind == "bib" and self.case.kind == "type":
            return st.just(self.bib)
        if kind == "bib":
            return st.sampled_from([Variable(EXAMPLE, plus=EXAMPLE in self.plus), Constant("B1")])
        names = [v for v in self.variables if VARIABLES[v] == kind]
        found: list[Term] = [Variable(v, plus=v in self.plus) for v in names] * 3
        return st.sampled_from([*found, Constant(TYPES[kind][0])])

    def atom(self, names: Sequence[str] = ()) -> st.SearchStrategy[Formula]:
        names = names or [*CLOSED, *self.case.opened, *self.case.opened, *self.case.opened]

        def terms(name: str) -> st.SearchStrategy[tuple[Term, ...]]:
            found = [self.term(k) for k in self.case.types(name)]
            if self.second and name in CLOSED and name not in GLOBAL and self.case.kind == "type":
                found[0] = st.sampled_from([self.bib, Variable("d")])
            return st.tuples(*found)

        return st.sampled_from(names).flatmap(lambda n: terms(n).map(lambda found: Atom(n, found)))

    def equality(self) -> st.SearchStrategy[Formula]:
        return st.sampled_from(["pos", "fld"]).flatmap(lambda k: st.builds(Equal, self.term(k), self.term(k)))

    def literal(self) -> st.SearchStrategy[Formula]:
        atom = st.one_of(self.atom(), self.atom(), self.atom(), self.equality())
        return st.one_of(atom, atom.map(Not))

    def clause(self) -> st.SearchStrategy[Formula]:
        return st.lists(self.literal(), min_size=1, max_size=4).map(lambda x: Or(tuple(x)) if len(x) > 1 else x[0])

    def formula(self) -> st.SearchStrategy[Formula]:
        def larger(inner: st.SearchStrategy[Formula]) -> st.SearchStrategy[Formula]:
            several = st.lists(inner, min_size=2, max_size=3).map(tuple)
            kinds = [several.map(And), several.map(Or), st.builds(Implies, inner, inner), st.builds(Iff, inner, inner)]
            return st.one_of([inner.map(Not), *kinds])

        return st.recursive(self.literal(), larger, max_leaves=4)


@st.composite
def quantified(draw: st.DrawFn, case: Case, plus: frozenset[str], bib: Term | None) -> Formula:
    """EXIST or FORALL over a conjunction or disjunction, alone or beside literals, perhaps negated."""
    outer = Language(case, plus, bib=bib)
    inside = draw(st.sampled_from([("u",), ("w",), ("u", "w")]))
    inner = Language(case, plus, inside, bib)
    parts = draw(st.lists(inner.literal(), min_size=1, max_size=3))
    body: Formula = parts[0] if len(parts) == 1 else draw(st.sampled_from([And, And, Or]))(tuple(parts))
    used = {t.name for a in atoms_of(body) for t in a.terms if isinstance(t, Variable)}
    quantified = tuple(v for v in inside if v in used)
    found: Formula = Exist(quantified, body) if quantified else body
    if draw(st.integers(0, 3)) == 0:
        found = Not(found)
    if draw(st.booleans()):
        beside = draw(st.lists(outer.literal(), min_size=1, max_size=2))
        found = draw(st.sampled_from([Or, Or, And]))((found, *beside))
    return found


@st.composite
def counted(draw: st.DrawFn, case: Case, quantifiers: bool = True) -> Rule:
    """A clause of one or two open literals and several closed ones, most of whose variables occur in no open literal."""
    plus = draw(st.sampled_from([frozenset[str]()] * 3 + [frozenset({"f"}), frozenset({"p"})]))
    second = draw(st.integers(0, 3)) == 0
    narrow, wide = Language(case, plus), Language(case, plus, FURTHER, second=second)
    sign = st.sampled_from([Not, Not, lambda x: x])
    parts = draw(st.lists(st.builds(lambda f, x: f(x), sign, narrow.atom(case.opened)), min_size=1, max_size=2))
    closed = st.builds(lambda f, x: f(x), sign, wide.atom([*CLOSED]))
    parts += draw(st.lists(closed, min_size=1, max_size=4))
    for equal in draw(st.lists(wide.equality(), max_size=1)):
        parts.append(draw(sign)(equal))
    if quantifiers and draw(st.integers(0, 3)) == 0:
        inside = Language(case, plus, (*FURTHER, "u"), second=second)
        some = draw(st.lists(inside.atom([*CLOSED]), min_size=1, max_size=2))
        used = {t.name for a in some for t in a.terms if isinstance(t, Variable)}  # type: ignore[attr-defined]
        if "u" in used:
            parts.append(Exist(("u",), And(tuple(some)) if len(some) > 1 else some[0]))
    formula = Or(tuple(draw(st.permutations(parts))))
    trivial = len(set(atoms_of(formula))) < len(list(atoms_of(formula)))
    if trivial or not well_typed(formula):
        formula = draw(narrow.atom(case.opened))
    return Rule(formula, 1.0)


@st.composite
def witnessed(draw: st.DrawFn, case: Case, quantifiers: bool = True) -> Rule:
    """A clause of up to three literals and an EXIST or two, each over one open atom at most, closed literals and an equality."""
    assert quantifiers
    plus = draw(st.sampled_from([frozenset[str]()] * 3 + [frozenset({"f"}), frozenset({"p"})]))
    second = draw(st.integers(0, 4)) == 0
    language = Language(case, plus, second=second)
    parts: list[Formula] = draw(st.lists(language.literal(), max_size=3))
    for _ in range(draw(st.sampled_from([1, 1, 1, 2]))):
        names = draw(st.sampled_from([("u",), ("w",), ("u", "w"), ("u", "w")]))
        inner = Language(case, plus, names, second=second)
        inner.variables = [v for v in inner.variables if v in names or draw(st.booleans())]
        body = draw(st.lists(inner.atom(case.opened), max_size=1))
        closed = inner.atom([*CLOSED])
        body += draw(st.lists(st.one_of(closed, closed, closed.map(Not)), min_size=not body, max_size=2, unique=True))
        for equal in draw(st.lists(inner.equality(), max_size=1)):
            body.append(draw(st.sampled_from([Not, lambda x: x]))(equal))
        used = {t.name for part in body for a in atoms_of(part) for t in a.terms if isinstance(t, Variable)}
        conjunction: Formula = And(tuple(body)) if len(body) > 1 else body[0]
        bound = tuple(v for v in names if v in used)
        parts.append(Exist(bound, conjunction) if bound else conjunction)
    formula = Or(tuple(draw(st.permutations(parts)))) if len(parts) > 1 else parts[0]
    if not well_typed(formula) or not list(atoms_of(formula)):
        formula = draw(language.atom(case.opened))
    return Rule(formula, 1.0)


@st.composite
def sentences(draw: st.DrawFn, case: Case, quantifiers: bool = True) -> Rule:
    """A formula whose variables are all quantified: one EXIST or two, perhaps negated, perhaps beside a ground literal."""
    bib = Constant("B1")
    names = ("u", "w") if case.kind != "one" else (EXAMPLE, "u", "w")
    inner, ground = Language(case, frozenset(), ("u", "w"), bib), Language(case, frozenset(), (), bib)
    inner.variables, ground.variables = ["u", "w"], []
    parts: list[Formula] = []
    for _ in range(draw(st.integers(1, 2))):
        several = draw(st.lists(inner.literal(), min_size=1, max_size=2))
        body = And(tuple(several)) if len(several) > 1 else several[0]
        used = {t.name for a in atoms_of(body) for t in a.terms if isinstance(t, Variable)}
        found = Exist(tuple(v for v in names if v in used), body) if used else body
        parts.append(Not(found) if draw(st.integers(0, 3)) == 0 else found)
    if draw(st.integers(0, 2)) == 0:
        parts.append(draw(ground.literal()))
    formula = Or(tuple(parts)) if len(parts) > 1 else parts[0]
    free = {v for part in parts for v in free_variables(part)}
    if free or not well_typed(formula) or not list(atoms_of(formula)):
        formula = draw(Language(case, frozenset(), bib=bib).atom())
    hard = draw(st.integers(0, 3)) == 0
    return Rule(formula, None if hard else 1.0, hard=hard)


@st.composite
def wide(draw: st.DrawFn, case: Case, quantifiers: bool = True) -> Rule:
    """A clause with nine positive literals or more, which fall into parts that share no variable where the example is a constant."""
    bib = Constant("B1") if draw(st.booleans()) else None
    language = Language(case, frozenset(), ("a",), bib)
    language.variables = ["p", "q", "a", "f", "g"]
    positive = draw(st.lists(language.atom(case.opened), min_size=7, max_size=9, unique=True))
    positive += draw(st.lists(language.atom(), min_size=2, max_size=3, unique=True))
    others = [a for a in draw(st.lists(language.atom(), max_size=2, unique=True)) if a not in positive]
    return Rule(Or((*dict.fromkeys(positive), *map(Not, others))), 1.0)


@st.composite
def rules(draw: st.DrawFn, case: Case, quantifiers: bool = True) -> Rule:
    """A random rule with a weight of 1, hard at times."""
    choices = [frozenset[str]()] * 4 + [
        frozenset({"f"}),
        frozenset({"p"}),
        frozenset({"f", "g"}),
        frozenset({"p", "f"}),
    ]
    plus = draw(st.sampled_from(choices))
    bib = None
    kind = draw(st.sampled_from(["clause", "clause", "and", "any", "implies", *(["exist"] * 2 if quantifiers else [])]))
    if kind == "clause" and case.kind == "type" and draw(st.integers(0, 5)) == 0:
        bib = Constant("B1")
    # Closed literals may be about a second example.
    language = Language(case, plus, bib=bib, second=kind in ("clause", "implies") and draw(st.integers(0, 3)) == 0)
    formula: Formula
    if kind == "clause":
        formula = draw(language.clause())
    elif kind == "and":
        formula = And(tuple(draw(st.lists(language.literal(), min_size=2, max_size=3))))
    elif kind == "any":
        formula = draw(language.formula())
    elif kind == "implies":
        body = draw(st.lists(language.atom(), min_size=1, max_size=3))
        formula = Implies(And(tuple(body)) if len(body) > 1 else body[0], draw(language.clause()))
    else:
        formula = draw(quantified(case, plus, bib))
    # A tautology is dropped before anyone asks over whose positions its variables range.
    atoms = list(atoms_of(formula))
    trivial = len(set(atoms)) < len(atoms) or any(e.left == e.right for e in equalities_of(formula))
    if not well_typed(formula) or (bib is not None and trivial):
        formula = draw(language.atom())
    hard = draw(st.integers(0, 6)) == 0
    return Rule(formula, None if hard else 1.0, hard=hard)


def well_typed(formula: Formula) -> bool:
    """True if every variable stands in an atom, or in an equality with one that does."""
    typed = {t.name for a in atoms_of(formula) for t in a.terms if isinstance(t, Variable)}
    return bool(typed | {""}) and _equal_variables(formula) <= typed


def _equal_variables(formula: Formula) -> set[str]:
    if isinstance(formula, Equal):
        return {t.name for t in (formula.left, formula.right) if isinstance(t, Variable)}
    return {v for part in parts_of(formula) for v in _equal_variables(part)}


@st.composite
def programs(draw: st.DrawFn, size: int = 5, quantifiers: bool = True, kind=rules) -> Case:
    """A database with rules."""
    case = draw(databases())
    found = tuple(draw(kind(case, quantifiers)) for _ in range(size))
    return replace(case, rules=found)


@st.composite
def mixed(draw: st.DrawFn, *kinds, quantifiers: bool = True) -> Case:
    """A database with a rule of each of several kinds."""
    case = draw(databases())
    return replace(case, rules=tuple(draw(kind(case, quantifiers)) for kind in kinds))


# ---- loading -------------------------------------------------------------------------------------------------


def load(case: Case) -> tuple[DuckDBEngine, Layout]:
    """Load a case through the catalog and bind its model."""
    engine = connect(":memory:", threads=1)
    catalog = Catalog(engine)
    # In one transaction the records of the catalog are read and written once, not with each predicate.
    with catalog.store.writing():
        fill(catalog, case)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ScopeWarning)
        return engine, catalog.bind(case.model, training=False)


def fill(catalog: Catalog, case: Case) -> None:
    """Load the data of a case."""
    catalog.declare(case.model)
    example = {"one": None, "type": "bib", "column": "column0"}[case.kind]
    for name, rows in case.closed.items():
        catalog.load(name, sorted(rows), example=None if name in GLOBAL else example, empty="allow")
    for name in case.opened:
        width = len(OPEN[name]) + 1
        catalog.load(name, sorted(case.labels[name]), example=example, target=True)
        if case.given[name]:
            rows = [(*t, v) for t, v in sorted(case.given[name].items())]
            catalog.load(name, rows, example=example, given=True, truth=width)
        if case.soft[name]:
            catalog.load(
                name, [(*t, v) for t, v in sorted(case.soft[name].items())], example=example, probability=width
            )
        if name in case.scope:
            names = [("example" if case.kind == "column" else "bib"), *(f"x{i}" for i in range(width - 1))]
            columns = zip(*sorted(case.scope[name]), strict=True)
            catalog.scope(name, pa.table(dict(zip(names, map(list, columns), strict=True))))
    if case.local is not None:
        catalog.set_local("pos", case.local)


class Names:
    """Atoms, examples and constants of a layout by name."""

    def __init__(self, engine: DuckDBEngine, layout: Layout) -> None:
        self.engine, self.layout = engine, layout
        self.constants = {k: self._pairs(t.dictionary, "id") for k, t in layout.types.items()}
        self.examples = self._pairs(layout.examples, "example")

    def rows(self, table: TableName) -> list[dict[str, object]]:
        node = exp.table_(table.name, db=table.schema, catalog=table.catalog, quoted=True)
        found: list[dict[str, object]] = self.engine.fetch(exp.select("*").from_(node), step="read").to_pylist()
        return found

    def _pairs(self, table: TableName, key: str) -> dict[int, str]:
        return {int(r[key]): str(r["name"]) for r in self.rows(table)}  # type: ignore[call-overload]

    def atoms(self) -> dict[int, Ground]:
        """The query atoms by id; helper predicates included."""
        found = {}
        for info in self.layout.predicates.values():
            if info.atoms is None:
                continue
            for row in self.rows(info.atoms):
                constants = tuple(self.constants[k][row[f"a{i}"]] for i, k in enumerate(info.types))  # type: ignore[index]
                beside = self.examples[row["example"]] if info.example_column else ""  # type: ignore[index]
                found[int(row["atom"])] = (info.name, beside, constants)  # type: ignore[call-overload]
        return found

    def combinations(self, program: Program, feature: int) -> dict[int, dict[str, str]]:
        """The constants of the `+` variables of each clause of a template."""
        bound = program.features[feature].feature
        kinds = dict(bound.variables)
        return {
            int(row["clause"]): {v: self.constants[kinds[v]].get(row[f"plus{j}"], "") for j, v in enumerate(bound.plus)}  # type: ignore[call-overload]
            for row in self.rows(program.expansions[feature])
        }


def completed(program: Program, network: Network, world: np.ndarray) -> np.ndarray:
    """Fill in the helper atoms of a world by unit propagation over their definitions."""
    if not network.helper.any():
        return world
    definitions = [i for i, feature in enumerate(program.feature_of) if program.features[feature].rule is None]
    clauses = [[int(x)] for c, x in network.hard_units if c in definitions]
    for j, clause in enumerate(network.row_clause):
        if clause in definitions:
            clauses.append([int(x) for x in network.literals[network.indptr[j] : network.indptr[j + 1]]])
    value = {k + 1: bool(world[k]) for k in np.flatnonzero(~network.helper)}
    changed = True
    while changed:
        changed = False
        for clause in clauses:
            left = [x for x in clause if abs(x) not in value]
            if not any(value.get(abs(x)) == (x > 0) for x in clause):
                assert left, "definitions hold in every world"
                if len(left) == 1:
                    value[abs(left[0])], changed = left[0] > 0, True
    assert len(value) == len(world), "definitions leave nothing open"
    return np.array([value[k + 1] for k in range(len(world))], dtype=bool)


def expanded(case: Case) -> Program:
    """The program of a case with the clauses of its templates; a case that binding refuses is passed over."""
    engine, layout = load(case)
    try:
        program = bind_program(engine, layout, case.model)
    except (ModelError, UnsupportedError):
        reject()
    program.expand()
    return program


def random_worlds(program: Program, network: Network, seed: int) -> Iterator[np.ndarray]:
    """A world of atoms that are true by chance, with helper atoms that fit."""
    generator = np.random.default_rng(seed)
    for _ in range(1):
        yield completed(program, network, generator.random(len(network.atoms)) < 0.5)


@contextmanager
def world_table(program: Program, ids: np.ndarray) -> Iterator[TableName]:
    """Show the true atoms of a world to SQL."""
    with program.rows_table(pa.table({"atom": pa.array(ids, pa.int64())})) as name:
        yield name


def label_world(program: Program, network: Network) -> np.ndarray:
    return read_labels(program.engine, program.layout, network.atoms, None)[0]


def formulas_of(program: Program, data: Data, names: Names) -> Iterator[tuple[int, Rule, Formulas]]:
    """The clauses of a program that come from rules, each as a formula held against the data."""
    plain = {f: c for c, f in enumerate(program.feature_of) if not program.features[f].feature.plus}
    for i, bound in enumerate(program.features):
        if bound.rule is None:
            continue
        if not bound.feature.plus:
            yield plain[i], bound.rule, Formulas(bound.rule.formula, data)
            continue
        for clause, constants in names.combinations(program, i).items():
            yield clause, bound.rule, Formulas(bound.rule.formula, data, constants)


@contextmanager
def within_depth() -> Iterator[None]:
    """Draw another case where DuckDB refuses an expression deeper than 1,000, which the counts of a clause of eight literals may need."""
    try:
        yield
    except EngineError as error:
        if "expression depth" not in str(error):
            raise
        reject()
