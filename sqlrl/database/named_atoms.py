"""Query atoms that users name, such as `Smokes(Anna)`."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from sqlglot import exp

from sqlrl.catalog.bins import constant_name
from sqlrl.catalog.catalog import Catalog
from sqlrl.catalog.layout import Layout, PredicateInfo, TableName
from sqlrl.catalog.similar_names import suggestion
from sqlrl.engine.base import QueryEngine
from sqlrl.engine.nodes import column, named, table, union_all
from sqlrl.errors import InputError, Parameter
from sqlrl.ground.network import IntArray
from sqlrl.logic.evidence import EvidenceAtom, parse_evidence
from sqlrl.logic.terms import Atom, Constant, Literal
from sqlrl.plan.named_clauses import AtomKey
from sqlrl.plan.sources import argument_columns
from sqlrl.training.session import Query, Session
from sqlrl.wording import did_you_mean, nearest_names


def check_atoms(session: Session, asked: Query, atoms: Iterable[str], example: str | None = None) -> None:
    """Refuse texts that name no query atom of some examples; `Advanced.check_atoms` explains it."""
    layout = session.bind(asked.model, asked.roles)
    with session.examples_table(asked.examples) as chosen:
        ids = atoms_of(session.engine, layout, chosen)
    for text in atoms:
        find_atom(session.catalog, layout, text, ids, example)


def find_atom(catalog: Catalog, layout: Layout, text: str, atoms: IntArray, example: str | None = None) -> AtomKey:
    """Return the query atom among `atoms` (ids, ascending) that a text names, such as `InField("b 1", Title, 3)`, or raise InputError."""
    # `layout` is without helper predicates; `example` is needed where the arguments do not say which.
    parsed = _parsed(text)
    info = _open_predicate(layout, parsed)
    written = str(Literal(info.name, tuple(map(Constant, parsed.constants))))
    rows = _rows(catalog, layout, info, parsed.constants, example)
    among = np.isin([row["atom"] for row in rows], atoms).tolist()
    inside = [row for row, found in zip(rows, among, strict=True) if found]
    if len(inside) == 1:
        row = dict(inside[0])
        row.pop("name")
        return AtomKey(info.name, row.pop("atom"), row)
    if inside:
        names = [str(row["name"]) for row in inside]
        shown = ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")
        raise InputError(
            f"{written} is an atom of {len(names):,} examples ({shown}): name one with {Parameter('example')}"
        )
    if rows:
        raise InputError(f"{written} is not among the examples of the prediction: predict its example too")
    raise InputError(f"{written}{_absent(catalog, layout, info, parsed.constants, example)}")


def remark(catalog: Catalog, layout: Layout, atom: Atom) -> str | None:
    """Return why an atom that is asked for is no query atom, such as that it is given, or None; unknown constants are an InputError."""
    # `layout` is without helper predicates.
    info = layout.predicates[atom.predicate]
    places = [i for i, term in enumerate(atom.terms) if isinstance(term, Constant)]
    if unknown := _unknown(catalog, layout, [(info.types[i], atom.terms[i].name) for i in places]):
        raise InputError(f"{atom}: {unknown}")
    # An atom with variables is asked for in all its instances.
    if len(places) < len(atom.terms):
        return None
    constants = tuple(term.name for term in atom.terms)
    if _rows(catalog, layout, info, constants, None):
        return None
    return f"{atom}{_absent(catalog, layout, info, constants, None)}"


def atoms_of(engine: QueryEngine, layout: Layout, examples: TableName | None = None) -> IntArray:
    """Return the ids, ascending, of the query atoms of some examples, a table with a column `example`; None for all examples."""
    # `layout` is without helper predicates.
    queries = []
    for info in layout.predicates.values():
        if info.atoms is not None:
            query = exp.select(column("atom", "a")).from_(table(info.atoms, "a"))
            if examples is not None:
                chosen = exp.Subquery(this=exp.select(column("example")).from_(table(examples)))
                query = query.where(exp.In(this=column("example", "a"), query=chosen))
            queries.append(query)
    found: IntArray = engine.fetch(union_all(queries), step="read the query atoms").column(0).to_numpy()
    return np.sort(found)


def _parsed(text: str) -> EvidenceAtom:
    found = parse_evidence(text, path="the atom")
    if len(found) != 1 or found[0].truth is not True or not text.strip():
        raise InputError(f"{text.strip()!r} is not one atom: write a predicate with constants, such as Smokes(Anna)")
    return found[0]


def _open_predicate(layout: Layout, atom: EvidenceAtom) -> PredicateInfo:
    """Return the predicate of an atom, which must be open and have as many arguments."""
    opened = sorted(p.name for p in layout.predicates.values() if p.open)
    info = layout.predicates.get(atom.predicate)
    if info is None:
        hint = did_you_mean(nearest_names(atom.predicate, layout.predicates))
        raise InputError(f"there is no predicate {atom.predicate}{hint or f': {chr(44).join(opened)} are predicted'}")
    if not info.open:
        verb = "is" if len(opened) == 1 else "are"
        raise InputError(f"{atom.predicate} is evidence and not predicted; {', '.join(opened)} {verb}")
    if len(info.types) != len(atom.constants):
        raise InputError(
            f"{atom.predicate}({', '.join(info.types)}) has {len(info.types)} argument{'s' * (len(info.types) != 1)}, "
            f"but {len(atom.constants)} {'is' if len(atom.constants) == 1 else 'are'} given"
        )
    return info


def _rows(
    catalog: Catalog, layout: Layout, info: PredicateInfo, constants: tuple[str, ...], example: str | None
) -> list[dict[str, int]]:
    """Return the rows of the atom table with these arguments, and the names of their examples."""
    assert info.atoms is not None
    names = dict.fromkeys(["atom", "example", *argument_columns(info)])
    query = exp.select(*(column(name, "a") for name in names), named(column("name", "x"), "name"))
    query = query.from_(table(info.atoms, "a"))
    query = _with_constants(catalog, layout, info, constants, query)
    on = exp.EQ(this=column("example", "x"), expression=column("example", "a"))
    query = query.join(table(layout.examples, "x"), on=on)
    if example is not None:
        query = query.where(exp.EQ(this=column("name", "x"), expression=exp.convert(example)))
    rows: list[dict[str, int]] = catalog.engine.fetch(
        query.order_by(column("atom", "a")), step="find an atom"
    ).to_pylist()
    return rows


def _with_constants(
    catalog: Catalog, layout: Layout, info: PredicateInfo, constants: tuple[str, ...], query: exp.Select
) -> exp.Select:
    """Keep the rows of the alias `a` whose arguments are some constants."""
    known = catalog.store.types()
    for i, (kind, name) in enumerate(zip(info.types, constants, strict=True)):
        text = constant_name(exp.convert(name), known[kind])
        on = exp.EQ(this=column("id", f"d{i}"), expression=column(f"a{i}", "a"))
        query = query.join(table(layout.types[kind].dictionary, f"d{i}"), on=on)
        query = query.where(exp.EQ(this=column("name", f"d{i}"), expression=text))
    return query


def _absent(
    catalog: Catalog, layout: Layout, info: PredicateInfo, constants: tuple[str, ...], example: str | None
) -> str:
    """Return why there is no query atom with these arguments."""
    if unknown := _unknown(catalog, layout, zip(info.types, constants, strict=True)):
        return f": {unknown}"
    if example is not None:
        return f" is no query atom of an example {example!r}"
    if info.has_given:
        said = [column(name, "a") for name in ("truth", *(["value"] if info.valued else []))]
        query = exp.select(*said).from_(table(info.facts, "a")).where(column("given", "a"))
        rows = catalog.engine.fetch(
            _with_constants(catalog, layout, info, constants, query), step="look for given atoms"
        )
        if rows.num_rows:
            row = rows.slice(0, 1).to_pylist()[0]
            value = float(row["truth"]) if row.get("value") is None else row["value"]
            truth = {0.0: "as false", 1.0: "as true"}.get(value, f"with the truth value {value:.6g}")
            return f" is given {truth} by the evidence, and not predicted"
    return " is no query atom: it is outside the scope or the domains, so that it is false"


def _unknown(catalog: Catalog, layout: Layout, constants: Iterable[tuple[str, str]]) -> str | None:
    """Return which of some constants, given with their types, there is not, None if there are all."""
    known = catalog.store.types()
    for kind, name in constants:
        text = constant_name(exp.convert(name), known[kind])
        query = exp.select(column("id")).from_(table(layout.types[kind].dictionary, "d"))
        query = query.where(exp.EQ(this=column("name", "d"), expression=text))
        if not catalog.engine.fetch(query, step=f"look up a constant of {kind}").num_rows:
            return f"there is no {kind} {name!r}{suggestion(catalog.store, known[kind], name)}"
    return None
