"""Predictions of soft models: the truth values that cost the least, and what is proved about them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from sqlrl.database.evaluation import Compared, keep_values, value_scores
from sqlrl.database.inference import Destination, InferenceTask, bound_task, collected, kept_run, search_options
from sqlrl.database.inferred import InferredValues
from sqlrl.database.results import InferenceResult
from sqlrl.errors import InputError
from sqlrl.ground.clauses import atom_texts
from sqlrl.ground.hinge_network import HingeNetwork
from sqlrl.ground.limits import MissingAtoms, check_missing
from sqlrl.ground.network import FloatArray, IntArray
from sqlrl.ground.soft_program import SoftProgram
from sqlrl.ground.unlisted import check_listed
from sqlrl.ground.windows import GroundHinges, divided_hinges, is_divisible
from sqlrl.logic.psl import SoftModel
from sqlrl.plan.named_clauses import AtomKey
from sqlrl.solve.hinge.inference import map_state
from sqlrl.solve.hinge.result import (
    HingeOptions,
    HingeResult,
    HingeStatus,
    InfeasibleHingesError,
    joined,
    without_duals,
)
from sqlrl.training.runs import no_shapes, soft_clauses
from sqlrl.training.session import Query, Session, verb
from sqlrl.training.soft import warn_of_rules
from sqlrl.wording import counted

if TYPE_CHECKING:
    from sqlrl.database.why import Pushes
    from sqlrl.evaluate import SoftScores

SHOWN_RULES = 3
"""So many ground rules of a conflict are named."""


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class SoftPrediction(InferenceResult["SoftScores", "Pushes"], InferredValues):
    r"""The truth values of a soft model that cost the least, and what is proved about them.

    Parameters
    ----------
    model : SoftModel
    network : HingeNetwork or None
        None if the examples were grounded in several windows, of which only one is held at a time.
    result : HingeResult
        Of all of them.
    observed_bodies : bool
        Whether bodies of rules read what is observed alone.
    missing : {"error", "open", "false"}
        What atoms were that rules reach and no list has: there were none, they were inferred as well, or they were false.
    session, asked, layout, network_atoms, unseen, seconds, built, examples, unknown, run
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

    kept_in = "truth_value"

    @property
    def status(self) -> HingeStatus:
        """How well the values are proved."""
        return self.result.status

    @property
    def objective(self) -> float:
        """The weighted sum of the distances of all ground rules, those that no query atom is in among them: the same as `cost`."""
        return self.result.objective

    @property
    def cost(self) -> float:
        """What the truth values cost: `open_cost + constant_cost`."""
        return self.result.objective

    @property
    def open_cost(self) -> float:
        """The part of the cost that truth values decide: what PSL calls its objective."""
        return self.result.objective - self.result.constant

    @property
    def constant_cost(self) -> float:
        """The part of the cost of ground rules without a query atom, which the evidence alone decides."""
        return self.result.constant

    @property
    def bound(self) -> float:
        """No truth values that satisfy the hard rules cost less."""
        return self.result.bound

    def _scores(self, known: Compared, *, bins: int, threshold: float) -> SoftScores:
        return value_scores(self, known, threshold)

    def _keep_outcomes(self, run: int, known: Compared, threshold: float) -> None:
        keep_values(self, run, known, threshold)

    def _reasons(self, key: AtomKey, *, neutral: bool) -> Pushes:
        from sqlrl.database.why import pushes

        return pushes(self, key)

    def _title(self) -> str:
        names = ", ".join(self.open_predicates)
        return f"Prediction of {names}: truth values of {counted(len(self.network_atoms.ids), 'query atom')}"

    def _summary(self) -> str:
        return str(self.result)


# ---- finding them ------------------------------------------------------------------------------------


def refuse_options(**given: object) -> None:
    """Refuse options that say how a world of a Markov logic network is found."""
    wrong = search_options(given)
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
    missing: MissingAtoms = "error",
) -> SoftPrediction:
    """Find the truth values that cost the least; `Database.predict` explains it."""
    asked.check()
    check_missing(missing)
    model = model.without(asked.roles.drop)
    destination.check_writable(session)
    start = time.perf_counter()
    with (
        session.console.progress("predicting") as task,
        session.soft_program(
            model, asked.roles, observed_bodies=observed_bodies, opens=model if missing == "open" else None
        ) as soft,
        bound_task(session, asked, destination, soft.layout, soft.program, task, start, templates=False) as asking,
    ):
        if missing == "error":
            check_listed(soft, asking.extent, whole=len(asking.ids) <= 1 or not is_divisible(soft))
        windows = collected(_windows(soft, asking, options), task, len(asking.ids), RuleTotals.of)
        result, totals = joined(windows.results, windows.order), windows.total
        assert totals is not None, "there is at least one window"
        if asked.examples is None:
            idle = np.flatnonzero((totals.ground == 0) & (totals.decided == 0.0))
            warn_of_rules(
                session,
                [str(model.rules[i]) for i in idle.tolist()],
                "no grounding that could be violated",
                ": look at the names of their constants, and at what of their predicates is loaded",
            )
        found = SoftPrediction(
            **asking.found(windows.atoms, solving=result.seconds),
            model=model,
            network=None if windows.network is None else windows.network.network,
            result=result,
            observed_bodies=observed_bodies,
            missing=missing,
        )
        return asking.deliver(found, lambda: _keep(found, totals, options))


Window = tuple[IntArray, GroundHinges, HingeResult]


def _windows(soft: SoftProgram, asking: InferenceTask, options: HingeOptions | None) -> Iterator[Window]:
    """Ground and solve window by window."""
    weights = soft.weights()
    for window, ground in divided_hinges(soft, asking.extent, np.sort(asking.ids)):
        try:
            result = map_state(ground.network, weights, options)
        except InfeasibleHingesError as error:
            raise named_conflict(soft, ground.network, error) from None
        yield window, ground, result if len(window) == len(asking.ids) else without_duals(result)
        del ground  # or else it would be there while the next is grounded


@dataclass(frozen=True, eq=False)
class RuleTotals:
    """Totals over the ground rules of m rules at some truth values, each of shape (m,)."""

    ground: IntArray  # ground rules with a query atom that some truth values would violate
    decided: FloatArray  # the part of `distance` that the data decide
    distance: FloatArray  # of all ground rules

    @classmethod
    def of(cls, window: GroundHinges, result: HingeResult) -> RuleTotals:
        """Return those of a window."""
        network = window.network
        return cls(network.ground_rules, network.base, network.incompatibility(result.y))

    def __add__(self, other: RuleTotals) -> RuleTotals:
        """Return those of the examples of both."""
        return RuleTotals(self.ground + other.ground, self.decided + other.decided, self.distance + other.distance)


def _keep(found: SoftPrediction, totals: RuleTotals, options: HingeOptions | None) -> int:
    """Keep the model, the truth values, what each rule costs and what is proved; return the number of the run."""
    asked = {**asdict(options or HingeOptions()), "observed_bodies": found.observed_bodies, "missing": found.missing}
    weights = np.array([rule.weight or 0.0 for rule in found.model.rules])
    clauses, hard = soft_clauses(found.model, weights), np.array([rule.hard for rule in found.model.rules], dtype=bool)
    distances = {
        "clause": clauses.column("clause"),
        "ground_rules": totals.ground,
        "decided": totals.decided,
        "distance": totals.distance,
        "cost": pa.array(weights * totals.distance, mask=hard),
    }
    proved = {"status": found.status.value, **{name: getattr(found.result, name) for name in PROVED}}
    with kept_run(found, "predict", asked, found.model, clauses, no_shapes()) as run:
        found.session.records.append("rule_distance", run, pa.table(distances))
        found.session.records.append("optimum", run, pa.Table.from_pylist([proved]))
    return run


PROVED = ("objective", "bound", "tolerance", "violated", "violation")
"""What is kept of the result beside its status."""


def named_conflict(soft: SoftProgram, network: HingeNetwork, error: InfeasibleHingesError) -> InfeasibleHingesError:
    """Return the error with the rules and ground rules in words."""
    from sqlrl.database.why import hinge_text

    shown = []
    for row in error.rows.tolist()[:SHOWN_RULES]:
        here = slice(int(network.pointer[row]), int(network.pointer[row + 1]))
        names = atom_texts(soft.program, network.atoms[network.columns[here]])
        relation = "=" if network.equal[network.rule[row]] else "<="
        rule = soft.model.rules[network.rule[row]]
        shown.append(
            f"{rule.place + ': ' if rule.place else ''}{rule} says {hinge_text(network, row, names)} {relation} 0"
        )
    more = f" and {counted(len(error.rows) - SHOWN_RULES, 'more ground rule')}" if len(error.rows) > SHOWN_RULES else ""
    text = (
        f"hard rules cannot all hold: {'; '.join(shown)}{more}; whatever the truth values, one is violated by {error.excess:.6g} or more: give "
        "one of the rules a weight, or correct the values that it reads"
    )
    error.args = (text,)
    return error
