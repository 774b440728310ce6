"""The rows that violate a rule, as a query over the views with names that a user can read, run and change.

Each row is a binding of the rule's variables under which the rule as written is false. Positive atoms of what must hold then are joined,
all else is a condition; a variable that no positive atom has ranges over its domain.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from sqlrl.engine.nodes import aliased_table, column, conjunction, integer, join, named, subquery, union_all
from sqlrl.logic.subformulas import atoms_of, conjuncts, subformulas
from sqlrl.logic.terms import (
    And,
    Atom,
    Constant,
    Equal,
    Exist,
    ForAll,
    Formula,
    Iff,
    Implies,
    Not,
    Or,
    Term,
    Variable,
)

EXAMPLE = ""
"""The name of the example that stands in a column of its own; no variable has it."""


@dataclass(frozen=True, slots=True)
class NamedFacts:
    """The view of a predicate's facts with names."""

    view: str
    columns: tuple[str, ...]  # one for each argument
    types: tuple[str, ...]
    example: str | None = None  # the column beside the arguments that holds the example
    truth: str | None = None  # the column that says which rows are true; all are where there is none
    atoms: str | None = None  # the table of query atoms, where some labels are of none and say nothing
    false: bool = False  # those of its atoms that are known to be false


@dataclass(frozen=True, slots=True)
class NamedTables:
    """The tables and views that such queries read."""

    schema: str
    facts: Mapping[str, NamedFacts]
    dictionaries: Mapping[str, str]  # by type
    domains: Mapping[str, str]  # by local type
    example_type: str | None = None
    declared: Mapping[str, Sequence[str]] = field(
        default_factory=dict
    )  # constants that a model declares beyond those of the data
    chosen: Sequence[str] | None = None  # the examples that are asked for, by name; None for all

    @property
    def by_column(self) -> bool:
        """Whether examples stand in a column of their own."""
        return any(facts.example is not None for facts in self.facts.values())

    def relation(self, name: str, alias: str) -> exp.Table:
        """Return a table or view as users write it."""
        return aliased_table(exp.table_(name, db=self.schema, quoted=True), alias)


def violating_rows(formula: Formula, variables: Sequence[tuple[str, str]], tables: NamedTables) -> exp.Select:
    """Plan the bindings of some variables, with their types, under which a formula is false: a column for each, one row for each binding."""
    while isinstance(formula, ForAll):
        formula = formula.body
    writer = _Writer(tables, dict(variables), _examples(formula, tables))
    free = [name for name, _ in variables]
    hidden = [EXAMPLE] if tables.by_column else []
    query, known = writer.bindings(_normal(formula, positive=False), [*hidden, *free], {})
    if tables.chosen is not None:
        query = query.where(_among(tables.chosen, formula, variables, tables, known))
    shown = [named(known[name].copy(), name or "example") for name in (*hidden, *free)]
    return query.select(*(shown or [named(exp.true(), "violated")]))


def _among(
    chosen: Sequence[str], formula: Formula, variables: Sequence[tuple[str, str]], tables: NamedTables, known: _Known
) -> exp.Expression:
    """Return the condition that a binding is about chosen examples, as `BoundShape.restricted` says: all that a rule names are among them."""
    if tables.by_column:
        named_here: list[exp.Expression] = [known[EXAMPLE]]
    else:
        named_here = [known[name] for name, kind in variables if kind == tables.example_type]
        constants = {term.name for term in _examples(formula, tables) if isinstance(term, Constant)}
        named_here += [exp.Literal.string(name) for name in sorted(constants)]
    if not chosen or not named_here:
        # All data are one example, or the rule is about all of them.
        return exp.true() if chosen else exp.false()
    listed = [exp.Literal.string(name) for name in chosen]
    asked = conjunction([exp.In(this=here.copy(), expressions=[x.copy() for x in listed]) for here in named_here])
    assert asked is not None, "it names an example"
    return asked


# ---- formulas whose negations stand before atoms and quantifiers ---------------------------------------


def _normal(formula: Formula, *, positive: bool) -> Formula:
    """Return a formula, or its negation, with negations only before atoms, equalities and EXIST."""
    match formula:
        case Not(body):
            return _normal(body, positive=not positive)
        case And(parts):
            return (And if positive else Or)(tuple(_normal(part, positive=positive) for part in parts))
        case Or(parts):
            return (Or if positive else And)(tuple(_normal(part, positive=positive) for part in parts))
        case Implies(left, right):
            return _normal(Or((Not(left), right)), positive=positive)
        case Iff(left, right):
            return _normal(Or((And((left, right)), And((Not(left), Not(right))))), positive=positive)
        case Exist(variables, body):
            found = Exist(variables, _normal(body, positive=True))
            return found if positive else Not(found)
        case ForAll(variables, body):
            found = Exist(variables, _normal(body, positive=False))
            return Not(found) if positive else found
        case _:
            return formula if positive else Not(formula)


def _examples(formula: Formula, tables: NamedTables) -> frozenset[Term]:
    """Return the terms of a formula that are examples."""
    return frozenset(term for atom in atoms_of(formula) for term in _examples_of(atom, tables))


def _examples_of(atom: Atom, tables: NamedTables) -> frozenset[Term]:
    types = tables.facts[atom.predicate].types
    return frozenset(
        Variable(term.name) if isinstance(term, Variable) else term
        for term, kind in zip(atom.terms, types, strict=True)
        if kind == tables.example_type
    )


# ---- queries -------------------------------------------------------------------------------------------

_Known = dict[str, exp.Expression]


class _Writer:
    """Writes formulas as queries; each relation has an alias of its own."""

    def __init__(self, tables: NamedTables, types: Mapping[str, str], examples: frozenset[Term]) -> None:
        self.tables, self.types, self.examples = tables, types, examples
        self._next = 0

    def bindings(
        self, formula: Formula, free: Sequence[str], known: Mapping[str, exp.Expression]
    ) -> tuple[exp.Select, _Known]:
        """Return a query, without columns yet, whose rows are the bindings of `free` that satisfy a formula, and what each variable is there."""
        types = {**self.types, **self._types(formula)}
        inside: _Known = {name: value for name, value in known.items() if name not in free}
        query, conditions, rest = exp.select(), list[exp.Expression](), list[Formula]()
        for part in conjuncts(formula):
            if isinstance(part, Atom):
                relation, same = self._relation(part, inside)
                self._join(query, relation, same, conditions)
            else:
                rest.append(part)
        # Of a local type the example has to be known first.
        for name in sorted(free, key=lambda name: types.get(name) in self.tables.domains):
            if name not in inside:
                relation, same = self._domain(name, types, formula, inside)
                self._join(query, relation, same, conditions)
        conditions += self._inside(formula, free, types, inside)
        conditions += [self._condition(part, inside) for part in rest]
        where = conjunction(conditions)
        return (query if where is None else query.where(where)), inside

    def _alias(self) -> str:
        self._next += 1
        return f"t{self._next}"

    def _join(
        self, query: exp.Select, relation: exp.Expression, same: list[exp.Expression], conditions: list[exp.Expression]
    ) -> None:
        """Join a relation to a query, which is changed."""
        if query.args.get("from_") is None and query.args.get("from") is None:
            query.from_(relation, copy=False)
            conditions += same
        else:
            join(query, relation, conjunction(same), "INNER" if same else "CROSS")

    def _relation(self, atom: Atom, known: _Known) -> tuple[exp.Expression, list[exp.Expression]]:
        """Return the facts of an atom, and what ties them to what is known; new variables become known."""
        facts, alias = self.tables.facts[atom.predicate], self._alias()
        same: list[exp.Expression] = []
        pairs: list[tuple[str, Term]] = list(zip(facts.columns, atom.terms, strict=True))
        if facts.example is not None:
            pairs.insert(0, (facts.example, Variable(EXAMPLE)))
        for name, term in pairs:
            here = column(name, alias)
            if isinstance(term, Constant):
                same.append(exp.EQ(this=here, expression=exp.Literal.string(term.name)))
            elif term.name in known:
                same.append(exp.EQ(this=here, expression=known[term.name].copy()))
            else:
                known[term.name] = here
        if facts.atoms is not None:
            return subquery(self._labelled(facts), alias), same
        if facts.truth is not None:
            same.append(column(facts.truth, alias))
        return self.tables.relation(facts.view, alias), same

    def _labelled(self, facts: NamedFacts) -> exp.Query:
        """Return the names of the true query atoms of a predicate, or of the false ones, and of its given ones."""
        assert facts.atoms is not None
        assert facts.truth is not None

        def holds(here: exp.Expression) -> exp.Expression:
            """Return the condition that a row is one of those."""
            return exp.Not(this=here) if facts.false else here

        labels = exp.select().from_(self.tables.relation(facts.atoms, "a")).where(holds(column("truth", "a")))
        shown, given = [], []
        for i, (name, kind) in enumerate(zip(facts.columns, facts.types, strict=True)):
            on = exp.EQ(this=column("id", f"d{i}"), expression=column(f"a{i}", "a"))
            join(labels, self.tables.relation(self.tables.dictionaries[kind], f"d{i}"), on, "INNER")
            shown.append(named(column("name", f"d{i}"), name))
            given.append(column(name, "g"))
        if facts.example is not None:
            on = exp.EQ(this=column("example", "e"), expression=column("example", "a"))
            join(labels, self.tables.relation("example", "e"), on, "INNER")
            shown.append(named(column("name", "e"), facts.example))
            given.append(column(facts.example, "g"))
        evidence = exp.select(*given).from_(self.tables.relation(facts.view, "g"))
        evidence = evidence.where(exp.And(this=holds(column(facts.truth, "g")), expression=column("given", "g")))
        return union_all([labels.select(*shown), evidence])

    def _condition(self, formula: Formula, known: _Known) -> exp.Expression:
        """Return a formula as a condition on what is known."""
        match formula:
            case Not(body):
                return exp.Not(this=exp.Paren(this=self._condition(body, known)))
            case And(parts):
                return exp.Paren(this=exp.and_(*(self._condition(part, known) for part in parts)))
            case Or(parts):
                return exp.Paren(this=exp.or_(*(self._condition(part, known) for part in parts)))
            case Equal(left, right):
                return exp.EQ(this=self._term(left, known), expression=self._term(right, known))
            case Exist(variables, body):
                query, _ = self.bindings(body, variables, known)
                return exp.Exists(this=query.select(integer(1)))
            case _:
                query, _ = self.bindings(formula, (), known)
                return exp.Exists(this=query.select(integer(1)))

    def _term(self, term: Term, known: _Known) -> exp.Expression:
        return exp.Literal.string(term.name) if isinstance(term, Constant) else known[term.name].copy()

    # ---- domains ----------------------------------------------------------------------------------------

    def _types(self, formula: Formula) -> dict[str, str]:
        """Return the types of the variables of a formula, across equalities."""
        found: dict[str, str] = {}
        for atom in atoms_of(formula):
            for term, kind in zip(atom.terms, self.tables.facts[atom.predicate].types, strict=True):
                if isinstance(term, Variable):
                    found[term.name] = kind
        pairs = [part for part in subformulas(formula) if isinstance(part, Equal)]
        for _ in pairs:
            for pair in pairs:
                for one, other in ((pair.left, pair.right), (pair.right, pair.left)):
                    if isinstance(one, Variable) and isinstance(other, Variable) and other.name in found:
                        found.setdefault(one.name, found[other.name])
        return found

    def _owners(self, name: str, types: Mapping[str, str], formula: Formula) -> frozenset[Term]:
        """Return the examples in whose domains a variable of a local type ranges; none of another type."""
        if types[name] not in self.tables.domains:
            return frozenset()
        if self.tables.by_column:
            return frozenset([Variable(EXAMPLE)])
        beside = [
            _examples_of(atom, self.tables)
            for atom in atoms_of(formula)
            if any(isinstance(t, Variable) and t.name == name for t in atom.terms)
        ]
        found = frozenset[Term]().union(*beside)
        return found or (self.examples if len(self.examples) == 1 else found)

    def _domain(
        self, name: str, types: Mapping[str, str], formula: Formula, known: _Known
    ) -> tuple[exp.Expression, list[exp.Expression]]:
        """Return the domain of a variable that no fact binds."""
        alias = self._alias()
        known[name] = column("name", alias)
        if name == EXAMPLE:
            return self.tables.relation("example", alias), []
        owners = self._owners(name, types, formula)
        if not any(self._is_known(owner, known) for owner in owners):
            return self._whole_type(types[name], alias), []
        owner = next(owner for owner in sorted(owners, key=str) if self._is_known(owner, known))
        source = subquery(self._domain_rows(types[name]), alias)
        return source, [exp.EQ(this=column("example", alias), expression=self._term(owner, known))]

    def _whole_type(self, kind: str, alias: str) -> exp.Expression:
        """Return the constants of a type."""
        dictionary, further = self.tables.dictionaries[kind], self.tables.declared.get(kind, ())
        if not further:
            return self.tables.relation(dictionary, alias)
        known = exp.select(column("name", "d")).from_(self.tables.relation(dictionary, "d"))
        listed = exp.Unnest(expressions=[exp.Array(expressions=[exp.Literal.string(name) for name in further])])
        return subquery(union_all([known, exp.select(named(listed, "name"))]), alias)

    def _is_known(self, term: Term, known: _Known) -> bool:
        return isinstance(term, Constant) or term.name in known

    def _domain_rows(self, kind: str) -> exp.Select:
        """Return the constants of each example."""
        query = exp.select(named(column("name", "e"), "example"), column("name", "d"))
        query = query.from_(self.tables.relation(self.tables.domains[kind], "m"))
        on = exp.EQ(this=column("example", "e"), expression=column("example", "m"))
        join(query, self.tables.relation("example", "e"), on, "INNER")
        on = exp.EQ(this=column("id", "d"), expression=column("id", "m"))
        return join(query, self.tables.relation(self.tables.dictionaries[kind], "d"), on, "INNER")

    def _inside(
        self, formula: Formula, free: Sequence[str], types: Mapping[str, str], known: _Known
    ) -> Iterator[exp.Expression]:
        """Yield conditions that keep variables in the domains of their examples, where facts do not."""
        positive = [part for part in conjuncts(formula) if isinstance(part, Atom)]
        for name in free:
            if name == EXAMPLE:
                continue
            kept = {
                frozenset([Variable(EXAMPLE)])
                if self.tables.facts[atom.predicate].example is not None
                else _examples_of(atom, self.tables)
                for atom in positive
                if any(isinstance(t, Variable) and t.name == name for t in atom.terms)
            }
            for owner in sorted(self._owners(name, types, formula), key=str):
                if frozenset([owner]) in kept or not self._is_known(owner, known):
                    continue
                alias = self._alias()
                same = [
                    exp.EQ(this=column("example", alias), expression=self._term(owner, known)),
                    exp.EQ(this=column("name", alias), expression=known[name].copy()),
                ]
                rows = exp.select(integer(1)).from_(subquery(self._domain_rows(types[name]), alias))
                yield exp.Exists(this=rows.where(conjunction(same)))
