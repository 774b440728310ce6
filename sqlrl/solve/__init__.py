"""Inference in a ground network: most probable worlds, marginals, and counts in a world; arrays and weights, no SQL.

`mpe` and `marginal` are the two ways in. Both fold the weights in (`weighted`), split what is left into components and take
for each the cheapest method that is exact: `elimination` (with `treewidth`), `cut`, `relaxation` and `rounding`, `cpsat`; or
they search and sample (`local_search`, `sampling`). `cutting_plane` grounds only what it needs; `exchange` writes files for others.
"""
