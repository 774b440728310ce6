"""What a search for clauses asks of a database; `sqlrl.ground.clause_blankets` and `sqlrl.database` implement it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from sqlrl.ground.network import BoolArray, FloatArray, IntArray, Network
from sqlrl.ground.partitions import ClauseTerms, Partition
from sqlrl.learn.pseudo.protocols import BlanketData, BlanketTraining
from sqlrl.logic.shapes import Instance

if TYPE_CHECKING:
    from sqlrl.logic.model import Model, Rule
    from sqlrl.logic.terms import Clause, Predicate


class OpenedNetwork(Protocol):
    """The ground network of the atoms of one target, all others being evidence."""

    @property
    def network(self) -> Network:
        """The network."""
        ...

    @property
    def truth(self) -> BoolArray:
        """What the data say of its atoms, shape (n,)."""
        ...

    @property
    def rules(self) -> IntArray:
        """The rule of each clause of the network, shape (m,)."""
        ...

    @property
    def weights(self) -> FloatArray:
        """The weight of each clause, shape (m,)."""
        ...


class ClauseSource(Protocol):
    """Says of clauses what they say of atoms, and of the rules that there are how they fare on the data."""

    @property
    def names(self) -> tuple[str, ...]:
        """The predicates whose atoms count."""
        ...

    @property
    def statements(self) -> int:
        """How many statements have counted."""
        ...

    def learn(self, wanted: Iterable[tuple[Instance, str | None]]) -> None:
        """Count what clauses need; with each comes the predicate of the literal that it adds to one that is known, if it does."""
        ...

    def partition(self, predicate: str) -> tuple[Partition, FloatArray]:
        """Return the true and the false atoms of a predicate, by their soft evidence, and for each row its log-odds: 0 without any."""
        ...

    def terms(self, instance: Instance) -> Mapping[str, ClauseTerms]:
        """Return what a clause, whose counts are known, says of the atoms of each predicate that it mentions."""
        ...

    def containing(self, instance: Instance) -> Mapping[str, ClauseTerms]:
        """Return in how many groundings of a clause the atoms of each predicate are, whatever else holds."""
        ...

    def opened(self, target: str, rules: Sequence[int]) -> AbstractContextManager[OpenedNetwork]:
        """Ground the rules that mention a target over its atoms while the context is open, all others being evidence; `rules` are those asked about."""
        ...

    def groundings(self, instance: Instance, target: str, name: str, sign: int, most: int) -> list[dict[str, str]]:
        """Return a few groundings of a clause in a bin of a target: the constant of each variable, by its name in the clause; `sign` is that of the rule."""
        ...


@dataclass(frozen=True, eq=False)
class GivenRule:
    """A rule of the model that a search begins with."""

    rule: Rule
    # One, or several for a formula that is no clause, of which a grounding violates at most one.
    clauses: tuple[Clause, ...]
    sign: int  # 1 if n counts where all clauses are true, -1 if it counts where one is violated

    @property
    def hard(self) -> bool:
        """Whether it must hold."""
        return self.rule.hard

    @property
    def stance(self) -> int:
        """1 if it speaks for its clauses being true, -1 if for one being violated: a conjunction, or a clause with a negative weight."""
        return -self.sign if self.rule.weight is not None and self.rule.weight < 0 else self.sign


@dataclass(frozen=True, eq=False)
class ClauseSearch:
    """The model, the predicates and the data of a search for clauses."""

    model: Model  # it declares all predicates that literals may be of, with the types of the data
    rules: Sequence[GivenRule]  # those that the search begins with
    predicates: Mapping[str, tuple[str, ...]]  # argument types of the predicates that literals may be of
    example_type: str | None
    constants: Mapping[str, tuple[str, ...]]  # the data's constants of each type of which rules name constants
    equalities: tuple[str, ...]  # predicates that hold identities alone, and are read as `=`
    source: ClauseSource


class SearchData(BlanketData, Protocol):
    """Data that clauses are found in, and their weights learned from."""

    def declarations(self) -> Mapping[str, Predicate]:
        """Return the predicates that have data, with the types of their arguments."""
        ...

    def clause_search(
        self, model: Model | None, *, examples: object, limit: int | None
    ) -> AbstractContextManager[ClauseSearch]:
        """Hold declarations and the rules that a search begins with against the training examples while the context is open."""
        ...

    def found_blankets(
        self, model: Model, *, examples: object, limit: int | None
    ) -> AbstractContextManager[BlanketTraining]:
        """Do what `blankets` does for rules that a search has found in the data, of which none can be a slip."""
        ...


class SearchDatabase(Protocol):
    """What `fit` needs of its database."""

    @property
    def learning(self) -> SearchData:
        """The data that clauses are found in."""
        ...
