"""Models without some of their predicates."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from sqlrl.errors import ModelError
from sqlrl.logic.lexer import nearest
from sqlrl.logic.model import Model
from sqlrl.logic.subformulas import atoms_of


def drop_predicates(model: Model, names: Iterable[str]) -> Model:
    r"""Return a model without some predicates: without the rules that mention them, and without their declarations.

    The other rules keep their order and their lines. ModelError for a predicate that the model does not declare, or that it is
    to predict.

    Examples
    --------
    >>> model = parse_mln("Smokes(p)\nCancer(p)\nRich(p)\n1 Smokes(x) => Cancer(x)\n2 Rich(x) => !Smokes(x)")
    >>> print(drop_predicates(model, ["Rich"]))
    Smokes(p)
    Cancer(p)
    <BLANKLINE>
    1.0 Smokes(x) => Cancer(x)
    <BLANKLINE>
    """
    dropped = set(names)
    for name in sorted(dropped):
        if name not in model.predicates:
            known = ", ".join(model.predicates)
            hint = nearest(name, model.predicates) or f": the model declares {known or 'none'}"
            raise ModelError(f"there is no predicate {name!r} to drop{hint}")
        if name in model.query:
            raise ModelError(f"{name} cannot both be dropped and predicted: leave it out of drop= or of query=")
    if not dropped:
        return model
    return replace(
        model,
        predicates={name: predicate for name, predicate in model.predicates.items() if name not in dropped},
        rules=tuple(
            rule for rule in model.rules if not any(atom.predicate in dropped for atom in atoms_of(rule.formula))
        ),
    )
