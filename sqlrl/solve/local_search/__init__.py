"""Local search for the most probable world: MaxWalkSAT, its moves and its incremental costs."""
