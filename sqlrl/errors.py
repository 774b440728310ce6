"""The errors and warnings that sqlrl raises, one root for each.

Every message says what is wrong, which value, where it stands, and how to mend it.
"""

from __future__ import annotations


class SqlrlError(Exception):
    """Root of all errors that sqlrl raises."""


class InputError(SqlrlError, ValueError):
    """The user's input cannot be used as it is."""


class ParseError(InputError):
    """A text in one of the rule languages does not parse; the message shows the line with a caret.

    Parameters
    ----------
    problem : str
        What is wrong and what was expected.
    text : str, optional
        The line in which it stands.
    line, column : int, optional
        Where it stands, both counted from 1.
    path : str, optional
        The file, or a name for the text.

    Examples
    --------
    >>> print(ParseError("expected ')'", text="P(x", line=3, column=4, path="a.mln"))
    a.mln:3:4: expected ')'
      P(x
         ^
    """

    def __init__(self, problem: str, *, text: str = "", line: int = 0, column: int = 0, path: str = "<text>") -> None:
        self.problem, self.text, self.line, self.column, self.path = problem, text, line, column, path
        message = f"{path}:{line}:{column}: {problem}" if line else f"{path}: {problem}"
        if text:
            caret = "".join("\t" if c == "\t" else " " for c in text[: max(column - 1, 0)])
            message += f"\n  {text}\n  {caret}^"
        super().__init__(message)


class ModelError(InputError):
    """A model is not well formed: an unknown predicate, a wrong arity, a type clash, a bad weight."""


class UnsupportedError(InputError):
    """A feature of the input language that sqlrl refuses by name (Alchemy functions, say)."""


class LoadError(InputError):
    """Data cannot be loaded: a missing file, a wrong column, NULL keys, duplicate or contradictory facts."""


class CatalogError(InputError):
    """Model and data do not fit: an unknown type or constant, a predicate without data."""


class MigrationError(SqlrlError):
    """A database file has a layout that this version of sqlrl cannot use."""


class BusyError(SqlrlError):
    """Another process holds the database file."""


class EngineError(SqlrlError):
    """The database failed to run a statement; carries the name of the step and the SQL.

    Parameters
    ----------
    step : str
        What sqlrl was doing.
    reason : str
        The database's own message.
    sql : str
        The statement.
    """

    def __init__(self, step: str, reason: str, sql: str) -> None:
        self.step, self.reason, self.sql = step, reason, sql
        super().__init__(f"{step}: {reason}\nwhile running: {sql}")


class GroundingLimitError(SqlrlError):
    """Grounding would exceed the limit; the message names the clause and the estimate."""


class CountOverflowError(SqlrlError):
    """A count does not fit into 128 bits (in SQL) or 64 bits (in numpy); the message names the clause."""


class InfeasibleError(SqlrlError):
    """Hard clauses cannot all hold; the message shows a conflicting set of ground clauses."""


class NumericError(InputError):
    """Weights or probabilities that are not finite, or that do not fit the integer scale."""


class SqlrlWarning(UserWarning):
    """Root of all warnings that sqlrl raises."""


class InfeasibleTruthWarning(SqlrlWarning):
    """The labels of an example violate hard clauses."""


class UnseenConstantWarning(SqlrlWarning):
    """A learned model meets constants that its training data did not have."""
