"""Sparse relations by areas: read from Alchemy's databases, one file an area, or generated with rules that are known.

In a sparse relation few pairs of an area are true (advisers of 278 people: 113 of 16,714 pairs), so a rule that is right half of the time
says much. An area is an example: constants and facts of one have nothing to do with another's.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np
import pyarrow as pa

import sqlrl

Tuple = tuple[str, ...]
Facts = Mapping[str, Sequence[Tuple]]

ATOM = re.compile(r"(\w+)\(([^)]*)\)")


@dataclass(frozen=True)
class Relations:
    """Facts of some areas about a target and what may explain it.

    Parameters
    ----------
    target : str or None
        None where all facts are observed.
    types : mapping of str to sequence of str
        Of the arguments of each predicate.
    areas : mapping of str to mapping
        The facts of each area by predicate, the target's among them.
    """

    target: str | None
    types: Mapping[str, Sequence[str]]
    areas: Mapping[str, Facts]

    def load(self) -> sqlrl.Database:
        """Return a database with each area as an example; of the target all tuples are query atoms, also of constants that nothing else has."""
        db = sqlrl.connect()
        for name, types in self.types.items():
            rows = [(*row, area) for area, facts in self.areas.items() for row in facts.get(name, ())]
            names = [f"a{k}" for k in range(len(types))]
            source = _table(rows, len(types))
            role = name == self.target
            db.load(name, source, columns=names, types=types, example="example", target=role, empty="allow")
        if self.target is not None:
            pairs = [(*pair, area) for area in self.areas for pair in self.pairs(area)]
            db.scope(self.target, _table(pairs, len(self.types[self.target])))
        return db

    def pairs(self, area: str, predicate: str | None = None) -> list[Tuple]:
        """Return the tuples of the types of a predicate, by default the target, in an area, whether they are true or not, in order."""
        name = predicate or self.target
        if name is None:
            raise ValueError("no target: name the predicate whose tuples you want")
        return list(product(*(constants(self.areas[area], self.types, kind) for kind in self.types[name])))


def _table(rows: Sequence[Tuple], arity: int) -> pa.Table:
    """Return rows whose last value is the area as a table; `area` is the name of a type in some domains."""
    names = [*(f"a{k}" for k in range(arity)), "example"]
    return pa.table({name: pa.array([row[k] for row in rows], pa.string()) for k, name in enumerate(names)})


def constants(facts: Facts, types: Mapping[str, Sequence[str]], kind: str) -> list[str]:
    """Return the constants of a type in the facts of an area, those of a target among them, in order."""
    found = {
        value for name, rows in facts.items() for row in rows for value, own in zip(row, types[name], strict=True) if own == kind
    }  # fmt: skip
    return sorted(found)


# ---- what is read ----------------------------------------------------------------------------------------------------

LINKS: Mapping[str, tuple[str, str]] = {
    "uw-cse": ("uw-cse", "advisedby"),
    "imdb": ("imdb", "workedUnder"),
    "webkb-ta": ("webkb-relational", "courseTA"),
    "webkb-prof": ("webkb-relational", "courseProf"),
}
"""The folder of each data set, and the link that is learned."""

TYPES: Mapping[str, Mapping[str, Sequence[str]]] = {
    "uw-cse": {
        "advisedby": ("person", "person"), "courselevel": ("course", "level"), "hasposition": ("person", "position"),
        "inphase": ("person", "phase"), "professor": ("person",), "projectmember": ("project", "person"),
        "publication": ("title", "person"), "samecourse": ("course", "course"), "sameperson": ("person", "person"),
        "sameproject": ("project", "project"), "student": ("person",), "ta": ("course", "person", "quarter"),
        "taughtby": ("course", "person", "quarter"), "tempadvisedby": ("person", "person"), "yearsinprogram": ("person", "years"),
    },
    "imdb": {
        "actor": ("person",), "director": ("person",), "gender": ("person", "sex"), "genre": ("person", "kind"),
        "movie": ("title", "person"), "workedUnder": ("person", "person"),
    },
    "webkb-relational": {
        "courseProf": ("course", "person"), "courseTA": ("course", "person"), "faculty": ("person",),
        "project": ("project", "person"), "student": ("person",),
    },
}  # fmt: skip
"""The databases declare nothing; these are the types that their constants share."""


def read_relations(data: Path, name: str) -> Relations:
    """Read one of `LINKS`; an area is a file."""
    folder, target = LINKS[name]
    return Relations(target, TYPES[folder], {file.stem: read_facts(file) for file in area_files(data, folder)})


def area_files(data: Path, folder: str) -> list[Path]:
    """Return the files of a data set, one for each area, in order of their names."""
    return sorted((data / folder).glob("*.db"))


def read_facts(file: Path) -> dict[str, list[Tuple]]:
    """Return the facts of an Alchemy database by predicate, each once."""
    found: dict[str, dict[Tuple, None]] = {}
    for name, arguments in ATOM.findall(file.read_text(encoding="utf-8")):
        found.setdefault(name, {})[tuple(x.strip() for x in arguments.split(","))] = None
    return {name: list(rows) for name, rows in found.items()}


# ---- what is generated -----------------------------------------------------------------------------------------------

GENERATED = "Guides"
GENERATED_TYPES: Mapping[str, Sequence[str]] = {
    GENERATED: ("person", "person"),
    "Pupil": ("person",),
    "Staff": ("person",),
    "Rank": ("person", "rank"),
    "Stage": ("person", "stage"),
    "Wrote": ("title", "person"),
    "Taught": ("course", "person", "term"),
    "Assisted": ("course", "person", "term"),
    "Grade": ("course", "grade"),
}
TERMS = [f"T{k}" for k in range(12)]
RULES = (
    (0.5, "Wrote(t, a) ^ Wrote(t, b) ^ Pupil(a) ^ Staff(b) => Guides(a, b)"),
    (0.3, "Assisted(c, a, q) ^ Taught(c, b, q) ^ Stage(a, Late) => Guides(a, b)"),
    (0.01, "Pupil(a) ^ Rank(b, Full) => Guides(a, b)"),
)
"""What makes a pair true, each with its probability, where the facts before any is lost make its body true."""


def generate_relations(seed: int, areas: int = 5, staff: int = 14, pupils: int = 42, lost: float = 0.15) -> Relations:
    """Make areas in which `RULES` say who guides whom; afterwards a share `lost` of all other facts is taken away.

    Most titles are written, and most courses assisted, within a lab: a member of the staff and some pupils. Terms and grades are drawn at
    random, so most of what can be said of a pair is chance. Nobody has two guides.
    """
    random = np.random.default_rng(seed)
    return Relations(
        GENERATED, GENERATED_TYPES, {f"area{k}": _area(random, f"A{k}", staff, pupils, lost) for k in range(areas)}
    )


def _area(random: np.random.Generator, name: str, staff: int, pupils: int, lost: float) -> dict[str, list[Tuple]]:
    """Make the facts of one area."""

    def some(of: Sequence[str], count: int) -> list[str]:
        return [of[i] for i in random.choice(len(of), size=min(count, len(of)), replace=False)]

    seniors, juniors = [f"{name}s{k}" for k in range(staff)], [f"{name}p{k}" for k in range(pupils)]
    lab = dict(zip(juniors, random.choice(seniors, size=pupils).tolist(), strict=True))
    ranks = random.choice(["Full", "Associate", "Assistant", "Adjunct"], size=staff, p=[0.5, 0.2, 0.2, 0.1])
    stages = random.choice(["Early", "Middle", "Late"], size=pupils)
    rank, stage = dict(zip(seniors, ranks.tolist(), strict=True)), dict(zip(juniors, stages.tolist(), strict=True))
    facts: dict[str, list[Tuple]] = {
        "Pupil": [(p,) for p in juniors], "Staff": [(s,) for s in seniors], "Rank": list(rank.items()),
        "Stage": list(stage.items()), "Wrote": [], "Taught": [], "Assisted": [], "Grade": [],
    }  # fmt: skip
    for k in range(2 * pupils):
        first = some(seniors, 1)[0]
        team = [first, *some([p for p in juniors if lab[p] == first], int(random.integers(0, 3)))]
        team += some([*seniors, *juniors], int(random.random() < 0.3))
        facts["Wrote"] += [(f"{name}t{k}", person) for person in dict.fromkeys(team)]
    for k in range(2 * staff):
        course = f"{name}c{k}"
        facts["Grade"].append((course, str(random.choice(["Basic", "Advanced"]))))
        for term in some(TERMS, 2):
            teacher = some(seniors, 1)[0]
            helpers = [p for p in juniors if lab[p] == teacher] if random.random() < 0.5 else juniors
            facts["Taught"].append((course, teacher, term))
            facts["Assisted"] += [(course, person, term) for person in some(helpers, int(random.integers(0, 3)))]
    guides = _guides(random, facts, juniors, seniors)
    kept = {x: [row for row in rows if random.random() >= lost] for x, rows in facts.items()}
    return {**kept, GENERATED: guides}


def _guides(
    random: np.random.Generator, facts: Mapping[str, Sequence[Tuple]], juniors: Sequence[str], seniors: Sequence[str]
) -> list[Tuple]:
    """Draw who guides whom, by `RULES`."""
    rank, stage = ({row[0]: row[1] for row in facts[x]} for x in ("Rank", "Stage"))
    wrote: dict[str, set[str]] = {}
    for title, person in facts["Wrote"]:
        wrote.setdefault(title, set()).add(person)
    together = {(a, b) for team in wrote.values() for a in team for b in team}
    taught = {(course, term): person for course, person, term in facts["Taught"]}
    helped = {(a, taught[c, q]) for c, a, q in facts["Assisted"] if stage[a] == "Late"}
    found: list[Tuple] = []
    for a in juniors:
        bodies = {b: ((a, b) in together, (a, b) in helped, rank[b] == "Full") for b in seniors}
        false = {b: np.prod([1 - p for (p, _), body in zip(RULES, x, strict=True) if body]) for b, x in bodies.items()}
        true = [b for b in seniors if random.random() >= false[b]]
        if true:
            found.append((a, true[int(random.integers(len(true)))]))
    return found
