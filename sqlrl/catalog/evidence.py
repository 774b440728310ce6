"""Evidence atoms, as Alchemy's `.db` files hold them, into tables."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
from sqlglot import exp

from sqlrl import markup
from sqlrl.arguments import predicate_names
from sqlrl.catalog.bins import check_pieces
from sqlrl.catalog.columns import Mapped
from sqlrl.catalog.cooccurrence import with_inferred_types
from sqlrl.catalog.declarations import declare, list_constants
from sqlrl.catalog.dictionary import check_numbers
from sqlrl.catalog.fingerprints import file_fingerprint
from sqlrl.catalog.image import argument_columns
from sqlrl.catalog.loading import register, with_sources, write_rows
from sqlrl.catalog.options import LoadOptions
from sqlrl.catalog.sources import LoadRows, LoadSource
from sqlrl.catalog.store import Store
from sqlrl.catalog.views import show_loaded
from sqlrl.engine.nodes import column
from sqlrl.errors import DoubleQuoted, LoadError, LoadWarning, Parameter, Phrase, warn
from sqlrl.logic.evidence import EvidenceAtom, parse_domains, parse_evidence
from sqlrl.logic.lexer import read_text
from sqlrl.logic.model import Model
from sqlrl.paths import expanded
from sqlrl.wording import check_characters, counted, did_you_mean, nearest_names

_SHOWN = 5
_UNNAMED = "the evidence"

EvidenceSource = (
    Iterable[EvidenceAtom] | Iterable[str | Path] | str | Path | Mapping[str, str | Path | Iterable[EvidenceAtom]]
)


@dataclass(frozen=True)
class Evidence:
    r"""Evidence atoms to load, as Alchemy's `.db` files have them: `db.load(Evidence(...))`. Constants take the model's types.

    A later load may be of other predicates or roles. The same files again take the place of what they held before;
    other files with facts of the same predicates and roles are refused, unless they are to replace them.

    Parameters
    ----------
    source : path, list of paths, text, iterable of EvidenceAtom, or mapping of str to path or atoms
        `P(A)` true, `!P(A)` false, `0.8 P(A)` soft, `?P(A)` unknown. A text of several lines has the atoms themselves. Several files count as one; in
        a mapping each is an example, whose name is the key.
    model : Model, optional
        Declares the predicates. Those of a mapping that it does not declare, or all without a model, get types from the constants
        that arguments share: at least a quarter of those of the one that has fewer.
    given : bool
        Facts of predicates that are predicted, now or by a later model, are evidence, not labels.
    target : bool or collection of str
        The predicates to be predicted, whose facts are labels: every one in the files, or those that are named.
    duplicates : {"error", "drop", "warn"}
        What to do with atoms that stand more than once with the same value; "warn" drops them with a warning.
    empty : {"error", "allow", "warn"} or collection of str
        What to do with a file that has no atoms, and with an example without facts of a predicate of which others have some: they
        are false there. Names are of predicates that examples may lack.
    replace : bool
        Facts loaded before, of the same predicates and roles, are replaced.
    drop : str or iterable of str
        Predicates of the model whose facts are skipped.

    Raises
    ------
    ParseError
        When it is loaded: a line does not parse.
    LoadError, CatalogError
        When it is loaded: with all faults, their files and lines; nothing has changed then.

    Examples
    --------
    >>> import sqlrl
    >>> model = sqlrl.parse_mln("Smokes(person)\n1 Smokes(x)")
    >>> db = sqlrl.connect()
    >>> db.load(sqlrl.Evidence("Smokes(Anna)\nSmokes(Anna)", model))
    Traceback (most recent call last):
    sqlrl.errors.LoadError: the evidence: duplicate facts: Smokes(Anna) (lines 1 and 2): remove the repetitions or pass duplicates="drop"
    >>> loaded = db.load(sqlrl.Evidence("Smokes(Anna)\nSmokes(Bob)", model))
    >>> db.tables()["facts"]
    [2]
    >>> folds = {"ai": "Advises(Ann, Bob)\nStudent(Bob)", "graphics": "Advises(Cid, Dan)\nStudent(Dan)"}
    >>> universities = sqlrl.connect()
    >>> print(universities.load(sqlrl.Evidence(folds)))
    Advises(advises_1, advises_2)
    Student(advises_2)
    <BLANKLINE>
    >>> universities.sql("from sqlrl.named_Student").fetchall()
    [('ai', 'Bob'), ('graphics', 'Dan')]
    """

    source: EvidenceSource
    model: Model | None = None
    given: bool = False
    target: bool | Collection[str] = False
    duplicates: str = "error"
    empty: str | Collection[str] = "error"
    replace: bool = False
    drop: Iterable[str] = ()
    _repr_html_ = markup.field_table

    def __post_init__(self) -> None:
        object.__setattr__(self, "drop", frozenset(predicate_names("drop", self.drop)))


class _File(NamedTuple):
    """A file, or atoms without one, and its contents."""

    label: str  # As the user named it.
    fingerprint: str
    atoms: Sequence[EvidenceAtom]
    address: str  # Its full path.
    domains: Mapping[str, Sequence[str]] = {}
    example: str | None = None  # The example that the file is; None if files are not examples.


class _Found(NamedTuple):
    """An atom, the number of the file in which it stands, and the example that the file is, if it is one."""

    atom: EvidenceAtom
    file: int
    example: str | None = None


_Groups = Mapping[tuple[str, str], list[_Found]]
"""Atoms by predicate and role."""


def load_evidence(store: Store, options: Evidence) -> Model:
    """Load evidence atoms, and return the model, which declares all their predicates."""
    evidence, model = options.source, options.model
    _check_options(options)
    dropped = frozenset(options.drop)
    # Facts of dropped predicates are read as the model declares them, and skipped.
    if model is None or isinstance(evidence, Mapping):
        whole = list(_examples(evidence) if isinstance(evidence, Mapping) else _files(evidence, None))
        known = Model({}) if model is None else model
        atoms = (atom for file in whole for atom in file.atoms)
        model = replace(known, predicates=with_inferred_types(atoms, known.predicates))
    else:
        whole = list(_files(evidence, model))
    kept = model.without(dropped)
    files = [cut for file in whole if (cut := _without(file, dropped)).atoms or not file.atoms]
    model = kept
    groups = _grouped(store, files, model, options)
    _check(groups, files, model, options)
    before = {source.source for source in store.sources().values()}
    with store.writing():
        _make_room(store, groups, files, model, replacing=options.replace)
        declare(store, model)
        _list_constants(store, files)
        for (predicate, role), found in sorted(groups.items()):
            _load_group(store, predicate, role, found, files, given=options.given)
        for address in sorted(before - {source.source for source in store.sources().values()}):
            list_constants(store, address, {})
    return model


def _without(file: _File, drop: Collection[str]) -> _File:
    """Return a file without the facts of some predicates."""
    return file._replace(atoms=[a for a in file.atoms if a.predicate not in drop]) if drop else file


def _check_options(options: Evidence) -> None:
    """Refuse options that do not exist."""
    choices = {"duplicates": ("error", "drop", "warn"), "empty": ("error", "allow", "warn")}
    for name, allowed in choices.items():
        if name == "empty" and not isinstance(options.empty, str):
            continue
        if getattr(options, name) not in allowed:
            texts = f"{', '.join(map(repr, allowed[:-1]))} or {allowed[-1]!r}"
            raise LoadError(f"{Phrase('Evidence')}: {Parameter(name, getattr(options, name))} must be {texts}.")
    if options.target is True and options.given:
        raise LoadError(
            f"{Phrase('Evidence')}: {Parameter('target', True)} makes facts labels, {Parameter('given', True)} makes them evidence: choose one."
        )


def _targets(options: Evidence, model: Model) -> frozenset[str]:
    """Return the predicates whose facts are labels; one that there is not is a LoadError."""
    if isinstance(options.target, bool):
        return frozenset(model.predicates if options.target else ())
    names = frozenset([options.target] if isinstance(options.target, str) else options.target)
    for name in sorted(names - model.predicates.keys(), key=str):
        like = did_you_mean(nearest_names(str(name), model.predicates))
        raise LoadError(
            f"{Phrase('Evidence')}: {Parameter('target')} names {name!r}, of which there is no fact and no declaration{like}"
        )
    return names


def _examples(evidence: Mapping[str, str | Path | Iterable[EvidenceAtom]]) -> Iterator[_File]:
    """Yield the examples of a mapping, read and parsed; each is a file, or atoms without one."""
    if not evidence:
        raise LoadError(f"{Phrase('Evidence')}: the mapping has no example: give the name and the file of each.")
    for name, source in evidence.items():
        key: object = name
        if not isinstance(key, str) or not key:
            raise LoadError(f"{Phrase('Evidence')}: {key!r} cannot be the name of an example: give a text.")
        check_characters(name, "the name of an example")
        found = list(_files(source, None))
        if len(found) != 1:
            raise LoadError(
                f"{Phrase('Evidence')}: the example {name} is {counted(len(found), 'file')}: give one file, or its atoms."
            )
        label = f"{_UNNAMED} of {name}" if found[0].label == _UNNAMED else found[0].label
        yield found[0]._replace(label=label, example=name)


def _files(evidence: EvidenceSource, model: Model | None) -> Iterator[_File]:
    """Yield the files that were named, read and parsed; atoms given as such are one file without a name."""
    if isinstance(evidence, str) and "\n" in evidence:
        found = parse_evidence(evidence, model_or_predicates=model)
        yield _File(_UNNAMED, "", found, _UNNAMED, parse_domains(evidence))
        return
    if isinstance(evidence, str | Path):
        evidence = [evidence]
    atoms: list[EvidenceAtom] = []
    for item in evidence:
        if isinstance(item, str | Path):
            path = expanded(item)
            fingerprint = file_fingerprint(path)
            if fingerprint == "missing":
                raise LoadError(f"{path}: there is no such file. The working directory is {Path.cwd()}.")
            text = read_text(path, parse="sqlrl.parse_evidence")
            found = parse_evidence(text, path=str(path), model_or_predicates=model)
            yield _File(str(path), fingerprint, found, str(path.absolute()), parse_domains(text, path=str(path)))
        elif isinstance(item, EvidenceAtom):
            atoms.append(item)
        else:
            raise LoadError(f"{Phrase('Evidence')} takes paths or evidence atoms, not {item!r}.")
    if atoms:
        yield _File(_UNNAMED, "", atoms, _UNNAMED)


def _grouped(store: Store, files: Sequence[_File], model: Model, options: Evidence) -> _Groups:
    """Return the atoms by predicate and role."""
    groups: dict[tuple[str, str], list[_Found]] = {}
    # What an earlier model had open says nothing of these facts.
    opened = model.query | {name for name, role in store.sources() if role in ("label", "given", "soft")}
    opened |= {name for name, record in store.predicates().items() if record.scope is not None}
    targets = _targets(options, model)
    for number, file in enumerate(files):
        for atom in file.atoms:
            hard = (
                "label"
                if atom.predicate in targets
                else "given"
                if options.given and atom.predicate in opened
                else "fact"
            )
            role = "soft" if atom.truth is None else hard
            groups.setdefault((atom.predicate, role), []).append(_Found(atom, number, file.example))
    return groups


def _check(groups: _Groups, files: Sequence[_File], model: Model, options: Evidence) -> None:
    """Refuse unknown predicates, wrong arities, probabilities that are none, contradictions, duplicates and empty files, all together."""
    faults: list[str] = []
    for (predicate, _), found in sorted(groups.items()):
        declared = model.predicates.get(predicate)
        if declared is None:
            like = did_you_mean(nearest_names(predicate, model.predicates))
            faults.append(f"{_places(files, found[0])}: {predicate} is not declared{like}")
            continue
        arity = len(declared.arguments)
        for each in found:
            atom = each.atom
            if len(atom.constants) != arity:
                problem = f"{predicate} has {counted(arity, 'argument')}, found {len(atom.constants)}"
                faults.append(f"{_places(files, each)}: {problem}")
            if atom.probability is not None and not 0 <= atom.probability <= 1:
                faults.append(f"{_places(files, each)}: probability {atom.probability} is outside [0, 1]")
    contradictions, repeated = _repetitions(groups)
    faults += [
        f"{_places(files, one, other)} contradict each other about {_text(one.atom)}: remove one"
        for one, other in contradictions
    ]
    if repeated and options.duplicates == "error":
        faults.append(
            f"{_duplicates(files, repeated)}: remove the repetitions or pass {Parameter('duplicates', DoubleQuoted('drop'))}"
        )
    faults += _lacking(files, options)
    nothing = [file.label for file in files if not file.atoms and not file.domains] if files else [_UNNAMED]
    kinds = {kind for declared in model.predicates.values() for kind in declared.types}
    for file in files:
        for kind in sorted(file.domains.keys() - kinds):
            like = did_you_mean(nearest_names(kind, kinds))
            faults.append(f"{file.label} lists constants of {kind!r}, which is no type of the model{like}")
    empty = "there are no atoms" + (f" in {', '.join(nothing)}" if len(files) > 1 else "")
    if nothing and options.empty not in ("allow", "warn"):
        faults.append(f"{empty}; pass {Parameter('empty', DoubleQuoted('allow'))} if that is right")
    label = _label(files)
    if faults:
        more = f"\n  and {len(faults) - _SHOWN} more" if len(faults) > _SHOWN else ""
        raise LoadError(f"{label}: " + "\n  ".join(faults[:_SHOWN]) + more)
    if repeated and options.duplicates == "warn":
        warn(f"{label}: {_duplicates(files, repeated)}; each counts once", LoadWarning)
    if nothing and options.empty == "warn":
        warn(f"{label}: {empty}", LoadWarning)


def _lacking(files: Sequence[_File], options: Evidence) -> list[str]:
    """Describe predicates that some examples have and others lack, unless they may be empty: a name may be misspelt there."""
    held = {file.label: {atom.predicate for atom in file.atoms} for file in files if file.example is not None}
    every = set().union(*held.values()) if held else set()
    may_lack = set() if isinstance(options.empty, str) else set(options.empty)
    faults = [f"{Parameter('empty')} names {name}, of which no example has facts" for name in sorted(may_lack - every)]
    if options.empty in ("allow", "warn"):
        return []
    lacking = {label: sorted(every - found - may_lack) for label, found in held.items() if found}
    texts = [f"{label} has no facts of {', '.join(names)}" for label, names in lacking.items() if names]
    if texts:
        names = sorted({name for found in lacking.values() for name in found})
        faults.append(
            f"{'; '.join(texts)}, of which other examples have some: pass {Parameter('empty', names)} if there are none (they are false), or correct the "
            "names"
        )
    return faults


def _repetitions(groups: _Groups) -> tuple[list[tuple[_Found, _Found]], list[tuple[_Found, _Found]]]:
    """Return pairs of the first and a later place of an atom: those with another value, and those with the same."""
    contradictions: list[tuple[_Found, _Found]] = []
    repeated: list[tuple[_Found, _Found]] = []
    seen: dict[tuple[str, tuple[str, ...], str | None], _Found] = {}
    for found in groups.values():
        for each in found:
            atom = each.atom
            first = seen.setdefault((atom.predicate, atom.constants, each.example), each)
            if first is each:
                continue
            same = (first.atom.truth, first.atom.probability) == (atom.truth, atom.probability)
            # Groups come by role, so the later place may be met first.
            pair = (first, each) if (first.file, first.atom.line) <= (each.file, atom.line) else (each, first)
            (repeated if same else contradictions).append(pair)
    return contradictions, repeated


def _duplicates(files: Sequence[_File], repeated: Sequence[tuple[_Found, _Found]]) -> str:
    """Describe atoms that stand more than once."""
    shown = [f"{_text(one.atom)} ({_places(files, one, other)})" for one, other in repeated[:_SHOWN]]
    more = f" and {counted(len(repeated) - _SHOWN, 'other')}" if len(repeated) > _SHOWN else ""
    return f"duplicate facts: {', '.join(shown)}{more}"


def _places(files: Sequence[_File], *found: _Found) -> str:
    """Return where atoms stand: lines, with the names of the files if there are several."""
    if len(files) > 1:
        return " and ".join(f"{files[f.file].label}:{f.atom.line}" for f in found)
    lines = " and ".join(str(f.atom.line) for f in found)
    return f"line{'s' if len(found) > 1 else ''} {lines}"


def _text(atom: EvidenceAtom) -> str:
    """Return an atom as text."""
    return f"{atom.predicate}({', '.join(atom.constants)})"


def _label(files: Sequence[_File]) -> str:
    """Return what messages call the files."""
    return ", ".join(file.label for file in files) or _UNNAMED


def _address(files: Sequence[_File]) -> str:
    """Return what the catalog calls the files: their full paths."""
    return ", ".join(file.address for file in files) or _UNNAMED


def _make_room(store: Store, groups: _Groups, files: Sequence[_File], model: Model, *, replacing: bool) -> None:
    """Refuse to replace what other files said of the same predicates, and forget what these files said before."""
    label, address, sources = _label(files), _address(files), store.sources()
    again = {key for key, source in sources.items() if source.source == address and address != _UNNAMED}
    faults = [
        f"{predicate} has facts from {sources[predicate, role].source} already"
        for predicate, role in sorted(groups)
        if (predicate, role) in sources and (predicate, role) not in again
    ]
    if faults and not replacing:
        raise LoadError(
            f"{label}: {'; '.join(faults)}: name all files in one {Phrase('Evidence')}, or pass {Parameter('replace', True)} to put these facts in "
            "their place."
        )
    known = store.predicates()
    # What is to be replaced is forgotten at once if the model gives its predicate other types.
    retyped = {key for key in groups.keys() & sources.keys() if known[key[0]].types != model.predicates[key[0]].types}
    for predicate, role in sorted((again - groups.keys()) | retyped):
        _forget(store, predicate, role)


def _forget(store: Store, predicate: str, role: str) -> None:
    """Remove what was loaded of a predicate in one role."""
    record, storage = store.predicates()[predicate], store.sources()[predicate, role].storage
    store.drop_view(record.readable)
    store.drop(storage)
    store.forget_source(predicate, role)
    left = {r for name, r in store.sources() if name == predicate}
    store.save_predicate(
        replace(
            with_sources(store, record),
            facts=None if record.facts == storage else record.facts,
            open=bool({"label", "given", "soft"} & left),
        )
    )
    show_loaded(store, predicate)
    store.set_state("stale", "1")
    store.touch()


def _list_constants(store: Store, files: Sequence[_File]) -> None:
    """Add the constants that files list beside their facts."""
    listed: dict[str, list[str]] = {}
    for file in files:
        for kind, constants in file.domains.items():
            listed.setdefault(kind, []).extend(constants)
    types = store.types()
    for kind, constants in listed.items():
        if types[kind].numeric:
            check_numbers(store, types[kind], constants, "evidence lists")
        elif types[kind].edges is not None:
            check_pieces(types[kind], constants, "evidence lists")
    list_constants(store, _address(files), listed)


def _load_group(
    store: Store, predicate: str, role: str, found: Sequence[_Found], files: Sequence[_File], *, given: bool
) -> None:
    """Load the atoms of one predicate and role; with `given` they are evidence, also where a later model predicts the predicate."""
    last = list({(f.atom.constants, f.example): f for f in found}.values())
    unique, example = [f.atom for f in last], files[0].example is not None
    record = store.predicates()[predicate]
    arity = len(record.arguments)
    arrays: dict[str, pa.Array] = {
        name: pa.array([a.constants[i] for a in unique], pa.string()) for i, name in enumerate(argument_columns(arity))
    }
    if example:
        arrays = {"example": pa.array([f.example for f in last], pa.string()), **arrays}
    signed = role == "soft" or not all(a.truth for a in unique)
    if signed or not (arity or example):
        arrays["truth"] = pa.array([_truth(a) for a in unique], pa.bool_())
    if role == "soft":
        arrays["prior"] = pa.array([_prior(a) for a in unique], pa.float64())
    data = pa.table(arrays)
    fingerprint = " ".join(file.fingerprint for file in files)
    with store.engine.attached(data) as table:
        kinds = dict.fromkeys(data.column_names, "VARCHAR")
        source = LoadSource(table, kinds, _label(files), "object", fingerprint, _address(files))
        options = LoadOptions(files=[file.address for file in files], given=given)
        extra = [*(["truth"] if signed else []), *(["prior"] if role == "soft" else [])]
        query = exp.select(*map(column, data.column_names)).from_(table)
        rows = LoadRows(record, query, source, role, fingerprint, options, example, extra)
        register(store, record, write_rows(store, rows), Mapped(tuple(argument_columns(arity))))


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
