"""Grammars for declarative bias: templates with the symbols that they use, expanded to candidates.

Source: Mihalkova and Moustafa, "Structure Selection from Streaming Relational Data" (2011), section 4.1. `logic.grammar_parser` reads
the files, `logic.candidates` lists the conjunctions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from sqlrl import markup
from sqlrl.errors import ModelError
from sqlrl.logic.candidates import Candidate, TemplateListing
from sqlrl.logic.conjunctions import fault, format_part
from sqlrl.logic.databases import Learns, OpenedDatabase
from sqlrl.logic.limits import MOST_CANDIDATES
from sqlrl.logic.model import Model
from sqlrl.logic.templates import (
    Expansion,
    Symbol,
    Template,
)
from sqlrl.logic.terms import Atom, BothSigns, Constant, EqualityLiteral, Literal
from sqlrl.wording import counted, shortened

_Value = TypeVar("_Value")
_Listed_co = TypeVar("_Listed_co", covariant=True)


class _Lister(Protocol[_Listed_co]):
    def candidates(self, templates: Grammar, model: Model, *, limit: int) -> _Listed_co: ...


@dataclass(frozen=True, init=False)
class Grammar:
    r"""A language of conjunctions that a learner chooses from: templates, and the symbols in them.

    Parameters
    ----------
    symbols : iterable of Symbol
    templates : iterable of str or Template
        As text or as values.
    path : str
        The file, or a name for the text. Not part of equality.

    Raises
    ------
    ModelError
        No template, a symbol that is defined twice, has another number of variables in a template than in its definition, is
        negated there, or stands in an expansion of a symbol.

    Examples
    --------
    >>> from sqlrl import Grammar, Symbol, parse_mln
    >>> near = Symbol("NEAR", ("v", "w"), ["friends", "likes(v, a) ^ likes(w, a)"])
    >>> grammar = Grammar([near], ["NEAR(v, w) ^ smokes(v) ^ smokes(w)"])
    >>> model = parse_mln("friends(person, person)\nlikes(person, artist)\nsmokes(person)")
    >>> for candidate in grammar.expand(model, ["smokes"]):
    ...     print(candidate)
    friends(v, w) ^ smokes(v) ^ smokes(w)
    likes(v, a) ^ likes(w, a) ^ smokes(v) ^ smokes(w)
    """

    symbols: tuple[Symbol, ...]
    templates: tuple[Template, ...]
    path: str = field(compare=False)
    _repr_html_ = markup.field_table

    def __init__(self, symbols: Iterable[Symbol], templates: Iterable[str | Template], path: str = "<text>") -> None:
        object.__setattr__(self, "path", path)
        object.__setattr__(self, "symbols", _several(symbols, Symbol, "symbols", "sqlrl.Symbol"))
        given: object = templates
        if not isinstance(given, str) and isinstance(given, Iterable):
            given = [Template(each) if isinstance(each, str) else each for each in given]
        object.__setattr__(self, "templates", _several(given, Template, "templates", "their texts"))
        self._check()

    def _check(self) -> None:
        if not self.templates:
            raise ModelError(f"{self.path}: the grammar has no template: expected some, as CENTRE(v) ^ cFriends(v)")
        symbols: dict[str, Symbol] = {}
        for symbol in self.symbols:
            first = symbols.setdefault(symbol.name, symbol)
            if first is not symbol:
                at = f" in line {first.line}" if first.line else ""
                raise fault(f"{symbol.name} is defined already{at}: give one of the two another name", symbol.place)
        for symbol in self.symbols:
            for expansion in symbol.expansions:
                _refuse_symbols(symbol, expansion, symbols)
        for template in self.templates:
            for number in range(len(template.parts)):
                _check_call(template, number, symbols)

    def __str__(self) -> str:
        """Return the grammar as text; it parses to an equal one."""
        blocks = ["\n".join(map(str, block)) for block in (self.symbols, self.templates) if block]
        return "\n\n".join(blocks) + "\n"

    def __repr__(self) -> str:
        """Return the call that makes it."""
        return f"parse_grammar({str(self)!r})"

    def count(self, model: Model, targets: str | Iterable[str]) -> int:
        r"""Return how many candidates the templates have, before those that say the same are merged.

        Nothing is expanded for that.

        Parameters
        ----------
        model : Model
            The declarations.
        targets : iterable of str
            The predicates to predict; a single one may stand alone.

        Returns
        -------
        int

        Raises
        ------
        ModelError
            As in `expand`, except for what is said there of limit and variables.

        Examples
        --------
        >>> from sqlrl import parse_grammar, parse_mln
        >>> grammar = parse_grammar("ANY(x) = {p(x), q(x), r(x)} compounder 2\nANY(x) ^ [!]t(x)")
        >>> grammar.count(parse_mln("p(a)\nq(a)\nr(a)\nt(a)"), "t")
        12
        """
        return TemplateListing(self.symbols, self.templates, model, targets).count()

    def candidates(
        self, db: OpenedDatabase[Learns[_Lister[_Listed_co]]], model: Model, *, limit: int = MOST_CANDIDATES
    ) -> _Listed_co:
        r"""List the candidates of these templates on the data of a database, with the query that counts the labels which each of them selects.

        Candidates that differ in names of predicates and in constants alone share a query.

        Parameters
        ----------
        db : Database
        model : Model
            Its declarations.
        limit : int
            The most candidates that there may be.

        Returns
        -------
        Table
            `candidate` (from 0), `template`, `formula`, `groundings` (how many its joins enumerate at the most, over all examples, before
            what can be is aggregated), `sql`.

        Raises
        ------
        ModelError
            A template does not fit the declarations, or its predicates do not fit the data; there are more candidates than `limit`.

        Examples
        --------
        >>> import sqlrl
        >>> db = sqlrl.connect()
        >>> db.load("Friends", [("Ann", "Bob"), ("Bob", "Cid")], types=["person", "person"])
        >>> db.load("Smokes", [("Ann",)], types=["person"], target=True)
        >>> templates = sqlrl.parse_grammar("NEAR(x, y) = {Friends} extender 2\nNEAR(x, y) ^ Smokes(x) ^ Smokes(y)")
        >>> found = templates.candidates(db, sqlrl.parse_mln("Friends(person, person)\nSmokes(person)"))
        >>> [(row["formula"], row["groundings"]) for row in found.to_arrow().to_pylist()]
        [('Friends(x, y) ^ Smokes(x) ^ Smokes(y)', 2), ('Friends(x, z) ^ Friends(z, y) ^ Smokes(x) ^ Smokes(y)', 1)]
        """
        return db.advanced.learning.candidates(self, model, limit=limit)

    def expand(
        self, model: Model, targets: str | Iterable[str], *, limit: int = MOST_CANDIDATES
    ) -> tuple[Candidate, ...]:
        r"""Return the conjunctions that the templates stand for.

        Those that are the same up to the names of variables and the order of literals are one, the first of them. The order is
        that of the templates and, in each, of its symbols' expansions: the last part of a template changes first, shorter
        compounds and chains come before longer ones, and `[!]` is at first no negation.

        Parameters
        ----------
        model : Model
            The declarations.
        targets : iterable of str
            The predicates to predict; a single one may stand alone. Their literals are the enforcer of a candidate, all others
            its selector.
        limit : int
            How many candidates there may be, before those that say the same are merged.

        Returns
        -------
        tuple of Candidate

        Raises
        ------
        ModelError
            A predicate that the model does not declare, or a symbol that is one; a wrong number of arguments; an expansion whose
            variable has another type than elsewhere in a template; a constant that its type does not list; a literal of a
            target in an expansion; a template without one, or with two of the same atom; `[!]` before evidence; more
            candidates than `limit`, with the symbol that has most of them; a variable of the enforcer, of a negated literal or
            of an equality that no positive literal of the evidence has (a template without evidence is a prior, whose variables
            range over the query atoms); an expansion of an extender that fits into no chain.

        Examples
        --------
        >>> from sqlrl import parse_grammar, parse_mln
        >>> grammar = parse_grammar(
        ...     "NEAR(x, y) = {friends, likes(x, a) ^ likes(y, a)} extender 2\nNEAR(x, y) ^ t(x) ^ t(y)"
        ... )
        >>> model = parse_mln("friends(person, person)\nlikes(person, artist)\nt(person)")
        >>> for candidate in grammar.expand(model, "t"):
        ...     print(candidate)
        friends(x, y) ^ t(x) ^ t(y)
        likes(x, a) ^ likes(y, a) ^ t(x) ^ t(y)
        friends(x, z) ^ friends(z, y) ^ t(x) ^ t(y)
        friends(x, z) ^ likes(z, a) ^ likes(y, a) ^ t(x) ^ t(y)
        likes(x, a) ^ likes(z, a) ^ friends(z, y) ^ t(x) ^ t(y)
        likes(x, a) ^ likes(z, a) ^ likes(z, a2) ^ likes(y, a2) ^ t(x) ^ t(y)
        """
        return TemplateListing(self.symbols, self.templates, model, targets).expand(limit)


def _several(given: object, kind: type[_Value], name: str, instead: str) -> tuple[_Value, ...]:
    """Return what a grammar was given of a kind; an error if it is something else."""
    found = tuple(given) if isinstance(given, Iterable) and not isinstance(given, str) else None
    if found is None or not all(isinstance(each, kind) for each in found):
        raise ModelError(f"the {name} of a grammar are {shortened(repr(given))}: give a list of {instead}")
    return found


def _refuse_symbols(symbol: Symbol, expansion: Expansion, symbols: Mapping[str, Symbol]) -> None:
    for number, literal in enumerate(expansion.literals):
        if isinstance(literal, Literal) and literal.predicate in symbols:
            problem = (
                f"the symbol {literal.predicate} stands in an expansion of {symbol.name}: write its expansions there instead, or "
                "put both symbols into the templates"
            )
            raise fault(problem, expansion.place(number))


def _check_call(template: Template, number: int, symbols: Mapping[str, Symbol]) -> None:
    """Check a part of a template if it is a symbol."""
    part = template.parts[number]
    if isinstance(part, EqualityLiteral):
        return
    atom = part.atom if isinstance(part, BothSigns) else Atom(part.predicate, part.terms)
    symbol = symbols.get(atom.predicate)
    if symbol is None:
        return
    place = template.place(number)
    if isinstance(part, BothSigns) or not part.positive:
        problem = f"'{format_part(part)}' negates a symbol: write '!' into the expansions of {symbol.name}"
        raise fault(problem, place)
    if len(atom.terms) != len(symbol.variables):
        at = f" in line {symbol.line}" if symbol.line else ""
        problem = f"{symbol.name} has {counted(len(atom.terms), 'variable')} here, but is defined as {symbol.call}{at}"
        raise fault(problem, place)
    for term in atom.terms:
        if isinstance(term, Constant):
            problem = f"{symbol.name} has the constant {term}: write a variable x, and x = {term} beside it"
            raise fault(problem, place)
