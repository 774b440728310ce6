"""Ego networks as subgraphs of a big graph: the queries that cut out the neighbourhood of each centre, with its own edges hidden."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Literal

import numpy as np
from sqlglot import exp, parse_one
from sqlglot.errors import SqlglotError

from sqlrl import markup
from sqlrl.deprecated import takes_old_arguments
from sqlrl.engine.graph import GraphConnection, trimmed
from sqlrl.engine.nodes import column, named
from sqlrl.errors import InputError, Parameter, Phrase, brief
from sqlrl.training.subgraphs import CENTRES, EXAMPLE, TRUTH, WINDOW, SubgraphQueries
from sqlrl.wording import counted

if TYPE_CHECKING:
    import duckdb

    from sqlrl.database.database import Database

MOST_HOPS = 6
"""Hops of an ego network: what is farther away is all of most graphs."""

Negatives = Literal["equal"] | float | None
Relation = str | tuple[str, Sequence[str]]
"""A table or query, all of whose columns are entities, or with the names of those that are."""


class EgoNetworks(SubgraphQueries):
    r"""Ego networks of a graph as a stream of subgraphs: who are the neighbours of its centre?

    The candidates of a centre are its neighbours, which are true, and others within some hops, which are false. Its own edges are hidden, in
    both directions: relations are of candidates alone, and the centre is none.

    Parameters
    ----------
    source : Database or duckdb.DuckDBPyConnection
        Has the graph. Nothing is written there.
    edges : table or query
        Two columns of entities, texts or whole numbers. Each edge counts in both directions; loops are left out.
    target : str
        The predicate to predict, of a candidate.
    relations : mapping of str to table, query or pair
        Further predicates: facts about candidates. All columns are entities, or of a pair `(table, columns)` those that it names; rows
        whose entities are all candidates of a centre are in its subgraph.
    centres : query, optional
        Its first column has the centres, in the order of the stream; by default all entities that have an edge, in their order.
    hops : int
        How far candidates are away at most.
    negatives : {"equal"}, float or None
        False candidates for each true one; None for all within the hops. They are drawn by a hash of `random_state`, centre and candidate.
    cap : int, optional
        The most true candidates of a centre, drawn in the same way, and the most false ones.
    random_state : int
    window : int
        Centres in a window.

    Examples
    --------
    >>> import duckdb
    >>> import sqlrl
    >>> graph = duckdb.connect()
    >>> graph = graph.execute(
    ...     "create table friends as from (values ('Ann', 'Bob'), ('Bob', 'Carl'), ('Carl', 'Dora')) t(a, b)"
    ... )
    >>> graph = graph.execute("create table likes as from (values ('Bob', 'chess'), ('Dora', 'chess')) t(person, game)")
    >>> ego = EgoNetworks(
    ...     graph,
    ...     "friends",
    ...     target="Friend",
    ...     relations={"Knows": "friends", "Likes": ("likes", ["person"])},
    ...     centres="select 'Ann'",
    ... )
    >>> {
    ...     name: table.to_pylist() for name, table in ego.cut(0, 1).tables.items() if name != "Likes"
    ... }  # doctest: +NORMALIZE_WHITESPACE
    {'Friend': [{'example': 'Ann', 'entity': 'Bob', 'truth': True}, {'example': 'Ann', 'entity': 'Carl', 'truth': False}],
     'Knows': [{'example': 'Ann', 'a': 'Bob', 'b': 'Carl'}]}
    >>> ego.cut(0, 1).tables["Likes"].to_pylist()
    [{'example': 'Ann', 'person': 'Bob', 'game': 'chess'}]
    >>> sorted(ego.queries())
    ['Friend', 'Knows', 'Likes']
    """

    _repr_html_ = markup.field_table

    @partial(takes_old_arguments, name="EgoNetworks")
    def __init__(
        self,
        source: Database | duckdb.DuckDBPyConnection,
        edges: str,
        *,
        target: str,
        relations: Mapping[str, Relation] | None = None,
        centres: str | None = None,
        hops: int = 2,
        negatives: Negatives = "equal",
        cap: int | None = None,
        random_state: int = 0,
        window: int = WINDOW,
    ) -> None:
        _check_whole("hops", hops, 1)
        _check_whole("random_state", random_state, 0)
        if cap is not None:
            _check_whole("cap", cap, 1)
        if hops > MOST_HOPS:
            raise InputError(f"{Parameter('hops', hops)} reach most of a graph: give {MOST_HOPS} at most")
        if hops < 2:
            raise InputError(
                f"{Parameter('hops', 1)} reaches the neighbours alone, so that all candidates would be true: give 2 or more"
            )
        ratio = _ratio(negatives)
        if relations is not None and not isinstance(relations, Mapping):
            raise InputError("relations is a mapping of predicates to tables or queries, such as {'Knows': 'friends'}")
        if target in (relations or {}):
            raise InputError(
                f"{target} is to be predicted, so it cannot be among the relations, where it would tell what is hidden"
            )
        graph = GraphConnection(source)
        table, columns = _read(graph, "edges", edges)
        if len(columns) != 2:
            raise InputError(
                f"edges needs two columns, both entities, and has {counted(len(columns), 'column')}: {', '.join(columns)}"
            )
        edge = _both_ways(table, *columns)
        steps = _candidates(edge, hops=hops, ratio=ratio, cap=cap, seed=random_state)
        found = {target: _written(steps, exp.select(*map(column, (EXAMPLE, "entity", TRUTH))).from_("candidate"))}
        for name, relation in (relations or {}).items():
            found[name] = _written(steps, _restricted(graph, name, relation))
        if centres is None:
            everyone = exp.select(named(column("a"), EXAMPLE)).distinct().from_(edge.subquery("edge"))
            everyone = everyone.order_by(column(EXAMPLE))
            centres = everyone.sql(dialect="duckdb", pretty=True)
        super().__init__(source, centres, found, window=window)


def _check_whole(name: str, value: object, least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise InputError(f"{Parameter(name, value)} must be a whole number, {least} or more")


def _ratio(negatives: object) -> float | None:
    """Return how many false candidates a true one has, None for all."""
    if negatives is None:
        return None
    if negatives == "equal":
        return 1.0
    number = isinstance(negatives, int | float | np.integer | np.floating) and not isinstance(negatives, bool)
    if not number or not 0 < float(str(negatives)) < float("inf"):
        raise InputError(
            f"{Parameter('negatives', negatives)} is neither 'equal' nor a positive number for each true candidate, nor {Phrase('None')} for all"
        )
    return float(str(negatives))


def _read(graph: GraphConnection, what: str, given: object) -> tuple[exp.Expr, list[str]]:
    """Return a table or query as it can stand in FROM, and its columns."""
    if not isinstance(given, str):
        raise InputError(f"{what} must be the name of a table or a query, not {given!r}")
    try:
        written = parse_one(trimmed(given), dialect="duckdb")
        is_query = isinstance(written, exp.Query) and not isinstance(written, exp.Table)
        found: exp.Expr = written if is_query else exp.to_table(trimmed(given), dialect="duckdb")
        rows = exp.select("*").from_(found.subquery("r") if isinstance(found, exp.Query) and is_query else found)
        return found, graph.columns(rows.sql(dialect="duckdb"), what)
    except SqlglotError as error:
        raise InputError(
            f"{what} is no table, and not understood as a query: make a view of it, and name that ({brief(str(error), lines=1)})"
        ) from error


def _from(found: exp.Expr, alias: str) -> exp.Expr:
    """Return a table or query under an alias."""
    if isinstance(found, exp.Table):
        return exp.alias_(found.copy(), alias, table=True)
    assert isinstance(found, exp.Query), "it was read"
    return found.copy().subquery(alias)


def _both_ways(table: exp.Expr, first: str, second: str) -> exp.Query:
    """Select the edges in both directions, `a` and `b`, without loops."""

    def one_way(a: str, b: str) -> exp.Select:
        other = column(a, "r").neq(column(b, "r"))
        return exp.select(named(column(a, "r"), "a"), named(column(b, "r"), "b")).from_(_from(table, "r")).where(other)

    return exp.union(one_way(first, second), one_way(second, first))


def _candidates(
    edge: exp.Query, *, hops: int, ratio: float | None, cap: int | None, seed: int
) -> list[tuple[str, exp.Query]]:
    """Return the steps to the table `candidate`, with columns `example`, `entity` and `truth`, by name."""
    example, entity, truth = (column(name) for name in (EXAMPLE, "entity", TRUTH))
    near = exp.select(example, named(column("b"), "entity")).from_(CENTRES).join("edge", on=column("a").eq(example))
    steps: list[tuple[str, exp.Query]] = [("edge", edge), ("reached_1", near)]
    for k in range(2, hops + 1):
        before = f"reached_{k - 1}"
        further = exp.select(example, named(column("b"), "entity")).from_(before)
        further = further.join("edge", on=column("a").eq(entity))
        steps.append((f"reached_{k}", exp.union(exp.select(example, entity).from_(before), further)))
    hidden = exp.In(
        this=exp.Tuple(expressions=[example.copy(), entity.copy()]),
        query=exp.select(example, entity).from_("reached_1").subquery(),
    )
    others = exp.select(example, entity, named(exp.false(), TRUTH)).from_(f"reached_{hops}")
    others = others.where(entity.neq(example), exp.Not(this=hidden))
    neighbours = exp.select(example, entity, named(exp.true(), TRUTH)).from_("reached_1")
    steps.append(("found", exp.union(neighbours, others, distinct=False)))
    key = exp.Anonymous(
        this="concat_ws", expressions=[exp.convert(":"), exp.convert(int(seed)), example.copy(), entity.copy()]
    )
    # DuckDB's own `hash` may change with its version, so candidates are drawn by md5.
    drawn = [exp.Ordered(this=x) for x in (exp.Anonymous(this="md5", expressions=[key]), entity.copy())]
    place = exp.Window(
        this=exp.RowNumber(), partition_by=[example.copy(), truth.copy()], order=exp.Order(expressions=drawn)
    )
    true = exp.Window(this=exp.Anonymous(this="count_if", expressions=[truth.copy()]), partition_by=[example.copy()])
    placed = exp.select(example, entity, truth, named(true, "positives"), named(place, "place")).from_("found")
    kept = _kept(ratio, cap)
    chosen = exp.select(example, entity, truth).from_("placed")
    return [*steps, ("placed", placed), ("candidate", chosen if kept is None else chosen.where(kept))]


def _kept(ratio: float | None, cap: int | None) -> exp.Expr | None:
    """Return the condition that a candidate is among those that are drawn, None where all are."""
    limits: list[exp.Expr] = [] if cap is None else [column("place") <= exp.convert(int(cap))]
    if ratio is not None:
        positives: exp.Expr = column("positives")
        if cap is not None:
            positives = exp.func("least", positives, exp.convert(int(cap)), dialect="duckdb")
        most = exp.func("floor", exp.Mul(this=exp.convert(ratio), expression=positives))
        limits.append(exp.or_(column(TRUTH), column("place") <= most))
    return exp.and_(*limits) if limits else None


def _restricted(graph: GraphConnection, name: str, relation: object) -> exp.Select:
    """Select the rows of a relation whose entities are all candidates of a centre."""
    source, chosen = relation, None
    if isinstance(relation, Sequence) and not isinstance(relation, str):
        if len(relation) != 2:
            raise InputError(f"{name}: give a table or query, or a pair of it and the columns that are entities")
        source, chosen = relation
    table, columns = _read(graph, name, source)
    entities = columns if chosen is None else [chosen] if isinstance(chosen, str) else list(chosen)
    unknown = [each for each in entities if each not in columns]
    if unknown:
        raise InputError(f"{name} has no column {unknown[0]!r} of entities (columns: {', '.join(columns)})")
    if not entities:
        raise InputError(f"{name} names no column of entities, so that nothing says whose subgraph a row is in")
    for each in (EXAMPLE, TRUTH):
        if each in columns:
            raise InputError(
                f"{name} has a column {each}, which a stream has a meaning for: select it under another name"
            )
    query = exp.select(column(EXAMPLE, "c0"), *(column(each, "r") for each in columns)).distinct()
    query = query.from_(_from(table, "r"))
    for i, each in enumerate(entities):
        same: exp.Condition = column("entity", f"c{i}").eq(column(each, "r"))
        if i:
            same = exp.and_(same, column(EXAMPLE, f"c{i}").eq(column(EXAMPLE, "c0")))
        query = query.join(exp.alias_(exp.to_table("candidate"), f"c{i}", table=True), on=same)
    return query


def _written(steps: Sequence[tuple[str, exp.Query]], query: exp.Select) -> str:
    """Return a query with the steps before it, in lines to be read; its rows are sorted."""
    for name, step in steps:
        query = query.with_(name, as_=step.copy())
    places = [exp.Ordered(this=exp.convert(i + 1)) for i in range(len(query.selects))]
    return query.order_by(*places).sql(dialect="duckdb", pretty=True)
