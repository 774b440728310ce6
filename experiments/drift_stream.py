"""A stream of subgraphs whose rules change half-way: posts, who sees them, and who shares them.

A subgraph is a post with the readers who see it, one after the other. Predicates: `Is(q, trait)`, what reader q is to the post; `Sees(p, q, tie)`, that
q sees what p shares, who saw the post before q; and `Shares(q)`, which is to be predicted. Names of readers say nothing.

Whoever has a reason shares the post with `CHANCE`, whoever has none with `NOISE`, and nothing else decides. So the chance of each planted rule is
exact, however many reasons a reader has:

- n = 1: Is(q, S) ^ Is(q, T) => Shares(q), who has both of two traits.
- n = 2: Is(q, T) ^ Sees(p, q, R) ^ Shares(p) => Shares(q), who has a trait and sees by one kind of tie that somebody shares it.

One rule of each kind is always there, one ends half-way, and one begins then. What correlates and decides nothing: each of the traits alone and all
other pairs of them, each kind of tie without the trait, rules that have ended or not begun, `Fan`, who is a follower in `COPIED` of the cases and
anybody else, and `Neighbour`, the same of ties between friends. In the other direction, from q to p, the implications of n = 2 hold about half as often.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Kind = Literal["first", "second"]
Flags = npt.NDArray[np.bool_]
Facts = dict[str, pa.Table]

TRAITS = ("Follower", "Interested", "Named", "Local", "Online", "Fan")
TIES = ("Friend", "Kin", "Colleague", "Neighbour")
DECLARED = "Is(reader, trait)\nSees(reader, reader, tie)\nShares(reader)"

CHANCE, NOISE = 0.9, 0.05
"""How likely a reader shares who has a reason, and who has none."""
HAS = 0.2
"""How likely a reader has each trait: one reader in six shares then, which is sparse, as the paper assumes."""
READERS = 50
TIED = 3.0
"""Ties of each kind to a reader, from all others; half of them are there, from those who saw the post before."""
COPIED = 0.3
"""How often `Fan` and `Neighbour` are what `Follower` and `Friend` are."""


@dataclass(frozen=True, slots=True)
class Planted:
    """A rule; with a tie it is one of n = 2. `kinds` are the halves of the stream in which it is true."""

    traits: tuple[str, ...]
    tie: str | None
    kinds: tuple[Kind, ...]

    @property
    def formula(self) -> str:
        """The formulation that says it, as resolwe writes it."""
        evidence = [f"Is(q, {trait})" for trait in self.traits]
        if self.tie is None:
            return " ^ ".join([*evidence, "Shares(q)"])
        return " ^ ".join([*evidence, f"Sees(p, q, {self.tie})", "Shares(p)", "!Shares(q)"])


PLANTED = (
    Planted(("Follower", "Interested"), None, ("first", "second")),
    Planted(("Online",), "Friend", ("first", "second")),
    Planted(("Named", "Local"), None, ("first",)),
    Planted(("Follower",), "Kin", ("first",)),
    Planted(("Named", "Online"), None, ("second",)),
    Planted(("Local",), "Colleague", ("second",)),
)


def grammar() -> str:
    """Return the templates: up to two traits, and a kind of tie alone, with a trait of who sees, or of who is seen."""
    traits = ", ".join(f'Is(q, "{trait}")' for trait in TRAITS)
    ties = ", ".join(f'Sees(p, q, "{tie}")' for tie in TIES)
    return f"""
TRAITS(q) = {{{traits}}} compounder 2
TRAIT(q) = {{{traits}}}
TIE(p, q) = {{{ties}}}
TRAITS(q) ^ Shares(q)
TIE(p, q) ^ Shares(p) ^ Shares(q)
TRAIT(q) ^ TIE(p, q) ^ Shares(p) ^ Shares(q)
TRAIT(p) ^ TIE(p, q) ^ Shares(p) ^ Shares(q)
"""


@dataclass(frozen=True, slots=True)
class Post:
    """A subgraph of n readers, in the order in which they see the post.

    `traits` (n, traits), `ties` (kinds of tie, n, n) from who is seen to who sees, and `shares` (n,).
    """

    traits: Flags
    ties: Flags
    shares: Flags


def draw_post(random: np.random.Generator, kind: Kind, readers: int = READERS) -> Post:
    """Draw a post that some share and some do not; the others are drawn again, since nothing is learned from them."""
    while True:
        traits = random.random((readers, len(TRAITS))) < HAS
        ties = np.triu(random.random((len(TIES), readers, readers)) < TIED / (readers - 1), 1)
        for values, copy, of in (
            (traits.T, TRAITS.index("Fan"), TRAITS.index("Follower")),
            (ties, TIES.index("Neighbour"), TIES.index("Friend")),
        ):
            values[copy] = np.where(random.random(values[copy].shape) < COPIED, values[of], values[copy])
        shares = _shares(random, traits, ties, kind)
        if shares.any() and not shares.all():
            return Post(traits, ties, shares)


def _shares(random: np.random.Generator, traits: Flags, ties: Flags, kind: Kind) -> Flags:
    """Decide for one reader after the other."""
    true = [rule for rule in PLANTED if kind in rule.kinds]
    has: list[Flags] = [
        np.logical_and.reduce([traits[:, TRAITS.index(trait)] for trait in rule.traits]) for rule in true
    ]
    coin = random.random(len(traits))
    shares = np.zeros(len(traits), dtype=np.bool_)
    for q in range(len(traits)):
        reason = any(
            given[q] and (rule.tie is None or (shares & ties[TIES.index(rule.tie), :, q]).any())
            for rule, given in zip(true, has, strict=True)
        )
        shares[q] = coin[q] < (CHANCE if reason else NOISE)
    return shares


def window(kinds: Sequence[Kind], seed: Sequence[int], first: int = 0, readers: int = READERS) -> Facts:
    """Return some posts as tables, named from `first` on; the same seed gives the same bytes."""
    random = np.random.default_rng(seed)
    is_: list[tuple[str, str, str]] = []
    sees: list[tuple[str, str, str, str]] = []
    shares: list[tuple[str, str, bool]] = []
    for place, kind in enumerate(kinds, first):
        post, example = draw_post(random, kind, readers), f"post{place:05d}"
        names = [f"reader{i:02d}" for i in random.permutation(readers).tolist()]
        is_ += [(example, names[q], TRAITS[t]) for q, t in np.argwhere(post.traits).tolist()]
        sees += [(example, names[p], names[q], TIES[r]) for r, p, q in np.argwhere(post.ties).tolist()]
        shares += [(example, name, share) for name, share in zip(names, post.shares.tolist(), strict=True)]
    return {
        "Is": _table(("example", "reader", "trait"), is_),
        "Sees": _table(("example", "seen", "reader", "tie"), sees),
        "Shares": _table(("example", "reader", "truth"), shares),
    }


def _table(columns: Sequence[str], rows: Sequence[tuple[object, ...]]) -> pa.Table:
    return pa.table(dict(zip(columns, zip(*sorted(rows), strict=True), strict=True)))


@dataclass(frozen=True, slots=True)
class Stream:
    """So many posts in windows; with `changes` the second half is of the second kind.

    Each window has a seed of its own, so that parts of a stream are those of the whole.
    """

    seed: int
    posts: int
    size: int
    changes: bool = True

    def __post_init__(self) -> None:
        if self.size < 1 or self.posts < 1 or self.posts % (2 * self.size):
            raise ValueError(
                f"posts={self.posts} in windows of size={self.size}: give a multiple of two windows, so that the change is between two"
            )

    @property
    def half(self) -> int:
        """How many posts come before the change."""
        return self.posts // 2

    def windows(self, begin: int = 0) -> Iterator[Facts]:
        """Yield the windows from a post on, with which one begins."""
        if begin % self.size:
            raise ValueError(f"begin={begin}: no window of {self.size} posts begins there")
        for first in range(begin, self.posts, self.size):
            kind: Kind = "second" if self.changes and first >= self.half else "first"
            yield window([kind] * self.size, (self.seed, 0, first // self.size), first)

    def held_out(self, posts: int) -> Facts:
        """Return posts of the second kind that are not in the stream."""
        return window(["second"] * posts, (self.seed, 1), self.posts)
