"""Pseudo-likelihood: each atom given all others, whatever its predicate."""
