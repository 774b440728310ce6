"""Online structure learning: clauses from paths through the true atoms around wrong predictions, with their weights."""
