"""A language bias derived from the types and keys of the data, where no modes are given.

The rules, for each closed predicate with facts:

1. An argument that has another value in every fact is a *key*: it determines the others. Each key is the input of one mode
   with recall 1, the other arguments are its outputs. Beside a key an argument that refers to something, its type being one of the
   target's or that of a key, is the input of one mode with recall 10: from a customer to some of its orders.
2. Without a key each argument in turn is the input of one mode with recall 10, the others are outputs.
3. Two or more arguments that refer to something and are no keys are the inputs of one mode together: it finds the fact that links
   what is known, whichever ten the others find.
4. The argument that is the example is an input of all modes, if the target has it too: a clause is about one example, and a
   constant of this type would name an example of the training data. Keys are those inside an example, and a further mode with
   recall `*` has only the example as its input.
5. An output with at most `constants` values, each in two facts or more on average, may also be a constant: one mode more
   for each such output of a mode with one input beside the example, and one in which all of them are constants. Of an input that is no
   key their recall is `*`, and 100 where an output is left.

The arguments of the target are inputs; one with at most `constants` values that is not the example is a constant if no body predicate
has its type, as nothing could tell its values apart. Source: Srinivasan, "The Aleph Manual" (2001), section on `induce_modes`; McCreath &
Sharma (1995) derive modes from functional dependencies in the same way.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from sqlglot import exp

from sqlrl.catalog.examples import ExampleSource, example_source
from sqlrl.catalog.image import PredicateRecord, SourceRecord, argument_columns
from sqlrl.catalog.soft_truths import refuse_values, values_between
from sqlrl.catalog.store import Store
from sqlrl.engine.nodes import column, integer, named, star_count, union_all
from sqlrl.errors import CatalogError, InputError
from sqlrl.logic.bias import CONSTANT, INPUT, OUTPUT, Bias, BiasMode, ModePlace
from sqlrl.wording import did_you_mean, nearest_names

CONSTANTS = 16
"""The most values of an argument whose constants clauses may name, unless the caller says otherwise."""

RECALL = 10
"""How many facts a value that is no key brings in, where the others are outputs.

Each of them brings variables of its own. Some values are in thousands of facts, as an income class in those of all its customers: one
bottom clause had them all, exceeded its limit and ended the run. Facts of one kind around one thing look alike, so that a clause
that holds of some of them is found from ten. Modes of constants alone are not limited: a document has many words, and which of them a
clause names matters.
"""

RECALL_WITH_CONSTANTS = 100
"""The same for modes that have constants beside outputs: which constants a clause names matters, and each brings variables."""


@dataclass(frozen=True, slots=True)
class FactKeys:
    """How many facts a predicate has, and how many values each of its arguments has in them."""

    facts: int
    values: tuple[int, ...]
    by_example: tuple[int, ...] | None = None  # The same counts, with equal values of different examples apart.

    @property
    def keys(self) -> tuple[int, ...]:
        """The arguments that determine the others, in an example."""
        values = self.values if self.by_example is None else self.by_example
        return tuple(i for i, number in enumerate(values) if number == self.facts)

    def enumerable(self, most: int) -> tuple[int, ...]:
        """Return the arguments with few values, each in two facts or more on average."""
        return tuple(i for i, number in enumerate(self.values) if number <= most and 2 * number <= self.facts)


def modes_of(
    predicate: str,
    types: Sequence[str],
    keys: FactKeys,
    constants: int = CONSTANTS,
    example: int | None = None,
    *,
    referred: Collection[str] = (),
) -> tuple[BiasMode, ...]:
    """Return the modes that a predicate's types and keys suggest by this module's rules; `referred` are types of the target and of keys."""
    few = keys.enumerable(constants)
    found: list[BiasMode] = []
    chosen_inputs = list(keys.keys or range(len(types)))
    chosen_inputs += [i for i, type_ in enumerate(types) if i not in (*chosen_inputs, example) and type_ in referred]
    if example is not None and example not in chosen_inputs:
        chosen_inputs.append(example)
    for input_ in chosen_inputs:
        inputs = {input_} if example is None else {input_, example}
        outputs = [i for i in few if i not in inputs]
        chosen: list[tuple[int, ...]] = [(), *((i,) for i in outputs)]
        if len(outputs) > 1:
            chosen.append(tuple(outputs))
        places = [_places(types, inputs, constant) for constant in chosen]
        found += [
            BiasMode(predicate, each, 1 if input_ in keys.keys else _recall(each, input_ == example)) for each in places
        ]
    linked = {i for i, type_ in enumerate(types) if i not in (*keys.keys, example) and type_ in referred}
    if len(linked) > 1:
        together = _places(types, linked if example is None else {*linked, example}, ())
        found.append(BiasMode(predicate, together, _recall(together, example=False)))
    return tuple(found) if types else (BiasMode(predicate, (), 1),)


def _recall(places: Sequence[ModePlace], example: bool) -> int | None:
    """Return the recall of a mode whose input is no key; `example`: it has no other input than the example."""
    kinds = {place.kind for place in places}
    if kinds == {INPUT}:
        return 1
    if example or OUTPUT not in kinds:
        return None
    return RECALL_WITH_CONSTANTS if CONSTANT in kinds else RECALL


def _places(types: Sequence[str], inputs: Collection[int], constants: Collection[int]) -> tuple[ModePlace, ...]:
    def kind(i: int) -> Literal["+", "-", "#"]:
        return INPUT if i in inputs else CONSTANT if i in constants else OUTPUT

    return tuple(ModePlace(kind(i), type_) for i, type_ in enumerate(types))


def derive_bias(store: Store, target: str, *, body: Collection[str] | None = None, constants: int = CONSTANTS) -> Bias:
    """Derive a language bias from types and keys; `body` is by default all closed predicates with facts that are true or false."""
    most: object = constants
    if isinstance(most, bool) or not isinstance(most, int) or most < 0:
        raise InputError(
            f"constants is {constants!r}: expected 0 (none) or the most values of an argument that may be one"
        )
    records, sources = store.predicates(), store.sources()
    if target not in records:
        raise CatalogError(
            f"there is no predicate {target!r}{did_you_mean(nearest_names(target, records))}; load its facts first."
        )
    closed = {name: sources[name, "fact"] for name, record in records.items() if _closed(record, sources)}
    closed.pop(target, None)
    # Bodies are true or false.
    between = values_between(store)
    refuse_values(between, body or ())
    closed = {name: source for name, source in closed.items() if name not in between}
    chosen = closed if body is None else _chosen(closed, target, body, records)
    if not chosen:
        raise CatalogError(
            f"there is no closed predicate beside {target}: load facts that clauses can have in their bodies."
        )
    head = _head(store, records[target], {type_ for name in chosen for type_ in records[name].known_types()}, constants)
    places = _examples(example_source(store), records[target], [records[name] for name in chosen])
    # One query, whatever the number of predicates.
    keys = _count(store, [(records[name], source) for name, source in chosen.items()], places)
    types = {name: records[name].known_types() for name in chosen}
    referred = {place.type for place in head.places} | {types[name][i] for name in chosen for i in keys[name].keys}
    modes = [
        mode
        for name in chosen
        for mode in modes_of(name, types[name], keys[name], constants, places[name], referred=referred)
    ]
    return replace(Bias(head, tuple(modes)), path=f"modes of {target}, derived from types and keys")


def _head(store: Store, target: PredicateRecord, known: Collection[str], constants: int) -> BiasMode:
    """Return the mode of the target; `known` are the types of body predicates."""
    types, named, source = store.types(), target.known_types(), example_source(store)
    example = source.argument(target) if source.kind == "type" else None
    few = [i for i, name in enumerate(named) if i != example and name not in known and types[name].size <= constants]
    # A target of constants alone would be a list of facts.
    few = few if len(few) < len(named) else []
    return BiasMode(target.predicate, _places(named, [i for i in range(len(named)) if i not in few], few), 1)


def _examples(source: ExampleSource, target: PredicateRecord, body: Sequence[PredicateRecord]) -> dict[str, int | None]:
    """Return the argument of each body predicate that is the example, where the target has one too."""
    divided = source.kind == "type" and source.argument(target) is not None
    return {record.predicate: source.argument(record) if divided else None for record in body}


def _closed(record: PredicateRecord, sources: dict[tuple[str, str], SourceRecord]) -> bool:
    roles = [role for name, role in sources if name == record.predicate]
    return roles == ["fact"] and record.scope is None


def _chosen(
    closed: dict[str, SourceRecord], target: str, body: Collection[str], records: dict[str, PredicateRecord]
) -> dict[str, SourceRecord]:
    """Return the named predicates; all that cannot stand in a body are named at once."""
    if isinstance(body, str):
        raise InputError(f"body must be a list of predicates, not {body!r}")
    faults: list[str] = []
    for name in body:
        if name not in records:
            faults.append(f"there is no predicate {name!r}{did_you_mean(nearest_names(name, records))}")
        elif name == target:
            faults.append(f"{name} is the target: a body has closed predicates only; for recursive clauses use OSL")
        elif name not in closed:
            faults.append(f"{name} is open: a body has closed predicates only")
    if faults:
        raise CatalogError("\n".join(faults))
    return {name: source for name, source in closed.items() if name in set(body)}


def _count(
    store: Store, chosen: Sequence[tuple[PredicateRecord, SourceRecord]], examples: Mapping[str, int | None]
) -> dict[str, FactKeys]:
    """Count facts and values of all predicates in one query."""
    widest = max(len(record.arguments) for record, _ in chosen)
    queries = [
        _counts(store, number, record, source, widest, examples[record.predicate])
        for number, (record, source) in enumerate(chosen)
    ]
    rows = store.rows(union_all(queries), "count the values of arguments")
    found: dict[str, FactKeys] = {}
    for row in sorted(rows, key=lambda r: int(r["predicate"])):
        record = chosen[row["predicate"]][0]
        values, apart = (
            tuple(int(row[f"{kind}{i}"]) for i in range(len(record.arguments))) for kind in ("values", "apart")
        )
        found[record.predicate] = FactKeys(int(row["facts"]), values, apart)
    return found


def _counts(
    store: Store, number: int, record: PredicateRecord, source: SourceRecord, widest: int, example: int | None
) -> exp.Select:
    """Return the query of one row: the number of a predicate, of its facts, and of the values of each argument."""
    outputs: list[exp.Expr] = [named(integer(number), "predicate"), named(star_count(), "facts")]
    columns = argument_columns(widest)
    beside = ["example"] if source.example else [] if example is None else [columns[example]]
    for i, name in enumerate(columns):
        there = i < len(record.arguments)
        values = _distinct(name) if there else integer(0)
        apart = _distinct(*dict.fromkeys([*beside, name])) if there else integer(0)
        outputs += [named(values, f"values{i}"), named(apart, f"apart{i}")]
    query = exp.select(*outputs).from_(store.table(source.storage))
    return query.where(column("truth")) if source.signed else query


def _distinct(*names: str) -> exp.Expr:
    return exp.Count(this=exp.Distinct(expressions=[column(name) for name in names]))
