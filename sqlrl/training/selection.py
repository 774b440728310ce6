"""What resolwe is given of a database: subgraphs in windows that are not grounded, candidates held against them, and a run that is kept."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from sqlglot import exp

from sqlrl.catalog.layout import Layout
from sqlrl.catalog.records import Records
from sqlrl.catalog.roles import Roles
from sqlrl.engine.nodes import column, named, star_count, table
from sqlrl.errors import InputError, LabelWarning, Parameter, warn
from sqlrl.ground.candidates import CandidateProgram, JointCounts
from sqlrl.ground.network import IntArray
from sqlrl.ground.program import Extent, Program
from sqlrl.ground.windows import FIRST, ExampleWindow, Windows, ungrounded
from sqlrl.logic.candidates import Candidate, targets_of
from sqlrl.logic.grammar import Grammar
from sqlrl.logic.model import Model
from sqlrl.logic.rules import Rule
from sqlrl.logic.subformulas import atoms_of
from sqlrl.logic.terms import Atom, Literal, Variable
from sqlrl.training.ordering import Ordering
from sqlrl.training.provenance import keep_learned_from
from sqlrl.training.records import Checkpoint
from sqlrl.training.runs import LearnedModel, LearnerRun, Run, RunKey
from sqlrl.training.session import Session, check_model, verb
from sqlrl.training.stream_counts import StreamCounts
from sqlrl.wording import counted

FOLLOWED = 100
"""Loaded examples that choose together while a stream is followed, where nobody says how many."""

WEIGHTS, WINDOWS = "weights", "windows"
"""What the state of a run calls the run that learns its weights, and how many windows were counted."""


class CandidateRun(LearnerRun):
    """A run that chooses structure, as it is kept; `model` has the rules that come before those that are chosen."""

    shapes: int  # how many queries count all candidates in a window

    def __init__(self, records: Records, model: Model) -> None:
        self.records, self.model, self.run = records, model, Run(records)

    @property
    @abstractmethod
    def statements(self) -> int:
        """How many queries have counted labels so far, in this process."""

    @abstractmethod
    def __len__(self) -> int:
        """Return how many windows there are; of a stream of unknown length, how many there were."""

    @abstractmethod
    def windows(self, done: int) -> Iterator[IntArray]:
        """Yield the subgraphs of each window after the first `done`, by their ids."""

    @abstractmethod
    def count(self, window: IntArray) -> JointCounts:
        """Count the labels that each candidate selects in the subgraphs of a window."""

    def stream_state(self) -> Mapping[str, Any]:
        """Return what is saved of how far the stream is."""
        return {}

    def go_on(self, stream: Mapping[str, Any]) -> None:
        """Go to where the stream was when the run was saved; examples that are loaded need no going."""
        return

    def keep_examples(self) -> None:
        """Keep what examples the run has seen since it did so last; those that are loaded are kept when it begins."""
        return

    def resume(self, run: int, learner: str, parameters: Mapping[str, object]) -> Checkpoint:
        """Go on with a run that was saved."""
        checkpoint, stream = self.run.resume(run, self._key(learner, parameters))
        self.go_on(stream)
        if WEIGHTS in checkpoint.arrays:
            # It stopped after that of its weights had ended: what that kept is kept again.
            self.records.reopen(int(checkpoint.arrays[WEIGHTS]))
        return replace(checkpoint, arrays={**checkpoint.arrays, WINDOWS: np.array(checkpoint.done)})

    def save(self, checkpoint: Checkpoint) -> None:
        """Save the run after a window, with its counts."""
        arrays = {name: array for name, array in checkpoint.arrays.items() if name != WINDOWS}
        with self.records.together():
            self.run.save(replace(checkpoint, arrays=arrays), self.stream_state())
            self.show(StreamCounts.of_arrays(checkpoint.arrays))

    def show(self, counts: StreamCounts) -> None:
        """Keep the counts so far, which can be read meanwhile, and the examples that they are of."""
        with self.records.together():
            self._replace("joint_count", _count_rows(counts))
            self.keep_examples()

    def follow(self, counts: StreamCounts, log: pa.Table) -> None:
        """Keep the counts of a stream that is followed, and what came and went."""
        with self.records.together():
            self._replace("joint_count", _count_rows(counts))
            self._replace("rule_log", log)

    def learning(self, run: int) -> None:
        """Keep which run learns the weights."""
        self.records.save_state(self.run.begun(), {WEIGHTS: np.array(run, dtype=np.int64)})

    def finish(
        self, model: Model, formulations: pa.Table, log: pa.Table, seconds: Mapping[str, float], status: str
    ) -> None:
        """Keep the model with what was found of formulations, and end the run."""
        with self.records.together():
            self._replace("rule_log", log)
            self.run.finish(
                LearnedModel.of_rules(model),
                {"formulation": formulations},
                origin="Resolwe",
                seconds=seconds,
                status=status,
            )

    def _replace(self, table: str, rows: pa.Table) -> None:
        """Put rows of the run in place of those before."""
        self.records.clear(table, self.run.begun())
        self.records.append(table, self.run.begun(), rows)

    def ending(self) -> AbstractContextManager[None]:
        """Record that an error or Ctrl-C has ended the run."""
        return self.run.ending()


class CandidateStream(CandidateRun):
    """Windows of loaded subgraphs with candidates bound to them."""

    def __init__(
        self,
        program: Program,
        held: CandidateProgram,
        session: Session,
        model: Model,  # its rules come before those that are chosen
        examples: IntArray,  # ids of the subgraphs that choose, in order
        size: int | None,  # subgraphs in a window
    ) -> None:
        super().__init__(session.records, model)
        self._program, self._held, self._examples = program, held, examples
        self._windows: Windows[ExampleWindow] = Windows(
            Extent(program), [examples], FIRST if size is None else size, ground=ungrounded
        )
        self.shapes = held.shapes

    @property
    def statements(self) -> int:
        """How many queries have counted labels so far."""
        return self._held.statements

    def __len__(self) -> int:
        return len(self._windows)

    def windows(self, done: int) -> Iterator[IntArray]:
        """Yield the subgraphs of each window after the first ones."""
        for _, window in self._windows.after(done):
            yield window.examples

    def count(self, window: IntArray) -> JointCounts:
        """Count the labels that candidates select in the subgraphs of a window."""
        with self._program.examples_table(window) as chosen:
            return self._held.counts(chosen)

    def begin(self, learner: str, parameters: Mapping[str, object], seed: int) -> int:
        """Record that the run has begun, and what it counts."""
        number = super().begin(learner, parameters, seed)
        keep_learned_from(self.records, self._program, self._examples, number)
        return number

    def _key(self, learner: str, parameters: Mapping[str, object]) -> RunKey:
        """Return what makes the run the one that it is."""
        return RunKey(learner, parameters, self.model, self._examples)


@contextmanager
def selection(
    session: Session, model: Model, candidates: Sequence[Candidate], examples: IntArray, order: Ordering
) -> Iterator[CandidateStream]:
    """Hold candidates against data while the context is open."""
    session.catalog.store.check_writable()
    known = known_model(model, candidates)
    with (
        session.verb(),
        session.console.progress("choosing structure"),
        session.program(known, training=True, roles=Roles(query=sorted(targets_of(candidates)))) as program,
        CandidateProgram(program.engine, program.public_layout, candidates) as held,
    ):
        yield CandidateStream(program, held, session, model, examples, order["size"])


# ---- subgraphs that say nothing ------------------------------------------------------------------------


def divided(
    session: Session,
    model: Model,
    candidates: Sequence[Candidate],
    examples: Any,
    order: Ordering,
    choose: Callable[[int | None], int],
    learned: frozenset[str],  # the predicates that something is learned of
) -> tuple[IntArray, list[str]]:
    """Return the ids of the loaded examples that choose structure, and the names of those left for weights."""
    # Examples that nothing has any more go when data are bound, and the others may get other ids.
    known, opened = known_model(model, candidates, learned), Roles(query=sorted(learned))
    layout = session.bind(known, opened, training=True)
    ids = session.example_ids(examples)
    if order["order"] == "shuffle":
        ids = np.random.default_rng(order["seed"]).permutation(ids)
    first, rest = to_learn_from(session, layout, learned, ids, choose(len(ids)))
    return first, session.example_names(rest)


def learned_targets(model: Model, candidates: Sequence[Candidate], open_predicates: Set[str]) -> frozenset[str]:
    """Return those of the open predicates that something is learned of: queries of the model, and what its rules or candidates name."""
    named = {atom.predicate for rule in model.rules for atom in atoms_of(rule.formula)} | targets_of(candidates)
    return model.query | (named & open_predicates)


@dataclass(frozen=True)
class LeftOutSubgraphs:
    """How many subgraphs nothing is learned from."""

    without: int = 0  # without query atoms
    alike: int = 0  # with several query atoms that are all true or all false

    @classmethod
    def of(cls, true: IntArray, false: IntArray, atoms: IntArray) -> tuple[IntArray, LeftOutSubgraphs]:
        """Return the places of the subgraphs to learn from, by how many of their query atoms are true and false; and how many others there are."""
        without = atoms == 0
        # One query atom is a decision of its own, as where each document is an example.
        alike = (atoms > 1) & ((true == atoms) | (false == atoms))
        return np.flatnonzero(~without & ~alike), cls(int(without.sum()), int(alike.sum()))

    def __add__(self, other: LeftOutSubgraphs) -> LeftOutSubgraphs:
        """Return how many of both."""
        return LeftOutSubgraphs(self.without + other.without, self.alike + other.alike)

    def __str__(self) -> str:
        """Return why they are left out."""
        return f"{self.without:,} without query atoms, {self.alike:,} of several that are all true or all false"

    @property
    def total(self) -> int:
        """How many of either kind."""
        return self.without + self.alike

    def warn(self, subgraphs: int) -> None:
        """Warn of them, if there are any."""
        if self.total:
            be = "is" if self.total == 1 else "are"
            warn(f"{self.total:,} of {counted(subgraphs, 'subgraph')} {be} left out: {self}", LabelWarning)

    def all_of(self, first: int, subgraphs: int, *, choosing: bool) -> InputError:
        """Return the error where none is left to choose structure from, or for weights; the `first` of all subgraphs choose."""
        if choosing:
            return InputError(
                f"nothing is left to choose structure from: all of the first {counted(first, 'subgraph')} ({Parameter('select')}) are left out, {self}"
            )
        be = "is" if self.total == 1 else "are"
        return InputError(
            f"nothing is left to learn weights from: of {counted(subgraphs, 'subgraph')} the first {first:,} choose structure ({Parameter('select')}), and {self.total:,} "
            f"{be} left out, {self}"
        )


def to_learn_from(
    session: Session, layout: Layout, names: Set[str], examples: IntArray, first: int
) -> tuple[IntArray, IntArray]:
    """Return the examples to choose structure from, among the first ones, and to learn weights from, among the rest."""
    # `names` are the predicates whose query atoms count.
    n, true, false = _label_counts(session, layout, names)
    parts = [LeftOutSubgraphs.of(true[part], false[part], n[part]) for part in (examples[:first], examples[first:])]
    left = parts[0][1] + parts[1][1]
    for (kept, out), choosing in zip(parts, (True, False), strict=True):
        if not len(kept):
            raise (out if choosing else left).all_of(first, len(examples), choosing=choosing)
    left.warn(len(examples))
    return examples[:first][parts[0][0]], examples[first:][parts[1][0]]


def _label_counts(session: Session, layout: Layout, names: Set[str]) -> tuple[IntArray, IntArray, IntArray]:
    """Return by example id how many query atoms some predicates have, how many are true, and how many false."""
    found = np.zeros((3, int(session.ids(None).max(initial=-1)) + 1), dtype=np.int64)
    for name in sorted(names):
        info = layout.predicates[name]
        assert info.atoms is not None, "a target is open"
        true, false = (exp.CountIf(this=x) for x in (column("truth"), exp.Not(this=column("truth"))))
        sums = [named(x, alias) for x, alias in ((star_count(), "n"), (true, "true"), (false, "false"))]
        query = exp.select(column("example"), *sums).from_(table(info.atoms)).group_by(column("example"))
        data = session.engine.fetch(query, step=f"count the labels of {name} by example")
        example = data.column("example").to_numpy()
        for row, alias in enumerate(("n", "true", "false")):
            found[row, example] += data.column(alias).cast(pa.int64()).to_numpy()
    n, true_, false_ = found
    return n, true_, false_


@verb
def list_candidates(session: Session, templates: Grammar, model: Model, limit: int) -> pa.Table:
    """Return the candidates of templates with the SQL that counts them; `Grammar.candidates` explains it."""
    opened = targets(session, model)
    found = templates.expand(model, opened, limit=limit)
    sql, groundings = [""] * len(found), [0] * len(found)
    with (
        session.console.progress("listing candidates"),
        session.program(known_model(model, found), training=True, roles=Roles(query=sorted(opened))) as program,
        CandidateProgram(program.engine, program.public_layout, found) as held,
    ):
        for query, sizes in held.queries():
            text = session.engine.render(query)
            for candidate, size in sizes.items():
                sql[candidate], groundings[candidate] = text, size
    return pa.table(
        {
            "candidate": pa.array(range(len(found)), pa.int64()),
            "template": pa.array([each.template for each in found], pa.string()),
            "formula": pa.array([str(each) for each in found], pa.string()),
            "groundings": pa.array(groundings, pa.int64()),
            "sql": pa.array(sql, pa.string()),
        }
    )


def targets(session: Session, model: Model) -> frozenset[str]:
    """Return the predicates of a model that are to be predicted: those that it names, and those that have labels."""
    check_model(model)
    labelled = {name for name, role in session.catalog.store.sources() if role == "label"}
    return model.query | (labelled & set(model.predicates))


def known_model(model: Model, candidates: Sequence[Candidate], more: Set[str] = frozenset()) -> Model:
    """Return the declarations with a rule for each predicate of the candidates, and for `more`, so that the data are bound with all of them."""
    names = dict.fromkeys(
        x.predicate for each in candidates for x in (*each.selector, *each.enforcer) if isinstance(x, Literal)
    )
    names |= dict.fromkeys(sorted(more))
    atoms = [Atom(name, tuple(Variable(f"x{i}") for i in range(len(model.predicates[name].types)))) for name in names]
    return model.with_rules(tuple(Rule(atom, 0.0) for atom in atoms))


def _count_rows(window_counts: StreamCounts) -> pa.Table:
    """Return counts as rows of `sqlrl.joint_count`; patterns that nothing has are left out."""
    counts, recent = window_counts.total, window_counts.recent
    candidate, pattern = np.nonzero(counts.n)
    return pa.table(
        {
            "candidate": candidate.astype(np.int64),
            "pattern": pattern.astype(np.int32),
            "n": counts.n[candidate, pattern],
            "groundings": counts.groundings[candidate, pattern],
            "recent": pa.nulls(len(candidate), pa.float64()) if recent is None else recent[candidate, pattern],
        }
    )
