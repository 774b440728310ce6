"""Compiled scorers: a model that predicts examples handed over as rows or Arrow tables, without a database."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np
import pyarrow as pa

from sqlrl import markup
from sqlrl.catalog.layout import PredicateInfo
from sqlrl.database.handed_facts import EXAMPLE, HandedFacts, read_facts
from sqlrl.errors import InputError
from sqlrl.ground.array_program import (
    ArrayProgram,
    ExampleGrounder,
    GroundedExamples,
    Skeleton,
    TypeNames,
    example_place,
    skeleton_network,
)
from sqlrl.ground.network import BoolArray, Network
from sqlrl.slips import Helpful
from sqlrl.wording import counted

if TYPE_CHECKING:
    from sqlrl.solve.result import MPEResult, Status
    from sqlrl.solve.sampling.belief import MarginalResult
    from sqlrl.solve.unit_forest import UnitForest


class CompiledScorer(Helpful):
    r"""A compiled model: it predicts examples that are handed over, without SQL and without the database.

    `model.compile(db)` makes one, `sqlrl.load_scorer` reads one that was saved. Worlds and probabilities are those of `db.predict` and
    `db.probabilities` on a database with these examples.

    Parameters
    ----------
    program : ArrayProgram
        The clauses by shape, as arrays.
    names : mapping of str to TypeNames
        The constants that the scorer knows, by type.

    Examples
    --------
    >>> import sqlrl
    >>> db = sqlrl.connect()
    >>> db.load("Word", [("d1", "good"), ("d2", "bad")], types=["doc", "word"], example="doc")
    >>> db.load("Liked", [("d1",)], types=["doc"], target=True)
    >>> model = sqlrl.parse_mln('Word(doc, word)\nLiked(doc)\n1 Word(d, "good") => Liked(d)\n-0.5 Liked(d)')
    >>> scorer = model.compile(db)
    >>> scored = scorer.predict({"Word": [("d7", "good"), ("d8", "poor")]})
    >>> scored.atoms().to_pylist()
    [{'example': 'd7', 'doc': 'd7', 'truth': True}]
    >>> [round(row["probability"], 3) for row in scored.probabilities().to_pylist()]
    [0.622, 0.378]
    """

    def __init__(self, program: ArrayProgram, names: Mapping[str, TypeNames]) -> None:
        self.program, self.names = program, names
        # Helper predicates are no one's to hand over.
        helpers = {helper.name for helper in program.helpers}
        known = {name: info for name, info in program.layout.predicates.items() if name not in helpers}
        self._layout = replace(program.layout, predicates=known)
        self._grounder = ExampleGrounder(program)
        self._forests: WeakKeyDictionary[Skeleton, UnitForest] = WeakKeyDictionary()

    def predict(self, facts: Mapping[str, Any], *, example: str | int | None = None) -> ScoredExamples:
        """Predict the most probable world of the examples that facts name.

        Parameters
        ----------
        facts : mapping of str to rows
            By predicate a list of tuples or an Arrow table, with a column for each argument, in their order. Columns of Arrow tables are taken in
            order, too. Where examples stand in a column of their own, rows have that as well. Of an open predicate the rows are given atoms; a
            further last column may say their truth, or a probability as soft evidence. Closed predicates that are left out have no facts.
        example : str or int, optional
            Where examples stand in a column of their own: its name, or its place from 0. The first column by default.

        Returns
        -------
        ScoredExamples

        Raises
        ------
        InputError
            A predicate that the model does not have or whose facts are part of the scorer, rows of another width, or missing values.
        InfeasibleError
            Hard rules cannot hold with these facts.

        Notes
        -----
        A constant that the scorer does not know is new: clauses about it there are none. In a global type it joins the domain, as if it had been
        loaded. Examples of the same domains share what is compiled of them, so that those that differ in words alone are scored fastest.
        """
        handed = read_facts(self._layout, self.names, facts, example)
        grounded = self._grounder.ground(handed.given)
        return ScoredExamples(self, handed, grounded, self._world(grounded))

    def _world(self, grounded: GroundedExamples) -> BoolArray | None:
        """Return the most probable world where all that differs from examples of the same domains are ground clauses of one literal."""
        from sqlrl.solve.unit_forest import UnitClauses

        groups, units = grounded.groups, grounded.units if grounded.groups else None
        if units is None:
            return None
        atom, clause, change = units
        size = sum(group.atoms.size for group in groups)
        group_of, network, local = (np.zeros(size, np.int64) for _ in range(3))
        for i, group in enumerate(groups):
            group_of[group.atoms] = i
            network[group.atoms] = np.arange(len(group.atoms))[:, None]
            local[group.atoms] = np.arange(group.atoms.shape[1])
        world: BoolArray = np.zeros(size, np.bool_)
        for i, group in enumerate(groups):
            forest = self._forest(group.skeleton)
            mine = np.flatnonzero(group_of[atom] == i) if len(groups) > 1 else slice(None)
            here = atom[mine]
            found = UnitClauses(network[here], local[here], clause[mine], change[mine])
            worlds = forest.worlds(found, len(group.atoms)) if forest.fits else None
            if worlds is None:
                return None
            world[group.atoms] = worlds
        return world

    def _forest(self, skeleton: Skeleton) -> UnitForest:
        """Return the trees of a skeleton, compiled once."""
        from sqlrl.solve.unit_forest import UnitForest

        found = self._forests.get(skeleton)
        if found is None:
            found = self._forests[skeleton] = UnitForest(skeleton_network(self.program, skeleton), self.program.weights)
        return found

    def save(self, path: str | Path) -> None:
        r"""Write the scorer to a file, a `.npz` of arrays and JSON, which `sqlrl.load_scorer` reads.

        Parameters
        ----------
        path : path
            A file there is replaced.

        Raises
        ------
        InputError
            The path does not end in `.npz`, or cannot be written.
        """
        from sqlrl.database.scorer_file import write_scorer

        to = Path(path)
        if to.suffix != ".npz":
            raise InputError(f"{str(path)!r} must end in .npz.")
        try:
            write_scorer(to, self.program, self.names)
        except OSError as error:
            raise InputError(f"{str(path)!r} cannot be written: {error.strerror or error}.") from None

    @property
    def _predicted(self) -> str:
        program = self.program
        return ", ".join(x.name for x in program.layout.open_predicates() if x.name in program.columns)

    def __repr__(self) -> str:
        return f"CompiledScorer of {self._predicted}: {counted(len(self.program.weights), 'clause')}"

    def _repr_html_(self) -> str:
        return markup.pairs([("predicts", self._predicted), ("clauses", f"{len(self.program.weights):,}")])


def load_scorer(path: str | Path) -> CompiledScorer:
    r"""Read a compiled scorer, without a database and without DuckDB.

    Parameters
    ----------
    path : path
        A file that `CompiledScorer.save` wrote. Nothing in it is run.

    Returns
    -------
    CompiledScorer

    Raises
    ------
    InputError
        There is no file, or it is none of a scorer that this version reads.

    Examples
    --------
    >>> import sqlrl, tempfile, pathlib
    >>> db = sqlrl.connect()
    >>> db.load("Word", [("d1", "good")], types=["doc", "word"], example="doc")
    >>> model = sqlrl.parse_mln('Word(doc, word)\nLiked(doc)\n1 Word(d, "good") => Liked(d)', query=["Liked"])
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "liked.npz"
    >>> model.compile(db).save(path)
    >>> sqlrl.load_scorer(path).predict({"Word": [("d7", "good")]}).atoms()["doc"].to_pylist()
    ['d7']
    """
    from sqlrl.database.scorer_file import read_scorer

    return CompiledScorer(*read_scorer(Path(path)))


class ScoredExamples(Helpful):
    r"""What a scorer found of some examples: `CompiledScorer.predict` returns it.

    Attributes
    ----------
    world : bool array, shape (n,)
        The most probable truth of each query atom, helper atoms included.

    Examples
    --------
    >>> import sqlrl
    >>> db = sqlrl.connect()
    >>> db.load("Word", [("d1", "good")], types=["doc", "word"], example="doc")
    >>> model = sqlrl.parse_mln('Word(doc, word)\nLiked(doc)\n1 Word(d, "good") => Liked(d)', query=["Liked"])
    >>> scored = model.compile(db).predict({"Word": [("d7", "good"), ("d8", "poor")]})
    >>> scored
    ScoredExamples: 1 of 2 query atoms true
    >>> scored.status.value, scored.objective
    ('optimal', 2.0)
    """

    def __init__(
        self, scorer: CompiledScorer, handed: HandedFacts, grounded: GroundedExamples, world: BoolArray | None
    ) -> None:
        self._scorer, self._handed, self._grounded = scorer, handed, grounded
        self.world: BoolArray = self.result.world if world is None else world

    @property
    def _sizes(self) -> tuple[int, int]:
        """How many query atoms there are, helper atoms left out, and how many of them are true."""
        real = sum(rows.atoms.size for rows in self._grounded.atoms.values())
        return real, int(self.world[:real].sum())

    def __repr__(self) -> str:
        real, true = self._sizes
        return f"ScoredExamples: {true:,} of {counted(real, 'query atom')} true"

    def _repr_html_(self) -> str:
        real, true = self._sizes
        return markup.pairs([("query atoms", f"{real:,}"), ("true", f"{true:,}")])

    @cached_property
    def result(self) -> MPEResult:
        """The world with its scores, and what is proved of it; found when it is asked for."""
        from sqlrl.solve.mpe import mpe

        return mpe(self.network, self._grounded.weights)

    @cached_property
    def marginal_result(self) -> MarginalResult:
        """The probability of each atom and how well it is known; found when it is asked for."""
        from sqlrl.solve.marginal import marginals

        return marginals(self.network, self._grounded.weights)

    @property
    def network(self) -> Network:
        """The ground network of the examples."""
        return self._grounded.network

    @property
    def objective(self) -> float:
        """Sum of weight times n, in log-odds, as that of a `Prediction`."""
        return self.result.objective

    @property
    def status(self) -> Status:
        """How well the world is proved."""
        return self.result.status

    def atoms(self, predicate: str | None = None, *, every: bool = False) -> pa.Table:
        """Return the atoms of one predicate that are true.

        Parameters
        ----------
        predicate : str, optional
            Required if the model has several open predicates.
        every : bool
            Also the atoms predicted false, which `truth` tells.

        Returns
        -------
        pyarrow.Table
            Columns `example`, the arguments (named by their types) and `truth`, by example and arguments.

        Raises
        ------
        InputError
            The predicate is not open.
        """
        info = self._chosen(predicate)
        world = self.world[self._places(info)]
        shown = np.ones(len(world), np.bool_) if every else world
        return self._named(info, shown, {"truth": pa.array(world[shown])})

    def probabilities(self, predicate: str | None = None) -> pa.Table:
        """Return the probability of each atom of one predicate.

        Parameters
        ----------
        predicate : str, optional
            Required if the model has several open predicates.

        Returns
        -------
        pyarrow.Table
            Columns `example`, the arguments (named by their types), `probability` and `error`, the Monte Carlo standard error (0 if exact).

        Raises
        ------
        InputError
            The predicate is not open.
        """
        info = self._chosen(predicate)
        found, here = self.marginal_result, self._places(info)
        values = {"probability": pa.array(found.probability[here]), "error": pa.array(found.error[here])}
        return self._named(info, np.ones(here.stop - here.start, np.bool_), values)

    def _chosen(self, predicate: str | None) -> PredicateInfo:
        program = self._scorer.program
        infos = {x.name: x for x in program.layout.open_predicates() if not x.hidden}
        infos = {name: x for name, x in infos.items() if name not in program.helper_names}
        if predicate is None and len(infos) == 1:
            return next(iter(infos.values()))
        if predicate not in infos:
            raise InputError(f"name one of the open predicates {', '.join(infos)}, not {predicate!r}")
        return infos[predicate]

    def _places(self, info: PredicateInfo) -> slice:
        ids = self._grounded.atoms[info.name].atoms.columns[-1]
        return slice(int(ids[0]) - 1, int(ids[-1])) if len(ids) else slice(0, 0)

    def _named(self, info: PredicateInfo, shown: BoolArray, values: Mapping[str, pa.Array]) -> pa.Table:
        """Return values of atoms with their names."""
        layout = self._scorer.program.layout
        columns = self._grounded.atoms[info.name].atoms.columns
        place = example_place(layout, info)
        assert place is not None, "open predicates have examples"
        kind = layout.example_type or EXAMPLE
        found = {"example": self._handed.names(kind, columns[place][shown])}
        first = int(info.example_column)
        for i, name in enumerate(self._scorer.program.columns[info.name]):
            found[name] = self._handed.names(info.types[i], columns[first + i][shown])
        return pa.table({**found, **values})
