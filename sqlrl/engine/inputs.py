"""What a query of the user's reads, by the tree that DuckDB makes of it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

_FILES = frozenset(
    f"{kind}{end}"
    for kind in (
        "read_csv", "read_json", "read_ndjson", "read_json_objects", "read_ndjson_objects", "read_parquet", "read_text", "read_blob",
        "parquet_scan", "parquet_schema", "parquet_metadata", "parquet_file_metadata", "parquet_kv_metadata", "sniff_csv", "glob",
    )
    for end in ("", "_auto")
)  # fmt: skip
"""Functions that read the files that their arguments name."""

_VALUES = frozenset({"range", "generate_series", "unnest", "repeat", "repeat_row", "json_each", "json_tree"})
"""Functions of which the rows follow from the arguments."""

_WRITTEN = frozenset({"list_value", "struct_pack", "getvariable"})
"""Functions by which constants and variables are written down."""


@dataclass(frozen=True)
class QueryInputs:
    """What a query reads."""

    # Database, schema and name of tables and views, "" where the query says none.
    tables: frozenset[tuple[str, str, str]]
    # False if it may read more than these, the files that it names in quotes and the values of its variables: by a macro, by a function that looks
    # into the catalog, or from a file whose name is computed.
    complete: bool


def reads_files(function: str) -> bool:
    """Whether a table function, by its name in small letters, reads the files that its arguments name."""
    return function in _FILES


def looks_elsewhere(function: str) -> bool:
    """Whether a table function, by its name in small letters, reads what its arguments do not name as it is written."""
    return (
        function in ("query", "query_table")
        or function.startswith(("duckdb_", "pragma_"))
        or function.endswith("_scan")
    )


def inputs_of(tree: Any, there: Collection[str], macros: Collection[str]) -> QueryInputs:
    """Return what a parsed query reads; `there` are all tables and views, `macros` the user's macros in lower case."""
    found, common, complete = set[tuple[str, str, str]](), set[str](), True
    nodes: list[Any] = [tree]
    while nodes:
        node = nodes.pop()
        if isinstance(node, Mapping):
            kind = node.get("type")
            if kind == "BASE_TABLE":
                found.add((node["catalog_name"], node["schema_name"], node["table_name"]))
            elif kind == "TABLE_FUNCTION":
                complete = complete and _is_known(node["function"])
            elif kind == "SHOW_REF" and node.get("query") is None:
                complete = False
            elif kind == "FUNCTION":
                complete = complete and node["function_name"].lower() not in macros and _is_named(node)
            common.update(each["key"] for each in node.get("cte_map", {}).get("map", ()))
            nodes += node.values()
        elif isinstance(node, list):
            nodes += node
    # Names of common tables are among the tables only if there are tables of these names, too.
    tables = {each for each in found if each[0] or each[1] or each[2] not in common or each[2] in there}
    return QueryInputs(frozenset(tables), complete)


def _is_known(function: Mapping[str, Any]) -> bool:
    """Whether the rows of a table function follow from what its arguments say as they are written."""
    name = function["function_name"].lower()
    return name in _VALUES or (name in _FILES and _is_written(function["arguments"]))


def _is_named(function: Mapping[str, Any]) -> bool:
    """Whether a function asks for no variable, or for one whose name is written down."""
    named = all(each["expression"]["class"] == "CONSTANT" for each in function["arguments"])
    return named or function["function_name"].lower() != "getvariable"


def _is_written(node: Any) -> bool:
    """Whether no function computes a value, which could be the name of a file."""
    if isinstance(node, Mapping):
        if node.get("class") in ("FUNCTION", "OPERATOR", "CASE", "SUBQUERY", "LAMBDA"):
            listed = node.get("function_name") in _WRITTEN or node.get("type") == "ARRAY_CONSTRUCTOR"
            return listed and all(map(_is_written, node.values()))
        return all(map(_is_written, node.values()))
    return all(map(_is_written, node)) if isinstance(node, list) else True
