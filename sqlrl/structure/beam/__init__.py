"""Clauses of a generative model: beam search and shortest-first search by pseudo-likelihood."""
