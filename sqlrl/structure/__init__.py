"""Clause finders: they receive facts, bindings and counts, never SQL."""
