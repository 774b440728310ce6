"""Of what a view in SQL is, and what it, a user's tables and their columns are called."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlrl import markup


@dataclass(frozen=True)
class SQLOptions:
    r"""Of what a view in SQL is, and how it and your tables are called: `db.export(model, format="sql", options=SQLOptions(...))`.

    A view tells what `probabilities` does, to 12 digits, of rules that have one literal to predict in each clause: the log-odds of an atom are the
    weights of the clauses times the number of their groundings. A block has the softmax of these; a hard rule makes log-odds infinite.
    The atoms are those of the scope that are not given, with the constants that the tables hold, labels left out.

    Parameters
    ----------
    target : str, optional
        The predicate of whose atoms the view is; required if the model predicts several.
    view : str, optional
        Its name, as SQL has it; by default `target_scores` in small letters.
    tables : mapping of str to str, optional
        What the table of a predicate is called where it is not as the predicate, as SQL has it: `{"Friends": "public.friends"}`. That
        of a target has what is given of it, if anything is; labels are never read.
    columns : mapping of str to mapping of str to str, optional
        By predicate, what columns are called where they are not as in the data that were loaded: `{"Token": {"pos": "position"}}`.
    scopes : mapping of str to str, optional
        The table of the tuples that have atoms, by default `Target_scope`, where `scope` says which do; its columns are called as
        those of the predicate.
    partial : bool
        Whether to leave out rules that join several atoms to predict, which is another model; `left_out` of the result lists them.

    Examples
    --------
    >>> import sqlrl
    >>> db = sqlrl.connect()
    >>> db.load("Smokes", [("Anna",)], types=["person"])
    >>> model = sqlrl.parse_mln("Smokes(person)\nCancer(person)\n1 Smokes(x) => Cancer(x)", query=["Cancer"])
    >>> db.export(model, format="sql", options=sqlrl.SQLOptions(view="risk")).view
    'risk'
    """

    target: str | None = None
    view: str | None = None
    tables: Mapping[str, str] | None = None
    columns: Mapping[str, Mapping[str, Any]] | None = None
    scopes: Mapping[str, str] | None = None
    partial: bool = False
    _repr_html_ = markup.field_table
