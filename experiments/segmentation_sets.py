"""The data sets whose weights are learned again by likelihood: their folds, systems, models, and what finds the clauses of each system."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import ads_osl
import citeseer_osl
import pyarrow as pa
import pyarrow.parquet as pq
from ads import derive, load_ads
from ads import starting_model as ads_model
from chain_crf import Chain, read_chains
from citations import AUTHORS, TOPICS, author_folds, constrained_ism, load_citeseer, load_cora, topic_folds
from segmentation import LINEAR, QUADRATIC, SYSTEMS

import sqlrl
from sqlrl.database.constrained_training import Mode
from sqlrl.evaluate import Fold
from sqlrl.training.ordering import Order

CRF = "CRF, LC_0's features"
"""The system that is no model of rules."""

SIGMA = 0.002
"""Of CDA on Cora: the thesis' value, as in `cora_constraints.py`."""

CONSTRAINED = ("No constraints", "L+I", "SCT", "SCT-", "SCT, quadratic", "IBT")
"""The systems on Cora: those of `segmentation.py` whose constraints are what differs."""


@dataclass(frozen=True, slots=True)
class SegmentationSet:
    """A set of examples whose positions have fields.

    Parameters
    ----------
    name : str
    groups : tuple of str
        The names of the folds: each group of examples is held out once.
    own : str
        What finds the clauses, or learns the weights, of every system.
    systems : tuple of str
    quick : tuple of str
        Systems with `--quick`.
    each : int
        Examples of each group with `--quick`.
    load : callable
        Loads the data into a database from the folder of the real data; returns the labels: example, field, position.
    folds : callable
        From that folder and the most examples of a group, None for all.
    model : callable
        The model that a system starts from.
    finder : callable
        The learner of a system, from the folder, the system, the modes and the seed of the order, None for that of the file.
    constraints : mapping of str to (mode, growth)
        For systems with hard clauses, which of them are enforced in training and in prediction.
    chains : callable, optional
        Words and labels of all examples, for `CRF`.
    """

    name: str
    groups: tuple[str, ...]
    own: str
    systems: tuple[str, ...]
    quick: tuple[str, ...]
    each: int
    load: Callable[[sqlrl.Database, Path], pa.Table]
    folds: Callable[[Path, int | None], list[Fold[str]]]
    model: Callable[[Path, str], sqlrl.Model]
    finder: Callable[[Path, str, str, int | None], Any]
    constraints: Mapping[str, tuple[Mode, float]] = field(default_factory=dict)
    chains: Callable[[Path], dict[str, Chain]] | None = None

    def constrained(self, system: str, learner: Any) -> Any:
        """Return a learner that heeds the hard clauses which a system enforces in training."""
        if system not in self.constraints:
            return learner
        mode, growth = self.constraints[system]
        return sqlrl.ConstrainedTraining(learner, mode, growth=growth)


def found_by(system: str) -> bool:
    """Tell whether the clauses of a system are found, so that they depend on the labels and their order."""
    return system.startswith("OSL")


def start_of(system: str) -> str:
    """Return what a system starts from: "LC_0", "ISM" or "Empty"."""
    return system.rsplit("-", 1)[-1]


# ---- CiteSeer ------------------------------------------------------------------------------------------


def _load_citeseer(db: sqlrl.Database, data: Path) -> pa.Table:
    load_citeseer(db, data / "citeseer")
    return pq.read_table(data / "citeseer" / "infield.parquet", columns=["bib", "field", "position"])


def _citeseer_finder(data: Path, system: str, modes: str, seed: int | None) -> Any:
    kind: citeseer_osl.Kind | None = None
    if found_by(system):
        kind = "file" if modes == "file" else "paper"
    nothing: Fold[str] = Fold("", (), ())
    return citeseer_osl.estimator(citeseer_osl.Job(str(data / "citeseer"), system, kind, seed, nothing))


def _citeseer_chains(data: Path) -> dict[str, Chain]:
    folder = data / "citeseer"
    tokens = pq.read_table(folder / "token.parquet", columns=["token", "position", "bib"])
    return read_chains(tokens, pq.read_table(folder / "infield.parquet", columns=["bib", "field", "position"]))


CITESEER = SegmentationSet(
    "citeseer",
    TOPICS,
    "AdaGrad",
    (CRF, "LC_0", "ISM", *(name for name in citeseer_osl.PAPER if found_by(name))),
    (CRF, "OSL-M2-LC_0"),
    6,
    _load_citeseer,
    lambda data, each: topic_folds(data / "citeseer", each=each),
    lambda data, system: citeseer_osl.starting_model(data / "citeseer", start_of(system)),
    _citeseer_finder,
    chains=_citeseer_chains,
)

# ---- hotel ads -----------------------------------------------------------------------------------------


def _load_ads(db: sqlrl.Database, data: Path) -> pa.Table:
    load_ads(db, data / "hotel-ads")
    return derive(data / "hotel-ads")["InField"]


def _ads_finder(_: Path, system: str, __: str, seed: int | None) -> Any:
    learner = ads_osl.estimator(system if found_by(system) else f"ADAGRAD_FB-{system}")
    order: Order = "file" if seed is None else "shuffle"
    return type(learner)(**{**learner.get_params(), "order": order, "random_state": seed})


ADS = SegmentationSet(
    "ads",
    tuple(str(k + 1) for k in range(ads_osl.FOLDS)),
    "AdaGrad",
    ("ISM", *(name for name in ads_osl.PAPER if found_by(name))),
    ("ISM", "OSL-M2-ISM"),
    20,
    _load_ads,
    lambda data, each: ads_osl.read_folds(data / "hotel-ads", 0, most=None if each is None else each * ads_osl.FOLDS),
    lambda _, system: ads_model(start_of(system)),
    _ads_finder,
)

# ---- Cora ----------------------------------------------------------------------------------------------


def _load_cora(db: sqlrl.Database, data: Path) -> pa.Table:
    return load_cora(db, data / "cora-references").select(["bib", "field", "position"])


def _cora_folds(data: Path, each: int | None) -> list[Fold[str]]:
    folder = data / "cora-references"
    return author_folds(folder, load_cora(sqlrl.connect(":memory:"), folder), each=each)


def _cora_finder(_: Path, __: str, ___: str, seed: int | None) -> Any:
    order: Order = "file" if seed is None else "shuffle"
    # Where all constraints are grounded for training, fewer examples in a window save memory.
    return sqlrl.CDA(SIGMA, order=order, random_state=seed, window=128)


CORA = SegmentationSet(
    "cora",
    AUTHORS,
    "CDA",
    CONSTRAINED,
    ("SCT-",),
    5,
    _load_cora,
    _cora_folds,
    lambda data, _: constrained_ism(data / "citeseer"),
    _cora_finder,
    constraints={name: (SYSTEMS[name], QUADRATIC if name == "SCT, quadratic" else LINEAR) for name in CONSTRAINED},
)

SETS = {each.name: each for each in (CITESEER, ADS, CORA)}
