"""Which column of a source is which argument, and the query that reads them as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from sqlrl.catalog.image import argument_columns
from sqlrl.catalog.options import LoadOptions
from sqlrl.catalog.sources import LoadSource
from sqlrl.engine.nodes import column, named
from sqlrl.errors import LoadError, Parameter, Written
from sqlrl.wording import counted, did_you_mean, nearest_names

_NESTED = ("STRUCT", "MAP", "UNION", "BLOB", "BIT", "VARIANT", "GEOMETRY")
_INTEGERS = (
    "TINYINT",
    "SMALLINT",
    "INTEGER",
    "BIGINT",
    "HUGEINT",
    "UTINYINT",
    "USMALLINT",
    "UINTEGER",
    "UBIGINT",
    "UHUGEINT",
)
_NUMBERS = (*_INTEGERS, "FLOAT", "DOUBLE", "DECIMAL", "VARCHAR")


@dataclass(frozen=True, slots=True)
class Mapped:
    """The columns of a source by their role in a load."""

    arguments: tuple[str, ...]
    example_argument: int | None = None  # The position of the argument whose constants are the examples.
    example_column: str | None = None  # A column beside the arguments that holds the example.
    truth: str | None = None
    probability: str | None = None
    value: str | None = None

    @property
    def extra(self) -> tuple[str, ...]:
        """The columns of rows beside the example and the arguments, as `raw_query` yields them."""
        if self.probability is not None:
            return ("truth", "prior")
        return ("truth", "value") if self.value is not None else ("truth",) if self.truth is not None else ()


def map_columns(predicate: str, source: LoadSource, options: LoadOptions, types: Sequence[str | None] | None) -> Mapped:
    """Assign each column its role (`types` None: unknown arity); a column missing, left over, used twice or nested is a LoadError."""
    where = f"{predicate} from {source.label}"
    if source.nothing:
        return _nothing(where, options, types)
    truth = _find(where, source, options.truth) if options.truth is not None else None
    probability = _find(where, source, options.probability) if options.probability is not None else None
    value = _find(where, source, options.value) if options.value is not None else None
    values = [name for name in (truth, probability, value) if name is not None]
    if options.columns is not None:
        mapped = _chosen(where, source, options, types)
    else:
        free = [c for c in source.columns if c not in values]
        mapped = _by_position(where, free, options, types)
    mapped = replace(mapped, truth=truth, probability=probability, value=value)
    used = [*mapped.arguments, *([mapped.example_column] if mapped.example_column else []), *values]
    if len(set(used)) < len(used):
        raise LoadError(f"{where}: a column is used twice in {used}.")
    for name in [*mapped.arguments, *([mapped.example_column] if mapped.example_column else [])]:
        kind = source.columns[name]
        if kind.endswith("]") or kind.startswith(_NESTED):
            raise LoadError(
                f"{where}: column {name!r} has type {kind}, which names no constant: convert it to text or numbers."
            )
    _check_kinds(where, source, mapped)
    return mapped


def _nothing(where: str, options: LoadOptions, types: Sequence[str | None] | None) -> Mapped:
    """Map the columns of a source that has neither rows nor columns."""
    if types is None:
        raise LoadError(
            f"{where}: there are no rows and the number of arguments is unknown: pass {Parameter('types')}."
        )
    arguments = tuple(argument_columns(len(types)))
    if options.example is None:
        return Mapped(arguments)
    position = _example_argument(where, options.example, arguments, types)
    return Mapped(arguments, position, str(options.example) if position is None else None)


def _check_kinds(where: str, source: LoadSource, mapped: Mapped) -> None:
    """Refuse truths that are no booleans, and probabilities and values that are no numbers; text may hold any of them."""
    if mapped.truth is not None and source.columns[mapped.truth] not in ("BOOLEAN", "VARCHAR"):
        raise LoadError(
            f"{where}: the truth column {mapped.truth!r} has type {source.columns[mapped.truth]}, expected BOOLEAN."
        )
    for what, name in (("probability", mapped.probability), ("value", mapped.value)):
        if name is not None and not source.columns[name].startswith(_NUMBERS):
            raise LoadError(f"{where}: the {what} column {name!r} has type {source.columns[name]}, expected a number.")


def _find(where: str, source: LoadSource, wanted: str | int) -> str:
    """Return the column with this name (case ignored if need be) or position from 0."""
    names = list(source.columns)
    if isinstance(wanted, int):
        if not 0 <= wanted < len(names):
            raise LoadError(f"{where}: there is no column {wanted}, positions run from 0 to {len(names) - 1}.")
        return names[wanted]
    if wanted in source.columns:
        return wanted
    like = [n for n in names if n.casefold() == wanted.casefold()]
    if len(like) == 1:
        return like[0]
    raise LoadError(
        f"{where}: there is no column {wanted!r} among {', '.join(map(repr, names))}{did_you_mean(nearest_names(wanted, names))}"
    )


def _chosen(where: str, source: LoadSource, options: LoadOptions, types: Sequence[str | None] | None) -> Mapped:
    """Map the columns that the user chose."""
    chosen = options.columns
    if isinstance(chosen, Mapping):
        chosen = _in_order(where, chosen, types)
    elif isinstance(chosen, str) or chosen is None:
        raise LoadError(
            f"{where}: {Parameter('columns')} must be a list of columns or a mapping from argument to column, not {chosen!r}."
        )
    arguments = tuple(_find(where, source, c) for c in chosen)
    if types is not None and len(types) != len(arguments):
        raise LoadError(
            f"{where}: {counted(len(types), 'argument')} ({', '.join(t or '?' for t in types)}) but "
            f"{counted(len(arguments), 'column')} named in {Parameter('columns')}: name one for each argument, or pass its new {Parameter('types')} as well."
        )
    if options.example is None:
        return Mapped(arguments)
    position = _example_argument(where, options.example, arguments, types)
    if position is not None:
        return Mapped(arguments, example_argument=position)
    return Mapped(arguments, example_column=_find(where, source, options.example))


def _in_order(where: str, chosen: Mapping[str | int, str | int], types: Sequence[str | None] | None) -> list[str | int]:
    """Turn a mapping from argument (its position, or its type where only one has it) to column into a list."""
    places: dict[int, str | int] = {}
    for argument, name in chosen.items():
        if isinstance(argument, int):
            places[argument] = name
            continue
        found = [i for i, t in enumerate(types or ()) if t == argument]
        if len(found) != 1:
            raise LoadError(
                f"{where}: {Parameter('columns')} names the argument {argument!r}, which is the type of {counted(len(found), 'argument')}: use positions."
            )
        places[found[0]] = name
    if sorted(places) != list(range(len(places))):
        raise LoadError(
            f"{where}: {Parameter('columns')} must name every argument once, found positions {sorted(places)}."
        )
    return [places[i] for i in sorted(places)]


def _by_position(where: str, free: list[str], options: LoadOptions, types: Sequence[str | None] | None) -> Mapped:
    """Map columns by their position; only an example column may stand beside the arguments."""
    example = options.example
    if types is not None and len(free) == len(types) + 1 and isinstance(example, str):
        beside = [c for c in free if c.casefold() == example.casefold()]
        if beside:
            return Mapped(tuple(c for c in free if c != beside[0]), example_column=beside[0])
    if types is not None and len(free) != len(types):
        problem = f"{where}: {counted(len(types), 'argument')} ({', '.join(t or '?' for t in types)}) but {counted(len(free), 'column')} ({', '.join(free)})"
        one_more = len(free) == len(types) + 1 and example is None
        hint = f", or the one that says the example with {Parameter('example', Written('...'))}" if one_more else ""
        raise LoadError(
            f"{problem}: name the columns of the arguments in order with {Parameter('columns', Written('[...]'))}{hint}."
        )
    if example is None:
        return Mapped(tuple(free))
    position = _example_argument(where, example, tuple(free), types)
    if position is None:
        example = str(example)
        known = [*free, *(t for t in types or () if t)]
        raise LoadError(
            f"{where}: {Parameter('example', example)} is neither a column nor the type of an argument{did_you_mean(nearest_names(example, known))}"
        )
    return Mapped(tuple(free), example_argument=position)


def _example_argument(
    where: str, example: str | int, arguments: tuple[str, ...], types: Sequence[str | None] | None
) -> int | None:
    """Return the position of the argument that `example` names by its position, its type or its column."""
    if isinstance(example, int):
        if not 0 <= example < len(arguments):
            raise LoadError(
                f"{where}: {Parameter('example', example)} names no argument: positions run from 0 to {len(arguments) - 1}."
            )
        return example
    by_type = [i for i, t in enumerate(types or ()) if t == example]
    if len(by_type) > 1 and example in arguments:
        return arguments.index(example)
    if len(by_type) > 1:
        places = " and ".join(f"{i + 1} (column {arguments[i]!r})" for i in by_type)
        raise LoadError(
            f"{where}: {Parameter('example', example)} is the type of the arguments {places}: name one by its column, "
            f"{Parameter('example', arguments[by_type[0]])}, or by its position, {Parameter('example', by_type[0])}."
        )
    if by_type:
        return by_type[0]
    by_column = [i for i, c in enumerate(arguments) if c.casefold() == example.casefold()]
    if len(by_column) > 1:
        raise LoadError(f"{where}: {Parameter('example', example)} names {counted(len(by_column), 'column')}.")
    return by_column[0] if by_column else None


def raw_query(source: LoadSource, mapped: Mapped, options: LoadOptions) -> exp.Select:
    """Return the query of a source's rows as text: `example`, a0, a1, ..., `truth`, `prior` and `value`, as far as there are any."""
    parts: list[exp.Expr] = []
    names = [*([mapped.example_column] if mapped.example_column else []), *mapped.arguments]
    outputs = [*(["example"] if mapped.example_column else []), *argument_columns(len(mapped.arguments))]
    for name, output in zip(names, outputs, strict=True):
        parts.append(named(renamed(source.text(name), options), output))
    if mapped.truth is not None:
        parts.append(named(exp.TryCast(this=column(mapped.truth), to=exp.DataType.build("boolean")), "truth"))
    if mapped.probability is not None:
        # A probability p becomes `prior` = ln(p / (1 - p)), or `truth` if it is 0 or 1.
        parts += _evidence(exp.TryCast(this=column(mapped.probability), to=exp.DataType.build("double")))
    if mapped.value is not None:
        # A text that is no number becomes NaN.
        value = _value(source, mapped.value)
        parts += [named(value >= exp.convert(0.5), "truth"), named(value.copy(), "value")]
    # Rows of which no column is wanted have the column `present`, so that their number is kept.
    return exp.select(*(parts or [named(exp.true(), "present")])).from_(source.table)


def renamed(text: exp.Expr, options: LoadOptions) -> exp.Expr:
    """Return the text of a constant as the options of a load rename it: in small letters, by another name."""
    text = exp.Lower(this=text) if options.fold_case else text
    constants = options.constants
    if not constants:
        return text
    case = exp.Case(this=text)
    # A copy for each name is a square of the names: a minute for 2,000 of them.
    for old, new in constants.items():
        case = case.when(exp.convert(old), exp.convert(new), copy=False)
    return case.else_(text.copy(), copy=False)


def _value(source: LoadSource, name: str) -> exp.Expr:
    """Return a column as soft truths: NULL where there is none, NaN for a text that is no number."""
    number = exp.TryCast(this=column(name), to=exp.DataType.build("double"))
    # There is one zero.
    zero = exp.Case().when(number.eq(exp.convert(0)), exp.cast(exp.convert(0), "double"))
    if source.columns[name] == "VARCHAR":
        there = exp.Not(this=exp.Is(this=column(name), expression=exp.null()))
        none = exp.cast(exp.convert("nan"), "double")
        return zero.when(there, exp.Coalesce(this=number.copy(), expressions=[none]))
    # As in arguments, NaN marks a number that is missing.
    return zero.when(exp.Not(this=exp.IsNan(this=number.copy())), number.copy())


def _evidence(p: exp.Expr) -> list[exp.Expr]:
    """Return `truth` and `prior` of a probability; both are NULL where it is none."""
    hard = exp.Case().when(exp.EQ(this=p.copy(), expression=exp.convert(0)), exp.false())
    hard = hard.when(exp.EQ(this=p.copy(), expression=exp.convert(1)), exp.true())
    inside = exp.and_(
        exp.GT(this=p.copy(), expression=exp.convert(0)), exp.LT(this=p.copy(), expression=exp.convert(1))
    )
    odds = exp.Ln(
        this=exp.Div(this=p.copy(), expression=exp.Paren(this=exp.Sub(this=exp.convert(1), expression=p.copy())))
    )
    soft = exp.Case().when(inside, odds)
    return [named(hard, "truth"), named(soft, "prior")]
