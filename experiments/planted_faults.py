"""Models with faults that are known: correct rules about machines, data that follow them, and the same rules with five faults.

The faults are those that a person makes: a literal too many (`surplus`), one too few (`missing`), a flipped sign (`sign`), a wrong constant
(`constant`), and a rule that holds for half of a type (`half`: it speaks of all machines where only presses, exactly half of them, obey it). Each is
in a rule of its own, which the seed draws among those where the fault shows.

A diagnosis marks a clause where more than a tenth of its groundings speak against it, so the domain is dense: bodies are of what about half of
all machines have, and what a fault gets wrong is about a sixth of all groundings at least. Each conclusion follows from one rule, so that one
clause mends a fault.

The flipped sign is that of one of two literals of a body. With the head flipped, or the only literal of a body, a negative weight says of the
conclusion just what the correct rule says with a positive one, so that learned weights do not tell the two apart.

Data are skeletons that the most probable world of the correct model completes. Of what is concluded a share `NOISE` is drawn by a coin instead.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Literal

import numpy as np
from relations import Relations, Tuple
from skeletons import Domain, Skeleton, complete

import sqlrl

Kind = Literal["surplus", "missing", "sign", "constant", "half"]

KINDS: tuple[Kind, ...] = ("half", "constant", "surplus", "missing", "sign")
"""In the order in which rules are drawn for them: those with the least choice first."""

MACHINE = ("machine",)
SITES: Mapping[str, float] = {"North": 0.4, "South": 0.4, "West": 0.2}
"""The share of machines at each."""
SHARES: Mapping[str, float] = {"Press": 0.5, "Painted": 0.5, "Outdoor": 0.55, "Heavy": 0.6, "Serviced": 0.6}
"""The share of machines of which each predicate of the skeleton is true, independently of all else."""
HALF = "Press"
"""What is true of half of all machines, and what rules that hold for half of them lack."""
OPPOSITE: Mapping[str, str] = {"North": "South", "South": "North"}
"""What a wrong constant is: the site that is as frequent."""
NOISE = 0.08
"""The share of what is concluded that a coin decides."""
PRIOR = 0.5
"""The weight of each conclusion being false."""


@dataclass(frozen=True, slots=True)
class Planned:
    """A rule that concludes `head` from `body`, and the faults that show in it."""

    body: tuple[str, ...]
    head: str
    faults: tuple[Kind, ...]
    weight: float = 2.0

    @property
    def text(self) -> str:
        """The rule as it is written in a model, without its weight."""
        return " ^ ".join(self.body) + f" => {self.head}"


RULES = (
    Planned(("Heavy(x)", "Outdoor(x)"), "Worn(x)", ("missing", "sign")),
    Planned(("Site(x, North)", "Outdoor(x)"), "Cold(x)", ("missing", "constant", "sign")),
    Planned(("Site(x, South)",), "Noisy(x)", ("surplus", "constant")),
    Planned(("Site(x, North)",), "Drained(x)", ("surplus", "constant")),
    Planned(("Outdoor(x)", "Press(x)"), "Slow(x)", ("half", "sign")),
    Planned(("Serviced(x)", "Press(x)"), "Quick(x)", ("half", "sign")),
    Planned(("Heavy(x)", "Press(y)"), "Holds(x, y)", ("half", "sign")),
    # Stronger than what follows from it, else the most probable world would explain a coin's `Marks` by `Shares`.
    Planned(("Heavy(x)", "Serviced(y)"), "Shares(x, y)", ("missing", "sign"), 4.0),
    Planned(("Shares(x, y)", "Painted(y)"), "Marks(x, y)", ("missing", "sign")),
    Planned(("Painted(x)",), "Shown(x)", ("surplus",)),
    Planned(("Outdoor(x)",), "Rusty(x)", ("surplus",)),
)

CONCLUDED: Mapping[str, tuple[str, ...]] = {
    rule.head.partition("(")[0]: MACHINE * (1 + rule.head.count(",")) for rule in RULES
}
"""The predicates that rules conclude, with the types of their arguments."""

TYPES: Mapping[str, tuple[str, ...]] = {**dict.fromkeys(SHARES, MACHINE), "Site": ("machine", "site"), **CONCLUDED}


@dataclass(frozen=True, slots=True)
class Fault:
    """A faulty rule and the correct one that it stands for, both at the same place of their models.

    Parameters
    ----------
    kind : Kind
    place : int
        From 0.
    correct, faulty : str
        The rules, without weights.
    """

    kind: Kind
    place: int
    correct: str
    faulty: str


@dataclass(frozen=True, slots=True)
class PlantedFaults:
    """A correct model, one with faults, and data of the correct one.

    Parameters
    ----------
    correct, faulty : sqlrl.Model
        `RULES` in order, then the unit clauses that say that conclusions are false, which have no fault.
    faults : tuple of Fault
        One of each kind, in the order of their places.
    train, held_out : Relations
        Without a target: all facts are observed.
    """

    correct: sqlrl.Model
    faulty: sqlrl.Model
    faults: tuple[Fault, ...]
    train: Relations
    held_out: Relations


def plant(seed: int, train: int = 8, held_out: int = 3, machines: int = 16) -> PlantedFaults:
    """Draw faults and make data.

    Parameters
    ----------
    seed : int
    train, held_out : int
        How many examples to learn from, and others.
    machines : int
        How many each has, a multiple of 2 from 10 on.

    Returns
    -------
    PlantedFaults
    """
    if machines < 10 or machines % 2:
        raise ValueError(f"machines={machines}: half of them are presses, so give an even number, 10 or more")
    for name, number in (("train", train), ("held_out", held_out)):
        if number < 1:
            raise ValueError(f"{name}={number}: give the number of examples, 1 or more")
    faults = draw_faults(np.random.default_rng((seed, 0)))
    faulty = {fault.place: fault.faulty for fault in faults}
    rules = [rule.text for rule in RULES]
    correct, wrong = (_domain(x) for x in (rules, [faulty.get(k, text) for k, text in enumerate(rules)]))
    skeletons = {f"plant{k:02d}": draw_skeleton((seed, 1, k), machines) for k in range(train + held_out)}
    found = complete(correct, skeletons)
    names = list(skeletons)
    parts = [{name: found.areas[name] for name in some} for some in (names[:train], names[train:])]
    return PlantedFaults(
        correct.model(), wrong.model(), faults, *(Relations(None, correct.types, part) for part in parts)
    )


def _domain(rules: Sequence[str]) -> Domain:
    """Return the predicates with rules in the places of `RULES`, whose weights they have, and what says that conclusions are false."""
    priors = [f"{PRIOR} !{name}({', '.join('xy'[: len(types)])})" for name, types in CONCLUDED.items()]
    weighted = [f"{rule.weight} {text}" for rule, text in zip(RULES, rules, strict=True)]
    return Domain("machines", TYPES, tuple(CONCLUDED), "\n".join([*weighted, *priors]))


# ---- faults ----------------------------------------------------------------------------------------------------------


def draw_faults(random: np.random.Generator) -> tuple[Fault, ...]:
    """Draw a rule for each kind of fault, no rule twice, and put the fault into it."""
    places: dict[int, Kind] = {}
    for kind in KINDS:
        able = [k for k, x in enumerate(RULES) if k not in places and kind in x.faults]
        places[able[int(random.integers(len(able)))]] = kind
    return tuple(
        Fault(kind, place, RULES[place].text, _with_fault(RULES[place], kind, random).text)
        for place, kind in sorted(places.items())
    )


def _with_fault(rule: Planned, kind: Kind, random: np.random.Generator) -> Planned:
    """Return a rule with a fault."""

    def one(of: Sequence[str]) -> str:
        return of[int(random.integers(len(of)))]

    body = list(rule.body)
    if kind == "surplus":
        body.append(one([x for x in ("Painted(x)", f"{HALF}(x)") if x not in body]))
    elif kind == "missing":
        # One with a constant is another fault, and another repair.
        body.remove(one([x for x in body if not x.startswith("Site")]))
    elif kind == "half":
        body = [x for x in body if not x.startswith(HALF)]
    elif kind == "constant":
        (site,) = (x for x in OPPOSITE if any(x in literal for literal in body))
        body = [x.replace(site, OPPOSITE[site]) for x in body]
    else:
        flipped = one(body)
        body = [f"!{x}" if x == flipped else x for x in body]
    return Planned(tuple(body), rule.head, rule.faults)


# ---- data ------------------------------------------------------------------------------------------------------------


def draw_skeleton(seed: Sequence[int], machines: int) -> Skeleton:
    """Draw what is true of machines, exact shares of them, and what a coin concludes."""
    random = np.random.default_rng(seed)
    names = [f"m{k:02d}" for k in range(machines)]
    known: dict[str, dict[Tuple, bool]] = {
        name: {(names[k],): True for k in sorted(random.permutation(machines)[: round(share * machines)].tolist())}
        for name, share in SHARES.items()
    }
    ends = [round(x * machines) for x in np.cumsum(list(SITES.values())).tolist()]
    order = random.permutation(machines).tolist()
    known["Site"] = {
        (names[k], site): True
        for site, first, end in zip(SITES, (0, *ends), ends, strict=False)
        for k in sorted(order[first:end])
    }
    for name, types in CONCLUDED.items():
        rows = list(product(names, repeat=len(types)))
        noise, coins = random.random(len(rows)) < NOISE, random.random(len(rows)) < 0.5
        known[name] = {row: bool(coin) for row, x, coin in zip(rows, noise, coins, strict=True) if x}
    return Skeleton({"machine": names, "site": list(SITES)}, known)
