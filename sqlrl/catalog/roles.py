"""What the caller of a verb says of a model's predicates: which are left out, predicted, hidden, or empty."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, fields
from itertools import combinations

from sqlrl import markup
from sqlrl.arguments import predicate_names
from sqlrl.errors import CatalogError, Parameter, Phrase
from sqlrl.logic.model import Model
from sqlrl.wording import did_you_mean, nearest_names

_REMEDIES = (
    f"Load them, name them in {Parameter('query')} if they are to be predicted, or say what they are: {Parameter('drop')} leaves out their rules, {Parameter('empty')} takes "
    f"them as false, {Parameter('hidden')} as open, to be inferred and not reported."
)
_WHEN_LEARNING = f"Load them, those that are false from an empty table (with {Parameter('empty', 'allow')}), or leave their rules {Phrase('out of the model: model.without(names)')}."


@dataclass(frozen=True)
class Roles:
    r"""What predicates are taken for, beside what the model and the data say: `roles=` of the verbs of a database.

    Parameters
    ----------
    drop : str or iterable of str
        Predicates that may lack data; rules that mention them are left out.
    query : str or iterable of str
        Predicates to predict, beside those of the model and the data.
    hidden : str or iterable of str
        Predicates that are open, too, but of which nothing is reported: what is not known of them is inferred with the rest.
    empty : str or iterable of str
        Closed predicates without data: all their atoms are false.

    Examples
    --------
    >>> import sqlrl
    >>> db = sqlrl.connect()
    >>> db.load("Friends", [("Anna", "Bob"), ("Bob", "Chris")])
    >>> rules = "1 Friends(x, y) ^ Smokes(x) => Smokes(y)\n0.5 Smokes(x)\n2 Asthma(x) => !Smokes(x)"
    >>> model = sqlrl.parse_mln("Friends(person, person)\nSmokes(person)\nAsthma(person)\n" + rules)
    >>> db.predict(model, roles=sqlrl.Roles(query=["Smokes"], empty=["Asthma"])).table()["person"]
    ['Anna', 'Bob', 'Chris']
    """

    drop: Iterable[str] = ()
    query: Iterable[str] = ()
    hidden: Iterable[str] = ()
    empty: Iterable[str] = ()
    _repr_html_ = markup.field_table

    def __post_init__(self) -> None:
        # What can be iterated over once may be asked for again; a single name is meant as one.
        for each in fields(self):
            object.__setattr__(self, each.name, predicate_names(each.name, getattr(self, each.name)))

    @property
    def opened(self) -> frozenset[str]:
        """The predicates that are open by choice."""
        return frozenset((*self.query, *self.hidden))

    def check(self, model: Model) -> None:
        """Refuse names that the model does not declare, and two roles for one predicate."""
        named = {each.name: dict.fromkeys(getattr(self, each.name)) for each in fields(self)}
        for option, names in named.items():
            unknown = [name for name in names if name not in model.predicates]
            if unknown and option != "drop":  # whose names `Model.without` checks
                like = did_you_mean(nearest_names(unknown[0], model.predicates))
                raise CatalogError(
                    f"{Parameter(option)} names predicates that the model does not declare: {', '.join(unknown)}{like}"
                )
        asked = model.query | named["query"].keys()
        if both := [name for name in named["empty"] if name in asked]:
            raise CatalogError(
                f"{', '.join(both)} is to be predicted, and cannot be empty: leave it out of {Parameter('empty')}, or of the query."
            )
        if asked & named["hidden"].keys() and asked <= named["hidden"].keys():
            raise CatalogError(
                f"{Parameter('hidden')} names all that is to be predicted, {', '.join(sorted(asked))}, so that nothing would be reported: leave one out."
            )
        for (one, names), (other, others) in combinations(named.items(), 2):
            both = [name for name in names if name in others]
            if both:
                raise CatalogError(
                    f"{', '.join(both)} cannot be in both {Parameter(one)} and {Parameter(other)}: choose one."
                )


NONE = Roles()


def refuse_missing(
    used: Collection[str], loaded: Collection[str], openings: Mapping[str, object], roles: Roles, *, training: bool
) -> None:
    """Refuse predicates of rules that have neither data nor atoms, with what can be done about them."""
    missing = sorted(set(used) - set(loaded) - set(openings) - set(roles.drop) - set(roles.empty))
    if missing:
        texts = [f"{name}{did_you_mean(nearest_names(name, set(loaded) - {name}))}" for name in missing]
        raise CatalogError(
            f"predicates of the model without data: {', '.join(texts)}. {_WHEN_LEARNING if training else _REMEDIES}"
        )
    filled = sorted(set(roles.empty) & set(loaded))
    if filled:
        raise CatalogError(
            f"{Parameter('empty')} names predicates that have data: {', '.join(filled)}. Leave them out of it."
        )
