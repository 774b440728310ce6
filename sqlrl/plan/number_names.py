"""The names of numbers in views: written by whichever database runs the view, as DuckDB and Python write floats.

Databases print one DOUBLE in several ways: 1e-07 is 1.0e-07 in SQLite and 1.0E-7 in Spark, 2/3 has 15 digits in SQLite and 16 elsewhere.
So a view takes the digits from its database, and writes them by one rule. Where a database finds other digits than DuckDB, as PostgreSQL
does of 2^-44, names still meet: a constant of a rule stands in the view as a number, and the same database names it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from functools import reduce

from sqlglot import exp

from sqlrl.engine.nodes import cast, column, integer, named

_EXACT = 2**53
"""Below this every whole number is a double of its own, and is named as the integer."""

_MOST_DIGITS, _ALL = 17, 99
"""So many digits tell all doubles apart; more than any text has."""

_LEAST_PLACE, _FLOAT_PLACES, _WHOLE_PLACES = -4, 16, 39
"""Numbers have no exponent from 0.0001 on: floats up to 16 places, others up to the 39 of a HUGEINT."""


# ---- numbers as literals -----------------------------------------------------------------------------


def number(value: float) -> exp.Expression:
    """Return a number as a literal that every database reads as a double, never as a decimal; SQLite may miss the last bit."""
    digits = repr(abs(float(value))).upper()
    literal = exp.Literal(this=digits if "E" in digits else f"{digits}E0", is_string=False)
    return exp.Neg(this=literal) if value < 0 else literal


def exact_number(value: float, dialect: str) -> exp.Expression:
    """Return an expression that is exactly a double in a database."""
    if dialect != "sqlite" or not math.isfinite(value):
        return cast(number(value), "DOUBLE")
    # SQLite reads a decimal with an error in the last bit, and an integer without any.
    mantissa, power = math.frexp(value)
    whole, power = int(mantissa * _EXACT), power - 53
    while power < 0 and whole % 2 == 0 and whole:
        whole, power = whole // 2, power + 1
    found: exp.Expression = cast(integer(whole), "DOUBLE")
    while power:
        step = max(min(power, 62), -62)
        factor = cast(integer(2 ** abs(step)), "DOUBLE")
        found = (
            exp.Mul(this=found, expression=factor) if step > 0 else exp.Div(this=found, expression=factor, typed=True)
        )
        power -= step
    return found


def named_double(name: str) -> float | None:
    """Return the double that a constant is the name of; None for whole numbers, whose digits all databases agree on, and other texts."""
    try:
        decimal = Decimal(name)
    except InvalidOperation:
        return None
    value = float(decimal)
    if not decimal.is_finite() or not math.isfinite(value) or Decimal(repr(value)) != decimal:
        return None
    return None if value.is_integer() and abs(value) < _EXACT else value


# ---- numbers of columns ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Layer:
    """Columns that a view adds to those it has."""

    columns: tuple[exp.Alias, ...]
    # Whether they are computed once, however often later ones read them: databases put expressions into those that read them, and of several
    # layers make one that is a thousand times as long.
    once: bool = False


@dataclass(frozen=True)
class NumberName:
    """The name of a number: columns that a view computes one after the other, and the name over the last ones."""

    value: exp.Column
    layers: tuple[Layer, ...]
    name: exp.Expression
    # Whether it is a number: NaN marks one that is missing.
    present: exp.Expression | None = None

    def with_name(self, name: exp.Expression) -> NumberName:
        """Return the number under another name, which may read the one before."""
        return replace(self, name=name)


def layered(numbers: Sequence[NumberName]) -> Iterator[Layer]:
    """Yield the layers of several numbers together."""
    for place in range(max((len(each.layers) for each in numbers), default=0)):
        found = [each.layers[place] for each in numbers if place < len(each.layers)]
        yield Layer(tuple(c for layer in found for c in layer.columns), any(layer.once for layer in found))


def number_name(value: exp.Column, prefix: str, dialect: str, *, double: bool, whole: bool) -> NumberName:
    """Return the name of a number in a column.

    `double`: it is a float, and no decimal or text, whose digits stay as they are. `whole`: whole numbers are named by their digits at any
    size, as those of decimals and of types that are declared numeric; else floats from 2^53 on have a point or an exponent.
    """
    return _Writer(value, prefix, dialect, double, whole).write()


@dataclass(frozen=True)
class _Writer:
    column: exp.Column
    prefix: str
    dialect: str
    double: bool
    whole: bool

    def write(self) -> NumberName:
        """Return the layers: the number, the text of the database, its parts, digits and place, fewer digits if they do, and the name."""
        layers = [
            Layer((self._as("number", cast(self.column.copy(), "DOUBLE")),)),
            Layer((self._as("text", self._text()),), once=True),
            Layer(self._parts()),
            Layer(self._digits(), once=True),
        ]
        digits, place = self._col("digits"), self._col("place")
        if self.double and self.dialect in ("postgres", "spark"):
            # Both find more digits than are needed of some doubles: PostgreSQL of those at whose border a shorter text lies, Spark before
            # Java 19 of many.
            layers += [Layer((self._as("fewer", self._fewer()),)), Layer(self._shortest(), once=True)]
            digits, place = self._col("shortest"), self._col("exponent")
        layers.append(Layer((self._as("size", self._size(digits, place)),)))
        present = not_nan(self.column, self.dialect) if self.double else None
        if self.dialect == "spark":
            return NumberName(self.column, (), _nested(self.column, layers, self._name()), present)
        return NumberName(self.column, tuple(layers), self._name(), present)

    def _col(self, part: str) -> exp.Column:
        return column(f"{self.prefix}_{part}")

    def _as(self, part: str, value: exp.Expression) -> exp.Alias:
        return named(value, f"{self.prefix}_{part}")

    def _text(self) -> exp.Expression:
        """Return the text of the number in the database: with enough digits to be that double; NULL for NaN."""
        if self.dialect == "sqlite" and self.double:
            *tried, last = (
                exp.Anonymous(this="PRINTF", expressions=[_text(f"%!.{digits - 1}e"), self._col("number")])
                for digits in (15, 16, 17)
            )
            found = exp.Case()
            for text in tried:
                found = found.when(exp.EQ(this=cast(text, "DOUBLE"), expression=self._col("number")), text.copy())
            return exp.Lower(this=found.else_(last))
        return exp.Nullif(this=exp.Lower(this=cast(self.column.copy(), "TEXT")), expression=_text("nan"))

    def _parts(self) -> tuple[exp.Alias, ...]:
        """Return the digits before the exponent, without a sign, and the exponent."""
        text, at = self._col("text"), exp.StrPosition(this=self._col("text"), substr=_text("e"))
        some = exp.GT(this=at, expression=integer(0))
        before = exp.Substring(this=text, start=integer(1), length=_minus(at.copy(), integer(1)))
        after = exp.Substring(this=text.copy(), start=_plus(at.copy(), integer(1)), length=integer(9))
        mantissa = exp.Case().when(self._infinite(), _text("0")).when(some, before).else_(text.copy())
        power = exp.Case().when(some.copy(), cast(after, "INT")).else_(integer(0))
        return self._as("mantissa", _trimmed(mantissa, "-", "LEADING")), self._as("power", power)

    def _infinite(self) -> exp.Expression:
        return exp.Like(this=self._col("text"), expression=_text("%inf%"))

    def _digits(self) -> tuple[exp.Alias, ...]:
        """Return the digits from the first that is no zero to the last, and the place of the first: 0 for units, -1 for tenths."""
        mantissa = self._col("mantissa")
        point = exp.StrPosition(this=mantissa, substr=_text("."))
        before = exp.Case().when(exp.GT(this=point, expression=integer(0)), _minus(point.copy(), integer(1)))
        before = before.else_(exp.Length(this=mantissa.copy()))
        plain = exp.Anonymous(this="REPLACE", expressions=[mantissa.copy(), _text("."), _text("")])
        led = _trimmed(plain, "0", "LEADING")
        zeros = exp.Paren(this=_minus(exp.Length(this=plain.copy()), exp.Length(this=led)))
        place = _minus(_minus(_plus(self._col("power"), before), zeros), integer(1))
        return self._as("digits", _trimmed(led.copy(), "0", "TRAILING")), self._as("place", place)

    def _fewer(self) -> exp.Expression:
        """Return the digits without the last one, rounded, where they are the same double; else NULL."""
        digits, size = self._col("digits"), exp.Length(this=self._col("digits"))
        many = exp.Between(this=size, low=integer(2), high=integer(_MOST_DIGITS))
        # The largest doubles, rounded up, are none.
        tried = exp.And(this=many, expression=exp.LT(this=self._col("place"), expression=integer(308)))
        added = exp.Paren(this=_plus(cast(digits, "BIGINT"), integer(5)))
        rounded = cast(exp.IntDiv(this=added, expression=integer(10)), "BIGINT")
        candidates = exp.Case()
        for candidate in (rounded, exp.Paren(this=_plus(rounded.copy(), integer(1)))):
            power = exp.Paren(this=_plus(_minus(self._col("place"), size.copy()), integer(2)))
            text = _joined(cast(candidate.copy(), "TEXT"), _text("e"), cast(power, "TEXT"))
            same = exp.EQ(this=cast(exp.Paren(this=text), "DOUBLE"), expression=exp.Abs(this=self._col("number")))
            candidates = candidates.when(same, candidate.copy())
        return exp.Case().when(tried, candidates)

    def _shortest(self) -> tuple[exp.Alias, ...]:
        """Return the digits and the place of the first one, of the shorter text if it is the same double."""
        fewer = cast(self._col("fewer"), "TEXT")
        longer = exp.Is(this=self._col("fewer"), expression=exp.null())
        moved = _plus(_minus(self._col("place"), exp.Length(this=self._col("digits"))), integer(1))
        place = exp.Case().when(longer, self._col("place")).else_(_plus(moved, exp.Length(this=fewer)))
        digits = exp.Case().when(longer.copy(), self._col("digits")).else_(_trimmed(fewer.copy(), "0", "TRAILING"))
        return self._as("shortest", digits), self._as("exponent", place)

    def _size(self, digits: exp.Column, place: exp.Column) -> exp.Expression:
        """Return the name without a sign by digits and the place of the first one."""
        after = exp.Paren(this=_plus(place, integer(1)))
        most = _WHOLE_PLACES if self.whole else _FLOAT_PLACES
        large = exp.Between(this=place.copy(), low=integer(0), high=integer(most - 1))
        small = exp.Between(this=place.copy(), low=integer(_LEAST_PLACE), high=integer(-1))
        padded = exp.Paren(this=_joined(digits.copy(), _text("0" * most)))
        whole: exp.Expression = exp.Substring(this=padded, start=integer(1), length=after)
        if not self.whole:
            exact = exp.LT(this=exp.Abs(this=self._col("number")), expression=number(float(_EXACT)))
            whole = _joined(whole, exp.Case().when(exact, _text("")).else_(_text(".0")))
        before = exp.Substring(this=digits.copy(), start=integer(1), length=after.copy())
        behind = exp.Substring(
            this=digits.copy(), start=exp.Paren(this=_plus(place.copy(), integer(2))), length=integer(_ALL)
        )
        zeros = exp.Substring(
            this=_text("000"), start=integer(1), length=exp.Paren(this=_minus(integer(-1), place.copy()))
        )
        integral = exp.LTE(this=exp.Length(this=digits.copy()), expression=after.copy())
        return (
            exp.Case()
            .when(self._infinite(), _text("inf"))
            .when(exp.EQ(this=digits.copy(), expression=_text("")), _text("0"))
            .when(exp.And(this=large, expression=integral), whole)
            .when(large.copy(), _joined(before, _text("."), behind))
            .when(small, _joined(_text("0."), zeros, digits.copy()))
            .else_(_scientific(digits, place))
        )

    def _name(self) -> exp.Expression:
        """Return the name with its sign."""
        size, text = self._col("size"), self._col("text")
        minus = exp.EQ(this=exp.Substring(this=text, start=integer(1), length=integer(1)), expression=_text("-"))
        # There is one zero.
        negative = exp.And(this=minus, expression=exp.NEQ(this=size.copy(), expression=_text("0")))
        found = _joined(exp.Case().when(negative, _text("-")).else_(_text("")), size)
        if self.dialect == "sqlite" and self.double:
            # SQLite may print two doubles beside each other alike: what its text misses makes the name one of its own.
            read = cast(text.copy(), "DOUBLE")
            same = exp.Or(this=exp.EQ(this=self._col("number"), expression=read), expression=self._infinite())
            missed = exp.Paren(this=_minus(self._col("number"), read.copy()))
            rest = _joined(_text(" "), exp.Anonymous(this="PRINTF", expressions=[_text("%+!.17g"), missed]))
            found = _joined(found, exp.Case().when(same, _text("")).else_(rest))
        return found


# ---- small expressions -------------------------------------------------------------------------------


def not_nan(value: exp.Column, dialect: str) -> exp.Expression | None:
    """Return the condition that a column of doubles has a number; None where a database has no NaN."""
    double = cast(value.copy(), "DOUBLE")
    if dialect == "sqlite":
        return None
    if dialect == "postgres":
        return exp.NEQ(this=double, expression=cast(_text("NaN"), "DOUBLE"))
    return exp.Not(this=exp.IsNan(this=double))


def _nested(value: exp.Column, layers: Sequence[Layer], name: exp.Expression) -> exp.Expression:
    """Return a name as one expression: each layer is a function of the struct that the one before it makes.

    Servers of Spark have no word for what is to be computed once, and filters go through every step.
    """
    fields = {"value": value.copy()}
    found: exp.Expression = exp.Array(expressions=[_struct(fields)])

    def inside(node: exp.Expression) -> exp.Expression:
        def field(read: exp.Expression) -> exp.Expression:
            if not isinstance(read, exp.Column):
                return read
            part = "value" if read == value else read.name
            return exp.Dot(this=exp.to_identifier("p"), expression=exp.to_identifier(part, quoted=True))

        return node.copy().transform(field)

    def then(body: exp.Expression) -> exp.Expression:
        function = exp.Lambda(this=body, expressions=[exp.to_identifier("p")])
        return exp.Anonymous(this="TRANSFORM", expressions=[found, function])

    known = ["value"]
    for layer in layers:
        kept = {each: inside(column(each) if each != "value" else value) for each in known}
        found = then(_struct(kept | {each.alias: inside(each.this) for each in layer.columns}))
        known += [each.alias for each in layer.columns]
    return exp.Anonymous(this="ELEMENT_AT", expressions=[then(inside(name)), integer(1)])


def _struct(fields: Mapping[str, exp.Expression]) -> exp.Expression:
    return exp.Anonymous(this="STRUCT", expressions=[named(value, name) for name, value in fields.items()])


def _scientific(digits: exp.Column, place: exp.Column) -> exp.Expression:
    """Return digits with an exponent: `1.5e-07`."""
    rest = _joined(_text("."), exp.Substring(this=digits.copy(), start=integer(2), length=integer(_ALL)))
    several = exp.GT(this=exp.Length(this=digits.copy()), expression=integer(1))
    sign = exp.Case().when(exp.LT(this=place.copy(), expression=integer(0)), _text("e-")).else_(_text("e+"))
    size = exp.Abs(this=place.copy())
    zero = exp.Case().when(exp.LT(this=size, expression=integer(10)), _text("0")).else_(_text(""))
    return _joined(
        exp.Substring(this=digits.copy(), start=integer(1), length=integer(1)),
        exp.Case().when(several, rest).else_(_text("")),
        sign,
        zero,
        cast(size.copy(), "TEXT"),
    )


def _trimmed(text: exp.Expression, digit: str, side: str) -> exp.Expression:
    return exp.Trim(this=text, expression=_text(digit), position=side)


def _joined(*texts: exp.Expression) -> exp.Expression:
    return reduce(lambda a, b: exp.DPipe(this=a, expression=b), texts)


def _plus(a: exp.Expression, b: exp.Expression) -> exp.Expression:
    return exp.Add(this=a, expression=b)


def _minus(a: exp.Expression, b: exp.Expression) -> exp.Expression:
    return exp.Sub(this=a, expression=b)


def _text(value: str) -> exp.Expression:
    return exp.Literal.string(value)
