"""What a dialect cannot say as it is planned, and what it says instead."""

from __future__ import annotations

from sqlglot import exp

_INTEGERS = {"spark": "DECIMAL(38, 0)"}
"""What stands for 128-bit integers in a dialect that has none. 38 digits are 126 bits; Spark's ANSI mode reports overflow."""

_INT128 = exp.DataType.Type.INT128


def for_dialect(query: exp.Expression, dialect: str) -> exp.Expression:
    """Return a query in the types of a dialect.

    Parameters
    ----------
    query : exp.Expression
        As planned: counts are INT128, DuckDB's HUGEINT.
    dialect : str
        sqlglot's name.

    Returns
    -------
    exp.Expression
        The query itself if the dialect has all of its types, else a copy. A sum is widened before it is taken: DuckDB
        adds up BIGINT in 128 bits by itself, Spark does not.

    Examples
    --------
    >>> from sqlrl.engine.nodes import cast, star_count
    >>> for_dialect(cast(star_count(), "HUGEINT"), "spark").sql("spark")
    'CAST(COUNT(*) AS DECIMAL(38, 0))'
    >>> once = exp.select("x").from_("a").with_("a", as_=exp.select("x"), materialized=True)
    >>> once.sql("duckdb"), for_dialect(once, "spark").sql("spark")
    ('WITH a AS MATERIALIZED (SELECT x) SELECT x FROM a', 'WITH a AS (SELECT x) SELECT x FROM a')
    >>> from sqlrl.engine.nodes import column
    >>> for_dialect(cast(exp.Sum(this=column("n")), "HUGEINT"), "spark").sql("spark")
    'SUM(CAST(`n` AS DECIMAL(38, 0)))'
    """
    if dialect not in _INTEGERS:
        return query
    exact = exp.DataType.build(_INTEGERS[dialect], dialect=dialect)

    def widened(node: exp.Expression) -> exp.Expression:
        """Cast what a sum adds in place of the sum, which would overflow before."""
        if isinstance(node, exp.Cast) and node.to.is_type(_INT128) and isinstance(node.this, exp.Sum):
            return exp.Sum(this=exp.cast(node.this.this, node.to))
        return node

    def replaced(node: exp.Expression) -> exp.Expression:
        """Return the dialect's type for 128-bit integers."""
        return exact.copy() if isinstance(node, exp.DataType) and node.is_type(_INT128) else node

    def unhinted(node: exp.Expression) -> exp.Expression:
        """Take away that a named step is computed once, which is DuckDB's to say."""
        if isinstance(node, exp.CTE) and node.args.get("materialized"):
            node.set("materialized", None)
        return node

    return query.transform(widened).transform(replaced).transform(unhinted)
