"""How inference goes, whatever it finds: a model is held against examples, window by window, and what is found is written and kept."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Generic, Protocol, Self, TypeVar

import pyarrow as pa

from sqlrl.catalog.layout import Layout
from sqlrl.database.results import InferenceResult, into_tables
from sqlrl.errors import InputError, Parameter, Phrase, Written
from sqlrl.ground.network import IntArray, Network, NetworkAtoms
from sqlrl.ground.prepared import why_not
from sqlrl.ground.program import Extent, Program
from sqlrl.ground.unseen import Unseen, unseen
from sqlrl.logic.model import Model
from sqlrl.logic.psl import SoftModel
from sqlrl.report.console import Progress
from sqlrl.training.session import Query, Session
from sqlrl.wording import shortened

Found = TypeVar("Found", bound="InferenceResult[Any, Any]")

_USUAL = {
    "method": "auto",
    "deterministic_limit": None,
    "random_state": 0,
    "margins": False,
    "prepared": None,
    "solution": None,
}


def search_options(given: Mapping[str, object]) -> list[str]:
    """Return, as they are written, the options of how a world is found that are not as by default."""
    return [f"{name}={value!r}" for name, value in given.items() if value != _USUAL[name]]


def read_as(session: Session, model: Model | SoftModel, semantics: str | None) -> Model | SoftModel:
    """Return a soft model as the network that it is in Boolean logic, where that is asked for."""
    if semantics not in (None, "soft", "boolean"):
        raise InputError(f"semantics={semantics!r} must be 'soft' or 'boolean'.")
    if semantics is not None and not isinstance(model, SoftModel):
        raise InputError(
            f"semantics={semantics!r} is of soft models: a Markov logic network is Boolean as it is; leave it out."
        )
    if semantics != "boolean":
        return model
    from sqlrl.logic.psl_boolean import boolean_model

    assert isinstance(model, SoftModel)
    return boolean_model(session.catalog.typed(model))


@dataclass(frozen=True)
class Destination:
    """Where results go beside what is returned."""

    into: str | None  # the table to create for each open predicate, see `into_tables`
    replace: bool  # whether it may be there already
    keep: bool  # whether to keep a run

    def __post_init__(self) -> None:
        if self.into is not None and not isinstance(self.into, str):
            raise InputError(
                f"{Parameter('into', Written(shortened(repr(self.into))))} must be the name of a table to create."
            )
        for name, value in (("replace", self.replace), ("keep", self.keep)):
            if not isinstance(value, bool):
                raise InputError(f"{name}={shortened(repr(value))} must be {Phrase('True')} or {Phrase('False')}.")

    def names(self, layout: Layout) -> list[str]:
        """Return the names of the tables."""
        return [] if self.into is None else list(into_tables(layout, self.into).values())

    def check_writable(self, session: Session, beside: Collection[str] = ()) -> None:
        """Refuse a database that can only be read, where something is to be written or kept."""
        if self.keep or self.into is not None or beside:
            session.catalog.store.check_writable()


@dataclass(frozen=True, eq=False)
class InferenceTask:
    """A model bound to some examples, of whose query atoms something is to be found."""

    session: Session
    asked: Query
    destination: Destination
    layout: Layout  # without helper predicates
    extent: Extent  # the program, expanded over the examples, and the query's limit
    ids: IntArray  # of the examples, in their order
    unseen: Unseen
    task: Progress
    start: float  # when it began, by `time.perf_counter`
    network: Network | None = (
        None  # if statements that were rendered once have ground it; `extent` has no table of examples then
    )

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
            "layout": self.layout,
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
    beside: Collection[str] = (),  # tables that are written meanwhile
    listed: bool = True,  # every ground clause is listed, so that the limit holds for helper atoms
    preparation: Preparation | None = None,  # whether statements that are rendered once may ground a few examples
) -> Iterator[InferenceTask]:
    """Bind a model with weights to some examples; what could not be written or kept is refused before any work."""
    asked.check(weighted=True)
    destination.check_writable(session, beside)
    start, limit = time.perf_counter(), asked.helper_limit if listed else None
    held = session.program(asked.model, roles=asked.roles, limit=limit, keep=True)
    with session.console.progress(title) as task, held as program:
        layout = program.public_layout
        if preparation is not None and not destination.keep:
            found = _prepared_task(session, asked, destination, program, task, start, preparation)
            if found is not None:
                yield found
                return
        with bound_task(session, asked, destination, layout, program, task, start, beside=beside) as found:
            yield found


@dataclass(frozen=True)
class Preparation:
    """When the network of a few examples comes from statements that are rendered once."""

    asked: bool | None  # True: always; None: from the second call with a model on
    method: str
    fits: Callable[[Extent], bool]  # whether that method grounds an extent at once


def _prepared_task(
    session: Session,
    asked: Query,
    destination: Destination,
    program: Program,
    task: Progress,
    start: float,
    preparation: Preparation,
) -> InferenceTask | None:
    """Ground the examples by statements that are rendered once; None where they are to be grounded as always."""
    chosen, whole = asked.examples, asked.examples is None
    # What is no list of names takes statements of its own to read, and some of it can be read once.
    if not whole and not (isinstance(chosen, list | tuple) and chosen and all(type(name) is str for name in chosen)):
        return None
    prepared = session.kept_program.prepared(program, whole=whole, asked=bool(preparation.asked))
    if prepared is None:
        if preparation.asked and (why := why_not(program)):
            raise unprepared(why)
        return None
    layout = program.public_layout
    _check_free(session, destination, layout)
    size = layout.example_count if whole else len(chosen)
    extent = prepared.extent(None if whole else size, asked.limit)
    at_once = prepared.at_once(extent, preparation.method, preparation.fits)
    ready = prepared.ground(chosen, asked.limit) if at_once else None
    if ready is None:
        return None
    new = ready.unseen
    if new is None:
        with program.examples_table(ready.examples) as listed:
            new = unseen(Extent(program, listed, asked.limit, size))
    return InferenceTask(session, asked, destination, layout, extent, ready.examples, new, task, start, ready.network)


def unprepared(why: str) -> InputError:
    """Return the error that the statements of a model cannot be rendered once."""
    return InputError(f"this model cannot be prepared, since {why}: leave {Parameter('prepared')} out.")


def _check_free(session: Session, destination: Destination, layout: Layout, beside: Collection[str] = ()) -> None:
    """Refuse tables that cannot be written, before any work."""
    names = [*destination.names(layout), *beside]
    _check_distinct(names)
    if names:
        session.engine.check_free(names, replace=destination.replace)


@contextmanager
def bound_task(
    session: Session,
    asked: Query,
    destination: Destination,
    layout: Layout,
    program: Program,
    task: Progress,
    start: float,
    *,
    beside: Collection[str] = (),
    templates: bool = True,  # the program has some, which are expanded
) -> Iterator[InferenceTask]:
    """Choose the examples of a program that is held; tables that cannot be written are refused before any work."""
    _check_free(session, destination, layout, beside)
    with session.examples_table(asked.examples) as chosen:
        if templates:
            program.expand(chosen)
        ids = session.ids(chosen)
        extent = Extent(program, chosen, asked.limit, len(ids))
        new = unseen(extent) if templates else Unseen(0, 0)
        yield InferenceTask(session, asked, destination, layout, extent, ids, new, task, start)


@contextmanager
def kept_run(
    found: InferenceResult[Any, Any],
    verb: str,
    parameters: Mapping[str, object],
    model: Model | SoftModel,
    clauses: pa.Table,
    shapes: pa.Table,
    *,
    seed: int | None = None,
) -> Iterator[int]:
    """Keep a run with its model and the values of its atoms, and what is kept in this context, all or nothing. No label is read."""
    records = found.session.records
    run = records.begin_run(verb, parameters, seed)
    with records.ending(run), records.together():
        number = records.save_model(verb, model, clauses, shapes, origin="given")
        for name in found.open_predicates:
            records.append(found.kept_in, run, found.kept_rows(name))
        yield run
        records.end_run(run, "done", model=number, timings=found.seconds)


# ---- window by window ----------------------------------------------------------------------------------


class OverAtoms(Protocol):
    """What is ground over query atoms."""

    @property
    def network_atoms(self) -> NetworkAtoms:
        """The query atoms."""


class Addable(Protocol):
    """What is added up over windows."""

    def __add__(self, other: Self) -> Self:
        """Return the sum."""


Grounded = TypeVar("Grounded", bound=OverAtoms)
Result = TypeVar("Result")
Total = TypeVar("Total", bound=Addable)


@dataclass(frozen=True, eq=False)
class Collected(Generic[Grounded, Result, Total]):
    """What was found in windows."""

    atoms: NetworkAtoms
    order: IntArray  # of the atoms of `results`, one after the other
    results: list[Result]
    network: Grounded | None  # None if there were several windows, of which one is held at a time
    total: Total | None  # None if nothing was counted


def collected(
    windows: Iterable[tuple[IntArray, Grounded, Result]],
    task: Progress,
    examples: int,
    count: Callable[[Grounded, Result], Total | None] | None = None,
) -> Collected[Grounded, Result, Total]:
    """Put the results of windows, one at least, together; a network is let go before the next is asked for."""
    # With `count` what it says of each window is added up, and the network is held if it is the only one.
    atoms: list[NetworkAtoms] = []
    results: list[Result] = []
    total: Total | None = None
    held: Grounded | None = None
    done = 0
    for window, network, result in windows:
        atoms.append(network.network_atoms)
        results.append(result)
        if count is not None:
            found = count(network, result)
            total = found if total is None or found is None else total + found
            held = network if len(window) == examples else None
        del network  # or else it would be there while the next is grounded
        done += len(window)
        if done < examples:
            task.advance(0, note=f"{done:,} of {examples:,} examples")
    whole, order = NetworkAtoms.joined(atoms)
    return Collected(whole, order, results, held, total)


def _check_distinct(names: list[str]) -> None:
    """Refuse to write two results into one table; DuckDB ignores case."""
    folded = [name.casefold() for name in names]
    twice = next((name for i, name in enumerate(names) if folded[i] in folded[:i]), None)
    if twice is not None:
        raise InputError(
            f"two results would go to one table, {twice}: give {Parameter('into')}, {Parameter('samples_into')} and {Parameter('means_into')} different names"
        )
