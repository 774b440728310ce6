"""Models as files for outside solvers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sqlrl.database.models import Models, check_limit_option, check_model, helper_limit
from sqlrl.database.verb import verb
from sqlrl.errors import InputError
from sqlrl.ground.assemble import ground_network
from sqlrl.ground.clauses import atom_texts
from sqlrl.ground.counts import GROUNDING_LIMIT
from sqlrl.ground.network import Network
from sqlrl.ground.program import Program
from sqlrl.logic.model import Model
from sqlrl.wording import counted

if TYPE_CHECKING:
    from sqlrl.solve.exchange.solutions import Format
    from sqlrl.solve.exchange.text import Names
    from sqlrl.solve.exchange.wcnf import Dialect


@dataclass(frozen=True)
class Exported:
    """A ground network that was written to a file.

    Parameters
    ----------
    path, map : Path
        The file, and the table beside it that lists what each variable is.
    atoms, clauses : int
        How many query atoms it has, and ground clauses of two or more literals (equal ones merged) or that are hard.

    Examples
    --------
    >>> Exported(Path("a.wcnf"), Path("a.wcnf.atoms.tsv"), 1, 2)
    a.wcnf: 1 atom, 2 ground clauses; a.wcnf.atoms.tsv lists the atoms
    """

    path: Path
    map: Path
    atoms: int
    clauses: int

    def __repr__(self) -> str:
        sizes = f"{counted(self.atoms, 'atom')}, {counted(self.clauses, 'ground clause')}"
        return f"{self.path}: {sizes}; {self.map} lists the atoms"


class Exports(Models):
    """`Models`, and their ground networks as files for outside solvers.

    Parameters
    ----------
    catalog : Catalog
    console : Console, optional
        As for `Data`.
    """

    @verb
    def export(
        self,
        model: Model,
        path: str | Path,
        *,
        format: Format | None = None,
        dialect: Dialect = "classic",
        examples: Any = None,
        limit: int | None = GROUNDING_LIMIT,
        drop: Iterable[str] = (),
        query: Iterable[str] = (),
    ) -> Exported:
        r"""Write the ground network of a model with its weights to a file that other solvers read. Labels are never read.

        A table beside it, with the ending `.atoms.tsv`, lists the atom of each variable; `read_solution` makes a
        prediction of what a solver answers.

        Parameters
        ----------
        model : Model
            With weights.
        path : str or Path
        format : {"wcnf", "lp", "uai"}, optional
            Weighted partial MaxSAT, an integer program in CPLEX LP format, or a Markov network; by default the ending of
            the path. WCNF rounds weights to integers, LP is exact, UAI rounds exp(weight); each file says how much is lost.
        dialect : {"classic", "2022"}
            Of WCNF: with a line `p wcnf`, or as in the MaxSAT Evaluations from 2022 on.
        examples : list of names, query, relation or frame, optional
        limit, drop, query
            As in `ground`.

        Returns
        -------
        Exported

        Raises
        ------
        InputError
            A rule has no weight; the path's ending names no format; the file cannot be written.
        NumericError
            The format cannot hold weights so far apart, or so large.

        Examples
        --------
        >>> import tempfile
        >>> import sqlrl
        >>> db = sqlrl.connect()
        >>> db.load("Friends", [("Anna", "Bob"), ("Bob", "Chris")])
        >>> text = "Friends(person, person)\nSmokes(person)\n1 Friends(x, y) ^ Smokes(x) => Smokes(y)"
        >>> model = sqlrl.parse_mln(text, query=["Smokes"])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     exported = db.export(model, Path(folder, "smokers.lp"))
        ...     print(exported.map.read_text())
        # the score of a world is 9.0 - objective
        variable    atom    predicate       constants
        a1  1       Smokes  Anna
        a2  2       Smokes  Bob
        a3  3       Smokes  Chris
        """
        from sqlrl.solve.exchange import wcnf
        from sqlrl.solve.exchange.lpfile import write_lp
        from sqlrl.solve.exchange.solutions import format_of
        from sqlrl.solve.exchange.text import map_path
        from sqlrl.solve.exchange.uai import write_uai
        from sqlrl.solve.weighed import weigh

        kind = format_of(path, format)
        if dialect not in ("classic", "2022"):
            raise InputError(f"unknown dialect {dialect!r}: choose 'classic' or '2022'")
        check_weights(model)
        check_limit_option(limit)
        working, most = self.console.progress("exporting"), helper_limit(limit, examples)
        with working, self.program(model, drop=drop, query=query, limit=most) as program:
            with self.only(examples) as chosen:
                program.expand(chosen)
                network = ground_network(program, chosen, limit=limit)
            names, weighed = names_of(program, network), weigh(network, program.weights())
            if kind == "wcnf":
                wcnf.write_wcnf(weighed, path, dialect=dialect, names=names)
            elif kind == "lp":
                write_lp(weighed, path, names=names)
            else:
                write_uai(weighed, path, names=names)
        return Exported(Path(path), map_path(path), len(weighed.atoms), len(weighed.cost))


def names_of(program: Program, network: Network) -> Names:
    """Return the ids and names of a network's atoms, for files.

    Parameters
    ----------
    program : Program
    network : Network

    Returns
    -------
    Names

    Examples
    --------
    >>> from sqlrl.ground.sample import FRIENDS, PEOPLE, sample_program
    >>> program = sample_program(PEOPLE, ["Smokes"], FRIENDS)
    >>> names_of(program, ground_network(program)).texts(np.array([2]))
    [('Smokes', 'Bob')]
    """
    from sqlrl.solve.exchange.text import Names

    def texts(ids: npt.NDArray[np.int64]) -> Sequence[tuple[str, str]]:
        """Return predicate and constants of each atom."""
        found = atom_texts(program, ids)
        parts = (found[i].partition("(") for i in ids.tolist())
        return [(predicate, constants.removesuffix(")")) for predicate, _, constants in parts]

    return Names(network.atoms, texts)


def check_weights(model: Model) -> None:
    """Refuse a model with a rule whose weight nobody gave or learned.

    Raises
    ------
    InputError
        With the rule and its line; also if it is no model.
    """
    check_model(model)
    for rule in model.rules:
        if not rule.hard and rule.weight is None and rule.expansions is None:
            from sqlrl.logic.printer import format_formula

            where = f"{rule.path}:{rule.line}: " if rule.line else ""
            raise InputError(
                f"{where}the rule {format_formula(rule.formula)} has no weight: learn the model first, "
                "or write a weight before it"
            )
