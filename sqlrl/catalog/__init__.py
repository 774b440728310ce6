"""Predicates and their tables: types, examples, scopes, loaders and migrations."""
