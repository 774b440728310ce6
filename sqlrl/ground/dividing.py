"""The ground networks of many examples, window by window: examples are independent, so that no two need be held at a time."""

from __future__ import annotations

from collections.abc import Iterator

from sqlrl.catalog.layout import TableName
from sqlrl.errors import GroundingLimitError
from sqlrl.ground.assemble import ground_network
from sqlrl.ground.counts import shape_of
from sqlrl.ground.network import IntArray, Network
from sqlrl.ground.program import Program
from sqlrl.ground.room import ENTRIES, FEWER, NoRoomError, Room
from sqlrl.plan.slots import BoundShape, bind


def divided(
    program: Program,
    examples: IntArray,
    chosen: TableName | None = None,
    *,
    limit: int | None = None,
    entries: int | None = ENTRIES,
) -> Iterator[tuple[IntArray, Network]]:
    r"""Ground examples window by window, each window as large as there is room for; all at once if counts do not add up over windows.

    Parameters
    ----------
    program : Program
        Expanded over all these examples.
    examples : int64 array
    chosen : TableName, optional
        A table of the same examples; without it they are all there are.
    limit : int, optional
        The most ground clauses of one shape in a window; a window with more is divided, too.
    entries : int or None
        The most atoms and literals of a window; a window of one example may have more. None: one window for all.

    Yields
    ------
    tuple of int64 array and Network
        The examples of a window, and the network over their atoms. All windows have the same clauses; their counts (`total`, `open`,
        `evidence_violated`, `base`) add up to those of a network of all examples.

    Raises
    ------
    GroundingLimitError
        One example has more ground clauses than the limit.
    InfeasibleError, CountOverflowError
        As `ground_network`.

    Examples
    --------
    >>> import numpy as np
    >>> from sqlrl.catalog.catalog import Catalog
    >>> from sqlrl.engine.connecting import connect
    >>> from sqlrl.ground.binding import bind_program
    >>> from sqlrl.logic.mln import parse_mln
    >>> catalog = Catalog(connect(":memory:"))
    >>> catalog.load("Word", [("W", "D1"), ("V", "D2"), ("W", "D3")], types=["word", "doc"], example="doc")
    >>> model = parse_mln("Word(word, doc)\nGood(doc)\n1 Word(W, d) => Good(d)", query=["Good"])
    >>> program = bind_program(catalog.engine, catalog.bind(model, training=True), model)
    >>> [(window.tolist(), network.atoms.tolist()) for window, network in divided(program, np.arange(3), entries=8)]
    [([0, 1], [1, 2]), ([2], [3])]
    """
    if entries is None or len(examples) <= 1 or not adds_up(program):
        yield examples, ground_network(program, chosen, limit=limit)
        return
    begin, size = 0, _first(program, len(examples), entries)
    while begin < len(examples):
        window = examples[begin : begin + size]
        room = Room(entries if len(window) > 1 else None)
        try:
            network = _network(program, window, chosen, limit, room, whole=len(window) == len(examples))
        except (NoRoomError, GroundingLimitError):
            if len(window) == 1:
                raise
            size = max(len(window) // FEWER, 1)
            continue
        yield window, network
        del network  # or else it would be there while the next is grounded
        begin += len(window)
        # Half of the room, since examples differ.
        size = max(len(window) * entries // (2 * max(room.used, 1)), 1)


def adds_up(program: Program) -> bool:
    r"""Return whether each clause belongs to one example in each grounding, so that counts over examples are sums of those of each.

    Clauses with an open literal do. One of evidence alone may be about no example, and is counted once for all, or about several.

    Examples
    --------
    >>> from sqlrl.catalog.catalog import Catalog
    >>> from sqlrl.engine.connecting import connect
    >>> from sqlrl.ground.binding import bind_program
    >>> from sqlrl.logic.mln import parse_mln
    >>> catalog = Catalog(connect(":memory:"))
    >>> catalog.load("Word", [("W", "D1"), ("V", "D2")], types=["word", "doc"], example="doc")
    >>> catalog.load("Near", [("V", "W")], types=["word", "word"])
    >>> text = "Word(word, doc)\nNear(word, word)\nGood(doc)\n1 Word(w, d) ^ Near(w, v) => Good(d)\n"
    >>> models = [parse_mln(text + more, query=["Good"]) for more in ("", "1 Near(w, v) => Near(v, w)")]
    >>> [adds_up(bind_program(catalog.engine, catalog.bind(model, training=True), model)) for model in models]
    [True, False]
    """
    counted = [*program.shapes, *(shape_of(bound) for bound in program.features if not bound.instances)]
    return all(_of_one_example(bind(shape, program.layout)) for shape in counted)


def _of_one_example(bound: BoundShape) -> bool:
    return bound.undivided or len(bound.restricted) == 1


def _first(program: Program, examples: int, entries: int) -> int:
    # Examples of the first window, by their query atoms alone: there are several literals to an atom.
    atoms = sum(info.atom_count for info in program.layout.predicates.values() if info.open)
    each = atoms / max(program.layout.example_count, 1)
    return max(min(examples, int(entries / FEWER / max(each, 1))), 1)


def _network(
    program: Program, window: IntArray, chosen: TableName | None, limit: int | None, room: Room, *, whole: bool
) -> Network:
    if whole:
        return ground_network(program, chosen, limit=limit, room=room)
    with program.only(window) as table:
        return ground_network(program, table, limit=limit, room=room)
