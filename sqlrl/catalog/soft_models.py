"""What the catalog asks of a soft model: declarations with the types of the data, and which predicates and constants its rules name."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from sqlrl.catalog.store import Store
from sqlrl.errors import CatalogError, ModelError, Parameter, Written
from sqlrl.logic.model import Model, Rule
from sqlrl.logic.psl import CONSTANT_KINDS, SoftModel, SoftRule
from sqlrl.logic.psl_literals import terms_of_literal
from sqlrl.logic.saving import SOFT
from sqlrl.logic.terms import And, Atom, Constant, Equal, EqualityLiteral, Literal, Term, Variable

Place = tuple[str, int]
"""A predicate and the position of an argument."""


def declarations(model: SoftModel) -> Model:
    """Return a model with a soft model's declarations, whose rules are the atoms of its rules and their comparisons with constants."""
    # That is all that binding asks of rules: what they name, and where.
    rules = tuple(each for rule in model.rules for each in _named_by(rule))
    return Model(model.predicates, rules=rules, query=model.query, semantics=SOFT)


def _named_by(rule: SoftRule) -> Iterator[Rule]:
    """Yield each atom of a rule as a rule, and each comparison with a constant beside an atom that gives it its type."""
    of_variable: dict[str, Atom] = {}
    for literal in rule.literals:
        if isinstance(literal, Literal):
            atom = Atom(literal.predicate, tuple(map(_plain, literal.terms)))
            yield Rule(atom, line=rule.line, path=rule.path)
            for term in atom.terms:
                if isinstance(term, Variable):
                    of_variable.setdefault(term.name, atom)
    for literal in rule.literals:
        if isinstance(literal, EqualityLiteral):
            left, right = _plain(literal.left), _plain(literal.right)
            known = [of_variable[t.name] for t in (left, right) if isinstance(t, Variable) and t.name in of_variable]
            if known and any(isinstance(term, Constant) for term in (left, right)):
                yield Rule(And((known[0], Equal(left, right))), line=rule.line, path=rule.path)


def _plain(term: Term) -> Term:
    """Return a term without the mark of a sum."""
    return Variable(term.name) if isinstance(term, Variable) else term


def typed(store: Store, model: SoftModel) -> SoftModel:
    """Return a soft model with the types that its predicates have in the data; declared types stay as they are."""
    loaded = {name for name, _ in store.sources()}
    known: dict[Place, str] = {}
    for name, record in store.predicates().items():
        if name in loaded and name in model.predicates and len(record.types) == len(model.predicates[name].arguments):
            known |= {(name, i): kind for i, kind in enumerate(record.types) if kind is not None}
    own = {(p.name, i): kind for p in model.predicates.values() for i, kind in enumerate(p.types)}
    # Arguments of a kind of constants have no type of their own: they have that of the data, and where the data have none that of an
    # argument with which a variable of a rule connects them.
    declared = {place: kind for place, kind in own.items() if kind not in CONSTANT_KINDS}
    found = known | declared
    for places in _connected(model):
        kinds = {found[place] for place in places if place in found}
        if len(kinds) == 1:
            found |= dict.fromkeys(places, kinds.pop())
    types = {
        p.name: [found.get((p.name, i), kind) for i, kind in enumerate(p.types)] for p in model.predicates.values()
    }
    try:
        return model.with_types(types)
    except ModelError as error:
        raise CatalogError(
            f"{error}, as the data have it: load one of the two again with the type of the other ({Parameter('types', Written('[...]'))})"
        ) from error


def _connected(model: SoftModel) -> list[set[Place]]:
    """Return the arguments of predicates that variables of rules, and comparisons of two, connect."""
    group: dict[Place, set[Place]] = {}

    def join(places: set[Place]) -> None:
        whole = places.union(*(group[place] for place in places if place in group))
        group.update(dict.fromkeys(whole, whole))

    for rule in model.rules:
        of_variable: dict[str, set[Place]] = defaultdict(set)
        for literal in rule.literals:
            if isinstance(literal, Literal):
                for i, term in enumerate(literal.terms):
                    if isinstance(term, Variable):
                        of_variable[term.name].add((literal.predicate, i))
        for places in of_variable.values():
            join(places)
        for literal in rule.literals:
            if not isinstance(literal, Literal):
                names = [term.name for term in terms_of_literal(literal) if isinstance(term, Variable)]
                if places := set().union(*(of_variable[name] for name in names)):
                    join(places)
    unique = {id(places): places for places in group.values()}
    return list(unique.values())
