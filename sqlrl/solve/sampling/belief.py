"""Marginal probabilities, with what is known about their errors: a result that prints no digit it cannot support."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from sqlrl import markup
from sqlrl.errors import Message, Parameter
from sqlrl.ground.network import BoolArray, FloatArray, IntArray
from sqlrl.solve.result import SHOWN, MethodChoice, merged
from sqlrl.solve.sampling.chains import Effort
from sqlrl.solve.sampling.diagnostics import AGREED
from sqlrl.wording import counted

EXACT = ("fixed", "logistic", "elimination", "enumeration")
"""Methods without Monte Carlo error: one value left by hard clauses, closed form, sum-product elimination, all worlds."""

METHODS = (*EXACT, "gibbs", "mcsat")

FEW = 100
"""An effective sample size below this says too little about the error (Vehtari et al. 2021, section 4: 400 for 4 chains)."""

DECIMALS = 6
"""Decimals of an exact probability when it is printed."""


@dataclass(frozen=True, eq=False)
class MarginalResult:
    """The probability of each atom and how well it is known; all arrays have shape (n,)."""

    probability: FloatArray
    # Monte Carlo standard error; 0 where the probability is exact up to rounding, infinite where there were too few samples to tell.
    error: FloatArray
    rhat: FloatArray  # split R-hat: above 1.01 chains disagree; 1 where exact, NaN where `error` is infinite
    ess: FloatArray  # effective sample size; infinite where exact
    code: npt.NDArray[np.int8]  # the method of each atom, an index into `METHODS`
    choices: tuple[MethodChoice, ...]
    effort: Effort  # how much was sampled, where anything was
    seconds: float
    _repr_html_ = markup.field_table

    @property
    def exact(self) -> BoolArray:
        """Atoms whose probability has no Monte Carlo error."""
        return self.code < len(EXACT)

    @property
    def decimals(self) -> IntArray:
        """How many decimals of each probability are printed, as many as its error supports; -1 for none at all."""
        with np.errstate(divide="ignore"):
            # The unit of the last one is at most two standard errors, so that rounding changes a probability by no more than one.
            supported = np.ceil(np.round(-np.log10(2.0 * self.error), 9))
        return np.asarray(np.where(self.error > 0.5, -1, np.clip(supported, 0, DECIMALS)), dtype=np.int64)

    @property
    def rounded(self) -> FloatArray:
        """The probabilities with the digits that their errors support; NaN where that is none."""
        decimals = self.decimals
        scale = 10.0 ** np.maximum(decimals, 0)
        return np.asarray(np.where(decimals < 0, np.nan, np.rint(self.probability * scale) / scale), dtype=np.float64)

    def text(self, k: int) -> str:
        """The probability of local atom k in digits, as many as its error supports; "?" if none."""
        decimals = int(self.decimals[k])
        return f"{self.probability[k]:.{decimals}f}" if decimals >= 0 else "?"

    @property
    def warnings(self) -> tuple[str, ...]:
        """Where the estimates cannot be trusted, in words; empty if they can."""
        sampled = ~self.exact
        found = []
        blind = sampled & ~np.isfinite(self.error)
        if blind.any():
            found.append(
                f"{_atoms(int(blind.sum()))}: {self.effort.samples} sample(s) of each chain are too few to tell the "
                f"error: draw more ({Parameter('samples')})"
            )
        apart = sampled & ~blind & (self.rhat > AGREED)
        if apart.any():
            found.append(
                f"{_atoms(int(apart.sum()))}: chains disagree, R-hat is up to {self.rhat[apart].max():.4g} (above {AGREED}): "
                f"run them longer ({Parameter('burn_in')}, {Parameter('samples')})"
            )
        if sampled.any() and self.effort.stopped:
            found.append(
                f"the time limit left {counted(self.effort.chains, 'chain')} of {counted(self.effort.samples, 'sample')}: give it more "
                f"time ({Parameter('time_limit')}), and errors shrink"
            )
        few = sampled & ~blind & (self.ess < FEW)
        if few.any():
            found.append(
                f"{_atoms(int(few.sum()))}: the effective sample size is down to {self.ess[few].min():.0f} (below {FEW}), "
                f"so that errors are guesses: draw more ({Parameter('samples')})"
            )
        return tuple(map(Message, found))

    def __str__(self) -> str:
        """Methods, errors and warnings as a few aligned lines."""
        sampled = ~self.exact
        lines = [("atoms", f"{len(self.code):,}"), ("exact", f"{int(self.exact.sum()):,}")]
        if sampled.any():
            effort = self.effort
            lines += [
                ("samples", f"{effort.samples:,} of {effort.chains} chain(s) each, after {effort.burn_in:,}"),
                ("error", f"at most {self.error[sampled].max():.1g}"),
                ("R-hat", f"at most {self.rhat[sampled].max():.3f}"),
                ("ESS", f"at least {self.ess[sampled].min():,.0f}"),
            ]
        for choice in self.choices[:SHOWN]:
            where = f"{_atoms(choice.atoms)} in {choice.components} component{'s' if choice.components != 1 else ''}"
            where = where if choice.components else _atoms(choice.atoms)
            lines.append((choice.method, f"{where}: {choice.reason} ({choice.seconds:.3f} s)"))
        lines.append(("seconds", f"{self.seconds:.3f}"))
        lines += [("warning", text) for text in self.warnings]
        return "\n".join(f"{name:<12}{value}" for name, value in lines)

    def __repr__(self) -> str:
        """Size, methods and the largest error in one line."""
        sampled = ~self.exact
        error = f"error at most {self.error[sampled].max():.1g}" if sampled.any() else "exact"
        doubt = f", {len(self.warnings)} warning{'s' if len(self.warnings) != 1 else ''}" if self.warnings else ""
        return f"MarginalResult({_atoms(len(self.code))}, {error}{doubt})"


def joined(results: Sequence[MarginalResult], order: IntArray) -> MarginalResult:
    """Return the result of several networks that share no atom as that of one; `order` has the place of each atom in their concatenation."""
    names = ("probability", "error", "rhat", "ess", "code")
    arrays: dict[str, Any] = {name: np.concatenate([getattr(each, name) for each in results])[order] for name in names}
    choices = merged([choice for each in results for choice in each.choices])
    # The least effort is that of the whole.
    effort = min((each.effort for each in results), key=lambda effort: (effort.samples, not effort.stopped))
    return replace(results[0], **arrays, choices=choices, effort=effort, seconds=sum(each.seconds for each in results))


def _atoms(count: int) -> str:
    return f"{count:,} atom{'s' if count != 1 else ''}"
