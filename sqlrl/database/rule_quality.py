"""The quality of rules on the data of a database: those of a model, or of a text whose lines are read one by one."""

from __future__ import annotations

import hashlib
import re
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from os import PathLike

import pyarrow as pa
from sqlglot import exp

from sqlrl.arguments import given, refuse
from sqlrl.catalog.layout import Layout, TableName
from sqlrl.catalog.soft_truths import values_between
from sqlrl.database.violation_queries import ViolationQueries, named_tables
from sqlrl.engine.nodes import column, named, star_count, subquery, table, union_all
from sqlrl.errors import CatalogError, SqlrlError
from sqlrl.ground.binding import bind_program
from sqlrl.ground.clauses import clause_table
from sqlrl.ground.observed import observed_layout
from sqlrl.ground.program import Extent, Program
from sqlrl.ground.rule_parts import (
    REFUSED,
    GroupVariables,
    PartCounter,
    RulePart,
    implications,
    in_halves,
    negated_parts,
    rule_parts,
    whole_rules,
)
from sqlrl.logic.implications import FALSE, Implication, false_atom, has_atoms, mentions, possibly_true, surely_true
from sqlrl.logic.model import Model, Rule
from sqlrl.logic.printer import format_formula, format_rule
from sqlrl.logic.rule_list import RefusedRule, RuleList, parse_rules, read_rules, rules_of
from sqlrl.logic.subformulas import atoms_of, conjuncts, free_variables, terms_of, with_terms
from sqlrl.logic.terms import And, Argument, Atom, Clause, Constant, Formula, Implies, Not, Predicate, Variable
from sqlrl.plan.sources import argument_columns
from sqlrl.progress import Stage
from sqlrl.structure.diagnosis.pairs import CONTRADICTORY, RulePair, contradictory_pairs, implied_pairs
from sqlrl.structure.diagnosis.quality import (
    PAIRS_SCHEMA,
    HeadRate,
    JudgedRule,
    RuleQuality,
    effective_size,
    head_words,
    quality_table,
    rule_quality,
)
from sqlrl.training.session import Query, Session, check_limit_option, verb
from sqlrl.wording import did_you_mean, nearest_names

TABLE = "rule_diagnosis"

FAULTS = (*REFUSED, CatalogError)
"""Errors for which a rule may be to blame."""


@verb
def judged_rules(session: Session, asked: Query) -> RuleQuality:
    """Judge rules; `Database.diagnose` explains it."""
    check_limit_option(asked.limit)
    clock = time.perf_counter()
    with session.console.progress("diagnosing"):
        listed = _listed(session, asked.model)
        trial = _Trial(session, replace(asked, model=listed.model.with_rules(())), list(listed.entries))
        judged, pairs = trial.judge()
        judged = [replace(each, mark=listed.mark(listed.entries[each.rule])) for each in judged]
        run = _keep(session, listed, judged, clock) if session.engine.writable else None
    return rule_quality(judged, _pair_table(pairs, judged), run)


def _listed(session: Session, model: object) -> RuleList:
    """Return the rules of a model, a file or a text; of the latter predicates that it does not declare are those of the data."""
    if isinstance(model, list | tuple) and all(isinstance(each, str) for each in model):
        model = "\n".join(model)
    elif isinstance(model, str) and given(model) == "text" and _is_name(session, model):
        raise refuse("a model, or rules,", model)
    if not isinstance(model, str | PathLike):
        if not isinstance(model, Model):
            raise refuse("a model, or rules,", model)
        return rules_of(model)
    records = session.catalog.predicates()
    known = {
        name: Predicate(name, tuple(map(Argument, record.known_types())))
        for name, record in records.items()
        if None not in record.types
    }
    untyped = records.keys() - known.keys()
    # What a stranger's database is asked may be a stranger's text, too.
    trusted = session.engine.trusted
    if given(model) == "path":
        return read_rules(str(model), known, untyped=untyped, trusted=trusted)
    return parse_rules(str(model), known, untyped=untyped, trusted=trusted)


def _is_name(session: Session, name: str) -> bool:
    """Tell whether a text is the name of a model that the database keeps, or one word, which says nothing of the data."""
    if set("(\n") & set(name):
        return False
    if re.fullmatch(r"[\w-]+", name):
        return True
    store = session.catalog.store
    same = exp.EQ(this=exp.Lower(this=column("name")), expression=exp.convert(name.lower()))
    query = exp.select(column("name")).from_(store.table("named_model")).where(same)
    return bool(store.engine.fetch(query, step="look for a model of that name").num_rows)


# ---- the trial -----------------------------------------------------------------------------------------


@dataclass
class _Trial:
    """Rules on trial, each of which may be refused by itself."""

    session: Session
    asked: Query  # with a model that has no rules yet
    entries: list[Rule | RefusedRule]
    problems: dict[int, str] = field(default_factory=dict)  # by the number of the rule
    soft: frozenset[str] = frozenset()  # predicates with values between true and false
    partial: frozenset[str] = frozenset()  # predicates of some of whose atoms nothing is known

    @property
    def model(self) -> Model:
        """What the rules are read with."""
        return replace(self.asked.model, semantics="exact")

    def judge(self) -> tuple[list[JudgedRule], list[RulePair]]:
        """Judge all rules, and compare them with each other."""
        session, asked = self.session, self.asked
        wanted = [i for i, entry in enumerate(self.entries) if isinstance(entry, Rule)]
        wanted = self._with_data(wanted)
        self.soft = frozenset(values_between(session.catalog.store))
        judged: list[JudgedRule] = []
        pairs: list[RulePair] = []
        with session.engine.turn:
            with Stage("holding the rules against the data"):
                layout, wanted = self._bound(wanted)
            self.partial = self._partly_known(layout)
            with observed_layout(session.plans_of(layout), layout, self.partial) as observed:
                program = bind_program(session.plans_of(layout), observed, self._declared(), known=session.compiled)
                try:
                    added = self._added(program, wanted)
                    with session.examples_table(asked.examples) as chosen:
                        self._expand(program, added, chosen)
                        extent = Extent(program, chosen, asked.limit)
                        judged = self._counted(extent, added, layout)
                        pairs = self._compared(program, added)
                finally:
                    program.close()
                    session.plans.leave(0)
        for i in sorted(self.problems.keys() - {each.rule for each in judged}):
            judged.append(self._refused(i))
        judged += [self._refused(i) for i, entry in enumerate(self.entries) if isinstance(entry, RefusedRule)]
        return _with_pairs(judged, pairs), pairs

    def _rule(self, number: int) -> Rule:
        entry = self.entries[number]
        assert isinstance(entry, Rule), "it was read"
        return entry

    def _soft(self, numbers: Sequence[int]) -> list[Rule]:
        """Return rules as ones that may be violated: a hard one that states a block would have no clause."""
        return [replace(rule, hard=False) for rule in map(self._rule, numbers)]

    def _refused(self, number: int) -> JudgedRule:
        """Return a rule that was not counted."""
        entry = self.entries[number]
        if isinstance(entry, RefusedRule):
            return JudgedRule(number, entry.line, entry.text, problem=entry.problem)
        text = format_formula(entry.formula) + ("." if entry.hard else "")
        return JudgedRule(number, entry.line or None, text, entry.weight, entry.hard, problem=self.problems[number])

    def _note(self, number: int, error: SqlrlError) -> None:
        """Note why a rule is refused."""
        located = error.located
        self.problems[number] = str(located.problem if located is not None else error.message).split("\n")[0]

    # ---- what data there are ----------------------------------------------------------------------------

    def _with_data(self, numbers: Sequence[int]) -> list[int]:
        """Leave out rules that mention what the data do not have, and those that are to be dropped."""
        roles, store = self.asked.roles, self.session.catalog.store
        roles.check(self.asked.model)
        known = {name for name, _ in store.sources()} | set(roles.empty)
        dropped, found = set(roles.drop), list[int]()
        for i in numbers:
            used = dict.fromkeys(atom.predicate for atom in atoms_of(self._rule(i).formula))
            if dropped & used.keys():
                continue
            missing = [name for name in used if name not in known]
            if missing:
                texts = [f"{name}{did_you_mean(nearest_names(name, known))}" for name in missing]
                self.problems[i] = f"no data of {' and '.join(texts)}"
            else:
                found.append(i)
        return found

    def _bound(self, numbers: Sequence[int]) -> tuple[Layout, list[int]]:
        """Bind the rules to the data, all of them or those that fit."""
        try:
            return self._layout(numbers), list(numbers)
        except FAULTS:
            # What is wrong without any rule is wrong with the data.
            layout = self._layout([])
        found: list[int] = []

        def bind(some: Sequence[int]) -> None:
            """Bind the rules that fit so far, and some more."""
            nonlocal layout
            layout = self._layout([*found, *some])
            found.extend(some)

        in_halves(numbers, bind, self._note, FAULTS)
        return layout, found

    def _layout(self, numbers: Sequence[int]) -> Layout:
        # What a rule on trial names is no part of the domains of others.
        rules = tuple(Rule(_without_constants(self._rule(i).formula)) for i in numbers)
        used = {atom.predicate for rule in rules for atom in atoms_of(rule.formula)}
        model = self.asked.model.with_rules(rules)
        # Soft truths are refused of the rules that mention them, and are nothing to the others.
        kept = {name: each for name, each in model.predicates.items() if name in used or name not in self.soft}
        model = replace(model, predicates=kept)
        return self.session.layout(model, roles=replace(self.asked.roles, drop=()), all_closed=True)

    def _partly_known(self, layout: Layout) -> frozenset[str]:
        """Return the predicates of some of whose atoms nothing is known: those outside of a scope, and query atoms without a label."""
        opened = [info for info in layout.open_predicates() if info.atoms is not None]
        found = {info.name for info in opened if not info.full_scope}
        queries = [
            exp.select(named(exp.convert(info.name), "name"))
            .from_(table(info.atoms))
            .where(exp.Is(this=column("truth"), expression=exp.null()))
            .limit(1)
            for info in opened
            if info.atoms is not None and info.full_scope
        ]
        if queries:
            rows = self.session.plans.fetch(
                union_all([exp.select(column("name", "q")).from_(subquery(query, "q")) for query in queries]),
                step="look for atoms without a label",
            )
            found.update(rows.column("name").to_pylist())
        return frozenset(found)

    def _declared(self) -> Model:
        """Return the model with a predicate for the atoms that are known to be false, of each that is partly known."""
        model = self.model
        false = [replace(model.predicates[name], name=f"{name}{FALSE}") for name in sorted(self.partial)]
        return replace(model, predicates={**model.predicates, **{each.name: each for each in false}})

    def _added(self, program: Program, numbers: Sequence[int]) -> list[int]:
        """Add rules to a program, all of them or those that can be; return their numbers in the order of its `owners`."""
        found: list[int] = []

        def add(some: Sequence[int]) -> None:
            """Add some rules."""
            program.add(self._soft(some))
            found.extend(some)

        in_halves(numbers, add, self._note)
        return found

    def _expand(self, program: Program, added: Sequence[int], chosen: TableName | None) -> None:
        """Find the clauses of templates: one for each combination of constants with which the body holds somewhere."""

        def expand(some: Sequence[int]) -> None:
            """Expand some templates."""
            program.expand(chosen, observed=True, only=some)

        def refuse(feature: int, error: SqlrlError) -> None:
            """Note why a template has no clauses."""
            self._note(added[owners[feature]], error)

        owners = _owners(program)
        templates = [i for i, bound in enumerate(program.features) if bound.rule is not None and bound.feature.plus]
        in_halves(templates, expand, refuse)
        present = set(program.feature_of)
        for i in templates:
            number = added[owners[i]]
            if i not in present and number not in self.problems:
                plus = program.features[i].feature.plus
                names = f"{' and '.join(f'+{name}' for name in plus)} {'has' if len(plus) == 1 else 'have'}"
                self.problems[number] = f"{names} no constants with which its conditions hold anywhere"

    # ---- counts -----------------------------------------------------------------------------------------

    def _counted(self, extent: Extent, added: Sequence[int], layout: Layout) -> list[JudgedRule]:
        """Count the rules of a program, a row for each clause."""
        program, counter = extent.program, PartCounter(extent)
        features = [i for i, bound in enumerate(program.features) if bound.rule is not None]
        whole, found = whole_rules(program, features), implications(program, features)
        with Stage("counting violations"):
            totals = counter.totals(whole)
            true = counter.true(self._possible(program, whole), totals)
        with Stage("counting where rules apply"):
            applies, unlabelled = self._applies(counter, found, totals, true)
        with Stage("counting heads"):
            heads = self._heads(counter, found)
        known = self._known(counter, found, layout, totals)
        with Stage("counting cases of heads"):
            draws = self._draws(counter, found, applies, totals)
        chosen = extent.examples
        names = None if chosen is None else self.session.example_names(self.session.ids(chosen))
        tables = replace(named_tables(self.session.catalog.store, layout, self.partial), chosen=names)
        query = ViolationQueries(self.session, program, tables, self.partial)
        missing = {i: _missing(program, i) for i in features}
        alike = _alike_constants(program, features)
        judged = []
        refused = {clause: str(error.message).split("\n")[0] for clause, error in counter.refused.items()}
        with Stage("writing queries"):
            for row in clause_table(program).to_pylist():
                clause = row["clause"]
                number = added[program.owners[row["rule"]]]
                rule = self._rule(number)
                weighted = not rule.hard and (rule.weight is not None or rule.expansions is not None)
                feature = program.feature_of[clause]
                one = JudgedRule(
                    number,
                    rule.line or None,
                    row["text"] + ("." if rule.hard else ""),
                    row["weight"] if weighted else None,
                    rule.hard,
                    totals.get(clause),
                    problem=refused.get(clause) if clause not in true else None,
                    missing=missing[feature],
                    alike=alike.get(feature, ()),
                    always=_always(program, feature),
                )
                if clause in true:
                    head = None
                    if clause in heads and one.always is None:
                        variables = dict(program.features[feature].feature.variables)
                        noun, said = head_words(query.filled(clause, found[feature].head), variables)
                        part = mentions(found[feature].head, self.partial)
                        head = HeadRate(*heads[clause], f"{noun} with a label" if part else noun, said)
                    wrong = totals[clause] - true[clause]
                    one = replace(
                        one, violations=wrong, applies=applies.get(clause), head=head, known=known.get(clause),
                        unlabelled=unlabelled.get(clause, 0), draws=draws.get(clause), sql=query.text(clause),
                    )  # fmt: skip
                elif one.problem is None:
                    one = replace(one, problem="it cannot be counted where some atoms have no label")
                judged.append(one)
        return judged

    def _possible(self, program: Program, whole: Sequence[RulePart]) -> list[RulePart]:
        """Return what rules come to that only what is known to be false violates."""
        partly = {
            part.feature: possibly_true(rule.formula, self.partial)
            for part in whole
            if (rule := program.features[part.feature].rule) is not None and mentions(rule.formula, self.partial)
        }
        kept = [part for part in whole if part.feature not in partly]
        return kept if not partly else [*kept, *rule_parts(program, partly, own=False)]

    def _applies(
        self, counter: PartCounter, found: Mapping[int, Implication], totals: Mapping[int, int], true: Mapping[int, int]
    ) -> tuple[dict[int, int], dict[int, int]]:
        """Return by clause in how many cases it applies, and in how many more, or groundings, nobody knows whether it holds."""
        program = counter.program
        applies = counter.applies(
            negated_parts(program, {i: surely_true(x.body, self.partial) for i, x in found.items()}), totals
        )
        rules = {i: bound.rule.formula for i, bound in enumerate(program.features) if bound.rule is not None}
        rules = {i: formula for i, formula in rules.items() if mentions(formula, self.partial)}
        if not rules:
            return applies, {}
        unlabelled: dict[int, int] = {}
        sure = {i: surely_true(rule, self.partial) for i, rule in rules.items() if i not in found}
        for clause, n in counter.true(rule_parts(program, sure, own=False), totals).items():
            if clause in true:
                unlabelled[clause] = true[clause] - n
        cases = {
            i: And((surely_true(found[i].body, self.partial), surely_true(found[i].head, self.partial)))
            for i in rules
            if i in found
        }
        held = counter.applies(negated_parts(program, cases), totals)
        for clause, feature in enumerate(program.feature_of):
            if feature not in cases or clause not in applies:
                continue
            if clause not in held or clause not in true:
                del applies[clause]
                continue
            labelled = held[clause] + totals[clause] - true[clause]
            unlabelled[clause] = applies[clause] - labelled
            applies[clause] = labelled
        return applies, unlabelled

    def _heads(self, counter: PartCounter, found: Mapping[int, Implication]) -> dict[int, tuple[int, int]]:
        """Return by clause how many bindings satisfy its head, and of how many that is known."""
        program = counter.program
        heads = {i: x.head for i, x in found.items() if has_atoms(x.head)}
        partly = {i: head for i, head in heads.items() if mentions(head, self.partial)}
        parts = rule_parts(program, {i: surely_true(head, self.partial) for i, head in heads.items()}, own=True)
        totals = counter.totals(parts)
        true = counter.true(parts, totals)
        possible = rule_parts(program, {i: possibly_true(head, self.partial) for i, head in partly.items()}, own=True)
        known = counter.true(possible, totals)
        rates = {}
        for clause, n in true.items():
            if program.feature_of[clause] in partly:
                total = n + totals[clause] - known[clause] if clause in known else 0
            else:
                total = totals[clause]
            if total:
                rates[clause] = n, total
        return rates

    def _draws(
        self,
        counter: PartCounter,
        found: Mapping[int, Implication],
        applies: Mapping[int, int],
        totals: Mapping[int, int],
    ) -> dict[int, float]:
        """Return by clause how many independent draws its cases are worth: all that have the head, or what one condition has of it, are one."""
        program = counter.program
        columns = {name: info.example_column for name, info in program.layout.predicates.items()}
        by: dict[int, GroupVariables] = {}
        for i, x in found.items():
            plus = program.features[i].feature.plus
            of_body, of_head = ({*free_variables(part)}.difference(plus) for part in (x.body, x.head))
            example = any(columns[atom.predicate] for atom in atoms_of(x.head))
            if of_body <= of_head and (example or not any(columns.values())):
                # Each head has one case.
                continue
            shared = [
                tuple(dict.fromkeys(name for name in free_variables(atom) if name in of_body & of_head))
                for atom in atoms_of(x.body)
            ]
            by[i] = GroupVariables(max(shared, key=len, default=()), example)
        parts = []
        for sign in (True, False):
            formulas: dict[int, Formula] = {}
            for i in by:
                body, head = surely_true(found[i].body, self.partial), found[i].head
                if mentions(head, self.partial):
                    # Cases whose head is known to hold, and those whose head is known not to.
                    known = surely_true(head, self.partial) if sign else Not(possibly_true(head, self.partial))
                    formulas[i] = And((body, known))
                elif sign:
                    formulas[i] = body
            parts.append(negated_parts(program, formulas))
        first, second = ({part.feature for part in some} for some in parts)
        whole = {i for i in first if i in second or not mentions(found[i].head, self.partial)}
        sums = counter.spread([part for some in parts for part in some if part.feature in whole], by, totals)
        draws = {clause: effective_size(*pair) for clause, pair in sums.items() if pair[1]}
        for clause, feature in enumerate(program.feature_of):
            if feature in found and feature not in by and clause in applies:
                draws[clause] = float(applies[clause])
        return draws

    def _known(
        self, counter: PartCounter, found: Mapping[int, Implication], layout: Layout, totals: Mapping[int, int]
    ) -> dict[int, int]:
        """Count where bodies hold and something is known of the heads' other arguments; of heads that are open, of two arguments and more."""
        program = counter.program
        opened = {
            x.head.predicate
            for x in found.values()
            if isinstance(x.head, Atom) and layout.predicates[x.head.predicate].open and len(x.head.terms) > 1
        }
        places = {name: _value_place(program, name) for name in sorted(opened)}
        parts: dict[int, Formula] = {}
        false: dict[int, Formula] = {}
        for i, x in found.items():
            if isinstance(x.head, Atom) and x.head.predicate in places:
                body = Implication(surely_true(x.body, self.partial), x.head)
                parts[i] = body.known_subject(places[x.head.predicate])
                if x.head.predicate in self.partial:
                    # Cases that hold, and those that are known to be violated.
                    false[i] = And((parts[i], false_atom(x.head)))
                    parts[i] = And((body.body, x.head))
        if not parts:
            return {}
        with Stage("counting what is known of heads"):
            known = counter.applies(negated_parts(program, parts), totals)
            wrong = counter.applies(negated_parts(program, false), totals)
        whole = {clause for clause in known if program.feature_of[clause] not in false or clause in wrong}
        return {clause: known[clause] + wrong.get(clause, 0) for clause in whole}

    def _compared(self, program: Program, added: Sequence[int]) -> list[RulePair]:
        """Compare the rules with each other; templates and rules with quantifiers inside are not compared, nor what cannot be taken apart."""
        clauses: dict[int, list[Clause]] = {}
        heads: dict[int, Implication] = {}
        types: dict[int, tuple[tuple[str, str], ...]] = {}
        several_heads: dict[int, list[Rule]] = {}
        features = [i for i, bound in enumerate(program.features) if bound.rule is not None and not bound.feature.plus]
        owners, found = _owners(program), implications(program, features)
        several = Counter(owners[i] for i in features)
        for i in features:
            number, bound = added[owners[i]], program.features[i]
            assert bound.rule is not None, "it is the feature of a rule"
            # Both signs of `*` are rules of one number, and a negative weight speaks for what is no clause.
            if several[owners[i]] > 1 or (self._rule(number).weight or 0) < 0:
                continue
            each = found.get(i, Implication(And(()), bound.rule.formula))
            types[number], heads[number] = bound.feature.variables, each
            if len(bound.feature.clauses) == 1 and not bound.feature.negated:
                clauses[number] = [bound.feature.clauses[0]]
            elif isinstance(each.head, And):
                # It says each of its heads.
                several_heads[number] = [
                    Rule(Implies(each.body, part) if i in found else part, 0.0) for part in conjuncts(each.head)
                ]

        def compare(some: Sequence[int]) -> None:
            """Find the clauses of rules with several heads."""
            rules = [rule for number in some for rule in several_heads[number]]
            compiled = iter(program.compiled(rules))
            for number in some:
                mine = [next(compiled).feature for _ in several_heads[number]]
                if not any(feature.negated for feature in mine):
                    clauses[number] = [clause for feature in mine for clause in feature.clauses]

        in_halves(list(several_heads), compare, lambda *_: None)
        with Stage("comparing rules"):
            return [*implied_pairs(clauses), *contradictory_pairs(heads, types)]


def _without_constants(formula: Formula) -> Formula:
    """Return a formula with a variable of its own in place of each constant."""
    numbers = count()
    return with_terms(formula, lambda t: Variable(f"constant {next(numbers)}") if isinstance(t, Constant) else t)


def _missing(program: Program, feature: int) -> tuple[str, ...]:
    """Return the constants of a rule that the data do not have, with their types."""
    instances = program.features[feature].instances
    named = {
        (kind, term.name)
        for instance in instances
        for kind, term in zip(instance.shape.parameters, instance.arguments, strict=True)
        if isinstance(term, Constant)
    }
    return tuple(f"{kind} {name!r}" for kind, name in sorted(named) if program.constants.of(kind)[name] < 0)


def _always(program: Program, feature: int) -> bool | None:
    """Return whether a rule is true whatever the data are, or false; None of one that says something of them."""
    bound = program.features[feature].feature
    return None if bound.clauses else not bound.negated


def _alike_constants(program: Program, features: Sequence[int]) -> dict[int, tuple[str, ...]]:
    """Return by feature the variables that stand once in its rule and are called as a constant of their type is, with that type."""
    found: dict[int, list[tuple[str, str]]] = {}
    for i in features:
        bound = program.features[i]
        assert bound.rule is not None, "it is the feature of a rule"
        uses = Counter(term.name for term in terms_of(bound.rule.formula) if isinstance(term, Variable))
        plus = bound.feature.plus
        found[i] = [(kind, name) for name, kind in bound.feature.variables if uses[name] == 1 and name not in plus]
    constants = program.constants
    constants.learn(pair for pairs in found.values() for pair in pairs)
    return {
        i: tuple(f"{name} is a variable here, and the data have the {kind} {name!r}" for kind, name in pairs)
        for i, pairs in ((i, [(k, n) for k, n in pairs if constants.of(k)[n] >= 0]) for i, pairs in found.items())
        if pairs
    }


def _owners(program: Program) -> dict[int, int]:
    """Return for each feature of a rule the place of that among those that were added."""
    places = {id(rule): owner for rule, owner in zip(program.model.rules, program.owners, strict=True)}
    return {i: places[id(bound.rule)] for i, bound in enumerate(program.features) if bound.rule is not None}


def _value_place(program: Program, predicate: str) -> int:
    """Return the argument that the others determine best, by how many of these there are for each fact: that of which one value is enough."""
    info = program.layout.predicates[predicate]
    columns = list(argument_columns(info))
    rows = exp.select(*map(column, columns)).from_(table(info.facts))
    counts = []
    for i in range(len(info.types)):
        others = [column(name, "r") for name in columns if name != f"a{i}"]
        distinct = exp.select(*others).distinct().from_(subquery(rows.copy(), "r"))
        counts.append(named(exp.Subquery(this=exp.select(star_count()).from_(subquery(distinct, "d"))), f"n{i}"))
    (row,) = program.engine.fetch(exp.select(*counts), step=f"count what {predicate} is known of").to_pylist()
    return max(range(len(info.types)), key=lambda i: (row[f"n{i}"], i))


# ---- what is kept --------------------------------------------------------------------------------------


def _with_pairs(judged: Sequence[JudgedRule], pairs: Sequence[RulePair]) -> list[JudgedRule]:
    """Note with each rule which others imply or contradict it; of equal ones the first stands."""
    implied: dict[int, list[int]] = {}
    contradicted: dict[int, list[int]] = {}
    for pair in pairs:
        if pair.kind == CONTRADICTORY:
            contradicted.setdefault(pair.first, []).append(pair.second)
            contradicted.setdefault(pair.second, []).append(pair.first)
        else:
            implied.setdefault(pair.second, []).append(pair.first)
    # Lines count from 1, as in a text; where rules have none, or stand in several files, their text tells them.
    lines = Counter(line for line in {each.rule: each.line for each in judged}.values() if line is not None)
    places = {
        each.rule: f"line {each.line}" if each.line is not None and lines[each.line] == 1 else each.text
        for each in judged
    }
    return [
        replace(
            each,
            implied_by=tuple(sorted(implied.get(each.rule, ()))),
            contradicts=tuple(sorted(contradicted.get(each.rule, ()))),
            places=places,
        )
        for each in judged
    ]


def _pair_table(pairs: Sequence[RulePair], judged: Sequence[JudgedRule]) -> pa.Table:
    texts = {each.rule: each.text for each in judged}
    rows = [
        {
            "kind": pair.kind, "first": pair.first, "second": pair.second, "first_text": texts[pair.first],
            "second_text": texts[pair.second],
        }
        for pair in pairs
    ]  # fmt: skip
    return pa.Table.from_pylist(rows, PAIRS_SCHEMA)


def _keep(session: Session, listed: RuleList, judged: Sequence[JudgedRule], clock: float) -> int:
    """Keep the diagnosis in place of an earlier one of the same rules; return the number of the run."""
    records = session.records
    written = "\n".join(x.text if isinstance(x, RefusedRule) else format_rule(x) for x in listed.entries)
    rules = hashlib.sha256(written.encode()).hexdigest()[:12]
    with records.together():
        run = records.begin_run("diagnose", {"kind": "quality", "rules": rules}, None)
        records.clear_rows(TABLE, "rules", rules)
        ordered = sorted(judged, key=lambda each: each.order)
        rows = quality_table([each.row() for each in ordered])
        rows = rows.append_column("rules", pa.array([rules] * len(rows), pa.string()))
        rows = rows.append_column("place", pa.array(range(len(rows)), pa.int64()))
        records.append(TABLE, run, rows)
        records.end_run(run, "done", timings={"diagnosis": time.perf_counter() - clock})
    return run
