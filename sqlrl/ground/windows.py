"""A stream of examples in windows: one query per shape and window, then array slices per example."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sqlrl.ground.assemble import ground_network
from sqlrl.ground.atoms import read_labels
from sqlrl.ground.network import BoolArray, IntArray, Network
from sqlrl.ground.program import Program


@dataclass(frozen=True, eq=False)
class Window:
    """Some examples of a stream, grounded.

    Parameters
    ----------
    examples : int64 array
        The examples in the order in which they are to be learned from.
    network : Network
        Over the atoms of these examples and all clauses known so far; clause ids never change from window to window, and
        the number of clauses only grows.
    truth : bool array, shape (n,)
        The labels.
    labelled : bool array, shape (n,)
        Which atoms have a label; helper atoms have the truth that the labels give them.
    """

    examples: IntArray
    network: Network
    truth: BoolArray
    labelled: BoolArray


class Windows:
    r"""Grounds a program over a sequence of examples, window by window; templates grow as their constants are met.

    Parameters
    ----------
    program : Program
    examples : int64 array
        The examples in order.
    size : int
        Examples in a window.
    limit : int, optional
        The most ground clauses in a window.

    Examples
    --------
    >>> import numpy as np
    >>> from sqlrl.ground.sample import sample_program
    >>> text = "Token(word, bib)\nTopic(bib)\nToken(+w, b) => Topic(b)"
    >>> facts = {"Token": [("sql", "B1"), ("rule", "B2")], "Topic": [("B1",)]}
    >>> for window in Windows(sample_program(text, ["Topic"], facts), np.array([0]), size=10):
    ...     len(window.network.clauses), window.truth.tolist()
    (2, [True, False])
    """

    def __init__(self, program: Program, examples: IntArray, size: int, limit: int | None = None) -> None:
        self.program, self.examples, self.size, self.limit = program, examples, size, limit

    def __len__(self) -> int:
        return (len(self.examples) + self.size - 1) // self.size

    def __iter__(self) -> Iterator[Window]:
        return self.after(0)

    def after(self, count: int, *, expand: bool = True) -> Iterator[Window]:
        """Ground the windows after the first `count`, whose templates only grow, so that clauses get the ids they had.

        Parameters
        ----------
        count : int
        expand : bool
            Whether the first windows have to grow templates; they need not in later passes.
        """
        for number, start in enumerate(range(0, len(self.examples), self.size)):
            examples = self.examples[start : start + self.size]
            if number >= count:
                yield self._window(examples)
            elif expand:
                with self.program.only(examples) as table:
                    self.program.expand(table)

    def _window(self, examples: IntArray) -> Window:
        program = self.program
        with program.only(examples) as table:
            program.expand(table)
            network = ground_network(program, table, limit=self.limit)
            truth, labelled = read_labels(program.engine, program.layout, network.atoms, table)
        return Window(examples, network, truth, labelled)
