"""Elimination orders and tables for components of small treewidth over block variables."""
