"""Domains of types as a bound model has them: what its declarations list, the data hold, and its rules name.

Dictionaries hold the constants of the data. Those that only a model names come after them in a view, for as long as the model is
bound: models on one file do not see each other's constants, and the data are the same whichever of them was bound.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from sqlrl.catalog.atoms import PredicateOpening
from sqlrl.catalog.bins import check_pieces
from sqlrl.catalog.dictionary import check_numbers, missing_constants
from sqlrl.catalog.examples import ExampleSource
from sqlrl.catalog.image import PredicateRecord, TypeRecord
from sqlrl.catalog.store import Store
from sqlrl.engine.nodes import column, named, union_all
from sqlrl.errors import CatalogError
from sqlrl.logic.model import Model
from sqlrl.logic.printer import placed
from sqlrl.logic.rules import Constants, Rule
from sqlrl.logic.subformulas import atoms_of
from sqlrl.logic.terms import Constant

_STATE = "named"
"""The entry of the state that holds, by type, what only the bound model names: the view, and how many constants there are."""


# ---- constants that only a model names ---------------------------------------------------------------


@dataclass(frozen=True)
class NamedConstants:
    """Constants by type that a model names and the data lack; those that only clauses of learned templates name are not among them."""

    declared: Mapping[str, list[str]]  # Those that its declarations list, in their order.
    of_rules: Constants  # Others, each with the first rule that names it; they belong to the domain of a global type.

    def key(self) -> list[object]:
        """Return what domains depend on, as JSON values; nothing where the data have all constants."""
        named = {kind: list(constants) for kind, constants in self.of_rules.items()}
        return [dict(self.declared), named] if self.declared or named else []


def named_constants(store: Store, model: Model) -> NamedConstants:
    """Look up the constants of a model in the dictionaries; one that is no number, of a numeric type, is a CatalogError."""
    types, mentioned = store.types(), model.rule_constants
    declared: dict[str, list[str]] = {}
    of_rules: dict[str, dict[str, Rule]] = {}
    for name in sorted(model.types.keys() | mentioned.keys()):
        listed, rules = dict.fromkeys(model.types.get(name, ())), mentioned.get(name, {})
        missing = set(missing_constants(store, types[name], [*listed, *rules]))
        if types[name].numeric:
            check_numbers(store, types[name], missing, "the model names")
        elif types[name].edges is not None:
            check_pieces(types[name], missing, "the model names")
        if lacking := [constant for constant in listed if constant in missing]:
            declared[name] = lacking
        if others := {c: rule for c, rule in rules.items() if c in missing and c not in listed}:
            of_rules[name] = others
    _check_variables(of_rules)
    return NamedConstants(declared, of_rules)


_VARIABLE = re.compile(r"[U-Z][0-9]*")
"""What names of variables are in languages whose variables begin with a capital."""


def _check_variables(of_rules: Constants) -> None:
    """Refuse a rule without variables that has constants of no data where Prolog has variables: X in several atoms."""
    for constants in of_rules.values():
        for name, rule in ((name, rule) for name, rule in constants.items() if _VARIABLE.fullmatch(name)):
            atoms = list(atoms_of(rule.formula))
            terms = [term for atom in atoms for term in atom.terms]
            several = sum(Constant(name) in atom.terms for atom in atoms) > 1
            if several and all(isinstance(term, Constant) for term in terms):
                raise CatalogError(
                    f"{placed(rule)} has no variables, and no data the constant {name}: variables begin with a small "
                    f"letter, write {name.lower()}; if {name} is meant as a constant, list it in the model (type = {{...}})."
                )


def show_named(store: Store, constants: NamedConstants, local: Mapping[str, bool], source: ExampleSource) -> None:
    """Make the views of types with constants that only a model names, in place of those of the previous model."""
    for view, _, _ in _shown(store).values():
        store.drop_view(view)
    found: dict[str, _Shown] = {}
    for name, record in store.types().items():
        declared = constants.declared.get(name, [])
        # A constant of a rule joins a global type alone: a local one gets those that are declared, and no example comes from a rule.
        of_rules = [] if local[name] or name == source.type else list(constants.of_rules.get(name, ()))
        if declared or of_rules:
            view = store.free_name("bound", name)
            store.create_view(view, _with_names(store, record, [*declared, *of_rules]), f"show the constants of {name}")
            found[name] = (view, len(declared), len(of_rules))
    if found:
        store.set_state(_STATE, json.dumps(found, ensure_ascii=False))
    else:
        store.forget_state(_STATE)


_Shown = tuple[str, int, int]
"""A view, and how many of its constants the model declares and its rules name, which the data lack."""


def _shown(store: Store) -> dict[str, _Shown]:
    """Return the views of types that `show_named` made."""
    return {
        name: (view, declared, rest) for name, (view, declared, rest) in json.loads(store.state(_STATE) or "{}").items()
    }


def _with_names(store: Store, record: TypeRecord, names: Sequence[str]) -> exp.Query:
    """Return the constants of a dictionary and then names, with the next ids."""
    known = exp.select(column("id"), column("name")).from_(store.table(record.dictionary))
    rows = exp.values(list(enumerate(names, record.size)), alias="more", columns=["id", "name"])
    more = exp.select(named(exp.cast(column("id"), "int"), "id"), column("name")).from_(rows)
    return union_all([known, more])


def bound_types(store: Store) -> dict[str, TypeRecord]:
    """Return the types as the bound model has them: what it alone names stands in the place of dictionaries, and in sizes."""
    types = store.types()
    for name, (view, declared, of_rules) in _shown(store).items():
        types[name] = replace(types[name], dictionary=view, size=types[name].size + declared + of_rules)
    return types


def named_alone(store: Store) -> dict[str, tuple[int, int]]:
    """Return by type how many constants, its last ones, the data lack: those that the bound model declares, then those that its rules name."""
    return {name: (declared, of_rules) for name, (_, declared, of_rules) in _shown(store).items()}


# ---- domains of local types --------------------------------------------------------------------------


def local_types(
    source: ExampleSource, closed: Iterable[PredicateRecord], types: Mapping[str, TypeRecord]
) -> dict[str, bool]:
    """Return for each type whether it is local: as the user chose, else if it stands beside the example of a closed predicate."""
    beside: set[str] = set()
    if source.kind != "one":
        for record in closed:
            if source.of(record) is not None:
                beside |= {t for t in record.types if t is not None}
    beside -= {source.type or ""}
    return {
        name: source.kind != "one"
        and name != source.type
        and (name in beside if record.choice is None else record.choice)
        for name, record in types.items()
    }


def _build_domain(
    store: Store, record: TypeRecord, rows: Iterable[tuple[PredicateRecord, exp.Query]], source: ExampleSource
) -> TypeRecord:
    """Fill the domain table of a local type from facts, given atoms and scopes, and return the type's new record."""
    parts: list[exp.Query] = []
    for predicate, query in rows:
        example = source.of(predicate)
        for i, name in enumerate(predicate.types):
            if name == record.type and example is not None:
                part = exp.select(named(example.copy(), "example"), named(column(f"a{i}"), "id"))
                parts.append(part.from_(query.subquery("rows")))
    if not parts:
        empty = exp.select(named(exp.cast(exp.null(), "int"), "example"), named(exp.cast(exp.null(), "int"), "id"))
        parts.append(empty.where(exp.false()))
    distinct = exp.select(column("example"), column("id")).from_(union_all(parts).subquery("all_rows")).distinct()
    domain = record.domain or store.free_name("domain", record.type)
    store.create(domain, distinct.order_by(column("example"), column("id")), f"collect the domain of {record.type}")
    return replace(record, domain=domain, local=True)


@dataclass(frozen=True)
class BoundData:
    """The data that domains and atoms are built of: examples, closed and open predicates, and which types are local."""

    source: ExampleSource
    closed: Mapping[str, PredicateRecord]
    openings: Mapping[str, PredicateOpening]
    local: Mapping[str, bool]


def build_domains(store: Store, data: BoundData) -> None:
    """Collect the domains of local types, and drop those of types that are global now."""
    types, sources = store.types(), store.sources()
    rows: list[tuple[PredicateRecord, exp.Query]] = []
    for predicate in data.closed.values():
        if predicate.facts is not None:
            facts = exp.select("*").from_(store.table(predicate.facts))
            loaded = sources.get((predicate.predicate, "fact"))
            # A fact with the value 0 is as good as none.
            valued = loaded is not None and loaded.valued
            rows.append((predicate, facts.where(column("value") > exp.convert(0)) if valued else facts))
    for opening in data.openings.values():
        rows += [(opening.record, query) for query in _evidence_rows(store, opening)]
    for name, record in types.items():
        if data.local[name]:
            built = _build_domain(store, record, rows, data.source)
        else:
            store.drop(record.domain)
            built = replace(record, local=False, domain=None)
        if built != record:
            store.save_type(built)


def _evidence_rows(store: Store, opening: PredicateOpening) -> list[exp.Query]:
    """Return queries of the tuples of an open predicate whose constants belong to their example: never labels."""
    queries: list[exp.Query] = []
    for role, source in sorted(opening.sources.items()):
        if opening.is_evidence(role):
            queries.append(exp.select("*").from_(store.table(source.storage)))
    if opening.scope is not None:
        queries.append(exp.select("*").from_(store.table(opening.scope)))
    return queries
