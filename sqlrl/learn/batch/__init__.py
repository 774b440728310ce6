"""Batch learners of weights: they see all training examples at once."""
