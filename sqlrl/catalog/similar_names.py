"""Two spellings of what may be one constant: names of one value, names that look alike, and names that differ in a letter or two.

Names match exactly, and sources that write a value in two ways, as a text file beside a table may do, share no constant. Where the
sources of a type say of what kind its values are, a second name of one of them is a warning when it comes.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from sqlglot import exp

from sqlrl.catalog.dictionary import nearest_constants, numeric_name
from sqlrl.catalog.image import TypeRecord
from sqlrl.catalog.options import LoadOptions
from sqlrl.catalog.store import Store
from sqlrl.catalog.values import value_text
from sqlrl.engine.nodes import column, cte, named, union_all
from sqlrl.errors import LoadWarning, Phrase, warn
from sqlrl.wording import NEAREST, did_you_mean

_SHOWN = 3

_EDITS, _LETTERS = 2, 3
"""A misspelt name differs in so many letters at the most, and in one for each so many that it has."""

_NUMBER, _PLAIN = re.compile("[0-9]+"), re.compile("[!-~]*")

_COMPARED = 2_000_000
"""How many pairs of names are compared letter by letter."""

_LOOKS = str.maketrans(
    "\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0456\u0458\u0455\u0410\u0412\u0415\u041a\u041c\u041d\u041e\u0420\u0421\u0422\u0425\u0406"
    "\u0391\u0392\u0395\u0396\u0397\u0399\u039a\u039c\u039d\u039f\u03a1\u03a4\u03a5\u03a7\u03bf\u2010\u2011\u2013\u2212\u2019",
    "aeopcyxijsABEKMHOPCTXIABEZHIKMNOPTYXo----'",
) | {0xFEE0 + code: code for code in range(0x21, 0x7F)}
"""Letters of other alphabets, dashes, quotes and wide characters that look like those of a keyboard."""


# ---- names of one value ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Family:
    """Kinds of values whose texts may differ though the values are equal."""

    word: str
    kinds: frozenset[str]
    # The canonical name of a value from its text; NULL for other texts, among them those that do not match `pattern`.
    key: Callable[[exp.Expr], exp.Expr]
    pattern: str
    # Kinds whose own names differ from those of the others: two of them are enough, without texts.
    beside: frozenset[str] = frozenset()


def _call(name: str, *arguments: exp.Expr | str | int) -> exp.Expr:
    """Return a call of a function of DuckDB."""
    return exp.Anonymous(this=name, expressions=[exp.convert(argument, copy=True) for argument in arguments])


def _when(pattern: str, name: exp.Expr, key: exp.Expr) -> exp.Expr:
    """Return the key of names that match a pattern as a whole."""
    return exp.Case().when(_call("regexp_full_match", name.copy(), pattern), key)


# Python finds no fewer texts with these patterns than DuckDB does: its blanks and its letters without case are more.
_NUMERAL = r"\s*[-+]?([0-9][0-9_]*[.]?[0-9]*|[.][0-9]+)([eE][-+]?[0-9]{1,4})?\s*"
_CLOCK, _ZONE = "[ T][0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]{1,6})?)?", " ?(Z|UTC|[-+][0-9]{2}(:?[0-9]{2})?)"
_MOMENT = f"[0-9]{{4,6}}-[0-9]{{2}}-[0-9]{{2}}({_CLOCK}({_ZONE})?)?"
_LENGTH = "-?[0-9]+ (day|hour|minute|second|month|year)s?.*|[-+]?[0-9]+:[0-9]{2}:[0-9]{2}.*"
_TRUTH = "(?i)true|false"
_IDENTIFIER = "(?i)[{]?[0-9a-f]{8}-?([0-9a-f]{4}-?){3}[0-9a-f]{12}[}]?"


def _number(name: exp.Expr) -> exp.Expr:
    # Most names of numbers are their keys, which is seen faster than computed.
    own = _call(
        "regexp_full_match", name.copy(), "-?(0|[1-9][0-9]{0,37})([.]([1-9]|0[1-9]|00[1-9]|000[1-9]|[1-9][0-9]*[1-9]))?"
    )
    number = _call("regexp_full_match", name.copy(), _NUMERAL)
    return exp.Case().when(own, name.copy()).when(number, numeric_name(name.copy()))


def _time(name: exp.Expr) -> exp.Expr:
    # A cast to TIMESTAMP passes over a zone, one to TIMESTAMPTZ takes that of the session where none is written.
    zoned = _call("timezone", "UTC", exp.TryCast(this=name.copy(), to=exp.DataType.build("timestamptz")))
    plain = exp.TryCast(this=name.copy(), to=exp.DataType.build("timestamp"))
    moment = exp.Case().when(_call("regexp_full_match", name.copy(), f".*{_CLOCK}{_ZONE}"), zoned).else_(plain)
    return _when(_MOMENT, name, value_text(moment, "TIMESTAMP"))


def _duration(name: exp.Expr) -> exp.Expr:
    # As Python and pandas write them.
    plain = _call("replace", _call("replace", name.copy(), ",", ""), "+", "")
    whole = exp.TryCast(this=plain, to=exp.DataType.build("interval"))
    return _when(_LENGTH, name, value_text(whole, "INTERVAL"))


def _boolean(name: exp.Expr) -> exp.Expr:
    return _when(_TRUTH, name, exp.Lower(this=name.copy()))


def _uuid(name: exp.Expr) -> exp.Expr:
    return _when(_IDENTIFIER, name, exp.cast(exp.TryCast(this=name.copy(), to=exp.DataType.build("uuid")), "varchar"))


_NUMBERS = frozenset({"integer", "decimal", "float"})
_TIMES = frozenset({"time", "instant"})
_FAMILIES = (
    _Family("number", _NUMBERS, _number, _NUMERAL, _NUMBERS),
    _Family("time", _TIMES, _time, _MOMENT, _TIMES),
    _Family("duration", frozenset({"duration"}), _duration, _LENGTH),
    _Family("boolean", frozenset({"boolean"}), _boolean, _TRUTH),
    _Family("identifier", frozenset({"uuid"}), _uuid, _IDENTIFIER),
)


def kinds_of(store: Store, type_name: str) -> set[str]:
    """Return the kinds of the values of a type (`catalog.values.column_kind`), as far as its sources say them."""
    predicates, found = store.predicates(), set[str]()
    for (name, _), source in store.sources().items():
        types = predicates[name].types if name in predicates else ()
        if type_name in types:
            kinds = LoadOptions.from_json(source.options).kinds
            for place, each in enumerate(types):
                if each == type_name:
                    found.update(kinds[place].split() if place < len(kinds) else ["text"])
    return found


def warn_of_spellings(store: Store, record: TypeRecord, before: int, kinds: Iterable[str]) -> None:
    """Warn of names of one value in a dictionary of which one is new (its id at least `before`); `kinds` are those of the new source."""
    every = kinds_of(store, record.type) | set(kinds)
    pointed = exp.select("1").from_(store.table(record.dictionary)).where(_call("contains", column("name"), "."))
    looks = _first(store, record, before, column("name")).select(named(exp.Exists(this=pointed), "pointed"), copy=False)
    rows = store.rows(looks, f"look at the first constants of {record.type}")
    first = [str(row["name"]) for row in rows]
    if not every & _FAMILIES[0].kinds and any(row["pointed"] for row in rows):
        _warn_of_points(store, record, before)
    for family in _FAMILIES:
        if every & family.kinds:
            if "text" not in every and len(every & family.beside) < 2:
                continue
        elif family.word == "number" or not _texts_of(store, record, before, family, first):
            continue
        for row in _spelt_twice(store, record, before, family.key(column("name"))):
            one, other = sorted(row["names"], key=lambda name: (name != row["key"], name))[:2]
            more = f"; and so are {row['number'] - 1:,} more pairs" if row["number"] > 1 else ""
            numeric = f", or {Phrase('call db.load(numeric=[{!r}]) in another database before its data are loaded', (record.type,))}"
            warn(
                f"{one!r} and {other!r} are two constants of the type {record.type}, which do not join{more}: if they are one "
                f"{family.word}, write it alike in all sources{numeric if family.word == 'number' else ''}.",
                LoadWarning,
            )


def _first(store: Store, record: TypeRecord, before: int, value: exp.Expr) -> exp.Select:
    """Return the query of a value of the first names, the old and the new ones."""
    ids = exp.In(this=column("id"), expressions=[exp.convert(i) for i in sorted({0, before})])
    return exp.select(value).from_(store.table(record.dictionary)).where(ids)


def _texts_of(store: Store, record: TypeRecord, before: int, family: _Family, first: list[str]) -> bool:
    """Return True if the first texts are names of a family: then all may be, though no source says it."""
    # That of most names is told from here, without a query.
    if not first or not all(re.fullmatch(family.pattern, name) for name in first):
        return False
    query = _first(store, record, before, family.key(column("name")).as_("key"))
    return all(row["key"] is not None for row in store.rows(query, f"look at the first constants of {record.type}"))


def _spelt_twice(store: Store, record: TypeRecord, before: int, key: exp.Expr) -> list[dict[str, Any]]:
    """Return the `names` that have one `key`, of the first such key, with the `number` of all of them."""
    keyed = exp.select(column("id"), column("name"), named(key, "key")).from_(store.table(record.dictionary))
    odd = exp.select("*").from_(keyed.subquery("keyed")).where(column("key").neq(column("name")))
    keys = exp.select(column("key")).from_(cte("odd"))
    plain = exp.select(column("id"), column("name"), named(column("name"), "key")).from_(store.table(record.dictionary))
    plain = plain.where(exp.In(this=column("name"), query=keys.subquery()))
    both = union_all([exp.select(column("id"), column("name"), column("key")).from_(cte("odd")), plain])
    grouped = exp.select(named(_call("list", column("name")), "names"), column("key")).from_(both.subquery("both"))
    new = exp.GTE(this=exp.Max(this=column("id")), expression=exp.convert(before))
    several = exp.GT(this=exp.Count(this=exp.Star()), expression=exp.convert(1))
    grouped = grouped.group_by(column("key")).having(several, new)
    number = named(exp.Window(this=exp.Count(this=exp.Star())), "number")
    query = exp.select(column("names"), column("key"), number).from_(grouped.subquery("pairs"))
    query = query.order_by(column("key")).limit(1).with_("odd", as_=odd)
    return store.rows(query, f"look for values of {record.type} with two names")


def other_spellings(store: Store, record: TypeRecord, names: Iterable[str]) -> dict[str, list[str]]:
    """Return the names that have a constant of a type as their value or as what they look like, each with such constants."""
    wanted, found = list(names), dict[str, list[str]]()
    if not wanted:
        return found
    with store.engine.attached(pa.table({"wanted": pa.array(wanted, pa.string())})) as table:
        rows = _same_values(store, record, table)
        rows += [row for row in _alike(store, record, table, wanted) if look_alike(row["wanted"], row["name"])]
    for row in rows:
        found.setdefault(str(row["wanted"]), []).append(str(row["name"]))
    return found


def _same_values(store: Store, record: TypeRecord, table: exp.Table) -> list[dict[str, Any]]:
    """Return the rows of a table of names (`wanted`) with the constants of the same value (`name`)."""
    kinds = kinds_of(store, record.type)
    families = [family for family in _FAMILIES if kinds & family.kinds] if not record.numeric else []
    if not families:
        return []
    keyed = union_all(
        exp.select(column("wanted"), named(family.key(column("wanted")), "key")).from_(table.copy())
        for family in families
    )
    on = column("name", "d").eq(column("key", "w"))
    query = exp.select(column("wanted", "w"), column("name", "d")).distinct().from_(keyed.subquery("w"))
    query = query.join(store.table(record.dictionary, "d"), on=on).where(column("name", "d").neq(column("wanted", "w")))
    return store.rows(query.order_by(column("wanted"), column("name")), f"find values of {record.type} in other words")


def _alike(store: Store, record: TypeRecord, table: exp.Table, wanted: Iterable[str]) -> list[dict[str, Any]]:
    """Return the rows of a table of names (`wanted`) with the constants that look like them (`name`), perhaps in another case."""
    constants = exp.select(column("name"), named(shown_letters(column("name")), "shown")).from_(
        store.table(record.dictionary)
    )
    if all(_PLAIN.fullmatch(name) for name in wanted):
        # Two names of plain letters alone look different.
        constants = constants.where(exp.Not(this=_call("regexp_full_match", column("name"), _PLAIN.pattern)))
    on = exp.EQ(this=column("shown", "d"), expression=shown_letters(column("wanted", "w")))
    names = exp.select("*").from_(table.copy()).subquery("w")
    query = exp.select(column("wanted", "w"), column("name", "d")).from_(names).join(constants.subquery("d"), on=on)
    return store.rows(
        query.order_by(column("wanted"), column("name")), f"find constants of {record.type} that look alike"
    )


def _warn_of_points(store: Store, record: TypeRecord, before: int) -> None:
    """Warn of names such as `2.0` beside `2` if one of them is new (its id at least `before`) and all names with a point are such."""
    pointed, whole = column("name", "d"), column("name", "w")
    last = _call("max", _call("greatest", column("id", "d"), column("id", "w")))
    query = exp.select(named(_call("min", whole), "whole")).from_(store.table(record.dictionary, "d"))
    same = whole.copy().eq(_call("left", pointed, -2))
    query = query.join(store.table(record.dictionary, "w"), on=same, join_type="left")
    query = query.where(_call("contains", pointed.copy(), ".")).having(
        # In texts other names would have a point, too.
        _call("bool_and", _call("regexp_full_match", pointed.copy(), "-?[0-9]+[.]0")),
        exp.GTE(this=last, expression=exp.convert(before)),
        exp.GT(this=exp.Count(this=whole.copy()), expression=exp.convert(0)),
    )
    for row in store.rows(query, f"look for names such as 2.0 in {record.type}"):
        name = row["whole"]
        warn(
            f"{name!r} and {name + '.0'!r} are two constants of the type {record.type}, which do not join: if they are one number, write "
            f"it alike in all sources, or {Phrase('call db.load(numeric=[{!r}]) in another database before its data are loaded', (record.type,))}.",
            LoadWarning,
        )


# ---- names that look alike, or nearly ---------------------------------------------------------------


def shown_letters(name: exp.Expr) -> exp.Expr:
    """Return what a reader sees of a name: composed letters without case, one blank for several, nothing that does not show."""
    letters = ("".join(map(chr, codes)) for codes in (_LOOKS, _LOOKS.values()))
    text = _call("regexp_replace", _call("nfc_normalize", name), r"\p{Cf}", "", "g")
    text = _call("trim", _call("regexp_replace", text, r"[\s\p{Z}]+", " ", "g"))
    return exp.Lower(this=_call("translate", text, *letters))


def shown_form(name: str) -> str:
    """Return what `shown_letters` gives, of a name that is here."""
    return _plain(unicodedata.normalize("NFC", name)).translate(_LOOKS).lower()


def look_alike(one: str, other: str) -> str:
    r"""Return why two names that differ look alike, for the middle of a sentence; "" if they do not."""
    if one == other:
        return ""
    composed = [unicodedata.normalize("NFC", name) for name in (one, other)]
    if composed[0] == composed[1]:
        first, second = (
            ("composed (NFC)", "decomposed (NFD)") if one == composed[0] else ("decomposed (NFD)", "composed (NFC)")
        )
        if other not in composed and one not in composed:
            return "which looks alike: its letters are composed of other characters; normalise both (NFC)"
        return f"which looks alike: letters are {first} in the first and {second} in the second"
    if _plain(composed[0]) == _plain(composed[1]):
        return f"which looks alike, but has blanks or characters that do not show{_points(one, other, _hidden)}"
    shown = [unicodedata.normalize("NFKC", _plain(name)).translate(_LOOKS) for name in composed]
    if shown[0] == shown[1]:
        return f"which looks alike, but has other letters{_points(one, other, lambda character: ord(character) > 127)}"
    return ""


def _plain(name: str) -> str:
    """Return a name without what does not show, and with one blank for several."""
    shown = "".join(c for c in name if unicodedata.category(c) != "Cf")
    return " ".join(shown.split())


def _hidden(character: str) -> bool:
    return unicodedata.category(character)[0] in "CZ" and character != " "


def _points(one: str, other: str, wanted: Callable[[str], bool]) -> str:
    """Return the characters that one of two names has and the other has not, as Unicode numbers them, in brackets."""
    found = sorted(c for c in set(one) ^ set(other) if wanted(c))
    return f" ({', '.join(f'U+{ord(c):04X}' for c in found[:_SHOWN])})" if found else ""


def close_constants(store: Store, record: TypeRecord, names: Iterable[str]) -> dict[str, list[str]]:
    """Return names with the constants of a type for which they may be misspelt, the nearest first, at most three."""
    # Of a large type no more names are looked at than takes a moment.
    some = list(names)[: max(1, _COMPARED // max(1, record.size))]
    with store.engine.attached(pa.table({"wanted": pa.array(some, pa.string())})) as table:
        wanted, name = (_call("lower", column(each)) for each in ("wanted", "name"))
        distance = _call("damerau_levenshtein", wanted, name) * exp.convert(_LETTERS)
        # All that may be close: digits are left to `close_names`.
        near = exp.or_(wanted.copy().eq(name.copy()), exp.LTE(this=distance, expression=_call("length", wanted.copy())))
        query = exp.select(column("wanted"), column("name")).from_(table)
        query = query.join(store.table(record.dictionary), join_type="cross").where(near)
        rows = store.rows(query, f"find constants of {record.type} like others")
    found: dict[str, list[str]] = {}
    for row in rows:
        found.setdefault(str(row["wanted"]), []).append(str(row["name"]))
    # Names of the same value and names that look alike come before close ones.
    exact = other_spellings(store, record, some)
    close = {name: [*exact.get(name, ()), *close_names(name, found.get(name, ()))] for name in some}
    return {name: list(dict.fromkeys(like))[:NEAREST] for name, like in close.items() if like}


def close_names(name: str, known: Iterable[str]) -> list[str]:
    """Return the known names for which one may be misspelt, nearest first: other case, one letter, or two from six letters on."""
    letters = _NUMBER.sub("0", name.lower())
    found = []
    for each in known:
        distance = edits(each.lower(), name.lower())
        # Digits tell things of one kind apart.
        few = distance <= min(_EDITS, len(name) // _LETTERS) and _NUMBER.sub("0", each.lower()) != letters
        if distance == 0 or few:
            found.append((distance, each))
    return [each for _, each in sorted(found)]


def edits(one: str, other: str) -> int:
    """Return how many letters are to be put in, left out, changed or exchanged with their neighbours (restricted Damerau-Levenshtein)."""
    rows = [list(range(len(other) + 1))]
    for i, a in enumerate(one, 1):
        row = [i]
        for j, b in enumerate(other, 1):
            row.append(min(rows[-1][j] + 1, row[j - 1] + 1, rows[-1][j - 1] + (a != b)))
            if i > 1 and j > 1 and a == other[j - 2] and one[i - 2] == b:
                row[j] = min(row[j], rows[-2][j - 2] + 1)
        rows.append(row)
    return rows[-1][-1]


def suggestion(store: Store, record: TypeRecord, name: str) -> str:
    """Return the end of a message about a name that is no constant of a type: which constants were perhaps meant, and how they differ."""
    near = close_constants(store, record, [name]).get(name) or nearest_constants(store, record, name)
    return did_you_mean(near) + why_alike(name, near)


def why_alike(name: str, others: Iterable[str]) -> str:
    """Return what to say behind other names if one of them looks like a name: why they differ."""
    return next((f" ({why})" for each in others if (why := look_alike(name, each))), "")
