"""Folds as users give them, lists, queries, predicates or parts of a split, as parts of the query atoms of a target."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from sqlglot import exp

from sqlrl.catalog.layout import Layout, PredicateInfo
from sqlrl.catalog.sources import open_source
from sqlrl.database.holdout import Split
from sqlrl.distinct import distinct
from sqlrl.engine.nodes import cast, column, conjunction, join, named, star_count, table
from sqlrl.errors import InputError, Message, Parameter, marked
from sqlrl.evaluate.identity import NEITHER, TEST, TRAIN, SideArray
from sqlrl.ground.clauses import argument_names, named_atoms
from sqlrl.ground.network import IntArray
from sqlrl.training.session import Session
from sqlrl.wording import counted, did_you_mean, nearest_names, shortened

RANDOM = 10
"""Folds where nobody says which."""

_FOLD = "the fold"
_SHOWN = 3
_UNIT = "unit id"
"""The column of ids beside names: no type has a blank in its name."""

_REMEDY = f"give a number of random folds, a list of lists, folds of sqlrl.k_fold, a query with a column of folds, or {Parameter('train')} and {Parameter('test')}"


@dataclass(frozen=True, eq=False)
class Folds:
    """Folds over the query atoms of a target."""

    names: tuple[str, ...]
    sides: SideArray  # int8, shape (folds, parts): train, test or neither
    parts: pa.Table  # `unit id`, that of an example or of a query atom, and `part`
    by_example: bool  # whether units are examples
    random: bool = False  # whether nobody said which units belong together
    predicate: str | None = None  # the one that names the folds, which is no fact about what is tested

    def __str__(self) -> str:
        what = "examples" if self.by_example else "query atoms"
        if len(self.names) == 1:
            return f"one split of {what}"
        return f"{counted(len(self.names), 'random fold' if self.random else 'fold')} of {what}"


@dataclass(frozen=True, eq=False)
class _Member:
    """Rows that name units: of a fold, on a side; with `fold` None the last column names the fold, with `side` None all other folds train on them."""

    source: Any
    label: str
    fold: str | None = None
    side: int | None = None


def read_folds(
    session: Session, layout: Layout, info: PredicateInfo, folds: Any, train: Any, test: Any, seed: int
) -> Folds:
    """Return the folds that a user gave (`Database.audit`), or random ones; units without query atoms of the target are in no part."""
    if isinstance(folds, Split):
        folds, train, test = None, folds.train, folds.test
    if (train is None) != (test is None):
        raise InputError(
            f"{Parameter('test' if test is None else 'train')} is missing: give both {Parameter('train')} and {Parameter('test')}, or {Parameter('folds')}"
        )
    if folds is not None and train is not None:
        raise InputError(
            f"{Parameter('folds')} and {Parameter('train')} with {Parameter('test')} say the same in two ways: give one of them"
        )
    whole = not isinstance(folds, bool) and isinstance(folds, int | np.integer)
    if train is None and (folds is None or whole):
        return _random(session, layout, info, None if folds is None else int(folds), seed)
    members = list(_members(session, layout, info, folds) if train is None else _pair(train, test))
    read = [_Reading.of(session, layout, info, member) for member in members]
    kinds = {each.by_example for each in read}
    if len(kinds) > 1:
        raise InputError(f"some folds name examples and others query atoms of {info.name}: name one kind")
    (by_example,) = kinds
    rows = pa.concat_tables([each.rows for each in read])
    named_by = folds if isinstance(folds, str) and folds in layout.predicates else None
    return replace(_of_rows(session, layout, info, rows, by_example), predicate=named_by)


# ---- what was given ------------------------------------------------------------------------------------


def _pair(train: Any, test: Any) -> Iterator[_Member]:
    yield _Member(train, Message(Parameter("train")), "1", TRAIN)
    yield _Member(test, Message(Parameter("test")), "1", TEST)


def _members(session: Session, layout: Layout, info: PredicateInfo, folds: Any) -> Iterator[_Member]:
    """Yield what names the units of folds."""
    if isinstance(folds, str) and folds in layout.predicates:
        yield _Member(_of_predicate(session, layout, info, folds), Message(Parameter("folds", folds)))
    elif isinstance(folds, Mapping):
        yield from (_Member(names, f"fold {str(name)!r}", str(name)) for name, names in _several(list(folds.items())))
    elif isinstance(folds, list | tuple) and folds and all(hasattr(x, "train") and hasattr(x, "test") for x in folds):
        for number, fold in enumerate(folds, 1):
            name = str(getattr(fold, "name", number))
            yield _Member(fold.train, f"the training part of fold {name!r}", name, TRAIN)
            yield _Member(fold.test, f"the test part of fold {name!r}", name, TEST)
    elif isinstance(folds, list | tuple) and (not folds or all(map(_is_fold, folds))):
        yield from (_Member(x, f"fold {i}", str(i)) for i, x in enumerate(_several(list(folds)), 1))
    else:
        yield _Member(folds, Message(Parameter("folds")))


def _several(folds: list[Any]) -> list[Any]:
    if len(folds) < 2:
        raise InputError(
            f"{Parameter('folds')} has {counted(len(folds), 'fold')}, and one is to be tested while others are trained on: {_REMEDY}"
        )
    return folds


def _is_fold(value: object) -> bool:
    """Return whether an item of a list is a fold, not a row that names a unit and its fold."""
    scalars = isinstance(value, tuple) and all(isinstance(each, str | int | float) for each in value)
    return not scalars and not isinstance(value, str | int | float) and not isinstance(value, Mapping)


def _of_predicate(session: Session, layout: Layout, info: PredicateInfo, name: str) -> exp.Select | str:
    """Return the query of a predicate whose last argument is the fold of what its others name."""
    found, record = layout.predicates[name], session.catalog.predicates()[name]
    names = argument_names(found)
    chosen: list[str] = []
    if found.types[:-1] == info.types:
        chosen = [*(["example"] if info.example_column and found.example_column else []), *names]
    elif found.example_column and len(names) == 1:
        chosen = ["example", *names]
    elif layout.example_type is not None and len(names) == 2 and layout.example_type in found.types:
        own = found.types.index(layout.example_type)
        chosen = [names[own], names[1 - own]]
    view = None if record.readable is None else session.catalog.store.table(record.readable)
    if chosen and view is not None:
        return session.engine.render(exp.select(*map(column, chosen)).from_(view))
    places = [i for i, kind in enumerate(info.types) if kind == found.types[0]]
    if view is not None and len(names) == 2 and places and not found.example_column and not layout.divided:
        return session.engine.render(_by_entity(layout, info, places, view, names))
    wanted = [f"{name}({', '.join((*info.types, 'fold'))})"]
    wanted += (
        [f"{name}({layout.example_type or 'example'}, fold)"]
        if layout.divided
        else [f"{name}({kind}, fold)" for kind in dict.fromkeys(info.types)]
    )
    raise InputError(
        f"{Parameter('folds', name)}: {name}({', '.join(found.types)}) does not say which fold a query atom of {info.name} is in: "
        f"give a predicate like {' or '.join(dict.fromkeys(wanted))}, or a query"
    )


def _by_entity(
    layout: Layout, info: PredicateInfo, places: Sequence[int], view: exp.Table, names: Sequence[str]
) -> exp.Select:
    """Return the query of atoms with the fold of their entities at some arguments; those whose entities are in several folds are in none."""
    own = argument_names(info)
    query = exp.select(*(column(name, "u") for name in own)).from_(named_atoms(layout, info).subquery("u"))
    for i in places:
        alias = f"f{i}"
        known = view.copy()
        known.set("alias", exp.TableAlias(this=exp.to_identifier(alias, quoted=True)))
        same = [column(names[0], alias).eq(column(own[i], "u"))]
        same += [column(names[1], alias).eq(column(names[1], f"f{places[0]}"))] if i != places[0] else []
        query = join(query, known, conjunction(same), "INNER")
    return query.select(named(column(names[1], f"f{places[0]}"), _FOLD))


# ---- what it names -------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Reading:
    """Units that are named: `rows` has `unit id`, `fold` and `side` (-1 where the others train)."""

    rows: pa.Table
    by_example: bool

    @classmethod
    def of(cls, session: Session, layout: Layout, info: PredicateInfo, member: _Member) -> _Reading:
        """Read a source, and look up what it names."""
        with open_source(session.engine, member.source) as opened:
            names = list(opened.columns)
            if not names:
                raise InputError(f"{marked(member.label)} is empty: {_REMEDY}")
            query = exp.select(*(named(opened.text(name), f"c{i}") for i, name in enumerate(names))).from_(opened.table)
            rows = session.engine.fetch(query, step=f"read {member.label}")
        if not len(rows):
            raise InputError(f"{marked(member.label)} is empty: {_REMEDY}")
        keys = len(names) - (member.fold is None)
        by_example = keys == 1 and layout.divided
        first = names[0].casefold() == "example" and info.example_column
        arity = len(info.types)
        if not by_example and keys != arity + first:
            divided = "the names of examples (1 column) or " if layout.divided else ""
            beside = " and one of folds" if member.fold is None else ""
            raise InputError(
                f"{marked(member.label)} has {counted(len(names), 'column')}, and {divided}query atoms of {info.name}({', '.join(info.types)}) "
                f"({counted(arity, 'column')}){beside} are needed"
            )
        units = _lookup(
            session, layout, info, rows.select([f"c{i}" for i in range(keys)]), member.label, by_example, first
        )
        places = np.asarray(units.column("row").to_numpy())
        fold = (
            pa.array([member.fold] * len(units), pa.string())
            if member.fold is not None
            else rows.column(f"c{keys}").take(pa.array(places))
        )
        if fold.null_count:
            raise InputError(f"{marked(member.label)} has rows without a fold: give each row one, or leave it out")
        side = pa.array(np.full(len(units), -1 if member.side is None else member.side, np.int8))
        return cls(pa.table({_UNIT: units.column(_UNIT), "fold": fold, "side": side}).combine_chunks(), by_example)


def _lookup(
    session: Session, layout: Layout, info: PredicateInfo, rows: pa.Table, label: str, by_example: bool, first: bool
) -> pa.Table:
    """Return `row` and `unit id` for rows of names; one that is unknown is an InputError."""
    known = _units(layout, info, by_example)
    outputs = ["name"] if by_example else [*(["example"] if first else []), *argument_names(info)]
    numbered = rows.append_column("row", pa.array(np.arange(len(rows)), pa.int64()))
    with session.engine.attached(numbered) as attached:
        attached.set("alias", exp.TableAlias(this=exp.to_identifier("m", quoted=True)))
        on = conjunction([column(name, "u").eq(column(f"c{i}", "m")) for i, name in enumerate(outputs)])
        query = join(
            exp.select(column("row", "m"), column(_UNIT, "u")).from_(attached), known.subquery("u"), on, "LEFT"
        )
        found = session.engine.fetch(query.order_by(column("row", "m"), column(_UNIT, "u")), step=f"look up {label}")
    missing = [
        i
        for i, unit in zip(found.column("row").to_pylist(), found.column(_UNIT).to_pylist(), strict=True)
        if unit is None
    ]
    if missing:
        what = "examples that the data do not have" if by_example else f"what is no query atom of {info.name}"
        shown = [", ".join(str(x) for x in rows.slice(i, 1).to_pylist()[0].values()) for i in missing[:_SHOWN]]
        like = ""
        if by_example:
            names = session.engine.fetch(known, step="list examples").column("name").to_pylist()
            like = did_you_mean(nearest_names(shown[0], names[:10_000]))
        listed = ", ".join(repr(shortened(text, 40)) if by_example else f"({shortened(text, 60)})" for text in shown)
        raise InputError(
            f"{label} names {what}: {listed}{', ...' if len(missing) > _SHOWN else ''}{like or ': correct the names or leave them out'}"
        )
    return found


def _units(layout: Layout, info: PredicateInfo, by_example: bool) -> exp.Select:
    """Return the units: `unit id` and their names."""
    if by_example:
        return exp.select(named(column("example"), _UNIT), column("name")).from_(table(layout.examples))
    return named_atoms(layout, info).select(named(column("atom", "a"), _UNIT))


# ---- parts ---------------------------------------------------------------------------------------------


def _random(session: Session, layout: Layout, info: PredicateInfo, count: int | None, seed: int) -> Folds:
    """Return random folds of examples, where there are several, else of query atoms, of which those of a block stay together."""
    by_example = layout.divided and layout.example_count > 1
    if by_example:
        keys: list[exp.Expression] = [column("name", "x")]
    else:
        keys = [
            column("example", "x"),
            *(column(name, "x") for i, name in enumerate(argument_names(info)) if i not in info.block),
        ]
    units = _units(layout, info, by_example).subquery("x")
    rank = exp.Window(
        this=exp.Anonymous(this="DENSE_RANK"), order=exp.Order(expressions=[exp.Ordered(this=key) for key in keys])
    )
    query = exp.select(column(_UNIT, "x"), named(exp.Sub(this=rank, expression=exp.Literal.number(1)), "rank")).from_(
        units
    )
    if by_example:
        asked = exp.select(column("example", "a")).from_(table(_atoms(info), "a"))
        query = query.where(exp.In(this=column(_UNIT, "x"), query=exp.Subquery(this=asked)))
    found = session.engine.fetch(query.order_by(column(_UNIT, "x")), step="number what is folded")
    place = np.asarray(found.column("rank").to_numpy(), dtype=np.int64)
    size = int(place.max(initial=-1)) + 1
    what = "example" if by_example else f"query atom of {info.name}"
    if size < 2:
        raise InputError(
            f"there is {counted(size, what)}, and a fold tests some and trains on others: load more data, or open a scope"
        )
    chosen = min(RANDOM, size) if count is None else count
    if not 2 <= chosen <= size:
        raise InputError(
            f"{Parameter('folds', chosen)} must lie between 2 and the number of units, here {counted(size, what)}"
        )
    part = np.empty(size, np.int64)
    part[np.random.default_rng(seed).permutation(size)] = np.arange(size) % chosen
    sides = np.full((chosen, chosen), TRAIN, np.int8)
    np.fill_diagonal(sides, TEST)
    parts = pa.table({_UNIT: found.column(_UNIT), "part": pa.array(part[place], pa.int32())})
    return Folds(tuple(str(k + 1) for k in range(chosen)), sides, parts, by_example, random=True)


def _of_rows(session: Session, layout: Layout, info: PredicateInfo, rows: pa.Table, by_example: bool) -> Folds:
    """Return folds from rows of units."""
    names = rows.column("fold").unique().to_pylist()
    # Numbers in their order, 2 before 10.
    names = sorted(names, key=lambda name: (not name.isdecimal(), len(name) if name.isdecimal() else 0, name))
    place = {name: i for i, name in enumerate(names)}
    fold = np.array([place[name] for name in rows.column("fold").to_pylist()], np.int64)
    unit, own = np.unique(np.asarray(rows.column(_UNIT).to_numpy(), dtype=np.int64), return_inverse=True)
    own, side = own.reshape(-1), np.asarray(rows.column("side").to_numpy())
    if (side < 0).all():
        _several(names)
        first = np.full(len(unit), -1, np.int64)
        first[own] = fold
        _check_apart(session, layout, info, unit, own[first[own] != fold], by_example, "two folds")
        part = first
        sides = np.full((len(names), len(names)), TRAIN, np.int8)
        np.fill_diagonal(sides, TEST)
    else:
        each = np.full((len(unit), len(names)), NEITHER, np.int8)
        each[own, fold] = side
        _check_apart(
            session,
            layout,
            info,
            unit,
            own[each[own, fold] != side],
            by_example,
            "both the training and the test part of a fold",
        )
        kinds = distinct(each.T)
        part, sides = kinds.inverse, np.ascontiguousarray(kinds.rows.T)
    folds = Folds(
        tuple(names), sides, pa.table({_UNIT: pa.array(unit), "part": pa.array(part, pa.int32())}), by_example
    )
    _check_sides(session, info, folds)
    return folds


def _check_apart(
    session: Session, layout: Layout, info: PredicateInfo, unit: IntArray, twice: IntArray, by_example: bool, where: str
) -> None:
    """Refuse units that are in two places."""
    if not len(twice):
        return
    which = np.unique(unit[twice])
    wanted = _units(layout, info, by_example).subquery("u")
    among = exp.In(this=column(_UNIT, "u"), expressions=[exp.convert(int(x)) for x in which[:_SHOWN]])
    shown = session.engine.fetch(
        exp.select("*").from_(wanted).where(among), step="name what is in two places"
    ).drop_columns([_UNIT])
    if not by_example and not info.example_column:
        shown = shown.drop_columns(["example"])
    texts = [", ".join(map(str, row.values())) for row in shown.to_pylist()]
    listed = ", ".join(repr(text) if by_example else f"{info.name}({text})" for text in texts)
    what = counted(len(which), "example" if by_example else "query atom")
    raise InputError(
        f"folds overlap: {what} {'is' if len(which) == 1 else 'are'} in {where}, such as {listed}: leave each in one of them"
    )


def _check_sides(session: Session, info: PredicateInfo, folds: Folds) -> None:
    """Refuse folds of which one side has no query atom."""
    atoms = exp.select(named(column("example" if folds.by_example else "atom", "a"), _UNIT), named(star_count(), "n"))
    atoms = atoms.from_(table(_atoms(info), "a")).group_by(column("example" if folds.by_example else "atom", "a"))
    if folds.by_example:
        found = session.engine.fetch(atoms, step="count query atoms by example")
        filled = np.isin(folds.parts.column(_UNIT).to_numpy(), found.column(_UNIT).to_numpy())
    else:
        filled = np.ones(len(folds.parts), bool)
    part = np.asarray(folds.parts.column("part").to_numpy())[filled]
    some = np.bincount(part, minlength=folds.sides.shape[1]) > 0
    # What no fold can test comes first: other folds lack it to train on.
    for side, called in ((TEST, "test"), (TRAIN, "train")):
        for name, row in zip(folds.names, folds.sides, strict=True):
            if not some[row == side].any():
                raise InputError(
                    f"fold {name!r} has no query atom of {info.name} to {called} on: move some there, or leave the fold out"
                )


def _atoms(info: PredicateInfo) -> Any:
    assert info.atoms is not None, "the target is open"
    return info.atoms


def kept_folds(folds: Folds) -> pa.Table:
    """Return what `sqlrl.audit_fold` keeps of folds, but for the run."""
    fold, part = np.nonzero(folds.sides != NEITHER)
    return pa.table(
        {
            "fold": pa.array([folds.names[k] for k in fold.tolist()], pa.string()),
            "part": pa.array(part, pa.int32()),
            "test": pa.array(folds.sides[fold, part] == TEST),
        }
    )


def folded_atoms(
    layout: Layout, info: PredicateInfo, folds: Folds, parts: exp.Table, constant: Mapping[str, Any]
) -> tuple[exp.Select, Sequence[str]]:
    """Return the query of what `sqlrl.audit_atom` keeps, and its columns; `parts` is a table of `folds.parts`, `constant` has the same value in all rows."""
    assert info.atoms is not None, "the target is open"
    parts.set("alias", exp.TableAlias(this=exp.to_identifier("u", quoted=True)))
    query = exp.select(*(named(exp.convert(value), name) for name, value in constant.items()), column("name", "x"))
    query = query.from_(table(info.atoms, "a"))
    query = join(query, parts, column(_UNIT, "u").eq(column("example" if folds.by_example else "atom", "a")), "INNER")
    query = join(query, table(layout.examples, "x"), column("example", "x").eq(column("example", "a")), "INNER")
    for i, kind in enumerate(info.types):
        query = join(
            query,
            table(layout.types[kind].dictionary, f"d{i}"),
            column("id", f"d{i}").eq(column(f"a{i}", "a")),
            "INNER",
        )
    arguments = cast(exp.Array(expressions=[column("name", f"d{i}") for i in range(len(info.types))]), "TEXT[]")
    query = query.select(arguments, column("truth", "a"), column("part", "u"))
    return query, [*constant, "example", "arguments", "truth", "part"]
