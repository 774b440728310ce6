"""Training windows for OSL, indexed for path search, and what is kept of the clauses that it adds."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sqlrl.catalog.layout import PredicateInfo
from sqlrl.errors import ModelError
from sqlrl.ground.atoms import WindowFacts, read_facts
from sqlrl.ground.binding import bind_program
from sqlrl.ground.bindings import WindowBindings
from sqlrl.ground.clauses import atom_texts, clause_table, constant_names, shape_rows, shape_table
from sqlrl.ground.network import BoolArray, FloatArray, IntArray
from sqlrl.ground.program import Program, ShapeUse
from sqlrl.ground.windows import Window
from sqlrl.logic.model import Model
from sqlrl.logic.modes import Modes, format_modes
from sqlrl.logic.shapes import Instance, Shape, parameter_symmetries
from sqlrl.logic.terms import Constant
from sqlrl.plan.bindings import ClosedParts
from sqlrl.structure.osl.additions import FIRST, Addition, rules_of
from sqlrl.structure.osl.names import KeptNames, StandingNumbers, WindowNumbers
from sqlrl.structure.osl.patterns import Constants, PatternBook, least_rows
from sqlrl.structure.osl.search import Target
from sqlrl.training.records import Checkpoint
from sqlrl.training.runs import Provisional
from sqlrl.training.stream import ClauseChanges, CountedModel, TrainingStream

NAMES = "found_names"
"""What the state of a run calls the names that windows have left behind."""


@dataclass(frozen=True, eq=False)
class FactWindow(Window):
    """A window of a stream, and what is true in it."""

    facts: WindowFacts  # the observed world
    bindings: WindowBindings  # of patterns in these examples
    # The model's clauses that are a single one, as canonical shapes with the least rows of kept constants that their symmetries allow: at
    # least those that are new since the last window.
    new_clauses: Sequence[tuple[Shape, Constants]]
    targets: Mapping[str, Target]  # the open predicates
    numbers: StandingNumbers = field(
        default_factory=StandingNumbers, kw_only=True
    )  # ids by which the run keeps what the window has


class AddedClauses(ClauseChanges):
    """What OSL is given of the windows of a stream, and the clauses that it adds."""

    searching = True

    def __init__(self, modes: Modes) -> None:
        self.modes = modes
        # The names that windows with ids of their own leave behind.
        self._names: KeptNames | None = None
        self._words: dict[str, list[str]] = {}
        self._parts: ClosedParts | None = None
        # Clauses of the program that windows have said.
        self._read = 0
        self._book: PatternBook | None = None
        self.additions: tuple[Addition, ...] = ()
        self._causes: pa.Table | None = None
        self._listed: pa.Table | None = None

    def predicted(self, model: Model, labelled: Collection[str]) -> list[str]:
        """Return the targets that may be in paths: these may start at one that no rule mentions yet."""
        targets = [name for name in self.modes.in_paths() if name in labelled]
        # What the modes lack is said where they are checked against the targets.
        return targets if targets or model.rules else sorted(labelled)

    def hold(self, stream: TrainingStream) -> None:
        """Take the stream, and check the modes against its predicates."""
        program, modes = stream.program, self.modes
        self._stream, self._program = stream, program
        self.provisional = Provisional(FIRST, lambda: program.clause_count)
        self._names = KeptNames() if stream.apart else None
        shown = program.public_layout.predicates
        # The database may have predicates that the model does not declare: they need no mode.
        declared = [name for name in shown if name in program.model.predicates]
        arities = {name: len(shown[name].types) for name in shown if name in declared or name in modes.of}
        modes.check(arities, [name for name in declared if shown[name].open])
        _check_declared(modes, shown, declared)
        _check_examples(modes, shown, program.layout.example_type)

    @property
    def types(self) -> dict[str, tuple[str, ...]]:
        """The types of the arguments of each predicate."""
        return {name: info.types for name, info in self._program.public_layout.predicates.items()}

    @property
    def clause_count(self) -> int:
        """Number of clauses of the program."""
        return self._program.clause_count

    @contextmanager
    def prepared_window(self, window: Window, program: Program, examples: IntArray) -> Iterator[Window]:
        """Show a window with what is true in it, indexed for path search."""
        targets = {name: _target(info, program) for name, info in program.public_layout.predicates.items() if info.open}
        self._parts = self._parts or ClosedParts(program.layout)
        names, numbers = self._names, StandingNumbers()
        if names is not None:
            numbers = WindowNumbers(names, partial(constant_names, program), self._stream.atom_text)
        with program.examples_table(examples) as chosen:
            yield FactWindow(
                window.examples,
                window.network,
                window.truth,
                window.labelled,
                read_facts(program, self.modes.in_paths(), chosen, examples),
                WindowBindings(program, chosen, examples, window.network.atoms, parts=self._parts),
                self._new_clauses(),
                targets,
                numbers=numbers,
            )

    def _new_clauses(self) -> list[tuple[Shape, Constants]]:
        """Return the clauses that have come since the last window and are formulas of their own."""
        program, first, names = self._program, self._read, self._names
        if first == program.clause_count:
            return []
        self._read = program.clause_count
        if names is not None:
            instances = [bound.instances[0] for bound in program.features if len(bound.instances) == 1]
            return [_kept(instance, names) for instance in instances if not _quantified(instance.shape)]
        alone = np.array([len(bound.instances) == 1 for bound in program.features], dtype=np.bool_)
        of_clause = alone[np.array(program.feature_of, dtype=np.int64)]
        return [x for use in program.shapes.values() for x in self._single(use, first, of_clause)]

    def _single(self, use: ShapeUse, first: int, of_clause: BoolArray) -> Iterator[tuple[Shape, Constants]]:
        """Yield the clauses of a shape from `first` on that `of_clause` marks, with the least of the rows that stand for them."""
        program, shape = self._program, use.shape
        if _quantified(shape):
            return
        if use.parameters is None:
            if any(of_clause[clause] for clause in use.clauses if clause >= first):
                yield shape, np.zeros((1, 0), dtype=np.int32)
            return
        clause, rows = shape_rows(program, use, first)
        yield shape, least_rows(rows[of_clause[clause]], parameter_symmetries(shape))

    def grow(self, book: PatternBook, additions: Sequence[Addition]) -> None:
        """Take the clauses that were added, of which `model` makes rules. Called before `model`."""
        self._book, self.additions = book, tuple(additions)

    def take(self, book: PatternBook, additions: Sequence[Addition]) -> None:
        """Take the clauses that were added, of which `learned` makes rules. Called before it."""
        self._book, self.additions = book, tuple(additions)

    # ---- what is kept ---------------------------------------------------------------------------------------

    def learned(self, stream: TrainingStream, weights: FloatArray, support: pa.Table) -> CountedModel:
        """Return the model with the added clauses as rules; their ids follow those of the program's clauses."""
        program, count = self._program, self._program.clause_count
        base = stream.learned(weights[:count], support.slice(0, count))
        self._causes, self._listed = self._caused(), base.clauses
        if self._book is None or not self.additions:
            return base
        rules, order = rules_of(self._book, self.additions, weights[count:], self._constant_names)
        ids = count + np.array(order, dtype=np.int64)
        with closing(bind_program(program.engine, program.public_layout, program.model.with_rules(rules))) as added:
            listed = clause_table(added, keys=True).sort_by([("rule", "ascending"), ("clause", "ascending")])
            own = listed.column("clause").to_numpy()
            delta_n = np.zeros(added.clause_count, dtype=np.int64)
            delta_n[own] = support.column("delta_n").to_numpy()[ids]
            counted = pa.table({"clause": np.arange(added.clause_count), "delta_n": delta_n})
            found = stream.added_statistics(added, counted, own)
            shapes = shape_table(added)
        steps = pa.array([self.additions[i].step for i in order], pa.int64())
        listed = _replaced(listed, clause=ids, rule=listed.column("rule").to_numpy() + len(base.model.rules))
        clauses = pa.concat_tables([base.clauses, listed.append_column("step", steps)], promote_options="default")
        shapes = _replaced(shapes, shape=shapes.column("shape").to_numpy() + len(base.shapes))
        self._listed = clauses.sort_by("clause")
        return CountedModel(
            base.model.with_rules((*base.model.rules, *rules)),
            self._listed,
            pa.concat_tables([base.shapes, shapes]),
            pa.concat_tables([base.statistics, _replaced(found, clause=ids)], promote_options="permissive"),
        )

    def _caused(self) -> pa.Table:
        """Return what caused each clause that was added, with its id."""
        count = self._program.clause_count
        wrong = np.unique(np.array([x.atom for x in self.additions], dtype=np.int64))
        atoms = atom_texts(self._program, wrong) if self._names is None else self._names.texts()
        examples = self._stream.example_names(np.array([x.example for x in self.additions], dtype=np.int64))
        return pa.table(
            {
                "step": pa.array([x.step for x in self.additions], pa.int64()),
                "example": pa.array([examples[x.example] for x in self.additions], pa.string()),
                "wrong_atom": pa.array([atoms[x.atom] for x in self.additions], pa.string()),
                "delta_n": pa.array([x.delta_n for x in self.additions], pa.int64()),
                "id": pa.array(range(count, count + len(self.additions)), pa.int64()),
            }
        )

    def parameters(self, parameters: Mapping[str, object]) -> Mapping[str, object]:
        """Add the text of the modes: they must be the same when a run goes on, whatever file they come from."""
        return {**parameters, "modes": format_modes(self.modes)}

    def state(self) -> dict[str, Any]:
        """Return the names that windows have left behind, if they do."""
        return {} if self._names is None else {NAMES: self._names.state()}

    def go_on(self, checkpoint: Checkpoint, state: Mapping[str, Any]) -> None:
        """Know the names of windows before the run was saved."""
        if self._names is not None:
            self._names.go_on(state[NAMES])

    def rows(self) -> Mapping[str, pa.Table]:
        """Return what caused each clause that was added."""
        assert self._causes is not None, "the model was made"
        rows = {
            "clause": self._causes.column("id"),
            "step": self._causes.column("step"),
            "example": pa.array([x.example for x in self.additions], pa.int32()),
            "example_name": self._causes.column("example"),
            "atom": pa.array([x.atom for x in self.additions], pa.int64()),
            "atom_name": self._causes.column("wrong_atom"),
            "horn": pa.array([x.horn for x in self.additions], pa.bool_()),
            "delta_n": self._causes.column("delta_n"),
        }
        return {"added_clause": pa.table(rows)}

    def added(self, weights: FloatArray) -> pa.Table:
        """Return what caused each clause that was added."""
        assert self._listed is not None, "the model was made"
        assert self._causes is not None, "the run was kept"
        ids = self._causes.column("id").to_numpy()
        places = np.searchsorted(self._listed.column("clause").to_numpy(), ids)
        texts = self._listed.column("text").take(pa.array(places))
        return self._causes.add_column(1, "clause", texts).add_column(2, "weight", pa.array(weights[ids]))

    def _constant_names(self, kind: str) -> list[str]:
        """Return the names of a type's constants, by the ids that additions have."""
        if self._names is not None:
            return self._names.constants(kind)
        if kind not in self._words:
            self._words[kind] = constant_names(self._program, kind)
        return self._words[kind]


def _quantified(shape: Shape) -> bool:
    """Return True for a shape that is more than a clause of atoms."""
    return bool(shape.equalities or shape.exists)


def _kept(instance: Instance, names: KeptNames) -> tuple[Shape, Constants]:
    """Return a clause of the model with the least of its rows of constants, by the ids of their names."""
    shape, terms = instance.shape, [term.name for term in instance.arguments if isinstance(term, Constant)]
    row = [names.constant(kind, name) for kind, name in zip(shape.parameters, terms, strict=True)]
    return shape, least_rows(np.array([row], dtype=np.int32).reshape(1, -1), parameter_symmetries(shape))


def _replaced(data: pa.Table, **columns: npt.NDArray[np.generic]) -> pa.Table:
    for name, values in columns.items():
        place = data.column_names.index(name)
        data = data.set_column(place, name, pa.array(values).cast(data.schema.field(name).type))
    return data


def _check_declared(modes: Modes, predicates: Mapping[str, PredicateInfo], declared: Sequence[str]) -> None:
    """Refuse paths over predicates that only the database has: the learned model could not say their clauses."""
    for name in modes.in_paths():
        if name not in declared:
            written = f"{name}({', '.join(predicates[name].types)})"
            raise ModelError(
                f"{_at(modes, name)}the database has {name}, but the model does not declare it: add {written} to the model, or give "
                "its mode recall 0"
            )


def _check_examples(modes: Modes, predicates: Mapping[str, PredicateInfo], example_type: str | None) -> None:
    """Refuse modes that keep the names of examples: a clause would be about one example, and examples are independent."""
    for name in modes.in_paths():
        mode, kinds = modes.of[name], predicates[name].types
        if any(kept and kind == example_type for kept, kind in zip(mode.constants, kinds, strict=True)):
            raise ModelError(
                f"{_at(modes, name)}the mode of {name} keeps constants of {example_type}, the examples, so that a clause would be about a "
                "single one: take the '#' (or 'c') away there"
            )


def _at(modes: Modes, name: str) -> str:
    line = modes.of[name].line
    return f"{modes.path}:{line}: " if line else ""


def _target(info: PredicateInfo, program: Program) -> Target:
    kind = program.layout.example_type
    example = info.types.index(kind) if kind in info.types and not info.example_column else -1
    return Target(len(info.types), info.example_column, example)
