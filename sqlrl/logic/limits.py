"""How much the readers take: each limit is one value here, and what is beyond it is an error that shows the place.

Without them a text of a few kilobytes ends in Python's own limits of recursion and digits, or fills the memory.
"""

from __future__ import annotations

DEEPEST = 60
"""How deeply a formula, or brackets in a value, may nest; later stages recurse several times for each level, so it is no option."""

DEEPEST_JSON = 100
"""How deeply the brackets of JSON may nest; that of a model has five levels."""

DEEPEST_INCLUDE = 60
"""How many files may include each other in a row."""

LARGEST_RANGE = 1_000_000
"""How many constants the ranges `{1, ..., 9}` of one program may have, all together, unless its reader is told otherwise."""

LONGEST_INTEGER = 1000
"""Digits of an integer with which sqlrl computes; Python itself converts no more than 4300."""

LONGEST_NUMBER = 9
"""Digits of an integer that counts something."""

LARGEST_FORM = 2000
"""How many conjunctions (or clauses) a formula may expand to."""

LONGEST_CLAUSE = 250
"""How many literals a reader takes in one clause or rule."""

MOST_JOINED = 100
"""How many literals a clause may have that is grounded or counted: each is a table that its queries join, and a verb of such a clause took 27 s
for 100 literals about one variable, and did not end in four minutes for 240, nearly all of it while DuckDB orders the joins, which no Ctrl-C stops."""

MOST_ATOMS = 250
"""How many atoms a formula may have that is neither a clause nor a conjunction: its diagram is built by recursion over them."""

MOST_CANDIDATES = 10_000
"""How many candidates a grammar may expand to unless its caller says otherwise: each is one formula that a learner counts and weighs."""
