"""Aleph's search, one clause at a time, as its program reads: what the vectorised search must find."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import permutations

from sqlrl.logic.bias import Bias
from sqlrl.logic.components import BodyLiteral
from sqlrl.structure.ilp.settings import ILPParameters
from tests.structure.ilp.worlds import PythonSource, covers


@dataclass
class Bottom:
    head: tuple[int, ...]
    literals: list[BodyLiteral]
    needs: list[list[set[int]]]
    start: set[int]
    wanted: set[int]


def bottom_clause(source: PythonSource, seed: int, depth: int) -> Bottom:
    """Turn the constants around a seed into variables."""
    bias, target = source.bias, source.targets[seed]
    h = bias.head.arity
    names: dict[tuple[str, int], int] = {}
    head: list[int] = []
    for i, (place, value) in enumerate(zip(bias.head.places, target, strict=True)):
        if place.kind == "#":
            head.append(-1 - value)
        else:
            head.append(names.setdefault((place.type, value), i))
    start = {t for place, t in zip(bias.head.places, head, strict=True) if place.kind == "+"}
    outputs = {t for place, t in zip(bias.head.places, head, strict=True) if place.kind == "-"}
    around = sorted((at, mode, fact) for (mode, fact), at in source._around(target, depth).items())
    literals: list[BodyLiteral] = []
    needs: list[list[set[int]]] = []
    fresh = h
    for _, mode, fact in around:
        terms: list[int] = []
        for place, value in zip(bias.body[mode].places, fact, strict=True):
            if place.kind == "#":
                terms.append(-1 - value)
                continue
            if (place.type, value) not in names:
                names[place.type, value] = fresh
                fresh += 1
            terms.append(names[place.type, value])
        literal = BodyLiteral(source.predicates.index(bias.body[mode].predicate), tuple(terms))
        inputs = {t for place, t in zip(bias.body[mode].places, terms, strict=True) if place.kind == "+"}
        if literal not in literals:
            literals.append(literal)
            needs.append([])
        needs[literals.index(literal)].append(inputs)
    return Bottom(tuple(head), literals, needs, start, outputs - start)


def score(evaluation: str, m: float | None, prior: float, p: int, n: int, length: int) -> float:
    """Aleph's evaluation functions, by hand."""
    if p + n == 0:
        return -math.inf
    if evaluation == "coverage":
        return p - n
    if evaluation == "compression":
        return p - n - length + 1
    if evaluation == "accuracy":
        return p / (p + n)
    if evaluation == "laplace":
        return (p + 1) / (p + n + 2)
    k = m if evaluation == "mestimate" and m is not None else math.sqrt(p + n)
    return (p + k * prior) / (p + n + k)


@dataclass
class Searched:
    nodes: int = 0
    best: tuple[float, frozenset[int]] | None = None
    kept: list[frozenset[int]] = field(default_factory=list)


def search(
    source: PythonSource, bottom: Bottom, parameters: ILPParameters, counting: Sequence[bool], m: float | None = None
) -> Searched:
    """Take clause after clause from the list of open ones: the shortest, among these the best, among these the oldest."""
    out, done = Searched(), False
    prior = sum(source.labels) / len(source.labels)
    total = sum(source.labels)

    def judge(body: frozenset[int]) -> tuple[int, int, float]:
        covered = covers(source, bottom.head, [bottom.literals[i] for i in body])
        p = sum(c and t for c, t in zip(covered, counting, strict=True))
        n = sum(c and not t for c, t in zip(covered, source.labels, strict=True))
        return p, n, score(parameters.evaluation, m, prior, p, n, len(body) + 1)

    def hope(p: int, length: int) -> float:
        return score(parameters.evaluation, m, prior, p, 0, length)

    bar = -math.inf
    if parameters.above_seed and parameters.evaluation != "accuracy":
        bar = score(parameters.evaluation, m, prior, 1, 0, 2)

    def meet(body: frozenset[int]) -> tuple[int, float] | None:
        """Score a clause; return what orders it if it is open."""
        nonlocal done
        out.nodes += 1
        best = out.best[0] if out.best else bar
        p, n, value = judge(body)
        if p < parameters.min_positive or (not parameters.explore and hope(p, len(body) + 1) <= best):
            done = done or out.nodes >= parameters.nodes
            return None
        known = bottom.start.union(*(t for i in body for t in [{x for x in bottom.literals[i].terms if x >= 0}]))
        allowed = n <= parameters.noise and p >= parameters.min_accuracy * (p + n) and bottom.wanted <= known
        kind = "mestimate" if parameters.evaluation == "mestimate" else "auto_m"
        if allowed and value >= parameters.min_score and value > best:
            out.best = (value, body)
            done = done or (not parameters.explore and p == total)
        if allowed and parameters.keep_above is not None and score(kind, m, prior, p, n, 1) > parameters.keep_above:
            out.kept.append(body)
        done = done or out.nodes >= parameters.nodes
        return p, value

    seen: set[frozenset[int]] = set()
    layer: list[tuple[float, int, frozenset[int]]] = []
    first = meet(frozenset())
    if first is not None:
        layer = [(first[1], first[0], frozenset())]
    for length in range(2, parameters.clause_length + 1):
        following: list[tuple[float, int, frozenset[int]]] = []
        for _, p, body in sorted(layer, key=lambda x: -x[0]):
            if done:
                break
            if not parameters.explore and hope(p, length) <= (out.best[0] if out.best else bar):
                continue
            known = bottom.start.union(*({x for x in bottom.literals[i].terms if x >= 0} for i in body))
            for i, ways in enumerate(bottom.needs):
                if done:
                    break
                if i in body or body | {i} in seen or not any(way <= known for way in ways):
                    continue
                seen.add(body | {i})
                if (opened := meet(body | {i})) is not None:
                    following.append((opened[1], opened[0], body | {i}))
        layer = following
    return out


def form(head: Sequence[int], body: Iterable[BodyLiteral], h: int) -> tuple[object, ...]:
    """Return a form of a clause that is the same under every renaming of its variables; whole components that repeat count once."""
    parts: list[set[BodyLiteral]] = []
    for literal in body:
        inner = {t for t in literal.terms if t >= h}
        touching = [part for part in parts if inner & {t for x in part for t in x.terms}]
        merged = {literal}.union(*touching)
        parts = [part for part in parts if part not in touching] + [merged]
    return tuple(head), frozenset(_least(part, h) for part in parts)


def _least(part: set[BodyLiteral], h: int) -> tuple[BodyLiteral, ...]:
    inner = sorted({t for x in part for t in x.terms if t >= h})

    def renamed(new: dict[int, int]) -> tuple[BodyLiteral, ...]:
        return tuple(sorted(BodyLiteral(x.predicate, tuple(new.get(t, t) for t in x.terms)) for x in part))

    return min(renamed({t: h + order[i] for i, t in enumerate(inner)}) for order in permutations(range(len(inner))))


def all_bodies(bottom: Bottom, most: int) -> set[frozenset[int]]:
    """Return all sets of literals that can be put into an order in which inputs come before their uses."""
    found = layer = {frozenset[int]()}
    for _ in range(most):
        following = set()
        for body in layer:
            known = bottom.start.union(*({t for t in bottom.literals[i].terms if t >= 0} for i in body))
            following |= {
                body | {i} for i, ways in enumerate(bottom.needs) if i not in body and any(way <= known for way in ways)
            }
        layer = following
        found = found | layer
    return found


def bias_of(text: str) -> Bias:
    from sqlrl.logic.bias_parser import parse_bias

    return parse_bias(text)
