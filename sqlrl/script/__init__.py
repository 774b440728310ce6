"""SQL scripts: statements of DuckDB's SQL, and those that load predicates, learn models and ask them."""
