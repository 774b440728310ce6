"""Inference in a ground network: most probable worlds, marginals, and counts in a world; arrays and weights, no SQL.

`mpe` and `marginal` are the two ways in. Both fold the weights in (`weighed`), split what is left into components and take
for each the cheapest method that is exact: `elimination` (with `treewidth`), `cut`, `relaxation` and `rounding`, `cpsat`; or
they search and sample (`walking`, `sampling`). `cutting` grounds only what it needs; `exchange` writes files for others.
"""
