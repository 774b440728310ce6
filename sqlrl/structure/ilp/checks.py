"""What the bottom-clause learner refuses, and what it says where it finds nothing."""

from __future__ import annotations

from collections.abc import Collection

from sqlrl.errors import InputError, UnsupportedError
from sqlrl.ground.network import BoolArray
from sqlrl.logic.bias import Bias
from sqlrl.structure.ilp.commands import Induction
from sqlrl.structure.ilp.settings import ILPParameters
from sqlrl.wording import counted


def check_bodies(bias: Bias) -> None:
    """Refuse recursive clauses.

    Raises
    ------
    UnsupportedError
        A mode for bodies is of the target.
    """
    mode = next((mode for mode in bias.body if mode.predicate == bias.head.predicate), None)
    if mode is not None:
        where = f"{bias.path}:{mode.line}: " if mode.line else ""
        raise UnsupportedError(
            f"{where}the mode {mode} would put the target {mode.predicate} into bodies. ILP learns no recursive clauses: what they "
            "cover depends on atoms that are to be predicted, so that clauses could not be scored one by one. Leave the mode out. For "
            "recursive clauses with weights use OSL; or add one, such as transitivity, to the model that ILP learns, and learn the "
            "weights with MaxMargin, PSCG or an online learner such as CDA"
        )


def check_labels(truth: BoolArray, target: str) -> None:
    """Refuse a target whose atoms are all alike.

    Raises
    ------
    InputError
    """
    if not len(truth):
        raise InputError(
            f"{target} has no labelled query atoms to learn from: check examples=, its facts and its scope"
        )
    if truth.all():
        raise InputError(
            f"{target} has {counted(len(truth), 'positive atom')} and no negative one, so no clause is better than another: give "
            f"the tuples that are false as well, with db.scope({target!r}, ...), or leave the scope out for all tuples, or check examples="
        )
    if not truth.any():
        raise InputError(
            f"{target} has {counted(len(truth), 'negative atom')} and no positive one, so there is nothing to learn from: load "
            "true atoms of it with target=True, or check examples="
        )


def nothing_found(induction: Induction, parameters: ILPParameters) -> str:
    """Say what stopped clauses where none is acceptable."""
    if not induction.facts:
        return (
            f"no clause is acceptable: from {counted(induction.seeds, 'seed')} the modes reach no fact at all. Check that the facts of "
            f"{', '.join(induction.predicates)} name constants of the target's positive atoms"
        )
    if not induction.missed.total():
        bar = (
            ", or take clauses below the score of a seed's own fact, too (above_seed=False)"
            if parameters.above_seed
            else ""
        )
        return f"no clause is acceptable: only {counted(induction.nodes, 'clause')} could be made; check the modes and depth{bar}"
    name, most = induction.missed.most_common(1)[0]
    others = [f"{x}={getattr(parameters, x)} {n:,}" for x, n in induction.missed.most_common()[1:] if n]
    rest = f"; {', '.join(others)}" if others else ""
    said = (
        f"no clause is acceptable: of {counted(induction.nodes, 'clause')} that were scored, {name}={getattr(parameters, name)} "
        f"stopped most ({most:,}{rest})"
    )
    if induction.cut:
        return (
            f"{said}. The search of {counted(induction.cut, 'seed')} of {induction.seeds:,} met as many clauses as "
            f"nodes={parameters.nodes:,} allows: raise nodes, or change {name}"
        )
    return f"{said}. Change that, or let clauses be longer (clause_length) or reach further (depth)"


def seeds_passed_over(induction: Induction) -> str:
    """Say that some positive atoms were no seeds, and what is to be changed."""
    first = str(next(iter(induction.passed_over.values())))
    return (
        f"{counted(len(induction.passed_over), 'positive atom')} of {len(induction.passed_over) + induction.seeds:,} that were to be seeds "
        f"were passed over; of the first one {first[:1].lower()}{first[1:]}"
    )


def not_met(bias: Bias, unmet: Collection[str]) -> str:
    """Say which predicates no clause could have, though their types can be reached, because no fact of them met a seed."""
    modes = "".join(f"\n  {mode}" for mode in bias.body if mode.predicate in unmet)
    return (
        f"{bias.path}: no fact of {', '.join(sorted(unmet))} was met from any seed, so no clause has "
        f"{'it' if len(unmet) == 1 else 'them'}. Either these facts are about negative atoms only, or they name other constants than the "
        f"predicates that bring the inputs (+); compare them to the letter and its case:{modes}"
    )


def stopped(run: int, induction: Induction) -> str:
    """Say what is kept of a run that Ctrl-C or an error stopped, and how to see it."""
    if not induction.candidates:
        return f"run {run} had found no clause yet, after {counted(induction.seeds, 'seed')}"
    found = f"{counted(len(induction.candidates), 'clause')}, {len(induction.theory):,} in the theory"
    return (
        f"run {run} is kept with what {counted(induction.seeds, 'seed')} brought: {found}. `from sqlrl.found_clauses` shows them in SQL, "
        f"db.model() is their model. It cannot be resumed: learn again, or use what it found"
    )
