"""From rules to features: exact clausal form.

Under exact semantics n counts the groundings in which the formula as written is true. The formula's boolean function
is written as disjoint conjunctions, either of its negation (their negations are the feature's clauses, and each
violated grounding violates exactly one of them) or of itself (the same with `negated`), whichever needs fewer
helper predicates, then fewer clauses. A clause so stays itself and a conjunction becomes its negated clause.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sqlrl.errors import ModelError, marked
from sqlrl.logic import alchemy
from sqlrl.logic.boolean import Node, Path, Signed, Witness, conjuncts, disjoint, prenex
from sqlrl.logic.model import Model, Rule
from sqlrl.logic.normal import Division, Normal, normalise
from sqlrl.logic.printer import format_formula
from sqlrl.logic.signs import split_signs
from sqlrl.logic.terms import Clause, Feature
from sqlrl.logic.witnesses import Emitter, needs_helper
from sqlrl.wording import shortened


def compile_rule(
    rule: Rule, model: Model, open_predicates: frozenset[str], division: Division | None = None
) -> tuple[Feature, ...]:
    """Return a rule's features: one for each combination of signs of `*`, or in Alchemy's semantics for each clause of it."""
    formulas = split_signs(rule.formula)
    try:
        if model.semantics == "alchemy":
            return tuple(f for each in formulas for f in alchemy.features(each, rule.hard, model, open_predicates))
        return tuple(_compile(normalise(each, model, division), rule.hard, open_predicates) for each in formulas)
    except ModelError as error:
        if not rule.line:
            raise
        # Of its text a rule knows the line.
        raise ModelError(
            f"{rule.path}:{rule.line}: {marked(error.message)}\n  {shortened(format_formula(rule.formula))}"
        ) from error


def _compile(normal: Normal, hard: bool, open_predicates: frozenset[str]) -> Feature:
    if hard and _quantified(normal.node):
        # These clauses may have more variables than the feature, and one grounding may violate two of them: `n` of such
        # a rule is exact only in worlds where the rule holds.
        return _hard(normal, open_predicates)
    values = (False,) if hard else (False, True)

    def helpers(paths: Iterable[Path]) -> int:
        """Count the quantifiers of some paths that need a helper atom."""
        positive = {s.atom for path in paths for s in path if isinstance(s.atom, Witness) and s.positive}
        every = {s.atom for path in paths for s in path if isinstance(s.atom, Witness)}
        return len(positive | {w for w in every if needs_helper(w, open_predicates)})

    value, paths = disjoint(normal.node, values, helpers)
    emitter = Emitter(normal, open_predicates)
    clauses = emitter.clauses([tuple(s.negated() for s in path) for path in paths])
    return Feature(normal.variables, normal.plus, clauses, value, emitter.helpers)


def _quantified(node: Node) -> bool:
    if isinstance(node, Signed):
        return isinstance(node.atom, Witness)
    return any(map(_quantified, node.parts))


def _hard(normal: Normal, open_predicates: frozenset[str]) -> Feature:
    """Take the clauses of the normal form, with universal quantifiers in front, where they need no helpers."""
    emitter = Emitter(normal, open_predicates)
    clauses = emitter.clauses([prenex(c) for c in conjuncts(normal.node)], promote=True)
    return Feature(normal.variables, normal.plus, clauses, False, emitter.helpers)


def clause_text(clauses: Sequence[Clause], negated: bool) -> str:
    """Return the clauses of a feature as one readable line."""
    text = " ^ ".join(f"({clause})" if len(clauses) > 1 else str(clause) for clause in clauses) or "TRUE"
    return f"!({text})" if negated else text
