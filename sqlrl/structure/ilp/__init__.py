"""Inductive logic programming: clauses from bottom clauses, scored by what they cover."""
