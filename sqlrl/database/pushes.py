"""Why an atom of a soft model has its truth value: the hinges that it is in, and how each pushes it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from sqlrl.database.inferred import AtomReasons, InferredValues
from sqlrl.ground.clauses import atom_texts
from sqlrl.ground.hinge_network import HingeNetwork
from sqlrl.ground.hinges import ground_hinges
from sqlrl.ground.network import FloatArray
from sqlrl.ground.program import Extent
from sqlrl.ground.soft_program import SoftProgram
from sqlrl.logic.psl_literals import format_number
from sqlrl.plan.named_clauses import AtomKey
from sqlrl.report import Table

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
