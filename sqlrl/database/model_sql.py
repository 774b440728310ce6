"""Models as views: the probability of each atom in plain SQL over the user's own tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from sqlglot import exp

from sqlrl import markup
from sqlrl.catalog.layout import Layout, PredicateInfo
from sqlrl.catalog.views import typed_names
from sqlrl.database.calibration import RANKS, warn_of_ranking_view
from sqlrl.database.view_tables import ViewTables
from sqlrl.engine.dialects import view_text
from sqlrl.engine.nodes import column, cte, named, subquery
from sqlrl.errors import InputError, Parameter, Phrase, UnsupportedError, Written
from sqlrl.ground.clauses import describer, expansion_names
from sqlrl.ground.grounding import ground_network
from sqlrl.ground.helpers import bind_definition
from sqlrl.ground.program import BoundFeature, Extent, Program
from sqlrl.logic.printer import format_formula
from sqlrl.logic.shapes import Instance, Shape
from sqlrl.logic.terms import Constant, Helper
from sqlrl.markup import visible
from sqlrl.paths import UNNAMEABLE
from sqlrl.plan.plain_tables import (
    NamedStep,
    PlainLayout,
    StepNames,
    harmless,
    plain_layout,
    step_table,
    with_steps,
)
from sqlrl.plan.probabilities import block_of, log_odds_steps, probability
from sqlrl.plan.scoring import AMOUNT, ScoredClauses, atom_columns, evidence_steps, score_step
from sqlrl.plan.slots import bind
from sqlrl.plan.sources import OBSERVED, selected
from sqlrl.plan.tuples import Conjunction, holding
from sqlrl.plan.view_options import SQLOptions
from sqlrl.training.session import Query, Session, verb
from sqlrl.wording import counted, did_you_mean, nearest_names, shortened

DIALECTS = ("duckdb", "postgres", "spark", "sqlite")

_OTHER_NAMES = {"postgresql": "postgres", "sqlite3": "sqlite", "pyspark": "spark", "sparksql": "spark"}

_RULES_SHOWN = 3


# ---- what a user gets --------------------------------------------------------------------------------


@dataclass(frozen=True)
class RuleLeftOut:
    """A rule that a view does not have, and why."""

    rule: str
    reason: str
    _repr_html_ = markup.field_table

    def __repr__(self) -> str:
        return visible(f"{self.rule}: {self.reason}")


@dataclass(frozen=True, eq=False)
class ExportedSQL:
    """A model written as a view in SQL."""

    text: str  # the statement that creates the view; comments before it say what it reads and gives
    query: str  # the query of the view alone
    view: str  # its name
    target: str  # the predicate of whose atoms it is
    dialect: str
    tables: Mapping[str, str]  # what each table that it reads holds
    left_out: tuple[RuleLeftOut, ...]  # the rules that it does not have
    _repr_html_ = markup.field_table

    def __str__(self) -> str:
        return self.text.rstrip("\n")

    def __repr__(self) -> str:
        reads = f"reads {', '.join(self.tables)}" if self.tables else "reads no table"
        lines = [f"{self.view}: the probability of each atom of {self.target}, in SQL of {self.dialect}; {reads}"]
        lines += [f"  left out: {rule!r}" for rule in self.left_out]
        return "\n".join(map(visible, lines))

    def write(self, path: str | Path) -> None:
        """Write the text to a file, in UTF-8; a file that cannot be written is an InputError."""
        try:
            Path(path).write_text(self.text, encoding="utf-8", newline="\n")
        except (OSError, ValueError) as error:
            reason = (error.strerror or error) if isinstance(error, OSError) else UNNAMEABLE
            raise InputError(f"cannot write {shortened(str(path))}: {reason}") from error


# ---- the verb ----------------------------------------------------------------------------------------


@verb
def export_sql(
    session: Session, asked: Query, path: str | Path | None, dialect: str | None, options: SQLOptions | None
) -> ExportedSQL:
    """Write a model as a view, also to a file if there is a path; `Database.export` explains it."""
    if asked.examples is not None:
        raise InputError(
            "examples=: a view is about whatever its tables hold: leave it out, and say WHERE when you read the view"
        )
    asked.check(weighted=True)
    naming = options or SQLOptions()
    dialect = _dialect(dialect or "duckdb")
    with session.console.progress("exporting"), session.expanded(asked) as (program, _):
        info = _target(program.public_layout, naming.target)
        chosen, left_out = _divided(program, info)
        if left_out and not naming.partial:
            raise UnsupportedError(_joined(left_out, info.name))
        if any(feature.hard for _, feature in chosen):
            _check_satisfiable(program, asked)
        plain = ViewTables(session, program, asked, naming, dialect)
        learner = warn_of_ranking_view(session, asked.model)
        written = _written(program, plain, info, chosen, left_out, learner)
    if path is not None:
        written.write(path)
    return written


def _dialect(name: object) -> str:
    """Return a dialect by its name here."""
    known = _OTHER_NAMES.get(str(name).casefold(), str(name).casefold())
    if known not in DIALECTS:
        near = nearest_names(str(name), DIALECTS)
        raise InputError(
            f"unknown dialect {shortened(repr(name))}{did_you_mean(near) if near else ': '}"
            f"{'' if near else 'choose one of ' + ', '.join(DIALECTS)}"
        )
    return known


def _target(layout: Layout, target: str | None) -> PredicateInfo:
    """Return the open predicate that is named, or the only one."""
    opened = {name: info for name, info in layout.predicates.items() if info.open}
    shown = sorted(name for name, info in opened.items() if not info.hidden)
    if target is None:
        if len(shown) != 1:
            raise InputError(
                f"a view is of one predicate, and the model predicts {', '.join(shown) or 'hidden ones alone'}: name it by {Parameter('target')}"
            )
        return opened[shown[0]]
    if target in opened:
        return opened[target]
    if target in layout.predicates:
        raise InputError(
            f"{Parameter('target', target)} is evidence, which has no probability: the model predicts {', '.join(sorted(opened))}"
        )
    near = nearest_names(str(target), opened)
    like = did_you_mean(near) if near else f": it predicts {', '.join(sorted(opened))}"
    raise InputError(f"the model predicts no {shortened(repr(target))}{like}")


def _joined(left_out: Sequence[RuleLeftOut], target: str) -> str:
    """Return the error for rules that no view can have."""
    shown = "\n".join(f"  {rule!r}" for rule in left_out[:10])
    more = f"\n  and {len(left_out) - 10:,} more" if len(left_out) > 10 else ""
    rules = counted(len(left_out), "rule")
    verb_, them = ("joins", "it") if len(left_out) == 1 else ("join", "them")
    return (
        f"{rules} of the model {verb_} atoms that are predicted, so that no view over tables alone can tell the probabilities of {target}:\n"
        f"{shown}{more}\nleave {them} out with {Parameter('partial', True)}, which is another model, or use {Phrase('db.probabilities(model)')}"
    )


def _check_satisfiable(program: Program, asked: Query) -> None:
    """Refuse hard rules that contradict each other on the data that are loaded, as `Database.probabilities` does."""
    from sqlrl.solve.conflict import conflict_of
    from sqlrl.solve.restriction import UnsatisfiableError
    from sqlrl.solve.sampling.propagation import propagate
    from sqlrl.solve.structure import compile_network
    from sqlrl.solve.weighted import weigh

    network = ground_network(Extent(program, None, asked.limit))
    try:
        propagate(weigh(network, program.weights()))
    except UnsatisfiableError as error:
        raise conflict_of(compile_network(network), error.atom, describe=describer(program, network)) from None


# ---- which rules -------------------------------------------------------------------------------------


def _divided(program: Program, target: PredicateInfo) -> tuple[list[tuple[int, BoundFeature]], list[RuleLeftOut]]:
    """Return the features that speak for atoms of a target one by one, each with its place, and the rules that join atoms."""
    chosen: list[tuple[int, BoundFeature]] = []
    left_out: dict[str, RuleLeftOut] = {}
    opened = {helper.name: helper for helper in _helpers(program) if program.layout.predicates[helper.name].open}
    for place, feature in enumerate(program.features):
        if feature.rule is None:
            # What defines a helper; the rule that needs it tells.
            continue
        mentioned, reason = _reading(program, feature, opened, target.name)
        if not mentioned:
            continue
        if reason is None:
            chosen.append((place, feature))
        else:
            rule = format_formula(feature.rule.formula)
            left_out.setdefault(rule, RuleLeftOut(rule, reason))
    return chosen, list(left_out.values())


def _helpers(program: Program) -> list[Helper]:
    """Return the helpers of a program, definitions before uses, each once."""
    return list({helper.name: helper for feature in program.features for helper in feature.feature.helpers}.values())


def _reading(
    program: Program, feature: BoundFeature, opened: Mapping[str, Helper], target: str
) -> tuple[bool, str | None]:
    """Return whether a feature is about atoms of a target, and why it cannot be told for each by itself."""
    mentioned, reason = False, None
    for instance in feature.instances:
        shape = instance.shape
        literals = [x for x in shape.literals if program.layout.predicates[x.predicate].open]
        quantified = [
            x for group in shape.exists for x in group.literals if program.layout.predicates[x.predicate].open
        ]
        names = {x.predicate for x in (*literals, *quantified)}
        names |= {name for helper in names & opened.keys() for name in _open_below(program, opened, helper)}
        mentioned = mentioned or target in names
        if quantified or names & opened.keys():
            reason = reason or f"its quantifier joins atoms of {', '.join(sorted(names - opened.keys()))}"
        elif len(literals) > 1:
            names_of = ", ".join(f"{'' if x.positive else '!'}{x.predicate}" for x in literals)
            reason = reason or f"it joins {len(literals)} open literals: {names_of}"
    return mentioned, reason


def _open_below(program: Program, opened: Mapping[str, Helper], name: str) -> Iterator[str]:
    """Yield the open predicates in the definition of a helper, also of those that it mentions."""
    literals = (part for part in opened[name].definition.conjunction if hasattr(part, "predicate"))
    for literal in literals:
        predicate = literal.predicate
        if predicate in opened:
            yield from _open_below(program, opened, predicate)
        elif program.layout.predicates[predicate].open:
            yield predicate


def _scored(program: Program, chosen: Sequence[tuple[int, BoundFeature]], target: str) -> list[ScoredClauses]:
    """Return the clauses of features by shape; those of weight 0 say nothing and are left out."""
    rows: dict[tuple[Shape, bool], list[tuple[float | None, tuple[str, ...]]]] = {}
    rules: dict[tuple[Shape, bool], dict[str, None]] = {}
    weights, of_feature = program.weights(), {f: c for c, f in enumerate(program.feature_of)}
    for place, feature in chosen:
        assert feature.rule is not None
        plus = feature.feature.plus
        clauses, names = expansion_names(program, place) if plus else ([of_feature[place]], [()])
        constants = [(row, weights[c]) for c, row in zip(clauses, names, strict=True)]
        assert not (feature.hard and feature.feature.negated), "a hard rule is never negated"
        sign = -1.0 if feature.feature.negated else 1.0
        for instance in feature.instances:
            opened = [x for x in instance.shape.literals if program.layout.predicates[x.predicate].open]
            if [x.predicate for x in opened] != [target]:
                continue
            key = (instance.shape, feature.hard)
            for row, weight in constants:
                if feature.hard or weight:
                    filled = _filled(instance, dict(zip(plus, row, strict=True)))
                    rows.setdefault(key, []).append((None if feature.hard else sign * float(weight), filled))
                    rules.setdefault(key, {})[_rule_text(feature)] = None
    return [ScoredClauses(key[0], found, _several(list(rules[key]))) for key, found in rows.items()]


def _filled(instance: Instance, plus: Mapping[str, str]) -> tuple[str, ...]:
    """Return the constants of a clause, those of `+` variables filled in."""
    return tuple(term.name if isinstance(term, Constant) else plus[term.name] for term in instance.arguments)


def _rule_text(feature: BoundFeature) -> str:
    """Return a rule as a comment has it, with its weight if all its clauses have one."""
    assert feature.rule is not None
    formula = format_formula(feature.rule.formula)
    if feature.hard:
        return f"{formula}."
    return formula if feature.rule.expansions is not None else f"{feature.weight!r} {formula}"


def _several(rules: Sequence[str]) -> str:
    shown = "; ".join(shortened(rule, 400) for rule in rules[:_RULES_SHOWN])
    return f"{shown}; and {len(rules) - _RULES_SHOWN:,} more" if len(rules) > _RULES_SHOWN else shown


# ---- the query ---------------------------------------------------------------------------------------


def _written(
    program: Program,
    tables: ViewTables,
    info: PredicateInfo,
    chosen: Sequence[tuple[int, BoundFeature]],
    left_out: Sequence[RuleLeftOut],
    learner: str,  # by whose weights worlds are ranked; empty for others
) -> ExportedSQL:
    """Plan the view and write it."""
    data = tables.data()
    sources = [t.relation for p in data.predicates for t in (p.facts, p.scope) if t is not None]
    names = StepNames(relation.name for relation in sources)
    plain = plain_layout(data, names)
    plain, helper_steps = _with_helpers(plain, _helpers(program), program, names)
    target = plain.layout.predicates[info.name]
    steps = [*plain.steps, *helper_steps]
    steps += evidence_steps(plain, info.name, _scored(program, chosen, info.name), names)
    steps.append(score_step(target, steps[-1].name, names))
    rule = next((rule for rule in program.blocks if rule.predicate == info.name), None)
    given = next(p.facts is not None for p in data.predicates if p.info.name == info.name)
    block = None if rule is None else block_of(target, rule.positions, exact=rule.exact, given=given)
    steps += log_odds_steps(target, steps[-1].name, block, names)
    outputs = _output_names(info)
    shown = [named(column(key), outputs[key]) for key in atom_columns(target) if key in outputs]
    last = exp.select(*shown, column(AMOUNT), named(probability(column(AMOUNT)), "probability")).from_(
        cte(steps[-1].name)
    )
    query = with_steps(steps, last)
    tables.check_listed(plain, query)
    return _rendered(tables, info, query, list(outputs.values()), left_out, learner)


def _with_helpers(
    plain: PlainLayout, helpers: Sequence[Helper], program: Program, names: StepNames
) -> tuple[PlainLayout, list[NamedStep]]:
    """Add the facts of helpers that the evidence decides, each a step."""
    layout, steps = plain.layout, list[NamedStep]()
    for helper in helpers:
        if program.layout.predicates[helper.name].open:
            continue
        instance, bound, slots, columns = bind_definition(layout, helper.variables, helper.definition)
        parameters = None
        if instance.arguments:
            constants = [term.name for term in instance.arguments if isinstance(term, Constant)]
            steps += plain.constants.steps("constants", [constants], instance.shape.parameters, names)
            parameters = step_table(steps[-1].name)
            bound = bind(instance.shape, layout, parameters=parameters)
        witnesses = Conjunction.of(instance.shape.exists[0], slots[: len(columns)])
        true = holding(bound, witnesses, OBSERVED, parameters=parameters, prefix="t")
        shown: list[exp.Expression] = [named(column(f"x{i}", "t"), name) for i, name in enumerate(columns)]
        query = exp.select(*(shown or selected(["one"], "t"))).from_(subquery(true, "t"))
        steps.append(NamedStep(names.free("witnessed"), query, str(helper.definition)))
        types = tuple(kind for _, kind in helper.variables)
        info = PredicateInfo(
            helper.name, types, False, step_table(steps[-1].name), example_column=bound.hidden is not None, rows=1
        )
        layout = replace(layout, predicates={**layout.predicates, helper.name: info})
    return replace(plain, layout=layout), steps


def _output_names(info: PredicateInfo) -> dict[str, str]:
    """Return the columns of the view by those of an atom: its example, and arguments named by their types."""
    found = {"example": "example"} if info.example_column else {}
    arguments = typed_names(info.types, ["example", AMOUNT, "probability"])
    return found | {f"a{i}": name for i, name in enumerate(arguments)}


def _rendered(
    tables: ViewTables,
    info: PredicateInfo,
    query: exp.Query,
    outputs: Sequence[str],
    left_out: Sequence[RuleLeftOut],
    learner: str,
) -> ExportedSQL:
    """Write the statement, with comments that say what it reads and gives."""
    naming, dialect = tables.naming, tables.dialect
    view = (
        tables.sql_name(naming.view, f"{Parameter('view')}")
        if naming.view is not None
        else exp.table_(f"{info.name.lower()}_scores", quoted=True)
    )
    read = _read_tables(tables, query)
    _check_distinct(read, view, dialect)
    lines = [
        f"The probability of each atom of {info.name}({', '.join(info.types)}), by a model that sqlrl exported.",
        f"Columns: {', '.join(outputs)}; log_odds, of the atom being true: infinite where it is certain, NULL where hard rules",
        "contradict each other; probability.",
        *(["Reads, with constants as text, as sqlrl writes them:"] if read else ["It reads no table."]),
        *(f"  {name}: {says}" for name, says in read.items()),
    ]
    if dialect == "sqlite":
        lines.append("Needs SQLite 3.35 or later with its mathematical functions, as Python and the shell have it.")
    if dialect == "postgres":
        lines.append(
            "ANALYZE the tables once they are filled: without statistics PostgreSQL may join them in an order that takes hours."
        )
    if learner:
        lines.append(f"Not calibrated: its weights are those of {learner}, which {RANKS}.")
    if left_out:
        lines.append("It is not the whole model: left out are rules that join atoms.")
        lines += [f"  {rule!r}" for rule in left_out]
    rendered = view_text(view, query, dialect)
    comment = "".join(f"-- {harmless(line)}\n" for line in lines)
    return ExportedSQL(
        f"{comment}{rendered.statement};\n",
        rendered.query,
        view.sql(dialect),
        info.name,
        dialect,
        read,
        tuple(left_out),
    )


def _read_tables(tables: ViewTables, query: exp.Query) -> dict[str, str]:
    """Return the tables of the user's that a query reads, by their names, with their columns and what they hold."""
    steps = {step.alias for step in query.find_all(exp.CTE)}
    nodes = [node.copy() for node in query.find_all(exp.Table) if node.db or node.name not in steps]
    for node in nodes:
        node.set("alias", None)
    read = {node.sql(tables.dialect) for node in nodes}
    found: dict[str, str] = {}
    for p in tables.predicates:
        for source, what in (
            (p.facts, "what is given of" if p.info.open else "facts of"),
            (p.scope, "the tuples that have atoms of"),
        ):
            if source is None:
                continue
            name = source.relation.sql(tables.dialect)
            if name in read:
                columns = dict.fromkeys(c.sql(tables.dialect) for c in source.columns)
                loaded = tables.sources.get((p.info.name, "fact"))
                derived = (
                    ", which rules define: fill it with what they say" if loaded and loaded.kind == "definition" else ""
                )
                says = f"({', '.join(columns)}) {what} {p.info.name}{derived}"
                found[name] = f"{found[name]}; {says}" if name in found else says
    return found


def _check_distinct(read: Mapping[str, str], view: exp.Table, dialect: str) -> None:
    """Refuse a view with the name of a table that it reads, and tables that a database without case takes for one."""
    folded: dict[str, str] = {}
    for name in read:
        other = folded.setdefault(name.casefold(), name)
        if other != name and dialect != "postgres":
            raise InputError(
                f"{dialect} takes {other} and {name} for one table, as case is ignored: name another one for one of them, {Parameter('tables', Written('{...}'))}"
            )
    own = view.sql(dialect)
    bare = {name.casefold().replace('"', "").replace("`", "") for name in read}
    if own.casefold().replace('"', "").replace("`", "") in bare:
        raise InputError(f"the view cannot be called {own}, as a table that it reads: name it by {Parameter('view')}")
