"""The parameters of the bottom-clause learner, checked when they are made, and where they come from."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Annotated, Any, Literal

from sqlrl import markup
from sqlrl.errors import InputError, Parameter, Phrase
from sqlrl.learn.parameters import Above, AtLeast, Option, Whole, check_integer, check_number, check_parameters
from sqlrl.structure.ilp.scores import Evaluation
from sqlrl.training.ordering import Order

CLAUSES = "Clauses (--learner ilp)"
_LOWEST = -1e308
_SHARE = "it is a share of what a clause covers"

Command = Literal["induce", "induce_cover", "induce_max", "rank"]
Distinct = Literal["clause", "coverage"]
Units = Literal["found", "atoms"]

ByCommand = Annotated[
    Command,
    Option("which seeds and scores", panel=CLAUSES, default="rank where few atoms are positive, else induce_cover"),
]
Depth = Annotated[int, Whole(1), Option("how far from a seed facts may be (i)", panel=CLAUSES)]
ClauseLength = Annotated[int, Whole(1), Option("the most literals, with the head", panel=CLAUSES)]
MinPositive = Annotated[int, Whole(1), Option("the least positive atoms covered (minpos)", panel=CLAUSES)]
Noise = Annotated[int, Whole(0), Option("the most negative atoms covered", panel=CLAUSES)]
Nodes = Annotated[int, Whole(1), Option("the most clauses scored for a seed", panel=CLAUSES)]
ByEvaluation = Annotated[Evaluation, Option("the score (evalfn)", panel=CLAUSES)]
M = Annotated[
    float | Literal["likelihood"],
    Option(
        "of mestimate: a number, or `likelihood` for the likeliest one",
        panel=CLAUSES,
        value="X|likelihood",
        default="the bias', or auto_m's",
    ),
]
MinScore = Annotated[float, Option("the least score in a theory", panel=CLAUSES)]
MinAccuracy = Annotated[
    float, AtLeast(0.0, _SHARE), Option("the least share of positive atoms covered (minacc)", panel=CLAUSES)
]
MinLift = Annotated[
    float,
    AtLeast(0.0, "it is a multiple of the share of positive atoms"),
    Option("of rank: the least share of positive atoms covered, as a multiple of that of all atoms", panel=CLAUSES),
]
KeepAbove = Annotated[
    float | None,
    AtLeast(_LOWEST, "or None to keep no other clauses"),
    Option("keep all clauses whose m-estimate exceeds this, not only the theory", panel=CLAUSES),
]
Significance = Annotated[
    float,
    Above(0.0, "it is a probability; 1 tests nothing"),
    Option(
        "the greatest chance that a search finds a clause where labels say nothing; 1 tests nothing",
        panel=CLAUSES,
        default="0.01 where labels suffice and neither bias nor options say when a clause is good enough, else 1",
    ),
]
TestShare = Annotated[
    float,
    Above(0.0, "clauses are tested on it"),
    Option("the part of the labels that a search does not see, on which its clauses are tested", panel=CLAUSES),
]
TestUnits = Annotated[
    Units,
    Option(
        "what the test takes for independent: constants within which labels are found to be alike, or each atom",
        panel=CLAUSES,
    ),
]
BottomLimit = Annotated[int, Whole(1), Option("the most literals of a bottom clause", panel=CLAUSES)]

OF_ALEPH: Mapping[str, str] = {
    "depth": "i",
    "clause_length": "clauselength",
    "min_positive": "minpos",
    "noise": "noise",
    "nodes": "nodes",
    "evaluation": "evalfn",
    "m": "m",
    "min_score": "minscore",
    "min_accuracy": "minacc",
}
"""Parameters that a bias may set, and what Aleph calls them."""

SPARSE, ENOUGH = 0.1, 20
"""A target is ranked without being told so if a smaller share of its atoms is positive, and at least so many; clauses are tested if so many are positive, and negative."""

SIGNIFICANCE = 0.01
"""The greatest chance that a clause by chance is found, where nobody says another one."""

BY_COVER = (
    "min_positive", "noise", "min_accuracy", "min_score", "evaluation", "m", "keep_above", "explore", "above_seed", "distinct",
)  # fmt: skip
"""Parameters that say when a clause is good enough: whoever sets one of them means the search for a cover."""


@dataclass(frozen=True, kw_only=True)
class ILPParameters:
    """How clauses are found, checked when made; `ILP` says what each parameter means."""

    command: ByCommand = "induce_cover"
    depth: Depth = 2
    clause_length: ClauseLength = 5
    min_positive: MinPositive = 2
    noise: Noise = 300
    nodes: Nodes = 5000
    evaluation: ByEvaluation = "auto_m"
    m: M | None = None
    min_score: MinScore = 0.6
    min_accuracy: MinAccuracy = 0.0
    min_lift: MinLift = 1.5
    keep_above: KeepAbove = None
    explore: bool = False
    above_seed: bool = True
    distinct: Distinct = "clause"
    order: Order = "file"
    seed: int = 0
    bottom_limit: BottomLimit = 2000
    keep_coverage: bool = False
    significance: Significance = 1.0
    test_share: TestShare = 1 / 3
    test_units: TestUnits = "found"
    _repr_html_ = markup.field_table

    def __post_init__(self) -> None:
        check_parameters(self)
        if self.m is not None and self.m != "likelihood":
            check_number(
                "m", self.m, 0.0, False, format(Phrase("or 'likelihood', or None for the root of what a clause covers"))
            )
        if self.m is not None and self.evaluation != "mestimate":
            raise InputError(
                f"{Parameter('m', self.m)} goes with {Parameter('evaluation', 'mestimate')}, not with {self.evaluation!r}"
            )
        if self.min_score != -math.inf:
            check_number(
                "min_score", self.min_score, _LOWEST, False, "the least score of an acceptable clause, or -inf"
            )
        if self.min_accuracy > 1:
            raise InputError(
                f"{Parameter('min_accuracy', self.min_accuracy)} is above 1: it is a share of what a clause covers"
            )
        if self.significance > 1:
            raise InputError(
                f"{Parameter('significance', self.significance)} is above 1: it is a probability; 1 tests nothing"
            )
        if self.test_share >= 1:
            raise InputError(
                f"{Parameter('test_share', self.test_share)} leaves no labels to search: it is a share below 1, such as 0.5"
            )
        check_integer("random_state", self.seed, 0, 2**31 - 1)


FALLBACKS: Mapping[str, object] = {each.name: each.default for each in fields(ILPParameters) if each.name in OF_ALEPH}
"""What stands in place of None where the bias sets nothing."""


def resolved(
    given: Mapping[str, Any], settings: Mapping[str, Any], positives: int = 0, negatives: int = 0
) -> ILPParameters:
    """Return the parameters: what is given (not None), then what the bias sets by Aleph's names, then defaults, which may depend on labels."""
    values = {name: settings[aleph] for name, aleph in OF_ALEPH.items() if aleph in settings}
    # A bias says m for mestimate only.
    if {**values, **{k: v for k, v in given.items() if v is not None}}.get("evaluation") != "mestimate":
        values.pop("m", None)
    default = {field.name: field.default for field in fields(ILPParameters)}
    values |= {name: value for name, value in given.items() if value is not None and name in default}
    # Of those that bias and caller may leave open each one that is there was set; the others have defaults.
    by_cover = any(name in values and (name in OF_ALEPH or values[name] != default[name]) for name in BY_COVER)
    if "command" not in values:
        # Labels that are not known yet count 0, and the target is not sparse then.
        sparse = ENOUGH <= positives < SPARSE * (positives + negatives)
        values["command"] = "rank" if sparse and not by_cover else "induce_cover"
    if "significance" not in values:
        # What is kept besides a theory is for a learner of weights to choose from, whatever `command`; `rank` has no threshold that would say what is good.
        said = by_cover if values["command"] != "rank" else values.get("keep_above") is not None
        values["significance"] = 1.0 if said or min(positives, negatives) < ENOUGH else SIGNIFICANCE
    found = ILPParameters(**values)
    return replace(found, **{k: v for k, v in _of_rank(found, positives, negatives).items() if k not in values})


def _of_rank(parameters: ILPParameters, positives: int, negatives: int) -> dict[str, Any]:
    """Return the thresholds of `rank`, which are relative to the labels; of other commands none."""
    if parameters.command != "rank" or not positives:
        return {}
    accuracy = min(parameters.min_lift * positives / (positives + negatives), 1.0)
    # So many has a clause of the least accuracy that covers all positive atoms.
    noise = int(positives * (1 - accuracy) / accuracy) if accuracy else negatives
    return {"min_accuracy": accuracy, "noise": noise, "min_score": 0.0}
