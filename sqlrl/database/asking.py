"""What is asked of query atoms beside the most probable world: how probable each is, and why one is predicted as it is."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
from sqlglot import exp

from sqlrl.database.exporting import check_weights
from sqlrl.database.finding import atoms_of, find_atom
from sqlrl.database.inferred import into_tables
from sqlrl.database.keeping import keep_marginals, keep_reasons
from sqlrl.database.marginals import Marginals
from sqlrl.database.models import Models, check_limit_option, helper_limit
from sqlrl.database.prediction import Prediction
from sqlrl.database.solved import tell
from sqlrl.database.verb import verb
from sqlrl.errors import InputError
from sqlrl.ground.assemble import ground_network
from sqlrl.ground.clauses import atom_texts, describer
from sqlrl.ground.counts import GROUNDING_LIMIT
from sqlrl.ground.expanding import unseen
from sqlrl.ground.network import Network, NetworkAtoms
from sqlrl.ground.program import Program
from sqlrl.ground.rows import MOST_ENTRIES
from sqlrl.ground.windows import divided
from sqlrl.logic.model import Model

if TYPE_CHECKING:
    from sqlrl.database.samples import SampleTables
    from sqlrl.database.why import Reasons
    from sqlrl.solve.marginal import Method
    from sqlrl.solve.sampling.belief import MarginalResult


class Asking(Models):
    """`Models`, and questions about single atoms.

    Parameters
    ----------
    catalog : Catalog
    console : Console, optional
        As for `Data`.
    """

    @verb
    def marginals(
        self,
        model: Model,
        *,
        examples: Any = None,
        method: Method = "auto",
        samples: int = 1000,
        burn_in: int = 100,
        chains: int = 4,
        seed: int = 0,
        into: str | None = None,
        samples_into: str | None = None,
        means_into: str | None = None,
        replace: bool = False,
        limit: int | None = GROUNDING_LIMIT,
        keep: bool = False,
        drop: Iterable[str] = (),
        query: Iterable[str] = (),
    ) -> Marginals:
        r"""Find the probability of each query atom. Labels are never read.

        Many examples are grounded and solved in windows, of which one is held at a time.

        Parameters
        ----------
        model : Model
            With weights.
        examples : list of names, query, relation or frame, optional
        method : {"auto", "exact", "gibbs", "mcsat"}
            "auto" is exact where closed forms or tables of elimination allow it, and samples elsewhere: by Gibbs sampling, or by
            MC-SAT where clauses are hard or nearly so. "exact" refuses what it would have to sample.
        samples, burn_in, chains, seed : int
            Samples of each chain, after those it forgets.
        into : str, optional
            A table to create with the probabilities of the open predicate (of several: `into`_predicate).
        samples_into : str, optional
            A table to create with the sampled worlds while they are drawn: `chain`, `sample`, `atom` (as text) of each true
            atom; NULL for a world in which none is true. With this or `means_into` all examples are one window.
        means_into : str, optional
            A table to create with running means: `chain`, `samples` (so far), `atom` (as text), `mean`.
        replace : bool
            Whether tables of those names may be replaced.
        limit : int or None
            The most ground clauses of one shape in a window, which is one example at least.
        keep : bool
            Keep the probabilities in `sqlrl.marginal`.
        drop, query : iterable of str
            As in `ground`.

        Returns
        -------
        Marginals
            Probabilities with their Monte Carlo errors, and warnings where they cannot be trusted.

        Raises
        ------
        InputError
            A rule has no weight; an option is out of range; "exact" or "gibbs" cannot treat the model; a table cannot be created.
        InfeasibleError
            Hard clauses cannot all hold; shows a conflicting set.

        Examples
        --------
        >>> import sqlrl
        >>> db = sqlrl.connect()
        >>> db.load("Friends", [("Anna", "Bob"), ("Bob", "Chris")])
        >>> db.load("Smokes", [("Anna",)], given=True)
        >>> rule = "1 Friends(x, y) ^ Smokes(x) => Smokes(y)"
        >>> found = db.marginals(sqlrl.parse_mln("Friends(person, person)\nSmokes(person)\n" + rule))
        >>> found.table()["probability"]
        [0.650245, 0.650245]
        """
        from sqlrl.solve.marginal import marginals
        from sqlrl.solve.sampling.belief import joined
        from sqlrl.solve.sampling.chains import Effort

        check_weights(model)
        check_limit_option(limit)
        effort = Effort(samples, burn_in, chains, seed, self._threads())
        streamed = _streamed(samples_into, means_into)
        if keep or into is not None or streamed:
            self.catalog.store.check_writable()
        start = time.perf_counter()
        working = self.console.progress("finding probabilities")
        most = helper_limit(limit, examples)
        with working as task, self.program(model, drop=drop, query=query, limit=most) as program:
            tables = [] if into is None else list(into_tables(program.public_layout, into).values())
            _check_distinct([*tables, *streamed])
            self.engine.check_free([*tables, *streamed], replace=replace)
            atoms: list[NetworkAtoms] = []
            results: list[MarginalResult] = []
            with self.only(examples) as chosen:
                program.expand(chosen)
                missing, ids = unseen(program, chosen), self._ids_of(chosen)
                # A sampled world is one of all examples, so that it needs them together.
                windows = divided(
                    program, np.sort(ids), chosen, limit=limit, entries=None if streamed else MOST_ENTRIES
                )
                done = 0
                for window, network in windows:
                    with self._sink(program, network, samples_into, means_into) as sink:
                        result = marginals(
                            network, program.weights(), method=method, samples=effort.samples, burn_in=effort.burn_in,
                            chains=effort.chains, seed=_seed(effort.seed, done), threads=effort.threads, sink=sink,
                            describe=describer(program, network),
                        )  # fmt: skip
                    atoms.append(network.network_atoms)
                    results.append(result)
                    del network  # or else it would be there while the next is grounded
                    done += len(window)
                    tell(task, done, len(ids))
            whole, order = NetworkAtoms.joined(atoms)
            result = joined(results, order)
            seconds = {"grounding": time.perf_counter() - start - result.seconds, "inference": result.seconds}
            found = Marginals(
                self.engine, program.public_layout, whole, result, missing, seconds, self.records,
                self.records.atoms(), ids, program.constants.foreign,
            )  # fmt: skip
            if into is not None:
                found.write(into, replace=replace)
            if keep:
                options = {"method": method, "samples": samples, "burn_in": burn_in, "chains": chains}
                found = dataclasses.replace(found, run=keep_marginals(found, program, options, seed))
        return found

    def _threads(self) -> int:
        """Return how many threads the database may use; samplers use no more."""
        setting = exp.Anonymous(this="current_setting", expressions=[exp.convert("threads")])
        return int(self.engine.fetch(exp.select(setting), step="read a setting").column(0)[0].as_py())

    @contextmanager
    def _sink(
        self, program: Program, network: Network, samples: str | None, means: str | None
    ) -> Iterator[SampleTables | None]:
        """Show the tables for samples; if an error or Ctrl-C ends the context they leave no trace."""
        if samples is None and means is None:
            yield None
            return
        from sqlrl.database.samples import SampleTables

        atoms = network.atoms[~network.helper]
        texts = atom_texts(program, atoms)
        with self.engine.transaction():
            yield SampleTables(self.engine, [texts[i] for i in atoms.tolist()], ~network.helper, samples, means)

    def check_atoms(
        self,
        model: Model,
        atoms: Iterable[str],
        *,
        examples: Any = None,
        example: str | None = None,
        drop: Iterable[str] = (),
        query: Iterable[str] = (),
    ) -> None:
        r"""Refuse texts that name no query atom of some examples, which `Prediction.why` would refuse after all the work.

        Parameters
        ----------
        model : Model
        atoms : iterable of str
            Each a predicate with constants, as `Prediction.why` takes it.
        examples : list of names, query, relation or frame, optional
            Those that are to be predicted.
        example : str, optional
            The example of the atoms, where their arguments do not say.
        drop, query : iterable of str
            As in `ground`.

        Raises
        ------
        InputError
            With the atom, and those that are nearest to it.

        Examples
        --------
        >>> import sqlrl
        >>> db = sqlrl.connect()
        >>> db.load("Friends", [("Anna", "Bob"), ("Bob", "Chris")])
        >>> text = "Friends(person, person)\nSmokes(person)\n1 Friends(x, y) ^ Smokes(x) => Smokes(y)"
        >>> model = sqlrl.parse_mln(text, query=["Smokes"])
        >>> db.check_atoms(model, ["Smokes(Bob)"])
        >>> db.check_atoms(model, ["Smokes(Bo)"])
        Traceback (most recent call last):
        sqlrl.errors.InputError: Smokes(Bo): there is no person 'Bo'; did you mean 'Bob' or 'Anna' or 'Chris'?
        """
        layout = self.bind(model, drop=drop, query=query)
        with self.only(examples) as chosen:
            ids = atoms_of(self.engine, layout, chosen)
        for text in atoms:
            find_atom(self.catalog, layout, text, ids, example)

    def _why(
        self,
        model: Model,
        drop: Iterable[str],
        query: Iterable[str],
        deterministic_limit: float | None,
        seed: int,
        prediction: Prediction,
        atom: str,
        example: str | None,
        neutral: bool,
    ) -> Reasons:
        """Explain an atom of a prediction; see `Prediction.why`."""
        from sqlrl.database.why import reasons
        from sqlrl.solve.choose import Options

        atoms, network, world = prediction.network_atoms, prediction.network, prediction.result.world
        key = find_atom(self.catalog, prediction.layout, atom, atoms.visible, example)
        options = Options(deterministic_limit=deterministic_limit, seed=seed)
        with (
            self.console.progress("explaining"),
            self.program(model, drop=drop, query=query) as program,
            program.only(prediction.examples) as chosen,
        ):
            program.expand(chosen)
            if network is None or prediction.partial:
                # Examples are independent: its own says all that there is to say.
                with program.only(np.array([key.columns["example"]])) as one:
                    network = ground_network(program, one)
                world = world[np.searchsorted(atoms.ids, network.atoms)]
            found = reasons(
                program, network, world, key, gap=prediction.gap, options=options, examples=chosen, neutral=neutral
            )
        if prediction.run is not None and self.engine.writable:
            keep_reasons(self.records, prediction.run, key, found)
        return found


def _seed(seed: int, done: int) -> int:
    """Return the seed of a window: those of the same seed shall not draw alike, or else errors of like examples would be the same.

    Examples
    --------
    >>> _seed(7, 0), _seed(7, 100) == _seed(7, 200)
    (7, False)
    """
    return seed if done == 0 else int(np.random.SeedSequence([seed, done]).generate_state(1)[0]) >> 1


def _streamed(samples_into: str | None, means_into: str | None) -> list[str]:
    return [name for name in (samples_into, means_into) if name is not None]


def _check_distinct(names: list[str]) -> None:
    """Refuse to write two results into one table; DuckDB ignores case."""
    folded = [name.casefold() for name in names]
    twice = next((name for i, name in enumerate(names) if folded[i] in folded[:i]), None)
    if twice is not None:
        raise InputError(
            f"two results would go to one table, {twice}: give into=, samples_into= and means_into= different names"
        )
