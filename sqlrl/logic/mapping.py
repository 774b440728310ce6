"""Mappings of a source domain's predicates and constants to those of a target domain: given ones, and the legal ones of a clause.

Source: Mihalkova and Mooney, "Transfer Learning with Markov Logic Networks" (2006), figure 1: a given mapping, `None` for predicates
without a counterpart. To search for the mapping clause by clause is later work (Mihalkova, Huynh and Mooney 2007). `mapping_parser` reads
the files, `transfer` says what a model becomes under one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import TypeVar

from sqlrl import markup
from sqlrl.errors import InputError, ModelError
from sqlrl.logic.conjunctions import TextPlace, fault
from sqlrl.logic.lexer import nearest
from sqlrl.logic.printer import is_identifier
from sqlrl.logic.terms import Constant, Predicate
from sqlrl.wording import check_characters, counted, shortened

NONE = "None"
"""The word for no counterpart, which is therefore no name of a predicate."""

Declarations = Mapping[str, Predicate]

_WIDEST = 100
"""Characters of the constants of a type on one line; where there are more, each has a line."""


# ---- the mapping -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PredicatePair:
    """A source predicate and its counterpart, None if it has none."""

    source: str
    target: str | None
    # The types of the arguments, where they were written.
    source_types: tuple[str, ...] | None = field(default=None, compare=False)
    target_types: tuple[str, ...] | None = field(default=None, compare=False)
    place: TextPlace | None = field(default=None, compare=False, repr=False)
    _repr_html_ = markup.field_table

    def __str__(self) -> str:
        return f"{_signature(self.source, self.source_types)} -> {_signature(self.target, self.target_types)}"


@dataclass(frozen=True, slots=True)
class ConstantPair:
    """A source constant of a source type and its counterpart, None if it has none."""

    type: str
    source: str
    target: str | None
    place: TextPlace | None = field(default=None, compare=False, repr=False)
    type_place: TextPlace | None = field(default=None, compare=False, repr=False)  # where its type stands
    _repr_html_ = markup.field_table

    def __str__(self) -> str:
        return f"{format_constant(self.source)} -> {NONE if self.target is None else format_constant(self.target)}"


@dataclass(frozen=True, slots=True, init=False)
class PredicateMapping:
    """Which predicate and which constant of a target domain stands for which one of a source domain.

    Parameters
    ----------
    predicates : mapping of str to str or None, or iterable of PredicatePair
        The counterpart of each source predicate, None for no one. Predicates that are not named have none either.
    constants : mapping of str to mapping of str to str or None, or iterable of ConstantPair
        For a source type the counterparts of its constants. Constants that are not named have none; two may have the same one.

    Raises
    ------
    ModelError
        A name that the language cannot write, a predicate or constant that is mapped twice, or two predicates that are mapped to
        one. All of that is said at once.
    InputError
        Something else than names.

    Examples
    --------
    >>> from sqlrl import PredicateMapping
    >>> mapping = PredicateMapping({"student": "actor", "inPhase": None}, {"position": {"Faculty": "Lead"}})
    >>> print(mapping)
    student -> actor
    inPhase -> None
    <BLANKLINE>
    position = {Faculty -> Lead}
    <BLANKLINE>
    >>> mapping.targets["student"]
    'actor'
    """

    predicates: tuple[PredicatePair, ...]
    constants: tuple[ConstantPair, ...]
    _repr_html_ = markup.field_table

    def __init__(
        self,
        predicates: Mapping[str, str | None] | Iterable[PredicatePair],
        constants: Mapping[str, Mapping[str, str | None]] | Iterable[ConstantPair] = (),
    ) -> None:
        object.__setattr__(self, "predicates", _predicate_pairs(predicates))
        # Those of a type together, as they are printed.
        by_type: dict[str, list[ConstantPair]] = {}
        for pair in _constant_pairs(constants):
            by_type.setdefault(pair.type, []).append(pair)
        object.__setattr__(self, "constants", tuple(pair for pairs in by_type.values() for pair in pairs))
        _raise([*_faults_of_names(self), *_repeated(self)])

    @property
    def targets(self) -> dict[str, str | None]:
        """The counterpart of each predicate that is named."""
        return {pair.source: pair.target for pair in self.predicates}

    @property
    def constant_targets(self) -> dict[tuple[str, str], str | None]:
        """The counterpart of each constant that is named, by type and constant."""
        return {(pair.type, pair.source): pair.target for pair in self.constants}

    def types(self, source: Declarations, target: Declarations) -> dict[str, str]:
        r"""Check the mapping against declarations, and return the target type of each source type that it implies.

        A pair of predicates maps the types of their arguments, in order: `publication(title, person)` to `movie(movie, person)`
        maps `title` to `movie` and `person` to `person`. Two source types may have the same image, but no type two.

        Parameters
        ----------
        source, target : mapping of str to Predicate
            The declarations of the two domains, as `Model.predicates` has them.

        Returns
        -------
        dict of str to str
            Types that only predicates without a counterpart have are absent.

        Raises
        ------
        ModelError
            Unknown predicates and types, predicates of different arity, types that were written otherwise than they are declared,
            and predicates that contradict each other in the types. All of that is said at once; what was read shows its line.

        Examples
        --------
        >>> from sqlrl import PredicateMapping, parse_mln
        >>> source = parse_mln("student(person)\npublication(title, person)").predicates
        >>> target = parse_mln("actor(person)\nmovie(movie, person)\ncredits(person, movie)").predicates
        >>> PredicateMapping({"student": "actor", "publication": "movie"}).types(source, target)
        {'person': 'person', 'title': 'movie'}
        >>> PredicateMapping({"student": "actor", "publication": "credits"}).types(source, target)
        Traceback (most recent call last):
            ...
        sqlrl.errors.ModelError: publication(title, person) -> credits(person, movie) maps the type person to movie, but student(person) -> actor(person) maps it to person: a type has one counterpart, so map one of the two to another predicate or to None
        """
        faults: list[str] = []
        images: dict[str, tuple[str, PredicatePair]] = {}
        for pair in self.predicates:
            found = _declaration_faults(pair, source, target) or _type_faults(pair, source, target, images)
            faults += [str(fault(problem, pair.place)) for problem in found]
        kinds = dict.fromkeys(kind for predicate in source.values() for kind in predicate.types)
        for kind, place in dict.fromkeys((each.type, each.type_place) for each in self.constants):
            if kind not in kinds:
                hint = nearest(kind, kinds) or f": {_listed('the source declares', kinds)}"
                faults.append(str(fault(f"there is no source type {kind!r}{hint}", place)))
        _raise(faults)
        return {kind: image for kind, (image, _) in images.items()}

    def inverse(self, source: Declarations, target: Declarations) -> PredicateMapping:
        r"""Return the mapping from the target to the source, without what has no counterpart.

        Parameters
        ----------
        source, target : mapping of str to Predicate
            The declarations of the two domains of this mapping.

        Returns
        -------
        PredicateMapping

        Raises
        ------
        ModelError
            As in `types`; also for two constants that are mapped to one.

        Examples
        --------
        >>> from sqlrl import PredicateMapping, parse_mln
        >>> source, target = (parse_mln(text).predicates for text in ("p(a)\nr(a)", "q(b)"))
        >>> print(PredicateMapping({"p": "q", "r": None}, {"a": {"A": "B"}}).inverse(source, target))
        q -> p
        <BLANKLINE>
        b = {B -> A}
        <BLANKLINE>
        """
        types = self.types(source, target)
        predicates = [
            PredicatePair(pair.target, pair.source, pair.target_types, pair.source_types, pair.place)
            for pair in self.predicates
            if pair.target is not None
        ]
        constants: dict[tuple[str, str], ConstantPair] = {}
        faults: list[str] = []
        for pair in self.constants:
            if pair.target is None or pair.type not in types:
                continue
            back = ConstantPair(types[pair.type], pair.target, pair.source, pair.place, pair.type_place)
            first = constants.setdefault((back.type, back.source), back)
            if first is not back:
                both = f"the constants {format_constant(str(first.target))} and {format_constant(pair.source)}"
                problem = f"{both} are both mapped to {format_constant(pair.target)}, which therefore has no counterpart in the inverse: map one of them to None"
                faults.append(str(fault(problem, pair.place)))
        _raise(faults)
        return PredicateMapping(predicates, constants.values())

    def __str__(self) -> str:
        """Return the mapping as text; it parses to an equal one."""
        blocks = ["\n".join(map(str, self.predicates))]
        for kind in dict.fromkeys(pair.type for pair in self.constants):
            pairs = [str(pair) for pair in self.constants if pair.type == kind]
            line = f"{kind} = {{{', '.join(pairs)}}}"
            blocks.append(line if len(line) <= _WIDEST else f"{kind} = {{\n  {(',' + chr(10) + '  ').join(pairs)}\n}}")
        return "\n\n".join(filter(None, blocks)) + "\n"


def _signature(name: str | None, types: tuple[str, ...] | None) -> str:
    return NONE if name is None else name if types is None else f"{name}({', '.join(types)})"


def format_constant(name: str) -> str:
    """Return a constant as text; one that is called None has quotes."""
    return f'"{NONE}"' if name == NONE else str(Constant(name))


def _raise(faults: Sequence[str]) -> None:
    if faults:
        raise ModelError("\n".join(faults))


# ---- what a mapping is made of -----------------------------------------------------------------------

_Pair = TypeVar("_Pair", PredicatePair, ConstantPair)


def _predicate_pairs(given: object) -> tuple[PredicatePair, ...]:
    if isinstance(given, Mapping):
        return tuple(PredicatePair(_name(k, "a predicate"), _target(v, k)) for k, v in given.items())
    return _pairs(given, PredicatePair, "predicates", "{'student': 'actor'}")


def _constant_pairs(given: object) -> tuple[ConstantPair, ...]:
    if not isinstance(given, Mapping):
        return _pairs(given, ConstantPair, "constants", "{'position': {'Faculty': 'Lead'}}")
    found = []
    for kind, constants in given.items():
        if not isinstance(constants, Mapping):
            raise InputError(
                f"the constants of the type {shortened(str(kind))} are {shortened(repr(constants))}: give a dict, as "
                "{'position': {'Faculty': 'Lead'}}"
            )
        name = _name(kind, "a type")
        found += [ConstantPair(name, _name(k, "a constant"), _target(v, k)) for k, v in constants.items()]
    return tuple(found)


def _pairs(given: object, kind: type[_Pair], what: str, example: str) -> tuple[_Pair, ...]:
    if not isinstance(given, Iterable) or isinstance(given, str):
        raise InputError(f"the {what} of a mapping are {shortened(repr(given))}: give a dict, as {example}")
    found: list[_Pair] = []
    for each in given:
        if not isinstance(each, kind):
            raise InputError(f"the {what} of a mapping have {shortened(repr(each))}: give a dict, as {example}")
        found.append(each)
    return tuple(found)


def _name(given: object, what: str) -> str:
    if not isinstance(given, str):
        raise InputError(f"a mapping has {shortened(repr(given))} as {what}: give its name")
    return given


def _target(given: object, source: object) -> str | None:
    if given is not None and not isinstance(given, str):
        raise InputError(f"a mapping has {shortened(repr(given))} as the counterpart of {source}: give a name, or None")
    return given


def _faults_of_names(mapping: PredicateMapping) -> list[str]:
    """Say which names the language cannot write."""
    faults = []
    for pair in mapping.predicates:
        if pair.source == NONE:
            problem = f"{NONE!r} is no predicate but the word for no counterpart: a target predicate that stands for none needs no line"
            faults.append(str(fault(problem, pair.place)))
        if pair.target == NONE:
            problem = f"{NONE!r} is no predicate but the word for no counterpart of {pair.source}: write {NONE} without quotes"
            faults.append(str(fault(problem, pair.place)))
        types = [("type", name) for name in (*(pair.source_types or ()), *(pair.target_types or ()))]
        for what, name in (("predicate", pair.source), ("predicate", pair.target), *types):
            if name is not None and not is_identifier(name):
                faults.append(str(fault(_cannot_write(name, what), pair.place)))
    faults += [
        str(fault(_cannot_write(kind, "type"), place))
        for kind, place in dict.fromkeys((each.type, each.type_place) for each in mapping.constants)
        if not is_identifier(kind)
    ]
    for each in mapping.constants:
        for name in filter(None, (each.source, each.target)):
            check_characters(name, "the constant")
    return faults


def _cannot_write(name: str, what: str) -> str:
    return f"{shortened(repr(name))} cannot be the name of a {what}: a name is a letter and then letters, digits and underscores"


def _repeated(mapping: PredicateMapping) -> list[str]:
    """Say what is mapped twice, and what two predicates are mapped to."""
    faults: list[str] = []
    sources: dict[str, PredicatePair] = {}
    targets: dict[str, PredicatePair] = {}
    for pair in mapping.predicates:
        first = sources.setdefault(pair.source, pair)
        if first is not pair:
            problem = f"{pair.source} is mapped already{_line_of(first.place)}: a predicate has one counterpart"
            faults.append(str(fault(problem, pair.place)))
            continue
        other = pair if pair.target is None else targets.setdefault(pair.target, pair)
        if other is not pair:
            problem = (
                f"{pair.target} is already the counterpart of {other.source}{_line_of(other.place)}: map one of {other.source} and "
                f"{pair.source} to another predicate or to None"
            )
            faults.append(str(fault(problem, pair.place)))
    constants: dict[tuple[str, str], ConstantPair] = {}
    for each in mapping.constants:
        known = constants.setdefault((each.type, each.source), each)
        if known is not each:
            problem = f"{format_constant(each.source)} of the type {each.type} is mapped already{_line_of(known.place)}: a constant has one counterpart"
            faults.append(str(fault(problem, each.place)))
    return faults


def _line_of(place: TextPlace | None) -> str:
    return "" if place is None else f" in line {place.line}"


# ---- a mapping against declarations ------------------------------------------------------------------


def _declaration_faults(pair: PredicatePair, source: Declarations, target: Declarations) -> list[str]:
    """Say which predicates of a pair are unknown, written otherwise than they are declared, or differ in arity."""
    faults = []
    for side, name, types, declared in (
        ("source", pair.source, pair.source_types, source),
        ("target", pair.target, pair.target_types, target),
    ):
        if name is None:
            continue
        if name not in declared:
            like = nearest(name, declared) or f": {_listed(f'the {side} declares', declared)}"
            if side == "target" and name.lower() in ("none", "null", "nothing"):
                like = f": write {NONE} for no counterpart"
            faults.append(f"there is no {side} predicate {name!r}{like}")
        elif types is not None and types != declared[name].types:
            as_declared = _signature(name, declared[name].types)
            faults.append(
                f"{_signature(name, types)} is declared as {as_declared}: write the types as declared, or the name alone"
            )
    if not faults and pair.target is not None:
        one, other = len(source[pair.source].types), len(target[pair.target].types)
        if one != other:
            faults.append(
                f"{pair.source} has {counted(one, 'argument')}, and {pair.target} has {other}: map it to a predicate with as many, "
                "or to None"
            )
    return faults


def _listed(verb: str, names: Iterable[str]) -> str:
    return f"{verb} {shortened(', '.join(names) or 'none')}"


def _type_faults(
    pair: PredicatePair, source: Declarations, target: Declarations, images: dict[str, tuple[str, PredicatePair]]
) -> list[str]:
    """Note which target types a pair maps its types to; say which type has another image by a pair before, or by this one."""
    if pair.target is None:
        return []
    faults: dict[str, str] = {}
    noted = dict(images)
    own = (
        f"{_signature(pair.source, source[pair.source].types)} -> {_signature(pair.target, target[pair.target].types)}"
    )
    for kind, image in zip(source[pair.source].types, target[pair.target].types, strict=True):
        first, by = noted.setdefault(kind, (image, pair))
        if first == image:
            continue
        if by is pair:
            problem = f"{own} maps the type {kind} to {first} and to {image}: a type has one counterpart, so map {pair.source} to another predicate or to None"
        else:
            types = source[by.source].types, target[str(by.target)].types
            before = f"{_signature(by.source, types[0])} -> {_signature(by.target, types[1])}"
            problem = (
                f"{own} maps the type {kind} to {image}, but {before} maps it to {first}: a type has one counterpart, so map one of the "
                "two to another predicate or to None"
            )
        faults.setdefault(kind, problem)
    if not faults:
        # What a faulty pair says of other types would only make right pairs look faulty.
        images.update(noted)
    return list(faults.values())


# ---- legal mappings of a clause's predicates ---------------------------------------------------------


def legal_mappings(predicates: Iterable[str], source: Declarations, target: Declarations) -> Iterator[PredicateMapping]:
    """Yield the mappings of all given predicates, each to one with as many arguments, no two to the same one and no
    type to two, ordered by the target's declarations, the last predicate's counterpart changing fastest.
    """
    names = tuple(dict.fromkeys(predicates))
    chosen = _choices(names, source, target)
    return (PredicateMapping(dict(zip(names, targets, strict=True))) for targets in chosen)


def count_legal_mappings(predicates: Iterable[str], source: Declarations, target: Declarations, most: int) -> int:
    r"""Return how many mappings `legal_mappings` yields, or `most` if there are as many or more: then it stops to count."""
    return sum(1 for _ in islice(_choices(tuple(dict.fromkeys(predicates)), source, target), most))


def _choices(names: Sequence[str], source: Declarations, target: Declarations) -> Iterator[tuple[str, ...]]:
    """Return the targets of predicates, in their order, for each legal mapping."""
    _raise([problem for name in names for problem in _declaration_faults(PredicatePair(name, None), source, target)])
    begun = _Beginning((), {})
    fitting = _fitting(begun, names, [list(target)] * len(names), source, target)
    return _completions(begun, names, fitting, source, target) if _all_different(fitting) else iter(())


@dataclass(frozen=True, slots=True)
class _Beginning:
    """The targets of the first predicates, and the images of their types."""

    targets: tuple[str, ...]
    types: Mapping[str, str]


def _completions(
    begun: _Beginning,
    names: Sequence[str],
    options: Sequence[Sequence[str]],
    source: Declarations,
    target: Declarations,
) -> Iterator[tuple[str, ...]]:
    """Yield all that a beginning leads to; `options` are the targets that each of the other predicates may have beside it."""
    if not options:
        yield begun.targets
        return
    kinds = source[names[len(begun.targets)]].types
    for name in options[0]:
        types = _joined(begun.types, kinds, target[name].types)
        assert types is not None
        longer = _Beginning((*begun.targets, name), types)
        fitting = _fitting(longer, names[len(longer.targets) :], options[1:], source, target)
        # A beginning beside which two predicates lack counterparts of their own is left early.
        if _all_different(fitting):
            yield from _completions(longer, names, fitting, source, target)


def _fitting(
    begun: _Beginning,
    names: Sequence[str],
    options: Sequence[Sequence[str]],
    source: Declarations,
    target: Declarations,
) -> list[list[str]]:
    """Return of the options of each predicate those that a beginning leaves."""
    return [
        [
            option
            for option in each
            if option not in begun.targets
            and len(source[name].types) == len(target[option].types)
            and _joined(begun.types, source[name].types, target[option].types) is not None
        ]
        for name, each in zip(names, options, strict=True)
    ]


def _joined(types: Mapping[str, str], kinds: Sequence[str], images: Sequence[str]) -> dict[str, str] | None:
    """Return images of types with those of one more pair of predicates; None if a type would have two."""
    found = dict(types)
    for kind, image in zip(kinds, images, strict=True):
        if found.setdefault(kind, image) != image:
            return None
    return found


def _all_different(options: Sequence[Sequence[str]]) -> bool:
    """Tell whether one of each options can be chosen so that all differ (augmenting paths, Kuhn 1955)."""
    taken: dict[str, int] = {}

    def place(number: int, seen: set[str]) -> bool:
        for option in options[number]:
            if option not in seen:
                seen.add(option)
                if option not in taken or place(taken[option], seen):
                    taken[option] = number
                    return True
        return False

    return all(place(number, set()) for number in range(len(options)))
