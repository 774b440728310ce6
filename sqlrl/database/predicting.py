"""The most probable world of a model: found by our solvers, or read from what an outside solver answers."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from sqlrl.database.asking import Asking
from sqlrl.database.exporting import check_weights, names_of
from sqlrl.database.inferred import into_tables
from sqlrl.database.keeping import add_observed, keep_prediction
from sqlrl.database.models import check_limit_option, helper_limit
from sqlrl.database.prediction import Prediction
from sqlrl.database.solved import Window, put_together
from sqlrl.database.verb import verb
from sqlrl.errors import InputError
from sqlrl.evaluate import Scores
from sqlrl.ground.assemble import ground_network
from sqlrl.ground.clauses import describer
from sqlrl.ground.counts import GROUNDING_LIMIT, check_any_world
from sqlrl.ground.expanding import unseen
from sqlrl.ground.network import IntArray
from sqlrl.ground.windows import divided
from sqlrl.logic.model import Model

if TYPE_CHECKING:
    from sqlrl.catalog.layout import TableName
    from sqlrl.ground.program import Program
    from sqlrl.solve.choose import Method
    from sqlrl.solve.exchange.solutions import Format


class Predicting(Asking):
    """`Models`, questions about single atoms, and predictions.

    Parameters
    ----------
    catalog : Catalog
    console : Console, optional
        As for `Data`.
    """

    @verb
    def predict(
        self,
        model: Model,
        *,
        examples: Any = None,
        into: str | None = None,
        replace: bool = False,
        method: Method | Literal["cutting-plane"] = "auto",
        limit: int | None = GROUNDING_LIMIT,
        deterministic_limit: float | None = None,
        seed: int = 0,
        keep: bool = False,
        drop: Iterable[str] = (),
        query: Iterable[str] = (),
    ) -> Prediction:
        r"""Predict the most probable world. Labels are never read.

        Many examples are grounded and solved in windows, of which one is held at a time.

        Parameters
        ----------
        model : Model
            With weights.
        examples : list of names, query, relation or frame, optional
        into : str, optional
            A table to create with the true atoms of the open predicate (of several: `into`_predicate).
        replace : bool
            Whether tables of that name may be replaced.
        method : {"auto", "elimination", "cut", "lp", "cpsat", "walksat", "cutting-plane"}
            "auto" takes for each connected component the cheapest one that is exact for it; see `sqlrl.solve.mpe.mpe`.
            "cutting-plane" finds the same optimum, but grounds only what some best world so far does not meet: for networks
            that are too large to ground.
        limit : int or None
            The most ground clauses of one shape in a window, which is one example at least; of "cutting-plane": that a round may
            return. Also the most groundings that counting may enumerate, which "cutting-plane" and `keep` do where many positive
            literals of a clause share variables.
        deterministic_limit : float, optional
            CP-SAT's limit for each connected component, in its deterministic seconds.
        seed : int
        keep : bool
            Keep the true atoms in `sqlrl.prediction` and exact counts of every clause in `sqlrl.clause_statistics`. If every
            predicted atom has a label, `evaluate` adds the counts of the observed world.
        drop, query : iterable of str
            As in `ground`.

        Raises
        ------
        InputError
            A rule has no weight; or the table cannot be created, which is noticed before anything is solved.
        GroundingLimitError
            Names the clause, where it stands, and the number of groundings.
        InfeasibleError
            Hard clauses cannot all hold; shows a conflicting set.

        Examples
        --------
        >>> import sqlrl
        >>> db = sqlrl.connect()
        >>> db.load("Friends", [("Anna", "Bob"), ("Bob", "Chris")])
        >>> db.load("Smokes", [("Anna",)], given=True)
        >>> rule = "1 Friends(x, y) ^ Smokes(x) => Smokes(y)"
        >>> prediction = db.predict(sqlrl.parse_mln("Friends(person, person)\nSmokes(person)\n" + rule))
        >>> prediction.table()["person"]
        ['Bob', 'Chris']
        """
        from sqlrl.ground.oracle import ProgramOracle
        from sqlrl.solve.choose import Method
        from sqlrl.solve.cutting import cutting_planes, recounted
        from sqlrl.solve.mpe import mpe

        methods = (*get_args(Method), "cutting-plane")
        if method not in methods:
            raise InputError(f"unknown method {method!r}: choose {', '.join(map(repr, methods))}")
        options = {"method": method, "deterministic_limit": deterministic_limit, "seed": seed}

        def solve(program: Program, ids: IntArray, chosen: TableName | None) -> Iterator[Window]:
            """Ground and solve window by window."""
            assert method != "cutting-plane"
            for window, network in divided(program, ids, chosen, limit=limit):
                result = mpe(
                    network, program.weights(), method=method, deterministic_limit=deterministic_limit, seed=seed,
                    describe=describer(program, network),
                )  # fmt: skip
                yield window, network, result
                del network  # or else it would be there while the next is grounded

        def cut(program: Program, ids: IntArray, chosen: TableName | None) -> Iterator[Window]:
            """Ground and solve by cutting planes."""
            oracle = ProgramOracle(program, chosen, limit=limit)
            found = cutting_planes(oracle, program.weights(), deterministic_limit=deterministic_limit, seed=seed)
            yield ids, recounted(oracle, found) if keep else found.network, found.result

        cutting = method == "cutting-plane"
        return self._predicted(
            model, cut if cutting else solve, options, examples=examples, into=into, replace=replace, limit=limit, keep=keep,
            drop=drop, query=query, cutting=cutting,
        )  # fmt: skip

    @verb
    def read_solution(
        self,
        model: Model,
        path: str | Path,
        *,
        format: Format | None = None,
        exported: str | Path | None = None,
        bound: bool = False,
        examples: Any = None,
        into: str | None = None,
        replace: bool = False,
        limit: int | None = GROUNDING_LIMIT,
        keep: bool = False,
        drop: Iterable[str] = (),
        query: Iterable[str] = (),
    ) -> Prediction:
        r"""Make a prediction of the world that an outside solver found for an exported model.

        Parameters
        ----------
        model : Model
            The one that was exported, and the same `examples`, `drop` and `query`.
        path : str or Path
            What a MaxSAT solver printed; the solution file of CPLEX, Gurobi, HiGHS, CBC or SCIP; or a result file of the
            UAI competitions.
        format : {"wcnf", "lp", "uai"}, optional
            How the model was exported; by default the words of the file tell.
        exported : str or Path, optional
            The exported file: the table beside it must list the atoms that the data have now.
        bound : bool
            Bound the gap by the linear relaxation; else it is infinite, since nothing that the solver says is taken over.
        examples, into, replace, limit, keep, drop, query
            As in `predict`.

        Raises
        ------
        InputError
            With the line: the file is damaged or belongs to another network; with the ground clause: its world violates a
            hard one.

        Examples
        --------
        >>> import tempfile
        >>> import sqlrl
        >>> db = sqlrl.connect()
        >>> db.load("Friends", [("Anna", "Bob"), ("Bob", "Chris")])
        >>> rules = "1 Friends(x, y) ^ Smokes(x) => Smokes(y)\n0.5 Smokes(x)"
        >>> model = sqlrl.parse_mln("Friends(person, person)\nSmokes(person)\n" + rules, query=["Smokes"])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = Path(folder, "answer").write_text("s OPTIMUM FOUND\nv 1 2 3 0\n")
        ...     prediction = db.read_solution(model, Path(folder, "answer"))
        >>> prediction.table()["person"], prediction.objective
        (['Anna', 'Bob', 'Chris'], 10.5)
        """
        from sqlrl.solve.exchange import solutions
        from sqlrl.solve.weighed import weigh

        def read(program: Program, ids: IntArray, chosen: TableName | None) -> Iterator[Window]:
            """Take the world that the file names."""
            network = ground_network(program, chosen, limit=limit)
            yield ids, network, solutions.read_solution(
                weigh(network, program.weights()), path, format, names=names_of(program, network), exported=exported,
                describe=describer(program, network), bound=bound,
            )  # fmt: skip

        options = {"method": "file", "path": str(path), "bound": bound}
        return self._predicted(
            model, read, options, examples=examples, into=into, replace=replace, limit=limit, keep=keep, drop=drop,
            query=query,
        )  # fmt: skip

    def _predicted(
        self,
        model: Model,
        solve: Callable[[Program, IntArray, TableName | None], Iterator[Window]],
        options: Mapping[str, Any],
        *,
        examples: Any,
        into: str | None,
        replace: bool,
        limit: int | None,
        keep: bool,
        drop: Iterable[str],
        query: Iterable[str],
        cutting: bool = False,
    ) -> Prediction:
        """Write and keep the world that `solve` finds for some examples; `options` are kept with it.

        `cutting` says that it grounds only what it needs.
        """
        check_weights(model)
        check_limit_option(limit)
        if keep or into is not None:
            self.catalog.store.check_writable()
        drop, query = tuple(drop), tuple(query)
        start = time.perf_counter()
        working = self.console.progress("predicting")
        # Cutting planes ground what some world does not meet, which may be less than the definitions of all helper atoms.
        most = None if cutting else helper_limit(limit, examples)
        with working as task, self.program(model, drop=drop, query=query, limit=most) as program:
            if into is not None:
                self.engine.check_free(into_tables(program.public_layout, into).values(), replace=replace)
            with self.only(examples) as chosen:
                program.expand(chosen)
                if keep:
                    check_any_world(program, chosen, limit=limit)
                missing, ids = unseen(program, chosen), self._ids_of(chosen)
                windows = solve(program, np.sort(ids), chosen)
                found = put_together(windows, task, examples=len(ids), counted=keep)
            stages = found.result.report.seconds
            solving = sum(taken for stage, taken in stages.items() if stage != "ground")
            seconds = {"grounding": time.perf_counter() - start - solving, "solving": solving}
            prediction = Prediction(
                self.engine, program.public_layout, found.atoms, found.network, found.result, missing, seconds, self.records,
                self.records.atoms(), ids, program.constants.foreign,
                partial=cutting,
                console=self.console,
                on_why=partial(self._why, model, drop, query, options.get("deterministic_limit"), options.get("seed", 0)),
            )  # fmt: skip
            if into is not None:
                prediction.write(into, replace=replace)
            if found.counts is not None:
                run = keep_prediction(prediction, found.counts, program, options)
                observe = partial(self._add_observed, run, model, ids, drop, query, limit)
                prediction = dataclasses.replace(prediction, on_labels=observe, run=run)
        return prediction

    def _add_observed(
        self,
        run: int,
        model: Model,
        ids: npt.NDArray[np.int64],
        drop: Iterable[str],
        query: Iterable[str],
        limit: int | None,
    ) -> None:
        """Complete the statistics of a kept prediction of some examples with what the labels say."""
        with self.program(model, drop=drop, query=query) as program, program.only(ids) as chosen:
            program.expand(chosen)
            add_observed(self.records, run, program, chosen, limit=limit)

    @verb
    def evaluate(self, prediction: Prediction, *, outside: str = "missed") -> Scores:
        r"""Compare a prediction with the labels.

        Parameters
        ----------
        prediction : Prediction
        outside : {"missed", "ignore"}
            What a true label outside the scope counts as, which has no query atom: as missed, or not at all, as where a scope splits one
            network into a part to learn from and a part to predict.

        Returns
        -------
        Scores
            Over atoms that have a label.

        Raises
        ------
        InputError
            No predicted atom has a label, `outside` is another word, or the prediction was made in another database.

        Examples
        --------
        >>> import sqlrl
        >>> db = sqlrl.connect()
        >>> db.load("Word", [("d1", "good"), ("d2", "bad")], types=["doc", "word"], example="doc")
        >>> db.load("Liked", [("d1",)], types=["doc"], target=True)
        >>> rules = sqlrl.parse_mln('Word(doc, word)\nLiked(doc)\n1 Word(d, "good") => Liked(d)\n-0.5 Liked(d)')
        >>> print(db.evaluate(db.predict(rules)))
        F1 100.00 (precision 100.00, recall 100.00); 2 of 2 examples all right
        >>> import warnings
        >>> db.scope("Liked", [("d2",)])
        >>> with warnings.catch_warnings(action="ignore"):
        ...     prediction = db.predict(rules)
        >>> [db.evaluate(prediction, outside=each).total.false_negatives for each in ("missed", "ignore")]
        [1, 0]
        """
        prediction.check_current(self.engine)
        return prediction.evaluate(outside=outside)
