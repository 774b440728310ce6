"""The pseudo-log-likelihood of random programs by the definitions: all atoms listed, formulas evaluated with and without each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy import optimize

from sqlrl.ground.program import Program
from sqlrl.logic.terms import And, Atom, Equal, Formula, Implies, Not, Or
from tests.ground.brute import Data, Formulas, Ground
from tests.ground.brute import atoms_of as atoms_in
from tests.ground.cases import Case, Names, formulas_of
from tests.ground.test_blankets import atoms_of

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Listed:
    """One row for each atom that has a choice."""

    features: Floats
    truth: npt.NDArray[np.bool_]
    weight: Floats
    offset: Floats

    def value(self, weights: Floats) -> float:
        """The sum of log-probabilities, by the odds themselves."""
        odds = np.exp(self.features @ weights + self.offset)
        return float((self.weight * np.log(np.where(self.truth, odds / (1 + odds), 1 / (1 + odds)))).sum())

    def gradient(self, weights: Floats) -> Floats:
        chance = 1 / (1 + np.exp(-(self.features @ weights + self.offset)))
        return np.asarray((self.weight * (self.truth - chance)) @ self.features)

    def optimum(self, strength: float) -> Floats:
        """The weights that are best with an L2 penalty, by a method of scipy's own."""

        def loss(w: Floats) -> tuple[float, Floats]:
            margin = np.where(self.truth, 1, -1) * (self.features @ w + self.offset)
            value = -(self.weight * np.logaddexp(0, -margin)).sum() - strength / 2 * w @ w
            return -value, strength * w - self.gradient(w)

        def hessian(w: Floats) -> Floats:
            chance = 1 / (1 + np.exp(-(self.features @ w + self.offset)))
            spread = (self.weight * chance * (1 - chance))[:, None] * self.features
            return np.asarray(self.features.T @ spread + strength * np.eye(len(w)))

        start = np.zeros(self.features.shape[1])
        found = optimize.minimize(loss, start, jac=True, hess=hessian, method="trust-exact", options={"gtol": 1e-11})
        return np.asarray(found.x)


def listed(
    case: Case, program: Program, chosen: frozenset[str], fixed: dict[int, float], *, averaged: bool, opened: bool
) -> Listed:
    """List the atoms of the predicates of rules, or of the open ones, in some examples."""
    # Examples that are not chosen are not there.
    data = case.data if case.data.kind == "one" else replace(case.data, examples=tuple(sorted(chosen)))
    formulas = list(formulas_of(program, data, Names(program.engine, program.layout)))
    mentioned = {atom.predicate for rule in case.rules for atom in atoms_in(rule.formula)}
    blocks = list(_blocks(program, data, chosen))
    rows: list[tuple[list[int], bool, float, float]] = []
    for name in [p for p in case.model.predicates if p in mentioned and (p in case.opened or not opened)]:
        atoms = atoms_of(case, case.data, name, chosen)
        for key in atoms:
            change, held = [0] * program.clause_count, False
            true = data.facts | {atom for atom, label in data.atoms.items() if label}
            for clause, rule, formula in formulas:
                without, with_it = _truths(formula, data, true - {key}), _truths(formula, data, true | {key})
                now, other = (with_it, without) if key in true else (without, with_it)
                if rule.hard:
                    held = held or any(a and not b for a, b in zip(now, other, strict=True))
                else:
                    change[clause] += sum(with_it) - sum(without)
            # Of two atoms of a block not both are true.
            others = [b for a, b in blocks if a == key]
            held = held or (key not in true and any(b in true for b in others))
            if not held:
                rows.append((change, key in true, 1 / len(atoms) if averaged else 1.0, data.priors.get(key, 0.0)))
    features = np.array([row[0] for row in rows], dtype=float).reshape(len(rows), program.clause_count)
    offset = np.array([row[3] for row in rows])
    for clause, weight in fixed.items():
        offset = offset + weight * features[:, clause]
        features[:, clause] = 0
    return Listed(features, np.array([row[1] for row in rows], dtype=bool), np.array([row[2] for row in rows]), offset)


def _truths(formula: Formulas, data: Data, facts: frozenset[Ground]) -> list[bool]:
    formula.data = replace(data, facts=facts, atoms={})
    chosen = None if data.kind == "one" else frozenset(data.examples)
    return [formula.holds(row, frozenset()) for row in formula.groundings(chosen)]


def _blocks(program: Program, data: Data, chosen: frozenset[str]) -> Iterator[tuple[Ground, Ground]]:
    """Yield the pairs of atoms of each block, both ways round."""
    for block in program.blocks:
        keys = [key for key in {*data.facts, *data.atoms} if key[0] == block.predicate]
        inside = program.layout.predicates[block.predicate].types
        outside = [i for i in range(len(inside)) if i not in block.positions]
        places: dict[object, list[Ground]] = {}
        for key in keys:
            places.setdefault((key[1], tuple(key[2][i] for i in outside)), []).append(key)
        for some in places.values():
            yield from ((a, b) for a in some for b in some if a != b)


def is_clause(formula: Formula) -> bool:
    """True if a formula is one clause as it stands."""

    def literal(part: Formula) -> bool:
        return isinstance(part, Atom | Equal) or (isinstance(part, Not) and isinstance(part.body, Atom | Equal))

    match formula:
        case Or(parts):
            return all(map(literal, parts))
        case Implies(And(parts), right):
            return all(isinstance(part, Atom) for part in parts) and is_clause(right)
        case Implies(Atom(), right):
            return is_clause(right)
        case _:
            return literal(formula)
