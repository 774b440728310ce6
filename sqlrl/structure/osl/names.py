"""The ids by which a run keeps constants and query atoms of its windows: those of the data, or, where each window has ids of its own, places among names."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from sqlrl.ground.network import IntArray
from sqlrl.structure.osl.patterns import Constants


class StandingNumbers:
    """The ids of a window whose data stay as long as the run: they are kept as they are."""

    def to_run_ids(self, types: Sequence[str], rows: Constants) -> Constants:
        """Return the ids by which a run keeps the constants of a window, shape (n, k), `types` being those of the columns."""
        return rows

    def to_window_ids(self, types: Sequence[str], rows: Constants) -> Constants:
        """Return the ids that kept constants have in the window; others than all of its own for those that it lacks."""
        return rows

    def atoms(self, atoms: IntArray) -> IntArray:
        """Return the ids by which a run keeps query atoms of a window."""
        return atoms


class KeptNames:
    """The constants and query atoms of windows that are gone which a run still needs, by the places of their names."""

    def __init__(self) -> None:
        self._constants: dict[str, dict[str, int]] = {}
        self._atoms: dict[str, int] = {}

    def constant(self, kind: str, name: str) -> int:
        """Return the id of a constant, the next one if it is new."""
        known = self._constants.setdefault(kind, {})
        return known.setdefault(name, len(known))

    def constants(self, kind: str) -> list[str]:
        """Return the names of a type's constants, by id."""
        return list(self._constants.get(kind, {}))

    def atom(self, text: str) -> int:
        """Return the id of a query atom, the next one if it is new."""
        return self._atoms.setdefault(text, len(self._atoms))

    def texts(self) -> dict[int, str]:
        """Return the texts of the query atoms, by id."""
        return dict(enumerate(self._atoms))

    def state(self) -> dict[str, Any]:
        """Return the names as JSON has them."""
        return {"constants": {kind: list(known) for kind, known in self._constants.items()}, "atoms": list(self._atoms)}

    def go_on(self, state: Mapping[str, Any]) -> None:
        """Know what was saved."""
        self._constants = {
            kind: {name: i for i, name in enumerate(names)} for kind, names in state["constants"].items()
        }
        self._atoms = {text: i for i, text in enumerate(state["atoms"])}


class WindowNumbers(StandingNumbers):
    """The ids of a window that has ids of its own, which are gone with it."""

    def __init__(
        self,
        names: KeptNames,
        constants: Callable[[str], list[str]],  # the names of a type's constants in the window, by id
        text: Callable[[int], str],  # the text of a query atom of the window
    ) -> None:
        self._names, self._read, self._text = names, constants, text
        self._constants: dict[str, list[str]] = {}

    def to_run_ids(self, types: Sequence[str], rows: Constants) -> Constants:
        """Return the ids by which a run keeps the constants of the window."""
        found = np.empty_like(rows)
        for j, kind in enumerate(types):
            ids, place = np.unique(rows[:, j], return_inverse=True)
            names = self._of(kind)
            numbers = [self._names.constant(kind, names[i]) for i in ids.tolist()]
            found[:, j] = np.array(numbers, dtype=rows.dtype)[place]
        return found

    def to_window_ids(self, types: Sequence[str], rows: Constants) -> Constants:
        """Return the ids that kept constants have in the window, for those that it lacks such as come after all of its own."""
        found = np.empty_like(rows)
        for j, kind in enumerate(types):
            place = {name: i for i, name in enumerate(self._of(kind))}
            numbers = [place.get(name, len(place) + i) for i, name in enumerate(self._names.constants(kind))]
            found[:, j] = np.array(numbers, dtype=rows.dtype)[rows[:, j]]
        return found

    def atoms(self, atoms: IntArray) -> IntArray:
        """Return the ids by which a run keeps query atoms of the window."""
        return np.array([self._names.atom(self._text(atom)) for atom in atoms.tolist()], dtype=np.int64)

    def _of(self, kind: str) -> list[str]:
        if kind not in self._constants:
            self._constants[kind] = self._read(kind)
        return self._constants[kind]
