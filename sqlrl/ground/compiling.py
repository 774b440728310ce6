"""Rules compiled to features, with the shapes of their clauses: equal rules once for all models of a database."""

from __future__ import annotations

from dataclasses import dataclass

from sqlrl.catalog.layout import Layout
from sqlrl.logic.compile import compile_rule
from sqlrl.logic.model import Model, Rule
from sqlrl.logic.normal import Division
from sqlrl.logic.shapes import Instance, Shaper
from sqlrl.logic.terms import Feature, Formula

MOST_RULES = 50_000
"""Rules that are remembered, at about 2 kB each."""


@dataclass(eq=False, slots=True)
class Compiled:
    """A feature, with an instance for each of its clauses once they were asked for."""

    feature: Feature
    _instances: tuple[Instance, ...] | None = None

    def instances(self, shaper: Shaper) -> tuple[Instance, ...]:
        """Return the instances of its clauses; the shaper must know the types that it was compiled for."""
        if self._instances is None:
            self._instances = tuple(shaper(clause, self.feature.plus) for clause in self.feature.clauses)
        return self._instances


Known = dict[tuple[Formula, bool], tuple[Compiled, ...]]


class CompiledRules:
    r"""Remembers what rules were compiled to.

    Models are held against data again and again, by one learner after the other, fold after fold, or to predict with what was
    learned; mostly their formulas are known by then.

    Parameters
    ----------
    most : int
        When more rules than these are remembered, all are forgotten before the next model.

    Examples
    --------
    >>> from sqlrl.logic.mln import parse_mln
    >>> from sqlrl.plan.sample import people
    >>> known = CompiledRules()
    >>> model, again = (parse_mln(f"Smokes(person)\n{weight} Smokes(x) v Smokes(y)") for weight in (1, 2))
    >>> [first], [second] = (known.of(each, people())(each.rules[0]) for each in (model, again))
    >>> first is second, str(first.feature.clauses[0])
    (True, 'Smokes(x) v Smokes(y)')
    """

    def __init__(self, most: int = MOST_RULES) -> None:
        self._most = most
        self._known: dict[object, Known] = {}

    def of(self, model: Model, layout: Layout) -> Compiling:
        """Return what compiles the rules of a model that is held against a layout."""
        if sum(map(len, self._known.values())) > self._most:
            self._known.clear()
        opened = frozenset(p.name for p in layout.predicates.values() if p.open)
        # All that features and shapes depend on, but for the rule; helper predicates have names that say what they are.
        declared = frozenset((name, p.types) for name, p in model.predicates.items())
        bound = frozenset((name, info.types) for name, info in layout.predicates.items())
        division = _division(layout)
        known = self._known.setdefault((model.semantics, opened, declared, bound, division), {})
        return Compiling(model, opened, division, known)


def _division(layout: Layout) -> Division | None:
    """Return how the constants of a type divide the data into examples; None if they do not."""
    if layout.example_type is None:
        return None
    return Division(layout.example_type, frozenset(name for name, info in layout.types.items() if info.local))


class Compiling:
    """Compiles the rules of one model; see `CompiledRules.of`."""

    def __init__(self, model: Model, open_predicates: frozenset[str], division: Division | None, known: Known) -> None:
        self._model, self._open, self._division, self._known = model, open_predicates, division, known

    def __call__(self, rule: Rule) -> tuple[Compiled, ...]:
        """Return the features of a rule, as `sqlrl.logic.compile.compile_rule` does; it is what raises errors."""
        key = (rule.formula, rule.hard)
        if key not in self._known:
            features = compile_rule(rule, self._model, self._open, self._division)
            self._known[key] = tuple(map(Compiled, features))
        return self._known[key]
