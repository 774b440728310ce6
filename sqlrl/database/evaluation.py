"""What was inferred held against the labels: what is compared, how each kind is scored, how much of it the model was learned from, and what is kept of that."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypedDict

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from sqlrl.catalog.checks import labels_outside
from sqlrl.catalog.layout import PredicateInfo, TableName
from sqlrl.database.inferred import THRESHOLD, Inferred, InferredProbabilities, InferredValues, InferredWorld
from sqlrl.engine.nodes import column, named, star_count, table
from sqlrl.errors import InputError, Parameter
from sqlrl.evaluate import ProbabilityScores, Scores, Seen, SoftScores, score, score_probabilities, score_values
from sqlrl.ground.atoms import read_atoms, read_values
from sqlrl.ground.clauses import clause_table, example_names
from sqlrl.ground.network import BoolArray, FloatArray, IntArray, Network
from sqlrl.ground.program import Extent, Program, rows_table
from sqlrl.ground.windows import divided, divided_hinges
from sqlrl.logic.terms import Constant
from sqlrl.solve.flip_counts import Flips, flip_counts
from sqlrl.training.provenance import TABLE, atom_rows, example_rows, targets
from sqlrl.training.statistics import add_observed

OUTSIDE = ("missed", "ignore")
"""What a true label outside the scope, which has no query atom, may count as."""

SUPPORT = ("for_right", "for_wrong", "against_right", "against_wrong")
"""Columns of what each clause says: for how many right and wrong predictions it speaks, and against how many."""


@dataclass(frozen=True, eq=False)
class Compared:
    """The n query atoms for which something was inferred, with their labels."""

    names: list[str]  # the k predicates that are reported
    atoms: IntArray  # ids, shape (n,)
    label: BoolArray | FloatArray  # the labels as they were loaded: truths, or soft truths
    truth: BoolArray  # whether a label counts as true
    labelled: BoolArray  # whether there is a label
    kind: IntArray  # the place of the predicate in `names`
    example: IntArray
    missed: list[IntArray]  # for each predicate the examples of true labels outside its scope


def compared(found: Inferred, outside: str, threshold: float = THRESHOLD) -> Compared:
    """Read the labels of the query atoms, and with `outside` "missed" also the labels that have none; an error if there are no labels."""
    # Soft labels count as true from the threshold on.
    if outside not in OUTSIDE:
        raise InputError(f"{Parameter('outside', outside)} must be 'missed' or 'ignore'.")
    found.check_current()
    real = found.reported
    atoms = found.network_atoms.ids[real]
    label, labelled = found.labels_of(atoms)
    names = found.open_predicates
    examples = found.examples if outside == "missed" else np.zeros(0, np.int64)
    missed = [labels_outside(found.engine, found.layout, name, examples) for name in names]
    if not labelled.any() and not any(map(len, missed)):
        raise InputError(
            f"no predicted atom has a label to compare with: load the labels with {Parameter('target', True)}, or choose examples "
            "that have them"
        )
    kind = np.full(len(atoms), -1, np.int64)
    for i, name in enumerate(names):
        kind[found.of_predicate(name)[real]] = i
    truth: BoolArray = label.astype(bool, copy=False) if label.dtype == np.bool_ else label >= threshold
    return Compared(names, atoms, label, truth, labelled, kind, found.network_atoms.example[real], missed)


# ---- scores --------------------------------------------------------------------------------------------


def world_scores(prediction: InferredWorld, known: Compared) -> Scores:
    """Score a predicted world; a true label outside the scope is an atom predicted false."""
    labelled = known.labelled
    beside = np.concatenate([np.zeros(0, np.int64), *known.missed])
    none, example = np.zeros(len(beside), bool), np.concatenate([known.example[labelled], beside])
    return score(
        np.concatenate([known.truth[labelled], ~none]),
        np.concatenate([prediction.atom_values[prediction.reported][labelled], none]),
        example,
        predicate=np.concatenate(
            [known.kind[labelled], np.repeat(np.arange(len(known.names)), [len(m) for m in known.missed])]
        ),
        names=known.names,
        examples=example_names(prediction.engine, prediction.layout, example),
        outside=len(beside),
        seen=seen_in_training(prediction, known.atoms[labelled]),
    )


def probability_scores(marginals: InferredProbabilities, known: Compared, bins: int) -> ProbabilityScores:
    """Score probabilities."""
    chances = marginals.atom_values[marginals.reported][known.labelled]
    return score_probabilities(
        known.truth[known.labelled], chances, threshold=THRESHOLD, bins=bins, **_ranked(marginals, known)
    )


def value_scores(prediction: InferredValues, known: Compared, threshold: float) -> SoftScores:
    """Score the truth values of a soft model."""
    values = prediction.atom_values[prediction.reported][known.labelled]
    return score_values(known.label[known.labelled], values, threshold=threshold, **_ranked(prediction, known))


class _Beside(TypedDict):
    """What scores of numbers are told of the labelled atoms beside their labels and values."""

    predicate: IntArray
    names: Sequence[str]
    example: IntArray
    examples: Sequence[str]
    outside: int
    seen: Seen | None


def _ranked(found: Inferred, known: Compared) -> _Beside:
    """Return the predicates and examples of the labelled atoms, and what was left out or seen before."""
    labelled = known.labelled
    ids, index = np.unique(np.concatenate([found.examples, known.example[labelled]]), return_inverse=True)
    named = example_names(found.engine, found.layout, ids)
    return {
        "predicate": known.kind[labelled],
        "names": known.names,
        "example": index[len(found.examples) :],
        "examples": [named[example] for example in ids.tolist()],
        "outside": sum(map(len, known.missed)),
        "seen": seen_in_training(found, known.atoms[labelled]),
    }


# ---- what the model was learned from -------------------------------------------------------------


def seen_in_training(found: Inferred, atoms: IntArray) -> Seen | None:
    """Return how many of some query atoms a run of this database learned the model from; None if no run is known to have."""
    records = found.session.records
    run = records.learned(found.asked_model, TABLE)
    if run is None:
        return None
    known = records.predicates_of(TABLE, run)
    layout, count = found.layout, 0
    with rows_table(found.engine, layout, pa.table({"atom": atoms})) as asked:
        for info in targets(layout):
            listed = known.get(info.name)
            if listed is None or (not listed and layout.example_count == 1 and not records.same_data_of(run)):
                # Of one network without a list of its atoms only the name is known, which other data have, too.
                continue
            count += _common(found, info, asked, run, listed=listed)
    return Seen(run, count, len(atoms)) if count else None


def _common(found: Inferred, info: PredicateInfo, asked: TableName, run: int, *, listed: bool) -> int:
    """Count the query atoms of a predicate among some that a run learned from."""
    layout = found.layout
    query = atom_rows(layout, info) if listed else example_rows(layout, info)
    query = query.join(table(asked, "w"), on=column("atom", "w").eq(column("atom", "a")))
    learned = (
        exp.select(column("example_name"), column("constants")).distinct().from_(found.session.records.table(TABLE))
    )
    learned = learned.where(exp.and_(column("run").eq(run), column("predicate").eq(info.name)))
    keys = ["example_name", "constants"] if listed else ["example_name"]
    same = exp.and_(*(column(key, "l").eq(column(key, "r")) for key in keys))
    counted = exp.select(named(star_count(), "n")).from_(query.subquery("r")).join(learned.subquery("l"), on=same)
    return int(found.engine.fetch(counted, step=f"count what was learned of {info.name}").column(0)[0].as_py())


# ---- what is kept of runs that were kept ---------------------------------------------------------------


def keep_world(prediction: InferredWorld, run: int, known: Compared) -> None:
    """Keep what labels say of a predicted world and its clauses."""
    with prediction.held() as (program, chosen):
        extent = Extent(program, chosen, prediction.asked.limit)
        if known.labelled.all():
            add_observed(prediction.session.records, run, extent)
        support, log_odds = support_of(prediction, known, program, extent)
        predicted = prediction.atom_values[prediction.reported]
        blocks = blocks_of(known.atoms, extent, prediction.network)
        outcomes = outcomes_of(prediction, known, predicted, missed=True, blocks=blocks, log_odds=log_odds)
        _keep(prediction, outcomes, support)


def keep_probabilities(marginals: InferredProbabilities, known: Compared) -> None:
    """Keep labels beside probabilities."""
    real = marginals.reported
    with marginals.held() as (program, chosen):
        blocks = blocks_of(known.atoms, Extent(program, chosen, marginals.asked.limit))
        chances = marginals.atom_values[real]
        _keep(marginals, outcomes_of(marginals, known, marginals.holds()[real], blocks=blocks, probability=chances))


def keep_values(prediction: InferredValues, run: int, known: Compared, threshold: float) -> None:
    """Keep which truth values and labels count as true, and if all atoms have labels the distances of rules at these."""
    if known.labelled.all() and prediction.reported.all():
        total = np.zeros(len(prediction.model.rules))
        with prediction.held() as soft, soft.program.examples_table(prediction.examples) as chosen:
            extent = Extent(soft.program, chosen, prediction.asked.limit, len(prediction.examples))
            for _, ground in divided_hinges(soft, extent, np.sort(prediction.examples)):
                labels = read_values(prediction.engine, soft.layout, ground.network.atoms)
                total += ground.network.incompatibility(labels)
        rows = {"clause": pa.array(np.arange(len(total))), "observed": pa.array(total)}
        prediction.session.records.fill("rule_distance", run, pa.table(rows), key="clause")
    _keep(prediction, outcomes_of(prediction, known, prediction.holds(threshold)[prediction.reported]))


def _keep(found: Inferred, outcomes: Iterable[pa.Table], support: pa.Table | None = None) -> None:
    """Keep rows of `outcome` and `support` of what was inferred, in place of what an earlier call kept."""
    assert found.run is not None, "it was kept"
    records = found.session.records
    # All rows are made before: a transaction of a file writes to that file alone, and naming atoms takes scratch tables.
    tables = {"outcome": list(outcomes), "support": [] if support is None else [support]}
    with records.together():
        for table, parts in tables.items():
            records.clear(table, found.run)
            for part in parts:
                records.append(table, found.run, part)


# ---- rows of outcomes, as `sqlrl.outcome` keeps them ---------------------------------------------


@dataclass(frozen=True, eq=False)
class Blocks:
    """The blocks of query atoms: `number`, int64 of shape (n,), is -1 for an atom in none; `positions` are those of the arguments that they range over."""

    number: IntArray
    positions: Mapping[str, tuple[int, ...]]


def blocks_of(atoms: IntArray, extent: Extent, network: Network | None = None) -> Blocks | None:
    """Return the blocks of the query atoms of an extent, None if there are none; `network` is that of the extent if it is at hand."""
    rules = {rule.predicate: rule.positions for rule in reversed(extent.program.blocks)}
    if not rules:
        return None
    if network is None:
        read = read_atoms(extent)
        return Blocks(read.block[np.searchsorted(read.ids, atoms)], rules)
    return Blocks(network.block[np.searchsorted(network.atoms, atoms)], rules)


def outcomes_of(
    found: Inferred,
    known: Compared,
    predicted: BoolArray,  # of the atoms of `known`, as all arrays here
    *,
    missed: bool = False,  # true labels outside the scope, as far as `known` has them, are atoms predicted false
    blocks: Blocks | None = None,
    probability: FloatArray | None = None,  # NaN where unknown
    log_odds: FloatArray | None = None,  # NaN where unknown
) -> Iterator[pa.Table]:
    """Yield the labels of query atoms beside what was inferred of them, as rows of `sqlrl.outcome` without the run."""
    for kind, name in enumerate(known.names):
        mine = np.flatnonzero(known.labelled & (known.kind == kind))
        if len(mine):
            named = found.named(name, known.atoms[mine], {})
            columns = {
                "atom": pa.array(known.atoms[mine]),
                "name": _texts(name, named.columns[1:]),
                "example": pa.array(known.example[mine].astype(np.int32)),
                "example_name": named.column(0),
                "label": pa.array(known.truth[mine]),
                "predicted": pa.array(predicted[mine]),
            }
            if blocks is not None and name in blocks.positions:
                number = blocks.number[mine]
                columns["block"] = pa.array(number, mask=number < 0)
                columns["constant"] = _joined([named.column(1 + i) for i in blocks.positions[name]])
            for column, values in (("probability", probability), ("log_odds", log_odds)):
                if values is not None:
                    columns[column] = pa.array(values[mine], mask=np.isnan(values[mine]))
            yield _of_predicate(name, columns)
        outside = known.missed[kind]
        if missed and len(outside):
            texts = example_names(found.engine, found.layout, outside)
            columns = {
                "example": pa.array(outside.astype(np.int32)),
                "example_name": pa.array([texts[example] for example in outside.tolist()], pa.string()),
                "label": pa.array(np.ones(len(outside), bool)),
                "predicted": pa.array(np.zeros(len(outside), bool)),
            }
            yield _of_predicate(name, columns)


def _of_predicate(name: str, columns: dict[str, pa.Array | pa.ChunkedArray]) -> pa.Table:
    data = pa.table(columns)
    return data.append_column("predicate", pa.array([name]).take(pa.array(np.zeros(len(data), np.int64))))


def _texts(predicate: str, arguments: list[pa.ChunkedArray]) -> pa.Array:
    """Return atoms as text, as `sqlrl.ground.clauses.atom_texts` writes them: quotes are looked up once for each constant."""
    if not arguments:
        return pa.array([f"{predicate}()"])
    columns = []
    for argument in arguments:
        coded = argument.combine_chunks().dictionary_encode()
        written = pa.array([str(Constant(name)) for name in coded.dictionary.to_pylist()], pa.string())
        columns.append(written.take(coded.indices))
    return pc.binary_join_element_wise(f"{predicate}(", _joined(columns), ")", "")


def _joined(columns: list[pa.Array | pa.ChunkedArray]) -> pa.Array | pa.ChunkedArray:
    return columns[0] if len(columns) == 1 else pc.binary_join_element_wise(*columns, ", ")


# ---- what each clause says ---------------------------------------------------------------------------


def support_of(
    prediction: InferredWorld, known: Compared, program: Program, extent: Extent
) -> tuple[pa.Table | None, FloatArray | None]:
    """Return for how many right and wrong predictions each clause speaks for and against them, as rows of `sqlrl.support` without the run, and
    what the clauses say for the predicted value of each atom of `known` (log-odds, NaN where unknown).
    """
    atoms = prediction.network_atoms
    # Cutting planes ground only what they need, so that nothing is known.
    if prediction.network is not None and prediction.network.partial:
        return None, None
    world, weights = prediction.result.world, program.weights()
    direction = np.where(program.hard(), 1, np.sign(weights)).astype(np.int64)
    log_odds = np.full(len(known.atoms), np.nan)
    helped = np.zeros(program.clause_count, dtype=bool)
    total = np.zeros((len(SUPPORT), program.clause_count), np.int64)
    for network in _networks(prediction, extent):
        here = world[np.searchsorted(atoms.ids, network.atoms)]
        said = flip_counts(network, here)
        place, mine = _among(network.atoms, known.atoms)
        log_odds[place[mine]] = said.log_odds(network, weights, here)[mine]
        wrong = np.full(len(network.atoms), -1, np.int64)
        labelled = mine & known.labelled[place]
        wrong[labelled] = here[labelled] != known.truth[place[labelled]]
        helped |= said.helped
        total += _tally(said, direction, wrong)
        del network  # or else it would be there while the next is grounded
    shown = clause_table(program).column("clause").to_numpy()
    columns = {name: pa.array(total[i][shown], mask=helped[shown]) for i, name in enumerate(SUPPORT)}
    return pa.table({"clause": shown, **columns}), log_odds


def _networks(prediction: InferredWorld, extent: Extent) -> Iterator[Network]:
    """Yield the ground networks of a prediction: the one that it holds, or that of each window once more."""
    if prediction.network is not None:
        yield prediction.network
        return
    for _, network in divided(extent, np.sort(prediction.examples)):
        yield network
        del network  # or else it would be there while the next is grounded


def _among(atoms: IntArray, known: IntArray) -> tuple[IntArray, BoolArray]:
    """Return the place of each atom among others, both ascending, and whether it is there."""
    place = np.minimum(np.searchsorted(known, atoms), max(len(known) - 1, 0))
    there: BoolArray = known[place] == atoms if len(known) else np.zeros(len(atoms), dtype=bool)
    return place, there


def _tally(said: Flips, direction: IntArray, wrong: IntArray) -> IntArray:
    """Return the counts of `SUPPORT` for each clause, shape (4, m); `wrong` is 1 for atoms predicted wrongly, 0 for right ones, else -1."""
    # `direction` is the sign of each weight, shape (m,).
    change = said.change.tocoo()
    speaks = np.sign(change.data) * direction[change.col]
    kept = (speaks != 0) & (wrong[change.row] >= 0)
    kind = 2 * (speaks[kept] < 0) + wrong[change.row[kept]]
    m = change.shape[1]
    found: IntArray = np.bincount(kind * m + change.col[kept], minlength=len(SUPPORT) * m).reshape(len(SUPPORT), m)
    return found
