"""The forms of `Database.count`: exact counts of clauses or of a formula in worlds, by constants of variables, and expected ones."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import Any, TypeGuard, get_args

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from sqlrl.arguments import given
from sqlrl.catalog.layout import TableName
from sqlrl.database.inferred import Inferred
from sqlrl.database.predictions import Prediction
from sqlrl.database.worlds import GivenWorlds, world_name
from sqlrl.errors import InputError, Parameter, ParseError, Phrase, Written
from sqlrl.ground.atoms import read_labels
from sqlrl.ground.clauses import clause_table, describer, shape_table, stated_model
from sqlrl.ground.counts import count_differences, groundings, true_counts
from sqlrl.ground.groups import EXAMPLE, Which, group_columns, group_counts, has_variables, variable_names
from sqlrl.ground.network import FloatArray, Network
from sqlrl.ground.program import BoundFeature, Extent, Program
from sqlrl.ground.rule_parts import PartCounter, bodies
from sqlrl.ground.windows import divided
from sqlrl.logic.formulas import parse_formula
from sqlrl.logic.lexer import NAME, SourceText, check_text, nearest, tokenize
from sqlrl.logic.model import Model, Rule
from sqlrl.logic.printer import placed
from sqlrl.logic.subformulas import atoms_of, subformulas, terms_of
from sqlrl.logic.terms import Argument, Exist, ForAll, Predicate, Variable
from sqlrl.plan.sources import World
from sqlrl.report import Table
from sqlrl.training.session import Query, Session, check_limit_option, check_model, verb
from sqlrl.training.statistics import Counts, by_evidence, statistics_table, with_expected
from sqlrl.wording import counted, shortened

LEARNER = "expected_counts"
"""What `sqlrl.run` calls a run that keeps them."""

VARIABLES_SHOWN = 8
"""So many variables are named where a clause has another."""


def check_forms(
    *, formula: object, by: object, groups: str, world: object, against: object, expected: bool, keep: bool
) -> None:
    """Refuse options of `Database.count` that do not go together."""
    if groups != "all" and by is None:
        raise InputError(f"groups={groups!r} chooses among the groups of by=, which is not given: name variables by=")
    if expected:
        observed = isinstance(world, str) and world == "observed"
        others = {"formula": formula, "by": by, "against": against, "world": None if observed else world}
        given = [f"{name}=" for name, value in others.items() if value is not None]
        if given:
            raise InputError(
                f"expected=True is the mean over all worlds, of every clause, beside the observed one: leave {', '.join(given)} out"
            )
    elif keep:
        raise InputError("keep=True is for expected counts: pass expected=True, too")
    if against is not None and (by is not None or formula is not None):
        raise InputError(f"{'by' if by is not None else 'formula'}= is counted in one world: leave against= out")


@verb
def count(session: Session, asked: Query, world: Any, *, formula: bool = False) -> Table:
    """Count the true groundings of every clause in a world, or of a `formula`, the last rule; `Database.count` explains it."""
    check_limit_option(asked.limit)
    only = formula_features if formula else None
    with counting(session, asked, [world], only=only) as (program, chosen, worlds):
        extent = Extent(program, chosen, asked.limit)
        if formula:
            check_expanded(program, formula_features(program))
        with worlds.shown(world) as shown:
            columns = _formula_counts(extent, shown) if formula else {"n": true_counts(extent, shown)}
            if not formula:
                columns["groundings"] = groundings(extent)
                columns["applies"] = _applies(extent, shown, columns["groundings"])
        return _count_table(program, columns, f"true groundings in {world_name(world)}", formula=formula)


def _applies(extent: Extent, world: World, total: Counts) -> Counts:
    """Count the groundings whose body holds in a world, for clauses of implications as written; None for others."""
    program, counter = extent.program, PartCounter(extent, world)
    found = np.full(program.clause_count, None, dtype=object)
    parts = bodies(program, range(len(program.features)))
    for clause, n in counter.applies(parts, dict(enumerate(total))).items():
        found[clause] = n
    for error in counter.refused.values():
        raise error
    return found


def _formula_counts(extent: Extent, world: World) -> dict[str, Counts]:
    """Count a formula alone, whatever other rules the model has."""
    program = extent.program
    data = group_counts(extent, (), world, features=formula_features(program))
    found = {}
    for name in ("n", "groundings", "applies"):
        found[name] = np.full(program.clause_count, None if name == "applies" else 0, dtype=object)
        values = data.column(name).to_pylist()
        found[name][data.column("clause").to_numpy()] = [None if v is None else int(v) for v in values]
    return found


@verb
def count_difference(session: Session, asked: Query, world: Any, other: Any) -> Table:
    """Count n in one world minus n in another; `Database.count` explains it."""
    check_limit_option(asked.limit)
    with counting(session, asked, [world, other]) as (program, chosen, worlds):
        with worlds.shown(world) as first, worlds.shown(other) as second:
            change = count_differences(Extent(program, chosen, asked.limit), first, second)
        title = f"n in {world_name(world)} minus n in {world_name(other)}"
        return _count_table(program, {"delta_n": change}, title)


@contextmanager
def counting(
    session: Session,
    asked: Query,
    worlds: Sequence[Any],
    *,
    check: Callable[[Program], None] | None = None,  # looks at the program before anything is counted
    only: Callable[[Program], Sequence[int]] | None = None,  # by default all
) -> Iterator[tuple[Program, TableName | None, GivenWorlds]]:
    """Bind a model to the chosen examples and expand its templates, or those that `only` names, to count in worlds."""
    predicted = next((world for world in worlds if isinstance(world, Prediction)), None)
    working = session.console.progress("counting")
    held = session.program(asked.model, roles=asked.roles, all_closed=True)
    with working, held as program, ExitStack() as stack:
        if check is not None:
            check(program)
        if asked.examples is None and predicted is not None:
            ids = pa.table({"example": predicted.examples.astype(np.int32)})
            chosen: TableName | None = stack.enter_context(session.rows_table(program.layout, ids))
        else:
            chosen = stack.enter_context(session.examples_table(asked.examples))
        program.expand(chosen, only=None if only is None else only(program))
        yield program, chosen, GivenWorlds(session, program, chosen)


def _count_table(program: Program, columns: Mapping[str, Counts], title: str, *, formula: bool = False) -> Table:
    """Return exact counts of the clauses that users see, or of those of a formula, with their texts and weights."""
    listed = clause_table(program)
    if formula:
        features = np.array(program.feature_of)[listed.column("clause").to_numpy()]
        listed = listed.filter(pa.array(np.isin(features, formula_features(program))))
    ids = listed.column("clause").to_numpy()
    data = {name: listed.column(name) for name in ("clause", "text")}
    data |= {name: decimals(values[ids]) for name, values in columns.items()}
    found = pa.table({**data, "weight": listed.column("weight")})
    return Table(renumbered(program, found) if formula else found, title=title)


def decimals(values: npt.NDArray[np.object_]) -> pa.Array:
    """Return exact counts as int64, or where one does not fit as decimals: of 38 digits, or of 39 as DuckDB counts up to 2^127 - 1."""
    most = max((abs(v) for v in values if v is not None), default=0)
    kind = pa.int64() if most < 2**63 else pa.decimal128(38) if most < 10**38 else pa.decimal256(39)
    return pa.array(list(values), kind)


# ---- a formula in place of a model ---------------------------------------------------------------


def is_formula(value: object) -> TypeGuard[str]:
    """Whether a text stands in place of a model, and is no path of one."""
    return isinstance(value, str) and given(value) == "text"


def formula_model(session: Session, text: object, around: object, world: Any) -> Model:
    """Return the model whose last rule is a formula, of predicates of the model `around` it or of loaded ones."""
    check_text(text, "a formula", "write it out, such as 'Friends(x, y) => Smokes(y)'")
    assert isinstance(text, str)
    records = session.catalog.predicates()
    known = {name: Predicate(name, tuple(map(Argument, record.known_types()))) for name, record in records.items()}
    # The other rules are those of the model, or of the world's prediction: constants that they name are in the domains.
    if around is None:
        around = (
            world.asked.model if isinstance(world, Inferred) and isinstance(world.asked.model, Model) else Model({})
        )
    check_model(around)
    assert isinstance(around, Model)
    hard = False
    try:
        formula = parse_formula(text, {**known, **around.predicates})
    except ParseError:
        # With `.` at its end it is a hard rule, as tables of clauses print it.
        if not text.rstrip().endswith("."):
            raise
        formula, hard = parse_formula(text.rstrip()[:-1], {**known, **around.predicates}), True
    names = dict.fromkeys(atom.predicate for atom in atoms_of(formula))
    used = {name: known[name] for name in names if name not in around.predicates}
    types = session.catalog.types()
    kinds = {kind for predicate in used.values() for kind in predicate.types}
    bins = {kind: types[kind].bins for kind in sorted(kinds & types.keys()) if types[kind].bins}
    whole = replace(around, predicates={**around.predicates, **used}, bins={**around.bins, **bins}, semantics="exact")
    return whole.with_rules((*around.rules, Rule(formula, None if hard else 0.0, hard=hard)))


def formula_features(program: Program) -> list[int]:
    """Return the features of the last rule that was given."""
    owners = {id(rule): owner for rule, owner in zip(program.model.rules, program.owners, strict=True)}
    last = max(program.owners, default=0)
    return [i for i, bound in enumerate(program.features) if bound.rule is not None and owners[id(bound.rule)] == last]


def check_expanded(program: Program, features: Sequence[int]) -> None:
    """Refuse a formula with `+` variables that stands for no clause, which says nothing of its groundings."""
    if features and not any(i in features for i in program.feature_of):
        bound = program.features[features[0]]
        assert bound.rule is not None
        names = " and ".join(f"+{name}" for name in bound.feature.plus)
        raise InputError(
            f"{placed(bound.rule)}: {names} has no constants for which the evidence leaves the formula open, so that there is no clause to "
            "count: write it without +, and count by it"
        )


def renumbered(program: Program, data: pa.Table) -> pa.Table:
    """Return counts of the clauses of a formula, whose column `clause` then counts from 0, as if the model had no other rule."""
    own = set(formula_features(program))
    first = next((clause for clause, feature in enumerate(program.feature_of) if feature in own), 0)
    place = data.schema.get_field_index("clause")
    return data.set_column(place, "clause", pc.subtract(data.column("clause"), first))


# ---- counts by the constants of variables --------------------------------------------------------------


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
    if len(listed) > VARIABLES_SHOWN:
        listed = [*listed[:VARIABLES_SHOWN], f"one of {len(listed) - VARIABLES_SHOWN:,} more"]
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


# ---- expected counts -----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ExpectedCounts:
    """Counts of m clauses over some examples, as in `Network`: but for `change`, object arrays of int, shape (m,)."""

    base: Counts
    change: FloatArray  # E[n] minus `base`, shape (m,)
    observed: Counts | None  # n by the labels; None if an atom has none
    total: Counts
    open: Counts
    evidence_violated: Counts

    def __add__(self, other: ExpectedCounts) -> ExpectedCounts:
        """Return the counts over the examples of both."""
        observed = None if self.observed is None or other.observed is None else self.observed + other.observed
        return ExpectedCounts(
            self.base + other.base,
            self.change + other.change,
            observed,
            self.total + other.total,
            self.open + other.open,
            self.evidence_violated + other.evidence_violated,
        )

    @property
    def expected(self) -> FloatArray:
        """E[n] of each clause."""
        return np.asarray(self.base.astype(np.float64) + self.change, dtype=np.float64)

    @property
    def difference(self) -> FloatArray | None:
        """How much n by the labels is above E[n]; of counts beyond 2^53 it has more digits than they have."""
        if self.observed is None:
            return None
        return np.asarray((self.observed - self.base).astype(np.float64) - self.change, dtype=np.float64)


@verb
def expected_counts(session: Session, asked: Query, *, keep: bool) -> Table:
    """Find the expected count of every clause beside the observed one; `Database.count` explains it."""
    given: object = keep
    if not isinstance(given, bool):
        raise InputError(
            f"{Parameter('keep', Written(shortened(repr(given))))} must be {Phrase('True')} or {Phrase('False')}."
        )
    asked.check(weighted=True)
    if keep:
        session.catalog.store.check_writable()
    clock = time.perf_counter()
    with session.console.progress("finding expected counts") as task, session.expanded(asked) as (program, chosen):
        ids = np.sort(session.ids(chosen))
        extent, done = Extent(program, chosen, asked.limit, len(ids)), 0
        found: ExpectedCounts | None = None
        labelled = True
        for window, network in divided(extent, ids):
            part = _of_network(program, network)
            if labelled:
                with extent.restricted_to(window) as some:
                    labelled = _labelled(program, network, some.examples)
            found = part if found is None else found + part
            del network  # or else it would be there while the next is grounded
            done += len(window)
            if done < len(ids):
                task.advance(0, note=f"{done:,} of {len(ids):,} examples")
        assert found is not None, "there is at least one window"
        if labelled:
            # By the formulas as written, as `count` has them, also where labels violate blocks.
            found = replace(found, observed=true_counts(extent))
        if keep:
            _keep_expected(session, program, found, time.perf_counter() - clock)
        return _expected_table(program, found)


def _of_network(program: Program, network: Network) -> ExpectedCounts:
    """Find the expected counts of a ground network; labels are not looked at."""
    # With numba, which a database that only loads does not need.
    from sqlrl.solve import expected

    found = expected.expected_counts(network, program.weights(), describe=describer(program, network))
    return ExpectedCounts(network.base, found.change, None, network.total, network.open, network.evidence_violated)


def _labelled(program: Program, network: Network, examples: TableName | None) -> bool:
    """Return whether each query atom of a network has a label."""
    _, labelled = read_labels(program.engine, program.layout, network.atoms, examples)
    return bool((labelled | network.helper).all())


def _expected_table(program: Program, found: ExpectedCounts) -> Table:
    """Return the counts of the clauses that users see, with their texts and weights."""
    listed = clause_table(program)
    ids, difference = listed.column("clause").to_numpy(), found.difference
    unknown = pa.nulls(len(ids), pa.int64())
    data = {
        "clause": listed.column("clause"),
        "text": listed.column("text"),
        "n_observed": unknown if found.observed is None else decimals(found.observed[ids]),
        "n_expected": pa.array(found.expected[ids]),
        "difference": pa.nulls(len(ids), pa.float64()) if difference is None else pa.array(difference[ids]),
        "groundings": decimals(found.total[ids]),
        "weight": listed.column("weight"),
    }
    return Table(pa.table(data), title="observed and expected true groundings")


def _keep_expected(session: Session, program: Program, found: ExpectedCounts, seconds: float) -> int:
    """Keep the model and the counts of its clauses; return the number of the run."""
    records = session.records
    run = records.begin_run(LEARNER, {}, None)
    with records.ending(run):
        listed = clause_table(program, keys=True)
        shown = listed.column("clause").to_numpy()
        model = records.save_model(LEARNER, stated_model(program), listed, shape_table(program), origin="given")
        columns = by_evidence(program, found.total, found.open, found.evidence_violated)
        if found.observed is not None:
            columns["n_observed"] = found.observed
        records.append("clause_statistics", run, with_expected(statistics_table(shown, columns), found.expected))
        records.end_run(run, "done", model=model, timings={LEARNER: seconds})
    return run
