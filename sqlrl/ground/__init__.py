"""Programs over data: clauses by shape, ground networks as arrays, exact counts, names for what users see."""
