"""A part of the data that is held out for testing: whole examples, or query atoms of a target where all data are one network."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from sqlglot import exp

from sqlrl import markup
from sqlrl.catalog.examples import example_source, waiting_examples
from sqlrl.catalog.image import PredicateRecord
from sqlrl.catalog.layout import Layout, PredicateInfo
from sqlrl.distinct import distinct
from sqlrl.engine.nodes import column, named, table, union_all
from sqlrl.errors import CatalogError, InputError, Parameter, Phrase
from sqlrl.evaluate.holdout import NEITHER, TEST, TRAIN, SideArray, check_fraction, hold_out, hold_out_entities
from sqlrl.ground.clauses import argument_names, named_atoms
from sqlrl.ground.network import IntArray
from sqlrl.logic.model import Model
from sqlrl.logic.saving import SOFT
from sqlrl.logic.terms import Argument, Predicate
from sqlrl.report import Table
from sqlrl.slips import Helpful
from sqlrl.training.session import Session, check_model, verb
from sqlrl.wording import counted, did_you_mean, nearest_names


@dataclass(frozen=True, eq=False, repr=False)
class Split(Helpful):
    """Two parts of the data that share nothing: to learn from, and to test on.

    Parameters
    ----------
    train, test : list of str, or Table
        Names of examples, as `examples=` takes them; of query atoms the rows of a scope, as `Database.scope` takes them.
    predicate : str or None
        The target whose query atoms were split; None if examples were.
    neither : int
        Examples or query atoms that join both parts, and are in neither.
    by : tuple of str
        The types whose constants are in one part only.

    Examples
    --------
    >>> import sqlrl
    >>> db = sqlrl.connect()
    >>> db.load("Word", [(f"d{i}", "a") for i in range(10)], types=["doc", "word"], example="doc")
    >>> split = db.split(0.3)
    >>> split
    Split: 7 examples to learn from, 3 to test on
    >>> sorted(split.train + split.test) == [f"d{i}" for i in range(10)]
    True
    """

    train: list[str] | Table
    test: list[str] | Table
    predicate: str | None = None
    neither: int = 0
    by: tuple[str, ...] = ()
    _repr_html_ = markup.field_table

    def __str__(self) -> str:
        what = "example" if self.predicate is None else "query atom"
        of = "" if self.predicate is None else f" of {self.predicate}"
        text = f"{counted(len(self.train), what)}{of} to learn from, {len(self.test):,} to test on"
        if self.by:
            text += f", with no {' or '.join(self.by)} in common"
        if self.neither:
            joins, are = ("joins", "is") if self.neither == 1 else ("join", "are")
            text += f"; {counted(self.neither, what)} that {joins} both {are} in neither"
        return text

    def __repr__(self) -> str:
        return f"Split: {self}"


@verb
def split(
    session: Session,
    fraction: float,
    *,
    by: str | Sequence[str] | None,
    predicate: str | None,
    model: Model | None,
    examples: Any,
    random_state: int,
) -> Split:
    """Hold a part of the data out; `Database.split` explains it."""
    check_fraction(fraction)
    check_seed(random_state)
    types = _types(by)
    if model is not None:
        check_model(model)
    with session.console.progress("splitting the data"):
        layout = None if model is None else session.layout(model, adds_rules=True)
        chosen = session.example_ids(examples)
        if predicate is None and len(chosen) > 1:
            return _examples(session, chosen, fraction, types, random_state)
        if predicate is None and model is None and examples is None and not types:
            waiting = waiting_examples(session.catalog.store)
            if len(waiting) > 1:
                return _example_names(waiting, fraction, random_state)
        layout = layout or bound_by_data(session, predicate)
        return _atoms(session, layout, predicate, fraction, types, random_state)


def check_seed(seed: object) -> None:
    """Refuse a seed that is no whole number."""
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise InputError(
            f"{Parameter('random_state', seed)} must be a whole number, 0 or more: the same one splits alike."
        )


def _types(by: object) -> tuple[str, ...]:
    """Return the types that `by` names."""
    if by is None:
        return ()
    named_types = [by] if isinstance(by, str) else by
    if not isinstance(named_types, list | tuple) or not named_types or not all(isinstance(t, str) for t in named_types):
        raise InputError(
            f"{Parameter('by', by)} must name the type whose constants are to be on one side only, such as {Parameter('by', 'person')}, or be a list of types."
        )
    return tuple(dict.fromkeys(named_types))


# ---- examples ----------------------------------------------------------------------------------------


def _examples(session: Session, chosen: IntArray, fraction: float, types: tuple[str, ...], seed: int) -> Split:
    """Split whole examples; with types, so that no constant of them is in examples of both sides."""
    store = session.catalog.store
    query = exp.select(column("example"), column("name")).from_(store.table("example"))
    rows = session.engine.fetch(query, step="read the names of examples").to_pylist()
    known: dict[int, str] = {row["example"]: row["name"] for row in rows}
    names = [known[example] for example in chosen.tolist()]
    if not types:
        return _example_names(names, fraction, seed)
    # By their names, so that the order in which they were loaded does not matter.
    rank = _ranks(names)
    place = {example: i for i, example in enumerate(chosen.tolist())}
    found = [row for row in _constants_of_examples(session, types).to_pylist() if row["example"] in place]
    item = rank[np.array([place[row["example"]] for row in found], dtype=np.int64)]
    entity = _ranks([(row["kind"], row["name"]) for row in found])
    return _divided(names, hold_out_entities(item, entity, len(names), fraction, seed=seed)[rank], types)


def _example_names(names: Sequence[str], fraction: float, seed: int) -> Split:
    """Split examples by their names alone, so that the order in which they were loaded does not matter."""
    return _divided(names, hold_out(len(names), fraction, seed=seed)[_ranks(names)], ())


def _divided(names: Sequence[str], side: SideArray, types: tuple[str, ...]) -> Split:
    """Return the examples by their sides."""
    _check_sides(side, "example", types)
    train, test = ([n for n, s in zip(names, side.tolist(), strict=True) if s == which] for which in (TRAIN, TEST))
    return Split(train, test, None, int((side == NEITHER).sum()), types)


def _constants_of_examples(session: Session, types: tuple[str, ...]) -> pa.Table:
    """Read which constants of some types the facts of each example have: `example`, `kind`, `name`."""
    store = session.catalog.store
    source, known, records = example_source(store), store.types(), store.predicates()
    queries: list[exp.Query] = []
    for (name, _), loaded in store.sources().items():
        record = records[name]
        example = source.of(record, "f")
        if loaded.staged or example is None:
            continue
        for i, kind in enumerate(record.types):
            if kind in types:
                dictionary = store.table(known[kind].dictionary, "d")
                query = exp.select(
                    named(example.copy(), "example"), named(exp.convert(kind), "kind"), column("name", "d")
                )
                on = column("id", "d").eq(column(f"a{i}", "f"))
                queries.append(query.from_(store.table(loaded.storage, "f")).join(dictionary, on=on))
    found = {kind for record in records.values() for kind in record.types}
    _check_types(types, found, records)
    if not queries:
        raise InputError(f"no fact of an example has a constant of the type {' or '.join(types)}: choose another type")
    rows = (
        exp.select(column("example"), column("kind"), column("name")).distinct().from_(union_all(queries).subquery("u"))
    )
    return session.engine.fetch(rows, step="read the constants of examples")


# ---- query atoms -------------------------------------------------------------------------------------


def _atoms(
    session: Session, layout: Layout, predicate: str | None, fraction: float, types: tuple[str, ...], seed: int
) -> Split:
    """Split the query atoms of a target; those of a block stay together."""
    info = _target(layout, predicate)
    _check_types(types, set(info.types), {}, f" of {info.name}({', '.join(info.types)})")
    if set(types) & {info.types[i] for i in info.block}:
        raise InputError(
            f"{Parameter('by', ' '.join(types))} is the type of the block of {info.name}, of which an atom must be true: all its values stay on one side; "
            "choose the type of another argument"
        )
    assert info.atoms is not None, "the target is open"
    arity = len(info.types)
    ids = exp.select(*(column(f"a{i}", "a") for i in range(arity)), column("example", "a")).from_(
        table(info.atoms, "a")
    )
    data = session.engine.fetch(ids.order_by(column("atom", "a")), step=f"read the atoms of {info.name}")
    if len(data) < 2:
        raise InputError(f"{info.name} has {counted(len(data), 'query atom')}: there is nothing to split")
    order = {kind: _ranks(_names(session, layout, kind)) for kind in set(info.types)}
    ranked = [order[kind][_integers(data, f"a{i}")] for i, kind in enumerate(info.types)]
    # What is outside of the block says which block it is.
    keys = [_integers(data, "example"), *(ranked[i] for i in range(arity) if i not in info.block)]
    unit = distinct(keys).inverse
    if types:
        offset = np.cumsum([0, *(len(order[kind]) for kind in types)])
        places = [(i, types.index(kind)) for i, kind in enumerate(info.types) if kind in types]
        entity = np.concatenate([ranked[i] + offset[k] for i, k in places])
        side = hold_out_entities(np.tile(unit, len(places)), _dense(entity), int(unit.max()) + 1, fraction, seed=seed)[
            unit
        ]
    else:
        side = hold_out(int(unit.max()) + 1, fraction, seed=seed)[unit]
    _check_sides(side, f"query atom of {info.name}", types)
    query = named_atoms(layout, info).order_by(column("atom", "a"))
    rows = session.engine.fetch(query, step=f"name the atoms of {info.name}")
    chosen = list(argument_names(info))
    if session.catalog.store.state("examples") == "column":
        chosen = ["example", *chosen]
    rows = rows.select(chosen)
    train, test = (Table(rows.filter(pa.array(side == which)), title=info.name) for which in (TRAIN, TEST))
    return Split(train, test, info.name, int((side == NEITHER).sum()), types)


def _target(layout: Layout, predicate: str | None) -> PredicateInfo:
    """Return the target whose query atoms are split."""
    targets = {info.name: info for info in layout.open_predicates()}
    if predicate is None and len(targets) == 1:
        return next(iter(targets.values()))
    if predicate in targets:
        return targets[predicate]
    listed = ", ".join(targets)
    if predicate is None:
        raise InputError(
            f"all data are one network with {len(targets)} targets, {listed}: {Phrase('say which one to split, predicate={!r}', (listed.split(', ')[0],))}"
        )
    raise InputError(
        f"{Parameter('predicate', predicate)} is no target{did_you_mean(nearest_names(predicate, targets))}; there is {listed}"
    )


def bound_by_data(session: Session, predicate: str | None) -> Layout:
    """Hold the data against the declarations that they have themselves."""
    records = session.catalog.predicates()
    sources = session.catalog.store.sources()
    if predicate is not None and predicate not in records:
        raise CatalogError(f"there is no predicate {predicate!r}{did_you_mean(nearest_names(predicate, records))}")
    labelled = {name for name, role in sources if role in ("label", "given")} | ({predicate} if predicate else set())
    labelled |= {name for name, record in records.items() if record.scope is not None}
    if not labelled:
        raise InputError(
            f"there is nothing to split: all data are one example, and no predicate has labels; load them with {Parameter('target', True)}"
        )
    unknown = sorted(name for name in labelled if None in records[name].types)
    if unknown:
        raise CatalogError(
            f"the types of {', '.join(unknown)} are not known yet: pass the model that declares them, {Phrase('model=model')}"
        )
    known = {name: record for name, record in records.items() if None not in record.types}
    declared = {
        name: _declared(name, record)
        for name, record in known.items()
        if (name in labelled or any(n == name for n, _ in sources))
    }
    # Values are kept as they are: the data are not read by a model here.
    semantics = SOFT if session.catalog.values() else Model.semantics
    return session.layout(Model(declared, query=frozenset(labelled), semantics=semantics), adds_rules=True)


def _declared(name: str, record: PredicateRecord) -> Predicate:
    """Return the declaration that the record of a predicate is."""
    pairs = zip(record.known_types(), record.arguments, strict=True)
    return Predicate(name, tuple(Argument(kind, argument.block) for kind, argument in pairs))


def _names(session: Session, layout: Layout, kind: str) -> list[str]:
    """Return the names of the constants of a type, by id."""
    query = exp.select(column("name")).from_(table(layout.types[kind].dictionary)).order_by(column("id"))
    names: list[str] = session.engine.fetch(query, step=f"read the names of {kind}").column(0).to_pylist()
    return names


@contextmanager
def scoped(session: Session, predicate: str, rows: Table) -> Iterator[None]:
    """Give a predicate another scope while the context is open; the one before comes back then."""
    store = session.catalog.store
    record = store.predicates().get(predicate)
    before = None
    if record is not None and record.scope is not None:
        before = session.engine.fetch(
            exp.select("*").from_(store.table(record.scope)), step=f"read the scope of {predicate}"
        )
    session.catalog.scope(predicate, rows)
    try:
        yield
    finally:
        session.catalog.scope(predicate, before)


# ---- both --------------------------------------------------------------------------------------------


def _check_types(
    types: tuple[str, ...], known: set[Any], records: Mapping[str, PredicateRecord], where: str = ""
) -> None:
    """Refuse a type that is not among those that are known."""
    found = {kind for kind in known if kind is not None}
    for kind in types:
        if kind not in found:
            waiting = sorted(name for name, record in records.items() if None in record.types)
            wait = f"; the types of {', '.join(waiting)} wait for a model: pass {Parameter('model')}" if waiting else ""
            raise InputError(
                f"{Parameter('by', kind)} is no type of an argument{where}{did_you_mean(nearest_names(kind, found)) or _listed(found)}{wait}"
            )


def _listed(found: set[str]) -> str:
    return f"; there is {', '.join(sorted(found))}" if found else ""


def _check_sides(side: SideArray, what: str, types: tuple[str, ...]) -> None:
    """Refuse a split of which one side has nothing."""
    if (side == TRAIN).any() and (side == TEST).any():
        return
    if not types:
        raise InputError(f"there is only one {what}, or one block of them: nothing can be held out")
    called = "to test on" if (side == TRAIN).any() else "to learn from"
    raise InputError(
        f"no {what} would be left {called} with no {' or '.join(types)} in common: {int((side == NEITHER).sum()):,} of {len(side):,} "
        f"would join both sides; choose {Phrase('another fraction, another random_state')}, or {Parameter('by')} another type"
    )


def _ranks(values: Sequence[Any]) -> IntArray:
    """Return the place of each value among the different ones in their order."""
    place = {value: i for i, value in enumerate(sorted(set(values)))}
    return np.array([place[value] for value in values], dtype=np.int64)


def _dense(values: IntArray) -> IntArray:
    """Number values from 0 without gaps, in their order."""
    return np.unique(values, return_inverse=True)[1].reshape(-1).astype(np.int64)


def _integers(data: pa.Table, name: str) -> IntArray:
    return np.asarray(data.column(name).to_numpy(), dtype=np.int64)
