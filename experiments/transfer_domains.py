"""The real domains between which models are transferred: UW-CSE, IMDB and WebKB, one mega-example a file, and the mappings between them.

The predicates `samecourse`, `sameperson` and `sameproject` of UW-CSE hold identities alone, which is checked, and `=` of the language says that: they
are left out. Most projects stand in nothing else, so that three of the five areas have no project, and `projectmember` no atom there.

The table has the true atoms and all atoms of each predicate and mega-example. All atoms are as many as the products of the domains of their
arguments, where the domain of a type is the constants that the facts of the mega-example have. An area of UW-CSE has 13,062 to 73,029.

    python experiments/transfer_domains.py [--domain NAME] [--db FILE] [--json FILE] [--data DIR]
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from pathlib import Path

from harness import Options, Row, publish, read_options
from relations import TYPES, Facts, Relations, area_files, constants, read_facts

import sqlrl

DOMAINS = ("uw-cse", "imdb", "webkb-relational")
"""The folders of the data."""

IDENTITIES: Mapping[str, tuple[str, ...]] = {"uw-cse": ("samecourse", "sameperson", "sameproject")}
"""The predicates that are read as `=`, by domain."""

LACKING: Mapping[str, tuple[str, ...]] = {"uw-cse": ("projectmember",)}
"""The predicates without a fact in some mega-examples, by domain."""

UW_CSE_TO_IMDB: Mapping[str, str | None] = {
    "student": "actor",
    "professor": "director",
    "advisedby": "workedUnder",
    "publication": "movie",
    "inphase": "gender",
    "hasposition": "genre",
    "courselevel": None,
    "projectmember": None,
    "ta": None,
    "taughtby": None,
    "tempadvisedby": None,
    "yearsinprogram": None,
}
IMDB_TO_UW_CSE: Mapping[str, str | None] = {
    target: source for source, target in UW_CSE_TO_IMDB.items() if target is not None
}
WEBKB_TO_IMDB: Mapping[str, str | None] = {
    "student": "actor",
    "faculty": "director",
    "project": "movie",
    "courseProf": None,
    "courseTA": None,
}

MAPPINGS: Mapping[tuple[str, str], Mapping[str, str | None]] = {
    ("uw-cse", "imdb"): UW_CSE_TO_IMDB,
    ("imdb", "uw-cse"): IMDB_TO_UW_CSE,
    ("webkb-relational", "imdb"): WEBKB_TO_IMDB,
}
"""By source and target: each predicate of the source with its counterpart, None where there is none."""


def predicates(domain: str) -> Mapping[str, Sequence[str]]:
    """Return the predicates of a domain with the types of their arguments, those that are `=` left out."""
    return {name: types for name, types in TYPES[domain].items() if name not in IDENTITIES.get(domain, ())}


def declared(domain: str) -> str:
    """Return the declarations of a domain."""
    return _declarations(predicates(domain))


def _declarations(of: Mapping[str, Sequence[str]]) -> str:
    return "".join(f"{name}({', '.join(types)})\n" for name, types in of.items())


def read_domain(data: Path, domain: str) -> Relations:
    """Read a domain without a target; `dataclasses.replace(found, target=NAME)` predicts one from all others.

    Raises
    ------
    ValueError
        What is read as `=` has a fact that is no identity.
    """
    areas = {}
    for file in area_files(data, domain):
        facts = read_facts(file)
        _check_identities(file, facts, IDENTITIES.get(domain, ()))
        areas[file.stem] = {name: facts.get(name, []) for name in predicates(domain)}
    return Relations(None, predicates(domain), areas)


def _check_identities(file: Path, facts: Facts, names: Sequence[str]) -> None:
    others = [f"{name}({', '.join(row)})" for name in names for row in facts.get(name, ()) if len(set(row)) > 1]
    if others:
        more = f", and {len(others) - 1} more" if len(others) > 1 else ""
        raise ValueError(
            f"{file}: {others[0]}{more} joins two constants, so that {', '.join(names)} cannot be left out as what `=` says: take the fact "
            "out of a copy of the file, or the predicate out of IDENTITIES"
        )


def load_domain(data: Path, domain: str) -> sqlrl.Database:
    """Return a database in which all facts of a domain are observed, each file an example with the name of the file."""
    read_domain(data, domain)  # checks identities
    left_out = IDENTITIES.get(domain, ())
    db = sqlrl.connect()
    files = {file.stem: file for file in area_files(data, domain)}
    model = sqlrl.parse_mln(_declarations(TYPES[domain]))
    db.load(sqlrl.Evidence(files, model, drop=left_out, empty=LACKING.get(domain, ())))
    return db


def sizes(domain: str, relations: Relations) -> list[Row]:
    """Return true and all atoms of each predicate and mega-example, and of all predicates of one."""
    rows: list[Row] = []
    for area, facts in relations.areas.items():
        domains = {
            kind: len(constants(facts, relations.types, kind)) for types in relations.types.values() for kind in types
        }
        counts = {
            name: (len(facts.get(name, ())), prod(domains[x] for x in types)) for name, types in relations.types.items()
        }
        true, atoms = (sum(x) for x in zip(*counts.values(), strict=True))
        for name, (number, of) in {**counts, "all": (true, atoms)}.items():
            rows.append({"domain": domain, "example": area, "predicate": name, "true": number, "atoms": of})
    return rows


def table(options: Options) -> list[Row]:
    """Return the sizes of all domains, or of the one chosen."""
    chosen = options.chosen.get("domain")
    return [row for x in DOMAINS if chosen in (None, x) for row in sizes(x, read_domain(options.data, x))]


def main() -> None:
    """Print the table."""
    options = read_options(
        "The real domains between which models are transferred: true and all atoms of each predicate.",
        needs=DOMAINS,
        choices={"domain": DOMAINS},
    )
    title = "True and all atoms of UW-CSE, IMDB and WebKB, a mega-example a file"
    publish("transfer_domains", table(options), options, title=title, parameters={"left out": dict(IDENTITIES)})


if __name__ == "__main__":
    main()
