"""What learners ask of labels: that every atom has one, and which examples' labels break hard clauses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sqlrl import markup
from sqlrl.distinct import distinct
from sqlrl.errors import InputError, Parameter
from sqlrl.ground.network import BoolArray, FloatArray, IntArray, Network
from sqlrl.solve.counts import violated_rows
from sqlrl.wording import counted

BLOCKS = -1
"""In `InfeasibleTruth` BLOCKS - i in place of a clause stands for the block of the atom with id i, which the labels break."""

SHOWN = 10


@dataclass(frozen=True)
class Names:
    """Words for messages: the text of a clause, the name of an example and the text of a query atom, from their ids."""

    clause: Callable[[int], str] = "clause {}".format
    example: Callable[[int], str] = str
    atom: Callable[[int], str] = "atom {}".format


def hamming_loss(network: Network, truth: BoolArray) -> FloatArray:
    """What the number of wrong atoms grows by when each atom becomes true, shape (n,), where `truth` is right; 0 for helper atoms."""
    return np.where(network.helper, 0.0, np.where(truth, -1.0, 1.0))


def check_labelled(network: Network, labelled: BoolArray, examples: IntArray, names: Names) -> None:
    """Refuse atoms of `examples` without a label; helper atoms need none."""
    missing = np.flatnonzero(~labelled & ~network.helper & np.isin(network.example, examples))
    if len(missing) == 0:
        return
    example = network.example[missing]
    where, count = np.unique(example, return_counts=True)
    first = int(np.flatnonzero(where == example[0])[0])
    raise InputError(
        f"learning with unlabelled atoms (EM) is not supported: {counted(len(missing), 'atom')} of {counted(len(where), 'example')} without "
        f"a label, among them {count[first]} of example {names.example(int(where[first]))}; label them, take them out of "
        f"the scope, or leave these examples out with {Parameter('examples')}"
    )


@dataclass(frozen=True, eq=False)
class InfeasibleTruth:
    """Hard clauses that labels break, one entry for each pair of clause and example, ascending."""

    clause: IntArray  # ids of clauses; for blocks see `BLOCKS`
    example: IntArray
    # Groundings that the labels violate; of a formula with quantifiers inside ground clauses of its normal form, which
    # may be more; of a block its true atoms.
    count: IntArray
    _repr_html_ = markup.field_table

    def joined(self, other: InfeasibleTruth) -> InfeasibleTruth:
        """Both together; a pair that is in both is kept once."""
        clause = np.concatenate([self.clause, other.clause])
        example = np.concatenate([self.example, other.example])
        first = distinct([clause, example]).first
        return InfeasibleTruth(clause[first], example[first], np.concatenate([self.count, other.count])[first])

    def of(self, examples: IntArray) -> InfeasibleTruth:
        """Those of some examples."""
        mine = np.isin(self.example, examples)
        return InfeasibleTruth(self.clause[mine], self.example[mine], self.count[mine])

    def describe(self, names: Names) -> str:
        """The clauses with their counts, one a line, those of most examples first; blocks are one line."""
        clauses, inverse = np.unique(np.maximum(self.clause, BLOCKS), return_inverse=True)
        pairs = distinct([inverse, self.example]).first
        examples = np.bincount(inverse[pairs], minlength=len(clauses))
        order = np.lexsort((clauses, -examples))
        lines = [f"  {self._line(int(clauses[i]), int(examples[i]), inverse == i, names)}" for i in order[:SHOWN]]
        if len(order) > SHOWN:
            lines.append(f"  and {counted(len(order) - SHOWN, 'more clause')}")
        return "\n".join(lines)

    def _line(self, clause: int, examples: int, mine: BoolArray, names: Names) -> str:
        """A clause, or all blocks, with counts."""
        where = counted(examples, "example")
        if clause > BLOCKS:
            return f"{names.clause(clause)}: {where}, {counted(int(self.count[mine].sum()), 'grounding')}"
        broken = np.flatnonzero(mine)
        first = broken[np.lexsort((-self.clause[broken], self.example[broken]))[0]]
        atom, example = names.atom(int(BLOCKS - self.clause[first])), names.example(int(self.example[first]))
        true = counted(int(self.count[first]), "true atom")
        return f"number of true atoms in a block: {where}, {counted(len(broken), 'block')}, the first that of {atom} in {example} with {true}"

    def warning(self, names: Names, *, skipped: bool) -> str:
        """The text of the warning that ends a learner's run."""
        effect = "were not learned from" if skipped else "were learned from all the same, weighted clauses only"
        number = len(np.unique(self.example))
        return (
            f"the labels of {counted(number, 'example')} violate hard clauses; they {effect}:\n{self.describe(names)}"
        )

    def error(self, names: Names) -> InputError:
        """The error for `on_infeasible_truth="error"`."""
        example = names.example(int(self.example.min()))
        return InputError(
            f"the labels of {counted(len(np.unique(self.example)), 'example')}, among them {example}, violate hard clauses; correct "
            f"the labels, or use {Parameter('on_infeasible_truth', 'warn')} or 'skip':\n{self.describe(names)}"
        )


def no_infeasible_truth() -> InfeasibleTruth:
    """No hard clause is broken."""
    none = np.empty(0, dtype=np.int64)
    return InfeasibleTruth(none, none, none)


def infeasible_truth(network: Network, truth: BoolArray) -> InfeasibleTruth:
    """Return the hard clauses and the blocks that labels, shape (n,), break."""
    # Tied tables have no hard clauses.
    left = network.rows.rest
    rows = np.flatnonzero(network.hard[left.clause] & violated_rows(left, truth))
    first = np.abs(left.literals[left.indptr[:-1]]) - 1  # a row belongs to the example of its first atom
    clause, literal = network.hard_units[:, 0], network.hard_units[:, 1]
    atom = np.abs(literal) - 1
    wrong = truth[atom] != (literal > 0)
    units = np.flatnonzero(wrong & (clause >= 0))
    beside = atom[wrong & (clause < 0)]  # a given atom of the same block is true
    blocks, true = _broken_blocks(network, truth)
    clauses = np.concatenate([network.clauses[left.clause[rows]], network.clauses[clause[units]]])
    examples = np.concatenate([network.example[first[rows]], network.example[atom[units]]])
    pairs = distinct([clauses, examples])
    rows = pairs.rows.astype(np.int64)
    found = InfeasibleTruth(rows[:, 0], rows[:, 1], pairs.counts)
    for members, number in ((blocks, true), (beside, np.full(len(beside), 2))):
        ids = BLOCKS - network.atoms[members].astype(np.int64)
        found = found.joined(InfeasibleTruth(ids, network.example[members], number.astype(np.int64)))
    return found


def _broken_blocks(network: Network, truth: BoolArray) -> tuple[IntArray, IntArray]:
    """Return for each block with the wrong number of true atoms its first true atom, or first one if none is, and that number."""
    members = np.flatnonzero(network.block >= 0)
    of, blocks = network.block[members], len(network.block_exact)
    true = np.bincount(of, weights=truth[members], minlength=blocks).astype(np.int64)
    broken = (true > 1) | ((true == 0) & network.block_exact)
    order = np.lexsort((members, ~truth[members], of))
    met, start = np.unique(of[order], return_index=True)
    chosen = broken[met]
    return members[order[start[chosen]]], true[met[chosen]]
