"""Predictions of soft models: the truth values that cost the least, what is proved about them, and the hinges that push an atom."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from sqlrl import markup
from sqlrl.database.evaluation import compared
from sqlrl.database.inference import Destination, collected, into_tables
from sqlrl.database.inferred import InferredValues
from sqlrl.database.named_atoms import find_atom
from sqlrl.database.outcomes import keep, outcomes_of
from sqlrl.database.seen import seen
from sqlrl.errors import InputError
from sqlrl.evaluate import SoftScores, score_values
from sqlrl.ground.atoms import read_values
from sqlrl.ground.clauses import atom_texts, example_names
from sqlrl.ground.hinge_network import HingeNetwork
from sqlrl.ground.hinges import ground_hinges
from sqlrl.ground.network import FloatArray, IntArray, NetworkAtoms
from sqlrl.ground.program import Extent
from sqlrl.ground.soft_program import SoftProgram
from sqlrl.ground.unseen import Unseen
from sqlrl.ground.windows import GroundHinges, divided_hinges
from sqlrl.logic.psl import SoftModel
from sqlrl.logic.psl_literals import format_number
from sqlrl.report import Table
from sqlrl.report.console import Progress
from sqlrl.solve.hinge.inference import map_state
from sqlrl.solve.hinge.result import HingeOptions, HingeResult, HingeStatus, InfeasibleHingesError, joined
from sqlrl.training.runs import no_shapes, soft_clauses
from sqlrl.training.session import Query, Session, verb
from sqlrl.training.soft import warn_of_rules
from sqlrl.wording import counted

if TYPE_CHECKING:
    from sqlrl.database.plots import SoftPlots

SHOWN_RULES = 3
"""So many ground rules of a conflict are named."""


@dataclass(frozen=True, eq=False, kw_only=True)
class SoftPrediction(InferredValues):
    r"""The truth values of a soft model that cost the least, and what is proved about them.

    Parameters
    ----------
    session : Session
    asked : Query
        The declarations of the model, and its examples.
    model : SoftModel
    layout : Layout
    network_atoms : NetworkAtoms
        The n query atoms.
    network : HingeNetwork or None
        None if the examples were grounded in several windows, of which only one is held at a time.
    result : HingeResult
        Of all of them.
    observed_bodies : bool
        Whether bodies of rules read what is observed alone.
    unseen, seconds, built, examples, unknown, run
        As in `Inferred`.

    Examples
    --------
    >>> import sqlrl
    >>> db = sqlrl.connect()
    >>> db.load("Friends", [("Anna", "Bob"), ("Bob", "Chris")])
    >>> db.load("Smokes", [("Anna",)], given=True)
    >>> model = sqlrl.parse_psl("2: Friends(A, B) & Smokes(A) -> Smokes(B) ^2\n1: !Smokes(A) ^2")
    >>> prediction = db.predict(model)
    >>> prediction.status.value, round(prediction.objective, 6), prediction.gap < 1e-6
    ('optimal', 1.909091, True)
    >>> [round(value, 3) for value in prediction.atoms()["value"].to_pylist()]
    [0.545, 0.364]
    """

    model: SoftModel
    observed_bodies: bool = False

    _instead = "prediction.atoms()"
    _owner = "SoftPrediction"

    @property
    def asked_model(self) -> SoftModel:
        """The model, as it was given."""
        return self.model

    @property
    def status(self) -> HingeStatus:
        """How well the values are proved."""
        return self.result.status

    @property
    def objective(self) -> float:
        """The weighted sum of the distances of all ground rules, those that no query atom is in among them."""
        return self.result.objective

    @property
    def bound(self) -> float:
        """No truth values that satisfy the hard rules cost less."""
        return self.result.bound

    @property
    def gap(self) -> float:
        """Objective minus bound."""
        return self.result.gap

    def atoms(self, predicate: str | None = None, *, at_least: float = 0.0) -> pa.Table:
        """Return the values of one predicate with names.

        Parameters
        ----------
        predicate : str, optional
            Required if the model has several open predicates.
        at_least : float
            Leave out lower values.

        Returns
        -------
        pyarrow.Table
            Columns `example` (name), the arguments (named by their types), `value`; ordered by atom.

        Raises
        ------
        InputError
            The predicate is not open, or atoms have been numbered anew since the prediction.
        """
        kept = self.result.y >= at_least
        return self.named(predicate, self.network_atoms.ids[kept], {"value": pa.array(self.result.y[kept])})

    def table(self, predicate: str | None = None, *, at_least: float = 0.0) -> Table:
        """Return `atoms` as a table that prints; parameters and errors are the same."""
        info = self.chosen(predicate)
        return Table(self.atoms(info.name, at_least=at_least), title=f"{info.name}: predicted")

    def write(self, into: str, *, replace: bool = False) -> None:
        """Create a table with the values of all query atoms (of several open predicates: a table for each, named `into_predicate`).

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
        self._write(into, self.atoms, replace=replace)

    def evaluate(self, *, threshold: float = 0.5, outside: str = "missed") -> SoftScores:
        """Compare with the labels.

        Parameters
        ----------
        threshold : float
            A label, or a value, of at least as much counts as true.
        outside : {"missed", "ignore"}
            Whether labels outside the scope that are true are counted beside the scores.

        Returns
        -------
        SoftScores
            Over atoms that have a label.

        Raises
        ------
        InputError
            No atom has one.

        Notes
        -----
        Of truth values that were kept, `sqlrl.outcome` then has which of them, and of the labels, count as true, for the views `confusion` and
        `worst_predicted_examples`.
        """
        with self.session.verb(), self.session.console.progress("evaluating"):
            known = compared(self, outside)
            labelled = known.labelled
            if self.run is not None and labelled.all() and self.reported.all() and self.session.engine.writable:
                self._keep_observed(self.run)
            labels, values = read_values(self.engine, self.layout, known.atoms), self.result.y[self.reported]
            ids, index = np.unique(np.concatenate([self.examples, known.example[labelled]]), return_inverse=True)
            named = example_names(self.engine, self.layout, ids)
            scores = score_values(
                labels[labelled],
                values[labelled],
                threshold=threshold,
                predicate=known.kind[labelled],
                names=known.names,
                example=index[len(self.examples) :],
                examples=[named[example] for example in ids.tolist()],
                outside=sum(map(len, known.missed)),
                seen=seen(self, known.atoms[labelled]),
            )
            if self.run is not None and self.session.engine.writable:
                keep(self, outcomes_of(self, replace(known, truth=labels >= threshold), values >= threshold))
            return scores

    def why(self, atom: str, *, example: str | None = None) -> Pushes:
        r"""Say which hinges push an atom up and down.

        Parameters
        ----------
        atom : str
            A query atom with its constants, as a line of evidence: `Smokes(Anna)`.
        example : str, optional
            Its example, where the arguments do not say.

        Returns
        -------
        Pushes

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
        >>> model = sqlrl.parse_psl("2: Friends(A, B) & Smokes(A) -> Smokes(B) ^2\n1: !Smokes(A) ^2")
        >>> for push in db.predict(model).why("Smokes(Chris)").table:
        ...     print(push["side"], push["hinge"], round(push["push"], 3))
        down Smokes(Chris) -0.727
        up Smokes(Bob) - Smokes(Chris) 0.727
        """
        self.check_current()
        with self.session.verb(), self.session.console.progress("explaining"):
            key = find_atom(self.session.catalog, self.layout, atom, self.network_atoms.ids, example)
            with self._held() as soft:
                network, y = self.network, self.result.y
                if network is None:
                    # Examples are independent: its own says all that there is to say.
                    with Extent(soft.program).only(np.array([key.columns["example"]])) as one:
                        network = ground_hinges(soft, one)
                    y = y[np.searchsorted(self.network_atoms.ids, network.atoms)]
                return self._pushes(soft, network, y, int(np.searchsorted(network.atoms, key.atom)))

    @contextmanager
    def _held(self) -> Iterator[SoftProgram]:
        """Hold the model against the data once more, while the context is open; refuse to if they number its atoms otherwise by now."""
        choices = self.asked.choices
        with self.session.soft_program(self.model, choices, observed_bodies=self.observed_bodies) as soft:
            self.check_current()
            yield soft

    def _keep_observed(self, run: int) -> None:
        """Keep the distances of each rule at the labels."""
        total = np.zeros(len(self.model.rules))
        with self._held() as soft, soft.program.only(self.examples) as chosen:
            extent = Extent(soft.program, chosen, self.asked.limit, len(self.examples))
            for _, ground in divided_hinges(soft, extent, np.sort(self.examples)):
                total += ground.network.incompatibility(read_values(self.engine, soft.layout, ground.network.atoms))
        rows = {"clause": pa.array(np.arange(len(total))), "observed": pa.array(total)}
        self.session.records.fill("rule_distance", run, pa.table(rows), key="clause")

    def _pushes(self, soft: SoftProgram, network: HingeNetwork, y: FloatArray, place: int) -> Pushes:
        mine = np.flatnonzero(network.columns == place)
        rows = np.searchsorted(network.pointer, mine, side="right") - 1
        value, distance = network.expressions(y), network.distances(y)
        ends = [(int(network.pointer[r]), int(network.pointer[r + 1])) for r in rows.tolist()]
        places = np.unique(np.concatenate([[place], *(network.columns[a:b] for a, b in ends)])).astype(np.int64)
        names = atom_texts(soft.program, network.atoms[places])
        found = []
        for j, row in zip(mine.tolist(), rows.tolist(), strict=True):
            rule = self.model.rules[network.rule[row]]
            slope = float(network.coefficients[j])
            e, both = float(value[row]), bool(network.equal[network.rule[row]])
            steep = (2 * abs(e) if rule.squared else 1.0) * (np.sign(e) if both else float(e > 0))
            push = None if rule.hard else -(rule.weight or 0.0) * int(network.multiplicity[row]) * steep * slope + 0.0
            found.append(
                {
                    "side": "hard" if push is None else "up" if push > 0 else "down" if push < 0 else "neutral",
                    # Its weight has a column of its own.
                    "rule": str(rule) if rule.hard else str(rule).partition(": ")[2],
                    "hinge": _hinge_text(network, row, names),
                    "weight": rule.weight,
                    "times": int(network.multiplicity[row]),
                    "distance": float(distance[row]),
                    "slack": max(-e, 0.0) if not both else 0.0,
                    "push": push,
                }
            )
        # Values are found to within tolerances: what differs by less is alike.
        found.sort(
            key=lambda r: (
                r["push"] is not None,
                -round(abs(r["push"] or 0.0), 6),
                -(r["push"] or 0.0),
                r["hinge"],
                r["rule"],
            )
        )
        text = names[int(network.atoms[place])]
        return Pushes(
            text, float(y[place]), Table(pa.Table.from_pylist(found, PUSHES), title=f"{text} is {y[place]:.4g}")
        )

    @property
    def plot(self) -> SoftPlots:
        """The charts of the truth values: `precision_recall()`, `roc()`, `confusion()`."""
        from sqlrl.database.plots import SoftPlots

        return SoftPlots(self)

    def _title(self) -> str:
        names = ", ".join(self.open_predicates)
        return f"Prediction of {names}: truth values of {counted(len(self.network_atoms.ids), 'query atom')}"

    def __repr__(self) -> str:
        return "\n".join([self._title(), *(f"  {line}" for line in [*str(self.result).splitlines(), *self._notes()])])

    def _repr_html_(self) -> str:
        return markup.report(self._title(), str(self.result), self._notes())


PUSHES = pa.schema(
    {
        "side": pa.string(),
        "rule": pa.string(),
        "hinge": pa.string(),
        "weight": pa.float64(),
        "times": pa.int64(),
        "distance": pa.float64(),
        "slack": pa.float64(),
        "push": pa.float64(),
    }
)


@dataclass(frozen=True, repr=False)
class Pushes:
    """The hinges that an atom is in, and how each pushes its truth value."""

    atom: str  # with its constants
    value: float  # its predicted truth value
    # The strongest first; `side` is up, down, neutral (satisfied) or hard, `hinge` must not be above 0, `times` are ground rules with this hinge,
    # `slack` is its distance from being violated, `push` how much the cost falls for each unit that the atom rises (NULL if hard).
    table: Table

    def __repr__(self) -> str:
        return repr(self.table)

    def _repr_html_(self) -> str:
        return self.table._repr_html_()


def expression_text(terms: list[tuple[float, str]], constant: float) -> str:
    """Return a linear expression as text, the terms with positive coefficients first."""
    parts = sorted(terms, key=lambda pair: pair[0] < 0)
    shown = [(c < 0, name if abs(c) == 1.0 else f"{format_number(abs(c))} * {name}") for c, name in parts]
    if constant or not shown:
        shown.append((constant < 0, format_number(round(abs(constant), 12))))
    text = " ".join(f"{'-' if negative else '+'} {part}" for negative, part in shown)
    return text[2:] if text.startswith("+") else f"-{text[2:]}"


# ---- finding them ------------------------------------------------------------------------------------


def refuse_options(**given: object) -> None:
    """Refuse options that say how a world of a Markov logic network is found."""
    usual = {"method": "auto", "deterministic_limit": None, "seed": 0, "margins": False}
    wrong = [f"{name}={value!r}" for name, value in given.items() if value != usual[name]]
    if wrong:
        raise InputError(
            f"{', '.join(wrong)}: a soft model takes none of these; say how far its truth values are sought with options=HingeOptions(...)"
        )


@verb
def predict_soft(
    session: Session,
    model: SoftModel,
    asked: Query,
    destination: Destination,
    options: HingeOptions | None,
    *,
    observed_bodies: bool = False,
) -> SoftPrediction:
    """Find the truth values that cost the least; `Database.predict` explains it."""
    asked.check()
    model = model.without(asked.choices.drop)
    if destination.keep or destination.into is not None:
        session.catalog.store.check_writable()
    start = time.perf_counter()
    with (
        session.console.progress("predicting") as task,
        session.soft_program(model, asked.choices, observed_bodies=observed_bodies) as soft,
    ):
        if destination.into is not None:
            session.engine.check_free(into_tables(soft.layout, destination.into).values(), replace=destination.replace)
        with session.only(asked.examples) as chosen:
            ids = session.ids(chosen)
            extent = Extent(soft.program, chosen, asked.limit, len(ids))
            solved = _put_together(_windows(soft, extent, ids, options), task, len(ids))
        if asked.examples is None:
            idle = np.flatnonzero((solved.totals.ground == 0) & (solved.totals.decided == 0.0))
            warn_of_rules(
                session,
                [str(model.rules[i]) for i in idle.tolist()],
                "no grounding that could be violated",
                ": look at the names of their constants, and at what of their predicates is loaded",
            )
        solving = solved.result.seconds
        found = SoftPrediction(
            session=session, asked=asked, model=model, layout=soft.layout, network_atoms=solved.atoms, network=solved.network,
            result=solved.result, observed_bodies=observed_bodies, unseen=Unseen(0, 0),
            seconds={"grounding": time.perf_counter() - start - solving, "solving": solving},
            built=session.records.atoms(), examples=ids, unknown=soft.program.constants.unknown,
        )  # fmt: skip
    if destination.into is not None:
        found.write(destination.into, replace=destination.replace)
    return replace(found, run=_keep(found, solved.totals, options)) if destination.keep else found


Window = tuple[IntArray, GroundHinges, HingeResult]


def _windows(soft: SoftProgram, extent: Extent, examples: IntArray, options: HingeOptions | None) -> Iterator[Window]:
    """Ground and solve window by window."""
    weights = soft.weights()
    for window, ground in divided_hinges(soft, extent, np.sort(examples)):
        try:
            result = map_state(ground.network, weights, options)
        except InfeasibleHingesError as error:
            raise named_conflict(soft, ground.network, error) from None
        yield window, ground, result
        del ground  # or else it would be there while the next is grounded


@dataclass(frozen=True, eq=False)
class RuleTotals:
    """Totals over the ground rules of m rules at some truth values, each of shape (m,)."""

    ground: IntArray  # ground rules with a query atom that some truth values would violate
    decided: FloatArray  # the part of `distance` that the data decide
    distance: FloatArray  # of all ground rules

    @classmethod
    def of(cls, network: HingeNetwork, y: FloatArray) -> RuleTotals:
        """Return those of a network."""
        ground = np.bincount(network.rule, network.multiplicity, minlength=len(network.base)).astype(np.int64)
        return cls(ground, network.base, network.incompatibility(y))

    def __add__(self, other: RuleTotals) -> RuleTotals:
        """Return those of the examples of both."""
        return RuleTotals(self.ground + other.ground, self.decided + other.decided, self.distance + other.distance)


@dataclass(frozen=True, eq=False)
class _Solved:
    """Truth values over all windows; `network` is None if there were several."""

    atoms: NetworkAtoms
    result: HingeResult
    network: HingeNetwork | None
    totals: RuleTotals


def _put_together(windows: Iterable[Window], task: Progress, examples: int) -> _Solved:
    """Put the truth values of windows together; a network is let go before the next is asked for."""
    totals: RuleTotals | None = None
    kept: HingeNetwork | None = None

    def take(window: IntArray, ground: GroundHinges, result: HingeResult) -> None:
        """Add up its rules, and keep the network if it is the only one."""
        nonlocal totals, kept
        kept = ground.network if len(window) == examples else None
        found = RuleTotals.of(ground.network, result.y)
        totals = found if totals is None else totals + found

    atoms, order, results = collected(windows, task, examples, take)
    assert totals is not None, "there is at least one window"
    return _Solved(atoms, joined(results, order), kept, totals)


def _keep(found: SoftPrediction, totals: RuleTotals, options: HingeOptions | None) -> int:
    """Keep the model, the truth values, what each rule costs and what is proved; return the number of the run. No label is read."""
    atoms, records, rules = found.network_atoms, found.session.records, found.model.rules
    asked = {**asdict(options or HingeOptions()), "observed_bodies": found.observed_bodies}
    run = records.begin_run("predict", asked, None)
    with records.ending(run), records.together():
        weights = np.array([rule.weight or 0.0 for rule in rules])
        clauses = soft_clauses(found.model, weights)
        model = records.save_model("predict", found.model, clauses, no_shapes(), origin="given")
        for name in found.open_predicates:
            mine = found.of_predicate(name)
            rows = {"atom": atoms.ids[mine], "example": atoms.example[mine], "value": found.result.y[mine]}
            names = pa.array([name] * int(mine.sum()), pa.string())
            records.append("truth_value", run, pa.table({"predicate": names, **rows}))
        cost = pa.array(weights * totals.distance, mask=np.array([rule.hard for rule in rules], dtype=bool))
        distances = {
            "ground_rules": totals.ground,
            "decided": totals.decided,
            "distance": totals.distance,
            "cost": cost,
        }
        records.append("rule_distance", run, pa.table({"clause": clauses.column("clause"), **distances}))
        proved = {name: getattr(found.result, name) for name in PROVED}
        row = {"status": found.status.value, **proved}
        records.append("optimum", run, pa.Table.from_pylist([row]))
        records.end_run(run, "done", model=model, timings=found.seconds)
    return run


PROVED = ("objective", "bound", "tolerance", "violated", "violation")
"""What is kept of the result beside its status."""


def named_conflict(soft: SoftProgram, network: HingeNetwork, error: InfeasibleHingesError) -> InfeasibleHingesError:
    """Return the error with the rules and ground rules in words."""
    shown = []
    for row in error.rows.tolist()[:SHOWN_RULES]:
        here = slice(int(network.pointer[row]), int(network.pointer[row + 1]))
        names = atom_texts(soft.program, network.atoms[network.columns[here]])
        relation = "=" if network.equal[network.rule[row]] else "<="
        rule = soft.model.rules[network.rule[row]]
        shown.append(
            f"{rule.place + ': ' if rule.place else ''}{rule} says {_hinge_text(network, row, names)} {relation} 0"
        )
    more = f" and {counted(len(error.rows) - SHOWN_RULES, 'more ground rule')}" if len(error.rows) > SHOWN_RULES else ""
    text = (
        f"hard rules cannot all hold: {'; '.join(shown)}{more}; whatever the truth values, one is violated by {error.excess:.6g} or more: give "
        "one of the rules a weight, or correct the values that it reads"
    )
    error.args = (text,)
    return error


def _hinge_text(network: HingeNetwork, row: int, names: Mapping[int, str]) -> str:
    """Return the linear expression of a ground rule, with its atoms by their names."""
    here = slice(int(network.pointer[row]), int(network.pointer[row + 1]))
    terms = [
        (float(c), names[int(network.atoms[i])])
        for c, i in zip(network.coefficients[here], network.columns[here], strict=True)
    ]
    return expression_text(terms, float(network.constants[row]))
