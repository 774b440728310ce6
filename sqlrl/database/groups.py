"""Counts by the constants of variables: what a user names, which clauses have it, and the table of the groups."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, get_args

from sqlrl.database.counting import counting, world_name
from sqlrl.database.formulas import check_expanded, formula_features, renumbered
from sqlrl.errors import InputError, Parameter, Written
from sqlrl.ground.groups import EXAMPLE, Which, group_columns, group_counts, has_variables, variable_names
from sqlrl.ground.program import BoundFeature, Extent, Program
from sqlrl.logic.lexer import NAME, SourceText, nearest, tokenize
from sqlrl.logic.model import Rule
from sqlrl.logic.printer import placed
from sqlrl.logic.subformulas import subformulas, terms_of
from sqlrl.logic.terms import Exist, ForAll, Variable
from sqlrl.report import Table
from sqlrl.training.session import Query, Session, check_limit_option, verb
from sqlrl.wording import counted, shortened

_SHOWN = 8


# ---- the variables that a user names ------------------------------------------------------------------


def check_variables(program: Program, features: Sequence[int], by: Sequence[str], text: str | None) -> None:
    """Refuse variables that no clause has, or that no clause has all of; `text` is the formula where that was given."""
    if any(has_variables(program, i, by) for i in features):
        return
    rules = [program.features[i] for i in features if program.features[i].rule is not None]
    for name in by:
        if not any(has_variables(program, i, [name]) for i in features):
            raise _unknown(program, rules, name, text)
    several = " and ".join(by)
    raise InputError(
        f"no clause of the model has all of the variables {several}, so there is nothing to count by them: name those of one clause, "
        f"such as {_names(max(rules, key=lambda bound: len(set(by) & set(_variables(bound)))))}"
    )


def _variables(bound: BoundFeature) -> list[str]:
    return [name for name, _ in bound.feature.variables]


def _names(bound: BoundFeature) -> str:
    assert bound.rule is not None
    return f"{', '.join(_variables(bound)) or 'none'} of {placed(bound.rule)}"


def _unknown(program: Program, rules: Sequence[BoundFeature], name: str, text: str | None) -> InputError:
    """Return the error that no clause can be counted by a variable: it has another name, or stands under a quantifier."""
    known = dict.fromkeys(variable for bound in rules for variable in _variables(bound))
    under = [bound.rule for bound in rules if bound.rule is not None and name in _quantified(bound.rule)]
    if under:
        problem = (
            f"the variable {name} stands under a quantifier, which takes all of its constants together, so that nothing can be counted by "
            f"it: {'count by ' + _some(known) if known else 'leave by= out'}, or leave the quantifier out"
        )
        return _shown(problem, text, name, under[0])
    if not known:
        return InputError(
            f"there is no variable {name} to count by, since the clauses have no variables, and one grounding each: leave {Parameter('by')} out to count them"
        )
    whose = (
        "the formula has" if text is not None else "no clause of the model has" if len(rules) > 1 else "the rule has"
    )
    what = f"{'a' if whose.startswith('no') else 'no'} variable {name}"
    of_example = (
        " (examples are the constants of a type here: name a variable of it)"
        if name == EXAMPLE and program.layout.example_type is not None
        else ""
    )
    hint = nearest(name, known)
    problem = f"{whose} {what} to count by{of_example}{hint or f': name {_some(known)}'}"
    # Where there is a name like it, that is where to look.
    like = next((each for each in known if repr(each) in hint), next(iter(known)))
    return _shown(problem, text, like, rules[0].rule if len(rules) == 1 else None)


def _some(names: Iterable[str]) -> str:
    listed = list(names)
    if len(listed) > _SHOWN:
        listed = [*listed[:_SHOWN], f"one of {len(listed) - _SHOWN:,} more"]
    return listed[0] if len(listed) == 1 else f"{', '.join(listed[:-1])} or {listed[-1]}"


def _quantified(rule: Rule) -> set[str]:
    return {
        name
        for part in subformulas(rule.formula)
        if isinstance(part, Exist | ForAll)
        for name in (*part.variables, *(t.name for t in terms_of(part) if isinstance(t, Variable)))
    }


def _shown(problem: str, text: str | None, name: str, rule: Rule | None) -> InputError:
    """Return an error with a formula, and a caret under a variable where its text was given."""
    if text is None:
        return InputError(problem if rule is None else f"{problem}\n  {placed(rule)}")
    source = SourceText(text)
    token = next((t for t in tokenize(source) if t.kind == NAME and t.text == name), None)
    return InputError(f"{problem}\n  {text}") if token is None else source.error(InputError, problem, token)


# ---- the table ----------------------------------------------------------------------------------------


@verb
def count_groups(
    session: Session,
    asked: Query,
    world: Any,
    by: object,
    groups: object,
    most_groups: int | None,
    text: str | None = None,
) -> Table:
    """Count groundings in a world by the constants of some variables, with `text` only of a formula, the last rule (`Database.count`)."""
    check_limit_option(asked.limit)
    check_limit_option(most_groups, "most_groups", "groups")
    names = variable_names(by)
    which = next((each for each in get_args(Which) if each == groups), None)
    if which is None:
        listed = ", ".join(map(repr, get_args(Which)))
        hint = nearest(groups, get_args(Which)) if isinstance(groups, str) else ""
        raise InputError(f"{Parameter('groups', Written(shortened(repr(groups))))} is none of {listed}{hint}")

    def features(program: Program) -> list[int]:
        """Return the features that are counted."""
        return list(range(len(program.features))) if text is None else formula_features(program)

    def check(program: Program) -> None:
        """Refuse variables that no clause has."""
        check_variables(program, features(program), names, text)

    only = None if text is None else formula_features
    with counting(session, asked, [world], check=check, only=only) as (program, chosen, worlds):
        few = [i for i in features(program) if has_variables(program, i, names)]
        if text is not None:
            check_expanded(program, few)
        with worlds.shown(world) as shown:
            most = None if asked.limit is None else most_groups
            data = group_counts(Extent(program, chosen, asked.limit), names, shown, which, few, most)
            if text is not None:
                data = renumbered(program, data)
        of = sum(program.feature_of.count(i) for i in few) if len(few) < 50 else None
    title = f"n of {counted(of, 'clause')} by" if of is not None else "n by"
    kept = {"all": "", "violated": ", groups with a violated grounding", "true": ", groups with a true grounding"}
    return Table(
        data.rename_columns(group_columns(names)),
        title=f"{title} {' and '.join(names)} in {world_name(world)}{kept[which]}",
    )
