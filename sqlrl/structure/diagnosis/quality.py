"""Rule quality: how often a rule applies, how often it is violated there, how that compares with chance, and all of it in words."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from sqlrl import markup
from sqlrl.logic.implications import literal_of
from sqlrl.logic.printer import format_formula
from sqlrl.logic.subformulas import free_variables
from sqlrl.logic.terms import Formula
from sqlrl.report import Table
from sqlrl.wording import counted

QUANTILE = 1.959963984540054
"""Of the normal distribution, for intervals of 95 %."""

SHOWN = 20
"""Rules that are printed; the table has all of them."""

STATES = frozenset(
    ["Active", "Busy", "Dead", "Free", "Idle", "Inactive", "Late", "New", "Old", "Open", "Overdue", "Sick", "Valid"]
)
"""Predicates that read well after "are", beside participles such as "Blocked"; of others nobody knows whether they are verbs or nouns."""

COUNT = pa.decimal128(38)

QUALITY_SCHEMA = pa.schema(
    {
        "rule": pa.int64(),
        "line": pa.int64(),
        "text": pa.string(),
        "weight": pa.float64(),
        "hard": pa.bool_(),
        "applies": COUNT,
        "violations": COUNT,
        "confidence": pa.float64(),
        "confidence_low": pa.float64(),
        "confidence_high": pa.float64(),
        "base_rate": pa.float64(),
        "lift": pa.float64(),
        "pca_confidence": pa.float64(),
        "groundings": COUNT,
        "verdict": pa.string(),
        "implied_by": pa.list_(pa.int64()),
        "contradicts": pa.list_(pa.int64()),
        "problem": pa.string(),
        "violating_sql": pa.string(),
    }
)
"""The columns of a rule quality table, which `sqlrl.rule_diagnosis` keeps; counts are int64 as long as they fit."""

PAIRS_SCHEMA = pa.schema(
    {
        "kind": pa.string(),
        "first": pa.int64(),
        "second": pa.int64(),
        "first_text": pa.string(),
        "second_text": pa.string(),
    }
)


def wilson(successes: int, trials: int, size: float | None = None) -> tuple[float, float]:
    """Return the Wilson interval of 95 % of a share; `size` is the effective number of trials where they are not independent.

    Sources: Wilson, "Probable inference, the law of succession, and statistical inference" (1927); with an effective size Dean and Pagano,
    "Evaluating confidence interval methods for binomial proportions in clustered surveys" (2015).
    """
    z, n, share = QUANTILE, trials if size is None else size, successes / trials
    whole = n + z * z
    centre = (share * n + z * z / 2) / whole
    spread = z / whole * math.sqrt(n * share * (trials - successes) / trials + z * z / 4)
    low = 0.0 if successes == 0 else max(centre - spread, 0.0)
    high = 1.0 if successes == trials else min(centre + spread, 1.0)
    return low, high


def effective_size(total: int, squares: int) -> float:
    """Return how many independent draws a sample is worth whose draws come in groups that are alike, given the sums of their sizes and of the squares.

    Source: Kish, "Survey sampling" (1965), section 8.2, with all draws of a group alike.
    """
    return total * total / squares


def percent(part: int, whole: int) -> str:
    """Return a share in per cent, of which 0 and 100 are exact."""
    if part in (0, whole):
        return "100 %" if part else "0 %"
    for digits in (0, 1, 2, 3):
        text = f"{100 * part / whole:.{digits}f}"
        if 0 < float(text) < 100:
            return f"{text} %"
    return "under 0.001 %" if 2 * part < whole else "over 99.999 %"


# ---- heads in words ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class HeadRate:
    """How often the head of a rule holds, whatever its body says."""

    true: int
    total: int
    noun: str  # what its bindings are, in the plural
    said: str  # what those do that satisfy it

    @property
    def words(self) -> str:
        """The rate as a part of a sentence."""
        return f"of all {self.total:,} {self.noun} {percent(self.true, self.total)} {self.said}"


def head_words(head: Formula, types: Mapping[str, str]) -> tuple[str, str]:
    """Return what the bindings of a head are, in the plural, and what those do that satisfy it; `types` are those of its variables."""
    names = list(dict.fromkeys(free_variables(head)))
    kinds = [types[name] for name in names if name in types]
    noun = _plural(kinds[0]) if len(kinds) == 1 else f"combinations ({', '.join(kinds)})" if kinds else "bindings"
    literal = literal_of(head)
    if literal is not None:
        (predicate, terms), positive = (literal[0].predicate, literal[0].terms), literal[1]
        if len(terms) == len(names) == 1 and (predicate in STATES or re.fullmatch("[A-Z][a-z]+[a-df-z]ed", predicate)):
            return noun, f"are {'' if positive else 'not '}{predicate.lower()}"
    return noun, f"satisfy {format_formula(head)}"


def _plural(noun: str) -> str:
    if len(noun) < 3 or not noun.isalpha():
        return f"constants of type {noun}"
    if re.search("[^s]s$", noun):
        return noun
    if re.search("(ss|x|[cs]h)$", noun):
        return f"{noun}es"
    return f"{noun[:-1]}ies" if re.search("[^aeiou]y$", noun) else f"{noun}s"


# ---- rules ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class JudgedRule:
    """What the data say of one rule, or of one clause of a template."""

    rule: int  # its place in the model or among the rules of a text, from 0
    line: int | None
    text: str
    weight: float | None = None
    hard: bool = False
    groundings: int | None = None
    violations: int | None = None
    # Bindings of body and head whose body holds, and of whose head it is known whether it does; None of what is no implication.
    applies: int | None = None
    # Those of whose head that is not known; of what is no implication the groundings of which nobody knows whether they hold.
    unlabelled: int = 0
    head: HeadRate | None = None
    # How many independent draws the cases are worth: those with one head are one; None where that is not known.
    draws: float | None = None
    # Of these those of whose head's other arguments something is known; None where what is not known is false.
    known: int | None = None
    problem: str | None = None
    sql: str | None = None
    mark: str | None = None  # the number or bullet that stood before it in a list
    missing: tuple[str, ...] = ()  # constants that the data do not have, with their types
    always: bool | None = (
        None  # whether it is true whatever the data are, or false; None of one that says something of them
    )
    alike: tuple[str, ...] = ()  # what is said of variables that are called as constants of the data are
    implied_by: tuple[int, ...] = ()
    contradicts: tuple[int, ...] = ()
    places: Mapping[int, str] = field(default_factory=dict)  # what is said of where other rules stand, by their numbers

    @property
    def confidence(self) -> float | None:
        """The share of the bindings that satisfy the body which satisfy the head."""
        return _share(self._held(self.applies), self.applies)

    @property
    def interval(self) -> tuple[float | None, float | None]:
        """The interval of 95 % of the confidence, which counts the cases of one head as one draw."""
        held = self._held(self.applies)
        if held is None or not self.applies or self.draws is None:
            return None, None
        return wilson(held, self.applies, self.draws)

    @property
    def base_rate(self) -> float | None:
        """The share of the bindings of the head that satisfy it."""
        return None if self.head is None else _share(self.head.true, self.head.total)

    @property
    def lift(self) -> float | None:
        """How many times the base rate the confidence is."""
        confidence, base = self.confidence, self.base_rate
        return confidence / base if confidence is not None and base else None

    @property
    def pca_confidence(self) -> float | None:
        """The confidence over those bindings of whose head's other arguments something is known."""
        held = self._held(self.applies)
        return _share(held, self.known)

    def _held(self, applies: int | None) -> int | None:
        return None if applies is None or self.violations is None else applies - self.violations

    @property
    def cases(self) -> int | None:
        """Where it can be violated."""
        if self.applies is None:
            return None if self.groundings is None else self.groundings - self.unlabelled
        return self.applies

    @property
    def opposite(self) -> bool:
        """Whether the rule speaks for what violates it, since its weight is negative."""
        return self.weight is not None and self.weight < 0

    @property
    def order(self) -> tuple[object, ...]:
        """Hard rules that are violated come first, then those that are wrong in the largest share of cases, last what was not counted."""
        wrong, cases = self.violations or 0, self.cases or 0
        if self.hard and wrong:
            return 0, -wrong, self.rule
        if self.opposite:
            wrong = cases - wrong
        return 2 if self.problem is not None else 1, -(wrong / cases if cases else -1.0), self.rule

    @property
    def verdict(self) -> str:
        """What the numbers say, in words."""
        return "; ".join(self._said())

    def _said(self) -> Iterator[str]:
        if self.problem is not None:
            yield f"not counted: {self.problem}"
        else:
            yield from self._judged()
            if self.opposite:
                yield "its weight is negative, so it speaks for what violates it"
        if self.missing:
            yield f"the data have no {' and no '.join(self.missing)}"
        for each in self.alike:
            yield f"{each}: write a constant in quotes"
        if self.mark is not None:
            yield f"read without the {self.mark!r} before it"
        if self.implied_by:
            yield f"implied by {self._rules(self.implied_by)}"
        if self.contradicts:
            yield f"contradicts {self._rules(self.contradicts)}"

    def _rules(self, numbers: Sequence[int]) -> str:
        listed = self.places.get(numbers[0], f"rule {numbers[0]}")
        return listed if len(numbers) == 1 else f"{listed} and {len(numbers) - 1:,} more"

    def _judged(self) -> Iterator[str]:
        assert self.violations is not None, "it was counted"
        assert self.groundings is not None, "it was counted"
        wrong, hard = self.violations, "hard, but " if self.hard and self.violations else ""
        cases, implies = self.cases, self.applies is not None
        assert cases is not None, "it was counted"
        labelled = " with a label" if self.unlabelled else ""
        what = counted(cases, "case" if implies else "grounding") + labelled + (" where it applies" if implies else "")
        if cases:
            share = percent(wrong, cases)
            yield f"{hard}violated in {wrong:,} of {what} ({share})" if wrong else f"holds in {_all(what)}"
        elif not self.unlabelled:
            yield "never applies: nothing satisfies its body" if implies else f"holds in {_all(what)}"
        if self.unlabelled:
            others = counted(self.unlabelled, "case" if implies else "grounding")
            yield f"{others.replace(' ', ' more ', 1) if cases else others} {'has' if self.unlabelled == 1 else 'have'} no label"
        if self.always is not None:
            yield f"always {'true' if self.always else 'false'}, whatever the data are"
        if not implies or self.always is not None:
            return
        if self.head is not None and self.head.total > 1:
            yield self.head.words
        (low, high), base = self.interval, self.base_rate
        if low is None or high is None or base is None:
            return
        better, worse = (high < base, low > base) if self.opposite else (low > base, high < base)
        if not better and (wrong or self.opposite):
            yield "worse than chance" if worse else "no better than chance"

    def row(self) -> dict[str, object]:
        """Return the columns of `QUALITY_SCHEMA`."""
        low, high = self.interval
        return {
            "rule": self.rule, "line": self.line, "text": self.text, "weight": self.weight, "hard": self.hard,
            "applies": self.applies, "violations": self.violations, "confidence": self.confidence, "confidence_low": low,
            "confidence_high": high, "base_rate": self.base_rate, "lift": self.lift, "pca_confidence": self.pca_confidence,
            "groundings": self.groundings, "verdict": self.verdict, "implied_by": list(self.implied_by),
            "contradicts": list(self.contradicts), "problem": self.problem, "violating_sql": self.sql,
        }  # fmt: skip


def _share(part: int | None, whole: int | None) -> float | None:
    return part / whole if part is not None and whole else None


def _all(cases: str) -> str:
    return f"the {cases}" if cases.startswith("1 ") else f"all {cases}"


# ---- the result ----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class RuleQuality:
    """What the data say of rules, the worst first.

    Parameters
    ----------
    table : Table
        A row for each rule, or for each clause of a template: hard ones that are violated first, then by the share of cases in which they are violated; last
        those that could not be counted, with the `problem`.
    pairs : Table
        Pairs of rules: `kind` ("redundant": the `first` implies the `second`; "equal": they are the same; "contradictory": the same
        body, and heads of which one is the negation of the other), with their numbers and texts.
    run : int or None
        The number of the run whose rows `sqlrl.rule_quality` has; None where nothing could be kept.

    Examples
    --------
    >>> import sqlrl
    >>> db = sqlrl.connect()
    >>> db.load("Bird", [("tweety",), ("pingu",), ("polly",)], types=["animal"])
    >>> db.load("Flies", [("tweety",), ("polly",)], types=["animal"])
    >>> print(db.diagnose("Bird(x) => Flies(x)"))
    Bird(x) => Flies(x): violated in 1 of 3 cases where it applies (33 %); of all 3 animals 67 % satisfy Flies(x); no better than chance
    """

    table: Table
    pairs: Table
    run: int | None = None
    _lines: tuple[str, ...] = field(default=(), repr=False)

    @property
    def problems(self) -> Table:
        """The rules that could not be counted: `rule`, `line`, `text` and `problem`."""
        rows = self.table.to_arrow()
        kept = rows.filter(pc.is_valid(rows.column("problem")))
        return Table(kept.select(["rule", "line", "text", "problem"]), title="rules that were not counted")

    def summary(self) -> Table:
        """Return a row for each rule with the verdict: `rule`, `text`, `verdict`, and `line` where rules have one."""
        rows = self.table.to_arrow()
        names = ["rule", "text", "verdict"]
        if rows.column("line").null_count < len(rows):
            names.insert(1, "line")
        return Table(rows.select(names), title="rule quality")

    def __str__(self) -> str:
        """Return the verdict on each rule; of many those on the worst."""
        more = len(self._lines) - SHOWN
        rest = [f"… {more:,} more in .table"] if more > 0 else []
        return "\n".join([*self._lines[:SHOWN], *rest]) or "there are no rules"

    def __repr__(self) -> str:
        return str(self)

    def __len__(self) -> int:
        return len(self.table)

    def _repr_html_(self) -> str:
        found: str = self.table._repr_html_()
        return markup.preformatted(str(self)) + found


def rule_quality(judged: Iterable[JudgedRule], pairs: pa.Table, run: int | None = None) -> RuleQuality:
    """Return judged rules as a result, in the order in which they are to be looked at."""
    ordered = sorted(judged, key=lambda each: each.order)
    lines = tuple(f"{each.text}: {each.verdict}" for each in ordered)
    table = quality_table([each.row() for each in ordered])
    return RuleQuality(Table(table, title="rule quality"), Table(pairs, title="pairs of rules"), run, lines)


def quality_table(rows: Sequence[Mapping[str, object]]) -> pa.Table:
    """Return rows as a table, whose counts are int64 if all of them fit."""
    counts = [name for name in QUALITY_SCHEMA.names if QUALITY_SCHEMA.field(name).type == COUNT]
    fits = all(row[name] is None or int(str(row[name])) < 2**63 for row in rows for name in counts)
    schema = pa.schema([pa.field(f.name, pa.int64()) if fits and f.name in counts else f for f in QUALITY_SCHEMA])
    return pa.Table.from_pylist(list(rows), schema)
