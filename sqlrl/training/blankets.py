"""What learners of pseudo-likelihood are given of a database: all atoms of the training examples, sorted by what their clauses say, and a run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from sqlglot import exp

from sqlrl.catalog.checks import warn_empty
from sqlrl.catalog.layout import Layout, TableName
from sqlrl.engine.nodes import column, named, star_count, table
from sqlrl.errors import InfeasibleTruthWarning, InputError, Parameter, UnsupportedError, warn
from sqlrl.ground.atom_kinds import AtomKinds, Folded
from sqlrl.ground.blankets import (
    AtomReader,
    PartTable,
    ShapeClauses,
    clause_terms,
    prior_terms,
    shape_clauses,
)
from sqlrl.ground.counts import check_counts, groundings, rule_place, true_counts, violated
from sqlrl.ground.memory import refusal
from sqlrl.ground.network import BoolArray, FloatArray, IntArray
from sqlrl.ground.partitions import Partition
from sqlrl.ground.program import Extent, Program
from sqlrl.ground.windows import adds_up
from sqlrl.logic.model import Model
from sqlrl.logic.printer import placed
from sqlrl.logic.shapes import in_given_order
from sqlrl.logic.subformulas import atoms_of
from sqlrl.plan.blankets import BEYOND, is_countable
from sqlrl.plan.slots import BoundShape, bind
from sqlrl.plan.sources import OBSERVED, example_columns
from sqlrl.progress import Stage, staged
from sqlrl.training.provenance import TABLE, keep_learned_from
from sqlrl.training.runs import Run
from sqlrl.training.session import Query, Session
from sqlrl.training.statistics import statistics_table
from sqlrl.training.stream import ExampleStream
from sqlrl.wording import counted

REMEDY = "write the rule as clauses, or learn its weight with another learner"

KIND_BYTES = 100
"""What a count of a kind of atoms takes at the worst moment of learning: 90 measured of three million kinds and four clauses."""

WINDOW_ROWS = 2**23
"""So many facts and atoms are counted at a time where examples are independent: SQL and arrays take about a GB for them."""


class BlanketTraining(ExampleStream):
    """The atoms of the training examples by what the clauses say."""

    def __init__(
        self,
        program: Program,
        session: Session,
        examples: IntArray,
        atoms: GroupedAtoms,
        violated: pa.Table,
        run: Run | None = None,  # one that has begun
    ) -> None:
        super().__init__(program, session, [examples], size=None, limit=None, run=run)
        self.by_iterations()
        self.partitions, self.statements, self.priors = atoms.partitions, atoms.statements, atoms.priors
        self._blocks, self.violated = atoms.blocks, violated
        self._further: Mapping[str, pa.Table] = {}

    def keep_examples(self) -> None:
        """Keep which examples the run learns from, in place of what it had."""
        self._records.clear(TABLE, self.run.begun())
        keep_learned_from(self._records, self._program, self.examples, self.run.begun())

    def keep(self, rows: Mapping[str, pa.Table]) -> None:
        """Keep further rows of tables with the run, when `model` does."""
        self._further = rows

    def _rows(self) -> Mapping[str, pa.Table]:
        return self._further

    @property
    def sign(self) -> IntArray:
        """1 for each clause whose n counts true groundings, -1 for one that counts violated ones, shape (m,)."""
        found: IntArray = self._with_others(self._program.signs(), 1, 0)
        return found

    @property
    def hard(self) -> BoolArray:
        """Which clauses are hard, shape (m,)."""
        found: BoolArray = self._with_others(self._program.hard(), True, False)
        return found

    @property
    def fixed(self) -> FloatArray:
        """The weights that the model fixes, NaN for clauses that have none, shape (m,)."""
        known = np.where(self._program.fixed(), self._program.weights(), np.nan)
        found: FloatArray = self._with_others(known, np.nan, 0.0)
        return found

    def chosen_weights(self, learned: FloatArray) -> FloatArray:
        """Return the weights of the clauses that have an id, those that the model fixes in their places."""
        weights: FloatArray = np.where(np.isnan(self.fixed), learned, self.fixed)[: self.clause_count]
        return weights

    @property
    def clause_count(self) -> int:
        """The number of clauses that have an id."""
        return self._program.clause_count

    def _with_others(self, known: Any, block: object, evidence: object) -> Any:
        """Return what is known of clauses with an id, then that of those that blocks state, and of soft evidence if there is some."""
        others = [block] * self._blocks + [evidence] * (len(self.priors) > 0)
        return np.concatenate([known, np.array(others, dtype=known.dtype)])

    def _statistics(self, support: pa.Table, shown: IntArray) -> pa.Table:
        """Count the clauses, and warn of those that say nothing of any atom."""
        opened = np.zeros(self._program.clause_count, dtype=object)
        opened[support.column("clause").to_numpy()] = support.column("support").to_pylist()
        self._warn_of_idle(opened, closed=True)
        # What the evidence decides is not counted: here all atoms are open.
        total, true = (np.zeros(self._program.clause_count, dtype=object) for _ in range(2))
        layout = self._program.layout
        windows = example_windows(layout, self.examples, apart=adds_up(self._program))
        for examples in staged("counting ground clauses", windows):
            with self._extent.restricted_to(examples) as extent:
                total, true = total + groundings(extent), true + true_counts(extent)
        return statistics_table(shown, {"groundings": total, "n_observed": true})


@dataclass(frozen=True, eq=False)
class GroupedAtoms:
    """The atoms of each predicate, grouped by what all clauses say of them."""

    partitions: Mapping[str, AtomKinds]  # by predicate; with soft evidence the last column has places in `priors`
    blocks: int  # how many clauses are stated by blocks
    priors: FloatArray  # log-odds of soft evidence; empty if there is none
    statements: int  # how many SQL statements counted


@contextmanager
def blanket_training(
    session: Session,
    model: Model,
    *,
    examples: Any = None,
    limit: int | None,
    open_only: bool = False,
    run: Run | None = None,  # one that has begun
) -> Iterator[BlanketTraining]:
    """Sort the atoms of all predicates of a model, or of the open ones, while the context is open; a run that an error ends is kept so."""
    Query(model, examples, limit=limit).check()
    if all(rule.hard or rule.fixed for rule in model.rules):
        raise InputError("the model has no rules with a weight to learn: write some (weights after '@' are fixed)")
    session.catalog.store.check_writable()
    with (
        session.verb(),
        session.console.progress("learning"),
        session.program(model, training=True, all_closed=True) as program,
    ):
        ids = np.sort(session.example_ids(examples))
        with program.examples_table(ids) as chosen:
            # Where all predicates are learned from, none is evidence that could decide a clause.
            program.expand(chosen, observed=not open_only)
            extent = Extent(program, chosen, limit, len(ids))
            check_counts(extent, [OBSERVED])
            warn_empty(program.engine, program.public_layout, chosen)
            names = _predicates(program, open_only=open_only)
            check_labelled(program, names, chosen)
            atoms = _atoms(program, names, ids, chosen, open_only=open_only)
            training = BlanketTraining(program, session, ids, atoms, _violated_hard(extent), run)
            with training.run.ending(), training.drawing:
                yield training


def _predicates(program: Program, *, open_only: bool) -> list[str]:
    """Return the predicates whose atoms count: those of the rules, or of these the open ones."""
    mentioned = {atom.predicate for rule in program.model.rules for atom in atoms_of(rule.formula)}
    layout = program.public_layout.predicates
    found = [name for name, info in layout.items() if name in mentioned and (info.open or not open_only)]
    if not found:
        raise InputError(
            f"no predicate of the rules is open, so that no atom counts: load the labels of one with {Parameter('target', True)}, or learn from the atoms of all "
            "predicates (discriminative=False)"
        )
    return found


def check_labelled(program: Program, names: list[str], chosen: TableName) -> None:
    """Refuse query atoms without a label."""
    for name in names:
        info = program.layout.predicates[name]
        if info.atoms is None:
            continue
        same = exp.EQ(this=column("example", "x"), expression=column("example", "a"))
        query = exp.select(named(star_count(), "n")).from_(table(info.atoms, "a")).join(table(chosen, "x"), on=same)
        query = query.where(exp.Is(this=column("truth", "a"), expression=exp.null()))
        missing = int(
            program.engine.fetch(query, step=f"look for atoms of {name} without a label").column("n")[0].as_py()
        )
        if missing:
            raise InputError(
                f"learning with unlabelled atoms (EM) is not supported: {counted(missing, 'atom')} of {name} without a label; load labels of {name}, take "
                f"the atoms out of the scope, or leave their examples out with {Parameter('examples')}"
            )


def _atoms(program: Program, names: list[str], ids: IntArray, chosen: TableName, *, open_only: bool) -> GroupedAtoms:
    """Return the atoms of each predicate by what all clauses say, those that blocks state after the others."""
    _refuse_beyond(program, names, open_only=open_only)
    shapes = shape_clauses(program)
    blocks = _blocks(program)
    shapes += blocks
    width = program.clause_count + len(blocks)
    reader, predicates = AtomReader(program.engine, program.layout, chosen), program.layout.predicates
    soft = {name: reader.priors(predicates[name]) for name in names}
    odds = np.unique(np.concatenate([prior for _, prior in soft.values()]))
    found = {name: Folded() for name in names}
    statements = 0
    windows = example_windows(program.layout, ids, apart=_apart(program.layout, shapes, names))
    with Stage("counting what flips change", len(windows)) as stage:
        for examples in windows:
            part = len(examples) < len(ids)
            with program.examples_table(examples) if part else nullcontext(chosen) as here:
                parts = PartTable(program.engine, program.layout, here, keys_within=part)
                terms = clause_terms(shapes, names, parts, len(examples))
                for name, (atoms, prior) in soft.items():
                    own = np.isin(atoms[:, 0], examples) if part else np.ones(len(prior), dtype=np.bool_)
                    if own.any():
                        numbers = np.searchsorted(odds, prior[own]) + 1
                        terms.setdefault(name, []).append(prior_terms(predicates[name], atoms[own], numbers, width))
                reader = replace(reader, chosen=here)
                for name in names:
                    whole = Partition.of(reader.domain(predicates[name], examples))
                    kinds = AtomKinds.of(whole.refined(terms.get(name, []), width + (len(odds) > 0)))
                    found[name].add(kinds)
            statements += parts.statements
            stage.advance(1)
            if part:
                _check_kinds(program, found)
    priors = np.concatenate([[0.0], odds]) if len(odds) else odds
    return GroupedAtoms({name: each.kinds() for name, each in found.items()}, len(blocks), priors, statements)


def _check_kinds(program: Program, found: Mapping[str, Folded]) -> None:
    """Refuse kinds of atoms, so many that they do not fit into memory."""
    size = KIND_BYTES * sum(each.entries for each in found.values())
    if size > program.engine.memory.arrays:
        raise refusal(program, sum(program.layout.predicates[name].atom_count for name in found), size)
    program.engine.leave(size)


def example_windows(layout: Layout, ids: IntArray, *, apart: bool) -> list[IntArray]:
    """Return the examples, ascending, in windows of about as many facts and atoms as are counted at a time; all at once unless they are `apart`."""
    rows = sum(info.rows + info.atom_count for info in layout.predicates.values())
    size = max(WINDOW_ROWS * max(layout.example_count, 1) // max(rows, 1), 1)
    if size >= len(ids) or not apart:
        return [ids]
    return [ids[first : first + size] for first in range(0, len(ids), size)]


def _apart(layout: Layout, shapes: Sequence[ShapeClauses], names: Sequence[str]) -> bool:
    """Return whether each atom of the predicates has one example, and each clause names no other one, nor sums over examples."""
    about = all(len(example_columns(layout.predicates[name], layout)) == 1 for name in names)
    return about and all(_examples_of(each.bound) == 1 for each in shapes)


def _examples_of(bound: BoundShape) -> int:
    if bound.hidden is not None:
        return 1
    found = {slot for x in bound.every_literal for slot in bound.example_terms(x)}
    return len(found.union(slot for slot in bound.variables if bound.is_example(slot)))


def refuse_quantifiers(program: Program) -> None:
    """Refuse rules with quantifiers over several literals of a clause, by name."""
    for number, feature in enumerate(program.features):
        if any(instance.shape.exists for instance in feature.instances) or feature.rule is None:
            raise UnsupportedError(
                f"{rule_place(program, number)}: neither a search for clauses nor a diagnosis counts what an atom changes under EXIST: write the rule as clauses, without EXIST, or leave it out"
            )


def _refuse_beyond(program: Program, names: Sequence[str], *, open_only: bool) -> None:
    """Refuse rules with quantifiers of which it is not counted what atoms of the named predicates, the open ones if `open_only`, change."""
    layout, public = program.layout.predicates, program.public_layout.predicates
    for number, feature in enumerate(program.features):
        shapes = [bind(instance.shape, program.layout) for instance in feature.instances]
        # A helper atom is a function of others: of evidence alone it is a fact, unless evidence counts, too.
        helpers = {x.predicate for bound in shapes for x in bound.every_literal if x.predicate not in public}
        if any(not open_only or layout[name].open for name in helpers):
            raise UnsupportedError(
                f"{rule_place(program, number)}: pseudo-likelihood does not count what an atom changes under an EXIST of several targets, or one that is a "
                f"part of a formula that is no clause: {REMEDY}"
            )
        beyond = next((name for name in names if not all(is_countable(bound, name) for bound in shapes)), None)
        if beyond is not None:
            raise UnsupportedError(
                f"{rule_place(program, number)}: pseudo-likelihood does not count what an atom of {beyond} changes here: {BEYOND}; {REMEDY}"
            )


def refuse_exact(program: Program) -> None:
    """Refuse blocks of which exactly one atom is true, by name."""
    for block in program.blocks:
        if block.exact:
            raise UnsupportedError(
                f"{block.predicate} is declared with exactly one true atom in a block (!), of which none can change alone, so that pseudo-likelihood says "
                "nothing of it: leave the ! out, and write as a hard rule that there is at most one, or learn with sqlrl.Likelihood"
            )


def _blocks(program: Program) -> list[ShapeClauses]:
    """Return the hard clauses that blocks state: of two atoms of a block one is false."""
    refuse_exact(program)
    found, layout = [], program.layout
    for number, block in enumerate(program.blocks):
        clause = block.clause(layout.predicates[block.predicate].types)
        shape = in_given_order(clause, layout.type_of, layout.example_type).shape
        clauses = np.array([program.clause_count + number])
        found.append(ShapeClauses(bind(shape, layout), clauses, np.zeros((1, 0), np.int64)))
    return found


def _violated_hard(extent: Extent) -> pa.Table:
    """Return the hard clauses that the data violate, with a count for each, and warn of them."""
    program = extent.program
    hard = program.hard()
    broken = violated(extent) if hard.any() else np.zeros(len(hard), dtype=object)
    found = [
        (clause, int(broken[clause]), placed(rule))
        for clause in np.flatnonzero(hard).tolist()
        if broken[clause] and (rule := program.features[program.feature_of[clause]].rule) is not None
    ]
    if found:
        lines = [f"  {place}: {counted(number, 'grounding')}" for _, number, place in found]
        warn(
            "the data violate hard clauses; what they violate says nothing of atoms:\n" + "\n".join(lines),
            InfeasibleTruthWarning,
        )
    return pa.table(
        {
            "clause": pa.array([clause for clause, _, _ in found], pa.int64()),
            "groundings": pa.array([number for _, number, _ in found], pa.decimal128(38)),
        }
    )
