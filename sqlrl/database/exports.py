"""Models as files for outside solvers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from sqlrl import markup
from sqlrl.errors import InputError
from sqlrl.ground.clauses import atom_texts
from sqlrl.ground.grounding import ground_network
from sqlrl.ground.network import Network
from sqlrl.ground.program import Extent, Program
from sqlrl.markup import visible
from sqlrl.training.session import Query, Session, verb
from sqlrl.wording import counted

if TYPE_CHECKING:
    from sqlrl.plan.view_options import SQLOptions
    from sqlrl.solve.exchange.solutions import NetworkFormat
    from sqlrl.solve.exchange.text import ExportedNames
    from sqlrl.solve.exchange.wcnf import Dialect


@dataclass(frozen=True)
class Exported:
    """A ground network that was written to a file."""

    path: Path
    map: Path  # the table beside the file that lists what each variable is
    atoms: int  # query atoms; of Parquet the rows
    clauses: int  # ground clauses of two or more literals, equal ones merged, or that are hard; of Parquet the rows
    _repr_html_ = markup.field_table

    def __repr__(self) -> str:
        sizes = f"{counted(self.atoms, 'atom')}, {counted(self.clauses, 'ground clause')}"
        return visible(f"{self.path}: {sizes}; {self.map} lists the atoms")


@verb
def export(
    session: Session,
    asked: Query,
    path: str | Path | None,
    *,
    format: NetworkFormat | None,
    dialect: str | None,
    options: SQLOptions | None,
) -> Exported:
    """Write the ground network of a model with its weights to a file; `Database.export` explains it."""
    from sqlrl.solve.exchange import wcnf
    from sqlrl.solve.exchange.lpfile import write_lp
    from sqlrl.solve.exchange.solutions import NETWORK_FORMATS, format_of
    from sqlrl.solve.exchange.text import map_path
    from sqlrl.solve.exchange.uai import write_uai
    from sqlrl.solve.weighted import weigh

    if path is None:
        raise InputError("a ground network is written to a file: name it, or pass format='sql' for a view in SQL")
    if format is None and Path(path).suffix.lower() == ".sql":
        raise InputError("db.export(model, path, format='sql') writes a model as a view in SQL: say so")
    kind = format_of(path, format, NETWORK_FORMATS)
    if options is not None:
        raise InputError("options= are of a view in SQL: pass format='sql', or leave them out")
    style: Dialect
    if dialect in (None, "classic"):
        style = "classic"
    elif dialect == "2022":
        style = "2022"
    else:
        raise InputError(f"unknown dialect {dialect!r}: choose 'classic' or '2022'")
    asked.check(weighted=True)
    with session.console.progress("exporting"), session.expanded(asked) as (program, chosen):
        if kind == "parquet":
            from sqlrl.solve.exchange.parquet import write_parquet

            return Exported(Path(path), map_path(path), *write_parquet(Extent(program, chosen), path, _texts(program)))
        network = ground_network(Extent(program, chosen, asked.limit))
        names, weighted = names_of(program, network), weigh(network, program.weights())
        if kind == "wcnf":
            wcnf.write_wcnf(weighted, path, dialect=style, names=names)
        elif kind == "lp":
            write_lp(weighted, path, names=names)
        else:
            write_uai(weighted, path, names=names)
    return Exported(Path(path), map_path(path), len(weighted.atoms), len(weighted.cost))


def names_of(program: Program, network: Network) -> ExportedNames:
    """Return the ids and names of a network's atoms, for files."""
    from sqlrl.solve.exchange.text import ExportedNames

    return ExportedNames(network.atoms, _texts(program))


def _texts(program: Program) -> Callable[[npt.NDArray[np.int64]], Sequence[tuple[str, str]]]:
    def texts(ids: npt.NDArray[np.int64]) -> Sequence[tuple[str, str]]:
        """Return predicate and constants of each atom."""
        found = atom_texts(program, ids)
        parts = (found[i].partition("(") for i in ids.tolist())
        return [(predicate, constants.removesuffix(")")) for predicate, _, constants in parts]

    return texts
