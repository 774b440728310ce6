"""What the predicates of a program are taken for where its evidence decides that, and by which rule, in one line."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlrl.catalog.roles import Roles
    from sqlrl.logic.model import Model
    from sqlrl.logic.psl import SoftModel


def evidence_roles(
    model: Model,
    loaded: Collection[tuple[str, str]],
    roles: Roles,
    *,
    queried: bool,
    opened: Collection[str],
    closed: Collection[str],
    labels: bool,
) -> str:
    """Return the line of a program with evidence files: `loaded` says what is known of predicates, the last ones what options name."""
    hidden = frozenset(roles.hidden)
    uncertain = {name for name, role in loaded if role == "soft"} - model.query - hidden
    shut = [name for name in model.predicates if name not in model.query | uncertain | hidden]
    starred = [name for name in shut if model.predicates[name].closed]
    chosen = [name for name in shut if name in closed and name not in starred]
    facts = {name for name, _ in loaded}
    given = [name for name in shut if name in facts and name not in (*starred, *chosen)]
    by_facts = (
        f"facts of {'it' if len(given) == 1 else 'them'} are given: what these do not say is false, as in Alchemy"
    )
    if not labels:
        # To Tuffy `*` alone closes a predicate.
        by_facts += f"; Tuffy infers it, as --open {','.join(given)} does"
    asked = f"named by {'--query' if queried else 'the model'}{'; facts are labels' if labels else ''}"
    return _line(
        _part("open", {asked: model.query, "? or a probability in the evidence": uncertain}),
        _part("closed", {"declared with *": starred, by_facts: given, "named by --closed": chosen}),
        _part("hidden", {"named by --open": hidden & set(opened)}),
        _silent(sorted(hidden - set(opened))),
    )


def _silent(names: Sequence[str]) -> str:
    """Return the predicates of which nobody speaks; nothing if there are none."""
    if not names:
        return ""
    have, are, their = ("has", "is", "its") if len(names) == 1 else ("have", "are", "their")
    shut = ",".join(names)
    return f"hidden: {_listed(names)} {have} no facts and {are} no query: {their} atoms are inferred and not printed (--closed {shut}: false)"


def soft_roles(model: SoftModel, asked: Collection[str]) -> str:
    """Return the line of a program of probabilistic soft logic that says where its data are; `asked` is what --query names."""
    folded = {name.casefold() for name in asked}
    named = {name for name in model.query if name.casefold() in folded}
    given = {part.predicate for part in model.partitions if part.role == "targets" and (part.files or part.rows)}
    targets = (model.query & given) - named
    declared = model.query - given - named
    return _line(
        _part("open", {"targets are given": targets, "declared as open": declared, "named by --query": named}),
        _part("closed", {"no targets are given": model.predicates.keys() - model.query}),
    )


def _line(*parts: str) -> str:
    return "; ".join(part for part in parts if part)


def _part(state: str, reasons: Mapping[str, Iterable[str]]) -> str:
    """Return the predicates of a state with the rules that decided; nothing if there are none."""
    told = [f"{_listed(sorted(names))} ({reason})" for reason, names in reasons.items() if names]
    return f"{state}: {', '.join(told)}" if told else ""


def _listed(names: Sequence[str]) -> str:
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else names[0]
