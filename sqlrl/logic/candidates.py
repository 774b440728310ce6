"""The candidates of a grammar: its templates with symbols replaced by expansions, checked, counted and merged.

What a template stands for is a product: of the expansions of each of its symbols, and of the signs of each `[!]`. How many that
are is known before any is made, also of chains, of which only those count whose types fit.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations, pairwise, product
from math import comb, prod
from typing import TYPE_CHECKING

from sqlrl import markup
from sqlrl.arguments import predicate_names, refuse
from sqlrl.errors import InputError, ModelError, Parameter
from sqlrl.logic.conjunctions import TextPlace, fault, format_part, literal_of
from sqlrl.logic.isomorphism import Distinct
from sqlrl.logic.lexer import nearest
from sqlrl.logic.limits import LONGEST_CLAUSE
from sqlrl.logic.model import Model
from sqlrl.logic.printer import format_formula
from sqlrl.logic.terms import (
    And,
    Atom,
    BothSigns,
    Constant,
    Equal,
    EqualityLiteral,
    Formula,
    Implies,
    Literal,
    Not,
    Or,
    Term,
    Variable,
    terms_in,
)
from sqlrl.progress import staged
from sqlrl.wording import counted, shortened

if TYPE_CHECKING:
    from sqlrl.logic.templates import Expansion, Symbol, Template

    _Origin = tuple[Expansion | Template, int]

_BETWEEN = "z"
"""What the variables between the links of a chain are called."""

_LONGEST_WRITTEN = 10**15
"""Up to so many candidates a message has their number in digits."""

Evidence = Literal | EqualityLiteral


# ---- what comes out ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Candidate:
    """A conjunction that a learner may keep, split into evidence and literals of targets."""

    variables: tuple[tuple[str, str], ...]  # name and type of each, those of the enforcer first
    # The evidence, with the signs that must hold. Without any, the variables range over the query atoms: a prior.
    selector: tuple[Literal | EqualityLiteral, ...]
    enforcer: tuple[Literal, ...]  # the literals of targets, as written
    template: str  # the text of the template that it comes from
    _repr_html_ = markup.field_table

    @property
    def formula(self) -> Formula:
        """The conjunction: the literals of the selector, then those of the enforcer."""
        parts = tuple(map(literal_formula, (*self.selector, *self.enforcer)))
        return parts[0] if len(parts) == 1 else And(parts)

    def __str__(self) -> str:
        """Return the conjunction in Alchemy's language."""
        return format_formula(self.formula)


def _unordered(literal: Evidence) -> object:
    """Return what two literals share that say the same: `x != y` is `y != x`."""
    return literal if isinstance(literal, Literal) else (literal.positive, frozenset((literal.left, literal.right)))


def targets_of(candidates: Iterable[Candidate]) -> frozenset[str]:
    """Return the predicates that the literals of enforcers have."""
    return frozenset(x.predicate for each in candidates for x in each.enforcer)


def literal_formula(literal: Evidence) -> Formula:
    """Return a literal as a formula."""
    atom: Formula
    if isinstance(literal, EqualityLiteral):
        atom = Equal(literal.left, literal.right)
    else:
        atom = Atom(literal.predicate, literal.terms)
    return atom if literal.positive else Not(atom)


def clause_formula(literals: Sequence[Evidence]) -> Formula:
    """Return a clause as a formula."""
    parts = tuple(map(literal_formula, literals))
    return parts[0] if len(parts) == 1 else Or(parts)


def concluded(formula: Formula) -> tuple[Evidence, ...]:
    """Return the literals that an implication of literals concludes; none of any other formula."""
    if not isinstance(formula, Implies):
        return ()
    left, right = formula.left, formula.right
    body = [_plain(part) for part in (left.parts if isinstance(left, And) else (left,))]
    head = [_plain(part) for part in (right.parts if isinstance(right, Or) else (right,))]
    return () if None in (*body, *head) else tuple(literal for literal in head if literal is not None)


def implication(literals: Sequence[Evidence], concludes: Sequence[bool]) -> Formula:
    """Return a clause as an implication whose conclusion are the literals that are marked; as a disjunction if all are or none."""
    head = [each for each, marked in zip(literals, concludes, strict=True) if marked]
    body = tuple(
        literal_formula(replace(each, positive=not each.positive))
        for each, marked in zip(literals, concludes, strict=True)
        if not marked
    )
    if not head or not body:
        return clause_formula(literals)
    return Implies(body[0] if len(body) == 1 else And(body), clause_formula(head))


def _plain(formula: Formula) -> Evidence | None:
    """Return a formula that is a literal as one, None for others."""
    atom = formula.body if isinstance(formula, Not) else formula
    return literal_of(formula) if isinstance(atom, Atom | Equal) else None


# ---- types -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Use:
    """The type that a variable of a template has at one place; `what` is what stands there, with its line."""

    type: str
    what: str
    place: TextPlace


@dataclass(frozen=True, slots=True)
class _Site:
    """The uses of a variable at one argument of a part of a template, one for each type; `symbol` is None for a literal."""

    uses: tuple[_Use, ...]
    symbol: Symbol | None = None

    @property
    def chained(self) -> bool:
        """Whether chains whose type is another one can be left out."""
        return self.symbol is not None and self.symbol.kind == "extender"

    @property
    def free(self) -> bool:
        """Whether a candidate has one of the uses alone, so that each may have its type."""
        return self.symbol is not None and (self.symbol.kind != "compounder" or self.symbol.most == 1)


def _at(place: TextPlace) -> str:
    """Return in which line something stands; a text of one line was given by hand."""
    return f" in line {place.line}" if "\n" in place.source.text else ""


# ---- chains ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Chains:
    """The chains of up to `most` links from type `start` to type `end`, where None is any type."""

    links: tuple[tuple[str, str], ...]  # types of the first and second variable of each expansion
    most: int
    start: str | None
    end: str | None

    @cached_property
    def _ways(self) -> tuple[Mapping[str, int], ...]:
        """How many chains of 0, 1, ... links lead from each type to the end."""
        types = dict.fromkeys(kind for link in self.links for kind in link)
        ways = [{kind: int(self.end in (None, kind)) for kind in types}]
        for _ in range(self.most):
            longer = dict.fromkeys(types, 0)
            for first, second in self.links:
                longer[first] += ways[-1][second]
            ways.append(longer)
        return tuple(ways)

    def count(self) -> int:
        """Return how many there are."""
        return sum(
            number for ways in self._ways[1:] for kind, number in ways.items() if self.start in (None, kind)
        )  # fmt: skip

    def idle(self) -> int | None:
        """Return the first link that is in no chain."""
        before = self._steps({kind for kind, _ in self.links if self.start in (None, kind)}, self.links)
        behind = self._steps(
            {kind for _, kind in self.links if self.end in (None, kind)}, [(b, a) for a, b in self.links]
        )
        never = self.most
        for number, (first, second) in enumerate(self.links):
            if before.get(first, never) + 1 + behind.get(second, never) > self.most:
                return number
        return None

    @staticmethod
    def _steps(types: set[str], links: Iterable[tuple[str, str]]) -> dict[str, int]:
        """Return by how many links at least each type is reached from some."""
        found, reached, steps = dict.fromkeys(types, 0), types, 0
        links = list(links)
        while reached:
            steps += 1
            reached = {second for first, second in links if first in reached} - found.keys()
            found.update(dict.fromkeys(reached, steps))
        return found

    def __iter__(self) -> Iterator[tuple[int, ...]]:
        """Yield the links of each, shorter chains first, then in the order of the links."""
        for length in range(1, self.most + 1):
            yield from self._from(self.start, length)

    def _from(self, start: str | None, length: int) -> Iterator[tuple[int, ...]]:
        # Without recursion, since a chain of one expansion may be long; what cannot reach the end is not begun.
        stack: list[tuple[tuple[int, ...], str | None]] = [((), start)]
        while stack:
            chain, kind = stack.pop()
            left = length - len(chain)
            if not left:
                yield chain
                continue
            stack += [
                ((*chain, number), second)
                for number, (first, second) in reversed(list(enumerate(self.links)))
                if kind in (None, first) and self._ways[left - 1][second]
            ]


# ---- templates under a model -------------------------------------------------------------------------


class _Call:
    """A symbol where it stands in a template."""

    def __init__(self, symbol: Symbol, arguments: tuple[str, ...], links: tuple[tuple[str, str], ...]) -> None:
        self.symbol, self.arguments, self._links = symbol, arguments, links
        self.chains: _Chains | None = None

    def fit(self, types: Mapping[str, str]) -> None:
        """Take the types of the variables of the template; an error if an expansion is in no chain."""
        if self.symbol.kind != "extender":
            return
        start, end = (types.get(name) for name in self.arguments)
        self.chains = _Chains(self._links, self.symbol.most, start, end)
        idle = self.chains.idle()
        if idle is not None:
            expansion, (first, second) = self.symbol.expansions[idle], self._links[idle]
            wanted = " and ".join(f"{v} of type {t!r}" for v, t in zip(self.arguments, (start, end), strict=True) if t)
            problem = (
                f"the expansion '{expansion}' of {self.symbol.name}{_at(expansion.place())} leads from type {first!r} to type "
                f"{second!r} and fits into no chain of up to {self.symbol.most}, whose ends are {wanted} in the template: leave "
                "it out, or allow longer chains"
            )
            raise fault(problem, expansion.place())

    def count(self) -> int:
        """Return how many conjunctions it stands for."""
        size = len(self.symbol.expansions)
        if self.chains is not None:
            return self.chains.count()
        return sum(comb(size, k) for k in range(1, min(self.symbol.most, size) + 1))

    def choices(self) -> Iterator[tuple[int, ...]]:
        """Yield the expansions of each conjunction."""
        if self.chains is not None:
            yield from self.chains
            return
        size = len(self.symbol.expansions)
        for k in range(1, min(self.symbol.most, size) + 1):
            yield from combinations(range(size), k)

    def literals(self, choice: tuple[int, ...], names: _Names) -> Iterator[tuple[Evidence, _Origin]]:
        """Yield the literals of a conjunction, with what they come from."""
        variables = self.symbol.variables
        rows: Iterable[tuple[str, ...]] = (self.arguments for _ in choice)
        if self.chains is not None:
            first, last = self.arguments
            rows = pairwise([first, *(names.fresh(_BETWEEN) for _ in choice[1:]), last])
        for number, row in zip(choice, rows, strict=True):
            expansion = self.symbol.expansions[number]
            renamed = dict(zip(variables, row, strict=True))
            for name in expansion.variables():
                if name not in renamed:
                    renamed[name] = names.fresh(name)
            for k, literal in enumerate(expansion.literals):
                yield _renamed(literal, renamed), (expansion, k)

    def longest(self) -> int:
        """Return the most literals that a conjunction may have."""
        sizes = sorted((len(expansion.literals) for expansion in self.symbol.expansions), reverse=True)
        return sizes[0] * self.symbol.most if self.chains is not None else sum(sizes[: self.symbol.most])


def _place(origin: _Origin) -> TextPlace:
    """Return where a literal of a candidate was written."""
    source, number = origin
    return source.place(number)


class _Names:
    """The variables of one candidate."""

    def __init__(self, used: Iterable[str]) -> None:
        self._used = set(used)

    def fresh(self, name: str) -> str:
        """Return a name that no variable has: this one, or one with a number behind it."""
        found, number = name, 1
        if name in self._used:
            stem = name.rstrip("'").rstrip("0123456789")
            while found in self._used:
                number += 1
                found = f"{stem}{number}"
        self._used.add(found)
        return found


def _renamed(literal: Evidence, names: Mapping[str, str]) -> Evidence:
    def term(old: Term) -> Term:
        """Return a term under its new name."""
        return Variable(names[old.name]) if isinstance(old, Variable) else old

    if isinstance(literal, Literal):
        return Literal(literal.predicate, tuple(map(term, literal.terms)), literal.positive)
    return EqualityLiteral(term(literal.left), term(literal.right), literal.positive)


_Choice = tuple[int, ...] | Evidence


class _Bound:
    """A template under a model: its parts with what each stands for."""

    def __init__(self, template: Template, calls: Mapping[int, _Call], targets: frozenset[str]) -> None:
        self.template, self.calls, self._targets = template, calls, targets

    def count(self) -> int:
        """Return how many candidates it has."""
        signs = sum(isinstance(part, BothSigns) for part in self.template.parts)
        return (1 << signs) * prod(call.count() for call in self.calls.values())

    def largest(self) -> str:
        """Return which symbol has most expansions, and how many, as a message says it."""
        if not self.calls:
            signs = sum(isinstance(part, BothSigns) for part in self.template.parts)
            return f"it has {signs} times '[!]'"
        call = max(self.calls.values(), key=_Call.count)
        symbol = call.symbol
        kind = f" ({symbol.kind} {symbol.most} of {len(symbol.expansions)}: lower the {symbol.most})"
        return f"{symbol.name} alone has {_number(call.count(), 'expansion')}{'' if symbol.kind == 'one' else kind}"

    def longest(self) -> int:
        """Return the most literals that a candidate may have."""
        return len(self.template.parts) - len(self.calls) + sum(call.longest() for call in self.calls.values())

    def rows(self) -> Iterator[tuple[list[tuple[Evidence, _Origin]], list[tuple[Literal, _Origin]]]]:
        """Yield the selector and the enforcer of each candidate, every literal with the part that it comes from."""
        parts = self.template.parts
        used = [term.name for part in parts for term in _terms(part) if isinstance(term, Variable)]
        for chosen in product(*(self._choices(number) for number in range(len(parts)))):
            names = _Names(used)
            selector: list[tuple[Evidence, _Origin]] = []
            enforcer: list[tuple[Literal, _Origin]] = []
            for number, choice in enumerate(chosen):
                if isinstance(choice, tuple):
                    selector += self.calls[number].literals(choice, names)
                elif isinstance(choice, Literal) and choice.predicate in self._targets:
                    enforcer.append((choice, (self.template, number)))
                else:
                    selector.append((choice, (self.template, number)))
            yield selector, enforcer

    def _choices(self, number: int) -> Iterable[_Choice]:
        part = self.template.parts[number]
        if number in self.calls:
            return self.calls[number].choices()
        if isinstance(part, BothSigns):
            return [Literal(part.atom.predicate, part.atom.terms, sign) for sign in (True, False)]
        return [part]


def _terms(part: Literal | EqualityLiteral | BothSigns) -> Iterable[Term]:
    return part.atom.terms if isinstance(part, BothSigns) else terms_in(part)


def _number(count: int, word: str) -> str:
    return counted(count, word) if count <= _LONGEST_WRITTEN else f"more than 10^15 {word}s"


class TemplateListing:
    """The templates of a grammar under the declarations of a model; all of them are checked when it is made."""

    def __init__(
        self, symbols: Sequence[Symbol], templates: Sequence[Template], model: Model, targets: str | Iterable[str]
    ) -> None:
        given: object = model
        if not isinstance(given, Model):
            raise refuse("a model", given)
        self._predicates, self._constants = model.predicates, model.types
        self._listed: dict[str, frozenset[str]] = {}
        self._targets = self._checked_targets(targets)
        self._symbols = {symbol.name: symbol for symbol in symbols}
        # By symbol the types of the variables of each expansion.
        self._kinds = {symbol.name: self._expansion_types(symbol) for symbol in symbols}
        self._templates = [self._bind(template) for template in templates]

    def count(self) -> int:
        """Return how many candidates there are, before those that say the same are merged."""
        return sum(bound.count() for bound in self._templates)

    def expand(self, limit: int) -> tuple[Candidate, ...]:
        """Return the candidates, each once."""
        self._check_limit(limit)
        distinct = Distinct()
        return tuple(
            x
            for x in staged("expanding templates", self._candidates(), self.count())
            if distinct.add(x.variables, (*x.selector, *x.enforcer))
        )

    def _candidates(self) -> Iterator[Candidate]:
        """Yield all of them, in order."""
        for bound in self._templates:
            text = str(bound.template)
            for selector, enforcer in bound.rows():
                yield self._candidate(selector, enforcer, text)

    # ---- checks ---------------------------------------------------------------------------------------------

    def _checked_targets(self, targets: str | Iterable[str]) -> frozenset[str]:
        names = predicate_names("targets", targets)
        if not names:
            raise ModelError("there are no targets: name the predicates to predict")
        for name in names:
            if name not in self._predicates:
                hint = nearest(name, self._predicates) or f"; it declares {', '.join(self._predicates) or 'none'}"
                raise ModelError(f"the target {name!r} is no predicate of the model{hint}")
            if self._predicates[name].closed:
                raise ModelError(
                    f"the target {name} is declared as evidence ('*{name}'): predict another, or leave the '*' out"
                )
        return frozenset(names)

    def _expansion_types(self, symbol: Symbol) -> list[dict[str, str]]:
        if symbol.name in self._predicates:
            problem = f"{symbol.name} is a predicate of the model, and a symbol here: give the symbol another name"
            raise fault(problem, symbol.place)
        found = []
        for expansion in symbol.expansions:
            seen: dict[str, _Use] = {}
            for number, literal in enumerate(expansion.literals):
                place = expansion.place(number)
                if isinstance(literal, EqualityLiteral):
                    continue
                self._see(literal, place, seen)
                if literal.predicate in self._targets:
                    problem = (
                        f"the target {literal.predicate} stands in an expansion of {symbol.name}, but what targets are cannot "
                        "select: write it into the templates"
                    )
                    raise fault(problem, place)
            found.append({name: use.type for name, use in seen.items()})
        return found

    def _see(self, literal: Literal, place: TextPlace, seen: dict[str, _Use]) -> None:
        """Check a literal against the declarations, and that its variables have one type in each conjunction."""
        declared = self._predicates.get(literal.predicate)
        if declared is None:
            hint = nearest(literal.predicate, [*self._symbols, *self._predicates])
            what = "predicate of the model"
            if literal.predicate.isupper():
                what = "symbol of the grammar nor a predicate of the model"
                hint = hint or f": define it, as {literal.predicate}(x) = {{p(x), q(x)}}, or declare it"
            is_no = "is neither a" if literal.predicate.isupper() else "is no"
            raise fault(f"{literal.predicate!r} {is_no} {what}{hint or ': declare it'}", place)
        if len(literal.terms) != len(declared.types):
            problem = (
                f"{literal.predicate} has {counted(len(literal.terms), 'argument')} here, but is declared as {declared}"
            )
            raise fault(problem, place)
        for term, kind in zip(literal.terms, declared.types, strict=True):
            if isinstance(term, Constant):
                if not self._lists(kind, term):
                    raise self._unlisted(term, kind, place)
                continue
            use = _Use(kind, f"{literal}{_at(place)}", place)
            first = seen.setdefault(term.name, use)
            if first.type != kind:
                raise self._clash(term.name, first, use)

    def _lists(self, kind: str, constant: Constant) -> bool:
        """Tell whether a type may have a constant: it lists none, or this one."""
        if kind not in self._constants:
            return True
        return constant.name in self._listed.setdefault(kind, frozenset(self._constants[kind]))

    def _unlisted(self, constant: Constant, kind: str, place: TextPlace) -> ModelError:
        hint = nearest(constant.name, self._constants[kind])
        return fault(f"the constant {constant} is not among those declared for the type {kind!r}{hint}", place)

    def _clash(self, variable: str, first: _Use, second: _Use) -> ModelError:
        problem = (
            f"the variable {variable} is of type {second.type!r} in {second.what}, but of type {first.type!r} in {first.what}: "
            "give one of the two another variable, or leave it out"
        )
        return fault(problem, second.place)

    def _check_limit(self, limit: object) -> None:
        if isinstance(limit, bool) or not isinstance(limit, int) or limit < 1:
            raise InputError(
                f"limit is {shortened(repr(limit))}: expected how many candidates there may be, an integer from 1 on"
            )
        total = self.count()
        bound = max(self._templates, key=_Bound.count)
        place = bound.template.place()
        if total > limit:
            most = bound.count()
            what = "the template expands" if most == total else "the grammar expands"
            rest = "" if most == total else f", of which this template has {_number(most, 'candidate')}"
            problem = (
                f"{what} to {_number(total, 'candidate')}{rest}, and the limit is {limit:,}: {bound.largest()}; or leave "
                f"expansions out, split it into symbols for different templates, or raise {Parameter('limit')}"
            )
            raise fault(problem, place)
        for each in self._templates:
            if each.longest() > LONGEST_CLAUSE:
                problem = (
                    f"candidates of this template have up to {each.longest():,} literals, and there may be {LONGEST_CLAUSE}: "
                    f"{each.largest()}, or shorten expansions"
                )
                raise fault(problem, each.template.place())

    def _bind(self, template: Template) -> _Bound:
        """Check a template, and find what its symbols stand for in it."""
        sites: dict[str, list[_Site]] = {}
        calls: dict[int, _Call] = {}
        atoms: dict[Atom, int] = {}
        for number, part in enumerate(template.parts):
            place = template.place(number)
            if isinstance(part, EqualityLiteral):
                continue
            literal = Literal(part.atom.predicate, part.atom.terms) if isinstance(part, BothSigns) else part
            if literal.predicate in self._symbols:
                calls[number] = self._call(literal, sites)
                continue
            seen: dict[str, _Use] = {}
            self._see(literal, place, seen)
            for name, use in seen.items():
                sites.setdefault(name, []).append(_Site((use,)))
            if literal.predicate not in self._targets:
                if isinstance(part, BothSigns):
                    problem = (
                        f"'{format_part(part)}' stands for two signs, but {literal.predicate} is no target: write a symbol with "
                        "both as expansions"
                    )
                    raise fault(problem, place)
                continue
            atom = Atom(literal.predicate, literal.terms)
            if atom in atoms:
                raise fault(f"the template has {atom} twice: leave one out, or give it other variables", place)
            atoms[atom] = number
        if not atoms:
            named = ", ".join(sorted(self._targets))
            raise fault(f"the template has no literal of a target (here: {named}): add one", template.place())
        types = self._types(sites)
        for call in calls.values():
            call.fit(types)
        return _Bound(template, calls, self._targets)

    def _call(self, literal: Literal, sites: dict[str, list[_Site]]) -> _Call:
        """Return a symbol's call, and note which types its variables have."""
        symbol = self._symbols[literal.predicate]
        kinds = self._kinds[symbol.name]
        for variable, term in zip(symbol.variables, literal.terms, strict=True):
            uses: dict[str, _Use] = {}
            for expansion, types in zip(symbol.expansions, kinds, strict=True):
                kind = types.get(variable)
                if kind is not None and kind not in uses:
                    place = expansion.place()
                    what = f"the expansion '{expansion}' of {symbol.name}{_at(place)}"
                    if variable != term.name:
                        what += f" (as {variable})"
                    uses[kind] = _Use(kind, what, place)
            sites.setdefault(term.name, []).append(_Site(tuple(uses.values()), symbol))
        links = (
            tuple((types[symbol.variables[0]], types[symbol.variables[1]]) for types in kinds)
            if symbol.kind == "extender"
            else ()
        )
        return _Call(symbol, tuple(term.name for term in literal.terms), links)

    def _types(self, sites: Mapping[str, list[_Site]]) -> dict[str, str]:
        """Return the types of a template's variables; one that stands in one symbol alone may have that of each expansion."""
        found = {}
        for name, those in sites.items():
            if len(those) == 1 and those[0].free:
                continue
            firm = [site for site in those if not site.chained] or those
            # Literals first, so that an error is about an expansion.
            uses = [use for site in sorted(firm, key=lambda site: site.symbol is not None) for use in site.uses]
            for use in uses:
                if use.type != uses[0].type:
                    raise self._clash(name, uses[0], use)
            if uses:
                found[name] = uses[0].type
        return found

    # ---- candidates -----------------------------------------------------------------------------------------

    def _candidate(
        self,
        selector: Sequence[tuple[Evidence, _Origin]],
        enforcer: Sequence[tuple[Literal, _Origin]],
        template: str,
    ) -> Candidate:
        """Return a candidate; an error if some variable of it is not bound."""
        types: dict[str, str] = {}
        for literal, _ in (*enforcer, *selector):
            if isinstance(literal, Literal):
                for term, kind in zip(literal.terms, self._predicates[literal.predicate].types, strict=True):
                    if isinstance(term, Variable):
                        types.setdefault(term.name, kind)
        targets = tuple(literal for literal, _ in enforcer)
        distinct: dict[object, Evidence] = {}
        for literal, _ in selector:
            distinct.setdefault(_unordered(literal), literal)
        evidence = tuple(distinct.values())
        candidate = Candidate(tuple(types.items()), evidence, targets, template)
        if selector:
            positive = {t for x in evidence if isinstance(x, Literal) and x.positive for t in x.terms}
            for literal, origin in (*selector, *enforcer):
                for term in terms_in(literal):
                    if isinstance(term, Variable) and term not in positive:
                        raise self._unbound(term.name, literal, origin, candidate)
            for literal, origin in selector:
                if isinstance(literal, EqualityLiteral):
                    self._see_equality(literal, origin, types)
        return candidate

    def _unbound(self, variable: str, literal: Evidence, origin: _Origin, candidate: Candidate) -> ModelError:
        shown = shortened(str(candidate), 300)
        problem = (
            f"no positive literal of the evidence has {variable}, which '{literal}' needs, in the candidate {shown}: add one, as "
            f"p({variable}), to the template or to the expansion"
        )
        return fault(problem, _place(origin))

    def _see_equality(self, literal: EqualityLiteral, origin: _Origin, types: Mapping[str, str]) -> None:
        left, right = literal.left, literal.right
        kinds = [types[term.name] for term in (left, right) if isinstance(term, Variable)]
        if len(set(kinds)) > 1:
            problem = f"'{literal}' compares the types {kinds[0]!r} and {kinds[1]!r}: no constant is of both"
            raise fault(problem, _place(origin))
        for term in (left, right):
            if isinstance(term, Constant) and not self._lists(kinds[0], term):
                raise self._unlisted(term, kinds[0], _place(origin))
