"""Rows of Parquet encoded on the server that reads them: constants get ids in the order of their names, and no task sees all names."""

from __future__ import annotations

import itertools
import logging
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pyarrow as pa
from sqlglot import exp

from sqlrl.engine.nodes import cast, column, integer, named, star_count, union_all
from sqlrl.engine.spark.encoded_parts import MARK, mark_rows, part_frame, stored_frame
from sqlrl.engine.spark.server import PIECE, Server, explained, unwritable
from sqlrl.engine.stored import FACTS, PLACE, StoredPart
from sqlrl.errors import EngineError, InputError
from sqlrl.progress import Stage

logger = logging.getLogger(__name__)
_views = itertools.count(1)

NAMES = 1_000_000
"""About how many names one task puts in order."""

ROWS = 4_000_000
"""About how many rows a folder of facts holds, a range of examples."""

_SAMPLED = 64
"""How many names of a sample stand for the names of one task: ranges then differ by about an eighth in size."""

_MOST_IDS = 2**31 - 1
_SHOWN = 5
_NAME = pa.schema([("name", pa.string())])
_DICTIONARY = pa.schema([("id", pa.int32()), ("name", pa.string())])


@dataclass(frozen=True, slots=True)
class Key:
    """A column of the source that holds constants: which column of ids it becomes, and of what type they are, None for the examples."""

    output: str
    column: str
    type: str | None
    date: bool = False


@dataclass(frozen=True, slots=True)
class ParquetToEncode:
    """The Parquet to encode, with its columns of constants."""

    path: str
    keys: tuple[Key, ...]
    truth: str | None = None  # the column of truths, if there is one
    complete: bool = False  # leave out rows with NULL for a key
    distinct: bool = False  # keep one of equal rows

    @property
    def outputs(self) -> tuple[str, ...]:
        """The columns of the encoded rows."""
        return (*(key.output for key in self.keys), *(("truth",) if self.truth is not None else ()))


@dataclass(frozen=True, slots=True)
class Known:
    """The constants of a type that have ids, those from 0 on: `pieces` yields them as (id, name), or they are parts of the storage."""

    size: int = 0
    pieces: Callable[[], Iterable[pa.Table]] = tuple
    parts: tuple[StoredPart, ...] = ()


@dataclass(frozen=True, slots=True)
class EncodingTally:
    """What one pass over a source finds: rows, a hash of them that knows no order, rows to keep, and rows at fault by column."""

    rows: int
    digest: str
    kept_rows: int
    missing: Mapping[str, int]
    beyond: Mapping[str, int]

    @property
    def fingerprint(self) -> str:
        """What tells that a source has other rows than before."""
        return f"server:{self.rows}:{self.digest}"


@dataclass(frozen=True, slots=True)
class EncodedNames:
    """The constants of a type once a source is encoded: how many are new, and the parts of the storage that have them and those before."""

    new: int
    added: tuple[StoredPart, ...] = ()
    before: tuple[StoredPart, ...] = ()


@dataclass(frozen=True, slots=True)
class Encoded:
    """Encoded rows, and what is wrong with them: how many facts occur more than once, or are both true and false, and the first of each."""

    rows: int
    part: StoredPart | None
    names: Mapping[str | None, EncodedNames]
    repeated: tuple[int, list[dict[str, Any]]]
    contradictory: tuple[int, list[dict[str, Any]]]


def source_columns(server: Server, path: str) -> dict[str, str]:
    """Return the columns of Parquet that the server reads, with their types as Spark writes them; none where nothing is there."""
    step = f"look at {path}"
    frame = server.run(lambda: server.session.read.parquet(path), step, path)
    schema = server.run(lambda: frame.schema, step, path)
    return {str(each.name): str(each.dataType.simpleString()) for each in schema.fields}


def ranges(sample: Iterable[str], number: int) -> list[str]:
    """Return sorted boundaries, each the first name of a range, that cut names into at most `number` ranges with equal parts of a sample."""
    # In the order of UTF-8's bytes, as databases have it.
    names = sorted(sample, key=str.encode)
    cuts = [names[len(names) * i // number] for i in range(1, number)] if names else []
    return list(dict.fromkeys(cuts))


def range_of(name: exp.Expression, boundaries: Sequence[str], values: Sequence[int]) -> exp.Expression:
    """Return the expression of the value of the range in which a name lies, by as few comparisons as a search by halves needs."""
    if not boundaries:
        return integer(values[0])
    middle = len(boundaries) // 2
    below = exp.LT(this=name.copy(), expression=exp.Literal.string(boundaries[middle]))
    left = range_of(name, boundaries[:middle], values[: middle + 1])
    return exp.Case().when(below, left).else_(range_of(name, boundaries[middle + 1 :], values[middle + 1 :]))


@dataclass
class Encoding:
    """One source encoded into a folder of its own below the storage, `encoded/<attempt>`.

    Constants are numbered in the order of names without a task that has all of them: boundaries from a sample cut the names into ranges, each range
    is counted, and its first id is known then; within a range `row_number` goes on. What range a name is in follows from the name alone, so a part
    that a server computes a second time gets the same ids.
    """

    server: Server
    most: int
    """How many constants of a type are sent back at the most; where there are more, those known before are needed in the storage, too."""
    task: int = field(default_factory=lambda: NAMES)
    attempt: str = field(default_factory=lambda: uuid.uuid4().hex)
    _shown: list[str] = field(default_factory=list)
    _written: dict[StoredPart, tuple[int, pa.Schema]] = field(default_factory=dict)
    _scratch: list[tuple[str, pa.Schema]] = field(default_factory=list)
    _done: bool = False

    def __enter__(self) -> Encoding:
        return self

    def __exit__(self, *_: object) -> None:
        if self.server.lost:
            return
        try:
            for view in self._shown:
                self.server.hide(view, step="end encoding")
            # A client can remove no folders: without the mark that all is there they are emptied.
            gone = [] if self._done else [(self._path(part), schema) for part, (_, schema) in self._written.items()]
            for path, schema in [*self._scratch, *gone]:
                empty = self.server.rows(schema.empty_table(), step="end encoding")
                self.server.write(empty, path, step="empty what is not needed")
        except EngineError as error:
            # What is wrong was said, or is not wrong: rows without a mark are read by nobody.
            logger.info("the folders below %s could not be emptied: %s", self._path(None), error.reason)

    # ---- the source --------------------------------------------------------------------------------------

    def begin(self) -> StoredPart:
        """Write a row to the storage, to see whether the server can and others can read it."""
        part = StoredPart(self.attempt, "begun")
        begun = pa.table({"part": ["begun"], "format": [0], "rows": [0]}, schema=MARK)
        path, step = self._path(part), "write to the storage"
        with explained(partial(unwritable, path)):
            self._write(self.server.rows(begun, step=step), path, step)
        self._scratch.append((self._path(part), MARK))
        return part

    def tally(self, wanted: ParquetToEncode) -> EncodingTally:
        """Read the columns of a source once."""
        source = self._show(self.server.session.read.parquet(wanted.path), f"read {wanted.path}")
        names = [key.column for key in wanted.keys] + ([wanted.truth] if wanted.truth is not None else [])
        # A hash passes over NULL, so it is told where one stands.
        hashed = [x for name in names for x in (_is_null(column(name)), cast(column(name), "TEXT"))]
        digest = exp.Anonymous(this="xxhash64", expressions=hashed)
        total = cast(exp.Sum(this=exp.cast(digest, exp.DataType.build("DECIMAL(38, 0)"))), "TEXT")
        whole = exp.and_(*(exp.Not(this=_is_null(column(key.column))) for key in wanted.keys))
        counts = {"n": star_count(), "h": total, "k": _count_of(whole)}
        for i, key in enumerate(wanted.keys):
            counts[f"m{i}"] = _count_of(_is_null(column(key.column)))
            if key.date:
                first, last = (cast(exp.Literal.string(day), "DATE") for day in ("0001-01-01", "9999-12-31"))
                counts[f"d{i}"] = _count_of(exp.or_(column(key.column) < first, column(key.column) > last))
        if wanted.truth is not None:
            counts["t"] = _count_of(_is_null(column(wanted.truth)))
        (row,) = self._rows(exp.select(*(named(value, name) for name, value in counts.items())).from_(_view(source)), f"read {wanted.path}")  # fmt: skip
        missing = {key.output: int(row[f"m{i}"] or 0) for i, key in enumerate(wanted.keys)}
        beyond = {key.output: int(row[f"d{i}"] or 0) for i, key in enumerate(wanted.keys) if key.date}
        if wanted.truth is not None:
            missing["truth"] = int(row["t"] or 0)
        return EncodingTally(int(row["n"]), str(row["h"] or 0), int(row["k"] or 0), missing, beyond)

    def encode(self, wanted: ParquetToEncode, tally: EncodingTally, known: Mapping[str | None, Known]) -> Encoded:
        """Number what constants are new, and write the rows as ids; `known` has an entry for each type of the keys."""
        texts = self._texts(wanted)
        names: dict[str | None, EncodedNames] = {}
        dictionaries: dict[str | None, str] = {}
        for place, (kind, before) in enumerate(known.items()):
            outputs = [key.output for key in wanted.keys if key.type == kind]
            what = "examples" if kind is None else f"constants of {kind}"
            with Stage(f"numbering the {what} on Spark"):
                names[kind], dictionaries[kind] = self._number(place, what, texts, outputs, before)
        sizes = {kind: before.size + names[kind].new for kind, before in known.items()}
        rows, part = self._facts(wanted, tally, texts, dictionaries, sizes)
        if part is None:
            return Encoded(rows, None, names, (0, []), (0, []))
        facts = self._show(part_frame(self.server, part, self._schema(wanted)), "read the encoded rows")
        with Stage("checking the encoded rows on Spark"):
            self._check_nulls(facts, wanted, tally)
            repeated, contradictory = self._repetitions(facts, wanted, dictionaries)
        return Encoded(rows, part, names, repeated, contradictory)

    def finish(self) -> None:
        """Mark what was written as complete."""
        rows = [(part.name, mark_rows(count)) for part, (count, _) in self._written.items()]
        mark = pa.Table.from_pylist([{"part": name, **mark} for name, mark in rows], schema=MARK)
        done = self._path(StoredPart(self.attempt, "done"))
        self._write(
            self.server.rows(mark, step="mark what was encoded").coalesce(1), done, "mark what was encoded as complete"
        )
        self._done = True

    # ---- constants ---------------------------------------------------------------------------------------

    def _number(
        self, place: int, what: str, texts: str, outputs: Sequence[str], known: Known
    ) -> tuple[EncodedNames, str]:
        """Give the constants of some columns ids after those that are known; return them, and the view of all as (id, name)."""
        before = self._known(place, known)
        found = self._new_names(place, what, texts, outputs, before)
        new = 0 if found is None else self._count(found, f"count the new {what}")
        if known.size + new > _MOST_IDS:
            raise InputError(
                f"there are {known.size + new:,} {what}, and ids are 32-bit integers: use fewer in one database."
            )
        if not found or not new:
            return EncodedNames(0), before
        boundaries = self._boundaries(found, new, what)
        # (id, name) of the constants that the type gained.
        part = StoredPart(self.attempt, f"names-{place}")
        self._write_part(
            part, new, _DICTIONARY, self._numbered(found, boundaries, known.size, new, what), f"number the {what}"
        )
        self._check_ids(part, known.size, new, what)
        added = part_frame(self.server, part, _DICTIONARY)
        view = self._show(added, f"read the {what}")
        kept = known.parts
        if known.size and not kept and known.size + new > self.most:
            kept = (self._keep(place, known, before, what),)
        both = union_all([exp.select(column("id"), column("name")).from_(_view(each)) for each in (before, view)])
        return EncodedNames(new, (part,), kept), self._show(self._frame(both, f"read the {what}"), f"read the {what}")

    def _known(self, place: int, known: Known) -> str:
        """Return the view of the constants that have ids."""
        step = "read the constants that are known"
        if known.parts:
            return self._show(stored_frame(self.server, known.parts, _DICTIONARY), step)
        if known.size <= self.server.spark.resident:
            tables = list(known.pieces())
            return self._show(self.server.rows(pa.concat_tables(tables) if tables else _DICTIONARY.empty_table(), step=step), step)  # fmt: skip
        path = self._path(StoredPart(self.attempt, f"sent-{place}"))
        self._send(known, path)
        return self._show(self.server.read([f"{path}/*"], _DICTIONARY, step=step), step)

    def _send(self, known: Known, path: str) -> None:
        """Write constants that this client has, piece by piece."""
        step, number = "send constants to Spark", 0
        for table in known.pieces():
            size = max(1, table.num_rows * PIECE // max(table.nbytes, 1))
            for start in range(0, table.num_rows, size):
                piece = f"{path}/{number:06d}"
                self._scratch.append((piece, _DICTIONARY))
                self._write(self.server.rows(table.slice(start, size), step=step).coalesce(1), piece, step)
                number += 1

    def _keep(self, place: int, known: Known, before: str, what: str) -> StoredPart:
        """Write the constants that a type had into the storage, where the new ones stay."""
        part = StoredPart(self.attempt, f"before-{place}")
        everything = exp.select(column("id"), column("name")).from_(_view(before))
        self._write_part(part, known.size, _DICTIONARY, self._frame(everything, f"keep the {what}"), f"keep the {what}")
        return part

    def _new_names(self, place: int, what: str, texts: str, outputs: Sequence[str], known: str) -> str | None:
        """Write the names that have no id, each once, and return their view."""
        every = union_all([exp.select(named(column(output), "name")).from_(_view(texts)) for output in outputs])
        distinct = exp.select(column("name")).from_(every.subquery("n")).where(exp.Not(this=_is_null(column("name")))).distinct()  # fmt: skip
        query = exp.select(column("name", "n")).from_(distinct.subquery("n"))
        query = query.join(_view(known, "k"), on=column("name", "k").eq(column("name", "n")), join_type="left")
        query = query.where(_is_null(column("name", "k")))
        path = self._path(StoredPart(self.attempt, f"found-{place}"))
        step = f"collect the new {what}"
        self._scratch.append((path, _NAME))
        self._write(self._frame(query, step), path, step)
        return self._show(self.server.read([path], _NAME, step=step), step)

    def _boundaries(self, found: str, new: int, what: str) -> list[str]:
        """Return where names are cut into ranges."""
        number = -(-new // self.task)
        if number == 1:
            return []
        digest = exp.Anonymous(this="xxhash64", expressions=[column("name")])
        # Some of the names that depends on nothing but the names.
        share = exp.Anonymous(this="pmod", expressions=[digest, integer(max(1, new // (number * _SAMPLED)))])
        query = exp.select(column("name")).from_(_view(found)).where(share.eq(integer(0)))
        return ranges((str(row["name"]) for row in self._rows(query, f"sample the {what}")), number)

    def _numbered(self, found: str, boundaries: Sequence[str], first: int, new: int, what: str) -> Any:
        """Return the frame of names with their ids."""
        sizes = {0: new}
        if boundaries:
            place = range_of(column("name"), boundaries, range(len(boundaries) + 1))
            counts = exp.select(column("r"), named(star_count(), "n"))
            counts = counts.from_(exp.select(named(place, "r")).from_(_view(found)).subquery("p")).group_by(column("r"))
            sizes = {int(row["r"]): int(row["n"]) for row in self._rows(counts, f"count the {what} by ranges")}
        if sum(sizes.values()) != new:
            raise EngineError(f"number the {what}", f"ranges have {sum(sizes.values())} of {new} names", str(sizes))
        logger.info("%d %s are numbered in %d ranges, the largest with %d", new, what, len(boundaries) + 1, max(sizes.values()))  # fmt: skip
        starts = list(itertools.accumulate((sizes.get(i, 0) for i in range(len(boundaries))), initial=first))
        start = range_of(column("name"), boundaries, starts)
        placed = exp.select(column("name"), named(start, "s")).from_(_view(found)).subquery("p")
        order = exp.Order(expressions=[exp.Ordered(this=column("name"), nulls_first=True)])
        within = exp.Window(this=exp.RowNumber(), partition_by=[column("s")], order=order)
        ids = exp.Sub(this=exp.Add(this=column("s"), expression=within), expression=integer(1))
        query = exp.select(named(cast(exp.paren(ids), "INT"), "id"), column("name")).from_(placed)
        return self._frame(query, f"number the {what}")

    def _check_ids(self, part: StoredPart, first: int, new: int, what: str) -> None:
        """Refuse ids that are not those after the last one, each once."""
        frame = self._show(part_frame(self.server, part, _DICTIONARY), "check ids")
        wide = exp.cast(column("id"), exp.DataType.build("DECIMAL(38, 0)"))
        values = {"n": star_count(), "l": exp.Min(this=column("id")), "m": exp.Max(this=column("id")), "s": cast(exp.Sum(this=wide), "TEXT")}  # fmt: skip
        query = exp.select(*(named(value, name) for name, value in values.items())).from_(_view(frame))
        (row,) = self._rows(query, f"check the ids of the {what}")
        last = first + new - 1
        if (row["n"], row["l"], row["m"], row["s"]) != (new, first, last, str((first + last) * new // 2)):
            raise EngineError(
                f"number the {what}", f"the ids are not those from {first} to {last}: {row}", self._path(part)
            )

    # ---- rows --------------------------------------------------------------------------------------------

    def _texts(self, wanted: ParquetToEncode) -> str:
        """Return the view of a source's rows with the texts of their constants."""
        source = self._show(self.server.session.read.parquet(wanted.path), f"read {wanted.path}")
        outputs = [named(cast(column(key.column), "TEXT"), key.output) for key in wanted.keys]
        if wanted.truth is not None:
            outputs.append(named(column(wanted.truth), "truth"))
        query = exp.select(*outputs).from_(_view(source))
        if wanted.complete:
            query = query.where(*(exp.Not(this=_is_null(column(key.column))) for key in wanted.keys))
        return self._show(self._frame(query, f"read {wanted.path}"), f"read {wanted.path}")

    def _facts(
        self,
        wanted: ParquetToEncode,
        tally: EncodingTally,
        texts: str,
        dictionaries: Mapping[str | None, str],
        sizes: Mapping[str | None, int],
    ) -> tuple[int, StoredPart | None]:
        """Write the rows as ids; return their number, and where they are unless there are none."""
        expected = tally.kept_rows if wanted.complete else tally.rows
        if not expected:
            return 0, None
        outputs: list[exp.Expr] = []
        query = exp.select().from_(_view(texts, "t"))
        for i, key in enumerate(wanted.keys):
            outputs.append(named(column("id", f"d{i}"), key.output))
            on = column("name", f"d{i}").eq(column(key.output, "t"))
            query = query.join(_view(dictionaries[key.type], f"d{i}"), on=on, join_type="left")
        if wanted.truth is not None:
            outputs.append(named(column("truth", "t"), "truth"))
        query = query.select(*outputs)
        whole = (query.distinct() if wanted.distinct else query).subquery("f")
        order, step = wanted.keys[0].output, "encode the rows"
        files = -(-expected // ROWS)
        # Of a column that a server sorts or cuts into ranges by itself, it may forget the order when it writes.
        width = max(1, -(-sizes[wanted.keys[0].type] // files))
        place = exp.IntDiv(this=exp.Coalesce(this=column(order), expressions=[integer(0)]), expression=integer(width))
        frame = self._frame(exp.select("*", named(cast(place, "INT"), "range")).from_(whole), step)
        # Rows as ids, in folders that each hold a range of examples, or of what else is the first column.
        part = StoredPart(self.attempt, FACTS)
        with Stage("encoding the rows on Spark"):
            ordered = self.server.run(
                lambda: frame.repartition(files, "range").sortWithinPartitions("range", order), step, wanted.path
            )
            self.server.write(ordered, self._path(part), step=step, by="range")
        schema = self._schema(wanted)
        stored = part_frame(self.server, part, schema)
        rows = int(self.server.run(stored.count, "count the encoded rows", wanted.path))
        self._written[part] = (rows, schema)
        if rows > expected or (rows < expected and not wanted.distinct) or not rows:
            raise EngineError("encode the rows", f"{expected} rows became {rows}: the source may have changed meanwhile", wanted.path)  # fmt: skip
        return rows, part

    def _schema(self, wanted: ParquetToEncode) -> pa.Schema:
        return pa.schema([(name, pa.bool_() if name == "truth" else pa.int32()) for name in wanted.outputs])

    def _check_nulls(self, facts: str, wanted: ParquetToEncode, tally: EncodingTally) -> None:
        """Refuse encoded rows with a constant less than the source has."""
        counts = [named(_count_of(_is_null(column(key.output))), key.output) for key in wanted.keys]
        (row,) = self._rows(exp.select(*counts).from_(_view(facts)), "count the encoded constants")
        for key in wanted.keys:
            missing = 0 if wanted.complete else tally.missing[key.output]
            if int(row[key.output] or 0) > missing:
                raise EngineError(
                    "encode the rows", f"{row[key.output]} constants of {key.column} have no id", wanted.path
                )

    def _repetitions(
        self, facts: str, wanted: ParquetToEncode, dictionaries: Mapping[str | None, str]
    ) -> tuple[tuple[int, list[dict[str, Any]]], tuple[int, list[dict[str, Any]]]]:
        """Find facts that occur more than once, and those that are both true and false."""
        keys = [key.output for key in wanted.keys]
        whole = [exp.Not(this=_is_null(column(key))) for key in keys]
        several = exp.GT(this=star_count(), expression=integer(1))
        outputs = wanted.outputs
        equal = exp.select(*map(column, keys), named(star_count(), "times")).from_(_view(facts)).where(*whole)
        equal = equal.group_by(*map(column, outputs)).having(several)
        repeated = self._named_rows(equal, keys, wanted, dictionaries, "find the duplicates")
        if wanted.truth is None:
            return repeated, (0, [])
        values = exp.Count(this=exp.Distinct(expressions=[column("truth")]))
        both = exp.select(*map(column, keys), named(star_count(), "times")).from_(_view(facts)).where(*whole)
        both = both.group_by(*map(column, keys)).having(exp.GT(this=values, expression=integer(1)))
        return repeated, self._named_rows(both, keys, wanted, dictionaries, "find the contradictions")

    def _named_rows(
        self,
        query: exp.Select,
        keys: Sequence[str],
        wanted: ParquetToEncode,
        dictionaries: Mapping[str | None, str],
        step: str,
    ) -> tuple[int, list[dict[str, Any]]]:
        """Return how many rows of ids a query has, and the first of them with names."""
        view = self._show(self._frame(query, step), step)
        number = self._count(view, step)
        if not number:
            return 0, []
        first = exp.select("*").from_(_view(view)).order_by(*map(column, keys)).limit(_SHOWN).subquery("f")
        shown = exp.select(column("times", "f")).from_(first)
        for i, key in enumerate(wanted.keys):
            shown = shown.select(named(column("name", f"d{i}"), key.output))
            shown = shown.join(
                _view(dictionaries[key.type], f"d{i}"), on=column("id", f"d{i}").eq(column(key.output, "f"))
            )
        return number, self._rows(shown.order_by(*(column(key, "f") for key in keys)), step)

    # ---- the server --------------------------------------------------------------------------------------

    def _path(self, part: StoredPart | None) -> str:
        storage = str(self.server.spark.folder)
        return f"{storage}/{PLACE}/{self.attempt}" if part is None else part.path(storage)

    def _frame(self, query: exp.Expr, step: str) -> Any:
        return self.server.frame(query.sql("spark"), step=step)

    def _show(self, frame: Any, step: str) -> str:
        """Give a frame a name, which is gone when the context ends."""
        view = f"sqlrl_encoding_{next(_views)}"
        self.server.show(view, frame, step=step)
        self._shown.append(view)
        return view

    def _rows(self, query: exp.Expr, step: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.server.fetch(query.sql("spark"), step=step).to_pylist()
        return found

    def _count(self, view: str, step: str) -> int:
        (row,) = self._rows(exp.select(named(star_count(), "n")).from_(_view(view)), step)
        return int(row["n"])

    def _write(self, frame: Any, path: str, step: str) -> None:
        self.server.write(frame, path, step=step)

    def _write_part(self, part: StoredPart, rows: int, schema: pa.Schema, frame: Any, step: str) -> None:
        """Write a part that has so many rows."""
        self._written[part] = (rows, schema)
        self._write(frame, self._path(part), step)


def _view(name: str, alias: str | None = None) -> exp.Table:
    table = exp.table_(name, quoted=True)
    if alias is not None:
        table.set("alias", exp.TableAlias(this=exp.to_identifier(alias, quoted=True)))
    return table


def _is_null(value: exp.Expression) -> exp.Is:
    return exp.Is(this=value, expression=exp.null())


def _count_of(condition: exp.Expr) -> exp.Expression:
    """Return for how many rows a condition holds; NULL for no rows."""
    return exp.Sum(this=exp.Case().when(condition, integer(1)).else_(integer(0)))
