"""A stream of subgraphs as a file of SQL: the views that cut them out of a graph, of which none is ever made."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from sqlglot import Token, TokenType, exp
from sqlglot.dialects import DuckDB
from sqlglot.errors import TokenError

from sqlrl.engine.graph import GraphConnection
from sqlrl.errors import InputError, ModelError, brief
from sqlrl.logic.lexer import check_text, read_text
from sqlrl.training.session import check_model
from sqlrl.training.subgraphs import CENTRES, EXAMPLE, WINDOW, SubgraphQueries
from sqlrl.wording import did_you_mean, nearest_names

if TYPE_CHECKING:
    import duckdb

    from sqlrl.database.database import Database
    from sqlrl.logic.model import Model

FORM = "CREATE VIEW name AS SELECT ..."
_CENTRES_FORM = "CREATE VIEW centres AS SELECT ... AS example FROM ... ORDER BY ..."
_RELATION_FORM = "CREATE VIEW {} AS SELECT example, ... FROM centres JOIN ..."
_BEFORE_VIEW = {TokenType.CREATE, TokenType.OR, TokenType.REPLACE, TokenType.TEMPORARY}


def read_subgraphs(
    path: str | Path, source: Database | duckdb.DuckDBPyConnection, model: Model, *, window: int = WINDOW
) -> SubgraphQueries:
    r"""Read a stream of subgraphs from a file of SQL, as `sqlrl learn --stream` does.

    The file consists of views. `CREATE VIEW centres AS SELECT ...` has one column, `example`: the names of the subgraphs, in the order of
    the stream (ORDER BY). A view with the name of a predicate is its relation: the columns `example` and then the arguments, of a target
    also `truth` (boolean). Its query reads tables of the graph, `centres`, and views that stand before it, unless the graph has a table of that
    name. A view of another name is a step for those after it. No view is made: each window reads those that it needs.

    Parameters
    ----------
    path : path
    source : Database or duckdb.DuckDBPyConnection
        Has the graph. Nothing is written there.
    model : Model
        Its declarations say which views are relations.
    window : int
        Centres in a window: at most so many subgraphs are in memory.

    Returns
    -------
    SubgraphQueries
        `examples` for `Resolwe`, `OSL` and online learners.

    Raises
    ------
    InputError
        The file cannot be read, is no SQL, or has something else than views; there is none of `centres`, or a query fails.
    ModelError
        A view is neither of a predicate nor read by a later one.

    Examples
    --------
    >>> import tempfile
    >>> import duckdb
    >>> import sqlrl
    >>> graph = duckdb.connect()
    >>> graph = graph.execute(
    ...     "create table knows as select i as a, (i + j) % 60 as b from range(60) t(i), (values (1), (2)) u(j)"
    ... )
    >>> graph = graph.execute("create table old as select i as person from range(0, 60, 2) t(i)")
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = Path(folder.name) / "near.sql"
    >>> written = path.write_text('''
    ... CREATE VIEW centres AS SELECT DISTINCT a AS example FROM knows ORDER BY a;
    ... CREATE VIEW near AS SELECT example, b AS person FROM centres JOIN knows ON a = example;
    ... CREATE VIEW Likes AS SELECT example, person, person % 2 = 0 AS truth FROM near;
    ... CREATE VIEW Old AS SELECT example, person FROM near JOIN old USING (person);
    ... ''')
    >>> model = sqlrl.parse_mln("Likes(person)\nOld(person)")
    >>> stream = sqlrl.read_subgraphs(path, graph, model, window=7)
    >>> len(stream), sorted(stream.queries())
    (60, ['Likes', 'Old'])
    >>> fit = sqlrl.Resolwe(sqlrl.parse_grammar("Old(x) ^ Likes(x)")).fit(sqlrl.connect(), model, examples=stream)
    >>> fit.formulations_.to_arrow().select(["formula", "support", "kept"]).to_pylist()
    [{'formula': 'Old(x) ^ Likes(x)', 'support': 20, 'kept': True}]
    >>> folder.cleanup()
    """
    text = read_text(path, parse="sqlrl.parse_subgraphs")
    return parse_subgraphs(text, source, model, path=str(path), window=window)


def parse_subgraphs(
    text: str,
    source: Database | duckdb.DuckDBPyConnection,
    model: Model,
    *,
    path: str = "<text>",
    window: int = WINDOW,
) -> SubgraphQueries:
    r"""Read a stream of subgraphs from a text of SQL; `read_subgraphs` says how it is written.

    Parameters
    ----------
    text : str
    source : Database or duckdb.DuckDBPyConnection
        Has the graph. Nothing is written there.
    model : Model
        Its declarations say which views are relations.
    path : str
        What errors call the text.
    window : int
        Centres in a window.

    Returns
    -------
    SubgraphQueries

    Raises
    ------
    InputError, ModelError
        As `read_subgraphs`.

    Examples
    --------
    >>> import duckdb
    >>> import sqlrl
    >>> graph = duckdb.connect().execute("create table knows as from (values (1, 2), (2, 3)) t(a, b)")
    >>> text = '''
    ... CREATE VIEW centres AS SELECT DISTINCT a AS example FROM knows ORDER BY a;
    ... CREATE VIEW Likes(example, person, truth) AS
    ...   SELECT example, b, b > 2 FROM centres JOIN knows ON a = example;
    ... '''
    >>> stream = sqlrl.parse_subgraphs(text, graph, sqlrl.parse_mln("Likes(person)"))
    >>> stream.cut(0, 2).tables["Likes"].to_pylist()
    [{'example': '1', 'person': 2, 'truth': False}, {'example': '2', 'person': 3, 'truth': True}]
    """
    check_text(text, "a stream of subgraphs", "read a file with sqlrl.read_subgraphs")
    check_model(model)
    graph = GraphConnection(source)
    # Some editors begin a file with a mark of its encoding.
    views = _views(graph, text.removeprefix("\ufeff"), path)
    names = list(views)
    own = next((name for name in names if name.lower() == CENTRES), None)
    if own is None:
        raise InputError(f"{path} has no view {CENTRES}, which names the subgraphs: write {_CENTRES_FORM}")
    relations = {name: view for name, view in views.items() if name in model.predicates and name != own}
    steps = {name: view for name, view in views.items() if name not in relations and name != own}
    for name, view in steps.items():
        if not any(name.lower() in views[later].words for later in names[names.index(name) + 1 :]):
            like = did_you_mean(nearest_names(name, model.predicates))
            raise ModelError(
                f"{path}:{view.line}: the view {name} is of no predicate that the model declares, and none after it reads it{like or ': write its declaration, or leave it out'}"
            )
        if other := graph.named(name):
            raise InputError(
                f"{path}:{view.line}: the graph has a table {other}, too: give the view {name} another name"
            )
    if not relations:
        first = next(iter(model.predicates), "Likes")
        raise InputError(
            f"{path} has no view of a predicate of the model: write one for each, such as {_RELATION_FORM.format(first)}"
        )
    shown = {name for name in views if name != own and not graph.named(name)}
    placed = {name: _written(name, views, shown, placed=True) for name in relations}
    placed[CENTRES] = _written(own, views, shown, placed=True)
    found = graph.columns(placed[CENTRES], f"{path}: the view {CENTRES}")
    if found != [EXAMPLE]:
        raise InputError(
            f"{path}:{views[own].line}: the view {CENTRES} has the columns {', '.join(found)}: it needs one, {EXAMPLE}, the name of a subgraph"
        )
    queries = {name: _written(name, views, shown) for name in relations}
    return SubgraphViews(source, _written(own, views, shown), queries, placed=placed, path=path, window=window)


class SubgraphViews(SubgraphQueries):
    """Subgraphs that the views of a file cut out of a graph; `placed` has the queries on the lines of the file."""

    def __init__(
        self,
        source: Database | duckdb.DuckDBPyConnection,
        centres: str,
        relations: Mapping[str, str],
        *,
        placed: Mapping[str, str],
        path: str,
        window: int,
    ) -> None:
        self._placed, self._path = placed, path
        super().__init__(source, centres, relations, window=window)

    def _said(self, name: str) -> str:
        return f"{self._path}: the view {name}"

    def _as_run(self, name: str) -> str:
        return self._placed[name]


# ---- the file ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _View:
    """A view of the file: its query as it stands there, the line where that begins, its columns if they are named, and what words it has."""

    query: str
    line: int
    columns: tuple[str, ...]
    words: frozenset[str]


def _views(graph: GraphConnection, text: str, path: str) -> dict[str, _View]:
    """Return the views of a file by their names, in order."""
    graph.check_statements(text, path)
    try:
        tokens = list(DuckDB().tokenize(text))
    except TokenError as error:
        raise InputError(f"{path} has a statement that is not understood: {brief(str(error), lines=1)}") from error
    found: dict[str, _View] = {}
    for ends, statement in groupby(tokens, key=lambda token: token.token_type is TokenType.SEMICOLON):
        if ends:
            continue
        parts = list(statement)
        where = f"{path}:{_line(text, parts[0].start)}"
        name, view = _view(text, parts, where)
        same = [other for other in found if other.lower() == name.lower()]
        if same:
            raise InputError(f"{where}: there is a view {same[0]} before: give each a name of its own")
        found[name] = view
    return found


def _line(text: str, place: int) -> int:
    """Return the line of a place, counted from 1."""
    return 1 + text.count("\n", 0, place)


def _view(text: str, tokens: Sequence[Token], where: str) -> tuple[str, _View]:
    """Take the tokens of a statement apart; DuckDB has parsed it, so that its head is whole."""
    end = tokens[-1].end + 1
    i = 0
    while i < len(tokens) and tokens[i].token_type in _BEFORE_VIEW:
        i += 1
    if not 0 < i < len(tokens) or tokens[i].token_type is not TokenType.VIEW:
        raise InputError(
            f"{where}: {brief(text[tokens[0].start : end], lines=1, width=60)!r} makes no view: the file consists of {FORM}, for {CENTRES} and each "
            "predicate"
        )
    i += 1
    if tokens[i].text.upper() == "IF" and tokens[i + 1].token_type is TokenType.NOT:
        i += 3
    name = tokens[i].text
    i += 1
    columns: list[str] = []
    if tokens[i].token_type is TokenType.L_PAREN:
        while tokens[i].token_type is not TokenType.R_PAREN:
            i += 1
            if tokens[i].token_type not in (TokenType.COMMA, TokenType.R_PAREN):
                columns.append(tokens[i].text)
        i += 1
    if tokens[i].token_type is not TokenType.ALIAS:
        raise InputError(f"{where}: the name of a view is one word, without the name of a schema: {FORM}")
    begin = tokens[i].end + 1
    words = frozenset(t.text.lower() for t in tokens[i + 1 :] if t.token_type is not TokenType.STRING)
    return name, _View(text[begin:end], _line(text, begin), tuple(columns), words)


def _written(name: str, views: Mapping[str, _View], shown: Collection[str], *, placed: bool = False) -> str:
    """Return the query of a view with those before it that it reads, as far as they are shown; `placed`, on the lines that the file has them on."""
    names = list(views)
    wanted, words = list[str](), set(views[name].words)
    # A word may be the name of something else; a step that is not read costs nothing.
    for earlier in reversed(names[: names.index(name)]):
        if earlier in shown and earlier.lower() in words:
            wanted.insert(0, earlier)
            words |= views[earlier].words
    text, own = "", views[name]
    for step in wanted:
        text += ", " if text else "WITH "
        text = _with(f"{text}{_alias(step, views[step].columns)} AS (", views[step], placed=placed) + ")"
    if not wanted and not own.columns:
        return _with("", own, placed=placed)
    between = " " if placed else "\n"
    text = _with(f"{text}{between}FROM (" if text else "FROM (", own, placed=placed)
    return f"{text}) AS {_alias('found', own.columns)}"


def _with(text: str, view: _View, *, placed: bool) -> str:
    """Return a text with the query of a view behind it."""
    if placed:
        return text + "\n" * (view.line - 1 - text.count("\n")) + view.query
    return f"{text}\n{view.query.strip()}\n" if text else view.query.strip()


def _alias(name: str, columns: Sequence[str]) -> str:
    """Return a name with the names of columns, if there are any."""
    quoted = [exp.to_identifier(x, quoted=True).sql(dialect="duckdb") for x in (name, *columns)]
    return f"{quoted[0]}({', '.join(quoted[1:])})" if columns else quoted[0]
