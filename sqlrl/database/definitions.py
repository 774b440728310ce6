"""Predicates with Horn definitions: evaluated in the database, loaded as closed predicates, and kept up to date.

The definitions of a database are one program. What was defined is evaluated again when a predicate that it uses is loaded
again, whoever does that: a definition never lags behind its data.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
from sqlglot import exp

from sqlrl.catalog.columns import Mapped
from sqlrl.catalog.encoding import key_columns
from sqlrl.catalog.fingerprints import table_fingerprint
from sqlrl.catalog.image import ArgumentRecord, PredicateRecord, SourceRecord
from sqlrl.catalog.loading import register
from sqlrl.catalog.options import LoadOptions, check_name
from sqlrl.catalog.similar_names import suggestion
from sqlrl.catalog.soft_truths import values_between
from sqlrl.catalog.store import Store
from sqlrl.engine.nodes import column, subquery
from sqlrl.errors import CatalogError, LoadWarning, Parameter, Written, warn
from sqlrl.logic.horn import DefinedTogether, Definitions, HornAtom, HornRule, components
from sqlrl.logic.horn_parser import parse_definitions
from sqlrl.logic.horn_types import infer_types
from sqlrl.logic.lexer import read_text
from sqlrl.logic.terms import Constant, Variable
from sqlrl.plan.definitions import DefinitionPlan, FactTable
from sqlrl.wording import counted

DEFINITION = "definition"
"""The kind of source of a defined predicate."""

_Constants = dict[tuple[str, str], int]
"""Ids by type and name."""


def read_definitions(definitions: str | Path, variables: str) -> Definitions:
    """Return definitions that are given as text or as a file; `Database.define` explains them."""
    if isinstance(definitions, Path):
        text = read_text(definitions, parse="define as a str")
        return parse_definitions(text, variables=variables, path=str(definitions))
    return parse_definitions(definitions, variables=variables)


def define(store: Store, definitions: Definitions) -> None:
    """Define predicates; `Database.define` explains it. An error has the text; nothing has changed then."""
    with store.writing():
        sources = store.sources()
        for name in definitions.defined():
            check_name(name)
            loaded = [s for (predicate, _), s in sources.items() if predicate == name and s.kind != DEFINITION]
            if loaded or name in {r.predicate for r in store.predicates().values() if r.scope is not None}:
                rule = definitions.of(name)[0]
                where = f"facts loaded from {loaded[0].source}" if loaded else "a scope"
                problem = f"{name} has {where}: give the defined predicate another name"
                raise rule.source.error(CatalogError, problem, rule.head.offset)
        new = set(definitions.defined())
        old = tuple(rule for rule in _stored(store).rules if rule.head.predicate not in new)
        _evaluate(store, Definitions((*old, *definitions.rules)), new)


def follow(store: Store, changed: Collection[str]) -> list[str]:
    """Evaluate again, all or none, the definitions that use changed predicates, also by way of others; return what they define."""
    program = _stored(store)
    if not program.rules:
        return []
    with store.writing():
        return _evaluate(store, program, set(changed) - set(program.defined()))


def _stored(store: Store) -> Definitions:
    """Return the definitions of a database."""
    rules: list[HornRule] = []
    for (name, _), source in store.sources().items():
        if source.kind == DEFINITION:
            rules += parse_definitions(source.source, path=f"definition of {name}").rules
    return Definitions(tuple(rules))


def _evaluate(store: Store, program: Definitions, changed: set[str]) -> list[str]:
    """Evaluate the components of a program that have or use changed predicates, in their order."""
    types: dict[str, tuple[str, ...]] | None = None
    found: list[str] = []
    for component in components(program):
        if not changed & {*component.predicates, *component.used()}:
            continue
        if types is None:
            types = _usable(store, program)
            types |= infer_types(program, types)
        _build(store, component, types)
        changed |= set(component.predicates)
        found += component.predicates
    return found


def _usable(store: Store, program: Definitions) -> dict[str, tuple[str, ...]]:
    """Return the types of the closed predicates that bodies may use."""
    records, sources = store.predicates(), store.sources()
    roles: dict[str, list[SourceRecord]] = {}
    for (name, _), source in sources.items():
        roles.setdefault(name, []).append(source)
    found: dict[str, tuple[str, ...]] = {}
    used, between = set(program.used()), values_between(store)
    for name, loaded in roles.items():
        record = records[name]
        if [s.role for s in loaded] == ["fact"] and record.scope is None:
            if name in used and name in between:
                problem = (
                    f"{name} has {counted(between[name], 'value')} between 0 and 1, and a definition uses facts that are true or false: load "
                    "the true ones from a query (select ... where value >= 0.5)"
                )
                _refuse(program, name, problem)
            elif not loaded[0].staged:
                found[name] = record.known_types()
            elif name in used:
                _refuse(
                    program,
                    name,
                    f"the types of {name} are not known yet: load it again with {Parameter('types', Written('[...]'))}",
                )
        elif name in used:
            _refuse(program, name, f"{name} is open, it has atoms to predict: a definition uses closed predicates only")
    return {name: types for name, types in found.items() if name not in program.defined()}


def _refuse(program: Definitions, predicate: str, problem: str) -> None:
    """Raise an error at the first literal of a predicate."""
    for rule in program.rules:
        for atom in rule.atoms():
            if atom.predicate == predicate:
                raise rule.source.error(CatalogError, problem, atom.offset)


def _build(store: Store, component: DefinedTogether, types: Mapping[str, tuple[str, ...]]) -> None:
    """Evaluate a component and load what it defines."""
    sources = store.sources()
    relations = {}
    for name in component.used():
        source = sources[name, "fact"]
        relations[name] = FactTable(store.name(source.storage), source.example, source.signed)
    example = _has_example(component, relations)
    ids = _ids(store, component, types)
    constants = {
        (atom.predicate, i, term.name): ids[types[atom.predicate][i], term.name]
        for rule in component.rules
        for atom in (rule.head, *rule.atoms())
        for i, term in enumerate(atom.terms)
        if isinstance(term, Constant)
    }
    unequal = {
        (number, name): ids[type_, name]
        for number, rule in enumerate(component.rules)
        for type_, name in _compared(rule, types)
    }
    plan = DefinitionPlan(component, relations, constants, unequal, example)
    storages: dict[str, str] = {}
    for name in component.predicates:
        storages[name] = store.free_name("fact", name)
        query, keys = plan.query(name), key_columns(len(types[name]), example)
        if keys:
            # Threads find the rows in any order.
            query = exp.select("*").from_(subquery(query, "found")).order_by(*map(column, keys))
        store.create(storages[name], query, f"define {name}")
    for name, storage in storages.items():
        rules = [rule for rule in component.rules if rule.head.predicate == name]
        _load(store, name, types[name], rules, storage, example=example)


def _has_example(component: DefinedTogether, relations: Mapping[str, FactTable]) -> bool:
    """Return True if the facts of a component belong to examples that a column beside the arguments names."""
    with_example = [r for r in component.rules if any(_in_example(a, relations) for a in r.body)]
    for rule in component.rules:
        own = bool(component.recursions(rule)) and bool(with_example)
        if rule in with_example or own:
            continue
        outside = next((a for a in rule.negated if _in_example(a, relations)), None)
        if with_example or outside is not None:
            other = with_example[0].head if with_example else outside
            assert other is not None
            problem = (
                "no positive literal of this rule says which example it is about, but "
                + (f"another rule of {other.predicate} has one" if with_example else f"{other.predicate} has examples")
                + f": add a literal of a predicate that was loaded with {Parameter('example')}"
            )
            raise rule.source.error(CatalogError, problem, rule.head.offset)
    return bool(with_example)


def _in_example(atom: HornAtom, relations: Mapping[str, FactTable]) -> bool:
    return atom.predicate in relations and relations[atom.predicate].example


def _compared(rule: HornRule, types: Mapping[str, tuple[str, ...]]) -> list[tuple[str, str]]:
    """Return the constants of a rule's `!=` with the types of the variables on the other side."""
    of: dict[str, str] = {}
    for atom in rule.atoms():
        for i, term in enumerate(atom.terms):
            if isinstance(term, Variable):
                of.setdefault(term.name, types[atom.predicate][i])
    both = [pair for one, other in rule.unequal for pair in ((one, other), (other, one))]
    return [(of[a.name], b.name) for a, b in both if isinstance(a, Variable) and isinstance(b, Constant)]


def _ids(store: Store, component: DefinedTogether, types: Mapping[str, tuple[str, ...]]) -> _Constants:
    """Look up the constants of rules, with one query for each type."""
    wanted: dict[str, dict[str, tuple[HornRule, int]]] = {}
    for rule in component.rules:
        for atom in (rule.head, *rule.atoms()):
            for i, term in enumerate(atom.terms):
                if isinstance(term, Constant):
                    wanted.setdefault(types[atom.predicate][i], {}).setdefault(term.name, (rule, atom.offset))
        for type_, name in _compared(rule, types):
            wanted.setdefault(type_, {}).setdefault(name, (rule, rule.head.offset))
    found: _Constants = {}
    records = store.types()
    for type_, names in wanted.items():
        record = records[type_]
        with store.engine.attached(pa.table({"name": pa.array(sorted(names), pa.string())})) as table:
            known = exp.select(column("name")).from_(table)
            query = exp.select(column("id"), column("name")).from_(store.table(record.dictionary))
            query = query.where(exp.In(this=column("name"), query=known.subquery()))
            rows = store.rows(query, f"look up constants of {type_}")
        found |= {(type_, str(row["name"])): int(row["id"]) for row in rows}
        for name, (rule, offset) in names.items():
            if (type_, name) not in found:
                like = suggestion(store, record, name)
                raise rule.source.error(CatalogError, f"{name!r} is no constant of {type_}{like}", offset)
    return found


def _load(
    store: Store, name: str, types: tuple[str, ...], rules: list[HornRule], storage: str, *, example: bool
) -> None:
    """Register the table of a defined predicate."""
    known = store.predicates().get(name)
    # The types of an earlier definition go with it, those that a model declares stay.
    declared = known is not None and (name, "fact") not in store.sources()
    if declared and known is not None and None not in known.types and known.types != types:
        had, now = (", ".join(map(str, t)) for t in (known.types, types))
        problem = f"{name} was declared with the types ({had}), but its definition says ({now})"
        raise rules[0].source.error(CatalogError, problem, rules[0].head.offset)
    arguments = tuple(
        ArgumentRecord(term.name if isinstance(term, Variable) else type_, type_)
        for term, type_ in zip(rules[0].head.terms, types, strict=True)
    )
    text = str(Definitions(tuple(rules)))
    rows = store.count(store.table(storage), f"count the facts of {name}")
    if not rows:
        warn(f"{name} is defined, but has no facts: no body of its rules holds in these data", LoadWarning)
    options = LoadOptions(empty="allow").to_json()
    fingerprint = table_fingerprint(store.engine, store.table(storage))
    loaded = SourceRecord(name, "fact", storage, False, False, example, DEFINITION, text, fingerprint, options, rows)
    record = replace(known or PredicateRecord(name), arguments=arguments, example=None)
    register(store, record, loaded, Mapped(()))
