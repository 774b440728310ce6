"""Models: declarations plus weighted rules."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol, Self, TypeVar

from sqlrl import markup
from sqlrl.arguments import refuse
from sqlrl.errors import ModelError, Parameter
from sqlrl.logic.bins import Bins
from sqlrl.logic.databases import OpenedDatabase
from sqlrl.logic.expansions import expand
from sqlrl.logic.lexer import nearest
from sqlrl.logic.printer import format_formula, format_model
from sqlrl.logic.rules import Constants, Expansions, Rule
from sqlrl.logic.saving import save_model
from sqlrl.logic.subformulas import atoms_of
from sqlrl.logic.terms import Predicate
from sqlrl.slips import Helpful

__all__ = ["SHOWN", "Expansions", "Model", "Rule"]

SHOWN = 20
"""How many lines of a model are shown unless it is printed."""

DIGITS = 6
"""Of weights of a model that is shown and not printed; its text, which is saved, has them all."""


_Plan_co = TypeVar("_Plan_co", covariant=True)


class _Planner(Protocol[_Plan_co]):
    # Roles are a value of the catalog, a room above.
    def plan(self, model: Model, *, roles: Any) -> _Plan_co: ...


_Scorer_co = TypeVar("_Scorer_co", covariant=True)


class _Compiler(Protocol[_Scorer_co]):
    def compile(self, model: Model, *, roles: Any) -> _Scorer_co: ...


@dataclass(frozen=True)
class Model(Helpful):
    """Predicates, types and rules.

    Parameters
    ----------
    predicates : mapping of str to Predicate
    types : mapping of str to tuple of str
        Constants declared for a type, in order; a type that no declaration lists is absent.
    rules : tuple of Rule
    query : frozenset of str
        Predicates named as open by the caller (`read_mln(..., query=...)`), beside those that the data open.
    semantics : {"exact", "alchemy"}
    learned : bool
        True if a learner chose the weights: then the constants of `types` are no closed lists on other data. Not part of equality.
    ranked_by : str
        The learner whose weights rank worlds and are no log-odds, such as AdaGrad, so that probabilities by them are not calibrated; empty for
        other weights. `with_rules` leaves it out. Not part of equality.
    strict : bool
        True if constants of the rules that neither data nor `types` have are an error. Not part of equality, and not saved.
    bins : mapping of str to tuple of float or of str
        Edges between the pieces of types of numbers or dates, ascending; data of these types are cut there.
    """

    predicates: Mapping[str, Predicate]
    types: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    rules: tuple[Rule, ...] = ()
    query: frozenset[str] = frozenset()
    semantics: str = "exact"
    learned: bool = field(default=False, compare=False)
    ranked_by: str = field(default="", compare=False)
    strict: bool = field(default=False, compare=False)
    bins: Bins = field(default_factory=dict)

    def save(self, path: str | Path) -> None:
        """Save as `.mln` (templates written out clause by clause, named in the first line) or `.json`, by the ending of the path.

        `sqlrl.read_model` loads it again to an equal model.

        Raises
        ------
        ModelError
            Another ending, a weight that is not finite, or a name that the language cannot write.
        """
        save_model(self, path)

    def plan(self, db: OpenedDatabase[_Planner[_Plan_co]], *, roles: Any = None) -> _Plan_co:
        r"""Say how the model would be grounded on the data of a database, before any work.

        Parameters
        ----------
        db : Database
        roles : Roles, optional
            What predicates are taken for.

        Returns
        -------
        Explanations
            For each shape of clause its size, SQL and plan. It prints as a table; `print(found[0])` shows SQL and plan.

        Examples
        --------
        >>> import sqlrl
        >>> db = sqlrl.connect()
        >>> db.load("Friends", [("Anna", "Bob"), ("Bob", "Chris")])
        >>> text = "Friends(person, person)\nSmokes(person)\n1 Friends(x, y) ^ Smokes(x) => Smokes(y)"
        >>> found = sqlrl.parse_mln(text, query=["Smokes"]).plan(db)
        >>> found[0].clauses, "JOIN" in found[0].sql
        (1, True)
        """
        return db.advanced.plan(self, roles=roles)

    def compile(self, db: OpenedDatabase[_Compiler[_Scorer_co]], *, roles: Any = None) -> _Scorer_co:
        r"""Compile the model to a scorer, which predicts examples that are handed over as rows or Arrow tables, without SQL.

        The scorer takes from the database what belongs to all examples: the constants of global types and the facts of predicates that have
        no argument for the example. Templates without learned clauses get them from the examples, as in `db.predict`.

        Parameters
        ----------
        db : Database
        roles : Roles, optional
            What predicates are taken for.

        Returns
        -------
        CompiledScorer

        Raises
        ------
        UnsupportedError
            A rule is about more than one example, or a predicate or type is none that examples alone can tell.

        Examples
        --------
        >>> import sqlrl
        >>> db = sqlrl.connect()
        >>> db.load("Word", [("d1", "good"), ("d2", "bad")], types=["doc", "word"], example="doc")
        >>> db.load("Liked", [("d1",)], types=["doc"], target=True)
        >>> model = sqlrl.parse_mln('Word(doc, word)\nLiked(doc)\n1 Word(d, "good") => Liked(d)\n-0.5 Liked(d)')
        >>> scorer = model.compile(db)
        >>> scorer.predict({"Word": [("d7", "good"), ("d8", "poor")]}).atoms().to_pylist()
        [{'example': 'd7', 'doc': 'd7', 'truth': True}]
        """
        return db.advanced.compile(self, roles=roles)

    def __str__(self) -> str:
        """Return the model in Alchemy's language."""
        return format_model(self)

    def __repr__(self) -> str:
        head, text = self._shown()
        lines = markup.visible_lines(text).splitlines()
        more = [f"… {len(lines) - SHOWN:,} more lines"] if len(lines) > SHOWN else []
        return "\n".join([f"{head}:", *lines[:SHOWN], *more])

    def _repr_html_(self) -> str:
        head, text = self._shown()
        lines = text.splitlines()
        return markup.numbered(head, lines[:SHOWN], len(lines))

    def _shown(self) -> tuple[str, str]:
        """Return a heading and the model to look at, with weights that have no more digits than tables show."""
        hard, weighted = sum(r.hard for r in self.rules), sum(r.weight is not None for r in self.rules)
        listed = sum(len(r.expansions.rows) for r in self.rules if r.expansions is not None)
        head = f"Model of {len(self.rules):,} rules ({hard:,} hard, {weighted:,} with a weight, {listed:,} clauses of templates)"
        whole = expand(self)
        short = tuple(
            rule if rule.weight is None else replace(rule, weight=float(f"{rule.weight:.{DIGITS}g}"))
            for rule in whole.rules
        )
        if all(one.weight == other.weight for one, other in zip(whole.rules, short, strict=True)):
            return head, format_model(whole)
        return f"{head}, weights to {DIGITS} digits", format_model(replace(whole, rules=short))

    @cached_property
    def rule_constants(self) -> Constants:
        """The constants that the rules name, by type, each with the first rule that does."""
        return self._constants(listed=False)

    @cached_property
    def clause_constants(self) -> Constants:
        """The same with the constants of the clauses that learned templates list."""
        return self._constants(listed=True)

    def _constants(self, *, listed: bool) -> Constants:
        found: dict[str, dict[str, Rule]] = {}
        for rule in self.rules:
            self._check_declared(rule)
            for type_name, constant in rule.constants(self.predicates, listed=listed):
                found.setdefault(type_name, {}).setdefault(constant, rule)
        return found

    def _check_declared(self, rule: Rule) -> None:
        """Refuse a rule of another model about what this one does not declare, as `with_rules` may bring it."""
        unknown = {atom.predicate for atom in atoms_of(rule.formula)} - self.predicates.keys()
        if unknown:
            names = " and ".join(sorted(unknown))
            raise ModelError(
                f"{format_formula(rule.formula)} mentions {names}, which this model does not declare: give the rules of both models to one "
                "that declares all their predicates, model.with_rules(...)"
            )

    def with_rules(self, rules: tuple[Rule, ...]) -> Self:
        """Return this model with other rules."""
        given: object = rules
        if not isinstance(given, tuple | list) or not all(isinstance(rule, Rule) for rule in given):
            raise refuse("rules", given)
        return replace(self, rules=tuple(rules), ranked_by="")

    def without(self, names: Iterable[str]) -> Self:
        r"""Return this model without some predicates: without their declarations and the rules that mention them, as `drop=` leaves them out.

        Learners, which take no `drop=`, are given such a model where predicates have no data.

        Parameters
        ----------
        names : iterable of str
            Names of predicates; a single one may stand alone.

        Returns
        -------
        Model
            The other rules keep their order and their lines.

        Raises
        ------
        ModelError
            A predicate that the model does not declare, or that it is to predict.

        Examples
        --------
        >>> from sqlrl import parse_mln
        >>> model = parse_mln("Smokes(p)\nCancer(p)\nRich(p)\n1 Smokes(x) => Cancer(x)\n2 Rich(x) => !Smokes(x)")
        >>> print(model.without(["Rich"]))
        Smokes(p)
        Cancer(p)
        <BLANKLINE>
        1.0 Smokes(x) => Cancer(x)
        <BLANKLINE>
        """
        dropped = dropped_names(names, self.predicates, self.query)
        if not dropped:
            return self
        return replace(
            self,
            predicates={name: predicate for name, predicate in self.predicates.items() if name not in dropped},
            rules=tuple(
                rule for rule in self.rules if not any(atom.predicate in dropped for atom in atoms_of(rule.formula))
            ),
        )


def dropped_names(names: Iterable[str], predicates: Mapping[str, Predicate], query: Collection[str]) -> set[str]:
    """Return the names of predicates that a model is to do without; refuse those that it has not, or is to predict."""
    dropped = {names} if isinstance(names, str) else set(names)
    for name in sorted(dropped):
        if name not in predicates:
            known = ", ".join(predicates)
            hint = nearest(name, predicates) or f": the model declares {known or 'none'}"
            raise ModelError(f"there is no predicate {name!r} to drop{hint}")
        if name in query:
            raise ModelError(
                f"{name} cannot both be dropped and predicted: leave it out of {Parameter('drop')} or of {Parameter('query')}"
            )
    return dropped
