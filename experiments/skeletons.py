"""Data that are generated in two steps: a skeleton says some of them, and the most probable world of a model written by hand completes it.

A most probable world has no chance in it, so whatever in the data goes against the rules is in the skeleton. Each skeleton becomes an example, and
all of them are one prediction, which the library divides.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import pyarrow as pa
from relations import Facts, Relations, Tuple

import sqlrl
from sqlrl.logic.subformulas import atoms_of


@dataclass(frozen=True, slots=True)
class Domain:
    """Predicates with the types of their arguments, those that are completed, and rules with weights; a skeleton says all of the others."""

    name: str
    types: Mapping[str, Sequence[str]]
    completed: tuple[str, ...]
    rules: str

    @property
    def declared(self) -> str:
        """The declarations of all predicates."""
        return "".join(f"{name}({', '.join(types)})\n" for name, types in self.types.items())

    def model(self, targets: Sequence[str] = ()) -> sqlrl.Model:
        """Return the model written by hand; with targets, those rules that say something of them, where all else is observed."""
        model = sqlrl.parse_mln(self.declared + self.rules, query=tuple(targets))
        about = [any(atom.predicate in targets for atom in atoms_of(rule.formula)) for rule in model.rules]
        return model.with_rules(tuple(r for r, x in zip(model.rules, about, strict=True) if x)) if targets else model


@dataclass(frozen=True, slots=True)
class Skeleton:
    """What is known of an example: its constants by type, and by predicate tuples with their truth.

    Tuples of a completed predicate that are not there are unspecified, those of another one false.
    """

    constants: Mapping[str, Sequence[str]]
    known: Mapping[str, Mapping[Tuple, bool]]


def complete(domain: Domain, skeletons: Mapping[str, Skeleton]) -> Relations:
    """Return examples of the names of their skeletons: what is known, and the most probable world of what is not; none has a target."""
    true = {
        predicate: {
            name: {row for row, truth in skeleton.known[predicate].items() if truth}
            for name, skeleton in skeletons.items()
        }
        for predicate in domain.types
    }
    with sqlrl.connect(progress=False) as db:
        for predicate, types in domain.types.items():
            known = [(name, *row, truth) for name, x in skeletons.items() for row, truth in x.known[predicate].items()]
            columns = [f"a{k}" for k in range(len(types))]
            table = _table(("example", *columns, "truth"), known)
            given = predicate in domain.completed
            # In few examples nothing may be known of a predicate.
            db.load(
                predicate, table, columns=columns, types=types, example="example", truth="truth", given=given,
                empty="allow",
            )  # fmt: skip
            if given:
                every = [
                    (name, *row) for name, x in skeletons.items() for row in product(*(x.constants[t] for t in types))
                ]
                db.scope(predicate, _table(("example", *columns), every))
        prediction = db.predict(domain.model(domain.completed))
        for predicate in domain.completed:
            for name, *row in zip(*(x.to_pylist() for x in prediction.atoms(predicate).columns[:-1]), strict=True):
                true[predicate][name].add(tuple(row))
    areas = {name: {predicate: sorted(true[predicate][name]) for predicate in domain.types} for name in skeletons}
    return Relations(None, domain.types, areas)


def _table(names: Sequence[str], rows: Sequence[tuple[object, ...]]) -> pa.Table:
    kinds = [pa.bool_() if name == "truth" else pa.string() for name in names]
    return pa.table({name: pa.array([row[k] for row in rows], kinds[k]) for k, name in enumerate(names)})


def true_atoms(facts: Facts) -> int:
    """Return how many atoms of an example are true."""
    return sum(map(len, facts.values()))
