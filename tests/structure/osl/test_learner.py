"""OSL against a plain transcription of Algorithm 1 (OSL paper), over small random citations, and its own promises."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from itertools import permutations, product
from math import sqrt
from random import Random

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from sqlrl import OSL
from sqlrl.catalog.catalog import Catalog
from sqlrl.engine.connection import connect
from sqlrl.errors import InputError
from sqlrl.ground.atoms import read_facts
from sqlrl.ground.binding import bind_program
from sqlrl.ground.bindings import WindowBindings
from sqlrl.ground.program import Extent, Program
from sqlrl.ground.windows import Windows, grounded
from sqlrl.logic.mln import parse_mln
from sqlrl.logic.modes import Modes, parse_modes
from sqlrl.structure.osl.learner import OSLLearner
from sqlrl.structure.osl.patterns import clause_of
from sqlrl.structure.osl.search import Target
from sqlrl.structure.osl.stream import FactWindow
from tests.effort import draws

Atom = tuple[str, tuple[str, ...]]
Literal = tuple[bool, str, tuple[str, ...]]
Clause = tuple[Literal, ...]
"""Literals; a term that begins with '?' is a variable: its type, then a number."""

TYPES = {
    "Token": ("word", "position", "bib"),
    "Next": ("position", "position"),
    "InField": ("bib", "field", "position"),
}
DECLARATIONS = "Token(word, position, bib)\nNext(position, position)\nInField(bib, field, position)\n"
HARD = "InField(c, f1, p) ^ (f1 != f2) => !InField(c, f2, p).\n"
RULES = "Token(+t, p, c) => InField(c, +f, p)\nNext(p2, p1) ^ InField(c, +f1, p1) => InField(c, +f2, p2)\n"
MODES = "modeP(2, Token(#., +, .))\nmodeP(1, Next(-, -))\nmodeP(2, InField(., #., -))"
FIELDS, WORDS = ("A", "T"), ("w", "x", "y")
RATES = (0.001, 1.0, 1.0)
NO_SHRINKING = (Phase.explicit, Phase.reuse, Phase.generate)
"""A case opens a database: shrinking would take minutes, and the seed says enough."""


class Case:
    """Random citations with words and fields at two to four positions."""

    def __init__(self, seed: int) -> None:
        random = Random(seed)
        self.citations = [f"b{k}" for k in range(random.randint(1, 5))]
        self.facts: dict[str, list[tuple[str, ...]]] = {"Token": [], "InField": [], "Next": []}
        self.positions: dict[str, list[str]] = {}
        for bib in self.citations:
            places = [f"p{i}" for i in range(random.randint(2, 4))]
            self.positions[bib] = places
            for place in places:
                self.facts["Token"].append((random.choice(WORDS), place, bib))
                field = random.choice((*FIELDS, ""))
                if field:
                    self.facts["InField"].append((bib, field, place))
        # Constants that no fact has are no constants.
        self.facts["InField"] = self.facts["InField"] or [(self.citations[0], "A", "p0")]
        self.fields = sorted({x[1] for x in self.facts["InField"]})
        longest = max(len(x) for x in self.positions.values())
        self.facts["Next"] = [(f"p{i + 1}", f"p{i}") for i in range(longest - 1)]

    @cached_property
    def catalog(self) -> Catalog:
        catalog = Catalog(connect(":memory:", threads=1))
        catalog.declare(parse_mln(DECLARATIONS + HARD, query=("InField",)))
        catalog.load("Token", self.facts["Token"], example="bib")
        catalog.load("Next", self.facts["Next"])
        catalog.load("InField", self.facts["InField"], target=True)
        return catalog

    def program(self, rules: str) -> Program:
        """A program of its own, in the database that the programs of a case share."""
        model = parse_mln(DECLARATIONS + HARD + rules, query=("InField",))
        return bind_program(self.catalog.engine, self.catalog.bind(model, training=True), model)

    def true(self, bib: str) -> set[Atom]:
        """The observed world of a citation."""
        here = {("Token", x) for x in self.facts["Token"] if x[2] == bib}
        here |= {("InField", x) for x in self.facts["InField"] if x[0] == bib}
        return here | {("Next", x) for x in self.facts["Next"] if set(x) <= set(self.positions[bib])}

    def worlds(self, bib: str) -> Iterator[set[Atom]]:
        """All truths of the fields of a citation, at most one at a position."""
        for chosen in product((None, *self.fields), repeat=len(self.positions[bib])):
            places = zip(self.positions[bib], chosen, strict=True)
            yield {("InField", (bib, field, place)) for place, field in places if field is not None}

    def satisfied(self, clause: Clause, bib: str, world: set[Atom]) -> int:
        """The groundings of a clause that hold, by enumeration."""
        variables = sorted({t for _, _, terms in clause for t in terms if t.startswith("?")})
        kinds = {t: kind for _, name, terms in clause for t, kind in zip(terms, TYPES[name], strict=True)}
        domain = {"bib": [bib], "position": self.positions[bib], "word": list(WORDS), "field": self.fields}
        count = 0
        for values in product(*(domain[kinds[v]] for v in variables)):
            constant = dict(zip(variables, values, strict=True))
            count += any(
                ((name, tuple(constant.get(t, t) for t in terms)) in world) == positive
                for positive, name, terms in clause
            )
        return count


def canonical(clause: Clause) -> Clause:
    """The least of the clauses that renaming variables gives."""
    kinds: dict[str, str] = {}
    for _, name, terms in clause:
        kinds |= {t: kind for t, kind in zip(terms, TYPES[name], strict=True) if t.startswith("?")}
    groups: dict[str, list[str]] = {}
    for variable in sorted(kinds):
        groups.setdefault(kinds[variable], []).append(variable)
    best: Clause | None = None
    for orders in product(*(permutations(group) for group in groups.values())):
        names = {
            old: f"?{kind}{i}"
            for (kind, _), order in zip(groups.items(), orders, strict=True)
            for i, old in enumerate(order)
        }
        renamed = tuple(sorted((sign, name, tuple(names.get(t, t) for t in terms)) for sign, name, terms in clause))
        best = renamed if best is None or renamed < best else best
    assert best is not None
    return best


# ---- the printed algorithms ---------------------------------------------------------------------------------


def paths(world: set[Atom], start: Atom, modes: Modes, longest: int) -> set[frozenset[Atom]]:
    """Algorithms 2 and 3, recursively, as the docstring of `find_paths` reads them."""
    explored = {name: [place != "." for place in mode.places] for name, mode in modes.of.items()}

    def nodes(atom: Atom, role: str = "+-") -> set[tuple[str, str]]:
        mode = modes.of[atom[0]]
        return {
            (kind, value)
            for kind, value, place, on in zip(TYPES[atom[0]], atom[1], mode.places, explored[atom[0]], strict=True)
            if on and place in role
        }

    def can_be_added(atom: Atom, path: frozenset[Atom]) -> bool:
        outputs = set().union(*(nodes(x, "-") for x in path)) | nodes(start)
        recall = sum(x[0] == atom[0] for x in path) < modes.of[atom[0]].recall
        return atom not in path and recall and nodes(atom, "+") <= outputs

    found: set[frozenset[Atom]] = set()

    def search(path: frozenset[Atom]) -> None:
        if len(path) == longest:
            return
        reached = set().union(*(nodes(x) for x in path))
        for atom in world:
            longer = path | {atom}
            if nodes(atom) & reached and can_be_added(atom, path) and longer not in found:
                found.add(longer)
                search(longer)

    search(frozenset({start}))
    return found


def clauses_of(path: frozenset[Atom], start: Atom) -> tuple[Clause, Clause]:
    """The clause with all literals negative and the Horn clause of a path; words and fields stay constants."""
    names: dict[tuple[str, str], str] = {}

    def term(kind: str, value: str) -> str:
        if kind in ("word", "field"):
            return value
        return names.setdefault((kind, value), f"?{kind}{len(names)}")

    literals = {
        atom: tuple(term(kind, value) for kind, value in zip(TYPES[atom[0]], atom[1], strict=True))
        for atom in sorted(path)
    }
    negative = tuple((False, atom[0], terms) for atom, terms in literals.items())
    horn = tuple((atom == start, atom[0], terms) for atom, terms in literals.items())
    return canonical(negative), canonical(horn)


class Transcribed:
    """Algorithm 1, with the predicted worlds of another learner, which must be most probable ones."""

    def __init__(self, case: Case, rules: bool, least: int, longest: int) -> None:
        self.case, self.least, self.longest, self.modes = case, least, longest, parse_modes(MODES)
        self.weight: dict[Clause, float] = {}
        self.squares: dict[Clause, float] = {}
        self.total: dict[Clause, float] = {}
        self.added: dict[Clause, tuple[int, int]] = {}
        if rules:
            for word, field in product(sorted({x[0] for x in case.facts["Token"]}), case.fields):
                self._start(((False, "Token", (word, "?p", "?c")), (True, "InField", ("?c", field, "?p"))))
            for one, other in product(case.fields, case.fields):
                rest = ((False, "Next", ("?q", "?p")), (False, "InField", ("?c", one, "?p")))
                self._start((*rest, (True, "InField", ("?c", other, "?q"))))

    def _start(self, clause: Clause) -> None:
        clause = canonical(clause)
        self.weight[clause] = self.squares[clause] = self.total[clause] = 0.0

    def score(self, bib: str, world: set[Atom]) -> float:
        whole = world | {x for x in self.case.true(bib) if x[0] != "InField"}
        return sum(w * self.case.satisfied(clause, bib, whole) for clause, w in self.weight.items() if w)

    def step(self, number: int, bib: str, predicted: set[Atom]) -> None:
        observed = self.case.true(bib)
        evidence = {x for x in observed if x[0] != "InField"}
        assert self.score(bib, predicted) == pytest.approx(
            max(self.score(bib, world) for world in self.case.worlds(bib)), abs=1e-9
        )
        new: dict[Clause, int] = {}
        for start in {x for x in observed if x[0] == "InField"} - predicted:
            for path in paths(observed, start, self.modes, self.longest):
                for clause in clauses_of(path, start):
                    if clause not in self.weight:
                        new[clause] = self._delta(clause, bib, observed, predicted | evidence)
        lam, eta, delta = RATES
        for clause in list(self.weight):
            change = self._delta(clause, bib, observed, predicted | evidence)
            self.squares[clause] += change * change
            rate = eta / (delta + sqrt(self.squares[clause]))
            moved = self.weight[clause] + rate * change
            self.weight[clause] = float(np.sign(moved)) * max(abs(moved) - lam * rate, 0.0)
        for clause, change in new.items():
            if change >= self.least:
                self.squares[clause] = float(change * change)
                self.weight[clause] = max(eta / (delta + abs(change)) * (change - lam), 0.0)
                self.total[clause] = 0.0
                self.added[clause] = (number, change)
        for clause, weight in self.weight.items():
            self.total[clause] += weight

    def _delta(self, clause: Clause, bib: str, observed: set[Atom], other: set[Atom]) -> int:
        return self.case.satisfied(clause, bib, observed) - self.case.satisfied(clause, bib, other)


# ---- ours -----------------------------------------------------------------------------------------------


def grown(
    program: Program, learner: OSLLearner, size: int, order: np.ndarray
) -> Iterator[tuple[FactWindow, np.ndarray]]:
    """Learn window by window; yield each window with the predicted world."""
    layout = program.layout
    for _, window in Windows(Extent(program), [order], size, ground=grounded):
        with program.examples_table(window.examples) as examples:
            facts = read_facts(program, learner.modes.in_paths(), examples, window.examples)
            bindings = WindowBindings(program, examples, window.examples, window.network.atoms)
            known = [
                (use.shape, np.array(rows, dtype=np.int32).reshape(len(rows), -1))
                for use in program.shapes.values()
                if (rows := parameter_rows(program, use.parameters))
            ]
            growing = FactWindow(
                window.examples, window.network, window.truth, window.labelled, facts, bindings, known,
                {"InField": Target(3, False, layout.predicates["InField"].types.index("bib"))},
            )  # fmt: skip
            yield growing, learner.learn_many(growing).predicted


def parameter_rows(program: Program, name: object) -> list[tuple[int, ...]]:
    from sqlglot import exp

    from sqlrl.catalog.layout import TableName
    from sqlrl.engine.nodes import table

    if not isinstance(name, TableName):
        return []
    found = program.engine.fetch(exp.select("*").from_(table(name)), step="read parameters").to_pylist()
    return [tuple(value for key, value in row.items() if key != "clause") for row in found]


def names_of(program: Program, kind: str) -> list[str]:
    from sqlglot import exp

    from sqlrl.engine.nodes import table

    query = exp.select("name").from_(table(program.layout.types[kind].dictionary)).order_by("id")
    words: list[str] = program.engine.fetch(query, step="read names").column(0).to_pylist()
    return words


def added_clauses(program: Program, learner: OSLLearner) -> list[Clause]:
    """The clauses that a learner added, in order."""
    found = []
    for addition in learner.additions:
        shape = learner.book.patterns[addition.pattern].shape
        words = [names_of(program, kind)[i] for kind, i in zip(shape.parameters, addition.constants, strict=True)]
        clause = clause_of(shape, words, horn=addition.horn)
        variables = {name for name, _ in clause.variables}
        literals = tuple(
            (x.positive, x.predicate, tuple(f"?{t.name}" if t.name in variables else t.name for t in x.terms))
            for x in clause.literals
        )
        found.append(canonical(literals))
    return found


@settings(max_examples=draws(8), phases=NO_SHRINKING)
@given(
    st.integers(0, 2**32),
    st.booleans(),
    st.sampled_from([1, 2]),
    st.sampled_from([2, 3, 4]),
    st.sampled_from([1, 2, 9]),
)
def test_clauses_and_weights_are_those_of_the_printed_algorithm(
    seed: int, rules: bool, least: int, longest: int, size: int
) -> None:
    case = Case(seed)
    program = case.program(RULES if rules else "")
    lam, eta, delta = RATES
    parameters = OSL("modes.txt", strength=lam, learning_rate=eta, delta=delta, ties="first", max_length=longest, min_count_difference=least).parameters()  # fmt: skip
    types = {name: info.types for name, info in program.layout.predicates.items()}
    learner = OSLLearner(parameters, parse_modes(MODES), types)
    expected = Transcribed(case, rules, least, longest)
    bibs, words = names_of(program, "bib"), {kind: names_of(program, kind) for kind in ("field", "position")}
    order = np.array([bibs.index(bib) for bib in case.citations], dtype=np.int64)
    step = 0
    for window, predicted in grown(program, learner, size, order):
        arguments = {
            atom: (bibs[row[0]], words["field"][row[1]], words["position"][row[2]])
            for row, atom in zip(
                window.bindings.table.arrays.keys[:, 2:].tolist(),
                window.bindings.table.arrays.value.tolist(),
                strict=True,
            )
        }
        for example in window.examples.tolist():
            mine = np.flatnonzero(predicted & (window.network.example == example))
            expected.step(step, bibs[example], {("InField", arguments[atom]) for atom in mine.tolist()})
            step += 1
    ours = added_clauses(program, learner)
    assert len(set(ours)) == len(ours)
    assert {clause: (x.step, x.delta_n) for clause, x in zip(ours, learner.additions, strict=True)} == expected.added
    first = len(learner.weights) - len(ours)
    for clause, last, mean in zip(ours, learner.weights[first:], learner.averaged_weights()[first:], strict=True):
        assert last == pytest.approx(expected.weight[clause], abs=1e-12)
        assert mean == pytest.approx(expected.total[clause] / step, abs=1e-12)
    # The model's own clauses: the same numbers, whatever their order.
    own = sorted(w for clause, w in expected.weight.items() if clause not in expected.added and w)
    assert sorted(w for w in learner.weights[:first] if w) == pytest.approx(own, abs=1e-12)
    program.close()


def learned(case: Case, *, size: int = 9, **options: object) -> OSLLearner:
    program = case.program(RULES)
    types = {name: info.types for name, info in program.layout.predicates.items()}
    learner = OSLLearner(OSL("modes.txt", **options).parameters(), parse_modes(MODES), types)  # type: ignore[arg-type]
    bibs = names_of(program, "bib")
    for _ in grown(program, learner, size, np.array([bibs.index(bib) for bib in case.citations], dtype=np.int64)):
        pass
    program.close()
    return learner


@pytest.mark.slow
@settings(max_examples=draws(4), phases=NO_SHRINKING)
@given(st.integers(0, 2**32), st.sampled_from([1, 2]))
def test_the_size_of_windows_changes_nothing(seed: int, least: int) -> None:
    case = Case(seed)
    whole, single = (learned(case, size=size, min_count_difference=least) for size in (9, 1))
    key = lambda x: (x.step, x.delta_n, x.atom, x.horn)  # noqa: E731 - numbers of patterns differ
    assert sorted(map(key, whole.additions)) == sorted(map(key, single.additions))
    assert sorted(whole.weights) == pytest.approx(sorted(single.weights), abs=1e-12)


@pytest.mark.slow
@settings(max_examples=draws(4), phases=NO_SHRINKING)
@given(st.integers(0, 2**32), st.sampled_from([1, 2, 3]), st.sampled_from([1, 3]))
def test_looking_ahead_changes_no_clause(seed: int, least: int, pool: int) -> None:
    case = Case(seed)
    plain, ahead = (learned(case, min_count_difference=least, pool=pool, look_ahead=on) for on in (False, True))
    key = lambda x: (x.step, x.delta_n, x.atom, x.horn)  # noqa: E731 - numbers of patterns differ
    assert sorted(map(key, plain.additions)) == sorted(map(key, ahead.additions))
    assert sorted(plain.weights) == pytest.approx(sorted(ahead.weights), abs=1e-12)


@pytest.mark.slow
def test_a_state_goes_on_where_it_was_taken() -> None:
    case = Case(11)
    results = []
    for interrupted in (False, True):
        program = case.program(RULES)
        types = {name: info.types for name, info in program.layout.predicates.items()}
        bibs = names_of(program, "bib")
        order = np.array([bibs.index(bib) for bib in case.citations], dtype=np.int64)
        learner = OSLLearner(OSL("modes.txt").parameters(), parse_modes(MODES), types)
        for place in range(len(order)):
            for _ in grown(program, learner, 1, order[place : place + 1]):
                pass
            if interrupted:
                learner = OSLLearner.from_state(
                    OSL("modes.txt").parameters(), parse_modes(MODES), types, learner.state()
                )
        results.append(learner)
        program.close()
    whole, resumed = results
    assert whole.additions == resumed.additions
    assert len(whole.additions) > 0
    for name, values in whole.state().items():
        assert values.tobytes() == resumed.state()[name].tobytes(), name


def test_arrays_of_another_learner_are_refused() -> None:
    with pytest.raises(InputError, match="a state of this learner has the arrays"):
        OSLLearner.from_state(OSL("modes.txt").parameters(), parse_modes(MODES), TYPES, {"steps": np.array(0)})


def test_every_clause_says_what_caused_it() -> None:
    learner = learned(Case(5))
    assert learner.additions
    for addition in learner.additions:
        assert addition.delta_n >= 1
        assert addition.atom >= 1
        assert 0 <= addition.step < learner.steps


@pytest.mark.parametrize(
    ("option", "value"),
    [("max_length", 0), ("min_count_difference", 0), ("pool", 0), ("longest_only", 1), ("look_ahead", "no")],
)
def test_parameters_out_of_range_are_refused(option: str, value: object) -> None:
    with pytest.raises(InputError, match=option):
        OSL("modes.txt", **{option: value}).parameters()  # type: ignore[arg-type]
