"""Predictions: the most probable world of a model, found by our solvers or read from what an outside solver answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast, get_args

import numpy as np
import pyarrow as pa

from sqlrl.database.evaluation import Compared, keep_world, world_scores
from sqlrl.database.exports import names_of
from sqlrl.database.inference import (
    Destination,
    InferenceTask,
    Preparation,
    collected,
    inference,
    kept_run,
    search_options,
    unprepared,
)
from sqlrl.database.inferred import InferredWorld
from sqlrl.database.results import InferenceResult
from sqlrl.errors import InputError
from sqlrl.ground.clauses import clause_table, describer, shape_table, stated_model
from sqlrl.ground.counts import check_any_world
from sqlrl.ground.grounding import ground_network
from sqlrl.ground.memory import most_entries
from sqlrl.ground.network import BoolArray, FloatArray, IntArray, Network
from sqlrl.ground.program import Extent, Program
from sqlrl.ground.windows import adds_up, divided
from sqlrl.logic.psl import SoftModel
from sqlrl.solve.counts import counts
from sqlrl.solve.result import MPEResult, Status, joined
from sqlrl.training.session import Query, Session, verb
from sqlrl.training.statistics import Counts, by_evidence, statistics_table
from sqlrl.wording import counted

if TYPE_CHECKING:
    from sqlrl.database.why import Reasons
    from sqlrl.evaluate import Scores
    from sqlrl.plan.named_clauses import AtomKey
    from sqlrl.solve.cutting_plane_worlds import NetworkEstimate
    from sqlrl.solve.exchange.solutions import OutsideSolution
    from sqlrl.solve.methods import Method, WorldMethod

Window = tuple[IntArray, Network, MPEResult]


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Prediction(InferenceResult["Scores", "Reasons"], InferredWorld):
    r"""A predicted world and what is proved about it.

    Parameters
    ----------
    network : Network or None
        None if the examples were grounded in several windows, of which only one is held at a time. Of cutting planes it has the
        ground clauses that they needed.
    result : MPEResult
        Of all of them.
    options : mapping of str to object
        How it was found, as `sqlrl.run` keeps it.
    margin : float array, shape (n,), optional
        With `margins=True`: how much the score of the best world falls when the atom must have the other value, in log-odds.
    session, asked, layout, network_atoms, unseen, seconds, built, examples, unknown, run
        As in `Inferred`.

    Examples
    --------
    >>> import sqlrl
    >>> db = sqlrl.connect()
    >>> db.load("Friends", [("Anna", "Bob"), ("Bob", "Chris")])
    >>> db.load("Smokes", [("Anna",)], given=True)
    >>> rule = "1 Friends(x, y) ^ Smokes(x) => Smokes(y)"
    >>> prediction = db.predict(sqlrl.parse_mln("Friends(person, person)\nSmokes(person)\n" + rule))
    >>> prediction.status.value, prediction.objective, prediction.cost
    ('optimal', 9.0, 0.0)
    >>> prediction.atoms(every=True)["person"].to_pylist()
    ['Bob', 'Chris']
    """

    kept_in = "prediction"
    _unwritten = ("truth",)

    @property
    def status(self) -> Status:
        """How well the world is proved."""
        return self.result.status

    @property
    def objective(self) -> float:
        """Sum of weight times n over the weighted clauses, in log-odds.

        A template without clauses of its own, whose weight was given and not learned, has a clause for each combination of
        constants that these examples leave open. Combinations that the evidence decides everywhere would add the same to
        every world, and are not in the sum.
        """
        return self.result.objective

    @property
    def cost(self) -> float:
        """Sum of the weights of the ground clauses that the world violates, and of the absolute negative weights of those that it satisfies.

        In log-odds: how far the world is from one in which every weighted ground clause earns the most, whether or not there
        is one. It is `open_cost + constant_cost`. Worlds of one model and data differ in cost as in objective.
        """
        assert self.result.cost is not None, "what predicts says what the world costs"
        return self.result.cost

    @property
    def open_cost(self) -> float:
        """The part of the cost that the world decides: that of ground clauses which the evidence leaves open."""
        assert self.result.report.open_cost is not None, "what predicts says what the world costs"
        return self.result.report.open_cost

    @property
    def constant_cost(self) -> float:
        """The part of the cost that the evidence alone decides: the same for every world."""
        assert self.result.report.constant_cost is not None, "what predicts says what the world costs"
        return self.result.report.constant_cost

    @property
    def bound(self) -> float:
        """No world has a greater objective."""
        return self.result.bound

    def _columns(self, shown: BoolArray) -> dict[str, pa.Array]:
        beside = {} if self.margin is None else {"margin": pa.array(self.margin[shown], from_pandas=True)}
        return super()._columns(shown) | beside

    def _kept_columns(self, shown: BoolArray) -> dict[str, pa.Array]:
        return super()._columns(shown)

    def _scores(self, known: Compared, *, bins: int, threshold: float) -> Scores:
        return world_scores(self, known)

    def _keep_outcomes(self, run: int, known: Compared, threshold: float) -> None:
        keep_world(self, run, known)

    def _reasons(self, key: AtomKey, *, neutral: bool) -> Reasons:
        from sqlrl.database.why import why

        return why(self, key, neutral=neutral)

    def _title(self) -> str:
        real = self.reported
        true = int((self.result.world & real).sum())
        names = ", ".join(self.open_predicates)
        return f"Prediction of {names}: {true:,} of {counted(int(real.sum()), 'query atom')} true"

    def _summary(self) -> str:
        return str(self.result.report)


# ---- finding them ------------------------------------------------------------------------------------


SAMPLED = 500
"""About so many examples show how much of the ground clauses of all of them some world does not meet: a twentieth of the time where there are ten thousand."""


@verb
def predict(
    session: Session,
    asked: Query,
    destination: Destination,
    *,
    method: WorldMethod,
    deterministic_limit: float | None,
    seed: int,
    margins: bool = False,
    prepared: bool | None = None,
) -> Prediction:
    """Predict the most probable world by our solvers; `Database.predict` explains it."""
    from sqlrl.ground.oracle import ProgramOracle
    from sqlrl.solve.cutting_plane import cutting_planes, estimate, recounted
    from sqlrl.solve.cutting_plane_worlds import NetworkEstimate
    from sqlrl.solve.methods import WorldMethod, check_effort
    from sqlrl.solve.mpe import mpe

    if method not in get_args(WorldMethod):
        raise InputError(f"unknown method {method!r}: choose {', '.join(map(repr, get_args(WorldMethod)))}")
    check_effort(deterministic_limit, seed)

    def solve(asking: InferenceTask) -> Iterator[Window]:
        """Ground what is needed, and solve."""
        if asking.network is not None:
            yield asking.ids, asking.network, solved(asking.program, asking.network)
            return
        oracle = None
        if method == "cutting-plane":
            oracle = ProgramOracle(asking.extent)
        elif method == "auto":
            oracle = chosen_oracle(asking)
        yield from grounded(asking) if oracle is None else [cut(asking, oracle)]

    def chosen_oracle(asking: InferenceTask) -> ProgramOracle | None:
        """Return what cutting planes ask, None where full grounding is better."""
        oracle, known = ProgramOracle(asking.extent), sampled(asking)
        if known is None:
            known = estimate(oracle, asking.program.weights())
        if not known.partial or (len(asking.ids) > 1 and beyond_memory(known, asking.program)):
            return None
        return ProgramOracle(asking.extent, whole=known.whole) if known.whole else oracle

    def beyond_memory(known: NetworkEstimate, program: Program) -> bool:
        """Whether what rounds ground of all examples together, half of it at first, may not fit into memory; one window after the other does."""
        pairs = sum(known.sizes[x] if x in known.whole else known.unmet[x] for x in known.sizes)
        return 4 * pairs > most_entries(program) and adds_up(program)

    def sampled(asking: InferenceTask) -> NetworkEstimate | None:
        """Return what some examples say of all; None where there are few, or theirs is too little to go by."""
        ids = np.sort(asking.ids)
        some = ids[:: max(len(ids) // SAMPLED, 1)]
        if 2 * len(some) > len(ids) or not adds_up(asking.program):
            return None
        with asking.extent.restricted_to(some) as extent:
            known = estimate(ProgramOracle(extent), asking.program.weights())
        return None if known.small else known.scaled(len(ids) / len(some))

    def cut(asking: InferenceTask, oracle: ProgramOracle) -> Window:
        """Solve by cutting planes, all examples together."""
        found = cutting_planes(oracle, asking.program.weights(), deterministic_limit=deterministic_limit, seed=seed)
        network = recounted(oracle, found) if destination.keep else found.network
        return asking.ids, network, found.result

    def grounded(asking: InferenceTask) -> Iterator[Window]:
        """Ground and solve window by window."""
        for window, network in divided(asking.extent, np.sort(asking.ids)):
            yield window, network, solved(asking.program, network)
            del network  # or else it would be there while the next is grounded

    def solved(program: Program, network: Network) -> MPEResult:
        """Solve a network that is grounded."""
        solver = cast("Method", "auto" if method == "full" else method)
        return mpe(
            network, program.weights(), method=solver, deterministic_limit=deterministic_limit, seed=seed,
            describe=describer(program, network),
        )  # fmt: skip

    def at_once(extent: Extent) -> bool:
        """Whether examples are grounded at once, without counting anything."""
        bounds = ProgramOracle(extent).bounds if method == "auto" else {}
        return NetworkEstimate(bounds, bounds).small

    options = {"method": method, "deterministic_limit": deterministic_limit, "seed": seed}
    # Cutting planes ground what some world does not meet, which may be less than the definitions of all helper atoms.
    preparation = (
        Preparation(prepared, method, at_once) if prepared is not False and method != "cutting-plane" else None
    )
    return _predicted(
        session, asked, destination, solve, options,
        listed=method != "cutting-plane", margins=margins, preparation=preparation,
    )  # fmt: skip


@verb
def prepare(session: Session, asked: Query) -> None:
    """Render the statements of predictions with a model; `Database.prepare` explains it."""
    from sqlrl.ground.prepared import why_not

    given: object = asked.model
    if isinstance(given, SoftModel):
        raise InputError("a soft model has no statements that are rendered once: predict with it as it is.")
    asked.check(weighted=True)
    with session.program(asked.model, roles=asked.roles, keep=True) as program:
        if why := why_not(program):
            raise unprepared(why)
        for whole in (False, True) if program.layout.example_count == 1 else (False,):
            prepared = session.kept_program.prepared(program, whole=whole, asked=True)
            assert prepared is not None, "nothing is against it"
            prepared.render()


def refuse_search(**given: object) -> None:
    """Refuse options that say how a world is found, where it is read."""
    wrong = search_options(given)
    if wrong:
        raise InputError(f"{', '.join(wrong)}: with solution= the world is read from a file; leave these out.")


@verb
def read_solution(
    session: Session,
    asked: Query,
    destination: Destination,
    solution: str | Path | OutsideSolution,
) -> Prediction:
    """Make a prediction of the world that an outside solver found."""
    from sqlrl.solve.exchange import solutions
    from sqlrl.solve.mpe import scored
    from sqlrl.solve.weighted import weigh

    given = solution if isinstance(solution, solutions.OutsideSolution) else solutions.OutsideSolution(solution)

    def read(asking: InferenceTask) -> Iterator[Window]:
        """Take the world that the file names."""
        program = asking.program
        network = ground_network(asking.extent)
        weights = program.weights()
        found = solutions.read_solution(
            weigh(network, weights), given.path, given.format, names=names_of(program, network), exported=given.exported,
            describe=describer(program, network), bound=given.bound,
        )  # fmt: skip
        yield asking.ids, network, scored(network, weights, found)

    return _predicted(
        session, asked, destination, read, {"method": "file", "path": str(given.path), "bound": given.bound}
    )


def _predicted(
    session: Session,
    asked: Query,
    destination: Destination,
    solve: Callable[[InferenceTask], Iterator[Window]],
    options: Mapping[str, Any],
    *,
    listed: bool = True,
    margins: bool = False,
    preparation: Preparation | None = None,
) -> Prediction:
    """Write and keep the world that `solve` finds for some examples; with `listed` it may list every ground clause."""
    with inference(session, asked, destination, "predicting", listed=listed, preparation=preparation) as asking:
        if destination.keep:
            check_any_world(asking.extent)
        weights = asking.program.weights()
        margin: list[FloatArray] = []

        def count(network: Network, result: MPEResult) -> WorldCounts | None:
            """Count the clauses of a window, and find the margins of its atoms, if that is asked for."""
            if margins:
                # What no round of cutting planes looked at could make another world cost less.
                unknown = np.full(len(result.world), np.nan)
                margin.append(unknown if network.partial else _margins(network, weights, result.world))
            return WorldCounts.of(network, result.world) if destination.keep else None

        windows = collected(solve(asking), asking.task, len(asking.ids), count)
        result = joined(windows.results, windows.order)
        solving = sum(taken for stage, taken in result.report.seconds.items() if stage != "ground")
        prediction = Prediction(
            **asking.found(windows.atoms, solving=solving),
            network=windows.network,
            result=result,
            options=options,
            margin=np.concatenate(margin)[windows.order] if margins else None,
        )
        return asking.deliver(prediction, lambda: _keep(prediction, windows.total, asking.program))


# ---- what is counted and kept ---------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class WorldCounts:
    """Exact counts of m clauses over the examples of a prediction, as in `Network`: object arrays of int, shape (m,)."""

    total: Counts
    open: Counts
    evidence_violated: Counts
    predicted: Counts  # n in the predicted world

    @classmethod
    def of(cls, network: Network, world: BoolArray) -> WorldCounts:
        """Return those of a network."""
        return cls(network.total, network.open, network.evidence_violated, counts(network, world))

    def __add__(self, other: WorldCounts) -> WorldCounts:
        """Return the counts over the examples of both."""
        return WorldCounts(
            self.total + other.total,
            self.open + other.open,
            self.evidence_violated + other.evidence_violated,
            self.predicted + other.predicted,
        )


def _margins(network: Network, weights: FloatArray, world: BoolArray) -> FloatArray:
    from sqlrl.solve.other_worlds import margins
    from sqlrl.solve.weighted import weigh

    return margins(weigh(network, weights), world)


def _keep(prediction: Prediction, counted: WorldCounts | None, program: Program) -> int:
    """Keep the model, the true atoms and exact statistics of a prediction; return the number of the run."""
    assert counted is not None, "clauses were counted"
    listed = clause_table(program, keys=True)
    # Groundings that hold an atom and its negation count as satisfied by the evidence. What labels say is added by `add_observed`.
    found = by_evidence(program, counted.total, counted.open, counted.evidence_violated)
    found["n_predicted"] = counted.predicted
    statistics = statistics_table(listed.column("clause").to_numpy(), found)
    stated = (stated_model(program), listed, shape_table(program))
    with kept_run(prediction, "predict", prediction.options, *stated) as run:
        prediction.session.records.append("clause_statistics", run, statistics)
    return run
