"""Marginal probabilities of query atoms, with names, and no more digits than their errors support."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Never, NoReturn

import numpy as np
import pyarrow as pa
from sqlglot import exp

from sqlrl.database.calibration import warn_of_ranking_weights
from sqlrl.database.evaluation import Compared, keep_probabilities, probability_scores
from sqlrl.database.inference import Collected, Destination, InferenceTask, collected, inference, kept_run
from sqlrl.database.inferred import InferredProbabilities
from sqlrl.database.results import InferenceResult
from sqlrl.engine.duckdb import DuckDBEngine
from sqlrl.engine.nodes import column
from sqlrl.errors import UnsupportedError
from sqlrl.ground.clauses import atom_texts, clause_table, describer, shape_table, stated_model
from sqlrl.ground.network import BoolArray, FloatArray, IntArray, Network
from sqlrl.ground.program import Program
from sqlrl.ground.windows import divided
from sqlrl.training.session import Query, Session, verb
from sqlrl.wording import counted

if TYPE_CHECKING:
    from sqlrl.evaluate import ProbabilityScores
    from sqlrl.plan.named_clauses import AtomKey
    from sqlrl.solve.marginal import Method
    from sqlrl.solve.sampling.belief import MarginalResult
    from sqlrl.solve.sampling.chains import SampleBatch


SHORTEST = 0.01
"""Seconds that a window gets once the time limit is over."""


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Marginals(InferenceResult["ProbabilityScores", NoReturn], InferredProbabilities):
    r"""The probability of each query atom, and how well it is known.

    Parameters
    ----------
    result : MarginalResult
        Of all of them.
    session, asked, layout, network_atoms, unseen, seconds, built, examples, unknown, run
        As in `Inferred`.

    Examples
    --------
    >>> import sqlrl
    >>> db = sqlrl.connect()
    >>> db.load("Friends", [("Anna", "Bob"), ("Bob", "Chris")])
    >>> db.load("Smokes", [("Anna",)], given=True)
    >>> rule = "1 Friends(x, y) ^ Smokes(x) => Smokes(y)"
    >>> found = db.probabilities(sqlrl.parse_mln("Friends(person, person)\nSmokes(person)\n" + rule))
    >>> found.table()
    Smokes: probabilities
    example  person  probability  error  method
    -------  ------  -----------  -----  -----------
    all      Bob        0.650245      0  elimination
    all      Chris      0.650245      0  elimination
    """

    kept_in = "marginal"
    _found = "probabilities"

    @property
    def warnings(self) -> tuple[str, ...]:
        """Where the estimates cannot be trusted, in words; empty if they can."""
        return self.visible.warnings

    def probabilities(self, predicate: str | None = None) -> pa.Table:
        """Return the probabilities of one predicate's atoms: `atoms` by its older name."""
        return self.atoms(predicate)

    def _columns(self, shown: BoolArray) -> dict[str, pa.Array]:
        found = self.part(shown)
        numbers = {name: pa.array(getattr(found, name)) for name in ("probability", "error", "rhat", "ess")}
        return {**numbers, "method": method_names(found)}

    def _shown_columns(self, shown: BoolArray) -> dict[str, pa.Array]:
        found = self.part(shown)
        rounded, error = found.rounded, _two_digits(found.error)
        return {
            "probability": pa.array(rounded, mask=np.isnan(rounded)),
            "error": pa.array(error),
            "method": method_names(found),
        }

    def _scores(self, known: Compared, *, bins: int, threshold: float) -> ProbabilityScores:
        return probability_scores(self, known, bins)

    def _keep_outcomes(self, run: int, known: Compared, threshold: float) -> None:
        keep_probabilities(self, known)

    def _reasons(self, key: AtomKey, *, neutral: bool) -> NoReturn:
        raise UnsupportedError(
            "a probability sums over all worlds, so that no ground clause alone speaks for or against it: "
            "db.predict(model).why('Predicate(constant)') gives reasons of a predicted atom"
        )

    def _title(self) -> str:
        found = self.visible
        exact = "all exact" if found.exact.all() else f"{int(found.exact.sum()):,} exact"
        return f"Probabilities of {', '.join(self.open_predicates)}: {counted(len(found.code), 'query atom')}, {exact}"

    def _summary(self) -> str:
        return str(self.visible)


def method_names(found: MarginalResult) -> pa.Array:
    """Return the name of the method of each atom."""
    from sqlrl.solve.sampling.belief import METHODS  # with numba, which a database that only loads does not need

    return pa.array([METHODS[code] for code in found.code.tolist()], pa.string())


def _two_digits(error: FloatArray) -> FloatArray:
    """Round errors up to two significant digits."""
    found = error.copy()
    some = np.isfinite(error) & (error > 0)
    scale = 10.0 ** (1 - np.floor(np.log10(error[some])))
    found[some] = np.round(np.ceil(np.round(error[some] * scale, 9)) / scale, 15)
    return found


# ---- finding them ------------------------------------------------------------------------------------


@verb
def marginals(
    session: Session,
    asked: Query,
    destination: Destination,
    *,
    method: Method,
    samples: int,
    burn_in: int,
    chains: int,
    seed: int,
    time_limit: float | None,
    samples_into: str | None,
    means_into: str | None,
) -> Marginals:
    """Find the probability of each query atom; `Database.probabilities` explains it."""
    from sqlrl.solve.marginal import check_time_limit
    from sqlrl.solve.marginal import marginals as probabilities
    from sqlrl.solve.methods import check_effort
    from sqlrl.solve.sampling.belief import joined
    from sqlrl.solve.sampling.chains import Effort

    asked.check(weighted=True)
    check_time_limit(time_limit)
    begun = time.perf_counter()
    effort = Effort(samples, burn_in, chains, seed, _threads(session))
    check_effort(None, seed)
    streamed = [name for name in (samples_into, means_into) if name is not None]

    def sampled(asking: InferenceTask) -> Iterator[tuple[IntArray, Network, MarginalResult]]:
        """Ground window by window, and find probabilities."""
        program, done = asking.program, 0
        left = time_limit
        # A sampled world is one of all examples, so that it needs them together.
        for window, network in divided(asking.extent, np.sort(asking.ids), whole=bool(streamed)):
            if time_limit is not None:
                # Windows share what is left by their examples; the last ones still get enough for two samples.
                left = max(time_limit - (time.perf_counter() - begun), SHORTEST)
                left *= len(window) / (len(asking.ids) - done)
            with _sink(session.engine, program, network, samples_into, means_into) as sink:
                result = probabilities(
                    network, program.weights(), method=method, samples=effort.samples, burn_in=effort.burn_in,
                    chains=effort.chains, seed=_seed(effort.seed, done), threads=effort.threads, time_limit=left, sink=sink,
                    describe=describer(program, network),
                )  # fmt: skip
            yield window, network, result
            del network  # or else it would be there while the next is grounded
            done += len(window)

    with inference(session, asked, destination, "finding probabilities", beside=streamed) as asking:
        windows: Collected[Network, MarginalResult, Never] = collected(sampled(asking), asking.task, len(asking.ids))
        result = joined(windows.results, windows.order)
        found = Marginals(**asking.found(windows.atoms, inference=result.seconds), result=result)
        warn_of_ranking_weights(session, asked.model)
        options: dict[str, object] = {"method": method, "samples": samples, "burn_in": burn_in, "chains": chains}
        if time_limit is not None:
            options["time_limit"] = time_limit

        def keep() -> int:
            """Keep the model and the probabilities; return the number of the run."""
            program = asking.program
            stated = (stated_model(program), clause_table(program, keys=True), shape_table(program))
            with kept_run(found, "marginals", options, *stated, seed=seed) as run:
                return run

        return asking.deliver(found, keep)


def _threads(session: Session) -> int:
    """Return how many threads the database may use; samplers use no more."""
    setting = exp.Anonymous(this="current_setting", expressions=[exp.convert("threads")])
    return int(session.engine.fetch(exp.select(setting), step="read a setting").column(0)[0].as_py())


@contextmanager
def _sink(
    engine: DuckDBEngine, program: Program, network: Network, samples: str | None, means: str | None
) -> Iterator[SampleTables | None]:
    """Show the tables for samples; if an error or Ctrl-C ends the context they leave no trace."""
    if samples is None and means is None:
        yield None
        return
    atoms = network.atoms[~network.helper]
    texts = atom_texts(program, atoms)
    with engine.transaction():
        yield SampleTables(engine, [texts[i] for i in atoms.tolist()], ~network.helper, samples, means)


def _seed(seed: int, done: int) -> int:
    """Return the seed of a window: those of the same seed shall not draw alike, or else errors of like examples would be the same."""
    return seed if done == 0 else int(np.random.SeedSequence([seed, done]).generate_state(1)[0]) >> 1


# ---- samples of worlds as they are drawn, in tables of the user ----------------------------------


SAMPLES = {"chain": "INTEGER", "sample": "BIGINT", "atom": "VARCHAR"}
"""A row for each true atom of each sampled world; NULL for a world in which none is true."""

MEANS = {"chain": "INTEGER", "samples": "BIGINT", "atom": "VARCHAR", "mean": "DOUBLE"}
"""A row for each atom, chain and batch: the mean of the chain's samples so far."""


class SampleTables:
    """Creates the tables and writes each batch into them; a `sqlrl.solve.sampling.chains.SampleSink`."""

    def __init__(
        self, engine: DuckDBEngine, names: Sequence[str], visible: BoolArray, samples: str | None, means: str | None
    ) -> None:
        # `names` are the visible atoms, with constants; `visible` says which of all atoms these are: helper atoms are not.
        self._engine, self._visible = engine, visible
        self._names = pa.array(names, pa.string())
        self._samples, self._means = samples, means
        # In the current schema of the engine's connection, in place of tables of the same name; None for neither.
        for name, columns in ((samples, SAMPLES), (means, MEANS)):
            if name is not None:
                self._create(name, columns)

    def write(self, batch: SampleBatch) -> None:
        """Append the true atoms of some consecutive worlds of a chain, and its running means."""
        size = len(batch.worlds)
        if self._samples is not None:
            worlds = batch.worlds[:, self._visible]
            world, atom = np.nonzero(worlds)
            rows = {"sample": pa.array(batch.first + world, pa.int64()), "atom": self._named(atom)}
            self._append(self._samples, batch.chain, rows)
            empty = np.flatnonzero(~worlds.any(axis=1))
            none = pa.nulls(len(empty), pa.string())
            self._append(
                self._samples, batch.chain, {"sample": pa.array(batch.first + empty, pa.int64()), "atom": none}
            )
        if self._means is not None:
            mean = batch.mean[self._visible]
            done = pa.array(np.full(len(mean), batch.first + size), pa.int64())
            rows = {"samples": done, "atom": self._named(np.arange(len(mean))), "mean": pa.array(mean, pa.float64())}
            self._append(self._means, batch.chain, rows)

    def _named(self, atoms: np.typing.NDArray[np.intp]) -> pa.Array:
        return pa.DictionaryArray.from_arrays(pa.array(atoms, pa.int32()), self._names)

    def _create(self, name: str, columns: Mapping[str, str]) -> None:
        kinds = [
            exp.ColumnDef(this=exp.to_identifier(c, quoted=True), kind=exp.DataType.build(kind, dialect="duckdb"))
            for c, kind in columns.items()
        ]
        definition = exp.Schema(this=exp.table_(name, quoted=True), expressions=kinds)
        statement = exp.Create(this=definition, kind="TABLE", replace=True)
        self._engine.execute(statement, step=f"create the table {name}")

    def _append(self, name: str, chain: int, rows: Mapping[str, pa.Array]) -> None:
        size = len(next(iter(rows.values())))
        if not size:
            return
        data = pa.table({"chain": pa.array(np.full(size, chain), pa.int32()), **rows})
        with self._engine.attached(data) as source:
            query = exp.select(*map(column, data.column_names)).from_(source)
            target = exp.Schema(
                this=exp.table_(name, quoted=True),
                expressions=[exp.to_identifier(c, quoted=True) for c in data.column_names],
            )
            self._engine.execute(exp.Insert(this=target, expression=query), step=f"append samples to {name}")
