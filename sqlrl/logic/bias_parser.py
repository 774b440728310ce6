"""The parser of Aleph's mode files: modes, determinations and settings, with errors that point at the text."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, cast

from sqlrl.errors import BiasWarning, Parameter, ParseError, Phrase, warn
from sqlrl.logic.bias import KINDS, Bias, BiasMode, ModePlace, Setting
from sqlrl.logic.lexer import END, NAME, NUMBER, STRING, SourceText, Token, check_text, nearest, read_text
from sqlrl.logic.limits import LONGEST_NUMBER
from sqlrl.logic.prolog import STOP, PrologParser
from sqlrl.wording import counted

EVALUATIONS = ("coverage", "compression", "accuracy", "laplace", "mestimate", "auto_m")
"""Values of the setting `evalfn` that sqlrl has, by Aleph's names."""


def _whole(least: int) -> Callable[[Setting], str]:
    expected = f"an integer of {least} or more"
    return lambda value: "" if type(value) is int and value >= least else expected


def _real(least: float, most: float, expected: str) -> Callable[[Setting], str]:
    def wrong(value: Setting) -> str:
        """Return what is expected in place of a value, nothing if that is right."""
        number = isinstance(value, int | float) and not isinstance(value, bool)
        return "" if number and least <= float(cast("float", value)) <= most else expected

    return wrong


_EFFECTIVE: Mapping[str, Callable[[Setting], str]] = {
    "i": _whole(1),
    "clauselength": _whole(1),
    "minpos": _whole(1),
    "noise": _whole(0),
    "nodes": _whole(1),
    "evalfn": lambda value: "" if value in EVALUATIONS else f"one of {', '.join(EVALUATIONS)}",
    "minscore": _real(-math.inf, math.inf, "a number"),
    "minacc": _real(0, 1, "a number from 0 to 1"),
    "m": _real(0, math.inf, "a number of 0 or more"),
}
_TALK = ("verbosity", "interactive", "print", "prettyprint", "portray_examples", "portray_hypothesis",
         "portray_literals", "portray_search", "record", "recordfile")  # fmt: skip
_PLUMBING = ("aleph", "use_module", "ensure_loaded", "style_check", "dynamic", "discontiguous", "multifile")
"""Directives that load Aleph itself or tell Prolog how to read a file, and say nothing about clauses."""

_IDLE = (
    *("use_rendering", "set_prolog_flag", "module", "initialization", "license", "encoding", "expects_dialect", "set_stream"),
    *("meta_predicate", "thread_local", "volatile", "public", "table", "noprofile", "garbage_collect", "halt", "nl", "write", "format"),
    *("aleph_read_all", "read_all", "induce", "induce_tree", "induce_max", "induce_cover", "induce_incremental", "induce_clauses"),
    *("induce_theory", "induce_modes", "induce_features", "induce_constraints", "sat", "reduce", "show", "write_rules", "man"),
)  # fmt: skip
"""Others, which are directives only behind `:-`: what SWI's files begin with, and calls that run Aleph."""

_FOREIGN = (
    *("commutative", "symmetric", "lazy_evaluate", "positive_only", "abducible", "model", "random", "noset"),
    *("rdhyp", "addhyp", "addhyp_i", "sphyp", "sphyp_i", "rmhyp", "rmhyp_i", "addgcws", "addgcws_i"),
    *("consult", "include", "load_files", "op"),
)  # fmt: skip
"""Directives that change what Aleph learns, or what a file says, and that sqlrl does not have."""

_NEVER = ("false", "fail")
"""Conditions that never hold."""

_SECTION = re.compile(
    r"""%[^\n]*|/\*(?s:.*?)\*/|'(?:[^'\\\n]++|''|\\[^\n])*+'|"(?:[^"\\\n]++|\\[^\n])*+"|:-\s*begin_(?P<name>bg|in_pos|in_neg|in)\s*\.(?=[\s%]|\Z)"""
)
_DIRECTIVES = ("modeh", "modeb", "mode", "determination", "set", "aleph_set")
_SETTING = ("set", "aleph_set")
_ITEM = "each setting of a list is i(2) or i = 2"


def parse_bias(text: str, *, source: str = "<text>", target: str | None = None) -> Bias:
    r"""Parse Aleph's mode declarations, determinations and settings.

    Each is a directive, with or without its `:-`, and ends with a full stop; `%` and `/* */` mark comments. `mode(...)`
    declares the head's mode where its predicate is the first argument of a determination, else a body's.

    Files for SWI-Prolog are read: what has no effect on clauses is skipped, such as `:- use_rendering(prolog)`, and what has one is named in a
    warning. Between `:- if(...)` and `:- endif` the first branch counts, unless its condition is `false` or `fail`. Facts and examples
    (`:- begin_bg`, `:- begin_in_pos`, `:- begin_in_neg`) are left out.

    Parameters
    ----------
    text : str
    source : str
        The file, or a name for the text, in errors.
    target : str, optional
        The predicate to learn, where the text has modes for several heads.

    Returns
    -------
    Bias
        With the determinations of the target applied: body modes without one stand in `unused`.

    Raises
    ------
    ParseError
        The text does not parse; no head, several heads without `target`, or none for it; no body mode; a recall below 1;
        a place without a type; a determination for a predicate without a mode; determinations, but none for the target;
        a setting whose value is none of its values. The message shows the line with a caret.

    Warns
    -----
    BiasWarning
        By name: settings that sqlrl does not know, directives of Aleph's that it does not follow, facts and examples, conditions that decide
        about a directive, and body modes without a determination for any head.

    Examples
    --------
    >>> bias = parse_bias(":- modeh(1, great(+a,+a)).  % target\n:- modeb(*, x_subst(+a,-n,#b)).\n:- aleph_set(i, 2).")
    >>> str(bias.body[0]), dict(bias.settings)
    ('*, x_subst(+a,-n,#b)', {'i': 2})
    >>> parse_bias(":- modeh(1, great(+a,+a)).\n:- modeb(0, size(+a,-b)).")
    Traceback (most recent call last):
        ...
    sqlrl.errors.ParseError: <text>:2:10: the recall is 0: expected 1 or more, or '*' for no limit
      :- modeb(0, size(+a,-b)).
               ^
    """
    check_text(text, "a bias", "read files with read_bias")
    sections = _Sections(text, source)
    parser = _BiasParser(SourceText(sections.without, source))
    bias = parser.read(target)
    for problem in (sections.told(), *parser.told()):
        if problem:
            warn(f"{source}: {problem}", BiasWarning)
    if bias.unknown:
        named = ", ".join(bias.unknown)
        what = "this setting" if len(bias.unknown) == 1 else "these settings"
        warn(f"{source}: sqlrl does not know {what} of Aleph, so it has no effect here: {named}", BiasWarning)
    idle = {mode.predicate: mode for mode in bias.unused if mode.predicate not in parser.determined}
    if idle:
        example = f"determination({_signature(bias.head)}, {_signature(next(iter(idle.values())))})"
        problem = f"modes without a determination are left out ({', '.join(idle)})"
        warn(f"{source}: {problem}: add one, as in {example}", BiasWarning)
    return bias


def read_bias(path: str | Path, *, target: str | None = None) -> Bias:
    r"""Read a mode file of Aleph's.

    Parameters
    ----------
    path : str or Path
    target : str, optional
        The predicate to learn, where the file has modes for several heads.

    Returns
    -------
    Bias

    Raises
    ------
    ParseError
        As in `parse_bias`; also for a missing file.

    Warns
    -----
    BiasWarning
        As in `parse_bias`.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "great.modes").write_text(":- modeh(1, p(+a)).\n:- modeb(*, q(+a)).\n")
    ...     print(read_bias(Path(folder, "great.modes")), end="")
    :- modeh(1, p(+a)).
    :- modeb(*, q(+a)).
    """
    return parse_bias(read_text(path, parse="sqlrl.parse_bias"), source=str(path), target=target)


class _Sections:
    """The sections of facts and examples of a text for SWI-Prolog, and the text with blanks in their place."""

    def __init__(self, text: str, path: str) -> None:
        self.without = ""
        self._found: list[str] = []
        offset, source = 0, SourceText(text, path)
        while match := _SECTION.search(text, offset):
            end = match.end()
            if match["name"]:
                # What stands inside is Prolog, of which the lexer of modes need not know all.
                last = re.compile(rf":-\s*end_{match['name']}\s*\.(?=[\s%]|\Z)").search(text, end)
                if last is None:
                    problem = f"this section does not end: expected ':- end_{match['name']}.'"
                    raise source.error(ParseError, problem, match.start())
                end = last.end()
                self.without += text[offset : match.start()]
                self.without += "".join(c if c == "\n" else " " for c in text[match.start() : end])
                self._found.append(f"begin_{match['name']} in line {source.position(match.start())[0]}")
            else:
                self.without += text[offset:end]
            offset = end
        self.without += text[offset:]

    def told(self) -> str:
        """Return what is not read; nothing if that is nothing."""
        if not self._found:
            return ""
        remedy = f"load facts with {Phrase('db.load')} and write rules with {Phrase('db.define')}"
        return f"the facts and examples of the file are not read here ({', '.join(self._found)}): {remedy}"


@dataclass(slots=True)
class _Branch:
    """What stands between `:- if(...)` and `:- endif`."""

    start: Token
    counts: bool = True  # whether the branch that is being read does
    counted: bool = False  # whether one has
    conditions: list[str] = field(default_factory=list)  # those that only Prolog can evaluate
    decides: list[int] = field(default_factory=list)  # lines of directives


def _signature(mode: BiasMode) -> str:
    return f"{mode.predicate}/{mode.arity}"


@dataclass(frozen=True, slots=True)
class _Indicator:
    """A predicate as `name/arity` in a determination."""

    name: str
    arity: int
    token: Token

    def __str__(self) -> str:
        return f"{self.name}/{self.arity}"


@dataclass(frozen=True, slots=True)
class _Declared:
    """A mode and the token of its predicate."""

    mode: BiasMode
    token: Token


class _BiasParser(PrologParser):
    """Reads the directives of one text."""

    def __init__(self, source: SourceText) -> None:
        super().__init__(source)
        self._heads: list[_Declared] = []
        self._bodies: list[_Declared] = []
        self._either: list[_Declared] = []
        # By the list of a mode, its predicate and its places.
        self._modes: dict[tuple[int, str, tuple[ModePlace, ...]], BiasMode] = {}
        self._determinations: list[tuple[_Indicator, _Indicator]] = []
        self._settings: dict[str, tuple[Setting, Token]] = {}
        self._foreign: list[str] = []
        self._branches: list[_Branch] = []
        self._conditions: list[str] = []

    def read(self, target: str | None) -> Bias:
        """Read all directives and put those of the target together."""
        while self.token.kind != END:
            self._directive()
        if self._branches:
            raise self.fault("this ':- if' does not end: expected ':- endif.'", self._branches[-1].start)
        heads = {head.name for head, _ in self._determinations}
        for declared in self._either:
            (self._heads if declared.mode.predicate in heads else self._bodies).append(declared)
        self._check_arities()
        head = self._head(target)
        if not self._bodies:
            raise ParseError(
                "there is no modeb: expected modes of body literals, as modeb(*, q(+a,-b))", path=self.source.path
            )
        used, unused = self._determined(head)
        values = {name: value for name, (value, _) in self._settings.items()}
        # No setting of these is a list.
        known = {
            name: value
            for name, value in values.items()
            if (name in _EFFECTIVE or name in _TALK) and not isinstance(value, tuple)
        }
        unknown = {name: value for name, value in values.items() if name not in known}
        return Bias(head.mode, used, known, unused, unknown, self.source.path)

    @property
    def determined(self) -> set[str]:
        """The body predicates of all determinations."""
        return {body.name for _, body in self._determinations}

    # ---- directives -----------------------------------------------------------------------------------------

    def _directive(self) -> None:
        arrow = self.accept(":-")
        if self.at("?"):
            # A goal to run.
            self._skip()
            return
        start = self.token
        if arrow and self.at("["):
            self._note_foreign("[...]", start)
            self._skip()
            return
        if start.kind == NAME and start.text in ("if", "elif", "else", "endif"):
            self._branch(start.text)
            return
        idle = self._goal(arrow)
        while self.accept(","):
            # What Prolog does behind a goal without effect has none either, unless it is a directive of Aleph's.
            if idle and self.token.text not in (*_DIRECTIVES, *_FOREIGN):
                self._skip_goal()
            else:
                self._goal(arrow)
        self.stop()

    def _goal(self, arrow: bool) -> bool:
        """Read one goal of a directive, which may have several between commas; return whether it has no effect."""
        start = self.token
        if start.kind != NAME:
            raise self.unexpected("a directive, as ':- modeb(*, q(+a,-b)).'")
        kind = start.text
        idle = kind in _PLUMBING or (arrow and kind in _IDLE)
        if left := next((branch for branch in reversed(self._branches) if not branch.counts), None):
            if kind in _DIRECTIVES:
                left.decides.append(self.source.line(start))
            self._skip_goal()
        elif idle:
            self._skip_goal()
        elif arrow and kind in _FOREIGN:
            self._note_foreign(kind, start)
            self._skip_goal()
        else:
            self.take()
            self._effective(kind, start)
        return idle

    def _effective(self, kind: str, start: Token) -> None:
        """Read a goal that says something about clauses."""
        if kind not in _DIRECTIVES:
            hint = nearest(kind, _DIRECTIVES) or f": expected one of {', '.join(_DIRECTIVES)}"
            facts = (
                ""
                if hint.startswith(";")
                else f"; load facts with {Phrase('db.load')} and write rules with {Phrase('db.define')}"
            )
            raise self.fault(f"there is no directive {kind!r}{hint}{facts}", start)
        for branch in self._branches:
            branch.decides.append(self.source.line(start))
        self.expect("(")
        if kind == "determination":
            first = self._indicator()
            self.expect(",", " and the predicate that may stand in a body")
            self._determinations.append((first, self._indicator()))
        elif kind in _SETTING:
            if self.at("["):
                self._settings_list()
            else:
                self._setting()
        else:
            into = {"modeh": self._heads, "modeb": self._bodies, "mode": self._either}[kind]
            self._mode(into)
        self.expect(")")

    def _note_foreign(self, kind: str, start: Token) -> None:
        if all(branch.counts for branch in self._branches):
            self._foreign.append(f"{kind} in line {self.source.line(start)}")

    def _branch(self, kind: str) -> None:
        """Read `if`, `elif`, `else` or `endif`."""
        start = self.take()
        inside = self.token.start
        self._skip()
        # In its parentheses.
        condition = self.source.text[inside : self.tokens[self.position - 1].start].strip()[1:-1].strip()
        if kind == "if":
            self._branches.append(_Branch(start))
        if not self._branches:
            raise self.fault(f"':- {kind}' has no ':- if' before it", start)
        branch = self._branches[-1]
        if kind != "endif":
            branch.counts = not branch.counted and condition not in _NEVER
            if not branch.counted and condition not in (*_NEVER, "true", ""):
                branch.conditions.append(condition)
            branch.counted |= branch.counts
            return
        self._branches.pop()
        if branch.decides and branch.conditions:
            lines = ", ".join(map(str, branch.decides))
            self._conditions.append(
                f"{' and '.join(branch.conditions)} in line {self.source.line(branch.start)} decides about line {lines}"
            )

    def told(self) -> Iterator[str]:
        """Yield what of the text is not followed."""
        if self._foreign:
            yield f"sqlrl does not follow all directives of Aleph and Prolog, so that these have no effect here: {', '.join(self._foreign)}"
        if self._conditions:
            yield f"conditions of Prolog are not evaluated, and the first branch is read: {'; '.join(self._conditions)}"

    def _skip(self) -> None:
        while self.token.kind not in (STOP, END):
            self.take()
        self.stop()

    def _skip_goal(self) -> None:
        """Step over a goal: up to a comma outside of brackets, or to the end where its name is an operator, as in `dynamic p/1, q/2`."""
        name = self.take()
        operator = (
            self.token.kind not in (STOP, END)
            and not self.at(",")
            and (not self.at("(") or self.token.start > name.end)
        )
        depth = 0
        while self.token.kind not in (STOP, END) and (operator or depth > 0 or not self.at(",")):
            depth += self.at("(", "[", "{") - self.at(")", "]", "}")
            self.take()

    def _mode(self, into: list[_Declared]) -> None:
        recall = self._recall()
        self.expect(",", " after the recall")
        name = self.name("the name of a predicate")
        places: list[ModePlace] = []
        if self.accept("("):
            places.append(self._place())
            while self.accept(","):
                places.append(self._place())
            self.expect(")", " or ','")
        mode = BiasMode(name.text, tuple(places), recall, self.source.line(name))
        key = (id(into), mode.predicate, mode.places)
        same = self._modes.setdefault(key, mode)
        if same is mode:
            into.append(_Declared(mode, name))
        elif same != mode:
            raise self.fault(f"line {same.line} has this mode with another recall: expected one of the two", name)

    def _recall(self) -> int | None:
        if self.accept("*"):
            return None
        start = self.token
        minus = "-" if self.accept("-") else ""
        if self.token.kind != NUMBER or not self.token.text.isdecimal():
            raise self.unexpected("the recall, an integer of 1 or more or '*'")
        text = minus + self.take().text
        if len(text) > LONGEST_NUMBER:
            raise self.fault(f"the recall is too large: expected at most {LONGEST_NUMBER} digits, or '*'", start)
        if int(text) < 1:
            raise self.fault(f"the recall is {int(text)}: expected 1 or more, or '*' for no limit", start)
        return int(text)

    def _place(self) -> ModePlace:
        if not self.at(*KINDS):
            raise self.unexpected("'+type' (input), '-type' (output) or '#type' (a constant)")
        kind = self.take()
        if self.token.kind not in (NAME, STRING) or not self.token.text:
            raise self.fault(f"the place '{kind.text}' has no type: expected a name after it, as {kind.text}drug", kind)
        return ModePlace(cast('Literal["+", "-", "#"]', kind.text), self.take().text)

    def _indicator(self) -> _Indicator:
        name = self.name("the name of a predicate with its number of arguments, as great/2")
        self.expect("/", " and the number of arguments")
        if self.token.kind != NUMBER or not self.token.text.isdecimal() or len(self.token.text) > LONGEST_NUMBER:
            raise self.unexpected("the number of arguments")
        return _Indicator(name.text, int(self.take().text), name)

    def _settings_list(self) -> None:
        """Read a list of settings, as `[i(2), noise = 10]`."""
        self.take()
        while not self.at("]"):
            name = self.name(_ITEM)
            if name.text in _SETTING and self.at("("):
                self.take()
                self._setting()
                self.expect(")")
            elif self.accept("("):
                self._set(name)
                self.expect(")", f": {_ITEM}")
            elif self.at("=", "-", ":"):
                self.take()
                self._set(name)
            else:
                raise self.unexpected(f"the value of {name.text}: {_ITEM}")
            if not self.at("]"):
                self.expect(",", " or ']'")
        self.take()

    def _setting(self) -> None:
        """Read a setting, `i, 2`."""
        name = self.name("the name of a setting")
        self.expect(",", " and the value")
        self._set(name)

    def _set(self, name: Token) -> None:
        """Read the value of a setting."""
        where = self.token
        value = self._list() if self.at("[") else self._value()
        shown = self.source.text[where.start : self.tokens[self.position - 1].end]
        if name.text in _EFFECTIVE and isinstance(value, tuple):
            one = next((each for each in value if not _EFFECTIVE[name.text](each)), None) if len(value) == 1 else None
            more = "" if one is None else f", as set({name.text},{one})"
            raise self.fault(f"{name.text} is {shown}: expected one value without brackets{more}", where)
        expected = _EFFECTIVE[name.text](value) if name.text in _EFFECTIVE else ""
        if expected:
            raise self.fault(f"{name.text} is {shown}: expected {expected}", where)
        first = self._settings.setdefault(name.text, (value, name))
        if first[0] != value:
            line = self.source.line(first[1])
            raise self.fault(f"line {line} sets {name.text} to {first[0]}: expected one value", where)

    def _list(self) -> Setting:
        """Read a list of values."""
        self.take()
        found: list[Setting] = []
        while not self.at("]"):
            found.append(self._list() if self.at("[") else self._value())
            if not self.at("]"):
                self.expect(",", " or ']'")
        self.take()
        return tuple(found)

    def _value(self) -> Setting:
        """Read a number, a name or a quoted name; true and false are booleans, inf is a number."""
        sign = self.take().text if self.at("-", "+") else ""
        token = self.token
        if token.kind == NUMBER:
            text = sign + self.take().text
            return int(text) if text.lstrip("+-").isdecimal() and len(text) <= 18 else float(text)
        if token.kind in (NAME, STRING) and token.text in ("inf", "infinite"):
            self.take()
            return -math.inf if sign == "-" else math.inf
        if sign or token.kind not in (NAME, STRING):
            raise self.unexpected("the value of a setting: a number or a name")
        self.take()
        return {"true": True, "false": False}.get(token.text, token.text)

    # ---- what belongs together --------------------------------------------------------------------------------

    def _check_arities(self) -> None:
        arities: dict[str, BiasMode] = {}
        for declared in [*self._heads, *self._bodies]:
            first = arities.setdefault(declared.mode.predicate, declared.mode)
            if first.arity != declared.mode.arity:
                has = f"has {counted(declared.mode.arity, 'place')} here and {first.arity} in line {first.line}"
                problem = f"{declared.mode.predicate} {has}: a predicate has one number of arguments"
                raise self.fault(problem, declared.token)

    def _head(self, target: str | None) -> _Declared:
        names = list(dict.fromkeys(declared.mode.predicate for declared in self._heads))
        if not names:
            problem = "there is no modeh: expected the mode of the predicate to learn, as modeh(1, great(+a,+a))"
            if self._bodies:
                raise self.fault(problem, self._bodies[0].token)
            raise ParseError(problem, path=self.source.path)
        if target is not None and target not in names:
            hint = nearest(target, names) or f": expected one of {', '.join(names)}"
            raise ParseError(f"there is no modeh of the target {target!r}{hint}", path=self.source.path)
        if target is None and len(names) > 1:
            second = next(d for d in self._heads if d.mode.predicate != names[0])
            choose = f"choose the predicate to learn, as {Parameter('target', names[0])}"
            raise self.fault(f"there are modes for {len(names)} heads ({', '.join(names)}): {choose}", second.token)
        chosen = [d for d in self._heads if d.mode.predicate == (target or names[0])]
        if len(chosen) > 1:
            problem = f"{chosen[1].mode.predicate} has another modeh in line {chosen[0].mode.line}: expected one for the target"
            raise self.fault(problem, chosen[1].token)
        return chosen[0]

    def _determined(self, head: _Declared) -> tuple[tuple[BiasMode, ...], tuple[BiasMode, ...]]:
        """Return the body modes that the target's determinations allow, and the rest."""
        arities = {d.mode.predicate: d.mode.arity for d in [*self._heads, *self._bodies]}
        for indicator in (i for pair in self._determinations for i in pair):
            if indicator.name not in arities:
                hint = nearest(indicator.name, arities) or ": declare one, or leave the determination out"
                raise self.fault(f"{indicator} has a determination, but no mode{hint}", indicator.token)
            if arities[indicator.name] != indicator.arity:
                has = counted(arities[indicator.name], "place")
                problem = f"the mode of {indicator.name} has {has}: expected {indicator.name}/{arities[indicator.name]}"
                raise self.fault(problem, indicator.token)
        modes = tuple(d.mode for d in self._bodies)
        if not self._determinations:
            return modes, ()
        allowed = {body.name for target, body in self._determinations if target.name == head.mode.predicate}
        used = tuple(mode for mode in modes if mode.predicate in allowed)
        if not used:
            first = _signature(modes[0])
            problem = (
                f"no determination lets a predicate with a modeb into bodies of {_signature(head.mode)}: expected some, "
                f"as determination({_signature(head.mode)}, {first}), or no determinations at all"
            )
            raise self.fault(problem, head.token)
        return used, tuple(mode for mode in modes if mode.predicate not in allowed)
