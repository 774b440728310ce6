"""Path-constrained clauses: rules that say what sequences of relations connect the arguments of a target's atoms.

Source: Embar, Sridhar, Farnadi, Getoor, "Scalable Structure Learning for Probabilistic Soft Logic" (2018), definitions 1 to 3.

A path p1(E1, E2), ..., ps(Es, Es+1) that leads from the first to the second argument of enough labelled atoms of a target T becomes the clause
`p1(E1, E2) & ... & ps(Es, Es+1) -> T(E1, Es+1)`, and its negation, whose head is `!T(E1, Es+1)`. A relation that is walked the other
way has its arguments exchanged. Which of the two says something, and how much, are weights: that is the work of those who learn them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Annotated
from typing import Literal as OneOf

import numpy as np
import pyarrow as pa
from scipy.special import rel_entr

from sqlrl import markup
from sqlrl.errors import InputError, Message, Parameter
from sqlrl.ground.network import FloatArray, IntArray
from sqlrl.ground.paths import ANCHORS, Anchor, PathSupports, RelationalPaths
from sqlrl.learn.parameters import Option, Whole, check_parameters
from sqlrl.logic.limits import LONGEST_CLAUSE
from sqlrl.logic.psl import LogicalRule
from sqlrl.logic.psl_literals import negated
from sqlrl.logic.terms import Constant, Literal, Term, Variable
from sqlrl.plan.paths import PathRelation
from sqlrl.wording import counted

Length = Annotated[int, Whole(1, LONGEST_CLAUSE - 1), Option("the most literals of a path (s)")]
MinTargets = Annotated[int, Whole(1), Option("the least labelled atoms that a path connects (t)")]
Top = Annotated[int | None, Whole(1), Option("how many paths are kept", name="--paths")]
By = Annotated[
    OneOf["support", "contrast"],
    Option(
        "paths are kept that connect most atoms, or whose atoms differ most from the others in their labels",
        name="--paths-by",
    ),
]
Simple = Annotated[bool, Option("count walks that visit an entity twice, too", name="--any-walk")]
Constants = Annotated[bool, Option("paths that begin at one argument and stop at a constant, too")]
ConstantLength = Annotated[int, Whole(1, LONGEST_CLAUSE - 1), Option("the most literals of a path to a constant")]
Negations = Annotated[bool, Option("leave out clauses with a negated head", name="--no-negations")]

Squared = Annotated[bool, Option("hinges of clauses are linear, not squared", name="--linear")]


@dataclass(frozen=True, kw_only=True)
class PathParameters:
    """Which paths become clauses.

    Parameters
    ----------
    length : int
        The most literals of a path.
    min_targets : int
        The least labelled atoms that a path connects, positive and negative ones together.
    top : int, optional
        How many paths are kept; each has two clauses. By default all.
    by : {"support", "contrast"}
        Which: those that connect most atoms, as in the source; or those whose atoms differ most in their labels from those that they do not
        connect, by the likelihood ratio G² (`contrast`). In a dense graph the paths that connect most atoms connect true and false ones alike.
    simple : bool
        Whether walks that visit an entity twice do not count.
    constants : bool
        Whether paths count, too, that begin at one argument of the target and stop at a constant or at a fact of one argument.
    constant_length : int
        The most literals of those. From an entity many more walks lead to some constant than to the other argument.
    negations : bool
        Whether each path has a clause with a negated head beside the one without.
    squared : bool
        Whether the hinges of clauses are squared.

    Raises
    ------
    InputError
        A value is out of range; the message says which.
    """

    length: Length = 3
    min_targets: MinTargets = 10
    top: Top = None
    by: By = "support"
    simple: Simple = True
    constants: Constants = False
    constant_length: ConstantLength = 1
    negations: Negations = True
    squared: Squared = True

    def __post_init__(self) -> None:
        check_parameters(self)


@dataclass(frozen=True, slots=True)
class PathClause:
    """A clause with the path that it was made of."""

    rule: LogicalRule  # of weight 0: what it weighs is to be learned
    path: tuple[PathRelation, ...]
    positive: int  # true atoms that the path connects
    negative: int
    negated: bool = False  # whether the head is
    anchor: Anchor = "both"  # which arguments of the target the path has: both, or one where it stops at a constant
    _repr_html_ = markup.field_table

    @property
    def support(self) -> int:
        """How many labelled atoms the path connects."""
        return self.positive + self.negative

    def __str__(self) -> str:
        return self.rule.formula


@dataclass(frozen=True)
class PathClauses(Sequence[PathClause]):
    """The clauses of a target's paths, the best first (by support or contrast), equal ones by their text."""

    target: str
    clauses: tuple[PathClause, ...]
    positives: int  # labelled atoms of the target that are true
    negatives: int
    walks: int  # walks that met at an entity, to count the atoms that paths connect
    notes: tuple[str, ...] = ()  # what was left out, and what is to be kept in mind
    _repr_html_ = markup.field_table

    def __len__(self) -> int:
        return len(self.clauses)

    def __getitem__(self, place: int) -> PathClause:  # type: ignore[override]
        return self.clauses[place]

    @property
    def rules(self) -> tuple[LogicalRule, ...]:
        """The clauses alone."""
        return tuple(each.rule for each in self.clauses)

    def table(self) -> pa.Table:
        """Return the clauses as rows: `clause`, `path`, `length`, `negated`, `positive`, `negative`."""
        return pa.table(
            {
                "clause": pa.array([str(each) for each in self.clauses], pa.string()),
                "path": pa.array([", ".join(map(str, each.path)) for each in self.clauses], pa.string()),
                "length": pa.array([len(each.path) for each in self.clauses], pa.int32()),
                "negated": pa.array([each.negated for each in self.clauses], pa.bool_()),
                "positive": pa.array([each.positive for each in self.clauses], pa.int64()),
                "negative": pa.array([each.negative for each in self.clauses], pa.int64()),
            }
        )

    def __str__(self) -> str:
        head = f"{counted(len(self), 'clause')} about {self.target}, from {self.positives:,} positive and {self.negatives:,} negative atoms"
        lines = [f"{each}  ({each.positive:,} positive, {each.negative:,} negative)" for each in self.clauses]
        return "\n".join([f"{head}:", *lines, *self.notes])


def path_clauses(source: RelationalPaths, parameters: PathParameters | None = None) -> PathClauses:
    """Return the clauses of the paths that connect labelled atoms of a target; too few atoms are an InputError."""
    chosen = parameters or PathParameters()
    notes = _checked(source, chosen)
    found = source.supports(
        chosen.length,
        min_targets=chosen.min_targets,
        simple=chosen.simple,
        constant_length=chosen.constant_length if chosen.constants else 0,
    )
    support = found.positive + found.negative
    merit = (
        support
        if chosen.by == "support"
        else contrast(found.positive, found.negative, source.positives, source.negatives)
    )
    places = _once(found) if source.symmetric else np.arange(len(found))
    total = len(places)
    if chosen.top is not None and total > chosen.top:
        # All that are as good as the last one of those: texts decide between them.
        places = places[merit[places] >= np.partition(merit[places], -chosen.top)[-chosen.top]]
        best = "that connect most" if chosen.by == "support" else "that tell labels apart best"
        notes += (
            f"{counted(total, 'path')} connect {chosen.min_targets:,} or more of the atoms; the {chosen.top:,} {best} are kept ({Parameter('top')}).",
        )
    stopped = found.constant[places]
    names = source.constants(np.unique(stopped[stopped >= 0]).tolist())
    rules = {i: _clause(source, found, i, names, chosen.squared) for i in places.tolist()}
    order = sorted(rules, key=lambda i: (-merit[i], rules[i].formula))[: chosen.top]
    clauses = [
        PathClause(
            rule,
            found.path(i),
            int(found.positive[i]),
            int(found.negative[i]),
            rule != rules[i],
            ANCHORS[found.anchor[i]],
        )
        for i in order
        for rule in ((rules[i], _negation(rules[i])) if chosen.negations else (rules[i],))
    ]
    said = tuple(Message(note) for note in notes)
    return PathClauses(source.target, tuple(clauses), source.positives, source.negatives, found.walks, said)


def contrast(positive: IntArray, negative: IntArray, positives: int, negatives: int) -> FloatArray:
    """Return G² between the label of an atom and whether a path connects it, shape (m,), from the atoms of each label that m paths connect."""
    cells = np.array([positive, negative, positives - positive, negatives - negative], dtype=np.float64)
    total, connected = float(positives + negatives), cells[0] + cells[1]
    likely = (positives / total, negatives / total)
    wanted = np.array([share * n for n in (connected, total - connected) for share in likely])
    found: FloatArray = np.maximum(2.0 * rel_entr(cells, wanted).sum(axis=0), 0.0)
    return found


def _checked(source: RelationalPaths, parameters: PathParameters) -> tuple[str, ...]:
    """Refuse targets that no path can connect often enough; say what their labels lack."""
    total = source.positives + source.negatives
    if not total:
        raise InputError(
            f"{source.target} has no labelled atoms: load its facts as those of a target, or give pairs with labels"
        )
    if parameters.min_targets > total:
        raise InputError(
            f"{Parameter('min_targets', parameters.min_targets)}: {source.target} has {counted(total, 'labelled atom')}, so that no path connects as many; lower it"
        )
    if source.positives and source.negatives:
        return ()
    kind, other = ("positive", "negative") if source.positives else ("negative", "positive")
    return (f"All labelled atoms of {source.target} are {kind}: what its paths say of {other} ones is not known.",)


# ---- from paths to clauses -----------------------------------------------------------------------------


def _once(found: PathSupports) -> IntArray:
    """Return the places of the paths of a symmetric target but for those that are, read the other way, paths that are kept."""
    number = {relation: i for i, relation in enumerate(found.relations)}
    kept = []
    for i in range(len(found)):
        path = found.path(i)
        if ANCHORS[found.anchor[i]] == "both":
            backwards = [number[relation.inverse] for relation in reversed(path)]
            if [number[relation] for relation in path] > backwards:
                continue
        kept.append(i)
    return np.array(kept, dtype=np.int64)


def _clause(
    source: RelationalPaths, found: PathSupports, place: int, names: Mapping[int, str], squared: bool
) -> LogicalRule:
    """Return the clause of a path: E1, E2, ... along it, F1, F2, ... at the other arguments of its literals."""
    path, anchor = found.path(place), ANCHORS[found.anchor[place]]
    ends = [Variable(f"E{i + 1}") for i in range(len(path) + 1)]
    along: list[Term] = [*ends]
    constant = names.get(int(found.constant[place]))
    if constant is not None:
        along[0 if anchor == "stop" else -1] = Constant(constant)
    fresh = (Variable(f"F{i}") for i in count(1))
    literals = []
    for i, relation in enumerate(path):
        here = {relation.start: along[i], relation.end: along[i + 1]}
        if relation.end is None and anchor == "stop":
            # A fact of one argument is about the entity that the path goes on from.
            here = {relation.start: along[i + 1]}
        terms = tuple(here[j] if j in here else next(fresh) for j in range(len(source.types[relation.predicate])))
        literals.append(Literal(relation.predicate, terms))
    return LogicalRule(tuple(literals), (Literal(source.target, (ends[0], ends[-1])),), 0.0, squared)


def _negation(rule: LogicalRule) -> LogicalRule:
    """Return the clause with its head negated."""
    (head,) = rule.head
    return LogicalRule(rule.body, (negated(head),), rule.weight, rule.squared)
