"""The data of a program of probabilistic soft logic, loaded from where its configuration says that they are.

Of each predicate the observations become facts, or observed values where there are targets or truths beside them; the targets its scope, and the
truths the labels. Files are tables whose columns tabs separate: constants, and a truth in a last column where it is not 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute
import pyarrow.csv

from sqlrl import markup
from sqlrl.arguments import refuse
from sqlrl.errors import InputError, LabelWarning, LoadError, Parameter, Phrase, UntrustedError, brief, warn
from sqlrl.logic.psl import DataPartition, Role, SoftModel
from sqlrl.logic.psl_constants import EXPECTED, constant_text
from sqlrl.paths import is_file, leads_into
from sqlrl.training.session import Session
from sqlrl.wording import counted

SHOWN = 5

SPLITS = ("infer", "learn")


@dataclass(frozen=True)
class SoftData:
    r"""The data of a program of probabilistic soft logic, where its configuration says that they are: `db.load(SoftData(model))`.

    Observations are facts, or observed values of a predicate that has targets or truths; targets are its scope, truths its labels.

    Parameters
    ----------
    model : SoftModel
        With `partitions`, as `sqlrl.read_psl` reads PSL's JSON and YAML.
    split : {"infer", "learn"}
        The data of which task, beside those of both. `db.load(model)` is for "infer".
    folder : str or Path, optional
        Files outside of it are refused, links resolved: for a program that a stranger may have written. One that was read with
        `trusted=False` needs it, if it names files.

    Raises
    ------
    InputError
        When it is loaded: the model names no data, or files that are not there: all of them.
    LoadError
        When it is loaded: a row of another length, a truth outside of [0, 1], an atom with two truths, a target that is observed, a truth
        partition without rows.

    Examples
    --------
    >>> import sqlrl
    >>> text = '{"rules": ["1: A(X) -> B(X)"], "predicates": {"A/1": {"observations": [["x", 0.5]]}, "B/1": {"targets": [["x"]]}}}'
    >>> model = sqlrl.parse_psl(text)
    >>> db = sqlrl.connect()
    >>> db.load(sqlrl.SoftData(model))
    {'A': {'observations': 1}, 'B': {'targets': 1}}
    >>> db.predict(model).atoms()["value"].to_pylist()
    [0.5]
    """

    model: SoftModel
    split: str = "infer"
    folder: str | Path | None = None
    _repr_html_ = markup.field_table

    def __post_init__(self) -> None:
        given: object = self.model
        if not isinstance(given, SoftModel):
            raise refuse("a program of probabilistic soft logic", given)


def load_soft_data(session: Session, given: SoftData) -> dict[str, dict[str, int]]:
    """Load a model's partitions for a task, all or none; return the numbers of rows by predicate and role."""
    model, split, folder = given.model, given.split, given.folder
    if split not in SPLITS:
        raise InputError(f"{Parameter('split', split)} must be 'infer' or 'learn'.")
    chosen = [part for part in model.partitions if part.split in ("all", split)]
    if not chosen:
        raise InputError(
            f"the program says of no predicate where its data are: read PSL's JSON or YAML, or give the .data file, {Phrase('read_psl(path, data=...)')}; or "
            f"{Phrase('load tables with load() and scope()')}"
        )
    if folder is not None:
        _check_inside(chosen, Path(folder))
    elif named := [part for part in chosen if part.files and not part.trusted]:
        raise UntrustedError(
            f"{named[0].place or named[0].predicate}: the program was read with {Parameter('trusted', False)} and names files of data: pass the folder in "
            f"which they are, {Phrase('SoftData(model, folder=...)')}"
        )
    _check_files(chosen)
    with session.catalog.store.writing():
        return _load_all(session, model, chosen, split)


def _load_all(
    session: Session, model: SoftModel, chosen: Sequence[DataPartition], split: str
) -> dict[str, dict[str, int]]:
    """Load partitions, all or none."""
    found: dict[str, dict[str, int]] = {}
    roles = {name: {part.role for part in chosen if part.predicate == name} for name in model.predicates}
    for name, predicate in model.predicates.items():
        tables = {
            role: _table(name, len(predicate.types), chosen, role)
            for role in ("observations", "targets", "truth")
            if role in roles[name]
        }
        inferred = bool({"targets", "truth"} & roles[name])
        _check_roles(name, tables)
        _check_left(session, name, tables, split, inferred=inferred)
        for role, table in tables.items():
            _load(session, model, name, role, table, inferred=inferred)
            found.setdefault(name, {})[role] = table.num_rows
    return found


def _load(session: Session, model: SoftModel, name: str, role: str, table: pa.Table, *, inferred: bool) -> None:
    keys = [column for column in table.column_names if column != "value"]
    types = model.predicates[name].types
    if role == "targets":
        session.catalog.scope(name, table.select(keys))
        return
    if role == "truth" and not table.num_rows:
        raise LoadError(f"{name}: its truth partition has no rows: name a file with some, or leave the partition out")
    values = table.column("value")
    plain = pa.compute.all(pa.compute.equal(values, 1.0)).as_py()
    session.catalog.load(
        name,
        table.select(keys) if plain else table,
        columns=keys,
        types=types,
        value=None if plain else "value",
        given=inferred and role == "observations",
        target=role == "truth",
        empty="allow",
    )


def _check_inside(parts: Iterable[DataPartition], folder: Path) -> None:
    """Refuse files outside of a folder."""
    for part in parts:
        for file in part.files:
            if not leads_into(file, folder):
                raise UntrustedError(
                    f"{part.place or part.predicate}: {file} leads out of {folder}, and only what is below it is read ({Phrase('--untrusted, folder=')})"
                )


def _check_files(parts: Iterable[DataPartition]) -> None:
    """Refuse files that are not there, all of them together."""
    missing = [(part, file) for part in parts for file in part.files if not is_file(file)]
    if missing:
        shown = "; ".join(f"{part.place or part.predicate}: {file}" for part, file in missing)
        raise InputError(
            f"{counted(len(missing), 'file')} that the program names for its data {'is' if len(missing) == 1 else 'are'} not there: {shown}: put "
            f"them there, or {Phrase('load tables with load() and scope()')}"
        )


def _table(name: str, arity: int, parts: Sequence[DataPartition], role: Role) -> pa.Table:
    """Return the rows of a predicate in one role: `a0, a1, ...` as text, and `value`."""
    tables = [table for part in parts if (part.predicate, part.role) == (name, role) for table in _tables(part, arity)]
    return pa.concat_tables(tables) if tables else _rows_table([], arity)


def _tables(part: DataPartition, arity: int) -> Iterator[pa.Table]:
    for file in part.files:
        where = f"{part.place}: {file}" if part.place else str(file)
        yield _typed(_file_table(part, file, arity), part.kinds, where)
    if part.rows:
        yield _typed(_rows_table([_row(part, row, arity) for row in part.rows], arity), part.kinds, part.place)


def _typed(table: pa.Table, kinds: Sequence[str], where: str) -> pa.Table:
    """Return a table with the one text of each constant of a declared kind."""
    for i, kind in enumerate(kinds):
        if kind not in EXPECTED:
            continue
        column = table.column(i).combine_chunks().dictionary_encode()
        texts = [constant_text(text, kind) for text in column.dictionary.to_pylist()]
        if None in texts:
            wrong = pa.scalar(texts.index(None), column.indices.type)
            row = pa.compute.index(column.indices, wrong).as_py()
            raise LoadError(
                f"{where}: row {row + 1:,} has {column.dictionary[wrong.as_py()].as_py()!r} at argument {i + 1}, where {kind} is declared: "
                f"expected {EXPECTED[kind]}"
            )
        table = table.set_column(i, table.column_names[i], pa.array(texts, pa.string()).take(column.indices))
    return table


def _file_table(part: DataPartition, file: Path, arity: int) -> pa.Table:
    """Read a file of a partition."""
    if not file.stat().st_size:
        return _rows_table([], arity)
    where = f"{part.place}: {file}" if part.place else str(file)
    with file.open(encoding="utf-8", errors="replace") as lines:
        first = next((line for line in lines if line.strip()), "")
    if not first.strip():
        return _rows_table([], arity)
    width = len(first.rstrip("\r\n").split("\t"))
    if width not in (arity, arity + 1):
        raise LoadError(
            f"{where}: its first row has {counted(width, 'column')}, expected the {counted(arity, 'constant')} of {part.predicate}, and perhaps a "
            "truth after them, with tabs between"
        )
    names = [f"a{i}" for i in range(arity)] + ["value"] * (width > arity)
    wrong: list[str] = []

    def skip(row: pyarrow.csv.InvalidRow) -> str:
        """Note a row of another length."""
        wrong.append(
            f"row {row.number} has {counted(row.actual_columns, 'column')}"
            if row.number
            else f"a row has {counted(row.actual_columns, 'column')}"
        )
        return "skip"

    try:
        table = pyarrow.csv.read_csv(
            file,
            read_options=pyarrow.csv.ReadOptions(column_names=names, use_threads=False),
            parse_options=pyarrow.csv.ParseOptions(delimiter="\t", quote_char=False, invalid_row_handler=skip),
            convert_options=pyarrow.csv.ConvertOptions(
                column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=False
            ),
        )
    except pa.ArrowInvalid as error:
        raise LoadError(f"{where}: {brief(str(error))}: expected text in UTF-8 with tabs between its columns") from None
    if wrong:
        more = f" and {counted(len(wrong) - SHOWN, 'other')}" if len(wrong) > SHOWN else ""
        raise LoadError(
            f"{where}: {', '.join(wrong[:SHOWN])}{more}, and the first row {width:,}: each needs the same columns"
        )
    if width == arity:
        return table.append_column("value", pa.array([1.0] * table.num_rows, pa.float64()))
    texts = table.column("value").combine_chunks()
    return table.set_column(arity, "value", _numbers(where, texts))


def _numbers(where: str, texts: pa.Array) -> pa.Array:
    """Return truths as numbers from 0 to 1."""
    values = []
    for row, text in enumerate(texts.to_pylist(), 1):
        value = _number(text)
        if value is None:
            raise LoadError(f"{where}: row {row:,} has the truth {text!r}: expected a number from 0 to 1")
        values.append(value)
    return pa.array(values, pa.float64())


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if 0.0 <= value <= 1.0 else None


def _row(part: DataPartition, row: Sequence[str], arity: int) -> tuple[tuple[str, ...], float]:
    """Return the constants and the truth of a row that the configuration itself has."""
    if len(row) == arity:
        return tuple(row), 1.0
    value = _number(row[-1]) if len(row) == arity + 1 else None
    if value is None:
        raise LoadError(
            f"{part.place}: the row {list(row)} of {part.predicate}: expected {counted(arity, 'constant')}, and perhaps a truth from 0 to 1"
        )
    return tuple(row[:-1]), value


def _rows_table(rows: Sequence[tuple[tuple[str, ...], float]], arity: int) -> pa.Table:
    columns = {f"a{i}": pa.array([constants[i] for constants, _ in rows], pa.string()) for i in range(arity)}
    return pa.table({**columns, "value": pa.array([value for _, value in rows], pa.float64())})


def _check_left(session: Session, name: str, tables: Mapping[Role, pa.Table], split: str, *, inferred: bool) -> None:
    """Refuse to load beside what is there in a role that these data do not replace: it would be read together with them."""
    store = session.catalog.store
    replaced = {"observations": "given" if inferred else "fact", "truth": "label"}
    roles = {role for predicate, role in store.sources() if predicate == name} - {
        replaced[r] for r in tables if r in replaced
    }
    left = [
        {"fact": "facts", "given": "observed values", "label": "labels", "soft": "soft evidence"}[r]
        for r in sorted(roles)
    ]
    record = store.predicates().get(name)
    if record is not None and record.scope is not None and "targets" not in tables:
        left.append("targets")
    if left:
        raise InputError(
            f"{name} has {' and '.join(left)} in this database, which the data for {Parameter('split', split)} do not replace: load them into a new one"
            f"{Phrase(', connect()')}"
        )


def _check_roles(name: str, tables: Mapping[Role, pa.Table]) -> None:
    """Refuse targets that are observed, too."""
    if {"targets", "truth"} <= tables.keys() and tables["truth"].num_rows:
        _warn_of_unlabelled(name, tables)
    if not {"observations", "targets"} <= tables.keys():
        return
    keys = [column for column in tables["targets"].column_names if column != "value"]
    both = tables["targets"].select(keys).join(tables["observations"].select(keys), keys, join_type="left semi")
    if both.num_rows:
        rows = both.sort_by([(k, "ascending") for k in keys]).slice(0, SHOWN).to_pylist()
        shown = ", ".join(f"{name}({', '.join(str(row[k]) for k in keys)})" for row in rows)
        more = f" and {counted(both.num_rows - SHOWN, 'other')}" if both.num_rows > SHOWN else ""
        raise LoadError(
            f"{counted(both.num_rows, 'target')} {'is' if both.num_rows == 1 else 'are'} observed, too: {shown}{more}: leave "
            f"{'it' if both.num_rows == 1 else 'them'} out of one of the two"
        )


def _warn_of_unlabelled(name: str, tables: Mapping[Role, pa.Table]) -> None:
    """Say how many targets have no truth."""
    keys = [column for column in tables["targets"].column_names if column != "value"]
    left = tables["targets"].select(keys).join(tables["truth"].select(keys), keys, join_type="left anti").num_rows
    if left:
        warn(
            f"{left:,} of {counted(tables['targets'].num_rows, 'target')} of {name} {'has' if left == 1 else 'have'} no truth, and count as 0 in scores "
            "and for learners",
            LabelWarning,
        )
