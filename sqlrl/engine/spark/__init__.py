"""Plans on a server of Spark Connect: the tables of a DuckDB database are mirrored there, and only results come back."""
