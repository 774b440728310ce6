"""The one text of a value, whatever stored it: a column of the database, of a frame or of Arrow, or an object of Python.

Constants are texts, so a value that two sources store in two ways is one constant only if both write it alike:

- a number that is whole is that integer, `2`; others are written as DuckDB and Python write floats, without zeros at their end;
- a date is `2024-01-31`, and so is a timestamp at its midnight, which SQL takes for equal; other timestamps are
  `2024-01-31 12:00:00.5`; an instant (a timestamp with a zone) is written in UTC, `2024-01-31 11:00:00+00`;
- a duration has days of 24 hours, `1 day 02:00:00`; months, which have no fixed length, stay months;
- a boolean is `true` or `false`.

What is exact decides: of floats from 2^53 on several integers are the same, so they keep an exponent or a point, and a text is
what it is. `catalog.similar_names` warns where one value still has two names.
"""

from __future__ import annotations

import math
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
from sqlglot import exp

_EXACT = {"FLOAT": 2**24 - 1, "DOUBLE": 2**53 - 1}
"""Up to these every integer is a float of its own."""

_INTEGERS = {
    *("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "BIGNUM"),
    *("UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "UHUGEINT"),
}
_INSTANTS = {"TIMESTAMP WITH TIME ZONE": "epoch_us", "TIMESTAMPTZ_NS": "epoch_ns"}
"""Types of instants, with the function that counts from 1970 in UTC; their text depends on the session's zone."""

_DAY = 86_400_000_000_000
_UNITS = {"D": _DAY, "h": _DAY // 24, "m": _DAY // 1440, "s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1, "W": 7 * _DAY}
"""Units of numpy's durations, in nanoseconds."""


# ---- values of columns -------------------------------------------------------------------------------


def value_text(value: exp.Expr, kind: str) -> exp.Expr:
    """Return the text of a value of a type of the database; NaN is NULL."""
    text = exp.cast(value, "varchar")
    if kind in _EXACT:
        return _float(value, kind, text)
    if kind.startswith("DECIMAL"):
        return text if kind.endswith(",0)") else _decimal(value, text)
    if kind.startswith("TIMESTAMP"):
        return _timestamp(value, kind, text)
    return _duration(value) if kind == "INTERVAL" else text


def _float(value: exp.Expr, kind: str, text: exp.Expr) -> exp.Expr:
    integer: exp.Cast = exp.TryCast(this=value.copy(), to=exp.DataType.build("bigint"))
    # Of larger ones several integers are the same float: which one was meant is not known.
    exact = exp.LTE(this=exp.Abs(this=value.copy()), expression=exp.convert(_EXACT[kind]))
    case = exp.Case().when(exp.IsNan(this=value.copy()), exp.null())
    return case.when(exp.and_(exact, integer.eq(value.copy())), exp.cast(integer.copy(), "varchar")).else_(text)


def _decimal(value: exp.Expr, text: exp.Expr) -> exp.Expr:
    # A compiled scorer, which has texts of Python's values alone, is loaded without the database.
    from sqlrl.catalog.dictionary import numeric_name

    # By its digits alone: a type may have no room for a whole number.
    digits = _call("rtrim", _call("rtrim", text, "0"), ".")
    # Where no digit stands before the point, DuckDB writes `.5`.
    digits = _call("regexp_replace", digits, "^(-?)[.]", "\\10.")
    # Smaller ones have an exponent, as floats do.
    plain = exp.GTE(this=exp.Abs(this=value.copy()), expression=exp.Literal.number("0.0001"))
    case = exp.Case().when(exp.EQ(this=value.copy(), expression=exp.convert(0)), exp.convert("0"))
    return case.when(plain, digits).else_(numeric_name(text.copy()))


def _timestamp(value: exp.Expr, kind: str, text: exp.Expr) -> exp.Expr:
    midnight = " 00:00:00"
    if kind in _INSTANTS:
        utc = exp.cast(_call("timezone", "UTC", value.copy()), "varchar")
        # Infinity has no zone.
        return (
            exp.Case().when(_call("ends_with", utc, "infinity"), utc.copy()).else_(_call("concat", utc.copy(), "+00"))
        )
    day = _call("left", text.copy(), -len(midnight))
    return exp.Case().when(_call("ends_with", text.copy(), midnight), day).else_(text)


def _duration(value: exp.Expr) -> exp.Expr:
    part = {name: _call("datepart", name, value.copy()) for name in ("year", "month", "day", "hour", "minute")}
    months = part["year"] * exp.convert(12) + part["month"]
    # More days than microseconds of a BIGINT have.
    total: exp.Expr = exp.cast(part["day"], "hugeint") * exp.convert(_DAY // 1000)
    total = total + part["hour"] * exp.convert(3_600_000_000) + part["minute"] * exp.convert(60_000_000)
    total = total + _call("datepart", "microsecond", value.copy())
    day = exp.convert(_DAY // 1000)
    days = exp.cast(exp.IntDiv(this=exp.paren(total), expression=day), "int")
    rest = exp.cast(exp.Mod(this=exp.paren(total.copy()), expression=day.copy()), "bigint")
    whole = _call("to_months", exp.cast(exp.paren(months), "int")) + _call("to_days", days)
    return exp.cast(exp.paren(whole + _call("to_microseconds", rest)), "varchar")


def _call(name: str, *arguments: exp.Expr | str | int) -> exp.Expr:
    """Return a call of a function of DuckDB."""
    return exp.Anonymous(this=name, expressions=[exp.convert(argument, copy=True) for argument in arguments])


def instant_count(kind: str) -> str | None:
    """Return the function of DuckDB that counts an instant's time in UTC, None for a type whose text no zone changes."""
    return _INSTANTS.get(kind)


# ---- values of Python --------------------------------------------------------------------------------


def text_of(value: Any) -> str:
    """Return the text of an object of Python, the same as that of an equal value in a column."""
    if isinstance(value, str):
        return str(value)
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    if isinstance(value, float | np.floating):
        return _float_text(value)
    if isinstance(value, Decimal):
        return _decimal_text(value)
    if isinstance(value, np.datetime64):
        return _numpy_time(value)
    if isinstance(value, np.timedelta64):
        return _numpy_duration(value)
    if isinstance(value, datetime):
        return _datetime_text(value)
    if isinstance(value, time):
        return _time_text(value)
    if isinstance(value, timedelta):
        # Those of pandas have nanoseconds beside the parts of Python's.
        days, nanoseconds = value.days, value.seconds * 10**9 + value.microseconds * 1000
        return _duration_text(days * _DAY + nanoseconds + int(getattr(value, "nanoseconds", 0)))
    return str(value)


def kind_of(value: Any) -> str:
    """Return the kind of an object of Python, as `column_kind` returns that of a column."""
    if isinstance(value, bool | np.bool_):
        return "boolean"
    if isinstance(value, int | np.integer):
        return "integer"
    if isinstance(value, float | np.floating):
        return "float"
    if isinstance(value, Decimal):
        return "decimal"
    if isinstance(value, datetime) and value.tzinfo is not None:
        return "instant"
    if isinstance(value, date | np.datetime64):
        return "time"
    if isinstance(value, timedelta | np.timedelta64):
        return "duration"
    return "uuid" if type(value).__name__ == "UUID" else "text"


def column_kind(kind: str) -> str:
    """Return the kind of the values of a column by its type in the database: how they may also be written in texts."""
    if kind in _INSTANTS:
        return "instant"
    if kind == "DATE" or kind.startswith("TIMESTAMP"):
        return "time"
    if kind.startswith("DECIMAL"):
        return "decimal"
    known = {"BOOLEAN": "boolean", "INTERVAL": "duration", "UUID": "uuid", **dict.fromkeys(_EXACT, "float")}
    return "integer" if kind in _INTEGERS else known.get(kind, "text")


def _float_text(value: float | np.floating[Any]) -> str:
    digits = np.finfo(type(value)).nmant if isinstance(value, np.floating) else 52
    # Of larger ones several integers are the same float.
    if math.isfinite(value) and value.is_integer() and abs(int(value)) < 2 ** (int(digits) + 1):
        return str(int(value))
    if not math.isfinite(value) or digits == 52:
        return repr(float(value))
    # As floats of Python are written, which have an exponent from 1e16 on; numpy's own text depends on its version.
    scientific = np.format_float_scientific(value, unique=True, trim="-", exp_digits=2)
    if -4 <= int(scientific.partition("e")[2]) < 16:
        return np.format_float_positional(value, unique=True, trim="0")
    return scientific


def _decimal_text(value: Decimal) -> str:
    if not value.is_finite():
        return repr(float(value))
    if value == value.to_integral_value():
        return str(int(value))
    sign, numbers, power = value.as_tuple()
    assert isinstance(power, int), "it is finite"
    digits = "".join(map(str, numbers)).rstrip("0")
    place = len(numbers) + power
    minus = "-" if sign else ""
    if place <= -4:
        return f"{minus}{digits[0]}{'.' if len(digits) > 1 else ''}{digits[1:]}e{place - 1:+03d}"
    if place <= 0:
        return f"{minus}0.{'0' * -place}{digits}"
    return f"{minus}{digits[:place]}.{digits[place:]}"


def _datetime_text(value: datetime) -> str:
    instant = value.tzinfo is not None
    # Those of pandas have nanoseconds beside the parts of Python's.
    nanoseconds = value.microsecond * 1000 + int(getattr(value, "nanosecond", 0))
    plain = value.astimezone(UTC) if instant else value
    text = f"{plain.year:04d}-{plain.month:02d}-{plain.day:02d} {plain.hour:02d}:{plain.minute:02d}:{plain.second:02d}"
    return _trimmed(text, nanoseconds, 9) + "+00" if instant else _day(_trimmed(text, nanoseconds, 9))


def _time_text(value: time) -> str:
    text = _trimmed(f"{value.hour:02d}:{value.minute:02d}:{value.second:02d}", value.microsecond, 6)
    offset = value.utcoffset()
    if offset is None:
        return text
    seconds = round(abs(offset).total_seconds())
    parts = [seconds // 3600, seconds // 60 % 60, seconds % 60]
    while len(parts) > 1 and not parts[-1]:
        parts.pop()
    return f"{text}{'-' if offset < timedelta(0) else '+'}{':'.join(f'{part:02d}' for part in parts)}"


def _numpy_time(value: np.datetime64) -> str:
    unit, _ = np.datetime_data(value.dtype)
    if unit in ("Y", "M", "W"):
        value = value.astype("datetime64[D]")
    day, _, clock = str(np.datetime_as_string(value)).partition("T")
    year, month, number = day.rsplit("-", 2)
    # The year before the year 1 is 1 before Christ.
    day = f"{year}-{month}-{number}" if int(year) > 0 else f"{1 - int(year):04d}-{month}-{number} (BC)"
    whole, _, fraction = clock.partition(".")
    whole += "00:00:00"[len(whole) :]
    return _day(_trimmed(f"{day} {whole}", int(fraction or 0), len(fraction)))


def _numpy_duration(value: np.timedelta64) -> str:
    unit, number = np.datetime_data(value.dtype)
    count = int(value.astype(np.int64)) * number
    if unit in ("Y", "M"):
        months = count * (12 if unit == "Y" else 1)
        years, months = (abs(months) // 12, abs(months) % 12) if months > 0 else (-(-months // 12), -(-months % 12))
        return " ".join(_counted(n, name) for n, name in ((years, "year"), (months, "month")) if n) or "00:00:00"
    return _duration_text(count * _UNITS[unit]) if unit in _UNITS else str(value)


def duration_text(count: int, unit: str) -> str:
    """Return the text of a number of a unit of numpy's and Arrow's durations."""
    return _duration_text(count * _UNITS[unit])


def _duration_text(nanoseconds: int) -> str:
    sign = "-" if nanoseconds < 0 else ""
    days, rest = divmod(abs(nanoseconds), _DAY)
    seconds, rest_of_second = divmod(rest, 10**9)
    clock = f"{sign}{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
    parts = [_counted(-days if sign else days, "day")] if days else []
    parts += [_trimmed(clock, rest_of_second, 9)] if rest or not days else []
    return " ".join(parts)


def _counted(number: int, unit: str) -> str:
    return f"{number} {unit}{'' if abs(number) == 1 else 's'}"


def _trimmed(text: str, fraction: int, digits: int) -> str:
    """Return a time with its fraction of a second, without zeros at its end."""
    return f"{text}.{fraction:0{digits}d}".rstrip("0") if fraction else text


def _day(text: str) -> str:
    """Return a timestamp as the date if it is midnight."""
    return text.removesuffix(" 00:00:00")
