"""Programs of probabilistic soft logic: predicates, logical and arithmetic rules, and where their data are.

Source: Bach, Broecheler, Huang, Getoor, "Hinge-Loss Markov Random Fields and Probabilistic Soft Logic", JMLR 18 (2017), section 4.

`sqlrl.logic.psl_parser` reads rule files, `sqlrl.logic.psl_files` PSL's JSON and YAML as well. What PSL's language has no words for,
the predicates that are declared, stands as a comment in the first line of a model's text.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, Self
from typing import Literal as OneOf

from sqlrl import markup
from sqlrl.arguments import refuse
from sqlrl.errors import ModelError, Parameter
from sqlrl.logic.lexer import nearest
from sqlrl.logic.limits import LONGEST_CLAUSE
from sqlrl.logic.model import SHOWN, dropped_names
from sqlrl.logic.printer import is_identifier
from sqlrl.logic.psl_arithmetic import ArithmeticRule, checked_weight, format_rule
from sqlrl.logic.psl_literals import (
    RuleError,
    SoftLiteral,
    check_bound,
    check_literal,
    format_literal,
    literals_of,
    negated,
)
from sqlrl.logic.saving import SOFT, write_file
from sqlrl.logic.terms import Argument, Literal, Predicate, Variable
from sqlrl.slips import Helpful
from sqlrl.wording import counted

UNTYPED = "UniqueStringID"
"""The type of arguments for which none is said, as PSL calls it: all of them have their constants together."""

AS_WRITTEN = "as written"
"""What the first line says of rules of which PSL would make others: repeated ones, and those with a disjunction in a filter."""

CONSTANT_KINDS = (UNTYPED, "UniqueIntID", "String", "Integer", "Long", "Double", "Date")
"""What PSL calls kinds of constants; here they are types like any other."""


@dataclass(frozen=True, slots=True)
class LogicalRule:
    r"""A clause under Lukasiewicz's operators: the body implies the head, or the head alone.

    Its distance from being satisfied is a hinge, max(0, sum of the body - (number of its literals - 1) - sum of the head).

    Parameters
    ----------
    body : tuple of Literal, EqualityLiteral or OrderLiteral
        A conjunction; empty where the rule is a disjunction.
    head : tuple of Literal, EqualityLiteral or OrderLiteral
        A disjunction, at least one literal.
    weight : float or None
        At least 0; None if the rule is hard.
    squared : bool
        Whether its hinges are squared; False if it is hard.
    line : int
        Line in the source, from 1; 0 if it has none. Not part of equality.
    path : str
        The source file. Not part of equality.

    Raises
    ------
    ModelError
        No atoms, a variable that comparisons alone have, or a weight below 0 or not finite.

    Examples
    --------
    >>> from sqlrl import parse_psl
    >>> (rule,) = parse_psl("10: Similar(A, B) && (A - B) >> ~Rival(A, B) ^2").rules
    >>> print(rule)
    10: Similar(A, B) & A != B -> !Rival(A, B) ^2
    >>> [format_literal(literal) for literal in rule.clause]
    ['!Similar(A, B)', 'A == B', '!Rival(A, B)']
    """

    body: tuple[SoftLiteral, ...]
    head: tuple[SoftLiteral, ...]
    weight: float | None = None
    squared: bool = False
    line: int = field(default=0, compare=False)
    path: str = field(default="", compare=False)
    _repr_html_ = markup.field_table

    def __post_init__(self) -> None:
        object.__setattr__(self, "body", tuple(self.body))
        object.__setattr__(self, "head", tuple(self.head))
        if not self.head:
            raise RuleError("a logical rule has no head: expected a literal, as in P(X) -> Q(X) or !Q(X)")
        if len(self.literals) > LONGEST_CLAUSE:
            raise RuleError(f"the rule has {len(self.literals):,} literals: expected at most {LONGEST_CLAUSE}")
        for literal in self.literals:
            check_literal(literal)
        atoms = [literal for literal in self.literals if isinstance(literal, Literal)]
        if not atoms:
            raise RuleError("a rule has no atoms: expected one, as in P(X) -> Q(X)", self.literals[0])
        bound = {term.name for atom in atoms for term in atom.terms if isinstance(term, Variable)}
        check_bound((x for x in self.literals if not isinstance(x, Literal)), bound, "expected an atom")
        object.__setattr__(self, "weight", checked_weight(self.weight, squared=self.squared))

    @property
    def hard(self) -> bool:
        """Whether it must hold in every grounding."""
        return self.weight is None

    @property
    def place(self) -> str:
        """Where it stands, as `path:line`; empty if it was not read."""
        return f"{self.path}:{self.line}" if self.line else ""

    @property
    def literals(self) -> tuple[SoftLiteral, ...]:
        """The literals of body and head, as they are written."""
        return (*self.body, *self.head)

    @property
    def clause(self) -> tuple[SoftLiteral, ...]:
        """The disjunction that the rule is: the literals of its body negated, and those of its head."""
        return (*map(negated, self.body), *self.head)

    @property
    def form(self) -> object:
        """What rules share that PSL takes for one: the literals of their clauses in any order, but not the weight."""
        return (self.hard, self.squared, frozenset(self.clause))

    def as_rules(self) -> tuple[LogicalRule, ...]:
        """Return the rule that this one is to PSL, in which each literal of the clause stands once."""
        if len(set(self.clause)) == len(self.clause):
            return (self,)
        body = tuple(x for x in dict.fromkeys(self.body) if negated(x) not in self.head)
        return (replace(self, body=body, head=tuple(dict.fromkeys(self.head))),)

    @property
    def formula(self) -> str:
        """The rule without weight, square and final '.'."""
        head = " | ".join(map(format_literal, self.head))
        return f"{' & '.join(map(format_literal, self.body))} -> {head}" if self.body else head

    def __str__(self) -> str:
        return format_rule(self.formula, self.weight, self.squared)


SoftRule = LogicalRule | ArithmeticRule


def counted_once(rules: Iterable[SoftRule]) -> tuple[list[SoftRule], list[tuple[SoftRule, SoftRule]]]:
    """Return the rules that some are to PSL, one for each form, and each of the others with the one that it repeats."""
    first: dict[object, SoftRule] = {}
    repeated: list[tuple[SoftRule, SoftRule]] = []
    for rule in (each for one in rules for each in one.as_rules()):
        kept = first.setdefault(rule.form, rule)
        if kept is not rule:
            repeated.append((rule, kept))
    return list(first.values()), repeated


Role = OneOf["observations", "targets", "truth"]
Split = OneOf["all", "learn", "infer"]


@dataclass(frozen=True, slots=True)
class DataPartition:
    """Where a part of the data of one predicate is, as a configuration of PSL says."""

    predicate: str
    role: Role  # known, to be inferred, or the true values of targets
    split: Split = "all"  # the task that the data are for
    files: tuple[Path, ...] = ()  # tables of constants separated by tabs, with or without a truth in a last column
    rows: tuple[tuple[str, ...], ...] = ()  # those that the configuration itself has
    place: str = field(default="", compare=False)  # `path:line` in the configuration
    kinds: tuple[str, ...] = ()  # what PSL takes constants for, by argument; none where each is the text that it is
    trusted: bool = field(default=True, compare=False)  # False if a stranger may have named the files
    _repr_html_ = markup.field_table


@dataclass(frozen=True)
class SoftModel(Helpful):
    r"""A program of probabilistic soft logic: predicates and rules.

    Parameters
    ----------
    predicates : mapping of str to Predicate
        Those that are `closed` have no atoms to infer.
    rules : tuple of LogicalRule or ArithmeticRule
        Each counts, also one that repeats another; readers of programs leave such out, as PSL does.
    query : frozenset of str
        Predicates declared as open, which have atoms to infer. Of one that is neither in it nor closed the data decide.
    partitions : tuple of Partition
        Where a configuration says that the data are. Not part of equality, and not saved.
    options : mapping of str to str
        The options of a configuration, as they stand there. Not part of equality, and not saved.

    Raises
    ------
    ModelError
        A rule with a predicate that is not declared or has another number of arguments, with a variable at arguments of two types, or
        with an open predicate in a filter; a predicate that is open and closed; names that the language cannot write.

    Examples
    --------
    >>> from sqlrl import parse_psl
    >>> model = parse_psl("20: Lived(P, L) & Lived(Q, L) & (P != Q) >> Knows(P, Q) ^2\nKnows(P, Q) = Knows(Q, P) .")
    >>> sorted(model.predicates), model.rules[1].hard
    (['Knows', 'Lived'], True)
    >>> print(model)
    20: Lived(P, L) & Lived(Q, L) & P != Q -> Knows(P, Q) ^2
    Knows(P, Q) - Knows(Q, P) = 0 .
    <BLANKLINE>
    """

    predicates: Mapping[str, Predicate]
    rules: tuple[SoftRule, ...] = ()
    query: frozenset[str] = frozenset()
    partitions: tuple[DataPartition, ...] = field(default=(), compare=False)
    options: Mapping[str, str] = field(default_factory=dict, compare=False)
    semantics: ClassVar[str] = SOFT

    def __post_init__(self) -> None:
        object.__setattr__(self, "rules", tuple(self.rules))
        object.__setattr__(self, "query", frozenset(self.query))
        check_declarations(self.predicates, self.query)
        given: tuple[object, ...] = self.rules
        if not all(isinstance(rule, LogicalRule | ArithmeticRule) for rule in given):
            raise refuse("rules", given)
        for rule in self.rules:
            try:
                check_rule(rule, self.predicates, self.query)
            except RuleError as fault:
                raise ModelError(f"{rule.place or rule}: {fault}") from None

    def save(self, path: str | Path) -> None:
        r"""Save as `.psl` or `.json`, by the ending of the path.

        `sqlrl.read_psl` loads it again to an equal model. PSL reads the rules of a `.psl` file, too; where it would count others, the
        first line says so.

        Raises
        ------
        ModelError
            Another ending.
        InputError
            The file cannot be written, and is as it was.

        Examples
        --------
        >>> import tempfile
        >>> from sqlrl import parse_psl, read_psl
        >>> model = parse_psl("0.5: !Knows(A, B) ^2")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     model.save(Path(folder, "prior.json"))
        ...     read_psl(Path(folder, "prior.json")) == model
        True
        """
        target = Path(path)
        if target.suffix == ".psl":
            text = str(self)
        elif target.suffix == ".json":
            text = json.dumps(soft_model_to_json(self), indent=1, ensure_ascii=False, allow_nan=False) + "\n"
        else:
            raise ModelError(f"cannot tell the format of {path}: expected a name that ends in .psl or .json")
        write_file(target, text)

    def __str__(self) -> str:
        """Return the program as a rule file, the declarations in a comment where the rules alone do not say them."""
        return "\n".join([*_header(self), *map(str, self.rules)]) + "\n"

    def __repr__(self) -> str:
        lines = markup.visible_lines(str(self)).splitlines()
        hard = sum(rule.hard for rule in self.rules)
        more = [f"… {len(lines) - SHOWN:,} more lines"] if len(lines) > SHOWN else []
        return "\n".join([f"SoftModel of {counted(len(self.rules), 'rule')} ({hard:,} hard):", *lines[:SHOWN], *more])

    def _repr_html_(self) -> str:
        head, *_ = repr(self).split(":\n", maxsplit=1)
        lines = str(self).splitlines()
        return markup.numbered(head, lines[:SHOWN], len(lines))

    def with_rules(self, rules: Iterable[SoftRule]) -> Self:
        r"""Return this model with other rules.

        Parameters
        ----------
        rules : iterable of LogicalRule or ArithmeticRule

        Returns
        -------
        SoftModel

        Raises
        ------
        ModelError
            As in `SoftModel`.

        Examples
        --------
        >>> from sqlrl import parse_psl
        >>> model = parse_psl("1: !Knows(A, B)\n2: Knows(A, B) -> Knows(B, A)")
        >>> len(model.with_rules(model.rules[:1]).rules)
        1
        """
        given: object = rules
        if isinstance(given, str) or not isinstance(given, Iterable):
            raise refuse("rules", given)
        return replace(self, rules=tuple(rules))

    def without(self, names: Iterable[str]) -> Self:
        r"""Return this model without some predicates: without their declarations, their data, and the rules that mention them.

        Parameters
        ----------
        names : iterable of str
            Names of predicates; a single one may stand alone.

        Returns
        -------
        SoftModel

        Raises
        ------
        ModelError
            A predicate that the model does not have, or that it is to infer.

        Examples
        --------
        >>> from sqlrl import parse_psl
        >>> model = parse_psl("1: Rich(A) -> Happy(A)\n2: !Happy(A)")
        >>> print(*model.without("Rich").rules)
        2: !Happy(A)
        """
        dropped = dropped_names(names, self.predicates, self.query)
        if not dropped:
            return self
        return replace(
            self,
            predicates={name: predicate for name, predicate in self.predicates.items() if name not in dropped},
            rules=tuple(
                rule
                for rule in self.rules
                if not any(isinstance(x, Literal) and x.predicate in dropped for x in rule.literals)
            ),
            partitions=tuple(part for part in self.partitions if part.predicate not in dropped),
        )

    def with_types(self, types: Mapping[str, Sequence[str]]) -> Self:
        """Return this model with other types of arguments, such as those of the tables that it is held against.

        Parameters
        ----------
        types : mapping of str to sequence of str
            By predicate; those that are not there keep their types.

        Returns
        -------
        SoftModel

        Raises
        ------
        ModelError
            A predicate that the model does not declare, another number of arguments, or a variable at arguments of two types.

        Examples
        --------
        >>> from sqlrl import parse_psl
        >>> model = parse_psl("1: Likes(P, T) & Likes(Q, T) -> Knows(P, Q)")
        >>> print(model.with_types({"Likes": ["person", "thing"], "Knows": ["person", "person"]}).predicates["Likes"])
        Likes(person, thing)
        """
        changed = dict(self.predicates)
        for name, kinds in types.items():
            if name not in changed:
                raise ModelError(
                    f"{Parameter('types')} has {name!r}, which is no predicate of the model{nearest(name, changed)}"
                )
            old = changed[name]
            if len(kinds) != len(old.arguments):
                raise ModelError(
                    f"{Parameter('types')} has {counted(len(kinds), 'type')} for {name}, which has {counted(len(old.arguments), 'argument')}"
                )
            arguments = tuple(replace(a, type=kind) for a, kind in zip(old.arguments, kinds, strict=True))
            changed[name] = replace(old, arguments=arguments)
        return replace(self, predicates=changed)


# ---- declarations ------------------------------------------------------------------------------------


def untyped(name: str, arity: int, *, closed: bool = False) -> Predicate:
    """Return a predicate whose arguments have no types of their own."""
    return Predicate(name, (Argument(UNTYPED),) * arity, closed)


def check_declarations(predicates: Mapping[str, Predicate], query: Iterable[str]) -> None:
    """Refuse declarations that no model can have."""
    spelled: dict[str, str] = {}
    for name, predicate in predicates.items():
        if name != predicate.name:
            raise ModelError(f"the predicate {predicate.name} stands under the name {name!r}: expected its own")
        for each in (name, *predicate.types):
            if not is_identifier(each):
                raise ModelError(f"the language cannot write the name {each!r} in {predicate}: rename it")
        if not predicate.arguments:
            raise ModelError(f"{name} has no arguments: a predicate of PSL has at least one")
        if any(argument.block for argument in predicate.arguments):
            raise ModelError(
                f"{predicate} marks a block with '!', which PSL has not: write a rule, as {name}(A, +B) = 1 ."
            )
        other = spelled.setdefault(name.casefold(), name)
        if other != name:
            raise ModelError(f"{other} and {name} are one predicate to PSL, which heeds no case: rename one of them")
    for name in sorted(query):
        if name not in predicates:
            hint = nearest(name, predicates) or "; expected a declared one"
            raise ModelError(f"query has {name!r}, which is no predicate of the model{hint}")
        if predicates[name].closed:
            raise ModelError(f"{name} is declared as open and as closed: remove one of the two")


def check_rule(rule: SoftRule, predicates: Mapping[str, Predicate], query: Iterable[str]) -> None:
    """Refuse what declarations tell of a rule: predicates, numbers of arguments, types of variables, filters of open predicates."""
    kinds: dict[str, tuple[str, str]] = {}
    for literal in rule.literals:
        if not isinstance(literal, Literal):
            continue
        name = literal.predicate
        if name not in predicates:
            raise RuleError(
                f"there is no predicate {name!r}{nearest(name, predicates) or '; declare it, or rename it'}", literal
            )
        predicate = predicates[name]
        if len(literal.terms) != len(predicate.arguments):
            raise RuleError(wrong_arity(predicate, len(literal.terms)), literal)
        for term, kind in zip(literal.terms, predicate.types, strict=True):
            if isinstance(term, Variable):
                other, where = kinds.setdefault(term.name, (kind, name))
                if other != kind:
                    raise RuleError(
                        f"the variable {term.name} is of the type {other} in {where} and {kind} in {name}", literal
                    )
    if isinstance(rule, ArithmeticRule):
        for each in rule.filters:
            for literal in literals_of(each.condition):
                if isinstance(literal, Literal) and literal.predicate in query:
                    raise RuleError(
                        f"{literal.predicate} is open, and stands in the filter {each}: what a sum goes through must be known beforehand, "
                        "so that a filter has closed predicates alone",
                        literal,
                    )


def wrong_arity(predicate: Predicate, arguments: int) -> str:
    """Say that an atom has another number of arguments than its predicate."""
    return f"{predicate.name} has {counted(len(predicate.arguments), 'argument')}, found {arguments}"


def inferred(rules: Iterable[SoftRule]) -> dict[str, Predicate]:
    """Return the predicates of rules that no declaration is needed for, in the order of their first atoms."""
    found: dict[str, Predicate] = {}
    for rule in rules:
        for literal in rule.literals:
            if isinstance(literal, Literal):
                found.setdefault(literal.predicate, untyped(literal.predicate, len(literal.terms)))
    return found


def _header(model: SoftModel) -> Iterator[str]:
    alone = inferred(model.rules)
    # A program would have other rules.
    written = tuple(counted_once(model.rules)[0]) != model.rules
    if model.query or written or dict(model.predicates) != alone:
        said = {
            "predicates": dict(declared(model.predicates, model.query)),
            **({"rules": AS_WRITTEN} if written else {}),
        }
        yield f"// sqlrl {json.dumps(said, ensure_ascii=False)}"


def declared(predicates: Mapping[str, Predicate], query: Iterable[str]) -> Iterator[tuple[str, str | None]]:
    """Yield each predicate as a declaration, with "open", "closed" or None."""
    for name, predicate in predicates.items():
        plain = all(kind == UNTYPED for kind in predicate.types)
        text = f"{name}/{len(predicate.types)}" if plain else f"{name}({', '.join(predicate.types)})"
        yield text, "open" if name in query else "closed" if predicate.closed else None


def soft_model_to_json(model: SoftModel) -> dict[str, Any]:
    """Return a model as JSON values, which `schemas/model.schema.json` describes."""
    return {
        "version": 3,
        "semantics": SOFT,
        "query": sorted(model.query),
        "types": {},
        "predicates": [
            {
                "name": p.name,
                "arguments": [{"type": kind} for kind in p.types],
                **({"closed": True} if p.closed else {}),
            }
            for p in model.predicates.values()
        ],
        "rules": [_rule_to_json(rule) for rule in model.rules],
    }


def _rule_to_json(rule: SoftRule) -> dict[str, Any]:
    strength = {"hard": True} if rule.weight is None else {"weight": rule.weight}
    return {"formula": rule.formula, **strength, **({"squared": True} if rule.squared else {})}
