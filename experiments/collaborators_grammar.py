"""What resolwe chooses from on the subgraphs of `collaborators_subgraphs`: its grammar, which statements are planted, and how they are ranked.

The grammar is after tables 1 and 2 of the paper, whose templates relate an editor to an article that is not the centre's (CONTRIBUTES), two
articles (ARTICLES) and two editors (USERS); each is a compounder of up to two expansions. The paper does not say which evidence binds variables
that templates with two literals of `modifies` have in these alone, so the subgraph's own are given: `project(a)` are the articles of the centre,
`collaborator(u)` all other editors, `centre(c)` is the centre. Literals of `modifies` are positive: most pairs are false, and evidence that says
nothing would have a negated one hold as often as that.

Formulations are many ways to write few *statements*. Who edits or discusses an article contributes to it, and `similar` and `verySimilar` are
symmetric: `articleEdit(b, u) ^ contributesOther(b, u)` says what `articleEdit(b, u)` says, and both directions of an implication say the same where
the evidence is symmetric. A statement is *planted* if the graph was made with it. It is *narrower* if its evidence is a planted statement's and more:
it is true for the same reason and as often, since what else it asks for decides nothing. All *others* are the decoys and the noise.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal as OneOf
from typing import NamedTuple

import duckdb
import pyarrow as pa
from collaborators_subgraphs import TARGET, window

import sqlrl
from sqlrl.logic.candidates import Candidate
from sqlrl.logic.terms import Literal, Variable

Kind = OneOf["planted", "narrower", "other"]
Tables = dict[str, pa.Table]

TYPES: Mapping[str, tuple[str, ...]] = {
    TARGET: ("article", "editor"),
    "project": ("article",),
    "collaborator": ("editor",),
    "centre": ("editor",),
    "articleEdit": ("article", "editor"),
    "articleTalk": ("article", "editor"),
    "contributesOther": ("article", "editor"),
    "userTalk": ("editor", "editor"),
    "hyperLink": ("article", "article"),
    "similar": ("article", "article"),
    "verySimilar": ("article", "article"),
    "category": ("article", "topic"),
}
"""The predicates with the types of their arguments."""

SUPPORT = 10
"""The least number of groundings that a probability is a share of."""

MODEL = "\n".join(f"{name}({', '.join(types)})" for name, types in TYPES.items())

GRAMMAR = """
CONTRIBUTES(b, u) = {articleEdit, articleTalk, contributesOther} compounder 2
ARTICLES(b, a) = {hyperLink(b, a), hyperLink(a, b), similar(b, a), verySimilar(b, a), category(b, k) ^ category(a, k)} compounder 2
USERS(u, v) = {userTalk(u, v), userTalk(v, u)} compounder 2

CONTRIBUTES(b, u) ^ ARTICLES(b, a) ^ modifies(a, u)
project(a) ^ centre(c) ^ USERS(u, c) ^ modifies(a, u)
collaborator(u) ^ ARTICLES(b, a) ^ modifies(b, u) ^ modifies(a, u)
project(a) ^ USERS(u, v) ^ modifies(a, v) ^ modifies(a, u)
"""


def tables_of(con: duckdb.DuckDBPyConnection, chosen: Sequence[int], *, everything: bool = False) -> Tables:
    """Return the window of a stream that some centres make: tables by predicate, with `example`, that of the target with `truth`.

    Unless `everything` is wanted, contributions to articles that nothing relates to one of the centre's are left out: no candidate
    selects anything by them.
    """
    facts = window(con, chosen, related=not everything)
    asked = facts[TARGET]
    found = {**facts, TARGET: asked.rename_columns({"label": "truth"})}
    for name, column in (("project", "article"), ("collaborator", "editor")):
        distinct = asked.select(["example", column]).group_by(["example", column]).aggregate([])
        found[name] = distinct.sort_by([("example", "ascending"), (column, "ascending")])
    return found


# ---- statements ------------------------------------------------------------------------------------------------------


class Statement(NamedTuple):
    """What a formulation says: `evidence` with all that follows from it, `n` literals of the target, the last one implied or all true."""

    evidence: frozenset[str]
    n: int
    implied: bool

    def narrows(self, other: Statement) -> bool:
        """Whether it says what another one says, of fewer pairs."""
        return self[1:] == other[1:] and self.evidence > other.evidence


_SYMMETRIC = frozenset({"similar", "verySimilar"})
_FOLLOWS = {"articleEdit": "contributesOther", "articleTalk": "contributesOther"}


def statement(candidate: Candidate, implied: int | None) -> Statement:
    """Return what a formulation of a candidate says.

    Parameters
    ----------
    candidate : Candidate
    implied : int or None
        The query literal that the others imply, None for their conjunction.
    """
    literals = [x.terms for x in candidate.enforcer]
    if len(literals) == 1:
        return Statement(_evidence(candidate, {}), 1, False)
    first, second = literals
    # Of two literals one variable differs; the implied one is to have that of the second.
    (swap,) = [(_name(x), _name(y)) for x, y in zip(first, second, strict=True) if x != y]
    swapped = _evidence(candidate, dict((swap, swap[::-1])))
    as_written = _evidence(candidate, {})
    if implied is None:
        return Statement(min(as_written, swapped, key=sorted), 2, False)
    return Statement(swapped if implied == 0 else as_written, 2, True)


def _evidence(candidate: Candidate, renamed: Mapping[str, str]) -> frozenset[str]:
    """Return the literals of a selector under other names of variables, and what follows from them, as texts."""
    found = set()
    for literal in candidate.selector:
        assert isinstance(literal, Literal), "the grammar has no equalities"
        terms = [renamed.get(_name(x), _name(x)) for x in literal.terms]
        if literal.predicate in _SYMMETRIC:
            terms.sort()
        for name in (literal.predicate, _FOLLOWS.get(literal.predicate, literal.predicate)):
            found.add(f"{name}({', '.join(terms)})")
    return frozenset(found)


def _name(term: object) -> str:
    assert isinstance(term, Variable), "the grammar has no constants"
    return term.name


class Planted(NamedTuple):
    """A rule that the graph was made with: the field of `Chances`, and what it says."""

    chance: str
    statement: Statement


def _planted(chance: str, evidence: str, n: int) -> Planted:
    return Planted(chance, Statement(frozenset(evidence.split(" ^ ")), n, n > 1))


PLANTED = (
    _planted("twins", "contributesOther(b, u) ^ verySimilar(a, b)", 1),
    _planted("teams", "project(a) ^ centre(c) ^ userTalk(u, c) ^ userTalk(c, u)", 1),
    _planted("followers", "articleTalk(b, u) ^ contributesOther(b, u) ^ hyperLink(b, a) ^ similar(a, b)", 1),
    _planted("twins", "collaborator(u) ^ verySimilar(a, b)", 2),
    _planted("teams", "project(a) ^ userTalk(u, v) ^ userTalk(v, u)", 2),
)
"""What `collaborators_graph` plants, as statements."""


# ---- the ranking -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Ranked:
    """A statement with what was found of it.

    `text` is a formulation that says it, `chance` the field of `Chances` of a planted one; `bound` is 0 where nothing was selected.
    """

    text: str
    n: int
    kind: Kind
    chance: str | None
    support: int
    probability: float
    bound: float
    kept: bool


def ranking(fit: sqlrl.Resolwe) -> list[Ranked]:
    """Return the statements that a fit weighed, each once, by the bound of the probability, the highest first."""
    found: dict[Statement, Ranked] = {}
    for row in fit.formulations_.to_arrow().to_pylist():
        said = statement(fit.candidates_[row["candidate"]], row["implied"])
        if said in found:
            continue
        mine = [x for x in PLANTED if x.statement == said]
        narrower = any(said.narrows(x.statement) for x in PLANTED)
        found[said] = Ranked(
            _text(fit.candidates_[row["candidate"]], row["implied"]),
            said.n,
            "planted" if mine else "narrower" if narrower else "other",
            mine[0].chance if mine else None,
            row["support"],
            row["probability"] or 0.0,
            row["bound"] or 0.0,
            row["kept"],
        )
    return sorted(found.values(), key=lambda x: (-x.bound, x.text))


def _text(candidate: Candidate, implied: int | None) -> str:
    """Return a formulation, an implication as one."""
    if implied is None:
        return str(candidate)
    parts = [*candidate.selector, *(x for i, x in enumerate(candidate.enforcer) if i != implied)]
    return f"{' ^ '.join(map(str, parts))} => {candidate.enforcer[implied]}"


def on_top(ranked: Sequence[Ranked], n: int | None = None) -> float:
    """Return the share of planted statements among as many as are planted of the highest, narrower ones left out; with `n` literals or any."""
    mine = [x for x in ranked if x.kind != "narrower" and n in (None, x.n)]
    number = sum(x.kind == "planted" for x in mine)
    return sum(x.kind == "planted" for x in mine[:number]) / number


def precision_and_recall(ranked: Sequence[Ranked], threshold: float) -> tuple[float, float]:
    """Return how many of the statements whose bound reaches a threshold are planted, narrower ones left out, and how many planted ones reach it.

    As for resolwe the share must be of `SUPPORT` groundings. Where none is left the precision is 1: nothing wrong is said.
    """
    chosen = [x for x in ranked if x.kind != "narrower" and x.bound >= threshold and x.support >= SUPPORT]
    planted = sum(x.kind == "planted" for x in chosen)
    return planted / len(chosen) if chosen else 1.0, planted / len(PLANTED)
