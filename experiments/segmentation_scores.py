"""How good a segmentation is, and how good its probabilities are: the same numbers for whatever predicts fields of positions."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from citations import among, field_counts

import sqlrl
from sqlrl.errors import SqlrlError
from sqlrl.evaluate import Scores, score, score_probabilities
from sqlrl.ground.network import BoolArray, FloatArray, Network
from sqlrl.solve.elimination import sum_product
from sqlrl.solve.presolve import recognise_blocks
from sqlrl.solve.restriction import restrict
from sqlrl.solve.sampling.propagation import propagate
from sqlrl.solve.weighted import FREE, weigh
from sqlrl.training.labels import infeasible_truth
from sqlrl.training.stream import ExampleStream


@dataclass(frozen=True, slots=True)
class Segmented:
    """The scores of predicted fields; all but `log_likelihood` and `impossible` are in percent.

    Parameters
    ----------
    f1, f1_field, whole : float
        Micro-averaged over positions; over whole fields; the share of examples whose positions are all right.
    ece, brier : float or None
        Of the probabilities of all fields at all positions; None where there are none.
    log_likelihood : float or None
        Of the labels, the mean over the examples whose labels the hard clauses allow; None without probabilities.
    impossible : int or None
        Examples whose labels the hard clauses forbid.
    refused : str or None
        Why there are no probabilities.
    f1_marginal : float or None
        As `f1`, of the most probable field of each position in place of the most probable world; in percent; None without probabilities,
        and where a position may have several fields.
    """

    f1: float
    f1_field: float
    whole: float
    ece: float | None = None
    brier: float | None = None
    log_likelihood: float | None = None
    impossible: int | None = None
    refused: str | None = None
    f1_marginal: float | None = None


ROUNDING = 1e-6
"""How far above 1 a sum of exact probabilities of disjoint fields may be."""


def first_line(error: Exception) -> str:
    """Return the first line of what an error says."""
    return str(error).strip().splitlines()[0]


def model_scores(db: sqlrl.Database, model: sqlrl.Model, examples: list[str], labels: pa.Table) -> Segmented:
    """Predict examples by a model and score the most probable world and the probabilities, which are exact or not there.

    `labels` has the arguments of `InField` of all examples, in their order.
    """
    prediction = db.predict(model, examples=examples)
    found = prediction_scores(db.evaluate(prediction), field_counts(prediction, labels).f1)
    try:
        marginals = db.probabilities(model, examples=examples, method="exact")
        scores = db.evaluate(marginals)
        found = replace(found, ece=100 * scores.calibration_error, brier=100 * scores.brier)
        found = replace(found, f1_marginal=marginal_f1(marginals.probabilities(), labels))
        likelihood, impossible = label_log_likelihood(db, model, examples)
    except (SqlrlError, ValueError) as error:  # elimination itself knows no words of ours
        return replace(found, refused=first_line(error))
    return replace(found, log_likelihood=likelihood, impossible=impossible)


def prediction_scores(scores: Scores, f1_field: float) -> Segmented:
    """Return the scores of a world, in percent."""
    return Segmented(100 * scores.f1, 100 * f1_field, 100 * scores.example_accuracy)


def probability_scores(truth: BoolArray, probability: FloatArray) -> tuple[float, float]:
    """Return calibration error and Brier score in percent."""
    scores = score_probabilities(truth, probability)
    return 100 * scores.calibration_error, 100 * scores.brier


def marginal_f1(probabilities: pa.Table, labels: pa.Table) -> float | None:
    """Return the token F1, in percent, of the most probable field of each position; `labels` are example, field and position.

    None if the probabilities of the fields of a position have a sum above 1: then it may have several.
    """
    example, _, position = (probabilities.column(name).to_pylist() for name in labels.column_names)
    places: dict[tuple[object, object], int] = {}
    place = np.array([places.setdefault(each, len(places)) for each in zip(example, position, strict=True)])
    probability = probabilities.column("probability").to_numpy()
    if (np.bincount(place, probability) > 1 + ROUNDING).any():
        return None
    chosen = most_probable(place, probability)
    return 100 * score(among(probabilities, labels), chosen, place).f1


def most_probable(place: npt.NDArray[np.intp], probability: FloatArray) -> BoolArray:
    """Choose the most probable field of each place, none where it is as probable that the place has none; fields are disjoint.

    Examples
    --------
    >>> most_probable(np.array([0, 0, 1, 1]), np.array([0.3, 0.4, 0.3, 0.25])).tolist()
    [False, True, False, False]
    """
    order = np.lexsort((-probability, place))
    first = order[np.diff(place[order], prepend=-1) != 0]
    nothing = 1 - np.bincount(place, probability)
    chosen = np.zeros(len(place), dtype=np.bool_)
    chosen[first] = probability[first] > nothing[place[first]]
    return chosen


def label_log_likelihood(db: sqlrl.Database, model: sqlrl.Model, examples: list[str]) -> tuple[float | None, int]:
    """Return the mean log-likelihood of examples' labels, given the evidence, and how many labels hard clauses forbid.

    The mean is over the other examples, None if there are none.
    """
    with db.advanced.program(model) as program:
        ids = db.advanced.example_ids(examples)
        stream = ExampleStream(program, db.advanced.session, [ids], size=len(ids), limit=None)
        (window,) = stream
        wrong = np.unique(infeasible_truth(window.network, window.truth).example)
        left = ids[~np.isin(ids, wrong)]
        if len(left) == 0:
            return None, len(wrong)
        if len(wrong):
            window = stream.window(left)
        total = log_likelihood(window.network, program.weights(), window.truth)
        return total / len(left), len(wrong)


def log_likelihood(network: Network, weights: npt.ArrayLike, world: BoolArray) -> float:
    """Return the logarithm of the probability of a world in which all hard clauses hold, by elimination.

    A component that is too wide for it is a ValueError.

    Examples
    --------
    >>> from sqlrl.solve.sample_networks import network
    >>> found = log_likelihood(network(2, [(0, [1, 2])]), [1.0], np.array([False, False]))
    >>> round(found, 6) == round(float(-np.log(1 + 3 * np.e)), 6)
    True
    """
    weighted = weigh(network, weights)
    value = propagate(weighted)
    left = recognise_blocks(restrict(weighted, value) if (value != FREE).any() else weighted)
    return left.score(world[value == FREE]) - sum_product(left)[1]
