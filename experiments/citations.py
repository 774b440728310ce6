"""What the experiments on citations share: loading CiteSeer and Cora, the models, and the folds.

CiteSeer (Poon and Domingos 2007) is the thesis' own data. The Cora file of the thesis is not public: `cora-references` are other
references, tagged by McCallum with thirteen labels, and `load_cora` makes of them what the model for CiteSeer asks for.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
from cora import derive

import sqlrl
from sqlrl.evaluate import Counts, Fold, leave_one_group_out, score_fields

CITESEER: dict[str, tuple[str, ...]] = {
    "Token": ("token", "position", "bib"),
    "FollowBy": ("bib", "position", "token"),
    "Next": ("position", "position"),
    "LessThan": ("position", "position"),
    "IsAlphaChar": ("token",),
    "IsDate": ("token",),
    "IsDigit": ("token",),
    "FirstNonAuthorTitleTkn": ("bib", "position"),
    "FirstIn": ("bib", "position"),
    "LastInitial": ("bib", "position"),
    "Center": ("bib", "position"),
    "HasPunc": ("bib", "position"),
    "HasComma": ("bib", "position"),
    "InField": ("bib", "field", "position"),
}
"""The predicates of the model for isolated segmentation, with the types of their arguments in the order of the files' columns."""

WITHOUT_TOKEN = ("FirstNonAuthorTitleTkn", "FirstIn")
"""Predicates with facts at positions that have no token."""

RENAMED = {
    "Fauthor": "fauthor", "Ftitle": "ftitle", "Fvenue": "fvenue", "P00": "p00", "P01": "p01", "TPERIOD": "tperiod",
}  # fmt: skip
"""Constants that `ism.mln` writes otherwise than the data."""

WITHOUT_DATA = ("SimilarTitle", "SimilarVenue", "JntInfCandidate", "SameBib")
"""Predicates of the model's rules for entity resolution."""

TOPICS = ("constraint", "face", "reasoning", "reinforcement")
"""The folds of CiteSeer."""

AUTHORS = ("fahl", "kibl", "utgo")
"""The folds of Cora."""

CONSTRAINTS = {
    "C1": "LessThan(p1, p2) ^ LessThan(p2, p3) ^ InField(c, +f, p1) ^ InField(c, +f, p3) => InField(c, +f, p2).",
    "C2": 'LessThan(p1, p2) ^ InField(c, "fauthor", p2) => !InField(c, "ftitle", p1).',
    "C3": 'LessThan(p1, p2) ^ InField(c, "fauthor", p2) => !InField(c, "fvenue", p1).',
    "C4": 'LessThan(p1, p2) ^ InField(c, "ftitle", p2) => !InField(c, "fvenue", p1).',
    "C5": 'Next(p2, p1) ^ InField(c, "fauthor", p1) => !InField(c, "fvenue", p2).',
}
"""The hard constraints of the thesis, section 7.3.2. In the data `Next(p2, p1)` says that p2 comes right after p1, while
`LessThan(p1, p2)` says that p1 comes before p2, as the thesis has it; and the arguments of `InField` stand in another order."""

EXCLUSION = "InField(c, f1, p) ^ f1 != f2 => !InField(c, f2, p)."
"""At most one field a position; `ism.mln` writes it out field by field."""


def load_citeseer(
    db: sqlrl.Database, folder: str | Path, predicates: Iterable[str] = CITESEER, *, labels: object = None
) -> None:
    """Load CiteSeer: one example a citation, `InField` the target.

    Parameters
    ----------
    db : Database
    folder : path
        Has the Parquet files.
    predicates : iterable of str
        Those to load.
    labels : table or relation, optional
        Rows of `InField` (bib, field, position) in place of the file's.
    """
    for name in predicates:
        types, target = CITESEER[name], name == "InField"
        source = labels if target and labels is not None else Path(folder) / f"{name.lower()}.parquet"
        if name in WITHOUT_TOKEN:
            source = at_tokens(folder, name)
        db.load(name, source, types=types, example="bib" if "bib" in types else None, target=target)


def at_tokens(folder: str | Path, name: str) -> pa.Table:
    """Return the facts (bib, position) of a predicate at positions that have a token.

    `FirstIn` and `FirstNonAuthorTitleTkn` say of 905 citations that what they look for comes at the position after the last token,
    which is their way to say that it never comes. Such a position would be one more to predict, and its transition one more to
    learn from; of the model's rules none is lost, since they ask for positions after it.
    """
    facts = pq.read_table(Path(folder) / f"{name.lower()}.parquet")
    tokens = pq.read_table(Path(folder) / "token.parquet")
    names = tokens.column_names
    bib, position = (names[CITESEER["Token"].index(kind)] for kind in ("bib", "position"))
    return facts.join(tokens.select([bib, position]), facts.column_names, [bib, position], "left semi").sort_by(
        [(column, "ascending") for column in facts.column_names]
    )


def load_cora(db: sqlrl.Database, folder: str | Path) -> pa.Table:
    """Load the Cora references as CiteSeer is loaded; `cora.derive` says how they are made to fit.

    Returns
    -------
    pyarrow.Table
        The labels: bib, field, position.
    """
    tables = derive(folder)
    for name, types in CITESEER.items():
        example = "bib" if "bib" in types else None
        db.load(name, tables[name], types=types, example=example, target=name == "InField")
    return tables["InField"]


def read_ism(folder: str | Path, extra: Sequence[str] = ()) -> sqlrl.Model:
    """Read the model for isolated segmentation, without its rules for entity resolution.

    Parameters
    ----------
    folder : path
        Has `ism.mln`.
    extra : sequence of str
        Rules to add, in the model's language.

    Returns
    -------
    Model
    """
    read = sqlrl.read_mln(Path(folder) / "ism.mln", query=("InField",), constants=RENAMED)
    model = read.without(WITHOUT_DATA)
    if not extra:
        return model
    declared = "\n".join(f"{name}({', '.join(types)})" for name, types in CITESEER.items())
    added = sqlrl.parse_mln("\n".join([declared, *extra]), query=("InField",))
    return model.with_rules((*model.rules, *added.rules))


def constrained_ism(folder: str | Path) -> sqlrl.Model:
    """Read the model for isolated segmentation with the constraints C1 to C5 added."""
    return read_ism(folder, tuple(CONSTRAINTS.values()))


def folds_of(names: Sequence[str], groups: Sequence[str], each: int | None = None) -> list[Fold[str]]:
    """Hold out each group once; with `each` of so many examples of each group alone, evenly spaced in their order."""
    taken: dict[str, list[str]] = {}
    for name, group in zip(names, groups, strict=True):
        taken.setdefault(group, []).append(name)
    if each is not None:
        # Neighbours are often references to the same paper, so that the first ones would be all alike.
        taken = {group: members[:: max(1, len(members) // each)][:each] for group, members in taken.items()}
    pairs = [(name, group) for group, members in taken.items() for name in members]
    return leave_one_group_out([name for name, _ in pairs], [group for _, group in pairs])


def topic_folds(folder: str | Path, *, each: int | None = None) -> list[Fold[str]]:
    """Return the four folds of CiteSeer, a topic held out in each.

    Parameters
    ----------
    folder : path
    each : int, optional
        The most citations of a topic, evenly spaced; by default all.
    """
    table = pq.read_table(Path(folder) / "topic.parquet", columns=["bib", "topic"])
    return folds_of(table.column("bib").to_pylist(), table.column("topic").to_pylist(), each)


def author_folds(folder: str | Path, labels: pa.Table, *, each: int | None = None) -> list[Fold[str]]:
    """Return the three folds of Cora, one group of references held out in each.

    Parameters
    ----------
    folder : path
    labels : pyarrow.Table
        As `load_cora` returns them: references without a label are left out.
    each : int, optional
        The most references of a group, evenly spaced; by default all.
    """
    table = pq.read_table(Path(folder) / "reference.parquet", columns=["bib", "fold"])
    known = set(labels.column("bib").to_pylist())
    rows = [(row["bib"], row["fold"]) for row in table.to_pylist() if row["bib"] in known]
    return folds_of([bib for bib, _ in rows], [fold for _, fold in rows], each)


def among(atoms: pa.Table, labels: pa.Table) -> npt.NDArray[np.bool_]:
    """Tell which rows of a table are among the labels, by the columns of these."""
    names = labels.column_names
    known = set(zip(*(labels.column(name).to_pylist() for name in names), strict=True))
    rows = zip(*(atoms.column(name).to_pylist() for name in names), strict=True)
    return np.array([row in known for row in rows], dtype=np.bool_)


def field_counts(prediction: sqlrl.Prediction, labels: pa.Table) -> Counts:
    """Count right and wrong fields of predicted examples; see `sqlrl.evaluate.score_fields`.

    Parameters
    ----------
    prediction : Prediction
        Of `InField`.
    labels : pyarrow.Table
        The example (bib, or another name), field and position, of all examples.
    """
    atoms, names = prediction.atoms(every=True), labels.column_names
    truth = among(atoms, labels)
    example, field = (np.unique(atoms.column(name).to_numpy(), return_inverse=True)[1] for name in names[:2])
    return score_fields(truth, atoms.column("truth").to_numpy(), example, field)
