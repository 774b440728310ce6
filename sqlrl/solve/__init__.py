"""The most probable world of a ground network, and counts in a world; it knows arrays and weights, no SQL."""
