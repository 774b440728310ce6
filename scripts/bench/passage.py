"""Through how many modules of sqlrl the README's `fit`, `predict`, `count` and `OSL.fit` pass: a sign of its grain, never an aim.

A module counts if one of its functions runs during the call, in whatever thread; that it is imported does not count, and what numba
compiled is not seen. All is done once before, so that nothing is imported or compiled for the first time while modules are counted.

    python scripts/bench/passage.py [-v] [--citations N]
"""

from __future__ import annotations

import argparse
import inspect
import os
import sys
import tempfile
import threading
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType

import sqlrl
from sqlrl.demo import MODEL, generate

MODES = """
modeP(2, Token(#-, +, .))
modeP(1, Next(-, -))
modeP(2, InField(., #., +))
"""


FOLDER = str(Path(sqlrl.__file__).parent) + os.sep


def modules_of(work: Callable[[], object]) -> list[str]:
    """Return the modules of sqlrl of which a function ran during a call, sorted.

    Functions that stand in its files count; methods that a decorator wrote, as those of dataclasses, do not.

    Examples
    --------
    >>> len(modules_of(lambda: sqlrl.parse_modes("modeP(1, Next(-, -))"))) > 1
    True
    >>> modules_of(lambda: None)
    []
    """
    found: set[str] = set()

    def seen(frame: FrameType, event: str, _: object) -> None:
        """Called at each call of a function, and when it returns."""
        # Bodies of modules and of classes, which run while they are imported, are not optimised code.
        code = frame.f_code
        if event == "call" and code.co_flags & inspect.CO_OPTIMIZED and code.co_filename.startswith(FOLDER):
            found.add(str(frame.f_globals["__name__"]))

    before = sys.getprofile()
    threading.setprofile(seen)
    sys.setprofile(seen)
    try:
        work()
    finally:
        sys.setprofile(before)
        threading.setprofile(None)
    return sorted(found)


def session(citations: int) -> dict[str, list[str]]:
    """Return the modules through which each call of the README's session passes, on a file of its own."""
    made = generate(citations, seed=0)
    names = made.citations
    train, test = names[: 3 * citations // 4], names[3 * citations // 4 :]
    model = sqlrl.parse_mln(MODEL)
    nothing = model.with_rules(model.rules[2:])
    found: dict[str, list[str]] = {}
    with tempfile.TemporaryDirectory() as folder, sqlrl.connect(Path(folder, "cite.duckdb")) as db:
        db.load("Token", made.token, example="bib")
        db.load("Next", made.next, types=("position", "position"))
        db.load("InField", made.field, target=True)
        learner, osl = sqlrl.AdaGrad(), sqlrl.OSL(sqlrl.parse_modes(MODES), min_count_difference=1)
        found["fit"] = modules_of(lambda: learner.fit(db, model, examples=train))
        found["predict"] = modules_of(lambda: db.predict(learner.model_, examples=test))
        found["count"] = modules_of(lambda: db.count(model))
        found["OSL.fit"] = modules_of(lambda: osl.fit(db, nothing, examples=train, checkpoint=True))
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a line for each call, or with `-v` also the names."""
    parser = argparse.ArgumentParser(description="Through how many modules of sqlrl calls of the README pass.")
    parser.add_argument("-v", "--verbose", action="store_true", help="also the names of the modules")
    parser.add_argument("--citations", type=int, default=60, metavar="N", help="size of the data (default 60)")
    given = parser.parse_args(arguments)
    if given.citations < 4:
        parser.error(f"--citations must be 4 or more, not {given.citations}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        session(4)
        found = session(given.citations)
    for call, modules in found.items():
        print(f"{call}: {len(modules)} modules")
        for name in modules if given.verbose else ():
            print(f"  {name}")


if __name__ == "__main__":
    main()
