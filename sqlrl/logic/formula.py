"""One formula from its text."""

from __future__ import annotations

from collections.abc import Mapping

from sqlrl.logic.formulas import FormulaParser, check
from sqlrl.logic.lexer import END, Source, tokenize
from sqlrl.logic.model import Model
from sqlrl.logic.terms import Formula, Predicate


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
        As in `sqlrl.parse_mln`.

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
