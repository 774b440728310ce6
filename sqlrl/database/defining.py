"""Background predicates by Horn definitions, and the language bias that types and keys suggest."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path

from sqlrl.catalog.deriving import CONSTANTS, derive_bias
from sqlrl.catalog.loading import Sources, Types, chosen_sources
from sqlrl.database.data import Data
from sqlrl.database.definitions import define
from sqlrl.database.verb import verb
from sqlrl.logic.bias import Bias
from sqlrl.logic.horn_parser import LOWER, parse_definitions
from sqlrl.logic.lexer import read_text


class Defining(Data):
    """`Data`, and what clause learners need beside facts: background predicates and a language bias.

    Parameters
    ----------
    catalog : Catalog
    console : Console, optional
        As for `Data`.
    """

    @verb
    def load_all(
        self,
        sources: Sources,
        types: Types | None = None,
        *,
        duplicates: str = "error",
        nulls: str = "error",
        empty: str = "error",
        fold_case: bool = False,
        constants: Mapping[str, str] | None = None,
        header: bool = True,
        delimiter: str | None = None,
        quote: str = '"',
    ) -> list[str]:
        """Load the facts of several closed predicates, all or nothing.

        Parameters
        ----------
        sources : folder, or mapping of str to what `load` takes
            Of a folder the Parquet, CSV and TSV files, which are named after their predicates.
        types : Bias or mapping of str to sequence of str, optional
            The types of the arguments. With a bias only the predicates are loaded that its bodies have, with the types of their
            modes; with a mapping those that it leaves out wait for a model to say their types, as with `load`.
        duplicates, nulls, empty, fold_case, constants, header, delimiter, quote
            For all of them, as for `load`.

        Returns
        -------
        list of str
            The predicates that were loaded.

        Raises
        ------
        LoadError
            As `load`; or a folder without such files, or types of a predicate that there is not.

        Examples
        --------
        >>> import sqlrl
        >>> bias = sqlrl.parse_bias(
        ...     "modeh(1, old(+person)). modeb(*, parent(+person,-person)). modeb(*, job(+person,#job))."
        ... )
        >>> db = sqlrl.connect()
        >>> db.load_all({"parent": [("Ann", "Bob")], "job": [("Ann", "smith")], "other": [("x",)]}, bias)
        ['parent', 'job']
        """
        with self.console.progress("loading") as task, self.catalog.store.writing():
            chosen = chosen_sources(sources, types)
            for predicate, (source, known) in chosen.items():
                task.advance(0, note=predicate)
                self.load(
                    predicate,
                    source,
                    types=known,
                    duplicates=duplicates,
                    nulls=nulls,
                    empty=empty,
                    fold_case=fold_case,
                    constants=constants,
                    header=header,
                    delimiter=delimiter,
                    quote=quote,
                )
                task.advance()
        return list(chosen)

    def define(self, definitions: str | Path, *, variables: str = LOWER) -> None:
        r"""Define closed predicates by Horn rules `head :- literal, literal.` over others.

        Literals are atoms, negated atoms (`!p(x)`, `not p(x)`, `\+ p(x)`; `_` for any constant) and the comparisons `=` and
        `!=`. Rules may be recursive, but not through a negation; they become one query for each predicate, a recursive one
        where needed. Types follow from the bodies. A later definition of a predicate replaces an earlier one; when a
        predicate that a body uses is loaded again (also by `refresh`), what was defined from it is evaluated again.
        Where it can be chosen, write one recursive literal in a rule: several make it much slower (`ancestor(x, y),
        ancestor(y, z)` derives each pair once for each y).

        Parameters
        ----------
        definitions : str or Path
            The rules, or a file of them.
        variables : {"lower", "upper"}
            Which names are variables. "lower", as in models: those that begin with a small letter; other names, quoted ones
            and numbers are constants. "upper", as in Prolog and Aleph's background files: those that begin with a capital
            or `_`.

        Raises
        ------
        ParseError, UnsupportedError, ModelError
            The text does not parse or its rules do not fit each other or the predicates; the message shows the literal.
        CatalogError
            A predicate has facts that were loaded; a body uses one that is open or whose types are unknown; a constant is
            unknown; only some rules say to which example they belong.
        LoadError
            A name that no model can write.

        Warns
        -----
        LoadWarning
            A defined predicate has no facts.

        Examples
        --------
        >>> import sqlrl
        >>> db = sqlrl.connect()
        >>> db.load("parent", [("Ann", "Bob"), ("Bob", "Cid"), ("Cid", "Dan")], types=["person", "person"])
        >>> db.define("ancestor(x, y) :- parent(x, y).  ancestor(x, z) :- parent(x, y), ancestor(y, z).")
        >>> db.sql("select count(*) from sqlrl.named_ancestor").fetchall()
        [(6,)]
        >>> db.define("founder(X) :- parent(X, _), not parent(_, X).", variables="upper")
        >>> db.sql("from sqlrl.named_founder").fetchall()
        [('Ann',)]
        """
        if isinstance(definitions, Path):
            parsed = parse_definitions(
                read_text(definitions, parse="define as a str"), variables=variables, path=str(definitions)
            )
        else:
            parsed = parse_definitions(definitions, variables=variables)
        with self.console.progress("defining"):
            define(self.catalog.store, parsed)

    @verb
    def derive_bias(self, target: str, *, body: Collection[str] | None = None, constants: int = CONSTANTS) -> Bias:
        """Derive a language bias for a target from the types and keys of the data, by the rules of `sqlrl.catalog.deriving`.

        An argument that determines the others is an input, the others are outputs; without such a key each argument in turn
        is the input, and brings in ten facts at the most. Outputs with few values may also be constants.

        Parameters
        ----------
        target : str
            The predicate to learn.
        body : collection of str, optional
            Predicates that bodies may have; by default all closed ones with facts.
        constants : int
            The most values of an argument that may be a constant; 0 for no constants.

        Returns
        -------
        Bias

        Raises
        ------
        CatalogError
            An unknown predicate, a body predicate that is open or the target itself, unknown types, or no closed predicate.
        InputError
            `constants` is negative.

        Examples
        --------
        >>> import sqlrl
        >>> db = sqlrl.connect()
        >>> db.load("Friends", [("Ann", "Bob"), ("Ann", "Cid"), ("Bob", "Cid")], types=["person", "person"])
        >>> db.load("Smokes", [("Ann",)], types=["person"], target=True)
        >>> print(db.derive_bias("Smokes"), end="")
        :- modeh(1, Smokes(+person)).
        :- modeb(10, Friends(+person,-person)).
        :- modeb(10, Friends(-person,+person)).
        :- modeb(1, Friends(+person,+person)).
        """
        with self.console.progress("deriving a bias"):
            return derive_bias(self.catalog.store, target, body=body, constants=constants)
