"""WeightedNetwork networks as files for outside solvers, and the worlds that such solvers send back."""
