"""A database whose clause bodies are evaluated once for several searches, which differ in the atoms that they learn from."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from types import TracebackType
from typing import Self, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa

import sqlrl
from sqlrl.ground.coverage import ComponentCounts
from sqlrl.ground.saturation import Saturated
from sqlrl.logic.components import Component, Components
from sqlrl.logic.rules import Rule
from sqlrl.training.induction import InductionSession
from sqlrl.training.learning import Learning
from sqlrl.training.records import Checkpoint

BoolArray = npt.NDArray[np.bool_]
IntArray = npt.NDArray[np.int64]


class EvaluatedOnce:
    """Makes databases for `ILP.fit` out of one: each has some of the target's atoms, with labels of its own.

    Where a body holds does not depend on labels, so what one search has evaluated is known to the next. The data must not change
    while it is open.

    Parameters
    ----------
    db : Database
        The facts, and all query atoms of a target with any labels: no search sees these.
    """

    def __init__(self, db: sqlrl.Database) -> None:
        self.db = db
        self._stack = ExitStack()
        self._opened: list[tuple[sqlrl.Bias, _Whole]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def part(self, labels: Mapping[tuple[str, ...], bool]) -> Part:
        """Return what stands for a database that has these atoms of the target alone, and their labels."""
        return Part(self, labels)

    def whole(self, bias: sqlrl.Bias) -> _Whole:
        """Return all atoms of the target of a bias, opened when they are first asked for."""
        for known, opened in self._opened:
            if known == bias:
                return opened
        target = bias.head.predicate
        opened = _Whole(self._stack.enter_context(self.db.advanced.learning.induction(target, bias)), target)
        self._opened.append((bias, opened))
        return opened


class Part:
    """Stands for a database in `ILP.fit`; see `EvaluatedOnce.part`.

    Parameters
    ----------
    once : EvaluatedOnce
    labels : mapping of tuple of str to bool

    Attributes
    ----------
    saved : float
        Seconds that the evaluations which were not repeated would have taken: of all, the share of the components that were known.
    """

    def __init__(self, once: EvaluatedOnce, labels: Mapping[tuple[str, ...], bool]) -> None:
        self._once, self._labels, self.saved = once, labels, 0.0

    @property
    def advanced(self) -> Self:
        """Whose `learning` learners ask for."""
        return self

    @property
    def learning(self) -> Learning:
        """What learners ask for: this has what ILP calls."""
        return cast(Learning, self)

    def induction_bias(self, target: sqlrl.Model | str, bias: sqlrl.Bias | None) -> sqlrl.Bias:
        """Return the bias, checked against the data."""
        return self._once.db.advanced.learning.induction_bias(target, bias)

    @contextmanager
    def induction(self, target: sqlrl.Model | str, bias: sqlrl.Bias, **_: object) -> Iterator[_Session]:
        """Open the atoms of this part."""
        whole = self._once.whole(bias)
        source = _Source(whole, self._labels)
        yield _Session(whole.session, source)
        self.saved += len(source.known) * whole.seconds / max(len(whole.evaluated), 1)


class _Whole:
    """All atoms of a target, by the names of their constants, with what was evaluated at them in how many seconds."""

    def __init__(self, session: InductionSession, target: str) -> None:
        self.session, self.evaluated, self.seconds = session, set[Component](), 0.0
        names = [session.names(kind) for kind in session.types[target]]
        self.place = {
            tuple(known[i] for known, i in zip(names, row, strict=True)): k
            for k, row in enumerate(session.source.arguments.tolist())
        }

    def evaluate(self, layer: Sequence[Component], *, keep: bool) -> ComponentCounts:
        """Return where components hold."""
        start = time.perf_counter()
        found = self.session.source.evaluate(layer, keep=keep)
        self.seconds += time.perf_counter() - start
        self.evaluated.update(layer)
        return found


class _Source:
    """Some of the atoms with their labels, as `sqlrl.structure.ilp.covers.CoverageSource` asks for."""

    def __init__(self, whole: _Whole, labels: Mapping[tuple[str, ...], bool]) -> None:
        self._whole, all_atoms = whole, whole.session.source
        label = {whole.place[atom]: value for atom, value in labels.items()}
        self._inside: IntArray = np.array(sorted(label), dtype=np.int64)
        self._place = np.full(len(all_atoms.atoms), -1, dtype=np.int64)
        self._place[self._inside] = np.arange(len(self._inside))
        self.truth: BoolArray = np.array([label[k] for k in self._inside.tolist()], dtype=np.bool_)
        self.atoms: IntArray = all_atoms.atoms[self._inside]
        self.arguments: IntArray = all_atoms.arguments[self._inside]
        self.examples: IntArray = all_atoms.examples[self._inside]
        self.predicates = all_atoms.predicates
        self._new, self.known = set[Component](), set[Component]()

    def saturate(self, seeds: IntArray, depth: int) -> Saturated:
        """Return the facts around seeds."""
        return self._whole.session.source.saturate(self._inside[seeds], depth)

    def evaluate(self, layer: Sequence[Component], *, keep: bool = True) -> ComponentCounts:
        """Return where components hold."""
        asked = set(layer) - self._new
        self.known |= asked & self._whole.evaluated
        self._new |= asked - self.known
        found = self._whole.evaluate(layer, keep=keep)
        place = self._place[found.atom]
        here = place >= 0
        before = np.concatenate([[0], np.cumsum(here)])
        return ComponentCounts(before[found.indptr], place[here], found.count[here])


class _Session:
    """A session of all atoms, but for its source."""

    def __init__(self, whole: InductionSession, source: _Source) -> None:
        self._whole, self.source = whole, source

    @property
    def components(self) -> Components:
        """Canonical forms of components."""
        return self._whole.components

    @property
    def types(self) -> Mapping[str, tuple[str, ...]]:
        """The types of the arguments of each predicate."""
        return self._whole.types

    @property
    def rules(self) -> Sequence[Rule]:
        """The rules that come before those that are found."""
        return self._whole.rules

    def names(self, kind: str) -> Sequence[str]:
        """Return the names of a type's constants, by id."""
        return self._whole.names(kind)

    def atom_texts(self, atoms: Sequence[int]) -> Mapping[int, str]:
        """Return atoms as text, by id."""
        return self._whole.atom_texts(atoms)

    def passed_over(self) -> str | None:
        """Say which clauses could not be evaluated."""
        return self._whole.passed_over()

    def check_kept(self) -> None:
        """Nothing is saved."""

    def resume(self, run: int, learner: str, parameters: Mapping[str, object]) -> Checkpoint:
        """Resume a run."""
        return self._whole.resume(run, learner, parameters)

    def save(self, checkpoint: Checkpoint) -> None:
        """Save nothing: what is kept of the run is that of the whole."""

    def begin(self, learner: str, parameters: Mapping[str, object], seed: int) -> int:
        """Record that a run has begun."""
        return self._whole.begin(learner, parameters, seed)

    def keep(
        self, rules: Sequence[Rule], candidates: pa.Table, coverage: pa.Table, seconds: Mapping[str, float], status: str
    ) -> sqlrl.Model:
        """Keep what was found."""
        return self._whole.keep(rules, candidates, coverage, seconds, status)
