"""Evidence atoms, as Alchemy's `.db` files hold them, into tables."""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa
from sqlglot import exp

from sqlrl.catalog.columns import LoadOptions, Mapped
from sqlrl.catalog.declaring import declare
from sqlrl.catalog.dictionary import did_you_mean, nearest_names
from sqlrl.catalog.loading import register, write_rows
from sqlrl.catalog.sources import Source, file_fingerprint
from sqlrl.catalog.store import Store, argument_columns
from sqlrl.engine.nodes import column
from sqlrl.errors import LoadError
from sqlrl.logic.evidence import EvidenceAtom, read_evidence
from sqlrl.logic.model import Model

_SHOWN = 5


def load_evidence(
    store: Store, atoms: Iterable[EvidenceAtom] | str | Path, model: Model, *, given: bool = False, target: bool = False
) -> None:
    """Load evidence atoms; `Catalog.load_evidence` explains it."""
    label, fingerprint = "the evidence", ""
    if isinstance(atoms, str | Path):
        path = Path(atoms).expanduser()
        label, fingerprint = str(path), file_fingerprint(path)
        if fingerprint == "missing":
            raise LoadError(f"{label}: there is no such file. The working directory is {Path.cwd()}.")
        atoms = read_evidence(path, model_or_predicates=model)
    groups: dict[tuple[str, str], list[EvidenceAtom]] = {}
    opened = model.query | {name for name, record in store.predicates().items() if record.open}
    for atom in atoms:
        hard = "label" if target else "given" if given and atom.predicate in opened else "fact"
        role = "soft" if atom.truth is None else hard
        groups.setdefault((atom.predicate, role), []).append(atom)
    _check(groups, model, label)
    with store.writing():
        declare(store, model)
        for (predicate, role), found in sorted(groups.items()):
            _load_group(store, predicate, role, found, label, fingerprint)


def _check(groups: dict[tuple[str, str], list[EvidenceAtom]], model: Model, label: str) -> None:
    """Refuse unknown predicates, wrong arities, probabilities that are none, duplicates and contradictions, all together."""
    faults: list[str] = []
    for (predicate, _), atoms in sorted(groups.items()):
        declared = model.predicates.get(predicate)
        if declared is None:
            like = did_you_mean(nearest_names(predicate, model.predicates))
            faults.append(f"line {atoms[0].line}: {predicate} is not declared{like}")
            continue
        for atom in atoms:
            if len(atom.constants) != len(declared.arguments):
                faults.append(
                    f"line {atom.line}: {predicate} has {len(declared.arguments)} arguments, found {len(atom.constants)}"
                )
            if atom.probability is not None and not 0 <= atom.probability <= 1:
                faults.append(f"line {atom.line}: probability {atom.probability} is outside [0, 1]")
    faults += _contradictions(groups)
    if faults:
        more = f"\n  and {len(faults) - _SHOWN} more" if len(faults) > _SHOWN else ""
        raise LoadError(f"{label}: " + "\n  ".join(faults[:_SHOWN]) + more)


def _contradictions(groups: dict[tuple[str, str], list[EvidenceAtom]]) -> list[str]:
    """Describe atoms that stand twice with different values; equal lines are one fact, as in Alchemy."""
    faults = []
    seen: dict[tuple[str, tuple[str, ...]], EvidenceAtom] = {}
    for atoms in groups.values():
        for atom in atoms:
            first = seen.setdefault((atom.predicate, atom.constants), atom)
            if (first.truth, first.probability) != (atom.truth, atom.probability):
                name = f"{atom.predicate}({', '.join(atom.constants)})"
                lines = sorted((first.line, atom.line))
                faults.append(f"lines {lines[0]} and {lines[1]} contradict each other about {name}: remove one")
    return faults


def _load_group(
    store: Store, predicate: str, role: str, atoms: list[EvidenceAtom], label: str, fingerprint: str
) -> None:
    """Load the atoms of one predicate and role."""
    unique = list({a.constants: a for a in atoms}.values())
    record = store.predicates()[predicate]
    arity = len(record.arguments)
    arrays: dict[str, pa.Array] = {
        name: pa.array([a.constants[i] for a in unique], pa.string()) for i, name in enumerate(argument_columns(arity))
    }
    signed = role == "soft" or not all(a.truth for a in unique)
    if signed or not arity:
        arrays["truth"] = pa.array([_truth(a) for a in unique], pa.bool_())
    if role == "soft":
        arrays["prior"] = pa.array([_prior(a) for a in unique], pa.float64())
    data = pa.table(arrays)
    with store.engine.attached(data) as table:
        source = Source(table, dict.fromkeys(data.column_names, "VARCHAR"), label, "object", fingerprint)
        loaded = write_rows(
            store,
            record,
            exp.select(*map(column, data.column_names)).from_(table),
            role,
            source=source,
            fingerprint=fingerprint,
            options=LoadOptions(),
            example=False,
            signed=signed,
            soft=role == "soft",
        )
        register(store, record, loaded, Mapped(tuple(argument_columns(arity))))


def _truth(atom: EvidenceAtom) -> bool | None:
    """Return the truth of an atom, None if it is soft or unknown."""
    if atom.truth is None and atom.probability in (0.0, 1.0):
        return atom.probability == 1.0
    return atom.truth


def _prior(atom: EvidenceAtom) -> float | None:
    """Return the log-odds of soft evidence: 0 for an unknown atom, None for hard evidence."""
    if _truth(atom) is not None:
        return None
    p = 0.5 if atom.probability is None else atom.probability
    return math.log(p / (1.0 - p))
