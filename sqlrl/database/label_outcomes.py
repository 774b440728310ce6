"""What labels say of kept predictions, as `sqlrl.outcome` and `sqlrl.support` keep it; only `evaluate` comes here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sqlrl.database.inferred import Inferred, InferredWorld
from sqlrl.ground.atoms import read_atoms
from sqlrl.ground.clauses import clause_table, example_names
from sqlrl.ground.network import BoolArray, FloatArray, IntArray, Network
from sqlrl.ground.program import Extent, Program
from sqlrl.ground.windows import divided
from sqlrl.logic.terms import Constant
from sqlrl.solve.flip_counts import Flips, flip_counts

SUPPORT = ("for_right", "for_wrong", "against_right", "against_wrong")


def keep(found: Inferred, outcomes: Iterable[pa.Table], support: pa.Table | None = None) -> None:
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
