"""Predictions: the most probable world of a model, found by our solvers or read from what an outside solver answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast, get_args

import numpy as np
import pyarrow as pa

from sqlrl import markup
from sqlrl.database.exports import names_of
from sqlrl.database.inference import Destination, Inference, collected, inference
from sqlrl.database.inferred import InferredWorld
from sqlrl.errors import InputError
from sqlrl.evaluate import Scores
from sqlrl.ground.clauses import clause_table, describer, shape_table, stated_model
from sqlrl.ground.counts import check_any_world
from sqlrl.ground.grounding import ground_network
from sqlrl.ground.network import BoolArray, FloatArray, IntArray, Network, NetworkAtoms
from sqlrl.ground.program import Program
from sqlrl.ground.windows import divided
from sqlrl.report import Table
from sqlrl.report.console import Progress
from sqlrl.solve.counts import counts
from sqlrl.solve.result import MPEResult, Status, joined
from sqlrl.training.session import Query, Session, verb
from sqlrl.training.statistics import Counts, by_evidence, statistics_table
from sqlrl.wording import counted

if TYPE_CHECKING:
    from sqlrl.database.plots import PredictionPlots
    from sqlrl.database.why import Reasons
    from sqlrl.solve.exchange.solutions import Format
    from sqlrl.solve.methods import Method, WorldMethod

Window = tuple[IntArray, Network, MPEResult]


@dataclass(frozen=True, eq=False, kw_only=True)
class Prediction(InferredWorld):
    r"""A predicted world and what is proved about it.

    Parameters
    ----------
    session : Session
    asked : Query
        The model and its examples.
    layout : Layout
        Without helper predicates.
    network_atoms : NetworkAtoms
        The n query atoms and the helper atoms.
    network : Network or None
        None if the examples were grounded in several windows, of which only one is held at a time. Of cutting planes it has the
        ground clauses that they needed.
    result : MPEResult
        Of all of them.
    options : mapping of str to object
        How it was found, as `sqlrl.run` keeps it.
    margin : float array, shape (n,), optional
        With `margins=True`: how much the score of the best world falls when the atom must have the other value, in log-odds.
    unseen, seconds, built, examples, unknown, run
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

    _instead = "prediction.atoms()"
    _owner = "Prediction"

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
        is one. What the evidence decides costs nothing. Worlds of one model and data differ in cost as in objective.
        """
        assert self.result.cost is not None, "what predicts says what the world costs"
        return self.result.cost

    @property
    def bound(self) -> float:
        """No world has a greater objective."""
        return self.result.bound

    def atoms(self, predicate: str | None = None, *, every: bool = False) -> pa.Table:
        """Return predicted atoms of one predicate with names.

        Parameters
        ----------
        predicate : str, optional
            Required if the model has several open predicates.
        every : bool
            Also those predicted false; `truth` tells.

        Returns
        -------
        pyarrow.Table
            Columns `example` (name), the arguments (named by their types), `truth`, with `margins=True` also `margin` (log-odds; infinite where
            no world has the other value, NULL where that was too much to find); ordered by atom.

        Raises
        ------
        InputError
            The predicate is not open, or atoms have been numbered anew since the prediction.
        """
        ids = self.network_atoms.ids
        shown = np.ones(len(ids), bool) if every else self.result.world
        columns: dict[str, pa.Array] = {"truth": pa.array(self.result.world[shown])}
        if self.margin is not None:
            columns["margin"] = pa.array(self.margin[shown], from_pandas=True)
        return self.named(predicate, ids[shown], columns)

    def table(self, predicate: str | None = None, *, every: bool = False) -> Table:
        """Return `atoms` as a table that prints; parameters and errors are the same."""
        info = self.chosen(predicate)
        return Table(self.atoms(info.name, every=every), title=f"{info.name}: predicted")

    def write(self, into: str, *, replace: bool = False) -> None:
        """Create a table with the true atoms (of several open predicates: a table for each, named `into_predicate`).

        Parameters
        ----------
        into : str
            The name of the table, in the current schema of the connection.
        replace : bool
            Whether a table of that name may be replaced.

        Raises
        ------
        InputError
            The table exists and may not be replaced, or the database can only be read.
        """
        self._write(into, lambda predicate: self.atoms(predicate).drop(["truth"]), replace=replace)

    def why(self, atom: str, *, example: str | None = None, neutral: bool = False) -> Reasons:
        r"""Say why an atom is predicted as it is.

        Parameters
        ----------
        atom : str
            A query atom with its constants, as a line of evidence: `Smokes(Anna)`, `InField("b 1", Title, 3)`.
        example : str, optional
            Its example, where the arguments do not say.
        neutral : bool
            Whether to list also the ground clauses that other atoms decide.

        Returns
        -------
        Reasons
            The ground clauses for and against the predicted value, with constants, weights and what each contributes, and the
            margin: how much the best world's score falls when the atom must have the other value. Those of a prediction
            that was kept are kept too, in `sqlrl.explanation`.

        Raises
        ------
        InputError
            There is no such query atom, or atoms have been numbered anew since the prediction.

        Examples
        --------
        >>> import sqlrl
        >>> db = sqlrl.connect()
        >>> db.load("Friends", [("Anna", "Bob"), ("Bob", "Chris")])
        >>> db.load("Smokes", [("Anna",)], given=True)
        >>> rule = "1 Friends(x, y) ^ Smokes(x) => Smokes(y)"
        >>> prediction = db.predict(sqlrl.parse_mln("Friends(person, person)\nSmokes(person)\n" + rule))
        >>> prediction.why("Smokes(Bob)").table["ground_clause"]
        ['!Friends(Anna, Bob) v !Smokes(Anna) v Smokes(Bob)']
        """
        self.check_current()
        from sqlrl.database.why import why

        return why(self, atom, example=example, neutral=neutral)

    def clusters(self, predicate: str | None = None, *, closure: bool = False) -> Table:
        r"""Return the clusters of a predicted equivalence, such as records that are the same.

        Parameters
        ----------
        predicate : str, optional
            An open predicate with two arguments of one type; required if the model has several.
        closure : bool
            Join whatever is connected, also where the prediction is no equivalence.

        Returns
        -------
        Table
            Columns `example`, the record (named by its type) and `cluster` (numbered from 0 by the first record of each), in order
            of clusters: all records of the type where all data are one example, else those with a query atom or a given one. Two
            records are joined if the predicate is true of them in either order; what is given true counts.

        Raises
        ------
        InputError
            The predicate is no such relation; or it joins x with y and y with z, but not x with z: the error shows such a triple.

        Examples
        --------
        >>> import sqlrl
        >>> db = sqlrl.connect()
        >>> db.load("Alike", [("Ann", "Anne"), ("Anne", "Anna"), ("Bob", "Rob")], types=("name", "name"))
        >>> text = "Alike(name, name)\nSame(name, name)\n1 Alike(x, y) => Same(x, y)\n-0.1 Same(x, y)\n"
        >>> rules = "Same(x, y) => Same(y, x).\nSame(x, y) ^ Same(y, z) => Same(x, z)."
        >>> for row in db.predict(sqlrl.parse_mln(text + rules, query=["Same"])).clusters():
        ...     print(row["cluster"], row["name"])
        0 Ann
        0 Anna
        0 Anne
        1 Bob
        1 Rob
        """
        from sqlrl.database.clusters import clusters

        with self.session.verb():
            return clusters(self, predicate, closure=closure)

    def evaluate(self, *, outside: str = "missed") -> Scores:
        """Compare with the labels.

        Parameters
        ----------
        outside : {"missed", "ignore"}
            What a true label outside the scope counts as, which has no query atom: as missed, or not at all.

        Returns
        -------
        Scores
            Over atoms that have a label.

        Raises
        ------
        InputError
            No atom has one.

        Notes
        -----
        Of a prediction that was kept, `sqlrl.outcome` and `sqlrl.support` then have the labels beside what was predicted, and for how many atoms
        each clause speaks: for the views `confusion`, `block_confusion`, `worst_predicted_examples` and `clause_support`. Examples that were
        grounded in several windows are grounded once more for it.
        """
        from sqlrl.database.evaluation import evaluate_world

        return evaluate_world(self, outside)

    @property
    def plot(self) -> PredictionPlots:
        """The charts of the world: `confusion()`."""
        from sqlrl.database.plots import PredictionPlots

        return PredictionPlots(self)

    def _title(self) -> str:
        real = self.reported
        true = int((self.result.world & real).sum())
        names = ", ".join(self.open_predicates)
        return f"Prediction of {names}: {true:,} of {counted(int(real.sum()), 'query atom')} true"

    def __repr__(self) -> str:
        lines = [*str(self.result.report).splitlines(), *self._notes()]
        return "\n".join([self._title(), *(f"  {line}" for line in lines)])

    def _repr_html_(self) -> str:
        return markup.report(self._title(), str(self.result.report), self._notes())


# ---- finding them ------------------------------------------------------------------------------------


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
) -> Prediction:
    """Predict the most probable world by our solvers; `Database.predict` explains it."""
    from sqlrl.ground.oracle import ProgramOracle
    from sqlrl.solve.cutting_plane import cutting_planes, estimate, recounted
    from sqlrl.solve.methods import WorldMethod, check_effort
    from sqlrl.solve.mpe import mpe

    if method not in get_args(WorldMethod):
        raise InputError(f"unknown method {method!r}: choose {', '.join(map(repr, get_args(WorldMethod)))}")
    check_effort(deterministic_limit, seed)

    def solve(asking: Inference) -> Iterator[Window]:
        """Ground what is needed, and solve."""
        oracle = None
        if method == "cutting-plane":
            oracle = ProgramOracle(asking.extent)
        elif method == "auto":
            oracle = chosen_oracle(asking)
        yield from grounded(asking) if oracle is None else [cut(asking, oracle)]

    def chosen_oracle(asking: Inference) -> ProgramOracle | None:
        """Return what cutting planes ask, None where full grounding is better."""
        oracle = ProgramOracle(asking.extent)
        known = estimate(oracle, asking.program.weights())
        if not known.partial:
            return None
        return ProgramOracle(asking.extent, whole=known.whole) if known.whole else oracle

    def cut(asking: Inference, oracle: ProgramOracle) -> Window:
        """Solve by cutting planes, all examples together."""
        found = cutting_planes(oracle, asking.program.weights(), deterministic_limit=deterministic_limit, seed=seed)
        network = recounted(oracle, found) if destination.keep else found.network
        return asking.ids, network, found.result

    def grounded(asking: Inference) -> Iterator[Window]:
        """Ground and solve window by window."""
        solver = cast("Method", "auto" if method == "full" else method)
        program = asking.program
        for window, network in divided(asking.extent, np.sort(asking.ids)):
            result = mpe(
                network, program.weights(), method=solver, deterministic_limit=deterministic_limit, seed=seed,
                describe=describer(program, network),
            )  # fmt: skip
            yield window, network, result
            del network  # or else it would be there while the next is grounded

    options = {"method": method, "deterministic_limit": deterministic_limit, "seed": seed}
    # Cutting planes ground what some world does not meet, which may be less than the definitions of all helper atoms.
    return _predicted(session, asked, destination, solve, options, listed=method != "cutting-plane", margins=margins)


@verb
def read_solution(
    session: Session,
    asked: Query,
    destination: Destination,
    path: str | Path,
    *,
    format: Format | None,
    exported: str | Path | None,
    bound: bool,
) -> Prediction:
    """Make a prediction of the world that an outside solver found; `Database.read_solution` explains it."""
    from sqlrl.solve.exchange import solutions
    from sqlrl.solve.mpe import scored
    from sqlrl.solve.weighted import weigh

    def read(asking: Inference) -> Iterator[Window]:
        """Take the world that the file names."""
        program = asking.program
        network = ground_network(asking.extent)
        weights = program.weights()
        found = solutions.read_solution(
            weigh(network, weights), path, format, names=names_of(program, network), exported=exported,
            describe=describer(program, network), bound=bound,
        )  # fmt: skip
        yield asking.ids, network, scored(network, weights, found)

    return _predicted(session, asked, destination, read, {"method": "file", "path": str(path), "bound": bound})


def _predicted(
    session: Session,
    asked: Query,
    destination: Destination,
    solve: Callable[[Inference], Iterator[Window]],
    options: Mapping[str, Any],
    *,
    listed: bool = True,
    margins: bool = False,
) -> Prediction:
    """Write and keep the world that `solve` finds for some examples; with `listed` it may list every ground clause."""
    with inference(session, asked, destination, "predicting", listed=listed) as asking:
        if destination.keep:
            check_any_world(asking.extent)
        found = put_together(
            solve(asking),
            asking.task,
            examples=len(asking.ids),
            counted=destination.keep,
            weights=asking.program.weights() if margins else None,
        )
        stages = found.result.report.seconds
        solving = sum(taken for stage, taken in stages.items() if stage != "ground")
        prediction = Prediction(
            **asking.found(found.atoms, solving=solving),
            network=found.network,
            result=found.result,
            options=options,
            margin=found.margin,
        )
        return asking.deliver(prediction, lambda: _keep(prediction, found.counts, asking.program))


# ---- windows put together ---------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class WorldCounts:
    """Exact counts of m clauses over the examples of a prediction, as in `Network`: object arrays of int, shape (m,)."""

    total: Counts
    open: Counts
    evidence_violated: Counts
    predicted: Counts  # n in the predicted world

    def __add__(self, other: WorldCounts) -> WorldCounts:
        """Return the counts over the examples of both."""
        return WorldCounts(
            self.total + other.total,
            self.open + other.open,
            self.evidence_violated + other.evidence_violated,
            self.predicted + other.predicted,
        )


@dataclass(frozen=True, eq=False)
class Solved:
    """A predicted world over all windows."""

    atoms: NetworkAtoms
    result: MPEResult
    network: Network | None  # None if there were several windows, of which one is held at a time
    counts: WorldCounts | None  # None if not asked for
    margin: FloatArray | None = None  # of the atoms; None if not asked for


def put_together(
    windows: Iterable[Window], task: Progress, *, examples: int, counted: bool, weights: FloatArray | None = None
) -> Solved:
    """Put the worlds of windows, one at least, together; a network is let go before the next is asked for."""
    # With `counted` all clauses are counted in the world, and with `weights` the margins of the atoms are found.
    total: WorldCounts | None = None
    kept: Network | None = None
    margin: list[FloatArray] = []

    def take(window: IntArray, network: Network, result: MPEResult) -> None:
        """Count the clauses, and keep the network if it is the only one."""
        nonlocal total, kept
        kept = network if len(window) == examples else None
        if counted:
            found = WorldCounts(network.total, network.open, network.evidence_violated, counts(network, result.world))
            total = found if total is None else total + found
        if weights is not None:
            # What no round of cutting planes looked at could make another world cost less.
            unknown = np.full(len(result.world), np.nan)
            margin.append(unknown if network.partial else _margins(network, weights, result.world))

    atoms, order, results = collected(windows, task, examples, take)
    found = np.concatenate(margin)[order] if margin else None
    return Solved(atoms, joined(results, order), kept, total, found)


def _margins(network: Network, weights: FloatArray, world: BoolArray) -> FloatArray:
    from sqlrl.solve.alternatives import margins
    from sqlrl.solve.weighted import weigh

    return margins(weigh(network, weights), world)


def _keep(prediction: Prediction, counted: WorldCounts | None, program: Program) -> int:
    """Keep the model, the true atoms and exact statistics of a prediction; return the number of the run."""
    assert counted is not None, "clauses were counted"
    atoms, records = prediction.network_atoms, prediction.session.records
    run = records.begin_run("predict", prediction.options, None)
    with records.ending(run):
        listed = clause_table(program, keys=True)
        shown = listed.column("clause").to_numpy()
        model = records.save_model("predict", stated_model(program), listed, shape_table(program), origin="given")
        for name in prediction.open_predicates:
            mine = prediction.result.world & prediction.of_predicate(name)
            true = {"atom": atoms.ids[mine], "example": atoms.example[mine], "truth": np.ones(mine.sum(), bool)}
            names = pa.array([name] * int(mine.sum()), pa.string())
            records.append("prediction", run, pa.table({"predicate": names, **true}))
        # Groundings that hold an atom and its negation count as satisfied by the evidence. No label is read: what labels say is added by
        # `add_observed`.
        found = by_evidence(program, counted.total, counted.open, counted.evidence_violated)
        found["n_predicted"] = counted.predicted
        records.append("clause_statistics", run, statistics_table(shown, found))
        records.end_run(run, "done", model=model, timings=prediction.seconds)
    return run
