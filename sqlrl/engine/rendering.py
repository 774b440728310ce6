"""SQL that means the same whatever orders are the default: of statements by themselves, not of what users write."""

from __future__ import annotations

from sqlglot import exp
from sqlglot.generators.duckdb import DuckDBGenerator


class _Generator(DuckDBGenerator):
    # DuckDB's own leaves out what its settings default_order and default_null_order are by default; a user may have set others.

    def order_sql(self, expression: exp.Order, flat: bool = False) -> str:
        """Return ORDER BY, with expressions alone taken as ascending."""
        keys = [key if isinstance(key, exp.Ordered) else exp.Ordered(this=key) for key in expression.expressions]
        expression.set("expressions", keys)
        return super().order_sql(expression, flat)

    def ordered_sql(self, expression: exp.Ordered) -> str:
        """Return a key of an order with its direction and the place of NULL."""
        direction, place = (expression.args.get(name) for name in ("desc", "nulls_first"))
        return f"{self.sql(expression, 'this')} {'DESC' if direction else 'ASC'} NULLS {'FIRST' if place else 'LAST'}"

    def sorted_list(self, expression: exp.ArraySort) -> str:
        """Return a list in ascending order, the only one of plans."""
        order = map(exp.Literal.string, ("ASC", "NULLS LAST"))
        return self.func("LIST_SORT", expression.this, *order)

    TRANSFORMS = {**DuckDBGenerator.TRANSFORMS, exp.ArraySort: sorted_list}  # noqa: RUF012


def rendered(statement: exp.Expr) -> str:
    """Return a statement as SQL of DuckDB's in which each order states its direction and where NULL stands.

    Examples
    --------
    >>> rendered(exp.select("x").from_("t").order_by(exp.column("x"), exp.column("y").desc()))
    'SELECT x FROM t ORDER BY x ASC NULLS LAST, y DESC NULLS LAST'
    """
    # The generator writes what it makes of a node into it (above, keys of an order): that is the same the next time.
    return _Generator(dialect="duckdb").generate(statement, copy=False)
