"""From a shape to one query: grounding, counting, expansion. It knows sqlglot and layouts, but no connection."""
