"""Why an atom has its value: what speaks for and against it, in a predicted world and among truth values."""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from sqlglot import exp

from sqlrl.catalog.layout import PredicateInfo, TableName
from sqlrl.catalog.records import Records
from sqlrl.database.inferred import InferredValues, InferredWorld
from sqlrl.engine.nodes import column, table
from sqlrl.ground.atom_clauses import TwoWorlds, clauses_of_atoms, with_helpers
from sqlrl.ground.clauses import atom_texts, clause_table
from sqlrl.ground.grounding import ground_network
from sqlrl.ground.hinge_network import HingeNetwork
from sqlrl.ground.hinges import ground_hinges
from sqlrl.ground.network import BoolArray, FloatArray, Network
from sqlrl.ground.oracle import ProgramOracle
from sqlrl.ground.program import Extent, Program
from sqlrl.ground.soft_program import SoftProgram
from sqlrl.logic.psl_literals import format_number
from sqlrl.plan.named_clauses import AtomKey
from sqlrl.plan.sources import argument_columns
from sqlrl.report import Table
from sqlrl.report.text import cell_text
from sqlrl.solve.cutting_plane import add_rows, flipped_by_rounds
from sqlrl.solve.methods import Options
from sqlrl.solve.other_worlds import flipped
from sqlrl.solve.weighted import weigh

ROUNDS, PATIENCE = 20, 1.0
"""What a margin is worth: rounds of cutting planes, and CP-SAT's deterministic seconds for a component; then it is a bound. Reasons
are asked for one atom at a time, and whoever asks looks at the screen."""

FOR, AGAINST, NEUTRAL = "for", "against", "neutral"


class AtomReasons(ABC):
    """What speaks for and against the value of an atom, as a table that prints."""

    table: Table

    @property
    @abstractmethod
    def head(self) -> Mapping[str, object]:
        """What is said of the atom as a whole, by the names of columns."""

    def shown(self) -> Table:
        """Return the reasons to read."""
        return self.table

    def __repr__(self) -> str:
        return repr(self.shown())

    def _repr_html_(self) -> str:
        return self.shown()._repr_html_()


@dataclass(frozen=True, repr=False)
class Reasons(AtomReasons):
    """The ground clauses that speak for and against the predicted value of an atom."""

    atom: str  # with its constants
    truth: bool  # its predicted value
    # The strongest first; on the side *for*, flipping the atom alone loses the `contribution`, on *against* it gains it, on *neutral* other literals
    # decide; `weight` is NULL and `contribution` infinite if hard, else log-odds; `times` are groundings with this text.
    table: Table
    contribution: float  # sum of the contributions: log-odds of the atom's value, given all other atoms as predicted
    # Log-odds by which the best world's score falls with the other value, all other atoms chosen anew; infinite if no world has that value.
    margin: float
    gap: float  # the margin is off by no more than this; inf where nothing is proved
    at_least: bool = False  # whether the margin is a lower bound: finding it was given up
    # By clause and ground clause of rules with `=>`: how the ground clause reads with it.
    written: Mapping[tuple[str, str], str] = field(default_factory=dict)

    @property
    def head(self) -> dict[str, object]:
        """What is said of the atom as a whole, by the names of columns."""
        return {"atom": self.atom, "truth": self.truth, "margin": self.margin}

    @property
    def title(self) -> str:
        """The atom, its predicted value and its margin in one line."""
        value = "true" if self.truth else "false"
        return f"{self.atom} is predicted {value}; {margin_text(self.margin, self.gap, at_least=self.at_least)}"

    def shown(self) -> Table:
        """Return the reasons to read: as `table`, but ground clauses as their rules are written, the atom in brackets, never cut."""
        data, place = self.table.to_arrow(), self.table.columns.index("ground_clause")
        rows = zip(data.column("clause").to_pylist(), data.column(place).to_pylist(), strict=True)
        texts = [self.written.get(row, row[1]) for row in rows]
        # Not within a longer name.
        atom = re.compile(rf"(?<!\w){re.escape(self.atom)}")
        texts = [atom.sub(lambda found: f"[{found[0]}]", text) for text in texts]
        data = data.set_column(place, "ground_clause", pa.array(texts, pa.string()))
        return Table(data, title=self.title, limit=max(self.table.limit, 1), whole=True)


def margin_text(margin: float, gap: float, *, at_least: bool = False) -> str:
    """Return a margin in words, with what is proved about it."""
    if math.isinf(margin):
        return "no world has the other value"
    text = f"margin {cell_text(margin)}"
    if at_least:
        return f"{text} or more: finding it would take longer"
    if math.isinf(gap):
        return f"{text}, not proved"
    return text if gap <= 1e-6 * max(1.0, abs(margin)) else f"{text}, off by at most {gap:.3g}"


@dataclass(frozen=True)
class _Row:
    side: str
    clause: str
    ground_clause: str
    weight: float | None
    times: int
    contribution: float


def why(prediction: InferredWorld, key: AtomKey, *, neutral: bool) -> Reasons:
    """Explain an atom of a prediction; `InferenceResult.why` explains how."""
    session, atoms = prediction.session, prediction.network_atoms
    network, world = prediction.network, prediction.atom_values
    limit, seed = prediction.options.get("deterministic_limit"), prediction.options.get("seed", 0)
    with prediction.held() as (program, chosen):
        if network is None:
            # Examples are independent: its own says all that there is to say.
            with Extent(program).restricted_to(np.array([key.columns["example"]])) as one:
                network = ground_network(one)
            world = world[np.searchsorted(atoms.ids, network.atoms)]
        options = Options(deterministic_limit=PATIENCE if limit is None else min(limit, PATIENCE), seed=seed)
        found = reasons(
            program, network, world, key, gap=prediction.gap, options=options, examples=chosen, neutral=neutral
        )
    if prediction.run is not None and session.engine.writable:
        keep_reasons(session.records, prediction.run, key, found)
    return found


def reasons(
    program: Program,  # expanded over the examples
    network: Network,  # a partial one has what cutting planes needed until `world` was the best one
    world: BoolArray,  # of the network's atoms, among which `key` is one
    key: AtomKey,
    *,
    gap: float,  # no world scores more than this above `world`
    options: Options,  # how the margin is found
    examples: TableName | None = None,
    neutral: bool = False,  # list ground clauses that other literals decide, too
) -> Reasons:
    """Explain the value of an atom in the best world that was found."""
    atom = int(np.searchsorted(network.atoms, key.atom))
    defining = np.array([program.features[f].rule is None for f in program.feature_of], dtype=bool)
    oracle = _oracle(program, examples) if network.partial else None
    if oracle is not None and network.helper.any():
        # Rounds need no definition that no world broke, but without all of them helper atoms have no meaning elsewhere.
        network, _ = add_rows(network, oracle.start())
    after = with_helpers(network, defining, world, atom)
    changed = network.atoms[(after != world) & network.helper].tolist()
    keys = [key, *_helper_keys(program, changed)]
    found = clauses_of_atoms(Extent(program, examples), keys, TwoWorlds(network.atoms, world, after))
    weights = program.weights()
    listed = clause_table(program)
    texts = dict(zip(listed.column("clause").to_pylist(), listed.column("text").to_pylist(), strict=True))
    hard = program.hard()
    rows = []
    for each in found:
        worth = math.inf if hard[each.clause] else float(weights[each.clause]) * each.times
        contribution = -worth * each.change if each.change else 0.0
        weight = None if hard[each.clause] else float(weights[each.clause])
        rows.append(_Row(_side(contribution), texts[each.clause], each.text, weight, each.times, contribution))
    name = atom_texts(program, np.array([key.atom]))[key.atom]
    rows += _soft_evidence(network, world, atom, name)
    rows += _of_block(program, network, world, atom, key.predicate)
    rows.sort(key=lambda row: (_ORDER[row.side], -abs(row.contribution), row.clause, row.ground_clause))
    total = math.fsum(row.contribution for row in rows if math.isfinite(row.contribution))
    if any(math.isinf(row.contribution) for row in rows):
        total = math.inf
    if oracle is None:
        other = flipped(weigh(network, weights), world, atom, options)
    else:
        limit, seed = options.deterministic_limit, options.seed
        other = flipped_by_rounds(
            oracle, network, weights, world, atom, max_rounds=ROUNDS, deterministic_limit=limit, seed=seed
        )
    shown = [row for row in rows if neutral or row.side != NEUTRAL]
    written = {(texts[each.clause], each.text): each.written for each in found if each.written != each.text}
    if not other.complete:
        return Reasons(
            name, bool(world[atom]), _table(shown), total, other.least, math.inf, at_least=True, written=written
        )
    unsure = 0.0 if math.isinf(other.behind) else max(gap, other.gap)
    return Reasons(name, bool(world[atom]), _table(shown), total, other.behind, unsure, written=written)


def _oracle(program: Program, examples: TableName | None) -> ProgramOracle:
    """Return what grounds what worlds do not meet; it has all definitions of helper atoms from the start."""
    shapes = {x.shape for bound in program.features if bound.rule is None for x in bound.instances}
    return ProgramOracle(Extent(program, examples), check=False, whole=shapes)


_ORDER = {FOR: 0, AGAINST: 1, NEUTRAL: 2}


def _side(contribution: float) -> str:
    if contribution == 0:
        return NEUTRAL
    return FOR if contribution > 0 else AGAINST


def _table(rows: list[_Row]) -> Table:
    times = [row.times for row in rows]
    kind = pa.int64() if all(n < 2**63 for n in times) else pa.decimal128(38)
    columns = {
        "side": pa.array([row.side for row in rows], pa.string()),
        "clause": pa.array([row.clause for row in rows], pa.string()),
        "ground_clause": pa.array([row.ground_clause for row in rows], pa.string()),
        "weight": pa.array([row.weight for row in rows], pa.float64()),
        "times": pa.array(times, kind),
        "contribution": pa.array([row.contribution for row in rows], pa.float64()),
    }
    return Table(pa.table(columns))


def _helper_keys(program: Program, atoms: list[int]) -> list[AtomKey]:
    """Return the keys of helper atoms, which change together with the atom that is flipped."""
    if not atoms:
        return []
    return [
        AtomKey(info.name, atom, row)
        for info in (program.layout.predicates[name] for name in sorted(program.helper_names))
        for atom, row in _rows_of(program, info, atoms)
    ]


def _rows_of(program: Program, info: PredicateInfo, atoms: list[int]) -> list[tuple[int, dict[str, int]]]:
    """Return the rows of some atoms in the atom table of a predicate."""
    assert info.atoms is not None
    names = dict.fromkeys(["example", *argument_columns(info)])
    with program.rows_table(pa.table({"atom": pa.array(atoms, pa.int64())})) as source:
        query = exp.select(column("atom", "a"), *(column(name, "a") for name in names)).from_(table(info.atoms, "a"))
        query = query.join(table(source, "w"), on=exp.EQ(this=column("atom", "w"), expression=column("atom", "a")))
        rows = program.engine.fetch(query.order_by(column("atom", "a")), step="read helper atoms").to_pylist()
    return [(row.pop("atom"), row) for row in rows]


def _soft_evidence(network: Network, world: BoolArray, atom: int, name: str) -> list[_Row]:
    prior = float(network.prior[atom])
    if prior == 0:
        return []
    contribution = prior if world[atom] else -prior
    return [_Row(_side(contribution), "soft evidence", name, prior, 1, contribution)]


def _of_block(program: Program, network: Network, world: BoolArray, atom: int, predicate: str) -> list[_Row]:
    """Return what the block of an atom says: whether the atom alone could have the other value."""
    found = []
    if any(clause < 0 and abs(literal) - 1 == atom for clause, literal in network.hard_units.tolist()):
        text = "another atom of its block is given as true"
        found.append(_Row(FOR, f"a block of {predicate}", text, None, 1, math.inf))
    block = int(network.block[atom])
    if block < 0:
        return found
    members = np.flatnonzero(network.block == block)
    others = members[world[members] & (members != atom)]
    exact = bool(network.block_exact[block])
    holds, after = (
        n == 1 or (n == 0 and not exact) for n in (len(others) + world[atom], len(others) + (not world[atom]))
    )
    text = f"{'exactly' if exact else 'at most'} one of {len(members):,} atom{'s' * (len(members) != 1)} is true"
    if len(others):
        (true,) = atom_texts(program, network.atoms[others[:1]]).values()
        text += f": {true}"
    contribution = math.inf if holds and not after else 0.0
    found.append(_Row(_side(contribution), f"a block of {predicate}", text, None, 1, contribution))
    return found


def keep_reasons(records: Records, run: int, key: AtomKey, reasons: Reasons) -> None:
    """Keep why an atom is predicted as it is, in place of what an earlier call kept of it: rows of `explained` and `reason`."""
    head = {
        "atom": pa.array([key.atom], pa.int64()),
        "example": pa.array([key.columns["example"]], pa.int32()),
        "name": pa.array([reasons.atom], pa.string()),
        "truth": pa.array([reasons.truth], pa.bool_()),
        "margin": pa.array([reasons.margin], pa.float64()),
        "gap": pa.array([reasons.gap], pa.float64()),
    }
    rows = reasons.table.to_arrow()
    times = rows.column("times").cast(pa.decimal128(38))
    rows = rows.set_column(rows.column_names.index("times"), "times", times)
    rows = rows.append_column("atom", pa.array([key.atom] * len(rows), pa.int64()))
    records.replace("explained", run, pa.table(head), key="atom", value=key.atom)
    records.replace("reason", run, rows, key="atom", value=key.atom)


# ---- hinges that push a truth value --------------------------------------------------------------


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
class Pushes(AtomReasons):
    """The hinges that an atom is in, and how each pushes its truth value."""

    atom: str  # with its constants
    value: float  # its predicted truth value
    # The strongest first; `side` is up, down, neutral (satisfied) or hard, `hinge` must not be above 0, `times` are ground rules with this hinge,
    # `slack` is its distance from being violated, `push` how much the cost falls for each unit that the atom rises (NULL if hard).
    table: Table

    @property
    def head(self) -> dict[str, object]:
        """What is said of the atom as a whole, by the names of columns."""
        return {"atom": self.atom, "value": self.value}


def pushes(prediction: InferredValues, key: AtomKey) -> Pushes:
    """Find the hinges of an atom; `InferenceResult.why` explains it."""
    atoms, network, y = prediction.network_atoms, prediction.network, prediction.atom_values
    with prediction.held() as soft:
        if network is None:
            # Examples are independent: its own says all that there is to say.
            with Extent(soft.program).restricted_to(np.array([key.columns["example"]])) as one:
                network = ground_hinges(soft, one)
            y = y[np.searchsorted(atoms.ids, network.atoms)]
        return _of_atom(soft, network, y, int(np.searchsorted(network.atoms, key.atom)))


def _of_atom(soft: SoftProgram, network: HingeNetwork, y: FloatArray, place: int) -> Pushes:
    mine = np.flatnonzero(network.columns == place)
    rows = np.searchsorted(network.pointer, mine, side="right") - 1
    value, distance = network.expressions(y), network.distances(y)
    ends = [(int(network.pointer[r]), int(network.pointer[r + 1])) for r in rows.tolist()]
    places = np.unique(np.concatenate([[place], *(network.columns[a:b] for a, b in ends)])).astype(np.int64)
    names = atom_texts(soft.program, network.atoms[places])
    found = []
    for j, row in zip(mine.tolist(), rows.tolist(), strict=True):
        rule = soft.model.rules[network.rule[row]]
        slope = float(network.coefficients[j])
        e, both = float(value[row]), bool(network.equal[network.rule[row]])
        steep = (2 * abs(e) if rule.squared else 1.0) * (np.sign(e) if both else float(e > 0))
        push = None if rule.hard else -(rule.weight or 0.0) * int(network.multiplicity[row]) * steep * slope + 0.0
        found.append(
            {
                "side": "hard" if push is None else "up" if push > 0 else "down" if push < 0 else "neutral",
                # Its weight has a column of its own.
                "rule": str(rule) if rule.hard else str(rule).partition(": ")[2],
                "hinge": hinge_text(network, row, names),
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
    return Pushes(text, float(y[place]), Table(pa.Table.from_pylist(found, PUSHES), title=f"{text} is {y[place]:.4g}"))


def hinge_text(network: HingeNetwork, row: int, names: Mapping[int, str]) -> str:
    """Return the linear expression of a ground rule, with its atoms by their names."""
    here = slice(int(network.pointer[row]), int(network.pointer[row + 1]))
    terms = [
        (float(c), names[int(network.atoms[i])])
        for c, i in zip(network.coefficients[here], network.columns[here], strict=True)
    ]
    return expression_text(terms, float(network.constants[row]))


def expression_text(terms: list[tuple[float, str]], constant: float) -> str:
    """Return a linear expression as text, the terms with positive coefficients first."""
    parts = sorted(terms, key=lambda pair: pair[0] < 0)
    shown = [(c < 0, name if abs(c) == 1.0 else f"{format_number(abs(c))} * {name}") for c, name in parts]
    if constant or not shown:
        shown.append((constant < 0, format_number(round(abs(constant), 12))))
    text = " ".join(f"{'-' if negative else '+'} {part}" for negative, part in shown)
    return text[2:] if text.startswith("+") else f"-{text[2:]}"
