"""Examples in windows, which are independent: a stream of them to learn from, and networks that need not be held at one time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from typing import Generic, Protocol, Self, TypeVar

import numpy as np

from sqlrl.errors import GroundingLimitError
from sqlrl.ground.atoms import read_atoms, read_labels
from sqlrl.ground.counts import shape_of
from sqlrl.ground.grounding import ground_network
from sqlrl.ground.hinge_network import HingeNetwork
from sqlrl.ground.hinges import Parts, ground_hinges
from sqlrl.ground.memory import check_found, leave_to_window, memory_budget, most_entries
from sqlrl.ground.network import BoolArray, IntArray, Network, NetworkAtoms
from sqlrl.ground.program import Extent, Program
from sqlrl.ground.rows import FEWER, MOST_ENTRIES, Budget, BudgetError
from sqlrl.ground.soft_program import SoftProgram
from sqlrl.logic.psl_arithmetic import ArithmeticRule
from sqlrl.plan.slots import BoundShape, bind
from sqlrl.plan.sources import example_columns

FIRST, MOST = 512, 128 * 512
"""Examples of the first window, and of later ones at most, where nobody says how many: a hundred queries of a millisecond each for every
window want many examples, but progress, saving and Ctrl-C come between windows."""

ENTRIES = 2**20
"""Literals and atoms that a later window shall have together, if the first one is like the others."""

FIRST_FACTS = 2**21
"""Facts of a first window at the most: its ground clauses are not known, and the database may join all of them before the first comes."""

SHAPE_ENTRIES = 10_000
"""Literals and atoms for each query of a window that is as large as memory allows: those take as long to stream as a query takes to be planned,
so that a window of a model with thousands of shapes is worth its queries."""


# ---- a stream ----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Window:
    """Some examples of a stream, grounded."""

    examples: IntArray  # in the order of learning
    # Over the atoms of these examples and all clauses so far; later windows only add clauses, and ids never change.
    network: Network
    truth: BoolArray  # shape (n,), the labels; helper atoms have the truth that these give them
    labelled: BoolArray  # shape (n,), atoms that have a label
    # Whether the model has other clauses than in the window before: means of weights begin anew.
    changed: bool = field(default=False, kw_only=True)

    @property
    def entries(self) -> int:
        """Atoms and literals of the network."""
        return len(self.network.atoms) + self.network.rows.entries + int(self.network.units.nnz)

    def in_order(self, examples: IntArray) -> Window:
        """Return the same window with its examples in another order."""
        return replace(self, examples=examples)


@dataclass(frozen=True, eq=False)
class ExampleWindow:
    """Some examples of a stream, not grounded; `Windows.extent.restricted_to(examples)` is what to count over."""

    examples: IntArray  # in the order of learning

    @property
    def entries(self) -> int:
        """Nothing is held."""
        return 0

    def in_order(self, examples: IntArray) -> ExampleWindow:
        """Return the same window with its examples in another order."""
        return replace(self, examples=examples)


class Sized(Protocol):
    """What is held of a window."""

    @property
    def entries(self) -> int:
        """How many atoms and literals, or numbers like them, it holds: later windows are as large as keeps that below `ENTRIES`."""

    def in_order(self, examples: IntArray) -> Self:
        """Return the same with its examples in another order."""


Held = TypeVar("Held", bound=Sized)
Grounded = TypeVar("Grounded")
MakeWindow = Callable[[Extent, IntArray, Budget | None], Held]
"""Makes a window of its extent, whose table of examples is there meanwhile, and its examples in order; stops when a budget is spent, if there is one."""


def grounded(extent: Extent, examples: IntArray, budget: Budget | None) -> Window:
    """Ground a window, and read its labels."""
    network = ground_network(extent, budget=budget)
    truth, labelled = read_labels(extent.program.engine, extent.program.layout, network.atoms, extent.examples)
    return Window(examples, network, truth, labelled)


def ungrounded(extent: Extent, examples: IntArray, budget: Budget | None) -> ExampleWindow:  # noqa: ARG001
    """Take the examples of a window as they are."""
    return ExampleWindow(examples)


class Windows(Generic[Held]):
    """Divides passes of examples into windows and makes each with `ground`; templates grow as constants are met."""

    def __init__(
        self, extent: Extent, passes: Sequence[IntArray], size: int | None = None, *, ground: MakeWindow[Held]
    ) -> None:
        self.extent, self.passes, self.size, self._ground = extent, passes, size, ground
        # How many examples the first window has, and later ones: None until the first is made, if nobody says. A run
        # that goes on sets both to what they were.
        self.first, self.later = FIRST if size is None else size, size
        # Whether the ground clauses of a window were counted before it was made.
        self._counted = False

    def __len__(self) -> int:
        """Return the number of windows of all passes, as far as it is known."""
        later = self.later or self.first
        beyond = [max(len(examples) - (number == 0) * self.first, 0) for number, examples in enumerate(self.passes)]
        return sum(-(-size // later) for size in beyond) + any(len(examples) > 0 for examples in self.passes[:1])

    def __iter__(self) -> Iterator[tuple[int, Held]]:
        return self.after(0)

    def after(self, count: int) -> Iterator[tuple[int, Held]]:
        """Yield the pass (from 0) and result of each window after the first `count`, for which it only expands templates."""
        if count and self.size is None and self.first < FIRST:
            # So many examples were tried first, and their constants got their clauses together.
            self._expand(self.passes[0][:FIRST])
        # A window of a whole pass, by the examples that it has: its templates have met all constants.
        whole: dict[bytes, Held] = {}
        for place, (number, examples) in enumerate(self._cuts()):
            # Earlier windows only expand templates, so that clauses get the ids they had.
            if place >= count:
                key = np.sort(examples).tobytes()
                if key in whole:
                    yield number, whole[key].in_order(examples)
                    continue
                made = self._window(examples) if self.later is not None else self._first_window(examples)
                if self._size(number, 0) >= len(self.passes[number]):
                    whole = {key: made}
                yield number, made
            elif number == 0:
                # In later passes all constants have been met.
                self._expand(examples)

    def examples_of(self, count: int) -> int:
        """Return how many examples the first `count` windows have."""
        return sum(len(examples) for _, examples in islice(self._cuts(), count))

    def _cuts(self) -> Iterator[tuple[int, IntArray]]:
        # The examples of each window with the number of their pass; how many the second has is looked up after the first.
        for number, examples in enumerate(self.passes):
            begin = 0
            while begin < len(examples):
                yield number, examples[begin : begin + self._size(number, begin)]
                begin += self._size(number, begin)

    def _size(self, number: int, begin: int) -> int:
        return self.first if (number == 0 and begin == 0) or self.later is None else self.later

    def _expand(self, examples: IntArray) -> None:
        with self.extent.restricted_to(examples) as some:
            some.program.expand(some.examples)

    def _first_window(self, examples: IntArray) -> Held:
        # As many of these examples as the budget allows; says how many later windows have.
        budget = Budget(min(MOST_ENTRIES, most_entries(self.extent.program))) if len(examples) > 1 else None
        try:
            window = self._window(examples, budget)
        except (BudgetError, GroundingLimitError):
            if len(examples) == 1:
                raise
            self.first = max(len(examples) // FEWER, 1)
            return self._first_window(examples[: self.first])
        self.later = _fitting(window.entries) if self.first == FIRST else self.first
        return window

    def _window(self, examples: IntArray, budget: Budget | None = None) -> Held:
        if budget is None and (self.size is None or self._counted) and len(examples) > 1:
            # To count the ground clauses of every window would take as long as to ground it; of the first of a size that somebody chose
            # it says at once what is too many.
            engine = self.extent.program.engine
            engine.leave(engine.memory.arrays)
            budget = memory_budget(self.extent.program)
        with self.extent.restricted_to(examples) as some:
            some.program.expand(some.examples)
            held = self._ground(some, examples, budget)
        self._counted = True
        return held


def _fitting(entries: int) -> int:
    # How many examples a later window shall have, by what the first holds: a multiple of it, which pools divide.
    return min(max(ENTRIES // max(entries, 1), 1) * FIRST, MOST)


# ---- all examples, as many at a time as the budget allows --------------------------------------------


def divided(
    extent: Extent, examples: IntArray, *, entries: int | None = None, whole: bool = False
) -> Iterator[tuple[IntArray, Network]]:
    """Yield examples and networks by windows as large as the budget allows, or one for all if counts do not add up."""

    def ground(some: Extent, budget: Budget | None) -> Network:
        """Ground some of the examples."""
        return ground_network(some, budget=budget, views=True)

    # Windows have the same clauses; their `total`, `open`, `evidence_violated` and `base` add up to those of all
    # examples.
    whole = whole or (len(examples) > 1 and not adds_up(extent.program))
    yield from _divided(extent, examples, ground, entries=entries, whole=whole)


@dataclass(frozen=True, eq=False)
class GroundHinges:
    """The hinges of some examples, and the query atoms that they are over."""

    network: HingeNetwork
    network_atoms: NetworkAtoms


def divided_hinges(
    soft: SoftProgram, extent: Extent, examples: IntArray, *, entries: int | None = None, learning: bool = False
) -> Iterator[tuple[IntArray, GroundHinges]]:
    """Ground the examples of a soft program window by window, as `divided` does; all at once if a rule is about several of them, or none."""
    apart = len(examples) <= 1 or is_divisible(soft)
    ground = partial(_ground_hinges, soft, learning)
    yield from _divided(extent, examples, ground, entries=entries, whole=not apart)


def _ground_hinges(soft: SoftProgram, learning: bool, extent: Extent, budget: Budget | None) -> GroundHinges:
    atoms = read_atoms(extent)
    network = ground_hinges(soft, extent, atoms=atoms.ids, budget=budget, learning=learning)
    return GroundHinges(network, NetworkAtoms(atoms.ids, atoms.example, np.zeros(len(atoms.ids), bool)))


def _divided(
    extent: Extent,
    examples: IntArray,
    ground: Callable[[Extent, Budget | None], Grounded],
    *,
    entries: int | None,
    whole: bool,
) -> Iterator[tuple[IntArray, Grounded]]:
    """Yield examples window by window with what `ground` makes of their extent; what it made is let go before the next is made."""
    if whole or len(examples) <= 1:
        yield examples, ground(extent, None)
        return
    if entries is None:
        entries = max(MOST_ENTRIES, SHAPE_ENTRIES * len(extent.program.shapes))
    fitting = check_found(extent.program, len(examples))
    entries = min(entries, fitting)
    begin, size = 0, _first(extent.program, len(examples), entries)
    room: int | None = None  # what a window of one example may take before the database leaves it all that there is
    while begin < len(examples):
        window = examples[begin : begin + size]
        most = entries if len(window) > 1 else room
        # What one example has is counted before it is grounded; of those after the first the budget says when it is too many.
        budget = Budget(most) if most is not None else memory_budget(extent.program) if begin else None
        # The database has what a window does not take: it joins facts to it.
        leave_to_window(extent.program, most, len(examples))
        try:
            network = _ground(extent, window, ground, budget, whole=len(window) == len(examples))
        except (BudgetError, GroundingLimitError) as error:
            if len(window) > 1:
                size = max(len(window) // FEWER, 1)
            elif isinstance(error, BudgetError) and room is not None:
                room = None
            else:
                raise
            continue
        yield window, network
        del network  # or else it would be there while the next is grounded
        begin += len(window)
        # Half of the budget, since examples differ.
        used = entries if budget is None else budget.used
        size = max(len(window) * entries // (2 * max(used, 1)), 1)
        room = min(FEWER * max(used, entries), fitting)


def adds_up(program: Program) -> bool:
    """Return whether each grounding of a clause is about one example, so that counts add up over examples."""
    # Clauses with an open literal are; one of evidence alone may be about no example, counted once for all, or several.
    empty = (shape_of(bound) for bound in program.features if not bound.instances)
    counted = [*(use.bound for use in program.shapes.values()), *(bind(shape, program.layout) for shape in empty)]
    return all(_of_one_example(bound) for bound in counted)


def is_divisible(soft: SoftProgram) -> bool:
    """Return whether each rule of a soft program is about one example in each grounding; a sum over examples is about all of them."""
    sums = all(
        _of_one_example(use.bound) and Parts.of(rule, use).summed.isdisjoint(use.bound.restricted)
        for use in soft.sums
        if isinstance(rule := soft.model.rules[use.number], ArithmeticRule)
    )
    return sums and all(_of_one_example(use.bound) for use in soft.program.shapes.values())


def _of_one_example(bound: BoundShape) -> bool:
    return bound.undivided or len(bound.restricted) == 1


def _first(program: Program, examples: int, entries: int) -> int:
    # Examples of the first window, by their query atoms: there are several literals to an atom. Where the examples have many facts, these say more.
    layout = program.layout
    facts = sum(info.rows for info in layout.predicates.values() if example_columns(info, layout))
    each, beside = (number / max(layout.example_count, 1) for number in (layout.query_atoms, facts))
    return max(min(examples, int(entries / FEWER / max(each, 1)), int(FIRST_FACTS / max(beside, 1))), 1)


def _ground(
    extent: Extent,
    window: IntArray,
    ground: Callable[[Extent, Budget | None], Grounded],
    budget: Budget | None,
    *,
    whole: bool,
) -> Grounded:
    if whole:
        return ground(extent, budget)
    with extent.restricted_to(window) as some:
        return ground(some, budget)
