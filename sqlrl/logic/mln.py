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

from sqlrl.logic.checks import check
from sqlrl.logic.formulas import FormulaParser
from sqlrl.logic.header import check_semantics
from sqlrl.logic.lexer import END, Source, tokenize
from sqlrl.logic.model import Model
from sqlrl.logic.statements import Program
from sqlrl.logic.terms import Formula, Predicate
from sqlrl.logic.texts import check_text, read_text


def parse_mln(
    text: str,
    *,
    path: str = "<text>",
    query: Iterable[str] = (),
    constants: Mapping[str, str] | None = None,
    fold_case: bool = False,
    semantics: str = "exact",
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
    semantics : {"exact", "alchemy"}
        "exact": each formula is one feature. "alchemy": its weight is divided over the clauses of its normal form; a template is the
        formulas that it stands for, and one whose formulas have different normal forms is refused.
    learned : bool
        The weights were learned from other data: constants of the rules that the data lack are only counted.

    Returns
    -------
    Model

    Raises
    ------
    ParseError
        The text does not parse; the message shows the line with a caret.
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
    check_semantics(text, path, semantics)
    program = Program(constants or {}, fold_case)
    program.read(Source(text, path), None)
    return replace(program.model(query, semantics), learned=learned)


def read_mln(
    path: str | Path,
    *,
    query: Iterable[str] = (),
    constants: Mapping[str, str] | None = None,
    fold_case: bool = False,
    semantics: str = "exact",
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
    program = Program(constants or {}, fold_case)
    text = read_text(path, parse="sqlrl.parse_mln")
    check_semantics(text, str(path), semantics)
    program.read(Source(text, str(path)), Path(path))
    return replace(program.model(query, semantics), learned=learned)


def parse_formula(
    text: str, model_or_predicates: Model | Mapping[str, Predicate] | None = None, *, path: str = "<text>"
) -> Formula:
    """Parse one formula.

    Parameters
    ----------
    text : str
    model_or_predicates : Model or mapping of str to Predicate, optional
        The declarations to check the formula against; without them only its syntax is checked.
    path : str
        The file, or a name for the text, in errors.

    Returns
    -------
    Formula

    Raises
    ------
    ParseError, ModelError, UnsupportedError
        As in `parse_mln`.

    Examples
    --------
    >>> parse_formula("!P(x)")
    Not(body=Atom(predicate='P', terms=(Variable(name='x', plus=False),)))
    """
    source = Source(text, path)
    parser = FormulaParser(source, tokenize(source))
    parser.skip_lines()
    formula = parser.rule()
    parser.skip_lines()
    if parser.token.kind != END:
        raise parser.unexpected("an operator or the end of the formula")
    if isinstance(model_or_predicates, Model):
        check(source, parser.mentions, model_or_predicates.predicates, model_or_predicates.types)
    elif model_or_predicates is not None:
        check(source, parser.mentions, model_or_predicates, {})
    return formula
