"""Readers of `.mln` programs: Alchemy's language, and what Tuffy adds to it.

Beyond Alchemy: `*pred(type, ...)` declares a closed predicate, `a, b => c` joins conditions, and a scoping rule
`[priorProb = 0.7] head := body.` (short: `[0.7] head := body.`) limits the atoms of `head` to those that some body
derives and gives each of them the prior. Here it becomes, with exactly that meaning, a hard rule (`head` implies
one of its bodies) and a rule of weight ln(p/(1-p)) that says what the body implies.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from sqlrl.logic.header import said_semantics
from sqlrl.logic.lexer import Source
from sqlrl.logic.model import Model
from sqlrl.logic.statements import Program
from sqlrl.logic.templates import with_templates
from sqlrl.logic.texts import check_text, read_text


def parse_mln(
    text: str,
    *,
    path: str = "<text>",
    query: Iterable[str] = (),
    constants: Mapping[str, str] | None = None,
    fold_case: bool = False,
    semantics: str | None = None,
    learned: bool = False,
) -> Model:
    r"""Parse an `.mln` program.

    Parameters
    ----------
    text : str
    path : str
        The file, or a name for the text, in errors.
    query : iterable of str
        Predicates to predict, beside those that the data leave open.
    constants : mapping of str to str, optional
        New names for constants of the program, as `{"Fauthor": "fauthor"}`.
    fold_case : bool
        Read all other constants in lower case.
    semantics : {"exact", "alchemy"}, optional
        "exact", the default: each formula is one feature. "alchemy": its weight is divided over the clauses of its normal form; a
        template is the formulas that it stands for, and one whose formulas have different normal forms is refused.
    learned : bool
        The weights were learned from other data: constants of the rules that the data lack are only counted.

    Returns
    -------
    Model
        If `Model.save` wrote the text, the first line says of it what the language cannot: the query predicates, the semantics,
        whether it was learned, and its templates, which are left as their clauses where constants get other names.

    Raises
    ------
    ParseError
        The text does not parse; the message shows the line with a caret. Or the first line does not fit the rules.
    ModelError
        The program contradicts itself: unknown predicates, wrong arities or types, undeclared constants. Or it was saved with another
        semantics.
    UnsupportedError
        It uses a part of the languages that sqlrl does not have (functions, arithmetic, linked-in code).

    Examples
    --------
    >>> model = parse_mln("Smokes(person)\nCancer(person)\n1.5 Smokes(x) => Cancer(x)")
    >>> model.rules[0].weight, sorted(model.predicates)
    (1.5, ['Cancer', 'Smokes'])
    """
    check_text(text, "a model", "read files with read_mln")
    return _read(Source(text, path), None, query, constants or {}, semantics, fold_case=fold_case, learned=learned)


def read_mln(
    path: str | Path,
    *,
    query: Iterable[str] = (),
    constants: Mapping[str, str] | None = None,
    fold_case: bool = False,
    semantics: str | None = None,
    learned: bool = False,
) -> Model:
    r"""Read an `.mln` file; `#include "other.mln"` is resolved relative to the file that says so.

    Parameters
    ----------
    path : str or Path
    query, constants, fold_case, semantics, learned
        As in `parse_mln`.

    Returns
    -------
    Model

    Raises
    ------
    ParseError, ModelError, UnsupportedError
        As in `parse_mln`; a missing file and an include that leads back to itself are ParseErrors.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "a.mln").write_text("P(x)\n2 P(A)")
    ...     read_mln(Path(folder, "a.mln")).rules[0].weight
    2.0
    """
    source = Source(read_text(path, parse="sqlrl.parse_mln"), str(path))
    return _read(source, Path(path), query, constants or {}, semantics, fold_case=fold_case, learned=learned)


def _read(
    source: Source,
    file: Path | None,
    query: Iterable[str],
    constants: Mapping[str, str],
    semantics: str | None,
    *,
    fold_case: bool,
    learned: bool,
) -> Model:
    """Read a program, and what the first lines of saved ones say, also of those that it includes."""
    program = Program(constants, fold_case)
    program.read(source, file)
    meaning, names = semantics, [query] if isinstance(query, str) else list(query)
    for path, said in program.headers:
        meaning = said_semantics(said, path, meaning)
        names += said.get("query", ())
        learned = learned or said.get("learned", False)
    model = replace(program.model(names, meaning or "exact"), learned=learned)
    listed = program.headers[0][1].get("templates")
    return with_templates(model, listed, source.path) if listed and not (fold_case or constants) else model
