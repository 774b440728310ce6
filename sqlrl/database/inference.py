"""What predictions and probabilities share: how they are asked for, window by window, and query atoms with their names."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, Protocol, Self, TypeVar

import numpy as np
import pyarrow as pa
from sqlglot import exp

from sqlrl.arguments import refuse
from sqlrl.catalog.layout import Layout, PredicateInfo, TableName
from sqlrl.catalog.views import unique_name
from sqlrl.engine.duckdb import DuckDBEngine
from sqlrl.engine.nodes import column, table
from sqlrl.errors import InputError
from sqlrl.ground.clauses import named_atoms
from sqlrl.ground.network import BoolArray, IntArray, NetworkAtoms
from sqlrl.ground.program import Extent, Program, shown_rows
from sqlrl.ground.unseen import Unseen, unseen
from sqlrl.logic.model import Model
from sqlrl.logic.psl import SoftModel
from sqlrl.progress import enough_memory
from sqlrl.report.console import Progress
from sqlrl.slips import Helpful
from sqlrl.training.session import Query, Session
from sqlrl.wording import counted, shortened

if TYPE_CHECKING:
    from sqlrl.report.page import Report

Result = TypeVar("Result")
Found = TypeVar("Found", bound="Inferred")


@dataclass(frozen=True, eq=False, kw_only=True)
class Inferred(Helpful):
    """What inference found about the query atoms of some examples.

    Parameters
    ----------
    session : Session
    asked : Query
    layout : Layout
        Without helper predicates.
    network_atoms : NetworkAtoms
        The n query atoms and the helper atoms.
    unseen : Unseen
        Combinations of template constants that no training example had, and how many query atoms they touch.
    seconds : dict of str to float
        Wall time of grounding, and of what came after it.
    built : str
        What the query atoms were built from: `records.atoms()` at the time.
    examples : int64 array
        Ids of the examples, also of those without atoms.
    unknown : int
        Constants in the clauses of the model that these data do not have; their clauses have no groundings.
    run : int, optional
        The number in `sqlrl.run`, if it was kept.
    """

    session: Session
    asked: Query
    layout: Layout
    network_atoms: NetworkAtoms
    unseen: Unseen
    seconds: dict[str, float]
    built: str
    examples: IntArray
    unknown: int
    run: int | None = None
    _instead: ClassVar[str] = "in an Arrow table"
    """What messages call that which holds the results without a database."""

    @property
    def engine(self) -> DuckDBEngine:
        """Of the database in which the query atoms are."""
        return self.session.engine

    @property
    def asked_model(self) -> Model | SoftModel:
        """The model, as it was given."""
        return self.asked.model

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        kind, here = type(self).__name__, self._instead
        raise InputError(
            f"a {kind} cannot be pickled or copied, since its atoms have their names in an open database: take what it holds along, {here}, or "
            "write it to a table with into=."
        )

    def __copy__(self) -> Self:
        return dataclasses.replace(self)

    def write(self, into: str, *, replace: bool = False) -> None:
        """Create a table for each open predicate."""
        raise NotImplementedError

    def report(self, path: str | Path | None = None) -> Report:
        """Return a page about the run that was kept; `RunRecord.report` explains it.

        Parameters
        ----------
        path : str or Path, optional
            Where to write the page, a name that ends in .html.

        Raises
        ------
        InputError
            It was not kept.
        """
        if self.run is None:
            raise InputError(
                "a report is about a run that the database keeps, and this was not kept: give keep=True, and call evaluate() if there are labels"
            )
        from sqlrl.database.run_records import RunRecord

        return RunRecord.read(self.session, self.run).report(path)

    @property
    def open_predicates(self) -> list[str]:
        """The predicates that were predicted, sorted."""
        return [info.name for info in self._predicates]

    def of_predicate(self, predicate: str) -> BoolArray:
        """Return which of the atoms, helper atoms among them, belong to a predicate, shape (n,)."""
        mine: BoolArray = np.isin(self.network_atoms.ids, self._ids(self.chosen(predicate)))
        return mine

    def check_current(self, engine: DuckDBEngine | None = None) -> None:
        """Refuse to go on if the query atoms were numbered anew since, or are not those of the database of `engine`."""
        if engine is not None and not engine.same_database(self.engine):
            raise InputError(
                "the prediction was made in another database, whose query atoms have other ids: predict in this one, or give the "
                "atoms by the names of their constants, as prediction.atoms() returns them"
            )
        if self.session.records.atoms() != self.built:
            raise InputError(
                "the data, or which predicates are open, changed after this prediction, so that its atoms have other ids "
                "now: predict again, or read predicted atoms (into=...) before the change"
            )

    @cached_property
    def _predicates(self) -> list[PredicateInfo]:
        return [info for info in self.layout.opened() if not info.hidden]

    @cached_property
    def reported(self) -> BoolArray:
        """Which of the n atoms are query atoms of predicates that are not hidden, shape (n,)."""
        atoms, first = self.network_atoms, 1
        found: BoolArray = ~atoms.helper
        for info in self.layout.opened():
            if info.hidden:
                found &= (atoms.ids < first) | (atoms.ids >= first + info.atom_count)
            first += info.atom_count
        return found

    def chosen(self, predicate: str | None) -> PredicateInfo:
        """Return the predicate of a name, or the only one."""
        names = [p.name for p in self._predicates]
        if predicate is None and len(names) == 1:
            return self._predicates[0]
        if predicate not in names:
            raise InputError(f"name one of the open predicates {', '.join(names)}, not {predicate!r}")
        return self._predicates[names.index(predicate)]

    def _ids(self, info: PredicateInfo) -> IntArray:
        assert info.atoms is not None
        data = self.engine.fetch(exp.select(column("atom")).from_(table(info.atoms)), step="read atoms")
        ids: IntArray = data.column(0).to_numpy()
        return ids

    def named(self, predicate: str | None, atoms: IntArray, columns: Mapping[str, pa.Array]) -> pa.Table:
        """Return values of atoms with the names of those of one predicate: `example`, the arguments, `columns`; ordered by atom."""
        self.check_current()
        info = self.chosen(predicate)
        query = named_atoms(self.layout, info)
        naming = enough_memory(f"naming the atoms of {info.name}", lambda: counted(len(atoms), "atom"))
        with naming, shown_rows(self.engine, self.layout, pa.table({"atom": atoms, **columns})) as source:
            query = query.join(table(source, "w"), on=exp.EQ(this=column("atom", "w"), expression=column("atom", "a")))
            query = query.select(*(column(name, "w") for name in columns)).order_by(column("atom", "a"))
            return self.engine.fetch(query, step=f"name the atoms of {info.name}")

    @contextmanager
    def held(self) -> Iterator[tuple[Program, TableName]]:
        """Hold the model against the same examples once more, while the context is open."""
        asked = self.asked
        with (
            self.session.program(asked.model, choices=asked.choices) as program,
            program.only(self.examples) as chosen,
        ):
            program.expand(chosen)
            yield program, chosen

    def _write(self, into: str, rows_of: Callable[[str], pa.Table], *, replace: bool) -> None:
        """Create a table for each open predicate; all are checked before the first is written."""
        given: object = into
        if not isinstance(given, str):
            raise refuse("the name of a table", given)
        names = into_tables(self.layout, into)
        self.engine.check_free(names.values(), replace=replace)
        for predicate, name in names.items():
            self.engine.write_table(name, rows_of(predicate), replace=replace)

    def _notes(self) -> list[str]:
        """Return what a user should know of how far the model fits these examples."""
        hidden = [f"{p.name} ({counted(p.atom_count, 'atom')})" for p in self.layout.opened() if p.hidden]
        notes = [f"inferred with them and not reported: {', '.join(hidden)}"] if hidden else []
        if self.unseen.combinations:
            were = "was" if self.unseen.combinations == 1 else "were"
            touch = "it touches" if self.unseen.combinations == 1 else "they touch"
            notes.append(
                f"{counted(self.unseen.combinations, 'combination')} of constants {were} never seen in training; "
                f"{touch} {counted(self.unseen.atoms, 'query atom')}"
            )
        if self.unknown:
            do = "does" if self.unknown == 1 else "do"
            notes.append(f"{counted(self.unknown, 'constant')} of the model's clauses {do} not occur in these data")
        return notes


def into_tables(layout: Layout, into: str) -> dict[str, str]:
    """Return the tables into which predictions are written, by open predicate that is not hidden."""
    # The database ignores case in names of tables, so that those of predicates `P` and `p` are `into_P` and `into_p_2`.
    names = [info.name for info in layout.opened() if not info.hidden]
    taken = set[str]()
    return {name: into if len(names) == 1 else unique_name(f"{into}_{name}", taken) for name in names}


# ---- how it is found ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Destination:
    """Where results go beside what is returned."""

    into: str | None  # the table to create for each open predicate, see `into_tables`
    replace: bool  # whether it may be there already
    keep: bool  # whether to keep a run

    def __post_init__(self) -> None:
        if self.into is not None and not isinstance(self.into, str):
            raise InputError(f"into={shortened(repr(self.into))} must be the name of a table to create.")
        for name, value in (("replace", self.replace), ("keep", self.keep)):
            if not isinstance(value, bool):
                raise InputError(f"{name}={shortened(repr(value))} must be True or False.")

    def names(self, layout: Layout) -> list[str]:
        """Return the names of the tables."""
        return [] if self.into is None else list(into_tables(layout, self.into).values())


@dataclass(frozen=True, eq=False)
class Inference:
    """A model bound to some examples, of whose query atoms something is to be found."""

    session: Session
    asked: Query
    destination: Destination
    extent: Extent  # the program, expanded over the examples, and the query's limit
    ids: IntArray  # of the examples, in their order
    unseen: Unseen
    task: Progress
    start: float  # when it began, by `time.perf_counter`

    @property
    def program(self) -> Program:
        """The program of the extent."""
        return self.extent.program

    def found(self, atoms: NetworkAtoms, **seconds: float) -> dict[str, Any]:
        """Return the fields of `Inferred`; `seconds` are those of the stage that was not grounding."""
        grounding = time.perf_counter() - self.start - sum(seconds.values())
        return {
            "session": self.session,
            "asked": self.asked,
            "layout": self.program.public_layout,
            "network_atoms": atoms,
            "unseen": self.unseen,
            "seconds": {"grounding": grounding, **seconds},
            "built": self.session.records.atoms(),
            "examples": self.ids,
            "unknown": self.program.constants.unknown,
        }

    def deliver(self, found: Found, keep: Callable[[], int]) -> Found:
        """Write and keep what was found, as far as that was asked for; `keep` returns the number of the run."""
        if self.destination.into is not None:
            found.write(self.destination.into, replace=self.destination.replace)
        return dataclasses.replace(found, run=keep()) if self.destination.keep else found


@contextmanager
def inference(
    session: Session,
    asked: Query,
    destination: Destination,
    title: str,  # of the progress
    *,
    beside: Iterable[str] = (),  # tables that are written meanwhile
    listed: bool = True,  # every ground clause is listed, so that the limit holds for helper atoms
) -> Iterator[Inference]:
    """Bind a model with weights to some examples; what could not be written or kept is refused before any work."""
    asked.check(weighted=True)
    beside = list(beside)
    if destination.keep or destination.into is not None or beside:
        session.catalog.store.check_writable()
    start, limit = time.perf_counter(), asked.helper_limit if listed else None
    held = session.program(asked.model, choices=asked.choices, limit=limit, keep=True)
    with session.console.progress(title) as task, held as program:
        names = [*destination.names(program.public_layout), *beside]
        _check_distinct(names)
        if names:
            session.engine.check_free(names, replace=destination.replace)
        with session.only(asked.examples) as chosen:
            program.expand(chosen)
            ids = session.ids(chosen)
            extent = Extent(program, chosen, asked.limit, len(ids))
            yield Inference(session, asked, destination, extent, ids, unseen(extent), task, start)


class OverAtoms(Protocol):
    """What is ground over query atoms."""

    @property
    def network_atoms(self) -> NetworkAtoms:
        """The query atoms."""


Grounded = TypeVar("Grounded", bound=OverAtoms)


def collected(
    windows: Iterable[tuple[IntArray, Grounded, Result]],
    task: Progress,
    examples: int,
    take: Callable[[IntArray, Grounded, Result], None] | None = None,
) -> tuple[NetworkAtoms, IntArray, list[Result]]:
    """Return the atoms of all windows, one at least, their order, and the results; a network is let go before the next is asked for."""
    atoms: list[NetworkAtoms] = []
    results: list[Result] = []
    done = 0
    for window, network, result in windows:
        atoms.append(network.network_atoms)
        results.append(result)
        if take is not None:
            take(window, network, result)
        del network  # or else it would be there while the next is grounded
        done += len(window)
        if done < examples:
            task.advance(0, note=f"{done:,} of {examples:,} examples")
    whole, order = NetworkAtoms.joined(atoms)
    return whole, order, results


def _check_distinct(names: list[str]) -> None:
    """Refuse to write two results into one table; DuckDB ignores case."""
    folded = [name.casefold() for name in names]
    twice = next((name for i, name in enumerate(names) if folded[i] in folded[:i]), None)
    if twice is not None:
        raise InputError(
            f"two results would go to one table, {twice}: give into=, samples_into= and means_into= different names"
        )
