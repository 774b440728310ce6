"""Online learning from many small examples: steps in compiled code against steps that solve each example by itself, and tables against rows.

Made-up documents of a few words: an atom for each place, a clause for each word, and one that joins places. Chains are forests, the
places of a ring or of a clique are components of small treewidth; both ways take the same steps. Citations are those of the README's chain,
whose template of neighbouring fields is a tied table; the other way lists its ground clauses.

    python scripts/bench/steps.py [--quick] [--seed N] [--db FILE] [--json FILE]
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import combinations, pairwise

import numpy as np
from rounds import in_turns, publish, read_options, spread

import sqlrl
from sqlrl.demo import MODEL, generate
from sqlrl.ground.network import Network, TiedRows
from sqlrl.ground.program import Extent
from sqlrl.ground.windows import Window, grounded
from sqlrl.learn import AdaGrad
from sqlrl.learn.arrays import new_tally
from sqlrl.learn.rules import grown, new_state
from sqlrl.learn.slices import cut
from sqlrl.learn.steps import learn_examples
from sqlrl.solve.randomness import streams
from sqlrl.solve.sample_networks import network
from sqlrl.training.labels import Names

WORDS = 50
SHAPES: dict[str, tuple[int, Callable[[range], list[tuple[int, int]]]]] = {
    "chain of 6": (6, lambda places: list(pairwise(places))),
    "ring of 6": (6, lambda places: [*pairwise(places), (places[0], places[-1])]),
    "clique of 3": (3, lambda places: list(combinations(places, 2))),
    "clique of 6": (6, lambda places: list(combinations(places, 2))),
}
"""How many places a document has, and which of them the last clause joins."""


def documents(count: int, shape: str, seed: int) -> Window:
    """Return documents with labels that their words and their neighbours tell."""
    size, pairs = SHAPES[shape]
    draw = np.random.default_rng(seed)
    words = draw.integers(WORDS, size=count * size)
    ground = [(int(word), [atom + 1]) for atom, word in enumerate(words)]
    for first in range(0, count * size, size):
        ground += [(WORDS, [-(a + 1), b + 1]) for a, b in pairs(range(first, first + size))]
    made: Network = network(
        count * size,
        ground,
        clauses=WORDS + 1,
        prior=draw.normal(scale=0.01, size=count * size).tolist(),
        example=np.repeat(np.arange(count), size).tolist(),
    )
    truth = (words % 3 + draw.integers(2, size=len(words))) % 3 > 0
    return Window(np.arange(count), made, truth, np.ones(len(truth), dtype=np.bool_))


def citations(count: int, seed: int) -> Window:
    """Return citations with the README's chain."""
    made = generate(count, seed=seed)
    with sqlrl.connect(progress=False) as db:
        db.load("Token", made.token, example="bib")
        db.load("Next", made.next, types=("position", "position"))
        db.load("InField", made.field, target=True)
        with db.advanced.program(sqlrl.parse_mln(MODEL)) as program:
            program.expand()
            return grounded(Extent(program), np.arange(count), None)


def listed(window: Window) -> Window:
    """Return the same examples with their ground clauses listed, each time anew."""
    rows = window.network.rows
    return replace(window, network=replace(window.network, rows=rows.whole() if isinstance(rows, TiedRows) else rows))


def learn(window: Window, compiled: bool = True) -> None:
    """Take a step for each example."""
    parameters, clauses = AdaGrad().parameters(), len(window.network.clauses)
    state = grown(new_state(parameters.rates), clauses)
    slices, random = cut(window.network, window.examples), streams(parameters.seed, 1)[0]
    learn_examples(slices, window.truth, state, new_tally(clauses), parameters, Names(), random, compiled=compiled)


def main() -> None:
    """Print the table."""
    options = read_options("Online learning from small examples: seconds for all steps, in two ways.", needs=None)
    count, rounds = (50, 2) if options.quick else (1_000, 5)
    rows: list[dict[str, object]] = []

    def measure(examples: str, window: Window, beside: str, other: Callable[[], object]) -> None:
        """Add the row of some examples."""
        times = in_turns({"compiled": partial(learn, window), "other": other}, rounds=rounds)
        medians = {name: statistics.median(seconds) for name, seconds in times.items()}
        rows.append(
            {
                "examples": examples,
                **{name: spread(seconds) for name, seconds in times.items()},
                "the_other": beside,
                "ratio": round(medians["other"] / medians["compiled"], 1),
                "microseconds_a_step": round(1e6 * medians["compiled"] / len(window.examples), 1),
            }
        )

    for shape in SHAPES:
        window = documents(count, shape, options.seed)
        measure(shape, window, "one by one", partial(learn, window, False))
    made = citations(count, options.seed)
    measure("citations", made, "rows listed", lambda: learn(listed(made)))
    parameters = {"examples": count, "rounds": rounds}
    publish("bench_steps", rows, options, title="steps of online learning", parameters=parameters, details=rows)


if __name__ == "__main__":
    main()
