"""Mode-guided relational path finding: from the true atoms of examples to candidate clauses."""
