"""Self-diagnosis of a model on data, and transfer: revising only the clauses that it marks."""
